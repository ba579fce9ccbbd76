/*
 * fuzz_slack.c: any bytes as frames and answers of Slack: the adapter gives out nothing that is not whole, and no send
 * has two ends.
 */
#include "gateway/adapters/slack.h"
#include "sockets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *const secrets[] = {"xoxb-1", "xapp-1", ""};
    drive(&slack_ops, secrets, view_of((const char *)data, size));
    return 0;
}

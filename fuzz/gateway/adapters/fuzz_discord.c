/*
 * fuzz_discord.c: any bytes as frames and answers of Discord: the adapter gives out nothing that is not whole, sends no
 * frame that is too large, and no send has two ends.
 */
#include "gateway/adapters/discord.h"
#include "sockets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *const secrets[] = {"MTIz.test", "", ""};
    drive(&discord_ops, secrets, view_of((const char *)data, size));
    return 0;
}

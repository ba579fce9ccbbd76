/*
 * table.c: the rows of the operations channel.*.
 */
#include "channel/platforms.h"
#include "ops/channels/channels.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "ops/write_report.h"

/* Called only in programs that have the functions: the rows need the database. */
static int run_owner(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return channel_operations->owner(call, result, error);
}

static int run_allow(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return channel_operations->allow(call, result, error);
}

static int run_remove_person(struct op_call *call, struct op_result *result,
                             struct ethos_error *error)
{
    return channel_operations->remove(call, result, error);
}

static int run_people(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return channel_operations->people(call, result, error);
}

static int run_status(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return channel_operations->status(call, result, error);
}

static int run_messages(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return channel_operations->messages(call, result, error);
}

static int run_resend(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return channel_operations->resend(call, result, error);
}

/* ---- rows -------------------------------------------------------------------------------------- */

static const struct op_arg owner_args[] = {
    {"platform", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "PLATFORM", PLATFORM_NAMES}, ARG_END};
static const struct op_arg allow_args[] = {
    {"code", OP_TEXT, OP_POSITIONAL, NULL, "CODE", "the pairing code that the person received"},
    {"role", OP_CHOICE, 0, "guest|trusted", "ROLE",
     "guest (default): no memory; trusted: with the memory of the personality"},
    {"platform", OP_TEXT, 0, NULL, "PLATFORM",
     "with --sender, instead of a code: the person to allow, or whose role to change"},
    {"sender", OP_TEXT, 0, NULL, "SENDER", "the sender's id, as ethos gateway people shows it"},
    ARG_END};
static const struct op_arg remove_args[] = {
    {"platform", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "PLATFORM", PLATFORM_NAMES},
    {"sender", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "SENDER",
     "the sender's id, as ethos gateway people shows it"},
    ARG_END};
static const struct op_arg people_args[] = {ARG_PAGE, ARG_END};
static const struct op_arg messages_args[] = {
    {"limit", OP_INTEGER, 0, "1|200", "N", "at most this many (default: 20)"}, ARG_END};
static const struct op_arg resend_args[] = {{"id", OP_INTEGER, OP_REQUIRED | OP_POSITIONAL,
                                             "1|9007199254740991", "NUMBER",
                                             "the message's id, as ethos gateway status shows it"},
                                            ARG_END};

const struct op ops_channel[] = {
    {"channel.run", "gateway", "Answer people on messaging platforms and by mail", "ethos gateway",
     NULL, OP_OWNER, OP_WRITES | OP_LOCAL, NULL},
    {"channel.owner", "gateway owner", "Print the code that makes you the owner on a platform",
     "ethos gateway owner telegram", owner_args, OP_OWNER, OP_WRITES | OP_LOCAL | OP_DATABASE,
     run_owner},
    {"channel.allow", "gateway allow", "Allow the person who received a code",
     "ethos gateway allow K7QX2M9P --role trusted", allow_args, OP_OWNER, OP_WRITES | OP_DATABASE,
     run_allow},
    {"channel.remove", "gateway remove", "Stop answering a person",
     "ethos gateway remove telegram 4711", remove_args, OP_OWNER, OP_WRITES | OP_DATABASE,
     run_remove_person},
    {"channel.people", "gateway people", "List the people who may talk and those who are waiting",
     "ethos gateway people", people_args, OP_OWNER, OP_IDEMPOTENT | OP_DATABASE, run_people},
    {"channel.status", "gateway status", "Show the channels and unsent messages",
     "ethos gateway status", NULL, OP_OWNER, OP_IDEMPOTENT | OP_DATABASE, run_status},
    {"channel.messages", "gateway messages", "List recent messages, without their text",
     "ethos gateway messages", messages_args, OP_OWNER, OP_IDEMPOTENT | OP_DATABASE, run_messages},
    {"channel.resend", "gateway resend", "Resend a message that may not have arrived",
     "ethos gateway resend 42", resend_args, OP_OWNER, OP_WRITES | OP_DATABASE, run_resend},
    {0}};

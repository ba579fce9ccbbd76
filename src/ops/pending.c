/*
 * pending.c: the operations memory.pending*: writes that wait for a person. None do yet: every write is
 * direct, and the calls say so in the words of those that ask.
 */
#include "base/err.h"
#include "base/view.h"
#include "core/quote.h"
#include "ops/tables.h"

static int run_list(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    (void)call;
    return op_return(result, json_pack("{s:[]}", "pending"), error);
}

static int run_decide(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char shown[QUOTE_SIZE];
    (void)result;
    return err_set(error, ETHOS_NOTFOUND, "nothing waits under the id %s",
                   quote_line(op_text(call, "id"), shown));
}

static const struct op_arg id_args[] = {{"id", OP_TEXT, OP_REQUIRED, NULL, "ID", "of what waits"},
                                        {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_pending[] = {{"memory.pendingList", NULL,
                                  "List the writes that wait for a person", NULL, NULL,
                                  OP_MEMORY_READ, OP_IDEMPOTENT | OP_QUICK, run_list},
                                 {"memory.pendingApprove", NULL, "Let a waiting write happen", NULL,
                                  id_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON, run_decide},
                                 {"memory.pendingReject", NULL, "Turn a waiting write down", NULL,
                                  id_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON, run_decide},
                                 {0}};

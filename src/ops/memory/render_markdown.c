/*
 * render_markdown.c: the operation markdown.render. Only the server has it, because only the server links md4c.
 */
#include "base/err.h"
#include "core/formats/markdown.h"
#include "ops/tables.h"

static int run_render(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    json_t *nodes;
    TRY(markdown_nodes(op_text(call, "content"), &nodes, error));
    return op_return(result, json_pack("{s:o}", "nodes", nodes), error);
}

static const struct op_arg render_args[] = {{"content", OP_TEXT, OP_REQUIRED | OP_STDIN, NULL,
                                             "TEXT", "the markdown text; it is not stored"},
                                            {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_markdown[] = {{"markdown.render", NULL,
                                   "Parse markdown into nodes for a web page", NULL, render_args,
                                   OP_MEMORY_READ, OP_IDEMPOTENT, run_render},
                                  {0}};

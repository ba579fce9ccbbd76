/*
 * render_markdown.c: the operation markdown.render, which only the server has: it links md4c.
 */
#include "core/formats/markdown.h"
#include "ops/tables.h"

static int run_render(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    json_t *nodes;
    int code = markdown_nodes(op_text(call, "content"), &nodes, error);
    return code == ETHOS_OK ? op_return(result, json_pack("{s:o}", "nodes", nodes), error) : code;
}

static const struct op_arg render_args[] = {
    {"content", OP_TEXT, OP_REQUIRED | OP_STDIN, NULL, "TEXT", "markdown; nothing is read or kept"},
    {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_markdown[] = {{"markdown.render", NULL,
                                   "Give a text as nodes that a page can be built of", NULL,
                                   render_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_render},
                                  {0}};

/*
 * capabilities.c: the methods of tools, resources and prompts: what their parameters must be, pages, refusals.
 *
 * What there is of each is said by the files that internal.h names; nothing here knows of memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "mcp/internal.h"

#define PAGE 500 /* rows of one answer */

/* ---- refusals -------------------------------------------------------------------------------- */

json_t *mcp_unknown(struct mcp_request *request, const char *what, const char *name)
{
    return mcp_refuse(request, MCP_INVALID_PARAMS, "unknown %s: %.100s", what, name);
}

json_t *mcp_no_resource(struct mcp_request *request, const char *uri)
{
    request->data = json_pack("{s:s}", "uri", uri);
    return mcp_refuse(request,
                      request->version == MCP_2026_07_28 ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE,
                      "no such resource: %.200s", uri);
}

/* A parameter that names something, or NULL. */
static const char *parameter_name(struct mcp_request *request, const char *param)
{
    const char *name = mcp_word(mcp_param(request, param));
    if (!name)
        mcp_refuse(request, MCP_INVALID_PARAMS, "%s must be a string", param);
    return name;
}

/* The same with arguments, which may be left out. */
static const char *named_with(struct mcp_request *request, const json_t **arguments)
{
    *arguments = mcp_param(request, "arguments");
    if (*arguments && !json_is_object(*arguments)) {
        mcp_refuse(request, MCP_INVALID_PARAMS, "arguments must be an object");
        return NULL;
    }
    return parameter_name(request, "name");
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Where a page begins; false: no such page was ever announced. */
static bool page_start(const struct mcp_request *request, size_t count, size_t *out)
{
    const json_t *cursor = mcp_param(request, "cursor");
    const char *text = mcp_word(cursor);
    *out = 0;
    if (!cursor)
        return true;
    if (!text || strspn(text, "0123456789") != strlen(text) || !*text || strlen(text) > 9)
        return false;
    *out = (size_t)strtoul(text, NULL, 10);
    return *out > 0 && *out % PAGE == 0 && *out < count;
}

/* The page that is asked for; takes the rows. */
static json_t *cut_page(struct mcp_request *request, const char *member, json_t *rows)
{
    size_t start, count = json_array_size(rows);
    char next[24];
    if (rows && !page_start(request, count, &start)) {
        json_decref(rows);
        return mcp_refuse(request, MCP_INVALID_PARAMS, "unknown cursor");
    }
    if (!rows || count <= PAGE)
        return rows ? json_pack("{s:o}", member, rows) : NULL;
    json_t *list = json_array();
    size_t end = count - start > PAGE ? start + PAGE : count;
    for (size_t i = start; i < end; i++)
        op_json_push(&list, json_incref(json_array_get(rows, i)));
    json_decref(rows);
    json_t *json = json_pack("{s:o}", member, list);
    snprintf(next, sizeof next, "%zu", end);
    if (end < count)
        op_json_put(&json, "nextCursor", json_string(next));
    return json;
}

json_t *tools_list(struct mcp_request *request)
{
    return cut_page(request, "tools", offer_tools(request));
}

json_t *resources_list(struct mcp_request *request)
{
    return cut_page(request, "resources", offer_resources(request));
}

json_t *resources_templates(struct mcp_request *request)
{
    return cut_page(request, "resourceTemplates", offer_templates(request));
}

json_t *prompts_list(struct mcp_request *request)
{
    return cut_page(request, "prompts", offer_prompts(request));
}

/* ---- one of them ----------------------------------------------------------------------------- */

bool tools_here(const struct mcp_session *session, const json_t *params)
{
    const char *name = mcp_word(json_object_get(params, "name"));
    return !name || offer_here(session, name);
}

bool prompts_here(const struct mcp_session *session, const json_t *params)
{
    const struct op *op = mcp_op(session, "memory.recall");
    return !op || op_is_in_program(op) ||
           !json_object_get(json_object_get(params, "arguments"), "topic");
}

json_t *tools_call(struct mcp_request *request)
{
    const json_t *arguments = NULL;
    const char *name = request->alike && request->alike->tool ? ""
                                                              : named_with(request, &arguments);
    return name ? offer_call(request, name, arguments) : NULL;
}

json_t *resources_read(struct mcp_request *request)
{
    const char *uri = parameter_name(request, "uri");
    return uri ? offer_read(request, uri) : NULL;
}

json_t *prompts_get(struct mcp_request *request)
{
    const json_t *arguments;
    const char *name = named_with(request, &arguments);
    return name ? offer_prompt(request, name, arguments) : NULL;
}

/*
 * resources.c: memory files and notes as resources.
 *
 *     ethos://memory/{key}   a file of the person's memory: MEMORY.md, USER.md, a note beside them
 *     ethos://notes/{key}    a note of this project; MEMORY.md is their index
 *     ethos://global/{key}   a note that all personalities share; MEMORY.md is their index
 *
 * A key names itself in an address: its letters need no escape.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/view.h"
#include "mcp/internal.h"

#define MEMORY "ethos://memory/"
#define NOTES "ethos://notes/"
#define GLOBAL "ethos://global/"

static const struct {
    const char *prefix, *name, *title, *description;
    const char *scope; /* for memory.get; NULL: what the key says */
    enum tool_about about;
} places[] = {
    {MEMORY, "memory", "Memory", "A file of memory by its name, such as MEMORY.md or USER.md", NULL,
     TOOL_ABOUT_ANY},
    {NOTES, "note", "Note", "A note of this project by its file name", "workspace",
     TOOL_ABOUT_PROJECT},
    {GLOBAL, "global", "Global note", "A note for all projects by its file name", "global",
     TOOL_ABOUT_ANY},
};

/* ---- listing --------------------------------------------------------------------------------- */

struct resource_list {
    struct mcp_request *request;
    json_t *rows;
    char memory_scope[ETHOS_MAX_SCOPE];
    struct ethos_error error; /* why memory cannot be listed; code ETHOS_OK: it can */
};

/* What a backend or a place does not have. */
static bool is_absence(int code)
{
    return code == ETHOS_UNSUPPORTED || code == ETHOS_NOTFOUND || code == ETHOS_DENIED;
}

/* Asks for a part. What there cannot be adds nothing; after a failure nothing more is asked. */
static void list_part(struct resource_list *listing, const struct op *op, json_t *args,
                      struct op_result *result)
{
    struct ethos_error error = {0};
    int code = mcp_run(listing->request, op, args, result, &error);
    if (code == ETHOS_OK &&
        result->code == ETHOS_BUSY) { // one file that cannot be read is none of it
        code = result->code;
        error = result->error;
    }
    if (code != ETHOS_OK && !is_absence(code)) {
        listing->error = error;
        listing->error.code = code;
    }
}

static void add_resource(struct resource_list *listing, const char *prefix, const json_t *file,
                         const char *title, const char *about, json_int_t size)
{
    const char *key = json_string_value(json_object_get(file, "key"));
    const char *changed = json_string_value(json_object_get(file, "modifiedAt"));
    char uri[sizeof MEMORY + ETHOS_MAX_KEY];
    snprintf(uri, sizeof uri, "%s%s", prefix, key ? key : "");
    json_t *row = json_pack("{s:s, s:s, s:s}", "uri", uri, "name", key, "mimeType",
                            "text/markdown");
    if (about)
        op_json_put(&row, "description", json_string(about));
    if (mcp_has(listing->request, MCP_2025_03_26))
        op_json_put(&row, "size", json_integer(size));
    if (mcp_has(listing->request, MCP_2025_06_18)) {
        op_json_put(&row, "title", json_string(title));
        if (changed)
            op_json_put(&row, "annotations", json_pack("{s:s}", "lastModified", changed));
    }
    op_json_push(&listing->rows, row);
}

/* The files that are in every prompt, those that exist. */
static void list_prompt_files(struct resource_list *listing)
{
    size_t index;
    json_t *file;
    struct op_result result;
    const struct op *op = mcp_op(listing->request->session, "memory.list");
    if (!op)
        return;
    list_part(listing, op, json_object(), &result);
    json_array_foreach (json_object_get(result.json, "files"), index, file) {
        const char *scope = json_string_value(json_object_get(file, "scope"));
        const char *label = json_string_value(json_object_get(file, "label"));
        bool project = scope && strncmp(scope, "workspace:", 10) == 0;
        bool shared = scope && strcmp(scope, "global") == 0 && index > 1;
        if (scope && index == 1) // behind the profile
            snprintf(listing->memory_scope, sizeof listing->memory_scope, "%s", scope);
        if (json_is_string(json_object_get(file, "revision")))
            add_resource(listing,
                         project  ? NOTES
                         : shared ? GLOBAL
                                  : MEMORY,
                         file, label, NULL,
                         (json_int_t)json_string_length(json_object_get(file, "content")));
    }
    op_result_release(&result);
}

#define NOTES_PAGE 5000 /* notes asked for at once */

/* The notes of a scope, page by page; one that has none, or cannot have any, adds nothing. */
static void list_notes(struct resource_list *listing, const char *prefix, const char *scope)
{
    size_t index;
    json_t *note, *next = NULL;
    struct op_result result;
    const struct op *op = mcp_op(listing->request->session, "notes.list");
    if (!op || !*scope || listing->error.code != ETHOS_OK)
        return;
    do {
        json_t *args = json_pack("{s:s, s:i}", "scope", scope, "limit", NOTES_PAGE);
        if (next)
            op_json_put(&args, "cursor", next);
        list_part(listing, op, args, &result);
        json_array_foreach (json_object_get(result.json, "notes"), index, note)
            add_resource(listing, prefix, note, json_string_value(json_object_get(note, "title")),
                         json_string_value(json_object_get(note, "hook")),
                         json_integer_value(json_object_get(note, "bytes")));
        next = json_object_get(result.json, "nextCursor");
        next = json_is_string(next) ? json_incref(next) : NULL;
        op_result_release(&result);
    } while (next);
}

/* A folder without a workspace has none of them. */
static void list_workspace_notes(struct resource_list *listing)
{
    bool listed = listing->error.code == ETHOS_OK;
    list_notes(listing, NOTES, "workspace");
    if (listed && listing->error.code == ETHOS_INVALID)
        listing->error.code = ETHOS_OK;
}

json_t *offer_resources(struct mcp_request *request)
{
    struct resource_list listing = {.request = request, .rows = json_array()};
    request->hurried = true;
    list_prompt_files(&listing);
    list_notes(&listing, MEMORY, listing.memory_scope);
    list_workspace_notes(&listing);
    if (strcmp(listing.memory_scope, "global") != 0)
        list_notes(&listing, GLOBAL, "global");
    if (listing.error.code == ETHOS_OK)
        return listing.rows;
    json_decref(listing.rows);
    return mcp_refuse(request, MCP_INTERNAL, "%s", listing.error.text);
}

json_t *offer_templates(struct mcp_request *request)
{
    json_t *templates = json_array();
    bool offered = mcp_op(request->session, "memory.get") != NULL;
    for (size_t i = 0; offered && i < sizeof places / sizeof *places; i++) {
        char uri[64];
        if (!mcp_offers(request->session, places[i].about))
            continue;
        snprintf(uri, sizeof uri, "%s{key}", places[i].prefix);
        json_t *row = json_pack("{s:s, s:s, s:s, s:s}", "uriTemplate", uri, "name", places[i].name,
                                "description", places[i].description, "mimeType", "text/markdown");
        if (mcp_has(request, MCP_2025_06_18))
            op_json_put(&row, "title", json_string(places[i].title));
        op_json_push(&templates, row);
    }
    return templates;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The arguments of memory.get, or NULL when the address is none of ours. */
static json_t *target_of(const char *uri)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t size = strlen(places[i].prefix);
        if (strncmp(uri, places[i].prefix, size) != 0)
            continue;
        json_t *target = json_pack("{s:s}", "key", uri + size);
        if (places[i].scope)
            op_json_put(&target, "scope", json_string(places[i].scope));
        return target;
    }
    return NULL;
}

json_t *offer_read(struct mcp_request *request, const char *uri)
{
    const struct op *op = mcp_op(request->session, "memory.get");
    struct op_result result;
    struct ethos_error error = {0};
    json_t *target = target_of(uri), *json = NULL;
    if (!op || !target) {
        json_decref(target);
        return mcp_no_resource(request, uri);
    }
    int code = mcp_run(request, op, target, &result, &error);
    const json_t *content = json_object_get(result.json, "content");
    bool exists = json_is_string(json_object_get(result.json, "revision"));
    if (code == ETHOS_OK && exists)
        json = json_pack("{s:[{s:s, s:s, s:O}]}", "contents", "uri", uri, "mimeType",
                         "text/markdown", "text", content);
    else if (code == ETHOS_OK || code == ETHOS_NOTFOUND || code == ETHOS_DENIED ||
             code == ETHOS_INVALID)
        mcp_no_resource(request, uri);
    else
        mcp_refuse(request, MCP_INTERNAL, "%s", error.text);
    op_result_release(&result);
    return json;
}

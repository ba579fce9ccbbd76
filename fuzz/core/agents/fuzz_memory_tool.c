/*
 * fuzz_memory_tool.c: a command of the memory tool over a text: there is always a reply, a path never
 * leads out, and a text changes by exactly what was asked for.
 *
 * Input: the command as JSON on the first line, then the text of the file; its lines are also the keys
 * of a tree.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "base/view.h"
#include "core/agents/memory_tool.h"
#include "core/memory/scope.h"

#define ROWS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_key(const char *key)
{
    assert(strlen(key) <= ETHOS_MAX_KEY && utf8_valid(view_str(key)));
    assert(!*key || scope_key_check("memories:global", key, NULL) == ETHOS_OK);
    assert(key[0] != '/' && key[0] != '.' && !strstr(key, "/.") && !strstr(key, "//"));
    assert(!strpbrk(key, "\\\"\n\t\177"));
}

static void check_edit(const struct tool_call *call, struct ethos_view text,
                       struct ethos_view changed)
{
    struct ethos_view more = call->text;
    size_t same = 0;
    while (same < text.size && same < changed.size && text.data[same] == changed.data[same])
        same++;
    if (call->command == TOOL_CREATE) {
        assert(view_eq(changed, call->text));
    } else if (call->command == TOOL_STR_REPLACE) {
        assert(changed.size + call->old_str.size == text.size + call->text.size);
        assert(view_contains(changed, call->text) && view_contains(text, call->old_str));
    } else {
        more.size -= view_ends(more, VIEW("\n"));
        assert(changed.size == text.size + more.size + 1 && view_contains(changed, more));
    }
}

static void run_edit(const struct tool_call *call, struct ethos_view text, struct tool_reply *reply)
{
    struct str out;
    bool absent = call->command == TOOL_CREATE;
    str_init(&out, (size_t)1 << 24);
    bool changed = tool_edit(call, absent ? (struct ethos_view){0} : text, &out, reply);
    assert(changed == !reply->is_error && reply->text.size > 0);
    if (changed && str_code(&out) == ETHOS_OK)
        check_edit(call, text, str_view(&out));
    str_release(&out);
}

static void run_tree(const struct tool_call *call, struct ethos_view text, struct tool_reply *reply)
{
    struct tool_row rows[ROWS];
    size_t count = 0;
    struct ethos_view line;
    char *keys[ROWS];
    while (count < ROWS && view_line(&text, &line)) {
        keys[count] = strndup(line.data, line.size);
        assert(keys[count]);
        if (scope_key_shown("memories:global", keys[count])) {
            rows[count] = (struct tool_row){keys[count], line.size * 1000};
            count++;
        } else {
            free(keys[count]);
        }
    }
    enum tool_kind kind = tool_kind_of(rows, count, call->path.key);
    tool_reachable(rows, count, &call->path, reply);
    if (kind == TOOL_DIRECTORY) {
        tool_view_directory(call, rows, count, reply);
        assert(!reply->is_error && view_starts(str_view(&reply->text), VIEW("Here're")));
        assert(!view_ends(str_view(&reply->text), VIEW("\n")));
    }
    for (size_t i = 0; i < count; i++)
        free(keys[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size), line;
    struct tool_reply reply;
    struct tool_call call;
    json_t *json = NULL;
    if (!view_line(&text, &line) || json_parse(line, "fuzz", &json, NULL) != ETHOS_OK)
        return 0;
    if (text.size == 0)
        text = VIEW("");
    tool_reply_init(&reply);
    if (json_is_object(json) && tool_parse(json, &call, &reply)) {
        check_key(call.path.key);
        check_key(call.new_path.key);
        if (call.command == TOOL_VIEW) {
            tool_view_file(&call, text, &reply);
            assert(reply.text.size > 0);
        }
        if (call.command == TOOL_VIEW || call.command == TOOL_DELETE)
            run_tree(&call, text, &reply);
        else if (call.command != TOOL_RENAME)
            run_edit(&call, text, &reply);
    } else if (json_is_object(json)) {
        assert(reply.is_error && reply.text.size > 0);
    }
    tool_reply_release(&reply);
    json_decref(json);
    return 0;
}

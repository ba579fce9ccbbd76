/*
 * dashboard_page.c: the page of the dashboard, with what it shows first.
 *
 * A page that came and then asked for its texts would show them two round trips later. So it brings them:
 * behind the page stands, as data that no browser runs, what GET /api/memory/list would answer to this
 * caller, and the nodes of each text (markdown.render). The page asks for whatever it was not given: what
 * takes long to set, what is on another machine, what the caller may not read.
 */
#include <string.h>

#include "base/view.h"
#include "http/auth.h"
#include "http/handlers/assets.h"
#include "http/internal.h"
#include "http/server.h"

#define INDEX "index.html"
#define ROOT "<html" /* there the page gets its looks */
#define LOOK "ethos_look="
#define MOST_SET 32768    /* bytes of texts that are set: it takes a moment */
#define MOST_GIVEN 524288 /* bytes of data: it stands before the page is all there */

/* A result of an operation, or NULL. args is taken. */
static json_t *result_of(struct http_call *call, const char *name, json_t *args)
{
    struct op_result result;
    const struct op *op = op_find(name);
    json_t *json = http_run(call, op, args, &result, NULL) == ETHOS_OK && result.code == ETHOS_OK
                       ? json_incref(result.json)
                       : NULL;
    op_result_release(&result);
    return json;
}

/* The nodes of each file, null for those that the page has to ask for. */
static json_t *nodes_of(struct http_call *call, const json_t *files)
{
    size_t index, left = MOST_SET;
    json_t *all = json_array(), *file;
    json_array_foreach (files, index, file) {
        json_t *content = json_object_get(file, "content"), *nodes = NULL;
        size_t size = json_string_length(content);
        if (content && size <= left) {
            left -= size;
            nodes = result_of(call, "markdown.render", json_pack("{s:O}", "content", content));
        }
        op_json_push(&all, nodes ? json_incref(json_object_get(nodes, "nodes")) : json_null());
        json_decref(nodes);
    }
    return all;
}

/* No "<" is left in it, which JSON has in texts only: nothing in it ends the element that it stands in. */
static void add_inert(struct str *out, struct ethos_view json)
{
    while (json.size) {
        const char *next = memchr(json.data, '<', json.size);
        size_t size = next ? (size_t)(next - json.data) : json.size;
        str_add(out, view_of(json.data, size));
        if (next)
            str_adds(out, "\\u003c");
        json = view_from(json, size + (next ? 1 : 0));
    }
}

static void add_given(struct http_call *call)
{
    struct str text;
    json_t *memory = result_of(call, "memory.list", json_object());
    json_t *nodes = memory ? nodes_of(call, json_object_get(memory, "files")) : NULL;
    json_t *given = nodes ? json_pack("{s:O, s:O}", "memory", memory, "nodes", nodes) : NULL;
    str_init(&text, MOST_GIVEN);
    if (given && json_print(given, JSON_STYLE_LINE, &text) == ETHOS_OK) {
        str_adds(&call->out, "<script type=\"application/json\" id=\"given\">");
        add_inert(&call->out, str_view(&text));
        str_adds(&call->out, "</script>\n");
    }
    str_release(&text);
    json_decref(given);
    json_decref(nodes);
    json_decref(memory);
}

/* One word of the cookie, as the page has it; what is no such word is nothing. */
static void add_look_word(struct http_call *call, struct ethos_view word)
{
    static const struct {
        const char *word, *attribute;
    } looks[] = {{"dark", " data-theme=\"dark\""},
                 {"light", " data-theme=\"light\""},
                 {"icons", " data-rail=\"icons\""}};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (view_eq_str(word, looks[i].word))
            str_adds(&call->out, looks[i].attribute);
}

/* Theme and rail, which frame.js keeps in a cookie, "ethos_look=dark.icons": nobody is dazzled first. */
static void add_look(struct http_call *call)
{
    const char *cookie = http_header(call, "Cookie");
    const char *at = cookie ? strstr(cookie, LOOK) : NULL;
    for (at = at ? at + strlen(LOOK) : NULL; at; at = *at == '.' ? at + 1 : NULL) {
        size_t size = strcspn(at, ".; ");
        add_look_word(call, view_of(at, size));
        at += size;
    }
}

/* Which home it is, for what the browser keeps of it: another one may be served here tomorrow. */
static void add_home(struct http_call *call)
{
    str_printf(&call->out, " data-home=\"%s\"", login_home_id(auth_login(call->http->auth)));
}

static void add_page(struct http_call *call, struct ethos_view page)
{
    const char *tag = memmem(page.data, page.size, ROOT, strlen(ROOT));
    size_t before = tag ? (size_t)(tag - page.data) + strlen(ROOT) : 0;
    str_add(&call->out, view_of(page.data, before));
    if (tag) {
        add_home(call);
        add_look(call);
    }
    str_add(&call->out, view_from(page, before));
}

void http_page(struct http_call *call)
{
    const struct asset *page = asset_find(INDEX);
    call->status = 200;
    call->type = "text/html; charset=utf-8";
    http_answer_header(call, "Content-Security-Policy", assets_policy);
    add_page(call, view_of(page->start, (size_t)(page->end - page->start)));
    if (!events_elsewhere(http_events_of(call)))
        add_given(call);
}

/*
 * get.c: the operation sessions.get: the messages of a session, all or one page.
 *
 * A page has the newest messages, or those from a given one on; "previous" and "next" are the first messages of the pages
 * around it. A model gets one page at most. Messages are sanitized for it before they are cut.
 */
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "memory/sessions/lookup.h"
#include "ops/sessions/sessions.h"

#define MESSAGES 1000     /* of a page at most, except on the command line */
#define PAGE_ROOM 8388608 /* characters at which such a page ends */
#define MODEL_MESSAGES 20 /* of a page for a model, by default */
#define MODEL_CHARS 2000  /* characters of each of them, by default */
#define MODEL_PAGE 100000 /* characters at which a page for a model ends */
#define ENOUGH 1          /* returned by the callback to stop */

struct message_page {
    unsigned size;      /* messages at most; 0: all */
    bool newest;        /* the last messages; else those from `from` on */
    const char *from;   /* the first message; NULL: none, or it was reached */
    uint64_t max_chars; /* of a message */
    uint64_t room;      /* characters of all */
    bool guarded, withheld;
    struct str safe; /* the sanitized text of the current message, if guarded */
    json_t *rows;
    uint64_t chars; /* of the rows */
    json_t *passed; /* ids of the messages before the rows, as many as a page has */
    json_t *next;   /* the id of the message after them */
};

static int push_passed_id(struct message_page *self, json_t *id)
{
    op_json_push(&self->passed, id);
    if (self->passed && json_array_size(self->passed) > self->size)
        json_array_remove(self->passed, 0);
    return self->passed ? ETHOS_OK : ETHOS_NOMEM;
}

/* Drops the oldest row. */
static int drop_oldest(struct message_page *self)
{
    json_t *row = json_array_get(self->rows, 0);
    self->chars -= utf8_units(json_view(row, "content"));
    int code = push_passed_id(self, json_incref(json_object_get(row, "id")));
    json_array_remove(self->rows, 0);
    return code;
}

static int add_page_message(struct message_page *self, const struct ethos_message *message)
{
    struct ethos_message shown = *message;
    if (self->guarded)
        shown.content = scan_visible(message->content, &self->safe);
    self->withheld |= shown.content.data != message->content.data;
    size_t whole = shown.content.size;
    if (self->max_chars)
        shown.content.size = utf8_head(shown.content, self->max_chars);
    json_t *row = str_code(&self->safe) == ETHOS_OK ? sessions_message(&shown) : NULL;
    if (shown.content.size < whole)
        op_json_put(&row, "cut", json_true());
    op_json_push(&self->rows, row);
    self->chars += utf8_units(shown.content);
    return self->rows ? ETHOS_OK : ETHOS_NOMEM;
}

static int add_newest(struct message_page *self, const struct ethos_message *message)
{
    int code = add_page_message(self, message);
    while (code == ETHOS_OK && (json_array_size(self->rows) > self->size ||
                                (self->chars > self->room && json_array_size(self->rows) > 1)))
        code = drop_oldest(self);
    return code;
}

static int add_or_pass_message(void *arg, const struct ethos_message *message)
{
    struct message_page *self = arg;
    if (self->newest)
        return add_newest(self, message);
    if (self->from && strcmp(self->from, message->id) != 0)
        return push_passed_id(self, op_json_string(message->id));
    self->from = NULL;
    bool full = self->size && json_array_size(self->rows) == self->size;
    if (!full && self->chars < self->room)
        return add_page_message(self, message);
    self->next = op_json_string(message->id);
    return self->next ? ENOUGH : ETHOS_NOMEM;
}

/* For the newest messages, the page before is read, too, to find its first message. */
static int read_page(struct ethos_sessions *store, const char *id, struct message_page *page,
                     struct ethos_error *error)
{
    int code = store->ops->messages(store, id, page->newest ? 2 * page->size : 0,
                                    add_or_pass_message, page, error);
    if (code != ETHOS_OK && code != ENOUGH)
        return sessions_walk_code(code, error);
    if (!page->from)
        return ETHOS_OK;
    code = err_set(error, ETHOS_NOTFOUND, "no such message in the session: %s", page->from);
    return err_hint(error, code, "leave it out to see the newest");
}

static int plan_page(const struct op_call *call, struct message_page *out,
                     struct ethos_error *error)
{
    int64_t last = op_integer(call, "last", 0);
    int64_t usual = call->guarded ? MODEL_MESSAGES : call->whole_lists ? 0 : MESSAGES;
    *out = (struct message_page){
        .size = (unsigned)op_integer(call, "limit", last ? last : usual),
        .from = op_string(call, "from"),
        .max_chars = (uint64_t)op_integer(call, "maxChars", call->guarded * MODEL_CHARS),
        .room = call->guarded       ? MODEL_PAGE
                : call->whole_lists ? UINT64_MAX
                                    : PAGE_ROOM,
        .guarded = call->guarded};
    if (!call->whole_lists && out->size > MESSAGES)
        out->size = MESSAGES;
    out->newest = out->size && !out->from;
    if (last && (out->from || op_integer(call, "limit", 0)))
        return err_set(error, ETHOS_INVALID, "last: cannot be combined with from or limit");
    return ETHOS_OK;
}

static json_t *page_json(const struct message_page *page, const json_t *session)
{
    json_t *json = json_pack("{s:O, s:O, s:[]}", "session", session, "messages", page->rows,
                             "cards");
    json_t *previous = json_array_get(page->passed, 0);
    if (page->size) {
        op_json_put(&json, "previous", previous ? json_incref(previous) : json_null());
        op_json_put(&json, "next", page->next ? json_incref(page->next) : json_null());
    }
    return json;
}

static int return_page(const struct op_call *call, struct message_page *page,
                       struct op_result *result, struct ethos_error *error)
{
    char id[ETHOS_UUID_SIZE];
    struct ethos_sessions *store;
    json_auto_t *session = NULL;
    TRY(ethos_sessions(call->ethos, &store, error));
    TRY(sessions_find_named(call, op_string(call, "id"), id, error));
    TRY(sessions_read_row(call, id, &session, error));
    TRY(read_page(store, id, page, error));
    result->withheld = page->withheld;
    return op_return(result, page_json(page, session), error);
}

int sessions_run_get(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct message_page page;
    TRY(plan_page(call, &page, error));
    page.rows = json_array();
    page.passed = json_array();
    str_init(&page.safe, SIZE_MAX);
    int code = return_page(call, &page, result, error);
    str_release(&page.safe);
    json_decref(page.rows);
    json_decref(page.passed);
    json_decref(page.next);
    return code;
}

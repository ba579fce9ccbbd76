/*
 * store_history.c: the operations store.history, store.version, and those on conflict copies.
 */
#include "base/err.h"
#include "base/view.h"
#include "core/memory/wire.h"
#include "memory/handle.h"
#include "ops/memory/store.h"
#include "ops/paging.h"

#define PAGE_ROWS 1000
#define PAGE_BYTES 1048576 /* of diffs; the next page has the rest */
#define PAGE_FULL 1        /* returned by the callback to stop */

/* ---- history ----------------------------------------------------------------------------------- */

/*
 * The next page starts after the last change with a number and so many without one. Changes added meanwhile come
 * before the first page and shift nothing.
 */
struct page {
    uint64_t after, skip;
    bool begun;
    json_t *rows;
    size_t count;
    size_t bytes;
    uint64_t last, unnumbered;
};

static bool is_on_earlier_page(struct page *page, const struct ethos_change *change)
{
    if (!page->begun && page->after > 0 && (change->number == 0 || change->number > page->after))
        return true;
    bool is_last = !page->begun && page->after > 0 && change->number == page->after;
    page->begun = true;
    if (is_last)
        return true;
    if (change->number > 0)
        page->skip = 0;
    if (page->skip == 0)
        return false;
    page->skip--;
    return true;
}

static int add_wire_change(void *arg, const struct ethos_change *change)
{
    struct page *page = arg;
    if (is_on_earlier_page(page, change))
        return 0;
    if (page->count == PAGE_ROWS || page->bytes > PAGE_BYTES)
        return PAGE_FULL;
    op_json_push(&page->rows, wire_change(change));
    page->count++;
    page->bytes += change->diff.size;
    page->unnumbered = change->number > 0 ? 0 : page->unnumbered + 1;
    page->last = change->number > 0 ? change->number : page->last;
    return page->rows ? 0 : ETHOS_NOMEM;
}

int store_run_history(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct store_call served;
    uint64_t after = (uint64_t)op_integer(call, "after", 0);
    uint64_t skip = (uint64_t)op_integer(call, "skip", 0);
    struct page page = {
        .after = after, .skip = skip, .rows = json_array(), .last = after, .unnumbered = skip};
    int code = store_call_begin(call, &served);
    if (code == ETHOS_OK)
        code = store_call_require(&served, served.store->ops->history);
    if (code == ETHOS_OK)
        code = served.store->ops->history(served.store, served.scope, served.key, add_wire_change,
                                          &page, &served.error);
    json_t *json = json_pack("{s:o}", "changes", page.rows);
    if (code == PAGE_FULL)
        op_json_put(&json, "next",
                    json_pack("{s:I, s:I}", "after", (json_int_t)page.last, "skip",
                              (json_int_t)page.unnumbered));
    return store_call_end(&served, code == PAGE_FULL ? ETHOS_OK : code, json, result, error);
}

int store_run_version(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct store_call served;
    struct ethos_text text = {0};
    json_t *json = NULL;
    int code = store_call_begin(call, &served);
    if (code == ETHOS_OK)
        code = store_call_require(&served, served.store->ops->version);
    if (code == ETHOS_OK)
        code = served.store->ops->version(served.store, served.scope, served.key,
                                          op_string(call, "revision"), &text, &served.error);
    if (code == ETHOS_OK)
        json = wire_text(&text);
    if (served.host)
        store_call_free_text(&served, &text);
    return store_call_end(&served, code, json, result, error);
}

/* ---- conflict copies ----------------------------------------------------------------------------- */

typedef int beside_fn(struct ethos_store *self, const char *scope, const char *key,
                      struct ethos_view text, struct ethos_error *error);

/* set_aside and keep have the same arguments. */
static int write_beside_key(struct store_call *served, int code, beside_fn *put,
                            struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    struct str scratch;
    struct ethos_view text;
    str_init(&scratch, WIRE_MAX_BYTES);
    if (code == ETHOS_OK)
        code = store_call_require(served, put);
    if (code == ETHOS_OK)
        code = store_call_bytes(served, call, "text", &scratch, &text);
    if (code == ETHOS_OK && !call->dry_run)
        code = put(served->store, served->scope, served->key, text, &served->error);
    str_release(&scratch);
    return store_call_end(served, code, json_pack("{s:b}", "ok", 1), result, error);
}

int store_run_set_aside(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct store_call served;
    int code = store_call_begin(call, &served);
    return write_beside_key(&served, code, code == ETHOS_OK ? served.store->ops->set_aside : NULL,
                            call, result, error);
}

int store_run_keep(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct store_call served;
    int code = store_call_begin(call, &served);
    return write_beside_key(&served, code, code == ETHOS_OK ? served.store->ops->keep : NULL, call,
                            result, error);
}

/* The path is left out: it means nothing on other machines. */
static int add_conflict(void *arg, const struct ethos_conflict *conflict)
{
    json_t **list = arg;
    op_json_push(list,
                 json_pack("{s:o, s:o, s:I, s:I, s:o}", "id", op_json_string(conflict->id), "key",
                           op_json_string(conflict->key), "timeMs", (json_int_t)conflict->time_ms,
                           "bytes", (json_int_t)conflict->bytes, "kind",
                           op_json_string(conflict->kind)));
    return *list ? 0 : ETHOS_NOMEM;
}

int store_run_conflicts(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct store_call served;
    json_t *list = json_array();
    int code = store_call_begin(call, &served);
    if (code == ETHOS_OK)
        code = store_call_require(&served, served.store->ops->conflicts);
    if (code == ETHOS_OK)
        code = served.store->ops->conflicts(served.store, served.scope, add_conflict, &list,
                                            &served.error);
    json_t *json = json_pack("{s:o}", "conflicts", list);
    if (code == ETHOS_OK)
        code = pages_cut(call, &json, "conflicts", "id", STORE_PAGE, &served.error);
    return store_call_end(&served, code, json, result, error);
}

int store_run_conflict_read(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    struct store_call served;
    struct ethos_text text = {0};
    json_t *json = NULL;
    int code = store_call_begin(call, &served);
    if (code == ETHOS_OK)
        code = store_call_require(&served, served.store->ops->conflict_read);
    if (code == ETHOS_OK)
        code = served.store->ops->conflict_read(served.store, served.scope, op_string(call, "id"),
                                                &text, &served.error);
    if (code == ETHOS_OK)
        json = wire_text(&text);
    if (served.host)
        store_call_free_text(&served, &text);
    return store_call_end(&served, code, json, result, error);
}

int store_run_conflict_drop(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    struct store_call served;
    int code = store_call_begin(call, &served);
    if (code == ETHOS_OK)
        code = store_call_require(&served, served.store->ops->conflict_drop);
    if (code == ETHOS_OK && !call->dry_run)
        code = served.store->ops->conflict_drop(served.store, served.scope, op_string(call, "id"),
                                                &served.error);
    return store_call_end(&served, code, json_pack("{s:b}", "ok", 1), result, error);
}

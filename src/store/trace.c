/* trace.c: a decorator that logs each call: name, scope, key, bytes, code. Never content. */
#include "store/store.h"

#include <stdbool.h>

#include "base/err.h"
#include "base/system/log.h"
#include "store/decorator.h"

/* Logs the end of a call and returns its code. */
static int log_call(struct ethos_store *self, const char *call, const char *scope, const char *key,
                    uint64_t bytes, int code)
{
    log_line(((struct store_wrapper *)self)->host, ETHOS_LOG_DEBUG, "store %s %s %s %llu bytes: %s",
             call, scope, key, (unsigned long long)bytes, err_name(code));
    return code;
}

static int trace_read(struct ethos_store *self, const char *scope, const char *key,
                      const struct ethos_read_how *how, struct ethos_text *out_text,
                      struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = inner->ops->read(inner, scope, key, how, out_text, error);
    return log_call(self, "read", scope, key, code == ETHOS_OK ? out_text->size : 0, code);
}

static int trace_write(struct ethos_store *self, const char *scope, const char *key,
                       const char *expect, struct ethos_view text,
                       const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                       struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = inner->ops->write(inner, scope, key, expect, text, origin, out_revision, error);
    return log_call(self, "write", scope, key, text.size, code);
}

static int trace_remove(struct ethos_store *self, const char *scope, const char *key,
                        const char *expect, const struct ethos_origin *origin,
                        struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = inner->ops->remove(inner, scope, key, expect, origin, error);
    return log_call(self, "remove", scope, key, 0, code);
}

static uint64_t count_found_bytes(const struct ethos_section *sections, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += sections[i].code == ETHOS_OK ? sections[i].text.size : 0;
    return bytes;
}

/* One line for all: the first of them and what all have together. */
static int trace_gather(struct ethos_store *self, const struct ethos_read_how *how,
                        struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = inner->ops->gather(inner, how, sections, count, error);
    return log_call(self, "gather", count ? sections[0].scope : "-", count ? sections[0].key : "-",
                    code == ETHOS_OK ? count_found_bytes(sections, count) : 0, code);
}

/* Forwards entries and adds up their bytes. */
struct counted_walk {
    ethos_entry_fn *each;
    void *arg;
    uint64_t bytes;
};

static int count_entry(void *arg, const struct ethos_entry *entry)
{
    struct counted_walk *walk = arg;
    walk->bytes += entry->bytes;
    return walk->each(walk->arg, entry);
}

static int trace_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                      struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct counted_walk walk = {each, arg, 0};
    int code = inner->ops->list(inner, scope, count_entry, &walk, error);
    return log_call(self, "list", scope, "*", walk.bytes, code);
}

static uint64_t count_put_bytes(const struct ethos_edit *edits, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += edits[i].verdict == ETHOS_EDIT_PUT ? edits[i].text.size : 0;
    return bytes;
}

/* One line for the whole update: its first key and what all keys together put. */
static int trace_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                        size_t count, ethos_edit_fn *edit, void *arg,
                        const struct ethos_origin *origin, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = inner->ops->update(inner, scope, edits, count, edit, arg, origin, error);
    return log_call(self, "update", scope, count ? edits[0].key : "-",
                    count_put_bytes(edits, count), code);
}

/* One line for all: the first key, what they put together, the first failure. */
static void trace_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                        size_t count)
{
    struct ethos_store *inner = wrap_inner(self);
    inner->ops->batch(inner, scope, calls, count);
    uint64_t bytes = 0;
    int code = ETHOS_OK;
    for (size_t i = 0; i < count; i++) {
        bytes += count_put_bytes(calls[i].edits, calls[i].count);
        code = code == ETHOS_OK ? calls[i].code : code;
    }
    bool named = count > 0 && calls[0].count > 0;
    log_call(self, "batch", scope, named ? calls[0].edits[0].key : "-", bytes, code);
}

static const struct ethos_store_ops trace_ops = {
    .abi = ETHOS_ABI,
    .name = "trace",
    .close = wrap_close,
    .read = trace_read,
    .write = trace_write,
    .remove = trace_remove,
    .list = trace_list,
    .update = trace_update,
    .batch = trace_batch,
    .locate = wrap_locate,
    .check = wrap_check,
    .gather = trace_gather,
};

int store_trace_new(const struct ethos_host *host, struct ethos_store *inner,
                    struct ethos_store **out_store, struct ethos_error *error)
{
    struct store_wrapper *wrap;
    TRY(wrap_new(host, &trace_ops, sizeof *wrap, inner, &wrap, error));
    *out_store = &wrap->store;
    return ETHOS_OK;
}

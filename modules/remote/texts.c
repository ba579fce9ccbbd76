/*
 * texts.c: read, gather, list and scopes.
 *
 * Texts are asked for with GET and with the entity tag of those that were read last: when the server
 * says unchanged, no text travels. The tag follows from the revisions (core/memory/wire.h), so it is known for any
 * set of texts that were read, not only for one that was asked for before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "core/memory/wire.h"
#include "remote.h"
#include "store/update_steps.h"

/* ---- questions ------------------------------------------------------------------------------------ */

/* "personality:x/MEMORY.md", as it may stand in a query. */
static void add_escaped(struct str *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789-_.~:/";
    for (; *text; text++) {
        if (strchr(plain, *text))
            str_addc(out, *text);
        else
            str_printf(out, "%%%02X", (unsigned char)*text);
    }
}

static void print_query(const struct spot *spots, size_t count, uint64_t tail_bytes,
                        struct str *out)
{
    str_printf(out, "tailBytes=%llu", (unsigned long long)tail_bytes);
    for (size_t i = 0; i < count; i++) {
        str_adds(out, "&at=");
        add_escaped(out, spots[i].scope);
        str_adds(out, "/");
        add_escaped(out, spots[i].key);
    }
}

static json_t *list_spots(const struct spot *spots, size_t count)
{
    json_t *list = json_array();
    bool whole = list;
    for (size_t i = 0; i < count; i++)
        whole &= json_array_append_new(list, json_sprintf("%s/%s", spots[i].scope, spots[i].key)) ==
                 0;
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

/* Of what is known of all of them; false: of one nothing is known. */
static bool known_tag(struct remote *self, const struct spot *spots, size_t count,
                      uint64_t tail_bytes, char out[ETHOS_REVISION_SIZE])
{
    struct str tag;
    bool known = true;
    str_init(&tag, SIZE_MAX);
    for (size_t i = 0; i < count && known; i++) {
        const struct ethos_text *text = cache_find(&self->cache, spots[i].scope, spots[i].key,
                                                   tail_bytes);
        known = text != NULL;
        if (known)
            wire_tag(&tag, spots[i].scope, spots[i].key, tail_bytes,
                     text->data ? text->revision : err_name(ETHOS_NOTFOUND), text->mtime_ms);
    }
    known = known && str_code(&tag) == ETHOS_OK;
    hash_revision(str_view(&tag), out);
    str_release(&tag);
    return known;
}

/* ---- answers ---------------------------------------------------------------------------------------- */

int texts_give(struct remote *self, const struct ethos_text *about, struct ethos_view bytes,
               struct ethos_text *out, struct ethos_error *error)
{
    int code = edit_fill_text(self->host, bytes, about->revision, about->mtime_ms, out, error);
    if (code != ETHOS_OK)
        return code;
    out->offset = about->offset;
    out->total = about->total;
    out->unsettled = about->unsettled;
    return ETHOS_OK;
}

/* Where a revision is a hash, a text that has it is the text. */
static bool is_damaged(const struct ethos_text *about, struct ethos_view bytes)
{
    char revision[ETHOS_REVISION_SIZE];
    if (about->offset > 0 || strncmp(about->revision, "sha256:", 7) != 0)
        return false;
    hash_revision(bytes, revision);
    return strcmp(revision, about->revision) != 0;
}

int texts_take(struct remote *self, const json_t *value, struct ethos_text *out,
               struct ethos_error *error)
{
    struct str scratch;
    struct ethos_text about = {0};
    struct ethos_view bytes;
    str_init(&scratch, WIRE_MAX_BYTES);
    int code = wire_take_text(value, &scratch, &about, &bytes);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    else if (code != ETHOS_OK || is_damaged(&about, bytes))
        code = remote_unexpected_answer(&self->link, "a text came that is not what it says", error);
    else
        code = texts_give(self, &about, bytes, out, error);
    str_release(&scratch);
    return code;
}

static int no_such_text(const struct spot *spot, struct ethos_error *error)
{
    return err_set(error, ETHOS_NOTFOUND, "%s: not found", spot->key);
}

static int take_spot(struct remote *self, const json_t *value, uint64_t tail_bytes,
                     struct spot *spot)
{
    static const struct ethos_text absent = {.mtime_ms = -1};
    const json_t *refusal = json_object_get(value, "error");
    struct ethos_error *error = &spot->error;
    if (!view_eq_str(json_view(value, "scope"), spot->scope) ||
        !view_eq_str(json_view(value, "key"), spot->key))
        return remote_unexpected_answer(&self->link,
                                        "it answered something else than what was asked", error);
    if (refusal)
        return wire_take_error(refusal, error);
    if (!json_object_get(value, "text")) {
        cache_put(&self->cache, spot->scope, spot->key, tail_bytes, &absent);
        return no_such_text(spot, error);
    }
    int code = texts_take(self, value, spot->text, error);
    if (code == ETHOS_OK)
        cache_put(&self->cache, spot->scope, spot->key, tail_bytes, spot->text);
    return code;
}

static int take_spots(struct remote *self, const json_t *answer, struct spot *spots, size_t count,
                      uint64_t tail_bytes, struct ethos_error *error)
{
    const json_t *texts = json_object_get(answer, "texts");
    if (!json_is_array(texts) || json_array_size(texts) != count)
        return remote_unexpected_answer(&self->link,
                                        "it answered something else than what was asked", error);
    for (size_t i = 0; i < count; i++)
        spots[i].code = take_spot(self, json_array_get(texts, i), tail_bytes, &spots[i]);
    return ETHOS_OK;
}

/* The server said that nothing of it changed. */
static int recall_spots(struct remote *self, struct spot *spots, size_t count, uint64_t tail_bytes)
{
    for (size_t i = 0; i < count; i++) {
        struct spot *spot = &spots[i];
        const struct ethos_text *text = cache_find(&self->cache, spot->scope, spot->key,
                                                   tail_bytes);
        spot->code = text->data ? texts_give(self, text, view_of(text->data, text->size),
                                             spot->text, &spot->error)
                                : no_such_text(spot, &spot->error);
    }
    return ETHOS_OK;
}

int texts_fetch(struct remote *self, struct spot *spots, size_t count, uint64_t tail_bytes,
                int64_t deadline, struct ethos_error *error)
{
    char tag[ETHOS_REVISION_SIZE];
    struct str query;
    json_t *args = NULL, *answer = NULL;
    if (count == 0)
        return ETHOS_OK;
    if (tail_bytes > ETHOS_MAX_STORE_BYTES)
        tail_bytes = 0; // no text is longer
    str_init(&query, REMOTE_MAX_QUERY);
    print_query(spots, count, tail_bytes, &query);
    bool brief = str_code(&query) == ETHOS_OK;
    if (!brief)
        args = json_pack("{s:o, s:I}", "at", list_spots(spots, count), "tailBytes",
                         (json_int_t)tail_bytes);
    bool known = brief && known_tag(self, spots, count, tail_bytes, tag);
    const struct remote_call ask = {"gather", brief ? query.data : NULL, args, known ? tag : NULL,
                                    ASK_READ};
    int code = brief || args ? remote_ask(self, &ask, deadline, &answer, error) : err_nomem(error);
    if (code == ETHOS_OK)
        code = answer ? take_spots(self, answer, spots, count, tail_bytes, error)
                      : recall_spots(self, spots, count, tail_bytes);
    json_decref(answer);
    json_decref(args);
    str_release(&query);
    return code;
}

/* ---- read and gather --------------------------------------------------------------------------------- */

int remote_read(struct ethos_store *store, const char *scope, const char *key,
                const struct ethos_read_how *how, struct ethos_text *out_text,
                struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    struct spot spot = {.scope = scope, .key = key, .text = out_text};
    int code = texts_fetch(self, &spot, 1, how->tail_bytes, link_deadline_texts(&self->link),
                           error);
    if (code != ETHOS_OK)
        return code;
    if (spot.code != ETHOS_OK && error)
        *error = spot.error;
    if (!(how->flags & ETHOS_READ_REVISION))
        out_text->revision[0] = 0;
    return spot.code;
}

int remote_gather(struct ethos_store *store, const struct ethos_read_how *how,
                  struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    struct spot *spots = calloc(count + 1, sizeof *spots);
    if (!spots)
        return err_nomem(error);
    for (size_t i = 0; i < count; i++)
        spots[i] = (struct spot){
            .scope = sections[i].scope, .key = sections[i].key, .text = &sections[i].text};
    int code = texts_fetch(self, spots, count, how->tail_bytes, link_deadline_texts(&self->link),
                           error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        sections[i].code = spots[i].code;
        sections[i].error = spots[i].error;
        if (!(how->flags & ETHOS_READ_REVISION))
            sections[i].text.revision[0] = 0;
    }
    free(spots);
    return code;
}

/* ---- lists -------------------------------------------------------------------------------------------- */

json_t *texts_args(const char *scope, const char *key, const char *name, json_t *value)
{
    json_t *args = json_pack("{s:s}", "scope", scope);
    bool whole = args && (!key || json_object_set_new(args, "key", json_string(key)) == 0);
    whole = whole && (!name || json_object_set(args, name, value) == 0);
    json_decref(value);
    if (whole)
        return args;
    json_decref(args);
    return NULL;
}

static int call_operation(struct remote *self, const char *name, json_t *args, unsigned flags,
                          int64_t deadline, json_t **out, struct ethos_error *error)
{
    const struct remote_call ask = {name, NULL, args, NULL, flags};
    *out = NULL;
    int code = args ? remote_ask(self, &ask, deadline, out, error) : err_nomem(error);
    json_decref(args);
    return code;
}

int texts_ask(struct remote *self, const char *name, json_t *args, unsigned flags, json_t **out,
              struct ethos_error *error)
{
    return call_operation(self, name, args, flags, link_deadline(&self->link), out, error);
}

/* One walk through the pages. *out_moved: what a page ended with is gone; the list must be read again. */
static int read_pages(struct remote *self, const char *name, const char *scope, const char *member,
                      json_t *rows, bool *out_moved, struct ethos_error *error)
{
    json_t *cursor = NULL;
    int code = ETHOS_OK;
    do {
        json_t *answer = NULL, *args = scope ? texts_args(scope, NULL, NULL, NULL) : json_object();
        bool later = cursor != NULL;
        if (args && later && json_object_set(args, "cursor", cursor) != 0) {
            json_decref(args);
            args = NULL;
        }
        json_decref(cursor);
        code = call_operation(self, name, args, ASK_READ, link_deadline_texts(&self->link), &answer,
                              error);
        *out_moved = later && code == ETHOS_INVALID;
        if (code == ETHOS_OK && !json_is_array(json_object_get(answer, member)))
            code = remote_unexpected_answer(&self->link, "a list came that is none", error);
        if (code == ETHOS_OK && json_array_extend(rows, json_object_get(answer, member)) != 0)
            code = err_nomem(error);
        cursor = json_object_get(answer, "nextCursor");
        cursor = code == ETHOS_OK && json_is_string(cursor) ? json_incref(cursor) : NULL;
        json_decref(answer);
    } while (cursor);
    return code;
}

int texts_list(struct remote *self, const char *name, const char *scope, const char *member,
               json_t **out_rows, struct ethos_error *error)
{
    json_t *rows = json_array();
    bool moved = false;
    int code = rows ? ETHOS_OK : err_nomem(error);
    for (int i = 0; rows && i < REMOTE_LIST_ROUNDS && (i == 0 || moved); i++) {
        json_array_clear(rows);
        code = read_pages(self, name, scope, member, rows, &moved, error);
    }
    if (moved)
        code = err_set(error, ETHOS_BUSY, "%s: the list keeps changing while it is read",
                       self->link.url);
    *out_rows = code == ETHOS_OK ? rows : NULL;
    if (code != ETHOS_OK)
        json_decref(rows);
    return code;
}

int remote_list(struct ethos_store *store, const char *scope, ethos_entry_fn *each, void *arg,
                struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    size_t index;
    json_t *rows, *row;
    int code = texts_list(self, "list", scope, "entries", &rows, error);
    json_array_foreach (rows, index, row) {
        bool ok = true;
        const json_t *mtime = json_object_get(row, "mtimeMs");
        const struct ethos_entry entry = {wire_string(row, "key", &ok),
                                          wire_number(row, "bytes", 0),
                                          mtime ? (int64_t)json_integer_value(mtime) : -1};
        if (code == ETHOS_OK && (!ok || !entry.key))
            code = remote_unexpected_answer(&self->link, "a list came that is none", error);
        if (code == ETHOS_OK)
            code = each(arg, &entry);
    }
    json_decref(rows);
    return code;
}

int remote_scopes(struct ethos_store *store, ethos_scope_fn *each, void *arg,
                  struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    size_t index;
    json_t *rows, *row;
    int code = texts_list(self, "scopes", NULL, "scopes", &rows, error);
    json_array_foreach (rows, index, row) {
        if (code == ETHOS_OK && !json_is_string(row))
            code = remote_unexpected_answer(&self->link, "a list came that is none", error);
        if (code == ETHOS_OK)
            code = each(arg, json_string_value(row));
    }
    json_decref(rows);
    return code;
}

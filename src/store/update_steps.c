/* update_steps.c: the steps of an update that do not depend on where the text is stored. */
#include "store/update_steps.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"

int edit_check_keys(const struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(edits[i].key, edits[j].key) == 0)
                return err_set(error, ETHOS_INVALID, "%s: twice in one update", edits[i].key);
        }
    }
    return ETHOS_OK;
}

void edit_free_text(const struct ethos_host *host, struct ethos_text *old)
{
    if (old->data)
        host->resize(host->arg, old->data, 0);
    *old = (struct ethos_text){.mtime_ms = -1};
}

int edit_reserve_text(const struct ethos_host *host, struct ethos_text *text, size_t size,
                      struct ethos_error *error)
{
    enum { STEP = 1024 }; // what malloc keeps at hand, enough for most notes
    if (size < text->capacity)
        return ETHOS_OK;
    size_t capacity = (size / STEP + 1) * STEP;
    char *data = host->resize(host->arg, text->data, capacity);
    if (!data)
        return err_nomem(error);
    text->data = data;
    text->capacity = capacity;
    return ETHOS_OK;
}

int edit_fill_text(const struct ethos_host *host, struct ethos_view text, const char *revision,
                   int64_t mtime_ms, struct ethos_text *out, struct ethos_error *error)
{
    TRY(edit_reserve_text(host, out, text.size, error));
    if (text.size)
        memcpy(out->data, text.data, text.size);
    out->data[text.size] = 0;
    out->size = text.size;
    out->offset = 0;
    out->total = text.size;
    out->mtime_ms = mtime_ms;
    out->unsettled = 0;
    if (revision)
        memcpy(out->revision, revision, strlen(revision) + 1);
    else
        hash_revision(text, out->revision);
    return ETHOS_OK;
}

int edit_run_callback(struct ethos_edit *edits, size_t count, ethos_edit_fn *edit, void *arg,
                      struct ethos_error *error)
{
    for (size_t i = 0; i < count; i++) {
        edits[i].verdict = ETHOS_EDIT_KEEP;
        edits[i].text = (struct ethos_view){0};
        edits[i].receipt[0] = 0;
        edits[i].actions = NULL;
    }
    TRY(edit(arg, edits, count, error));
    for (size_t i = 0; i < count; i++) {
        if (edits[i].verdict == ETHOS_EDIT_PUT && edits[i].text.size > ETHOS_MAX_STORE_BYTES)
            TRY(err_set(error, ETHOS_LIMIT, "%s: more than %d bytes", edits[i].key,
                        ETHOS_MAX_STORE_BYTES));
    }
    return ETHOS_OK;
}

bool edit_is_change(const struct ethos_edit *edit)
{
    const struct ethos_text *old = &edit->old;
    if (edit->verdict == ETHOS_EDIT_PUT)
        return !old->data || !view_eq(edit->text, view_of(old->data, old->size));
    return edit->verdict == ETHOS_EDIT_DROP && old->data;
}

bool edit_has_changes(const struct ethos_edit *edits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (edit_is_change(&edits[i]))
            return true;
    }
    return false;
}

const char *edit_action_names(const struct ethos_edit *edit)
{
    return edit->actions ? edit->actions : edit->verdict == ETHOS_EDIT_PUT ? "replace" : "delete";
}

struct ethos_change edit_make_change(const struct ethos_edit *edit,
                                     const struct ethos_origin *origin, int64_t now_ms)
{
    static const struct ethos_origin nobody;
    const struct ethos_origin *who = origin ? origin : &nobody;
    return (struct ethos_change){
        .time_ms = now_ms,
        .key = edit->key,
        .actions = edit_action_names(edit),
        .source = who->source ? who->source : "tool",
        .via = who->via,
        .actor = who->actor,
        .session = who->session,
        .session_key = who->session_key,
        .user = who->user,
        .op_id = who->op_id,
        .undoes = who->undoes,
        .trust = who->trust,
        .approved_by = who->approved_by,
        .edited_from = who->edited_from,
    };
}

struct ethos_change edit_make_seen_change(const char *key, int64_t now_ms)
{
    return (struct ethos_change){
        .time_ms = now_ms,
        .key = key,
        .actions = "external",
        .source = "web-editor",
        .via = "seen",
        .actor = "external",
        .trust = "owner",
    };
}

void edit_set_revisions(struct ethos_edit *edits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ethos_edit *edit = &edits[i];
        if (edit->verdict == ETHOS_EDIT_REPEATED)
            continue;
        if (!edit_is_change(edit))
            memcpy(edit->revision, edit->old.revision, sizeof edit->revision);
        else if (edit->verdict == ETHOS_EDIT_PUT)
            hash_revision(edit->text, edit->revision);
        else
            edit->revision[0] = 0;
    }
}

/* ---- write and remove ----------------------------------------------------------------------- */

struct key_swap {
    const char *expect;
    const struct ethos_view *text;
};

static int check_expected(void *arg, struct ethos_edit *edits, size_t count,
                          struct ethos_error *error)
{
    const struct key_swap *swap = arg;
    (void)count;
    const char *found = edits->old.data ? edits->old.revision : "absent";
    if (swap->expect && strcmp(swap->expect, found) != 0) {
        int code = err_set(error, ETHOS_CONFLICT, "%s: %s", edits->key,
                           edits->old.data ? "has changed meanwhile" : "is gone");
        return err_hint(error, code, "read it again and repeat the change");
    }
    if (!swap->text && !edits->old.data)
        return err_set(error, ETHOS_NOTFOUND, "%s: not found", edits->key);
    edits->verdict = swap->text ? ETHOS_EDIT_PUT : ETHOS_EDIT_DROP;
    if (swap->text)
        edits->text = *swap->text;
    return ETHOS_OK;
}

int edit_compare_and_swap(const struct ethos_host *host, edit_update_fn *update,
                          struct ethos_store *self, const char *scope, const char *key,
                          const char *expect, const struct ethos_view *text,
                          const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                          struct ethos_error *error)
{
    struct key_swap swap = {expect, text};
    struct ethos_edit edit = {.key = key};
    int code = update(self, scope, &edit, 1, check_expected, &swap, origin, error);
    if (code == ETHOS_OK && out_revision)
        memcpy(out_revision, edit.revision, sizeof edit.revision);
    edit_free_text(host, &edit.old);
    return code;
}

/*
 * decide.c: approves, rejects and edits queued writes.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/text/quote.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "memory/admission.h"
#include "memory/approval/pending_queue.h"
#include "memory/approval/rules_file.h"
#include "memory/handle_internal.h"
#include "memory/review/internal.h"
#include "store/operation_id.h"
#include "store/update_steps.h"

/* A decision in progress: the queue is locked. */
struct deciding {
    struct ethos_turn *turn;
    const struct review_decision *decision;
    struct pending_queue queue;
    struct pending_line *line;
    char op_id[ETHOS_MAX_OPID + 1];
    char revision[ETHOS_REVISION_SIZE]; /* of the file, "absent" for none */
};

/* ---- the line ---------------------------------------------------------------------------------- */

/* Ids of other programs may have any form. */
static void make_review_op_id(const char *id, char out[ETHOS_MAX_OPID + 1])
{
    char hash[HASH_HEX_SIZE];
    snprintf(out, ETHOS_MAX_OPID + 1, REVIEW_OP_ID "%s", id);
    if (strlen(id) + sizeof REVIEW_OP_ID - 1 <= ETHOS_MAX_OPID &&
        update_check_opid(view_str(out), NULL) == ETHOS_OK)
        return;
    hash_hex(view_str(id), hash);
    snprintf(out, ETHOS_MAX_OPID + 1, REVIEW_OP_ID "%s", hash);
}

static int open_decision(struct ethos_turn *turn, const struct review_decision *decision,
                         struct deciding *out, struct ethos_error *error)
{
    int root;
    struct pending_limits limits;
    enum approval_mode mode;
    char shown[QUOTE_SIZE];
    *out = (struct deciding){.turn = turn, .decision = decision, .queue = {.dir = -1, .lock = -1}};
    int code = admission_limits(turn->ethos, &limits, &mode, error);
    if (code == ETHOS_OK)
        code = service_open_root(turn->ethos, false, &root, error);
    if (code != ETHOS_OK)
        return code;
    if (root >= 0) {
        code = pending_queue_open(root, decision->scope, &limits, service_now_ms(turn->ethos),
                                  &out->queue, error);
        os_close(root);
    }
    out->line = code == ETHOS_OK ? pending_queue_find(&out->queue, view_str(decision->id)) : NULL;
    if (code != ETHOS_OK || out->line) {
        make_review_op_id(decision->id, out->op_id);
        return code;
    }
    quote_line(view_str(decision->id), shown);
    code = err_set(error, ETHOS_NOTFOUND, "no write with the id %s is waiting", shown);
    return err_hint(error, code, "ethos pending list shows waiting writes");
}

static void close_decision(struct deciding *self)
{
    pending_queue_release(&self->queue);
}

static int close_line(struct deciding *self, const char *reason, struct ethos_error *error)
{
    pending_queue_close_line(self->line, reason, self->decision->by);
    return pending_queue_save(&self->queue, error);
}

/* ---- what was done already ---------------------------------------------------------------------- */

static int leave_all_unchanged(void *arg, struct ethos_edit *edits, size_t count,
                               struct ethos_error *error)
{
    bool *asked = arg;
    (void)edits, (void)count, (void)error;
    *asked = true;
    return ETHOS_OK;
}

static bool has_idempotency(const struct ethos_turn *turn)
{
    return turn->provider->capabilities & ETHOS_PROVIDER_ONCE;
}

/*
 * Whether the history knows the operation: it makes an update that changes nothing with its id,
 * which would then count as repeated.
 */
static int find_applied(const struct deciding *self, bool *out, struct ethos_error *error)
{
    struct ethos_error own = {0};
    struct ethos_origin origin = {.actor = "owner", .op_id = self->op_id, .op_digest = "probe"};
    const struct ethos_sync_how how = {.origin = &origin};
    struct ethos_edit edit = {.key = self->line->pending.key};
    bool asked = false;
    *out = false;
    if (!has_idempotency(self->turn))
        return ETHOS_OK;
    int code = handle_update(self->turn, self->decision->scope, &edit, 1, leave_all_unchanged,
                             &asked, &how, &own);
    *out = code == ETHOS_OK ? !asked : opid_is_used_error(&own);
    if (code == ETHOS_OK || *out || code == ETHOS_UNSUPPORTED)
        return ETHOS_OK;
    if (error)
        *error = own;
    return code;
}

/* Somebody approved it and was killed before closing the line: closes it now. */
static int close_if_applied(struct deciding *self, struct ethos_error *error)
{
    bool applied;
    int code = find_applied(self, &applied, error);
    if (code != ETHOS_OK || !applied)
        return code;
    TRY(close_line(self, CLOSED_APPROVED, error));
    code = err_set(error, ETHOS_EXISTS, "%s: this was approved and written already",
                   self->line->pending.key);
    return err_hint(error, code, "ethos memory undo takes it back");
}

/* ---- what was shown ------------------------------------------------------------------------------ */

static int read_revision(struct deciding *self, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = self->turn->provider;
    const struct ethos_host *host = self->turn->ethos->host;
    struct ethos_text text = {0};
    int code = provider->ops->read(provider, self->decision->scope, self->line->pending.key, &whole,
                                   &text, error);
    snprintf(self->revision, sizeof self->revision, "%s",
             code == ETHOS_OK ? text.revision : "absent");
    host->resize(host->arg, text.data, 0);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int refuse_changed(const struct deciding *self, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_CONFLICT, "%s: this has changed since it was shown",
                       self->line->pending.key);
    return err_hint(error, code, "look at it again: ethos pending show %.36s", self->decision->id);
}

/*
 * Refuses to decide about anything that was not shown. With `file`, the file it changes must be
 * unchanged, too.
 */
static int check_shown(struct deciding *self, bool file, struct ethos_error *error)
{
    char now[HASH_HEX_SIZE], then[HASH_HEX_SIZE];
    const struct pending *pending = &self->line->pending;
    const char *shown = self->decision->hash;
    if (file)
        TRY(read_revision(self, error));
    if (pending_hash(pending, file ? self->revision : NULL, now) != ETHOS_OK ||
        pending_hash(pending, NULL, then) != ETHOS_OK)
        return err_nomem(error);
    if (shown) {
        bool same = strcmp(shown, now) == 0 || (!file && strcmp(shown, then) == 0);
        if (!same && !file && read_revision(self, NULL) == ETHOS_OK &&
            pending_hash(pending, self->revision, now) == ETHOS_OK)
            same = strcmp(shown, now) == 0;
        return same ? ETHOS_OK : refuse_changed(self, error);
    }
    bool moved = file && pending->base && pending->action != ETHOS_ACTION_ADD &&
                 strcmp(pending->base, self->revision) != 0;
    bool altered = pending->hash && strcmp(pending->hash, then) != 0;
    return moved || altered ? refuse_changed(self, error) : ETHOS_OK;
}

/* ---- approve ----------------------------------------------------------------------------------- */

static struct ethos_origin origin_of(const struct deciding *self)
{
    const struct pending *p = &self->line->pending;
    return (struct ethos_origin){.actor = p->actor,
                                 .via = p->via,
                                 .source = p->source,
                                 .session = p->session,
                                 .session_key = p->session_key,
                                 .user = p->user,
                                 .op_id = has_idempotency(self->turn) ? self->op_id : NULL,
                                 .trust = p->trust ? p->trust : trust_name(TRUST_UNTRUSTED),
                                 .approved_by = self->decision->by,
                                 .edited_from = p->edited_from};
}

struct applying {
    const struct deciding *deciding;
    struct str text, index;
};

/* Checks the revision again, under the store's lock. */
static int edit_file(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct applying *applying = arg;
    const struct deciding *self = applying->deciding;
    const struct pending *pending = &self->line->pending;
    struct update_effect effect;
    struct ethos_edit *file = &edits[0], *index = count > 1 ? &edits[1] : NULL;
    const char *revision = file->old.data ? file->old.revision : "absent";
    if (pending->action != ETHOS_ACTION_ADD && strcmp(revision, self->revision) != 0)
        return refuse_changed(self, error);
    int code = review_apply(pending, view_of(file->old.data, file->old.size), &applying->text,
                            &effect);
    if (code == ETHOS_OK && index)
        code = review_apply_line(pending, view_of(index->old.data, index->old.size),
                                 &applying->index);
    if (code != ETHOS_OK)
        return err_set(error, code, "%s: the resulting text is too large", pending->key);
    file->verdict = !effect.changed  ? ETHOS_EDIT_KEEP
                    : effect.present ? ETHOS_EDIT_PUT
                                     : ETHOS_EDIT_DROP;
    file->text = str_view(&applying->text);
    file->actions = pending_action_name(pending->action);
    if (index) {
        index->verdict = ETHOS_EDIT_PUT;
        index->text = str_view(&applying->index);
        index->actions = pending->action == ETHOS_ACTION_DELETE ? "remove" : "add";
    }
    return ETHOS_OK;
}

static int apply_file(struct deciding *self, const struct ethos_sync_how *how,
                      struct ethos_error *error)
{
    struct applying applying = {.deciding = self};
    struct ethos_origin origin = origin_of(self);
    struct ethos_sync_how own = *how;
    const struct pending *pending = &self->line->pending;
    struct ethos_edit edits[2] = {{.key = pending->key}, {.key = REVIEW_INDEX}};
    str_init(&applying.text, ETHOS_MAX_STORE_BYTES);
    str_init(&applying.index, ETHOS_MAX_STORE_BYTES);
    own.origin = &origin;
    origin.op_digest = origin.op_id ? "approved" : NULL;
    int code = handle_update(self->turn, pending->scope, edits, pending->has_note ? 2 : 1,
                             edit_file, &applying, &own, error);
    str_release(&applying.text);
    str_release(&applying.index);
    return code;
}

static int apply_update(struct deciding *self, const struct ethos_sync_how *how,
                        struct ethos_error *error)
{
    const struct pending *pending = &self->line->pending;
    struct ethos_origin origin = origin_of(self);
    struct ethos_sync_how own = *how;
    const struct ethos_update update = {
        .action = pending->action,
        .scope = pending->scope,
        .key = pending->key,
        .text = pending->text,
        .if_match = pending->action != ETHOS_ACTION_ADD ? self->revision : NULL};
    own.origin = &origin;
    return ethos_sync(self->turn, &update, 1, &own, error);
}

int review_approve(struct ethos_turn *turn, const struct review_decision *decision,
                   const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct deciding self;
    int code = open_decision(turn, decision, &self, error);
    if (code == ETHOS_OK)
        code = close_if_applied(&self, error);
    if (code == ETHOS_OK)
        code = check_shown(&self, true, error);
    if (code == ETHOS_OK) {
        const struct pending *pending = &self.line->pending;
        bool whole = pending->has_note || scope_is_tree(pending->scope);
        code = whole ? apply_file(&self, how, error) : apply_update(&self, how, error);
    }
    if (code == ETHOS_OK && !(how->flags & ETHOS_SYNC_DRY_RUN))
        code = close_line(&self, CLOSED_APPROVED, error);
    close_decision(&self);
    return code;
}

/* ---- reject, edit, allow ------------------------------------------------------------------------------- */

int review_reject(struct ethos_turn *turn, const struct review_decision *decision, bool never,
                  struct ethos_error *error)
{
    struct deciding self;
    int code = open_decision(turn, decision, &self, error);
    if (code == ETHOS_OK)
        code = close_if_applied(&self, error);
    if (code == ETHOS_OK)
        code = check_shown(&self, false, error);
    if (code == ETHOS_OK)
        code = close_line(&self, never ? CLOSED_NEVER : CLOSED_REJECTED, error);
    close_decision(&self);
    return code;
}

int review_edit(struct ethos_turn *turn, const struct review_decision *decision,
                struct ethos_view text, json_t **out, struct ethos_error *error)
{
    struct deciding self;
    int code = open_decision(turn, decision, &self, error);
    if (code == ETHOS_OK)
        code = close_if_applied(&self, error);
    if (code == ETHOS_OK)
        code = check_shown(&self, false, error);
    if (code == ETHOS_OK && self.line->pending.action == ETHOS_ACTION_DELETE)
        code = err_set(error, ETHOS_INVALID, "%s: a deletion has no text to edit",
                       self.line->pending.key);
    if (code == ETHOS_OK && (view_blank(text) || memchr(text.data, 0, text.size)))
        code = err_set(error, ETHOS_INVALID, "the text is blank, or contains a NUL byte");
    if (code == ETHOS_OK && pending_edit(self.line->row, text) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK) {
        pending_queue_note_edit(self.line);
        code = pending_queue_save(&self.queue, error);
    }
    if (code == ETHOS_OK)
        *out = json_incref(self.line->row);
    close_decision(&self);
    return code;
}

int review_allow(struct ethos *ethos, const char *rule, struct ethos_error *error)
{
    int home;
    TRY(service_open_home(ethos, true, &home, error));
    int code = rules_file_append(home, rule, error);
    os_close(home);
    return code;
}

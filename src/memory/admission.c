/*
 * admission.c: checks whether a write is allowed, refused, or queued for a person's approval.
 */
#include "memory/admission.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/system/uuid.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/approval/pending.h"
#include "core/approval/removal.h"
#include "core/history/diff.h"
#include "core/memory/sanitize.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "core/notes/index.h"
#include "memory/approval/pending_queue.h"
#include "memory/approval/rules_file.h"
#include "memory/handle_internal.h"
#include "memory/provider/missing_slots.h"
#include "store/update_steps.h"

#define INDEX_KEY "MEMORY.md"

/* A write that needs approval; every string is in the arena. */
struct waiting {
    struct waiting *next;
    struct pending pending;
    unsigned why;
};

/* ---- settings ---------------------------------------------------------------------------------- */

int admission_limits(struct ethos *ethos, struct pending_limits *out, enum approval_mode *out_mode,
                     struct ethos_error *error)
{
    const struct config *home;
    TRY(service_config(ethos, NULL, &home, NULL, error));
    out->cap = (size_t)config_integer(home, NULL, "memoryApproval.cap");
    out->days = config_integer(home, NULL, "memoryApproval.ttlDays");
    const char *word = config_get(home, NULL, "memoryApproval.mode");
    return approval_mode_parse(word, out_mode) == ETHOS_OK
               ? ETHOS_OK
               : err_set(error, ETHOS_INVALID, "memoryApproval.mode: unknown value '%s'", word);
}

/* Unreadable rules exempt nobody. */
static int read_rules(struct admission *self, struct ethos_error *error)
{
    int home;
    int code = service_open_home(self->turn->ethos, false, &home, error);
    if (code != ETHOS_OK || home < 0)
        return code;
    code = rules_file_read(home, &self->arena, &self->policy, error);
    os_close(home);
    if (code != ETHOS_OK)
        self->policy.count = 0;
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

int admission_begin(struct ethos_turn *turn, const struct ethos_origin *origin, bool rehearses,
                    struct admission *out, struct ethos_error *error)
{
    struct pending_limits limits;
    *out = (struct admission){
        .turn = turn, .origin = origin, .rehearses = rehearses, .trust = trust_of(origin)};
    arena_init(&out->arena);
    bool ours = origin->actor && strcmp(origin->actor, "ethos") == 0;
    out->passes = out->trust == TRUST_OWNER || ours ||
                  (origin->approved_by && *origin->approved_by);
    if (out->passes)
        return ETHOS_OK;
    TRY(admission_limits(turn->ethos, &limits, &out->policy.mode, error));
    return read_rules(out, error);
}

void admission_release(struct admission *self)
{
    arena_release(&self->arena);
    *self = (struct admission){0};
}

void admission_forget(struct admission *self)
{
    self->waiting = NULL;
}

/* ---- judging ----------------------------------------------------------------------------------- */

static int read_instructs(struct ethos_view text, bool *out, struct ethos_error *error)
{
    CLEANUP_STR struct str safe;
    str_init(&safe, SIZE_MAX);
    *out = text.size > 0 && scan_text(text, SCAN_GUARD, &safe, NULL);
    return str_code(&safe) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/*
 * What a person rejected for good in this scope. A proposal that merely expired may be made again.
 */
static int check_tombstone(struct admission *self, const struct pending *pending,
                           struct ethos_error *error)
{
    int root;
    char hash[HASH_HEX_SIZE];
    const char *reason = NULL;
    int code = service_open_root(self->turn->ethos, false, &root, error);
    if (code != ETHOS_OK || root < 0)
        return code;
    code = pending_fact_hash(pending, hash) == ETHOS_OK
               ? pending_queue_find_tombstone(root, pending->scope, hash, &self->arena, &reason,
                                              error)
               : err_nomem(error);
    os_close(root);
    bool captured = pending->source && strcmp(pending->source, "capture") == 0;
    if (code != ETHOS_OK || !reason || (!captured && strcmp(reason, CLOSED_EXPIRED) == 0))
        return code;
    code = err_set(error, ETHOS_DENIED, "%s: rejected earlier", pending->key);
    return err_hint(error, code, "do not propose it again");
}

struct counting {
    const struct admission *admission;
    int64_t since_ms;
    uint64_t count;
};

static int count_change(void *arg, const struct ethos_change *change)
{
    struct counting *counting = arg;
    const char *actor = counting->admission->origin->actor;
    if (change->time_ms < counting->since_ms)
        return 1;
    counting->count += actor && change->actor && strcmp(change->actor, actor) == 0;
    return 0;
}

/* The actor's changes since midnight, for rules with a daily limit. */
static uint64_t count_today(struct admission *self, const char *scope)
{
    struct ethos_provider *provider = self->turn->provider;
    int64_t now = service_now_ms(self->turn->ethos);
    struct counting counting = {.admission = self, .since_ms = now - now % DAY_MS};
    if (SLOT_PROVIDER(provider, history))
        provider->ops->history(provider, scope, NULL, count_change, &counting, NULL);
    return counting.count;
}

/*
 * Decides about one write. change is its diff; absent when unknown, and then small. *out_why is 0
 * if the write is allowed.
 */
static int decide_write(struct admission *self, const struct pending *pending,
                        const struct ethos_change *change, unsigned *out_why,
                        struct ethos_error *error)
{
    struct policy_write write = {.trust = self->trust,
                                 .actor = self->origin->actor,
                                 .source = self->origin->source,
                                 .action = pending->action,
                                 .files = policy_files_of(pending->scope, pending->key),
                                 .chars = utf8_units(pending->text),
                                 .large = change && removal_is_large(change)};
    bool removes = pending->action == ETHOS_ACTION_REMOVE || pending->action == ETHOS_ACTION_DELETE;
    int code = removes ? ETHOS_OK : read_instructs(pending->text, &write.instructs, error);
    if (code != ETHOS_OK)
        return code;
    if (policy_counts(&self->policy))
        write.today = count_today(self, pending->scope);
    if (policy_decide(&self->policy, &write, out_why) == POLICY_REFUSE) {
        code = err_set(error, ETHOS_DENIED, "%s: a rule of " POLICY_FILE " refuses this change",
                       pending->key);
        return err_hint(error, code, "the owner decides about the rules");
    }
    return check_tombstone(self, pending, error);
}

static int copy_text(struct arena *arena, struct ethos_view text, struct ethos_view *out)
{
    if (!text.data) {
        *out = text;
        return ETHOS_OK;
    }
    const char *copy = arena_copy(arena, text);
    *out = view_of(copy, text.size);
    return copy ? ETHOS_OK : ETHOS_NOMEM;
}

/* Records a write that needs approval. */
static int add_waiting_write(struct admission *self, const struct pending *pending, unsigned why,
                             struct ethos_error *error)
{
    struct arena *arena = &self->arena;
    struct waiting *waiting = arena_alloc(arena, sizeof *waiting);
    if (!waiting)
        return err_nomem(error);
    *waiting = (struct waiting){.next = self->waiting, .pending = *pending, .why = why};
    struct pending *own = &waiting->pending;
    own->scope = arena_str(arena, pending->scope);
    own->key = arena_str(arena, pending->key);
    own->base = arena_str(arena, pending->base);
    own->title = arena_str(arena, pending->title);
    own->hook = arena_str(arena, pending->hook);
    bool copied = own->scope && own->key && (own->base || !pending->base) &&
                  (own->title || !pending->title) && (own->hook || !pending->hook) &&
                  copy_text(arena, pending->text, &own->text) == ETHOS_OK;
    if (!copied)
        return err_nomem(error);
    self->waiting = waiting;
    return ETHOS_OK;
}

static struct pending make_pending(const struct admission *self, const char *scope, const char *key)
{
    return (struct pending){.scope = scope, .key = key, .source = self->origin->source};
}

/* ---- updates ----------------------------------------------------------------------------------- */

/* The text that an update changes, and the text it would make of it. */
static int describe_update(struct admission *self, const struct ethos_update *update,
                           struct ethos_text *old, struct str *diff, struct ethos_change *change,
                           struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = self->turn->provider;
    struct update_effect effect;
    CLEANUP_STR struct str after = {0};
    int code = provider->ops->read(provider, update->scope, update->key, &whole, old, error);
    if (code == ETHOS_NOTFOUND || code == ETHOS_UNSUPPORTED)
        return ETHOS_OK;
    if (code != ETHOS_OK)
        return code;
    struct ethos_view before = view_of(old->data, old->size);
    str_init(&after, ETHOS_MAX_STORE_BYTES);
    code = update_apply(update, 1, before, &after, &effect);
    struct ethos_view text = effect.present ? str_view(&after) : (struct ethos_view){0};
    if (code == ETHOS_OK)
        code = diff_unified(before, text, update->key, diff);
    *change = (struct ethos_change){
        .bytes_before = before.size, .bytes_after = text.size, .diff = str_view(diff)};
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static struct pending from_update(const struct admission *self, const struct ethos_update *update,
                                  const struct ethos_text *old)
{
    struct pending pending = make_pending(self, update->scope, update->key);
    pending.action = update->action;
    pending.text = update->action == ETHOS_ACTION_DELETE ? (struct ethos_view){0} : update->text;
    pending.base = old->data ? old->revision : "absent";
    return pending;
}

int admission_check_update(struct admission *self, const struct ethos_update *update,
                           unsigned *out_why, struct ethos_error *error)
{
    const struct ethos_host *host = self->turn->ethos->host;
    struct ethos_text old = {0};
    struct ethos_change change = {0};
    struct str diff;
    *out_why = 0;
    if (self->passes)
        return ETHOS_OK;
    str_init(&diff, ETHOS_MAX_STORE_BYTES);
    int code = describe_update(self, update, &old, &diff, &change, error);
    const struct pending pending = from_update(self, update, &old);
    bool has_read = !update->if_match || strcmp(update->if_match, pending.base) == 0;
    if (code == ETHOS_OK &&
        has_read) // reading fails for whoever lacks the right; the write itself reports that
        code = decide_write(self, &pending, &change, out_why, error);
    str_release(&diff);
    host->resize(host->arg, old.data, 0);
    return code;
}

int admission_note_update(struct admission *self, const struct ethos_update *update, unsigned why,
                          struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    const struct ethos_host *host = self->turn->ethos->host;
    struct ethos_provider *provider = self->turn->provider;
    struct ethos_text old = {0};
    int code = provider->ops->read(provider, update->scope, update->key, &whole, &old, error);
    if (code == ETHOS_NOTFOUND || code == ETHOS_UNSUPPORTED)
        code = ETHOS_OK;
    const struct pending pending = from_update(self, update, &old);
    if (code == ETHOS_OK)
        code = add_waiting_write(self, &pending, why, error);
    host->resize(host->arg, old.data, 0);
    return code;
}

/* ---- edits ------------------------------------------------------------------------------------- */

/* Whether appending leads from one text to the other; the content is then what it appends. */
static bool is_addition(struct ethos_view before, struct ethos_view after,
                        struct ethos_view *out_content)
{
    struct ethos_view kept = view_trim_end(before), rest;
    struct update_effect effect;
    struct str text;
    if (kept.size == 0 || !view_starts(after, kept))
        return false;
    rest = view_trim(view_from(after, kept.size));
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = rest};
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    bool same = rest.size > 0 && update_apply(&update, 1, before, &text, &effect) == ETHOS_OK &&
                view_eq(str_view(&text), after);
    str_release(&text);
    *out_content = rest;
    return same;
}

static void describe_edit(const struct ethos_edit *edit, struct pending *pending)
{
    struct ethos_view before = view_of(edit->old.data, edit->old.size);
    pending->base = edit->old.data ? edit->old.revision : "absent";
    if (edit->verdict == ETHOS_EDIT_DROP)
        pending->action = ETHOS_ACTION_DELETE;
    else if (is_addition(before, edit->text, &pending->text))
        pending->action = ETHOS_ACTION_ADD;
    else {
        pending->action = ETHOS_ACTION_REPLACE;
        pending->text = edit->text;
    }
}

/* The index line that is added or removed with a file. */
static int describe_line(struct admission *self, const struct ethos_edit *index,
                         struct pending *pending)
{
    struct index_entry entry;
    CLEANUP_STR struct str title = {0};
    struct ethos_view text = index->verdict == ETHOS_EDIT_PUT
                                 ? index->text
                                 : view_of(index->old.data, index->old.size);
    pending->has_note = true;
    if (pending->action == ETHOS_ACTION_DELETE || !index_find(text, view_str(pending->key), &entry))
        return ETHOS_OK;
    str_init(&title, ETHOS_MAX_STORE_BYTES);
    if (index_title(&entry, &title) == ETHOS_OK) {
        pending->title = arena_copy(&self->arena, str_view(&title));
        pending->hook = arena_copy(&self->arena, entry.hook.data ? entry.hook : VIEW(""));
    }
    return pending->title && pending->hook ? ETHOS_OK : ETHOS_NOMEM;
}

static int classify_edit(struct admission *self, const char *scope, const struct ethos_edit *edit,
                         const struct ethos_edit *index, bool *out_waits, struct ethos_error *error)
{
    struct str diff;
    unsigned why = 0;
    struct pending pending = make_pending(self, scope, edit->key);
    struct ethos_view before = view_of(edit->old.data, edit->old.size),
                      after = edit->verdict == ETHOS_EDIT_PUT ? edit->text : (struct ethos_view){0};
    describe_edit(edit, &pending);
    if (index && describe_line(self, index, &pending) != ETHOS_OK)
        return err_nomem(error);
    str_init(&diff, ETHOS_MAX_STORE_BYTES);
    int code = diff_unified(before, after, edit->key, &diff) == ETHOS_OK ? ETHOS_OK
                                                                         : err_nomem(error);
    const struct ethos_change change = {
        .bytes_before = before.size, .bytes_after = after.size, .diff = str_view(&diff)};
    if (code == ETHOS_OK)
        code = decide_write(self, &pending, &change, &why, error);
    str_release(&diff);
    *out_waits |= why != 0;
    return code == ETHOS_OK ? add_waiting_write(self, &pending, why, error) : code;
}

/* MEMORY.md is the index of the other files that change with it. */
static const struct ethos_edit *find_index(const struct ethos_edit *edits, size_t count)
{
    const struct ethos_edit *index = NULL;
    bool others = false;
    for (size_t i = 0; i < count; i++) {
        if (!edit_is_change(&edits[i]))
            continue;
        if (strcmp(edits[i].key, INDEX_KEY) == 0)
            index = &edits[i];
        else
            others = true;
    }
    return others ? index : NULL;
}

int admission_check_edits(struct admission *self, const char *scope, const struct ethos_edit *edits,
                          size_t count, struct ethos_error *error)
{
    int code = ETHOS_OK;
    bool waits = false;
    admission_forget(self);
    if (self->passes)
        return ETHOS_OK;
    const struct ethos_edit *index = find_index(edits, count);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        if (&edits[i] != index && edit_is_change(&edits[i]))
            code = classify_edit(self, scope, &edits[i], index, &waits, error);
    if (code == ETHOS_OK && waits)
        return err_set(error, ETHOS_PENDING, "waiting for approval");
    admission_forget(self);
    return code;
}

/* ---- queueing ---------------------------------------------------------------------------------- */

static json_t *why_json(unsigned why)
{
    json_t *names = json_array();
    for (unsigned bit = 1; names && bit <= why; bit *= 2)
        if ((why & bit) && policy_why_name(bit) &&
            json_array_append_new(names, json_string(policy_why_name(bit))) != 0) {
            json_decref(names);
            names = NULL;
        }
    return names;
}

/* The same write is in the queue already: nobody is asked twice. */
static struct pending_line *find_same(struct pending_queue *queue, const char *hash)
{
    for (size_t i = 0; i < queue->count; i++) {
        struct pending_line *line = &queue->lines[i];
        if (line->row && !line->reason && line->pending.hash &&
            strcmp(line->pending.hash, hash) == 0)
            return line;
    }
    return NULL;
}

static int check_quota(const struct admission *self, struct pending_queue *queue,
                       const struct pending *pending, struct ethos_error *error)
{
    struct pending_usage usage;
    if (self->trust != TRUST_UNTRUSTED)
        return ETHOS_OK;
    TRY(pending_queue_measure(queue, &usage, error));
    if (usage.writes < ADMISSION_DAY_WRITES &&
        usage.bytes + pending->text.size <= ADMISSION_DAY_BYTES)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_LIMIT,
                       "%s: more than %d changes or %d bytes of untrusted text in a day",
                       pending->key, ADMISSION_DAY_WRITES, ADMISSION_DAY_BYTES);
    return err_hint(error, code,
                    "the owner can review pending changes with: ethos pending: ethos pending");
}

static int queue_write(const struct admission *self, struct pending_queue *queue,
                       const struct waiting *waiting, char out_id[ADMISSION_ID_SIZE],
                       struct ethos_error *error)
{
    const struct ethos_origin *origin = self->origin;
    char id[UUID_SIZE], hash[HASH_HEX_SIZE];
    struct pending pending = waiting->pending;
    if (pending_hash(&pending, NULL, hash) != ETHOS_OK)
        return err_nomem(error);
    const struct pending_line *same = find_same(queue, hash);
    if (same) {
        snprintf(out_id, ADMISSION_ID_SIZE, "%s", same->pending.id);
        return ETHOS_OK;
    }
    TRY(check_quota(self, queue, &pending, error));
    if (uuid_make(id) != 0)
        return err_set(error, ETHOS_IO, "cannot get random bytes from the system");
    json_t *why = why_json(waiting->why);
    pending.id = id;
    pending.proposed_ms = queue->now_ms;
    pending.session = origin->session;
    pending.session_key = origin->session_key;
    pending.actor = origin->actor;
    pending.via = origin->via;
    pending.trust = trust_name(self->trust);
    pending.why = why;
    pending.op_id = origin->op_id;
    pending.user = origin->user;
    int code = why ? pending_queue_add(queue, pending_make(&pending), error) : err_nomem(error);
    json_decref(why);
    snprintf(out_id, ADMISSION_ID_SIZE, "%s", id);
    return code;
}

static void report_waiting_write(const struct waiting *waiting, const char *id,
                                 const struct ethos_sync_how *how)
{
    const struct ethos_outcome outcome = {.kind = ETHOS_OUTCOME_PENDING,
                                          .scope = waiting->pending.scope,
                                          .key = waiting->pending.key,
                                          .revision = waiting->pending.base,
                                          .pending = id};
    if (how->each)
        how->each(how->arg, &outcome);
}

/* Queues all writes of one scope, or none. */
static int queue_scope(struct admission *self, int root, const struct pending_limits *limits,
                       struct waiting *first, const struct ethos_sync_how *how,
                       struct ethos_error *error)
{
    struct pending_queue queue;
    struct waiting *waiting;
    char id[ADMISSION_ID_SIZE];
    int code = pending_queue_open(root, first->pending.scope, limits,
                                  service_now_ms(self->turn->ethos), &queue, error);
    for (waiting = first; code == ETHOS_OK && waiting; waiting = waiting->next)
        if (strcmp(waiting->pending.scope, first->pending.scope) == 0) {
            code = queue_write(self, &queue, waiting, id, error);
            waiting->pending.id = code == ETHOS_OK ? arena_str(&self->arena, id) : NULL;
        }
    if (code == ETHOS_OK)
        code = pending_queue_save(&queue, error);
    pending_queue_release(&queue);
    for (waiting = first; code == ETHOS_OK && waiting; waiting = waiting->next)
        if (strcmp(waiting->pending.scope, first->pending.scope) == 0 && waiting->pending.id) {
            report_waiting_write(waiting, waiting->pending.id, how);
            if (!*self->id)
                snprintf(self->id, sizeof self->id, "%s", waiting->pending.id);
        }
    if (code == ETHOS_OK)
        handle_touch(self->turn, first->pending.scope);
    return code;
}

static bool was_scope_before(const struct waiting *list, const struct waiting *at)
{
    for (; list != at; list = list->next)
        if (strcmp(list->pending.scope, at->pending.scope) == 0)
            return true;
    return false;
}

/* In the order in which they were added. */
static struct waiting *turn_around(struct waiting *list)
{
    struct waiting *turned = NULL, *next;
    for (; list; list = next) {
        next = list->next;
        list->next = turned;
        turned = list;
    }
    return turned;
}

int admission_queue(struct admission *self, const struct ethos_sync_how *how,
                    struct ethos_error *error)
{
    int root = -1, code = ETHOS_OK;
    struct pending_limits limits;
    enum approval_mode mode;
    struct waiting *list = turn_around(self->waiting);
    self->waiting = NULL;
    if (!list)
        return ETHOS_OK;
    if (!self->rehearses)
        code = admission_limits(self->turn->ethos, &limits, &mode, error);
    if (code == ETHOS_OK && !self->rehearses)
        code = service_open_root(self->turn->ethos, true, &root, error);
    for (struct waiting *at = list; code == ETHOS_OK && at; at = at->next) {
        if (self->rehearses)
            report_waiting_write(at, "", how);
        else if (!was_scope_before(list, at))
            code = queue_scope(self, root, &limits, at, how, error);
    }
    if (root >= 0)
        os_close(root);
    if (code != ETHOS_OK)
        return code;
    code = err_set(error, ETHOS_PENDING, "%s: waits for approval", list->pending.key);
    return err_hint(error, code, "the owner decides: ethos pending");
}

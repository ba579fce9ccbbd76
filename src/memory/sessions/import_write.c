/*
 * import_write.c: writes a transcript to a new session, or appends to an existing one.
 *
 * Each step compares with the session and appends one batch, both under a lock that all imports of
 * the home share: two imports do not mix, and neither waits for more than a batch of the other.
 * Usage in the transcript is compared with the session's, not added blindly, so that the next step
 * corrects one that was killed between two writes.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/sessions/key.h"
#include "memory/handle.h"
#include "memory/handle_internal.h"
#include "memory/home/directory.h"
#include "memory/sessions/import_internal.h"
#include "memory/sessions/lookup.h"

#define BATCH_BYTES 16777216 /* of one transaction */

/* ---- what is known of the session ------------------------------------------------------------ */

static int make_session(struct session_import *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    struct ethos_session session = self->source->about.session;
    const char *format = self->source->about.format;
    session.updated_at = session.created_at;
    if (!self->own)
        session.id = NULL;
    if (!self->own || !session.key)
        session.key = self->key;
    if (!self->own || !session.platform)
        session.platform = strcmp(format, "jsonl") == 0 ? "import" : format;
    int code = sessions_user(self->run->turn, &session.user, error);
    if (code == ETHOS_OK)
        code = store->ops->create(store, &session, self->id, error);
    if (code == ETHOS_INVALID && session.id) { // not an id here
        session.id = NULL;
        code = store->ops->create(store, &session, self->id, error);
    }
    if (code == ETHOS_EXISTS && strcmp(session.key, self->key) != 0) {
        session.key = self->key;
        code = store->ops->create(store, &session, self->id, error);
    }
    self->session = session;
    return code;
}

void import_add_usage(struct ethos_usage *to, const struct ethos_message *messages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!messages[i].has_usage)
            continue;
        transcript_add_usage(to, &messages[i].usage);
        to->api_calls++;
    }
}

/* The usage of the whole transcript: our own export has it, for others it is counted. */
static struct ethos_usage cost_of(const struct session_import *self)
{
    const struct import_source *source = self->source;
    if (self->own)
        return source->about.session.usage;
    struct ethos_usage usage = source->from ? source->from->usage : (struct ethos_usage){0};
    import_add_usage(&usage, source->messages, source->count);
    return usage;
}

/* The new value if it is known and differs, else NULL. */
static const char *new_value(const char *told, const char *now)
{
    return told && (!now || strcmp(told, now) != 0) ? told : NULL;
}

static bool has_usage(const struct ethos_usage *usage)
{
    return usage->input_tokens || usage->output_tokens || usage->cache_read_tokens ||
           usage->cache_creation_tokens || usage->cost_usd != 0 || usage->api_calls ||
           usage->compactions;
}

/* Values in a transcript are never negative; those in the store may be anything. */
static int64_t missing_amount(int64_t told, int64_t now)
{
    int64_t rest;
    return __builtin_sub_overflow(told, now, &rest) ? INT64_MAX : rest;
}

/* The usage that the session lacks. */
static struct ethos_usage compare_cost(const struct ethos_usage *told,
                                       const struct ethos_usage *now)
{
    return (struct ethos_usage){
        .input_tokens = missing_amount(told->input_tokens, now->input_tokens),
        .output_tokens = missing_amount(told->output_tokens, now->output_tokens),
        .cache_read_tokens = missing_amount(told->cache_read_tokens, now->cache_read_tokens),
        .cache_creation_tokens = missing_amount(told->cache_creation_tokens,
                                                now->cache_creation_tokens),
        .cost_usd = told->cost_usd - now->cost_usd,
        .api_calls = missing_amount(told->api_calls, now->api_calls),
        .compactions = missing_amount(told->compactions, now->compactions)};
}

static void apply_patch(const struct ethos_session_patch *patch, const struct ethos_usage *cost,
                        struct ethos_session *session)
{
    session->title = patch->title ? patch->title : session->title;
    session->model = patch->model ? patch->model : session->model;
    session->provider = patch->provider ? patch->provider : session->provider;
    session->working_dir = patch->working_dir ? patch->working_dir : session->working_dir;
    session->usage = *cost;
}

/*
 * At the end: updates the session's metadata from the transcript. An existing title stays, since it
 * may be a person's. Our own export changes nothing unless it had new messages.
 */
static int patch_session(struct session_import *self, struct ethos_error *error)
{
    const struct ethos_session *told = &self->source->about.session, *now = &self->session;
    struct ethos_session_patch patch = {.title = now->title ? NULL : told->title,
                                        .model = new_value(told->model, now->model),
                                        .provider = new_value(told->provider, now->provider),
                                        .working_dir = now->working_dir ? NULL : told->working_dir};
    if (self->own && !self->begun)
        return ETHOS_OK;
    struct ethos_usage cost = cost_of(self), usage = compare_cost(&cost, &now->usage);
    if (has_usage(&usage))
        patch.usage = &usage;
    if (!patch.title && !patch.model && !patch.provider && !patch.working_dir && !patch.usage)
        return ETHOS_OK;
    int code = self->run->store->ops->update(self->run->store, self->id, &patch, error);
    if (code == ETHOS_OK)
        apply_patch(&patch, &cost, &self->session);
    return code;
}

/* ---- appending ------------------------------------------------------------------------------- */

static size_t batch_size(const struct session_import *self)
{
    const struct import_source *source = self->source;
    size_t count = 0, bytes = 0;
    while (self->have + count < source->count && count < SESSIONS_IMPORT_BATCH &&
           (count == 0 || bytes < BATCH_BYTES))
        bytes += source->messages[self->have + count++].content.size;
    return count;
}

/* One batch; no time is before that of the last message, since messages are read back by time. */
static int append_batch(struct session_import *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    struct ethos_message *messages = self->source->messages + self->have;
    size_t count = batch_size(self);
    for (size_t i = 0; i < count; i++)
        if (messages[i].timestamp && strcmp(messages[i].timestamp, self->last_time) < 0)
            messages[i].timestamp = arena_str(&self->source->arena, self->last_time);
    int code = store->ops->append(store, self->id, messages, count,
                                  ETHOS_APPEND_KEEP_TIME | ETHOS_APPEND_CHECKED, error);
    if (code == ETHOS_EXISTS) {
        self->conflict = IMPORT_TAKEN;
        return ETHOS_OK;
    }
    self->have += code == ETHOS_OK ? count : 0;
    return code;
}

static int write_step(struct session_import *self, struct ethos_error *error)
{
    struct sessions_import_row *row = &self->source->row;
    struct ethos_sessions *store = self->run->store;
    size_t before = self->have;
    uint64_t hidden;
    int code = ETHOS_OK;
    if (!self->found) {
        code = make_session(self, error);
        row->effect = "created";
    }
    if (code == ETHOS_OK && self->again)
        code = store->ops->rewind(store, self->id, self->again, NULL, 0, 0, &hidden, error);
    if (code == ETHOS_OK && import_has_more(self))
        code = append_batch(self, error);
    if (code != ETHOS_OK || self->conflict)
        return code;
    self->extra = self->again ? 0 : self->extra;
    row->messages += self->have - before;
    self->begun |= self->have > before;
    bool whole = self->have == self->source->count && self->extra == 0;
    return whole ? patch_session(self, error) : ETHOS_OK;
}

static int locked_step(struct session_import *self, struct ethos_error *error)
{
    int lock;
    TRY(sessions_lock(self->run->turn->ethos, &lock, error));
    int code = import_match(self, error);
    if (code == ETHOS_OK && !self->conflict && !self->source->unfit)
        code = write_step(self, error);
    os_close(lock);
    return code;
}

/* ---- one transcript -------------------------------------------------------------------------- */

/* The effect is "created" if the session was created. */
static void report_import(const struct session_import *self)
{
    const struct sessions_place *from = self->source->from;
    struct sessions_import_row *row = &self->source->row;
    row->total = (from ? from->messages : 0) + self->have + self->extra;
    if (self->conflict) {
        row->effect = "conflict";
        row->why = self->conflict;
    } else if (!row->effect) {
        row->effect = row->messages > 0 ? "appended" : "unchanged";
    }
    memcpy(self->source->id, self->id, sizeof self->id);
    row->id = *self->id ? self->source->id : NULL;
}

static int import_dry_run(struct session_import *self, struct ethos_error *error)
{
    struct sessions_import_row *row = &self->source->row;
    int code = import_match(self, error);
    if (code != ETHOS_OK || !import_has_more(self))
        return code;
    row->effect = self->found ? "appended" : "created";
    row->messages = self->source->count - self->have;
    self->have = self->source->count;
    self->extra = 0;
    return ETHOS_OK;
}

static int import_locked(struct session_import *self, struct ethos_error *error)
{
    int code;
    do {
        code = locked_step(self, error);
        import_progress(self->run, self->source, self->have);
    } while (code == ETHOS_OK && import_has_more(self));
    self->run->changed |= self->begun;
    return code;
}

int import_write(struct import_run *run, struct import_source *source, struct ethos_error *error)
{
    struct session_import self = {.run = run,
                                  .source = source,
                                  .own = strcmp(source->about.format, "ethos") == 0,
                                  .places = json_object()};
    int code = self.places ? import_identify(&self) : ETHOS_NOMEM;
    if (code == ETHOS_NOMEM)
        code = err_nomem(error);
    else
        code = run->what->dry_run ? import_dry_run(&self, error) : import_locked(&self, error);
    json_decref(self.places);
    if (source->unfit)
        return code;
    report_import(&self);
    if (code == ETHOS_OK && source->file)
        import_place_next(&self, run->what->place);
    return code;
}

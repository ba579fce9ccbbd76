/*
 * import_merge.c: a file that came meets the one that is here.
 *
 *     here         came last time   now            becomes
 *     as now       any              any            unchanged
 *     absent       never            any            taken
 *     absent       once             any            deleted here: stays so
 *     any          as now           as then        unchanged: what was done here stands
 *     as then      once             changed        updated
 *     changed      once             changed        merged; what came last time is the base
 *     another      never            any            a conflict: both are kept
 *
 * What came last time is a version in the history of the key: it stood there, or it was made one
 * when the two were merged.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "memory/import_export/import_internal.h"
#include "memory/provider/missing_slots.h"

#define DELETED "deleted here since it was imported"
#define ASIDE "; both are kept, see ethos conflicts list"

int import_remember(struct import *import, const struct meeting *meeting)
{
    char value[ETHOS_REVISION_SIZE + ENTRY_HASH + 2], title[ENTRY_HASH + 1] = "";
    bool fact = meeting->item->item.kind == FOREIGN_FACT;
    if (fact && imports_hash(meeting->item->item.title, title) != ETHOS_OK)
        return ETHOS_NOMEM;
    snprintf(value, sizeof value, "%s%s%s", meeting->revision, fact ? " " : "", title);
    bool fresh = !meeting->seen || (!fact && !import->listed && meeting->old.data);
    if (fresh && json_object_set_new(import->fresh, meeting->key, json_true()) != 0)
        return ETHOS_NOMEM;
    return json_object_set_new(import->known, meeting->key, json_string(value)) == 0 ? ETHOS_OK
                                                                                     : ETHOS_NOMEM;
}

static void report_meeting(struct import *import, const struct meeting *meeting, const char *what,
                           const char *why, const char *diff)
{
    import_report(import, meeting->item, meeting->scope, meeting->key, what, why, diff);
}

static bool was_seen(const struct meeting *meeting, const char *revision)
{
    size_t size = strlen(revision);
    return meeting->seen && strncmp(meeting->seen, revision, size) == 0;
}

/* Why nothing has to be done, or NULL. */
static const char *nothing_to_do(const struct meeting *meeting, const char **out_why)
{
    const struct ethos_text *old = &meeting->old;
    bool same = old->data && view_eq(view_of(old->data, old->size), meeting->text);
    bool deleted = !old->data && meeting->seen;
    *out_why = same ? NULL : deleted ? DELETED : "changed here, not there";
    if (deleted)
        return "skipped";
    return same || was_seen(meeting, meeting->revision) ? "unchanged" : NULL;
}

enum meeting_way import_way(struct meeting *meeting)
{
    const char *why;
    hash_revision(meeting->text, meeting->revision);
    if (nothing_to_do(meeting, &why))
        return MEET_DONE;
    return !meeting->old.data || was_seen(meeting, meeting->old.revision) ? MEET_PUT : MEET_BOTH;
}

enum meeting_way import_decide(struct import *import, struct meeting *meeting)
{
    enum meeting_way way = import_way(meeting);
    const char *why, *what = nothing_to_do(meeting, &why);
    if (way == MEET_DONE)
        report_meeting(import, meeting, what, why, NULL);
    return way;
}

int import_base(struct import *import, const struct meeting *meeting, struct ethos_text *out)
{
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_provider *provider = service_provider(import->turn, meeting->scope, meeting->key);
    if (!meeting->seen || !SLOT_PROVIDER(provider, version))
        return ETHOS_NOTFOUND;
    snprintf(revision, sizeof revision, "%.*s", (int)strcspn(meeting->seen, " "), meeting->seen);
    return provider->ops->version(provider, meeting->scope, meeting->key, revision, out, NULL);
}

/* ---- keeping beside ------------------------------------------------------------------------- */

int import_aside(struct import *import, const struct meeting *meeting, struct ethos_error *error)
{
    struct ethos_provider *provider = service_provider(import->turn, meeting->scope, meeting->key);
    if (!SLOT_PROVIDER(provider, set_aside))
        return err_set(error, ETHOS_CONFLICT, "%s: a different note is here", meeting->key);
    int code = import_dry(import) ? ETHOS_OK
                                  : provider->ops->set_aside(provider, meeting->scope, meeting->key,
                                                             meeting->text, error);
    if (code == ETHOS_OK)
        report_meeting(import, meeting, "conflict", "a different note has this name here" ASIDE,
                       NULL);
    return code;
}

void import_store_version(struct import *import, const struct meeting *meeting)
{
    struct ethos_provider *provider = service_provider(import->turn, meeting->scope, meeting->key);
    if (SLOT_PROVIDER(provider, keep) && !import_dry(import))
        provider->ops->keep(provider, meeting->scope, meeting->key, meeting->text, NULL);
}

/* ---- merging -------------------------------------------------------------------------------- */

/* What ethos_save did. */
struct saved {
    bool written;
    struct str diff;
};

static void collect_outcome(void *arg, const struct ethos_outcome *outcome)
{
    struct saved *saved = arg;
    saved->written = outcome->kind == ETHOS_OUTCOME_WRITTEN;
    if (outcome->diff)
        str_adds(&saved->diff, outcome->diff);
}

static void report_saved(struct import *import, const struct meeting *meeting,
                         const struct saved *saved, unsigned conflicts)
{
    const char *diff = saved->diff.size ? saved->diff.data : NULL;
    if (conflicts > 0)
        report_meeting(import, meeting, "conflict", "both sides changed the same lines" ASIDE,
                       diff);
    else if (saved->written)
        report_meeting(import, meeting, "merged", NULL, diff);
    else
        report_meeting(import, meeting, "unchanged", "already included here", NULL);
}

static int merge_with(struct import *import, const struct meeting *meeting, struct ethos_view base,
                      struct ethos_error *error)
{
    struct saved saved = {0};
    const struct ethos_target target = {NULL, meeting->scope, meeting->key};
    const struct ethos_sync_how how = {
        .origin = &import->origin, .flags = import->flags, .each = collect_outcome, .arg = &saved};
    unsigned conflicts = 0;
    str_init(&saved.diff, ETHOS_MAX_STORE_BYTES);
    int code = ethos_save(import->turn, &target, base, meeting->text, &how, &conflicts, error);
    if (code == ETHOS_OK && conflicts == 0)
        import_store_version(import, meeting);
    import->nomem = import->nomem || str_code(&saved.diff) != ETHOS_OK;
    if (code == ETHOS_OK)
        report_saved(import, meeting, &saved, conflicts);
    str_release(&saved.diff);
    return code;
}

int import_merge(struct import *import, const struct meeting *meeting, struct ethos_error *error)
{
    struct ethos_text base = {0};
    const struct ethos_host *host = import->turn->ethos->host;
    if (import_base(import, meeting, &base) != ETHOS_OK)
        return ETHOS_NOTFOUND;
    int code = merge_with(import, meeting, view_of(base.data, base.size), error);
    host->resize(host->arg, base.data, 0);
    return code;
}

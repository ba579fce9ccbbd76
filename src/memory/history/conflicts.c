/*
 * conflicts.c: saves a text whose base is known, and resolves the conflict copies of those that
 * could not be merged.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/merge.h"
#include "memory/history/changes.h"
#include "memory/provider/missing_slots.h"

#define ROUNDS 100

static const struct ethos_sync_how plain_how;

static int need_conflicts(const struct ethos_turn *turn, bool has, struct ethos_error *error)
{
    return has ? ETHOS_OK
               : err_set(error, ETHOS_UNSUPPORTED,
                         "%s: this memory provider keeps no conflict copies",
                         turn->provider->ops->name);
}

/* ---- saving --------------------------------------------------------------------------------- */

struct saving {
    struct ethos_turn *turn;
    const struct scope_target *target;
    struct ethos_view base, text;
    const struct ethos_sync_how *how;
    unsigned conflicts;
    bool kept;  /* the person's text became a conflict copy */
    bool stuck; /* the file does not have the requested revision */
};

static int store_conflict_copy(struct saving *saving, struct ethos_error *error)
{
    struct ethos_provider *provider = saving->turn->provider;
    if (saving->kept || (saving->how->flags & ETHOS_SYNC_DRY_RUN))
        return ETHOS_OK;
    int code = need_conflicts(saving->turn, SLOT_PROVIDER(provider, set_aside), NULL);
    if (code != ETHOS_OK)
        return err_set(error, ETHOS_CONFLICT, "%s: changed meanwhile in the same place",
                       saving->target->key);
    code = provider->ops->set_aside(provider, saving->target->scope, saving->target->key,
                                    saving->text, error);
    saving->kept = code == ETHOS_OK;
    return code;
}

/* Stores the copy durably before the file changes. A deleted file is not created again. */
static int save_merged(struct saving *saving, const struct ethos_file *file,
                       struct ethos_error *error)
{
    struct merge_report report = {0};
    CLEANUP_STR struct str merged;
    struct ethos_view now = view_of(file->text, file->size);
    str_init(&merged, ETHOS_MAX_STORE_BYTES);
    int code = merge_texts(saving->base, now, saving->text, &merged, &report);
    if (code != ETHOS_OK)
        code = err_nomem(error);
    else if (report.conflicts > 0)
        code = store_conflict_copy(saving, error);
    bool gone = !file->text && merged.size == 0;
    if (code == ETHOS_OK)
        code = handle_put(saving->turn, saving->target, file->revision,
                          gone ? (struct ethos_view){0} : str_view(&merged), saving->how, error);
    saving->conflicts = report.conflicts;
    return code;
}

static int save_once(struct saving *saving, struct ethos_error *error)
{
    const struct ethos_target target = {NULL, saving->target->scope, saving->target->key};
    struct ethos_file *file = NULL;
    TRY(ethos_read(saving->turn, &target, &file, error));
    struct ethos_view text = saving->text.data ? saving->text : VIEW("");
    bool still = view_eq(view_of(file->text, file->size), saving->base);
    int code = handle_match(saving->target, saving->how->if_match, file, error);
    saving->stuck = code != ETHOS_OK;
    if (code == ETHOS_OK && still)
        code = handle_put(saving->turn, saving->target, file->revision, text, saving->how, error);
    else if (code == ETHOS_OK)
        code = save_merged(saving, file, error);
    ethos_file_free(file);
    return code;
}

int ethos_save(struct ethos_turn *turn, const struct ethos_target *target, struct ethos_view base,
               struct ethos_view text, const struct ethos_sync_how *how, unsigned *out_conflicts,
               struct ethos_error *error)
{
    struct scope_target aimed;
    struct saving saving = {
        .turn = turn, .target = &aimed, .base = base, .text = text, .how = how ? how : &plain_how};
    int code = handle_aim(turn, target, true, &aimed, error);
    if (code != ETHOS_OK)
        return code;
    for (int round = 0; round < ROUNDS; round++) {
        code = save_once(&saving, error);
        bool final = saving.stuck || (saving.conflicts > 0 && !saving.kept);
        if (code != ETHOS_CONFLICT || final)
            break;
    }
    if (code == ETHOS_OK && out_conflicts)
        *out_conflicts = saving.conflicts;
    return code;
}

/* ---- looking -------------------------------------------------------------------------------- */

int ethos_conflicts(struct ethos_turn *turn, const struct ethos_target *target,
                    ethos_conflict_fn *each, void *arg, struct ethos_error *error)
{
    struct scope_target aimed;
    struct ethos_provider *provider = turn->provider;
    TRY(handle_aim(turn, target, false, &aimed, error));
    TRY(need_conflicts(turn, SLOT_PROVIDER(provider, conflicts), error));
    return provider->ops->conflicts(provider, aimed.scope, each, arg, error);
}

/* A conflict copy. */
struct found_conflict {
    const char *id;
    struct scope_target target; /* the file it belongs to */
    char *path;                 /* of the copy, or NULL */
    bool known, nomem;
};

static int match_conflict(void *arg, const struct ethos_conflict *conflict)
{
    struct found_conflict *found = arg;
    if (strcmp(conflict->id, found->id) != 0)
        return ETHOS_OK;
    found->known = strlen(conflict->key) < sizeof found->target.key;
    if (found->known)
        memcpy(found->target.key, conflict->key, strlen(conflict->key) + 1);
    found->path = conflict->path ? strdup(conflict->path) : NULL;
    found->nomem = conflict->path && !found->path;
    return ETHOS_OK;
}

/* Finds a copy in the scope of a target and reads it. */
static int read_copy(struct ethos_turn *turn, const struct ethos_target *target, const char *id,
                     struct found_conflict *out, struct ethos_text *out_text,
                     struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    *out = (struct found_conflict){.id = id};
    int code = handle_aim(turn, target, false, &out->target, error);
    if (code == ETHOS_OK)
        code = need_conflicts(turn,
                              SLOT_PROVIDER(provider, conflicts) &&
                                  SLOT_PROVIDER(provider, conflict_read) &&
                                  SLOT_PROVIDER(provider, conflict_drop),
                              error);
    if (code == ETHOS_OK)
        code = provider->ops->conflicts(provider, out->target.scope, match_conflict, out, error);
    if (code == ETHOS_OK && out->nomem)
        code = err_nomem(error);
    else if (code == ETHOS_OK && !out->known)
        code = err_hint(error, err_set(error, ETHOS_NOTFOUND, "no such conflict: %s", id),
                        "ethos conflicts list shows them");
    if (code == ETHOS_OK)
        code = provider->ops->conflict_read(provider, out->target.scope, id, out_text, error);
    return code;
}

int ethos_conflict_read(struct ethos_turn *turn, const struct ethos_target *target, const char *id,
                        struct ethos_file **out_file, struct ethos_error *error)
{
    struct found_conflict found;
    struct ethos_text text = {0};
    int code = read_copy(turn, target, id, &found, &text, error);
    if (code == ETHOS_OK)
        code = handle_file(turn, &found.target, &text, out_file, error);
    if (code == ETHOS_OK) {
        free((*out_file)->path);
        (*out_file)->path = found.path;
        found.path = NULL;
    }
    free(found.path);
    changes_free(turn, &text);
    return code;
}

/* ---- resolving ------------------------------------------------------------------------------ */

static bool has_line(struct ethos_view text, struct ethos_view wanted)
{
    struct ethos_view line;
    while (view_line(&text, &line))
        if (view_eq(line, wanted))
            return true;
    return false;
}

/* The lines of the copy that are missing in the file; a gap between them becomes one blank line. */
static int lacking_lines(struct ethos_view copy, struct ethos_view file, struct str *out)
{
    struct ethos_view line;
    bool gap = false;
    while (view_line(&copy, &line)) {
        if (view_blank(line)) {
            gap = out->size > 0;
        } else if (!has_line(file, line)) {
            str_adds(out, gap ? "\n" : "");
            str_add(out, line);
            str_addc(out, '\n');
            gap = false;
        }
    }
    return str_code(out);
}

/* Reads the file of a conflict, which must have the requested revision. */
static int read_matching(struct ethos_turn *turn, const struct scope_target *target,
                         const struct ethos_sync_how *how, struct ethos_file **out_file,
                         struct ethos_error *error)
{
    const struct ethos_target name = {NULL, target->scope, target->key};
    TRY(ethos_read(turn, &name, out_file, error));
    return handle_match(target, how->if_match, *out_file, error);
}

static int keep_current_file(struct ethos_turn *turn, const struct scope_target *target,
                             const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct ethos_file *file = NULL;
    int code = how->if_match ? read_matching(turn, target, how, &file, error) : ETHOS_OK;
    ethos_file_free(file);
    return code;
}

static int add_lacking(struct ethos_turn *turn, const struct scope_target *target,
                       struct ethos_view copy, const struct ethos_sync_how *how,
                       struct ethos_error *error)
{
    struct ethos_update update = {
        .action = ETHOS_ACTION_ADD, .scope = target->scope, .key = target->key};
    struct ethos_file *file = NULL;
    struct str lines;
    str_init(&lines, ETHOS_MAX_STORE_BYTES);
    int code = read_matching(turn, target, how, &file, error);
    if (code == ETHOS_OK && lacking_lines(copy, view_of(file->text, file->size), &lines))
        code = err_nomem(error);
    if (code == ETHOS_OK && lines.size > 0) {
        update.text = str_view(&lines);
        update.if_match = file->revision;
        code = ethos_sync(turn, &update, 1, how, error);
    }
    str_release(&lines);
    ethos_file_free(file);
    return code;
}

static int resolve_with(struct ethos_turn *turn, const struct scope_target *target,
                        struct ethos_view copy, enum ethos_resolution resolution,
                        const struct ethos_sync_how *how, struct ethos_error *error)
{
    switch (resolution) {
    case ETHOS_RESOLVE_KEEP:
        return keep_current_file(turn, target, how, error);
    case ETHOS_RESOLVE_TAKE:
        return handle_put(turn, target, how->if_match, copy, how, error);
    case ETHOS_RESOLVE_BOTH:
        return add_lacking(turn, target, copy, how, error);
    }
    return err_set(error, ETHOS_INVALID, "unknown resolution: %d", (int)resolution);
}

int ethos_conflict_resolve(struct ethos_turn *turn, const struct ethos_target *target,
                           const char *id, enum ethos_resolution resolution,
                           const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct found_conflict found;
    struct ethos_text text = {0};
    struct ethos_provider *provider = turn->provider;
    if (!how)
        how = &plain_how;
    int code = read_copy(turn, target, id, &found, &text, error);
    if (code == ETHOS_OK)
        code = resolve_with(turn, &found.target, view_of(text.data, text.size), resolution, how,
                            error);
    if (code == ETHOS_OK && !(how->flags & ETHOS_SYNC_DRY_RUN))
        code = provider->ops->conflict_drop(provider, found.target.scope, id, error);
    free(found.path);
    changes_free(turn, &text);
    return code;
}

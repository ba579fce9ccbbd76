/*
 * import.c: runs an import: reads everything, then writes notes, index, entries and the record.
 *
 * The record is written last, so that an interrupted import counts as not run: the next run finds
 * what is already here equal to the source.
 */
#include "memory/import_export/import_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/approval/trust.h"
#include "core/memory/scope.h"

/* ---- telling -------------------------------------------------------------------------------- */

/* Reports the secrets of an item. */
struct warning {
    struct import *import;
    const struct source_item *item;
};

static void warn_line(void *arg, size_t line, struct ethos_view tag)
{
    const struct warning *warning = arg;
    const struct source_item *item = warning->item;
    const struct transfer_request *what = warning->import->what;
    char file[TRANSFER_PATH + 32], why[128];
    const char *colon = strrchr(item->file, ':');
    bool whole = item->item.kind == FOREIGN_NOTE || item->item.kind == FOREIGN_INDEX;
    int size = whole || !colon ? (int)strlen(item->file) : (int)(colon - item->file);
    size_t above = item->item.line + (item->item.kind == FOREIGN_FACT) - 1;
    snprintf(file, sizeof file, "%.*s:%zu", size, item->file, above + line);
    snprintf(why, sizeof why, "looks like a secret (%.*s); imported unchanged", VIEW_ARG(tag));
    const struct transfer_row row = {.what = "warning", .file = file, .why = why};
    what->each(what->arg, &row);
}

/* The user decides about secrets: they are reported, and hidden from prompts anyway. */
static void warn_secrets(struct import *import, const struct source_item *item)
{
    struct warning warning = {import, item};
    if (secret_find(item->item.text, warn_line, &warning) != ETHOS_OK)
        import->nomem = true;
}

void import_report(struct import *import, const struct source_item *item, const char *scope,
                   const char *key, const char *what, const char *why, const char *diff)
{
    const struct transfer_row row = {what, item->file, scope, key, why, diff, ETHOS_OK};
    import->what->each(import->what->arg, &row);
    if (strcmp(what, "unchanged") != 0 && strcmp(what, "skipped") != 0)
        warn_secrets(import, item);
}

void import_step(struct import *import)
{
    const struct transfer_request *what = import->what;
    if (what->progress)
        what->progress(what->progress_arg, import->done, import->source.count);
    import->done++;
}

/* ---- scopes and records --------------------------------------------------------------------- */

static int resolve_import_scope(const struct ethos_turn *turn, const char *scope,
                                char out[ETHOS_MAX_SCOPE], struct ethos_error *error)
{
    struct scope_target target;
    int code = scope_target(&turn->context, NULL, scope, TRANSFER_INDEX, true, &target, error);
    if (code == ETHOS_OK && scope_is_tree(target.scope))
        code = scope_refuse(view_str(target.scope), error); // its files are not notes
    if (code == ETHOS_OK)
        memcpy(out, target.scope, sizeof target.scope);
    return code;
}

/* A requested scope is used for everything except the profile. */
static int resolve_scopes(struct import *import, struct ethos_error *error)
{
    const struct ethos_context *context = &import->turn->context;
    const char *asked = import->what->scope;
    bool agent = foreign_below(import->what->format) || // of an agent's home, not of a project
                 strcmp(import->what->format, "ethos-vector") == 0;
    TRY(resolve_import_scope(import->turn, asked ? asked : context->memory_scope,
                             import->memory_scope, error));
    return resolve_import_scope(import->turn,
                                asked   ? asked
                                : agent ? context->memory_scope
                                        : "workspace",
                                import->note_scope, error);
}

static int load_records(struct import *import, struct ethos_error *error)
{
    const char *const path[] = {"sources", import->source.path, NULL};
    const char *const notes[] = {"sources", import->source.path, "notes", NULL};
    TRY(imports_load(import->turn, import->note_scope, &import->notes, error));
    json_t *source = imports_part(&import->notes, path);
    if (json_object_set_new(source, "format", json_string(import->what->format)) != 0)
        return err_nomem(error);
    import->known = imports_part(&import->notes, notes);
    import->listed = json_object_get(import->known, TRANSFER_INDEX);
    import->fresh = json_object();
    return import->known && import->fresh ? ETHOS_OK : err_nomem(error);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* An interrupted import may have left a half-done batch: what it wrote does not count as here. */
static int recover_scopes(const struct import *import, struct ethos_error *error)
{
    const char *scopes[] = {import->note_scope, import->memory_scope,
                            import->turn->context.user_scope};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < sizeof scopes / sizeof *scopes; i++)
        if (!import_dry(import) && scopes[i] && *scopes[i])
            code = handle_recover(import->turn, scopes[i], error);
    return code;
}

static int import_all(struct import *import, struct ethos_error *error)
{
    TRY(recover_scopes(import, error));
    TRY(load_records(import, error));
    TRY(import_name(import, error));
    TRY(import->waits ? import_propose_notes(import, error) : import_notes(import, error));
    if (!import_dry(import) && !import->waits)
        TRY(imports_save(import->turn, &import->notes, error));
    TRY(import_log(import, FOREIGN_MEMORY, error));
    return import_log(import, FOREIGN_USER, error);
}

static int run_locked(struct import *import, struct ethos_error *error)
{
    int lock = -1;
    if (import->source.count == 0)
        return ETHOS_OK;
    int code = import_dry(import) ? ETHOS_OK : imports_lock(import->turn, &lock, error);
    if (code == ETHOS_OK)
        code = import_all(import, error);
    if (code == ETHOS_OK)
        import_step(import);
    if (code == ETHOS_OK && import->nomem)
        code = err_nomem(error);
    if (lock >= 0)
        os_close(lock);
    return code;
}

int transfer_import(struct ethos_turn *turn, const struct transfer_request *what,
                    const struct ethos_sync_how *how, struct transfer_place *out_place,
                    struct ethos_error *error)
{
    struct import import = {.turn = turn, .what = what};
    if (how->origin)
        import.origin = *how->origin;
    import.origin.via = "import";
    import.origin.op_id = NULL;
    bool trusted = trust_of(&import.origin) != TRUST_UNTRUSTED;
    import.waits = !trusted && !import.origin.approved_by && !(how->flags & ETHOS_SYNC_DRY_RUN);
    if (!trusted && !import.origin.approved_by) // a dry run shows what an approval would do
        import.origin.approved_by = import.waits ? NULL : "owner";
    import.flags = how->flags & ETHOS_SYNC_DRY_RUN ? ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF : 0;
    int code = source_load(turn, what, &import.source, error);
    if (code == ETHOS_OK)
        code = resolve_scopes(&import, error);
    if (code == ETHOS_OK) {
        snprintf(out_place->path, sizeof out_place->path, "%s", import.source.path);
        snprintf(out_place->scope, sizeof out_place->scope, "%s", import.note_scope);
        code = run_locked(&import, error);
    }
    json_decref(import.fresh);
    imports_release(&import.notes);
    source_release(&import.source);
    return code;
}

/*
 * transfer_import.c: an import from beginning to end: read all, then notes, index, entries, record.
 *
 * The record of what came is written last. A run that was interrupted is thus as if it had not
 * been: the next one finds what is there already equal to what comes.
 */
#include "memory/transfer_import.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/os.h"
#include "base/str.h"
#include "base/view.h"
#include "core/scan.h"
#include "core/scope.h"

/* ---- telling -------------------------------------------------------------------------------- */

/* "github-pat" of a line that holds "[REDACTED:github-pat]". */
static struct ethos_view tag_of(struct ethos_view line)
{
    static const char mark[] = "[REDACTED:";
    const char *at = line.size ? memmem(line.data, line.size, mark, sizeof mark - 1) : NULL;
    if (!at)
        return VIEW("secret");
    at += sizeof mark - 1;
    const char *end = memchr(at, ']', (size_t)(line.data + line.size - at));
    return end ? view_of(at, (size_t)(end - at)) : VIEW("secret");
}

static void warn_line(struct import *import, const struct source_item *item, size_t number,
                      struct ethos_view shown)
{
    char file[TRANSFER_PATH + 32], why[128];
    struct ethos_view tag = tag_of(shown);
    const char *colon = strrchr(item->file, ':');
    bool whole = item->item.kind == FOREIGN_NOTE || item->item.kind == FOREIGN_INDEX;
    int size = whole || !colon ? (int)strlen(item->file) : (int)(colon - item->file);
    snprintf(file, sizeof file, "%.*s:%zu", size, item->file, number);
    snprintf(why, sizeof why, "looks like a secret (%.*s); it came in as it is", VIEW_ARG(tag));
    const struct transfer_row row = {.what = "warning", .file = file, .why = why};
    import->what->each(import->what->arg, &row);
}

/* Secrets are the person's to judge: they are told of, and hidden from prompts anyway. */
static void warn_secrets(struct import *import, const struct source_item *item)
{
    struct str scanned;
    struct ethos_view text = item->item.text, shown, line, seen;
    size_t number = item->item.line + (item->item.kind == FOREIGN_FACT);
    str_init(&scanned, ETHOS_MAX_STORE_BYTES);
    if (scan_text(text, SCAN_REDACT, &scanned, NULL)) {
        shown = str_view(&scanned);
        for (; view_line(&text, &line) && view_line(&shown, &seen); number++)
            if (!view_eq(line, seen))
                warn_line(import, item, number, seen);
    }
    import->nomem = import->nomem || str_code(&scanned) != ETHOS_OK;
    str_release(&scanned);
}

void import_tell(struct import *import, const struct source_item *item, const char *scope,
                 const char *key, const char *what, const char *why, const char *diff)
{
    const struct transfer_row row = {what, item->file, scope, key, why, diff};
    import->what->each(import->what->arg, &row);
    if (strcmp(what, "unchanged") != 0 && strcmp(what, "skipped") != 0)
        warn_secrets(import, item);
}

void import_step(struct import *import)
{
    const struct transfer *what = import->what;
    if (what->progress)
        what->progress(what->progress_arg, import->done, import->source.count);
    import->done++;
}

/* ---- scopes and records --------------------------------------------------------------------- */

static int resolve(const struct ethos_turn *turn, const char *scope, char out[ETHOS_MAX_SCOPE],
                   struct ethos_error *error)
{
    struct scope_target target;
    int code = scope_target(&turn->context, NULL, scope, TRANSFER_INDEX, true, &target, error);
    if (code == ETHOS_OK)
        memcpy(out, target.scope, sizeof target.scope);
    return code;
}

/* A scope that was asked for is that of everything but the profile. */
static int resolve_scopes(struct import *import, struct ethos_error *error)
{
    const struct ethos_context *context = &import->turn->context;
    const char *asked = import->what->scope;
    bool agent = foreign_below(import->what->format); // the home of an agent, not of a project
    int code = resolve(import->turn, asked ? asked : context->memory_scope, import->memory_scope,
                       error);
    if (code == ETHOS_OK)
        code = resolve(import->turn,
                       asked   ? asked
                       : agent ? context->memory_scope
                               : "workspace",
                       import->note_scope, error);
    return code;
}

static int load_records(struct import *import, struct ethos_error *error)
{
    const char *const path[] = {"sources", import->source.path, "notes", NULL};
    int code = imports_load(import->turn, import->note_scope, &import->notes, error);
    if (code != ETHOS_OK)
        return code;
    import->known = imports_part(&import->notes, path);
    import->listed = json_object_get(import->known, TRANSFER_INDEX);
    import->fresh = json_object();
    return import->known && import->fresh ? ETHOS_OK : err_nomem(error);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int run(struct import *import, struct ethos_error *error)
{
    int code = load_records(import, error);
    if (code == ETHOS_OK)
        code = import_name(import, error);
    if (code == ETHOS_OK)
        code = import_notes(import, error);
    if (code == ETHOS_OK && !import_dry(import))
        code = imports_save(import->turn, &import->notes, error);
    if (code == ETHOS_OK)
        code = import_log(import, FOREIGN_MEMORY, error);
    if (code == ETHOS_OK)
        code = import_log(import, FOREIGN_USER, error);
    return code;
}

static int run_locked(struct import *import, struct ethos_error *error)
{
    int lock = -1;
    if (import->source.count == 0)
        return ETHOS_OK;
    int code = import_dry(import) ? ETHOS_OK : imports_lock(import->turn, &lock, error);
    if (code == ETHOS_OK)
        code = run(import, error);
    if (code == ETHOS_OK)
        import_step(import);
    if (code == ETHOS_OK && import->nomem)
        code = err_nomem(error);
    if (lock >= 0)
        os_close(lock);
    return code;
}

int transfer_import(struct ethos_turn *turn, const struct transfer *what,
                    const struct ethos_sync_how *how, struct transfer_place *out_place,
                    struct ethos_error *error)
{
    struct import import = {.turn = turn, .what = what};
    if (how->origin)
        import.origin = *how->origin;
    import.origin.via = "import";
    import.origin.op_id = NULL;
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

/*
 * forget.c: purges a text from queued and refused calls and from cached texts, of every place.
 *
 * Lines of a call that contain the text are removed, as a purge removes them from a file; an update
 * of which nothing is left, or which only names the text, is removed completely, and so is an
 * unreadable file. A call keeps its number and its operation id: the new file is written before the
 * old one is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/forget_text.h"
#include "memory/home/directory.h"
#include "memory/offline/internal.h"

#define MAX_NAMES 100000

struct forgetting {
    struct offline self; /* the place, as far as its functions need it */
    const char *scope;
    struct forget forget;
    bool dry_run;
    uint64_t calls; /* that contained the text */
};

/* ---- one call ---------------------------------------------------------------------------------- */

/*
 * Purges the text of an update: ETHOS_OK, the rest stays in the update; ETHOS_NOTFOUND: nothing is
 * left.
 */
static int purge_update(const struct forgetting *self, json_t *update, const char *member)
{
    CLEANUP_STR struct str scratch = {0};
    struct ethos_view rest;
    bool replaces = view_eq_str(json_view(update, "action"), "replace");
    if (strcmp(member, "content") != 0)
        return ETHOS_NOTFOUND;
    str_init(&scratch, SIZE_MAX);
    int code = forget_lines(&self->forget, json_view(update, member), &scratch, &rest, NULL);
    if (code == ETHOS_OK && !replaces && view_blank(rest))
        code = ETHOS_NOTFOUND;
    else if (code == ETHOS_OK && json_object_set_new(update, member, json_text(rest)) != 0)
        code = ETHOS_NOMEM;
    return code;
}

/* *out_held: it contained the text, which was removed. */
static int purge_call(const struct forgetting *self, json_t *call, bool *out_held)
{
    static const char *const members[] = {"content", "substringMatch"};
    json_t *updates = json_object_get(call, "updates");
    *out_held = false;
    for (size_t i = json_array_size(updates); i-- > 0;) {
        json_t *update = json_array_get(updates, i);
        bool ours = view_eq_str(json_view(update, "scope"), self->scope);
        for (size_t j = 0; ours && j < 2; j++) {
            if (!forget_holds(&self->forget, json_view(update, members[j])))
                continue;
            *out_held = true;
            int code = purge_update(self, update, members[j]);
            if (code == ETHOS_NOMEM)
                return code;
            if (code == ETHOS_NOTFOUND) {
                json_array_remove(updates, i);
                break;
            }
        }
    }
    return ETHOS_OK;
}

/* ---- one file ---------------------------------------------------------------------------------- */

/* The reason may quote what was refused. */
static void purge_reason(const struct forgetting *self, json_t *call)
{
    json_t *reason = json_object_get(call, "refused");
    if (forget_holds(&self->forget, json_view(reason, "text")))
        json_object_set_new(reason, "text", json_string("(forgotten)"));
}

static int rewrite_call(const struct forgetting *self, int dir, const char *name, bool waits,
                        json_t *call, struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    char renamed[OFFLINE_NAME_SIZE * 2];
    str_init(&text, SIZE_MAX);
    purge_reason(self, call);
    if (waits)
        json_object_set_new(call, OFFLINE_CLEANSED, json_true());
    int code = json_print(call, waits ? JSON_STYLE_LINE : JSON_STYLE_PRETTY, &text);
    if (code == ETHOS_OK)
        code = str_addc(&text, '\n');
    snprintf(renamed, sizeof renamed, "%s", name);
    if (waits)
        snprintf(renamed, sizeof renamed, "%.*s-%08x.json", (int)strcspn(name, "-"), name,
                 hash_crc32c(str_view(&text)));
    code = code == ETHOS_OK ? file_replace(dir, renamed, str_view(&text), 0600, error)
                            : err_nomem(error);
    if (code == ETHOS_OK && strcmp(renamed, name) != 0 && os_unlinkat(dir, name, 0) != 0)
        code = err_errno(error, errno, name);
    return code;
}

/* json NULL: it cannot be parsed. */
static int purge_or_report(struct forgetting *self, int dir, const char *name, bool waits,
                           json_t *json, struct ethos_view text, struct ethos_error *error)
{
    bool held = false, whole = json_array_size(json_object_get(json, "updates")) > 0;
    if (whole && purge_call(self, json, &held) != ETHOS_OK)
        return err_nomem(error);
    if (!whole)
        held = forget_holds_escaped(&self->forget, text) ||
               forget_holds_escaped(&self->forget, json_view(json, "damaged"));
    self->calls += held;
    if (!held || self->dry_run)
        return ETHOS_OK;
    if (whole && json_array_size(json_object_get(json, "updates")) > 0)
        return rewrite_call(self, dir, name, waits, json, error);
    return os_unlinkat(dir, name, 0) == 0 || errno == ENOENT ? ETHOS_OK
                                                             : err_errno(error, errno, name);
}

static int purge_file(struct forgetting *self, int dir, const char *name, bool waits,
                      struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    json_t *json = NULL;
    str_init(&text, OFFLINE_FILE_BYTES + 1);
    int code = home_read(dir, name, OFFLINE_FILE_BYTES, &text, NULL, error);
    if (code == ETHOS_OK) {
        int parsed = json_parse_most(str_view(&text), OFFLINE_FILE_BYTES, name, &json, error);
        code = parsed == ETHOS_NOMEM
                   ? parsed
                   : purge_or_report(self, dir, name, waits, json, str_view(&text), error);
    }
    json_decref(json);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code; // sent meanwhile
}

/* ---- one place --------------------------------------------------------------------------------- */

static int purge_folder(struct forgetting *self, const char *folder, struct ethos_error *error)
{
    struct arena arena;
    struct dir_names names = {0};
    bool waits = strcmp(folder, "queue") == 0;
    int dir;
    int code = offline_folder(&self->self, folder, false, &dir, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    arena_init(&arena);
    if (dir_names(dir, &arena, MAX_NAMES, &names) != 0)
        code = err_errno(error, errno, folder);
    for (size_t i = 0; i < names.count && code == ETHOS_OK; i++) {
        if (*names.list[i] != '.')
            code = purge_file(self, dir, names.list[i], waits, error);
        else if (waits && !self->dry_run)
            os_unlinkat(dir, names.list[i], 0); // an abandoned draft
    }
    if (code == ETHOS_OK && os_fsync(dir) != 0)
        code = err_errno(error, errno, folder);
    arena_release(&arena);
    os_close(dir);
    return code;
}

/* Locks out queueing and sending, which would work with what was read before. */
static int forget_waiting(struct forgetting *self, struct ethos_error *error)
{
    int doing, putting;
    struct offline *place = &self->self;
    if (!queue_waits(place))
        return ETHOS_OK;
    if (self->dry_run)
        return purge_folder(self, "queue", error);
    TRY(queue_lock(place, place->setup.deadline_ms, &doing, error));
    int code = queue_lock_put(place, place->setup.deadline_ms, &putting, error);
    if (code == ETHOS_OK) {
        code = purge_folder(self, "queue", error);
        os_close(putting);
    }
    if (code == ETHOS_OK)
        queue_leave(place);
    os_close(doing);
    return code;
}

static int forget_at(void *arg, const char *place, struct ethos_error *error)
{
    struct forgetting *self = arg;
    memcpy(self->self.place, place, sizeof self->self.place);
    if (!self->dry_run)
        TRY(known_forget(&self->self, self->scope, error));
    TRY(forget_waiting(self, error));
    return purge_folder(self, "refused", error);
}

int offline_forget(const struct ethos_setup *setup, const char *scope,
                   const struct ethos_match *match, bool dry_run, uint64_t *calls,
                   struct ethos_error *error)
{
    struct forgetting self = {.self.setup = *setup, .scope = scope, .dry_run = dry_run};
    int code = forget_init(&self.forget, match, error);
    if (code == ETHOS_OK)
        code = offline_places(setup->root, forget_at, &self, error);
    *calls += self.calls;
    return code;
}

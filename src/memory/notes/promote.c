/*
 * promote.c: turns a note into a skill: writes a skill folder, then the pointer in the note.
 */
#include "memory/notes/promote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/notes/skill.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"

#define PATH_LIMIT 4096 /* bytes */
#define SKILL_FILE "SKILL.md"
#define DEFAULT_FOLDER ".claude/skills"

struct promotion {
    struct ethos_turn *turn;
    const struct notes_promote *what;
    char scope[ETHOS_MAX_SCOPE], key[ETHOS_MAX_KEY + 1];
    struct str name, skill, note;
    char path[PATH_LIMIT]; /* of the skill's folder, then of its file */
    bool dry;
};

/* ---- the skill -------------------------------------------------------------------------------- */

static int choose_name(struct promotion *p, struct ethos_error *error)
{
    const char *given = p->what->skill;
    int code = given ? str_adds(&p->name, given) : skill_name(p->key, &p->name);
    if (code != ETHOS_OK)
        return err_nomem(error);
    if (skill_name_ok(str_view(&p->name)))
        return ETHOS_OK;
    code = err_set(error, ETHOS_INVALID, "not a valid skill name: %s", p->name.data);
    return err_hint(error, code, "1 to 64 of a-z, 0-9 and single hyphens between them");
}

static int choose_folder(struct promotion *p, struct ethos_error *error)
{
    const char *root = p->turn->context.workspace;
    const char *to = p->what->to;
    if (!to && !root) {
        int code = err_set(error, ETHOS_INVALID, "there is no workspace to put the skill in");
        return err_hint(error, code, "use --to DIR");
    }
    int size = to ? snprintf(p->path, sizeof p->path, "%s/%s", to, p->name.data)
                  : snprintf(p->path, sizeof p->path, "%s/" DEFAULT_FOLDER "/%s", root,
                             p->name.data);
    return size < (int)(sizeof p->path - sizeof "/" SKILL_FILE)
               ? ETHOS_OK
               : err_set(error, ETHOS_INVALID, "%s: the path is too long", to ? to : root);
}

/* ETHOS_NOTFOUND: no skill. ETHOS_OK: the same text, or one that may be overwritten. */
static int check_existing_skill(int dir, const struct promotion *p, struct ethos_error *error)
{
    CLEANUP_STR struct str text = {0};
    int fd = os_openat(dir, SKILL_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_NOTFOUND : err_errno(error, errno, p->path);
    str_init(&text, ETHOS_MAX_READ_BYTES + 1);
    int code = file_read(fd, p->path, ETHOS_MAX_READ_BYTES, &text, NULL, error);
    os_close(fd);
    if (code == ETHOS_OK && !view_eq(str_view(&text), str_view(&p->skill)) && !p->what->replace) {
        code = err_set(error, ETHOS_EXISTS, "%s: another skill has this name", p->path);
        err_hint(error, code, "choose another with --skill NAME, or overwrite it with --replace");
    }
    return code;
}

/* Creates the folders of a path, readable by others: a skill is shared. 0, or -1 and errno. */
static int make_folders(const char *path)
{
    char part[PATH_LIMIT];
    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] != '/' && path[i])
            continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        if (os_mkdirat(AT_FDCWD, part, 0755) != 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

static int write_skill(const struct promotion *p, struct ethos_error *error)
{
    int dir = os_openat(AT_FDCWD, p->path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0 && errno == ENOENT && p->dry)
        return ETHOS_OK;
    if (dir < 0 && errno == ENOENT && make_folders(p->path) == 0)
        dir = os_openat(AT_FDCWD, p->path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return err_errno(error, errno, p->path);
    int code = check_existing_skill(dir, p, error);
    if ((code == ETHOS_OK || code == ETHOS_NOTFOUND) && p->dry)
        code = ETHOS_OK;
    else if (code == ETHOS_OK || code == ETHOS_NOTFOUND)
        code = file_replace(dir, SKILL_FILE, str_view(&p->skill), 0644, error);
    os_close(dir);
    return code;
}

/* ---- the pointer ------------------------------------------------------------------------------ */

/* Relative to the workspace if possible: the note survives a move of the folder. */
static const char *shown_path(const struct promotion *p)
{
    const char *root = p->turn->context.workspace;
    size_t size = root ? strlen(root) : 0;
    bool inside = size > 1 && strncmp(p->path, root, size) == 0 && p->path[size] == '/';
    return inside ? p->path + size + 1 : p->path;
}

static int edit_pointer(void *arg, struct ethos_edit *edits, size_t count,
                        struct ethos_error *error)
{
    struct promotion *p = arg;
    (void)count;
    if (!edits->old.data)
        return err_set(error, ETHOS_NOTFOUND, "no such note: %s", p->key);
    int code = skill_pointer(view_of(edits->old.data, edits->old.size), str_view(&p->name),
                             shown_path(p), &p->note);
    if (code != ETHOS_OK)
        return err_nomem(error);
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = str_view(&p->note);
    return ETHOS_OK;
}

/* Makes the skill from the current note; a note that is already a pointer has no content. */
static int make_skill(struct promotion *p, struct ethos_error *error)
{
    struct ethos_text text = {0};
    int code = notes_read(p->turn, p->scope, p->key, &text, error);
    struct ethos_view note = view_of(text.data, text.size);
    if (code == ETHOS_OK && skill_is_pointer(note)) {
        code = err_set(error, ETHOS_EXISTS, "%s: is a skill already", p->key);
        err_hint(error, code, "ethos notes undo %.*s%s%s restores its text",
                 (int)strlen(p->key) - 3, p->key, p->what->scope ? " --scope " : "",
                 p->what->scope ? p->what->scope : "");
    }
    if (code == ETHOS_OK && skill_write(note, p->key, str_view(&p->name), &p->skill) != ETHOS_OK)
        code = err_nomem(error);
    notes_free(p->turn, &text);
    return code;
}

static int promote_note_to_skill(struct promotion *p, const struct ethos_sync_how *how,
                                 struct ethos_error *error)
{
    struct ethos_edit edit = {.key = p->key};
    int code = notes_scope(p->turn, p->what->scope, p->scope, error);
    if (code == ETHOS_OK && !p->dry)
        code = handle_recover(p->turn, p->scope, error);
    if (code == ETHOS_OK)
        code = ethos_note_find(p->turn, p->scope, p->what->name, p->key, error);
    if (code == ETHOS_OK)
        code = choose_name(p, error);
    if (code == ETHOS_OK)
        code = choose_folder(p, error);
    if (code == ETHOS_OK)
        code = make_skill(p, error);
    if (code == ETHOS_OK)
        code = write_skill(p, error);
    size_t size = strlen(p->path);
    snprintf(p->path + size, sizeof p->path - size, "/" SKILL_FILE);
    if (code == ETHOS_OK)
        code = handle_update(p->turn, p->scope, &edit, 1, edit_pointer, p, how, error);
    return code;
}

int notes_promote(struct ethos_turn *turn, const struct notes_promote *what,
                  const struct ethos_sync_how *how, char **out_path, struct ethos_error *error)
{
    struct promotion p = {.turn = turn, .what = what, .dry = how->flags & ETHOS_SYNC_DRY_RUN};
    str_init(&p.name, PATH_LIMIT);
    str_init(&p.skill, ETHOS_MAX_STORE_BYTES);
    str_init(&p.note, ETHOS_MAX_STORE_BYTES);
    int code = promote_note_to_skill(&p, how, error);
    if (code == ETHOS_OK) {
        *out_path = strdup(p.path);
        code = *out_path ? ETHOS_OK : err_nomem(error);
    }
    str_release(&p.note);
    str_release(&p.skill);
    str_release(&p.name);
    return code;
}

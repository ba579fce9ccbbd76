/*
 * instructions.c: finds the instructions of a project, and records which of them the owner has
 * accepted.
 */
#include "memory/review/instructions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/home/directory.h"

#define ACCEPTED_FILE "accepted.json"
#define MAX_SKILL_FILE 262144 /* bytes of a SKILL.md */
#define MAX_SKILLS 10000      /* names in a folder of skills */

int instructions_find_top(const char *folder, char out[PATH_MAX], struct ethos_error *error)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct stat info;
    if (os_realpath(folder, real) != 0)
        return err_errno(error, errno, folder);
    snprintf(out, PATH_MAX, "%s", real);
    for (size_t size = strlen(real); size > 1;) {
        bool fits = snprintf(path, sizeof path, "%.*s/.git", (int)size, real) < PATH_MAX;
        if (fits && os_fstatat(AT_FDCWD, path, &info, 0) == 0) {
            snprintf(out, PATH_MAX, "%.*s", (int)size, real);
            break;
        }
        while (size > 1 && real[size - 1] != '/')
            size--;
        size -= size > 1;
    }
    return ETHOS_OK;
}

const char *const instructions_skill_folders[] = {".agents/skills", ".claude/skills"};

/* ---- what is accepted --------------------------------------------------------------------------- */

/* {path: hash}; owned. A damaged file accepts nothing. */
static int read_accepted(struct ethos *ethos, json_t **out, struct ethos_error *error)
{
    int home;
    json_t *json = NULL;
    TRY(service_open_home(ethos, false, &home, error));
    int code = home < 0 ? ETHOS_NOTFOUND : home_read_json(home, ACCEPTED_FILE, &json, error);
    if (home >= 0)
        os_close(home);
    if (code == ETHOS_NOMEM)
        return code;
    if (code != ETHOS_OK || !json_is_object(json)) {
        if (code == ETHOS_OK)
            json_decref(json);
        json = json_object();
    }
    *out = json;
    return json ? ETHOS_OK : err_nomem(error);
}

static int store_accepted(int home, const json_t *accepted, struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    str_init(&text, ETHOS_MAX_MAP_BYTES);
    int code = json_print(accepted, JSON_STYLE_PRETTY, &text);
    if (code == ETHOS_OK)
        code = str_addc(&text, '\n');
    code = code == ETHOS_OK ? home_replace(home, "", ACCEPTED_FILE, str_view(&text), error)
                            : err_nomem(error);
    return code;
}

int instructions_accept(struct ethos *ethos, const struct instructions_file *file,
                        struct ethos_error *error)
{
    int home, lock = -1;
    char hash[HASH_HEX_SIZE];
    json_t *accepted = NULL;
    TRY(service_open_home(ethos, true, &home, error));
    int code = home_lock(home, ACCEPTED_FILE, &lock, error);
    if (code == ETHOS_OK)
        code = read_accepted(ethos, &accepted, error);
    hash_hex(file->text, hash);
    if (code == ETHOS_OK && json_object_set_new(accepted, file->path, json_string(hash)) != 0)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = store_accepted(home, accepted, error);
    json_decref(accepted);
    if (lock >= 0)
        os_close(lock);
    os_close(home);
    return code;
}

int instructions_is_accepted(struct ethos *ethos, const char *path, struct ethos_view text,
                             bool *out, struct ethos_error *error)
{
    char hash[HASH_HEX_SIZE];
    json_t *accepted;
    TRY(read_accepted(ethos, &accepted, error));
    hash_hex(text, hash);
    *out = view_eq_str(json_view(accepted, path), hash);
    json_decref(accepted);
    return ETHOS_OK;
}

/* ---- the files ---------------------------------------------------------------------------------- */

struct instructions_reading {
    const char *top;
    int dir;
    const json_t *accepted;
    instructions_fn *each;
    void *arg;
};

/* False: the file cannot be read, or is blank. */
static bool read_instruction_file(int dir, const char *name, size_t most, struct str *out)
{
    struct stat info;
    CLEANUP_FD int fd = os_open_beneath(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return false;
    str_clear(out);
    bool read = os_fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                os_read_all(fd, out, most) == 0;
    return read && !view_blank(str_view(out));
}

static int report_instructions(const struct instructions_reading *self, const char *name,
                               struct ethos_view text, bool is_skill)
{
    char path[2 * PATH_MAX], hash[HASH_HEX_SIZE];
    snprintf(path, sizeof path, "%s/%s", self->top, name);
    hash_hex(text, hash);
    const struct instructions_file file = {
        .name = name,
        .path = path,
        .text = text,
        .is_skill = is_skill,
        .accepted = view_eq_str(json_view(self->accepted, path), hash)};
    return self->each(self->arg, &file);
}

/* Reads a folder, named from the top ("" for the top itself). */
static int read_instruction_folder(const struct instructions_reading *self, const char *folder)
{
    static const char *const names[] = {"AGENTS.md", "CLAUDE.md"};
    char name[PATH_MAX];
    CLEANUP_STR struct str text;
    bool found = false;
    str_init(&text, INSTRUCTIONS_MAX_BYTES + 1);
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = snprintf(name, sizeof name, "%s%s%s", folder, *folder ? "/" : "", names[i]) <
                    PATH_MAX &&
                read_instruction_file(self->dir, name, INSTRUCTIONS_MAX_BYTES, &text);
    return found ? report_instructions(self, name, str_view(&text), false) : 0;
}

static int read_skills(const struct instructions_reading *self, const char *folder)
{
    char name[PATH_MAX];
    CLEANUP_ARENA struct arena arena = {0};
    struct dir_names names = {0};
    CLEANUP_STR struct str text = {0};
    int code = 0;
    CLEANUP_FD int dir = os_open_beneath(self->dir, folder, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return 0;
    arena_init(&arena);
    str_init(&text, MAX_SKILL_FILE + 1);
    if (dir_names(dir, &arena, MAX_SKILLS, &names) == 0)
        for (size_t i = 0; code == 0 && i < names.count; i++)
            if (*names.list[i] != '.' &&
                snprintf(name, sizeof name, "%s/%s/SKILL.md", folder, names.list[i]) < PATH_MAX &&
                read_instruction_file(self->dir, name, MAX_SKILL_FILE, &text))
                code = report_instructions(self, name, str_view(&text), true);
    return code;
}

static int read_down(const struct instructions_reading *self, char *below)
{
    int code = read_instruction_folder(self, "");
    for (char *at = below; code == 0 && *at;) {
        char *slash = strchr(at, '/');
        if (slash)
            *slash = '\0';
        code = read_instruction_folder(self, below);
        if (!slash)
            break;
        *slash = '/';
        at = slash + 1;
    }
    return code;
}

int instructions_each(struct ethos *ethos, const char *top, const char *folder,
                      instructions_fn *each, void *arg, struct ethos_error *error)
{
    char real[PATH_MAX];
    json_t *accepted;
    size_t size = strlen(top);
    int code = read_accepted(ethos, &accepted, error);
    if (code != ETHOS_OK)
        return code;
    int dir = os_openat(AT_FDCWD, top, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0 || os_realpath(folder, real) != 0 || strncmp(real, top, size) != 0)
        snprintf(real, sizeof real, "%s", top);
    const struct instructions_reading reading = {top, dir, accepted, each, arg};
    if (dir >= 0) {
        code = read_down(&reading, real + size + (real[size] == '/'));
        for (size_t i = 0; code == 0 && i < INSTRUCTIONS_SKILL_FOLDERS; i++)
            code = read_skills(&reading, instructions_skill_folders[i]);
        os_close(dir);
    }
    json_decref(accepted);
    return code;
}

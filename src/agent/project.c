/*
 * project.c: what a prompt takes from the project of a folder: its instructions and skills.
 */
#include "agent/project.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/text/invisible.h"
#include "base/view.h"
#include "core/approval/fence.h"
#include "core/memory/sanitize.h"
#include "core/notes/note.h"
#include "memory/review/instructions.h"

#define MAX_SKILL_FILE 262144   /* bytes of a SKILL.md */
#define MAX_SKILL_FOLDERS 10000 /* names in a folder of skills */
#define MAX_DESCRIPTION 1024    /* bytes shown */

/* ---- texts ------------------------------------------------------------------------------------- */

/* A file beneath a folder, and as a model may read it. False: there is none that can be read. */
static bool read_visible(int dir, const char *path, size_t most, struct str *raw, struct str *out)
{
    struct str safe;
    struct stat info;
    int fd = os_open_beneath(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return false;
    str_init(&safe, 2 * most + 1);
    bool read = os_fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                os_read_all(fd, raw, most) == 0;
    os_close(fd);
    if (read) {
        bool changed = scan_text(str_view(raw), SCAN_REDACT, &safe, NULL);
        hidden_show_all(changed ? str_view(&safe) : str_view(raw), out);
    }
    str_release(&safe);
    return read;
}

/* ---- instructions ------------------------------------------------------------------------------ */

struct instructions_output {
    const char *number;
    struct str *out;
    bool foreign;
};

static int append_instructions(void *arg, const struct instructions_file *file)
{
    struct instructions_output *appending = arg;
    struct str text, safe;
    struct str *out = appending->out;
    if (file->is_skill ||
        out->size + file->text.size + strlen(file->name) >= PROJECT_MAX_INSTRUCTIONS)
        return 0;
    str_init(&text, 4 * PROJECT_MAX_INSTRUCTIONS);
    str_init(&safe, 4 * PROJECT_MAX_INSTRUCTIONS);
    bool changed = scan_text(file->text, SCAN_REDACT, &safe, NULL);
    hidden_show_all(changed ? str_view(&safe) : file->text, &text);
    str_printf(out, "%s### %s\n\n", out->size > 0 ? "\n\n" : "", file->name);
    if (file->accepted)
        str_add(out, view_trim(str_view(&text)));
    else
        fence_text(view_trim(str_view(&text)), appending->number, file->name, TRUST_UNTRUSTED, out);
    appending->foreign |= !file->accepted;
    str_release(&text);
    str_release(&safe);
    return 0;
}

int project_append_instructions(struct ethos *ethos, const char *top, const char *folder,
                                const char *number, struct str *out, bool *out_foreign,
                                struct ethos_error *error)
{
    struct str texts;
    str_init(&texts, 8 * PROJECT_MAX_INSTRUCTIONS);
    struct instructions_output appending = {.number = number, .out = &texts};
    int code = instructions_each(ethos, top, folder, append_instructions, &appending, error);
    str_fail(out, str_code(&texts));
    str_add(out, str_view(&texts));
    str_release(&texts);
    *out_foreign = appending.foreign;
    return code;
}

/* ---- skills ------------------------------------------------------------------------------------ */

size_t project_skill_folders(const char *top, const char *home,
                             char out[PROJECT_SKILL_FOLDERS][PATH_MAX])
{
    const char *const parents[] = {top, top, home};
    const char *const names[] = {instructions_skill_folders[0], instructions_skill_folders[1],
                                 "skills"};
    struct stat info;
    size_t count = 0;
    for (size_t i = 0; i < PROJECT_SKILL_FOLDERS; i++)
        if (parents[i] &&
            snprintf(out[count], PATH_MAX, "%s/%s", parents[i], names[i]) < PATH_MAX &&
            os_fstatat(AT_FDCWD, out[count], &info, 0) == 0 && S_ISDIR(info.st_mode))
            count++;
    return count;
}

/* A line of the list. */
static void append_skill_line(const char *name, const char *folder, struct ethos_view text,
                              struct str *out)
{
    struct str title, description;
    struct note note;
    str_init(&title, MAX_SKILL_FILE);
    str_init(&description, MAX_SKILL_FILE);
    note_parse(text, &note);
    note_value(note.name, &title);
    note_value(note.description, &description);
    size_t size = description.size < MAX_DESCRIPTION ? description.size : MAX_DESCRIPTION;
    while (size > 0 && size < description.size &&
           ((unsigned char)description.data[size] & 0xC0) == 0x80)
        size--;
    str_printf(out, "- %s: %.*s (%s/%s/SKILL.md)\n", title.size > 0 ? title.data : name, (int)size,
               description.data, folder, name);
    str_release(&title);
    str_release(&description);
}

struct skill_list {
    struct ethos *ethos;
    const char *folder;
    bool own;                  /* of the home: nobody else's text */
    struct str *out, *foreign; /* lines that are accepted, and others */
};

static int append_skill(const struct skill_list *self, int dir, const char *name,
                        struct ethos_error *error)
{
    char path[PATH_MAX], whole[2 * PATH_MAX];
    struct str text, raw;
    bool accepted = self->own;
    int code = ETHOS_OK;
    snprintf(path, sizeof path, "%s/SKILL.md", name);
    snprintf(whole, sizeof whole, "%s/%s", self->folder, path);
    str_init(&text, 4 * MAX_SKILL_FILE);
    str_init(&raw, MAX_SKILL_FILE + 1);
    if (read_visible(dir, path, MAX_SKILL_FILE, &raw, &text)) {
        if (!self->own)
            code = instructions_is_accepted(self->ethos, whole, str_view(&raw), &accepted, error);
        append_skill_line(name, self->folder, str_view(&text),
                          accepted ? self->out : self->foreign);
    }
    str_release(&text);
    str_release(&raw);
    return code;
}

int project_append_skills(struct ethos *ethos, const char *folder, bool own, struct str *out,
                          struct str *foreign, struct ethos_error *error)
{
    struct arena arena;
    struct dir_names names = {0};
    const struct skill_list skills = {ethos, folder, own, out, foreign};
    int code = ETHOS_OK;
    int dir = os_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
    arena_init(&arena);
    if (dir >= 0 && dir_names(dir, &arena, MAX_SKILL_FOLDERS, &names) == 0)
        for (size_t i = 0; code == ETHOS_OK && i < names.count && i < PROJECT_MAX_SKILLS; i++)
            if (*names.list[i] != '.')
                code = append_skill(&skills, dir, names.list[i], error);
    if (dir >= 0)
        os_close(dir);
    arena_release(&arena);
    return code;
}

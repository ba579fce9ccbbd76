/*
 * check.c: reports queued and refused changes of unreachable backends, for doctor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/home/directory.h"
#include "memory/offline/internal.h"

#define MAX_PLACES 1000
#define MAX_NAMES 100000
#define SHOWN_SIZE 256

struct offline_inspection {
    int root;
    const char *place;
    char shown[SHOWN_SIZE]; /* "postgres url=..." */
    ethos_finding_fn *each;
    void *arg;
    struct arena arena;
};

static int open_place_folder(const struct offline_inspection *look, const char *folder)
{
    char path[OFFLINE_PATH_SIZE];
    snprintf(path, sizeof path, OFFLINE_FOLDER "/%s/%s", look->place, folder);
    return os_open_beneath(look->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* Reads the name of the place, in one line. */
static void read_place_name(struct offline_inspection *look)
{
    char path[OFFLINE_PATH_SIZE];
    CLEANUP_STR struct str text;
    str_init(&text, ETHOS_MAX_YAML_BYTES);
    snprintf(path, sizeof path, OFFLINE_FOLDER "/%s/place", look->place);
    home_read(look->root, path, ETHOS_MAX_YAML_BYTES, &text, NULL, NULL);
    struct ethos_view shown = view_trim(str_view(&text));
    snprintf(look->shown, sizeof look->shown, "%.*s",
             VIEW_ARG(shown.size ? shown : view_str(look->place)));
    for (char *at = look->shown; *at; at++)
        if (*at == '\n')
            *at = ' ';
}

static void report_warning(struct offline_inspection *look, const char *subject,
                           const char *problem, const char *remedy)
{
    const struct ethos_finding finding = {ETHOS_FINDING_WARNING, subject, problem, remedy};
    look->each(look->arg, &finding);
}

/* ---- what waits -------------------------------------------------------------------------------- */

static int report_queued(struct offline_inspection *look, struct ethos_error *error)
{
    struct dir_names names = {0};
    struct stat info = {0};
    char since[CLOCK_ISO_SIZE], problem[SHOWN_SIZE + 128], path[OFFLINE_PATH_SIZE];
    size_t count = 0;
    int dir = open_place_folder(look, "queue");
    if (dir < 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, OFFLINE_FOLDER);
    int code = dir_names(dir, &look->arena, MAX_NAMES, &names) == 0
                   ? ETHOS_OK
                   : err_errno(error, errno, OFFLINE_FOLDER);
    for (size_t i = 0; i < names.count; i++)
        if (*names.list[i] != '.' && count++ == 0)
            os_fstatat(dir, names.list[i], &info, AT_SYMLINK_NOFOLLOW);
    os_close(dir);
    if (code != ETHOS_OK || count == 0)
        return code;
    clock_iso((int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000, since);
    snprintf(problem, sizeof problem, "%zu change%s queued since %s for %s", count,
             count == 1 ? "" : "s", since, look->shown);
    snprintf(path, sizeof path, OFFLINE_FOLDER "/%s/queue", look->place);
    report_warning(
        look, path, problem,
        "they are made when it is reached; for another backend: ethos sync < FILE of each");
    return ETHOS_OK;
}

/* ---- what was refused -------------------------------------------------------------------------- */

static void report_refused_call(struct offline_inspection *look, int dir, const char *name)
{
    CLEANUP_STR struct str text;
    json_t *json = NULL;
    char path[SHOWN_SIZE], problem[SHOWN_SIZE + 512];
    str_init(&text, OFFLINE_FILE_BYTES);
    struct ethos_view why = VIEW("cannot be read");
    if (home_read(dir, name, OFFLINE_FILE_BYTES, &text, NULL, NULL) == ETHOS_OK &&
        json_parse_most(str_view(&text), OFFLINE_FILE_BYTES, name, &json, NULL) == ETHOS_OK)
        why = json_view(json_object_get(json, "refused"), "text");
    snprintf(path, sizeof path, OFFLINE_FOLDER "/%s/refused/%s", look->place, name);
    snprintf(problem, sizeof problem, "a queued change was refused: %.*s", VIEW_ARG(why));
    report_warning(look, path, problem, "apply it with ethos sync < FILE, or delete it");
    json_decref(json);
}

static int report_refused(struct offline_inspection *look, struct ethos_error *error)
{
    struct dir_names names = {0};
    int dir = open_place_folder(look, "refused");
    if (dir < 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, OFFLINE_FOLDER);
    int code = dir_names(dir, &look->arena, MAX_NAMES, &names) == 0
                   ? ETHOS_OK
                   : err_errno(error, errno, OFFLINE_FOLDER);
    for (size_t i = 0; i < names.count && i < OFFLINE_MAX_REFUSED; i++)
        if (*names.list[i] != '.')
            report_refused_call(look, dir, names.list[i]);
    os_close(dir);
    return code;
}

/* ---- every place ------------------------------------------------------------------------------- */

static int walk_places(int root, offline_place_fn *each, void *arg, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena = {0};
    struct dir_names places = {0};
    int dir = os_open_beneath(root, OFFLINE_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, OFFLINE_FOLDER);
    arena_init(&arena);
    int code = dir_names(dir, &arena, MAX_PLACES, &places) == 0
                   ? ETHOS_OK
                   : err_errno(error, errno, OFFLINE_FOLDER);
    os_close(dir);
    for (size_t i = 0; i < places.count && code == ETHOS_OK; i++)
        if (strlen(places.list[i]) == OFFLINE_PLACE_SIZE - 1)
            code = each(arg, places.list[i], error);
    return code;
}

int offline_places(const char *root, offline_place_fn *each, void *arg, struct ethos_error *error)
{
    int dir;
    int code = home_open(root, false, &dir, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    code = walk_places(dir, each, arg, error);
    os_close(dir);
    return code;
}

static int check_offline_place(void *arg, const char *place, struct ethos_error *error)
{
    struct offline_inspection *look = arg;
    look->place = place;
    read_place_name(look);
    TRY(report_queued(look, error));
    return report_refused(look, error);
}

int offline_check(const char *root, ethos_finding_fn *each, void *arg, struct ethos_error *error)
{
    struct offline_inspection look = {.each = each, .arg = arg};
    int code = home_open(root, false, &look.root, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    arena_init(&look.arena);
    code = walk_places(look.root, check_offline_place, &look, error);
    arena_release(&look.arena);
    os_close(look.root);
    return code;
}

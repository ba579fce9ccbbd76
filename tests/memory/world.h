/*
 * world.h: a home, a working directory and an environment of its own for each test of memory, ops
 * and the public interface.
 *
 * <temp>/home is the home and does not exist at first; <temp>/work is the current directory.
 * Helpers look at and change the tree with libc, never through the code under test; paths are
 * relative to <temp>. Tearing down fails the test when a descriptor stayed open.
 */
#ifndef TESTS_MEMORY_WORLD_H
#define TESTS_MEMORY_WORLD_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

#include "../support/alloc.h"
#include "../support/temp.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define NOW_MS 1763200000123 /* 2025-11-15T09:46:40.123Z */
#define NOW_ISO "2025-11-15T09:46:40.123Z"

struct world {
    struct temp temp;
    char home[96], work[96];
    char start[1024]; /* directory the test program was started in */
    struct ethos *ethos;
    struct ethos_turn *turn;
    struct ethos_error error;
    struct ethos_host host;
    mode_t umask;
    int descriptors; /* open before the test */
    int warnings;    /* lines logged at ETHOS_LOG_WARN or above */
};

/* ---- making and removing -------------------------------------------------------------------- */

static inline int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static inline void world_log(void *arg, enum ethos_level level, const char *line)
{
    struct world *world = arg;
    (void)line;
    world->warnings += level <= ETHOS_LOG_WARN;
}

static inline int64_t world_now(void *arg)
{
    (void)arg;
    return NOW_MS;
}

static inline void *world_resize(void *arg, void *block, size_t size)
{
    (void)arg;
    return log_default_host.resize(log_default_host.arg, block, size);
}

static inline void clear_environment(void)
{
    static const char *const names[] = {"ETHOS_HOME",      "ETHOS_STATE_DIR", "ETHOS_PERSONALITY",
                                        "ETHOS_USER",      "ETHOS_WORKSPACE", "TMPDIR",
                                        "ETHOS_FAULT_LOG", "ETHOS_FAULT"};
    for (size_t i = 0; i < COUNT(names); i++)
        unsetenv(names[i]);
}

static inline int world_set_up_in(const char *base, void **state)
{
    struct world *world = calloc(1, sizeof *world);
    if (!world || !getcwd(world->start, sizeof world->start))
        return -1;
    world->descriptors = count_descriptors();
    world->umask = umask(022);
    clear_environment();
    setenv("TMPDIR", base, 1);
    temp_make(&world->temp);
    snprintf(world->home, sizeof world->home, "%s/home", world->temp.path);
    snprintf(world->work, sizeof world->work, "%s/work", world->temp.path);
    setenv("HOME", world->temp.path, 1);
    setenv("TMPDIR", world->temp.path, 1);
    if (mkdir(world->work, 0700) || chdir(world->work))
        return -1;
    world->host = (struct ethos_host){ETHOS_ABI, world, world_resize, world_log, world_now};
    *state = world;
    return 0;
}

static inline int world_set_up(void **state)
{
    return world_set_up_in("/tmp", state);
}

/* For loops of thousands of writes: where a sync costs nothing, if there is such a place. */
static inline int world_set_up_quick(void **state)
{
    return world_set_up_in(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", state);
}

static inline void world_close(struct world *world)
{
    ethos_turn_free(world->turn);
    world->turn = NULL;
    ethos_close(world->ethos);
    world->ethos = NULL;
}

static inline int world_tear_down(void **state)
{
    struct world *world = *state;
    alloc_fail_at(0);
    os_hook(NULL, NULL);
    world_close(world);
    umask(world->umask);
    int lost = chdir(world->start);
    clear_environment();
    temp_remove(&world->temp);
    int leaked = count_descriptors() - world->descriptors;
    if (leaked)
        print_error("%d descriptors were not closed\n", leaked);
    free(world);
    return leaked || lost;
}

#define WORLD_TEST(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, world_set_up, world_tear_down)

#define WORLD_LOOP(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, world_set_up_quick, world_tear_down)

/* ---- through the interface ------------------------------------------------------------------ */

static inline void assert_ok(const struct world *world, int code)
{
    if (code != ETHOS_OK)
        fail_msg("%s: %s", ethos_code_name(code), world->error.text);
}

/* The code, filled in consistently, and a message. */
static inline void assert_error(const struct ethos_error *error, int code, int expected)
{
    assert_int_equal(code, expected);
    assert_int_equal(error->code, expected);
    assert_true(error->text[0] != 0);
}

/* Opens the handle (again). */
static inline void world_open_with(struct world *world, struct ethos_options options)
{
    world_close(world);
    options.home = options.home ? options.home : world->home;
    options.host = &world->host;
    assert_ok(world, ethos_open(&options, &world->ethos, &world->error));
}

static inline void world_open(struct world *world)
{
    world_open_with(world, (struct ethos_options){0});
}

static inline int world_try_turn(struct world *world, const struct ethos_request *request)
{
    if (!world->ethos)
        world_open(world);
    ethos_turn_free(world->turn);
    world->turn = NULL;
    memset(&world->error, 0, sizeof world->error);
    return ethos_turn_new(world->ethos, request, &world->turn, &world->error);
}

/* A turn, with the handle it needs. */
static inline const struct ethos_context *world_turn(struct world *world,
                                                     const struct ethos_request *request)
{
    assert_ok(world, world_try_turn(world, request));
    return ethos_turn_context(world->turn);
}

/* A turn of a personality and the local person. */
static inline const struct ethos_context *world_personality(struct world *world, const char *id)
{
    const struct ethos_request request = {.personality = id};
    return world_turn(world, &request);
}

static inline int world_sync(struct world *world, const char *json)
{
    memset(&world->error, 0, sizeof world->error);
    return ethos_sync_json(world->turn, view_str(json), NULL, &world->error);
}

/* The text of a prefetch, free() it; NULL when there is no memory. */
static inline char *world_prefetch(struct world *world)
{
    struct ethos_block *block = NULL;
    assert_ok(world, ethos_prefetch(world->turn, NULL, &block, &world->error));
    char *text = block ? strdup(block->text) : NULL;
    if (block)
        assert_int_equal(block->code, ETHOS_OK);
    ethos_block_free(block);
    return text;
}

static inline void assert_prefetch(struct world *world, const char *expected)
{
    char *text = world_prefetch(world);
    if (!expected) {
        if (text)
            fail_msg("expected no memory, found: %s", text);
        return;
    }
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

/* ---- behind its back ------------------------------------------------------------------------ */

static inline void world_mkdir(struct world *world, const char *path)
{
    char part[512];
    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] && path[i] != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        if (faccessat(world->temp.fd, part, F_OK, 0) != 0)
            assert_int_equal(mkdirat(world->temp.fd, part, 0700), 0);
    }
}

/* Writes a file, making its directories. */
static inline void world_put(struct world *world, const char *path, const char *text)
{
    char dir[512];
    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = 0;
    world_mkdir(world, dir);
    temp_write(&world->temp, path, text);
}

static inline void world_rename(struct world *world, const char *from, const char *to)
{
    assert_int_equal(renameat(world->temp.fd, from, world->temp.fd, to), 0);
}

static inline void world_unlink(struct world *world, const char *path)
{
    assert_int_equal(unlinkat(world->temp.fd, path, 0), 0);
}

static inline void world_link(struct world *world, const char *target, const char *path)
{
    assert_int_equal(symlinkat(target, world->temp.fd, path), 0);
}

static inline bool world_exists(struct world *world, const char *path)
{
    return faccessat(world->temp.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline int remove_one(const char *path, const struct stat *status, int type,
                             struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

/* Removes a directory below <temp> with everything in it, if it is there. */
static inline void world_remove(struct world *world, const char *path)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", world->temp.path, path);
    if (world_exists(world, path))
        assert_int_equal(nftw(full, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void assert_file(struct world *world, const char *path, const char *expected)
{
    char *text = temp_read(&world->temp, path, NULL);
    if (!text)
        fail_msg("%s: not there", path);
    assert_string_equal(text, expected);
    free(text);
}

static inline void assert_mode(struct world *world, const char *path, unsigned mode)
{
    struct stat st;
    assert_int_equal(fstatat(world->temp.fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}

/* ---- the whole tree ------------------------------------------------------------------------- */

enum { TREE_ALL, TREE_MEMORY /* leaves .mem, the history and indexes out */ };

static inline void tree_file(FILE *out, int dir, const char *name)
{
    char block[4096];
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && (got = read(fd, block, sizeof block)) > 0;)
        fwrite(block, 1, (size_t)got, out);
    if (fd >= 0)
        close(fd);
}

static inline void tree_dir(FILE *out, int parent, const char *path, const char *name, int what)
{
    struct dirent **entries;
    int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int count = dir < 0 ? 0 : scandirat(parent, name, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *entry = entries[i]->d_name;
        struct stat st;
        char below[1024];
        bool past = strcmp(entry, ".mem") == 0 || strcmp(entry, "recall") == 0 ||
                    strcmp(entry, "history-blobs") == 0 ||
                    strncmp(entry, "memory-history", 14) == 0;
        bool listed = strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0 &&
                      (what == TREE_ALL || !past);
        if (listed && fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            snprintf(below, sizeof below, "%s/%s", path, entry);
            fprintf(out, "%s %o", below, st.st_mode);
            if (S_ISREG(st.st_mode)) {
                fprintf(out, " %lld:", (long long)st.st_size);
                tree_file(out, dir, entry);
            }
            fputc('\n', out);
            if (S_ISDIR(st.st_mode))
                tree_dir(out, dir, below, entry, what);
        }
        free(entries[i]);
    }
    if (dir >= 0) {
        free(entries);
        close(dir);
    }
}

/* Every path below <temp>/<path> with its mode and bytes, as one text to compare; free() it. */
static inline char *world_tree(struct world *world, const char *path, int what)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tree_dir(out, world->temp.fd, path, path, what);
    fclose(out);
    return text;
}

/* No temporary is left anywhere; texts of tests do not use the words. */
static inline void assert_no_litter(struct world *world)
{
    static const char *const signs[] = {"draft", "/.mem/tmp/", ".ethos-"};
    char *tree = world_tree(world, ".", TREE_ALL);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const char *left = strstr(tree, signs[i]);
        if (left)
            fail_msg("left behind: ...%.60s", left);
    }
    free(tree);
}

/* ---- failing system calls ------------------------------------------------------------------- */

/* Fails the nth call of a name, or of all but close: a close that fails has still closed. */
struct nth {
    unsigned long number; /* 0: none */
    const char *name;     /* or NULL: any */
    int errnum;
    unsigned long calls;   /* that matched so far */
    char failed[32];       /* the call that was failed, "" when none */
    unsigned long certain; /* of them the last sync of a directory: what comes after may fail */
};

static inline int nth_fails(void *arg, const char *call, unsigned long number)
{
    struct nth *nth = arg;
    (void)number;
    if (nth->name ? strcmp(nth->name, call) != 0 : strcmp(call, "close") == 0)
        return 0;
    nth->calls++;
    if (strcmp(call, "fsync") == 0)
        nth->certain = nth->calls;
    if (nth->calls != nth->number)
        return 0;
    snprintf(nth->failed, sizeof nth->failed, "%s", call);
    return nth->errnum;
}

#endif

/*
 * home.h: a files store over a temporary directory, for the tests of that store.
 *
 * The store's root is <temp>/home. Helpers look at and change the tree behind the store's back,
 * with libc, never through the code under test; paths are relative to <temp>.
 */
#ifndef TESTS_STORE_FILES_HOME_H
#define TESTS_STORE_FILES_HOME_H

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

#include "../../support/alloc.h"
#include "../../support/temp.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "store/store.h"

#define SCOPE "personality:p"
#define DIR_OF_SCOPE "home/personalities/p"
#define FILE_OF(key) DIR_OF_SCOPE "/" key

struct home {
    struct temp temp;
    char root[128], allow[256];
    const struct ethos_host *host; /* for home_open */
    struct ethos_store *store;
    struct ethos_text text;
    struct ethos_error error;
    mode_t umask;
    int descriptors; /* open before the test */
};

static inline int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

/* Opens (again) with a lock deadline and flags; allow as set in home. */
static inline void home_open(struct home *home, uint32_t flags, uint32_t deadline_ms)
{
    const struct ethos_setup setup = {.host = home->host,
                                      .root = home->root,
                                      .allow = home->allow,
                                      .flags = flags,
                                      .deadline_ms = deadline_ms};
    if (home->store)
        home->store->ops->close(home->store);
    home->store = NULL;
    assert_int_equal(store_files.open(&setup, &home->store, &home->error), ETHOS_OK);
}

static inline int64_t home_now_ms(void *arg)
{
    return *(int64_t *)arg;
}

static inline void *home_resize(void *arg, void *block, size_t size)
{
    (void)arg;
    return log_default_host.resize(log_default_host.arg, block, size);
}

/* Opens again with a clock that stands. */
static inline void home_open_at(struct home *home, uint32_t flags, int64_t time)
{
    static struct ethos_host host;
    static int64_t clock;
    const struct ethos_setup setup = {
        .host = &host, .root = home->root, .flags = flags, .deadline_ms = 20000};
    host = log_default_host;
    host.arg = &clock;
    host.resize = home_resize;
    host.now_ms = home_now_ms;
    clock = time;
    home->store->ops->close(home->store);
    home->store = NULL;
    assert_int_equal(store_files.open(&setup, &home->store, &home->error), ETHOS_OK);
}

static inline int home_set_up(void **state)
{
    struct home *home = calloc(1, sizeof *home);
    if (!home)
        return -1;
    home->descriptors = count_descriptors();
    home->host = &log_default_host;
    temp_make(&home->temp);
    home->umask = umask(022);
    snprintf(home->root, sizeof home->root, "%s/home", home->temp.path);
    home_open(home, 0, 2000);
    *state = home;
    return 0;
}

static inline int home_tear_down(void **state)
{
    struct home *home = *state;
    alloc_fail_at(0);
    os_hook(NULL, NULL);
    umask(home->umask);
    home->store->ops->close(home->store);
    free(home->text.data);
    temp_remove(&home->temp);
    int leaked = count_descriptors() - home->descriptors;
    free(home);
    if (leaked)
        print_error("%d descriptors were not closed\n", leaked);
    return leaked;
}

#define HOME_TEST(function) cmocka_unit_test_setup_teardown(function, home_set_up, home_tear_down)

/* ---- through the store ---------------------------------------------------------------------- */

static inline int home_read(struct home *home, const char *scope, const char *key)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    memset(&home->error, 0, sizeof home->error);
    return home->store->ops->read(home->store, scope, key, &whole, &home->text, &home->error);
}

static inline int home_write(struct home *home, const char *scope, const char *key,
                             const char *text)
{
    char revision[ETHOS_REVISION_SIZE];
    memset(&home->error, 0, sizeof home->error);
    return home->store->ops->write(home->store, scope, key, NULL, view_str(text), NULL, revision,
                                   &home->error);
}

static inline int home_remove(struct home *home, const char *scope, const char *key)
{
    memset(&home->error, 0, sizeof home->error);
    return home->store->ops->remove(home->store, scope, key, NULL, NULL, &home->error);
}

static inline void assert_reads(struct home *home, const char *key, const char *expected)
{
    assert_int_equal(home_read(home, SCOPE, key), ETHOS_OK);
    assert_string_equal(home->text.data, expected);
}

/* ---- behind its back ------------------------------------------------------------------------ */

static inline void home_mkdir(struct home *home, const char *path)
{
    char part[512];
    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] && path[i] != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        if (faccessat(home->temp.fd, part, F_OK, 0) != 0)
            assert_int_equal(mkdirat(home->temp.fd, part, 0700), 0);
    }
}

/* Writes a file, making its directories. */
static inline void home_put(struct home *home, const char *path, const char *text)
{
    char dir[512];
    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = 0;
    home_mkdir(home, dir);
    temp_write(&home->temp, path, text);
}

static inline void assert_file(struct home *home, const char *path, const char *expected)
{
    char *text = temp_read(&home->temp, path, NULL);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static inline bool home_exists(struct home *home, const char *path)
{
    return faccessat(home->temp.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline struct stat home_stat(struct home *home, const char *path)
{
    struct stat st = {0};
    assert_int_equal(fstatat(home->temp.fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st;
}

static inline void assert_mode(struct home *home, const char *path, unsigned mode)
{
    assert_int_equal(home_stat(home, path).st_mode & 07777, mode);
}

static inline void home_link(struct home *home, const char *target, const char *path)
{
    assert_int_equal(symlinkat(target, home->temp.fd, path), 0);
}

static inline int fail_on_litter(const char *path, const struct stat *st, int kind,
                                 struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    if (strstr(path, "/.mem/tmp/") || strstr(path, "draft") || strstr(path, ".ethos-"))
        fail_msg("left behind: %s", path);
    return 0;
}

/* Nothing in any folder of temporaries, and none beside the target of a link. */
static inline void assert_no_litter(struct home *home)
{
    assert_int_equal(nftw(home->temp.path, fail_on_litter, 16, FTW_PHYS), 0);
}

static inline int remove_name(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    return remove(path);
}

/* Removes everything the store made. */
static inline void empty_home(struct home *home)
{
    nftw(home->root, remove_name, 16, FTW_PHYS | FTW_DEPTH);
    assert_int_equal(access(home->root, F_OK), -1);
}

#endif

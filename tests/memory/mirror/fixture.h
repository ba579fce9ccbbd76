/*
 * fixture.h: a backend, a folder and the mirror between them, for tests; a person who edits, an agent who
 * writes.
 */
#ifndef TESTS_MEMORY_MIRROR_FIXTURE_H
#define TESTS_MEMORY_MIRROR_FIXTURE_H

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../store/rows_ram.h"
#include "../../support/alloc.h"
#include "../../support/temp.h"
#include "base/hash.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/mirror/mirror.h"
#include "store/store.h"

#define SCOPE "personality:p"
#define TREE "memories:personality:p"
#define MEMORY "personalities/p/MEMORY.md"
#define PATIENCE_MS 60000 /* until what does not happen has failed */
#define COUNT(array) (sizeof(array) / sizeof *(array))

enum kind { RAM, ROWS, FILES, KINDS };

struct stand {
    enum kind kind;
    bool two_way, deletes;
    struct temp temp;
    char home[128], folder[128], backend[128];
    struct rows_ram *db;
    struct ethos_store *store; /* of the handle: also for those who write there */
    struct ethos *ethos;
    struct mirror *mirror;
    struct ethos_error error;
    unsigned seen[MIRROR_IN_STEP + 1];
    bool merged, removed;
    size_t gone, known;
    struct ethos_error told;
};

static struct stand stand;

/* ---- opening and closing --------------------------------------------------------------------- */

static inline void note(void *arg, const struct mirror_event *event)
{
    struct stand *self = arg;
    self->seen[event->kind]++;
    self->merged = event->merged;
    self->removed = event->removed;
    self->gone = event->gone;
    self->known = event->known;
    if (event->error)
        self->told = *event->error;
}

static inline void open_store(void)
{
    struct ethos_setup setup = {.host = &log_default_host,
                                .root = stand.backend,
                                .flags = ETHOS_SETUP_FAST,
                                .deadline_ms = 1000};
    int code = stand.kind == RAM     ? store_ram.open(&setup, &stand.store, &stand.error)
               : stand.kind == FILES ? store_files.open(&setup, &stand.store, &stand.error)
                                     : store_rows_new(setup.host, rows_ram_open(stand.db), 1000,
                                                      &stand.store, &stand.error);
    assert_int_equal(code, ETHOS_OK);
}

static inline int try_open(const char *folder)
{
    const struct mirror_how how = {.folder = folder,
                                   .two_way = stand.two_way,
                                   .deletes = stand.deletes,
                                   .quiet_ms = 1,
                                   .stop = -1,
                                   .each = note,
                                   .arg = &stand};
    return mirror_open(stand.ethos, &how, &stand.mirror, &stand.error);
}

static inline void open_mirror(void)
{
    if (try_open(stand.folder) != ETHOS_OK)
        fail_msg("%s", stand.error.text);
}

static inline void open_handle(void)
{
    open_store();
    struct ethos_options options = {
        .home = stand.home, .fast = 1, .host = &log_default_host, .store = stand.store};
    assert_int_equal(ethos_open(&options, &stand.ethos, &stand.error), ETHOS_OK);
}

static inline void begin_with(enum kind kind, bool two_way)
{
    stand = (struct stand){.kind = kind, .two_way = two_way};
    temp_make(&stand.temp);
    snprintf(stand.home, sizeof stand.home, "%s/home", stand.temp.path);
    snprintf(stand.folder, sizeof stand.folder, "%s/folder", stand.temp.path);
    snprintf(stand.backend, sizeof stand.backend, "%s/backend", stand.temp.path);
    if (kind == ROWS)
        stand.db = rows_ram_new(&log_default_host);
    open_handle();
}

static inline void begin(enum kind kind, bool two_way)
{
    begin_with(kind, two_way);
    open_mirror();
}

static inline void end(void)
{
    mirror_close(stand.mirror);
    ethos_close(stand.ethos);
    if (stand.db)
        rows_ram_free(stand.db);
    temp_remove(&stand.temp);
    stand = (struct stand){0};
}

/* As after another start of the program. */
static inline void again(void)
{
    mirror_close(stand.mirror);
    stand.mirror = NULL;
    if (stand.kind != RAM) {
        ethos_close(stand.ethos);
        open_handle();
    }
    open_mirror();
}

static inline int clean(void **state)
{
    (void)state;
    os_hook(NULL, NULL);
    if (stand.ethos)
        end();
    return 0;
}

/* ---- both sides ------------------------------------------------------------------------------ */

static inline void put_in(const char *scope, const char *key, const char *text)
{
    char revision[ETHOS_REVISION_SIZE];
    const struct ethos_origin origin = {.actor = "agent", .via = "mcp"};
    int code = stand.store->ops->write(stand.store, scope, key, NULL, view_str(text), &origin,
                                       revision, &stand.error);
    if (code != ETHOS_OK)
        fail_msg("%s: %s", key, stand.error.text);
}

static inline void put(const char *text)
{
    put_in(SCOPE, "MEMORY.md", text);
}

static inline void drop(const char *key)
{
    assert_int_equal(stand.store->ops->remove(stand.store, SCOPE, key, NULL, NULL, &stand.error),
                     ETHOS_OK);
}

/* The text at the backend; NULL: none. */
static inline char *backend_has(const char *scope, const char *key)
{
    static const struct ethos_read_how whole = {0};
    struct ethos_text text = {0};
    int code = stand.store->ops->read(stand.store, scope, key, &whole, &text, &stand.error);
    if (code == ETHOS_NOTFOUND)
        return NULL;
    assert_int_equal(code, ETHOS_OK);
    char *copy = strndup(text.data ? text.data : "", text.size);
    log_default_host.resize(NULL, text.data, 0);
    return copy;
}

static inline void in_folder(const char *path, char out[512])
{
    snprintf(out, 512, "folder/%s", path);
}

static inline char *file_has(const char *path)
{
    char name[512];
    in_folder(path, name);
    return temp_read(&stand.temp, name, NULL);
}

/* As an editor does it: another file takes the place. */
static inline void edit(const char *path, const char *text)
{
    char name[512], full[700], from[700];
    in_folder(path, name);
    snprintf(full, sizeof full, "%s/%s", stand.temp.path, name);
    snprintf(from, sizeof from, "%s/.saved", stand.temp.path);
    temp_write(&stand.temp, ".saved", text);
    assert_int_equal(rename(from, full), 0);
}

static inline void delete (const char *path)
{
    char full[700];
    snprintf(full, sizeof full, "%s/folder/%s", stand.temp.path, path);
    assert_int_equal(unlink(full), 0);
}

static inline void shell(const char *command)
{
    char line[2048];
    snprintf(line, sizeof line, "cd %s && { %s; }", stand.folder, command);
    assert_int_equal(system(line), 0);
}

static inline void expect_in(const char *scope, const char *key, const char *path, const char *text)
{
    char *file = file_has(path), *backend = backend_has(scope, key);
    if (text) {
        assert_non_null(file);
        assert_non_null(backend);
        assert_string_equal(file, text);
        assert_string_equal(backend, text);
    } else {
        assert_null(file);
        assert_null(backend);
    }
    free(file);
    free(backend);
}

static inline void expect_both(const char *text)
{
    expect_in(SCOPE, "MEMORY.md", MEMORY, text);
}

static inline void expect_lines(const char *const *lines)
{
    char *text = backend_has(SCOPE, "MEMORY.md");
    expect_both(text);
    for (; *lines; lines++)
        if (!strstr(text, *lines))
            fail_msg("no %s: %s", *lines, text);
    free(text);
}

static inline void pass(void)
{
    memset(stand.seen, 0, sizeof stand.seen);
    int code = mirror_once(stand.mirror, &stand.error);
    if (code != ETHOS_OK)
        fail_msg("%d: %s", code, stand.error.text);
}

/* Nothing is left to do. */
static inline void expect_quiet(void)
{
    pass();
    for (size_t i = 0; i < COUNT(stand.seen); i++)
        assert_int_equal(stand.seen[i], 0);
}

static inline int count_copy(void *arg, const struct ethos_conflict *conflict)
{
    size_t *count = arg;
    *count += strcmp(conflict->kind, "copy") == 0;
    return 0;
}

static inline size_t copies_of(struct ethos_store *store)
{
    size_t count = 0;
    assert_int_equal(store->ops->conflicts(store, SCOPE, count_copy, &count, &stand.error),
                     ETHOS_OK);
    return count;
}

static inline struct ethos_store *open_folder(void)
{
    struct ethos_store *files;
    struct ethos_setup setup = {
        .host = &log_default_host, .root = stand.folder, .deadline_ms = 1000};
    assert_int_equal(store_files.open(&setup, &files, &stand.error), ETHOS_OK);
    return files;
}

static inline size_t copies_here(void)
{
    struct ethos_store *files = open_folder();
    size_t count = copies_of(files);
    files->ops->close(files);
    return count;
}

/* Whether a line of the folder's history tells of the text, so that it can be had again. */
static inline bool folder_knows(const char *text)
{
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_text found = {0};
    struct ethos_store *files = open_folder();
    hash_revision(view_str(text), revision);
    int code = files->ops->version(files, SCOPE, "MEMORY.md", revision, &found, &stand.error);
    log_default_host.resize(NULL, found.data, 0);
    files->ops->close(files);
    return code == ETHOS_OK;
}

/* Where a sync costs nothing, if there is such a place. */
static inline void choose_place(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

#endif

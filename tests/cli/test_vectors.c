/*
 * test_vectors.c: the vectors of tests/golden through the program itself.
 *
 * Each vector is one `ethos sync --json` in a home of its own: JSON on standard input, then every byte
 * of the directory is compared. A vector with an error must leave the whole home as it was.
 */
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/golden.h"
#include "../support/temp.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

#define FOLDER "home/.ethos/personalities/default"
#define MEMORY FOLDER "/MEMORY.md"
#define ARCHIVE FOLDER "/memory-archive.md"
#define REFUSED 5 /* exit code for a bad id or key */

/* ---- running the program --------------------------------------------------------------------- */

/* The program of the same build: <build>/bin/ethos beside <build>/tests/cli/test_vectors. */
static const char *program(void)
{
    static char path[PATH_MAX + 16];
    char self[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        fail_msg("/proc/self/exe");
    snprintf(path, sizeof path, "%s/bin/ethos", dirname(dirname(dirname(self))));
    return path;
}

/* Runs `ethos sync --json` below temp/home with the text on standard input; gives its exit code. */
static int sync_text(const struct temp *temp, const char *text, json_t **out)
{
    char home[PATH_MAX];
    char *argv[] = {"ethos", "sync", "--json", NULL};
    char *envp[] = {home, "LC_ALL=C.UTF-8", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    snprintf(home, sizeof home, "HOME=%s/home", temp->path);
    temp_write(temp, "stdin", text);
    temp_write(temp, "stdout", "");
    assert_int_equal(fchdir(temp->fd), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "stdin", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "stdout", O_WRONLY, 0);
    assert_int_equal(posix_spawn(&pid, program(), &actions, NULL, argv, envp), 0);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    char *printed = temp_read(temp, "stdout", NULL);
    *out = json_loads(printed, JSON_DECODE_ANY, NULL);
    assert_non_null(*out);
    free(printed);
    return WEXITSTATUS(status);
}

/* ---- what is on the disk --------------------------------------------------------------------- */

static struct str snapshot; /* of the walk that nftw makes */

static int note(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)walk;
    str_printf(&snapshot, "%s %o %lld %lld.%ld %d\n", path, st->st_mode, (long long)st->st_size,
               (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, type);
    return 0;
}

/* Every name below the home with its mode, size and time. free() it. */
static char *look(const struct temp *temp)
{
    assert_int_equal(fchdir(temp->fd), 0);
    str_init(&snapshot, 1 << 20);
    nftw("home", note, 16, FTW_PHYS);
    return str_steal(&snapshot, NULL);
}

static void make_home(struct temp *temp, const char *initial)
{
    static const char *const folders[] = {"home/.ethos", "home/.ethos/personalities", FOLDER};
    temp_make(temp);
    assert_int_equal(mkdirat(temp->fd, "home", 0700), 0);
    for (size_t i = 0; initial && i < 3; i++)
        assert_int_equal(mkdirat(temp->fd, folders[i], 0700), 0);
    if (initial)
        temp_write(temp, MEMORY, initial);
}

static void assert_digest(struct ethos_view text, const json_t *digest, const char *name)
{
    char hex[HASH_HEX_SIZE];
    hash_hex(text, hex);
    assert_string_equal(hex, golden_string(digest, name));
}

static void check_memory(const struct temp *temp, const json_t *vector)
{
    size_t size = 0;
    char *text = temp_read(temp, MEMORY, &size);
    const json_t *digest = json_object_get(vector, "after_digest");
    const json_t *after = json_object_get(vector, "after");
    if (digest) {
        assert_non_null(text);
        assert_int_equal(size, json_integer_value(json_object_get(digest, "bytes")));
        assert_int_equal(utf8_units(view_of(text, size)),
                         json_integer_value(json_object_get(digest, "units")));
        assert_digest(view_of(text, size), digest, "sha256");
    } else if (json_is_null(after)) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_int_equal(size, json_string_length(after));
        assert_memory_equal(text, json_string_value(after), size);
    }
    free(text);
}

/* The archive with the time of its marker replaced, as the vector has it. */
static void check_archive(const struct temp *temp, const json_t *digest)
{
    static const char before[] = "\n<!-- overflow-archived ";
    size_t size;
    struct str text;
    char *archive = temp_read(temp, ARCHIVE, &size);
    assert_non_null(archive);
    char *end = strstr(archive, " from ");
    assert_non_null(end);
    assert_memory_equal(archive, before, strlen(before));
    str_init(&text, SIZE_MAX);
    str_printf(&text, "%s<ISO>%s", before, end);
    const char *head = golden_string(digest, "head");
    assert_memory_equal(text.data, head, strlen(head));
    assert_int_equal(size, json_integer_value(json_object_get(digest, "bytes")));
    assert_digest(str_view(&text), digest, "sha256_with_ISO");
    str_release(&text);
    free(archive);
}

/* Names of texts below the home; what history keeps aside is no text. */
static size_t count_texts(const struct temp *temp)
{
    size_t found = 0;
    char *tree = look(temp);
    struct ethos_view line, rest = view_str(tree);
    while (view_line(&rest, &line))
        found += view_contains(line, VIEW(".md ")) && !view_contains(line, VIEW("/history-blobs/"));
    free(tree);
    return found;
}

/* md_files: exactly these, or no directory at all for null. */
static void check_files(const struct temp *temp, const json_t *names)
{
    size_t index;
    json_t *name;
    struct stat st;
    char path[PATH_MAX];
    if (json_is_null(names))
        assert_int_not_equal(fstatat(temp->fd, "home/.ethos", &st, 0), 0);
    json_array_foreach (names, index, name) {
        snprintf(path, sizeof path, FOLDER "/%s", json_string_value(name));
        assert_int_equal(fstatat(temp->fd, path, &st, 0), 0);
    }
    assert_int_equal(count_texts(temp), json_array_size(names));
}

/* ---- the vectors ----------------------------------------------------------------------------- */

static void expand_repeat(json_t *update)
{
    const json_t *repeat = json_object_get(update, "content_repeat");
    struct str text;
    if (!repeat)
        return;
    str_init(&text, SIZE_MAX);
    for (json_int_t i = json_integer_value(json_object_get(repeat, "count")); i > 0; i--)
        str_adds(&text, golden_string(repeat, "unit"));
    json_object_set_new(update, "content", json_stringn(text.data, text.size));
    json_object_del(update, "content_repeat");
    str_release(&text);
}

/* The call as JSON; the text itself where the vector gives it. free() it. */
static char *call_of(json_t *vector)
{
    size_t index;
    json_t *update;
    json_t *updates = json_object_get(vector, "updates");
    if (golden_string(vector, "updates_text"))
        return strdup(golden_string(vector, "updates_text"));
    json_array_foreach (updates, index, update)
        expand_repeat(update);
    return json_dumps(updates, JSON_ENSURE_ASCII);
}

static void assert_refused(int status, const json_t *report, const char *message)
{
    const json_t *error = json_object_get(report, "error");
    assert_non_null(error);
    assert_string_equal(golden_string(error, "message"), message);
    assert_string_equal(golden_string(error, "code"), "denied");
    assert_int_equal(status, REFUSED);
}

static void run_update(void **state)
{
    json_t *vector = *state, *report;
    const char *error = golden_string(vector, "error");
    struct temp temp;
    make_home(&temp, golden_string(vector, "initial"));
    char *before = look(&temp), *call = call_of(vector);
    int status = sync_text(&temp, call, &report);
    char *after = look(&temp);
    if (error) {
        assert_refused(status, report, error);
        assert_string_equal(before, after);
    } else {
        assert_null(json_object_get(report, "error"));
        assert_int_equal(status, 0);
    }
    check_memory(&temp, vector);
    check_files(&temp, json_object_get(vector, "md_files"));
    if (json_object_get(vector, "archive_digest"))
        check_archive(&temp, json_object_get(vector, "archive_digest"));
    free(call);
    free(before);
    free(after);
    json_decref(report);
    temp_remove(&temp);
}

static void run_scope(void **state)
{
    json_t *vector = *state, *report;
    const char *error = golden_string(vector, "error");
    struct temp temp;
    struct stat st;
    json_t *update = json_pack("{s:s, s:s, s:s, s:s}", "action", "add", "scope",
                               golden_string(vector, "scope"), "key", "note.md", "content", "x");
    char *call = json_dumps(update, 0);
    make_home(&temp, NULL);
    int status = sync_text(&temp, call, &report);
    bool made = fstatat(temp.fd, "home/.ethos", &st, 0) == 0;
    if (error)
        assert_refused(status, report, error);
    else
        assert_int_equal(status, 0);
    assert_int_equal(made, !error);
    free(call);
    json_decref(update);
    json_decref(report);
    temp_remove(&temp);
}

/* ---- one test for each vector ---------------------------------------------------------------- */

static char *name_of(const json_t *vector)
{
    char *name = NULL;
    int size = golden_string(vector, "id")
                   ? asprintf(&name, "%s %s", golden_string(vector, "id"),
                              golden_string(vector, "label"))
                   : asprintf(&name, "scope '%s'", golden_string(vector, "scope"));
    return size < 0 ? NULL : name;
}

static void add_tests(struct CMUnitTest *tests, json_t *vectors, CMUnitTestFunction run)
{
    size_t index;
    json_t *vector;
    json_array_foreach (vectors, index, vector)
        tests[index] = (struct CMUnitTest){name_of(vector), run, NULL, NULL, vector};
}

int main(void)
{
    json_t *updates = golden_load("updates"), *scopes = golden_load("scopes");
    size_t first = json_array_size(updates), count = first + json_array_size(scopes);
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    if (!tests)
        return 1;
    add_tests(tests, updates, run_update);
    add_tests(tests + first, scopes, run_scope);
    int failed = _cmocka_run_group_tests("vectors", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        free((char *)tests[i].name);
    free(tests);
    json_decref(updates);
    json_decref(scopes);
    return failed;
}

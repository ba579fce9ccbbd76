/*
 * test_mirror.c: the command ethos memory mirror over a PostgreSQL that runs: it is woken by changes on either
 * side, outlives the server, and whoever writes, by an editor, by sed or by an agent, finds all of it on both sides.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
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

#include "../support/temp.h"
#include "base/str.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "postgres.h"
#include "store/store.h"

#define SCOPE "personality:p"
#define MEMORY "folder/personalities/p/MEMORY.md"
#define PATIENCE_MS 60000 /* until what does not happen has failed */
#define ROUNDS 25

static struct pg_server server;
static struct temp temp;
static struct ethos_store *store; /* of an agent on another machine */
static char program[PATH_MAX];
static pid_t mirror; /* 0: none runs */

/* ---- the stage ------------------------------------------------------------------------------- */

/* <build>/tests/modules/test_mirror -> <build>/bin/ethos */
static void find_program(void)
{
    char here[PATH_MAX - 64];
    ssize_t size = readlink("/proc/self/exe", here, sizeof here - 1);
    assert_true(size > 0);
    here[size] = 0;
    for (int i = 0; i < 3; i++)
        *strrchr(here, '/') = 0;
    snprintf(program, sizeof program, "%s/bin/ethos", here);
}

static void configure(const char *schema)
{
    char text[512];
    snprintf(text, sizeof text,
             "memory.provider: postgres\nmemory.options.url: \"%s\"\nmemory.options.schema: %s\n",
             server.url, schema);
    temp_write(&temp, "home/config.yaml", text);
}

static int begin(void **state)
{
    struct ethos_error error = {0};
    char path[128];
    (void)state;
    find_program();
    temp_make(&temp);
    snprintf(path, sizeof path, "%s/home", temp.path);
    if (mkdir(path, 0700) != 0 ||
        !pg_server_say(&server, "DROP SCHEMA IF EXISTS ethos CASCADE", NULL, 0))
        return -1;
    configure("ethos");
    return pg_open_rows(&log_default_host, server.url, 10000, &store, &error);
}

static int end_with(int signal)
{
    int status;
    assert_int_equal(kill(mirror, signal), 0);
    assert_int_equal(waitpid(mirror, &status, 0), mirror);
    mirror = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void expect_end(int signal, int status)
{
    int found = end_with(signal);
    if (found == status)
        return;
    char *said = temp_read(&temp, "said", NULL);
    print_error("ended with %d: %s\n", found, said ? said : "");
    free(said);
    fail();
}

static int clean(void **state)
{
    (void)state;
    if (mirror > 0)
        end_with(SIGKILL);
    store->ops->close(store);
    temp_remove(&temp);
    return 0;
}

/* What it says goes to <temp>/out and <temp>/said. */
static pid_t start(const char *more, const char *most)
{
    char home[128], folder[128], out[128], said[128];
    const char *argv[] = {program, "--home", home, "memory", "mirror", folder, more, most, NULL};
    snprintf(home, sizeof home, "%s/home", temp.path);
    snprintf(folder, sizeof folder, "%s/folder", temp.path);
    snprintf(out, sizeof out, "%s/out", temp.path);
    snprintf(said, sizeof said, "%s/said", temp.path);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen(out, "a", stdout) || !freopen(said, "a", stderr))
            _exit(1);
        // Seen once in many hundred: LeakSanitizer's own tracer dies. Leaks are looked for within test programs.
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        execv(program, (char *const *)(void *)argv);
        _exit(127);
    }
    return child;
}

static int run(const char *more, const char *most)
{
    int status;
    pid_t child = start(more, most);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static bool said(const char *part)
{
    char *text = temp_read(&temp, "said", NULL);
    bool found = text && strstr(text, part);
    free(text);
    return found;
}

/* ---- both sides ------------------------------------------------------------------------------ */

struct adding {
    const char *line;
    struct str text;
};

static int append(void *arg, struct ethos_edit *edit, size_t count, struct ethos_error *error)
{
    struct adding *adding = arg;
    (void)count, (void)error;
    str_clear(&adding->text);
    str_add(&adding->text, view_of(edit->old.data, edit->old.size));
    str_adds(&adding->text, adding->line);
    edit->verdict = ETHOS_EDIT_PUT;
    edit->text = str_view(&adding->text);
    return str_code(&adding->text);
}

/* As an agent adds an entry. */
static void add(const char *line)
{
    struct adding adding = {.line = line};
    struct ethos_edit edit = {.key = "MEMORY.md"};
    struct ethos_error error = {0};
    str_init(&adding.text, SIZE_MAX);
    int code = store_update(store, SCOPE, &edit, 1, append, &adding, NULL, &error);
    if (code != ETHOS_OK)
        fail_msg("%s", error.text);
    log_default_host.resize(NULL, edit.old.data, 0);
    str_release(&adding.text);
}

static char *backend_has(void)
{
    static const struct ethos_read_how whole = {0};
    struct ethos_text text = {0};
    struct ethos_error error = {0};
    int code = store->ops->read(store, SCOPE, "MEMORY.md", &whole, &text, &error);
    char *copy = code == ETHOS_OK ? strndup(text.data ? text.data : "", text.size) : NULL;
    log_default_host.resize(NULL, text.data, 0);
    return copy;
}

static bool are_equal(const char *part)
{
    char *file = temp_read(&temp, MEMORY, NULL), *backend = backend_has();
    bool equal = file && backend && strcmp(file, backend) == 0 && strstr(file, part);
    free(file);
    free(backend);
    return equal;
}

static void shell(const char *format, ...)
{
    char command[1024], line[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    snprintf(line, sizeof line, "cd %s && { %s; }", temp.path, command);
    assert_int_equal(system(line), 0);
}

/* Until both have the same text and this is part of it. */
static void wait_for(const char *part)
{
    int64_t end = os_monotonic_ms() + PATIENCE_MS;
    while (!are_equal(part) && os_monotonic_ms() < end)
        os_sleep_ms(20);
    if (are_equal(part))
        return;
    char *file = temp_read(&temp, MEMORY, NULL), *backend = backend_has();
    print_error("no %s\nfile:\n", part);
    fputs(file ? file : "none\n", stderr);
    fputs("backend:\n", stderr);
    fputs(backend ? backend : "none\n", stderr);
    free(file);
    free(backend);
    fail();
}

static void wait_said(const char *part)
{
    int64_t end = os_monotonic_ms() + PATIENCE_MS;
    while (!said(part) && os_monotonic_ms() < end)
        os_sleep_ms(20);
    assert_true(said(part));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_it_is_woken_by_both_sides_and_ends_in_order(void **state)
{
    (void)state;
    add("- first\n");
    mirror = start("--two-way", NULL);
    wait_for("- first\n");
    add("- of an agent\n");
    wait_for("- of an agent\n");
    shell("sed -i 's/first/first, by sed/' " MEMORY);
    wait_for("- first, by sed\n");
    shell("cp " MEMORY " saved && echo '- by an editor' >> saved && mv saved " MEMORY);
    wait_for("- by an editor\n");
    shell("echo '- appended' >> " MEMORY);
    wait_for("- appended\n");
    shell("mkdir -p folder/users/u && echo tea > folder/users/u/USER.md");
    for (int64_t end = os_monotonic_ms() + PATIENCE_MS; os_monotonic_ms() < end; os_sleep_ms(20))
        if (pg_server_ask(&server, "SELECT count(*) FROM ethos.text WHERE scope = 'user:u'") == 1)
            break;
    assert_int_equal(
        pg_server_ask(&server, "SELECT count(*) FROM ethos.text WHERE scope = 'user:u'"), 1);
    expect_end(SIGTERM, 0);
    shell("test ! -e folder/sessions.db");
    shell("grep -q '^postgres -> personalities/p/MEMORY.md$' out");
    shell("grep -q '^postgres <- users/u/USER.md$' out");
}

static void test_one_way_an_edit_is_taken_back_at_once(void **state)
{
    (void)state;
    add("- first\n");
    mirror = start(NULL, NULL);
    wait_for("- first\n");
    shell("sed -i s/first/mine/ " MEMORY);
    wait_said("read-only");
    wait_for("- first\n");
    add("- second\n");
    wait_for("- second\n");
    shell("rm -f " MEMORY);
    wait_for("- second\n");
    expect_end(SIGINT, 0);
    shell("ETHOS_HOME=folder %s -p p conflicts list | grep -q MEMORY.md", program);
}

static void test_the_server_goes_and_comes_back(void **state)
{
    (void)state;
    add("- first\n");
    mirror = start("--two-way", NULL);
    wait_for("- first\n");
    store->ops->close(store);
    pg_server_end(&server, SIGQUIT);
    shell("echo '- while it was away' >> " MEMORY);
    wait_said("postgres is out of reach");
    expect_end(SIGTERM, 0);
    assert_int_equal(run("--two-way", "--once"), 6);
    mirror = start("--two-way", NULL);
    pg_server_again(&server);
    struct ethos_error error = {0};
    assert_int_equal(pg_open_rows(&log_default_host, server.url, 10000, &store, &error), ETHOS_OK);
    add("- of an agent\n");
    wait_for("- while it was away\n");
    wait_for("- of an agent\n");
    pg_server_end(&server, SIGINT);
    pg_server_again(&server);
    shell("echo '- after that' >> " MEMORY);
    wait_for("- after that\n");
    expect_end(SIGTERM, 0);
}

/* A person and an agent write at the same time; now and then the mirror is killed. */
static void test_nothing_is_lost_whoever_writes_when(void **state)
{
    char line[64];
    (void)state;
    add("# Memory\n\n- first\n");
    mirror = start("--two-way", NULL);
    wait_for("- first\n");
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(line, sizeof line, "- agent %d\n", i);
        add(line);
        if (i % 3 == 0)
            shell("sed -i '3i - person %d' " MEMORY, i);
        else if (i % 3 == 1)
            shell("cp " MEMORY " saved && echo '- person %d' >> saved && mv saved " MEMORY, i);
        else
            shell("echo '- person %d' >> " MEMORY, i);
        if (i % 5 == 4) {
            expect_end(SIGKILL, -SIGKILL);
            mirror = start("--two-way", NULL);
        }
        os_sleep_ms((unsigned)i * 37 % 200);
    }
    add("- last\n"); // only a mirror that has come so far ends in order
    wait_for("- last\n");
    expect_end(SIGTERM, 0);
    assert_int_equal(run("--two-way", "--once"), 0);
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(line, sizeof line, "- agent %d\n", i);
        wait_for(line);
        snprintf(line, sizeof line, "- person %d\n", i);
        if (!are_equal(
                line)) // the store was killed between two edits, and keeps the earlier one beside
            shell("grep -qrx -e '- person %d' folder/personalities/p/.mem/conflicts", i);
    }
}

static void test_a_folder_has_one_mirror_and_one_place(void **state)
{
    (void)state;
    add("- first\n");
    mirror = start("--two-way", NULL);
    wait_for("- first\n");
    assert_int_equal(run("--once", NULL), 6);
    assert_true(said("already mirrored by"));
    expect_end(SIGTERM, 0);
    configure("another");
    assert_int_equal(run("--once", NULL), 5);
    assert_true(said("mirrors another place"));
    assert_true(said("schema=another"));
    configure("ethos");
    assert_int_equal(run("--once", NULL), 0);
}

static void test_the_backend_of_one_personality(void **state)
{
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_error error = {0};
    (void)state;
    add("- first\n");
    assert_int_equal(
        store->ops->write(store, "user:u", "USER.md", NULL, VIEW("tea\n"), NULL, revision, &error),
        ETHOS_OK);
    shell("mkdir -p home/personalities/p && mv home/config.yaml home/personalities/p/");
    assert_int_equal(run("--once", NULL), 0);
    assert_true(are_equal("- first\n"));
    assert_true(said("user:u at postgres is not in this folder"));
    shell("test ! -e folder/users");
    shell("rm -r home/personalities");
    assert_int_equal(run("--once", NULL), 1);
    assert_true(said("memory is in files already"));
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int start_server(void **state)
{
    (void)state;
    pg_server_start(&server);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    pg_server_stop(&server);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_is_woken_by_both_sides_and_ends_in_order),
        TEST(test_one_way_an_edit_is_taken_back_at_once),
        TEST(test_the_server_goes_and_comes_back),
        TEST(test_nothing_is_lost_whoever_writes_when),
        TEST(test_a_folder_has_one_mirror_and_one_place),
        TEST(test_the_backend_of_one_personality),
    };
    const char *missing = pg_server_missing();
    if (missing) {
        printf("1..0 # SKIP %s\n", missing);
        return 0;
    }
    return cmocka_run_group_tests(tests, start_server, stop_server);
}

/*
 * test_migrate.c: moving memory by the command, between files and servers that run: whatever is killed, stopped or
 * interrupted on the way, it goes on, and both sides are the same in the end. Larger with CHECK_LONG=1.
 */
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
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/migrate/migrate.h"
#include "postgres.h"
#include "redis.h"
#include "remote.h"
#include "session/session.h"
#include "store/store.h"

#define SCOPE "personality:p"
#define TREE "memories:personality:p"
#define ENTRIES 300

static struct temp temp;
static char program[PATH_MAX];

static unsigned longer(unsigned usual, unsigned longer)
{
    return getenv("CHECK_LONG") ? longer : usual;
}

/* <build>/tests/modules/test_migrate -> <build>/bin/ethos */
static int find_program(void **state)
{
    (void)state;
    char here[PATH_MAX - 64];
    ssize_t size = readlink("/proc/self/exe", here, sizeof here - 1);
    if (size <= 0)
        return -1;
    here[size] = 0;
    for (int i = 0; i < 3; i++)
        *strrchr(here, '/') = 0;
    snprintf(program, sizeof program, "%s/bin/ethos", here);
    return access(program, X_OK);
}

static int make_temp(void **state)
{
    (void)state;
    temp_make(&temp);
    return 0;
}

static int remove_temp(void **state)
{
    (void)state;
    temp_remove(&temp);
    return 0;
}

static struct ethos_store *open_files(const char *root)
{
    const struct ethos_setup setup = {
        .host = &log_default_host, .root = root, .flags = ETHOS_SETUP_FAST, .deadline_ms = 5000};
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    assert_int_equal(store_files.open(&setup, &store, &error), ETHOS_OK);
    return store;
}

static void put(struct ethos_store *store, const char *scope, const char *key,
                struct ethos_view text)
{
    const struct ethos_origin origin = {.actor = "owner", .via = "cli", .user = "u"};
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_error error = {0};
    assert_int_equal(store->ops->write(store, scope, key, NULL, text, &origin, revision, &error),
                     ETHOS_OK);
}

static void fill(const char *root, unsigned entries)
{
    struct ethos_store *store = open_files(root);
    char text[64], *large = malloc(60000), *at = large;
    for (unsigned i = 0; i < entries; i++) {
        snprintf(text, sizeof text, "entry %u\nof many\n", i);
        put(store, SCOPE, i % 3 ? "MEMORY.md" : "topic.md", view_str(text));
    }
    for (unsigned i = 0; i < 1500; i++)
        at += snprintf(at, 40, "line %u: %u\n", i, i * 7919);
    put(store, SCOPE, "large.md", view_of(large, (size_t)(at - large)));
    put(store, SCOPE, "large.md", view_of(large + 100, (size_t)(at - large) - 100));
    put(store, SCOPE, "binary.md", view_of("a\0\xff\n", 4));
    put(store, SCOPE, "binary.md", view_of("b\0\xfe\n", 4));
    put(store, TREE, "a/b.txt", VIEW("in a tree\n"));
    put(store, "user:u", "USER.md", VIEW("likes tea\n"));
    store->ops->close(store);
    free(large);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What it says goes to a file beside the homes. */
static pid_t start(const char *home, const char *const *words)
{
    const char *argv[24] = {program, "--home", home, "memory", "migrate", "--quiet"};
    char said[128];
    size_t count = 6;
    while (*words)
        argv[count++] = *words++;
    snprintf(said, sizeof said, "%s/said", temp.path);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout) || !freopen(said, "w", stderr))
            _exit(1);
        // Seen once in many hundred: LeakSanitizer's own tracer dies. Leaks are looked for within test programs.
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        execv(program, (char *const *)(void *)argv);
        _exit(127);
    }
    return child;
}

/* The exit status; minus the signal that ended it. */
static int end(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void expect_said(const char *text)
{
    size_t size;
    char *said = temp_read(&temp, "said", &size);
    if (!said || !strstr(said, text))
        fail_msg("no \"%s\" in: %s", text, said ? said : "nothing");
    free(said);
}

static void move_whole(const char *home, const char *const *words)
{
    int code = end(start(home, words));
    if (code != 0)
        expect_said("nothing, as it went well");
}

static void move_with_kills(const char *home, const char *const *words)
{
    int code = -1;
    for (unsigned i = 1; code != 0 && i <= longer(6, 40); i++) {
        pid_t child = start(home, words);
        usleep(i * longer(50000, 12000));
        kill(child, SIGKILL);
        code = end(child);
        assert_true(code == 0 || code == -SIGKILL);
    }
    move_whole(home, words);
}

static void expect_same(struct ethos_store *a, struct ethos_store *b)
{
    static const char *const scopes[] = {SCOPE, TREE, "user:u"};
    const struct migrate how = {.host = &log_default_host};
    struct ethos_error error = {0};
    for (size_t i = 0; i < 3; i++) {
        char hash[2][HASH_HEX_SIZE];
        assert_int_equal(migrate_digest(&how, a, scopes[i], hash[0], &error), ETHOS_OK);
        assert_int_equal(migrate_digest(&how, b, scopes[i], hash[1], &error), ETHOS_OK);
        assert_string_equal(hash[0], hash[1]);
    }
}

/* ---- servers --------------------------------------------------------------------------------- */

/* One of the two, that can be hurt. */
struct server {
    const char *backend;
    struct pg_server postgres;
    struct redis_server redis;
    const char *url;
    int (*open)(const struct ethos_host *host, const char *url, uint32_t deadline_ms,
                struct ethos_store **out_store, struct ethos_error *error);
};

static bool is_postgres(const struct server *self)
{
    return strcmp(self->backend, "postgres") == 0;
}

static void server_start(struct server *self, const char *backend)
{
    *self = (struct server){.backend = backend};
    if (is_postgres(self) ? pg_server_missing() : redis_server_missing())
        skip();
    if (is_postgres(self))
        pg_server_start(&self->postgres);
    else
        redis_server_start(&self->redis);
    self->url = is_postgres(self) ? self->postgres.url : self->redis.url;
    self->open = is_postgres(self) ? pg_open_rows : redis_open_rows;
}

static void server_stop(struct server *self)
{
    if (is_postgres(self))
        pg_server_stop(&self->postgres);
    else
        redis_server_stop(&self->redis);
}

/* pg_ctl stop -m immediate, kill -9; and a little later it is there again. */
static void server_fall(struct server *self)
{
    if (is_postgres(self))
        pg_server_end(&self->postgres, SIGQUIT);
    else
        redis_server_kill(&self->redis);
    os_sleep_ms(100);
    if (is_postgres(self))
        pg_server_again(&self->postgres);
    else
        redis_server_again(&self->redis);
}

/* Every process of it stands still for a while. */
static void server_freeze(const struct server *self)
{
    pid_t main = is_postgres(self) ? self->postgres.pid : self->redis.pid;
    char command[160];
    snprintf(command, sizeof command,
             "all=\"%d $(cat /proc/%d/task/%d/children)\"; kill -STOP $all 2>/dev/null; sleep 0.5;"
             " kill -CONT $all 2>/dev/null; true",
             main, main, main);
    assert_int_equal(system(command), 0);
}

/* ---- there and back -------------------------------------------------------------------------- */

struct journey {
    char home[128], back[128], option[256];
    const char *there[7], *again[7];
};

static void plan_journey(const struct server *server, struct journey *out)
{
    snprintf(out->home, sizeof out->home, "%s/home", temp.path);
    snprintf(out->back, sizeof out->back, "%s/back", temp.path);
    snprintf(out->option, sizeof out->option, "url=%s", server->url);
    const char *const there[] = {"--from",      "markdown",  "--to", server->backend,
                                 "--to-option", out->option, NULL};
    const char *const again[] = {"--from",        server->backend, "--to", "markdown",
                                 "--from-option", out->option,     NULL};
    memcpy(out->there, there, sizeof there);
    memcpy(out->again, again, sizeof again);
}

static void expect_like_server(const struct server *server, const char *home)
{
    struct ethos_store *there, *files = open_files(home);
    struct ethos_error error = {0};
    assert_int_equal(server->open(&log_default_host, server->url, 5000, &there, &error), ETHOS_OK);
    expect_same(files, there);
    there->ops->close(there);
    files->ops->close(files);
}

static void test_a_move_there_and_back_though_killed(void **state)
{
    struct server server;
    struct journey journey;
    server_start(&server, *state);
    plan_journey(&server, &journey);
    fill(journey.home, ENTRIES);
    move_with_kills(journey.home, journey.there);
    expect_like_server(&server, journey.home);
    move_with_kills(journey.back, journey.again);
    expect_like_server(&server, journey.back);
    server_stop(&server);
}

/* What it says when the server is gone is one of three: it waited and went on; not reached; not known. */
static void move_with_falls(struct server *server, const char *home, const char *const *words)
{
    int code = -1;
    for (unsigned i = 1; code != 0 && i <= longer(4, 30); i++) {
        pid_t child = start(home, words);
        usleep(i * longer(60000, 15000));
        server_fall(server);
        code = end(child);
        if (code != 0 && code != 6 && code != 7)
            expect_said("that it was busy, or that it is not known");
    }
    move_whole(home, words);
}

static void test_a_move_there_and_back_though_the_server_falls(void **state)
{
    struct server server;
    struct journey journey;
    server_start(&server, *state);
    plan_journey(&server, &journey);
    fill(journey.home, longer(ENTRIES * 3, 3000));
    move_with_falls(&server, journey.home, journey.there);
    expect_like_server(&server, journey.home);
    move_with_falls(&server, journey.back, journey.again);
    expect_like_server(&server, journey.back);
    server_stop(&server);
}

static int stop_there(void *arg, const struct ethos_change *change)
{
    (void)arg, (void)change;
    return 1;
}

/* Until the first changes are there. */
static void await_some(const struct server *server)
{
    struct ethos_store *there;
    struct ethos_error error = {0};
    int code = server->open(&log_default_host, server->url, 5000, &there, &error);
    while (code == ETHOS_OK) {
        code = there->ops->history(there, SCOPE, NULL, stop_there, NULL, &error);
        os_sleep_ms(2);
    }
    assert_int_equal(code, 1);
    there->ops->close(there);
}

static void test_a_server_that_stood_still_is_waited_for(void **state)
{
    struct server server;
    struct journey journey;
    server_start(&server, *state);
    plan_journey(&server, &journey);
    fill(journey.home, ENTRIES);
    pid_t child = start(journey.home, journey.there);
    await_some(&server);
    server_freeze(&server);
    assert_int_equal(end(child), 0);
    expect_like_server(&server, journey.home);
    server_stop(&server);
}

static void test_an_interrupted_move_says_how_it_goes_on(void **state)
{
    struct server server;
    struct journey journey;
    server_start(&server, *state);
    plan_journey(&server, &journey);
    fill(journey.home, ENTRIES * 3);
    pid_t child = start(journey.home, journey.there);
    await_some(&server);
    kill(child, SIGINT);
    assert_int_equal(end(child), -SIGINT);
    expect_said("interrupted; what was copied stays; run the same command again to continue");
    move_whole(journey.home, journey.there);
    expect_like_server(&server, journey.home);
    server_stop(&server);
}

/* ---- a source that is in use ----------------------------------------------------------------- */

static pid_t write_on(const char *root, unsigned writes)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    struct ethos_store *store = open_files(root);
    for (unsigned i = 0; i < writes; i++) {
        char text[32], revision[ETHOS_REVISION_SIZE];
        snprintf(text, sizeof text, "write %u\n", i);
        if (store->ops->write(store, SCOPE, "busy.md", NULL, view_str(text), NULL, revision,
                              NULL) != ETHOS_OK)
            _exit(1);
        usleep(20000);
    }
    _exit(0);
}

static void test_a_source_that_is_written_to_ends_equal_or_says_so(void **state)
{
    struct server server;
    struct journey journey;
    server_start(&server, *state);
    plan_journey(&server, &journey);
    fill(journey.home, ENTRIES / 3);
    pid_t writer = write_on(journey.home, longer(100, 500));
    int code = end(start(journey.home, journey.there));
    assert_true(code == 0 || code == 6);
    if (code == 6)
        expect_said(SCOPE ": the source keeps changing; stop what writes to it");
    assert_int_equal(end(writer), 0);
    move_whole(journey.home, journey.there);
    expect_like_server(&server, journey.home);
    server_stop(&server);
}

/* ---- another ethos serve ----------------------------------------------------------------------- */

static void test_a_move_into_another_server_though_it_falls(void **state)
{
    (void)state;
    struct remote_server server;
    struct ethos_store *there;
    struct ethos_error error = {0};
    char home[128], url[64];
    const char *const words[] = {"--from",      "markdown",        "--to",
                                 "remote",      "--to-option",     url,
                                 "--to-option", "keyEnv=MOVE_KEY", NULL};
    remote_server_start(&server);
    setenv("MOVE_KEY", server.key, 1);
    snprintf(home, sizeof home, "%s/home", temp.path);
    snprintf(url, sizeof url, "url=http://127.0.0.1:%u", server.port);
    fill(home, ENTRIES);
    pid_t child = start(home, words);
    os_sleep_ms(400);
    remote_server_kill(&server);
    remote_server_again(&server);
    int code = end(child);
    assert_true(code == 0 || code == 6 || code == 7);
    move_whole(home, words);
    struct ethos_store *files = open_files(home);
    assert_int_equal(
        remote_open_at(&log_default_host, server.port, server.key, 20000, &there, &error),
        ETHOS_OK);
    expect_same(files, there);
    there->ops->close(there);
    files->ops->close(files);
    remote_server_stop(&server);
}

/* ---- conversations --------------------------------------------------------------------------- */

#define TALK "11111111-1111-4111-8111-111111111111"

static struct ethos_sessions *open_talks(const struct ethos_sessions_ops *ops, const char *root,
                                         const char *url)
{
    const struct ethos_setting settings[] = {{"url", url}};
    const struct ethos_setup setup = {.host = &log_default_host,
                                      .root = root,
                                      .settings = settings,
                                      .setting_count = url ? 1 : 0,
                                      .deadline_ms = 5000};
    struct ethos_sessions *talks = NULL;
    struct ethos_error error = {0};
    if (ops->open(&setup, &talks, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    return talks;
}

static void say(struct ethos_sessions *talks, const char *id, const char *role, const char *text,
                const char *calls, const char *call)
{
    const struct ethos_message message = {.id = id,
                                          .role = role,
                                          .content = view_str(text),
                                          .tool_calls = calls,
                                          .tool_call_id = call,
                                          .tool_name = call ? "look" : NULL,
                                          .trace_id = "trace",
                                          .content_blocks = "[{\"type\":\"text\"}]",
                                          .timestamp = "2026-01-02T03:04:06.000Z",
                                          .usage = {.input_tokens = 3, .cost_usd = 0.125},
                                          .has_usage = strcmp(role, "assistant") == 0};
    struct ethos_error error = {0};
    if (talks->ops->append(talks, TALK, &message, 1, ETHOS_APPEND_KEEP_TIME, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
}

/* A conversation with everything, a fork of it, one without words, two keys. */
static void fill_talks(struct ethos_sessions *talks)
{
    const struct ethos_session whole = {.id = TALK,
                                        .key = "cli:\xc3\xa4",
                                        .platform = "cli",
                                        .model = "m",
                                        .provider = "p",
                                        .personality = "q",
                                        .working_dir = "/x y",
                                        .title = "About \"tea\"\n",
                                        .metadata = "{\"a\":1}",
                                        .usage = {30, 20, 10, 5, 0.1, 4, 1},
                                        .turns = 7,
                                        .last_compaction_turn = 2,
                                        .pinned = 1,
                                        .created_at = "2026-01-02T03:04:05.006Z",
                                        .updated_at = "2026-02-02T03:04:05.006Z"};
    const struct ethos_session bare = {.key = "bare", .platform = "web"};
    const struct ethos_key keys[] = {{.prefix = "ek_1",
                                      .hash = "00aa",
                                      .name = "bot",
                                      .scopes = "memory:read",
                                      .origins = "https://a,https://b",
                                      .agent = 1,
                                      .last_used_at = "2026-01-05T03:04:05.006Z",
                                      .created_at = "2026-01-02T03:04:05.006Z"},
                                     {.prefix = "ek_2",
                                      .hash = "00bb",
                                      .name = "old",
                                      .scopes = "",
                                      .origins = "",
                                      .created_at = "2026-01-02T03:04:05.006Z",
                                      .revoked_at = "2026-01-03T03:04:05.006Z"}};
    struct ethos_error error = {0};
    char id[ETHOS_UUID_SIZE];
    uint64_t hidden;
    assert_int_equal(talks->ops->create(talks, &whole, id, &error), ETHOS_OK);
    say(talks, "m1", "user", "hello \xf0\x9f\x8d\xb5", NULL, NULL);
    say(talks, "m2", "assistant", "", "[{\"id\":\"c1\",\"name\":\"look\"}]", NULL);
    say(talks, "m3", "tool_result", "found", NULL, "c1");
    say(talks, "m4", "assistant", "good day", NULL, NULL);
    assert_int_equal(talks->ops->fork(talks, TALK, id, &error), ETHOS_OK);
    say(talks, "m5", "user", "taken back", NULL, NULL);
    assert_int_equal(talks->ops->undo(talks, TALK, 1, &hidden, &error), ETHOS_OK);
    assert_int_equal(talks->ops->create(talks, &bare, id, &error), ETHOS_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(talks->ops->key_add(talks, &keys[i], &error), ETHOS_OK);
}

static void move_talks(struct ethos_sessions *from, struct ethos_sessions *to, uint64_t sessions)
{
    const struct migrate how = {.host = &log_default_host};
    struct migrate_talk_count count;
    struct ethos_error error = {0};
    char digests[2][HASH_HEX_SIZE];
    if (migrate_sessions(&how, from, to, &count, digests, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    if (count.differ)
        fail_msg("%s", count.first);
    assert_int_equal(count.sessions, 3);
    assert_int_equal(count.moved_sessions, sessions);
    assert_string_equal(digests[0], digests[1]);
}

static int note_use(void *arg, const struct ethos_key *key)
{
    char *out = arg;
    snprintf(out + strlen(out), 128 - strlen(out), "%s %s %s|", key->prefix,
             key->last_used_at ? key->last_used_at : "-", key->revoked_at ? key->revoked_at : "-");
    return 0;
}

static void test_conversations_go_to_postgres_and_back(void **state)
{
    struct server server;
    char uses[128] = "", roots[2][128];
    struct ethos_error error = {0};
    (void)state;
    server_start(&server, "postgres");
    for (int i = 0; i < 2; i++) {
        snprintf(roots[i], sizeof roots[i], "%s/%d", temp.path, i);
        assert_int_equal(mkdir(roots[i], 0700), 0);
    }
    struct ethos_sessions *a = open_talks(&sessions_sqlite, roots[0], NULL),
                          *b = open_talks(pg_module()->sessions, roots[0], server.url),
                          *c = open_talks(&sessions_sqlite, roots[1], NULL);
    fill_talks(a);
    move_talks(a, b, 3);
    move_talks(a, b, 0);
    move_talks(b, c, 3);
    move_talks(a, c, 0);
    assert_int_equal(c->ops->keys(c, note_use, uses, &error), ETHOS_OK);
    assert_string_equal(uses, "ek_1 2026-01-05T03:04:05.006Z -|ek_2 - 2026-01-03T03:04:05.006Z|");
    a->ops->close(a);
    b->ops->close(b);
    c->ops->close(c);
    server_stop(&server);
}

#define ON(test, backend)                                                                          \
    {                                                                                              \
#test " (" backend ")", test, make_temp, remove_temp, (void *)(uintptr_t)backend           \
    }
#define ON_BOTH(test) ON(test, "redis"), ON(test, "postgres")

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_a_move_there_and_back_though_killed),
        ON_BOTH(test_a_move_there_and_back_though_the_server_falls),
        ON_BOTH(test_a_server_that_stood_still_is_waited_for),
        ON_BOTH(test_an_interrupted_move_says_how_it_goes_on),
        ON_BOTH(test_a_source_that_is_written_to_ends_equal_or_says_so),
        ON(test_a_move_into_another_server_though_it_falls, "remote"),
        ON(test_conversations_go_to_postgres_and_back, "postgres"),
    };
    return cmocka_run_group_tests(tests, find_program, NULL);
}

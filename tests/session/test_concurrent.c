/*
 * Several processes at one database: everything acknowledged is there, in order, whoever is killed; and
 * a reader of pages misses nobody. Larger with CHECK_LONG=1 in the environment.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/os.h"
#include "world.h"

static unsigned sized(unsigned usual, unsigned longer)
{
    return getenv("CHECK_LONG") ? longer : usual;
}

/* A child of ours does the work and tells by its exit code whether it could. */
typedef bool work_fn(struct world *w, unsigned number, int pipe);

static pid_t start(struct world *w, work_fn *work, unsigned number, int pipe)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    struct world own = {.temp = w->temp, .host = w->host};
    own.host.arg = &own;
    memcpy(own.id, w->id, sizeof own.id);
    world_open(&own);
    bool done = work(&own, number, pipe);
    if (!done)
        fprintf(stderr, "process %u: %s\n", number, own.error.text);
    _exit(done ? 0 : 1);
}

static void assert_ends_well(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- many writers ---------------------------------------------------------------------------- */

#define WRITERS 8

/* By turns into the session of all and into one of its own. */
static bool write_many(struct world *w, unsigned number, int pipe)
{
    char text[64], key[32], shared[ETHOS_UUID_SIZE];
    (void)pipe;
    memcpy(shared, w->id, sizeof shared);
    snprintf(key, sizeof key, "own:%u", number);
    if (do_create(w, key) != ETHOS_OK)
        return false;
    for (unsigned i = 0; i < sized(60, 2000); i++) {
        struct ethos_message message = {.role = "user", .content = {text, 0}};
        message.content.size = (size_t)snprintf(text, sizeof text, "%u %u", number, i);
        if (sessions_sqlite.append(w->sessions, i % 2 ? shared : w->id, &message, 1, 0,
                                   &w->error) != ETHOS_OK)
            return false;
    }
    return true;
}

struct order {
    unsigned next[WRITERS];
    unsigned total;
};

static int check_order(void *arg, const struct ethos_message *message)
{
    struct order *order = arg;
    unsigned writer, number;
    assert_int_equal(sscanf(message->content.data, "%u %u", &writer, &number), 2);
    assert_true(writer < WRITERS);
    assert_int_equal(number, order->next[writer]);
    order->next[writer] += 2;
    order->total++;
    return 0;
}

static void many_writers_lose_nothing_and_keep_their_order(void **state)
{
    struct world *w = *state;
    struct order order = {.total = 0};
    pid_t pids[WRITERS];
    char key[32];
    make_session(w, "shared");
    for (unsigned i = 0; i < WRITERS; i++)
        pids[i] = start(w, write_many, i, -1);
    for (unsigned i = 0; i < WRITERS; i++)
        assert_ends_well(pids[i]);
    for (unsigned i = 0; i < WRITERS; i++)
        order.next[i] = 1;
    assert_int_equal(
        sessions_sqlite.messages(w->sessions, w->id, 0, check_order, &order, &w->error), ETHOS_OK);
    for (unsigned i = 0; i < WRITERS; i++)
        order.next[i] = 0;
    for (unsigned i = 0; i < WRITERS; i++) {
        char sql[100];
        snprintf(key, sizeof key, "own:%u", i);
        snprintf(sql, sizeof sql, "SELECT id FROM sessions WHERE key='%s'", key);
        char *id = raw_query(w, sql);
        id[strcspn(id, "\n")] = 0;
        assert_int_equal(
            sessions_sqlite.messages(w->sessions, id, 0, check_order, &order, &w->error), ETHOS_OK);
        free(id);
    }
    assert_int_equal(order.total, WRITERS * sized(60, 2000));
    assert_sound(w);
}

/* ---- killed ---------------------------------------------------------------------------------- */

struct ack {
    char fork[ETHOS_UUID_SIZE]; /* "" for an append */
    unsigned count;             /* messages in the session when it was acknowledged */
};

static bool write_and_tell(struct world *w, unsigned number, int pipe)
{
    struct ack ack = {.count = number};
    for (;;) {
        char text[400];
        snprintf(text, sizeof text, "%u %0*d", ack.count, (int)(ack.count % 300), 0);
        if (do_append(w, "user", text) != ETHOS_OK)
            return false;
        ack.count++;
        ack.fork[0] = 0;
        if (ack.count % 5 == 0 &&
            sessions_sqlite.fork(w->sessions, w->id, ack.fork, &w->error) != ETHOS_OK)
            return false;
        if (write(pipe, &ack, sizeof ack) != sizeof ack)
            return false;
    }
}

static unsigned count_of(struct world *w, const char *id)
{
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM messages WHERE session_id='%s'", id);
    char *text = raw_query(w, sql);
    unsigned count = (unsigned)strtoul(text, NULL, 10);
    free(text);
    return count;
}

/* What the killed one acknowledged is there; perhaps one more that it could not tell any more. */
static unsigned check_acks(struct world *w, int pipe, unsigned before)
{
    struct ack ack = {.count = before}, next;
    while (read(pipe, &next, sizeof next) == sizeof next) {
        ack = next;
        if (ack.fork[0])
            assert_int_equal(count_of(w, ack.fork), ack.count);
    }
    unsigned there = count_of(w, w->id);
    assert_true(there == ack.count || there == ack.count + 1);
    return there;
}

static int check_number(void *arg, const struct ethos_message *message)
{
    unsigned *next = arg;
    assert_int_equal(strtoul(message->content.data, NULL, 10), (*next)++);
    return 0;
}

static void a_kill_takes_nothing_that_was_acknowledged(void **state)
{
    struct world *w = *state;
    unsigned count = 0, number = 0;
    make_session(w, "k");
    for (unsigned i = 0; i < sized(12, 300); i++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        pid_t pid = start(w, write_and_tell, count, pipes[1]);
        close(pipes[1]);
        os_sleep_ms(20 + i * 7 % 60);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        count = check_acks(w, pipes[0], count);
        close(pipes[0]);
        assert_sound(w);
    }
    assert_true(count > 12);
    assert_int_equal(
        sessions_sqlite.messages(w->sessions, w->id, 0, check_number, &number, &w->error),
        ETHOS_OK);
    assert_int_equal(number, count);
    // A fork is there as a whole or not at all.
    assert_query(w,
                 "SELECT count(*) FROM sessions s WHERE parent_session_id IS NOT NULL AND"
                 " (SELECT count(*) FROM messages m WHERE m.session_id=s.id)%5<>0",
                 "0\n");
}

/* ---- pages while others write ---------------------------------------------------------------- */

static bool disturb(struct world *w, unsigned sessions, int pipe)
{
    struct ethos_session_patch patch = {.title = "touched"};
    (void)pipe;
    for (unsigned i = 0;; i++) {
        char key[48];
        snprintf(w->id, sizeof w->id, "s-%u", i * 7919 % sessions);
        if (do_append(w, "user", "more") != ETHOS_OK ||
            sessions_sqlite.update(w->sessions, w->id, &patch, &w->error) != ETHOS_OK)
            return false;
        snprintf(key, sizeof key, "new:%u", i);
        if (i % 4 == 0 && do_create(w, key) != ETHOS_OK)
            return false;
    }
}

static void make_many(struct world *w, unsigned count)
{
    char sql[600];
    make_session(w, "first");
    snprintf(sql, sizeof sql,
             "BEGIN; WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n LIMIT %u)"
             " INSERT INTO sessions(id,key,platform,model,provider,created_at,updated_at,pinned)"
             " SELECT 's-'||i,'k'||i,'cli','','','2026-01-01T00:00:00.000Z',"
             " strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ','2026-01-02',(i/3)||' seconds'),i%%97=0 FROM n;"
             " INSERT INTO messages(id,session_id,role,content,timestamp)"
             " SELECT 'm'||id,id,'user','hello',updated_at FROM sessions WHERE id LIKE 's-%%';"
             " COMMIT",
             count);
    raw_run(w, sql);
}

struct seen {
    unsigned char *times;
    unsigned count, pages;
};

static int see(void *arg, const struct ethos_session *session)
{
    struct seen *seen = arg;
    unsigned number;
    if (sscanf(session->id, "s-%u", &number) == 1 && number < seen->count)
        seen->times[number]++;
    return 0;
}

static void pages_show_everybody_once_while_others_write(void **state)
{
    struct world *w = *state;
    struct seen seen = {.count = sized(1500, 10000)};
    char cursor[ETHOS_CURSOR_SIZE] = "";
    seen.times = calloc(seen.count, 1);
    assert_non_null(seen.times);
    make_many(w, seen.count);
    pid_t pid = start(w, disturb, seen.count, -1);
    os_sleep_ms(50); // some are changed already when the first page is read
    do {
        struct ethos_session_query query = {.limit = 50, .cursor = cursor};
        char next[ETHOS_CURSOR_SIZE];
        assert_int_equal(sessions_sqlite.list(w->sessions, &query, see, &seen, next, &w->error),
                         ETHOS_OK);
        memcpy(cursor, next, sizeof cursor);
        seen.pages++;
        os_sleep_ms(5);
    } while (cursor[0]);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); // it was writing all the time
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (unsigned i = 0; i < seen.count; i++) {
        if (seen.times[i] != 1)
            fail_msg("session %u was shown %u times", i, seen.times[i]);
    }
    assert_true(seen.pages >= seen.count / 50);
    char *touched = raw_query(w, "SELECT count(*)>20 FROM sessions WHERE title='touched'");
    assert_string_equal(touched, "1\n");
    free(touched);
    free(seen.times);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_writers_lose_nothing_and_keep_their_order),
        TEST(a_kill_takes_nothing_that_was_acknowledged),
        TEST(pages_show_everybody_once_while_others_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

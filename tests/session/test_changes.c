/*
 * Following the database: what others do is told once, by what is new, whatever happens to rows.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../support/alloc.h"

#include "base/system/os.h"
#include "subjects.h"

/* What was told, a line each: "created KEY", "message ROLE", "lost". */
struct heard {
    char text[65536];
    unsigned count;
};

/* A second store, which follows what the world's writes. */
struct follower {
    struct ethos_sessions *sessions;
    struct heard heard;
    unsigned wait_ms;
};

static void note(void *arg, const struct ethos_followed *followed)
{
    struct heard *heard = arg;
    size_t used = strlen(heard->text);
    bool message = strcmp(followed->what, "message") == 0;
    snprintf(heard->text + used, sizeof heard->text - used, "%s %.4s\n", followed->what,
             message        ? followed->role
             : followed->id ? followed->id
                            : "");
    if (strcmp(followed->what, "created") == 0 || strcmp(followed->what, "updated") == 0)
        assert_non_null(followed->updated_at);
    heard->count++;
}

/* What a store says when nothing is left: a file is watched, a server has to be asked. */
static unsigned quiet_ms(const struct world *w)
{
    return w->subject ? 500 : 0;
}

static void look(struct world *w, struct follower *f)
{
    int code = w->ops->follow(f->sessions, note, &f->heard, &f->wait_ms, &w->error);
    if (code != ETHOS_OK)
        fail_msg("%s", w->error.text);
}

static void follow(struct world *w, struct follower *f)
{
    world_open_another(w, &f->sessions);
    f->heard = (struct heard){0};
    look(w, f);
    assert_string_equal(f->heard.text, "");
    assert_int_equal(f->wait_ms, quiet_ms(w));
}

/* Looks until everything is told. */
static void listen(struct world *w, struct follower *f)
{
    f->heard = (struct heard){0};
    for (look(w, f); f->wait_ms != quiet_ms(w); look(w, f))
        os_sleep_ms(f->wait_ms);
}

static void assert_heard(struct world *w, struct follower *f, const char *expected)
{
    listen(w, f);
    assert_string_equal(f->heard.text, expected);
    listen(w, f); // once
    assert_string_equal(f->heard.text, "");
}

static void create_as(struct world *w, const char *id)
{
    const struct ethos_session session = {.id = id, .key = id, .platform = "cli"};
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_OK);
}

static void what_is_there_is_not_told(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    say(w, "user", "one");
    follow(w, &f);
    assert_heard(w, &f, "");
    w->ops->close(f.sessions);
}

static void a_database_that_appears_is_told_from_its_beginning(void **state)
{
    struct world *w = *state;
    struct follower f;
    follow(w, &f);
    create_as(w, "aaaa");
    say(w, "user", "one");
    assert_heard(w, &f, "message user\ncreated aaaa\n");
    w->ops->close(f.sessions);
}

static void what_is_appended_is_told_in_order_and_the_session_once(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    follow(w, &f);
    w->now = 4102444800000;
    say(w, "user", "one");
    say(w, "assistant", "two");
    assert_heard(w, &f, "message user\nmessage assi\nupdated aaaa\n");
    w->ops->close(f.sessions);
}

static void a_title_a_pin_and_a_deletion_are_told(void **state)
{
    struct world *w = *state;
    struct follower f;
    const int pinned = 1;
    const struct ethos_session_patch title = {.title = "new"}, pin = {.pinned = &pinned};
    create_as(w, "aaaa");
    create_as(w, "bbbb");
    create_as(w, "cccc");
    follow(w, &f);
    assert_int_equal(w->ops->update(w->sessions, "aaaa", &title, &w->error), ETHOS_OK);
    assert_heard(w, &f, "updated aaaa\n");
    assert_int_equal(w->ops->update(w->sessions, "bbbb", &pin, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->remove(w->sessions, "cccc", &w->error), ETHOS_OK);
    assert_heard(w, &f, "updated bbbb\ndeleted cccc\n");
    w->ops->close(f.sessions);
}

static void rows_that_were_given_free_hide_no_message(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    say(w, "user", "one");
    create_as(w, "bbbb");
    say(w, "user", "two");
    follow(w, &f);
    assert_int_equal(w->ops->remove(w->sessions, "bbbb", &w->error), ETHOS_OK);
    snprintf(w->id, sizeof w->id, "aaaa");
    say(w, "assistant", "three"); // in the row of "two"
    listen(w, &f);
    assert_non_null(strstr(f.heard.text, "message assi\n"));
    assert_null(strstr(f.heard.text, "message user\n"));
    assert_non_null(strstr(f.heard.text, "deleted bbbb\n"));
    assert_null(strstr(f.heard.text, "lost"));
    w->ops->close(f.sessions);
}

static void rows_that_were_numbered_anew_are_not_told_again(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    for (int i = 0; i < 5; i++)
        say(w, "user", "x");
    create_as(w, "bbbb");
    say(w, "user", "y");
    follow(w, &f);
    raw_run(w, "DELETE FROM messages WHERE session_id='aaaa' AND rowid<4");
    assert_int_equal(w->ops->vacuum(w->sessions, &w->error), ETHOS_OK);
    say(w, "assistant", "z");
    listen(w, &f);
    assert_null(strstr(f.heard.text, "message user"));
    assert_non_null(strstr(f.heard.text, "message assi\n"));
    assert_null(strstr(f.heard.text, "created"));
    w->ops->close(f.sessions);
}

static void deleting_what_was_said_last_loses_nothing(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    say(w, "user", "x");
    create_as(w, "bbbb");
    follow(w, &f);
    for (int i = 0; i < 70; i++)
        say(w, "user", "y");
    listen(w, &f);
    assert_int_equal(w->ops->remove(w->sessions, "bbbb", &w->error), ETHOS_OK);
    assert_heard(w, &f, "deleted bbbb\n");
    snprintf(w->id, sizeof w->id, "aaaa");
    say(w, "assistant", "z");
    listen(w, &f);
    assert_non_null(strstr(f.heard.text, "message assi\n"));
    w->ops->close(f.sessions);
}

static void when_all_that_was_known_is_gone_it_says_so(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    say(w, "user", "x");
    follow(w, &f);
    assert_int_equal(w->ops->remove(w->sessions, "aaaa", &w->error), ETHOS_OK);
    create_as(w, "bbbb");
    say(w, "user", "y");
    listen(w, &f);
    assert_non_null(strstr(f.heard.text, "lost \n"));
    assert_non_null(strstr(f.heard.text, "created bbbb\n"));
    assert_non_null(strstr(f.heard.text, "deleted aaaa\n"));
    w->ops->close(f.sessions);
}

static void another_database_in_its_place_is_said(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    follow(w, &f);
    world_close(w);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"sessions.db", "sessions.db-wal", "sessions.db-shm"};
        unlinkat(w->temp.fd, names[i], 0);
    }
    world_open(w);
    create_as(w, "bbbb");
    listen(w, &f);
    assert_non_null(strstr(f.heard.text, "lost \n"));
    create_as(w, "cccc");
    assert_heard(w, &f, "created cccc\n");
    w->ops->close(f.sessions);
}

/* More sessions than are remembered: the old ones are neither news nor deleted. */
static void of_many_sessions_the_newest_are_compared(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    raw_run(w, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<17000)"
               " INSERT INTO sessions(id,key,platform,model,provider,created_at,updated_at)"
               " SELECT 'many-'||i,'many-'||i,'cli','','','2026','2026' FROM n");
    follow(w, &f);
    create_as(w, "bbbb");
    assert_heard(w, &f, "created bbbb\n");
    raw_run(w, "DELETE FROM sessions WHERE id IN ('many-17000','many-16999','many-16998')");
    listen(w, &f);
    assert_int_equal(f.heard.count, 3);
    assert_non_null(strstr(f.heard.text, "deleted many"));
    snprintf(w->id, sizeof w->id, "aaaa");
    w->now = 4102444800000;
    say(w, "user", "an old one speaks");
    assert_heard(w, &f, "message user\nupdated aaaa\n");
    w->ops->close(f.sessions);
}

static void quiet_costs_no_statement_but_one(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    follow(w, &f);
    for (int i = 0; i < 100; i++)
        look(w, &f);
    assert_int_equal(f.heard.count, 0);
    assert_int_equal(f.wait_ms, quiet_ms(w));
    w->ops->close(f.sessions);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* ---- failures ---------------------------------------------------------------------------------- */

struct counted {
    unsigned created, messages, others;
};

static void count(void *arg, const struct ethos_followed *followed)
{
    struct counted *counted = arg;
    bool created = strcmp(followed->what, "created") == 0;
    bool message = strcmp(followed->what, "message") == 0;
    counted->created += created;
    counted->messages += message;
    counted->others += !created && !message && strcmp(followed->what, "updated") != 0;
}

/* What could not be told for want of memory is told later, once. */
static void without_memory_nothing_is_lost(void **state)
{
    struct world *w = *state;
    struct follower f;
    struct counted counted = {0};
    unsigned made = 0;
    int code = ETHOS_NOMEM;
    create_as(w, "aaaa");
    follow(w, &f);
    for (unsigned long n = 1; code != ETHOS_OK; n++) {
        char id[16];
        snprintf(id, sizeof id, "s%04u", made++);
        create_as(w, id);
        say(w, "user", "one");
        alloc_fail_at(n);
        code = sessions_sqlite.follow(f.sessions, count, &counted, &f.wait_ms, &w->error);
        alloc_fail_at(0);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_true(made > 1);
    do {
        os_sleep_ms(f.wait_ms);
        assert_int_equal(sessions_sqlite.follow(f.sessions, count, &counted, &f.wait_ms, &w->error),
                         ETHOS_OK);
    } while (f.wait_ms);
    assert_int_equal(counted.created, made);
    assert_int_equal(counted.messages, made);
    assert_int_equal(counted.others, 0);
    sessions_sqlite.close(f.sessions);
}

/* No descriptor for the database: the next look has one. */
static void without_descriptors_nothing_is_lost(void **state)
{
    struct world *w = *state;
    struct follower f;
    struct rlimit before, none;
    follow(w, &f); // there is no database yet
    create_as(w, "aaaa");
    say(w, "user", "one");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){3, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int code = sessions_sqlite.follow(f.sessions, note, &f.heard, &f.wait_ms, &w->error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(code, ETHOS_BUSY); // somebody may close one
    assert_string_equal(f.heard.text, "");
    assert_heard(w, &f, "message user\ncreated aaaa\n");
    sessions_sqlite.close(f.sessions);
}

/* A database that is none: it is said each time, and when it is one again nothing is told twice. */
static void a_database_that_cannot_be_read_is_said(void **state)
{
    struct world *w = *state;
    struct follower f;
    create_as(w, "aaaa");
    follow(w, &f);
    sessions_sqlite.close(w->sessions);
    assert_int_equal(renameat(w->temp.fd, "sessions.db", w->temp.fd, "aside.db"), 0);
    temp_write(&w->temp, "sessions.db",
               "this is no database, and longer than its header would be; "
               "sixteen bytes are looked at, and a hundred are read.....");
    for (int i = 0; i < 2; i++)
        assert_int_not_equal(
            sessions_sqlite.follow(f.sessions, note, &f.heard, &f.wait_ms, &w->error), ETHOS_OK);
    assert_int_equal(renameat(w->temp.fd, "aside.db", w->temp.fd, "sessions.db"), 0);
    f.heard = (struct heard){0};
    listen(w, &f);
    assert_null(strstr(f.heard.text, "created"));
    const struct ethos_setup setup = {.host = &w->host, .root = w->temp.path, .deadline_ms = 60000};
    assert_int_equal(sessions_sqlite.open(&setup, &w->sessions, &w->error), ETHOS_OK);
    create_as(w, "bbbb");
    assert_heard(w, &f, "created bbbb\n");
    sessions_sqlite.close(f.sessions);
}

int main(void)
{
    static const struct CMUnitTest all[] = {
        TEST(what_is_there_is_not_told),
        TEST(a_database_that_appears_is_told_from_its_beginning),
        TEST(what_is_appended_is_told_in_order_and_the_session_once),
        TEST(a_title_a_pin_and_a_deletion_are_told),
        TEST(rows_that_were_given_free_hide_no_message),
        TEST(deleting_what_was_said_last_loses_nothing),
        TEST(quiet_costs_no_statement_but_one),
    };
    static const struct CMUnitTest sqlite[] = {
        TEST(rows_that_were_numbered_anew_are_not_told_again),
        TEST(when_all_that_was_known_is_gone_it_says_so),
        TEST(another_database_in_its_place_is_said),
        TEST(of_many_sessions_the_newest_are_compared),
        TEST(without_memory_nothing_is_lost),
        TEST(without_descriptors_nothing_is_lost),
        TEST(a_database_that_cannot_be_read_is_said),
    };
    return subjects_run(all, COUNT_OF(all), sqlite, COUNT_OF(sqlite));
}

/*
 * What an index is told of messages that it has not seen.
 */
#include "world.h"

#include "base/str.h"

struct told {
    struct str text; /* "<key>:<count> " for each session */
    struct ethos_seen seen;
    int all;
};

static int note_key(void *arg, const struct ethos_session *session)
{
    return str_printf(arg, "%s", session->key);
}

struct unseen {
    char id[ETHOS_UUID_SIZE];
    uint64_t count;
} list[16];
static size_t count;

static int note_unseen(void *arg, const char *session, uint64_t messages)
{
    (void)arg;
    assert_true(count < 16);
    snprintf(list[count].id, sizeof list[count].id, "%s", session);
    list[count++].count = messages;
    return ETHOS_OK;
}

/* What is told since the last time, after "all " where it is all there is. */
static void assert_told(struct world *w, struct told *told, const char *expected)
{
    str_clear(&told->text);
    count = 0;
    int code = w->ops->unseen(w->sessions, &told->seen, &told->all, note_unseen, NULL, &w->error);
    if (code != ETHOS_OK)
        fail_msg("%s", w->error.text);
    str_adds(&told->text, told->all ? "all " : "");
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(w->ops->get(w->sessions, list[i].id, note_key, &told->text, &w->error), 0);
        str_printf(&told->text, ":%d ", (int)list[i].count);
    }
    assert_string_equal(told->text.size ? told->text.data : "", expected);
}

static struct told begin(void)
{
    struct told told = {.all = 0};
    str_init(&told.text, 4096);
    return told;
}

static void test_what_is_appended_is_told_once(void **state)
{
    struct world *w = *state;
    char first[ETHOS_UUID_SIZE];
    struct told told = begin();
    assert_told(w, &told, "");
    make_session(w, "cli:a");
    memcpy(first, w->id, sizeof first);
    assert_told(w, &told, "all cli:a:0 ");
    say(w, "user", "one");
    say(w, "assistant", "two");
    assert_told(w, &told, "all cli:a:0 "); // there was nothing to have been seen
    assert_told(w, &told, "");
    say(w, "user", "three");
    make_session(w, "cli:b");
    say(w, "user", "four");
    say(w, "assistant", "five");
    assert_told(w, &told, "cli:a:1 cli:b:2 ");
    assert_told(w, &told, "");
    world_reopen(w);
    assert_told(w, &told, "");
    str_release(&told.text);
}

static void test_what_is_gone_or_edited_is_noticed(void **state)
{
    struct world *w = *state;
    struct told told = begin();
    make_session(w, "cli:a");
    say(w, "user", "one");
    say(w, "assistant", "two");
    say(w, "user", "three");
    assert_told(w, &told, "all cli:a:0 ");
    raw_run(w, "UPDATE messages SET content='another text' WHERE content='one'");
    assert_told(w, &told, "all cli:a:0 ");
    raw_run(w, "DELETE FROM messages WHERE content='two'");
    assert_told(w, &told, "all cli:a:0 ");
    raw_run(w, "DELETE FROM messages WHERE content='three'");
    say(w, "user", "four"); // with the number of the one before
    assert_told(w, &told, "all cli:a:0 ");
    raw_run(w, "DELETE FROM messages WHERE content='four'");
    say(w, "user", "four"); // and its text
    assert_told(w, &told, "all cli:a:0 ");
    assert_told(w, &told, "");
    str_release(&told.text);
}

static void test_hiding_is_not_told(void **state)
{
    struct world *w = *state;
    uint64_t hidden;
    struct told told = begin();
    make_session(w, "cli:a");
    say(w, "user", "one");
    say(w, "assistant", "two");
    assert_told(w, &told, "all cli:a:0 ");
    assert_int_equal(w->ops->undo(w->sessions, w->id, 1, &hidden, &w->error), ETHOS_OK);
    assert_told(w, &told, "");
    str_release(&told.text);
}

static void test_a_file_without_counters_is_compared_every_time(void **state)
{
    struct world *w = *state;
    struct told told = begin();
    make_session(w, "cli:a");
    say(w, "user", "one");
    raw_run(w, "DROP TRIGGER messages_ai; DROP TRIGGER messages_ad; DROP TRIGGER messages_au;"
               "DROP TABLE messages_fts");
    world_reopen(w);
    assert_told(w, &told, "all cli:a:0 ");
    assert_told(w, &told, "all cli:a:0 ");
    str_release(&told.text);
}

/* ---- one ------------------------------------------------------------------------------------- */

static int note_number(void *arg, const struct ethos_message *message)
{
    int64_t *numbers = arg;
    while (*numbers)
        numbers++;
    *numbers = message->number;
    return ETHOS_OK;
}

static int note_text(void *arg, const struct ethos_message *message)
{
    return str_printf(arg, "%s %.*s", message->role, VIEW_ARG(message->content));
}

static void test_a_message_by_its_number(void **state)
{
    struct world *w = *state;
    int64_t numbers[4] = {0};
    uint64_t hidden;
    struct told told = begin();
    make_session(w, "cli:a");
    say(w, "user", "one");
    say(w, "assistant", "two");
    assert_int_equal(w->ops->messages(w->sessions, w->id, 0, note_number, numbers, &w->error), 0);
    assert_true(numbers[0] > 0 && numbers[1] > 0 && numbers[2] == 0);
    assert_int_equal(w->ops->message(w->sessions, numbers[1], note_text, &told.text, &w->error), 0);
    assert_string_equal(told.text.data, "assistant two");
    assert_int_equal(w->ops->undo(w->sessions, w->id, 1, &hidden, &w->error), ETHOS_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(w->ops->message(w->sessions, numbers[i], note_text, &told.text, &w->error),
                         ETHOS_NOTFOUND);
    str_release(&told.text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    static const struct CMUnitTest all[] = {
        TEST(test_what_is_appended_is_told_once),
        TEST(test_what_is_gone_or_edited_is_noticed),
        TEST(test_hiding_is_not_told),
        TEST(test_a_file_without_counters_is_compared_every_time),
        TEST(test_a_message_by_its_number),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}

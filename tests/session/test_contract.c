/*
 * What the contract of a session store says, one test per rule.
 */
#include <sys/stat.h>

#include "base/clock.h"
#include "hits.h"
#include "subjects.h"

#define MORNING 1794729600000 /* ms */

/* ---- sessions -------------------------------------------------------------------------------- */

static int check_whole(void *arg, const struct ethos_session *s)
{
    struct world *w = arg;
    assert_string_equal(s->id, w->id);
    assert_string_equal(s->key, "cli:app");
    assert_string_equal(s->platform, "cli");
    assert_string_equal(s->model, "m");
    assert_string_equal(s->provider, "p");
    assert_string_equal(s->personality, "pers");
    assert_string_equal(s->working_dir, "/app");
    assert_string_equal(s->title, "Täst");
    assert_string_equal(s->metadata, "{}");
    assert_null(s->parent);
    assert_int_equal(s->usage.input_tokens, 1);
    assert_int_equal(s->usage.output_tokens, 2);
    assert_int_equal(s->usage.cache_read_tokens, 3);
    assert_int_equal(s->usage.cache_creation_tokens, 4);
    assert_true(s->usage.cost_usd == 0.5);
    assert_int_equal(s->usage.api_calls, 6);
    assert_int_equal(s->usage.compactions, 7);
    assert_int_equal(s->turns, 8);
    assert_int_equal(s->last_compaction_turn, 9);
    assert_int_equal(s->pinned, 1);
    assert_string_equal(s->created_at, "2026-01-02T03:04:05.000Z");
    assert_string_equal(s->updated_at, "2026-01-02T03:04:05.678Z");
    return 42;
}

static void a_session_comes_back_as_it_was_made(void **state)
{
    struct world *w = *state;
    struct ethos_session session = {
        .key = "cli:app",
        .platform = "cli",
        .model = "m",
        .provider = "p",
        .personality = "pers",
        .working_dir = "/app",
        .title = "Täst",
        .metadata = "{}",
        .usage = {1, 2, 3, 4, 0.5, 6, 7},
        .turns = 8,
        .last_compaction_turn = 9,
        .pinned = 5,
        .created_at = "2026-01-02T03:04:05Z",
        .updated_at = "2026-01-02T03:04:05.678Z",
    };
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_OK);
    assert_int_equal(strlen(w->id), 36);
    assert_int_equal(w->id[14], '4');
    assert_int_equal(w->ops->get(w->sessions, w->id, check_whole, w, &w->error), 42);
    assert_int_equal(w->ops->get_by_key(w->sessions, "cli:app", check_whole, w, &w->error), 42);
    world_reopen(w);
    assert_int_equal(w->ops->get(w->sessions, w->id, check_whole, w, &w->error), 42);
    assert_int_equal(w->ops->get_by_key(w->sessions, "\xff", check_whole, w, &w->error),
                     ETHOS_NOTFOUND);
}

static void the_database_is_private_and_made_by_the_first_write(void **state)
{
    struct world *w = *state;
    struct stat st;
    char path[128], cursor[ETHOS_CURSOR_SIZE];
    struct ethos_session_query query = {0};
    uint64_t count = 9;
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    assert_int_equal(w->ops->list(w->sessions, &query, ignore_session, NULL, cursor, &w->error),
                     ETHOS_OK);
    assert_string_equal(cursor, "");
    assert_int_equal(w->ops->remove(w->sessions, "x", &w->error), ETHOS_NOTFOUND);
    assert_int_equal(do_append(w, "user", "x"), ETHOS_NOTFOUND);
    assert_int_equal(w->ops->prune(w->sessions, "2030-01-01", 0, &count, &w->error), ETHOS_OK);
    assert_int_equal(count, 0);
    assert_int_equal(w->ops->vacuum(w->sessions, &w->error), ETHOS_OK);
    assert_int_equal(stat(path, &st), -1);
    make_session(w, "k");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_query(w, "PRAGMA journal_mode", "wal\n");
}

static void a_key_is_taken_once(void **state)
{
    struct world *w = *state;
    make_session(w, "k");
    assert_int_equal(do_create(w, "k"), ETHOS_EXISTS);
    assert_non_null(strstr(w->error.text, "k"));
    assert_query(w, "SELECT count(*) FROM sessions", "1\n");
}

static void what_is_not_text_or_lacks_a_key_is_refused(void **state)
{
    struct world *w = *state;
    struct ethos_session session = {.platform = "cli"};
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_INVALID);
    assert_int_equal(do_create(w, ""), ETHOS_INVALID);
    assert_int_equal(do_create(w, "\xff"), ETHOS_INVALID);
    session.key = "k";
    session.id = "has a blank";
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_INVALID);
    session.id = "0123456789012345678901234567890123456"; // 37
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_INVALID);
    session.id = NULL;
    session.created_at = "yesterday-ish";
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_INVALID);
}

static void a_patch_changes_only_what_it_names(void **state)
{
    struct world *w = *state;
    int yes = 1;
    struct ethos_usage usage = {10, 20, 30, 40, 0.25, 2, 1};
    struct ethos_session_patch patch = {.title = "new", .pinned = &yes, .usage = &usage};
    w->now = MORNING;
    make_session(w, "k");
    say(w, "user", "1");
    w->now = MORNING + 5000;
    assert_int_equal(w->ops->update(w->sessions, w->id, &patch, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->update(w->sessions, w->id, &patch, &w->error), ETHOS_OK);
    assert_query(w,
                 "SELECT title,pinned,input_tokens,output_tokens,cache_read_tokens,"
                 "cache_creation_tokens,estimated_cost_usd,api_call_count,compaction_count,"
                 "turn_count,last_compaction_turn,platform,"
                 "CASE WHEN updated_at=created_at THEN 1 END FROM sessions",
                 "new|1|20|40|60|80|0.5|4|2|1|1|cli|1\n");
    patch = (struct ethos_session_patch){.title = "", .model = "m2"};
    assert_int_equal(w->ops->update(w->sessions, w->id, &patch, &w->error), ETHOS_OK);
    assert_query(w, "SELECT title,model,pinned,input_tokens FROM sessions", "NULL|m2|1|20\n");
    assert_int_equal(w->ops->update(w->sessions, "no", &patch, &w->error), ETHOS_NOTFOUND);
}

static void removing_takes_messages_and_index_along(void **state)
{
    struct world *w = *state;
    make_session(w, "other");
    say(w, "user", "stays");
    make_session(w, "k");
    say(w, "user", "goes away");
    assert_int_equal(count_hits(w, "goes"), 1);
    assert_int_equal(w->ops->remove(w->sessions, w->id, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->remove(w->sessions, w->id, &w->error), ETHOS_NOTFOUND);
    assert_query(w, "SELECT count(*) FROM messages", "1\n");
    assert_int_equal(count_hits(w, "stays"), 1);
    assert_int_equal(count_hits(w, "goes"), 0);
    assert_sound(w);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void messages_come_back_oldest_first_and_the_last_are_the_newest(void **state)
{
    struct world *w = *state;
    w->now = MORNING; // all in one millisecond: the order is that of appending
    make_session(w, "k");
    say(w, "user", "a");
    say(w, "assistant", "b");
    say(w, "user", "c");
    assert_said(w, w->id, 0, "a|b|c|");
    assert_said(w, w->id, 2, "b|c|");
    assert_said(w, w->id, 9, "a|b|c|");
    make_session(w, "empty");
    assert_said(w, w->id, 0, "");
    assert_int_equal(w->ops->messages(w->sessions, "no", 0, ignore_message, NULL, &w->error),
                     ETHOS_NOTFOUND);
}

static int check_message(void *arg, const struct ethos_message *m)
{
    (void)arg;
    assert_string_equal(m->id, "m-1");
    assert_string_equal(m->role, "tool_result");
    assert_int_equal(m->content.size, 3);
    assert_memory_equal(m->content.data, "a\0b", 3);
    assert_string_equal(m->tool_call_id, "c1");
    assert_string_equal(m->tool_name, "t");
    assert_string_equal(m->tool_calls, "[]");
    assert_string_equal(m->content_blocks, "[1]");
    assert_string_equal(m->trace_id, "tr");
    assert_true(m->has_usage);
    assert_int_equal(m->usage.output_tokens, 2);
    assert_string_equal(m->timestamp, "2026-05-05T00:00:00.000Z");
    return 101; // a number that SQLite uses, too
}

static void a_message_keeps_every_member(void **state)
{
    struct world *w = *state;
    struct ethos_message message = {.id = "m-1",
                                    .role = "tool_result",
                                    .content = {"a\0b", 3},
                                    .tool_call_id = "c1",
                                    .tool_name = "t",
                                    .tool_calls = "[]",
                                    .content_blocks = "[1]",
                                    .trace_id = "tr",
                                    .usage = {1, 2, 3, 4, 5, 0, 0},
                                    .has_usage = 1,
                                    .timestamp = "2026-05-05"};
    make_session(w, "k");
    assert_int_equal(w->ops->append(w->sessions, w->id, &message, 1, 0, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->messages(w->sessions, w->id, 0, check_message, NULL, &w->error), 101);
    assert_int_equal(w->ops->append(w->sessions, w->id, &message, 1, 0, &w->error), ETHOS_EXISTS);
    assert_non_null(strstr(w->error.text, "m-1"));
}

static void an_append_is_all_or_nothing(void **state)
{
    struct world *w = *state;
    struct ethos_message messages[] = {{.id = "x", .role = "user", .content = VIEW("1")},
                                       {.id = "x", .role = "assistant", .content = VIEW("2")}};
    make_session(w, "k");
    assert_int_equal(w->ops->append(w->sessions, w->id, messages, 2, 0, &w->error), ETHOS_EXISTS);
    assert_said(w, w->id, 0, "");
    messages[1].id = "y";
    messages[1].role = "narrator";
    assert_int_equal(w->ops->append(w->sessions, w->id, messages, 2, 0, &w->error), ETHOS_INVALID);
    messages[1].role = "assistant";
    messages[1].content = VIEW("\xC3(");
    assert_int_equal(w->ops->append(w->sessions, w->id, messages, 2, 0, &w->error), ETHOS_INVALID);
    assert_said(w, w->id, 0, "");
    assert_sound(w);
}

static void times_never_go_back_unless_kept(void **state)
{
    struct world *w = *state;
    w->now = MORNING;
    make_session(w, "k");
    say(w, "user", "a");
    w->now = MORNING - 3600000; // the clock was set back
    say(w, "assistant", "b");
    struct ethos_message early = {
        .role = "user", .content = VIEW("c"), .timestamp = "2001-01-01T00:00:00.000Z"};
    assert_int_equal(w->ops->append(w->sessions, w->id, &early, 1, 0, &w->error), ETHOS_OK);
    assert_query(w, "SELECT count(DISTINCT timestamp) FROM messages", "1\n");
    assert_said(w, w->id, 0, "a|b|c|");
    early.content = VIEW("first");
    assert_int_equal(
        w->ops->append(w->sessions, w->id, &early, 1, ETHOS_APPEND_KEEP_TIME, &w->error), ETHOS_OK);
    assert_said(w, w->id, 0, "first|a|b|c|");
    assert_query(w, "SELECT count(*) FROM sessions WHERE updated_at=created_at", "1\n");
    w->now = MORNING + 1;
    say(w, "assistant", "d");
    assert_query(w, "SELECT count(*) FROM sessions WHERE updated_at>created_at", "1\n");
}

static void a_checked_append_refuses_what_a_model_would(void **state)
{
    struct world *w = *state;
    struct ethos_message user = {.role = "user", .content = VIEW("q")};
    struct ethos_message answer[] = {
        {.role = "assistant",
         .content = VIEW(""),
         .tool_calls = "[{\"id\":\"c1\",\"name\":\"t\"}]"},
        {.role = "tool_result", .content = VIEW("r"), .tool_call_id = "c1", .tool_name = "t"},
        {.role = "assistant", .content = VIEW("done")}};
    const unsigned checked = ETHOS_APPEND_CHECKED;
    make_session(w, "k");
#define CHECKED(messages, count)                                                                   \
    w->ops->append(w->sessions, w->id, messages, count, checked, &w->error)
    assert_int_equal(CHECKED(&answer[1], 1), ETHOS_INVALID); // a result that nobody asked for
    assert_int_equal(CHECKED(&user, 1), ETHOS_OK);
    assert_int_equal(CHECKED(&user, 1), ETHOS_INVALID);
    assert_int_equal(CHECKED(&answer[0], 1), ETHOS_OK);
    world_reopen(w);                                    // the state is in the database, not in us
    assert_int_equal(CHECKED(&user, 1), ETHOS_INVALID); // a call without answer
    assert_int_equal(CHECKED(&answer[1], 2), ETHOS_OK);
    assert_int_equal(CHECKED(&answer[1], 1), ETHOS_INVALID);
    assert_int_equal(CHECKED(&user, 1), ETHOS_OK);
#undef CHECKED
    assert_said(w, w->id, 0, "q||r|done|q|");
}

static int call_again(void *arg, const struct ethos_message *message)
{
    struct world *w = arg;
    (void)message;
    return w->ops->messages(w->sessions, w->id, 0, ignore_message, NULL, &w->error);
}

static void a_callback_that_calls_the_store_is_told_so(void **state)
{
    struct world *w = *state;
    make_session(w, "k");
    say(w, "user", "a");
    assert_int_equal(w->ops->messages(w->sessions, w->id, 0, call_again, w, &w->error),
                     ETHOS_INTERNAL);
    assert_said(w, w->id, 0, "a|");
}

static void rewind_hides_a_message_and_all_after_it(void **state)
{
    struct world *w = *state;
    const char *same = "2026-01-01T00:00:00.000Z";
    const struct ethos_message messages[] = {
        {.id = "z", .role = "user", .content = VIEW("one"), .timestamp = same},
        {.id = "y", .role = "assistant", .content = VIEW("two"), .timestamp = same},
        {.id = "x", .role = "user", .content = VIEW("three"), .timestamp = same}};
    uint64_t count = 99;
    make_session(w, "k");
    assert_int_equal(w->ops->append(w->sessions, w->id, messages, 3, 0, &w->error), ETHOS_OK);
    say(w, "assistant", "four");
    assert_int_equal(w->ops->rewind(w->sessions, w->id, "y", NULL, 0, 0, &count, &w->error),
                     ETHOS_OK);
    assert_int_equal(count, 3); // in the order in which they came, at one time
    assert_said(w, w->id, 0, "one|");
    assert_query(w, "SELECT count(*) FROM messages WHERE deleted_at IS NOT NULL", "3\n");
    assert_int_equal(w->ops->rewind(w->sessions, w->id, "y", NULL, 0, 0, &count, &w->error),
                     ETHOS_NOTFOUND); // it is not shown any more
    assert_string_equal(w->error.text, "no such message in the session: y");
    assert_sound(w);
}

static void an_id_is_taken_also_when_its_message_is_hidden(void **state)
{
    struct world *w = *state;
    const struct ethos_message messages[] = {{.role = "user", .content = VIEW("one")},
                                             {.id = "x", .role = "user", .content = VIEW("two")}};
    uint64_t count;
    size_t at = 99;
    assert_int_equal(w->ops->taken(w->sessions, messages, 2, &at, &w->error), ETHOS_OK);
    assert_int_equal(at, 2); // there is no database yet
    make_session(w, "k");
    assert_int_equal(w->ops->taken(w->sessions, messages, 2, &at, &w->error), ETHOS_OK);
    assert_int_equal(at, 2);
    assert_int_equal(w->ops->append(w->sessions, w->id, messages, 2, 0, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->undo(w->sessions, w->id, 1, &count, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->taken(w->sessions, messages, 2, &at, &w->error), ETHOS_OK);
    assert_int_equal(at, 1);
}

static void rewind_knows_its_session(void **state)
{
    struct world *w = *state;
    const struct ethos_message message = {.id = "m", .role = "user", .content = VIEW("one")};
    char other[ETHOS_UUID_SIZE];
    uint64_t count;
    assert_int_equal(w->ops->rewind(w->sessions, "no", "m", NULL, 0, 0, &count, &w->error),
                     ETHOS_NOTFOUND);
    make_session(w, "other");
    memcpy(other, w->id, sizeof other);
    make_session(w, "k");
    assert_int_equal(w->ops->append(w->sessions, w->id, &message, 1, 0, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->rewind(w->sessions, other, "m", NULL, 0, 0, &count, &w->error),
                     ETHOS_NOTFOUND);
    assert_int_equal(w->ops->rewind(w->sessions, "no", "m", NULL, 0, 0, &count, &w->error),
                     ETHOS_NOTFOUND);
    assert_string_equal(w->error.text, "no such session: no");
    assert_said(w, w->id, 0, "one|");
}

/* ---- undo ------------------------------------------------------------------------------------ */

static void undo_hides_whole_turns(void **state)
{
    struct world *w = *state;
    uint64_t count = 0;
    w->now = MORNING;
    make_session(w, "k");
    say(w, "system", "s");
    say(w, "user", "1");
    say(w, "assistant", "1a");
    say(w, "user", "2");
    say(w, "assistant", "2a");
    say(w, "user_steer", "2b");
    say(w, "tool_result", "2c");
    say(w, "user", "3");
    assert_int_equal(w->ops->undo(w->sessions, w->id, 2, &count, &w->error), ETHOS_OK);
    assert_int_equal(count, 5);
    assert_said(w, w->id, 0, "s|1|1a|");
    assert_query(w, "SELECT count(*) FROM messages", "8\n");
    assert_query(w, "SELECT turn_count FROM sessions", "1\n");
    say(w, "user", "again");
    assert_query(w, "SELECT turn_count FROM sessions", "2\n");
    assert_said(w, w->id, 2, "1a|again|");
    assert_int_equal(w->ops->undo(w->sessions, w->id, 99, &count, &w->error), ETHOS_OK);
    assert_int_equal(count, 3);
    assert_said(w, w->id, 0, "s|");
    assert_int_equal(w->ops->undo(w->sessions, w->id, 1, &count, &w->error), ETHOS_OK);
    assert_int_equal(count, 0);
    assert_int_equal(w->ops->undo(w->sessions, "no", 1, &count, &w->error), ETHOS_NOTFOUND);
    assert_sound(w);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static int check_fork(void *arg, const struct ethos_session *s)
{
    struct world *w = arg;
    char key[64];
    snprintf(key, sizeof key, "cli:app:fork:%lld", (long long)w->now);
    assert_string_equal(s->key, key);
    assert_string_equal(s->parent, w->id);
    assert_string_equal(s->title, "T");
    assert_string_equal(s->working_dir, "/app");
    assert_int_equal(s->usage.input_tokens, 0);
    return 0;
}

static void a_fork_is_a_copy_with_new_ids(void **state)
{
    struct world *w = *state;
    char first[ETHOS_UUID_SIZE], second[ETHOS_UUID_SIZE];
    uint64_t count;
    struct ethos_session session = {.key = "cli:app",
                                    .platform = "cli",
                                    .title = "T",
                                    .working_dir = "/app",
                                    .usage.input_tokens = 5};
    w->now = MORNING;
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_OK);
    say(w, "user", "a");
    say(w, "assistant", "b");
    say(w, "user", "gone");
    assert_int_equal(w->ops->undo(w->sessions, w->id, 1, &count, &w->error), ETHOS_OK);
    w->now = MORNING + 60000;
    assert_int_equal(w->ops->fork(w->sessions, w->id, first, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->fork(w->sessions, w->id, second, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->get(w->sessions, first, check_fork, w, &w->error), 0);
    w->now++; // the same millisecond was taken
    assert_int_equal(w->ops->get(w->sessions, second, check_fork, w, &w->error), 0);
    assert_said(w, first, 0, "a|b|");
    assert_query(w,
                 "SELECT count(*),count(DISTINCT id),count(DISTINCT timestamp)"
                 " FROM messages WHERE deleted_at IS NULL",
                 "6|6|1\n");
    assert_int_equal(w->ops->fork(w->sessions, "no", first, &w->error), ETHOS_NOTFOUND);
    assert_sound(w);
}

static void a_fork_has_what_others_know_of_messages(void **state)
{
    struct world *w = *state;
    char fork[ETHOS_UUID_SIZE];
    make_session(w, "k");
    raw_run(w, "ALTER TABLE messages ADD COLUMN \"of\"\"others\" TEXT DEFAULT 'theirs'");
    say(w, "user", "a");
    raw_run(w, "UPDATE messages SET \"of\"\"others\"='set'");
    assert_int_equal(w->ops->fork(w->sessions, w->id, fork, &w->error), ETHOS_OK);
    assert_query(w, "SELECT \"of\"\"others\" FROM messages", "set\nset\n");
}

/* ---- prune and vacuum ------------------------------------------------------------------------ */

static void prune_spares_the_pinned_and_the_new(void **state)
{
    struct world *w = *state;
    uint64_t count = 0;
    struct ethos_session session = {.key = "pin", .platform = "cli", .pinned = 1};
    w->now = MORNING;
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_OK);
    make_session(w, "old");
    say(w, "user", "old words");
    w->now = MORNING + 1000;
    make_session(w, "new");
    char before[CLOCK_ISO_SIZE];
    clock_iso(MORNING + 1000, before);
    assert_int_equal(w->ops->prune(w->sessions, NULL, 0, &count, &w->error), ETHOS_INVALID);
    assert_int_equal(w->ops->prune(w->sessions, before, 1, &count, &w->error), ETHOS_OK);
    assert_int_equal(count, 1);
    assert_query(w, "SELECT count(*) FROM sessions", "3\n");
    assert_int_equal(w->ops->prune(w->sessions, before, 0, &count, &w->error), ETHOS_OK);
    assert_int_equal(count, 1);
    assert_query(w, "SELECT key FROM sessions ORDER BY key", "new\npin\n");
    assert_query(w, "SELECT count(*) FROM messages", "0\n");
    assert_sound(w);
}

static void vacuum_gives_space_back_and_keeps_the_index_right(void **state)
{
    struct world *w = *state;
    struct stat before, after;
    char path[128], text[20000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    make_session(w, "large");
    char large[ETHOS_UUID_SIZE];
    memcpy(large, w->id, sizeof large);
    for (int i = 0; i < 300; i++)
        say(w, "user", text); // beyond the size at which the log is folded in
    make_session(w, "small");
    say(w, "user", "needle");
    assert_int_equal(w->ops->remove(w->sessions, large, &w->error), ETHOS_OK);
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    assert_int_equal(stat(path, &before), 0);
    assert_true(before.st_size > 4194304); // somebody folded the log in
    assert_int_equal(w->ops->vacuum(w->sessions, &w->error), ETHOS_OK);
    assert_int_equal(stat(path, &after), 0);
    assert_true(after.st_size < 200000);
    assert_said(w, w->id, 0, "needle|");
    assert_query(w,
                 "SELECT m.content FROM messages_fts f JOIN messages m ON m.rowid=f.rowid"
                 " WHERE messages_fts MATCH 'needle'",
                 "needle\n");
    assert_sound(w);
}

/* ---- where it lies --------------------------------------------------------------------------- */

static void a_database_that_was_replaced_is_opened_anew(void **state)
{
    struct world *w = *state;
    char from[160], to[160];
    make_session(w, "k");
    snprintf(from, sizeof from, "%s/sessions.db", w->temp.path);
    snprintf(to, sizeof to, "%s/elsewhere.db", w->temp.path);
    assert_int_equal(rename(from, to), 0);
    snprintf(from, sizeof from, "%s/sessions.db-wal", w->temp.path);
    remove(from);
    snprintf(from, sizeof from, "%s/sessions.db-shm", w->temp.path);
    remove(from);
    make_session(w, "k"); // not taken: this is a new database
    assert_query(w, "SELECT key FROM sessions", "k\n");
}

static void on_a_network_file_system_there_is_no_shared_memory(void **state)
{
    struct world *w = *state;
    const struct ethos_setting network = {"network", "true"};
    struct stat st;
    char path[160];
    world_close(w);
    assert_int_equal(world_open_with(w, 0, 1000, &network, 1), ETHOS_OK);
    make_session(w, "k");
    say(w, "user", "a");
    assert_said(w, w->id, 0, "a|");
    snprintf(path, sizeof path, "%s/sessions.db-shm", w->temp.path);
    assert_int_equal(stat(path, &st), -1);
    world_close(w);
    assert_query(w, "PRAGMA journal_mode", "delete\n");
    world_open(w);
    assert_said(w, w->id, 0, "a|");
    assert_query(w, "PRAGMA journal_mode", "delete\n"); // who reads changes nothing
    say(w, "user", "b");
    assert_query(w, "PRAGMA journal_mode", "wal\n");
    assert_sound(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    static const struct CMUnitTest all[] = {
        TEST(a_session_comes_back_as_it_was_made),
        TEST(a_key_is_taken_once),
        TEST(what_is_not_text_or_lacks_a_key_is_refused),
        TEST(a_patch_changes_only_what_it_names),
        TEST(removing_takes_messages_and_index_along),
        TEST(messages_come_back_oldest_first_and_the_last_are_the_newest),
        TEST(a_message_keeps_every_member),
        TEST(an_append_is_all_or_nothing),
        TEST(times_never_go_back_unless_kept),
        TEST(a_checked_append_refuses_what_a_model_would),
        TEST(a_callback_that_calls_the_store_is_told_so),
        TEST(undo_hides_whole_turns),
        TEST(rewind_hides_a_message_and_all_after_it),
        TEST(an_id_is_taken_also_when_its_message_is_hidden),
        TEST(rewind_knows_its_session),
        TEST(a_fork_is_a_copy_with_new_ids),
        TEST(prune_spares_the_pinned_and_the_new),
    };
    static const struct CMUnitTest sqlite[] = {
        TEST(the_database_is_private_and_made_by_the_first_write),
        TEST(a_fork_has_what_others_know_of_messages),
        TEST(vacuum_gives_space_back_and_keeps_the_index_right),
        TEST(a_database_that_was_replaced_is_opened_anew),
        TEST(on_a_network_file_system_there_is_no_shared_memory),
    };
    return subjects_run(all, COUNT_OF(all), sqlite, COUNT_OF(sqlite));
}

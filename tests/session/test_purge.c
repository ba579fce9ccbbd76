/*
 * test_purge.c: a text goes out of conversations, and what is deleted leaves nothing in the files.
 */
#include <dirent.h>

#include "base/str.h"
#include "hits.h"

/* How many files of the store hold the bytes, in any letter case. */
static unsigned files_with(struct world *w, const char *word)
{
    unsigned count = 0;
    DIR *dir = opendir(w->temp.path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512];
        static char bytes[8 << 20];
        snprintf(path, sizeof path, "%s/%s", w->temp.path, entry->d_name);
        FILE *file = *entry->d_name == '.' ? NULL : fopen(path, "r");
        if (!file)
            continue;
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        for (size_t i = 0; i < size; i++)
            if (bytes[i] >= 'A' && bytes[i] <= 'Z')
                bytes[i] = (char)(bytes[i] + 'a' - 'A');
        count += memmem(bytes, size, word, strlen(word)) != NULL;
    }
    closedir(dir);
    return count;
}

static struct ethos_session_purge do_purge(struct world *w, const char *text, unsigned flags,
                                           int dry_run)
{
    const struct ethos_match match = {.text = view_str(text), .flags = flags};
    struct ethos_session_purge purge = {0};
    if (w->ops->purge(w->sessions, &match, dry_run, &purge, &w->error) != ETHOS_OK)
        fail_msg("%s", w->error.text);
    return purge;
}

static void fill(struct world *w)
{
    char text[64];
    make_session(w, "first");
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "some words about thing %d", i);
        say(w, i % 2 ? "assistant" : "user", text);
    }
}

static void a_deleted_session_leaves_nothing_in_the_files(void **state)
{
    struct world *w = *state;
    fill(w);
    make_session(w, "second");
    say(w, "user", "the password is xyzzyplugh");
    say(w, "assistant", "I shall remember xyzzyplugh");
    assert_int_equal(count_hits(w, "xyzzyplugh"), 2); // makes the index
    assert_true(files_with(w, "xyzzyplugh") > 0);
    assert_int_equal(w->ops->remove(w->sessions, w->id, &w->error), ETHOS_OK);
    assert_int_equal(files_with(w, "xyzzyplugh"), 0);
    assert_int_equal(count_hits(w, "xyzzyplugh"), 0);
    assert_true(count_hits(w, "words") > 0);
    assert_query(w, "PRAGMA integrity_check", "ok\n");
    assert_query(w, "SELECT count(*) FROM messages", "200\n");
}

static void pruned_sessions_leave_nothing_in_the_files(void **state)
{
    struct world *w = *state;
    uint64_t count;
    make_session(w, "k");
    say(w, "user", "the password is xyzzyplugh");
    count_hits(w, "password");
    assert_true(files_with(w, "xyzzyplugh") > 0);
    assert_int_equal(w->ops->prune(w->sessions, "2999-01-01", 0, &count, &w->error), ETHOS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(files_with(w, "xyzzyplugh"), 0);
}

static void lines_get_marks_and_json_stays_json(void **state)
{
    struct world *w = *state;
    struct ethos_message call = {
        .role = "assistant",
        .content = VIEW("calling"),
        .tool_calls =
            "[{\"id\":\"1\",\"name\":\"sh\",\"input\":{\"a\":\"say \\\"xyzzyplugh\\\"\"}}]",
        .content_blocks = "[{\"type\":\"text\",\"text\":\"one\\nxyzzyplugh\\ntwo\"}]"};
    const struct ethos_session_patch patch = {.title = "About xyzzyplugh",
                                              .metadata = "{\"note\":\"xyzzyplugh\"}"};
    fill(w);
    make_session(w, "second");
    say(w, "user", "keep this\nthe password is xyzzyplugh\nand this");
    assert_int_equal(w->ops->append(w->sessions, w->id, &call, 1, 0, &w->error), ETHOS_OK);
    say(w, "user", "xyzzyplughs are other things");
    assert_int_equal(w->ops->update(w->sessions, w->id, &patch, &w->error), ETHOS_OK);
    count_hits(w, "password");
    struct ethos_session_purge dry = do_purge(w, "xyzzyplugh", 0, 1);
    struct ethos_session_purge done = do_purge(w, "xyzzyplugh", 0, 0);
    assert_memory_equal(&dry, &done, sizeof dry);
    assert_int_equal(done.messages, 2);
    assert_int_equal(done.sessions, 1);
    assert_said(w, w->id, 0,
                "keep this\n[forgotten]\nand this|calling|xyzzyplughs are other things|");
    assert_query(w, "SELECT tool_calls,content_blocks FROM messages WHERE tool_calls IS NOT NULL",
                 "[{\"id\":\"1\",\"name\":\"sh\",\"input\":{\"a\":\"[forgotten]\"}}]|"
                 "[{\"type\":\"text\",\"text\":\"one\\n[forgotten]\\ntwo\"}]\n");
    assert_query(w, "SELECT title,metadata FROM sessions WHERE key='second'",
                 "[forgotten]|{\"note\":\"[forgotten]\"}\n");
    done = do_purge(w, "xyzzyplughs", ETHOS_MATCH_ANY_CASE, 0);
    assert_int_equal(done.messages, 1);
    assert_int_equal(files_with(w, "xyzzyplugh"), 0);
    assert_query(w, "PRAGMA integrity_check", "ok\n");
    raw_run(w, "INSERT INTO messages_fts(messages_fts) VALUES('integrity-check')");
    assert_int_equal(count_hits(w, "password"), 0);
    assert_true(count_hits(w, "things") > 0);
}

static void hidden_messages_and_summaries_are_reached(void **state)
{
    struct world *w = *state;
    uint64_t count;
    fill(w);
    say(w, "user", "the password is xyzzyplugh");
    assert_int_equal(w->ops->undo(w->sessions, w->id, 1, &count, &w->error), ETHOS_OK);
    raw_run(w, "INSERT INTO compressions(id,session_id,created_at,engine_name,original_count,"
               "kept_count,summary_text,summary_tokens,pre_total_tokens,post_total_tokens,"
               "duration_ms) SELECT 'c',id,created_at,'e',1,1,'of xyzzyplugh',1,1,1,1"
               " FROM sessions");
    struct ethos_session_purge done = do_purge(w, "xyzzyplugh", 0, 0);
    assert_int_equal(done.messages, 1);
    assert_int_equal(done.summaries, 1);
    assert_int_equal(files_with(w, "xyzzyplugh"), 0);
}

static void without_a_database_nothing_is_made(void **state)
{
    struct world *w = *state;
    struct ethos_session_purge done = do_purge(w, "xyzzyplugh", 0, 0);
    assert_int_equal(done.messages + done.sessions + done.summaries, 0);
    assert_int_equal(files_with(w, "sqlite"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_deleted_session_leaves_nothing_in_the_files),
        TEST(pruned_sessions_leave_nothing_in_the_files),
        TEST(lines_get_marks_and_json_stays_json),
        TEST(hidden_messages_and_summaries_are_reached),
        TEST(without_a_database_nothing_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_memory_tool.c: the memory tool over the tree of a scope: one reply for every command, one
 * transaction for every change, and the history, undo and purge of everything else.
 */
#include "world.h"

#include <sys/wait.h>

#include "base/system/dir.h"

#define TREE "home/personalities/default/memories"

/* Runs a command; the reply is in a buffer of its own until the next. */
static const char *tool_in(struct world *world, const char *scope, const char *json, bool *error)
{
    static char said[65536];
    struct ethos_reply *reply = NULL;
    assert_ok(world,
              ethos_memory_tool(world->turn, scope, view_str(json), NULL, &reply, &world->error));
    assert_int_equal(strlen(reply->text), reply->size);
    snprintf(said, sizeof said, "%s", reply->text);
    *error = reply->is_error;
    ethos_reply_free(reply);
    return said;
}

static void assert_says(struct world *world, const char *json, const char *expected)
{
    bool error;
    assert_string_equal(tool_in(world, NULL, json, &error), expected);
    assert_false(error);
}

static void assert_refuses(struct world *world, const char *json, const char *expected)
{
    bool error;
    assert_string_equal(tool_in(world, NULL, json, &error), expected);
    assert_true(error);
}

#define CREATE(path, text)                                                                         \
    "{\"command\":\"create\",\"path\":\"" path "\",\"file_text\":\"" text "\"}"
#define RENAME(from, to)                                                                           \
    "{\"command\":\"rename\",\"old_path\":\"" from "\",\"new_path\":\"" to "\"}"
#define DELETE(path) "{\"command\":\"delete\",\"path\":\"" path "\"}"
#define VIEW_OF(path) "{\"command\":\"view\",\"path\":\"" path "\"}"
#define LISTED(path)                                                                               \
    "Here're the files and directories up to 2 levels deep in " path                               \
    ", excluding hidden items and node_modules:\n"

static void create(struct world *world, const char *path, const char *text)
{
    char json[1024], said[512];
    snprintf(json, sizeof json, "{\"command\":\"create\",\"path\":\"%s\",\"file_text\":\"%s\"}",
             path, text);
    snprintf(said, sizeof said, "File created successfully at: %s", path);
    assert_says(world, json, said);
}

static void assert_stands(struct world *world, const char *path, const char *expected)
{
    char *text = temp_read(&world->temp, path, NULL);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static bool stands(struct world *world, const char *path)
{
    return faccessat(world->temp.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- commands --------------------------------------------------------------------------------- */

static void test_looking_makes_nothing(void **state)
{
    struct world *world = *state;
    world_turn(world, NULL);
    assert_says(world, VIEW_OF("/memories"), LISTED("/memories") "0B\t/memories");
    assert_refuses(world, VIEW_OF("/memories/a"),
                   "The path /memories/a does not exist. Please provide a valid path.");
    assert_refuses(world, DELETE("/memories/a"), "Error: The path /memories/a does not exist");
    assert_refuses(world, RENAME("/memories/a", "/memories/b"),
                   "Error: The path /memories/a does not exist");
    assert_false(stands(world, "home"));
}

static void test_a_file_from_its_making_to_its_end(void **state)
{
    struct world *world = *state;
    world_turn(world, NULL);
    create(world, "/memories/notes/today.txt", "one\\ntwo\\n");
    assert_stands(world, TREE "/notes/today.txt", "one\ntwo\n");
    assert_refuses(world, CREATE("/memories/notes/today.txt", "x"),
                   "Error: File /memories/notes/today.txt already exists");
    assert_says(world,
                "{\"command\":\"str_replace\",\"path\":\"/memories/notes/today.txt\","
                "\"old_str\":\"one\\ntwo\",\"new_str\":\"1\\n2\"}",
                "The memory file has been edited. Here is the snippet showing the change (with "
                "line numbers):\n     1\t1\n     2\t2\n     3\t");
    assert_says(world,
                "{\"command\":\"insert\",\"path\":\"/memories/notes/today.txt\",\"insert_line\":1,"
                "\"insert_text\":\"between\\n\"}",
                "The file /memories/notes/today.txt has been edited.");
    assert_says(world, VIEW_OF("/memories/notes/today.txt"),
                "Here's the content of /memories/notes/today.txt with line numbers:\n"
                "     1\t1\n     2\tbetween\n     3\t2\n     4\t");
    assert_says(world, RENAME("/memories/notes/today.txt", "/memories/old/a b.txt"),
                "Successfully renamed /memories/notes/today.txt to /memories/old/a b.txt");
    assert_false(stands(world, TREE "/notes"));
    assert_stands(world, TREE "/old/a b.txt", "1\nbetween\n2\n");
    assert_says(world, DELETE("/memories/old/a b.txt"),
                "Successfully deleted /memories/old/a b.txt");
    assert_false(stands(world, TREE "/old"));
}

static void test_a_directory_is_renamed_and_deleted_as_a_whole(void **state)
{
    struct world *world = *state;
    world_turn(world, NULL);
    create(world, "/memories/d/1.txt", "1");
    create(world, "/memories/d/s/2.txt", "22");
    create(world, "/memories/d/s/t/3.txt", "333");
    create(world, "/memories/dd.txt", "stays");
    assert_says(world, RENAME("/memories/d/", "/memories/e/f"),
                "Successfully renamed /memories/d to /memories/e/f");
    assert_says(world, VIEW_OF("/memories"),
                LISTED("/memories") "11B\t/memories\n5B\t/memories/dd.txt\n6B\t/memories/e/\n"
                                    "6B\t/memories/e/f/");
    assert_stands(world, TREE "/e/f/s/t/3.txt", "333");
    assert_says(world, DELETE("/memories/e"), "Successfully deleted /memories/e");
    assert_says(world, VIEW_OF("/memories"),
                LISTED("/memories") "5B\t/memories\n5B\t/memories/dd.txt");
}

static void test_what_cannot_be_done_is_refused_and_changes_nothing(void **state)
{
    struct world *world = *state;
    world_turn(world, NULL);
    create(world, "/memories/d/1.txt", "1");
    create(world, "/memories/e.txt", "e");
    assert_refuses(world, DELETE("/memories"), "Cannot delete the /memories directory itself");
    assert_refuses(world, RENAME("/memories", "/memories/x"),
                   "Cannot rename the /memories directory itself");
    assert_refuses(world, RENAME("/memories/d", "/memories/e.txt"),
                   "Error: The destination /memories/e.txt already exists");
    assert_refuses(world, RENAME("/memories/e.txt", "/memories/d"),
                   "Error: The destination /memories/d already exists");
    assert_refuses(world, RENAME("/memories/d", "/memories/d/x"),
                   "Error: The destination /memories/d/x is inside /memories/d");
    assert_refuses(world, RENAME("/memories/d", "/memories"),
                   "Error: The destination /memories already exists");
    assert_refuses(world, RENAME("/memories/d", "/memories/e.txt/x"),
                   "Error: The path /memories/e.txt is a file, not a directory");
    assert_refuses(world, CREATE("/memories/e.txt/x", ""),
                   "Error: The path /memories/e.txt is a file, not a directory");
    assert_refuses(world, CREATE("/memories/d", ""), "Error: File /memories/d already exists");
    assert_refuses(world, CREATE("/memories", ""), "Error: File /memories already exists");
    assert_refuses(world,
                   "{\"command\":\"insert\",\"path\":\"/memories/d\",\"insert_line\":0,"
                   "\"insert_text\":\"\"}",
                   "Error: The path /memories/d does not exist");
    assert_refuses(world,
                   "{\"command\":\"str_replace\",\"path\":\"/memories\",\"old_str\":\"a\","
                   "\"new_str\":\"\"}",
                   "Error: The path /memories does not exist. Please provide a valid path.");
    assert_refuses(world,
                   "{\"command\":\"insert\",\"path\":\"/memories/e.txt/x\",\"insert_line\":0,"
                   "\"insert_text\":\"\"}",
                   "Error: The path /memories/e.txt/x does not exist");
    assert_refuses(world, VIEW_OF("/memories/e.txt/x"),
                   "The path /memories/e.txt/x does not exist. Please provide a valid path.");
    assert_says(world, VIEW_OF("/memories"),
                LISTED("/memories") "2B\t/memories\n1B\t/memories/d/\n1B\t/memories/d/1.txt\n"
                                    "1B\t/memories/e.txt");
}

static void test_symbolic_links_are_refused_in_words(void **state)
{
    struct world *world = *state;
    bool error;
    world_turn(world, NULL);
    create(world, "/memories/a.txt", "a");
    temp_write(&world->temp, "outside", "secret");
    assert_int_equal(symlinkat("../../../../outside", world->temp.fd, TREE "/l.txt"), 0);
    assert_non_null(strstr(tool_in(world, NULL, VIEW_OF("/memories/l.txt"), &error), "symbolic"));
    assert_true(error);
    tool_in(world, NULL,
            "{\"command\":\"insert\",\"path\":\"/memories/l.txt\",\"insert_line\":0,"
            "\"insert_text\":\"x\"}",
            &error);
    assert_true(error);
    assert_stands(world, "outside", "secret");
    assert_says(world, VIEW_OF("/memories"),
                LISTED("/memories") "1B\t/memories\n1B\t/memories/a.txt");
}

static void test_a_text_that_is_too_large_is_refused(void **state)
{
    struct world *world = *state;
    struct ethos_reply *reply = NULL;
    size_t size = ETHOS_MAX_TREE_BYTES + 1;
    char *json = malloc(size + 128);
    assert_non_null(json);
    int start = snprintf(json, size,
                         "{\"command\":\"create\",\"path\":\"/memories/a\",\"file_text\":\"");
    memset(json + start, 'x', size);
    memcpy(json + (size_t)start + size, "\"}", 3);
    world_turn(world, NULL);
    assert_ok(world, ethos_memory_tool(world->turn, NULL, view_str(json), NULL, &reply, NULL));
    assert_true(reply->is_error);
    assert_string_equal(reply->text, "Error: a: it would exceed 2097152 bytes");
    assert_false(stands(world, TREE "/a"));
    ethos_reply_free(reply);
    free(json);
}

static void test_more_files_than_a_command_may_change_are_left_alone(void **state)
{
    struct world *world = *state;
    char path[64];
    bool error;
    world_turn(world, NULL);
    create(world, "/memories/d/first", "");
    for (int i = 0; i < 1024; i++) {
        snprintf(path, sizeof path, TREE "/d/%d", i);
        temp_write(&world->temp, path, "");
    }
    assert_string_equal(tool_in(world, NULL, DELETE("/memories/d"), &error),
                        "Error: /memories/d has 1025 files, more than the 1024 of one command. "
                        "Take its subdirectories one by one");
    assert_true(error);
    assert_true(stands(world, TREE "/d/first"));
}

static void test_a_name_that_would_be_too_long_stops_the_whole_rename(void **state)
{
    struct world *world = *state;
    char name[181] = "", json[512];
    bool error;
    memset(name, 'n', 180);
    world_turn(world, NULL);
    snprintf(json, sizeof json, CREATE("/memories/d/%s", ""), name);
    tool_in(world, NULL, json, &error);
    create(world, "/memories/d/a", "");
    snprintf(json, sizeof json, RENAME("/memories/d", "/memories/%.60s"), name);
    assert_non_null(strstr(tool_in(world, NULL, json, &error), "would have more than 224 bytes"));
    assert_true(error);
    assert_true(stands(world, TREE "/d/a"));
}

/* ---- scopes and history ----------------------------------------------------------------------- */

static void test_each_scope_has_a_tree_of_its_own(void **state)
{
    static const struct {
        const char *scope, *path;
    } trees[] = {{NULL, TREE},
                 {"user", "home/users/me/memories"},
                 {"global", "home/memories"},
                 {"personality:other", "home/personalities/other/memories"},
                 {"memories:team:t", "home/teams/t/memory/memories"}};
    struct world *world = *state;
    bool error;
    world_turn(world, &(struct ethos_request){.user = "me"});
    for (size_t i = 0; i < COUNT(trees); i++) {
        char path[128];
        tool_in(world, trees[i].scope, CREATE("/memories/x/a", "1"), &error);
        assert_false(error);
        snprintf(path, sizeof path, "%s/x/a", trees[i].path);
        assert_stands(world, path, "1");
    }
    struct ethos_reply *reply = NULL;
    assert_error(&world->error,
                 ethos_memory_tool(world->turn, "memories:memories:global",
                                   VIEW(VIEW_OF("/memories")), NULL, &reply, &world->error),
                 ETHOS_DENIED);
}

static int count_change(void *arg, const struct ethos_change *change)
{
    unsigned *count = arg;
    assert_string_equal(change->via, "memory-tool");
    assert_string_equal(change->key, "d/a.txt");
    ++*count;
    return 0;
}

static void test_every_change_is_in_the_history_and_can_be_undone(void **state)
{
    const struct ethos_target target = {NULL, "memories", "d/a.txt"};
    struct world *world = *state;
    unsigned count = 0;
    world_turn(world, NULL);
    create(world, "/memories/d/a.txt", "precious");
    assert_says(world, DELETE("/memories/d"), "Successfully deleted /memories/d");
    assert_ok(world,
              ethos_history(world->turn, &target, NULL, count_change, &count, &world->error));
    assert_int_equal(count, 2);
    assert_ok(world, ethos_undo(world->turn, &target, NULL, NULL, &world->error));
    assert_stands(world, TREE "/d/a.txt", "precious");
}

static void test_what_a_person_wrote_is_seen_and_kept(void **state)
{
    struct world *world = *state;
    world_turn(world, NULL);
    create(world, "/memories/a.txt", "one\\ntwo\\n");
    temp_write(&world->temp, TREE "/a.txt", "one\ntwo\nmine\n");
    assert_says(world,
                "{\"command\":\"insert\",\"path\":\"/memories/a.txt\",\"insert_line\":1,"
                "\"insert_text\":\"theirs\"}",
                "The file /memories/a.txt has been edited.");
    assert_stands(world, TREE "/a.txt", "one\ntheirs\ntwo\nmine\n");
}

static void test_a_dry_run_answers_and_changes_nothing(void **state)
{
    const struct ethos_sync_how dry = {.flags = ETHOS_SYNC_DRY_RUN};
    struct world *world = *state;
    struct ethos_reply *reply = NULL;
    world_turn(world, NULL);
    create(world, "/memories/d/a", "1");
    assert_ok(world, ethos_memory_tool(world->turn, NULL, VIEW(DELETE("/memories/d")), &dry, &reply,
                                       &world->error));
    assert_string_equal(reply->text, "Successfully deleted /memories/d");
    ethos_reply_free(reply);
    assert_stands(world, TREE "/d/a", "1");
}

static void test_what_is_no_command_is_an_error_of_the_caller(void **state)
{
    static const char *const wrong[] = {
        "", "x", "[]", "\"view\"", "null", "{\"command\":\"view\"", "{\"a\":1,\"a\":2}"};
    const struct ethos_origin once = {.op_id = "op:1"};
    const struct ethos_sync_how how = {.origin = &once};
    struct world *world = *state;
    struct ethos_reply *reply = NULL;
    world_turn(world, NULL);
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_error(
            &world->error,
            ethos_memory_tool(world->turn, NULL, view_str(wrong[i]), NULL, &reply, &world->error),
            ETHOS_INVALID);
    assert_error(&world->error,
                 ethos_memory_tool(world->turn, NULL, VIEW(VIEW_OF("/memories")), &how, &reply,
                                   &world->error),
                 ETHOS_INVALID);
    assert_null(reply);
}

/* ---- others at the same time ------------------------------------------------------------------ */

#define CALLERS 6
#define TIMES 10

/* One of several processes that insert lines, and take a token that is there once. */
static int insert_lines(struct world *world, int number)
{
    int taken = 0;
    world_turn(world, NULL);
    for (int i = 0; i < TIMES; i++) {
        char json[256];
        bool error;
        snprintf(json, sizeof json,
                 "{\"command\":\"insert\",\"path\":\"/memories/d/all.txt\",\"insert_line\":1,"
                 "\"insert_text\":\"line-%d-%d\"}",
                 number, i);
        tool_in(world, NULL, json, &error);
        if (error)
            return 100;
        snprintf(json, sizeof json,
                 "{\"command\":\"str_replace\",\"path\":\"/memories/d/all.txt\","
                 "\"old_str\":\"token-%d\\n\",\"new_str\":\"\"}",
                 i);
        tool_in(world, NULL, json, &error);
        taken += !error;
    }
    return taken;
}

static void test_callers_at_the_same_time_lose_nothing(void **state)
{
    struct world *world = *state;
    pid_t pids[CALLERS];
    int taken = 0, status;
    world_turn(world, NULL);
    create(
        world, "/memories/d/all.txt",
        "begin\\ntoken-0\\ntoken-1\\ntoken-2\\ntoken-3\\ntoken-4\\ntoken-5\\ntoken-6\\ntoken-7\\n"
        "token-8\\ntoken-9\\nend\\n");
    world_close(world);
    for (int i = 0; i < CALLERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(insert_lines(world, i));
    }
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 100);
        taken += WEXITSTATUS(status);
    }
    assert_int_equal(taken, TIMES); // each token by one of them
    char *text = temp_read(&world->temp, TREE "/d/all.txt", NULL);
    for (int i = 0; i < CALLERS * TIMES; i++) {
        char line[32];
        snprintf(line, sizeof line, "\nline-%d-%d\n", i / TIMES, i % TIMES);
        const char *hit = strstr(text, line);
        assert_non_null(hit);
        assert_null(strstr(hit + 1, line));
    }
    assert_null(strstr(text, "token"));
    free(text);
}

/* Renames a directory to and fro while others create in it and delete it. */
static int rename_often(struct world *world)
{
    bool error;
    world_turn(world, NULL);
    for (int i = 0; i < TIMES; i++)
        tool_in(world, NULL,
                i % 2 ? RENAME("/memories/e", "/memories/d") : RENAME("/memories/d", "/memories/e"),
                &error);
    return 0;
}

static void test_a_directory_in_motion_is_whole_for_whoever_looks(void **state)
{
    struct world *world = *state;
    char path[64];
    int status;
    bool error;
    world_turn(world, NULL);
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "/memories/d/s/%d", i);
        create(world, path, "x");
    }
    world_close(world);
    pid_t pid = fork();
    if (pid == 0)
        _exit(rename_often(world));
    world_turn(world, NULL);
    do {
        const char *said = tool_in(world, NULL, VIEW_OF("/memories"), &error);
        if (!strstr(said, "5B\t/memories\n5B\t/memories/d/\n5B\t/memories/d/s/") &&
            !strstr(said, "5B\t/memories\n5B\t/memories/e/\n5B\t/memories/e/s/"))
            fail_msg("%s", said);
    } while (waitpid(pid, &status, WNOHANG) == 0);
    assert_int_equal(status, 0);
}

/*
 * Another caller whose command ends between two system calls of this one, as long as this one has not taken
 * the lock: a file becomes a directory, or the other way round.
 */
struct other {
    struct world *world;
    unsigned long number; /* before which call it comes */
    bool to_directory, locked, done;
};

static void remove_all(const struct temp *temp, const char *path)
{
    if (unlinkat(temp->fd, path, 0) != 0)
        dir_remove(temp->fd, path);
}

static void make_a(struct world *world, bool directory)
{
    struct temp *temp = &world->temp;
    remove_all(temp, TREE "/a");
    if (directory)
        mkdirat(temp->fd, TREE "/a", 0700);
    temp_write(temp, directory ? TREE "/a/x" : TREE "/a", directory ? "below\n" : "file\n");
}

static int come_between(void *arg, const char *call, unsigned long number)
{
    struct other *other = arg;
    other->locked |= strcmp(call, "flock") == 0;
    if (other->done || other->locked || number != other->number)
        return 0;
    other->done = true;
    make_a(other->world, other->to_directory);
    return 0;
}

/* Runs the command with the other one before each of its calls. */
static void run_against_other(struct world *world, const char *json, bool to_directory)
{
    struct other other = {.done = true};
    for (unsigned long n = 1; other.done; n++) {
        struct ethos_reply *reply = NULL;
        make_a(world, !to_directory);
        remove_all(&world->temp, TREE "/n");
        other = (struct other){.world = world, .number = n, .to_directory = to_directory};
        os_hook(come_between, &other);
        int code = ethos_memory_tool(world->turn, NULL, view_str(json), NULL, &reply,
                                     &world->error);
        os_hook(NULL, NULL);
        if (code != ETHOS_OK)
            fail_msg("%s, before call %lu: %s", json, n, world->error.text);
        ethos_reply_free(reply);
    }
}

static void test_what_becomes_a_directory_meanwhile_is_answered_as_such(void **state)
{
    static const char *const commands[] = {
        VIEW_OF("/memories/a"),
        VIEW_OF("/memories/a/x"),
        CREATE("/memories/a", "x"),
        CREATE("/memories/a/y", "x"),
        CREATE("/memories/a/x/y", "x"),
        "{\"command\":\"str_replace\",\"path\":\"/memories/"
        "a\",\"old_str\":\"file\",\"new_str\":\"y\"}",
        "{\"command\":\"insert\",\"path\":\"/memories/a/"
        "x\",\"insert_line\":0,\"insert_text\":\"z\"}",
        DELETE("/memories/a"),
        DELETE("/memories/a/x"),
        RENAME("/memories/a", "/memories/n"),
        RENAME("/memories/a/x", "/memories/n/x"),
        RENAME("/memories/k", "/memories/a/k"),
    };
    struct world *world = *state;
    world_turn(world, NULL);
    create(world, "/memories/k", "kept");
    for (size_t i = 0; i < COUNT(commands); i++) {
        run_against_other(world, commands[i], true);
        run_against_other(world, commands[i], false);
    }
}

/* ---- without memory --------------------------------------------------------------------------- */

static void test_without_memory_a_command_fails_whole(void **state)
{
    static const char *const commands[] = {
        VIEW_OF("/memories"), VIEW_OF("/memories/d/a"), CREATE("/memories/n/new", "x"),
        RENAME("/memories/d", "/memories/e"), DELETE("/memories/e")};
    struct world *world = *state;
    world_turn(world, NULL);
    create(world, "/memories/d/a", "1");
    create(world, "/memories/d/b/c", "2");
    for (size_t i = 0; i < COUNT(commands); i++) {
        struct ethos_reply *reply = NULL;
        int code = ETHOS_NOMEM;
        ALLOC_EACH(n, code == ETHOS_OK)
        {
            code = ethos_memory_tool(world->turn, NULL, view_str(commands[i]), NULL, &reply,
                                     &world->error);
            if (code != ETHOS_OK && code != ETHOS_NOMEM)
                fail_msg("%s, allocation %lu: %s", commands[i], n, world->error.text);
        }
        if (reply->is_error)
            fail_msg("%s: %s", commands[i], reply->text);
        ethos_reply_free(reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_looking_makes_nothing),
        WORLD_TEST(test_a_file_from_its_making_to_its_end),
        WORLD_TEST(test_a_directory_is_renamed_and_deleted_as_a_whole),
        WORLD_TEST(test_what_cannot_be_done_is_refused_and_changes_nothing),
        WORLD_TEST(test_symbolic_links_are_refused_in_words),
        WORLD_TEST(test_a_text_that_is_too_large_is_refused),
        WORLD_TEST(test_more_files_than_a_command_may_change_are_left_alone),
        WORLD_TEST(test_a_name_that_would_be_too_long_stops_the_whole_rename),
        WORLD_TEST(test_each_scope_has_a_tree_of_its_own),
        WORLD_TEST(test_every_change_is_in_the_history_and_can_be_undone),
        WORLD_TEST(test_what_a_person_wrote_is_seen_and_kept),
        WORLD_TEST(test_a_dry_run_answers_and_changes_nothing),
        WORLD_TEST(test_what_is_no_command_is_an_error_of_the_caller),
        WORLD_LOOP(test_callers_at_the_same_time_lose_nothing),
        WORLD_LOOP(test_a_directory_in_motion_is_whole_for_whoever_looks),
        WORLD_TEST(test_what_becomes_a_directory_meanwhile_is_answered_as_such),
        WORLD_LOOP(test_without_memory_a_command_fails_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_recall.c: questions to the scopes of a turn, and the indexes that answer them.
 */
#include "memory/recall/recall.h"

#include <sys/file.h>
#include <sys/wait.h>

#include "../world.h"
#include "base/str.h"

#define P "home/personalities/default/"
#define INDEX "home/recall/personality-default.idx"
#define ROUNDS 60

static struct recall_report report;

static int add_hit(void *arg, const struct recall_hit *hit)
{
    return str_printf(arg, "%s %s:%d %.*s (%.9f)\n", hit->scope, hit->key, (int)hit->line,
                      VIEW_ARG(hit->text), hit->ranked->score);
}

/* What a question finds in a context of its own, a line for each hit; free() it. */
static char *ask_as(struct world *world, const char *user, const char *question)
{
    const struct recall_ask ask = {.question = view_str(question), .limit = 10};
    const struct ethos_request request = {.user = user};
    struct ethos_turn *turn;
    struct str out;
    str_init(&out, 100000);
    assert_ok(world, ethos_turn_new(world->ethos, &request, &turn, &world->error));
    assert_ok(world, recall_search(turn, &ask, add_hit, &out, &report, &world->error));
    ethos_turn_free(turn);
    return str_steal(&out, NULL);
}

/* The best hit has this text; NULL: there is none. */
static void assert_best(struct world *world, const char *question, const char *expected)
{
    char *found = ask_as(world, NULL, question);
    char *end = strchr(found, '\n');
    if (end)
        *end = '\0';
    if (!expected && *found)
        fail_msg("%s", found);
    if (expected && !strstr(found, expected))
        fail_msg("'%s' is not in '%s'", expected, found);
    free(found);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* However much others have: not a byte of the answer changes. */
static void test_the_text_of_others_changes_nothing(void **state)
{
    struct world *world = *state;
    char path[96];
    world_put(world, P "MEMORY.md",
              "The oven is hot.\n\nAnna bakes bread.\n\n# Shop\n\nOpen at six.\n");
    world_put(world, "home/users/ella/USER.md", "Ella likes rye bread.\n");
    world_open(world);
    char *before = ask_as(world, "ella", "Who bakes bread in the oven?");
    assert_non_null(strstr(before, "Anna bakes"));
    assert_non_null(strstr(before, "Ella likes"));
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof path, "home/users/other%d/USER.md", i);
        world_put(world, path, "Bread, bread, bread! Who bakes it in the oven?\n");
    }
    world_put(world, "home/personalities/other/MEMORY.md", "The oven is hot. Bread.\n");
    char *again = ask_as(world, "ella", "Who bakes bread in the oven?");
    assert_string_equal(again, before);
    free(again);
    char *other = ask_as(world, "other1", "Who bakes bread in the oven?");
    assert_null(strstr(other, "Ella"));
    free(other);
    free(before);
}

/* Of the home, notes alone are searched: its other files are the memory of others. */
static void test_main_files_of_the_home(void **state)
{
    struct world *world = *state;
    world_put(world, "home/MEMORY.md", "The ferry leaves at nine.\n");
    world_put(world, "home/keeper.md", "The lighthouse keeper is called Ruth.\n");
    world_open(world);
    assert_best(world, "When does the ferry leave?", NULL);
    assert_best(world, "Who is the lighthouse keeper?", "global keeper.md:1 The lighthouse keeper");
}

/* ---- catching up ----------------------------------------------------------------------------- */

static void set_time(struct world *world, const char *path, const struct stat *to)
{
    const struct timespec times[2] = {to->st_atim, to->st_mtim};
    assert_int_equal(utimensat(world->temp.fd, path, times, 0), 0);
}

/* An edit that neither size nor time shows is met when its old words are asked for. */
static void test_an_edit_that_does_not_show(void **state)
{
    struct world *world = *state;
    struct stat info;
    world_put(world, P "MEMORY.md", "The oven is hot.\n");
    world_open(world);
    assert_best(world, "oven", "The oven is hot.");
    assert_int_equal(fstatat(world->temp.fd, P "MEMORY.md", &info, 0), 0);
    world_put(world, P "MEMORY.md", "The gate is big.\n");
    set_time(world, P "MEMORY.md", &info);
    assert_best(world, "oven", NULL);
    assert_best(world, "gate", "The gate is big.");
}

/*
 * What was indexed and had nothing to hide is shown without another look; what has, or has it now, is not: also when
 * neither size nor time tells of the edit.
 */
static void test_what_is_hidden_stays_so(void **state)
{
    struct world *world = *state;
    struct stat info;
    world_put(world, P "MEMORY.md",
              "The oven is hot.\n\nThe door of the barn is green, as barns go.\n");
    world_put(world, P "a.md",
              "The pond is deep.\n\nThe gate: password = \"Xk29-vv81Qz7pLm\", said Anna.\n");
    world_open(world);
    for (int round = 0; round < 2; round++) {
        assert_best(world, "What does Anna say of the gate?", "[REDACTED:");
        assert_true(report.withheld);
        assert_best(world, "How deep is the pond?", "The pond is deep.");
        assert_best(world, "Is the oven hot?", "The oven is hot.");
        assert_false(report.withheld);
    }
    assert_int_equal(fstatat(world->temp.fd, P "MEMORY.md", &info, 0), 0);
    world_put(world, P "MEMORY.md",
              "The oven is hot.\n\nThe barn: password = \"Xk29-vv81Qz7pLm\", so.\n");
    set_time(world, P "MEMORY.md", &info);
    assert_best(world, "oven hot", "The oven is hot.");
    assert_best(world, "barn", "[REDACTED:");
}

/* The same content with another time is not indexed again. */
static void test_a_text_that_was_only_touched(void **state)
{
    struct world *world = *state;
    struct stat before, after;
    struct stat old = {.st_mtim = {1000000000, 0}, .st_atim = {1000000000, 0}};
    world_put(world, P "MEMORY.md", "The oven is hot.\n");
    world_put(world, P "a.md", "A note about the oven.\n");
    world_open(world);
    assert_best(world, "oven", "oven");
    assert_int_equal(fstatat(world->temp.fd, INDEX, &before, 0), 0);
    set_time(world, P "MEMORY.md", &old);
    assert_best(world, "oven", "oven");
    assert_int_equal(fstatat(world->temp.fd, INDEX, &after, 0), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(after.st_ino, before.st_ino);
}

/* Somebody else writes the index, or nobody can: the question is answered all the same. */
static void test_without_writing(void **state)
{
    struct world *world = *state;
    world_put(world, P "MEMORY.md", "The oven is hot.\n");
    world_mkdir(world, "home/.mem");
    world_put(world, "home/.mem/recall.lock", "");
    int lock = openat(world->temp.fd, "home/.mem/recall.lock", O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    world_open(world);
    assert_best(world, "oven", "The oven is hot.");
    assert_false(world_exists(world, INDEX));
    assert_int_equal(recall_remove(world->ethos, &world->error), ETHOS_OK);
    close(lock);
    assert_best(world, "oven", "The oven is hot.");
    assert_true(world_exists(world, INDEX));
    assert_mode(world, INDEX, 0600);
    assert_mode(world, "home/recall", 0700);
    assert_ok(world, recall_remove(world->ethos, &world->error));
    assert_false(world_exists(world, INDEX));
}

static int count_texts(void *arg, const struct recall_scope_report *scope)
{
    *(uint64_t *)arg += scope->indexed;
    return ETHOS_OK;
}

/* Indexes of scopes that are gone go, too. */
static void test_bringing_all_up_to_date(void **state)
{
    struct world *world = *state;
    uint64_t indexed = 0;
    world_put(world, P "MEMORY.md", "The oven is hot.\n");
    world_put(world, "home/users/ella/USER.md", "Ella likes rye bread.\n");
    world_put(world, "home/personalities/other/MEMORY.md", "A door.\n");
    world_open(world);
    assert_ok(world, recall_index_all(world->ethos, count_texts, &indexed, &world->error));
    assert_int_equal(indexed, 3);
    assert_true(world_exists(world, "home/recall/personality-other.idx"));
    world_remove(world, "home/personalities/other");
    world_put(world, "home/recall/left.idx.new", "of a writer that died");
    indexed = 0;
    assert_ok(world, recall_index_all(world->ethos, count_texts, &indexed, &world->error));
    assert_int_equal(indexed, 0);
    assert_false(world_exists(world, "home/recall/personality-other.idx"));
    assert_false(world_exists(world, "home/recall/left.idx.new"));
    assert_true(world_exists(world, "home/recall/user-ella.idx"));
}

/* ---- everybody at once ----------------------------------------------------------------------- */

static _Noreturn void write_and_ask(struct world *world, int number)
{
    char key[32], text[64];
    struct ethos *ethos;
    struct ethos_error error;
    const struct ethos_options options = {.home = world->home};
    if (ethos_open(&options, &ethos, &error) != ETHOS_OK)
        _exit(1);
    for (int i = 0; i < ROUNDS; i++) {
        const struct recall_ask ask = {.question = VIEW("Which round is it?"), .limit = 10};
        const struct ethos_request request = {.user = "ella"};
        struct ethos_turn *turn;
        struct str out;
        snprintf(key, sizeof key, P "%d.md", number);
        snprintf(text, sizeof text, "It is round %d of writer %d.\n", i, number);
        world_put(world, key, text);
        str_init(&out, 100000);
        if (ethos_turn_new(ethos, &request, &turn, &error) != ETHOS_OK ||
            recall_search(turn, &ask, add_hit, &out, &report, &error) != ETHOS_OK)
            _exit(2);
        ethos_turn_free(turn);
        text[strlen(text) - 1] = '\0';
        if (!strstr(out.data, text)) // its own text, as it is now
            _exit(3);
        str_release(&out);
    }
    ethos_close(ethos);
    _exit(0);
}

/* What others write meanwhile may stay. */
static _Noreturn void remove_index(struct world *world)
{
    for (int i = 0; i < 10 * ROUNDS; i++) {
        int folder = openat(world->temp.fd, "home/recall", O_RDONLY | O_DIRECTORY);
        DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
        for (struct dirent *entry; entries && (entry = readdir(entries));)
            unlinkat(folder, entry->d_name, 0);
        if (entries)
            closedir(entries);
        unlinkat(world->temp.fd, "home/recall", AT_REMOVEDIR);
    }
    _exit(0);
}

/* Writers ask for what they just wrote while the index is deleted again and again: they find it, and nothing old. */
static void test_deleted_while_everybody_writes(void **state)
{
    struct world *world = *state;
    pid_t writers[3];
    world_put(world, P "MEMORY.md", "Rounds are counted.\n");
    for (int i = 0; i < 3; i++)
        if ((writers[i] = fork()) == 0) {
            if (i == 2)
                remove_index(world);
            write_and_ask(world, i);
        }
    for (int i = 0; i < 3; i++) {
        int status = 0;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    world_open(world);
    assert_best(world, "Which round is it of writer 0?", "It is round 59 of writer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_text_of_others_changes_nothing, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_main_files_of_the_home, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_an_edit_that_does_not_show, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_hidden_stays_so, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_text_that_was_only_touched, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_without_writing, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_bringing_all_up_to_date, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_deleted_while_everybody_writes, world_set_up,
                                        world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

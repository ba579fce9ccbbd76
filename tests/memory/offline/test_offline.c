/*
 * test_offline.c: a backend that is out of reach: what is known is shown as such, and forgotten with the rest.
 */
#include "fixture.h"

#define OLD "(memory is unreachable; this is its state of " NOW_ISO ")"

/* ---- opening --------------------------------------------------------------------------------- */

static void test_without_an_option_nothing_is_in_front(void **state)
{
    struct world *world = *state;
    struct ethos_provider *front, *behind;

    assert_ok(world, open_front(world, 0, 1000, &front));
    assert_ok(world, offline_behind(front, &behind, &world->error));
    assert_ptr_equal(front, behind);
    front->ops->close(front);
    go_down(ETHOS_BUSY);
    assert_error(&world->error, open_front(world, 0, 1000, &front), ETHOS_BUSY);
}

static void test_with_one_the_handle_comes_up_without_the_backend(void **state)
{
    struct world *world = *state;
    struct ethos_provider *front, *behind;

    go_down(ETHOS_BUSY);
    assert_ok(world, open_front(world, CACHED, 1000, &front));
    assert_error(&world->error, offline_behind(front, &behind, &world->error), ETHOS_BUSY);
    front->ops->close(front);
    go_down(ETHOS_IO);
    assert_error(&world->error, open_front(world, CACHED, 1000, &front), ETHOS_IO);
}

static void test_the_options_do_not_reach_the_backend_and_are_known_by_name(void **state)
{
    struct world *world = *state;
    const struct ethos_setting settings[] = {{"onOfline", "queue"}};
    const struct secrets_given given = {settings, 1, NULL, world->home, NULL};
    const struct ethos_setup setup = {.host = &world->host, .root = world->home};
    struct ethos_provider *front;

    int code = offline_open(&backend, &setup, &given, (struct registry_group){0}, &front,
                            &world->error);
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_string_equal(world->error.hint, "did you mean memory.options.onOffline?");
}

/* ---- what is known --------------------------------------------------------------------------- */

static void test_prefetch_shows_what_was_last_known_and_says_so(void **state)
{
    struct world *world = *state;
    struct ethos_block *block = NULL;

    begin(world, CACHED);
    assert_ok(world, add(world, "We deploy on Fridays"));
    assert_prefetch(world, "## Memory\n\nWe deploy on Fridays");
    go_down(ETHOS_BUSY);
    begin(world, CACHED);
    assert_ok(world, ethos_prefetch(world->turn, NULL, &block, &world->error));
    assert_string_equal(block->text, "## Memory\n\nWe deploy on Fridays\n\n" OLD);
    assert_int_equal(block->known_ms, NOW_MS);
    assert_int_equal(block->chars, block->size);
    assert_int_equal(world->warnings, 1);
    ethos_block_free(block);
}

static void test_a_receipt_says_it_too(void **state)
{
    struct world *world = *state;
    struct ethos_block *block = NULL;
    const struct ethos_prefetch_options options = {.receipt = 1};

    begin(world, CACHED);
    assert_ok(world, add(world, "one"));
    assert_prefetch(world, "## Memory\n\none");
    go_down(ETHOS_BUSY);
    assert_ok(world, ethos_prefetch(world->turn, &options, &block, &world->error));
    assert_int_equal(block->known_ms, NOW_MS);
    assert_int_equal(block->project_memory.size, 3);
    ethos_block_free(block);
}

static void test_what_is_shown_then_stays_within_the_budget(void **state)
{
    struct world *world = *state;
    struct ethos_block *block = NULL;
    const struct ethos_prefetch_options options = {.max_chars = 1000};
    char text[3001];

    for (size_t i = 0; i < 3000; i++)
        text[i] = i % 30 == 29 ? '\n' : 'x';
    text[3000] = 0;
    begin(world, CACHED);
    assert_ok(world, add(world, text));
    assert_ok(world, ethos_prefetch(world->turn, &options, &block, &world->error));
    ethos_block_free(block);
    go_down(ETHOS_BUSY);
    assert_ok(world, ethos_prefetch(world->turn, &options, &block, &world->error));
    assert_true(block->size <= 1000);
    assert_non_null(strstr(block->text, OLD));
    ethos_block_free(block);
}

static void test_what_nobody_knows_is_the_failure_itself(void **state)
{
    struct world *world = *state;
    struct ethos_block *block = NULL;
    struct ethos_file *file = NULL;

    go_down(ETHOS_BUSY);
    begin(world, CACHED);
    assert_error(&world->error, ethos_prefetch(world->turn, NULL, &block, &world->error),
                 ETHOS_BUSY);
    assert_string_equal(world->error.text, "rows-ram: nobody there");
    assert_error(&world->error, ethos_read(world->turn, NULL, &file, &world->error), ETHOS_BUSY);
}

static void test_a_storage_fault_is_not_being_out_of_reach(void **state)
{
    struct world *world = *state;
    struct ethos_block *block = NULL;

    begin(world, CACHED | QUEUE);
    assert_ok(world, add(world, "one"));
    assert_prefetch(world, "## Memory\n\none");
    go_down(ETHOS_IO);
    assert_ok(world, ethos_prefetch(world->turn, NULL, &block, &world->error));
    assert_int_equal(block->code, ETHOS_IO);
    assert_int_equal(block->known_ms, 0);
    ethos_block_free(block);
    assert_error(&world->error, add(world, "two"), ETHOS_IO);
    assert_int_equal(count_in(world, "queue"), 0);
}

static void test_a_read_shows_it_marked(void **state)
{
    struct world *world = *state;

    begin(world, CACHED);
    assert_ok(world, add(world, "one"));
    assert_prefetch(world, "## Memory\n\none");
    go_down(ETHOS_BUSY);
    begin(world, CACHED);
    struct ethos_file *file = read_log(world);
    assert_string_equal(file->text, "one\n");
    assert_int_equal(file->known_ms, NOW_MS);
    ethos_file_free(file);
}

static void test_that_there_is_none_is_known_too(void **state)
{
    struct world *world = *state;
    const struct ethos_target profile = {.store = "user"};
    struct ethos_file *file = NULL;

    begin(world, CACHED);
    assert_ok(world, add(world, "one"));
    free(world_prefetch(world));
    go_down(ETHOS_BUSY);
    begin(world, CACHED);
    assert_ok(world, ethos_read(world->turn, &profile, &file, &world->error));
    assert_null(file->text);
    assert_int_equal(file->known_ms, NOW_MS);
    ethos_file_free(file);
}

static void test_it_is_written_when_it_changed_and_private(void **state)
{
    struct world *world = *state;
    struct stat before, after;
    char path[PATH_SIZE];

    begin(world, CACHED);
    assert_ok(world, add(world, "one"));
    assert_prefetch(world, "## Memory\n\none");
    first_in(world, "known", path);
    assert_mode(world, path, 0600);
    assert_int_equal(fstatat(world->temp.fd, path, &before, 0), 0);
    assert_prefetch(world, "## Memory\n\none");
    assert_int_equal(fstatat(world->temp.fd, path, &after, 0), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    char *tree = world_tree(world, "home/offline", TREE_ALL);
    assert_null(strstr(tree, "hunter2"));
    free(tree);
}

/* Cuts the last byte off every file of a folder of the place. */
static void tear_all(struct world *world, const char *name)
{
    char here[600];
    snprintf(here, sizeof here, "%s/%s", world->temp.path, folder(world, name));
    DIR *dir = opendir(here);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat info;
        if (*entry->d_name == '.')
            continue;
        int fd = openat(dirfd(dir), entry->d_name, O_RDWR);
        assert_int_equal(fstat(fd, &info), 0);
        assert_int_equal(ftruncate(fd, info.st_size - 1), 0);
        close(fd);
    }
    closedir(dir);
}

static void test_a_torn_one_is_not_known(void **state)
{
    struct world *world = *state;
    struct ethos_file *file = NULL;

    begin(world, CACHED);
    assert_ok(world, add(world, "one"));
    assert_prefetch(world, "## Memory\n\none");
    go_down(ETHOS_BUSY);
    begin(world, CACHED);
    ethos_file_free(read_log(world));
    tear_all(world, "known");
    assert_error(&world->error, ethos_read(world->turn, NULL, &file, &world->error), ETHOS_BUSY);
}

static void test_what_was_forgotten_leaves_it(void **state)
{
    struct world *world = *state;
    struct ethos_purge purge;

    begin(world, CACHED);
    assert_ok(world, add(world, "the word is swordfish"));
    assert_prefetch(world, "## Memory\n\nthe word is swordfish");
    assert_ok(world, ethos_forget(world->turn, NULL,
                                  &(struct ethos_match){.text = VIEW("swordfish"),
                                                        .flags = ETHOS_MATCH_SUBSTRING},
                                  NULL, &purge, &world->error));
    char *tree = world_tree(world, "home", TREE_ALL);
    assert_null(strstr(tree, "swordfish"));
    free(tree);
}

#define NEEDLE VIEW("swordfish")
#define WORDS                                                                                      \
    "[{\"action\":\"add\",\"content\":\"the word is swordfish\\nand \\\"more\\\"\"},"              \
    "{\"action\":\"remove\",\"substringMatch\":\"swordfish\"},"                                    \
    "{\"action\":\"add\",\"content\":\"only swordfish\"}]"

static int forget(struct world *world, bool dry_run, struct ethos_purge *purge)
{
    const struct ethos_sync_how how = {.flags = dry_run ? ETHOS_SYNC_DRY_RUN : 0};
    memset(&world->error, 0, sizeof world->error);
    return ethos_forget(world->turn, NULL,
                        &(struct ethos_match){.text = NEEDLE, .flags = ETHOS_MATCH_SUBSTRING}, &how,
                        purge, &world->error);
}

static bool tells(struct world *world, const char *text)
{
    char *tree = world_tree(world, "home", TREE_ALL);
    bool found = strstr(tree, text) != NULL;
    free(tree);
    return found;
}

static void test_what_was_forgotten_leaves_calls_that_wait_even_when_nobody_is_there(void **state)
{
    struct world *world = *state;
    struct ethos_purge purge = {0};

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, world_sync(world, WORDS));
    assert_ok(world, add(world, "only swordfish"));
    assert_ok(world, add(world, "last"));
    assert_error(&world->error, forget(world, true, &purge), ETHOS_BUSY);
    assert_true(tells(world, "swordfish"));
    assert_error(&world->error, forget(world, false, &purge), ETHOS_BUSY);
    assert_non_null(strstr(world->error.hint, "2 queued changes"));
    assert_false(tells(world, "swordfish"));
    assert_int_equal(count_in(world, "queue"), 2);
    go_down(0);
    begin(world, QUEUE);
    assert_log(world, "and \"more\"\n\nlast\n");
    assert_int_equal(count_in(world, "refused"), 0);
}

static void test_what_was_forgotten_leaves_what_was_refused(void **state)
{
    struct world *world = *state;
    struct ethos_purge purge = {0};
    char path[PATH_SIZE], here[2 * PATH_SIZE];

    begin(world, QUEUE);
    assert_ok(world, world_sync(world, "{\"opId\":\"a\",\"updates\":[{\"action\":\"add\","
                                       "\"content\":\"first\"}]}"));
    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "a torn swordfish of some length, so that its end can go"));
    first_in(world, "queue", path);
    snprintf(here, sizeof here, "%s/%s", world->temp.path, path);
    assert_int_equal(truncate(here, 160), 0);
    assert_ok(world, world_sync(world, "{\"opId\":\"a\",\"updates\":" WORDS "}"));
    go_down(0);
    begin(world, 0); // also without the option
    assert_log(world, "first\n");
    assert_int_equal(count_in(world, "refused"), 2);
    assert_true(tells(world, "swordfish"));
    assert_ok(world, forget(world, true, &purge));
    assert_int_equal(purge.calls, 2);
    assert_true(tells(world, "swordfish"));
    assert_ok(world, forget(world, false, &purge));
    assert_int_equal(purge.calls, 2);
    assert_int_equal(purge.lines, 0);
    assert_false(tells(world, "swordfish"));
    assert_int_equal(count_in(world, "refused"), 1);
    assert_true(tells(world, "operation id used for other updates: a"));
    assert_error(&world->error, forget(world, false, &purge), ETHOS_NOTFOUND);
}

static void test_only_the_scope_that_is_meant_is_cleansed(void **state)
{
    struct world *world = *state;
    struct ethos_purge purge = {0};

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"scope\":\"global\",\"key\":"
                                       "\"a.md\",\"content\":\"a swordfish\"}]"));
    assert_error(&world->error, forget(world, false, &purge), ETHOS_BUSY);
    assert_true(tells(world, "swordfish"));
}

/* Whichever call fails, one that was told done is done, and no other change is lost. */
static void test_forgetting_fails_or_is_whole(void **state)
{
    struct world *world = *state;
    struct nth nth = {.failed = "yes"};

    for (unsigned long i = 1; *nth.failed; i++) {
        uint64_t calls = 0;
        const struct ethos_setup setup = {
            .host = &world->host, .root = world->home, .deadline_ms = 1000};
        rows_ram_clear(db);
        world_remove(world, "home/offline");
        go_down(ETHOS_BUSY);
        begin(world, QUEUE);
        assert_ok(world, world_sync(world, WORDS));
        assert_ok(world, add(world, "last"));
        nth = (struct nth){.number = i, .errnum = EIO};
        os_hook(nth_fails, &nth);
        int code = offline_forget(&setup, SCOPE, &(struct ethos_match){.text = NEEDLE}, false,
                                  &calls, &world->error);
        os_hook(NULL, NULL);
        if (code == ETHOS_OK && tells(world, "swordfish"))
            fail_msg("%s failed, and nobody said so", nth.failed);
        go_down(0);
        begin(world, QUEUE);
        struct ethos_file *file = read_log(world);
        assert_non_null(strstr(file->text, "and \"more\"\n"));
        assert_non_null(strstr(file->text, "last\n"));
        ethos_file_free(file);
    }
}

static void test_forgetting_needs_memory(void **state)
{
    struct world *world = *state;
    const struct ethos_setup setup = {
        .host = &world->host, .root = world->home, .deadline_ms = 1000};
    int code = ETHOS_NOMEM;

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, world_sync(world, WORDS));
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        uint64_t calls = 0;
        code = offline_forget(&setup, SCOPE, &(struct ethos_match){.text = NEEDLE}, false, &calls,
                              &world->error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_false(tells(world, "swordfish"));
}

static void test_a_backend_that_is_gone_is_asked_once(void **state)
{
    struct world *world = *state;

    begin(world, CACHED | QUEUE);
    assert_ok(world, add(world, "one"));
    assert_prefetch(world, "## Memory\n\none");
    go_down(ETHOS_BUSY);
    free(world_prefetch(world));
    unsigned before = rows_ram_hooks(db)->fetches;
    assert_ok(world, add(world, "two"));
    assert_int_equal(rows_ram_hooks(db)->fetches, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OFFLINE_TEST(test_without_an_option_nothing_is_in_front),
        OFFLINE_TEST(test_with_one_the_handle_comes_up_without_the_backend),
        OFFLINE_TEST(test_the_options_do_not_reach_the_backend_and_are_known_by_name),
        OFFLINE_TEST(test_prefetch_shows_what_was_last_known_and_says_so),
        OFFLINE_TEST(test_a_receipt_says_it_too),
        OFFLINE_TEST(test_what_is_shown_then_stays_within_the_budget),
        OFFLINE_TEST(test_what_nobody_knows_is_the_failure_itself),
        OFFLINE_TEST(test_a_storage_fault_is_not_being_out_of_reach),
        OFFLINE_TEST(test_a_read_shows_it_marked),
        OFFLINE_TEST(test_that_there_is_none_is_known_too),
        OFFLINE_TEST(test_it_is_written_when_it_changed_and_private),
        OFFLINE_TEST(test_a_torn_one_is_not_known),
        OFFLINE_TEST(test_what_was_forgotten_leaves_it),
        OFFLINE_TEST(test_what_was_forgotten_leaves_calls_that_wait_even_when_nobody_is_there),
        OFFLINE_TEST(test_what_was_forgotten_leaves_what_was_refused),
        OFFLINE_TEST(test_only_the_scope_that_is_meant_is_cleansed),
        OFFLINE_TEST(test_forgetting_fails_or_is_whole),
        OFFLINE_TEST(test_forgetting_needs_memory),
        OFFLINE_TEST(test_a_backend_that_is_gone_is_asked_once),
    };
    return cmocka_run_group_tests_name("offline", tests, NULL, NULL);
}

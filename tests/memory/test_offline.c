/*
 * test_offline.c: a backend that is out of reach: what is known is shown as such, what is to be changed
 * waits and is done once, in order.
 */
#include "memory/offline.h"

#include <sys/wait.h>

#include "../store/rows_ram.h"
#include "base/hash.h"
#include "world.h"

#define SCOPE "personality:default"
#define PATH_SIZE 1024
#define OLD "(memory is out of reach; this is what was known at " NOW_ISO ")"

/* ---- a backend that goes and comes ----------------------------------------------------------- */

static struct rows_ram *db;
static struct ethos_store_ops table;
static struct backend backend;

static int open_db(const struct ethos_setup *setup, struct ethos_store **out_store,
                   struct ethos_error *error)
{
    (void)setup;
    int down = rows_ram_hooks(db)->down;
    if (down) {
        *error = (struct ethos_error){.code = down, .text = "rows-ram: nobody there"};
        return down;
    }
    *out_store = rows_ram_open(db);
    return *out_store ? ETHOS_OK : ETHOS_NOMEM;
}

static int set_up(void **state)
{
    static const struct ethos_option options[] = {
        {"url", ETHOS_OPTION_STRING, NULL, "where"},
        {"password", ETHOS_OPTION_SECRET, NULL, "of the user"},
        {0},
    };
    db = rows_ram_new(&log_default_host);
    struct ethos_store *store = db ? rows_ram_open(db) : NULL;
    if (!store || world_set_up_quick(state) != 0)
        return -1;
    table = *store->ops;
    table.open = open_db;
    table.options = options;
    backend = (struct backend){.store = &table};
    store->ops->close(store);
    return 0;
}

static int tear_down(void **state)
{
    int failed = world_tear_down(state);
    rows_ram_free(db);
    return failed;
}

#define OFFLINE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

enum { CACHED = 1, QUEUE = 2 };

static int open_front(struct world *world, unsigned how, uint32_t deadline_ms,
                      struct ethos_provider **out)
{
    const struct ethos_setting settings[] = {
        {"url", "rows://there"},
        {"password", "hunter2"},
        {"offline", how & CACHED ? "cached" : "fail"},
        {"onOffline", how & QUEUE ? "queue" : "refuse"},
    };
    const struct secrets_given given = {settings, 4, NULL, world->home, NULL};
    const struct ethos_setup setup = {
        .host = &world->host, .root = world->home, .deadline_ms = deadline_ms};
    memset(&world->error, 0, sizeof world->error);
    return offline_open(&backend, &setup, &given, (struct registry_group){0}, out, &world->error);
}

/* Another process, as far as this one can tell. */
static void begin(struct world *world, unsigned how)
{
    struct ethos_provider *front;
    world_close(world);
    assert_ok(world, open_front(world, how, 1000, &front));
    world_open_with(world, (struct ethos_options){.provider = front});
    world_turn(world, NULL);
}

static void go_down(int code)
{
    rows_ram_hooks(db)->down = code;
}

static int add(struct world *world, const char *text)
{
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = view_str(text)};
    memset(&world->error, 0, sizeof world->error);
    return ethos_sync(world->turn, &update, 1, NULL, &world->error);
}

static struct ethos_file *read_log(struct world *world)
{
    struct ethos_file *file = NULL;
    memset(&world->error, 0, sizeof world->error);
    assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
    return file;
}

static void assert_log(struct world *world, const char *expected)
{
    struct ethos_file *file = read_log(world);
    assert_non_null(file->text);
    assert_string_equal(file->text, expected);
    assert_int_equal(file->known_ms, 0);
    ethos_file_free(file);
}

/* The one folder below <home>/offline, and below that. */
static const char *folder(struct world *world, const char *name)
{
    static char path[400];
    char here[160];
    snprintf(here, sizeof here, "%s/offline", world->home);
    DIR *dir = opendir(here);
    snprintf(path, sizeof path, "none");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (*entry->d_name != '.')
            snprintf(path, sizeof path, "home/offline/%s/%s", entry->d_name, name);
    if (dir)
        closedir(dir);
    return path;
}

static int count_in(struct world *world, const char *name)
{
    char here[600];
    int count = 0;
    snprintf(here, sizeof here, "%s/%s", world->temp.path, folder(world, name));
    DIR *dir = opendir(here);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += *entry->d_name != '.';
    if (dir)
        closedir(dir);
    return count;
}

/* The first of the files in a folder of the place, in <temp>. */
static void first_in(struct world *world, const char *name, char out[PATH_SIZE])
{
    char here[600];
    struct dirent **entries;
    snprintf(here, sizeof here, "%s/%s", world->temp.path, folder(world, name));
    int count = scandir(here, &entries, NULL, alphasort);
    assert_true(count > 2);
    snprintf(out, PATH_SIZE, "%s/%s", folder(world, name), entries[2]->d_name);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

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
    assert_ok(world,
              ethos_forget(world->turn, NULL, VIEW("swordfish"), NULL, &purge, &world->error));
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
    return ethos_forget(world->turn, NULL, NEEDLE, &how, purge, &world->error);
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
    assert_non_null(strstr(world->error.hint, "2 calls"));
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
        int code = offline_forget(&setup, SCOPE, NEEDLE, false, &calls, &world->error);
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
        code = offline_forget(&setup, SCOPE, NEEDLE, false, &calls, &world->error);
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

/* ---- what waits ------------------------------------------------------------------------------ */

static void test_sync_is_refused_by_default_and_nothing_is_kept(void **state)
{
    struct world *world = *state;

    begin(world, CACHED);
    go_down(ETHOS_BUSY);
    assert_error(&world->error, add(world, "one"), ETHOS_BUSY);
    assert_int_equal(count_in(world, "queue"), 0);
}

struct told {
    int queued, written, failed;
};

static void count_outcome(void *arg, const struct ethos_outcome *outcome)
{
    struct told *told = arg;
    told->queued += outcome->kind == ETHOS_OUTCOME_QUEUED;
    told->written += outcome->kind == ETHOS_OUTCOME_WRITTEN;
    told->failed += outcome->kind == ETHOS_OUTCOME_FAILED;
}

static void test_a_call_waits_survives_and_is_done_once_in_order(void **state)
{
    struct world *world = *state;
    struct told told = {0};
    const struct ethos_sync_how how = {.each = count_outcome, .arg = &told};
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = VIEW("one")};

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, ethos_sync(world->turn, &update, 1, &how, &world->error));
    assert_int_equal(told.queued, 1);
    assert_int_equal(told.written, 0);
    begin(world, QUEUE);
    assert_ok(world, add(world, "two"));
    assert_ok(world, world_sync(world, "[{\"action\":\"remove\",\"substringMatch\":\"one\"},"
                                       "{\"action\":\"add\",\"content\":\"three\"}]"));
    assert_int_equal(count_in(world, "queue"), 3);
    go_down(0);
    begin(world, QUEUE);
    assert_log(world,
               "\ntwo\n\nthree\n"); // the line of "one" is gone, the blank one after it stays
    assert_false(world_exists(world, folder(world, "queue")));
    begin(world, QUEUE);
    assert_log(world,
               "\ntwo\n\nthree\n"); // the line of "one" is gone, the blank one after it stays
}

static void test_what_waits_is_done_before_what_comes_next(void **state)
{
    struct world *world = *state;

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    go_down(0);
    begin(world, 0); // also when the option is gone meanwhile
    assert_ok(world, add(world, "two"));
    assert_log(world, "one\n\ntwo\n");
}

static void test_what_asks_for_the_present_text_is_refused(void **state)
{
    struct world *world = *state;
    const struct ethos_sync_how dry = {.flags = ETHOS_SYNC_DRY_RUN};
    const struct ethos_update plain = {.action = ETHOS_ACTION_ADD, .text = VIEW("one")};
    struct ethos_update update = plain;

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_error(&world->error, ethos_sync(world->turn, &plain, 1, &dry, &world->error),
                 ETHOS_BUSY);
    update.if_match = "absent";
    assert_error(&world->error, ethos_sync(world->turn, &update, 1, NULL, &world->error),
                 ETHOS_BUSY);
    assert_non_null(strstr(world->error.text, "not queued"));
    update.if_match = NULL;
    update.text = VIEW("\xff");
    assert_error(&world->error, ethos_sync(world->turn, &update, 1, NULL, &world->error),
                 ETHOS_BUSY);
    assert_error(&world->error,
                 ethos_write(world->turn, NULL, NULL, VIEW("whole"), NULL, &world->error),
                 ETHOS_BUSY);
    assert_int_equal(count_in(world, "queue"), 0);
}

static void count_finding(void *arg, const struct ethos_finding *finding)
{
    (void)finding;
    ++*(int *)arg;
}

static int count_findings(struct world *world)
{
    int count = 0;
    assert_ok(world, offline_check(world->home, count_finding, &count, &world->error));
    return count;
}

static void test_doctor_tells_what_waits(void **state)
{
    struct world *world = *state;

    assert_int_equal(count_findings(world), 0);
    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    assert_ok(world, add(world, "two"));
    assert_int_equal(count_findings(world), 1);
}

static void test_what_is_refused_for_good_is_put_aside_and_the_rest_done(void **state)
{
    struct world *world = *state;
    char path[PATH_SIZE];

    begin(world, QUEUE);
    assert_ok(world, world_sync(world, "{\"opId\":\"a\",\"updates\":[{\"action\":\"add\","
                                       "\"content\":\"first\"}]}"));
    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, world_sync(world, "{\"opId\":\"a\",\"updates\":[{\"action\":\"add\","
                                       "\"content\":\"another\"}]}"));
    assert_ok(world, add(world, "last"));
    go_down(0);
    begin(world, QUEUE);
    assert_log(world, "first\n\nlast\n");
    assert_int_equal(count_in(world, "refused"), 1);
    assert_int_equal(count_findings(world), 1);
    first_in(world, "refused", path);
    char *text = temp_read(&world->temp, path, NULL);
    assert_non_null(strstr(text, "operation id used for other updates: a"));
    assert_non_null(strstr(text, "another"));
    free(text);
}

static void test_what_a_backend_refuses_to_everybody_is_not_the_calls_fault(void **state)
{
    struct world *world = *state;

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    assert_ok(world, add(world, "two"));
    go_down(0);
    begin(world, QUEUE); // reached, and then the password is another
    go_down(ETHOS_DENIED);
    assert_error(&world->error, add(world, "three"), ETHOS_DENIED);
    assert_int_equal(count_in(world, "queue"), 2);
    assert_int_equal(count_in(world, "refused"), 0);
    go_down(0);
    assert_ok(world, add(world, "three"));
    assert_log(world, "one\n\ntwo\n\nthree\n");
}

static void test_one_that_takes_no_changes_is_read(void **state)
{
    struct world *world = *state;

    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    rows_ram_hooks(db)->fails = ETHOS_BUSY;
    assert_ok(world, add(world, "two"));
    assert_int_equal(count_in(world, "queue"), 1);
    rows_ram_hooks(db)->fails = ETHOS_BUSY;
    assert_log(world, "one\n");
    assert_int_equal(count_in(world, "queue"), 1);
    assert_log(world, "one\n\ntwo\n");
}

static void test_what_waits_is_counted(void **state)
{
    struct world *world = *state;
    struct offline_waiting waiting;
    struct ethos_provider *front;

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, open_front(world, QUEUE, 1000, &front));
    offline_waiting(front, &waiting);
    assert_int_equal(waiting.calls, 0);
    assert_ok(world, add(world, "one"));
    assert_ok(world, add(world, "two"));
    offline_waiting(front, &waiting);
    assert_int_equal(waiting.calls, 2);
    assert_true(waiting.since_ms > 0);
    front->ops->close(front);
}

static void test_a_torn_call_is_put_aside_and_the_rest_done(void **state)
{
    struct world *world = *state;
    char path[PATH_SIZE], here[2 * PATH_SIZE];

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    assert_ok(world, add(world, "two"));
    first_in(world, "queue", path);
    snprintf(here, sizeof here, "%s/%s", world->temp.path, path);
    assert_int_equal(truncate(here, 50), 0);
    go_down(0);
    begin(world, QUEUE);
    assert_log(world, "two\n");
    assert_int_equal(count_in(world, "refused"), 1);
}

/* As a call of that number would be named, and what it holds is told by a checksum. */
static void put_call(struct world *world, unsigned number, const char *text)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%012u-%08x.json", folder(world, "queue"), number,
             hash_crc32c(view_str(text)));
    temp_write(&world->temp, path, text);
}

static void test_what_another_program_put_there_is_put_aside_and_the_rest_done(void **state)
{
    static const char *const odd[] = {
        "",
        "[]",
        "{\"opId\":\"x\",\"updates\":[]}",
        "{\"version\":9,\"calls\":[{\"do\":\"add\"}]}",
        "{\"opId\":\"x\",\"updates\":[{\"action\":\"append\",\"scope\":\"global\",\"key\":\"a.md\"}"
        "],"
        "\"context\":{\"userScope\":\"user:u\",\"memoryScope\":\"global\"}}",
        "{\"opId\":\"x\",\"updates\":[{\"action\":\"add\",\"scope\":\"../up\",\"key\":\"a.md\","
        "\"content\":\"x\"}],\"context\":{\"userScope\":\"user:u\",\"memoryScope\":\"global\"}}",
        "{\"opId\":\"x\",\"updates\":[{\"action\":\"add\",\"scope\":\"global\",\"key\":\"../"
        "up.md\","
        "\"content\":\"x\"}],\"context\":{\"userScope\":\"user:u\",\"memoryScope\":\"global\"}}",
        "{\"opId\":7,\"updates\":{},\"context\":[]}",
    };
    struct world *world = *state;

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    for (unsigned i = 0; i < COUNT(odd); i++)
        put_call(world, 10 + i, odd[i]);
    assert_ok(world, add(world, "two"));
    go_down(0);
    begin(world, QUEUE);
    assert_log(world, "one\n\ntwo\n");
    assert_int_equal(count_in(world, "refused"), COUNT(odd));
    assert_int_equal(count_in(world, "queue"), 0);
    assert_int_equal(rows_ram_version(db, "../up"), 0);
}

static void test_what_is_no_file_there_does_not_stop_the_others(void **state)
{
    struct world *world = *state;
    char path[PATH_SIZE], here[2 * PATH_SIZE];

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    snprintf(path, sizeof path, "%s", folder(world, "queue"));
    snprintf(here, sizeof here, "%s/%s/000000000000-00000000.json", world->temp.path, path);
    assert_int_equal(mkdir(here, 0700), 0);
    snprintf(here, sizeof here, "%s/%s/000000000000-00000001.json", world->temp.path, path);
    assert_int_equal(mkfifo(here, 0600), 0);
    snprintf(here, sizeof here, "%s/%s/000000000000-00000002.json", world->temp.path, path);
    assert_int_equal(symlink("/etc/passwd", here), 0);
    snprintf(here, sizeof here, "%s/%s/000000000000-00000003.json", world->temp.path, path);
    assert_int_equal(symlink("nowhere", here), 0);
    go_down(0);
    begin(world, QUEUE);
    assert_log(world, "one\n");
    assert_ok(world, add(world, "two"));
    assert_log(world, "one\n\ntwo\n");
    assert_int_equal(count_in(world, "queue"), 4);
    assert_int_equal(count_in(world, "refused"), 0);
}

static void test_a_call_that_has_rotten_is_not_done(void **state)
{
    struct world *world = *state;
    char path[PATH_SIZE];

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "pay 100"));
    first_in(world, "queue", path);
    char *text = temp_read(&world->temp, path, NULL);
    memcpy(strstr(text, "100"), "900", 3);
    temp_write(&world->temp, path, text);
    free(text);
    go_down(0);
    begin(world, QUEUE);
    struct ethos_file *file = read_log(world);
    assert_null(file->text);
    ethos_file_free(file);
    assert_int_equal(count_in(world, "refused"), 1);
}

static int fail_unlink(void *arg, const char *call, unsigned long number)
{
    (void)number;
    int *left = arg;
    return strcmp(call, "unlinkat") == 0 && (*left)-- > 0 ? EIO : 0;
}

static void test_one_that_died_before_striking_off_does_no_harm(void **state)
{
    struct world *world = *state;
    int failures = 1000;

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    go_down(0);
    begin(world, QUEUE);
    os_hook(fail_unlink, &failures);
    assert_log(world, "one\n");
    os_hook(NULL, NULL);
    assert_int_equal(count_in(world, "queue"), 1);
    begin(world, QUEUE);
    assert_log(world, "one\n");
    assert_int_equal(count_in(world, "queue"), 0);
}

/* Whichever call fails: what was taken waits, what was refused does not. */
static void test_a_full_disk_refuses_the_call(void **state)
{
    struct world *world = *state;
    struct nth nth = {.failed = "yes"};
    int refused = 0;

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    for (unsigned long i = 1; *nth.failed; i++) {
        nth = (struct nth){.number = i, .errnum = ENOSPC};
        world_remove(world, folder(world, "queue"));
        os_hook(nth_fails, &nth);
        int code = add(world, "one");
        os_hook(NULL, NULL);
        refused += code != ETHOS_OK;
        if (count_in(world, "queue") != (code == ETHOS_OK))
            fail_msg("%s failed: %d", nth.failed, code);
    }
    assert_true(refused > 5);
}

static void test_without_memory_a_call_is_kept_or_refused(void **state)
{
    struct world *world = *state;
    int code = ETHOS_NOMEM, kept = 0;

    go_down(ETHOS_BUSY);
    begin(world, CACHED | QUEUE);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = add(world, "one");
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        kept += code == ETHOS_OK;
    }
    assert_int_equal(count_in(world, "queue"), kept);
}

static void assert_done_once(struct world *world)
{
    begin(world, CACHED | QUEUE);
    assert_log(world, "one\n");
    assert_int_equal(count_in(world, "queue"), 0);
    assert_int_equal(count_in(world, "refused"), 0);
}

static void test_without_memory_what_waits_is_not_lost(void **state)
{
    struct world *world = *state;
    int code = ETHOS_NOMEM;

    go_down(ETHOS_BUSY);
    begin(world, CACHED | QUEUE);
    assert_ok(world, add(world, "one"));
    go_down(0);
    begin(world, CACHED | QUEUE);
    ALLOC_EACH(n, code == ETHOS_OK && count_in(world, "queue") == 0)
    {
        struct ethos_block *block = NULL;
        code = ethos_prefetch(world->turn, NULL, &block, &world->error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        ethos_block_free(block);
    }
    assert_done_once(world);
}

static void test_whatever_fails_here_what_waits_is_not_lost(void **state)
{
    struct world *world = *state;
    struct nth nth = {.failed = "yes"};

    for (unsigned long i = 1; *nth.failed; i++) {
        struct ethos_block *block = NULL;
        rows_ram_clear(db);
        go_down(ETHOS_BUSY);
        begin(world, CACHED | QUEUE);
        assert_ok(world, add(world, "one"));
        go_down(0);
        begin(world, CACHED | QUEUE);
        nth = (struct nth){.number = i, .errnum = EIO};
        os_hook(nth_fails, &nth);
        ethos_prefetch(world->turn, NULL, &block, &world->error);
        os_hook(NULL, NULL);
        ethos_block_free(block);
        assert_done_once(world);
    }
}

static void test_what_is_known_needs_memory(void **state)
{
    struct world *world = *state;
    int code = ETHOS_NOMEM;

    begin(world, CACHED);
    assert_ok(world, add(world, "one"));
    free(world_prefetch(world));
    go_down(ETHOS_BUSY);
    begin(world, CACHED);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct ethos_block *block = NULL;
        code = ethos_prefetch(world->turn, NULL, &block, &world->error);
        if (code == ETHOS_OK && (!block || block->known_ms == 0))
            code = ETHOS_BUSY; // not known for want of memory
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM || code == ETHOS_BUSY);
        ethos_block_free(block);
    }
}

static void test_opening_needs_memory(void **state)
{
    struct world *world = *state;
    struct ethos_provider *front = NULL;
    int code = ETHOS_NOMEM;

    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = open_front(world, CACHED | QUEUE, 1000, &front);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    front->ops->close(front);
}

static void test_processes_that_queue_at_once_lose_nothing(void **state)
{
    struct world *world = *state;
    enum { CHILDREN = 4, CALLS = 10 };

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    for (int i = 0; i < CHILDREN; i++) {
        if (fork() != 0)
            continue;
        begin(world, QUEUE);
        int failed = 0;
        for (int j = 0; j < CALLS; j++) {
            char text[32];
            snprintf(text, sizeof text, "%d.%d", i, j);
            failed += add(world, text) != ETHOS_OK;
        }
        _exit(failed);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_in(world, "queue"), CHILDREN * CALLS);
    go_down(0);
    begin(world, QUEUE);
    struct ethos_file *file = read_log(world);
    for (int i = 0; i < CHILDREN; i++) { // each one's own in its order
        const char *at = file->text;
        for (int j = 0; j < CALLS; j++) {
            char text[32];
            snprintf(text, sizeof text, "%d.%d\n", i, j);
            at = strstr(at, text);
            assert_non_null(at);
        }
    }
    ethos_file_free(file);
}

/* While one does what waits, another comes. */
struct meeting {
    struct world *world;
    struct ethos_provider *other;
    int code;
    struct told told;
};

static void meet(void *arg)
{
    struct meeting *meeting = arg;
    const struct ethos_update update = {
        .action = ETHOS_ACTION_ADD, .scope = SCOPE, .key = "MEMORY.md", .text = VIEW("three")};
    const struct ethos_sync_how how = {.each = count_outcome, .arg = &meeting->told};
    const struct ethos_context *context = ethos_turn_context(meeting->world->turn);
    meeting->code = meeting->other->ops->sync(meeting->other, context, &update, 1, &how, NULL);
}

static void test_one_who_comes_meanwhile_is_queued_behind(void **state)
{
    struct world *world = *state;
    struct meeting meeting = {.world = world};

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    assert_ok(world, add(world, "two"));
    go_down(0);
    begin(world, QUEUE);
    assert_ok(world, open_front(world, QUEUE, 20, &meeting.other));
    rows_ram_hooks(db)->between = meet;
    rows_ram_hooks(db)->arg = &meeting;
    assert_log(world, "one\n\ntwo\n\nthree\n");
    assert_ok(world, meeting.code);
    assert_int_equal(meeting.told.queued, 1);
    meeting.other->ops->close(meeting.other);
}

static void test_of_a_call_that_was_half_done_the_rest_waits(void **state)
{
    struct world *world = *state;
    struct told told = {0};
    const struct ethos_sync_how how = {.each = count_outcome, .arg = &told};
    const struct ethos_update updates[] = {
        {.action = ETHOS_ACTION_ADD, .scope = "global", .key = "a.md", .text = VIEW("a")},
        {.action = ETHOS_ACTION_ADD, .text = VIEW("b")},
    };

    begin(world, QUEUE);
    rows_ram_hooks(db)->fails = ETHOS_BUSY;
    assert_ok(world, ethos_sync(world->turn, updates, 2, &how, &world->error));
    assert_int_equal(told.written, 1);
    assert_int_equal(told.queued, 1);
    assert_int_equal(told.failed, 0);
    assert_int_equal(count_in(world, "queue"), 1);
    begin(world, QUEUE);
    assert_log(world, "b\n");
    assert_int_equal(rows_ram_version(db, "global"), 1);
}

/* The backend did it, and went away before it could say so. */
static void lose_an_answer(void)
{
    rows_ram_hooks(db)->loses = ETHOS_IO;
    rows_ram_hooks(db)->then = ETHOS_BUSY;
}

static void test_one_whose_answer_was_lost_waits_and_is_done_once(void **state)
{
    struct world *world = *state;
    struct told told = {0};
    const struct ethos_origin origin = {.op_id = "mine"};
    const struct ethos_sync_how how = {.origin = &origin, .each = count_outcome, .arg = &told};
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = VIEW("two")};

    begin(world, QUEUE);
    lose_an_answer();
    assert_ok(world, add(world, "one"));
    assert_int_equal(count_in(world, "queue"), 1);
    assert_ok(world, add(world, "and one behind it"));
    go_down(ETHOS_OK);
    begin(world, QUEUE);
    assert_log(world, "one\n\nand one behind it\n");
    lose_an_answer();
    assert_ok(world, ethos_sync(world->turn, &update, 1, &how, &world->error));
    assert_int_equal(told.queued, 1);
    assert_int_equal(told.failed, 0);
    go_down(ETHOS_OK);
    begin(world, QUEUE);
    assert_log(world, "one\n\nand one behind it\n\ntwo\n");
    assert_int_equal(count_in(world, "queue"), 0);
    assert_int_equal(count_in(world, "refused"), 0);
}

/* It is neither said to be queued nor that nothing was done. */
static void test_one_whose_answer_was_lost_and_that_cannot_wait_stays_unknown(void **state)
{
    struct world *world = *state;
    struct told told = {0};
    const struct ethos_sync_how how = {.each = count_outcome, .arg = &told};
    const struct ethos_update update = {
        .action = ETHOS_ACTION_ADD, .text = VIEW("one"), .if_match = "absent"};

    begin(world, QUEUE);
    lose_an_answer();
    assert_error(&world->error, ethos_sync(world->turn, &update, 1, &how, &world->error), ETHOS_IO);
    assert_int_equal(told.failed, 1);
    rows_ram_hooks(db)->then = 0; // it is still there
    go_down(ETHOS_OK);
    rows_ram_hooks(db)->loses = ETHOS_IO;
    assert_error(&world->error, add(world, "two"), ETHOS_IO);
    assert_int_equal(count_in(world, "queue"), 0);
    assert_log(world, "one\n\ntwo\n");
}

/* That some of it waits does not hide that some was refused. */
static void test_of_a_call_that_was_half_refused_the_rest_waits_and_it_failed(void **state)
{
    struct world *world = *state;
    struct told told = {0};
    const struct ethos_sync_how how = {.each = count_outcome, .arg = &told};
    const struct ethos_update updates[] = {
        {.action = ETHOS_ACTION_ADD, .text = VIEW("b")},
        {.action = ETHOS_ACTION_ADD,
         .scope = "global",
         .key = "a.md",
         .text = VIEW("a"),
         .if_match = "other"},
    };

    begin(world, QUEUE);
    rows_ram_hooks(db)->fails = ETHOS_BUSY;
    assert_error(&world->error, ethos_sync(world->turn, updates, 2, &how, &world->error),
                 ETHOS_CONFLICT);
    assert_non_null(strstr(world->error.text, "a.md"));
    assert_int_equal(told.queued, 1);
    begin(world, QUEUE);
    assert_log(world, "b\n");
    assert_int_equal(rows_ram_version(db, "global"), 0);
}

/* What was done before is not done again, and what was not reached is done then. */
static void test_of_several_scopes_those_without_an_answer_wait_together(void **state)
{
    struct world *world = *state;
    struct told told = {0};
    const struct ethos_sync_how how = {.each = count_outcome, .arg = &told};
    const struct ethos_update updates[] = {
        {.action = ETHOS_ACTION_ADD, .scope = "global", .key = "a.md", .text = VIEW("a")},
        {.action = ETHOS_ACTION_ADD, .text = VIEW("b")},
        {.action = ETHOS_ACTION_REPLACE, .scope = "global", .key = "b.md", .text = VIEW("")},
        {.action = ETHOS_ACTION_REMOVE, .scope = "global", .key = "a.md", .text = VIEW("none")},
        {.action = ETHOS_ACTION_DELETE, .scope = "global", .key = "c.md"},
    };

    begin(world, QUEUE);
    lose_an_answer();
    assert_ok(world, ethos_sync(world->turn, updates, 5, &how, &world->error));
    assert_int_equal(told.queued, 4);
    assert_int_equal(told.written + told.failed, 0);
    assert_int_equal(count_in(world, "queue"), 1);
    assert_int_equal(rows_ram_version(db, "global"), 2);
    go_down(ETHOS_OK);
    begin(world, QUEUE);
    assert_log(world, "b\n");
    assert_int_equal(rows_ram_version(db, "global"), 2);
    assert_int_equal(count_in(world, "queue"), 0);
    assert_int_equal(count_in(world, "refused"), 0);
}

/* The backend has it as it was, and is rid of it when it is back. */
static void test_one_whose_answer_was_lost_can_be_forgotten(void **state)
{
    struct world *world = *state;
    struct ethos_purge purge = {0};

    begin(world, QUEUE);
    lose_an_answer();
    assert_ok(world, add(world, "keep this\nthe key is hunter2"));
    assert_error(&world->error,
                 ethos_forget(world->turn, NULL, VIEW("hunter2"), NULL, &purge, &world->error),
                 ETHOS_BUSY);
    assert_int_equal(count_in(world, "queue"), 1);
    go_down(ETHOS_OK);
    begin(world, QUEUE);
    assert_ok(world, ethos_forget(world->turn, NULL, VIEW("hunter2"), NULL, &purge, &world->error));
    assert_log(world, "keep this\n");
    assert_false(rows_ram_holds(db, VIEW("hunter2")));
    assert_int_equal(count_in(world, "queue"), 0);
    assert_int_equal(count_in(world, "refused"), 0);
}

/* One that did not get there is done without what was forgotten. */
static void test_what_did_not_get_there_is_done_without_what_was_forgotten(void **state)
{
    struct world *world = *state;
    struct ethos_purge purge = {0};

    begin(world, QUEUE);
    rows_ram_hooks(db)->fails = ETHOS_BUSY;
    assert_ok(world, add(world, "keep this\nthe key is hunter2"));
    go_down(ETHOS_BUSY);
    assert_error(&world->error,
                 ethos_forget(world->turn, NULL, VIEW("hunter2"), NULL, &purge, &world->error),
                 ETHOS_BUSY);
    go_down(ETHOS_OK);
    begin(world, QUEUE);
    assert_log(world, "keep this\n");
    assert_false(rows_ram_holds(db, VIEW("hunter2")));
    assert_int_equal(count_in(world, "refused"), 0);
}

static void test_as_many_as_the_limit_wait(void **state)
{
    struct world *world = *state;
    char path[PATH_SIZE], here[2 * PATH_SIZE];

    go_down(ETHOS_BUSY);
    begin(world, QUEUE);
    assert_ok(world, add(world, "one"));
    first_in(world, "queue", path);
    snprintf(here, sizeof here, "%s/%s", world->temp.path, path);
    assert_int_equal(truncate(here, OFFLINE_MAX_BYTES), 0);
    assert_error(&world->error, add(world, "two"), ETHOS_LIMIT);
    assert_int_equal(count_in(world, "queue"), 1);
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
        OFFLINE_TEST(test_sync_is_refused_by_default_and_nothing_is_kept),
        OFFLINE_TEST(test_a_call_waits_survives_and_is_done_once_in_order),
        OFFLINE_TEST(test_what_waits_is_done_before_what_comes_next),
        OFFLINE_TEST(test_what_asks_for_the_present_text_is_refused),
        OFFLINE_TEST(test_doctor_tells_what_waits),
        OFFLINE_TEST(test_what_a_backend_refuses_to_everybody_is_not_the_calls_fault),
        OFFLINE_TEST(test_one_that_takes_no_changes_is_read),
        OFFLINE_TEST(test_what_waits_is_counted),
        OFFLINE_TEST(test_what_is_refused_for_good_is_put_aside_and_the_rest_done),
        OFFLINE_TEST(test_a_torn_call_is_put_aside_and_the_rest_done),
        OFFLINE_TEST(test_what_another_program_put_there_is_put_aside_and_the_rest_done),
        OFFLINE_TEST(test_what_is_no_file_there_does_not_stop_the_others),
        OFFLINE_TEST(test_a_call_that_has_rotten_is_not_done),
        OFFLINE_TEST(test_one_that_died_before_striking_off_does_no_harm),
        OFFLINE_TEST(test_a_full_disk_refuses_the_call),
        OFFLINE_TEST(test_without_memory_a_call_is_kept_or_refused),
        OFFLINE_TEST(test_without_memory_what_waits_is_not_lost),
        OFFLINE_TEST(test_whatever_fails_here_what_waits_is_not_lost),
        OFFLINE_TEST(test_what_is_known_needs_memory),
        OFFLINE_TEST(test_opening_needs_memory),
        OFFLINE_TEST(test_processes_that_queue_at_once_lose_nothing),
        OFFLINE_TEST(test_one_who_comes_meanwhile_is_queued_behind),
        OFFLINE_TEST(test_of_a_call_that_was_half_done_the_rest_waits),
        OFFLINE_TEST(test_one_whose_answer_was_lost_waits_and_is_done_once),
        OFFLINE_TEST(test_one_whose_answer_was_lost_and_that_cannot_wait_stays_unknown),
        OFFLINE_TEST(test_of_a_call_that_was_half_refused_the_rest_waits_and_it_failed),
        OFFLINE_TEST(test_of_several_scopes_those_without_an_answer_wait_together),
        OFFLINE_TEST(test_one_whose_answer_was_lost_can_be_forgotten),
        OFFLINE_TEST(test_what_did_not_get_there_is_done_without_what_was_forgotten),
        OFFLINE_TEST(test_as_many_as_the_limit_wait),
    };
    return cmocka_run_group_tests_name("offline", tests, NULL, NULL);
}

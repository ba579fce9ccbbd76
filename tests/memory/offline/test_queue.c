/*
 * test_queue.c: a backend that is out of reach: what is to be changed waits and is done once, in order.
 */
#include <sys/wait.h>

#include "base/hash.h"
#include "fixture.h"

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
    assert_error(
        &world->error,
        ethos_forget(world->turn, NULL,
                     &(struct ethos_match){.text = VIEW("hunter2"), .flags = ETHOS_MATCH_SUBSTRING},
                     NULL, &purge, &world->error),
        ETHOS_BUSY);
    assert_int_equal(count_in(world, "queue"), 1);
    go_down(ETHOS_OK);
    begin(world, QUEUE);
    assert_ok(world, ethos_forget(world->turn, NULL,
                                  &(struct ethos_match){.text = VIEW("hunter2"),
                                                        .flags = ETHOS_MATCH_SUBSTRING},
                                  NULL, &purge, &world->error));
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
    assert_error(
        &world->error,
        ethos_forget(world->turn, NULL,
                     &(struct ethos_match){.text = VIEW("hunter2"), .flags = ETHOS_MATCH_SUBSTRING},
                     NULL, &purge, &world->error),
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
    return cmocka_run_group_tests_name("offline queue", tests, NULL, NULL);
}

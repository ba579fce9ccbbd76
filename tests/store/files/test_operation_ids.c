/*
 * test_operation_ids.c: the operations a scope of the files store remembers: they stand in its history,
 * whatever befell the writer.
 */
#include "home.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/hash.h"

#define HISTORY FILE_OF("memory-history.jsonl")
#define NOW_MS INT64_C(1792000000000)
#define MONTH_MS (INT64_C(31) * 86400000)

static int set_up(void **state)
{
    int failed = home_set_up(state);
    if (!failed)
        home_open_at(*state, 0, NOW_MS);
    return failed;
}

#define OPS_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, home_tear_down)

/* ---- operations ----------------------------------------------------------------------------- */

static int append_x(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    static char text[4096];
    (void)arg, (void)count, (void)error;
    snprintf(text, sizeof text, "%sx", edits->old.data ? edits->old.data : "");
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(text);
    snprintf(edits->receipt, sizeof edits->receipt, "a receipt");
    return ETHOS_OK;
}

static int add_x_as(struct home *home, const struct ethos_origin *origin,
                    struct ethos_edit *out_edit)
{
    struct ethos_edit edit = {.key = "a.md"};
    memset(&home->error, 0, sizeof home->error);
    int code = home->store->ops->update(home->store, SCOPE, &edit, 1, append_x, NULL, origin,
                                        &home->error);
    free(edit.old.data);
    edit.old = (struct ethos_text){0};
    if (out_edit)
        *out_edit = edit;
    return code;
}

/* Adds one x to a.md, once per id. */
static int add_x(struct home *home, const char *id, struct ethos_edit *out_edit)
{
    const struct ethos_origin origin = {.op_id = id, .op_digest = "d"};
    return add_x_as(home, &origin, out_edit);
}

static void assert_new(struct home *home, const char *id)
{
    struct ethos_edit edit;
    assert_int_equal(add_x(home, id, &edit), ETHOS_OK);
    assert_int_equal(edit.verdict, ETHOS_EDIT_PUT);
}

/* The answer is that of the first time. */
static void assert_known(struct home *home, const char *id, const char *text)
{
    struct ethos_edit edit;
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(view_str(text), revision);
    assert_int_equal(add_x(home, id, &edit), ETHOS_OK);
    assert_int_equal(edit.verdict, ETHOS_EDIT_REPEATED);
    assert_string_equal(edit.revision, revision);
    assert_string_equal(edit.receipt, "a receipt");
}

static size_t count_in_history(struct home *home, const char *what)
{
    char *text = temp_read(&home->temp, HISTORY, NULL);
    size_t count = 0;
    for (const char *at = text; at && (at = strstr(at, what)); at++)
        count++;
    free(text);
    return count;
}

/* ---- remembering ---------------------------------------------------------------------------- */

static void test_an_operation_stands_in_the_line_of_its_change(void **state)
{
    struct home *home = *state;
    assert_new(home, "one");
    assert_int_equal(count_in_history(home, "\n"), 1);
    assert_int_equal(count_in_history(home, "\"opId\":\"one\",\"txn\""), 1);
    assert_int_equal(count_in_history(home, "\"op\":{\"opId\":\"one\",\"ts\":1792000000000,"
                                            "\"digest\":\"d\",\"rows\":[{\"key\":\"a.md\","),
                     1);
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    assert_int_equal(count_in_history(home, "opId"), 2); // one without an id has none
    assert_false(home_exists(home, DIR_OF_SCOPE "/.mem/ops"));
}

static void test_a_repeat_is_answered_from_the_history(void **state)
{
    struct home *home = *state;
    assert_new(home, "one");
    assert_new(home, "two:2.b_c-d");
    assert_known(home, "one", "x");
    assert_known(home, "two:2.b_c-d", "xx");
    assert_file(home, FILE_OF("a.md"), "xx");
    assert_int_equal(count_in_history(home, "\n"), 2);
}

static void test_an_id_used_for_something_else_is_refused(void **state)
{
    struct home *home = *state;
    const struct ethos_origin other = {.op_id = "one", .op_digest = "another"};
    assert_new(home, "one");
    assert_int_equal(add_x_as(home, &other, NULL), ETHOS_DENIED);
    assert_string_equal(home->error.text, "operation id used for other updates: one");
    assert_file(home, FILE_OF("a.md"), "x");
    assert_int_equal(count_in_history(home, "\n"), 1);
}

static void test_an_operation_is_known_to_another_process_after_months_and_rotation(void **state)
{
    struct home *home = *state;
    assert_new(home, "one");
    for (int month = 1; month < 4; month++) {
        home_open_at(home, 0, NOW_MS + month * MONTH_MS);
        assert_known(home, "one", "x");
        assert_int_equal(home_write(home, SCOPE, "a.md", month % 2 ? "y" : "z"), ETHOS_OK);
    }
    assert_true(home_exists(home, FILE_OF("memory-history-2026-10.jsonl")));
    assert_known(home, "one", "x");
    assert_file(home, FILE_OF("a.md"), "y");
}

static void test_an_operation_is_known_without_the_index_and_far_behind_it(void **state)
{
    struct home *home = *state;
    char big[8192];
    assert_new(home, "one");
    for (int i = 0; i < 40; i++) {
        memset(big, 'a' + i % 2, sizeof big - 2);
        memcpy(big + sizeof big - 2, "\n", 2);
        assert_int_equal(home_write(home, SCOPE, "b.md", big), ETHOS_OK);
    }
    assert_known(home, "one", "x");
    unlinkat(home->temp.fd, DIR_OF_SCOPE "/.mem/index", 0);
    assert_known(home, "one", "x");
}

/* ---- what others leave in it ---------------------------------------------------------------- */

static void test_a_torn_line_was_never_acknowledged_and_is_done_again(void **state)
{
    struct home *home = *state;
    char *whole, torn[2048];
    assert_new(home, "one");
    char *before = temp_read(&home->temp, HISTORY, NULL);
    assert_new(home, "two");
    whole = temp_read(&home->temp, HISTORY, NULL);
    for (size_t size = strlen(before) + 1; size < strlen(whole); size += 37) {
        snprintf(torn, sizeof torn, "%.*s", (int)size, whole);
        home_put(home, HISTORY, torn);
        home_put(home, FILE_OF("a.md"), "x");
        assert_known(home, "one", "x");
        assert_new(home, "two");
        assert_file(home, FILE_OF("a.md"), "xx");
        assert_known(home, "two", "xx");
    }
    free(before);
    free(whole);
}

static void test_lines_that_only_look_like_an_operation_are_passed_over(void **state)
{
    static const char odd[] =
        "\n\"opId\":\"one\"\n{\"opId\":\"one\"\n{\"opId\":\"one\"}\n"
        "{\"ts\":1,\"scopeId\":\"personality:p\",\"key\":\"z.md\",\"source\":\"tool\","
        "\"opId\":\"one\"}\n"
        "{\"ts\":1,\"scopeId\":\"personality:p\",\"key\":\"z.md\",\"source\":\"tool\","
        "\"opId\":\"one\",\"op\":{\"opId\":\"one\",\"ts\":\"1\",\"digest\":\"d\",\"rows\":[]}}\n";
    struct home *home = *state;
    home_put(home, HISTORY, odd);
    assert_new(home, "one");
    assert_known(home, "one", "x");
    assert_reads(home, "a.md", "x");
}

/* ---- faults --------------------------------------------------------------------------------- */

/* Fails the nth call but close, which the kernel does whatever it says. */
struct nth {
    unsigned number;
    bool hit;
};

static int fail_nth(void *arg, const char *call, unsigned long number)
{
    struct nth *nth = arg;
    (void)number;
    if (strcmp(call, "close") == 0 || nth->number == 0 || --nth->number > 0)
        return 0;
    nth->hit = true;
    return EIO;
}

enum { FIRST_WRITE, FIRST_ID, LATER_ID, SITUATIONS };

static void prepare(struct home *home, int situation)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", home->root);
    assert_int_equal(system(command), 0);
    if (situation != FIRST_WRITE)
        assert_int_equal(home_write(home, SCOPE, "a.md", ""), ETHOS_OK);
    if (situation == LATER_ID)
        assert_new(home, "0");
    home_open_at(home, 0, NOW_MS);
}

/* However often it was tried, it was done once. */
static void assert_once(struct home *home, int situation)
{
    const char *after = situation == LATER_ID ? "xx" : "x";
    assert_int_equal(add_x(home, "1", NULL), ETHOS_OK);
    assert_file(home, FILE_OF("a.md"), after);
    assert_known(home, "1", after);
    if (situation == LATER_ID)
        assert_known(home, "0", "x");
    assert_no_litter(home);
}

/* One run with call n failing; false when there is no such call any more. */
static bool run_with_fault(struct home *home, int situation, unsigned n)
{
    struct nth nth = {.number = n};
    prepare(home, situation);
    os_hook(fail_nth, &nth);
    add_x(home, "1", NULL);
    os_hook(NULL, NULL);
    assert_once(home, situation);
    return nth.hit;
}

static void test_a_failure_of_any_call_is_noticed_and_a_retry_does_it_once(void **state)
{
    struct home *home = *state;
    for (int situation = 0; situation < SITUATIONS; situation++) {
        unsigned n = 1;
        while (run_with_fault(home, situation, n))
            n++;
        assert_true(n > 15);
    }
}

static void test_a_first_operation_without_memory_leaves_nothing(void **state)
{
    struct home *home = *state;
    int code = ETHOS_OK;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = add_x(home, "1", NULL);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(home_exists(home, "home"), code == ETHOS_OK);
    }
    assert_file(home, FILE_OF("a.md"), "x");
}

/* Saves once, as the draft is synced. */
static int save_once(void *arg, const char *call, unsigned long number)
{
    struct home **home = arg;
    (void)number;
    if (*home && strcmp(call, "fdatasync") == 0) {
        temp_write(&(*home)->temp, FILE_OF("a.md"), "human ");
        *home = NULL;
    }
    return 0;
}

static void test_a_round_that_begins_again_does_it_once(void **state)
{
    struct home *home = *state, *saver = home;
    os_hook(save_once, &saver);
    int code = add_x(home, "1", NULL);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_null(saver);
    assert_file(home, FILE_OF("a.md"), "human x");
    assert_known(home, "1", "human x");
}

/* ---- other processes ------------------------------------------------------------------------ */

/* Ends the process before the nth call. */
static int die_at(void *arg, const char *call, unsigned long number)
{
    (void)call;
    if (number == *(unsigned *)arg)
        _exit(77);
    return 0;
}

static bool die(struct home *home, unsigned n)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        os_hook(die_at, &n);
        _exit(add_x(home, "1", NULL) == ETHOS_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
    return WEXITSTATUS(status) == 77;
}

static void test_a_retry_after_death_does_it_once(void **state)
{
    struct home *home = *state;
    for (int situation = 0; situation < SITUATIONS; situation++) {
        bool died = true;
        for (unsigned n = 1; died; n++) {
            prepare(home, situation);
            died = die(home, n);
            assert_once(home, situation);
        }
    }
}

/* The child's part: 0 when it did the operation itself, 1 when it was done before, else 2. */
static int retry(struct home *home)
{
    const struct ethos_setup setup = {
        .host = &log_default_host, .root = home->root, .deadline_ms = 20000};
    struct home own = *home;
    struct ethos_edit edit;
    char revision[ETHOS_REVISION_SIZE];
    if (store_files.open(&setup, &own.store, NULL) != ETHOS_OK)
        return 2;
    int code = add_x(&own, "same", &edit);
    own.store->ops->close(own.store);
    hash_revision(VIEW("x"), revision);
    if (code != ETHOS_OK || strcmp(edit.revision, revision) != 0)
        return 2;
    return edit.verdict == ETHOS_EDIT_REPEATED;
}

/* Lets another process do the operation once this one has made everything but the lock. */
static int overtake(void *arg, const char *call, unsigned long number)
{
    struct home **home = arg;
    int status = 0;
    (void)number;
    if (!*home || strcmp(call, "flock") != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        os_hook(NULL, NULL);
        _exit(retry(*home));
    }
    *home = NULL;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : EIO;
}

static void test_who_is_overtaken_leaves_what_the_other_needs(void **state)
{
    struct home *home = *state, *other = home;
    os_hook(overtake, &other);
    struct ethos_edit edit;
    int code = add_x(home, "same", &edit);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_int_equal(edit.verdict, ETHOS_EDIT_REPEATED);
    assert_file(home, FILE_OF("a.md"), "x");
    assert_true(home_exists(home, DIR_OF_SCOPE "/.mem/.gitignore"));
    assert_true(home_exists(home, DIR_OF_SCOPE "/.mem/lock"));
}

static void test_sixteen_processes_with_one_id_do_it_once(void **state)
{
    enum { CHILDREN = 16 };
    struct home *home = *state;
    for (int round = 0; round < 5; round++) {
        int done = 0;
        prepare(home, FIRST_WRITE);
        for (int i = 0; i < CHILDREN; i++) {
            if (fork() == 0)
                _exit(retry(home));
        }
        for (int i = 0; i < CHILDREN; i++) {
            int status;
            assert_true(wait(&status) > 0);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
            done += WEXITSTATUS(status) == 0;
        }
        assert_int_equal(done, 1);
        assert_file(home, FILE_OF("a.md"), "x");
        assert_int_equal(count_in_history(home, "\n"), 1);
        assert_no_litter(home);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        OPS_TEST(test_an_operation_stands_in_the_line_of_its_change),
        OPS_TEST(test_a_repeat_is_answered_from_the_history),
        OPS_TEST(test_an_id_used_for_something_else_is_refused),
        OPS_TEST(test_an_operation_is_known_to_another_process_after_months_and_rotation),
        OPS_TEST(test_an_operation_is_known_without_the_index_and_far_behind_it),
        OPS_TEST(test_a_torn_line_was_never_acknowledged_and_is_done_again),
        OPS_TEST(test_lines_that_only_look_like_an_operation_are_passed_over),
        OPS_TEST(test_a_failure_of_any_call_is_noticed_and_a_retry_does_it_once),
        OPS_TEST(test_a_first_operation_without_memory_leaves_nothing),
        OPS_TEST(test_a_round_that_begins_again_does_it_once),
        OPS_TEST(test_a_retry_after_death_does_it_once),
        OPS_TEST(test_who_is_overtaken_leaves_what_the_other_needs),
        OPS_TEST(test_sixteen_processes_with_one_id_do_it_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

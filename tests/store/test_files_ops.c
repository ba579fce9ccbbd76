/*
 * test_files_ops.c: the operations a scope of the files store remembers: the file, what a dead
 * writer leaves in it, forgetting, faults, other processes.
 */
#include "home.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/hash.h"

#define OPS DIR_OF_SCOPE "/.mem/ops"
#define DAY_MS INT64_C(86400000)
#define NOW_MS INT64_C(1763200000000)

/* ---- a store with a clock of its own -------------------------------------------------------- */

static int64_t now_ms(void *arg)
{
    return *(int64_t *)arg;
}

static void *resize(void *arg, void *block, size_t size)
{
    (void)arg;
    return log_default_host.resize(log_default_host.arg, block, size);
}

static void open_at(struct home *home, uint32_t flags, int64_t time)
{
    static struct ethos_host host;
    static int64_t clock;
    const struct ethos_setup setup = {
        .host = &host, .root = home->root, .flags = flags, .deadline_ms = 20000};
    host = log_default_host;
    host.arg = &clock;
    host.resize = resize;
    host.now_ms = now_ms;
    clock = time;
    home->store->ops->close(home->store);
    assert_int_equal(store_files.open(&setup, &home->store, &home->error), ETHOS_OK);
}

static int set_up(void **state)
{
    int failed = home_set_up(state);
    if (!failed)
        open_at(*state, 0, NOW_MS);
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

/* Adds one x to a.md, once per id. */
static int add_x(struct home *home, const char *id, struct ethos_edit *out_edit)
{
    const struct ethos_origin origin = {.op_id = id, .op_digest = "d"};
    struct ethos_edit edit = {.key = "a.md"};
    memset(&home->error, 0, sizeof home->error);
    int code = home->store->ops->update(home->store, SCOPE, &edit, 1, append_x, NULL, &origin,
                                        &home->error);
    free(edit.old.data);
    edit.old = (struct ethos_text){0};
    if (out_edit)
        *out_edit = edit;
    return code;
}

static void assert_new(struct home *home, const char *id)
{
    struct ethos_edit edit;
    assert_int_equal(add_x(home, id, &edit), ETHOS_OK);
    assert_int_equal(edit.verdict, ETHOS_EDIT_PUT);
}

static void assert_known(struct home *home, const char *id)
{
    struct ethos_edit edit;
    assert_int_equal(add_x(home, id, &edit), ETHOS_OK);
    assert_int_equal(edit.verdict, ETHOS_EDIT_REPEATED);
}

static const char *record_of(const char *id, int64_t time, const char *text)
{
    static char record[512];
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(view_str(text), revision);
    snprintf(record, sizeof record,
             "{\"opId\":\"%s\",\"ts\":%lld,\"digest\":\"d\",\"rows\":[{\"key\":\"a.md\","
             "\"revision\":\"%s\",\"receipt\":\"a receipt\"}]}\n",
             id, (long long)time, revision);
    return record;
}

static size_t count_lines(struct home *home)
{
    char *text = temp_read(&home->temp, OPS, NULL);
    size_t count = 0;
    assert_non_null(text);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        count++;
    free(text);
    return count;
}

/* ---- the file ------------------------------------------------------------------------------- */

static void test_an_operation_is_one_line_of_json(void **state)
{
    struct home *home = *state;
    char expected[1024];
    assert_new(home, "one");
    assert_mode(home, OPS, 0600);
    assert_file(home, OPS, record_of("one", NOW_MS, "x"));
    open_at(home, 0, NOW_MS + 5);
    assert_new(home, "two:2.b_c-d");
    snprintf(expected, sizeof expected, "%s", record_of("one", NOW_MS, "x"));
    size_t used = strlen(expected);
    snprintf(expected + used, sizeof expected - used, "%s",
             record_of("two:2.b_c-d", NOW_MS + 5, "xx"));
    assert_file(home, OPS, expected);
    assert_known(home, "one");
    assert_known(home, "two:2.b_c-d");
    assert_file(home, OPS, expected);
}

static void test_a_write_without_operation_id_leaves_no_file(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    assert_false(home_exists(home, OPS));
}

struct log {
    char calls[2048];
};

static int log_call(void *arg, const char *call, unsigned long number)
{
    static const char *const steps[] = {"write", "fdatasync", "renameat", "fsync", "ftruncate"};
    struct log *log = arg;
    (void)number;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        size_t used = strlen(log->calls);
        if (strcmp(call, steps[i]) == 0)
            snprintf(log->calls + used, sizeof log->calls - used, "%s ", call);
    }
    return 0;
}

static void assert_steps(struct home *home, const char *id, const char *expected)
{
    struct log log = {""};
    os_hook(log_call, &log);
    int code = add_x(home, id, NULL);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_string_equal(log.calls, expected);
}

static void test_it_is_noted_in_one_write_after_the_text_and_before_the_answer(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    assert_steps(home, "1", "write fdatasync fsync renameat fsync write fdatasync ");
    assert_steps(home, "2", "write fdatasync renameat fsync write fdatasync ");
    assert_steps(home, "2", "");
    open_at(home, ETHOS_SETUP_FAST, NOW_MS);
    assert_steps(home, "3", "write fdatasync renameat write ");
}

/* ---- what others leave in it ---------------------------------------------------------------- */

static void test_a_torn_last_line_is_ignored_and_cut_off(void **state)
{
    struct home *home = *state;
    char torn[2048], expected[2048];
    for (size_t keep = 1; keep < strlen(record_of("torn", NOW_MS, "x")); keep += 7) {
        snprintf(torn, sizeof torn, "%s", record_of("one", NOW_MS, "x"));
        snprintf(expected, sizeof expected, "%s", torn);
        size_t used = strlen(torn);
        snprintf(torn + used, sizeof torn - used, "%.*s", (int)keep,
                 record_of("torn", NOW_MS, "x"));
        home_put(home, OPS, torn);
        home_put(home, FILE_OF("a.md"), "");
        assert_known(home, "one");
        assert_file(home, OPS, torn);
        assert_new(home, "torn");
        used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "%s", record_of("torn", NOW_MS, "x"));
        assert_file(home, OPS, expected);
        assert_known(home, "torn");
    }
}

static void test_lines_that_are_no_records_are_passed_over(void **state)
{
    static const char garbage[] =
        "\n\"one\"\n{\"opId\":\"one\"\n[\"one\"]\n{\"opId\":\"one\"}\n\xff\"one\"\n"
        "{\"opId\":\"one\",\"ts\":\"1\",\"digest\":\"x\",\"rows\":[]}\n"
        "{\"opId\":\"one\",\"ts\":1,\"digest\":7,\"rows\":[]}\n"
        "{\"opId\":\"one\",\"ts\":1,\"digest\":\"x\",\"rows\":{}}\n"
        "{\"opId\":\"two\",\"ts\":1,\"digest\":\"one\",\"rows\":[]}\n";
    struct home *home = *state;
    char expected[2048];
    home_put(home, OPS, garbage);
    assert_new(home, "one");
    snprintf(expected, sizeof expected, "%s%s", garbage, record_of("one", NOW_MS, "x"));
    assert_file(home, OPS, expected);
    assert_known(home, "one");
    assert_reads(home, "a.md", "x");
}

static void test_rows_of_another_kind_are_not_trusted(void **state)
{
    struct home *home = *state;
    struct ethos_edit edit;
    home_put(home, OPS,
             "{\"opId\":\"1\",\"ts\":1,\"digest\":\"d\",\"rows\":[7,null,{\"key\":1},{}]}\n"
             "{\"opId\":\"2\",\"ts\":1,\"digest\":\"d\",\"rows\":[{\"key\":\"a.md\","
             "\"revision\":\"0123456789012345678901234567890123456789012345678901234567890123456789"
             "0123456789012345678901234567890123456789\",\"receipt\":[]}]}\n");
    assert_int_equal(add_x(home, "1", &edit), ETHOS_OK);
    assert_int_equal(edit.verdict, ETHOS_EDIT_KEEP);
    assert_int_equal(add_x(home, "2", &edit), ETHOS_OK);
    assert_int_equal(edit.verdict, ETHOS_EDIT_REPEATED);
    assert_int_equal(strlen(edit.revision), ETHOS_REVISION_SIZE - 1);
    assert_string_equal(edit.receipt, "");
}

static void test_a_file_that_cannot_be_read_fails_the_update(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "old"), ETHOS_OK);
    home_mkdir(home, OPS);
    assert_true(add_x(home, "1", NULL) != ETHOS_OK);
    assert_non_null(strstr(home->error.text, OPS));
    assert_int_equal(unlinkat(home->temp.fd, OPS, AT_REMOVEDIR), 0);
    home_put(home, "outside/ops", "kept");
    home_link(home, "../../../../outside/ops", OPS);
    assert_true(add_x(home, "1", NULL) != ETHOS_OK);
    assert_file(home, "outside/ops", "kept");
    assert_file(home, FILE_OF("a.md"), "old");
    assert_int_equal(home_write(home, SCOPE, "a.md", "new"), ETHOS_OK); // it is not asked for
    assert_no_litter(home);
}

static void count_finding(void *arg, const struct ethos_finding *finding)
{
    (void)finding;
    ++*(int *)arg;
}

static void test_check_finds_nothing_wrong_with_it(void **state)
{
    struct home *home = *state;
    int findings = 0;
    assert_new(home, "1");
    assert_int_equal(home->store->ops->check(home->store, 0, count_finding, &findings, NULL),
                     ETHOS_OK);
    assert_int_equal(findings, 0);
}

/* ---- forgetting ----------------------------------------------------------------------------- */

/* Fills the file with count operations named 0, 1, ..., the first `old` of them too old. */
static void put_operations(struct home *home, size_t count, size_t old)
{
    home_put(home, OPS, "");
    FILE *out = fdopen(openat(home->temp.fd, OPS, O_WRONLY), "w");
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) {
        int64_t age = i < old ? ETHOS_OPID_DAYS * DAY_MS + 1 : ETHOS_OPID_DAYS * DAY_MS - 1;
        fprintf(out, "{\"opId\":\"%zu\",\"ts\":%lld,\"digest\":\"d\",\"rows\":[]}\n", i,
                (long long)(NOW_MS - age));
    }
    assert_int_equal(fclose(out), 0);
}

static bool is_remembered(struct home *home, size_t number)
{
    char record[64];
    char *text = temp_read(&home->temp, OPS, NULL);
    snprintf(record, sizeof record, "{\"opId\":\"%zu\",", number);
    bool found = strstr(text, record) != NULL;
    free(text);
    return found;
}

/* Notes one more operation and expects that many lines, the oldest of them this one. */
static void assert_kept(struct home *home, size_t lines, size_t oldest)
{
    assert_new(home, "new");
    assert_int_equal(count_lines(home), lines);
    assert_true(is_remembered(home, oldest));
    assert_true(oldest == 0 || !is_remembered(home, oldest - 1));
    assert_known(home, "new");
    assert_mode(home, OPS, 0600);
    assert_no_litter(home);
}

static void test_the_newest_operations_stay_however_old(void **state)
{
    struct home *home = *state;
    put_operations(home, 2 * ETHOS_OPID_COUNT + 1, 2 * ETHOS_OPID_COUNT + 1);
    assert_kept(home, ETHOS_OPID_COUNT + 1, ETHOS_OPID_COUNT + 1);
}

static void test_the_operations_of_the_last_days_stay_however_many(void **state)
{
    struct home *home = *state;
    size_t young = ETHOS_OPID_COUNT + 500, old = ETHOS_OPID_COUNT + 1;
    put_operations(home, old + young, old);
    assert_kept(home, young + 1, old);
}

static void test_nothing_is_written_anew_before_it_is_worth_it(void **state)
{
    struct home *home = *state;
    put_operations(home, 2 * ETHOS_OPID_COUNT, 2 * ETHOS_OPID_COUNT);
    assert_kept(home, 2 * ETHOS_OPID_COUNT + 1, 0);
    put_operations(home, 3 * ETHOS_OPID_COUNT, ETHOS_OPID_COUNT);
    assert_kept(home, 3 * ETHOS_OPID_COUNT + 1, 0);
}

static void test_a_clock_that_goes_back_forgets_nothing(void **state)
{
    struct home *home = *state;
    put_operations(home, 2 * ETHOS_OPID_COUNT + 1, 2 * ETHOS_OPID_COUNT + 1);
    open_at(home, 0, NOW_MS - 2 * ETHOS_OPID_DAYS * DAY_MS);
    assert_kept(home, 2 * ETHOS_OPID_COUNT + 2, 0);
}

static void test_writing_anew_leaves_out_a_torn_line_and_a_dead_writers_draft(void **state)
{
    struct home *home = *state;
    put_operations(home, 2 * ETHOS_OPID_COUNT + 1, 2 * ETHOS_OPID_COUNT + 1);
    int fd = openat(home->temp.fd, OPS, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "{\"opId\":\"torn", 13), 13);
    close(fd);
    home_put(home, DIR_OF_SCOPE "/.mem/tmp/.ops.draft", "half a li");
    assert_kept(home, ETHOS_OPID_COUNT + 1, ETHOS_OPID_COUNT + 1);
}

/* ---- faults --------------------------------------------------------------------------------- */

/* Fails the nth call of one name, or of any but close (which the kernel does whatever it says). */
struct nth {
    const char *call; /* or NULL */
    unsigned number;
    int errnum;
    const char *hit;
};

static int fail_nth(void *arg, const char *call, unsigned long number)
{
    struct nth *nth = arg;
    (void)number;
    if (nth->call ? strcmp(call, nth->call) != 0 : strcmp(call, "close") == 0)
        return 0;
    if (nth->number == 0 || --nth->number > 0)
        return 0;
    nth->hit = call;
    return nth->errnum;
}

static int add_x_failing(struct home *home, const char *id, struct nth *nth)
{
    os_hook(fail_nth, nth);
    int code = add_x(home, id, NULL);
    os_hook(NULL, NULL);
    return code;
}

static void test_an_operation_that_cannot_be_noted_says_that_the_text_was_written(void **state)
{
    struct home *home = *state;
    struct nth write = {"write", 2, ENOSPC, NULL}, sync = {"fdatasync", 2, EIO, NULL};
    assert_new(home, "0");
    assert_int_equal(add_x_failing(home, "1", &write), ETHOS_IO);
    assert_non_null(strstr(home->error.text, OPS ": the text was written, but its operation id "
                                                 "could not be noted: No space left on device"));
    assert_true(home->error.hint[0] != 0);
    assert_file(home, FILE_OF("a.md"), "xx");
    assert_new(home, "1"); // nothing says that it was done
    assert_file(home, FILE_OF("a.md"), "xxx");
    assert_int_equal(add_x_failing(home, "2", &sync), ETHOS_IO);
    assert_file(home, FILE_OF("a.md"), "xxxx");
    assert_known(home, "2");
    assert_file(home, FILE_OF("a.md"), "xxxx");
    assert_no_litter(home);
}

enum { FIRST_WRITE, FIRST_ID, LATER_ID, TORN_LINE, SITUATIONS };

static void prepare(struct home *home, int situation)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", home->root);
    assert_int_equal(system(command), 0);
    if (situation != FIRST_WRITE)
        assert_int_equal(home_write(home, SCOPE, "a.md", "x"), ETHOS_OK);
    if (situation == LATER_ID)
        home_put(home, OPS, record_of("0", NOW_MS, "x"));
    if (situation == TORN_LINE)
        home_put(home, OPS, "{\"opId\":\"1");
    open_at(home, 0, NOW_MS);
}

/* One run with call n failing; false when there is no such call any more. */
static bool run_with_fault(struct home *home, int situation, unsigned n)
{
    struct nth nth = {NULL, n, EIO, NULL};
    const char *before = situation == FIRST_WRITE ? "" : "x";
    const char *after = situation == FIRST_WRITE ? "x" : "xx";
    prepare(home, situation);
    int code = add_x_failing(home, "1", &nth);
    bool open = strstr(home->error.text, "may or may not") != NULL;
    bool unnoted = strstr(home->error.text, "could not be noted") != NULL;
    if (code == ETHOS_OK || open || unnoted)
        assert_file(home, FILE_OF("a.md"), after);
    else if (home_exists(home, FILE_OF("a.md")))
        assert_file(home, FILE_OF("a.md"), before);
    else
        assert_int_equal(situation, FIRST_WRITE);
    assert_no_litter(home);
    if (situation == FIRST_WRITE && code != ETHOS_OK && !open && !unnoted)
        assert_false(home_exists(home, OPS));
    assert_int_equal(add_x(home, "1", NULL), ETHOS_OK);
    assert_known(home, "1");
    if (!open && !unnoted)
        assert_file(home, FILE_OF("a.md"), after); // so it was done once
    return nth.hit != NULL;
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

static void test_a_failure_to_write_anew_changes_nothing(void **state)
{
    static const struct nth faults[] = {
        {"write", 2, ENOSPC, NULL},  {"fdatasync", 2, EIO, NULL},  {"renameat", 1, EIO, NULL},
        {"fsync", 1, EIO, NULL},     {"openat2", 5, EMFILE, NULL}, {"openat", 3, EMFILE, NULL},
        {"openat", 4, EMFILE, NULL},
    };
    struct home *home = *state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct nth nth = faults[i];
        prepare(home, FIRST_ID);
        put_operations(home, 2 * ETHOS_OPID_COUNT + 1, 2 * ETHOS_OPID_COUNT + 1);
        int code = add_x_failing(home, "new", &nth);
        if (code == ETHOS_OK || !nth.hit)
            fail_msg("%s number %u did not fail the update", faults[i].call, faults[i].number);
        assert_file(home, FILE_OF("a.md"), "x");
        assert_true(is_remembered(home, 2 * ETHOS_OPID_COUNT));
        assert_true(is_remembered(home, ETHOS_OPID_COUNT + 1));
        assert_false(is_remembered(home, 2 * ETHOS_OPID_COUNT + 1));
        assert_no_litter(home);
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

static void test_a_round_that_begins_again_notes_the_operation_once(void **state)
{
    struct home *home = *state, *saver = home;
    os_hook(save_once, &saver);
    int code = add_x(home, "1", NULL);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_null(saver);
    assert_file(home, FILE_OF("a.md"), "human x");
    assert_file(home, OPS, record_of("1", NOW_MS, "human x"));
}

/* ---- other processes ------------------------------------------------------------------------ */

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

/* Ends the process before the nth call; its exit status says which kind of call that was. */
enum { DIED_ELSEWHERE = 10, DIED_BEFORE_SYNC, DIED_BEFORE_WRITE };

static int die_at(void *arg, const char *call, unsigned long number)
{
    if (number == *(unsigned *)arg)
        _exit(strcmp(call, "fsync") == 0   ? DIED_BEFORE_SYNC
              : strcmp(call, "write") == 0 ? DIED_BEFORE_WRITE
                                           : DIED_ELSEWHERE);
    return 0;
}

static int die(struct home *home, unsigned n)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        os_hook(die_at, &n);
        _exit(add_x(home, "1", NULL) == ETHOS_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_retry_after_death_does_it_once_unless_text_and_note_were_parted(void **state)
{
    struct home *home = *state;
    int died = 1, twice = 0;
    for (unsigned n = 1; died; n++) {
        prepare(home, LATER_ID);
        died = die(home, n);
        assert_true(died == 0 || died >= DIED_ELSEWHERE);
        assert_int_equal(add_x(home, "1", NULL), ETHOS_OK);
        assert_known(home, "1");
        assert_known(home, "0");
        char *text = temp_read(&home->temp, FILE_OF("a.md"), NULL);
        if (strcmp(text, "xxx") == 0) {
            assert_true(died == DIED_BEFORE_SYNC || died == DIED_BEFORE_WRITE);
            twice++;
        } else {
            assert_string_equal(text, "xx");
        }
        free(text);
    }
    assert_int_equal(twice, 2); // before the directory is synced, and before the note is written
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
        assert_int_equal(count_lines(home), 1);
        assert_no_litter(home);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        OPS_TEST(test_an_operation_is_one_line_of_json),
        OPS_TEST(test_a_write_without_operation_id_leaves_no_file),
        OPS_TEST(test_it_is_noted_in_one_write_after_the_text_and_before_the_answer),
        OPS_TEST(test_a_torn_last_line_is_ignored_and_cut_off),
        OPS_TEST(test_lines_that_are_no_records_are_passed_over),
        OPS_TEST(test_rows_of_another_kind_are_not_trusted),
        OPS_TEST(test_a_file_that_cannot_be_read_fails_the_update),
        OPS_TEST(test_check_finds_nothing_wrong_with_it),
        OPS_TEST(test_the_newest_operations_stay_however_old),
        OPS_TEST(test_the_operations_of_the_last_days_stay_however_many),
        OPS_TEST(test_nothing_is_written_anew_before_it_is_worth_it),
        OPS_TEST(test_a_clock_that_goes_back_forgets_nothing),
        OPS_TEST(test_writing_anew_leaves_out_a_torn_line_and_a_dead_writers_draft),
        OPS_TEST(test_an_operation_that_cannot_be_noted_says_that_the_text_was_written),
        OPS_TEST(test_a_failure_of_any_call_is_noticed_and_a_retry_does_it_once),
        OPS_TEST(test_a_failure_to_write_anew_changes_nothing),
        OPS_TEST(test_a_first_operation_without_memory_leaves_nothing),
        OPS_TEST(test_a_round_that_begins_again_notes_the_operation_once),
        OPS_TEST(test_a_retry_after_death_does_it_once_unless_text_and_note_were_parted),
        OPS_TEST(test_who_is_overtaken_leaves_what_the_other_needs),
        OPS_TEST(test_sixteen_processes_with_one_id_do_it_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_write.c: the write protocol of the files store: order, locks, faults, other writers.
 */
#include "protocol.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* ---- the order of steps --------------------------------------------------------------------- */

struct log {
    char calls[2048];
};

static int log_write(void *arg, const char *call, unsigned long number)
{
    static const char *const steps[] = {"flock",  "fdatasync", "renameat", "exchange",
                                        "linkat", "fsync",     "unlinkat"};
    struct log *log = arg;
    (void)number;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        size_t used = strlen(log->calls);
        if (strcmp(call, steps[i]) == 0)
            snprintf(log->calls + used, sizeof log->calls - used, "%s ", call);
    }
    return 0;
}

static void test_each_key_is_durable_before_the_next_one_changes(void **state)
{
    struct home *home = *state;
    struct ethos_edit edits[3] = {{.key = "a.md"}, {.key = "b.md"}, {.key = "c.md"}};
    struct answer texts = {{"1", NULL, "3"}, 0};
    struct log log = {""};
    assert_int_equal(home_write(home, SCOPE, "b.md", "old"), ETHOS_OK);
    os_hook(log_write, &log);
    int code = update(home, edits, 3, answer, &texts);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_string_equal(log.calls, "flock flock fdatasync fdatasync " // gate and lock, drafts
                                   "fdatasync renameat renameat "     // history, then .new
                                   "linkat fsync linkat fsync renameat fsync " // new files first
                                   "unlinkat unlinkat unlinkat unlinkat ");

    home_open(home, ETHOS_SETUP_FAST, 2000);
    texts = (struct answer){{"2", "2", "2"}, 0};
    log.calls[0] = 0;
    os_hook(log_write, &log);
    code = update(home, edits, 3, answer, &texts);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_string_equal(log.calls, "flock flock fdatasync fdatasync fdatasync "
                                   "renameat renameat renameat linkat exchange exchange "
                                   "unlinkat unlinkat unlinkat ");
}

static void
test_of_new_files_only_the_temporaries_are_durable_before_the_first_appears(void **state)
{
    struct home *home = *state;
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    struct answer texts = {{"1", "2"}, 0};
    struct log log = {""};
    assert_int_equal(home_write(home, SCOPE, "c.md", "old"), ETHOS_OK);
    os_hook(log_write, &log);
    int code = update(home, edits, 2, answer, &texts);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_string_equal(log.calls,
                        "flock flock fdatasync fdatasync fsync fdatasync renameat renameat "
                        "linkat fsync linkat fsync unlinkat unlinkat ");
}

static void test_an_unchanged_text_is_not_written(void **state)
{
    struct home *home = *state;
    struct log log = {""};
    assert_int_equal(home_write(home, SCOPE, "a.md", "same"), ETHOS_OK);
    struct stat before = home_stat(home, FILE_OF("a.md"));
    os_hook(log_write, &log);
    assert_int_equal(home_write(home, SCOPE, "a.md", "same"), ETHOS_OK);
    os_hook(NULL, NULL);
    assert_string_equal(log.calls, "flock flock fsync "); // the answer is durable, nothing else
    assert_int_equal(home_stat(home, FILE_OF("a.md")).st_ino, before.st_ino);
}

static void test_a_draft_left_by_a_dead_writer_is_no_obstacle(void **state)
{
    struct home *home = *state;
    home_put(home, DIR_OF_SCOPE "/.mem/tmp/a.md.draft", "half a te");
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    assert_reads(home, "a.md", "1");
    assert_no_litter(home);
    assert_int_equal(unlinkat(home->temp.fd, DIR_OF_SCOPE "/.mem/tmp", AT_REMOVEDIR), 0);
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_OK);
    assert_reads(home, "a.md", "2");
}

static void test_two_keys_that_are_one_file_are_refused(void **state)
{
    struct home *home = *state;
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    struct answer texts = {{"1", "2"}, 0};
    home_put(home, FILE_OF("a.md"), "old");
    home_link(home, "a.md", FILE_OF("b.md"));
    assert_int_equal(update(home, edits, 2, answer, &texts), ETHOS_DENIED);
    assert_file(home, FILE_OF("a.md"), "old");
    assert_no_litter(home);
}

/* ---- somebody else's save meanwhile --------------------------------------------------------- */

static void save_in_place(struct home *home)
{
    temp_write(&home->temp, FILE_OF("a.md"), "human ");
}

static void save_by_rename(struct home *home)
{
    temp_write(&home->temp, FILE_OF("other"), "human ");
    renameat(home->temp.fd, FILE_OF("other"), home->temp.fd, FILE_OF("a.md"));
}

static void delete_it(struct home *home)
{
    unlinkat(home->temp.fd, FILE_OF("a.md"), 0);
}

static void assert_asked_again(struct home *home, const char *call, void (*act)(struct home *),
                               const char *expected)
{
    struct once once = {home, call, act};
    struct ethos_edit edit = {.key = "a.md"};
    int calls = 0;
    os_hook(act_once, &once);
    int code = update(home, &edit, 1, append_x, &calls);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_null(once.act);
    assert_int_equal(calls, 2);
    assert_file(home, FILE_OF("a.md"), expected);
    assert_no_litter(home);
    assert_sound(home);
}

static void test_a_save_during_the_write_is_read_again(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "agent "), ETHOS_OK);
    assert_asked_again(home, "fdatasync", save_in_place, "human x");
    assert_asked_again(home, "fdatasync", save_by_rename, "human x");
    assert_asked_again(home, "exchange", save_in_place, "human x");
    assert_asked_again(home, "exchange", save_by_rename, "human x");
    assert_asked_again(home, "fdatasync", delete_it, "x");
    assert_asked_again(home, "exchange", delete_it, "x");
    assert_int_equal(home_remove(home, SCOPE, "a.md"), ETHOS_OK);
    assert_asked_again(home, "fdatasync", save_in_place, "human x");
}

static void test_a_file_that_appears_at_the_last_moment_is_not_overwritten(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "b.md", "1"), ETHOS_OK);
    assert_asked_again(home, "renameat", save_in_place, "human x");
    assert_int_equal(home_remove(home, SCOPE, "a.md"), ETHOS_OK);
    assert_asked_again(home, "linkat", save_in_place, "human x");
}

static int save_always(void *arg, const char *call, unsigned long number)
{
    (void)number;
    if (strcmp(call, "fdatasync") == 0)
        save_by_rename(arg);
    return 0;
}

static void test_a_text_that_never_rests_is_busy(void **state)
{
    struct home *home = *state;
    struct ethos_edit edit = {.key = "a.md"};
    int calls = 0;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    os_hook(save_always, home);
    int code = update(home, &edit, 1, append_x, &calls);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_BUSY);
    assert_int_equal(calls, 100);
    assert_file(home, FILE_OF("a.md"), "human ");
    assert_no_litter(home);
    assert_sound(home);
}

/* ---- all or none ---------------------------------------------------------------------------- */

static void assert_put_back(struct home *home, struct nth nth, const char *third)
{
    struct ethos_edit edits[3] = {{.key = "a.md"}, {.key = "b.md"}, {.key = "c.md"}};
    struct answer texts = {{"new a", "new b", third}, 0};
    char *before = history_now(home);
    os_hook(fail_nth, &nth);
    int code = update(home, edits, 3, answer, &texts);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_IO);
    assert_file(home, FILE_OF("a.md"), "old a");
    assert_mode(home, FILE_OF("a.md"), 0640);
    assert_false(home_exists(home, FILE_OF("b.md")));
    assert_file(home, FILE_OF("c.md"), "old c");
    assert_no_litter(home);
    assert_only_taken_back(home, before);
    assert_sound(home);
    free(before);
}

static void test_a_failure_at_a_later_key_puts_the_earlier_ones_back(void **state)
{
    static const struct nth faults[] = {
        {"fdatasync", 1, EIO}, {"fdatasync", 2, EIO}, {"fdatasync", 3, EIO}, {"fdatasync", 4, EIO},
        {"write", 4, EIO},     {"renameat", 1, EIO},  {"renameat", 2, EIO},  {"renameat", 3, EIO},
        {"exchange", 1, EIO},  {"fsync", 1, EIO},     {"linkat", 1, EIO},    {"fsync", 2, EIO},
        {"exchange", 2, EIO}};
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "old a"), ETHOS_OK);
    assert_int_equal(home_write(home, SCOPE, "c.md", "old c"), ETHOS_OK);
    assert_int_equal(fchmodat(home->temp.fd, FILE_OF("a.md"), 0640, 0), 0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_put_back(home, faults[i], "new c");
    assert_put_back(home, (struct nth){"renameat", 1, EIO}, NULL);
    assert_put_back(home, (struct nth){"renameat", 2, EIO}, NULL);
    assert_put_back(home, (struct nth){"renameat", 3, EIO}, NULL); // c.md to .new
    assert_put_back(home, (struct nth){"fsync", 2, EIO}, NULL);
}

/* From the second swap on nothing can be moved any more, not even back. */
static int fail_after_first_swap(void *arg, const char *call, unsigned long number)
{
    int *swaps = arg;
    (void)number;
    bool moves = strcmp(call, "exchange") == 0 || strcmp(call, "renameat") == 0;
    *swaps += strcmp(call, "exchange") == 0;
    return moves && *swaps > 1 ? EIO : 0;
}

static void
test_an_earlier_key_that_cannot_be_put_back_is_told_and_the_next_write_does(void **state)
{
    struct home *home = *state;
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    struct answer texts = {{"new a", "new b"}, 0};
    int swaps = 0;
    assert_int_equal(home_write(home, SCOPE, "a.md", "old a"), ETHOS_OK);
    assert_int_equal(home_write(home, SCOPE, "b.md", "old b"), ETHOS_OK);
    os_hook(fail_after_first_swap, &swaps);
    int code = update(home, edits, 2, answer, &texts);
    os_hook(NULL, NULL);
    assert_true(swaps > 1);
    assert_int_equal(code, ETHOS_IO);
    assert_non_null(strstr(home->error.text, DIR_OF_SCOPE));
    assert_non_null(strstr(home->error.text, "may or may not have changed"));
    assert_true(home->error.hint[0] != 0);
    assert_file(home, FILE_OF("a.md"), "new a");
    assert_file(home, FILE_OF("b.md"), "old b");
    assert_int_equal(home_write(home, SCOPE, "c.md", "1"), ETHOS_OK);
    assert_file(home, FILE_OF("a.md"), "old a");
    assert_file(home, FILE_OF("b.md"), "old b");
    assert_no_litter(home);
    assert_sound(home);
}

/* ---- a folder that cannot be written -------------------------------------------------------- */

#define LARGE_BYTES 6000 /* bytes of a text whose diff a line does not hold */

/* What the system calls refuse: nothing in the folder of the texts gets another name any more. */
struct refusal {
    const char *const *calls;
    int errnum;
    unsigned refused;
};

static int refuse_calls(void *arg, const char *call, unsigned long number)
{
    struct refusal *refusal = arg;
    (void)number;
    for (size_t i = 0; refusal->calls[i]; i++) {
        if (strcmp(call, refusal->calls[i]) != 0)
            continue;
        refusal->refused++;
        return refusal->errnum;
    }
    return 0;
}

static void assert_refused(struct home *home, struct refusal refusal, const char *text,
                           bool recorded)
{
    char *before = temp_read(&home->temp, FILE_OF("a.md"), NULL);
    size_t lines = count_lines(home);
    os_hook(refuse_calls, &refusal);
    int code = home_write(home, SCOPE, "a.md", text);
    os_hook(NULL, NULL);
    assert_true(refusal.refused > 0);
    assert_int_equal(code, ETHOS_IO);
    assert_non_null(strstr(home->error.text, strerror(refusal.errnum)));
    assert_null(strstr(home->error.text, "may or may not"));
    assert_null(strstr(home->error.text, "history-blobs"));
    if (before)
        assert_file(home, FILE_OF("a.md"), before);
    else
        assert_false(home_exists(home, FILE_OF("a.md")));
    if (!recorded)
        assert_int_equal(count_lines(home), lines);
    assert_no_litter(home);
    free(before);
}

static void test_a_folder_that_cannot_be_written_changes_nothing(void **state)
{
    static const char *const asked[] = {"faccessat", NULL};
    static const char *const names[] = {"exchange", "linkat", "mkdirat", NULL};
    static const int errors[] = {EACCES, EROFS, EPERM};
    struct home *home = *state;
    char large[LARGE_BYTES + 1];
    memset(large, 'x', LARGE_BYTES);
    large[LARGE_BYTES] = 0;
    assert_int_equal(home_write(home, SCOPE, "b.md", "1"), ETHOS_OK);
    for (int there = 0; there < 2; there++) {
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
            struct refusal at_once = {asked, errors[i], 0}, late = {names, errors[i], 0};
            if (errors[i] != EPERM) {
                assert_refused(home, at_once, "new", false);
                assert_non_null(strstr(home->error.text, DIR_OF_SCOPE ": "));
            }
            if (there) { // a new file may get its name otherwise, where second names are refused
                assert_refused(home, late, "new", true);
                assert_refused(home, late, large, true);
            }
            assert_sound(home);
        }
        assert_int_equal(home_write(home, SCOPE, "a.md", "old"), ETHOS_OK);
    }
    assert_file(home, FILE_OF("a.md"), "old");
    assert_sound(home);
}

/* The texts of the global scope lie in the home: that is what is named, not a file that never was. */
static void test_a_home_that_cannot_be_written_is_named_itself(void **state)
{
    static const char *const asked[] = {"faccessat", NULL};
    struct home *home = *state;
    struct refusal refusal = {asked, EACCES, 0};
    char remedy[PATH_MAX];
    assert_int_equal(home_write(home, "global", "a.md", "old"), ETHOS_OK);
    os_hook(refuse_calls, &refusal);
    int code = home_write(home, "global", "other.md", "new");
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_IO);
    assert_null(strstr(home->error.text, "other.md"));
    snprintf(remedy, sizeof remedy, "chmod u+w '%s/home'", home->temp.path);
    assert_non_null(strstr(home->error.hint, remedy));
}

static void test_a_folder_without_the_right_to_write_is_named_with_its_remedy(void **state)
{
    struct home *home = *state;
    if (geteuid() == 0) // who may do everything is refused nothing
        skip();
    assert_int_equal(home_write(home, SCOPE, "a.md", "old"), ETHOS_OK);
    char *lines = history_now(home);
    assert_int_equal(fchmodat(home->temp.fd, DIR_OF_SCOPE, 0555, 0), 0);
    int code = home_write(home, SCOPE, "a.md", "new");
    assert_int_equal(fchmodat(home->temp.fd, DIR_OF_SCOPE, 0700, 0), 0);
    assert_int_equal(code, ETHOS_IO);
    assert_non_null(strstr(home->error.text, DIR_OF_SCOPE ": Permission denied"));
    assert_non_null(strstr(home->error.hint, "chmod u+w"));
    assert_file(home, FILE_OF("a.md"), "old");
    char *after = history_now(home);
    assert_string_equal(after, lines);
    assert_no_litter(home);
    free(lines);
    free(after);
}

/* What was displaced may stay when it cannot be removed: the next write takes it away. */
static void test_a_change_that_is_certain_does_not_fail_for_what_it_leaves(void **state)
{
    struct home *home = *state;
    struct nth nth = {"unlinkat", 1, EIO};
    assert_int_equal(home_write(home, SCOPE, "a.md", "old"), ETHOS_OK);
    os_hook(fail_nth, &nth);
    int code = home_write(home, SCOPE, "a.md", "new");
    os_hook(NULL, NULL);
    assert_int_equal(nth.number, 0);
    assert_int_equal(code, ETHOS_OK);
    assert_file(home, FILE_OF("a.md"), "new");
    assert_sound(home);
    look(home, "b.md");
    assert_file(home, FILE_OF("a.md"), "new");
    assert_no_litter(home);
    assert_sound(home);
}

static void test_a_failed_directory_sync_says_that_the_outcome_is_open(void **state)
{
    struct home *home = *state;
    struct nth nth = {"fsync", 1, EIO};
    assert_int_equal(home_write(home, SCOPE, "a.md", "old"), ETHOS_OK);
    os_hook(fail_nth, &nth);
    int code = home_write(home, SCOPE, "a.md", "new");
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_IO);
    assert_non_null(strstr(home->error.text, "may or may not survive a power cut"));
    assert_file(home, FILE_OF("a.md"), "new");
    assert_no_litter(home);
    assert_sound(home);
}

/* ---- every call fails once ------------------------------------------------------------------ */

enum { FIRST_WRITE, TWO_KEYS, DROP_KEY, THROUGH_LINK, EDITED_OUTSIDE, LARGE, OPERATIONS };

static void prepare(struct home *home, int operation)
{
    if (operation == FIRST_WRITE)
        return;
    assert_int_equal(home_write(home, SCOPE, "a.md", operation == EDITED_OUTSIDE ? "0" : "old"),
                     ETHOS_OK);
    if (operation == THROUGH_LINK) {
        home_put(home, "home/users/u/target", "old");
        assert_int_equal(unlinkat(home->temp.fd, FILE_OF("a.md"), 0), 0);
        home_link(home, "../../users/u/target", FILE_OF("a.md"));
    } else if (operation == EDITED_OUTSIDE) {
        home_put(home, FILE_OF("a.md"), "old");
    }
    assert_int_equal(fchmodat(home->temp.fd, FILE_OF("a.md"), 0640, 0), 0);
}

/* A text whose diff is too large for a line: both texts become blobs. */
static const char *large_text(void)
{
    static char text[20000];
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = i % 50 == 49 ? '\n' : (char)('a' + i % 26);
    return text;
}

static const char *new_text(int operation)
{
    return operation == LARGE ? large_text() : "new";
}

static int operate(struct home *home, int operation)
{
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    struct answer texts = {{operation == DROP_KEY ? NULL : new_text(operation), "new"}, 0};
    return update(home, edits, operation == TWO_KEYS ? 2 : 1, answer, &texts);
}

static void assert_old(struct home *home, int operation)
{
    struct stat st;
    if (operation == FIRST_WRITE) {
        assert_false(home_exists(home, FILE_OF("a.md")));
    } else {
        assert_file(home, FILE_OF("a.md"), "old");
        assert_int_equal(fstatat(home->temp.fd, FILE_OF("a.md"), &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
    }
    assert_false(home_exists(home, FILE_OF("b.md")));
}

static void assert_new(struct home *home, int operation)
{
    if (operation == DROP_KEY)
        assert_false(home_exists(home, FILE_OF("a.md")));
    else
        assert_file(home, FILE_OF("a.md"), new_text(operation));
    assert_int_equal(home_exists(home, FILE_OF("b.md")), operation == TWO_KEYS);
}

static int count_names(struct home *home, const char *path)
{
    struct dirent **names = NULL;
    int count = scandirat(home->temp.fd, path, &names, NULL, NULL);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return count < 0 ? 0 : count - 2;
}

/* A lock file that could not be locked stays: another process may hold it. */
static bool is_only_lock(struct home *home, const char *call)
{
    bool locking = strcmp(call, "flock") == 0 || strcmp(call, "openat2") == 0 ||
                   strcmp(call, "fstat") == 0;
    return locking && home_exists(home, DIR_OF_SCOPE "/.mem/lock") &&
           count_names(home, DIR_OF_SCOPE) == 1 && count_names(home, TMP) == 0;
}

/* A first write that failed: nothing at all, or the history that tells of it. */
static void assert_nothing_made(struct home *home, const struct at *at)
{
    if (!home_exists(home, "home") || is_only_lock(home, at->hit))
        return;
    if (!home_exists(home, HISTORY))
        fail_msg("%s, call %lu, left directories", at->hit, at->number);
    bool blobs = home_exists(home, DIR_OF_SCOPE "/history-blobs");    // which the history names
    assert_int_equal(count_names(home, DIR_OF_SCOPE), blobs ? 3 : 2); // with .mem
    assert_int_equal(count_names(home, TMP), 0);
    char *text = history_now(home);
    assert_true(text[0] != 0);
    free(text);
}

/* Calls before the change is certain that it can do without. */
static bool is_optional(int operation, const struct at *at)
{
    // what exists, blobs too, is looked at before it is made: taking it for absent does no harm
    return strcmp(at->hit, "fstatat") == 0 || at->hit_index ||
           ((operation == FIRST_WRITE || operation == LARGE) && strcmp(at->hit, "openat2") == 0) ||
           strcmp(at->hit, "lease") == 0; // then the text is read twice
}

static void assert_failed(struct home *home, int operation, const struct at *at, int code,
                          const char *before)
{
    // a base directory that cannot be opened does not vouch for a link
    if (code != ETHOS_IO && !(operation == THROUGH_LINK && code == ETHOS_DENIED))
        fail_msg("operation %d, call %lu, %s: %s", operation, at->number, at->hit,
                 home->error.text);
    assert_true(home->error.text[0] != 0);
    assert_old(home, operation);
    assert_only_taken_back(home, before);
    if (operation == FIRST_WRITE)
        assert_nothing_made(home, at);
}

/* One run with call n failing; false when there is no such call any more. */
static bool run_with_fault(struct home *home, int operation, unsigned long n, int errnum,
                           unsigned long certain)
{
    struct at at = {.number = n, .errnum = errnum};
    prepare(home, operation);
    home_open(home, 0, 50);
    char *before = history_now(home);
    os_hook(fail_at, &at);
    int code = operate(home, operation);
    os_hook(NULL, NULL);
    if (code == ETHOS_OK) {
        assert_new(home, operation);
        if (at.hit && n <= certain && !is_optional(operation, &at))
            fail_msg("operation %d succeeded although call %lu, %s, failed", operation, n, at.hit);
    } else if (strstr(home->error.text, "may or may not")) {
        assert_string_equal(at.hit, "fsync");
        assert_int_equal(n, certain);
        assert_new(home, operation);
    } else {
        assert_failed(home, operation, &at, code, before);
    }
    if (code != ETHOS_OK)
        assert_no_litter(home);
    if (code != ETHOS_OK)
        assert_int_equal(operate(home, operation), ETHOS_OK);
    assert_new(home, operation);
    look(home, "a.md");
    assert_new(home, operation);
    assert_no_litter(home);
    assert_sound(home);
    free(before);
    return at.hit != NULL;
}

/* The number of the directory sync after which the change is certain. */
static unsigned long find_certain(struct home *home, int operation)
{
    struct at at = {0};
    prepare(home, operation);
    home_open(home, 0, 50);
    os_hook(fail_at, &at);
    int code = operate(home, operation);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    empty_home(home);
    return at.certain;
}

static void test_a_failure_of_any_call_leaves_the_old_bytes_and_a_retry_works(void **state)
{
    static const int errnums[] = {EIO, ENOSPC};
    struct home *home = *state;
    for (int operation = 0; operation < OPERATIONS; operation++) {
        unsigned long certain = find_certain(home, operation);
        for (size_t i = 0; i < (operation == TWO_KEYS ? 2 : 1); i++) {
            unsigned long n = 1;
            while (run_with_fault(home, operation, n, errnums[i], certain)) {
                n++;
                empty_home(home);
            }
            assert_true(n > 10);
            empty_home(home);
        }
    }
}

/* A failed first write also takes its directories away again, unless the history tells of it. */
static void test_a_failed_first_write_leaves_no_directories(void **state)
{
    static const struct nth faults[] = {
        {"openat", 1, EMFILE},  {"mkdirat", 1, ENOSPC}, {"mkdirat", 2, ENOSPC},
        {"mkdirat", 3, ENOSPC}, {"mkdirat", 4, ENOSPC}, {"mkdirat", 5, ENOSPC},
        {"write", 1, ENOSPC},   {"write", 2, ENOSPC},   {"write", 3, ENOSPC},
        {"fdatasync", 1, EIO},  {"fdatasync", 2, EIO}};
    struct home *home = *state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct nth nth = faults[i];
        home_open(home, 0, 50);
        os_hook(fail_nth, &nth);
        int code = home_write(home, SCOPE, "a.md", "1");
        os_hook(NULL, NULL);
        assert_true(code != ETHOS_OK);
        if (home_exists(home, "home"))
            fail_msg("%s number %u left directories", faults[i].call, faults[i].number);
    }
    struct nth nth = {"linkat", 1, EIO};
    os_hook(fail_nth, &nth);
    int code = home_write(home, SCOPE, "a.md", "1");
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_IO);
    assert_true(home_exists(home, HISTORY));
    assert_nothing_made(home, &(struct at){.hit = "linkat"});
    assert_sound(home);
}

static void test_a_first_write_without_memory_leaves_nothing(void **state)
{
    struct home *home = *state;
    int code = ETHOS_OK;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = home_write(home, SCOPE, "a.md", "1");
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(home_exists(home, "home"), code == ETHOS_OK);
    }
}

static int change_mind(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)count, (void)error;
    edits->verdict = ++*(int *)arg == 1 ? ETHOS_EDIT_PUT : ETHOS_EDIT_KEEP;
    edits->text = VIEW("x");
    return ETHOS_OK;
}

static void test_directories_made_for_nothing_go_away(void **state)
{
    struct home *home = *state;
    struct ethos_edit edit = {.key = "a.md"};
    int calls = 0;
    assert_int_equal(update(home, &edit, 1, change_mind, &calls), ETHOS_OK);
    assert_int_equal(calls, 2);
    assert_false(home_exists(home, "home"));
}

/* ---- other processes ------------------------------------------------------------------------ */

/* A child that holds the lock until the pipe is closed. */
static pid_t hold_lock(struct home *home, const char *path, int *out_pipe)
{
    int ready[2], stop[2];
    char byte = 0;
    assert_int_equal(pipe(ready) | pipe(stop), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = openat(home->temp.fd, path, O_RDONLY);
        close(stop[1]);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        (void)!read(stop[0], &byte, 1);
        _exit(0);
    }
    close(ready[1]);
    close(stop[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *out_pipe = stop[1];
    return child;
}

static void let_go(pid_t child, int pipe)
{
    close(pipe);
    waitpid(child, NULL, 0);
}

static void test_a_lock_held_elsewhere_is_busy_and_does_not_stop_readers(void **state)
{
    struct home *home = *state;
    int pipe;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    home_open(home, 0, 50);
    pid_t child = hold_lock(home, DIR_OF_SCOPE "/.mem/lock", &pipe);
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_BUSY);
    assert_non_null(strstr(home->error.text, DIR_OF_SCOPE "/.mem/lock"));
    assert_true(home->error.hint[0] != 0);
    assert_reads(home, "a.md", "1");
    assert_int_equal(home_write(home, "personality:other", "a.md", "2"), ETHOS_OK);
    let_go(child, pipe);
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_OK);
    assert_no_litter(home);
}

static void test_the_directory_a_link_leads_into_is_locked_too(void **state)
{
    struct home *home = *state;
    int pipe;
    assert_int_equal(home_write(home, "user:u", "a.md", "1"), ETHOS_OK);
    home_put(home, "home/plain/b.md", "1");
    home_mkdir(home, DIR_OF_SCOPE);
    home_link(home, "../../users/u/a.md", FILE_OF("a.md"));
    home_link(home, "../../plain/b.md", FILE_OF("b.md"));
    home_open(home, 0, 50);
    pid_t child = hold_lock(home, "home/users/u/.mem/lock", &pipe);
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_BUSY);
    assert_int_equal(home_write(home, SCOPE, "b.md", "2"), ETHOS_OK);
    let_go(child, pipe);
    child = hold_lock(home, "home/plain", &pipe);
    assert_int_equal(home_write(home, SCOPE, "b.md", "3"), ETHOS_BUSY);
    assert_int_equal(home_write(home, SCOPE, "a.md", "3"), ETHOS_OK);
    let_go(child, pipe);
    assert_file(home, "home/users/u/a.md", "3");
    assert_file(home, "home/plain/b.md", "2");
}

static void test_two_links_into_one_directory_lock_it_once(void **state)
{
    struct home *home = *state;
    struct ethos_edit edits[3] = {{.key = "a.md"}, {.key = "b.md"}, {.key = "c.md"}};
    struct answer texts = {{"1", "2", "3"}, 0};
    home_put(home, "home/plain/a.md", "old");
    home_put(home, "home/plain/b.md", "old");
    home_mkdir(home, DIR_OF_SCOPE);
    home_link(home, "../../plain/a.md", FILE_OF("a.md"));
    home_link(home, "../../plain/b.md", FILE_OF("b.md"));
    home_open(home, 0, 50);
    assert_int_equal(update(home, edits, 3, answer, &texts), ETHOS_OK);
    assert_file(home, "home/plain/a.md", "1");
    assert_file(home, "home/plain/b.md", "2");
    assert_file(home, FILE_OF("c.md"), "3");
    assert_true(S_ISLNK(home_stat(home, FILE_OF("b.md")).st_mode));
}

static void remove_lock_file(struct home *home)
{
    unlinkat(home->temp.fd, DIR_OF_SCOPE "/.mem/lock", 0);
}

static void test_a_lock_file_that_was_taken_away_is_not_trusted(void **state)
{
    struct home *home = *state;
    struct once once = {home, "flock", remove_lock_file};
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    os_hook(act_once, &once);
    int code = home_write(home, SCOPE, "a.md", "2");
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_true(home_exists(home, DIR_OF_SCOPE "/.mem/lock"));
    assert_reads(home, "a.md", "2");
}

static int increment(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    char(*texts)[32] = arg;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        long number = edits[i].old.data ? strtol(edits[i].old.data, NULL, 10) : 0;
        snprintf(texts[i], sizeof texts[i], "%ld\n", number + 1);
        edits[i].verdict = ETHOS_EDIT_PUT;
        edits[i].text = view_str(texts[i]);
    }
    return ETHOS_OK;
}

/* The child's part: its own handle, one increment after the other. */
static int count_up(struct home *home, int times)
{
    const struct ethos_setup setup = {
        .host = &log_default_host, .root = home->root, .deadline_ms = 20000};
    struct ethos_store *store;
    char texts[2][32];
    int failed = store_files.open(&setup, &store, NULL);
    for (int i = 0; !failed && i < times; i++) {
        struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
        failed = store_files.update(store, SCOPE, edits, 2, increment, texts, NULL, NULL);
        free(edits[0].old.data);
        free(edits[1].old.data);
    }
    if (!failed)
        store->ops->close(store);
    return failed;
}

static void run_children(struct home *home, int children, int times)
{
    for (int i = 0; i < children; i++) {
        if (fork() == 0)
            _exit(count_up(home, times) ? 1 : 0);
    }
    for (int i = 0; i < children; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
}

static void test_two_processes_lose_no_update(void **state)
{
    struct home *home = *state;
    run_children(home, 2, 200);
    assert_reads(home, "a.md", "400\n");
    assert_reads(home, "b.md", "400\n");
    assert_no_litter(home);
}

static void test_processes_that_all_write_first_lose_no_update(void **state)
{
    struct home *home = *state;
    for (int i = 0; i < 10; i++) {
        run_children(home, 6, 1);
        assert_reads(home, "a.md", "6\n");
        assert_reads(home, "b.md", "6\n");
        empty_home(home);
    }
}

/* Swaps the key and its directory between what they are and links to the outside, for ever. */
static void swap_links(struct home *home)
{
    int top = home->temp.fd;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        symlinkat("../../../outside/a.md", top, FILE_OF("swap"));
        renameat(top, FILE_OF("swap"), top, FILE_OF("a.md"));
        temp_write(&home->temp, FILE_OF("swap"), "inside");
        renameat(top, FILE_OF("swap"), top, FILE_OF("a.md"));
        usleep(100);
        symlinkat("../../outside", top, "home/personalities/swap");
        renameat2(top, "home/personalities/swap", top, DIR_OF_SCOPE, RENAME_EXCHANGE);
        renameat2(top, "home/personalities/swap", top, DIR_OF_SCOPE, RENAME_EXCHANGE);
        unlinkat(top, "home/personalities/swap", 0);
        usleep(100);
    }
}

static void test_links_swapped_meanwhile_never_lead_outside(void **state)
{
    struct home *home = *state;
    home_put(home, "outside/a.md", "outside");
    home_put(home, FILE_OF("a.md"), "inside");
    assert_int_equal(home_write(home, SCOPE, "b.md", "1"), ETHOS_OK);
    home_open(home, ETHOS_SETUP_FAST, 100);
    pid_t child = fork();
    if (child == 0)
        swap_links(home);
    bool seen = false;
    for (int i = 0, done = 0, refused = 0; i < 5000 && (done < 100 || refused < 50); i++) {
        int code = home_write(home, SCOPE, "a.md", i % 2 ? "one" : "two");
        done += code == ETHOS_OK;
        refused += code == ETHOS_DENIED;
        seen |= home_read(home, SCOPE, "a.md") == ETHOS_OK &&
                strcmp(home->text.data, "outside") == 0;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(seen);
    assert_file(home, "outside/a.md", "outside");
    assert_int_equal(unlinkat(home->temp.fd, "outside/a.md", 0), 0);
    assert_int_equal(unlinkat(home->temp.fd, "outside", AT_REMOVEDIR), 0); // nothing else in it
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HOME_TEST(test_each_key_is_durable_before_the_next_one_changes),
        HOME_TEST(test_of_new_files_only_the_temporaries_are_durable_before_the_first_appears),
        HOME_TEST(test_an_unchanged_text_is_not_written),
        HOME_TEST(test_a_draft_left_by_a_dead_writer_is_no_obstacle),
        HOME_TEST(test_two_keys_that_are_one_file_are_refused),
        HOME_TEST(test_a_save_during_the_write_is_read_again),
        HOME_TEST(test_a_file_that_appears_at_the_last_moment_is_not_overwritten),
        HOME_TEST(test_a_text_that_never_rests_is_busy),
        HOME_TEST(test_a_failure_at_a_later_key_puts_the_earlier_ones_back),
        HOME_TEST(test_a_folder_that_cannot_be_written_changes_nothing),
        HOME_TEST(test_a_home_that_cannot_be_written_is_named_itself),
        HOME_TEST(test_a_folder_without_the_right_to_write_is_named_with_its_remedy),
        HOME_TEST(test_an_earlier_key_that_cannot_be_put_back_is_told_and_the_next_write_does),
        HOME_TEST(test_a_change_that_is_certain_does_not_fail_for_what_it_leaves),
        HOME_TEST(test_a_failed_directory_sync_says_that_the_outcome_is_open),
        HOME_TEST(test_a_failure_of_any_call_leaves_the_old_bytes_and_a_retry_works),
        HOME_TEST(test_a_failed_first_write_leaves_no_directories),
        HOME_TEST(test_a_first_write_without_memory_leaves_nothing),
        HOME_TEST(test_directories_made_for_nothing_go_away),
        HOME_TEST(test_a_lock_held_elsewhere_is_busy_and_does_not_stop_readers),
        HOME_TEST(test_the_directory_a_link_leads_into_is_locked_too),
        HOME_TEST(test_two_links_into_one_directory_lock_it_once),
        HOME_TEST(test_a_lock_file_that_was_taken_away_is_not_trusted),
        HOME_TEST(test_two_processes_lose_no_update),
        HOME_TEST(test_processes_that_all_write_first_lose_no_update),
        HOME_TEST(test_links_swapped_meanwhile_never_lead_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

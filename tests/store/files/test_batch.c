/*
 * test_batch.c: several updates in one write of the files store: its syncs, faults, editors,
 * dead writers.
 */
#include "protocol.h"

#include <sys/wait.h>

#define MOST 8

/* One update: adds an entry to a key after a blank line, or is refused. */
struct one {
    const char *key, *entry; /* entry NULL: refused */
    const char *op_id;
    struct ethos_edit edit;
    struct ethos_origin origin;
    struct ethos_error error;
    char text[4096];
    int code;
};

static int add_one(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct one *one = arg;
    const char *old = edits->old.data;
    (void)count, (void)error;
    if (!one->entry)
        return ETHOS_CONFLICT;
    snprintf(one->text, sizeof one->text, "%s%s%s\n", old ? old : "", old && *old ? "\n" : "",
             one->entry);
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(one->text);
    edits->actions = "add";
    return ETHOS_OK;
}

static void batch(struct home *home, struct one *ones, size_t count)
{
    struct ethos_edit_call calls[MOST];
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++) {
        struct one *one = &ones[i];
        one->edit = (struct ethos_edit){.key = one->key};
        one->origin = (struct ethos_origin){.op_id = one->op_id,
                                            .op_digest = one->op_id ? "digest" : NULL};
        calls[i] = (struct ethos_edit_call){&one->edit,   1,           add_one,       one,
                                            &one->origin, &one->error, ETHOS_INTERNAL};
    }
    home->store->ops->batch(home->store, SCOPE, calls, count);
    for (size_t i = 0; i < count; i++) {
        ones[i].code = calls[i].code;
        free(ones[i].edit.old.data);
    }
}

static unsigned occurrences(struct home *home, const char *path, const char *word)
{
    char *text = temp_read(&home->temp, path, NULL);
    unsigned count = 0;
    for (const char *at = text; at && (at = strstr(at, word)); at++)
        count++;
    free(text);
    return count;
}

/* ---- one write ------------------------------------------------------------------------------ */

struct counts {
    unsigned fdatasync, fsync, exchange, flock;
};

static int count_calls(void *arg, const char *call, unsigned long number)
{
    struct counts *counts = arg;
    (void)number;
    counts->fdatasync += strcmp(call, "fdatasync") == 0;
    counts->fsync += strcmp(call, "fsync") == 0;
    counts->exchange += strcmp(call, "exchange") == 0;
    counts->flock += strcmp(call, "flock") == 0;
    return 0;
}

static void test_updates_of_one_file_share_its_syncs(void **state)
{
    struct home *home = *state;
    struct one ones[] = {{.key = "a.md", .entry = "one"},
                         {.key = "a.md", .entry = "two"},
                         {.key = "a.md", .entry = NULL},
                         {.key = "a.md", .entry = "three"}};
    struct counts counts = {0};
    add(home, "zero");
    os_hook(count_calls, &counts);
    batch(home, ones, 4);
    os_hook(NULL, NULL);
    assert_int_equal(counts.fdatasync, 2); // the draft, the history
    assert_int_equal(counts.fsync, 1);     // the directory
    assert_int_equal(counts.exchange, 1);
    assert_int_equal(counts.flock, 2);
    assert_int_equal(ones[2].code, ETHOS_CONFLICT);
    assert_file(home, FILE_OF("a.md"), "zero\n\none\n\ntwo\n\nthree\n");
    assert_int_equal(count_lines(home), 4);
    assert_sound(home);
    assert_no_litter(home);
}

static void test_lines_of_a_batch_are_one_transaction(void **state)
{
    struct home *home = *state;
    struct one ones[] = {{.key = "a.md", .entry = "one", .op_id = "op-1"},
                         {.key = "b.md", .entry = "two"},
                         {.key = "a.md", .entry = "three", .op_id = "op-3"}};
    batch(home, ones, 3);
    json_t *lines = read_lines(home);
    assert_int_equal(json_array_size(lines), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *line = json_array_get(lines, i);
        char place[8];
        snprintf(place, sizeof place, "/%zu/3", i + 1);
        assert_string_equal(strchr(text_of(line, "txn"), '/'), place);
        assert_int_equal(json_object_get(line, "op") != NULL, i != 1);
    }
    json_decref(lines);
    assert_sound(home);
}

/* ---- what one of them cannot do ------------------------------------------------------------- */

static void test_a_file_that_must_not_be_replaced_fails_only_those_who_want_to(void **state)
{
    struct home *home = *state;
    struct one ones[] = {{.key = "a.md", .entry = "one"},
                         {.key = "b.md", .entry = "two"},
                         {.key = "a.md", .entry = "three"},
                         {.key = "c.md", .entry = "four"}};
    home_put(home, FILE_OF("b.md"), "linked");
    assert_int_equal(linkat(home->temp.fd, FILE_OF("b.md"), home->temp.fd, FILE_OF("x.md"), 0), 0);
    batch(home, ones, 4);
    assert_int_equal(ones[0].code, ETHOS_OK);
    assert_int_equal(ones[1].code, ETHOS_DENIED);
    assert_non_null(strstr(ones[1].error.text, "another hard link"));
    assert_int_equal(ones[2].code, ETHOS_OK);
    assert_int_equal(ones[3].code, ETHOS_OK);
    assert_file(home, FILE_OF("a.md"), "one\n\nthree\n");
    assert_file(home, FILE_OF("b.md"), "linked");
    assert_file(home, FILE_OF("c.md"), "four\n");
    assert_sound(home);
}

static void test_a_key_that_is_no_text_fails_only_those_who_name_it(void **state)
{
    struct home *home = *state;
    struct one ones[] = {{.key = "dir.md", .entry = "one"},
                         {.key = "a.md", .entry = "two"},
                         {.key = "memory-history.jsonl", .entry = "x"}};
    home_mkdir(home, FILE_OF("dir.md"));
    batch(home, ones, 3);
    assert_int_not_equal(ones[0].code, ETHOS_OK);
    assert_int_equal(ones[1].code, ETHOS_OK);
    assert_int_equal(ones[2].code, ETHOS_DENIED);
    assert_file(home, FILE_OF("a.md"), "two\n");
}

/* ---- storage that fails --------------------------------------------------------------------- */

/* Every call of one name fails from now on. */
static int fail_always(void *arg, const char *call, unsigned long number)
{
    (void)number;
    return strcmp(call, arg) == 0 ? ENOSPC : 0;
}

static void test_on_a_full_disk_all_fail_and_nothing_changes(void **state)
{
    static const char *const calls[] = {"write", "fdatasync"};
    struct home *home = *state;
    add(home, "zero");
    for (size_t i = 0; i < 2; i++) {
        struct one ones[] = {{.key = "a.md", .entry = NULL},
                             {.key = "a.md", .entry = "one"},
                             {.key = "b.md", .entry = "two"}};
        char *before = history_now(home);
        os_hook(fail_always, (void *)calls[i]);
        batch(home, ones, 3);
        os_hook(NULL, NULL);
        assert_int_equal(ones[0].code, ETHOS_CONFLICT);
        for (size_t k = 1; k < 3; k++) {
            assert_int_equal(ones[k].code, ETHOS_IO);
            assert_non_null(strstr(ones[k].error.text, "No space left"));
        }
        assert_file(home, FILE_OF("a.md"), "zero\n");
        assert_false(home_exists(home, FILE_OF("b.md")));
        assert_only_taken_back(home, before);
        assert_no_litter(home);
        free(before);
    }
    assert_sound(home);
}

/* Fails at every call in turn: those who were told so are in the file, once, and nobody else. */
static void test_a_fault_at_any_call_leaves_each_done_or_not(void **state)
{
    struct home *home = *state;
    bool reached = true;
    for (unsigned long n = 1; reached; n++) {
        struct one ones[] = {{.key = "a.md", .entry = "one"},
                             {.key = "a.md", .entry = NULL},
                             {.key = "b.md", .entry = "two"},
                             {.key = "a.md", .entry = "three"}};
        struct at at = {.number = n, .errnum = EIO};
        add(home, "zero");
        os_hook(fail_at, &at);
        batch(home, ones, 4);
        os_hook(NULL, NULL);
        reached = at.hit;
        for (size_t i = 0; i < 4; i++) {
            bool sure = !strstr(ones[i].error.text, "may or may not");
            unsigned found = ones[i].entry
                                 ? occurrences(home, i == 2 ? FILE_OF("b.md") : FILE_OF("a.md"),
                                               ones[i].entry)
                                 : 0;
            assert_true(ones[i].entry || ones[i].code != ETHOS_OK);
            if (ones[i].code == ETHOS_OK || sure)
                assert_int_equal(found, ones[i].code == ETHOS_OK);
        }
        assert_history(home);
        empty_home(home);
    }
}

/* The write fails after the lines stand: who changed something fails, and who came after. */
static void test_a_write_that_fails_late_fails_what_rests_on_it(void **state)
{
    struct home *home = *state;
    struct one ones[] = {{.key = "a.md", .entry = NULL},
                         {.key = "a.md", .entry = "one"},
                         {.key = "a.md", .entry = NULL},
                         {.key = "a.md", .entry = "two"}};
    struct nth nth = {"exchange", 1, EIO};
    add(home, "zero");
    os_hook(fail_nth, &nth);
    batch(home, ones, 4);
    os_hook(NULL, NULL);
    assert_int_equal(ones[0].code, ETHOS_CONFLICT);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(ones[i].code, ETHOS_IO);
    assert_file(home, FILE_OF("a.md"), "zero\n");
    assert_no_litter(home);
    assert_sound(home);
}

/* ---- editors -------------------------------------------------------------------------------- */

static void save_human(struct home *home)
{
    save(home, "zero\n\nhuman\n");
}

static void test_a_save_at_any_step_is_kept_and_no_update_lost_or_doubled(void **state)
{
    static const char *const steps[] = {"fdatasync", "exchange", "fsync", "renameat"};
    struct home *home = *state;
    for (size_t i = 0; i < 4; i++) {
        struct one ones[] = {{.key = "a.md", .entry = "one", .op_id = "op-1"},
                             {.key = "a.md", .entry = NULL},
                             {.key = "a.md", .entry = "two", .op_id = "op-2"},
                             {.key = "a.md", .entry = "one", .op_id = "op-1"}};
        struct once once = {home, steps[i], save_human};
        add(home, "zero");
        os_hook(act_once, &once);
        batch(home, ones, 4);
        os_hook(NULL, NULL);
        assert_int_equal(ones[0].code, ETHOS_OK);
        assert_int_equal(ones[2].code, ETHOS_OK);
        assert_int_equal(ones[3].edit.verdict, ETHOS_EDIT_REPEATED);
        look(home, "a.md");
        assert_int_equal(occurrences(home, FILE_OF("a.md"), "one"), 1);
        assert_int_equal(occurrences(home, FILE_OF("a.md"), "two"), 1);
        assert_int_equal(occurrences(home, FILE_OF("a.md"), "human"), 1);
        assert_history(home);
        empty_home(home);
    }
}

/* ---- dead writers --------------------------------------------------------------------------- */

/*
 * A writer died between the lines and the swap; somebody has a copy of its text, without its last
 * entry, and saves that. What the copy has is not added a second time.
 */
static void test_a_copy_with_some_of_a_dead_writers_entries_doubles_none(void **state)
{
    struct home *home = *state;
    struct one ones[] = {{.key = "a.md", .entry = "first", .op_id = "op-1"},
                         {.key = "a.md", .entry = "second", .op_id = "op-2"}};
    int status;
    add(home, "zero");
    for (unsigned long end = 1; occurrences(home, HISTORY, "second") == 0; end++) {
        pid_t child = fork();
        if (child == 0) {
            os_hook(kill_at, &end);
            batch(home, ones, 2);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
    }
    assert_file(home, FILE_OF("a.md"), "zero\n");
    save(home, "zero\n\nfirst\n\nlate\n");
    batch(home, ones, 2);
    assert_int_equal(ones[0].code, ETHOS_OK);
    assert_int_equal(ones[1].code, ETHOS_OK);
    look(home, "a.md");
    assert_int_equal(occurrences(home, FILE_OF("a.md"), "first"), 1);
    assert_int_equal(occurrences(home, FILE_OF("a.md"), "second"), 1);
    assert_int_equal(occurrences(home, FILE_OF("a.md"), "late"), 1);
    assert_history(home);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HOME_TEST(test_updates_of_one_file_share_its_syncs),
        HOME_TEST(test_lines_of_a_batch_are_one_transaction),
        HOME_TEST(test_a_file_that_must_not_be_replaced_fails_only_those_who_want_to),
        HOME_TEST(test_a_key_that_is_no_text_fails_only_those_who_name_it),
        HOME_TEST(test_on_a_full_disk_all_fail_and_nothing_changes),
        HOME_TEST(test_a_fault_at_any_call_leaves_each_done_or_not),
        HOME_TEST(test_a_write_that_fails_late_fails_what_rests_on_it),
        HOME_TEST(test_a_save_at_any_step_is_kept_and_no_update_lost_or_doubled),
        HOME_TEST(test_a_copy_with_some_of_a_dead_writers_entries_doubles_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_killed.c: whoever comes in between, wherever it is killed, whatever fails: nothing that anybody wrote
 * is lost, and both sides are equal in the end.
 */
#include "fixture.h"

/* ---- others in between ----------------------------------------------------------------------- */

struct intruder {
    unsigned long at;
    bool file, done, skip;
};

/* Somebody writes just before the nth call of ours, once. */
static int intrude(void *arg, const char *call, unsigned long number)
{
    struct intruder *self = arg;
    (void)call;
    if (number != self->at || self->done)
        return 0;
    self->done = true;
    os_hook(NULL, NULL);
    if (self->file)
        edit(MEMORY, "top\nfirst\nsecond\nlast\nperson\n");
    else
        put("top\nagent\nfirst\nsecond\nlast\n");
    return 0;
}

static void test_whoever_writes_in_between_loses_nothing(void **state)
{
    (void)state;
    for (int file = 0; file < 2; file++)
        for (unsigned long at = 1;; at++) {
            struct intruder intruder = {.at = at, .file = file};
            begin(ROWS, true);
            put("first\nsecond\nlast\n");
            pass();
            edit(MEMORY, "top\nfirst\nsecond\nlast\n");
            put("first\nsecond\nlast\nend\n");
            os_hook(intrude, &intruder);
            mirror_once(stand.mirror, &stand.error);
            os_hook(NULL, NULL);
            pass();
            pass();
            char *text = backend_has(SCOPE, "MEMORY.md");
            expect_both(text);
            assert_non_null(strstr(text, "top\n"));
            if (intruder.done && !strstr(text, file ? "person\n" : "agent\n"))
                fail_msg("at %lu: %s", at, text);
            free(text);
            expect_quiet();
            end();
            if (!intruder.done)
                break;
        }
}

/* ---- killed ---------------------------------------------------------------------------------- */

/* Dies before the nth call that changes something; between two of them nothing is another after it. */
static int die(void *arg, const char *call, unsigned long number)
{
    static const char *const changing[] = {"write",    "renameat", "exchange",  "linkat",
                                           "unlinkat", "mkdirat",  "ftruncate", "fchmod"};
    unsigned long *left = arg;
    (void)number;
    for (size_t i = 0; i < COUNT(changing); i++)
        if (strcmp(call, changing[i]) == 0 && --*left == 0)
            _exit(7);
    return 0;
}

/* One pass in a process that ends at the nth call. Whether it ended so. */
static bool pass_killed_at(unsigned long at)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        os_hook(die, &at);
        mirror_once(stand.mirror, &stand.error);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 7;
}

static void prepare(bool both)
{
    put("a\nb\nc\n");
    put_in("user:u", "USER.md", "tea\n");
    put_in(SCOPE, "gone.md", "x\n");
    pass();
    edit(MEMORY, "a\nb\nc\nmine\n");
    edit("users/u/USER.md", "milk\n");
    delete ("personalities/p/gone.md");
    put_in(SCOPE, "new.md", "new\n");
    if (both) {
        put("A\nb\nc\n");
        put_in("user:u", "USER.md", "coffee\n");
    }
}

static void test_killed_anywhere_it_ends_the_same(void **state)
{
    (void)state;
    for (int both = 0; both < 2; both++) {
        bool killed = true;
        for (unsigned long at = 1; killed; at++) {
            begin(FILES, true);
            prepare(both);
            killed = pass_killed_at(at);
            again();
            if (at % 2 == 0) { // and once more, a little later
                pass_killed_at(at / 2);
                again();
            }
            pass();
            expect_both(both ? "A\nb\nc\nmine\n" : "a\nb\nc\nmine\n");
            expect_in("user:u", "USER.md", "users/u/USER.md", both ? "coffee\n" : "milk\n");
            expect_in(SCOPE, "gone.md", "personalities/p/gone.md", NULL);
            expect_in(SCOPE, "new.md", "personalities/p/new.md", "new\n");
            assert_int_equal(copies_here(), 0);
            expect_quiet();
            end();
        }
    }
}

static void test_killed_and_then_changed_there_nothing_comes_back(void **state)
{
    bool killed = true;
    (void)state;
    for (unsigned long at = 1; killed; at++) {
        begin(FILES, true);
        put("a\nb\nc\n");
        pass();
        edit(MEMORY, "a\nb\nc\nmine\n");
        killed = pass_killed_at(at);
        again();
        char *text = backend_has(SCOPE, "MEMORY.md");
        bool arrived = strstr(text, "mine") != NULL;
        free(text);
        if (arrived)
            put("a\nb\nc\n"); // an agent takes it away
        pass();
        expect_both(arrived ? "a\nb\nc\n" : "a\nb\nc\nmine\n");
        expect_quiet();
        end();
    }
}

static void test_one_way_killed_anywhere_nothing_is_kept_that_nobody_wrote(void **state)
{
    bool killed = true;
    (void)state;
    for (unsigned long at = 1; killed; at++) {
        begin(FILES, false);
        put("a\n");
        pass();
        put("b\n");
        killed = pass_killed_at(at);
        put("c\n");
        again();
        pass();
        expect_both("c\n");
        assert_int_equal(copies_here(), 0);
        expect_quiet();
        end();
    }
}

static int fail_call(void *arg, const char *call, unsigned long number)
{
    bool lets_go = strcmp(call, "close") == 0; // whoever cannot would hold locks for ever
    return number == *(unsigned long *)arg && !lets_go ? ENOSPC : 0;
}

static void test_a_call_that_fails_anywhere_is_made_up_for(void **state)
{
    (void)state;
    for (unsigned long at = 1; at < 400; at += 3) {
        begin(ROWS, true);
        prepare(true);
        os_hook(fail_call, &at);
        mirror_once(stand.mirror, &stand.error);
        os_hook(NULL, NULL);
        pass();
        expect_both("A\nb\nc\nmine\n");
        expect_in("user:u", "USER.md", "users/u/USER.md", "coffee\n");
        expect_in(SCOPE, "gone.md", "personalities/p/gone.md", NULL);
        expect_quiet();
        end();
    }
}

static void test_without_memory_anywhere_it_is_made_up_for(void **state)
{
    bool failed = true;
    (void)state;
    for (unsigned long at = 1; failed; at += 1 + at / 16) {
        begin(ROWS, true);
        prepare(true);
        alloc_fail_at(at);
        mirror_once(stand.mirror, &stand.error);
        failed = alloc_count() >= at;
        alloc_fail_at(0);
        pass();
        expect_both("A\nb\nc\nmine\n");
        expect_in("user:u", "USER.md", "users/u/USER.md", "coffee\n");
        expect_quiet();
        end();
    }
}

static void test_without_memory_nothing_is_opened(void **state)
{
    int code = ETHOS_NOMEM;
    (void)state;
    for (unsigned long at = 1; code != ETHOS_OK; at++) {
        begin_with(ROWS, true);
        alloc_fail_at(at);
        code = try_open(stand.folder);
        alloc_fail_at(0);
        if (code != ETHOS_OK)
            assert_int_equal(stand.error.code, code);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_whoever_writes_in_between_loses_nothing),
        TEST(test_killed_anywhere_it_ends_the_same),
        TEST(test_killed_and_then_changed_there_nothing_comes_back),
        TEST(test_one_way_killed_anywhere_nothing_is_kept_that_nobody_wrote),
        TEST(test_a_call_that_fails_anywhere_is_made_up_for),
        TEST(test_without_memory_anywhere_it_is_made_up_for),
        TEST(test_without_memory_nothing_is_opened),
    };
    choose_place();
    os_skip_sleep(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

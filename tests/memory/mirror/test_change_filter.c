/*
 * test_change_filter.c: what is in a folder, or is not any more, without anybody wishing it for the backend; and what
 * is not at the backend any more without anybody having removed it.
 */
#include "fixture.h"

static void put_notes(unsigned count)
{
    char key[32];
    for (unsigned i = 0; i < count; i++) {
        snprintf(key, sizeof key, "n%u.md", i);
        put_in(SCOPE, key, "note\n");
    }
}

static unsigned notes_there(unsigned count)
{
    char key[32];
    unsigned there = 0;
    for (unsigned i = 0; i < count; i++) {
        snprintf(key, sizeof key, "n%u.md", i);
        char *text = backend_has(SCOPE, key);
        there += text != NULL;
        free(text);
    }
    return there;
}

static void test_two_way_many_files_that_are_gone_at_once_come_again(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        put_notes(4);
        put("- one\n- two\n");
        pass();
        edit(MEMORY, "- two\n- mine\n"); // an edit of what is left goes on as ever
        shell("rm personalities/p/n0.md personalities/p/n1.md personalities/p/n2.md");
        pass();
        assert_int_equal(stand.seen[MIRROR_REFILLED], 1);
        assert_int_equal(stand.seen[MIRROR_FILE], 3);
        assert_int_equal(notes_there(4), 4);
        expect_in(SCOPE, "n0.md", "personalities/p/n0.md", "note\n");
        expect_both("- two\n- mine\n");
        expect_quiet();
        shell("rm personalities/p/n0.md personalities/p/n1.md"); // not more than half
        pass();
        assert_int_equal(stand.seen[MIRROR_REFILLED], 0);
        assert_int_equal(notes_there(4), 2);
        expect_quiet();
        end();
    }
}

static void test_two_way_more_than_a_few_come_again_though_there_are_others(void **state)
{
    (void)state;
    begin(ROWS, true);
    put_notes(40);
    pass();
    shell("rm personalities/p/n1?.md personalities/p/n2.md");
    pass();
    assert_int_equal(stand.seen[MIRROR_REFILLED], 1);
    assert_int_equal(notes_there(40), 40);
    expect_quiet();
    shell("rm personalities/p/n1?.md");
    pass();
    assert_int_equal(notes_there(40), 30);
}

static void test_two_way_who_may_not_look_has_not_seen_it_gone(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip();
    begin(ROWS, true);
    put_notes(3);
    pass();
    shell("chmod 000 personalities");
    memset(stand.seen, 0, sizeof stand.seen);
    int code = mirror_once(stand.mirror, &stand.error);
    shell("chmod 700 personalities");
    assert_int_not_equal(code, ETHOS_OK);
    assert_int_equal(stand.seen[MIRROR_REFILLED], 0);
    expect_quiet();
}

/* One by one, as somebody's slow rm does it. */
static void test_two_way_a_folder_that_is_emptied_slowly_is_seen_to_be(void **state)
{
    char path[64];
    unsigned refilled = 0;
    (void)state;
    begin(ROWS, true);
    put_notes(8);
    pass();
    for (unsigned i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "personalities/p/n%u.md", i);
        delete (path);
        pass();
        refilled += stand.seen[MIRROR_REFILLED];
    }
    assert_int_equal(refilled, 4);
    assert_int_equal(notes_there(8), 4);
}

static void test_two_way_many_are_removed_when_that_is_said(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        put_notes(12);
        put("one\n");
        pass();
        shell("find . -name 'n*.md' -delete");
        stand.deletes = true;
        again();
        pass();
        assert_int_equal(stand.seen[MIRROR_BACKEND], 12);
        assert_int_equal(notes_there(12), 0);
        expect_both("one\n");
        shell("find . -name '*.md' -delete");
        pass();
        expect_both(NULL);
        end();
    }
}

/* Made anew, or from an old copy: nobody removed anything. */
static void test_a_text_that_the_backend_lost_stays(void **state)
{
    (void)state;
    for (int two_way = 0; two_way < 2; two_way++) {
        begin(ROWS, two_way);
        put("one\n");
        put_in("user:u", "USER.md", "tea\n");
        pass();
        mirror_close(stand.mirror);
        ethos_close(stand.ethos);
        rows_ram_free(stand.db);
        stand.db = rows_ram_new(&log_default_host);
        open_handle();
        open_mirror();
        memset(stand.seen, 0, sizeof stand.seen);
        int code = mirror_once(stand.mirror, &stand.error);
        char *file = file_has(MEMORY), *backend = backend_has(SCOPE, "MEMORY.md");
        assert_string_equal(file, "one\n");
        free(file);
        if (two_way) {
            assert_int_equal(code, ETHOS_OK);
            assert_int_equal(stand.seen[MIRROR_BACKEND], 2);
            assert_string_equal(backend, "one\n");
            expect_quiet();
            drop("MEMORY.md"); // and that is another thing
            pass();
            expect_both(NULL);
        } else {
            assert_int_equal(code, ETHOS_CORRUPT);
            assert_int_equal(stand.seen[MIRROR_FAILED], 2);
            assert_null(backend);
            put("two\n");
            delete ("users/u/USER.md");
            pass();
            expect_both("two\n");
        }
        free(backend);
        end();
    }
}

/* As workspaces forget --memory does it, at another home. */
static void test_a_scope_that_was_deleted_with_its_past_does_not_come_back(void **state)
{
    char command[256];
    (void)state;
    for (int two_way = 0; two_way < 2; two_way++) {
        begin(FILES, two_way);
        put("one\n");
        pass();
        snprintf(command, sizeof command, "rm -r %s/personalities/p", stand.backend);
        shell(command);
        memset(stand.seen, 0, sizeof stand.seen);
        assert_int_equal(mirror_once(stand.mirror, &stand.error), ETHOS_CORRUPT);
        assert_int_equal(stand.seen[MIRROR_BACKEND], 0);
        assert_null(backend_has(SCOPE, "MEMORY.md"));
        char *file = file_has(MEMORY);
        assert_string_equal(file, "one\n");
        free(file);
        if (two_way) { // who changes it wants it
            edit(MEMORY, "one\ntwo\n");
            pass();
            expect_both("one\ntwo\n");
        } else {
            delete (MEMORY);
            pass();
            expect_both(NULL);
        }
        end();
    }
}

static void test_two_way_what_editors_leave_beside_a_note_is_no_text(void **state)
{
    static const char *const litter[] = {"n.md~", "#n.md#", "n.sync-conflict-20261116.md"};
    (void)state;
    begin(ROWS, true);
    put_in(TREE, "a/n.md", "note\n");
    pass();
    shell("cd personalities/p/memories/a; for f in n.md~ '#n.md#' n.sync-conflict-20261116.md "
          ".n.md.swp new.txt; do echo x > \"$f\"; done; ln -s me@here.1 '.#n.md'");
    pass();
    for (size_t i = 0; i < COUNT(litter); i++) {
        char key[64];
        snprintf(key, sizeof key, "a/%s", litter[i]);
        assert_null(backend_has(TREE, key));
    }
    expect_in(TREE, "a/new.txt", "personalities/p/memories/a/new.txt", "x\n");
    expect_quiet();
    put_in(TREE, "a/n.md~", "an agent wrote it\n");
    pass();
    char *text = backend_has(TREE, "a/n.md~");
    assert_non_null(strstr(text, "an agent wrote it"));
    free(text);
}

static void test_two_way_what_git_could_not_merge_is_not_taken(void **state)
{
    static const char unmerged[] = "one\n<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> 1a2b3c\n";
    (void)state;
    begin(ROWS, true);
    put("one\n");
    pass();
    edit(MEMORY, unmerged);
    memset(stand.seen, 0, sizeof stand.seen);
    assert_int_equal(mirror_once(stand.mirror, &stand.error), ETHOS_INVALID);
    assert_int_equal(stand.seen[MIRROR_FAILED], 1);
    assert_non_null(strstr(stand.told.text, "conflict markers"));
    put("one\ntwo\n");
    assert_int_equal(mirror_once(stand.mirror, &stand.error), ETHOS_INVALID);
    char *file = file_has(MEMORY), *backend = backend_has(SCOPE, "MEMORY.md");
    assert_string_equal(file, unmerged);
    assert_string_equal(backend, "one\ntwo\n");
    free(file);
    free(backend);
    edit(MEMORY, "one\nours\n");
    pass();
    expect_lines((const char *const[]){"one\n", "two\n", "ours\n", NULL});
    put(unmerged); // who has it so wants it so
    pass();
    edit(MEMORY, "# Markers\none\n<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> 1a2b3c\n");
    pass();
    expect_quiet();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_two_way_many_files_that_are_gone_at_once_come_again),
        TEST(test_two_way_more_than_a_few_come_again_though_there_are_others),
        TEST(test_two_way_who_may_not_look_has_not_seen_it_gone),
        TEST(test_two_way_a_folder_that_is_emptied_slowly_is_seen_to_be),
        TEST(test_two_way_many_are_removed_when_that_is_said),
        TEST(test_a_text_that_the_backend_lost_stays),
        TEST(test_a_scope_that_was_deleted_with_its_past_does_not_come_back),
        TEST(test_two_way_what_editors_leave_beside_a_note_is_no_text),
        TEST(test_two_way_what_git_could_not_merge_is_not_taken),
    };
    choose_place();
    os_skip_sleep(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

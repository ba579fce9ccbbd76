/*
 * test_mirror.c: a folder in step with a backend: every row of what can have moved on either side.
 */
#include "fixture.h"
#include "memory/mirror/internal.h"

/* ---- both modes ------------------------------------------------------------------------------ */

static void test_a_new_folder_gets_every_text(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int two_way = 0; two_way < 2; two_way++) {
            begin((enum kind)kind, two_way);
            put("one\n");
            put_in(SCOPE, "memory-archive.md", "old\n");
            put_in(SCOPE, "empty.md", "");
            put_in("global", "MEMORY.md", "for all\n");
            put_in("user:u", "USER.md", "tea\n");
            put_in("team:t", "MEMORY.md", "we\n");
            put_in("workspace:w", "MEMORY.md", "here\n");
            put_in(TREE, "a/b/c.md", "deep\n");
            pass();
            assert_int_equal(stand.seen[MIRROR_FILE], 8);
            expect_both("one\n");
            expect_in(SCOPE, "memory-archive.md", "personalities/p/memory-archive.md", "old\n");
            expect_in(SCOPE, "empty.md", "personalities/p/empty.md", "");
            expect_in("global", "MEMORY.md", "MEMORY.md", "for all\n");
            expect_in("user:u", "USER.md", "users/u/USER.md", "tea\n");
            expect_in("team:t", "MEMORY.md", "teams/t/memory/MEMORY.md", "we\n");
            expect_in("workspace:w", "MEMORY.md", "workspaces/w/memory/MEMORY.md", "here\n");
            expect_in(TREE, "a/b/c.md", "personalities/p/memories/a/b/c.md", "deep\n");
            assert_int_equal(mirror_count(stand.mirror).texts, 8);
            expect_quiet();
            again();
            expect_quiet();
            end();
        }
}

static void test_what_changes_at_the_backend_comes_into_the_file(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int two_way = 0; two_way < 2; two_way++) {
            begin((enum kind)kind, two_way);
            put("one\n");
            pass();
            put("one\ntwo\n");
            pass();
            assert_int_equal(stand.seen[MIRROR_FILE], 1);
            expect_both("one\ntwo\n");
            again();
            put("three\n");
            pass();
            expect_both("three\n");
            drop("MEMORY.md");
            pass();
            assert_true(stand.removed);
            expect_both(NULL);
            assert_true(folder_knows("three\n"));
            expect_quiet();
            put("back\n");
            pass();
            expect_both("back\n");
            end();
        }
}

static void test_texts_of_any_bytes_stay_what_they_are(void **state)
{
    static const char bytes[] = "a\0b\xff\r\nno end";
    char revision[ETHOS_REVISION_SIZE];
    size_t size;
    (void)state;
    for (int two_way = 0; two_way < 2; two_way++) {
        begin(ROWS, two_way);
        assert_int_equal(stand.store->ops->write(stand.store, SCOPE, "MEMORY.md", NULL,
                                                 view_of(bytes, sizeof bytes - 1), NULL, revision,
                                                 &stand.error),
                         ETHOS_OK);
        pass();
        char *text = temp_read(&stand.temp, "folder/" MEMORY, &size);
        assert_int_equal(size, sizeof bytes - 1);
        assert_memory_equal(text, bytes, size);
        free(text);
        expect_quiet();
        end();
    }
}

/* The files of the mirror, with updates counted. */
static struct ethos_store_ops counting_ops;
static size_t updates;

static int counting_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                           size_t count, ethos_edit_fn *decide, void *arg,
                           const struct ethos_origin *origin, struct ethos_error *error)
{
    updates++;
    return store_files.update(self, scope, edits, count, decide, arg, origin, error);
}

static void test_a_pass_over_texts_in_step_updates_none(void **state)
{
    char key[32];
    (void)state;
    for (int two_way = 0; two_way < 2; two_way++) {
        begin(ROWS, two_way);
        put("one\n");
        for (int i = 0; i < 30; i++) {
            snprintf(key, sizeof key, "note-%d.md", i);
            put_in(SCOPE, key, "a note\n");
        }
        pass();
        counting_ops = *stand.mirror->files->ops;
        counting_ops.update = counting_update;
        stand.mirror->files->ops = &counting_ops;
        updates = 0;
        pass();
        assert_int_equal(updates, 0);
        put_in(SCOPE, "note-7.md", "another one\n");
        pass();
        assert_in_range(updates, 1, 4);
        char *text = temp_read(&stand.temp, "folder/personalities/p/note-7.md", NULL);
        assert_string_equal(text, "another one\n");
        free(text);
        end();
    }
}

static mode_t mode_of(const char *path)
{
    char full[700];
    struct stat info;
    snprintf(full, sizeof full, "%s/folder/%s", stand.temp.path, path);
    assert_int_equal(stat(full, &info), 0);
    return info.st_mode & 0777;
}

static void test_files_say_by_their_mode_who_may_write(void **state)
{
    (void)state;
    begin(ROWS, false);
    put("one\n");
    pass();
    assert_int_equal(mode_of(MEMORY), 0400);
    put("two\n");
    pass();
    assert_int_equal(mode_of(MEMORY), 0400);
    stand.two_way = true;
    again();
    pass();
    assert_int_equal(mode_of(MEMORY), 0600);
    shell("chmod 640 " MEMORY);
    put("three\n");
    pass();
    assert_int_equal(mode_of(MEMORY), 0640);
}

static void test_git_sees_texts_only(void **state)
{
    (void)state;
    if (system("git --version >/dev/null 2>&1") != 0)
        skip();
    begin(ROWS, true);
    put("one\n");
    put_in(TREE, "note.md", "noted\n");
    put("one\ntwo\n");
    pass();
    shell("git init -q . && test \"$(git ls-files -o --exclude-standard | sort | tr '\\n' ' ')\" = "
          "'.gitignore personalities/p/MEMORY.md personalities/p/memories/note.md '");
    expect_quiet();
    shell("echo mine > .gitignore");
    again();
    expect_quiet();
    shell("test \"$(cat .gitignore)\" = mine");
}

/* ---- one-way --------------------------------------------------------------------------------- */

static void test_one_way_an_edit_is_kept_beside_and_the_file_comes_back(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, false);
        put("one\n");
        pass();
        edit(MEMORY, "mine\n");
        pass();
        assert_int_equal(stand.seen[MIRROR_KEPT], 1);
        assert_int_equal(stand.seen[MIRROR_BACKEND], 0);
        expect_both("one\n");
        assert_int_equal(copies_here(), 1);
        assert_true(folder_knows("mine\n"));
        expect_quiet();
        edit(MEMORY, "mine again\n");
        put("two\n");
        pass();
        expect_both("two\n");
        assert_int_equal(copies_here(), 2);
        edit(MEMORY, "last\n");
        drop("MEMORY.md");
        pass();
        expect_both(NULL);
        assert_int_equal(copies_here(), 3);
        end();
    }
}

static void test_one_way_a_deleted_file_is_made_again(void **state)
{
    (void)state;
    begin(ROWS, false);
    put("one\n");
    put_in("user:u", "USER.md", "tea\n");
    pass();
    delete (MEMORY);
    pass();
    assert_int_equal(stand.seen[MIRROR_FILE], 1);
    expect_both("one\n");
    shell("rm -rf *");
    pass();
    expect_both("one\n");
    expect_in("user:u", "USER.md", "users/u/USER.md", "tea\n");
    expect_quiet();
}

static void test_one_way_a_file_of_others_is_left_alone(void **state)
{
    (void)state;
    begin(ROWS, false);
    put("one\n");
    pass();
    shell(
        "echo about > README.md; echo x > personalities/p/other.md; mkdir users; echo > notes.txt");
    expect_quiet();
    shell("test \"$(cat README.md)\" = about");
    assert_null(backend_has("global", "README.md"));
    assert_int_equal(copies_here(), 0);
}

/* ---- two-way --------------------------------------------------------------------------------- */

static void test_two_way_an_edit_goes_to_the_backend(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        put("one\n");
        pass();
        edit(MEMORY, "one\nmine\n");
        pass();
        assert_int_equal(stand.seen[MIRROR_BACKEND], 1);
        assert_false(stand.merged);
        expect_both("one\nmine\n");
        expect_quiet();
        again();
        expect_quiet();
        put("one\nmine\ntheirs\n");
        pass();
        expect_both("one\nmine\ntheirs\n");
        shell("sed -i s/mine/ours/ " MEMORY);
        pass();
        expect_both("one\nours\ntheirs\n");
        edit(MEMORY, "");
        pass();
        expect_both("");
        end();
    }
}

static int take_origin(void *arg, const struct ethos_change *change)
{
    snprintf(arg, 64, "%s %s %s", change->actor, change->via, change->source);
    return 1;
}

static void test_two_way_history_says_that_a_person_wrote_it_by_the_mirror(void **state)
{
    char origin[64];
    (void)state;
    begin(ROWS, true);
    put("one\n");
    pass();
    edit(MEMORY, "mine\n");
    pass();
    stand.store->ops->history(stand.store, SCOPE, "MEMORY.md", take_origin, origin, &stand.error);
    assert_string_equal(origin, "owner mirror web-editor");
}

static void test_two_way_both_changes_stand(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        put("a\nb\nc\nd\n");
        pass();
        put("A\nb\nc\nd\n");
        edit(MEMORY, "a\nb\nc\nD\n");
        pass();
        assert_int_equal(stand.seen[MIRROR_BACKEND], 1);
        assert_int_equal(stand.seen[MIRROR_FILE], 1);
        assert_int_equal(stand.seen[MIRROR_KEPT], 0);
        expect_both("A\nb\nc\nD\n");
        expect_quiet();
        put("A\nb\nD\n");
        edit(MEMORY, "A\nb\nc\nD\nmine\n");
        pass();
        expect_both("A\nb\nD\nmine\n");
        end();
    }
}

static void test_two_way_what_contradicts_is_kept_at_the_backend(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        put("a\nb\nc\n");
        pass();
        put("a\ntheirs\nc\n");
        edit(MEMORY, "a\nmine\nc\n");
        pass();
        assert_int_equal(stand.seen[MIRROR_KEPT], 1);
        expect_both("a\ntheirs\nc\n");
        assert_int_equal(copies_of(stand.store), 1);
        assert_int_equal(copies_here(), 0);
        assert_true(folder_knows("a\nmine\nc\n"));
        expect_quiet();
        end();
    }
}

/* A copy of the file would bring back what was forgotten. */
static void test_two_way_an_edit_of_what_was_forgotten_does_not_bring_it_back(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct ethos_purge purge;
        begin((enum kind)kind, true);
        put("a\n");
        put("a\nthe key is hunter2\nc\n");
        pass();
        if (stand.store->ops->purge) {
            edit(MEMORY, "a\nthe key is hunter2, of all\nc\n");
            assert_int_equal(
                stand.store->ops->purge(
                    stand.store, SCOPE,
                    &(struct ethos_match){.text = VIEW("hunter2"), .flags = ETHOS_MATCH_SUBSTRING},
                    0, NULL, &purge, &stand.error),
                ETHOS_OK);
            pass();
            assert_int_equal(stand.seen[MIRROR_KEPT], 1);
            expect_both("a\nc\n");
            assert_int_equal(copies_of(stand.store), 0);
            assert_int_equal(copies_here(), 1);
            assert_true(kind != ROWS || !rows_ram_holds(stand.db, VIEW("hunter2")));
            expect_quiet();
        }
        end();
    }
}

/* Nor would that of an editor which had the file open since before, when what was forgotten there is gone here, too. */
static void test_two_way_a_stale_buffer_does_not_bring_back_what_was_forgotten(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct ethos_purge purge;
        begin((enum kind)kind, true);
        put("a\n");
        put("a\nb\nthe key is hunter2\nc\n");
        pass();
        if (stand.store->ops->purge) {
            assert_int_equal(
                stand.store->ops->purge(
                    stand.store, SCOPE,
                    &(struct ethos_match){.text = VIEW("hunter2"), .flags = ETHOS_MATCH_SUBSTRING},
                    0, NULL, &purge, &stand.error),
                ETHOS_OK);
            pass();
            expect_both("a\nb\nc\n");
            put("theirs\nb\nc\n");
            edit(MEMORY, "mine\nb\nthe key is hunter2\nc\n");
            pass();
            assert_int_equal(stand.seen[MIRROR_KEPT], 1);
            expect_both("theirs\nb\nc\n");
            assert_int_equal(copies_of(stand.store), 0);
            assert_int_equal(copies_here(), 1);
            assert_true(kind != ROWS || !rows_ram_holds(stand.db, VIEW("hunter2")));
            expect_quiet();
        }
        end();
    }
}

static void test_two_way_new_files_and_scopes_go_to_the_backend(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        pass();
        shell("mkdir -p personalities/p/memories/x users/u && echo one > " MEMORY
              " && echo tea > users/u/USER.md && echo note > personalities/p/memories/x/n.md");
        pass();
        assert_int_equal(stand.seen[MIRROR_BACKEND], 3);
        expect_both("one\n");
        expect_in("user:u", "USER.md", "users/u/USER.md", "tea\n");
        expect_in(TREE, "x/n.md", "personalities/p/memories/x/n.md", "note\n");
        expect_quiet();
        put("one\nagent\n");
        edit(MEMORY, "person\none\n");
        pass();
        expect_both("person\none\nagent\n");
        expect_quiet();
        end();
    }
}

static void test_two_way_both_new_are_brought_together(void **state)
{
    (void)state;
    begin(ROWS, true);
    put_in("user:u", "USER.md", "x\n");
    pass();
    shell("mkdir -p personalities/p && echo - person > " MEMORY);
    put("- agent\n");
    pass();
    expect_both("- agent\n\n- person\n");
    expect_quiet();
}

static void test_two_way_a_deleted_file_is_removed_unless_it_changed_there(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        put("one\n");
        put_in("user:u", "USER.md", "tea\n");
        pass();
        delete (MEMORY);
        pass();
        assert_int_equal(stand.seen[MIRROR_BACKEND], 1);
        expect_both(NULL);
        expect_quiet();
        put("two\n");
        pass();
        delete (MEMORY);
        put("two\nthree\n");
        pass();
        assert_int_equal(stand.seen[MIRROR_FILE], 1);
        expect_both("two\nthree\n");
        expect_quiet();
        end();
    }
}

static void test_two_way_an_emptied_folder_is_filled_again(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        put("one\n");
        put_in("user:u", "USER.md", "tea\n");
        put_in(TREE, "n.md", "note\n");
        pass();
        shell("find . -name '*.md' -delete");
        pass();
        assert_int_equal(stand.seen[MIRROR_REFILLED], 1);
        assert_int_equal(stand.seen[MIRROR_BACKEND], 0);
        expect_both("one\n");
        expect_in("user:u", "USER.md", "users/u/USER.md", "tea\n");
        expect_in(TREE, "n.md", "personalities/p/memories/n.md", "note\n");
        expect_quiet();
        shell("rm -rf *");
        again();
        pass();
        assert_int_equal(stand.seen[MIRROR_BACKEND], 0);
        expect_both("one\n");
        expect_in("user:u", "USER.md", "users/u/USER.md", "tea\n");
        expect_quiet();
        end();
    }
}

static void test_two_way_removed_there_and_edited_here_comes_back(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        put("one\n");
        pass();
        drop("MEMORY.md");
        edit(MEMORY, "one\nmine\n");
        pass();
        expect_both("one\nmine\n");
        expect_quiet();
        end();
    }
}

static void test_two_way_an_old_state_that_is_checked_out_is_an_edit(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin((enum kind)kind, true);
        put("one\n");
        pass();
        put("two\n");
        pass();
        edit(MEMORY, "one\n");
        pass();
        assert_int_equal(stand.seen[MIRROR_BACKEND], 1);
        expect_both("one\n");
        edit(MEMORY, "two\n");
        pass();
        expect_both("two\n");
        edit(MEMORY, "one\n"); // the same step as before is another one
        pass();
        expect_both("one\n");
        end();
    }
}

static void test_two_way_a_very_old_state_is_an_edit_too(void **state)
{
    char text[64];
    (void)state;
    begin(ROWS, true);
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "- always\n- entry %d\n", i);
        put(text);
        pass();
    }
    edit(MEMORY, "- always\n- entry 2\n");
    pass();
    expect_both("- always\n- entry 2\n");
}

/* It was read before the newest changes, and saved after them. */
static void test_two_way_a_stale_buffer_takes_nothing_away(void **state)
{
    (void)state;
    begin(ROWS, true);
    put("- one\n");
    pass();
    put("- one\n- two\n");
    pass();
    edit(MEMORY, "- person\n- one\n");
    pass();
    expect_both("- person\n- one\n- two\n");
    put("- person\n- 1\n- two\n- three\n");
    pass();
    put("- person\n- 1\n- two\n- three\n- four\n");
    pass();
    edit(MEMORY, "- person\n- one\n- two\n- more\n");
    pass();
    expect_lines(
        (const char *const[]){"- person\n- 1\n- two\n", "- three\n", "- four\n", "- more\n", NULL});
    char *text = backend_has(SCOPE, "MEMORY.md");
    assert_null(strstr(text, "- one"));
    free(text);
    expect_quiet();
}

static void test_two_way_who_wrote_a_line_here_may_take_it_away(void **state)
{
    (void)state;
    begin(ROWS, true);
    put("- one\n");
    pass();
    edit(MEMORY, "- one\n- person\n");
    pass();
    put("- one\n- person\n- agent\n");
    pass();
    edit(MEMORY, "- all new\n");
    pass();
    expect_both("- all new\n- agent\n");
}

static void test_two_way_who_has_read_the_newest_change_may_take_it_away(void **state)
{
    (void)state;
    begin(ROWS, true);
    put("- one\n");
    pass();
    put("- one\n- two\n- three\n");
    pass();
    edit(MEMORY, "- one\n- three\n- person\n");
    pass();
    expect_both("- one\n- three\n- person\n");
    edit(MEMORY, "- one\n"); // as it was
    pass();
    expect_both("- one\n");
}

static void test_a_text_the_backend_refuses_is_told_once_and_kept(void **state)
{
    (void)state;
    begin(ROWS, true);
    put("one\n");
    put_in("user:u", "USER.md", "tea\n");
    pass();
    shell("yes -- '- a long line of text' | head -c 9000000 > " MEMORY
          "; echo milk > users/u/USER.md");
    memset(stand.seen, 0, sizeof stand.seen);
    assert_int_not_equal(mirror_once(stand.mirror, &stand.error), ETHOS_OK);
    assert_int_equal(stand.seen[MIRROR_FAILED], 1);
    expect_in("user:u", "USER.md", "users/u/USER.md", "milk\n");
    assert_int_not_equal(mirror_once(stand.mirror, &stand.error), ETHOS_OK);
    assert_int_equal(stand.seen[MIRROR_FAILED], 1);
    edit(MEMORY, "short\n");
    pass();
    expect_both("short\n");
}

/* ---- what was agreed on is lost -------------------------------------------------------------- */

static void test_without_what_was_agreed_on_nothing_is_lost(void **state)
{
    (void)state;
    for (int two_way = 0; two_way < 2; two_way++) {
        begin(ROWS, two_way);
        put("one\n");
        pass();
        shell("echo '{' > .mem/mirror-personality-p.json");
        put("one\ntwo\n");
        pass();
        expect_both("one\ntwo\n"); // the file is as the mirror made it
        shell("rm .mem/mirror-personality-p.json; rm -rf personalities/p/memory-history.jsonl "
              "personalities/p/history-blobs personalities/p/.mem");
        put("one\ntwo\nthree\n");
        edit(MEMORY, "one\ntwo\nmine\n");
        pass();
        char *text = backend_has(SCOPE, "MEMORY.md");
        assert_non_null(strstr(text, "three"));
        assert_true(two_way ? strstr(text, "mine") != NULL : copies_here() == 1);
        free(text);
        expect_quiet();
        end();
    }
}

/* ---- folders that are not taken -------------------------------------------------------------- */

static void refuse(const char *folder, int code, const char *part)
{
    assert_int_equal(try_open(folder), code);
    if (!strstr(stand.error.text, part))
        fail_msg("%s", stand.error.text);
    assert_true(*stand.error.hint != 0);
}

static void test_a_folder_with_other_things_is_refused_and_stays_as_it_is(void **state)
{
    (void)state;
    begin_with(ROWS, true);
    assert_int_equal(mkdir(stand.folder, 0700), 0);
    temp_write(&stand.temp, "folder/thesis.md", "work of years\n");
    temp_write(&stand.temp, "folder/more", "");
    refuse(stand.folder, ETHOS_DENIED, "more and 1 more");
    shell("test \"$(ls -A)\" = \"$(printf 'more\\nthesis.md')\"");
    shell("rm *; mkdir .git");
    open_mirror();
    pass();
}

static void test_the_home_and_what_is_in_or_around_it_are_refused(void **state)
{
    char path[256];
    (void)state;
    begin_with(ROWS, true);
    assert_int_equal(mkdir(stand.home, 0700), 0);
    refuse(stand.home, ETHOS_INVALID, "is the home itself");
    snprintf(path, sizeof path, "%s/a/b", stand.home);
    refuse(path, ETHOS_INVALID, "is inside the home");
    refuse(stand.temp.path, ETHOS_INVALID, "has the home inside");
    snprintf(path, sizeof path, "%s/link", stand.temp.path);
    assert_int_equal(symlink(stand.home, path), 0);
    refuse(path, ETHOS_INVALID, "is the home itself");
    snprintf(path, sizeof path, "%s/link/x", stand.temp.path);
    refuse(path, ETHOS_INVALID, "is inside the home");
    temp_write(&stand.temp, "file", "");
    snprintf(path, sizeof path, "%s/file", stand.temp.path);
    refuse(path, ETHOS_INVALID, "not a folder");
    assert_int_equal(try_open(""), ETHOS_INVALID);
    snprintf(path, sizeof path, "%s/file/x", stand.temp.path);
    assert_int_not_equal(try_open(path), ETHOS_OK);
    snprintf(path, sizeof path, "%s/dangling", stand.temp.path);
    assert_int_equal(symlink("nowhere", path), 0);
    refuse(path, ETHOS_INVALID, "is a link that leads nowhere");
}

static void test_a_folder_in_another_mirror_is_refused(void **state)
{
    char path[256];
    (void)state;
    begin(ROWS, true);
    struct mirror *outer = stand.mirror;
    snprintf(path, sizeof path, "%s/users/u", stand.folder);
    refuse(path, ETHOS_INVALID, "is inside the mirror");
    snprintf(path, sizeof path, "%s/link", stand.temp.path);
    assert_int_equal(symlink(stand.folder, path), 0);
    snprintf(path, sizeof path, "%s/link/a/b", stand.temp.path);
    refuse(path, ETHOS_INVALID, "is inside the mirror");
    mirror_close(outer);
    stand.mirror = NULL;
    shell("test ! -e users -a ! -e a");
}

static void test_a_second_mirror_of_a_folder_is_refused(void **state)
{
    (void)state;
    begin(ROWS, true);
    struct mirror *first = stand.mirror;
    refuse(stand.folder, ETHOS_BUSY, "already mirrored by");
    mirror_close(first);
    open_mirror();
    pass();
}

static void test_a_folder_of_another_place_is_refused_by_name(void **state)
{
    (void)state;
    begin(ROWS, true);
    put("one\n");
    pass();
    mirror_close(stand.mirror);
    ethos_close(stand.ethos);
    shell("sed -i 's/\"place\": \"./\"place\": \"x/; s/\"shown\": \"/&postgres of yore /' "
          ".mem/mirror.json");
    open_handle();
    stand.mirror = NULL;
    refuse(stand.folder, ETHOS_DENIED, "postgres of yore");
}

static void test_memory_that_is_in_files_needs_no_mirror(void **state)
{
    struct ethos_options options = {.fast = 1, .host = &log_default_host};
    (void)state;
    begin_with(ROWS, true);
    ethos_close(stand.ethos);
    options.home = stand.home;
    assert_int_equal(ethos_open(&options, &stand.ethos, &stand.error), ETHOS_OK);
    refuse(stand.folder, ETHOS_INVALID, stand.home);
    assert_int_not_equal(access(stand.folder, F_OK), 0);
}

static void test_a_folder_that_is_taken_away_ends_it(void **state)
{
    (void)state;
    begin(ROWS, true);
    put("one\n");
    pass();
    shell("mv ../folder ../elsewhere");
    assert_int_equal(mirror_once(stand.mirror, &stand.error), ETHOS_NOTFOUND);
    assert_int_equal(mirror_run(stand.mirror, &stand.error), ETHOS_NOTFOUND);
    char *text = backend_has(SCOPE, "MEMORY.md");
    assert_string_equal(text, "one\n");
    free(text);
}

/* ---- out of reach ---------------------------------------------------------------------------- */

static void test_a_backend_out_of_reach_changes_nothing_and_is_made_up_for(void **state)
{
    (void)state;
    begin(ROWS, true);
    put("one\n");
    pass();
    edit(MEMORY, "one\nmine\n");
    rows_ram_hooks(stand.db)->down = ETHOS_BUSY;
    memset(stand.seen, 0, sizeof stand.seen);
    assert_int_equal(mirror_once(stand.mirror, &stand.error), ETHOS_BUSY);
    assert_int_equal(mirror_once(stand.mirror, &stand.error), ETHOS_BUSY);
    assert_int_equal(stand.seen[MIRROR_AWAY], 1);
    char *text = file_has(MEMORY);
    assert_string_equal(text, "one\nmine\n");
    free(text);
    rows_ram_hooks(stand.db)->down = 0;
    pass();
    assert_int_equal(stand.seen[MIRROR_BACK], 1);
    expect_both("one\nmine\n");
}

static void test_an_answer_that_is_lost_does_nothing_twice(void **state)
{
    (void)state;
    begin(ROWS, true);
    put("one\n");
    pass();
    edit(MEMORY, "one\nmine\n");
    rows_ram_hooks(stand.db)->loses = ETHOS_IO;
    assert_int_equal(mirror_once(stand.mirror, &stand.error), ETHOS_IO);
    put("one\nagent\n"); // somebody took the line away again
    pass();
    expect_both("one\nagent\n");
    expect_quiet();
}

/* ---- until it is stopped --------------------------------------------------------------------- */

/* Another thread: as others see both sides, which are files here. */
static bool comes(const char *path, const char *text)
{
    for (int64_t end_ms = os_monotonic_ms() + PATIENCE_MS; os_monotonic_ms() < end_ms;) {
        char *found = temp_read(&stand.temp, path, NULL);
        bool same = found && strcmp(found, text) == 0;
        free(found);
        if (same)
            return true;
        os_sleep_ms(10);
    }
    return false;
}

struct others {
    int stop[2];
    bool first, edited, changed;
};

static void *be_others(void *arg)
{
    struct others *self = arg;
    self->first = comes("folder/" MEMORY, "one\n");
    edit(MEMORY, "one\nmine\n");
    self->edited = comes("backend/" MEMORY, "one\nmine\n");
    temp_write(&stand.temp, "backend/" MEMORY, "one\nmine\nagent\n");
    self->changed = comes("folder/" MEMORY, "one\nmine\nagent\n");
    if (write(self->stop[1], "", 1) != 1)
        abort();
    return NULL;
}

static void test_it_runs_until_it_is_stopped(void **state)
{
    struct others others = {0};
    pthread_t thread;
    (void)state;
    begin_with(FILES, true);
    put("one\n");
    assert_int_equal(pipe(others.stop), 0);
    const struct mirror_how how = {.folder = stand.folder,
                                   .two_way = true,
                                   .stop = others.stop[0],
                                   .each = note,
                                   .arg = &stand};
    assert_int_equal(mirror_open(stand.ethos, &how, &stand.mirror, &stand.error), ETHOS_OK);
    assert_int_equal(pthread_create(&thread, NULL, be_others, &others), 0);
    int code = mirror_run(stand.mirror, &stand.error);
    pthread_join(thread, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_true(others.first && others.edited && others.changed);
    expect_both("one\nmine\nagent\n");
    close(others.stop[0]);
    close(others.stop[1]);
    shell("test -z \"$(ls | grep -v personalities)\"");
}

static void *leave_a_copy(void *arg)
{
    int64_t until = os_monotonic_ms() + PATIENCE_MS;
    while (stand.seen[MIRROR_IN_STEP] == 0 && os_monotonic_ms() < until)
        os_sleep_ms(10);
    shell("echo other > users/u/USER.sync-conflict-20260101-120000-ABCDEFG.md");
    while (stand.seen[MIRROR_KEPT] == 1 && os_monotonic_ms() < until)
        os_sleep_ms(10);
    if (write(*(int *)arg, "", 1) != 1)
        abort();
    return NULL;
}

/* A copy of its own that was told already is not taken for one that somebody else left. */
static void test_while_it_runs_copies_of_others_are_told(void **state)
{
    int stop[2];
    pthread_t thread;
    struct ethos_purge purge;
    (void)state;
    begin_with(ROWS, true);
    put("a\nthe key is hunter2\nc\n");
    put_in("user:u", "USER.md", "tea\n");
    assert_int_equal(pipe(stop), 0);
    const struct mirror_how how = {
        .folder = stand.folder, .two_way = true, .stop = stop[0], .each = note, .arg = &stand};
    assert_int_equal(mirror_open(stand.ethos, &how, &stand.mirror, &stand.error), ETHOS_OK);
    pass();
    edit(MEMORY, "a\nthe key is hunter2, of all\nc\n");
    assert_int_equal(stand.store->ops->purge(stand.store, SCOPE,
                                             &(struct ethos_match){.text = VIEW("hunter2"),
                                                                   .flags = ETHOS_MATCH_SUBSTRING},
                                             0, NULL, &purge, &stand.error),
                     ETHOS_OK);
    pass();
    assert_int_equal(stand.seen[MIRROR_KEPT], 1);
    assert_int_equal(pthread_create(&thread, NULL, leave_a_copy, &stop[1]), 0);
    int code = mirror_run(stand.mirror, &stand.error);
    pthread_join(thread, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_int_equal(stand.seen[MIRROR_KEPT], 2);
    close(stop[0]);
    close(stop[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_new_folder_gets_every_text),
        TEST(test_what_changes_at_the_backend_comes_into_the_file),
        TEST(test_texts_of_any_bytes_stay_what_they_are),
        TEST(test_a_pass_over_texts_in_step_updates_none),
        TEST(test_files_say_by_their_mode_who_may_write),
        TEST(test_git_sees_texts_only),
        TEST(test_one_way_an_edit_is_kept_beside_and_the_file_comes_back),
        TEST(test_one_way_a_deleted_file_is_made_again),
        TEST(test_one_way_a_file_of_others_is_left_alone),
        TEST(test_two_way_an_edit_goes_to_the_backend),
        TEST(test_two_way_history_says_that_a_person_wrote_it_by_the_mirror),
        TEST(test_two_way_both_changes_stand),
        TEST(test_two_way_what_contradicts_is_kept_at_the_backend),
        TEST(test_two_way_an_edit_of_what_was_forgotten_does_not_bring_it_back),
        TEST(test_two_way_a_stale_buffer_does_not_bring_back_what_was_forgotten),
        TEST(test_two_way_new_files_and_scopes_go_to_the_backend),
        TEST(test_two_way_both_new_are_brought_together),
        TEST(test_two_way_a_deleted_file_is_removed_unless_it_changed_there),
        TEST(test_two_way_an_emptied_folder_is_filled_again),
        TEST(test_two_way_removed_there_and_edited_here_comes_back),
        TEST(test_two_way_an_old_state_that_is_checked_out_is_an_edit),
        TEST(test_two_way_a_very_old_state_is_an_edit_too),
        TEST(test_two_way_a_stale_buffer_takes_nothing_away),
        TEST(test_two_way_who_wrote_a_line_here_may_take_it_away),
        TEST(test_two_way_who_has_read_the_newest_change_may_take_it_away),
        TEST(test_a_text_the_backend_refuses_is_told_once_and_kept),
        TEST(test_without_what_was_agreed_on_nothing_is_lost),
        TEST(test_a_folder_with_other_things_is_refused_and_stays_as_it_is),
        TEST(test_the_home_and_what_is_in_or_around_it_are_refused),
        TEST(test_a_folder_in_another_mirror_is_refused),
        TEST(test_a_second_mirror_of_a_folder_is_refused),
        TEST(test_a_folder_of_another_place_is_refused_by_name),
        TEST(test_memory_that_is_in_files_needs_no_mirror),
        TEST(test_a_folder_that_is_taken_away_ends_it),
        TEST(test_a_backend_out_of_reach_changes_nothing_and_is_made_up_for),
        TEST(test_an_answer_that_is_lost_does_nothing_twice),
        TEST(test_it_runs_until_it_is_stopped),
        TEST(test_while_it_runs_copies_of_others_are_told),
    };
    choose_place();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_check.c: what notes claim is looked up, told, recorded and marked; nothing else is
 * touched.
 *
 * The clock stands at 2025-11-15; <temp>/work is the workspace.
 */
#include "memory/notes/check.h"

#include <sys/time.h>

#include "../world.h"
#include "base/str.h"
#include "memory/handle_internal.h"
#include "memory/notes/reference_lookup.h"

#define TODAY "2025-11-15"
#define HEAD "---\nname: x\nmetadata:\n  created: 2025-11-01\n---\n\n"
#define HEAD_TODAY "---\nname: x\nmetadata:\n  created: 2025-11-01\n  verified: " TODAY "\n---\n\n"

/* ---- a workspace and its notes -------------------------------------------------------------- */

static const char *note_path(struct world *world, const char *key)
{
    static char path[512];
    snprintf(path, sizeof path, "home/workspaces/%s/memory/%s",
             ethos_turn_context(world->turn)->workspace_scope + strlen("workspace:"), key);
    return path;
}

static void put_note(struct world *world, const char *key, const char *text)
{
    world_put(world, note_path(world, key), text);
}

static const char *record_path(struct world *world)
{
    static char path[512];
    snprintf(path, sizeof path, "home/.mem/checks-workspace-%s.json",
             ethos_turn_context(world->turn)->workspace_scope + strlen("workspace:"));
    return path;
}

static void begin(struct world *world)
{
    world_turn(world, NULL);
}

static void write_finding(void *arg, const struct note_finding *finding)
{
    str_printf(arg, "%s %s %llu%s: %s\n", finding->key, finding->kind,
               (unsigned long long)finding->line, finding->fixed ? " fixed" : "", finding->text);
}

static struct notes_checked check(struct world *world, const struct notes_check *what,
                                  unsigned flags, const char *expected)
{
    const struct ethos_sync_how how = {.flags = flags};
    struct notes_checked out = {0};
    struct str told;
    str_init(&told, (size_t)1 << 24);
    assert_ok(world,
              notes_check(world->turn, what, &how, write_finding, &told, &out, &world->error));
    if (expected && strcmp(told.data, expected) != 0)
        fail_msg("told:\n%sexpected:\n%s", told.data, expected);
    str_release(&told);
    return out;
}

static const struct notes_check all;

/* ---- what holds and what does not ----------------------------------------------------------- */

static void test_every_kind_of_claim_names_its_line(void **state)
{
    struct world *world = *state;
    begin(world);
    world_put(world, "work/src/main.c", "int main(void)\n{\n}\n");
    put_note(world, "MEMORY.md", "# Index\n- [One](one.md)\n- [Gone](gone.md)\n- [One](one.md)\n");
    put_note(world, "one.md",
             "---\nname: one\nmetadata:\n  created: 2025-11-01\n  expires: 2025-11-14\n"
             "  check: path src/old.c; grep start src/main.c\n---\n\n"
             "It begins in `src/main.c`.\n"
             "`start_all` is in `src/main.c`.\r\n"
             "The freeze lasts until 2025-11-01.\n"
             "See [[two]], [[three]] and `src/lost/`.\n"
             "Look at `src/main.c:9` too.\n");
    put_note(world, "two.md", HEAD "Two is another note, with [[one]] in it.\n");
    struct notes_checked out = check(
        world, &all, 0,
        "gone.md missing 3: MEMORY.md names it, but there is no such note\n"
        "one.md double 4: MEMORY.md lists it more than once\n"
        "two.md unlisted 0: it has no line in MEMORY.md\n"
        "one.md expired 5: it expired on 2025-11-14\n"
        "one.md path 6: src/old.c does not exist\n"
        "one.md symbol 6: start is not in src/main.c\n"
        "one.md symbol 10: start_all is not in src/main.c\n"
        "one.md date 11: 2025-11-01 has passed\n"
        "one.md link 12: there is no note [[three]]\n"
        "one.md path 12: src/lost/ does not exist\n"
        "one.md path 13: src/main.c has 3 lines, not 9\n");
    assert_int_equal(out.notes, 2);
    assert_int_equal(out.findings, 11);
    assert_int_equal(out.fixed, 0);
    assert_int_equal(out.verified, 1);
    assert_file(world, note_path(world, "two.md"),
                HEAD_TODAY "Two is another note, with [[one]] in it.\n");
}

static void test_short_paths_are_found_anywhere_in_the_tree(void **state)
{
    struct world *world = *state;
    begin(world);
    world_put(world, "work/src/core/index.c", "int index_next(void);\n");
    world_put(world, "work/lib/other.c", "x\n");
    put_note(world, "MEMORY.md", "- [A](a.md)\n");
    put_note(world, "a.md",
             HEAD "`index.c`, `core/index.c`, `src/core/` and `lib/other.c` are there.\n"
                  "`index_next()` is in `core/index.c`.\n"
                  "`index_gone()` is in `core/index.c`.\n"
                  "`lib/index.c` is nowhere.\n"
                  "`lost.c` and `lost/other.c` are nowhere.\n");
    check(world, &all, 0,
          "a.md symbol 9: index_gone is not in core/index.c\n"
          "a.md path 10: lib/index.c does not exist\n"
          "a.md path 11: lost.c does not exist\n"
          "a.md path 11: lost/other.c does not exist\n");
}

static void test_links_find_names_titles_and_files(void **state)
{
    struct world *world = *state;
    begin(world);
    put_note(world, "MEMORY.md",
             "- [Of the index](a.md)\n- [B](units-of-time.md)\n- [C](c.md)\n- [Links](links.md)\n");
    put_note(world, "a.md", "---\nname: first-name\nmetadata:\n  title: \"Grüße\"\n---\nx\n");
    put_note(world, "units-of-time.md", "y\n");
    put_note(world, "c.md", "z\n");
    put_note(world, "links.md",
             "[[a]] [[a.md]] [[first-name]] [[Grüße]] [[Of the index]] [[Units of time]] "
             "[[units-of-time|shown]] [[UNITS OF TIME#part]] [c](c.md) [index](MEMORY.md)\n"
             "[[nobody]] [[a b c]] [dd](dd.md)\n");
    check(world, &all, 0,
          "links.md link 2: there is no note [[nobody]]\n"
          "links.md link 2: there is no note [[a b c]]\n"
          "links.md path 2: dd.md does not exist\n");
}

static void test_nothing_outside_the_workspace_is_opened(void **state)
{
    struct world *world = *state;
    begin(world);
    world_put(world, "secret/key.txt", "password_here\n");
    temp_write(&world->temp, "there.txt", "x\n");
    world_mkdir(world, "work/src");
    assert_int_equal(symlinkat("../secret", world->temp.fd, "work/away"), 0);
    assert_int_equal(symlinkat("src", world->temp.fd, "work/near"), 0);
    assert_int_equal(mkfifoat(world->temp.fd, "work/src/pipe.txt", 0600), 0);
    assert_int_equal(symlinkat(".", world->temp.fd, "work/loop"), 0);
    world_put(world, "secret/elsewhere.py", "x\n");
    world_put(world, "work/src/real.txt", "some_word\n");
    put_note(world, "MEMORY.md", "- [A](a.md)\n");
    put_note(world, "a.md",
             "---\ncheck: grep password_here away/key.txt; grep root_x ../secret/key.txt\n---\n"
             "`password_there` in `away/key.txt`\n" /* a link that leaves is unknown, not gone */
             "`some_word` in `near/real.txt`\n"
             "`some_word` in `src/pipe.txt`\n" /* would wait for ever */
             "`~/there.txt` is there, `~/nowhere.txt` not so\n"
             "`other_word` in `~/there.txt`\n"
             "`/etc/nothing-of-this-name.conf`\n"
             "`elsewhere.py` is only behind a link, `away/none.txt` nobody knows\n");
    check(world, &all, 0,
          "a.md path 7: ~/nowhere.txt does not exist\n"
          "a.md path 9: /etc/nothing-of-this-name.conf does not exist\n"
          "a.md path 10: elsewhere.py does not exist\n");
}

static void test_other_scopes_look_up_no_files(void **state)
{
    struct world *world = *state;
    begin(world);
    world_put(world, "home/personalities/default/MEMORY.md", "- [A](a.md)\n");
    world_put(world, "home/personalities/default/a.md", HEAD "`src/none.c` [[b]] `f()` in `x.c`\n");
    const struct notes_check what = {.scope = "personality"};
    check(world, &what, 0, "a.md link 7: there is no note [[b]]\n");
    const struct notes_check other = {.scope = "workspace:other-0123456789ab"};
    world_put(world, "home/workspaces/other-0123456789ab/memory/a.md", "`src/none.c`\n");
    check(world, &other, 0, "a.md unlisted 0: it has no line in MEMORY.md\n");
}

static void test_notes_that_say_the_same_are_told(void **state)
{
    struct world *world = *state;
#define BODY                                                                                       \
    "the build needs two cores and a good deal of memory because the linker keeps all of it"
    begin(world);
    put_note(world, "MEMORY.md", "- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n- [D](d.md)\n");
    put_note(world, "a.md", HEAD BODY "\n");
    put_note(world, "b.md", BODY);
    put_note(world, "c.md", BODY " open\n");
    put_note(world, "d.md", "nothing of the kind\n");
    check(world, &all, 0,
          "b.md duplicate 0: duplicate of a.md\n"
          "c.md near-duplicate 0: nearly a duplicate of a.md (94 %)\n");
    const struct notes_check one = {.name = "a"};
    check(world, &one, 0,
          "a.md duplicate 0: duplicate of b.md\n"
          "a.md near-duplicate 0: nearly a duplicate of c.md (94 %)\n");
}

static void test_old_notes_are_told_unless_they_are_verified_now(void **state)
{
    struct world *world = *state;
    begin(world);
    put_note(world, "MEMORY.md", "- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n");
    put_note(world, "a.md", "---\ncreated: 2025-01-01\n---\nnothing to look up\n");
    put_note(world, "b.md", "---\ncreated: 2025-01-01\n---\nlike [[a]]\n");
    put_note(world, "c.md", "---\ncreated: 2025-01-01\nverified: 2025-08-01\n---\nnothing\n");
    check(world, &all, 0,
          "a.md old 0: last written 318 days ago\n"
          "c.md old 0: last verified 106 days ago\n");
    char *text = temp_read(&world->temp, note_path(world, "b.md"), NULL);
    assert_non_null(strstr(text, "verified: " TODAY));
    free(text);
}

/* ---- marking -------------------------------------------------------------------------------- */

static void test_only_notes_whose_claims_all_hold_are_verified(void **state)
{
    struct world *world = *state;
    begin(world);
    world_put(world, "work/src/main.c", "x\n");
    put_note(world, "MEMORY.md",
             "- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n- [D](d.md)\n- [E](e.md)\n- [F](f.md)\n");
    static const struct {
        const char *key, *text;
        bool verified;
    } rows[] = {
        {"a.md", HEAD "first of all `src/main.c`\n", true},
        {"b.md", HEAD "second `src/main.c` and `src/lost.c`\n", false},
        {"c.md", "third, headless: `src/main.c`\n", false},
        {"d.md", HEAD "fourth, nothing to look up\n", false},
        {"e.md", HEAD "fifth, only until 2027-01-01\n", false},
        {"f.md", HEAD_TODAY "sixth `src/main.c`\n", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        put_note(world, rows[i].key, rows[i].text);
    struct notes_checked out = check(world, &all, 0, "b.md path 7: src/lost.c does not exist\n");
    assert_int_equal(out.verified, 1);
    for (size_t i = 1; i < COUNT(rows); i++)
        assert_file(world, note_path(world, rows[i].key), rows[i].text);
    assert_file(world, note_path(world, "a.md"), HEAD_TODAY "first of all `src/main.c`\n");
    /* once more: nothing is left to do */
    out = check(world, &all, 0, NULL);
    assert_int_equal(out.verified, 0);
}

static void edit_meanwhile(void *arg, const struct note_finding *finding)
{
    assert_string_equal(finding->key, "gone.md");
    put_note(arg, "a.md", HEAD "now `src/lost.c`\n");
}

/* The finding about the index is told after the notes were read and before they are marked. */
static void test_a_note_that_changes_meanwhile_is_not_verified(void **state)
{
    struct world *world = *state;
    struct notes_checked out;
    begin(world);
    world_put(world, "work/src/main.c", "x\n");
    put_note(world, "MEMORY.md", "- [A](a.md)\n- [G](gone.md)\n");
    put_note(world, "a.md", HEAD "see `src/main.c`\n");
    assert_ok(world,
              notes_check(world->turn, &all, NULL, edit_meanwhile, world, &out, &world->error));
    assert_int_equal(out.verified, 0);
    assert_file(world, note_path(world, "a.md"), HEAD "now `src/lost.c`\n");
}

static void test_confirming_marks_the_named_note_whatever_it_claims(void **state)
{
    struct world *world = *state;
    begin(world);
    put_note(world, "MEMORY.md", "- [A](a.md)\n- [B](b.md)\n");
    put_note(world, "a.md", HEAD "see `src/lost.c`\n");
    put_note(world, "b.md", "no head\n");
    const struct notes_check a = {.name = "A", .confirm = true};
    struct notes_checked out = check(world, &a, 0, "a.md path 7: src/lost.c does not exist\n");
    assert_int_equal(out.verified, 1);
    assert_int_equal(out.notes, 1);
    assert_file(world, note_path(world, "a.md"), HEAD_TODAY "see `src/lost.c`\n");
    const struct notes_check b = {.name = "b", .confirm = true};
    assert_int_equal(check(world, &b, 0, "").verified, 1);
    char *text = temp_read(&world->temp, note_path(world, "b.md"), NULL);
    assert_non_null(strstr(text, "verified: " TODAY));
    assert_non_null(strstr(text, "no head\n"));
    free(text);
    const struct notes_check nobody = {.confirm = true};
    struct notes_checked none;
    assert_error(&world->error,
                 notes_check(world->turn, &nobody, NULL, NULL, NULL, &none, &world->error),
                 ETHOS_INVALID);
    const struct notes_check missing = {.name = "zzz"};
    assert_error(&world->error,
                 notes_check(world->turn, &missing, NULL, NULL, NULL, &none, &world->error),
                 ETHOS_NOTFOUND);
}

/* More notes than one update takes, in both ways of writing. */
static void test_many_notes_are_marked_in_parts(void **state)
{
    struct world *world = *state;
    struct str index;
    char key[32], text[256];
    begin(world);
    world_put(world, "work/src/main.c", "x\n");
    str_init(&index, 65536);
    for (int i = 0; i < 130; i++) {
        snprintf(key, sizeof key, "n%03d.md", i);
        snprintf(text, sizeof text, HEAD "a%d b%d c%d d%d `src/main.c`\n", i, i, i, i);
        put_note(world, key, text);
        str_printf(&index, "- [N %d](%s)\n", i, key);
    }
    put_note(world, "MEMORY.md", index.data);
    assert_int_equal(check(world, &all, ETHOS_SYNC_DRY_RUN, "").verified, 130);
    assert_int_equal(check(world, &all, 0, "").verified, 130);
    assert_int_equal(check(world, &all, 0, "").verified, 0);
    str_release(&index);
}

/* ---- fixing --------------------------------------------------------------------------------- */

static void test_fixing_mends_the_index_and_nothing_else(void **state)
{
    struct world *world = *state;
    begin(world);
    put_note(world, "MEMORY.md", "# Mine\n\n- [Gone](gone.md)\n- [A](a.md) — hook\nprose\n");
    put_note(world, "a.md", "see `src/lost.c`\n");
    put_note(world, "b.md", "a note nobody listed\n");
    const struct notes_check fix = {.fix = true};
    char *before = world_tree(world, ".", TREE_ALL);
    check(world, &fix, ETHOS_SYNC_DRY_RUN,
          "gone.md missing 3: MEMORY.md names it, but there is no such note\n"
          "b.md unlisted 0: it has no line in MEMORY.md\n"
          "a.md path 1: src/lost.c does not exist\n");
    char *after = world_tree(world, ".", TREE_ALL);
    assert_string_equal(before, after);
    free(before);
    free(after);
    struct notes_checked out = check(
        world, &fix, 0,
        "gone.md missing 3 fixed: MEMORY.md names it, but there is no such note\n"
        "b.md unlisted 0 fixed: it has no line in MEMORY.md\n"
        "a.md path 1: src/lost.c does not exist\n");
    assert_int_equal(out.fixed, 2);
    assert_int_equal(out.findings, 3);
    assert_file(world, note_path(world, "MEMORY.md"),
                "# Mine\n\n- [A](a.md) — hook\n- [B](b.md) — a note nobody listed\nprose\n");
    assert_file(world, note_path(world, "a.md"), "see `src/lost.c`\n");
    check(world, &all, 0, "a.md path 1: src/lost.c does not exist\n");
}

/* ---- the record ----------------------------------------------------------------------------- */

static char *last(struct world *world)
{
    json_t *rows = NULL;
    assert_ok(world, notes_check_last(world->turn, NULL, &rows, &world->error));
    char *text = json_dumps(rows, JSON_COMPACT);
    json_decref(rows);
    return text;
}

static void assert_last(struct world *world, const char *expected)
{
    char *text = last(world);
    assert_string_equal(text, expected);
    free(text);
}

#define ROW_A                                                                                      \
    "{\"key\":\"a.md\",\"kind\":\"path\",\"line\":1,\"text\":\"src/lost.c does not exist\"}"
#define ROW_B "{\"key\":\"b.md\",\"kind\":\"link\",\"line\":2,\"text\":\"there is no note [[zz]]\"}"

static void test_the_last_check_is_recorded(void **state)
{
    struct world *world = *state;
    const struct notes_check a = {.name = "a"};
    begin(world);
    assert_last(world, "[]");
    assert_false(world_exists(world, "home"));
    put_note(world, "MEMORY.md", "- [A](a.md)\n- [B](b.md)\n");
    put_note(world, "a.md", "see `src/lost.c`\n");
    put_note(world, "b.md", "see\n[[zz]]\n");
    check(world, &all, ETHOS_SYNC_DRY_RUN, NULL);
    assert_false(world_exists(world, record_path(world)));
    check(world, &all, 0, NULL);
    assert_last(world, "[" ROW_A "," ROW_B "]");
    assert_mode(world, record_path(world), 0600);
    /* one note looked at again: the others stay as they were */
    put_note(world, "a.md", "see nothing\n");
    put_note(world, "b.md", "see nothing either\n");
    check(world, &a, 0, "");
    assert_last(world, "[" ROW_B "]");
    check(world, &all, 0, "");
    assert_last(world, "[]");
    world_put(world, record_path(world), "{\"findings\": [7, {\"key\": 1}, " ROW_A "]}");
    assert_last(world, "[" ROW_A "]");
    world_put(world, record_path(world), "not JSON");
    assert_last(world, "[]");
    assert_ok(world, notes_check_forget(world->turn, NULL, &world->error));
    assert_false(world_exists(world, record_path(world)));
    assert_ok(world, notes_check_forget(world->turn, NULL, &world->error));
}

static void test_a_check_without_findings_makes_nothing(void **state)
{
    struct world *world = *state;
    begin(world);
    check(world, &all, 0, "");
    assert_false(world_exists(world, "home"));
    put_note(world, "MEMORY.md", "- [A](a.md)\n");
    put_note(world, "a.md", "fine\n");
    char *before = world_tree(world, ".", TREE_ALL);
    check(world, &all, 0, "");
    char *after = world_tree(world, ".", TREE_ALL);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void test_a_long_record_says_what_it_left_out(void **state)
{
    struct world *world = *state;
    struct str text;
    begin(world);
    str_init(&text, 1 << 20);
    for (int i = 0; i < NOTES_CHECK_KEPT + 5; i++)
        str_printf(&text, "[[none-%d]]\n", i);
    put_note(world, "MEMORY.md", "- [A](a.md)\n");
    put_note(world, "a.md", text.data);
    assert_int_equal(check(world, &all, 0, NULL).findings, NOTES_CHECK_KEPT + 5);
    json_t *rows = NULL;
    assert_ok(world, notes_check_last(world->turn, NULL, &rows, &world->error));
    assert_int_equal(json_array_size(rows), NOTES_CHECK_KEPT + 1);
    const json_t *row = json_array_get(rows, NOTES_CHECK_KEPT);
    assert_true(view_eq_str(json_view(row, "kind"), "more"));
    assert_true(view_eq_str(json_view(row, "text"), "5 more findings"));
    json_decref(rows);
    str_release(&text);
}

static void test_an_ephemeral_check_leaves_the_home_alone(void **state)
{
    struct world *world = *state;
    world_put(world, "home/config.yaml", "personality: default\n");
    assert_int_equal(chmod(world->home, 0700), 0);
    world_open_with(world, (struct ethos_options){.ephemeral = 1});
    begin(world);
    char *before = world_tree(world, "home", TREE_ALL);
    assert_ok(world, world_sync(world, "{\"action\": \"add\", \"scope\": \"workspace\", \"key\": "
                                       "\"a.md\", \"content\": \"see `src/lost.c`\"}"));
    assert_int_equal(check(world, &all, 0, NULL).findings, 2);
    char *after = world_tree(world, "home", TREE_ALL);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* ---- limits and hostile input --------------------------------------------------------------- */

static void test_lookups_have_an_end_that_is_told(void **state)
{
    struct world *world = *state;
    struct str text;
    begin(world);
    str_init(&text, 1 << 24);
    for (int i = 0; i < LOOK_MAX + 1; i++)
        str_printf(&text, "`src/f%d.c`\n", i);
    world_mkdir(world, "work/src");
    put_note(world, "MEMORY.md", "- [A](a.md)\n");
    put_note(world, "a.md", text.data);
    struct notes_checked out = check(world, &all, 0, NULL);
    assert_int_equal(out.claims, LOOK_MAX);
    assert_int_equal(out.findings, LOOK_MAX + 1);
    str_release(&text);
}

static void test_notes_of_all_kinds_are_read(void **state)
{
    struct world *world = *state;
    begin(world);
    char *huge = malloc(ETHOS_MAX_READ_BYTES + 2);
    memset(huge, 'x', ETHOS_MAX_READ_BYTES + 1);
    huge[ETHOS_MAX_READ_BYTES + 1] = 0;
    put_note(world, "MEMORY.md",
             "- [A](empty.md)\n- [B](huge.md)\n- [C](odd.md)\n- [D](unreadable.md)\n");
    put_note(world, "empty.md", "");
    put_note(world, "huge.md", huge);
    put_note(world, "odd.md", "\xff\xfe `src/\x01.c` `src/a\x7f.c` [[\x1b[2J]]\r\n---\n[[a\xff]]");
    world_mkdir(world, note_path(world, "unreadable.md"));
    check(world, &all, 0,
          "huge.md unchecked 0: it is larger than 67108864 bytes\n"
          "unreadable.md missing 4: MEMORY.md names it, but there is no such note\n"
          "odd.md link 3: there is no note [[a\xff]]\n");
    free(huge);
    char *text = last(world);
    assert_non_null(strstr(text, "[[a\xEF\xBF\xBD]]"));
    free(text);
}

static void test_every_allocation_may_fail(void **state)
{
    struct world *world = *state;
    int code = ETHOS_NOMEM;
    begin(world);
    world_put(world, "work/src/main.c", "x\n");
    put_note(world, "MEMORY.md", "- [A](a.md)\n- [B](b.md)\n");
    put_note(world, "a.md", HEAD "see `main.c` and [[Some Title]], `lost.c`\n");
    put_note(world, "b.md", HEAD "see `src/main.c`\n");
    const struct ethos_sync_how dry = {.flags = ETHOS_SYNC_DRY_RUN};
    for (int pass = 0; pass < 2; pass++) {
        ALLOC_EACH(n, code == ETHOS_OK)
        {
            struct notes_checked out = {0};
            code = notes_check(world->turn, &all, pass ? NULL : &dry, NULL, NULL, &out,
                               &world->error);
            assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        }
        code = ETHOS_NOMEM;
    }
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        json_t *rows = NULL;
        code = notes_check_last(world->turn, NULL, &rows, &world->error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        json_decref(rows);
    }
}

/* Only what disappears is gone: an error of the system makes a claim unknown. */
static void test_failing_system_calls_raise_no_alarm(void **state)
{
    struct world *world = *state;
    struct reference_lookup look;
    size_t lines;
    const struct claim claim = {.kind = CLAIM_PATH, .what = VIEW("src/main.c")};
    const struct claim symbol = {
        .kind = CLAIM_SYMBOL, .what = VIEW("main"), .where = VIEW("main.c")};
    world_put(world, "work/src/main.c", "int main(void);\n");
    bool failed = true;
    for (unsigned long n = 1; failed; n++) {
        struct nth nth = {.number = n, .errnum = EIO};
        os_hook(nth_fails, &nth);
        lookup_open(&look, world->work);
        assert_true(lookup_path(&look, &claim, &lines) != LOOK_GONE);
        assert_true(lookup_symbol(&look, &symbol) != LOOK_GONE);
        lookup_release(&look);
        os_hook(NULL, NULL);
        failed = nth.failed[0] != 0;
    }
    lookup_open(&look, "/nonexistent");
    assert_int_equal(lookup_path(&look, &claim, &lines), LOOK_UNKNOWN);
    assert_int_equal(lookup_symbol(&look, &symbol), LOOK_UNKNOWN);
    lookup_release(&look);
}

/* ---- age ------------------------------------------------------------------------------------ */

static void test_a_note_is_stale_by_what_it_says_of_itself(void **state)
{
    static const struct {
        const char *expires, *verified, *created;
        int64_t days; /* since it was changed, or -1 */
        const char *why;
    } rows[] = {
        {NULL, NULL, NULL, -1, ""},
        {"2025-11-15", NULL, NULL, 0, ""},
        {"2025-11-14", "2025-11-15", NULL, 0, "expired on 2025-11-14"},
        {"soon", NULL, NULL, 0, ""},
        {NULL, "2025-08-17", NULL, 0, ""}, /* 90 days */
        {NULL, "2025-08-16", NULL, 0, "last verified 91 days ago"},
        {NULL, "2025-11-01", "2020-01-01", 999, ""},
        {NULL, "long ago", "2025-01-01", 0, "last written 318 days ago"},
        {NULL, NULL, "2025-11-01", 999, ""},
        {NULL, NULL, NULL, 90, ""},
        {NULL, NULL, "?", 91, "last changed 91 days ago"},
        {NULL, "2099-01-01", "2020-01-01", 999, ""},
    };
    char why[NOTES_STALE_SIZE];
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t mtime = rows[i].days < 0 ? -1 : NOW_MS - rows[i].days * 86400000;
        notes_stale(view_str(rows[i].expires), view_str(rows[i].verified),
                    view_str(rows[i].created), mtime, NOW_MS, 90, why);
        assert_string_equal(why, rows[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_kind_of_claim_names_its_line),
        WORLD_TEST(test_short_paths_are_found_anywhere_in_the_tree),
        WORLD_TEST(test_links_find_names_titles_and_files),
        WORLD_TEST(test_nothing_outside_the_workspace_is_opened),
        WORLD_TEST(test_other_scopes_look_up_no_files),
        WORLD_TEST(test_notes_that_say_the_same_are_told),
        WORLD_TEST(test_old_notes_are_told_unless_they_are_verified_now),
        WORLD_TEST(test_only_notes_whose_claims_all_hold_are_verified),
        WORLD_TEST(test_a_note_that_changes_meanwhile_is_not_verified),
        WORLD_TEST(test_confirming_marks_the_named_note_whatever_it_claims),
        WORLD_LOOP(test_many_notes_are_marked_in_parts),
        WORLD_TEST(test_fixing_mends_the_index_and_nothing_else),
        WORLD_TEST(test_the_last_check_is_recorded),
        WORLD_TEST(test_a_check_without_findings_makes_nothing),
        WORLD_TEST(test_a_long_record_says_what_it_left_out),
        WORLD_TEST(test_an_ephemeral_check_leaves_the_home_alone),
        WORLD_TEST(test_lookups_have_an_end_that_is_told),
        WORLD_TEST(test_notes_of_all_kinds_are_read),
        WORLD_LOOP(test_every_allocation_may_fail),
        WORLD_TEST(test_failing_system_calls_raise_no_alarm),
        WORLD_TEST(test_a_note_is_stale_by_what_it_says_of_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_import_export.c: imports that may be run again, round trips to the byte, exports that spare what
 * is not theirs.
 */
#include "memory/import_export/import_export.h"

#include "../world.h"
#include "base/hash.h"
#include "base/str.h"

/* ---- running -------------------------------------------------------------------------------- */

struct run {
    struct str rows; /* "what file[ -> key][: why]" per line, diffs as "diff" */
    struct transfer_place place;
    struct str out;
    bool diffs;
    int left; /* the first code of a row */
};

static void add_row(void *arg, const struct transfer_row *row)
{
    struct run *run = arg;
    str_printf(&run->rows, "%s %s", row->what, row->file);
    if (row->key && strcmp(row->key, row->file) != 0)
        str_printf(&run->rows, " -> %s", row->key);
    str_printf(&run->rows, "%s%s\n", row->why ? ": " : "", row->why ? row->why : "");
    if (row->diff)
        run->diffs = true;
    run->left = run->left ? run->left : row->code;
}

static void run_init(struct run *run)
{
    memset(run, 0, sizeof *run);
    str_init(&run->rows, SIZE_MAX);
    str_init(&run->out, SIZE_MAX);
}

static void run_release(struct run *run)
{
    str_release(&run->rows);
    str_release(&run->out);
}

static int import(struct world *world, const char *format, const char *path, unsigned flags,
                  struct run *run)
{
    const struct ethos_origin origin = {.actor = "owner", .via = "test"};
    const struct ethos_sync_how how = {.origin = &origin, .flags = flags};
    const struct transfer_request what = {
        .format = format, .path = path, .each = add_row, .arg = run};
    memset(&world->error, 0, sizeof world->error);
    return transfer_import(world->turn, &what, &how, &run->place, &world->error);
}

/* Imports and compares what was told. */
static void assert_import(struct world *world, const char *format, const char *path,
                          const char *expected)
{
    struct run run;
    run_init(&run);
    assert_ok(world, import(world, format, path, 0, &run));
    assert_string_equal(run.rows.data, expected);
    assert_int_equal(run.diffs, false);
    run_release(&run);
}

static int export(struct world *world, const char *format, const char *path, bool replace,
                  unsigned flags, struct run *run)
{
    const struct ethos_sync_how how = {.flags = flags};
    const struct transfer_request what = {
        .format = format, .path = path, .replace = replace, .each = add_row, .arg = run};
    memset(&world->error, 0, sizeof world->error);
    return transfer_export(world->turn, &what, &run->out, &how, &run->place, &world->error);
}

static void assert_export(struct world *world, const char *format, const char *path,
                          const char *expected)
{
    struct run run;
    run_init(&run);
    assert_ok(world, export(world, format, path, false, 0, &run));
    assert_string_equal(run.rows.data, expected);
    run_release(&run);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void put_bytes(struct world *world, const char *path, struct ethos_view bytes)
{
    int fd = openat(world->temp.fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.data, bytes.size), bytes.size);
    close(fd);
}

static void assert_same(struct world *world, const char *a, const char *b)
{
    size_t a_size, b_size;
    char *x = temp_read(&world->temp, a, &a_size), *y = temp_read(&world->temp, b, &b_size);
    if (!x || !y || a_size != b_size || memcmp(x, y, a_size) != 0)
        fail_msg("%s and %s differ", a, b);
    free(x);
    free(y);
}

/* Whether a note of the workspace holds exactly this; NULL: it is not there. */
static void assert_note(struct world *world, const char *key, const char *expected)
{
    struct ethos_file *file = NULL;
    const struct ethos_target target = {NULL, "workspace", key};
    assert_ok(world, ethos_read(world->turn, &target, &file, &world->error));
    if (!expected)
        assert_null(file->text);
    else
        assert_string_equal(file->text, expected);
    ethos_file_free(file);
}

static void write_note(struct world *world, const char *key, const char *text)
{
    const struct ethos_target target = {NULL, "workspace", key};
    assert_ok(world, ethos_write(world->turn, &target, NULL, view_str(text), NULL, &world->error));
}

static void delete_note(struct world *world, const char *key)
{
    const struct ethos_update update = {
        .action = ETHOS_ACTION_DELETE, .scope = "workspace", .key = key};
    assert_ok(world, ethos_sync(world->turn, &update, 1, NULL, &world->error));
}

static int count_one(void *arg, const struct ethos_conflict *conflict)
{
    (void)conflict;
    ++*(unsigned *)arg;
    return 0;
}

static unsigned count_conflicts(struct world *world)
{
    unsigned count = 0;
    const struct ethos_target target = {NULL, "workspace", "MEMORY.md"};
    assert_ok(world, ethos_conflicts(world->turn, &target, count_one, &count, &world->error));
    return count;
}

/* ---- a folder of notes ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    struct ethos_view text;
} odd_files[] = {
    {"MEMORY.md",
     VIEW("# Index\r\n\r\nprose\n- [Plan](plan.md) \xe2\x80\x94 hook\n* [X](a_b.v2.md): y\n"
          "no end")},
    {"plan.md", VIEW("---\nname: plan\nmetadata:\n  type: project\n---\n\nBody\n")},
    {"a_b.v2.md", VIEW("crlf\r\nline\r\n")},
    {"empty.md", VIEW("")},
    {"bytes.md", VIEW("\xff\xfe\0\x80 caf\xe9")},
    {"blank.md", VIEW("\n\n  \n")},
    {"UPPER.md", VIEW("no final newline")},
    {"x.md", VIEW("\xef\xbb\xbf"
                  "bom\n")},
};

static void put_odd_files(struct world *world, const char *folder)
{
    char path[256];
    world_mkdir(world, folder);
    for (size_t i = 0; i < COUNT(odd_files); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, odd_files[i].name);
        put_bytes(world, path, odd_files[i].text);
    }
}

static void assert_round_trip(struct world *world, const char *format)
{
    struct run run;
    char there[128], back[128];
    run_init(&run);
    put_odd_files(world, "theirs");
    world_turn(world, NULL);
    assert_ok(world, import(world, format, "../theirs", 0, &run));
    str_clear(&run.rows);
    assert_ok(world, export(world, format, "../back", false, 0, &run));
    for (size_t i = 0; i < COUNT(odd_files); i++) {
        snprintf(there, sizeof there, "theirs/%s", odd_files[i].name);
        snprintf(back, sizeof back, "back/%s", odd_files[i].name);
        assert_same(world, there, back);
        assert_mode(world, back, 0600);
    }
    run_release(&run);
}

static void a_claude_code_folder_comes_back_byte_for_byte(void **state)
{
    assert_round_trip(*state, "claude-code");
}

static void a_jutul_folder_comes_back_byte_for_byte(void **state)
{
    static const char index[] =
        "# Memory index\n\n- `<title>` \xe2\x80\x94 one-line hook (file: `<file.md>`)\n\n"
        "- `CO2 case` \xe2\x80\x94 Use it (file: `co2-case.md`)\n";
    static const char note[] =
        "---\nname: co2-case\ndescription: CO2 case\ntype: simulator\n---\n\nUse it\n";
    struct world *world = *state;
    assert_round_trip(world, "jutul");
    world_put(world, "jt/MEMORY.md", index);
    world_put(world, "jt/co2-case.md", note);
    world_mkdir(world, "work2");
    const struct ethos_request request = {.workspace = "../work2"};
    world_turn(world, &request);
    assert_import(world, "jutul", "../jt", "taken co2-case.md\ntaken MEMORY.md\n");
    assert_export(world, "jutul", "../jt2", "written co2-case.md\nwritten MEMORY.md\n");
    assert_file(world, "jt2/MEMORY.md", index);
    assert_file(world, "jt2/co2-case.md", note);
}

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define LONG_NAME FIFTY FIFTY FIFTY FIFTY ".md"
#define LONG_FILE "theirs/" LONG_NAME

static void what_is_no_memory_is_told_with_the_reason(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/ok.md", "ok\n");
    world_put(world, "theirs/has space.md", "x");
    world_put(world, "theirs/SOUL.md", "x");
    world_put(world, "theirs/memory-archive.md", "x");
    world_put(world, "theirs/.hidden.md", "x");
    world_put(world, "theirs/-dash.md", "x");
    world_put(world, "theirs/two..dots.md", "x");
    world_put(world, LONG_FILE, "x");
    world_put(world, "theirs/a.txt", "x");
    world_put(world, "theirs/x.sync-conflict-1.md", "x");
    world_put(world, "theirs/sub/deep.md", "x");
    world_link(world, "ok.md", "theirs/link.md");
    world_link(world, "/etc/passwd", "theirs/out.md");
    assert_int_equal(mkfifoat(world->temp.fd, "theirs/pipe.md", 0600), 0);
    world_turn(world, NULL);
    assert_import(
        world, "claude-code", "../theirs",
        "skipped -dash.md: a name that begins with a dash\n"
        "skipped .hidden.md: a hidden file\n"
        "skipped " LONG_NAME ": a name that is too long\n"
        "skipped SOUL.md: a reserved name\n"
        "skipped a.txt: not a markdown file\n"
        "skipped has space.md: not a valid name for memory: letters, digits and . _ - only\n"
        "skipped link.md: a symbolic link\n"
        "skipped memory-archive.md: a reserved name\n"
        "skipped out.md: a symbolic link\n"
        "skipped pipe.md: not a regular file\n"
        "skipped sub: a folder; only files beside the index are memory\n"
        "skipped two..dots.md: a name with two dots in a row\n"
        "skipped x.sync-conflict-1.md: the name of a temporary or a conflict copy\n"
        "taken ok.md\n");
}

static void a_file_too_large_for_memory_is_left(void **state)
{
    struct world *world = *state;
    char *text = malloc(700000);
    memset(text, 'x', 700000);
    world_mkdir(world, "theirs");
    put_bytes(world, "theirs/big.md", view_of(text, 700000));
    free(text);
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs",
                  "skipped big.md: more than 524,288 characters\n");
}

/* ---- again ---------------------------------------------------------------------------------- */

static void record_path(struct world *world, char path[256])
{
    snprintf(path, 256, "home/.mem/imports-%s.json",
             ethos_turn_context(world->turn)->workspace_scope);
    *strchr(path, ':') = '-';
}

static ino_t record_inode(struct world *world)
{
    char path[256];
    struct stat info;
    record_path(world, path);
    assert_int_equal(fstatat(world->temp.fd, path, &info, 0), 0);
    return info.st_ino;
}

static void a_second_run_changes_nothing(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/a.md", "a\n");
    world_put(world, "theirs/MEMORY.md", "- [A](a.md)\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs", "taken a.md\ntaken MEMORY.md\n");
    char *before = world_tree(world, "home", TREE_ALL);
    ino_t record = record_inode(world);
    assert_import(world, "claude-code", "../theirs", "unchanged a.md\nunchanged MEMORY.md\n");
    char *after = world_tree(world, "home", TREE_ALL);
    assert_string_equal(before, after);
    assert_true(record_inode(world) == record); // not even written again
    free(before);
    free(after);
}

static void each_side_may_change_a_note(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/ours.md", "one\n");
    world_put(world, "theirs/theirs.md", "one\n");
    world_put(world, "theirs/both.md", "one\ntwo\nthree\nfour\nfive\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs",
                  "taken both.md\ntaken ours.md\ntaken theirs.md\n");
    write_note(world, "ours.md", "mine\n");
    write_note(world, "both.md", "ONE\ntwo\nthree\nfour\nfive\n");
    world_put(world, "theirs/theirs.md", "new\n");
    world_put(world, "theirs/both.md", "one\ntwo\nthree\nfour\nFIVE\n");
    assert_import(
        world, "claude-code", "../theirs",
        "merged both.md\nunchanged ours.md: changed here, not there\nupdated theirs.md\n");
    assert_note(world, "ours.md", "mine\n");
    assert_note(world, "theirs.md", "new\n");
    assert_note(world, "both.md", "ONE\ntwo\nthree\nfour\nFIVE\n");
    assert_int_equal(count_conflicts(world), 0);
}

static void the_base_of_the_next_merge_is_what_came_last(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/n.md", "a\nb\nc\nd\ne\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs", "taken n.md\n");
    write_note(world, "n.md", "A\nb\nc\nd\ne\n");
    world_put(world, "theirs/n.md", "a\nb\nc\nd\nE1\n");
    assert_import(world, "claude-code", "../theirs", "merged n.md\n");
    write_note(world, "n.md", "A\nb\nc\nd\nE-mine\n"); // on what came with the merge
    world_put(world, "theirs/n.md", "a\nb\nC\nd\nE1\n");
    assert_import(world, "claude-code", "../theirs", "merged n.md\n");
    assert_note(world, "n.md", "A\nb\nC\nd\nE-mine\n");
    assert_int_equal(count_conflicts(world), 0);
    char *tree = world_tree(world, "home", TREE_ALL);
    assert_null(strstr(tree, "/conflicts")); // a version needs no copy on the way
    free(tree);
}

static void the_same_lines_changed_on_both_sides_are_kept_beside(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/n.md", "one\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs", "taken n.md\n");
    write_note(world, "n.md", "mine\n");
    world_put(world, "theirs/n.md", "yours\n");
    assert_import(world, "claude-code", "../theirs",
                  "conflict n.md: both sides changed the same lines; both are kept, see ethos "
                  "conflicts list\n");
    assert_note(world, "n.md", "mine\n");
    assert_int_equal(count_conflicts(world), 1);
    assert_import(world, "claude-code", "../theirs", "unchanged n.md: changed here, not there\n");
    assert_int_equal(count_conflicts(world), 1);
}

static void another_note_of_that_name_is_no_base(void **state)
{
    struct world *world = *state;
    world_put(world, "one/n.md", "from one\n");
    world_put(world, "two/n.md", "from two\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../one", "taken n.md\n");
    assert_import(world, "claude-code", "../two",
                  "conflict n.md: a different note has this name here; both are kept, see ethos "
                  "conflicts list\n");
    assert_note(world, "n.md", "from one\n");
    assert_int_equal(count_conflicts(world), 1);
}

static int64_t a_minute_later(void *arg)
{
    return world_now(arg) + 60000;
}

static void an_import_that_died_leaves_one_copy(void **state)
{
    struct world *world = *state;
    char path[256];
    world_put(world, "one/n.md", "from one\n");
    world_put(world, "two/n.md", "from two\n");
    world_turn(world, NULL);
    record_path(world, path);
    struct run run;
    run_init(&run);
    assert_ok(world, import(world, "claude-code", "../one", 0, &run));
    assert_ok(world, import(world, "claude-code", "../two", 0, &run));
    world_unlink(world, path); // it died before
    world->host.now_ms = a_minute_later;
    assert_ok(world, import(world, "claude-code", "../two", 0, &run));
    assert_int_equal(count_conflicts(world), 1);
    run_release(&run);
}

static void memory_that_was_forgotten_comes_again(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/a.md", "a\n");
    world_put(world, "theirs/MEMORY.md", "- [A](a.md)\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs", "taken a.md\ntaken MEMORY.md\n");
    world_remove(world, "home/workspaces");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs", "taken a.md\ntaken MEMORY.md\n");
    delete_note(world, "a.md");
    delete_note(world, "MEMORY.md"); // one by one is another thing
    assert_import(world, "claude-code", "../theirs",
                  "skipped a.md: deleted here since it was imported\n"
                  "skipped MEMORY.md: deleted here since it was imported\n");
}

static void what_was_deleted_here_stays_deleted(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/a.md", "a\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs", "taken a.md\n");
    delete_note(world, "a.md");
    assert_import(world, "claude-code", "../theirs",
                  "skipped a.md: deleted here since it was imported\n");
    world_put(world, "theirs/a.md", "a changed\n");
    assert_import(world, "claude-code", "../theirs",
                  "skipped a.md: deleted here since it was imported\n");
    assert_note(world, "a.md", NULL);
}

static void what_was_not_recorded_is_found_again(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/a.md", "a\n");
    world_put(world, "theirs/MEMORY.md", "- [A](a.md)\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs", "taken a.md\ntaken MEMORY.md\n");
    world_remove(world, "home/.mem");
    assert_import(world, "claude-code", "../theirs", "unchanged a.md\nunchanged MEMORY.md\n");
}

static void a_damaged_record_is_not_guessed_at(void **state)
{
    struct world *world = *state;
    struct run run;
    char path[256];
    world_put(world, "theirs/a.md", "a\n");
    world_turn(world, NULL);
    record_path(world, path);
    for (int i = 0; i < 3; i++) {
        static const char *const texts[] = {"{", "[]", "{\"version\":2}"};
        world_put(world, path, texts[i]);
        run_init(&run);
        int code = import(world, "claude-code", "../theirs", 0, &run);
        assert_error(&world->error, code, ETHOS_CORRUPT);
        assert_true(*world->error.hint);
        run_release(&run);
    }
    assert_note(world, "a.md", NULL);
}

/* ---- the index ------------------------------------------------------------------------------ */

static void an_index_with_lines_of_its_own_gets_the_missing_ones(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/a.md", "a\n");
    world_put(world, "theirs/b.md", "b\n");
    world_put(world, "theirs/MEMORY.md",
              "# Theirs\n* [A](a.md): x\n* [B](b.md): y\nmore\n- [Gone](gone.md)\nprose\n");
    world_turn(world, NULL);
    write_note(world, "MEMORY.md", "# Mine\r\n- [Own](own.md) \xe2\x80\x94 z\n\nprose");
    assert_import(world, "claude-code", "../theirs",
                  "taken a.md\ntaken b.md\nmerged MEMORY.md: 2 lines added to the index\n"
                  "skipped MEMORY.md:5: links to gone.md, which was not imported\n"
                  "skipped MEMORY.md:1: 2 lines of headings and prose: the index here has its "
                  "own\n");
    static const char joined[] =
        "# Mine\r\n- [Own](own.md) \xe2\x80\x94 z\n* [A](a.md): x\n* [B](b.md): y\n\nprose";
    assert_note(world, "MEMORY.md", joined);
    world_put(world, "theirs/c.md", "c\n");
    world_put(world, "theirs/MEMORY.md", "# Theirs\n* [A](a.md): x\n* [C](c.md): z\n");
    assert_import(
        world, "claude-code", "../theirs",
        "unchanged a.md\nunchanged b.md\ntaken c.md\nmerged MEMORY.md: 1 line added to "
        "the index\n"
        "skipped MEMORY.md:1: 1 line of headings and prose: the index here has its own\n");
    assert_note(world, "MEMORY.md",
                "# Mine\r\n- [Own](own.md) \xe2\x80\x94 z\n* [A](a.md): x\n* [B](b.md): y\n* "
                "[C](c.md): z\n\nprose");
    assert_import(world, "claude-code", "../theirs",
                  "unchanged a.md\nunchanged b.md\nunchanged c.md\n"
                  "unchanged MEMORY.md: changed here, not there\n");
}

static void an_index_that_came_whole_is_merged_by_lines(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/MEMORY.md", "# I\n- [A](a.md)\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs", "taken MEMORY.md\n");
    write_note(world, "MEMORY.md", "# I\n- [A](a.md)\n- [Mine](mine.md)\n");
    world_put(world, "theirs/MEMORY.md", "# I\n- [A](a.md)\n- [New](new.md)\n");
    assert_import(world, "claude-code", "../theirs", "merged MEMORY.md\n");
    assert_note(world, "MEMORY.md", "# I\n- [A](a.md)\n- [Mine](mine.md)\n- [New](new.md)\n");
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void sections_become_notes_that_are_listed(void **state)
{
    struct world *world = *state;
    world_put(world, "work/CLAUDE.md", "# Build\nmake\n# Test\nmake test\n");
    world_turn(world, NULL);
    assert_import(world, "claude-md", NULL,
                  "taken CLAUDE.md:1 -> build.md\ntaken CLAUDE.md:3 -> test.md\n"
                  "merged MEMORY.md: 2 lines added to the index\n");
    assert_note(
        world, "MEMORY.md",
        "- [Build](build.md) \xe2\x80\x94 make\n- [Test](test.md) \xe2\x80\x94 make test\n");
    delete_note(world, "test.md");
    world_put(world, "work/CLAUDE.md", "# Test\nmake test\n# Build\nmake all\n");
    assert_import(world, "claude-md", NULL,
                  "skipped CLAUDE.md:1 -> test.md: deleted here since it was imported\n"
                  "updated CLAUDE.md:3 -> build.md\n");
}

static void a_fact_never_takes_the_note_of_another(void **state)
{
    struct world *world = *state;
    world_put(world, "work/g.jsonl",
              "{\"type\":\"entity\",\"name\":\"A b\",\"entityType\":\"x\"}\n"
              "{\"type\":\"entity\",\"name\":\"a-B\",\"entityType\":\"y\"}\n"
              "{\"type\":\"entity\",\"name\":\"mine\",\"entityType\":\"z\"}\n");
    world_turn(world, NULL);
    write_note(world, "mine.md", "a note of mine\n");
    struct run run;
    run_init(&run);
    assert_ok(world, import(world, "server-memory", "g.jsonl", 0, &run));
    assert_non_null(strstr(run.rows.data, "taken g.jsonl:1 -> a-b.md\n"));
    assert_non_null(strstr(run.rows.data, "taken g.jsonl:2 -> a-b-"));
    assert_non_null(strstr(run.rows.data, "taken g.jsonl:3 -> mine-"));
    assert_note(world, "mine.md", "a note of mine\n");
    run_release(&run);
    // The first one goes: the second keeps its own note, and none is made anew.
    world_put(world, "work/g.jsonl",
              "{\"type\":\"entity\",\"name\":\"a-B\",\"entityType\":\"y\"}\n"
              "{\"type\":\"entity\",\"name\":\"mine\",\"entityType\":\"z\"}\n");
    run_init(&run);
    assert_ok(world, import(world, "server-memory", "g.jsonl", 0, &run));
    assert_null(strstr(run.rows.data, "taken"));
    assert_non_null(strstr(run.rows.data, "unchanged g.jsonl:1 -> a-b-"));
    run_release(&run);
}

static void a_fact_with_a_nul_is_left(void **state)
{
    struct world *world = *state;
    world_put(world, "work/g.jsonl",
              "{\"type\":\"entity\",\"name\":\"a\\u0000b\",\"entityType\":\"x\"}\n"
              "{\"type\":\"entity\",\"name\":\"c\",\"observations\":[\"d\\u0000e\"]}\n"
              "{\"type\":\"entity\",\"name\":\"f\",\"entityType\":\"x\"}\n");
    world_turn(world, NULL);
    assert_import(world, "server-memory", "g.jsonl",
                  "skipped g.jsonl:1: holds a NUL character\n"
                  "skipped g.jsonl:2: holds a NUL character\n"
                  "taken g.jsonl:3 -> f.md\nmerged MEMORY.md: 1 line added to the index\n");
}

/* ---- logs ----------------------------------------------------------------------------------- */

static void assert_store(struct world *world, const char *store, const char *expected)
{
    struct ethos_file *file = NULL;
    const struct ethos_target target = {store, NULL, NULL};
    assert_ok(world, ethos_read(world->turn, &target, &file, &world->error));
    assert_string_equal(file->text ? file->text : "", expected);
    ethos_file_free(file);
}

static void an_openclaw_workspace_is_memory_profile_and_dated_notes(void **state)
{
    struct world *world = *state;
    world_put(world, "oc/MEMORY.md", "# M\n\n- tea\n- milk\n\n## Code\n\ntext\n");
    world_put(world, "oc/USER.md", "Ada\n");
    world_put(world, "oc/SOUL.md", "soul\n");
    world_put(world, "oc/memory/2026-01-05.md", "day\n");
    world_put(world, "oc/state.db", "x");
    world_put(world, "oc/skills/a", "x");
    world_put(world, "oc/media/a", "x");
    world_turn(world, NULL);
    assert_import(world, "openclaw", "../oc",
                  "skipped SOUL.md: describes the agent, which is not memory; copy it to the "
                  "personality yourself\n"
                  "skipped .: no memory: media/, skills/, 1 other file\n"
                  "taken memory/2026-01-05.md -> 2026-01-05.md\n"
                  "taken MEMORY.md:3 -> MEMORY.md\ntaken MEMORY.md:4 -> MEMORY.md\n"
                  "taken MEMORY.md:8 -> MEMORY.md\ntaken USER.md:1 -> USER.md\n");
}

static void entries_are_added_once_and_stay_deleted(void **state)
{
    struct world *world = *state;
    world_put(world, "hm/memories/MEMORY.md", "one\n\xc2\xa7\ntwo\nmore\n");
    world_put(world, "hm/memories/USER.md", "me\n");
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, "{\"action\":\"add\",\"content\":\"one\"}"));
    struct run run;
    run_init(&run);
    assert_ok(world, import(world, "hermes", "../hm", 0, &run));
    assert_string_equal(run.rows.data, "unchanged memories/MEMORY.md:1 -> MEMORY.md\n"
                                       "taken memories/MEMORY.md:3 -> MEMORY.md\n"
                                       "taken memories/USER.md:1 -> USER.md\n");
    run_release(&run);
    assert_store(world, "memory", "one\n\ntwo\nmore\n");
    assert_store(world, "user", "me\n");
    assert_ok(world, world_sync(world, "{\"action\":\"remove\",\"substringMatch\":\"two\"}"));
    run_init(&run);
    assert_ok(world, import(world, "hermes", "../hm", 0, &run));
    assert_non_null(strstr(run.rows.data, "skipped memories/MEMORY.md:3 -> MEMORY.md: deleted or "
                                          "changed here since it was imported\n"));
    assert_store(world, "memory", "one\n\nmore\n");
    run_release(&run);
}

static void a_new_entry_comes_below_its_heading(void **state)
{
    struct world *world = *state;
    struct run run;
    world_put(world, "oc/MEMORY.md", "# M\n\n- tea\n- milk\n");
    world_turn(world, NULL);
    run_init(&run);
    assert_ok(world, import(world, "openclaw", "../oc", 0, &run));
    assert_store(world, "memory", "# M\n\n- tea\n- milk\n");
    world_put(world, "oc/MEMORY.md", "# M\n\n- tea\n- bread\n- jam\n- milk\n");
    assert_ok(world, import(world, "openclaw", "../oc", 0, &run));
    assert_store(world, "memory", "# M\n\n- tea\n- milk\n\n# M\n\n- bread\n- jam\n");
    assert_ok(world, import(world, "openclaw", "../oc", 0, &run));
    assert_store(world, "memory", "# M\n\n- tea\n- milk\n\n# M\n\n- bread\n- jam\n");
    run_release(&run);
}

/* ---- told, not done ------------------------------------------------------------------------- */

static void secrets_are_told_and_kept(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/k.md", "a\nghp_abcdefghijklmnopqrstuvwxyz0123456789\n");
    world_turn(world, NULL);
    assert_import(
        world, "claude-code", "../theirs",
        "taken k.md\nwarning k.md:2: looks like a secret (github-pat); imported unchanged\n");
    assert_note(world, "k.md", "a\nghp_abcdefghijklmnopqrstuvwxyz0123456789\n");
    assert_import(world, "claude-code", "../theirs", "unchanged k.md\n");
}

static void a_dry_run_touches_nothing(void **state)
{
    struct world *world = *state;
    struct run run;
    put_odd_files(world, "theirs");
    world_put(world, "work/CLAUDE.md", "# A\na\n");
    world_put(world, "hm/MEMORY.md", "one\n");
    world_turn(world, NULL);
    char *before = world_tree(world, ".", TREE_ALL);
    run_init(&run);
    assert_ok(world, import(world, "claude-code", "../theirs", ETHOS_SYNC_DRY_RUN, &run));
    assert_ok(world, import(world, "claude-md", NULL, ETHOS_SYNC_DRY_RUN, &run));
    assert_ok(world, import(world, "hermes", "../hm", ETHOS_SYNC_DRY_RUN, &run));
    assert_non_null(strstr(run.rows.data, "diff MEMORY.md\n"));
    assert_ok(world, export(world, "claude-code", "../out", false, ETHOS_SYNC_DRY_RUN, &run));
    assert_ok(world, export(world, "agents-md", "AGENTS.md", false, ETHOS_SYNC_DRY_RUN, &run));
    assert_true(run.diffs);
    run_release(&run);
    char *after = world_tree(world, ".", TREE_ALL);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void a_throwaway_memory_leaves_the_home_alone(void **state)
{
    struct world *world = *state;
    struct run run;
    world_put(world, "theirs/a.md", "a\n");
    world_open_with(world, (struct ethos_options){.ephemeral = 1});
    world_turn(world, NULL);
    run_init(&run);
    assert_ok(world, import(world, "claude-code", "../theirs", 0, &run));
    assert_note(world, "a.md", "a\n");
    world_close(world);
    assert_false(world_exists(world, "home"));
    run_release(&run);
}

static void what_is_not_there_is_not_found(void **state)
{
    struct world *world = *state;
    struct run run;
    run_init(&run);
    world_put(world, "work/file", "x");
    world_turn(world, NULL);
    int code = import(world, "claude-code", "../nowhere", 0, &run);
    assert_error(&world->error, code, ETHOS_NOTFOUND);
    assert_true(*world->error.hint);
    code = import(world, "jutul", NULL, 0, &run);
    assert_error(&world->error, code, ETHOS_NOTFOUND);
    code = import(world, "server-memory", NULL, 0, &run);
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_string_equal(world->error.text, "server-memory: no file given");
    code = import(world, "claude-code", "", 0, &run);
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_string_equal(world->error.text, "claude-code: no folder given");
    code = import(world, "claude-code", "../work/file", 0, &run);
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_string_equal(world->error.text, "../work/file: not a folder");
    assert_true(*world->error.hint);
    code = export(world, "claude-code", "", false, 0, &run);
    assert_error(&world->error, code, ETHOS_INVALID);
    code = export(world, "json", "", false, 0, &run);
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_string_equal(world->error.text, "json: no file given");
    code = export(world, "claude-code", NULL, false, 0, &run);
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_false(world_exists(world, "home"));
    run_release(&run);
}

static int refuse_to_open(void *arg, const char *call, unsigned long number)
{
    (void)arg, (void)number;
    return strcmp(call, "openat") == 0 ? EACCES : 0;
}

static void a_file_that_cannot_be_read_is_no_empty_source(void **state)
{
    struct world *world = *state;
    struct run run;
    run_init(&run);
    world_put(world, "work/CLAUDE.md", "text\n");
    put_bytes(world, "large.jsonl", VIEW("x"));
    int fd = openat(world->temp.fd, "large.jsonl", O_WRONLY);
    assert_int_equal(ftruncate(fd, ETHOS_MAX_INPUT_BYTES + 1), 0);
    close(fd);
    world_turn(world, NULL);
    int code = import(world, "server-memory", "../large.jsonl", 0, &run);
    assert_error(&world->error, code, ETHOS_LIMIT);
    os_hook(refuse_to_open, NULL);
    code = import(world, "claude-md", "CLAUDE.md", 0, &run);
    os_hook(NULL, NULL);
    assert_error(&world->error, code, ETHOS_IO);
    assert_int_equal(run.rows.size, 0);
    run_release(&run);
}

static void the_usual_place_of_each_program_is_known(void **state)
{
    struct world *world = *state;
    char path[512], hash[HASH_HEX_SIZE];
    snprintf(path, sizeof path, ".claude/projects/%s/memory/a.md", world->work);
    for (char *at = path + strlen(".claude/projects/"); strncmp(at, "/memory/", 8) != 0; at++)
        *at = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')
                  ? *at
                  : '-';
    world_put(world, path, "a\n");
    hash_hex(view_str(world->work), hash);
    snprintf(path, sizeof path, ".local/share/jutul-agent/workspaces/%.12s/memory/b.md", hash);
    world_put(world, path, "b\n");
    world_put(world, ".hermes/memories/MEMORY.md", "h\n");
    world_put(world, ".openclaw/workspace/memory/2026-01-01.md", "o\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", NULL, "taken a.md\n");
    assert_import(world, "jutul", NULL, "taken b.md\n");
    assert_import(world, "hermes", NULL, "taken memories/MEMORY.md:1 -> MEMORY.md\n");
    assert_import(world, "openclaw", NULL, "taken memory/2026-01-01.md -> 2026-01-01.md\n");
}

/* ---- exports -------------------------------------------------------------------------------- */

static void an_export_spares_what_is_not_its_own(void **state)
{
    struct world *world = *state;
    struct run run;
    world_put(world, "out/a.md", "somebody's\n");
    world_put(world, "out/extra.md", "extra\n");
    world_put(world, "else/where", "x");
    world_link(world, "../else/where", "out/c.md");
    world_turn(world, NULL);
    write_note(world, "a.md", "ours\n");
    write_note(world, "b.md", "b\n");
    write_note(world, "c.md", "c\n");
    assert_export(world, "claude-code", "../out",
                  "skipped a.md: " TRANSFER_DIFFERS "\nwritten b.md\n"
                  "skipped c.md: a symbolic link is there\n");
    assert_file(world, "out/a.md", "somebody's\n");
    assert_file(world, "else/where", "x");
    write_note(world, "b.md", "b2\n");
    assert_export(world, "claude-code", "../out",
                  "skipped a.md: " TRANSFER_DIFFERS "\nwritten b.md\n"
                  "skipped c.md: a symbolic link is there\n");
    world_put(world, "out/b.md", "edited there\n");
    run_init(&run);
    assert_ok(world, export(world, "claude-code", "../out", false, 0, &run));
    assert_file(world, "out/b.md", "edited there\n");
    assert_ok(world, export(world, "claude-code", "../out", true, 0, &run));
    assert_file(world, "out/a.md", "ours\n");
    assert_file(world, "out/b.md", "b2\n");
    assert_file(world, "out/extra.md", "extra\n");
    run_release(&run);
}

static void what_could_not_be_written_is_no_success(void **state)
{
    struct world *world = *state;
    static const char *const names[] = {"link.md", "folder.md"};
    struct run run;
    world_put(world, "work/else", "x");
    world_link(world, "else", "work/link.md");
    world_mkdir(world, "out/folder.md");
    world_link(world, "../work/else", "out/link.md");
    world_turn(world, NULL);
    run_init(&run);
    assert_ok(world, export(world, "markdown", "link.md", true, 0, &run));
    assert_string_equal(run.rows.data, "skipped link.md: a symbolic link is there\n");
    assert_int_equal(run.left, ETHOS_EXISTS);
    run_release(&run);
    for (size_t i = 0; i < COUNT(names); i++)
        write_note(world, names[i], "text\n");
    run_init(&run);
    assert_ok(world, export(world, "claude-code", "../out", true, 0, &run));
    assert_string_equal(run.rows.data, "skipped folder.md: a folder is there\n"
                                       "skipped link.md: a symbolic link is there\n");
    assert_int_equal(run.left, ETHOS_EXISTS);
    run_release(&run);
    assert_file(world, "work/else", "x");
}

static void what_was_deleted_here_is_told_and_stays_there(void **state)
{
    struct world *world = *state;
    world_turn(world, NULL);
    write_note(world, "a.md", "a\n");
    write_note(world, "b.md", "b\n");
    assert_export(world, "claude-code", "../out", "written a.md\nwritten b.md\n");
    assert_export(world, "markdown", "../out/all.md", "written all.md\n"); // was never here
    delete_note(world, "a.md");
    assert_export(world, "claude-code", "../out",
                  "unchanged b.md\n"
                  "skipped a.md: deleted here since it was exported; the exported file stays\n");
    world_unlink(world, "out/a.md");
    assert_export(world, "claude-code", "../out", "unchanged b.md\n");
}

#define TOKEN "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

static void secrets_do_not_go_out_in_one_text(void **state)
{
    static const char *const formats[] = {"markdown", "json", "agents-md", "claude-md"};
    struct world *world = *state;
    world_turn(world, NULL);
    write_note(world, "k.md", "a\nkey " TOKEN "\n");
    write_note(world, "p.md", "plain\n");
    write_note(world, "MEMORY.md", "prose " TOKEN "\n- [K](k.md) \xe2\x80\x94 " TOKEN "\n");
    for (size_t i = 0; i < COUNT(formats); i++) {
        struct run run;
        run_init(&run);
        assert_ok(world, export(world, formats[i], NULL, false, 0, &run));
        assert_null(strstr(run.out.data, TOKEN));
        assert_non_null(strstr(run.out.data, "key [REDACTED:github-pat]"));
        assert_non_null(strstr(run.rows.data, "warning k.md:2: looks like a secret (github-pat); "
                                              "it is redacted there\n"));
        assert_non_null(strstr(run.rows.data, "warning MEMORY.md:1: "));
        assert_null(strstr(run.rows.data, "p.md"));
        run_release(&run);
    }
    assert_export(world, "claude-code", "../out",
                  "written k.md\n"
                  "warning k.md:2: looks like a secret (github-pat); it goes out as it is\n"
                  "written p.md\nwritten MEMORY.md\n"
                  "warning MEMORY.md:1: looks like a secret (github-pat); it goes out as it is\n");
    assert_file(world, "out/k.md", "a\nkey " TOKEN "\n");
}

/* A folder stands where the lock would be. */
static void memory_that_cannot_be_written_is_given_out(void **state)
{
    struct world *world = *state;
    struct run run;
    world_turn(world, NULL);
    write_note(world, "a.md", "a\n");
    assert_export(world, "claude-code", "../out", "written a.md\n");
    world_unlink(world, "home/.mem/imports.lock");
    world_mkdir(world, "home/.mem/imports.lock");
    assert_export(world, "claude-code", "../out", "unchanged a.md\n");
    assert_export(world, "agents-md", ".", "written AGENTS.md\n");
    run_init(&run);
    assert_ok(world, export(world, "markdown", NULL, false, 0, &run));
    int code = export(world, "claude-code", "../new", false, 0, &run);
    assert_error(&world->error, code, ETHOS_IO);
    assert_false(world_exists(world, "new/a.md"));
    run_release(&run);
}

static void an_untouched_jutul_note_goes_back_as_it_came(void **state)
{
    static const char note[] = "---\ntype: x\nmetadata:\n  own: 1\n---\n\nBody\n";
    static const char index[] =
        "- [A](a.md) \xe2\x80\x94 native\n- `B` \xe2\x80\x94 x (file: `b.md`)\n";
    struct world *world = *state;
    world_put(world, "jt/a.md", note);
    world_put(world, "jt/b.md", note);
    world_put(world, "jt/MEMORY.md", index);
    world_turn(world, NULL);
    assert_import(world, "jutul", "../jt", "taken a.md\ntaken b.md\ntaken MEMORY.md\n");
    write_note(world, "b.md", "---\nmetadata:\n  type: y\n---\n\nBody\n"); // not any more
    assert_export(world, "jutul", "../back", "written a.md\nwritten b.md\nwritten MEMORY.md\n");
    assert_file(world, "back/a.md", note);
    assert_file(world, "back/MEMORY.md", index);
    assert_file(world, "back/b.md", "---\ntype: y\n---\n\nBody\n");
}

static void what_an_import_saw_an_export_may_replace(void **state)
{
    struct world *world = *state;
    world_put(world, "theirs/a.md", "a\n");
    world_turn(world, NULL);
    assert_import(world, "claude-code", "../theirs", "taken a.md\n");
    write_note(world, "a.md", "a, edited here\n");
    assert_export(world, "claude-code", "../theirs", "written a.md\n");
    assert_file(world, "theirs/a.md", "a, edited here\n");
    assert_import(world, "claude-code", "../theirs", "unchanged a.md\n");
}

static void notes_become_sections_of_one_file(void **state)
{
    struct world *world = *state;
    struct run run;
    world_turn(world, NULL);
    write_note(world, "b.md", "---\nname: b\n---\n\nB text\n");
    write_note(world, "a.md", "A text");
    write_note(world, "MEMORY.md", "Prose\n\n- [Bee](b.md) \xe2\x80\x94 hook\n\nmore\n");
    run_init(&run);
    assert_ok(world, export(world, "markdown", NULL, false, 0, &run));
    assert_string_equal(run.out.data,
                        "# Memory\n\nProse\n\nmore\n\n## Bee\n\nB text\n\n## A\n\nA text\n");
    run_release(&run);
    run_init(&run);
    assert_ok(world, export(world, "json", "-", false, 0, &run));
    assert_non_null(strstr(run.out.data, "\"key\": \"b.md\""));
    assert_non_null(strstr(run.out.data, "\"title\": \"Bee\""));
    run_release(&run);
    assert_export(world, "markdown", "all.md", "written all.md\n");
    assert_export(world, "markdown", "all.md", "unchanged all.md\n");
    write_note(world, "a.md", "A2");
    assert_export(world, "markdown", "all.md", "written all.md\n");
}

static void the_block_alone_changes_in_a_file_of_others(void **state)
{
    struct world *world = *state;
    struct run run;
    world_put(world, "work/AGENTS.md", "# Rules\r\nno end");
    world_turn(world, NULL);
    write_note(world, "a.md", "A text\n<!-- END ethos -->\n");
    assert_export(world, "agents-md", ".", "written AGENTS.md\n");
    char *text = temp_read(&world->temp, "work/AGENTS.md", NULL);
    assert_int_equal(strncmp(text, "# Rules\r\nno end\r\n\r\n<!-- BEGIN ethos -->\r\n", 41), 0);
    assert_non_null(strstr(text, "### A\r\n\r\nA text\r\n&lt;!-- END ethos -->\r\n"
                                 "<!-- END ethos -->\r\n"));
    free(text);
    assert_export(world, "agents-md", "AGENTS.md", "unchanged AGENTS.md\n");
    write_note(world, "a.md", "changed\n");
    assert_export(world, "agents-md", ".", "written AGENTS.md\n");
    assert_export(world, "claude-md", ".", "written CLAUDE.md\n");
    assert_mode(world, "work/CLAUDE.md", 0644);
    world_put(world, "work/AGENTS.md", "<!-- BEGIN ethos -->\n");
    run_init(&run);
    int code = export(world, "agents-md", ".", false, 0, &run);
    assert_error(&world->error, code, ETHOS_INVALID);
    run_release(&run);
}

/* ---- many, and failures --------------------------------------------------------------------- */

static void put_many(struct world *world, int count)
{
    char path[64], text[64];
    struct str index;
    world_mkdir(world, "theirs");
    str_init(&index, SIZE_MAX);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "theirs/note-%05d.md", i);
        snprintf(text, sizeof text, "Fact number %d\n", i);
        put_bytes(world, path, view_str(text));
        str_printf(&index, "- [Note %d](note-%05d.md) \xe2\x80\x94 fact\n", i, i);
    }
    put_bytes(world, "theirs/MEMORY.md", str_view(&index));
    str_release(&index);
}

static void many_notes_come_and_stay(void **state)
{
    struct world *world = *state;
    struct run run;
    put_many(world, 300);
    world_turn(world, NULL);
    write_note(world, "MEMORY.md", "- [Mine](mine.md)\n");
    run_init(&run);
    assert_ok(world, import(world, "claude-code", "../theirs", 0, &run));
    assert_non_null(
        strstr(run.rows.data, "taken note-00299.md\nmerged MEMORY.md: 300 lines added"));
    str_clear(&run.rows);
    assert_ok(world, import(world, "claude-code", "../theirs", 0, &run));
    assert_null(strstr(run.rows.data, "taken"));
    run_release(&run);
}

/* Two notes, two lines, in the order in which they could come. */
static void assert_listed_once(struct world *world)
{
    static const char s[] = "- [S](s.md) \xe2\x80\x94 text\n", a[] = "- [A](a.md)\n";
    struct ethos_file *file = NULL;
    const struct ethos_target target = {NULL, "workspace", "MEMORY.md"};
    assert_ok(world, ethos_read(world->turn, &target, &file, &world->error));
    assert_non_null(strstr(file->text, s));
    assert_non_null(strstr(file->text, a));
    assert_int_equal(file->size, strlen(s) + strlen(a));
    ethos_file_free(file);
}

/* Every failure is told as such, and the next run finishes the work. */
static void a_failed_call_loses_nothing(void **state)
{
    struct world *world = *state;
    struct run run;
    world_put(world, "theirs/a.md", "a\n");
    world_put(world, "theirs/MEMORY.md", "- [A](a.md)\n");
    world_put(world, "work/CLAUDE.md", "# S\ntext\n");
    world_put(world, "hm/MEMORY.md", "one\n");
    struct nth nth = {.errnum = EIO};
    for (nth.number = 1; nth.number < 2000; nth.number++) {
        world_close(world);
        world_remove(world, "home");
        world_open_with(world, (struct ethos_options){.fast = 1});
        world_turn(world, NULL);
        nth.calls = 0;
        nth.failed[0] = 0;
        run_init(&run);
        os_hook(nth_fails, &nth);
        import(world, "claude-code", "../theirs", 0, &run);
        import(world, "claude-md", NULL, 0, &run);
        import(world, "hermes", "../hm", 0, &run);
        os_hook(NULL, NULL);
        assert_ok(world, import(world, "claude-code", "../theirs", 0, &run));
        assert_ok(world, import(world, "claude-md", NULL, 0, &run));
        assert_ok(world, import(world, "hermes", "../hm", 0, &run));
        assert_note(world, "a.md", "a\n");
        assert_store(world, "memory", "one\n");
        assert_listed_once(world);
        assert_int_equal(count_conflicts(world), 0);
        run_release(&run);
        if (!nth.failed[0])
            break;
    }
    assert_true(nth.number > 50 && nth.number < 2000);
}

static int transfer_all(struct world *world)
{
    struct run run;
    run_init(&run);
    int code = import(world, "claude-code", "../theirs", 0, &run);
    if (code == ETHOS_OK)
        code = import(world, "claude-md", NULL, 0, &run);
    if (code == ETHOS_OK)
        code = import(world, "hermes", "../hm", 0, &run);
    if (code == ETHOS_OK)
        code = export(world, "jutul", "../out", true, 0, &run);
    if (code == ETHOS_OK)
        code = export(world, "json", NULL, false, 0, &run);
    if (code == ETHOS_OK)
        code = export(world, "agents-md", ".", false, 0, &run);
    run_release(&run);
    return code;
}

static void every_failed_allocation_is_told(void **state)
{
    struct world *world = *state;
    int code;
    world_put(world, "theirs/a.md", "---\nmetadata:\n  type: x\n---\n\na\n");
    world_put(world, "theirs/MEMORY.md", "- [A](a.md)\n");
    world_put(world, "work/CLAUDE.md", "# S\ntext\n");
    world_put(world, "hm/MEMORY.md", "one\n");
    bool reached = true;
    for (unsigned long n = 1; reached; n++) {
        world_close(world);
        world_remove(world, "home");
        world_remove(world, "out");
        world_open_with(world, (struct ethos_options){.fast = 1});
        world_turn(world, NULL);
        alloc_fail_at(n);
        code = transfer_all(world);
        reached = alloc_count() >= n;
        alloc_fail_at(0);
        if (code != ETHOS_OK)
            assert_error(&world->error, code, ETHOS_NOMEM);
        assert_ok(world, transfer_all(world));
        assert_int_equal(count_conflicts(world), 0);
        assert_file(world, "out/a.md", "---\ntype: x\n---\n\na\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_claude_code_folder_comes_back_byte_for_byte),
        WORLD_TEST(a_jutul_folder_comes_back_byte_for_byte),
        WORLD_TEST(what_is_no_memory_is_told_with_the_reason),
        WORLD_TEST(a_file_too_large_for_memory_is_left),
        WORLD_TEST(a_second_run_changes_nothing),
        WORLD_TEST(each_side_may_change_a_note),
        WORLD_TEST(the_base_of_the_next_merge_is_what_came_last),
        WORLD_TEST(the_same_lines_changed_on_both_sides_are_kept_beside),
        WORLD_TEST(another_note_of_that_name_is_no_base),
        WORLD_TEST(an_import_that_died_leaves_one_copy),
        WORLD_TEST(memory_that_was_forgotten_comes_again),
        WORLD_TEST(what_was_deleted_here_stays_deleted),
        WORLD_TEST(what_was_not_recorded_is_found_again),
        WORLD_TEST(a_damaged_record_is_not_guessed_at),
        WORLD_TEST(an_index_with_lines_of_its_own_gets_the_missing_ones),
        WORLD_TEST(an_index_that_came_whole_is_merged_by_lines),
        WORLD_TEST(sections_become_notes_that_are_listed),
        WORLD_TEST(a_fact_never_takes_the_note_of_another),
        WORLD_TEST(a_fact_with_a_nul_is_left),
        WORLD_TEST(an_openclaw_workspace_is_memory_profile_and_dated_notes),
        WORLD_TEST(entries_are_added_once_and_stay_deleted),
        WORLD_TEST(a_new_entry_comes_below_its_heading),
        WORLD_TEST(secrets_are_told_and_kept),
        WORLD_TEST(a_dry_run_touches_nothing),
        WORLD_TEST(a_throwaway_memory_leaves_the_home_alone),
        WORLD_TEST(what_is_not_there_is_not_found),
        WORLD_TEST(a_file_that_cannot_be_read_is_no_empty_source),
        WORLD_TEST(the_usual_place_of_each_program_is_known),
        WORLD_TEST(an_export_spares_what_is_not_its_own),
        WORLD_TEST(what_could_not_be_written_is_no_success),
        WORLD_TEST(what_was_deleted_here_is_told_and_stays_there),
        WORLD_TEST(secrets_do_not_go_out_in_one_text),
        WORLD_TEST(memory_that_cannot_be_written_is_given_out),
        WORLD_TEST(an_untouched_jutul_note_goes_back_as_it_came),
        WORLD_TEST(what_an_import_saw_an_export_may_replace),
        WORLD_TEST(notes_become_sections_of_one_file),
        WORLD_TEST(the_block_alone_changes_in_a_file_of_others),
        WORLD_LOOP(many_notes_come_and_stay),
        WORLD_LOOP(a_failed_call_loses_nothing),
        WORLD_LOOP(every_failed_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

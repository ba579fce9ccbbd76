/*
 * test_memory_tool.c: the commands of the memory tool over texts: the promised words to the byte.
 */
#include "core/agents/memory_tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/view.h"

struct tool {
    json_t *json;
    struct tool_call call;
    struct tool_reply reply;
    struct str text;
    bool ok;
};

static struct tool *start(const char *json)
{
    struct tool *tool = calloc(1, sizeof *tool);
    assert_non_null(tool);
    tool_reply_init(&tool->reply);
    str_init(&tool->text, ETHOS_MAX_STORE_BYTES);
    assert_int_equal(json_parse(view_str(json), "test", &tool->json, NULL), ETHOS_OK);
    tool->ok = tool_parse(tool->json, &tool->call, &tool->reply);
    return tool;
}

static void end(struct tool *tool)
{
    json_decref(tool->json);
    tool_reply_release(&tool->reply);
    str_release(&tool->text);
    free(tool);
}

/* The command is refused with this reply. */
static void assert_refused(const char *json, const char *reply)
{
    struct tool *tool = start(json);
    assert_false(tool->ok);
    assert_true(tool->reply.is_error);
    assert_string_equal(tool->reply.text.data, reply);
    end(tool);
}

/* An edit of a text gives another one (NULL: none) and says this. */
static void assert_edit(const char *json, const char *old, const char *expected, const char *reply)
{
    struct tool *tool = start(json);
    assert_true(tool->ok);
    bool edited = tool_edit(&tool->call, view_str(old), &tool->text, &tool->reply);
    assert_string_equal(tool->reply.text.data, reply);
    assert_int_equal(edited, expected != NULL);
    assert_int_equal(tool->reply.is_error, expected == NULL);
    if (expected)
        assert_string_equal(tool->text.data, expected);
    end(tool);
}

static void assert_file(const char *json, const char *text, const char *reply, bool error)
{
    struct tool *tool = start(json);
    assert_true(tool->ok);
    tool_view_file(&tool->call, view_str(text), &tool->reply);
    assert_string_equal(tool->reply.text.data, reply);
    assert_int_equal(tool->reply.is_error, error);
    end(tool);
}

/* ---- paths ------------------------------------------------------------------------------------ */

static void test_a_path_is_memories_or_below_it(void **state)
{
    static const struct {
        const char *path, *key, *shown;
    } good[] = {{"/memories", "", "/memories"},
                {"/memories/", "", "/memories"},
                {"/memories/a.txt", "a.txt", "/memories/a.txt"},
                {"/memories/a b/c/", "a b/c", "/memories/a b/c"},
                {"/memories/x..y", "x..y", "/memories/x..y"},
                {"/memories/\xc3\xa9%2e.md", "\xc3\xa9%2e.md", "/memories/\xc3\xa9%2e.md"}};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char json[256];
        snprintf(json, sizeof json, "{\"command\":\"view\",\"path\":\"%s\"}", good[i].path);
        struct tool *tool = start(json);
        assert_true(tool->ok);
        assert_string_equal(tool->call.path.key, good[i].key);
        assert_true(view_eq_str(tool->call.path.shown, good[i].shown));
        end(tool);
    }
}

static void test_paths_that_lead_elsewhere_are_refused(void **state)
{
    static const char *const outside[] = {"",           "/",           "memories",  "/memoriesX",
                                          "/memor",     "/etc/passwd", "/Memories", "//memories",
                                          "memories/a", "/memories.md"};
    static const char *const leaving[] = {
        "/memories/..",         "/memories/../a",         "/memories/a/../b",   "/memories/a/..",
        "/memories/..\\\\a",    "/memories/a\\\\..\\\\b", "/memories/%2e%2e/a", "/memories/%2E%2e",
        "/memories/a/%2E%2E/b", "/memories/../memories/a"};
    static const char *const bad[] = {"/memories/.git/config",
                                      "/memories//a",
                                      "/memories/a//b",
                                      "/memories/.",
                                      "/memories/a/./b",
                                      "/memories/a\\\\b",
                                      "/memories/a\\u0000b",
                                      "/memories/a\\nb",
                                      "/memories/a\\\"b",
                                      "/memories/memory-history.jsonl",
                                      "/memories/history-blobs/a",
                                      "/memories/.mem/lock"};
    char json[512], reply[512];
    (void)state;
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        snprintf(json, sizeof json, "{\"command\":\"view\",\"path\":\"%s\"}", outside[i]);
        snprintf(reply, sizeof reply, "Error: Path must start with /memories, got: %s", outside[i]);
        assert_refused(json, reply);
    }
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++) {
        snprintf(json, sizeof json, "{\"command\":\"delete\",\"path\":\"%s\"}", leaving[i]);
        struct tool *tool = start(json);
        assert_false(tool->ok);
        assert_non_null(strstr(tool->reply.text.data, " would escape /memories directory"));
        end(tool);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(json, sizeof json,
                 "{\"command\":\"rename\",\"old_path\":\"/memories/a\",\"new_path\":\"%s\"}",
                 bad[i]);
        struct tool *tool = start(json);
        assert_false(tool->ok);
        assert_non_null(strstr(tool->reply.text.data, " is not allowed. Use at most 224 bytes"));
        end(tool);
    }
}

static void test_a_path_of_any_length_gets_an_answer(void **state)
{
    static const size_t sizes[] = {ETHOS_MAX_KEY, ETHOS_MAX_KEY + 1, 100 * ETHOS_MAX_KEY};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char *json = malloc(sizes[i] + 64), *name = malloc(sizes[i] + 1);
        assert_non_null(json);
        assert_non_null(name);
        memset(name, 'k', sizes[i]);
        name[sizes[i]] = 0;
        snprintf(json, sizes[i] + 64, "{\"command\":\"view\",\"path\":\"/memories/%s\"}", name);
        free(name);
        struct tool *tool = start(json);
        assert_int_equal(tool->ok, i == 0);
        end(tool);
        free(json);
    }
}

/* ---- parameters ------------------------------------------------------------------------------- */

static void test_a_wrong_command_is_told_what_is_wrong(void **state)
{
    (void)state;
    assert_refused("{}", "Error: Parameter `command` is required for command: memory");
    assert_refused("{\"command\":7}", "Error: Parameter `command` must be a string");
    assert_refused("{\"command\":\"list\"}", "Error: Unknown command: list. Use view, create, "
                                             "str_replace, insert, delete or rename");
    assert_refused("{\"command\":\"view\"}",
                   "Error: Parameter `path` is required for command: view");
    assert_refused("{\"command\":\"view\",\"path\":null}",
                   "Error: Parameter `path` is required for command: view");
    assert_refused("{\"command\":\"create\",\"path\":\"/memories/a\"}",
                   "Error: Parameter `file_text` is required for command: create");
    assert_refused("{\"command\":\"create\",\"path\":\"/memories/a\",\"file_text\":[]}",
                   "Error: Parameter `file_text` must be a string");
    assert_refused("{\"command\":\"create\",\"path\":\"/memories/a\",\"file_text\":\"a\\u0000\"}",
                   "Error: Parameter `file_text` contains NUL");
    assert_refused("{\"command\":\"str_replace\",\"path\":\"/memories/a\",\"old_str\":\"a\"}",
                   "Error: Parameter `new_str` is required for command: str_replace");
    assert_refused("{\"command\":\"insert\",\"path\":\"/memories/a\",\"insert_line\":1.5,"
                   "\"insert_text\":\"a\"}",
                   "Error: Parameter `insert_line` must be an integer");
    assert_refused("{\"command\":\"view\",\"path\":\"/memories/a\",\"view_range\":[1]}",
                   "Error: Parameter `view_range` must be two integers");
    assert_refused("{\"command\":\"rename\",\"old_path\":\"/memories/a\"}",
                   "Error: Parameter `new_path` is required for command: rename");
}

/* ---- view ------------------------------------------------------------------------------------- */

#define VIEW_A "{\"command\":\"view\",\"path\":\"/memories/a.md\""
#define SHOWN "Here's the content of /memories/a.md with line numbers:\n"

static void test_a_file_is_shown_with_numbers(void **state)
{
    (void)state;
    assert_file(VIEW_A "}", "", SHOWN "     1\t", false);
    assert_file(VIEW_A "}", "one", SHOWN "     1\tone", false);
    assert_file(VIEW_A "}", "one\ntwo\n", SHOWN "     1\tone\n     2\ttwo\n     3\t", false);
    assert_file(VIEW_A ",\"view_range\":[2,3]}", "1\n2\n3\n4", SHOWN "     2\t2\n     3\t3", false);
    assert_file(VIEW_A ",\"view_range\":[3,-1]}", "1\n2\n3\n4", SHOWN "     3\t3\n     4\t4",
                false);
    assert_file(VIEW_A ",\"view_range\":[0,1]}", "1\n2", SHOWN "     1\t1", false);
    assert_file(VIEW_A ",\"view_range\":[2,99]}", "1\n2", SHOWN "     2\t2", false);
}

static void test_a_range_without_lines_is_refused(void **state)
{
    static const char *const ranges[] = {"3, 3", "2, 1", "1, 0", "1, -2", "9, -1"};
    char json[128], reply[256];
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        snprintf(json, sizeof json, VIEW_A ",\"view_range\":[%s]}", ranges[i]);
        snprintf(reply, sizeof reply,
                 "Error: Invalid `view_range` parameter: [%s]. It should be within the range of "
                 "lines of the file: [1, 2]",
                 ranges[i]);
        assert_file(json, "1\n2", reply, true);
    }
}

static void test_a_file_of_too_many_lines_is_not_shown(void **state)
{
    char *text = malloc(TOOL_MAX_LINES + 1);
    (void)state;
    assert_non_null(text);
    memset(text, '\n', TOOL_MAX_LINES);
    text[TOOL_MAX_LINES] = 0;
    assert_file(VIEW_A "}", text,
                "File /memories/a.md exceeds maximum line limit of 999,999 lines.", true);
    text[TOOL_MAX_LINES - 1] = 0;
    assert_file(VIEW_A ",\"view_range\":[999999,-1]}", text, SHOWN "999999\t", false);
    free(text);
}

static void assert_directory(const char *path, struct tool_row *rows, size_t count,
                             const char *expected)
{
    char json[256], reply[2048];
    snprintf(json, sizeof json, "{\"command\":\"view\",\"path\":\"%s\"}", path);
    size_t size = strlen(path) - (path[strlen(path) - 1] == '/');
    snprintf(
        reply, sizeof reply,
        "Here're the files and directories up to 2 levels deep in %.*s, excluding hidden items "
        "and node_modules:\n%s",
        (int)size, path, expected);
    struct tool *tool = start(json);
    tool_view_directory(&tool->call, rows, count, &tool->reply);
    assert_string_equal(tool->reply.text.data, reply);
    assert_false(tool->reply.is_error);
    end(tool);
}

static void test_a_directory_is_shown_two_levels_deep(void **state)
{
    struct tool_row rows[] = {{"a-b.md", 512},         {"a/1.txt", 1023}, {"a/b/2.txt", 1},
                              {"a/b/c/3.txt", 1024},   {"b.md", 0},       {"node_modules/x", 7},
                              {"z/node_modules/y", 1}, {"z/y", 1258291}};
    size_t count = sizeof rows / sizeof *rows;
    (void)state;
    assert_directory("/memories", NULL, 0, "0B\t/memories");
    assert_directory("/memories", rows, count,
                     "1.2M\t/memories\n"
                     "2.0K\t/memories/a/\n"
                     "1023B\t/memories/a/1.txt\n"
                     "1.0K\t/memories/a/b/\n"
                     "512B\t/memories/a-b.md\n"
                     "0B\t/memories/b.md\n"
                     "1.2M\t/memories/z/\n"
                     "1.2M\t/memories/z/y");
    assert_directory("/memories/a/", rows, count,
                     "2.0K\t/memories/a\n"
                     "1023B\t/memories/a/1.txt\n"
                     "1.0K\t/memories/a/b/\n"
                     "1B\t/memories/a/b/2.txt\n"
                     "1.0K\t/memories/a/b/c/");
}

static void test_what_a_path_is(void **state)
{
    const struct tool_row rows[] = {{"a-b", 1}, {"a/b/c", 1}, {"d", 1}};
    (void)state;
    assert_int_equal(tool_kind_of(rows, 3, ""), TOOL_DIRECTORY);
    assert_int_equal(tool_kind_of(rows, 3, "a"), TOOL_DIRECTORY);
    assert_int_equal(tool_kind_of(rows, 3, "a/b"), TOOL_DIRECTORY);
    assert_int_equal(tool_kind_of(rows, 3, "a/b/c"), TOOL_FILE);
    assert_int_equal(tool_kind_of(rows, 3, "a-b"), TOOL_FILE);
    assert_int_equal(tool_kind_of(rows, 3, "a/b/c/d"), TOOL_NOTHING);
    assert_int_equal(tool_kind_of(rows, 3, "a-"), TOOL_NOTHING);
    assert_int_equal(tool_kind_of(rows, 3, "dd"), TOOL_NOTHING);
}

/* ---- edits ------------------------------------------------------------------------------------ */

#define A "\"path\":\"/memories/a.md\""
#define REPLACE(old, new)                                                                          \
    "{\"command\":\"str_replace\"," A ",\"old_str\":\"" old "\",\"new_str\":\"" new "\"}"
#define EDITED                                                                                     \
    "The memory file has been edited. Here is the snippet showing the change (with line "          \
    "numbers):\n"

static void test_a_piece_of_text_is_replaced(void **state)
{
    (void)state;
    assert_edit(REPLACE("b", "B"), "a\nb\nc", "a\nB\nc", EDITED "     1\ta\n     2\tB\n     3\tc");
    assert_edit(REPLACE("5", "five"), "1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\nfive\n6\n7\n8\n9",
                EDITED "     3\t3\n     4\t4\n     5\tfive\n     6\t6\n     7\t7");
    assert_edit(REPLACE("a\\nb\\n", ""), "a\nb\nc", "c", EDITED "     1\tc");
    assert_edit(REPLACE("a", "x\\ny\\nz"), "1\na\n2\n3\n4", "1\nx\ny\nz\n2\n3\n4",
                EDITED "     1\t1\n     2\tx\n     3\ty\n     4\tz\n     5\t2\n     6\t3");
    assert_edit(REPLACE("a", "$&a\\\\1"), "a", "$&a\\1", EDITED "     1\t$&a\\1");
}

static void test_a_piece_that_is_missing_or_not_alone_is_not_replaced(void **state)
{
    (void)state;
    assert_edit(REPLACE("x", "y"), "a", NULL,
                "No replacement was performed, old_str `x` did not appear verbatim in "
                "/memories/a.md.");
    assert_edit(REPLACE("a", "y"), "a\nb\na", NULL,
                "No replacement was performed. Multiple occurrences of old_str `a` in lines: 1, 3. "
                "Please ensure it is unique");
    assert_edit(REPLACE("a", "y"), "x\na a", NULL,
                "No replacement was performed. Multiple occurrences of old_str `a` in lines: 2. "
                "Please ensure it is unique");
    assert_edit(REPLACE("aa", "y"), "aaa", NULL,
                "No replacement was performed. Multiple occurrences of old_str `aa` in lines: 1. "
                "Please ensure it is unique");
    assert_edit(
        REPLACE("\\n", "y"), "a\nb\nc", NULL,
        "No replacement was performed. Multiple occurrences of old_str `\n` in lines: 1, 2. "
        "Please ensure it is unique");
    assert_edit(REPLACE("", "y"), "a", NULL, "No replacement was performed, old_str is empty.");
    assert_edit(REPLACE("a", "y"), NULL, NULL,
                "Error: The path /memories/a.md does not exist. Please provide a valid path.");
}

/* Looked for again from behind each of its places, this would not end today. */
static void test_a_long_piece_in_a_text_that_repeats_itself_is_found_everywhere(void **state)
{
    enum { LINES = 1 << 19, PIECE = LINES - 2, SIZE = PIECE + 128 };
    char *text = malloc(LINES + 1), *json = malloc(2 * SIZE), *at = json;
    (void)state;
    assert_non_null(text);
    assert_non_null(json);
    memset(text, '\n', LINES);
    text[LINES] = 0;
    at += snprintf(at, 128, "{\"command\":\"str_replace\"," A ",\"new_str\":\"\",\"old_str\":\"");
    for (size_t i = 0; i < PIECE; i++, at += 2)
        memcpy(at, "\\n", 2);
    memcpy(at, "\"}", 3);
    struct tool *tool = start(json);
    assert_false(tool_edit(&tool->call, view_str(text), &tool->text, &tool->reply));
    assert_true(view_ends(str_view(&tool->reply.text),
                          VIEW("` in lines: 1, 2, 3. Please ensure it is unique")));
    end(tool);
    free(json);
    free(text);
}

#define INSERT(line, text)                                                                         \
    "{\"command\":\"insert\"," A ",\"insert_line\":" line ",\"insert_text\":\"" text "\"}"

static void test_lines_are_inserted(void **state)
{
    static const char done[] = "The file /memories/a.md has been edited.";
    (void)state;
    assert_edit(INSERT("0", "x"), "a\nb", "x\na\nb", done);
    assert_edit(INSERT("1", "x\\n"), "a\nb", "a\nx\nb", done);
    assert_edit(INSERT("2", "x\\n\\n"), "a\nb", "a\nb\nx\n", done);
    assert_edit(INSERT("2", "x"), "a\nb\n", "a\nb\nx\n", done);
    assert_edit(INSERT("3", "x"), "a\nb\n", "a\nb\n\nx", done);
    assert_edit(INSERT("0", "x"), "", "x\n", done);
    assert_edit(INSERT("1", "x"), "", "\nx", done);
}

static void test_a_line_out_of_range_is_refused(void **state)
{
    (void)state;
    assert_edit(INSERT("-1", "x"), "a\nb", NULL,
                "Error: Invalid `insert_line` parameter: -1. It should be within the range of "
                "lines of the file: [0, 2]");
    assert_edit(INSERT("4", "x"), "a\nb\n", NULL,
                "Error: Invalid `insert_line` parameter: 4. It should be within the range of "
                "lines of the file: [0, 3]");
    assert_edit(INSERT("9223372036854775807", "x"), "", NULL,
                "Error: Invalid `insert_line` parameter: 9223372036854775807. It should be within "
                "the range of lines of the file: [0, 1]");
    assert_edit(INSERT("0", "x"), NULL, NULL, "Error: The path /memories/a.md does not exist");
}

static void test_a_file_is_created_where_there_is_none(void **state)
{
    (void)state;
    assert_edit("{\"command\":\"create\"," A ",\"file_text\":\"x\\n\"}", NULL, "x\n",
                "File created successfully at: /memories/a.md");
    assert_edit("{\"command\":\"create\"," A ",\"file_text\":\"\"}", NULL, "",
                "File created successfully at: /memories/a.md");
    assert_edit("{\"command\":\"create\"," A ",\"file_text\":\"x\"}", "", NULL,
                "Error: File /memories/a.md already exists");
}

static void test_without_memory_the_reply_says_so(void **state)
{
    (void)state;
    for (unsigned long at = 1; at < 4; at++) {
        struct tool *tool = start(REPLACE("b", "B"));
        alloc_fail_at(at);
        tool_edit(&tool->call, VIEW("a\nb\nc"), &tool->text, &tool->reply);
        bool failed = alloc_count() >= at;
        alloc_fail_at(0);
        if (failed)
            assert_true(str_code(&tool->text) != ETHOS_OK ||
                        str_code(&tool->reply.text) != ETHOS_OK);
        end(tool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_is_memories_or_below_it),
        cmocka_unit_test(test_paths_that_lead_elsewhere_are_refused),
        cmocka_unit_test(test_a_path_of_any_length_gets_an_answer),
        cmocka_unit_test(test_a_wrong_command_is_told_what_is_wrong),
        cmocka_unit_test(test_a_file_is_shown_with_numbers),
        cmocka_unit_test(test_a_range_without_lines_is_refused),
        cmocka_unit_test(test_a_file_of_too_many_lines_is_not_shown),
        cmocka_unit_test(test_a_directory_is_shown_two_levels_deep),
        cmocka_unit_test(test_what_a_path_is),
        cmocka_unit_test(test_a_piece_of_text_is_replaced),
        cmocka_unit_test(test_a_piece_that_is_missing_or_not_alone_is_not_replaced),
        cmocka_unit_test(test_a_long_piece_in_a_text_that_repeats_itself_is_found_everywhere),
        cmocka_unit_test(test_lines_are_inserted),
        cmocka_unit_test(test_a_line_out_of_range_is_refused),
        cmocka_unit_test(test_a_file_is_created_where_there_is_none),
        cmocka_unit_test(test_without_memory_the_reply_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

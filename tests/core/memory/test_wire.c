/*
 * test_wire.c: what a store keeps, as JSON and back, byte for byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/wire.h"

static struct str scratch;

/* Through the text of it, as on the way. */
static json_t *travel(json_t *value)
{
    struct str text;
    json_t *back = NULL;
    assert_non_null(value);
    str_init(&text, SIZE_MAX);
    assert_int_equal(json_print(value, JSON_STYLE_LINE, &text), ETHOS_OK);
    assert_int_equal(json_parse(str_view(&text), "wire", &back, NULL), ETHOS_OK);
    str_release(&text);
    json_decref(value);
    return back;
}

static void test_any_bytes_come_back(void **state)
{
    static const struct ethos_view texts[] = {
        VIEW(""),         VIEW("plain\n"), VIEW("\xC3\xA9"),   VIEW("a\0b"),
        VIEW("\xFF\xFE"), VIEW("\xC3"),    VIEW("\r\n\t\"\\"), VIEW("\xED\xA0\x80")};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ethos_view out;
        json_t *json = travel(wire_bytes(texts[i]));
        assert_int_equal(wire_take_bytes(json, &scratch, &out), ETHOS_OK);
        assert_non_null(out.data);
        assert_true(view_eq(out, texts[i]));
        json_decref(json);
    }
}

/* However full of characters that JSON must escape. */
static void test_no_text_grows_by_more_than_a_third(void **state)
{
    enum { SIZE = 30000 };
    static const char fillers[] = "a\n\x01\"\xFF";
    char *bytes = malloc(SIZE);
    struct str text;
    (void)state;
    str_init(&text, SIZE_MAX);
    for (const char *filler = fillers; *filler; filler++) {
        memset(bytes, *filler, SIZE);
        json_t *json = wire_bytes(view_of(bytes, SIZE));
        str_clear(&text);
        assert_int_equal(json_print(json, JSON_STYLE_LINE, &text), ETHOS_OK);
        assert_true(text.size <= SIZE + SIZE / 3 + 32);
        json_decref(json);
    }
    str_release(&text);
    free(bytes);
}

static void test_texts_keep_all_that_is_known_of_them(void **state)
{
    struct ethos_text text = {.data = (char *)"b\xFF",
                              .size = 2,
                              .offset = 1,
                              .total = 3,
                              .mtime_ms = -1,
                              .unsettled = 1,
                              .revision = "sha256:0"},
                      back = {0};
    struct ethos_view bytes;
    (void)state;
    json_t *json = travel(wire_text(&text));
    assert_int_equal(wire_take_text(json, &scratch, &back, &bytes), ETHOS_OK);
    assert_true(view_eq(bytes, VIEW("b\xFF")));
    assert_int_equal(back.offset, 1);
    assert_int_equal(back.total, 3);
    assert_int_equal(back.mtime_ms, -1);
    assert_int_equal(back.unsettled, 1);
    assert_string_equal(back.revision, "sha256:0");
    json_object_del(json, "revision");
    assert_int_equal(wire_take_text(json, &scratch, &back, &bytes), ETHOS_INVALID);
    json_decref(json);
}

static void test_every_code_comes_back(void **state)
{
    (void)state;
    for (int code = ETHOS_NOTFOUND; code >= ETHOS_INTERNAL; code--) {
        struct ethos_error error = {code, "what: why", "do this"}, back = {0};
        json_t *json = travel(wire_error(&error));
        assert_int_equal(wire_take_error(json, &back), code);
        assert_int_equal(back.code, code);
        assert_string_equal(back.text, code == ETHOS_NOMEM ? "out of memory" : "what: why");
        assert_string_equal(back.hint, "do this");
        json_decref(json);
    }
    json_t *odd = json_pack("{s:s, s:s}", "code", "ok", "message", "x");
    struct ethos_error none = {0};
    assert_int_equal(wire_take_error(odd, &none), ETHOS_INVALID);
    assert_int_equal(wire_take_error(NULL, &none), ETHOS_INVALID);
    assert_string_equal(none.text, "");
    json_decref(odd);
}

static void test_changes_and_origins_keep_what_is_unknown(void **state)
{
    const struct ethos_change change = {.number = 7,
                                        .time_ms = 1,
                                        .key = "a.md",
                                        .actions = "add",
                                        .actor = "ann",
                                        .before = "absent",
                                        .after = "sha256:1",
                                        .bytes_after = 2,
                                        .diff = VIEW("\xFF"),
                                        .diff_whole = 1};
    const struct ethos_origin origin = {.actor = "ann", .session_key = "k", .op_id = "op"};
    struct ethos_change back;
    struct ethos_origin who;
    (void)state;
    json_t *json = travel(wire_change(&change));
    assert_int_equal(wire_take_change(json, &scratch, &back), ETHOS_OK);
    assert_int_equal(back.number, 7);
    assert_string_equal(back.after, "sha256:1");
    assert_null(back.via);
    assert_null(back.session);
    assert_true(view_eq(back.diff, VIEW("\xFF")));
    assert_int_equal(back.diff_whole, 1);
    json_object_del(json, "diff");
    assert_int_equal(wire_take_change(json, &scratch, &back), ETHOS_OK);
    assert_null(back.diff.data);
    json_object_del(json, "after"); // readers compare it
    assert_int_equal(wire_take_change(json, &scratch, &back), ETHOS_INVALID);
    json_decref(json);
    json = travel(wire_origin(&origin));
    assert_int_equal(wire_take_origin(json, &who), ETHOS_OK);
    assert_string_equal(who.session_key, "k");
    assert_null(who.session);
    json_object_set_new(json, "actor", json_integer(1));
    assert_int_equal(wire_take_origin(json, &who), ETHOS_INVALID);
    json_object_set_new(json, "actor", json_stringn("a\0b", 3));
    assert_int_equal(wire_take_origin(json, &who), ETHOS_INVALID);
    json_decref(json);
}

/* A commit that is whole: two changes of a text, one of them lost, and a copy. */
static json_t *make_commit(void)
{
    static char one[ETHOS_REVISION_SIZE];
    hash_revision(VIEW("one\n"), one);
    const struct ethos_change told = {.actions = "add", .source = "tool"};
    struct ethos_row rows[2] = {{.change = told, .whole = VIEW("one\n")}, {.change = told}};
    const struct ethos_edit edits[] = {{.key = "a.md", .verdict = ETHOS_EDIT_KEEP},
                                       {.key = "b.md", .verdict = ETHOS_EDIT_DROP}};
    const struct ethos_copy copy = {.key = "a.md", .time_ms = 5, .text = VIEW("b\0\xFF")};
    const struct ethos_commit commit = {.version = 3,
                                        .rows = rows,
                                        .row_count = 2,
                                        .edits = edits,
                                        .edit_count = 2,
                                        .copies = &copy,
                                        .copy_count = 1};
    rows[0].change.number = 4, rows[0].change.key = "a.md";
    rows[0].change.before = "absent", rows[0].change.after = one;
    rows[1].change.number = 9, rows[1].change.key = "b.md";
    rows[1].change.before = one, rows[1].change.after = "absent";
    return travel(wire_commit(&commit));
}

static int take_commit(const json_t *json, struct ethos_commit *out)
{
    static struct arena arena;
    arena_release(&arena);
    arena_init(&arena);
    int code = wire_take_commit(json, &arena, &scratch, out);
    if (!json)
        arena_release(&arena);
    return code;
}

static void test_a_commit_comes_back_with_each_text_once(void **state)
{
    struct ethos_commit back;
    (void)state;
    json_t *json = make_commit();
    assert_int_equal(json_object_size(json_object_get(json, "texts")), 1);
    assert_int_equal(take_commit(json, &back), ETHOS_OK);
    assert_int_equal(back.version, 3);
    assert_int_equal(back.row_count, 2);
    assert_true(view_eq(back.rows[0].whole, VIEW("one\n")) && !back.rows[0].base.data);
    assert_true(view_eq(back.rows[1].base, VIEW("one\n")) && !back.rows[1].whole.data);
    assert_int_equal(back.edits[0].verdict, ETHOS_EDIT_KEEP);
    assert_int_equal(back.edits[1].verdict, ETHOS_EDIT_DROP);
    assert_true(view_eq(back.copies[0].text, VIEW("b\0\xFF")));
    json_decref(json);
    take_commit(NULL, &back);
}

static void test_a_commit_that_is_none_is_refused(void **state)
{
    static const struct {
        const char *list, *name, *value;
    } rows[] = {
        {"rows", "number", "0"},
        {"rows", "number", "99999999999999999"},
        {"rows", "number", "9007199254740992"}, // the next one would be none that JSON keeps
        {"rows", "timeMs", "9223372036854775807"},
        {"rows", "timeMs", "-1000000000000000"},
        {"rows", "before", "null"},
        {"rows", "after", "\"sha256:1\""},
        {"rows", "key", "null"},
        {"rows", "source", "null"},
        {"edits", "key", "7"},
        {"edits", "revision", "\"x\""},
        {"edits", "revision",
         "\"sha256:"
         "0000000000000000000000000000000000000000000000000000000000000000\""},
        {"copies", "text", "null"},
        {"copies", "key", "null"},
    };
    struct ethos_commit back;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *json = make_commit();
        json_t *row = json_array_get(json_object_get(json, rows[i].list), 0);
        json_object_set_new(row, rows[i].name, json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        assert_int_equal(take_commit(json, &back), ETHOS_INVALID);
        json_decref(json);
    }
    json_t *json = make_commit();
    void *text = json_object_iter(json_object_get(json, "texts"));
    json_object_iter_set_new(json_object_get(json, "texts"), text, json_string("another\n"));
    assert_int_equal(take_commit(json, &back), ETHOS_INVALID);
    json_decref(json);
    assert_int_equal(take_commit(NULL, &back), ETHOS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_bytes_come_back),
        cmocka_unit_test(test_no_text_grows_by_more_than_a_third),
        cmocka_unit_test(test_texts_keep_all_that_is_known_of_them),
        cmocka_unit_test(test_every_code_comes_back),
        cmocka_unit_test(test_changes_and_origins_keep_what_is_unknown),
        cmocka_unit_test(test_a_commit_comes_back_with_each_text_once),
        cmocka_unit_test(test_a_commit_that_is_none_is_refused),
    };
    str_init(&scratch, SIZE_MAX);
    int failed = cmocka_run_group_tests_name("core/wire", tests, NULL, NULL);
    str_release(&scratch);
    return failed;
}

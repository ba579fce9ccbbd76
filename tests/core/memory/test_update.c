/*
 * test_update.c: add, replace, remove, delete, the ceiling and the archive.
 */
#include "core/memory/update.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <ethos/limits.h>

#include "../../support/alloc.h"
#include "../../support/golden.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define CEILING ETHOS_MAX_FILE_CH
#define X16 "xxxxxxxxxxxxxxxx"
#define X64 X16 X16 X16 X16

static const char blank_add[] = "nothing to add: the content is blank";
static const char empty_match[] = "nothing to remove: the match is empty";

static struct ethos_update make(enum ethos_action action, const char *text)
{
    return (struct ethos_update){.action = action, .text = view_str(text)};
}

/* ---- actions ------------------------------------------------------------------------------- */

struct row {
    const char *old; /* NULL: absent */
    enum ethos_action action;
    const char *text;
    const char *after; /* NULL: absent */
};

static void assert_row(const struct row *row)
{
    struct ethos_update update = make(row->action, row->text);
    struct update_effect effect;
    struct str out;

    str_init(&out, 1024);
    assert_int_equal(update_apply(&update, 1, view_str(row->old), &out, &effect), ETHOS_OK);
    assert_int_equal(effect.present, row->after != NULL);
    assert_string_equal(out.data, row->after ? row->after : "");
    bool same = row->old && row->after ? strcmp(row->old, row->after) == 0 : row->old == row->after;
    assert_int_equal(effect.changed, !same);
    assert_int_equal(effect.applied, !same);
    str_release(&out);
}

static void assert_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_row(&rows[i]);
}

static void test_add_puts_one_blank_line_before_the_trimmed_content(void **state)
{
    static const struct row rows[] = {
        {NULL, ETHOS_ACTION_ADD, "x", "x\n"},
        {"", ETHOS_ACTION_ADD, " x\n\n", "x\n"},
        {"a", ETHOS_ACTION_ADD, "x", "a\n\nx\n"},
        {"a\n", ETHOS_ACTION_ADD, "x", "a\n\nx\n"},
        {"a \t\n\n\n", ETHOS_ACTION_ADD, "x\ny", "a\n\nx\ny\n"},
        {" \n", ETHOS_ACTION_ADD, "x", "\n\nx\n"},
        {"  a\n", ETHOS_ACTION_ADD, "x", "  a\n\nx\n"},
        {"a\r\nb\r\n", ETHOS_ACTION_ADD, "c\r\nd\r\n", "a\r\nb\n\nc\r\nd\n"},
        {"a\u00a0\u3000\ufeff", ETHOS_ACTION_ADD, "\u2003x\u2028", "a\n\nx\n"},
        {"a\u200b", ETHOS_ACTION_ADD, "\xc2\x85x", "a\u200b\n\n\xc2\x85x\n"},
    };

    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_add_of_blank_content_changes_nothing(void **state)
{
    static const struct row rows[] = {
        {NULL, ETHOS_ACTION_ADD, "", NULL},
        {NULL, ETHOS_ACTION_ADD, " \n", NULL},
        {"", ETHOS_ACTION_ADD, "\t", ""},
        {"a  ", ETHOS_ACTION_ADD, "\u00a0\n", "a  "},
    };

    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_replace_is_the_trimmed_content_and_a_line_end(void **state)
{
    static const struct row rows[] = {
        {NULL, ETHOS_ACTION_REPLACE, "x", "x\n"},    {"a\n", ETHOS_ACTION_REPLACE, " x \n", "x\n"},
        {"x\n", ETHOS_ACTION_REPLACE, "x", "x\n"},   {"x", ETHOS_ACTION_REPLACE, "x", "x\n"},
        {"x\n\n", ETHOS_ACTION_REPLACE, "x", "x\n"}, {"a\n", ETHOS_ACTION_REPLACE, "", "\n"},
        {NULL, ETHOS_ACTION_REPLACE, "  ", "\n"},    {"\n", ETHOS_ACTION_REPLACE, "", "\n"},
        {"", ETHOS_ACTION_REPLACE, "", "\n"},        {"xa", ETHOS_ACTION_REPLACE, "x", "x\n"},
    };

    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_remove_drops_lines_that_contain_the_match(void **state)
{
    static const struct row rows[] = {
        {"a\nkill\nb\nkill me kill\n", ETHOS_ACTION_REMOVE, "kill", "a\nb\n"},
        {"kill\na\n", ETHOS_ACTION_REMOVE, "kill", "a\n"},
        {"a\nkill", ETHOS_ACTION_REMOVE, "kill", "a\n"},
        {"kill", ETHOS_ACTION_REMOVE, "kill", "\n"},
        {"kill\nkill\n", ETHOS_ACTION_REMOVE, "ill", "\n"},
        {"\n\na\n\nkill\n\nb\n", ETHOS_ACTION_REMOVE, "kill", "\n\na\n\n\nb\n"},
        {"Kill\nkill\n", ETHOS_ACTION_REMOVE, "kill", "Kill\n"},
        {"a\r\nb\r\nc\r\n", ETHOS_ACTION_REMOVE, "b", "a\r\nc\n"},
        {"a\r\nb\n", ETHOS_ACTION_REMOVE, "\r", "b\n"},
        {"a b\nc\n", ETHOS_ACTION_REMOVE, " ", "c\n"},
        {"aXaXb\nab\n", ETHOS_ACTION_REMOVE, "aXb", "ab\n"},
    };

    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_remove_without_hit_only_normalises_the_end(void **state)
{
    static const struct row rows[] = {
        {"a\nb", ETHOS_ACTION_REMOVE, "z", "a\nb\n"},
        {"a\n\n \n", ETHOS_ACTION_REMOVE, "z", "a\n"},
        {"a\n", ETHOS_ACTION_REMOVE, "z", "a\n"},
        {"a ", ETHOS_ACTION_REMOVE, "z", "a\n"},
        {"a\nb\n", ETHOS_ACTION_REMOVE, "a\nb", "a\nb\n"},
        {"", ETHOS_ACTION_REMOVE, "z", "\n"},
        {" ", ETHOS_ACTION_REMOVE, "z", "\n"},
        {"\n", ETHOS_ACTION_REMOVE, "z", "\n"},
    };

    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_remove_never_creates_and_an_empty_match_never_touches(void **state)
{
    static const struct row rows[] = {
        {NULL, ETHOS_ACTION_REMOVE, "z", NULL},
        {NULL, ETHOS_ACTION_REMOVE, "", NULL},
        {"a\nb\n\n", ETHOS_ACTION_REMOVE, "", "a\nb\n\n"},
        {"", ETHOS_ACTION_REMOVE, "", ""},
    };

    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_delete_leaves_nothing(void **state)
{
    static const struct row rows[] = {
        {"a\n", ETHOS_ACTION_DELETE, NULL, NULL},
        {"", ETHOS_ACTION_DELETE, NULL, NULL},
        {NULL, ETHOS_ACTION_DELETE, NULL, NULL},
    };

    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_bytes_that_are_no_utf8_and_nul_stay(void **state)
{
    const struct ethos_update updates[] = {make(ETHOS_ACTION_ADD, "x"),
                                           make(ETHOS_ACTION_REMOVE, "gone")};
    struct update_effect effect;
    struct str out;

    (void)state;
    str_init(&out, 1024);
    assert_int_equal(
        update_apply(updates, 2, VIEW("\xff\0\xc3\ngone \xfe\n\xe2\x80\n"), &out, &effect),
        ETHOS_OK);
    assert_true(view_eq(str_view(&out), VIEW("\xff\0\xc3\n\xe2\x80\n\nx\n")));
    assert_int_equal(effect.matched, 1);
    str_release(&out);
}

/* ---- sequences ----------------------------------------------------------------------------- */

static void test_effect_counts_what_each_update_did_at_its_place(void **state)
{
    const struct ethos_update updates[] = {
        make(ETHOS_ACTION_ADD, "b"),         make(ETHOS_ACTION_ADD, " "),
        make(ETHOS_ACTION_REMOVE, "a"),      make(ETHOS_ACTION_REMOVE, "zzz"),
        make(ETHOS_ACTION_REPLACE, "b"),     make(ETHOS_ACTION_DELETE, NULL),
        make(ETHOS_ACTION_DELETE, NULL),     make(ETHOS_ACTION_REMOVE, "b"),
        make(ETHOS_ACTION_REMOVE, ""),       make(ETHOS_ACTION_ADD, "c"),
        make(ETHOS_ACTION_REPLACE, "a\nab"), make(ETHOS_ACTION_REMOVE, "a"),
    };
    struct update_effect effect;
    struct str out;

    (void)state;
    str_init(&out, 1024);
    assert_int_equal(update_apply(updates, COUNT(updates), VIEW("a\n"), &out, &effect), ETHOS_OK);
    assert_string_equal(out.data, "\n");
    assert_true(effect.present);
    assert_true(effect.changed);
    /* add, remove a (leaves blank lines), replace trims them, delete, add, replace, remove */
    assert_int_equal(effect.applied, 7);
    assert_int_equal(effect.removals, 5);
    assert_int_equal(effect.matched, 3);
    assert_string_equal(effect.warning, blank_add);
    str_release(&out);
}

static void test_changes_that_cancel_out_are_no_change(void **state)
{
    const struct ethos_update updates[] = {make(ETHOS_ACTION_DELETE, NULL),
                                           make(ETHOS_ACTION_ADD, "a")};
    struct update_effect effect;
    struct str out;

    (void)state;
    str_init(&out, 1024);
    assert_int_equal(update_apply(updates, 2, VIEW("a\n"), &out, &effect), ETHOS_OK);
    assert_false(effect.changed);
    assert_int_equal(effect.applied, 2);
    assert_int_equal(update_apply(NULL, 0, VIEW("a"), &out, &effect), ETHOS_OK);
    assert_string_equal(out.data, "a");
    assert_false(effect.changed);
    assert_int_equal(update_apply(NULL, 0, view_str(NULL), &out, &effect), ETHOS_OK);
    assert_false(effect.present);
    assert_false(effect.changed);
    str_release(&out);
}

static void test_add_then_delete_of_an_absent_text_is_no_change(void **state)
{
    const struct ethos_update updates[] = {make(ETHOS_ACTION_ADD, "a"),
                                           make(ETHOS_ACTION_DELETE, NULL),
                                           make(ETHOS_ACTION_REMOVE, "a")};
    struct update_effect effect;
    struct str out;

    (void)state;
    str_init(&out, 1024);
    assert_int_equal(update_apply(updates, 3, view_str(NULL), &out, &effect), ETHOS_OK);
    assert_false(effect.present);
    assert_false(effect.changed);
    assert_int_equal(effect.applied, 2);
    str_release(&out);
}

static void test_first_warning_stays(void **state)
{
    const struct ethos_update updates[] = {make(ETHOS_ACTION_REMOVE, ""),
                                           make(ETHOS_ACTION_ADD, "")};
    struct update_effect effect;
    struct str out;

    (void)state;
    str_init(&out, 1024);
    assert_int_equal(update_apply(updates, 2, VIEW("a\n"), &out, &effect), ETHOS_OK);
    assert_string_equal(effect.warning, empty_match);
    assert_int_equal(update_apply(updates, 0, VIEW("a\n"), &out, &effect), ETHOS_OK);
    assert_null(effect.warning);
    str_release(&out);
}

static void test_buffer_is_replaced_and_its_ceiling_counts_for_the_result_only(void **state)
{
    const struct ethos_update grow = make(ETHOS_ACTION_ADD, "0123456789");
    const struct ethos_update swap = make(ETHOS_ACTION_REPLACE, "0123456789");
    struct update_effect effect = {.applied = 77};
    struct str out;

    (void)state;
    str_init(&out, 12);
    str_adds(&out, "left over");
    assert_int_equal(update_apply(&swap, 1, VIEW("abcdefgh\n"), &out, &effect), ETHOS_OK);
    assert_string_equal(out.data, "0123456789\n");
    effect.applied = 77;
    assert_int_equal(update_apply(&grow, 1, VIEW("abcdefgh\n"), &out, &effect), ETHOS_LIMIT);
    assert_int_equal(effect.applied, 77);
    assert_int_equal(update_apply(&swap, 1, VIEW("a\n"), &out, &effect), ETHOS_OK);
    assert_string_equal(out.data, "0123456789\n");
    str_release(&out);
}

/* The buffer got its room at once: nothing was copied a second time. */
static void test_add_to_a_large_text_reserves_once(void **state)
{
    const struct ethos_update updates[] = {make(ETHOS_ACTION_ADD, "one"),
                                           make(ETHOS_ACTION_ADD, "two")};
    struct update_effect effect;
    struct str out;
    size_t size = 500000;
    char *old = test_malloc(size);

    (void)state;
    memset(old, 'x', size);
    str_init(&out, ETHOS_MAX_STORE_BYTES);
    assert_int_equal(update_apply(updates, 2, view_of(old, size), &out, &effect), ETHOS_OK);
    assert_int_equal(out.size, size + 11);
    assert_in_range(out.capacity, size + 12, size + 64);
    assert_true(view_starts(str_view(&out), view_of(old, size)));
    str_release(&out);
    test_free(old);
}

static void test_apply_survives_every_failing_allocation(void **state)
{
    const struct ethos_update updates[] = {
        make(ETHOS_ACTION_REMOVE, "a"),       make(ETHOS_ACTION_DELETE, NULL),
        make(ETHOS_ACTION_ADD, "some text"),  make(ETHOS_ACTION_REMOVE, "zz"),
        make(ETHOS_ACTION_REPLACE, "longer"), make(ETHOS_ACTION_ADD, "end")};
    int code;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct update_effect effect = {.applied = 77};
        struct str out;
        str_init(&out, 1024);
        code = update_apply(updates, COUNT(updates), VIEW("a\nb\n"), &out, &effect);
        assert_int_equal(code, n > 1 ? ETHOS_OK : ETHOS_NOMEM); /* there is only one to fail */
        assert_int_equal(effect.applied, code ? 77 : 5);
        str_release(&out);
    }
}

static void test_archive_survives_every_failing_allocation(void **state)
{
    int code;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct str archive;
        str_init(&archive, 1024);
        code = update_archive(VIEW("some text that is dropped"), "MEMORY.md", "T", &archive);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(code, str_code(&archive));
        str_release(&archive);
    }
}

/* ---- ceiling ------------------------------------------------------------------------------- */

/* A text of head, then unit until `bytes` are reached, then tail. */
static void fill(struct str *text, const char *head, const char *unit, size_t bytes,
                 const char *tail)
{
    str_init(text, (size_t)4 * ETHOS_MAX_STORE_BYTES);
    str_adds(text, head);
    while (text->size < bytes)
        str_adds(text, unit);
    assert_int_equal(str_adds(text, tail), ETHOS_OK);
}

/* Cuts and checks what every cut promises; returns the offset. */
static size_t cut(const struct str *text)
{
    size_t offset = update_ceiling(str_view(text));
    struct ethos_view kept = view_from(str_view(text), offset);

    assert_true(offset < text->size);
    assert_true(utf8_units(kept) <= CEILING);
    assert_false(view_blank(kept));
    return offset;
}

static void test_text_at_the_ceiling_is_kept(void **state)
{
    struct str text;

    (void)state;
    assert_int_equal(update_ceiling(VIEW("")), 0);
    fill(&text, "", "x", CEILING - 1, "\n");
    assert_int_equal(cut(&text), 0);
    str_release(&text);
    fill(&text, "", "\u20ac", (CEILING - 1) * 3, "\n");
    assert_int_equal(cut(&text), 0);
    str_release(&text);
    fill(&text, "", "\U0001f600", CEILING * 2, "");
    assert_int_equal(cut(&text), 0);
    str_release(&text);
    fill(&text, "", "\xff", CEILING - 1, "\n");
    assert_int_equal(cut(&text), 0);
    str_release(&text);
}

static void test_above_the_ceiling_whole_lines_are_kept(void **state)
{
    struct str text;

    (void)state;
    fill(&text, "", "123456789\n", CEILING + 2, ""); /* 524,290 bytes: the tail starts in line 1 */
    assert_int_equal(text.size, CEILING + 2);
    assert_int_equal(cut(&text), 10);
    str_release(&text);
    fill(&text, "", "123456789\n", 100 * CEILING, "");
    assert_int_equal(cut(&text) % 10, 0);
    assert_true(text.size - cut(&text) > CEILING - 10);
    str_release(&text);
}

static void test_line_feed_at_the_start_of_the_tail_does_not_count(void **state)
{
    struct str text;

    (void)state;
    fill(&text, "a\n", "x", CEILING, "\n"); /* one byte too many: the tail is LF x... LF */
    assert_int_equal(text.size, CEILING + 1);
    assert_int_equal(cut(&text), 1);
    str_release(&text);
    fill(&text, "ab\n", "x", CEILING, "\n"); /* here it is the tail's second byte */
    assert_int_equal(cut(&text), 3);
    str_release(&text);
}

static void test_single_line_above_the_ceiling_keeps_its_tail(void **state)
{
    struct str text;

    (void)state;
    fill(&text, "", "x", CEILING, "\n");
    assert_int_equal(cut(&text), 1);
    str_release(&text);
    fill(&text, "", X64, 100 * CEILING, "");
    assert_int_equal(cut(&text), 99 * CEILING);
    str_release(&text);
    fill(&text, "", "x", CEILING, "\n \n\t\n"); /* what follows the line feed is blank */
    assert_int_equal(cut(&text), 5);
    str_release(&text);
}

static void test_cut_does_not_split_a_character(void **state)
{
    struct str text;

    (void)state;
    fill(&text, "", "\U0001f600", CEILING * 2 + 4, "x"); /* half a pair too much: one CH less */
    assert_int_equal(cut(&text), 8);
    str_release(&text);
    fill(&text, "", "e\u0301", CEILING / 2 * 3, "e"); /* the tail would start with the accent */
    assert_int_equal(cut(&text), 3);
    str_release(&text);
    fill(&text, "\r", "x", CEILING + 1, ""); /* CR alone */
    assert_int_equal(cut(&text), 1);
    str_release(&text);
}

static void test_endless_character_keeps_a_tail_too(void **state)
{
    struct str text;

    (void)state;
    fill(&text, "a", "\u0301", CEILING * 2 + 1, "");
    assert_int_equal(text.size, CEILING * 2 + 1);
    assert_int_equal(cut(&text), 1);
    str_release(&text);
    fill(&text, "a", "\u0301", CEILING * 2 + 1, "\n");
    assert_int_equal(cut(&text), 3);
    str_release(&text);
}

static void test_archive_block(void **state)
{
    struct str archive;

    (void)state;
    str_init(&archive, 1024);
    assert_int_equal(update_archive(VIEW("a\nb\n\n"), "MEMORY.md", "T1", &archive), ETHOS_OK);
    assert_int_equal(update_archive(VIEW(" c"), "x.md", "T2", &archive), ETHOS_OK);
    assert_string_equal(archive.data, "\n<!-- overflow-archived T1 from MEMORY.md -->\na\nb\n"
                                      "\n<!-- overflow-archived T2 from x.md -->\n c\n");
    str_release(&archive);
    str_init(&archive, 60);
    assert_int_equal(update_archive(VIEW("0123456789abcdef"), "MEMORY.md", "T1", &archive),
                     ETHOS_LIMIT);
    str_release(&archive);
}

/* ---- golden -------------------------------------------------------------------------------- */

static const struct ethos_context golden_context = {
    .personality = "p",
    .user = "u",
    .platform = "cli",
    .memory_scope = "personality:p",
    .user_scope = "user:u",
};

/* The updates of a vector as JSON text, content_repeat written out. Owned by the caller. */
static char *golden_updates(json_t *vector)
{
    json_t *updates = json_object_get(vector, "updates");
    json_t *update;
    size_t i;

    if (golden_string(vector, "updates_text"))
        return strdup(golden_string(vector, "updates_text"));
    json_array_foreach (updates, i, update) {
        json_t *repeat = json_object_get(update, "content_repeat");
        if (!repeat)
            continue;
        json_int_t count = json_integer_value(json_object_get(repeat, "count"));
        struct str content;
        str_init(&content, ETHOS_MAX_INPUT_BYTES);
        while (count-- > 0)
            str_adds(&content, golden_string(repeat, "unit"));
        json_object_set_new(update, "content", json_stringn(content.data, content.size));
        str_release(&content);
    }
    return json_dumps(updates, JSON_COMPACT);
}

/* Parses the call and checks every target, as a sync does before it touches anything. */
static int golden_parse(const char *text, struct arena *arena, struct update_batch *batch,
                        struct ethos_error *error)
{
    int code = update_parse(view_str(text), arena, batch, error);

    for (size_t i = 0; !code && i < batch->count; i++) {
        const struct ethos_update *update = &batch->updates[i];
        struct scope_target target;
        code = scope_target(&golden_context, update->store, update->scope, update->key, true,
                            &target, error);
        if (!code)
            assert_string_equal(target.key, "MEMORY.md");
    }
    return code;
}

static size_t golden_number(const json_t *object, const char *name)
{
    return (size_t)json_integer_value(json_object_get(object, name));
}

static void assert_hash(struct ethos_view text, const char *expected)
{
    char hex[HASH_HEX_SIZE];

    hash_hex(text, hex);
    assert_string_equal(hex, expected);
}

static void assert_after(const json_t *vector, struct ethos_view text, bool present)
{
    const json_t *digest = json_object_get(vector, "after_digest");
    const char *after = golden_string(vector, "after");

    assert_int_equal(present, after || digest);
    if (digest) {
        assert_hash(text, golden_string(digest, "sha256"));
        assert_int_equal(text.size, golden_number(digest, "bytes"));
        assert_int_equal(utf8_units(text), golden_number(digest, "units"));
    } else if (after) {
        assert_int_equal(text.size, strlen(after));
        assert_memory_equal(text.data, after, text.size);
    }
}

/* The hash is of the text with "<ISO>" in it, the size of the one with a timestamp. */
static void assert_archive(const json_t *vector, struct ethos_view dropped)
{
    const size_t timestamp = sizeof("2026-01-01T00:00:00.000Z") - sizeof("<ISO>");
    const json_t *digest = json_object_get(vector, "archive_digest");
    struct str archive;

    assert_int_equal(dropped.size > 0, digest != NULL);
    if (!digest)
        return;
    str_init(&archive, ETHOS_MAX_STORE_BYTES);
    assert_int_equal(update_archive(dropped, "MEMORY.md", "<ISO>", &archive), ETHOS_OK);
    assert_hash(str_view(&archive), golden_string(digest, "sha256_with_ISO"));
    assert_int_equal(archive.size + timestamp, golden_number(digest, "bytes"));
    assert_true(view_starts(str_view(&archive), view_str(golden_string(digest, "head"))));
    str_release(&archive);
}

static void assert_md_files(const json_t *vector, bool present, bool archived)
{
    const json_t *files = json_object_get(vector, "md_files");
    size_t expected = (size_t)present + archived;

    assert_int_equal(json_array_size(files), expected);
    if (present)
        assert_string_equal(json_string_value(json_array_get(files, 0)), "MEMORY.md");
    if (archived)
        assert_string_equal(json_string_value(json_array_get(files, present)), "memory-archive.md");
}

static void assert_golden(json_t *vector)
{
    const char *error_text = golden_string(vector, "error");
    struct ethos_view initial = view_str(golden_string(vector, "initial"));
    struct ethos_error error = {0};
    struct update_batch batch = {0};
    struct update_effect effect = {.present = initial.data != NULL};
    struct arena arena;
    struct str text;
    char *json = golden_updates(vector);

    arena_init(&arena);
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    int code = golden_parse(json, &arena, &batch, &error);
    assert_int_equal(code, error_text ? ETHOS_DENIED : ETHOS_OK);
    assert_string_equal(error.text, error_text ? error_text : "");
    if (error_text)
        batch.count = 0;
    assert_int_equal(update_apply(batch.updates, batch.count, initial, &text, &effect), ETHOS_OK);
    size_t offset = update_ceiling(str_view(&text));
    assert_after(vector, view_from(str_view(&text), offset), effect.present);
    assert_archive(vector, view_of(text.data, offset));
    assert_md_files(vector, effect.present, offset > 0);
    str_release(&text);
    arena_release(&arena);
    free(json);
}

static void test_golden_updates(void **state)
{
    json_t *vectors = golden_load("updates");
    json_t *vector;
    size_t i;

    (void)state;
    json_array_foreach (vectors, i, vector) {
        print_message("# %s %s\n", golden_string(vector, "id"), golden_string(vector, "label"));
        assert_golden(vector);
    }
    json_decref(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_puts_one_blank_line_before_the_trimmed_content),
        cmocka_unit_test(test_add_of_blank_content_changes_nothing),
        cmocka_unit_test(test_replace_is_the_trimmed_content_and_a_line_end),
        cmocka_unit_test(test_remove_drops_lines_that_contain_the_match),
        cmocka_unit_test(test_remove_without_hit_only_normalises_the_end),
        cmocka_unit_test(test_remove_never_creates_and_an_empty_match_never_touches),
        cmocka_unit_test(test_delete_leaves_nothing),
        cmocka_unit_test(test_bytes_that_are_no_utf8_and_nul_stay),
        cmocka_unit_test(test_effect_counts_what_each_update_did_at_its_place),
        cmocka_unit_test(test_changes_that_cancel_out_are_no_change),
        cmocka_unit_test(test_add_then_delete_of_an_absent_text_is_no_change),
        cmocka_unit_test(test_first_warning_stays),
        cmocka_unit_test(test_buffer_is_replaced_and_its_ceiling_counts_for_the_result_only),
        cmocka_unit_test(test_add_to_a_large_text_reserves_once),
        cmocka_unit_test(test_apply_survives_every_failing_allocation),
        cmocka_unit_test(test_archive_survives_every_failing_allocation),
        cmocka_unit_test(test_text_at_the_ceiling_is_kept),
        cmocka_unit_test(test_above_the_ceiling_whole_lines_are_kept),
        cmocka_unit_test(test_line_feed_at_the_start_of_the_tail_does_not_count),
        cmocka_unit_test(test_single_line_above_the_ceiling_keeps_its_tail),
        cmocka_unit_test(test_cut_does_not_split_a_character),
        cmocka_unit_test(test_endless_character_keeps_a_tail_too),
        cmocka_unit_test(test_archive_block),
        cmocka_unit_test(test_golden_updates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_history.c: lines of the history, and the changes they add up to.
 */
#include "core/history/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/patch.h"
#include "records.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define CEILING ((size_t)1 << 26)

static struct history_record full_record(void)
{
    struct history_record r = record_of("MEMORY.md");

    r.actions = VIEW("add,remove");
    r.session = VIEW("s-1");
    r.session_key = VIEW("cli:x");
    r.diff = VIEW("a\t\"b\"\\/\x01\x1f\b\f\r\n\x7f\xe2\x80\xa8 é");
    r.size_before = 12;
    r.size_after = 34;
    r.blob = VIEW(BLOB_A);
    r.op_id = VIEW("op-1");
    r.txn_id = VIEW("abc");
    r.txn_index = 2;
    r.txn_count = 3;
    r.part_index = 1;
    r.part_count = 2;
    r.absent_before = r.absent_after = true;
    r.user = VIEW("ada");
    r.via = VIEW("cli");
    r.op = VIEW("{\"opId\":\"op-1\",\"rows\":[{\"key\":\"other.md\"}]}");
    r.event = VIEW("dropped");
    r.undoes = VIEW("3,4");
    r.was = VIEW("8:15");
    r.seq = 7;
    r.actor = VIEW("owner");
    r.trust = VIEW("agent");
    r.approved_by = VIEW("owner");
    r.edited_from = VIEW("a-hash");
    r.voids_first = 5;
    r.voids_last = 6;
    r.before_blob = VIEW(BLOB_A);
    r.after_blob = VIEW(BLOB_B);
    return r;
}

#define FULL_BODY                                                                                  \
    "{\"ts\":1000,\"scopeId\":\"personality:p\",\"key\":\"MEMORY.md\",\"actions\":[\"add\","       \
    "\"remove\"],\"source\":\"tool\",\"sessionId\":\"s-1\",\"sessionKey\":\"cli:x\","              \
    "\"beforeHash\":\"" HASH_A "\",\"afterHash\":\"" HASH_B "\","                                  \
    "\"diff\":\"a\\t\\\"b\\\"\\\\/\\u0001\\u001f\\b\\f\\r\\n\x7f\xe2\x80\xa8 é\","                \
    "\"sizeBefore\":12,\"sizeAfter\":34,\"approvedBy\":\"owner\",\"blob\":\"" BLOB_A               \
    "\",\"opId\":\"op-1\","                                                                        \
    "\"txn\":\"abc/2/"                                                                             \
    "3\",\"part\":[1,2],\"absentBefore\":true,\"absentAfter\":true,\"userId\":\"ada\","            \
    "\"via\":\"cli\",\"op\":{\"opId\":\"op-1\",\"rows\":[{\"key\":\"other.md\"}]},"                \
    "\"event\":\"dropped\",\"undoes\":[3,4],\"was\":\"8:15\",\"seq\":7,\"actor\":\"owner\","       \
    "\"trust\":\"agent\",\"editedFrom\":\"a-hash\","                                               \
    "\"voids\":[5,6],\"beforeBlob\":\"" BLOB_A "\",\"afterBlob\":\"" BLOB_B "\""

/* ---- lines --------------------------------------------------------------------------------- */

static void test_members_are_printed_in_the_order_of_the_format(void **state)
{
    struct history_record r = full_record();
    struct str out, expected;

    (void)state;
    str_init(&out, CEILING);
    str_init(&expected, CEILING);
    str_adds(&out, "before\n");
    assert_int_equal(history_print(&r, &out), ETHOS_OK);
    str_printf(&expected, "before\n%s,\"crc\":\"%08x\"}\n", FULL_BODY,
               (unsigned)hash_crc32c(VIEW(FULL_BODY)));
    assert_string_equal(out.data, expected.data);
    str_release(&out);
    str_release(&expected);
}

static void test_what_is_absent_is_not_printed(void **state)
{
    static const char body[] =
        "{\"ts\":1000,\"scopeId\":\"personality:p\",\"key\":\"MEMORY.md\",\"actions\":[\"add\"],"
        "\"source\":\"tool\",\"sessionId\":\"\",\"sessionKey\":\"\",\"beforeHash\":\"" HASH_A
        "\",\"afterHash\":\"" HASH_B "\",\"diff\":\"\",\"sizeBefore\":0,\"sizeAfter\":0";
    struct history_record r = record_of("MEMORY.md");
    struct str out;

    (void)state;
    str_init(&out, CEILING);
    assert_int_equal(history_print(&r, &out), ETHOS_OK);
    assert_true(view_starts(str_view(&out), view_str(body)));
    assert_int_equal(out.size, sizeof(body) - 1 + HISTORY_CRC_BYTES + 1);
    str_release(&out);
}

/* They stand in the line as they are: nothing else may. */
static void test_what_was_undone_is_numbers_or_not_printed(void **state)
{
    static const char *const lists[] = {"1],\"voids\":[1,9],\"x\":[2",
                                        "1]}\n{\"x\":[1",
                                        "1,",
                                        ",1",
                                        "1,,2",
                                        "01",
                                        "1 ",
                                        "+1",
                                        "sha256:1",
                                        "99999999999999999999"};
    struct history_record r = record_of("MEMORY.md"), plain = r;
    struct str out, expected;

    (void)state;
    str_init(&out, CEILING);
    str_init(&expected, CEILING);
    assert_int_equal(history_print(&plain, &expected), ETHOS_OK);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        str_clear(&out);
        r.undoes = view_str(lists[i]);
        assert_int_equal(history_print(&r, &out), ETHOS_OK);
        assert_true(view_eq(str_view(&out), str_view(&expected)));
    }
    str_release(&out);
    str_release(&expected);
}

static void assert_view(struct ethos_view a, struct ethos_view b)
{
    assert_true(view_eq(a, b));
    assert_int_equal(a.data != NULL, b.data != NULL);
}

static void assert_record(const struct history_record *a, const struct history_record *b)
{
    const struct ethos_view *const pairs[][2] = {
        {&a->scope, &b->scope},
        {&a->key, &b->key},
        {&a->actions, &b->actions},
        {&a->source, &b->source},
        {&a->session, &b->session},
        {&a->session_key, &b->session_key},
        {&a->before_hash, &b->before_hash},
        {&a->after_hash, &b->after_hash},
        {&a->diff, &b->diff},
        {&a->blob, &b->blob},
        {&a->op_id, &b->op_id},
        {&a->txn_id, &b->txn_id},
        {&a->user, &b->user},
        {&a->via, &b->via},
        {&a->op, &b->op},
        {&a->event, &b->event},
        {&a->undoes, &b->undoes},
        {&a->was, &b->was},
        {&a->actor, &b->actor},
        {&a->trust, &b->trust},
        {&a->approved_by, &b->approved_by},
        {&a->edited_from, &b->edited_from},
        {&a->before_blob, &b->before_blob},
        {&a->after_blob, &b->after_blob},
    };

    for (size_t i = 0; i < COUNT(pairs); i++)
        assert_view(*pairs[i][0], *pairs[i][1]);
    assert_int_equal(a->ts_ms, b->ts_ms);
    assert_int_equal(a->size_before, b->size_before);
    assert_int_equal(a->size_after, b->size_after);
    assert_int_equal(a->txn_index, b->txn_index);
    assert_int_equal(a->txn_count, b->txn_count);
    assert_int_equal(a->absent_before, b->absent_before);
    assert_int_equal(a->absent_after, b->absent_after);
    assert_int_equal(a->seq, b->seq);
    assert_int_equal(a->voids_first, b->voids_first);
    assert_int_equal(a->voids_last, b->voids_last);
}

static void test_a_printed_record_is_read_back(void **state)
{
    struct history_record records[] = {full_record(), record_of("a b.md")}, back;
    struct arena arena;
    struct str out;

    (void)state;
    arena_init(&arena);
    str_init(&out, CEILING);
    for (size_t i = 0; i < COUNT(records); i++) {
        str_clear(&out);
        history_print(&records[i], &out);
        assert_int_equal(history_parse(str_view(&out), &arena, &back), ETHOS_OK);
        assert_record(&back, &records[i]);
        out.size--; // without LF
        assert_int_equal(history_parse(str_view(&out), &arena, &back), ETHOS_OK);
    }
    str_release(&out);
    arena_release(&arena);
}

/* Byte for byte what the reference wrote, up to where our members begin. */
static void test_golden_lines_are_reproduced(void **state)
{
    const char *texts[] = {"a\nb\n", "a\nb\n\nc\n", NULL};
    json_error_t why;
    json_t *root = json_load_file("tests/golden/updates.json", 0, &why), *line;
    json_t *history = json_object_get(root, "history"), *context;
    struct arena arena;
    struct str out, expected;
    size_t i;

    (void)state;
    context = json_object_get(history, "context");
    arena_init(&arena);
    str_init(&out, CEILING);
    str_init(&expected, CEILING);
    assert_int_equal(json_array_size(json_object_get(history, "lines")), 2);
    json_array_foreach (json_object_get(history, "lines"), i, line) {
        json_t *values = json_object_get(line, "values"), *name, *ordered = json_object();
        struct history_record r = {.ts_ms = 1700000000000,
                                   .scope = json_view(context, "scopeId"),
                                   .key = json_view(values, "key"),
                                   .source = json_view(context, "source"),
                                   .session = json_view(context, "sessionId"),
                                   .session_key = json_view(context, "sessionKey")};
        size_t k;

        r.actions = i == 0 ? VIEW("add") : VIEW("delete");
        json_object_set_new(ordered, "ts", json_integer(r.ts_ms));
        json_array_foreach (json_object_get(line, "fields"), k, name) {
            json_t *value = json_object_get(values, json_string_value(name));

            if (value)
                json_object_set(ordered, json_string_value(name), value);
        }
        str_clear(&out);
        str_clear(&expected);
        assert_int_equal(history_describe(view_str(texts[i]), view_str(texts[i + 1]), &arena, &r),
                         ETHOS_OK);
        assert_null(r.blob.data);
        history_print(&r, &out);
        json_print(ordered, JSON_STYLE_LINE, &expected);
        expected.size--; // the brace
        assert_true(view_starts(str_view(&out), str_view(&expected)));
        assert_true(
            view_starts(view_from(str_view(&out), expected.size),
                        i == 0 ? VIEW(",\"crc\":\"") : VIEW(",\"absentAfter\":true,\"crc")));
        json_decref(ordered);
    }
    json_decref(root);
    str_release(&out);
    str_release(&expected);
    arena_release(&arena);
}

/* The line is exactly as large as its memory, so that reading past it shows. */
static void test_a_line_shorter_than_a_checksum_has_none(void **state)
{
    static const char line[] = {',', '"', 'c', 'r', 'c', '"', ':', '"', '}'};
    (void)state;
    for (size_t size = 0; size <= sizeof line; size++) {
        char *copy = malloc(size ? size : 1);
        assert_non_null(copy);
        memcpy(copy, line, size);
        assert_true(history_crc_fits(view_of(copy, size)));
        free(copy);
    }
}

static void test_lines_of_others_are_records(void **state)
{
    struct history_record r;
    struct arena arena;

    (void)state;
    arena_init(&arena);
    assert_int_equal(
        history_parse(VIEW("{\"ts\":1700000000000.75,\"scopeId\":\"global\",\"key\":\"MEMORY.md\","
                           "\"source\":\"dream\",\"hint\":{\"a\":[1,{}]},\"captureHashes\":[\"x\"],"
                           "\"approvedBy\":\"me\",\"seq\":\"7\",\"diff\":null,\"blob\":\"../x\","
                           "\"actions\":[1],\"txn\":\"other\",\"op\":1,\"voids\":[0,9]}\n"),
                      &arena, &r),
        ETHOS_OK);
    assert_int_equal(r.ts_ms, 1700000000000);
    assert_true(view_eq(r.source, VIEW("dream")));
    assert_int_equal(r.seq, 0);
    assert_null(r.diff.data);
    assert_null(r.blob.data);
    assert_null(r.actions.data);
    assert_null(r.txn_id.data);
    assert_null(r.op.data);
    assert_int_equal(r.voids_first, 0);
    arena_release(&arena);
}

static void test_what_is_no_record_is_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "\n",
        "x",
        "[]",
        "{}",
        "{\"ts\":1,\"scopeId\":\"a\",\"key\":\"b\"}",
        "{\"ts\":\"1\",\"scopeId\":\"a\",\"key\":\"b\",\"source\":\"c\"}",
        "{\"ts\":1e300,\"scopeId\":\"a\",\"key\":\"b\",\"source\":\"c\"}",
        "{\"ts\":1,\"scopeId\":1,\"key\":\"b\",\"source\":\"c\"}",
        "{\"ts\":1,\"scopeId\":\"a\",\"key\":null,\"source\":\"c\"}",
        "{\"ts\":1,\"scopeId\":\"a\",\"key\":\"b\",\"source\":\"c\"} x",
        "{\"ts\":1,\"scopeId\":\"a\",\"key\":\"b\",\"source\":\"c\"",
        "{\"ts\":1,\"scopeId\":\"\xff\",\"key\":\"b\",\"source\":\"c\"}",
    };
    struct history_record r;
    struct arena arena;

    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT(lines); i++)
        assert_int_equal(history_parse(view_str(lines[i]), &arena, &r), ETHOS_INVALID);
    arena_release(&arena);
}

static void test_any_changed_byte_of_our_lines_is_noticed(void **state)
{
    struct history_record r = full_record();
    struct arena arena;
    struct str out;

    (void)state;
    arena_init(&arena);
    str_init(&out, CEILING);
    history_print(&r, &out);
    for (size_t i = 0; i + 1 < out.size; i++) {
        out.data[i] ^= 1;
        assert_int_not_equal(history_parse(str_view(&out), &arena, &r), ETHOS_OK);
        out.data[i] ^= 1;
    }
    for (size_t size = 0; size + 1 < out.size; size++)
        assert_int_not_equal(history_parse(view_of(out.data, size), &arena, &r), ETHOS_OK);
    out.data[1] = 'T';
    assert_int_equal(history_parse(str_view(&out), &arena, &r), ETHOS_CORRUPT);
    str_release(&out);
    arena_release(&arena);
}

static void test_lines_are_told_apart_by_their_bytes(void **state)
{
    struct history_record r = full_record();
    struct str out;

    (void)state;
    str_init(&out, CEILING);
    r.diff = VIEW("\"key\":\"note.md\"");
    history_print(&r, &out);
    assert_true(history_line_is(str_view(&out), "MEMORY.md"));
    assert_false(history_line_is(str_view(&out), "MEMORY.m"));
    assert_false(history_line_is(str_view(&out), "MEMORY.mdd"));
    assert_false(history_line_is(str_view(&out), "note.md"));
    assert_false(history_line_is(str_view(&out), "other.md")); // stands in the operation
    assert_true(history_line_is(VIEW("{\"ts\": 1, \"key\": \"a.md\"}"), "a.md"));
    assert_false(history_line_is(VIEW(""), "a.md"));
    assert_false(history_line_is(VIEW("{\"key\":\"a.m"), "a.md"));
    str_release(&out);
}

/* ---- describing ---------------------------------------------------------------------------- */

static void describe(struct ethos_view before, struct ethos_view after, struct arena *arena,
                     struct history_record *r)
{
    *r = record_of("MEMORY.md");
    assert_int_equal(history_describe(before, after, arena, r), ETHOS_OK);
}

static void test_a_change_is_described_by_its_diff_alone(void **state)
{
    struct history_record r;
    struct arena arena;

    (void)state;
    arena_init(&arena);
    describe(VIEW("a\r\nb"), VIEW("a\r\n"), &arena, &r);
    assert_null(r.blob.data);
    assert_null(r.before_blob.data);
    assert_null(r.after_blob.data);
    assert_int_equal(r.size_before, 4);
    assert_int_equal(r.size_after, 3);
    assert_false(r.absent_before);
    describe(view_str(NULL), VIEW(""), &arena, &r);
    assert_view(r.before_hash, VIEW(HASH_0));
    assert_view(r.after_hash, VIEW(HASH_0));
    assert_true(r.absent_before);
    assert_false(r.absent_after);
    assert_view(r.diff, VIEW(""));
    arena_release(&arena);
}

static void test_a_text_that_is_no_utf8_is_kept_whole(void **state)
{
    struct history_record r;
    struct arena arena;

    (void)state;
    arena_init(&arena);
    describe(VIEW("a\n"), VIEW("a\n\xff\n"), &arena, &r);
    assert_null(r.blob.data);
    assert_true(view_ends(r.before_hash, r.before_blob) && r.before_blob.data);
    assert_true(view_ends(r.after_hash, r.after_blob) && r.after_blob.data);
    assert_true(view_ends(r.diff, VIEW("+\xef\xbf\xbd\n")));
    describe(VIEW("\xff\n1\n2\n3\n4\n5\n"), VIEW("\xff\n1\n2\n3\n4\n5\n6\n"), &arena, &r);
    assert_true(r.before_blob.data && r.after_blob.data); // though its diff is exact
    describe(VIEW(""), VIEW("\xff\n"), &arena, &r);
    assert_null(r.before_blob.data);
    assert_non_null(r.after_blob.data);
    arena_release(&arena);
}

static void test_a_long_diff_is_cut_on_a_character(void **state)
{
    struct history_record r;
    struct arena arena;
    struct str text, end;

    (void)state;
    arena_init(&arena);
    for (unsigned shift = 0; shift < 4; shift++) {
        str_init(&text, CEILING);
        str_init(&end, CEILING);
        str_adds(&text, "xxx" + shift);
        for (int i = 0; i < 2000; i++)
            str_adds(&text, "€");
        describe(VIEW("before\n"), str_view(&text), &arena, &r);
        str_printf(&end, "€\n… [diff truncated; before-state in blob %.*s]",
                   VIEW_ARG(r.before_hash));
        assert_true(view_ends(r.diff, str_view(&end)));
        assert_in_range(r.diff.size - end.size + 3, HISTORY_DIFF_BYTES - 2, HISTORY_DIFF_BYTES);
        assert_true(view_ends(r.before_hash, r.blob) && r.blob.data);
        assert_null(r.before_blob.data);
        assert_true(view_ends(r.after_hash, r.after_blob) && r.after_blob.data);
        str_release(&text);
        str_release(&end);
    }
    arena_release(&arena);
}

static void test_a_cut_diff_is_made_whole_from_its_texts(void **state)
{
    struct history_record r;
    struct arena arena;
    struct str text, after;
    int code = ETHOS_NOMEM;

    (void)state;
    arena_init(&arena);
    str_init(&text, CEILING);
    str_init(&after, CEILING);
    str_adds(&text, "before\n");
    for (int i = 0; i < 1000; i++)
        str_printf(&text, "row %d\n", i);
    describe(VIEW("before\n"), str_view(&text), &arena, &r);
    assert_int_not_equal(patch_apply(r.diff, VIEW("before\n"), false, &after), ETHOS_OK);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = history_mend(VIEW("before\n"), str_view(&text), &arena, &r);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_int_equal(patch_apply(r.diff, VIEW("before\n"), false, &after), ETHOS_OK);
    assert_view(str_view(&after), str_view(&text));

    describe(VIEW("a\n"), VIEW("b\n"), &arena, &r); // not cut: left alone
    const char *diff = r.diff.data;
    assert_int_equal(history_mend(VIEW("x"), VIEW("y"), &arena, &r), ETHOS_OK);
    assert_ptr_equal(r.diff.data, diff);
    str_release(&text);
    str_release(&after);
    arena_release(&arena);
}

static void test_a_diff_of_exactly_the_limit_stays_whole(void **state)
{
    struct history_record r;
    struct arena arena;
    struct str text;

    (void)state;
    arena_init(&arena);
    str_init(&text, CEILING);
    describe(view_str(NULL), VIEW("\n"), &arena, &r);
    for (size_t size = HISTORY_DIFF_BYTES - r.diff.size; size > 0; size--)
        str_addc(&text, 'x');
    str_addc(&text, '\n');
    describe(view_str(NULL), str_view(&text), &arena, &r);
    assert_int_equal(r.diff.size, HISTORY_DIFF_BYTES);
    assert_null(r.after_blob.data);
    str_truncate(&text, 0);
    for (size_t size = HISTORY_DIFF_BYTES; size > 0; size--)
        str_addc(&text, 'x');
    describe(view_str(NULL), str_view(&text), &arena, &r);
    assert_non_null(r.after_blob.data);
    assert_non_null(r.blob.data); // of a text without bytes too: a cut diff always has it
    str_release(&text);
    arena_release(&arena);
}

/* ---- collecting ---------------------------------------------------------------------------- */

static void print_void(struct str *out, const char *key, uint64_t seq, uint64_t first,
                       uint64_t last)
{
    struct history_record r = record_of(key);

    r.seq = seq;
    r.voids_first = first;
    r.voids_last = last;
    history_print(&r, out);
}

static void test_lines_of_a_key_are_collected_and_torn_ones_counted(void **state)
{
    struct history history;
    struct arena arena;
    struct str lines;

    (void)state;
    arena_init(&arena);
    str_init(&lines, CEILING);
    print_change(&lines, "a.md", 1, view_str(NULL), VIEW("1\n"), &arena);
    print_change(&lines, "b.md", 2, view_str(NULL), VIEW("2\n"), &arena);
    size_t torn = lines.size;
    print_change(&lines, "a.md", 3, VIEW("1\n"), VIEW("3\n"), &arena);
    lines.data[torn + 5] ^= 1;
    torn = lines.size;
    print_change(&lines, "b.md", 4, VIEW("2\n"), VIEW("4\n"), &arena);
    lines.data[torn + 5] ^= 1;
    str_adds(&lines, "half a line\n\n");
    print_change(&lines, "a.md", 5, VIEW("3\n"), VIEW("5\n"), &arena);
    str_adds(&lines, "{\"ts\":1,\"scopeId\":\"global\",\"key\":\"a.md\",\"source\":\"tool\"}");

    history_init(&history, &arena);
    assert_int_equal(history_collect(&history, str_view(&lines), "a.md"), ETHOS_OK);
    assert_int_equal(history.count, 3);
    assert_int_equal(history.skipped, 3);
    assert_int_equal(history.records[0].seq, 1);
    assert_int_equal(history.records[1].seq, 5);
    assert_int_equal(history.records[2].seq, 0);
    assert_int_equal(history_collect(&history, str_view(&lines), NULL), ETHOS_OK);
    assert_int_equal(history.count, 3 + 4);
    assert_int_equal(history.skipped, 3 + 3);

    // A line that names another key earlier, as nobody writes it.
    struct ethos_view odd = VIEW("{\"ts\":1,\"scopeId\":\"global\",\"op\":{\"key\":\"a.md\"},"
                                 "\"key\":\"b.md\",\"source\":\"tool\"}\n");
    struct history_last last = {0};

    assert_int_equal(history_collect(&history, odd, "a.md"), ETHOS_OK);
    assert_int_equal(history_last(odd, "a.md", &last), ETHOS_OK);
    assert_int_equal(history.count, 3 + 4);
    assert_false(last.any);
    str_release(&lines);
    arena_release(&arena);
}

static void test_voided_lines_are_no_versions(void **state)
{
    struct history history;
    struct arena arena;
    struct str lines;
    char one[ETHOS_REVISION_SIZE], two[ETHOS_REVISION_SIZE];

    (void)state;
    arena_init(&arena);
    str_init(&lines, CEILING);
    hash_revision(VIEW("1\n"), one);
    hash_revision(VIEW("2\n"), two);
    print_change(&lines, "a.md", 1, view_str(NULL), VIEW("1\n"), &arena);
    print_change(&lines, "a.md", 2, VIEW("1\n"), VIEW("2\n"), &arena);
    print_change(&lines, "a.md", 3, VIEW("2\n"), VIEW("3\n"), &arena);
    print_void(&lines, "a.md", 4, 2, 3);
    print_change(&lines, "a.md", 5, VIEW("1\n"), VIEW("5\n"), &arena);
    history_init(&history, &arena);
    assert_int_equal(history_collect(&history, str_view(&lines), "a.md"), ETHOS_OK);
    assert_int_equal(history.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(history.voided[i], i == 1 || i == 2);
    assert_int_equal(history_find(&history, view_str(one)), 0);
    assert_int_equal(history_find(&history, view_str(two)), 5);
    assert_int_equal(history_find(&history, VIEW(HASH_B)), 5); // what a void leads to
    str_release(&lines);
    arena_release(&arena);
}

static void test_the_newest_of_equal_versions_is_found(void **state)
{
    struct history history;
    struct arena arena;
    struct str lines;

    (void)state;
    arena_init(&arena);
    str_init(&lines, CEILING);
    print_change(&lines, "a.md", 1, view_str(NULL), VIEW("1\n"), &arena);
    print_change(&lines, "a.md", 2, VIEW("1\n"), VIEW("2\n"), &arena);
    print_change(&lines, "a.md", 3, VIEW("2\n"), VIEW("1\n"), &arena);
    history_init(&history, &arena);
    history_collect(&history, str_view(&lines), "a.md");
    assert_int_equal(history_find(&history, history.records[0].after_hash), 2);
    str_release(&lines);
    arena_release(&arena);
}

/* ---- no memory ----------------------------------------------------------------------------- */

static int describe_and_print(struct str *out)
{
    struct history_record r = record_of("a.md");
    struct arena arena;

    arena_init(&arena);
    int code = history_describe(VIEW("a\nb\n"), VIEW("a\n\xff\n"), &arena, &r);
    if (!code)
        code = history_print(&r, out);
    arena_release(&arena);
    return code;
}

static void test_no_memory_is_told(void **state)
{
    struct str out;
    int code = ETHOS_NOMEM;

    (void)state;
    str_init(&out, CEILING);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_release(&out);
        code = describe_and_print(&out);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(out.size > 0, code == ETHOS_OK);
    }
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_are_printed_in_the_order_of_the_format),
        cmocka_unit_test(test_what_is_absent_is_not_printed),
        cmocka_unit_test(test_what_was_undone_is_numbers_or_not_printed),
        cmocka_unit_test(test_a_printed_record_is_read_back),
        cmocka_unit_test(test_golden_lines_are_reproduced),
        cmocka_unit_test(test_lines_of_others_are_records),
        cmocka_unit_test(test_what_is_no_record_is_refused),
        cmocka_unit_test(test_any_changed_byte_of_our_lines_is_noticed),
        cmocka_unit_test(test_lines_are_told_apart_by_their_bytes),
        cmocka_unit_test(test_a_change_is_described_by_its_diff_alone),
        cmocka_unit_test(test_a_text_that_is_no_utf8_is_kept_whole),
        cmocka_unit_test(test_a_long_diff_is_cut_on_a_character),
        cmocka_unit_test(test_a_cut_diff_is_made_whole_from_its_texts),
        cmocka_unit_test(test_a_diff_of_exactly_the_limit_stays_whole),
        cmocka_unit_test(test_lines_of_a_key_are_collected_and_torn_ones_counted),
        cmocka_unit_test(test_voided_lines_are_no_versions),
        cmocka_unit_test(test_the_newest_of_equal_versions_is_found),
        cmocka_unit_test(test_a_line_shorter_than_a_checksum_has_none),
        cmocka_unit_test(test_no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

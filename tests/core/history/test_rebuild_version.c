/*
 * test_rebuild_version.c: recorded texts again.
 */
#include "core/history/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "records.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define CEILING ((size_t)1 << 26)

#define EDITS 300

/* Versions of a text and the blobs that are kept of them, as a store would. */
struct chain {
    struct arena arena;
    struct str versions[EDITS + 1];
    struct str lines;
    struct history history;
    bool kept[EDITS + 1]; /* a blob of this version exists */
    const char *rotten;   /* a blob that does not hold what its name says */
    unsigned asked;
};

static int give_blob(void *arg, const char *hex, struct str *out)
{
    struct chain *chain = arg;
    char real[HASH_HEX_SIZE];

    chain->asked++;
    str_clear(out);
    if (chain->rotten && !strcmp(chain->rotten, hex))
        return str_adds(out, "rotten");
    for (size_t i = 0; i <= EDITS; i++) {
        hash_hex(str_view(&chain->versions[i]), real);
        if (chain->kept[i] && !strcmp(real, hex))
            return str_add(out, str_view(&chain->versions[i]));
    }
    return ETHOS_NOTFOUND;
}

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static void random_line(struct str *out)
{
    switch (random_below(40)) {
    case 0:
        str_adds(out, "no utf-8: \xff\xc3\n");
        break;
    case 1:
        for (int i = 0; i < 1500; i++)
            str_adds(out, "long");
        str_adds(out, "\n");
        break;
    case 2:
        str_adds(out, "carriage\r\n");
        break;
    case 3:
        str_addc(out, '\0');
        break;
    default:
        str_printf(out, "line %u\n", random_below(50));
    }
}

static void random_edit(struct ethos_view old, struct str *out)
{
    struct ethos_view line;

    while (view_line(&old, &line)) {
        unsigned what = random_below(30);

        if (what == 0)
            random_line(out);
        if (what == 1 || memchr(line.data, 0xff, line.size) || line.size > 1000)
            continue; // what is odd goes soon, so that most texts are not
        str_add(out, line);
        str_adds(out, "\n");
    }
    random_line(out);
    if (random_below(4) == 0)
        str_truncate(out, out->size - 1);
    if (random_below(50) == 0)
        str_clear(out);
}

/* Random edits, recorded as history_describe says, and every 64th text kept whole. */
static void make_chain(struct chain *chain, bool keep)
{
    chain->rotten = NULL;
    chain->asked = 0;
    memset(chain->kept, 0, sizeof(chain->kept));
    arena_init(&chain->arena);
    str_init(&chain->lines, CEILING);
    str_init(&chain->versions[0], CEILING);
    str_adds(&chain->versions[0], "what stood there at first sight\n");
    for (size_t i = 1; i <= EDITS; i++) {
        struct history_record r = record_of("a.md");
        struct ethos_view old = str_view(&chain->versions[i - 1]);

        str_init(&chain->versions[i], CEILING);
        random_edit(old, &chain->versions[i]);
        assert_int_equal(history_describe(old, str_view(&chain->versions[i]), &chain->arena, &r),
                         ETHOS_OK);
        r.seq = i;
        if (i % 64 == 0 && keep && r.size_after > 0)
            r.after_blob = view_from(r.after_hash, 7);
        chain->kept[i - 1] |= r.blob.data || r.before_blob.data;
        chain->kept[i] |= r.after_blob.data != NULL;
        history_print(&r, &chain->lines);
    }
    history_init(&chain->history, &chain->arena);
    assert_int_equal(history_collect(&chain->history, str_view(&chain->lines), "a.md"), ETHOS_OK);
    assert_int_equal(chain->history.count, EDITS);
    assert_int_equal(chain->history.skipped, 0);
}

static void free_chain(struct chain *chain)
{
    for (size_t i = 0; i <= EDITS; i++)
        str_release(&chain->versions[i]);
    str_release(&chain->lines);
    arena_release(&chain->arena);
}

static int rebuild(struct chain *chain, size_t version, struct str *out)
{
    bool before = version == 0;

    return history_rebuild(&chain->history, before ? 0 : version - 1, before, give_blob, chain,
                           out);
}

static void assert_rebuilt(struct chain *chain, size_t version)
{
    struct str out;

    str_init(&out, CEILING);
    assert_int_equal(rebuild(chain, version, &out), ETHOS_OK);
    assert_true(view_eq(str_view(&out), str_view(&chain->versions[version])));
    str_release(&out);
}

static void test_every_version_is_rebuilt(void **state)
{
    static struct chain chain;
    struct str out;

    (void)state;
    make_chain(&chain, true);
    chain.kept[0] = true; // first sight
    for (size_t i = 0; i <= EDITS; i++)
        assert_rebuilt(&chain, i);
    str_init(&out, CEILING);
    for (size_t i = 1; i < EDITS; i++) {
        assert_int_equal(history_rebuild(&chain.history, i, true, give_blob, &chain, &out),
                         ETHOS_OK);
        assert_true(view_eq(str_view(&out), str_view(&chain.versions[i])));
    }
    str_release(&out);
    free_chain(&chain);
}

static void test_a_rotten_or_missing_blob_is_passed_over(void **state)
{
    static struct chain chain;
    char hex[HASH_HEX_SIZE];

    (void)state;
    random_state = 7;
    make_chain(&chain, true);
    chain.kept[0] = true;
    for (size_t i = 64; i <= EDITS; i += 64) {
        const struct history_record *r = &chain.history.records[i - 1];

        if (r->blob.data || r->before_blob.data || chain.versions[i].size == 0)
            continue; // the diff alone does not lead over this one
        hash_hex(str_view(&chain.versions[i]), hex);
        chain.rotten = hex;
        assert_rebuilt(&chain, i);
        assert_rebuilt(&chain, i + 1);
        chain.kept[i] = false;
        chain.rotten = NULL;
        assert_rebuilt(&chain, i);
        assert_rebuilt(&chain, i + 1);
    }
    free_chain(&chain);
}

static void test_a_text_is_rebuilt_backwards_when_nothing_older_is_left(void **state)
{
    static const char *const texts[] = {"a\n", "a\nb\n", "b\n", "b\nc\n"};
    struct history history;
    static struct chain chain;
    struct str out;

    (void)state;
    arena_init(&chain.arena);
    str_init(&chain.lines, CEILING);
    str_init(&out, CEILING);
    for (size_t i = 0; i <= EDITS; i++) {
        str_init(&chain.versions[i], CEILING);
        chain.kept[i] = false;
    }
    for (size_t i = 0; i < COUNT(texts); i++)
        str_adds(&chain.versions[i], texts[i]);
    for (size_t i = 1; i < COUNT(texts); i++)
        print_change(&chain.lines, "a.md", i, view_str(texts[i - 1]), view_str(texts[i]),
                     &chain.arena);
    history_init(&history, &chain.arena);
    history_collect(&history, str_view(&chain.lines), "a.md");
    assert_int_equal(history_rebuild(&history, 0, true, give_blob, &chain, &out), ETHOS_NOTFOUND);
    assert_int_equal(out.size, 0);
    chain.kept[3] = true;
    assert_int_equal(history_rebuild(&history, 0, true, give_blob, &chain, &out), ETHOS_OK);
    assert_string_equal(out.data, "a\n");
    // A gap: the change in the middle is gone, and with it the way.
    history.records[1] = history.records[2];
    history.count = 2;
    assert_int_equal(history_rebuild(&history, 0, true, give_blob, &chain, &out), ETHOS_NOTFOUND);
    str_release(&out);
    free_chain(&chain);
}

static void test_other_keys_are_not_on_the_way(void **state)
{
    struct history history;
    static struct chain chain;
    struct arena arena;
    struct str lines, out;

    (void)state;
    arena_init(&arena);
    str_init(&lines, CEILING);
    str_init(&out, CEILING);
    for (size_t i = 0; i <= EDITS; i++)
        str_init(&chain.versions[i], CEILING);
    print_change(&lines, "a.md", 1, view_str(NULL), VIEW("1\n"), &arena);
    print_change(&lines, "b.md", 2, view_str(NULL), VIEW("2\n"), &arena);
    print_change(&lines, "a.md", 3, VIEW("1\n"), VIEW("3\n"), &arena);
    history_init(&history, &arena);
    history_collect(&history, str_view(&lines), NULL);
    assert_int_equal(history_rebuild(&history, 2, false, give_blob, &chain, &out), ETHOS_OK);
    assert_string_equal(out.data, "3\n");
    assert_int_equal(history_rebuild(&history, 2, true, give_blob, &chain, &out), ETHOS_OK);
    assert_string_equal(out.data, "1\n");
    str_release(&lines);
    str_release(&out);
    arena_release(&arena);
}

static int read_all(struct ethos_view lines, struct str *out)
{
    static struct chain chain;
    struct history_last last = {0};
    struct history history;
    struct arena arena;

    for (size_t i = 0; i <= EDITS; i++)
        str_init(&chain.versions[i], CEILING);
    arena_init(&arena);
    history_init(&history, &arena);
    int code = history_collect(&history, lines, NULL);
    if (!code)
        code = history_rebuild(&history, 99, false, give_blob, &chain, out);
    if (!code)
        code = history_last(lines, "a.md", &last);
    arena_release(&arena);
    return code;
}

static void test_no_memory_is_told(void **state)
{
    struct arena arena;
    struct str lines, out, text;
    int code = ETHOS_NOMEM;

    (void)state;
    str_init(&lines, CEILING);
    str_init(&out, CEILING);
    str_init(&text, CEILING);
    arena_init(&arena);
    for (uint64_t i = 0; i < 100; i++) {
        struct ethos_view old = view_of(arena_copy(&arena, str_view(&text)), text.size);

        str_adds(&text, "one more \"line\"\n");
        print_change(&lines, "a.md", i + 1, i ? old : view_str(NULL), str_view(&text), &arena);
    }
    arena_release(&arena);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_release(&out);
        code = read_all(str_view(&lines), &out);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_true(view_eq(str_view(&out), str_view(&text)));
    str_release(&lines);
    str_release(&out);
    str_release(&text);
}

/* ---- a long text that grows ------------------------------------------------------------------- */

#define GROWS 40

/* What blobs there are: texts by their hash. */
struct grown {
    struct arena arena;
    struct str text, lines; /* the newest text; each version is a beginning of it */
    size_t sizes[GROWS + 1];
    struct history history;
    struct str blobs[2 * GROWS + 2];
    size_t count;
    size_t lost; /* a blob that is not there any more; count: none */
};

static int give_part(void *arg, const char *hex, struct str *out)
{
    const struct grown *grown = arg;
    char real[HASH_HEX_SIZE];

    str_clear(out);
    for (size_t i = 0; i < grown->count; i++) {
        hash_hex(str_view(&grown->blobs[i]), real);
        if (i != grown->lost && !strcmp(real, hex))
            return str_add(out, str_view(&grown->blobs[i]));
    }
    return ETHOS_NOTFOUND;
}

static void keep_part(struct grown *grown, struct ethos_view text)
{
    struct str *blob = &grown->blobs[grown->count++];

    str_init(blob, CEILING);
    str_add(blob, text);
}

static struct ethos_view version_of(const struct grown *grown, size_t i)
{
    return view_of(grown->text.data, grown->sizes[i]);
}

/* Equal lines at first; then few or many lines at a time, some equal to what is there. */
static void make_grown(struct grown *grown, bool first_whole, bool last_whole)
{
    *grown = (struct grown){.lost = SIZE_MAX};
    arena_init(&grown->arena);
    str_init(&grown->text, CEILING);
    str_init(&grown->lines, CEILING);
    while (grown->text.size < HISTORY_LONG_BYTES)
        str_adds(&grown->text, "same\n");
    grown->sizes[0] = grown->text.size;
    for (size_t i = 1; i <= GROWS; i++) {
        for (unsigned k = 0, more = i % 3 ? 3 : 2000; k < more; k++)
            i % 3 ? str_adds(&grown->text, "same\n") : str_printf(&grown->text, "other %zu\n", i);
        grown->sizes[i] = grown->text.size;
    }
    for (size_t i = 1; i <= GROWS; i++) {
        struct history_record r = record_of("a.md");
        struct ethos_view before = version_of(grown, i - 1), after = version_of(grown, i);
        struct ethos_view part = history_appended(before, after);

        assert_true(view_eq(part, view_from(after, before.size)));
        assert_int_equal(history_describe(before, after, &grown->arena, &r), ETHOS_OK);
        assert_int_equal(history_keep_appended(part, &grown->arena, &r), ETHOS_OK);
        assert_int_equal(r.append_blob.data != NULL, i % 3 == 0); // the others fit into a line
        assert_null(r.after_blob.data);
        if (r.append_blob.data)
            keep_part(grown, part);
        if (i == 1 && first_whole)
            r.before_blob = view_from(r.before_hash, 7);
        if (i == GROWS && last_whole)
            r.after_blob = view_from(r.after_hash, 7);
        r.seq = i;
        history_print(&r, &grown->lines);
    }
    if (first_whole)
        keep_part(grown, version_of(grown, 0));
    if (last_whole)
        keep_part(grown, version_of(grown, GROWS));
    history_init(&grown->history, &grown->arena);
    assert_int_equal(history_collect(&grown->history, str_view(&grown->lines), "a.md"), ETHOS_OK);
}

static void free_grown(struct grown *grown)
{
    for (size_t i = 0; i < grown->count; i++)
        str_release(&grown->blobs[i]);
    str_release(&grown->text);
    str_release(&grown->lines);
    arena_release(&grown->arena);
}

/* How many versions after a change can be had; each that can is right. */
static size_t count_grown(struct grown *grown)
{
    size_t found = 0;
    struct str out;

    str_init(&out, CEILING);
    for (size_t i = 1; i <= GROWS; i++) {
        int code = history_rebuild(&grown->history, i - 1, false, give_part, grown, &out);
        assert_true(code == ETHOS_OK || code == ETHOS_NOTFOUND);
        assert_true(code != ETHOS_OK || view_eq(str_view(&out), version_of(grown, i)));
        found += code == ETHOS_OK;
    }
    str_release(&out);
    return found;
}

static void test_a_long_text_that_grows_keeps_what_was_appended(void **state)
{
    struct grown grown;

    (void)state;
    make_grown(&grown, true, false);
    assert_int_equal(count_grown(&grown), GROWS); // from the first, forwards
    grown.lost = 5;
    assert_int_equal(count_grown(&grown), 17); // up to the part that is lost
    free_grown(&grown);
    make_grown(&grown, false, true);
    assert_int_equal(count_grown(&grown), GROWS); // from the last, backwards, without any part
    free_grown(&grown);
    make_grown(&grown, true, true);
    grown.lost = 5;
    assert_int_equal(count_grown(&grown), GROWS); // from both sides
    free_grown(&grown);
}

static void test_what_does_more_than_grow_or_is_short_is_no_appended_part(void **state)
{
    struct str text;

    (void)state;
    str_init(&text, CEILING);
    while (text.size < 4 * HISTORY_LONG_BYTES)
        str_adds(&text, "line\n");
    struct ethos_view all = str_view(&text), half = view_of(all.data, all.size / 10 * 5);
    assert_non_null(history_appended(half, all).data);
    assert_null(history_appended(all, half).data);
    assert_null(history_appended(all, all).data);
    assert_null(history_appended(view_of(all.data, 500), all).data);
    assert_null(history_appended(view_of(all.data, half.size - 1), all).data); // within a line
    assert_null(history_appended(view_from(half, 1), all).data);
    assert_null(history_appended((struct ethos_view){0}, all).data);
    assert_int_equal(history_patches(view_str(NULL), all), HISTORY_PATCHES);
    assert_true(history_patches(all, all) >= 2 * HISTORY_PATCHES);
    str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_long_text_that_grows_keeps_what_was_appended),
        cmocka_unit_test(test_what_does_more_than_grow_or_is_short_is_no_appended_part),
        cmocka_unit_test(test_every_version_is_rebuilt),
        cmocka_unit_test(test_a_rotten_or_missing_blob_is_passed_over),
        cmocka_unit_test(test_a_text_is_rebuilt_backwards_when_nothing_older_is_left),
        cmocka_unit_test(test_other_keys_are_not_on_the_way),
        cmocka_unit_test(test_no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_history_rebuild.c: recorded texts again.
 */
#include "core/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/alloc.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_version_is_rebuilt),
        cmocka_unit_test(test_a_rotten_or_missing_blob_is_passed_over),
        cmocka_unit_test(test_a_text_is_rebuilt_backwards_when_nothing_older_is_left),
        cmocka_unit_test(test_other_keys_are_not_on_the_way),
        cmocka_unit_test(test_no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

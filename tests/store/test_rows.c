/*
 * test_rows.c: a store over a database: what happens when others are faster, answers get lost and rows rot.
 *
 * That it is a store like any other is the business of test_conformance.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/hash.h"
#include "base/system/log.h"
#include "base/view.h"
#include "core/history/history.h"
#include "forgetting.h"
#include "rows_ram.h"
#include "store/rows.h"
#include "store/store.h"

#define SCOPE "personality:tester"
#define KEY "MEMORY.md"

struct scene {
    struct rows_ram *db;
    struct rows_ram_hooks *hooks;
    struct ethos_store *store, *other; /* of two machines */
    struct ethos_text text;
    struct ethos_error error;
};

static struct ethos_store *open_store(struct scene *s, uint32_t deadline_ms)
{
    struct ethos_store *store, *inner = rows_ram_open(s->db);
    assert_non_null(inner);
    assert_int_equal(store_rows_new(&log_default_host, inner, deadline_ms, &store, &s->error),
                     ETHOS_OK);
    return store;
}

static int set_up(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    if (!s || !(s->db = rows_ram_new(&log_default_host)))
        return -1;
    s->hooks = rows_ram_hooks(s->db);
    s->store = open_store(s, 60000);
    s->other = open_store(s, 60000);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;
    alloc_fail_at(0);
    s->store->ops->close(s->store);
    s->other->ops->close(s->other);
    rows_ram_free(s->db);
    free(s->text.data);
    free(s);
    return 0;
}

/* ---- calls, shortened ----------------------------------------------------------------------- */

/* Adds text to what the key has; refuses over another text than `expect`, if there is one. */
struct adding {
    const char *text, *expect;
    int asked;
    char out[4096];
};

static int add(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct adding *adding = arg;
    const char *old = edits->old.data ? edits->old.data : "";
    (void)count;
    adding->asked++;
    if (adding->expect && strcmp(adding->expect, old) != 0) {
        snprintf(error->text, sizeof error->text, "refused over: %s", old);
        return error->code = ETHOS_CONFLICT;
    }
    snprintf(adding->out, sizeof adding->out, "%s%s", old, adding->text);
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(adding->out);
    return ETHOS_OK;
}

static int add_through(struct scene *s, struct ethos_store *store, struct adding *adding,
                       const struct ethos_origin *origin)
{
    struct ethos_edit edit = {.key = KEY};
    int code = store->ops->update(store, SCOPE, &edit, 1, add, adding, origin, &s->error);
    free(edit.old.data);
    return code;
}

static int add_text(struct scene *s, const char *text)
{
    struct adding adding = {.text = text};
    return add_through(s, s->store, &adding, NULL);
}

static int put_bytes(struct scene *s, const char *key, struct ethos_view text)
{
    char revision[ETHOS_REVISION_SIZE];
    return s->store->ops->write(s->store, SCOPE, key, NULL, text, NULL, revision, &s->error);
}

static void put(struct scene *s, const char *key, const char *text)
{
    assert_int_equal(put_bytes(s, key, view_str(text)), ETHOS_OK);
}

static void assert_text(struct scene *s, const char *key, const char *text)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    assert_int_equal(s->store->ops->read(s->store, SCOPE, key, &whole, &s->text, &s->error),
                     ETHOS_OK);
    assert_string_equal(s->text.data, text);
}

static int version_of(struct scene *s, const char *key, struct ethos_view text)
{
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(text, revision);
    return s->store->ops->version(s->store, SCOPE, key, revision, &s->text, &s->error);
}

static void assert_version(struct scene *s, const char *key, struct ethos_view text)
{
    assert_int_equal(version_of(s, key, text), ETHOS_OK);
    assert_int_equal(s->text.size, text.size);
    assert_memory_equal(s->text.data, text.data, text.size);
}

static int count_change(void *arg, const struct ethos_change *change)
{
    (void)change;
    ++*(size_t *)arg;
    return 0;
}

static size_t count_changes(struct scene *s, const char *key)
{
    size_t count = 0;
    assert_int_equal(s->store->ops->history(s->store, SCOPE, key, count_change, &count, &s->error),
                     ETHOS_OK);
    return count;
}

/* ---- others --------------------------------------------------------------------------------- */

static void test_an_update_is_one_fetch_and_one_commit(void **state)
{
    struct scene *s = *state;
    struct adding adding = {.text = "once\n"};
    const struct ethos_origin origin = {.op_id = "op", .op_digest = "d"};
    assert_int_equal(add_through(s, s->store, &adding, &origin), ETHOS_OK);
    assert_int_equal(s->hooks->fetches, 1);
    assert_int_equal(s->hooks->commits, 1);
    assert_int_equal(add_through(s, s->store, &adding, &origin), ETHOS_OK);
    assert_int_equal(s->hooks->fetches, 2);
    assert_int_equal(s->hooks->commits, 1); // a repeat changes nothing
    assert_text(s, KEY, "once\n");
}

static void test_an_update_that_came_too_late_is_made_again(void **state)
{
    struct scene *s = *state;
    struct adding adding = {.text = "one\n"};
    s->hooks->conflicts = 3;
    assert_int_equal(add_through(s, s->store, &adding, NULL), ETHOS_OK);
    assert_int_equal(adding.asked, 4);
    assert_int_equal(s->hooks->fetches, 4);
    assert_text(s, KEY, "one\n");
    assert_int_equal(count_changes(s, KEY), 1);
}

static void write_meanwhile(void *arg)
{
    struct scene *s = arg;
    struct adding adding = {.text = "theirs\n"};
    assert_int_equal(add_through(s, s->other, &adding, NULL), ETHOS_OK);
}

static void test_what_another_wrote_between_is_kept(void **state)
{
    struct scene *s = *state;
    struct adding adding = {.text = "ours\n"};
    put(s, KEY, "first\n");
    s->hooks->between = write_meanwhile;
    s->hooks->arg = s;
    assert_int_equal(add_through(s, s->store, &adding, NULL), ETHOS_OK);
    assert_int_equal(adding.asked, 2);
    assert_text(s, KEY, "first\ntheirs\nours\n");
    assert_version(s, KEY, VIEW("first\ntheirs\n"));
    assert_int_equal(count_changes(s, KEY), 3);
    assert_int_equal(rows_ram_version(s->db, SCOPE), 3);
}

static void test_an_update_that_no_longer_fits_is_refused(void **state)
{
    struct scene *s = *state;
    struct adding adding = {.text = "ours\n", .expect = "first\n"};
    put(s, KEY, "first\n");
    s->hooks->between = write_meanwhile;
    s->hooks->arg = s;
    assert_int_equal(add_through(s, s->store, &adding, NULL), ETHOS_CONFLICT);
    assert_string_equal(s->error.text, "refused over: first\ntheirs\n");
    assert_text(s, KEY, "first\ntheirs\n");
}

static void test_a_scope_that_keeps_moving_is_busy(void **state)
{
    struct scene *s = *state;
    struct ethos_store *hasty = open_store(s, 20);
    struct adding adding = {.text = "never\n"};
    s->hooks->conflicts = 1000000;
    assert_int_equal(add_through(s, hasty, &adding, NULL), ETHOS_BUSY);
    assert_int_equal(s->error.code, ETHOS_BUSY);
    assert_true(adding.asked >= 2);
    assert_int_equal(rows_ram_version(s->db, SCOPE), 0);
    hasty->ops->close(hasty);
}

static void set_aside_meanwhile(void *arg)
{
    struct scene *s = arg;
    assert_int_equal(s->other->ops->set_aside(s->other, SCOPE, KEY, VIEW("copy\n"), NULL),
                     ETHOS_OK);
}

static int count_copy(void *arg, const struct ethos_conflict *conflict)
{
    (void)conflict;
    ++*(size_t *)arg;
    return 0;
}

static void test_a_copy_that_another_kept_between_is_not_kept_twice(void **state)
{
    struct scene *s = *state;
    size_t count = 0;
    s->hooks->between = set_aside_meanwhile;
    s->hooks->arg = s;
    assert_int_equal(s->store->ops->set_aside(s->store, SCOPE, KEY, VIEW("copy\n"), &s->error),
                     ETHOS_OK);
    assert_int_equal(s->store->ops->conflicts(s->store, SCOPE, count_copy, &count, &s->error),
                     ETHOS_OK);
    assert_int_equal(count, 1);
}

static void write_secret(void *arg)
{
    struct scene *s = arg;
    struct adding adding = {.text = "SECRET again\n"};
    assert_int_equal(add_through(s, s->other, &adding, NULL), ETHOS_OK);
}

static void test_a_purge_reaches_what_was_written_meanwhile(void **state)
{
    struct scene *s = *state;
    struct ethos_purge purge;
    put(s, KEY, "keep\nSECRET\n");
    s->hooks->between = write_secret;
    s->hooks->arg = s;
    assert_int_equal(s->store->ops->purge(s->store, SCOPE,
                                          &(struct ethos_match){.text = VIEW("SECRET"),
                                                                .flags = ETHOS_MATCH_SUBSTRING},
                                          0, NULL, &purge, &s->error),
                     ETHOS_OK);
    assert_int_equal(purge.lines, 2);
    assert_false(rows_ram_holds(s->db, VIEW("SECRET")));
    assert_text(s, KEY, "keep\n");
}

/* ---- batches -------------------------------------------------------------------------------- */

#define CALLS 4

struct batch {
    struct adding addings[CALLS];
    struct ethos_edit edits[CALLS];
    struct ethos_edit_call calls[CALLS];
    struct ethos_error errors[CALLS];
};

static void hand_over(struct scene *s, struct batch *batch)
{
    for (size_t i = 0; i < CALLS; i++) {
        batch->edits[i] = (struct ethos_edit){.key = KEY};
        batch->calls[i] = (struct ethos_edit_call){
            &batch->edits[i], 1, add, &batch->addings[i], NULL, &batch->errors[i], ETHOS_INTERNAL};
    }
    s->store->ops->batch(s->store, SCOPE, batch->calls, CALLS);
    for (size_t i = 0; i < CALLS; i++)
        free(batch->edits[i].old.data);
}

static void test_a_batch_is_one_fetch_and_one_commit(void **state)
{
    struct scene *s = *state;
    struct batch batch = {
        .addings = {{.text = "1"}, {.text = "2", .expect = "x"}, {.text = "3"}, {.text = "4"}}};
    hand_over(s, &batch);
    assert_int_equal(s->hooks->fetches, 1);
    assert_int_equal(s->hooks->commits, 1);
    assert_int_equal(batch.calls[1].code, ETHOS_CONFLICT);
    assert_string_equal(batch.errors[1].text, "refused over: 1");
    assert_int_equal(batch.calls[3].code, ETHOS_OK);
    assert_text(s, KEY, "134");
    assert_int_equal(rows_ram_version(s->db, SCOPE), 3);
}

static void test_a_commit_that_fails_fails_those_who_changed_and_all_after(void **state)
{
    struct scene *s = *state;
    struct batch batch = {.addings = {{.text = "1", .expect = "x"},
                                      {.text = "2"},
                                      {.text = "3", .expect = "x"},
                                      {.text = "4"}}};
    s->hooks->fails = ETHOS_IO;
    hand_over(s, &batch);
    assert_int_equal(batch.calls[0].code, ETHOS_CONFLICT); // refused by what is there
    for (size_t i = 1; i < CALLS; i++) {
        assert_int_equal(batch.calls[i].code, ETHOS_IO);
        assert_string_equal(batch.errors[i].text, SCOPE ": made to fail");
    }
    assert_int_equal(rows_ram_version(s->db, SCOPE), 0);
}

static void test_a_lost_answer_is_found_by_the_operation_id(void **state)
{
    struct scene *s = *state;
    struct adding adding = {.text = "once\n"};
    const struct ethos_origin origin = {.op_id = "op", .op_digest = "d"};
    s->hooks->loses = ETHOS_IO;
    assert_int_equal(add_through(s, s->store, &adding, &origin), ETHOS_IO);
    assert_int_equal(add_through(s, s->store, &adding, &origin), ETHOS_OK);
    assert_int_equal(adding.asked, 1);
    assert_text(s, KEY, "once\n");
}

static int64_t now_then(void *arg)
{
    return *(int64_t *)arg;
}

/* Operations of a store whose clock can be moved; ids go down, so that the list of them is short to search. */
static void do_operations(struct scene *s, struct ethos_store *store, unsigned count)
{
    static unsigned next = 999999;
    for (unsigned i = 0; i < count; i++) {
        char id[16], revision[ETHOS_REVISION_SIZE];
        const struct ethos_origin origin = {.op_id = id, .op_digest = "d"};
        snprintf(id, sizeof id, "op%06u", next--);
        assert_int_equal(store->ops->write(store, SCOPE, KEY, NULL, i % 2 ? VIEW("a") : VIEW("b"),
                                           &origin, revision, &s->error),
                         ETHOS_OK);
    }
}

static void test_operations_are_forgotten_after_a_month_and_ten_thousand_others(void **state)
{
    struct scene *s = *state;
    int64_t now_ms = 1000;
    struct ethos_host host = log_default_host;
    host.now_ms = now_then;
    host.arg = &now_ms;
    struct ethos_store *store, *inner = rows_ram_open(s->db);
    assert_int_equal(store_rows_new(&host, inner, 1000, &store, &s->error), ETHOS_OK);
    do_operations(s, store, 300); // when the clock stood at its beginning
    now_ms = INT64_C(1700000000000);
    do_operations(s, store, 600);
    assert_int_equal(rows_ram_operations(s->db, SCOPE), 900); // old, but few came after
    do_operations(s, store, ETHOS_OPID_COUNT);
    assert_int_equal(rows_ram_operations(s->db, SCOPE), ETHOS_OPID_COUNT + 600);
    now_ms += (ETHOS_OPID_DAYS - 1) * INT64_C(86400000);
    do_operations(s, store, 600); // many, but none is old
    assert_int_equal(rows_ram_operations(s->db, SCOPE), ETHOS_OPID_COUNT + 1200);
    now_ms += 2 * INT64_C(86400000);
    do_operations(s, store, 600);
    assert_in_range(rows_ram_operations(s->db, SCOPE), ETHOS_OPID_COUNT, ETHOS_OPID_COUNT + 300);
    store->ops->close(store);
}

/* Commits of any size pass every number that is due. */
static void test_operations_are_forgotten_whatever_the_commits_are_like(void **state)
{
    struct scene *s = *state;
    uint64_t due = 0;
    for (unsigned i = 0; i < 700; i++) {
        struct batch batch = {
            .addings = {{.text = "1"}, {.text = "2"}, {.text = "3"}, {.text = "4"}}};
        bool alone = i % 3 == 0;
        struct adding adding = {.text = "0"};
        uint64_t before = rows_ram_version(s->db, SCOPE);
        s->hooks->forgets = 0;
        if (alone)
            assert_int_equal(add_through(s, s->store, &adding, NULL), ETHOS_OK);
        else
            hand_over(s, &batch);
        due += rows_ram_version(s->db, SCOPE) / 256 - before / 256;
        assert_int_equal(s->hooks->forgets, rows_ram_version(s->db, SCOPE) / 256 - before / 256);
    }
    assert_true(due > 5);
}

static void test_the_database_of_the_tests_forgets_as_it_should(void **state)
{
    struct scene *s = *state;
    struct ethos_store *inner = rows_ram_open(s->db);
    check_forgetting(inner);
    check_done_again(inner);
    inner->ops->close(inner);
}

/* ---- versions ------------------------------------------------------------------------------- */

/* A text that grows, shrinks and turns into other bytes; always the same for the same seed. */
struct walk {
    char bytes[4096];
    size_t size;
    unsigned seed;
};

static unsigned roll(struct walk *walk, unsigned sides)
{
    walk->seed = walk->seed * 1103515245u + 12345u;
    return (walk->seed >> 16) % sides;
}

static void add_line(struct walk *walk)
{
    size_t size = roll(walk, 40);
    if (walk->size + size + 1 > sizeof walk->bytes)
        walk->size = roll(walk, 200);
    for (size_t i = 0; i < size; i++)
        walk->bytes[walk->size++] = (char)(roll(walk, 3) ? 'a' + (char)roll(walk, 26)
                                                         : (char)roll(walk, 256));
    walk->bytes[walk->size++] = '\n';
}

static void take_a_step(struct walk *walk)
{
    switch (roll(walk, 6)) {
    case 0:
        walk->size = roll(walk, (unsigned)walk->size + 1);
        break;
    case 1:
        if (walk->size > 0)
            walk->bytes[roll(walk, (unsigned)walk->size)] ^= (char)(1 + roll(walk, 255));
        break;
    default:
        add_line(walk);
    }
}

enum { EDITS = 500 };

static void test_every_version_of_many_random_edits_is_rebuilt(void **state)
{
    struct scene *s = *state;
    struct walk walk = {.seed = 1};
    struct {
        char bytes[4096];
        size_t size;
    } *texts = calloc(EDITS, sizeof *texts);
    assert_non_null(texts);
    for (size_t i = 0; i < EDITS; i++) {
        take_a_step(&walk);
        memcpy(texts[i].bytes, walk.bytes, walk.size);
        texts[i].size = walk.size;
        if (i % 50 == 49)
            s->store->ops->remove(s->store, SCOPE, KEY, NULL, NULL, NULL);
        assert_int_equal(put_bytes(s, KEY, view_of(walk.bytes, walk.size)), ETHOS_OK);
        if (i % 3 == 0)
            put(s, "other.md", i % 2 ? "x\n" : "y\n");
    }
    for (size_t i = 0; i < EDITS; i++)
        assert_version(s, KEY, view_of(texts[i].bytes, texts[i].size));
    free(texts);
}

/* However keys take turns, each has a whole text now and then, and most rows have none. */
static void test_every_key_keeps_some_texts_whole_and_not_all(void **state)
{
    struct scene *s = *state;
    static const char *const keys[] = {"a.md", "b.md", "c.md"};
    size_t whole[3] = {0};
    char text[8192] = "a line that the text begins with, so that a diff is shorter than it\n";
    for (size_t i = strlen(text); i < 2000; i += 40)
        snprintf(text + i, 41, "%-39zu\n", i);
    for (int i = 0; i < 900; i++) {
        snprintf(text, sizeof text, "%-67d", i);
        text[67] = '\n';
        assert_int_equal(put_bytes(s, keys[i % 3], view_of(text, 2000)), ETHOS_OK);
        whole[i % 3] += rows_ram_row(s->db, SCOPE, rows_ram_version(s->db, SCOPE))->whole.data ? 1
                                                                                               : 0;
    }
    for (int i = 0; i < 3; i++) {
        assert_true(whole[i] >= 3);
        assert_true(whole[i] <= 20);
    }
}

static void test_a_long_diff_is_cut_where_the_text_is_whole(void **state)
{
    struct scene *s = *state;
    enum { SIZE = 3 * HISTORY_DIFF_BYTES };
    char *text = malloc(2 * SIZE);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < SIZE; i += 2)
            memcpy(text + round * SIZE + i, round ? "y\n" : "x\n", 2);
        assert_int_equal(put_bytes(s, KEY, view_of(text + round * SIZE, SIZE)), ETHOS_OK);
    }
    const struct ethos_row *row = rows_ram_row(s->db, SCOPE, 2);
    assert_non_null(row->whole.data);
    assert_int_equal(row->change.diff_whole, 0);
    assert_true(row->change.diff.size <= HISTORY_DIFF_BYTES);
    assert_version(s, KEY, view_of(text, SIZE));
    assert_version(s, KEY, view_of(text + SIZE, SIZE));
    free(text);
}

static void test_a_long_diff_is_kept_where_the_text_is_not(void **state)
{
    struct scene *s = *state;
    enum { LINES = 2000, LINE = 20 };
    static char text[LINES * LINE + 1];
    size_t kept = 0;
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < LINES; i++) // one line in forty is another each time
            snprintf(text + i * LINE, LINE + 1, "%-19zu\n", i % 40 ? i : i + (size_t)round);
        assert_int_equal(put_bytes(s, KEY, view_of(text, LINES * LINE)), ETHOS_OK);
        const struct ethos_row *row = rows_ram_row(s->db, SCOPE, (uint64_t)round + 1);
        if (row->whole.data)
            continue;
        assert_true(row->change.diff.size > HISTORY_DIFF_BYTES);
        assert_int_equal(row->change.diff_whole, 1);
        kept++;
    }
    assert_true(kept >= 4);
    assert_version(s, KEY, view_of(text, LINES * LINE));
}

static void spoil(struct scene *s, uint64_t number)
{
    struct ethos_row *row = rows_ram_row(s->db, SCOPE, number);
    row->whole = (struct ethos_view){0};
    row->change.diff = VIEW("@@ -1,1 +1,1 @@\n-never\n+was\n");
}

static void test_a_row_that_does_not_lead_there_is_corrupt(void **state)
{
    struct scene *s = *state;
    put(s, KEY, "one\n");
    put(s, KEY, "one\ntwo\n");
    put(s, KEY, "one\ntwo\nthree\n");
    spoil(s, 2);
    rows_ram_row(s->db, SCOPE, 3)->whole = (struct ethos_view){0};
    assert_version(s, KEY, VIEW("one\n"));
    assert_int_equal(version_of(s, KEY, VIEW("one\ntwo\n")), ETHOS_CORRUPT);
    assert_int_equal(version_of(s, KEY, VIEW("one\ntwo\nthree\n")), ETHOS_CORRUPT);
    assert_string_not_equal(s->error.hint, "");
    rows_ram_row(s->db, SCOPE, 1)->whole = VIEW("other");
    assert_int_equal(version_of(s, KEY, VIEW("one\n")), ETHOS_CORRUPT);
    assert_int_equal(version_of(s, KEY, VIEW("never\n")), ETHOS_NOTFOUND);
}

static void test_a_row_whose_text_before_is_missing_is_corrupt(void **state)
{
    struct scene *s = *state;
    put(s, KEY, "one\n");
    put(s, KEY, "one\ntwo\n");
    struct ethos_row *row = rows_ram_row(s->db, SCOPE, 2);
    row->whole = (struct ethos_view){0};
    rows_ram_row(s->db, SCOPE, 1)->change.key = "another.md";
    assert_int_equal(version_of(s, KEY, VIEW("one\ntwo\n")), ETHOS_CORRUPT);
}

/* ---- history -------------------------------------------------------------------------------- */

struct reading {
    struct scene *scene;
    uint64_t last;
    size_t count;
};

/* Whoever is told of a change may ask the store for its text, or even write. */
static int read_version(void *arg, const struct ethos_change *change)
{
    struct reading *reading = arg;
    struct scene *s = reading->scene;
    assert_true(reading->last == 0 || change->number < reading->last);
    reading->last = change->number;
    assert_int_equal(
        s->store->ops->version(s->store, SCOPE, change->key, change->after, &s->text, &s->error),
        ETHOS_OK);
    if (reading->count++ % 100 == 0)
        put(s, "other.md", reading->count % 200 < 100 ? "a\n" : "b\n");
    return 0;
}

static void test_a_long_history_is_told_page_by_page(void **state)
{
    struct scene *s = *state;
    struct reading reading = {.scene = s};
    char text[32];
    for (int i = 0; i < 400; i++) {
        snprintf(text, sizeof text, "text %d\n", i);
        put(s, KEY, text);
    }
    assert_int_equal(
        s->store->ops->history(s->store, SCOPE, KEY, read_version, &reading, &s->error), ETHOS_OK);
    assert_int_equal(reading.count, 400);
}

/* ---- purging -------------------------------------------------------------------------------- */

/* Long enough for most rows to have a diff and no more. */
static void put_secret(struct scene *s, const char *key, int number)
{
    char text[1024];
    int size = 0;
    for (int i = 0; i < 40; i++)
        size += snprintf(text + size, sizeof text - (size_t)size, "a line of many %d\n", i);
    snprintf(text + size, sizeof text - (size_t)size, "line %d\n%s\nlast %d\n", number,
             number % 3 ? "nothing" : "the SECRET", number % 7);
    put(s, key, text);
}

static void fill_with_secrets(struct scene *s)
{
    for (int i = 0; i < 200; i++)
        put_secret(s, i % 2 ? "a.md" : "b.md", i);
    put(s, "gone.md", "SECRET of before\n");
    assert_int_equal(s->store->ops->remove(s->store, SCOPE, "gone.md", NULL, NULL, &s->error),
                     ETHOS_OK);
    put(s, "memory-archive.md", "old\nSECRET\n");
    assert_int_equal(s->store->ops->keep(s->store, SCOPE, "a.md", VIEW("seen SECRET\n"), NULL),
                     ETHOS_OK);
    put_secret(s, "a.md", 300);
    put_secret(s, "a.md", 301);
    assert_int_equal(
        s->store->ops->set_aside(s->store, SCOPE, "a.md", VIEW("aside\nSECRET\n"), NULL), ETHOS_OK);
}

static int version_is_there(void *arg, const struct ethos_change *change)
{
    struct scene *s = arg;
    if (strcmp(change->after, "absent") == 0)
        return 0;
    return s->store->ops->version(s->store, SCOPE, change->key, change->after, &s->text, &s->error);
}

static int do_purge(struct scene *s, int dry_run, struct ethos_purge *out)
{
    return s->store->ops->purge(
        s->store, SCOPE,
        &(struct ethos_match){.text = VIEW("SECRET"), .flags = ETHOS_MATCH_SUBSTRING}, dry_run,
        NULL, out, &s->error);
}

static void test_a_purge_leaves_no_byte_in_the_database(void **state)
{
    struct scene *s = *state;
    struct ethos_purge dry = {0}, purge = {0};
    fill_with_secrets(s);
    size_t changes = count_changes(s, NULL);
    uint64_t version = rows_ram_version(s->db, SCOPE);
    assert_int_equal(do_purge(s, 1, &dry), ETHOS_OK);
    assert_int_equal(rows_ram_version(s->db, SCOPE), version);
    assert_true(rows_ram_holds(s->db, VIEW("SECRET")));
    assert_int_equal(do_purge(s, 0, &purge), ETHOS_OK);
    assert_memory_equal(&dry, &purge, sizeof dry);
    assert_int_equal(purge.conflicts, 1);
    assert_false(rows_ram_holds(s->db, VIEW("SECRET")));
    assert_int_equal(count_changes(s, NULL), changes + 2); // of the texts that lost lines
    assert_int_equal(s->store->ops->history(s->store, SCOPE, NULL, version_is_there, s, &s->error),
                     ETHOS_OK);
    assert_text(s, "memory-archive.md", "old\n");
    assert_int_equal(do_purge(s, 0, &purge), ETHOS_OK);
    assert_int_equal(purge.lines + purge.versions + purge.blobs + purge.conflicts, 0);
}

static void test_a_purge_reaches_rows_that_lead_nowhere(void **state)
{
    struct scene *s = *state;
    struct ethos_purge purge;
    put(s, KEY, "one\n");
    put(s, KEY, "one\nthe SECRET\n");
    put(s, KEY, "one\nthe SECRET\nmore\n");
    put(s, KEY, "done\n");
    struct ethos_row *row = rows_ram_row(s->db, SCOPE, 2);
    row->whole = (struct ethos_view){0};
    row->change.diff = VIEW("@@ -1,1 +1,1 @@\n-never\n+the SECRET\n");
    assert_int_equal(do_purge(s, 0, &purge), ETHOS_OK);
    assert_int_equal(purge.versions, 3);
    assert_false(rows_ram_holds(s->db, VIEW("SECRET")));
    assert_version(s, KEY, VIEW("done\n"));
}

static void purge_meanwhile(void *arg)
{
    struct scene *s = arg;
    struct ethos_purge purge;
    assert_int_equal(s->other->ops->purge(s->other, SCOPE,
                                          &(struct ethos_match){.text = VIEW("SECRET"),
                                                                .flags = ETHOS_MATCH_SUBSTRING},
                                          0, NULL, &purge, NULL),
                     ETHOS_OK);
    assert_true(purge.versions > 0);
}

/* Half of the way to it is read before the purge, half after. */
static void test_a_version_is_found_while_a_purge_goes_on(void **state)
{
    struct scene *s = *state;
    char revision[ETHOS_REVISION_SIZE];
    uint64_t last = 30;
    for (int i = 1; i <= 30; i++)
        put_secret(s, KEY, i);
    // A change from a text with the needle to one without, that keeps no whole text.
    while (rows_ram_row(s->db, SCOPE, last)->whole.data || last % 3 != 1)
        last--;
    snprintf(revision, sizeof revision, "%s", rows_ram_row(s->db, SCOPE, last)->change.after);
    for (int i = 31; rows_ram_version(s->db, SCOPE) < last + ROWS_FIRST - 1; i++)
        put_secret(s, KEY, i);
    s->hooks->after_page = purge_meanwhile;
    s->hooks->arg = s;
    assert_int_equal(s->store->ops->version(s->store, SCOPE, KEY, revision, &s->text, &s->error),
                     ETHOS_OK);
    assert_false(rows_ram_holds(s->db, VIEW("SECRET")));
    assert_string_equal(s->text.revision, revision);
}

static void test_a_needle_is_part_of_one_line(void **state)
{
    struct scene *s = *state;
    struct ethos_purge purge;
    assert_int_equal(s->store->ops->purge(s->store, SCOPE,
                                          &(struct ethos_match){.text = VIEW("a\nb"),
                                                                .flags = ETHOS_MATCH_SUBSTRING},
                                          0, NULL, &purge, &s->error),
                     ETHOS_INVALID);
    assert_int_equal(s->store->ops->purge(
                         s->store, SCOPE,
                         &(struct ethos_match){.text = VIEW(" "), .flags = ETHOS_MATCH_SUBSTRING},
                         0, NULL, &purge, &s->error),
                     ETHOS_INVALID);
    assert_int_equal(s->hooks->fetches, 0);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void test_without_memory_nothing_is_half_done(void **state)
{
    struct scene *s = *state;
    struct ethos_purge purge;
    int code = ETHOS_OK;
    put(s, KEY, "one\n");
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = add_text(s, "SECRET\n");
        alloc_fail_at(0);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_text(s, KEY, code == ETHOS_OK ? "one\nSECRET\n" : "one\n");
    }
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        size_t count = 0;
        code = s->store->ops->history(s->store, SCOPE, NULL, count_change, &count, &s->error);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && s->error.code == code));
    }
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = version_of(s, KEY, VIEW("one\nSECRET\n"));
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && s->error.code == code));
    }
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = s->store->ops->set_aside(s->store, SCOPE, KEY, VIEW("SECRET"), &s->error);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && s->error.code == code));
    }
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = s->store->ops->keep(s->store, SCOPE, KEY, VIEW("seen SECRET"), &s->error);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && s->error.code == code));
    }
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = do_purge(s, 0, &purge);
        alloc_fail_at(0);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && s->error.code == code));
        assert_int_equal(rows_ram_holds(s->db, VIEW("SECRET")), code != ETHOS_OK);
    }
    assert_text(s, KEY, "one\n");
}

struct first_copy {
    char id[512];
};

static int note_id(void *arg, const struct ethos_conflict *conflict)
{
    struct first_copy *first = arg;
    snprintf(first->id, sizeof first->id, "%s", conflict->id);
    return 0;
}

static void test_without_memory_a_copy_is_dropped_or_not(void **state)
{
    struct scene *s = *state;
    struct first_copy first = {""};
    int code = ETHOS_OK;
    assert_int_equal(
        s->store->ops->set_aside(s->store, SCOPE, "dir/a.md", VIEW("copy\n"), &s->error), ETHOS_OK);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = s->store->ops->conflicts(s->store, SCOPE, note_id, &first, &s->error);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && s->error.code == code));
    }
    assert_null(strchr(first.id, '/'));
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = s->store->ops->conflict_read(s->store, SCOPE, first.id, &s->text, &s->error);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && s->error.code == code));
    }
    assert_string_equal(s->text.data, "copy\n");
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = s->store->ops->conflict_drop(s->store, SCOPE, first.id, &s->error);
        alloc_fail_at(0);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && s->error.code == code));
        assert_int_equal(version_of(s, "dir/a.md", VIEW("copy\n")),
                         code == ETHOS_OK ? ETHOS_OK : ETHOS_NOTFOUND);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_update_is_one_fetch_and_one_commit),
        TEST(test_an_update_that_came_too_late_is_made_again),
        TEST(test_what_another_wrote_between_is_kept),
        TEST(test_an_update_that_no_longer_fits_is_refused),
        TEST(test_a_scope_that_keeps_moving_is_busy),
        TEST(test_a_copy_that_another_kept_between_is_not_kept_twice),
        TEST(test_a_purge_reaches_what_was_written_meanwhile),
        TEST(test_a_batch_is_one_fetch_and_one_commit),
        TEST(test_a_commit_that_fails_fails_those_who_changed_and_all_after),
        TEST(test_a_lost_answer_is_found_by_the_operation_id),
        TEST(test_operations_are_forgotten_after_a_month_and_ten_thousand_others),
        TEST(test_operations_are_forgotten_whatever_the_commits_are_like),
        TEST(test_the_database_of_the_tests_forgets_as_it_should),
        TEST(test_every_version_of_many_random_edits_is_rebuilt),
        TEST(test_every_key_keeps_some_texts_whole_and_not_all),
        TEST(test_a_long_diff_is_cut_where_the_text_is_whole),
        TEST(test_a_long_diff_is_kept_where_the_text_is_not),
        TEST(test_a_row_that_does_not_lead_there_is_corrupt),
        TEST(test_a_row_whose_text_before_is_missing_is_corrupt),
        TEST(test_a_long_history_is_told_page_by_page),
        TEST(test_a_purge_leaves_no_byte_in_the_database),
        TEST(test_a_purge_reaches_rows_that_lead_nowhere),
        TEST(test_a_version_is_found_while_a_purge_goes_on),
        TEST(test_a_needle_is_part_of_one_line),
        TEST(test_without_memory_nothing_is_half_done),
        TEST(test_without_memory_a_copy_is_dropped_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

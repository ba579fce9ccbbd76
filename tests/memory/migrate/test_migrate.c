/*
 * test_migrate.c: moving memory from one store into another: everything arrives, once, as it was; whatever
 * interrupts it, it goes on; what was there before is never overwritten.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../store/rows_ram.h"
#include "../../support/alloc.h"
#include "../../support/temp.h"
#include "base/hash.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/migrate/migrate.h"
#include "session/session.h"
#include "store/store.h"

#define SCOPE "personality:p"
#define TREE "memories:personality:p"

enum kind { RAM, ROWS, FILES, KINDS };

/* Calls are much the same as their neighbours: each of them only with CHECK_LONG in the environment. */
static unsigned long stride(unsigned long usual)
{
    return getenv("CHECK_LONG") ? 1 : usual;
}

/* ---- stores ---------------------------------------------------------------------------------- */

struct side {
    enum kind kind;
    struct ethos_store *store;
    struct rows_ram *db;
    struct temp temp;
    char root[128];
};

static struct side sides[4];
static size_t side_count;

static void reopen(struct side *side)
{
    struct ethos_error error = {0};
    struct ethos_setup setup = {.host = &log_default_host,
                                .flags = ETHOS_SETUP_FAST | ETHOS_SETUP_WALKS,
                                .deadline_ms = 1000};
    if (side->store && side->kind != RAM)
        side->store->ops->close(side->store);
    else if (side->store)
        return;
    setup.root = side->root;
    if (side->kind == RAM) {
        assert_int_equal(store_ram.open(&setup, &side->store, &error), ETHOS_OK);
    } else if (side->kind == FILES) {
        assert_int_equal(store_files.open(&setup, &side->store, &error), ETHOS_OK);
    } else {
        assert_int_equal(
            store_rows_new(setup.host, rows_ram_open(side->db), 1000, &side->store, &error),
            ETHOS_OK);
    }
}

static struct side *side_new(enum kind kind)
{
    struct side *side = &sides[side_count++];
    *side = (struct side){.kind = kind};
    temp_make(&side->temp);
    memcpy(side->root, side->temp.path, sizeof side->temp.path);
    strncat(side->root, "/home", sizeof side->root - strlen(side->root) - 1);
    if (kind == ROWS)
        side->db = rows_ram_new(&log_default_host);
    reopen(side);
    return side;
}

/* The one that was made last. */
static void side_free(void)
{
    struct side *side = &sides[--side_count];
    side->store->ops->close(side->store);
    if (side->db)
        rows_ram_free(side->db);
    temp_remove(&side->temp);
    *side = (struct side){0};
}

static int reset(void **state)
{
    (void)state;
    while (side_count > 0)
        side_free();
    return 0;
}

static void put_as(struct side *side, const char *scope, const char *key, struct ethos_view text,
                   const struct ethos_origin *origin)
{
    struct ethos_error error = {0};
    char revision[ETHOS_REVISION_SIZE];
    int code = side->store->ops->write(side->store, scope, key, NULL, text, origin, revision,
                                       &error);
    if (code != ETHOS_OK)
        fail_msg("%s: %s", key, error.text);
}

static void put(struct side *side, const char *key, const char *text)
{
    const struct ethos_origin origin = {.actor = "owner", .via = "cli", .session = "s1"};
    put_as(side, SCOPE, key, view_str(text), &origin);
}

static void drop(struct side *side, const char *key)
{
    struct ethos_error error = {0};
    assert_int_equal(side->store->ops->remove(side->store, SCOPE, key, NULL, NULL, &error),
                     ETHOS_OK);
}

static void expect_text(struct side *side, const char *scope, const char *key, const char *text)
{
    static const struct ethos_read_how whole = {0};
    struct ethos_text found = {0};
    struct ethos_error error = {0};
    int code = side->store->ops->read(side->store, scope, key, &whole, &found, &error);
    if (!text) {
        assert_int_equal(code, ETHOS_NOTFOUND);
        return;
    }
    assert_int_equal(code, ETHOS_OK);
    assert_int_equal(found.size, strlen(text));
    assert_memory_equal(found.data, text, found.size);
    log_default_host.resize(NULL, found.data, 0);
}

/* Behind the back of a files store. */
static void shell(const struct side *side, const char *format)
{
    char command[2048];
    snprintf(command, sizeof command, "cd %s && %s", side->root, format);
    assert_int_equal(system(command), 0);
}

/* ---- moving ---------------------------------------------------------------------------------- */

struct seen {
    size_t scopes;
    struct migrate_scope last;
    struct migrate_count total;
};

static void note_scope(void *arg, const struct migrate_scope *scope)
{
    struct seen *seen = arg;
    seen->scopes++;
    seen->last = *scope;
    seen->last.scope = NULL;
    seen->total.changes += scope->count.changes;
    seen->total.moved += scope->count.moved;
    seen->total.renumbered += scope->count.renumbered;
    seen->total.added += scope->count.added;
    seen->total.lost += scope->count.lost;
    seen->total.copies += scope->count.copies;
    seen->total.texts += scope->count.texts;
}

static int try_move(struct ethos_store *from, struct ethos_store *to, struct seen *seen,
                    struct ethos_error *error)
{
    const struct migrate move = {
        .host = &log_default_host, .from = from, .to = to, .each = note_scope, .arg = seen};
    *seen = (struct seen){0};
    return migrate_stores(&move, error);
}

static struct seen move(struct side *from, struct side *to)
{
    struct ethos_error error = {0};
    struct seen seen;
    int code = try_move(from->store, to->store, &seen, &error);
    if (code != ETHOS_OK)
        fail_msg("%d: %s", code, error.text);
    return seen;
}

static void digest(struct side *side, const char *scope, char out[HASH_HEX_SIZE])
{
    const struct migrate how = {.host = &log_default_host};
    struct ethos_error error = {0};
    int code = migrate_digest(&how, side->store, scope, out, &error);
    if (code != ETHOS_OK)
        fail_msg("digest: %s", error.text);
}

static void expect_same(struct side *a, struct side *b, const char *scope)
{
    char hash[2][HASH_HEX_SIZE];
    digest(a, scope, hash[0]);
    digest(b, scope, hash[1]);
    assert_string_equal(hash[0], hash[1]);
}

/* ---- what is moved --------------------------------------------------------------------------- */

/* A long text that one diff cannot hold in a line of the files store. */
static void put_long(struct side *side, const char *key, unsigned seed)
{
    char *text = malloc(40000), *at = text;
    for (unsigned i = 0; i < 900; i++)
        at += snprintf(at, 40, "line %u of %u: %u\n", i, seed, i * seed);
    const struct ethos_origin origin = {.actor = "agent", .via = "mcp", .user = "u"};
    put_as(side, SCOPE, key, view_of(text, (size_t)(at - text)), &origin);
    free(text);
}

static void fill_some(struct side *side)
{
    char text[64];
    put(side, "MEMORY.md", "one\n");
    put(side, "MEMORY.md", "one\ntwo\n");
    for (int i = 0; i < 80; i++) {
        snprintf(text, sizeof text, "one\ntwo\nentry %d\n", i);
        put(side, "MEMORY.md", text);
    }
    put_long(side, "long.md", 7);
    put_long(side, "long.md", 13);
    put_as(side, SCOPE, "binary.md", view_of("a\0b\xff\n", 5), NULL);
    put_as(side, SCOPE, "binary.md", view_of("a\0b\xfe\nmore", 9), NULL);
    put_as(side, SCOPE, "empty.md", VIEW(""), NULL);
    put(side, "memory-archive.md", "old things\n");
    put(side, "gone.md", "short life\n");
    drop(side, "gone.md");
    put_as(side, "user:u", "USER.md", VIEW("likes tea\n"),
           &(struct ethos_origin){.actor = "owner", .undoes = "1"});
    put_as(side, TREE, "a/b/c.txt", VIEW("in a tree\n"), NULL);
    put_as(side, TREE, "top.txt", VIEW("on top\n"), NULL);
}

static void expect_some(struct side *side)
{
    expect_text(side, SCOPE, "MEMORY.md", "one\ntwo\nentry 79\n");
    expect_text(side, SCOPE, "gone.md", NULL);
    expect_text(side, SCOPE, "empty.md", "");
    expect_text(side, SCOPE, "memory-archive.md", "old things\n");
    expect_text(side, "user:u", "USER.md", "likes tea\n");
    expect_text(side, TREE, "a/b/c.txt", "in a tree\n");
}

static void expect_equal(struct side *a, struct side *b)
{
    expect_same(a, b, SCOPE);
    expect_same(a, b, "user:u");
    expect_same(a, b, TREE);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_every_pair_of_stores_gives_equal_digests(void **state)
{
    (void)state;
    for (int from = 0; from < KINDS; from++) {
        struct side *a = side_new((enum kind)from);
        fill_some(a);
        for (int to = 0; to < KINDS; to++) {
            struct side *b = side_new((enum kind)to);
            struct seen seen = move(a, b);
            assert_int_equal(seen.scopes, 3);
            assert_int_equal(seen.total.lost, 0);
            assert_int_equal(seen.total.moved, seen.total.changes);
            expect_some(b);
            expect_equal(a, b);
            reopen(b);
            seen = move(a, b);
            assert_int_equal(seen.total.moved, 0);
            expect_equal(a, b);
            side_free();
        }
        side_free();
    }
}

static void test_a_round_trip_comes_home_as_it_left(void **state)
{
    (void)state;
    struct side *a = side_new(FILES), *b = side_new(ROWS), *c = side_new(FILES);
    fill_some(a);
    move(a, b);
    move(b, c);
    reopen(c);
    expect_equal(a, c);
    expect_some(c);
}

static void test_the_target_goes_on_after_the_move(void **state)
{
    (void)state;
    struct side *a = side_new(FILES);
    fill_some(a);
    for (int to = 0; to < KINDS; to++) {
        struct side *b = side_new((enum kind)to), *c = side_new(RAM);
        move(a, b);
        put(b, "MEMORY.md", "one\ntwo\nnew\n");
        put(b, "fresh.md", "fresh\n");
        reopen(b);
        struct seen seen = move(b, c);
        assert_int_equal(seen.total.lost, 0);
        expect_same(b, c, SCOPE);
        side_free();
        side_free();
    }
}

static void test_what_came_meanwhile_goes_over_with_the_next_run(void **state)
{
    (void)state;
    struct side *a = side_new(FILES), *b = side_new(ROWS);
    fill_some(a);
    move(a, b);
    put(a, "MEMORY.md", "three\n");
    struct seen seen = move(a, b);
    assert_int_equal(seen.total.moved, 1);
    expect_equal(a, b);
}

static void test_a_scope_of_an_unknown_name_stays_and_all_others_go(void **state)
{
    (void)state;
    for (int to = 0; to < KINDS; to++) {
        struct side *a = side_new(ROWS), *b = side_new((enum kind)to);
        struct ethos_error error = {0};
        struct seen seen;
        put_as(a, "future:x", "MEMORY.md", VIEW("of a later version\n"), NULL);
        fill_some(a);
        assert_int_equal(try_move(a->store, b->store, &seen, &error), ETHOS_INTERNAL);
        assert_string_equal(error.text, "1 scope that this version does not know, future:x first");
        assert_int_equal(seen.scopes, 3);
        expect_equal(a, b);
        side_free();
        side_free();
    }
}

/* A second move of the same, from its first step to its last, between two steps of the first one. */
struct beside {
    struct side *from, *to;
    bool done;
};

static void move_beside(void *arg, size_t index, size_t count, uint64_t done, uint64_t total)
{
    struct beside *beside = arg;
    (void)index, (void)count, (void)done, (void)total;
    if (!beside->done) {
        beside->done = true;
        move(beside->from, beside->to);
    }
}

static void test_two_moves_of_the_same_at_once_both_end_well(void **state)
{
    (void)state;
    char text[32];
    for (int to = 0; to < KINDS; to++) {
        struct side *a = side_new(ROWS), *b = side_new((enum kind)to);
        struct beside beside = {a, b, false};
        struct ethos_error error = {0};
        const struct migrate how = {.host = &log_default_host,
                                    .from = a->store,
                                    .to = b->store,
                                    .progress = move_beside,
                                    .arg = &beside};
        for (int i = 0; i < 3 * MIGRATE_ROWS; i++) {
            snprintf(text, sizeof text, "entry %d\n", i);
            put(a, "MEMORY.md", text);
        }
        assert_int_equal(migrate_stores(&how, &error), ETHOS_OK);
        assert_true(beside.done);
        expect_same(a, b, SCOPE);
        side_free();
        side_free();
    }
}

/* Texts that no diff leads to: each has to be asked for. */
static void put_other(struct side *side, unsigned seed)
{
    char text[8000], *at = text;
    for (unsigned i = 0; i < 150; i++)
        at += snprintf(at, 40, "line %u of %u: %u\n", i, seed, i * seed);
    put_as(side, SCOPE, seed % 2 ? "a.md" : "b.md", view_of(text, (size_t)(at - text)), NULL);
}

static void test_texts_that_no_diff_leads_to_cost_a_few_rows_each(void **state)
{
    (void)state;
    const unsigned count = 300;
    struct side *a = side_new(ROWS), *b = side_new(ROWS);
    for (unsigned i = 0; i < count; i++)
        put_other(a, i + 1);
    rows_ram_hooks(a->db)->rows = rows_ram_hooks(b->db)->rows = 0;
    move(a, b);
    assert_in_range(rows_ram_hooks(a->db)->rows, count, 30 * count);
    assert_in_range(rows_ram_hooks(b->db)->rows, count, 30 * count);
}

static int version(struct side *side, const char *key, const char *text)
{
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_text found = {0};
    struct ethos_error error = {0};
    hash_revision(view_str(text), revision);
    int code = side->store->ops->version(side->store, SCOPE, key, revision, &found, &error);
    if (code == ETHOS_OK)
        assert_true(view_eq(view_of(found.data, found.size), view_str(text)));
    log_default_host.resize(NULL, found.data, 0);
    return code;
}

static void test_versions_asked_for_in_a_row_follow_what_others_write(void **state)
{
    (void)state;
    struct side *a = side_new(FILES), *b = side_new(FILES);
    struct ethos_purge purge;
    struct ethos_error error = {0};
    memcpy(b->root, a->root, sizeof b->root);
    reopen(b);
    put(a, "one.md", "secret\nfirst\n");
    put(a, "one.md", "second\n");
    put(a, "two.md", "other\n");
    assert_int_equal(version(a, "one.md", "secret\nfirst\n"), ETHOS_OK);
    assert_int_equal(version(a, "two.md", "other\n"), ETHOS_OK);
    assert_int_equal(version(a, "one.md", "second\n"), ETHOS_OK);
    assert_int_equal(version(a, "one.md", "other\n"), ETHOS_NOTFOUND);
    put(b, "one.md", "third\n");
    put(b, "one.md", "fourth\n");
    assert_int_equal(version(a, "one.md", "third\n"), ETHOS_OK);
    assert_int_equal(b->store->ops->purge(b->store, SCOPE,
                                          &(struct ethos_match){.text = VIEW("secret"),
                                                                .flags = ETHOS_MATCH_SUBSTRING},
                                          0, NULL, &purge, &error),
                     ETHOS_OK);
    assert_int_not_equal(version(a, "one.md", "secret\nfirst\n"), ETHOS_OK);
    assert_int_equal(version(a, "one.md", "first\n"), ETHOS_OK);
}

static void test_a_target_with_other_history_is_refused_and_stays(void **state)
{
    (void)state;
    struct side *a = side_new(FILES);
    put(a, "MEMORY.md", "one\n");
    put_long(a, "long.md", 7);
    for (int to = 0; to < KINDS; to++) {
        struct side *b = side_new((enum kind)to);
        struct ethos_error error = {0};
        struct seen seen;
        put(b, "MEMORY.md", "mine\n");
        assert_int_equal(try_move(a->store, b->store, &seen, &error), ETHOS_CONFLICT);
        assert_non_null(strstr(error.text, SCOPE));
        expect_text(b, SCOPE, "MEMORY.md", "mine\n");
        expect_text(b, SCOPE, "long.md", NULL);
        side_free();
    }
}

static void test_a_file_put_there_by_hand_is_never_overwritten(void **state)
{
    (void)state;
    struct side *a = side_new(ROWS), *b = side_new(FILES);
    struct ethos_error error = {0};
    struct seen seen;
    put(a, "MEMORY.md", "one\n");
    put_as(b, "user:x", "USER.md", VIEW("makes the home\n"), NULL);
    shell(b, "mkdir -p personalities/p && printf hand > personalities/p/MEMORY.md");
    assert_int_equal(try_move(a->store, b->store, &seen, &error), ETHOS_CONFLICT);
    expect_text(b, SCOPE, "MEMORY.md", "hand");
}

/* ---- interruptions ---------------------------------------------------------------------------- */

struct breaking {
    unsigned long left;
};

static int break_graft(void *arg, const char *call, unsigned long number)
{
    struct breaking *breaking = arg;
    (void)number;
    if (strcmp(call, "graft") != 0)
        return ETHOS_OK;
    return breaking->left-- == 0 ? ETHOS_IO : ETHOS_OK;
}

static void test_a_move_that_was_broken_off_at_any_commit_goes_on(void **state)
{
    (void)state;
    struct side *a = side_new(FILES);
    fill_some(a);
    for (int i = 0; i < 100; i++)
        put(a, "many.md", i % 2 ? "even\n" : "odd\n");
    for (int to = ROWS; to < KINDS; to++) {
        bool whole = false;
        for (unsigned long n = 0; !whole; n++) {
            struct side *b = side_new((enum kind)to);
            struct breaking breaking = {n};
            struct ethos_error error = {0};
            struct seen seen;
            struct ethos_store *faulty;
            assert_int_equal(store_fault_new(&log_default_host, b->store, break_graft, &breaking,
                                             &faulty, &error),
                             ETHOS_OK);
            b->store = faulty;
            whole = try_move(a->store, faulty, &seen, &error) == ETHOS_OK;
            reopen(b);
            move(a, b);
            expect_equal(a, b);
            expect_some(b);
            side_free();
        }
    }
}

/* A small past with everything odd: outside edits, a text from before, a gap, a deletion, a tree. */
static struct side *make_odd(void)
{
    struct side *a = side_new(FILES), *b = side_new(ROWS);
    put(a, "MEMORY.md", "one\n");
    shell(a, "printf 'by hand\\n' > personalities/p/MEMORY.md");
    shell(a, "printf 'before all\\n' > personalities/p/old.md");
    put(a, "MEMORY.md", "by hand\nand by us\n");
    put(a, "old.md", "after\n");
    shell(a, "printf '%s\\n' '{\"ts\":1700000000000,\"scopeId\":\"personality:p\",\"key\":"
             "\"old.md\",\"actions\":[\"add\"],\"source\":\"tool\",\"sessionId\":\"x\","
             "\"sessionKey\":\"\",\"beforeHash\":\"sha256:00\",\"afterHash\":\"sha256:11\","
             "\"diff\":\"\",\"sizeBefore\":1,\"sizeAfter\":2}' >> "
             "personalities/p/memory-history.jsonl");
    put(a, "old.md", "after all\n");
    put(a, "gone.md", "x\n");
    drop(a, "gone.md");
    put_as(a, TREE, "a/b/c.txt", VIEW("in a tree\n"), NULL);
    put_as(a, TREE, "a/b/c.txt", VIEW("still\n"), NULL);
    move(a, b);
    return b;
}

static int die_at(void *arg, const char *call, unsigned long number)
{
    (void)call;
    if (number == *(unsigned long *)arg)
        _exit(9);
    return 0;
}

/* The call that fails, and whether there was one. */
struct failing {
    unsigned long at, calls;
    bool reached;
};

static int fail_at(void *arg, const char *call, unsigned long number)
{
    struct failing *failing = arg;
    (void)number;
    if (strcmp(call, "close") == 0) // one that failed has closed, too
        return 0;
    failing->reached = failing->reached || failing->calls + 1 == failing->at;
    return ++failing->calls == failing->at ? EIO : 0;
}

/* Whether it died on the way, in a process of its own. */
static bool move_and_die(struct side *from, struct side *to, unsigned long at)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct ethos_error error = {0};
        struct seen seen;
        os_hook(die_at, &at);
        _exit(try_move(from->store, to->store, &seen, &error) == ETHOS_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9);
    return WEXITSTATUS(status) == 9;
}

/* The same folder, empty. */
static void renew(struct side *side)
{
    side->store->ops->close(side->store);
    side->store = NULL;
    temp_remove(&side->temp);
    *side = (struct side){.kind = side->kind};
    temp_make(&side->temp);
    memcpy(side->root, side->temp.path, sizeof side->temp.path);
    strncat(side->root, "/home", sizeof side->root - strlen(side->root) - 1);
    reopen(side);
}

static void test_a_move_into_files_that_is_killed_at_any_call_goes_on(void **state)
{
    (void)state;
    struct side *from = make_odd(), *to = side_new(FILES);
    bool died = true;
    for (unsigned long n = 1, at = 1; died; n++, at += stride(31)) {
        died = move_and_die(from, to, at);
        reopen(to);
        move(from, to);
        expect_same(from, to, SCOPE);
        expect_same(from, to, TREE);
        expect_text(to, SCOPE, "old.md", "after all\n");
        if (n % 8 == 0) { // with lines that were taken back among its own
            struct side *next = side_new(RAM);
            move(to, next);
            expect_same(to, next, SCOPE);
            side_free();
        }
        renew(to);
    }
}

static void test_a_move_into_files_that_fails_at_any_call_goes_on(void **state)
{
    (void)state;
    struct side *from = make_odd(), *to = side_new(FILES);
    struct failing failing = {.at = 1, .reached = true};
    for (; failing.reached; failing.at += stride(31)) {
        struct ethos_error error = {0};
        struct seen seen;
        failing.reached = false;
        failing.calls = 0;
        os_hook(fail_at, &failing);
        int code = try_move(from->store, to->store, &seen, &error);
        os_hook(NULL, NULL);
        if (code != ETHOS_OK)
            assert_true(*error.text && error.code == code);
        reopen(to);
        move(from, to);
        expect_same(from, to, SCOPE);
        expect_same(from, to, TREE);
        renew(to);
    }
}

static void test_a_move_without_memory_fails_and_goes_on(void **state)
{
    (void)state;
    struct side *from = side_new(RAM);
    put(from, "MEMORY.md", "one\n");
    put(from, "MEMORY.md", "two\n");
    put(from, "other.md", "x\n");
    bool failed = true;
    for (unsigned long at = 1; failed; at += stride(7)) {
        struct side *to = side_new(ROWS);
        struct ethos_error error = {0};
        struct seen seen;
        alloc_fail_at(at);
        int code = try_move(from->store, to->store, &seen, &error);
        failed = alloc_count() >= at;
        alloc_fail_at(0);
        assert_int_equal(code, failed ? ETHOS_NOMEM : ETHOS_OK);
        move(from, to);
        expect_same(from, to, SCOPE);
        side_free();
    }
}

/* ---- odd histories ---------------------------------------------------------------------------- */

static void test_edits_made_outside_are_recorded_and_go_over(void **state)
{
    (void)state;
    struct side *a = side_new(FILES), *b = side_new(ROWS);
    put(a, "MEMORY.md", "one\n");
    shell(a, "printf 'by hand\\n' > personalities/p/MEMORY.md");
    shell(a, "printf 'never recorded\\n' > personalities/p/hand.md");
    shell(a, "printf 'old things\\n' > personalities/p/memory-archive.md");
    shell(a, "printf 'no memory\\n' > personalities/p/SOUL.md");
    struct seen seen = move(a, b);
    assert_int_equal(seen.total.changes, 2);
    assert_int_equal(seen.total.added, 2);
    expect_text(b, SCOPE, "memory-archive.md", "old things\n");
    expect_text(b, SCOPE, "SOUL.md", NULL);
    expect_text(b, SCOPE, "MEMORY.md", "by hand\n");
    expect_text(b, SCOPE, "hand.md", "never recorded\n");
    put(a, "MEMORY.md", "later\n");
    put(a, "hand.md", "recorded now\n");
    seen = move(a, b);
    assert_int_equal(seen.total.added, 0);
    assert_int_equal(seen.total.moved, 2);
    expect_text(b, SCOPE, "hand.md", "recorded now\n");
    expect_text(b, SCOPE, "MEMORY.md", "later\n");
}

static void test_lines_of_others_without_numbers_get_the_next_ones(void **state)
{
    (void)state;
    for (int to = 0; to < KINDS; to++) {
        struct side *a = side_new(FILES), *b = side_new((enum kind)to);
        put(a, "MEMORY.md", "one\n");
        put(a, "MEMORY.md", "one\ntwo\n");
        shell(a, "printf '%s\\n' '{\"ts\":1700000000000,\"scopeId\":\"personality:p\",\"key\":"
                 "\"MEMORY.md\",\"actions\":[\"add\"],\"source\":\"tool\",\"sessionId\":\"x\","
                 "\"sessionKey\":\"\",\"beforeHash\":\"sha256:00\",\"afterHash\":\"sha256:11\","
                 "\"diff\":\"\",\"sizeBefore\":1,\"sizeAfter\":2}' >> "
                 "personalities/p/memory-history.jsonl");
        put(a, "MEMORY.md", "one\ntwo\nthree\n");
        struct seen seen = move(a, b);
        assert_true(seen.total.renumbered > 0);
        assert_true(seen.total.lost > 0);
        expect_text(b, SCOPE, "MEMORY.md", "one\ntwo\nthree\n");
        reopen(b);
        seen = move(a, b);
        assert_int_equal(seen.total.moved, 0);
        reset(NULL);
    }
}

static void test_a_text_that_was_there_before_its_first_change_is_a_version(void **state)
{
    (void)state;
    for (int to = 0; to < KINDS; to++) {
        struct side *a = side_new(FILES), *b = side_new((enum kind)to);
        struct ethos_text text = {0};
        struct ethos_error error = {0};
        char revision[ETHOS_REVISION_SIZE];
        put(a, "other.md", "x\n");
        shell(a, "printf 'before all\\n' > personalities/p/old.md");
        put(a, "old.md", "after\n");
        struct seen seen = move(a, b);
        assert_int_equal(seen.total.lost, 0);
        hash_revision(VIEW("before all\n"), revision);
        assert_int_equal(b->store->ops->version(b->store, SCOPE, "old.md", revision, &text, &error),
                         ETHOS_OK);
        assert_int_equal(text.size, 11);
        assert_memory_equal(text.data, "before all\n", 11);
        log_default_host.resize(NULL, text.data, 0);
        reset(NULL);
    }
}

static void test_copies_go_over_once(void **state)
{
    (void)state;
    for (int to = 0; to < KINDS; to++) {
        struct side *a = side_new(FILES), *b = side_new((enum kind)to);
        struct ethos_error error = {0};
        put(a, "MEMORY.md", "one\n");
        assert_int_equal(
            a->store->ops->set_aside(a->store, SCOPE, "MEMORY.md", VIEW("mine\n"), &error),
            ETHOS_OK);
        assert_int_equal(
            a->store->ops->set_aside(a->store, SCOPE, "MEMORY.md", VIEW("other\n"), &error),
            ETHOS_OK);
        struct seen seen = move(a, b);
        assert_int_equal(seen.total.copies, 2);
        put(a, "MEMORY.md", "two\n");
        move(a, b);
        expect_same(a, b, SCOPE);
        reset(NULL);
    }
}

static void test_what_was_purged_before_leaves_no_trace(void **state)
{
    (void)state;
    struct side *a = side_new(FILES), *b = side_new(ROWS);
    struct ethos_purge purge;
    struct ethos_error error = {0};
    put(a, "MEMORY.md", "one\n");
    put(a, "MEMORY.md", "one\nhunter2\n");
    put(a, "MEMORY.md", "one\nhunter2\nthree\n");
    assert_int_equal(a->store->ops->purge(a->store, SCOPE,
                                          &(struct ethos_match){.text = VIEW("hunter2"),
                                                                .flags = ETHOS_MATCH_SUBSTRING},
                                          0, NULL, &purge, &error),
                     ETHOS_OK);
    move(a, b);
    expect_same(a, b, SCOPE);
    assert_false(rows_ram_holds(b->db, VIEW("hunter2")));
}

static void test_a_purge_after_the_move_reaches_the_text_before_a_first_change(void **state)
{
    (void)state;
    for (int to = 0; to < KINDS; to++) {
        struct side *a = side_new(FILES), *b = side_new((enum kind)to);
        struct ethos_purge purge;
        struct ethos_error error = {0};
        struct ethos_text text = {0};
        char revision[ETHOS_REVISION_SIZE];
        put(a, "other.md", "x\n");
        shell(a, "printf 'keep\\nhunter2\\n' > personalities/p/old.md");
        put(a, "old.md", "after\n");
        move(a, b);
        assert_int_equal(b->store->ops->purge(b->store, SCOPE,
                                              &(struct ethos_match){.text = VIEW("hunter2"),
                                                                    .flags = ETHOS_MATCH_SUBSTRING},
                                              0, NULL, &purge, &error),
                         ETHOS_OK);
        assert_true(purge.versions > 0);
        hash_revision(VIEW("keep\n"), revision);
        assert_int_equal(b->store->ops->version(b->store, SCOPE, "old.md", revision, &text, &error),
                         ETHOS_OK);
        hash_revision(VIEW("keep\nhunter2\n"), revision);
        assert_int_equal(b->store->ops->version(b->store, SCOPE, "old.md", revision, &text, &error),
                         ETHOS_NOTFOUND);
        log_default_host.resize(NULL, text.data, 0);
        if (b->db)
            assert_false(rows_ram_holds(b->db, VIEW("hunter2")));
        reset(NULL);
    }
}

static void test_a_dry_run_counts_and_writes_nothing(void **state)
{
    (void)state;
    struct side *a = side_new(FILES), *b = side_new(ROWS);
    struct ethos_error error = {0};
    struct seen seen = {0};
    fill_some(a);
    const struct migrate dry = {.host = &log_default_host,
                                .from = a->store,
                                .to = b->store,
                                .dry_run = true,
                                .each = note_scope,
                                .arg = &seen};
    assert_int_equal(migrate_stores(&dry, &error), ETHOS_OK);
    assert_int_equal(seen.total.moved, seen.total.changes);
    assert_int_equal(rows_ram_version(b->db, SCOPE), 0);
}

static void test_a_key_with_changes_in_two_stores_keeps_undo_references(void **state)
{
    (void)state;
    struct side *a = side_new(ROWS), *b = side_new(FILES), *c = side_new(ROWS);
    put(a, "MEMORY.md", "one\n");
    put(a, "MEMORY.md", "two\n");
    put_as(a, SCOPE, "MEMORY.md", VIEW("one\n"),
           &(struct ethos_origin){.actor = "owner", .undoes = "2"});
    move(a, b);
    move(b, c);
    expect_same(a, c, SCOPE);
}

/* ---- conversations ---------------------------------------------------------------------------- */

static struct ethos_sessions *open_talks(const struct side *side)
{
    const struct ethos_setup setup = {
        .host = &log_default_host, .root = side->temp.path, .deadline_ms = 5000};
    struct ethos_sessions *talks = NULL;
    struct ethos_error error = {0};
    assert_int_equal(sessions_sqlite.open(&setup, &talks, &error), ETHOS_OK);
    return talks;
}

static void say(struct ethos_sessions *talks, const char *session, const char *id, const char *role,
                const char *text, const char *time)
{
    const struct ethos_message message = {.id = id,
                                          .session = session,
                                          .role = role,
                                          .content = view_str(text),
                                          .timestamp = time,
                                          .usage = {.input_tokens = 3},
                                          .has_usage = 1};
    struct ethos_error error = {0};
    assert_int_equal(
        talks->ops->append(talks, session, &message, 1, ETHOS_APPEND_KEEP_TIME, &error), ETHOS_OK);
}

#define TALK_ID "11111111-1111-4111-8111-111111111111"

static void make_talks(struct ethos_sessions *talks)
{
    const struct ethos_session session = {.id = TALK_ID,
                                          .key = "cli:x",
                                          .platform = "cli",
                                          .model = "m",
                                          .provider = "p",
                                          .title = "About tea",
                                          .usage = {.input_tokens = 30, .cost_usd = 0.25},
                                          .pinned = 1,
                                          .created_at = "2026-01-02T03:04:05.006Z",
                                          .updated_at = "2026-01-02T03:04:05.006Z"};
    const struct ethos_key key = {.prefix = "ek_1",
                                  .hash = "00aa",
                                  .name = "bot",
                                  .scopes = "memory:read",
                                  .origins = "",
                                  .created_at = "2026-01-02T03:04:05.006Z"};
    struct ethos_error error = {0};
    char id[ETHOS_UUID_SIZE];
    assert_int_equal(talks->ops->create(talks, &session, id, &error), ETHOS_OK);
    say(talks, TALK_ID, "m1", "user", "hello", "2026-01-02T03:04:06.000Z");
    say(talks, TALK_ID, "m2", "assistant", "good day", "2026-01-02T03:04:07.000Z");
    assert_int_equal(talks->ops->key_add(talks, &key, &error), ETHOS_OK);
}

static struct migrate_talk_count move_talks(struct ethos_sessions *a, struct ethos_sessions *b,
                                            bool dry_run)
{
    const struct migrate how = {.host = &log_default_host, .dry_run = dry_run};
    struct migrate_talk_count count;
    struct ethos_error error = {0};
    char digests[2][HASH_HEX_SIZE];
    assert_int_equal(migrate_sessions(&how, a, b, &count, digests, &error), ETHOS_OK);
    if (!dry_run)
        assert_int_equal(count.differ == 0, strcmp(digests[0], digests[1]) == 0);
    return count;
}

static void test_conversations_go_over_by_their_ids(void **state)
{
    (void)state;
    struct ethos_sessions *a = open_talks(side_new(RAM)), *b = open_talks(side_new(RAM));
    make_talks(a);
    struct migrate_talk_count count = move_talks(a, b, true);
    assert_int_equal(count.sessions, 1);
    assert_int_equal(count.messages, 2);
    assert_int_equal(count.moved_sessions, 0);
    count = move_talks(a, b, false);
    assert_int_equal(count.moved_sessions, 1);
    assert_int_equal(count.moved_messages, 2);
    assert_int_equal(count.moved_keys, 1);
    assert_int_equal(count.differ, 0);
    say(a, TALK_ID, "m3", "user", "and more", "2026-01-02T03:04:08.000Z");
    count = move_talks(a, b, false);
    assert_int_equal(count.moved_sessions, 0);
    assert_int_equal(count.moved_messages, 1);
    assert_int_equal(count.moved_keys, 0);
    assert_int_equal(count.differ, 0);
    say(b, TALK_ID, "m4", "user", "only here", "2026-01-02T03:04:09.000Z");
    count = move_talks(a, b, false);
    assert_int_equal(count.differ, 1);
    assert_non_null(strstr(count.first, TALK_ID));
    a->ops->close(a);
    b->ops->close(b);
}

static void test_what_happened_to_a_conversation_since_goes_over(void **state)
{
    (void)state;
    struct ethos_sessions *a = open_talks(side_new(RAM)), *b = open_talks(side_new(RAM));
    struct ethos_error error = {0};
    const int pinned = 0;
    const struct ethos_usage more = {.input_tokens = 5, .cost_usd = 0.1, .compactions = 1};
    const struct ethos_session_patch patch = {.title = "", .pinned = &pinned, .usage = &more};
    uint64_t hidden;
    make_talks(a);
    say(a, TALK_ID, "m3", "user", "and more", "2026-01-02T03:04:08.000Z");
    assert_int_equal(move_talks(a, b, false).differ, 0);
    assert_int_equal(a->ops->update(a, TALK_ID, &patch, &error), ETHOS_OK);
    assert_int_equal(a->ops->undo(a, TALK_ID, 1, &hidden, &error), ETHOS_OK);
    say(a, TALK_ID, "m4", "user", "instead", "2026-01-02T03:04:09.000Z");
    assert_int_equal(a->ops->key_revoke(a, "ek_1", &error), ETHOS_OK);
    struct migrate_talk_count count = move_talks(a, b, false);
    assert_int_equal(count.differ, 0);
    assert_int_equal(count.moved_messages, 1);
    a->ops->close(a);
    b->ops->close(b);
}

static void test_a_conversation_that_the_target_does_not_take_stays_alone(void **state)
{
    (void)state;
    if (system("command -v sqlite3 >/dev/null") != 0)
        skip();
    struct side *side = side_new(RAM);
    struct ethos_sessions *a = open_talks(side), *b = open_talks(side_new(RAM));
    char command[512];
    make_talks(a);
    snprintf(command, sizeof command,
             "sqlite3 %s/sessions.db \"INSERT INTO sessions(id,key,platform,model,provider,"
             "created_at,updated_at) VALUES('a b','k2','cli','','','2026-01-01 00:00:00','never');"
             "INSERT INTO sessions(id,key,platform,model,provider,created_at,updated_at)"
             " VALUES('s3','k3','cli','','','2026-01-01 00:00:00','2026-01-01');\"",
             side->temp.path);
    assert_int_equal(system(command), 0);
    struct migrate_talk_count count = move_talks(a, b, false);
    assert_int_equal(count.sessions, 3);
    assert_int_equal(count.moved_sessions, 2);
    assert_int_equal(count.differ, 1);
    assert_string_equal(count.first, "a b: bad session id: a b");
    a->ops->close(a);
    b->ops->close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            test_a_purge_after_the_move_reaches_the_text_before_a_first_change, reset),
        cmocka_unit_test_teardown(test_a_move_without_memory_fails_and_goes_on, reset),
        cmocka_unit_test_teardown(test_every_pair_of_stores_gives_equal_digests, reset),
        cmocka_unit_test_teardown(test_a_round_trip_comes_home_as_it_left, reset),
        cmocka_unit_test_teardown(test_the_target_goes_on_after_the_move, reset),
        cmocka_unit_test_teardown(test_what_came_meanwhile_goes_over_with_the_next_run, reset),
        cmocka_unit_test_teardown(test_a_scope_of_an_unknown_name_stays_and_all_others_go, reset),
        cmocka_unit_test_teardown(test_two_moves_of_the_same_at_once_both_end_well, reset),
        cmocka_unit_test_teardown(test_texts_that_no_diff_leads_to_cost_a_few_rows_each, reset),
        cmocka_unit_test_teardown(test_versions_asked_for_in_a_row_follow_what_others_write, reset),
        cmocka_unit_test_teardown(test_a_target_with_other_history_is_refused_and_stays, reset),
        cmocka_unit_test_teardown(test_a_file_put_there_by_hand_is_never_overwritten, reset),
        cmocka_unit_test_teardown(test_a_move_that_was_broken_off_at_any_commit_goes_on, reset),
        cmocka_unit_test_teardown(test_a_move_into_files_that_is_killed_at_any_call_goes_on, reset),
        cmocka_unit_test_teardown(test_a_move_into_files_that_fails_at_any_call_goes_on, reset),
        cmocka_unit_test_teardown(test_edits_made_outside_are_recorded_and_go_over, reset),
        cmocka_unit_test_teardown(test_lines_of_others_without_numbers_get_the_next_ones, reset),
        cmocka_unit_test_teardown(test_a_text_that_was_there_before_its_first_change_is_a_version,
                                  reset),
        cmocka_unit_test_teardown(test_copies_go_over_once, reset),
        cmocka_unit_test_teardown(test_what_was_purged_before_leaves_no_trace, reset),
        cmocka_unit_test_teardown(test_a_dry_run_counts_and_writes_nothing, reset),
        cmocka_unit_test_teardown(test_a_key_with_changes_in_two_stores_keeps_undo_references,
                                  reset),
        cmocka_unit_test_teardown(test_conversations_go_over_by_their_ids, reset),
        cmocka_unit_test_teardown(test_what_happened_to_a_conversation_since_goes_over, reset),
        cmocka_unit_test_teardown(test_a_conversation_that_the_target_does_not_take_stays_alone,
                                  reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

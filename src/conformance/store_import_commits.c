/*
 * store_import_commits.c: rules for stores that import changes of another store.
 */
#include "conformance/fixture.h"

#define TIME_MS INT64_C(1700000000000)
#define MOST 8

/* Consecutive changes, and the final text of each key. */
struct imported_commit {
    struct ethos_row rows[MOST];
    char revisions[MOST][2][ETHOS_REVISION_SIZE];
    size_t count;
    struct ethos_edit edits[MOST];
    size_t edit_count;
};

static const char *name_text(const char *text, char out[ETHOS_REVISION_SIZE])
{
    if (text)
        hash_revision(view_str(text), out);
    return text ? out : "absent";
}

static void set_edit(struct imported_commit *graft, const char *key, const char *text)
{
    size_t at = 0;
    while (at < graft->edit_count && strcmp(graft->edits[at].key, key) != 0)
        at++;
    graft->edit_count += at == graft->edit_count;
    struct ethos_edit *edit = &graft->edits[at];
    *edit = (struct ethos_edit){.key = key, .verdict = text ? ETHOS_EDIT_PUT : ETHOS_EDIT_DROP};
    edit->text = view_str(text);
    if (text)
        hash_revision(edit->text, edit->revision);
}

/* Adds a change of a key from one text (NULL: none) to another. */
static void add_commit_row(struct imported_commit *graft, uint64_t number, const char *key,
                           const char *before, const char *after)
{
    size_t at = graft->count++;
    graft->rows[at] = (struct ethos_row){
        .change = {.number = number,
                   .time_ms = TIME_MS + (int64_t)number,
                   .key = key,
                   .actions = "add",
                   .source = "dream",
                   .via = "somewhere",
                   .actor = "somebody",
                   .session = "s",
                   .user = "u",
                   .trust = "untrusted",
                   .approved_by = "owner",
                   .edited_from = "another",
                   .before = name_text(before, graft->revisions[at][0]),
                   .after = name_text(after, graft->revisions[at][1])},
        .base = view_str(before),
        .whole = view_str(after)};
    set_edit(graft, key, after);
}

static int do_import(struct fixture *f, const struct imported_commit *graft, uint64_t version)
{
    const struct ethos_commit commit = {.version = version,
                                        .edits = graft->edits,
                                        .edit_count = graft->edit_count,
                                        .rows = graft->rows,
                                        .row_count = graft->count};
    return f->store->ops->graft(f->store, SCOPE, &commit, &f->error);
}

struct expected {
    const struct imported_commit *graft;
    size_t left;
};

static int expect_row(void *arg, const struct ethos_change *change)
{
    struct expected *expected = arg;
    assert_true(expected->left > 0);
    const struct ethos_change *row = &expected->graft->rows[--expected->left].change;
    assert_int_equal(change->number, row->number);
    assert_int_equal(change->time_ms, row->time_ms);
    assert_string_equal(change->key, row->key);
    assert_string_equal(change->actions, row->actions);
    assert_string_equal(change->source, row->source);
    assert_string_equal(change->via, row->via);
    assert_string_equal(change->actor, row->actor);
    assert_string_equal(change->session, row->session);
    assert_string_equal(change->user, row->user);
    assert_string_equal(change->trust, row->trust);
    assert_string_equal(change->approved_by, row->approved_by);
    assert_string_equal(change->edited_from, row->edited_from);
    assert_string_equal(change->before, row->before);
    assert_string_equal(change->after, row->after);
    return ETHOS_OK;
}

static void assert_rows(struct fixture *f, const struct imported_commit *graft)
{
    struct expected expected = {graft, graft->count};
    assert_int_equal(
        f->store->ops->history(f->store, SCOPE, NULL, expect_row, &expected, &f->error), ETHOS_OK);
    assert_int_equal(expected.left, 0);
}

static void assert_version(struct fixture *f, const char *key, const char *text)
{
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(view_str(text), revision);
    assert_int_equal(f->store->ops->version(f->store, SCOPE, key, revision, &f->text, &f->error),
                     ETHOS_OK);
    assert_int_equal(f->text.size, strlen(text));
    assert_memory_equal(f->text.data, text, f->text.size);
}

static void require_import(const struct fixture *f)
{
    require_offered(f->store->ops->graft && !f->subject->own_revisions, "taking over a history");
}

/* ---- the rules ------------------------------------------------------------------------------- */

static void test_grafted_changes_keep_number_time_and_origin(struct fixture *f)
{
    struct imported_commit graft = {0};
    require_import(f);
    add_commit_row(&graft, 3, "a.md", NULL, "one\n");
    add_commit_row(&graft, 7, "b.md", NULL, "other\n");
    add_commit_row(&graft, 8, "a.md", "one\n", "one\ntwo\n");
    assert_int_equal(do_import(f, &graft, 0), ETHOS_OK);
    assert_rows(f, &graft);
    assert_text(f, "a.md", "one\ntwo\n");
    assert_text(f, "b.md", "other\n");
    assert_version(f, "a.md", "one\n");
    assert_version(f, "a.md", "one\ntwo\n");
}

static void test_an_import_goes_on_where_another_ended(struct fixture *f)
{
    struct imported_commit first = {0}, second = {0}, all = {0};
    require_import(f);
    add_commit_row(&first, 1, "a.md", NULL, "one\n");
    add_commit_row(&second, 2, "a.md", "one\n", "two\n");
    add_commit_row(&second, 3, "a.md", "two\n", NULL);
    assert_int_equal(do_import(f, &first, 0), ETHOS_OK);
    assert_int_equal(do_import(f, &second, 1), ETHOS_OK);
    add_commit_row(&all, 1, "a.md", NULL, "one\n");
    add_commit_row(&all, 2, "a.md", "one\n", "two\n");
    add_commit_row(&all, 3, "a.md", "two\n", NULL);
    assert_rows(f, &all);
    assert_absent(f, "a.md");
    assert_version(f, "a.md", "two\n");
}

static void test_an_import_onto_other_changes_is_a_conflict(struct fixture *f)
{
    struct imported_commit graft = {0};
    require_import(f);
    put_key(f, "a.md", "mine\n");
    add_commit_row(&graft, 1000, "a.md", NULL, "theirs\n");
    add_commit_row(&graft, 1001, "b.md", NULL, "theirs\n");
    assert_int_equal(do_import(f, &graft, 0), ETHOS_CONFLICT);
    assert_int_equal(do_import(f, &graft, 999), ETHOS_CONFLICT);
    assert_text(f, "a.md", "mine\n");
    assert_absent(f, "b.md");
}

static void test_the_text_before_a_grafted_change_is_a_version(struct fixture *f)
{
    struct imported_commit graft = {0};
    require_import(f);
    add_commit_row(&graft, 1, "a.md", "there before\n", "one\n");
    add_commit_row(&graft, 2, "b.md", "", "from nothing\n");
    add_commit_row(&graft, 3, "a.md", "somebody else's\n", "two\n");
    assert_int_equal(do_import(f, &graft, 0), ETHOS_OK);
    assert_rows(f, &graft);
    assert_version(f, "a.md", "there before\n");
    assert_version(f, "a.md", "somebody else's\n");
    assert_version(f, "a.md", "one\n");
    assert_version(f, "b.md", "");
    assert_text(f, "a.md", "two\n");
}

static void test_a_grafted_change_whose_text_is_lost_is_still_told(struct fixture *f)
{
    struct imported_commit graft = {0};
    require_import(f);
    add_commit_row(&graft, 1, "a.md", NULL, "one\n");
    add_commit_row(&graft, 2, "a.md", "one\n", "nobody has this\n");
    add_commit_row(&graft, 3, "a.md", "nobody has this\n", "three\n");
    graft.rows[1].whole = graft.rows[2].base = (struct ethos_view){0};
    assert_int_equal(do_import(f, &graft, 0), ETHOS_OK);
    assert_rows(f, &graft);
    assert_version(f, "a.md", "one\n");
    assert_version(f, "a.md", "three\n");
    assert_text(f, "a.md", "three\n");
}

static void test_changes_go_on_after_an_import(struct fixture *f)
{
    struct imported_commit graft = {0};
    require_import(f);
    add_commit_row(&graft, 5, "a.md", "there before\n", "one\n");
    assert_int_equal(do_import(f, &graft, 0), ETHOS_OK);
    put_key(f, "a.md", "two\n");
    put_key(f, "b.md", "new\n");
    assert_text(f, "a.md", "two\n");
    assert_version(f, "a.md", "one\n");
    assert_version(f, "a.md", "there before\n");
    add_commit_row(&graft, 6, "c.md", NULL, "late\n");
    assert_int_equal(do_import(f, &graft, 5), ETHOS_CONFLICT);
}

const struct rule rules_graft[] = {
    RULE(test_grafted_changes_keep_number_time_and_origin),
    RULE_NAMED("test_a_graft_goes_on_where_another_ended",
               test_an_import_goes_on_where_another_ended),
    RULE_NAMED("test_a_graft_onto_other_changes_is_a_conflict_and_changes_nothing",
               test_an_import_onto_other_changes_is_a_conflict),
    RULE(test_the_text_before_a_grafted_change_is_a_version),
    RULE(test_a_grafted_change_whose_text_is_lost_is_still_told),
    RULE_NAMED("test_changes_go_on_after_a_graft", test_changes_go_on_after_an_import),
};

const size_t rules_graft_count = sizeof rules_graft / sizeof *rules_graft;

/*
 * store_history.c: rules for stores with history, purge or conflict copies.
 */
#include "conformance/fixture.h"

/* ---- history -------------------------------------------------------------------------------- */

/* The changes of a history, newest first. */
struct walked {
    size_t count;
    struct {
        char key[32], actions[64], before[ETHOS_REVISION_SIZE], after[ETHOS_REVISION_SIZE];
        char actor[32], via[32], source[32], undoes[32], op_id[32], session[32];
        char trust[32], approved_by[32], edited_from[32];
        uint64_t number, bytes_before, bytes_after;
        char diff[512];
    } changes[16];
    int stop_after;
};

static void copy_name_or_dash(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%s", name ? name : "-");
}
#define COPY(change, member)                                                                       \
    copy_name_or_dash(walked->changes[at].member, sizeof walked->changes[at].member,               \
                      (change)->member)

static int record_walked_change(void *arg, const struct ethos_change *change)
{
    struct walked *walked = arg;
    size_t at = walked->count++;
    assert_true(at < 16);
    COPY(change, key);
    COPY(change, actions);
    COPY(change, before);
    COPY(change, after);
    COPY(change, actor);
    COPY(change, via);
    COPY(change, source);
    COPY(change, undoes);
    COPY(change, trust);
    COPY(change, approved_by);
    COPY(change, edited_from);
    COPY(change, op_id);
    COPY(change, session);
    walked->changes[at].number = change->number;
    walked->changes[at].bytes_before = change->bytes_before;
    walked->changes[at].bytes_after = change->bytes_after;
    snprintf(walked->changes[at].diff, sizeof walked->changes[at].diff, "%.*s",
             VIEW_ARG(change->diff));
    assert_true(change->time_ms > 0);
    return walked->stop_after && (int)walked->count >= walked->stop_after ? 77 : 0;
}

static void walk_changes(struct fixture *f, const char *key, struct walked *out)
{
    memset(out, 0, sizeof *out);
    assert_int_equal(
        f->store->ops->history(f->store, SCOPE, key, record_walked_change, out, &f->error),
        ETHOS_OK);
}

static void assert_version(struct fixture *f, const char *key, const char *text)
{
    char revision[ETHOS_REVISION_SIZE];
    revision_of(f, text, revision);
    assert_int_equal(f->store->ops->version(f->store, SCOPE, key, revision, &f->text, &f->error),
                     ETHOS_OK);
    assert_int_equal(f->text.size, strlen(text));
    assert_memory_equal(f->text.data, text, f->text.size + 1);
    assert_string_equal(f->text.revision, revision);
}

static void assert_no_version(struct fixture *f, const char *key, const char *revision)
{
    assert_int_equal(f->store->ops->version(f->store, SCOPE, key, revision, &f->text, &f->error),
                     ETHOS_NOTFOUND);
}

static void test_every_change_is_recorded_with_both_revisions(struct fixture *f)
{
    struct walked walked;
    char one[ETHOS_REVISION_SIZE], two[ETHOS_REVISION_SIZE];
    require_history(f);
    walk_changes(f, "a.md", &walked);
    assert_int_equal(walked.count, 0);
    put_key(f, "a.md", "one\n");
    put_key(f, "b.md", "other\n");
    put_key(f, "a.md", "two\nlines\n");
    put_key(f, "a.md", "two\nlines\n");
    assert_int_equal(do_remove(f, "a.md", NULL), ETHOS_OK);
    revision_of(f, "one\n", one);
    revision_of(f, "two\nlines\n", two);
    walk_changes(f, "a.md", &walked);
    assert_int_equal(walked.count, 3);
    assert_string_equal(walked.changes[0].before, two);
    assert_string_equal(walked.changes[0].after, "absent");
    assert_string_equal(walked.changes[0].actions, "delete");
    assert_string_equal(walked.changes[1].before, one);
    assert_string_equal(walked.changes[1].after, two);
    assert_int_equal(walked.changes[1].bytes_before, 4);
    assert_int_equal(walked.changes[1].bytes_after, 10);
    assert_string_equal(walked.changes[1].actions, "replace");
    assert_non_null(strstr(walked.changes[1].diff, "\n-one\n+two\n+lines\n"));
    assert_string_equal(walked.changes[2].before, "absent");
    assert_true(walked.changes[0].number > walked.changes[1].number);
    assert_true(walked.changes[1].number > walked.changes[2].number);
    walk_changes(f, NULL, &walked);
    assert_int_equal(walked.count, 4);
    assert_string_equal(walked.changes[2].key, "b.md");
    walked = (struct walked){.stop_after = 2};
    assert_int_equal(
        f->store->ops->history(f->store, SCOPE, NULL, record_walked_change, &walked, &f->error),
        77);
    assert_int_equal(walked.count, 2);
}

static int put_named(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)error, (void)count;
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(arg);
    edits->actions = "add,remove";
    return ETHOS_OK;
}

static void test_a_change_remembers_who_and_what(struct fixture *f)
{
    struct walked walked;
    struct ethos_edit edit = {.key = "a.md"};
    const struct ethos_origin origin = {.actor = "ann",
                                        .via = "cli",
                                        .source = "restore",
                                        .session = "s1",
                                        .undoes = "7,3",
                                        .trust = "agent",
                                        .approved_by = "owner",
                                        .edited_from = "another"};
    require_offered(has_history(f) && f->store->ops->update, "history of updates");
    assert_int_equal(
        store_update(f->store, SCOPE, &edit, 1, put_named, "text\n", &origin, &f->error), ETHOS_OK);
    free_edits(f, &edit, 1);
    put_key(f, "a.md", "by nobody\n");
    walk_changes(f, "a.md", &walked);
    assert_int_equal(walked.count, 2);
    assert_string_equal(walked.changes[0].source, "tool");
    assert_string_equal(walked.changes[0].undoes, "-");
    assert_string_equal(walked.changes[1].actor, "ann");
    assert_string_equal(walked.changes[1].via, "cli");
    assert_string_equal(walked.changes[1].source, "restore");
    assert_string_equal(walked.changes[1].session, "s1");
    assert_string_equal(walked.changes[1].undoes, "7,3");
    assert_string_equal(walked.changes[1].trust, "agent");
    assert_string_equal(walked.changes[1].approved_by, "owner");
    assert_string_equal(walked.changes[1].edited_from, "another");
    assert_string_equal(walked.changes[1].actions, "add,remove");
}

static void test_what_is_not_known_of_a_change_is_absent(struct fixture *f)
{
    struct walked walked;
    require_history(f);
    put_key(f, "a.md", "by nobody\n");
    walk_changes(f, "a.md", &walked);
    assert_int_equal(walked.count, 1);
    assert_string_equal(walked.changes[0].actor, "-");
    assert_string_equal(walked.changes[0].via, "-");
    assert_string_equal(walked.changes[0].session, "-");
    assert_string_equal(walked.changes[0].op_id, "-");
    assert_string_equal(walked.changes[0].undoes, "-");
    assert_string_equal(walked.changes[0].trust, "-");
    assert_string_equal(walked.changes[0].approved_by, "-");
}

static void test_every_version_is_readable_byte_for_byte(struct fixture *f)
{
    static const char *const texts[] = {"one\n",  "",     "no end", "caf\xe9 \xff\n\n\n",
                                        "\r\n\r", "one\n"};
    char revision[ETHOS_REVISION_SIZE];
    require_history(f);
    for (size_t i = 0; i < 6; i++)
        put_key(f, "a.md", texts[i]);
    assert_int_equal(do_remove(f, "a.md", NULL), ETHOS_OK);
    for (size_t i = 0; i < 6; i++)
        assert_version(f, "a.md", texts[i]);
    revision_of(f, "never", revision);
    assert_no_version(f, "a.md", revision);
    revision_of(f, "one\n", revision);
    assert_no_version(f, "b.md", revision);
}

static void test_large_versions_are_readable(struct fixture *f)
{
    enum { LINES = 4000 };
    char *text = malloc(LINES * 16 + 1), revision[2][ETHOS_REVISION_SIZE];
    if (!has_history(f)) {
        free(text);
        not_offered("history");
    }
    for (int round = 0; round < 2; round++) {
        size_t size = 0;
        for (int i = 0; i < LINES; i++)
            size += (size_t)snprintf(text + size, 16, "line %d\n", i * (round + 3));
        assert_int_equal(do_write(f, SCOPE, "a.md", NULL, view_of(text, size), revision[round]),
                         ETHOS_OK);
    }
    put_key(f, "a.md", "short\n");
    for (int round = 0; round < 2; round++) {
        assert_int_equal(
            f->store->ops->version(f->store, SCOPE, "a.md", revision[round], &f->text, &f->error),
            ETHOS_OK);
        assert_string_equal(f->text.revision, revision[round]);
    }
    free(text);
}

/* ---- purge ---------------------------------------------------------------------------------- */

static int do_purge(struct fixture *f, const char *needle, int dry_run, struct ethos_purge *out)
{
    return f->store->ops->purge(
        f->store, SCOPE,
        &(struct ethos_match){.text = view_str(needle), .flags = ETHOS_MATCH_SUBSTRING}, dry_run,
        NULL, out, &f->error);
}

/* Checks that each change starts at the revision of the previous one, and the last one ends at the current text. */
static void assert_chain(struct fixture *f, const char *key)
{
    struct walked walked;
    walk_changes(f, key, &walked);
    for (size_t i = 1; i < walked.count; i++)
        assert_string_equal(walked.changes[i].after, walked.changes[i - 1].before);
    if (do_read(f, SCOPE, key) == ETHOS_OK)
        assert_string_equal(walked.changes[0].after, f->text.revision);
    else
        assert_string_equal(walked.changes[0].after, "absent");
}

static void test_purge_takes_lines_out_of_texts_and_history_for_good(struct fixture *f)
{
    struct ethos_purge purge = {0};
    struct walked walked;
    char revision[ETHOS_REVISION_SIZE];
    require_offered(f->store->ops->purge, "purge");
    put_key(f, "a.md", "keep\nthe SECRET\n");
    put_key(f, "a.md", "keep\nthe SECRET\nmore\n");
    put_key(f, "a.md", "keep\nmore\n");
    put_key(f, "memory-archive.md", "old\nSECRET again\n");
    put_key(f, "b.md", "harmless  \n\n");
    assert_int_equal(do_write(f, OTHER_SCOPE, "a.md", NULL, VIEW("SECRET\n"), NULL), ETHOS_OK);
    assert_int_equal(do_purge(f, "", 0, &purge), ETHOS_INVALID);
    assert_int_equal(do_purge(f, "SECRET", 1, &purge), ETHOS_OK);
    assert_int_equal(purge.lines, 1);
    assert_int_equal(purge.versions, 4);
    assert_version(f, "a.md", "keep\nthe SECRET\n");
    assert_int_equal(do_purge(f, "SECRET", 0, &purge), ETHOS_OK);
    assert_int_equal(purge.lines, 1);
    assert_int_equal(purge.versions, 4);
    assert_text(f, "a.md", "keep\nmore\n");
    assert_text(f, "memory-archive.md", "old\n");
    assert_text(f, "b.md", "harmless  \n\n");
    assert_bytes(f, OTHER_SCOPE, "a.md", VIEW("SECRET\n"));
    revision_of(f, "keep\nthe SECRET\n", revision);
    assert_no_version(f, "a.md", revision);
    assert_version(f, "a.md", "keep\n");
    assert_version(f, "a.md", "keep\nmore\n");
    walk_changes(f, NULL, &walked);
    for (size_t i = 0; i < walked.count; i++)
        assert_null(strstr(walked.changes[i].diff, "SECRET"));
    assert_chain(f, "a.md");
    assert_chain(f, "memory-archive.md");
    assert_chain(f, "b.md");
    assert_int_equal(do_purge(f, "SECRET", 0, &purge), ETHOS_OK);
    assert_int_equal(purge.lines + purge.versions + purge.blobs + purge.conflicts, 0);
    put_key(f, "a.md", "and on it goes\n");
    assert_chain(f, "a.md");
}

static void test_a_purge_without_memory_leaves_everything_or_nothing(struct fixture *f)
{
    struct ethos_purge purge = {0};
    int code = ETHOS_OK;
    require_offered(f->store->ops->purge, "purge");
    put_key(f, "a.md", "keep\nSECRET\n");
    put_key(f, "a.md", "keep\nSECRET\nmore\n");
    MEMORY_EACH(f, n, code == ETHOS_OK)
    {
        code = do_purge(f, "SECRET", 0, &purge);
        memory_fail_at(f, 0);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_chain(f, "a.md");
    }
    assert_text(f, "a.md", "keep\nmore\n");
    assert_version(f, "a.md", "keep\n");
}

static int do_purge_as(struct fixture *f, const struct ethos_match *match, int dry_run,
                       struct ethos_purge *out)
{
    return f->store->ops->purge(f->store, SCOPE, match, dry_run, NULL, out, &f->error);
}

static void test_a_purge_takes_whole_words_in_their_letter_case(struct fixture *f)
{
    struct ethos_purge purge = {0};
    struct ethos_match match = {.text = VIEW("tea")};
    require_offered(f->store->ops->purge, "purge");
    put_key(f, "a.md", "team\ntea\nTea\nsteam\n");
    assert_int_equal(do_purge_as(f, &match, 0, &purge), ETHOS_OK);
    assert_int_equal(purge.lines, 1);
    assert_text(f, "a.md", "team\nTea\nsteam\n");
    match.flags = ETHOS_MATCH_ANY_CASE;
    assert_int_equal(do_purge_as(f, &match, 0, &purge), ETHOS_OK);
    assert_text(f, "a.md", "team\nsteam\n");
    match.flags = ETHOS_MATCH_SUBSTRING;
    assert_int_equal(do_purge_as(f, &match, 0, &purge), ETHOS_OK);
    assert_text(f, "a.md", "\n");
    assert_chain(f, "a.md");
}

static int count_purge_line(void *arg, const struct ethos_purge_line *line)
{
    unsigned *count = arg;
    assert_non_null(strstr(line->key, "a.md")); // of a tree: its path
    assert_int_equal(line->number, 2);
    assert_true(view_eq_str(line->text, "the SECRET"));
    ++*count;
    return 0;
}

static void test_a_purge_tells_the_lines_it_would_take(struct fixture *f)
{
    struct ethos_purge purge = {0};
    unsigned count = 0;
    const struct ethos_match match = {
        .text = VIEW("SECRET"), .each = count_purge_line, .arg = &count};
    require_offered(f->store->ops->purge, "purge");
    put_key(f, "a.md", "keep\nthe SECRET\n");
    assert_int_equal(do_purge_as(f, &match, 1, &purge), ETHOS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(do_purge_as(f, &match, 0, &purge), ETHOS_OK);
    assert_int_equal(count, 1);
}

static int check_purge(void *arg, const struct ethos_change *change)
{
    (void)arg;
    assert_string_equal(change->via, "purge");
    assert_string_equal(change->before, change->after);
    return 1;
}

static void test_a_purge_is_the_last_change_of_a_text_that_lost_lines(struct fixture *f)
{
    struct ethos_purge purge = {0};
    require_offered(f->store->ops->purge && f->store->ops->history, "purge and history");
    put_key(f, "a.md", "keep\nthe SECRET\n");
    assert_int_equal(do_purge(f, "SECRET", 0, &purge), ETHOS_OK);
    assert_int_equal(f->store->ops->history(f->store, SCOPE, "a.md", check_purge, NULL, &f->error),
                     1);
}

static void test_a_purge_renames_keys_in_history_as_well(struct fixture *f)
{
    struct ethos_purge purge = {0};
    struct walked walked;
    const struct ethos_match match = {.text = VIEW("falcon"), .salt = 7};
    require_offered(f->store->ops->purge, "purge");
    put_key(f, "falcon-plan.md", "one\n");
    put_key(f, "falcon-plan.md", "one\ntwo\n");
    put_key(f, "falconer.md", "stays\n");
    assert_int_equal(do_purge_as(f, &match, 0, &purge), ETHOS_OK);
    assert_int_equal(purge.names, 1);
    assert_int_equal(do_read(f, SCOPE, "falcon-plan.md"), ETHOS_NOTFOUND);
    assert_text(f, "falconer.md", "stays\n");
    walk_changes(f, NULL, &walked);
    const char *key = NULL;
    for (size_t i = 0; i < walked.count; i++) {
        assert_string_not_equal(walked.changes[i].key, "falcon-plan.md");
        if (strcmp(walked.changes[i].key, "falconer.md") != 0)
            key = walked.changes[i].key;
    }
    assert_non_null(key);
    assert_text(f, key, "one\ntwo\n");
    assert_chain(f, key);
    assert_version(f, key, "one\n");
    assert_int_equal(do_purge_as(f, &match, 0, &purge), ETHOS_OK);
    assert_int_equal(purge.names + purge.versions, 0);
}

/* ---- conflict copies ------------------------------------------------------------------------ */

struct copies {
    size_t count;
    char ids[4][256], keys[4][32];
    uint64_t bytes[4];
};

static int note_copy(void *arg, const struct ethos_conflict *conflict)
{
    struct copies *copies = arg;
    size_t at = copies->count++;
    assert_true(at < 4);
    snprintf(copies->ids[at], sizeof copies->ids[at], "%s", conflict->id);
    snprintf(copies->keys[at], sizeof copies->keys[at], "%s", conflict->key);
    copies->bytes[at] = conflict->bytes;
    assert_string_equal(conflict->kind, "copy");
    return 0;
}

static void list_copies(struct fixture *f, const char *scope, struct copies *out)
{
    memset(out, 0, sizeof *out);
    assert_int_equal(f->store->ops->conflicts(f->store, scope, note_copy, out, &f->error),
                     ETHOS_OK);
}

static void do_set_aside(struct fixture *f, const char *key, const char *text)
{
    assert_int_equal(f->store->ops->set_aside(f->store, SCOPE, key, view_str(text), &f->error),
                     ETHOS_OK);
}

static void test_a_text_set_aside_is_listed_until_it_is_dropped(struct fixture *f)
{
    const struct ethos_store_ops *ops = f->store->ops;
    struct copies copies;
    struct listed_keys listing = {0};
    require_offered(f->store->ops->set_aside, "conflict copies");
    list_copies(f, SCOPE, &copies);
    assert_int_equal(copies.count, 0);
    put_key(f, "a.md", "the file\n");
    do_set_aside(f, "a.md", "first copy\n");
    do_set_aside(f, "b.md", "second\xff");
    list_copies(f, OTHER_SCOPE, &copies);
    assert_int_equal(copies.count, 0);
    list_copies(f, SCOPE, &copies);
    assert_int_equal(copies.count, 2);
    assert_string_equal(copies.keys[0], "a.md");
    assert_string_equal(copies.keys[1], "b.md");
    assert_int_equal(copies.bytes[0], 11);
    assert_string_not_equal(copies.ids[0], copies.ids[1]);
    assert_int_equal(ops->conflict_read(f->store, SCOPE, copies.ids[1], &f->text, &f->error),
                     ETHOS_OK);
    assert_string_equal(f->text.data, "second\xff");
    assert_int_equal(ops->conflict_read(f->store, SCOPE, "nothing", &f->text, &f->error),
                     ETHOS_NOTFOUND);
    assert_int_equal(ops->conflict_drop(f->store, SCOPE, "../a.md", &f->error), ETHOS_NOTFOUND);
    assert_int_equal(do_list(f, SCOPE, &listing), ETHOS_OK);
    assert_string_equal(listing.keys, "a.md ");
    assert_text(f, "a.md", "the file\n");
}

static void test_a_dropped_copy_is_a_version_and_no_change(struct fixture *f)
{
    const struct ethos_store_ops *ops = f->store->ops;
    struct copies copies;
    struct walked walked;
    char revision[ETHOS_REVISION_SIZE];
    require_offered(f->store->ops->set_aside, "conflict copies");
    put_key(f, "a.md", "the file\n");
    do_set_aside(f, "a.md", "the copy\n");
    do_set_aside(f, "a.md", "the file\n");
    list_copies(f, SCOPE, &copies);
    for (size_t i = 0; i < copies.count; i++)
        assert_int_equal(ops->conflict_drop(f->store, SCOPE, copies.ids[i], &f->error), ETHOS_OK);
    assert_int_equal(ops->conflict_drop(f->store, SCOPE, copies.ids[0], &f->error), ETHOS_NOTFOUND);
    list_copies(f, SCOPE, &copies);
    assert_int_equal(copies.count, 0);
    assert_text(f, "a.md", "the file\n");
    assert_version(f, "a.md", "the copy\n");
    put_key(f, "a.md", "after\n");
    walk_changes(f, "a.md", &walked);
    revision_of(f, "the copy\n", revision);
    size_t oldest = walked.count - 1, seen = 0;
    assert_string_equal(walked.changes[0].before, walked.changes[oldest].after);
    for (size_t i = 1; i < oldest; i++) {
        assert_string_equal(walked.changes[i].via, "seen");
        assert_string_equal(walked.changes[i].before, walked.changes[oldest].after);
        seen += strcmp(walked.changes[i].after, revision) == 0;
    }
    assert_int_equal(seen, 1);
}

static void test_a_text_set_aside_again_is_listed_once(struct fixture *f)
{
    struct copies copies;
    require_offered(f->store->ops->set_aside, "conflict copies");
    do_set_aside(f, "a.md", "the copy\n");
    do_set_aside(f, "b.md", "the copy\n");
    do_set_aside(f, "a.md", "the copy\n");
    list_copies(f, SCOPE, &copies);
    assert_int_equal(copies.count, 2);
    assert_string_not_equal(copies.keys[0], copies.keys[1]);
}

static void do_keep(struct fixture *f, const char *key, const char *text)
{
    assert_int_equal(f->store->ops->keep(f->store, SCOPE, key, view_str(text), &f->error),
                     ETHOS_OK);
}

static void test_a_version_added_is_no_change(struct fixture *f)
{
    struct copies copies;
    struct walked walked;
    struct listed_keys listing = {0};
    require_offered(f->store->ops->keep, "keep");
    put_key(f, "a.md", "before\n");
    put_key(f, "a.md", "the file\n");
    for (int i = 0; i < 2; i++) {
        do_keep(f, "a.md", "what came\n");
        do_keep(f, "a.md", "before\n");
        do_keep(f, "none.md", "without a file\n");
    }
    assert_text(f, "a.md", "the file\n");
    assert_version(f, "a.md", "what came\n");
    assert_version(f, "none.md", "without a file\n");
    walk_changes(f, "a.md", &walked);
    assert_int_equal(walked.count, 3);
    assert_string_equal(walked.changes[0].via, "seen");
    assert_string_equal(walked.changes[0].before, walked.changes[1].after);
    assert_int_equal(do_list(f, SCOPE, &listing), ETHOS_OK);
    assert_string_equal(listing.keys, "a.md ");
    list_copies(f, SCOPE, &copies);
    assert_int_equal(copies.count, 0);
}

static void test_a_purge_reaches_conflict_copies(struct fixture *f)
{
    const struct ethos_store_ops *ops = f->store->ops;
    struct ethos_purge purge = {0};
    struct copies copies;
    require_offered(ops->set_aside && ops->purge, "purge of conflict copies");
    do_set_aside(f, "a.md", "mine\nSECRET\n");
    do_set_aside(f, "a.md", "harmless\n");
    assert_int_equal(do_purge(f, "SECRET", 0, &purge), ETHOS_OK);
    assert_int_equal(purge.conflicts, 1);
    list_copies(f, SCOPE, &copies);
    assert_int_equal(copies.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ops->conflict_read(f->store, SCOPE, copies.ids[i], &f->text, &f->error),
                         ETHOS_OK);
        assert_null(strstr(f->text.data, "SECRET"));
    }
}

/* ---- the rules ------------------------------------------------------------------------------ */

const struct rule rules_history[] = {
    RULE(test_every_change_is_recorded_with_both_revisions),
    RULE(test_a_change_remembers_who_and_what),
    RULE(test_what_is_not_known_of_a_change_is_absent),
    RULE(test_every_version_is_readable_byte_for_byte),
    RULE(test_large_versions_are_readable),
    RULE(test_purge_takes_lines_out_of_texts_and_history_for_good),
    RULE(test_a_purge_without_memory_leaves_everything_or_nothing),
    RULE(test_a_purge_takes_whole_words_in_their_letter_case),
    RULE(test_a_purge_tells_the_lines_it_would_take),
    RULE(test_a_purge_is_the_last_change_of_a_text_that_lost_lines),
    RULE(test_a_purge_renames_keys_in_history_as_well),
    RULE(test_a_text_set_aside_is_listed_until_it_is_dropped),
    RULE(test_a_dropped_copy_is_a_version_and_no_change),
    RULE(test_a_text_set_aside_again_is_listed_once),
    RULE_NAMED("test_a_kept_text_is_a_version_and_no_change", test_a_version_added_is_no_change),
    RULE(test_a_purge_reaches_conflict_copies),
};

const size_t rules_history_count = sizeof rules_history / sizeof *rules_history;

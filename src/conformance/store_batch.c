/*
 * store_batch.c: rules for batches: several updates at once have the effect of one after the other.
 *
 * For a store without batches, store_batch runs single updates, so the rules hold for it, too.
 */
#include "conformance/fixture.h"

#define MOST 200

/* ---- short forms of updates ----------------------------------------------------------------- */

/* One update: it adds text to its keys (NULL: deletes them), or is refused. */
struct turn {
    const char *keys[3]; /* up to two, ended by NULL */
    const char *text;
    const char *op_id, *digest; /* or NULL */
    const char *expect;         /* the text its first key must have, "-" for none; NULL: any */
    bool keeps;
    int asked; /* how often its callback was called */
    struct ethos_edit edits[2];
    char texts[2][16384];
    struct ethos_origin origin;
    struct ethos_error error;
};

static int play_turn(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct turn *turn = arg;
    turn->asked++;
    const char *found = edits->old.data ? edits->old.data : "-";
    if (turn->expect && strcmp(turn->expect, found) != 0) {
        snprintf(error->text, sizeof error->text, "refused over: %.100s", found);
        error->code = ETHOS_CONFLICT;
        return ETHOS_CONFLICT;
    }
    for (size_t i = 0; !turn->keeps && i < count; i++) {
        snprintf(turn->texts[i], sizeof turn->texts[i], "%s%s",
                 edits[i].old.data ? edits[i].old.data : "", turn->text ? turn->text : "");
        edits[i].verdict = turn->text ? ETHOS_EDIT_PUT : ETHOS_EDIT_DROP;
        edits[i].text = view_str(turn->texts[i]);
        edits[i].actions = turn->text ? "add" : NULL;
        snprintf(edits[i].receipt, sizeof edits[i].receipt, "of %s", turn->text ? turn->text : "");
    }
    return ETHOS_OK;
}

static void prepare_call(struct turn *turn, struct ethos_edit_call *call)
{
    size_t count = 0;
    for (; count < 2 && turn->keys[count]; count++)
        turn->edits[count] = (struct ethos_edit){.key = turn->keys[count]};
    turn->origin = (struct ethos_origin){
        .actor = turn->text, .op_id = turn->op_id, .op_digest = turn->digest};
    *call = (struct ethos_edit_call){turn->edits,   count,        play_turn,     turn,
                                     &turn->origin, &turn->error, ETHOS_INTERNAL};
}

/* Runs the updates as a batch; codes[i] is the code of each. The old texts are valid until free_turns(). */
static void hand_over(struct fixture *f, struct turn *turns, size_t count, int *codes)
{
    struct ethos_edit_call calls[MOST];
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++)
        prepare_call(&turns[i], &calls[i]);
    store_batch(f->store, SCOPE, calls, count);
    for (size_t i = 0; i < count; i++)
        codes[i] = calls[i].code;
}

static void free_turns(struct fixture *f, struct turn *turns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free_edits(f, turns[i].edits, 2);
}

/* ---- rules ---------------------------------------------------------------------------------- */

static void test_each_update_sees_what_those_before_it_left(struct fixture *f)
{
    struct turn turns[] = {{.keys = {"a.md"}, .text = "2", .expect = "1"},
                           {.keys = {"b.md"}, .text = "x", .expect = "-"},
                           {.keys = {"a.md", "b.md"}, .text = "3", .expect = "12"},
                           {.keys = {"a.md"}, .keeps = true, .expect = "123"},
                           {.keys = {"b.md"}, .expect = "x3"},
                           {.keys = {"b.md"}, .text = "y", .expect = "-"}};
    char revision[ETHOS_REVISION_SIZE];
    int codes[6];
    put_key(f, "a.md", "1");
    hand_over(f, turns, 6, codes);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(codes[i], ETHOS_OK);
    revision_of(f, "12", revision);
    assert_string_equal(turns[0].edits[0].revision, revision);
    assert_string_equal(turns[2].edits[0].old.revision, revision);
    revision_of(f, "123", revision);
    assert_string_equal(turns[2].edits[0].revision, revision);
    assert_string_equal(turns[3].edits[0].revision, revision);
    assert_string_equal(turns[4].edits[0].revision, "");
    assert_null(turns[5].edits[0].old.data);
    assert_text(f, "a.md", "123");
    assert_text(f, "b.md", "y");
    free_turns(f, turns, 6);
}

static void test_a_refused_update_fails_alone(struct fixture *f)
{
    struct turn turns[] = {{.keys = {"a.md"}, .text = "1", .expect = "other"},
                           {.keys = {"a.md"}, .text = "2"},
                           {.keys = {"a.md", "b.md"}, .text = "3", .expect = "-"},
                           {.keys = {"a.md", "a.md"}, .text = "4"},
                           {.keys = {"a.md"}, .text = "5"}};
    int codes[5];
    hand_over(f, turns, 5, codes);
    assert_int_equal(codes[0], ETHOS_CONFLICT);
    assert_string_equal(turns[0].error.text, "refused over: -");
    assert_int_equal(codes[1], ETHOS_OK);
    assert_int_equal(codes[2], ETHOS_CONFLICT);
    assert_string_equal(turns[2].error.text, "refused over: 2");
    assert_int_equal(codes[3], ETHOS_INVALID);
    assert_int_equal(turns[3].asked, 0);
    assert_int_equal(codes[4], ETHOS_OK);
    assert_text(f, "a.md", "25");
    assert_absent(f, "b.md");
    free_turns(f, turns, 5);
}

static void test_a_batch_that_keeps_everything_leaves_the_store_untouched(struct fixture *f)
{
    struct turn turns[] = {{.keys = {"a.md"}, .keeps = true},
                           {.keys = {"b.md"}},
                           {.keys = {"a.md"}, .text = "1", .expect = "x"}};
    struct listed_keys listing = {0};
    int codes[3];
    hand_over(f, turns, 3, codes);
    assert_int_equal(codes[0], ETHOS_OK);
    assert_int_equal(codes[1], ETHOS_OK);
    assert_int_equal(codes[2], ETHOS_CONFLICT);
    assert_int_equal(do_list(f, SCOPE, &listing), ETHOS_OK);
    assert_int_equal(listing.count, 0);
    store_batch(f->store, SCOPE, NULL, 0);
    free_turns(f, turns, 3);
}

static void test_an_operation_id_holds_within_a_batch(struct fixture *f)
{
    struct turn turns[] = {{.keys = {"a.md"}, .text = "1", .op_id = "op", .digest = "d"},
                           {.keys = {"a.md"}, .text = "2"},
                           {.keys = {"a.md"}, .text = "1", .op_id = "op", .digest = "d"},
                           {.keys = {"a.md"}, .text = "3", .op_id = "op", .digest = "other"},
                           {.keys = {"a.md"}, .keeps = true, .op_id = "none", .digest = "d"},
                           {.keys = {"a.md"}, .text = "4", .op_id = "none", .digest = "e"}};
    char revision[ETHOS_REVISION_SIZE];
    int codes[6];
    require_once(f);
    hand_over(f, turns, 6, codes);
    assert_int_equal(codes[2], ETHOS_OK);
    assert_int_equal(turns[2].edits[0].verdict, ETHOS_EDIT_REPEATED);
    revision_of(f, "1", revision);
    assert_string_equal(turns[2].edits[0].revision, revision);
    assert_string_equal(turns[2].edits[0].receipt, "of 1");
    assert_int_equal(codes[3], ETHOS_DENIED);
    assert_string_equal(turns[3].error.text, "operation id used for other updates: op");
    assert_int_equal(codes[4], ETHOS_OK);
    assert_int_equal(codes[5], ETHOS_OK); // the one before changed nothing
    assert_text(f, "a.md", "124");
    free_turns(f, turns, 6);
}

static void test_each_operation_id_of_a_batch_is_remembered(struct fixture *f)
{
    struct turn turns[] = {{.keys = {"a.md"}, .text = "1", .op_id = "op1", .digest = "d"},
                           {.keys = {"a.md", "b.md"}, .text = "2", .op_id = "op2", .digest = "d"},
                           {.keys = {"c.md"}, .text = "3", .op_id = "op3", .digest = "d"},
                           {.keys = {"c.md"}, .op_id = "op4", .digest = "d"}};
    int codes[4];
    require_once(f);
    hand_over(f, turns, 4, codes);
    free_turns(f, turns, 4);
    put_key(f, "a.md", "since");
    for (size_t i = 0; i < 4; i++)
        turns[i].asked = 0;
    hand_over(f, turns, 4, codes);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(codes[i], ETHOS_OK);
        assert_int_equal(turns[i].asked, 0);
        assert_int_equal(turns[i].edits[0].verdict, ETHOS_EDIT_REPEATED);
    }
    assert_string_equal(turns[1].edits[1].receipt, "of 2");
    assert_text(f, "a.md", "since");
    assert_absent(f, "c.md");
    free_turns(f, turns, 4);
}

/* ---- how long an operation id is remembered ------------------------------------------------- */

/*
 * Runs so many small operations, in batches. Ids of later calls sort before those of earlier ones, which is fast for a
 * store with a sorted list.
 */
static void do_others(struct fixture *f, unsigned count)
{
    static struct turn turns[MOST];
    static char ids[MOST][24];
    static unsigned done;
    int codes[MOST];
    for (unsigned left = count, some; left > 0; left -= some) {
        some = left < MOST ? left : MOST;
        for (unsigned i = 0; i < some; i++) {
            snprintf(ids[i], sizeof ids[i], "other-%08u", 99999999 - done++);
            turns[i] = (struct turn){
                .keys = {"b.md"}, .op_id = ids[i], .digest = "d", .text = i % 2 ? NULL : "x"};
        }
        hand_over(f, turns, some, codes);
        free_turns(f, turns, some);
        for (unsigned i = 0; i < some; i++)
            assert_int_equal(codes[i], ETHOS_OK);
    }
}

/* Runs an operation, lets time and other operations pass, and repeats it: that must change nothing. */
static void assert_remembered(struct fixture *f, int64_t later_ms, unsigned others)
{
    struct turn turn = {.keys = {"a.md"}, .text = "1", .op_id = "op", .digest = "d"};
    int code;
    for (int i = 0; i < 2; i++) {
        hand_over(f, &turn, 1, &code);
        free_turns(f, &turn, 1);
        assert_int_equal(code, ETHOS_OK);
        if (i > 0)
            break;
        clock_forward(later_ms);
        do_others(f, others);
    }
    assert_int_equal(turn.edits[0].verdict, ETHOS_EDIT_REPEATED);
    assert_string_equal(turn.edits[0].receipt, "of 1");
    assert_text(f, "a.md", "1");
}

static void test_an_old_operation_id_is_remembered_among_few(struct fixture *f)
{
    require_once(f);
    assert_remembered(f, 2 * ETHOS_OPID_DAYS * INT64_C(86400000), 600);
}

/* A store without batches gets fewer operations. */
static void test_a_recent_operation_id_is_remembered_among_many(struct fixture *f)
{
    require_once(f);
    assert_remembered(f, 0, f->store->ops->batch ? ETHOS_OPID_COUNT + 600 : 600);
}

/* ---- history -------------------------------------------------------------------------------- */

struct walked {
    size_t count;
    char actors[MOST][8], keys[MOST][8], before[MOST][ETHOS_REVISION_SIZE],
        after[MOST][ETHOS_REVISION_SIZE], op_ids[MOST][8];
};

static int record_batch_change(void *arg, const struct ethos_change *change)
{
    struct walked *walked = arg;
    size_t at = walked->count++;
    assert_true(at < MOST);
    snprintf(walked->actors[at], 8, "%s", change->actor ? change->actor : "-");
    snprintf(walked->keys[at], 8, "%s", change->key);
    snprintf(walked->op_ids[at], 8, "%s", change->op_id ? change->op_id : "-");
    snprintf(walked->before[at], ETHOS_REVISION_SIZE, "%s", change->before);
    snprintf(walked->after[at], ETHOS_REVISION_SIZE, "%s", change->after);
    return 0;
}

static void walk_batch_history(struct fixture *f, const char *key, struct walked *out)
{
    out->count = 0;
    assert_int_equal(
        f->store->ops->history(f->store, SCOPE, key, record_batch_change, out, &f->error),
        ETHOS_OK);
}

static void test_each_update_of_a_batch_has_its_own_history(struct fixture *f)
{
    struct turn turns[] = {{.keys = {"a.md"}, .text = "1", .op_id = "op1", .digest = "d"},
                           {.keys = {"b.md", "a.md"}, .text = "2"},
                           {.keys = {"a.md"}, .text = "x", .expect = "-"},
                           {.keys = {"a.md"}, .text = "3"}};
    struct walked *walked = calloc(1, sizeof *walked);
    int codes[4];
    if (!has_history(f) || !has_once(f)) {
        free(walked);
        not_offered("history of operations");
    }
    hand_over(f, turns, 4, codes);
    walk_batch_history(f, "a.md", walked);
    assert_int_equal(walked->count, 3);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(walked->before[i], walked->after[i + 1]);
    assert_string_equal(walked->before[2], "absent");
    assert_string_equal(walked->actors[0], "3");
    assert_string_equal(walked->actors[1], "2");
    assert_string_equal(walked->actors[2], "1");
    assert_string_equal(walked->op_ids[2], "op1");
    assert_string_equal(walked->op_ids[1], "-");
    walk_batch_history(f, NULL, walked);
    assert_int_equal(walked->count, 4);
    free_turns(f, turns, 4);
    free(walked);
}

static void test_what_a_batch_takes_back_is_still_in_the_history(struct fixture *f)
{
    struct turn turns[] = {{.keys = {"a.md"}, .text = "1"},
                           {.keys = {"b.md"}, .text = "2"},
                           {.keys = {"b.md"}},
                           {.keys = {"c.md"}, .text = "3"},
                           {.keys = {"a.md"}},
                           {.keys = {"a.md"}, .text = "0"}};
    struct walked *walked = calloc(1, sizeof *walked);
    char revision[ETHOS_REVISION_SIZE];
    int codes[6];
    put_key(f, "a.md", "0");
    hand_over(f, turns, 6, codes);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(codes[i], ETHOS_OK);
    assert_text(f, "a.md", "0");
    assert_absent(f, "b.md");
    assert_text(f, "c.md", "3");
    if (has_history(f)) {
        walk_batch_history(f, "b.md", walked);
        assert_int_equal(walked->count, 2);
        walk_batch_history(f, "a.md", walked);
        assert_int_equal(walked->count, 4);
        revision_of(f, "01", revision);
        assert_string_equal(walked->after[2], revision);
        assert_int_equal(
            f->store->ops->version(f->store, SCOPE, "a.md", revision, &f->text, &f->error),
            ETHOS_OK);
        assert_string_equal(f->text.data, "01");
    }
    free_turns(f, turns, 6);
    free(walked);
}

static void test_a_batch_that_changes_nothing_in_the_end_is_recorded(struct fixture *f)
{
    struct turn turns[] = {{.keys = {"b.md"}, .text = "2"}, {.keys = {"b.md"}}};
    struct walked *walked = calloc(1, sizeof *walked);
    int codes[2];
    hand_over(f, turns, 2, codes);
    assert_int_equal(codes[0], ETHOS_OK);
    assert_int_equal(codes[1], ETHOS_OK);
    assert_absent(f, "b.md");
    if (has_history(f)) {
        walk_batch_history(f, "b.md", walked);
        assert_int_equal(walked->count, 2);
    }
    put_key(f, "b.md", "3");
    assert_text(f, "b.md", "3");
    free_turns(f, turns, 2);
    free(walked);
}

static void test_every_version_of_a_long_batch_is_reachable(struct fixture *f)
{
    struct turn *turns = calloc(MOST, sizeof *turns);
    struct walked *walked = calloc(1, sizeof *walked);
    int codes[MOST];
    assert_non_null(turns);
    for (size_t i = 0; i < MOST; i++)
        turns[i] = (struct turn){.keys = {"a.md"}, .text = "one more line\n"};
    hand_over(f, turns, MOST, codes);
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(codes[i], ETHOS_OK);
    if (has_history(f)) {
        walk_batch_history(f, "a.md", walked);
        assert_int_equal(walked->count, MOST);
        for (size_t i = 0; i < MOST; i++) {
            assert_int_equal(f->store->ops->version(f->store, SCOPE, "a.md", walked->after[i],
                                                    &f->text, &f->error),
                             ETHOS_OK);
            assert_int_equal(f->text.size, (MOST - i) * strlen("one more line\n"));
        }
    }
    free_turns(f, turns, MOST);
    free(turns);
    free(walked);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void test_without_memory_each_update_is_done_or_not(struct fixture *f)
{
    bool reached = true;
    for (unsigned long n = 1; reached; n++) {
        struct turn turns[] = {{.keys = {"a.md"}, .text = "1"},
                               {.keys = {"a.md", "b.md"}, .text = "2"},
                               {.keys = {"a.md"}, .text = "3"}};
        int codes[3];
        char expected[64] = "0";
        put_key(f, "a.md", "0");
        memory_fail_at(f, n);
        hand_over(f, turns, 3, codes);
        reached = memory_count(f) >= n;
        memory_fail_at(f, 0);
        for (size_t i = 0; i < 3; i++) {
            assert_true(codes[i] == ETHOS_OK || (reached && codes[i] == ETHOS_NOMEM));
            if (codes[i] == ETHOS_OK)
                snprintf(expected + strlen(expected), 8, "%s", turns[i].text);
        }
        assert_text(f, "a.md", expected);
        free_turns(f, turns, 3);
    }
}

/* Changes of one update share a group with no other update. A store need not record groups. */
struct groups {
    uint64_t group[8], size[8];
    size_t count;
};

static int note_group(void *arg, const struct ethos_change *change)
{
    struct groups *groups = arg;
    groups->group[groups->count] = change->group;
    groups->size[groups->count++] = change->group_size;
    return groups->count == 8 ? 1 : ETHOS_OK;
}

static void test_the_changes_of_one_update_are_told_from_those_of_others(struct fixture *f)
{
    struct turn turns[] = {{.keys = {"a.md"}, .text = "1"},
                           {.keys = {"b.md", "a.md"}, .text = "1"},
                           {.keys = {"c.md", "a.md"}, .text = "1"}};
    struct groups groups = {0};
    int codes[3];
    if (!has_history(f) || !f->store->ops->update)
        not_offered("updates of several texts");
    hand_over(f, turns, 3, codes);
    free_turns(f, turns, 3);
    assert_int_equal(f->store->ops->history(f->store, SCOPE, NULL, note_group, &groups, &f->error),
                     ETHOS_OK);
    assert_int_equal(groups.count, 5);
    if (groups.group[0] == 0)
        not_offered("groups");
    assert_int_equal(groups.group[0], groups.group[1]);
    assert_int_equal(groups.group[2], groups.group[3]);
    assert_true(groups.group[1] != groups.group[2]);
    assert_true(groups.group[3] != groups.group[4]);
    assert_int_equal(groups.size[0], 2);
    assert_int_equal(groups.size[3], 2);
    assert_int_equal(groups.size[4], 1);
}

const struct rule rules_batch[] = {
    RULE(test_each_update_sees_what_those_before_it_left),
    RULE(test_a_refused_update_fails_alone),
    RULE(test_a_batch_that_keeps_everything_leaves_the_store_untouched),
    RULE(test_an_operation_id_holds_within_a_batch),
    RULE(test_each_operation_id_of_a_batch_is_remembered),
    RULE(test_an_old_operation_id_is_remembered_among_few),
    RULE(test_a_recent_operation_id_is_remembered_among_many),
    RULE(test_each_update_of_a_batch_has_its_own_history),
    RULE(test_the_changes_of_one_update_are_told_from_those_of_others),
    RULE(test_what_a_batch_takes_back_is_still_in_the_history),
    RULE(test_a_batch_that_changes_nothing_in_the_end_is_recorded),
    RULE(test_every_version_of_a_long_batch_is_reachable),
    RULE(test_without_memory_each_update_is_done_or_not),
};
const size_t rules_batch_count = sizeof rules_batch / sizeof *rules_batch;

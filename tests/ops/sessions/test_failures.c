/*
 * test_failures.c: sessions.*, with the first, second, ... allocation
 * or system call failing.
 *
 * As in test_failures.c: an answer is whole or there is none, a change is made or it is not, and the
 * next attempt works. SQLite allocates a great deal, so that later ones are tried with growing steps.
 */
#include "sessions.h"

struct row {
    const char *name, *args;
    bool dry, guarded;
};

#define ID "\"id\":\"" FIRST "\""

static const struct row rows[] = {
    {"sessions.list", "{}", false, false},
    {"sessions.list", "{\"query\":\"redis deploy\",\"all\":true}", false, false},
    {"sessions.get", "{" ID ",\"last\":3}", false, false},
    {"sessions.get", "{" ID ",\"from\":\"a2\",\"limit\":1,\"maxChars\":3}", false, false},
    {"sessions.get", "{\"id\":\"other\"}", false, true},
    {"sessions.search", "{\"query\":\"redis\"}", false, false},
    {"search.all", "{\"query\":\"redis\"}", false, false},
    {"sessions.search", "{\"query\":\"redis\"}", false, true},
    {"sessions.list", "{\"query\":\"redis\",\"since\":\"2025-01-01\"}", false, true},
    {"sessions.current", "{}", false, false},
    {"sessions.current", "{\"new\":true}", false, false},
    {"sessions.current", "{}", true, false},
    {"sessions.new", "{}", false, false},
    {"sessions.append", "{\"content\":\"next\",\"session\":\"" FIRST "\"}", false, false},
    {"sessions.append", "{\"content\":\"next\"}", true, false},
    {"sessions.undo", "{" ID "}", false, false},
    {"sessions.undo", "{" ID "}", true, false},
    {"sessions.fork", "{" ID "}", false, false},
    {"sessions.fork", "{" ID "}", true, false},
    {"sessions.update", "{" ID ",\"title\":\"New\"}", false, false},
    {"sessions.pin", "{" ID "}", false, false},
    {"sessions.unpin", "{" ID "}", true, false},
    {"sessions.delete", "{" ID "}", false, false},
    {"sessions.delete", "{" ID "}", true, false},
    {"sessions.prune", "{\"olderThan\":\"2025-02-01\"}", false, false},
    {"sessions.prune", "{\"olderThan\":\"2025-02-01\"}", true, false},
    {"sessions.export", "{" ID "}", false, false},
    {"sessions.export", "{" ID ",\"format\":\"json\"}", false, false},
    {"sessions.import", "{\"path\":\"../theirs.jsonl\"}", false, false},
    {"sessions.import", "{\"path\":\"../theirs.jsonl\"}", true, false},
    {"sessions.drain", "{}", false, false},
    {"sessions.drain", "{}", true, false},
    {"hooks.run",
     "{\"agent\":\"codex\",\"event\":\"Stop\",\"input\":\"{\\\"session_id\\\":\\\"c\\\","
     "\\\"turn_id\\\":\\\"1\\\",\\\"last_assistant_message\\\":\\\"done\\\"}\"}",
     false, false},
};

/* ---- one call -------------------------------------------------------------------------------- */

/* Ids that are made differ from run to run. */
static void drop_ids(json_t *value)
{
    const char *name;
    json_t *member;
    size_t index;
    struct ethos_view id = json_view(value, "id");
    bool known = view_eq_str(id, FIRST) || view_eq_str(id, SECOND) || view_eq_str(id, EMPTY);
    if (id.size == ETHOS_UUID_SIZE - 1 && !known)
        json_object_set_new(value, "id", json_null());
    json_object_foreach (value, name, member)
        drop_ids(member);
    json_array_foreach (value, index, member)
        drop_ids(member);
}

struct answer {
    int code, beside;
    unsigned long allocations;
    char *text;
};

static void ask(struct world *world, const struct row *row, unsigned long fail_at, struct nth *nth,
                struct answer *answer)
{
    struct op_result result;
    json_t *args = parse_args(row->args);
    world_open(world);
    os_hook(nth ? nth_fails : NULL, nth);
    alloc_fail_at(fail_at);
    answer->code = call_op_for(world, row->name, args, row->dry, row->guarded, &result);
    answer->allocations = alloc_count();
    alloc_fail_at(0);
    os_hook(NULL, NULL);
    answer->beside = result.code;
    drop_ids(result.json);
    answer->text = NULL;
    if (answer->code == ETHOS_OK)
        answer->text = result.json ? json_dumps(result.json, JSON_COMPACT)
                                   : strdup(result.text.data);
    op_result_release(&result);
    json_decref(args);
    world_close(world);
}

/* ---- what must hold -------------------------------------------------------------------------- */

struct trial {
    const struct row *row;
    struct answer right;
    char *before, *after;
};

enum state { UNDONE, PARTLY, DONE };

/* These may stop between their steps, and go on with the next attempt. All else is done or not. */
static bool has_steps(const struct row *row)
{
    return strcmp(row->name, "sessions.import") == 0 || strcmp(row->name, "sessions.drain") == 0 ||
           strcmp(row->name, "hooks.run") == 0;
}

static enum state state_of(struct world *world, const struct trial *trial)
{
    char *now = dump_sessions(world);
    enum state state = strcmp(now, trial->before) == 0  ? UNDONE
                       : strcmp(now, trial->after) == 0 ? DONE
                                                        : PARTLY;
    if (state == PARTLY && !has_steps(trial->row))
        fail_msg("%s: neither what was there nor what should be:\n%s", trial->row->name, now);
    free(now);
    return state;
}

static void assert_retry(struct world *world, const struct trial *trial, enum state state)
{
    struct answer again;
    ask(world, trial->row, 0, NULL, &again);
    if (again.code != ETHOS_OK)
        fail_msg("%s: the next attempt failed: %s", trial->row->name, world->error.text);
    if (state == UNDONE)
        assert_string_equal(again.text, trial->right.text);
    assert_true(state_of(world, trial) == DONE || strcmp(trial->before, trial->after) == 0);
    free(again.text);
}

static void check(struct world *world, const struct trial *trial, struct answer *answer)
{
    bool told = answer->code != ETHOS_OK || answer->beside != ETHOS_OK;
    bool changes = strcmp(trial->before, trial->after) != 0;
    if (answer->code != ETHOS_OK)
        assert_error(&world->error, answer->code, answer->code);
    if (!told)
        assert_string_equal(answer->text, trial->right.text);
    enum state state = state_of(world, trial);
    assert_true(told || !changes || state == DONE);
    if (state != DONE)
        assert_retry(world, trial, state);
    if (changes)
        make_sessions(world);
    free(answer->text);
}

static void trial_begin(struct world *world, const struct row *row, struct trial *trial)
{
    *trial = (struct trial){.row = row};
    temp_write(&world->temp, "theirs.jsonl", "{\"role\":\"user\",\"content\":\"theirs\"}\n");
    make_sessions(world);
    trial->before = dump_sessions(world);
    ask(world, row, 0, NULL, &trial->right);
    if (trial->right.code != ETHOS_OK)
        fail_msg("%s: %s", row->name, world->error.text);
    trial->after = dump_sessions(world);
    if (row->dry)
        assert_string_equal(trial->before, trial->after);
    make_sessions(world);
}

static void trial_end(struct trial *trial)
{
    free(trial->before);
    free(trial->after);
    free(trial->right.text);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static void test_every_operation_is_tried(void **state)
{
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        bool tried = strncmp(op->name, "sessions.", 9) != 0 && strncmp(op->name, "hooks.", 6) != 0;
        for (size_t i = 0; i < COUNT(rows); i++)
            tried = tried || strcmp(rows[i].name, op->name) == 0;
        if (!tried)
            fail_msg("%s has no row in this test", op->name);
    }
}

static void test_without_memory(void **state)
{
    struct world *world = *state;
    unsigned long step = getenv("CHECK_LONG") ? 1
                                              : 4; // calls are much the same as their neighbours
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trial trial;
        struct answer answer;
        bool hit = true;
        trial_begin(world, &rows[i], &trial);
        for (unsigned long n = 1 + i % step; hit; n += step + n / 32) {
            ask(world, &rows[i], n, NULL, &answer);
            hit = answer.allocations >= n;
            if (answer.code != ETHOS_OK)
                assert_int_equal(answer.code, ETHOS_NOMEM);
            check(world, &trial, &answer);
        }
        print_message("# %s%s: %lu allocations\n", rows[i].name, rows[i].dry ? ", dry" : "",
                      trial.right.allocations);
        trial_end(&trial);
    }
}

static void test_with_a_failing_call(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trial trial;
        struct nth nth = {.number = 0, .errnum = EIO};
        trial_begin(world, &rows[i], &trial);
        do {
            struct answer answer;
            nth.number++;
            nth.calls = 0;
            nth.failed[0] = 0;
            ask(world, &rows[i], 0, &nth, &answer);
            check(world, &trial, &answer);
        } while (nth.failed[0]);
        trial_end(&trial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation_is_tried),
        WORLD_LOOP(test_without_memory),
        WORLD_LOOP(test_with_a_failing_call),
    };

    return cmocka_run_group_tests_name("ops/sessions_failures", tests, NULL, NULL);
}

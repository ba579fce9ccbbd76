/*
 * test_rights.c: who may run what, and what a model may read of the answer.
 */
#include "../memory/world.h"

#include "ops/op.h"

#define SECRET "ghp_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"

/* ---- rights --------------------------------------------------------------------------------- */

static void test_rights_have_names_and_the_owners_is_not_given_away(void **state)
{
    (void)state;
    for (enum op_right right = OP_MEMORY_READ; right < OP_OWNER; right++) {
        enum op_right parsed = OP_OWNER;
        assert_true(op_right_parse(view_str(op_right_name(right)), &parsed));
        assert_int_equal(parsed, right);
    }
    enum op_right parsed;
    assert_false(op_right_parse(view_str("owner"), &parsed));
    assert_false(op_right_parse(view_str("memory"), &parsed));
    assert_false(op_right_parse(view_str(""), &parsed));
}

/* For every row and every set of rights: exactly its own right decides. */
static void test_an_operation_needs_its_own_right(void **state)
{
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        for (unsigned rights = 0; rights < 1u << (OP_OWNER + 1); rights++) {
            bool given = op->right == OP_ANYBODY || (rights & OP_RIGHT(op->right));
            bool own = op->effect & OP_LOCAL;
            if (op_allowed(op, rights) != (given && !own))
                fail_msg("%s with %x", op->name, rights);
        }
    }
}

/* No key purges: what cannot be undone is the owner's; sessions.delete a person's key may, too. */
static void test_what_cannot_be_undone_is_never_an_agents(void **state)
{
    const unsigned keys = OP_RIGHT(OP_OWNER) - 1;
    size_t final = 0;
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (!(op->effect & OP_FINAL))
            continue;
        final++;
        if (op_allowed(op, ~0u))
            fail_msg("%s: an agent may", op->name);
        if (op_allowed(op, keys) != (strcmp(op->name, "sessions.delete") == 0))
            fail_msg("%s: a key", op->name);
    }
    assert_true(final > 5);
}

/* What the guard hides is a person's to see and to allow: whatever an agent's key says, it may not. */
static void test_hidden_lines_are_a_persons(void **state)
{
    static const char *const names[] = {"memory.hidden", "memory.showLine", "memory.hideLine"};
    const unsigned person = OP_RIGHT(OP_MEMORY_READ) | OP_RIGHT(OP_MEMORY_WRITE);
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct op *op = op_find(names[i]);
        assert_true(op_allowed(op, person));
        assert_false(op_allowed(op, ~0u));
        assert_false(op_allowed(op, person | OP_AGENT));
        assert_false(op_allowed(op, OP_RIGHTS_AGENT));
    }
    assert_false(op_allowed(op_find("memory.showLine"), OP_RIGHT(OP_MEMORY_READ)));
}

static void test_reading_rights_change_nothing(void **state)
{
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op))
        if (op_allowed(op, OP_RIGHTS_READ) && (op->effect & OP_WRITES))
            fail_msg("%s writes", op->name);
}

static int run_as(struct world *world, const char *name, const char *args, unsigned rights,
                  bool guarded, struct op_result *result)
{
    static const struct ethos_request nothing;
    json_t *object = json_loads(args, 0, NULL);
    struct op_call call = {
        .request = &nothing, .args = object, .want_json = true, .guarded = guarded, .via = "test"};
    if (!world->ethos)
        world_open(world);
    call.ethos = world->ethos;
    memset(&world->error, 0, sizeof world->error);
    op_result_init(result);
    int code = op_run_as(op_find(name), rights, &call, result, &world->error);
    json_decref(object);
    return code;
}

static void test_without_the_right_nothing_happens(void **state)
{
    struct world *world = *state;
    struct op_result result;
    int code = run_as(world, "memory.add", "{\"content\":\"x\"}", OP_RIGHTS_READ, false, &result);
    assert_error(&world->error, code, ETHOS_DENIED);
    assert_non_null(strstr(world->error.hint, "memory:write"));
    op_result_release(&result);
    assert_false(world_exists(world, "home"));
    code = run_as(world, "config.set", "{\"key\":\"personality\",\"value\":\"x\"}", ~0u, false,
                  &result);
    assert_error(&world->error, code, ETHOS_DENIED);
    op_result_release(&result);
    code = run_as(world, "memory.add", "{\"content\":\"x\"}", OP_RIGHTS_AGENT, false, &result);
    assert_ok(world, code);
    op_result_release(&result);
}

/* ---- what a model reads --------------------------------------------------------------------- */

static void test_a_guarded_answer_has_no_secret_wherever_it_stands(void **state)
{
    static const char *const rows[][2] = {
        {"memory.get", "{}"},
        {"memory.list", "{}"},
        {"memory.prefetch", "{}"},
        {"memory.history", "{\"diff\":true}"},
        {"memory.search", "{\"query\":\"token\"}"},
        {"memory.blame", "{}"},
    };
    struct world *world = *state;
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, "{\"action\":\"add\",\"content\":\"token " SECRET "\"}"));
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (int guarded = 0; guarded <= 1; guarded++) {
            struct op_result result;
            assert_ok(world,
                      run_as(world, rows[i][0], rows[i][1], OP_RIGHTS_READ, guarded, &result));
            char *text = json_dumps(result.json, JSON_ENCODE_ANY);
            bool block = strcmp(rows[i][0], "memory.prefetch") == 0;
            bool own = block || strcmp(rows[i][0], "memory.search") == 0; // redact for everybody
            if ((strstr(text, SECRET) != NULL) == (guarded || own))
                fail_msg("%s, guarded %d: %s", rows[i][0], guarded, text);
            assert_int_equal(result.withheld, guarded && !block);
            free(text);
            op_result_release(&result);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rights_have_names_and_the_owners_is_not_given_away),
        cmocka_unit_test(test_an_operation_needs_its_own_right),
        cmocka_unit_test(test_what_cannot_be_undone_is_never_an_agents),
        cmocka_unit_test(test_hidden_lines_are_a_persons),
        cmocka_unit_test(test_reading_rights_change_nothing),
        WORLD_TEST(test_without_the_right_nothing_happens),
        WORLD_TEST(test_a_guarded_answer_has_no_secret_wherever_it_stands),
    };

    return cmocka_run_group_tests_name("ops/rights", tests, NULL, NULL);
}

/*
 * test_personalities_concurrent.c: people and programs that change personalities at the same time.
 */
#include <sys/wait.h>

#include "../../memory/world.h"

#include "base/json.h"
#include "ops/op.h"

enum { CHILDREN = 4, ROUNDS = 10 };

static int run(struct world *world, const char *name, const char *format, ...)
{
    const struct ethos_request request = {.personality = "default", .user = "me"};
    char args[256];
    va_list list;
    va_start(list, format);
    vsnprintf(args, sizeof args, format, list);
    va_end(list);
    struct op_result result;
    json_t *object = json_loads(args, 0, NULL);
    struct op_call call = {
        .ethos = world->ethos, .request = &request, .args = object, .via = "test"};
    assert_non_null(object);
    op_result_init(&result);
    int code = op_run(op_find(name), &call, &result, &world->error);
    op_result_release(&result);
    json_decref(object);
    return code;
}

/* Each child in a process with a handle of its own; how many ended with 0. */
static int run_children(struct world *world, void (*body)(struct world *world, int child))
{
    pid_t children[CHILDREN];
    int good = 0, status;
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            world_open(world);
            body(world, i);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        good += status == 0;
    }
    return good;
}

static void update_often(struct world *world, int child)
{
    for (int i = 0; i < ROUNDS; i++) {
        int code = run(world, "personalities.update",
                       "{\"id\":\"maker\",\"soulMd\":\"%d %d\",\"description\":\"%d\"}", child, i,
                       child);
        if (code != ETHOS_OK) {
            fprintf(stderr, "%s\n", world->error.text);
            _exit(1);
        }
    }
    _exit(0);
}

static void test_changes_at_once_are_all_made(void **state)
{
    struct world *world = *state;
    world_open(world);
    assert_int_equal(run(world, "personalities.create", "{\"id\":\"maker\",\"soulMd\":\"x\"}"),
                     ETHOS_OK);
    ethos_close(world->ethos);
    world->ethos = NULL;
    assert_int_equal(run_children(world, update_often), CHILDREN);
    assert_true(world_exists(world, "home/personalities/maker/SOUL.md"));
}

static void create_one(struct world *world, int child)
{
    (void)child;
    _exit(run(world, "personalities.create", "{\"id\":\"same\",\"soulMd\":\"x\"}") != ETHOS_OK);
}

static void test_only_one_of_many_makes_it(void **state)
{
    assert_int_equal(run_children(*state, create_one), 1);
    assert_true(world_exists(*state, "home/personalities/same/SOUL.md"));
    assert_true(world_exists(*state, "home/personalities/same/config.yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_changes_at_once_are_all_made),
        WORLD_TEST(test_only_one_of_many_makes_it),
    };
    return cmocka_run_group_tests_name("ops/personalities", tests, NULL, NULL);
}

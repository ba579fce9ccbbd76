/*
 * test_scopes.c: which scopes a home has: those with memory, plain ones and trees.
 */
#include "home.h"

struct told {
    char names[1024];
};

static int add_name(void *arg, const char *scope)
{
    struct told *told = arg;
    size_t used = strlen(told->names);
    snprintf(told->names + used, sizeof told->names - used, "%s ", scope);
    return 0;
}

static void assert_scopes(struct home *home, const char *expected)
{
    struct told told = {""};
    memset(&home->error, 0, sizeof home->error);
    assert_int_equal(home->store->ops->scopes(home->store, add_name, &told, &home->error),
                     ETHOS_OK);
    assert_string_equal(told.names, expected);
}

static void test_a_home_that_is_not_there_has_none_and_is_not_made(void **state)
{
    struct home *home = *state;
    assert_scopes(home, "");
    assert_false(home_exists(home, "home"));
}

static void test_plain_scopes_and_trees_are_told_in_byte_order(void **state)
{
    struct home *home = *state;
    static const char *const scopes[] = {"workspace:w",   "global",
                                         "user:b",        "user:a-1",
                                         "user:a",        "memories:workspace:w",
                                         "team:t",        "memories:personality:only-a-tree",
                                         "personality:p", "memories:global"};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        bool tree = strncmp(scopes[i], "memories:", 9) == 0;
        assert_int_equal(home_write(home, scopes[i], tree ? "below/it.md" : "a.md", "1\n"),
                         ETHOS_OK);
    }
    assert_scopes(home, "global memories:global memories:personality:only-a-tree "
                        "memories:workspace:w personality:p team:t user:a user:a-1 user:b "
                        "workspace:w ");
}

static void test_a_directory_without_memory_is_no_scope(void **state)
{
    struct home *home = *state;
    home_put(home, "home/personalities/p/config.yaml", "memory.provider: files\n");
    home_put(home, "home/users/not an id/MEMORY.md", "1\n");
    home_put(home, "home/users/a-file", "1\n");
    home_mkdir(home, "home/users/empty/memories/below");
    assert_scopes(home, "");
    home_put(home, "home/personalities/p/MEMORY.md", "by hand\n");
    home_put(home, "home/users/u/memories/below/it.md", "by hand\n");
    assert_scopes(home, "memories:user:u personality:p ");
}

static void test_a_scope_whose_texts_are_gone_is_still_told(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, "user:u", "a.md", "1\n"), ETHOS_OK);
    assert_int_equal(home_remove(home, "user:u", "a.md"), ETHOS_OK);
    assert_scopes(home, "user:u ");
}

static void test_a_scope_that_cannot_be_looked_at_is_not_passed_over(void **state)
{
    struct home *home = *state;
    struct told told = {""};
    assert_int_equal(home_write(home, "user:u", "a.md", "1\n"), ETHOS_OK);
    home_mkdir(home, "outside");
    home_link(home, "../../outside", "home/users/away");
    assert_int_equal(home->store->ops->scopes(home->store, add_name, &told, &home->error),
                     ETHOS_DENIED);
    assert_non_null(strstr(home->error.text, "users/away"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOME_TEST(test_a_home_that_is_not_there_has_none_and_is_not_made),
        HOME_TEST(test_plain_scopes_and_trees_are_told_in_byte_order),
        HOME_TEST(test_a_directory_without_memory_is_no_scope),
        HOME_TEST(test_a_scope_whose_texts_are_gone_is_still_told),
        HOME_TEST(test_a_scope_that_cannot_be_looked_at_is_not_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

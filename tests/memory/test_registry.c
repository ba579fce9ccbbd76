/*
 * test_registry.c: backends by name, shared objects, and the options of a backend.
 */
#include "memory/registry.h"

#include "modules.h"

static int find(struct world *world, const char *name, struct backend *backend)
{
    memset(&world->error, 0, sizeof world->error);
    *backend = (struct backend){0};
    return registry_find(name, backend, &world->error);
}

static void assert_not_found(struct world *world, const char *name, int code, const char *part)
{
    struct backend backend;
    assert_error(&world->error, find(world, name, &backend), code);
    assert_non_null(strstr(world->error.text, part));
    assert_null(backend.library);
}

/* ---- by name -------------------------------------------------------------------------------- */

static void test_every_listed_name_is_found(void **state)
{
    struct backend backend;

    for (size_t i = 0; registry_names[i]; i++) {
        assert_ok(*state, find(*state, registry_names[i], &backend));
        assert_true((backend.store != NULL) != (backend.provider != NULL));
        registry_release(&backend);
    }
}

static void test_other_names_are_refused_by_name(void **state)
{
    struct world *world = *state;

    assert_not_found(world, "vector", ETHOS_INVALID, "unknown memory provider: vector");
    assert_not_found(world, "", ETHOS_INVALID, "unknown memory provider: ");
    assert_not_found(world, "Markdown", ETHOS_INVALID, "unknown memory provider: Markdown");
    assert_string_equal(world->error.hint, "did you mean markdown?");
    assert_not_found(world, "a\nb", ETHOS_INVALID, "unknown memory provider: ");
}

static void test_a_relative_path_is_not_a_path(void **state)
{
    struct world *world = *state;
    char path[PATH_MAX];

    module_copy(world, HELLO, 0600, path);
    assert_int_equal(fchdir(world->temp.fd), 0);
    assert_not_found(world, "copy.so", ETHOS_INVALID, "unknown memory provider: copy.so");
    assert_not_found(world, "./copy.so", ETHOS_INVALID, "unknown memory provider: ./copy.so");
}

/* ---- shared objects ------------------------------------------------------------------------- */

static void test_a_module_offers_a_provider_or_a_store(void **state)
{
    struct world *world = *state;
    struct backend backend;
    char path[PATH_MAX];

    module_path(HELLO, path);
    assert_ok(world, find(world, path, &backend));
    assert_non_null(backend.provider);
    assert_string_equal(backend.provider->name, "hello");
    registry_release(&backend);
    assert_null(backend.library);
    module_path("modules/slate.so", path);
    assert_ok(world, find(world, path, &backend));
    assert_null(backend.provider);
    assert_string_equal(backend.store->name, "slate");
    registry_release(&backend);
}

static void test_bad_modules_are_refused_with_the_reason(void **state)
{
    static const struct {
        const char *name;
        int code;
        const char *part;
    } rows[] = {
        {"modules/old.so", ETHOS_UNSUPPORTED, "ABI 2, not 1"},
        {"modules/mixed.so", ETHOS_UNSUPPORTED, "ABI 8, not 1"},
        {"modules/hollow.so", ETHOS_INVALID, "a mandatory function is missing"},
        {"modules/empty.so", ETHOS_INVALID, "offers neither"},
        {"modules/stranger.so", ETHOS_INVALID, "does not define ethos_module"},
    };
    char path[PATH_MAX];

    for (size_t i = 0; i < COUNT(rows); i++) {
        module_path(rows[i].name, path);
        assert_not_found(*state, path, rows[i].code, rows[i].part);
    }
}

static void test_what_is_no_shared_object_is_refused(void **state)
{
    struct world *world = *state;
    char path[PATH_MAX];

    assert_not_found(world, "/nowhere/at/all.so", ETHOS_NOTFOUND, "/nowhere/at/all.so");
    snprintf(path, sizeof path, "%s/text.so", world->temp.path);
    temp_write(&world->temp, "text.so", "not machine code\n");
    assert_not_found(world, path, ETHOS_INVALID, "text.so");
    assert_not_found(world, world->temp.path, ETHOS_INVALID, "not a shared object");
}

static void test_code_that_others_may_change_is_not_run(void **state)
{
    static const mode_t bad[] = {0620, 0602, 0777}, good[] = {0600, 0644, 0755};
    struct world *world = *state;
    struct backend backend;
    char path[PATH_MAX];

    for (size_t i = 0; i < COUNT(bad); i++) {
        module_copy(world, HELLO, bad[i], path);
        assert_not_found(world, path, ETHOS_DENIED, "others may change this shared object");
        assert_non_null(strstr(world->error.hint, "chmod go-w"));
    }
    for (size_t i = 0; i < COUNT(good); i++) {
        module_copy(world, HELLO, good[i], path);
        assert_ok(world, find(world, path, &backend));
        registry_release(&backend);
    }
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_not_found(world, path, ETHOS_DENIED, "others may change this shared object");
    }
}

/* ---- options -------------------------------------------------------------------------------- */

static int open_slate(struct world *world, const char *name, const char *value)
{
    const struct ethos_setting setting = {name, value};
    const struct ethos_setup setup = {.host = &world->host,
                                      .settings = &setting,
                                      .setting_count = name ? 1 : 0,
                                      .root = world->home};
    struct backend backend;
    struct ethos_provider *provider = NULL;
    char path[PATH_MAX];

    module_path("modules/slate.so", path);
    assert_ok(world, find(world, path, &backend));
    int code = registry_open(&backend, &setup, (struct registry_group){0}, &provider,
                             &world->error);
    assert_int_equal(provider != NULL, code == ETHOS_OK);
    if (provider)
        provider->ops->close(provider);
    registry_release(&backend);
    return code;
}

static void test_options_are_checked_before_the_backend_sees_them(void **state)
{
    struct world *world = *state;

    assert_ok(world, open_slate(world, NULL, NULL));
    assert_ok(world, open_slate(world, "prefix", ""));
    assert_ok(world, open_slate(world, "size", "-12"));
    assert_ok(world, open_slate(world, "fail", "false"));
    assert_error(&world->error, open_slate(world, "size", "12k"), ETHOS_INVALID);
    assert_string_equal(world->error.text, "memory.options.size: '12k' is not a number");
    assert_int_equal(open_slate(world, "size", ""), ETHOS_INVALID);
    assert_error(&world->error, open_slate(world, "fail", "on"), ETHOS_INVALID);
    assert_string_equal(world->error.text, "memory.options.fail: 'on' is not true or false");
    assert_error(&world->error, open_slate(world, "prefixx", "x"), ETHOS_INVALID);
    assert_string_equal(world->error.text, "unknown option: memory.options.prefixx");
    assert_string_equal(world->error.hint, "did you mean memory.options.prefix?");
}

static void test_a_backend_that_does_not_open_says_why(void **state)
{
    struct world *world = *state;

    assert_error(&world->error, open_slate(world, "fail", "true"), ETHOS_IO);
    assert_string_equal(world->error.text, "slate: told to fail");
}

static int open_answer;

static int open_to_nothing(const struct ethos_setup *setup, struct ethos_store **out_store,
                           struct ethos_error *error)
{
    (void)setup, (void)out_store, (void)error;
    return open_answer;
}

static void test_a_backend_that_opens_to_nothing_is_named(void **state)
{
    static const int answers[] = {ETHOS_OK, ETHOS_BUSY, 77, -77};
    static const int codes[] = {ETHOS_INVALID, ETHOS_BUSY, ETHOS_INVALID, ETHOS_INVALID};
    const struct ethos_store_ops ops = {.abi = ETHOS_ABI, .name = "odd", .open = open_to_nothing};
    const struct backend backend = {.store = &ops};
    struct world *world = *state;
    const struct ethos_setup setup = {.host = &world->host, .root = world->home};

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct ethos_provider *provider = NULL;
        open_answer = answers[i];
        snprintf(world->error.text, sizeof world->error.text, "of another call");
        int code = registry_open(&backend, &setup, (struct registry_group){0}, &provider,
                                 &world->error);
        assert_error(&world->error, code, codes[i]);
        assert_non_null(strstr(world->error.text, "odd: the memory provider failed to open"));
        assert_null(provider);
    }
}

static void test_a_backend_without_options_takes_none(void **state)
{
    struct world *world = *state;
    const struct ethos_setting setting = {"anything", "x"};
    const struct ethos_setup setup = {
        .host = &world->host, .settings = &setting, .setting_count = 1, .root = world->home};
    struct backend backend;
    struct ethos_provider *provider = NULL;

    assert_ok(world, find(world, "markdown", &backend));
    int code = registry_open(&backend, &setup, (struct registry_group){0}, &provider,
                             &world->error);
    assert_error(&world->error, code, ETHOS_INVALID);
    registry_release(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_listed_name_is_found),
        WORLD_TEST(test_other_names_are_refused_by_name),
        WORLD_TEST(test_a_relative_path_is_not_a_path),
        WORLD_TEST(test_a_module_offers_a_provider_or_a_store),
        WORLD_TEST(test_bad_modules_are_refused_with_the_reason),
        WORLD_TEST(test_what_is_no_shared_object_is_refused),
        WORLD_TEST(test_code_that_others_may_change_is_not_run),
        WORLD_TEST(test_options_are_checked_before_the_backend_sees_them),
        WORLD_TEST(test_a_backend_that_does_not_open_says_why),
        WORLD_TEST(test_a_backend_that_opens_to_nothing_is_named),
        WORLD_TEST(test_a_backend_without_options_takes_none),
    };

    return cmocka_run_group_tests_name("memory/registry", tests, NULL, NULL);
}

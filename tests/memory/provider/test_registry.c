/*
 * test_registry.c: backends by name, shared objects, and the options of a backend.
 */
#include "memory/provider/registry.h"

#include "base/str.h"
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

static void test_the_first_name_is_part_of_the_program(void **state)
{
    struct backend backend;

    assert_ok(*state, find(*state, registry_names[0], &backend));
    assert_non_null(backend.store);
    assert_null(backend.library);
}

/* This program has no lib/ethos beside it. */
static void test_a_module_that_is_not_installed_is_named_with_its_package(void **state)
{
    struct world *world = *state;

    for (size_t i = 1; registry_names[i]; i++) {
        char part[64];
        snprintf(part, sizeof part, "/lib/ethos/%s.so is not there", registry_names[i]);
        assert_not_found(world, registry_names[i], ETHOS_NOTFOUND, part);
        snprintf(part, sizeof part, "install the package ethos-%s", registry_names[i]);
        assert_non_null(strstr(world->error.hint, part));
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
        {"modules/old.so", ETHOS_UNSUPPORTED, "ABI 5, not 4"},
        {"modules/mixed.so", ETHOS_UNSUPPORTED, "ABI 11, not 4"},
        {"modules/hollow.so", ETHOS_INVALID, "a mandatory member is missing: open"},
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

static int open_module(struct world *world, const struct secrets_given *given)
{
    const struct ethos_setup setup = {.host = &world->host, .root = world->home};
    struct backend backend;
    struct ethos_provider *provider = NULL;
    char path[PATH_MAX];

    module_path("modules/slate.so", path);
    assert_ok(world, find(world, path, &backend));
    int code = registry_open(&backend, &setup, given, (struct registry_group){0}, &provider,
                             &world->error);
    assert_int_equal(provider != NULL, code == ETHOS_OK);
    if (provider)
        provider->ops->close(provider);
    registry_release(&backend);
    return code;
}

static int open_slate(struct world *world, const char *name, const char *value)
{
    const struct ethos_setting setting = {name, value};
    const struct secrets_given given = {&setting, name ? 1 : 0, NULL, world->temp.path, NULL};
    return open_module(world, &given);
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

/* ---- secrets -------------------------------------------------------------------------------- */

static void test_a_secret_comes_from_a_file_or_a_variable(void **state)
{
    struct world *world = *state;
    char path[128];

    assert_ok(world, open_slate(world, "pin", "1234"));
    assert_error(&world->error, open_slate(world, "pin", "4321"), ETHOS_DENIED);
    assert_string_equal(world->error.text, "slate: wrong pin");
    setenv("SLATE_PIN", "1234", 1);
    assert_ok(world, open_slate(world, "pinEnv", "SLATE_PIN"));
    unsetenv("SLATE_PIN");
    assert_error(&world->error, open_slate(world, "pinEnv", "SLATE_PIN"), ETHOS_INVALID);
    assert_non_null(strstr(world->error.text, "the variable SLATE_PIN is not set"));
    temp_write(&world->temp, "pin", "1234\n");
    assert_ok(world, open_slate(world, "pinFile", "pin"));
    snprintf(path, sizeof path, "%s/pin", world->temp.path);
    assert_ok(world, open_slate(world, "pinFile", path));
    temp_write(&world->temp, "pin", "1234\r\n");
    assert_ok(world, open_slate(world, "pinFile", "pin"));
    temp_write(&world->temp, "pin", "1234\n\n");
    assert_int_equal(open_slate(world, "pinFile", "pin"), ETHOS_DENIED);
}

static void test_a_file_that_is_no_secret_is_refused(void **state)
{
    struct world *world = *state;
    char path[128], *text = calloc(1, SECRETS_MAX_BYTES + 2);

    assert_int_equal(open_slate(world, "pinFile", "nowhere"), ETHOS_NOTFOUND);
    assert_int_equal(open_slate(world, "pinFile", "/dev/null"), ETHOS_INVALID);
    temp_write(&world->temp, "pin", "\n");
    assert_error(&world->error, open_slate(world, "pinFile", "pin"), ETHOS_INVALID);
    assert_non_null(strstr(world->error.text, "there is no secret in it"));
    memset(text, '1', SECRETS_MAX_BYTES + 1);
    temp_write(&world->temp, "pin", text);
    assert_int_equal(open_slate(world, "pinFile", "pin"), ETHOS_LIMIT);
    text[SECRETS_MAX_BYTES] = 0;
    temp_write(&world->temp, "pin", text);
    assert_error(&world->error, open_slate(world, "pinFile", "pin"), ETHOS_DENIED);
    assert_string_equal(world->error.text, "slate: wrong pin");
    free(text);
    temp_write(&world->temp, "pin", "1234");
    snprintf(path, sizeof path, "%s/pin", world->temp.path);
    for (size_t i = 0; i < 2; i++) {
        chmod(path, i ? 0604 : 0640);
        assert_error(&world->error, open_slate(world, "pinFile", "pin"), ETHOS_DENIED);
        assert_non_null(strstr(world->error.text, "others may read this secret"));
        assert_non_null(strstr(world->error.hint, "chmod 600"));
    }
    chmod(path, 0400);
    assert_ok(world, open_slate(world, "pinFile", "pin"));
}

static void test_a_secret_that_others_may_read_is_refused(void **state)
{
    struct world *world = *state;
    const struct ethos_setting settings[] = {{"prefix", "x"}, {"pin", "1234"}};
    const struct ethos_setting named = {"pinFile", "pin"};
    const bool exposed[] = {true, true};
    const struct secrets_given given = {settings, 2, exposed, world->temp.path, NULL};
    const struct secrets_given by_name = {&named, 1, exposed, world->temp.path, NULL};

    assert_error(&world->error, open_module(world, &given), ETHOS_DENIED);
    assert_string_equal(world->error.text,
                        "memory.options.pin: others may read the file that contains it");
    assert_non_null(strstr(world->error.hint, "pinFile"));
    temp_write(&world->temp, "pin", "1234");
    assert_ok(world, open_module(world, &by_name));
}

static void test_a_secret_is_given_in_one_way(void **state)
{
    struct world *world = *state;
    const struct ethos_setting settings[] = {{"pin", "1234"}, {"pinEnv", "HOME"}};
    const struct secrets_given given = {settings, 2, NULL, world->temp.path, NULL};

    assert_error(&world->error, open_module(world, &given), ETHOS_INVALID);
    assert_string_equal(world->error.text, "memory.options.pin: set in two ways");
    assert_string_equal(world->error.hint, "keep one of pin, pinFile and pinEnv");
    assert_int_equal(open_slate(world, "prefixFile", "pin"), ETHOS_INVALID); // is no secret
}

static void test_what_is_shown_has_no_passwords(void **state)
{
    static const struct ethos_option options[] = {{"pin", ETHOS_OPTION_SECRET, NULL, NULL},
                                                  {NULL, ETHOS_OPTION_STRING, NULL, NULL}};
    static const struct {
        const char *key, *value, *shown;
    } rows[] = {
        {"memory.options.pin", "1234", "***"},
        {"memory.options.pinFile", "a/b", "a/b"},
        {"memory.options.pinEnv", "PIN", "PIN"},
        {"memory.options.password", "x", "***"},
        {"memory.options.password", "", ""},
        {"openai_api_key", "sk-1", "***"},
        {"bot.TOKEN", "x", "***"},
        {"maxTokens", "5", "5"},
        {"memory.options.url", "postgres://ann:pa:ss@db/x?a=b@c", "postgres://ann:***@db/x?a=b@c"},
        {"memory.options.url", "redis://:pw@db", "redis://:***@db"},
        {"memory.options.url", "postgres://ann@db:5432/x", "postgres://ann@db:5432/x"},
        {"memory.options.url", "https://db/x?password=p&q=1", "https://db/x?password=***&q=1"},
        {"memory.options.dsn", "host=db password=p w=1", "host=db password=*** w=1"},
        {"memory.options.dsn", "password = 'a b' host=x", "password = *** host=x"},
        {"memory.options.dsn", "password='a", "password=***"},
        {"memory.options.dsn", "sslpassword=p", "sslpassword=***"},
        {"memoryScope", "global", "global"},
    };
    struct str out;
    (void)state;

    str_init(&out, 4096);
    for (size_t i = 0; i < COUNT(rows); i++) {
        str_clear(&out);
        assert_int_equal(secrets_mask(options, rows[i].key, rows[i].value, &out), ETHOS_OK);
        assert_string_equal(out.size ? out.data : "", rows[i].shown);
    }
    str_release(&out);
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
    const struct secrets_given none = {0};

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct ethos_provider *provider = NULL;
        open_answer = answers[i];
        snprintf(world->error.text, sizeof world->error.text, "of another call");
        int code = registry_open(&backend, &setup, &none, (struct registry_group){0}, &provider,
                                 &world->error);
        assert_error(&world->error, code, codes[i]);
        assert_non_null(strstr(world->error.text, "odd: the memory provider failed to open"));
        assert_null(provider);
    }
}

static struct ethos_store boasting;
static bool boast_closed;

static int open_boasting(const struct ethos_setup *setup, struct ethos_store **out_store,
                         struct ethos_error *error)
{
    (void)setup, (void)error;
    *out_store = &boasting;
    return ETHOS_OK;
}

static void close_boasting(struct ethos_store *store)
{
    assert_ptr_equal(store, &boasting);
    boast_closed = true;
}

static void test_what_a_store_announces_it_has_functions_for(void **state)
{
    static const struct {
        uint32_t capabilities;
        const char *says;
    } rows[] = {
        {ETHOS_STORE_PATHS, "odd: announces ETHOS_STORE_PATHS, and has no locate"},
        {ETHOS_STORE_ONCE, "odd: announces ETHOS_STORE_ONCE, and has no update"},
        {ETHOS_STORE_HISTORY, "odd: announces ETHOS_STORE_HISTORY, and has no history and version"},
        {0, "odd: the opened store has no table of functions"}};
    const struct ethos_store_ops ops = {
        .abi = ETHOS_ABI, .name = "odd", .open = open_boasting, .close = close_boasting};
    const struct backend backend = {.store = &ops};
    struct world *world = *state;
    const struct ethos_setup setup = {.host = &world->host, .root = world->home};
    const struct secrets_given none = {0};

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ethos_store *store = NULL;
        boasting = (struct ethos_store){.ops = rows[i].capabilities ? &ops : NULL,
                                        .capabilities = rows[i].capabilities};
        boast_closed = false;
        int code = registry_open_store(&backend, &setup, &none, &store, &world->error);
        assert_error(&world->error, code, ETHOS_INVALID);
        assert_string_equal(world->error.text, rows[i].says);
        assert_true(boast_closed);
    }
}

static void test_a_backend_without_options_takes_none(void **state)
{
    struct world *world = *state;
    const struct ethos_setting setting = {"anything", "x"};
    const struct secrets_given given = {&setting, 1, NULL, world->temp.path, NULL};
    const struct ethos_setup setup = {.host = &world->host, .root = world->home};
    struct backend backend;
    struct ethos_provider *provider = NULL;

    assert_ok(world, find(world, "markdown", &backend));
    int code = registry_open(&backend, &setup, &given, (struct registry_group){0}, &provider,
                             &world->error);
    assert_error(&world->error, code, ETHOS_INVALID);
    registry_release(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_the_first_name_is_part_of_the_program),
        WORLD_TEST(test_a_module_that_is_not_installed_is_named_with_its_package),
        WORLD_TEST(test_other_names_are_refused_by_name),
        WORLD_TEST(test_a_relative_path_is_not_a_path),
        WORLD_TEST(test_a_module_offers_a_provider_or_a_store),
        WORLD_TEST(test_bad_modules_are_refused_with_the_reason),
        WORLD_TEST(test_what_is_no_shared_object_is_refused),
        WORLD_TEST(test_code_that_others_may_change_is_not_run),
        WORLD_TEST(test_options_are_checked_before_the_backend_sees_them),
        WORLD_TEST(test_a_secret_comes_from_a_file_or_a_variable),
        WORLD_TEST(test_a_file_that_is_no_secret_is_refused),
        WORLD_TEST(test_a_secret_that_others_may_read_is_refused),
        WORLD_TEST(test_a_secret_is_given_in_one_way),
        WORLD_TEST(test_what_is_shown_has_no_passwords),
        WORLD_TEST(test_a_backend_that_does_not_open_says_why),
        WORLD_TEST(test_a_backend_that_opens_to_nothing_is_named),
        WORLD_TEST(test_what_a_store_announces_it_has_functions_for),
        WORLD_TEST(test_a_backend_without_options_takes_none),
    };

    return cmocka_run_group_tests_name("memory/registry", tests, NULL, NULL);
}

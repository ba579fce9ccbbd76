/*
 * test_config.c: what the keys of config.yaml mean, and how one is changed.
 */
#include "memory/home/config.h"

#include "../world.h"
#include "base/str.h"

/* ---- the table ------------------------------------------------------------------------------ */

static void test_rows_are_complete_and_their_defaults_valid(void **state)
{
    (void)state;
    for (const struct config_option *row = config_options; row->key; row++) {
        assert_true(row->help && row->help[0]);
        assert_true(row->where & (CONFIG_HOME | CONFIG_PERSONALITY));
        assert_ptr_equal(config_find(row->key), row); // so keys are unique, too
        assert_true((row->type == CONFIG_CHOICE) == (row->choices != NULL));
        assert_true(row->type != CONFIG_INTEGER || row->min < row->max);
        if (row->fallback)
            assert_int_equal(config_check(row, row->key, row->fallback, NULL), ETHOS_OK);
    }
}

static void test_a_family_stands_for_the_keys_below_it(void **state)
{
    (void)state;
    assert_string_equal(config_find("memory.options.path")->key, "memory.options.*");
    assert_string_equal(config_find("memoryCapture.a.b")->key, "memoryCapture.*");
    assert_null(config_find("memory.options."));
    assert_null(config_find("memory.option"));
    assert_null(config_find("prefetch"));
    assert_null(config_find(""));
}

static void test_a_typo_is_answered_with_the_nearest_key(void **state)
{
    (void)state;
    assert_string_equal(config_nearest("prefetch.maxchar"), "prefetch.maxChars");
    assert_string_equal(config_nearest("memoryscope"), "memoryScope");
    assert_null(config_nearest("nothing like any of them"));
}

struct value_row {
    const char *key, *value;
    bool ok;
};

static void test_values_are_checked_by_type(void **state)
{
    static const struct value_row rows[] = {
        {"prefetch.maxChars", "1000", true},   {"prefetch.maxChars", "200000", true},
        {"prefetch.maxChars", "999", false},   {"prefetch.maxChars", "200001", false},
        {"prefetch.maxChars", "", false},      {"prefetch.maxChars", "12k", false},
        {"prefetch.maxChars", "0x7d0", false}, {"prefetch.maxChars", "1e4", false},
        {"prefetch.maxChars", "-2000", false}, {"prefetch.maxChars", "99999999999999999999", false},
        {"prefetch.guard", "on", true},        {"prefetch.guard", "off", true},
        {"prefetch.guard", "true", true},      {"prefetch.guard", "false", true},
        {"prefetch.guard", "ON", false},       {"prefetch.guard", "", false},
        {"prefetch.guard", "o", false},        {"prefetch.guard", "on|true", false},
        {"memoryScope", "global", true},       {"memoryScope", "per-personality", true},
        {"memoryScope", "per", false},         {"memoryScope", "", false},
        {"memoryScope", "Global", false},      {"userScope", "personality", true},
        {"durability", "fast", true},          {"durability", "slow", false},
        {"memory.provider", "anything", true}, {"paths.allow", "/a,/b", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ethos_error error = {0};
        int code = config_check(config_find(rows[i].key), rows[i].key, rows[i].value, &error);
        if (rows[i].ok) {
            assert_int_equal(code, ETHOS_OK);
            continue;
        }
        assert_error(&error, code, ETHOS_INVALID);
        assert_true(error.hint[0] != 0);
        assert_non_null(strstr(error.text, rows[i].key));
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

static int load(struct world *world, struct config *config, const char *name, unsigned where)
{
    memset(&world->error, 0, sizeof world->error);
    return config_load(config, world->temp.fd, name, where, &world->error);
}

static void load_home(struct world *world, struct config *config, const char *text)
{
    temp_write(&world->temp, "config.yaml", text);
    assert_ok(world, load(world, config, "config.yaml", CONFIG_HOME));
}

static void test_flat_and_nested_mean_the_same(void **state)
{
    static const char *const texts[] = {
        "prefetch.maxChars: 5000\nmemory.options.a.b: x\n",
        "prefetch:\n  maxChars: 5000\nmemory:\n  options:\n    a:\n      b: x\n",
        "prefetch: {maxChars: 5000}\nmemory.options:\n  a.b: x\n",
        "prefetch.maxChars: 5000\nprefetch:\n  maxChars: 5000\nmemory.options.a.b: x\n",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        struct config config = {0};
        load_home(*state, &config, texts[i]);
        assert_int_equal(config_integer(&config, NULL, "prefetch.maxChars"), 5000);
        assert_string_equal(config_get(&config, NULL, "memory.options.a.b"), "x");
        config_release(&config);
    }
}

static void test_both_forms_with_different_values_are_an_error_naming_both_lines(void **state)
{
    struct world *world = *state;
    struct config config = {0};

    temp_write(&world->temp, "config.yaml",
               "prefetch.maxChars: 5000\n\nprefetch:\n  maxChars: 6000\n");
    int code = load(world, &config, "config.yaml", CONFIG_HOME);
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_string_equal(
        world->error.text,
        "config.yaml:4: another value for the key prefetch.maxChars, first on line 1");
    config_release(&config);
}

static void test_lists_are_yaml_or_separated_by_commas(void **state)
{
    static const char *const texts[] = {"paths.allow: /a,/b\n", "paths.allow: [/a, /b]\n",
                                        "paths:\n  allow:\n    - /a\n    - /b\n"};

    for (size_t i = 0; i < COUNT(texts); i++) {
        struct config config = {0};
        load_home(*state, &config, texts[i]);
        assert_string_equal(config_get(&config, NULL, "paths.allow"), "/a,/b");
        config_release(&config);
    }
}

static void test_a_bad_value_is_named_with_file_line_and_key(void **state)
{
    struct world *world = *state;
    struct config config = {0};

    temp_write(&world->temp, "config.yaml", "# mine\n\nprefetch:\n  maxChars: 5\n");
    int code = load(world, &config, "config.yaml", CONFIG_HOME);
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_string_equal(world->error.text, "config.yaml:4: prefetch.maxChars: '5' is out of range");
    assert_string_equal(world->error.hint, "use a number from 1000 to 200000");
    config_release(&config);
}

static void note_unknown(void *arg, const struct yaml_pair *pair)
{
    char *seen = arg;
    snprintf(seen + strlen(seen), 64, "%u %s=%s;", pair->line, pair->key, pair->value);
}

static void test_unknown_keys_are_kept_and_reported(void **state)
{
    struct config config = {0};
    char seen[256] = "";

    load_home(*state, &config, "color: red\nmemoryScope: global\nmemoryCapture.x: 1\na:\n  b: 2\n");
    config_unknown(&config, note_unknown, seen);
    assert_string_equal(seen, "1 color=red;5 a.b=2;");
    assert_string_equal(config_get(&config, NULL, "color"), "red");
    config_release(&config);
}

static void test_the_scalar_memory_is_the_provider(void **state)
{
    struct config config = {0}, both = {0};

    load_home(*state, &config, "memory: vector\n");
    assert_string_equal(config_get(&config, NULL, "memory.provider"), "vector");
    load_home(*state, &both, "memory: vector\nmemory.provider: markdown\n");
    assert_string_equal(config_get(&both, NULL, "memory.provider"), "markdown");
    config_release(&config);
    config_release(&both);
}

static void test_without_a_file_the_defaults_hold(void **state)
{
    struct world *world = *state;
    struct config config = {0};

    assert_ok(world, load(world, &config, "config.yaml", CONFIG_HOME));
    assert_string_equal(config_get(&config, NULL, "personality"), "default");
    assert_string_equal(config_get(&config, NULL, "memory.provider"), "markdown");
    assert_int_equal(config_integer(&config, NULL, "prefetch.maxChars"), 20000);
    assert_true(config_switch(&config, NULL, "prefetch.guard"));
    assert_null(config_get(&config, NULL, "user.id"));
    assert_null(config_own(&config, "personality"));
    assert_null(config_own(NULL, "personality"));
    config_release(&config);
}

static void test_the_personality_wins_where_it_may_speak(void **state)
{
    struct world *world = *state;
    struct config home = {0}, own = {0};

    load_home(world, &home, "memoryScope: global\nprefetch.guard: off\nuserScope: user\n");
    /* prefetch.* is none of a personality's business: neither used nor checked there. */
    temp_write(&world->temp, "own.yaml", "memoryScope: per-personality\nprefetch.guard: maybe\n");
    assert_ok(world, load(world, &own, "own.yaml", CONFIG_PERSONALITY));
    assert_string_equal(config_get(&home, &own, "memoryScope"), "per-personality");
    assert_string_equal(config_get(&home, &own, "userScope"), "user");
    assert_false(config_switch(&home, &own, "prefetch.guard"));
    config_release(&home);
    config_release(&own);
}

/* ---- reading again -------------------------------------------------------------------------- */

static int count_reads(void *arg, const char *call, unsigned long number)
{
    (void)number;
    *(int *)arg += strcmp(call, "read") == 0;
    return 0;
}

static void test_a_file_is_read_again_only_when_it_changed(void **state)
{
    struct world *world = *state;
    struct config config = {0};
    int reads = 0;

    load_home(world, &config, "personality: a\n");
    os_hook(count_reads, &reads);
    assert_ok(world, load(world, &config, "config.yaml", CONFIG_HOME));
    assert_int_equal(reads, 0);
    load_home(world, &config, "personality: other\n");
    assert_true(reads > 0);
    assert_string_equal(config_get(&config, NULL, "personality"), "other");
    world_unlink(world, "config.yaml");
    assert_ok(world, load(world, &config, "config.yaml", CONFIG_HOME));
    assert_string_equal(config_get(&config, NULL, "personality"), "default");
    config_release(&config);
}

static void test_a_broken_file_is_an_error_until_it_is_mended(void **state)
{
    struct world *world = *state;
    struct config config = {0};

    load_home(world, &config, "personality: a\n");
    temp_write(&world->temp, "config.yaml", "personality: [\n");
    for (int i = 0; i < 2; i++)
        assert_int_equal(load(world, &config, "config.yaml", CONFIG_HOME), ETHOS_INVALID);
    load_home(world, &config, "personality: mended\n");
    assert_string_equal(config_get(&config, NULL, "personality"), "mended");
    config_release(&config);
}

static void test_what_is_no_ordinary_file_is_an_error(void **state)
{
    struct world *world = *state;
    struct config config = {0};

    assert_int_equal(mkdirat(world->temp.fd, "config.yaml", 0700), 0);
    assert_int_equal(load(world, &config, "config.yaml", CONFIG_HOME), ETHOS_IO);
    assert_int_equal(unlinkat(world->temp.fd, "config.yaml", AT_REMOVEDIR), 0);
    assert_int_equal(mkfifoat(world->temp.fd, "config.yaml", 0600), 0);
    assert_int_equal(load(world, &config, "config.yaml", CONFIG_HOME), ETHOS_IO);
    world_unlink(world, "config.yaml");
    world_link(world, "/etc/passwd", "config.yaml");
    assert_int_not_equal(load(world, &config, "config.yaml", CONFIG_HOME), ETHOS_OK);
    config_release(&config);
}

static void test_a_file_beyond_the_limit_is_refused(void **state)
{
    struct world *world = *state;
    struct config config = {0};
    char *text = malloc(ETHOS_MAX_YAML_BYTES + 2);

    assert_non_null(text);
    memset(text, '#', ETHOS_MAX_YAML_BYTES + 1);
    text[ETHOS_MAX_YAML_BYTES + 1] = 0;
    temp_write(&world->temp, "config.yaml", text);
    assert_int_equal(load(world, &config, "config.yaml", CONFIG_HOME), ETHOS_LIMIT);
    text[ETHOS_MAX_YAML_BYTES] = 0;
    temp_write(&world->temp, "config.yaml", text);
    assert_int_equal(load(world, &config, "config.yaml", CONFIG_HOME), ETHOS_OK);
    free(text);
    config_release(&config);
}

static void test_a_file_that_cannot_be_read_is_never_taken_for_an_absent_one(void **state)
{
    struct world *world = *state;
    struct nth nth = {.errnum = EIO};
    int code = -1;

    temp_write(&world->temp, "config.yaml", "memoryScope: global\n");
    for (nth.number = 1; code != ETHOS_OK || nth.failed[0]; nth.number++) {
        struct config config = {0};
        nth.calls = 0;
        nth.failed[0] = 0;
        os_hook(nth_fails, &nth);
        code = load(world, &config, "config.yaml", CONFIG_HOME);
        os_hook(NULL, NULL);
        if (code == ETHOS_OK)
            assert_string_equal(config_get(&config, NULL, "memoryScope"), "global");
        else
            assert_error(&world->error, code, ETHOS_IO);
        config_release(&config);
    }
    assert_true(nth.number > 3);
}

static void test_without_memory_a_file_is_not_half_read(void **state)
{
    struct world *world = *state;
    int code = -1;

    temp_write(&world->temp, "config.yaml", "memoryScope: global\nprefetch:\n  maxChars: 3000\n");
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct config config = {0};
        code = load(world, &config, "config.yaml", CONFIG_HOME);
        if (code == ETHOS_OK)
            assert_int_equal(config_integer(&config, NULL, "prefetch.maxChars"), 3000);
        else
            assert_error(&world->error, code, ETHOS_NOMEM);
        config_release(&config);
    }
}

/* ---- editing -------------------------------------------------------------------------------- */

struct edit_row {
    const char *before, *key, *value, *after;
};

static void assert_edit(const struct edit_row *row)
{
    struct ethos_error error = {0};
    struct str out;

    str_init(&out, ETHOS_MAX_YAML_BYTES);
    int code = config_edit(view_str(row->before), "config.yaml", row->key, row->value, &out,
                           &error);
    if (code != ETHOS_OK)
        fail_msg("%s: %s", row->before, error.text);
    assert_string_equal(out.data, row->after);
    str_release(&out);
}

static void test_a_key_is_changed_in_place_and_every_other_byte_stays(void **state)
{
    static const struct edit_row rows[] = {
        {"a: 1\n# note\nb: 2 # why\nc: 3\n", "b", "x", "a: 1\n# note\nb: x # why\nc: 3\n"},
        {"p:\n  q: 1\n  r: 2\n", "p.q", "9", "p:\n  q: 9\n  r: 2\n"},
        {"a: 'old one'\r\nb: 2\r\n", "a", "new", "a: new\r\nb: 2\r\n"},
        {"a:\nb: 2\n", "a", "1", "a: 1\nb: 2\n"},
        {"a: 1", "a", "2", "a: 2"},
        {"a: 1\n", "a", "1", "a: 1\n"},
        {"\n\n  \n", "a", "1", "\n\n  \na: 1\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_edit(&rows[i]);
}

static void test_a_new_key_is_appended_flat(void **state)
{
    static const struct edit_row rows[] = {
        {"", "prefetch.maxChars", "3000", "prefetch.maxChars: 3000\n"},
        {"a: 1\n", "prefetch.maxChars", "3000", "a: 1\nprefetch.maxChars: 3000\n"},
        {"a: 1", "b", "2", "a: 1\nb: 2\n"},
        {"p:\n  q: 1\n", "p.r", "2", "p:\n  q: 1\np.r: 2\n"},
        {"# only a remark", "a", "1", "# only a remark\na: 1\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_edit(&rows[i]);
}

static void test_a_key_is_taken_out_with_its_line(void **state)
{
    static const struct edit_row rows[] = {
        {"a: 1\nb: 2\n", "a", NULL, "b: 2\n"},
        {"a: 1\nb: 2", "b", NULL, "a: 1\n"},
        {"a: 1 # why\n# kept\n", "a", NULL, "# kept\n"},
        {"p:\n  q: 1\n  r: 2\n", "p.q", NULL, "p:\n  r: 2\n"},
        {"p:\n  q: 1\n", "p.q", NULL, "p:\n"},
        {"a: 1\n", "b", NULL, "a: 1\n"},
        {"", "b", NULL, ""},
    };
    struct str out;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_edit(&rows[i]);
    str_init(&out, ETHOS_MAX_YAML_BYTES);
    assert_int_equal(config_edit(VIEW("{a: 1, b: 2}\n"), "c", "a", NULL, &out, NULL),
                     ETHOS_UNSUPPORTED);
    assert_int_equal(config_edit(VIEW("a:\n  - x\n"), "c", "a", NULL, &out, NULL),
                     ETHOS_UNSUPPORTED);
    str_release(&out);
}

static void test_values_are_quoted_where_yaml_needs_it(void **state)
{
    static const char *const values[] = {"",     " ",     "a: b",   "#x",  "a #b", "true", "- x",
                                         "*a",   "&a",    "!t",     "[x]", "{x}",  "a\nb", "a\tb",
                                         "'q'",  "\"q\"", "null",   "~",   "-5",   "x:",   "@x",
                                         "a\\n", "%a",    "\u2028", "é",   "\x01"};

    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        struct arena arena;
        struct yaml_table table;
        struct str out;
        arena_init(&arena);
        str_init(&out, ETHOS_MAX_YAML_BYTES);
        assert_int_equal(
            config_edit(VIEW("a: 1\nb: 2\n"), "config.yaml", "a", values[i], &out, NULL), ETHOS_OK);
        assert_int_equal(yaml_parse(str_view(&out), "new", &arena, &table, NULL), ETHOS_OK);
        assert_string_equal(yaml_get(&table, "a"), values[i]);
        assert_string_equal(yaml_get(&table, "b"), "2");
        str_release(&out);
        arena_release(&arena);
    }
}

static void test_an_edit_that_would_break_the_file_is_refused(void **state)
{
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        {"a: |\n  one\n  two\n", ETHOS_UNSUPPORTED},
        {"a:\n  - x\n  - y\n", ETHOS_UNSUPPORTED},
        {"{a: 1}\n", ETHOS_UNSUPPORTED},
        {"{b: 1}\n", ETHOS_UNSUPPORTED},
        {"b: 1\n...\n", ETHOS_UNSUPPORTED},
        {"  b: 1\n", ETHOS_UNSUPPORTED},
        {"a: [\n", ETHOS_INVALID},
        {"a: 1\na: 2\n", ETHOS_INVALID},
        {"just words\n", ETHOS_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ethos_error error = {0};
        struct str out;
        str_init(&out, ETHOS_MAX_YAML_BYTES);
        int code = config_edit(view_str(rows[i].text), "config.yaml", "a", "new", &out, &error);
        assert_error(&error, code, rows[i].code);
        assert_non_null(strstr(error.text, "config.yaml"));
        str_release(&out);
    }
}

static void test_an_edit_keeps_the_limit_of_the_file(void **state)
{
    struct ethos_error error = {0};
    struct str out;
    char *text = malloc(ETHOS_MAX_YAML_BYTES);

    (void)state;
    assert_non_null(text);
    memset(text, '#', ETHOS_MAX_YAML_BYTES);
    str_init(&out, ETHOS_MAX_YAML_BYTES);
    int code = config_edit(view_of(text, ETHOS_MAX_YAML_BYTES), "config.yaml", "a", "1", &out,
                           &error);
    assert_error(&error, code, ETHOS_LIMIT);
    str_release(&out);
    free(text);
}

static void test_an_edit_without_memory_says_so(void **state)
{
    int code = -1;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct ethos_error error = {0};
        struct str out;
        str_init(&out, ETHOS_MAX_YAML_BYTES);
        code = config_edit(VIEW("a: 1\np:\n  q: 2\n"), "config.yaml", "p.q", "3", &out, &error);
        if (code == ETHOS_OK)
            assert_string_equal(out.data, "a: 1\np:\n  q: 3\n");
        else
            assert_error(&error, code, ETHOS_NOMEM);
        str_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_complete_and_their_defaults_valid),
        cmocka_unit_test(test_a_family_stands_for_the_keys_below_it),
        cmocka_unit_test(test_a_typo_is_answered_with_the_nearest_key),
        cmocka_unit_test(test_values_are_checked_by_type),
        WORLD_TEST(test_flat_and_nested_mean_the_same),
        WORLD_TEST(test_both_forms_with_different_values_are_an_error_naming_both_lines),
        WORLD_TEST(test_lists_are_yaml_or_separated_by_commas),
        WORLD_TEST(test_a_bad_value_is_named_with_file_line_and_key),
        WORLD_TEST(test_unknown_keys_are_kept_and_reported),
        WORLD_TEST(test_the_scalar_memory_is_the_provider),
        WORLD_TEST(test_without_a_file_the_defaults_hold),
        WORLD_TEST(test_the_personality_wins_where_it_may_speak),
        WORLD_TEST(test_a_file_is_read_again_only_when_it_changed),
        WORLD_TEST(test_a_broken_file_is_an_error_until_it_is_mended),
        WORLD_TEST(test_what_is_no_ordinary_file_is_an_error),
        WORLD_TEST(test_a_file_beyond_the_limit_is_refused),
        WORLD_TEST(test_a_file_that_cannot_be_read_is_never_taken_for_an_absent_one),
        WORLD_TEST(test_without_memory_a_file_is_not_half_read),
        cmocka_unit_test(test_a_key_is_changed_in_place_and_every_other_byte_stays),
        cmocka_unit_test(test_a_new_key_is_appended_flat),
        cmocka_unit_test(test_a_key_is_taken_out_with_its_line),
        cmocka_unit_test(test_values_are_quoted_where_yaml_needs_it),
        cmocka_unit_test(test_an_edit_that_would_break_the_file_is_refused),
        cmocka_unit_test(test_an_edit_keeps_the_limit_of_the_file),
        cmocka_unit_test(test_an_edit_without_memory_says_so),
    };

    return cmocka_run_group_tests_name("memory/config", tests, NULL, NULL);
}

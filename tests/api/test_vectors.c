/*
 * test_vectors.c: the golden vectors on files, on an injected ram store, and on one without update; the
 * golden history on files. tests/modules/test_vectors.c has the other backends.
 */
#include "vectors.h"

#include "../support/golden.h"
#include "store/store.h"

static int open_ram(const struct ethos_host *host, struct ethos_store **out_store,
                    struct ethos_error *error)
{
    const struct ethos_setup setup = {.host = host};
    return store_ram.open(&setup, out_store, error);
}

static int open_plain_ram(const struct ethos_host *host, struct ethos_store **out_store,
                          struct ethos_error *error)
{
    static struct ethos_store_ops ops;
    int code = open_ram(host, out_store, error);
    ops = store_ram;
    ops.update = NULL;
    if (code == ETHOS_OK) {
        (*out_store)->ops = &ops;
        (*out_store)->capabilities &= ~(uint32_t)ETHOS_STORE_ONCE; // which is part of update
    }
    return code;
}

static const struct vectors_subject subjects[] = {
    {"files", NULL},
    {"ram", open_ram},
    {"ram without update", open_plain_ram},
};

static void test_updates_give_the_golden_bytes_on_every_backend(void **state)
{
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        vectors_updates(*state, &subjects[i]);
}

static void test_scopes_are_accepted_and_refused_as_in_the_vectors(void **state)
{
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        vectors_scopes(*state, &subjects[i]);
}

/* ---- history -------------------------------------------------------------------------------- */

static json_t *load_object(struct world *world, const char *member)
{
    assert_int_equal(chdir(world->start), 0);
    json_t *root = json_load_file("tests/golden/updates.json", 0, NULL);
    assert_int_equal(chdir(world->work), 0);
    json_t *object = json_incref(json_object_get(root, member));
    json_decref(root);
    assert_true(json_is_object(object));
    return object;
}

/* The members of a line up to the last of the reference's, and their values but for the time. */
static void assert_line(const char *text, const json_t *expected)
{
    json_t *line = json_loads(text, 0, NULL), *name, *value;
    json_t *fields = json_object_get(expected, "fields");
    const char *key, *at = text;
    size_t index;

    assert_non_null(line);
    json_array_foreach (fields, index, name) {
        char member[64];
        snprintf(member, sizeof member, "%c\"%s\":", index ? ',' : '{', json_string_value(name));
        at = index ? strstr(at, member) : strncmp(at, member, strlen(member)) ? NULL : at;
        assert_non_null(at); // in this order
    }
    json_object_foreach (json_object_get(expected, "values"), key, value) {
        if (strcmp(key, "ts") != 0)
            assert_true(json_equal(json_object_get(line, key), value));
    }
    json_decref(line);
}

/* The golden history through the library, from a file that somebody had before. */
static void test_history_has_the_golden_lines(void **state)
{
    struct world *world = *state;
    json_t *vector = load_object(world, "history"), *sync;
    json_t *context = json_object_get(vector, "context"), *lines = json_object_get(vector, "lines");
    const struct ethos_origin origin = {.source = golden_string(context, "source"),
                                        .session = golden_string(context, "sessionId"),
                                        .session_key = golden_string(context, "sessionKey")};
    const struct ethos_sync_how how = {.origin = &origin};
    const char *initial = golden_string(vector, "initial");
    size_t index, size;
    char *save = NULL;

    world_close(world);
    world_open(world);
    world_personality(world, "hist");
    world_put(world, "home/personalities/hist/MEMORY.md", initial);
    json_array_foreach (json_object_get(vector, "syncs"), index, sync) {
        char *json = json_dumps(sync, 0);
        assert_ok(world, ethos_sync_json(world->turn, view_str(json), &how, &world->error));
        free(json);
    }
    char *text = temp_read(&world->temp, "home/personalities/hist/memory-history.jsonl", &size);
    assert_non_null(text);
    char *line = strtok_r(text, "\n", &save);
    json_array_foreach (lines, index, sync) {
        assert_non_null(line);
        assert_line(line, sync);
        line = strtok_r(NULL, "\n", &save);
    }
    assert_null(line);
    free(text);
    json_decref(vector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_updates_give_the_golden_bytes_on_every_backend),
        WORLD_TEST(test_scopes_are_accepted_and_refused_as_in_the_vectors),
        WORLD_TEST(test_history_has_the_golden_lines),
    };

    return cmocka_run_group_tests_name("api/vectors", tests, NULL, NULL);
}

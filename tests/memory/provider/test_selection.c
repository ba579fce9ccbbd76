/*
 * test_selection.c: which provider answers: injected, configured, swapped for one personality; and
 * what a store becomes as a provider.
 */
#include "memory/provider/registry.h"

#include "memory/purge/purge.h"
#include "modules.h"
#include "store/store.h"

#define ADD "{\"action\":\"add\",\"content\":\"fact\"}"

/* ---- a store that counts -------------------------------------------------------------------- */

static int closed;

static void count_close(struct ethos_store *store)
{
    closed++;
    store_ram.close(store);
}

/* The ram store with a close that is seen. */
static struct ethos_store *counted_store(struct world *world)
{
    static struct ethos_store_ops ops;
    const struct ethos_setup setup = {.host = &world->host};
    struct ethos_store *store = NULL;
    ops = store_ram;
    ops.close = count_close;
    assert_int_equal(store_ram.open(&setup, &store, NULL), ETHOS_OK);
    store->ops = &ops;
    closed = 0;
    return store;
}

static struct ethos_provider *counted_provider(struct world *world)
{
    struct ethos_provider *provider = NULL;
    assert_int_equal(provider_over_store(&world->host, counted_store(world), &provider, NULL),
                     ETHOS_OK);
    return provider;
}

/* ---- injection ------------------------------------------------------------------------------ */

static void test_an_injected_store_replaces_the_configured_one_for_everybody(void **state)
{
    struct world *world = *state;

    world_put(world, "home/personalities/p/config.yaml", "memory.provider: /nowhere.so\n");
    world_open_with(world, (struct ethos_options){.store = counted_store(world)});
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, ADD));
    assert_prefetch(world, "## Memory\n\nfact");
    world_personality(world, "p"); // its own provider is never looked for
    assert_prefetch(world, NULL);
    assert_false(world_exists(world, "home/personalities/default"));
    world_close(world);
    assert_int_equal(closed, 1);
}

static void count_told(void *arg, const char *name, const char *reason)
{
    (void)name, (void)reason;
    ++*(int *)arg;
}

static void test_a_purge_reaches_the_known_scopes_of_a_store_that_lists_none(void **state)
{
    struct world *world = *state;
    struct ethos_store *store = counted_store(world);
    struct ethos_store_ops ops = *store->ops;
    const struct ethos_match match = {.text = VIEW("fact")};
    int told = 0;
    const struct purge_how how = {.match = &match, .kept = count_told, .arg = &told};

    ops.scopes = NULL;
    store->ops = &ops;
    world_put(world, "home/personalities/p/config.yaml", "\n");
    world_open_with(world, (struct ethos_options){.store = store});
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, ADD));
    world_personality(world, "p");
    assert_ok(world, world_sync(world, ADD));
    assert_ok(world, purge_everywhere(world->ethos, &how, &world->error));
    assert_prefetch(world, NULL);
    world_turn(world, NULL);
    assert_prefetch(world, NULL);
    assert_int_equal(told, 1); // that there may be others
    world_close(world);
}

static void test_an_injected_provider_belongs_to_the_handle(void **state)
{
    struct world *world = *state;

    world_open_with(world, (struct ethos_options){.provider = counted_provider(world)});
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, ADD));
    assert_prefetch(world, "## Memory\n\nfact");
    world_close(world);
    assert_int_equal(closed, 1);
}

static void assert_open_fails(struct world *world, struct ethos_options options, int expected)
{
    struct ethos *ethos = NULL;
    memset(&world->error, 0, sizeof world->error);
    int code = ethos_open(&options, &ethos, &world->error);
    assert_error(&world->error, code, expected);
    assert_null(ethos);
}

static void test_a_failed_open_closes_what_was_injected(void **state)
{
    struct world *world = *state;
    struct ethos_options options = {.home = "", .host = &world->host};

    options.store = counted_store(world);
    assert_open_fails(world, options, ETHOS_INVALID);
    assert_int_equal(closed, 1);
    options.store = NULL;
    options.provider = counted_provider(world);
    assert_open_fails(world, options, ETHOS_INVALID);
    assert_int_equal(closed, 1);
    setenv("TMPDIR", "/nowhere/at/all", 1);
    options = (struct ethos_options){
        .home = world->home, .host = &world->host, .ephemeral = 1, .store = counted_store(world)};
    assert_open_fails(world, options, ETHOS_NOTFOUND);
    assert_int_equal(closed, 1);
}

static void test_a_provider_and_a_store_at_once_are_refused_and_closed(void **state)
{
    struct world *world = *state;
    struct ethos_options options = {.home = world->home, .host = &world->host};

    options.provider = counted_provider(world);
    options.store = counted_store(world);
    assert_open_fails(world, options, ETHOS_INVALID);
    assert_int_equal(closed, 2);
}

static void test_without_memory_what_was_injected_is_closed_once(void **state)
{
    struct world *world = *state;

    for (int kind = 0; kind < 2; kind++) {
        int code = -1;
        ALLOC_EACH(n, code == ETHOS_OK)
        {
            struct ethos_options options = {.home = world->home, .host = &world->host};
            struct ethos *ethos = NULL;
            alloc_fail_at(0);
            if (kind == 0)
                options.store = counted_store(world);
            else
                options.provider = counted_provider(world);
            alloc_fail_at(n);
            code = ethos_open(&options, &ethos, &world->error);
            alloc_fail_at(0);
            if (code == ETHOS_OK)
                ethos_close(ethos);
            else
                assert_error(&world->error, code, ETHOS_NOMEM);
            assert_int_equal(closed, 1);
        }
    }
}

/* ---- configuration -------------------------------------------------------------------------- */

static void configure(struct world *world, const char *path, const char *module, const char *more)
{
    char file[PATH_MAX], text[PATH_MAX + 256];
    module_path(module, file);
    snprintf(text, sizeof text, "memory.provider: %s\n%s", file, more);
    world_put(world, path, text);
}

static void test_a_provider_is_swapped_for_one_personality_and_kept_for_the_rest(void **state)
{
    struct world *world = *state;

    configure(world, "home/personalities/odd/config.yaml", HELLO, "");
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, ADD));
    world_personality(world, "odd");
    assert_prefetch(world, NULL);
    assert_ok(world, world_sync(world, "{\"action\":\"add\",\"content\":\"elsewhere\"}"));
    assert_prefetch(world, "## Memory\n\nelsewhere");
    assert_false(world_exists(world, "home/personalities/odd/MEMORY.md"));
    world_turn(world, NULL);
    assert_prefetch(world, "## Memory\n\nfact");
    world_personality(world, "odd"); // the same backend as before, still open
    assert_prefetch(world, "## Memory\n\nelsewhere");
    int code = world_sync(world, "{\"action\":\"delete\"}");
    assert_error(&world->error, code, ETHOS_UNSUPPORTED);
    assert_string_equal(world->error.text, "hello: only add is supported");
}

static void test_a_store_of_a_module_gets_the_usual_meaning(void **state)
{
    struct world *world = *state;

    configure(world, "home/config.yaml", "modules/slate.so", "");
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"one\"},"
                                       "{\"action\":\"add\",\"content\":\"two\"}]"));
    assert_ok(world, world_sync(world, "{\"action\":\"remove\",\"content\":\"one\"}"));
    assert_prefetch(world, "## Memory\n\ntwo");
    struct ethos_file *file = NULL;
    assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
    assert_string_equal(file->text, "\ntwo\n");
    assert_null(file->path);
    ethos_file_free(file);
    assert_ok(world, world_sync(world, "{\"action\":\"delete\"}"));
    assert_prefetch(world, NULL);
}

static void test_options_come_from_both_files_the_personality_first(void **state)
{
    struct world *world = *state;

    configure(world, "home/config.yaml", "modules/slate.so",
              "memory.options:\n  prefix: \"home \"\n  size: 3\n");
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, ADD));
    assert_prefetch(world, "## Memory\n\nhome fact");
    world_put(world, "home/personalities/p/config.yaml", "memory.options.prefix: 'own '\n");
    world_personality(world, "p"); // the home's provider, another option: a backend of its own
    assert_prefetch(world, NULL);
    assert_ok(world, world_sync(world, ADD));
    assert_prefetch(world, "## Memory\n\nown fact");
    world_turn(world, NULL);
    assert_prefetch(world, "## Memory\n\nhome fact");
    /* The options of another provider are none of this one's business. */
    world_put(world, "home/personalities/q/config.yaml", "memory.provider: markdown\n");
    world_personality(world, "q");
    assert_prefetch(world, NULL);
}

static void test_a_provider_that_cannot_be_had_fails_its_personality_only(void **state)
{
    struct world *world = *state;
    const struct ethos_request request = {.personality = "p"};

    world_put(world, "home/personalities/p/config.yaml", "memory.provider: nothing\n");
    assert_error(&world->error, world_try_turn(world, &request), ETHOS_INVALID);
    assert_string_equal(world->error.text, "unknown memory provider: nothing");
    world_put(world, "home/personalities/p/config.yaml", "memory.provider: redis\n");
    assert_error(&world->error, world_try_turn(world, &request), ETHOS_NOTFOUND);
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, ADD));
    configure(world, "home/personalities/p/config.yaml", "modules/slate.so",
              "memory.options.fail: true\n");
    assert_error(&world->error, world_try_turn(world, &request), ETHOS_IO);
    configure(world, "home/personalities/p/config.yaml", "modules/slate.so",
              "memory.options.nonsense: 1\n");
    assert_error(&world->error, world_try_turn(world, &request), ETHOS_INVALID);
}

static void test_a_provider_without_files_says_so(void **state)
{
    struct world *world = *state;
    struct ethos_file *file = NULL;
    const struct ethos_sync_how dry = {.flags = ETHOS_SYNC_DRY_RUN};

    configure(world, "home/config.yaml", HELLO, "");
    world_turn(world, NULL);
    assert_error(&world->error, ethos_read(world->turn, NULL, &file, &world->error),
                 ETHOS_UNSUPPORTED);
    assert_error(&world->error,
                 ethos_write(world->turn, NULL, NULL, VIEW("x"), NULL, &world->error),
                 ETHOS_UNSUPPORTED);
    int code = ethos_sync_json(world->turn, VIEW(ADD), &dry, &world->error);
    assert_error(&world->error, code, ETHOS_UNSUPPORTED);
    assert_prefetch(world, NULL); // which did nothing
}

static void test_what_a_link_may_lead_to_follows_the_settings_of_the_moment(void **state)
{
    struct world *world = *state;
    char config[256];

    world_put(world, "outside/log.md", "from outside\n");
    world_mkdir(world, "home/personalities/default");
    world_link(world, "../../../outside/log.md", "home/personalities/default/MEMORY.md");
    snprintf(config, sizeof config, "paths.allow: %s/outside\n", world->temp.path);
    world_put(world, "home/config.yaml", config);
    world_turn(world, NULL);
    assert_prefetch(world, "## Memory\n\nfrom outside");
    world_put(world, "home/config.yaml", "personality: default\n"); // no longer allowed
    world_turn(world, NULL);
    struct ethos_block *block = NULL;
    assert_ok(world, ethos_prefetch(world->turn, NULL, &block, &world->error));
    assert_int_equal(block->code, ETHOS_IO);
    assert_int_equal(block->size, 0);
    ethos_block_free(block);
}

/* ---- a store as a provider ------------------------------------------------------------------ */

static int fail_update_of(void *arg, const char *call, unsigned long number)
{
    (void)number;
    return strcmp(call, "update") == 0 && --*(int *)arg == 0 ? ETHOS_IO : ETHOS_OK;
}

static void test_when_one_scope_fails_the_others_still_commit(void **state)
{
    struct world *world = *state;
    struct ethos_store *store = NULL;
    int which = 2;

    assert_int_equal(
        store_fault_new(&world->host, counted_store(world), fail_update_of, &which, &store, NULL),
        ETHOS_OK);
    world_open_with(world, (struct ethos_options){.store = store});
    const struct ethos_request request = {.user = "u"};
    world_turn(world, &request);
    int code = world_sync(world,
                          "[" ADD ",{\"action\":\"add\",\"store\":\"user\",\"content\":\"me\"},"
                          "{\"action\":\"add\",\"scope\":\"global\",\"key\":\"g.md\","
                          "\"content\":\"g\"}]");
    assert_int_equal(code, ETHOS_IO);
    assert_prefetch(world, "## Memory\n\nfact");
    struct ethos_file *file = NULL;
    const struct ethos_target global = {.scope = "global", .key = "g.md"};
    assert_ok(world, ethos_read(world->turn, &global, &file, &world->error));
    assert_string_equal(file->text, "g\n");
    ethos_file_free(file);
}

static void test_what_the_ceiling_drops_is_archived_first_and_an_index_is_never_cut(void **state)
{
    struct world *world = *state;
    enum { SIZE = ETHOS_MAX_FILE_CH + 1000 };
    char *text = malloc(SIZE);

    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = i % 100 == 99 ? '\n' : 'x';
    const struct ethos_context *context = world_turn(world, NULL);
    struct ethos_update updates[] = {
        {.action = ETHOS_ACTION_ADD, .key = "MEMORY.md", .text = view_of(text, SIZE)},
        {.action = ETHOS_ACTION_ADD, .key = "small.md", .text = VIEW("small")},
        {.action = ETHOS_ACTION_ADD,
         .scope = "workspace",
         .key = "MEMORY.md",
         .text = view_of(text, SIZE)},
    };
    assert_ok(world, ethos_sync(world->turn, updates, 3, NULL, &world->error));
    size_t size;
    char *live = temp_read(&world->temp, "home/personalities/default/MEMORY.md", &size);
    assert_true(size <= ETHOS_MAX_FILE_CH && size > ETHOS_MAX_FILE_CH - 200);
    char *archive = temp_read(&world->temp, "home/personalities/default/memory-archive.md", NULL);
    assert_non_null(archive);
    assert_int_equal(
        strncmp(archive, "\n<!-- overflow-archived " NOW_ISO " from MEMORY.md -->\n", 66), 0);
    assert_file(world, "home/personalities/default/small.md", "small\n");
    char path[256];
    snprintf(path, sizeof path, "home/workspaces/%s/memory/MEMORY.md",
             context->workspace_scope + strlen("workspace:"));
    char *index = temp_read(&world->temp, path, &size);
    assert_true(size > ETHOS_MAX_FILE_CH);
    free(live);
    free(archive);
    free(index);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_an_injected_store_replaces_the_configured_one_for_everybody),
        WORLD_TEST(test_a_purge_reaches_the_known_scopes_of_a_store_that_lists_none),
        WORLD_TEST(test_an_injected_provider_belongs_to_the_handle),
        WORLD_TEST(test_a_failed_open_closes_what_was_injected),
        WORLD_TEST(test_a_provider_and_a_store_at_once_are_refused_and_closed),
        WORLD_TEST(test_without_memory_what_was_injected_is_closed_once),
        WORLD_TEST(test_a_provider_is_swapped_for_one_personality_and_kept_for_the_rest),
        WORLD_TEST(test_a_store_of_a_module_gets_the_usual_meaning),
        WORLD_TEST(test_options_come_from_both_files_the_personality_first),
        WORLD_TEST(test_a_provider_that_cannot_be_had_fails_its_personality_only),
        WORLD_TEST(test_a_provider_without_files_says_so),
        WORLD_TEST(test_what_a_link_may_lead_to_follows_the_settings_of_the_moment),
        WORLD_TEST(test_when_one_scope_fails_the_others_still_commit),
        WORLD_TEST(test_what_the_ceiling_drops_is_archived_first_and_an_index_is_never_cut),
    };

    return cmocka_run_group_tests_name("memory/provider", tests, NULL, NULL);
}

/*
 * fixture.h: a memory over the store in ram, for the tests of history, undo, blame and conflicts.
 *
 * The clock goes on by a second with every look at it, so that times tell changes apart.
 */
#ifndef TESTS_MEMORY_HISTORY_FIXTURE_H
#define TESTS_MEMORY_HISTORY_FIXTURE_H

#include "../world.h"
#include "store/store.h"

static inline int64_t past_now(void *arg)
{
    static int64_t ms = NOW_MS;
    (void)arg;
    return ms += 1000;
}

/* Opens the memory of the personality "tester" over an empty store. */
static inline void past_open(struct world *world)
{
    const struct ethos_setup setup = {.host = &world->host};
    struct ethos_store *store;
    world->host.now_ms = past_now;
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "tester");
}

static inline struct ethos_origin past_origin(const char *actor)
{
    return (struct ethos_origin){.actor = actor, .via = "test", .session = "s"};
}

/* One update by somebody. */
static inline void past_update(struct world *world, const char *actor, enum ethos_action action,
                               const char *text)
{
    const struct ethos_origin origin = past_origin(actor);
    const struct ethos_sync_how how = {.origin = &origin};
    const struct ethos_update update = {.action = action, .text = view_str(text)};
    assert_ok(world, ethos_sync(world->turn, &update, 1, &how, &world->error));
}

static inline void past_add(struct world *world, const char *actor, const char *text)
{
    past_update(world, actor, ETHOS_ACTION_ADD, text);
}

/* Byte for byte. */
static inline void past_write(struct world *world, struct ethos_view text)
{
    assert_ok(world, ethos_write(world->turn, NULL, NULL, text, NULL, &world->error));
}

static inline void assert_memory_bytes(struct world *world, struct ethos_view expected)
{
    struct ethos_file *file = NULL;
    assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
    if (!expected.data) {
        assert_null(file->text);
        assert_string_equal(file->revision, "absent");
    } else {
        assert_non_null(file->text);
        assert_int_equal(file->size, expected.size);
        assert_memory_equal(file->text, expected.data, expected.size);
    }
    ethos_file_free(file);
}

/* NULL: there is no file. */
static inline void assert_memory(struct world *world, const char *expected)
{
    struct ethos_file *file = NULL;
    assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
    if (expected && file->text)
        assert_string_equal(file->text, expected);
    assert_int_equal(file->text != NULL, expected != NULL);
    ethos_file_free(file);
}

/* A history as lines "actor via actions", newest first. */
struct log {
    char text[8192];
    size_t count;
};

static inline int past_log(void *arg, const struct ethos_change *change)
{
    struct log *log = arg;
    size_t used = strlen(log->text);
    snprintf(log->text + used, sizeof log->text - used, "%s%s %s %s%s%s\n",
             change->event ? change->event : "", change->actor ? change->actor : "-",
             change->via ? change->via : "-", change->actions, change->undoes ? " undoes " : "",
             change->undoes ? change->undoes : "");
    log->count++;
    return 0;
}

static inline void assert_history(struct world *world, const struct ethos_filter *filter,
                                  const char *expected)
{
    struct log log = {0};
    assert_ok(world, ethos_history(world->turn, NULL, filter, past_log, &log, &world->error));
    assert_string_equal(log.text, expected);
}

#endif

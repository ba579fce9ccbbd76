/*
 * sessions.h: what the tests of sessions.* share: a home with three sessions whose ids are known, calls
 * of operations, and all sessions as one text to compare.
 */
#ifndef TESTS_OPS_SESSIONS_SESSIONS_H
#define TESTS_OPS_SESSIONS_SESSIONS_H

#include "../../memory/world.h"

#include "base/str.h"
#include "ops/op.h"

#define FIRST "11111111-1111-4111-8111-111111111111"
#define SECOND "12222222-2222-4222-8222-222222222222"
#define EMPTY "33333333-3333-4333-8333-333333333333"

static inline struct ethos_sessions *open_sessions(struct world *world)
{
    struct ethos_sessions *store;
    world_open(world);
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    return store;
}

static inline void add_session(struct world *world, struct ethos_sessions *store, const char *id,
                               const char *key, const char *title)
{
    char made[ETHOS_UUID_SIZE];
    const struct ethos_session session = {.id = id,
                                          .key = key,
                                          .platform = "cli",
                                          .personality = "p",
                                          .working_dir = world->work,
                                          .title = title,
                                          .created_at = "2025-01-01T00:00:00.000Z",
                                          .updated_at = "2025-01-01T00:00:00.000Z"};
    assert_ok(world, store->ops->create(store, &session, made, &world->error));
}

static inline void add_messages(struct world *world, struct ethos_sessions *store, const char *id,
                                const struct ethos_message *messages, size_t count)
{
    assert_ok(world,
              store->ops->append(store, id, messages, count, ETHOS_APPEND_CHECKED, &world->error));
}

/*
 * Two conversations and one in which nothing was said yet, all of the current directory; and what an
 * agent's hook could not record.
 */
static inline void make_sessions(struct world *world)
{
    static const struct ethos_message talk[] = {
        {.id = "a1", .role = "user", .content = VIEW("the deployment fails")},
        {.id = "a2",
         .role = "assistant",
         .content = VIEW("I look"),
         .tool_calls = "[{\"id\":\"c\",\"name\":\"read\",\"input\":{}}]"},
        {.id = "a3", .role = "tool_result", .content = VIEW("redis"), .tool_call_id = "c"},
        {.id = "a4", .role = "assistant", .content = VIEW("it is redis")}};
    static const struct ethos_message more[] = {
        {.id = "b1", .role = "user", .content = VIEW("deploy redis deploy")},
        {.id = "b2",
         .role = "assistant",
         .content = VIEW("redis has key=abcdefghijklmnopqrstuvwxyz")}};
    world_remove(world, "home");
    struct ethos_sessions *store = open_sessions(world);
    add_session(world, store, FIRST, "cli:work", NULL);
    add_session(world, store, SECOND, "other", "Named");
    add_session(world, store, EMPTY, "third", NULL);
    add_messages(world, store, FIRST, talk, COUNT(talk));
    add_messages(world, store, SECOND, more, COUNT(more));
    world_close(world);
    world_put(
        world, "home/spool/009999999999999-1.json",
        "{\"version\":1,\"agent\":\"gemini\",\"event\":\"AfterAgent\",\"input\":{\"session_id\":"
        "\"g\",\"timestamp\":\"1\",\"prompt\":\"when?\",\"prompt_response\":\"now\"}}");
}

/* ---- everything as text ---------------------------------------------------------------------- */

struct dump {
    struct str text;
    char ids[64][ETHOS_UUID_SIZE];
    size_t count;
};

static inline int dump_session(void *arg, const struct ethos_session *session)
{
    struct dump *dump = arg;
    str_printf(&dump->text, "%s|%s|%s|%d|%s\n", session->key, session->title ? session->title : "-",
               session->working_dir, session->pinned, session->parent ? session->parent : "-");
    if (dump->count < COUNT(dump->ids))
        snprintf(dump->ids[dump->count++], ETHOS_UUID_SIZE, "%s", session->id);
    return ETHOS_OK;
}

static inline int dump_message(void *arg, const struct ethos_message *message)
{
    struct dump *dump = arg;
    str_printf(&dump->text, "  %s: %.*s\n", message->role, VIEW_ARG(message->content));
    return ETHOS_OK;
}

/* Without what differs from run to run: ids that are made; free() it. */
static inline char *dump_sessions(struct world *world)
{
    char cursor[ETHOS_CURSOR_SIZE];
    struct dump dump = {.count = 0};
    const struct ethos_session_query all = {.limit = 1000};
    struct ethos_sessions *store = open_sessions(world);
    str_init(&dump.text, SIZE_MAX);
    assert_ok(world, store->ops->list(store, &all, dump_session, &dump, cursor, &world->error));
    for (size_t i = 0; i < dump.count; i++) {
        str_printf(&dump.text, "%zu\n", i);
        assert_ok(world,
                  store->ops->messages(store, dump.ids[i], 0, dump_message, &dump, &world->error));
    }
    world_close(world);
    return str_steal(&dump.text, NULL);
}

/* ---- calling --------------------------------------------------------------------------------- */

static inline json_t *parse_args(const char *text)
{
    json_error_t wrong;
    json_t *args = json_loads(text, 0, &wrong);
    if (!args)
        fail_msg("%s: %s", text, wrong.text);
    return args;
}

/* Runs an operation of an open world, guarded for a model; the caller releases the result. */
static inline int call_op_for(struct world *world, const char *name, const json_t *args, bool dry,
                              bool guarded, struct op_result *result)
{
    static const struct ethos_request nothing;
    struct op_call call = {.ethos = world->ethos,
                           .request = &nothing,
                           .args = args,
                           .want_json = true,
                           .dry_run = dry,
                           .guarded = guarded,
                           .via = "test"};
    memset(&world->error, 0, sizeof world->error);
    op_result_init(result);
    return op_run(op_find(name), &call, result, &world->error);
}

static inline int call_op(struct world *world, const char *name, const json_t *args, bool dry,
                          struct op_result *result)
{
    return call_op_for(world, name, args, dry, false, result);
}

#endif

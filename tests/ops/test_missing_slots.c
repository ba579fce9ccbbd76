/*
 * test_missing_slots.c: each optional slot of a backend absent, each operation of the table.
 *
 * Nothing may crash; what fails says why. The slots are found by their place in the table and the operations by
 * op_next(), so that new ones are tried without being named here.
 */
#include "sessions/sessions.h"

#include "memory/handle_internal.h"
#include "memory/provider/missing_slots.h"
#include "store/store.h"

#define SLOT sizeof(void (*)(void))

/* ---- the calls ------------------------------------------------------------------------------ */

#define OF_P "\"scope\":\"personality:p\""
#define BLOB "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* Where required arguments alone would not do; the others are made from the row. */
static const struct {
    const char *name, *args;
} calls[] = {
    {"memory.sync", "{\"updates\":\"[{\\\"action\\\":\\\"add\\\",\\\"content\\\":\\\"new\\\"}]\"}"},
    {"memory.sync",
     "{\"updates\":\"[{\\\"action\\\":\\\"remove\\\",\\\"content\\\":\\\"new\\\"}]\"}"},
    {"memory.sync", "{\"updates\":\"{\\\"updates\\\":[{\\\"action\\\":\\\"add\\\",\\\"content\\\":"
                    "\\\"once\\\"}],\\\"opId\\\":\\\"a1\\\"}\"}"},
    {"memory.write", "{\"content\":\"new\",\"store\":\"user\"}"},
    {"memory.get", "{\"at\":\"1\"}"},
    {"memory.get", "{\"store\":\"user\"}"},
    {"memory.history", "{\"diff\":true}"},
    {"memory.restore", "{\"revision\":\"1\"}"},
    {"memory.restore", "{\"slug\":\"old\"}"},
    {"memory.historyBlob", "{\"blob\":\"" BLOB "\"}"},
    {"memory.undo", "{\"actor\":\"ann\"}"},
    {"memory.undo", "{\"all\":true,\"actor\":\"ann\"}"},
    {"memory.mirror", "{\"to\":\"../folder\",\"once\":true}"},
    {"memory.tool", "{\"input\":\"{\\\"command\\\":\\\"create\\\",\\\"path\\\":\\\"/memories/a\\\","
                    "\\\"file_text\\\":\\\"x\\\"}\"}"},
    {"memory.tool",
     "{\"input\":\"{\\\"command\\\":\\\"view\\\",\\\"path\\\":\\\"/memories\\\"}\"}"},
    {"memory.tool",
     "{\"input\":\"{\\\"command\\\":\\\"view\\\",\\\"path\\\":\\\"/memories/a\\\"}\"}"},
    {"memory.tool",
     "{\"input\":\"{\\\"command\\\":\\\"delete\\\",\\\"path\\\":\\\"/memories/a\\\"}\"}"},
    {"notes.remember", "{\"content\":\"new\",\"title\":\"Note\",\"scope\":\"personality\"}"},
    {"notes.remember", "{\"content\":\"more\",\"title\":\"Note\"}"},
    {"notes.list", "{\"scope\":\"personality\"}"},
    {"notes.show", "{\"name\":\"note\",\"scope\":\"personality\"}"},
    {"notes.check", "{\"scope\":\"personality\"}"},
    {"notes.remove", "{\"name\":\"note\",\"scope\":\"personality\"}"},
    {"conflicts.resolve", "{\"id\":\"MEMORY.md.20251115T094640Z.af84aa9e.md\",\"both\":true}"},
    {"transfer.import", "{\"source\":\"claude-code\",\"path\":\"../theirs\",\"scope\":\"global\"}"},
    {"transfer.export", "{\"format\":\"json\",\"scope\":\"personality\"}"},
    {"hooks.run", "{\"agent\":\"codex\",\"event\":\"SessionStart\",\"input\":\"{}\"}"},
    {"hooks.run",
     "{\"agent\":\"codex\",\"event\":\"Stop\",\"input\":\"{\\\"session_id\\\":\\\"c\\\","
     "\\\"turn_id\\\":\\\"1\\\",\\\"last_assistant_message\\\":\\\"done\\\"}\"}"},
    {"users.link", "{\"platform\":\"telegram\",\"platformUserId\":\"1\",\"userId\":\"u\"}"},
    {"store.gather", "{\"at\":[\"personality:p/MEMORY.md\",\"global/none.md\"]}"},
    {"store.swap", "{" OF_P ",\"edits\":[{\"key\":\"n.md\",\"text\":\"new\"}]}"},
    {"store.graft", "{" OF_P ",\"commit\":{\"version\":0,\"texts\":{},\"copies\":[],\"edits\":[],"
                    "\"rows\":[]}}"},
    {"store.version", "{" OF_P ",\"key\":\"MEMORY.md\",\"revision\":\"sha256:" BLOB "\"}"},
    {"sessions.current", "{\"new\":true}"},
    {"sessions.list", "{\"query\":\"redis deploy\",\"all\":true}"},
    {"sessions.get", "{\"id\":\"other\"}"},
    {"sessions.append", "{\"content\":\"next\",\"session\":\"" FIRST "\"}"},
    {"sessions.update", "{\"id\":\"" FIRST "\",\"title\":\"New\"}"},
    {"sessions.import", "{\"path\":\"../theirs.jsonl\"}"},
    {"config.set", "{\"key\":\"serve.port\",\"value\":\"4000\"}"},
    {"config.get", "{\"key\":\"personality\"}"},
    {"config.unset", "{\"key\":\"serve.port\"}"},
};

static bool is_listed(const struct op *op)
{
    for (size_t i = 0; i < COUNT(calls); i++)
        if (strcmp(calls[i].name, op->name) == 0)
            return true;
    return false;
}

static json_t *value_of(const struct op *op, const struct op_arg *arg)
{
    const char *name = arg->name;
    if (arg->type == OP_CHOICE)
        return json_stringn(arg->choices, strcspn(arg->choices, "|"));
    if (arg->type == OP_INTEGER)
        return json_integer(1);
    if (arg->type == OP_FLAG)
        return json_true();
    if (arg->type == OP_TIME)
        return json_string("2025-01-01");
    if (strcmp(name, "id") == 0 && strncmp(op->name, "sessions.", 9) == 0)
        return json_string(FIRST);
    if (strcmp(name, "scope") == 0)
        return json_string("personality:p");
    if (strcmp(name, "key") == 0)
        return json_string("MEMORY.md");
    return json_string(strcmp(name, "substringMatch") == 0 ? "new" : "note");
}

/* What a row requires, and nothing else. */
static json_t *args_of(const struct op *op)
{
    json_t *args = json_object();
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        if (!(arg->flags & OP_REQUIRED))
            continue;
        json_t *value = value_of(op, arg);
        json_object_set_new(args, arg->name,
                            arg->flags & OP_MANY ? json_pack("[o]", value) : value);
    }
    return args;
}

struct tally {
    const char *what; /* is absent */
    size_t at;        /* its place in the table */
    unsigned done, failed, unsupported;
};

/* A failure has a code and a text; of a missing slot it names the backend. */
static void judge(struct tally *tally, const struct op *op, int code,
                  const struct ethos_error *error)
{
    tally->done += code == ETHOS_OK;
    tally->failed += code != ETHOS_OK;
    tally->unsupported += code == ETHOS_UNSUPPORTED;
    if (code == ETHOS_OK)
        return;
    if (code > ETHOS_OK || code < ETHOS_INTERNAL || code == ETHOS_INTERNAL || !*error->text)
        fail_msg("%s %zu absent: %s: %d '%s'", tally->what, tally->at, op->name, code, error->text);
}

static void run_one(struct world *world, struct tally *tally, const struct op *op, json_t *args,
                    bool dry, bool guarded)
{
    struct op_result result;
    const struct ethos_request request = {.personality = "p"};
    struct op_call call = {.ethos = world->ethos,
                           .request = &request,
                           .args = args,
                           .want_json = true,
                           .dry_run = dry && (op->effect & OP_WRITES),
                           .guarded = guarded,
                           .via = "test"};
    memset(&world->error, 0, sizeof world->error);
    op_result_init(&result);
    int code = guarded ? op_run_as(op, OP_RIGHTS_AGENT, &call, &result, &world->error)
                       : op_run(op, &call, &result, &world->error);
    judge(tally, op, code, &world->error);
    if (code == ETHOS_OK && result.code != ETHOS_OK)
        judge(tally, op, result.code, &result.error);
    op_result_release(&result);
}

static void run_args(struct world *world, struct tally *tally, const struct op *op, json_t *args)
{
    assert_non_null(args);
    run_one(world, tally, op, args, true, false);
    run_one(world, tally, op, args, false, false);
    run_one(world, tally, op, args, false, true);
    json_decref(args);
}

static void run_all(struct world *world, struct tally *tally)
{
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        bool elsewhere = !op->run || (op->effect & OP_NO_HOME) || !op_is_in_program(op) ||
                         strcmp(op->name, "memory.migrate") == 0;
        if (elsewhere)
            continue;
        for (size_t i = 0; i < COUNT(calls); i++)
            if (strcmp(calls[i].name, op->name) == 0)
                run_args(world, tally, op, json_loads(calls[i].args, 0, NULL));
        if (!is_listed(op))
            run_args(world, tally, op, args_of(op));
    }
}

/* ---- tables with a gap ----------------------------------------------------------------------- */

/* Takes the slot at a place out; at 0: every slot for which there is a stand-in. */
static void cut_slot(void *table, const void *optional, size_t at, size_t from, size_t size)
{
    static const char none[SLOT];
    for (size_t i = from; i + SLOT <= size; i += SLOT)
        if (at ? i == at : memcmp((const char *)optional + i, none, SLOT) != 0)
            memset((char *)table + i, 0, SLOT);
}

static bool has_slot(const void *table, size_t at)
{
    static const char none[SLOT];
    return memcmp((const char *)table + at, none, SLOT) != 0;
}

static void fresh_home(struct world *world)
{
    world_close(world);
    make_sessions(world);
    world_put(world, "home/personalities/p/config.yaml", "memoryScope: per-personality\n");
    world_put(world, "theirs/a.md", "a fact\n");
}

static struct ethos_store *open_ram(struct world *world)
{
    struct ethos_store *store;
    const struct ethos_setup setup = {.host = &world->host, .deadline_ms = 1000};
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    return store;
}

static int open_with(struct world *world, struct ethos_provider *provider,
                     struct ethos_store *store)
{
    const struct ethos_options options = {
        .home = world->home, .host = &world->host, .provider = provider, .store = store};
    memset(&world->error, 0, sizeof world->error);
    return ethos_open(&options, &world->ethos, &world->error);
}

/* ---- providers ------------------------------------------------------------------------------- */

/* The table of a provider over memory, without what was taken out. */
static struct ethos_provider_ops gap_provider;
static const struct ethos_provider_ops *whole_provider;

static void close_provider(struct ethos_provider *self)
{
    whole_provider->close(self);
}

static int open_provider_without(struct world *world, size_t at)
{
    struct ethos_provider *provider;
    assert_ok(world, provider_over_store(&world->host, open_ram(world), &provider, &world->error));
    whole_provider = provider->ops;
    gap_provider = *provider->ops;
    gap_provider.name = "gap";
    gap_provider.close = close_provider; // so that nobody takes it for a provider over a store
    cut_slot(&gap_provider, &slots_no_provider, at, offsetof(struct ethos_provider_ops, prefetch),
             sizeof gap_provider);
    provider->ops = &gap_provider;
    int code = open_with(world, provider, NULL);
    return code;
}

static void test_every_optional_slot_of_a_provider_has_a_stand_in(void **state)
{
    (void)state;
    for (size_t at = offsetof(struct ethos_provider_ops, read);
         at + SLOT <= sizeof slots_no_provider; at += SLOT)
        assert_true(has_slot(&slots_no_provider, at));
    for (size_t at = offsetof(struct ethos_sessions_ops, create);
         at + SLOT <= sizeof slots_no_sessions; at += SLOT)
        assert_true(has_slot(&slots_no_sessions, at));
}

static void test_each_slot_of_a_provider_absent(void **state)
{
    struct world *world = *state;
    const size_t first = offsetof(struct ethos_provider_ops, prefetch);
    unsigned refused = 0;
    for (size_t at = first; at + SLOT <= sizeof gap_provider; at += SLOT) {
        struct tally tally = {"provider", at, 0, 0, 0};
        fresh_home(world);
        int code = open_provider_without(world, at);
        if (!has_slot(&slots_no_provider, at)) { // mandatory
            assert_error(&world->error, code, ETHOS_INVALID);
            assert_non_null(strstr(world->error.text, "mandatory"));
            refused++;
            continue;
        }
        assert_ok(world, code);
        run_all(world, &tally);
        assert_true(tally.done > 60);
    }
    assert_int_equal(refused, 2);
}

static void test_only_prefetch_and_sync(void **state)
{
    struct world *world = *state;
    struct tally tally = {"provider, all", 0, 0, 0, 0};
    fresh_home(world);
    assert_ok(world, open_provider_without(world, 0));
    run_all(world, &tally);
    assert_true(tally.unsupported > 40);
    world_personality(world, "p");
    assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"kept\"}]"));
    char *text = world_prefetch(world);
    assert_non_null(text);
    assert_non_null(strstr(text, "kept"));
    free(text);
}

static void test_a_missing_slot_is_named_with_the_backend(void **state)
{
    struct world *world = *state;
    struct ethos_file *file;
    fresh_home(world);
    assert_ok(world, open_provider_without(world, 0));
    world_personality(world, "p");
    assert_error(&world->error, ethos_read(world->turn, NULL, &file, &world->error),
                 ETHOS_UNSUPPORTED);
    assert_string_equal(world->error.text, "this backend (gap) cannot show a single text");
    assert_string_equal(world->error.hint, "ethos prefetch shows what it has");
}

/* ---- stores ---------------------------------------------------------------------------------- */

static struct ethos_store_ops gap_store;

/* Slots that the host works around or refuses, all of them after list. */
static const struct ethos_store_ops optional_store = {
    .update = (void *)1,
    .locate = (void *)1,
    .check = (void *)1,
    .history = (void *)1,
    .version = (void *)1,
    .purge = (void *)1,
    .set_aside = (void *)1,
    .conflicts = (void *)1,
    .conflict_read = (void *)1,
    .conflict_drop = (void *)1,
    .keep = (void *)1,
    .batch = (void *)1,
    .gather = (void *)1,
    .scopes = (void *)1,
    .watch = (void *)1,
    .graft = (void *)1,
};

static int open_store_without(struct world *world, size_t at, bool announces)
{
    struct ethos_store *store = open_ram(world);
    gap_store = *store->ops;
    gap_store.name = "gap";
    cut_slot(&gap_store, &optional_store, at, offsetof(struct ethos_store_ops, read),
             sizeof gap_store);
    store->ops = &gap_store;
    if (!announces)
        store->capabilities = 0;
    return open_with(world, NULL, store);
}

static void try_store(struct world *world, size_t at)
{
    struct tally tally = {"store", at, 0, 0, 0};
    fresh_home(world);
    int code = open_store_without(world, at, true);
    if (code != ETHOS_OK) { // it announces what it has not: refused, unless it does not
        assert_error(&world->error, code, ETHOS_INVALID);
        assert_non_null(strstr(world->error.text, "announces"));
        assert_ok(world, open_store_without(world, at, false));
    }
    run_all(world, &tally);
    assert_true(tally.done > 60);
}

static void test_each_slot_of_a_store_absent(void **state)
{
    struct world *world = *state;
    unsigned refused = 0;
    for (size_t at = offsetof(struct ethos_store_ops, read); at + SLOT <= sizeof gap_store;
         at += SLOT) {
        if (!has_slot(&store_ram, at))
            continue;
        if (at >= offsetof(struct ethos_store_ops, update)) {
            try_store(world, at);
            continue;
        }
        fresh_home(world);
        assert_error(&world->error, open_store_without(world, at, true), ETHOS_INVALID);
        assert_non_null(strstr(world->error.text, "mandatory"));
        refused++;
    }
    assert_int_equal(refused, 4);
}

static void test_a_store_of_four_functions(void **state)
{
    try_store(*state, 0);
}

/* ---- session stores -------------------------------------------------------------------------- */

static struct ethos_sessions_ops gap_sessions;

/* As memory/provider/registry.c takes one from a module. */
static void open_sessions_without(struct world *world, size_t at)
{
    struct ethos_sessions *sessions;
    world_open(world);
    assert_ok(world, ethos_sessions(world->ethos, &sessions, &world->error));
    gap_sessions = *sessions->ops;
    gap_sessions.name = "gap";
    cut_slot(&gap_sessions, &slots_no_sessions, at, offsetof(struct ethos_sessions_ops, create),
             sizeof gap_sessions);
    sessions->ops = &gap_sessions;
    assert_ok(world, slots_complete_sessions(sessions, &world->error));
}

static void test_each_slot_of_a_session_store_absent(void **state)
{
    struct world *world = *state;
    for (size_t at = offsetof(struct ethos_sessions_ops, create); at + SLOT <= sizeof gap_sessions;
         at += SLOT) {
        struct tally tally = {"sessions", at, 0, 0, 0};
        fresh_home(world);
        open_sessions_without(world, at);
        run_all(world, &tally);
        assert_true(tally.done > 60);
    }
}

static void test_a_session_store_of_nothing(void **state)
{
    struct world *world = *state;
    struct tally tally = {"sessions, all", 0, 0, 0, 0};
    fresh_home(world);
    open_sessions_without(world, 0);
    run_all(world, &tally);
    assert_true(tally.unsupported > 20);
}

/* ---- where nothing is missing ------------------------------------------------------------------ */

static void test_most_calls_work_where_nothing_is_missing(void **state)
{
    struct world *world = *state;
    struct tally tally = {"nothing", 0, 0, 0, 0};
    fresh_home(world);
    world_open(world);
    run_all(world, &tally);
    print_message("# %u calls done, %u refused\n", tally.done, tally.failed);
    assert_true(tally.done > 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_optional_slot_of_a_provider_has_a_stand_in),
        WORLD_LOOP(test_most_calls_work_where_nothing_is_missing),
        WORLD_LOOP(test_only_prefetch_and_sync),
        WORLD_LOOP(test_a_missing_slot_is_named_with_the_backend),
        WORLD_LOOP(test_each_slot_of_a_provider_absent),
        WORLD_LOOP(test_each_slot_of_a_store_absent),
        WORLD_LOOP(test_a_store_of_four_functions),
        WORLD_LOOP(test_each_slot_of_a_session_store_absent),
        WORLD_LOOP(test_a_session_store_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

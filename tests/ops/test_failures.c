/*
 * test_failures.c: every operation with the first, second, ... allocation or system call failing.
 *
 * An answer is whole or there is none: whatever succeeds in spite of a failure must answer exactly
 * as it does without one. A read changes nothing; a write leaves the old files or the new ones; and
 * the next attempt works.
 */
#include "../memory/world.h"

#include "ops/op.h"

/* ---- the calls ------------------------------------------------------------------------------ */

struct row {
    const char *name, *args;
    bool dry;
};

#define COPY "MEMORY.md.20251115T094640Z.af84aa9e.md"
#define PAIR "\"platform\":\"telegram\",\"platformUserId\":\"4711\""

#define NEW "sha256:7aa7a5359173d05b63cfd682e3c38487f3cb4f7f1d60659fe59fab1505977d4c"
#define GRAFT                                                                                      \
    "{\"version\":2,\"texts\":{\"" NEW "\":\"new\\n\"},\"copies\":[],"                             \
    "\"edits\":[{\"key\":\"a.md\",\"revision\":\"" NEW "\"}],"                                     \
    "\"rows\":[{\"number\":3,\"timeMs\":1,\"key\":\"a.md\",\"actions\":\"add\","                   \
    "\"source\":\"tool\",\"before\":\"absent\",\"after\":\"" NEW "\"}]}"

#define MIGRATE "{\"from\":\"markdown\"}"

#define IN_P "\"scope\":\"personality\""
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define P_SCOPE "personality:p"
#define OF_P "\"scope\":\"personality:p\""

static const struct row rows[] = {
    {"memory.prefetch", "{}", false},
    {"hooks.run", "{\"agent\":\"codex\",\"event\":\"SessionStart\",\"input\":\"{}\"}", false},
    {"memory.sync",
     "{\"updates\":\"[{\\\"action\\\":\\\"add\\\",\\\"content\\\":\\\"new\\\"},"
     "{\\\"action\\\":\\\"remove\\\",\\\"key\\\":\\\"note.md\\\",\\\"content\\\":\\\"two\\\"},"
     "{\\\"action\\\":\\\"add\\\",\\\"content\\\":\\\" \\\"}]\"}",
     false},
    {"memory.sync", "{\"updates\":\"{\\\"action\\\":\\\"delete\\\"}\"}", true},
    {"memory.list", "{}", false},
    {"memory.get", "{\"key\":\"note.md\"}", false},
    {"memory.get", "{\"at\":\"1\"}", false},
    {"memory.merge", "{\"base\":\"a\\n\",\"yours\":\"a\\nb\\n\",\"theirs\":\"c\\n\"}", false},
    {"memory.timeline", "{\"limit\":3,\"diff\":true}", false},
    {"memory.insights", "{}", false},
    {"memory.pendingList", "{}", false},
    {"memory.hidden", "{}", false},
    {"memory.showLine", "{\"line\":\"MEMORY.md:2\"}", false},
    {"memory.showLine", "{\"line\":\"MEMORY.md:2\"}", true},
    {"memory.hideLine", "{\"hash\":\"01234567\"}", false},
    {"meta.home", "{}", false},
    {"meta.capabilities", "{}", false},
    {"memory.search", "{\"query\":\"fact\"}", false},
    {"memory.recall", "{\"question\":\"a fact\",\"why\":true}", false},
    {"memory.chunks.list", "{\"archived\":true}", false},
    {"memory.chunks.get", "{\"id\":\"a802f570c7d2ab8f\"}", false},
    {"memory.chunks.search", "{\"query\":\"fact\"}", false},
    {"memory.chunks.add", "{\"content\":\"new\"}", false},
    {"memory.chunks.add", "{\"content\":\"new\"}", true},
    {"memory.chunks.update", "{\"id\":\"a802f570c7d2ab8f\",\"content\":\"new\"}", false},
    {"memory.chunks.delete", "{\"id\":\"a802f570c7d2ab8f\"}", false},
    {"memory.write", "{\"content\":\"new\"}", false},
    {"memory.write", "{\"content\":\"new\"}", true},
    {"memory.save", "{\"content\":\"new\"}", false},
    {"memory.save", "{\"content\":\"new\"}", true},
    {"memory.add", "{\"content\":\"new\"}", false},
    {"memory.replace", "{\"content\":\"new\"}", false},
    {"memory.remove", "{\"substringMatch\":\"fact\"}", false},
    {"memory.paths", "{}", false},
    {"memory.tool",
     "{\"input\":\"{\\\"command\\\":\\\"create\\\",\\\"path\\\":\\\"/memories/a/b\\\","
     "\\\"file_text\\\":\\\"x\\\"}\"}",
     false},
    {"memory.tool", "{\"input\":\"{\\\"command\\\":\\\"view\\\",\\\"path\\\":\\\"/memories\\\"}\"}",
     false},
    {"memory.tool",
     "{\"input\":\"{\\\"command\\\":\\\"create\\\",\\\"path\\\":\\\"/memories/a/b\\\","
     "\\\"file_text\\\":\\\"x\\\"}\"}",
     true},
    {"memory.history", "{\"diff\":true}", false},
    {"memory.diff", "{}", false},
    {"memory.diff", "{\"from\":\"1\"}", false},
    {"memory.restore", "{\"revision\":\"1\"}", false},
    {"memory.restore", "{\"revision\":\"1\"}", true},
    {"memory.restore", "{\"slug\":\"old\"}", false},
    {"memory.restore", "{\"slug\":\"old\"}", true},
    {"memory.historyBlob",
     "{\"blob\":\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"}", false},
    {"memory.undo", "{}", false},
    {"memory.undo", "{\"actor\":\"ann\"}", true},
    {"memory.undo", "{\"all\":true,\"actor\":\"ann\"}", true},
    {"memory.blame", "{}", false},
    {"notes.remember", "{\"content\":\"new\",\"title\":\"New\"," IN_P "}", false},
    {"notes.remember", "{\"content\":\"more\",\"title\":\"Note\"," IN_P "}", true},
    {"notes.list", "{" IN_P "}", false},
    {"notes.show", "{\"name\":\"note\"," IN_P "}", false},
    {"notes.get", "{\"name\":\"note\"," IN_P "}", false},
    {"notes.graph", "{" IN_P "}", false},
    {"notes.write", "{\"name\":\"note\",\"content\":\"new\"," IN_P "}", false},
    {"notes.remove", "{\"name\":\"note\"," IN_P "}", false},
    {"notes.move", "{\"name\":\"note\",\"newName\":\"A new name\"," IN_P "}", false},
    {"notes.history", "{\"name\":\"note\",\"diff\":true," IN_P "}", false},
    {"notes.blame", "{\"name\":\"note\"," IN_P "}", false},
    {"notes.undo", "{" IN_P "}", false},
    {"notes.undo", "{" IN_P "}", true},
    {"notes.check", "{" IN_P "}", false},
    {"notes.reindex", "{" IN_P "}", false},
    {"notes.reindex", "{" IN_P "}", true},
    {"workspaces.list", "{}", false},
    {"workspaces.where", "{}", false},
    {"workspaces.adopt", "{\"id\":\"w-0123456789ab\"}", false},
    {"workspaces.adopt", "{\"id\":\"w-0123456789ab\"}", true},
    {"workspaces.accept", "{}", false},
    {"workspaces.forget", "{\"id\":\"w-0123456789ab\"}", false},
    {"workspaces.forget", "{\"id\":\"w-0123456789ab\"}", true},
    {"notes.promote", "{\"name\":\"note\",\"to\":\"/nowhere\"," IN_P "}", true},
    {"conflicts.list", "{}", false},
    {"conflicts.show", "{\"id\":\"" COPY "\"}", false},
    {"conflicts.resolve", "{\"id\":\"" COPY "\",\"both\":true}", false},
    {"conflicts.resolve", "{\"id\":\"" COPY "\",\"take\":true}", true},
    {"transfer.import",
     "{\"source\":\"claude-code\",\"path\":\"../theirs\",\"scope\":\"global\",\"approve\":true}",
     false},
    {"transfer.import", "{\"source\":\"claude-code\",\"path\":\"../theirs\",\"scope\":\"global\"}",
     true},
    {"transfer.export", "{\"format\":\"markdown\",\"scope\":\"personality\"}", false},
    {"transfer.export", "{\"format\":\"json\",\"scope\":\"personality\"}", false},
    {"users.list", "{}", false},
    {"users.show", "{\"id\":\"u\"}", false},
    {"users.resolve", "{" PAIR "}", false},
    {"users.resolve", "{" PAIR "}", true},
    {"users.link", "{" PAIR ",\"userId\":\"u\"}", false},
    {"users.unlink", "{\"platform\":\"slack\",\"platformUserId\":\"U1\"}", false},
    {"personalities.list", "{}", false},
    {"personalities.get", "{\"id\":\"q\"}", false},
    {"personalities.create", "{\"id\":\"new\",\"memoryScope\":\"global\"}", false},
    {"personalities.create", "{\"id\":\"new\"}", true},
    {"personalities.create",
     "{\"id\":\"new\",\"soulMd\":\"I am\",\"fields\":\"{\\\"toolset\\\":[\\\"a\\\",\\\"b\\\"]}\"}",
     false},
    {"personalities.characterSheet", "{\"id\":\"q\"}", false},
    {"personalities.update",
     "{\"id\":\"q\",\"soulMd\":\"I was\",\"fields\":\"{\\\"model\\\":{\\\"deep\\\":\\\"m\\\"}}\"}",
     false},
    {"personalities.update", "{\"id\":\"q\",\"description\":\"d\"}", true},
    {"personalities.duplicate", "{\"id\":\"q\",\"newId\":\"new\"}", false},
    {"personalities.delete", "{\"id\":\"q\"}", false},
    {"personalities.delete", "{\"id\":\"q\"}", true},
    {"personalities.use", "{\"id\":\"q\"}", false},
    {"config.list", "{}", false},
    {"config.get", "{\"key\":\"personality\"}", false},
    {"config.set", "{\"key\":\"serve.port\",\"value\":\"4000\"}", false},
    {"config.set", "{\"key\":\"serve.port\",\"value\":\"4000\"}", true},
    {"config.unset", "{\"key\":\"serve.port\"}", false},
    {"config.unset", "{\"key\":\"serve.port\"}", true},
    {"admin.status", "{}", false},
    {"admin.doctor", "{}", false},
    {"admin.doctor", "{\"fix\":true}", false},
    {"meta.health", "{}", false},
    {"memory.forget", "{\"text\":\"new\"}", true},
    {"store.info", "{}", false},
    {"store.gather", "{\"at\":[\"personality:p/MEMORY.md\",\"global/none.md\"]}", false},
    {"store.swap",
     "{" OF_P ",\"edits\":[{\"key\":\"note.md\",\"text\":{\"base64\":\"AP8=\"}},"
     "{\"key\":\"new.md\",\"expect\":\"absent\",\"text\":\"new\"}],"
     "\"origin\":{\"actor\":\"ann\"}}",
     false},
    {"store.swap", "{" OF_P ",\"edits\":[{\"key\":\"note.md\",\"drop\":true}]}", true},
    {"store.swap", "{" OF_P ",\"edits\":[{\"key\":\"note.md\",\"expect\":\"absent\"}]}", false},
    {"store.list", "{" OF_P "}", false},
    {"store.scopes", "{}", false},
    {"store.history", "{" OF_P ",\"key\":\"MEMORY.md\"}", false},
    {"store.version",
     "{" OF_P ",\"key\":\"MEMORY.md\",\"revision\":"
     "\"sha256:fec46c06bca4bf3ffdad6e13d40c97f2e3daba6c3f4b7bb43cd8d0d2ab90b2c3\"}",
     false},
    {"store.setAside", "{" OF_P ",\"key\":\"note.md\",\"text\":\"beside\"}", false},
    {"store.conflicts", "{" OF_P "}", false},
    {"store.conflictRead", "{" OF_P ",\"id\":\"" COPY "\"}", false},
    {"store.conflictDrop", "{" OF_P ",\"id\":\"" COPY "\"}", true},
    {"store.keep", "{" OF_P ",\"key\":\"note.md\",\"text\":\"beside\"}", true},
    {"store.graft", "{" OF_P ",\"commit\":" GRAFT "}", false},
    {"memory.migrate", MIGRATE, false},
    {"memory.migrate", MIGRATE, true},
};

/* The module stands beside this program, and its folder beside the home. */
static json_t *make_args(const struct world *world, const char *args)
{
    char here[PATH_MAX - 64] = "", module[PATH_MAX], folder[128];
    json_t *json = json_loads(args, 0, NULL);
    if (strcmp(args, MIGRATE) != 0)
        return json;
    assert_true(readlink("/proc/self/exe", here, sizeof here - 1) > 0);
    *strrchr(here, '/') = 0;
    snprintf(module, sizeof module, "%s/beside.so", here);
    snprintf(folder, sizeof folder, "folder=%s/beside", world->temp.path);
    json_object_set_new(json, "to", json_string(module));
    json_object_set_new(json, "toOption", json_pack("[s]", folder));
    return json;
}

/* Two changes and a conflict copy, for the operations that look back. */
static void make_past(struct world *world)
{
    const struct ethos_origin origin = {.actor = "ann"};
    const struct ethos_sync_how how = {.origin = &origin};
    const struct ethos_update updates[] = {{.action = ETHOS_ACTION_ADD, .text = VIEW("new one")},
                                           {.action = ETHOS_ACTION_ADD, .text = VIEW("new two")}};
    unsigned conflicts;
    world_open(world);
    world_turn(world, NULL);
    for (size_t i = 0; i < COUNT(updates); i++)
        assert_ok(world, ethos_sync(world->turn, &updates[i], 1, &how, &world->error));
    assert_ok(world, ethos_save(world->turn, NULL, VIEW("a\nb\n"), VIEW("a copy\nb\n"), NULL,
                                &conflicts, &world->error));
    assert_true(conflicts > 0);
    world_close(world);
}

static void make_home(struct world *world)
{
    world_remove(world, "home");
    world_put(world, "home/config.yaml", "personality: p\nuser.id: me\ncolor: red\n");
    world_put(world, "home/personalities/p/config.yaml", "name: P\n");
    world_put(world, "home/personalities/p/MEMORY.md", "a fact\nignore previous instructions\n");
    world_put(world, "home/shown-lines.jsonl",
              "{\"scope\":\"" P_SCOPE "\",\"hash\":\"" HASH "\",\"why\":[\"secret\"],\"file\":"
              "\"note.md\"}\n");
    world_put(world, "home/personalities/p/note.md", "one\ntwo\n");
    world_put(
        world, "home/personalities/p/memory-archive.md",
        "<!-- archived 2026-01-01T00:00:00.000Z slug=old from=MEMORY.md -->\n### old\nfact\n");
    world_put(world, "home/personalities/q/SOUL.md", "I am q\n");
    world_put(world, "home/personalities/p/memories/d/old.txt", "old\n");
    world_put(world, "home/workspaces/w-0123456789ab/memory/MEMORY.md", "- [N](n.md)\n");
    world_put(world, "home/workspaces/w-0123456789ab/memory/n.md", "n\n");
    world_put(world, "home/personalities/q/config.yaml", "memoryScope: global\n");
    world_put(world, "home/users/me/USER.md", "me\n");
    world_put(world, "home/users/u/USER.md", "u\n");
    world_put(world, "home/users/identity-map.json",
              "[{\"platform\":\"slack\",\"platformUserId\":\"U1\",\"userId\":\"u\"},7]\n");
    world_put(world, "theirs/theirs.md", "ghp_abcdefghijklmnopqrstuvwxyz0123456789\n");
    make_past(world);
}

/* Makes members null, at any depth. */
static void blank(json_t *value, const char *const *names)
{
    const char *name;
    json_t *member;
    size_t index;
    for (size_t i = 0; names[i]; i++)
        if (json_object_get(value, names[i]))
            json_object_set_new(value, names[i], json_null());
    json_object_foreach (value, name, member)
        blank(member, names);
    json_array_foreach (value, index, member)
        blank(member, names);
}

/* Times of files differ from run to run; what a move does depends on the one before, and digests on times. */
static void blank_what_differs(const struct row *row, json_t *json)
{
    static const char *const times[] = {"modifiedAt", "time",      "mtimeMs", "timeMs",
                                        "indexed",    "elapsedMs", NULL};
    static const char *const moves[] = {"moved", "added", "from", "to", "passes", NULL};
    static const char *const numbers[] = {"change", NULL};
    blank(json, times);
    if (strstr(row->name, ".undo")) // an attempt that was taken back has used up numbers
        blank(json, numbers);
    if (strcmp(row->name, "memory.migrate") == 0)
        blank(json, moves);
    if (strcmp(row->name, "notes.remember") == 0 || strcmp(row->name, "notes.write") == 0)
        json_object_del(json, "index"); // unknown when the prompt's files cannot be read
}

/* What an operation did: its code, the code beside a result, and the answer as text. */
struct answer {
    int code, beside;
    unsigned long allocations;
    bool raw; /* bytes, not JSON */
    char *text;
};

static void ask(struct world *world, const struct row *row, bool json, unsigned long fail_at,
                struct nth *nth, struct answer *answer)
{
    static const struct ethos_request nothing;
    struct op_result result;
    json_t *args = make_args(world, row->args);
    struct op_call call = {.ethos = world->ethos,
                           .request = &nothing,
                           .args = args,
                           .want_json = json,
                           .dry_run = row->dry,
                           .via = "test"};

    op_result_init(&result);
    memset(&world->error, 0, sizeof world->error);
    os_hook(nth ? nth_fails : NULL, nth);
    alloc_fail_at(fail_at);
    answer->code = op_run(op_find(row->name), &call, &result, &world->error);
    answer->allocations = alloc_count();
    alloc_fail_at(0);
    os_hook(NULL, NULL);
    answer->beside = result.code;
    answer->raw = result.has_text;
    answer->text = NULL;
    if (answer->code == ETHOS_OK) {
        blank_what_differs(row, result.json);
        char *dump = result.json ? json_dumps(result.json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        size_t size = (dump ? strlen(dump) : 0) + result.text.size + 2;
        answer->text = malloc(size);
        assert_non_null(answer->text);
        snprintf(answer->text, size, "%s\n%s", dump ? dump : "", result.text.data);
        free(dump);
    }
    op_result_release(&result);
    json_decref(args);
}

/* ---- what must hold ------------------------------------------------------------------------- */

/* One operation, how it goes when nothing fails, and the files before and after. */
struct trial {
    const struct row *row;
    bool json;
    struct answer right;
    char *before, *after;
};

static void trial_begin(struct world *world, const struct row *row, bool json, struct trial *trial)
{
    *trial = (struct trial){.row = row, .json = json};
    world_remove(world, "beside");
    make_home(world);
    world_open(world);
    trial->before = world_tree(world, "home", TREE_MEMORY);
    ask(world, row, json, 0, NULL, &trial->right);
    if (trial->right.code != ETHOS_OK)
        fail_msg("%s: %s", row->name, world->error.text);
    trial->after = world_tree(world, "home", TREE_MEMORY);
}

static void trial_end(struct trial *trial)
{
    free(trial->before);
    free(trial->after);
    free(trial->right.text);
}

/* Old files or new ones; false when they are the old ones. */
static bool files_are_new(struct world *world, const struct trial *trial)
{
    char *now = world_tree(world, "home", TREE_MEMORY);
    bool old = strcmp(now, trial->before) == 0, new_files = strcmp(now, trial->after) == 0;
    /* Several small files, one after the other: the map and its copy, a workspace and its aliases. */
    bool between = strstr(trial->row->name, "users.") || strstr(trial->row->name, "workspaces.");
    if (!old && !new_files && !between)
        fail_msg("%s: neither the old files nor the new ones:\n%.800s\n", trial->row->name, now);
    free(now);
    return !old;
}

static void assert_retry(struct world *world, const struct trial *trial, bool was_new)
{
    struct answer again;
    ask(world, trial->row, trial->json, 0, NULL, &again);
    bool done = was_new && (again.code == ETHOS_EXISTS || again.code == ETHOS_NOTFOUND);
    if (again.code != ETHOS_OK && !done)
        fail_msg("%s: the next attempt failed: %s", trial->row->name, world->error.text);
    if (!was_new)
        assert_string_equal(again.text, trial->right.text);
    free(again.text);
}

/* failed: the system call, or NULL for an allocation. */
static void check(struct world *world, const struct trial *trial, struct answer *answer,
                  const char *failed)
{
    /* A finding more or less is how these tell of a call that failed. */
    static const char *const telling[] = {"admin.status", "admin.doctor",    "meta.health",
                                          "notes.check",  "workspaces.list", "workspaces.forget"};
    bool doctor = false;
    for (size_t i = 0; failed && i < COUNT(telling); i++)
        doctor = doctor || strcmp(trial->row->name, telling[i]) == 0;
    bool told = answer->code != ETHOS_OK || answer->beside != trial->right.beside || doctor;
    if (answer->code != ETHOS_OK)
        assert_error(&world->error, answer->code, answer->code);
    if (!told && strcmp(answer->text, trial->right.text) != 0)
        fail_msg("%s: %s failed, and the answer is\n%.400s\ninstead of\n%.400s\n", trial->row->name,
                 failed ? failed : "an allocation", answer->text, trial->right.text);
    bool was_new = files_are_new(world, trial);
    if (!told)
        assert_true(was_new || strcmp(trial->before, trial->after) == 0);
    /* What could not be removed, and what may still be written to, is looked at again the next time. */
    bool later = failed && (strcmp(failed, "lease") == 0 || strcmp(failed, "unlinkat") == 0);
    if (!doctor && !later)
        assert_no_litter(world);
    assert_retry(world, trial, was_new);
    if (!later)
        assert_no_litter(world);
    free(answer->text);
}

/* The home as it was, and a new handle. */
static void start_again(struct world *world, const struct trial *trial)
{
    world_close(world);
    world_remove(world, "beside");
    world_remove(world, "home/recall");
    if (strcmp(trial->before, trial->after) != 0)
        make_home(world);
    world_open(world);
}

/*
 * Neighbouring calls are much the same: each of them only with CHECK_LONG. Rows begin at different ones, so that
 * together they fail every early call. A move makes calls by the hundred.
 */
static unsigned long stride(const struct trial *trial)
{
    bool many = strcmp(trial->row->name, "memory.migrate") == 0;
    return getenv("CHECK_LONG") ? 1 : many ? 13 : 5;
}

static unsigned long first_call(const struct trial *trial)
{
    return 1 + (unsigned long)(trial->row - rows) % stride(trial);
}

/* ---- loops ---------------------------------------------------------------------------------- */

static void try_allocations(struct world *world, struct trial *trial)
{
    struct answer answer;
    bool hit = true;
    for (unsigned long n = first_call(trial); hit; n += stride(trial)) {
        start_again(world, trial);
        ask(world, trial->row, trial->json, n, NULL, &answer);
        hit = answer.allocations >= n;
        if (answer.code != ETHOS_OK)
            assert_int_equal(answer.code, ETHOS_NOMEM);
        check(world, trial, &answer, NULL);
    }
}

static void try_calls(struct world *world, struct trial *trial)
{
    struct nth nth = {.number = first_call(trial), .errnum = EIO};
    struct answer answer;
    do {
        start_again(world, trial);
        nth.calls = 0;
        nth.failed[0] = 0;
        ask(world, trial->row, trial->json, 0, &nth, &answer);
        check(world, trial, &answer, nth.failed);
        nth.number += stride(trial);
    } while (nth.failed[0]);
}

static void each_row(struct world *world, void (*loop)(struct world *world, struct trial *trial))
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (int json = 0; json < 2; json++) {
            struct trial trial;
            print_message("# %s%s\n", rows[i].name, rows[i].dry ? ", dry" : "");
            trial_begin(world, &rows[i], json, &trial);
            if (json || trial.right.raw)
                loop(world, &trial);
            trial_end(&trial);
        }
    }
}

static void test_every_operation_is_tried(void **state)
{
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        bool tried = !op->run || (op->effect & OP_NO_HOME) ||  // those: test_git.c
                     strncmp(op->name, "sessions.", 9) == 0 || // sessions/test_failures.c
                     strcmp(op->name, "search.all") == 0 ||    // there, too
                     strcmp(op->name, "recall.bench") == 0 ||  // cli/recall-bench.test
                     strcmp(op->name, "recall.index") == 0 ||  // memory/recall/test_recall.c
                     strncmp(op->name, "apiKeys.", 8) == 0 ||  // tests/session/test_api_keys.c
                     strncmp(op->name, "browsers.", 9) == 0 || // admin/test_login.c
                     strncmp(op->name, "channel.", 8) == 0 ||  // channels/test_channels.c
                     strcmp(op->name, "memory.mirror") == 0;   // memory/mirror/test_mirror.c
        tried |= strcmp(op->name, "admin.backup") == 0 ||      // memory/backup/test_backup.c
                 strcmp(op->name, "admin.restore") == 0;
        tried |= strncmp(op->name, "chat.", 5) == 0 ||           // never succeed
                 strncmp(op->name, "memory.pending", 14) == 0 || // memory/review/test_review.c
                 strncmp(op->name, "pending.", 8) == 0;
        for (size_t i = 0; i < COUNT(rows); i++)
            tried = tried || strcmp(rows[i].name, op->name) == 0;
        if (!tried)
            fail_msg("%s has no row in this test", op->name);
    }
}

static void test_without_memory(void **state)
{
    each_row(*state, try_allocations);
}

static void test_with_a_failing_call(void **state)
{
    each_row(*state, try_calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation_is_tried),
        WORLD_LOOP(test_without_memory),
        WORLD_LOOP(test_with_a_failing_call),
    };

    return cmocka_run_group_tests_name("ops/failures", tests, NULL, NULL);
}

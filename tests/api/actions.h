/*
 * actions.h: the calls of the public interface whose failures are tried one by one.
 *
 * Each starts from the same home: settings of home and personality, an identity map, aliases, an
 * older profile, two texts; and a linked git worktree as the current directory. For those that
 * write, `old` and `new_text` are the bytes of one file before and after.
 */
#ifndef TESTS_API_ACTIONS_H
#define TESTS_API_ACTIONS_H

#include "../memory/world.h"

#include "base/str.h"

#define MEMORY "home/personalities/p/MEMORY.md"
#define NOTE "home/personalities/p/note.md"
#define PROFILE "home/users/u/USER.md"
#define MAP "home/users/identity-map.json"
#define MAP_TEXT                                                                                   \
    "[{\"platform\":\"telegram\",\"platformUserId\":\"1\",\"userId\":\"u\",\"color\":\"red\"}]\n"

enum action {
    OPEN,
    TURN,
    PREFETCH,
    RECEIPT,
    READ,
    ADD,
    REPLACE,
    REMOVE,
    DELETE,
    TWO_SCOPES,
    OVERFLOW,
    NEW_PERSON,
    OLD_PROFILE,
    WRITE,
    ONCE,
    ACTIONS
};

static const char *const action_names[ACTIONS] = {
    "open",   "turn",       "prefetch", "receipt",    "read",        "add",   "replace", "remove",
    "delete", "two scopes", "overflow", "new person", "old profile", "write", "once"};

/* The file an action writes, and its bytes; NULL: absent. */
struct effect {
    const char *path, *old, *new_text;
};

static const struct effect effects[ACTIONS] = {
    [ADD] = {MEMORY, "old fact\n", "old fact\n\nnew\n"},
    [REPLACE] = {MEMORY, "old fact\n", "new\n"},
    [REMOVE] = {MEMORY, "old fact\n", "\n"},
    [DELETE] = {NOTE, "a note\n", NULL},
    [TWO_SCOPES] = {MEMORY, "old fact\n", "old fact\n\nnew\n"},
    [OVERFLOW] = {"home/personalities/p/large.md", NULL, NULL}, // looked at apart
    [NEW_PERSON] = {"home/users/217c446e96f2/USER.md", NULL, "new\n"},
    [OLD_PROFILE] = {"home/users/me/USER.md", NULL, "older\n\nnew\n"},
    [WRITE] = {MEMORY, "old fact\n", "exactly "},
    [ONCE] = {MEMORY, "old fact\n", "old fact\n\nnew\n"},
};

#define BLOCK "## About You\n\na person\n\n## Memory\n\nold fact"

/* ---- the home ------------------------------------------------------------------------------- */

static inline void action_home(struct world *world)
{
    char text[256];
    world_remove(world, "home");
    world_put(world, "home/config.yaml",
              "personality: p\nuser:\n  id: me\nprefetch.maxChars: 5000\ncolor: red\n");
    world_put(world, "home/personalities/p/config.yaml", "memoryScope: per-personality\nname: P\n");
    world_put(world, "home/personalities/p/USER.md", "older\n");
    world_put(world, MEMORY, "old fact\n");
    world_put(world, NOTE, "a note\n");
    world_put(world, PROFILE, "a person\n");
    world_put(world, MAP, MAP_TEXT);
    world_put(world, "home/workspaces/aliases.json", "{\"000000000000\": \"nothing\"}\n");
    if (world_exists(world, "side"))
        return;
    world_put(world, "main/.git/worktrees/side/commondir", "../..\n");
    snprintf(text, sizeof text, "gitdir: %s/main/.git/worktrees/side\n", world->temp.path);
    world_put(world, "side/.git", text);
    snprintf(text, sizeof text, "%s/side/.git\n", world->temp.path);
    world_put(world, "main/.git/worktrees/side/gitdir", text);
    snprintf(text, sizeof text, "%s/side", world->temp.path);
    assert_int_equal(chdir(text), 0);
}

static inline const struct ethos_request *action_request(enum action action)
{
    static const struct ethos_request me = {0};
    static const struct ethos_request known = {.platform = "telegram", .platform_user = "1"};
    static const struct ethos_request fresh = {.platform = "telegram", .platform_user = "4711"};
    return action == NEW_PERSON ? &fresh : action == OLD_PROFILE ? &me : &known;
}

/* Everything an action needs before it starts. */
static inline void action_begin(struct world *world, enum action action)
{
    world_close(world);
    action_home(world);
    if (action == OPEN)
        return;
    world_open(world);
    if (action != TURN)
        world_turn(world, action_request(action));
}

/* ---- carrying them out ---------------------------------------------------------------------- */

/* What a prefetch showed, and whether it told of a file it could not read. */
struct shown {
    char text[512];
    int code;
    bool unsearchable; /* a directory may have been closed to us, with the .git in it */
};

static inline int action_prefetch(struct world *world, bool receipt, struct shown *shown)
{
    const struct ethos_prefetch_options options = {.receipt = receipt};
    struct ethos_block *block = NULL;
    int code = ethos_prefetch(world->turn, &options, &block, &world->error);
    if (code == ETHOS_OK && block) {
        snprintf(shown->text, sizeof shown->text, "%s", block->text);
        shown->code = block->code;
        if (block->code == ETHOS_OK && receipt)
            assert_int_equal(block->source_count, 2);
    }
    ethos_block_free(block);
    return code;
}

static inline int action_overflow(struct world *world)
{
    enum { SIZE = ETHOS_MAX_FILE_CH + 400 };
    static char text[SIZE];
    for (size_t i = 0; i < SIZE; i++)
        text[i] = i % 100 == 99 ? '\n' : 'x';
    const struct ethos_update update = {
        .action = ETHOS_ACTION_ADD, .key = "large.md", .text = view_of(text, SIZE)};
    return ethos_sync(world->turn, &update, 1, NULL, &world->error);
}

static inline int action_read(struct world *world)
{
    struct ethos_file *file = NULL;
    int code = ethos_read(world->turn, NULL, &file, &world->error);
    if (code == ETHOS_OK) {
        assert_string_equal(file->text, "old fact\n");
        assert_non_null(file->path);
    }
    ethos_file_free(file);
    return code;
}

static inline int action_open(struct world *world)
{
    const struct ethos_options options = {.home = world->home, .host = &world->host};
    return ethos_open(&options, &world->ethos, &world->error);
}

static inline int action_run(struct world *world, enum action action, struct shown *shown)
{
    static const char *const json[ACTIONS] = {
        [ADD] = "{\"action\":\"add\",\"content\":\"new\"}",
        [REPLACE] = "{\"action\":\"replace\",\"content\":\"new\"}",
        [REMOVE] = "{\"action\":\"remove\",\"content\":\"fact\"}",
        [DELETE] = "{\"action\":\"delete\",\"key\":\"note.md\"}",
        [TWO_SCOPES] = "[{\"action\":\"add\",\"content\":\"new\"},"
                       "{\"action\":\"replace\",\"store\":\"user\",\"content\":\"newer\"}]",
        [ONCE] = "{\"opId\":\"op-1\",\"updates\":[{\"action\":\"add\",\"content\":\"new\"}]}",
        [NEW_PERSON] = "{\"action\":\"add\",\"store\":\"user\",\"content\":\"new\"}",
        [OLD_PROFILE] = "{\"action\":\"add\",\"store\":\"user\",\"content\":\"new\"}",
    };

    memset(&world->error, 0, sizeof world->error);
    memset(shown, 0, sizeof *shown);
    switch (action) {
    case OPEN:
        return action_open(world);
    case TURN:
        return ethos_turn_new(world->ethos, action_request(action), &world->turn, &world->error);
    case PREFETCH:
    case RECEIPT:
        return action_prefetch(world, action == RECEIPT, shown);
    case READ:
        return action_read(world);
    case OVERFLOW:
        return action_overflow(world);
    case WRITE:
        return ethos_write(world->turn, NULL, NULL, VIEW("exactly "), NULL, &world->error);
    default:
        return ethos_sync_json(world->turn, view_str(json[action]), NULL, &world->error);
    }
}

/* ---- what must hold ------------------------------------------------------------------------- */

static inline bool has_bytes(struct world *world, const char *path, const char *expected)
{
    char *text = temp_read(&world->temp, path, NULL);
    bool same = text && expected ? strcmp(text, expected) == 0 : !text && !expected;
    free(text);
    return same;
}

/* The text that was cut and its archive are both there, or neither. */
static inline bool overflow_is_new(struct world *world)
{
    size_t size = 0, archived = 0;
    char *text = temp_read(&world->temp, effects[OVERFLOW].path, &size);
    char *archive = temp_read(&world->temp, "home/personalities/p/memory-archive.md", &archived);
    bool is_new = text != NULL;
    assert_int_equal(text != NULL, archive != NULL);
    if (is_new)
        assert_true(size <= ETHOS_MAX_FILE_CH && size + archived > ETHOS_MAX_FILE_CH + 390);
    free(text);
    free(archive);
    return is_new;
}

static inline bool two_scopes_are_new(struct world *world)
{
    bool user = has_bytes(world, PROFILE, "newer\n");
    assert_true(user || has_bytes(world, PROFILE, "a person\n"));
    bool memory = has_bytes(world, MEMORY, effects[TWO_SCOPES].new_text);
    assert_true(memory || has_bytes(world, MEMORY, effects[TWO_SCOPES].old));
    return user && memory;
}

/* Whether the files have the new bytes; fails the test when they have neither old nor new. */
static inline bool action_is_new(struct world *world, enum action action)
{
    const struct effect *effect = &effects[action];
    if (action == OVERFLOW)
        return overflow_is_new(world);
    if (action == TWO_SCOPES)
        return two_scopes_are_new(world);
    if (has_bytes(world, effect->path, effect->new_text))
        return true;
    if (!has_bytes(world, effect->path, effect->old))
        fail_msg("%s: neither the old bytes nor the new ones", action_names[action]);
    return false;
}

static inline bool action_writes(enum action action)
{
    return effects[action].path != NULL;
}

/* The context of a turn is the right one or, for the workspace, none. */
static inline void assert_context(struct world *world, bool unsearchable)
{
    const struct ethos_context *context = ethos_turn_context(world->turn);
    assert_string_equal(context->personality, "p");
    assert_string_equal(context->user, "u");
    assert_string_equal(context->memory_scope, "personality:p");
    assert_string_equal(context->user_scope, "user:u");
    if (context->workspace_scope && !unsearchable)
        assert_int_equal(strncmp(context->workspace_scope, "workspace:main-", 15), 0);
}

/* After a success, everything is as it should be. */
static inline void assert_done(struct world *world, enum action action, const struct shown *shown)
{
    if (action == TURN)
        assert_context(world, shown->unsearchable);
    if ((action == PREFETCH || action == RECEIPT) && shown->code == ETHOS_OK)
        assert_string_equal(shown->text, BLOCK);
    if (action_writes(action))
        assert_true(action_is_new(world, action));
}

#endif

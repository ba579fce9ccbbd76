/*
 * test_sync.c: updates, reads and byte-exact writes through a turn; who is recorded when.
 */
#include "base/hash.h"
#include "memory/home/identity.h"
#include "world.h"

#define MEMORY "home/personalities/default/MEMORY.md"
#define MAP "home/users/identity-map.json"
#define ADD_MEMORY "{\"action\":\"add\",\"content\":\"fact\"}"
#define ADD_USER "{\"action\":\"add\",\"store\":\"user\",\"content\":\"me\"}"

/* ---- outcomes ------------------------------------------------------------------------------- */

/* What was reported, one line per key. */
struct log {
    char text[2048];
    char revision[ETHOS_REVISION_SIZE]; /* of the last key */
    bool with_diff;
};

static void note(void *arg, const struct ethos_outcome *outcome)
{
    static const char *const kinds[] = {"written", "unchanged", "conflict", "failed"};
    struct log *log = arg;
    size_t used = strlen(log->text);
    snprintf(log->text + used, sizeof log->text - used,
             "%s %s %s %s chars=%llu applied=%llu matched=%llu/%llu%s%s%s%s\n",
             kinds[outcome->kind], outcome->scope, outcome->key,
             strcmp(outcome->revision, "absent") == 0 ? "absent" : "present",
             (unsigned long long)outcome->chars, (unsigned long long)outcome->applied,
             (unsigned long long)outcome->matched, (unsigned long long)outcome->removals,
             outcome->warning ? " warning" : "", outcome->error ? " " : "",
             outcome->error ? ethos_code_name(outcome->error->code) : "",
             log->with_diff && outcome->diff ? " diff" : "");
    snprintf(log->revision, sizeof log->revision, "%s", outcome->revision);
}

static int sync_log(struct world *world, const char *json, unsigned flags, struct log *log)
{
    const struct ethos_sync_how how = {.flags = flags, .each = note, .arg = log};
    memset(log->text, 0, sizeof log->text);
    memset(&world->error, 0, sizeof world->error);
    return ethos_sync_json(world->turn, view_str(json), &how, &world->error);
}

static void test_each_key_is_reported_once_with_what_it_has_now(void **state)
{
    struct world *world = *state;
    struct log log = {0};
    char revision[ETHOS_REVISION_SIZE];

    world_turn(world, NULL);
    assert_ok(world, sync_log(world,
                              "[{\"action\":\"add\",\"content\":\"one\\ntwo\"},"
                              "{\"action\":\"remove\",\"substringMatch\":\"two\"},"
                              "{\"action\":\"add\",\"key\":\"note.md\",\"content\":\"n\"},"
                              "{\"action\":\"add\",\"content\":\" \"},"
                              "{\"action\":\"remove\",\"key\":\"none.md\",\"content\":\"x\"},"
                              "{\"action\":\"add\",\"scope\":\"global\",\"key\":\"g.md\","
                              "\"content\":\"\\ud83d\\ude00\"}]",
                              0, &log));
    assert_string_equal(
        log.text,
        "written personality:default MEMORY.md present chars=4 applied=2 matched=1/1 warning\n"
        "written personality:default note.md present chars=2 applied=1 matched=0/0\n"
        "unchanged personality:default none.md absent chars=0 applied=0 matched=0/1\n"
        "written global g.md present chars=3 applied=1 matched=0/0\n");
    hash_revision(view_str("\U0001F600\n"), revision);
    assert_string_equal(log.revision, revision);
    assert_ok(world, sync_log(world, "{\"action\":\"delete\",\"key\":\"note.md\"}", 0, &log));
    assert_string_equal(
        log.text, "written personality:default note.md absent chars=0 applied=1 matched=0/0\n");
    assert_ok(world, sync_log(world, "[]", 0, &log));
    assert_string_equal(log.text, "");
}

static void test_an_unchanged_text_is_not_written(void **state)
{
    struct world *world = *state;
    struct log log = {0};

    world_turn(world, NULL);
    assert_ok(world, world_sync(world, ADD_MEMORY));
    char *before = world_tree(world, ".", TREE_ALL);
    struct stat st, now;
    assert_int_equal(fstatat(world->temp.fd, MEMORY, &st, 0), 0);
    assert_ok(world, sync_log(world, "{\"action\":\"replace\",\"content\":\"fact\"}", 0, &log));
    assert_string_equal(
        log.text,
        "unchanged personality:default MEMORY.md present chars=5 applied=0 matched=0/0\n");
    assert_int_equal(fstatat(world->temp.fd, MEMORY, &now, 0), 0);
    assert_int_equal(st.st_ino, now.st_ino);
    char *after = world_tree(world, ".", TREE_ALL);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void test_a_conflict_leaves_its_scope_and_others_commit(void **state)
{
    struct world *world = *state;
    struct log log = {0};

    world_turn(world, NULL);
    assert_ok(world, world_sync(world, ADD_MEMORY));
    int code = sync_log(
        world,
        "[{\"action\":\"add\",\"key\":\"other.md\",\"content\":\"x\"},"
        "{\"action\":\"add\",\"content\":\"x\",\"ifMatch\":\"absent\"},"
        "{\"action\":\"add\",\"scope\":\"global\",\"key\":\"g.md\",\"content\":\"g\"}]",
        0, &log);
    assert_error(&world->error, code, ETHOS_CONFLICT);
    assert_string_equal(
        log.text,
        "conflict personality:default MEMORY.md present chars=5 applied=0 matched=0/0 conflict\n"
        "written global g.md present chars=2 applied=1 matched=0/0\n");
    assert_file(world, MEMORY, "fact\n");
    assert_false(world_exists(world, "home/personalities/default/other.md"));
    assert_file(world, "home/g.md", "g\n");
}

static void test_a_right_revision_lets_the_write_pass(void **state)
{
    struct world *world = *state;
    char json[256], revision[ETHOS_REVISION_SIZE];

    world_turn(world, NULL);
    assert_ok(world,
              world_sync(world, "{\"action\":\"add\",\"content\":\"a\",\"ifMatch\":\"absent\"}"));
    hash_revision(VIEW("a\n"), revision);
    snprintf(json, sizeof json, "{\"action\":\"add\",\"content\":\"b\",\"if_match\":\"%s\"}",
             revision);
    assert_ok(world, world_sync(world, json));
    assert_int_equal(world_sync(world, json), ETHOS_CONFLICT); // it moved
    assert_file(world, MEMORY, "a\n\nb\n");
}

static void test_a_dry_run_tells_everything_and_does_nothing(void **state)
{
    struct world *world = *state;
    struct log log = {.with_diff = true};

    world_turn(world, NULL);
    assert_ok(world, sync_log(world, "[" ADD_MEMORY "," ADD_USER "]",
                              ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF, &log));
    assert_non_null(strstr(log.text, "written personality:default MEMORY.md absent chars=5"));
    assert_non_null(strstr(log.text, "USER.md"));
    assert_non_null(strstr(log.text, " diff"));
    assert_false(world_exists(world, "home"));
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void test_bad_updates_are_refused_before_anything_is_written(void **state)
{
    static const struct {
        const char *json;
        int code;
        const char *text; /* or NULL */
    } rows[] = {
        {"{\"action\":\"add\",\"key\":\"../x.md\",\"content\":\"x\"}", ETHOS_DENIED,
         "unsafe memory key: ../x.md"},
        {"{\"action\":\"add\",\"key\":\"\",\"content\":\"x\"}", ETHOS_DENIED,
         "unsafe memory key: "},
        {"{\"action\":\"add\",\"key\":\"config.yaml\",\"content\":\"x\"}", ETHOS_DENIED,
         "reserved memory key: config.yaml"},
        {"{\"action\":\"add\",\"key\":\"soul.MD\",\"content\":\"x\"}", ETHOS_DENIED, NULL},
        {"{\"action\":\"add\",\"key\":\"SOUL.md\",\"content\":\"x\"}", ETHOS_DENIED,
         "reserved memory key: SOUL.md"},
        {"{\"action\":\"add\",\"key\":\"memory-archive.md\",\"content\":\"x\"}", ETHOS_DENIED,
         "reserved memory key: memory-archive.md"},
        {"{\"action\":\"add\",\"scope\":\"user:../x\",\"key\":\"USER.md\",\"content\":\"x\"}",
         ETHOS_DENIED, "unrecognised memory scope: user:../x"},
        {"{\"action\":\"add\",\"scope\":\"planet:x\",\"key\":\"a.md\",\"content\":\"x\"}",
         ETHOS_DENIED, "unrecognised memory scope: planet:x"},
        {"{\"action\":\"add\",\"key\":\"a\\u0000.md\",\"content\":\"x\"}", ETHOS_DENIED, NULL},
        {"{\"action\":\"forget\",\"content\":\"x\"}", ETHOS_INVALID, NULL},
        {"{\"action\":\"add\",\"store\":\"disk\",\"content\":\"x\"}", ETHOS_INVALID, NULL},
        {"{\"action\":\"add\",\"store\":\"user\",\"key\":\"MEMORY.md\",\"content\":\"x\"}",
         ETHOS_INVALID, NULL},
        {"{\"action\":\"add\",\"scope\":\"global\",\"content\":\"x\"}", ETHOS_INVALID, NULL},
        {"{\"action\":\"add\"}", ETHOS_INVALID, NULL},
        {"{\"action\":\"add\",\"content\":7}", ETHOS_INVALID, NULL},
        {"{\"action\":\"add\",\"content\":\"a\\u0000b\"}", ETHOS_INVALID, NULL},
        {"[" ADD_MEMORY, ETHOS_INVALID, NULL},
        {"\"add\"", ETHOS_INVALID, NULL},
        {"", ETHOS_INVALID, NULL},
        {"{\"action\":\"add\",\"content\":\"\xff\"}", ETHOS_INVALID, NULL},
    };
    struct world *world = *state;

    world_turn(world, NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char batch[512];
        int code = world_sync(world, rows[i].json);
        assert_error(&world->error, code, rows[i].code);
        if (rows[i].text)
            assert_string_equal(world->error.text, rows[i].text);
        /* Also behind a good one: nothing of the call is done. */
        snprintf(batch, sizeof batch, "[" ADD_MEMORY "," ADD_USER ",%s]", rows[i].json);
        assert_int_equal(world_sync(world, batch), rows[i].code);
        assert_false(world_exists(world, "home"));
    }
}

static void test_structs_are_checked_like_json(void **state)
{
    struct world *world = *state;
    struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = VIEW("x")};

    world_turn(world, NULL);
    update.action = (enum ethos_action)9;
    assert_int_equal(ethos_sync(world->turn, &update, 1, NULL, &world->error), ETHOS_INVALID);
    update.action = ETHOS_ACTION_ADD;
    update.text = VIEW("a\0b");
    assert_int_equal(ethos_sync(world->turn, &update, 1, NULL, &world->error), ETHOS_INVALID);
    update.text = (struct ethos_view){0};
    assert_int_equal(ethos_sync(world->turn, &update, 1, NULL, &world->error), ETHOS_INVALID);
    update = (struct ethos_update){.action = ETHOS_ACTION_ADD, .key = "-x.md", .text = VIEW("x")};
    assert_int_equal(ethos_sync(world->turn, &update, 1, NULL, &world->error), ETHOS_DENIED);
    struct ethos_update *many = calloc(ETHOS_MAX_BATCH + 1, sizeof *many);
    assert_non_null(many);
    for (size_t i = 0; i <= ETHOS_MAX_BATCH; i++)
        many[i] = (struct ethos_update){.action = ETHOS_ACTION_ADD, .text = VIEW("x")};
    assert_int_equal(ethos_sync(world->turn, many, ETHOS_MAX_BATCH + 1, NULL, &world->error),
                     ETHOS_LIMIT);
    assert_false(world_exists(world, "home"));
    assert_ok(world, ethos_sync(world->turn, many, ETHOS_MAX_BATCH, NULL, &world->error));
    free(many);
}

static void test_a_file_beyond_the_read_limit_refuses_updates(void **state)
{
    struct world *world = *state;
    char *text = malloc(ETHOS_MAX_READ_BYTES + 2);

    assert_non_null(text);
    memset(text, 'x', ETHOS_MAX_READ_BYTES + 1);
    text[ETHOS_MAX_READ_BYTES + 1] = 0;
    world_put(world, MEMORY, text);
    world_turn(world, NULL);
    assert_error(&world->error, world_sync(world, ADD_MEMORY), ETHOS_LIMIT);
    assert_file(world, MEMORY, text);
    free(text);
}

/* What is larger than a write may leave can be made smaller, by lines and as a whole; not larger. */
static void test_a_file_beyond_the_ceiling_becomes_smaller(void **state)
{
    struct world *world = *state;
    const size_t size = (size_t)3 * ETHOS_MAX_FILE_CH;
    struct ethos_file *file = NULL;
    char *text = malloc(size + 1);

    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = i % 64 == 63 ? '\n' : i % 4096 < 64 ? 'r' : 'x';
    text[size] = 0;
    world_put(world, MEMORY, text);
    world_turn(world, NULL);
    int code = ethos_write(world->turn, NULL, NULL, view_of(text, size - 64), NULL, &world->error);
    assert_ok(world, code);
    assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
    assert_int_equal(file->size, size - 64);
    ethos_file_free(file);
    code = ethos_write(world->turn, NULL, NULL, view_of(text, size), NULL, &world->error);
    assert_error(&world->error, code, ETHOS_LIMIT);
    assert_ok(world, world_sync(world, "{\"action\":\"remove\",\"store\":\"memory\","
                                       "\"substringMatch\":\"rrr\"}"));
    assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
    assert_true(file->size <= ETHOS_MAX_FILE_CH && !strstr(file->text, "rrr"));
    ethos_file_free(file);
    free(text);
}

/* ---- targets -------------------------------------------------------------------------------- */

static void test_scope_words_mean_those_of_the_context(void **state)
{
    struct world *world = *state;
    char path[256];
    const struct ethos_request request = {.personality = "p", .user = "u"};

    const struct ethos_context *context = world_turn(world, &request);
    snprintf(path, sizeof path, "home/workspaces/%s/memory/MEMORY.md",
             context->workspace_scope + strlen("workspace:"));
    assert_ok(
        world,
        world_sync(
            world,
            "[{\"action\":\"add\",\"scope\":\"personality\",\"key\":\"a.md\",\"content\":\"1\"},"
            "{\"action\":\"add\",\"scope\":\"user\",\"key\":\"USER.md\",\"content\":\"2\"},"
            "{\"action\":\"add\",\"scope\":\"global\",\"key\":\"b.md\",\"content\":\"3\"},"
            "{\"action\":\"add\",\"scope\":\"workspace\",\"key\":\"MEMORY.md\",\"content\":\"4\"},"
            "{\"action\":\"add\",\"scope\":\"team:t\",\"key\":\"c.md\",\"content\":\"5\"}]"));
    assert_file(world, "home/personalities/p/a.md", "1\n");
    assert_file(world, "home/users/u/USER.md", "2\n");
    assert_file(world, "home/b.md", "3\n");
    assert_file(world, path, "4\n");
    assert_file(world, "home/teams/t/memory/c.md", "5\n");
}

static void test_new_files_and_directories_are_private(void **state)
{
    struct world *world = *state;

    umask(0);
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, "[" ADD_MEMORY "," ADD_USER "]"));
    assert_mode(world, "home", 0700);
    assert_mode(world, "home/personalities", 0700);
    assert_mode(world, "home/personalities/default", 0700);
    assert_mode(world, MEMORY, 0600);
    assert_mode(world, MAP, 0600);
}

/* ---- people --------------------------------------------------------------------------------- */

/* The entry of the map for a pair says this user. */
static void assert_recorded(struct world *world, const char *platform, const char *id,
                            const char *user)
{
    struct identity_map map;
    char found[ETHOS_MAX_ID + 1];
    bool known = false;
    int dir = open(world->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(identity_load(dir, &map, NULL), ETHOS_OK);
    close(dir);
    assert_int_equal(identity_resolve(&map, platform, id, found, &known, NULL), ETHOS_OK);
    assert_true(known);
    assert_string_equal(found, user);
    identity_release(&map);
}

static void test_the_first_write_of_a_profile_records_the_person(void **state)
{
    struct world *world = *state;
    const struct ethos_request request = {.platform = "telegram", .platform_user = "4711"};

    const struct ethos_context *context = world_turn(world, &request);
    assert_ok(world, world_sync(world, ADD_MEMORY));
    assert_false(world_exists(world, MAP)); // a log is nobody's profile
    assert_ok(world, world_sync(world, ADD_USER));
    assert_recorded(world, "telegram", "4711", context->user);
    assert_int_equal(world->warnings, 0);
}

static void test_the_local_person_is_recorded_as_such_on_every_platform(void **state)
{
    struct world *world = *state;
    const struct ethos_request web = {.platform = "web"};
    char login[ETHOS_MAX_ID + 1], before[ETHOS_MAX_ID + 1];

    identity_login(login, sizeof login);
    snprintf(before, sizeof before, "%s", world_turn(world, &web)->user);
    assert_ok(world, world_sync(world, ADD_USER));
    assert_recorded(world, "cli", login, before);
    char *map = temp_read(&world->temp, MAP, NULL);
    assert_null(strstr(map, "web")); // which is a way in, not an identity
    free(map);
    assert_string_equal(world_turn(world, NULL)->user, before);
    assert_prefetch(world, "## About You\n\nme");
}

static void test_a_profile_that_is_not_written_records_nobody(void **state)
{
    struct world *world = *state;
    const struct ethos_request request = {.platform = "telegram", .platform_user = "4711"};

    world_turn(world, &request);
    assert_ok(world,
              world_sync(world, "[{\"action\":\"remove\",\"store\":\"user\",\"content\":\"x\"},"
                                "{\"action\":\"delete\",\"store\":\"user\"},"
                                "{\"action\":\"add\",\"store\":\"user\",\"content\":\" \"}]"));
    assert_false(world_exists(world, "home"));
    assert_int_equal(world_sync(world, "{\"action\":\"add\",\"store\":\"user\",\"content\":\"x\","
                                       "\"ifMatch\":\"sha256:1\"}"),
                     ETHOS_CONFLICT);
    assert_false(world_exists(world, "home"));
}

static void test_while_the_map_is_damaged_nobody_new_gets_a_profile(void **state)
{
    struct world *world = *state;
    const struct ethos_request request = {.platform = "telegram", .platform_user = "4711"};

    world_put(world, MAP, "[{\"torn");
    world_turn(world, &request);
    assert_true(world->warnings > 0);
    int code = world_sync(world, "[" ADD_MEMORY "," ADD_USER "]");
    assert_error(&world->error, code, ETHOS_CORRUPT);
    assert_false(world_exists(world, MEMORY));
    struct ethos_target user = {.store = "user"};
    code = ethos_write(world->turn, &user, NULL, VIEW("x"), NULL, &world->error);
    assert_error(&world->error, code, ETHOS_CORRUPT);
    assert_file(world, MAP, "[{\"torn");
    assert_ok(world, world_sync(world, ADD_MEMORY)); // what needs no identity still works
    const struct ethos_request known = {.user = "u"};
    world_turn(world, &known);
    assert_ok(world, world_sync(world, ADD_USER));
}

/* ---- the profile of before ------------------------------------------------------------------ */

static void make_local(struct world *world)
{
    world_put(world, "home/config.yaml", "user.id: me\n");
}

static void test_an_older_profile_is_read_until_there_is_a_new_one(void **state)
{
    struct world *world = *state;

    make_local(world);
    world_turn(world, NULL);
    world_put(world, "home/USER.md", "from home\n");
    assert_prefetch(world, "## About You\n\nfrom home");
    world_put(world, "home/personalities/default/USER.md", "from personality\n");
    assert_prefetch(world, "## About You\n\nfrom personality");
    world_put(world, "home/users/me/USER.md", "mine\n");
    assert_prefetch(world, "## About You\n\nmine");
    const struct ethos_request other = {.user = "them"};
    world_turn(world, &other);
    assert_prefetch(world, NULL);
}

static void test_the_first_write_starts_from_the_older_profile_and_leaves_it(void **state)
{
    struct world *world = *state;

    make_local(world);
    world_put(world, "home/personalities/default/USER.md", "old\n");
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, ADD_USER));
    assert_file(world, "home/users/me/USER.md", "old\n\nme\n");
    assert_file(world, "home/personalities/default/USER.md", "old\n");
    assert_ok(world,
              world_sync(world, "{\"action\":\"remove\",\"store\":\"user\",\"content\":\"old\"}"));
    assert_file(world, "home/users/me/USER.md", "\nme\n");
}

static void test_an_older_profile_that_cannot_be_read_concerns_only_who_needs_it(void **state)
{
    struct world *world = *state;

    make_local(world);
    world_mkdir(world, "home/personalities/default/USER.md"); // not a file
    world_turn(world, NULL);
    assert_int_not_equal(world_sync(world, ADD_USER), ETHOS_OK);
    assert_false(world_exists(world, "home/users/me/USER.md"));
    world_put(world, "home/users/me/USER.md", "mine\n");
    assert_ok(world, world_sync(world, ADD_USER));
    assert_file(world, "home/users/me/USER.md", "mine\n\nme\n");
}

/* ---- whole files ---------------------------------------------------------------------------- */

static void read_file(struct world *world, const struct ethos_target *target,
                      struct ethos_file **file)
{
    assert_ok(world, ethos_read(world->turn, target, file, &world->error));
}

static void test_reading_gives_bytes_place_and_revision(void **state)
{
    struct world *world = *state;
    struct ethos_file *file = NULL;
    char revision[ETHOS_REVISION_SIZE], path[256];

    world_turn(world, NULL);
    read_file(world, NULL, &file);
    assert_null(file->text);
    assert_string_equal(file->revision, "absent");
    assert_int_equal(file->mtime_ms, -1);
    assert_string_equal(file->scope, "personality:default");
    assert_string_equal(file->key, "MEMORY.md");
    ethos_file_free(file);
    world_put(world, MEMORY, "bytes \xff\n\n");
    read_file(world, NULL, &file);
    assert_int_equal(file->size, 9);
    assert_memory_equal(file->text, "bytes \xff\n\n", 10);
    hash_revision(VIEW("bytes \xff\n\n"), revision);
    assert_string_equal(file->revision, revision);
    snprintf(path, sizeof path, "%s/personalities/default/MEMORY.md", world->home);
    assert_string_equal(file->path, path);
    assert_true(file->mtime_ms > 0);
    ethos_file_free(file);
}

static void test_settings_and_sidecars_are_not_to_be_read(void **state)
{
    static const char *const keys[] = {"config.yaml", "SOUL.md", "memory-archive.md",
                                       "memory-history.jsonl", "memory-archive.MD"};
    struct world *world = *state;
    struct ethos_file *file = NULL;

    world_turn(world, NULL);
    for (size_t i = 0; i < COUNT(keys); i++) {
        char path[128];
        snprintf(path, sizeof path, "home/personalities/default/%s", keys[i]);
        world_put(world, path, "secret");
        const struct ethos_target target = {.key = keys[i]};
        int code = ethos_read(world->turn, &target, &file, &world->error);
        assert_error(&world->error, code, ETHOS_NOTFOUND);
        assert_null(file);
    }
    const struct ethos_target unsafe = {.key = "../../config.yaml"};
    assert_int_equal(ethos_read(world->turn, &unsafe, &file, &world->error), ETHOS_DENIED);
    const struct ethos_target nowhere = {.scope = "user:a b", .key = "USER.md"};
    assert_int_equal(ethos_read(world->turn, &nowhere, &file, &world->error), ETHOS_DENIED);
}

static void test_writing_is_byte_exact_and_minds_the_revision(void **state)
{
    struct world *world = *state;
    char revision[ETHOS_REVISION_SIZE];

    world_turn(world, NULL);
    assert_ok(world,
              ethos_write(world->turn, NULL, "absent", VIEW("  a \xff"), NULL, &world->error));
    assert_file(world, MEMORY, "  a \xff");
    int code = ethos_write(world->turn, NULL, "absent", VIEW("b"), NULL, &world->error);
    assert_error(&world->error, code, ETHOS_CONFLICT);
    hash_revision(VIEW("  a \xff"), revision);
    assert_ok(world, ethos_write(world->turn, NULL, revision, VIEW(""), NULL, &world->error));
    assert_file(world, MEMORY, "");
    code = ethos_write(world->turn, NULL, revision, VIEW("c"), NULL, &world->error);
    assert_error(&world->error, code, ETHOS_CONFLICT);
    assert_ok(world, ethos_write(world->turn, NULL, NULL, VIEW("c"), NULL, &world->error));
    const struct ethos_target reserved = {.key = "SOUL.md"};
    assert_int_equal(ethos_write(world->turn, &reserved, NULL, VIEW("x"), NULL, &world->error),
                     ETHOS_DENIED);
}

static void test_writing_beyond_the_ceiling_is_refused(void **state)
{
    struct world *world = *state;
    char *text = malloc(ETHOS_MAX_FILE_CH + 1);

    assert_non_null(text);
    memset(text, 'x', ETHOS_MAX_FILE_CH + 1);
    world_turn(world, NULL);
    int code = ethos_write(world->turn, NULL, NULL, view_of(text, ETHOS_MAX_FILE_CH + 1), NULL,
                           &world->error);
    assert_error(&world->error, code, ETHOS_LIMIT);
    assert_false(world_exists(world, MEMORY));
    assert_ok(world, ethos_write(world->turn, NULL, NULL, view_of(text, ETHOS_MAX_FILE_CH), NULL,
                                 &world->error));
    free(text);
}

static void test_an_older_profile_counts_as_absent_when_written_over(void **state)
{
    struct world *world = *state;
    const struct ethos_target user = {.store = "user"};
    struct ethos_file *file = NULL;

    make_local(world);
    world_put(world, "home/USER.md", "old\n");
    world_turn(world, NULL);
    read_file(world, &user, &file);
    assert_string_equal(file->text, "old\n");
    assert_string_equal(file->scope, "global"); // where it was found
    assert_ok(world,
              ethos_write(world->turn, &user, file->revision, VIEW("new\n"), NULL, &world->error));
    assert_file(world, "home/users/me/USER.md", "new\n");
    assert_file(world, "home/USER.md", "old\n");
    int code = ethos_write(world->turn, &user, file->revision, VIEW("newer\n"), NULL,
                           &world->error);
    assert_error(&world->error, code, ETHOS_CONFLICT);
    ethos_file_free(file);
}

static void test_saving_an_older_profile_unchanged_makes_it_ones_own(void **state)
{
    struct world *world = *state;
    const struct ethos_target user = {.store = "user"};
    struct log log = {0};
    const struct ethos_sync_how how = {.each = note, .arg = &log};

    make_local(world);
    world_put(world, "home/USER.md", "old\n");
    world_turn(world, NULL);
    assert_ok(world, ethos_write(world->turn, &user, NULL, VIEW("old\n"), &how, &world->error));
    assert_string_equal(log.text,
                        "written user:me USER.md present chars=4 applied=1 matched=0/0\n");
    assert_file(world, "home/users/me/USER.md", "old\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_each_key_is_reported_once_with_what_it_has_now),
        WORLD_TEST(test_an_unchanged_text_is_not_written),
        WORLD_TEST(test_a_conflict_leaves_its_scope_and_others_commit),
        WORLD_TEST(test_a_right_revision_lets_the_write_pass),
        WORLD_TEST(test_a_dry_run_tells_everything_and_does_nothing),
        WORLD_TEST(test_bad_updates_are_refused_before_anything_is_written),
        WORLD_TEST(test_structs_are_checked_like_json),
        WORLD_TEST(test_a_file_beyond_the_read_limit_refuses_updates),
        WORLD_TEST(test_a_file_beyond_the_ceiling_becomes_smaller),
        WORLD_TEST(test_scope_words_mean_those_of_the_context),
        WORLD_TEST(test_new_files_and_directories_are_private),
        WORLD_TEST(test_the_first_write_of_a_profile_records_the_person),
        WORLD_TEST(test_the_local_person_is_recorded_as_such_on_every_platform),
        WORLD_TEST(test_a_profile_that_is_not_written_records_nobody),
        WORLD_TEST(test_while_the_map_is_damaged_nobody_new_gets_a_profile),
        WORLD_TEST(test_an_older_profile_is_read_until_there_is_a_new_one),
        WORLD_TEST(test_the_first_write_starts_from_the_older_profile_and_leaves_it),
        WORLD_TEST(test_an_older_profile_that_cannot_be_read_concerns_only_who_needs_it),
        WORLD_TEST(test_reading_gives_bytes_place_and_revision),
        WORLD_TEST(test_settings_and_sidecars_are_not_to_be_read),
        WORLD_TEST(test_writing_is_byte_exact_and_minds_the_revision),
        WORLD_TEST(test_writing_beyond_the_ceiling_is_refused),
        WORLD_TEST(test_an_older_profile_counts_as_absent_when_written_over),
        WORLD_TEST(test_saving_an_older_profile_unchanged_makes_it_ones_own),
    };

    return cmocka_run_group_tests_name("memory/sync", tests, NULL, NULL);
}

/*
 * test_identity.c: which user id a platform identity has, and how the map is changed.
 */
#include "memory/home/identity.h"

#include <sys/wait.h>

#include "../world.h"
#include "base/hash.h"
#include "base/str.h"

#define MAP "users/identity-map.json"

#define ENTRY(platform, id, user)                                                                  \
    "{\"platform\":\"" platform "\",\"platformUserId\":\"" id "\",\"userId\":\"" user "\"}"

static void load(struct world *world, struct identity_map *map)
{
    memset(&world->error, 0, sizeof world->error);
    assert_ok(world, identity_load(world->temp.fd, map, &world->error));
}

/* The id of a pair by the file as it is; *known tells whether the map says so. */
static void resolve(struct world *world, const char *platform, const char *id,
                    char out[ETHOS_MAX_ID + 1], bool *known)
{
    struct identity_map map;
    load(world, &map);
    assert_ok(world, identity_resolve(&map, platform, id, out, known, &world->error));
    identity_release(&map);
}

static void assert_user(struct world *world, const char *platform, const char *id,
                        const char *expected)
{
    char user[ETHOS_MAX_ID + 1];
    bool known = false;
    resolve(world, platform, id, user, &known);
    assert_string_equal(user, expected);
    assert_true(known);
}

static int record(struct world *world, const char *platform, const char *id, const char *user,
                  bool relink)
{
    memset(&world->error, 0, sizeof world->error);
    return identity_record(world->temp.fd, platform, id, user, relink, NOW_MS, NULL, &world->error);
}

static json_t *parse_map(struct world *world)
{
    char *text = temp_read(&world->temp, MAP, NULL);
    assert_non_null(text);
    json_t *map = json_loads(text, 0, NULL);
    assert_true(json_is_array(map));
    free(text);
    return map;
}

/* ---- deriving ------------------------------------------------------------------------------- */

static void test_a_new_id_is_the_start_of_the_hash_of_the_pair(void **state)
{
    char user[ETHOS_MAX_ID + 1], hex[HASH_HEX_SIZE];
    bool known = true;

    resolve(*state, "telegram", "4711", user, &known);
    assert_false(known);
    hash_hex(VIEW("telegram\0"
                  "4711"),
             hex);
    hex[12] = 0;
    assert_string_equal(user, hex);
    /* printf 'telegram\0004711' | sha256sum */
    assert_string_equal(user, "217c446e96f2");
}

static void test_the_next_digits_serve_when_someone_else_has_the_first(void **state)
{
    struct world *world = *state;
    char user[ETHOS_MAX_ID + 1], hex[HASH_HEX_SIZE], text[1024];
    bool known;

    hash_hex(VIEW("telegram\0"
                  "4711"),
             hex);
    world_mkdir(world, "users");
    snprintf(text, sizeof text, "[" ENTRY("slack", "U1", "%.12s") "]", hex);
    temp_write(&world->temp, MAP, text);
    resolve(world, "telegram", "4711", user, &known);
    assert_memory_equal(user, hex + 12, 12);
    snprintf(text, sizeof text, "[" ENTRY("slack", "U1", "%.12s") "," ENTRY("x", "y", "%.12s") "]",
             hex, hex + 12);
    temp_write(&world->temp, MAP, text);
    resolve(world, "telegram", "4711", user, &known);
    assert_memory_equal(user, hex + 24, 12);
    assert_int_equal(strlen(user), 12);
}

static void test_when_all_digits_are_taken_there_is_no_id(void **state)
{
    struct world *world = *state;
    struct identity_map map;
    char user[ETHOS_MAX_ID + 1], hex[HASH_HEX_SIZE];
    bool known;

    hash_hex(VIEW("telegram\0"
                  "4711"),
             hex);
    load(world, &map);
    for (size_t at = 0; at + 12 <= 64; at += 12)
        json_array_append_new(map.entries,
                              json_pack("{s:s, s:s, s:s#}", "platform", "p", "platformUserId", "q",
                                        "userId", hex + at, 12));
    int code = identity_resolve(&map, "telegram", "4711", user, &known, &world->error);
    assert_error(&world->error, code, ETHOS_EXISTS);
    identity_release(&map);
}

static void test_the_pair_and_not_its_concatenation_is_hashed(void **state)
{
    char one[ETHOS_MAX_ID + 1], two[ETHOS_MAX_ID + 1];
    bool known;

    resolve(*state, "ab", "c", one, &known);
    resolve(*state, "a", "bc", two, &known);
    assert_string_not_equal(one, two);
}

static void test_bad_pairs_are_refused(void **state)
{
    static const char *const platforms[] = {"", "a b", "../x", "a\n", "x/y"};
    struct world *world = *state;
    char user[ETHOS_MAX_ID + 1], longest[514];
    struct identity_map map;
    bool known;

    load(world, &map);
    for (size_t i = 0; i < COUNT(platforms); i++) {
        int code = identity_resolve(&map, platforms[i], "1", user, &known, &world->error);
        assert_error(&world->error, code, ETHOS_DENIED);
        assert_int_equal(record(world, platforms[i], "1", "u", false), ETHOS_DENIED);
    }
    memset(longest, 'x', sizeof longest);
    longest[513] = 0;
    assert_int_equal(identity_resolve(&map, "p", longest, user, &known, NULL), ETHOS_DENIED);
    assert_int_equal(identity_resolve(&map, "p", "", user, &known, NULL), ETHOS_DENIED);
    longest[512] = 0;
    assert_int_equal(identity_resolve(&map, "p", longest, user, &known, NULL), ETHOS_OK);
    assert_int_equal(record(world, "p", "1", "../x", false), ETHOS_DENIED);
    assert_string_equal(world->error.text, "unrecognised memory scope: user:../x");
    assert_int_equal(record(world, "p", "1", "", true), ETHOS_DENIED);
    assert_false(world_exists(world, "users"));
    assert_false(world_exists(world, ".mem"));
    identity_release(&map);
}

/* ---- looking up ----------------------------------------------------------------------------- */

static void test_the_map_answers_and_the_first_of_two_entries_wins(void **state)
{
    struct world *world = *state;

    world_put(world, MAP,
              "[" ENTRY("cli", "me", "first") "," ENTRY("cli", "me", "second") "," ENTRY(
                  "telegram", "1", "first") "]");
    assert_user(world, "cli", "me", "first");
    assert_user(world, "telegram", "1", "first");
}

static void test_entries_that_are_no_entries_answer_nothing(void **state)
{
    struct world *world = *state;

    world_put(world, MAP,
              "[7,null,\"x\",[],{},{\"platform\":\"cli\"}," ENTRY("cli", "me", "../bad") "," ENTRY(
                  "cli", "me", "good") ",{\"platform\":1,\"platformUserId\":2,\"userId\":3}]");
    assert_user(world, "cli", "me", "good");
}

static void test_no_file_and_no_home_are_an_empty_map(void **state)
{
    struct world *world = *state;
    struct identity_map map;

    load(world, &map);
    assert_int_equal(json_array_size(map.entries), 0);
    assert_false(map.damaged);
    identity_release(&map);
    assert_int_equal(identity_load(-1, &map, NULL), ETHOS_OK);
    assert_int_equal(json_array_size(map.entries), 0);
    identity_release(&map);
}

/* ---- recording ------------------------------------------------------------------------------ */

static void test_a_new_entry_has_the_five_members_in_two_space_json(void **state)
{
    struct world *world = *state;

    assert_ok(world, record(world, "telegram", "4711", "abc", false));
    assert_file(world, MAP,
                "[\n  {\n    \"platform\": \"telegram\",\n    \"platformUserId\": \"4711\",\n"
                "    \"userId\": \"abc\",\n    \"displayLabel\": \"4711\",\n"
                "    \"firstSeenAt\": \"" NOW_ISO "\"\n  }\n]\n");
    assert_mode(world, MAP, 0600);
    assert_mode(world, "users", 0700);
    assert_user(world, "telegram", "4711", "abc");
    assert_no_litter(world);
}

static void test_recording_never_changes_an_entry_unless_it_links(void **state)
{
    struct world *world = *state;

    assert_ok(world, record(world, "cli", "me", "one", false));
    char *before = temp_read(&world->temp, MAP, NULL);
    assert_ok(world, record(world, "cli", "me", "two", false));
    assert_ok(world, record(world, "cli", "me", "one", true));
    assert_file(world, MAP, before);
    free(before);
    assert_ok(world, record(world, "cli", "me", "two", true));
    assert_user(world, "cli", "me", "two");
    json_t *map = parse_map(world);
    assert_int_equal(json_array_size(map), 1);
    json_decref(map);
}

static void test_linking_makes_two_identities_one_user(void **state)
{
    struct world *world = *state;

    assert_ok(world, record(world, "cli", "me", "one", false));
    assert_ok(world, record(world, "telegram", "4711", "one", true));
    assert_user(world, "cli", "me", "one");
    assert_user(world, "telegram", "4711", "one");
}

static void test_linking_to_the_person_at_this_machine_does_not_push_them_aside(void **state)
{
    struct world *world = *state;
    char login[ETHOS_MAX_ID + 1], before[ETHOS_MAX_ID + 1], after[ETHOS_MAX_ID + 1];
    bool known;

    identity_login(login, sizeof login);
    resolve(world, "cli", login, before, &known);
    assert_false(known); // only derived so far
    assert_ok(world, record(world, "telegram", "4711", before, true));
    resolve(world, "cli", login, after, &known);
    assert_string_equal(after, before);
    assert_user(world, "telegram", "4711", before);
    assert_user(world, "cli", login, before);
}

static void test_the_person_at_this_machine_is_recorded_like_anyone(void **state)
{
    struct world *world = *state;
    char login[ETHOS_MAX_ID + 1], user[ETHOS_MAX_ID + 1];
    bool known;

    identity_login(login, sizeof login);
    resolve(world, "cli", login, user, &known);
    assert_ok(world, record(world, "cli", login, user, false));
    assert_user(world, "cli", login, user);
}

static void test_unknown_members_and_bad_entries_are_kept(void **state)
{
    static const char old[] = "[7,null,{\"platform\":\"cli\",\"platformUserId\":\"me\",\"userId\":"
                              "\"one\",\"color\":[1,{\"x\":2.5}]}," ENTRY("cli", "x", "../bad") "]";
    struct world *world = *state;

    world_put(world, MAP, old);
    assert_ok(world, record(world, "telegram", "4711", "one", false));
    assert_ok(world, record(world, "cli", "me", "two", true));
    json_t *was = json_loads(old, 0, NULL), *now = parse_map(world);
    assert_int_equal(json_array_size(now), 5);
    json_object_set_new(json_array_get(was, 2), "userId", json_string("two"));
    for (size_t i = 0; i < 4; i++)
        assert_true(json_equal(json_array_get(was, i), json_array_get(now, i)));
    json_decref(was);
    json_decref(now);
}

static void test_a_preview_is_a_diff_and_writes_nothing(void **state)
{
    struct world *world = *state;
    struct str preview;

    str_init(&preview, 65536);
    assert_ok(world, record(world, "cli", "me", "one", false));
    char *before = world_tree(world, ".", TREE_ALL);
    assert_ok(world, identity_record(world->temp.fd, "cli", "me", "two", true, NOW_MS, &preview,
                                     &world->error));
    char *after = world_tree(world, ".", TREE_ALL);
    assert_string_equal(before, after);
    assert_non_null(strstr(preview.data, "-    \"userId\": \"one\""));
    assert_non_null(strstr(preview.data, "+    \"userId\": \"two\""));
    str_clear(&preview);
    assert_ok(world,
              identity_record(-1, "cli", "me", "two", true, NOW_MS, &preview, &world->error));
    assert_non_null(strstr(preview.data, "+    \"userId\": \"two\""));
    free(before);
    free(after);
    str_release(&preview);
}

static void record_as_child(struct world *world, int child)
{
    for (int i = 0; i < 5; i++) {
        char id[32];
        snprintf(id, sizeof id, "%d-%d", child, i);
        if (record(world, "p", id, id, false) != ETHOS_OK)
            _exit(1);
    }
    _exit(0);
}

static void test_processes_that_record_at_once_lose_nobody(void **state)
{
    struct world *world = *state;
    enum { CHILDREN = 4 };
    pid_t children[CHILDREN];

    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0)
            record_as_child(world, i);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    json_t *map = parse_map(world);
    assert_int_equal(json_array_size(map), CHILDREN * 5);
    json_decref(map);
    assert_user(world, "p", "3-4", "3-4");
    assert_no_litter(world);
}

/* ---- a damaged map -------------------------------------------------------------------------- */

static const char *const broken[] = {"", "[", "{}", "7", "[{\"a\":1,\"a\":2}]", "[\"\xff\"]"};

static void test_a_map_that_does_not_parse_refuses_changes_and_stays(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "users");
    for (size_t i = 0; i < COUNT(broken); i++) {
        temp_write(&world->temp, MAP, broken[i]);
        int code = record(world, "cli", "me", "one", false);
        assert_error(&world->error, code, ETHOS_CORRUPT);
        assert_true(world->error.hint[0] != 0);
        assert_int_equal(record(world, "cli", "me", "one", true), ETHOS_CORRUPT);
        assert_file(world, MAP, broken[i]);
    }
}

static void test_without_a_copy_ids_are_derived_as_ever(void **state)
{
    struct world *world = *state;
    char with[ETHOS_MAX_ID + 1], without[ETHOS_MAX_ID + 1];
    bool known = true;

    resolve(world, "telegram", "4711", without, &known);
    world_put(world, MAP, "[");
    resolve(world, "telegram", "4711", with, &known);
    assert_string_equal(with, without);
    assert_false(known);
}

static void test_the_last_good_copy_answers(void **state)
{
    struct world *world = *state;
    struct identity_map map;

    assert_ok(world, record(world, "cli", "me", "one", false));
    assert_ok(world, record(world, "telegram", "4711", "one", false));
    assert_true(world_exists(world, MAP ".bak"));
    temp_write(&world->temp, MAP, "[{\"platf");
    assert_user(world, "cli", "me", "one");
    load(world, &map);
    assert_true(map.damaged);
    assert_true(map.problem[0] != 0);
    identity_release(&map);
    temp_write(&world->temp, MAP ".bak", "also torn");
    load(world, &map);
    assert_true(map.damaged);
    assert_int_equal(json_array_size(map.entries), 0);
    identity_release(&map);
}

/* An id must not depend on whether the disk answers today. */
static void test_a_copy_that_cannot_be_read_is_an_error_not_an_empty_map(void **state)
{
    struct world *world = *state;
    struct nth nth = {.number = 1, .errnum = EIO};
    int failures = 0;

    assert_ok(world, record(world, "cli", "me", "one", false));
    temp_write(&world->temp, MAP, "[");
    do {
        struct identity_map map;
        nth.calls = 0;
        nth.failed[0] = 0;
        memset(&world->error, 0, sizeof world->error);
        os_hook(nth_fails, &nth);
        int code = identity_load(world->temp.fd, &map, &world->error);
        os_hook(NULL, NULL);
        if (code == ETHOS_OK) {
            assert_int_equal(json_array_size(map.entries), 1);
            identity_release(&map);
        } else {
            assert_error(&world->error, code, ETHOS_IO);
            failures++;
        }
        nth.number++;
    } while (nth.failed[0]);
    assert_true(failures > 4);
}

static void test_a_directory_in_its_place_is_an_error(void **state)
{
    struct world *world = *state;
    struct identity_map map;

    world_mkdir(world, MAP);
    assert_error(&world->error, identity_load(world->temp.fd, &map, &world->error), ETHOS_IO);
    assert_int_equal(record(world, "cli", "me", "one", false), ETHOS_IO);
}

/* ---- repairing ------------------------------------------------------------------------------ */

static void test_repair_keeps_the_damaged_map_and_puts_the_copy_in_its_place(void **state)
{
    struct world *world = *state;
    char aside[96];

    assert_ok(world, record(world, "cli", "me", "one", false));
    for (int i = 0; i < 2; i++) { // twice in one millisecond: both are kept
        temp_write(&world->temp, MAP, i == 0 ? "torn" : "torn again");
        assert_ok(world, identity_repair(world->temp.fd, NOW_MS, &world->error));
        assert_user(world, "cli", "me", "one");
    }
    snprintf(aside, sizeof aside, MAP ".damaged-%lld", (long long)NOW_MS);
    assert_file(world, aside, "torn");
    snprintf(aside, sizeof aside, MAP ".damaged-%lld", (long long)NOW_MS + 1);
    assert_file(world, aside, "torn again");
    assert_ok(world, record(world, "telegram", "4711", "one", false));
}

static void test_repair_of_a_good_map_changes_nothing(void **state)
{
    struct world *world = *state;

    assert_ok(world, record(world, "cli", "me", "one", false));
    char *before = world_tree(world, "users", TREE_ALL);
    assert_ok(world, identity_repair(world->temp.fd, NOW_MS, &world->error));
    char *after = world_tree(world, "users", TREE_ALL);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* ---- failures ------------------------------------------------------------------------------- */

enum { RECORD_FIRST, RECORD_MORE, RELINK, REPAIR, OPERATIONS };

static void prepare(struct world *world, int operation)
{
    world_remove(world, "users");
    world_remove(world, ".mem");
    if (operation == RECORD_FIRST)
        return;
    world_mkdir(world, "users");
    temp_write(&world->temp, MAP, operation == REPAIR ? "torn" : "[" ENTRY("cli", "me", "one") "]");
    temp_write(&world->temp, MAP ".bak", "[" ENTRY("cli", "me", "one") "]");
}

static int operate(struct world *world, int operation)
{
    memset(&world->error, 0, sizeof world->error);
    if (operation == REPAIR)
        return identity_repair(world->temp.fd, NOW_MS, &world->error);
    return operation == RELINK ? record(world, "cli", "me", "two", true)
                               : record(world, "telegram", "4711", "two", false);
}

/* The map is the old one or the new one, and never gone. */
static bool map_is_new(struct world *world, int operation)
{
    char *text = temp_read(&world->temp, MAP, NULL);
    bool old = operation == RECORD_FIRST ? !text
               : operation == REPAIR     ? text && strcmp(text, "torn") == 0
                                     : text && strcmp(text, "[" ENTRY("cli", "me", "one") "]") == 0;
    if (!old) {
        json_t *map = parse_map(world);
        size_t count = operation == RECORD_MORE ? 2 : 1;
        assert_int_equal(json_array_size(map), count);
        json_decref(map);
    }
    free(text);
    return !old;
}

static bool has_damaged(struct world *world)
{
    char *tree = world_tree(world, "users", TREE_ALL);
    bool found = strstr(tree, "damaged") != NULL;
    free(tree);
    return found;
}

static void assert_after(struct world *world, int operation, int code, int expected)
{
    bool is_new = map_is_new(world, operation);
    if (code == ETHOS_OK) {
        assert_true(is_new);
    } else {
        assert_error(&world->error, code, expected);
        if (!is_new) // whatever was prepared is gone
            assert_false(has_damaged(world));
        assert_ok(world, operate(world, operation));
        assert_true(map_is_new(world, operation));
    }
    assert_no_litter(world);
}

static void test_without_memory_the_map_is_the_old_or_the_new_one(void **state)
{
    struct world *world = *state;

    for (int operation = 0; operation < OPERATIONS; operation++) {
        int code = -1;
        ALLOC_EACH(n, code == ETHOS_OK)
        {
            alloc_fail_at(0);
            prepare(world, operation);
            alloc_fail_at(n);
            code = operate(world, operation);
            alloc_fail_at(0);
            assert_after(world, operation, code, ETHOS_NOMEM);
        }
    }
}

static void test_after_a_failing_call_the_map_is_the_old_or_the_new_one(void **state)
{
    struct world *world = *state;

    for (int operation = 0; operation < OPERATIONS; operation++) {
        struct nth nth = {.number = 1, .errnum = EIO};
        do {
            prepare(world, operation);
            nth.calls = 0;
            nth.failed[0] = 0;
            os_hook(nth_fails, &nth);
            int code = operate(world, operation);
            os_hook(NULL, NULL);
            assert_after(world, operation, code, ETHOS_IO);
            nth.number++;
        } while (nth.failed[0]);
        assert_true(nth.number > 10);
    }
}

/* ---- this machine --------------------------------------------------------------------------- */

static void test_the_login_name_is_that_of_the_process(void **state)
{
    char login[64], tiny[3];

    (void)state;
    identity_login(login, sizeof login);
    assert_true(login[0] != 0);
    identity_login(tiny, sizeof tiny);
    assert_int_equal(strncmp(tiny, login, 2), 0);
    assert_true(strlen(tiny) <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_new_id_is_the_start_of_the_hash_of_the_pair),
        WORLD_TEST(test_the_next_digits_serve_when_someone_else_has_the_first),
        WORLD_TEST(test_when_all_digits_are_taken_there_is_no_id),
        WORLD_TEST(test_the_pair_and_not_its_concatenation_is_hashed),
        WORLD_TEST(test_bad_pairs_are_refused),
        WORLD_TEST(test_the_map_answers_and_the_first_of_two_entries_wins),
        WORLD_TEST(test_entries_that_are_no_entries_answer_nothing),
        WORLD_TEST(test_no_file_and_no_home_are_an_empty_map),
        WORLD_TEST(test_a_new_entry_has_the_five_members_in_two_space_json),
        WORLD_TEST(test_recording_never_changes_an_entry_unless_it_links),
        WORLD_TEST(test_linking_makes_two_identities_one_user),
        WORLD_TEST(test_linking_to_the_person_at_this_machine_does_not_push_them_aside),
        WORLD_TEST(test_the_person_at_this_machine_is_recorded_like_anyone),
        WORLD_TEST(test_unknown_members_and_bad_entries_are_kept),
        WORLD_TEST(test_a_preview_is_a_diff_and_writes_nothing),
        WORLD_TEST(test_processes_that_record_at_once_lose_nobody),
        WORLD_TEST(test_a_map_that_does_not_parse_refuses_changes_and_stays),
        WORLD_TEST(test_without_a_copy_ids_are_derived_as_ever),
        WORLD_TEST(test_the_last_good_copy_answers),
        WORLD_TEST(test_a_copy_that_cannot_be_read_is_an_error_not_an_empty_map),
        WORLD_TEST(test_a_directory_in_its_place_is_an_error),
        WORLD_TEST(test_repair_keeps_the_damaged_map_and_puts_the_copy_in_its_place),
        WORLD_TEST(test_repair_of_a_good_map_changes_nothing),
        WORLD_LOOP(test_without_memory_the_map_is_the_old_or_the_new_one),
        WORLD_LOOP(test_after_a_failing_call_the_map_is_the_old_or_the_new_one),
        WORLD_TEST(test_the_login_name_is_that_of_the_process),
    };

    return cmocka_run_group_tests_name("memory/identity", tests, NULL, NULL);
}

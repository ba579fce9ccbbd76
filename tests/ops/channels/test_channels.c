/*
 * test_channels.c: the operations channel.*: people, codes, states and messages of a home, whether a gateway runs or not.
 */
#include "../../memory/world.h"

#include "base/json.h"
#include "channel/contacts.h"
#include "channel/inbox.h"
#include "channel/outbox.h"
#include "ops/op.h"

/* Runs an operation as the dashboard does; its JSON as text, or its error. free() it. */
static char *run_as(struct world *world, const char *name, const char *args, bool dry)
{
    const struct ethos_request request = {.user = "me"};
    struct op_result result;
    json_t *object = json_loads(args, 0, NULL);
    struct op_call call = {.ethos = world->ethos,
                           .request = &request,
                           .args = object,
                           .want_json = true,
                           .dry_run = dry,
                           .via = "test"};
    char *text = NULL;
    assert_non_null(object);
    op_result_init(&result);
    memset(&world->error, 0, sizeof world->error);
    int code = op_run(op_find(name), &call, &result, &world->error);
    if (code == ETHOS_OK)
        text = json_dumps(result.json, JSON_COMPACT | JSON_ENCODE_ANY);
    else if (asprintf(&text, "%s: %s", ethos_code_name(code), world->error.text) < 0)
        text = NULL;
    op_result_release(&result);
    json_decref(object);
    assert_non_null(text);
    return text;
}

static void assert_run(struct world *world, const char *name, const char *args,
                       const char *expected)
{
    char *text = run_as(world, name, args, false);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_holds(struct world *world, const char *name, const char *part)
{
    char *text = run_as(world, name, "{}", false);
    if (!strstr(text, part))
        fail_msg("%s: no %s in %s", name, part, text);
    free(text);
}

static struct channel_db *open_db(struct world *world)
{
    struct channel_db *db;
    world_mkdir(world, "home");
    assert_ok(world, channel_db_open(world->home, true, &db, &world->error));
    return db;
}

/* Somebody writes, and gets a code. */
static void add_stranger(struct world *world, struct channel_db *db, const char *sender,
                         int64_t now_ms, char code[CODE_SIZE])
{
    struct contact contact = {.platform = "telegram", .adapter = "telegram", .since_ms = now_ms};
    snprintf(contact.sender, sizeof contact.sender, "%s", sender);
    snprintf(contact.chat, sizeof contact.chat, "%s", sender);
    snprintf(contact.name, sizeof contact.name, "Jonas");
    assert_ok(world, contact_store(db, &contact, &world->error));
    assert_ok(world, code_make(db, CODE_PAIR, "telegram", sender, now_ms, code, &world->error));
}

#define PERSON(role, user)                                                                         \
    "{\"platform\":\"telegram\",\"sender\":\"42\",\"name\":\"Jonas\",\"role\":\"" role             \
    "\",\"since\":\"" NOW_ISO "\"" user "}"

static void test_a_home_without_channels_has_rows_and_no_database(void **state)
{
    struct world *world = *state;
    world_open(world);
    assert_holds(world, "channel.status",
                 "{\"running\":false,\"waiting\":0,\"sending\":0,\"channels\":[{\"platform\":"
                 "\"telegram\",\"title\":\"Telegram\",\"state\":\"off\"");
    assert_run(world, "channel.people", "{}", "{\"people\":[],\"waiting\":[],\"nextCursor\":null}");
    assert_run(world, "channel.messages", "{}", "{\"messages\":[]}");
    assert_int_equal(world->error.code, ETHOS_OK);
    char *text = run_as(world, "channel.allow", "{\"code\":\"ABCDEFGH\"}", false);
    assert_memory_equal(text, "notfound: no channel was ever used", 34);
    free(text);
    assert_false(world_exists(world, "home/channels.db"));
}

static void test_who_waits_is_compared_and_let_in_once(void **state)
{
    struct world *world = *state;
    char code[CODE_SIZE], part[128];
    world_open(world);
    struct channel_db *db = open_db(world);
    add_stranger(world, db, "42", NOW_MS, code);
    snprintf(part, sizeof part, "\"begins\":\"%.4s\",\"since\":\"" NOW_ISO "\"", code);
    assert_holds(world, "channel.people", part);
    assert_null(strstr(part, code));
    free(run_as(world, "channel.allow", "{\"platform\":\"telegram\",\"sender\":\"42\"}", true));
    assert_holds(world, "channel.people", part); // a dry run
    assert_run(world, "channel.allow",
               "{\"platform\":\"telegram\",\"sender\":\"42\",\"role\":\"trusted\"}",
               "{\"contact\":" PERSON("trusted", "") "}");
    char *people = run_as(world, "channel.people", "{}", false);
    assert_non_null(strstr(people, "\"role\":\"trusted\""));
    assert_non_null(strstr(people, "\"waiting\":[]"));
    assert_non_null(strstr(people, "\"local\":false"));
    free(people);
    snprintf(part, sizeof part, "{\"code\":\"%s\"}", code);
    char *again = run_as(world, "channel.allow", part, false);
    assert_memory_equal(again, "notfound", 8); // the code is used up
    free(again);
    int64_t lines = 0;
    assert_ok(world, channel_db_number(db, 0, &lines, &world->error,
                                       "SELECT count(*) FROM outbox WHERE chat='42'", ""));
    assert_int_equal(lines, 1);
    free(run_as(world, "channel.allow", "{\"platform\":\"telegram\",\"sender\":\"42\"}", false));
    assert_holds(world, "channel.people", "\"role\":\"guest\"");
    assert_ok(world, channel_db_number(db, 0, &lines, &world->error,
                                       "SELECT count(*) FROM outbox WHERE chat='42'", ""));
    assert_int_equal(lines, 1); // another role is not a welcome
    channel_db_close(db);
}

static void test_who_is_ignored_waits_no_more_and_an_owner_stays_one(void **state)
{
    struct world *world = *state;
    char code[CODE_SIZE];
    world_open(world);
    struct channel_db *db = open_db(world);
    add_stranger(world, db, "42", NOW_MS, code);
    add_stranger(world, db, "43", NOW_MS - CODE_MS, code); // whose code is over
    assert_run(world, "channel.remove", "{\"platform\":\"telegram\",\"sender\":\"42\"}",
               "{\"ok\":true,\"platform\":\"telegram\",\"sender\":\"42\"}");
    assert_run(world, "channel.people", "{}", "{\"people\":[],\"waiting\":[],\"nextCursor\":null}");
    assert_ok(world, contact_set_role(db, "telegram", "42", ROLE_OWNER, &world->error));
    assert_run(world, "channel.allow", "{\"platform\":\"telegram\",\"sender\":\"42\"}",
               "invalid: telegram 42 is an owner, and stays one");
    assert_run(world, "channel.allow", "{\"sender\":\"42\"}",
               "invalid: give a code, or a platform and a sender");
    assert_run(world, "channel.remove", "{\"platform\":\"telegram\",\"sender\":\"7\"}",
               "notfound: telegram 7 has never written");
    channel_db_close(db);
}

static void test_messages_have_an_outcome_and_no_text(void **state)
{
    struct world *world = *state;
    struct channel_message message = {
        .chat = "42", .msg = "1", .sender = "42", .name = "Jonas", .text = "quince", .direct = 1};
    world_open(world);
    struct channel_db *db = open_db(world);
    const struct inbox_entry entry = {.adapter = "telegram",
                                      .turn = "ch:1",
                                      .role = ROLE_GUEST,
                                      .state = "new",
                                      .message = &message,
                                      .text = VIEW("quince"),
                                      .now_ms = NOW_MS};
    assert_ok(world, inbox_add(db, &entry, &world->error));
    assert_holds(world, "channel.messages", "\"state\":\"new\",\"ended\":null,\"answer\":null}");
    const struct outbox_entry answer = {.turn = "ch:1",
                                        .part = 1,
                                        .adapter = "telegram",
                                        .chat = "42",
                                        .direct = true,
                                        .final = true,
                                        .text = VIEW("quinces"),
                                        .now_ms = NOW_MS};
    assert_ok(world, outbox_add(db, &answer, &world->error));
    assert_ok(world, inbox_set_state(db, 1, "answered", NOW_MS, &world->error));
    assert_ok(world, outbox_set_state(db, 1, "unknown", NOW_MS, &world->error));
    assert_run(world, "channel.messages", "{\"limit\":5}",
               "{\"messages\":[{\"platform\":\"telegram\",\"chat\":\"42\",\"direct\":true,"
               "\"sender\":\"42\",\"name\":\"Jonas\",\"role\":\"guest\",\"received\":\"" NOW_ISO
               "\",\"state\":\"answered\",\"ended\":\"" NOW_ISO "\",\"answer\":\"unknown\"}]}");
    assert_holds(world, "channel.status",
                 "\"unsent\":[{\"id\":1,\"state\":\"unknown\",\"platform\":\"telegram\",\"chat\":"
                 "\"42\",\"created\":\"" NOW_ISO "\"}]");
    assert_run(world, "channel.resend", "{\"id\":1}", "{\"ok\":true,\"id\":1}");
    assert_holds(world, "channel.status", "\"sending\":1");
    assert_holds(world, "channel.status", "\"unsent\":[]");
    assert_run(world, "channel.resend", "{\"id\":1}", "notfound: no unsent message: 1");
    channel_db_close(db);
}

static void test_a_state_is_that_of_a_gateway_that_runs(void **state)
{
    struct world *world = *state;
    int lock = -1;
    world_open(world);
    struct channel_db *db = open_db(world);
    world_put(world, "home/config.yaml", "channels.telegram.enabled: on\n");
    assert_ok(world, channel_db_cursor_store(db, "telegram", "state",
                                             "fatal 1763200000123 put the right token there",
                                             &world->error));
    assert_ok(world, channel_db_cursor_store(db, "telegram", "name", "halden_bot", &world->error));
    assert_holds(world, "channel.status", "\"state\":\"down\"");
    assert_ok(world, channel_db_lock(world->home, &lock, &world->error));
    assert_holds(world, "channel.status",
                 "\"running\":true,\"waiting\":0,\"sending\":0,\"channels\":[{\"platform\":"
                 "\"telegram\",\"title\":\"Telegram\",\"state\":\"fatal\",\"since\":\"" NOW_ISO
                 "\",\"why\":\"put the right token there\",\"bot\":\"halden_bot\"");
    close(lock);
    channel_db_close(db);
}

static void test_a_database_of_the_first_version_is_brought_up(void **state)
{
    struct world *world = *state;
    char code[CODE_SIZE];
    world_open(world);
    struct channel_db *db = open_db(world);
    assert_ok(world,
              channel_db_run(db, NULL, &world->error, "ALTER TABLE code DROP COLUMN begins", ""));
    assert_ok(world, channel_db_run(db, NULL, &world->error,
                                    "ALTER TABLE outbox DROP COLUMN sent_ms", ""));
    assert_ok(world, channel_db_run(db, NULL, &world->error, "PRAGMA user_version=1", ""));
    channel_db_close(db);
    db = open_db(world);
    add_stranger(world, db, "42", NOW_MS, code);
    assert_holds(world, "channel.people", "\"begins\":\"");
    channel_db_close(db);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_home_without_channels_has_rows_and_no_database),
        WORLD_TEST(test_who_waits_is_compared_and_let_in_once),
        WORLD_TEST(test_who_is_ignored_waits_no_more_and_an_owner_stays_one),
        WORLD_TEST(test_messages_have_an_outcome_and_no_text),
        WORLD_TEST(test_a_state_is_that_of_a_gateway_that_runs),
        WORLD_TEST(test_a_database_of_the_first_version_is_brought_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

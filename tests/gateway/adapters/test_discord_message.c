/*
 * test_discord_message.c: what Discord delivers as a message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "gateway/adapters/discord_message.h"

static const struct discord_bot bot = {.id = "100", .name = "ethos"};
static struct discord_message message;

static bool read_as(const char *text, bool edited)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    bool read = discord_message_read(json, edited, &bot, &message);
    json_decref(json);
    return read;
}

static bool read(const char *text)
{
    return read_as(text, false);
}

#define ID "175928847299117063" /* the documentation's: 2016-04-30T11:18:25.796Z */
#define AUTHOR "\"author\":{\"id\":\"1\",\"username\":\"ada\",\"global_name\":\"Ada\"}"
#define SAID "\"id\":\"" ID "\",\"channel_id\":\"77\",\"type\":0," AUTHOR
#define DIRECT "{" SAID ",\"content\":\"hi\""
#define GUILD "{" SAID ",\"guild_id\":\"900\",\"member\":{\"nick\":\"Adi\"}"

static void assert_nothing(const char *text)
{
    if (read(text))
        fail_msg("read: %s", text);
}

static void test_a_direct_message(void **state)
{
    (void)state;
    assert_true(read(DIRECT "}"));
    assert_string_equal(message.message.chat, "77");
    assert_string_equal(message.message.msg, ID);
    assert_string_equal(message.message.sender, "1");
    assert_string_equal(message.message.name, "Ada");
    assert_string_equal(message.message.text, "hi");
    assert_int_equal(message.message.time_ms, 1462015105796);
    assert_true(message.message.direct && message.message.addressed && !message.message.space);
    str_release(&message.text);
}

static void test_a_server_is_spoken_in_when_the_bot_is_meant(void **state)
{
    (void)state;
    assert_true(read(GUILD ",\"content\":\"hi\"}"));
    assert_false(message.message.direct || message.message.addressed);
    assert_string_equal(message.message.space, "900");
    assert_string_equal(message.message.name, "Adi");
    str_release(&message.text);
    assert_true(read(GUILD ",\"content\":\"<@100> hi\",\"mentions\":[{\"id\":\"100\"}]}"));
    assert_true(message.message.addressed);
    assert_string_equal(message.message.text, "@ethos hi");
    str_release(&message.text);
    assert_true(read(GUILD ",\"content\":\"yes\",\"referenced_message\":{\"author\":{\"id\":"
                           "\"100\"}}}"));
    assert_true(message.message.addressed);
    str_release(&message.text);
}

static void test_what_nobody_said(void **state)
{
    (void)state;
    assert_nothing("{}");
    assert_nothing("[]");
    assert_nothing("{" SAID ",\"content\":\"\"}");
    assert_nothing("{" SAID ",\"content\":7}");
    assert_nothing("{\"id\":\"" ID "\",\"channel_id\":\"77\",\"type\":6," AUTHOR
                   ",\"content\":\"x\"}");
    assert_nothing("{\"id\":\"" ID "\",\"channel_id\":\"77\",\"type\":0,\"author\":{\"id\":"
                   "\"100\"},\"content\":\"x\"}");
    assert_nothing("{\"id\":\"../1\",\"channel_id\":\"77\",\"type\":0," AUTHOR
                   ",\"content\":\"x\"}");
    assert_nothing("{\"id\":\"1234567890123456789012345\",\"channel_id\":\"77\",\"type\":0," AUTHOR
                   ",\"content\":\"x\"}");
}

static void test_programs_are_told_apart(void **state)
{
    (void)state;
    assert_true(read("{\"id\":\"" ID "\",\"channel_id\":\"77\",\"type\":0,\"author\":{\"id\":\"2\","
                     "\"username\":\"x\",\"bot\":true},\"content\":\"x\"}"));
    assert_true(message.message.bot);
    str_release(&message.text);
    assert_true(read(DIRECT ",\"webhook_id\":\"3\"}"));
    assert_true(message.message.bot);
    str_release(&message.text);
}

static void test_an_edit_says_when(void **state)
{
    (void)state;
    assert_false(read_as(DIRECT "}", true)); // a preview of a link
    assert_false(read_as(DIRECT ",\"edited_timestamp\":null}", true));
    assert_true(read_as(DIRECT ",\"edited_timestamp\":\"2026-11-19\"}", true));
    assert_true(message.message.edited);
    str_release(&message.text);
}

static void assert_text(const char *content, const char *expected)
{
    json_t *json = json_pack("{s:s, s:s, s:{s:s}, s:s, s:[{s:s, s:s}, {s:s, s:s, s:s}]}", "id", ID,
                             "channel_id", "77", "author", "id", "1", "content", content,
                             "mentions", "id", "2", "username", "bob", "id", "3", "username", "c",
                             "global_name", "Cleo");
    assert_non_null(json);
    assert_true(discord_message_read(json, false, &bot, &message));
    assert_string_equal(message.message.text, expected);
    str_release(&message.text);
    json_decref(json);
}

static void test_texts_as_people_read_them(void **state)
{
    (void)state;
    assert_text("<@2> <@!3> <@4> <@100>", "@bob @Cleo <@4> @ethos");
    assert_text("<:smile:12> <a:wave:13> <:x>", ":smile: :wave: <:x>");
    assert_text("1 < 2 > 0 <#77> <", "1 < 2 > 0 <#77> <");
    assert_text("<@100> !help", "!help");
    assert_text(" <@!100>  /help me", "/help me");
    assert_text("<@2> !help", "@bob !help");
    assert_text("<", "<");
    assert_text("<@", "<@");
    assert_text("<>", "<>");
    assert_text("<a:>", "<a:>");
}

static void test_ids_grow_with_time(void **state)
{
    char id[DISCORD_MAX_ID];
    (void)state;
    assert_int_equal(discord_id_ms(ID), 1462015105796);
    discord_id_at(1462015105796, id);
    assert_false(discord_id_is_later(id, ID));
    assert_true(discord_id_is_later(ID, id));
    assert_true(discord_id_is_later("1000", "999"));
    discord_id_at(0, id);
    assert_string_equal(id, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_direct_message),
        cmocka_unit_test(test_a_server_is_spoken_in_when_the_bot_is_meant),
        cmocka_unit_test(test_what_nobody_said),
        cmocka_unit_test(test_programs_are_told_apart),
        cmocka_unit_test(test_an_edit_says_when),
        cmocka_unit_test(test_texts_as_people_read_them),
        cmocka_unit_test(test_ids_grow_with_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

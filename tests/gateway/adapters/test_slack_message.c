/*
 * test_slack_message.c: what Slack delivers as a message; its texts; who signed a request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "gateway/adapters/slack_message.h"

static const struct slack_bot bot = {.user = "UBOT", .name = "ethos", .team = "T1"};
static struct slack_message message;

static bool read(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    bool read = slack_message_read(json, "", &bot, &message);
    json_decref(json);
    return read;
}

#define SAID "\"user\":\"U1\",\"text\":\"hi\",\"ts\":\"1700000000.000100\""
#define DIRECT "{\"type\":\"message\",\"channel\":\"D1\",\"channel_type\":\"im\"," SAID
#define CHANNEL "{\"type\":\"message\",\"channel\":\"C1\",\"channel_type\":\"channel\"," SAID

static void assert_nothing(const char *text)
{
    if (read(text))
        fail_msg("read: %s", text);
}

static void test_a_direct_message(void **state)
{
    (void)state;
    assert_true(read(DIRECT "}"));
    assert_string_equal(message.message.chat, "D1");
    assert_string_equal(message.message.thread, "");
    assert_string_equal(message.message.msg, "1700000000.000100");
    assert_string_equal(message.message.sender, "T1:U1");
    assert_string_equal(message.message.text, "hi");
    assert_int_equal(message.message.time_ms, 1700000000000);
    assert_true(message.message.direct && message.message.addressed && message.message.verified);
    str_release(&message.text);
    assert_true(
        read("{\"type\":\"message\",\"channel\":\"D1\",\"user\":\"U1\",\"text\":\"hi\",\"ts\":"
             "\"17000000003000100.1\"}"));
    assert_int_equal(message.message.time_ms, 0);
    str_release(&message.text);
}

static void test_a_channel_is_spoken_in_threads(void **state)
{
    (void)state;
    assert_true(read(CHANNEL "}"));
    assert_string_equal(message.message.thread, "1700000000.000100");
    assert_false(message.message.direct || message.message.addressed);
    str_release(&message.text);
    assert_true(read(CHANNEL ",\"thread_ts\":\"1.2\",\"parent_user_id\":\"UBOT\"}"));
    assert_string_equal(message.message.thread, "1.2");
    assert_true(message.message.addressed);
    str_release(&message.text);
    assert_true(read("{\"type\":\"app_mention\",\"channel\":\"C1\"," SAID "}"));
    assert_true(message.message.addressed && !message.message.direct);
    str_release(&message.text);
}

static void test_what_nobody_said(void **state)
{
    (void)state;
    assert_nothing("{}");
    assert_nothing("[]");
    assert_nothing("{\"type\":\"reaction_added\"," SAID ",\"channel\":\"C1\"}");
    assert_nothing(DIRECT ",\"bot_id\":\"B1\"}");
    assert_nothing(DIRECT ",\"subtype\":\"channel_join\"}");
    assert_nothing(DIRECT ",\"subtype\":\"message_deleted\"}");
    assert_nothing(DIRECT ",\"hidden\":true}");
    assert_nothing(DIRECT ",\"subtype\":\"message_changed\"}");
    assert_nothing("{\"type\":\"message\",\"channel\":\"D1\",\"user\":\"UBOT\",\"text\":\"x\","
                   "\"ts\":\"1.1\"}");
    assert_nothing("{\"type\":\"message\",\"channel\":\"D1\",\"user\":\"U1\",\"text\":\"  \","
                   "\"ts\":\"1.1\"}");
    assert_nothing("{\"type\":\"message\",\"channel\":7,\"user\":\"U1\",\"text\":\"x\",\"ts\":1}");
    // a link that was unfurled is no edit
    assert_nothing("{\"type\":\"message\",\"subtype\":\"message_changed\",\"channel\":\"D1\","
                   "\"message\":{" SAID "}}");
}

static void test_an_edit_is_what_is_inside(void **state)
{
    (void)state;
    assert_true(read("{\"type\":\"message\",\"subtype\":\"message_changed\",\"hidden\":true,"
                     "\"channel\":\"D1\",\"channel_type\":\"im\",\"ts\":\"9.9\",\"message\":{" SAID
                     ",\"edited\":{\"user\":\"U1\"}}}"));
    assert_true(message.message.edited);
    assert_string_equal(message.message.msg, "1700000000.000100");
    str_release(&message.text);
}

static void test_a_file_without_a_text(void **state)
{
    (void)state;
    assert_true(read("{\"type\":\"message\",\"subtype\":\"file_share\",\"channel\":\"D1\","
                     "\"user\":\"U1\",\"text\":\"\",\"ts\":\"1.1\",\"files\":[{}]}"));
    assert_true(message.message.has_files);
    str_release(&message.text);
}

static void assert_text(const char *given, const char *expected)
{
    struct str out;
    str_init(&out, 65536);
    assert_int_equal(slack_text_read(view_str(given), &bot, &out), ETHOS_OK);
    assert_string_equal(out.data ? out.data : "", expected);
    str_release(&out);
}

static void test_texts_as_people_read_them(void **state)
{
    struct str out;
    (void)state;
    assert_text("a &lt;b&gt; &amp;amp; &quot;", "a <b> &amp; &quot;");
    assert_text("<@U7> <@U8|ann> <@UBOT>", "@U7 @ann @ethos");
    assert_text("<#C1|general> <#C2>", "#general #C2");
    assert_text("<!here> <!subteam^S1|@team> <!subteam^S1>", "@here @team @subteam");
    assert_text("<https://a.example/?x=1&amp;y=2> <https://a.example|the page>",
                "https://a.example/?x=1&y=2 the page (https://a.example)");
    assert_text("<mailto:a@b.example|a@b.example>", "a@b.example (mailto:a@b.example)");
    assert_text("1 < 2", "1 < 2");
    assert_text("<", "<");
    assert_text("<@", "<@");
    assert_text("<>", "");
    str_init(&out, 65536);
    assert_int_equal(slack_text_write(view_str("a < b & <!channel>"), &out), ETHOS_OK);
    assert_string_equal(out.data, "a &lt; b &amp; &lt;!channel&gt;");
    str_release(&out);
}

static void test_a_command_behind_a_mention(void **state)
{
    (void)state;
    assert_true(read("{\"type\":\"app_mention\",\"channel\":\"C1\",\"user\":\"U1\",\"ts\":\"1.1\","
                     "\"text\":\" <@UBOT> !help\"}"));
    assert_string_equal(message.message.text, "!help");
    str_release(&message.text);
    assert_true(read("{\"type\":\"app_mention\",\"channel\":\"C1\",\"user\":\"U1\",\"ts\":\"1.1\","
                     "\"text\":\"<@UBOT> help\"}"));
    assert_string_equal(message.message.text, "@ethos help");
    str_release(&message.text);
}

/* The example of Slack's documentation. */
#define SECRET "8f742231b10e8888abcd99yyyzzz85a5"
#define STAMP "1531420618"
#define BODY                                                                                       \
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id="         \
    "G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-"     \
    "collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%"             \
    "2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."               \
    "803a0bc887a14d10d2c447fce8b6703c"
#define SIGNATURE "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
#define THEN_MS (1531420618000)

static bool is_signed(const char *secret, const char *stamp, const char *signature,
                      const char *body, int64_t now_ms)
{
    return slack_is_signed(secret, view_str(stamp), view_str(signature), view_str(body), now_ms);
}

static void test_signatures(void **state)
{
    (void)state;
    assert_true(is_signed(SECRET, STAMP, SIGNATURE, BODY, THEN_MS));
    assert_true(is_signed(SECRET, STAMP, SIGNATURE, BODY, THEN_MS + 300000));
    assert_false(is_signed(SECRET, STAMP, SIGNATURE, BODY, THEN_MS + 301000));
    assert_false(is_signed(SECRET, STAMP, SIGNATURE, BODY, THEN_MS - 301000));
    assert_false(is_signed("", STAMP, SIGNATURE, BODY, THEN_MS));
    assert_false(is_signed(SECRET "x", STAMP, SIGNATURE, BODY, THEN_MS));
    assert_false(is_signed(SECRET, STAMP, SIGNATURE, BODY "x", THEN_MS));
    assert_false(is_signed(SECRET, "1531420619", SIGNATURE, BODY, THEN_MS));
    assert_false(is_signed(SECRET, "+1531420618", SIGNATURE, BODY, THEN_MS));
    assert_false(is_signed(SECRET, "", SIGNATURE, BODY, THEN_MS));
    assert_false(is_signed(SECRET, STAMP, "v0=", BODY, THEN_MS));
    assert_false(is_signed(SECRET, STAMP, "", BODY, THEN_MS));
    assert_false(is_signed(SECRET, STAMP, SIGNATURE + 3, BODY, THEN_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_direct_message),
        cmocka_unit_test(test_a_channel_is_spoken_in_threads),
        cmocka_unit_test(test_what_nobody_said),
        cmocka_unit_test(test_an_edit_is_what_is_inside),
        cmocka_unit_test(test_a_file_without_a_text),
        cmocka_unit_test(test_texts_as_people_read_them),
        cmocka_unit_test(test_a_command_behind_a_mention),
        cmocka_unit_test(test_signatures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_anthropic.c: Anthropic's Messages API.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/models/reply.h"
#include "answers.h"
#include "base/view.h"

static const struct wire_settings settings = {
    .provider = "anthropic", .model = "m", .host = "h", .key = "sk-secret"};

#define TAG "raw {\"wire\":\"anthropic\",\"host\":\"h\",\"model\":\"m\",\"message\":"
#define EVENT(type, members) "event: " type "\ndata: {\"type\":\"" type "\"" members "}\n\n"
#define START(usage)                                                                               \
    EVENT("message_start",                                                                         \
          ",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":"                          \
          "\"assistant\",\"content\":[],\"stop_reason\":null,\"usage\":" usage "}")
#define BEGIN(index, block)                                                                        \
    EVENT("content_block_start", ",\"index\":" index ",\"content_block\":" block)
#define DELTA(index, delta) EVENT("content_block_delta", ",\"index\":" index ",\"delta\":" delta)
#define TEXT(index, text) DELTA(index, "{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define INPUT(index, text)                                                                         \
    DELTA(index, "{\"type\":\"input_json_delta\",\"partial_json\":\"" text "\"}")
#define END(index) EVENT("content_block_stop", ",\"index\":" index)
#define STOP(reason, usage)                                                                        \
    EVENT("message_delta",                                                                         \
          ",\"delta\":{\"stop_reason\":\"" reason "\",\"stop_sequence\":null},\"usage\":" usage)   \
    EVENT("message_stop", "")
#define TEXT_BLOCK(index, text)                                                                    \
    BEGIN(index, "{\"type\":\"text\",\"text\":\"\"}") TEXT(index, text) END(index)
#define CALL(index, id, name)                                                                      \
    BEGIN(index, "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":{}}")

static void assert_stream(const char *stream, const char *expected)
{
    assert_answer(&wire_anthropic, &settings, view_str(stream), expected);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    (void)state;
    assert_stream(START("{\"input_tokens\":12,\"cache_creation_input_tokens\":3,"
                        "\"cache_read_input_tokens\":8,\"output_tokens\":1}")
                      BEGIN("0", "{\"type\":\"text\",\"text\":\"\"}") EVENT("ping", "")
                          TEXT("0", "Hel") TEXT("0", "lo \xF0\x9F\x98\x80") END("0")
                              STOP("end_turn", "{\"input_tokens\":null,\"output_tokens\":5}"),
                  "text Hello \xF0\x9F\x98\x80\nusage 12/5/8/3/0 0 7\ndone end\n");
}

static void test_framing(void **state)
{
    (void)state;
    assert_stream(": comment\r\n\r\nevent: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\n"
                  "event: content_block_start\r\ndata: {\"type\":\"content_block_start\",\"index\":"
                  "0,\r\ndata: \"content_block\":{\"text\":\"H\",\"type\":\"text\"}}\r\n\r\n"
                  "event: new\r\ndata: {\"type\":\"new\",\"text\":\"x\"}\r\n\r\n"
                  "data: {\"index\":0,\"delta\":{\"text\":\"i\\ud83d\",\"type\":\"text_delta\"},"
                  "\"type\":\"content_block_delta\"}\r\n\r\n"
                  "data: {\"index\":0,\"delta\":{\"text\":\"\\ude00\",\"type\":\"text_delta\"},"
                  "\"type\":\"content_block_delta\"}\r\n\r\n"
                  "data: {\"type\":\"message_stop\"}\r\n\r\n",
                  "text Hi\xF0\x9F\x98\x80\ndone end\n");
}

static void test_stops(void **state)
{
    (void)state;
    assert_stream(TEXT_BLOCK("0", "a") STOP("max_tokens", "{}"), "text a\ndone length\n");
    assert_stream(TEXT_BLOCK("0", "a") STOP("model_context_window_exceeded", "{}"),
                  "text a\ndone window\n");
    assert_stream(TEXT_BLOCK("0", "a") STOP("pause_turn", "null"), "text a\ndone paused\n");
    assert_stream(TEXT_BLOCK("0", "a") STOP("stop_sequence", "{}"), "text a\ndone end\n");
    assert_stream(TEXT_BLOCK("0", "a") CALL("1", "t", "f") END("1") STOP("refusal", "{}"),
                  "text a\nbegin 0 t f\ndone refused\n");
}

static void test_whole_document(void **state)
{
    (void)state;
    assert_stream("{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
                  "\"text\":\"Hi\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":"
                  "{\"a\":1}}],\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":3,"
                  "\"output_tokens\":4}}",
                  "text Hi\nbegin 0 t f\nend 0 t f {\"a\":1}\nusage 3/4/0/0/0 0 3\ndone calls\n" TAG
                  "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"},"
                  "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"a\":1}}]}}\n");
}

/* ---- calls and thinking -------------------------------------------------------------------------- */

static void test_two_calls(void **state)
{
    (void)state;
    assert_stream(
        TEXT_BLOCK("0", "Both.") CALL("1", "toolu_1", "f") INPUT("1", "") INPUT("1", "{\\\"x\\\"")
            INPUT("1", ":\\\"\xC3\xA4\\\"}") END("1")
                BEGIN("2", "{\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"g\",\"input\":{},"
                           "\"caller\":{\"type\":\"direct\"}}") END("2") STOP("tool_use", "{}"),
        "text Both.\nbegin 0 toolu_1 f\nbegin 1 toolu_2 g\nend 0 toolu_1 f {\"x\":\"\xC3\xA4\"}\n"
        "end 1 toolu_2 g\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Both.\"},"
        "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"f\",\"input\":{\"x\":\"\xC3\xA4\"}},"
        "{\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"g\",\"input\":{},\"caller\":"
        "{\"type\":\"direct\"}}]}}\n");
}

static void test_invalid_arguments(void **state)
{
    (void)state;
    assert_stream(CALL("0", "t", "f") INPUT("0", "{x") END("0") STOP("tool_use", "{}"),
                  "begin 0 t f\nend 0 t f {x\ndone calls\n" TAG
                  "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\","
                  "\"name\":\"f\",\"input\":{}}]}}\n");
}

static void test_calls_cut_short(void **state)
{
    (void)state;
    assert_stream(CALL("0", "t", "f") INPUT("0", "{}") END("0") CALL("1", "u", "f")
                      INPUT("1", "{\\\"a") END("1") STOP("max_tokens", "{}"),
                  "begin 0 t f\nbegin 1 u f\nend 0 t f {}\ndone length\n" TAG
                  "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\","
                  "\"name\":\"f\",\"input\":{}}]}}\n");
}

#define THINKING                                                                                   \
    BEGIN("0", "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")                     \
    DELTA("0", "{\"type\":\"thinking_delta\",\"thinking\":\"Hm\"}")                                \
    DELTA("0", "{\"type\":\"thinking_delta\",\"thinking\":\"m.\"}")                                \
    DELTA("0", "{\"type\":\"signature_delta\",\"signature\":\"s/+=\"}") END("0")

/* All blocks, in order: redacted thinking, thinking between calls, and thinking without text. */
static void test_thinking_is_echoed(void **state)
{
    (void)state;
    assert_stream(
        THINKING BEGIN("1", "{\"type\":\"redacted_thinking\",\"data\":\"d==\"}") END("1")
            CALL("2", "t", "f") INPUT("2", "{}") END("2")
                BEGIN("3", "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
                    DELTA("3", "{\"type\":\"signature_delta\",\"signature\":\"S\"}") END("3")
                        CALL("4", "u", "f") END("4") STOP("tool_use", "{}"),
        "thinking Hmm.\nbegin 0 t f\nbegin 1 u f\nend 0 t f {}\nend 1 u f\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hmm.\","
        "\"signature\":\"s/+=\"},{\"type\":\"redacted_thinking\",\"data\":\"d==\"},"
        "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}},{\"type\":\"thinking\","
        "\"thinking\":\"\",\"signature\":\"S\"},{\"type\":\"tool_use\",\"id\":\"u\",\"name\":\"f\","
        "\"input\":{}}]}}\n");
    assert_stream(THINKING TEXT_BLOCK("1", "Yes.") STOP("end_turn", "{}"),
                  "thinking Hmm.\ntext Yes.\ndone end\n" TAG
                  "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
                  "\"Hmm.\",\"signature\":\"s/+=\"},{\"type\":\"text\",\"text\":\"Yes.\"}]}}\n");
}

/* What the API would refuse: thinking without a signature, thinking at the end, blank text. */
static void test_thinking_cut_short(void **state)
{
    (void)state;
    assert_stream(THINKING STOP("max_tokens", "{}"), "thinking Hmm.\ndone length\n");
    assert_stream(BEGIN("0", "{\"type\":\"thinking\",\"thinking\":\"Hm\"}")
                      STOP("max_tokens", "{}"),
                  "thinking Hm\ndone length\n");
    assert_stream(TEXT_BLOCK("0", " ") CALL("1", "t", "f") INPUT("1", "{}") END("1")
                      BEGIN("2", "{\"type\":\"redacted_thinking\",\"data\":\"d==\"}") END("2")
                          STOP("max_tokens", "{}"),
                  "text  \nbegin 0 t f\nend 0 t f {}\ndone length\n" TAG
                  "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\","
                  "\"name\":\"f\",\"input\":{}}]}}\n");
}

/* ---- failures ------------------------------------------------------------------------------------ */

static void test_failures(void **state)
{
    (void)state;
    assert_stream(START("{\"input_tokens\":12,\"output_tokens\":1}")
                      BEGIN("0", "{\"type\":\"text\",\"text\":\"\"}") TEXT("0", "Hello my friend"),
                  "text Hello my friend\nusage 12/4/0/0/0 0 19\nerror network 0 0 anthropic: the "
                  "connection failed: it was closed before the answer was complete\n");
    assert_stream(
        TEXT_BLOCK("0", "Hello") "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
                                 "\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        "text Hello\nusage 0/2/0/0/0 0 18\nerror overloaded 0 0 anthropic: the server is "
        "overloaded: Overloaded\n");
    assert_stream("{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
                  "\"prompt is too long: 9 tokens > 8 maximum\"}}",
                  "error overflow 0 0 anthropic: the conversation is longer than the context "
                  "window: prompt is too long: 9 tokens > 8 maximum\n");
    assert_stream(BEGIN("0", "{\"type\":\"tool_use\",\"id\":\"t\"}") STOP("tool_use", "{}"),
                  "error protocol 0 0 anthropic: the answer is not valid: a call has no name\n");
    assert_stream(TEXT_BLOCK("0", "Hello") "data: {\"type\n\n",
                  "text Hello\nusage 0/2/0/0/0 0 18\nerror protocol 0 0 anthropic: the answer is "
                  "not valid: event: line 1, column 7: the text ends too early\n");
}

/* Members that are absent or of another type are no reason to fail. */
static void test_strange_events(void **state)
{
    (void)state;
    assert_stream("data: {}\n\n" EVENT("message_start", "") EVENT("content_block_stop", "")
                      EVENT("content_block_delta", ",\"delta\":[]") TEXT("0", "a")
                          EVENT("content_block_start", ",\"content_block\":7") INPUT("0", "{}")
                              EVENT("message_delta", ",\"delta\":null") EVENT("message_stop", ""),
                  "text a\ndone end\n");
}

/* ---- requests ------------------------------------------------------------------------------------ */

#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"
#define HEAD "{\"model\":\"m\",\"max_tokens\":32000,\"stream\":true"

static const struct ethos_view system_parts[] = {
    {"Be brief.", 9}, {" ", 1}, {"Notes.", 6}, {"", 0}};

static void test_request(void **state)
{
    const struct model_tool tools[] = {{VIEW("f"), VIEW("does"), VIEW("{\"type\":\"object\"}")},
                                       {VIEW("g"), VIEW("\"is\""), VIEW("{\"type\":\"object\"}")}};
    const struct model_message messages[] = {
        {.role = MODEL_USER, .text = VIEW("Hi \"you\"")},
        {.role = MODEL_ASSISTANT, .text = VIEW("Hello.")},
        {.role = MODEL_USER, .text = VIEW("a")},
        {.role = MODEL_ASSISTANT, .text = VIEW("")}, /* aborted */
        {.role = MODEL_USER, .text = VIEW("b")}};
    const struct model_request request = {system_parts, 4, messages, 5, tools, 2, -1};
    (void)state;
    assert_request(
        &wire_anthropic, &settings, &request,
        HEAD ",\"tools\":[{\"name\":\"f\",\"description\":\"does\",\"input_schema\":{\"type\":"
             "\"object\"}},{\"name\":\"g\",\"description\":\"\\\"is\\\"\",\"input_schema\":"
             "{\"type\":\"object\"}}],\"system\":[{\"type\":\"text\",\"text\":\"Be brief.\"},"
             "{\"type\":\"text\",\"text\":\"Notes.\"" MARK "}],\"messages\":["
             "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi \\\"you\\\"\"}]},"
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hello.\"}]},"
             "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"" MARK "}]},"
             "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"b\"" MARK "}]}]}");
}

/* Consecutive results are one message, which the question that follows joins. */
static void test_results(void **state)
{
    const struct model_call calls[] = {{VIEW("a"), VIEW("f"), VIEW("{\"x\":1}")},
                                       {VIEW("call:2.\xC3\xA4"), VIEW("my.f"), VIEW("{x")}};
    const struct model_message messages[] = {
        {.role = MODEL_USER, .text = VIEW("Go")},
        {.role = MODEL_ASSISTANT, .text = VIEW("Yes."), .calls = calls, .call_count = 2},
        {.role = MODEL_TOOL_RESULT, .text = VIEW("done"), .call_id = VIEW("a")},
        {.role = MODEL_TOOL_RESULT,
         .text = VIEW(""),
         .call_id = VIEW("call:2.\xC3\xA4"),
         .is_error = true},
        {.role = MODEL_USER, .text = VIEW("More")},
        {.role = MODEL_ASSISTANT, .calls = calls, .call_count = 1},
        {.role = MODEL_TOOL_RESULT, .text = VIEW("done"), .call_id = VIEW("a")}};
    struct model_request request = {NULL, 0, messages, 7, NULL, 0, -1};
    (void)state;
    assert_request(
        &wire_anthropic, &settings, &request,
        HEAD ",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Go\"}]},"
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Yes.\"},"
             "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{\"x\":1}},"
             "{\"type\":\"tool_use\",\"id\":\"call_2___\",\"name\":\"my_f\",\"input\":{}}]},"
             "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\","
             "\"content\":\"done\"},{\"type\":\"tool_result\",\"tool_use_id\":\"call_2___\","
             "\"content\":\"\",\"is_error\":true},{\"type\":\"text\",\"text\":\"More\"" MARK "}]},"
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":"
             "\"f\",\"input\":{\"x\":1}}]},{\"role\":\"user\",\"content\":[{\"type\":"
             "\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"done\"" MARK "}]}]}");
}

static void test_max_tokens(void **state)
{
    const struct model_message message = {.role = MODEL_USER, .text = VIEW("a")};
    const struct model_request request = {NULL, 0, &message, 1, NULL, 0, -1};
    struct wire_settings changed = settings;
    struct ethos_view text = VIEW("max_tokens: 32000 > 4096, which is the maximum");
    (void)state;
    assert_int_equal(wire_anthropic.refused_field(&changed, VIEW("messages: bad")), 0);
    changed.left_out = wire_anthropic.refused_field(&changed, text);
    assert_request(&wire_anthropic, &changed, &request,
                   "{\"model\":\"m\",\"max_tokens\":4096,\"stream\":true,\"messages\":[{\"role\":"
                   "\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"" MARK "}]}]}");
    changed = settings;
    changed.max_output = 64000;
    assert_int_equal(wire_anthropic.refused_field(&changed, text), 0);
    assert_request(&wire_anthropic, &changed, &request,
                   "{\"model\":\"m\",\"max_tokens\":64000,\"stream\":true,\"messages\":[{\"role\":"
                   "\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"" MARK "}]}]}");
}

static void test_echo(void **state)
{
    struct model_message message = {
        .role = MODEL_ASSISTANT,
        .text = VIEW("neutral"),
        .raw = VIEW("{\"wire\":\"anthropic\",\"host\":\"h\",\"model\":\"m\",\"message\":"
                    "{\"role\":\"assistant\",  \"content\":[1.50]}}")};
    const struct model_request request = {NULL, 0, &message, 1, NULL, 0, -1};
    struct wire_settings other = settings;
    (void)state;
    assert_request(&wire_anthropic, &settings, &request,
                   HEAD ",\"messages\":[{\"role\":\"assistant\",  \"content\":[1.50]}]}");
    message.text = view_str(NULL);
    assert_request(&wire_anthropic, &settings, &request,
                   HEAD ",\"messages\":[{\"role\":\"assistant\",  \"content\":[1.50]}]}");
    message.text = VIEW("neutral");
    other.host = "elsewhere";
    assert_request(&wire_anthropic, &other, &request,
                   HEAD ",\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
                        "\"text\":\"neutral\"}]}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_whole_document),
        cmocka_unit_test(test_two_calls),
        cmocka_unit_test(test_invalid_arguments),
        cmocka_unit_test(test_calls_cut_short),
        cmocka_unit_test(test_thinking_is_echoed),
        cmocka_unit_test(test_thinking_cut_short),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_strange_events),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_max_tokens),
        cmocka_unit_test(test_echo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

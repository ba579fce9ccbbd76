/*
 * test_openai_chat.c: chat completions, as the servers that are known to differ send them.
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
    .provider = "openrouter", .model = "m", .host = "h", .key = "sk-secret"};

#define TAG "raw {\"wire\":\"openai-chat\",\"host\":\"h\",\"model\":\"m\",\"message\":"
#define DELTA(text) "data: {\"choices\":[{\"index\":0,\"delta\":" text "}]}\n\n"
#define FINISH(reason)                                                                             \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\n"
#define DONE "data: [DONE]\n\n"
#define CALLS(text) DELTA("{\"tool_calls\":[" text "]}")

static void assert_stream(const char *stream, const char *expected)
{
    assert_answer(&wire_openai_chat, &settings, view_str(stream), expected);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    (void)state;
    assert_stream(
        DELTA("{\"role\":\"assistant\",\"content\":\"\"}") DELTA("{\"content\":\"Hel\"}")
            DELTA("{\"content\":\"lo \xF0\x9F\x98\x80\"}") FINISH(
                "stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,"
                        "\"completion_tokens\":5,\"prompt_tokens_details\":{\"cached_tokens\":8},"
                        "\"completion_tokens_details\":{\"reasoning_tokens\":2}}}\n\n" DONE,
        "text Hello \xF0\x9F\x98\x80\nusage 12/5/8/0/2 0 7\ndone end\n");
}

static void test_framing(void **state)
{
    (void)state;
    assert_stream(": OPENROUTER PROCESSING\r\n\r\nevent: ping\r\ndata: {}\r\n\r\n"
                  "data: {\"choices\":[{\"delta\":\r\ndata: {\"content\":\"Hi\"}}]}\r\n\r\n"
                  "data:{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n",
                  "text Hi\ndone end\n");
}

static void test_absent_members(void **state)
{
    (void)state;
    assert_stream(
        "data: {\"id\":\"x\"}\n\ndata: {\"choices\":null}\n\n"
        "data: {\"choices\":[{\"delta\":null}]}\n\n" DELTA("{\"content\":null}") DELTA(
            "{\"content\":\"a\",\"tool_calls\":null}") "data: "
                                                       "{\"choices\":[{\"delta\":{\"content\":"
                                                       "\"b\"}}],\"usage\":"
                                                       "{\"prompt_tokens\":1}}\n\ndata: "
                                                       "{\"error\":null,\"choices\":[{\"delta\":"
                                                       "{},\"finish_reason\":\"stop\"}],\"usage\":{"
                                                       "\"prompt_tokens\":3,"
                                                       "\"completion_tokens\":4}}\n\n",
        "text ab\nusage 3/4/0/0/0 0 3\ndone end\n");
}

static void test_half_characters(void **state)
{
    (void)state;
    assert_stream(DELTA("{\"content\":\"a\\ud83d\"}") DELTA("{\"content\":\"\\ude00b\"}")
                      DELTA("{\"content\":\"\\ude00\\ud83d\"}") DELTA("{\"content\":\"c\"}")
                          DELTA("{\"content\":\"\\\\ud83d \\ud83d\\ude00\"}") DONE,
                  "text a\xF0\x9F\x98\x80"
                  "b\xEF\xBF\xBD\xEF\xBF\xBD"
                  "c\\ud83d \xF0\x9F\x98\x80\ndone end\n");
}

static void test_invalid_utf8(void **state)
{
    (void)state;
    assert_stream(DELTA("{\"content\":\"a\xFF"
                        "b\"}") DONE,
                  "text a\xEF\xBF\xBD"
                  "b\ndone end\n");
}

static void test_stops(void **state)
{
    (void)state;
    assert_stream(DELTA("{\"content\":\"a\"}") FINISH("length"), "text a\ndone length\n");
    assert_stream(DELTA("{\"content\":\"a\"}") FINISH("content_filter"), "text a\ndone refused\n");
    assert_stream(DELTA("{\"content\":\"a\"}") FINISH("eos"), "text a\ndone end\n");
    assert_stream(DELTA("{\"refusal\":\"No.\"}") FINISH("stop"), "text No.\ndone end\n");
}

static void test_whole_document(void **state)
{
    (void)state;
    assert_stream("\n{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\","
                  "\"reasoning\":\"Hm\"},\"finish_reason\":\"stop\"}],\"usage\":"
                  "{\"prompt_tokens\":3,\"completion_tokens\":4,\"cost\":0.0000125}}\n",
                  "thinking Hm\ntext Hi\nusage 3/4/0/0/0 12500 11\ndone end\n");
    assert_stream(DELTA("{\"content\":[{\"type\":\"thinking\",\"thinking\":[]},"
                        "{\"type\":\"text\",\"text\":\"Hi\"}]}") DONE,
                  "text Hi\ndone end\n");
}

/* ---- calls --------------------------------------------------------------------------------------- */

static void test_interleaved_calls(void **state)
{
    (void)state;
    assert_stream(
        CALLS("{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\","
              "\"arguments\":\"\"}}") CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":"
                                            "\"g\",\"arguments\":\"{\\\"x\\\"\"}}")
            CALLS("{\"index\":0,\"function\":{\"arguments\":\"{}\"}},{\"index\":1,\"function\":"
                  "{\"arguments\":\":\\\"\xC3\xA4\\\"}\"}}") FINISH("stop") DONE,
        "begin 0 a f\nbegin 1 b g\nend 0 a f {}\nend 1 b g {\"x\":\"\xC3\xA4\"}\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"function\":"
        "{\"name\":\"f\",\"arguments\":\"{}\"},\"type\":\"function\"},{\"id\":\"b\",\"function\":"
        "{\"name\":\"g\",\"arguments\":\"{\\\"x\\\":\\\"\xC3\xA4\\\"}\"},\"type\":\"function\"}]}}"
        "\n");
}

/* Whole calls without index, with signatures that must come back in place. */
static void test_gemini(void **state)
{
    (void)state;
    assert_stream(
        CALLS("{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
              "\"{}\"},\"extra_content\":{\"google\":{\"thought_signature\":\"s/+=\"}}}")
            CALLS("{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                  "\"arguments\":\"{}\"}}") FINISH("stop") DONE,
        "begin 0 a f\nbegin 1 b f\nend 0 a f {}\nend 1 b f {}\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"function\":"
        "{\"name\":\"f\",\"arguments\":\"{}\"},\"type\":\"function\",\"extra_content\":{\"google\":"
        "{\"thought_signature\":\"s/+=\"}}},{\"id\":\"b\",\"function\":{\"name\":\"f\","
        "\"arguments\":\"{}\"},\"type\":\"function\"}]}}\n");
}

/* Neither index nor id; arguments that are empty, and those that are an object. */
static void test_calls_by_position(void **state)
{
    struct wire_settings seeded = settings;
    (void)state;
    seeded.call_seed = 1;
    assert_answer(
        &wire_openai_chat, &seeded,
        VIEW(CALLS("{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":[1,2]}}},"
                   "{\"function\":{\"name\":\"g\"}}")
                 CALLS("{\"function\":{\"name\":\"h\",\"arguments\":\"\"}}") FINISH("tool_calls")),
        "begin 0 nnc6srp0g f\nbegin 1 kix75wadq g\nbegin 2 ye305glee h\nend 0 nnc6srp0g f "
        "{\"a\":[1,2]}\nend 1 kix75wadq g\nend 2 ye305glee h\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
        "{\"id\":\"nnc6srp0g\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":[1,2]}\"},"
        "\"type\":\"function\"},{\"id\":\"kix75wadq\",\"function\":{\"name\":\"g\",\"arguments\":"
        "\"{}\"},\"type\":\"function\"},{\"id\":\"ye305glee\",\"function\":{\"name\":\"h\","
        "\"arguments\":\"{}\"},\"type\":\"function\"}]}}\n");
}

/* Every call has index 0, or every piece an id of its own: the name tells. */
static void test_calls_counted_wrongly(void **state)
{
    (void)state;
    assert_stream(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}")
            CALLS("{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}")
                CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"arguments\":\"}\"}}") DONE,
        "begin 0 a f\nbegin 1 b f\nend 0 a f {}\nend 1 b f {}\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
        "{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},\"type\":\"function\"},"
        "{\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},\"type\":\"function\"}"
        "]}}\n");
}

/* The echo must be a request that servers accept; the event has what came. */
static void test_invalid_arguments(void **state)
{
    (void)state;
    assert_stream(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{x\"}}")
            FINISH("tool_calls"),
        "begin 0 a f\nend 0 a f {x\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"function\":"
        "{\"name\":\"f\",\"arguments\":\"{}\"},\"type\":\"function\"}]}}\n");
}

static void test_calls_cut_short(void **state)
{
    (void)state;
    assert_stream(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
              "{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\"}}")
            FINISH("length"),
        "begin 0 a f\nbegin 1 b f\nend 0 a f {}\ndone length\n" TAG
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"function\":"
        "{\"name\":\"f\",\"arguments\":\"{}\"},\"type\":\"function\"}]}}\n");
    assert_stream(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"),
        "begin 0 a f\nusage 0/1/0/0/0 0 18\nerror network 0 0 openrouter: the connection failed: "
        "it "
        "was closed before the answer was complete\n");
    assert_stream(CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"arguments\":\"{}\"}}") DONE,
                  "usage 0/1/0/0/0 0 18\nerror protocol 0 0 openrouter: the answer is not valid: a "
                  "call has no name\n");
}

/* ---- reasoning ----------------------------------------------------------------------------------- */

static void test_reasoning_is_echoed(void **state)
{
    (void)state;
    assert_stream(
        DELTA("{\"role\":\"assistant\",\"reasoning_content\":\"\"}")
            CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}")
                DONE,
        "begin 0 a f\nend 0 a f {}\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"\",\"tool_calls\":[{"
        "\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},\"type\":\"function\"}]}}"
        "\n");
    assert_stream(
        DELTA("{\"reasoning\":\"A\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":"
              "\"A\",\"index\":0}]}")
            DELTA("{\"reasoning\":\"B\",\"reasoning_details\":[{\"type\":\"reasoning.text\","
                  "\"text\":\"B\",\"signature\":\"s\",\"index\":0},{\"type\":"
                  "\"reasoning.encrypted\",\"data\":\"d\",\"index\":1}]}")
                CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":"
                      "\"{}\"}}") DONE,
        "thinking AB\nbegin 0 a f\nend 0 a f {}\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":null,\"reasoning\":\"AB\",\"reasoning_details\":["
        "{\"type\":\"reasoning.text\",\"text\":\"AB\",\"index\":0,\"signature\":\"s\"},"
        "{\"type\":\"reasoning.encrypted\",\"data\":\"d\",\"index\":1}],\"tool_calls\":[{\"id\":"
        "\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},\"type\":\"function\"}]}}\n");
}

/* ---- failures ------------------------------------------------------------------------------------ */

static void test_failures(void **state)
{
    (void)state;
    assert_stream("", "error network 0 0 openrouter: the connection failed: it was closed before "
                      "the answer was complete\n");
    assert_stream(DELTA("{\"content\":\"Hello my friend\"}"),
                  "text Hello my friend\nusage 0/4/0/0/0 0 18\nerror network 0 0 openrouter: the "
                  "connection failed: it was closed before the answer was complete\n");
    assert_stream(DELTA("{\"content\":\"Hello\"}") "data: {\"choi\n\n",
                  "text Hello\nusage 0/2/0/0/0 0 18\nerror protocol 0 0 openrouter: the answer is "
                  "not valid: event: line 1, column 7: the text ends too early\n");
    assert_stream("data: 17\n\n",
                  "error protocol 0 0 openrouter: the answer is not valid: an event "
                  "is not a JSON object\n");
    assert_stream("<html></html>", "error protocol 0 0 openrouter: the answer is not valid: the "
                                   "server sent an HTML page; check the base URL\n");
}

static void test_errors_in_the_stream(void **state)
{
    (void)state;
    assert_stream(
        DELTA("{\"content\":\"Hello\"}") "data: {\"error\":{\"code\":429,\"message\":"
                                         "\"slow down sk-secret\"},\"choices\":[{"
                                         "\"delta\":{\"content\":\"x\"},"
                                         "\"finish_reason\":\"error\"}]}\n\n" DONE,
        "text Hello\nusage 0/2/0/0/0 0 18\nerror rate 429 0 openrouter: too many requests "
        "(HTTP 429): slow down [key]\n");
    assert_stream("data: {\"error\":\"Trying to keep the first 9000 tokens, greater than the "
                  "context length\"}\n\n",
                  "error overflow 0 0 openrouter: the conversation is longer than the context "
                  "window: Trying to keep the first 9000 tokens, greater than the context "
                  "length\n");
    assert_stream("data: {\"error\":{\"code\":400,\"message\":\"too much\",\"type\":"
                  "\"exceed_context_size_error\",\"n_prompt_tokens\":9,\"n_ctx\":8}}\n\n",
                  "error overflow 400 0 openrouter: the conversation is longer than the context "
                  "window (HTTP 400): too much\n");
    assert_stream("data: {\"object\":\"error\",\"message\":\"boom\",\"code\":500}\n\n",
                  "error server 500 0 openrouter: the server failed (HTTP 500): boom\n");
    assert_stream("{\"error\":{\"message\":\"no key\",\"type\":\"authentication_error\"}}",
                  "error auth 0 0 openrouter: the key was not accepted: no key\n");
}

/* ---- requests ------------------------------------------------------------------------------------ */

static const struct ethos_view system_parts[] = {{"Be brief.", 9}, {"Notes.", 6}};

static void test_request(void **state)
{
    const struct model_tool tool = {VIEW("f"), VIEW("does"), VIEW("{\"type\":\"object\"}")};
    const struct model_call calls[] = {{VIEW("a"), VIEW("f"), VIEW("{\"x\":1}")},
                                       {VIEW("b"), VIEW("f"), VIEW("{x")}};
    const struct model_message messages[] = {
        {.role = MODEL_USER, .text = VIEW("Hi \"you\"")},
        {.role = MODEL_ASSISTANT, .calls = calls, .call_count = 2},
        {.role = MODEL_TOOL_RESULT, .text = VIEW("done"), .call_id = VIEW("a")},
        {.role = MODEL_TOOL_RESULT, .text = VIEW("bad"), .call_id = VIEW("b"), .is_error = true},
        {.role = MODEL_ASSISTANT, .text = VIEW("")},
        {.role = MODEL_USER, .text = VIEW("More")}};
    const struct model_request request = {system_parts, 2, messages, 6, &tool, 1, -1};
    struct wire_settings limited = settings;
    (void)state;
    assert_request(
        &wire_openai_chat, &settings, &request,
        "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"tools\":[{"
        "\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"does\","
        "\"parameters\":{\"type\":\"object\"}}}],\"messages\":[{\"role\":\"system\",\"content\":"
        "\"Be brief.\\n\\nNotes.\"},{\"role\":\"user\",\"content\":\"Hi \\\"you\\\"\"},{\"role\":"
        "\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}},{\"id\":\"b\",\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\","
        "\"tool_call_id\":\"a\",\"content\":\"done\"},{\"role\":\"tool\",\"tool_call_id\":\"b\","
        "\"content\":\"bad\"},{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"user\","
        "\"content\":\"More\"}]}");
    limited.max_output = 100;
    const struct model_request small = {NULL, 0, messages, 1, NULL, 0, -1};
    limited.left_out = wire_openai_chat.refused_field(&limited, VIEW("stream_options unknown"));
    assert_request(&wire_openai_chat, &limited, &small,
                   "{\"model\":\"m\",\"stream\":true,\"max_tokens\":100,\"messages\":[{\"role\":"
                   "\"user\",\"content\":\"Hi \\\"you\\\"\"}]}");
    limited.is_openai = true;
    assert_request(&wire_openai_chat, &limited, &small,
                   "{\"model\":\"m\",\"stream\":true,\"max_completion_tokens\":100,\"messages\":[{"
                   "\"role\":\"user\",\"content\":\"Hi \\\"you\\\"\"}]}");
    limited.left_out |= wire_openai_chat.refused_field(&limited, VIEW("'max_tokens' no"));
    assert_request(&wire_openai_chat, &limited, &small,
                   "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":"
                   "\"Hi \\\"you\\\"\"}]}");
    assert_int_equal(wire_openai_chat.refused_field(&limited, VIEW("bad messages")), 0);
}

static void assert_echo(const struct wire_settings *to, const char *raw, const char *expected)
{
    const struct model_message message = {
        .role = MODEL_ASSISTANT, .text = VIEW("neutral"), .raw = view_str(raw)};
    const struct model_request request = {NULL, 0, &message, 1, NULL, 0, -1};
    struct str whole;
    str_init(&whole, 4096);
    str_printf(&whole,
               "{\"model\":\"%s\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
               "\"messages\":[%s]}",
               to->model, expected);
    assert_request(&wire_openai_chat, to, &request, whole.data);
    str_release(&whole);
}

static void test_echo(void **state)
{
    struct wire_settings other = settings;
    const char *raw = "{\"wire\":\"openai-chat\",\"host\":\"h\",\"model\":\"m\",\"message\":"
                      "{\"role\":\"assistant\",  \"x\":[1.50,\"\\u00e4\"]}}";
    const char *neutral = "{\"role\":\"assistant\",\"content\":\"neutral\"}";
    (void)state;
    assert_echo(&settings, raw, "{\"role\":\"assistant\",  \"x\":[1.50,\"\\u00e4\"]}");
    assert_echo(&settings,
                "{ \"message\": {\"x\":1}, \"model\": \"m\", \"wire\": \"openai-chat\", \"host\": "
                "\"h\"}",
                "{\"x\":1}");
    other.host = "elsewhere";
    assert_echo(&other, raw, neutral);
    other.host = "h";
    other.model = "n";
    assert_echo(&other, raw, neutral);
    assert_echo(&settings, "{\"wire\":\"ollama\",\"host\":\"h\",\"model\":\"m\",\"message\":{}}",
                neutral);
    assert_echo(&settings, NULL, neutral);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_absent_members),
        cmocka_unit_test(test_half_characters),
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_whole_document),
        cmocka_unit_test(test_interleaved_calls),
        cmocka_unit_test(test_gemini),
        cmocka_unit_test(test_calls_by_position),
        cmocka_unit_test(test_calls_counted_wrongly),
        cmocka_unit_test(test_invalid_arguments),
        cmocka_unit_test(test_calls_cut_short),
        cmocka_unit_test(test_reasoning_is_echoed),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_errors_in_the_stream),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_echo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

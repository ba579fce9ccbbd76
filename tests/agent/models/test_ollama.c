/*
 * test_ollama.c: Ollama's own API.
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
    .provider = "ollama", .model = "m", .host = "h", .num_ctx = 32768};

#define TAG "raw {\"wire\":\"ollama\",\"host\":\"h\",\"model\":\"m\",\"message\":"
#define LINE(message) "{\"model\":\"m\",\"message\":" message ",\"done\":false}\n"
#define TEXT(text) LINE("{\"role\":\"assistant\",\"content\":\"" text "\"}")
#define CALLS(calls) LINE("{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[" calls "]}")
#define CALL(name, arguments) "{\"function\":{\"name\":\"" name "\",\"arguments\":" arguments "}}"
#define DONE(reason)                                                                               \
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,"        \
    "\"done_reason\":\"" reason "\",\"prompt_eval_count\":12,\"eval_count\":5}\n"

static void assert_stream(const char *stream, const char *expected)
{
    assert_answer(&wire_ollama, &settings, view_str(stream), expected);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    (void)state;
    assert_stream(TEXT("Hel") TEXT("lo \xF0\x9F\x98\x80") DONE("stop"),
                  "text Hello \xF0\x9F\x98\x80\nusage 12/5/0/0/0 0 3\ndone end\n");
}

static void test_framing(void **state)
{
    (void)state;
    assert_stream("\r\n{\"message\":{\"content\":\"a\\ud83d\"}}\r\n\r\n"
                  "{\"message\":{\"content\":\"\\ude00\"},\"done\":false}\r\n{\"done\":true}",
                  "text a\xF0\x9F\x98\x80\nusage 0/0/0/0/0 0 3\ndone end\n");
    assert_stream("{}\n{\"message\":null}\n{\"message\":{\"content\":null,\"tool_calls\":null}}\n"
                  "{\"message\":{\"content\":\"a\"},\"done\":true,\"done_reason\":\"load\"}\n",
                  "text a\nusage 0/0/0/0/0 0 3\ndone end\n");
}

static void test_length(void **state)
{
    (void)state;
    assert_stream(TEXT("a") DONE("length"), "text a\nusage 12/5/0/0/0 0 3\ndone length\n");
}

/* Of an older server that did not refuse the request: it left out what did not fit. */
static void test_prompt_that_was_cut(void **state)
{
    struct wire_settings sent = settings;
    (void)state;
    sent.request_bytes = 100;
    assert_answer(&wire_ollama, &sent, VIEW(TEXT("a") DONE("stop")),
                  "text a\nusage 12/5/0/0/0 0 3\ndone end\n");
    sent.request_bytes = 104;
    assert_answer(&wire_ollama, &sent, VIEW(TEXT("a") DONE("stop")),
                  "text a\nstatus ollama read 12 of about 26 tokens and has not seen the oldest "
                  "messages; raise model.numCtx\nusage 12/5/0/0/0 0 3\ndone end\n");
}

/* ---- calls --------------------------------------------------------------------------------------- */

static void test_two_calls(void **state)
{
    struct wire_settings seeded = settings;
    (void)state;
    seeded.call_seed = 1;
    assert_answer(
        &wire_ollama, &seeded,
        VIEW(LINE("{\"thinking\":\"Hm\",\"content\":\"\"}") LINE("{\"thinking\":\"m.\"}")
                 CALLS(CALL("f", "{\"a\":[1,\"\xC3\xA4\"]}")) CALLS(
                     "{\"id\":\"call_2\",\"function\":{\"index\":1,\"name\":\"g\",\"arguments\":"
                     "{}}}") DONE("stop")),
        "thinking Hmm.\nbegin 0 nnc6srp0g f\nbegin 1 call_2 g\nend 0 nnc6srp0g f {\"a\":[1,"
        "\"\xC3\xA4\"]}\nend 1 call_2 g {}\nusage 12/5/0/0/0 0 3\ndone calls\n" TAG
        "{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"Hmm.\",\"tool_calls\":[{\"id\":"
        "\"nnc6srp0g\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":[1,\"\xC3\xA4\"]}}},"
        "{\"id\":\"call_2\",\"function\":{\"name\":\"g\",\"arguments\":{},\"index\":1}}]}}\n");
}

static void test_strange_calls(void **state)
{
    (void)state;
    assert_stream(CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}"
                        "\"}},{\"id\":\"b\",\"function\":{\"name\":\"f\"}}") DONE("stop"),
                  "begin 0 a f\nbegin 1 b f\nend 0 a f {\"a\":1}\nend 1 b f\n"
                  "usage 12/5/0/0/0 0 3\ndone calls\n" TAG
                  "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"a\","
                  "\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}},{\"id\":\"b\","
                  "\"function\":{\"name\":\"f\",\"arguments\":{}}}]}}\n");
    assert_stream(CALLS("{\"id\":\"a\"}") DONE("stop"),
                  "usage 12/5/0/0/0 0 19\nerror protocol 0 0 ollama: the answer is not valid: a "
                  "call has no name\n");
}

/* ---- failures ------------------------------------------------------------------------------------ */

static void test_failures(void **state)
{
    (void)state;
    assert_stream(
        TEXT("Hello") "{\"error\":\"an error was encountered while running the model\"}\n",
        "text Hello\nusage 0/2/0/0/0 0 18\nerror server 0 0 ollama: the server failed: "
        "an error was encountered while running the model\n");
    assert_stream("{\"error\":\"the input length exceeds the context window\"}",
                  "error overflow 0 0 ollama: the conversation is longer than the context window: "
                  "the input length exceeds the context window\n");
    assert_stream(TEXT("Hello"),
                  "text Hello\nusage 0/2/0/0/0 0 18\nerror network 0 0 ollama: the connection "
                  "failed: it was closed before the answer was complete\n");
    assert_stream(TEXT("Hello") "{\"mess\n" DONE("stop"),
                  "text Hello\nusage 0/2/0/0/0 0 18\nerror protocol 0 0 ollama: the answer is not "
                  "valid: event: line 1, column 7: the text ends too early\n");
    assert_stream("[]\n", "error protocol 0 0 ollama: the answer is not valid: an event is not a "
                          "JSON object\n");
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
        {.role = MODEL_TOOL_RESULT,
         .text = VIEW("done"),
         .call_id = VIEW("a"),
         .tool_name = VIEW("f")},
        {.role = MODEL_ASSISTANT,
         .text = VIEW("neutral"),
         .raw = VIEW("{\"wire\":\"ollama\",\"host\":\"h\",\"model\":\"m\",\"message\":{\"x\":1}}")},
        {.role = MODEL_USER, .text = VIEW("More")}};
    const struct model_request request = {system_parts, 2, messages, 5, &tool, 1, -1};
    const struct model_request small = {NULL, 0, messages, 1, NULL, 0, -1};
    struct wire_settings limited = settings;
    (void)state;
    assert_request(
        &wire_ollama, &settings, &request,
        "{\"model\":\"m\",\"stream\":true,\"truncate\":false,\"shift\":false,\"options\":{"
        "\"num_ctx\":32768},\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
        "\"description\":\"does\",\"parameters\":{\"type\":\"object\"}}}],\"messages\":[{\"role\":"
        "\"system\",\"content\":\"Be brief.\\n\\nNotes.\"},{\"role\":\"user\",\"content\":"
        "\"Hi \\\"you\\\"\"},{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":"
        "\"a\",\"function\":{\"name\":\"f\",\"arguments\":{\"x\":1}}},{\"id\":\"b\",\"function\":"
        "{\"name\":\"f\",\"arguments\":{}}}]},{\"role\":\"tool\",\"tool_name\":\"f\","
        "\"tool_call_id\":\"a\",\"content\":\"done\"},{\"x\":1},{\"role\":\"user\",\"content\":"
        "\"More\"}]}");
    limited.max_output = 100;
    limited.num_ctx = 4096;
    assert_request(&wire_ollama, &limited, &small,
                   "{\"model\":\"m\",\"stream\":true,\"truncate\":false,\"shift\":false,"
                   "\"options\":{\"num_ctx\":4096,\"num_predict\":100},\"messages\":[{\"role\":"
                   "\"user\",\"content\":\"Hi \\\"you\\\"\"}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),      cmocka_unit_test(test_framing),
        cmocka_unit_test(test_length),    cmocka_unit_test(test_prompt_that_was_cut),
        cmocka_unit_test(test_two_calls), cmocka_unit_test(test_strange_calls),
        cmocka_unit_test(test_failures),  cmocka_unit_test(test_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

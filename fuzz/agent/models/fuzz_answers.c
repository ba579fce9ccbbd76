/*
 * fuzz_answers.c: an answer of a model by each wire, whatever comes, in pieces of any size.
 *
 * Input: a byte that chooses the wire, one that is the size of the pieces, then the stream. In pieces or whole it is
 * the same answer; every answer has exactly one end, which is last; text is UTF-8; the echo is JSON.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/models/reply.h"
#include "agent/models/wire.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    struct str text;
    unsigned ends, calls;
    enum model_event_kind last;
    enum model_stop stop;
};

static void collect(void *arg, const struct model_event *event)
{
    struct outcome *outcome = arg;
    json_t *raw;
    assert(outcome->ends == 0);
    if (event->kind == MODEL_TEXT || event->kind == MODEL_THINKING)
        assert(utf8_valid(event->text));
    if (event->kind == MODEL_TEXT)
        str_add(&outcome->text, event->text);
    outcome->calls += event->kind == MODEL_CALL_END;
    outcome->ends += event->kind == MODEL_DONE || event->kind == MODEL_ERROR;
    outcome->last = event->kind;
    outcome->stop = event->kind == MODEL_DONE ? event->stop : outcome->stop;
    if (event->kind == MODEL_DONE && event->raw.size > 0) {
        assert(json_parse_most(event->raw, MODEL_MAX_TEXT, "raw", &raw, NULL) == ETHOS_OK);
        json_decref(raw);
    }
}

static void run(const struct wire *wire, struct ethos_view text, size_t piece, struct outcome *out)
{
    static const struct wire_settings settings = {
        .provider = "fuzz", .model = "m", .host = "127.0.0.1:1", .num_ctx = 4096, .call_seed = 1};
    struct reply *reply = calloc(1, sizeof *reply);
    assert(reply);
    *out = (struct outcome){0};
    str_init(&out->text, 2 * (size_t)MODEL_MAX_TEXT);
    reply_init(reply, wire, &settings, collect, out);
    while (text.size > 0 && !reply_is_over(reply)) {
        size_t size = piece < text.size ? piece : text.size;
        reply_feed(reply, view_of(text.data, size));
        text = view_from(text, size);
    }
    reply_finish(reply, NULL);
    reply_release(reply);
    free(reply);
    assert(out->ends == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct wire *const wires[] = {&wire_openai_chat, &wire_anthropic, &wire_ollama};
    struct outcome whole, pieces;
    if (size < 2)
        return 0;
    const struct wire *wire = wires[data[0] % 3];
    struct ethos_view text = view_of((const char *)data + 2, size - 2);
    run(wire, text, SIZE_MAX, &whole);
    run(wire, text, data[1] % 64 + 1u, &pieces);
    assert(view_eq(str_view(&whole.text), str_view(&pieces.text)));
    assert(whole.calls == pieces.calls && whole.last == pieces.last && whole.stop == pieces.stop);
    str_release(&whole.text);
    str_release(&pieces.text);
    return 0;
}

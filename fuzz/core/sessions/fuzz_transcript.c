/*
 * fuzz_transcript.c: whatever a transcript holds, what is read from it is in an order that a model
 * accepts, with ids that are there once and times that never go back.
 *
 * Input: one byte that chooses the format, then the text.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/view.h"
#include "core/sessions/key.h"
#include "core/sessions/transcript.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct check {
    struct transcript transcript;
    json_t *ids;
    const char *time;
    size_t count, lines;
    struct transcript_about about;
};

static int check_message(void *arg, const struct ethos_message *message)
{
    struct check *check = arg;
    assert(transcript_next(&check->transcript, message, NULL) == ETHOS_OK);
    assert(strlen(message->id) == ETHOS_UUID_SIZE - 1 && message->content.data);
    assert(!json_object_get(check->ids, message->id));
    json_object_set_new(check->ids, message->id, json_true());
    assert(check->about.format);
    assert(check->count == 0 || !check->time == !message->timestamp);
    assert(!check->time || strcmp(check->time, message->timestamp) <= 0);
    check->time = message->timestamp;
    check->count++;
    struct ethos_view text = message->content, said = session_said(text);
    assert(said.data + said.size == text.data + text.size && said.size <= text.size);
    return 0;
}

static void check_note(void *arg, size_t line, const char *what)
{
    const struct check *check = arg;
    assert(check->count == 0 && line > 0 && *what);
    assert(line <= check->lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {NULL, "jsonl", "claude-code", "codex", "ethos"};
    struct arena arena, kept;
    struct check check = {.transcript.arena = &kept, .ids = json_object()};
    if (size == 0) {
        json_decref(check.ids);
        return 0;
    }
    struct ethos_view text = view_of((const char *)data + 1, size - 1), rest = text, line;
    check.lines = size; // messages of a document of ours may share a line
    if (data[0] % 5 > 0 && data[0] % 5 < 4)
        for (check.lines = 0; view_line(&rest, &line);)
            check.lines++;
    arena_init(&arena);
    arena_init(&kept);
    int code = transcript_read(text, formats[data[0] % 5], &arena, &check.about, check_message,
                               check_note, &check, NULL);
    assert(code == (check.count > 0 ? ETHOS_OK : ETHOS_INVALID));
    bool own = check.about.format && strcmp(check.about.format, "ethos") == 0;
    assert(own || check.transcript.open_count == 0);
    assert(code || !check.time || check.about.session.created_at);
    json_decref(check.ids);
    arena_release(&arena);
    arena_release(&kept);
    return 0;
}

/*
 * transcript_items.c: lines become items: ids, times, text, calls and results.
 */
#include <stdio.h>
#include <string.h>

#include <ethos/limits.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/sessions/key.h"
#include "core/sessions/transcript_internal.h"

#define TOLD_MAX 65536                     /* bytes of what is told of a session */
#define TITLE_MAX 200                      /* CH */
#define CALL_ID_MAX 256                    /* bytes; longer ones get a name of our own */
#define LATEST_MS INT64_C(253402300799999) /* the end of the year 9999 */
#define IS_SECONDS 100000000000.0          /* a smaller number is no count of milliseconds */

void reading_note(struct transcript_reading *reading, const char *what)
{
    reading->told = true;
    reading->note(reading->arg, reading->line, what);
}

/* ---- ids ------------------------------------------------------------------------------------- */

static bool is_uuid(struct ethos_view text)
{
    if (text.size != ETHOS_UUID_SIZE - 1)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text.data[i] != '-' : !memchr("0123456789abcdefABCDEF", text.data[i], 22))
            return false;
    }
    return true;
}

/* Version 8 is what the standard leaves to others. */
void transcript_uuid(struct ethos_view text, char out[ETHOS_UUID_SIZE])
{
    char hex[HASH_HEX_SIZE];
    hash_hex(text, hex);
    snprintf(out, ETHOS_UUID_SIZE, "%.8s-%.4s-8%.3s-a%.3s-%.12s", hex, hex + 8, hex + 12, hex + 15,
             hex + 18);
}

const char *reading_uuid(struct transcript_reading *reading, struct ethos_view text)
{
    char uuid[ETHOS_UUID_SIZE];
    transcript_uuid(text, uuid);
    return arena_str(reading->arena, uuid);
}

int reading_session(struct transcript_reading *reading, struct ethos_view id)
{
    if (reading->session || id.size == 0)
        return ETHOS_OK;
    reading->session = arena_copy(reading->arena, id);
    return reading->session ? ETHOS_OK : ETHOS_NOMEM;
}

int reading_tell(struct transcript_reading *reading, struct ethos_view text, const char **out)
{
    if (text.size == 0 || text.size > TOLD_MAX || memchr(text.data, '\0', text.size))
        return ETHOS_OK;
    if (*out && view_eq_str(text, *out))
        return ETHOS_OK;
    *out = arena_copy(reading->arena, text);
    return *out ? ETHOS_OK : ETHOS_NOMEM;
}

int reading_title(struct transcript_reading *reading, struct ethos_view text)
{
    struct str title;
    struct ethos_view rest = view_trim(text), line = {0};
    view_line(&rest, &line);
    if (utf8_units(line) <= TITLE_MAX)
        return reading_tell(reading, view_trim(line), &reading->about->session.title);
    str_init(&title, TOLD_MAX);
    int code = session_title(line, &title);
    if (code == ETHOS_OK)
        code = reading_tell(reading, str_view(&title), &reading->about->session.title);
    str_release(&title);
    return code;
}

/* The line's own id for its first item; else made from the id, or from the line and its place. */
static const char *make_item_id(struct transcript_reading *reading)
{
    size_t number = reading->made++;
    bool named = reading->name.data;
    struct str seed;
    if (number == 0 && is_uuid(reading->name))
        return arena_copy(reading->arena, reading->name);
    str_init(&seed, SIZE_MAX);
    str_printf(&seed, "%s\n%zu\n%zu\n", reading->session ? reading->session : "", number,
               named ? 0 : reading->line);
    str_add(&seed, named ? reading->name : reading->text);
    const char *id = str_code(&seed) ? NULL : reading_uuid(reading, str_view(&seed));
    str_release(&seed);
    return id;
}

int reading_is_new(struct transcript_reading *reading, struct ethos_view name, bool *out)
{
    if (name.size == 0)
        name.data = NULL;
    reading->name = name;
    *out = !name.data || !json_object_getn(reading->names, name.data, name.size);
    if (!*out)
        reading_note(reading, "a line that was there before was left out");
    else if (name.data &&
             json_object_setn_new_nocheck(reading->names, name.data, name.size, json_true()))
        return ETHOS_NOMEM;
    return ETHOS_OK;
}

/* Ids that cannot be written as a string are replaced, for a call and its result alike. */
static const char *call_name(struct transcript_reading *reading, struct ethos_view id)
{
    if (id.size > 0 && id.size <= CALL_ID_MAX && !memchr(id.data, '\0', id.size))
        return arena_copy(reading->arena, id);
    const char *uuid = reading_uuid(reading, id);
    return uuid ? arena_printf(reading->arena, "call_%.8s", uuid) : NULL;
}

/* ---- items ----------------------------------------------------------------------------------- */

static bool parse_time(const json_t *value, int64_t *out_ms)
{
    struct ethos_view text = view_of(json_string_value(value), json_string_length(value));
    if (json_is_number(value)) {
        double number = json_number_value(value);
        number *= number < IS_SECONDS ? 1000 : 1;
        *out_ms = number >= 0 && number <= (double)LATEST_MS ? (int64_t)number : -1;
        return *out_ms >= 0;
    }
    return text.size >= 10 && text.data[4] == '-' && clock_parse(text, 0, false, out_ms, NULL);
}

/* *out stays NULL where the line has no time. */
static int take_time(struct transcript_reading *reading, const char **out)
{
    char iso[CLOCK_ISO_SIZE];
    int64_t ms;
    if (!reading->time || json_is_null(reading->time))
        return ETHOS_OK;
    if (!parse_time(reading->time, &ms)) {
        reading_note(reading, "a time that is none was left out");
        return ETHOS_OK;
    }
    clock_iso(ms, iso);
    *out = arena_str(reading->arena, iso);
    return *out ? ETHOS_OK : ETHOS_NOMEM;
}

int reading_add(struct transcript_reading *reading, char role, struct transcript_item **out)
{
    struct transcript_item *item = arena_alloc(reading->arena, sizeof(*item));
    if (!item)
        return ETHOS_NOMEM;
    item->role = role;
    item->line = reading->line;
    item->offset = reading->offset;
    item->response = reading->response;
    item->tokens = reading->tokens;
    item->last_part = &item->parts;
    item->last_call = &item->calls;
    item->id = make_item_id(reading);
    if (!item->id || take_time(reading, &item->timestamp))
        return ETHOS_NOMEM;
    *reading->last = item;
    reading->latest = reading->last;
    reading->last = &item->next;
    reading->command = false;
    if (role == 'a') {
        reading->earlier = reading->answer;
        reading->answer = item;
    }
    *out = item;
    return ETHOS_OK;
}

void reading_take_back(struct transcript_reading *reading, const char *what)
{
    const struct transcript_item *item = *reading->latest;
    size_t line = reading->line;
    reading->line = item->line;
    reading_note(reading, what);
    reading->line = line;
    if (item == reading->answer)
        reading->answer = reading->earlier;
    *reading->latest = NULL;
    reading->last = reading->latest;
    reading->command = false;
}

int reading_text(struct transcript_reading *reading, struct transcript_item *item,
                 struct ethos_view text)
{
    if (text.size == 0)
        return ETHOS_OK;
    struct text_block *part = arena_alloc(reading->arena, sizeof(*part));
    const char *copy = arena_copy(reading->arena, text);
    if (!part || !copy)
        return ETHOS_NOMEM;
    part->text = view_of(copy, text.size);
    *item->last_part = part;
    item->last_part = &part->next;
    return ETHOS_OK;
}

const char *reading_json(struct transcript_reading *reading, const json_t *value)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    json_print(value, JSON_STYLE_LINE, &text);
    const char *copy = str_code(&text) ? NULL : arena_copy(reading->arena, str_view(&text));
    str_release(&text);
    return copy;
}

int64_t member_count(const json_t *object, const char *name)
{
    json_int_t count = json_integer_value(json_object_get(object, name));
    return count > 0 ? (int64_t)count : 0;
}

static bool is_deeper(const json_t *value, unsigned levels)
{
    const char *key;
    size_t index;
    json_t *child;
    if ((json_is_array(value) || json_is_object(value)) && levels == 0)
        return true;
    json_array_foreach ((json_t *)value, index, child) {
        if (is_deeper(child, levels - 1))
            return true;
    }
    json_object_foreach ((json_t *)value, key, child) {
        if (is_deeper(child, levels - 1))
            return true;
    }
    return false;
}

/* Some programs write the input of a tool as JSON in a string; it will stand two levels deep. */
static int parse_input(const json_t *input, json_t **out)
{
    struct ethos_view text = view_of(json_string_value(input), json_string_length(input));
    if (!view_starts(text, VIEW("{")))
        return ETHOS_OK;
    if (json_parse(text, "input", out, NULL) == ETHOS_NOMEM)
        return ETHOS_NOMEM;
    if (*out && is_deeper(*out, ETHOS_MAX_JSON_DEPTH - 2)) {
        json_decref(*out);
        *out = NULL;
    }
    return ETHOS_OK;
}

/* What the tool was given, as JSON; too much of it is left out. */
static const char *call_input(struct transcript_reading *reading, const json_t *input)
{
    json_t *parsed = NULL;
    if (parse_input(input, &parsed))
        return NULL;
    const char *text = parsed || input ? reading_json(reading, parsed ? parsed : input) : "{}";
    json_decref(parsed);
    if (!text || strlen(text) <= TRANSCRIPT_CALL_BYTES)
        return text;
    reading_note(reading, "what a tool was given is too long and was left out");
    return "{}";
}

int reading_call(struct transcript_reading *reading, struct transcript_item *item,
                 struct ethos_view id, struct ethos_view name, const json_t *input)
{
    struct call *call = arena_alloc(reading->arena, sizeof(*call));
    if (!call)
        return ETHOS_NOMEM;
    call->id = call_name(reading, id);
    call->name = arena_copy(reading->arena, name);
    call->input = call_input(reading, input);
    if (!call->id || !call->name || !call->input)
        return ETHOS_NOMEM;
    *item->last_call = call;
    item->last_call = &call->next;
    item->call_count++;
    item->call_bytes += strlen(call->input);
    return ETHOS_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool block_is(struct ethos_view type, const char *const *types, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (view_eq_str(type, types[i]))
            return true;
    }
    return false;
}

#define BLOCK_IS(type, ...)                                                                        \
    block_is(type, (const char *const[]){__VA_ARGS__},                                             \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* What a block says as text; absent for those that say nothing that way, which is noted. */
static struct ethos_view block_text(struct transcript_reading *reading, const json_t *block)
{
    struct ethos_view type = json_view(block, "type");
    if (json_is_string(block))
        return view_of(json_string_value(block), json_string_length(block));
    if (BLOCK_IS(type, "text", "input_text", "output_text", "summary_text"))
        return json_view(block, "text");
    if (BLOCK_IS(type, "thinking", "redacted_thinking", "reasoning")) {
        reading_note(reading, NOTE_REASONING);
        return (struct ethos_view){0};
    }
    if (BLOCK_IS(type, "image", "input_image", "image_url")) {
        reading_note(reading, "an image was left out");
        return VIEW("[image]");
    }
    reading_note(reading, "a part that is no text was left out");
    return (struct ethos_view){0};
}

/* Text, or an array of blocks of it; anything else is text as JSON. */
static int add_texts(struct transcript_reading *reading, struct transcript_item *item,
                     const json_t *content)
{
    size_t index;
    json_t *block;
    int code = ETHOS_OK;
    if (json_is_string(content))
        return reading_text(reading, item, block_text(reading, content));
    if (!json_is_array(content)) {
        const char *text = content && !json_is_null(content) ? reading_json(reading, content) : "";
        return text ? reading_text(reading, item, view_str(text)) : ETHOS_NOMEM;
    }
    json_array_foreach ((json_t *)content, index, block) {
        code = code ? code : reading_text(reading, item, block_text(reading, block));
    }
    return code;
}

int reading_result(struct transcript_reading *reading, struct ethos_view id, struct ethos_view name,
                   const json_t *content)
{
    struct transcript_item *item;
    int code = reading_add(reading, 'r', &item);
    if (code != ETHOS_OK)
        return code;
    item->call_id = call_name(reading, id);
    item->tool_name = name.data ? arena_copy(reading->arena, name) : NULL;
    if (!item->call_id || (name.data && !item->tool_name))
        return ETHOS_NOMEM;
    return add_texts(reading, item, content);
}

/* One block of a message; *item is what its text and calls belong to, made when it is needed. */
static int add_message_block(struct transcript_reading *reading, char role, const json_t *block,
                             struct transcript_item **item)
{
    struct ethos_view type = json_view(block, "type"), text = {0};
    bool call = role == 'a' && view_eq_str(type, "tool_use");
    int code = ETHOS_OK;
    if (role != 'a' && view_eq_str(type, "tool_result")) {
        *item = NULL; // what follows was said after it
        return reading_result(reading, json_view(block, "tool_use_id"), (struct ethos_view){0},
                              json_object_get(block, "content"));
    }
    if (!call)
        text = block_text(reading, block);
    if (!*item && (call || text.size > 0))
        code = reading_add(reading, role, item);
    if (code == ETHOS_OK && call)
        return reading_call(reading, *item, json_view(block, "id"), json_view(block, "name"),
                            json_object_get(block, "input"));
    return code || text.size == 0 ? code : reading_text(reading, *item, text);
}

int reading_content(struct transcript_reading *reading, char role, const json_t *content,
                    struct transcript_item **out)
{
    size_t index;
    json_t *block;
    int code = ETHOS_OK;
    *out = NULL;
    if (!json_is_array(content))
        return json_is_string(content) ? add_message_block(reading, role, content, out) : ETHOS_OK;
    json_array_foreach ((json_t *)content, index, block) {
        code = code ? code : add_message_block(reading, role, block, out);
    }
    return code;
}

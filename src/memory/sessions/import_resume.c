/*
 * import_resume.c: finds out from where a grown transcript must be read.
 *
 * A place is trusted if the file is the one it was made for, as far as can be checked without
 * reading it, and if it has the checksum of a session that is still as the import left it. The
 * checksum includes the random id of the session's row: nobody can make one without knowing that.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/sessions/import_internal.h"

/*
 * Version of the format, and of how transcripts are read: messages before the place are not read
 * again.
 */
#define VERSION 2
#define WINDOW 4096 /* bytes before the place, and of its line, that must be unchanged */

/* ---- text ------------------------------------------------------------------------------------ */

static void print_text(struct str *out, const char *name, const char *value)
{
    str_printf(out, ",\"%s\":", name);
    json_quote(view_str(value), out);
}

/* Everything but the checksum. */
static void print_members(const struct sessions_place *place, struct str *out)
{
    const struct ethos_usage *usage = &place->usage;
    str_printf(out, "{\"version\":%d", VERSION);
    print_text(out, "format", place->format);
    print_text(out, "session", place->session);
    str_printf(out, ",\"offset\":%llu,\"size\":%llu,\"lines\":%llu,\"messages\":%llu",
               (unsigned long long)place->offset, (unsigned long long)place->size,
               (unsigned long long)place->lines, (unsigned long long)place->messages);
    print_text(out, "before", place->before);
    print_text(out, "time", place->time);
    str_printf(out, ",\"usage\":[%lld,%lld,%lld,%lld,%lld]", (long long)usage->input_tokens,
               (long long)usage->output_tokens, (long long)usage->cache_read_tokens,
               (long long)usage->cache_creation_tokens, (long long)usage->api_calls);
    print_text(out, "response", place->response);
    str_printf(out, ",\"tokens\":%lld,\"titled\":%s", (long long)place->tokens,
               place->titled ? "true" : "false");
    print_text(out, "check", place->check);
}

int sessions_place_print(const struct sessions_place *place, struct str *out)
{
    if (place->offset == 0)
        return str_code(out);
    print_members(place, out);
    print_text(out, "seal", place->seal);
    return str_addc(out, '}');
}

static bool parse_text(const json_t *json, const char *name, char *out, size_t size)
{
    struct ethos_view text = json_view(json, name);
    if (!text.data || text.size >= size || memchr(text.data, '\0', text.size))
        return false;
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return true;
}

static bool parse_count(const json_t *value, int64_t *out)
{
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0;
}

static bool parse_size(const json_t *json, const char *name, uint64_t *out)
{
    int64_t count;
    bool is_count = parse_count(json_object_get(json, name), &count);
    *out = (uint64_t)count;
    return is_count && count <= SESSIONS_IMPORT_BYTES;
}

static bool parse_usage(const json_t *list, struct ethos_usage *out)
{
    int64_t *counts[] = {&out->input_tokens, &out->output_tokens, &out->cache_read_tokens,
                         &out->cache_creation_tokens, &out->api_calls};
    size_t count = sizeof counts / sizeof *counts;
    bool whole = json_array_size(list) == count;
    for (size_t i = 0; whole && i < count; i++)
        whole = parse_count(json_array_get(list, i), counts[i]);
    return whole;
}

static bool parse_members(const json_t *json, struct sessions_place *out)
{
    const json_t *tokens = json_object_get(json, "tokens");
    out->tokens = json_integer_value(tokens);
    out->titled = json_is_true(json_object_get(json, "titled"));
    return json_integer_value(json_object_get(json, "version")) == VERSION &&
           parse_text(json, "format", out->format, sizeof out->format) &&
           parse_text(json, "session", out->session, sizeof out->session) &&
           parse_size(json, "offset", &out->offset) && parse_size(json, "size", &out->size) &&
           parse_size(json, "lines", &out->lines) && parse_size(json, "messages", &out->messages) &&
           parse_text(json, "before", out->before, sizeof out->before) &&
           parse_text(json, "time", out->time, sizeof out->time) &&
           parse_usage(json_object_get(json, "usage"), &out->usage) &&
           parse_text(json, "response", out->response, sizeof out->response) &&
           json_is_integer(tokens) && parse_text(json, "check", out->check, sizeof out->check) &&
           parse_text(json, "seal", out->seal, sizeof out->seal);
}

bool sessions_place_parse(struct ethos_view text, struct sessions_place *out)
{
    json_t *json = NULL;
    *out = (struct sessions_place){0};
    bool whole = text.size <= SESSIONS_PLACE_BYTES &&
                 json_parse(text, "place", &json, NULL) == ETHOS_OK && parse_members(json, out) &&
                 out->offset > 0;
    json_decref(json);
    if (!whole)
        *out = (struct sessions_place){0};
    return whole;
}

/* ---- the file -------------------------------------------------------------------------------- */

static uint64_t window_start(uint64_t offset)
{
    return offset > WINDOW ? offset - WINDOW : 0;
}

/* The first bytes of the first line of a text, with its newline. */
static struct ethos_view first_line_window(struct ethos_view text)
{
    const char *end = memchr(text.data, '\n', text.size);
    size_t size = end ? (size_t)(end - text.data) + 1 : text.size;
    return view_of(text.data, size < WINDOW ? size : WINDOW);
}

static int finish_hash(struct str *text, char out[SESSIONS_PLACE_HASH])
{
    char hash[HASH_HEX_SIZE];
    int code = str_code(text);
    hash_hex(str_view(text), hash);
    snprintf(out, SESSIONS_PLACE_HASH, "%.32s", code == ETHOS_OK ? hash : "");
    str_release(text);
    return code;
}

/* Hashes which file it is, how it is read, and the bytes around the place. */
static int make_check(const struct import_run *run, const struct import_file *file, uint64_t offset,
                      char out[SESSIONS_PLACE_HASH])
{
    const char *format = run->what->format;
    struct ethos_view from = view_from(file->seen, window_start(offset) - file->seen_from);
    size_t before = offset - window_start(offset);
    struct str text;
    str_init(&text, SIZE_MAX);
    str_printf(&text, "%llu %llu %s\n", (unsigned long long)file->info.st_dev,
               (unsigned long long)file->info.st_ino, format ? format : "");
    str_add(&text, view_of(from.data, before));
    str_add(&text, first_line_window(view_from(from, before)));
    return finish_hash(&text, out);
}

static bool read_exact(int fd, uint64_t offset, size_t size, struct str *out)
{
    if (str_reserve(out, size) != ETHOS_OK)
        return false;
    while (out->size < size) {
        ssize_t got = os_pread(fd, out->data + out->size, size - out->size, offset + out->size);
        if (got <= 0)
            return false;
        out->size += (size_t)got;
    }
    out->data[out->size] = '\0';
    return true;
}

bool import_place_open(const struct import_run *run, int fd, const struct stat *info,
                       const struct sessions_place *place, struct str *out,
                       struct import_file *out_file)
{
    uint64_t start = window_start(place->offset), end = (uint64_t)info->st_size;
    char check[SESSIONS_PLACE_HASH];
    if (place->offset == 0 || place->messages == 0 || place->offset >= end || place->size > end ||
        end > SESSIONS_IMPORT_BYTES || strcmp(place->time, run->now) > 0 ||
        !read_exact(fd, start, end - start, out))
        return false;
    *out_file = (struct import_file){*info, str_view(out), start};
    return make_check(run, out_file, place->offset, check) == ETHOS_OK &&
           strcmp(check, place->check) == 0;
}

struct transcript_place import_place_from(const struct sessions_place *place)
{
    return (struct transcript_place){.offset = place->offset,
                                     .lines = place->lines,
                                     .messages = place->messages,
                                     .time = *place->time ? place->time : NULL,
                                     .session = place->session,
                                     .response = place->response,
                                     .tokens = place->tokens,
                                     .titled = place->titled};
}

/* ---- the session ----------------------------------------------------------------------------- */

/* The result of an import depends on these, and on nothing else but messages. */
static int make_checksum(const struct session_import *self, const struct sessions_place *place,
                         char out[SESSIONS_PLACE_HASH])
{
    const struct ethos_session *session = &self->session;
    const struct ethos_usage *usage = &session->usage;
    const char *texts[] = {self->id, session->title, session->model, session->provider,
                           session->working_dir};
    struct str text;
    str_init(&text, SIZE_MAX);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        str_adds(&text, texts[i] ? texts[i] : "");
        str_addc(&text, '\0');
    }
    str_printf(&text, "%lld %lld %lld %lld %.17g %lld %lld ", (long long)usage->input_tokens,
               (long long)usage->output_tokens, (long long)usage->cache_read_tokens,
               (long long)usage->cache_creation_tokens, usage->cost_usd,
               (long long)usage->api_calls, (long long)usage->compactions);
    print_members(place, &text);
    return finish_hash(&text, out);
}

int import_place_sealed(const struct session_import *self, bool *out)
{
    char seal[SESSIONS_PLACE_HASH];
    const struct sessions_place *from = self->source->from;
    int code = make_checksum(self, from, seal);
    *out = code == ETHOS_OK && self->found && strcmp(seal, from->seal) == 0;
    return code;
}

/* False if it does not fit. */
static bool copy_string_fits(char *out, size_t size, const char *text)
{
    int length = snprintf(out, size, "%s", text ? text : "");
    return length >= 0 && (size_t)length < size;
}

static bool fill_place(const struct import_source *source, struct sessions_place *out)
{
    const struct transcript_place *next = &source->about.next;
    size_t behind = next->messages - (source->from ? source->from->messages : 0);
    const char *before = behind > 0 ? source->messages[behind - 1].id : source->from->before;
    *out = (struct sessions_place){.offset = next->offset,
                                   .size = source->file->seen_from + source->file->seen.size,
                                   .lines = next->lines,
                                   .messages = next->messages,
                                   .tokens = next->tokens,
                                   .titled = next->titled};
    if (source->from)
        out->usage = source->from->usage;
    import_add_usage(&out->usage, source->messages, behind);
    return copy_string_fits(out->format, sizeof out->format, source->about.format) &&
           copy_string_fits(out->session, sizeof out->session, next->session) &&
           copy_string_fits(out->before, sizeof out->before, before) &&
           copy_string_fits(out->time, sizeof out->time, next->time) &&
           copy_string_fits(out->response, sizeof out->response, next->response);
}

void import_place_next(const struct session_import *self, struct sessions_place *out)
{
    const struct import_source *source = self->source;
    struct sessions_place place;
    bool whole = self->have == source->count && self->extra == 0;
    *out = (struct sessions_place){0};
    if (!whole || source->about.next.offset == 0 || !fill_place(source, &place) ||
        make_check(self->run, source->file, place.offset, place.check) != ETHOS_OK ||
        make_checksum(self, &place, place.seal) != ETHOS_OK)
        return;
    *out = place;
}

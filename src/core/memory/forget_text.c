/*
 * forget_text.c: where a text that is to be forgotten stands.
 *
 * The search is that of Knuth, Morris and Pratt: over bytes, or over folded characters when letter case
 * does not matter. Boundaries are looked at for each occurrence.
 */
#include "core/memory/forget_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/text/slug.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

#define MAX_EXTENSION 5 /* bytes of ".json" and the like, which a renamed file keeps */

/* ---- words ---------------------------------------------------------------------------------- */

/* Scripts whose words do not stand apart: Han, Kana, Hangul, Thai, Lao, Myanmar, Khmer. */
static bool is_unspaced(uint32_t cp)
{
    static const uint32_t ranges[][2] = {
        {0x0E00, 0x0EFF},   {0x1000, 0x109F},   {0x1100, 0x11FF}, {0x1780, 0x17FF},
        {0x3005, 0x3007},   {0x3040, 0x31FF},   {0x3400, 0x4DBF}, {0x4E00, 0x9FFF},
        {0xA960, 0xA97F},   {0xAC00, 0xD7FF},   {0xF900, 0xFAFF}, {0xFF66, 0xFFDC},
        {0x1B000, 0x1B16F}, {0x20000, 0x3FFFF},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (cp >= ranges[i][0] && cp <= ranges[i][1])
            return true;
    return false;
}

static bool is_word_character(uint32_t cp)
{
    return unicode_is_letter_or_digit(cp) || unicode_is_mark(cp);
}

/* Whether two neighbours belong to one word. */
static bool are_joined(uint32_t left, uint32_t right)
{
    return is_word_character(left) && is_word_character(right) && !is_unspaced(left) &&
           !is_unspaced(right);
}

static bool stands_alone(const struct forget *self, const struct forget_needle *needle,
                         struct ethos_view text, size_t at, size_t end)
{
    uint32_t cp;
    if (self->match->flags & ETHOS_MATCH_SUBSTRING)
        return true;
    if (end < text.size) {
        utf8_decode(text.data + end, text.size - end, &cp, NULL);
        if (are_joined(needle->last, cp))
            return false;
    }
    if (at == 0)
        return true;
    size_t before = utf8_before(text, at);
    utf8_decode(text.data + before, at - before, &cp, NULL);
    return !are_joined(cp, needle->first);
}

/* ---- preparing ------------------------------------------------------------------------------ */

/* What a character is compared by. */
static size_t symbols_of(enum forget_mode mode, uint32_t cp, uint32_t out[UNICODE_FOLD_MAX])
{
    if (cp < 0x80) {
        *out = mode == FORGET_FOLDED && cp >= 'A' && cp <= 'Z' ? cp + 'a' - 'A' : cp;
        return 1;
    }
    return mode == FORGET_FOLDED ? unicode_fold(cp, out) : unicode_decompose(cp, out);
}

static int add_symbol(struct forget_needle *self, uint32_t symbol)
{
    if (self->count == FORGET_SYMBOLS)
        return ETHOS_LIMIT;
    self->symbols[self->count++] = symbol;
    return ETHOS_OK;
}

static int add_symbols(struct forget_needle *self)
{
    struct ethos_view text = self->text;
    int code = ETHOS_OK;
    for (size_t i = 0, used = 1; code == ETHOS_OK && i < text.size; i += used) {
        uint32_t cp, symbols[UNICODE_FOLD_MAX];
        if (self->mode == FORGET_BYTES) {
            code = add_symbol(self, (unsigned char)text.data[i]);
            continue;
        }
        used = utf8_decode(text.data + i, text.size - i, &cp, NULL);
        size_t count = symbols_of(self->mode, cp, symbols);
        for (size_t j = 0; code == ETHOS_OK && j < count; j++)
            code = add_symbol(self, symbols[j]);
    }
    return code;
}

static void find_borders(struct forget_needle *self)
{
    size_t border = 0;
    self->back[0] = 0;
    for (size_t i = 1; i < self->count; i++) {
        while (border > 0 && self->symbols[i] != self->symbols[border])
            border = self->back[border - 1];
        border += self->symbols[i] == self->symbols[border];
        self->back[i] = (uint16_t)border;
    }
}

/* ETHOS_LIMIT when it is too long; ETHOS_INVALID when nothing of it would be seen. */
static int init_needle(struct forget_needle *self, struct ethos_view text, unsigned flags)
{
    self->text = text;
    self->count = 0;
    self->mode = flags & ETHOS_MATCH_ANY_CASE            ? FORGET_FOLDED
                 : utf8_ascii(text) || !utf8_valid(text) ? FORGET_BYTES
                                                         : FORGET_CANONICAL;
    if (text.size > ETHOS_MAX_MATCH || add_symbols(self) != ETHOS_OK)
        return ETHOS_LIMIT;
    if (self->count == 0)
        return ETHOS_INVALID;
    size_t last = utf8_before(text, text.size);
    utf8_decode(text.data, text.size, &self->first, NULL);
    utf8_decode(text.data + last, text.size - last, &self->last, NULL);
    find_borders(self);
    return ETHOS_OK;
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

#define SHORT_SLUG 4 /* bytes: within other words, a shorter one is everywhere */

/* Where letters lose their accents, or the name is cut: the name that a title of this text gets. */
static int make_note_slug(struct forget *self)
{
    struct str slug;
    bool within = self->match->flags & ETHOS_MATCH_SUBSTRING;
    str_init(&slug, SIZE_MAX);
    int code = slug_note(view_trim(self->match->text), SLUG_NOTE_MAX, &slug);
    bool fits = code == ETHOS_OK && slug.size < sizeof self->slug_bytes &&
                !(within && slug.size < SHORT_SLUG);
    if (fits) {
        memcpy(self->slug_bytes, slug.data, slug.size);
        self->slug = view_of(self->slug_bytes, slug.size);
    }
    str_release(&slug);
    return code;
}

/* A single word gives a slug only when nothing of it is lost: "C++" does not name c.md. */
static int make_slug(struct forget *self)
{
    struct ethos_view text = self->match->text;
    size_t size = 0, words = 0;
    bool whole = true;
    self->slug = (struct ethos_view){0};
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool starts = i == 0 || !is_alnum(text.data[i - 1]);
        whole = whole && is_alnum(c);
        if ((unsigned char)c >= 0x80)
            return make_note_slug(self);
        if (!is_alnum(c))
            continue;
        if (starts && words++ > 0)
            self->slug_bytes[size++] = '-';
        self->slug_bytes[size++] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
    }
    if (size > SLUG_NOTE_MAX)
        return make_note_slug(self);
    if (whole || words > 1)
        self->slug = view_of(self->slug_bytes, size);
    return ETHOS_OK;
}

int forget_init(struct forget *self, const struct ethos_match *match, struct ethos_error *error)
{
    struct ethos_view text = match ? match->text : (struct ethos_view){0};
    if (view_blank(text))
        return err_set(error, ETHOS_INVALID, "nothing to forget: the text is blank");
    if (memchr(text.data, '\n', text.size) || memchr(text.data, 0, text.size))
        return err_set(error, ETHOS_INVALID, "the text to forget must be a single line");
    self->match = match;
    self->needle_count = 1;
    int code = init_needle(&self->needles[0], text, match->flags);
    if (code == ETHOS_LIMIT)
        return err_set(error, code, "the text to forget is longer than %d bytes", ETHOS_MAX_MATCH);
    if (code != ETHOS_OK) // nothing but joiners: invisible
        return err_set(error, code, "nothing to forget: the text is blank");
    if (match->also.size > 0 &&
        init_needle(&self->needles[1], match->also, match->flags) == ETHOS_OK)
        self->needle_count = 2;
    if (make_slug(self) != ETHOS_OK)
        return err_nomem(error);
    self->mark = forget_holds(self, VIEW("[forgotten]")) ? "[...]" : "[forgotten]";
    return ETHOS_OK;
}

/* ---- searching ------------------------------------------------------------------------------ */

/* What is walked: where the symbols that may belong to a match began. */
struct match_walk {
    const struct forget *self;
    const struct forget_needle *needle;
    struct ethos_view text;
    size_t matched;
    size_t symbol; /* how many there were */
    size_t starts[FORGET_SYMBOLS];
};

/* Takes the next symbol, which stands in [at, end). Whether a match ends with it, and where it began. */
static bool take_symbol(struct match_walk *walk, uint32_t symbol, size_t at, size_t *out_at)
{
    const struct forget_needle *needle = walk->needle;
    walk->starts[walk->symbol % needle->count] = at;
    while (walk->matched > 0 && symbol != needle->symbols[walk->matched])
        walk->matched = needle->back[walk->matched - 1];
    walk->matched += symbol == needle->symbols[walk->matched];
    walk->symbol++;
    if (walk->matched < needle->count)
        return false;
    *out_at = walk->starts[walk->symbol % needle->count];
    walk->matched = needle->back[walk->matched - 1];
    return true;
}

static bool find_bytes(struct match_walk *walk, size_t from, size_t *out_at, size_t *out_end)
{
    struct ethos_view rest = view_from(walk->text, from), text = walk->needle->text;
    const char *near = memmem(rest.data, rest.size, text.data, text.size);
    if (!near)
        return false;
    for (size_t i = (size_t)(near - walk->text.data); i < walk->text.size; i++) {
        size_t at;
        if (!take_symbol(walk, (unsigned char)walk->text.data[i], i, &at) ||
            !stands_alone(walk->self, walk->needle, walk->text, at, i + 1))
            continue;
        *out_at = at;
        *out_end = i + 1;
        return true;
    }
    return false;
}

/* Letter by letter; what is part of a composed letter is not that letter, unless letter case is ignored. */
static bool find_letters(struct match_walk *walk, size_t from, size_t *out_at, size_t *out_end)
{
    struct ethos_view text = walk->text;
    enum forget_mode mode = walk->needle->mode;
    for (size_t i = from, used; i < text.size; i += used) {
        uint32_t cp, symbols[UNICODE_FOLD_MAX];
        used = utf8_decode(text.data + i, text.size - i, &cp, NULL);
        size_t count = symbols_of(mode, cp, symbols), at;
        for (size_t j = 0; j < count; j++) {
            if (!take_symbol(walk, symbols[j], i, &at) ||
                (mode == FORGET_CANONICAL && j + 1 < count) ||
                !stands_alone(walk->self, walk->needle, text, at, i + used))
                continue;
            *out_at = at;
            *out_end = i + used;
            return true;
        }
    }
    return false;
}

static bool find_needle(const struct forget *self, const struct forget_needle *needle,
                        struct ethos_view text, size_t from, size_t *out_at, size_t *out_end)
{
    struct match_walk walk;
    walk.self = self;
    walk.needle = needle;
    walk.text = text;
    walk.matched = walk.symbol = 0;
    return needle->mode == FORGET_BYTES ? find_bytes(&walk, from, out_at, out_end)
                                        : find_letters(&walk, from, out_at, out_end);
}

/* The first match of any form. */
static bool find_any(const struct forget *self, struct ethos_view text, size_t from, size_t *out_at,
                     size_t *out_end)
{
    bool found = false;
    for (size_t i = 0; i < self->needle_count; i++) {
        size_t at, end;
        if (!find_needle(self, &self->needles[i], text, from, &at, &end) ||
            (found && at >= *out_at))
            continue;
        found = true;
        *out_at = at;
        *out_end = end;
    }
    return found;
}

/* Where there are two forms, line by line: each line is looked at once for both. */
bool forget_find(const struct forget *self, struct ethos_view text, size_t from, size_t *out_at,
                 size_t *out_end)
{
    if (from >= text.size)
        return false;
    if (self->needle_count == 1)
        return find_needle(self, &self->needles[0], text, from, out_at, out_end);
    while (from < text.size) {
        const char *newline = memchr(text.data + from, '\n', text.size - from);
        size_t end = newline ? (size_t)(newline - text.data) : text.size;
        if (find_any(self, view_of(text.data, end), from, out_at, out_end))
            return true;
        from = end + 1;
    }
    return false;
}

bool forget_holds(const struct forget *self, struct ethos_view text)
{
    size_t at, end;
    return forget_find(self, text, 0, &at, &end);
}

/* ---- escapes -------------------------------------------------------------------------------- */

#define ESCAPE_LEVELS 3 /* JSON as a text within JSON, and once more */

/* Four hexadecimal digits, or -1. */
static int32_t read_four_hex_digits(struct ethos_view text)
{
    int32_t value = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = i < text.size ? text.data[i] : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Adds the character of "\uXXXX", with its other half; the bytes that were read, 0: it is none. */
static size_t add_unicode_escape(struct ethos_view text, struct str *out)
{
    char bytes[4];
    int32_t high = read_four_hex_digits(text), low = -1;
    if (high < 0)
        return 0;
    if (high >= 0xD800 && high < 0xDC00 && text.size >= 10 && text.data[4] == '\\' &&
        text.data[5] == 'u')
        low = read_four_hex_digits(view_from(text, 6));
    bool pair = low >= 0xDC00 && low < 0xE000;
    uint32_t cp = pair ? 0x10000u + (((uint32_t)high - 0xD800u) << 10) + ((uint32_t)low - 0xDC00u)
                       : (uint32_t)high;
    if (cp >= 0xD800 && cp < 0xE000)
        cp = UTF8_REPLACEMENT;
    str_add(out, view_of(bytes, utf8_put(cp, bytes)));
    return pair ? 10 : 4;
}

/* The text with the characters that escapes of JSON stand for. */
static int unescape(struct ethos_view text, struct str *out)
{
    static const char names[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    for (size_t i = 0; i < text.size;) {
        const char *slash = memchr(text.data + i, '\\', text.size - i);
        size_t at = slash ? (size_t)(slash - text.data) : text.size;
        str_add(out, view_of(text.data + i, at - i));
        if (at + 1 >= text.size)
            return str_add(out, view_from(text, at));
        const char *name = memchr(names, text.data[at + 1], sizeof names - 1);
        size_t code = text.data[at + 1] == 'u' ? add_unicode_escape(view_from(text, at + 2), out)
                                               : 0;
        if (code == 0)
            str_addc(out, name ? characters[name - names] : '\\');
        i = at + (code ? 2 + code : name ? 2 : 1);
    }
    return str_code(out);
}

bool forget_holds_escaped(const struct forget *self, struct ethos_view text)
{
    struct str read[2];
    bool held = forget_holds(self, text);
    str_init(&read[0], SIZE_MAX);
    str_init(&read[1], SIZE_MAX);
    for (int i = 0; !held && i < ESCAPE_LEVELS && memchr(text.data, '\\', text.size); i++) {
        struct str *out = &read[i % 2];
        str_clear(out);
        held = unescape(text, out) != ETHOS_OK || forget_holds(self, str_view(out));
        text = str_view(out);
    }
    str_release(&read[0]);
    str_release(&read[1]);
    return held;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* The next line that holds it, from `from` on, which begins a line. */
struct matching_line {
    size_t start, end; /* with its LF */
    uint64_t number;
};

static bool next_held(const struct forget *self, struct ethos_view text, size_t from,
                      uint64_t number, struct matching_line *out)
{
    size_t at, end;
    if (!forget_find(self, text, from, &at, &end))
        return false;
    const char *before = memrchr(text.data + from, '\n', at - from);
    const char *after = memchr(text.data + end, '\n', text.size - end);
    out->start = before ? (size_t)(before - text.data) + 1 : from;
    out->end = after ? (size_t)(after - text.data) + 1 : text.size;
    out->number = number + view_newlines(view_of(text.data + from, out->start - from));
    return true;
}

static struct ethos_view held_line(struct ethos_view text, const struct matching_line *held)
{
    size_t end = held->end;
    if (end > held->start && text.data[end - 1] == '\n')
        end--;
    if (end > held->start && text.data[end - 1] == '\r')
        end--;
    return view_of(text.data + held->start, end - held->start);
}

/* What stands before blank lines at the end. */
static size_t without_blank_lines(struct ethos_view text)
{
    size_t end = text.size;
    while (end > 0) {
        const char *before = memrchr(text.data, '\n', end - 1);
        size_t start = before ? (size_t)(before - text.data) + 1 : 0;
        if (!view_blank(view_of(text.data + start, end - start)))
            break;
        end = start;
    }
    return end;
}

int forget_lines(const struct forget *self, struct ethos_view text, struct str *out,
                 struct ethos_view *out_text, uint64_t *lines)
{
    struct matching_line held;
    size_t from = 0;
    uint64_t count = 0;
    *out_text = text;
    str_clear(out);
    while (next_held(self, text, from, 1, &held)) {
        str_add(out, view_of(text.data + from, held.start - from));
        from = held.end;
        count++;
    }
    if (count == 0)
        return ETHOS_OK;
    str_add(out, view_from(text, from));
    if (view_blank(view_from(text, from))) // what went was the end of it
        str_truncate(out, without_blank_lines(str_view(out)));
    int code = out->size > 0 ? str_code(out) : str_addc(out, '\n');
    *out_text = str_view(out);
    if (lines)
        *lines += count;
    return code == ETHOS_OK ? ETHOS_OK : ETHOS_NOMEM;
}

int forget_tell(const struct forget *self, const char *key, struct ethos_view text)
{
    const struct ethos_match *match = self->match;
    struct matching_line held;
    uint64_t number = 1;
    int code = ETHOS_OK;
    for (size_t from = 0;
         match->each && code == ETHOS_OK && next_held(self, text, from, number, &held);
         from = held.end) {
        const struct ethos_purge_line line = {key, held.number, held_line(text, &held)};
        code = match->each(match->arg, &line);
        number = held.number + 1;
    }
    return code;
}

int forget_tell_json(const struct forget *self, const char *key, const json_t *value)
{
    const char *name;
    size_t index;
    json_t *member;
    int code = ETHOS_OK;
    if (json_is_string(value))
        return forget_tell(self, key, view_of(json_string_value(value), json_string_length(value)));
    json_array_foreach ((json_t *)value, index, member)
        code = code == ETHOS_OK ? forget_tell_json(self, key, member) : code;
    json_object_foreach ((json_t *)value, name, member) {
        code = code == ETHOS_OK ? forget_tell(self, key, view_str(name)) : code;
        code = code == ETHOS_OK ? forget_tell_json(self, key, member) : code;
    }
    return code;
}

int forget_tell_value(const struct forget *self, bool json, const char *key,
                      struct ethos_view value, size_t most)
{
    json_t *parsed = NULL;
    int code = json ? json_parse_most(value, most, "", &parsed, NULL) : ETHOS_INVALID;
    if (code == ETHOS_NOMEM)
        return code;
    code = code == ETHOS_OK ? forget_tell_json(self, key, parsed) : forget_tell(self, key, value);
    json_decref(parsed);
    return code;
}

int forget_mark(const struct forget *self, struct ethos_view text, struct str *out,
                struct ethos_view *out_text, uint64_t *lines)
{
    struct matching_line held;
    size_t from = 0;
    bool any = false;
    *out_text = text;
    str_clear(out);
    while (next_held(self, text, from, 1, &held)) {
        struct ethos_view line = held_line(text, &held);
        str_add(out, view_of(text.data + from, held.start - from));
        str_adds(out, self->mark);
        str_add(out, view_of(line.data + line.size, held.end - held.start - line.size));
        from = held.end;
        any = true;
        if (lines)
            ++*lines;
    }
    if (!any)
        return ETHOS_OK;
    int code = str_add(out, view_from(text, from));
    *out_text = str_view(out);
    return code == ETHOS_OK ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static int mark_string(const struct forget *self, json_t **value, uint64_t *count)
{
    struct str out;
    struct ethos_view left, text = view_of(json_string_value(*value), json_string_length(*value));
    uint64_t lines = 0;
    str_init(&out, SIZE_MAX);
    int code = forget_mark(self, text, &out, &left, &lines);
    json_t *made = code == ETHOS_OK && lines > 0 ? json_text(left) : NULL;
    str_release(&out);
    if (code != ETHOS_OK || (lines > 0 && !made))
        return ETHOS_NOMEM;
    if (made) {
        json_decref(*value);
        *value = made;
        ++*count;
    }
    return ETHOS_OK;
}

/* A member name that holds it goes with a mark; its value stays. */
static int mark_names(const struct forget *self, json_t *object, uint64_t *count)
{
    const char *name;
    json_t *value;
    void *next;
    int code = ETHOS_OK;
    json_object_foreach_safe(object, next, name, value)
    {
        if (!forget_holds(self, view_str(name)))
            continue;
        if (json_object_set(object, self->mark, value) != 0)
            code = ETHOS_NOMEM;
        json_object_del(object, name);
        ++*count;
    }
    return code;
}

static int mark_array(const struct forget *self, json_t *array, uint64_t *count)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < json_array_size(array); i++) {
        json_t *value = json_incref(json_array_get(array, i)), *was = value;
        code = forget_json(self, &value, count);
        if (code == ETHOS_OK && value != was && json_array_set(array, i, value) != 0)
            code = ETHOS_NOMEM;
        json_decref(value);
    }
    return code;
}

static int mark_object(const struct forget *self, json_t *object, uint64_t *count)
{
    const char *name;
    json_t *member;
    int code = mark_names(self, object, count);
    json_object_foreach (object, name, member) {
        json_t *value = json_incref(member);
        if (code == ETHOS_OK)
            code = forget_json(self, &value, count);
        if (code == ETHOS_OK && value != member && json_object_set(object, name, value) != 0)
            code = ETHOS_NOMEM;
        json_decref(value);
    }
    return code;
}

/* The depth of what is parsed is bounded. */
int forget_json(const struct forget *self, json_t **value, uint64_t *count)
{
    if (json_is_string(*value))
        return mark_string(self, value, count);
    if (json_is_array(*value))
        return mark_array(self, *value, count);
    return json_is_object(*value) ? mark_object(self, *value, count) : ETHOS_OK;
}

int forget_value(const struct forget *self, bool json, struct ethos_view value, size_t most,
                 struct str *out, uint64_t *count)
{
    struct ethos_view left = value;
    json_t *parsed = NULL;
    bool plain = !json || (!memchr(value.data, '\\', value.size) && !forget_holds(self, value));
    int code = plain ? ETHOS_INVALID : json_parse_most(value, most, "", &parsed, NULL);
    uint64_t before = *count;
    str_clear(out);
    if (code == ETHOS_NOMEM)
        return code;
    if (code != ETHOS_OK)
        return forget_mark(self, value, out, &left, count);
    code = forget_json(self, &parsed, count);
    if (code == ETHOS_OK && *count > before && json_print(parsed, JSON_STYLE_LINE, out) != ETHOS_OK)
        code = ETHOS_NOMEM;
    json_decref(parsed);
    return code;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_reserved(struct ethos_view key)
{
    static const char *const names[] = {"MEMORY.md", "USER.md", "SOUL.md", "memory-archive.md"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (view_eq_nocase(key, view_str(names[i])))
            return true;
    return false;
}

/* "x.md" without ".md": a text "md" is in no name. */
static struct ethos_view stem_of(struct ethos_view part)
{
    for (size_t i = part.size; i-- > 1 && part.size - i <= MAX_EXTENSION;)
        if (part.data[i] == '.')
            return view_of(part.data, i);
    return part;
}

static bool holds_slug(const struct forget *self, struct ethos_view name)
{
    struct ethos_view slug = self->slug;
    bool within = self->match->flags & ETHOS_MATCH_SUBSTRING;
    for (size_t i = 0; slug.size > 0 && i + slug.size <= name.size; i++) {
        size_t end = i + slug.size;
        bool alone = (i == 0 || !is_alnum(name.data[i - 1])) &&
                     (end == name.size || !is_alnum(name.data[end]));
        if ((within || alone) && memcmp(name.data + i, slug.data, slug.size) == 0)
            return true;
    }
    return false;
}

static bool part_holds(const struct forget *self, struct ethos_view part)
{
    struct ethos_view stem = stem_of(part);
    return forget_holds(self, stem) || holds_slug(self, stem);
}

bool forget_names(const struct forget *self, struct ethos_view key)
{
    return !is_reserved(key) && part_holds(self, key);
}

void forget_rename(const struct forget *self, struct ethos_view key, char *out)
{
    size_t size = 0;
    bool spans = forget_names(self, key); // until a part holds it: the text has a slash in it
    for (struct ethos_view rest = key, part; rest.size > 0; rest = view_from(rest, part.size)) {
        const char *slash = memchr(rest.data, '/', rest.size);
        part = view_of(rest.data, slash ? (size_t)(slash - rest.data) : rest.size);
        if (part.size > 0 && part_holds(self, part))
            spans = false;
        if (slash)
            part.size++;
    }
    for (struct ethos_view rest = key, part; rest.size > 0; rest = view_from(rest, part.size)) {
        const char *slash = memchr(rest.data, '/', rest.size);
        struct ethos_view stem, end;
        part = view_of(rest.data, slash ? (size_t)(slash - rest.data) : rest.size);
        stem = stem_of(part);
        end = view_from(part, stem.size);
        if (part.size > 0 && (spans || part_holds(self, part)))
            size += (size_t)snprintf(out + size, ETHOS_MAX_KEY + 1 - size, "note-%08" PRIx32 "%.*s",
                                     (uint32_t)hash_mix(self->match->salt, part), VIEW_ARG(end));
        else
            size += (size_t)snprintf(out + size, ETHOS_MAX_KEY + 1 - size, "%.*s", VIEW_ARG(part));
        if (slash) {
            size += (size_t)snprintf(out + size, ETHOS_MAX_KEY + 1 - size, "/");
            part.size++;
        }
        if (size > ETHOS_MAX_KEY)
            size = ETHOS_MAX_KEY;
    }
}

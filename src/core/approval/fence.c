/*
 * fence.c: text that a model reads as data.
 */
#include "core/approval/fence.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "base/text/invisible.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/sanitize.h"

#define WORD "ethos-data"
#define MAX_SOURCE 64 /* bytes */

/* What models take for marks of their own. A colon at the end: only at the beginning of a line. */
static const char *const marks[] = {
    "<|im_start|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|channel|>",
    "<|message|>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "<|end|>",
    "<|endoftext|>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<</sys>>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<tool_call>",
    "<function_calls>",
    "<system-reminder>",
    "</system-reminder>",
    "<\xEF\xBD\x9C",
    "human:",
    "assistant:",
    "system:",
};

void fence_number(const char *session, char out[FENCE_NUMBER_SIZE])
{
    char hex[HASH_HEX_SIZE], seed[64];
    int size = snprintf(seed, sizeof seed, "fence %.40s", session);
    hash_hex(view_of(seed, (size_t)size), hex);
    snprintf(out, FENCE_NUMBER_SIZE, "%.32s", hex);
}

/* ---- escaping ---------------------------------------------------------------------------------- */

/* A dash in any of its forms. */
static bool is_dash(uint32_t cp)
{
    return cp == '-' || (cp >= 0x2010 && cp <= 0x2015) || cp == 0x2212 || cp == 0xFE58 ||
           cp == 0xFE63 || cp == 0xFF0D;
}

/* The size of what reads as the word at the beginning of the text, in any case and form; 0: it does not. */
static size_t match_word(struct ethos_view text)
{
    static const char word[] = WORD;
    uint32_t cp, folded[UNICODE_FOLD_MAX];
    size_t at = 0, done = 0;
    while (at < text.size && done < sizeof word - 1) {
        at += utf8_decode(text.data + at, text.size - at, &cp, NULL);
        size_t count = is_dash(cp) ? 1 : unicode_fold(cp, folded);
        if (is_dash(cp))
            folded[0] = '-';
        for (size_t i = 0; i < count; i++) {
            if (unicode_is_mark(folded[i]))
                continue;
            if (done == sizeof word - 1 || folded[i] != (unsigned char)word[done])
                return 0;
            done++;
        }
        if (done == 0)
            return 0; // it does not begin with what shows nothing
    }
    return done == sizeof word - 1 ? at : 0;
}

/* The size of a mark at the beginning of the text, or 0. */
static size_t match_mark(struct ethos_view text, bool begins_line)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct ethos_view mark = view_str(marks[i]);
        bool line = view_ends(mark, VIEW(":"));
        if (text.size >= mark.size && (!line || begins_line) &&
            view_eq_nocase(view_of(text.data, mark.size), mark))
            return mark.size;
    }
    return 0;
}

/* "ethos\-data" */
static void break_word(struct ethos_view word, struct str *out)
{
    size_t at = 0, from;
    uint32_t cp;
    while (at < word.size) {
        from = at;
        at += utf8_decode(word.data + at, word.size - at, &cp, NULL);
        if (is_dash(cp))
            str_addc(out, '\\');
        str_add(out, view_of(word.data + from, at - from));
    }
}

static void add_fenced_line(struct ethos_view line, const char *number, struct str *out)
{
    bool begins = true;
    size_t digits = strlen(number);
    str_adds(out, "> ");
    for (size_t at = 0; at < line.size;) {
        struct ethos_view rest = view_from(line, at);
        uint32_t cp;
        size_t step = utf8_decode(rest.data, rest.size, &cp, NULL), size;
        if ((size = match_word(rest)) > 0) {
            break_word(view_of(rest.data, size), out);
            step = size;
        } else if ((size = match_mark(rest, begins)) > 0) {
            str_addc(out, rest.data[0]);
            str_addc(out, '\\');
            str_add(out, view_of(rest.data + 1, size - 1));
            step = size;
        } else if (view_starts(rest, view_str(number))) {
            str_adds(out, "...");
            step = digits;
        } else {
            str_add(out, view_of(rest.data, step));
        }
        begins = begins && (cp == ' ' || cp == '\t');
        at += step;
    }
    str_addc(out, '\n');
}

/* ---- the fence --------------------------------------------------------------------------------- */

static void add_fence_source(const char *source, struct str *out)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  ":_.@/-";
    for (size_t i = 0; source[i] && i < MAX_SOURCE; i++)
        str_addc(out, strchr(allowed, source[i]) ? source[i] : '_');
}

/* A lone CR would begin a line for some readers. */
static void add_fenced_lines(struct ethos_view text, const char *number, struct str *out)
{
    struct ethos_view line;
    while (view_line(&text, &line)) {
        const char *cr;
        while (line.size > 0 && (cr = memchr(line.data, '\r', line.size))) {
            struct ethos_view part = view_of(line.data, (size_t)(cr - line.data));
            line = view_from(line, part.size + 1);
            if (line.size > 0 || part.size > 0)
                add_fenced_line(part, number, out);
        }
        add_fenced_line(line, number, out);
    }
}

int fence_text(struct ethos_view text, const char *number, const char *source, enum trust trust,
               struct str *out)
{
    struct str safe, shown;
    str_init(&safe, SIZE_MAX);
    str_init(&shown, SIZE_MAX);
    bool changed = scan_text(text, SCAN_REDACT, &safe, NULL);
    hidden_show_all(changed ? str_view(&safe) : text, &shown);
    str_printf(out, "<<<" WORD " %s source=\"", number);
    add_fence_source(source && *source ? source : "unknown", out);
    str_printf(out, "\" trust=\"%s\"\n", trust_name(trust));
    add_fenced_lines(str_view(&shown), number, out);
    str_printf(out, WORD " %s>>>", number);
    str_fail(out, str_code(&safe) ? str_code(&safe) : str_code(&shown));
    str_release(&safe);
    str_release(&shown);
    return str_code(out);
}

/*
 * references.c: what a note says that can be looked up: its head, and the lines of its body that are
 * neither code nor comment.
 */
#include "core/notes/references.h"

#include <string.h>

#include "base/view.h"
#include "core/notes/note.h"
#include "core/notes/references_internal.h"

#define DAY_MS INT64_C(86400000)

/* ---- fences and comments -------------------------------------------------------------------- */

/* Backticks or tildes that open or close a fence; 0 when this line does not. */
static size_t fence_length(struct ethos_view line, char *out_mark)
{
    struct ethos_view text = view_trim_start(line);
    size_t run = 0;
    if (text.size == 0 || (text.data[0] != '`' && text.data[0] != '~'))
        return 0;
    *out_mark = text.data[0];
    while (run < text.size && text.data[run] == *out_mark)
        run++;
    bool inline_code = *out_mark == '`' && memchr(text.data + run, '`', text.size - run);
    return run >= 3 && !inline_code ? run : 0;
}

struct reference_walk {
    claim_fn *each;
    void *arg;
    size_t line;
    char fence; /* the mark of the fence that is open, or 0 */
    size_t fence_run;
    bool comment;
};

/* Where a comment opens outside of code, or the end. */
static size_t find_comment(struct ethos_view text)
{
    for (size_t at = 0; at < text.size;) {
        size_t code = text.data[at] == '`' ? claims_code_end(text, at) : 0;
        if (code > 0)
            at = code;
        else if (text.data[at] == '`')
            at += claims_run(text, at);
        else if (view_starts(view_from(text, at), VIEW("<!--")))
            return at;
        else
            at++;
    }
    return text.size;
}

/* The pieces of a line that are no comment. */
static int walk_pieces(struct reference_walk *walk, struct ethos_view line)
{
    int result = 0;
    while (result == 0 && line.size > 0) {
        if (walk->comment) {
            const char *end = memmem(line.data, line.size, "-->", 3);
            if (!end)
                return 0;
            line = view_from(line, (size_t)(end - line.data) + 3);
            walk->comment = false;
            continue;
        }
        size_t open = find_comment(line);
        result = claims_line(view_of(line.data, open), walk->line, walk->each, walk->arg);
        walk->comment = open < line.size;
        line = view_from(line, walk->comment ? open + 4 : open);
    }
    return result;
}

static int walk_line(struct reference_walk *walk, struct ethos_view line)
{
    char mark = 0;
    size_t run = walk->comment ? 0 : fence_length(line, &mark);
    if (walk->fence) {
        struct ethos_view after = view_trim(line);
        if (mark == walk->fence && run >= walk->fence_run && after.size == run)
            walk->fence = 0;
        return 0;
    }
    if (run > 0) {
        walk->fence = mark;
        walk->fence_run = run;
        return 0;
    }
    return walk_pieces(walk, line);
}

/* ---- the head ------------------------------------------------------------------------------- */

static size_t line_number_at(struct ethos_view text, const char *at)
{
    size_t line = 1;
    struct ethos_view rest = view_of(text.data, (size_t)(at - text.data));
    for (const char *lf; rest.size > 0 && (lf = memchr(rest.data, '\n', rest.size)); line++)
        rest = view_from(rest, (size_t)(lf - rest.data) + 1);
    return line;
}

/* Takes the first word off. */
static struct ethos_view cut_first_word(struct ethos_view *rest)
{
    size_t size = 0;
    while (size < rest->size && rest->data[size] != ' ' && rest->data[size] != '\t')
        size++;
    struct ethos_view word = view_of(rest->data, size);
    *rest = view_trim(view_from(*rest, size));
    return word;
}

/* "path FILE" claims the file, "grep WORD FILE" the file and the word in it. */
static int tell_check(struct ethos_view clause, size_t line, claim_fn *each, void *arg)
{
    struct claim file = {.kind = CLAIM_PATH, .head = true, .line = line};
    struct claim name = {.kind = CLAIM_SYMBOL, .head = true, .line = line};
    struct ethos_view rest = view_trim(clause), verb = cut_first_word(&rest);
    bool grep = view_eq(verb, VIEW("grep"));
    if (!grep && !view_eq(verb, VIEW("path")))
        return 0;
    if (grep)
        name.what = cut_first_word(&rest);
    file.what = name.where = rest;
    if (rest.size == 0)
        return 0;
    int result = each(arg, &file);
    return result == 0 && grep ? each(arg, &name) : result;
}

static int tell_checks(struct ethos_view check, size_t line, claim_fn *each, void *arg)
{
    int result = 0;
    if (check.size >= 2 && (check.data[0] == '"' || check.data[0] == '\''))
        check = view_of(check.data + 1, check.size - 2);
    while (result == 0 && check.size > 0) {
        const char *end = memchr(check.data, ';', check.size);
        size_t size = end ? (size_t)(end - check.data) : check.size;
        result = tell_check(view_of(check.data, size), line, each, arg);
        check = view_from(check, end ? size + 1 : size);
    }
    return result;
}

static int tell_expires(const struct note *note, size_t line, claim_fn *each, void *arg)
{
    int64_t ms;
    struct claim claim = {CLAIM_DATE, true, line, note->expires, {0}, 0};
    return claims_date(note->expires, &ms) ? each(arg, &claim) : 0;
}

static int tell_head(struct ethos_view text, const struct note *note, claim_fn *each, void *arg)
{
    size_t expires = note->expires.data ? line_number_at(text, note->expires.data) : 0;
    size_t check = note->check.data ? line_number_at(text, note->check.data) : 0;
    int result = expires ? tell_expires(note, expires, each, arg) : 0;
    return result == 0 && check ? tell_checks(note->check, check, each, arg) : result;
}

int claims_each(struct ethos_view text, claim_fn *each, void *arg)
{
    struct note note;
    struct reference_walk walk = {.each = each, .arg = arg};
    struct ethos_view line;
    note_parse(text, &note);
    int result = note.has_frontmatter ? tell_head(text, &note, each, arg) : 0;
    struct ethos_view rest = note.body;
    walk.line = rest.size > 0 ? line_number_at(text, rest.data) : 1;
    for (; result == 0 && view_line(&rest, &line); walk.line++)
        result = walk_line(&walk, line);
    return result;
}

/* ---- looking -------------------------------------------------------------------------------- */

bool claims_has_word(struct ethos_view text, struct ethos_view word)
{
    if (word.size == 0)
        return false;
    bool before = claims_is_word_byte(word.data[0]),
         after = claims_is_word_byte(word.data[word.size - 1]);
    while (text.size >= word.size) {
        const char *found = memmem(text.data, text.size, word.data, word.size);
        if (!found)
            return false;
        size_t at = (size_t)(found - text.data), end = at + word.size;
        bool alone = !(before && at > 0 && claims_is_word_byte(text.data[at - 1])) &&
                     !(after && end < text.size && claims_is_word_byte(text.data[end]));
        if (alone)
            return true;
        text = view_from(text, at + 1);
        while (before && text.size > 0 &&
               claims_is_word_byte(text.data[0])) // still the longer word
            text = view_from(text, 1);
    }
    return false;
}

bool claims_passed(struct ethos_view date, const char *today)
{
    int64_t then, now;
    return claims_date(date, &then) && claims_date(view_str(today), &now) && then < now;
}

long claims_age_days(struct ethos_view date, const char *today)
{
    int64_t then, now;
    if (!claims_date(date, &then) || !claims_date(view_str(today), &now))
        return -1;
    return then < now ? (long)((now - then) / DAY_MS) : 0;
}

/*
 * sanitize.c: the guard against injected instructions and the redaction of secrets.
 *
 * Two steps. A filter walks the text once and stops only at pairs of bytes that are rare in prose
 * and that some pattern cannot do without; the patterns those pairs belong to are then tried in
 * place. Only a line in which one holds is looked at as a whole: replaced if the guard holds
 * anywhere in it, else redacted rule by rule.
 *
 * Patterns are tables. A phrase is written with ' ' for one or more blanks, '~' for any number and
 * '|' between alternatives (the longer first where one starts another). A secret is a prefix and
 * runs of characters joined by '-'.
 */
#include "core/memory/sanitize.h"

#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/shown_lines.h"
#include "core/scan/concepts.h"
#include "core/scan/injection.h"
#include "core/scan/secrets.h"
#include "core/scan/visible.h"

#define MAX_JOINED 1024   /* bytes of lines that are taken together */
#define MAX_BEGINNING 120 /* bytes of the first of them */
#define MAX_ROUNDS 8      /* of redacting a line */

/* ---- the filter ------------------------------------------------------------------------------ */

/* Pairs of neighbouring bytes, each named after the patterns that contain it. */
enum {
    IGNORE = 1 << 0,    /* i GN ore */
    DISREGARD = 1 << 1, /* di SR egard */
    YOU = 1 << 2,       /* YO u */
    FORGET = 1 << 3,    /* fo RG et */
    OVERRIDE = 1 << 4,  /* ove RR ide */
    NEW = 1 << 5,       /* n EW */
    SQUARE = 1 << 6,    /* [S ystem] */
    ANGLE = 1 << 7,     /* <S ystem>, or a blank in between */
    GITHUB = 1 << 8,    /* gh P_ and githu B_ pat_ */
    DASHED = 1 << 9,    /* s K- */
    AWS = 1 << 10,      /* AK IA */
    SLACK = 1 << 11,    /* XO x, XA pp */
    SCORED = 1 << 12,   /* gs K_ and s K_ live_ */
    GENERIC = 1 << 13,  /* ke Y= toke N= passwor D= secre T= */

    GUARD_MARKS = 0x00FF,
    SECRET_MARKS = 0x3F00
};

static const uint16_t first_byte[256] = {
    ['A'] = AWS,
    ['D'] = GENERIC,
    ['E'] = NEW,
    ['G'] = IGNORE,
    ['N'] = GENERIC,
    ['R'] = FORGET | OVERRIDE,
    ['S'] = DISREGARD,
    ['T'] = GENERIC,
    ['Y'] = YOU | GENERIC,
    ['b'] = GITHUB,
    ['d'] = GENERIC,
    ['e'] = NEW,
    ['g'] = IGNORE,
    ['k'] = DASHED | SCORED,
    ['n'] = GENERIC,
    ['p'] = GITHUB,
    ['r'] = FORGET | OVERRIDE,
    ['s'] = DISREGARD,
    ['t'] = GENERIC,
    ['x'] = SLACK,
    ['y'] = YOU | GENERIC,
    ['['] = SQUARE,
    ['<'] = ANGLE,
};

/* The last five start the blanks outside ASCII. */
static const uint16_t second_byte[256] = {
    ['G'] = FORGET,
    ['K'] = AWS,
    ['N'] = IGNORE,
    ['O'] = YOU,
    ['R'] = DISREGARD | OVERRIDE,
    ['S'] = SQUARE | ANGLE,
    ['W'] = NEW,
    ['a'] = SLACK,
    ['g'] = FORGET,
    ['n'] = IGNORE,
    ['o'] = YOU | SLACK,
    ['r'] = DISREGARD | OVERRIDE,
    ['s'] = SQUARE | ANGLE,
    ['w'] = NEW,
    ['-'] = DASHED,
    ['_'] = GITHUB | SCORED,
    ['='] = GENERIC,
    [' '] = ANGLE,
    ['\t'] = ANGLE,
    ['\v'] = ANGLE,
    ['\f'] = ANGLE,
    ['\r'] = ANGLE,
    [0xC2] = ANGLE,
    [0xE1] = ANGLE,
    [0xE2] = ANGLE,
    [0xE3] = ANGLE,
    [0xEF] = ANGLE,
};

static inline unsigned marks_at(const char *p)
{
    return first_byte[(unsigned char)p[0]] & second_byte[(unsigned char)p[1]];
}

/* The next pair at or after p that carries one of the wanted marks, or NULL. */
static const char *next_mark(const char *p, const char *end, unsigned wanted, unsigned *out_marks)
{
    for (; end - p > 4; p += 4) {
        if ((marks_at(p) | marks_at(p + 1) | marks_at(p + 2) | marks_at(p + 3)) & wanted)
            break;
    }
    for (; end - p > 1; p++) {
        *out_marks = marks_at(p) & wanted;
        if (*out_marks)
            return p;
    }
    return NULL;
}

/* ---- guard ----------------------------------------------------------------------------------- */

static const struct phrase {
    unsigned mark;
    unsigned at; /* where the marked pair stands in the text */
    const char *text;
} phrases[] = {
    {IGNORE, 1, "ignore previous|prior|above instructions"},
    {IGNORE, 1, "ignore all previous|prior|above instructions"},
    {DISREGARD, 2, "disregard your|all|any|the previous|prior|above|system|original "},
    {YOU, 0, "you are now an|a|the "},
    {FORGET, 2, "forget everything|all you|above|prior"},
    {OVERRIDE, 3, "override your|all|the instructions|rules|constraints|guidelines"},
    {NEW, 1, "new prompt~:"},
    {NEW, 1, "new system prompt~:"},
    {SQUARE, 0, "[system]"},
    {ANGLE, 0, "<~system~>"},
};

static const char *skip_pattern_blanks(const char *p, const char *end)
{
    while (p < end && *p != '\n') {
        uint32_t cp;
        size_t size = utf8_decode(p, (size_t)(end - p), &cp, NULL);

        if (!utf8_space(cp))
            break;
        p += size;
    }
    return p;
}

/* Moves *text past a group of alternatives; returns where the one that holds at p ends, or NULL. */
static const char *alternative_end(const char **text, const char *p, const char *end)
{
    const char *found = NULL;

    for (;;) {
        size_t size = strcspn(*text, " ~|");

        if (!found && (size_t)(end - p) >= size &&
            view_eq_nocase(view_of(p, size), view_of(*text, size)))
            found = p + size;
        *text += size;
        if (**text != '|')
            return found;
        (*text)++;
    }
}

static bool phrase_holds(const struct phrase *phrase, const char *p, const char *end)
{
    const char *text = phrase->text;

    while (*text) {
        if (*text == ' ' || *text == '~') {
            const char *after = skip_pattern_blanks(p, end);

            if (*text++ == ' ' && after == p)
                return false;
            p = after;
        } else {
            p = alternative_end(&text, p, end);
            if (!p)
                return false;
        }
    }
    return true;
}

/* ---- secrets --------------------------------------------------------------------------------- */

enum { DIGIT = 1, UPPER = 2, LOWER = 4, SCORE = 8, DASH = 16, BASE64 = 32, BOT = 64 };
enum { ALNUM = DIGIT | UPPER | LOWER, WORD = ALNUM | SCORE, TOKEN = WORD | DASH };

#define ENDLESS SIZE_MAX
#define GENERIC_MIN 20

/* In order of precedence: what an earlier rule takes ends the runs of a later one. */
static const struct pattern_rule {
    unsigned mark;
    unsigned at; /* where the marked pair stands in the prefix */
    const char *tag;
    const char *prefix; /* NULL: keyword=value */
    struct run {
        unsigned set;    /* 0: no more runs */
        size_t min, max; /* max 0: as many as there are */
    } runs[4];
} rules[] = {
    {GITHUB, 2, "github-pat", "ghp_", {{ALNUM, 36, 36}}},
    {GITHUB, 5, "github-pat", "github_pat_", {{WORD, 82, 82}}},
    {DASHED, 1, "anthropic-key", "sk-ant-", {{TOKEN, 36, 0}}},
    {DASHED, 1, "openai-key", "sk-", {{TOKEN, 40, 0}}}, // covers sk-proj-
    {AWS, 0, "aws-key", "AKIA", {{DIGIT | UPPER, 16, 16}}},
    {SLACK, 0, "slack-token", "xox", {{BOT, 1, 1}, {DIGIT, 10, 0}, {DIGIT, 10, 0}, {ALNUM, 24, 0}}},
    {SLACK, 0, "slack-token", "xapp-", {{DIGIT, 1, 0}, {ALNUM, 1, 0}, {ALNUM, 1, 0}}},
    {SCORED, 1, "stripe-key", "sk_live_", {{ALNUM, 24, 0}}},
    {SCORED, 2, "groq-key", "gsk_", {{ALNUM, 20, 0}}},
    {GENERIC, 0, "generic-secret", NULL, {{0}}},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned sets_of(char c)
{
    if (c >= '0' && c <= '9')
        return DIGIT;
    if (c >= 'A' && c <= 'Z')
        return UPPER;
    if (c >= 'a' && c <= 'z')
        return LOWER | (c == 'a' || c == 'b' || c == 'o' || c == 'p' ? BOT : 0u);
    return c == '_' ? SCORE : c == '-' ? DASH : c == '+' || c == '/' || c == '=' ? BASE64 : 0u;
}

/* End of the run of at most max characters of a set. */
static const char *run_end(const char *p, const char *end, unsigned set, size_t max)
{
    for (; p < end && max > 0 && (sets_of(*p) & set); p++)
        max--;
    return p;
}

/* Where the secret of a prefix rule that starts at p ends, or NULL. */
static const char *prefix_end(const struct pattern_rule *rule, const char *p, const char *end)
{
    size_t size = strlen(rule->prefix);

    if ((size_t)(end - p) < size || memcmp(p, rule->prefix, size) != 0)
        return NULL;
    p += size;
    for (const struct run *run = rule->runs; run < rule->runs + COUNT(rule->runs) && run->set;
         run++) {
        if (run > rule->runs) {
            if (p == end || *p++ != '-')
                return NULL;
        }
        const char *after = run_end(p, end, run->set, run->max ? run->max : ENDLESS);
        if ((size_t)(after - p) < run->min)
            return NULL;
        p = after;
    }
    return p;
}

/* Whether a keyword may start at p: at the start of the text, after white space or one of ,{;( */
static bool may_start(const char *start, const char *p)
{
    uint32_t cp;

    if (p == start || (p[-1] && strchr(",{;(", p[-1])))
        return true;
    size_t before = utf8_before(view_of(start, (size_t)(p - start)), (size_t)(p - start));
    utf8_decode(start + before, (size_t)(p - start) - before, &cp, NULL);
    return utf8_space(cp);
}

/* The keyword that ends where `equals` stands; it may not start before `from`. NULL when none. */
static const char *keyword_before(const char *start, const char *from, const char *equals)
{
    static const char *const keywords[] = {"key", "token", "password", "secret"};

    for (size_t i = 0; i < COUNT(keywords); i++) {
        size_t size = strlen(keywords[i]);

        if ((size_t)(equals - from) >= size &&
            view_eq_nocase(view_of(equals - size, size), view_str(keywords[i])))
            return may_start(start, equals - size) ? equals - size : NULL;
    }
    return NULL;
}

static const char *skip_quote(const char *p, const char *end)
{
    return p < end && (*p == '"' || *p == '\'') ? p + 1 : p;
}

/* End of keyword=value with its '=' at `equals`, or NULL; the keyword starts at *out_start. */
static const char *generic_end(const char *start, const char *from, const char *equals,
                               const char *end, const char **out_start)
{
    *out_start = keyword_before(start, from, equals);
    if (!*out_start)
        return NULL;
    const char *value = skip_quote(equals + 1, end);
    const char *after = run_end(value, end, TOKEN | BASE64, ENDLESS);
    return after - value >= GENERIC_MIN ? skip_quote(after, end) : NULL;
}

/* First secret of one rule in [from, end), or false. The line starts at `start`. */
static bool find_secret(const struct pattern_rule *rule, const char *start, const char *from,
                        const char *end, const char **out_start, const char **out_end)
{
    for (const char *p = from; p < end; p++) {
        if (rule->prefix) {
            p = memmem(p, (size_t)(end - p), rule->prefix, strlen(rule->prefix));
            *out_start = p;
            *out_end = p ? prefix_end(rule, p, end) : NULL;
        } else {
            p = memchr(p, '=', (size_t)(end - p));
            *out_end = p ? generic_end(start, from, p, end, out_start) : NULL;
        }
        if (!p || *out_end)
            return p != NULL;
    }
    return false;
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct text_scan {
    const struct scan_how *how;
    struct str *out;
    struct scan_tally *tally;  /* or NULL */
    struct ethos_view line;    /* being rewritten */
    struct ethos_view source;  /* what `line` is a copy of without invisible characters, or none */
    unsigned marks;            /* all that occur in the line */
    const char *tag;           /* of the first secret taken out of it */
    struct visible_text copy;  /* that copy */
    struct visible_text whole; /* of the text, for blocks; made when it is asked for */
    struct secret_search keys, whole_keys; /* of blocks, in the text and in that copy */
    bool invisible;                        /* the text has such characters */
    bool has_whole, failed;                /* there is no memory for a copy */
};

/* Makes a copy without invisible characters. False when it is the text itself. */
static bool read_visible(struct text_scan *scan, struct visible_text *copy, struct ethos_view text,
                         enum visible_tags tags)
{
    bool differs = visible_read(copy, text, tags);

    if (!str_code(&copy->text) && !str_code(&copy->gaps))
        return differs;
    scan->failed = true;
    return false;
}

static bool secret_holds(const struct pattern_rule *rule, struct ethos_view text, const char *pair)
{
    const char *end = text.data + text.size, *start;

    if (!rule->prefix)
        return generic_end(text.data, text.data, pair + 1, end, &start);
    return pair - text.data >= rule->at && prefix_end(rule, pair - rule->at, end);
}

/* Whether a pattern with one of these marks holds at the pair. */
static bool has_pattern_at(struct ethos_view text, const char *pair, unsigned marks)
{
    for (size_t i = 0; (marks & GUARD_MARKS) && i < COUNT(phrases); i++) {
        if ((phrases[i].mark & marks) && pair - text.data >= phrases[i].at &&
            phrase_holds(&phrases[i], pair - phrases[i].at, text.data + text.size))
            return true;
    }
    for (size_t i = 0; (marks & SECRET_MARKS) && i < COUNT(rules); i++) {
        if ((rules[i].mark & marks) && secret_holds(&rules[i], text, pair))
            return true;
    }
    return false;
}

/* A place at or after `from` where a wanted pattern holds, or NULL. */
static const char *next_hit(struct ethos_view text, const char *from, unsigned wanted)
{
    unsigned marks;

    while ((from = next_mark(from, text.data + text.size, wanted, &marks))) {
        if (has_pattern_at(text, from, marks))
            return from;
        from++;
    }
    return NULL;
}

static void put_secret(struct text_scan *scan, const char *tag, struct ethos_view secret)
{
    str_adds(scan->out, "[REDACTED:");
    str_adds(scan->out, tag);
    str_adds(scan->out, "]");
    if (!scan->tag)
        scan->tag = tag;
    if (scan->tally) {
        scan->tally->secret_bytes += secret.size;
        scan->tally->secret_chars += utf8_units(secret);
    }
}

/* A secret of the line. */
static void put_found(struct text_scan *scan, const char *tag, const char *start, const char *end)
{
    if (scan->source.data) {
        const char *line = scan->line.data, *source = scan->source.data;

        start = source + visible_start(&scan->copy, (size_t)(start - line));
        end = source + visible_end(&scan->copy, (size_t)(end - line));
    }
    put_secret(scan, tag, view_of(start, (size_t)(end - start)));
}

/* What stands between two secrets of the line, or at one of its ends. */
static void put_between(struct text_scan *scan, const char *start, const char *end)
{
    if (scan->source.data) {
        size_t from = (size_t)(start - scan->line.data), to = (size_t)(end - scan->line.data);

        start = scan->source.data + (from == 0 ? 0 : visible_end(&scan->copy, from));
        end = scan->source.data + visible_start(&scan->copy, to);
    }
    str_add(scan->out, view_of(start, (size_t)(end - start)));
}

/* Appends [from, end) of the line with what core/scan finds replaced. */
static void redact_others(struct text_scan *scan, const char *from, const char *end)
{
    struct secret_search search = {.text = scan->line};
    struct secret secret;

    search.at = search.anchor = search.run = search.run_end = (size_t)(from - scan->line.data);
    search.text.size = (size_t)(end - scan->line.data);
    while (secret_next(&search, &secret)) {
        const char *start = scan->line.data + secret.start;

        put_between(scan, from, start);
        from = scan->line.data + secret.end;
        put_found(scan, secret.tag, start, from);
    }
    put_between(scan, from, end);
}

/*
 * Appends [from, end) of the line with the secrets of this and the later rules replaced. What lies
 * between two finds of a rule is the later rules' business, so no match crosses an earlier one.
 */
static void redact(struct text_scan *scan, const char *from, const char *end, size_t index)
{
    const char *start, *after;

    if (index == COUNT(rules)) {
        redact_others(scan, from, end);
        return;
    }
    while ((rules[index].mark & scan->marks) &&
           find_secret(&rules[index], scan->line.data, from, end, &start, &after)) {
        redact(scan, from, start, index + 1);
        put_found(scan, rules[index].tag, start, after);
        from = after;
    }
    redact(scan, from, end, index + 1);
}

static unsigned marks_in(struct ethos_view line)
{
    unsigned marks = 0;

    for (size_t i = 0; i + 1 < line.size; i++)
        marks |= marks_at(line.data + i);
    return marks;
}

static void put_marker(struct text_scan *scan, struct ethos_view line)
{
    str_adds(scan->out, "[line removed by injection guard]");
    if (scan->tally) {
        scan->tally->guard_bytes += line.size;
        scan->tally->guard_chars += utf8_units(line);
    }
}

/* The line and those behind it that go on with it: no list item, heading or empty line. */
static struct ethos_view join_continued_lines(struct ethos_view line, const char *end)
{
    struct ethos_view joined = line;

    for (unsigned i = 1; i < INJECTION_LINES; i++) {
        const char *next = joined.data + joined.size + 1;

        if (next >= end || !next[0] || strchr("\r\n#-*>|+", next[0]) || joined.size > MAX_JOINED)
            break;
        const char *stop = memchr(next, '\n', (size_t)(end - next));
        joined.size = (size_t)((stop ? stop : end) - joined.data);
    }
    return joined;
}

/* Whether the guard takes this line out; *out_size bytes of text, which are more when it goes on in the next. */
static bool is_injected(struct ethos_view line, const char *end, size_t *out_size)
{
    *out_size = line.size;
    if (line.size == 0)
        return false;
    if (next_hit(line, line.data, GUARD_MARKS))
        return true;
    if (!injection_is_possible(line))
        return false;
    struct injection found = injection_measure(line);
    if (found.points >= INJECTION_HIDES)
        return true;
    if (!found.goes_on || line.size > MAX_BEGINNING)
        return false;
    struct ethos_view joined = join_continued_lines(line, end);
    if (joined.size == line.size || injection_measure(joined).points < INJECTION_HIDES)
        return false;
    struct ethos_view rest = view_from(joined, line.size + 1);
    if (next_hit(rest, rest.data, GUARD_MARKS) ||
        (injection_is_possible(rest) && injection_measure(rest).points >= INJECTION_HIDES))
        return false; // that is the next line's own
    *out_size = joined.size;
    return true;
}

/* A private key of several lines. */
struct key_block {
    struct secret secret;
    bool headless; /* what begins in the line is no header, and may belong to another secret */
};

/* A private key that begins in the line and goes on behind it. The search is of the text that the line stands in. */
static bool find_key_block(struct secret_search *search, struct ethos_view line,
                           struct key_block *out)
{
    out->headless = !secret_find_block(search, line, &out->secret);
    return !out->headless || secret_find_headless_block(search, line, &out->secret);
}

/* The same in the copy without invisible characters, where it is in the text. */
static bool find_invisible_block(struct text_scan *scan, struct ethos_view line,
                                 struct key_block *out)
{
    size_t start = (size_t)(line.data - scan->keys.text.data);

    if (!scan->has_whole)
        read_visible(scan, &scan->whole, scan->keys.text, VISIBLE_DROP_TAGS);
    scan->has_whole = true;
    if (scan->failed)
        return false;
    scan->whole_keys.text = str_view(&scan->whole.text);
    size_t first = visible_find(&scan->whole, start);
    struct ethos_view there = view_from(scan->whole_keys.text, first);
    there.size = visible_find(&scan->whole, start + line.size) - first;
    if (!find_key_block(&scan->whole_keys, there, out))
        return false;
    out->secret.start = visible_start(&scan->whole, out->secret.start);
    out->secret.end = visible_end(&scan->whole, out->secret.end);
    return true;
}

/* The copy comes first, as for a secret of one line: in the text a key may end at an invisible character. */
static bool find_open_block(struct text_scan *scan, struct ethos_view line, struct key_block *out)
{
    return (scan->invisible && find_invisible_block(scan, line, out)) ||
           find_key_block(&scan->keys, line, out);
}

static void put_block(struct text_scan *scan, struct ethos_view block, const char *tag)
{
    put_secret(scan, tag, block);
    for (size_t lines = view_newlines(block); lines > 0; lines--)
        str_addc(scan->out, '\n');
}

/* Whether a line has a secret, every byte taken as it is. */
static bool has_exact_secret(struct ethos_view line)
{
    struct secret_search search = {.text = line};
    struct secret secret;

    return next_hit(line, line.data, SECRET_MARKS) || secret_next(&search, &secret);
}

/*
 * Whether a line has a secret, without its invisible characters or as it is. *out is what it was found in: scan->copy,
 * or the line. The copy comes first: of a token that one of them divides, the line may have half.
 */
static bool has_secret(struct text_scan *scan, struct ethos_view line, struct ethos_view *out)
{
    for (unsigned i = 0; scan->invisible && i < VISIBLE_COPIES; i++) {
        if (!read_visible(scan, &scan->copy, line, (enum visible_tags)i))
            continue;
        *out = str_view(&scan->copy.text);
        if (has_exact_secret(*out))
            return true;
    }
    *out = line;
    return has_exact_secret(line);
}

/* A later round takes out what an earlier one put in: of a line no more is counted than it has. */
static void limit_tally(struct text_scan *scan, const struct scan_tally *before,
                        struct ethos_view line)
{
    uint64_t bytes = before->secret_bytes + line.size;

    if (scan->tally && scan->tally->secret_bytes > bytes) {
        scan->tally->secret_bytes = bytes;
        scan->tally->secret_chars = before->secret_chars + utf8_units(line);
    }
}

/*
 * Appends a line without its secrets. What is left may look like a secret now that something is gone from it; so it
 * is looked at again, and who scans the result for secrets finds no more. A line that always has another is one.
 */
static void redact_line(struct text_scan *scan, struct ethos_view line)
{
    const struct scan_tally tally = scan->tally ? *scan->tally : (struct scan_tally){0};
    const struct ethos_view whole = line;
    size_t start = scan->out->size;
    struct ethos_view found;
    struct str before;
    unsigned rounds = 0;

    str_init(&before, SIZE_MAX);
    str_add(scan->out, line);
    while (has_secret(scan, line, &found)) {
        str_truncate(scan->out, start);
        if (rounds++ == MAX_ROUNDS) {
            str_adds(scan->out, "[REDACTED:secret]");
            break;
        }
        scan->line = found;
        scan->source = found.data == line.data ? (struct ethos_view){0} : line;
        scan->marks = marks_in(found);
        redact(scan, found.data, found.data + found.size, 0);
        if (str_code(scan->out))
            break;
        str_clear(&before);
        if (str_add(&before, view_from(str_view(scan->out), start))) {
            str_fail(scan->out, str_code(&before));
            break;
        }
        line = str_view(&before);
    }
    limit_tally(scan, &tally, whole);
    str_release(&before);
}

/* Whether the owner allows what was found in the line. */
static bool is_line_shown(const struct text_scan *scan, struct ethos_view line, unsigned what)
{
    return shown_lines_find(scan->how->shown, line) & what;
}

static void report_finding(const struct text_scan *scan, struct ethos_view line, unsigned what,
                           bool block)
{
    const struct scan_finding finding = {line, what, scan->tag, block};
    if (scan->how->found)
        scan->how->found(scan->how->arg, &finding);
}

/* Whether the guard takes the line out; *end_of_order is how far an order that began before or here goes. */
static bool is_guarded(struct text_scan *scan, struct ethos_view line, const char *end,
                       const char **end_of_order)
{
    size_t size;
    if (line.data >= *end_of_order && is_injected(line, end, &size))
        *end_of_order = line.data + size;
    if (line.data >= *end_of_order)
        return false;
    scan->tag = NULL;
    report_finding(scan, line, SCAN_GUARD, false);
    return !is_line_shown(scan, line, SCAN_GUARD);
}

/* Takes the secrets out of a line that has some, and appends what stands before it; false: it is shown. */
static bool take_secrets(struct text_scan *scan, struct ethos_view line, const char *done)
{
    bool shown = is_line_shown(scan, line, SCAN_REDACT);
    scan->tag = NULL;
    if (!shown) {
        str_add(scan->out, view_of(done, (size_t)(line.data - done)));
        redact_line(scan, line);
    }
    report_finding(scan, line, SCAN_REDACT, false);
    return !shown;
}

/*
 * Appends what a line has before the private key that begins at `start`, without its secrets. Returns where what is
 * left of the key begins: behind a secret that goes on to there.
 */
static const char *redact_before_key(struct text_scan *scan, struct ethos_view line,
                                     const char *start)
{
    size_t before = scan->out->size, rest = (size_t)(line.data + line.size - start);

    redact_line(scan, line);
    size_t size = scan->out->size - before;
    const char *out = scan->out->data + before, *marker = memrchr(out, ']', size);
    size_t unchanged = marker ? size - (size_t)(marker + 1 - out) : size;
    rest = rest < unchanged ? rest : unchanged;
    str_truncate(scan->out, scan->out->size - rest);
    for (start = line.data + line.size - rest; *start == '\n' || *start == '\r'; start++)
        str_addc(scan->out, *start);
    return start;
}

/* Takes out a private key over several lines that begins in the line, and appends what stands before it. */
static void take_block(struct text_scan *scan, struct ethos_view line, const char *done,
                       const struct key_block *block)
{
    const char *at = line.data, *line_end = at + line.size;
    const char *start = scan->keys.text.data + block->secret.start;
    const char *end = scan->keys.text.data + block->secret.end;

    str_add(scan->out, view_of(done, (size_t)(at - done)));
    if (block->headless && start > at) {
        start = redact_before_key(scan, line, start);
    } else {
        const char *head_end = start < line_end ? start : line_end;

        redact_line(scan, view_of(at, (size_t)(head_end - at)));
        str_add(scan->out, view_of(head_end, (size_t)(start - head_end)));
    }
    scan->tag = block->secret.tag;
    report_finding(scan, line, SCAN_REDACT, true);
    put_block(scan, view_of(start, (size_t)(end - start)), block->secret.tag);
}

/* Appends the text with what is found replaced; returns up to where it has been appended, NULL when nothing was. */
static const char *scan_lines(struct text_scan *scan, struct ethos_view text)
{
    const unsigned what = scan->how->what;
    const char *end = text.data + text.size, *done = text.data, *at = done, *end_of_order = done;
    struct ethos_view found;

    scan->keys.text = text;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct ethos_view line = view_of(at, (size_t)((newline ? newline : end) - at));
        struct key_block block;

        if ((what & SCAN_GUARD) && is_guarded(scan, line, end, &end_of_order)) {
            str_add(scan->out, view_of(done, (size_t)(at - done)));
            put_marker(scan, line);
            done = line.data + line.size;
        } else if ((what & SCAN_REDACT) && find_open_block(scan, line, &block)) {
            take_block(scan, line, done, &block);
            done = text.data + block.secret.end;
            at = done > at ? done : at; // on with what stands behind it
            continue;
        } else if ((what & SCAN_REDACT) && has_secret(scan, line, &found) &&
                   take_secrets(scan, line, done)) {
            done = line.data + line.size;
        }
        at += line.size + 1;
    }
    return done > text.data ? done : NULL;
}

/* One walk over the text. *out_keys: it has the header or footer of a private key. */
static bool scan_once(struct ethos_view text, const struct scan_how *how, struct str *out,
                      bool *out_keys)
{
    struct text_scan scan = {.how = how, .out = out, .tally = how->tally};

    visible_init(&scan.copy);
    visible_init(&scan.whole);
    scan.invisible = (how->what & SCAN_REDACT) && visible_differs(text);
    const char *done = scan_lines(&scan, text);
    visible_release(&scan.copy);
    visible_release(&scan.whole);
    if (scan.failed)
        str_fail(out, ETHOS_NOMEM);
    if (done)
        str_add(out, view_of(done, (size_t)(text.data + text.size - done)));
    *out_keys = scan.keys.has_title || scan.whole_keys.has_title;
    return done || scan.failed;
}

/*
 * Redacts what was appended from `before` on until nothing is found in it. What a line with its secrets taken out
 * says to the lines of a key around it is known only then.
 */
static void redact_again(struct str *out, size_t before, const struct shown_lines *shown)
{
    const struct scan_how how = {.what = SCAN_REDACT, .shown = shown};
    bool hit = true, has_keys;

    for (unsigned rounds = 0; hit && rounds < MAX_ROUNDS && !str_code(out); rounds++) {
        CLEANUP_STR struct str last;

        str_init(&last, SIZE_MAX);
        if (str_add(&last, view_from(str_view(out), before)))
            str_fail(out, str_code(&last));
        str_truncate(out, before);
        hit = scan_once(str_view(&last), &how, out, &has_keys);
        if (!hit)
            str_add(out, str_view(&last));
    }
}

bool scan_text_with(struct ethos_view text, const struct scan_how *how, struct str *out)
{
    size_t before = out->size;
    bool has_keys, hit = scan_once(text, how, out, &has_keys);

    if (hit && has_keys)
        redact_again(out, before, how->shown);
    return hit;
}

bool scan_text(struct ethos_view text, unsigned what, struct str *out, struct scan_tally *tally)
{
    const struct scan_how how = {.what = what, .tally = tally};
    return scan_text_with(text, &how, out);
}

struct ethos_view scan_visible_with(struct ethos_view text, const struct shown_lines *shown,
                                    struct str *safe)
{
    const struct scan_how how = {.what = SCAN_GUARD | SCAN_REDACT, .shown = shown};
    str_clear(safe);
    return scan_text_with(text, &how, safe) ? str_view(safe) : text;
}

struct ethos_view scan_visible(struct ethos_view text, struct str *safe)
{
    return scan_visible_with(text, NULL, safe);
}

uint32_t scan_edition(void)
{
    uint32_t edition = (uint32_t)hash_mix(concept_edition, VIEW(ETHOS_VERSION));
    return edition ? edition : 1;
}

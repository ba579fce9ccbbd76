/*
 * reference_line.c: the claims of one line.
 *
 * A sentence is read once, from left to right, into marks (what stands between backticks, in links,
 * after words of dates) and into the sense of its words; then it is decided which marks are claims.
 */
#include <string.h>

#include "base/choice.h"
#include "base/clock.h"
#include "base/view.h"
#include "core/notes/references_internal.h"

#define MAX_MARKS 32 /* of one sentence; what follows claims nothing */
#define MAX_DEST 600 /* bytes; a path is shorter */
#define MAX_NAME 256 /* bytes of a link to a note */
#define MAX_WORD 16  /* bytes; longer words mean nothing here */
#define MAX_RUN 31   /* backticks that open a code span */
#define DATE_SIZE 10

/* ---- the sense of words --------------------------------------------------------------------- */

enum {
    SENSE_ABSENT = 1, /* a file need not be there */
    SENSE_DENIED = 2, /* a name need not be in a file */
    SENSE_PAST = 4,   /* a date is history */
    SENSE_DUTY = 8    /* "before" is a deadline */
};

static const struct {
    unsigned sense;
    const char *words;
} senses[] = {
    {SENSE_ABSENT,
     "removed|remove|removes|deleted|delete|deletes|gone|renamed|rename|renames|moved|dropped|"
     "obsolete|former|formerly|longer|missing|create|creates|created|generate|generates|generated|"
     "writes|written|produces|produced|ignored|gitignored|optional|optionally|exist|exists|unless|"
     "no|will|would|planned|named"},
    {SENSE_DENIED,
     "not|never|avoid|instead|without|don't|doesn't|isn't|can't|cannot|add|set|put|insert|define|"
     "declare|unset|replaced|replace|was|were|lacks"},
    {SENSE_PAST, "was|were|had|did|been|ended|expired|happened|shipped|released|done"},
    {SENSE_DUTY, "must|should|need|needs|has|have|due|please|todo|renew|finish|migrate|replace"},
};

static bool is_sentence_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool claims_is_word_byte(char c)
{
    return is_sentence_letter(c) || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}

/* The word that starts at `at`, in lower case; its bytes. Longer ones mean nothing here. */
static size_t read_sentence_word(struct ethos_view text, size_t at, char out[MAX_WORD],
                                 size_t *out_size)
{
    size_t end = at, size = 0;
    while (end < text.size &&
           (claims_is_word_byte(text.data[end]) || (text.data[end] == '\'' && end + 1 < text.size &&
                                                    is_sentence_letter(text.data[end + 1])))) {
        char c = text.data[end++];
        if (size < MAX_WORD)
            out[size++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    *out_size = end - at <= MAX_WORD ? size : 0;
    return end - at;
}

static unsigned sense_of(struct ethos_view word)
{
    unsigned sense = 0;
    for (size_t i = 0; word.size > 0 && i < sizeof senses / sizeof *senses; i++) {
        if (choice_has(senses[i].words, word))
            sense |= senses[i].sense;
    }
    return sense;
}

/* ---- one sentence --------------------------------------------------------------------------- */

struct sentence_mark {
    struct claim claim;
    const char *start, *end; /* of the whole mark in the line */
    bool code;               /* between backticks */
    bool nothing;            /* neither a file nor a name */
};

struct parsed_sentence {
    struct ethos_view text; /* from its start to the end of the line */
    size_t line;            /* in the note */
    unsigned sense;
    struct sentence_mark marks[MAX_MARKS];
    size_t count;
};

/* The room for a further mark, or NULL. */
static struct sentence_mark *add_mark(struct parsed_sentence *sentence, size_t start, size_t end,
                                      enum claim_kind kind)
{
    if (sentence->count == MAX_MARKS)
        return NULL;
    struct sentence_mark *mark = &sentence->marks[sentence->count++];
    *mark = (struct sentence_mark){.claim = {.kind = kind, .line = sentence->line},
                                   .start = sentence->text.data + start,
                                   .end = sentence->text.data + end};
    return mark;
}

size_t claims_run(struct ethos_view text, size_t at)
{
    size_t end = at;
    while (end < text.size && text.data[end] == '`')
        end++;
    return end - at;
}

/* Of each length only the last run can be without a partner: MAX_RUN searches of a line at most. */
size_t claims_code_end(struct ethos_view text, size_t at)
{
    size_t opening = claims_run(text, at), pos = at + opening;
    if (opening > MAX_RUN)
        return 0;
    while (pos < text.size) {
        const char *tick = memchr(text.data + pos, '`', text.size - pos);
        if (!tick)
            break;
        pos = (size_t)(tick - text.data);
        size_t run = claims_run(text, pos);
        pos += run;
        if (run == opening)
            return pos;
    }
    return 0;
}

static size_t read_code_span(struct parsed_sentence *sentence, size_t at)
{
    size_t run = claims_run(sentence->text, at), end = claims_code_end(sentence->text, at);
    if (end == 0)
        return run;
    struct sentence_mark *mark = add_mark(sentence, at, end, CLAIM_PATH);
    if (mark) {
        struct ethos_view inside = view_trim(
            view_of(sentence->text.data + at + run, end - at - 2 * run));
        struct claim *claim = &mark->claim;
        mark->code = true;
        if (!claims_path(inside, false, &claim->what, &claim->number)) {
            claim->kind = CLAIM_SYMBOL;
            mark->nothing = !claims_symbol(inside, &claim->what);
        }
    }
    return end - at;
}

/* The destination of a link, after "](": what may be a path. */
static size_t read_destination(struct parsed_sentence *sentence, size_t at)
{
    struct ethos_view rest = view_from(sentence->text, at + 2);
    size_t size = 0;
    while (size < rest.size && size < MAX_DEST && !strchr(" \t)", rest.data[size]))
        size++;
    struct ethos_view word = view_of(rest.data, size);
    const char *part = size ? memchr(word.data, '#', word.size) : NULL;
    struct claim found = {0};
    if (part && !view_starts(view_from(word, (size_t)(part - word.data)), VIEW("#L")))
        word.size = (size_t)(part - word.data);
    if (size == rest.size || word.size == 0 || !claims_path(word, true, &found.what, &found.number))
        return 2;
    struct sentence_mark *mark = add_mark(sentence, at, at + 2 + size, CLAIM_PATH);
    if (mark) {
        mark->claim.what = found.what;
        mark->claim.number = found.number;
    }
    return 2 + size;
}

static bool has_letter(struct ethos_view name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (is_sentence_letter(name.data[i]) || (name.data[i] & 0x80))
            return true;
    }
    return false;
}

/* [[name]], [[name|text]], [[name#part]] */
static size_t read_note_link(struct parsed_sentence *sentence, size_t at)
{
    struct ethos_view rest = view_from(sentence->text, at + 2), name;
    size_t size = 0;
    while (size < rest.size && size < MAX_NAME && rest.data[size] &&
           !strchr("[]|#", rest.data[size]))
        size++;
    name = view_of(rest.data, size);
    struct ethos_view after = view_from(rest, size);
    bool closed = view_starts(after, VIEW("]]")) || view_starts(after, VIEW("|")) ||
                  view_starts(after, VIEW("#"));
    bool link = closed && has_letter(name) && name.data[0] != ' ' && name.data[0] != '-' &&
                name.data[size - 1] != ' ';
    struct sentence_mark *mark = link ? add_mark(sentence, at, at + 2 + size, CLAIM_LINK) : NULL;
    if (mark)
        mark->claim.what = name;
    return link ? 2 + size : 2;
}

/* ---- dates ---------------------------------------------------------------------------------- */

bool claims_date(struct ethos_view text, int64_t *out_ms)
{
    return text.size == DATE_SIZE && clock_parse(text, 0, false, out_ms, NULL);
}

/* Where a date stands after its word: marks and small words may come between. 0: there is none. */
static size_t find_date(struct ethos_view text, size_t at)
{
    char word[MAX_WORD];
    size_t size;
    int64_t ms;
    for (int fillers = 0; at < text.size;) {
        if (strchr(" \t:*`_(=", text.data[at]) && text.data[at]) {
            at++;
            continue;
        }
        if (text.size - at >= DATE_SIZE && claims_date(view_of(text.data + at, DATE_SIZE), &ms)) {
            char next = at + DATE_SIZE < text.size ? text.data[at + DATE_SIZE] : ' ';
            return claims_is_word_byte(next) || next == '-' ? 0 : at;
        }
        size_t taken = read_sentence_word(text, at, word, &size);
        if (taken == 0 || ++fillers > 3 || !choice_has("on|is|the|date|until", view_of(word, size)))
            return 0;
        at += taken;
    }
    return 0;
}

static size_t read_plain_word(struct parsed_sentence *sentence, size_t at)
{
    char bytes[MAX_WORD];
    size_t size, taken = read_sentence_word(sentence->text, at, bytes, &size);
    struct ethos_view word = view_of(bytes, size);
    bool before = choice_has("before", word) && (sentence->sense & SENSE_DUTY);
    bool deadline = before || choice_has("until|by|expires|expire|due|deadline", word);
    size_t date = deadline && !(sentence->sense & SENSE_PAST)
                      ? find_date(sentence->text, at + taken)
                      : 0;
    struct sentence_mark *mark = date ? add_mark(sentence, at, date + DATE_SIZE, CLAIM_DATE) : NULL;
    if (mark)
        mark->claim.what = view_of(sentence->text.data + date, DATE_SIZE);
    sentence->sense |= sense_of(word);
    return date ? date + DATE_SIZE - at : taken;
}

/* Returns where the next one begins. */
static size_t read_sentence(struct parsed_sentence *sentence)
{
    struct ethos_view text = sentence->text;
    size_t at = 0;
    while (at < text.size) {
        char c = text.data[at], next = at + 1 < text.size ? text.data[at + 1] : ' ';
        if (strchr(".!?;", c) && c && next == ' ')
            return at + 1;
        if (c == '`')
            at += read_code_span(sentence, at);
        else if (c == ']' && next == '(')
            at += read_destination(sentence, at);
        else if (c == '[' && next == '[')
            at += read_note_link(sentence, at);
        else if (claims_is_word_byte(c))
            at += read_plain_word(sentence, at);
        else
            at++;
    }
    return at;
}

/* ---- which names belong to the file --------------------------------------------------------- */

static const char in_words[] = "in|inside|within|at";
static const char has_words[] =
    "has|have|defines|declares|exports|contains|provides|implements|holds|function|functions|class|"
    "struct|method|methods|macro|constant|type|'s";
static const char list_words[] = "and|or";
static const char small_words[] =
    "is|are|lives|live|defined|declared|implemented|found|located|sits|stands|both|all|can|be|the|"
    "a|"
    "an|also|function|functions|class|struct|method|macro|constant|type|and";

/* What stands between two marks. */
struct gap {
    bool lists; /* nothing but "and", "or" and commas */
    bool
        joins; /* small words and then one that was asked for, or no word but a colon or the like */
};

static struct gap read_gap(const char *start, const char *end, const char *joining)
{
    struct ethos_view text = view_of(start, (size_t)(end - start));
    bool listing = true, small = true, last = false, mark = false, comma = false, stop = false;
    size_t words = 0, size;
    char bytes[MAX_WORD];
    for (size_t at = 0; at < text.size;) {
        bool dash = view_starts(view_from(text, at), VIEW("\xE2\x80"));
        size_t taken = dash ? 0 : read_sentence_word(text, at, bytes, &size);
        if (taken > 0) {
            struct ethos_view word = view_of(bytes, size);
            small = small && (choice_has(small_words, word) || choice_has(joining, word));
            last = choice_has(joining, word);
            listing = listing && choice_has(list_words, word);
            words++;
        } else {
            char c = text.data[at];
            mark = mark || dash || c == '(' || c == ':' || c == '-';
            comma = comma || c == ',';
            stop = stop || c == '.' || c == ';' || c == '!' || c == '?';
        }
        at += taken ? taken : dash ? 3 : 1;
    }
    return (struct gap){
        .lists = listing && !mark && !stop && (comma || words > 0),
        .joins = !stop && !comma && (words == 0 ? mark : last && small),
    };
}

static bool is_symbol(const struct sentence_mark *mark)
{
    return mark->code && !mark->nothing && mark->claim.kind == CLAIM_SYMBOL;
}

/* Goes from the file in one direction, as long as the names hang together. */
static void join_names(struct parsed_sentence *sentence, size_t file, bool forward)
{
    size_t i = file;
    bool joined = true;
    while (joined && (forward ? i + 1 < sentence->count : i > 0)) {
        size_t next = forward ? i + 1 : i - 1;
        const struct sentence_mark *left = &sentence->marks[forward ? i : next];
        const struct sentence_mark *right = &sentence->marks[forward ? next : i];
        struct gap gap = read_gap(left->end, right->start, forward ? has_words : in_words);
        joined = is_symbol(&sentence->marks[next]) && (i == file ? gap.joins : gap.lists);
        if (joined)
            sentence->marks[next].claim.where = sentence->marks[file].claim.what;
        i = next;
    }
}

/* Names are claims of the only file that the sentence names between backticks. */
static void find_owner(struct parsed_sentence *sentence)
{
    size_t file = SIZE_MAX;
    for (size_t i = 0; i < sentence->count; i++) {
        const struct sentence_mark *mark = &sentence->marks[i];
        if (!mark->code || mark->claim.kind != CLAIM_PATH)
            continue;
        if (file != SIZE_MAX)
            return;
        file = i;
    }
    if (file == SIZE_MAX || view_ends(sentence->marks[file].claim.what, VIEW("/")))
        return;
    join_names(sentence, file, true);
    join_names(sentence, file, false);
}

/* ---- from marks to claims ------------------------------------------------------------------- */

static bool is_claim(const struct parsed_sentence *sentence, const struct sentence_mark *mark)
{
    if (mark->nothing)
        return false;
    if (mark->claim.kind == CLAIM_PATH)
        return !(sentence->sense & SENSE_ABSENT);
    if (mark->claim.kind == CLAIM_SYMBOL)
        return mark->claim.where.data && !(sentence->sense & (SENSE_ABSENT | SENSE_DENIED));
    return true;
}

/* [`src/a.c`](src/a.c) says it once. */
static bool said_before(const struct parsed_sentence *sentence, size_t index)
{
    const struct claim *claim = &sentence->marks[index].claim;
    for (size_t i = 0; i < index; i++) {
        const struct claim *other = &sentence->marks[i].claim;
        if (!sentence->marks[i].nothing && other->kind == claim->kind &&
            other->number == claim->number && view_eq(other->what, claim->what))
            return true;
    }
    return false;
}

static int tell_sentence(const struct parsed_sentence *sentence, claim_fn *each, void *arg)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < sentence->count; i++) {
        if (is_claim(sentence, &sentence->marks[i]) && !said_before(sentence, i))
            result = each(arg, &sentence->marks[i].claim);
    }
    return result;
}

int claims_line(struct ethos_view text, size_t line, claim_fn *each, void *arg)
{
    struct parsed_sentence sentence;
    int result = 0;
    while (result == 0 && text.size > 0) {
        sentence.text = text;
        sentence.line = line;
        sentence.sense = 0;
        sentence.count = 0;
        text = view_from(text, read_sentence(&sentence));
        find_owner(&sentence);
        result = tell_sentence(&sentence, each, arg);
    }
    return result;
}

/*
 * passages.c: cutting texts at the ends of sentences and lines.
 */
#include "core/search/passages.h"

#include <stdbool.h>

#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

/* A stretch of the text; chars counts its code points as if each cut in it were one space. */
struct text_piece {
    size_t start, end, chars;
    size_t blank_chars; /* of those, white space at the end */
    size_t solid_end;   /* where that begins */
};

struct cutter {
    struct ethos_view text;
    passage_fn *each;
    void *arg;
    struct text_piece open; /* not yet given; nothing when chars is 0 */
    size_t given;
};

static int give_passage(struct cutter *cutter, size_t start, size_t end)
{
    cutter->given++;
    return cutter->each(cutter->arg, start, end);
}

static int give_open(struct cutter *cutter)
{
    bool any = cutter->open.chars > 0;
    cutter->open.chars = 0;
    return any ? give_passage(cutter, cutter->open.start, cutter->open.end) : 0;
}

static void trim_end(struct text_piece *piece)
{
    piece->end = piece->solid_end;
    piece->chars -= piece->blank_chars;
    piece->blank_chars = 0;
}

static size_t decode(struct ethos_view text, size_t at, uint32_t *out_cp)
{
    unsigned char byte = (unsigned char)text.data[at];
    if (byte < 0x80) {
        *out_cp = byte;
        return 1;
    }
    return utf8_decode(text.data + at, text.size - at, out_cp, NULL);
}

/* Measures bytes [start, end). */
static struct text_piece measure_piece(struct ethos_view text, size_t start, size_t end)
{
    struct text_piece piece = {.start = start, .end = end, .solid_end = start};
    uint32_t cp;
    for (size_t at = start; at < end;) {
        at += decode(text, at, &cp);
        piece.chars++;
        piece.blank_chars++;
        if (!utf8_space(cp)) {
            piece.blank_chars = 0;
            piece.solid_end = at;
        }
    }
    return piece;
}

/* The first character that is no white space. */
static size_t skip_blank(struct ethos_view text, size_t at, size_t end)
{
    uint32_t cp;
    while (at < end) {
        size_t size = decode(text, at, &cp);
        if (!utf8_space(cp))
            break;
        at += size;
    }
    return at;
}

/* Puts a part of at most PASSAGE_MAX characters behind the open piece, or in its place. */
static int add_piece_part(struct cutter *cutter, struct text_piece part)
{
    struct text_piece *open = &cutter->open;
    int code = 0;
    if (open->chars > 0 && open->chars + part.chars + 1 > PASSAGE_MAX) {
        code = give_open(cutter);
        *open = part;
    } else if (open->chars == 0) {
        *open = measure_piece(cutter->text, skip_blank(cutter->text, part.start, part.end),
                              part.end);
        trim_end(open);
    } else if (part.blank_chars == part.chars) {
        trim_end(open);
    } else {
        open->chars += 1 + part.chars - part.blank_chars;
        open->end = open->solid_end = part.solid_end;
        open->blank_chars = 0;
    }
    return code;
}

/* What shows nothing, such as a joiner, may stand in a word. */
static bool is_in_word(struct ethos_view text, size_t at)
{
    uint32_t cp, folded[UNICODE_FOLD_MAX];
    decode(text, at, &cp);
    enum unicode_kind kind = unicode_kind(cp);
    return (kind != UNICODE_OTHER && kind != UNICODE_SYMBOL) || unicode_fold(cp, folded) == 0;
}

/* Bytes of a part that make a passage: as many words as fit, or of a longer word what does; all when all fits. */
static size_t head_of_words(struct ethos_view part)
{
    size_t head = passages_head(part), end = head, before;
    if (head == part.size || !is_in_word(part, head))
        return head;
    for (; end > 0; end = before) {
        before = end - 1;
        while (before > 0 && ((unsigned char)part.data[before] & 0xC0) == 0x80)
            before--;
        if (!is_in_word(part, before))
            return end;
    }
    return head;
}

/* One part between two cuts. */
static int cut_part(struct cutter *cutter, size_t start, size_t end)
{
    int code = 0;
    size_t head;
    while (code == 0 &&
           (head = head_of_words(view_of(cutter->text.data + start, end - start))) < end - start) {
        code = give_open(cutter);
        code = code ? code : give_passage(cutter, start, start + head);
        start += head;
    }
    return code ? code : add_piece_part(cutter, measure_piece(cutter->text, start, end));
}

static int cut_passages(struct cutter *cutter)
{
    struct ethos_view text = cutter->text;
    size_t start = 0, at = 0;
    uint32_t cp, before = 0;
    int code = 0;
    while (at < text.size && code == 0) {
        size_t size = decode(text, at, &cp);
        if (utf8_space(cp) && (before == '.' || before == '!' || before == '?' || before == '\n')) {
            code = cut_part(cutter, start, at);
            start = at = skip_blank(text, at, text.size);
            before = 0;
        } else {
            before = cp;
            at += size;
        }
    }
    code = code ? code : cut_part(cutter, start, text.size);
    return code ? code : give_open(cutter);
}

size_t passages_head(struct ethos_view text)
{
    uint32_t cp;
    size_t at = 0;
    for (size_t chars = 0; at < text.size && chars < PASSAGE_MAX; chars++)
        at += decode(text, at, &cp);
    return at;
}

int passages_each(struct ethos_view text, passage_fn *each, void *arg)
{
    struct cutter cutter = {.text = text, .each = each, .arg = arg};
    if (text.size <= PASSAGE_MAX || passages_head(text) == text.size)
        return each(arg, 0, text.size);
    int code = cut_passages(&cutter);
    return code || cutter.given > 0 ? code : each(arg, 0, text.size);
}

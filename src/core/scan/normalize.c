/*
 * normalize.c: a text as a reader takes it.
 */
#include "core/scan/normalize.h"

#include <string.h>

#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

/* Letters of other scripts that are taken for Latin ones; this and the next table by the first column. */
static const struct letter {
    uint32_t from;
    char to;
} confusables[] = {
    {0x3B1, 'a'},  {0x3B3, 'y'},  {0x3B5, 'e'},  {0x3B7, 'n'},  {0x3B9, 'i'},  {0x3BA, 'k'},
    {0x3BC, 'u'},  {0x3BD, 'v'},  {0x3BF, 'o'},  {0x3C1, 'p'},  {0x3C3, 'o'},  {0x3C4, 't'},
    {0x3C5, 'u'},  {0x3C7, 'x'},  {0x3C9, 'w'},  {0x3F2, 'c'},  {0x3F3, 'j'},  {0x430, 'a'},
    {0x432, 'b'},  {0x433, 'r'},  {0x435, 'e'},  {0x43A, 'k'},  {0x43C, 'm'},  {0x43D, 'h'},
    {0x43E, 'o'},  {0x43F, 'n'},  {0x440, 'p'},  {0x441, 'c'},  {0x442, 't'},  {0x443, 'y'},
    {0x445, 'x'},  {0x448, 'w'},  {0x44A, 'b'},  {0x44C, 'b'},  {0x455, 's'},  {0x456, 'i'},
    {0x458, 'j'},  {0x461, 'w'},  {0x475, 'v'},  {0x4AF, 'y'},  {0x4BB, 'h'},  {0x4C0, 'l'},
    {0x4CF, 'l'},  {0x501, 'd'},  {0x51B, 'q'},  {0x51D, 'w'},  {0x561, 'w'},  {0x563, 'q'},
    {0x566, 'q'},  {0x570, 'h'},  {0x578, 'n'},  {0x57C, 'n'},  {0x57D, 'u'},  {0x581, 'g'},
    {0x584, 'f'},  {0x585, 'o'},  {0x10D5, '3'}, {0x13A0, 'd'}, {0x13A1, 'r'}, {0x13A2, 't'},
    {0x13A5, 'i'}, {0x13AA, 'a'}, {0x13AB, 'j'}, {0x13AC, 'e'}, {0x13B3, 'w'}, {0x13B7, 'm'},
    {0x13BB, 'h'}, {0x13C0, 'g'}, {0x13C2, 'h'}, {0x13C3, 'z'}, {0x13CF, 'b'}, {0x13D2, 'r'},
    {0x13DA, 's'}, {0x13DE, 'l'}, {0x13DF, 'c'}, {0x13E2, 'p'}, {0x13E6, 'k'},
};

/* Letters that have no accent to be taken off. */
static const struct letter plain_letters[] = {
    {0xDF, 's'},   {0xE6, 'e'},   {0xF0, 'd'},   {0xF8, 'o'},   {0xFE, 't'},   {0x111, 'd'},
    {0x127, 'h'},  {0x131, 'i'},  {0x138, 'k'},  {0x142, 'l'},  {0x153, 'e'},  {0x167, 't'},
    {0x251, 'a'},  {0x261, 'g'},  {0x26A, 'i'},  {0x274, 'n'},  {0x280, 'r'},  {0x1D00, 'a'},
    {0x1D04, 'c'}, {0x1D05, 'd'}, {0x1D07, 'e'}, {0x1D0A, 'j'}, {0x1D0B, 'k'}, {0x1D0D, 'm'},
    {0x1D0F, 'o'}, {0x1D18, 'p'}, {0x1D1B, 't'}, {0x1D1C, 'u'}, {0x1D20, 'v'}, {0x1D21, 'w'},
    {0x1D22, 'z'}, {0xA730, 'f'}, {0xA731, 's'},
};

#define FLAG_TAGS 6 /* letters of tags that a flag has */
#define TAG_SIZE 4  /* bytes */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What shows nothing, beyond what unicode_fold() leaves out. */
static bool is_invisible(uint32_t cp)
{
    return cp == 0xAD || cp == 0x34F || cp == 0x61C || cp == 0x115F || cp == 0x1160 ||
           cp == 0x180E || (cp >= 0x200B && cp <= 0x200F) || (cp >= 0x202A && cp <= 0x202E) ||
           (cp >= 0x2060 && cp <= 0x206F) || cp == 0x3164 || (cp >= 0xFE00 && cp <= 0xFE0F) ||
           cp == 0xFEFF || cp == 0xFFA0 || (cp >= 0xE0100 && cp <= 0xE01EF);
}

bool normal_is_invisible(uint32_t cp)
{
    return is_invisible(cp) || (cp >= 0x17B4 && cp <= 0x17B5) || (cp >= 0x180B && cp <= 0x180F) ||
           (cp >= 0xFFF9 && cp <= 0xFFFB) || (cp >= 0x1BCA0 && cp <= 0x1BCA3) ||
           (cp >= 0x1D173 && cp <= 0x1D17A) || (cp >= 0xE0000 && cp <= 0xE0FFF);
}

/* What a table says for a letter, or '\0'. */
static char find_letter(const struct letter *letters, size_t count, uint32_t cp)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (letters[middle].from < cp)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && letters[low].from == cp ? letters[low].to : '\0';
}

/* Scripts in which a mark may be taken off a letter. */
static bool has_accents(uint32_t base)
{
    return base < 0x530 || (base >= 0x1E00 && base < 0x2000);
}

struct writer {
    struct normal_text *out;
    uint32_t base; /* the letter before */
    size_t spaces;
    unsigned tags;   /* letters of tags, one behind the other */
    size_t tags_end; /* at the end, 2 at most */
};

static void put_character(struct writer *self, uint32_t cp, size_t from)
{
    struct normal_text *out = self->out;
    size_t size = utf8_put(cp, out->text + out->size);

    for (size_t i = 0; i < size; i++)
        out->from[out->size + i] = (uint16_t)from;
    out->size += size;
    self->spaces = 0;
}

static void put_space(struct writer *self, size_t from)
{
    if (self->spaces >= 2)
        return;
    size_t spaces = self->spaces + 1;
    put_character(self, ' ', from);
    self->spaces = spaces;
    self->base = ' ';
}

/* Another character than an ASCII one. */
static void put_folded(struct writer *self, uint32_t cp, size_t from)
{
    uint32_t folded[UNICODE_FOLD_MAX];

    if (cp >= 0xE0020 && cp <= 0xE007E) {
        self->out->strange = true;
        self->out->hidden++;
        self->tags = from == self->tags_end ? self->tags + 1 : 1;
        self->tags_end = from + TAG_SIZE;
        self->out->tags += self->tags > FLAG_TAGS;
        put_character(self, unicode_lower(cp - 0xE0000), from);
        return;
    }
    if (is_invisible(cp)) {
        self->out->strange = true;
        self->out->hidden += cp >= 0xE0100 || (cp >= 0x202D && cp <= 0x202E) || cp == 0xAD ||
                             (cp >= 0x200B && cp <= 0x200D && self->base >= 'a' &&
                              self->base <= 'z') ||
                             (cp >= 0x2060 && cp <= 0x2064);
        return;
    }
    if (utf8_space(cp)) {
        put_space(self, from);
        return;
    }
    if (cp >= 0x64B && cp <= 0x652) // Arabic vowels, which may be left out
        return;
    if (cp >= 0x530 && !(cp >= 0x1D00 && cp < 0x2000) && !(cp >= 0x2100 && cp < 0x2500) &&
        !(cp >= 0xF900 && cp < 0xFF00) && cp < 0x1D400 && !(cp >= 0xFF00 && cp < 0xFFF0)) {
        put_character(self, cp, from); // ideographs, syllables: as they are
        self->base = cp;
        return;
    }
    size_t count = unicode_fold(cp, folded);
    self->out->strange = self->out->strange || (cp >= 0x2100 && folded[0] < 0x80 && count > 0);
    for (size_t i = 0; i < count; i++) {
        if (unicode_is_mark(folded[i]) && has_accents(self->base))
            continue;
        char plain = find_letter(plain_letters, COUNT(plain_letters), folded[i]);
        uint32_t written = plain ? (uint32_t)plain : folded[i];
        put_character(self, written, from);
        self->base = written;
    }
}

/* Turns look-alikes in words that also have Latin letters into those. */
static void replace_confusables(struct normal_text *self)
{
    size_t to = 0;

    for (size_t at = 0; at < self->size;) {
        size_t end = at;
        bool latin = false, other = false;

        while (end < self->size && self->text[end] != ' ') {
            unsigned char c = (unsigned char)self->text[end++];

            latin = latin || (c >= 'a' && c <= 'z');
            other = other || c >= 0x80;
        }
        for (; at < end;) {
            uint32_t cp;
            size_t size = utf8_decode(self->text + at, end - at, &cp, NULL);
            char letter = latin && other ? find_letter(confusables, COUNT(confusables), cp) : '\0';

            self->from[to] = self->from[at];
            self->strange = self->strange || letter;
            if (letter) {
                self->text[to++] = letter;
            } else {
                for (size_t i = 0; i < size; i++, to++) {
                    self->text[to] = self->text[at + i];
                    self->from[to] = self->from[at + i];
                }
            }
            at += size;
        }
        if (at < self->size) {
            self->text[to] = self->text[at];
            self->from[to++] = self->from[at++];
        }
    }
    self->size = to;
}

size_t normalize(struct ethos_view text, struct normal_text *out)
{
    struct writer writer = {.out = out, .base = ' '};
    size_t at = 0;
    bool ascii = true;

    out->size = 0;
    out->strange = false;
    out->hidden = 0;
    out->tags = 0;
    while (at < text.size && at < UINT16_MAX && out->size + 4 * UNICODE_FOLD_MAX < NORMAL_MAX) {
        unsigned char c = (unsigned char)text.data[at];

        if (c > ' ' && c < 0x80) {
            out->text[out->size] = (char)(c | (unsigned)(c >= 'A' && c <= 'Z') << 5);
            out->from[out->size++] = (uint16_t)at;
            writer.spaces = 0;
            writer.base = c;
            at++;
            continue;
        }
        if (c < 0x80) {
            if (c == ' ' || (c >= '\t' && c <= '\r')) {
                put_space(&writer, at);
            } else {
                put_character(&writer, c, at);
                writer.base = c;
            }
            at++;
            continue;
        }
        uint32_t cp;
        size_t size = utf8_decode(text.data + at, text.size - at, &cp, NULL);
        ascii = false;
        put_folded(&writer, cp, at);
        at += size;
    }
    if (!ascii)
        replace_confusables(out);
    return at;
}

/*
 * filter.c: the walk that decides that most text has nothing to be found.
 */
#include "core/scan/filter.h"

enum { A = 1, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X, Y, Z };
enum { DIGIT = 27, JOIN, PATH, SIGN, MARK };

const uint8_t filter_fold[256] = {
    ['a'] = A,     ['b'] = B,     ['c'] = C,    ['d'] = D,    ['e'] = E,     ['f'] = F,
    ['g'] = G,     ['h'] = H,     ['i'] = I,    ['j'] = J,    ['k'] = K,     ['l'] = L,
    ['m'] = M,     ['n'] = N,     ['o'] = O,    ['p'] = P,    ['q'] = Q,     ['r'] = R,
    ['s'] = S,     ['t'] = T,     ['u'] = U,    ['v'] = V,    ['w'] = W,     ['x'] = X,
    ['y'] = Y,     ['z'] = Z,     ['A'] = A,    ['B'] = B,    ['C'] = C,     ['D'] = D,
    ['E'] = E,     ['F'] = F,     ['G'] = G,    ['H'] = H,    ['I'] = I,     ['J'] = J,
    ['K'] = K,     ['L'] = L,     ['M'] = M,    ['N'] = N,    ['O'] = O,     ['P'] = P,
    ['Q'] = Q,     ['R'] = R,     ['S'] = S,    ['T'] = T,    ['U'] = U,     ['V'] = V,
    ['W'] = W,     ['X'] = X,     ['Y'] = Y,    ['Z'] = Z,    ['0'] = O,     ['1'] = I,
    ['2'] = DIGIT, ['3'] = E,     ['4'] = A,    ['5'] = S,    ['6'] = DIGIT, ['7'] = T,
    ['8'] = B,     ['9'] = DIGIT, ['@'] = A,    ['$'] = S,    ['!'] = I,     ['_'] = JOIN,
    ['-'] = JOIN,  ['.'] = PATH,  ['/'] = PATH, [':'] = PATH, ['~'] = PATH,  ['='] = SIGN,
    ['&'] = SIGN,  ['%'] = SIGN,  ['"'] = SIGN, ['*'] = MARK, ['`'] = MARK,  ['<'] = MARK,
    ['>'] = MARK,
};

#include "core/scan/filter_table.inc"

const size_t filter_anchor_count = sizeof(filter_anchors) / sizeof(filter_anchors[0]);
const size_t filter_word_count = sizeof(filter_words) / sizeof(filter_words[0]);

static inline bool is_counted(const uint32_t *bits, unsigned trigram)
{
    return bits[trigram / 32] >> trigram % 32 & 1;
}

const char *filter_next(const char *p, const char *end, unsigned kind)
{
    const uint32_t *bits = filter_bits[kind];

    if (end - p < 3)
        return NULL;
    unsigned window = (unsigned)(filter_fold[(unsigned char)p[0]] << 5 |
                                 filter_fold[(unsigned char)p[1]]);
    for (p += 2; p < end; p++) {
        window = (window << 5 | filter_fold[(unsigned char)*p]) & (FILTER_TRIGRAMS - 1);
        if (is_counted(bits, window))
            return p - 2;
    }
    return NULL;
}

const struct filter_anchor *filter_find(unsigned kind, unsigned trigram, size_t *out_count)
{
    const struct filter_anchor *anchors = kind == FILTER_SECRETS ? filter_anchors : filter_words;
    size_t count = kind == FILTER_SECRETS ? filter_anchor_count : filter_word_count;
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (anchors[middle].trigram < trigram)
            low = middle + 1;
        else
            high = middle;
    }
    size_t first = low;
    while (low < count && anchors[low].trigram == trigram)
        low++;
    *out_count = low - first;
    return anchors + first;
}

bool filter_starts(const char *text, const char *end, const char *word)
{
    for (; *word; word++) {
        if (*word == ' ') {
            const char *from = text;

            while (text < end && (*text == ' ' || *text == '\t'))
                text++;
            if (text == from)
                return false;
        } else if (text == end ||
                   filter_fold[(unsigned char)*text] != filter_fold[(unsigned char)*word]) {
            return false;
        } else {
            text++;
        }
    }
    return true;
}

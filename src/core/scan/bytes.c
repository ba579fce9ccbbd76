/*
 * bytes.c: classes of bytes.
 */
#include "core/scan/bytes.h"

#define D BYTE_DIGIT
#define U BYTE_UPPER
#define X (BYTE_UPPER | BYTE_HEX_UPPER)
#define L BYTE_LOWER
#define H (BYTE_LOWER | BYTE_HEX_LOWER)

const uint16_t byte_classes[256] = {
    ['\t'] = BYTE_BLANK, [' '] = BYTE_BLANK,
    ['"'] = BYTE_QUOTE,  ['\''] = BYTE_QUOTE,
    ['`'] = BYTE_QUOTE,  ['%'] = BYTE_PERCENT,
    ['@'] = BYTE_AT,     ['~'] = BYTE_TILDE,
    ['+'] = BYTE_BASE64, ['/'] = BYTE_BASE64,
    ['='] = BYTE_EQUALS, ['-'] = BYTE_DASH,
    ['.'] = BYTE_DOT,    ['_'] = BYTE_UNDERSCORE,
    ['0'] = D,           ['1'] = D,
    ['2'] = D,           ['3'] = D,
    ['4'] = D,           ['5'] = D,
    ['6'] = D,           ['7'] = D,
    ['8'] = D,           ['9'] = D,
    ['A'] = X,           ['B'] = X,
    ['C'] = X,           ['D'] = X,
    ['E'] = X,           ['F'] = X,
    ['G'] = U,           ['H'] = U,
    ['I'] = U,           ['J'] = U,
    ['K'] = U,           ['L'] = U,
    ['M'] = U,           ['N'] = U,
    ['O'] = U,           ['P'] = U,
    ['Q'] = U,           ['R'] = U,
    ['S'] = U,           ['T'] = U,
    ['U'] = U,           ['V'] = U,
    ['W'] = U,           ['X'] = U,
    ['Y'] = U,           ['Z'] = U,
    ['a'] = H,           ['b'] = H,
    ['c'] = H,           ['d'] = H,
    ['e'] = H,           ['f'] = H,
    ['g'] = L,           ['h'] = L,
    ['i'] = L,           ['j'] = L,
    ['k'] = L,           ['l'] = L,
    ['m'] = L,           ['n'] = L,
    ['o'] = L,           ['p'] = L,
    ['q'] = L,           ['r'] = L,
    ['s'] = L,           ['t'] = L,
    ['u'] = L,           ['v'] = L,
    ['w'] = L,           ['x'] = L,
    ['y'] = L,           ['z'] = L,
};

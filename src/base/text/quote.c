/*
 * quote.c: control bytes made visible, and words made safe for a shell. A backslash stays as it is
 * in messages, so that they repeat an ordinary id or key byte for byte.
 */
#include "base/text/quote.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

#define ESCAPE_SIZE 4 /* bytes of the longest escape, \x7f */

static size_t put_escape(unsigned char c, char *out)
{
    static const char hex[] = "0123456789abcdef";
    char letter = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : 'x';

    out[0] = '\\';
    out[1] = letter;
    if (letter != 'x')
        return 2;
    out[2] = hex[c >> 4];
    out[3] = hex[c & 15];
    return ESCAPE_SIZE;
}

static const char *quote(struct ethos_view v, bool controls, char out[QUOTE_SIZE])
{
    size_t used = 0;

    for (size_t i = 0; i < v.size && used + ESCAPE_SIZE < QUOTE_SIZE; i++) {
        unsigned char c = (unsigned char)v.data[i];
        if (c == 0 || (controls && (c < 0x20 || c == 0x7f)))
            used += put_escape(c, out + used);
        else
            out[used++] = v.data[i];
    }
    out[used] = 0;
    return out;
}

const char *quote_line(struct ethos_view v, char out[QUOTE_SIZE])
{
    return quote(v, true, out);
}

const char *quote_exact(struct ethos_view v, char out[QUOTE_SIZE])
{
    return quote(v, false, out);
}

static bool is_unquoted(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-./+,:@", c));
}

int quote_shell(struct ethos_view v, struct str *out)
{
    size_t plain = 0;
    while (plain < v.size && is_unquoted(v.data[plain]))
        plain++;
    if (plain == v.size && v.size > 0)
        return str_add(out, v);
    str_addc(out, '\'');
    for (size_t i = 0; i < v.size; i++) {
        if (v.data[i] == '\'')
            str_adds(out, "'\\''");
        else
            str_addc(out, v.data[i]);
    }
    return str_addc(out, '\'');
}

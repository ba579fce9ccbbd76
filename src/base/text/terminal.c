/*
 * terminal.c: text from elsewhere, made safe for a terminal.
 */
#include "base/text/terminal.h"

#include <stdbool.h>

#include "base/str.h"
#include "base/text/invisible.h"
#include "base/utf8.h"
#include "base/view.h"

static bool is_control(uint32_t cp)
{
    return (cp < 0x20 && cp != '\n' && cp != '\t') || cp == 0x7F;
}

/* One character that a terminal must not see, as something to read. */
static void append_escaped(struct ethos_view bytes, uint32_t cp, bool valid, struct str *out)
{
    if (valid && is_control(cp))
        str_printf(out, "^%c", (char)(cp ^ 0x40));
    else if (valid && cp >= 0xA0)
        str_printf(out, "\\u{%X}", (unsigned)cp);
    else if (valid)
        str_printf(out, "\\x%02x", (unsigned)cp);
    for (size_t i = 0; !valid && i < bytes.size; i++)
        str_printf(out, "\\x%02x", (unsigned char)bytes.data[i]);
}

int terminal_escape(struct ethos_view text, struct str *out)
{
    size_t size, done = 0;
    for (size_t i = 0; i < text.size; i += size) {
        uint32_t cp;
        bool valid;
        size = 1;
        if ((unsigned char)text.data[i] - 0x20u < 0x5Fu)
            continue;
        size = utf8_decode(text.data + i, text.size - i, &cp, &valid);
        if (valid && !is_control(cp) && !(cp >= 0x80 && cp < 0xA0) && !hidden_at(text, i, cp))
            continue;
        str_add(out, view_of(text.data + done, i - done));
        append_escaped(view_of(text.data + i, size), cp, valid, out);
        done = i + size;
    }
    return str_add(out, view_from(text, done));
}

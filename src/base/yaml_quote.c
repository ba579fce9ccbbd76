/*
 * yaml_quote.c: one value as YAML text.
 *
 * Plain wherever block style reads the very same string back; else in double quotes, with escapes
 * for what a line of YAML cannot hold. Numbers, booleans and dates are plain for our own files, where
 * everything is a string, and quoted for readers that know types.
 */
#include "base/yaml.h"

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

/* Whether the character may stand in YAML text as it is, on one line. */
static bool printable(uint32_t cp)
{
    if (cp < 0xA0)
        return cp >= 0x20 && cp < 0x7F;
    return cp != 0x2028 && cp != 0x2029 && cp != 0xFEFF && cp != 0xFFFE && cp != 0xFFFF;
}

static bool all_printable(struct ethos_view v)
{
    for (size_t at = 0; at < v.size;) {
        uint32_t cp;
        bool ok;

        at += utf8_decode(v.data + at, v.size - at, &cp, &ok);
        if (!ok || !printable(cp))
            return false;
    }
    return true;
}

bool yaml_is_null(struct ethos_view v)
{
    return v.size == 0 || view_eq_str(v, "~") || view_eq_nocase(v, VIEW("null"));
}

static bool is_plain_scalar(struct ethos_view v)
{
    static const char indicators[] = "-?:,[]{}#&*!|>'\"%@`";

    if (yaml_is_null(v) || !all_printable(v) || v.data[0] == ' ' || v.data[v.size - 1] == ' ')
        return false;
    // A sign before a digit is a number, not the start of a list.
    bool number = v.size > 1 && v.data[0] == '-' && v.data[1] >= '0' && v.data[1] <= '9';
    if (memchr(indicators, v.data[0], sizeof(indicators) - 1) && !number)
        return false;
    return v.data[v.size - 1] != ':' && !view_contains(v, VIEW(": ")) &&
           !view_contains(v, VIEW(" #"));
}

static void add_escaped(struct str *out, uint32_t cp)
{
    static const char names[] = "\"\\\n\t\r", escapes[] = "\"\\ntr";
    const char *name = cp < 0x80 ? memchr(names, (int)cp, sizeof(names) - 1) : NULL;
    char bytes[4];

    if (name) {
        str_addc(out, '\\');
        str_addc(out, escapes[name - names]);
    } else if (printable(cp)) {
        str_add(out, view_of(bytes, utf8_put(cp, bytes)));
    } else {
        str_printf(out, "\\u%04X", (unsigned)cp); // nothing above U+FFFF is unprintable here
    }
}

static int add_yaml_quoted(struct ethos_view v, struct str *out)
{
    str_addc(out, '"');
    for (size_t at = 0; at < v.size;) {
        uint32_t cp;

        at += utf8_decode(v.data + at, v.size - at, &cp, NULL);
        add_escaped(out, cp);
    }
    return str_addc(out, '"');
}

int yaml_quote(const char *value, struct str *out)
{
    struct ethos_view v = view_str(value);

    return is_plain_scalar(v) ? str_add(out, v) : add_yaml_quoted(v, out);
}

/* Whether some YAML reader may take it for a number, a time, a boolean or a merge key. */
static bool looks_typed(struct ethos_view v)
{
    static const char *const words[] = {"y",   "n",    "yes",   "no", "on",
                                        "off", "true", "false", "=",  "<<"};
    static const char starts[] = "0123456789+-.";
    static const char rest[] = "0123456789abcdefABCDEFxXoO_+-.:TtZz iInN";

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (view_eq_nocase(v, view_str(words[i])))
            return true;
    }
    if (v.size == 0 || !memchr(starts, v.data[0], sizeof(starts) - 1))
        return false;
    for (size_t i = 0; i < v.size; i++) {
        if (!memchr(rest, v.data[i], sizeof(rest) - 1))
            return false;
    }
    return true;
}

int yaml_quote_string(struct ethos_view value, struct str *out)
{
    return is_plain_scalar(value) && !looks_typed(value) ? str_add(out, value)
                                                         : add_yaml_quoted(value, out);
}

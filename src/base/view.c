/*
 * view.c: searching and trimming borrowed bytes.
 */
#include "base/view.h"

#include "base/utf8.h"

bool view_starts(struct ethos_view v, struct ethos_view prefix)
{
    return v.size >= prefix.size && view_eq(view_of(v.data, prefix.size), prefix);
}

bool view_ends(struct ethos_view v, struct ethos_view suffix)
{
    return v.size >= suffix.size && view_eq(view_from(v, v.size - suffix.size), suffix);
}

bool view_contains(struct ethos_view v, struct ethos_view needle)
{
    return needle.size == 0 ||
           (v.size >= needle.size && memmem(v.data, v.size, needle.data, needle.size));
}

bool view_line(struct ethos_view *rest, struct ethos_view *out_line)
{
    if (rest->size == 0)
        return false;
    const char *newline = memchr(rest->data, '\n', rest->size);
    size_t size = newline ? (size_t)(newline - rest->data) : rest->size;
    *out_line = view_of(rest->data, size);
    *rest = view_from(*rest, newline ? size + 1 : size);
    return true;
}

#define BYTES(byte) (UINT64_MAX / 255 * (byte)) /* eight of them */

/* LFs among eight bytes: those whose difference to LF is nothing have no bit set below or at the top. */
static size_t newlines_in_word(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    word ^= BYTES('\n');
    word = ~(((word & BYTES(0x7F)) + BYTES(0x7F)) | word | BYTES(0x7F)) >> 7;
    return (size_t)(word * BYTES(1) >> 56);
}

size_t view_newlines(struct ethos_view v)
{
    size_t count = 0, at = 0;
    for (; v.size - at >= sizeof(uint64_t); at += sizeof(uint64_t))
        count += newlines_in_word(v.data + at);
    for (; at < v.size; at++)
        count += v.data[at] == '\n';
    return count;
}

size_t view_lines(struct ethos_view v)
{
    return view_newlines(v) + (v.size > 0 && v.data[v.size - 1] != '\n');
}

/* Eight bytes at a time as long as the last LF to be passed is behind them, and so is the end. */
bool view_skip_lines(struct ethos_view *rest, size_t count)
{
    struct ethos_view line;
    size_t at = 0, passed;
    while (rest->size - at > sizeof(uint64_t) &&
           (passed = newlines_in_word(rest->data + at)) < count) {
        count -= passed;
        at += sizeof(uint64_t);
    }
    *rest = view_from(*rest, at);
    while (count > 0 && view_line(rest, &line))
        count--;
    return count == 0;
}

bool view_last_line(struct ethos_view *rest, struct ethos_view *out_line)
{
    struct ethos_view all = {rest->data, rest->size - view_ends(*rest, VIEW("\n"))};
    const char *lf = all.size ? memrchr(all.data, '\n', all.size) : NULL;

    if (rest->size == 0)
        return false;
    rest->size = lf ? (size_t)(lf + 1 - all.data) : 0;
    *out_line = view_from(all, rest->size);
    return true;
}

/* Most texts begin and end with such a byte, and need not be decoded. */
static bool is_black(char c)
{
    return c > ' ' && c < 0x7F;
}

struct ethos_view view_trim_start(struct ethos_view v)
{
    while (v.size > 0 && v.data[0] == ' ')
        v = view_from(v, 1);
    while (v.size > 0 && !is_black(v.data[0])) {
        uint32_t cp;
        size_t size = utf8_decode(v.data, v.size, &cp, NULL);

        if (!utf8_space(cp))
            break;
        v = view_from(v, size);
    }
    return v;
}

struct ethos_view view_trim_end(struct ethos_view v)
{
    while (v.size > 0 && !is_black(v.data[v.size - 1])) {
        uint32_t cp;
        size_t start = utf8_before(v, v.size);

        utf8_decode(v.data + start, v.size - start, &cp, NULL);
        if (!utf8_space(cp))
            break;
        v.size = start;
    }
    return v;
}

struct ethos_view view_trim(struct ethos_view v)
{
    return view_trim_start(view_trim_end(v));
}

bool view_blank(struct ethos_view v)
{
    return view_trim_start(v).size == 0;
}

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool view_eq_nocase(struct ethos_view a, struct ethos_view b)
{
    if (a.size != b.size)
        return false;
    for (size_t i = 0; i < a.size; i++) {
        if (a.data[i] != b.data[i] && lower(a.data[i]) != lower(b.data[i]))
            return false;
    }
    return true;
}

/*
 * cluster.c: clusters of characters, and their columns on a terminal.
 */
#include "base/text/cluster.h"

#include <wchar.h>

#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

#define JOINER 0x200D
#define EMOJI_STYLE 0xFE0F

void cluster_widths_init(struct cluster_widths *self)
{
    *self = (struct cluster_widths){.locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0),
                                    .emoji_is_two = true,
                                    .tone_is_none = true,
                                    .joined_is_two = true};
}

void cluster_widths_release(struct cluster_widths *self)
{
    if (self->locale)
        freelocale(self->locale);
    self->locale = (locale_t)0;
}

size_t cluster_end(struct ethos_view text, size_t at)
{
    bool plain = (unsigned char)text.data[at] - 0x20u < 0x5Fu &&
                 (at + 1 == text.size || (unsigned char)text.data[at + 1] < 0x80);
    return plain ? at + 1 : unicode_boundary(text, at + 1);
}

static bool is_tone(uint32_t cp)
{
    return cp >= 0x1F3FB && cp <= 0x1F3FF;
}

static int character_width(const struct cluster_widths *self, uint32_t cp)
{
    int width = -1;
    if (cp >= 0x20 && cp < 0x7F)
        return 1;
    if (self->locale) {
        locale_t before = uselocale(self->locale);
        width = wcwidth((wchar_t)cp);
        uselocale(before);
    }
    return width >= 0 ? width : unicode_width(cp);
}

int cluster_width(const struct cluster_widths *self, struct ethos_view cluster)
{
    bool emoji = false, joined = false;
    int width = 0;
    for (size_t at = 0, size; at < cluster.size; at += size) {
        uint32_t cp;
        size = utf8_decode(cluster.data + at, cluster.size - at, &cp, NULL);
        emoji = emoji || cp == EMOJI_STYLE;
        joined = joined || (cp == JOINER && at + size < cluster.size);
        if (!is_tone(cp) || at == 0 || !self->tone_is_none)
            width += character_width(self, cp);
    }
    if (joined && self->joined_is_two && width > 2)
        return 2;
    return emoji && self->emoji_is_two && width == 1 ? 2 : width;
}

int cluster_text_width(const struct cluster_widths *self, struct ethos_view text)
{
    int width = 0;
    for (size_t at = 0, end; at < text.size; at = end) {
        end = cluster_end(text, at);
        width += cluster_width(self, view_of(text.data + at, end - at));
    }
    return width;
}

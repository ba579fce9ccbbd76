/*
 * line_kinds.c: recognises headings and list items of markdown.
 */
#include "core/formats/line_kinds.h"

#include <string.h>

#include "base/view.h"

unsigned markdown_heading(struct ethos_view line)
{
    unsigned level = 0;
    while (level < line.size && line.data[level] == '#')
        level++;
    struct ethos_view rest = view_from(line, level);
    bool is = level >= 1 && level <= MARKDOWN_LEVELS &&
              (view_blank(rest) || rest.data[0] == ' ' || rest.data[0] == '\t');
    return is ? level : 0;
}

struct ethos_view markdown_heading_text(struct ethos_view line)
{
    struct ethos_view text = view_trim(view_from(line, markdown_heading(line)));
    size_t size = text.size;
    while (size > 0 && text.data[size - 1] == '#')
        size--;
    bool closed = size == 0 || (size < text.size && text.data[size - 1] == ' ');
    return closed ? view_trim(view_of(text.data, size)) : text;
}

bool markdown_is_item(struct ethos_view line)
{
    size_t digits = 0;
    while (digits < line.size && line.data[digits] >= '0' && line.data[digits] <= '9')
        digits++;
    const char *marks = digits > 0 ? ".)" : "-*+";
    return digits + 1 < line.size && line.data[digits + 1] == ' ' && line.data[digits] &&
           strchr(marks, line.data[digits]);
}

bool markdown_is_indented(struct ethos_view line)
{
    return line.size > 0 && (line.data[0] == ' ' || line.data[0] == '\t');
}

/*
 * view.h: borrowed bytes.
 *
 * A view never owns and is never terminated. All functions accept the empty view; none reads past
 * size. Trimming follows the memory format's set of white space, not the locale's.
 */
#ifndef ETHOS_BASE_VIEW_H
#define ETHOS_BASE_VIEW_H

#include <stdbool.h>
#include <string.h>

#include <ethos/types.h>

#define VIEW(literal) ((struct ethos_view){("" literal), sizeof(literal) - 1})
#define VIEW_ARG(v) (int)(v).size, (v).data /* for "%.*s" */

static inline struct ethos_view view_of(const char *data, size_t size)
{
    return (struct ethos_view){data, size};
}

/* NULL gives the absent view. */
static inline struct ethos_view view_str(const char *string)
{
    return (struct ethos_view){string, string ? strlen(string) : 0};
}

static inline bool view_eq(struct ethos_view a, struct ethos_view b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool view_eq_str(struct ethos_view a, const char *b)
{
    return view_eq(a, view_str(b));
}

/* From offset to the end; offset at most size. */
static inline struct ethos_view view_from(struct ethos_view v, size_t offset)
{
    return (struct ethos_view){v.data + offset, v.size - offset};
}

bool view_starts(struct ethos_view v, struct ethos_view prefix);

/* Without a leading byte order mark. */
static inline struct ethos_view view_unmarked(struct ethos_view v)
{
    return view_starts(v, VIEW("\xEF\xBB\xBF")) ? view_from(v, 3) : v;
}

bool view_ends(struct ethos_view v, struct ethos_view suffix);
bool view_contains(struct ethos_view v, struct ethos_view needle); /* empty needle: true */

/*
 * Reads the next line without its LF (a CR stays) and advances *rest. False at the end; "a\n" is
 * one line.
 */
bool view_line(struct ethos_view *rest, struct ethos_view *out_line);

/*
 * The number of LFs; the number of lines that view_line would return. Both are fast on large texts.
 */
size_t view_newlines(struct ethos_view v);
size_t view_lines(struct ethos_view v);

/* Skips that many lines of *rest. False if there are fewer; *rest is then somewhere behind them. */
bool view_skip_lines(struct ethos_view *rest, size_t count);

/* The same from the end. */
bool view_last_line(struct ethos_view *rest, struct ethos_view *out_line);

struct ethos_view view_trim(struct ethos_view v);
struct ethos_view view_trim_start(struct ethos_view v);
struct ethos_view view_trim_end(struct ethos_view v);
bool view_blank(struct ethos_view v);

/* ASCII only. */
bool view_eq_nocase(struct ethos_view a, struct ethos_view b);

#endif

/*
 * suggest.c: the name somebody probably meant.
 */
#include "base/text/suggest.h"

#include "base/view.h"

#define NAME_MAX_NEAR 64 /* bytes: longer names are near to nothing */
#define FAR (NAME_MAX_NEAR + 1)

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits between two names, a swap of neighbours being one, ASCII case ignored. */
static size_t edit_distance(struct ethos_view a, struct ethos_view b)
{
    size_t rows[3][NAME_MAX_NEAR + 1] = {{0}};

    if (a.size > NAME_MAX_NEAR || b.size > NAME_MAX_NEAR)
        return FAR;
    for (size_t j = 0; j <= b.size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            char x = fold(a.data[i - 1]);
            char y = fold(b.data[j - 1]);
            row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == fold(b.data[j - 2]) && y == fold(a.data[i - 2]))
                row[j] = least(row[j], above2[j - 2] + 1);
        }
    }
    return rows[a.size % 3][b.size];
}

size_t nearest_edits(struct ethos_view a, struct ethos_view b)
{
    return edit_distance(a, b);
}

/* How far a candidate is from what was typed; a beginning of it is at most one edit away. */
static size_t name_distance(struct ethos_view name, struct ethos_view candidate)
{
    size_t distance = edit_distance(name, candidate);

    if (name.size <= candidate.size && view_eq_nocase(name, view_of(candidate.data, name.size)))
        return least(distance, 1);
    return distance;
}

/* Edits that a name of this size may be away from what was meant. */
static size_t edit_limit(size_t size)
{
    return size < 6 ? 1 : least(size / 3, 3);
}

bool nearest_slip(struct ethos_view name, struct ethos_view candidate)
{
    return edit_distance(name, candidate) <= edit_limit(name.size);
}

const char *nearest_name(const char *name, const char *const *candidates)
{
    struct ethos_view typed = view_str(name);
    size_t best = least(edit_limit(typed.size) + 1,
                        typed.size); /* replacing every byte is not near */
    const char *nearest = NULL;

    for (; *candidates; candidates++) {
        size_t distance = name_distance(typed, view_str(*candidates));
        if (distance < best) {
            best = distance;
            nearest = *candidates;
        }
    }
    return nearest;
}

/*
 * fuzz_toml.c: a table that is added to any TOML file and taken out again.
 *
 * Statements cover the text in order, keys and values are pieces of them; where the table may be added, it
 * is found then and taking it out gives back every other statement; a quoted text reads back.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "core/agents/toml.h"

#define CEILING ((size_t)1 << 26)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_piece(struct ethos_view text, struct ethos_view part)
{
    return part.size == 0 ||
           (part.data >= text.data && part.data + part.size <= text.data + text.size);
}

static void check_parts(struct ethos_view key)
{
    struct ethos_view part, rest = key;
    size_t left = key.size + 1;
    while (toml_part(&rest, &part)) {
        assert(is_piece(key, part) && rest.size < left);
        left = rest.size + 1;
        if (rest.size == 0)
            break;
    }
}

static void check_members(struct ethos_view value)
{
    struct ethos_view key, member, rest = value;
    size_t before = rest.size + 1;
    while (toml_member(&rest, &key, &member)) {
        assert(is_piece(value, key) && is_piece(value, member) && rest.size < before);
        before = rest.size;
    }
}

/* Counts statements, those of the table p.n left out. */
static size_t walk(struct ethos_view text, bool *out_whole)
{
    struct toml_statement row;
    size_t offset = 0, last = 0, count = 0;
    int more;
    while ((more = toml_next(text, &offset, &row)) > 0) {
        assert(offset > last && is_piece(text, row.whole) && is_piece(row.whole, row.key));
        last = offset;
        struct ethos_view value = row.table ? VIEW("") : toml_value(&row);
        assert(row.table || is_piece(row.whole, value));
        check_parts(row.key);
        check_members(value);
        count++;
    }
    *out_whole = more == 0;
    return count;
}

static void check_table(struct ethos_view text)
{
    bool whole, same;
    size_t count = walk(text, &whole);
    struct str added, out;
    assert(whole || toml_room(text, "p", "n") != TOML_FREE);
    if (toml_room(text, "p", "n") != TOML_FREE)
        return;
    str_init(&added, CEILING);
    str_init(&out, CEILING);
    str_add(&added, text);
    str_adds(&added, "\n[p.n]\nx = 1\n");
    assert(toml_room(str_view(&added), "p", "n") == TOML_TAKEN);
    assert(toml_without(str_view(&added), "p", "n", &out) == ETHOS_OK);
    assert(toml_room(str_view(&out), "p", "n") == TOML_FREE &&
           walk(str_view(&out), &same) == count);
    str_release(&added);
    str_release(&out);
}

static void check_quote(struct ethos_view text)
{
    struct str line;
    struct toml_statement row;
    size_t offset = 0;
    str_init(&line, CEILING);
    str_adds(&line, "a = ");
    assert(toml_quote(text, &line) == ETHOS_OK);
    struct ethos_view quoted = view_from(str_view(&line), 4);
    str_adds(&line, "\n");
    quoted = view_of(line.data + 4, quoted.size);
    assert(toml_next(str_view(&line), &offset, &row) == 1 && offset == line.size);
    assert(view_eq(toml_value(&row), quoted));
    str_release(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size);
    check_table(text);
    check_quote(text);
    return 0;
}

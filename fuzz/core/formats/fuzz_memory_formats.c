/*
 * fuzz_memory_formats.c: files of other programs give items that are pieces of what was read, an index in
 * another form keeps its entries, and a block can be put in, replaced and taken out.
 *
 * Input: one byte that chooses the source, then the text.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/formats/memory_formats.h"
#include "core/notes/index.h"
#include "core/notes/note.h"

#define CEILING ((size_t)1 << 26)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const sources[] = {"claude-code", "claude-md", "jutul",
                                      "openclaw",    "hermes",    "server-memory"};

struct check {
    struct ethos_view text;
    size_t lines, last;
    const char *end; /* of the entry before */
};

static bool is_piece(const struct check *check, struct ethos_view part)
{
    return part.data >= check->text.data &&
           part.data + part.size <= check->text.data + check->text.size;
}

/* Titles are one line, and texts of facts never blank: what remember needs. */
static void check_fact(const struct foreign_item *item)
{
    struct str out;
    struct note note;

    assert(!view_blank(item->title) && !view_blank(item->text));
    str_init(&out, CEILING);
    assert(foreign_note(item, "fuzz", "fact.md", &out) == ETHOS_OK);
    note_parse(str_view(&out), &note);
    assert(note.has_frontmatter && view_eq(view_trim(note.body), view_trim(item->text)));
    str_clear(&out);
    assert(foreign_line(item, "fact.md", &out) == ETHOS_OK);
    assert(memchr(out.data, '\n', out.size) == out.data + out.size - 1);
    str_release(&out);
}

static int check_item(void *arg, const struct foreign_item *item)
{
    struct check *check = arg;

    assert(item->line >= 1 && item->line <= check->lines + 1);
    if (item->kind == FOREIGN_FACT) {
        check_fact(item);
        return ETHOS_OK;
    }
    assert(is_piece(check, item->text));
    if (item->kind == FOREIGN_ENTRY) {
        assert(!view_blank(item->text) && item->line > check->last);
        assert(!check->end || item->text.data > check->end);
        assert(!item->heading.data || is_piece(check, item->heading));
        check->last = item->line;
        check->end = item->text.data + item->text.size;
    }
    return ETHOS_OK;
}

static void check_skip(void *arg, size_t line, const char *why)
{
    const struct check *check = arg;
    assert(line <= check->lines && *why);
}

static bool any_file(void *arg, struct ethos_view file)
{
    (void)arg, (void)file;
    return true;
}

/* Joined with itself nothing is added; in the other form the same files are listed. */
static void check_index(struct ethos_view text)
{
    struct str out;
    struct index_entry a, b;
    size_t added, at = 0, to = 0;

    str_init(&out, CEILING);
    assert(foreign_join(text, text, any_file, NULL, &out, &added) == ETHOS_OK);
    assert(added == 0 && view_eq(str_view(&out), text));
    str_clear(&out);
    assert(foreign_jutul_index(text, &out) == ETHOS_OK);
    while (index_next(text, &at, &a))
        assert(index_next(str_view(&out), &to, &b) && view_eq(a.file, b.file));
    assert(!index_next(str_view(&out), &to, &b));
    str_release(&out);
}

/* What a block leaves behind when it is taken out again begins with the text. */
static void check_block(struct ethos_view text)
{
    struct str once, twice, safe;

    str_init(&once, CEILING);
    str_init(&twice, CEILING);
    str_init(&safe, CEILING);
    assert(foreign_disarm(text, &safe) == ETHOS_OK);
    assert(foreign_block(VIEW("x\n"), str_view(&safe), &once) == ETHOS_OK);
    int code = foreign_block(text, VIEW("block"), &once);
    assert(code == ETHOS_OK || code == ETHOS_INVALID);
    if (code == ETHOS_OK) {
        assert(foreign_block(str_view(&once), VIEW("block"), &twice) == ETHOS_OK);
        assert(view_eq(str_view(&once), str_view(&twice)));
        assert(foreign_block(str_view(&once), (struct ethos_view){0}, &twice) == ETHOS_OK);
        assert(!view_contains(str_view(&twice), VIEW("block")) ||
               view_contains(text, VIEW("block")));
    }
    str_release(&once);
    str_release(&twice);
    str_release(&safe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct str out;

    if (size == 0)
        return 0;
    struct check check = {.text = view_of((const char *)data + 1, size - 1)};
    struct ethos_view rest = check.text, line;
    const char *source = sources[data[0] % (sizeof(sources) / sizeof(sources[0]))];
    while (view_line(&rest, &line))
        check.lines++;
    arena_init(&arena);
    assert(foreign_read(source, "MEMORY.md", check.text, &arena, check_item, check_skip, &check) ==
           ETHOS_OK);
    arena_release(&arena);
    check_index(check.text);
    check_block(check.text);
    str_init(&out, CEILING);
    assert(foreign_jutul_note(check.text, VIEW("Title"), &out) == ETHOS_OK);
    str_release(&out);
    return 0;
}

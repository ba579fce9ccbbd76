/*
 * fuzz_note.c: frontmatter and index lines are slices of what was read, and index lines that are
 * written are read back.
 *
 * Input: the text, read as a note and as an index. Its first line is also a title and the rest a
 * hook.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/str.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "core/notes/index.h"
#include "core/notes/note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_slice(struct ethos_view part, struct ethos_view whole)
{
    if (part.data)
        assert(part.data >= whole.data && part.data + part.size <= whole.data + whole.size);
}

static void check_note(struct ethos_view text)
{
    struct note note;

    note_parse(text, &note);
    const struct ethos_view members[] = {
        note.name,   note.description, note.type,       note.title, note.created,    note.verified,
        note.source, note.expires,     note.supersedes, note.check, note.frontmatter};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        check_slice(members[i], note.frontmatter);
        assert(note.has_frontmatter || !members[i].data);
    }
    check_slice(note.body, text);
    assert(view_ends(text, note.body));
    assert(note.has_frontmatter || note.body.size == text.size);
}

static void check_index(struct ethos_view text)
{
    struct index_entry entry, alone;
    size_t offset = 0, last = 0;

    while (index_next(text, &offset, &entry)) {
        assert(entry.offset >= last && entry.line.data == text.data + entry.offset);
        assert(offset > entry.offset && offset <= text.size);
        check_slice(entry.title, entry.line);
        check_slice(entry.file, entry.line);
        check_slice(entry.hook, entry.line);
        assert(index_line(entry.line, &alone));
        assert(view_eq(alone.file, entry.file) && view_ends(entry.file, VIEW(".md")));
        last = offset;
    }
}

/* White space is collapsed and the hook may be cut, so once more must give the same line. */
static void check_format(struct ethos_view text)
{
    struct ethos_view title = {0}, rest = text;
    struct index_entry entry;
    struct str out;

    if (!view_line(&rest, &title))
        return;
    str_init(&out, (size_t)1 << 24);
    assert(index_format(title, VIEW("f.md"), rest, &out) == ETHOS_OK);
    assert(!memchr(out.data, '\n', out.size));
    if (index_line(str_view(&out), &entry))
        assert(view_eq(entry.file, VIEW("f.md")) && (entry.hook.size == 0) == line_blank(rest));
    else
        assert(line_blank(title));
    str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size);

    check_note(text);
    if (size == 0)
        return 0;
    check_index(text);
    check_format(text);
    return 0;
}

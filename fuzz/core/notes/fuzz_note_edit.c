/*
 * fuzz_note_edit.c: a member that is set reads back and nothing else has changed; a body never turns
 * into a head; a fact that is remembered is said by its note and listed once.
 *
 * Input: one byte for the member, a line with the value, then the text of the note.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/str.h"
#include "base/text/single_line.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/notes/index.h"
#include "core/notes/note.h"
#include "core/notes/remember.h"
#include "core/notes/skill.h"

#define LIMIT ((size_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"name",     "description", "type",    "title",      "created",
                                    "verified", "source",      "expires", "supersedes", "check"};

static struct ethos_view member_of(const struct note *note, size_t which)
{
    const struct ethos_view members[] = {
        note->name,     note->description, note->type,    note->title,      note->created,
        note->verified, note->source,      note->expires, note->supersedes, note->check};

    return members[which];
}

static size_t common_start(struct ethos_view a, struct ethos_view b)
{
    size_t at = 0;

    while (at < a.size && at < b.size && a.data[at] == b.data[at])
        at++;
    return at;
}

static size_t common_end(struct ethos_view a, struct ethos_view b)
{
    size_t at = 0;

    while (at < a.size && at < b.size && a.data[a.size - 1 - at] == b.data[b.size - 1 - at])
        at++;
    return at;
}

/* Whether every byte of the old text is there but for part of one line: what was the value. */
static void check_rest(struct ethos_view old, struct ethos_view now)
{
    size_t start = common_start(old, now), end = common_end(old, now);

    if (start + end < old.size)
        assert(!memchr(old.data + start, '\n', old.size - start - end));
}

/* Lines that are indented at random may come to count when others go; in the end none is left. */
static void check_drop(struct ethos_view text, size_t which)
{
    struct str out, last;
    struct note after;

    str_init(&out, LIMIT);
    str_init(&last, LIMIT);
    str_add(&last, text);
    for (;;) {
        note_set(str_view(&last), names[which], view_str(NULL), &out);
        note_parse(str_view(&out), &after);
        assert(view_ends(text, after.body));
        if (!member_of(&after, which).data)
            break;
        assert(out.size < last.size);
        str_clear(&last);
        str_add(&last, str_view(&out));
    }
    str_release(&last);
    str_release(&out);
}

static void check_set(struct ethos_view text, size_t which, struct ethos_view value)
{
    struct str out, clean, back;
    struct note before, after;

    str_init(&out, LIMIT);
    str_init(&clean, LIMIT);
    str_init(&back, LIMIT);
    note_parse(text, &before);
    int code = note_set(text, names[which], value, &out);
    note_parse(str_view(&out), &after);
    assert(code == ETHOS_OK || code == ETHOS_UNSUPPORTED);
    if (code == ETHOS_UNSUPPORTED) {
        assert(before.has_frontmatter && view_eq(text, str_view(&out)));
    } else {
        assert(after.has_frontmatter);
        note_value(member_of(&after, which), &back);
        utf8_sanitize(value, &clean);
        assert(line_same(str_view(&back), str_view(&clean)));
        check_rest(text, str_view(&out));
    }
    assert(view_ends(before.body, after.body) && before.body.size - after.body.size <= 3);
    check_drop(text, which);
    str_release(&back);
    str_release(&clean);
    str_release(&out);
}

static void check_body(struct ethos_view text, struct ethos_view body)
{
    struct note before, after;
    struct str out;

    str_init(&out, LIMIT);
    note_parse(text, &before);
    assert(note_rebody(text, body, &out) == ETHOS_OK);
    note_parse(str_view(&out), &after);
    assert(view_eq(before.frontmatter, after.frontmatter));
    assert(line_same(after.body, body));
    assert(note_append(text, body, &out) == ETHOS_OK);
    note_parse(str_view(&out), &after);
    assert(view_eq(before.frontmatter, after.frontmatter));
    if (!line_blank(body)) {
        bool said;
        assert(note_says(&after, body, &said) == ETHOS_OK && said);
    }
    str_release(&out);
}

static void check_remember(struct ethos_view text, struct ethos_view fact)
{
    struct remember what = {.text = fact, .date = "2026-11-15"};
    enum remember_effect effect;
    struct str title, note, index, again, list;
    struct index_entry entry;
    char key[ETHOS_MAX_KEY + 1];

    str_init(&title, LIMIT);
    str_init(&note, LIMIT);
    str_init(&index, LIMIT);
    str_init(&again, LIMIT);
    str_init(&list, LIMIT);
    assert(remember_title(fact, &title) == ETHOS_OK && !line_blank(str_view(&title)));
    what.title = str_view(&title);
    assert(remember_key(&what, 0, key));
    remember_apply(&what, key, view_str(NULL), text, &note, &index, &effect);
    if (effect == REMEMBER_CREATED) {
        assert(index_find(str_view(&index), view_str(key), &entry));
        assert(index_has_title(&entry, what.title));
        remember_apply(&what, key, str_view(&note), str_view(&index), &again, &list, &effect);
        assert(effect == REMEMBER_UNCHANGED);
        assert(view_eq(str_view(&again), str_view(&note)));
        assert(view_eq(str_view(&list), str_view(&index)));
    }
    str_release(&list);
    str_release(&again);
    str_release(&index);
    str_release(&note);
    str_release(&title);
}

static void check_skill(struct ethos_view text)
{
    struct note before, after;
    struct str out;

    str_init(&out, LIMIT);
    note_parse(text, &before);
    assert(skill_write(text, "a.md", VIEW("a"), &out) == ETHOS_OK);
    note_parse(str_view(&out), &after);
    assert(view_eq(after.name, VIEW("a")) && !line_blank(after.description));
    assert(view_eq(view_trim(after.body), view_trim(before.body)));
    assert(skill_pointer(text, VIEW("a"), "x/SKILL.md", &out) == ETHOS_OK);
    assert(skill_is_pointer(str_view(&out)));
    str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size), value;

    if (size < 2)
        return 0;
    size_t which = data[0] % (sizeof(names) / sizeof(names[0]));
    text = view_from(text, 1);
    view_line(&text, &value);
    check_set(text, which, value);
    check_body(text, value);
    check_body(value, text);
    check_skill(text);
    if (!line_blank(value))
        check_remember(text, value);
    if (!line_blank(text))
        check_remember(value, text);
    return 0;
}

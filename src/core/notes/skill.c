/*
 * skill.c: a note as a skill.
 */
#include "core/notes/skill.h"

#include <string.h>

#include "base/str.h"
#include "base/text/single_line.h"
#include "base/text/slug.h"
#include "base/view.h"
#include "base/yaml.h"
#include "core/notes/note.h"

#define POINTER VIEW("Promoted to the skill `")
#define HASH_SUFFIX 9 /* bytes: what slug_note may add to a slug it had to cut */

bool skill_name_ok(struct ethos_view name)
{
    if (name.size == 0 || name.size > SKILL_MAX_NAME || view_contains(name, VIEW("--")) ||
        view_starts(name, VIEW("-")) || view_ends(name, VIEW("-")))
        return false;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return true;
}

int skill_name(const char *key, struct str *out)
{
    struct ethos_view name = view_str(key);
    size_t start = out->size;

    if (view_ends(name, VIEW(".md")))
        name.size -= 3;
    slug_note(name, SKILL_MAX_NAME, out);
    if (out->size - start > SKILL_MAX_NAME) {
        str_truncate(out, start);
        slug_note(name, SKILL_MAX_NAME - HASH_SUFFIX, out);
    }
    return str_code(out);
}

/* ---- SKILL.md -------------------------------------------------------------------------------- */

/* The note's description, else its first line, else its title. Never blank. */
static int add_description(const struct note *note, const char *key, struct str *out)
{
    struct str text;

    str_init(&text, SIZE_MAX);
    note_value(note->description, &text);
    if (line_blank(str_view(&text)))
        str_add(&text, line_first(note->body));
    if (line_blank(str_view(&text)))
        note_title(note, key, &text);
    if (str_code(&text))
        str_fail(out, str_code(&text));
    line_cut(str_view(&text), SKILL_MAX_DESCRIPTION - 1, out); // and the ellipsis
    str_release(&text);
    return str_code(out);
}

/* Appends `name: "value"`: a string to every reader. */
static void add_string(const char *name, struct ethos_view value, struct str *out)
{
    str_printf(out, "%s: ", name);
    yaml_quote_string(value, out);
    str_addc(out, '\n');
}

static void add_member(const char *name, struct ethos_view member, struct str *out)
{
    struct str value, line;

    str_init(&value, SIZE_MAX);
    str_init(&line, SIZE_MAX);
    note_value(member, &value);
    if (str_code(&value) || line_collapse(str_view(&value), &line))
        str_fail(out, ETHOS_NOMEM);
    add_string(name, str_view(&line), out);
    str_release(&line);
    str_release(&value);
}

static void add_metadata(const struct note *note, struct str *out)
{
    const struct {
        const char *name;
        struct ethos_view value;
    } members[] = {{"  type", note->type},
                   {"  title", note->title},
                   {"  created", note->created},
                   {"  verified", note->verified},
                   {"  source", note->source},
                   {"  expires", note->expires},
                   {"  supersedes", note->supersedes},
                   {"  check", note->check}};
    bool begun = false;

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (line_blank(members[i].value))
            continue;
        if (!begun)
            str_adds(out, "metadata:\n");
        begun = true;
        add_member(members[i].name, members[i].value, out);
    }
}

int skill_write(struct ethos_view note, const char *key, struct ethos_view name, struct str *out)
{
    struct note parsed;
    struct str description;

    note_parse(note, &parsed);
    str_init(&description, SIZE_MAX);
    if (add_description(&parsed, key, &description))
        str_fail(out, str_code(&description));
    str_adds(out, "---\n");
    add_string("name", name, out);
    add_string("description", str_view(&description), out);
    add_metadata(&parsed, out);
    str_adds(out, "---\n");
    str_release(&description);
    if (view_blank(parsed.body))
        return str_code(out);
    str_addc(out, '\n');
    str_add(out, view_trim(parsed.body));
    return str_addc(out, '\n');
}

int skill_pointer(struct ethos_view note, struct ethos_view name, const char *path, struct str *out)
{
    struct str line;

    str_init(&line, SIZE_MAX);
    str_add(&line, POINTER);
    str_add(&line, name);
    str_adds(&line, "`: `");
    line_collapse(view_str(path), &line);
    str_adds(&line, "`");
    int code = str_code(&line);
    if (!code)
        code = note_rebody(note, str_view(&line), out);
    str_release(&line);
    return code;
}

bool skill_is_pointer(struct ethos_view note)
{
    struct note parsed;

    note_parse(note, &parsed);
    struct ethos_view body = view_trim(parsed.body);
    return view_starts(body, POINTER) && view_ends(body, VIEW("`")) &&
           !memchr(body.data, '\n', body.size);
}

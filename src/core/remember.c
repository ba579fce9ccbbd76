/*
 * remember.c: what a fact does to its note and to the index.
 *
 * Pure: the texts as they are go in, the texts as they shall be come out. Members that a note has and
 * that this does not know pass through note_set untouched.
 */
#include "core/remember.h"

#include <string.h>

#include "base/str.h"
#include "base/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/index.h"
#include "core/line.h"
#include "core/note.h"
#include "core/slug.h"

const char *remember_effect_name(enum remember_effect effect)
{
    static const char *const names[] = {"created", "appended", "replaced", "unchanged", "taken"};

    return names[effect];
}

/* ---- titles ---------------------------------------------------------------------------------- */

/* Takes one mark off: "#", "-", "*", "+", ">", "1." or "1)", with the blanks behind it. */
static bool skip_mark(struct ethos_view *line)
{
    size_t at = 0;

    while (at < line->size && line->data[at] == '#')
        at++;
    if (at == 0 && line->size > 0 && strchr("-*+>", line->data[0]) && line->data[0])
        at = 1;
    if (at == 0) {
        while (at < line->size && line->data[at] >= '0' && line->data[at] <= '9')
            at++;
        at = at > 0 && at < line->size && strchr(".)", line->data[at]) && line->data[at] ? at + 1
                                                                                         : 0;
    }
    struct ethos_view rest = view_from(*line, at);
    if (at == 0 || view_trim_start(rest).size == rest.size)
        return false;
    *line = view_trim_start(rest);
    return true;
}

static bool has_word(struct ethos_view line)
{
    while (line.size > 0) {
        uint32_t cp;

        line = view_from(line, utf8_decode(line.data, line.size, &cp, NULL));
        if (unicode_is_letter_or_digit(cp))
            return true;
    }
    return false;
}

/* Cuts what out has from start on to the longest title, before the last blank that fits. */
static void cut_title(struct str *out, size_t start)
{
    struct ethos_view title = view_from(str_view(out), start);
    size_t kept = line_fitting(title, REMEMBER_MAX_TITLE);

    if (kept == title.size)
        return;
    if (kept == 0)
        kept = utf8_decode(title.data, title.size, &(uint32_t){0}, NULL);
    const char *blank = memrchr(title.data, ' ', kept + 1);
    str_truncate(out, start + (blank ? (size_t)(blank - title.data) : kept));
}

int remember_title(struct ethos_view text, struct str *out)
{
    struct ethos_view rest = text, line, title = line_first(text);
    size_t start = out->size;

    while (view_line(&rest, &line)) {
        line = view_trim(line);
        while (skip_mark(&line))
            continue;
        if (has_word(line)) {
            title = line;
            break;
        }
    }
    if (line_collapse(title, out) == ETHOS_OK)
        cut_title(out, start);
    return str_code(out);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Appends the hash unless the slug has it already; whether it did. */
static bool add_hash(struct ethos_view title, struct str *slug)
{
    struct str hash;

    str_init(&hash, ETHOS_MAX_KEY);
    str_addc(&hash, '-');
    if (slug_hash(title, &hash))
        str_fail(slug, str_code(&hash));
    bool has = view_ends(str_view(slug), str_view(&hash));
    if (!has)
        str_add(slug, str_view(&hash));
    str_release(&hash);
    return !has;
}

bool remember_key(const struct remember *what, unsigned n, char out_key[ETHOS_MAX_KEY + 1])
{
    struct str title, slug;
    unsigned number = n + 1;

    if (n >= REMEMBER_NAMES)
        return false;
    str_init(&title, SIZE_MAX);
    str_init(&slug, ETHOS_MAX_KEY);
    if (line_collapse(what->title, &title))
        str_fail(&slug, str_code(&title));
    slug_note(str_view(&title), SLUG_NOTE_MAX, &slug);
    if (n > 0 && what->how != REMEMBER_NEW)
        number -= add_hash(str_view(&title), &slug); // a name of its own
    if (number > 1)
        str_printf(&slug, "-%u", number);
    str_adds(&slug, ".md");
    bool made = !str_code(&slug);
    if (made)
        memcpy(out_key, slug.data, slug.size + 1);
    str_release(&slug);
    str_release(&title);
    return made;
}

/* ---- what becomes of a note ------------------------------------------------------------------ */

/* One call of remember_apply. */
struct work {
    const struct remember *what;
    const char *key;
    struct note note; /* as it is */
    struct index_entry entry;
    bool listed;
    struct str *text;       /* the note as it shall be */
    struct str spare;       /* for the next step of it */
    struct str hook;        /* for the line; empty: as it is */
    struct str description; /* the same for the note */
    int code;
};

static void fail(struct work *work, int code)
{
    if (work->code == ETHOS_OK)
        work->code = code;
}

/* The note after a step, which was written to spare. */
static void advance(struct work *work, int code)
{
    struct str before = *work->text;

    if (code == ETHOS_UNSUPPORTED)
        return;
    fail(work, code);
    *work->text = work->spare;
    work->spare = before;
}

static void set_member(struct work *work, const char *member, struct ethos_view value)
{
    if (work->code == ETHOS_OK && !view_blank(value))
        advance(work, note_set(str_view(work->text), member, value, &work->spare));
}

/* Whether a hook was made of the first line of the note. */
static bool is_made(struct work *work, struct ethos_view hook, uint64_t units)
{
    str_clear(&work->spare);
    fail(work, line_cut(line_first(work->note.body), units, &work->spare));
    return line_same(hook, str_view(&work->spare));
}

static bool description_is_made(struct work *work)
{
    struct str value;

    str_init(&value, SIZE_MAX);
    fail(work, note_value(work->note.description, &value));
    bool made = is_made(work, str_view(&value), REMEMBER_MAX_DESCRIPTION);
    str_release(&value);
    return made;
}

/* The given hook for both; in place of another text its first line where the old one gave the old. */
static void choose_hooks(struct work *work, bool replaced)
{
    bool given = !line_blank(work->what->hook);
    struct ethos_view hook = given ? work->what->hook : line_first(work->what->text);

    if (given || (replaced && is_made(work, work->entry.hook, INDEX_MAX_HOOK)))
        fail(work, str_add(&work->hook, hook));
    if (given || (replaced && description_is_made(work)))
        fail(work, line_cut(hook, REMEMBER_MAX_DESCRIPTION, &work->description));
}

static void set_members(struct work *work, bool replaced)
{
    struct note now;

    set_member(work, "type", work->what->type);
    note_parse(str_view(work->text), &now);
    if (!now.has_frontmatter)
        return;
    set_member(work, "description", str_view(&work->description));
    set_member(work, "verified", view_str(work->what->date));
    if (replaced)
        set_member(work, "source", work->what->source);
}

/* Writes the text with the other body to spare; whether that is what the note says already. */
static bool try_body(struct work *work, struct ethos_view text)
{
    struct note after;

    fail(work, note_rebody(text, work->what->text, &work->spare));
    note_parse(str_view(&work->spare), &after);
    return view_eq(view_trim(after.body), view_trim(work->note.body));
}

static enum remember_effect replace(struct work *work, struct ethos_view text)
{
    choose_hooks(work, true);
    if (try_body(work, text)) {
        str_clear(&work->hook);
        return REMEMBER_UNCHANGED;
    }
    advance(work, ETHOS_OK);
    set_members(work, true);
    return REMEMBER_REPLACED;
}

static enum remember_effect append(struct work *work, struct ethos_view text)
{
    bool said;

    fail(work, note_says(&work->note, work->what->text, &said));
    if (work->code || said)
        return REMEMBER_UNCHANGED;
    choose_hooks(work, false);
    advance(work, note_append(text, work->what->text, &work->spare));
    set_members(work, false);
    return REMEMBER_APPENDED;
}

static enum remember_effect create(struct work *work)
{
    const struct remember *what = work->what;
    const struct ethos_view date = view_str(what->date);
    struct note_head head = {.name = view_of(work->key, strlen(work->key) - 3),
                             .type = view_blank(what->type) ? VIEW("project") : what->type,
                             .title = view_trim(what->title),
                             .created = date,
                             .verified = date,
                             .source = what->source};

    str_add(&work->hook, line_blank(what->hook) ? line_first(what->text) : what->hook);
    fail(work, line_cut(str_view(&work->hook), REMEMBER_MAX_DESCRIPTION, &work->description));
    head.description = str_view(&work->description);
    fail(work, note_write(&head, what->text, work->text));
    return REMEMBER_CREATED;
}

/* ---- the index ------------------------------------------------------------------------------- */

/* What the line of an unlisted note says: the description, else the first line. */
static void make_hook(struct work *work)
{
    struct note now;

    note_parse(str_view(work->text), &now);
    fail(work, note_value(now.description, &work->hook));
    if (line_blank(str_view(&work->hook)))
        fail(work, str_add(&work->hook, line_first(now.body)));
}

static void update_index(struct work *work, struct ethos_view index, struct str *out)
{
    if (!work->listed && work->hook.size == 0)
        make_hook(work);
    fail(work, str_code(&work->hook));
    fail(work,
         index_put(index, work->what->title, view_str(work->key), str_view(&work->hook), out));
}

/* Whether the name is that of another note. */
static bool is_taken(struct work *work, struct ethos_view text)
{
    struct ethos_view title = work->what->title;
    bool same_entry = work->listed && index_has_title(&work->entry, title);

    if (!text.data)
        return work->listed && !same_entry;
    if (work->what->how == REMEMBER_NEW)
        return true;
    str_clear(&work->spare);
    fail(work, note_title(&work->note, work->key, &work->spare));
    return !same_entry && !line_same(str_view(&work->spare), title);
}

static enum remember_effect decide(struct work *work, struct ethos_view text)
{
    if (is_taken(work, text))
        return REMEMBER_TAKEN;
    if (!text.data)
        return create(work);
    fail(work, str_add(work->text, text));
    return work->what->how == REMEMBER_REPLACE ? replace(work, text) : append(work, text);
}

int remember_apply(const struct remember *what, const char *key, struct ethos_view note,
                   struct ethos_view index, struct str *out_note, struct str *out_index,
                   enum remember_effect *out_effect)
{
    struct work work = {.what = what, .key = key, .text = out_note};

    str_clear(out_note);
    str_clear(out_index);
    str_init(&work.spare, out_note->ceiling);
    str_init(&work.hook, SIZE_MAX);
    str_init(&work.description, SIZE_MAX);
    note_parse(note, &work.note);
    work.listed = index_find(index, view_str(key), &work.entry);
    if (!work.listed)
        work.entry = (struct index_entry){0};
    *out_effect = decide(&work, note);
    if (*out_effect != REMEMBER_TAKEN)
        update_index(&work, index, out_index);
    str_release(&work.description);
    str_release(&work.hook);
    str_release(&work.spare);
    return work.code;
}

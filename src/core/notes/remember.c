/*
 * remember.c: what a fact does to its note and to the index.
 *
 * Pure: the texts as they are go in, the texts as they shall be come out. Members that a note has and
 * that this does not know pass through note_set untouched.
 */
#include "core/notes/remember.h"

#include <string.h>

#include "base/str.h"
#include "base/text/single_line.h"
#include "base/text/slug.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/notes/index.h"
#include "core/notes/note.h"

#define BY_HAND VIEW("by hand") /* what the member "hook" of a note says */

const char *remember_effect_name(enum remember_effect effect)
{
    static const char *const names[] = {"created",   "appended", "replaced",
                                        "unchanged", "exists",   "taken"};

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

static bool has_any_letter(struct ethos_view line)
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
        if (has_any_letter(line)) {
            title = line;
            break;
        }
    }
    if (line_collapse(title, out) == ETHOS_OK)
        cut_title(out, start);
    return str_code(out);
}

/* A text without its secrets: the text itself, or what is then in safe. */
static struct ethos_view without_secrets(struct ethos_view text, struct str *safe)
{
    str_clear(safe);
    return scan_text(text, SCAN_REDACT, safe, NULL) ? str_view(safe) : text;
}

/* Ends what out has from start on after so many words. */
static void cut_words(struct str *out, size_t start, unsigned words)
{
    for (size_t at = start; at < out->size; at++) {
        if (out->data[at] == ' ' && --words == 0)
            str_truncate(out, at);
    }
}

int remember_note_title(struct ethos_view text, struct str *out)
{
    struct str safe;
    size_t start = out->size;

    str_init(&safe, SIZE_MAX);
    remember_title(without_secrets(text, &safe), out);
    cut_words(out, start, REMEMBER_MAX_WORDS);
    str_fail(out, str_code(&safe));
    str_release(&safe);
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

/* Appends a title for a file name: collapsed, secrets and what stands for them left out. */
static void add_public_title(struct ethos_view title, struct str *out)
{
    static const char tag[] = "[REDACTED:";
    struct str safe;

    str_init(&safe, SIZE_MAX);
    struct ethos_view rest = without_secrets(title, &safe);
    const char *open, *close;
    while ((open = memmem(rest.data, rest.size, tag, sizeof(tag) - 1)) &&
           (close = memchr(open, ']', rest.size - (size_t)(open - rest.data)))) {
        str_add(out, view_of(rest.data, (size_t)(open - rest.data)));
        rest = view_from(rest, (size_t)(close + 1 - rest.data));
    }
    str_add(out, rest);
    str_fail(out, str_code(&safe));
    str_release(&safe);
}

bool remember_key(const struct remember *what, unsigned n, char out_key[ETHOS_MAX_KEY + 1])
{
    struct str whole, title, slug;
    unsigned number = n + 1;

    if (n >= REMEMBER_NAMES)
        return false;
    str_init(&whole, SIZE_MAX);
    str_init(&title, SIZE_MAX);
    str_init(&slug, ETHOS_MAX_KEY);
    add_public_title(what->title, &whole);
    str_fail(&slug, str_code(&whole));
    if (line_collapse(str_view(&whole), &title))
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
    str_release(&whole);
    return made;
}

/* Whether a file has the name that this title gives it. */
static bool is_named_after(const char *key, struct ethos_view title)
{
    const struct remember what = {.title = title};
    char name[ETHOS_MAX_KEY + 1];

    return (remember_key(&what, 0, name) && strcmp(name, key) == 0) ||
           (remember_key(&what, 1, name) && strcmp(name, key) == 0);
}

/* ---- what becomes of a note ------------------------------------------------------------------ */

/* One call of remember_apply. */
struct remember_call {
    const struct remember *what;
    const char *key;
    struct note note; /* as it is */
    struct index_entry entry;
    bool listed;
    struct str *text;       /* the note as it shall be */
    struct str spare;       /* for the next step of it */
    struct str hook;        /* for the line; empty: as it is */
    struct str description; /* the same for the note */
    struct str safe;        /* a text without its secrets */
    struct str cut;         /* a hook as a line has it */
    int code;
};

static void fail_remember(struct remember_call *work, int code)
{
    if (work->code == ETHOS_OK)
        work->code = code;
}

/* The note after a step, which was written to spare. */
static void advance(struct remember_call *work, int code)
{
    struct str before = *work->text;

    if (code == ETHOS_UNSUPPORTED)
        return;
    fail_remember(work, code);
    *work->text = work->spare;
    work->spare = before;
}

static void set_member(struct remember_call *work, const char *member, struct ethos_view value)
{
    if (work->code == ETHOS_OK && !view_blank(value))
        advance(work, note_set(str_view(work->text), member, value, &work->spare));
}

int remember_line(struct ethos_view text, struct str *out_title, struct str *out_hook)
{
    struct str safe;

    str_init(&safe, SIZE_MAX);
    int code = remember_note_title(text, out_title);
    line_cut(line_first(without_secrets(text, &safe)), INDEX_MAX_HOOK, out_hook);
    str_fail(out_hook, str_code(&safe));
    str_release(&safe);
    return code ? code : str_code(out_hook);
}

/* What a text says of itself when no hook was given: its first line, without secrets. */
static struct ethos_view text_hook(struct remember_call *work)
{
    struct ethos_view safe = without_secrets(work->what->text, &work->safe);

    fail_remember(work, str_code(&work->safe));
    return line_first(safe);
}

/* Whether the line of the index says this: whole, or cut as a line cuts it. */
static bool is_line_hook(struct remember_call *work, struct ethos_view text)
{
    str_clear(&work->cut);
    fail_remember(work, line_cut(text, INDEX_MAX_HOOK, &work->cut));
    return line_same_nocase(str_view(&work->cut), work->entry.hook);
}

/* Whether it says what a paragraph of the note begins with. */
static bool is_made_hook(struct remember_call *work)
{
    struct ethos_view rest = work->note.body, line;
    bool begins = true;

    while (view_line(&rest, &line)) {
        if (begins && is_line_hook(work, without_secrets(line, &work->safe)))
            return true;
        begins = line_blank(line);
    }
    return false;
}

/* Whether it says what the note says of itself. */
static bool is_described(struct remember_call *work)
{
    str_clear(&work->spare);
    fail_remember(work, note_value(work->note.description, &work->spare));
    return is_line_hook(work, str_view(&work->spare));
}

/*
 * Whether a person wrote the hook of the line: in an editor, which leaves the description as it was, or in a call,
 * which marks it. An agent's says the same as the description.
 */
static bool is_hand_hook(struct remember_call *work)
{
    if (!work->listed || line_blank(work->entry.hook) || is_made_hook(work))
        return false;
    return view_eq(work->note.hook, BY_HAND) || !is_described(work);
}

/* The given hook for line and description; of another text its first line, where nobody wrote one by hand. */
static void choose_hooks(struct remember_call *work, bool new_text)
{
    bool given = !line_blank(work->what->hook);

    if (!given && !new_text)
        return;
    bool by_hand = !given && is_hand_hook(work);
    struct ethos_view hook = given ? work->what->hook : text_hook(work);
    if (!by_hand)
        fail_remember(work, str_add(&work->hook, hook));
    if (!by_hand || !is_described(work))
        fail_remember(work, line_cut(hook, REMEMBER_MAX_DESCRIPTION, &work->description));
}

/* Marks a hook that a person gave; another one takes the mark out. A member of somebody else's stays. */
static void mark_hook(struct remember_call *work)
{
    bool by_hand = work->what->hook_by_hand && !line_blank(work->what->hook);
    bool marked = view_eq(work->note.hook, BY_HAND);

    if (work->code == ETHOS_OK && work->hook.size > 0 && by_hand != marked &&
        (marked || !work->note.hook.data))
        advance(work, note_set(str_view(work->text), "hook",
                               by_hand ? BY_HAND : (struct ethos_view){0}, &work->spare));
}

static void set_members(struct remember_call *work, bool replaced)
{
    struct note now;

    set_member(work, "type", work->what->type);
    note_parse(str_view(work->text), &now);
    if (!now.has_frontmatter)
        return;
    set_member(work, "description", str_view(&work->description));
    mark_hook(work);
    set_member(work, "verified", view_str(work->what->date));
    if (replaced)
        set_member(work, "source", work->what->source);
}

/* Writes the text with the other body to spare; whether that is what the note says already. */
static bool try_body(struct remember_call *work, struct ethos_view text)
{
    struct note after;

    fail_remember(work, note_rebody(text, work->what->text, &work->spare));
    note_parse(str_view(&work->spare), &after);
    return view_eq(view_trim(after.body), view_trim(work->note.body));
}

static enum remember_effect replace_note(struct remember_call *work, struct ethos_view text)
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

/* Whether a title is the one that the text gave. */
static bool is_made_title(struct remember_call *work, struct ethos_view title)
{
    str_clear(&work->spare);
    fail_remember(work, remember_note_title(work->note.body, &work->spare));
    return line_same_nocase(str_view(&work->spare), title);
}

/* Whether the line speaks of what is added, too: not one without hook whose title somebody chose. */
static bool follows_addition(struct remember_call *work)
{
    if (line_blank(work->entry.hook))
        return work->listed && is_made_title(work, work->what->title);
    return work->listed && !is_hand_hook(work);
}

static enum remember_effect append_to_note(struct remember_call *work, struct ethos_view text)
{
    bool said;

    fail_remember(work, note_says(&work->note, work->what->text, &said));
    if (work->code || said)
        return REMEMBER_UNCHANGED;
    if (work->what->how == REMEMBER_ASK)
        return REMEMBER_EXISTS;
    choose_hooks(work, follows_addition(work));
    advance(work, note_append(text, work->what->text, &work->spare));
    set_members(work, false);
    return REMEMBER_APPENDED;
}

static enum remember_effect create_note(struct remember_call *work)
{
    const struct remember *what = work->what;
    const struct ethos_view date = view_str(what->date);
    struct note_head head = {.name = view_of(work->key, strlen(work->key) - 3),
                             .type = view_blank(what->type) ? VIEW("project") : what->type,
                             .title = view_trim(what->title),
                             .created = date,
                             .verified = date,
                             .source = what->source};

    str_add(&work->hook, line_blank(what->hook) ? text_hook(work) : what->hook);
    fail_remember(work,
                  line_cut(str_view(&work->hook), REMEMBER_MAX_DESCRIPTION, &work->description));
    head.description = str_view(&work->description);
    fail_remember(work, note_write(&head, what->text, work->text));
    mark_hook(work);
    return REMEMBER_CREATED;
}

/* ---- the index ------------------------------------------------------------------------------- */

/* What the line of an unlisted note says: the description, else the first line. */
static void make_hook(struct remember_call *work)
{
    struct note now;

    note_parse(str_view(work->text), &now);
    fail_remember(work, note_value(now.description, &work->hook));
    if (line_blank(str_view(&work->hook)))
        fail_remember(work,
                      str_add(&work->hook, line_first(without_secrets(now.body, &work->safe))));
}

/* A line without hook gets none that only repeats the title. */
static void update_index(struct remember_call *work, struct ethos_view title,
                         struct ethos_view index, struct str *out)
{
    if (!work->listed && work->hook.size == 0)
        make_hook(work);
    fail_remember(work, str_code(&work->hook));
    fail_remember(work, str_code(&work->safe));
    if (work->entry.hook.size == 0 && line_same_nocase(str_view(&work->hook), title))
        str_clear(&work->hook);
    fail_remember(work, index_put(index, title, view_str(work->key), str_view(&work->hook), out));
}

/* Whether the name is that of another note. */
static bool is_name_of_another(struct remember_call *work, struct ethos_view text)
{
    struct ethos_view title = work->what->title;
    bool same_entry = work->listed && index_has_title(&work->entry, title);

    if (!text.data)
        return work->listed && !same_entry;
    if (work->what->how == REMEMBER_NEW)
        return true;
    str_clear(&work->spare);
    fail_remember(work, note_title(&work->note, work->key, &work->spare));
    return !same_entry && !line_same_nocase(str_view(&work->spare), title);
}

static enum remember_effect decide_effect(struct remember_call *work, struct ethos_view text)
{
    if (is_name_of_another(work, text))
        return REMEMBER_TAKEN;
    if (!text.data)
        return create_note(work);
    fail_remember(work, str_add(work->text, text));
    return work->what->how == REMEMBER_REPLACE ? replace_note(work, text)
                                               : append_to_note(work, text);
}

/* ---- a call -------------------------------------------------------------------------------- */

static void work_init(struct remember_call *work, struct ethos_view note, struct ethos_view index,
                      struct str *out_index)
{
    str_clear(work->text);
    str_clear(out_index);
    str_init(&work->spare, work->text->ceiling);
    str_init(&work->hook, SIZE_MAX);
    str_init(&work->description, SIZE_MAX);
    str_init(&work->safe, SIZE_MAX);
    str_init(&work->cut, SIZE_MAX);
    note_parse(note, &work->note);
    work->listed = index_find(index, view_str(work->key), &work->entry);
    if (!work->listed)
        work->entry = (struct index_entry){0};
}

static int work_release(struct remember_call *work)
{
    str_release(&work->cut);
    str_release(&work->safe);
    str_release(&work->description);
    str_release(&work->hook);
    str_release(&work->spare);
    return work->code;
}

int remember_apply(const struct remember *what, const char *key, struct ethos_view note,
                   struct ethos_view index, struct str *out_note, struct str *out_index,
                   enum remember_effect *out_effect)
{
    struct remember_call work = {.what = what, .key = key, .text = out_note};

    work_init(&work, note, index, out_index);
    *out_effect = decide_effect(&work, note);
    if (*out_effect != REMEMBER_TAKEN)
        update_index(&work, what->title, index, out_index);
    return work_release(&work);
}

/* ---- correcting ---------------------------------------------------------------------------- */

/* The title that the note shall have, into *out; empty: the one it has. */
static void choose_title(struct remember_call *work, struct ethos_view now, struct str *out)
{
    const struct remember *what = work->what;

    if (!line_blank(what->title))
        line_collapse(what->title, out);
    else if (!line_blank(what->text) && is_made_title(work, now))
        remember_note_title(what->text, out);
    if (line_same(str_view(out), now))
        str_clear(out);
    fail_remember(work, str_code(out));
}

static void write_members(struct remember_call *work, bool new_text, struct ethos_view title)
{
    struct note head;

    new_text = new_text && !try_body(work, str_view(work->text));
    if (new_text)
        advance(work, ETHOS_OK);
    choose_hooks(work, new_text);
    if (!new_text && work->hook.size == 0 && title.size == 0)
        return;
    set_members(work, new_text);
    note_parse(str_view(work->text), &head);
    if (head.has_frontmatter)
        set_member(work, "title", title);
}

int remember_rewrite(const struct remember *what, const char *key, struct ethos_view note,
                     struct ethos_view index, struct str *out_note, struct str *out_index,
                     struct str *out_title, enum remember_effect *out_effect)
{
    struct remember_call work = {.what = what, .key = key, .text = out_note};
    struct str now;

    str_clear(out_title);
    str_init(&now, SIZE_MAX);
    work_init(&work, note, index, out_index);
    fail_remember(&work, str_add(out_note, note));
    fail_remember(&work, work.listed && !work.note.title.data ? index_title(&work.entry, &now)
                                                              : note_title(&work.note, key, &now));
    choose_title(&work, str_view(&now), out_title);
    struct ethos_view title = str_view(out_title);
    write_members(&work, !line_blank(what->text), title);
    update_index(&work, title.size > 0 ? title : str_view(&now), index, out_index);
    if (title.size > 0 && work.code == ETHOS_OK) {
        struct ethos_view file = view_str(key);
        fail_remember(&work, index_move(str_view(out_index), file, file, title, &work.spare));
        fail_remember(&work, (str_clear(out_index), str_add(out_index, str_view(&work.spare))));
    }
    *out_effect = view_eq(str_view(out_note), note) && view_eq(str_view(out_index), index)
                      ? REMEMBER_UNCHANGED
                      : REMEMBER_REPLACED;
    if (!is_named_after(key, str_view(&now)))
        str_clear(out_title);
    str_release(&now);
    return work_release(&work);
}

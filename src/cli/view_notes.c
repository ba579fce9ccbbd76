/*
 * view_notes.c: notes, for a person: one line each, what needs a look below it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "cli/rows.h"

#define NAME_WIDTH 26 /* columns */

/* ---- width ------------------------------------------------------------------------------------ */

/* Bytes of the start that fits into so many columns; *out_used is what it takes. */
static size_t fitting(struct ethos_view text, int columns, int *out_used)
{
    size_t at = 0;
    int used = 0;
    while (at < text.size) {
        uint32_t cp;
        size_t size = utf8_decode(text.data + at, text.size - at, &cp, NULL);
        int width = unicode_width(cp);
        if (used + width > columns)
            break;
        used += width;
        at += size;
    }
    *out_used = used;
    return at;
}

/* Prints what fits, an ellipsis for the rest; into a pipe everything. Returns the columns used. */
static int print_fitting(struct cli *self, enum term_style style, const char *text, int columns)
{
    int used;
    struct ethos_view v = view_str(text);
    size_t size = fitting(v, columns, &used);
    if (size < v.size && self->term.tty && columns > 1) {
        size = fitting(v, columns - 1, &used);
        term_styled(&self->term, style, "%.*s…", (int)size, text);
        return used + 1;
    }
    if (size < v.size)
        fitting(v, 1 << 20, &used);
    term_styled(&self->term, style, "%s", text);
    return used;
}

/* ---- list ------------------------------------------------------------------------------------- */

/* Whether a title says more than the name: other letters than case and blanks. */
static bool says_more(const char *title, const char *name)
{
    for (; *title && *name; title++, name++) {
        bool blank = *title == ' ' && (*name == '-' || *name == '_');
        if (!blank && (*title | 0x20) != (*name | 0x20))
            return true;
    }
    return *title || *name;
}

static void print_reason(struct cli *self, const char *text, long long line)
{
    term_printf(&self->term, "    ");
    term_styled(&self->term, TERM_WARN, "! ");
    if (line > 0)
        term_printf(&self->term, "line %lld: ", line);
    term_printf(&self->term, "%s\n", text);
}

static void print_note(struct cli *self, const json_t *note)
{
    char name[160];
    size_t index;
    json_t *row;
    const char *key = text_of(note, "key"), *title = text_of(note, "title");
    const char *hook = text_of(note, "hook");
    snprintf(name, sizeof name, "%.*s", (int)strlen(key) - 3, key);
    term_printf(&self->term, "  ");
    int used = print_fitting(self, TERM_BOLD, name, self->term.tty ? 60 : 1 << 20);
    int left = self->term.width - 2 - (used > NAME_WIDTH ? used : NAME_WIDTH) - 1;
    term_printf(&self->term, "%*s", used < NAME_WIDTH ? NAME_WIDTH - used + 1 : 1, "");
    if (says_more(title, name)) {
        left -= print_fitting(self, TERM_PLAIN, title, left);
        if (*hook && left > 8)
            term_styled(&self->term, TERM_DIM, " — ");
        left -= 3;
    }
    if (left > 4 || !self->term.tty)
        print_fitting(self, TERM_DIM, hook, left);
    term_printf(&self->term, "\n");
    if (!json_is_true(json_object_get(note, "listed")))
        print_reason(self, "not in the index; ethos notes reindex adds it", 0);
    if (*text_of(note, "stale"))
        print_reason(self, text_of(note, "stale"), 0);
    json_array_foreach (json_object_get(note, "findings"), index, row)
        print_reason(self, text_of(row, "text"), number_of(row, "line"));
}

static void print_index(struct cli *self, const json_t *index)
{
    if (!json_is_object(index))
        return;
    term_styled(&self->term, TERM_BOLD, "Index in the prompt");
    term_printf(&self->term, ": ");
    view_gauge(self, number_of(index, "chars"), number_of(index, "budget"));
    long long lost = number_of(index, "omittedChars");
    if (lost > 0) {
        term_styled(&self->term, TERM_WARN, "Left out");
        term_printf(&self->term,
                    ": the first %lld character%s; raise prefetch.maxChars, or shorten the index\n",
                    lost, plural(lost));
    }
}

void view_notes(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row, *notes = json_object_get(json, "notes");
    if (json_array_size(notes) == 0) {
        view_say(self, "No notes in %s. Keep a fact: ethos remember 'Tests need a running Redis'",
                 text_of(json, "scope"));
        return;
    }
    if (!self->no_pager)
        term_page(&self->term);
    json_array_foreach (notes, index, row)
        print_note(self, row);
    term_printf(&self->term, "\n");
    print_index(self, json_object_get(json, "index"));
    term_finish(&self->term);
    if (number_of(json, "stale") > 0)
        view_say(self, "%lld note%s to look at; ethos notes check looks up what they claim",
                 number_of(json, "stale"), plural(number_of(json, "stale")));
}

/* Above the text of a note, on a terminal. */
void view_note_head(struct cli *self, const json_t *note)
{
    size_t index;
    json_t *row;
    term_styled(&self->term, TERM_BOLD, "%s", text_of(note, "title"));
    term_printf(&self->term, "  ");
    view_path(self, TERM_DIM, text_of(note, "path"));
    term_printf(&self->term, "\n");
    if (*text_of(note, "stale"))
        print_reason(self, text_of(note, "stale"), 0);
    json_array_foreach (json_object_get(note, "findings"), index, row)
        print_reason(self, text_of(row, "text"), number_of(row, "line"));
    term_printf(&self->term, "\n");
}

/* ---- changes ---------------------------------------------------------------------------------- */

void view_remembered(struct cli *self, const json_t *json)
{
    static const char *const words[][2] = {{"created", "Remembered in"},
                                           {"appended", "Added to"},
                                           {"replaced", "Replaced the text of"},
                                           {"unchanged", "Already in"}};
    const json_t *index = json_object_get(json, "index");
    const char *effect = text_of(json, "effect");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(effect, words[i][0]) == 0)
            view_say(self, "%s %s (%s)", words[i][1], text_of(json, "key"), text_of(json, "scope"));
    long long lost = number_of(index, "omittedChars");
    if (lost > 0)
        view_say(self,
                 "warning: the index has outgrown its share of the prompt by %lld character%s; its "
                 "first lines are left out there",
                 lost, plural(lost));
}

void view_moved(struct cli *self, const json_t *json)
{
    size_t links = json_array_size(json_object_get(json, "written"));
    links = links > 3 ? links - 3 : 0;
    view_say(self, "The note is now %s", text_of(json, "key"));
    if (links > 0)
        view_say(self, "Links in %zu other note%s follow", links, plural((long long)links));
}

void view_reindexed(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row, *mended = json_object_get(json, "mended");
    json_array_foreach (mended, index, row) {
        const char *problem = text_of(row, "problem"), *key = text_of(row, "key");
        if (*problem == 'u')
            term_printf(&self->term, "added    %s: had no line\n", key);
        else
            term_printf(&self->term, "removed  line %lld, %s: %s\n", number_of(row, "line"), key,
                        *problem == 'm' ? "there is no such note" : "had a line already");
    }
    if (json_array_size(mended) == 0)
        view_say(self, "Index and notes agree");
}

/* ---- check ------------------------------------------------------------------------------------ */

void view_checked(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *checked = json_object_get(json, "checked");
    json_array_foreach (json_object_get(json, "findings"), index, row) {
        bool fixed = json_is_true(json_object_get(row, "fixed"));
        term_styled(&self->term, TERM_BOLD, "%s", text_of(row, "key"));
        if (number_of(row, "line") > 0)
            term_styled(&self->term, TERM_BOLD, ":%lld", number_of(row, "line"));
        term_printf(&self->term, ": %s", text_of(row, "text"));
        term_styled(&self->term, TERM_GOOD, "%s", fixed ? " (mended)" : "");
        term_printf(&self->term, "\n");
    }
    view_say(self, "%lld note%s, %lld claim%s looked up, %lld finding%s%s",
             number_of(checked, "notes"), plural(number_of(checked, "notes")),
             number_of(checked, "claims"), plural(number_of(checked, "claims")),
             number_of(checked, "findings"), plural(number_of(checked, "findings")),
             number_of(checked, "findings") > number_of(checked, "fixed")
                 ? "; ethos notes edit NAME mends a note, --confirm says that it is right"
                 : "");
    if (number_of(checked, "verified") > 0)
        view_say(self, "%lld note%s verified today", number_of(checked, "verified"),
                 plural(number_of(checked, "verified")));
}

void view_promoted(struct cli *self, const json_t *json)
{
    view_say(self, "Wrote %s; the note points there now", text_of(json, "skill"));
}

/*
 * view_workspaces.c: workspaces for a person.
 */
#include <string.h>

#include "cli/view_internal.h"

#define ID_WIDTH 45 /* columns of the ids at most: a slug, a hyphen, a hash */

/* "12 notes, 34 KB" */
static void print_amount(struct cli *self, const json_t *row)
{
    long long notes = view_integer(row, "notes"), bytes = view_integer(row, "bytes");
    if (json_is_null(json_object_get(row, "notes")))
        term_printf(&self->term, "cannot be counted");
    else if (bytes == 0)
        term_printf(&self->term, "no memory");
    else if (bytes < 1024)
        term_printf(&self->term, "%lld note%s, %lld byte%s", notes, plural_suffix(notes), bytes,
                    plural_suffix(bytes));
    else
        term_printf(&self->term, "%lld note%s, %lld KB", notes, plural_suffix(notes),
                    (bytes + 512) / 1024);
}

static void print_place(struct cli *self, const json_t *place)
{
    bool exists = json_is_true(json_object_get(place, "exists"));
    term_printf(&self->term, "    ");
    view_path(self, exists ? TERM_PLAIN : TERM_DIM, view_member(place, "path"));
    if (!exists)
        term_styled(&self->term, TERM_WARN, " (gone)");
    term_styled(&self->term, TERM_DIM, "  %s", view_member(place, "lastSeen"));
    term_printf(&self->term, "\n");
}

static void print_workspace(struct cli *self, const json_t *row, const char *current, int column)
{
    size_t index;
    json_t *place;
    const json_t *paths = json_object_get(row, "paths");
    bool here = strcmp(view_member(row, "id"), current) == 0;
    term_styled(&self->term, here ? TERM_BOLD : TERM_PLAIN, "%s %-*s", here ? "*" : " ", column,
                view_member(row, "id"));
    term_printf(&self->term, "  ");
    print_amount(self, row);
    term_printf(&self->term, "\n");
    json_array_foreach ((json_t *)paths, index, place)
        print_place(self, place);
    if (*view_member(row, "problem"))
        term_styled(&self->term, TERM_BAD, "    %s\n", view_member(row, "problem"));
    else if (json_array_size(paths) == 0)
        term_styled(&self->term, TERM_DIM, "    no folder recorded\n");
}

/* The columns of the ids, which are plain ASCII. */
static int id_column(const json_t *rows)
{
    size_t index, column = 0;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row) {
        size_t size = strlen(view_member(row, "id"));
        column = size > column && size <= ID_WIDTH ? size : column;
    }
    return (int)column;
}

void view_workspaces(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *rows = json_object_get(json, "workspaces");
    if (json_array_size(rows) == 0) {
        view_say(self, "No folder has a memory yet. Begin here: ethos remember 'Tests need a "
                       "running Redis'");
        return;
    }
    int column = id_column(rows);
    if (!self->no_pager)
        term_page(&self->term);
    json_array_foreach ((json_t *)rows, index, row)
        print_workspace(self, row, view_member(json, "current"), column);
}

static const char *how_words(const char *how)
{
    static const char *const words[][2] = {
        {"marker", "by the marker in its git directory"},
        {"alias", "by its path, recorded when it came here"},
        {"path", "by its path"},
        {"moved", "moved here; the next write records it"},
        {"new", "new; the first write makes it"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(how, words[i][0]) == 0)
            return words[i][1];
    return how;
}

static void print_path(struct cli *self, const char *label, const char *path)
{
    if (!*path)
        return;
    term_printf(&self->term, "%-12s", label);
    view_path(self, TERM_PLAIN, path);
    term_printf(&self->term, "\n");
}

void view_workspace(struct cli *self, const json_t *json)
{
    print_path(self, "Folder", view_member(json, "path"));
    term_printf(&self->term, "%-12s%s\n", "Workspace", view_member(json, "id"));
    term_printf(&self->term, "%-12s%s\n", "Found", how_words(view_member(json, "how")));
    print_path(self, "Memory", view_member(json, "memory"));
    term_printf(&self->term, "%-12s", "Holds");
    print_amount(self, json);
    term_printf(&self->term, "\n");
}

void view_adopted(struct cli *self, const json_t *json)
{
    const char *before = view_member(json, "before");
    view_say(self, "%s has the memory %s now", view_member(json, "path"), view_member(json, "id"));
    if (*before)
        view_say(self, "Its own stays: ethos workspaces adopt %s --replace brings it back", before);
}

void view_accepted(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *files = json_object_get(json, "files");
    bool dry = json_is_true(json_object_get(json, "dryRun"));
    json_array_foreach ((json_t *)files, index, row)
        view_say(self, "%s %s",
                 !json_is_true(json_object_get(row, "changed")) ? "Is accepted:"
                 : dry                                          ? "Would accept"
                                                                : "Accepted",
                 view_member(row, "file"));
    if (json_array_size(files) == 0)
        view_say(self, "%s has no instructions", view_member(json, "path"));
}

void view_forgotten(struct cli *self, const json_t *json)
{
    long long folders = (long long)json_array_size(json_object_get(json, "paths"));
    const char *id = view_member(json, "id");
    if (json_is_true(json_object_get(json, "deleted")))
        view_say(self, "Deleted %s", id);
    else
        view_say(self, "Untied %s from %lld folder%s; ethos workspaces adopt %s ties it again", id,
                 folders, plural_suffix(folders), id);
}

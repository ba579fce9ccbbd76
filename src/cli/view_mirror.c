/*
 * view_mirror.c: what a mirror does, a line for each file as it happens, and what a person should know of it.
 *
 * The lines are data (stdout): which backend, an arrow for the direction, the file.
 */
#include <string.h>

#include "base/view.h"
#include "cli/view_internal.h"

static const char *error_of(const json_t *event)
{
    return view_member(json_object_get(event, "error"), "message");
}

static void say_begin(const struct cli *self, const json_t *event)
{
    bool two_way = json_is_true(json_object_get(event, "twoWay"));
    view_say(self, "%s %s %s%s. Ctrl-C ends it.", view_member(event, "backend"),
             two_way ? "<->" : "->", view_member(event, "folder"),
             two_way ? "" : ", read-only (--two-way takes edits)");
}

static void print_change(struct cli *self, const json_t *event, const char *arrow)
{
    const char *more = json_is_true(json_object_get(event, "removed"))  ? "  removed"
                       : json_is_true(json_object_get(event, "merged")) ? "  merged"
                                                                        : "";
    term_printf(&self->term, "%s %s %s%s\n", view_member(event, "backend"), arrow,
                view_member(event, "path"), more);
    fflush(self->term.out);
}

/* The option with which a command means a scope: " -p muse"; "" for one that every command means. */
static void name_option(const char *scope, char out[256])
{
    static const struct {
        const char *start, *option;
    } kinds[] = {{"personality:", " -p "}, {"user:", " -u "}, {"workspace:", " -w workspace:"}};
    *out = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = strlen(kinds[i].start);
        if (strncmp(scope, kinds[i].start, size) == 0)
            snprintf(out, 256, "%s%s", kinds[i].option, scope + size);
    }
}

/* A file may have been deleted by mistake, or by git: everybody who shares the backend has lost it, too. */
static void say_removed(const struct cli *self, const json_t *event)
{
    view_say(
        self,
        "%s was deleted in the folder, and so it is at %s; to bring it back: ethos memory undo "
        "--scope %s --key %s",
        view_member(event, "path"), view_member(event, "backend"), view_member(event, "scope"),
        view_member(event, "key"));
}

static void say_absorbed(struct cli *self, const json_t *event)
{
    if (!self->json)
        print_change(self, event, "<-");
    if (json_is_true(json_object_get(event, "removed")))
        say_removed(self, event);
}

static void print_conflict_copy(const struct cli *self, const json_t *event)
{
    const char *path = view_member(event, "path"), *backend = view_member(event, "backend");
    char option[256];
    name_option(view_member(event, "scope"), option);
    if (json_is_true(json_object_get(event, "merged")))
        view_say(self,
                 "warning: %s contradicts what %s has, which stays; the whole text of the file is "
                 "kept: ethos%s conflicts list",
                 path, backend, option);
    else if (json_is_true(json_object_get(event, "forgotten")))
        view_say(self,
                 "warning: %s was edited where something was forgotten at %s, which stays so; the "
                 "text of the file is kept in the folder: ethos --home %s%s conflicts list. To "
                 "forget it there, too: ethos --home %s%s memory forget TEXT",
                 path, backend, view_member(event, "folder"), option, view_member(event, "folder"),
                 option);
    else if (json_is_true(json_object_get(event, "twoWay")))
        view_say(self, "warning: a text of %s is kept beside it: ethos --home %s%s conflicts list",
                 path, view_member(event, "folder"), option);
    else
        view_say(self,
                 "warning: %s was edited, and this folder is read-only; the edit is kept: ethos "
                 "--home %s%s conflicts list. With --two-way edits go to %s",
                 path, view_member(event, "folder"), option, backend);
}

static void say_failed(const struct cli *self, const json_t *event)
{
    const char *hint = view_member(json_object_get(event, "error"), "hint");
    view_say(self, "warning: %s: %s%s%s", view_member(event, "path"), error_of(event),
             *hint ? "; " : "", hint);
}

static void say_refilled(const struct cli *self, const json_t *event)
{
    view_say(self,
             "warning: %lld of %lld files were deleted at once: they come again, and nothing is "
             "removed at %s. If they are to go: delete them, then ethos memory mirror %s --two-way "
             "--once --delete",
             view_integer(event, "gone"), view_integer(event, "known"),
             view_member(event, "backend"), view_member(event, "folder"));
}

static void say_in_step(const struct cli *self, long long texts)
{
    view_say(self, "%lld text%s in step.", texts, plural_suffix(texts));
}

void view_tell(void *arg, const json_t *event)
{
    struct cli *self = arg;
    const char *what = view_member(event, "what"), *backend = view_member(event, "backend");
    if (strcmp(what, "page") == 0)
        view_page(self, event);
    else if (strcmp(what, "begin") == 0)
        say_begin(self, event);
    else if (strcmp(what, "file") == 0 && !self->json)
        print_change(self, event, "->");
    else if (strcmp(what, "backend") == 0)
        say_absorbed(self, event);
    else if (strcmp(what, "kept") == 0)
        print_conflict_copy(self, event);
    else if (strcmp(what, "failed") == 0)
        say_failed(self, event);
    else if (strcmp(what, "skipped") == 0)
        view_say(self, "%s at %s is not in this folder: the home has it elsewhere",
                 view_member(event, "scope"), backend);
    else if (strcmp(what, "refilled") == 0)
        say_refilled(self, event);
    else if (strcmp(what, "inStep") == 0)
        say_in_step(self, view_integer(event, "known"));
    else if (strcmp(what, "away") == 0)
        view_say(self, "%s is out of reach: %s. It is tried again.", backend, error_of(event));
    else if (strcmp(what, "back") == 0)
        view_say(self, "%s is back.", backend);
}

void view_mirrored(struct cli *self, const json_t *json)
{
    if (json_is_true(json_object_get(json, "once")))
        say_in_step(self, view_integer(json, "texts"));
    else
        view_say(self, "Ended. %s is no longer kept in step.", view_member(json, "folder"));
}

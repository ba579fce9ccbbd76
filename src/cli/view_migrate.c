/*
 * view_migrate.c: what went from one backend to another, and what to set then.
 *
 * One line per scope with the digest of both sides, which are the data; the rest is said on stderr.
 */
#include <string.h>

#include "cli/view_internal.h"

#define DIGEST_SHOWN 16 /* hex digits of a digest, on a line for people */

static void say_scope(struct cli *self, const json_t *row, bool dry)
{
    long long changes = view_integer(row, "changes"), moved = view_integer(row, "moved");
    long long texts = view_integer(row, "texts");
    term_printf(&self->term, "%s  %lld change%s, %lld text%s", view_member(row, "scope"), changes,
                plural_suffix(changes), texts, plural_suffix(texts));
    if (dry)
        term_printf(&self->term, ", %lld to move\n", moved);
    else if (json_is_true(json_object_get(row, "same")))
        term_printf(&self->term, ", %lld moved  %.*s\n", moved, DIGEST_SHOWN,
                    view_member(row, "from"));
    else
        term_printf(&self->term, ", %lld moved  DIFFERS: %.*s, %.*s\n", moved, DIGEST_SHOWN,
                    view_member(row, "from"), DIGEST_SHOWN, view_member(row, "to"));
}

/* What is not as it was, and why. */
static void say_notes(const struct cli *self, const json_t *row)
{
    const char *scope = view_member(row, "scope");
    long long added = view_integer(row, "added"), renumbered = view_integer(row, "renumbered");
    long long lost = view_integer(row, "lost"), skipped = view_integer(row, "skipped");
    if (view_integer(row, "passes") > 1)
        view_say(self, "%s: the source changed meanwhile; that went over, too", scope);
    if (added > 0)
        view_say(self, "%s: %lld text%s that no change led to got one, via migrate", scope, added,
                 plural_suffix(added));
    if (renumbered > 0)
        view_say(self, "%s: %lld change%s got another number", scope, renumbered,
                 plural_suffix(renumbered));
    if (lost > 0)
        view_say(self, "%s: the source cannot tell %lld version%s any more", scope, lost,
                 plural_suffix(lost));
    if (skipped > 0)
        view_say(self, "%s: %lld line%s about no file of memory stayed", scope, skipped,
                 plural_suffix(skipped));
}

static void say_sessions(struct cli *self, const json_t *sessions, bool dry)
{
    long long count = view_integer(sessions, "sessions"),
              messages = view_integer(sessions, "messages");
    long long keys = view_integer(sessions, "keys");
    if (!json_is_object(sessions)) {
        view_say(self, "Sessions stay where they are.");
        return;
    }
    term_printf(&self->term, "sessions  %lld session%s, %lld message%s, %lld key%s", count,
                plural_suffix(count), messages, plural_suffix(messages), keys, plural_suffix(keys));
    if (!dry && count + keys > 0)
        term_printf(&self->term, ", %lld moved  %s%.*s", view_integer(sessions, "movedSessions"),
                    json_is_true(json_object_get(sessions, "same")) ? "" : "DIFFERS: ",
                    DIGEST_SHOWN, view_member(sessions, "from"));
    term_printf(&self->term, "\n");
}

void view_migrated(struct cli *self, const json_t *json)
{
    bool dry = json_is_true(json_object_get(json, "dryRun"));
    const json_t *scopes = json_object_get(json, "scopes");
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)scopes, index, row)
        say_scope(self, row, dry);
    say_sessions(self, json_object_get(json, "sessions"), dry);
    json_array_foreach ((json_t *)scopes, index, row)
        say_notes(self, row);
    if (json_array_size(scopes) == 0)
        view_say(self, "There is no memory in %s.", view_member(json, "from"));
    if (dry) {
        view_say(self, "Nothing was moved.");
        return;
    }
    view_say(self, "A sync that is sent again after the move counts as a new one there.");
    view_say(self, "To use %s from now on, set with ethos config set, or in config.yaml:",
             view_member(json, "to"));
    json_array_foreach (json_object_get(json, "config"), index, row)
        view_say(self, "  %s", json_string_value(row));
    if (strcmp(view_member(json, "to"), "markdown") == 0)
        view_say(self, "and take memory.options out of config.yaml: files have none.");
}

/*
 * view_backup.c: what a backup holds, and what a restore did.
 */
#include <string.h>

#include "cli/view_internal.h"

static void print_size(long long bytes, char out[32])
{
    if (bytes >= 10 * 1024 * 1024)
        snprintf(out, 32, "%lld MiB", bytes / 1024 / 1024);
    else if (bytes >= 10 * 1024)
        snprintf(out, 32, "%lld KiB", bytes / 1024);
    else
        snprintf(out, 32, "%lld bytes", bytes);
}

void view_backed_up(struct cli *self, const json_t *json)
{
    bool dry = json_is_true(json_object_get(json, "dryRun"));
    long long files = view_integer(json, "files"), databases = view_integer(json, "databases");
    char size[32];
    size_t index;
    json_t *row;
    print_size(view_integer(json, "bytes"), size);
    view_say(self, "%s %s: %lld file%s (%s), %lld database%s%s", dry ? "Would write" : "Wrote",
             view_member(json, "path"), files, plural_suffix(files), size, databases,
             plural_suffix(databases), dry ? "" : "; verified");
    json_array_foreach (json_object_get(json, "skipped"), index, row)
        view_say(self, "Not included: %s (%s)", view_member(row, "path"),
                 view_member(row, "reason"));
    json_array_foreach (json_object_get(json, "notIncluded"), index, row) {
        const char *personality = view_member(row, "personality");
        view_say(self, "Not included: memory in %s%s%s; %s", view_member(row, "backend"),
                 *personality ? " of personality " : "", personality, view_member(row, "remedy"));
    }
}

static void print_backup_row(struct cli *self, const json_t *row)
{
    const char *scope = view_member(row, "scope"), *key = view_member(row, "key");
    const char *why = view_member(row, "why");
    term_printf(&self->term, "%-8s  %s%s%s%s%s%s\n", view_member(row, "what"), scope,
                *scope && *key ? " " : "", key, *why ? " (" : "", why, *why ? ")" : "");
}

static void show_login(const struct cli *self, const json_t *json)
{
    const char *login = view_member(json, "login");
    const json_t *people = json_object_get(json, "people");
    size_t index;
    json_t *person;
    json_array_foreach ((json_t *)people, index, person) {
        const char *user = view_member(person, "userId"), *other = view_member(person, "login");
        view_say(self,
                 "The profile of %s%s%s%s is not in your prompt; if that is you, run: "
                 "ethos users link cli %s %s --merge",
                 user, *other ? " (login " : "", other, *other ? ")" : "", login, user);
    }
    if (*login && json_array_size(people) == 0)
        view_say(
            self,
            "Nobody in this home is known by the login '%s'; ethos users list shows the people, "
            "ethos users link --help how to link one.",
            login);
}

void view_restored(struct cli *self, const json_t *json)
{
    bool dry = json_is_true(json_object_get(json, "dryRun"));
    bool merge = json_is_true(json_object_get(json, "merge"));
    const json_t *rows = json_object_get(json, "rows");
    long long files = view_integer(json, "files"), conflicts = 0;
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row) {
        print_backup_row(self, row);
        conflicts += strcmp(view_member(row, "what"), "conflict") == 0;
    }
    if (!merge)
        view_say(self, "%s %lld file%s of %s into %s", dry ? "Would restore" : "Restored", files,
                 plural_suffix(files), view_member(json, "created"), view_member(json, "home"));
    else if (json_array_size(rows) == 0)
        view_say(self, "Everything in the backup is here already.");
    if (conflicts > 0 && !dry)
        view_say(self, "%lld text%s could not be merged; see ethos conflicts list", conflicts,
                 plural_suffix(conflicts));
    if (dry)
        view_say(self, "Nothing was changed.");
    show_login(self, json);
}

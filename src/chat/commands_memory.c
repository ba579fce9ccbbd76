/*
 * commands_memory.c: the commands of a conversation that show and change memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/view.h"
#include "chat/talk.h"

#define SHOWN_NOTES 200
#define EDIT_WORDS 16 /* of the command that opens an editor */

static const char *plural_s(long long number)
{
    return number == 1 ? "" : "s";
}

/* ---- /memory ----------------------------------------------------------------------------------- */

static void show_text(struct chat_talk *self, struct ethos_view text)
{
    text = view_trim_end(text);
    if (text.size > 0)
        self->screen->line(self->screen->arg, TALK_PLAIN, text);
}

static void show_files(struct chat_talk *self, const json_t *json)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_object_get(json, "files"), index, row) {
        const char *path = json_cstr(row, "path");
        talk_say(self, TALK_BOLD, "%s: %lld character%s in %s", json_cstr(row, "label"),
                 json_int(row, "chars"), plural_s(json_int(row, "chars")),
                 *path ? path : json_cstr(row, "key"));
        show_text(self, json_view(row, "shown"));
        talk_say(self, TALK_PLAIN, "%s", "");
    }
}

static void show_notes(struct chat_talk *self)
{
    size_t index;
    json_t *row;
    struct op_result result;
    if (talk_run(self, "notes.list", json_pack("{s:i}", "limit", SHOWN_NOTES), &result)) {
        const json_t *notes = json_object_get(result.json, "notes");
        if (json_array_size(notes) > 0)
            talk_say(self, TALK_BOLD, "Notes");
        json_array_foreach ((json_t *)notes, index, row)
            talk_say(self, TALK_PLAIN, "%-24s %s", json_cstr(row, "key"), json_cstr(row, "hook"));
        if (json_array_size(notes) > 0)
            talk_say(self, TALK_PLAIN, "%s", "");
    }
    op_result_release(&result);
}

static void show_memory(struct chat_talk *self)
{
    size_t index;
    json_t *row;
    struct op_result result;
    if (talk_run(self, "memory.list", json_object(), &result)) {
        long long chars = json_int(result.json, "chars"), budget = json_int(result.json, "budget");
        show_files(self, result.json);
        show_notes(self);
        talk_say(self, TALK_BOLD, "In the prompt: %lld of %lld characters (%lld %%)", chars, budget,
                 budget > 0 ? (100 * chars + budget - 1) / budget : 0);
        json_array_foreach (json_object_get(result.json, "omitted"), index, row)
            talk_say(self, TALK_PLAIN, "Left out: %lld characters of %s (%s)",
                     json_int(row, "chars"), json_cstr(row, "key"), json_cstr(row, "reason"));
    }
    op_result_release(&result);
}

static void show_note(struct chat_talk *self, struct ethos_view name)
{
    struct op_result result;
    if (talk_run(self, "notes.show", json_pack("{s:o}", "name", json_text(name)), &result)) {
        const char *path = json_cstr(result.json, "path");
        talk_say(self, TALK_BOLD, "%s", *path ? path : json_cstr(result.json, "key"));
        show_text(self, json_view(result.json, "content"));
    }
    op_result_release(&result);
}

static void append_option(const char *argv[], size_t *count, const char *name, const char *value)
{
    if (value) {
        argv[(*count)++] = name;
        argv[(*count)++] = value;
    }
}

/* The editor's command is one of this program: it merges, and loses no text. */
static void edit_memory(struct chat_talk *self, struct ethos_view name)
{
    char note[ETHOS_MAX_KEY + 1];
    const char *argv[EDIT_WORDS] = {"/proc/self/exe"};
    const struct ethos_request *request = &self->choice.request;
    bool user = view_eq_str(name, "USER.md");
    bool file = user || name.size == 0 || view_eq_str(name, "MEMORY.md");
    size_t count = 1;
    if (self->start->options->ephemeral || name.size >= sizeof note) {
        talk_say(self, TALK_FAILED,
                 name.size > 0 ? "this is not the name of a note"
                               : "throwaway memory cannot be edited; tell the agent instead");
        return;
    }
    snprintf(note, sizeof note, "%.*s", VIEW_ARG(name));
    argv[count++] = file ? "memory" : "notes";
    argv[count++] = "edit";
    append_option(argv, &count, "--store", user ? "user" : NULL);
    append_option(argv, &count, "--home", self->start->options->home);
    append_option(argv, &count, "--personality", self->choice.personality);
    append_option(argv, &count, "--user", request->user);
    append_option(argv, &count, "--workspace", request->workspace);
    if (!file) {
        argv[count++] = "--";
        argv[count++] = note;
    }
    if (self->screen->run(self->screen->arg, argv) == 0)
        talk_say(self, TALK_DIM, "The model sees this from the next message on.");
    else
        self->failed = true;
}

void command_memory(struct chat_talk *self, struct ethos_view rest)
{
    bool edits = view_eq_str(rest, "edit") || view_starts(rest, VIEW("edit "));
    if (edits)
        edit_memory(self, view_trim(view_from(rest, 4)));
    else if (rest.size > 0)
        show_note(self, rest);
    else
        show_memory(self);
}

/* ---- /undo ------------------------------------------------------------------------------------- */

/* Whether an earlier row has the same scope: all files of a scope are undone together. */
static bool is_scope_repeated(const json_t *rows, size_t at)
{
    const char *scope = json_cstr(json_array_get(rows, at), "scope");
    for (size_t i = 0; i < at; i++)
        if (strcmp(json_cstr(json_array_get(rows, i), "scope"), scope) == 0)
            return true;
    return false;
}

static void show_undone(struct chat_talk *self, const json_t *rows)
{
    size_t index, at;
    json_t *row, *line;
    json_array_foreach ((json_t *)rows, index, row) {
        talk_say(self, TALK_PLAIN, "undone in %s", json_cstr(row, "key"));
        json_array_foreach (json_object_get(row, "added"), at, line)
            talk_say(self, TALK_REMOVED, "- %s", json_string_value(line));
        json_array_foreach (json_object_get(row, "removed"), at, line)
            talk_say(self, TALK_ADDED, "+ %s", json_string_value(line));
    }
}

/* What this conversation changed since the turn began, whatever came later. */
static bool undo_turn_in_scope(struct chat_talk *self, const char *scope, const char *since)
{
    struct op_result result;
    bool done = talk_run(self, "memory.undo",
                         json_pack("{s:s, s:b, s:s, s:s}", "scope", scope, "all", 1, "session",
                                   self->changed_session, "since", since),
                         &result);
    done = done && result.code == ETHOS_OK;
    op_result_release(&result);
    return done;
}

void command_undo(struct chat_talk *self, struct ethos_view rest)
{
    char since[CLOCK_ISO_SIZE];
    bool done = true;
    (void)rest;
    if (!self->changes) {
        talk_say(self, TALK_DIM, "The last turn remembered nothing.");
        return;
    }
    clock_iso(self->changed_ms, since);
    for (size_t i = 0; i < json_array_size(self->changes); i++)
        if (!is_scope_repeated(self->changes, i))
            done = undo_turn_in_scope(self, json_cstr(json_array_get(self->changes, i), "scope"),
                                      since) &&
                   done;
    if (!done)
        return;
    show_undone(self, self->changes);
    json_decref(self->changes);
    self->changes = NULL;
}

/* ---- /forget ----------------------------------------------------------------------------------- */

static void show_forgotten(struct chat_talk *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *elsewhere = json_object_get(json, "elsewhere");
    json_array_foreach (json_object_get(json, "taken"), index, row)
        talk_say(self, TALK_REMOVED, "- %s:%lld: %s", json_cstr(row, "key"), json_int(row, "line"),
                 json_cstr(row, "text"));
    if (json_int(json, "more") > 0)
        talk_say(self, TALK_DIM, "and %lld more", json_int(json, "more"));
    if (json_int(json, "versions") > 0)
        talk_say(self, TALK_DIM, "and %lld recorded change%s of the history",
                 json_int(json, "versions"), plural_s(json_int(json, "versions")));
    if (elsewhere)
        talk_say(self, TALK_DIM,
                 "elsewhere (files: %lld, messages: %lld) it stays; ethos memory forget "
                 "--everywhere purges those, too",
                 json_int(elsewhere, "files"), json_int(elsewhere, "messages"));
}

void command_forget(struct chat_talk *self, struct ethos_view rest)
{
    struct op_result result;
    if (rest.size == 0) {
        talk_say(self, TALK_FAILED, "/forget needs a text, such as /forget the old password");
        return;
    }
    bool found = talk_try(self, "memory.forget", json_pack("{s:o}", "text", json_text(rest)),
                          &result);
    if (found)
        show_forgotten(self, result.json);
    op_result_release(&result);
    if (!found || !self->screen->confirm(self->screen->arg, "Purge this for good?"))
        return;
    if (talk_run(self, "memory.forget", json_pack("{s:o}", "text", json_text(rest)), &result) &&
        result.code == ETHOS_OK)
        talk_say(self, TALK_DIM, "Purged.");
    op_result_release(&result);
}

/* ---- /recall ----------------------------------------------------------------------------------- */

static void show_hits(struct chat_talk *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *hits = json_object_get(json, "hits");
    json_array_foreach ((json_t *)hits, index, row)
        talk_say(self, TALK_PLAIN, "%s:%lld: %s", json_cstr(row, "key"), json_int(row, "line"),
                 json_cstr(row, "snippet"));
    if (json_array_size(hits) == 0)
        talk_say(self, TALK_DIM, "Nothing found.");
}

void command_recall(struct chat_talk *self, struct ethos_view rest)
{
    struct op_result result;
    if (rest.size == 0) {
        talk_say(self, TALK_FAILED, "/recall needs a text, such as /recall deploy on Fridays");
        return;
    }
    if (talk_run(self, "memory.search", json_pack("{s:o}", "query", json_text(rest)), &result))
        show_hits(self, result.json);
    op_result_release(&result);
}

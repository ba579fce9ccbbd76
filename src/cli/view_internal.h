/*
 * view_internal.h: what the views share: members of JSON rows, and words to the person.
 */
#ifndef ETHOS_CLI_VIEW_INTERNAL_H
#define ETHOS_CLI_VIEW_INTERNAL_H

#include "base/json.h"
#include "cli/cli.h"

/* "" and 0 for what is null or missing. */
static inline const char *view_member(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

static inline long long view_integer(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

static inline const char *plural_suffix(long long number)
{
    return number == 1 ? "" : "s";
}

/* One line on stderr, after what stdout was given; -q silences it. */
void view_say(const struct cli *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define VIEW_COMMAND_BYTES 16384 /* of a command that is proposed */

/* Appends "ethos -p coder": the program with the global options that choose whose memory is meant. */
void view_program(const struct cli *self, struct str *out);

/* Appends " --scope global", quoted for a shell where needed; nothing for NULL or "". */
void view_option(struct str *out, const char *option, const char *value);

/* "just now", "5 min ago", ... of a time in a row. */
void view_when(const json_t *row, const char *name, char out[TERM_WHEN_SIZE]);

/* What follows the home directory of the user in a path, or NULL. */
const char *view_below_home(const char *path);

/* A path, the home directory of the user as ~. */
void view_path(struct cli *self, enum term_style style, const char *path);

/* The report of what changes files (view.c). */
void view_report(struct cli *self, const json_t *json);

/* "████░░░░ 12 of 20000 characters" and a line end (view.c). */
void view_gauge(struct cli *self, long long chars, long long budget);

/* view_notes.c */
void view_notes(struct cli *self, const json_t *json);
void view_graph(struct cli *self, const json_t *json);
void view_note_head(struct cli *self, const json_t *note);
void view_remembered(struct cli *self, const json_t *json);
void view_written_note(struct cli *self, const json_t *json);
void view_removed(struct cli *self, const json_t *json);
void view_moved(struct cli *self, const json_t *json);
void view_reindexed(struct cli *self, const json_t *json);
void view_checked(struct cli *self, const json_t *json);
void view_promoted(struct cli *self, const json_t *json);

/* view_chunks.c */
void view_chunks(struct cli *self, const json_t *json);
void view_chunk(struct cli *self, const json_t *json);
void view_changed_chunk(struct cli *self, const json_t *json);

/* view_api_keys.c */
void view_key(struct cli *self, const json_t *json);
void view_keys(struct cli *self, const json_t *json);
void view_browsers(struct cli *self, const json_t *json);
void view_signed_out(struct cli *self, const json_t *json);
void view_revoked(struct cli *self, const json_t *json);

/* view_pending.c */
void view_pending(struct cli *self, const json_t *json);
void view_pending_one(struct cli *self, const json_t *json);
void view_approved(struct cli *self, const json_t *json);
void view_decided(struct cli *self, const json_t *json);

/* view_hidden.c; the reasons and the text of one line, for whoever is asked about it. */
void view_hidden(struct cli *self, const json_t *json);
void view_shown_line(struct cli *self, const json_t *json);
void view_hidden_line(struct cli *self, const json_t *json);
void view_describe_line(FILE *out, const json_t *row);

/* A unified diff, what came and what went coloured (view_history.c). */
void view_lines_of_diff(struct cli *self, struct ethos_view diff);

/* view_channels.c */
void view_channel_owner(struct cli *self, const json_t *json);
void view_channel_allowed(struct cli *self, const json_t *json);
void view_channel_removed(struct cli *self, const json_t *json);
void view_channel_people(struct cli *self, const json_t *json);
void view_channel_status(struct cli *self, const json_t *json);
void view_channel_messages(struct cli *self, const json_t *json);
void view_channel_resent(struct cli *self, const json_t *json);

/* view_history.c */
void view_history(struct cli *self, const json_t *json);
void view_timeline(struct cli *self, const json_t *json);
void view_diff(struct cli *self, const json_t *json);
void view_undo(struct cli *self, const json_t *json);
void view_blame(struct cli *self, const json_t *json);
void view_forget(struct cli *self, const json_t *json);
void view_taken(FILE *out, const json_t *json); /* what a purge would take */
void view_conflicts(struct cli *self, const json_t *json);
void view_conflict(struct cli *self, const json_t *json);
void view_resolved(struct cli *self, const json_t *json);

/*
 * view_import_export.c; progress is shown to a person at a terminal, on stderr, and taken away when done is
 * total
 */
void view_imported(struct cli *self, const json_t *json);
void view_exported(struct cli *self, const json_t *json);
void view_printed(struct cli *self, const json_t *json); /* to standard output: what it lacks */
void view_progress(void *arg, uint64_t done, uint64_t total);

/* "3 taken, 1 skipped" in the order of the kinds; "nothing to do" when there was nothing. */
void view_counts(const json_t *counts, const char *const *kinds, struct str *out);

/* view_migrate.c */
void view_migrated(struct cli *self, const json_t *json);

/* view_backup.c */
void view_backed_up(struct cli *self, const json_t *json);
void view_restored(struct cli *self, const json_t *json);

/* view_mirror.c; view_tell: as it happens */
void view_mirrored(struct cli *self, const json_t *json);
void view_tell(void *arg, const json_t *event);

/* view_sessions_import.c */
void view_sessions_imported(struct cli *self, const json_t *json);

/* view_sessions.c; the name of a session in a sentence is its title or the start of its id */
#define VIEW_SESSION_SIZE 256
void view_session_name(const json_t *row, char out[VIEW_SESSION_SIZE]);
void view_sessions(struct cli *self, const json_t *json);
void view_session(struct cli *self, const json_t *json);
void view_session_id(struct cli *self, const json_t *json);
void view_hits(struct cli *self, const json_t *json);
void view_appended(struct cli *self, const json_t *json);
void view_taken_back(struct cli *self, const json_t *json);
void view_renamed(struct cli *self, const json_t *json);
void view_pinned(struct cli *self, const json_t *json);
void view_deleted(struct cli *self, const json_t *json);
void view_pruned(struct cli *self, const json_t *json);

/* view_workspaces.c */
void view_workspaces(struct cli *self, const json_t *json);
void view_workspace(struct cli *self, const json_t *json);
void view_adopted(struct cli *self, const json_t *json);
void view_accepted(struct cli *self, const json_t *json);
void view_forgotten(struct cli *self, const json_t *json);

/* view_install.c */
void view_install(struct cli *self, const json_t *json);
void view_status(struct cli *self, const json_t *json);
void view_uninstall(struct cli *self, const json_t *json);

#endif

/*
 * commands_pending.c: the commands of a conversation that decide what is remembered, and whose words count.
 */
#include <stdio.h>
#include <string.h>

#include "base/view.h"
#include "chat/talk.h"

#define SHORT_ID 8
#define ID_ROOM 64     /* bytes of an id that is typed */
#define EDIT_WORDS 16  /* of the command that opens an editor */
#define TEXT_SHOWN 200 /* characters of a text in a list */

/* ---- showing ----------------------------------------------------------------------------------- */

static void show_pending_row(struct chat_talk *self, const json_t *row)
{
    const json_t *update = json_object_get(row, "update");
    const char *actor = json_cstr(row, "actor"), *trust = json_cstr(row, "trust");
    const char *text = *json_cstr(update, "content") ? json_cstr(update, "content")
                                                     : json_cstr(update, "substringMatch");
    size_t size = strcspn(text, "\n");
    talk_say(self, TALK_BOLD, "%.*s  %s %s  by %s%s%s%s", SHORT_ID, json_cstr(row, "id"),
             json_cstr(update, "action"), json_cstr(update, "key"),
             *actor ? actor : json_cstr(row, "source"), *trust ? " (" : "", trust,
             *trust ? ")" : "");
    talk_say(self, TALK_PLAIN, "  %.*s", (int)(size < TEXT_SHOWN ? size : TEXT_SHOWN), text);
}

static void list_pending(struct chat_talk *self)
{
    size_t index;
    json_t *row;
    struct op_result result;
    if (talk_run(self, "pending.list", json_object(), &result)) {
        const json_t *rows = json_object_get(result.json, "pending");
        json_array_foreach ((json_t *)rows, index, row)
            show_pending_row(self, row);
        talk_say(self, TALK_DIM, "%s",
                 json_array_size(rows) > 0
                     ? "/pending ID shows one; /pending approve|edit|reject|never ID decides"
                     : "Nothing waits for you.");
    }
    op_result_release(&result);
}

static void show_diff(struct chat_talk *self, struct ethos_view diff)
{
    struct ethos_view line;
    bool hunk = false;
    while (view_line(&diff, &line)) {
        bool begins = view_starts(line, VIEW("Index: "));
        hunk = begins ? false : hunk || view_starts(line, VIEW("@@"));
        char mark = hunk && line.size > 0 ? *line.data : ' ';
        if (begins)
            talk_say(self, TALK_DIM, "%.*s", VIEW_ARG(view_from(line, 7)));
        else if (hunk && mark != '@')
            talk_say(self,
                     mark == '+'   ? TALK_ADDED
                     : mark == '-' ? TALK_REMOVED
                                   : TALK_PLAIN,
                     "%.*s", VIEW_ARG(line));
    }
}

/* *out_hash is that of what was shown. False: there is no such change, and that is shown. */
static bool show_change(struct chat_talk *self, const char *id, char out_id[ID_ROOM],
                        char out_hash[80])
{
    size_t index;
    json_t *reason;
    struct op_result result;
    bool shown = talk_run(self, "pending.show", json_pack("{s:s}", "id", id), &result);
    if (shown) {
        show_pending_row(self, result.json);
        json_array_foreach (json_object_get(result.json, "reasons"), index, reason)
            talk_say(self, TALK_DIM, "  It waits because %s.", json_string_value(reason));
        show_diff(self, json_view(result.json, "diff"));
        snprintf(out_id, ID_ROOM, "%s", json_cstr(result.json, "id"));
        snprintf(out_hash, 80, "%s", json_cstr(result.json, "hash"));
    }
    op_result_release(&result);
    return shown;
}

/* ---- deciding ----------------------------------------------------------------------------------- */

static void decide_pending(struct chat_talk *self, const char *operation, const char *id,
                           const char *question, const char *done)
{
    char whole[ID_ROOM], hash[80];
    struct op_result result;
    if (!show_change(self, id, whole, hash) || !self->screen->confirm(self->screen->arg, question))
        return;
    if (talk_run(self, operation, json_pack("{s:s, s:s}", "id", whole, "hash", hash), &result) &&
        result.code == ETHOS_OK)
        talk_say(self, TALK_DIM, "%s", done);
    op_result_release(&result);
}

/* The editor's command is one of this program. */
static void edit_pending(struct chat_talk *self, const char *id)
{
    const char *argv[EDIT_WORDS] = {"/proc/self/exe", "pending", "edit", id};
    size_t count = 4;
    if (self->start->options->ephemeral) {
        talk_say(self, TALK_FAILED, "throwaway memory cannot be edited");
        return;
    }
    if (self->start->options->home) {
        argv[count++] = "--home";
        argv[count++] = self->start->options->home;
    }
    if (self->screen->run(self->screen->arg, argv) != 0)
        self->failed = true;
}

void command_pending(struct chat_talk *self, struct ethos_view rest)
{
    static const struct {
        const char *word, *operation, *question, *done;
    } rows[] = {
        {"approve", "pending.approve", "Approve it?", "Approved. /memory shows it."},
        {"reject", "pending.reject", "Reject it?", "Rejected."},
        {"never", "pending.never", "Reject it for ever?",
         "Rejected; it will not be proposed again."},
        {"edit", NULL, NULL, NULL},
    };
    char id[ID_ROOM], hash[80];
    const char *space = rest.size > 0 ? memchr(rest.data, ' ', rest.size) : NULL;
    struct ethos_view word = view_of(rest.data, space ? (size_t)(space - rest.data) : rest.size);
    if (rest.size == 0) {
        list_pending(self);
        return;
    }
    for (size_t i = 0; space && i < sizeof rows / sizeof *rows; i++) {
        if (!view_eq_str(word, rows[i].word))
            continue;
        struct ethos_view name = view_trim(view_from(rest, word.size));
        snprintf(id, sizeof id, "%.*s", VIEW_ARG(name));
        if (rows[i].operation)
            decide_pending(self, rows[i].operation, id, rows[i].question, rows[i].done);
        else
            edit_pending(self, id);
        return;
    }
    snprintf(id, sizeof id, "%.*s", VIEW_ARG(rest));
    show_change(self, id, id, hash);
}

/* ---- /accept ------------------------------------------------------------------------------------ */

static json_t *project_args(const struct chat_talk *self)
{
    return *self->choice.folder ? json_pack("{s:s}", "path", self->choice.folder) : json_object();
}

/* What is new is shown before it is accepted. */
void command_accept(struct chat_talk *self, struct ethos_view rest)
{
    size_t index, news = 0;
    json_t *row;
    struct op_result result;
    (void)rest;
    if (talk_try(self, "workspaces.accept", project_args(self), &result))
        json_array_foreach (json_object_get(result.json, "files"), index, row) {
            if (!json_is_true(json_object_get(row, "changed")))
                continue;
            news++;
            talk_say(self, TALK_BOLD, "%s", json_cstr(row, "file"));
            self->screen->line(self->screen->arg, TALK_PLAIN,
                               view_trim_end(json_view(row, "text")));
        }
    bool tried = result.json != NULL;
    op_result_release(&result);
    if (tried && news == 0)
        talk_say(self, TALK_DIM, "There is nothing new to accept here.");
    if (news == 0 || !self->screen->confirm(self->screen->arg, "Accept this as your own words?"))
        return;
    if (talk_run(self, "workspaces.accept", project_args(self), &result))
        talk_say(self, TALK_DIM, "Accepted, until a file changes.");
    op_result_release(&result);
}

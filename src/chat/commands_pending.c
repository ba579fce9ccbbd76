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

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* ---- showing ----------------------------------------------------------------------------------- */

static void show_row(struct talk *self, const json_t *row)
{
    const json_t *update = json_object_get(row, "update");
    const char *actor = text_of(row, "actor"), *trust = text_of(row, "trust");
    const char *text = *text_of(update, "content") ? text_of(update, "content")
                                                   : text_of(update, "substringMatch");
    size_t size = strcspn(text, "\n");
    talk_say(self, TALK_BOLD, "%.*s  %s %s  by %s%s%s%s", SHORT_ID, text_of(row, "id"),
             text_of(update, "action"), text_of(update, "key"),
             *actor ? actor : text_of(row, "source"), *trust ? " (" : "", trust, *trust ? ")" : "");
    talk_say(self, TALK_PLAIN, "  %.*s", (int)(size < TEXT_SHOWN ? size : TEXT_SHOWN), text);
}

static void show_all(struct talk *self)
{
    size_t index;
    json_t *row;
    struct op_result result;
    if (talk_run(self, "pending.list", json_object(), &result)) {
        const json_t *rows = json_object_get(result.json, "pending");
        json_array_foreach ((json_t *)rows, index, row)
            show_row(self, row);
        talk_say(self, TALK_DIM, "%s",
                 json_array_size(rows) > 0
                     ? "/pending ID shows one; /pending approve|edit|reject|never ID decides"
                     : "Nothing waits for you.");
    }
    op_result_release(&result);
}

static void show_diff(struct talk *self, struct ethos_view diff)
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
static bool show_one(struct talk *self, const char *id, char out_id[ID_ROOM], char out_hash[80])
{
    size_t index;
    json_t *reason;
    struct op_result result;
    bool shown = talk_run(self, "pending.show", json_pack("{s:s}", "id", id), &result);
    if (shown) {
        show_row(self, result.json);
        json_array_foreach (json_object_get(result.json, "reasons"), index, reason)
            talk_say(self, TALK_DIM, "  It waits because %s.", json_string_value(reason));
        show_diff(self, json_view(result.json, "diff"));
        snprintf(out_id, ID_ROOM, "%s", text_of(result.json, "id"));
        snprintf(out_hash, 80, "%s", text_of(result.json, "hash"));
    }
    op_result_release(&result);
    return shown;
}

/* ---- deciding ----------------------------------------------------------------------------------- */

static void decide(struct talk *self, const char *operation, const char *id, const char *question,
                   const char *done)
{
    char whole[ID_ROOM], hash[80];
    struct op_result result;
    if (!show_one(self, id, whole, hash) || !self->screen->confirm(self->screen->arg, question))
        return;
    if (talk_run(self, operation, json_pack("{s:s, s:s}", "id", whole, "hash", hash), &result) &&
        result.code == ETHOS_OK)
        talk_say(self, TALK_DIM, "%s", done);
    op_result_release(&result);
}

/* The editor's command is one of this program. */
static void edit(struct talk *self, const char *id)
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

void command_pending(struct talk *self, struct ethos_view rest)
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
        show_all(self);
        return;
    }
    for (size_t i = 0; space && i < sizeof rows / sizeof *rows; i++) {
        if (!view_eq_str(word, rows[i].word))
            continue;
        struct ethos_view name = view_trim(view_from(rest, word.size));
        snprintf(id, sizeof id, "%.*s", VIEW_ARG(name));
        if (rows[i].operation)
            decide(self, rows[i].operation, id, rows[i].question, rows[i].done);
        else
            edit(self, id);
        return;
    }
    snprintf(id, sizeof id, "%.*s", VIEW_ARG(rest));
    show_one(self, id, id, hash);
}

/* ---- /accept ------------------------------------------------------------------------------------ */

static json_t *project_args(const struct talk *self)
{
    return *self->choice.folder ? json_pack("{s:s}", "path", self->choice.folder) : json_object();
}

/* What is new is shown before it is accepted. */
void command_accept(struct talk *self, struct ethos_view rest)
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
            talk_say(self, TALK_BOLD, "%s", text_of(row, "file"));
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

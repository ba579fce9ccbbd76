/*
 * review.c: ethos pending: the changes that wait, one after the other; and pending edit in an editor.
 *
 * Every decision carries the hash of what was shown. If the change says something else by then, it is shown again.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/view.h"
#include "cli/view_internal.h"

#define QUESTION "[a]pprove [e]dit [r]eject [n]ever again [A]lways allow [s]kip [q]uit? "

static bool is_person(const struct cli *self)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !self->no_input && !self->json;
}

/* Runs an operation of pending; takes args. The result is released by the caller. */
static int call_op(struct cli *self, const char *name, json_t *args, struct op_result *result,
                   struct ethos_error *error)
{
    op_result_init(result);
    int code = args ? cli_call(self, op_find(name), args, result, error) : err_nomem(error);
    json_decref(args);
    return code;
}

static json_t *decision_arguments(const char *id, const char *hash)
{
    return hash ? json_pack("{s:s, s:s}", "id", id, "hash", hash) : json_pack("{s:s}", "id", id);
}

/* Shows one; *out is what was shown, owned. */
static int show_one(struct cli *self, const char *id, json_t **out, struct ethos_error *error)
{
    struct op_result result;
    int code = call_op(self, "pending.show", decision_arguments(id, NULL), &result, error);
    if (code == ETHOS_OK) {
        bool no_pager = self->no_pager;
        self->no_pager = true;
        view_pending_one(self, result.json);
        term_finish(&self->term);
        self->no_pager = no_pager;
        *out = json_incref(result.json);
    }
    op_result_release(&result);
    return code;
}

/* ---- decisions ---------------------------------------------------------------------------------- */

static int run_decision(struct cli *self, const char *name, const json_t *shown, bool always,
                        struct ethos_error *error)
{
    struct op_result result;
    json_t *args = decision_arguments(view_member(shown, "id"), view_member(shown, "hash"));
    if (always)
        op_json_put(&args, "always", json_true());
    int code = call_op(self, name, args, &result, error);
    if (code == ETHOS_OK)
        view_result(self, op_find(name), &result);
    term_finish(&self->term);
    op_result_release(&result);
    return code;
}

static struct ethos_view text_to_edit(const json_t *shown)
{
    const json_t *update = json_object_get(shown, "update");
    struct ethos_view text = json_view(update, "content");
    return text.data ? text : json_view(update, "substringMatch");
}

/* In the editor; a text that was left as it is changes nothing. */
static int edit_one(struct cli *self, const json_t *shown, struct ethos_error *error)
{
    struct op_result result;
    struct str text;
    const char *key = view_member(json_object_get(shown, "update"), "key");
    struct ethos_view before = text_to_edit(shown);
    if (!before.data)
        return err_set(error, ETHOS_INVALID, "%s: a deletion has no text to edit", key);
    str_init(&text, ETHOS_MAX_INPUT_BYTES + 1);
    int code = edit_in_editor(key, before, &text, error);
    if (code == ETHOS_OK && !view_eq(str_view(&text), before)) {
        json_t *args = decision_arguments(view_member(shown, "id"), view_member(shown, "hash"));
        op_json_put(&args, "content", json_text(str_view(&text)));
        code = call_op(self, "pending.edit", args, &result, error);
        op_result_release(&result);
    } else if (code == ETHOS_OK) {
        view_say(self, "Unchanged");
    }
    str_release(&text);
    return code;
}

/* ---- one after the other -------------------------------------------------------------------------- */

static char ask_decision(const json_t *shown)
{
    char line[16];
    if (*view_member(shown, "rule")) {
        fputs("Always allow would add: ", stderr);
        term_safe(stderr, view_str(view_member(shown, "rule")));
        fputs("\n", stderr);
    }
    fputs(QUESTION, stderr);
    fflush(stderr);
    return fgets(line, sizeof line, stdin) ? *line : 'q';
}

enum next { NEXT_ONE, SAME_AGAIN, NO_MORE };

static enum next act(struct cli *self, char key, const json_t *shown, struct ethos_error *error)
{
    int code = ETHOS_OK;
    switch (key) {
    case 'a':
    case 'A':
        code = run_decision(self, "pending.approve", shown, key == 'A', error);
        break;
    case 'r':
        code = run_decision(self, "pending.reject", shown, false, error);
        break;
    case 'n':
        code = run_decision(self, "pending.never", shown, false, error);
        break;
    case 'e':
        code = edit_one(self, shown, error);
        break;
    case 's':
        break;
    case 'q':
        return NO_MORE;
    default:
        return SAME_AGAIN;
    }
    if (code == ETHOS_OK)
        return key == 'e' ? SAME_AGAIN : NEXT_ONE;
    cli_fail(self, error);
    bool gone = code == ETHOS_EXISTS || code == ETHOS_NOTFOUND;
    return gone ? NEXT_ONE : SAME_AGAIN;
}

static enum next review_one(struct cli *self, const char *id)
{
    struct ethos_error error = {0};
    enum next next = SAME_AGAIN;
    while (next == SAME_AGAIN) {
        json_t *shown = NULL;
        if (show_one(self, id, &shown, &error) != ETHOS_OK)
            return error.code == ETHOS_NOTFOUND ? NEXT_ONE : (cli_fail(self, &error), NO_MORE);
        next = act(self, ask_decision(shown), shown, &error);
        json_decref(shown);
    }
    return next;
}

int review_run(struct cli *self)
{
    struct op_result result;
    struct ethos_error error = {0};
    const struct op *list = op_find("pending.list");
    size_t index;
    json_t *row;
    int code = call_op(self, "pending.list", json_object(), &result, &error);
    if (code != ETHOS_OK) {
        op_result_release(&result);
        return cli_fail(self, &error);
    }
    int status = CLI_DONE;
    if (!is_person(self) || json_array_size(json_object_get(result.json, "pending")) == 0) {
        status = cli_show(self, list, &result);
    } else {
        json_array_foreach (json_object_get(result.json, "pending"), index, row)
            if (review_one(self, view_member(row, "id")) == NO_MORE)
                break;
    }
    op_result_release(&result);
    return status;
}

/* ---- pending edit, pending approve ---------------------------------------------------------------- */

bool review_edits(const struct cli *self)
{
    return strcmp(self->op->name, "pending.edit") == 0 && is_person(self) &&
           !json_object_get(self->args, "content");
}

int review_edit_run(struct cli *self)
{
    json_t *shown = NULL;
    struct ethos_error error = {0};
    int code = show_one(self, view_member(self->args, "id"), &shown, &error);
    if (code == ETHOS_OK)
        code = edit_one(self, shown, &error);
    json_decref(shown);
    return code == ETHOS_OK ? CLI_DONE : cli_fail(self, &error);
}

int review_ask(struct cli *self)
{
    char answer[16] = "";
    json_t *shown = NULL;
    struct ethos_error error = {0};
    if (!is_person(self) || self->yes || self->dry_run || json_object_get(self->args, "hash"))
        return CLI_DONE;
    if (show_one(self, view_member(self->args, "id"), &shown, &error) != ETHOS_OK)
        return cli_fail(self, &error);
    op_json_put(&self->args, "hash", json_incref(json_object_get(shown, "hash")));
    json_decref(shown);
    fputs("Approve it? [y/N] ", stderr);
    fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y'))
        return CLI_DONE;
    view_say(self, "It waits on");
    return CLI_REFUSED;
}

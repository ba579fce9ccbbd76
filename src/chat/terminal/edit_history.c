/*
 * edit_history.c: earlier messages in the input, and the search in them.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "base/view.h"
#include "chat/terminal/edit.h"

int edit_add_history(struct edit_buffer *self, struct ethos_view message)
{
    size_t count = self->history_count;
    if (view_blank(message) || (count > 0 && view_eq_str(message, self->history[count - 1]))) {
        self->history_at = count;
        return ETHOS_OK;
    }
    if (!self->history)
        self->history = calloc(EDIT_MAX_HISTORY, sizeof *self->history);
    char *copy = self->history ? malloc(message.size + 1) : NULL;
    if (!copy)
        return ETHOS_NOMEM;
    memcpy(copy, message.data, message.size);
    copy[message.size] = 0;
    if (count == EDIT_MAX_HISTORY) {
        free(self->history[0]);
        memmove(self->history, self->history + 1, --count * sizeof *self->history);
    }
    self->history[count++] = copy;
    self->history_count = self->history_at = count;
    return ETHOS_OK;
}

static enum edit_result show_history_entry(struct edit_buffer *self, size_t entry)
{
    bool is_draft = entry == self->history_count;
    struct ethos_view text = is_draft ? str_view(&self->draft) : view_str(self->history[entry]);
    if (!edit_replace(self, 0, self->text.size, text))
        return EDIT_REFUSED;
    self->history_at = entry;
    return EDIT_HANDLED;
}

enum edit_result edit_previous(struct edit_buffer *self)
{
    if (self->history_at == 0)
        return EDIT_IGNORED;
    if (self->history_at == self->history_count) {
        str_clear(&self->draft);
        if (str_add(&self->draft, str_view(&self->text)) != ETHOS_OK)
            return EDIT_REFUSED;
    }
    return show_history_entry(self, self->history_at - 1);
}

enum edit_result edit_next(struct edit_buffer *self)
{
    return self->history_at == self->history_count ? EDIT_IGNORED
                                                   : show_history_entry(self, self->history_at + 1);
}

/* ---- search ------------------------------------------------------------------------------------ */

/* Shows the newest entry before `limit` that has the query. */
static void find_match_before(struct edit_buffer *self, size_t limit)
{
    self->found = false;
    for (size_t i = limit; i-- > 0 && !self->found;) {
        const char *match = strstr(self->history[i], self->query.data);
        if (!match || !edit_replace(self, 0, self->text.size, view_str(self->history[i])))
            continue;
        self->cursor = (size_t)(match - self->history[i]);
        self->found_at = i;
        self->found = true;
    }
}

enum edit_result edit_search_begin(struct edit_buffer *self)
{
    char *copy = malloc(self->text.size + 1);
    if (!copy)
        return EDIT_REFUSED;
    memcpy(copy, self->text.data, self->text.size + 1);
    self->before_search = (struct edit_step){copy, self->text.size, self->cursor};
    str_clear(&self->query);
    self->searching = true;
    self->found = false;
    self->found_at = self->history_count;
    return EDIT_HANDLED;
}

void edit_search_end(struct edit_buffer *self)
{
    free(self->before_search.text);
    self->before_search = (struct edit_step){0};
    self->searching = false;
}

static void restore_searched_text(struct edit_buffer *self)
{
    const struct edit_step *before = &self->before_search;
    if (edit_replace(self, 0, self->text.size, view_of(before->text, before->size)))
        self->cursor = before->cursor;
}

static bool is_letter_key(const struct key *key, char letter)
{
    return key->kind == KEY_CTRL && key->letter == letter;
}

bool edit_search_key(struct edit_buffer *self, const struct key *key)
{
    size_t size = self->query.size;
    if (key->kind == KEY_CHARACTER) {
        if (str_add(&self->query, key->text) != ETHOS_OK)
            str_undo(&self->query, size);
        else
            find_match_before(self, self->found_at + (self->found_at < self->history_count));
        return true;
    }
    if (key->kind == KEY_BACKSPACE) {
        str_truncate(&self->query, size ? utf8_before(str_view(&self->query), size) : 0);
        self->found_at = self->history_count;
        find_match_before(self, self->found_at);
        return true;
    }
    if (is_letter_key(key, 'R')) {
        if (size > 0)
            find_match_before(self, self->found_at);
        return true;
    }
    bool is_canceled = key->kind == KEY_ESCAPE || is_letter_key(key, 'C') ||
                       is_letter_key(key, 'G');
    if (is_canceled)
        restore_searched_text(self);
    edit_search_end(self);
    return is_canceled;
}

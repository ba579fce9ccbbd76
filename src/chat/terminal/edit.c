/*
 * edit.c: the input of a conversation: text, cursor, undo, and what keys do.
 */
#include "chat/terminal/edit.h"

#include <stdlib.h>

#include "base/view.h"

void edit_init(struct edit_buffer *self, int columns, const struct cluster_widths *widths)
{
    *self = (struct edit_buffer){.widths = widths};
    str_init(&self->text, EDIT_MAX_TEXT);
    str_init(&self->killed, EDIT_MAX_TEXT);
    str_init(&self->draft, EDIT_MAX_TEXT);
    str_init(&self->query, EDIT_MAX_QUERY);
    edit_resize(self, columns);
}

static void drop_undo_steps(struct edit_buffer *self, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        self->undo_size -= self->undo[i].size;
        free(self->undo[i].text);
    }
    self->undo_count -= count;
    memmove(self->undo, self->undo + count, self->undo_count * sizeof *self->undo);
}

void edit_release(struct edit_buffer *self)
{
    drop_undo_steps(self, self->undo_count);
    for (size_t i = 0; i < self->history_count; i++)
        free(self->history[i]);
    free(self->history);
    edit_search_end(self);
    str_release(&self->text);
    str_release(&self->killed);
    str_release(&self->draft);
    str_release(&self->query);
}

void edit_resize(struct edit_buffer *self, int columns)
{
    self->columns = columns > 0 ? columns : 1;
}

/* ---- boundaries ------------------------------------------------------------------------------------ */

static size_t find_line_begin(const struct edit_buffer *self, size_t at)
{
    while (at > 0 && self->text.data[at - 1] != '\n')
        at--;
    return at;
}

static size_t find_line_end(const struct edit_buffer *self, size_t at)
{
    const char *end = memchr(self->text.data + at, '\n', self->text.size - at);
    return end ? (size_t)(end - self->text.data) : self->text.size;
}

/* The first boundary of clusters at or after an offset; *before, the last one before it. */
static size_t find_boundary(const struct edit_buffer *self, size_t offset, size_t *before)
{
    size_t at = find_line_begin(self, offset);
    *before = at == offset && at > 0 ? at - 1 : at;
    while (at < offset) {
        *before = at;
        at = edit_cluster_end(self, at);
    }
    return at;
}

static size_t find_previous_boundary(const struct edit_buffer *self, size_t at)
{
    size_t before;
    find_boundary(self, at, &before);
    return before;
}

static size_t find_next_boundary(const struct edit_buffer *self, size_t at)
{
    return at < self->text.size ? edit_cluster_end(self, at) : at;
}

static bool is_word_char(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte >= 0x80 || byte == '_' || (byte >= '0' && byte <= '9') ||
           (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_visible_char(char c)
{
    return c != ' ' && c != '\t' && c != '\n';
}

/* The bytes of a character are all of a word, or none is, so bytes do for words. */
static size_t find_word_begin(const struct edit_buffer *self, size_t at, bool (*belongs)(char))
{
    size_t before;
    while (at > 0 && !belongs(self->text.data[at - 1]))
        at--;
    while (at > 0 && belongs(self->text.data[at - 1]))
        at--;
    return find_boundary(self, at, &before);
}

static size_t find_next_word_end(const struct edit_buffer *self, size_t at)
{
    size_t before;
    while (at < self->text.size && !is_word_char(self->text.data[at]))
        at++;
    while (at < self->text.size && is_word_char(self->text.data[at]))
        at++;
    return find_boundary(self, at, &before);
}

/* ---- changes ----------------------------------------------------------------------------------- */

bool edit_replace(struct edit_buffer *self, size_t begin, size_t end, struct ethos_view by)
{
    struct str *text = &self->text;
    size_t removed = end - begin, before;
    if (removed == 0 && by.size == 0)
        return true;
    if (by.size > removed && str_reserve(text, by.size - removed) != ETHOS_OK) {
        str_undo(text, text->size);
        return false;
    }
    memmove(text->data + begin + by.size, text->data + end, text->size - end + 1);
    if (by.size)
        memcpy(text->data + begin, by.data, by.size);
    text->size = text->size - removed + by.size;
    self->cursor = find_boundary(self, begin + by.size, &before);
    return true;
}

/* Without memory there is a step less to undo. */
static void save_undo_step(struct edit_buffer *self)
{
    size_t size = self->text.size;
    while (self->undo_count > 0 &&
           (self->undo_count == EDIT_MAX_UNDO || self->undo_size + size > EDIT_MAX_UNDO_SIZE))
        drop_undo_steps(self, 1);
    char *copy = malloc(size + 1);
    if (!copy)
        return;
    memcpy(copy, self->text.data, size + 1);
    self->undo[self->undo_count++] = (struct edit_step){copy, size, self->cursor};
    self->undo_size += size;
}

static enum edit_result undo_step(struct edit_buffer *self)
{
    if (self->undo_count == 0)
        return EDIT_IGNORED;
    struct edit_step step = self->undo[self->undo_count - 1];
    if (!edit_replace(self, 0, self->text.size, view_of(step.text, step.size)))
        return EDIT_REFUSED;
    self->cursor = step.cursor;
    self->undo_size -= step.size;
    self->undo_count--;
    free(step.text);
    return EDIT_HANDLED;
}

static enum edit_result change_text(struct edit_buffer *self, size_t begin, size_t end,
                                    struct ethos_view by)
{
    if (begin == end && by.size == 0)
        return EDIT_IGNORED;
    if (self->text.size - (end - begin) + by.size > EDIT_MAX_TEXT)
        return EDIT_REFUSED;
    save_undo_step(self);
    return edit_replace(self, begin, end, by) ? EDIT_HANDLED : EDIT_REFUSED;
}

static enum edit_result insert_text(struct edit_buffer *self, struct ethos_view text)
{
    return change_text(self, self->cursor, self->cursor, text);
}

/* A word is one step of undo. */
static enum edit_result type_character(struct edit_buffer *self, struct ethos_view character,
                                       enum edit_group last)
{
    enum edit_result result = EDIT_HANDLED;
    if (last != EDIT_TYPING)
        result = insert_text(self, character);
    else if (!edit_replace(self, self->cursor, self->cursor, character))
        result = EDIT_REFUSED;
    self->group = is_visible_char(*character.data) ? EDIT_TYPING : EDIT_OTHER;
    return result;
}

static enum edit_result kill_text(struct edit_buffer *self, size_t begin, size_t end,
                                  enum edit_group last)
{
    struct ethos_view text = view_of(self->text.data + begin, end - begin);
    struct str killed;
    self->group = EDIT_KILLING;
    if (text.size == 0)
        return EDIT_IGNORED;
    str_init(&killed, EDIT_MAX_TEXT);
    if (last == EDIT_KILLING && end > self->cursor)
        str_add(&killed, str_view(&self->killed));
    str_add(&killed, text);
    if (last == EDIT_KILLING && end <= self->cursor)
        str_add(&killed, str_view(&self->killed));
    if (str_code(&killed) != ETHOS_OK) {
        str_release(&killed);
        return EDIT_REFUSED;
    }
    str_release(&self->killed);
    self->killed = killed;
    return change_text(self, begin, end, VIEW(""));
}

int edit_set_text(struct edit_buffer *self, struct ethos_view text)
{
    enum edit_result result = change_text(self, 0, self->text.size, text);
    self->group = EDIT_OTHER;
    if (result != EDIT_REFUSED)
        return ETHOS_OK;
    return text.size > EDIT_MAX_TEXT ? ETHOS_LIMIT : ETHOS_NOMEM;
}

void edit_clear(struct edit_buffer *self)
{
    str_clear(&self->text);
    str_clear(&self->draft);
    edit_search_end(self);
    drop_undo_steps(self, self->undo_count);
    self->cursor = 0;
    self->group = EDIT_OTHER;
    self->history_at = self->history_count;
}

/* ---- keys -------------------------------------------------------------------------------------- */

static enum edit_result move_cursor(struct edit_buffer *self, size_t to)
{
    self->cursor = to;
    return EDIT_HANDLED;
}

/* To the row above or below, else through the history. */
static enum edit_result move_row(struct edit_buffer *self, bool up, enum edit_group last)
{
    struct edit_rows rows = {0};
    enum edit_result result = EDIT_HANDLED;
    if (edit_layout(self, &rows) != ETHOS_OK) {
        result = EDIT_REFUSED;
    } else if (up ? rows.cursor_row == 0 : rows.cursor_row + 1 == rows.count) {
        result = up ? edit_previous(self) : edit_next(self);
    } else {
        if (last != EDIT_MOVING_ROWS)
            self->goal_column = rows.cursor_column;
        size_t to = up ? rows.cursor_row - 1 : rows.cursor_row + 1;
        self->cursor = edit_offset(self, rows.rows[to], self->goal_column);
        self->group = EDIT_MOVING_ROWS;
    }
    edit_rows_release(&rows);
    return result;
}

static enum edit_result handle_enter(struct edit_buffer *self)
{
    size_t at = self->cursor;
    if (at > 0 && self->text.data[at - 1] == '\\')
        return change_text(self, at - 1, at, VIEW("\n"));
    return EDIT_SEND;
}

static enum edit_result delete_next_character(struct edit_buffer *self)
{
    return change_text(self, self->cursor, find_next_boundary(self, self->cursor), VIEW(""));
}

static enum edit_result kill_line(struct edit_buffer *self, enum edit_group last)
{
    size_t end = find_line_end(self, self->cursor);
    if (end == self->cursor && end < self->text.size)
        end++;
    return kill_text(self, self->cursor, end, last);
}

static enum edit_result apply_control_key(struct edit_buffer *self, char letter,
                                          enum edit_group last)
{
    size_t at = self->cursor;
    switch (letter) {
    case 'A':
        return move_cursor(self, find_line_begin(self, at));
    case 'E':
        return move_cursor(self, find_line_end(self, at));
    case 'B':
        return move_cursor(self, find_previous_boundary(self, at));
    case 'F':
        return move_cursor(self, find_next_boundary(self, at));
    case 'D':
        return delete_next_character(self);
    case 'K':
        return kill_line(self, last);
    case 'U':
        return kill_text(self, find_line_begin(self, at), at, last);
    case 'W':
        return kill_text(self, find_word_begin(self, at, is_visible_char), at, last);
    case 'Y':
        return insert_text(self, str_view(&self->killed));
    case 'P':
        return move_row(self, true, last);
    case 'N':
        return move_row(self, false, last);
    case 'R':
        return edit_search_begin(self);
    case '_':
        return undo_step(self);
    default:
        return EDIT_IGNORED;
    }
}

static enum edit_result apply_alt_key(struct edit_buffer *self, struct ethos_view character,
                                      enum edit_group last)
{
    size_t at = self->cursor;
    switch (*character.data) {
    case 'b':
    case 'B':
        return move_cursor(self, find_word_begin(self, at, is_word_char));
    case 'f':
    case 'F':
        return move_cursor(self, find_next_word_end(self, at));
    case 'd':
    case 'D':
        return kill_text(self, at, find_next_word_end(self, at), last);
    case 0x7F:
        return kill_text(self, find_word_begin(self, at, is_word_char), at, last);
    default:
        return EDIT_IGNORED;
    }
}

static enum edit_result apply_key(struct edit_buffer *self, const struct key *key,
                                  enum edit_group last)
{
    size_t at = self->cursor;
    switch (key->kind) {
    case KEY_CHARACTER:
        return type_character(self, key->text, last);
    case KEY_PASTE:
        return insert_text(self, key->text);
    case KEY_LINE_BREAK:
        return insert_text(self, VIEW("\n"));
    case KEY_ENTER:
        return handle_enter(self);
    case KEY_BACKSPACE:
        return change_text(self, find_previous_boundary(self, at), at, VIEW(""));
    case KEY_DELETE:
        return delete_next_character(self);
    case KEY_LEFT:
        return move_cursor(self, find_previous_boundary(self, at));
    case KEY_RIGHT:
        return move_cursor(self, find_next_boundary(self, at));
    case KEY_HOME:
        return move_cursor(self, find_line_begin(self, at));
    case KEY_END:
        return move_cursor(self, find_line_end(self, at));
    case KEY_UP:
    case KEY_DOWN:
        return move_row(self, key->kind == KEY_UP, last);
    case KEY_CTRL:
        return apply_control_key(self, key->letter, last);
    case KEY_ALT:
        return apply_alt_key(self, key->text, last);
    default:
        return EDIT_IGNORED;
    }
}

enum edit_result edit_key(struct edit_buffer *self, const struct key *key)
{
    enum edit_group last = self->group;
    if (key->kind == KEY_POSITION)
        return EDIT_IGNORED;
    self->group = EDIT_OTHER;
    if (self->searching && edit_search_key(self, key))
        return EDIT_HANDLED;
    return apply_key(self, key, last);
}

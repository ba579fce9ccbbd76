/*
 * flow.c: markdown as it arrives: blocks, and what of them is final.
 */
#include "chat/markdown/flow.h"

#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/text/terminal.h"
#include "base/utf8.h"
#include "base/view.h"

#define MAX_FEED 8388608  /* bytes of one feed */
#define TABLE_LIVE_ROWS 6 /* of a table that grows, below its head */
#define MIN_COLUMNS 10    /* of prose, however narrow the terminal */
#define CODE_TAB 4

void flow_init(struct flow *self, const struct flow_setup *setup)
{
    *self = (struct flow){.setup = *setup, .kind = LINE_BLANK};
    str_init(&self->input, MAX_FEED);
    str_init(&self->line, MAX_FEED);
    str_init(&self->block, MAX_FEED);
    inlines_init(&self->inlines, setup->widths);
}

void flow_release(struct flow *self)
{
    str_release(&self->input);
    str_release(&self->line);
    str_release(&self->block);
    inlines_release(&self->inlines);
    cells_release(&self->row);
}

void flow_resize(struct flow *self, int columns)
{
    self->setup.columns = columns;
}

static void record_failure(struct flow *self, int code)
{
    if (self->code == ETHOS_OK)
        self->code = code;
}

static bool is_prose(const struct flow *self)
{
    return self->kind == LINE_TEXT || self->kind == LINE_ITEM || self->kind == LINE_HEADING;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void emit_cells(struct flow *self, bool live, const struct cell *cells, size_t count)
{
    self->setup.each(self->setup.arg, live, cells, count);
    self->any = true;
}

static void emit_blank_if_due(struct flow *self)
{
    if (self->blank_due && self->any)
        emit_cells(self, false, NULL, 0);
    self->blank_due = false;
}

static int prose_columns(const struct flow *self)
{
    int columns = self->setup.columns - 1;
    return columns > FLOW_MAX_COLUMNS ? FLOW_MAX_COLUMNS : columns;
}

/* The marks of quotes, the indentation, and in the first row of an item its marker. */
static void add_prefix(struct flow *self, bool first)
{
    const struct cluster_widths *widths = self->setup.widths;
    unsigned most = (unsigned)prose_columns(self) / 2, used = 0;
    for (unsigned i = 0; i < self->at.quotes && used + 2 <= most; i++, used += 2)
        cells_add(&self->row, VIEW("> "), CELL_DIM, 0, false, widths);
    for (unsigned i = 0; i < self->at.indent && used < most; i++, used++)
        cells_add(&self->row, VIEW(" "), 0, 0, false, widths);
    for (const char *c = self->marker; *c; c++)
        cells_add(&self->row, first ? view_of(c, 1) : VIEW(" "), 0, 0, false, widths);
}

/* A row of the open block with its prefix. */
static void emit_row(struct flow *self, bool live, bool first, const struct cell *cells,
                     size_t count)
{
    cells_clear(&self->row);
    add_prefix(self, first);
    for (size_t i = 0; i < count; i++)
        cells_add_cell(&self->row, cells[i]);
    if (self->row.code != ETHOS_OK)
        record_failure(self, self->row.code);
    else
        emit_cells(self, live, self->row.rows, self->row.count);
}

static int prefix_width(struct flow *self)
{
    cells_clear(&self->row);
    add_prefix(self, true);
    return cells_width(self->row.rows, self->row.count);
}

/* ---- prose ------------------------------------------------------------------------------------- */

/* The first line may turn out to be the head of a table: it has a | early enough, and an end soon enough. */
static bool can_be_table_head(const struct flow *self)
{
    size_t size = self->block.size < FLOW_MAX_FIRST_CELL ? self->block.size : FLOW_MAX_FIRST_CELL;
    return self->kind == LINE_TEXT && self->lines == 0 && self->block.size <= LINE_MAX_PROBE &&
           memchr(self->block.data, '|', size);
}

/* Whether a | may come that is early enough. So it does not depend on the frames what a line becomes. */
static bool can_become_table_head(const struct flow *self)
{
    return self->kind == LINE_TEXT && self->lines == 0 && self->in_line &&
           self->block.size < FLOW_MAX_FIRST_CELL;
}

/* The closing #s of a heading are not part of it. */
static struct ethos_view block_text(const struct flow *self)
{
    struct ethos_view text = str_view(&self->block);
    if (self->kind != LINE_HEADING)
        return text;
    struct ethos_view trimmed = view_trim_end(text);
    size_t size = trimmed.size;
    while (size > 0 && text.data[size - 1] == '#')
        size--;
    return size == 0 || text.data[size - 1] == ' ' ? view_trim_end(view_of(text.data, size))
                                                   : trimmed;
}

static int text_columns(struct flow *self)
{
    int columns = prose_columns(self) - prefix_width(self);
    return columns < MIN_COLUMNS ? MIN_COLUMNS : columns;
}

static size_t first_cell(const struct flow *self)
{
    const struct cells *cells = &self->inlines.cells;
    size_t at = 0;
    while (at < cells->count && cells->rows[at].offset < self->done)
        at++;
    return at;
}

static bool parse_block(struct flow *self, bool grows)
{
    unsigned style = self->kind == LINE_HEADING ? CELL_BOLD : 0;
    int code = inlines_parse(&self->inlines, block_text(self), style, grows, self->settled);
    if (code != ETHOS_OK)
        record_failure(self, code);
    return code == ETHOS_OK;
}

/* An opener that stays open for some rows is text, or nothing behind it would ever be final. */
static bool settle_old_opener(struct flow *self, int columns)
{
    const struct cells *cells = &self->inlines.cells;
    size_t starts[FLOW_OPEN_ROWS + 1], rows = 0;
    for (size_t from = first_cell(self); from < cells->count;
         from = cells_wrap(cells, from, columns))
        starts[rows++ % (FLOW_OPEN_ROWS + 1)] = from;
    if (rows <= FLOW_OPEN_ROWS)
        return false;
    size_t oldest = cells->rows[starts[rows % (FLOW_OPEN_ROWS + 1)]].offset;
    if (self->inlines.open >= oldest)
        return false;
    self->settled = oldest;
    return true;
}

static bool is_final_row(const struct flow *self, size_t end)
{
    const struct cells *cells = &self->inlines.cells;
    return end < cells->count && cells->rows[end].offset > cells->rows[end - 1].offset &&
           cells->rows[end].offset <= self->inlines.open;
}

static void commit_prose_row(struct flow *self, size_t from, size_t end)
{
    const struct cells *cells = &self->inlines.cells;
    emit_row(self, false, !self->continued, cells->rows + from, end - from);
    self->continued = true;
    self->done = end < cells->count ? cells->rows[end].offset : SIZE_MAX;
}

static void frame_prose(struct flow *self)
{
    const struct cells *cells = &self->inlines.cells;
    int columns = text_columns(self);
    if (!parse_block(self, true))
        return;
    if (!self->setup.whole && settle_old_opener(self, columns) && !parse_block(self, true))
        return;
    bool commits = !self->setup.whole && !can_be_table_head(self) && !can_become_table_head(self),
         first = !self->continued;
    for (size_t from = first_cell(self), end; from < cells->count; from = end) {
        end = cells_wrap(cells, from, columns);
        commits = commits && is_final_row(self, end);
        if (commits)
            commit_prose_row(self, from, end);
        else
            emit_row(self, true, first, cells->rows + from, end - from);
        first = false;
    }
}

static void end_prose(struct flow *self)
{
    const struct cells *cells = &self->inlines.cells;
    int columns = self->setup.whole ? INT_MAX : text_columns(self);
    if (!parse_block(self, false))
        return;
    size_t from = first_cell(self);
    if (from == cells->count && !self->continued)
        emit_row(self, false, true, NULL, 0);
    for (size_t end; from < cells->count; from = end) {
        end = cells_wrap(cells, from, columns);
        commit_prose_row(self, from, end);
    }
}

/* ---- code, tables, rules ----------------------------------------------------------------------- */

/* As it is, tabs as blanks. */
static void emit_code(struct flow *self, bool live, unsigned style)
{
    struct str *safe = &self->inlines.safe;
    int column = 0;
    str_clear(safe);
    terminal_escape(str_view(&self->block), safe);
    if (str_code(safe) != ETHOS_OK) {
        record_failure(self, str_code(safe));
        return;
    }
    cells_clear(&self->row);
    for (unsigned i = 0; i < self->at.quotes; i++)
        cells_add(&self->row, VIEW("> "), CELL_DIM, 0, false, self->setup.widths);
    for (size_t at = 0, end; at < safe->size; at = end) {
        end = cluster_end(str_view(safe), at);
        bool tab = safe->data[at] == '\t';
        size_t before = self->row.count;
        for (int n = tab ? CODE_TAB - column % CODE_TAB : 1; n > 0; n--)
            cells_add(&self->row, tab ? VIEW(" ") : view_of(safe->data + at, end - at), style, 0,
                      false, self->setup.widths);
        column += cells_width(self->row.rows + before, self->row.count - before);
    }
    emit_cells(self, live, self->row.rows, self->row.count);
}

struct table_rows {
    struct flow *flow;
    bool live;
};

static void emit_table_row(void *arg, const struct cell *cells, size_t count)
{
    const struct table_rows *rows = arg;
    emit_row(rows->flow, rows->live, true, cells, count);
}

/* The head, the row of dashes and the newest rows. */
static struct ethos_view newest_rows(const struct flow *self, struct str *out)
{
    struct ethos_view text = str_view(&self->block), rest = text, line;
    view_line(&rest, &line);
    view_line(&rest, &line);
    size_t lines = view_lines(rest), head = text.size - rest.size;
    if (lines <= TABLE_LIVE_ROWS)
        return text;
    view_skip_lines(&rest, lines - TABLE_LIVE_ROWS);
    str_add(out, view_of(text.data, head));
    str_add(out, rest);
    return str_view(out);
}

static void emit_table(struct flow *self, bool live)
{
    struct table_rows rows = {self, live};
    struct str newest;
    const struct table_setup setup = {.columns = prose_columns(self) - prefix_width(self),
                                      .list = self->setup.lists,
                                      .widths = self->setup.widths,
                                      .each = emit_table_row,
                                      .arg = &rows};
    str_init(&newest, FLOW_MAX_TABLE * 2);
    int code = table_layout(live ? newest_rows(self, &newest) : str_view(&self->block), &setup);
    str_release(&newest);
    if (code != ETHOS_OK)
        record_failure(self, code);
}

static void emit_rule(struct flow *self)
{
    cells_clear(&self->row);
    add_prefix(self, false);
    for (int i = cells_width(self->row.rows, self->row.count); i < prose_columns(self); i++)
        cells_add(&self->row, VIEW("─"), CELL_DIM, 0, false, self->setup.widths);
    emit_cells(self, false, self->row.rows, self->row.count);
}

/* ---- blocks ------------------------------------------------------------------------------------ */

static void end_open_block(struct flow *self)
{
    if (is_prose(self))
        end_prose(self);
    else if (self->kind == LINE_TABLE)
        emit_table(self, false);
    str_clear(&self->block);
    self->kind = LINE_BLANK;
    self->lines = 0;
}

static void open_block(struct flow *self, const struct line_start *start)
{
    end_open_block(self);
    emit_blank_if_due(self);
    self->kind = start->kind;
    self->at = start->at;
    memcpy(self->marker, start->marker, sizeof self->marker);
    self->continued = false;
    self->done = 0;
    self->settled = 0;
    self->in_list = start->kind == LINE_ITEM || (self->in_list && start->at.indent > 0);
}

/* A paragraph without end is cut: its parse would take longer with every word. */
static void cut_block(struct flow *self)
{
    struct str rest;
    size_t cut = inlines_cut(str_view(&self->block));
    str_init(&rest, FLOW_MAX_BLOCK + 1);
    str_add(&rest, view_from(str_view(&self->block), cut));
    str_truncate(&self->block, cut);
    end_prose(self);
    str_clear(&self->block);
    str_add(&self->block, str_view(&rest));
    self->continued = true;
    self->done = 0;
    self->settled = 0;
    self->lines++; // no head of a table any more
    str_release(&rest);
}

/* What is left of a table begins with its head. */
static void cut_table(struct flow *self)
{
    struct str head;
    struct ethos_view rest = str_view(&self->block), line;
    str_init(&head, FLOW_MAX_TABLE);
    view_line(&rest, &line);
    view_line(&rest, &line);
    str_add(&head, view_of(self->block.data, (size_t)(rest.data - self->block.data)));
    emit_table(self, false);
    str_clear(&self->block);
    str_add(&self->block, str_view(&head));
    str_release(&head);
}

static size_t block_limit(const struct flow *self)
{
    return is_prose(self)             ? FLOW_MAX_BLOCK
           : self->kind == LINE_TABLE ? 2 * FLOW_MAX_TABLE
                                      : FLOW_MAX_CODE;
}

/* What is longer than any table is text from there on. */
static void end_endless_row(struct flow *self)
{
    emit_table(self, false);
    str_clear(&self->block);
    self->kind = LINE_TEXT;
    self->continued = true;
    self->done = 0;
    self->settled = 0;
    self->lines = 1;
}

static void append_to_block(struct flow *self, struct ethos_view text)
{
    while (text.size > 0 && self->code == ETHOS_OK) {
        size_t limit = block_limit(self), room = limit - self->block.size,
               size = text.size < room ? text.size : room;
        while (size > 0 && size < text.size && ((unsigned char)text.data[size] & 0xC0) == 0x80)
            size--; // characters stay whole
        str_add(&self->block, view_of(text.data, size));
        text = view_from(text, size);
        if (text.size == 0 && self->block.size < limit)
            break;
        if (is_prose(self)) {
            cut_block(self);
        } else if (self->kind == LINE_TABLE) {
            end_endless_row(self);
        } else {
            emit_code(self, false, CELL_CODE);
            str_clear(&self->block);
        }
    }
    if (str_code(&self->block) != ETHOS_OK)
        record_failure(self, str_code(&self->block));
}

/* ---- lines ------------------------------------------------------------------------------------- */

static void end_source_line(struct flow *self)
{
    self->in_line = false;
    if (self->kind == LINE_CODE || self->kind == LINE_INDENTED) {
        emit_code(self, false, CELL_CODE);
        str_clear(&self->block);
        if (self->kind == LINE_INDENTED)
            self->kind = LINE_BLANK;
    } else if (self->kind == LINE_TABLE) {
        str_addc(&self->block, '\n');
        if (self->block.size > FLOW_MAX_TABLE)
            cut_table(self);
    } else if (self->kind == LINE_HEADING) {
        end_open_block(self);
    }
}

static void begin_fence(struct flow *self, const struct line_start *start)
{
    open_block(self, start);
    self->fence = start->fence;
    str_add(&self->block, view_trim(view_from(str_view(&self->line), start->content)));
    emit_code(self, false, CELL_DIM);
    str_clear(&self->block);
    self->kind = LINE_CODE;
}

static void end_fence(struct flow *self, const struct line_start *start)
{
    str_clear(&self->block);
    str_add(&self->block, view_trim(view_from(str_view(&self->line), start->content)));
    emit_code(self, false, CELL_DIM);
    str_clear(&self->block);
    self->kind = LINE_BLANK;
}

/* The paragraph or table that is open goes on in this line. */
static bool is_continuation(const struct flow *self, const struct line_start *start)
{
    if (start->kind == LINE_TABLE || start->kind == LINE_CODE)
        return true;
    return start->kind == LINE_TEXT && (self->kind == LINE_TEXT || self->kind == LINE_ITEM) &&
           start->at.quotes == self->at.quotes;
}

static void continue_block(struct flow *self, const struct line_start *start)
{
    if (start->kind == LINE_CODE)
        return;
    if (start->kind == LINE_TEXT || self->kind != LINE_TABLE) {
        self->lines++;
        append_to_block(self, VIEW("\n"));
    }
    if (start->kind == LINE_TABLE)
        self->kind = LINE_TABLE;
}

static void begin_line(struct flow *self, const struct line_start *start)
{
    struct ethos_view text = view_from(str_view(&self->line), start->content);
    self->in_line = true;
    switch (start->kind) {
    case LINE_BLANK:
        end_open_block(self);
        self->blank_due = true;
        break;
    case LINE_RULE:
        open_block(self, start);
        emit_rule(self);
        self->kind = LINE_BLANK;
        break;
    case LINE_FENCE:
        begin_fence(self, start);
        break;
    case LINE_FENCE_END:
        end_fence(self, start);
        break;
    default:
        if (is_continuation(self, start))
            continue_block(self, start);
        else
            open_block(self, start);
        append_to_block(self, text);
        break;
    }
    str_clear(&self->line);
}

/* Decides the line if its beginning is enough. */
static void probe_line(struct flow *self, bool whole)
{
    bool head = can_be_table_head(self);
    const struct line_context context = {.open = self->kind,
                                         .at = self->at,
                                         .fence = self->fence,
                                         .in_list = self->in_list,
                                         .head_columns = head ? table_count(str_view(&self->block))
                                                              : 0};
    const struct line_start start = line_start_parse(str_view(&self->line), whole, &context);
    if (start.kind == LINE_WAIT)
        return;
    begin_line(self, &start);
    bool whole_kind = start.kind == LINE_BLANK || start.kind == LINE_RULE ||
                      start.kind == LINE_FENCE || start.kind == LINE_FENCE_END;
    if (whole_kind)
        self->in_line = false; // there is nothing more of it
    else if (whole)
        end_source_line(self);
}

static void read_characters(struct flow *self, struct ethos_view text)
{
    while (text.size > 0 && self->code == ETHOS_OK) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        struct ethos_view part = view_of(text.data, size);
        if (self->in_line) {
            append_to_block(self, part);
            if (end)
                end_source_line(self);
        } else {
            str_add(&self->line, part);
            probe_line(self, end != NULL);
        }
        text = view_from(text, size + (end ? 1 : 0));
    }
    if (str_code(&self->line) != ETHOS_OK)
        record_failure(self, str_code(&self->line));
}

/* ---- input ------------------------------------------------------------------------------------- */

/* Whether the bytes may be the beginning of a character. */
static bool is_partial_character(struct ethos_view bytes)
{
    unsigned char lead = (unsigned char)bytes.data[0];
    size_t needed = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    uint32_t cp;
    bool ok;
    return lead < 0xF5 && bytes.size < needed &&
           utf8_decode(bytes.data, bytes.size, &cp, &ok) == bytes.size && !ok;
}

/* Takes whole characters off the input; invalid bytes are U+FFFD, CR LF is a line end. */
static void decode_input(struct flow *self, bool final)
{
    struct ethos_view rest = str_view(&self->input);
    size_t done = 0;
    for (size_t at = 0, size; at < rest.size; at += size) {
        uint32_t cp;
        bool ok, last;
        struct ethos_view bytes = view_from(rest, at);
        size = utf8_decode(bytes.data, bytes.size, &cp, &ok);
        last = at + size == rest.size && !final;
        if (last && (*bytes.data == '\r' || (!ok && is_partial_character(bytes)))) {
            read_characters(self, view_of(rest.data + done, at - done));
            memmove(self->input.data, bytes.data, bytes.size);
            str_truncate(&self->input, bytes.size);
            return;
        }
        bool line_end = *bytes.data == '\r' && bytes.size > 1 && bytes.data[1] == '\n';
        if (ok && !line_end)
            continue;
        read_characters(self, view_of(rest.data + done, at - done));
        if (!ok)
            read_characters(self, VIEW("\uFFFD"));
        done = at + size;
    }
    read_characters(self, view_from(rest, done));
    str_clear(&self->input);
}

int flow_feed(struct flow *self, struct ethos_view bytes)
{
    if (str_add(&self->input, bytes) != ETHOS_OK)
        record_failure(self, str_code(&self->input));
    if (self->code == ETHOS_OK)
        decode_input(self, false);
    return self->code;
}

int flow_frame(struct flow *self)
{
    if (self->code != ETHOS_OK)
        return self->code;
    if (is_prose(self))
        frame_prose(self);
    else if (self->kind == LINE_TABLE)
        emit_table(self, true);
    else if (self->in_line && (self->kind == LINE_CODE || self->kind == LINE_INDENTED))
        emit_code(self, true, CELL_CODE);
    return self->code;
}

int flow_end(struct flow *self)
{
    if (self->code == ETHOS_OK)
        decode_input(self, true);
    if (self->code == ETHOS_OK && !self->in_line && self->line.size > 0)
        probe_line(self, true);
    else if (self->code == ETHOS_OK && self->in_line)
        end_source_line(self);
    if (self->code == ETHOS_OK)
        end_open_block(self);
    self->in_line = false;
    self->in_list = false;
    self->blank_due = false;
    self->any = false;
    return self->code;
}

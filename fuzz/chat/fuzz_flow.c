/*
 * fuzz_flow.c: markdown in any pieces, with a frame after any of them: the letters that are committed are those of
 * the same text in one piece, in the same order; rows are not too wide but for code and URLs, and nothing in them
 * can move a cursor.
 *
 * The first bytes say how wide the terminal is and where the text is split.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/view.h"
#include "chat/markdown/flow.h"

#define MAX_OUT 67108864
#define HEAD 16 /* bytes that say how */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cluster_widths widths; /* opened once: that takes longer than a run */

struct run {
    struct str letters; /* committed */
    int columns;
    bool whole;
};

/* A mark may stand on a delimiter, and is alone when that is taken for one. */
static bool is_letter(struct ethos_view text)
{
    unsigned char c = (unsigned char)text.data[0];
    return c >= 0x80 ? !(text.size == 3 && memcmp(text.data, "─", 3) == 0) &&
                           cluster_width(&widths, text) > 0
                     : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void check_bytes(struct ethos_view row)
{
    for (size_t at = 0, size; at < row.size; at += size) {
        uint32_t cp;
        bool ok;
        size = utf8_decode(row.data + at, row.size - at, &cp, &ok);
        assert(ok && cp >= 0x20 && cp != 0x7F && !(cp >= 0x80 && cp < 0xA0));
    }
}

static void add_row(void *arg, bool live, const struct cell *cells, size_t count)
{
    struct run *run = arg;
    struct str row;
    bool code = false, url = false;
    str_init(&row, MAX_OUT);
    cells_print(cells, count, -1, false, &row);
    check_bytes(str_view(&row));
    for (size_t i = 0; i < count; i++) {
        code = code || (cells[i].style & (CELL_CODE | CELL_DIM));
        if (!live && is_letter(view_of(cells[i].text, cells[i].size)))
            str_add(&run->letters, view_of(cells[i].text, cells[i].size));
    }
    url = strstr(row.data, "://") != NULL;
    if (!code && !url && !run->whole && run->columns > 20)
        assert(cluster_text_width(&widths, str_view(&row)) < run->columns);
    str_release(&row);
}

static void run_begin(struct run *run, struct flow *flow, int columns, bool whole)
{
    *run = (struct run){.columns = columns, .whole = whole};
    if (!widths.locale)
        cluster_widths_init(&widths);
    str_init(&run->letters, MAX_OUT);
    const struct flow_setup setup = {.columns = columns,
                                     .whole = whole,
                                     .lists = whole,
                                     .widths = &widths,
                                     .each = add_row,
                                     .arg = run};
    flow_init(flow, &setup);
}

static void run_end(struct flow *flow)
{
    assert(flow_end(flow) == ETHOS_OK);
    flow_release(flow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run one, many;
    struct flow flow;
    if (size < HEAD)
        return 0;
    struct ethos_view text = view_of((const char *)data + HEAD, size - HEAD), rest = text;
    int columns = 8 + data[0] % 120;
    bool whole = data[1] % 8 == 0;
    run_begin(&one, &flow, columns, whole);
    assert(flow_feed(&flow, text) == ETHOS_OK);
    run_end(&flow);

    run_begin(&many, &flow, columns, whole);
    for (size_t i = 0; rest.size > 0; i++) {
        uint8_t how = data[2 + i % (HEAD - 2)];
        size_t piece = 1 + how % 17;
        piece = piece < rest.size ? piece : rest.size;
        assert(flow_feed(&flow, view_of(rest.data, piece)) == ETHOS_OK);
        if (how & 0x80)
            assert(flow_frame(&flow) == ETHOS_OK);
        rest = view_from(rest, piece);
    }
    run_end(&flow);
    if (!view_eq(str_view(&one.letters), str_view(&many.letters))) {
        __builtin_printf("one:  %s\nmany: %s\n", one.letters.data, many.letters.data);
        abort();
    }
    str_release(&one.letters);
    str_release(&many.letters);
    return 0;
}

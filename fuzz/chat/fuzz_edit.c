/*
 * fuzz_edit.c: any bytes typed into the input: the cursor stands between clusters, the rows have all of the text and
 * are not too wide, and what is shown cannot move a cursor.
 *
 * The first byte says how wide a row is.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "base/view.h"
#include "chat/terminal/edit.h"

#define MAX_SHOWN 67108864
#define LATER_MS 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cluster_widths widths; /* opened once: that takes longer than a run */

static void check_row(const struct edit_buffer *edit, struct edit_row row)
{
    struct str shown;
    uint32_t cp;
    bool ok;
    str_init(&shown, MAX_SHOWN);
    assert(edit_print_row(edit, row, &shown) == ETHOS_OK);
    for (size_t at = 0; at < shown.size;) {
        at += utf8_decode(shown.data + at, shown.size - at, &cp, &ok);
        assert(ok && cp >= 0x20 && cp != 0x7F && !(cp >= 0x80 && cp < 0xA0));
    }
    if (row.begin < row.end && edit_cluster_end(edit, row.begin) < row.end)
        assert(cluster_text_width(&widths, str_view(&shown)) <= edit->columns);
    str_release(&shown);
}

static void check_rows(const struct edit_buffer *edit)
{
    struct edit_rows rows = {0};
    size_t at = 0;
    assert(edit_layout(edit, &rows) == ETHOS_OK);
    for (size_t i = 0; i < rows.count; i++) {
        assert(rows.rows[i].begin == at ||
               (rows.rows[i].begin == at + 1 && edit->text.data[at] == '\n'));
        at = rows.rows[i].end;
        check_row(edit, rows.rows[i]);
    }
    assert(at == edit->text.size);
    assert(rows.cursor_row < rows.count && rows.cursor_column <= edit->columns);
    assert(edit->cursor >= rows.rows[rows.cursor_row].begin);
    assert(edit->cursor <= rows.rows[rows.cursor_row].end);
    edit_rows_release(&rows);
}

static void pass_key(void *arg, const struct key *key)
{
    struct edit_buffer *edit = arg;
    if (edit_key(edit, key) == EDIT_SEND) {
        assert(edit_add_history(edit, str_view(&edit->text)) == ETHOS_OK);
        edit_clear(edit);
    }
    assert(utf8_valid(str_view(&edit->text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct edit_buffer edit;
    struct keys keys;
    if (size < 1)
        return 0;
    if (!widths.locale)
        cluster_widths_init(&widths);
    edit_init(&edit, 1 + data[0] % 40, &widths);
    keys_init(&keys, false, pass_key, &edit);
    for (size_t i = 1; i < size; i++) {
        keys_feed(&keys, view_of((const char *)data + i, 1), (int64_t)i);
        if (data[i] == '\r')
            keys_expire(&keys, (int64_t)i + KEYS_RETURN_MS);
        if (i % 8 == 0)
            check_rows(&edit);
    }
    keys_expire(&keys, (int64_t)size + LATER_MS);
    check_rows(&edit);
    keys_release(&keys);
    edit_release(&edit);
    return 0;
}

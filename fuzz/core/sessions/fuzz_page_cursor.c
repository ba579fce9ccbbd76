/*
 * fuzz_page_cursor.c: any text as the cursor of a list: refused, or a place that is written the same way.
 */
#include <stdlib.h>
#include <string.h>

#include "core/sessions/page_cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor cursor, again;
    char *text = malloc(size + 1), written[ETHOS_CURSOR_SIZE];
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    if (cursor_read(text, &cursor, NULL) == ETHOS_OK && !cursor.counted) {
        cursor_write(&cursor, written);
        if (cursor_read(written, &again, NULL) != ETHOS_OK || again.row != cursor.row ||
            strcmp(again.place, cursor.place) != 0)
            abort();
    }
    free(text);
    return 0;
}

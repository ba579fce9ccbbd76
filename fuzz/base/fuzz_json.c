/*
 * fuzz_json.c: the JSON reader, held against jansson's own.
 *
 * What jansson reads within our limits, we read alike; what only we read holds a lone surrogate.
 * What we read, we print, and read again as the same value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "base/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool has_surrogate(struct ethos_view text)
{
    for (size_t i = 0; i + 3 < text.size; i++) {
        const char *at = text.data + i;

        if (at[0] == '\\' && at[1] == 'u' && (at[2] | 0x20) == 'd' &&
            strchr("89abcdefABCDEF", at[3]))
            return true;
    }
    return false;
}

static void compare(struct ethos_view text, int code, const json_t *value)
{
    json_error_t error;

    if (memchr(text.data, '\0', text.size))
        return; // jansson overlooks raw NUL bytes
    json_t *theirs = json_loadb(text.data, text.size,
                                JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);

    if (theirs && value)
        require(json_equal(theirs, value));
    else if (theirs)
        require(code == ETHOS_LIMIT);
    else if (value)
        require(has_surrogate(text));
    json_decref(theirs);
}

static void print_and_read(const json_t *value, int style)
{
    struct str text;
    json_t *again = NULL;

    str_init(&text, SIZE_MAX);
    require(json_print(value, style, &text) == ETHOS_OK);
    require(json_parse(str_view(&text), "printed", &again, NULL) == ETHOS_OK);
    require(json_equal(value, again));
    json_decref(again);
    str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size);
    struct ethos_error error = {0};
    json_t *value = NULL;
    int code = json_parse(text, "input", &value, &error);

    require((code == ETHOS_OK) == (value != NULL));
    require(code == ETHOS_OK || (error.code == (enum ethos_code)code && error.text[0]));
    compare(text, code, value);
    if (value) {
        print_and_read(value, JSON_STYLE_LINE);
        print_and_read(value, JSON_STYLE_PRETTY);
    }
    json_decref(value);
    return 0;
}

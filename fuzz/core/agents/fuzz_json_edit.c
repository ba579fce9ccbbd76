/*
 * fuzz_json_edit.c: whatever the document, what is put in is there, what is taken out is gone, the
 * rest means what it meant, and there and back gives the same bytes.
 *
 * Input: three bytes that lead into the document, the first one's highest bit for comments, then the document.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/agents/json_edit.h"

#define CEILING ((size_t)1 << 26)
#define NEW "\x7fnew"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum json_edit_form form;

struct way {
    const char *path[6];
    char numbers[4][24];
    size_t depth;
    json_t *end; /* what it leads to, a container */
};

/* Down to a container, child by child as the bytes say. */
static void choose(struct way *way, json_t *root, const uint8_t *bytes)
{
    *way = (struct way){.end = root};
    while (way->depth < 3) {
        json_t *child = NULL;
        const char *name = way->numbers[way->depth];
        if (json_is_array(way->end) && json_array_size(way->end) > 0) {
            size_t index = bytes[way->depth] % json_array_size(way->end);
            snprintf(way->numbers[way->depth], sizeof way->numbers[0], "%zu", index);
            child = json_array_get(way->end, index);
        } else if (json_object_size(way->end) > 0) {
            void *at = json_object_iter(way->end);
            for (size_t i = bytes[way->depth] % json_object_size(way->end); i > 0; i--)
                at = json_object_iter_next(way->end, at);
            name = json_object_iter_key(at);
            child = json_object_iter_value(at);
        }
        // an array cannot be told to add at the number that a name such as "-" would be
        if (!json_is_object(child) && !json_is_array(child))
            return;
        way->path[way->depth++] = name;
        way->end = child;
    }
}

static json_t *parsed(const struct str *text)
{
    json_t *json = NULL;
    assert(json_edit_parse(str_view(text), form, "fuzz", &json, NULL) == ETHOS_OK);
    return json;
}

static void check_text(const struct str *text, const json_t *expected)
{
    json_t *json = parsed(text);
    assert(json_equal(json, expected));
    json_decref(json);
}

static void check_there_and_back(struct ethos_view text, json_t *root, struct way *way)
{
    struct str with, without;
    bool array = json_is_array(way->end);
    size_t count = array ? json_array_size(way->end) : json_object_size(way->end);
    json_t *before = json_deep_copy(root);
    json_t *value = json_pack("{s:[i, {s:n}], s:{}}", "list", 1, "a\"", "empty");

    str_init(&with, CEILING);
    str_init(&without, CEILING);
    way->path[way->depth] = array ? "-" : NEW;
    assert(json_edit_put(text, form, "fuzz", way->path, value, &with, NULL) == ETHOS_OK);
    if (array)
        json_array_append(way->end, value);
    else
        json_object_set(way->end, NEW, value);
    check_text(&with, root);
    if (array) {
        snprintf(way->numbers[3], sizeof way->numbers[3], "%zu", count);
        way->path[way->depth] = way->numbers[3];
    }
    assert(json_edit_drop(str_view(&with), form, "fuzz", way->path, &without, NULL) == ETHOS_OK);
    check_text(&without, before);
    assert(count == 0 || view_eq(str_view(&without), text));
    assert(without.size <= text.size || view_blank(view_unmarked(text)) ||
           form == JSON_EDIT_REMARKS); // {} below remarks
    json_decref(before);
    json_decref(value);
    str_release(&with);
    str_release(&without);
}

/* The container itself is replaced, and taken out. */
static void check_replaced(struct ethos_view text, json_t *root, struct way *way)
{
    struct str out;
    json_t *value = json_pack("[s]", "x");

    way->path[way->depth] = NULL;
    str_init(&out, CEILING);
    assert(json_edit_put(text, form, "fuzz", way->path, value, &out, NULL) == ETHOS_OK);
    json_t *json = parsed(&out);
    assert(json_equal(json_edit_at(json, way->path), value));
    json_decref(json);
    assert(json_edit_drop(text, form, "fuzz", way->path, &out, NULL) == ETHOS_OK);
    json = parsed(&out);
    assert(json_is_object(root) || json_is_array(root));
    assert(!json_equal(json, root));
    json_decref(json);
    json_decref(value);
    str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct way way;
    json_t *root;
    if (size < 3)
        return 0;
    struct ethos_view text = view_of((const char *)data + 3, size - 3);
    form = data[0] & 0x80 ? JSON_EDIT_REMARKS : JSON_EDIT_STRICT;
    if (json_edit_parse(text, form, "fuzz", &root, NULL) != ETHOS_OK)
        return 0;
    choose(&way, root, data);
    if (way.depth > 0)
        check_replaced(text, root, &way);
    if ((json_is_object(way.end) && !json_object_get(way.end, NEW)) || json_is_array(way.end))
        check_there_and_back(text, root, &way);
    json_decref(root);
    return 0;
}

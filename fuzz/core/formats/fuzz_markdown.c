/*
 * fuzz_markdown.c: any text as nodes: only known tags, only allowed links, lines that exist, and no more
 * depth than is promised.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/view.h"
#include "core/formats/markdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(struct ethos_view text)
{
    size_t lines = 1;
    for (size_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    return lines;
}

static bool is_tag(const char *tag)
{
    static const char *const tags[] = {"p",         "h",      "ul",    "ol",    "li",    "code",
                                       "quote",     "hr",     "table", "tr",    "th",    "td",
                                       "em",        "strong", "thead", "tbody", "a",     "br",
                                       "code-span", "img",    "del",   "front", "hidden"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (strcmp(tag, tags[i]) == 0)
            return true;
    return false;
}

static void check_node(const json_t *node, size_t depth, size_t lines)
{
    size_t index;
    json_t *child;
    if (json_is_string(node))
        return;
    json_int_t line = json_integer_value(json_object_get(node, "line"));
    struct ethos_view href = json_view(node, "href");
    assert(depth <= MARKDOWN_DEPTH && line >= 0 && (size_t)line <= lines);
    assert(is_tag(json_string_value(json_object_get(node, "t"))));
    assert(!href.data || markdown_url_ok(href));
    json_array_foreach (json_object_get(node, "c"), index, child)
        check_node(child, depth + 1, lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size);
    json_t *nodes = NULL, *node;
    size_t index, lines = count_lines(text);
    struct ethos_error error = {0};
    int code = markdown_nodes(text, &nodes, &error);
    assert(code == ETHOS_OK || code == ETHOS_LIMIT);
    json_array_foreach (nodes, index, node)
        check_node(node, 1, lines);
    json_decref(nodes);
    return 0;
}

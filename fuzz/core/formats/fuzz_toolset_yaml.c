/*
 * fuzz_toolset_yaml.c: toolset.yaml and mcp.yaml.
 *
 * What an edit gives says what was asked for, and about everything else what was said before. The first byte
 * chooses what is asked for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/formats/toolset_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_toolset(struct ethos_view text, const char *wanted)
{
    struct str out;
    json_t *names = json_loads(wanted, JSON_DECODE_ANY, NULL), *now;
    str_init(&out, SIZE_MAX);
    int code = toolset_edit(text, names, &out, NULL);
    now = toolset_read(str_view(&out));
    require(code == ETHOS_OK ? json_equal(now, names) : code == ETHOS_INVALID && out.size == 0);
    json_decref(now);
    json_decref(names);
    str_release(&out);
}

static void try_policy(struct ethos_view text, const char *wanted)
{
    struct str out;
    json_t *tools = json_loads(wanted, 0, NULL), *list;
    const char *name;
    str_init(&out, SIZE_MAX);
    json_t *before = mcp_policy_read(text);
    int code = mcp_policy_edit(text, tools, &out, NULL);
    json_t *after = mcp_policy_read(str_view(&out));
    require(code == ETHOS_OK || (code == ETHOS_INVALID && out.size == 0));
    json_object_foreach (tools, name, list) {
        const json_t *server = json_object_get(json_object_get(after, "servers"), name);
        if (code == ETHOS_OK)
            require(json_array_size(json_object_get(server, "tools")) >= json_array_size(list));
    }
    json_decref(before);
    json_decref(after);
    json_decref(tools);
    str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"[]", "[\"a\"]", "[\"b\",\"a\"]", "[\"a\",\"b\",\"c\"]"};
    static const char *const tools[] = {"{}", "{\"a\":[\"x\"]}", "{\"a\":null,\"b\":[\"x\",\"y\"]}",
                                        "{\"a\":[],\"c\":[\"x\"]}"};
    if (size == 0)
        return 0;
    struct ethos_view text = view_of((const char *)data + 1, size - 1);
    try_toolset(text, names[data[0] % 4]);
    try_policy(text, tools[data[0] / 4 % 4]);
    return 0;
}

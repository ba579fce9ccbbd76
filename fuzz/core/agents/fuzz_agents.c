/*
 * fuzz_agents.c: whatever settings an agent has, ours are put into them once, are whole then, and come
 * out again without touching the rest.
 *
 * Input: one byte that chooses agent and file, then the text of the file.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/str.h"
#include "base/view.h"
#include "core/agents/agents.h"
#include "core/agents/json_edit.h"
#include "core/agents/toml.h"

#define CEILING ((size_t)1 << 26)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Statements are pieces of the text, in order. */
static void check_toml(struct ethos_view text)
{
    struct toml_statement row;
    size_t offset = 0, last = 0;
    const char *end = text.data;
    struct str out;
    while (toml_next(text, &offset, &row) > 0) {
        assert(offset > last && offset <= text.size && row.whole.data >= end);
        last = offset;
        end = row.whole.data + row.whole.size;
        assert(end == text.data + offset);
    }
    str_init(&out, CEILING);
    assert(toml_without(text, "mcp_servers", "ethos", &out) == ETHOS_OK && out.size <= text.size);
    str_release(&out);
}

static const char *const tools[] = {"memory_read", "remember", NULL};

/* Members that were added are gone; a list or object left empty may be written in another way. */
static void check_back(const struct agent_file *file, struct ethos_view text, struct ethos_view now)
{
    if (file->form != AGENT_JSON && file->form != AGENT_JSONC) {
        assert(view_eq(text, now));
        return;
    }
    json_t *a = json_edit_look(text), *b = json_edit_look(now);
    assert(a && b && json_equal(a, b));
    json_decref(a);
    json_decref(b);
}

/* What was there stays as it is, whichever program and home ours are to run. */
static void check_again(const struct agent *agent, const struct agent_file *file,
                        struct ethos_view text, struct ethos_view once)
{
    const struct agent_wiring other = {
        .agent = agent, .program = "ethos", .own_memory = "/a home/workspaces/x/memory"};
    struct str now;
    str_init(&now, CEILING);
    if (file->form != AGENT_MARKDOWN) {
        assert(agent_add(&other, file, AGENT_ALL, once, once, "", &now, NULL) == ETHOS_OK);
        assert(view_eq(once, str_view(&now)));
        assert(agent_remove(file, once, once, "", &now, NULL) == ETHOS_OK);
        assert(view_eq(once, str_view(&now)));
    }
    if (agent_add(&other, file, AGENT_ALL, once, text, "", &now, NULL) == ETHOS_OK)
        assert(agent_parts(agent, file, str_view(&now)) == file->parts);
    json_t *homes = agent_homes(agent, file, str_view(&now));
    assert(homes);
    json_decref(homes);
    str_release(&now);
}

/* Everything in the text came after us: what somebody edited is brought to its parts, or refused. */
static void check_edited(const struct agent *agent, const struct agent_file *file,
                         struct ethos_view text)
{
    const struct agent_wiring wiring = {.agent = agent,
                                        .program = "/opt/it's/ethos",
                                        .home = "/a home",
                                        .tools = tools,
                                        .all_tools = true,
                                        .own_memory = "/a home/workspaces/x/memory"};
    struct str once, twice;
    str_init(&once, CEILING);
    str_init(&twice, CEILING);
    if (agent_add(&wiring, file, AGENT_ALL, text, VIEW(""), "", &once, NULL) == ETHOS_OK) {
        assert(agent_parts(agent, file, str_view(&once)) == file->parts);
        assert(agent_add(&wiring, file, AGENT_ALL, str_view(&once), VIEW(""), "", &twice, NULL) ==
               ETHOS_OK);
        assert(view_eq(str_view(&once), str_view(&twice)));
        assert(agent_remove(file, str_view(&once), VIEW(""), "", &twice, NULL) == ETHOS_OK);
    }
    str_release(&once);
    str_release(&twice);
}

static void check(const struct agent *agent, const struct agent_file *file, struct ethos_view text)
{
    const struct agent_wiring wiring = {.agent = agent,
                                        .program = "/opt/it's/ethos",
                                        .home = "/a home",
                                        .tools = tools,
                                        .all_tools = true,
                                        .own_memory = "/a home/workspaces/x/memory"};
    struct str once, twice;
    bool before = agent_touched(file, text);
    str_init(&once, CEILING);
    str_init(&twice, CEILING);
    int code = agent_add(&wiring, file, AGENT_ALL, text, (struct ethos_view){0}, "", &once, NULL);
    assert(code == ETHOS_OK || code == ETHOS_INVALID || code == ETHOS_EXISTS ||
           code == ETHOS_LIMIT);
    if (code == ETHOS_OK) {
        assert(agent_parts(agent, file, str_view(&once)) == file->parts);
        code = agent_add(&wiring, file, AGENT_ALL, str_view(&once), text, "", &twice, NULL);
        assert(before || (code == ETHOS_OK && view_eq(str_view(&once), str_view(&twice))));
        json_decref(agent_server(file, str_view(&once)));
        assert(agent_remove(file, str_view(&once), text, "", &twice, NULL) == ETHOS_OK);
        if (!before)
            check_back(file, text, str_view(&twice));
        check_again(agent, file, text, str_view(&once));
    }
    str_release(&once);
    str_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct ethos_view text = view_of((const char *)data + 1, size - 1);
    size_t known = 0, count = 0;
    while (agents[known].name)
        known++;
    const struct agent *agent = data[0] % 4 == 3 ? agent_of_file("", text)
                                                 : &agents[data[0] % known];
    while (agent->files[count].parts)
        count++;
    check_toml(text);
    check(agent, &agent->files[data[0] / 4 % count], text);
    check_edited(agent, &agent->files[data[0] / 4 % count], text);
    return 0;
}

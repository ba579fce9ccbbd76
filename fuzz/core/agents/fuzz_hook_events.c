/*
 * fuzz_hook_events.c: any input of any agent: refused, or members that keep their promises, and an answer
 * that is one line of JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/agents/hook_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_members(const struct hook *hook)
{
    if ((hook->folder && *hook->folder != '/') || (hook->transcript && *hook->transcript != '/') ||
        (hook->session && strlen(hook->session) > HOOK_MAX_ID))
        abort();
}

static void check_answer(const struct hook *hook)
{
    struct str out;
    json_t *json = NULL;
    str_init(&out, SIZE_MAX);
    if (hook_answer(hook->agent, hook->event, hook->prompt, NULL, &out) == ETHOS_OK &&
        (json_parse(str_view(&out), "answer", &json, NULL) != ETHOS_OK || !json_is_object(json) ||
         memchr(out.data, '\n', out.size) != out.data + out.size - 1))
        abort();
    json_decref(json);
    str_release(&out);
}

/* The first two bytes choose agent and event. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct agent *agent = agents;
    struct hook hook;
    if (size < 2)
        return 0;
    for (unsigned skip = data[0] % 4; skip > 0; skip--)
        agent++;
    const struct agent_event *event = agent->events + data[1] % 5;
    if (hook_read(agent, event, view_of((const char *)data + 2, size - 2), &hook, NULL) ==
        ETHOS_OK) {
        check_members(&hook);
        check_answer(&hook);
    }
    hook_release(&hook);
    return 0;
}

/*
 * settings.c: what config.yaml says about a channel.
 */
#include "gateway/adapters/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "ops/op.h"

/* "" when it is not set. */
static int read_setting(struct ethos *ethos, const char *platform, const char *name, char *out,
                        size_t size, struct ethos_error *error)
{
    char key[128];
    struct op_result result;
    snprintf(key, sizeof key, "channels.%s.%s", platform, name);
    json_t *args = json_pack("{s:s}", "key", key);
    struct op_call call = {.ethos = ethos, .args = args, .want_json = true};
    op_result_init(&result);
    int code = args ? op_run(op_find("config.get"), &call, &result, error) : err_nomem(error);
    if (code == ETHOS_NOTFOUND ||
        code == ETHOS_INVALID) // a setting that this platform does not have
        code = ETHOS_OK;
    struct ethos_view value = json_view(result.json, "value");
    if (code == ETHOS_OK && value.size >= size)
        code = err_set(error, ETHOS_LIMIT, "%s: longer than %zu bytes", key, size - 1);
    else
        snprintf(out, size, "%.*s", (int)value.size, value.data ? value.data : "");
    op_result_release(&result);
    json_decref(args);
    return code;
}

static int read_switch_setting(struct ethos *ethos, const char *platform, const char *name,
                               bool *out, struct ethos_error *error)
{
    char text[16];
    int code = read_setting(ethos, platform, name, text, sizeof text, error);
    *out = strcmp(text, "on") == 0 || strcmp(text, "true") == 0 || strcmp(text, "files") == 0;
    return code;
}

int channel_settings_read(struct ethos *ethos, const char *platform, struct channel_settings *out,
                          struct ethos_error *error)
{
    *out = (struct channel_settings){0};
    const struct {
        const char *name;
        bool *value;
    } switches[] = {{"enabled", &out->enabled},
                    {"groupMemory", &out->group_memory},
                    {"tools", &out->reads_files},
                    {"events", &out->events}};
    const struct {
        const char *name;
        char *value;
        size_t size;
    } texts[] = {
        {"apiRoot", out->api_root, sizeof out->api_root},
        {"personality", out->personality, sizeof out->personality},
        {"workspace", out->workspace, sizeof out->workspace},
        {"groups", out->groups, sizeof out->groups},
        {"imap", out->imap, sizeof out->imap},
        {"smtp", out->smtp, sizeof out->smtp},
        {"user", out->user, sizeof out->user},
        {"from", out->from, sizeof out->from},
        {"authserv", out->authserv, sizeof out->authserv},
        {"eventsPort", out->events_port, sizeof out->events_port},
    };
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < sizeof switches / sizeof *switches; i++)
        code = read_switch_setting(ethos, platform, switches[i].name, switches[i].value, error);
    for (size_t i = 0; code == ETHOS_OK && i < sizeof texts / sizeof *texts; i++)
        code = read_setting(ethos, platform, texts[i].name, texts[i].value, texts[i].size, error);
    return code;
}

bool channel_settings_allow(const struct channel_settings *self, const char *chat)
{
    for (const char *at = self->groups; *at;) {
        size_t size = strcspn(at, ", ");
        if (view_eq_str(view_of(at, size), chat))
            return true;
        at += size;
        at += strspn(at, ", ");
    }
    return false;
}

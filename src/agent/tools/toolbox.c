/*
 * toolbox.c: the gate that every call of a tool passes.
 */
#include "agent/tools/toolbox.h"

#include <stdarg.h>
#include <stdio.h>

#include "agent/tools/internal.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"

#define MAX_NAME 64         /* bytes: the name of a tool */
#define MAX_SCHEMA 65536    /* bytes */
#define MAX_RESULT 67108864 /* bytes: before it is cut */
#define MAX_REFUSAL 1024    /* bytes */

static const struct tool_group *const groups[] = {&memory_tools, &file_tools};
#define GROUPS (sizeof groups / sizeof *groups)

/* ---- which tools there are --------------------------------------------------------------------- */

static bool is_allowed(const struct toolbox *self, const char *name)
{
    size_t index;
    json_t *allowed;
    if (self->setup.proposes && strcmp(name, "remember") != 0 && strcmp(name, "memory_write") != 0)
        return false;
    if (!self->setup.allowed)
        return true;
    json_array_foreach ((json_t *)self->setup.allowed, index, allowed)
        if (json_is_string(allowed) && strcmp(json_string_value(allowed), name) == 0)
            return true;
    return false;
}

int toolbox_add(struct toolbox *self, const char *name, const char *description, json_t *schema,
                struct ethos_error *error)
{
    struct str text;
    int code = ETHOS_OK;
    if (is_allowed(self, name) && self->count < TOOLBOX_MAX_TOOLS) {
        str_init(&text, MAX_SCHEMA);
        if (schema)
            json_print(schema, JSON_STYLE_LINE, &text);
        char *copy = schema && str_code(&text) == ETHOS_OK
                         ? arena_copy(&self->arena, str_view(&text))
                         : NULL;
        if (copy)
            self->tools[self->count++] = (struct model_tool){view_str(name), view_str(description),
                                                             view_of(copy, text.size)};
        else
            code = err_nomem(error);
        str_release(&text);
    }
    json_decref(schema);
    return code;
}

int toolbox_init(struct toolbox *self, const struct toolbox_setup *setup, struct ethos_error *error)
{
    int code = ETHOS_OK;
    *self = (struct toolbox){.setup = *setup,
                             .trust = setup->trust == TRUST_UNTRUSTED ? TRUST_UNTRUSTED
                                                                      : TRUST_AGENT,
                             .pending = json_array()};
    arena_init(&self->arena);
    if (!self->pending)
        return err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < GROUPS; i++)
        code = groups[i]->add(self, error);
    return code;
}

void toolbox_release(struct toolbox *self)
{
    arena_release(&self->arena);
    json_decref(self->pending);
    *self = (struct toolbox){0};
}

static const struct tool_group *find_group(const char *name)
{
    for (size_t i = 0; i < GROUPS; i++)
        if (groups[i]->has(name))
            return groups[i];
    return NULL;
}

bool toolbox_is_foreign(struct ethos_view name)
{
    char word[MAX_NAME];
    snprintf(word, sizeof word, "%.*s", VIEW_ARG(name));
    const struct tool_group *group = find_group(word);
    return group && group->foreign;
}

/* ---- calls ------------------------------------------------------------------------------------- */

bool toolbox_refuse(const struct toolbox_call *call, const char *format, ...)
{
    char text[MAX_REFUSAL];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    str_adds(call->out, text);
    return false;
}

static bool is_tool_offered(const struct toolbox *self, struct ethos_view name)
{
    for (size_t i = 0; i < self->count; i++)
        if (view_eq(self->tools[i].name, name))
            return true;
    return false;
}

static bool refuse_unknown(const struct toolbox *self, struct ethos_view name, struct str *out)
{
    str_printf(out, "unknown tool: %.*s; the tools are",
               (int)(name.size < MAX_NAME ? name.size : MAX_NAME), name.data);
    for (size_t i = 0; i < self->count; i++)
        str_printf(out, "%s %.*s", i > 0 ? "," : "", VIEW_ARG(self->tools[i].name));
    return false;
}

/* Cut on a character, with a line that says so. */
static void cut_result(struct str *text, size_t begin)
{
    size_t size = text->size - begin, end = begin + TOOLBOX_MAX_RESULT;
    if (size <= TOOLBOX_MAX_RESULT)
        return;
    while (end > begin && ((unsigned char)text->data[end] & 0xC0) == 0x80)
        end--;
    str_truncate(text, end);
    str_printf(text, "\n[cut: %zu of %zu bytes are shown; ask for a smaller part to read the rest]",
               end - begin, size);
}

static bool run_tool_call(struct toolbox *self, struct ethos_view name, struct ethos_view arguments,
                          const char *call_id, struct str *out, enum toolbox_text *out_text)
{
    char word[MAX_NAME];
    struct ethos_error error = {0};
    json_t *args = NULL;
    struct toolbox_call call = {self, word, NULL, call_id, out, out_text};
    if (!is_tool_offered(self, name))
        return refuse_unknown(self, name, out);
    snprintf(word, sizeof word, "%.*s", VIEW_ARG(name));
    if (view_blank(arguments))
        arguments = VIEW("{}");
    int code = json_parse_most(arguments, MODEL_MAX_TEXT, "arguments", &args, &error);
    if (code != ETHOS_OK)
        return toolbox_refuse(&call, "%s; call %s again with a JSON object", error.text, word);
    call.args = args;
    bool done = json_is_object(args)
                    ? find_group(word)->call(&call)
                    : toolbox_refuse(&call, "the arguments of %s must be a JSON object", word);
    json_decref(args);
    return done;
}

void toolbox_distrust(struct toolbox *self)
{
    self->trust = TRUST_UNTRUSTED;
}

bool toolbox_call(struct toolbox *self, struct ethos_view name, struct ethos_view arguments,
                  const char *call_id, struct str *out, enum toolbox_text *out_text)
{
    struct str text;
    str_init(&text, MAX_RESULT);
    *out_text = TOOLBOX_PLAIN;
    bool done = run_tool_call(self, name, arguments, call_id, &text, out_text);
    if (*out_text == TOOLBOX_FOREIGN)
        toolbox_distrust(self);
    if (str_code(&text) == ETHOS_LIMIT) {
        str_clear(&text);
        str_adds(&text, "the result is too large; ask for a smaller part");
        done = false;
    }
    cut_result(&text, 0);
    str_fail(out, str_code(&text));
    str_add(out, str_view(&text));
    str_release(&text);
    return done;
}

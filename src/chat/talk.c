/*
 * talk.c: a conversation in the terminal: turns, commands, and what is shown of them in words.
 */
#include "chat/talk.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/configured_model.h"
#include "agent/session.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "chat/attach.h"

#define MAX_LINE 65536 /* bytes of what is said in one call */

/* ---- saying ------------------------------------------------------------------------------------ */

static void show_styled_line(struct chat_talk *self, enum talk_style style, struct ethos_view text)
{
    self->screen->line(self->screen->arg, style, text);
}

void talk_say(struct chat_talk *self, enum talk_style style, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int size = vasprintf(&text, format, args);
    va_end(args);
    if (size >= 0)
        show_styled_line(self, style, view_of(text, (size_t)size));
    free(text);
}

void talk_fail(struct chat_talk *self, const struct ethos_error *error)
{
    self->failed = true;
    if (*error->text)
        talk_say(self, TALK_FAILED, "%s%s%s", error->text, *error->hint ? "; " : "", error->hint);
}

/* "1,234,567" */
static void append_grouped_number(struct str *out, int64_t number)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    size_t size = strlen(digits);
    for (size_t i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0 && digits[i - 1] != '-')
            str_addc(out, ',');
        str_addc(out, digits[i]);
    }
}

int talk_describe_usage(const struct model_usage *usage, struct str *out)
{
    append_grouped_number(out, usage->input + usage->cache_read + usage->cache_write);
    str_adds(out, " tokens in, ");
    append_grouped_number(out, usage->output);
    str_adds(out, " out");
    if (!(usage->known & MODEL_KNOWS_COST))
        str_adds(out, ", cost unknown");
    else if (usage->nano_usd > 0)
        str_printf(out, ", $%.4f", (double)usage->nano_usd / 1e9);
    return str_code(out);
}

/* The values of the arguments; their names say little that the tool's does not. */
static void append_values(const json_t *value, struct str *out)
{
    const char *key;
    json_t *member;
    size_t index;
    if (json_is_string(value)) {
        str_addc(out, ' ');
        str_add(out, view_of(json_string_value(value), json_string_length(value)));
    } else if (json_is_integer(value)) {
        str_printf(out, " %lld", (long long)json_integer_value(value));
    }
    json_object_foreach ((json_t *)value, key, member)
        append_values(member, out);
    json_array_foreach (value, index, member)
        append_values(member, out);
}

int talk_describe_call(const struct agent_event *event, struct str *out)
{
    struct str line;
    json_t *args = NULL;
    str_init(&line, 2 * (size_t)MODEL_MAX_TEXT);
    str_add(&line, event->name);
    if (json_parse_most(event->text, MODEL_MAX_TEXT, "arguments", &args, NULL) == ETHOS_OK)
        append_values(args, &line);
    line_cut(str_view(&line), TALK_MAX_CALL, out);
    str_fail(out, str_code(&line));
    json_decref(args);
    str_release(&line);
    return str_code(out);
}

/* ---- what was remembered ----------------------------------------------------------------------- */

static void show_changed_lines(struct chat_talk *self, const json_t *lines, const char *sign,
                               enum talk_style style, size_t *shown, size_t *more)
{
    size_t index;
    json_t *line;
    json_array_foreach (lines, index, line) {
        if (*shown == TALK_MAX_CHANGES) {
            ++*more;
            continue;
        }
        ++*shown;
        talk_say(self, style, "%s %s", sign, json_string_value(line));
    }
}

void talk_show_changes(struct chat_talk *self, const json_t *changes)
{
    size_t index, shown = 0, more = 0;
    json_t *row;
    struct str line;
    str_init(&line, MAX_LINE);
    agent_describe_changes(changes, &line);
    talk_say(self, TALK_PLAIN, "%s (/undo)", line.data);
    json_array_foreach ((json_t *)changes, index, row) {
        show_changed_lines(self, json_object_get(row, "added"), "+", TALK_ADDED, &shown, &more);
        show_changed_lines(self, json_object_get(row, "removed"), "-", TALK_REMOVED, &shown, &more);
    }
    if (more > 0)
        talk_say(self, TALK_DIM, "%zu more: /memory", more);
    str_release(&line);
}

static void show_pending(struct chat_talk *self, const json_t *pending)
{
    struct str line;
    str_init(&line, MAX_LINE);
    agent_describe_pending(pending, &line);
    talk_say(self, TALK_PLAIN, "%s (/pending)", line.data);
    str_release(&line);
}

/* ---- operations -------------------------------------------------------------------------------- */

static int run_talk_operation(struct chat_talk *self, const char *operation, json_t *args,
                              bool dry_run, struct op_result *result, struct ethos_error *error)
{
    struct op_call call = {.ethos = self->choice.ethos,
                           .request = &self->choice.request,
                           .args = args,
                           .want_json = true,
                           .dry_run = dry_run,
                           .whole_lists = true,
                           .via = "chat"};
    op_result_init(result);
    int code = args ? op_run(op_find(operation), &call, result, error) : err_nomem(error);
    json_decref(args);
    return code;
}

static bool run_and_show(struct chat_talk *self, const char *operation, json_t *args, bool dry_run,
                         struct op_result *result)
{
    struct ethos_error error = {0};
    if (run_talk_operation(self, operation, args, dry_run, result, &error) != ETHOS_OK) {
        talk_fail(self, &error);
        return false;
    }
    if (result->code != ETHOS_OK)
        talk_fail(self, &result->error);
    return true;
}

bool talk_run(struct chat_talk *self, const char *operation, json_t *args, struct op_result *result)
{
    return run_and_show(self, operation, args, self->start->dry_run, result);
}

bool talk_try(struct chat_talk *self, const char *operation, json_t *args, struct op_result *result)
{
    return run_and_show(self, operation, args, true, result);
}

bool talk_setting_is(struct chat_talk *self, const char *name, const char *value)
{
    struct op_result result;
    int code = run_talk_operation(self, "config.get", json_pack("{s:s}", "key", name), false,
                                  &result, NULL);
    bool is = code == ETHOS_OK && view_eq_str(json_view(result.json, "value"), value);
    op_result_release(&result);
    return is;
}

/* ---- a turn ------------------------------------------------------------------------------------ */

struct agent_setup talk_setup(struct chat_talk *self)
{
    const json_t *args = self->start->args;
    const json_t *steps = json_object_get(args, "maxSteps");
    return (struct agent_setup){
        .ethos = self->choice.ethos,
        .request = &self->choice.request,
        .model = self->choice.model,
        .via = "chat",
        .rights = OP_RIGHTS_AGENT,
        .max_steps = steps ? (unsigned)json_integer_value(steps) : 0,
        .folder = self->choice.folder,
        .no_tools = json_is_true(json_object_get(args, "noTools")),
        .dry_run = self->start->dry_run,
    };
}

static void handle_turn_event(void *arg, const struct agent_event *event)
{
    struct chat_talk *self = arg;
    switch (event->kind) {
    case AGENT_CONTEXT:
        json_decref(self->context);
        self->context = json_incref((json_t *)event->prompt);
        break;
    case AGENT_TEXT:
        str_add(&self->reply, event->text);
        break;
    case AGENT_TOOL_START:
        if (self->reply.size > 0 && self->reply.data[self->reply.size - 1] != '\n')
            str_adds(&self->reply, "\n\n");
        break;
    case AGENT_RESTART:
        str_clear(&self->reply);
        break;
    case AGENT_USAGE:
        self->usage = event->usage;
        break;
    case AGENT_ERROR:
        self->failed = true;
        break;
    case AGENT_PENDING:
        json_decref(self->pending);
        self->pending = json_deep_copy(event->changes);
        break;
    case AGENT_REMEMBERED:
        self->changes = json_deep_copy(event->changes);
        break;
    default:
        break;
    }
    self->screen->event(self->screen->arg, event);
    if (event->kind == AGENT_REMEMBERED)
        talk_show_changes(self, event->changes);
    bool ended = event->kind == AGENT_DONE || event->kind == AGENT_ERROR;
    if (ended && self->pending) {
        show_pending(self, self->pending);
        json_decref(self->pending);
        self->pending = NULL;
    }
}

static void run_agent_turn(struct chat_talk *self, struct ethos_view text)
{
    struct ethos_error error = {0};
    const struct agent_setup setup = talk_setup(self);
    const struct agent_question question = {
        .session = self->choice.session, .text = text, .abort_fd = self->abort_fd};
    json_decref(self->changes);
    self->changes = NULL;
    str_clear(&self->reply);
    self->usage = (struct model_usage){0};
    self->changed_ms = os_now_ms();
    snprintf(self->changed_session, sizeof self->changed_session, "%s", self->choice.session);
    agent_turn(&setup, &question, handle_turn_event, self, &error);
    if (!self->start->dry_run)
        agent_index_conversation(self->choice.ethos);
}

/* ---- input ------------------------------------------------------------------------------------- */

static struct ethos_view first_word(struct ethos_view text)
{
    size_t size = 0;
    while (size < text.size && (unsigned char)text.data[size] > ' ')
        size++;
    return view_of(text.data, size);
}

/* A path that begins with a slash is no command. */
bool talk_is_command(struct ethos_view text)
{
    struct ethos_view word = first_word(text);
    if (word.size < 2 || word.data[0] != '/')
        return false;
    for (size_t i = 1; i < word.size; i++)
        if (word.data[i] < 'a' || word.data[i] > 'z')
            return false;
    return true;
}

static void run_command(struct chat_talk *self, struct ethos_view text)
{
    struct ethos_view word = first_word(text);
    struct ethos_view rest = view_trim(view_from(text, word.size));
    for (const struct talk_command *row = talk_commands; row->name; row++)
        if (view_eq_str(word, row->name)) {
            row->run(self, rest);
            return;
        }
    self->failed = true;
    talk_say(self, TALK_FAILED, "%.*s is not a command; /help lists them", VIEW_ARG(word));
}

void talk_input(struct chat_talk *self, struct ethos_view text)
{
    struct str message;
    struct ethos_error error = {0};
    self->failed = false;
    text = view_trim(text);
    if (text.size == 0)
        return;
    if (talk_is_command(text)) {
        run_command(self, text);
        return;
    }
    str_init(&message, MODEL_MAX_TEXT);
    if (attach_files(text, self->choice.folder, &message, &error) == ETHOS_OK)
        run_agent_turn(self, str_view(&message));
    else
        talk_fail(self, &error);
    str_release(&message);
}

/* ---- which conversation ------------------------------------------------------------------------ */

/* Opens the model for a personality; the one before is closed when that went well. */
static int open_chat_model(struct chat_talk *self, const char *personality, const char *name,
                           struct ethos_error *error)
{
    struct model *model;
    int code = configured_model_open(self->choice.ethos, personality, *name ? name : NULL, &model,
                                     error);
    if (code != ETHOS_OK)
        return code;
    if (self->choice.model)
        self->choice.model->ops->close(self->choice.model);
    self->choice.model = model;
    return ETHOS_OK;
}

bool talk_choose(struct chat_talk *self, const char *personality, const char *model)
{
    struct ethos_error error = {0};
    struct conversation_choice *choice = &self->choice;
    const char *name = model ? model : self->model;
    if (!personality)
        personality = choice->personality;
    if (open_chat_model(self, personality, name, &error) != ETHOS_OK) {
        talk_fail(self, &error);
        return false;
    }
    if (model)
        snprintf(self->model, sizeof self->model, "%s", model);
    if (personality != choice->personality)
        snprintf(choice->personality, sizeof choice->personality, "%s", personality);
    choice->request.personality = choice->personality;
    return true;
}

bool talk_switch(struct chat_talk *self, const char *session)
{
    struct ethos_error error = {0};
    struct agent_session row = {0};
    int code = agent_session_read(self->choice.ethos, session, &row, &error);
    bool same = !*row.personality || strcmp(row.personality, self->choice.personality) == 0;
    bool switched = code == ETHOS_OK && (same || talk_choose(self, row.personality, NULL));
    if (code != ETHOS_OK)
        talk_fail(self, &error);
    if (switched)
        snprintf(self->choice.session, sizeof self->choice.session, "%s", session);
    agent_session_release(&row);
    return switched;
}

int talk_open(const struct surface_start *start, struct chat_talk *out, struct ethos_error *error)
{
    const char *resume = json_string_value(json_object_get(start->args, "resume"));
    const char *model = json_string_value(json_object_get(start->args, "model"));
    bool fresh = json_is_true(json_object_get(start->args, "new"));
    *out = (struct chat_talk){.start = start, .abort_fd = -1};
    str_init(&out->reply, AGENT_MAX_REPLY);
    if (resume && fresh)
        return err_set(error, ETHOS_INVALID, "--resume and --new exclude each other");
    snprintf(out->model, sizeof out->model, "%s", model ? model : "");
    int code = conversation_choose(start, resume, fresh, model, &out->choice, error);
    out->choice.request.personality = out->choice.personality; // commands mean that of the session
    return code;
}

void talk_release(struct chat_talk *self)
{
    json_decref(self->context);
    json_decref(self->pending);
    json_decref(self->changes);
    str_release(&self->reply);
    conversation_choice_release(&self->choice);
}

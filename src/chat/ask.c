/*
 * ask.c: ethos ask: one turn. The answer goes to standard output as it arrives, everything else to standard error;
 * with --json each event is a line.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "chat/chat.h"
#include "chat/conversation_choice.h"
#include "chat/output.h"
#include "ops/shutdown.h"

struct ask_run {
    const struct surface_start *start;
    struct str question;
    bool out_is_terminal, err_is_terminal;
    bool wrote;      /* some of the answer is out */
    bool after_tool; /* the next text is a paragraph of its own */
    char last;       /* character of the answer that is out */
    bool failed;     /* with --json: the error is out */
};

/* ---- the question ------------------------------------------------------------------------------ */

/* A pipe or a file, which ends; a terminal or /dev/null says nothing. */
static bool has_piped_input(void)
{
    struct stat info;
    return os_fstat(STDIN_FILENO, &info) == 0 &&
           (S_ISFIFO(info.st_mode) || S_ISREG(info.st_mode) || S_ISSOCK(info.st_mode));
}

static int read_question(struct ask_run *self, struct ethos_error *error)
{
    struct str input;
    struct ethos_view text = json_view(self->start->args, "text");
    bool dash = view_eq_str(text, "-");
    str_init(&input, ETHOS_MAX_INPUT_BYTES + 1);
    int code = ETHOS_OK;
    if (has_piped_input() && os_read_all(STDIN_FILENO, &input, ETHOS_MAX_INPUT_BYTES) != 0)
        code = err_set(error, ETHOS_LIMIT,
                       "standard input: it cannot be read, or has more than %d bytes",
                       ETHOS_MAX_INPUT_BYTES);
    if (code == ETHOS_OK && !utf8_valid(str_view(&input)))
        code = err_set(error, ETHOS_INVALID, "standard input: not valid UTF-8");
    if (!dash)
        str_add(&self->question, view_trim(text));
    if (!view_blank(str_view(&input))) {
        if (self->question.size > 0) // the question is what was typed
            agent_attach(VIEW("standard input"), str_view(&input), &self->question);
        else
            str_add(&self->question, view_trim_end(str_view(&input)));
    }
    str_release(&input);
    if (code == ETHOS_OK && str_code(&self->question) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK && view_blank(str_view(&self->question))) {
        code = err_set(error, ETHOS_INVALID, "there is no question");
        err_hint(error, code, "for example: ethos ask 'What did we decide about backups?'");
    }
    return code;
}

/* ---- the answer -------------------------------------------------------------------------------- */

static void print_answer(struct ask_run *self, struct ethos_view text)
{
    if (text.size == 0)
        return;
    if (self->after_tool && self->wrote)
        fputs(self->last == '\n' ? "\n" : "\n\n", stdout);
    self->after_tool = false;
    output_text(stdout, text, self->out_is_terminal);
    fflush(stdout);
    self->wrote = true;
    self->last = text.data[text.size - 1];
}

static void end_answer_line(struct ask_run *self)
{
    if (self->wrote && self->last != '\n')
        fputc('\n', stdout);
    fflush(stdout);
    self->last = '\n';
}

/* A line for a person, beside the answer. */
static void print_side_note(struct ask_run *self, struct ethos_view text)
{
    if (self->start->quiet)
        return;
    if (self->err_is_terminal && self->out_is_terminal)
        end_answer_line(self);
    output_text(stderr, text, self->err_is_terminal);
    fputc('\n', stderr);
}

/* How what was remembered is taken back. */
static const char *find_undo_command(const json_t *changes)
{
    bool memory = false, user = false, notes = false;
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)changes, index, row) {
        struct ethos_view store = json_view(row, "store");
        memory = memory || view_eq_str(store, "memory");
        user = user || view_eq_str(store, "user");
        notes = notes || view_eq_str(store, "notes");
    }
    return memory && !user && !notes   ? "ethos memory undo takes it back"
           : user && !memory && !notes ? "ethos memory undo --store user takes it back"
           : notes && !memory && !user ? "ethos notes undo takes it back"
                                       : "ethos memory history and ethos notes history show them";
}

static void print_remembered(struct ask_run *self, const json_t *changes)
{
    struct str line;
    str_init(&line, 65536);
    agent_describe_changes(changes, &line);
    str_printf(&line, "; %s", find_undo_command(changes));
    print_side_note(self, str_view(&line));
    str_release(&line);
}

static void print_pending(struct ask_run *self, const json_t *pending)
{
    struct str line;
    str_init(&line, 256);
    agent_describe_pending(pending, &line);
    str_adds(&line, "; run ethos pending");
    print_side_note(self, str_view(&line));
    str_release(&line);
}

static void print_event(void *arg, const struct agent_event *event)
{
    struct ask_run *self = arg;
    char name[80];
    switch (event->kind) {
    case AGENT_TEXT:
        print_answer(self, event->text);
        break;
    case AGENT_TOOL_START:
        snprintf(name, sizeof name, "... %.*s",
                 (int)(event->name.size < 64 ? event->name.size : 64), event->name.data);
        if (self->err_is_terminal)
            print_side_note(self, view_str(name));
        self->after_tool = true;
        break;
    case AGENT_RESTART:
        print_side_note(self, VIEW("the answer begins again"));
        self->after_tool = true;
        break;
    case AGENT_STATUS:
        print_side_note(self, event->text);
        break;
    case AGENT_DONE:
    case AGENT_ERROR:
        end_answer_line(self);
        break;
    case AGENT_PENDING:
        print_pending(self, event->changes);
        break;
    case AGENT_REMEMBERED:
        print_remembered(self, event->changes);
        break;
    case AGENT_START:
    case AGENT_CONTEXT:
    case AGENT_THINKING:
    case AGENT_TOOL_END:
    case AGENT_MESSAGE:
    case AGENT_USAGE:
        break;
    }
}

static void print_json_event(void *arg, const struct agent_event *event)
{
    struct ask_run *self = arg;
    struct str line;
    json_t *json = agent_event_json(event);
    str_init(&line, 4 * (size_t)MODEL_MAX_TEXT);
    self->failed = self->failed || event->kind == AGENT_ERROR;
    if (json && json_print(json, JSON_STYLE_LINE, &line) == ETHOS_OK) {
        fwrite(line.data, 1, line.size, stdout);
        fputc('\n', stdout);
        fflush(stdout);
    }
    json_decref(json);
    str_release(&line);
}

/* ---- the turn ---------------------------------------------------------------------------------- */

static int run_ask_turn(struct ask_run *self, struct conversation_choice *choice,
                        struct ethos_error *error)
{
    const struct surface_start *start = self->start;
    const json_t *steps = json_object_get(start->args, "maxSteps");
    const struct agent_setup setup = {
        .ethos = choice->ethos,
        .request = &choice->request,
        .model = choice->model,
        .via = "ask",
        .rights = OP_RIGHTS_AGENT,
        .max_steps = steps ? (unsigned)json_integer_value(steps) : 0,
        .folder = choice->folder,
        .no_tools = json_is_true(json_object_get(start->args, "noTools")),
        .dry_run = start->dry_run,
    };
    const struct agent_question question = {.session = choice->session,
                                            .text = str_view(&self->question),
                                            .abort_fd = shutdown_catch_signals()};
    int code = agent_turn(&setup, &question, start->json ? print_json_event : print_event, self,
                          error);
    if (shutdown_signal() || (code != ETHOS_OK && self->failed))
        *error->text = '\0'; // the person knows, or the event said it
    return code;
}

int chat_ask(const struct surface_start *start, struct ethos_error *error)
{
    struct conversation_choice choice = {0};
    struct ask_run self = {.start = start,
                           .out_is_terminal = isatty(STDOUT_FILENO),
                           .err_is_terminal = isatty(STDERR_FILENO)};
    const char *resume = json_string_value(json_object_get(start->args, "resume"));
    const char *model = json_string_value(json_object_get(start->args, "model"));
    bool fresh = json_is_true(json_object_get(start->args, "new"));
    str_init(&self.question, MODEL_MAX_TEXT);
    int code = resume && fresh
                   ? err_set(error, ETHOS_INVALID, "--resume and --new exclude each other")
                   : read_question(&self, error);
    if (code == ETHOS_OK)
        code = conversation_choose(start, resume, fresh, model, &choice, error);
    if (code == ETHOS_OK)
        code = run_ask_turn(&self, &choice, error);
    conversation_choice_release(&choice);
    str_release(&self.question);
    shutdown_restore_signals(false); // a signal that came has its effect now
    return code;
}

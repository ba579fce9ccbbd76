/*
 * plain.c: a conversation line by line, for a terminal without cursor movement, a screen reader, a pipe.
 *
 * The terminal's own line editing reads the input, and output is only ever appended. Into a pipe or file goes the
 * answer as the model wrote it, and what is not the answer to standard error.
 *
 * SIGINT, SIGTERM and SIGHUP are read from a descriptor, which also aborts a turn while it is readable.
 */
#include "chat/plain.h"
#include "chat/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "chat/markdown/flow.h"
#include "chat/program.h"
#include "chat/talk.h"

#define PLAIN_COLUMNS 80 /* of a rule; the terminal wraps paragraphs */
#define LEAVE_MS 2000    /* between two Ctrl-C that leave */

struct plain {
    const struct surface_start *start;
    struct chat_talk *talk;
    int signals;       /* signalfd */
    int ended_by;      /* a signal that asks to leave, or 0 */
    bool in_terminal;  /* standard input: somebody types */
    bool out_terminal; /* standard output */
    bool bell;         /* after an answer */
    bool failed;       /* an input, when nobody types */
    bool at_end;       /* of the input */
    bool command;      /* what was typed is one: its lines are what was asked for */
    int64_t interrupted_ms;
    struct str input; /* bytes that were read */
    size_t used;      /* of them */
    struct cluster_widths widths;
    struct flow flow; /* of the answer, to a terminal */
    char last;        /* character of the answer that is out, elsewhere */
    bool after_tool;
};

/* ---- output ------------------------------------------------------------------------------------ */

/* Beside the answer. */
static FILE *notes_file(const struct plain *self)
{
    return self->out_terminal ? stdout : stderr;
}

static void print_labeled_line(FILE *out, const char *label, struct ethos_view text)
{
    fflush(stdout);
    fputs(label, out);
    output_text(out, text, isatty(fileno(out)));
    fputc('\n', out);
    fflush(out);
}

static void print_side_note(const struct plain *self, const char *label, struct ethos_view text)
{
    if (!self->start->quiet)
        print_labeled_line(notes_file(self), label, text);
}

static void show_line(void *arg, enum talk_style style, struct ethos_view text)
{
    struct plain *self = arg;
    if (style == TALK_FAILED)
        print_labeled_line(notes_file(self), "Error: ", text);
    else if (self->command)
        print_labeled_line(stdout, "", text);
    else
        print_side_note(self, "", text);
}

static void show_source(void *arg, struct ethos_view text)
{
    struct plain *self = arg;
    output_text(stdout, text, self->out_terminal);
    if (!view_ends(text, VIEW("\n")))
        fputc('\n', stdout);
    fflush(stdout);
}

/* ---- the answer -------------------------------------------------------------------------------- */

static void print_raw_answer(struct plain *self, struct ethos_view text)
{
    if (text.size == 0)
        return;
    fwrite(text.data, 1, text.size, stdout);
    fflush(stdout);
    self->last = text.data[text.size - 1];
}

static void print_answer_row(void *arg, bool live, const struct cell *cells, size_t count)
{
    struct str row;
    (void)arg;
    (void)live; // nothing is: no frame is asked for
    str_init(&row, AGENT_MAX_REPLY);
    if (cells_print(cells, count, -1, false, &row) == ETHOS_OK)
        fwrite(row.data, 1, row.size, stdout);
    fputc('\n', stdout);
    fflush(stdout);
    str_release(&row);
}

static void show_answer_text(struct plain *self, struct ethos_view text)
{
    if (self->out_terminal) {
        flow_feed(&self->flow, text);
        return;
    }
    if (self->after_tool && self->last)
        print_raw_answer(self, self->last == '\n' ? VIEW("\n") : VIEW("\n\n"));
    self->after_tool = false;
    print_raw_answer(self, text);
}

static void end_answer(struct plain *self)
{
    flow_end(&self->flow);
    if (self->last && self->last != '\n')
        fputc('\n', stdout);
    fflush(stdout);
    self->last = '\0';
}

static void show_done(struct plain *self)
{
    struct str line;
    str_init(&line, 256);
    if (talk_describe_usage(&self->talk->usage, &line) == ETHOS_OK)
        print_side_note(self, "Done: ", str_view(&line));
    str_release(&line);
}

static void show_call(struct plain *self, const struct agent_event *event)
{
    struct str line;
    str_init(&line, 4096);
    if (self->out_terminal)
        end_answer(self);
    else
        self->after_tool = true;
    if (talk_describe_call(event, &line) == ETHOS_OK)
        print_side_note(self, "Tool: ", str_view(&line));
    str_release(&line);
}

static void show_event(void *arg, const struct agent_event *event)
{
    struct plain *self = arg;
    switch (event->kind) {
    case AGENT_TEXT:
        show_answer_text(self, event->text);
        break;
    case AGENT_RESTART:
        end_answer(self);
        print_side_note(self, "Note: ", VIEW("the answer begins again"));
        break;
    case AGENT_STATUS:
        print_side_note(self, "Note: ", event->text);
        break;
    case AGENT_TOOL_START:
        show_call(self, event);
        break;
    case AGENT_DONE:
        end_answer(self);
        show_done(self);
        break;
    case AGENT_ERROR:
        end_answer(self);
        if (view_eq_str(event->name, "aborted"))
            print_labeled_line(notes_file(self), "Aborted.", VIEW(""));
        else
            show_line(self, TALK_FAILED, event->text);
        break;
    default:
        break;
    }
}

/* ---- signals ----------------------------------------------------------------------------------- */

/* Reads what came; true for an interrupt. */
static bool read_signals(struct plain *self)
{
    struct signalfd_siginfo info;
    bool interrupted = false;
    struct pollfd fd = {self->signals, POLLIN, 0};
    while (os_poll(&fd, 1, 0) > 0 && read(self->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGINT && self->in_terminal)
            interrupted = true;
        else
            self->ended_by = (int)info.ssi_signo;
    }
    return interrupted;
}

/* ---- input ------------------------------------------------------------------------------------- */

enum line_result { READ_LINE, READ_END, READ_INTERRUPTED };

static void read_input_bytes(struct plain *self)
{
    char bytes[4096];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got > 0)
        str_add(&self->input, view_of(bytes, (size_t)got));
    else if (got == 0 || errno != EINTR)
        self->at_end = true;
}

/* Drops what was used, and gives the next line. */
static bool take_input_line(struct plain *self, struct ethos_view *out)
{
    if (self->used > 0) {
        memmove(self->input.data, self->input.data + self->used, self->input.size - self->used);
        str_truncate(&self->input, self->input.size - self->used);
        self->used = 0;
    }
    const char *end = memchr(self->input.data, '\n', self->input.size);
    if (!end && !(self->at_end && self->input.size > 0))
        return false;
    *out = view_of(self->input.data, end ? (size_t)(end - self->input.data) : self->input.size);
    self->used = out->size + (end ? 1 : 0);
    return true;
}

static enum line_result read_input_line(struct plain *self, struct ethos_view *out)
{
    while (!take_input_line(self, out)) {
        struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {self->signals, POLLIN, 0}};
        if (self->at_end || str_code(&self->input) != ETHOS_OK)
            return READ_END;
        os_poll(fds, 2, -1);
        if (fds[1].revents && read_signals(self))
            return READ_INTERRUPTED;
        if (self->ended_by)
            return READ_END;
        if (fds[0].revents)
            read_input_bytes(self);
    }
    return READ_LINE;
}

static void print_prompt(const struct plain *self, const char *prompt)
{
    if (!self->in_terminal)
        return;
    fputs(prompt, notes_file(self));
    fflush(notes_file(self));
}

static bool is_continued_line(struct ethos_view line)
{
    size_t count = 0;
    while (count < line.size && line.data[line.size - 1 - count] == '\\')
        count++;
    return count % 2 == 1;
}

/* A message: a line, and those after it while they end with a backslash. */
static enum line_result read_input_message(struct plain *self, struct str *out)
{
    struct ethos_view line;
    bool more = true;
    str_clear(out);
    print_prompt(self, "> ");
    while (more) {
        enum line_result reading = read_input_line(self, &line);
        if (reading != READ_LINE)
            return out->size > 0 && reading == READ_END ? READ_LINE : reading;
        more = is_continued_line(line);
        str_add(out, view_of(line.data, line.size - more));
        if (more) {
            str_addc(out, '\n');
            print_prompt(self, "  ");
        }
    }
    return READ_LINE;
}

static bool ask_yes(void *arg, const char *question)
{
    struct plain *self = arg;
    struct ethos_view answer;
    if (self->start->no_input)
        return false;
    fflush(stdout);
    fprintf(notes_file(self), "Question: %s yes or no: ", question);
    fflush(notes_file(self));
    bool yes = read_input_line(self, &answer) == READ_LINE &&
               view_eq_nocase(view_trim(answer), VIEW("yes"));
    if (!self->in_terminal)
        fputc('\n', notes_file(self));
    return yes;
}

static int run_program(void *arg, const char *const argv[])
{
    struct plain *self = arg;
    fflush(stdout);
    int status = program_run_here(argv);
    read_signals(self); // keys for the program
    return status;
}

/* ---- the conversation -------------------------------------------------------------------------- */

/* Ctrl-C at the prompt: the terminal has dropped the line; the second one leaves. */
static void handle_interrupt(struct plain *self)
{
    int64_t now = os_monotonic_ms();
    if (self->interrupted_ms && now - self->interrupted_ms < LEAVE_MS)
        self->talk->leaving = true;
    else
        fputs("\nCtrl-C once more leaves.\n", stdout);
    self->interrupted_ms = now;
}

static void handle_message(struct plain *self, struct ethos_view message)
{
    if (!utf8_valid(message)) {
        show_line(self, TALK_FAILED, VIEW("the input is not valid UTF-8"));
        self->failed = true;
        return;
    }
    self->command = talk_is_command(view_trim(message));
    talk_input(self->talk, message);
    read_signals(self); // one that aborted the turn has had its effect
    self->failed = self->failed || self->talk->failed;
    if (self->bell && self->out_terminal && !self->command && !self->start->quiet)
        fputc('\a', stdout);
    fflush(stdout);
}

static void run_plain_loop(struct plain *self)
{
    struct str message;
    str_init(&message, MODEL_MAX_TEXT);
    while (!self->talk->leaving && !self->ended_by && !ferror(stdout)) {
        enum line_result reading = read_input_message(self, &message);
        if (reading == READ_INTERRUPTED) {
            handle_interrupt(self);
        } else if (reading == READ_END) {
            if (self->in_terminal)
                fputc('\n', stdout);
            break;
        } else if (str_code(&message) != ETHOS_OK) {
            show_line(self, TALK_FAILED, VIEW("the message is too long"));
        } else {
            handle_message(self, str_view(&message));
        }
    }
    str_release(&message);
}

static void print_greeting(struct plain *self)
{
    const struct conversation_choice *choice = &self->talk->choice;
    if (self->in_terminal && !self->start->quiet)
        fprintf(notes_file(self), "%s, %s/%s, conversation %.8s; /help lists the commands\n",
                choice->personality, choice->model->provider, choice->model->name, choice->session);
}

int chat_plain(struct chat_talk *talk, struct ethos_error *error)
{
    sigset_t signals, before;
    int code = ETHOS_OK;
    struct plain self = {.start = talk->start,
                         .talk = talk,
                         .bell = talk_setting_is(talk, "chat.bell", "on"),
                         .in_terminal = isatty(STDIN_FILENO),
                         .out_terminal = isatty(STDOUT_FILENO)};
    const struct talk_screen screen = {.arg = &self,
                                       .event = show_event,
                                       .line = show_line,
                                       .source = show_source,
                                       .confirm = ask_yes,
                                       .run = run_program};
    str_init(&self.input, ETHOS_MAX_INPUT_BYTES);
    cluster_widths_init(&self.widths);
    const struct flow_setup rows = {.columns = PLAIN_COLUMNS,
                                    .whole = true,
                                    .lists = true,
                                    .widths = &self.widths,
                                    .each = print_answer_row,
                                    .arg = &self};
    flow_init(&self.flow, &rows);
    program_signals(&signals);
    sigprocmask(SIG_BLOCK, &signals, &before);
    self.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self.signals < 0) {
        code = err_errno(error, errno, "signals");
    } else {
        talk->screen = &screen;
        talk->abort_fd = self.signals;
        print_greeting(&self);
        run_plain_loop(&self);
        os_close(self.signals);
    }
    str_release(&self.input);
    flow_release(&self.flow);
    cluster_widths_release(&self.widths);
    if (self.ended_by)
        raise(self.ended_by);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (code == ETHOS_OK && self.failed && !self.in_terminal) {
        code = ETHOS_MODEL;
        *error = (struct ethos_error){.code = code}; // it was shown
    }
    return code;
}

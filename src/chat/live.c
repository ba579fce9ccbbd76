/*
 * live.c: a conversation in a terminal whose cursor can be moved.
 *
 * This thread reads keys and paints; another one talks (turn_thread.h). What it waits for: keys, signals, notices of
 * that thread, and the moments when silence means something: a lone Esc, a resize that is over, a question that may
 * be answered.
 */
#include "chat/live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/input_history.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/text/single_line.h"
#include "base/text/terminal.h"
#include "base/view.h"
#include "chat/complete.h"
#include "chat/editor.h"
#include "chat/live_screen.h"
#include "chat/probe.h"
#include "chat/program.h"
#include "chat/turn_thread.h"

#define PAINT_MS 33     /* between two frames of an answer that arrives */
#define STATUS_MS 1000  /* between two of its seconds */
#define RESIZE_MS 50    /* of quiet before the new size counts */
#define QUESTION_MS 500 /* of silence before keys answer a question */
#define LEAVE_MS 2000   /* between two Ctrl-C that leave */
#define COMMAND_MS 500  /* before a command has a status */
#define BELL_MS 30000   /* a turn that took longer ends with a bell */
#define MAX_READ 65536  /* bytes of keys at once */
#define MAX_STATUS 8192 /* bytes */

static const char keys_help[] = "Alt-Enter begins a line, Esc stops an answer, Tab completes, Up "
                                "and Ctrl-R find what was typed "
                                "before, Ctrl-X Ctrl-E opens the editor, Ctrl-D leaves.";

struct live {
    struct chat_talk *talk;
    struct turn_thread *thread;
    struct live_screen screen;
    struct keys keys;
    struct edit_buffer edit;
    struct width_probe probe;
    bool probing;
    int signals; /* signalfd */
    int ended_by;

    bool bell; /* after a long turn */
    struct input_history history;
    bool after_ctrl_x;

    char *queued[LIVE_MAX_QUEUED];
    size_t queued_count;

    bool works, turn, aborted; /* turn: of the agent, not a command */
    bool failed;               /* the turn */
    int64_t began_ms;
    struct str doing, status;
    int64_t tokens;

    bool asks, answers; /* a question is shown; keys answer it */
    bool leaving;
    const char *hint; /* until the next key */
    int64_t key_ms;   /* of the last key */
    int64_t paint_ms; /* when to paint; INT64_MAX: nothing changed */
    int64_t painted_ms;
    int64_t resize_ms; /* when the new size counts; 0: none is due */
    int64_t interrupted_ms;
};

static void schedule_paint(struct live *self, int64_t when)
{
    self->paint_ms = clock_earlier(self->paint_ms, when);
}

/* ---- painting ---------------------------------------------------------------------------------- */

static void set_doing(struct live *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void set_doing(struct live *self, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    str_clear(&self->doing);
    str_adds(&self->doing, text);
}

static struct ethos_view make_status(struct live *self, int64_t now)
{
    int64_t seconds = (now - self->began_ms) / 1000;
    str_clear(&self->status);
    if (!self->works || (!self->turn && now - self->began_ms < COMMAND_MS))
        return VIEW("");
    str_printf(&self->status, "… %s  %" PRId64 "s", self->doing.data, seconds);
    if (self->tokens > 0)
        str_printf(&self->status, "  %" PRId64 " tokens", self->tokens);
    str_adds(&self->status, self->aborted ? "  stopping" : "  Esc stops");
    return str_view(&self->status);
}

/* What was being typed when the question came is no answer to it. */
static void open_answer_keys(struct live *self, int64_t now)
{
    if (self->asks && now - self->key_ms >= QUESTION_MS)
        self->answers = true;
}

static void paint_screen(struct live *self, int64_t now)
{
    open_answer_keys(self, now);
    const struct live_below below = {.status = make_status(self, now),
                                     .hint = view_str(self->hint ? self->hint : ""),
                                     .queued = (const char *const *)self->queued,
                                     .queued_count = self->queued_count,
                                     .question = self->asks ? turn_thread_question(self->thread)
                                                            : NULL,
                                     .question_open = self->answers,
                                     .edit = &self->edit};
    live_screen_paint(&self->screen, &below);
    self->painted_ms = now;
    self->paint_ms = INT64_MAX;
    if (self->works)
        schedule_paint(self, self->turn || now - self->began_ms >= COMMAND_MS
                                 ? now + STATUS_MS - (now - self->began_ms) % STATUS_MS
                                 : self->began_ms + COMMAND_MS);
    if (self->asks && !self->answers)
        schedule_paint(self, self->key_ms + QUESTION_MS);
}

/* ---- what somebody said ------------------------------------------------------------------------ */

static void submit_input(struct live *self, struct ethos_view text)
{
    self->turn = !talk_is_command(view_trim(text));
    self->aborted = self->failed = false;
    self->tokens = 0;
    self->began_ms = os_monotonic_ms();
    set_doing(self, "%s", self->turn ? "waiting" : "working");
    live_screen_echo(&self->screen, text);
    self->works = turn_thread_run(self->thread, text) == ETHOS_OK;
    if (!self->works)
        live_screen_line(&self->screen, TALK_FAILED, VIEW("out of memory"));
}

static void queue_input(struct live *self, struct ethos_view text)
{
    char *copy = self->queued_count < LIVE_MAX_QUEUED ? strndup(text.data, text.size) : NULL;
    if (copy)
        self->queued[self->queued_count++] = copy;
}

static void remember_input(struct live *self, struct ethos_view text)
{
    edit_add_history(&self->edit, text);
    input_history_add(&self->history, text);
}

static void send_input(struct live *self)
{
    struct ethos_view text = str_view(&self->edit.text);
    if (view_blank(text))
        return;
    if (self->works && self->queued_count == LIVE_MAX_QUEUED) {
        self->hint = "no more messages can wait";
        return;
    }
    remember_input(self, text);
    if (self->works)
        queue_input(self, text);
    else
        submit_input(self, text);
    edit_clear(&self->edit);
}

static void drop_first_queued(struct live *self)
{
    free(self->queued[0]);
    memmove(self->queued, self->queued + 1, --self->queued_count * sizeof *self->queued);
}

static void send_queued(struct live *self)
{
    if (self->queued_count == 0)
        return;
    submit_input(self, view_str(self->queued[0]));
    drop_first_queued(self);
}

/* After an abort nothing is sent: what waited stands before the draft. */
static void return_queued(struct live *self)
{
    struct str text;
    if (self->queued_count == 0)
        return;
    str_init(&text, EDIT_MAX_TEXT);
    while (self->queued_count > 0) {
        str_adds(&text, self->queued[0]);
        str_adds(&text, self->queued_count > 1 || self->edit.text.size > 0 ? "\n" : "");
        drop_first_queued(self);
    }
    str_add(&text, str_view(&self->edit.text));
    edit_set_text(&self->edit, str_view(&text));
    str_release(&text);
}

/* The newest message that waits comes back into the empty input. */
static bool edit_last_queued(struct live *self)
{
    if (self->queued_count == 0 || self->edit.text.size > 0)
        return false;
    char *text = self->queued[--self->queued_count];
    edit_set_text(&self->edit, view_str(text));
    free(text);
    return true;
}

static void answer_question(struct live *self, int answer)
{
    self->asks = self->answers = false;
    turn_thread_answer(self->thread, answer);
}

static void abort_running_turn(struct live *self)
{
    if (self->works && !self->aborted)
        turn_thread_abort(self->thread);
    self->aborted = true;
    if (self->asks)
        answer_question(self, 0);
}

static void leave_conversation(struct live *self)
{
    abort_running_turn(self);
    self->leaving = true;
}

/* ---- programs that get the terminal ------------------------------------------------------------ */

static void begin_pause(struct live *self)
{
    live_screen_clear(&self->screen);
    tty_leave();
}

static void update_size(struct live *self, bool rewraps)
{
    self->resize_ms = 0;
    live_screen_resize(&self->screen, tty_size(), rewraps);
    edit_resize(&self->edit, live_screen_input_columns(&self->screen));
}

static void end_pause(struct live *self)
{
    if (tty_enter() != 0)
        self->screen.gone = true;
    update_size(self, false);
    live_screen_restart(&self->screen);
    schedule_paint(self, 0);
}

/* Signals that a program in our place caused: those that end us stay. */
static void read_signals(struct live *self, bool after_program);

static void block_signal(int signal, bool blocks)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    sigprocmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &one, NULL);
}

static int run_program(struct live *self, const char *const argv[])
{
    begin_pause(self);
    block_signal(SIGTSTP, false); // who stops the program stops us
    int status = program_run_here(argv);
    block_signal(SIGTSTP, true);
    read_signals(self, true);
    end_pause(self);
    return status;
}

static void suspend_program(struct live *self)
{
    begin_pause(self);
    block_signal(SIGTSTP, false);
    kill(0, SIGTSTP); // here it stops, and goes on
    block_signal(SIGTSTP, true);
    read_signals(self, true);
    end_pause(self);
}

/* ---- keys -------------------------------------------------------------------------------------- */

static void handle_interrupt(struct live *self, int64_t now)
{
    if (self->works) {
        abort_running_turn(self);
    } else if (self->edit.text.size > 0) {
        remember_input(self, str_view(&self->edit.text));
        edit_clear(&self->edit);
    } else if (self->interrupted_ms && now - self->interrupted_ms < LEAVE_MS) {
        self->leaving = true;
    } else {
        self->hint = "Ctrl-C once more leaves";
        self->interrupted_ms = now;
    }
}

/* The candidates above the input: one in each line if something is to be said of them. */
static void show_candidates(struct live *self, const struct completion *completion)
{
    size_t index;
    json_t *value;
    struct str line;
    str_init(&line, LIVE_MAX_SHOWN);
    bool each = *json_string_value(json_array_get(completion->remarks, 0)) != 0;
    json_array_foreach (completion->candidates, index, value) {
        const char *remark = json_string_value(json_array_get(completion->remarks, index));
        str_printf(&line, each ? "%-16s  %s" : "%s  %s", json_string_value(value), remark);
        if (each) {
            live_screen_line(&self->screen, TALK_DIM, str_view(&line));
            str_clear(&line);
        }
    }
    if (!each)
        live_screen_line(&self->screen, TALK_DIM, view_trim_end(str_view(&line)));
    str_release(&line);
}

static void complete_input(struct live *self)
{
    struct completion completion;
    struct edit_buffer *edit = &self->edit;
    if (complete_word(self->talk, !self->works, str_view(&edit->text), edit->cursor, &completion) ==
        ETHOS_OK) {
        size_t count = json_array_size(completion.candidates);
        bool grows = completion.common.size > edit->cursor - completion.begin;
        bool ends = count == 1 && !view_ends(str_view(&completion.common), VIEW("/"));
        if (ends)
            str_addc(&completion.common, ' ');
        if (count == 1 || grows)
            edit_replace(edit, completion.begin, edit->cursor, str_view(&completion.common));
        else if (count > 1)
            show_candidates(self, &completion);
        else
            self->hint = "nothing completes this";
    }
    completion_release(&completion);
}

static int run_program(struct live *self, const char *const argv[]);

static int run_editor(void *arg, const char *const argv[])
{
    return run_program(arg, argv);
}

static void edit_in_editor(struct live *self)
{
    struct str text;
    struct ethos_error error = {0};
    str_init(&text, EDITOR_MAX_TEXT);
    if (editor_edit(str_view(&self->edit.text), run_editor, self, &text, &error) == ETHOS_OK)
        edit_set_text(&self->edit, str_view(&text));
    else
        live_screen_line(&self->screen, TALK_FAILED, view_str(error.text));
    str_release(&text);
}

static void handle_control(struct live *self, char letter, int64_t now)
{
    switch (letter) {
    case 'C':
        handle_interrupt(self, now);
        break;
    case 'D':
        if (self->edit.text.size == 0)
            leave_conversation(self);
        break;
    case 'L':
        live_screen_resize(&self->screen, self->screen.size, false);
        break;
    case 'X':
        self->after_ctrl_x = true;
        break;
    case 'Z':
        suspend_program(self);
        break;
    default:
        break;
    }
}

/* Keys that the editor has no use for. */
static void handle_command_key(struct live *self, const struct key *key, int64_t now)
{
    if (key->kind == KEY_ESCAPE)
        abort_running_turn(self);
    else if (key->kind == KEY_TAB)
        complete_input(self);
    else if (key->kind == KEY_CTRL)
        handle_control(self, key->letter, now);
}

/* Nothing but these letters answers: not Enter, which somebody may press without having read. */
static void handle_answer(struct live *self, const struct key *key)
{
    char letter = key->kind == KEY_CHARACTER ? *key->text.data : '\0';
    bool stops = key->kind == KEY_ESCAPE || (key->kind == KEY_CTRL && key->letter == 'C');
    if (!stops && letter != 'y' && letter != 'n')
        return;
    struct str line;
    str_init(&line, LIVE_MAX_SHOWN);
    str_printf(&line, "Question: %s %s", turn_thread_question(self->thread),
               letter == 'y' ? "yes" : "no");
    live_screen_line(&self->screen, TALK_PLAIN, str_view(&line));
    str_release(&line);
    if (stops)
        abort_running_turn(self);
    else
        answer_question(self, letter == 'y');
}

static void handle_input_key(struct live *self, const struct key *key, int64_t now)
{
    bool after_ctrl_x = self->after_ctrl_x;
    self->after_ctrl_x = false;
    if (after_ctrl_x && key->kind == KEY_CTRL && key->letter == 'E') {
        edit_in_editor(self);
        return;
    }
    if (key->kind == KEY_UP && edit_last_queued(self))
        return;
    switch (edit_key(&self->edit, key)) {
    case EDIT_SEND:
        send_input(self);
        break;
    case EDIT_IGNORED:
        handle_command_key(self, key, now);
        break;
    case EDIT_REFUSED:
        self->hint = "the message is too long";
        break;
    case EDIT_HANDLED:
        break;
    }
    if (key->cut)
        self->hint = "the paste was too long: its end is missing";
}

static void handle_key(void *arg, const struct key *key)
{
    struct live *self = arg;
    int64_t now = os_monotonic_ms();
    if (key->kind == KEY_POSITION) {
        if (self->probing && probe_key(&self->probe, key)) {
            self->probing = false;
            probe_apply(&self->probe, &self->screen.widths);
        }
        return;
    }
    self->hint = NULL;
    self->key_ms = now;
    if (self->answers)
        handle_answer(self, key);
    else
        handle_input_key(self, key, now);
    schedule_paint(self, 0);
}

static void read_keys(struct live *self)
{
    char bytes[MAX_READ];
    ssize_t got = os_read(STDIN_FILENO, bytes, sizeof bytes);
    if (got > 0)
        keys_feed(&self->keys, view_of(bytes, (size_t)got), os_monotonic_ms());
    else
        self->screen.gone = true; // nobody types any more
}

/* ---- signals ----------------------------------------------------------------------------------- */

static void handle_end_signal(struct live *self, int number)
{
    if (self->ended_by) { // it was asked before
        tty_leave();
        block_signal(number, false);
        raise(number);
    }
    self->ended_by = number;
    leave_conversation(self);
}

static void handle_signal(struct live *self, int number)
{
    switch (number) {
    case SIGWINCH:
        self->resize_ms = os_monotonic_ms() + RESIZE_MS;
        break;
    case SIGTSTP:
        suspend_program(self);
        break;
    case SIGCONT: // whoever stopped us may have used the terminal
        tty_leave();
        end_pause(self);
        break;
    case SIGINT:
        handle_interrupt(self, os_monotonic_ms());
        schedule_paint(self, 0);
        break;
    default:
        handle_end_signal(self, number);
        break;
    }
}

static void read_signals(struct live *self, bool after_program)
{
    struct signalfd_siginfo info;
    struct pollfd fd = {self->signals, POLLIN, 0};
    while (os_poll(&fd, 1, 0) > 0 && os_read(self->signals, &info, sizeof info) == sizeof info) {
        int number = (int)info.ssi_signo;
        if (!after_program || number == SIGTERM || number == SIGHUP)
            handle_signal(self, number);
    }
}

/* ---- what the other thread says ---------------------------------------------------------------- */

static void handle_notice(struct live *self, const struct notice *notice)
{
    struct live_screen *screen = &self->screen;
    struct ethos_view text = view_of(notice->text, notice->size);
    switch (notice->kind) {
    case NOTICE_START:
        set_doing(self, "waiting for %s", notice->text);
        break;
    case NOTICE_TEXT:
        set_doing(self, "answering");
        live_screen_answer(screen, text);
        break;
    case NOTICE_THINKING:
        set_doing(self, "thinking");
        break;
    case NOTICE_RESTART:
        live_screen_end_answer(screen);
        live_screen_line(screen, TALK_DIM, VIEW("The answer begins again."));
        break;
    case NOTICE_TOOL:
        set_doing(self, "%s", notice->text);
        live_screen_end_answer(screen);
        live_screen_tool(screen, text);
        break;
    case NOTICE_TOOL_END:
        set_doing(self, "waiting");
        break;
    case NOTICE_STATUS:
        set_doing(self, "%s", notice->text);
        break;
    case NOTICE_USAGE:
        self->tokens = notice->tokens;
        break;
    case NOTICE_DONE:
        live_screen_end_answer(screen);
        live_screen_line(screen, TALK_DIM, text);
        break;
    case NOTICE_ABORTED:
        self->failed = true;
        live_screen_end_answer(screen);
        live_screen_line(screen, TALK_DIM, VIEW("Aborted."));
        break;
    case NOTICE_FAILED:
        self->failed = true;
        live_screen_end_answer(screen);
        live_screen_line(screen, TALK_FAILED, text);
        break;
    case NOTICE_LINE:
        live_screen_line(screen, notice->style, text);
        break;
    case NOTICE_SOURCE:
        live_screen_source(screen, text);
        break;
    }
}

static void end_work(struct live *self, int64_t now)
{
    self->works = false;
    if (self->bell && self->turn && now - self->began_ms > BELL_MS)
        tty_write(VIEW("\a"));
    if (self->talk->leaving)
        self->leaving = true;
    if (self->leaving)
        return;
    if (self->failed)
        return_queued(self);
    else
        send_queued(self);
}

static void handle_notices(struct live *self, int64_t now)
{
    struct notice *notice;
    while ((notice = turn_thread_next(self->thread))) {
        handle_notice(self, notice);
        free(notice);
        schedule_paint(self, self->painted_ms + PAINT_MS);
    }
    switch (turn_thread_state(self->thread)) {
    case TURN_THREAD_WORKS:
        break;
    case TURN_THREAD_ASKS:
        if (self->asks)
            break;
        self->asks = true;
        self->key_ms = now;
        schedule_paint(self, 0);
        break;
    case TURN_THREAD_PROGRAM:
        turn_thread_answer(self->thread, run_program(self, turn_thread_program(self->thread)));
        break;
    case TURN_THREAD_IDLE:
        if (self->works)
            end_work(self, now);
        schedule_paint(self, 0);
        break;
    }
}

/* ---- the loop ---------------------------------------------------------------------------------- */

static int poll_wait_ms(const struct live *self, int64_t now)
{
    int64_t when = self->resize_ms ? self->resize_ms : self->paint_ms;
    if (self->probing)
        when = clock_earlier(self->began_ms + PROBE_MS, INT64_MAX);
    int keys = keys_wait(&self->keys, now);
    int64_t wait = when == INT64_MAX ? INT64_MAX : when > now ? when - now : 0;
    if (keys >= 0)
        wait = clock_earlier(wait, keys);
    return wait == INT64_MAX ? -1 : (int)clock_earlier(wait, 3600000);
}

static void handle_deadlines(struct live *self, int64_t now)
{
    keys_expire(&self->keys, now);
    if (self->probing && now - self->began_ms >= PROBE_MS)
        self->probing = false;
    if (self->resize_ms && now >= self->resize_ms) {
        update_size(self, tty_rewraps());
        schedule_paint(self, 0);
    }
    if (!self->probing && !self->resize_ms && now >= self->paint_ms)
        paint_screen(self, now);
}

static bool is_running(const struct live *self)
{
    return !self->screen.gone && (!self->leaving || self->works);
}

static void run_live_loop(struct live *self)
{
    struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0},
                           {self->signals, POLLIN, 0},
                           {turn_thread_wake_fd(self->thread), POLLIN, 0}};
    while (is_running(self)) {
        os_poll(fds, 3, poll_wait_ms(self, os_monotonic_ms()));
        if (fds[1].revents)
            read_signals(self, false);
        if (fds[0].revents)
            read_keys(self);
        if (fds[2].revents)
            handle_notices(self, os_monotonic_ms());
        handle_deadlines(self, os_monotonic_ms());
    }
}

static bool has_color(const struct surface_start *start)
{
    const char *no_color = getenv("NO_COLOR");
    return start->color == 1 || (start->color == 0 && !(no_color && *no_color));
}

static void show_greeting(struct live *self)
{
    const struct conversation_choice *choice = &self->talk->choice;
    struct str line;
    if (self->talk->start->quiet)
        return;
    str_init(&line, LIVE_MAX_SHOWN);
    str_printf(&line, "%s, %s/%s, conversation %.8s; /help lists the commands", choice->personality,
               choice->model->provider, choice->model->name, choice->session);
    live_screen_line(&self->screen, TALK_DIM, str_view(&line));
    str_release(&line);
}

/* The folder's name, as far as a title can show it. */
static void set_title(struct live *self)
{
    struct str title, safe;
    const char *slash = strrchr(self->talk->choice.folder, '/');
    str_init(&title, MAX_STATUS);
    str_init(&safe, MAX_STATUS);
    line_collapse(view_str(slash ? slash + 1 : ""), &title);
    terminal_escape(str_view(&title), &safe);
    str_clear(&title);
    str_printf(&title, "\033]2;ethos %s\a", safe.data);
    if (str_code(&title) == ETHOS_OK && str_code(&safe) == ETHOS_OK)
        tty_write(str_view(&title));
    str_release(&title);
    str_release(&safe);
}

static int open_signals(struct live *self, sigset_t *before, struct ethos_error *error)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&signals, numbers[i]);
    sigprocmask(SIG_BLOCK, &signals, before);
    self->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return self->signals >= 0 ? ETHOS_OK : err_errno(error, errno, "signals");
}

static void add_history_message(void *arg, struct ethos_view message)
{
    struct live *self = arg;
    edit_add_history(&self->edit, message);
}

static int begin_live(struct live *self, sigset_t *before, struct ethos_error *error)
{
    struct ethos_error history = {0};
    int code = open_signals(self, before, error);
    if (code != ETHOS_OK)
        return code;
    self->thread = turn_thread_start(self->talk, keys_help, error);
    if (!self->thread)
        return error->code;
    self->bell = !self->talk->start->quiet && talk_setting_is(self->talk, "chat.bell", "on");
    bool title = talk_setting_is(self->talk, "chat.title", "on");
    if (tty_enter() != 0)
        return err_errno(error, errno, "the terminal");
    if (title)
        set_title(self);
    const struct conversation_choice *choice = &self->talk->choice;
    if (!self->talk->start->dry_run &&
        input_history_open(choice->ethos, choice->folder, &self->history, add_history_message, self,
                           &history) != ETHOS_OK)
        live_screen_line(&self->screen, TALK_FAILED, view_str(history.text));
    self->began_ms = os_monotonic_ms();
    self->probing = tty_write(view_str(probe_question));
    show_greeting(self);
    schedule_paint(self, 0);
    return ETHOS_OK;
}

static void release_live(struct live *self)
{
    while (self->queued_count > 0)
        drop_first_queued(self);
    input_history_close(&self->history);
    live_screen_clear(&self->screen);
    tty_leave();
    turn_thread_stop(self->thread);
    edit_release(&self->edit);
    keys_release(&self->keys);
    live_screen_close(&self->screen);
    str_release(&self->doing);
    str_release(&self->status);
    if (self->signals >= 0)
        os_close(self->signals);
}

int chat_live(struct chat_talk *talk, struct ethos_error *error)
{
    struct live self = {.talk = talk, .signals = -1, .history.folder = -1, .paint_ms = INT64_MAX};
    sigset_t before;
    sigprocmask(SIG_SETMASK, NULL, &before);
    str_init(&self.doing, MAX_STATUS);
    str_init(&self.status, MAX_STATUS);
    live_screen_open(&self.screen, has_color(talk->start),
                     !talk_setting_is(talk, "chat.wrap", "off"));
    edit_init(&self.edit, live_screen_input_columns(&self.screen), &self.screen.widths);
    keys_init(&self.keys, getenv("SSH_CONNECTION") != NULL, handle_key, &self);
    int code = begin_live(&self, &before, error);
    if (code == ETHOS_OK)
        run_live_loop(&self);
    release_live(&self);
    if (self.ended_by)
        raise(self.ended_by);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}

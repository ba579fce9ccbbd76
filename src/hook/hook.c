/*
 * hook.c: standard input and output of a hook, and its deadline.
 */
#include "hook/hook.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "ops/sessions/hooks.h"

static const char *argument_text(const json_t *args, const char *name)
{
    return json_string_value(json_object_get(args, name));
}

bool hook_elsewhere(const json_t *args)
{
    return op_hook_is_recorded(argument_text(args, "agent"), argument_text(args, "event"));
}

/* ---- the deadline ---------------------------------------------------------------------------- */

/* What was to be recorded is in the spool; being killed loses nothing. */
static void on_deadline(int signal)
{
    (void)signal;
    (void)!write(STDOUT_FILENO, HOOK_NOTHING, sizeof HOOK_NOTHING - 1);
    _exit(0);
}

static void set_deadline(void)
{
    const struct sigaction action = {.sa_handler = on_deadline};
    const struct itimerval timer = {
        .it_value = {HOOK_DEADLINE_MS / 1000, HOOK_DEADLINE_MS % 1000 * 1000}};
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGALRM, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* From here on there is an answer. */
static void lift_deadline(void)
{
    signal(SIGALRM, SIG_IGN);
}

/* ---- the input ------------------------------------------------------------------------------- */

#define PIECE 16384   /* bytes read at a time */
#define SILENCE_MS 20 /* after the end of an object, which is the end then */

static bool is_ended(const struct str *input)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    struct ethos_view text = view_trim_end(str_view(input));
    return text.size > 0 && text.data[text.size - 1] == '}' && poll(&in, 1, SILENCE_MS) == 0;
}

/* To its end; or to that of an object after which nothing comes: some leave the pipe open. */
static int read_hook_input(struct str *out, struct ethos_error *error)
{
    char piece[PIECE];
    ssize_t got;
    do {
        got = os_read(STDIN_FILENO, piece, sizeof piece);
        if (got < 0)
            return err_errno(error, errno, "standard input");
        if (str_add(out, view_of(piece, (size_t)got)))
            return err_set(error, str_code(out), "standard input: too large");
    } while (got > 0 && !is_ended(out));
    return ETHOS_OK;
}

/* ---- the event ------------------------------------------------------------------------------- */

/* How an event is run: at first as far as this program can, and again by one that has the session store. */
enum { FIRST, AGAIN };

static int run_hook(const struct surface_start *start, struct ethos_view input, int pass,
                    struct op_result *result, struct ethos_error *error)
{
    const char *agent = argument_text(start->args, "agent"),
               *event = argument_text(start->args, "event");
    struct ethos_options options = *start->options;
    struct op_call call = {.request = start->request, .dry_run = start->dry_run, .via = "hook"};
    options.brief = 1;
    options.host = NULL; // silence
    json_t *args = json_pack("{s:s*, s:s*, s:o, s:b, s:b}", "agent", agent, "event", event, "input",
                             json_text(input), "tries", pass == FIRST, "noted", pass == AGAIN);
    int code = args ? ethos_open(&options, &call.ethos, error) : err_nomem(error);
    call.args = args;
    if (code == ETHOS_OK)
        code = op_run(op_find("hooks.run"), &call, result, error);
    ethos_close(call.ethos);
    json_decref(args);
    return code;
}

/* Returns when the other program is not to be had. */
static void exec_db_program(const struct surface_start *start, struct ethos_view input)
{
    int fd = memfd_create("ethos-hook", 0);
    if (fd >= 0 && os_write_all(fd, input.data, input.size) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
        start->hand_over)
        start->hand_over(start->hand_over_arg, fd, NULL);
    if (fd >= 0)
        os_close(fd);
}

static int run_event(const struct surface_start *start, struct ethos_view input,
                     struct op_result *result, struct ethos_error *error)
{
    bool handed = start->state >= 0;
    int code = run_hook(start, input, handed ? AGAIN : FIRST, result, error);
    if (code != ETHOS_UNSUPPORTED || handed ||
        op_hook_is_recorded(argument_text(start->args, "agent"),
                            argument_text(start->args, "event")))
        return code; // what was said waits in the spool
    exec_db_program(start, input);
    op_result_release(result);
    op_result_init(result);
    return run_hook(start, input, AGAIN, result, error);
}

static void debug(const struct ethos_error *error)
{
    const char *value = getenv("ETHOS_DEBUG");
    if (value && *value)
        fprintf(stderr, "ethos hook: %s\n", error->text);
}

int hook_serve(const struct surface_start *start, struct ethos_error *error)
{
    struct op_result result;
    struct str input;
    set_deadline();
    op_result_init(&result);
    str_init(&input, ETHOS_MAX_INPUT_BYTES);
    int code = start->state >= 0 ? file_read(start->state, "the prompt", ETHOS_MAX_INPUT_BYTES,
                                             &input, NULL, error)
                                 : read_hook_input(&input, error);
    if (code == ETHOS_OK)
        code = run_event(start, str_view(&input), &result, error);
    lift_deadline();
    if (code == ETHOS_OK && result.has_text) {
        os_write_all(STDOUT_FILENO, result.text.data, result.text.size);
    } else {
        debug(error);
        os_write_all(STDOUT_FILENO, HOOK_NOTHING, sizeof HOOK_NOTHING - 1);
    }
    str_release(&input);
    op_result_release(&result);
    return ETHOS_OK;
}

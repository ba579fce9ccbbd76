/*
 * stdio.c: ethos mcp: one connection on standard input and output.
 *
 * Nothing but messages goes to standard output; what happens is told on standard error. It ends with
 * its input, with a reader that is gone, and with a signal, which waits for the operation at hand, but not
 * for a backend: so throwaway memory is always thrown away. While a backend is waited for, requests that need
 * none are answered. Where this program lacks an operation, it becomes the one
 * that has it, and the connection goes on there (handover.c).
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ethos/provider.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "mcp/internal.h"
#include "ops/shared_handles.h"
#include "ops/shutdown.h"

#define CHUNK 65536       /* bytes read at once */
#define AHEAD (CHUNK * 8) /* bytes of input taken while a request runs */
#define LOOK_MS 1         /* nobody cancels so soon what he has just asked */
#define MOST_WAITED 32    /* descriptors of one wait for a backend */
#define HURRY_MS 800      /* for a backend, where an error is better than waiting */

struct stdio_server {
    struct mcp mcp;
    struct mcp_stream stream;
    struct str out;
    struct str early; /* answers to send while a backend is waited for */
    const struct surface_start *given;
    struct ethos_host host; /* the caller's, with our log */
    struct ethos_options options;
    struct ethos *ethos;       /* NULL until an operation needs it */
    struct ethos_error absent; /* why an operation that is not here cannot be had */
    bool ended;                /* no more input */
    int64_t looked_ms;         /* when the input was last looked at, and there was no more */
    char team[ETHOS_MAX_SCOPE];
    char chunk[CHUNK];
};

/* ---- signals --------------------------------------------------------------------------------- */

static const int ending[] = {SIGTERM, SIGINT, SIGHUP};
#define ENDING (sizeof ending / sizeof *ending)

/*
 * One that comes while we wait for the client ends the wait by a jump out of the system call, one that comes
 * while we wait for a backend makes the bell readable; any other is looked for then.
 */
static struct {
    volatile sig_atomic_t came, waiting;
    int bell;
    sigjmp_buf away;
    struct sigaction before[ENDING];
} signals;

static void take_signal(int number)
{
    const uint64_t one = 1;
    int before = errno;
    signals.came = number;
    if (signals.waiting)
        siglongjmp(signals.away, 1);
    shutdown_after(number, SHUTDOWN_SECONDS);
    (void)!os_write(signals.bell, &one, sizeof one);
    errno = before;
}

/* Those that are ignored stay so. */
static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART};
    signals.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (size_t i = 0; i < ENDING; i++) {
        sigaction(ending[i], NULL, &signals.before[i]);
        if (signals.before[i].sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
    }
}

/* The one that came does its work now. */
static void close_signals(void)
{
    for (size_t i = 0; i < ENDING; i++)
        sigaction(ending[i], &signals.before[i], NULL);
    if (signals.bell >= 0)
        os_close(signals.bell);
    if (signals.came)
        raise(signals.came);
}

static op_wait_fn wait_for_backend;

/* ---- operations ------------------------------------------------------------------------------ */

/* What a client asks without being asked itself must not keep it waiting for a backend that is away. */
static int open_memory(struct stdio_server *self, struct op_call *call, struct ethos_error *error)
{
    int code = self->ethos ? ETHOS_OK : ethos_open(&self->options, &self->ethos, error);
    if (code == ETHOS_OK)
        op_set_wait(self->ethos, wait_for_backend, self);
    if (code == ETHOS_OK)
        op_limit_calls(self->ethos, call->hurried ? HURRY_MS : 0);
    call->ethos = self->ethos;
    return code;
}

static int run_operation_for(void *arg, const struct op *op, struct op_call *call,
                             struct op_result *result, struct ethos_error *error)
{
    struct stdio_server *self = arg;
    if (!op_is_in_program(op)) {
        *error = self->absent;
        return error->code;
    }
    int code = open_memory(self, call, error);
    call->request = self->given->request;
    call->dry_run = self->given->dry_run;
    return code == ETHOS_OK ? op_run_as(op, self->mcp.rights, call, result, error) : code;
}

static bool can_repeat(void *arg, const struct op_validator *again)
{
    return op_validator_holds(again, ((struct stdio_server *)arg)->ethos);
}

static void *resize_block(void *arg, void *block, size_t size)
{
    const struct ethos_host *outer = ((struct stdio_server *)arg)->given->options->host;
    return outer->resize(outer->arg, block, size);
}

static int64_t clock_ms(void *arg)
{
    const struct ethos_host *outer = ((struct stdio_server *)arg)->given->options->host;
    return outer->now_ms(outer->arg);
}

static void log_both(void *arg, enum ethos_level level, const char *line)
{
    struct stdio_server *self = arg;
    const struct ethos_host *outer = self->given->options->host;
    outer->log(outer->arg, level, line);
    mcp_log(&self->stream.session, level, line);
}

/* ---- input and output ------------------------------------------------------------------------ */

/* Whether a call that somebody has forbidden to wait may be tried again. */
static bool is_ready(int fd, short events)
{
    struct pollfd wanted = {fd, events, 0};
    return errno == EAGAIN && os_poll(&wanted, 1, -1) > 0;
}

/* Takes what is there; one who waits for it can be interrupted. False: there will be no more. */
static bool read_input_now(struct stdio_server *self, bool waits)
{
    ssize_t size = -1;
    signals.waiting = waits;
    while (!(waits && signals.came) &&
           (size = os_read(STDIN_FILENO, self->chunk, sizeof self->chunk)) < 0 &&
           is_ready(STDIN_FILENO, POLLIN))
        ;
    signals.waiting = 0;
    if (size < CHUNK)
        self->looked_ms = os_monotonic_ms();
    self->ended = size <= 0 ||
                  mcp_stream_add(&self->stream, (struct ethos_view){self->chunk, (size_t)size}) !=
                      ETHOS_OK;
    return !self->ended;
}

/* Called before a request runs, and before its answer is sent: it may have been cancelled meanwhile. */
static void peek_input(void *arg)
{
    struct stdio_server *self = arg;
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    if (os_monotonic_ms() - self->looked_ms <= LOOK_MS)
        return;
    while (!self->ended && self->stream.in.size - self->stream.at < AHEAD &&
           os_poll(&in, 1, 0) > 0 && read_input_now(self, false))
        ;
}

/* False: nobody reads any more, or a signal came. */
static bool write_output(struct str *out, bool can_jump)
{
    size_t at = 0;
    signals.waiting = can_jump;
    while (at < out->size && !signals.came) {
        ssize_t size = os_write(STDOUT_FILENO, out->data + at, out->size - at);
        if (size < 0 && !is_ready(STDOUT_FILENO, POLLOUT))
            break;
        at += size < 0 ? 0 : (size_t)size;
    }
    signals.waiting = 0;
    bool whole = at == out->size;
    str_clear(out);
    return whole;
}

static bool write_out(struct stdio_server *self)
{
    return write_output(&self->out, true);
}

/* ---- while a backend is waited for ---------------------------------------------------------------- */

/* What has come is read, and what need not wait answered. -1 and errno: a signal came. */
static int wait_for_backend(void *arg, struct pollfd *fds, unsigned long count, int timeout_ms)
{
    struct stdio_server *self = arg;
    struct pollfd all[MOST_WAITED + 2];
    int64_t until = os_monotonic_ms() + timeout_ms;
    if (count > MOST_WAITED)
        return os_poll(fds, count, timeout_ms);
    for (;;) {
        mcp_stream_early(&self->stream, &self->early);
        write_output(&self->early, false); // the caller is in the middle of something
        bool reads = !self->ended && self->stream.in.size - self->stream.at < AHEAD;
        int64_t left = until - os_monotonic_ms();
        all[0] = (struct pollfd){signals.bell, POLLIN, 0};
        all[1] = (struct pollfd){reads ? STDIN_FILENO : -1, POLLIN, 0};
        if (count > 0)
            memcpy(all + 2, fds, count * sizeof *fds);
        int ready = os_poll(all, count + 2, left > 0 ? (int)left : 0);
        if (signals.came) {
            errno = EINTR;
            return -1;
        }
        if (ready > 0 && all[1].revents)
            read_input_now(self, false);
        int own = 0;
        for (unsigned long i = 0; i < count; i++) {
            fds[i].revents = all[i + 2].revents;
            own += fds[i].revents != 0;
        }
        if (ready < 0 || own > 0 || left <= 0)
            return ready < 0 ? ready : own;
    }
}

static void serve_until_end(struct stdio_server *self)
{
    for (;;) {
        while (!signals.came && mcp_stream_next(&self->stream, self->ended, &self->out))
            if (!write_out(self))
                return;
        if (signals.came || self->ended)
            return;
        read_input_now(self, true);
    }
}

/* ---- going on elsewhere ---------------------------------------------------------------------- */

static void become_db_program(struct stdio_server *self)
{
    int state = mcp_state_save(&self->stream, self->ended);
    if (state < 0) {
        err_errno(&self->absent, errno, "handing over");
        return;
    }
    mcp_answer_cache_clear(self->stream.session.kept);
    ethos_close(self->ethos);
    self->ethos = NULL; // a jump out of what follows finds nothing to be done
    signals.waiting = 1;
    if (!signals.came)
        self->given->hand_over(self->given->hand_over_arg, state, &self->absent);
    signals.waiting = 0;
    os_close(state);
}

/* What was answered so far goes out before. */
static void elsewhere(void *arg)
{
    struct stdio_server *self = arg;
    if (write_out(self))
        become_db_program(self);
}

/* Throwaway memory cannot be handed over: who has any begins where all operations are. */
static void begin_elsewhere(struct stdio_server *self)
{
    if (self->options.ephemeral && !op_is_in_program(op_find("sessions.search")))
        become_db_program(self);
}

/* ---- starting -------------------------------------------------------------------------------- */

/* --read-only and --scope narrow; together they leave what both allow. */
static unsigned chosen_rights(const json_t *args)
{
    unsigned rights = json_is_true(json_object_get(args, "readOnly")) ? OP_RIGHTS_READ
                                                                      : OP_RIGHTS_AGENT;
    const json_t *names = json_object_get(args, "scope");
    unsigned named = 0;
    size_t index;
    json_t *name;
    json_array_foreach (names, index, name) {
        enum op_right right;
        if (op_right_parse((struct ethos_view){json_string_value(name), json_string_length(name)},
                           &right))
            named |= OP_RIGHT(right);
    }
    return names ? rights & named : rights;
}

static int start_server(struct stdio_server *self, const struct surface_start *given,
                        struct ethos_error *error)
{
    const char *team = json_string_value(json_object_get(given->args, "team"));
    self->given = given;
    self->host = (struct ethos_host){ETHOS_ABI, self, resize_block, log_both, clock_ms};
    self->options = *given->options;
    self->options.host = &self->host;
    self->mcp = (struct mcp){.rights = chosen_rights(given->args),
                             .run = run_operation_for,
                             .run_arg = self,
                             .elsewhere = elsewhere,
                             .holds = can_repeat};
    mcp_stream_init(&self->stream, &self->mcp);
    self->stream.more = peek_input;
    self->stream.more_arg = self;
    str_init(&self->out, 2 * (size_t)MCP_MAX_REPLY);
    str_init(&self->early, 2 * (size_t)MCP_MAX_REPLY);
    int code = team ? op_team_scope(team, self->team, error) : ETHOS_OK;
    if (team)
        self->mcp.team = self->team;
    if (code == ETHOS_OK && given->state >= 0)
        code = mcp_state_load(&self->stream, given->state, &self->ended, error);
    return code;
}

int mcp_serve(const struct surface_start *given, struct ethos_error *error)
{
    static struct stdio_server self; // one process, one connection; too large for a stack
    if (mcp_check(error) != ETHOS_OK)
        return ETHOS_INTERNAL;
    int code = start_server(&self, given, error);
    if (code == ETHOS_OK) {
        watch_signals();
        if (sigsetjmp(signals.away, 1) == 0) {
            begin_elsewhere(&self);
            serve_until_end(&self);
        }
        signals.waiting = 0;
        ethos_close(self.ethos);
        close_signals();
    }
    str_release(&self.out);
    str_release(&self.early);
    mcp_stream_release(&self.stream);
    return code;
}

/*
 * stdio.c: ethos mcp: one connection on standard input and output.
 *
 * Nothing but messages goes to standard output; what happens is told on standard error. It ends with
 * its input, with a reader that is gone, and with a signal, which waits for the operation at hand: so
 * throwaway memory is always thrown away. Signals are held back and waited for like the others, by a
 * descriptor; the one that came does its work when they are let through again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <ethos/provider.h>

#include "base/err.h"
#include "base/json.h"
#include "base/os.h"
#include "mcp/parts.h"

#define CHUNK 65536       /* bytes read at once */
#define PIECE 4096        /* bytes that a descriptor ready for writing takes without waiting */
#define AHEAD (CHUNK * 8) /* bytes of input taken while a request runs */

struct server {
    struct mcp mcp;
    struct mcp_stream stream;
    struct str out;
    struct ethos_host host; /* the caller's, with our log */
    struct ethos_options options;
    const struct ethos_host *outer;
    const struct ethos_request *request;
    bool dry_run;
    struct ethos *ethos; /* NULL until an operation needs it */
    int signals;         /* readable when one has come */
    bool ended;          /* no more input */
    bool fresh;          /* the input was just taken, all there was */
    bool writable;       /* the output takes a piece without waiting */
    char team[ETHOS_MAX_SCOPE];
    char chunk[CHUNK];
};

/* ---- operations ------------------------------------------------------------------------------ */

static int run(void *arg, const struct op *op, struct op_call *call, struct op_result *result,
               struct ethos_error *error)
{
    struct server *self = arg;
    int code = self->ethos ? ETHOS_OK : ethos_open(&self->options, &self->ethos, error);
    call->ethos = self->ethos;
    call->request = self->request;
    call->dry_run = self->dry_run;
    return code == ETHOS_OK ? op_run_as(op, self->mcp.rights, call, result, error) : code;
}

static void *resize(void *arg, void *block, size_t size)
{
    const struct server *self = arg;
    return self->outer->resize(self->outer->arg, block, size);
}

static int64_t now_ms(void *arg)
{
    const struct server *self = arg;
    return self->outer->now_ms(self->outer->arg);
}

static void log_both(void *arg, enum ethos_level level, const char *line)
{
    struct server *self = arg;
    self->outer->log(self->outer->arg, level, line);
    mcp_log(&self->stream.session, level, line);
}

/* ---- input and output ------------------------------------------------------------------------ */

/* Waits until a descriptor is ready; 0: it is not (yet), -1: a signal wants us to end. */
static int wait_for(const struct server *self, int fd, short events, int timeout_ms)
{
    struct pollfd fds[] = {{fd, events, 0}, {self->signals, POLLIN, 0}};
    int ready;
    do
        ready = poll(fds, 2, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready < 0 || fds[1].revents ? -1 : fds[0].revents ? 1 : 0;
}

/* Takes what is there. False: there will be no more. */
static bool take_input(struct server *self)
{
    ssize_t size = os_read(STDIN_FILENO, self->chunk, sizeof self->chunk);
    self->fresh = size < (ssize_t)sizeof self->chunk;
    if (size > 0 &&
        mcp_stream_add(&self->stream, (struct ethos_view){self->chunk, (size_t)size}) == ETHOS_OK)
        return true;
    self->ended = true;
    return false;
}

/* Whether there is more input; whether the answer can be written is found out by the way. */
static bool has_input(struct server *self)
{
    struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {STDOUT_FILENO, POLLOUT, 0}};
    bool told = poll(fds, 2, 0) > 0;
    self->writable = told && fds[1].revents == POLLOUT;
    return told && fds[0].revents;
}

/* Called before a request runs, and before its answer is sent: it may have been cancelled meanwhile. */
static void peek_input(void *arg)
{
    struct server *self = arg;
    bool fresh = self->fresh;
    self->fresh = false;
    while (!fresh && !self->ended && self->stream.in.size - self->stream.at < AHEAD &&
           has_input(self) && take_input(self))
        ;
}

/* False: nobody reads any more, or a signal came. */
static bool write_out(struct server *self)
{
    size_t at = 0;
    while (at < self->out.size) {
        size_t left = self->out.size - at;
        if (!self->writable && wait_for(self, STDOUT_FILENO, POLLOUT, -1) < 0)
            return false;
        self->writable = false;
        ssize_t size = os_write(STDOUT_FILENO, self->out.data + at, left < PIECE ? left : PIECE);
        if (size < 0)
            return false;
        at += (size_t)size;
    }
    str_clear(&self->out);
    return true;
}

/* A signal is looked for before the next request, whether that is here or waited for. */
static void serve(struct server *self)
{
    for (;;) {
        while (mcp_stream_next(&self->stream, self->ended, &self->out))
            if (!write_out(self) || (self->stream.at < self->stream.in.size &&
                                     wait_for(self, self->signals, POLLIN, 0) != 0))
                return;
        if (self->ended || wait_for(self, STDIN_FILENO, POLLIN, -1) < 0)
            return;
        take_input(self);
    }
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

static int open_signals(struct server *self, sigset_t *before, struct ethos_error *error)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, before);
    self->signals = signalfd(-1, &signals, SFD_CLOEXEC);
    return self->signals < 0 ? err_errno(error, errno, "signals") : ETHOS_OK;
}

static int start(struct server *self, const struct surface_start *given, struct ethos_error *error)
{
    const char *team = json_string_value(json_object_get(given->args, "team"));
    self->outer = given->options->host;
    self->host = (struct ethos_host){ETHOS_ABI, self, resize, log_both, now_ms};
    self->options = *given->options;
    self->options.host = &self->host;
    self->request = given->request;
    self->dry_run = given->dry_run;
    self->mcp = (struct mcp){.rights = chosen_rights(given->args), .run = run, .run_arg = self};
    int code = team ? op_team_scope(team, self->team, error) : ETHOS_OK;
    if (team)
        self->mcp.team = self->team;
    return code;
}

int mcp_serve(const struct surface_start *given, struct ethos_error *error)
{
    static struct server self; // one process, one connection; too large for a stack
    sigset_t before;
    int code = start(&self, given, error);
    if (code == ETHOS_OK)
        code = open_signals(&self, &before, error);
    if (code != ETHOS_OK)
        return code;
    mcp_stream_init(&self.stream, &self.mcp);
    self.stream.more = peek_input;
    self.stream.more_arg = &self;
    str_init(&self.out, 2 * (size_t)MCP_MAX_REPLY);
    serve(&self);
    ethos_close(self.ethos);
    str_release(&self.out);
    mcp_stream_release(&self.stream);
    os_close(self.signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return ETHOS_OK;
}

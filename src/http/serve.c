/*
 * serve.c: ethos serve: settings, the link that is printed, the loop of the first thread, the end.
 *
 * This thread takes connections, wakes streams, ends those whose peers have closed and keeps the time; it
 * answers nothing itself. Streams are
 * woken together: the more there are, the longer a wake waits for others to join it.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "http/handlers/stable_calls.h"
#include "http/listen.h"
#include "http/server.h"
#include "http/turns.h"
#include "ops/shared_handles.h"
#include "ops/shutdown.h"

#define REQUESTS_SECONDS 20 /* for those that are under way at the end */
#define TICK_MS 1000
#define RING_MS 4       /* between two rings, with few streams */
#define RING_STREAMS 12 /* so many more of them: a millisecond more */
#define FULL_MS 50      /* before the next try when no descriptor is left */
#define ANY_PORT_TRIES 8
#define MAX_FILES 65536
#define OWN_FILES 24 /* of the server itself */
#define MIN_FILES 32 /* with fewer it does not start, or has no room for a page */
#define WISHED_FILES 1024
#define URL_SIZE 320      /* bytes of the server's address, with terminator */
#define WORKER_FILES 8    /* that a worker has open at once, more or less */
#define LARGE_TEXT 131072 /* bytes, for which memory is had from the system and goes back to it */

struct serve {
    struct http http;
    bool full; /* no descriptor was left, and that was told */
    struct listeners sockets;
    int signals;
    unsigned max_turns;
    char hosts[2048], origins[4096]; /* of http.rules */
};

/* ---- settings ------------------------------------------------------------------------------------------ */

/* A setting of the home as text; "" when it is not set. */
static int read_setting(struct ethos *ethos, const char *key, char *out, size_t size,
                        struct ethos_error *error)
{
    struct op_result result;
    json_t *args = json_pack("{s:s}", "key", key);
    struct op_call call = {.ethos = ethos, .args = args, .want_json = true};
    op_result_init(&result);
    int code = op_run(op_find("config.get"), &call, &result, error);
    struct ethos_view value = json_view(result.json, "value");
    if (code == ETHOS_OK && value.size >= size)
        code = err_set(error, ETHOS_LIMIT, "%s: longer than %zu bytes", key, size - 1);
    else
        snprintf(out, size, "%.*s", (int)value.size, value.data ? value.data : "");
    op_result_release(&result);
    json_decref(args);
    return code;
}

static int read_serve_settings(struct serve *self, const json_t *args, struct ethos_error *error)
{
    char port[16] = "", turns[16] = "";
    struct ethos *ethos;
    const json_t *given = json_object_get(args, "port");
    int code = http_open(&self->http, &ethos, error);
    if (code != ETHOS_OK)
        return code;
    code = read_setting(ethos, "serve.hosts", self->hosts, sizeof self->hosts / 2, error);
    if (code == ETHOS_OK)
        code = read_setting(ethos, "serve.origins", self->origins, sizeof self->origins, error);
    if (code == ETHOS_OK)
        code = read_setting(ethos, "serve.port", port, sizeof port, error);
    if (code == ETHOS_OK)
        code = read_setting(ethos, "serve.turns", turns, sizeof turns, error);
    self->max_turns = (unsigned)strtoul(turns, NULL, 10);
    self->sockets.port = given ? (unsigned)json_integer_value(given)
                               : (unsigned)strtoul(port, NULL, 10);
    ethos_close(ethos);
    return code;
}

/* ---- addresses ------------------------------------------------------------------------------------------- */

/* An address that was asked for is a name of ours; in brackets when it has colons. */
static void add_own_name(struct serve *self, const char *host)
{
    size_t size = strlen(self->hosts);
    bool v6 = strchr(host, ':') != NULL;
    snprintf(self->hosts + size, sizeof self->hosts - size, ",%s%s%s", v6 ? "[" : "", host,
             v6 ? "]" : "");
}

static int add_hosts(struct serve *self, const json_t *hosts, struct ethos_error *error)
{
    size_t index;
    json_t *host;
    int code = ETHOS_OK;
    if (!hosts) {
        code = listen_add(&self->sockets, "127.0.0.1", false, error);
        return code == ETHOS_OK ? listen_add(&self->sockets, "::1", true, error) : code;
    }
    json_array_foreach (hosts, index, host) {
        code = listen_add(&self->sockets, json_string_value(host), false, error);
        if (code != ETHOS_OK)
            return code;
        add_own_name(self, json_string_value(host));
    }
    return ETHOS_OK;
}

/* Where a server of this home says that it is, and is. */
static bool find_running(struct login *login, char *url, size_t size)
{
    long pid = 0;
    return login_server(login, url, size, &pid, NULL) == ETHOS_OK && pid > 0 &&
           (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* Whoever starts a second server mostly looks for the first one. */
static int tell_running(const struct serve *self, int code, struct ethos_error *error)
{
    char url[URL_SIZE];
    struct login *login;
    const char *colon;
    if (login_open(self->http.options.home, &login, NULL) != ETHOS_OK)
        return code;
    bool running = find_running(login, url, sizeof url) && (colon = strrchr(url, ':')) &&
                   strtoul(colon + 1, NULL, 10) == self->sockets.port;
    login_close(login);
    if (!running)
        return code;
    err_set(error, code, "a server of this home is running on port %u", self->sockets.port);
    return err_hint(error, code, "ethos serve --link prints a link that signs a browser in");
}

/* A port that is free here may be taken there: then another is tried. */
static int open_sockets(struct serve *self, const json_t *args, struct ethos_error *error)
{
    bool any = self->sockets.port == 0;
    int code = ETHOS_BUSY;
    for (int i = 0; code == ETHOS_BUSY && i < (any ? ANY_PORT_TRIES : 1); i++) {
        if (any)
            self->sockets.port = 0;
        code = add_hosts(self, json_object_get(args, "host"), error);
        if (code != ETHOS_OK)
            listen_close(&self->sockets);
    }
    if (code == ETHOS_BUSY && !any)
        code = tell_running(self, code, error);
    self->http.rules = (struct gate_rules){self->sockets.port, self->hosts, self->origins};
    return code;
}

/* Other machines are let in by key; without one nobody could be told from anybody. */
static int check_open(struct serve *self, struct ethos_error *error)
{
    if (!self->sockets.open || auth_has_keys(self->http.auth))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_DENIED,
                       "without an API key, only this machine may connect (no --host)");
    return err_hint(error, code, "first: ethos api-key create NAME --scope memory:read");
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

static int open_signal_fd(struct serve *self, struct ethos_error *error)
{
    self->signals = shutdown_catch_signals();
    self->http.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return self->signals < 0 || self->http.bell < 0 ? err_errno(error, errno, "signals") : ETHOS_OK;
}

static unsigned smaller(rlim_t a, unsigned b)
{
    return a < b ? (unsigned)a : b;
}

/*
 * A stream is a descriptor, and a thousand of them are more than one gets without asking. If one does not
 * get them, half are for connections: who takes all of those has not taken what reads and writes need.
 */
static int share_files(struct http *http, struct ethos_error *error)
{
    struct rlimit files = {MAX_FILES, MAX_FILES};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = smaller(files.rlim_max, MAX_FILES);
        setrlimit(RLIMIT_NOFILE, &files);
    }
    rlim_t free = files.rlim_cur > OWN_FILES ? files.rlim_cur - OWN_FILES : 0;
    http->max_connections = smaller(free / 2, HTTP_MAX_CONNECTIONS);
    http->max_workers = smaller(free / (4 * WORKER_FILES) + 1, HTTP_WORKERS);
    if (files.rlim_cur >= MIN_FILES)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_LIMIT, "the limit of %u open files is too low for a server",
                       (unsigned)files.rlim_cur);
    return err_hint(error, code, "raise the limit: ulimit -n %d", WISHED_FILES);
}

/*
 * Left alone, malloc learns from the first large text that such ones come again, and each thread keeps the
 * room of the largest it has had: many threads, much memory that nobody uses.
 */
static void give_memory_back(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, LARGE_TEXT);
    mallopt(M_TRIM_THRESHOLD, LARGE_TEXT);
#endif
}

static int start_parts(struct serve *self, const json_t *args, struct ethos_error *error)
{
    struct http *http = &self->http;
    give_memory_back();
    int code = shapes_check(error);
    if (code == ETHOS_OK)
        code = shared_handles_new(&http->share, error);
    if (code == ETHOS_OK)
        code = seats_new(http, &http->seats, error);
    if (code == ETHOS_OK)
        code = read_serve_settings(self, args, error);
    if (code == ETHOS_OK)
        code = auth_open(http, &http->auth, error);
    if (code == ETHOS_OK)
        code = open_sockets(self, args, error);
    if (code == ETHOS_OK)
        code = check_open(self, error);
    if (code == ETHOS_OK)
        code = open_signal_fd(self, error);
    if (code == ETHOS_OK)
        code = workers_new(http->max_workers, HTTP_MAX_JOBS, &http->workers, error);
    if (code == ETHOS_OK)
        code = events_start(http, &http->events, error);
    if (code == ETHOS_OK)
        code = turns_new(http, self->max_turns, &http->turns, error);
    http->chat = turns_chat(http->turns);
    return code == ETHOS_OK ? server_start(http, &http->server, error) : code;
}

/* In this order: who may use another ends before it. */
static void stop(struct serve *self)
{
    struct http *http = &self->http;
    listen_close(&self->sockets);
    server_finish(http->server);
    if (shutdown_signal())
        shutdown_after(shutdown_signal(),
                       SHUTDOWN_SECONDS); // who waits for a backend now does so for nobody
    workers_end(http->workers);
    server_free(http->server);
    turns_free(http->turns);
    events_stop(http->events);
    workers_free(http->workers);
    auth_close(http->auth);
    seats_free(http->seats);
    shared_handles_free(http->share);
    openapi_free(http);
    shutdown_restore_signals(true);
    close(http->bell);
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

void http_ring(struct http *http)
{
    const uint64_t one = 1;
    (void)!write(http->bell, &one, sizeof one);
}

static bool has_waiting_connection(int fd)
{
    struct pollfd waiting = {fd, POLLIN, 0};
    return poll(&waiting, 1, 0) > 0;
}

/* accept4 says that no file may be opened before it looks whether anybody waits: without a free one it always does. */
static void take_connections(struct serve *self, int fd)
{
    struct sockaddr_storage from;
    for (;;) {
        socklen_t size = sizeof from;
        int client = accept4(fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0 && (errno == EMFILE || errno == ENFILE) && has_waiting_connection(fd)) {
            if (!self->full)
                fprintf(stderr,
                        "ethos: no more files may be open (ulimit -n); connections that ask "
                        "nothing are closed\n");
            self->full = true;
            server_make_room(self->http.server);
            os_sleep_ms(FULL_MS); // it stays in the queue
        }
        if (client < 0)
            return;
        server_take(self->http.server, client, (struct sockaddr *)&from, size);
    }
}

/* When streams are to be woken, and when it is time to look around. */
struct times {
    int64_t tick, ring;
    bool rung;
};

static void keep_time(struct serve *self, struct times *times)
{
    int64_t now = os_monotonic_ms();
    if (times->rung && now >= times->ring) {
        size_t streams = server_ring(self->http.server);
        times->rung = false;
        times->ring = now + RING_MS + (int64_t)(streams / RING_STREAMS);
    }
    if (now >= times->tick) {
        server_tick(self->http.server);
        times->tick = now + TICK_MS;
    }
}

static int time_left(const struct times *times)
{
    int64_t next = times->rung && times->ring < times->tick ? times->ring : times->tick;
    int64_t left = next - os_monotonic_ms();
    return left > 0 ? (int)left : 0;
}

/* Whoever started this one is gone, or wants no server any more. */
static bool has_ended(int fd)
{
    char bytes[256];
    ssize_t got = read(fd, bytes, sizeof bytes);
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

static void serve(struct serve *self, bool until_eof)
{
    struct pollfd fds[LISTEN_MAX + 4];
    struct times times = {0};
    uint64_t rings;
    nfds_t count = 4;
    fds[0] = (struct pollfd){self->signals, POLLIN, 0};
    fds[2] = (struct pollfd){server_watch(self->http.server), POLLIN, 0};
    fds[3] = (struct pollfd){until_eof ? STDIN_FILENO : -1, POLLIN, 0};
    for (size_t i = 0; i < self->sockets.count; i++)
        fds[count++] = (struct pollfd){self->sockets.fds[i], POLLIN, 0};
    for (;;) {
        keep_time(self, &times);
        fds[1] = (struct pollfd){times.rung ? -1 : self->http.bell, POLLIN, 0};
        if (poll(fds, count, time_left(&times)) <= 0)
            continue;
        if (fds[0].revents) {
            shutdown_after(shutdown_signal(), REQUESTS_SECONDS);
            return;
        }
        if (fds[3].revents && has_ended(STDIN_FILENO)) {
            shutdown_after(SIGTERM, REQUESTS_SECONDS);
            return;
        }
        if (fds[1].revents)
            times.rung = read(self->http.bell, &rings, sizeof rings) > 0;
        if (fds[2].revents)
            server_sweep(self->http.server);
        for (nfds_t i = 4; i < count; i++)
            if (fds[i].revents)
                take_connections(self, fds[i].fd);
    }
}

/* ---- the link ---------------------------------------------------------------------------------------------------- */

/* "http://localhost:3000" */
static void make_url(const char *host, unsigned port, bool v6_too, char *out, size_t size)
{
    const char *name = host ? host : v6_too ? "localhost" : "127.0.0.1";
    bool every = strcmp(name, "0.0.0.0") == 0 || strcmp(name, "::") == 0;
    bool v6 = strchr(name, ':') != NULL && !every;
    snprintf(out, size, "http://%s%s%s:%u", v6 ? "[" : "", every ? "localhost" : name,
             v6 ? "]" : "", port);
}

/* The link signs a browser in: it is the one thing on standard output. */
static int print_link(struct login *login, const char *url, struct ethos_error *error)
{
    char token[LOGIN_TOKEN_SIZE];
    int code = login_add_link(login, os_now_ms(), token, error);
    if (code == ETHOS_OK) {
        printf("%s/auth/exchange?t=%s\n", url, token);
        fflush(stdout);
    }
    explicit_bzero(token, sizeof token);
    return code;
}

static int announce(struct serve *self, const json_t *args, struct ethos_error *error)
{
    char url[URL_SIZE];
    struct login *login = auth_login(self->http.auth);
    make_url(json_string_value(json_array_get(json_object_get(args, "host"), 0)),
             self->sockets.port, self->sockets.v6, url, sizeof url);
    int code = login_record_server(login, url, (long)getpid(), error);
    if (code == ETHOS_OK)
        code = print_link(login, url, error);
    if (code != ETHOS_OK)
        return code;
    fprintf(stderr,
            "ethos: serving on port %u; the link signs one browser in, within 10 minutes. "
            "Another link: ethos serve --link. Ctrl-C ends.\n",
            self->sockets.port);
    if (self->sockets.open)
        fprintf(stderr,
                "ethos: other machines can connect, and nothing is encrypted; names that they "
                "use belong in serve.hosts\n");
    return ETHOS_OK;
}

static int find_server(struct login *login, const json_t *args, char *url, size_t size,
                       struct ethos_error *error)
{
    const char *host = json_string_value(json_array_get(json_object_get(args, "host"), 0));
    const json_t *port = json_object_get(args, "port");
    if (port) {
        make_url(host, (unsigned)json_integer_value(port), true, url, size);
        return ETHOS_OK;
    }
    if (find_running(login, url, size))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_NOTFOUND, "no server of this home is running");
    return err_hint(error, code,
                    "`ethos serve` starts one and prints its link; of one that runs elsewhere: "
                    "ethos serve --link --port PORT");
}

/* Another link of a server that runs. */
static int serve_link(const struct surface_start *given, struct ethos_error *error)
{
    char url[URL_SIZE];
    struct login *login;
    int code = login_open(given->options->home, &login, error);
    if (code != ETHOS_OK)
        return code;
    code = find_server(login, given->args, url, sizeof url, error);
    if (code == ETHOS_OK)
        code = print_link(login, url, error);
    login_close(login);
    return code;
}

int http_serve(const struct surface_start *given, struct ethos_error *error)
{
    static struct serve self; // one process, one server
    if (given->options->ephemeral) {
        int code = err_set(error, ETHOS_UNSUPPORTED, "ephemeral memory cannot be served");
        return err_hint(error, code, "use --home with another directory");
    }
    if (json_is_true(json_object_get(given->args, "link")))
        return serve_link(given, error);
    self.http.options = *given->options;
    self.http.request = *given->request;
    self.http.dry_run = given->dry_run;
    self.signals = self.http.bell = -1;
    int code = share_files(&self.http, error);
    if (code != ETHOS_OK)
        return code;
    code = start_parts(&self, given->args, error);
    if (code == ETHOS_OK)
        code = announce(&self, given->args, error);
    if (code == ETHOS_OK) {
        serve(&self, json_is_true(json_object_get(given->args, "untilEof")));
        fprintf(stderr, "ethos: ending\n");
    }
    stop(&self);
    return code;
}

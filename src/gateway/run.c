/*
 * run.c: the loop of ethos gateway: waits for platforms, turns, and the signal that ends it.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/system/os.h"
#include "gateway/gateway.h"
#include "gateway/surfaces.h"
#include "ops/shutdown.h"

#define END_SECONDS 20   /* for turns and sends that are under way */
#define LONGEST_MS 60000 /* of one wait */
#define SLEPT_MS 5000    /* the machine slept when it was away for longer */

static void print_log_line(void *arg, const char *line)
{
    const struct surface_start *start = arg;
    char now[CLOCK_ISO_SIZE];
    if (start->quiet)
        return;
    clock_iso(os_now_ms(), now);
    fprintf(stderr, "%.19sZ %s\n", now, line);
}

/* What log and wake get. */
struct loop {
    const struct surface_start *start;
    struct http_client *http;
};

static void log_line(void *arg, const char *line)
{
    const struct loop *loop = arg;
    print_log_line((void *)loop->start, line);
}

static void wake_loop(void *arg)
{
    const struct loop *loop = arg;
    http_client_wake(loop->http);
}

/* In test builds, a file that says for how long the machine has slept besides. */
static int64_t read_pretended_sleep_ms(void)
{
    int64_t ms = 0;
#ifdef ETHOS_TEST_HOOKS
    const char *path = getenv("ETHOS_GATEWAY_SLEPT");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file && fscanf(file, "%" SCNd64, &ms) != 1)
        ms = 0;
    if (file)
        fclose(file);
#endif
    return ms;
}

/* How long the machine has slept since it was started. */
static int64_t read_sleep_ms(void)
{
    struct timespec boot, awake;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_MONOTONIC, &awake);
    return read_pretended_sleep_ms() + (boot.tv_sec - awake.tv_sec) * 1000 +
           (boot.tv_nsec - awake.tv_nsec) / 1000000;
}

/* What they say of time counts from now, not from the step before the wait for them. */
static void deliver_answers_now(struct gateway *gateway, const struct loop *loop)
{
    gateway_set_time(gateway, os_now_ms(), os_monotonic_ms());
    http_client_deliver(loop->http);
}

static int run_loop(struct gateway *gateway, struct loop *loop, int signal_fd,
                    struct ethos_error *error)
{
    int64_t slept = read_sleep_ms(), wait = 0;
    int code = ETHOS_OK;
    while (code == ETHOS_OK) {
        if (shutdown_signal()) {
            shutdown_after(shutdown_signal(), END_SECONDS);
            gateway_drain(gateway);
            if (gateway_is_idle(gateway))
                break;
            signal_fd = -1;
        }
        if (read_sleep_ms() - slept > SLEPT_MS)
            gateway_woken(gateway);
        slept = read_sleep_ms();
        code = gateway_step(gateway, os_now_ms(), os_monotonic_ms(), &wait, error);
        if (code != ETHOS_OK)
            break;
        deliver_answers_now(gateway, loop);
        http_client_wait(loop->http, signal_fd, (int)(wait < LONGEST_MS ? wait : LONGEST_MS));
        deliver_answers_now(gateway, loop);
    }
    return code;
}

int gateway_run(const struct surface_start *start, struct ethos_error *error)
{
    struct loop loop = {.start = start};
    struct gateway *gateway = NULL;
    if (start->dry_run)
        return err_set(error, ETHOS_UNSUPPORTED, "a gateway cannot answer without answering");
    if (start->options->ephemeral) {
        int code = err_set(error, ETHOS_UNSUPPORTED, "a gateway has no use for ephemeral memory");
        return err_hint(error, code, "use --home with another directory");
    }
    signal(SIGPIPE, SIG_IGN);
    int signal_fd = shutdown_catch_signals();
    int code = http_client_open(&loop.http, error);
    const struct gateway_setup setup = {.options = start->options,
                                        .adapters = channel_adapters,
                                        .http = loop.http,
                                        .log = log_line,
                                        .wake = wake_loop,
                                        .arg = &loop};
    if (code == ETHOS_OK)
        code = gateway_open(&setup, os_now_ms(), &gateway, error);
    if (code == ETHOS_OK) {
        log_line(&loop, "the gateway is running; Ctrl-C ends it");
        code = run_loop(gateway, &loop, signal_fd, error);
        log_line(&loop, "the gateway has ended");
    }
    gateway_close(gateway);
    http_client_close(loop.http);
    shutdown_restore_signals(true);
    return code;
}

/*
 * test_connect_timeout.c: how often the modules try a server that hangs up on everybody, or that accepts
 * and never answers: it counts the connections.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/temp.h"
#include "base/system/log.h"
#include "memory/provider/registry.h"

#define BRIEF_MS 400
#define SILENCE_MS 100 /* after which nobody waits any more */
#define MAX_KEPT 64

static struct counter {
    int fd;
    unsigned port;
    bool silent; /* keeps the connections */
    int kept[MAX_KEPT];
    atomic_uint count;
    atomic_uint last; /* port of whom was accepted last */
    unsigned own;     /* calls of count_calls() */
    pthread_t thread;
} counter;

static void *accept_all(void *arg)
{
    struct counter *self = arg;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    for (int fd; (fd = accept4(self->fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC)) >= 0;
         size = sizeof peer) {
        unsigned at = self->count++;
        self->last = ntohs(peer.sin_port);
        if (self->silent && at < MAX_KEPT)
            self->kept[at] = fd;
        else
            close(fd);
    }
    return NULL;
}

/* How many called until now: who calls last is accepted last, and is not counted. */
static unsigned count_calls(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)counter.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    while (counter.last != ntohs(address.sin_port))
        usleep(1000);
    close(fd);
    return counter.count - ++counter.own;
}

static void count_anew(void)
{
    count_calls();
    counter.count = counter.own = 0;
}

static int start(bool silent)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    counter.silent = silent;
    counter.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    counter.count = 0;
    if (counter.fd < 0 || bind(counter.fd, (struct sockaddr *)&address, size) != 0 ||
        listen(counter.fd, 16) != 0 ||
        getsockname(counter.fd, (struct sockaddr *)&address, &size) != 0)
        return -1;
    counter.port = ntohs(address.sin_port);
    return pthread_create(&counter.thread, NULL, accept_all, &counter);
}

static int start_counting(void **state)
{
    (void)state;
    return start(false);
}

static int start_silent(void **state)
{
    (void)state;
    return start(true);
}

static int stop_counting(void **state)
{
    (void)state;
    shutdown(counter.fd, SHUT_RDWR);
    pthread_join(counter.thread, NULL);
    for (unsigned i = 0; counter.silent && i < counter.count && i < MAX_KEPT; i++)
        close(counter.kept[i]);
    return close(counter.fd);
}

/* ---- the modules ------------------------------------------------------------------------------ */

static const struct module {
    const char *name, *before, *after; /* the port, in the address */
    bool opens;                        /* though nobody is there */
} modules[] = {
    {"postgres", "postgresql://nobody@127.0.0.1:", "/none?sslmode=disable&gssencmode=disable",
     true},
    {"redis", "redis://127.0.0.1:", "/0", false},
    {"remote", "http://127.0.0.1:", "", true},
};

/* The folder that bin and lib are in. */
static void find_build(char out[PATH_MAX - 64])
{
    memset(out, 0, PATH_MAX - 64);
    assert_true(readlink("/proc/self/exe", out, PATH_MAX - 65) > 0);
    for (int i = 0; i < 3; i++)
        *strrchr(out, '/') = 0;
}

static int open_module(const struct module *module, uint32_t flags, struct ethos_deadline *deadline,
                       struct backend *backend, struct ethos_store **out, struct ethos_error *error)
{
    char here[PATH_MAX - 64], path[PATH_MAX], url[128];
    struct ethos_setting settings[] = {{"url", url}, {"key", "sk-ethos-none"}};
    const struct secrets_given given = {settings, strcmp(module->name, "remote") == 0 ? 2 : 1, NULL,
                                        "/", NULL};
    const struct ethos_setup setup = {.host = &log_default_host,
                                      .root = "/",
                                      .flags = flags,
                                      .deadline_ms = BRIEF_MS,
                                      .deadline = deadline};
    find_build(here);
    snprintf(path, sizeof path, "%s/lib/ethos/%s.so", here, module->name);
    snprintf(url, sizeof url, "%s%u%s", module->before, counter.port, module->after);
    assert_int_equal(registry_find(path, backend, error), ETHOS_OK);
    return registry_open_store(backend, &setup, &given, out, error);
}

static void test_one_attempt_where_the_host_has_another_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct backend backend;
        struct ethos_store *store;
        struct ethos_error error = {0};
        count_anew();
        int code = open_module(&modules[i], ETHOS_SETUP_REACH, NULL, &backend, &store, &error);
        unsigned calls = count_calls();
        if (code != ETHOS_BUSY || calls != 1)
            fail_msg("%s: %d, %u attempts", modules[i].name, code, calls);
        assert_int_equal(error.code, ETHOS_BUSY);
        assert_true(*error.text);
        registry_release(&backend);
    }
}

static void test_else_several_and_the_next_call_has_the_answer(void **state)
{
    static const struct ethos_read_how whole;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct backend backend;
        struct ethos_store *store;
        struct ethos_error error = {0};
        struct ethos_text text = {0};
        struct ethos_deadline deadline = {0};
        count_anew();
        int code = open_module(&modules[i], 0, &deadline, &backend, &store, &error);
        unsigned before = count_calls();
        if (code != (modules[i].opens ? ETHOS_OK : ETHOS_BUSY) || before < 2)
            fail_msg("%s: %d, %u attempts", modules[i].name, code, before);
        if (code == ETHOS_OK) {
            code = store->ops->read(store, "global", "a.md", &whole, &text, &error);
            unsigned calls = count_calls();
            if (code != ETHOS_BUSY || calls != before)
                fail_msg("%s: %d, %u more", modules[i].name, code, calls - before);
            store->ops->close(store);
        }
        registry_release(&backend);
    }
}

static int ignore_entry(void *arg, const struct ethos_entry *entry)
{
    (void)arg, (void)entry;
    return ETHOS_OK;
}

/* What an operation asks of one scope after the other, and whoever asks again. */
static void test_a_server_that_never_answers_is_waited_for_once(void **state)
{
    static const struct ethos_read_how whole;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct backend backend;
        struct ethos_store *store;
        struct ethos_error error = {0};
        struct ethos_text text = {0};
        struct ethos_deadline deadline = {.read_ms = SILENCE_MS, .call_ms = SILENCE_MS};
        count_anew();
        int code = open_module(&modules[i], 0, &deadline, &backend, &store, &error);
        if (code != (modules[i].opens ? ETHOS_OK : ETHOS_BUSY))
            fail_msg("%s: %d", modules[i].name, code);
        unsigned before = count_calls();
        if (code != ETHOS_OK) {
            registry_release(&backend);
            code = open_module(&modules[i], 0, &deadline, &backend, &store, &error);
            assert_int_equal(code, ETHOS_BUSY);
        } else {
            code = store->ops->read(store, "global", "a.md", &whole, &text, &error);
            assert_int_equal(code, ETHOS_BUSY);
            code = store->ops->list(store, "global", ignore_entry, NULL, &error);
            assert_int_equal(code, ETHOS_BUSY);
            store->ops->close(store);
        }
        unsigned calls = count_calls();
        if (before != 1 || calls != 1)
            fail_msg("%s: %u attempts, then %u", modules[i].name, before, calls);
        assert_true(*error.text);
        registry_release(&backend);
    }
}

static int give_up(void *arg, struct pollfd *fds, unsigned long count, int timeout_ms)
{
    (void)fds, (void)count, (void)timeout_ms;
    ++*(unsigned *)arg;
    errno = EINTR;
    return -1;
}

static void test_the_host_can_give_a_call_up(void **state)
{
    static const struct ethos_read_how whole;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct backend backend;
        struct ethos_store *store;
        struct ethos_error error = {0};
        struct ethos_text text = {0};
        unsigned waits = 0;
        struct ethos_deadline deadline = {.wait = give_up, .wait_arg = &waits};
        count_anew();
        int code = open_module(&modules[i], ETHOS_SETUP_STAYS, &deadline, &backend, &store, &error);
        if (code == ETHOS_OK) {
            code = store->ops->read(store, "global", "a.md", &whole, &text, &error);
            store->ops->close(store);
        }
        unsigned calls = count_calls();
        if (code != ETHOS_BUSY || waits == 0 || calls > 1)
            fail_msg("%s: %d, waited %u times, %u attempts", modules[i].name, code, waits, calls);
        registry_release(&backend);
    }
}

/* Also where conversations are there, too. */
static void test_doctor_asks_once(void **state)
{
    char here[PATH_MAX - 64], command[PATH_MAX + 1024], config[512];
    (void)state;
    find_build(here);
    for (size_t i = 0; i < 3; i++) {
        struct temp temp;
        temp_make(&temp);
        snprintf(
            config, sizeof config,
            "memory.provider: %s\nmemory.options.url: %s%u%s\nmemory.options.offline: cached\n%s",
            modules[i].name, modules[i].before, counter.port, modules[i].after,
            strcmp(modules[i].name, "remote") == 0 ? "memory.options.key: sk-ethos-none\n" : "");
        temp_write(&temp, "config.yaml", config);
        snprintf(
            command, sizeof command,
            "chmod 600 %s/config.yaml; HOME=%s ETHOS_HOME=%s %s/bin/ethos doctor > %s/out 2>&1",
            temp.path, temp.path, temp.path, here, temp.path);
        count_anew();
        int status = system(command);
        char *out = temp_read(&temp, "out", NULL);
        unsigned calls = count_calls();
        if (WEXITSTATUS(status) != 1 || calls != 1)
            fail_msg("%s: %u attempts, %s", modules[i].name, calls, out);
        free(out);
        temp_remove(&temp);
    }
}

#define COUNTING(function) cmocka_unit_test_setup_teardown(function, start_counting, stop_counting)
#define SILENT(function) cmocka_unit_test_setup_teardown(function, start_silent, stop_counting)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COUNTING(test_one_attempt_where_the_host_has_another_answer),
        COUNTING(test_else_several_and_the_next_call_has_the_answer),
        SILENT(test_a_server_that_never_answers_is_waited_for_once),
        SILENT(test_the_host_can_give_a_call_up),
        COUNTING(test_doctor_asks_once),
    };
    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}

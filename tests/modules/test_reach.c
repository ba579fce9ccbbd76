/*
 * test_reach.c: how often the modules try a server that hangs up on everybody: he counts.
 */
#include <arpa/inet.h>
#include <limits.h>
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
#include "base/log.h"
#include "memory/registry.h"

#define BRIEF_MS 400

static struct counter {
    int fd;
    unsigned port;
    atomic_uint count;
    pthread_t thread;
} counter;

static void *hang_up(void *arg)
{
    struct counter *self = arg;
    for (int fd; (fd = accept4(self->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        self->count++;
        close(fd);
    }
    return NULL;
}

static int start_counting(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    (void)state;
    counter.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    counter.count = 0;
    if (counter.fd < 0 || bind(counter.fd, (struct sockaddr *)&address, size) != 0 ||
        listen(counter.fd, 16) != 0 ||
        getsockname(counter.fd, (struct sockaddr *)&address, &size) != 0)
        return -1;
    counter.port = ntohs(address.sin_port);
    return pthread_create(&counter.thread, NULL, hang_up, &counter);
}

static int stop_counting(void **state)
{
    (void)state;
    shutdown(counter.fd, SHUT_RDWR);
    pthread_join(counter.thread, NULL);
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

static int open_module(const struct module *module, uint32_t flags, struct backend *backend,
                       struct ethos_store **out, struct ethos_error *error)
{
    char here[PATH_MAX - 64], path[PATH_MAX], url[128];
    struct ethos_setting settings[] = {{"url", url}, {"key", "sk-ethos-none"}};
    const struct secrets_given given = {settings, strcmp(module->name, "remote") == 0 ? 2 : 1, NULL,
                                        "/", NULL};
    const struct ethos_setup setup = {
        .host = &log_default_host, .root = "/", .flags = flags, .deadline_ms = BRIEF_MS};
    find_build(here);
    snprintf(path, sizeof path, "%s/lib/ethos/%s.so", here, module->name);
    snprintf(url, sizeof url, "%s%u%s", module->before, counter.port, module->after);
    assert_int_equal(registry_find(path, backend, error), ETHOS_OK);
    counter.count = 0;
    return registry_open_store(backend, &setup, &given, out, error);
}

static void test_one_attempt_where_the_host_has_another_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct backend backend;
        struct ethos_store *store;
        struct ethos_error error = {0};
        int code = open_module(&modules[i], ETHOS_SETUP_REACH, &backend, &store, &error);
        if (code != ETHOS_BUSY || counter.count != 1)
            fail_msg("%s: %d, %u attempts", modules[i].name, code, counter.count);
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
        int code = open_module(&modules[i], 0, &backend, &store, &error);
        unsigned before = counter.count;
        if (code != (modules[i].opens ? ETHOS_OK : ETHOS_BUSY) || before < 2)
            fail_msg("%s: %d, %u attempts", modules[i].name, code, before);
        if (code == ETHOS_OK) {
            code = store->ops->read(store, "global", "a.md", &whole, &text, &error);
            if (code != ETHOS_BUSY || counter.count != before)
                fail_msg("%s: %d, %u more", modules[i].name, code, counter.count - before);
            store->ops->close(store);
        }
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
        counter.count = 0;
        int status = system(command);
        char *out = temp_read(&temp, "out", NULL);
        if (WEXITSTATUS(status) != 1 || counter.count != 1)
            fail_msg("%s: %u attempts, %s", modules[i].name, counter.count, out);
        free(out);
        temp_remove(&temp);
    }
}

#define COUNTING(function) cmocka_unit_test_setup_teardown(function, start_counting, stop_counting)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COUNTING(test_one_attempt_where_the_host_has_another_answer),
        COUNTING(test_else_several_and_the_next_call_has_the_answer),
        COUNTING(test_doctor_asks_once),
    };
    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}

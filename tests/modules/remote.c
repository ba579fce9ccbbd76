/*
 * remote.c: an `ethos serve` of its own home, and the module `remote` as a program loads it.
 */
#include "remote.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/dir.h"
#include "base/log.h"
#include "proxy.h"

#define WORDS 24
#define OUTPUT 4096

/* ---- programs ------------------------------------------------------------------------------- */

/* A file of this build, which this program is part of: <build>/tests/modules/<any>. */
static void find_built(const char *name, char out[PATH_MAX])
{
    ssize_t size = readlink("/proc/self/exe", out, PATH_MAX - 64);
    assert_true(size > 0);
    out[size] = 0;
    for (int up = 0; up < 3; up++)
        *strrchr(out, '/') = 0;
    strncat(out, name, 63);
}

static pid_t spawn(const struct remote_server *self, const char *const *words, int *out)
{
    char program[PATH_MAX];
    const char *all[WORDS] = {program, "--home", self->home};
    int pipes[2];
    pid_t parent = getpid();
    find_built("/bin/ethos", program);
    for (size_t i = 0; words[i]; i++)
        all[3 + i] = words[i];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
        dup2(pipes[1], STDOUT_FILENO);
        execv(program, (char **)all);
        _exit(127);
    }
    close(pipes[1]);
    *out = pipes[0];
    return pid;
}

int remote_server_run(const struct remote_server *self, const char *const *words, char *out,
                      size_t size)
{
    int fd, status;
    size_t used = 0;
    ssize_t count;
    pid_t pid = spawn(self, words, &fd);
    while (used + 1 < size && (count = read(fd, out + used, size - used - 1)) > 0)
        used += (size_t)count;
    out[used] = 0;
    close(fd);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void remote_server_key(const struct remote_server *self, const char *scopes,
                       char out[REMOTE_KEY_SIZE])
{
    char names[256], json[OUTPUT];
    const char *words[WORDS] = {"--json", "api-key", "create", "test"};
    size_t count = 4;
    snprintf(names, sizeof names, "%s", scopes);
    char *rest = names, *name;
    while ((name = strsep(&rest, " "))) {
        words[count++] = "--scope";
        words[count++] = name;
    }
    assert_int_equal(remote_server_run(self, words, json, sizeof json), 0);
    const char *key = strstr(json, "sk-ethos-");
    assert_non_null(key);
    snprintf(out, REMOTE_KEY_SIZE, "%.73s", key);
}

/* ---- the server ------------------------------------------------------------------------------ */

void remote_server_again(struct remote_server *self)
{
    char port[16], line[256];
    const char *const words[] = {"serve", "--port", port, NULL};
    int out;
    snprintf(port, sizeof port, "%u", self->port);
    self->pid = spawn(self, words, &out);
    FILE *in = fdopen(out, "r");
    if (!fgets(line, sizeof line, in) || sscanf(line, "http://%*[^:]:%u/", &self->port) != 1)
        fail_msg("the server does not start");
    fclose(in);
}

void remote_server_start(struct remote_server *self)
{
    *self = (struct remote_server){.home = "/tmp/ethos-remote-XXXXXX"};
    assert_non_null(mkdtemp(self->home));
    remote_server_again(self);
    remote_server_key(self, "store", self->key);
}

static void end(struct remote_server *self, int signal)
{
    if (self->pid == 0)
        return;
    kill(self->pid, signal);
    waitpid(self->pid, NULL, 0);
    self->pid = 0;
}

void remote_server_kill(struct remote_server *self)
{
    end(self, SIGKILL);
}

void remote_server_stop(struct remote_server *self)
{
    end(self, SIGTERM);
    dir_remove(AT_FDCWD, self->home);
}

struct proxy *remote_server_proxy(struct remote_server *self)
{
    char host[32], out[OUTPUT];
    const char *const words[] = {"config", "set", "serve.hosts", host, NULL};
    struct proxy *proxy = proxy_start((struct proxy_end){0},
                                      (struct proxy_end){.port = self->port});
    snprintf(host, sizeof host, "127.0.0.1:%u", proxy_port(proxy));
    assert_int_equal(remote_server_run(self, words, out, sizeof out), 0);
    remote_server_kill(self);
    remote_server_again(self);
    return proxy;
}

/* ---- the module ------------------------------------------------------------------------------- */

const struct ethos_store_ops *remote_module(void)
{
    static const struct ethos_module *module; // stays loaded
    char path[PATH_MAX];
    if (!module) {
        find_built("/lib/ethos/remote.so", path);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            fail_msg("%s", dlerror());
        module = dlsym(library, "ethos_module");
        assert_non_null(module);
        assert_int_equal(module->abi, ETHOS_ABI);
    }
    return module->store;
}

int remote_open_with(const struct ethos_host *host, const struct ethos_setting *settings,
                     uint32_t deadline_ms, struct ethos_store **out_store,
                     struct ethos_error *error)
{
    struct ethos_setup setup = {.host = host, .settings = settings, .deadline_ms = deadline_ms};
    while (settings[setup.setting_count].name)
        setup.setting_count++;
    return remote_module()->open(&setup, out_store, error);
}

int remote_open_at(const struct ethos_host *host, unsigned port, const char *key,
                   uint32_t deadline_ms, struct ethos_store **out_store, struct ethos_error *error)
{
    char url[64];
    const struct ethos_setting settings[] = {{"url", url}, {key ? "key" : NULL, key}, {NULL, NULL}};
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    return remote_open_with(host, settings, deadline_ms, out_store, error);
}

static void ignore(void *arg, const struct ethos_finding *finding)
{
    (void)arg, (void)finding;
}

int remote_try(const struct ethos_setting *settings, uint32_t deadline_ms,
               struct ethos_error *error)
{
    struct ethos_store *store = NULL;
    int code = remote_open_with(&log_default_host, settings, deadline_ms, &store, error);
    if (code != ETHOS_OK)
        return code;
    code = store->ops->check(store, 0, ignore, NULL, error);
    store->ops->close(store);
    return code;
}

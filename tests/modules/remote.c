/*
 * remote.c: an `ethos serve` of its own home, and the module `remote` as a program loads it.
 */
#include "remote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/system/log.h"
#include "module.h"
#include "proxy.h"

#define OUTPUT 4096

/* ---- the server ------------------------------------------------------------------------------ */

int remote_server_run(const struct remote_server *self, const char *const *words, char *out,
                      size_t size)
{
    return drive_run(&self->drive, words, out, size);
}

void remote_server_key(struct remote_server *self, const char *scopes, char out[REMOTE_KEY_SIZE])
{
    drive_key(&self->drive, scopes, NULL, out);
}

void remote_server_again(struct remote_server *self)
{
    drive_start(&self->drive, NULL);
    self->port = self->drive.port;
}

void remote_server_start(struct remote_server *self)
{
    *self = (struct remote_server){0};
    remote_server_again(self);
    remote_server_key(self, "store", self->key);
}

void remote_server_kill(struct remote_server *self)
{
    drive_kill(&self->drive);
}

void remote_server_stop(struct remote_server *self)
{
    drive_end(&self->drive);
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
    return module_load("remote")->store;
}

int remote_open_with(const struct ethos_host *host, const struct ethos_setting *settings,
                     uint32_t deadline_ms, struct ethos_store **out_store,
                     struct ethos_error *error)
{
    return module_open("remote", host, settings, deadline_ms, out_store, error);
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

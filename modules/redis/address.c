/*
 * address.c: where the server is, from memory.options.url.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "redis.h"

#define MAX_DB 16383 /* databases are numbered; no server has more */

static const char hint[] = "redis://host:port/db or unix:/path";

static int refuse_address(struct ethos_error *error, const char *why)
{
    return err_hint(error, err_set(error, ETHOS_INVALID, "memory.options.url: %s", why), "%s",
                    hint);
}

/* Copies a part that must fit and must not be empty. */
static bool copy_address_part(struct ethos_view part, char *out, size_t size)
{
    if (part.size == 0 || part.size >= size)
        return false;
    memcpy(out, part.data, part.size);
    out[part.size] = 0;
    return true;
}

static bool take_number(struct ethos_view part, unsigned long least, unsigned long most, char *out,
                        size_t size)
{
    if (!copy_address_part(part, out, size) || strspn(out, "0123456789") != part.size)
        return false;
    unsigned long number = strtoul(out, NULL, 10);
    return number >= least && number <= most;
}

/* Takes what follows the last `mark` off v; absent when there is none. */
static struct ethos_view cut_after_last(struct ethos_view *v, char mark)
{
    const char *at = v->size ? memrchr(v->data, mark, v->size) : NULL;
    if (!at)
        return (struct ethos_view){0};
    struct ethos_view tail = view_from(*v, (size_t)(at - v->data) + 1);
    v->size = (size_t)(at - v->data);
    return tail;
}

static int parse_socket(struct ethos_view rest, struct redis_place *out, struct ethos_error *error)
{
    struct ethos_view path = rest, option = cut_after_last(&path, '?');
    if (option.data && (!view_starts(option, VIEW("db=")) ||
                        !take_number(view_from(option, 3), 0, MAX_DB, out->db, sizeof out->db)))
        return refuse_address(error, "only db= and a number may follow the ?");
    if (!copy_address_part(path, out->path, sizeof out->path) || path.data[0] != '/')
        return refuse_address(error,
                              "the path of a socket must be absolute and at most 107 bytes long");
    snprintf(out->shown, sizeof out->shown, "unix:%s", out->path);
    return ETHOS_OK;
}

static int parse_host(struct ethos_view rest, struct redis_place *out, struct ethos_error *error)
{
    if (memchr(rest.data, '@', rest.size)) {
        refuse_address(error, "the address must not contain user and password");
        return err_hint(error, ETHOS_INVALID,
                        "memory.options.user and memory.options.passwordFile");
    }
    struct ethos_view host = rest, db = cut_after_last(&host, '/');
    if (db.size && !take_number(db, 0, MAX_DB, out->db, sizeof out->db))
        return refuse_address(error, "only the number of a database may follow the host");
    struct ethos_view port = {0};
    bool bracketed = view_ends(host, VIEW("]"));
    if (!bracketed)
        port = cut_after_last(&host, ':');
    if (port.data && !take_number(port, 1, 65535, out->port, sizeof out->port))
        return refuse_address(error, "a port is a number from 1 to 65535");
    if (view_starts(host, VIEW("[")) && view_ends(host, VIEW("]")))
        host = view_of(host.data + 1, host.size - 2);
    if (!copy_address_part(host, out->host, sizeof out->host))
        return refuse_address(error, "the host is missing");
    snprintf(out->shown, sizeof out->shown, "%s port %s", out->host, out->port);
    return ETHOS_OK;
}

int place_parse(const char *url, struct redis_place *out_place, struct ethos_error *error)
{
    struct ethos_view v = view_str(url);
    *out_place = (struct redis_place){.port = "6379", .db = "0"};
    if (view_starts(v, VIEW("unix:")))
        return parse_socket(view_from(v, 5), out_place, error);
    if (view_starts(v, VIEW("redis://")))
        return parse_host(view_from(v, 8), out_place, error);
    if (!view_starts(v, VIEW("rediss://")))
        return refuse_address(error, "not the address of a Redis server");
    int code = err_set(error, ETHOS_UNSUPPORTED,
                       "memory.options.url: rediss:// (TLS) is not supported by this hiredis");
    return err_hint(error, code,
                    "let stunnel on this machine speak TLS and use redis://127.0.0.1:port, or use "
                    "a unix: socket");
}

/*
 * address.c: where the hosts of a target are, found out within the deadline.
 *
 * libpq would ask for each name when it comes to it, and wait for the answer. So each is asked for here, and libpq is
 * given host, hostaddr and port of every address: the names are still those that certificates and passwords belong
 * to. A name that only a service file holds is left to libpq.
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/system/resolve_host.h"
#include "base/view.h"
#include "postgres.h"

#define MAX_LIST 8192 /* bytes of one list */

static const char *value_of(const struct pg_target *target, const char *keyword,
                            const char *variable)
{
    for (size_t i = 0; i < target->count; i++)
        if (strcmp(target->keywords[i], keyword) == 0)
            return target->values[i];
    const char *value = getenv(variable);
    return value ? value : "";
}

/* The next of a list; of one that has ended the last, for a single port is that of every host. */
static struct ethos_view next(struct ethos_view *list)
{
    struct ethos_view item = *list;
    const char *comma = item.size ? memchr(item.data, ',', item.size) : NULL;
    if (comma) {
        item.size = (size_t)(comma - item.data);
        *list = view_from(*list, item.size + 1);
    }
    return item;
}

static void add_address(struct pg_addresses *self, struct ethos_view host, const char *address,
                        struct ethos_view port)
{
    const char *comma = self->count++ > 0 ? "," : "";
    str_printf(&self->host, "%s%.*s", comma, VIEW_ARG(host));
    str_printf(&self->address, "%s%s", comma, address);
    str_printf(&self->port, "%s%.*s", comma, VIEW_ARG(port));
}

static bool is_host_name(struct ethos_view host)
{
    return host.size > 0 && *host.data != '/' && *host.data != '@';
}

/* All addresses of a name. */
static int resolve_addresses(struct pg_addresses *self, struct ethos_view host,
                             struct ethos_view port, int64_t until)
{
    char name[NI_MAXHOST], number[NI_MAXHOST];
    struct addrinfo *list;
    if (host.size >= sizeof name)
        return EAI_NONAME;
    memcpy(name, host.data, host.size);
    name[host.size] = 0;
    int problem = resolve_host(name, "0", until, &list);
    if (problem)
        return problem;
    for (const struct addrinfo *at = list; at; at = at->ai_next)
        if (getnameinfo(at->ai_addr, at->ai_addrlen, number, sizeof number, NULL, 0,
                        NI_NUMERICHOST) == 0)
            add_address(self, host, number, port);
    freeaddrinfo(list);
    return 0;
}

/* The last that was not found; 0: there is one to connect to. */
static int add_hosts(struct pg_addresses *self, struct ethos_view hosts, struct ethos_view ports,
                     int64_t until)
{
    int problem = 0;
    for (bool more = true; more;) {
        struct ethos_view host = next(&hosts), port = next(&ports);
        more = host.data + host.size < hosts.data + hosts.size;
        if (!is_host_name(host))
            add_address(self, host, "", port);
        else
            problem = resolve_addresses(self, host, port, until);
    }
    return self->count > 0 ? 0 : problem;
}

int pg_addresses_find(struct pg_addresses *self, struct pg_link *link, int64_t until,
                      struct ethos_error *error)
{
    const char *host = value_of(link->target, "host", "PGHOST");
    const char *port = value_of(link->target, "port", "PGPORT");
    char reason[sizeof link->message];
    *self = (struct pg_addresses){0};
    str_init(&self->host, MAX_LIST);
    str_init(&self->address, MAX_LIST);
    str_init(&self->port, MAX_LIST);
    if (!*host || *value_of(link->target, "hostaddr", "PGHOSTADDR"))
        return ETHOS_OK;
    int problem = add_hosts(self, view_str(host), view_str(port), until);
    if (problem) {
        snprintf(reason, sizeof reason, "cannot resolve %s: %s", host, gai_strerror(problem));
        pg_note(link, "", reason);
        return pg_error(link, error);
    }
    if (!*port) // that of every host, as a service file or libpq has it
        str_clear(&self->port);
    bool whole = !str_code(&self->host) && !str_code(&self->address) && !str_code(&self->port);
    return whole ? ETHOS_OK : err_set(error, ETHOS_LIMIT, "memory.options.url: too many hosts");
}

void pg_addresses_release(struct pg_addresses *self)
{
    str_release(&self->host);
    str_release(&self->address);
    str_release(&self->port);
}

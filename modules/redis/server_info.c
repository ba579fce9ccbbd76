/*
 * server_info.c: what a server says of itself, and what may be promised of it.
 *
 * CONFIG is often forbidden where others run the server; INFO knows most, but not how often the
 * append-only file is synced. What is not known is not promised.
 */
#include <stdlib.h>

#include "redis.h"

/* The value of "name:value\r\n"; absent when there is no such line. */
static struct ethos_view line_of(struct ethos_view info, const char *name)
{
    struct ethos_view line;
    size_t size = strlen(name);
    while (view_line(&info, &line))
        if (line.size > size && line.data[size] == ':' && memcmp(line.data, name, size) == 0)
            return view_trim(view_from(line, size + 1));
    return (struct ethos_view){0};
}

static enum server_known is(struct ethos_view value, const char *expected)
{
    if (!value.data)
        return SERVER_UNKNOWN;
    return view_eq_str(value, expected) ? SERVER_YES : SERVER_NO;
}

static unsigned info_number(struct ethos_view value)
{
    return value.data ? (unsigned)strtoul(value.data, NULL, 10) : 0; // a line end follows
}

/* The value of a setting in the reply to CONFIG GET: names and values in turn. */
static struct ethos_view config_value(const redisReply *config, const char *name)
{
    if (config && config->type == REDIS_REPLY_ARRAY)
        for (size_t i = 0; i + 1 < config->elements; i += 2)
            if (config->element[i]->str && config->element[i + 1]->str &&
                strcmp(config->element[i]->str, name) == 0)
                return view_of(config->element[i + 1]->str, config->element[i + 1]->len);
    return (struct ethos_view){0};
}

void server_learn(struct server *self, const redisReply *info, const redisReply *config)
{
    struct ethos_view said = {0};
    if (info && info->type == REDIS_REPLY_STRING)
        said = view_of(info->str, info->len);
    struct ethos_view limit = line_of(said, "maxmemory");
    *self = (struct server){
        .version = info_number(line_of(said, "redis_version")),
        .replicas = info_number(line_of(said, "connected_slaves")),
        .clustered = is(line_of(said, "cluster_enabled"), "1") == SERVER_YES,
        .primary = is(line_of(said, "role"), "master"),
        .appends = is(line_of(said, "aof_enabled"), "1"),
        .syncs = is(config_value(config, "appendfsync"), "always"),
        .syncs_ever = is(config_value(config, "no-appendfsync-on-rewrite"), "no"),
        .keeps = is(limit, "0"),
        .writes = is(line_of(said, "aof_last_write_status"), "ok"),
    };
    if (self->keeps == SERVER_NO)
        self->keeps = is(line_of(said, "maxmemory_policy"), "noeviction");
}

bool server_durable(const struct server *self)
{
    return self->primary == SERVER_YES && self->appends == SERVER_YES &&
           self->syncs == SERVER_YES && self->syncs_ever == SERVER_YES && self->keeps == SERVER_YES;
}

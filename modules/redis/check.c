/*
 * check.c: what doctor says: settings under which less is promised than could be, rights, the
 * clock, and texts that are not there any more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "redis.h"

#define CLOCK_MS 5000 /* how far the clocks may be apart */

struct redis_check {
    struct redis *self;
    ethos_finding_fn *each;
    void *arg;
    struct ethos_error *error;
    char subject[300];
};

static void report_redis_finding(const struct redis_check *look, enum ethos_severity severity,
                                 const char *problem, const char *remedy)
{
    const struct ethos_finding finding = {severity, look->subject, problem, remedy};
    look->each(look->arg, &finding);
}

/* ---- settings ------------------------------------------------------------------------------- */

static void look_at_settings(const struct redis_check *look)
{
    const struct server *server = &look->self->server;
    const struct {
        bool bad;
        enum ethos_severity severity;
        const char *problem, *remedy;
    } rules[] = {
        {server->version && server->version < 6, ETHOS_FINDING_WARNING,
         "older than Redis 6: not tested", "install Redis 7"},
        {server->primary == SERVER_NO, ETHOS_FINDING_ERROR, "a replica: it takes no changes",
         "memory.options.url names the primary"},
        {server->replicas > 0, ETHOS_FINDING_WARNING,
         "it has replicas: a failover may lose changes that were acknowledged",
         "fail over by hand, when the replica has everything (INFO replication)"},
        {server->appends == SERVER_NO, ETHOS_FINDING_WARNING,
         "appendonly is off: what was acknowledged is gone when the server stops",
         "redis-cli CONFIG SET appendonly yes; in redis.conf: appendonly yes"},
        {server->syncs == SERVER_NO, ETHOS_FINDING_WARNING,
         "appendfsync is not always: a power cut takes the last changes with it",
         "redis-cli CONFIG SET appendfsync always; in redis.conf: appendfsync always"},
        {server->syncs_ever == SERVER_NO, ETHOS_FINDING_WARNING,
         "no-appendfsync-on-rewrite is on: a power cut during a rewrite takes changes with it",
         "redis-cli CONFIG SET no-appendfsync-on-rewrite no; the same in redis.conf"},
        {server->keeps == SERVER_NO, ETHOS_FINDING_ERROR,
         "it throws keys away when its memory is full",
         "redis-cli CONFIG SET maxmemory-policy noeviction; in redis.conf: maxmemory-policy "
         "noeviction"},
        {server->writes == SERVER_NO, ETHOS_FINDING_ERROR,
         "the last write to its append-only file failed", "its log says why; is the disk full?"},
        {!server->primary || !server->appends || !server->keeps, ETHOS_FINDING_WARNING,
         "it does not say how it is set up (INFO): nothing is promised of what it acknowledged",
         "redis-cli ACL SETUSER <user> +info; no rename-command of it in redis.conf"},
        {!server->syncs || !server->syncs_ever, ETHOS_FINDING_WARNING,
         "it does not say how often it syncs (CONFIG GET): nothing is promised of what it "
         "acknowledged",
         "redis-cli ACL SETUSER <user> +config|get; where others run it, ask them for appendfsync "
         "always"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].bad)
            report_redis_finding(look, rules[i].severity, rules[i].problem, rules[i].remedy);
}

/* ---- rights --------------------------------------------------------------------------------- */

/* Commands of ours that change nothing on a key that does not exist; %s stands for it. */
static const char *const probes[][7] = {
    {"EVAL", "return 1", "0"},
    {"EVALSHA", "0", "0"},
    {"XADD", "%s", "NOMKSTREAM", "*", "", ""},
    {"TYPE", "%s"},
    {"GETRANGE", "%s", "0", "0"},
    {"GET", "%s"},
    {"STRLEN", "%s"},
    {"SET", "%s", "", "XX"},
    {"DEL", "%s"},
    {"HGET", "%s", ""},
    {"HGETALL", "%s"},
    {"HDEL", "%s", ""},
    {"ZREM", "%s", ""},
    {"ZRANGEBYSCORE", "%s", "0", "0"},
    {"ZCARD", "%s"},
    {"ZREVRANGEBYLEX", "%s", "+", "-"},
    {"SMEMBERS", "%s"},
    {"XRANGE", "%s", "-", "+"},
    {"XREVRANGE", "%s", "+", "-"},
    {"XREAD", "STREAMS", "%s", "0"},
};
#define PROBES (sizeof probes / sizeof *probes)

static int run_probe_script(const struct redis_check *look, const char *const words[7],
                            redisReply **out_reply, struct ethos_error *error)
{
    struct redis *self = look->self;
    struct redis_request request;
    request_init(&request);
    for (size_t i = 0; i < 7 && words[i]; i++) {
        if (strcmp(words[i], "%s") == 0)
            request_key(&request, self, NULL, "probe", "");
        else
            request_string(&request, words[i]);
    }
    int code = link_say(self, &self->link, &request, error);
    if (code == ETHOS_OK)
        code = link_reply(self, &self->link, out_reply, error);
    request_release(&request);
    return code;
}

static bool starts(const redisReply *reply, const char *word)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, word, strlen(word)) == 0;
}

static void add_name_to_list(struct str *names, const char *name)
{
    str_printf(names, "%s%s", names->size > 0 ? ", " : "", name);
}

/* Asks for each of our commands; those that are denied, and those that the server does not know. */
static int try_commands(const struct redis_check *look, struct str *denied, struct str *unknown,
                        struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < PROBES; i++) {
        redisReply *reply = NULL;
        code = run_probe_script(look, probes[i], &reply, error);
        if (code == ETHOS_OK && starts(reply, "NOPERM"))
            add_name_to_list(denied, probes[i][0]);
        else if (code == ETHOS_OK && starts(reply, "ERR unknown command"))
            add_name_to_list(unknown, probes[i][0]);
        freeReplyObject(reply);
    }
    if (code != ETHOS_OK)
        link_close(&look->self->link);
    return code;
}

static void tell_commands(const struct redis_check *look, const struct str *denied,
                          const struct str *unknown)
{
    char problem[PROBES * 16 + 160], remedy[REFUSAL_RIGHTS_SIZE];
    const struct redis *self = look->self;
    refusal_rights(self, remedy);
    snprintf(problem, sizeof problem,
             "this user may not use %s on keys of %s:", denied->size ? denied->data : "",
             self->prefix);
    if (denied->size > 0)
        report_redis_finding(look, ETHOS_FINDING_ERROR, problem, remedy);
    snprintf(problem, sizeof problem, "it has no %s, which a store needs",
             unknown->size ? unknown->data : "");
    if (unknown->size > 0)
        report_redis_finding(look, ETHOS_FINDING_ERROR, problem, REFUSAL_RENAMED);
}

/* ETHOS_DENIED when a command cannot be used: it was told. */
static int look_at_commands(const struct redis_check *look, struct ethos_error *error)
{
    struct str denied, unknown;
    str_init(&denied, REDIS_MAX_REQUEST);
    str_init(&unknown, REDIS_MAX_REQUEST);
    int code = try_commands(look, &denied, &unknown, error);
    if (code == ETHOS_OK && (str_code(&denied) != ETHOS_OK || str_code(&unknown) != ETHOS_OK))
        code = err_nomem(error);
    if (code == ETHOS_OK)
        tell_commands(look, &denied, &unknown);
    if (code == ETHOS_OK && (denied.size > 0 || unknown.size > 0))
        code = ETHOS_DENIED;
    str_release(&denied);
    str_release(&unknown);
    return code;
}

/* ---- the clock ------------------------------------------------------------------------------ */

static int look_at_clock(const struct redis_check *look, struct ethos_error *error)
{
    struct redis *self = look->self;
    struct redis_request request;
    redisReply *reply = NULL;
    char problem[120];
    request_init(&request);
    request_say(&request, 1, "TIME");
    int code = redis_ask(self, &request, &reply, error);
    request_release(&request);
    if (code == ETHOS_DENIED) // what nobody may know is no fault
        return ETHOS_OK;
    if (code == ETHOS_OK && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
        int64_t theirs = strtoll(reply->element[0]->str, NULL, 10) * 1000;
        int64_t apart = theirs - self->host->now_ms(self->host->arg);
        snprintf(problem, sizeof problem, "its clock is %" PRId64 " seconds %s this one",
                 (apart < 0 ? -apart : apart) / 1000, apart < 0 ? "behind" : "ahead of");
        if (apart > CLOCK_MS || apart < -CLOCK_MS - 1000)
            report_redis_finding(look, ETHOS_FINDING_WARNING, problem,
                                 "synchronize the clocks of both machines (NTP)");
    }
    freeReplyObject(reply);
    return code;
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* Texts of one scope whose size is not what its stamp says; an evicted one has none. */
struct texts {
    const struct redis_check *look;
    const char *scope;
    struct redis_request request;
    struct str keys; /* each terminated */
    struct str sizes;
};

static int note_text(void *arg, const struct ethos_entry *entry)
{
    struct texts *texts = arg;
    char name[REDIS_KEY_SIZE];
    redis_key(texts->look->self, texts->scope, "text:", entry->key, name);
    request_say(&texts->request, 3, "2", "STRLEN", name);
    str_add(&texts->keys, view_of(entry->key, strlen(entry->key) + 1));
    return str_add(&texts->sizes, view_of((const char *)&entry->bytes, sizeof entry->bytes));
}

static void compare_text_sizes(const struct texts *texts, const redisReply *sizes)
{
    const char *key = texts->keys.data;
    for (size_t i = 0; i < sizes->elements; i++, key += strlen(key) + 1) {
        uint64_t expected;
        char problem[ETHOS_MAX_SCOPE + ETHOS_MAX_KEY + 64];
        memcpy(&expected, texts->sizes.data + i * sizeof expected, sizeof expected);
        if (sizes->element[i]->type == REDIS_REPLY_INTEGER &&
            (uint64_t)sizes->element[i]->integer == expected)
            continue;
        snprintf(problem, sizeof problem, "%s of %s is missing or was changed by another program",
                 key, texts->scope);
        report_redis_finding(texts->look, ETHOS_FINDING_ERROR, problem,
                             "ethos memory restore restores its last version");
    }
}

static int look_at_scope(void *arg, const char *scope)
{
    struct texts texts = {.look = arg, .scope = scope};
    struct redis *self = texts.look->self;
    redisReply *reply = NULL;
    request_init(&texts.request);
    str_init(&texts.keys, REDIS_MAX_REQUEST);
    str_init(&texts.sizes, REDIS_MAX_REQUEST);
    request_string(&texts.request, "0");
    int code = texts_list(&self->store, scope, note_text, &texts, texts.look->error);
    if (code == ETHOS_OK)
        code = ask_script(self, SCRIPT_READ, &texts.request, NULL, &reply, texts.look->error);
    if (code == ETHOS_OK && reply->type == REDIS_REPLY_ARRAY)
        compare_text_sizes(&texts, reply);
    freeReplyObject(reply);
    request_release(&texts.request);
    str_release(&texts.keys);
    str_release(&texts.sizes);
    return code;
}

/* ---- the slot ------------------------------------------------------------------------------- */

/* A new connection, so that what the server says of itself is of now. */
int check_look(struct ethos_store *store, int fix, ethos_finding_fn *each, void *arg,
               struct ethos_error *error)
{
    struct redis_check look = {
        .self = (struct redis *)store, .each = each, .arg = arg, .error = error};
    (void)fix;
    redis_begin(look.self);
    snprintf(look.subject, sizeof look.subject, "Redis at %s", look.self->place.shown);
    link_close(&look.self->link);
    int code = ask_nothing(look.self, error);
    if (code != ETHOS_OK)
        return code;
    look_at_settings(&look);
    code = look_at_commands(&look, error);
    if (code == ETHOS_DENIED)
        return ETHOS_OK;
    if (code == ETHOS_OK)
        code = look_at_clock(&look, error);
    return code == ETHOS_OK ? texts_scopes(store, look_at_scope, &look, error) : code;
}

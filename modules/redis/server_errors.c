/*
 * server_errors.c: what a server's error means to us. The first word of it is a code; what follows is
 * for people, and is repeated only where it holds no word of the request.
 */
#include <stdio.h>

#include "base/err.h"
#include "redis.h"

#define SHOWN 160 /* bytes of a server's own text in a message */

static const struct refusal {
    const char *word;
    int code;
    bool again;
    const char *problem;
    const char *hint; /* NULL: the rights that a store needs */
} refusals[] = {
    {"LOADING", ETHOS_BUSY, true, "is still loading its data", "try again in a moment"},
    {"BUSY", ETHOS_BUSY, true, "is busy with a script of somebody", "try again in a moment"},
    {"MASTERDOWN", ETHOS_BUSY, true, "is a replica that has lost its primary",
     "memory.options.url names the primary"},
    {"ERR max number of clients", ETHOS_BUSY, true, "has as many clients as it takes",
     "raise maxclients"},
    {"ERR Background append only", ETHOS_BUSY, true, "is rewriting its append-only file already",
     "BGREWRITEAOF when it has ended"},
    {"OOM", ETHOS_BUSY, false, "has no memory left for a change", "raise maxmemory"},
    {"MISCONF", ETHOS_BUSY, false, "takes no change while it cannot write to its disk",
     "its log and INFO persistence say why"},
    {"NOREPLICAS", ETHOS_BUSY, false, "takes no change without its replicas",
     "min-replicas-to-write says how many it wants"},
    {"READONLY", ETHOS_BUSY, false, "is a replica and takes no change",
     "memory.options.url names the primary"},
    {"NOAUTH", ETHOS_DENIED, false, "requires a password",
     "memory.options.passwordFile, and memory.options.user where there are users"},
    {"WRONGPASS", ETHOS_DENIED, false, "does not know this user with this password",
     "memory.options.user and memory.options.passwordFile"},
    {"NOPERM", ETHOS_DENIED, false, "does not let this user do what a store needs", NULL},
    {"ERR The user executing the script", ETHOS_DENIED, false,
     "does not let this user do what a store needs", NULL},
    {"ERR unknown command", ETHOS_UNSUPPORTED, false, "lacks a command that a store needs",
     REFUSAL_RENAMED "; ethos doctor names it"},
    {"ERR Unknown Redis command called from script", ETHOS_UNSUPPORTED, false,
     "lacks a command that a store needs", REFUSAL_RENAMED "; ethos doctor names it"},
    {"DENIED", ETHOS_DENIED, false, "is in protected mode", "set a password there"},
    {"WRONGTYPE", ETHOS_CORRUPT, false, "has keys under our prefix that are not ours",
     "choose another memory.options.prefix"},
    {"ROWMISSING", ETHOS_CORRUPT, false, "has lost a part of the history",
     "was it evicted, or changed by somebody else?"},
    {"MOVED", ETHOS_UNSUPPORTED, false, "runs in cluster mode", "use one without cluster-enabled"},
    {"ASK", ETHOS_UNSUPPORTED, false, "runs in cluster mode", "use one without cluster-enabled"},
    {"CROSSSLOT", ETHOS_UNSUPPORTED, false, "runs in cluster mode",
     "use one without cluster-enabled"},
    {"CLUSTERDOWN", ETHOS_UNSUPPORTED, false, "runs in cluster mode",
     "use one without cluster-enabled"},
    {"TRYAGAIN", ETHOS_UNSUPPORTED, false, "runs in cluster mode",
     "use one without cluster-enabled"},
    {"ERR DB index", ETHOS_INVALID, false, "has no database of this number",
     "memory.options.url ends in it"},
    {"NOSCRIPT", ETHOS_EXISTS, false, "does not know the script", ""},
};

static bool is_error_word(const char *text, const char *word)
{
    size_t size = strlen(word);
    return strncmp(text, word, size) == 0 && (text[size] == 0 || text[size] == ' ');
}

/*
 * Redis 6 puts the error of a command in a script behind its own: "ERR Error running script ...:
 * -OOM ...".
 */
static bool is_in_script(const char *text, const char *word)
{
    if (!is_error_word(text, "ERR Error running script"))
        return false;
    for (const char *at = strstr(text, ": -"); at; at = strstr(at + 1, ": -"))
        if (is_error_word(at + 3, word))
            return true;
    return false;
}

void refusal_rights(const struct redis *self, char out[REFUSAL_RIGHTS_SIZE])
{
    snprintf(out, REFUSAL_RIGHTS_SIZE,
             "redis-cli ACL SETUSER %s ~%s:* +@read +@write +@scripting +@connection +info +time "
             "+config|get +bgrewriteaof",
             self->user ? self->user : "default", self->prefix);
}

int refusal_set(const struct redis *self, const redisReply *reply, bool *out_again,
                struct ethos_error *error)
{
    *out_again = false;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *refusal = &refusals[i];
        if (!is_error_word(reply->str, refusal->word) && !is_in_script(reply->str, refusal->word))
            continue;
        *out_again = refusal->again;
        int code = err_set(error, refusal->code, "Redis at %s %s", self->place.shown,
                           refusal->problem);
        char rights[REFUSAL_RIGHTS_SIZE];
        refusal_rights(self, rights);
        return err_hint(error, code, "%s", refusal->hint ? refusal->hint : rights);
    }
    const char *arguments = strstr(reply->str, ", with args");
    size_t size = arguments ? (size_t)(arguments - reply->str) : reply->len;
    return err_set(error, ETHOS_IO, "Redis at %s: %.*s", self->place.shown,
                   (int)(size < SHOWN ? size : SHOWN), reply->str);
}

int refusal_odd(const struct redis *self, const char *what, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_CORRUPT, "Redis at %s: %s has changed unexpectedly",
                       self->place.shown, what);
    return err_hint(error, code,
                    "it may have been evicted, or changed by another program; run ethos doctor");
}

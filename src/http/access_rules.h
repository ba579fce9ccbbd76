/*
 * access_rules.h: who may come in: headers and the credential that they name in, a verdict out. Pure.
 *
 * A browser sends requests on behalf of any page, and a name can be made to point at this machine. So what
 * names another host, or comes from another page, is refused before anything is looked at.
 */
#ifndef ETHOS_HTTP_ACCESS_RULES_H
#define ETHOS_HTTP_ACCESS_RULES_H

#include "http/http.h"

/* What this server answers to. Lists are separated by commas, and may be NULL. */
struct gate_rules {
    unsigned port;
    const char *hosts;   /* further ones: "name", with our port or as it stands; or "name:port" */
    const char *origins; /* web origins that may call: "https://name:port" */
};

/* A request; headers that were not sent are NULL. */
struct gate_ask {
    enum http_method method;
    const char *host, *origin, *referer, *fetch_site, *type;
    bool ours; /* gate_host was asked, and said yes */
    bool has_body;
    bool open; /* the route needs no credential */
    enum http_who who;
    const char *key_origins; /* of the key; NULL or "": any caller */
};

enum gate_verdict {
    GATE_PASS,
    GATE_HOST,       /* 421: not for us */
    GATE_FOREIGN,    /* 403: another page asks */
    GATE_KEY_ORIGIN, /* 403: the key is not for this origin */
    GATE_NOBODY,     /* 401: no credential */
    GATE_FORGED,     /* 401: a cookie, but no page of ours that asks */
    GATE_TYPE,       /* 415: a body that is no JSON */
};

/* Whether a Host header names us. If not, credentials are not looked at: no page guesses through a name. */
bool gate_host(const struct gate_rules *rules, struct ethos_view host);

enum gate_verdict gate_admit(const struct gate_rules *rules, const struct gate_ask *ask);

/* The answer to a verdict other than GATE_PASS. */
const struct http_error *gate_error(enum gate_verdict verdict);

/* Whether a page of this origin may read the answer (CORS). */
bool gate_shares(const struct gate_rules *rules, const struct gate_ask *ask);

/* Whether a list separated by commas has this word, case ignored. */
bool gate_listed(const char *list, struct ethos_view word);

/* Whether the method changes something. */
bool gate_writes(enum http_method method);

#endif

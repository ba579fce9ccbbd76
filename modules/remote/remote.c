/*
 * remote.c: the backend `remote`: options, opening, the table; check.
 */
#include "remote.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/wire.h"

static const struct ethos_option options[] = {
    {"url", ETHOS_OPTION_STRING, NULL, "address of the server, such as https://memory.example.org"},
    {"key", ETHOS_OPTION_SECRET, NULL, "API key of the server with the scope store"},
    {"caFile", ETHOS_OPTION_STRING, NULL,
     "certificates of the authorities that are trusted (default: those of the system)"},
    {"connectTimeoutMs", ETHOS_OPTION_INTEGER, "5000", "how long a connection may take"},
    {"timeoutMs", ETHOS_OPTION_INTEGER, "0",
     "how long one answer may take (0: as long as the whole call)"},
    {"insecure", ETHOS_OPTION_BOOLEAN, "false",
     "http:// to another machine, where others can read the key"},
    {NULL, ETHOS_OPTION_STRING, NULL, NULL}};

static const char *remote_setup_value(const struct ethos_setup *setup, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < setup->setting_count; i++)
        if (strcmp(setup->settings[i].name, name) == 0)
            value = setup->settings[i].value;
    for (const struct ethos_option *row = options; !value && row->name; row++)
        if (strcmp(row->name, name) == 0)
            value = row->fallback;
    return value;
}

static int take_ms(const struct ethos_setup *setup, const char *name, long least, uint32_t *out,
                   struct ethos_error *error)
{
    char *end;
    const char *text = remote_setup_value(setup, name);
    long ms = strtol(text, &end, 10);
    if (*end || end == text || ms < least || ms > REMOTE_MOST_TIMEOUT_MS)
        return err_set(error, ETHOS_INVALID, "memory.options.%s: %s is not between %ld and %d",
                       name, text, least, REMOTE_MOST_TIMEOUT_MS);
    *out = (uint32_t)ms;
    return ETHOS_OK;
}

/* ---- the address ------------------------------------------------------------------------------------ */

static int bad_url(const char *why, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_INVALID, "memory.options.url: %s", why);
    return err_hint(error, code, "use https://HOST, with a port or a path if needed");
}

static bool is_loopback_host(const char *host)
{
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (strncmp(host, "127.", 4) == 0 && host[strspn(host, "0123456789.")] == 0);
}

/* Parts that an address of ours has not; the name of its host is given. Free it with curl_free. */
static const char *find_url_fault(CURLU *url, const char *text, char **scheme, char **host)
{
    static const CURLUPart foreign[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY,
                                        CURLUPART_FRAGMENT};
    char *part;
    if (strlen(text) > REMOTE_MAX_URL || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_SCHEME, scheme, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_HOST, host, 0) != CURLUE_OK)
        return "not an address";
    if (strcmp(*scheme, "http") != 0 && strcmp(*scheme, "https") != 0)
        return "must begin with https:// or http://";
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (curl_url_get(url, foreign[i], &part, 0) == CURLUE_OK) {
            curl_free(part);
            return "must be an address alone, without a name, a query or a fragment";
        }
    }
    return NULL;
}

static int set_url(struct remote_link *link, const char *text, bool insecure,
                   struct ethos_error *error)
{
    char *scheme = NULL, *host = NULL;
    CURLU *url = curl_url();
    const char *wrong = url ? find_url_fault(url, text, &scheme, &host) : NULL;
    int code = !url ? err_nomem(error) : wrong ? bad_url(wrong, error) : ETHOS_OK;
    link->local = code == ETHOS_OK && is_loopback_host(host);
    if (code == ETHOS_OK && strcmp(scheme, "http") == 0 && !link->local && !insecure) {
        code = err_set(error, ETHOS_DENIED,
                       "memory.options.url: http:// to another machine exposes the key");
        err_hint(error, code, "use https://, or set memory.options.insecure to true");
    }
    size_t size = strlen(text);
    while (code == ETHOS_OK && size > 0 && text[size - 1] == '/')
        size--;
    if (code == ETHOS_OK && !(link->url = strndup(text, size)))
        code = err_nomem(error);
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(url);
    return code;
}

/* ---- the key ------------------------------------------------------------------------------------------ */

/* Of a key of ours the beginning is public; of anything else nothing is. */
static void name_key(struct remote_link *link, const char *key)
{
    bool ours = strncmp(key, "sk-ethos-", 9) == 0 && strlen(key) > 2 * REMOTE_KEY_PUBLIC;
    memcpy(link->prefix, "given", sizeof "given");
    if (ours) {
        memcpy(link->prefix, key, REMOTE_KEY_PUBLIC);
        memcpy(link->prefix + REMOTE_KEY_PUBLIC, "...", 4);
    }
}

static int set_key(struct remote_link *link, const char *key, struct ethos_error *error)
{
    static const char bearer[] = "Authorization: Bearer ";
    bool ok = *key;
    for (const char *at = key; *at; at++)
        ok = ok && *at > ' ' && *at <= '~';
    if (!ok)
        return err_set(error, ETHOS_INVALID, "memory.options.key: not an API key");
    name_key(link, key);
    link->credential = malloc(sizeof bearer + strlen(key));
    if (!link->credential)
        return err_nomem(error);
    memcpy(link->credential, bearer, sizeof bearer);
    memcpy(link->credential + sizeof bearer - 1, key, strlen(key) + 1);
    return ETHOS_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static int require_setting(const char *value, const char *name, struct ethos_error *error)
{
    return value ? ETHOS_OK
                 : err_set(error, ETHOS_INVALID,
                           "memory.options.%s: required by remote, but missing", name);
}

static int set_up_remote(struct remote *self, const struct ethos_setup *setup,
                         struct ethos_error *error)
{
    struct remote_link *link = &self->link;
    const char *url = remote_setup_value(setup, "url"), *key = remote_setup_value(setup, "key"),
               *ca_file = remote_setup_value(setup, "caFile");
    bool insecure = strcmp(remote_setup_value(setup, "insecure"), "true") == 0;
    str_init(&link->body, WIRE_MAX_BODY);
    link->reach = reach_make(setup);
    int code = take_ms(setup, "timeoutMs", 0, &link->timeout_ms, error);
    if (code == ETHOS_OK)
        code = take_ms(setup, "connectTimeoutMs", 1, &link->connect_ms, error);
    if (code == ETHOS_OK)
        code = require_setting(url, "url", error);
    if (code == ETHOS_OK)
        code = require_setting(key, "keyFile", error);
    if (code == ETHOS_OK)
        code = set_url(link, url, insecure, error);
    if (code == ETHOS_OK)
        code = set_key(link, key, error);
    if (code == ETHOS_OK && ca_file && !(link->ca_file = strdup(ca_file)))
        code = err_nomem(error);
    if (code == ETHOS_OK && !(link->curl = curl_easy_init()))
        code = err_nomem(error);
    return code;
}

static bool offers(const json_t *info, const char *name)
{
    size_t index;
    json_t *word;
    json_array_foreach (json_object_get(info, "offers"), index, word)
        if (json_is_string(word) && strcmp(json_string_value(word), name) == 0)
            return true;
    return false;
}

static void take_capabilities(struct remote *self, const json_t *info)
{
    self->known = true;
    self->once = offers(info, "once");
    self->settles = offers(info, "history");
    self->store.capabilities = (self->once ? (uint32_t)ETHOS_STORE_ONCE : 0u) |
                               (offers(info, "durable") ? (uint32_t)ETHOS_STORE_DURABLE : 0u) |
                               (self->settles ? (uint32_t)ETHOS_STORE_HISTORY : 0u);
}

/* What the server's store lacks is lacking here; after opening the host counts on the slots. */
static void take_offers(struct remote *self, const json_t *info)
{
    struct ethos_store_ops *ops = &self->ops;
    ops->history = self->settles ? ops->history : NULL;
    ops->version = self->settles ? ops->version : NULL;
    ops->scopes = offers(info, "scopes") ? ops->scopes : NULL;
    ops->set_aside = offers(info, "setAside") ? ops->set_aside : NULL;
    ops->keep = offers(info, "keep") ? ops->keep : NULL;
    ops->graft = offers(info, "graft") ? ops->graft : NULL;
    bool conflicts = offers(info, "conflicts");
    ops->conflicts = conflicts ? ops->conflicts : NULL;
    ops->conflict_read = conflicts ? ops->conflict_read : NULL;
    ops->conflict_drop = conflicts ? ops->conflict_drop : NULL;
}

static int ask_info(struct remote *self, int64_t deadline, json_t **out, struct ethos_error *error)
{
    const struct remote_call ask = {"info", "", NULL, NULL, ASK_READ};
    int code = link_ask(&self->link, &ask, deadline, out, error);
    if (code != ETHOS_OK)
        return code;
    uint64_t version = wire_number(*out, "wire", 0);
    if (version == WIRE_VERSION) {
        take_capabilities(self, *out);
        return ETHOS_OK;
    }
    code = err_set(error, ETHOS_UNSUPPORTED, "%s: uses version %llu of the protocol, not %d",
                   self->link.url, (unsigned long long)version, WIRE_VERSION);
    return err_hint(error, code, "install the same version of ethos on both sides");
}

int remote_ask(struct remote *self, const struct remote_call *ask, int64_t deadline, json_t **out,
               struct ethos_error *error)
{
    json_t *info = NULL;
    int64_t brief = link_deadline_texts(&self->link);
    int code = self->known ? ETHOS_OK
                           : ask_info(self, brief < deadline ? brief : deadline, &info, error);
    json_decref(info);
    *out = NULL;
    return code == ETHOS_OK ? link_ask(&self->link, ask, deadline, out, error) : code;
}

static void remote_close(struct ethos_store *store)
{
    struct remote *self = remote_of(store);
    watch_free(self->watch);
    curl_easy_cleanup(self->link.curl);
    curl_multi_cleanup(self->link.multi);
    if (self->link.credential)
        explicit_bzero(self->link.credential, strlen(self->link.credential));
    free(self->link.credential);
    free(self->link.url);
    free(self->link.ca_file);
    str_release(&self->link.body);
    cache_release(&self->cache);
    free(self);
    curl_global_cleanup();
}

static int remote_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                       struct ethos_error *error);

/* ---- check ---------------------------------------------------------------------------------------------- */

static void report_remote_finding(ethos_finding_fn *each, void *arg, const char *subject,
                                  const char *problem, const char *remedy)
{
    const struct ethos_finding finding = {ETHOS_FINDING_WARNING, subject, problem, remedy};
    each(arg, &finding);
}

/* What is wrong between here and there; what is wrong there, doctor tells there. */
static int remote_check(struct ethos_store *store, int fix, ethos_finding_fn *each, void *arg,
                        struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    json_t *info = NULL;
    (void)fix;
    int code = ask_info(self, link_deadline(&self->link), &info, error);
    int64_t skew = (int64_t)wire_number(info, "timeMs", 0) - self->host->now_ms(self->host->arg);
    if (code == ETHOS_OK && (skew > REMOTE_SKEW_MS || skew < -REMOTE_SKEW_MS))
        report_remote_finding(each, arg, self->link.url,
                              "its clock and ours differ by more than 5 seconds",
                              "synchronize both with NTP");
    if (code == ETHOS_OK && !offers(info, "durable"))
        report_remote_finding(each, arg, self->link.url,
                              "acknowledged writes may be lost in a power failure",
                              "set durability to full on the server");
    if (code == ETHOS_OK && !offers(info, "once"))
        report_remote_finding(each, arg, self->link.url,
                              "it keeps no operation ids: after a lost answer it is unknown "
                              "whether the change was made",
                              "use a store that keeps them on the server");
    if (code == ETHOS_OK && !self->link.local && strncmp(self->link.url, "http:", 5) == 0)
        report_remote_finding(each, arg, self->link.url, "memory and the key are sent unencrypted",
                              "put TLS in front of the server and use https://");
    json_decref(info);
    return code;
}

/* ---- the table -------------------------------------------------------------------------------------------- */

static const struct ethos_store_ops remote_ops = {
    .abi = ETHOS_ABI,
    .name = "remote",
    .options = options,
    .open = remote_open,
    .close = remote_close,
    .read = remote_read,
    .write = remote_write,
    .remove = remote_remove,
    .list = remote_list,
    .update = remote_update,
    .check = remote_check,
    .history = remote_history,
    .version = remote_version,
    .set_aside = remote_set_aside,
    .conflicts = remote_conflicts,
    .conflict_read = remote_conflict_read,
    .conflict_drop = remote_conflict_drop,
    .keep = remote_keep,
    .gather = remote_gather,
    .scopes = remote_scopes,
    .watch = remote_watch,
    .graft = remote_import_commits,
};

static int remote_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                       struct ethos_error *error)
{
    json_t *info = NULL;
    struct ethos_error why = {0};
    struct remote *self = calloc(1, sizeof *self);
    if (!self || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(self);
        return err_nomem(error);
    }
    self->ops = remote_ops;
    self->store.ops = &self->ops;
    self->store.capabilities = ETHOS_STORE_ONCE | ETHOS_STORE_HISTORY; // until it has told
    self->host = setup->host;
    int code = set_up_remote(self, setup, error);
    if (code == ETHOS_OK)
        code = ask_info(self, link_deadline_texts(&self->link), &info, &why);
    if (code == ETHOS_OK)
        take_offers(self, info);
    else if (why.code != ETHOS_OK && error)
        *error = why;
    if (code == ETHOS_BUSY && !self->link.reach.once)
        code = ETHOS_OK; // it is not there now, which the first call tells
    if (code == ETHOS_OK)
        *out_store = &self->store;
    else
        remote_close(&self->store);
    json_decref(info);
    return code;
}

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "remote",
    .store = &remote_ops,
};

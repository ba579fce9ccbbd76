/*
 * auth.c: who is asking: browsers by their cookies, programs by their keys.
 */
#include "http/auth.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "http/server.h"
#include "ops/admin/api_keys.h"
#include "ops/key_limits.h"
#include "ops/shared_handles.h"

#define MINUTE_MS 60000
#define MAX_KEYS 4096
#define USED_MS 3600000  /* between two notes that a key is used */
#define UNNOTED_MS 60000 /* before one that failed is tried again */

/* A key, or a browser. */
struct auth_key {
    char hash[HASH_HEX_SIZE];
    char prefix[AUTH_PREFIX_SIZE];
    bool browser;
    int64_t ends_ms; /* of a browser: when its cookie does */
    char actor[AUTH_NAME_SIZE];
    char origins[AUTH_ORIGINS_SIZE];
    char only[AUTH_ONLY_SIZE]; /* "personality:a,user:b": with OP_LIMITED */
    unsigned rights;
    bool used;       /* since the last look */
    int64_t used_ms; /* when the store was last told, or knew, that it is; 0: never */
};

/* A credential that was wrong. */
struct failure {
    char hash[HASH_HEX_SIZE];
    int64_t at;
};

struct keys {
    struct auth_key *rows;
    size_t count;
};

struct auth {
    struct http *http;
    pthread_mutex_t looking; /* at the store, which takes its time; taken before the other one */
    struct ethos *ethos;     /* to look with; NULL until first needed */
    pthread_mutex_t mutex;   /* of all that follows, briefly: who has a cookie waits for no store */
    struct login *login;
    struct keys keys;
    uint64_t version;
    _Atomic int64_t looked; /* when; 0: never; one that did not answer: later than that */
    int64_t read;           /* when keys were last read, or were those of before */
    bool away;              /* the store did not answer: only a worker asks it again */
    _Atomic uint64_t state; /* another number whenever keys or browsers may have changed */
    struct worker_job note; /* that keys are used */
    bool noting;
    struct worker_job look; /* at the keys */
    bool sent;              /* to look */
    struct failure failures[AUTH_FAILURES];
};

/* ---- wrong credentials --------------------------------------------------------------------------------- */

/* The same wrong one again teaches nobody anything, and is not counted: a page that was left open. */
static bool is_throttled(const struct auth *self, int64_t now)
{
    size_t recent = 0;
    for (size_t i = 0; i < AUTH_FAILURES; i++)
        recent += self->failures[i].at && now - self->failures[i].at < MINUTE_MS;
    return recent == AUTH_FAILURES;
}

static bool has_failed(const struct auth *self, const char hash[HASH_HEX_SIZE])
{
    for (size_t i = 0; i < AUTH_FAILURES; i++)
        if (strcmp(self->failures[i].hash, hash) == 0)
            return true;
    return false;
}

/* Whether it is one too many. */
static bool count_failed_login(struct auth *self, const char hash[HASH_HEX_SIZE])
{
    int64_t now = os_monotonic_ms();
    struct failure *oldest = self->failures;
    if (has_failed(self, hash))
        return false;
    if (is_throttled(self, now))
        return true;
    for (size_t i = 0; i < AUTH_FAILURES; i++)
        if (self->failures[i].at < oldest->at)
            oldest = &self->failures[i];
    oldest->at = now;
    memcpy(oldest->hash, hash, HASH_HEX_SIZE);
    return false;
}

/* ---- keys ------------------------------------------------------------------------------------------------ */

/* The rights of a list of scopes, and its limits. Limits that cannot be read whole leave no right. */
static unsigned scope_rights(const char *scopes, char only[AUTH_ONLY_SIZE])
{
    const struct ethos_view mark = VIEW(LIMITS_SCOPE), limit = VIEW(LIMITS_ONLY);
    unsigned open = 0, limited = 0;
    enum op_right right;
    struct str list;
    str_init(&list, AUTH_ONLY_SIZE - 1);
    for (const char *at = scopes; *at; at += *at == ',') {
        size_t size = strcspn(at, ",");
        struct ethos_view word = view_trim(view_of(at, size));
        bool marked = view_starts(word, mark);
        if (view_starts(word, limit))
            str_printf(&list, "%s%.*s", list.size ? "," : "",
                       VIEW_ARG(view_from(word, limit.size)));
        else if (op_right_parse(marked ? view_from(word, mark.size) : word, &right))
            *(marked ? &limited : &open) |= OP_RIGHT(right);
        at += size;
    }
    bool whole = str_code(&list) == ETHOS_OK;
    if (whole && list.size > 0)
        snprintf(only, AUTH_ONLY_SIZE, "%s", list.data);
    unsigned rights = !whole ? 0 : list.size > 0 ? limited | open | OP_LIMITED : open;
    str_release(&list);
    return rights;
}

/* A browser is the owner's, until its cookie ends. */
static void make_browser(const struct ethos_key *row, struct auth_key *key)
{
    int64_t made_ms = 0;
    clock_parse(view_str(row->created_at), 0, false, &made_ms, NULL);
    key->browser = true;
    key->ends_ms = made_ms + LOGIN_DAYS_MS;
    key->rights = (OP_RIGHT(OP_OWNER) << 1) - 1;
    snprintf(key->actor, sizeof key->actor, "owner");
}

static void make_program(const struct ethos_key *row, struct auth_key *key)
{
    snprintf(key->actor, sizeof key->actor, "key:%s", row->name);
    snprintf(key->origins, sizeof key->origins, "%s", row->origins);
    key->rights = scope_rights(row->scopes, key->only) | (row->agent ? OP_AGENT : 0);
}

/* A list that does not fit would be a shorter one: such a key is not taken. */
static int add_known_key(void *arg, const struct ethos_key *row)
{
    struct keys *self = arg;
    struct auth_key key = {0};
    if (row->revoked_at || strlen(row->hash) != HASH_HEX_SIZE - 1 ||
        strlen(row->origins) >= sizeof key.origins || strlen(row->prefix) >= sizeof key.prefix ||
        self->count == MAX_KEYS)
        return ETHOS_OK;
    struct auth_key *rows = realloc(self->rows, (self->count + 1) * sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->rows = rows;
    memcpy(key.hash, row->hash, sizeof key.hash);
    snprintf(key.prefix, sizeof key.prefix, "%s", row->prefix);
    if (view_starts(view_str(row->prefix), VIEW(ETHOS_BROWSER_PREFIX)))
        make_browser(row, &key);
    else
        make_program(row, &key);
    if (row->last_used_at)
        clock_parse(view_str(row->last_used_at), 0, false, &key.used_ms, NULL);
    self->rows[self->count++] = key;
    return ETHOS_OK;
}

/* Holding `looking`. The keys as they are, unless they are those of *version. */
static int read_keys(struct auth *self, uint64_t *version, struct keys *out,
                     struct ethos_error *error)
{
    struct ethos_sessions *store;
    uint64_t known = *version;
    int code = self->ethos ? ETHOS_OK
                           : shared_handles_open_once(&self->http->options, ETHOS_ATTEMPT_MS,
                                                      &self->ethos, error);
    if (code == ETHOS_OK)
        code = ethos_sessions(self->ethos, &store, error);
    if (code != ETHOS_OK || !op_store_has_keys(store))
        return code;
    code = store->ops->keys_version(store, version, error);
    if (code != ETHOS_OK || (self->looked && !self->away && *version == known))
        return code;
    return store->ops->keys(store, add_known_key, out, error);
}

/* Holding the mutex. Empties *keys. */
static void put_keys(struct auth *self, struct keys *keys)
{
    free(self->keys.rows);
    self->keys = *keys;
    *keys = (struct keys){0};
    self->state++;
    http_ring(self->http); // a stream whose key is gone finds out
}

/* Holding the mutex. */
static size_t count_programs(const struct auth *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->keys.count; i++)
        count += !self->keys.rows[i].browser;
    return count;
}

/*
 * Holding the mutex. Keys that can no longer be read let nobody in. Browsers that were known stay: who owns
 * all this can look what is wrong.
 */
static void forget_keys(struct auth *self)
{
    size_t left = 0;
    if (!self->away || count_programs(self) == 0 || os_tick_ms() - self->read < AUTH_KEEP_MS)
        return;
    for (size_t i = 0; i < self->keys.count; i++)
        if (self->keys.rows[i].browser)
            self->keys.rows[left++] = self->keys.rows[i];
    self->keys.count = left;
    self->state++;
    http_ring(self->http);
}

/* Holding both: what a look at `now` found. */
static void take_keys(struct auth *self, struct keys *keys, uint64_t version, int64_t now)
{
    if (!self->looked || version != self->version || self->away)
        put_keys(self, keys);
    self->version = version;
    self->looked = self->read = now;
    self->away = false;
}

/* Holding both. A store that does not answer is left alone as long as that took. */
static void miss_keys(struct auth *self, int64_t now)
{
    self->looked = now + 2 * (os_tick_ms() - now);
    self->away = true;
    forget_keys(self);
}

/* Holding `looking`. */
static void read_changed_keys(struct auth *self)
{
    int64_t now = os_tick_ms();
    struct ethos_error error = {0};
    struct keys keys = {0};
    uint64_t version = self->version;
    int code = read_keys(self, &version, &keys, &error);
    if (code != ETHOS_OK && !self->away)
        http_log(self->http, ETHOS_LOG_ERROR, "keys: %s", error.text);
    pthread_mutex_lock(&self->mutex);
    if (code == ETHOS_OK)
        take_keys(self, &keys, version, now);
    else
        miss_keys(self, now);
    pthread_mutex_unlock(&self->mutex);
    free(keys.rows);
}

/* Holding the mutex. */
static bool is_list_older(const struct auth *self, int64_t age_ms)
{
    return !self->looked || os_tick_ms() - self->looked >= age_ms;
}

static bool is_check_due(struct auth *self, int64_t age_ms)
{
    pthread_mutex_lock(&self->mutex);
    bool due = is_list_older(self, age_ms) && !self->away;
    pthread_mutex_unlock(&self->mutex);
    return due;
}

/* Unless the last look is younger, or the store is known not to answer; somebody else may have found that out. */
static void look_at_keys(struct auth *self, int64_t age_ms)
{
    if (!is_check_due(self, age_ms))
        return;
    pthread_mutex_lock(&self->looking);
    if (is_check_due(self, age_ms))
        read_changed_keys(self);
    pthread_mutex_unlock(&self->looking);
}

/* A worker's: the store may have to be waited for. */
static void run_look(struct worker_job *job)
{
    struct auth *self = (struct auth *)((char *)job - offsetof(struct auth, look));
    pthread_mutex_lock(&self->looking);
    read_changed_keys(self);
    pthread_mutex_unlock(&self->looking);
    pthread_mutex_lock(&self->mutex);
    self->sent = false;
    pthread_mutex_unlock(&self->mutex);
}

static struct auth_key *find_known_key(const struct auth *self, const char *hash)
{
    for (size_t i = 0; i < self->keys.count; i++)
        if (strcmp(self->keys.rows[i].hash, hash) == 0)
            return &self->keys.rows[i];
    return NULL;
}

/*
 * A key that is not known may have been made since the last look. One that was wrong before was looked
 * for then, and when there are too many wrong ones nobody gets a look of their own.
 */
static void look_for_key(struct auth *self, const char *hash)
{
    look_at_keys(self, AUTH_LOOK_MS);
    pthread_mutex_lock(&self->mutex);
    bool known = find_known_key(self, hash) || has_failed(self, hash) ||
                 is_throttled(self, os_monotonic_ms());
    pthread_mutex_unlock(&self->mutex);
    if (!known)
        look_at_keys(self, 0);
}

bool auth_has_keys(struct auth *self)
{
    look_at_keys(self, AUTH_LOOK_MS);
    pthread_mutex_lock(&self->mutex);
    bool some = count_programs(self) > 0 || self->away;
    pthread_mutex_unlock(&self->mutex);
    return some;
}

bool auth_lists_origin(struct auth *self, const char *origin)
{
    bool listed = false;
    look_at_keys(self, AUTH_LOOK_MS);
    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->keys.count && !listed; i++)
        listed = gate_listed(self->keys.rows[i].origins, view_str(origin));
    pthread_mutex_unlock(&self->mutex);
    return listed;
}

/* Holding the mutex. Whether the store should know that it is used. */
static bool is_to_note(const struct auth_key *key)
{
    return key->used && os_now_ms() - key->used_ms > USED_MS;
}

/*
 * Takes the next key that is used, and of which the store should know. However busy it is, and whether or not the
 * store's version of the keys tells of it, it is not taken again for an hour. Who remembers it looks again.
 */
static bool next_used(struct auth *self, char out[HASH_HEX_SIZE])
{
    bool found = false;
    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->keys.count && !found; i++) {
        struct auth_key *key = &self->keys.rows[i];
        found = is_to_note(key);
        self->state += key->used;
        key->used = false;
        if (found) {
            key->used_ms = os_now_ms();
            memcpy(out, key->hash, HASH_HEX_SIZE);
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return found;
}

/* A note failed: it is due again after UNNOTED_MS, whether or not the key is used again. */
static void unnote(struct auth *self, const char *hash)
{
    pthread_mutex_lock(&self->mutex);
    struct auth_key *key = find_known_key(self, hash);
    if (key) {
        key->used = true;
        key->used_ms = os_now_ms() - USED_MS + UNNOTED_MS;
    }
    pthread_mutex_unlock(&self->mutex);
}

/* A worker's: a write may have to wait. */
static void note_used(struct worker_job *job)
{
    struct auth *self = (struct auth *)((char *)job - offsetof(struct auth, note));
    char hash[HASH_HEX_SIZE];
    struct ethos *ethos = NULL;
    struct ethos_sessions *store;
    bool ready = http_open(self->http, &ethos, NULL) == ETHOS_OK &&
                 ethos_sessions(ethos, &store, NULL) == ETHOS_OK && op_store_has_keys(store);
    while (next_used(self, hash))
        if (!ready || store->ops->key_used(store, hash, NULL) != ETHOS_OK)
            unnote(self, hash);
    ethos_close(ethos);
    pthread_mutex_lock(&self->mutex);
    self->noting = false;
    pthread_mutex_unlock(&self->mutex);
}

/* Holding the mutex. */
static bool is_used(const struct auth *self)
{
    for (size_t i = 0; i < self->keys.count; i++)
        if (is_to_note(&self->keys.rows[i]))
            return true;
    return false;
}

/* ---- who is asking ----------------------------------------------------------------------------------------- */

/* The next cookie of ours in a header. */
static bool next_cookie(const char **at, struct ethos_view *out)
{
    const struct ethos_view name = VIEW(AUTH_COOKIE "=");
    while (*at && **at) {
        size_t size = strcspn(*at, ";");
        struct ethos_view pair = view_trim(view_of(*at, size));
        *at += size + ((*at)[size] == ';');
        if (view_starts(pair, name)) {
            *out = view_from(pair, name.size);
            return true;
        }
    }
    return false;
}

static bool is_key_expired(const struct auth_key *key)
{
    return key->browser && os_now_ms() >= key->ends_ms;
}

/* Holding the mutex. The key or the browser whose secret has the hash out->secret. */
static bool take_key(struct auth *self, bool browser, struct auth_found *out)
{
    struct auth_key *key = find_known_key(self, out->secret);
    if (!key || key->browser != browser || is_key_expired(key))
        return false;
    key->used = true;
    out->who = browser ? HTTP_BROWSER : HTTP_KEY;
    out->rights = key->rights;
    memcpy(out->actor, key->actor, sizeof out->actor);
    memcpy(out->origins, key->origins, sizeof out->origins);
    memcpy(out->only, key->only, sizeof out->only);
    return true;
}

/* The same, and nobody was found. */
static void take_nobody(struct auth *self, struct auth_found *out)
{
    out->unread |= self->away;
    out->throttled |= !self->away && count_failed_login(self, out->secret);
}

/* A browser that is known waits for no store. */
static void try_cookie(struct auth *self, struct ethos_view cookie, struct auth_found *out)
{
    hash_hex(cookie, out->secret);
    pthread_mutex_lock(&self->mutex);
    bool known = take_key(self, true, out);
    out->state = self->state;
    pthread_mutex_unlock(&self->mutex);
    if (known)
        return;
    look_for_key(self, out->secret);
    pthread_mutex_lock(&self->mutex);
    if (!take_key(self, true, out))
        take_nobody(self, out);
    out->state = self->state;
    pthread_mutex_unlock(&self->mutex);
}

static void try_cookies(struct auth *self, const char *header, struct auth_found *out)
{
    struct ethos_view cookie;
    while (out->who == HTTP_NOBODY && next_cookie(&header, &cookie))
        try_cookie(self, cookie, out);
}

static void try_key(struct auth *self, const char *header, struct auth_found *out)
{
    struct ethos_view secret = view_str(header);
    if (secret.size < 7 || !view_eq_nocase(view_of(header, 7), VIEW("Bearer ")))
        return;
    secret = view_trim(view_from(secret, 7));
    hash_hex(secret, out->secret);
    look_for_key(self, out->secret);
    pthread_mutex_lock(&self->mutex);
    if (!take_key(self, false, out))
        take_nobody(self, out);
    out->state = self->state;
    pthread_mutex_unlock(&self->mutex);
}

/* Names are copied as far as they go: most are much shorter than they may be. */
static void copy_found(struct auth_found *out, const struct auth_found *from)
{
    out->who = from->who;
    out->rights = from->rights;
    out->throttled = from->throttled;
    out->unread = from->unread;
    out->state = from->state;
    memcpy(out->secret, from->secret, sizeof out->secret);
    memcpy(out->actor, from->actor, strlen(from->actor) + 1);
    memcpy(out->origins, from->origins, strlen(from->origins) + 1);
    memcpy(out->only, from->only, strlen(from->only) + 1);
}

/*
 * Takes no lock: mostly it is the key of before, and nothing has changed. When they looked comes first: what
 * they found was put into the state before that.
 */
static bool is_last(struct auth *self, const struct auth_last *last, const char *header)
{
    return last->found.who == HTTP_KEY && os_tick_ms() - self->looked < AUTH_LOOK_MS &&
           last->found.state == self->state &&
           hash_same_secret(view_str(header), view_str(last->header));
}

static void note_last(struct auth_last *last, const char *header, const struct auth_found *found)
{
    size_t size = strlen(header);
    if (found->who != HTTP_KEY || size >= sizeof last->header)
        return;
    memcpy(last->header, header, size + 1);
    copy_found(&last->found, found);
}

void auth_find(struct auth *self, struct auth_last *last, const char *cookie,
               const char *authorization, struct auth_found *out)
{
    static const struct auth_found nobody;
    if (last && !cookie && authorization && is_last(self, last, authorization)) {
        copy_found(out, &last->found);
        return;
    }
    copy_found(out, &nobody);
    if (!cookie && !authorization)
        return;
    if (cookie)
        try_cookies(self, cookie, out);
    if (out->who == HTTP_NOBODY && authorization)
        try_key(self, authorization, out);
    if (last && !cookie && authorization)
        note_last(last, authorization, out);
}

/* Gives a job to a worker, unless it is under way: *sent tells, until the job is done. */
static void start_job_once(struct auth *self, struct worker_job *job, bool wanted, bool *sent)
{
    pthread_mutex_lock(&self->mutex);
    bool now = wanted && !*sent;
    *sent |= now;
    pthread_mutex_unlock(&self->mutex);
    if (!now || workers_give(self->http->workers, job))
        return;
    pthread_mutex_lock(&self->mutex);
    *sent = false;
    pthread_mutex_unlock(&self->mutex);
}

void auth_look(struct auth *self)
{
    pthread_mutex_lock(&self->mutex);
    forget_keys(self);
    bool used = is_used(self), old = is_list_older(self, AUTH_LOOK_MS);
    pthread_mutex_unlock(&self->mutex);
    start_job_once(self, &self->note, used, &self->noting);
    start_job_once(self, &self->look, old, &self->sent);
}

bool auth_holds(struct auth *self, struct auth_found *found)
{
    if (found->state == self->state)
        return true;
    pthread_mutex_lock(&self->mutex);
    found->state = self->state;
    const struct auth_key *key = find_known_key(self, found->secret);
    bool holds = key && !is_key_expired(key);
    pthread_mutex_unlock(&self->mutex);
    return holds;
}

/* ---- browsers ---------------------------------------------------------------------------------------------------- */

bool auth_throttled(struct auth *self)
{
    pthread_mutex_lock(&self->mutex);
    bool throttled = is_throttled(self, os_monotonic_ms());
    pthread_mutex_unlock(&self->mutex);
    return throttled;
}

void auth_wrong(struct auth *self, struct ethos_view secret)
{
    char hash[HASH_HEX_SIZE];
    hash_hex(secret, hash);
    pthread_mutex_lock(&self->mutex);
    count_failed_login(self, hash);
    pthread_mutex_unlock(&self->mutex);
}

/* The store, through the handle of this thread: what it commits, the handle that looks at keys sees. */
static int browser_store(struct http_call *call, struct ethos_sessions **out,
                         struct ethos_error *error)
{
    struct ethos *ethos;
    int code = http_ethos(call, &ethos, error);
    if (code == ETHOS_OK)
        code = ethos_sessions(ethos, out, error);
    if (code == ETHOS_OK && !op_store_has_keys(*out))
        code = err_set(
            error, ETHOS_UNSUPPORTED,
            "the session store of this home does not support browsers: nobody can sign in");
    return code;
}

int auth_add_browser(struct http_call *call, const char *name, char out_secret[HASH_HEX_SIZE],
                     struct ethos_error *error)
{
    struct ethos_sessions *store;
    char hash[HASH_HEX_SIZE], id[HASH_HEX_SIZE], prefix[AUTH_PREFIX_SIZE];
    int code = browser_store(call, &store, error);
    if (code == ETHOS_OK)
        code = login_secret(out_secret, error);
    if (code == ETHOS_OK)
        code = login_secret(id, error);
    if (code != ETHOS_OK)
        return code;
    hash_hex(view_str(out_secret), hash);
    snprintf(prefix, sizeof prefix, ETHOS_BROWSER_PREFIX "%.8s", id);
    const struct ethos_key key = {
        .prefix = prefix, .hash = hash, .name = name, .scopes = "", .origins = ""};
    code = store->ops->key_add(store, &key, error);
    if (code == ETHOS_OK)
        look_at_keys(call->http->auth, 0);
    return code;
}

int auth_end_browser(struct http_call *call, const struct auth_found *found,
                     struct ethos_error *error)
{
    struct auth *self = call->http->auth;
    struct ethos_sessions *store;
    char prefix[AUTH_PREFIX_SIZE] = "";
    pthread_mutex_lock(&self->mutex);
    const struct auth_key *key = find_known_key(self, found->secret);
    if (key)
        memcpy(prefix, key->prefix, sizeof prefix);
    pthread_mutex_unlock(&self->mutex);
    if (!*prefix)
        return ETHOS_OK; // another program changed it first
    int code = browser_store(call, &store, error);
    if (code == ETHOS_OK)
        code = store->ops->key_revoke(store, prefix, error);
    if (code == ETHOS_OK)
        look_at_keys(self, 0);
    return code;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

int auth_open(struct http *http, struct auth **out, struct ethos_error *error)
{
    struct auth *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->http = http;
    pthread_mutex_init(&self->looking, NULL);
    pthread_mutex_init(&self->mutex, NULL);
    self->note.run = note_used;
    self->look.run = run_look;
    int code = login_open(http->options.home, &self->login, error);
    if (code == ETHOS_OK)
        *out = self;
    else
        auth_close(self);
    return code;
}

void auth_close(struct auth *self)
{
    if (!self)
        return;
    ethos_close(self->ethos);
    login_close(self->login);
    free(self->keys.rows);
    pthread_mutex_destroy(&self->mutex);
    pthread_mutex_destroy(&self->looking);
    free(self);
}

struct login *auth_login(struct auth *self)
{
    return self->login;
}

/*
 * sessions_api_keys.c: the keys of programs that ask over the network.
 */
#include "base/err.h"
#include "core/sessions/normalize.h"
#include "sessions.h"

int pg_keys(struct ethos_sessions *sessions, ethos_key_fn *each, void *arg,
            struct ethos_error *error)
{
    struct pg_sessions *self = pg_sessions_of(sessions);
    PGresult *result;
    int code = pg_sessions_ask(self, PG_S_KEYS, NULL, &result, error);
    if (code != ETHOS_OK)
        return code;
    self->giving = true;
    for (int i = 0; code == ETHOS_OK && i < PQntuples(result); i++) {
        const struct ethos_key key = {.prefix = pg_text(result, i, 0),
                                      .hash = pg_text(result, i, 1),
                                      .name = pg_text(result, i, 2),
                                      .scopes = pg_text(result, i, 3),
                                      .origins = pg_text(result, i, 4),
                                      .agent = pg_bool(result, i, 5),
                                      .created_at = pg_text(result, i, 6),
                                      .last_used_at = pg_text(result, i, 7),
                                      .revoked_at = pg_text(result, i, 8)};
        code = each(arg, &key);
    }
    self->giving = false;
    PQclear(result);
    return code;
}

int pg_keys_version(struct ethos_sessions *sessions, uint64_t *out_version,
                    struct ethos_error *error)
{
    PGresult *result;
    int code = pg_sessions_ask(pg_sessions_of(sessions), PG_S_KEYS_VERSION, NULL, &result, error);
    if (code != ETHOS_OK)
        return code;
    *out_version = (uint64_t)pg_number(result, 0, 0);
    PQclear(result);
    return ETHOS_OK;
}

int pg_key_add(struct ethos_sessions *sessions, const struct ethos_key *key,
               struct ethos_error *error)
{
    struct pg_sessions *self = pg_sessions_of(sessions);
    struct pg_change change;
    struct form_key form;
    int code = form_key(key, pg_sessions_now(self), &form, error);
    if (code == ETHOS_OK)
        code = pg_change_init(&change, PG_S_KEY_ADD, "a key", error);
    if (code != ETHOS_OK)
        return code;
    key = &form.key;
    const char *texts[] = {key->prefix,  key->hash,       key->name,         key->scopes,
                           key->origins, key->created_at, key->last_used_at, key->revoked_at};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        pg_add_text(&change.params, texts[i]);
    pg_add_bool(&change.params, key->agent != 0);
    code = pg_change_send(self, &change, error);
    return code == ETHOS_EXISTS ? form_key_exists(key->prefix, error) : code;
}

/* What happens to a key at the time of now; done twice it is the same. */
static int change_key(struct pg_sessions *self, enum pg_statement which, const char *name,
                      struct ethos_error *error)
{
    struct pg_params params = {0};
    char now[CLOCK_ISO_SIZE];
    PGresult *result;
    clock_iso(pg_sessions_now(self), now);
    pg_add_text(&params, name);
    pg_add_text(&params, now);
    int code = pg_sessions_ask(self, which, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    bool known = PQntuples(result) > 0;
    PQclear(result);
    return known ? ETHOS_OK : form_no_key(name, error);
}

int pg_key_revoke(struct ethos_sessions *sessions, const char *prefix, struct ethos_error *error)
{
    return change_key(pg_sessions_of(sessions), PG_S_KEY_REVOKE, prefix, error);
}

int pg_key_used(struct ethos_sessions *sessions, const char *hash, struct ethos_error *error)
{
    return change_key(pg_sessions_of(sessions), PG_S_KEY_USED, hash, error);
}

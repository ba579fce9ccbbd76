/*
 * settings.c: what the options say about the connection.
 *
 * A connection string is taken apart here, once, and never shown: what libpq complains about may quote a
 * part of it. A secret in it is refused, for a configuration file is read by more people than a secret.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/choice.h"
#include "base/err.h"
#include "base/view.h"
#include "postgres.h"

#define SSL_MODES "disable|allow|prefer|require|verify-ca|verify-full"

/* Options that are parameters of the connection, by both their names. */
static const struct {
    const char *option, *keyword;
} passed[] = {{"sslmode", "sslmode"},
              {"sslrootcert", "sslrootcert"},
              {"sslcert", "sslcert"},
              {"sslkey", "sslkey"},
              {"applicationName", "application_name"}};

/* What a string that says nothing of it gets. A connection that only listens finds out by these. */
static const char *const defaults[][2] = {
    {"keepalives_idle", "30"}, {"keepalives_interval", "10"}, {"keepalives_count", "3"}};

static const char *pg_setup_value(const struct ethos_setup *setup, const char *name)
{
    for (size_t i = setup->setting_count; i-- > 0;)
        if (strcmp(setup->settings[i].name, name) == 0)
            return setup->settings[i].value;
    return NULL;
}

/* ---- one target ------------------------------------------------------------------------------ */

static int set(struct pg_target *target, const char *keyword, const char *value)
{
    size_t at = 0;
    while (at < target->count && strcmp(target->keywords[at], keyword) != 0)
        at++;
    char *name = at < target->count ? NULL : strdup(keyword), *copy = strdup(value);
    if (!copy || at == PG_KEYWORDS || (at == target->count && !name)) {
        free(name);
        free(copy);
        return ETHOS_NOMEM;
    }
    if (at == target->count) {
        target->keywords[at] = name;
        target->count++;
    } else {
        free((char *)target->values[at]);
    }
    target->values[at] = copy;
    return ETHOS_OK;
}

static bool has(const struct pg_target *target, const char *keyword)
{
    for (size_t i = 0; i < target->count; i++)
        if (strcmp(target->keywords[i], keyword) == 0)
            return true;
    return false;
}

static int not_a_string(const char *option, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_INVALID, "memory.options.%s: not a connection string", option);
    return err_hint(error, code, "write postgresql://user@host:5432/database");
}

/* libpq marks what is not to be shown. */
static int copy_option(struct pg_target *target, const char *option, const PQconninfoOption *given,
                       struct ethos_error *error)
{
    for (; given->keyword; given++) {
        if (!given->val || !*given->val)
            continue;
        if (strchr(given->dispchar, '*')) {
            int code = err_set(error, ETHOS_INVALID, "memory.options.%s: contains a password",
                               option);
            return err_hint(error, code, "leave it out; set memory.options.passwordFile");
        }
        if (set(target, given->keyword, given->val) != ETHOS_OK)
            return err_nomem(error);
    }
    return ETHOS_OK;
}

static int take_string(struct pg_target *target, const char *option, const char *string,
                       struct ethos_error *error)
{
    char *complaint = NULL;
    PQconninfoOption *given = PQconninfoParse(string, &complaint);
    PQfreemem(complaint);
    if (!given)
        return not_a_string(option, error);
    int code = copy_option(target, option, given, error);
    PQconninfoFree(given);
    return code;
}

static int add_ethos_settings(struct pg_settings *self, struct pg_target *target,
                              const struct ethos_setup *setup, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; i < sizeof passed / sizeof *passed && code == ETHOS_OK; i++) {
        const char *value = pg_setup_value(setup, passed[i].option);
        if (value && *value)
            code = set(target, passed[i].keyword, value);
    }
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && code == ETHOS_OK; i++)
        if (!has(target, defaults[i][0]))
            code = set(target, defaults[i][0], defaults[i][1]);
    if (code == ETHOS_OK && !has(target, "application_name"))
        code = set(target, "application_name", "ethos");
    if (code == ETHOS_OK && *self->password)
        code = set(target, "password", self->password);
    if (code == ETHOS_OK)
        code = set(target, "client_encoding", "UTF8");
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int make_target(struct pg_settings *self, struct pg_target *target, const char *option,
                       const struct ethos_setup *setup, struct ethos_error *error)
{
    int code = take_string(target, option, pg_setup_value(setup, option), error);
    return code == ETHOS_OK ? add_ethos_settings(self, target, setup, error) : code;
}

/* ---- single values --------------------------------------------------------------------------- */

static int read_schema(struct pg_settings *self, const char *name, struct ethos_error *error)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz_", later[] = "0123456789";
    char allowed[sizeof first + sizeof later];
    snprintf(allowed, sizeof allowed, "%s%s", first, later);
    size_t size = strlen(name);
    if (size > 0 && size <= PG_MAX_SCHEMA && strspn(name, first) > 0 &&
        strspn(name, allowed) == size && strncmp(name, "pg_", 3) != 0 &&
        strcmp(name, "information_schema") != 0) {
        memcpy(self->schema, name, size + 1);
        return ETHOS_OK;
    }
    int code = err_set(error, ETHOS_INVALID,
                       "memory.options.schema: '%s' is not a valid schema name", name);
    return err_hint(
        error, code,
        "use at most %d of a-z, 0-9 and _, not beginning with a digit, and no reserved name",
        PG_MAX_SCHEMA);
}

static int read_ms(const struct ethos_setup *setup, const char *option, uint32_t *out,
                   struct ethos_error *error)
{
    const char *value = pg_setup_value(setup, option);
    if (!value)
        return ETHOS_OK;
    long long ms = strtoll(value, NULL, 10);
    if (ms < PG_LEAST_TIMEOUT_MS || ms > PG_MOST_TIMEOUT_MS)
        return err_set(error, ETHOS_INVALID, "memory.options.%s: %s is not between %d and %d",
                       option, value, PG_LEAST_TIMEOUT_MS, PG_MOST_TIMEOUT_MS);
    *out = (uint32_t)ms;
    return ETHOS_OK;
}

static int read_password(struct pg_settings *self, const char *password, struct ethos_error *error)
{
    size_t size = password ? strlen(password) : 0;
    if (size > PG_MAX_PASSWORD)
        return err_set(error, ETHOS_LIMIT, "memory.options.password: longer than %d bytes",
                       PG_MAX_PASSWORD);
    if (size)
        memcpy(self->password, password, size + 1);
    return ETHOS_OK;
}

static int check_ssl_mode(const char *mode, struct ethos_error *error)
{
    char modes[128];
    if (!mode || choice_has(SSL_MODES, view_str(mode)))
        return ETHOS_OK;
    choice_text(SSL_MODES, modes, sizeof modes);
    return err_set(error, ETHOS_INVALID, "memory.options.sslmode: '%s' is not %s", mode, modes);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int read_values(struct pg_settings *self, const struct ethos_setup *setup,
                       struct ethos_error *error)
{
    const char *schema = pg_setup_value(setup, "schema"), *pooled = pg_setup_value(setup, "pooled");
    int code = read_schema(self, schema ? schema : "ethos", error);
    if (code == ETHOS_OK)
        code = read_ms(setup, "statementTimeoutMs", &self->statement_ms, error);
    if (code == ETHOS_OK)
        code = read_ms(setup, "connectTimeoutMs", &self->connect_ms, error);
    if (code == ETHOS_OK)
        code = check_ssl_mode(pg_setup_value(setup, "sslmode"), error);
    if (code == ETHOS_OK)
        code = read_password(self, pg_setup_value(setup, "password"), error);
    self->pooled = pooled && strcmp(pooled, "true") == 0;
    self->fast = setup->flags & ETHOS_SETUP_FAST;
    self->reach = reach_make(setup);
    return code;
}

int pg_settings_read(struct pg_settings *self, const struct ethos_setup *setup,
                     struct ethos_error *error)
{
    const char *url = pg_setup_value(setup, "url"), *direct = pg_setup_value(setup, "directUrl");
    *self = (struct pg_settings){.statement_ms = ETHOS_LOCK_DEADLINE_MS,
                                 .connect_ms = ETHOS_LOCK_DEADLINE_MS,
                                 .deadline_ms = setup->deadline_ms ? setup->deadline_ms
                                                                   : ETHOS_LOCK_DEADLINE_MS};
    if (!url || !*url) {
        int code = err_set(error, ETHOS_INVALID, "memory.options.url: not set");
        return err_hint(error, code, "write postgresql://user@host:5432/database");
    }
    int code = read_values(self, setup, error);
    if (code == ETHOS_OK)
        code = make_target(self, &self->target, "url", setup, error);
    if (code == ETHOS_OK && direct && *direct)
        code = make_target(self, &self->direct, "directUrl", setup, error);
    if (code != ETHOS_OK)
        pg_settings_release(self);
    return code;
}

static void release_target(struct pg_target *target)
{
    for (size_t i = 0; i < target->count; i++) {
        char *value = (char *)target->values[i];
        explicit_bzero(value, strlen(value));
        free(value);
        free((char *)target->keywords[i]);
    }
    *target = (struct pg_target){0};
}

void pg_settings_release(struct pg_settings *self)
{
    release_target(&self->target);
    release_target(&self->direct);
    explicit_bzero(self->password, sizeof self->password);
}

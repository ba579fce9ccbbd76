/*
 * redact_args.c: redacts secrets in what an agent writes. Names and search texts are left alone.
 */
#include "ops/redact_args.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "memory/handle.h"
#include "memory/home/config.h"

/* Whether a member becomes memory. Names of places and search texts do not. */
static bool can_hold_secret(const char *name)
{
    static const char *const others[] = {
        "substringMatch", "match", "old_str", "path",    "old_path", "new_path", "key",
        "scope",          "store", "action",  "command", "ifMatch",  "opId",     "session"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(name, others[i]) == 0)
            return false;
    }
    return true;
}

struct redaction {
    struct str safe;
    bool changed, failed;
};

/* Replaces a value of an object or an array. */
static void set_redacted(json_t *parent, const char *name, size_t index, json_t *value)
{
    if (name)
        json_object_set_new(parent, name, value);
    else
        json_array_set_new(parent, index, value);
}

static void redact_value(struct redaction *self, json_t *parent, const char *name, size_t index,
                         json_t *value);

static void redact_members(struct redaction *self, json_t *value)
{
    size_t index;
    json_t *member;
    const char *name;
    void *next;

    json_array_foreach (value, index, member)
        redact_value(self, value, NULL, index, member);
    json_object_foreach_safe(value, next, name, member)
    {
        if (can_hold_secret(name))
            redact_value(self, value, name, 0, member);
    }
}

/* Redacts a text that is JSON member by member, so that it stays valid. */
static json_t *redact_json(struct redaction *self, struct ethos_view text)
{
    json_t *value = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, NULL);

    if (!json_is_array(value) && !json_is_object(value)) {
        json_decref(value);
        return NULL;
    }
    redact_members(self, value);
    char *dumped = json_dumps(value, JSON_COMPACT);
    json_t *result = dumped ? json_string(dumped) : NULL;
    self->failed = self->failed || !result;
    free(dumped);
    json_decref(value);
    return result;
}

static void redact_value(struct redaction *self, json_t *parent, const char *name, size_t index,
                         json_t *value)
{
    if (!json_is_string(value)) {
        redact_members(self, value);
        return;
    }
    struct ethos_view text = view_of(json_string_value(value), json_string_length(value));
    str_clear(&self->safe);
    if (!scan_text(text, SCAN_REDACT, &self->safe, NULL))
        return;
    self->changed = true;
    json_t *safe = redact_json(self, text);
    if (!safe)
        safe = json_text(str_view(&self->safe));
    self->failed = self->failed || !safe || str_code(&self->safe) != ETHOS_OK;
    if (safe)
        set_redacted(parent, name, index, safe);
}

int redact_args(const struct op *op, struct ethos *ethos, const json_t *args, json_t **out,
                struct ethos_error *error)
{
    const struct config *home;
    struct redaction redaction = {0};

    *out = NULL;
    if (op->right != OP_MEMORY_WRITE || !ethos)
        return ETHOS_OK;
    int code = service_config(ethos, NULL, &home, NULL, error);
    const char *mode = code == ETHOS_OK ? config_get(home, NULL, "secrets.onWrite") : NULL;
    if (code != ETHOS_OK || (mode && (strcmp(mode, "keep") == 0 || strcmp(mode, "warn") == 0)))
        return code;
    json_t *copy = json_deep_copy(args);
    if (!copy)
        return err_nomem(error);
    str_init(&redaction.safe, ETHOS_MAX_STORE_BYTES);
    redact_members(&redaction, copy);
    str_release(&redaction.safe);
    if (redaction.failed)
        code = err_nomem(error);
    else if (redaction.changed && mode && strcmp(mode, "block") == 0)
        code = err_hint(error,
                        err_set(error, ETHOS_INVALID, "%s: the text contains a secret", op->name),
                        "leave the secret out, and write where it is stored");
    if (code == ETHOS_OK && redaction.changed)
        *out = copy;
    else
        json_decref(copy);
    return code;
}

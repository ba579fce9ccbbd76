/*
 * scope.c: ids, scopes and keys, checked byte by byte so that no locale and no terminator can
 * widen the rules.
 */
#include "core/memory/scope.h"

#include <stdio.h>
#include <strings.h>

#include "base/err.h"
#include "base/text/quote.h"
#include "base/utf8.h"
#include "base/view.h"

#define TREE "memories:"
#define MEMORY_KEY "MEMORY.md"
#define USER_KEY "USER.md"
#define ARCHIVE_KEY "memory-archive.md"

static const char *const kind_words[] = {
    [SCOPE_GLOBAL] = "global", [SCOPE_PERSONALITY] = "personality", [SCOPE_USER] = "user",
    [SCOPE_TEAM] = "team",     [SCOPE_WORKSPACE] = "workspace",
};

/* Files of a scope that are not the model's to write or a reader's to see. */
static const char *const reserved_keys[] = {"SOUL.md", ARCHIVE_KEY};

static bool is_word_byte(char c)
{
    unsigned char letter = (unsigned char)((c | 0x20) - 'a'), digit = (unsigned char)(c - '0');

    return letter < 26 || digit < 10 || c == '_' || c == '-';
}

bool scope_id_ok(struct ethos_view id)
{
    if (id.size < 1 || id.size > ETHOS_MAX_ID)
        return false;
    for (size_t i = 0; i < id.size; i++) {
        if (!is_word_byte(id.data[i]))
            return false;
    }
    return true;
}

int scope_refuse(struct ethos_view scope, struct ethos_error *error)
{
    char shown[QUOTE_SIZE];

    err_set(error, ETHOS_DENIED, "unrecognised memory scope: %s", quote_exact(scope, shown));
    return err_hint(error, ETHOS_DENIED, "an id has 1 to %d letters, digits, _ or -", ETHOS_MAX_ID);
}

int scope_key_refuse(struct ethos_view key, struct ethos_error *error)
{
    char shown[QUOTE_SIZE];

    err_set(error, ETHOS_DENIED, "unsafe memory key: %s", quote_exact(key, shown));
    return err_hint(error, ETHOS_DENIED, "use letters, digits, . _ or -, such as plan.md");
}

/* "<word>:<id>" with that word and a good id: the id; else NULL. */
static const char *id_of_kind(const char *scope, const char *word)
{
    size_t length = strlen(word);

    if (scope[0] != word[0] || strncmp(scope, word, length) != 0 || scope[length] != ':')
        return NULL;
    return scope_id_ok(view_str(scope + length + 1)) ? scope + length + 1 : NULL;
}

bool scope_is_tree(const char *scope)
{
    return scope && strncmp(scope, TREE, sizeof TREE - 1) == 0;
}

const char *scope_owner(const char *scope)
{
    return scope_is_tree(scope) ? scope + sizeof TREE - 1 : scope;
}

void scope_tree(const char *owner, char out[ETHOS_MAX_SCOPE])
{
    snprintf(out, ETHOS_MAX_SCOPE, TREE "%.*s", (int)(ETHOS_MAX_SCOPE - sizeof TREE), owner);
}

int scope_parse(const char *scope, enum scope_kind *out_kind, const char **out_id,
                struct ethos_error *error)
{
    enum scope_kind kind = SCOPE_GLOBAL;
    const char *owner = scope_owner(scope);
    const char *id = owner && strcmp(owner, "global") == 0 ? "" : NULL;

    while (owner && !id && kind < SCOPE_WORKSPACE)
        id = id_of_kind(owner, kind_words[++kind]);
    if (!id)
        return scope_refuse(view_str(scope), error);
    if (out_kind)
        *out_kind = kind;
    if (out_id)
        *out_id = id;
    return ETHOS_OK;
}

void scope_place(enum scope_kind kind, struct ethos_view *out_before, struct ethos_view *out_after)
{
    static const struct {
        struct ethos_view before, after;
    } places[] = {
        [SCOPE_GLOBAL] = {VIEW(""), VIEW("")},
        [SCOPE_PERSONALITY] = {VIEW("personalities/"), VIEW("")},
        [SCOPE_USER] = {VIEW("users/"), VIEW("")},
        [SCOPE_TEAM] = {VIEW("teams/"), VIEW("/memory")},
        [SCOPE_WORKSPACE] = {VIEW("workspaces/"), VIEW("/memory")},
    };
    *out_before = places[kind].before;
    *out_after = places[kind].after;
}

int scope_folder(const char *scope, char out[SCOPE_FOLDER_SIZE], struct ethos_error *error)
{
    enum scope_kind kind;
    const char *id;
    struct ethos_view before, after;
    int code = scope_parse(scope, &kind, &id, error);
    if (code != ETHOS_OK)
        return code;
    scope_place(kind, &before, &after);
    snprintf(out, SCOPE_FOLDER_SIZE, "%.*s%s%.*s", VIEW_ARG(before),
             kind == SCOPE_GLOBAL ? "." : id, VIEW_ARG(after));
    return ETHOS_OK;
}

int scope_make(enum scope_kind kind, const char *id, char out[ETHOS_MAX_SCOPE],
               struct ethos_error *error)
{
    if (kind == SCOPE_GLOBAL) {
        snprintf(out, ETHOS_MAX_SCOPE, "%s", kind_words[SCOPE_GLOBAL]);
        return ETHOS_OK;
    }
    if (!scope_id_ok(view_str(id))) {
        char scope[QUOTE_SIZE];
        snprintf(scope, sizeof(scope), "%s:%s", kind_words[kind], id ? id : "");
        return scope_refuse(view_str(scope), error);
    }
    snprintf(out, ETHOS_MAX_SCOPE, "%s:%s", kind_words[kind], id);
    return ETHOS_OK;
}

static bool key_is_safe(struct ethos_view key)
{
    if (key.size < 1 || key.size > ETHOS_MAX_NAME || key.data[0] == '.' || key.data[0] == '-')
        return false;
    for (size_t i = 0; i < key.size; i++) {
        if (key.data[i] == '.' ? key.data[i - 1] == '.' : !is_word_byte(key.data[i]))
            return false;
    }
    return true;
}

static bool key_is_memory(struct ethos_view key)
{
    if (!view_ends(key, VIEW(".md")))
        return false;
    for (size_t i = 0; i < sizeof(reserved_keys) / sizeof(*reserved_keys); i++) {
        if (view_eq_nocase(key, view_str(reserved_keys[i])))
            return false;
    }
    return true;
}

bool scope_key_reserved(const char *key)
{
    static const char history[] = "memory-history", blobs[] = "history-blobs";
    size_t size = strcspn(key, "/");

    return strncasecmp(key, history, sizeof history - 1) == 0 ||
           (size == sizeof blobs - 1 && strncasecmp(key, blobs, size) == 0);
}

static bool path_byte_ok(char c)
{
    return (unsigned char)c >= 0x20 && c != 0x7f && c != '"' && c != '\\';
}

/* Takes the part before the next slash off. */
static bool cut_first_part(struct ethos_view *rest, struct ethos_view *out)
{
    const char *slash = rest->data ? memchr(rest->data, '/', rest->size) : NULL;

    if (!rest->data)
        return false;
    *out = view_of(rest->data, slash ? (size_t)(slash - rest->data) : rest->size);
    *rest = slash ? view_from(*rest, out->size + 1) : (struct ethos_view){0};
    return true;
}

static bool path_is_safe(const char *key)
{
    struct ethos_view part, path = view_str(key), rest = path;

    if (path.size < 1 || path.size > ETHOS_MAX_KEY || !utf8_valid(path) || scope_key_reserved(key))
        return false;
    for (size_t i = 0; i < path.size; i++) {
        if (!path_byte_ok(path.data[i]) ||
            (path.size - i >= 6 && view_eq_nocase(view_of(path.data + i, 6), VIEW("%2e%2e"))))
            return false;
    }
    while (cut_first_part(&rest, &part)) {
        if (part.size == 0 || part.data[0] == '.')
            return false;
    }
    return true;
}

int scope_key_check(const char *scope, const char *key, struct ethos_error *error)
{
    if (!scope_is_tree(scope))
        return scope_key_safe(key, error);
    if (path_is_safe(key))
        return ETHOS_OK;
    scope_key_refuse(view_str(key), error);
    return err_hint(error, ETHOS_DENIED, "use a relative path without hidden names");
}

bool scope_key_shown(const char *scope, const char *key)
{
    return scope_is_tree(scope) ? path_is_safe(key) : scope_key_visible(key);
}

bool scope_key_is_stored(const char *scope, const char *key)
{
    return scope_key_shown(scope, key) || strcmp(key, ARCHIVE_KEY) == 0;
}

int scope_key_safe(const char *key, struct ethos_error *error)
{
    return key_is_safe(view_str(key)) ? ETHOS_OK : scope_key_refuse(view_str(key), error);
}

int scope_key_writable(const char *key, struct ethos_error *error)
{
    int code = scope_key_safe(key, error);

    if (code || key_is_memory(view_str(key)))
        return code;
    err_set(error, ETHOS_DENIED, "reserved memory key: %s", key);
    return err_hint(error, ETHOS_DENIED, "choose another name that ends in .md");
}

/* Of the litter editors and sync tools leave, only this pattern names a safe key ending in .md. */
bool scope_key_visible(const char *key)
{
    struct ethos_view v = view_str(key);

    return key_is_safe(v) && key_is_memory(v) && !view_contains(v, VIEW(".sync-conflict-"));
}

const char *scope_store_key(const char *store)
{
    if (strcmp(store, "memory") == 0)
        return MEMORY_KEY;
    return strcmp(store, "user") == 0 ? USER_KEY : NULL;
}

/* The key meant by a store, a key or both; the scope only forbids leaving it open. */
static int pick_key(const char *store, const char *scope, const char *key, const char **out,
                    struct ethos_error *error)
{
    char shown[QUOTE_SIZE];
    const char *fallback = scope_store_key(store ? store : "memory");

    if (!fallback) {
        err_set(error, ETHOS_INVALID, "unknown store '%s'", quote_line(view_str(store), shown));
        return err_hint(error, ETHOS_INVALID, "use memory or user");
    }
    if (scope && !key)
        return err_set(error, ETHOS_INVALID, "a scope needs a key");
    if (store && key && (strcmp(key, USER_KEY) == 0) != (strcmp(fallback, USER_KEY) == 0))
        return err_set(error, ETHOS_INVALID, "store '%s' and key '%s' disagree", store,
                       quote_line(view_str(key), shown));
    *out = key ? key : fallback;
    return ETHOS_OK;
}

static int refuse_workspace(const struct ethos_context *context, struct ethos_error *error)
{
    if (context->workspace_error && error)
        *error = *context->workspace_error;
    if (context->workspace_error)
        return context->workspace_error->code;
    err_set(error, ETHOS_INVALID, "scope 'workspace': there is no workspace here");
    return err_hint(error, ETHOS_INVALID, "start in a workspace or name one");
}

static int pick_owner(const struct ethos_context *context, const char *scope, const char *key,
                      char out[ETHOS_MAX_SCOPE], struct ethos_error *error)
{
    int code;

    if (!scope)
        scope = strcmp(key, USER_KEY) == 0 ? context->user_scope : context->memory_scope;
    else if (strcmp(scope, kind_words[SCOPE_PERSONALITY]) == 0)
        return scope_make(SCOPE_PERSONALITY, context->personality, out, error);
    else if (strcmp(scope, kind_words[SCOPE_USER]) == 0)
        scope = context->user_scope;
    else if (strcmp(scope, kind_words[SCOPE_WORKSPACE]) == 0) {
        if (!context->workspace_scope)
            return refuse_workspace(context, error);
        scope = context->workspace_scope;
    }
    code = scope_parse(scope, NULL, NULL, error);
    if (!code)
        memcpy(out, scope, strlen(scope) + 1);
    return code;
}

/* "memories": the tree of the memory scope; "memories:user" and so on likewise. */
static int pick_scope(const struct ethos_context *context, const char *scope, const char *key,
                      char out[ETHOS_MAX_SCOPE], struct ethos_error *error)
{
    char owner[ETHOS_MAX_SCOPE];
    bool tree = scope && (scope_is_tree(scope) || strcmp(scope, "memories") == 0);

    if (!tree)
        return pick_owner(context, scope, key, out, error);
    const char *of = scope_is_tree(scope) ? scope_owner(scope) : NULL;
    if (scope_is_tree(of))
        return scope_refuse(view_str(scope), error);
    int code = pick_owner(context, of, MEMORY_KEY, owner, error);
    if (!code)
        scope_tree(owner, out);
    return code;
}

int scope_target(const struct ethos_context *context, const char *store, const char *scope,
                 const char *key, bool write, struct scope_target *out, struct ethos_error *error)
{
    struct scope_target target;
    int code = pick_key(store, scope, key, &key, error);

    if (!code)
        code = pick_scope(context, scope, key, target.scope, error);
    if (!code)
        code = write && !scope_is_tree(target.scope) ? scope_key_writable(key, error)
                                                     : scope_key_check(target.scope, key, error);
    if (code)
        return code;
    memcpy(target.key, key, strlen(key) + 1);
    *out = target;
    return ETHOS_OK;
}

/*
 * personality_json.c: converts the members of a personality between config.yaml and JSON.
 */
#include "ops/admin/personality_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/scope.h"

#define PATH_SIZE 128 /* bytes of a dotted name, with terminator */

enum field_kind {
    TEXT,
    INTEGER,
    FLAG,
    LIST,
    WORDS /* a list; blanks separate, too */,
    NAMES /* any members below, texts */,
    JSON /* any value */
};

/* A member with `always` is null if it is not set; the others are omitted. */
static const struct member_field {
    const char *path;
    enum field_kind kind;
    bool always;
} fields[] = {
    {"description", TEXT, true},
    {"provider", TEXT, true},
    {"model", TEXT, true},
    {"model.trivial", TEXT, false},
    {"model.default", TEXT, false},
    {"model.deep", TEXT, false},
    {"toolset", LIST, true},
    {"capabilities", LIST, true},
    {"mcp_servers", WORDS, true},
    {"plugins", LIST, true},
    {"streamingTimeoutMs", INTEGER, true},
    {"fs_reach.read", LIST, false},
    {"fs_reach.write", LIST, false},
    {"fs_reach.workdir", TEXT, false},
    {"dreaming.enable", FLAG, false},
    {"dreaming.idleMinutes", INTEGER, false},
    {"dreaming.maxPerDay", INTEGER, false},
    {"evolution_approval_mode", TEXT, false},
    {"skill_evolution.enabled", FLAG, false},
    {"skill_evolution.evolve_existing", FLAG, false},
    {"skill_evolution.min_tool_calls", INTEGER, false},
    {"skill_evolution.cooldown_minutes", INTEGER, false},
    {"skill_evolution.model", TEXT, false},
    {"skill_evolution.promotion", TEXT, false},
    {"skill_evolution.scope", TEXT, false},
    {"safety.approvalMode", TEXT, false},
    {"memory.provider", TEXT, false},
    {"display.avatar_url", TEXT, false},
    {"nightly.enabled", FLAG, false},
    {"nightly.expression", FLAG, false},
    {"nightly.judge.enabled", FLAG, false},
    {"nightly.judge.minInteractions", INTEGER, false},
    {"voice.tts_provider", TEXT, false},
    {"voice.stt_provider", TEXT, false},
    {"voice.realtime_provider", TEXT, false},
    {"voice.tts_voice", TEXT, false},
    {"voice.model", TEXT, false},
    {"voice.call_style", TEXT, false},
    {"voice.tier", TEXT, false},
    {"voice.languages", NAMES, false},
    {"mcp_tools", JSON, false},
};
#define FIELDS (sizeof fields / sizeof *fields)

static const struct member_field *find_member_field(const char *path)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].path, path) == 0)
            return &fields[i];
    return NULL;
}

/* Whether a name is the prefix of members. */
static bool has_members_below(const char *path)
{
    size_t size = strlen(path);
    for (size_t i = 0; i < FIELDS; i++)
        if (strncmp(fields[i].path, path, size) == 0 && fields[i].path[size] == '.')
            return true;
    return false;
}

/* ---- from the file --------------------------------------------------------------------------- */

static json_t *split_to_json(const char *value, const char *separators)
{
    json_t *list = json_array();
    for (const char *at = value; *at;) {
        size_t size = strcspn(at, separators);
        struct ethos_view item = view_trim(view_of(at, size));
        if (item.size > 0)
            op_json_push(&list, json_text(item));
        at += size + (at[size] != 0);
    }
    return list;
}

/* The value as JSON; JSON null if it does not fit the kind. NULL when out of memory. */
static json_t *value_json(enum field_kind kind, const char *value)
{
    json_t *json = NULL;
    char *end;
    if (kind == LIST || kind == WORDS)
        return split_to_json(value, kind == LIST ? "," : ", \t");
    if (!*value)
        return json_null();
    if (kind == TEXT)
        return json_text(view_str(value));
    if (kind == FLAG)
        return strcmp(value, "true") == 0    ? json_true()
               : strcmp(value, "false") == 0 ? json_false()
                                             : json_null();
    if (kind == INTEGER) {
        long long number = strtoll(value, &end, 10);
        return *end ? json_null() : json_integer(number);
    }
    return json_parse(view_str(value), "", &json, NULL) == ETHOS_OK ? json : json_null();
}

/* Sets a value at a dotted path, creating the objects on the way. Takes the value. */
static void set_at_path(json_t **root, const char *path, json_t *value)
{
    char name[PATH_SIZE];
    size_t size = strcspn(path, ".");
    snprintf(name, sizeof name, "%.*s", (int)size, path);
    if (!path[size]) {
        op_json_put(root, name, value);
        return;
    }
    json_t *below = json_object_get(*root, name);
    json_t *own = json_is_object(below) ? json_incref(below) : json_object();
    set_at_path(&own, path + size + 1, value);
    op_json_put(root, name, own);
}

/* All settings below a prefix, as an object. */
static json_t *names_json(const char *path, const struct config *own)
{
    json_t *names = NULL;
    size_t size = strlen(path);
    for (size_t i = 0; i < own->table.count; i++) {
        const struct yaml_pair *pair = &own->table.pairs[i];
        if (strncmp(pair->key, path, size) != 0 || pair->key[size] != '.' || !*pair->value)
            continue;
        if (!names)
            names = json_object();
        op_json_put(&names, pair->key + size + 1, op_json_string(pair->value));
    }
    return names;
}

static void set_field_member(json_t **json, const struct member_field *field,
                             const struct config *own)
{
    const char *value = config_own(own, field->path);
    json_t *json_value = field->kind == NAMES ? (own ? names_json(field->path, own) : NULL)
                         : value              ? value_json(field->kind, value)
                                              : json_null();
    bool clear = json_value ? json_is_null(json_value) : field->kind == NAMES;
    bool kept = strchr(field->path, '.') == NULL && field->always;
    bool taken = json_is_object(json_object_get(*json, field->path));
    if (clear && (!kept || taken))
        json_decref(json_value);
    else
        set_at_path(json, field->path, json_value);
}

json_t *personality_json(const char *id, const struct config *own)
{
    const char *name = config_own(own, "name");
    json_t *json = json_pack("{s:s, s:o}", "id", id, "name",
                             op_json_string(name && *name ? name : id));
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].kind != JSON)
            set_field_member(&json, &fields[i], own);
    if (json && !json_object_get(json, "fs_reach"))
        op_json_put(&json, "fs_reach", json_null());
    return json;
}

/* ---- into the file --------------------------------------------------------------------------- */

void personality_changes_init(struct personality_changes *changes)
{
    *changes = (struct personality_changes){0};
    arena_init(&changes->arena);
}

void personality_changes_release(struct personality_changes *changes)
{
    arena_release(&changes->arena);
}

int personality_set(struct personality_changes *changes, const char *key, const char *value,
                    struct ethos_error *error)
{
    struct settings_change *items = arena_grow(&changes->arena, changes->items, changes->count,
                                               &changes->capacity, sizeof *items);
    const struct settings_change change = {arena_str(&changes->arena, key),
                                           arena_str(&changes->arena, value)};
    if (!items || !change.key || (value && !change.value))
        return err_nomem(error);
    changes->items = items;
    changes->items[changes->count++] = change;
    return ETHOS_OK;
}

static int refuse_value(const char *path, const char *why, struct ethos_error *error)
{
    return err_set(error, ETHOS_INVALID, "%s: must be %s", path, why);
}

/* Whether the text has no line feed and no other control character. */
static bool is_one_line(struct ethos_view text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F)
            return false;
    return true;
}

static int print_text_list(const char *path, const json_t *value, struct str *out,
                           struct ethos_error *error)
{
    size_t index;
    const json_t *item;
    if (!json_is_array(value))
        return refuse_value(path, "a list of texts", error);
    json_array_foreach ((json_t *)value, index, item) {
        struct ethos_view text = view_of(json_string_value(item), json_string_length(item));
        if (!json_is_string(item) || view_blank(text) || memchr(text.data, ',', text.size) ||
            !is_one_line(text))
            return refuse_value(path, "a list of texts on one line, without commas", error);
        str_adds(out, index ? ", " : "");
        str_add(out, view_trim(text));
    }
    return ETHOS_OK;
}

/* Appends the value as it is written to the file. */
static int print_value(const struct member_field *field, const json_t *value, struct str *out,
                       struct ethos_error *error)
{
    struct ethos_view text = view_of(json_string_value(value), json_string_length(value));
    if (json_is_null(value))
        return ETHOS_OK;
    if (field->kind == LIST || field->kind == WORDS)
        return print_text_list(field->path, value, out, error);
    if (field->kind == JSON)
        return json_print(value, JSON_STYLE_LINE, out) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    if (field->kind == FLAG && json_is_boolean(value))
        str_adds(out, json_is_true(value) ? "true" : "false");
    else if (field->kind == INTEGER && json_is_integer(value) && json_integer_value(value) >= 0)
        str_printf(out, "%lld", (long long)json_integer_value(value));
    else if ((field->kind == TEXT || field->kind == NAMES) && json_is_string(value) &&
             is_one_line(text))
        str_add(out, text);
    else
        return refuse_value(field->path,
                            field->kind == FLAG      ? "true or false"
                            : field->kind == INTEGER ? "a number from 0 on"
                                                     : "a text on one line",
                            error);
    return ETHOS_OK;
}

/* A backend is code, so one that is a file can be configured only on the machine itself. */
static int check_provider(const char *path, const char *value, struct ethos_error *error)
{
    if (strcmp(path, "memory.provider") != 0 || !strchr(value, '/'))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_DENIED, "memory.provider: a file is not allowed here");
    return err_hint(error, code, "set it in the config.yaml of the personality");
}

static int set_value(const char *path, const struct member_field *field, const json_t *value,
                     struct personality_changes *changes, struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    str_init(&text, ETHOS_MAX_YAML_BYTES);
    TRY(print_value(field, value, &text, error));
    if (str_code(&text) == ETHOS_LIMIT)
        return err_set(error, ETHOS_LIMIT, "%s: too long", path);
    if (str_code(&text) != ETHOS_OK)
        return err_nomem(error);
    TRY(check_provider(path, text.data, error));
    bool clear = json_is_null(value) ||
                 (text.size == 0 && field->kind != LIST && field->kind != WORDS);
    return personality_set(changes, path, clear ? NULL : text.data, error);
}

/* Clears the setting at a path, those below it, or both. */
enum { CLEAR_ITSELF = 1, CLEAR_BELOW = 2 };

static int clear_path(const char *path, unsigned what, const struct config *own,
                      struct personality_changes *changes, struct ethos_error *error)
{
    size_t size = strlen(path);
    for (size_t i = 0; own && i < own->table.count; i++) {
        const char *key = own->table.pairs[i].key;
        bool starts = strncmp(key, path, size) == 0;
        if (starts && ((key[size] == 0 && (what & CLEAR_ITSELF)) ||
                       (key[size] == '.' && (what & CLEAR_BELOW))))
            TRY(personality_set(changes, key, NULL, error));
    }
    return ETHOS_OK;
}

static int read_members(const char *above, const json_t *members, const struct config *own,
                        struct personality_changes *changes, struct ethos_error *error);

/*
 * Members that are not given stay as they are, including unknown ones. An object that is one value (a model by task,
 * voices by language) is replaced as a whole; null clears it.
 */
static int read_object_member(const char *path, const json_t *value, const struct config *own,
                              struct personality_changes *changes, struct ethos_error *error)
{
    bool whole = find_member_field(path) || json_is_null(value);
    int code = clear_path(path, CLEAR_ITSELF | (whole ? CLEAR_BELOW : 0u), own, changes, error);
    return code == ETHOS_OK && json_is_object(value)
               ? read_members(path, value, own, changes, error)
               : code;
}

static int read_member(const char *path, const json_t *value, const struct config *own,
                       struct personality_changes *changes, struct ethos_error *error)
{
    const struct member_field *field = find_member_field(path);
    bool parent = has_members_below(path) || (field && field->kind == NAMES);
    if (!field && !parent)
        return err_set(error, ETHOS_INVALID, "unknown member %s", path);
    if (parent && (json_is_object(value) || json_is_null(value)))
        return read_object_member(path, value, own, changes, error);
    if (!field || field->kind == NAMES)
        return refuse_value(path, "an object", error);
    int code = parent ? clear_path(path, CLEAR_BELOW, own, changes, error) : ETHOS_OK;
    return code == ETHOS_OK ? set_value(path, field, value, changes, error) : code;
}

/* Reads the members of an object that may have any names. */
static int read_free_names(const char *above, const json_t *members,
                           const struct member_field *field, struct personality_changes *changes,
                           struct ethos_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)members, name, value) {
        char path[PATH_SIZE];
        int size = snprintf(path, sizeof path, "%s.%s", above, name);
        if (!scope_id_ok(view_str(name)) || size >= (int)sizeof path)
            return refuse_value(above, "names of letters, digits, - and _", error);
        TRY(set_value(path, field, value, changes, error));
    }
    return ETHOS_OK;
}

static int read_members(const char *above, const json_t *members, const struct config *own,
                        struct personality_changes *changes, struct ethos_error *error)
{
    const char *name;
    json_t *value;
    const struct member_field *free_names = find_member_field(above);
    if (free_names && free_names->kind == NAMES)
        return read_free_names(above, members, free_names, changes, error);
    json_object_foreach ((json_t *)members, name, value) {
        char path[PATH_SIZE];
        int size = snprintf(path, sizeof path, "%s%s%s", above, *above ? "." : "", name);
        if (size >= (int)sizeof path)
            return err_set(error, ETHOS_INVALID, "unknown member %.100s...", path);
        TRY(read_member(path, value, own, changes, error));
    }
    return ETHOS_OK;
}

int personality_read(const json_t *members, const struct config *own,
                     struct personality_changes *changes, struct ethos_error *error)
{
    return json_is_object(members) ? read_members("", members, own, changes, error)
                                   : err_set(error, ETHOS_INVALID, "fields: must be an object");
}

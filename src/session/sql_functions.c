/*
 * sql_functions.c: functions of ours that statements call, and functions that nobody may call.
 *
 * A schema cannot call ours.
 */
#include "session/sql_functions.h"

#include <stdbool.h>

#include "base/system/uuid.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/sessions/normalize.h"
#include "session/rows.h"

static void new_id(sqlite3_context *context, int count, sqlite3_value **values)
{
    char id[ETHOS_UUID_SIZE];
    (void)count;
    (void)values;
    if (uuid_make(id) != 0)
        sqlite3_result_error(context, "no randomness", -1);
    else
        sqlite3_result_text(context, id, ETHOS_UUID_SIZE - 1, SQLITE_TRANSIENT);
}

static uint32_t next_lower(struct ethos_view *rest)
{
    uint32_t cp;
    size_t size = utf8_decode(rest->data, rest->size, &cp, NULL);
    *rest = view_from(*rest, size);
    return unicode_lower(cp);
}

static bool starts_nocase(struct ethos_view text, struct ethos_view part)
{
    while (part.size > 0 && text.size > 0) {
        if (next_lower(&text) != next_lower(&part))
            return false;
    }
    return part.size == 0;
}

static struct ethos_view value_view(sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    return view_of(text, text ? (size_t)sqlite3_value_bytes(value) : 0);
}

static void holds(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct ethos_view text = value_view(values[0]), part = value_view(values[1]);
    (void)count;
    bool found = text.data && starts_nocase(text, part);
    while (!found && text.size > 0) {
        next_lower(&text);
        found = starts_nocase(text, part);
    }
    sqlite3_result_int(context, found);
}

static void within(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    sqlite3_result_int(context, form_within((const char *)sqlite3_value_text(values[0]),
                                            (const char *)sqlite3_value_text(values[1])));
}

/*
 * Untrusted schemas (trusted_schema=OFF) would be the way to keep a foreign trigger from harm, but
 * the full-text tables of SQLite 3.40 may then not be used by any trigger, the schema's own included.
 * So what a trigger could harm with is forbidden by name, to everybody.
 */
static int authorize(void *arg, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    static const char *const harmful[] = {"load_extension", "fts3_tokenizer", "fts5", "rtreecheck"};
    (void)arg;
    (void)first;
    (void)database;
    (void)trigger;
    for (size_t i = 0; action == SQLITE_FUNCTION && i < sizeof harmful / sizeof *harmful; i++) {
        if (sqlite3_stricmp(second, harmful[i]) == 0)
            return SQLITE_DENY;
    }
    return SQLITE_OK;
}

int functions_set(sqlite3 *connection)
{
    int result = sqlite3_create_function(connection, "new_id", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                         NULL, new_id, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_create_function(connection, "holds", 2,
                                         SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
                                         NULL, holds, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_create_function(connection, "within", 2,
                                         SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
                                         NULL, within, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_set_authorizer(connection, authorize, NULL);
    return result;
}

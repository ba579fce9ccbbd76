/*
 * database.c: sessions.db as another program sees it.
 */
#include "database.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/golden/sessions-schema.json" /* below the current directory */
#define WAIT_MS 60000

sqlite3 *database_open(const struct home *home)
{
    char path[PATH_MAX];
    sqlite3 *database = NULL;
    snprintf(path, sizeof path, "%s/sessions.db", home->path);
    if (sqlite3_open(path, &database) != SQLITE_OK)
        proof_die(path);
    sqlite3_busy_timeout(database, WAIT_MS);
    sqlite3_wal_autocheckpoint(database, 0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return database;
}

/* ---- asking ----------------------------------------------------------------------------------- */

static _Noreturn void refuse(sqlite3 *database, const char *sql)
{
    printf("# %.300s: %s\n", sql, sqlite3_errmsg(database));
    errno = EINVAL;
    proof_die("SQL");
}

void database_run(sqlite3 *database, const char *sql)
{
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        refuse(database, sql);
}

char *database_text(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement;
    char *text = NULL;
    size_t size;
    int result;
    FILE *out = open_memstream(&text, &size);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        refuse(database, sql);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);
            fprintf(out, "%s\n", value ? value : "NULL");
        }
    }
    if (result != SQLITE_DONE)
        refuse(database, sql);
    sqlite3_finalize(statement);
    fclose(out);
    return text;
}

int64_t database_number(sqlite3 *database, const char *sql)
{
    char *text = database_text(database, sql);
    int64_t number = strtoll(text, NULL, 10);
    free(text);
    return number;
}

bool database_sound(sqlite3 *database)
{
    char *pages = database_text(database, "PRAGMA integrity_check");
    char *links = database_text(database, "PRAGMA foreign_key_check");
    bool sound = strcmp(pages, "ok\n") == 0 && !*links;
    if (!sound)
        proof_note("integrity_check: %.200s foreign_key_check: %.200s", pages, links);
    if (sqlite3_exec(database,
                     "INSERT INTO messages_fts(messages_fts,rank) VALUES('integrity-check',1)",
                     NULL, NULL, NULL) != SQLITE_OK) {
        proof_note("messages_fts: %s", sqlite3_errmsg(database));
        sound = false;
    }
    free(pages);
    free(links);
    return sound;
}

/* ---- making ----------------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static bool is_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

static bool is_unique(const json_t *golden, const char *table, const char *column)
{
    size_t i;
    const json_t *rule;
    json_array_foreach (json_object_get(golden, "unique"), i, rule)
        if (strcmp(text_of(rule, "table"), table) == 0 &&
            strcmp(json_string_value(json_array_get(json_object_get(rule, "columns"), 0)),
                   column) == 0)
            return true;
    return false;
}

static void write_column(FILE *out, const json_t *golden, const char *table, const json_t *column)
{
    const char *name = text_of(column, "name"), *value = text_of(column, "default");
    const json_t *key;
    size_t i;
    fprintf(out, "\n    %s %s", name, text_of(column, "type"));
    fputs(is_true(column, "primary_key") ? " PRIMARY KEY"
          : is_true(column, "not_null")  ? " NOT NULL"
                                         : "",
          out);
    fputs(is_unique(golden, table, name) ? " UNIQUE" : "", out);
    if (value)
        fprintf(out, " DEFAULT %s", value);
    json_array_foreach (
        json_object_get(json_object_get(json_object_get(golden, "tables"), table), "foreign_keys"),
        i, key)
        if (strcmp(text_of(key, "from"), name) == 0)
            fprintf(out, " REFERENCES %s(%s) ON DELETE %s", text_of(key, "table"),
                    text_of(key, "to"), text_of(key, "on_delete"));
}

static void write_table(FILE *out, const json_t *golden, const char *name, const json_t *table)
{
    const json_t *column;
    size_t i;
    fprintf(out, "CREATE TABLE IF NOT EXISTS %s (", name);
    json_array_foreach (json_object_get(table, "columns"), i, column) {
        fputs(i ? "," : "", out);
        write_column(out, golden, name, column);
    }
    fprintf(out, "\n  )%s;\n", is_true(table, "strict") ? " STRICT" : "");
}

static void write_index(FILE *out, const json_t *index)
{
    const json_t *column;
    size_t i;
    fprintf(out, "CREATE INDEX %s ON %s(", text_of(index, "name"), text_of(index, "table"));
    json_array_foreach (json_object_get(index, "columns"), i, column)
        fprintf(out, "%s%s", i ? ", " : "", json_string_value(column));
    fputs(");\n", out);
}

static void write_trigger(FILE *out, const json_t *trigger)
{
    const char *event = text_of(trigger, "event");
    fprintf(out, "CREATE TRIGGER %s %s BEGIN\n", text_of(trigger, "name"), event);
    if (!strstr(event, "insert"))
        fputs("  INSERT INTO messages_fts(messages_fts, rowid, content)"
              " VALUES ('delete', old.rowid, old.content);\n",
              out);
    if (!strstr(event, "delete"))
        fputs("  INSERT INTO messages_fts(rowid, content) VALUES (new.rowid, new.content);\n", out);
    fputs("END;\n", out);
}

static void write_fulltext(FILE *out, const json_t *fts)
{
    const char *name;
    json_t *value;
    fprintf(out, "CREATE VIRTUAL TABLE %s USING %s(content", text_of(fts, "name"),
            text_of(fts, "module"));
    json_object_foreach (json_object_get(fts, "options"), name, value)
        fprintf(out, ", %s='%s'", name, json_string_value(value));
    fputs(");\n", out);
}

static char *schema_of(const json_t *golden)
{
    char *sql = NULL;
    const char *name;
    size_t size, i;
    json_t *part;
    FILE *out = open_memstream(&sql, &size);
    json_object_foreach (json_object_get(golden, "tables"), name, part)
        write_table(out, golden, name, part);
    json_array_foreach (json_object_get(golden, "indexes"), i, part)
        write_index(out, part);
    write_fulltext(out, json_object_get(golden, "fts"));
    json_array_foreach (json_object_get(golden, "triggers"), i, part)
        write_trigger(out, part);
    fprintf(out, "PRAGMA user_version = %d;\n",
            (int)json_integer_value(json_object_get(golden, "user_version")));
    fclose(out);
    return sql;
}

void database_make(const struct home *home)
{
    json_error_t error;
    json_t *golden = json_load_file(GOLDEN, 0, &error);
    if (!golden)
        proof_die(GOLDEN);
    sqlite3 *database = database_open(home);
    char *sql = schema_of(golden);
    char *mode = text_format("PRAGMA journal_mode = %s", text_of(golden, "journal_mode"));
    database_run(database, mode);
    database_run(database, sql);
    free(mode);
    free(sql);
    sqlite3_close(database);
    json_decref(golden);
}

/*
 * fulltext.c: the full-text index of the schema, compared with the messages.
 *
 * FTS5 has an integrity check of its own, but it counts as a write: everybody else would wait for as
 * long as it takes to read all messages. So both sides are read as of one moment and reduced to a sum
 * of (message, place, word), in which the order does not matter.
 */
#include "session/search/fulltext.h"

#include "base/err.h"
#include "base/view.h"
#include "session/database.h"

#define LONGEST 32768 /* bytes of a word that the index keeps */
#define VOCABULARY "temp.messages_words"

/* ---- sums ------------------------------------------------------------------------------------ */

struct sum {
    uint64_t value;
    int64_t message, place; /* of the next word */
};

static uint64_t mix_number(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static void add_word_to_sum(struct sum *sum, struct ethos_view word)
{
    uint64_t hash = mix_number(mix_number(0, (uint64_t)sum->message), (uint64_t)sum->place);
    for (size_t i = 0; i < word.size; i++)
        hash = (hash ^ (unsigned char)word.data[i]) * 0x100000001B3u;
    sum->value += mix_number(hash, word.size);
}

/* ---- the messages ---------------------------------------------------------------------------- */

/* The tokenizer of the schema, from a connection of its own: on ours nobody may ask for it. */
struct splitter {
    sqlite3 *connection;
    fts5_tokenizer way;
    Fts5Tokenizer *tokenizer;
};

static fts5_api *find_api(sqlite3 *connection)
{
    fts5_api *api = NULL;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(connection, "SELECT fts5(?1)", -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", NULL);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    return api;
}

static int splitter_open(struct splitter *self, struct ethos_error *error)
{
    const char *inner = "ascii";
    void *context = NULL;
    fts5_api *api = NULL;
    if (sqlite3_open(":memory:", &self->connection) == SQLITE_OK)
        api = find_api(self->connection);
    if (!api || api->xFindTokenizer(api, "porter", &context, &self->way) != SQLITE_OK ||
        self->way.xCreate(context, &inner, 1, &self->tokenizer) != SQLITE_OK)
        return err_nomem(error);
    return ETHOS_OK;
}

static void splitter_close(struct splitter *self)
{
    if (self->tokenizer)
        self->way.xDelete(self->tokenizer);
    sqlite3_close(self->connection);
}

static int take_token(void *arg, int flags, const char *token, int size, int start, int end)
{
    struct sum *sum = arg;
    (void)flags;
    (void)start;
    (void)end;
    add_word_to_sum(sum, view_of(token, (size_t)(size < LONGEST ? size : LONGEST)));
    sum->place++;
    return SQLITE_OK;
}

static int sum_messages(struct db *self, struct splitter *splitter, uint64_t *out,
                        struct ethos_error *error)
{
    struct sum sum = {.value = 0};
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(self->connection, "SELECT rowid,content FROM messages", -1,
                                  &statement, NULL);
    if (code != SQLITE_OK)
        return db_fail(self, "read messages", error);
    while ((code = db_step(self, statement, "read messages", error)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 1);
        sum.message = sqlite3_column_int64(statement, 0);
        sum.place = 0;
        if (!text ||
            splitter->way.xTokenize(splitter->tokenizer, &sum, FTS5_TOKENIZE_DOCUMENT, text,
                                    sqlite3_column_bytes(statement, 1), take_token) != SQLITE_OK) {
            code = err_nomem(error);
            break;
        }
    }
    sqlite3_finalize(statement);
    *out = sum.value;
    return code < 0 ? code : ETHOS_OK;
}

/* ---- the index ------------------------------------------------------------------------------- */

static int sum_rows(struct db *self, sqlite3_stmt *statement, uint64_t *out,
                    struct ethos_error *error)
{
    struct sum sum = {.value = 0};
    int code;
    while ((code = db_step(self, statement, "read its index", error)) == SQLITE_ROW) {
        const char *word = (const char *)sqlite3_column_text(statement, 0);
        size_t size = (size_t)sqlite3_column_bytes(statement, 0);
        sum.message = sqlite3_column_int64(statement, 1);
        sum.place = sqlite3_column_int64(statement, 2);
        add_word_to_sum(&sum, view_of(word, size));
    }
    *out = sum.value;
    return code < 0 ? code : ETHOS_OK;
}

static int sum_index(struct db *self, uint64_t *out, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = db_exec(
        self, "CREATE VIRTUAL TABLE " VOCABULARY " USING fts5vocab(main,messages_fts,instance)",
        "read its index", error);
    if (code != ETHOS_OK)
        return code;
    if (sqlite3_prepare_v2(self->connection, "SELECT term,doc,\"offset\" FROM " VOCABULARY, -1,
                           &statement, NULL) == SQLITE_OK)
        code = sum_rows(self, statement, out, error);
    else
        code = db_fail(self, "read its index", error);
    sqlite3_finalize(statement);
    return code;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int compare_with_fulltext(struct db *self, struct splitter *splitter, bool *out,
                                 struct ethos_error *error)
{
    uint64_t messages = 0, index = 0;
    int code = sum_messages(self, splitter, &messages, error);
    if (code == ETHOS_OK)
        code = sum_index(self, &index, error);
    *out = code == ETHOS_OK && messages == index;
    return code == ETHOS_CORRUPT ? ETHOS_OK : code;
}

int fulltext_agrees(struct db *self, bool *out, struct ethos_error *error)
{
    struct splitter splitter = {.connection = NULL};
    int code = splitter_open(&splitter, error);
    if (code == ETHOS_OK)
        code = db_exec(self, "BEGIN", "read it", error);
    if (code == ETHOS_OK) {
        code = compare_with_fulltext(self, &splitter, out, error);
        for (int i = 0; i < 2 && !sqlite3_get_autocommit(self->connection); i++)
            sqlite3_exec(self->connection, "ROLLBACK", NULL, NULL, NULL); // and its temporary table
    }
    splitter_close(&splitter);
    return code;
}

int fulltext_rebuild(struct db *self, struct ethos_error *error)
{
    int code = db_begin(self, error);
    if (code != ETHOS_OK)
        return code;
    return db_end(self, db_exec(self, DB_REBUILD_INDEX, "rebuild its index", error), error);
}

/*
 * commit.c: everything that follows from an update, handed to the script as one command.
 *
 * When the answer is lost, the same command is sent again, and the script tells whether the first
 * one was done. Only that answer counts then: a refusal says nothing about the one before.
 */
#include "base/err.h"
#include "base/system/log.h"
#include "redis.h"

static bool is_new(const struct ethos_commit *commit, size_t i)
{
    return commit->rows[i].change.number > commit->version;
}

static size_t count_new(const struct ethos_commit *commit)
{
    size_t count = 0;
    for (size_t i = 0; i < commit->row_count; i++)
        count += is_new(commit, i);
    return count;
}

/* Numbers of new rows must grow, and what is replaced must not be made as well. */
static int check_rows(const struct ethos_commit *commit, struct ethos_error *error)
{
    uint64_t last = commit->version;
    for (size_t i = 0; i < commit->row_count; i++) {
        uint64_t number = commit->rows[i].change.number;
        if (is_new(commit, i) && (number <= last || number > commit->next))
            return err_set(error, ETHOS_INVALID, "the rows of a change are out of order");
        last = is_new(commit, i) ? number : last;
    }
    return ETHOS_OK;
}

/* ---- the words ------------------------------------------------------------------------------ */

static void add_commit_rows(struct redis_request *request, const struct ethos_commit *commit,
                            bool fresh)
{
    size_t count = count_new(commit);
    request_number(request, fresh ? count : commit->row_count - count);
    for (size_t i = 0; i < commit->row_count; i++) {
        const struct ethos_row *row = &commit->rows[i];
        struct row_field fields[ROW_FIELDS];
        struct row_scratch scratch;
        char entry[ETHOS_MAX_KEY + 24];
        if (is_new(commit, i) != fresh)
            continue;
        size_t size = row_index(row->change.key, row->change.number, entry);
        count = row_fields(row, commit->token, &scratch, fields);
        request_number(request, row->change.number);
        request_word(request, view_of(entry, size));
        request_number(request, count);
        for (size_t k = 0; k < count; k++) {
            request_string(request, fields[k].name);
            request_word(request, fields[k].value);
        }
    }
}

static bool changes(const struct ethos_edit *edit)
{
    return edit->verdict == ETHOS_EDIT_PUT || edit->verdict == ETHOS_EDIT_DROP;
}

static size_t count_edits(const struct ethos_commit *commit)
{
    size_t count = 0;
    for (size_t i = 0; i < commit->edit_count; i++)
        count += changes(&commit->edits[i]);
    return count;
}

static void put_edits(struct redis_request *request, const struct ethos_commit *commit)
{
    request_number(request, count_edits(commit));
    for (size_t i = 0; i < commit->edit_count; i++) {
        const struct ethos_edit *edit = &commit->edits[i];
        if (!changes(edit))
            continue;
        request_string(request, edit->key);
        request_string(request, edit->verdict == ETHOS_EDIT_PUT ? "put" : "drop");
        if (edit->verdict == ETHOS_EDIT_PUT) {
            request_string(request, edit->revision);
            request_word(request, edit->text);
        }
    }
}

static void put_done(struct redis_request *request, const struct ethos_commit *commit)
{
    request_number(request, commit->done_count);
    for (size_t i = 0; i < commit->done_count; i++) {
        request_string(request, commit->done[i].op_id);
        request_word(request, commit->done[i].record);
    }
}

static void put_copies(struct redis_request *request, const struct ethos_commit *commit)
{
    request_number(request, commit->copy_count);
    for (size_t i = 0; i < commit->copy_count; i++) {
        const struct ethos_copy *copy = &commit->copies[i];
        request_string(request, copy->id);
        request_string(request, copy->text.data ? "put" : "drop");
        if (copy->text.data) {
            request_number(request, (uint64_t)copy->time_ms);
            request_string(request, copy->key);
            request_word(request, copy->text);
        }
    }
}

/* Tables of all scopes have no scope in their name: the last two. */
static void put_keys(struct redis_request *request, const struct redis *self, const char *scope,
                     const struct ethos_commit *commit)
{
    request_number(request, SCRIPT_TABLES + count_edits(commit));
    for (size_t i = 0; i < SCRIPT_TABLES; i++)
        request_key(request, self, i < SCRIPT_TABLES - 2 ? scope : NULL, script_tables[i], "");
    for (size_t i = 0; i < commit->edit_count; i++)
        if (changes(&commit->edits[i]))
            request_key(request, self, scope, "text:", commit->edits[i].key);
}

static void put_commit(struct redis_request *request, const struct redis *self, const char *scope,
                       const struct ethos_commit *commit)
{
    put_keys(request, self, scope, commit);
    request_string(request, scope);
    request_number(request, commit->version);
    request_number(request, commit->next);
    request_string(request, commit->token);
    request_number(request, (uint64_t)commit->time_ms);
    request_number(request, (uint64_t)commit->forget_ms);
    request_number(request, commit->keep);
    request_number(request, commit->version + 1);
    add_commit_rows(request, commit, false);
    add_commit_rows(request, commit, true);
    put_edits(request, commit);
    put_done(request, commit);
    put_copies(request, commit);
}

/* ---- the answer ----------------------------------------------------------------------------- */

static int unknown(const struct redis *self, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_IO,
                       "the answer of Redis at %s was lost: the change may have been made",
                       self->place.shown);
    return err_hint(error, code, "check the text before you repeat it");
}

/* What has rows has a token that stays; without, a scope that has moved on says nothing. */
static int read_commit_reply(const struct redis *self, const redisReply *reply, bool lost,
                             const struct ethos_commit *commit, struct ethos_error *error)
{
    if (reply->str && strcmp(reply->str, "done") == 0)
        return ETHOS_OK;
    if (!reply->str || strcmp(reply->str, "moved") != 0)
        return refusal_odd(self, "the answer of the script", error);
    if (lost && count_new(commit) == 0)
        return unknown(self, error);
    return err_set(error, ETHOS_CONFLICT, "another program changed it first");
}

/*
 * A rewritten append-only file no longer has what a purge took away. It grows anyway: a wish, no
 * more.
 */
static void rewrite_file(struct redis *self)
{
    struct redis_request request;
    struct ethos_error error;
    redisReply *reply = NULL;
    request_init(&request);
    request_say(&request, 1, "BGREWRITEAOF");
    if (redis_ask(self, &request, &reply, &error) != ETHOS_OK)
        log_line(self->host, ETHOS_LOG_WARN,
                 "what was purged is in the append-only file of Redis until BGREWRITEAOF: %s",
                 error.text);
    freeReplyObject(reply);
    request_release(&request);
}

int commit_do(struct ethos_store *store, const char *scope, const struct ethos_commit *commit,
              struct ethos_error *error)
{
    struct redis *self = (struct redis *)store;
    struct redis_request request;
    redisReply *reply = NULL;
    bool lost = false;
    int code = check_rows(commit, error);
    if (code != ETHOS_OK)
        return code;
    redis_begin(self);
    request_init(&request);
    put_commit(&request, self, scope, commit);
    code = ask_script(self, SCRIPT_COMMIT, &request, &lost, &reply, error);
    if (code == ETHOS_OK)
        code = read_commit_reply(self, reply, lost, commit, error);
    else if (lost)
        code = unknown(self, error);
    freeReplyObject(reply);
    request_release(&request);
    if (code == ETHOS_OK && count_new(commit) < commit->row_count)
        rewrite_file(self);
    return code;
}

/*
 * commit.c: everything that follows from an update, in one statement.
 *
 * The statement takes the scope from one version to the next; all its other parts are joined with that row
 * and so do nothing when it was not to be had. Rows are handed over as values of the tables' own types.
 * What a commit does not need is left out, and each such shape is prepared by itself.
 *
 * When the answer is lost the same statement is sent again: see docs/internals/backends.md.
 */
#include <stdio.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "postgres.h"

/* ---- the statement --------------------------------------------------------------------------- */

/* $1 scope, $2 version, $3 next, $4 token, $5 time */
static const char first_version[] =
    "WITH won AS (INSERT INTO @.scope VALUES ($1, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING 1)";
static const char next_version[] =
    "WITH won AS (UPDATE @.scope SET version = $3, token = $4, time_ms = $5"
    " WHERE name = $1 AND version = $2 RETURNING 1)";

enum commit_part { PUT, DROP, ADD_ROWS, PUT_ROWS, REMEMBER, FORGET, KEEP, LEAVE, PARTS };

static const char *const parts[PARTS] = {
    [PUT] = "put AS (INSERT INTO @.text SELECT row.* FROM won, unnest($6) AS row"
            " ON CONFLICT (scope, key) DO UPDATE SET content = excluded.content,"
            " plain = excluded.plain, revision = excluded.revision, time_ms = excluded.time_ms)",
    [DROP] = "gone AS (DELETE FROM @.text USING won WHERE scope = $1 AND key = ANY ($7))",
    [ADD_ROWS] = "added AS (INSERT INTO @.history SELECT row.* FROM won, unnest($8) AS row)",
    /* A row that is replaced keeps its token. */
    [PUT_ROWS] = "added AS (INSERT INTO @.history SELECT row.* FROM won, unnest($8) AS row"
                 " ON CONFLICT (scope, number) DO UPDATE SET time_ms = excluded.time_ms,"
                 " key = excluded.key, actions = excluded.actions, source = excluded.source,"
                 " via = excluded.via, actor = excluded.actor, session = excluded.session,"
                 " session_key = excluded.session_key, \"user\" = excluded.\"user\","
                 " op_id = excluded.op_id, event = excluded.event, undoes = excluded.undoes,"
                 " before = excluded.before, after = excluded.after,"
                 " bytes_before = excluded.bytes_before, bytes_after = excluded.bytes_after,"
                 " diff = excluded.diff, diff_whole = excluded.diff_whole,"
                 " plain = excluded.plain, whole = excluded.whole, base = excluded.base,"
                 " trust = excluded.trust, approved_by = excluded.approved_by,"
                 " edited_from = excluded.edited_from)",
    [REMEMBER] = "done AS (INSERT INTO @.operation SELECT row.* FROM won, unnest($9) AS row"
                 " ON CONFLICT (scope, id) DO UPDATE SET record = excluded.record,"
                 " time_ms = excluded.time_ms)",
    /* Three bounds of a walk along the index; without constants, or a server that knows little sorts all. */
    [FORGET] = "forgotten AS (DELETE FROM @.operation USING won WHERE scope = $1"
               " AND operation.time_ms < $10 AND operation.time_ms <"
               " (SELECT time_ms FROM @.operation WHERE scope = $1"
               " ORDER BY time_ms DESC OFFSET $13 - 1 LIMIT 1) AND operation.time_ms <="
               " (SELECT max(time_ms) FROM (SELECT time_ms FROM @.operation WHERE scope = $1"
               " ORDER BY time_ms LIMIT $14) AS oldest))",
    [KEEP] = "kept AS (INSERT INTO @.copy SELECT row.* FROM won, unnest($11) AS row"
             " ON CONFLICT (scope, id) DO UPDATE SET key = excluded.key,"
             " time_ms = excluded.time_ms, content = excluded.content, plain = excluded.plain)",
    [LEAVE] = "left_copies AS (DELETE FROM @.copy USING won WHERE scope = $1 AND id = ANY ($12))",
};

/* A bit for each part, and one for a scope that was never written. */
static unsigned shape_of(const struct ethos_commit *commit)
{
    unsigned shape = commit->version == 0 ? 1u << PARTS : 0;
    for (size_t i = 0; i < commit->edit_count; i++) {
        if (commit->edits[i].verdict == ETHOS_EDIT_PUT)
            shape |= 1u << PUT;
        else if (commit->edits[i].verdict == ETHOS_EDIT_DROP)
            shape |= 1u << DROP;
    }
    unsigned rows = commit->row_count ? 1u << ADD_ROWS : 0;
    for (size_t i = 0; i < commit->row_count; i++)
        if (commit->rows[i].change.number <= commit->version)
            rows = 1u << PUT_ROWS;
    for (size_t i = 0; i < commit->copy_count; i++)
        shape |= commit->copies[i].text.data ? 1u << KEEP : 1u << LEAVE;
    return shape | rows | (commit->done_count ? 1u << REMEMBER : 0) |
           (commit->forget_ms ? 1u << FORGET : 0);
}

static void make_sql(const struct pg_settings *settings, unsigned shape, char out[PG_MAX_STATEMENT])
{
    struct str template;
    str_init(&template, PG_MAX_STATEMENT);
    str_adds(&template, shape & 1u << PARTS ? first_version : next_version);
    for (unsigned i = 0; i < PARTS; i++) {
        if (shape & 1u << i)
            str_printf(&template, ", %s", parts[i]);
    }
    // one row if the version was there
    str_printf(&template, " SELECT 1%s FROM won", settings->fast ? "" : PG_DURABLE);
    pg_sql(settings, template.data, out);
    str_release(&template);
}

/* ---- its parameters -------------------------------------------------------------------------- */

struct packed {
    struct pg_array texts, drops, rows, done, copies, leave;
    struct str clean; /* a name made UTF-8 */
    struct pg_params params;
};

static bool needs_no_escape(struct ethos_view text)
{
    return utf8_valid(text) && !(text.size && memchr(text.data, 0, text.size));
}

static void pack_edits(struct packed *to, const char *scope, const struct ethos_commit *commit)
{
    for (size_t i = 0; i < commit->edit_count; i++) {
        const struct ethos_edit *edit = &commit->edits[i];
        if (edit->verdict == ETHOS_EDIT_DROP)
            pg_array_text(&to->drops, edit->key);
        if (edit->verdict != ETHOS_EDIT_PUT)
            continue;
        pg_array_row(&to->texts, 6);
        pg_field_text(&to->texts, scope);
        pg_field_text(&to->texts, edit->key);
        pg_field(&to->texts, PG_BYTEA, edit->text);
        pg_field_bool(&to->texts, needs_no_escape(edit->text));
        pg_field_text(&to->texts, edit->revision);
        pg_field_number(&to->texts, commit->time_ms);
    }
}

/* Who somebody says he is need not be UTF-8; the server takes nothing else. */
static void pack_name(struct packed *to, const char *name)
{
    if (!name || utf8_valid(view_str(name))) {
        pg_field_text(&to->rows, name);
        return;
    }
    str_clear(&to->clean);
    utf8_sanitize(view_str(name), &to->clean);
    pg_field(&to->rows, PG_TEXT, str_view(&to->clean));
}

static void pack_row(struct packed *to, const char *scope, const char *token,
                     const struct ethos_row *row)
{
    const struct ethos_change *change = &row->change;
    const char *const names[] = {change->actions, change->source,  change->via,
                                 change->actor,   change->session, change->session_key,
                                 change->user,    change->op_id,   change->event,
                                 change->undoes,  change->before,  change->after};
    pg_array_row(&to->rows, 27);
    pg_field_text(&to->rows, scope);
    pg_field_number(&to->rows, (int64_t)change->number);
    pg_field_text(&to->rows, token);
    pg_field_number(&to->rows, change->time_ms);
    pg_field_text(&to->rows, change->key);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        pack_name(to, names[i]);
    pg_field_number(&to->rows, (int64_t)change->bytes_before);
    pg_field_number(&to->rows, (int64_t)change->bytes_after);
    pg_field(&to->rows, PG_BYTEA, change->diff);
    pg_field_bool(&to->rows, change->diff_whole);
    pg_field_bool(&to->rows, needs_no_escape(change->diff));
    pg_field(&to->rows, PG_BYTEA, row->whole);
    pg_field(&to->rows, PG_BYTEA, row->base);
    pack_name(to, change->trust);
    pack_name(to, change->approved_by);
    pack_name(to, change->edited_from);
}

static void pack_done(struct packed *to, const char *scope, const struct ethos_commit *commit)
{
    for (size_t i = 0; i < commit->done_count; i++) {
        pg_array_row(&to->done, 4);
        pg_field_text(&to->done, scope);
        pg_field_text(&to->done, commit->done[i].op_id);
        pg_field(&to->done, PG_BYTEA, commit->done[i].record);
        pg_field_number(&to->done, commit->time_ms);
    }
}

static void pack_copies(struct packed *to, const char *scope, const struct ethos_commit *commit)
{
    for (size_t i = 0; i < commit->copy_count; i++) {
        const struct ethos_copy *copy = &commit->copies[i];
        if (!copy->text.data) {
            pg_array_text(&to->leave, copy->id);
            continue;
        }
        pg_array_row(&to->copies, 6);
        pg_field_text(&to->copies, scope);
        pg_field_text(&to->copies, copy->id);
        pg_field_text(&to->copies, copy->key);
        pg_field_number(&to->copies, copy->time_ms);
        pg_field(&to->copies, PG_BYTEA, copy->text);
        pg_field_bool(&to->copies, needs_no_escape(copy->text));
    }
}

static size_t size_of(const struct packed *packed)
{
    return packed->texts.bytes.size + packed->rows.bytes.size + packed->done.bytes.size +
           packed->copies.bytes.size;
}

/* Null when the shape has no use for it. */
static int add_array(struct pg_params *params, Oid type, struct pg_array *array)
{
    pg_add_bytes(params, type, array->count ? str_view(&array->bytes) : (struct ethos_view){0});
    return pg_array_end(array);
}

static int add_all(struct packed *to, const struct pg_facts *facts, const char *scope,
                   const struct ethos_commit *commit)
{
    struct pg_params *params = &to->params;
    pg_add_text(params, scope);
    pg_add_number(params, (int64_t)commit->version);
    pg_add_number(params, (int64_t)commit->next);
    pg_add_text(params, commit->token);
    pg_add_number(params, commit->time_ms);
    int codes[] = {
        add_array(params, facts->arrays[PG_TABLE_TEXT], &to->texts),
        add_array(params, PG_TEXTS, &to->drops),
        add_array(params, facts->arrays[PG_TABLE_HISTORY], &to->rows),
        add_array(params, facts->arrays[PG_TABLE_OPERATION], &to->done),
        (pg_add_number(params, commit->forget_ms), ETHOS_OK),
        add_array(params, facts->arrays[PG_TABLE_COPY], &to->copies),
        add_array(params, PG_TEXTS, &to->leave),
        (pg_add_number(params, (int64_t)commit->keep), ETHOS_OK),
        (pg_add_number(params, ETHOS_OPID_AT_ONCE), ETHOS_OK),
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] != ETHOS_OK)
            return codes[i];
    return size_of(to) > PG_MAX_MESSAGE ? ETHOS_LIMIT : ETHOS_OK;
}

static void release_packed(struct packed *to)
{
    struct pg_array *const all[] = {&to->texts, &to->drops,  &to->rows,
                                    &to->done,  &to->copies, &to->leave};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pg_array_release(all[i]);
    str_release(&to->clean);
}

static int pack(struct packed *to, const struct pg_facts *facts, const char *scope,
                const struct ethos_commit *commit, struct ethos_error *error)
{
    *to = (struct packed){0};
    pg_array_init(&to->texts, facts->rows[PG_TABLE_TEXT]);
    pg_array_init(&to->drops, PG_TEXT);
    pg_array_init(&to->rows, facts->rows[PG_TABLE_HISTORY]);
    pg_array_init(&to->done, facts->rows[PG_TABLE_OPERATION]);
    pg_array_init(&to->copies, facts->rows[PG_TABLE_COPY]);
    pg_array_init(&to->leave, PG_TEXT);
    str_init(&to->clean, PG_MAX_MESSAGE);
    pack_edits(to, scope, commit);
    for (size_t i = 0; i < commit->row_count; i++)
        pack_row(to, scope, commit->token, &commit->rows[i]);
    pack_done(to, scope, commit);
    pack_copies(to, scope, commit);
    int code = add_all(to, facts, scope, commit);
    if (code == ETHOS_OK && str_code(&to->clean) != ETHOS_OK)
        code = ETHOS_NOMEM;
    if (code == ETHOS_OK)
        return code;
    release_packed(to);
    return code == ETHOS_NOMEM ? err_nomem(error)
                               : err_set(error, ETHOS_LIMIT, "postgres: more than %d bytes at once",
                                         PG_MAX_MESSAGE);
}

/* ---- sending it ------------------------------------------------------------------------------ */

/*
 * One attempt; *out_won: the scope had the version. Who listens is told by a transaction of its own behind it:
 * the server lets one after the other commit what notifies, and would let all scopes wait for one disk.
 */
static enum pg_answer send_commit_once(struct pg_link *link, unsigned shape, const char *scope,
                                       const char *token, const struct packed *packed,
                                       bool *out_won)
{
    struct pg_written room, told_room;
    struct pg_params told = {0};
    struct pg_query tell, query = {.sql = room.sql,
                                   .name = room.name,
                                   .prepared = &link->shapes[shape],
                                   .params = &packed->params,
                                   .also = &tell};
    int64_t until = pg_until(pg_patience(link->settings, size_of(packed)));
    PGresult *result;
    pg_add_text(&told, scope);
    pg_add_text(&told, token);
    if (pg_query_of(link, PG_TELL, &told, &told_room, &tell) != ETHOS_OK)
        return PG_REFUSED;
    snprintf(room.name, sizeof room.name, "ethos_commit_%u", shape);
    if (!link->shapes[shape])
        make_sql(link->settings, shape, room.sql);
    enum pg_answer answer = size_of(packed) > PG_LARGE
                                ? pg_exchange_large(link, &query, until, &result)
                                : pg_exchange(link, &query, until, &result);
    if (answer != PG_ANSWERED)
        return answer;
    *out_won = PQntuples(result) > 0;
    PQclear(result);
    return answer;
}

static int moved(const char *scope, struct ethos_error *error)
{
    return err_set(error, ETHOS_CONFLICT, "%s: changed meanwhile", scope);
}

/*
 * After a lost answer somebody has moved the scope on: ourselves, if it or one of our rows has our token.
 * Without a row of ours, a later version hides it.
 */
static int check_lost_commit(struct pg_store *self, const char *scope,
                             const struct ethos_commit *commit, uint32_t ms,
                             struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *result;
    bool has_row = false;
    pg_add_text(&params, scope);
    pg_add_number(&params, (int64_t)commit->next);
    pg_add_text(&params, commit->token);
    pg_add_number(&params, (int64_t)commit->version);
    if (pg_ask(&self->link, PG_SEEN, &params, ms, &result, error) != ETHOS_OK)
        return pg_not_known(scope, self->link.message, error);
    for (size_t i = 0; i < commit->row_count; i++)
        has_row |= commit->rows[i].change.number > commit->version;
    bool there = PQntuples(result) > 0;
    uint64_t version = there ? (uint64_t)pg_number(result, 0, 0) : 0;
    bool ours = there && pg_bool(result, 0, 1);
    PQclear(result);
    if (ours)
        return ETHOS_OK;
    if (version > commit->next && !has_row)
        return pg_not_known(scope, "others have changed it since", error);
    return moved(scope, error);
}

/* Until it is known what became of it, or the deadline. */
static int send_until_known(struct pg_store *self, const char *scope,
                            const struct ethos_commit *commit, struct ethos_error *error)
{
    struct pg_link *link = &self->link;
    uint32_t ms = self->settings.deadline_ms;
    int64_t until = pg_until(ms);
    uint32_t patience = ms > PG_RESOLVE_MS ? ms : PG_RESOLVE_MS;
    struct packed packed;
    bool lost = false;
    for (;;) {
        bool won = false;
        int code = (lost ? pg_link_wait : pg_link_ready)(link, until, error);
        if (code != ETHOS_OK)
            return lost ? pg_not_known(scope, link->message, error) : code;
        code = pack(&packed, &link->facts, scope, commit, error);
        if (code != ETHOS_OK)
            return lost ? pg_not_known(scope, "no memory", error) : code;
        enum pg_answer answer = send_commit_once(link, shape_of(commit), scope, commit->token,
                                                 &packed, &won);
        release_packed(&packed);
        if (answer == PG_ANSWERED && won)
            return ETHOS_OK;
        if (answer == PG_ANSWERED)
            return lost ? check_lost_commit(self, scope, commit, patience, error)
                        : moved(scope, error);
        if (answer == PG_LOST && !lost) {
            until = pg_until(patience);
            lost = true;
        }
        if ((answer == PG_REFUSED && !pg_may_pass(link)) || !pg_link_pause(link, until))
            return lost ? pg_not_known(scope, link->message, error) : pg_error(link, error);
    }
}

int pg_commit(struct ethos_store *store, const char *scope, const struct ethos_commit *commit,
              struct ethos_error *error)
{
    struct pg_store *self = (struct pg_store *)store;
    return send_until_known(self, scope, commit, error);
}

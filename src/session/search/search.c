/*
 * search.c: which messages fit a query: ask the index, rank, read and check, show.
 *
 * An index that fails is made anew, once; if that fails too, one in memory takes its place. What
 * was shown by then is not shown again.
 */
#include "session/search/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/sessions/normalize.h"
#include "core/sessions/search_hits.h"
#include "session/database.h"
#include "session/owners.h"
#include "session/rows.h"
#include "session/search/add.h"
#include "session/search/candidates.h"

#define DISCARDS 3 /* of an index that others make at the same time */

/* One search under way. */
struct running_search {
    struct db *db;
    struct search_show show;
    int64_t *stale; /* numbers of messages that are no more, or read otherwise now */
    size_t stale_count, stale_capacity;
    struct people_set people;
};

/* ---- one hit --------------------------------------------------------------------------------- */

static bool is_same_text(const char *wanted, const char *is)
{
    return !wanted || (is && strcmp(wanted, is) == 0);
}

/* What was asked besides the words, as the message is now. */
static bool matches_conditions(const struct running_search *run,
                               const struct ethos_message *message,
                               const struct ethos_session *session)
{
    const struct ethos_search *search = run->show.search;
    int64_t time = index_time(message->timestamp);
    return is_same_text(search->session, message->session) &&
           is_same_text(search->role, message->role) &&
           form_within(search->working_dir, session->working_dir) && time >= run->show.since &&
           time <= run->show.until && people_has(&run->people, message->session);
}

static int note_stale(struct running_search *run, int64_t doc, struct ethos_error *error)
{
    int64_t *stale = arena_grow(&run->show.arena, run->stale, run->stale_count,
                                &run->stale_capacity, sizeof *stale);
    if (!stale)
        return err_nomem(error);
    run->stale = stale;
    stale[run->stale_count++] = doc;
    return ETHOS_OK;
}

/* The statement stands on a message and its session; sum: of its text when it was indexed. */
static int show_row(struct running_search *run, sqlite3_stmt *statement, int64_t doc, int64_t sum,
                    struct ethos_error *error)
{
    struct ethos_message message = {0};
    struct ethos_session session = {0};
    int code = ETHOS_OK;
    bool hidden = sqlite3_column_int(statement, MESSAGE_COLUMN_COUNT + SESSION_COLUMN_COUNT);
    message_row(statement, 0, &message);
    session_row(statement, MESSAGE_COLUMN_COUNT, &session);
    if (adder_sum(&(struct adder_message){.session = message.session,
                                          .role = message.role,
                                          .timestamp = message.timestamp,
                                          .content = message.content}) != sum)
        code = note_stale(run, doc, error);
    if ((sqlite3_errcode(sqlite3_db_handle(statement)) & 0xFF) == SQLITE_NOMEM)
        return err_nomem(error); // a column that was not read would look like one that is empty
    if (code != ETHOS_OK || hidden || !matches_conditions(run, &message, &session))
        return code;
    code = people_fill(run->db, &session, error);
    if (code != ETHOS_OK)
        return code;
    return search_show(&run->show, &message, &session, error);
}

/* Reads the message that the index proposes. */
static int read_candidate(struct running_search *run, int64_t doc, struct ethos_error *error)
{
    struct search_index *index = run->db->search;
    sqlite3_stmt *known, *statement;
    int code = index_prepare(index, INDEX_DOC, &known, error);
    if (code == ETHOS_OK)
        code = index_prepare(index, ASK_HIT, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(known, 1, doc);
    code = index_step(index, known, error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK; // another program was faster
    bool bound = sqlite3_bind_value(statement, 1, sqlite3_column_value(known, 0)) == SQLITE_OK;
    int64_t sum = sqlite3_column_int64(known, 1);
    sqlite3_reset(known);
    if (!bound)
        return err_nomem(error);
    code = index_step(index, statement, error);
    if (code == SQLITE_DONE)
        return note_stale(run, doc, error);
    if (code == SQLITE_ROW)
        code = show_row(run, statement, doc, sum, error);
    sqlite3_reset(statement);
    return code;
}

/* ---- all hits -------------------------------------------------------------------------------- */

static int by_fit(const void *a, const void *b)
{
    const struct candidate_message *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? 1 : -1;
    if (left->score != right->score)
        return left->score < right->score ? 1 : -1;
    if (left->time != right->time)
        return left->time < right->time ? 1 : -1;
    return (left->doc < right->doc) - (left->doc > right->doc);
}

static int show_found(struct running_search *run, struct candidate_search *find,
                      struct ethos_error *error)
{
    int code = ETHOS_OK;
    if (!run->show.search->newest && find->found_count)
        qsort(find->found, find->found_count, sizeof *find->found, by_fit);
    for (size_t i = 0; code == ETHOS_OK && i < find->found_count && !search_show_full(&run->show);
         i++)
        code = read_candidate(run, find->found[i].doc, error);
    return code;
}

/* The sessions of the directories. */
static int list_folder(struct running_search *run, struct candidate_search *find,
                       struct ethos_error *error)
{
    size_t capacity = 0;
    sqlite3_stmt *statement;
    int code = index_prepare(run->db->search, ASK_FOLDERS, &statement, error);
    if (code != ETHOS_OK)
        return code;
    while ((code = index_step(run->db->search, statement, error)) == SQLITE_ROW) {
        if (!form_within(run->show.search->working_dir,
                         (const char *)sqlite3_column_text(statement, 1)))
            continue;
        const char **ids = arena_grow(&run->show.arena, find->folder, find->folder_count, &capacity,
                                      sizeof *ids);
        const char *id = arena_str(&run->show.arena,
                                   (const char *)sqlite3_column_text(statement, 0));
        if (!ids || !id) {
            code = err_nomem(error);
            break;
        }
        find->folder = ids;
        ids[find->folder_count++] = id;
    }
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* Window after window of what can be ranked, until enough was shown. The first is there. */
static int show_windows(struct running_search *run, struct candidate_search *find,
                        struct ethos_error *error)
{
    int code = ETHOS_OK;
    while (find->found_count > 0) {
        int64_t time = find->found[find->found_count - 1].time;
        int64_t doc = find->found[find->found_count - 1].doc;
        code = show_found(run, find, error);
        if (code != ETHOS_OK || !find->more || search_show_full(&run->show))
            break;
        code = find_next(find, time, doc, error);
        if (code != ETHOS_OK)
            break;
    }
    return code;
}

/* Those that are as they were typed, and older than all that can be ranked. */
static int show_best(struct running_search *run, const struct candidate_search *find,
                     struct ethos_error *error)
{
    struct candidate_search *best = arena_alloc(&run->show.arena, sizeof *best);
    if (!best)
        return err_nomem(error);
    find_best_of(find, best);
    int code = find_next(best, INT64_MAX, INT64_MAX, error);
    return code == ETHOS_OK ? show_windows(run, best, error) : code;
}

static int show_all(struct running_search *run, struct ethos_error *error)
{
    struct candidate_search *find = arena_alloc(&run->show.arena, sizeof *find);
    if (!find)
        return err_nomem(error);
    *find = (struct candidate_search){.index = run->db->search,
                                      .arena = &run->show.arena,
                                      .query = &run->show.query,
                                      .session = run->show.search->session,
                                      .role = run->show.search->role,
                                      .people = &run->people,
                                      .since = run->show.since,
                                      .until = run->show.until};
    int code = run->show.search->working_dir ? list_folder(run, find, error) : ETHOS_OK;
    if (code != ETHOS_OK || (run->show.search->working_dir && find->folder_count == 0))
        return code;
    code = find_begin(find, error);
    if (code == ETHOS_OK)
        code = find_next(find, INT64_MAX, INT64_MAX, error);
    if (code == ETHOS_OK && find->more && find->best_count < run->show.limit &&
        !run->show.search->newest)
        code = show_best(run, find, error);
    return code == ETHOS_OK && !search_show_full(&run->show) ? show_windows(run, find, error)
                                                             : code;
}

/* ---- the index ------------------------------------------------------------------------------- */

static int open_index(struct db *self, bool in_memory, struct ethos_error *error)
{
    if (self->search && index_has_moved(self->search))
        index_close(self);
    return self->search ? ETHOS_OK : index_open(self, in_memory, error);
}

typedef int work_fn(struct running_search *run, struct ethos_error *error);

static int with_index(struct running_search *run, work_fn *work, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (int attempt = 0; attempt < 3; attempt++) {
        code = open_index(run->db, attempt == 2, error);
        if (code == ETHOS_OK)
            code = work(run, error);
        if (!run->db->search || !run->db->search->broken)
            break;
        index_discard(run->db);
    }
    return code;
}

static int catch_up_and_show(struct running_search *run, struct ethos_error *error)
{
    struct search_index *index = run->db->search;
    int code = index_hold(index, error);
    if (code == ETHOS_OK)
        code = index_catch_up(index, false, error);
    if (code == ETHOS_OK)
        code = index_hold(index, error);
    if (code == ETHOS_OK)
        code = show_all(run, error);
    index_let_go(index);
    return code;
}

static int catch_up_wholly(struct running_search *run, struct ethos_error *error)
{
    return index_catch_up(run->db->search, true, error);
}

static int settle_file(struct running_search *run, struct ethos_error *error)
{
    // What is kept in memory is gone with this program.
    return run->db->search->path ? index_catch_up(run->db->search, false, error) : ETHOS_OK;
}

/* ---- from outside ---------------------------------------------------------------------------- */

/* What the search found out about the index is put right, when nobody waits for it. */
static void tidy(struct running_search *run)
{
    if (run->db->search && !run->db->search->broken)
        index_refresh(run->db->search, run->stale, run->stale_count);
}

int search_run(struct db *self, const struct ethos_search *search, ethos_hit_fn *each, void *arg,
               struct ethos_error *error)
{
    struct running_search run = {.db = self};
    int code = search_show_begin(&run.show, search, self->host->now_ms(self->host->arg), each, arg,
                                 error);
    if (code == ETHOS_OK && run.show.query.count > 0) {
        code = db_ready(self, false, error);
        if (code == ETHOS_OK)
            code = people_find(self, search->people, &run.show.arena, &run.people, error);
        if (code == ETHOS_OK)
            code = with_index(&run, catch_up_and_show, error);
        else if (code == ETHOS_NOTFOUND)
            code = ETHOS_OK; // nobody said anything yet
        tidy(&run);
    }
    return search_show_end(&run.show, code);
}

static int run_without_query(struct db *self, work_fn *work, struct ethos_error *error)
{
    struct running_search run = {.db = self};
    int code = db_ready(self, false, error);
    return code == ETHOS_OK ? with_index(&run, work, error) : code;
}

int search_catch_up(struct db *self, struct ethos_error *error)
{
    return run_without_query(self, catch_up_wholly, error);
}

int search_settle(struct db *self, struct ethos_error *error)
{
    return run_without_query(self, settle_file, error);
}

/* Damage is an answer, not an error. */
static int inspect_index(struct db *self, struct search_state *out, struct ethos_error *error)
{
    int code = open_index(self, false, error);
    if (code == ETHOS_OK && self->search->path) {
        code = index_hold(self->search, error);
        if (code == ETHOS_OK)
            code = index_compare(self->search, &out->edited, error);
        index_let_go(self->search);
    }
    out->damaged = self->search && self->search->broken;
    return out->damaged ? ETHOS_OK : code;
}

int search_check(struct db *self, bool fix, struct search_state *out, struct ethos_error *error)
{
    *out = (struct search_state){.damaged = false};
    if (!index_exists(self))
        return ETHOS_OK;
    int code = inspect_index(self, out, error);
    if (out->damaged && fix)
        index_discard(self);
    else if (out->damaged)
        index_close(self);
    return code == ETHOS_OK && fix && (out->damaged || out->edited) ? search_catch_up(self, error)
                                                                    : code;
}

int search_discard(struct db *self, struct ethos_error *error)
{
    for (int i = 0; i < DISCARDS && index_exists(self); i++) {
        if (self->search && index_has_moved(self->search))
            index_close(self);
        int code = self->search ? ETHOS_OK : index_open(self, false, error);
        if (!self->search)
            return code;
        index_discard(self);
    }
    return index_exists(self)
               ? err_set(error, ETHOS_BUSY, INDEX_FILE ": another program is using it")
               : ETHOS_OK;
}

void search_close(struct db *self)
{
    index_close(self);
}

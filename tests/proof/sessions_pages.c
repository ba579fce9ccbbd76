/*
 * sessions_pages.c: pages of sessions while others write: who is there throughout is shown once.
 *
 * One exception, which a reader without a memory cannot help: a session whose updated_at another program
 * had set later than its last message may be shown twice when it is changed again.
 */
#include "sessions.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 50
#define KINDS 7 /* of changes; each is made between two pages */
#define PATIENCE_MS 60000
enum { STEADY, TOUCHED, DELETED, PINNED }; /* what may happen to a session besides messages */

struct hall {
    struct home home;
    unsigned count;
    _Atomic unsigned changes; /* by the other process, so far */
    unsigned char times[];
};

static int fate_of(unsigned number)
{
    if (number % 5 == 4)
        return TOUCHED;
    return number % 50 == 7 ? DELETED : number % 50 == 8 ? PINNED : STEADY;
}

static unsigned lasting_one(const struct hall *hall)
{
    unsigned number;
    do {
        number = proof_random(hall->count);
    } while (fate_of(number) > TOUCHED);
    return number;
}

/* As another program does that counts tokens. */
static bool touch(sqlite3 *database, const struct hall *hall)
{
    char sql[200];
    snprintf(sql, sizeof sql,
             "UPDATE sessions SET input_tokens=input_tokens+9,"
             "updated_at=strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ','now') WHERE id='s-%u'",
             proof_random(hall->count / 5) * 5 + 4);
    database_run(database, sql);
    return true;
}

/* Whose rows the next message gets. */
static bool delete_newest(sqlite3 *database)
{
    database_run(database, "PRAGMA foreign_keys=ON; DELETE FROM sessions WHERE id LIKE 'new-%'"
                           " AND id=(SELECT session_id FROM messages ORDER BY rowid DESC LIMIT 1)");
    return true;
}

/* One change of somebody's session, of each kind in turn. */
static bool change(struct store *store, sqlite3 *database, const struct hall *hall, unsigned i)
{
    char id[32];
    int pin = (int)(i / KINDS % 2);
    const struct ethos_session_patch pinning = {.pinned = &pin};
    const struct ethos_session_patch patch = {.title = "touched"};
    unsigned around = i / KINDS * 50 %
                      hall->count; // where the next that may be pinned or deleted is
    snprintf(id, sizeof id, "s-%u", lasting_one(hall));
    switch (i % KINDS) {
    case 0:
        return store_append(store, id, "more");
    case 1:
        return store->ops->update(store->sessions, id, &patch, &store->error) == ETHOS_OK;
    case 2:
        snprintf(id, sizeof id, "new-%u", i);
        return store_create(store, id) && store_append(store, id, "first");
    case 3:
        snprintf(id, sizeof id, "s-%u", around + 7);
        return store->ops->remove(store->sessions, id, &store->error) != ETHOS_BUSY;
    case 4:
        snprintf(id, sizeof id, "s-%u", around + 8);
        return store->ops->update(store->sessions, id, &pinning, &store->error) != ETHOS_BUSY;
    case 5:
        return touch(database, hall);
    default:
        return delete_newest(database);
    }
}

static int disturb(void *arg)
{
    struct hall *hall = arg;
    struct store store;
    store_open(&store, &hall->home);
    sqlite3 *database = database_open(&hall->home);
    while (change(&store, database, hall, hall->changes)) {
        hall->changes++;
        proof_sleep_us(
            1000); // the times are in milliseconds: within one nobody tells before from after
    }
    proof_note("the other process: %s", store.error.text);
    return 1;
}

static void make_hall(const struct hall *hall)
{
    char sql[800];
    sqlite3 *database = database_open(&hall->home);
    snprintf(sql, sizeof sql,
             "BEGIN; WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n LIMIT %u)"
             " INSERT INTO sessions(id,key,platform,model,provider,created_at,updated_at,pinned)"
             " SELECT 's-'||i,'k'||i,'cli','','','2026-01-01T00:00:00.000Z',"
             " strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ','2026-01-02',(i/3)||' seconds'),i%%97=0 FROM n;"
             " INSERT INTO messages(id,session_id,role,content,timestamp)"
             " SELECT 'm'||id,id,'user','hello',updated_at FROM sessions; COMMIT",
             hall->count);
    database_run(database, sql);
    sqlite3_close(database);
}

static void note_seen(struct hall *hall, const char *id)
{
    unsigned number;
    if (sscanf(id, "s-%u", &number) == 1 && number < hall->count && hall->times[number] < 255)
        hall->times[number]++;
}

/* Nobody reads on before something has changed. */
static void wait_for_changes(const struct hall *hall)
{
    unsigned before = hall->changes;
    for (unsigned ms = 0; ms < PATIENCE_MS && hall->changes < before + KINDS; ms++)
        proof_sleep_us(1000);
}

static int see(void *arg, const struct ethos_session *session)
{
    note_seen(arg, session->id);
    return 0;
}

static int walk(void *arg)
{
    struct hall *hall = arg;
    struct store store;
    char cursor[ETHOS_CURSOR_SIZE] = "", next[ETHOS_CURSOR_SIZE];
    store_open(&store, &hall->home);
    do {
        const struct ethos_session_query query = {.limit = PAGE, .cursor = cursor};
        if (store.ops->list(store.sessions, &query, see, hall, next, &store.error) != ETHOS_OK) {
            proof_note("list: %s", store.error.text);
            return 1;
        }
        memcpy(cursor, next, sizeof cursor);
        wait_for_changes(hall);
    } while (*cursor);
    store_close(&store);
    return 0;
}

/* Pages by counting, as is often done. */
static int walk_plainly(void *arg)
{
    struct hall *hall = arg;
    sqlite3 *database = database_open(&hall->home);
    bool more = true;
    for (unsigned offset = 0; more && offset < 2 * hall->count; offset += PAGE) {
        char sql[160];
        snprintf(sql, sizeof sql,
                 "SELECT id FROM sessions ORDER BY pinned DESC,updated_at DESC,rowid DESC"
                 " LIMIT %u OFFSET %u",
                 PAGE, offset);
        char *text = database_text(database, sql);
        more = *text != 0;
        for (char *line = text; *line; line += strcspn(line, "\n") + 1)
            note_seen(hall, line);
        free(text);
        wait_for_changes(hall);
    }
    sqlite3_close(database);
    return 0;
}

struct pages {
    unsigned steady, missed, repeated, changes, failed;
};

/* One reading of all pages, while the other process is at work. */
static void walk_once(struct hall *hall, child_fn *work, struct pages *pages)
{
    unsigned before = hall->changes;
    memset(hall->times, 0, hall->count);
    pages->failed += child_run(work, hall) != 0;
    pages->changes += hall->changes - before;
    for (unsigned i = 0; i < hall->count; i++) {
        if (fate_of(i) > TOUCHED)
            continue;
        pages->steady++;
        pages->missed += hall->times[i] == 0;
        pages->repeated += hall->times[i] > 1 && fate_of(i) == STEADY;
    }
}

void prove_pages(void)
{
    unsigned count = proof_number("sessions", 1000, 10000), walks = proof_number("walks", 3, 3);
    struct hall *hall = shared_make(sizeof *hall + count);
    struct pages pages = {0}, control = {0};
    hall->count = count;
    place_make(&hall->home, PLACE_DISK);
    database_make(&hall->home);
    make_hall(hall);
    pid_t pid = child_start(disturb, hall);
    for (unsigned i = 0; i < walks; i++)
        walk_once(hall, walk, &pages);
    for (unsigned i = 0; i < walks && control.missed + control.repeated == 0; i++)
        walk_once(hall, walk_plainly, &control);
    kill(pid, SIGKILL);
    bool disturbed = child_wait(pid) == 128 + SIGKILL;
    proof_say(disturbed && pages.failed == 0 && pages.changes >= walks * (count / PAGE) * KINDS &&
                  pages.missed + pages.repeated == 0,
              "sessions: pages of %u over %u sessions, read %u times while another process made %u "
              "changes: of %u shown, %u missed, %u repeated",
              PAGE, count, walks, pages.changes, pages.steady, pages.missed, pages.repeated);
    proof_say(control.missed + control.repeated > 0,
              "sessions: control: pages by counting: %u missed, %u repeated during %u changes",
              control.missed, control.repeated, control.changes);
    place_remove(&hall->home);
}

/*
 * sessions_killed.c: appends and forks die at random moments; what was acknowledged is there.
 */
#include "sessions.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FORK_EVERY 5
#define ROUND 1000 /* more messages than a round appends */
#define PATIENCE_MS 60000

struct ack {
    char fork[ETHOS_UUID_SIZE]; /* "" for an append */
    unsigned count;             /* messages of the session when it was done */
};

struct victim {
    const struct home *home;
    unsigned round;
    int pipes[2]; /* what it acknowledged */
};

static void id_of_round(unsigned round, char out[32])
{
    snprintf(out, 32, "round-%u", round);
}

/* One word that no other message has. */
static void word_of(unsigned round, unsigned number, char out[32])
{
    snprintf(out, 32, "w%08u", round * ROUND + number);
}

static int append_and_tell(void *arg)
{
    const struct victim *victim = arg;
    struct store store;
    struct ack ack = {.count = 0};
    char id[32], text[600];
    store_open(&store, victim->home);
    id_of_round(victim->round, id);
    if (!store_create(&store, id))
        return 1;
    while (ack.count < ROUND) {
        char word[32];
        word_of(victim->round, ack.count, word);
        snprintf(text, sizeof text, "%s %0*d", word, (int)(ack.count * 37 % 500), 0);
        if (!store_append(&store, id, text))
            return 1;
        ack.count++;
        ack.fork[0] = 0;
        if (write(victim->pipes[1], &ack, sizeof ack) != sizeof ack)
            return 1;
        if (ack.count % FORK_EVERY != 0)
            continue;
        if (store.ops->fork(store.sessions, id, ack.fork, &store.error) != ETHOS_OK ||
            write(victim->pipes[1], &ack, sizeof ack) != sizeof ack)
            return 1;
    }
    return 0;
}

/* A copy by hand, a row at a time: what a fork without a transaction would be. */
static int fork_plainly(void *arg)
{
    const struct victim *victim = arg;
    const struct ack begun = {.count = FORK_EVERY};
    sqlite3 *database = database_open(victim->home);
    for (unsigned fork = 0; fork < ROUND; fork++) {
        for (unsigned i = 0; i <= FORK_EVERY; i++) {
            char *sql = text_format(
                i == 0 ? "INSERT INTO sessions(id,key,platform,model,provider,parent_session_id,"
                         "created_at,updated_at) VALUES('f-%u-%u','f:%u:%u','cli','','','x',"
                         "'2026','2026')"
                       : "INSERT INTO messages(id,session_id,role,content,timestamp) VALUES("
                         "hex(randomblob(16)),'f-%u-%u','user','%u %u','2026')",
                victim->round, fork, victim->round, fork);
            database_run(database, sql);
            free(sql);
        }
        if (fork == 0 && write(victim->pipes[1], &begun, sizeof begun) != sizeof begun)
            return 1;
    }
    return 0;
}

/* So many acknowledgements wait to be read, or nothing happens for long. */
static void wait_for(const struct victim *victim, unsigned acks)
{
    int bytes = 0;
    for (unsigned ms = 0; ms < PATIENCE_MS; ms++) {
        if (ioctl(victim->pipes[0], FIONREAD, &bytes) != 0 ||
            (size_t)bytes >= acks * sizeof(struct ack))
            return;
        proof_sleep_us(1000);
    }
}

/* Kills it some time after so many acknowledgements. */
static void kill_child(child_fn *work, struct victim *victim, unsigned acks)
{
    if (pipe(victim->pipes) != 0)
        proof_die("pipe");
    pid_t pid = child_start(work, victim);
    close(victim->pipes[1]);
    wait_for(victim, acks);
    proof_sleep_us(proof_random(60000));
    kill(pid, SIGKILL);
    int status = child_wait(pid);
    if (status != 128 + SIGKILL)
        proof_say(false, "sessions: a writer ended by itself with %d", status);
}

struct kills {
    unsigned rounds, acknowledged, forks, lost, wrong_forks, unsound, not_found;
};

static unsigned messages_of(sqlite3 *database, const char *id)
{
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM messages WHERE session_id='%s'", id);
    return (unsigned)database_number(database, sql);
}

/* Forks that are there by half: whole ones have as many messages as their parent had at some time. */
static unsigned count_torn(sqlite3 *database)
{
    char sql[300];
    snprintf(
        sql, sizeof sql,
        "SELECT count(*) FROM (SELECT (SELECT count(*) FROM messages m WHERE m.session_id=s.id)"
        " AS n FROM sessions s WHERE parent_session_id IS NOT NULL) WHERE n=0 OR n%%%d<>0",
        FORK_EVERY);
    return (unsigned)database_number(database, sql);
}

/* Reads what was acknowledged and looks for it. Returns how many messages there must be. */
static unsigned take_acks(sqlite3 *database, int pipe, struct kills *kills)
{
    struct ack ack;
    unsigned count = 0;
    while (read(pipe, &ack, sizeof ack) == sizeof ack) {
        count = ack.count;
        kills->acknowledged += !ack.fork[0];
        kills->forks += ack.fork[0] != 0;
        if (ack.fork[0] && messages_of(database, ack.fork) != ack.count)
            kills->wrong_forks++;
    }
    return count;
}

/* Of a round: the messages are its first ones, in order, all that were acknowledged and at most one more. */
static void check_round(sqlite3 *database, unsigned round, unsigned acknowledged,
                        struct kills *kills)
{
    char id[32], word[32], sql[200];
    unsigned there = 0;
    id_of_round(round, id);
    snprintf(sql, sizeof sql,
             "SELECT content FROM messages WHERE session_id='%s' ORDER BY timestamp,rowid", id);
    char *text = database_text(database, sql);
    for (char *line = text; *line; line += strcspn(line, "\n") + 1, there++) {
        word_of(round, there, word);
        kills->lost += strncmp(line, word, strlen(word)) != 0;
    }
    if (there < acknowledged || there > acknowledged + 1)
        kills->lost += there < acknowledged ? acknowledged - there : 1;
    free(text);
}

struct quest {
    const struct home *home;
    unsigned round, number; /* of the message whose word is looked for */
};

static int find_word(void *arg)
{
    const struct quest *quest = arg;
    struct store store;
    char word[32], found[FOUND_SIZE];
    store_open(&store, quest->home);
    word_of(quest->round, quest->number, word);
    store_search(&store, word, found);
    store_close(&store);
    return strncmp(found, word, strlen(word)) != 0;
}

static void kill_round(const struct home *home, unsigned round, struct kills *kills)
{
    static const unsigned acks[] = {0, 1, FORK_EVERY + 1}; // from its start, or surely in its midst
    struct victim victim = {.home = home, .round = round};
    kill_child(append_and_tell, &victim, acks[round % 3]);
    sqlite3 *database = database_open(home);
    unsigned acknowledged = take_acks(database, victim.pipes[0], kills);
    close(victim.pipes[0]);
    check_round(database, round, acknowledged, kills);
    kills->unsound += !database_sound(database);
    sqlite3_close(database);
    struct quest quest = {home, round, acknowledged - 1};
    if (acknowledged > 0 && child_run(find_word, &quest) != 0)
        kills->not_found++;
    kills->rounds++;
}

static void control_killed(unsigned rounds)
{
    struct home home;
    place_make(&home, PLACE_DISK);
    database_make(&home);
    for (unsigned i = 0; i < rounds; i++) {
        struct victim victim = {.home = &home, .round = i};
        kill_child(fork_plainly, &victim, 1);
        close(victim.pipes[0]);
    }
    sqlite3 *database = database_open(&home);
    unsigned torn = count_torn(database);
    sqlite3_close(database);
    proof_say(torn > 0,
              "sessions: control: killed %u times while copying row by row: %u forks torn", rounds,
              torn);
    place_remove(&home);
}

void prove_killed(void)
{
    struct home home;
    struct kills kills = {0};
    unsigned rounds = proof_number("kills", 15, 400);
    place_make(&home, PLACE_DISK);
    child_run(create_shared, &home); // so that there is a database
    for (unsigned i = 0; i < rounds; i++)
        kill_round(&home, i, &kills);
    sqlite3 *database = database_open(&home);
    unsigned torn = count_torn(database);
    sqlite3_close(database);
    proof_say(kills.acknowledged >= rounds && kills.forks > 0 &&
                  kills.lost + kills.wrong_forks + torn + kills.unsound + kills.not_found == 0,
              "sessions: killed %u times: %u appends and %u forks acknowledged, %u messages lost, "
              "%u forks not as acknowledged, %u torn, %u times unsound, %u words not found",
              kills.rounds, kills.acknowledged, kills.forks, kills.lost, kills.wrong_forks, torn,
              kills.unsound, kills.not_found);
    place_remove(&home);
    control_killed(rounds / 3 + 1);
}

/*
 * hooks.c: what a hook is told is recorded, whatever else runs.
 *
 *     beside   prompts of agents beside loops of every kind of command, a server, and somebody who
 *              removes the folder of the queue whenever it is empty: all are recorded, once
 *     unanswered  prompts of one conversation that nobody answers cost what they hold
 *
 * All of it through the program; what was recorded is read with SQLite alone (support/database.h).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/database.h"
#include "support/proof.h"
#include "support/server.h"

#define WORD "prompt" /* of the tokens */

static int run(const struct home *home, const char *input, char **out, const char *const *more)
{
    const char *words[16] = {ethos_program(), "-q", "--home", home->path};
    size_t n = 4;
    while (*more)
        words[n++] = *more++;
    words[n] = NULL;
    return program_run(words, input, out);
}

#define RUN(home, input, out, ...) run(home, input, out, (const char *const[]){__VA_ARGS__, NULL})

/* Whether the hook ended as it must: status 0 and one JSON object. */
static bool send_prompt(const struct home *home, const char *conversation, unsigned number)
{
    char *out = NULL, *event = text_format("{\"conversation_id\":\"%s\",\"generation_id\":\"%u\","
                                           "\"prompt\":\"" WORD "-%u\"}",
                                           conversation, number, number);
    int status = RUN(home, event, &out, "hook", "cursor", "beforeSubmitPrompt");
    bool good = status == 0 && out[0] == '{';
    if (!good)
        proof_note("hook: exit %d, %.200s", status, out);
    free(out);
    free(event);
    return good;
}

/* How often each prompt is recorded. */
static void count_prompts(const struct home *home, struct tokens *tokens)
{
    sqlite3 *database = database_open(home);
    char *text = database_text(database, "SELECT content FROM messages WHERE role='user' AND"
                                         " deleted_at IS NULL");
    tokens_count(tokens, text, strlen(text));
    if (!database_sound(database))
        proof_say(false, "hooks: the database is not sound");
    free(text);
    sqlite3_close(database);
}

/* ---- beside ----------------------------------------------------------------------------------- */

enum { FEEDERS = 2, LOOPS = 6 };

struct feed {
    const struct home *home;
    unsigned number, from, to;
};

/* Every tenth prompt begins another conversation. */
static int feed_prompts(void *arg)
{
    const struct feed *feed = arg;
    unsigned failed = 0;
    for (unsigned i = feed->from; i < feed->to; i++) {
        char conversation[32];
        snprintf(conversation, sizeof conversation, "c%u-%u", feed->number, i / 10);
        failed += !send_prompt(feed->home, conversation, i);
    }
    return failed > 0;
}

/* A command that is run again and again until it is told to stop. */
struct loop {
    const struct home *home;
    const char *const *words; /* NULL: removes the folder of the queue when it is empty */
    const char *input;
    volatile bool *stop; /* shared */
};

/* As programs of an earlier version do when they have recorded everything. */
static void remove_queue(const struct loop *loop)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/spool", loop->home->path);
    for (; !*loop->stop; proof_sleep_us(50))
        rmdir(path);
}

static int run_loop(void *arg)
{
    const struct loop *loop = arg;
    if (!loop->words)
        remove_queue(loop);
    while (!*loop->stop)
        run(loop->home, loop->input, NULL, loop->words);
    return 0;
}

static void drain_all(const struct home *home)
{
    for (int i = 0; i < 100 && RUN(home, NULL, NULL, "sessions", "drain") != 0; i++)
        proof_sleep_us(10000);
}

static void prove_beside(void)
{
    static const char *const commands[LOOPS][4] = {{"memory", "add", "something to keep"},
                                                   {"sessions", "list", "--all"},
                                                   {"sync"},
                                                   {"doctor"},
                                                   {"sessions", "drain"},
                                                   {"prefetch"}};
    static const char update[] = "[{\"action\":\"add\",\"store\":\"memory\",\"content\":\"x\"}]";
    unsigned count = proof_number("prompts", 300, 20000), failed = 0;
    struct home home;
    struct server server;
    struct tokens tokens;
    struct feed feeds[FEEDERS];
    struct loop loops[LOOPS + 1];
    pid_t pids[LOOPS + 1], feeders[FEEDERS];
    volatile bool *stop = shared_make(sizeof *stop);
    place_make(&home, PLACE_MEMORY);
    server_key(&server, &home);
    server_start(&server, &home);
    for (int i = 0; i <= LOOPS; i++) {
        loops[i] = (struct loop){&home, i < LOOPS ? commands[i] : NULL, update, stop};
        pids[i] = child_start(run_loop, &loops[i]);
    }
    for (unsigned i = 0; i < FEEDERS; i++) {
        feeds[i] = (struct feed){&home, i, count * i / FEEDERS, count * (i + 1) / FEEDERS};
        feeders[i] = child_start(feed_prompts, &feeds[i]);
    }
    for (int i = 0; i < FEEDERS; i++)
        failed += child_wait(feeders[i]) != 0;
    *stop = true;
    for (int i = 0; i <= LOOPS; i++)
        child_wait(pids[i]);
    server_end(&server, SIGTERM);
    drain_all(&home);
    tokens_make(&tokens, WORD, count);
    count_prompts(&home, &tokens);
    unsigned present = tokens_present(&tokens), doubled = tokens_doubled(&tokens);
    proof_say(failed == 0 && present == count && doubled == 0,
              "hooks beside: %u prompts beside %d loops of commands and a server: %u recorded,"
              " %u doubled, %u hooks failed",
              count, LOOPS, present, doubled, failed);
    tokens_free(&tokens);
    place_remove(&home);
}

/* ---- unanswered ------------------------------------------------------------------------------- */

static void prove_unanswered(void)
{
    unsigned count = proof_number("unanswered", 100, 800);
    uint64_t said = 0;
    struct home home;
    struct tokens tokens;
    place_make(&home, PLACE_MEMORY);
    for (unsigned i = 0; i < count; i++) {
        char text[32];
        said += (unsigned)snprintf(text, sizeof text, WORD "-%u", i);
        send_prompt(&home, "one", i);
    }
    drain_all(&home);
    tokens_make(&tokens, WORD, count);
    count_prompts(&home, &tokens);
    sqlite3 *database = database_open(&home);
    int64_t rows = database_number(database, "SELECT count(*) FROM messages");
    int64_t bytes = database_number(database, "SELECT sum(length(content)) FROM messages WHERE"
                                              " role='user'");
    sqlite3_close(database);
    unsigned present = tokens_present(&tokens);
    proof_say(present == count && bytes == (int64_t)said && rows <= 2 * (int64_t)count,
              "hooks unanswered: %u prompts of %llu bytes in a row: %u recorded, as %lld bytes in"
              " %lld rows",
              count, (unsigned long long)said, present, (long long)bytes, (long long)rows);
    tokens_free(&tokens);
    place_remove(&home);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    if (proof_part("beside"))
        prove_beside();
    if (proof_part("unanswered"))
        prove_unanswered();
    return proof_end();
}

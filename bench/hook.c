/*
 * hook.c: hooks as an agent runs them: a whole process, told about an event on its standard input.
 *
 * The conversation has a transcript of 5 MB. Each sample of a turn's end is about one more turn, which
 * is appended before it, untimed.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define TURNS 2500 /* of 2 KB */

static const char *const events[] = {
    [HOOK_START] = "SessionStart", [HOOK_PROMPT] = "UserPromptSubmit", [HOOK_TURN] = "Stop"};

struct paths {
    char home[PATH_MAX], transcript[PATH_MAX], event[PATH_MAX], database[PATH_MAX];
};

static struct paths paths_of(const struct bench *bench, bool by_hand)
{
    struct paths paths;
    const char *name = by_hand ? "talk-by-hand" : "talk-by-hook";
    snprintf(paths.home, PATH_MAX, "%s/%s", bench->root, name);
    snprintf(paths.transcript, PATH_MAX, "%s/%s.jsonl", bench->root, name);
    snprintf(paths.event, PATH_MAX, "%s/%s.json", bench->root, name);
    snprintf(paths.database, PATH_MAX, "%s/%s/sessions.db", bench->root, name);
    return paths;
}

/* ---- the conversation ------------------------------------------------------------------------ */

static void print_message(FILE *out, unsigned number, const char *role, const char *text)
{
    fprintf(out,
            "{\"type\":\"%s\",\"uuid\":\"%08x-1111-4111-8111-111111111111\",\"parentUuid\":", role,
            number + 1);
    if (number > 0)
        fprintf(out, "\"%08x-1111-4111-8111-111111111111\"", number);
    else
        fputs("null", out);
    fprintf(out,
            ",\"sessionId\":\"bench\",\"cwd\":\"/"
            "bench\",\"timestamp\":\"2026-01-%02uT%02u:%02u:%02u.000Z\","
            "\"message\":{\"role\":\"%s\",\"content\":[{\"type\":\"text\",\"text\":\"%u %s\"}]}}\n",
            1 + number / 86400, number / 3600 % 24, number / 60 % 60, number % 60, role, number,
            text);
}

static void add_turns(struct bench *bench, const struct paths *paths, unsigned first,
                      unsigned count, size_t size)
{
    FILE *out = fopen(paths->transcript, "a");
    if (!out)
        bench_die(bench, paths->transcript);
    memset(bench->buffer, 'x', size);
    for (size_t i = 6; i < size; i += 7)
        bench->buffer[i] = ' ';
    bench->buffer[size] = 0;
    for (unsigned i = 0; i < count; i++) {
        print_message(out, (first + i) * 2, "user", "What comes next?");
        print_message(out, (first + i) * 2 + 1, "assistant", bench->buffer);
    }
    if (fclose(out) != 0)
        bench_die(bench, paths->transcript);
}

static void tell(struct bench *bench, const struct paths *paths)
{
    FILE *out = fopen(paths->event, "w");
    if (!out)
        bench_die(bench, paths->event);
    fprintf(out,
            "{\"session_id\":\"bench\",\"transcript_path\":\"%s\",\"cwd\":\"%s\","
            "\"prompt\":\"What comes next?\",\"last_assistant_message\":\"This does.\"}",
            paths->transcript, bench->root);
    if (fclose(out) != 0)
        bench_die(bench, paths->event);
}

/* ---- running --------------------------------------------------------------------------------- */

static void spawn_with(const struct bench *bench, char *const argv[], const char *input)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    program_spawn(bench, argv, &actions);
    posix_spawn_file_actions_destroy(&actions);
}

static void run_event(const struct bench *bench, const struct paths *paths, const char *home,
                      const char *event)
{
    char program[PATH_MAX];
    snprintf(program, sizeof program, "%s/bench/bin/ethos", bench->build);
    char *argv[] = {program, "hook", "claude-code", (char *)event, NULL}; // exec leaves them alone
    if (setenv("ETHOS_HOME", home, 1) != 0)
        bench_die(bench, "setenv");
    spawn_with(bench, argv, paths->event);
}

/* Both conversations begin with the same transcript, recorded. */
static void begin(struct bench *bench, const struct paths *paths)
{
    struct stat info;
    if (stat(paths->database, &info) == 0)
        return;
    add_turns(bench, paths, 0, TURNS, 1700);
    tell(bench, paths);
    for (int i = 0; i < 3; i++) // what one does not get done in its time, the next goes on with
        run_event(bench, paths, paths->home, "Stop");
    if (stat(paths->database, &info) != 0)
        bench_die(bench, paths->database);
}

void hook_prepare(struct bench *bench)
{
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        struct paths paths = paths_of(bench, by_hand);
        begin(bench, &paths);
        add_turns(bench, &paths, TURNS + bench->turns, 1, 200);
    }
    bench->turns++;
}

void run_hook(struct bench *bench, int arg, unsigned count)
{
    struct paths paths = paths_of(bench, false);
    const char *home = arg == HOOK_TURN ? paths.home : bench->homes[PLACE_2K].path;
    for (unsigned i = 0; i < count; i++)
        run_event(bench, &paths, home, events[arg]);
}

void record_by_hand(struct bench *bench, int arg, unsigned count)
{
    char program[PATH_MAX];
    struct paths paths = paths_of(bench, true);
    (void)arg;
    snprintf(program, sizeof program, "%s/bench/bin/recorder", bench->build);
    char *argv[] = {program, paths.database, paths.transcript, NULL};
    for (unsigned i = 0; i < count; i++)
        spawn_with(bench, argv, "/dev/null");
}

/* A prompt of words that notes have. */
void run_hook_at(struct bench *bench, int arg, unsigned count)
{
    struct paths paths = paths_of(bench, false);
    char question[256];
    const char *home = recall_home(bench, (unsigned)arg, question, sizeof question);
    snprintf(paths.event, PATH_MAX, "%s/asked.json", bench->root);
    FILE *out = fopen(paths.event, "w");
    if (!out)
        bench_die(bench, paths.event);
    fprintf(out,
            "{\"session_id\":\"bench\",\"transcript_path\":\"%s\",\"cwd\":\"%s\","
            "\"prompt\":\"%s\"}",
            paths.transcript, bench->root, question);
    if (fclose(out) != 0)
        bench_die(bench, paths.event);
    for (unsigned i = 0; i < count; i++)
        run_event(bench, &paths, home, events[HOOK_PROMPT]);
}

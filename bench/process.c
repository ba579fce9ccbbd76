/*
 * process.c: whole processes: spawned, waited for, nothing kept of what they print.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define MOST_WORDS 5 /* of a command, the closing NULL included */

/* Stand for paths in a home. */
static const char user_file[] = "USER.md", memory_file[] = "MEMORY.md", memory_dir[] = ".";

static const struct {
    enum bench_place place;
    const char *words[MOST_WORDS]; /* the first: below the build directory, or a name on PATH */
} commands[] = {
    [PROGRAM_TRIVIAL] = {PLACE_2K, {"bench/bin/trivial"}},
    [PROGRAM_VERSION] = {PLACE_2K, {"bench/bin/ethos", "--version"}},
    [PROGRAM_PREFETCH_2K] = {PLACE_2K, {"bench/bin/ethos", "prefetch"}},
    [PROGRAM_PREFETCH_20K] = {PLACE_20K, {"bench/bin/ethos", "prefetch"}},
    [PROGRAM_CAT] = {PLACE_20K, {"cat", user_file, memory_file}},
    [PROGRAM_NODE] = {PLACE_20K, {"node", "-e", "0"}},
    [PROGRAM_ADD_BY_HAND] = {PLACE_HAND, {"bench/bin/adder", memory_dir, BENCH_NOTE}},
    [PROGRAM_ADD] = {PLACE_WRITE, {"bench/bin/ethos", "memory", "add", BENCH_NOTE}},
};

bool program_find(const char *name, char out[PATH_MAX])
{
    const char *path = getenv("PATH"), *peers = getenv("BENCH_PEERS");
    snprintf(out, PATH_MAX, "%s/node_modules/.bin/%s", peers ? peers : "", name);
    if (peers && *peers && access(out, X_OK) == 0)
        return true;
    for (const char *at = path ? path : ""; *at;) {
        size_t size = strcspn(at, ":");
        snprintf(out, PATH_MAX, "%.*s/%s", (int)size, at, name);
        if (size > 0 && access(out, X_OK) == 0)
            return true;
        at += size + (at[size] == ':');
    }
    return false;
}

static const char *resolve_word(const struct bench_home *home, const char *word)
{
    return word == user_file     ? home->files[0]
           : word == memory_file ? home->files[1]
           : word == memory_dir  ? home->dir
                                 : word;
}

static void resolve(const struct bench *bench, enum bench_program which, char path[PATH_MAX],
                    char *argv[MOST_WORDS])
{
    const struct bench_home *home = &bench->homes[commands[which].place];
    const char *const *words = commands[which].words;
    if (strchr(words[0], '/'))
        snprintf(path, PATH_MAX, "%s/%s", bench->build, words[0]);
    else if (!program_find(words[0], path))
        bench_die(bench, words[0]);
    argv[0] = path;
    for (int i = 1; i < MOST_WORDS; i++)
        argv[i] = (char *)resolve_word(home, words[i]); // exec leaves them alone
    if (setenv("ETHOS_HOME", home->path, 1) != 0)
        bench_die(bench, "setenv");
}

void program_spawn(const struct bench *bench, char *const argv[],
                   const posix_spawn_file_actions_t *actions)
{
    pid_t pid;
    int status;
    errno = posix_spawn(&pid, argv[0], actions, NULL, argv, environ);
    if (errno || waitpid(pid, &status, 0) != pid)
        bench_die(bench, argv[0]);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        errno = ECANCELED;
        bench_die(bench, argv[0]);
    }
}

void run_program(struct bench *bench, int arg, unsigned count)
{
    char path[PATH_MAX], *argv[MOST_WORDS];
    posix_spawn_file_actions_t actions;
    resolve(bench, (enum bench_program)arg, path, argv);
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    for (unsigned i = 0; i < count; i++)
        program_spawn(bench, argv, &actions);
    posix_spawn_file_actions_destroy(&actions);
}

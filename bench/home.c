/*
 * home.c: the throwaway homes that everything is measured on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/view.h"
#include "bench.h"
#include "memory/home/ephemeral.h"
#include "text.h"

static const struct {
    const char *name;
    size_t bytes;
} places[PLACES] = {
    [PLACE_2K] = {"2k", 2048},        [PLACE_20K] = {"20k", 20480},   [PLACE_1M] = {"1m", 1048576},
    [PLACE_WRITE] = {"write", 20480}, [PLACE_HAND] = {"hand", 20480},
};

_Noreturn void bench_die(const struct bench *bench, const char *what)
{
    fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    if (bench->root)
        ephemeral_remove(bench->root);
    exit(1);
}

_Noreturn void bench_die_of(const struct bench *bench, const struct ethos_error *error)
{
    fprintf(stderr, "bench: %s\n", error->text);
    if (bench->root)
        ephemeral_remove(bench->root);
    exit(1);
}

static char *join(const struct bench *bench, const char *dir, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        bench_die(bench, name);
    return path;
}

void bench_fill(const struct bench *bench, const char *path, struct ethos_view text)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    const struct timespec long_ago[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
    if (fd < 0 || write(fd, text.data, text.size) != (ssize_t)text.size ||
        futimens(fd, long_ago) != 0 || fsync(fd) != 0)
        bench_die(bench, path);
    close(fd);
}

/* Makes one of the two files through the library, so that it lies where it belongs. */
static char *make_file(const struct bench *bench, const struct bench_home *home, const char *store)
{
    struct ethos_error error;
    struct ethos_file *file;
    const struct ethos_target target = {.store = store};
    if (ethos_write(home->turn, &target, NULL, VIEW("\n"), NULL, &error) != ETHOS_OK ||
        ethos_read(home->turn, &target, &file, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    char *path = strdup(file->path);
    if (!path)
        bench_die(bench, store);
    ethos_file_free(file);
    bench_fill(bench, path, home->text);
    return path;
}

/* A turn keeps the configuration it was made with; programs find the default one again. */
static void open_turns(struct bench *bench, struct bench_home *home)
{
    static const char setting[] = "workspaceMemory: off\n";
    struct ethos_error error;
    char *config = join(bench, home->path, "config.yaml");
    FILE *file = fopen(config, "w");
    if (!file || fputs(setting, file) == EOF || fclose(file) != 0)
        bench_die(bench, config);
    if (ethos_turn_new(home->ethos, NULL, &home->turn, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    if (unlink(config) != 0)
        bench_die(bench, config);
    if (ethos_turn_new(home->ethos, NULL, &home->turn_default, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    free(config);
}

static void open_home(struct bench *bench, enum bench_place place)
{
    struct bench_home *home = &bench->homes[place];
    struct ethos_error error;
    home->path = join(bench, bench->root, places[place].name);
    home->absent = join(bench, home->path, "workspaces/project/memory/MEMORY.md");
    home->text = text_make(places[place].bytes);
    if (!home->text.data || mkdir(home->path, 0700) != 0)
        bench_die(bench, home->path);
    const struct ethos_options options = {.home = home->path};
    if (ethos_open(&options, &home->ethos, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    open_turns(bench, home);
    home->files[0] = make_file(bench, home, "user");
    home->files[1] = make_file(bench, home, "memory");
    home->dir = strndup(home->files[1], (size_t)(strrchr(home->files[1], '/') - home->files[1]));
    if (!home->dir)
        bench_die(bench, "directory");
}

/* What the caller has set for his own memory stays out of it. */
static void clean_environment(void)
{
    static const char *const names[] = {"ETHOS_HOME", "ETHOS_STATE_DIR",        "ETHOS_PERSONALITY",
                                        "ETHOS_USER", "ETHOS_EPHEMERAL_MEMORY", "ETHOS_WORKSPACE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

void bench_open(struct bench *bench, const char *build)
{
    struct ethos_error error;
    bench->build = realpath(build, NULL);
    bench->buffer = malloc(BENCH_BUFFER);
    if (!bench->build || !bench->buffer)
        bench_die(bench, build);
    clean_environment();
    if (ephemeral_make(&bench->root, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    char *project = join(bench, bench->root, "project"), *git = join(bench, project, ".git");
    if (mkdir(project, 0700) != 0 || mkdir(git, 0700) != 0 || chdir(project) != 0)
        bench_die(bench, project);
    free(project);
    free(git);
    memset(bench->buffer, 0, BENCH_BUFFER); // its pages are there before anyone is timed
    for (int i = 0; i < PLACES; i++)
        open_home(bench, (enum bench_place)i);
}

void bench_restore(struct bench *bench)
{
    const struct bench_home *home = &bench->homes[PLACE_WRITE], *hand = &bench->homes[PLACE_HAND];
    struct ethos_error error;
    bench_fill(bench, hand->files[1], hand->text);
    if (ethos_write(home->turn, NULL, NULL, home->text, NULL, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
}

void bench_close(struct bench *bench)
{
    for (int i = 0; i < PLACES; i++) {
        struct bench_home *home = &bench->homes[i];
        ethos_turn_free(home->turn);
        ethos_turn_free(home->turn_default);
        ethos_close(home->ethos);
        free(home->path);
        free(home->absent);
        free(home->files[0]);
        free(home->files[1]);
        free(home->dir);
        free((char *)home->text.data);
    }
    crews_close(bench);
    servers_close(bench);
    notes_close(bench);
    talks_close(bench);
    searched_close(bench);
    ephemeral_remove(bench->root);
    free(bench->root);
    free(bench->build);
    free(bench->buffer);
}

/*
 * measure.c: rounds, clocks, medians.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

struct sample {
    double wall, cpu;
};

/* What one round found for one case. */
struct pair {
    struct sample floor, subject;
};

static double clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Of this process and of the children it has waited for. */
static double cpu_time(void)
{
    struct rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    return clock_of(CLOCK_PROCESS_CPUTIME_ID) +
           (double)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
           (double)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1e-6;
}

static struct sample take(struct bench *bench, const struct bench_case *of,
                          const struct bench_op *op)
{
    if (of->prepare)
        of->prepare(bench);
    if (of->open)
        of->open(bench, op->arg, 1);
    double cpu = cpu_time(), wall = clock_of(CLOCK_MONOTONIC);
    op->run(bench, op->arg, of->count);
    wall = clock_of(CLOCK_MONOTONIC) - wall;
    cpu = cpu_time() - cpu;
    return (struct sample){wall / of->count, cpu / of->count};
}

static struct pair compare(struct bench *bench, const struct bench_case *of)
{
    struct pair pair;
    bool floor_first = random() & 1;
    if (floor_first)
        pair.floor = take(bench, of, of->floor);
    pair.subject = take(bench, of, of->subject);
    if (!floor_first)
        pair.floor = take(bench, of, of->floor);
    return pair;
}

static void shuffle(size_t *order, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)random() % i, kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* Set by the signals that end us, so that nothing temporary is left behind. */
static volatile sig_atomic_t stopped;

static void stop(int number)
{
    stopped = number;
}

/* All cases once, in random order, into column `round` of pairs. */
static void run_round(struct bench *bench, const struct bench_run *run, size_t *order,
                      struct pair *pairs, unsigned round)
{
    shuffle(order, run->count);
    for (size_t i = 0; i < run->count; i++) {
        const struct bench_result *result = &run->results[order[i]];
        if (stopped) {
            errno = EINTR;
            bench_die(bench, result->of->name);
        }
        if (!result->skipped)
            pairs[order[i] * run->rounds + round] = compare(bench, result->of);
    }
}

/* ---- statistics ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which `part` of the sorted values lie, between two of them if need be. */
static double quantile(const double *sorted, unsigned count, double part)
{
    double at = part * (count - 1);
    unsigned low = (unsigned)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

typedef double pick_fn(const struct pair *pair);

static double floor_wall(const struct pair *pair)
{
    return pair->floor.wall;
}

static double floor_cpu(const struct pair *pair)
{
    return pair->floor.cpu;
}

static double subject_wall(const struct pair *pair)
{
    return pair->subject.wall;
}

static double subject_cpu(const struct pair *pair)
{
    return pair->subject.cpu;
}

static double ratio(const struct pair *pair)
{
    return pair->subject.wall / pair->floor.wall;
}

static void sort_values(const struct pair *pairs, unsigned rounds, pick_fn *pick, double *out)
{
    for (unsigned i = 0; i < rounds; i++)
        out[i] = pick(&pairs[i]);
    qsort(out, rounds, sizeof *out, ascending);
}

static double median(const struct pair *pairs, unsigned rounds, pick_fn *pick, double *scratch)
{
    sort_values(pairs, rounds, pick, scratch);
    return quantile(scratch, rounds, 0.5);
}

static void sum_up(const struct pair *pairs, unsigned rounds, double *scratch,
                   struct bench_result *result)
{
    result->floor_wall = median(pairs, rounds, floor_wall, scratch);
    result->floor_cpu = median(pairs, rounds, floor_cpu, scratch);
    result->subject_wall = median(pairs, rounds, subject_wall, scratch);
    result->subject_cpu = median(pairs, rounds, subject_cpu, scratch);
    result->ratio = median(pairs, rounds, ratio, scratch);
    result->low = quantile(scratch, rounds, 0.25);
    result->high = quantile(scratch, rounds, 0.75);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const char *filesystem_of(const char *path)
{
    static const struct {
        long magic;
        const char *name;
    } known[] = {{0xEF53, "ext4"},      {0x01021994, "tmpfs"},     {0x58465342, "xfs"},
                 {0x9123683E, "btrfs"}, {0x794C7630, "overlayfs"}, {0x2FC12FC1, "zfs"}};
    struct statfs at;
    if (statfs(path, &at) != 0)
        return "unknown file system";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].magic == (long)at.f_type)
            return known[i].name;
    }
    return "another file system";
}

static void skip_absent(struct bench_run *run)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < run->count; i++) {
        const char *program = run->results[i].of->program;
        run->results[i].skipped = program && !program_find(program, path);
    }
}

/* Before anyone is timed, everything has been done once: files cached, pages touched. */
static void warm_up(struct bench *bench, const struct bench_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        if (!run->results[i].skipped)
            compare(bench, run->results[i].of);
    }
}

static void show_progress(unsigned round, unsigned rounds)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rround %u of %u%s", round, rounds, round == rounds ? "\r\033[K" : "");
}

void bench_measure(struct bench *bench, struct bench_run *run)
{
    struct pair *pairs = calloc(run->count * run->rounds, sizeof *pairs);
    double *scratch = calloc(run->rounds, sizeof *scratch);
    size_t *order = calloc(run->count, sizeof *order);
    if (!pairs || !scratch || !order)
        bench_die(bench, "memory");
    for (size_t i = 0; i < run->count; i++)
        order[i] = i;
    srandom((unsigned)time(NULL));
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    run->filesystem = filesystem_of(bench->root);
    skip_absent(run);
    getloadavg(&run->load[0], 1);
    warm_up(bench, run);
    for (unsigned round = 0; round < run->rounds; round++) {
        run_round(bench, run, order, pairs, round);
        show_progress(round + 1, run->rounds);
    }
    getloadavg(&run->load[1], 1);
    for (size_t i = 0; i < run->count; i++)
        sum_up(&pairs[i * run->rounds], run->rounds, scratch, &run->results[i]);
    free(pairs);
    free(scratch);
    free(order);
}

/*
 * report.c: the figures for a terminal and for bench/RESULTS.md.
 */
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"

#define CELL 24 /* bytes */

/* One line of figures, as text. */
struct row {
    char floor[CELL], floor_cpu[CELL], ours[CELL], ours_cpu[CELL];
    char ratio[CELL], spread[2 * CELL], target[2 * CELL];
};

/* "1.23 us", "45.6 ms": three digits, whatever the size. */
static void show_time(double seconds, char out[CELL])
{
    bool small = seconds < 1e-3;
    double value = seconds * (small ? 1e6 : 1e3);
    int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
    snprintf(out, CELL, "%.*f%s", digits, value, small ? " us" : " ms");
}

static struct row make_row(const struct bench_result *result)
{
    struct row row = {0};
    double target = result->of->target;
    show_time(result->floor_wall, row.floor);
    show_time(result->subject_wall, row.ours);
    show_time(result->floor_cpu, row.floor_cpu);
    show_time(result->subject_cpu, row.ours_cpu);
    snprintf(row.ratio, CELL, "%.2f", result->ratio);
    snprintf(row.spread, sizeof row.spread, "%.2f-%.2f", result->low, result->high);
    if (target > 0)
        snprintf(row.target, sizeof row.target, "<= %.1f %s", target,
                 result->ratio <= target ? "met" : "missed");
    if (result->of->least > 0)
        snprintf(row.target, sizeof row.target, ">= %.0f %s", result->of->least,
                 result->ratio >= result->of->least ? "met" : "missed");
    return row;
}

/* What may be said of a machine in public. */
static void describe(const struct bench_run *run, FILE *out)
{
    struct utsname name;
    uname(&name);
    size_t size = strcspn(name.release, ".");
    size += name.release[size] ? 1 + strspn(name.release + size + 1, "0123456789") : 0;
    fprintf(out, "%ld cores, %s %.*s, %s; %u rounds; load average %.2f before, %.2f after",
            sysconf(_SC_NPROCESSORS_ONLN), name.sysname, (int)size, name.release, run->filesystem,
            run->rounds, run->load[0], run->load[1]);
}

void bench_table(const struct bench_run *run, FILE *out)
{
    static const char format[] = "%-33s %9s %9s %9s %9s %6s  %-12s %s\n";
    describe(run, out);
    fputs("\n\n", out);
    fprintf(out, format, "case", "floor", "(cpu)", "subject", "(cpu)", "ratio", "quartiles",
            "target");
    for (size_t i = 0; i < run->count; i++) {
        const struct bench_result *result = &run->results[i];
        struct row row = make_row(result);
        if (result->skipped)
            fprintf(out, "%-33s skipped: no %s here\n", result->of->name, result->of->program);
        else
            fprintf(out, format, result->of->name, row.floor, row.floor_cpu, row.ours, row.ours_cpu,
                    row.ratio, row.spread, row.target);
    }
    fputs("\nA difference smaller than the spread of the A/A pair of its kind is none.\n", out);
}

void bench_markdown(const struct bench_run *run, FILE *out)
{
    fputs("Machine: ", out);
    describe(run, out);
    fputs(".\n\n"
          "| case | floor | subject | floor: time | CPU | subject: time | CPU | ratio | quartiles "
          "| target |\n"
          "|---|---|---|---|---|---|---|---|---|---|\n",
          out);
    for (size_t i = 0; i < run->count; i++) {
        const struct bench_result *result = &run->results[i];
        const struct bench_case *of = result->of;
        struct row row = make_row(result);
        if (result->skipped)
            fprintf(out, "| %s | skipped: no %s here | | | | | | | | |\n", of->name, of->program);
        else
            fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", of->name,
                    of->floor->name, of->subject->name, row.floor, row.floor_cpu, row.ours,
                    row.ours_cpu, row.ratio, row.spread, row.target);
    }
}

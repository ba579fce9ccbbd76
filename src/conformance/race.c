/*
 * race.c: several processes that change one text at the same time.
 *
 * Each adds its own lines, by reading and writing back, like every update. A backend that compares the revision and then
 * writes, not in one step, confirms two updates and loses one of them.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conformance/fixture.h"

#define WRITERS 4
#define LINES 25 /* of each writer */
#define LINE_SIZE 32
#define PATIENCE 20000 /* seconds that a writer waits for the others before a line */

/* The code that each writer got for each line, in memory shared by the processes. */
struct answers {
    int codes[WRITERS][LINES];
    struct ethos_error errors[WRITERS];
    atomic_int ready;  /* how often a writer was about to add a line */
    atomic_bool alone; /* a writer is missing: do not wait any more */
};

/* Waits for the other writers before each line; otherwise, on a busy machine, they might run one after the other. */
static void wait_for_writers(struct answers *answers, int round)
{
    time_t until = time(NULL) + PATIENCE;
    atomic_fetch_add(&answers->ready, 1);
    while (!atomic_load(&answers->alone) && atomic_load(&answers->ready) < WRITERS * (round + 1)) {
        sched_yield();
        if (time(NULL) > until)
            atomic_store(&answers->alone, true);
    }
}

static void name_line(int writer, int number, char out[LINE_SIZE])
{
    snprintf(out, LINE_SIZE, "writer %d line %d.\n", writer, number);
}

static _Noreturn void write_lines(struct fixture *f, const struct race *race, int writer,
                                  struct answers *answers, int start)
{
    char byte, line[LINE_SIZE];
    void *opened = race->open(f);
    while (read(start, &byte, 1) < 0 && errno == EINTR) // returns in all processes at once
        continue;
    for (int i = 0; opened && i < LINES; i++) {
        name_line(writer, i, line);
        wait_for_writers(answers, i);
        answers->codes[writer][i] = race->add(f, opened, line);
    }
    answers->errors[writer] = f->error;
    _exit(opened ? 0 : 1);
}

static void run_writers(struct fixture *f, const struct race *race, struct answers *answers)
{
    pid_t writers[WRITERS];
    int start[2], status;
    assert_int_equal(pipe(start), 0);
    fflush(stdout);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            close(start[1]);
            write_lines(f, race, i, answers, start[0]);
        }
    }
    close(start[0]);
    close(start[1]);
    bool ended = true;
    const char *crash = "";
    for (int i = 0; i < WRITERS; i++) {
        ended &= writers[i] > 0 && waitpid(writers[i], &status, 0) == writers[i] && status == 0;
        crash = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : crash;
    }
    if (!ended)
        fail("one of %d that write at the same time did not end well: %s%s", WRITERS, crash,
             answers->errors[0].text);
}

static int count_line_in(const char *text, const char *line)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, line)) != NULL; at += strlen(line))
        count += at == text || at[-1] == '\n';
    return count;
}

/* Checks that confirmed lines are there once, and refused ones are not. */
static void check_answers(const char *text, const struct answers *answers)
{
    char line[LINE_SIZE], lost[LINE_SIZE] = "";
    int done = 0, gone = 0;
    for (int at = 0; at < WRITERS * LINES; at++) {
        int writer = at / LINES, code = answers->codes[writer][at % LINES];
        name_line(writer, at % LINES, line);
        int count = count_line_in(text, line);
        line[strlen(line) - 1] = 0;
        if (code != ETHOS_OK && code != ETHOS_BUSY && code != ETHOS_CONFLICT)
            fail("an addition among others failed: %s", answers->errors[writer].text);
        if (count > 1 || (count == 1 && code != ETHOS_OK))
            fail("an addition that was %s is there %d times: %s",
                 code == ETHOS_OK ? "done once" : "refused", count, line);
        if (code == ETHOS_OK && count == 0 && gone++ == 0)
            memcpy(lost, line, sizeof lost);
        done += code == ETHOS_OK;
    }
    if (gone > 0)
        fail("lost update: of %d additions that were acknowledged %d are gone, first \"%s\"; "
             "comparing the revision and writing must be one step",
             done, gone, lost);
    if (done == 0)
        fail("none of %d writers got anything done", WRITERS);
}

void race_run(struct fixture *f, const struct race *race)
{
    struct answers *answers = mmap(NULL, sizeof *answers, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(answers != MAP_FAILED);
    run_writers(f, race, answers);
    check_answers(race->read(f), answers);
    munmap(answers, sizeof *answers);
}

/*
 * turn.c: how long a turn takes from its start to the model being asked: 1,000 notes, 20 turns of history.
 *
 *     turn DIR [ROUNDS]
 *
 * DIR is empty and stays. Prints the median and the 90th percentile in microseconds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/view.h"
#include "ops/op.h"

#define NOTES 1000
#define MAX_ROUNDS 10000

static int64_t asked_ns;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void ask(struct model *model, const struct model_request *request, model_event_fn *each,
                void *arg)
{
    (void)model;
    (void)request;
    asked_ns = now_ns();
    each(arg, &(struct model_event){.kind = MODEL_TEXT, .text = VIEW("ok")});
    each(arg, &(struct model_event){.kind = MODEL_DONE});
}

static void ignore_event(void *arg, const struct agent_event *event)
{
    (void)arg;
    (void)event;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void must(int code, const struct ethos_error *error)
{
    if (code == ETHOS_OK)
        return;
    fprintf(stderr, "turn: %s\n", error->text);
    exit(1);
}

static void make_notes(struct ethos_turn *turn)
{
    struct ethos_error error = {0};
    struct ethos_kept kept;
    char text[128], title[64];
    for (int i = 0; i < NOTES; i++) {
        int size = snprintf(text, sizeof text,
                            "Service %d listens on port %d and is restarted by hand.", i, 3000 + i);
        int title_size = snprintf(title, sizeof title, "Service number %d", i);
        const struct ethos_fact fact = {.text = view_of(text, (size_t)size),
                                        .title = view_of(title, (size_t)title_size)};
        must(ethos_remember(turn, &fact, NULL, &kept, &error), &error);
    }
}

int main(int argc, char **argv)
{
    static const struct model_ops ops = {ask, NULL};
    struct model model = {&ops, "bench", "none", 0, true};
    static int64_t samples[MAX_ROUNDS];
    char home[4000], project[4000], session[ETHOS_UUID_SIZE];
    struct ethos *ethos;
    struct ethos_turn *turn;
    struct ethos_error error = {0};
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
    if (argc < 2 || rounds < 1 || rounds > MAX_ROUNDS) {
        fputs("usage: turn DIR [ROUNDS]\n", stderr);
        return 2;
    }
    snprintf(home, sizeof home, "%s/home", argv[1]);
    snprintf(project, sizeof project, "%s/project", argv[1]);
    if (mkdir(project, 0700) != 0 || chdir(project) != 0) {
        perror(project);
        return 1;
    }
    const struct ethos_options options = {.home = home, .fast = 1};
    const struct ethos_request request = {.workspace = project};
    must(ethos_open(&options, &ethos, &error), &error);
    must(ethos_turn_new(ethos, &request, &turn, &error), &error);
    make_notes(turn);
    must(ethos_session_current(turn, project, 0, session, &error), &error);
    const struct agent_setup setup = {.ethos = ethos,
                                      .request = &request,
                                      .model = &model,
                                      .via = "ask",
                                      .rights = OP_RIGHTS_AGENT,
                                      .folder = project};
    const struct agent_question question = {
        .session = session, .text = VIEW("Which service listens on port 3042?"), .abort_fd = -1};
    for (int i = 0; i < rounds + 20; i++) {
        int64_t began = now_ns();
        must(agent_turn(&setup, &question, ignore_event, NULL, &error), &error);
        if (i >= 20)
            samples[i - 20] = asked_ns - began;
    }
    qsort(samples, (size_t)rounds, sizeof *samples, compare);
    printf("start of a turn to the request, %d notes: median %lld us, p90 %lld us\n", NOTES,
           (long long)samples[rounds / 2] / 1000, (long long)samples[rounds * 9 / 10] / 1000);
    ethos_turn_free(turn);
    ethos_close(ethos);
    return 0;
}

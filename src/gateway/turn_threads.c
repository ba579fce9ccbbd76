/*
 * turn_threads.c: turns of the agent in threads.
 */
#include "gateway/turn_threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/configured_model.h"
#include "agent/session.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "gateway/commands.h"
#include "ops/op.h"
#include "ops/shared_handles.h"

#define STACK_BYTES 1048576 /* of a thread; only what is used of it counts */

enum run_state { RUN_FREE, RUN_RUNNING, RUN_ENDED };

/* One turn. What another thread may look at is under the mutex. */
struct turn_run {
    struct turn_threads *threads;
    enum run_state state;
    struct turn_start start; /* with texts of its own */
    char *texts[7];
    int abort_fd;
    struct str shown; /* the answer so far; under the mutex */
    bool has_news;
    struct turn_outcome outcome;
};

struct turn_threads {
    struct turn_threads_setup setup;
    struct shared_handles *share;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    unsigned running;
    struct turn_run runs[TURN_THREADS];
};

/* ---- the answer as it comes -------------------------------------------------------------------- */

static void append_shown_text(struct turn_run *run, struct ethos_view text, bool begins_again)
{
    struct turn_threads *self = run->threads;
    pthread_mutex_lock(&self->mutex);
    if (begins_again)
        str_clear(&run->shown);
    str_add(&run->shown, text);
    bool news = !run->has_news;
    run->has_news = true;
    pthread_mutex_unlock(&self->mutex);
    if (news)
        self->setup.wake(self->setup.wake_arg);
}

static void handle_agent_event(void *arg, const struct agent_event *event)
{
    struct turn_run *run = arg;
    struct turn_outcome *outcome = &run->outcome;
    switch (event->kind) {
    case AGENT_TEXT:
        append_shown_text(run, event->text, false);
        break;
    case AGENT_RESTART:
        append_shown_text(run, (struct ethos_view){0}, true);
        break;
    case AGENT_TOOL_END:
        if (run->shown.size > 0)
            append_shown_text(run, VIEW("\n\n"), false);
        break;
    case AGENT_DONE:
        str_add(&outcome->text, event->text);
        break;
    case AGENT_ERROR:
        outcome->is_aborted = view_eq_str(event->name, "aborted");
        break;
    case AGENT_REMEMBERED:
        outcome->has_changed = true;
        break;
    default:
        break;
    }
}

/* ---- a turn ------------------------------------------------------------------------------------ */

static int open_model(const struct turn_threads *self, struct ethos *ethos, const char *personality,
                      const char *override, struct model **out, struct ethos_error *error)
{
    return self->setup.open_model ? self->setup.open_model(self->setup.model_arg, ethos,
                                                           personality, override, out, error)
                                  : configured_model_open(ethos, personality, override, out, error);
}

static int ask_model(struct turn_run *run, struct ethos *ethos, const struct ethos_request *request,
                     const char *session, struct ethos_error *error)
{
    const struct turn_start *start = &run->start;
    struct agent_session known;
    struct model *model = NULL;
    int code = agent_session_read(ethos, session, &known, error);
    if (code == ETHOS_OK)
        code = open_model(run->threads, ethos, *known.personality ? known.personality : NULL,
                          start->model, &model, error);
    agent_session_release(&known);
    if (code != ETHOS_OK)
        return code;
    // the personality is that of the session, which may have changed since it was made
    struct ethos_request turn_request = *request;
    turn_request.personality = NULL;
    char actor[CHANNEL_MAX_NAME + CHANNEL_MAX_ID];
    snprintf(actor, sizeof actor, "%s:%s", start->platform, start->sender);
    const struct agent_setup setup = {.ethos = ethos,
                                      .request = &turn_request,
                                      .model = model,
                                      .via = start->platform,
                                      .rights = OP_RIGHTS_AGENT,
                                      .actor = start->proposes ? actor : NULL,
                                      .trust = start->proposes || start->foreign ? TRUST_UNTRUSTED
                                                                                 : TRUST_AGENT,
                                      .proposes = start->proposes,
                                      .folder = start->reads_files ? start->workspace : NULL,
                                      .no_memory = start->no_memory};
    const struct agent_question question = {.session = session,
                                            .text = start->text,
                                            .turn_id = start->turn,
                                            .resumes = start->resumes,
                                            .abort_fd = run->abort_fd};
    code = agent_turn(&setup, &question, handle_agent_event, run, error);
    model->ops->close(model);
    return code;
}

static void answer_start(struct turn_run *run)
{
    const struct turn_start *start = &run->start;
    struct turn_outcome *outcome = &run->outcome;
    struct ethos *ethos = NULL;
    char session[ETHOS_UUID_SIZE];
    const struct ethos_request request = {.personality = start->personality,
                                          .platform = start->platform,
                                          .platform_user = start->sender,
                                          .workspace = start->workspace,
                                          .no_global = !start->is_owner};
    int code = shared_handles_open(run->threads->share, run->threads->setup.options, &ethos,
                                   &outcome->error);
    if (code == ETHOS_OK)
        code = agent_session_open(ethos, &request, start->session_key, session, &outcome->error);
    const struct command_call call = {.ethos = ethos,
                                      .request = &request,
                                      .session = session,
                                      .text = start->text,
                                      .undo_ms = start->undo_ms,
                                      .no_memory = start->no_memory};
    if (code == ETHOS_OK && start->is_command)
        code = command_run(&call, &outcome->text, outcome->model, &outcome->error);
    else if (code == ETHOS_OK)
        code = ask_model(run, ethos, &request, session, &outcome->error);
    ethos_close(ethos);
    outcome->code = code;
}

static void *run_thread(void *arg)
{
    struct turn_run *run = arg;
    struct turn_threads *self = run->threads;
    answer_start(run);
    pthread_mutex_lock(&self->mutex);
    if (run->outcome.code != ETHOS_OK && run->outcome.text.size == 0)
        str_add(&run->outcome.text, str_view(&run->shown));
    run->state = RUN_ENDED;
    self->running--;
    pthread_cond_signal(&self->ended);
    pthread_mutex_unlock(&self->mutex);
    self->setup.wake(self->setup.wake_arg);
    return NULL;
}

/* Signals are for the first thread alone. */
static bool start_run_thread(struct turn_run *run)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attr, run_thread, run) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

/* ---- starting ---------------------------------------------------------------------------------- */

static void clear_run(struct turn_run *run)
{
    for (size_t i = 0; i < sizeof run->texts / sizeof *run->texts; i++)
        free(run->texts[i]);
    free((char *)run->start.text.data);
    if (run->abort_fd >= 0)
        close(run->abort_fd);
    str_release(&run->shown);
    str_release(&run->outcome.text);
    *run = (struct turn_run){.threads = run->threads, .abort_fd = -1};
}

/* False: no memory. */
static bool copy_start(struct turn_run *run, const struct turn_start *start)
{
    const char **texts[] = {&run->start.turn,   &run->start.session_key, &run->start.platform,
                            &run->start.sender, &run->start.personality, &run->start.workspace,
                            &run->start.model};
    bool copied = true;
    char *text = malloc(start->text.size + 1);
    run->start = *start;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        run->texts[i] = *texts[i] ? strdup(*texts[i]) : NULL;
        copied = copied && (!*texts[i] || run->texts[i]);
        *texts[i] = run->texts[i];
    }
    if (text && start->text.size > 0)
        memcpy(text, start->text.data, start->text.size);
    run->start.text = view_of(text, start->text.size);
    return copied && text;
}

static struct turn_run *find_run(struct turn_threads *self, enum run_state state, int64_t row)
{
    for (size_t i = 0; i < TURN_THREADS; i++)
        if (self->runs[i].state == state && (row == 0 || self->runs[i].start.row == row))
            return &self->runs[i];
    return NULL;
}

int turn_threads_start(struct turn_threads *self, const struct turn_start *start,
                       struct ethos_error *error)
{
    pthread_mutex_lock(&self->mutex);
    struct turn_run *run = find_run(self, RUN_FREE, 0);
    pthread_mutex_unlock(&self->mutex);
    if (!run)
        return err_set(error, ETHOS_BUSY, "as many turns run as may");
    clear_run(run);
    str_init(&run->shown, AGENT_MAX_REPLY);
    str_init(&run->outcome.text, AGENT_MAX_REPLY);
    run->outcome.row = start->row;
    run->outcome.began_ms = os_now_ms();
    run->abort_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool copied = copy_start(run, start) && run->abort_fd >= 0;
    pthread_mutex_lock(&self->mutex);
    run->state = RUN_RUNNING;
    self->running++;
    pthread_mutex_unlock(&self->mutex);
    if (copied && start_run_thread(run))
        return ETHOS_OK;
    pthread_mutex_lock(&self->mutex);
    self->running--;
    clear_run(run);
    pthread_mutex_unlock(&self->mutex);
    return err_nomem(error);
}

unsigned turn_threads_running(struct turn_threads *self)
{
    pthread_mutex_lock(&self->mutex);
    unsigned running = self->running;
    pthread_mutex_unlock(&self->mutex);
    return running;
}

static void abort_run(const struct turn_run *run)
{
    const uint64_t one = 1;
    (void)!write(run->abort_fd, &one, sizeof one);
}

void turn_threads_abort(struct turn_threads *self, int64_t row)
{
    pthread_mutex_lock(&self->mutex);
    const struct turn_run *run = find_run(self, RUN_RUNNING, row);
    if (run)
        abort_run(run);
    pthread_mutex_unlock(&self->mutex);
}

bool turn_threads_text(struct turn_threads *self, int64_t row, struct str *out)
{
    pthread_mutex_lock(&self->mutex);
    struct turn_run *run = find_run(self, RUN_RUNNING, row);
    bool news = run && run->has_news;
    if (news) {
        str_clear(out);
        str_add(out, str_view(&run->shown));
        run->has_news = false;
    }
    pthread_mutex_unlock(&self->mutex);
    return news;
}

bool turn_threads_outcome(struct turn_threads *self, struct turn_outcome *out)
{
    pthread_mutex_lock(&self->mutex);
    struct turn_run *run = find_run(self, RUN_ENDED, 0);
    if (run) {
        *out = run->outcome;
        str_init(&run->outcome.text, 1); // its content is the caller's now
        clear_run(run);
    }
    pthread_mutex_unlock(&self->mutex);
    return run;
}

int turn_threads_new(const struct turn_threads_setup *setup, struct turn_threads **out,
                     struct ethos_error *error)
{
    struct turn_threads *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->setup = *setup;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->ended, NULL);
    for (size_t i = 0; i < TURN_THREADS; i++)
        self->runs[i] = (struct turn_run){.threads = self, .abort_fd = -1};
    int code = shared_handles_new(&self->share, error);
    if (code != ETHOS_OK)
        turn_threads_free(self, true);
    else
        *out = self;
    return code;
}

void turn_threads_free(struct turn_threads *self, bool aborts)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; aborts && i < TURN_THREADS; i++)
        if (self->runs[i].state == RUN_RUNNING)
            abort_run(&self->runs[i]);
    while (self->running > 0)
        pthread_cond_wait(&self->ended, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
    for (size_t i = 0; i < TURN_THREADS; i++)
        clear_run(&self->runs[i]);
    shared_handles_free(self->share);
    pthread_cond_destroy(&self->ended);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

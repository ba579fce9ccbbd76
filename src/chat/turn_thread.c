/*
 * turn_thread.c: a conversation in a thread of its own.
 */
#include "chat/turn_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"

struct turn_thread {
    struct chat_talk *talk;
    struct talk_screen screen;
    int wake_fd, abort_fd; /* eventfd */
    pthread_t thread;
    bool running;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum turn_thread_state state;
    bool ends;
    struct ethos_view job; /* what to do next; data NULL: nothing */
    struct notice *first, **last;
    size_t queued; /* bytes */
    const char *question;
    const char *const *argv;
    int answer;
};

static void signal_eventfd(int fd)
{
    os_write_all(fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void drain_eventfd(int fd)
{
    uint64_t count;
    ssize_t got = os_read(fd, &count, sizeof count); // EAGAIN: nothing rang
    (void)got;
}

/* ---- in the thread ----------------------------------------------------------------------------- */

/* Without memory it is not shown; the session has it. */
static void post_notice(struct turn_thread *self, const struct notice *values,
                        struct ethos_view text)
{
    struct notice *notice = malloc(sizeof *notice + text.size + 1);
    pthread_mutex_lock(&self->mutex);
    while (self->queued > TURN_THREAD_MAX_QUEUE && !self->ends)
        pthread_cond_wait(&self->changed, &self->mutex);
    if (notice) {
        *notice = *values;
        notice->size = text.size;
        if (text.size > 0)
            memcpy(notice->text, text.data, text.size);
        notice->text[text.size] = '\0';
        *self->last = notice;
        self->last = &notice->next;
        self->queued += sizeof *notice + text.size;
    }
    pthread_mutex_unlock(&self->mutex);
    signal_eventfd(self->wake_fd);
}

static void post_kind(struct turn_thread *self, enum notice_kind kind, struct ethos_view text)
{
    post_notice(self, &(struct notice){.kind = kind}, text);
}

static void post_line(void *arg, enum talk_style style, struct ethos_view text)
{
    post_notice(arg, &(struct notice){.kind = NOTICE_LINE, .style = style}, text);
}

static void post_source(void *arg, struct ethos_view text)
{
    post_kind(arg, NOTICE_SOURCE, text);
}

static void post_description(struct turn_thread *self, const struct agent_event *event)
{
    struct str line;
    bool call = event->kind == AGENT_TOOL_START;
    str_init(&line, 4096);
    int code = call ? talk_describe_call(event, &line)
                    : talk_describe_usage(&self->talk->usage, &line);
    if (code == ETHOS_OK)
        post_kind(self, call ? NOTICE_TOOL : NOTICE_DONE, str_view(&line));
    str_release(&line);
}

static void post_event(void *arg, const struct agent_event *event)
{
    struct turn_thread *self = arg;
    switch (event->kind) {
    case AGENT_START:
        post_kind(self, NOTICE_START, view_str(event->model));
        break;
    case AGENT_TEXT:
        post_kind(self, NOTICE_TEXT, event->text);
        break;
    case AGENT_THINKING:
        post_kind(self, NOTICE_THINKING, VIEW(""));
        break;
    case AGENT_RESTART:
        post_kind(self, NOTICE_RESTART, VIEW(""));
        break;
    case AGENT_STATUS:
        post_kind(self, NOTICE_STATUS, event->text);
        break;
    case AGENT_TOOL_START:
    case AGENT_DONE:
        post_description(self, event);
        break;
    case AGENT_TOOL_END:
        post_kind(self, NOTICE_TOOL_END, VIEW(""));
        break;
    case AGENT_USAGE:
        post_notice(self, &(struct notice){.kind = NOTICE_USAGE, .tokens = event->usage.output},
                    VIEW(""));
        break;
    case AGENT_ERROR:
        if (view_eq_str(event->name, "aborted"))
            post_kind(self, NOTICE_ABORTED, VIEW(""));
        else
            post_kind(self, NOTICE_FAILED, event->text);
        break;
    case AGENT_CONTEXT:
    case AGENT_MESSAGE:
    case AGENT_PENDING:
    case AGENT_REMEMBERED:
        break;
    }
}

/* Waits until the terminal's thread has answered. */
static int wait_for_answer(struct turn_thread *self, enum turn_thread_state state)
{
    pthread_mutex_lock(&self->mutex);
    self->state = self->ends ? TURN_THREAD_WORKS : state;
    self->answer = -1;
    signal_eventfd(self->wake_fd);
    while (self->state == state && !self->ends)
        pthread_cond_wait(&self->changed, &self->mutex);
    int answer = self->ends ? -1 : self->answer;
    pthread_mutex_unlock(&self->mutex);
    return answer;
}

static bool ask_yes(void *arg, const char *question)
{
    struct turn_thread *self = arg;
    self->question = question;
    return wait_for_answer(self, TURN_THREAD_ASKS) == 1;
}

static int run_program_in_terminal(void *arg, const char *const argv[])
{
    struct turn_thread *self = arg;
    self->argv = argv;
    return wait_for_answer(self, TURN_THREAD_PROGRAM);
}

static void *run_jobs(void *arg)
{
    struct turn_thread *self = arg;
    pthread_mutex_lock(&self->mutex);
    for (;;) {
        while (!self->job.data && !self->ends)
            pthread_cond_wait(&self->changed, &self->mutex);
        if (self->ends)
            break;
        pthread_mutex_unlock(&self->mutex);
        talk_input(self->talk, self->job);
        pthread_mutex_lock(&self->mutex);
        free((char *)self->job.data);
        self->job = view_of(NULL, 0);
        self->state = TURN_THREAD_IDLE;
        signal_eventfd(self->wake_fd);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- in the terminal's thread ------------------------------------------------------------------ */

static int start_worker_thread(struct turn_thread *self, struct ethos_error *error)
{
    sigset_t all, before;
    if (self->wake_fd < 0 || self->abort_fd < 0)
        return err_errno(error, errno, "a descriptor for events");
    /* Signals are for the other thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int why = pthread_create(&self->thread, NULL, run_jobs, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    self->running = why == 0;
    return why == 0 ? ETHOS_OK : err_errno(error, why, "a thread");
}

struct turn_thread *turn_thread_start(struct chat_talk *talk, const char *keys,
                                      struct ethos_error *error)
{
    struct turn_thread *self = calloc(1, sizeof *self);
    if (!self) {
        err_nomem(error);
        return NULL;
    }
    *self = (struct turn_thread){.talk = talk,
                                 .screen = {.arg = self,
                                            .event = post_event,
                                            .line = post_line,
                                            .source = post_source,
                                            .confirm = ask_yes,
                                            .run = run_program_in_terminal,
                                            .keys = keys},
                                 .last = &self->first,
                                 .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                 .abort_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    talk->screen = &self->screen;
    talk->abort_fd = self->abort_fd;
    if (start_worker_thread(self, error) == ETHOS_OK)
        return self;
    turn_thread_stop(self);
    return NULL;
}

static void join_thread(struct turn_thread *self)
{
    pthread_mutex_lock(&self->mutex);
    self->ends = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    signal_eventfd(self->abort_fd);
    pthread_join(self->thread, NULL);
}

void turn_thread_stop(struct turn_thread *self)
{
    struct notice *notice;
    if (!self)
        return;
    if (self->running)
        join_thread(self);
    while ((notice = turn_thread_next(self)))
        free(notice);
    free((char *)self->job.data);
    if (self->wake_fd >= 0)
        os_close(self->wake_fd);
    if (self->abort_fd >= 0)
        os_close(self->abort_fd);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

int turn_thread_wake_fd(const struct turn_thread *self)
{
    return self->wake_fd;
}

const char *turn_thread_question(const struct turn_thread *self)
{
    return self->question;
}

const char *const *turn_thread_program(const struct turn_thread *self)
{
    return self->argv;
}

int turn_thread_run(struct turn_thread *self, struct ethos_view text)
{
    char *copy = malloc(text.size + 1);
    if (!copy)
        return ETHOS_NOMEM;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    drain_eventfd(self->abort_fd); // an abort that came too late for what was before
    pthread_mutex_lock(&self->mutex);
    self->job = view_of(copy, text.size);
    self->state = TURN_THREAD_WORKS;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    return ETHOS_OK;
}

struct notice *turn_thread_next(struct turn_thread *self)
{
    drain_eventfd(self->wake_fd); // before looking: what comes later rings again
    pthread_mutex_lock(&self->mutex);
    struct notice *notice = self->first;
    if (notice) {
        self->first = notice->next;
        self->last = self->first ? self->last : &self->first;
        self->queued -= sizeof *notice + notice->size;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->mutex);
    return notice;
}

enum turn_thread_state turn_thread_state(struct turn_thread *self)
{
    pthread_mutex_lock(&self->mutex);
    enum turn_thread_state state = self->first ? TURN_THREAD_WORKS : self->state;
    pthread_mutex_unlock(&self->mutex);
    return state;
}

void turn_thread_answer(struct turn_thread *self, int answer)
{
    pthread_mutex_lock(&self->mutex);
    self->answer = answer;
    self->state = TURN_THREAD_WORKS;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

void turn_thread_abort(struct turn_thread *self)
{
    signal_eventfd(self->abort_fd);
}

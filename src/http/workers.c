/*
 * workers.c: threads that do what may wait.
 */
#include "http/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/err.h"

#define STACK_BYTES 1048576 /* of a thread; only what is used of it counts */

struct workers {
    pthread_mutex_t mutex;
    pthread_cond_t given;
    struct worker_job *first, **last;
    unsigned waiting; /* jobs */
    unsigned max_jobs, max_threads;
    unsigned idle, count; /* threads */
    bool ending;
    pthread_t threads[];
};

int workers_new(unsigned threads, unsigned jobs, struct workers **out, struct ethos_error *error)
{
    struct workers *self = calloc(1, sizeof *self + threads * sizeof *self->threads);
    if (!self)
        return err_nomem(error);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->given, NULL);
    self->last = &self->first;
    self->max_threads = threads;
    self->max_jobs = jobs;
    *out = self;
    return ETHOS_OK;
}

/* Holding the mutex: the next job, NULL at the end. */
static struct worker_job *next_job(struct workers *self)
{
    self->idle++;
    while (!self->first && !self->ending)
        pthread_cond_wait(&self->given, &self->mutex);
    self->idle--;
    struct worker_job *job = self->first;
    if (!job)
        return NULL;
    self->first = job->next;
    if (!self->first)
        self->last = &self->first;
    self->waiting--;
    return job;
}

static void *work(void *arg)
{
    struct workers *self = arg;
    struct worker_job *job;
    pthread_mutex_lock(&self->mutex);
    while ((job = next_job(self))) {
        pthread_mutex_unlock(&self->mutex);
        job->run(job);
        pthread_mutex_lock(&self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* Holding the mutex. Signals are for the first thread alone. */
static void add_thread(struct workers *self)
{
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&self->threads[self->count], &attr, work, self) == 0)
        self->count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
}

bool workers_give(struct workers *self, struct worker_job *job)
{
    pthread_mutex_lock(&self->mutex);
    if (self->idle <= self->waiting && self->count < self->max_threads && !self->ending)
        add_thread(self);
    bool taken = self->waiting < self->max_jobs && self->count > 0 && !self->ending;
    if (taken) {
        job->next = NULL;
        *self->last = job;
        self->last = &job->next;
        self->waiting++;
        pthread_cond_signal(&self->given);
    }
    pthread_mutex_unlock(&self->mutex);
    return taken;
}

void workers_end(struct workers *self)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    self->ending = true;
    pthread_cond_broadcast(&self->given);
    pthread_mutex_unlock(&self->mutex);
    for (unsigned i = 0; i < self->count; i++)
        pthread_join(self->threads[i], NULL);
}

void workers_free(struct workers *self)
{
    if (!self)
        return;
    pthread_cond_destroy(&self->given);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

/*
 * workers.h: threads that do what may wait.
 *
 * They are started when there is more to do than threads that are free, up to a number; none ends before
 * the end. Jobs are taken in the order in which they came.
 */
#ifndef ETHOS_HTTP_WORKERS_H
#define ETHOS_HTTP_WORKERS_H

#include <stdbool.h>

#include <ethos/types.h>

/* Part of what is to be done; the worker does not touch it after run was called. */
struct worker_job {
    struct worker_job *next;
    void (*run)(struct worker_job *self);
};

struct workers;

int workers_new(unsigned threads, unsigned jobs, struct workers **out, struct ethos_error *error);

/* False: too much waits already, or there is no thread that could do it. */
bool workers_give(struct workers *self, struct worker_job *job);

/* Does what waits, then ends the threads: nothing more is taken. */
void workers_end(struct workers *self);
void workers_free(struct workers *self);

#endif

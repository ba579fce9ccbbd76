/*
 * check.c: which conversations a model would refuse.
 */
#include "core/sessions/check.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text/quote.h"
#include "base/view.h"

void session_finding(ethos_finding_fn *each, void *arg, enum ethos_severity severity,
                     const char *subject, const char *problem, const char *remedy)
{
    char subject_line[QUOTE_SIZE], problem_line[QUOTE_SIZE], remedy_line[QUOTE_SIZE];
    const struct ethos_finding finding = {
        .severity = severity,
        .subject = quote_line(view_str(subject), subject_line),
        .problem = quote_line(view_str(problem), problem_line),
        .remedy = remedy ? quote_line(view_str(remedy), remedy_line) : NULL,
    };
    each(arg, &finding);
}

void session_check_begin(struct session_check *self, ethos_finding_fn *each, void *arg)
{
    *self = (struct session_check){.each = each, .arg = arg};
    arena_init(&self->arena);
}

static void begin_session(struct session_check *self, const char *id)
{
    arena_release(&self->arena);
    arena_init(&self->arena);
    self->transcript = (struct transcript){.arena = &self->arena};
    snprintf(self->id, sizeof self->id, "%s", id);
    self->messages = 0;
    self->wrong = false;
}

static void tell_wrong(struct session_check *self, const char *why)
{
    char subject[sizeof self->id + 16], problem[600];
    self->wrong = true;
    if (++self->wrong_count > SESSION_CHECK_SHOWN)
        return;
    snprintf(subject, sizeof subject, "session %s", self->id);
    snprintf(problem, sizeof problem, "message %zu: %s: a model would reject it", self->messages,
             why);
    session_finding(self->each, self->arg, ETHOS_FINDING_WARNING, subject, problem,
                    "ethos sessions undo takes its last turns back; or go on in a new session");
}

int session_check_take(struct session_check *self, const char *id,
                       const struct ethos_message *message, struct ethos_error *error)
{
    struct ethos_error why = {0};
    if (self->messages == 0 || strncmp(id, self->id, sizeof self->id - 1) != 0)
        begin_session(self, id);
    self->messages++;
    if (self->wrong)
        return ETHOS_OK;
    int code = transcript_next(&self->transcript, message, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        tell_wrong(self, why.text);
    if (self->transcript.call_count == 0) { // nothing is kept of what was before
        arena_release(&self->arena);
        arena_init(&self->arena);
    }
    return ETHOS_OK;
}

void session_check_end(struct session_check *self, bool whole)
{
    char subject[64];
    arena_release(&self->arena);
    if (!whole || self->wrong_count <= SESSION_CHECK_SHOWN)
        return;
    snprintf(subject, sizeof subject, "%zu more sessions", self->wrong_count - SESSION_CHECK_SHOWN);
    session_finding(self->each, self->arg, ETHOS_FINDING_WARNING, subject,
                    "have messages that a model would refuse", NULL);
}

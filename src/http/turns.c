/*
 * turns.c: turns of conversations that the server runs.
 *
 * A session has a row while something of it runs or waits. A turn that may run gets a thread; where as many run as
 * may, it waits with the others, first come, first served.
 */
#include "http/turns.h"

#include <errno.h>
#include <limits.h>
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
#include "base/view.h"
#include "http/internal.h"
#include "http/server.h"

#define STACK_BYTES 1048576 /* of a thread; only what is used of it counts */
#define ID_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"

/* One turn, and all that it was sent with. */
struct sent_turn {
    struct sent_turn *next;
    struct session_turns *session;
    struct turns *turns;
    char *text;
    size_t size;
    char *id, *personality, *user, *workspace, *platform, *platform_user, *actor, *only;
    unsigned rights;
    bool no_global, dry_run;
    int abort_fd; /* eventfd: readable once somebody has aborted it */
};

struct session_turns {
    struct session_turns *next;
    char id[ETHOS_UUID_SIZE + 92]; /* as long as chat.send allows */
    struct sent_turn *running;     /* or waiting for a thread */
    struct sent_turn *first, **last;
    unsigned waiting;
};

struct turns {
    struct http *http;
    struct op_chat chat;
    pthread_mutex_t mutex;
    pthread_cond_t ended; /* a thread */
    struct session_turns *sessions;
    struct sent_turn *ready, **last_ready; /* the first of their sessions, without a thread */
    unsigned threads, most;
    bool ending;
};

/* ---- turns ------------------------------------------------------------------------------------- */

static void free_turn(struct sent_turn *turn)
{
    if (!turn)
        return;
    char *texts[] = {turn->text,          turn->id,        turn->personality,
                     turn->user,          turn->workspace, turn->platform,
                     turn->platform_user, turn->actor,     turn->only};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    if (turn->abort_fd >= 0)
        close(turn->abort_fd);
    free(turn);
}

static bool copy_optional_text(const char *text, char **out)
{
    *out = text ? strdup(text) : NULL;
    return !text || *out;
}

static struct sent_turn *copy_turn(const struct op_chat_turn *given)
{
    struct sent_turn *turn = calloc(1, sizeof *turn);
    const struct ethos_request *request = given->request;
    if (!turn)
        return NULL;
    turn->abort_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    turn->text = malloc(given->text.size + 1);
    if (turn->text)
        memcpy(turn->text, given->text.data, given->text.size);
    turn->size = given->text.size;
    turn->rights = given->rights;
    turn->dry_run = given->dry_run;
    turn->no_global = request->no_global;
    if (turn->text && turn->abort_fd >= 0 && copy_optional_text(given->turn, &turn->id) &&
        copy_optional_text(request->personality, &turn->personality) &&
        copy_optional_text(request->user, &turn->user) &&
        copy_optional_text(request->workspace, &turn->workspace) &&
        copy_optional_text(request->platform, &turn->platform) &&
        copy_optional_text(request->platform_user, &turn->platform_user) &&
        copy_optional_text(given->actor, &turn->actor) &&
        copy_optional_text(given->only, &turn->only))
        return turn;
    free_turn(turn);
    return NULL;
}

/* ---- what is told ------------------------------------------------------------------------------ */

/* Takes the event. */
static void publish_event(struct turns *self, const char *session, json_t *event)
{
    events_tell_session(self->http->events, session, event);
    json_decref(event);
}

static void tell_error(struct turns *self, const char *session, const char *turn, const char *code,
                       const char *text)
{
    publish_event(self, session,
                  json_pack("{s:s, s:o, s:s, s:s}", "type", "error", "error",
                            json_text(view_str(text)), "code", code, "traceId", turn));
}

static void tell_event(void *arg, const struct agent_event *event)
{
    const struct sent_turn *turn = arg;
    if (event->kind == AGENT_MESSAGE || event->kind == AGENT_CONTEXT)
        return; // whoever watches the home tells of messages; what a prompt is made of is not for clients
    json_t *json = agent_event_json(event);
    if (json_object_get(json, "traceId"))
        op_json_put(&json, "traceId", json_string(turn->id));
    publish_event(turn->turns, turn->session->id, json);
}

/* ---- running ----------------------------------------------------------------------------------- */

/* The folder of the session is its project; a key that is limited has what it was limited to. */
static int find_workspace(struct ethos *ethos, const struct sent_turn *turn,
                          struct ethos_request *request, char out_folder[PATH_MAX],
                          char out_personality[ETHOS_MAX_ID + 1], struct ethos_error *error)
{
    struct agent_session session;
    int code = agent_session_read(ethos, turn->session->id, &session, error);
    if (code == ETHOS_OK) {
        snprintf(out_folder, PATH_MAX, "%s", session.folder);
        snprintf(out_personality, ETHOS_MAX_ID + 1, "%s", session.personality);
        bool none = !request->workspace || !*request->workspace;
        if (none && *out_folder && !turn->only && access(out_folder, F_OK) == 0)
            request->workspace = out_folder;
    }
    agent_session_release(&session);
    return code;
}

/* Before all else: without a model nothing can be answered, in no session. */
static int check_model(struct ethos *ethos, const char *personality, struct ethos_error *error)
{
    struct configured_model *configured = calloc(1, sizeof *configured);
    int code = configured ? configured_model_read(ethos, personality, NULL, configured, error)
                          : err_nomem(error);
    if (configured)
        configured_model_release(configured);
    free(configured);
    return code;
}

static void run_sent_turn(struct sent_turn *turn)
{
    struct turns *self = turn->turns;
    struct ethos *ethos = NULL;
    struct model *model = NULL;
    struct ethos_error error = {0};
    char folder[PATH_MAX], active[ETHOS_MAX_ID + 1];
    struct ethos_request request = {.personality = turn->personality,
                                    .user = turn->user,
                                    .workspace = turn->workspace,
                                    .platform = turn->platform,
                                    .platform_user = turn->platform_user,
                                    .no_global = turn->no_global};
    bool plain = strspn(turn->id, ID_CHARACTERS) == strlen(turn->id);
    int code = http_open(self->http, &ethos, &error);
    if (code == ETHOS_OK)
        code = check_model(ethos, turn->personality, &error);
    if (code == ETHOS_OK)
        code = find_workspace(ethos, turn, &request, folder, active, &error);
    if (code == ETHOS_OK)
        code = configured_model_open(ethos,
                                     request.personality ? request.personality
                                     : *active           ? active
                                                         : NULL,
                                     NULL, &model, &error);
    if (code == ETHOS_OK) {
        const struct agent_setup setup = {.ethos = ethos,
                                          .request = &request,
                                          .model = model,
                                          .via = "http",
                                          .rights = turn->rights,
                                          .only = turn->only,
                                          .dry_run = turn->dry_run};
        const struct agent_question question = {.session = turn->session->id,
                                                .text = view_of(turn->text, turn->size),
                                                .turn_id = plain ? turn->id : NULL,
                                                .abort_fd = turn->abort_fd};
        agent_turn(&setup, &question, tell_event, turn, &error);
    } else {
        tell_error(self, turn->session->id, turn->id,
                   code == ETHOS_MODEL ? "SETUP_REQUIRED" : "llm_error", error.text);
    }
    if (model)
        model->ops->close(model);
    ethos_close(ethos);
}

/* ---- the queue; all of it holding the mutex ------------------------------------------------------ */

static struct session_turns **find_session_turns(struct turns *self, const char *id)
{
    struct session_turns **at = &self->sessions;
    while (*at && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

static struct session_turns *add_session_turns(struct turns *self, const char *id)
{
    struct session_turns *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    snprintf(session->id, sizeof session->id, "%s", id);
    session->last = &session->first;
    session->next = self->sessions;
    self->sessions = session;
    return session;
}

static void remove_session(struct turns *self, struct session_turns *session)
{
    struct session_turns **at = find_session_turns(self, session->id);
    *at = session->next;
    free(session);
}

static void make_ready(struct turns *self, struct sent_turn *turn)
{
    turn->session->running = turn;
    turn->next = NULL;
    *self->last_ready = turn;
    self->last_ready = &turn->next;
}

static struct sent_turn *take_ready(struct turns *self)
{
    struct sent_turn *turn = self->ready;
    if (!turn)
        return NULL;
    self->ready = turn->next;
    if (!self->ready)
        self->last_ready = &self->ready;
    return turn;
}

/* The turn has ended: the next of its session may run, or the session has none any more. */
static void end_turn(struct turns *self, struct sent_turn *turn)
{
    struct session_turns *session = turn->session;
    struct sent_turn *next = session->first;
    session->running = NULL;
    free_turn(turn);
    if (next) {
        session->first = next->next;
        if (!session->first)
            session->last = &session->first;
        session->waiting--;
        make_ready(self, next);
        return;
    }
    remove_session(self, session);
}

static void *run_ready(void *arg)
{
    struct turns *self = arg;
    struct sent_turn *turn;
    pthread_mutex_lock(&self->mutex);
    while ((turn = take_ready(self))) {
        pthread_mutex_unlock(&self->mutex);
        run_sent_turn(turn);
        pthread_mutex_lock(&self->mutex);
        end_turn(self, turn);
    }
    self->threads--;
    pthread_cond_signal(&self->ended);
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* Signals are for the first thread alone. */
static bool start_turn_thread(struct turns *self)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attr, run_ready, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    self->threads += started;
    return started;
}

/* Whether it runs or waits now; it is not taken where too many wait. */
static bool enqueue(struct turns *self, struct sent_turn *turn, const char *id)
{
    struct session_turns **at = find_session_turns(self, id);
    struct session_turns *session = *at ? *at : add_session_turns(self, id);
    if (!session || self->ending || session->waiting >= TURNS_MAX_QUEUED)
        return false;
    turn->session = session;
    turn->turns = self;
    if (session->running) {
        *session->last = turn;
        session->last = &turn->next;
        session->waiting++;
        return true;
    }
    make_ready(self, turn);
    if (self->threads >= self->most || start_turn_thread(self) || self->threads > 0)
        return true;
    take_ready(self); // nobody would ever run it
    remove_session(self, session);
    return false;
}

/* ---- chat.* ------------------------------------------------------------------------------------ */

static int send_turn(void *arg, const struct op_chat_turn *given, struct ethos_error *error)
{
    struct turns *self = arg;
    struct sent_turn *turn = copy_turn(given);
    if (!turn)
        return err_nomem(error);
    pthread_mutex_lock(&self->mutex);
    bool taken = enqueue(self, turn, given->session);
    pthread_mutex_unlock(&self->mutex);
    if (!taken) {
        free_turn(turn);
        tell_error(self, given->session, given->turn, "BUSY",
                   "too many messages wait in this conversation");
    }
    return ETHOS_OK;
}

static void abort_turn(struct sent_turn *turn)
{
    const uint64_t one = 1;
    if (turn)
        (void)!write(turn->abort_fd, &one, sizeof one);
}

static void abort_session(void *arg, const char *id)
{
    struct turns *self = arg;
    pthread_mutex_lock(&self->mutex);
    struct session_turns *session = *find_session_turns(self, id);
    if (session)
        abort_turn(session->running);
    pthread_mutex_unlock(&self->mutex);
}

/* Whether a model is configured; its server is not asked. */
static bool has_model(void *arg, struct ethos *ethos)
{
    (void)arg;
    return check_model(ethos, NULL, NULL) == ETHOS_OK;
}

const struct op_chat *turns_chat(const struct turns *self)
{
    return self ? &self->chat : NULL;
}

int turns_new(struct http *http, unsigned most, struct turns **out, struct ethos_error *error)
{
    struct turns *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->ended, NULL);
    self->http = http;
    self->most = most;
    self->last_ready = &self->ready;
    self->chat = (struct op_chat){self, send_turn, abort_session, has_model};
    *out = self;
    return ETHOS_OK;
}

static void drop_waiting(struct session_turns *session)
{
    while (session->first) {
        struct sent_turn *turn = session->first;
        session->first = turn->next;
        free_turn(turn);
    }
    session->last = &session->first;
    session->waiting = 0;
}

void turns_free(struct turns *self)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    self->ending = true;
    for (struct session_turns *session = self->sessions; session; session = session->next) {
        drop_waiting(session);
        abort_turn(session->running);
    }
    while (self->threads > 0)
        pthread_cond_wait(&self->ended, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
    while (self->sessions) { // rows of turns that no thread took
        struct session_turns *session = self->sessions;
        self->sessions = session->next;
        free_turn(session->running);
        free(session);
    }
    pthread_cond_destroy(&self->ended);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

/*
 * response_cache.c: answers that serve again.
 *
 * An agent, a script or a page asks for the same file many times, and nearly always there is nothing
 * new. Each thread keeps the last few such answers as libmicrohttpd takes them, with what they were made
 * from (op_again). The gate has let the request in by then, and whether the answer would be made the
 * same is asked each time: what is saved is making it, not looking.
 *
 * An answer is of the line, the rights and what the client accepts. Its headers are all the same but the
 * id of the request, and the date, which libmicrohttpd would otherwise make for each: it writes them out
 * before this thread handles another connection, so one response can carry one id after the other.
 */
#include "http/mhd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/system/os.h"

#define ANSWERS 8        /* of a thread */
#define MOST_BYTES 65536 /* of one */
#define ACCEPT_SIZE 128

struct cached_response {
    struct MHD_Response *response; /* NULL: there is none here */
    struct op_validator *again;
    unsigned rights;
    char accept[ACCEPT_SIZE];
    char line[HTTP_KEPT_LINE];
    char id[HTTP_REQUEST_ID_SIZE];
    int64_t second; /* that its date tells; 0: none yet */
};

struct response_cache {
    struct cached_response all[ANSWERS];
    size_t next;
};

static void drop_response(struct cached_response *answer)
{
    if (answer->response)
        MHD_destroy_response(answer->response);
    op_validator_free(answer->again);
    answer->response = NULL;
    answer->again = NULL;
}

static void release_responses(void *own)
{
    struct response_cache *self = own;
    for (size_t i = 0; i < ANSWERS; i++)
        drop_response(&self->all[i]);
    free(self);
}

/* Those of this thread; NULL: no memory. */
static struct response_cache *answers_of(struct http_seat *seat)
{
    struct response_cache *self = seat ? seats_own(seat) : NULL;
    if (self || !seat)
        return self;
    self = calloc(1, sizeof *self);
    if (self)
        seats_put(seat, self, release_responses);
    return self;
}

/* "" when the client does not say. */
static const char *accept_of(const struct http_request *request)
{
    return request->accept ? request->accept : "";
}

/* What else an answer would depend on is not there. */
static bool is_cacheable(const struct http_request *request)
{
    return request->call.method == HTTP_GET && !request->shared && *request->connection->line &&
           !request->conditional && !(request->call.rights & OP_LIMITED);
}

static struct cached_response *find_response(struct response_cache *self,
                                             const struct http_request *request)
{
    const char *line = request->connection->line;
    for (size_t i = 0; i < ANSWERS; i++) {
        struct cached_response *answer = &self->all[i];
        if (answer->response && answer->rights == request->call.rights &&
            strcmp(answer->line, line) == 0 && strcmp(answer->accept, accept_of(request)) == 0)
            return answer;
    }
    return NULL;
}

/* ---- giving -------------------------------------------------------------------------------------------- */

static bool put_id(struct cached_response *answer, const char *id)
{
    if (MHD_del_response_header(answer->response, "X-Request-Id", answer->id) != MHD_YES ||
        MHD_add_response_header(answer->response, "X-Request-Id", id) != MHD_YES)
        return false;
    memcpy(answer->id, id, strlen(id) + 1);
    return true;
}

/* A header of that name takes the place of the one before. */
static bool put_date(struct cached_response *answer)
{
    char date[CLOCK_ISO_SIZE];
    int64_t second = os_now_ms() / 1000;
    if (second == answer->second)
        return true;
    clock_http(second * 1000, date);
    answer->second = second;
    return MHD_add_response_header(answer->response, "Date", date) == MHD_YES;
}

static bool is_still_valid(const struct cached_response *answer, struct http_call *call)
{
    struct ethos *ethos;
    return http_ethos(call, &ethos, NULL) == ETHOS_OK && op_validator_holds(answer->again, ethos);
}

bool again_answer(struct http_request *request, enum MHD_Result *out)
{
    struct http_call *call = &request->call;
    struct response_cache *self = answers_of(call->seat);
    if (!self || !is_cacheable(request))
        return false;
    struct cached_response *answer = find_response(self, request);
    if (!answer)
        return false;
    if (!is_still_valid(answer, call) || !put_id(answer, call->request_id) || !put_date(answer)) {
        drop_response(answer);
        return false;
    }
    connection_enter(request->connection, PHASE_ANSWER);
    request->step = STEP_DONE;
    *out = MHD_queue_response(request->mhd, MHD_HTTP_OK, answer->response);
    return true;
}

/* ---- keeping ------------------------------------------------------------------------------------------- */

bool again_wants(const struct http_request *request)
{
    const struct http_call *call = &request->call;
    return request->reply.again && request->step == STEP_READ && is_cacheable(request) &&
           call->status == MHD_HTTP_OK && call->out.size <= MOST_BYTES &&
           strlen(accept_of(request)) < ACCEPT_SIZE && answers_of(call->seat);
}

void again_keep(struct http_request *request, struct MHD_Response *response)
{
    struct http_call *call = &request->call;
    struct response_cache *self = answers_of(call->seat);
    struct cached_response *answer = find_response(self, request);
    if (!answer)
        answer = &self->all[self->next++ % ANSWERS];
    drop_response(answer);
    answer->response = response;
    answer->again = request->reply.again;
    request->reply.again = NULL;
    answer->rights = call->rights;
    answer->second = 0;
    snprintf(answer->accept, sizeof answer->accept, "%s", accept_of(request));
    memcpy(answer->line, request->connection->line, sizeof answer->line);
    memcpy(answer->id, call->request_id, sizeof answer->id);
}

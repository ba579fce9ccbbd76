/*
 * api.h: what the files of /api share: revisions in headers, answers. Private to src/http.
 */
#ifndef ETHOS_HTTP_HANDLERS_API_H
#define ETHOS_HTTP_HANDLERS_API_H

#include "http/handlers/stable_calls.h"

/* What a request says about the revision it means. */
enum api_match {
    API_MATCH_NONE, /* nothing */
    API_MATCH_ANY,  /* "*": whatever there is */
    API_MATCH_ONE,
    API_MATCH_MANY, /* any of a list, which api_has_tag looks at */
    API_MATCH_BAD   /* something that no revision of ours can be */
};

/* Reads If-Match, or its like. */
enum api_match api_match(const char *header, char out_revision[ETHOS_REVISION_SIZE]);

/* Whether a header is "*". */
bool api_is_any(const char *header);

/* Whether If-Match, or If-None-Match, which takes weak ones too, has the revision. */
bool api_has_tag(const char *header, bool weak_too, const char *revision);

/* Query or body as arguments of a row; unknown ones stay, for the row to refuse. Owned; NULL: answered. */
json_t *api_query(struct http_call *call, const struct op *op);
json_t *api_body(struct http_call *call);

void api_tag(struct http_call *call, const char *revision);
void api_fail(struct http_call *call, const struct op *op, const struct ethos_error *error,
              json_t *data);

/*
 * Of a read: true when what it asks on condition of was answered, 412 for If-Match that does not hold, 304
 * for If-None-Match that does not. The ETag is set in any case.
 */
bool api_answer_failed_precondition(struct http_call *call, const char *revision);

/* The answer of an operation; of a read, as its conditions want it. */
void api_answer(struct http_call *call, const json_t *result);

/* Whether a result says that a change waits for its backend: 202. */
bool api_queued(const json_t *result);

/* 400: of a parameter that came twice, nobody knows which is meant. */
void api_doubled(struct http_call *call);

/* 428: a write that would not say which text it replaces. */
void api_require_match(struct http_call *call);

/* 412: the text is another one by now. revision may be NULL: there is no such file. */
void api_stale(struct http_call *call, const char *revision, json_t *data);

/* /api/memory/{store}: a file as a resource. False when the path is none. */
bool api_file(struct http_call *call);
bool api_is_file(const char *rest);

/* Checks the arguments, takes them, runs the operation and answers. */
void api_run(struct http_call *call, const struct op *op, json_t *args);

/* api_chunks.c: true when the path is of an entry, or of all of them, and was answered. */
bool api_chunks(struct http_call *call);

#endif

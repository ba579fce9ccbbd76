/*
 * retry.c: whether and when a failed request is repeated.
 */
#include "agent/models/retry.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>

#include "base/view.h"

#define FIRST_WAIT_MS 500
#define MOST_WAIT_MS 8000
#define MOST_ASKED_MS (24 * 3600 * 1000ll) /* more is not shown */

static bool read_number(const char *text, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return errno == 0 && end != text && *end == 0 && *out >= 0;
}

static int64_t bounded(double ms)
{
    return ms < (double)MOST_ASKED_MS ? (int64_t)ms : MOST_ASKED_MS;
}

int64_t retry_after_ms(const struct retry_headers *headers, int64_t now_ms)
{
    double value;
    if (read_number(headers->after_ms, &value))
        return bounded(value);
    if (read_number(headers->after, &value))
        return bounded(value * 1000);
    if (!headers->after[0])
        return 0;
    time_t date = curl_getdate(headers->after, NULL);
    int64_t ms = (int64_t)date * 1000 - now_ms;
    return date < 0 || ms < 0 ? 0 : bounded((double)ms);
}

static bool is_temporary(const struct failure *failure, bool can_connect)
{
    switch (failure->error) {
    case MODEL_RATE:
    case MODEL_OVERLOADED:
    case MODEL_SERVER:
    case MODEL_NETWORK:
        return true;
    case MODEL_TIMEOUT:
        return !can_connect;
    case MODEL_REQUEST:
        return failure->http == 408 || failure->http == 409;
    default:
        return false;
    }
}

bool retry_is_useful(const struct failure *failure, const struct retry_headers *headers,
                     bool can_connect)
{
    struct ethos_view word = view_str(headers->should_retry);
    if (failure->retry_ms > RETRY_MAX_WAIT_MS || failure->error == MODEL_ABORTED)
        return false;
    if (view_eq_nocase(word, VIEW("true")) || view_eq_nocase(word, VIEW("false")))
        return word.size == 4;
    return is_temporary(failure, can_connect);
}

int64_t retry_wait_ms(unsigned attempt, const struct failure *failure, unsigned char random)
{
    int64_t ms = FIRST_WAIT_MS;
    if (failure->retry_ms > 0)
        return failure->retry_ms;
    while (--attempt > 0 && ms < MOST_WAIT_MS)
        ms *= 2;
    return ms - ms * random / (4 * 255);
}

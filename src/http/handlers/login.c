/*
 * login.c: /auth: a browser signs in with a link or a code, shows a code for another one, signs out.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "http/server.h"

#define NAME_SIZE 48 /* bytes of a browser's name, with terminator */

/* ---- what a browser is called ------------------------------------------------------------------- */

/* Browsers name those that they are like: who is first here is meant. */
static const char *find_product(const char *agent)
{
    static const char *const rows[][2] = {{"Edg/", "Edge"},          {"OPR/", "Opera"},
                                          {"Vivaldi/", "Vivaldi"},   {"Firefox/", "Firefox"},
                                          {"FxiOS/", "Firefox"},     {"CriOS/", "Chrome"},
                                          {"Chromium/", "Chromium"}, {"HeadlessChrome/", "Chrome"},
                                          {"Chrome/", "Chrome"},     {"Safari/", "Safari"},
                                          {"curl/", "curl"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(agent, rows[i][0]))
            return rows[i][1];
    return NULL;
}

static const char *find_system(const char *agent)
{
    static const char *const rows[][2] = {
        {"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"},  {"Windows", "Windows"},
        {"Mac OS X", "macOS"},  {"CrOS", "ChromeOS"}, {"Linux", "Linux"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(agent, rows[i][0]))
            return rows[i][1];
    return NULL;
}

/* "Firefox on Linux". */
static void name_browser(const char *agent, char out[NAME_SIZE])
{
    const char *product = agent ? find_product(agent) : NULL;
    const char *system = agent ? find_system(agent) : NULL;
    snprintf(out, NAME_SIZE, "%s%s%s", product ? product : "Browser", system ? " on " : "",
             system ? system : "");
}

/* ---- signing in ----------------------------------------------------------------------------------- */

/* The secret of the new browser, or "" when what was given is not valid. */
static int sign_in(struct http_call *call, const char *given, char out[HASH_HEX_SIZE],
                   struct ethos_error *error)
{
    struct auth *auth = call->http->auth;
    char name[NAME_SIZE];
    bool good = false;
    int code = login_use(auth_login(auth), view_str(given), os_now_ms(), &good, error);
    if (code != ETHOS_OK)
        return code;
    if (!good) {
        auth_wrong(auth, view_str(given));
        return ETHOS_OK;
    }
    name_browser(http_header(call, "User-Agent"), name);
    code = auth_add_browser(call, name, out, error);
    if (code != ETHOS_OK) {
        *out = 0;
        login_restore(auth_login(auth), view_str(given), os_now_ms(), NULL);
    }
    return code;
}

static void set_cookie(struct http_call *call, const char *secret, int seconds)
{
    char cookie[256];
    snprintf(cookie, sizeof cookie,
             AUTH_COOKIE "=%s; Max-Age=%d; Path=/; HttpOnly; SameSite=Strict", secret, seconds);
    http_answer_header(call, "Set-Cookie", cookie);
    explicit_bzero(cookie, sizeof cookie);
}

static void turn_away(struct http_call *call)
{
    static const struct http_error stale = {401, "UNAUTHORIZED",
                                            "This link is not valid, or was used before",
                                            "`ethos serve --link` prints a new one."};
    const char *accept = http_header(call, "accept");
    call->status = 401;
    if (accept && strstr(accept, "text/html"))
        http_stranger(call);
    else
        http_answer_error(call, &stale, NULL);
}

void http_exchange(struct http_call *call)
{
    static const struct http_error often = {429, "TOO_MANY_REQUESTS", "Too many wrong credentials",
                                            "Wait a minute."};
    const char *given = http_query(call, "t");
    char secret[HASH_HEX_SIZE] = "";
    struct ethos_error error = {0};
    if (auth_throttled(call->http->auth)) {
        http_answer_error(call, &often, NULL);
    } else if (given && sign_in(call, given, secret, &error) != ETHOS_OK) {
        http_answer_failure(call, &error);
    } else if (*secret) {
        call->status = 302;
        http_answer_header(call, "Location", "/");
        set_cookie(call, secret, AUTH_DAYS_SECONDS);
    } else {
        turn_away(call);
    }
    explicit_bzero(secret, sizeof secret);
}

/* ---- of a browser that is signed in ------------------------------------------------------------------ */

/* False: it was answered. */
static bool is_browser(struct http_call *call)
{
    static const struct http_error none = {403, "FORBIDDEN", "Only for a browser that is signed in",
                                           "`ethos api-key revoke` ends a key."};
    if (call->who == HTTP_BROWSER)
        return true;
    http_answer_error(call, &none, NULL);
    return false;
}

void http_logout(struct http_call *call)
{
    struct auth_found found;
    struct ethos_error error = {0};
    if (!is_browser(call))
        return;
    auth_find(call->http->auth, NULL, http_header(call, "Cookie"), NULL, &found);
    if (auth_end_browser(call, &found, &error) != ETHOS_OK) {
        http_answer_failure(call, &error);
        return;
    }
    set_cookie(call, "", 0);
    http_answer_json(call, 200, json_pack("{s:b}", "ok", 1));
}

void http_code(struct http_call *call)
{
    char digits[LOGIN_CODE_SIZE];
    struct ethos_error error = {0};
    int64_t now_ms = os_now_ms();
    if (!is_browser(call))
        return;
    if (login_add_code(auth_login(call->http->auth), now_ms, digits, &error) != ETHOS_OK)
        http_answer_failure(call, &error);
    else
        http_answer_json(call, 200,
                         json_pack("{s:s, s:o, s:i}", "code", digits, "expiresAt",
                                   op_json_time(now_ms + LOGIN_MS), "tries", LOGIN_TRIES));
    explicit_bzero(digits, sizeof digits);
}

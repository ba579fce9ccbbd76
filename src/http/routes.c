/*
 * routes.c: which handler a path has. What is not here is refused.
 */
#include <string.h>

#include "http/internal.h"

#define ON(method) (1u << (method))
#define READ (ON(HTTP_GET) | ON(HTTP_HEAD))
#define ANY (READ | ON(HTTP_POST) | ON(HTTP_PUT) | ON(HTTP_PATCH) | ON(HTTP_DELETE))

/* /mcp is another surface's: main gives it, or not. */
static void run_mcp(struct http_call *call)
{
    static const struct http_error none = {404, "NOT_FOUND", "This server does not speak MCP",
                                           "Use `ethos mcp`."};
    if (http_parts.mcp)
        http_parts.mcp(call);
    else
        http_answer_error(call, &none, NULL);
}

/* For whoever watches the server: it answers. What memory is like, /rpc/meta/health tells those who may know. */
static void run_healthz(struct http_call *call)
{
    http_answer_json(call, 200, json_pack("{s:b}", "ok", true));
}

/* Pages of the dashboard, which finds out itself what to show. */
#define PAGE(path)                                                                                 \
    {                                                                                              \
        path, READ, HTTP_EAGER, http_page, NULL, 0, NULL                                           \
    }

const struct http_route http_routes[] = {
    {"/rpc/", ON(HTTP_POST), HTTP_RPC, http_rpc, http_rpc_quick, HTTP_MAX_RPC_BODY,
     http_rpc_larger},
    {"/api/", ANY, 0, http_api, http_api_quick, 0, NULL},
    {"/openapi.json", READ, HTTP_EAGER, http_openapi, NULL, 0, NULL},
    {"/healthz", READ, HTTP_EAGER | HTTP_OPEN, run_healthz, NULL, 0, NULL},
    {"/events", ON(HTTP_GET), HTTP_EAGER, http_events, NULL, 0, NULL},
    {"/sse/sessions/", ON(HTTP_GET), HTTP_EAGER, http_sse, NULL, 0, NULL},
    {"/mcp", ON(HTTP_POST), 0, run_mcp, NULL, 0, NULL},
    {"/auth/exchange", ON(HTTP_GET), HTTP_OPEN, http_exchange, NULL, 0, NULL},
    {"/auth/logout", ON(HTTP_POST), 0, http_logout, NULL, 0, NULL},
    {"/auth/code", ON(HTTP_POST), 0, http_code, NULL, 0, NULL},
    PAGE("/"),
    PAGE("/memory"),
    PAGE("/notes"),
    PAGE("/timeline"),
    PAGE("/sessions"),
    PAGE("/recall"),
    PAGE("/insights"),
    PAGE("/health"),
    PAGE("/conflicts"),
    PAGE("/welcome"),
    {"/assets/", READ, HTTP_EAGER, http_asset, NULL, 0, NULL},
    {0},
};

const struct http_route *http_route(const char *path)
{
    for (const struct http_route *route = http_routes; route->prefix; route++) {
        size_t size = strlen(route->prefix);
        bool below = size > 1 && route->prefix[size - 1] == '/';
        if (below ? strncmp(path, route->prefix, size) == 0 : strcmp(path, route->prefix) == 0)
            return route;
    }
    return NULL;
}

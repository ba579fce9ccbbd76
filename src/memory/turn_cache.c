/*
 * turn_cache.c: reuses the last turn while everything it was made from is unchanged.
 *
 * The order makes it safe: first the watch is set on the files of a turn, then another turn is
 * made. If that read the same files and the watch stayed quiet, everything it read was watched
 * before it was read.
 */
#include <string.h>
#include <unistd.h>

#include "base/view.h"
#include "memory/handle_internal.h"

#define BEFORE_WATCHING 2 /* turns: short-lived programs do not pay for a watch */
#define MOST_IDLE 8       /* useless watches in a row */
#define PATH_LIMIT 4096   /* bytes */

#define REST 1000 /* turns after one that could not be watched */

static void drop_cached_turn(struct turn_cache *self)
{
    struct ethos_turn *turn = self->turn;
    self->turn = NULL;
    ethos_turn_free(turn);
}

void turn_cache_init(struct turn_cache *self)
{
    *self = (struct turn_cache){0};
    looks_init(&self->looks);
}

void turn_cache_release(struct turn_cache *self)
{
    drop_cached_turn(self);
    looks_watch_free(self->watch);
    looks_release(&self->looks);
}

/* ---- the same request ------------------------------------------------------------------------ */

static bool is_equal_string(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A longer name does not fit and never matches. */
static bool is_here(const struct turn_asked *asked)
{
    return getcwd(asked->now, strlen(asked->here) + 1) && is_equal_string(asked->now, asked->here);
}

static bool matches_request(const struct turn_asked *asked, const struct ethos_request *request)
{
    const struct ethos_request *own = &asked->request;
    return is_equal_string(own->personality, request->personality) &&
           is_equal_string(own->user, request->user) &&
           is_equal_string(own->session, request->session) &&
           is_equal_string(own->workspace, request->workspace) &&
           is_equal_string(own->platform, request->platform) &&
           is_equal_string(own->platform_user, request->platform_user) &&
           is_equal_string(own->query, request->query) && !own->no_global == !request->no_global &&
           (own->workspace || is_here(asked));
}

/* Stores the request in the turn. NULL: out of memory, or no current directory. */
static const struct turn_asked *copy_request(struct ethos_turn *turn,
                                             const struct ethos_request *request, uint64_t number)
{
    char here[PATH_LIMIT] = "";
    struct turn_asked *asked = arena_alloc(&turn->arena, sizeof *asked);
    const char *const *from[] = {&request->personality, &request->user,     &request->session,
                                 &request->workspace,   &request->platform, &request->platform_user,
                                 &request->query};
    if (!asked || (!request->workspace && !getcwd(here, sizeof here)))
        return NULL;
    *asked = (struct turn_asked){.request = *request,
                                 .here = arena_str(&turn->arena, here),
                                 .now = arena_alloc(&turn->arena, strlen(here) + 1),
                                 .number = number};
    const char **to[] = {&asked->request.personality, &asked->request.user,
                         &asked->request.session,     &asked->request.workspace,
                         &asked->request.platform,    &asked->request.platform_user,
                         &asked->request.query};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        if (*from[i] && !(*to[i] = arena_str(&turn->arena, *from[i])))
            return NULL;
    return asked->here && asked->now ? asked : NULL;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static struct ethos_turn *take_if_unchanged(struct turn_cache *self)
{
    struct ethos_turn *turn = self->turn;
    if (!looks_watch_quiet(self->watch)) {
        drop_cached_turn(self);
        return NULL;
    }
    self->idle = 0;
    self->turn = NULL;
    self->lent = turn;
    return turn;
}

struct ethos_turn *turn_cache_take(struct turn_cache *self, const struct ethos_request *request)
{
    return self->turn && matches_request(self->turn->asked, request) ? take_if_unchanged(self)
                                                                     : NULL;
}

struct ethos_turn *turn_cache_take_number(struct turn_cache *self, uint64_t number)
{
    const struct turn_asked *asked = self->turn ? self->turn->asked : NULL;
    bool same = asked && asked->number == number && (asked->request.workspace || is_here(asked));
    return same ? take_if_unchanged(self) : NULL;
}

uint64_t turn_cache_number(const struct turn_cache *self, const struct ethos_turn *turn)
{
    return self->lent == turn && !turn->workspace.recorded ? turn->asked->number : 0;
}

bool turn_cache_covers(const struct turn_cache *self, const struct ethos_turn *turn,
                       const char *path)
{
    const char *home = turn->ethos->home;
    size_t size = strlen(home);
    if (self->lent != turn || strncmp(path, home, size) != 0 || path[size] != '/')
        return false;
    path += size + 1;
    const char *name = strrchr(path, '/');
    return looks_watch_covers(self->watch, view_of(path, name ? (size_t)(name - path) : 0));
}

struct looks *turn_cache_start_watching(struct turn_cache *self)
{
    looks_clear(&self->looks);
    self->rest -= self->rest > 0;
    return ++self->made > BEFORE_WATCHING && !self->rest ? &self->looks : NULL;
}

/* A warning must be repeated, and a workspace that was not found may appear anywhere. */
static bool is_cacheable(const struct ethos_turn *turn, const struct ethos_request *request)
{
    bool none = request->workspace && !*request->workspace;
    return !turn->ethos->ephemeral && !turn->context.workspace_error &&
           (none || turn->context.workspace);
}

/* Stops watching for programs whose requests always differ, and where files change all the time. */
static void set_watch(struct turn_cache *self, const struct ethos_turn *turn)
{
    drop_cached_turn(self);
    if (!self->watch)
        self->watch = looks_watch_new();
    if (!self->watch || ++self->idle > MOST_IDLE ||
        !looks_watch_set(self->watch, turn->ethos->home, &self->looks)) {
        self->rest = REST;
        self->idle = 0;
    }
}

void turn_cache_offer(struct turn_cache *self, struct ethos_turn *turn,
                      const struct ethos_request *request)
{
    if (self->made <= BEFORE_WATCHING || self->rest || self->lent)
        return;
    if (!is_cacheable(turn, request) || self->looks.beyond) {
        self->rest = REST;
    } else if (!self->watch || !looks_watch_has(self->watch, &self->looks) ||
               !looks_watch_quiet(self->watch)) {
        set_watch(self, turn);
    } else {
        turn->asked = copy_request(turn, request, self->made);
        self->lent = turn->asked ? turn : NULL;
    }
}

bool turn_cache_return(struct turn_cache *self, struct ethos_turn *turn)
{
    if (self->lent != turn)
        return false;
    self->lent = NULL;
    if (turn->workspace.recorded)
        return false;
    drop_cached_turn(self);
    self->turn = turn;
    return true;
}

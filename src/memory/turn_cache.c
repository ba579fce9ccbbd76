/*
 * turn_cache.c: a turn that is over serves again, as long as it would be made the same.
 *
 * The order is what makes it safe: first the watch is set on what a turn was made from, then another
 * turn is made, and if that looked at the same and all was quiet, everything it saw was under watch
 * before it looked.
 */
#include <string.h>
#include <unistd.h>

#include "base/view.h"
#include "memory/handle_internal.h"

#define BEFORE_WATCHING 2 /* turns: programs that make a few and end do not pay for a watch */
#define MOST_IDLE 8       /* watches in a row that were of no use */
#define PATH_LIMIT 4096   /* bytes */

#define REST 1000 /* turns after one that could not be watched */

static void drop(struct kept *self)
{
    struct ethos_turn *turn = self->turn;
    self->turn = NULL;
    ethos_turn_free(turn);
}

void kept_init(struct kept *self)
{
    *self = (struct kept){0};
    looks_init(&self->looks);
}

void kept_release(struct kept *self)
{
    drop(self);
    looks_watch_free(self->watch);
    looks_release(&self->looks);
}

/* ---- the same request ------------------------------------------------------------------------ */

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A longer name does not fit, and is another one. */
static bool is_here(const struct turn_asked *asked)
{
    return getcwd(asked->now, strlen(asked->here) + 1) && same(asked->now, asked->here);
}

static bool fits(const struct turn_asked *asked, const struct ethos_request *request)
{
    const struct ethos_request *own = &asked->request;
    return same(own->personality, request->personality) && same(own->user, request->user) &&
           same(own->session, request->session) && same(own->workspace, request->workspace) &&
           same(own->platform, request->platform) &&
           same(own->platform_user, request->platform_user) && same(own->query, request->query) &&
           !own->no_global == !request->no_global && (own->workspace || is_here(asked));
}

/* Writes down what was asked, in the turn. NULL: no memory, or nowhere. */
static const struct turn_asked *note_asked(struct ethos_turn *turn,
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

static struct ethos_turn *take(struct kept *self)
{
    struct ethos_turn *turn = self->turn;
    if (!looks_watch_quiet(self->watch)) {
        drop(self);
        return NULL;
    }
    self->idle = 0;
    self->turn = NULL;
    self->lent = turn;
    return turn;
}

struct ethos_turn *kept_take(struct kept *self, const struct ethos_request *request)
{
    return self->turn && fits(self->turn->asked, request) ? take(self) : NULL;
}

struct ethos_turn *kept_take_number(struct kept *self, uint64_t number)
{
    const struct turn_asked *asked = self->turn ? self->turn->asked : NULL;
    bool same = asked && asked->number == number && (asked->request.workspace || is_here(asked));
    return same ? take(self) : NULL;
}

uint64_t kept_number(const struct kept *self, const struct ethos_turn *turn)
{
    return self->lent == turn && !turn->workspace.recorded ? turn->asked->number : 0;
}

bool kept_covers(const struct kept *self, const struct ethos_turn *turn, const char *path)
{
    const char *home = turn->ethos->home;
    size_t size = strlen(home);
    if (self->lent != turn || strncmp(path, home, size) != 0 || path[size] != '/')
        return false;
    path += size + 1;
    const char *name = strrchr(path, '/');
    return looks_watch_covers(self->watch, view_of(path, name ? (size_t)(name - path) : 0));
}

struct looks *kept_looks(struct kept *self)
{
    looks_clear(&self->looks);
    self->rest -= self->rest > 0;
    return ++self->made > BEFORE_WATCHING && !self->rest ? &self->looks : NULL;
}

/* A warning is to be heard again, and what is not found yet may be found by more than was looked at. */
static bool is_plain(const struct ethos_turn *turn, const struct ethos_request *request)
{
    bool none = request->workspace && !*request->workspace;
    return !turn->ethos->ephemeral && !turn->context.workspace_error &&
           (none || turn->context.workspace);
}

/* Not for those whose requests differ all the time, nor where changes never cease. */
static void set_watch(struct kept *self, const struct ethos_turn *turn)
{
    drop(self);
    if (!self->watch)
        self->watch = looks_watch_new();
    if (!self->watch || ++self->idle > MOST_IDLE ||
        !looks_watch_set(self->watch, turn->ethos->home, &self->looks)) {
        self->rest = REST;
        self->idle = 0;
    }
}

void kept_made(struct kept *self, struct ethos_turn *turn, const struct ethos_request *request)
{
    if (self->made <= BEFORE_WATCHING || self->rest || self->lent)
        return;
    if (!is_plain(turn, request) || self->looks.beyond) {
        self->rest = REST;
    } else if (!self->watch || !looks_watch_has(self->watch, &self->looks) ||
               !looks_watch_quiet(self->watch)) {
        set_watch(self, turn);
    } else {
        turn->asked = note_asked(turn, request, self->made);
        self->lent = turn->asked ? turn : NULL;
    }
}

bool kept_give(struct kept *self, struct ethos_turn *turn)
{
    if (self->lent != turn)
        return false;
    self->lent = NULL;
    if (turn->workspace.recorded)
        return false;
    drop(self);
    self->turn = turn;
    return true;
}

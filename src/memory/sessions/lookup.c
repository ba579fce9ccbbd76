/*
 * lookup.c: finds conversations by name or folder, and opens their store at first use.
 */
#include "memory/sessions/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/memory/scope.h"
#include "core/sessions/key.h"
#include "memory/handle_internal.h"
#include "session/session.h"

#define KEY_LIMIT 8192 /* bytes */
#define ATTEMPTS 100   /* retries for a key that others take at the same moment */

enum { TOO_LONG = 1 }; // ends a walk

/* ---- the store -------------------------------------------------------------------------------- */

/* The store of the home's backend, else the built-in one. */
static int open_home_sessions(struct ethos *self, struct ethos_error *error)
{
    const struct ethos_setup setup = {.host = self->host,
                                      .root = self->root,
                                      .flags = (self->fast ? ETHOS_SETUP_FAST : 0u) |
                                               (self->brief ? ETHOS_SETUP_BRIEF : 0u),
                                      .deadline_ms = self->wait_ms};
    struct ethos_error why;
    int code = handle_sessions(self, &self->sessions, &why);
    if (code != ETHOS_OK && error)
        *error = why;
    if (code != ETHOS_OK || self->sessions)
        return code;
    if (!sessions_builtin)
        return err_set(error, ETHOS_UNSUPPORTED, "this program keeps no sessions");
    return sessions_builtin->open(&setup, &self->sessions, error);
}

int ethos_sessions(struct ethos *self, struct ethos_sessions **out_sessions,
                   struct ethos_error *error)
{
    int code = self->sessions ? ETHOS_OK : open_home_sessions(self, error);
    if (code == ETHOS_OK)
        *out_sessions = self->sessions;
    return code;
}

int sessions_lock(struct ethos *self, int *out_lock, struct ethos_error *error)
{
    int dir;
    TRY(service_open_root(self, true, &dir, error));
    int code = home_lock_within(dir, "sessions-import", self->wait_ms, out_lock, error);
    os_close(dir);
    return code;
}

/* ---- people ----------------------------------------------------------------------------------- */

/* The user of a request, by the same rules as a turn: see turn.c. */
static int find_user(struct ethos *self, int root, const struct ethos_request *request,
                     const struct local_user *local, char out[ETHOS_MAX_ID + 1],
                     struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE];
    bool known;
    const char *given = request->user, *named = getenv("ETHOS_USER");
    if (!given && !request->platform_user && named && *named)
        given = named;
    if (!given && request->platform_user)
        return handle_lookup(self, root, request->platform, request->platform_user, out, &known,
                             error);
    int code = given ? scope_make(SCOPE_USER, given, scope, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        snprintf(out, ETHOS_MAX_ID + 1, "%s", given ? given : local->id);
    return code;
}

static int find_person(struct ethos *self, int root, const struct ethos_request *request,
                       struct sessions_person *out, struct ethos_error *error)
{
    struct identity_map map = {0};
    struct local_user local;
    TRY(handle_local_user(self, root, &local, error));
    TRY(find_user(self, root, request, &local, out->id, error));
    TRY(identity_load(root, &map, error));
    out->people.owner = strcmp(out->id, local.id) == 0;
    int code = identity_ids(&map, out->id, &out->arena, &out->people.ids, &out->people.count,
                            error);
    identity_release(&map);
    return code;
}

int sessions_person(struct ethos *self, const struct ethos_request *request,
                    struct sessions_person *out, struct ethos_error *error)
{
    int root;
    *out = (struct sessions_person){0};
    arena_init(&out->arena);
    TRY(service_config(self, NULL, NULL, NULL, error));
    TRY(service_open_root(self, false, &root, error));
    int code = find_person(self, root, request, out, error);
    if (root >= 0)
        os_close(root);
    return code;
}

void sessions_person_release(struct sessions_person *self)
{
    arena_release(&self->arena);
}

bool sessions_is_of(const struct ethos_people *people, const struct ethos_session *session)
{
    if (!people || !session->user)
        return !people || people->owner;
    for (size_t i = 0; i < people->count; i++)
        if (strcmp(people->ids[i], session->user) == 0)
            return true;
    return false;
}

int sessions_user(const struct ethos_turn *turn, const char **out, struct ethos_error *error)
{
    char local[ETHOS_MAX_ID + 1];
    int code = service_local_user(turn->ethos, local, error);
    *out = code == ETHOS_OK && strcmp(local, turn->context.user) != 0 ? turn->context.user : NULL;
    return code;
}

/* ---- by name ---------------------------------------------------------------------------------- */

struct finding {
    const struct ethos_people *people;
    char id[ETHOS_UUID_SIZE], other[ETHOS_UUID_SIZE];
};

/* Other programs may have longer ids; a truncated one could be another's. */
static int add_matching_id(void *arg, const struct ethos_session *session)
{
    struct finding *finding = arg;
    if (!sessions_is_of(finding->people, session))
        return ETHOS_OK;
    if (strlen(session->id) >= ETHOS_UUID_SIZE)
        return TOO_LONG;
    snprintf(*finding->id ? finding->other : finding->id, ETHOS_UUID_SIZE, "%s", session->id);
    return ETHOS_OK;
}

static int find_prefix(struct ethos_sessions *store, const char *name, struct finding *finding,
                       struct ethos_error *error)
{
    char cursor[ETHOS_CURSOR_SIZE];
    const struct ethos_session_query query = {
        .id_prefix = name, .limit = 2, .people = finding->people};
    return store->ops->list(store, &query, add_matching_id, finding, cursor, error);
}

/* A whole id, and then a key, takes precedence over the start of another id. */
static int find_by_name(struct ethos_sessions *store, const char *name, struct finding *finding,
                        struct ethos_error *error)
{
    if (!*name)
        return err_set(error, ETHOS_INVALID, "a session's id is missing");
    int code = store->ops->get(store, name, add_matching_id, finding, error);
    if (code == ETHOS_NOTFOUND)
        code = store->ops->get_by_key(store, name, add_matching_id, finding, error);
    if (code == ETHOS_NOTFOUND || (code == ETHOS_OK && !*finding->id))
        code = find_prefix(store, name, finding, error);
    if (code != TOO_LONG)
        return code;
    return err_set(error, ETHOS_LIMIT, "%s: its id has more than %d characters", name,
                   ETHOS_UUID_SIZE - 1);
}

int sessions_find(struct ethos *self, const struct ethos_people *people, const char *name,
                  char out_id[ETHOS_UUID_SIZE], struct ethos_error *error)
{
    struct ethos_sessions *store;
    struct finding finding = {.people = people};
    int code = ethos_sessions(self, &store, error);
    if (code == ETHOS_OK)
        code = find_by_name(store, name, &finding, error);
    if (code != ETHOS_OK)
        return code;
    if (*finding.other) {
        code = err_set(error, ETHOS_INVALID, "%s: more than one session id starts with this", name);
        return err_hint(error, code, "use more characters: %s or %s", finding.id, finding.other);
    }
    if (!*finding.id) {
        code = err_set(error, ETHOS_NOTFOUND, "no such session: %s", name);
        return err_hint(
            error, code,
            people && people->owner // an agent must not learn whether it exists, and whose it is
                ? "ethos sessions list --all shows yours; --all-users those of others"
                : "ethos sessions list --all shows the existing ones");
    }
    memcpy(out_id, finding.id, sizeof finding.id);
    return ETHOS_OK;
}

int ethos_session_find(struct ethos *self, const char *name, char out_id[ETHOS_UUID_SIZE],
                       struct ethos_error *error)
{
    return sessions_find(self, NULL, name, out_id, error);
}

/* ---- by folder -------------------------------------------------------------------------------- */

int sessions_folder(const char *folder, char out_path[PATH_MAX], struct ethos_error *error)
{
    if (os_realpath(folder ? folder : ".", out_path) == 0)
        return ETHOS_OK;
    if (!folder && errno == ENOENT)
        return err_hint(error, err_set(error, ETHOS_NOTFOUND, "the current directory is gone"),
                        "change to an existing directory");
    return err_errno(error, errno, folder ? folder : "the current directory");
}

int sessions_project(const struct ethos_turn *turn, const char *folder, struct str *out,
                     struct ethos_error *error)
{
    const struct workspace *own = &turn->workspace;
    str_adds(out, folder);
    if (turn->context.workspace)
        workspace_folders(&own->place, &own->found, out);
    return str_code(out) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* The newest session of a folder's keys; one without a folder counts as the folder's own. */
struct newest_session {
    const char *folder;
    struct str key;
    bool foreign; /* the plain key belongs to another folder */
    bool adopted; /* the newest has no folder yet */
    char id[ETHOS_UUID_SIZE], created[CLOCK_ISO_SIZE];
    long long moment;                  /* of its key; 0 for the plain one */
    const struct ethos_people *people; /* whose sessions are visible */
    bool taken;                        /* the plain key belongs to another person */
};

static int check_key_owner(void *arg, const struct ethos_session *session)
{
    struct newest_session *newest = arg;
    newest->taken = !sessions_is_of(newest->people, session);
    newest->foreign = session->working_dir && strcmp(session->working_dir, newest->folder) != 0;
    return ETHOS_OK;
}

/* Within one millisecond, keys are numbered. */
static int match_newest(void *arg, const struct ethos_session *session)
{
    struct newest_session *newest = arg;
    const char *folder = session->working_dir;
    if (!session_key_of_family(view_str(session->key), str_view(&newest->key)) ||
        (folder && strcmp(folder, newest->folder) != 0) || strlen(session->id) >= ETHOS_UUID_SIZE)
        return ETHOS_OK;
    const char *rest = session->key + newest->key.size;
    long long moment = *rest ? strtoll(rest + 1, NULL, 10) : 0;
    int order = strcmp(session->created_at, newest->created);
    if (order < 0 || (order == 0 && moment < newest->moment))
        return ETHOS_OK;
    newest->moment = moment;
    newest->adopted = !folder;
    snprintf(newest->id, sizeof newest->id, "%s", session->id);
    snprintf(newest->created, sizeof newest->created, "%s", session->created_at);
    return ETHOS_OK;
}

/* The base key of the folder: the plain one, unless another folder has it. */
static int choose_key(struct ethos_sessions *store, struct newest_session *newest,
                      struct ethos_error *error)
{
    for (int hashed = 0; hashed <= 1; hashed++) {
        str_clear(&newest->key);
        newest->foreign = newest->taken = false;
        if (session_key_folder(view_str(newest->folder), hashed, &newest->key) != ETHOS_OK)
            return err_nomem(error);
        int code = store->ops->get_by_key(store, newest->key.data, check_key_owner, newest, error);
        if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
            return code;
        if (!newest->foreign)
            break;
    }
    return ETHOS_OK;
}

static int find_newest(struct ethos_sessions *store, struct newest_session *newest,
                       struct ethos_error *error)
{
    char cursor[ETHOS_CURSOR_SIZE] = "";
    *newest->id = *newest->created = '\0';
    int code = choose_key(store, newest, error);
    while (code == ETHOS_OK) {
        const struct ethos_session_query query = {.text = newest->key.data,
                                                  .cursor = *cursor ? cursor : NULL,
                                                  .limit = 200,
                                                  .people = newest->people};
        char next[ETHOS_CURSOR_SIZE] = "";
        code = store->ops->list(store, &query, match_newest, newest, next, error);
        if (!*next)
            break;
        memcpy(cursor, next, sizeof cursor);
    }
    return code;
}

static int turn_person(const struct ethos_turn *turn, struct sessions_person *out,
                       struct ethos_error *error)
{
    const struct ethos_request request = {.user = turn->context.user};
    return sessions_person(turn->ethos, &request, out, error);
}

int sessions_current(struct ethos_turn *turn, const char *folder, char out_id[ETHOS_UUID_SIZE],
                     struct ethos_error *error)
{
    struct ethos_sessions *store;
    struct sessions_person person;
    struct newest_session newest = {.folder = folder, .people = &person.people};
    str_init(&newest.key, KEY_LIMIT);
    int code = turn_person(turn, &person, error);
    if (code == ETHOS_OK)
        code = ethos_sessions(turn->ethos, &store, error);
    if (code == ETHOS_OK)
        code = find_newest(store, &newest, error);
    if (code == ETHOS_OK && !*newest.id)
        code = err_hint(error, err_set(error, ETHOS_NOTFOUND, "%s: no session yet", folder),
                        "ethos sessions list --all shows those of other folders");
    if (code == ETHOS_OK)
        memcpy(out_id, newest.id, sizeof newest.id);
    str_release(&newest.key);
    sessions_person_release(&person);
    return code;
}

static int create_folder_session(struct ethos_turn *turn, struct ethos_sessions *store,
                                 const char *folder, const char *key, char out_id[ETHOS_UUID_SIZE],
                                 struct ethos_error *error)
{
    struct ethos_session session = {.key = key,
                                    .platform = turn->context.platform ? turn->context.platform
                                                                       : "cli",
                                    .model = "",
                                    .provider = "",
                                    .personality = turn->context.personality,
                                    .working_dir = folder};
    TRY(sessions_user(turn, &session.user, error));
    return store->ops->create(store, &session, out_id, error);
}

/* The plain key for the first session of a folder; later keys include the time. */
static int make_next(struct ethos_turn *turn, struct ethos_sessions *store,
                     const struct newest_session *newest, int attempt, char out_id[ETHOS_UUID_SIZE],
                     struct ethos_error *error)
{
    CLEANUP_STR struct str key;
    str_init(&key, KEY_LIMIT);
    str_add(&key, str_view(&newest->key));
    if (*newest->id || newest->taken)
        str_printf(&key, ":%lld", (long long)service_now_ms(turn->ethos) + attempt);
    return str_code(&key) == ETHOS_OK
               ? create_folder_session(turn, store, newest->folder, key.data, out_id, error)
               : err_nomem(error);
}

/* If two processes want the same key, the second one retries. */
static int resume_or_create(struct ethos_turn *turn, struct ethos_sessions *store,
                            struct newest_session *newest, bool fresh, char out_id[ETHOS_UUID_SIZE],
                            struct ethos_error *error)
{
    int code = ETHOS_EXISTS;
    for (int attempt = 0; code == ETHOS_EXISTS && attempt < ATTEMPTS; attempt++) {
        code = find_newest(store, newest, error);
        if (code != ETHOS_OK)
            return code;
        if (*newest->id && !fresh) {
            const struct ethos_session_patch patch = {.working_dir = newest->folder};
            memcpy(out_id, newest->id, sizeof newest->id);
            return newest->adopted ? store->ops->update(store, newest->id, &patch, error)
                                   : ETHOS_OK;
        }
        code = make_next(turn, store, newest, attempt, out_id, error);
    }
    return code;
}

int ethos_session_current(struct ethos_turn *turn, const char *folder, int fresh,
                          char out_id[ETHOS_UUID_SIZE], struct ethos_error *error)
{
    struct ethos_sessions *store;
    char path[PATH_MAX];
    struct sessions_person person;
    struct newest_session newest = {.folder = path, .people = &person.people};
    str_init(&newest.key, KEY_LIMIT);
    int code = turn_person(turn, &person, error);
    if (code == ETHOS_OK)
        code = ethos_sessions(turn->ethos, &store, error);
    if (code == ETHOS_OK)
        code = sessions_folder(folder, path, error);
    if (code == ETHOS_OK)
        code = resume_or_create(turn, store, &newest, fresh, out_id, error);
    str_release(&newest.key);
    sessions_person_release(&person);
    return code;
}

/* ---- titles ----------------------------------------------------------------------------------- */

struct titling {
    struct str *out;
    bool guarded;
    struct str safe;  /* of the current message, when guarded */
    struct str other; /* the title if there are only commands */
};

static int title_of_first(void *arg, const struct ethos_message *message)
{
    struct titling *self = arg;
    struct ethos_view text = message->content;
    if (strcmp(message->role, "user") != 0 || view_blank(text))
        return ETHOS_OK;
    if (self->guarded)
        text = scan_visible(text, &self->safe);
    struct ethos_view said = session_said(text);
    if (view_blank(said)) {
        int code = self->other.size > 0 ? ETHOS_OK : session_title(text, &self->other);
        return code == ETHOS_OK ? str_code(&self->safe) : ETHOS_NOMEM;
    }
    text = said;
    return str_code(&self->safe) == ETHOS_OK && session_title(text, self->out) == ETHOS_OK
               ? 1
               : ETHOS_NOMEM;
}

int sessions_title(struct ethos *self, const char *id, bool guarded, struct str *out,
                   struct ethos_error *error)
{
    struct titling titling = {.out = out, .guarded = guarded};
    struct ethos_sessions *store;
    str_init(&titling.safe, SIZE_MAX);
    str_init(&titling.other, SIZE_MAX);
    int code = ethos_sessions(self, &store, error);
    if (code == ETHOS_OK)
        code = store->ops->messages(store, id, 0, title_of_first, &titling, error);
    if (code == ETHOS_OK && str_add(out, str_view(&titling.other)) != ETHOS_OK)
        code = ETHOS_NOMEM;
    str_release(&titling.other);
    str_release(&titling.safe);
    return code == 1 ? ETHOS_OK : code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/*
 * maintenance.c: updates, checks and removes the index files of a home.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/backends.h"
#include "memory/handle_internal.h"
#include "memory/provider/missing_slots.h"
#include "memory/recall/conversations.h"
#include "memory/recall/folder.h"
#include "memory/recall/recall.h"
#include "memory/recall/remote_meaning.h"
#include "memory/recall/scope_index.h"

#define FOLLOWED 100    /* sessions indexed at once by callers in a hurry */
#define FOLLOWED_MS 150 /* time for passages of conversations without vectors */

/* ---- every scope ----------------------------------------------------------------------------- */

/* A walk over the scopes of all backends; names: their index files. */
struct index_walk {
    struct ethos *ethos;
    struct arena arena;
    const char **scopes;
    size_t count, room;
    struct ethos_provider *provider;
    int (*visit)(struct index_walk *walk, const char *scope, struct ethos_error *error);
    recall_scope_fn *report;
    ethos_finding_fn *find;
    void *arg;
    bool fix;
    struct ethos_error *error;
};

static int add_indexed_scope(void *arg, const char *scope)
{
    struct index_walk *walk = arg;
    if (scope_is_tree(scope))
        return ETHOS_OK;
    const char **rows = arena_grow(&walk->arena, walk->scopes, walk->count, &walk->room,
                                   sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    walk->scopes = rows;
    rows[walk->count] = arena_str(&walk->arena, scope);
    return rows[walk->count++] ? ETHOS_OK : ETHOS_NOMEM;
}

static int visit_provider(void *arg, struct ethos_provider *provider, bool here)
{
    struct index_walk *walk = arg;
    size_t first = walk->count;
    (void)here;
    walk->provider = provider;
    if (!SLOT_PROVIDER(provider, scopes) || !SLOT_PROVIDER(provider, list))
        return ETHOS_OK;
    int code = provider->ops->scopes(provider, add_indexed_scope, walk, walk->error);
    for (size_t i = first; code == ETHOS_OK && i < walk->count; i++)
        code = walk->visit(walk, walk->scopes[i], walk->error);
    return code;
}

static struct scope_index index_of(const struct index_walk *walk, const char *scope)
{
    struct scope_index index = {.ethos = walk->ethos, .provider = walk->provider};
    snprintf(index.scope, sizeof index.scope, "%s", scope);
    return index;
}

/* ---- bringing up to date --------------------------------------------------------------------- */

static uint64_t bytes_of(const struct recall_index *index, const struct vector_file *vectors)
{
    return recall_index_bytes(index) + (vectors ? vector_file_bytes(vectors) : 0);
}

static void count_texts(const struct recall_index *index, struct recall_scope_report *report)
{
    size_t count;
    struct ethos_view before = {0};
    const struct recall_frame *frames = recall_index_frames(index, &count);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < frames[i].image.counts.documents; d++) {
            struct ethos_view name = image_document_name(&frames[i].image, d);
            if (image_is_gone(&frames[i].image, d))
                continue;
            report->texts += !view_eq(name, before);
            report->units += image_units_end(&frames[i].image, d) -
                             frames[i].image.documents[d].first_unit;
            before = name;
        }
}

static void count_sessions(const struct said_room *room, struct recall_scope_report *report)
{
    size_t count;
    const struct recall_frame *frames = recall_index_frames(room->index, &count);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < frames[i].image.counts.documents; d++) {
            const struct image *image = &frames[i].image;
            if (image_is_gone(image, d))
                continue;
            report->texts += d == 0 || image->documents[d].group != image->documents[d - 1].group;
            report->units += image_units_end(image, d) - image->documents[d].first_unit;
        }
    report->rebuilt = report->rebuilt || room->damaged;
    report->bytes += bytes_of(room->index, room->vectors);
}

/* The memory of a personality, if a remote model must encode it. */
static int send_scope(struct scope_index *index, uint64_t *sent, struct ethos_error *error)
{
    struct service_embedder embedder;
    struct ethos_view scope = view_str(index->scope), kind = VIEW("personality:");
    if (!remote_meaning_is_here() || !view_starts(scope, kind) ||
        service_embedder(index->ethos, index->scope + kind.size, &embedder, NULL) != ETHOS_OK ||
        !embedder.is_remote)
        return ETHOS_OK;
    return remote_meaning_fill(index, &embedder, sent, error);
}

static int update_scope(struct index_walk *walk, const char *scope, struct ethos_error *error)
{
    struct scope_index index = index_of(walk, scope);
    uint64_t sent = 0;
    int code = scope_index_catch_up(&index, false, error);
    if (code == ETHOS_OK)
        code = send_scope(&index, &sent, error);
    if (code == ETHOS_OK) {
        struct recall_scope_report report = {.scope = scope,
                                             .indexed = index.indexed,
                                             .encoded = index.encoded + sent,
                                             .rebuilt = index.damaged,
                                             .unsaved = index.unsaved,
                                             .bytes = bytes_of(index.index, index.vectors)};
        count_texts(index.index, &report);
        if (report.texts > 0)
            code = walk->report(walk->arg, &report);
    }
    scope_index_release(&index);
    return code;
}

/* ---- files without a scope ------------------------------------------------------------------- */

struct folder_walk {
    const struct index_walk *walk;
    int folder;
    bool all;  /* whatever its name */
    bool said; /* only those of conversations */
    int code;
};

static bool has_scope(const struct index_walk *walk, const char *file)
{
    char name[RECALL_NAME_SIZE];
    for (size_t i = 0; i < walk->count; i++) {
        char vectors[RECALL_NAME_SIZE], embeddings[RECALL_NAME_SIZE];
        recall_file_name(walk->scopes[i], name);
        recall_vectors_name(name, vectors);
        recall_embeddings_name(name, embeddings);
        if (strcmp(name, file) == 0 || strcmp(vectors, file) == 0 || strcmp(embeddings, file) == 0)
            return true;
    }
    return false;
}

static int remove_file(void *arg, const char *file)
{
    struct folder_walk *self = arg;
    bool said = strcmp(file, RECALL_ROOMS) == 0 ||
                view_starts(view_str(file), VIEW(RECALL_CONVERSATIONS));
    if (self->said ? !said : !self->all && (said || has_scope(self->walk, file)))
        return ETHOS_OK;
    if (os_unlinkat(self->folder, file, 0) != 0 && errno != ENOENT)
        self->code = errno;
    return ETHOS_OK;
}

/* All files, or those of deleted scopes; said: those of conversations. */
static int remove_files(const struct ethos *ethos, const struct index_walk *walk, bool said,
                        struct ethos_error *error)
{
    struct folder_walk self = {.walk = walk, .all = walk == NULL, .said = said};
    int lock = -1;
    self.folder = recall_folder_open(ethos, false);
    if (self.folder < 0)
        return ETHOS_OK;
    int code = recall_folder_lock(ethos, ETHOS_LOCK_DEADLINE_MS, &lock, error);
    if (code == ETHOS_OK && os_list(self.folder, remove_file, &self) != 0)
        self.code = errno;
    if (code == ETHOS_OK && self.code != 0)
        code = err_errno(error, self.code, RECALL_FOLDER);
    os_close(self.folder);
    if (lock >= 0)
        os_close(lock);
    return code;
}

/* All of them in one row, with sessions as texts. */
static int update_conversations(struct index_walk *walk, struct ethos_error *error)
{
    struct conversations said = {.ethos = walk->ethos};
    struct recall_scope_report report = {.scope = CONVERSATIONS_SCOPE};
    int code = conversations_compare(&said, error);
    for (size_t i = 0; code == ETHOS_OK && i < said.count; i++) {
        code = said_room_open(&said, &said.rooms[i], error);
        if (code == ETHOS_OK)
            code = said_room_encode(&said, &said.rooms[i], 0, &report.encoded, error);
        if (code == ETHOS_OK)
            count_sessions(&said.rooms[i], &report);
    }
    report.indexed = said.indexed;
    report.unsaved = said.unsaved;
    if (code == ETHOS_OK && report.texts > 0)
        code = walk->report(walk->arg, &report);
    conversations_release(&said);
    return code;
}

int recall_index_all(struct ethos *ethos, recall_scope_fn *each, void *arg,
                     struct ethos_error *error)
{
    struct index_walk walk = {.ethos = ethos, .visit = update_scope, .report = each, .arg = arg};
    walk.error = error;
    arena_init(&walk.arena);
    recall_folder_begin(ethos);
    int code = backends_each(ethos, visit_provider, &walk, error);
    if (code == ETHOS_OK)
        code = remove_files(ethos, &walk, false, error);
    if (code == ETHOS_OK)
        code = update_conversations(&walk, error);
    arena_release(&walk.arena);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* Encodes what a question lacked. */
static void follow_remote(struct ethos *ethos)
{
    const char *name;
    uint64_t sent = 0;
    struct scope_index index = {.ethos = ethos};
    if (!*ethos->remote_wanted)
        return;
    snprintf(index.scope, sizeof index.scope, "%s", ethos->remote_wanted);
    *ethos->remote_wanted = '\0';
    if (service_provider_for(ethos, strchr(index.scope, ':') + 1, &name, &index.provider, NULL) ==
            ETHOS_OK &&
        scope_index_catch_up(&index, false, NULL) == ETHOS_OK)
        send_scope(&index, &sent, NULL);
    scope_index_release(&index);
}

void recall_follow(struct ethos *ethos)
{
    struct conversations said = {.ethos = ethos, .most = FOLLOWED};
    recall_folder_begin(ethos);
    int code = conversations_catch_up(&said, NULL);
    int64_t until = os_monotonic_ms() + FOLLOWED_MS;
    uint64_t encoded = 0;
    for (size_t i = 0; code == ETHOS_OK && i < said.count; i++)
        if (said.rooms[i].index) // except what was just updated
            code = said_room_encode(&said, &said.rooms[i], until, &encoded, NULL);
    conversations_release(&said);
    follow_remote(ethos);
}

int recall_remove(struct ethos *ethos, struct ethos_error *error)
{
    return remove_files(ethos, NULL, false, error);
}

int recall_remove_conversations(struct ethos *ethos, struct ethos_error *error)
{
    return remove_files(ethos, NULL, true, error);
}

/* ---- checking -------------------------------------------------------------------------------- */

static void report_problem(const struct index_walk *walk, const char *subject, const char *problem,
                           bool fixed)
{
    const struct ethos_finding finding = {
        fixed ? ETHOS_FINDING_FIXED : ETHOS_FINDING_WARNING, subject, problem,
        fixed ? "it was removed; the next question rebuilds it" : "ethos doctor --fix removes it"};
    walk->find(walk->arg, &finding);
}

static void report_index_file(const struct index_walk *walk, const char *scope, const char *problem,
                              bool fixed)
{
    char subject[RECALL_NAME_SIZE + sizeof RECALL_FOLDER], name[RECALL_NAME_SIZE];
    recall_file_name(scope, name);
    snprintf(subject, sizeof subject, RECALL_FOLDER "/%s", name);
    report_problem(walk, subject, problem, fixed);
}

/* Removes the index of a scope if requested. */
static void find_damaged(const struct index_walk *walk, const char *scope, const char *problem)
{
    char name[RECALL_NAME_SIZE];
    int lock = -1, folder = walk->fix ? recall_folder_open(walk->ethos, false) : -1;
    bool fixed = folder >= 0 &&
                 recall_folder_lock(walk->ethos, ETHOS_LOCK_DEADLINE_MS, &lock, NULL) == ETHOS_OK;
    recall_file_name(scope, name);
    fixed = fixed && recall_folder_unlink(folder, name) == 0;
    if (folder >= 0)
        os_close(folder);
    if (lock >= 0)
        os_close(lock);
    report_index_file(walk, scope, problem, fixed);
}

/*
 * Words with the same meaning need installed files; that they are missing is reported only if
 * recall is used.
 */
static void check_model(const struct index_walk *walk)
{
    struct recall_model *model = NULL;
    struct ethos_error why;
    recall_folder_begin(walk->ethos);
    if (walk->ethos->words_only || recall_folder_model(walk->ethos))
        return;
    int code = recall_model_open_installed(&model, &why);
    const struct ethos_finding finding = {
        ETHOS_FINDING_WARNING, RECALL_FOLDER,
        code == ETHOS_NOTFOUND
            ? "words with the same meaning are not found: share/ethos/recall is not installed"
            : why.text,
        "install ethos with that folder, or: ethos config set recall.meaning off"};
    recall_model_close(model);
    if (code != ETHOS_OK)
        walk->find(walk->arg, &finding);
}

/* Vectors that fail their checksum: fix removes only them. */
static void check_vectors(const struct index_walk *walk, struct scope_index *index)
{
    char name[RECALL_NAME_SIZE], file[RECALL_NAME_SIZE];
    char subject[RECALL_NAME_SIZE + sizeof RECALL_FOLDER];
    if (scope_index_open_vectors(index, NULL) != ETHOS_OK || !index->vectors ||
        vector_file_is_whole(index->vectors))
        return;
    recall_file_name(index->scope, name);
    recall_vectors_name(name, file);
    snprintf(subject, sizeof subject, RECALL_FOLDER "/%s", file);
    int lock = -1, folder = walk->fix ? recall_folder_open(walk->ethos, false) : -1;
    bool fixed = folder >= 0 &&
                 recall_folder_lock(walk->ethos, ETHOS_LOCK_DEADLINE_MS, &lock, NULL) == ETHOS_OK &&
                 os_unlinkat(folder, file, 0) == 0;
    if (folder >= 0)
        os_close(folder);
    if (lock >= 0)
        os_close(lock);
    report_problem(walk, subject, "the vectors are damaged", fixed);
}

/* A damaged file, or one that has another text of an unchanged file. */
static int check_scope(struct index_walk *walk, const char *scope, struct ethos_error *error)
{
    struct scope_index index = index_of(walk, scope);
    bool same = true;
    int code = scope_index_verify(&index, &same, error);
    if (code == ETHOS_CORRUPT)
        find_damaged(walk, scope, "the index is damaged");
    else if (code == ETHOS_OK && !same)
        find_damaged(walk, scope, "the index does not match its texts");
    else if (code == ETHOS_OK)
        check_vectors(walk, &index);
    scope_index_release(&index);
    return code == ETHOS_CORRUPT ? ETHOS_OK : code;
}

/* The list of rooms represents all of their files, which are removed together. */
static int check_conversations(const struct index_walk *walk, struct ethos_error *error)
{
    struct conversations said = {.ethos = walk->ethos};
    bool same = true, fixed = false;
    int code = conversations_verify(&said, &same, error);
    conversations_release(&said);
    if (code != ETHOS_CORRUPT && (code != ETHOS_OK || same))
        return code;
    if (walk->fix)
        fixed = recall_remove_conversations(walk->ethos, NULL) == ETHOS_OK;
    report_problem(walk, RECALL_FOLDER "/" RECALL_ROOMS,
                   code == ETHOS_CORRUPT ? "the index of conversations is damaged"
                                         : "the index of conversations does not match them",
                   fixed);
    return ETHOS_OK;
}

int recall_check(struct ethos *ethos, bool fix, ethos_finding_fn *each, void *arg,
                 struct ethos_error *error)
{
    struct index_walk walk = {
        .ethos = ethos, .visit = check_scope, .find = each, .arg = arg, .fix = fix, .error = error};
    int folder = recall_folder_open(ethos, false);
    if (folder < 0)
        return ETHOS_OK;
    os_close(folder);
    check_model(&walk);
    arena_init(&walk.arena);
    int code = backends_each(ethos, visit_provider, &walk, error);
    if (code == ETHOS_OK)
        code = check_conversations(&walk, error);
    arena_release(&walk.arena);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

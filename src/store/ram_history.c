/*
 * ram_history.c: the changes and conflict copies of the store in memory.
 *
 * A change holds both its texts whole, so a version is found, not rebuilt. A purge makes a new
 * node or change for each that contains the text and links them afterwards, which cannot fail;
 * since equal texts become equal texts, the chain of versions stays whole.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/memory/forget_text.h"
#include "store/ram.h"
#include "store/update_steps.h"

/* ---- one change ----------------------------------------------------------------------------- */

/* Every string of struct ethos_change. */
static const size_t members[] = {
    offsetof(struct ethos_change, key),         offsetof(struct ethos_change, actions),
    offsetof(struct ethos_change, source),      offsetof(struct ethos_change, via),
    offsetof(struct ethos_change, actor),       offsetof(struct ethos_change, session),
    offsetof(struct ethos_change, user),        offsetof(struct ethos_change, session_key),
    offsetof(struct ethos_change, op_id),       offsetof(struct ethos_change, event),
    offsetof(struct ethos_change, undoes),      offsetof(struct ethos_change, before),
    offsetof(struct ethos_change, after),       offsetof(struct ethos_change, trust),
    offsetof(struct ethos_change, approved_by), offsetof(struct ethos_change, edited_from),
};
#define MEMBERS (sizeof members / sizeof *members)

static const char **string_member(struct ethos_change *told, size_t index)
{
    return (const char **)(void *)((char *)told + members[index]);
}

/* Copies bytes and a terminator to *at and advances it. The absent view stays absent. */
static struct ethos_view pack_view(char **at, struct ethos_view v)
{
    if (!v.data)
        return v;
    char *start = *at;
    if (v.size)
        memcpy(start, v.data, v.size);
    start[v.size] = 0;
    *at += v.size + 1;
    return view_of(start, v.size);
}

static size_t packed_size(struct ethos_change *told)
{
    size_t size = 0;
    for (size_t i = 0; i < MEMBERS; i++)
        size += *string_member(told, i) ? strlen(*string_member(told, i)) + 1 : 0;
    return size;
}

/* Copies everything that told points to, with the texts and their diff. */
static struct ram_change *copy_ram_change(struct ram *ram, const char *scope,
                                          struct ethos_change *told, struct ethos_view before,
                                          struct ethos_view after)
{
    size_t size = strlen(scope) + packed_size(told) + before.size + after.size + told->diff.size +
                  4;
    struct ram_change *change = ram->host->resize(ram->host->arg, NULL, sizeof *change + size);
    if (!change)
        return NULL;
    char *at = change->bytes;
    change->next = NULL;
    change->told = *told;
    change->scope = pack_view(&at, view_str(scope)).data;
    for (size_t i = 0; i < MEMBERS; i++)
        *string_member(&change->told, i) = pack_view(&at, view_str(*string_member(told, i))).data;
    change->before = pack_view(&at, before);
    change->after = pack_view(&at, after);
    change->told.diff = pack_view(&at, told->diff);
    return change;
}

static void print_revision(struct ethos_view text, char out[ETHOS_REVISION_SIZE])
{
    if (text.data)
        hash_revision(text, out);
    else
        memcpy(out, "absent", sizeof "absent");
}

/* Makes a change from its texts; who and when are given. NULL without memory. */
static struct ram_change *make_ram_change(struct ram *ram, const char *scope,
                                          const struct ethos_change *given,
                                          struct ethos_view before, struct ethos_view after)
{
    struct ethos_change told = *given;
    char revisions[2][ETHOS_REVISION_SIZE];
    struct str diff;
    str_init(&diff, SIZE_MAX);
    int code = diff_unified(before, after, told.key, &diff);
    print_revision(before, revisions[0]);
    print_revision(after, revisions[1]);
    told.before = revisions[0];
    told.after = revisions[1];
    told.bytes_before = before.size;
    told.bytes_after = after.size;
    told.diff = str_view(&diff);
    told.diff_whole = 1;
    struct ram_change *change = code == ETHOS_OK ? copy_ram_change(ram, scope, &told, before, after)
                                                 : NULL;
    str_release(&diff);
    return change;
}

void ram_free_changes(struct ram *ram, struct ram_change **chain)
{
    while (*chain) {
        struct ram_change *change = *chain;
        *chain = change->next;
        ram->host->resize(ram->host->arg, change, 0);
    }
}

void ram_record_changes(struct ram *ram, struct ram_change *chain)
{
    uint64_t first = ram->numbers + 1, count = 0;
    for (const struct ram_change *change = chain; change; change = change->next)
        count++;
    while (chain) {
        struct ram_change *change = chain;
        chain = change->next;
        change->told.number = ++ram->numbers;
        change->told.group = first;
        change->told.group_size = count;
        change->next = ram->changes;
        ram->changes = change;
    }
}

/* ---- recording ------------------------------------------------------------------------------ */

static struct ram_change *describe_edit(struct ram *ram, const char *scope,
                                        const struct ethos_edit *edit,
                                        const struct ethos_origin *origin)
{
    const struct ethos_change told = edit_make_change(edit, origin,
                                                      ram->host->now_ms(ram->host->arg));
    struct ethos_view text = edit->text.data ? edit->text : VIEW("");
    return make_ram_change(ram, scope, &told, view_of(edit->old.data, edit->old.size),
                           edit->verdict == ETHOS_EDIT_PUT ? text : (struct ethos_view){0});
}

int ram_describe_edits(struct ram *ram, const char *scope, const struct ethos_edit *edits,
                       size_t count, const struct ethos_origin *origin,
                       struct ram_change **out_chain, struct ethos_error *error)
{
    struct ram_change **end = out_chain;
    for (size_t i = 0; i < count; i++) {
        if (!edit_is_change(&edits[i]))
            continue;
        *end = describe_edit(ram, scope, &edits[i], origin);
        if (!*end)
            return err_nomem(error);
        end = &(*end)->next;
    }
    return ETHOS_OK;
}

/* ---- grafting ------------------------------------------------------------------------------- */

static uint64_t newest_change_number(const struct ram *ram, const char *scope)
{
    for (const struct ram_change *change = ram->changes; change; change = change->next)
        if (strcmp(change->scope, scope) == 0)
            return change->told.number;
    return 0;
}

/* A change with a lost text is copied as given. */
static struct ram_change *make_imported_change(struct ram *ram, const char *scope,
                                               const struct ethos_row *row)
{
    struct ethos_change told = row->change;
    bool lost = (!row->base.data && strcmp(told.before, "absent") != 0) ||
                (!row->whole.data && strcmp(told.after, "absent") != 0);
    return lost ? copy_ram_change(ram, scope, &told, row->base, row->whole)
                : make_ram_change(ram, scope, &told, row->base, row->whole);
}

/* Makes everything that needs memory, in order: the changes, and a node for each text. */
static int prepare_import(struct ram *ram, const char *scope, const struct ethos_commit *commit,
                          struct ram_change **changes, struct ram_node **nodes)
{
    for (size_t i = 0; i < commit->row_count; i++, changes = &(*changes)->next)
        if (!(*changes = make_imported_change(ram, scope, &commit->rows[i])))
            return ETHOS_NOMEM;
    for (size_t i = 0; i < commit->edit_count; i++) {
        const struct ethos_edit *edit = &commit->edits[i];
        if (edit->verdict != ETHOS_EDIT_PUT)
            continue;
        if (!(*nodes = ram_make_node(ram, scope, edit->key, edit->text)))
            return ETHOS_NOMEM;
        nodes = &(*nodes)->next;
    }
    return ETHOS_OK;
}

static void link_import(struct ram *ram, const char *scope, const struct ethos_commit *commit,
                        struct ram_change *changes, struct ram_node *nodes)
{
    while (changes) {
        struct ram_change *change = changes;
        changes = change->next;
        change->next = ram->changes;
        ram->changes = change;
        if (change->told.number > ram->numbers)
            ram->numbers = change->told.number;
    }
    for (size_t i = 0; i < commit->edit_count; i++) {
        const struct ethos_edit *edit = &commit->edits[i];
        struct ram_node *node = edit->verdict == ETHOS_EDIT_PUT ? nodes : NULL;
        if (edit->verdict == ETHOS_EDIT_KEEP)
            continue;
        nodes = node ? node->next : nodes;
        ram_put_text(ram, scope, edit->key, node);
    }
}

int ram_import_commits(struct ethos_store *self, const char *scope,
                       const struct ethos_commit *commit, struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct ram_change *changes = NULL;
    struct ram_node *nodes = NULL;
    if (newest_change_number(ram, scope) != commit->version)
        return err_set(error, ETHOS_CONFLICT, "%s: has other changes than those up to %" PRIu64,
                       scope, commit->version);
    if (prepare_import(ram, scope, commit, &changes, &nodes) == ETHOS_OK) {
        link_import(ram, scope, commit, changes, nodes);
        return ETHOS_OK;
    }
    ram_free_changes(ram, &changes);
    while (nodes)
        ram_unlink_node(ram, &nodes);
    return err_nomem(error);
}

/* ---- looking back --------------------------------------------------------------------------- */

static bool is_change_of(const struct ram_change *change, const char *scope, const char *key)
{
    return strcmp(change->scope, scope) == 0 && (!key || strcmp(change->told.key, key) == 0);
}

int ram_history(struct ethos_store *self, const char *scope, const char *key, ethos_change_fn *each,
                void *arg, struct ethos_error *error)
{
    (void)error;
    int code = ETHOS_OK;
    const struct ram_change *change = ((struct ram *)self)->changes;
    for (; change && code == ETHOS_OK; change = change->next)
        if (is_change_of(change, scope, key))
            code = each(arg, &change->told);
    return code;
}

/* Finds the change that has the text of a revision, or NULL. */
static const struct ram_change *find_change_with(const struct ram *ram, const char *scope,
                                                 const char *key, const char *revision,
                                                 struct ethos_view *out_text)
{
    for (const struct ram_change *change = ram->changes; change; change = change->next) {
        bool after = strcmp(change->told.after, revision) == 0;
        *out_text = after ? change->after : change->before;
        if (is_change_of(change, scope, key) && out_text->data &&
            (after || strcmp(change->told.before, revision) == 0))
            return change;
    }
    return NULL;
}

int ram_version(struct ethos_store *self, const char *scope, const char *key, const char *revision,
                struct ethos_text *out_text, struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct ethos_view text;
    const struct ram_change *change = find_change_with(ram, scope, key, revision, &text);
    if (!change)
        return err_set(error, ETHOS_NOTFOUND, "%s: never had the revision %s", key, revision);
    return edit_fill_text(ram->host, text, revision, change->told.time_ms, out_text, error);
}

/* ---- conflict copies ------------------------------------------------------------------------ */

/* An id is a number, a dash and the key. */
static const char *copied_key(const struct ram_node *copy)
{
    return strchr(copy->key, '-') + 1;
}

static bool is_copy_of(const struct ram_node *copy, const char *scope, const char *key,
                       struct ethos_view text)
{
    return strcmp(copy->scope, scope) == 0 && strcmp(copied_key(copy), key) == 0 &&
           view_eq(view_of(copy->text, copy->size), text);
}

int ram_add_conflict_copy(struct ethos_store *self, const char *scope, const char *key,
                          struct ethos_view text, struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    char id[ETHOS_MAX_KEY + 32];
    struct ram_node **end = &ram->copies;
    for (; *end; end = &(*end)->next)
        if (is_copy_of(*end, scope, key, text))
            return ETHOS_OK;
    snprintf(id, sizeof id, "%" PRIu64 "-%s", ++ram->numbers, key);
    struct ram_node *copy = ram_make_node(ram, scope, id, text);
    if (!copy)
        return err_nomem(error);
    ram_link_node(end, copy);
    return ETHOS_OK;
}

int ram_list_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each,
                       void *arg, struct ethos_error *error)
{
    (void)error;
    int code = ETHOS_OK;
    const struct ram_node *copy = ((struct ram *)self)->copies;
    for (; copy && code == ETHOS_OK; copy = copy->next) {
        const struct ethos_conflict conflict = {
            copy->key, copied_key(copy), copy->mtime_ms, copy->size, NULL, "copy"};
        if (strcmp(copy->scope, scope) == 0)
            code = each(arg, &conflict);
    }
    return code;
}

/* The link to a copy; to NULL when there is none. */
static struct ram_node **find_copy_link(struct ram *ram, const char *scope, const char *id)
{
    struct ram_node **link = &ram->copies;
    while (*link && (strcmp((*link)->scope, scope) != 0 || strcmp((*link)->key, id) != 0))
        link = &(*link)->next;
    return link;
}

static int no_such_copy(const char *id, struct ethos_error *error)
{
    return err_set(error, ETHOS_NOTFOUND, "no such conflict: %s", id);
}

int ram_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                      struct ethos_text *out_text, struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    const struct ram_node *copy = *find_copy_link(ram, scope, id);
    if (!copy)
        return no_such_copy(id, error);
    return edit_fill_text(ram->host, view_of(copy->text, copy->size), copy->revision,
                          copy->mtime_ms, out_text, error);
}

int ram_add_version(struct ethos_store *self, const char *scope, const char *key,
                    struct ethos_view text, struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct ethos_view known;
    char revision[ETHOS_REVISION_SIZE];
    const struct ram_node *now = ram_find_text(ram, scope, key);
    const struct ethos_change told = edit_make_seen_change(key, ram->host->now_ms(ram->host->arg));
    hash_revision(text, revision);
    if (find_change_with(ram, scope, key, revision, &known))
        return ETHOS_OK;
    struct ram_change *change = make_ram_change(
        ram, scope, &told, now ? view_of(now->text, now->size) : (struct ethos_view){0}, text);
    if (!change)
        return err_nomem(error);
    ram_record_changes(ram, change);
    return ETHOS_OK;
}

int ram_conflict_remove(struct ethos_store *self, const char *scope, const char *id,
                        struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct ram_node **link = find_copy_link(ram, scope, id);
    if (!*link)
        return no_such_copy(id, error);
    const struct ram_node *copy = *link;
    TRY(ram_add_version(self, scope, copied_key(copy), view_of(copy->text, copy->size), error));
    ram_unlink_node(ram, link);
    return ETHOS_OK;
}

/* ---- scopes --------------------------------------------------------------------------------- */

/* The scope that follows this one among those that were ever written; NULL at the end. */
static const char *next_written_scope(const struct ram *ram, const char *last)
{
    const char *next = NULL;
    for (const struct ram_change *change = ram->changes; change; change = change->next) {
        if (strcmp(change->scope, last) > 0 && (!next || strcmp(change->scope, next) < 0))
            next = change->scope;
    }
    for (const struct ram_node *copy = ram->copies; copy; copy = copy->next) {
        if (strcmp(copy->scope, last) > 0 && (!next || strcmp(copy->scope, next) < 0))
            next = copy->scope;
    }
    return next;
}

int ram_list_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg,
                    struct ethos_error *error)
{
    const struct ram *ram = (const struct ram *)self;
    int code = ETHOS_OK;
    (void)error;
    for (const char *scope = ""; code == ETHOS_OK && (scope = next_written_scope(ram, scope));)
        code = each(arg, scope);
    return code;
}

/* ---- purging -------------------------------------------------------------------------------- */

/* The purged nodes and changes, not linked yet, in the order of the lists. */
struct ram_purge_state {
    struct ram *ram;
    const char *scope;
    struct forget forget;
    bool tell; /* the match of every line */
    struct ethos_purge found;
    struct ram_node *texts, *copies;
    struct ram_change *changes;
    struct ram_change *added; /* what undo stops at, one for each text */
};

/* The new name of a key, or the key itself. In a copy's id it follows the number and a dash. */
static const char *purged_key(const struct ram_purge_state *purging, const char *key,
                              char renamed[ETHOS_MAX_KEY + 32])
{
    if (!forget_names(&purging->forget, view_str(key)))
        return key;
    forget_rename(&purging->forget, view_str(key), renamed);
    return renamed;
}

static bool is_matching_node(const struct ram_purge_state *purging, const struct ram_node *node)
{
    return strcmp(node->scope, purging->scope) == 0 &&
           (forget_names(&purging->forget, view_str(node->key)) ||
            forget_holds(&purging->forget, view_of(node->text, node->size)));
}

static bool is_matching_change(const struct ram_purge_state *purging,
                               const struct ram_change *change)
{
    return strcmp(change->scope, purging->scope) == 0 &&
           (forget_names(&purging->forget, view_str(change->told.key)) ||
            forget_holds(&purging->forget, view_str(change->told.actor)) ||
            forget_holds(&purging->forget, change->before) ||
            forget_holds(&purging->forget, change->after));
}

static int purge_nodes(struct ram_purge_state *purging, const struct ram_node *list,
                       struct ram_node **end, uint64_t *out_nodes, uint64_t *out_lines)
{
    struct str out;
    char renamed[ETHOS_MAX_KEY + 32];
    int code = ETHOS_OK;
    str_init(&out, SIZE_MAX);
    for (const struct ram_node *node = list; code == ETHOS_OK && node; node = node->next) {
        struct ethos_view text = view_of(node->text, node->size);
        if (!is_matching_node(purging, node))
            continue;
        code = forget_lines(&purging->forget, text, &out, &text, out_lines);
        if (code == ETHOS_OK && purging->tell && out_lines)
            code = forget_tell(&purging->forget, node->key, view_of(node->text, node->size));
        if (code == ETHOS_OK)
            *end = ram_make_node(purging->ram, node->scope, purged_key(purging, node->key, renamed),
                                 text);
        if (code == ETHOS_OK && out_lines && *end &&
            forget_names(&purging->forget, view_str(node->key)))
            purging->found.names++;
        if (code != ETHOS_OK || !*end)
            code = ETHOS_NOMEM;
        else
            end = &(*end)->next;
        ++*out_nodes;
    }
    str_release(&out);
    return code;
}

static int purge_change(struct ram_purge_state *purging, const struct ram_change *change,
                        struct ram_change **out_change)
{
    struct str before, after;
    struct ethos_view old = change->before, new = change->after;
    struct ethos_change told = change->told;
    char renamed[ETHOS_MAX_KEY + 32];
    told.key = purged_key(purging, told.key, renamed);
    if (forget_holds(&purging->forget, view_str(told.actor))) // the name of a key
        told.actor = purging->forget.mark;
    str_init(&before, SIZE_MAX);
    str_init(&after, SIZE_MAX);
    if (forget_lines(&purging->forget, old, &before, &old, NULL) == ETHOS_OK &&
        forget_lines(&purging->forget, new, &after, &new, NULL) == ETHOS_OK)
        *out_change = make_ram_change(purging->ram, change->scope, &told, old, new);
    str_release(&before);
    str_release(&after);
    return *out_change ? ETHOS_OK : ETHOS_NOMEM;
}

static int add_purge_changes(struct ram_purge_state *purging, const struct ethos_origin *origin)
{
    struct ram *ram = purging->ram;
    struct ethos_origin own = origin ? *origin : (struct ethos_origin){0};
    struct ram_change **end = &purging->added;
    own.via = "purge";
    own.op_id = NULL;
    for (const struct ram_node *node = purging->texts; node; node = node->next) {
        const struct ethos_edit edit = {.key = node->key, .actions = "remove"};
        const struct ethos_change told = edit_make_change(&edit, &own,
                                                          ram->host->now_ms(ram->host->arg));
        struct ethos_view text = view_of(node->text, node->size);
        if (!(*end = make_ram_change(ram, node->scope, &told, text, text)))
            return ETHOS_NOMEM;
        end = &(*end)->next;
    }
    return ETHOS_OK;
}

static int purge_everything(struct ram_purge_state *purging)
{
    struct ram *ram = purging->ram;
    struct ethos_purge *found = &purging->found;
    struct ram_change **end = &purging->changes;
    uint64_t texts = 0;
    int code = purge_nodes(purging, ram->texts, &purging->texts, &texts, &found->lines);
    if (code == ETHOS_OK)
        code = purge_nodes(purging, ram->copies, &purging->copies, &found->conflicts, NULL);
    for (const struct ram_change *change = ram->changes; code == ETHOS_OK && change;
         change = change->next) {
        if (!is_matching_change(purging, change))
            continue;
        code = purge_change(purging, change, end);
        found->versions++;
        end = code == ETHOS_OK ? &(*end)->next : end;
    }
    return code;
}

/* Replaces the nodes that contain the text by the purged ones. */
static void replace_purged_nodes(struct ram_purge_state *purging, struct ram_node **link,
                                 struct ram_node **cleansed)
{
    bool sorted = link == &purging->ram->texts;
    struct ram_node *renamed = NULL; // they move to another place in the list
    while (*link) {
        struct ram_node *node = *cleansed;
        if (!is_matching_node(purging, *link)) {
            link = &(*link)->next;
            continue;
        }
        *cleansed = node->next;
        bool moves = sorted && strcmp(node->key, (*link)->key) != 0;
        ram_unlink_node(purging->ram, link);
        ram_link_node(moves ? &renamed : link, node);
        link = moves ? link : &node->next;
    }
    while (renamed) {
        struct ram_node *node = renamed;
        renamed = node->next;
        ram_put_text(purging->ram, node->scope, node->key, node);
    }
}

int ram_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
              int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
              struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct ram_purge_state purging = {.ram = ram, .scope = scope};
    int code = forget_init(&purging.forget, match, error);
    purging.tell = dry_run && match->each;
    if (code != ETHOS_OK)
        return code;
    code = purge_everything(&purging);
    if (code == ETHOS_OK)
        code = add_purge_changes(&purging, origin);
    if (code == ETHOS_OK && !dry_run) {
        replace_purged_nodes(&purging, &ram->texts, &purging.texts);
        replace_purged_nodes(&purging, &ram->copies, &purging.copies);
        const struct ethos_host *host = purging.ram->host;
        for (struct ram_change **link = &purging.ram->changes; *link; link = &(*link)->next) {
            struct ram_change *old = *link, *change = purging.changes;
            if (!is_matching_change(&purging, old))
                continue;
            purging.changes = change->next;
            change->next = old->next;
            *link = change;
            host->resize(host->arg, old, 0);
        }
        ram_record_changes(ram, purging.added);
        purging.added = NULL;
    }
    while (purging.texts)
        ram_unlink_node(ram, &purging.texts);
    while (purging.copies)
        ram_unlink_node(ram, &purging.copies);
    ram_free_changes(ram, &purging.changes);
    ram_free_changes(ram, &purging.added);
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM ? err_nomem(error) : code;
    *out_purge = purging.found;
    return ETHOS_OK;
}

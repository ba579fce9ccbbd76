/*
 * ram_history.c: what the store in memory keeps of every change, and its conflict copies.
 *
 * A change holds both its texts whole, so a version is found, not rebuilt. Purging makes a cleansed
 * node or change for each that holds the needle and links them afterwards, which cannot fail; since
 * the same text is cleansed to the same text everywhere, the chain of versions stays one.
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

static const char **member(struct ethos_change *told, size_t index)
{
    return (const char **)(void *)((char *)told + members[index]);
}

/* Copies bytes and a terminator to *at, which moves on. The absent view stays absent. */
static struct ethos_view pack(char **at, struct ethos_view v)
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
        size += *member(told, i) ? strlen(*member(told, i)) + 1 : 0;
    return size;
}

/* A copy of all that told points to, with the texts and their diff. */
static struct change *copy_change(struct ram *ram, const char *scope, struct ethos_change *told,
                                  struct ethos_view before, struct ethos_view after)
{
    size_t size = strlen(scope) + packed_size(told) + before.size + after.size + told->diff.size +
                  4;
    struct change *change = ram->host->resize(ram->host->arg, NULL, sizeof *change + size);
    if (!change)
        return NULL;
    char *at = change->bytes;
    change->next = NULL;
    change->told = *told;
    change->scope = pack(&at, view_str(scope)).data;
    for (size_t i = 0; i < MEMBERS; i++)
        *member(&change->told, i) = pack(&at, view_str(*member(told, i))).data;
    change->before = pack(&at, before);
    change->after = pack(&at, after);
    change->told.diff = pack(&at, told->diff);
    return change;
}

static void name_revision(struct ethos_view text, char out[ETHOS_REVISION_SIZE])
{
    if (text.data)
        hash_revision(text, out);
    else
        memcpy(out, "absent", sizeof "absent");
}

/* Fills in what follows from the texts; the rest of told is given. NULL without memory. */
static struct change *make_change(struct ram *ram, const char *scope,
                                  const struct ethos_change *given, struct ethos_view before,
                                  struct ethos_view after)
{
    struct ethos_change told = *given;
    char revisions[2][ETHOS_REVISION_SIZE];
    struct str diff;
    str_init(&diff, SIZE_MAX);
    int code = diff_unified(before, after, told.key, &diff);
    name_revision(before, revisions[0]);
    name_revision(after, revisions[1]);
    told.before = revisions[0];
    told.after = revisions[1];
    told.bytes_before = before.size;
    told.bytes_after = after.size;
    told.diff = str_view(&diff);
    told.diff_whole = 1;
    struct change *change = code == ETHOS_OK ? copy_change(ram, scope, &told, before, after) : NULL;
    str_release(&diff);
    return change;
}

void ram_free_changes(struct ram *ram, struct change **chain)
{
    while (*chain) {
        struct change *change = *chain;
        *chain = change->next;
        ram->host->resize(ram->host->arg, change, 0);
    }
}

void ram_record(struct ram *ram, struct change *chain)
{
    uint64_t first = ram->numbers + 1, count = 0;
    for (const struct change *change = chain; change; change = change->next)
        count++;
    while (chain) {
        struct change *change = chain;
        chain = change->next;
        change->told.number = ++ram->numbers;
        change->told.group = first;
        change->told.group_size = count;
        change->next = ram->changes;
        ram->changes = change;
    }
}

/* ---- recording ------------------------------------------------------------------------------ */

static struct change *describe(struct ram *ram, const char *scope, const struct ethos_edit *edit,
                               const struct ethos_origin *origin)
{
    const struct ethos_change told = edit_change(edit, origin, ram->host->now_ms(ram->host->arg));
    struct ethos_view text = edit->text.data ? edit->text : VIEW("");
    return make_change(ram, scope, &told, view_of(edit->old.data, edit->old.size),
                       edit->verdict == ETHOS_EDIT_PUT ? text : (struct ethos_view){0});
}

int ram_describe(struct ram *ram, const char *scope, const struct ethos_edit *edits, size_t count,
                 const struct ethos_origin *origin, struct change **out_chain,
                 struct ethos_error *error)
{
    struct change **end = out_chain;
    for (size_t i = 0; i < count; i++) {
        if (!edit_changes(&edits[i]))
            continue;
        *end = describe(ram, scope, &edits[i], origin);
        if (!*end)
            return err_nomem(error);
        end = &(*end)->next;
    }
    return ETHOS_OK;
}

/* ---- grafting ------------------------------------------------------------------------------- */

static uint64_t newest_number(const struct ram *ram, const char *scope)
{
    for (const struct change *change = ram->changes; change; change = change->next)
        if (strcmp(change->scope, scope) == 0)
            return change->told.number;
    return 0;
}

/* A text that is lost stays so; the rest is as it was told. */
static struct change *graft_row(struct ram *ram, const char *scope, const struct ethos_row *row)
{
    struct ethos_change told = row->change;
    bool lost = (!row->base.data && strcmp(told.before, "absent") != 0) ||
                (!row->whole.data && strcmp(told.after, "absent") != 0);
    return lost ? copy_change(ram, scope, &told, row->base, row->whole)
                : make_change(ram, scope, &told, row->base, row->whole);
}

/* Everything that needs memory, in order: the changes, and a node for each text that is put. */
static int prepare_graft(struct ram *ram, const char *scope, const struct ethos_commit *commit,
                         struct change **changes, struct node **nodes)
{
    for (size_t i = 0; i < commit->row_count; i++, changes = &(*changes)->next)
        if (!(*changes = graft_row(ram, scope, &commit->rows[i])))
            return ETHOS_NOMEM;
    for (size_t i = 0; i < commit->edit_count; i++) {
        const struct ethos_edit *edit = &commit->edits[i];
        if (edit->verdict != ETHOS_EDIT_PUT)
            continue;
        if (!(*nodes = ram_node(ram, scope, edit->key, edit->text)))
            return ETHOS_NOMEM;
        nodes = &(*nodes)->next;
    }
    return ETHOS_OK;
}

static void link_graft(struct ram *ram, const char *scope, const struct ethos_commit *commit,
                       struct change *changes, struct node *nodes)
{
    while (changes) {
        struct change *change = changes;
        changes = change->next;
        change->next = ram->changes;
        ram->changes = change;
        if (change->told.number > ram->numbers)
            ram->numbers = change->told.number;
    }
    for (size_t i = 0; i < commit->edit_count; i++) {
        const struct ethos_edit *edit = &commit->edits[i];
        struct node *node = edit->verdict == ETHOS_EDIT_PUT ? nodes : NULL;
        if (edit->verdict == ETHOS_EDIT_KEEP)
            continue;
        nodes = node ? node->next : nodes;
        ram_put(ram, scope, edit->key, node);
    }
}

int ram_graft(struct ethos_store *self, const char *scope, const struct ethos_commit *commit,
              struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct change *changes = NULL;
    struct node *nodes = NULL;
    if (newest_number(ram, scope) != commit->version)
        return err_set(error, ETHOS_CONFLICT, "%s: has other changes than those up to %" PRIu64,
                       scope, commit->version);
    if (prepare_graft(ram, scope, commit, &changes, &nodes) == ETHOS_OK) {
        link_graft(ram, scope, commit, changes, nodes);
        return ETHOS_OK;
    }
    ram_free_changes(ram, &changes);
    while (nodes)
        ram_unlink(ram, &nodes);
    return err_nomem(error);
}

/* ---- looking back --------------------------------------------------------------------------- */

static bool is_about(const struct change *change, const char *scope, const char *key)
{
    return strcmp(change->scope, scope) == 0 && (!key || strcmp(change->told.key, key) == 0);
}

int ram_history(struct ethos_store *self, const char *scope, const char *key, ethos_change_fn *each,
                void *arg, struct ethos_error *error)
{
    (void)error;
    int code = ETHOS_OK;
    const struct change *change = ((struct ram *)self)->changes;
    for (; change && code == ETHOS_OK; change = change->next)
        if (is_about(change, scope, key))
            code = each(arg, &change->told);
    return code;
}

/* The change that knows the text of a revision, or NULL. */
static const struct change *find_version(const struct ram *ram, const char *scope, const char *key,
                                         const char *revision, struct ethos_view *out_text)
{
    for (const struct change *change = ram->changes; change; change = change->next) {
        bool after = strcmp(change->told.after, revision) == 0;
        *out_text = after ? change->after : change->before;
        if (is_about(change, scope, key) && out_text->data &&
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
    const struct change *change = find_version(ram, scope, key, revision, &text);
    if (!change)
        return err_set(error, ETHOS_NOTFOUND, "%s: never had the revision %s", key, revision);
    return edit_give(ram->host, text, revision, change->told.time_ms, out_text, error);
}

/* ---- conflict copies ------------------------------------------------------------------------ */

/* An id is a number, a dash and the key. */
static const char *key_of(const struct node *copy)
{
    return strchr(copy->key, '-') + 1;
}

static bool is_copy(const struct node *copy, const char *scope, const char *key,
                    struct ethos_view text)
{
    return strcmp(copy->scope, scope) == 0 && strcmp(key_of(copy), key) == 0 &&
           view_eq(view_of(copy->text, copy->size), text);
}

int ram_set_aside(struct ethos_store *self, const char *scope, const char *key,
                  struct ethos_view text, struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    char id[ETHOS_MAX_KEY + 32];
    struct node **end = &ram->copies;
    for (; *end; end = &(*end)->next)
        if (is_copy(*end, scope, key, text))
            return ETHOS_OK;
    snprintf(id, sizeof id, "%" PRIu64 "-%s", ++ram->numbers, key);
    struct node *copy = ram_node(ram, scope, id, text);
    if (!copy)
        return err_nomem(error);
    ram_link(end, copy);
    return ETHOS_OK;
}

int ram_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each, void *arg,
                  struct ethos_error *error)
{
    (void)error;
    int code = ETHOS_OK;
    const struct node *copy = ((struct ram *)self)->copies;
    for (; copy && code == ETHOS_OK; copy = copy->next) {
        const struct ethos_conflict conflict = {copy->key,  key_of(copy), copy->mtime_ms,
                                                copy->size, NULL,         "copy"};
        if (strcmp(copy->scope, scope) == 0)
            code = each(arg, &conflict);
    }
    return code;
}

/* The link to a copy; to NULL when there is none. */
static struct node **find_copy(struct ram *ram, const char *scope, const char *id)
{
    struct node **link = &ram->copies;
    while (*link && (strcmp((*link)->scope, scope) != 0 || strcmp((*link)->key, id) != 0))
        link = &(*link)->next;
    return link;
}

static int no_copy(const char *id, struct ethos_error *error)
{
    return err_set(error, ETHOS_NOTFOUND, "no such conflict: %s", id);
}

int ram_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                      struct ethos_text *out_text, struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    const struct node *copy = *find_copy(ram, scope, id);
    if (!copy)
        return no_copy(id, error);
    return edit_give(ram->host, view_of(copy->text, copy->size), copy->revision, copy->mtime_ms,
                     out_text, error);
}

int ram_keep(struct ethos_store *self, const char *scope, const char *key, struct ethos_view text,
             struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct ethos_view known;
    char revision[ETHOS_REVISION_SIZE];
    const struct node *now = ram_find(ram, scope, key);
    const struct ethos_change told = edit_seen(key, ram->host->now_ms(ram->host->arg));
    hash_revision(text, revision);
    if (find_version(ram, scope, key, revision, &known))
        return ETHOS_OK;
    struct change *change = make_change(
        ram, scope, &told, now ? view_of(now->text, now->size) : (struct ethos_view){0}, text);
    if (!change)
        return err_nomem(error);
    ram_record(ram, change);
    return ETHOS_OK;
}

int ram_conflict_drop(struct ethos_store *self, const char *scope, const char *id,
                      struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct node **link = find_copy(ram, scope, id);
    if (!*link)
        return no_copy(id, error);
    const struct node *copy = *link;
    int code = ram_keep(self, scope, key_of(copy), view_of(copy->text, copy->size), error);
    if (code == ETHOS_OK)
        ram_unlink(ram, link);
    return code;
}

/* ---- scopes --------------------------------------------------------------------------------- */

/* The scope that comes first after this one, among those that were ever written; NULL at the end. */
static const char *next_scope(const struct ram *ram, const char *last)
{
    const char *next = NULL;
    for (const struct change *change = ram->changes; change; change = change->next) {
        if (strcmp(change->scope, last) > 0 && (!next || strcmp(change->scope, next) < 0))
            next = change->scope;
    }
    for (const struct node *copy = ram->copies; copy; copy = copy->next) {
        if (strcmp(copy->scope, last) > 0 && (!next || strcmp(copy->scope, next) < 0))
            next = copy->scope;
    }
    return next;
}

int ram_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg, struct ethos_error *error)
{
    const struct ram *ram = (const struct ram *)self;
    int code = ETHOS_OK;
    (void)error;
    for (const char *scope = ""; code == ETHOS_OK && (scope = next_scope(ram, scope));)
        code = each(arg, scope);
    return code;
}

/* ---- purging -------------------------------------------------------------------------------- */

/* What stands cleansed and is not linked yet, in the order of the lists. */
struct purging {
    struct ram *ram;
    const char *scope;
    struct forget forget;
    bool tell; /* the match of every line */
    struct ethos_purge found;
    struct node *texts, *copies;
    struct change *changes;
    struct change *added; /* what undo stops at, one for each text */
};

/* The name that a key gets, or the key itself. A copy's is behind its number and a dash. */
static const char *name_after(const struct purging *purging, const char *key,
                              char renamed[ETHOS_MAX_KEY + 32])
{
    if (!forget_names(&purging->forget, view_str(key)))
        return key;
    forget_rename(&purging->forget, view_str(key), renamed);
    return renamed;
}

static bool node_holds(const struct purging *purging, const struct node *node)
{
    return strcmp(node->scope, purging->scope) == 0 &&
           (forget_names(&purging->forget, view_str(node->key)) ||
            forget_holds(&purging->forget, view_of(node->text, node->size)));
}

static bool change_holds(const struct purging *purging, const struct change *change)
{
    return strcmp(change->scope, purging->scope) == 0 &&
           (forget_names(&purging->forget, view_str(change->told.key)) ||
            forget_holds(&purging->forget, view_str(change->told.actor)) ||
            forget_holds(&purging->forget, change->before) ||
            forget_holds(&purging->forget, change->after));
}

static int cleanse_nodes(struct purging *purging, const struct node *list, struct node **end,
                         uint64_t *out_nodes, uint64_t *out_lines)
{
    struct str out;
    char renamed[ETHOS_MAX_KEY + 32];
    int code = ETHOS_OK;
    str_init(&out, SIZE_MAX);
    for (const struct node *node = list; code == ETHOS_OK && node; node = node->next) {
        struct ethos_view text = view_of(node->text, node->size);
        if (!node_holds(purging, node))
            continue;
        code = forget_lines(&purging->forget, text, &out, &text, out_lines);
        if (code == ETHOS_OK && purging->tell && out_lines)
            code = forget_tell(&purging->forget, node->key, view_of(node->text, node->size));
        if (code == ETHOS_OK)
            *end = ram_node(purging->ram, node->scope, name_after(purging, node->key, renamed),
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

static int cleanse_change(struct purging *purging, const struct change *change,
                          struct change **out_change)
{
    struct str before, after;
    struct ethos_view old = change->before, new = change->after;
    struct ethos_change told = change->told;
    char renamed[ETHOS_MAX_KEY + 32];
    told.key = name_after(purging, told.key, renamed);
    if (forget_holds(&purging->forget, view_str(told.actor))) // the name of a key
        told.actor = purging->forget.mark;
    str_init(&before, SIZE_MAX);
    str_init(&after, SIZE_MAX);
    if (forget_lines(&purging->forget, old, &before, &old, NULL) == ETHOS_OK &&
        forget_lines(&purging->forget, new, &after, &new, NULL) == ETHOS_OK)
        *out_change = make_change(purging->ram, change->scope, &told, old, new);
    str_release(&before);
    str_release(&after);
    return *out_change ? ETHOS_OK : ETHOS_NOMEM;
}

static int record_purges(struct purging *purging, const struct ethos_origin *origin)
{
    struct ram *ram = purging->ram;
    struct ethos_origin own = origin ? *origin : (struct ethos_origin){0};
    struct change **end = &purging->added;
    own.via = "purge";
    own.op_id = NULL;
    for (const struct node *node = purging->texts; node; node = node->next) {
        const struct ethos_edit edit = {.key = node->key, .actions = "remove"};
        const struct ethos_change told = edit_change(&edit, &own,
                                                     ram->host->now_ms(ram->host->arg));
        struct ethos_view text = view_of(node->text, node->size);
        if (!(*end = make_change(ram, node->scope, &told, text, text)))
            return ETHOS_NOMEM;
        end = &(*end)->next;
    }
    return ETHOS_OK;
}

static int cleanse_all(struct purging *purging)
{
    struct ram *ram = purging->ram;
    struct ethos_purge *found = &purging->found;
    struct change **end = &purging->changes;
    uint64_t texts = 0;
    int code = cleanse_nodes(purging, ram->texts, &purging->texts, &texts, &found->lines);
    if (code == ETHOS_OK)
        code = cleanse_nodes(purging, ram->copies, &purging->copies, &found->conflicts, NULL);
    for (const struct change *change = ram->changes; code == ETHOS_OK && change;
         change = change->next) {
        if (!change_holds(purging, change))
            continue;
        code = cleanse_change(purging, change, end);
        found->versions++;
        end = code == ETHOS_OK ? &(*end)->next : end;
    }
    return code;
}

/* Puts the cleansed ones in the place of those that hold the needle. */
static void replace_nodes(struct purging *purging, struct node **link, struct node **cleansed)
{
    bool sorted = link == &purging->ram->texts;
    struct node *renamed = NULL; // they belong elsewhere
    while (*link) {
        struct node *node = *cleansed;
        if (!node_holds(purging, *link)) {
            link = &(*link)->next;
            continue;
        }
        *cleansed = node->next;
        bool moves = sorted && strcmp(node->key, (*link)->key) != 0;
        ram_unlink(purging->ram, link);
        ram_link(moves ? &renamed : link, node);
        link = moves ? link : &node->next;
    }
    while (renamed) {
        struct node *node = renamed;
        renamed = node->next;
        ram_put(purging->ram, node->scope, node->key, node);
    }
}

static void replace_changes(struct purging *purging)
{
    const struct ethos_host *host = purging->ram->host;
    for (struct change **link = &purging->ram->changes; *link; link = &(*link)->next) {
        struct change *old = *link, *change = purging->changes;
        if (!change_holds(purging, old))
            continue;
        purging->changes = change->next;
        change->next = old->next;
        *link = change;
        host->resize(host->arg, old, 0);
    }
}

int ram_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
              int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
              struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct purging purging = {.ram = ram, .scope = scope};
    int code = forget_init(&purging.forget, match, error);
    purging.tell = dry_run && match->each;
    if (code != ETHOS_OK)
        return code;
    code = cleanse_all(&purging);
    if (code == ETHOS_OK)
        code = record_purges(&purging, origin);
    if (code == ETHOS_OK && !dry_run) {
        replace_nodes(&purging, &ram->texts, &purging.texts);
        replace_nodes(&purging, &ram->copies, &purging.copies);
        replace_changes(&purging);
        ram_record(ram, purging.added);
        purging.added = NULL;
    }
    while (purging.texts)
        ram_unlink(ram, &purging.texts);
    while (purging.copies)
        ram_unlink(ram, &purging.copies);
    ram_free_changes(ram, &purging.changes);
    ram_free_changes(ram, &purging.added);
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM ? err_nomem(error) : code;
    *out_purge = purging.found;
    return ETHOS_OK;
}

/*
 * ram.c: a store in memory, and the reference for what the contract means.
 *
 * One list of nodes, ordered by scope and key; a node holds its names and its text in one block
 * and never changes, so replacing a text means linking a new node in place of the old. An update
 * makes all its new nodes first and links them afterwards, which cannot fail: all keys or none. A
 * second list of the same nodes remembers operations: the id as key, the record (operation_id.h)
 * as text. History and conflict copies are in ram_history.c.
 *
 * What it leaves out: survival, sharing between processes, tails (a reader always gets the whole),
 * forgetting (an operation id is remembered as long as the store is open).
 */
#include "store/ram.h"

#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "store/operation_id.h"
#include "store/store.h"
#include "store/update_steps.h"

static int ram_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                    struct ethos_error *error)
{
    const struct ethos_host *host = setup->host;
    struct ram *ram = host->resize(host->arg, NULL, sizeof *ram);
    if (!ram)
        return err_nomem(error);
    *ram = (struct ram){.store.ops = &store_ram,
                        .store.capabilities = ETHOS_STORE_ONCE | ETHOS_STORE_HISTORY,
                        .host = host};
    *out_store = &ram->store;
    return ETHOS_OK;
}

void ram_unlink_node(struct ram *ram, struct ram_node **link)
{
    struct ram_node *node = *link;
    *link = node->next;
    ram->host->resize(ram->host->arg, node, 0);
}

void ram_link_node(struct ram_node **link, struct ram_node *node)
{
    node->next = *link;
    *link = node;
}

static void ram_close(struct ethos_store *self)
{
    struct ram *ram = (struct ram *)self;
    if (!ram)
        return;
    while (ram->texts)
        ram_unlink_node(ram, &ram->texts);
    while (ram->operations)
        ram_unlink_node(ram, &ram->operations);
    while (ram->copies)
        ram_unlink_node(ram, &ram->copies);
    ram_free_changes(ram, &ram->changes);
    ram->host->resize(ram->host->arg, ram, 0);
}

/* The link to the first node of a list that does not come before scope and key. */
static struct ram_node **find_link(struct ram_node **list, const char *scope, const char *key)
{
    struct ram_node **link = list;
    for (; *link; link = &(*link)->next) {
        int order = strcmp((*link)->scope, scope);
        if (order > 0 || (order == 0 && strcmp((*link)->key, key) >= 0))
            break;
    }
    return link;
}

static bool is_node_of(const struct ram_node *node, const char *scope, const char *key)
{
    return node && strcmp(node->scope, scope) == 0 && strcmp(node->key, key) == 0;
}

const struct ram_node *ram_find_text(struct ram *ram, const char *scope, const char *key)
{
    const struct ram_node *node = *find_link(&ram->texts, scope, key);
    return is_node_of(node, scope, key) ? node : NULL;
}

static int ram_read(struct ethos_store *self, const char *scope, const char *key,
                    const struct ethos_read_how *how, struct ethos_text *out_text,
                    struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    const struct ram_node *node = ram_find_text(ram, scope, key);
    if (!node)
        return err_set(error, ETHOS_NOTFOUND, "%s: not found", key);
    int code = edit_fill_text(ram->host, view_of(node->text, node->size), node->revision,
                              node->mtime_ms, out_text, error);
    if (code == ETHOS_OK && !(how->flags & ETHOS_READ_REVISION))
        out_text->revision[0] = 0;
    return code;
}

struct ram_node *ram_make_node(struct ram *ram, const char *scope, const char *key,
                               struct ethos_view text)
{
    size_t scope_size = strlen(scope) + 1, key_size = strlen(key) + 1;
    struct ram_node *node = ram->host->resize(ram->host->arg, NULL,
                                              sizeof *node + scope_size + key_size + text.size + 1);
    if (!node)
        return NULL;
    char *at = node->bytes;
    node->next = NULL;
    node->scope = memcpy(at, scope, scope_size);
    node->key = memcpy(at += scope_size, key, key_size);
    node->text = at += key_size;
    if (text.size)
        memcpy(at, text.data, text.size);
    at[text.size] = 0;
    node->size = text.size;
    node->mtime_ms = ram->host->now_ms(ram->host->arg);
    hash_revision(text, node->revision);
    return node;
}

void ram_put_text(struct ram *ram, const char *scope, const char *key, struct ram_node *node)
{
    struct ram_node **link = find_link(&ram->texts, scope, key);
    if (is_node_of(*link, scope, key))
        ram_unlink_node(ram, link);
    if (node)
        ram_link_node(link, node);
}

/* Appends to *chain one node for each text that is to be put, in the order of the edits. */
static int make_text_nodes(struct ram *ram, const char *scope, const struct ethos_edit *edits,
                           size_t count, struct ram_node **chain, struct ethos_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (edits[i].verdict != ETHOS_EDIT_PUT || !edit_is_change(&edits[i]))
            continue;
        *chain = ram_make_node(ram, scope, edits[i].key, edits[i].text);
        if (!*chain)
            return err_nomem(error);
        chain = &(*chain)->next;
    }
    return ETHOS_OK;
}

static void link_text_nodes(struct ram *ram, const char *scope, const struct ethos_edit *edits,
                            size_t count, struct ram_node *chain)
{
    for (size_t i = 0; i < count; i++) {
        if (!edit_is_change(&edits[i]))
            continue;
        struct ram_node **link = find_link(&ram->texts, scope, edits[i].key);
        if (edits[i].old.data)
            ram_unlink_node(ram, link);
        if (edits[i].verdict == ETHOS_EDIT_PUT) {
            struct ram_node *node = chain;
            chain = node->next;
            ram_link_node(link, node);
        }
    }
}

static int read_old_texts(struct ram *ram, const char *scope, struct ethos_edit *edits,
                          size_t count, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    for (size_t i = 0; i < count; i++) {
        int code = ram_read(&ram->store, scope, edits[i].key, &whole, &edits[i].old, error);
        if (code == ETHOS_NOTFOUND)
            edit_free_text(ram->host, &edits[i].old);
        else if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

/* ETHOS_NOTFOUND when the operation is new, or may be done any number of times. */
static int find_repeated_operation(struct ram *ram, const char *scope, struct ethos_edit *edits,
                                   size_t count, const struct ethos_origin *origin,
                                   struct ethos_error *error)
{
    if (!opid_is_given(origin))
        return ETHOS_NOTFOUND;
    const struct ram_node *node = *find_link(&ram->operations, scope, origin->op_id);
    if (!is_node_of(node, scope, origin->op_id))
        return ETHOS_NOTFOUND;
    return opid_apply_record(view_of(node->text, node->size), origin, edits, count, error);
}

/* A node for the operation, unless there is nothing to remember. */
static int make_operation_node(struct ram *ram, const char *scope, const struct ethos_edit *edits,
                               size_t count, const struct ethos_origin *origin,
                               struct ram_node **out_node, struct ethos_error *error)
{
    struct str record;
    if (!opid_is_given(origin) || !edit_has_changes(edits, count))
        return ETHOS_OK;
    str_init(&record, ETHOS_MAX_STORE_BYTES);
    int code = opid_make_record(origin, ram->host->now_ms(ram->host->arg), edits, count, &record,
                                error);
    if (code == ETHOS_OK)
        *out_node = ram_make_node(ram, scope, origin->op_id, str_view(&record));
    str_release(&record);
    return code != ETHOS_OK || *out_node ? code : err_nomem(error);
}

static int ram_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                      size_t count, ethos_edit_fn *edit, void *arg,
                      const struct ethos_origin *origin, struct ethos_error *error)
{
    struct ram *ram = (struct ram *)self;
    struct ram_node *chain = NULL, *operation = NULL;
    struct ram_change *changes = NULL;
    TRY(edit_check_keys(edits, count, error));
    int code = find_repeated_operation(ram, scope, edits, count, origin, error);
    if (code != ETHOS_NOTFOUND)
        return code;
    code = read_old_texts(ram, scope, edits, count, error);
    if (code == ETHOS_OK)
        code = edit_run_callback(edits, count, edit, arg, error);
    if (code != ETHOS_OK)
        return code;
    edit_set_revisions(edits, count);
    code = make_text_nodes(ram, scope, edits, count, &chain, error);
    if (code == ETHOS_OK)
        code = ram_describe_edits(ram, scope, edits, count, origin, &changes, error);
    if (code == ETHOS_OK)
        code = make_operation_node(ram, scope, edits, count, origin, &operation, error);
    if (code != ETHOS_OK) {
        while (chain)
            ram_unlink_node(ram, &chain);
        ram_free_changes(ram, &changes);
        return code;
    }
    link_text_nodes(ram, scope, edits, count, chain);
    ram_record_changes(ram, changes);
    if (operation)
        ram_link_node(find_link(&ram->operations, scope, operation->key), operation);
    return ETHOS_OK;
}

/* Nothing is gained by doing several at once. */
static void ram_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ethos_edit_call *call = &calls[i];
        call->code = ram_update(self, scope, call->edits, call->count, call->edit, call->arg,
                                call->origin, call->error);
    }
}

static int ram_write(struct ethos_store *self, const char *scope, const char *key,
                     const char *expect, struct ethos_view text, const struct ethos_origin *origin,
                     char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error)
{
    return edit_compare_and_swap(((struct ram *)self)->host, ram_update, self, scope, key, expect,
                                 &text, origin, out_revision, error);
}

static int ram_remove(struct ethos_store *self, const char *scope, const char *key,
                      const char *expect, const struct ethos_origin *origin,
                      struct ethos_error *error)
{
    return edit_compare_and_swap(((struct ram *)self)->host, ram_update, self, scope, key, expect,
                                 NULL, origin, NULL, error);
}

static int ram_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                    struct ethos_error *error)
{
    (void)error;
    int code = ETHOS_OK;
    const struct ram_node *node = *find_link(&((struct ram *)self)->texts, scope, "");
    for (; code == ETHOS_OK && node && strcmp(node->scope, scope) == 0; node = node->next) {
        struct ethos_entry entry = {node->key, node->size, node->mtime_ms};
        code = each(arg, &entry);
    }
    return code;
}

static int ram_gather(struct ethos_store *self, const struct ethos_read_how *how,
                      struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    (void)error;
    for (size_t i = 0; i < count; i++) {
        struct ethos_section *section = &sections[i];
        section->code = ram_read(self, section->scope, section->key, how, &section->text,
                                 &section->error);
    }
    return ETHOS_OK;
}

const struct ethos_store_ops store_ram = {
    .abi = ETHOS_ABI,
    .name = "ram",
    .open = ram_open,
    .close = ram_close,
    .read = ram_read,
    .write = ram_write,
    .remove = ram_remove,
    .list = ram_list,
    .update = ram_update,
    .batch = ram_batch,
    .history = ram_history,
    .version = ram_version,
    .purge = ram_purge,
    .set_aside = ram_add_conflict_copy,
    .conflicts = ram_list_conflicts,
    .conflict_read = ram_conflict_read,
    .conflict_drop = ram_conflict_remove,
    .keep = ram_add_version,
    .gather = ram_gather,
    .scopes = ram_list_scopes,
    .graft = ram_import_commits,
};

/*
 * restore_archived.c: restores a block of memory-archive.md to its file.
 */
#include "memory/history/restore_archived.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/archive_blocks.h"
#include "core/memory/update.h"
#include "memory/handle_internal.h"

#define ARCHIVE "memory-archive.md"

struct restoring {
    const char *slug;
    struct str live, rest; /* the new texts */
};

static int fail_not_archived(const char *slug, struct ethos_error *error)
{
    return err_set(error, ETHOS_NOTFOUND, "the archive has nothing called %s", slug);
}

static struct ethos_view view_of_text(const struct ethos_text *text)
{
    return view_of(text->data, text->size);
}

/* The file that the newest block with this slug came from. */
static int find_origin(struct ethos_turn *turn, const char *scope, const char *slug,
                       char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, 0};
    struct ethos_provider *provider = turn->provider;
    const struct ethos_host *host = turn->ethos->host;
    struct ethos_text text = {0};
    struct archive_block block;
    int code = provider->ops->read(provider, scope, ARCHIVE, &whole, &text, error);
    struct ethos_view rest = view_of_text(&text);
    *out_key = 0;
    while (code == ETHOS_OK && archive_next(&rest, &block))
        if (!block.overflow && view_eq_str(block.slug, slug))
            snprintf(out_key, ETHOS_MAX_KEY + 1, "%.*s", VIEW_ARG(block.from));
    host->resize(host->arg, text.data, 0);
    if (code == ETHOS_NOTFOUND || (code == ETHOS_OK && !*out_key))
        return fail_not_archived(slug, error);
    return code == ETHOS_OK ? scope_key_writable(out_key, error) : code;
}

static int edit_restored_block(void *arg, struct ethos_edit *edits, size_t count,
                               struct ethos_error *error)
{
    struct restoring *self = arg;
    struct str body;
    struct update_effect effect;
    (void)count;
    str_init(&body, ETHOS_MAX_STORE_BYTES);
    int code = archive_restore(view_of_text(&edits[1].old), self->slug, &self->rest, &body);
    if (code == ETHOS_OK) {
        struct str section;
        str_init(&section, ETHOS_MAX_STORE_BYTES);
        str_printf(&section, "### %s\n%.*s", self->slug, VIEW_ARG(str_view(&body)));
        const struct ethos_update add = {.action = ETHOS_ACTION_ADD, .text = str_view(&section)};
        code = str_code(&section) == ETHOS_OK
                   ? update_apply(&add, 1, view_of_text(&edits[0].old), &self->live, &effect)
                   : ETHOS_NOMEM;
        str_release(&section);
    }
    str_release(&body);
    if (code == ETHOS_NOTFOUND)
        return fail_not_archived(self->slug, error);
    if (code != ETHOS_OK)
        return err_nomem(error);
    edits[0].verdict = edits[1].verdict = ETHOS_EDIT_PUT;
    edits[0].text = str_view(&self->live);
    edits[1].text = str_view(&self->rest);
    edits[0].actions = edits[1].actions = "restore";
    return ETHOS_OK;
}

int archived_restore(struct ethos_turn *turn, const char *scope, const char *slug,
                     const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct scope_target aimed;
    char key[ETHOS_MAX_KEY + 1];
    struct restoring self = {.slug = slug};
    struct ethos_sync_how own = *how;
    struct ethos_origin origin = own.origin ? *own.origin : (struct ethos_origin){0};
    origin.source = origin.via = "restore";
    own.origin = &origin;
    TRY(scope_target(&turn->context, NULL, scope, scope ? "MEMORY.md" : NULL, true, &aimed, error));
    TRY(find_origin(turn, aimed.scope, slug, key, error));
    struct ethos_edit edits[] = {{.key = key}, {.key = ARCHIVE}};
    str_init(&self.live, ETHOS_MAX_STORE_BYTES);
    str_init(&self.rest, ETHOS_MAX_STORE_BYTES);
    int code = handle_update(turn, aimed.scope, edits, 2, edit_restored_block, &self, &own, error);
    str_release(&self.live);
    str_release(&self.rest);
    return code;
}

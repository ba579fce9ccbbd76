/*
 * cleanse.c: what purging means for one text.
 */
#include "store/cleanse.h"

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/update.h"

int cleanse_check(struct ethos_view needle, struct ethos_error *error)
{
    if (view_blank(needle))
        return err_set(error, ETHOS_INVALID, "nothing to purge: the text is empty");
    if (view_contains(needle, VIEW("\n")))
        return err_set(error, ETHOS_INVALID, "what is purged is part of one line");
    return ETHOS_OK;
}

int cleanse_text(struct ethos_view needle, struct ethos_view text, struct str *out,
                 struct ethos_view *out_text, uint64_t *lines)
{
    const struct ethos_update update = {.action = ETHOS_ACTION_REMOVE, .text = needle};
    struct update_effect effect = {0};
    *out_text = text;
    if (!view_contains(text, needle))
        return ETHOS_OK;
    int code = update_apply(&update, 1, text, out, &effect);
    *out_text = str_view(out);
    if (lines)
        *lines += effect.matched;
    return code == ETHOS_OK ? ETHOS_OK : ETHOS_NOMEM;
}

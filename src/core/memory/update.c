/*
 * update.c: what the four actions do to a text, and the ceiling of one key.
 *
 * The old text is copied once, into a buffer with room for everything the updates add; from then on
 * every action edits that buffer in place.
 */
#include "core/memory/update.h"

#include <string.h>

#include <ethos/limits.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

static const char blank_add[] = "nothing to add: the content is blank";
static const char empty_match[] = "nothing to remove: the match is empty";

/* The text between two updates; it is empty while absent. */
struct update_draft {
    struct str *text;
    struct update_effect effect;
};

static void add_warning(struct update_draft *draft, const char *warning)
{
    if (!draft->effect.warning)
        draft->effect.warning = warning;
}

static void trim_end(struct str *text)
{
    str_truncate(text, view_trim_end(str_view(text)).size);
}

/* ---- actions: each says whether it changed something --------------------------------------- */

static bool apply_add(struct update_draft *draft, struct ethos_view content)
{
    struct ethos_view added = view_trim(content);

    if (added.size == 0) {
        add_warning(draft, blank_add);
        return false;
    }
    if (draft->text->size > 0) {
        trim_end(draft->text);
        str_adds(draft->text, "\n\n");
    }
    str_add(draft->text, added);
    str_addc(draft->text, '\n');
    draft->effect.present = true;
    return true;
}

static bool apply_replace(struct update_draft *draft, struct ethos_view content)
{
    struct ethos_view text = view_trim(content);
    struct ethos_view now = str_view(draft->text);

    if (now.size == text.size + 1 && view_starts(now, text) && now.data[text.size] == '\n')
        return false;
    str_truncate(draft->text, 0);
    str_add(draft->text, text);
    str_addc(draft->text, '\n');
    draft->effect.present = true;
    return true;
}

/* Takes every line that contains match out of data and says how many; *size is what is left. */
static uint64_t drop_lines(char *data, size_t *size, struct ethos_view match)
{
    const char *end = data + *size;
    const char *rest = data; /* not looked at yet, always a line start */
    const char *hit;
    char *kept = data;
    uint64_t dropped = 0;

    if (memchr(match.data, '\n', match.size))
        return 0;
    while ((hit = memmem(rest, (size_t)(end - rest), match.data, match.size))) {
        const char *before = memrchr(rest, '\n', (size_t)(hit - rest));
        const char *after = memchr(hit, '\n', (size_t)(end - hit));
        size_t keep = before ? (size_t)(before + 1 - rest) : 0;
        memmove(kept, rest, keep);
        kept += keep;
        rest = after ? after + 1 : end;
        dropped++;
    }
    memmove(kept, rest, (size_t)(end - rest));
    *size = (size_t)(kept - data) + (size_t)(end - rest);
    return dropped;
}

static bool apply_remove(struct update_draft *draft, struct ethos_view match)
{
    struct str *text = draft->text;
    size_t before = text->size;
    size_t left = text->size;
    bool ended;

    draft->effect.removals++;
    if (match.size == 0)
        add_warning(draft, empty_match);
    if (match.size == 0 || !draft->effect.present)
        return false;
    draft->effect.matched += drop_lines(text->data, &left, match);
    str_truncate(text, left);
    ended = text->size > 0 && text->data[text->size - 1] == '\n';
    trim_end(text);
    str_addc(text, '\n');
    return !ended || text->size != before;
}

static bool apply_delete(struct update_draft *draft)
{
    bool present = draft->effect.present;

    str_truncate(draft->text, 0);
    draft->effect.present = false;
    return present;
}

static bool apply_one(struct update_draft *draft, const struct ethos_update *update)
{
    switch (update->action) {
    case ETHOS_ACTION_ADD:
        return apply_add(draft, update->text);
    case ETHOS_ACTION_REPLACE:
        return apply_replace(draft, update->text);
    case ETHOS_ACTION_REMOVE:
        return apply_remove(draft, update->text);
    case ETHOS_ACTION_DELETE:
        return apply_delete(draft);
    }
    return false;
}

/* Room for the old text and all that can follow, at once; a limit is only reached by real text. */
static void reserve_room(const struct ethos_update *updates, size_t count, struct ethos_view old,
                         struct str *out)
{
    size_t room = old.size;

    for (size_t i = 0; i < count; i++)
        room += updates[i].text.size + sizeof("\n\n\n") - 1;
    str_reserve(out, room < out->ceiling ? room : out->ceiling);
}

int update_apply(const struct ethos_update *updates, size_t count, struct ethos_view old,
                 struct str *out, struct update_effect *out_effect)
{
    struct update_draft draft = {.text = out, .effect = {.present = old.data != NULL}};

    str_clear(out);
    reserve_room(updates, count, old, out);
    str_add(out, old);
    for (size_t i = 0; i < count && !str_code(out); i++)
        draft.effect.applied += apply_one(&draft, &updates[i]);
    if (str_code(out))
        return str_code(out);
    draft.effect.changed = draft.effect.present != (old.data != NULL) ||
                           !view_eq(str_view(out), old);
    *out_effect = draft.effect;
    return ETHOS_OK;
}

/* ---- ceiling ------------------------------------------------------------------------------- */

static bool is_blank_from(struct ethos_view text, size_t offset)
{
    return view_blank(view_from(text, offset));
}

size_t update_ceiling(struct ethos_view text)
{
    size_t start;
    size_t cut;
    const char *lf;

    if (text.size <= ETHOS_MAX_FILE_CH) /* a byte is at most one CH */
        return 0;
    start = utf8_tail(text, ETHOS_MAX_FILE_CH);
    if (start == 0)
        return 0;
    lf = memchr(text.data + start, '\n', text.size - start);
    cut = lf ? (size_t)(lf - text.data) + 1 : start;
    if (cut > start + 1 && !is_blank_from(text, cut))
        return cut;
    /* One endless line, and perhaps one endless character: then any tail is better than none. */
    cut = unicode_boundary(text, start);
    return is_blank_from(text, cut) ? start : cut;
}

int update_archive(struct ethos_view dropped, const char *key, const char *iso, struct str *archive)
{
    str_printf(archive, "\n<!-- overflow-archived %s from %s -->\n", iso, key);
    str_add(archive, view_trim_end(dropped));
    return str_addc(archive, '\n');
}

int update_moved(const char *key, const char *revision, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_CONFLICT, "%s: changed meanwhile, its revision is %s", key,
                       revision);

    return err_hint(error, code, "read it again and repeat the change");
}

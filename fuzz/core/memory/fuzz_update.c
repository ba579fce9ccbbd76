/*
 * fuzz_update.c: update_apply against its promises and against the same rules written plainly.
 *
 * Input: records separated by byte 0x1e. The first is the old text behind one letter, '-' when it
 * is absent. Every other record is an update: a r m d for add, replace, remove and delete, then its
 * text.
 */
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <ethos/limits.h>

#include "base/str.h"
#include "base/view.h"
#include "core/memory/update.h"

#define MAX_UPDATES 16
#define SEPARATOR 0x1e

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    struct str old;
    bool present;
    struct ethos_update updates[MAX_UPDATES];
    size_t count;
};

/* ---- input --------------------------------------------------------------------------------- */

static bool next_record(struct ethos_view *rest, struct ethos_view *out)
{
    if (!rest->data)
        return false;
    const char *end = memchr(rest->data, SEPARATOR, rest->size);
    *out = view_of(rest->data, end ? (size_t)(end - rest->data) : rest->size);
    *rest = end ? view_from(*rest, out->size + 1) : view_str(NULL);
    return true;
}

static void read_old(struct input *input, struct ethos_view record)
{
    str_init(&input->old, ETHOS_MAX_STORE_BYTES);
    input->present = record.size > 0 && record.data[0] != '-';
    if (input->present)
        str_add(&input->old, view_from(record, 1));
}

static void read_update(struct input *input, struct ethos_view record)
{
    static const char letters[] = "armd";
    const char *found = record.size > 0 ? strchr(letters, record.data[0]) : NULL;

    if (!found || !*found || input->count == MAX_UPDATES)
        return;
    input->updates[input->count++] = (struct ethos_update){
        .action = (enum ethos_action)(ETHOS_ACTION_ADD + (found - letters)),
        .text = view_from(record, 1)};
}

static struct ethos_view old_view(const struct input *input)
{
    return input->present ? str_view(&input->old) : view_str(NULL);
}

/* ---- the rules, once more, the plain way --------------------------------------------------- */

static void model_add(struct ethos_view old, struct ethos_view text, struct str *out)
{
    if (old.size > 0) {
        str_add(out, view_trim_end(old));
        str_adds(out, "\n\n");
    }
    str_add(out, view_trim(text));
    str_adds(out, "\n");
}

static uint64_t model_remove(struct ethos_view old, struct ethos_view match, struct str *out)
{
    struct ethos_view line;
    uint64_t matched = 0;

    while (view_line(&old, &line)) {
        if (view_contains(line, match)) {
            matched++;
            continue;
        }
        str_add(out, line);
        str_adds(out, "\n");
    }
    str_truncate(out, view_trim_end(str_view(out)).size);
    str_adds(out, "\n");
    return matched;
}

/* What one update makes of old, as an effect and a text. */
static struct update_effect model(const struct ethos_update *update, struct ethos_view old,
                                  struct str *out)
{
    struct update_effect effect = {.present = true,
                                   .removals = update->action == ETHOS_ACTION_REMOVE};

    if (update->action == ETHOS_ACTION_ADD && !view_blank(update->text))
        model_add(old, update->text, out);
    else if (update->action == ETHOS_ACTION_REPLACE)
        model_add(view_str(NULL), update->text, out);
    else if (update->action == ETHOS_ACTION_REMOVE && old.data && update->text.size > 0)
        effect.matched = model_remove(old, update->text, out);
    else {
        effect.present = old.data && update->action != ETHOS_ACTION_DELETE;
        if (effect.present)
            str_add(out, old);
    }
    effect.changed = effect.present != (old.data != NULL) || !view_eq(str_view(out), old);
    effect.applied = effect.changed;
    return effect;
}

/* ---- promises ------------------------------------------------------------------------------ */

static void check_one(const struct ethos_update *update, struct ethos_view old,
                      struct ethos_view now)
{
    if (update->action == ETHOS_ACTION_ADD)
        assert(view_starts(now, view_trim_end(old)) && view_contains(now, view_trim(update->text)));
    if (update->action == ETHOS_ACTION_REMOVE && old.data && update->text.size > 0)
        assert(memchr(update->text.data, '\n', update->text.size) ||
               !view_contains(now, update->text));
    if (update->action == ETHOS_ACTION_DELETE)
        assert(!now.data);
}

/* Everything but add does nothing the second time. */
static void check_repeat(const struct ethos_update *update, struct ethos_view now)
{
    struct update_effect effect;
    struct str again;

    if (update->action == ETHOS_ACTION_ADD)
        return;
    str_init(&again, ETHOS_MAX_STORE_BYTES);
    assert(update_apply(update, 1, now, &again, &effect) == ETHOS_OK);
    assert(!effect.changed && effect.applied == 0 && effect.matched == 0);
    assert(view_eq(str_view(&again), now));
    str_release(&again);
}

static void check_same(const struct update_effect *a, const struct update_effect *b)
{
    assert(a->present == b->present && a->applied == b->applied);
    assert(a->removals == b->removals && a->matched == b->matched);
}

static void add_effect(struct update_effect *sum, const struct update_effect *one)
{
    sum->present = one->present;
    sum->applied += one->applied;
    sum->removals += one->removals;
    sum->matched += one->matched;
}

/* Runs the model update by update; *now ends as the text the whole batch must give. */
static struct update_effect run_model(const struct input *input, struct str *now)
{
    struct update_effect total = {.present = input->present};

    str_init(now, ETHOS_MAX_STORE_BYTES);
    str_add(now, old_view(input));
    for (size_t i = 0; i < input->count; i++) {
        struct str next;
        struct ethos_view old = total.present ? str_view(now) : view_str(NULL);
        str_init(&next, ETHOS_MAX_STORE_BYTES);
        struct update_effect effect = model(&input->updates[i], old, &next);
        struct ethos_view text = effect.present ? str_view(&next) : view_str(NULL);
        check_one(&input->updates[i], old, text);
        check_repeat(&input->updates[i], text);
        add_effect(&total, &effect);
        str_release(now);
        *now = next;
    }
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view rest = view_of((const char *)data, size);
    struct ethos_view record;
    struct input input = {.count = 0};
    struct update_effect effect;
    struct str out, expected;

    read_old(&input, next_record(&rest, &record) ? record : VIEW(""));
    while (next_record(&rest, &record))
        read_update(&input, record);

    str_init(&out, ETHOS_MAX_STORE_BYTES);
    assert(update_apply(input.updates, input.count, old_view(&input), &out, &effect) == ETHOS_OK);
    struct update_effect total = run_model(&input, &expected);
    check_same(&effect, &total);
    assert(view_eq(str_view(&out), str_view(&expected)));
    assert(effect.changed ==
           (effect.present != input.present || !view_eq(str_view(&out), str_view(&input.old))));
    assert(effect.present || out.size == 0);

    str_release(&expected);
    str_release(&out);
    str_release(&input.old);
    return 0;
}

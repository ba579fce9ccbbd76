/*
 * gate.c: one computation of core, once, for callgrind to count its instructions.
 *
 *     gate          lists the cases
 *     gate CASE     runs gate_measured() for that case
 *
 * What is counted is inside gate_measured and nothing else (--toggle-collect); no file is read and
 * no clock asked, so the same build gives the same count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/render.h"
#include "core/memory/sanitize.h"
#include "core/memory/update.h"
#include "text.h"

#define BYTES 20480
#define CAP 20000 /* CH */

/* What the cases work on, made before anything is counted. */
struct work {
    struct ethos_view text;
    struct ethos_view json;
    struct str out;
    struct arena arena;
};

static int render(struct work *work, bool guard)
{
    const struct render_options options = {.cap = CAP, .guard = guard};
    const struct render_input input = {work->text, 0, "MEMORY.md"};
    const struct render_input inputs[ETHOS_SECTIONS] = {
        [ETHOS_SECTION_USER] = input, [ETHOS_SECTION_MEMORY] = input};
    struct render_result result;
    return render_block(inputs, &options, &work->out, &result);
}

static int render_plain(struct work *work)
{
    return render(work, false);
}

static int render_guarded(struct work *work)
{
    return render(work, true);
}

static int scan(struct work *work)
{
    scan_text(work->text, SCAN_GUARD | SCAN_REDACT, &work->out, NULL);
    return str_code(&work->out);
}

static int add(struct work *work)
{
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD,
                                        .text = VIEW("The queue moved again.")};
    struct update_effect effect;
    return update_apply(&update, 1, work->text, &work->out, &effect);
}

static int parse(struct work *work)
{
    struct update_batch batch;
    return update_parse(work->json, &work->arena, &batch, NULL);
}

static const struct {
    const char *name;
    int (*run)(struct work *work);
} cases[] = {
    {"render-2x20KB", render_plain},
    {"render-2x20KB-guarded", render_guarded},
    {"scan-20KB", scan},
    {"add-to-20KB", add},
    {"parse-64-updates", parse},
};
#define CASES (sizeof cases / sizeof *cases)

__attribute__((noinline)) int gate_measured(int (*run)(struct work *), struct work *work);

int gate_measured(int (*run)(struct work *), struct work *work)
{
    return run(work);
}

static struct ethos_view make_json(void)
{
    struct str json;
    str_init(&json, SIZE_MAX);
    str_adds(&json, "{\"updates\": [");
    for (int i = 0; i < 64; i++)
        str_printf(&json,
                   "%s{\"action\": \"add\", \"store\": \"memory\", "
                   "\"content\": \"Line %d: caf\\u00e9, \\\"quoted\\\", and the rest.\\n\"}",
                   i ? ", " : "", i);
    str_adds(&json, "]}");
    size_t size = json.size;
    return view_of(str_steal(&json, NULL), size);
}

static int run_case(size_t which)
{
    struct work work = {.text = text_make(BYTES), .json = make_json()};
    str_init(&work.out, SIZE_MAX);
    arena_init(&work.arena);
    if (!work.text.data || !work.json.data)
        return 1;
    int code = gate_measured(cases[which].run, &work);
    str_release(&work.out);
    arena_release(&work.arena);
    free((char *)work.text.data);
    free((char *)work.json.data);
    return code == ETHOS_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    json_object_seed(1); // hash tables laid out the same way every time
    for (size_t i = 0; i < CASES; i++) {
        if (argc == 1)
            puts(cases[i].name);
        else if (strcmp(argv[1], cases[i].name) == 0)
            return run_case(i);
    }
    return argc == 1 ? 0 : 2;
}

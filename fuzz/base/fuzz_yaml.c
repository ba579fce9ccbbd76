/*
 * fuzz_yaml.c: the YAML subset.
 *
 * Places lie within the text; and any plain value can be written again where it stands, quoted as
 * yaml_quote sees fit, without changing what the file says.
 */
#include <ethos/limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REWRITTEN 8 /* pairs tried per input: each costs a parse */

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void require_same(const struct yaml_table *a, const struct yaml_table *b)
{
    require(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        require(strcmp(a->pairs[i].key, b->pairs[i].key) == 0);
        require(strcmp(a->pairs[i].value, b->pairs[i].value) == 0);
        require(a->pairs[i].line == b->pairs[i].line);
    }
}

static void rewrite(struct ethos_view text, const struct yaml_table *table,
                    const struct yaml_pair *pair)
{
    struct str out;
    struct arena arena;
    struct yaml_table again;

    str_init(&out, SIZE_MAX);
    str_add(&out, view_of(text.data, pair->start));
    if (pair->start == pair->end)
        str_addc(&out, ' ');
    yaml_quote(pair->value, &out);
    str_add(&out, view_from(text, pair->end));
    require(str_code(&out) == ETHOS_OK);
    arena_init(&arena);
    int code = yaml_parse(str_view(&out), "rewritten", &arena, &again, NULL);
    require(code == ETHOS_OK || out.size > ETHOS_MAX_YAML_BYTES);
    if (code == ETHOS_OK)
        require_same(table, &again);
    arena_release(&arena);
    str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size);
    struct ethos_error error = {0};
    struct arena arena;
    struct yaml_table table = {0};
    unsigned rewritten = 0;

    arena_init(&arena);
    int code = yaml_parse(text, "input", &arena, &table, &error);
    require(code == ETHOS_OK || (error.code == (enum ethos_code)code && error.text[0]));
    for (size_t i = 0; i < table.count; i++) {
        const struct yaml_pair *pair = &table.pairs[i];

        require(pair->start <= pair->end && pair->end <= size && pair->line > 0 && pair->key[0]);
        require(yaml_find(&table, pair->key) == pair);
        if (pair->plain && rewritten++ < REWRITTEN)
            rewrite(text, &table, pair);
    }
    arena_release(&arena);
    return 0;
}

/*
 * fuzz_config.c: changing one setting in any config.yaml.
 *
 * Input: one byte that chooses the key, the new value up to a line end, then the file. What
 * config_edit accepts has the new value, every other pair as before, and differs from the old text
 * in one place only; setting the same again changes nothing, and taking it out leaves every other pair.
 */
#undef NDEBUG
#include <assert.h>
#include <ethos/limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "base/yaml.h"
#include "memory/home/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const keys[] = {
    "personality", "prefetch.maxChars", "memory.provider", "memory.options.a", "a", "a.b"};

static void check_pairs(struct ethos_view old_text, struct ethos_view new_text, const char *key,
                        const char *value)
{
    struct arena arena;
    struct yaml_table before, after;

    arena_init(&arena);
    assert(yaml_parse(old_text, "old", &arena, &before, NULL) == ETHOS_OK);
    assert(yaml_parse(new_text, "new", &arena, &after, NULL) == ETHOS_OK);
    assert(strcmp(yaml_get(&after, key), value) == 0);
    assert(after.count == before.count + (yaml_get(&before, key) ? 0 : 1));
    for (size_t i = 0; i < before.count; i++) {
        const struct yaml_pair *pair = &before.pairs[i];
        const char *now = yaml_get(&after, pair->key);
        assert(now);
        assert(strcmp(pair->key, key) == 0 || strcmp(now, pair->value) == 0);
    }
    arena_release(&arena);
}

/* All that stands outside the place of the value is there, byte for byte. */
static void check_bytes(struct ethos_view old_text, struct ethos_view new_text, const char *key)
{
    struct arena arena;
    struct yaml_table table;

    arena_init(&arena);
    assert(yaml_parse(old_text, "old", &arena, &table, NULL) == ETHOS_OK);
    const struct yaml_pair *pair = yaml_find(&table, key);
    size_t start = pair ? pair->start : old_text.size, end = pair ? pair->end : old_text.size;
    assert(view_starts(new_text, view_of(old_text.data, start)));
    assert(view_ends(new_text, view_from(old_text, end)));
    arena_release(&arena);
}

static void check_again(struct ethos_view text, const char *key, const char *value)
{
    struct str again;

    str_init(&again, ETHOS_MAX_YAML_BYTES);
    assert(config_edit(text, "again", key, value, &again, NULL) == ETHOS_OK);
    assert(view_eq(str_view(&again), text));
    str_release(&again);
}

static void check(struct ethos_view text, const char *key, const char *value)
{
    struct ethos_error error = {0};
    struct str out;

    str_init(&out, ETHOS_MAX_YAML_BYTES);
    int code = config_edit(text, "config.yaml", key, value, &out, &error);
    if (code == ETHOS_OK) {
        check_pairs(text, str_view(&out), key, value);
        check_bytes(text, str_view(&out), key);
        check_again(str_view(&out), key, value);
    } else {
        assert(code == ETHOS_INVALID || code == ETHOS_LIMIT || code == ETHOS_UNSUPPORTED);
        assert(error.code == code && error.text[0]);
    }
    str_release(&out);
}

/* Taking a setting out: every other pair says what it said, and what stands before its line stays. */
static void check_unset(struct ethos_view text, const char *key)
{
    struct arena arena;
    struct yaml_table before, after;
    struct str out;

    arena_init(&arena);
    str_init(&out, ETHOS_MAX_YAML_BYTES);
    if (config_edit(text, "config.yaml", key, NULL, &out, NULL) == ETHOS_OK) {
        assert(yaml_parse(text, "old", &arena, &before, NULL) == ETHOS_OK);
        assert(yaml_parse(str_view(&out), "new", &arena, &after, NULL) == ETHOS_OK);
        const struct yaml_pair *pair = yaml_find(&before, key);
        assert(!yaml_get(&after, key));
        assert(pair || view_eq(str_view(&out), text));
        assert(out.size <= text.size);
        size_t emptied = 0; // blocks that held nothing else
        for (size_t i = 0; i < after.count; i++) {
            const char *was = yaml_get(&before, after.pairs[i].key);
            size_t name = strlen(after.pairs[i].key);
            assert(was ? strcmp(was, after.pairs[i].value) == 0 : !*after.pairs[i].value);
            assert(was || (strncmp(key, after.pairs[i].key, name) == 0 && key[name] == '.'));
            emptied += !was;
        }
        assert(after.count == before.count - (pair ? 1 : 0) + emptied);
    }
    arena_release(&arena);
    str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view rest, line;
    char *value;

    if (size == 0)
        return 0;
    rest = view_of((const char *)data + 1, size - 1);
    if (!view_line(&rest, &line))
        line = view_of("", 0);
    value = strndup(line.data, line.size);
    if (value && utf8_valid(view_str(value)))
        check(rest, keys[data[0] % (sizeof keys / sizeof *keys)], value);
    check_unset(rest, keys[data[0] % (sizeof keys / sizeof *keys)]);
    free(value);
    return 0;
}

/*
 * fuzz_render.c: the cap holds, the text is valid UTF-8, and tails give what the whole gives.
 *
 * Input: a letter whose lowest bits choose bytes, tail and guard (@ A B C D E F G), the cap and the
 * first tail as two bytes each, little end first; then up to three texts separated by byte 0x1e,
 * the user's, the memory's and the workspace's. An empty text is absent.
 */
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/render.h"

#define CEILING ((size_t)1 << 24)
#define HEADER 5
#define SEPARATOR 0x1e

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_texts(struct ethos_view rest, struct render_input inputs[ETHOS_SECTIONS])
{
    static const char *const keys[ETHOS_SECTIONS] = {"USER.md", "MEMORY.md", "MEMORY.md",
                                                     "MEMORY.md"};

    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        const char *end = rest.size > 0 ? memchr(rest.data, SEPARATOR, rest.size) : NULL;
        size_t size = end ? (size_t)(end - rest.data) : rest.size;

        inputs[i] = (struct render_input){.key = keys[i]};
        if (size > 0)
            inputs[i].text = view_of(rest.data, size);
        rest = view_from(rest, end ? size + 1 : size);
    }
}

static void check_parts(const struct str *out, const struct render_result *result)
{
    size_t at = 0;
    uint64_t chars = 0;

    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        const struct render_part *part = &result->parts[i];

        chars += part->chars;
        if (!part->shown)
            continue;
        assert(part->start >= at && part->size > 0 && part->start + part->size <= out->size);
        at = part->start + part->size;
    }
    assert(at == out->size && chars == utf8_units(str_view(out)));
}

/* Renders from ever longer tails until none is too short. */
static void render_tails(const struct render_input whole[ETHOS_SECTIONS], size_t size,
                         const struct render_options *options, struct str *out,
                         struct render_result *result)
{
    struct render_input tails[ETHOS_SECTIONS];

    for (;; size *= 2) {
        bool all = true;

        for (int i = 0; i < ETHOS_SECTIONS; i++) {
            size_t cut = whole[i].text.size > size ? whole[i].text.size - size : 0;

            tails[i] = whole[i];
            tails[i].offset = cut;
            if (cut > 0)
                tails[i].text = view_from(whole[i].text, cut);
            all &= cut == 0;
        }
        assert(render_block(tails, options, out, result) == ETHOS_OK);
        if (!result->more)
            return;
        assert(!all && out->size == 0);
    }
}

/* Counting what was left out changes nothing else. */
static void check_tally(const struct render_input inputs[ETHOS_SECTIONS],
                        struct render_options options, struct ethos_view expected)
{
    struct render_result result;
    struct str out;

    str_init(&out, CEILING);
    options.tally = true;
    assert(render_block(inputs, &options, &out, &result) == ETHOS_OK);
    assert(view_eq(str_view(&out), expected));
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        const struct render_part *part = &result.parts[i];

        assert(part->cut_chars <= part->cut_bytes && part->guard_chars <= part->guard_bytes);
        assert(part->guard_bytes + part->secret_bytes <= inputs[i].text.size);
    }
    str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct render_input inputs[ETHOS_SECTIONS];
    struct render_result result, from_tails;
    struct str out, again;

    if (size < HEADER)
        return 0;
    struct render_options options = {.cap = data[1] + 256u * data[2],
                                     .unit = data[0] & 1 ? RENDER_BYTES : RENDER_CH,
                                     .tail = data[0] & 2,
                                     .guard = data[0] & 4};
    read_texts(view_of((const char *)data + HEADER, size - HEADER), inputs);
    str_init(&out, CEILING);
    str_init(&again, CEILING);
    assert(render_block(inputs, &options, &out, &result) == ETHOS_OK);
    assert(!result.more && utf8_valid(str_view(&out)));
    assert((options.unit == RENDER_BYTES ? out.size : utf8_units(str_view(&out))) <= options.cap);
    check_parts(&out, &result);
    check_tally(inputs, options, str_view(&out));

    render_tails(inputs, 1 + data[3] + 256u * data[4], &options, &again, &from_tails);
    assert(view_eq(str_view(&out), str_view(&again)));
    assert(memcmp(&result, &from_tails, sizeof(result)) == 0);
    str_release(&out);
    str_release(&again);
    return 0;
}

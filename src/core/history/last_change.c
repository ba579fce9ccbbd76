/*
 * last_change.c: what the end of a journal says about a key.
 *
 * Every write asks, so lines are picked by their bytes, newest first, and only the key's last one is
 * parsed.
 */
#include "core/history/history.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/view.h"

#define HEX_DIGITS (HASH_HEX_SIZE - 1)

/* Whether a line keeps the text after it whole: that blob is the last member before the crc. */
static bool keeps_text(struct ethos_view line)
{
    struct ethos_view name = VIEW(",\"afterBlob\":\""), hash = VIEW("\"afterHash\":\"sha256:");
    size_t size = name.size + HEX_DIGITS + 1 + HISTORY_CRC_BYTES;

    if (line.size < size || !view_starts(view_from(line, line.size - size), name))
        return false;
    const char *blob = line.data + line.size - size + name.size;
    const char *after = memmem(line.data, line.size, hash.data, hash.size);
    // A line may also keep a text that was met and did not become the new one.
    return after && after + hash.size <= blob && memcmp(after + hash.size, blob, HEX_DIGITS) == 0 &&
           history_crc_fits(line);
}

/* What is being looked for while the lines go by, newest first. */
struct change_search {
    const char *key;
    struct arena arena;
    struct history_last found;
    char txn[256];      /* what its other lines contain; "" when it has but one */
    bool open;          /* lines of the append may follow */
    unsigned lines, of; /* of the append: those of the key, and all there are */
    bool whole;         /* a line that keeps its text was seen */
};

static void copy_hash(char out[72], struct ethos_view hash)
{
    size_t size = hash.size < 71 ? hash.size : 71;

    memset(out, 0, 72);
    if (size > 0)
        memcpy(out, hash.data, size);
}

/* The newest line of the key. */
static void set_last(struct change_search *s, const struct history_record *r)
{
    struct history_last *found = &s->found;

    *found = (struct history_last){.any = true,
                                   .absent = r->absent_after,
                                   .size = r->size_after,
                                   .ts_ms = r->ts_ms,
                                   .ours = r->seq > 0};
    copy_hash(found->hash, r->after_hash);
    s->of = r->txn_id.data ? r->txn_count : 1;
    if (r->txn_id.data && r->txn_id.size < sizeof(s->txn) - 16)
        snprintf(s->txn, sizeof(s->txn), "\"txn\":\"%.*s/", VIEW_ARG(r->txn_id));
}

static bool in_append(const struct change_search *s, struct ethos_view line)
{
    return s->txn[0] && view_contains(line, view_str(s->txn));
}

/* Looks at the newest line about the key. */
static int read_newest_line(struct change_search *s, struct ethos_view line)
{
    struct history_record r;
    int code = history_parse(line, &s->arena, &r);

    if (code || !view_eq_str(r.key, s->key))
        return code == ETHOS_NOMEM ? code : ETHOS_OK;
    set_last(s, &r);
    s->open = true;
    return ETHOS_OK;
}

/* Counts a line of the key, until one keeps its text whole. */
static void count_key_line(struct change_search *s, struct ethos_view line)
{
    if (s->whole)
        return;
    s->whole = keeps_text(line);
    s->found.since_blob += !s->whole;
}

static int search_lines(struct change_search *s, struct ethos_view lines)
{
    struct ethos_view line;

    while ((s->open || !s->whole) && view_last_line(&lines, &line)) {
        bool mine = history_line_is(line, s->key);
        int code = mine && !s->found.any ? read_newest_line(s, line) : ETHOS_OK;

        if (code)
            return code;
        s->open = s->open && in_append(s, line);
        s->lines += s->open && mine;
        if (mine && s->found.any)
            count_key_line(s, line);
    }
    s->found.alone = s->lines >= s->of || s->of == 1;
    return ETHOS_OK;
}

int history_last(struct ethos_view lines, const char *key, struct history_last *out)
{
    struct change_search s = {.key = key};

    arena_init(&s.arena);
    int code = search_lines(&s, lines);
    arena_release(&s.arena);
    if (code || !s.found.any)
        return code;
    if (!s.whole)
        s.found.since_blob += out->since_blob;
    *out = s.found;
    return ETHOS_OK;
}

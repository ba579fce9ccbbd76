/*
 * history.c: the lines of memory-history.jsonl, and what the changes of one key tell.
 *
 * A quote inside a JSON string always follows a backslash. So `"key":"` with bare quotes is a member
 * and never text, which is why lines may be picked by their bytes before any is parsed.
 */
#include "core/history/history.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/history/patch.h"

#define HASH_PREFIX VIEW("sha256:")

#define CRC_START VIEW(",\"crc\":\"")

bool history_knows_source(const char *source)
{
    static const char *const sources[] = {"tool",       "consolidation", "dream",  "capture",
                                          "web-editor", "global-entry",  "restore"};

    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        if (strcmp(source, sources[i]) == 0)
            return true;
    }
    return false;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* A member that is always there; an absent view shows as "". */
static int print_text_member(struct str *out, const char *name, struct ethos_view text)
{
    str_printf(out, ",\"%s\":", name);
    return json_quote(text, out);
}

static void print_if(struct str *out, const char *name, struct ethos_view text)
{
    if (text.data)
        print_text_member(out, name, text);
}

/* A member that is JSON as it stands. */
static void print_raw(struct str *out, const char *name, struct ethos_view json)
{
    str_printf(out, ",\"%s\":", name);
    str_add(out, json);
}

/* Takes the part before the next comma off. */
static bool take_name(struct ethos_view *rest, struct ethos_view *out)
{
    const char *comma = rest->size ? memchr(rest->data, ',', rest->size) : NULL;

    if (rest->size == 0)
        return false;
    out->data = rest->data;
    out->size = comma ? (size_t)(comma - rest->data) : rest->size;
    *rest = view_from(*rest, out->size + (comma != NULL));
    return true;
}

static void print_actions(struct str *out, struct ethos_view names)
{
    struct ethos_view name;
    const char *before = "";

    str_adds(out, ",\"actions\":[");
    for (; take_name(&names, &name); before = ",") {
        str_adds(out, before);
        json_quote(name, out);
    }
    str_addc(out, ']');
}

/* Written as a parser of JSON would write it again. */
static bool is_integer(struct ethos_view number)
{
    char text[24], same[24];
    if (number.size == 0 || number.size >= sizeof text)
        return false;
    memcpy(text, number.data, number.size);
    text[number.size] = 0;
    snprintf(same, sizeof same, "%lld", strtoll(text, NULL, 10));
    return strcmp(text, same) == 0;
}

/* Integers separated by commas: they stand in the line as they are, whoever gave them. */
static bool is_numbers(struct ethos_view list)
{
    struct ethos_view number;
    bool fits = list.data && !view_ends(list, VIEW(","));
    while (fits && take_name(&list, &number))
        fits = is_integer(number);
    return fits;
}

/* The members of the reference, in its order. */
static void print_theirs(const struct history_record *r, struct str *out)
{
    str_printf(out, "{\"ts\":%lld", (long long)r->ts_ms);
    print_text_member(out, "scopeId", r->scope);
    print_text_member(out, "key", r->key);
    print_actions(out, r->actions);
    print_text_member(out, "source", r->source);
    print_text_member(out, "sessionId", r->session);
    print_text_member(out, "sessionKey", r->session_key);
    print_text_member(out, "beforeHash", r->before_hash);
    print_text_member(out, "afterHash", r->after_hash);
    print_text_member(out, "diff", r->diff);
    str_printf(out, ",\"sizeBefore\":%llu,\"sizeAfter\":%llu", (unsigned long long)r->size_before,
               (unsigned long long)r->size_after);
    print_if(out, "approvedBy", r->approved_by);
    print_if(out, "blob", r->blob);
}

static void print_txn(const struct history_record *r, struct str *out)
{
    if (!r->txn_id.data)
        return;
    if (print_text_member(out, "txn", r->txn_id))
        return;
    str_truncate(out, out->size - 1); // the quote
    str_printf(out, "/%u/%u\"", r->txn_index, r->txn_count);
    if (r->part_count > 0)
        str_printf(out, ",\"part\":[%u,%u]", r->part_index, r->part_count);
}

static void print_ours(const struct history_record *r, struct str *out)
{
    print_if(out, "opId", r->op_id);
    print_txn(r, out);
    if (r->absent_before)
        print_raw(out, "absentBefore", VIEW("true"));
    if (r->absent_after)
        print_raw(out, "absentAfter", VIEW("true"));
    print_if(out, "userId", r->user);
    print_if(out, "via", r->via);
    if (r->op.data)
        print_raw(out, "op", r->op);
    print_if(out, "event", r->event);
    if (is_numbers(r->undoes)) {
        print_raw(out, "undoes", VIEW("["));
        str_add(out, r->undoes);
        str_addc(out, ']');
    }
    print_if(out, "was", r->was);
    if (r->seq > 0)
        str_printf(out, ",\"seq\":%llu", (unsigned long long)r->seq);
    print_if(out, "actor", r->actor);
    print_if(out, "trust", r->trust);
    print_if(out, "editedFrom", r->edited_from);
    if (r->voids_first > 0)
        str_printf(out, ",\"voids\":[%llu,%llu]", (unsigned long long)r->voids_first,
                   (unsigned long long)r->voids_last);
    print_if(out, "beforeBlob", r->before_blob);
    print_if(out, "afterBlob", r->after_blob);
    print_if(out, "appendBlob", r->append_blob);
    print_if(out, "graft", r->graft);
    print_if(out, "places", r->places);
}

int history_print(const struct history_record *record, struct str *out)
{
    size_t start = out->size;

    print_theirs(record, out);
    print_ours(record, out);
    if (str_code(out) == ETHOS_OK) {
        uint32_t crc = hash_crc32c(view_from(str_view(out), start));

        str_add(out, CRC_START);
        str_printf(out, "%08x\"}\n", (unsigned)crc);
    }
    return str_code(out) ? str_truncate(out, start) : ETHOS_OK;
}

/* ---- parsing --------------------------------------------------------------------------------- */

enum kind { TEXT, SESSION, BLOB, NUMBER, TRUE, OBJECT, NAMES, NUMBERS };

#define MEMBER(name, kind, field)                                                                  \
    {                                                                                              \
        {name, sizeof(name) - 1}, kind, offsetof(struct history_record, field)                     \
    }

/* Members with a field of their own; ts, txn, part and voids have rules of theirs. */
static const struct record_member {
    struct ethos_view name;
    enum kind kind;
    size_t offset;
} members[] = {
    MEMBER("scopeId", TEXT, scope),
    MEMBER("key", TEXT, key),
    MEMBER("actions", NAMES, actions),
    MEMBER("source", TEXT, source),
    MEMBER("sessionId", SESSION, session),
    MEMBER("sessionKey", SESSION, session_key),
    MEMBER("beforeHash", TEXT, before_hash),
    MEMBER("afterHash", TEXT, after_hash),
    MEMBER("diff", TEXT, diff),
    MEMBER("sizeBefore", NUMBER, size_before),
    MEMBER("sizeAfter", NUMBER, size_after),
    MEMBER("approvedBy", TEXT, approved_by),
    MEMBER("blob", BLOB, blob),
    MEMBER("opId", TEXT, op_id),
    MEMBER("absentBefore", TRUE, absent_before),
    MEMBER("absentAfter", TRUE, absent_after),
    MEMBER("userId", TEXT, user),
    MEMBER("via", TEXT, via),
    MEMBER("op", OBJECT, op),
    MEMBER("event", TEXT, event),
    MEMBER("undoes", NUMBERS, undoes),
    MEMBER("was", TEXT, was),
    MEMBER("seq", NUMBER, seq),
    MEMBER("actor", TEXT, actor),
    MEMBER("trust", TEXT, trust),
    MEMBER("editedFrom", TEXT, edited_from),
    MEMBER("beforeBlob", BLOB, before_blob),
    MEMBER("afterBlob", BLOB, after_blob),
    MEMBER("appendBlob", BLOB, append_blob),
    MEMBER("graft", TEXT, graft),
    MEMBER("places", TEXT, places),
};

struct history_parse {
    struct ethos_view line;
    struct arena *arena;
    struct history_record record;
    bool has_ts, has_crc;
};

/* Makes text outlive the reading; what stands in the line does already. */
static int copy_member_text(const struct history_parse *p, struct ethos_view text,
                            struct ethos_view *out)
{
    if (text.data < p->line.data || text.data > p->line.data + p->line.size) {
        const char *copy = arena_copy(p->arena, text);

        if (!copy)
            return ETHOS_NOMEM;
        text.data = copy;
    }
    *out = text;
    return ETHOS_OK;
}

/* Joins the strings, or the numbers, of an array with commas; a view without data if it is none. */
static int join_array(const struct history_parse *p, const json_t *array, enum kind kind,
                      struct ethos_view *out)
{
    struct str text;
    size_t i;
    json_t *item;
    bool fits = json_is_array(array);

    str_init(&text, SIZE_MAX);
    json_array_foreach (array, i, item) {
        if (i > 0)
            str_addc(&text, ',');
        if (kind == NAMES && json_is_string(item))
            str_add(&text, view_of(json_string_value(item), json_string_length(item)));
        else if (kind == NUMBERS && json_is_integer(item))
            str_printf(&text, "%lld", (long long)json_integer_value(item));
        else
            fits = false;
    }
    int code = str_code(&text) ? str_code(&text)
               : fits          ? copy_member_text(p, str_view(&text), out)
                               : ETHOS_OK;
    str_release(&text);
    return code;
}

static int set_member(const struct history_parse *p, const struct json_member *m, enum kind kind,
                      void *field)
{
    struct ethos_view *view = field;
    bool empty = m->text.size == 0;

    switch (kind) {
    case TEXT:
        return m->text.data ? copy_member_text(p, m->text, view) : ETHOS_OK;
    case SESSION:
        return empty ? ETHOS_OK : copy_member_text(p, m->text, view);
    case BLOB:
        return hash_is_hex(m->text) ? copy_member_text(p, m->text, view) : ETHOS_OK;
    case NUMBER:
        if (json_is_integer(m->value) && json_integer_value(m->value) > 0)
            *(uint64_t *)field = (uint64_t)json_integer_value(m->value);
        return ETHOS_OK;
    case TRUE:
        *(bool *)field = json_is_true(m->value);
        return ETHOS_OK;
    case OBJECT:
        return json_is_object(m->value) ? copy_member_text(p, m->raw, view) : ETHOS_OK;
    default:
        return join_array(p, m->value, kind, view);
    }
}

/* Milliseconds; others may have written a fraction. */
static void set_ts(struct history_parse *p, const json_t *value)
{
    double number = json_number_value(value);

    p->has_ts = json_is_number(value) && number > -1e15 && number < 1e15;
    if (p->has_ts)
        p->record.ts_ms = json_is_integer(value) ? json_integer_value(value) : (int64_t)number;
}

/* Takes "/<number>" off the end. */
static bool take_place(struct ethos_view *text, unsigned *out)
{
    const char *slash = memrchr(text->data, '/', text->size);
    unsigned value = 0;

    if (!slash || slash + 1 == text->data + text->size)
        return false;
    for (const char *at = slash + 1; at < text->data + text->size; at++) {
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (unsigned)(*at - '0'), &value))
            return false;
    }
    text->size = (size_t)(slash - text->data);
    *out = value;
    return value > 0;
}

/* <id>/<i>/<n> */
static int set_txn(struct history_parse *p, struct ethos_view text)
{
    struct history_record *r = &p->record;
    unsigned index, count;

    if (!text.data || !take_place(&text, &count) || !take_place(&text, &index) || index > count)
        return ETHOS_OK;
    r->txn_index = index;
    r->txn_count = count;
    return copy_member_text(p, text, &r->txn_id);
}

/* [i, n] */
static void set_part(struct history_parse *p, const json_t *value)
{
    json_int_t index = json_integer_value(json_array_get(value, 0));
    json_int_t count = json_integer_value(json_array_get(value, 1));

    if (index > 0 && count >= index && count <= UINT_MAX) {
        p->record.part_index = (unsigned)index;
        p->record.part_count = (unsigned)count;
    }
}

static void set_voids(struct history_parse *p, const json_t *value)
{
    json_int_t first = json_integer_value(json_array_get(value, 0));
    json_int_t last = json_integer_value(json_array_get(value, 1));

    if (first > 0 && last >= first) {
        p->record.voids_first = (uint64_t)first;
        p->record.voids_last = (uint64_t)last;
    }
}

static int take_member(void *arg, const struct json_member *m)
{
    struct history_parse *p = arg;

    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        if (view_eq(m->name, members[i].name))
            return set_member(p, m, members[i].kind, (char *)&p->record + members[i].offset);
    }
    if (view_eq(m->name, VIEW("ts")))
        set_ts(p, m->value);
    else if (view_eq(m->name, VIEW("txn")))
        return set_txn(p, m->text);
    else if (view_eq(m->name, VIEW("part")))
        set_part(p, m->value);
    else if (view_eq(m->name, VIEW("voids")))
        set_voids(p, m->value);
    else if (view_eq(m->name, VIEW("crc")))
        p->has_crc = true;
    return ETHOS_OK;
}

/*
 * The bytes that the crc at the end of a line is of; absent when there is none. A line that is
 * shorter than the whole checksum has none, even if it begins and ends like one.
 */
static struct ethos_view checked_bytes(struct ethos_view line)
{
    if (line.size < HISTORY_CRC_BYTES)
        return view_str(NULL);
    struct ethos_view body = view_of(line.data, line.size - HISTORY_CRC_BYTES);
    struct ethos_view end = view_from(line, body.size);

    return view_starts(end, CRC_START) && view_ends(end, VIEW("\"}")) ? body : view_str(NULL);
}

bool history_crc_fits(struct ethos_view line)
{
    struct ethos_view body = checked_bytes(line);
    char crc[9];

    if (!body.data)
        return true;
    snprintf(crc, sizeof(crc), "%08x", (unsigned)hash_crc32c(body));
    return memcmp(crc, body.data + body.size + CRC_START.size, 8) == 0;
}

static struct ethos_view without_lf(struct ethos_view line)
{
    if (view_ends(line, VIEW("\n")))
        line.size--;
    return line;
}

int history_parse(struct ethos_view line, struct arena *arena, struct history_record *out)
{
    struct history_parse p = {.line = without_lf(line), .arena = arena};

    if (!history_crc_fits(p.line))
        return ETHOS_CORRUPT;
    int code = json_members(p.line, "history", take_member, &p, NULL);
    if (code)
        return code == ETHOS_NOMEM ? code : ETHOS_INVALID;
    if (!p.has_ts || !p.record.scope.data || !p.record.key.data || !p.record.source.data)
        return ETHOS_INVALID;
    // Every line of ours ends in its crc: where it does not, something changed it.
    if ((p.has_crc || p.record.seq > 0) && !checked_bytes(p.line).data)
        return ETHOS_CORRUPT;
    *out = p.record;
    return ETHOS_OK;
}

bool history_line_is(struct ethos_view line, const char *key)
{
    struct ethos_view name = VIEW("\"key\":"), value = view_str(key);
    const char *at = memmem(line.data, line.size, name.data, name.size);

    if (!at)
        return false;
    struct ethos_view rest = view_from(line, (size_t)(at - line.data) + name.size);
    while (rest.size > 0 && rest.data[0] == ' ')
        rest = view_from(rest, 1);
    return rest.size >= value.size + 2 && rest.data[0] == '"' && rest.data[value.size + 1] == '"' &&
           memcmp(rest.data + 1, value.data, value.size) == 0;
}

/* ---- describing a change --------------------------------------------------------------------- */

/* The hash of a text in the arena; absent when out of memory. */
static struct ethos_view hash_text(struct ethos_view text, struct arena *arena)
{
    char hash[ETHOS_REVISION_SIZE];

    hash_revision(text, hash);
    return view_str(arena_str(arena, hash));
}

static struct ethos_view hash_digits(struct ethos_view hash)
{
    return view_from(hash, HASH_PREFIX.size);
}

static struct ethos_view blob_name(struct ethos_view text, struct ethos_view hash)
{
    return text.size > 0 ? hash_digits(hash) : view_str(NULL);
}

/* The whole diff, as a line can hold it. */
static int make_diff(struct ethos_view before, struct ethos_view after, struct ethos_view key,
                     struct arena *arena, struct str *out)
{
    struct str raw;
    const char *name = arena_copy(arena, key);

    str_init(&raw, SIZE_MAX);
    bool ok = name && !diff_unified(before, after, name, &raw) &&
              !utf8_sanitize(str_view(&raw), out);
    str_release(&raw);
    return ok ? ETHOS_OK : ETHOS_NOMEM;
}

/* Shortens a diff that is too long for a line. */
static void shorten_diff(struct str *diff, struct ethos_view before_hash)
{
    size_t size = HISTORY_DIFF_BYTES;

    while (((unsigned char)diff->data[size] & 0xC0) == 0x80)
        size--;
    str_truncate(diff, size);
    str_printf(diff, "\n… [diff truncated; before-state in blob %.*s]", VIEW_ARG(before_hash));
}

/* Whether the diff, as a line can hold it, leads from one text to the other and back. */
static int check_diff(struct ethos_view diff, struct ethos_view before, struct ethos_view after,
                      bool *out_exact)
{
    struct str text;

    str_init(&text, SIZE_MAX);
    int code = patch_apply(diff, before, false, &text);
    *out_exact = code == ETHOS_OK && view_eq(str_view(&text), after);
    if (*out_exact) {
        code = patch_apply(diff, after, true, &text);
        *out_exact = code == ETHOS_OK && view_eq(str_view(&text), before);
    }
    str_release(&text);
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

/* Sets the diff and the blobs of a record that has its hashes. */
static int set_diff(struct str *diff, struct ethos_view before, struct ethos_view after,
                    struct arena *arena, struct history_record *r)
{
    bool exact = false, whole = diff->size <= HISTORY_DIFF_BYTES;

    if (!whole)
        shorten_diff(diff, r->before_hash);
    else if (utf8_valid(before) && utf8_valid(after) &&
             check_diff(str_view(diff), before, after, &exact))
        return ETHOS_NOMEM;
    const char *copy = str_code(diff) ? NULL : arena_copy(arena, str_view(diff));
    if (!copy)
        return ETHOS_NOMEM;
    r->diff = view_of(copy, diff->size);
    r->blob = whole ? view_str(NULL) : hash_digits(r->before_hash);
    r->before_blob = exact || !whole ? view_str(NULL) : blob_name(before, r->before_hash);
    r->after_blob = exact ? view_str(NULL) : blob_name(after, r->after_hash);
    return ETHOS_OK;
}

int history_describe(struct ethos_view before, struct ethos_view after, struct arena *arena,
                     struct history_record *record)
{
    record->before_hash = record->after_hash = view_str(NULL);
    return history_describe_hashed(before, after, arena, record);
}

int history_describe_hashed(struct ethos_view before, struct ethos_view after, struct arena *arena,
                            struct history_record *record)
{
    struct str diff;

    if (!record->before_hash.data)
        record->before_hash = hash_text(before, arena);
    if (!record->after_hash.data)
        record->after_hash = hash_text(after, arena);
    record->size_before = before.size;
    record->size_after = after.size;
    record->absent_before = !before.data;
    record->absent_after = !after.data;
    if (!record->before_hash.data || !record->after_hash.data)
        return ETHOS_NOMEM;
    str_init(&diff, SIZE_MAX);
    int code = make_diff(before, after, record->key, arena, &diff);
    if (!code)
        code = set_diff(&diff, before, after, arena, record);
    str_release(&diff);
    return code;
}

struct ethos_view history_appended(struct ethos_view before, struct ethos_view after)
{
    bool grows = before.size >= HISTORY_LONG_BYTES && after.size > before.size &&
                 before.data[before.size - 1] == '\n' && view_starts(after, before);
    return grows ? view_from(after, before.size) : view_str(NULL);
}

int history_keep_appended(struct ethos_view appended, struct arena *arena,
                          struct history_record *record)
{
    if (!appended.data || !record->after_blob.data)
        return ETHOS_OK;
    struct ethos_view hash = hash_text(appended, arena);
    if (!hash.data)
        return ETHOS_NOMEM;
    record->append_blob = hash_digits(hash);
    record->before_blob = record->after_blob = view_str(NULL);
    return ETHOS_OK;
}

unsigned history_patches(struct ethos_view appended, struct ethos_view after)
{
    return HISTORY_PATCHES * (appended.data ? (unsigned)(after.size / HISTORY_LONG_BYTES) + 1 : 1u);
}

int history_mend(struct ethos_view before, struct ethos_view after, struct arena *arena,
                 struct history_record *record)
{
    struct str diff;

    if (record->blob.size == 0)
        return ETHOS_OK;
    str_init(&diff, SIZE_MAX);
    int code = make_diff(before, after, record->key, arena, &diff);
    const char *copy = code ? NULL : arena_copy(arena, str_view(&diff));
    if (copy)
        record->diff = view_of(copy, diff.size);
    str_release(&diff);
    return copy ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- the changes of one key ------------------------------------------------------------------ */

void history_init(struct history *history, struct arena *arena)
{
    *history = (struct history){.arena = arena};
}

static int grow_history(struct history *h)
{
    size_t capacity = h->capacity ? h->capacity * 2 : 64;
    struct history_record *records = arena_array(h->arena, capacity, sizeof(*records));
    bool *voided = arena_array(h->arena, capacity, sizeof(*voided));

    if (!records || !voided)
        return ETHOS_NOMEM;
    if (h->count > 0) {
        memcpy(records, h->records, h->count * sizeof(*records));
        memcpy(voided, h->voided, h->count * sizeof(*voided));
    }
    h->records = records;
    h->voided = voided;
    h->capacity = capacity;
    return ETHOS_OK;
}

static int collect_line(struct history *h, struct ethos_view line, const char *key)
{
    int code = h->count == h->capacity ? grow_history(h) : ETHOS_OK;
    struct history_record *r = h->records ? &h->records[h->count] : NULL;

    if (code || (code = history_parse(line, h->arena, r)) == ETHOS_NOMEM)
        return code;
    h->skipped += code != ETHOS_OK;
    if (code || (key && !view_eq_str(r->key, key)))
        return ETHOS_OK;
    // Each number once, the nearest line of it: where git merged two histories, another side has it too.
    uint64_t above = r->voids_last + 1;
    for (size_t i = h->count; r->voids_first > 0 && above > r->voids_first && i-- > 0;) {
        if (h->records[i].seq >= r->voids_first && h->records[i].seq < above) {
            h->voided[i] = true;
            above = h->records[i].seq;
        }
    }
    h->count++;
    return ETHOS_OK;
}

/* Whether a line looks like a record, without parsing it. */
static bool looks_whole(struct ethos_view line)
{
    return view_starts(line, VIEW("{")) && view_ends(line, VIEW("}")) && history_crc_fits(line);
}

int history_collect(struct history *history, struct ethos_view lines, const char *key)
{
    struct ethos_view line;

    while (view_line(&lines, &line)) {
        if (key && !history_line_is(line, key)) {
            history->skipped += line.size > 0 && !looks_whole(line);
            continue;
        }
        int code = line.size > 0 ? collect_line(history, line, key) : ETHOS_OK;
        if (code)
            return code;
    }
    return ETHOS_OK;
}

size_t history_find(const struct history *history, struct ethos_view hash)
{
    for (size_t i = history->count; i-- > 0;) {
        const struct history_record *r = &history->records[i];

        if (r->voids_first == 0 && !history->voided[i] && view_eq(r->after_hash, hash))
            return i;
    }
    return history->count;
}

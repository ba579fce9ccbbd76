/*
 * ledger.c: the strict reader of memory-history*.jsonl, .mem/tmp and history-blobs/.
 */
#include "ledger.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proof.h"

#define NOTHING "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define MOST_GAP 128 /* lines of a key between two whole texts: 64 patches from the nearer one */
#define RECENT 8     /* texts of a key that are remembered */
#define MOST_FILES 64

/* Members in the order of the format; a line has some of them. */
static const char *const members[] = {
    "ts",         "scopeId",       "key",         "actions",   "source",     "sessionId",
    "sessionKey", "beforeHash",    "afterHash",   "diff",      "sizeBefore", "sizeAfter",
    "hint",       "captureHashes", "approvedBy",  "blob",      "opId",       "txn",
    "part",       "absentBefore",  "absentAfter", "userId",    "via",        "op",
    "event",      "undoes",        "was",         "seq",       "actor",      "trust",
    "editedFrom", "voids",         "beforeBlob",  "afterBlob", "crc",
};
#define MEMBERS (sizeof members / sizeof *members)
#define MANDATORY 12 /* the first ones */

static const char *const sources[] = {"tool",       "consolidation", "dream",  "capture",
                                      "web-editor", "global-entry",  "restore"};

static void complain(struct ledger *self, const struct version *version, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void complain(struct ledger *self, const struct version *version, const char *format, ...)
{
    char text[400];
    va_list args;
    self->errors++;
    if (self->flags & LEDGER_QUIET)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (version)
        proof_note("%s:%u: %s", version->place, version->line, text);
    else
        proof_note("%s: %s", self->dir, text);
}

/* ---- one line ------------------------------------------------------------------------------- */

static uint32_t crc32c(const char *data, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static const char *string_of(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

static uint64_t number_of(const json_t *json, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(json, name));
}

static void check_members(struct ledger *self, const struct version *version)
{
    const char *name;
    json_t *value;
    size_t at = 0, first = 0;
    json_object_foreach (version->json, name, value) {
        size_t found = at;
        while (found < MEMBERS && strcmp(members[found], name) != 0)
            found++;
        if (found == MEMBERS)
            complain(self, version, "member \"%s\" is unknown or out of order", name);
        else
            at = found + 1;
        first += found < MANDATORY;
    }
    if (first < MANDATORY)
        complain(self, version, "only %zu of the first %d members", first, MANDATORY);
}

static void check_source(struct ledger *self, const struct version *version)
{
    for (size_t i = 0; version->source && i < sizeof sources / sizeof *sources; i++)
        if (strcmp(sources[i], version->source) == 0)
            return;
    complain(self, version, "source \"%s\"", version->source ? version->source : "");
}

static void check_crc(struct ledger *self, const struct version *version, const char *line,
                      size_t size)
{
    static const char mark[] = ",\"crc\":\"";
    const char *crc = string_of(version->json, "crc");
    size_t tail = sizeof mark - 1 + 8 + 2;
    char right[16];
    if (size < tail || memcmp(line + size - tail, mark, sizeof mark - 1) != 0 || !crc) {
        complain(self, version, "the line does not end with its crc");
        return;
    }
    snprintf(right, sizeof right, "%08x", crc32c(line, size - tail));
    if (strcmp(right, crc) != 0)
        complain(self, version, "crc %s, should be %s", crc, right);
}

/* A line of ours follows this one: numbers and times only grow, appends are whole. */
static void check_order(struct ledger *self, const struct version *version)
{
    const struct version *last = self->count > 1 ? version - 1 : NULL;
    char id[80] = "", last_id[80] = "";
    unsigned i = 1, n = 1, last_i = 1, last_n = 1;
    if (version->seq == 0)
        complain(self, version, "no seq");
    if (version->txn && sscanf(version->txn, "%79[^/]/%u/%u", id, &i, &n) != 3)
        complain(self, version, "txn \"%s\"", version->txn);
    if (last && last->txn)
        sscanf(last->txn, "%79[^/]/%u/%u", last_id, &last_i, &last_n);
    if (i > n || i < 1)
        complain(self, version, "line %u of %u of an append", i, n);
    else if (i > 1 ? strcmp(id, last_id) != 0 || i != last_i + 1 : last_i != last_n)
        complain(self, version, "an append is not whole: %u/%u after %u/%u", i, n, last_i, last_n);
    if (last && version->seq <= last->seq)
        complain(self, version, "seq %llu after %llu", (unsigned long long)version->seq,
                 (unsigned long long)last->seq);
    if (last && number_of(version->json, "ts") < number_of(last->json, "ts"))
        complain(self, version, "the time goes back");
}

static char *actions_of(const json_t *json)
{
    size_t index;
    json_t *word;
    char *text = text_format("%s", "");
    json_array_foreach (json_object_get(json, "actions"), index, word) {
        char *longer = text_format("%s%s%s", text, index ? "," : "", json_string_value(word));
        free(text);
        text = longer;
    }
    return text;
}

static void fill(struct version *out, json_t *json)
{
    const json_t *voids = json_object_get(json, "voids"), *diff = json_object_get(json, "diff");
    *out = (struct version){
        .json = json,
        .place = out->place,
        .line = out->line,
        .key = string_of(json, "key"),
        .actions = actions_of(json),
        .source = string_of(json, "source"),
        .via = string_of(json, "via"),
        .event = string_of(json, "event"),
        .op_id = string_of(json, "opId"),
        .txn = string_of(json, "txn"),
        .before = string_of(json, "beforeHash"),
        .after = string_of(json, "afterHash"),
        .blob = string_of(json, "blob"),
        .before_blob = string_of(json, "beforeBlob"),
        .after_blob = string_of(json, "afterBlob"),
        .diff = json_string_value(diff),
        .diff_size = json_string_length(diff),
        .seq = number_of(json, "seq"),
        .voids_first = (uint64_t)json_integer_value(json_array_get(voids, 0)),
        .voids_last = (uint64_t)json_integer_value(json_array_get(voids, 1)),
    };
}

static bool is_seen(const struct version *version)
{
    return version->via && strcmp(version->via, "seen") == 0;
}

static void count_kind(struct ledger *self, const struct version *version)
{
    self->voids += version->voids_first > 0;
    self->events += version->event != NULL;
    self->seen += is_seen(version);
    self->external += strcmp(version->actions, "external") == 0;
}

static struct version *grow(struct ledger *self)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? 2 * self->capacity : 256;
        self->versions = realloc(self->versions, self->capacity * sizeof *self->versions);
        if (!self->versions)
            proof_die("history");
    }
    self->versions[self->count] = (struct version){0};
    return &self->versions[self->count++];
}

static void read_line(struct ledger *self, const char *place, unsigned number, const char *line,
                      size_t size, bool torn_allowed)
{
    struct version *version = grow(self);
    version->place = place;
    version->line = number;
    json_t *json = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (!json_is_object(json)) {
        if (!torn_allowed)
            complain(self, version, "not an object: %.*s", (int)(size > 80 ? 80 : size), line);
        json_decref(json);
        self->count--;
        return;
    }
    fill(version, json);
    check_members(self, version);
    check_source(self, version);
    check_crc(self, version, line, size);
    check_order(self, version);
    if (!version->key || !version->before || !version->after || !version->diff)
        proof_die("a line without key, hashes or diff");
    count_kind(self, version);
}

static void read_lines(struct ledger *self, const char *name, bool last_file)
{
    char path[PATH_MAX];
    size_t size;
    unsigned number = 0;
    snprintf(path, sizeof path, "%s/%s", self->dir, name);
    char *text = path_read(path, &size);
    for (char *at = text; text && at < text + size;) {
        char *stop = memchr(at, '\n', (size_t)(text + size - at));
        bool torn = !stop && last_file && (self->flags & LEDGER_PENDING);
        if (!stop && !torn)
            complain(self, NULL, "%s does not end with a line end", name);
        if (!stop)
            stop = text + size;
        read_line(self, name, ++number, at, (size_t)(stop - at), torn);
        at = stop + 1;
    }
    free(text);
}

/* ---- files ---------------------------------------------------------------------------------- */

struct names {
    char *list[MOST_FILES];
    size_t count;
};

static void note_month(void *arg, const char *dir, const char *name)
{
    struct names *names = arg;
    unsigned year, month;
    (void)dir;
    if (sscanf(name, "memory-history-%4u-%2u", &year, &month) == 2 && names->count < MOST_FILES)
        names->list[names->count++] = strdup(name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void mark_voided(struct ledger *self)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct version *void_line = &self->versions[i];
        for (size_t k = i; void_line->voids_first && k-- > 0;) {
            struct version *line = &self->versions[k];
            if (line->seq < void_line->voids_first)
                break;
            line->voided = line->voided || line->seq <= void_line->voids_last;
        }
    }
}

static void read_history(struct ledger *self)
{
    struct names names = {0};
    dir_each(self->dir, note_month, &names);
    qsort(names.list, names.count, sizeof *names.list, by_name);
    for (size_t i = 0; i < names.count; i++)
        read_lines(self, names.list[i], false); // the names live as long as the proof
    read_lines(self, "memory-history.jsonl", true);
    mark_voided(self);
}

/* ---- texts ---------------------------------------------------------------------------------- */

static bool read_blob(const struct ledger *self, const char *hash, struct text *out)
{
    char path[PATH_MAX];
    size_t size;
    const char *hex = strncmp(hash, "sha256:", 7) == 0 ? hash + 7 : hash;
    snprintf(path, sizeof path, "%s/history-blobs/%s.md", self->dir, hex);
    char *data = path_read(path, &size);
    if (data)
        text_set(out, data, size);
    free(data);
    return data && strcmp(out->hash + 7, hex) == 0;
}

/* What is known about a key while its lines are walked through. */
struct track {
    const char *key;
    const struct version *last;
    struct text recent[RECENT];
    unsigned next;
    unsigned gap; /* lines since a whole text was kept */
};

static void remember(struct track *track, const struct text *text)
{
    text_set(&track->recent[track->next], text->data, text->size);
    track->next = (track->next + 1) % RECENT;
}

static bool recall(const struct ledger *self, const struct track *track, const char *hash,
                   struct text *out)
{
    if (strcmp(hash, NOTHING) == 0) {
        text_set(out, "", 0);
        return true;
    }
    for (size_t i = 0; i < RECENT; i++)
        if (track->recent[i].data && strcmp(track->recent[i].hash, hash) == 0) {
            text_set(out, track->recent[i].data, track->recent[i].size);
            return true;
        }
    return read_blob(self, hash, out);
}

static bool step(const struct version *version, const struct text *from, bool reverse,
                 struct text *out)
{
    const char *wanted = reverse ? version->before : version->after;
    return ledger_apply(version->diff, version->diff_size, from, reverse, out) &&
           strcmp(out->hash, wanted) == 0;
}

/* Back from the next later text that is kept whole. */
static bool rebuild_back(struct ledger *self, const struct version *version, struct text *out)
{
    const struct version *end = self->versions + self->count, *at = version;
    struct text text = {0}, older = {0};
    bool found = false;
    for (; at < end && !found; at++)
        if (strcmp(at->key, version->key) == 0)
            found = read_blob(self, at->after, &text);
    for (at--; found && at > version; at--) {
        if (strcmp(at->key, version->key) != 0)
            continue;
        found = step(at, &text, true, &older);
        if (found)
            text_set(&text, older.data, older.size);
    }
    if (found)
        text_set(out, text.data, text.size);
    text_free(&text);
    text_free(&older);
    return found;
}

static bool keeps_whole(const struct version *version)
{
    return (version->after_blob && !is_seen(version)) || version->before_blob || version->blob ||
           strcmp(version->after, NOTHING) == 0 || strcmp(version->before, NOTHING) == 0;
}

static void check_sizes(struct ledger *self, const struct version *version,
                        const struct text *before, const struct text *after)
{
    if ((before->data && before->size != number_of(version->json, "sizeBefore")) ||
        (after->data && after->size != number_of(version->json, "sizeAfter")))
        complain(self, version, "sizes do not fit the texts");
}

static void check_version(struct ledger *self, struct track *track, const struct version *version,
                          version_fn *each, void *arg)
{
    struct text before = {0}, after = {0}, kept = {0};
    if (track->last && strcmp(track->last->after, version->before) != 0)
        complain(self, version, "the chain breaks: before %.16s, the line before left %.16s",
                 version->before, track->last->after);
    if (is_seen(version)) {
        if (strcmp(version->before, version->after) != 0)
            complain(self, version, "a seen line changes the text");
        if (!version->after_blob || !read_blob(self, version->after_blob, &kept))
            complain(self, version, "the text that was seen is not kept");
    }
    bool know_before = recall(self, track, version->before, &before);
    bool know_after = (know_before && step(version, &before, false, &after)) ||
                      recall(self, track, version->after, &after) ||
                      rebuild_back(self, version, &after);
    if (!know_before)
        text_free(&before);
    if (!know_after)
        text_free(&after);
    if (!know_after && !version->voided)
        complain(self, version, "version %llu of %s cannot be rebuilt",
                 (unsigned long long)version->seq, version->key);
    track->gap = keeps_whole(version) ? 0 : track->gap + 1;
    if (track->gap > MOST_GAP)
        complain(self, version, "%u lines of %s without a whole text", track->gap, version->key);
    self->rebuilt += know_after;
    check_sizes(self, version, &before, &after);
    if (each)
        each(arg, version, &before, &after, &kept);
    if (know_after)
        remember(track, &after);
    track->last = version;
    text_free(&before);
    text_free(&after);
    text_free(&kept);
}

/* ---- the directory -------------------------------------------------------------------------- */

#define MOST_KEYS 64

static struct track *find_track(struct ledger *self, struct track tracks[], const char *key)
{
    for (unsigned i = 0; i < self->keys; i++)
        if (strcmp(tracks[i].key, key) == 0)
            return &tracks[i];
    if (self->keys == MOST_KEYS)
        proof_die("too many keys");
    tracks[self->keys] = (struct track){.key = key};
    return &tracks[self->keys++];
}

static void check_file(struct ledger *self, const struct track *track)
{
    char path[PATH_MAX], hash[HASH_SIZE];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", self->dir, track->key);
    char *text = path_read(path, &size);
    text_hash(text, size, hash);
    bool absent = json_is_true(json_object_get(track->last->json, "absentAfter"));
    if (strcmp(hash, track->last->after) != 0)
        complain(self, track->last, "%s is not its last version", track->key);
    else if (absent != !text)
        complain(self, track->last, "%s is %s, its last version is %s", track->key,
                 text ? "there" : "absent", absent ? "absent" : "a text");
    free(text);
}

static void complain_litter(void *arg, const char *dir, const char *name)
{
    complain(arg, NULL, "left behind: %s/%s", dir, name);
}

bool ledger_check(struct ledger *self, const char *dir, unsigned flags, version_fn *each, void *arg)
{
    struct track tracks[MOST_KEYS];
    char path[PATH_MAX];
    *self = (struct ledger){.flags = flags};
    snprintf(self->dir, sizeof self->dir, "%s", dir);
    read_history(self);
    for (size_t i = 0; i < self->count; i++) {
        struct version *version = &self->versions[i];
        check_version(self, find_track(self, tracks, version->key), version, each, arg);
    }
    snprintf(path, sizeof path, "%s/.mem/tmp", dir);
    if (!(flags & LEDGER_PENDING))
        dir_each(path, complain_litter, self);
    for (unsigned i = 0; i < self->keys; i++) {
        if (!(flags & LEDGER_PENDING))
            check_file(self, &tracks[i]);
        for (size_t k = 0; k < RECENT; k++)
            text_free(&tracks[i].recent[k]);
    }
    return self->errors == 0;
}

void ledger_free(struct ledger *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free((char *)self->versions[i].actions);
        json_decref(self->versions[i].json);
    }
    free(self->versions);
    *self = (struct ledger){0};
}

bool ledger_knows(const struct ledger *self, const char *hash)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct version *version = &self->versions[i];
        if (strcmp(version->after, hash) == 0 || strcmp(version->before, hash) == 0 ||
            (version->after_blob && strcmp(version->after_blob, hash + 7) == 0))
            return true;
    }
    return false;
}

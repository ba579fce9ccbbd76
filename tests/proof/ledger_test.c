/*
 * ledger_test.c: the strict reader accepts a right history and notices every way to spoil it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/ledger.h"
#include "support/proof.h"

#define LINES 5

/* The members of one line; a rule of the format is spoiled by changing one. */
struct line {
    const char *ts, *source, *order; /* order: what stands between source and the hashes */
    const char *before, *after;      /* texts */
    const char *claimed;             /* other text whose hash is claimed to be before, or NULL */
    const char *diff;
    const char *txn;
    const char *via;
    const char *seq;
    const char *tail; /* members after seq */
    int size_off;
};

#define HEAD "Index: MEMORY.md\\n" DASHES "\\n--- MEMORY.md\\t\\n+++ MEMORY.md\\t\\n"
#define DASHES "==================================================================="

/* add; an edit outside with a second key in the same append; a write taken back; its void. */
static const struct line right[LINES] = {
    {"10", "tool", "\"sessionId\":\"\",\"sessionKey\":\"\",", "", "one\n", NULL,
     HEAD "@@ -0,0 +1,1 @@\\n+one\\n", "a/1/1", "cli", "1", "", 0},
    {"11", "web-editor", "\"sessionId\":\"\",\"sessionKey\":\"\",", "one\n", "one\ntwo", NULL,
     HEAD "@@ -1,1 +1,2 @@\\n one\\n+two\\n\\\\ No newline at end of file\\n", "b/1/2", "external",
     "2", "", 0},
    {"11", "tool", "\"sessionId\":\"\",\"sessionKey\":\"\",", "one\ntwo", "two\n", NULL,
     HEAD "@@ -1,2 +1,1 @@\\n-one\\n-two\\n\\\\ No newline at end of file\\n+two\\n", "b/2/2",
     "cli", "3", "", 0},
    {"12", "restore", "\"sessionId\":\"\",\"sessionKey\":\"\",", "two\n", "one\ntwo", NULL,
     HEAD "@@ -1,1 +1,2 @@\\n-two\\n+one\\n+two\\n\\\\ No newline at end of file\\n", "c/1/1",
     "recover", "4", ",\"voids\":[3,3]", 0},
    {"12", "tool", "\"sessionId\":\"\",\"sessionKey\":\"\",", "one\ntwo", "big\n", NULL,
     HEAD "@@ cut", "d/1/1", "cli", "5", ",\"afterBlob\":\"%s\"", 0},
};

static uint32_t crc32c(const char *data, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < 8 * size; i++) {
        if (i % 8 == 0)
            crc ^= (unsigned char)data[i / 8];
        crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

static char *print_line(const struct line *line)
{
    char before[HASH_SIZE], after[HASH_SIZE], *tail;
    const char *claimed = line->claimed ? line->claimed : line->before;
    text_hash(claimed, strlen(claimed), before);
    text_hash(line->after, strlen(line->after), after);
    const char *mark = strstr(line->tail, "%s");
    tail = mark ? text_format("%.*s%s%s", (int)(mark - line->tail), line->tail, after + 7, mark + 2)
                : text_format("%s", line->tail);
    char *body = text_format(
        "{\"ts\":%s,\"scopeId\":\"personality:default\",\"key\":\"MEMORY.md\",\"actions\":[\"add\"]"
        ","
        "\"source\":\"%s\",%s\"beforeHash\":\"%s\",\"afterHash\":\"%s\",\"diff\":\"%s\","
        "\"sizeBefore\":%zu,\"sizeAfter\":%d,\"txn\":\"%s\",\"via\":\"%s\",\"seq\":%s%s",
        line->ts, line->source, line->order, before, after, line->diff, strlen(claimed),
        (int)strlen(line->after) + line->size_off, line->txn, line->via, line->seq, tail);
    char *whole = text_format("%s,\"crc\":\"%08x\"}\n", body, crc32c(body, strlen(body)));
    free(body);
    free(tail);
    return whole;
}

/* ---- a directory with a history ------------------------------------------------------------- */

struct site {
    struct line lines[LINES];
    const char *file, *litter, *extra; /* text now, name in .mem/tmp, bytes at the end */
    bool no_blob;
    const char *spoil; /* where a byte of the written history is changed, or NULL */
};

static void put(const struct home *home, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%.200s", home->path, name);
    path_put(path, text);
}

static void build(const struct home *home, const struct site *site)
{
    static const char *const dirs[] = {"", "history-blobs", ".mem", ".mem/tmp"};
    char path[PATH_MAX], hash[HASH_SIZE], *all = text_format("%s", "");
    tree_remove(home->path);
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        snprintf(path, sizeof path, "%s/%s", home->path, dirs[i]);
        mkdir(path, 0700);
    }
    for (size_t i = 0; i < LINES; i++) {
        char *line = print_line(&site->lines[i]), *more = text_format("%s%s", all, line);
        free(all);
        free(line);
        all = more;
    }
    if (site->spoil)
        *strstr(all, site->spoil) ^= 1;
    char *history = text_format("%s%s", all, site->extra ? site->extra : "");
    put(home, "memory-history.jsonl", history);
    put(home, "MEMORY.md", site->file);
    text_hash("big\n", 4, hash);
    snprintf(path, sizeof path, "history-blobs/%s.md", hash + 7);
    if (!site->no_blob)
        put(home, path, "big\n");
    if (site->litter)
        put(home, site->litter, "x");
    free(all);
    free(history);
}

static unsigned errors_of(const struct home *home, const struct site *site, unsigned flags)
{
    struct ledger ledger;
    build(home, site);
    ledger_check(&ledger, home->path, flags | LEDGER_QUIET, NULL, NULL);
    unsigned errors = ledger.errors;
    ledger_free(&ledger);
    return errors;
}

/* ---- ways to spoil it ----------------------------------------------------------------------- */

struct spoiled {
    const char *what;
    struct site site;
};

static size_t spoil_all(struct spoiled out[32], const struct site *base)
{
    size_t n = 0;
#define SPOIL(text, change)                                                                        \
    do {                                                                                           \
        struct site *site = &out[n].site;                                                          \
        *site = *base;                                                                             \
        out[n++].what = text;                                                                      \
        change;                                                                                    \
    } while (0)
    SPOIL("a source of its own", site->lines[0].source = "cli");
    SPOIL("members out of order", site->lines[0].order = "\"sessionKey\":\"\",\"sessionId\":\"\",");
    SPOIL("a member missing", site->lines[0].order = "\"sessionId\":\"\",");
    SPOIL("an unknown member", site->lines[0].tail = ",\"other\":1");
    SPOIL("a seq twice", site->lines[1].seq = "1");
    SPOIL("a time that goes back", site->lines[3].ts = "9");
    SPOIL("an append of which a line is missing", site->lines[2].txn = "x/1/1");
    SPOIL("an append that goes on under another name", site->lines[2].txn = "x/2/2");
    SPOIL("a chain that breaks", site->lines[1].claimed = "other\n");
    SPOIL("a diff that does not lead there",
          site->lines[1].diff = HEAD "@@ -1,1 +1,1 @@\\n one\\n");
    SPOIL("a size that is wrong", site->lines[0].size_off = 1);
    SPOIL("a blob that is gone", site->no_blob = true);
    SPOIL("a file that is not the last version", site->file = "bog\n");
    SPOIL("a draft that was left", site->litter = ".mem/tmp/MEMORY.md.draft");
    SPOIL("a torn line", site->extra = "{\"ts\":13,");
    SPOIL("a line that is no object", site->extra = "[]\n");
    SPOIL("a changed byte", site->spoil = "one");
    SPOIL("a seen line whose text is not kept",
          (site->lines[4].via = "seen", site->lines[4].tail = ""));
#undef SPOIL
    return n;
}

int main(int argc, char **argv)
{
    struct home home;
    struct site base = {.file = "big\n"}, torn;
    struct spoiled spoiled[32];
    proof_begin(argc, argv);
    place_make(&home, PLACE_MEMORY);
    memcpy(base.lines, right, sizeof right);
    torn = base;
    torn.extra = "{\"ts\":13,";
    unsigned missed = 0, alarms = errors_of(&home, &base, 0);
    unsigned pending = errors_of(&home, &torn, LEDGER_PENDING);
    size_t ways = spoil_all(spoiled, &base);
    for (size_t i = 0; i < ways; i++)
        if (errors_of(&home, &spoiled[i].site, 0) == 0) {
            missed++;
            proof_note("not noticed: %s", spoiled[i].what);
        }
    proof_say(alarms == 0, "ledger: a right history of %d lines, %u errors", LINES, alarms);
    proof_say(pending == 0, "ledger: the tail a killed writer leaves, %u errors", pending);
    proof_say(missed == 0, "ledger: %zu ways to spoil it, %u not noticed", ways, missed);
    place_remove(&home);
    return proof_end();
}

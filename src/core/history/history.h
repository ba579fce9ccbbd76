/*
 * history.h: the lines of memory-history.jsonl: each is one change of one key, in the order of
 * writing.
 *
 * A line is both the record of a change and the journal entry that was durable before it. The
 * members of the reference come first and in its order, then ours; the last is "crc", the CRC-32C
 * (8 hex digits) of the bytes before `,"crc"`. Lines without our members, written by other
 * programs, are also records.
 *
 * A void is a line that cancels lines: those whose seq is in `voids` are not versions. The void
 * itself is a change from their text to the one before.
 */
#ifndef ETHOS_CORE_HISTORY_HISTORY_H
#define ETHOS_CORE_HISTORY_HISTORY_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct str;

#define HISTORY_DIFF_BYTES 4096  /* bytes of a diff that a line holds */
#define HISTORY_PATCHES 64       /* changes of a key after which one stores its whole text */
#define HISTORY_LONG_BYTES 65536 /* texts from this size on store what is appended separately */

/* Absent views are not written. Hashes are "sha256:<hex>", blobs bare hex digits. */
struct history_record {
    int64_t ts_ms;
    struct ethos_view scope, key;
    struct ethos_view actions; /* names separated by commas: "add,remove" */
    struct ethos_view source;
    struct ethos_view session, session_key; /* written as "" when absent */
    struct ethos_view before_hash, after_hash;
    struct ethos_view diff;
    uint64_t size_before, size_after;
    struct ethos_view approved_by;
    struct ethos_view blob; /* the text before, when the diff is cut */
    struct ethos_view op_id;
    struct ethos_view txn_id; /* with the line's number in its append, from 1 */
    unsigned txn_index, txn_count;
    /* The line's number in its update, from 1, if an append has several updates; otherwise 0. */
    unsigned part_index, part_count;
    bool absent_before, absent_after;
    struct ethos_view user, via;
    struct ethos_view
        op; /* JSON object: the record of a finished operation (store/operation_id.h) */
    struct ethos_view event; /* "dropped", "reapplied", "merged", "partial", "restored" */
    struct ethos_view
        undoes; /* seqs that this change undid, separated by commas; other lists are not written */
    struct ethos_view was; /* identifies the file with the text before, as its store does */
    uint64_t seq;          /* 0: not one of ours */
    struct ethos_view actor, trust, edited_from;
    uint64_t voids_first, voids_last; /* 0: not a void */
    struct ethos_view before_blob, after_blob;
    struct ethos_view
        places; /* of a purge: where lines were removed (core/history/purged_lines.h) */
    struct ethos_view
        append_blob; /* what was appended to a long text; then there is no other blob */
    /*
     * Of a line imported from another store, with its time and number: on the first line of a key
     * in its append, the revision that the key had here ("absent": none); otherwise "".
     */
    struct ethos_view graft;
};

/* Whether a source is one of the seven that readers of the format accept. */
bool history_knows_source(const char *source);

/* Appends the line with its crc and LF. Returns str_code. Invalid UTF-8 becomes U+FFFD. */
int history_print(const struct history_record *record, struct str *out);

/*
 * Parses one line, with or without its LF; strings are in the arena or in the line. ETHOS_INVALID
 * if it is not a record, ETHOS_CORRUPT if its crc does not match, ETHOS_NOMEM.
 */
int history_parse(struct ethos_view line, struct arena *arena, struct history_record *out);

#define HISTORY_CRC_BYTES 18 /* of a line, from `,"crc"` on, without its LF */

/* Whether the crc at the end of a line (without LF) is correct; true for a line without one. */
bool history_crc_fits(struct ethos_view line);

/* Whether a line is about this key, judged by its bytes alone. May be true for a torn line. */
bool history_line_is(struct ethos_view line, const char *key);

/*
 * Sets diff (in the arena) and determines which texts must be stored as blobs: both if the diff was
 * cut or does not lead exactly from one to the other; sets blob, before_blob, after_blob
 * accordingly (an empty text needs none, except for the `blob` of a cut diff). Also sets hashes,
 * sizes and absent_*. An absent view means no file.
 */
int history_describe(struct ethos_view before, struct ethos_view after, struct arena *arena,
                     struct history_record *record);

/* The same, using hashes that are given. */
int history_describe_hashed(struct ethos_view before, struct ethos_view after, struct arena *arena,
                            struct history_record *record);

/*
 * What a change put at the end of a long text (HISTORY_LONG_BYTES), after its last line; absent when it did
 * anything else.
 */
struct ethos_view history_appended(struct ethos_view before, struct ethos_view after);

/*
 * Has a described record keep that part instead of both texts, where they were to be kept: what is appended to a
 * long text costs what it holds. ETHOS_OK or ETHOS_NOMEM.
 */
int history_keep_appended(struct ethos_view appended, struct arena *arena,
                          struct history_record *record);

/* Changes of a key after which one keeps its text whole: more of a long one that only grows. */
unsigned history_patches(struct ethos_view appended, struct ethos_view after);

/* Makes a diff that was cut whole again, in the arena, given its texts. ETHOS_OK or ETHOS_NOMEM. */
int history_mend(struct ethos_view before, struct ethos_view after, struct arena *arena,
                 struct history_record *record);

/* What a record says, as it is told to others; strings in the arena. ETHOS_OK or ETHOS_NOMEM. */
int history_change(const struct history_record *record, struct arena *arena,
                   struct ethos_change *out);

/* A copy of a change, all of it in the arena. ETHOS_OK or ETHOS_NOMEM. */
int history_copy(const struct ethos_change *change, struct arena *arena, struct ethos_change *out);

/* ---- the changes of one key ----------------------------------------------------------------- */

/* In order of writing. voided says of each whether a later void took it back. */
struct history {
    struct arena *arena;
    struct history_record *records;
    bool *voided;
    size_t count, capacity;
    size_t skipped; /* lines that are no record, of any key */
};

void history_init(struct history *history, struct arena *arena);

/*
 * Adds the lines about key (NULL: about all) of one file; call for the oldest file first. The text
 * must outlive the history. ETHOS_NOMEM.
 */
int history_collect(struct history *history, struct ethos_view lines, const char *key);

/* Index of the newest record that is no void, not voided, and has this afterHash; or count. */
size_t history_find(const struct history *history, struct ethos_view hash);

/* Gives the bytes of a blob; ETHOS_NOTFOUND when there is none. Clears out first. */
typedef int history_blob_fn(void *arg, const char *hex, struct str *out);

/*
 * Makes the text after record `index` (before: the text before it) the content of out: from the
 * nearest blob or empty text, by patches; every text is checked against its hash. A blob that is
 * missing or does not match is passed over. ETHOS_NOTFOUND when no way leads there.
 */
int history_rebuild(const struct history *history, size_t index, bool before, history_blob_fn *blob,
                    void *arg, struct str *out);

/*
 * Turns the text before a record with append_blob into the one after it, in place. ETHOS_NOTFOUND when the part is
 * missing or not what its name says.
 */
int history_append(const struct history_record *record, history_blob_fn *blob, void *arg,
                   struct str *text);

/* ---- the end of a journal ------------------------------------------------------------------- */

/* What the newest lines say about a key; all zero while !any. */
struct history_last {
    bool any;
    char hash[72]; /* the text after its last line */
    bool absent;
    uint64_t size;
    int64_t ts_ms;
    bool alone;          /* no other key took part in that append */
    bool ours;           /* its last line is one of ours */
    unsigned since_blob; /* lines of the key since the one that stores its whole text */
};

/*
 * Finds the last append that touched key in lines (whole lines, any keys), from the end. What the
 * lines do not show stays as it is in out: pass the result of older lines. ETHOS_NOMEM.
 */
int history_last(struct ethos_view lines, const char *key, struct history_last *out);

#endif

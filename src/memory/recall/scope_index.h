/*
 * scope_index.h: the index of a scope, and updating it.
 *
 * An index is a file in <root>/recall, named after its scope. An update lists the texts, reads
 * those whose size or time changed, and indexes those whose content did. Whoever has the lock
 * "recall" writes the file; others continue in memory. Only what models may read is indexed.
 */
#ifndef ETHOS_MEMORY_RECALL_SCOPE_INDEX_H
#define ETHOS_MEMORY_RECALL_SCOPE_INDEX_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

#include "base/arena.h"
#include "base/str.h"
#include "memory/shown_file.h"
#include "recall/index.h"
#include "recall/vector_file.h"

#define RECALL_ARCHIVE "memory-archive.md"
#define RECALL_MAX_FILES 100000 /* of a scope */

/* Zero all members but the first two; release always. */
struct scope_index {
    struct ethos *ethos;
    struct ethos_provider *provider;
    char scope[ETHOS_MAX_SCOPE];
    struct recall_index *index;
    struct vector_file *vectors; /* of the index; NULL: not open, or no model */
    int64_t encode_until_ms;     /* in: encode passages until then; 0: without limit */
    uint64_t encoded;            /* passages encoded by this update */
    bool damaged;                /* the file was damaged, and the index is rebuilt */
    bool partial;                /* there are more than RECALL_MAX_FILES texts */
    bool unsaved;                /* what changed could not be written */
    int code;                    /* why the first unreadable text is not searched, or ETHOS_OK */
    struct ethos_error error;
    const struct shown_decisions *decisions; /* in: of all scopes; NULL: read them */
    struct shown_lines shown;                /* lines of the scope that the owner allows */
    uint64_t shown_mark;                     /* checksum of those; 0: none */
    uint64_t indexed;                        /* texts indexed by this update */
    uint64_t unreadable;                     /* texts that were skipped */
    struct arena arena;                      /* holds forced and shown */
    const char **forced;                     /* keys to read whatever their time */
    size_t forced_count, forced_room;
};

/* encode_until_ms of callers that encode nothing. */
#define SCOPE_ENCODE_NOTHING INT64_MIN

/*
 * Updates the index. quick: if the directory of the scope has not changed, texts are not listed;
 * that misses edits that do not replace the file. A scope without texts is ETHOS_OK.
 */
int scope_index_catch_up(struct scope_index *self, bool quick, struct ethos_error *error);
void scope_index_release(struct scope_index *self);

/* Opens its vectors, unless they are open. ETHOS_OK or ETHOS_NOMEM. */
int scope_index_open_vectors(struct scope_index *self, struct ethos_error *error);

/*
 * Opens the index without updating it. ETHOS_CORRUPT if it is damaged; out_same is false if it has
 * another content of an unchanged text.
 */
int scope_index_verify(struct scope_index *self, bool *out_same, struct ethos_error *error);

/* Reads the text of a key again next time. ETHOS_OK or ETHOS_NOMEM. */
int scope_index_force(struct scope_index *self, struct ethos_view key);

/*
 * Reads a text and the part of it that is indexed (borrowed from either); ETHOS_NOTFOUND if it does
 * not exist.
 */
struct scope_text {
    struct ethos_text raw;
    struct str safe;
    bool found; /* the scanner found something, which may be allowed */
};
int scope_index_read(const struct scope_index *self, const char *key, struct scope_text *text,
                     struct ethos_view *out, struct ethos_error *error);

/* Likewise for an indexed text: one in which the scanner found nothing is not scanned again. */
int scope_index_read_again(const struct scope_index *self, const char *key,
                           const struct image_document *indexed, struct scope_text *text,
                           struct ethos_view *out, struct ethos_error *error);
void scope_text_init(struct scope_text *text);
void scope_text_release(const struct ethos *ethos, struct scope_text *text);

/* The version of a text in an index, which also changes with the part that may be read. */
uint64_t scope_text_version(struct ethos_view visible);

#endif

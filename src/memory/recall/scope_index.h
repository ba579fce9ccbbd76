/*
 * scope_index.h: the index of a scope, as far as its texts have come.
 *
 * An index is a file in <root>/recall, named after its scope. Catching up lists the texts, reads those whose
 * size or time changed, and indexes those whose content did. Whoever has the lock "recall" writes the file; others
 * go on with what they made, in memory. What is indexed of a text is what a model may read of it.
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

/* Start from all zero but for the first two; release always. */
struct scope_index {
    struct ethos *ethos;
    struct ethos_provider *provider;
    char scope[ETHOS_MAX_SCOPE];
    struct recall_index *index;
    struct vector_file *vectors; /* of the index; NULL: not open, or without a model */
    int64_t encode_until_ms;     /* in: passages are encoded until then; 0: however long it takes */
    uint64_t encoded;            /* passages that were encoded now */
    bool damaged;                /* the file was, and the index is made anew */
    bool partial;                /* there are more than RECALL_MAX_FILES texts */
    bool unsaved;                /* what changed could not be written */
    int code; /* why the first text could not be read, or ETHOS_OK: it is not searched */
    struct ethos_error error;
    const struct shown_decisions *decisions; /* in: of all scopes; NULL: they are read */
    struct shown_lines shown;                /* lines of the scope that the owner allows */
    uint64_t shown_mark;                     /* a number of those; 0: none */
    uint64_t indexed;                        /* texts that were indexed now */
    uint64_t unreadable;                     /* texts that were passed over */
    struct arena arena;                      /* of forced and shown */
    const char **forced;                     /* keys to be read whatever their time says */
    size_t forced_count, forced_room;
};

/* encode_until_ms of whoever encodes nothing. */
#define SCOPE_ENCODE_NOTHING INT64_MIN

/*
 * quick: the texts are not listed where the directory of the scope has not changed; an edit that does not replace
 * its file is then missed. A scope that has no texts is ETHOS_OK.
 */
int scope_index_catch_up(struct scope_index *self, bool quick, struct ethos_error *error);
void scope_index_release(struct scope_index *self);

/* What is known of its passages, unless it is open. ETHOS_OK or ETHOS_NOMEM. */
int scope_index_open_vectors(struct scope_index *self, struct ethos_error *error);

/*
 * Opens the index as it is. ETHOS_CORRUPT when it is damaged; out_same is false when it knows another content of
 * a text than that has, which has not changed since.
 */
int scope_index_verify(struct scope_index *self, bool *out_same, struct ethos_error *error);

/* The next time, the text of a key is read. ETHOS_OK or ETHOS_NOMEM. */
int scope_index_force(struct scope_index *self, struct ethos_view key);

/* Reads a text and makes out what is indexed of it (borrowed from either); ETHOS_NOTFOUND when there is none. */
struct scope_text {
    struct ethos_text raw;
    struct str safe;
    bool found; /* the scan found something, which may be shown all the same */
};
int scope_index_read(const struct scope_index *self, const char *key, struct scope_text *text,
                     struct ethos_view *out, struct ethos_error *error);

/* The same of a text that is indexed: what was found to have nothing to hide is not scanned again. */
int scope_index_read_again(const struct scope_index *self, const char *key,
                           const struct image_document *indexed, struct scope_text *text,
                           struct ethos_view *out, struct ethos_error *error);
void scope_text_init(struct scope_text *text);
void scope_text_release(const struct ethos *ethos, struct scope_text *text);

/* The version of a text in an index, which changes with what of it may be read. */
uint64_t scope_text_version(struct ethos_view visible);

#endif

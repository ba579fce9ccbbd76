/*
 * internal.h: the parts that import and export share. Private to memory/import_export/.
 */
#ifndef ETHOS_MEMORY_IMPORT_EXPORT_INTERNAL_H
#define ETHOS_MEMORY_IMPORT_EXPORT_INTERNAL_H

#include "base/arena.h"
#include "base/json.h"
#include "core/formats/memory_formats.h"
#include "memory/import_export/import_export.h"

#define TRANSFER_INDEX "MEMORY.md"
#define TRANSFER_PROFILE "USER.md"
#define TRANSFER_PATH 4096

/* ---- source.c: what another program keeps ------------------------------------------ */

struct source_item {
    struct foreign_item item;
    const char *file;       /* path within the source, with :line unless it is the whole file */
    const char *key;        /* of a note, once known */
    struct ethos_view note; /* the text to import */
};

struct import_source {
    struct arena arena; /* holds every text and name */
    char path[TRANSFER_PATH];
    struct source_item *items;
    size_t count, capacity;
};

/* Finds and reads the source; what is skipped is reported to what->each. Release it in any case. */
int source_load(struct ethos_turn *turn, const struct transfer_request *what,
                struct import_source *out, struct ethos_error *error);
void source_release(struct import_source *source);

/* ---- redact.c: what looks like a secret -------------------------------------------- */

/* Appends the text with secrets redacted. Returns str_code. */
int secret_redact(struct ethos_view text, struct str *out);

/* Calls each with every line, from 1, that contains a secret, and its kind. Returns str_code. */
typedef void secret_fn(void *arg, size_t line, struct ethos_view tag);
int secret_find(struct ethos_view text, secret_fn *each, void *arg);

/* ---- state.c: what was seen before ------------------------------------------------- */

#define ENTRY_HASH 16 /* hex digits */

struct imports {
    char scope[ETHOS_MAX_SCOPE];
    json_t *json;   /* the whole file */
    json_t *loaded; /* as it was read */
};

/*
 * The record of a scope, empty if there is none. Imports are forgotten if the scope has neither
 * texts nor history: then nobody deleted them one by one. ETHOS_CORRUPT says how to continue.
 */
int imports_load(struct ethos_turn *turn, const char *scope, struct imports *out,
                 struct ethos_error *error);
/* Writes the record unless it is unchanged. */

/* ETHOS_LIMIT if the record cannot hold so many more files; called before they are written. */
int imports_check_room(const struct imports *imports, size_t files, struct ethos_error *error);

int imports_save(struct ethos_turn *turn, const struct imports *imports, struct ethos_error *error);
void imports_release(struct imports *imports);

/* Locks out other imports and exports; closing *out_lock releases it. */
int imports_lock(struct ethos_turn *turn, int *out_lock, struct ethos_error *error);

/*
 * The object {"a": {"b": {"c": here}}} of a record, created if missing. Borrowed; NULL if out of
 * memory. Names end with NULL.
 */
json_t *imports_part(struct imports *imports, const char *const *names);

/* Likewise if it exists, else NULL. */
const json_t *imports_find(const struct imports *imports, const char *const *names);

/* The first ENTRY_HASH digits of the hash of a fact. ETHOS_NOMEM. */
int imports_hash(struct ethos_view text, char out[ENTRY_HASH + 1]);

#endif

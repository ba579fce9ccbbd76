/*
 * ethos/limits.h: every size this project refuses to exceed, each with its unit.
 *
 * CH means UTF-16 code units of the text read as UTF-8, the unit of the memory format.
 */
#ifndef ETHOS_LIMITS_H
#define ETHOS_LIMITS_H

#define ETHOS_MAX_ID 128        /* bytes: personality, user and team ids */
#define ETHOS_MAX_NAME 128      /* bytes: file names of memory */
#define ETHOS_MAX_KEY 224       /* bytes: any key; those of a tree are paths */
#define ETHOS_MAX_OPID 128      /* bytes */
#define ETHOS_MAX_TITLE_CH 1000 /* CH: of a note, since the index is in every prompt */
#define ETHOS_MAX_SCOPE 160     /* bytes: kind, colon, id, terminator */

#define ETHOS_OPID_DAYS 30      /* days an operation id is remembered at least */
#define ETHOS_OPID_COUNT 10000  /* operation ids a scope remembers at least, however old */
#define ETHOS_OPID_AT_ONCE 1024 /* operation ids that a database forgets in one commit */

#define ETHOS_RECEIPT_SIZE 128 /* bytes with terminator: what a callback wants remembered */
#define ETHOS_REVISION_SIZE 80 /* bytes with terminator; "sha256:" and 64 hex digits are 71 */

#define ETHOS_MAX_FILE_CH 524288       /* CH: what a write may leave in one key */
#define ETHOS_MAX_READ_BYTES 67108864  /* bytes: a larger file shows its tail and refuses writes */
#define ETHOS_MAX_TREE_BYTES 2097152   /* bytes: what a write may leave in a file of a tree */
#define ETHOS_MAX_STORE_BYTES 67108864 /* bytes: one text in a store, archives included */

#define ETHOS_MAX_HISTORY_BYTES 1073741824 /* bytes: all history of one scope, read at once */

#define ETHOS_MAX_BATCH 1024           /* updates in one call */
#define ETHOS_MAX_INPUT_BYTES 16777216 /* bytes: command line input, stdin or file */

#define ETHOS_MAX_JSON_DEPTH 64      /* nested arrays and objects */
#define ETHOS_MAX_JSON_VALUES 262144 /* in one document: each costs many times its text */
#define ETHOS_MAX_YAML_DEPTH 16      /* nested mappings */
#define ETHOS_MAX_YAML_BYTES 65536   /* bytes: config.yaml, frontmatter */
#define ETHOS_MAX_QUERY 1024         /* bytes */
#define ETHOS_MAX_MATCH 1024         /* bytes: a text to be purged */
#define ETHOS_MAX_MAP_BYTES 8388608  /* bytes: identity-map.json */

#define ETHOS_CAP_MIN_CH 1000      /* CH: prefetch.maxChars */
#define ETHOS_CAP_DEFAULT_CH 20000 /* CH */
#define ETHOS_CAP_MAX_CH 200000    /* CH */

#define ETHOS_LOCK_DEADLINE_MS 10000 /* ms */
#define ETHOS_BRIEF_DEADLINE_MS 100  /* ms: of those in a hurry */
#define ETHOS_READ_DEADLINE_MS 3000  /* ms: for a connection, or for reading texts */
#define ETHOS_REACH_MS 1000          /* ms: one whom nobody has reached yet is tried again */
#define ETHOS_ATTEMPT_MS 2000        /* ms: of one attempt, where the host has another answer */

#define ETHOS_DIFF_CONTEXT 4 /* lines */

#endif

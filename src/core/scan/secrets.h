/*
 * secrets.h: finds the secrets in a text.
 *
 * There are three kinds of rules. A token has a published prefix and a shape ("ghp_", 36 letters or
 * digits). A value follows a name (password: ...), or is in a header, a URL or a command line, and
 * has to look like a secret. A block is a private key, from its header on. Rules only examine up to
 * SECRET_REACH bytes around a place, and every search is linear in the text.
 */
#ifndef ETHOS_CORE_SCAN_SECRETS_H
#define ETHOS_CORE_SCAN_SECRETS_H

#include <stdbool.h>

#include <ethos/types.h>

#define SECRET_REACH 512   /* bytes around an anchor that a rule examines */
#define SECRET_BLOCK 16384 /* bytes of a private key */
#define SECRET_VALUE 4096  /* bytes of a value or token */
#define SECRET_RUN 20 /* bytes of a token without spaces that may be a secret by its shape alone */
#define SECRET_STARTS 6   /* places in such a token where one may begin: after =, / and the like */
#define SECRET_CLASSES 14 /* of bytes */

struct secret {
    size_t start, end; /* only the bytes of the secret: no name, quotes or scheme */
    const char *tag;
};

/* Bytes of a text. */
struct secret_span {
    size_t from, to;
};

/* A search from the start of a text to its end. Initialize with zeros except the text. */
struct secret_search {
    struct ethos_view text;
    size_t at;           /* the search continues here */
    size_t anchor;       /* anchors before it were tried */
    size_t run, run_end; /* runs before `run` were tried; the current one */
    size_t name;         /* names in other scripts before it were tried */
    bool has_anchor, has_run, has_name;
    struct secret by_anchor, by_run, by_name; /* found but not yet returned */
    struct secret_span runs[SECRET_CLASSES];  /* cached run of each class */
    /* Cached properties of bytes that several rules need. */
    struct secret_span value, argument; /* nothing in it ends one */
    struct secret_span no_filler;       /* no placeholder begins in it */
    struct secret_span no_digit, no_upper, no_bracket, names, key_bytes; /* as their names say */
    struct secret_span prose;     /* no word in it is a password */
    struct secret_span key_lines; /* lines of base64 and tokens */
    bool has_title;               /* a header or footer of a private key was found */
    bool ends_sentence;           /* behind `prose` */
};

/* The next secret, in the order of the text, without overlaps. False if there are no more. */
bool secret_next(struct secret_search *self, struct secret *out);

/*
 * Finds a private key that continues after the line with its header, or one without a header that
 * begins in a line and continues to its footer in a later line. Call it for lines in order, with
 * one search for all, so that nothing is read twice.
 */
bool secret_find_block(struct secret_search *search, struct ethos_view line, struct secret *out);
bool secret_find_headless_block(struct secret_search *search, struct ethos_view line,
                                struct secret *out);

#endif

/*
 * secrets.h: where the secrets of a text are.
 *
 * Three kinds of rules. A token has a published prefix and a shape ("ghp_", 36 letters or digits). A value stands
 * behind a name (password: ...), in a header, a URL or on a command line, and has to look like one. A block is a
 * private key, from its header on. Rules only look at the bytes around them, at most SECRET_REACH of them, and
 * every search is linear in the text, whatever the text is.
 */
#ifndef ETHOS_CORE_SCAN_SECRETS_H
#define ETHOS_CORE_SCAN_SECRETS_H

#include <stdbool.h>

#include <ethos/types.h>

#define SECRET_REACH 512   /* bytes around an anchor that a rule looks at */
#define SECRET_BLOCK 16384 /* bytes of a private key */
#define SECRET_VALUE 4096  /* bytes of a value or token */
#define SECRET_RUN 20 /* bytes of a token without blanks that may be a secret by its shape alone */
#define SECRET_STARTS 6   /* places in such a token where one may begin: behind =, / and the like */
#define SECRET_CLASSES 14 /* of bytes */

struct secret {
    size_t start, end; /* the bytes of the secret alone: no name, no quotes, no scheme */
    const char *tag;
};

/* Bytes of a text. */
struct secret_span {
    size_t from, to;
};

/* A search from the start of a text to its end. Start from all zero but for the text. */
struct secret_search {
    struct ethos_view text;
    size_t at;           /* nothing is found before it */
    size_t anchor;       /* anchors before it were tried */
    size_t run, run_end; /* runs before `run` were tried; the one that begins there */
    size_t name;         /* names in other scripts before it were tried */
    bool has_anchor, has_run, has_name;
    struct secret by_anchor, by_run, by_name; /* found, and not given out yet */
    struct secret_span runs[SECRET_CLASSES]; /* the bytes of a class, where it was asked for last */
    /* What was found out about bytes that several rules ask for. */
    struct secret_span value, argument; /* nothing in it ends one */
    struct secret_span no_filler;       /* no word begins in it that only stands for a value */
    struct secret_span no_digit, no_upper, no_bracket, names, key_bytes; /* what they say */
    struct secret_span prose;     /* no word in it is a password */
    struct secret_span key_lines; /* lines of base64 and tokens */
    bool has_title;               /* a header or footer of a private key was met */
    bool ends_sentence;           /* behind `prose` */
};

/*
 * The next secret, in the order of the text and never overlapping the one before. False when there is no more.
 */
bool secret_next(struct secret_search *self, struct secret *out);

/*
 * A private key that goes on behind a line of the text in which its header stands; one without a header that begins
 * in a line and goes on to its footer, in a line behind it. Lines are asked for in their order, with one search for
 * all: what was read for one is not read again for the next.
 */
bool secret_find_block(struct secret_search *search, struct ethos_view line, struct secret *out);
bool secret_find_headless_block(struct secret_search *search, struct ethos_view line,
                                struct secret *out);

#endif

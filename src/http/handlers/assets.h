/*
 * assets.h: the files of the dashboard, as tools/embed puts them into the program.
 */
#ifndef ETHOS_HTTP_HANDLERS_ASSETS_H
#define ETHOS_HTTP_HANDLERS_ASSETS_H

/*
 * What a document may load: our own files, and no script or style that stands in it but those whose
 * hashes are given, each behind a blank.
 */
#define HTTP_POLICY(scripts, styles)                                                               \
    "default-src 'none'; script-src 'self'" scripts "; style-src 'self'" styles                    \
    "; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; "            \
    "frame-ancestors 'none'; require-trusted-types-for 'script'"

/* A file: its bytes are [start, end), those of its smaller copy [zip, zip_end), which may be none. */
struct asset {
    const char *name; /* "js/app.js" */
    const char *etag; /* in quotes: a hash of the bytes */
    const char *start, *end;
    const char *zip, *zip_end;
};

extern const struct asset assets[]; /* ends with name NULL */

/* Changes with any of them: "/assets/<version>/js/app.js" is always the same bytes. */
extern const char assets_version[];

/* Of index.html, which has a script and a style in it. */
extern const char assets_policy[];

const struct asset *asset_find(const char *name); /* NULL: there is none */

#endif

/*
 * assets.h: the files of the dashboard, as tools/embed puts them into the program.
 */
#ifndef ETHOS_HTTP_ASSETS_H
#define ETHOS_HTTP_ASSETS_H

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

#endif

/*
 * markdown_internal.h: what the markdown files share.
 */
#ifndef ETHOS_CORE_FORMATS_MARKDOWN_INTERNAL_H
#define ETHOS_CORE_FORMATS_MARKDOWN_INTERNAL_H

#include "core/formats/markdown.h"

struct str;

/* Appends the character of an entity ("&amp;", "&#955;"); an unknown entity as it is written. */
int markdown_entity(struct ethos_view entity, struct str *out);

/* A link without markup: a URL or a mail address. */
struct markdown_link {
    size_t start, end;
    bool mail;
};

/* Finds the first link from an offset on. Linear if each call starts at the end of the previous link. */
bool markdown_link(struct ethos_view text, size_t from, struct markdown_link *out);

/* A run of invisible characters. */
struct markdown_hidden {
    size_t start, end;
};

/* Finds the first run from an offset on. */
bool markdown_hidden(struct ethos_view text, size_t from, struct markdown_hidden *out);

/* Appends a text with invisible characters made visible. */
int markdown_show(struct ethos_view text, struct str *out);

/* ETHOS_LIMIT if parsing would take too long. */
int markdown_affordable(struct ethos_view text, struct ethos_error *error);

#endif

/*
 * markdown_internal.h: what the files of markdown share.
 */
#ifndef ETHOS_CORE_FORMATS_MARKDOWN_INTERNAL_H
#define ETHOS_CORE_FORMATS_MARKDOWN_INTERNAL_H

#include "core/formats/markdown.h"

struct str;

/* Appends the character an entity ("&amp;", "&#955;") stands for; one that is not known as it is written. */
int markdown_entity(struct ethos_view entity, struct str *out);

/* A link as people write it into a text: a URL, or the address of a mail. */
struct markdown_link {
    size_t start, end;
    bool mail;
};

/* The first one from an offset on. Linear, when each call begins where the link before ended. */
bool markdown_link(struct ethos_view text, size_t from, struct markdown_link *out);

/* Characters that nobody would see, one after the other. */
struct markdown_hidden {
    size_t start, end;
};

/* The first of them from an offset on. */
bool markdown_hidden(struct ethos_view text, size_t from, struct markdown_hidden *out);

/* Appends a text with those as something to read. */
int markdown_show(struct ethos_view text, struct str *out);

/* ETHOS_LIMIT when parsing would take long. */
int markdown_affordable(struct ethos_view text, struct ethos_error *error);

#endif

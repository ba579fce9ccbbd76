/*
 * export.h: exports a conversation: Markdown for people, JSON for programs.
 */
#ifndef ETHOS_MEMORY_SESSIONS_EXPORT_H
#define ETHOS_MEMORY_SESSIONS_EXPORT_H

#include <ethos/ethos.h>

struct str;

#define SESSIONS_EXPORT_FORMATS "md|json"
#define SESSIONS_EXPORT_BYTES 1073741824 /* of one text */
#define SESSIONS_EXPORT_SERVED 33554432  /* of a text sent to another program */

/*
 * Appends a session as Markdown: its title and metadata, then each message under its speaker and
 * time; calls and results of tools are fenced. So nothing in a message can pass for a part of the
 * document, or extend beyond its message.
 */
int sessions_export_markdown(struct ethos *self, const char *id, struct str *out,
                             struct ethos_error *error);

/* The error for a conversation that is too large: ETHOS_LIMIT. */
int sessions_export_large(size_t most, struct ethos_error *error);

#endif

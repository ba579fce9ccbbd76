/*
 * export.h: a conversation as text: markdown for people, JSON for programs.
 */
#ifndef ETHOS_MEMORY_SESSIONS_EXPORT_H
#define ETHOS_MEMORY_SESSIONS_EXPORT_H

#include <ethos/ethos.h>

struct str;

#define SESSIONS_EXPORT_FORMATS "md|json"
#define SESSIONS_EXPORT_BYTES 1073741824 /* of one text */
#define SESSIONS_EXPORT_SERVED 33554432  /* of one that is sent to another program */

/*
 * Appends a session as markdown: its title, what is known of it, then each message under who spoke
 * and when; calls and results of tools are fenced, so that nothing in them reads as the document's
 * own, and nothing that a message begins reaches beyond it.
 */
int sessions_export_markdown(struct ethos *self, const char *id, struct str *out,
                             struct ethos_error *error);

/* It does not fit: ETHOS_LIMIT. */
int sessions_export_large(size_t most, struct ethos_error *error);

#endif

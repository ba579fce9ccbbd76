/*
 * attachment.h: files that a message brings along, behind its text.
 *
 *     <blank line>
 *     <attachment name="notes.txt">
 *     the text of the file
 *     </attachment>
 *
 * From the first one on, nothing of a message is what its person says: a model gets all of it fenced as data, and
 * recall does not give it back as theirs.
 */
#ifndef ETHOS_CORE_SESSIONS_ATTACHMENT_H
#define ETHOS_CORE_SESSIONS_ATTACHMENT_H

#include <ethos/types.h>

struct str;

/* In the content blocks of a message, where all of it is somebody else's. */
#define MESSAGE_FOREIGN "\"ethos_foreign\""

/* Appends one. Returns str_code. */
int attachment_add(struct ethos_view name, struct ethos_view text, struct str *out);

/* What a person says in a message, without what is attached. */
struct ethos_view attachment_said(struct ethos_view message);

#endif

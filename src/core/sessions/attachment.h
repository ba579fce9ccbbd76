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

#include <stdbool.h>

#include <ethos/types.h>

struct str;

/* In the content blocks of a message: all of it is somebody else's; it is the owner's, read by a tool of ours; it is
   an answer that was given after somebody else's text had been read. */
#define MESSAGE_FOREIGN "\"ethos_foreign\""
#define MESSAGE_OWN "\"ethos_own\""
#define MESSAGE_UNTRUSTED "\"ethos_untrusted\""

/* Appends one. Returns str_code. */
int attachment_add(struct ethos_view name, struct ethos_view text, struct str *out);

/* What a person says in a message, without what is attached. */
struct ethos_view attachment_said(struct ethos_view message);

/* Whether a message holds somebody else's text, or may repeat it. blocks: its content blocks, or NULL. */
bool message_is_untrusted(const char *role, const char *blocks, struct ethos_view content);

#endif

/*
 * attachment.h: files attached to a message, after its text.
 *
 *     <blank line>
 *     <attachment name="notes.txt">
 *     the text of the file
 *     </attachment>
 *
 * Everything from the first attachment on is not the person's own text: a model gets it fenced as
 * data, and recall does not present it as theirs.
 */
#ifndef ETHOS_CORE_SESSIONS_ATTACHMENT_H
#define ETHOS_CORE_SESSIONS_ATTACHMENT_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

/* Marks in the content blocks of a message. */
#define MESSAGE_FOREIGN "\"ethos_foreign\"" /* all of it is somebody else's text */
#define MESSAGE_OWN "\"ethos_own\""         /* the owner's text, read by a tool of ours */
#define MESSAGE_UNTRUSTED                                                                          \
    "\"ethos_untrusted\"" /* an answer in a turn that had read somebody else's text */

/* Appends one. Returns str_code. */
int attachment_add(struct ethos_view name, struct ethos_view text, struct str *out);

/* What a person says in a message, without what is attached. */
struct ethos_view attachment_said(struct ethos_view message);

/* Whether a message holds somebody else's text, or may repeat it. blocks: its content blocks, or NULL. */
bool message_is_untrusted(const char *role, const char *blocks, struct ethos_view content);

#endif

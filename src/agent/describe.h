/*
 * describe.h: what a prompt is made of, for a person who asks why the model answered as it did.
 */
#ifndef ETHOS_AGENT_DESCRIBE_H
#define ETHOS_AGENT_DESCRIBE_H

#include "agent/conversation.h"
#include "agent/prompt.h"
#include "agent/tools/toolbox.h"
#include "base/json.h"

/* The object that agent_describe documents; first: the first message that is sent. NULL: no memory. */
json_t *describe_prompt(const struct prompt *prompt, const struct toolbox *toolbox,
                        const struct conversation *conversation, size_t first, int64_t window);

#endif

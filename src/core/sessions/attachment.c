/*
 * attachment.c: files that a message brings along.
 */
#include "core/sessions/attachment.h"

#include "base/str.h"
#include "base/view.h"

#define OPENING "<attachment name=\""
#define MAX_NAME 80 /* bytes shown */

int attachment_add(struct ethos_view name, struct ethos_view text, struct str *out)
{
    size_t shown = name.size < MAX_NAME ? name.size : MAX_NAME;
    str_adds(out, "\n\n" OPENING);
    for (size_t i = 0; i < shown; i++)
        str_addc(out, name.data[i] == '"' || name.data[i] == '\n' ? '_' : name.data[i]);
    str_adds(out, "\">\n");
    str_add(out, view_trim_end(text));
    return str_adds(out, "\n</attachment>");
}

struct ethos_view attachment_said(struct ethos_view message)
{
    struct ethos_view rest = message, line;
    while (view_line(&rest, &line))
        if (view_starts(line, VIEW(OPENING)))
            return view_trim_end(view_of(message.data, (size_t)(line.data - message.data)));
    return message;
}

bool message_is_untrusted(const char *role, const char *blocks, struct ethos_view content)
{
    if (strcmp(role, "tool_result") == 0)
        return !blocks || !strstr(blocks, MESSAGE_OWN);
    return (blocks && (strstr(blocks, MESSAGE_FOREIGN) || strstr(blocks, MESSAGE_UNTRUSTED))) ||
           attachment_said(content).size < content.size;
}

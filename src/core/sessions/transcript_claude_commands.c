/*
 * transcript_claude_commands.c: what Claude Code writes in the user's name when a slash command is run.
 *
 *     <command-name>/review</command-name> <command-message>review</command-message>
 *     <command-args>the last commit</command-args>
 *     <local-command-stdout>...</local-command-stdout>
 *
 * Name and message come in either order, what was typed after the name last, if at all. Only a text
 * that is nothing but that is taken for it: a person may write about such tags.
 */
#include <stdio.h>
#include <string.h>

#include "base/view.h"
#include "core/sessions/transcript_internal.h"

#define TAG_SIZE 32

/* Cuts "<tag>...</tag>" and blanks from the beginning of a text. */
static bool take_tag(struct ethos_view *text, const char *tag, struct ethos_view *out)
{
    char open[TAG_SIZE], close[TAG_SIZE];
    snprintf(open, sizeof open, "<%s>", tag);
    snprintf(close, sizeof close, "</%s>", tag);
    if (!view_starts(*text, view_str(open)))
        return false;
    struct ethos_view body = view_from(*text, strlen(open));
    const char *end = memmem(body.data, body.size, close, strlen(close));
    if (!end)
        return false;
    *out = view_of(body.data, (size_t)(end - body.data));
    *text = view_trim(view_from(body, out->size + strlen(close)));
    return true;
}

/* The arguments are all the rest: they may have any tag in them. */
static bool take_args(struct ethos_view text, struct ethos_view *out)
{
    const struct ethos_view open = VIEW("<command-args>"), close = VIEW("</command-args>");
    if (!view_starts(text, open) || !view_ends(text, close) || text.size < open.size + close.size)
        return false;
    *out = view_trim(view_of(text.data + open.size, text.size - open.size - close.size));
    return true;
}

static bool is_command_name(struct ethos_view name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (memchr(" \t\r\n<>", name.data[i], 6))
            return false;
    }
    return name.size > 1 && name.data[0] == '/';
}

bool command_typed(struct ethos_view text, struct ethos_view *out_name, struct ethos_view *out_args)
{
    struct ethos_view rest = view_trim(text), message;
    bool named = take_tag(&rest, "command-name", out_name);
    if (!take_tag(&rest, "command-message", &message) ||
        (!named && !take_tag(&rest, "command-name", out_name)))
        return false;
    *out_args = VIEW("");
    return (rest.size == 0 || take_args(rest, out_args)) && is_command_name(*out_name);
}

bool command_is_local(struct ethos_view text, bool *out_answer)
{
    struct ethos_view rest = view_trim(text), said;
    *out_answer = false;
    if (rest.size == 0)
        return false;
    while (rest.size > 0) {
        if (take_tag(&rest, "local-command-stdout", &said) ||
            take_tag(&rest, "local-command-stderr", &said))
            *out_answer = true;
        else if (!take_tag(&rest, "local-command-caveat", &said))
            return false;
    }
    return true;
}

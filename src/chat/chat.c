/*
 * chat.c: ethos chat: a conversation in the terminal.
 */
#include "chat/chat.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "chat/live.h"
#include "chat/plain.h"
#include "chat/talk.h"
#include "chat/tty.h"

/* A screen reader sets it. */
static bool is_screen_reader_set(void)
{
    const char *value = getenv("ACCESSIBLE");
    return value && *value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

static bool should_be_plain(const struct surface_start *start)
{
    return json_is_true(json_object_get(start->args, "plain")) || is_screen_reader_set() ||
           !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !tty_moves_cursor();
}

int chat_talk(const struct surface_start *start, struct ethos_error *error)
{
    struct chat_talk talk;
    if (start->json)
        return err_hint(error, err_set(error, ETHOS_INVALID, "a conversation has no JSON form"),
                        "ethos ask --json gives the events of one turn");
    int code = talk_open(start, &talk, error);
    if (code == ETHOS_OK)
        code = should_be_plain(start) || talk_setting_is(&talk, "chat.plain", "on")
                   ? chat_plain(&talk, error)
                   : chat_live(&talk, error);
    talk_release(&talk);
    return code;
}

/*
 * transcript_resume.c: from where a transcript that grows can be read on.
 *
 * A question that follows an answer divides: neighbours are not joined over it, results stay on
 * their side, and of a tree of lines what is before it is judged the same whatever comes below it.
 * What does reach over it is noticed where it is read: reaches_back and reaches_on.
 */
#include <string.h>

#include "base/view.h"
#include "core/sessions/transcript_internal.h"

bool place_fits(const struct transcript_reading *reading)
{
    const struct transcript_place *from = reading->from;
    const struct transcript_item *first = reading->ordered;
    return !reading->reaches_back && first && first->firm && first->line == from->lines + 1 &&
           strcmp(reading->about->session.id, from->session) == 0;
}

/* Whether all that was read so far stays as it is. */
static bool is_read_final(const struct transcript_reading *reading, bool titled)
{
    bool title_to_come = !titled && (reading->summed || reading->title_rank > 0);
    return !reading->reaches_on && !title_to_come;
}

/* Whether the line that begins there is not one that is being written. */
static bool is_ended(struct ethos_view text, size_t offset)
{
    return memchr(text.data + offset, '\n', text.size - offset);
}

void place_find(struct transcript_reading *reading)
{
    static const struct transcript_place beginning;
    const struct transcript_place *from = reading->from ? reading->from : &beginning;
    const struct ethos_session *session = &reading->about->session;
    const struct transcript_item *turn = reading->turn;
    bool titled = from->titled || session->title;
    if (!turn || !session->id || !is_read_final(reading, titled) ||
        !is_ended(reading->whole, turn->offset))
        return;
    struct transcript_place next = {.offset = from->offset + turn->offset,
                                    .lines = turn->line - 1,
                                    .messages = from->messages,
                                    .time = from->time,
                                    .session = session->id,
                                    .response = turn->response ? turn->response : "",
                                    .tokens = turn->tokens,
                                    .titled = titled};
    for (const struct transcript_item *item = reading->ordered; item != turn; item = item->after) {
        next.messages++;
        next.time = item->timestamp;
    }
    reading->about->next = next;
}

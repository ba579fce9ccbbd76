/*
 * conversation_vectors.c: encodes the passages of conversations lazily, as they are many and rarely
 * searched.
 */
#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/recall/conversations_internal.h"
#include "memory/recall/vector_fill.h"

struct message_reader {
    struct conversations *self;
    struct str safe, text;
    uint32_t check;
    bool same;
};

static int read_visible_message(void *arg, const struct ethos_message *message)
{
    struct message_reader *reader = arg;
    struct ethos_view visible;
    if (said_visible(message, &reader->safe, &visible) != ETHOS_OK)
        return ETHOS_NOMEM;
    reader->same = visible.data && IMAGE_CHECK(visible) == reader->check;
    str_clear(&reader->text);
    return reader->same ? str_add(&reader->text, visible) : ETHOS_OK;
}

/* A deleted or unreadable message is found by its words until its room is compared. */
static int read_message_unit(void *arg, const struct image *image, uint32_t document, uint32_t unit,
                             struct ethos_view *out)
{
    struct message_reader *reader = arg;
    struct ethos_sessions *store = reader->self->store;
    reader->check = image->units[unit].check;
    reader->same = false;
    int code = store->ops->message(store, said_number(image, document, unit), read_visible_message,
                                   reader, NULL);
    if (code == ETHOS_OK && reader->same)
        *out = str_view(&reader->text);
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

int said_room_open_vectors(struct conversations *self, struct said_room *room,
                           struct ethos_error *error)
{
    struct ethos_error why;
    int code = room->vectors ? ETHOS_OK
                             : vector_fill_open(self->ethos, recall_folder_model(self->ethos),
                                                room->file, &room->vectors, &why);
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

int said_room_encode(struct conversations *self, struct said_room *room, int64_t until_ms,
                     uint64_t *out_encoded, struct ethos_error *error)
{
    struct message_reader reader = {.self = self};
    struct vector_fill fill = {.ethos = self->ethos,
                               .model = recall_folder_model(self->ethos),
                               .index = room->index,
                               .file = room->file,
                               .read = read_message_unit,
                               .arg = &reader,
                               .until_ms = until_ms};
    struct ethos_error why;
    int code = self->store ? said_room_open_vectors(self, room, error) : ETHOS_OK;
    if (code != ETHOS_OK || !room->vectors || !vector_fill_lacks(room->vectors, room->index))
        return code;
    str_init(&reader.safe, SIZE_MAX);
    str_init(&reader.text, SIZE_MAX);
    code = vector_fill_run(&fill, &room->vectors, &why);
    str_release(&reader.safe);
    str_release(&reader.text);
    *out_encoded += fill.encoded;
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

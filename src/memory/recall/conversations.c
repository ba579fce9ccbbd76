/*
 * conversations.c: lists the rooms of a home, finds sessions with new messages, and reads messages.
 */
#include "memory/recall/conversations.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/file.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/sessions/attachment.h"
#include "memory/handle_internal.h"
#include "memory/provider/missing_slots.h"
#include "memory/recall/conversations_internal.h"

#define LIST_MAX 67108864 /* bytes of the list of rooms */
#define LIST_VERSION 1
#define LIST_MODE 0600

/* ---- the list of rooms ----------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int find_room(struct conversations *self, const char *user, const char *folder, size_t *out)
{
    for (*out = 0; *out < self->count; ++*out)
        if (same_text(self->rooms[*out].user, user) && same_text(self->rooms[*out].folder, folder))
            return ETHOS_OK;
    struct said_room *rows = arena_grow(&self->arena, self->rooms, self->count, &self->capacity,
                                        sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->rooms = rows;
    struct said_room *room = &rows[self->count++];
    *room = (struct said_room){.user = arena_str(&self->arena, user),
                               .folder = arena_str(&self->arena, folder)};
    uint64_t hash = hash_mix(hash_mix(user != NULL, view_str(user ? user : "")),
                             view_str(folder ? folder : ""));
    snprintf(room->file, sizeof room->file, RECALL_CONVERSATIONS "%016" PRIx64 RECALL_SUFFIX, hash);
    return (user && !room->user) || (folder && !room->folder) ? ETHOS_NOMEM : ETHOS_OK;
}

static void close_rooms(struct conversations *self)
{
    for (size_t i = 0; i < self->count; i++) {
        vector_file_close(self->rooms[i].vectors);
        recall_index_close(self->rooms[i].index);
    }
    self->rooms = NULL;
    self->count = self->capacity = 0;
    self->seen = (struct ethos_seen){0};
    self->loaded = self->strange = false;
}

/* A pair of texts, either may be null; false: invalid. */
static bool read_room(const json_t *row, const char **user, const char **folder)
{
    const json_t *first = json_array_get(row, 0), *second = json_array_get(row, 1);
    *user = json_string_value(first);
    *folder = json_string_value(second);
    return (*user || json_is_null(first)) && (*folder || json_is_null(second));
}

/* An invalid list counts as empty. */
static int read_list(struct conversations *self, json_t *list)
{
    size_t i, room;
    json_t *row;
    json_int_t version = 0, last = 0, messages = 0, words = 0, id = 0;
    const char *user, *folder;
    self->strange = json_unpack(list, "{s:I, s:[I, I, I, I]}", "version", &version, "seen", &last,
                                &messages, &words, &id) != 0 ||
                    version != LIST_VERSION;
    json_array_foreach (json_object_get(list, "rooms"), i, row) {
        if (self->strange || !read_room(row, &user, &folder)) {
            self->strange = true;
            break;
        }
        if (find_room(self, user, folder, &room) != ETHOS_OK)
            return ETHOS_NOMEM;
    }
    if (!self->strange)
        self->seen = (struct ethos_seen){
            .last = last, .messages = messages, .words = words, .id = (uint64_t)id};
    return ETHOS_OK;
}

static int load_rooms(struct conversations *self, struct ethos_error *error)
{
    struct str text;
    struct ethos_error why;
    json_t *list = NULL;
    int folder = recall_folder_open(self->ethos, false);
    int fd = folder >= 0 ? os_open_beneath(folder, RECALL_ROOMS, O_RDONLY | O_NOFOLLOW, 0) : -1;
    int code = ETHOS_NOTFOUND;
    close_rooms(self);
    str_init(&text, LIST_MAX);
    if (fd >= 0)
        code = file_read(fd, RECALL_ROOMS, LIST_MAX, &text, NULL, &why);
    if (code == ETHOS_OK)
        code = json_parse_most(str_view(&text), LIST_MAX, RECALL_ROOMS, &list, &why);
    self->strange = code != ETHOS_OK;
    if (code == ETHOS_OK)
        code = read_list(self, list);
    self->loaded = true;
    json_decref(list);
    str_release(&text);
    if (fd >= 0)
        os_close(fd);
    if (folder >= 0)
        os_close(folder);
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

/* A room without indexed messages needs no file. */
static bool is_empty(const struct said_room *room)
{
    size_t count = 0;
    if (room->index)
        recall_index_frames(room->index, &count);
    return count == 0;
}

static int store_list(const struct conversations *self, int folder)
{
    CLEANUP_STR struct str text;
    json_t *rooms = json_array();
    size_t count = 0;
    for (size_t i = 0; rooms && i < self->count; i++) {
        const struct said_room *room = &self->rooms[i];
        if (room->index && is_empty(room))
            continue;
        json_array_append_new(rooms, json_pack("[s?, s?]", room->user, room->folder));
        count++;
    }
    json_t *list = json_pack("{s:i, s:[I, I, I, I], s:o}", "version", LIST_VERSION, "seen",
                             (json_int_t)self->seen.last, (json_int_t)self->seen.messages,
                             (json_int_t)self->seen.words, (json_int_t)self->seen.id, "rooms",
                             rooms);
    str_init(&text, LIST_MAX);
    int code = list && json_array_size(rooms) == count ? json_print(list, JSON_STYLE_LINE, &text)
                                                       : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = file_swap(folder, RECALL_ROOMS, str_view(&text), LIST_MODE, NULL);
    json_decref(list);
    return code;
}

/* ---- rooms ----------------------------------------------------------------------------------- */

int said_room_open(struct conversations *self, struct said_room *room, struct ethos_error *error)
{
    if (room->index)
        return ETHOS_OK;
    int folder = recall_folder_open(self->ethos, false);
    int at = self->strange ? -1 : folder;
    int code = self->checking
                   ? recall_index_open(at, room->file, 0, NULL, &room->index, error)
                   : recall_folder_index(self->ethos, at, room->file, &room->index, error);
    if (code == ETHOS_CORRUPT) {
        log_line(self->ethos->host, ETHOS_LOG_WARN, "recall/%s was damaged; it is rebuilt",
                 room->file);
        room->damaged = true;
        code = recall_folder_index(self->ethos, -1, room->file, &room->index, error);
    }
    if (code == ETHOS_OK && !self->strange && is_empty(room))
        self->lost = true;
    if (folder >= 0)
        os_close(folder);
    return code;
}

struct ethos_view said_document_session(const struct image *image, uint32_t document)
{
    struct ethos_view name = image_document_name(image, document);
    const char *slash = memrchr(name.data, '/', name.size);
    return slash ? view_of(name.data, (size_t)(slash - name.data)) : name;
}

int64_t said_number(const struct image *image, uint32_t document, uint32_t unit)
{
    char base[32];
    struct ethos_view name = image_document_name(image, document);
    struct ethos_view session = said_document_session(image, document);
    snprintf(base, sizeof base, "%.*s", VIEW_ARG(view_from(name, session.size)));
    return (*base ? strtoll(base + 1, NULL, 10) : 0) + image->units[unit].offset;
}

/* ---- what is new ----------------------------------------------------------------------------- */

struct unseen_session {
    const char *id;
    uint64_t count;
};

struct session_listing {
    struct conversations *self;
    struct arena arena;
    struct unseen_session *rows;
    size_t count, capacity;
    struct ethos_seen seen;
    int all;
    const struct unseen_session *row; /* whose room is searched */
};

static int add_unseen(void *arg, const char *session, uint64_t count)
{
    struct session_listing *listing = arg;
    struct unseen_session *rows = arena_grow(&listing->arena, listing->rows, listing->count,
                                             &listing->capacity, sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    listing->rows = rows;
    rows[listing->count].id = arena_str(&listing->arena, session);
    rows[listing->count].count = count;
    return rows[listing->count++].id ? ETHOS_OK : ETHOS_NOMEM;
}

/* A forced session is compared even if it has new messages. */
static int add_forced(struct session_listing *listing)
{
    struct conversations *self = listing->self;
    int code = ETHOS_OK;
    for (size_t i = 0; !listing->all && code == ETHOS_OK && i < self->forced_count; i++) {
        size_t at = 0;
        while (at < listing->count && strcmp(listing->rows[at].id, self->forced[i]) != 0)
            at++;
        if (at < listing->count)
            listing->rows[at].count = 0;
        else
            code = add_unseen(listing, self->forced[i], 0);
    }
    return code;
}

static int list_unseen(struct session_listing *listing, struct ethos_error *error)
{
    struct conversations *self = listing->self;
    listing->count = 0;
    listing->seen = self->seen;
    int code = self->store->ops->unseen(self->store, &listing->seen, &listing->all, add_unseen,
                                        listing, error);
    if (code == ETHOS_OK)
        code = add_forced(listing);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static bool has_work(const struct session_listing *listing)
{
    return listing->count > 0 || (listing->all && listing->self->count > 0);
}

static int place_session(void *arg, const struct ethos_session *session)
{
    struct session_listing *listing = arg;
    struct conversations *self = listing->self;
    size_t at;
    if (find_room(self, session->user, session->working_dir, &at) != ETHOS_OK)
        return ETHOS_NOMEM;
    struct said_room *room = &self->rooms[at];
    struct said_session *rows = arena_grow(&self->arena, room->sessions, room->session_count,
                                           &room->session_room, sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    room->sessions = rows;
    rows[room->session_count].count = listing->row->count;
    rows[room->session_count].id = arena_str(&self->arena, listing->row->id);
    return rows[room->session_count++].id ? ETHOS_OK : ETHOS_NOMEM;
}

/* A deleted session is in no room. */
static int place_sessions(struct session_listing *listing, struct ethos_error *error)
{
    struct ethos_sessions *store = listing->self->store;
    int code = ETHOS_OK;
    for (size_t i = 0; i < listing->self->count; i++)
        listing->self->rooms[i].session_count = 0;
    for (size_t i = 0; code == ETHOS_OK && i < listing->count; i++) {
        listing->row = &listing->rows[i];
        code = store->ops->get(store, listing->row->id, place_session, listing, error);
        code = code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    }
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int remove_room(void *arg, const char *name)
{
    if (view_starts(view_str(name), VIEW(RECALL_CONVERSATIONS)))
        os_unlinkat(*(const int *)arg, name, 0);
    return ETHOS_OK;
}

/* The list is written last: after a crash, messages are added again, which is noticed. */
static void save_rooms(struct conversations *self)
{
    struct ethos_error why;
    int folder = recall_folder_open(self->ethos, true);
    self->unsaved = folder < 0;
    if (folder >= 0 && self->strange)
        os_list(folder, remove_room, &folder);
    for (size_t i = 0; folder >= 0 && i < self->count; i++)
        if (self->rooms[i].emptied && recall_folder_unlink(folder, self->rooms[i].file) != 0)
            self->unsaved = true;
    for (size_t i = 0; folder >= 0 && i < self->count; i++)
        if (self->rooms[i].changed &&
            recall_index_save(self->rooms[i].index, folder, self->rooms[i].file, 0, &why))
            self->unsaved = true;
    if (!self->unsaved)
        self->unsaved = store_list(self, folder) != ETHOS_OK;
    if (self->unsaved)
        log_line(self->ethos->host, ETHOS_LOG_WARN, "recall/" RECALL_ROOMS " could not be written");
    if (folder >= 0)
        os_close(folder);
}

static int update_rooms(struct session_listing *listing, struct ethos_error *error)
{
    struct conversations *self = listing->self;
    int code = place_sessions(listing, error);
    for (size_t i = 0; code == ETHOS_OK && i < self->count; i++) {
        struct said_room *room = &self->rooms[i];
        if (room->session_count > 0 || listing->all || (self->forced_count > 0 && room->index))
            code = said_room_update(self, room, listing->all, error);
    }
    if (code == ETHOS_OK) {
        self->seen = listing->seen;
        self->forced_count = 0;
        self->whole = self->lost = false;
    }
    return code;
}

static int update_conversations(struct session_listing *listing, struct ethos_error *error)
{
    struct conversations *self = listing->self;
    int lock = -1, code = ETHOS_OK;
    if (recall_folder_lock(self->ethos, 0, &lock, NULL) == ETHOS_OK) {
        code = load_rooms(self, error);
        if (self->whole || self->lost)
            self->seen = (struct ethos_seen){0};
        code = code ? code : list_unseen(listing, error);
    }
    if (code == ETHOS_OK && has_work(listing))
        code = update_rooms(listing, error);
    if (code == ETHOS_OK && lock >= 0 && (has_work(listing) || listing->all))
        save_rooms(self);
    self->unsaved = self->unsaved || lock < 0;
    if (lock >= 0)
        os_close(lock);
    return code;
}

/* ---- from outside ---------------------------------------------------------------------------- */

/* Conversations stored by a server are searched there. */
static int find_store(struct conversations *self, struct ethos_error *error)
{
    struct ethos_sessions *store = NULL;
    int code = ethos_sessions(self->ethos, &store, error);
    if (code == ETHOS_OK && SLOT_SESSIONS(store, unseen) && SLOT_SESSIONS(store, message))
        self->store = store;
    return code == ETHOS_UNSUPPORTED ? ETHOS_OK : code;
}

int conversations_catch_up(struct conversations *self, struct ethos_error *error)
{
    struct session_listing listing = {.self = self};
    int code = self->store ? ETHOS_OK : find_store(self, error);
    if (code != ETHOS_OK || !self->store)
        return code;
    arena_init(&listing.arena);
    if (!self->loaded)
        code = load_rooms(self, error);
    if (code == ETHOS_OK && self->lost)
        self->seen = (struct ethos_seen){0};
    if (code == ETHOS_OK)
        code = list_unseen(&listing, error);
    bool many = self->most > 0 && listing.count > self->most;
    if (code == ETHOS_OK && has_work(&listing) && !many)
        code = update_conversations(&listing, error);
    arena_release(&listing.arena);
    return code;
}

int conversations_open(struct conversations *self, struct ethos_error *error)
{
    TRY(load_rooms(self, error));
    return self->strange ? conversations_catch_up(self, error) : ETHOS_OK;
}

int conversations_compare(struct conversations *self, struct ethos_error *error)
{
    int code = find_store(self, error);
    if (code == ETHOS_OK && self->store)
        code = load_rooms(self, error);
    self->seen = (struct ethos_seen){0};
    self->whole = true;
    return code == ETHOS_OK ? conversations_catch_up(self, error) : code;
}

int conversations_force(struct conversations *self, struct ethos_view session)
{
    const char **rows = arena_grow(&self->arena, self->forced, self->forced_count,
                                   &self->forced_room, sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->forced = rows;
    rows[self->forced_count] = arena_copy(&self->arena, session);
    return rows[self->forced_count++] ? ETHOS_OK : ETHOS_NOMEM;
}

void conversations_release(struct conversations *self)
{
    close_rooms(self);
    arena_release(&self->arena);
}

/* ---- a message ------------------------------------------------------------------------------- */

int said_visible(const struct ethos_message *message, struct str *safe, struct ethos_view *out)
{
    static const char *const roles[] = {"user", "assistant", "user_steer"};
    bool foreign = message->content_blocks && strstr(message->content_blocks, MESSAGE_FOREIGN);
    *out = (struct ethos_view){0};
    for (size_t i = 0; !foreign && i < sizeof roles / sizeof *roles; i++)
        if (strcmp(message->role, roles[i]) == 0)
            *out = scan_visible(attachment_said(message->content), safe);
    if (view_blank(*out))
        *out = (struct ethos_view){0};
    return str_code(safe) ? ETHOS_NOMEM : ETHOS_OK;
}

struct message_reading {
    const struct said_room *room;
    struct arena *arena;
    struct said_message *out;
    uint32_t check;
    bool same;
};

static int copy_message(void *arg, const struct ethos_message *message)
{
    struct message_reading *reading = arg;
    struct said_message *out = reading->out;
    struct ethos_view visible;
    CLEANUP_STR struct str safe;
    str_init(&safe, SIZE_MAX);
    int code = said_visible(message, &safe, &visible);
    reading->same = visible.data && IMAGE_CHECK(visible) == reading->check;
    if (code == ETHOS_OK && reading->same) {
        out->session = arena_str(reading->arena, message->session);
        out->id = arena_str(reading->arena, message->id);
        out->role = arena_str(reading->arena, message->role);
        out->text = view_of(arena_copy(reading->arena, visible), visible.size);
        out->is_untrusted = message_is_untrusted(message->role, message->content_blocks, visible);
        if (!clock_parse(view_str(message->timestamp), 0, false, &out->time_ms, NULL))
            out->time_ms = -1;
        code = out->session && out->id && out->role && out->text.data ? ETHOS_OK : ETHOS_NOMEM;
    }
    return code;
}

static int compare_room(void *arg, const struct ethos_session *session)
{
    struct message_reading *reading = arg;
    reading->same = same_text(session->user, reading->room->user) &&
                    same_text(session->working_dir, reading->room->folder);
    reading->out->key = arena_str(reading->arena, session->key);
    return reading->out->key || !session->key ? ETHOS_OK : ETHOS_NOMEM;
}

int said_message_read(struct conversations *self, const struct said_room *room,
                      const struct image *image, uint32_t document, uint32_t unit,
                      struct arena *arena, struct said_message *out, struct ethos_error *error)
{
    struct ethos_view session = said_document_session(image, document);
    struct message_reading reading = {.room = room, .arena = arena, .out = out};
    *out = (struct said_message){.time_ms = -1};
    reading.check = image->units[unit].check;
    int code = self->store ? ETHOS_OK : find_store(self, error);
    if (code != ETHOS_OK || !self->store)
        return code ? code : err_set(error, ETHOS_UNSUPPORTED, "this program keeps no sessions");
    const struct ethos_sessions_ops *ops = self->store->ops;
    code = ops->message(self->store, said_number(image, document, unit), copy_message, &reading,
                        error);
    if (code == ETHOS_OK && reading.same)
        reading.same = view_eq_str(session, out->session);
    if (code == ETHOS_OK && reading.same)
        code = ops->get(self->store, out->session, compare_room, &reading, error);
    if (code != ETHOS_OK || !reading.same)
        out->id = NULL;
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Whether a message, unless hidden or gone, equals what was indexed. */
static int verify_unit(struct conversations *self, const struct image *image, uint32_t document,
                       uint32_t unit, bool *out_same, struct ethos_error *error)
{
    struct said_message message;
    CLEANUP_ARENA struct arena arena;
    struct message_reading reading = {
        .arena = &arena, .out = &message, .check = image->units[unit].check};
    arena_init(&arena);
    int code = self->store->ops->message(self->store, said_number(image, document, unit),
                                         copy_message, &reading, error);
    *out_same = code != ETHOS_OK || reading.same;
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int verify_document(struct conversations *self, const struct image *image, uint32_t document,
                           bool *out_same, struct ethos_error *error)
{
    uint32_t end = image_units_end(image, document);
    int code = ETHOS_OK;
    if (image_is_gone(image, document))
        return ETHOS_OK;
    for (uint32_t unit = image->documents[document].first_unit;
         code == ETHOS_OK && *out_same && unit < end; unit++)
        code = verify_unit(self, image, document, unit, out_same, error);
    return code;
}

static int verify_room(struct conversations *self, struct said_room *room, bool *out_same,
                       struct ethos_error *error)
{
    size_t count;
    int code = said_room_open(self, room, error);
    if (code == ETHOS_OK && room->damaged)
        code = err_set(error, ETHOS_CORRUPT, "recall/%s: the index is damaged", room->file);
    if (code != ETHOS_OK)
        return code;
    const struct recall_frame *frames = recall_index_frames(room->index, &count);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; code == ETHOS_OK && d < frames[i].image.counts.documents; d++)
            code = verify_document(self, &frames[i].image, d, out_same, error);
    return code;
}

int conversations_verify(struct conversations *self, bool *out_same, struct ethos_error *error)
{
    *out_same = self->checking = true;
    int code = find_store(self, error);
    if (code == ETHOS_OK && self->store)
        code = load_rooms(self, error);
    for (size_t i = 0; code == ETHOS_OK && *out_same && i < self->count; i++)
        code = verify_room(self, &self->rooms[i], out_same, error);
    return code;
}

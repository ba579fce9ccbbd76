/*
 * conversation_room.c: updates the index of a room when its conversations have new messages.
 *
 * New messages of a session are added to its last run, which is indexed anew; when a new frame
 * replaces older ones, their runs are indexed anew, too, from the current messages. A session that
 * no longer matches what was indexed is indexed from its beginning.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/recall/conversations_internal.h"
#include "recall/builder.h"
#include "recall/model.h"

#define STAMP 1 /* stamp of every document: messages are compared one by one */

/* A document of the index. */
struct said_run {
    struct ethos_view session;
    size_t frame;
    uint32_t document;
    bool gone; /* of the listed ones */
};

/* Messages of a session to be indexed in the new frame. */
struct said_part {
    const char *session;
    size_t order; /* parts of a session: in which they were found */
    bool whole;   /* all of its messages */
    int64_t *numbers;
    size_t count, capacity;
};

struct room_job {
    struct conversations *self;
    struct said_room *room;
    struct arena arena;
    struct str safe;
    struct said_run *runs; /* by session, then in order */
    size_t run_count, run_room;
    struct said_part *parts;
    size_t part_count, part_room;
    uint64_t bytes; /* of what is new */
    bool anew;      /* deleted text must be removed from the file */
};

/* ---- what is indexed ------------------------------------------------------------------------- */

static int compare_runs(const void *a, const void *b)
{
    const struct said_run *x = a, *y = b;
    size_t least = x->session.size < y->session.size ? x->session.size : y->session.size;
    int order = memcmp(x->session.data, y->session.data, least);
    if (order == 0 && x->session.size != y->session.size)
        return x->session.size < y->session.size ? -1 : 1;
    if (order == 0 && x->frame != y->frame)
        return x->frame < y->frame ? -1 : 1;
    return order ? order : (x->document > y->document) - (x->document < y->document);
}

static const struct image *run_image(const struct room_job *job, const struct said_run *run)
{
    size_t count;
    return &recall_index_frames(job->room->index, &count)[run->frame].image;
}

static int list_runs(struct room_job *job)
{
    size_t count;
    const struct recall_frame *frames = recall_index_frames(job->room->index, &count);
    job->run_count = 0;
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < frames[i].image.counts.documents; d++) {
            if (image_is_gone(&frames[i].image, d))
                continue;
            struct said_run *rows = arena_grow(&job->arena, job->runs, job->run_count,
                                               &job->run_room, sizeof *rows);
            if (!rows)
                return ETHOS_NOMEM;
            job->runs = rows;
            rows[job->run_count++] = (struct said_run){said_document_session(&frames[i].image, d),
                                                       i, d, false};
        }
    if (job->run_count > 0)
        qsort(job->runs, job->run_count, sizeof *job->runs, compare_runs);
    return ETHOS_OK;
}

/* The runs of a session, in order; NULL if it has none. */
static struct said_run *find_runs(const struct room_job *job, const char *session,
                                  size_t *out_count)
{
    size_t low = 0, high = job->run_count;
    struct said_run wanted = {.session = view_str(session)};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_runs(&job->runs[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*out_count = 0; low + *out_count < job->run_count; ++*out_count)
        if (!view_eq_str(job->runs[low + *out_count].session, session))
            break;
    return *out_count > 0 ? &job->runs[low] : NULL;
}

static void drop_run(struct room_job *job, struct said_run *run)
{
    recall_index_restamp(job->room->index, run->frame, run->document, INDEX_GONE);
    run->gone = job->room->changed = true;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static struct said_part *add_said_part(struct room_job *job, const char *session)
{
    struct said_part *rows = arena_grow(&job->arena, job->parts, job->part_count, &job->part_room,
                                        sizeof *rows);
    if (!rows)
        return NULL;
    job->parts = rows;
    rows[job->part_count] = (struct said_part){.session = session, .order = job->part_count};
    return &rows[job->part_count++];
}

static int add_part_number(struct room_job *job, struct said_part *part, int64_t number)
{
    int64_t *rows = arena_grow(&job->arena, part->numbers, part->count, &part->capacity,
                               sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    part->numbers = rows;
    rows[part->count++] = number;
    return ETHOS_OK;
}

static int add_run(struct room_job *job, struct said_part *part, const struct said_run *run)
{
    const struct image *image = run_image(job, run);
    uint32_t end = image_units_end(image, run->document);
    for (uint32_t unit = image->documents[run->document].first_unit; unit < end; unit++) {
        job->bytes += image->units[unit].size;
        if (add_part_number(job, part, said_number(image, run->document, unit)) != ETHOS_OK)
            return ETHOS_NOMEM;
    }
    return ETHOS_OK;
}

static int add_whole(struct room_job *job, const char *session)
{
    struct said_part *part = add_said_part(job, session);
    if (part)
        part->whole = true;
    return part ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* A walk over the messages of a session alongside its indexed runs. */
struct comparing {
    struct room_job *job;
    struct said_run *runs;
    size_t count, at; /* runs; the one being compared */
    uint32_t unit;    /* its next message */
    bool same;
    struct said_part *added; /* messages after the last indexed one */
    const char *session;
    int64_t last; /* only messages after this number are compared */
};

static int add_new(struct comparing *self, int64_t number, size_t bytes)
{
    if (!self->added)
        self->added = add_said_part(self->job, self->session);
    self->job->bytes += bytes;
    return self->added ? add_part_number(self->job, self->added, number) : ETHOS_NOMEM;
}

static int compare_message(void *arg, const struct ethos_message *message)
{
    struct comparing *self = arg;
    struct ethos_view visible;
    if (said_visible(message, &self->job->safe, &visible) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (!visible.data || !self->same)
        return ETHOS_OK;
    if (self->at == self->count)
        return add_new(self, message->number, visible.size);
    const struct said_run *run = &self->runs[self->at];
    const struct image *image = run_image(self->job, run);
    self->same = said_number(image, run->document, self->unit) == message->number &&
                 image->units[self->unit].check == IMAGE_CHECK(visible);
    if (++self->unit == image_units_end(image, run->document) && ++self->at < self->count) {
        run = &self->runs[self->at];
        self->unit = run_image(self->job, run)->documents[run->document].first_unit;
    }
    return ETHOS_OK;
}

static int compare_with_indexed(void *arg, const struct ethos_message *message)
{
    struct comparing *self = arg;
    struct ethos_view visible;
    if (message->number <= self->last)
        return ETHOS_OK;
    if (said_visible(message, &self->job->safe, &visible) != ETHOS_OK)
        return ETHOS_NOMEM;
    return visible.data ? add_new(self, message->number, visible.size) : ETHOS_OK;
}

/* Extends the last run if it has room. */
static int join_last_run(struct comparing *self)
{
    struct room_job *job = self->job;
    struct said_run *last = self->count > 0 ? &self->runs[self->count - 1] : NULL;
    if (!self->added || !last)
        return ETHOS_OK;
    const struct image *image = run_image(job, last);
    if (image_units_end(image, last->document) - image->documents[last->document].first_unit >=
        CONVERSATIONS_RUN)
        return ETHOS_OK;
    struct said_part joined = {.session = self->added->session, .order = self->added->order};
    int code = add_run(job, &joined, last);
    for (size_t i = 0; code == ETHOS_OK && i < self->added->count; i++)
        code = add_part_number(job, &joined, self->added->numbers[i]);
    *self->added = joined;
    drop_run(job, last);
    return code;
}

static int64_t last_number(const struct comparing *self)
{
    int64_t last = 0;
    for (size_t i = 0; i < self->count; i++) {
        const struct image *image = run_image(self->job, &self->runs[i]);
        uint32_t document = self->runs[i].document;
        for (uint32_t u = image->documents[document].first_unit;
             u < image_units_end(image, document); u++) {
            int64_t number = said_number(image, document, u);
            last = number > last ? number : last;
        }
    }
    return last;
}

static int index_anew(struct comparing *self)
{
    for (size_t i = 0; i < self->count; i++)
        drop_run(self->job, &self->runs[i]);
    self->job->anew = self->job->anew || self->count > 0;
    if (self->added)
        self->job->part_count--;
    return add_whole(self->job, self->session);
}

static int compare_session(struct comparing *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->job->self->store;
    self->unit = run_image(self->job, self->runs)->documents[self->runs->document].first_unit;
    TRY(store->ops->messages(store, self->session, 0, compare_message, self, error));
    if (!self->same || self->at < self->count)
        return index_anew(self);
    return join_last_run(self);
}

/* Adds a part for the messages of a session that are not indexed. */
static int update_session(struct room_job *job, const struct said_session *session,
                          struct ethos_error *error)
{
    struct ethos_sessions *store = job->self->store;
    struct comparing self = {.job = job, .session = session->id, .same = true};
    self.runs = find_runs(job, session->id, &self.count);
    if (self.count == 0)
        return add_whole(job, session->id);
    if (session->count == 0)
        return compare_session(&self, error);
    self.last = last_number(&self);
    unsigned last = session->count < UINT_MAX ? (unsigned)session->count : 0;
    TRY(store->ops->messages(store, session->id, last, compare_with_indexed, &self, error));
    return join_last_run(&self);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct said_session *)a)->id, ((const struct said_session *)b)->id);
}

/* Removes runs of sessions that are no longer in this room: of all, or of the forced ones. */
static void drop_strangers(struct room_job *job, bool all)
{
    const struct said_room *room = job->room;
    struct conversations *self = job->self;
    if (room->session_count > 0)
        qsort(room->sessions, room->session_count, sizeof *room->sessions, compare_ids);
    for (size_t i = 0; i < job->run_count; i++) {
        char id[256];
        const struct said_session wanted = {.id = id};
        bool suspect = all;
        snprintf(id, sizeof id, "%.*s", VIEW_ARG(job->runs[i].session));
        for (size_t f = 0; !suspect && f < self->forced_count; f++)
            suspect = strcmp(self->forced[f], id) == 0;
        if (!suspect ||
            (room->session_count > 0 && bsearch(&wanted, room->sessions, room->session_count,
                                                sizeof *room->sessions, compare_ids)))
            continue;
        drop_run(job, &job->runs[i]);
        job->anew = true;
    }
}

/* ---- a frame --------------------------------------------------------------------------------- */

struct frame_builder {
    struct room_job *job;
    struct recall_builder *builder;
    struct str stamps; /* uint64_t, by document */
    uint32_t documents, groups;
    const char *session; /* session whose messages are added */
    uint32_t units;      /* in the last document; 0: the next message starts a new one */
    bool continues;      /* the session has a document already */
    int64_t base;
    struct ethos_error *error;
};

static int begin_run(struct frame_builder *self, const struct ethos_message *message)
{
    char name[256 + 24];
    static const uint64_t stamp = STAMP;
    int64_t time_ms;
    snprintf(name, sizeof name, "%.255s/%lld", self->session, (long long)message->number);
    if (!clock_parse(view_str(message->timestamp), 0, false, &time_ms, NULL))
        time_ms = -1;
    if (!self->continues)
        self->groups++;
    const struct recall_document document = {.name = view_str(name),
                                             .group = self->groups - 1,
                                             .time_ms = time_ms,
                                             .continues = self->continues};
    self->continues = true;
    self->base = message->number;
    self->units = 0;
    self->documents++;
    if (str_add(&self->stamps, view_of((const char *)&stamp, sizeof stamp)))
        return err_nomem(self->error);
    return recall_builder_document(self->builder, &document, self->error);
}

static uint32_t date_of(const char *timestamp)
{
    unsigned year, month, day;
    if (sscanf(timestamp, "%4u-%2u-%2u", &year, &month, &day) != 3 || month > 12 || day > 31)
        return 0;
    return IMAGE_DATE(year, month, day);
}

static int add_message_units(void *arg, const struct ethos_message *message)
{
    struct frame_builder *self = arg;
    struct ethos_view visible;
    int code = ETHOS_OK;
    if (said_visible(message, &self->job->safe, &visible) != ETHOS_OK)
        return err_nomem(self->error);
    if (!visible.data || strcmp(message->session, self->session) != 0)
        return ETHOS_OK;
    if (self->units == 0 || self->units == CONVERSATIONS_RUN || message->number < self->base ||
        message->number - self->base > UINT32_MAX)
        code = begin_run(self, message);
    self->units++;
    const struct recall_unit unit = {
        .text = visible,
        .speaker = strcmp(message->role, "assistant") == 0 ? VIEW("assistant") : VIEW("user"),
        .date = date_of(message->timestamp),
        .offset = (uint32_t)(message->number - self->base)};
    return code == ETHOS_OK ? recall_builder_unit(self->builder, &unit, self->error) : code;
}

static int build_part(struct frame_builder *self, const struct said_part *part)
{
    struct ethos_sessions *store = self->job->self->store;
    int code = ETHOS_OK;
    if (!self->session || strcmp(self->session, part->session) != 0) {
        self->session = part->session;
        self->units = 0;
        self->continues = false;
    }
    if (part->whole)
        return store->ops->messages(store, part->session, 0, add_message_units, self, self->error);
    for (size_t i = 0; code == ETHOS_OK && i < part->count; i++) {
        code = store->ops->message(store, part->numbers[i], add_message_units, self, self->error);
        code = code == ETHOS_NOTFOUND ? ETHOS_OK : code; // deleted meanwhile
    }
    return code;
}

static int compare_parts(const void *a, const void *b)
{
    const struct said_part *x = a, *y = b;
    int order = strcmp(x->session, y->session);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

struct said_group {
    struct said_part *parts;
    size_t count;
    size_t order;   /* of its first part */
    int64_t number; /* of its first message; 0: of a whole session, in listed order */
};

static int compare_groups(const void *a, const void *b)
{
    const struct said_group *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* The parts of a session stand together, sessions by their beginnings. */
static int group_parts(struct room_job *job, struct said_group **out, size_t *out_count)
{
    *out = arena_array(&job->arena, job->part_count + 1, sizeof **out);
    *out_count = 0;
    if (!*out)
        return ETHOS_NOMEM;
    qsort(job->parts, job->part_count, sizeof *job->parts, compare_parts);
    for (size_t i = 0; i < job->part_count; i++) {
        struct said_part *part = &job->parts[i];
        if (i == 0 || strcmp(part[-1].session, part->session) != 0)
            (*out)[(*out_count)++] = (struct said_group){
                .parts = part, .order = part->order, .number = part->count ? *part->numbers : 0};
        (*out)[*out_count - 1].count++;
    }
    qsort(*out, *out_count, sizeof **out, compare_groups);
    return ETHOS_OK;
}

static int build_frame(struct room_job *job, size_t from, struct ethos_error *error)
{
    struct frame_builder self = {.job = job, .error = error};
    struct said_group *groups;
    size_t count, frames;
    CLEANUP_STR struct str image = {0};
    if (group_parts(job, &groups, &count) != ETHOS_OK)
        return err_nomem(error);
    str_init(&self.stamps, SIZE_MAX);
    str_init(&image, IMAGE_MAX);
    const struct recall_model *model = recall_folder_model(job->self->ethos);
    int code = recall_builder_new(model ? &model->table : NULL, &self.builder, error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        for (size_t p = 0; code == ETHOS_OK && p < groups[i].count; p++)
            code = build_part(&self, &groups[i].parts[p]);
    code = code ? code : recall_builder_finish(self.builder, &image, error);
    recall_index_frames(job->room->index, &frames);
    if (code == ETHOS_OK && (self.documents > 0 || from < frames))
        code = recall_index_add(job->room->index, from, &image,
                                (const uint64_t *)(const void *)self.stamps.data, self.documents,
                                error);
    job->room->changed = job->room->changed || self.documents > 0;
    job->self->indexed += count;
    recall_builder_free(self.builder);
    str_release(&self.stamps);
    return code;
}

/* Includes the runs of the frames that the new one replaces. */
static int append_room_frame(struct room_job *job, struct ethos_error *error)
{
    size_t frames;
    size_t from = recall_index_merge(job->room->index, job->bytes);
    recall_index_frames(job->room->index, &frames);
    if (job->part_count == 0 && from == frames)
        return ETHOS_OK;
    job->room->changed = job->room->changed || from < frames;
    size_t own = job->part_count;
    for (size_t i = 0; i < own; i++)
        job->parts[i].order += job->run_count; // behind the runs
    for (size_t i = 0; i < job->run_count; i++) {
        if (job->runs[i].gone || job->runs[i].frame < from)
            continue;
        struct said_part *part = add_said_part(job, arena_copy(&job->arena, job->runs[i].session));
        if (!part || !part->session)
            return err_nomem(error);
        part->order = i;
        if (add_run(job, part, &job->runs[i]) != ETHOS_OK)
            return err_nomem(error);
    }
    return build_frame(job, from, error);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int update_sessions(struct room_job *job, bool all, struct ethos_error *error)
{
    struct said_room *room = job->room;
    int code = list_runs(job) ? err_nomem(error) : ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < room->session_count; i++) {
        code = update_session(job, &room->sessions[i], error);
        code = code == ETHOS_NOTFOUND ? ETHOS_OK : code; // deleted meanwhile
    }
    if (code == ETHOS_OK && (all || job->self->forced_count > 0))
        drop_strangers(job, all);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* Rewrites the file, so that deleted text is removed from it. */
static int begin_anew(struct room_job *job, struct ethos_error *error)
{
    struct said_room *room = job->room;
    recall_index_close(room->index);
    room->index = NULL;
    room->changed = room->emptied = true;
    job->run_count = job->part_count = 0;
    int code = recall_folder_index(job->self->ethos, -1, room->file, &room->index, error);
    for (size_t i = 0; code == ETHOS_OK && i < room->session_count; i++)
        code = add_whole(job, room->sessions[i].id) ? err_nomem(error) : ETHOS_OK;
    return code;
}

int said_room_update(struct conversations *self, struct said_room *room, bool all,
                     struct ethos_error *error)
{
    struct room_job job = {.self = self, .room = room};
    arena_init(&job.arena);
    str_init(&job.safe, SIZE_MAX);
    int code = said_room_open(self, room, error);
    if (code == ETHOS_OK)
        code = update_sessions(&job, all, error);
    if (code == ETHOS_OK && all && job.anew)
        code = begin_anew(&job, error);
    if (code == ETHOS_OK)
        code = append_room_frame(&job, error);
    str_release(&job.safe);
    arena_release(&job.arena);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/*
 * index.h: the index of a scope in a file.
 *
 * A file holds frames, one behind the other; each has an image and a stamp for each document of it. What is new
 * goes into a frame at the end, which may take the place of frames before it; a document that another frame has
 * now, or that is no more, is marked as gone. So a small change is a small write, and readers, who have the file
 * mapped, see what they opened. When much of a file is of no use it is written anew, and renamed.
 *
 * An index is derived: nothing is synced, and what is not whole is not used. One process writes at a time; whose
 * turn that is, the caller knows. Whoever may not write adds frames all the same, in memory.
 *
 *     recall_index_open(dir, name, model, NULL, &index, error);
 *     recall_index_add(index, recall_index_merge(index, bytes), &image, stamps, count, error);
 *     recall_index_restamp(index, frame, document, INDEX_GONE);
 *     recall_index_save(index, dir, name, stamp, error);
 *     recall_index_close(index);
 */
#ifndef ETHOS_RECALL_INDEX_H
#define ETHOS_RECALL_INDEX_H

#include "recall/image.h"

#define INDEX_FRAMES 64 /* of a file */

struct recall_index;
struct str;

/*
 * A frame that is searched. Stamps tell the caller, by document, whether it has to be read again; INDEX_GONE is
 * never one of its own.
 */
#define INDEX_GONE UINT64_MAX
struct recall_frame {
    struct image image;
    const uint64_t *stamps;
};

/*
 * What a process knows of a file: it was whole up to this byte, when it was checked. Frames are never changed, so
 * they are checked again only after INDEX_TRUST_MS. All zero: nothing.
 */
#define INDEX_TRUST_MS 60000
struct recall_trust {
    uint64_t id, end;
    int64_t checked_ms;
    bool
        quick; /* checksums are not checked: who is gone in a moment finds damage by what it reads */
};

/*
 * ETHOS_CORRUPT when the file is damaged, ETHOS_NOMEM, or why it cannot be read. No file is an index without frames.
 * An index that was made with another model (recall/model.h; 0: without one, which fits any) counts as none.
 * trust (NULL: none) is what is known of a file of that name, and is brought up to date.
 */
int recall_index_open(int dir, const char *name, uint64_t model, struct recall_trust *trust,
                      struct recall_index **out, struct ethos_error *error);
void recall_index_close(struct recall_index *index);

/* Whether the rows of its images are of this model's table; without frames they are. */
bool recall_index_is_of(const struct recall_index *index, uint64_t model);

/* Borrowed until the index is added to. */
const struct recall_frame *recall_index_frames(const struct recall_index *index, size_t *out_count);

/* Of all images. */
uint64_t recall_index_bytes(const struct recall_index *index);

/* What was given to save last, 0 when nothing was; when that was (ms), or now. */
uint64_t recall_index_stamp(const struct recall_index *index);
int64_t recall_index_saved_ms(const struct recall_index *index);

/*
 * The frame from which on frames should be made anew, together with so many new bytes of text: as many as
 * there are frames when none should. So a byte is written again but a few times, however much is added.
 */
size_t recall_index_merge(const struct recall_index *index, uint64_t bytes);

/*
 * Adds an image, taking its bytes, in the place of the frames from `from` on: once, before it is saved. It has
 * `count` documents, each with a stamp. A failure leaves an index to be closed.
 */
int recall_index_add(struct recall_index *index, size_t from, struct str *image,
                     const uint64_t *stamps, uint32_t count, struct ethos_error *error);

/* Gives a document another stamp, INDEX_GONE when it is to be searched no more. */
void recall_index_restamp(struct recall_index *index, size_t frame, uint32_t document,
                          uint64_t stamp);

/*
 * Writes what was changed since it was opened, and the stamp of the whole. A failure leaves a file that opens as
 * it was, or is damaged; the index goes on in memory.
 */
int recall_index_save(struct recall_index *index, int dir, const char *name, uint64_t stamp,
                      struct ethos_error *error);

#endif

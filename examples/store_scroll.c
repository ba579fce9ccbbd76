/*
 * store_scroll.c: the smallest store that keeps its promises: one file, one text after the other.
 *
 * A store keeps text under a scope and a key and gives it a revision; what add, replace and remove mean
 * is the host's. Four functions suffice. What this one leaves out on purpose:
 *
 *   - update, batch, gather: NULL slots; the host makes them of read and write
 *   - operation ids, history, conflict copies: not announced, so the host never asks
 *   - durability: nothing is synced, so that is not announced, either
 *   - speed: the whole file is read every time, and written with every change
 *   - deadlines: it waits for its lock as long as it takes
 *
 * What it must not leave out: comparing the revision and writing is one step. Here a lock holds the two
 * together; in a database, a transaction does.
 *
 *     cc -std=c99 -shared -fPIC store_scroll.c -o store_scroll.so
 *     ethos conformance ./store_scroll.so
 */
#define _DEFAULT_SOURCE

#include <ethos/provider.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct scroll {
    struct ethos_store base; /* first, so that the host finds the table */
    const struct ethos_host *host;
    char root[3072], path[3200]; /* of the directory, of the file */
};

static int fail(struct ethos_error *error, int code, const char *what)
{
    if (error) {
        memset(error, 0, sizeof *error);
        error->code = code;
        snprintf(error->text, sizeof error->text, "scroll: %s", what);
    }
    return code;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Makes room for size bytes and a terminator; a buffer that comes back is used again. */
static int make_room(const struct scroll *self, struct ethos_text *text, size_t size)
{
    if (text->capacity > size)
        return ETHOS_OK;
    char *data = self->host->resize(self->host->arg, text->data, size + 1);
    if (!data)
        return ETHOS_NOMEM;
    text->data = data;
    text->capacity = size + 1;
    return ETHOS_OK;
}

/* The whole file; it is never changed, only replaced, so whoever has it open has all of it. */
static int load(const struct scroll *self, struct ethos_text *out, struct ethos_error *error)
{
    struct stat info = {0};
    int fd = open(self->path, O_RDONLY | O_CLOEXEC), absent = fd < 0 && errno == ENOENT;
    int code = absent || (fd >= 0 && fstat(fd, &info) == 0) ? ETHOS_OK : ETHOS_IO;
    if (code == ETHOS_OK)
        code = make_room(self, out, (size_t)info.st_size);
    if (code == ETHOS_OK && !absent && read(fd, out->data, (size_t)info.st_size) != info.st_size)
        code = ETHOS_IO;
    if (fd >= 0)
        close(fd);
    out->size = (size_t)info.st_size;
    return code == ETHOS_OK ? ETHOS_OK : fail(error, code, "its file cannot be read");
}

/* A record is "<bytes of text> <scope> <key>\n<text>\n"; they are in order of scope and key. */
struct record {
    char scope[ETHOS_MAX_SCOPE], key[ETHOS_MAX_KEY + 1];
    size_t start, text, size, end;
};

static int next_record(const struct ethos_text *file, struct record *record)
{
    size_t start = record->end;
    int header = 0;
    *record = (struct record){.start = start, .end = start};
    if (start >= file->size || sscanf(file->data + start, "%zu %159s %224[^\n]%n", &record->size,
                                      record->scope, record->key, &header) != 3)
        return 0;
    record->text = start + (size_t)header + 1;
    record->end = record->text + record->size + 1;
    return 1;
}

/* Finds the record of a key, or where it would stand. */
static int find(const struct ethos_text *file, const char *scope, const char *key,
                struct record *record)
{
    *record = (struct record){.end = 0};
    while (next_record(file, record)) {
        int order = strcmp(record->scope, scope);
        if (order == 0)
            order = strcmp(record->key, key);
        if (order == 0)
            return 1;
        if (order > 0)
            break;
    }
    record->end = record->start;
    return 0;
}

/* Equal bytes have equal revisions: a hash of them (FNV-1a), and how many there are. */
static void name_revision(const char *text, size_t size, char out[ETHOS_REVISION_SIZE])
{
    unsigned long long hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    snprintf(out, ETHOS_REVISION_SIZE, "%016llx-%zu", hash, size);
}

/* ---- read and list --------------------------------------------------------------------------- */

static int scroll_read(struct ethos_store *store, const char *scope, const char *key,
                       const struct ethos_read_how *how, struct ethos_text *out,
                       struct ethos_error *error)
{
    const struct scroll *self = (const struct scroll *)store;
    struct ethos_text file = {0};
    struct record record;
    int code = load(self, &file, error);
    if (code == ETHOS_OK && !find(&file, scope, key, &record))
        code = fail(error, ETHOS_NOTFOUND, "no such text");
    if (code == ETHOS_OK && make_room(self, out, record.size) != ETHOS_OK)
        code = fail(error, ETHOS_NOMEM, "out of memory");
    if (code == ETHOS_OK) {
        memcpy(out->data, file.data + record.text, record.size);
        out->data[record.size] = 0;
        out->size = record.size;
        out->offset = 0;
        out->total = record.size;
        out->mtime_ms = -1;
        out->unsettled = 0;
        out->stamp = 0;
        out->revision[0] = 0;
        if (how->flags & ETHOS_READ_REVISION)
            name_revision(out->data, out->size, out->revision);
    }
    self->host->resize(self->host->arg, file.data, 0);
    return code;
}

static int scroll_list(struct ethos_store *store, const char *scope, ethos_entry_fn *each,
                       void *arg, struct ethos_error *error)
{
    const struct scroll *self = (const struct scroll *)store;
    struct ethos_text file = {0};
    struct record record = {.end = 0};
    int code = load(self, &file, error);
    while (code == ETHOS_OK && next_record(&file, &record)) {
        struct ethos_entry entry = {record.key, record.size, -1};
        if (strcmp(record.scope, scope) == 0)
            code = each(arg, &entry);
    }
    self->host->resize(self->host->arg, file.data, 0);
    return code;
}

/* ---- write and remove ------------------------------------------------------------------------ */

/* Puts a file in place of the old one that has this text, or none, where the record was. */
static int replace(const struct scroll *self, const struct ethos_text *file,
                   const struct record *record, const char *scope, const char *key,
                   const struct ethos_view *text, struct ethos_error *error)
{
    char draft[3300];
    snprintf(draft, sizeof draft, "%s.%ld", self->path, (long)getpid());
    FILE *out = fopen(draft, "w");
    if (!out)
        return fail(error, ETHOS_IO, strerror(errno));
    fwrite(file->data, 1, record->start, out);
    if (text && fprintf(out, "%zu %s %s\n", text->size, scope, key) > 0) {
        fwrite(text->data, 1, text->size, out);
        fputc('\n', out);
    }
    fwrite(file->data + record->end, 1, file->size - record->end, out);
    int written = !ferror(out);
    if (fclose(out) == 0 && written && rename(draft, self->path) == 0)
        return ETHOS_OK;
    unlink(draft);
    return fail(error, ETHOS_IO, "its file cannot be written");
}

/* Compares the revision and writes, while nobody else does: in any process, by any handle. */
static int swap(struct ethos_store *store, const char *scope, const char *key, const char *expect,
                const struct ethos_view *text, struct ethos_error *error)
{
    const struct scroll *self = (const struct scroll *)store;
    struct ethos_text file = {0};
    struct record record;
    char now[ETHOS_REVISION_SIZE] = "absent";
    mkdir(self->root, 0700);
    int lock = open(self->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        return fail(error, ETHOS_IO, strerror(errno));
    int code = load(self, &file, error);
    int found = code == ETHOS_OK && find(&file, scope, key, &record);
    if (found)
        name_revision(file.data + record.text, record.size, now);
    if (code == ETHOS_OK && expect && strcmp(expect, now) != 0)
        code = fail(error, ETHOS_CONFLICT, "the text is another one by now");
    else if (code == ETHOS_OK && !found && !text)
        code = fail(error, ETHOS_NOTFOUND, "no such text");
    if (code == ETHOS_OK)
        code = replace(self, &file, &record, scope, key, text, error);
    self->host->resize(self->host->arg, file.data, 0);
    close(lock);
    return code;
}

static int scroll_write(struct ethos_store *store, const char *scope, const char *key,
                        const char *expect, struct ethos_view text,
                        const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                        struct ethos_error *error)
{
    (void)origin; // who wrote it, for a history
    if (text.size > ETHOS_MAX_STORE_BYTES)
        return fail(error, ETHOS_LIMIT, "too large a text");
    int code = swap(store, scope, key, expect, &text, error);
    if (code == ETHOS_OK)
        name_revision(text.data, text.size, out_revision);
    return code;
}

static int scroll_remove(struct ethos_store *store, const char *scope, const char *key,
                         const char *expect, const struct ethos_origin *origin,
                         struct ethos_error *error)
{
    (void)origin;
    return swap(store, scope, key, expect, NULL, error);
}

/* ---- the module ------------------------------------------------------------------------------ */

static int scroll_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                       struct ethos_error *error)
{
    struct scroll *self = setup->host->resize(setup->host->arg, NULL, sizeof *self);
    if (!self)
        return fail(error, ETHOS_NOMEM, "out of memory");
    memset(self, 0, sizeof *self);
    self->base.ops = ethos_module.store;
    self->host = setup->host;
    snprintf(self->root, sizeof self->root, "%s", setup->root);
    // The host has checked the settings against the table below: there is one, or none.
    snprintf(self->path, sizeof self->path, "%s/%.100s", self->root,
             setup->setting_count > 0 ? setup->settings[0].value : "scroll");
    *out_store = &self->base;
    return ETHOS_OK;
}

static void scroll_close(struct ethos_store *store)
{
    struct scroll *self = (struct scroll *)store;
    self->host->resize(self->host->arg, self, 0);
}

static const struct ethos_option options[] = {
    {"name", ETHOS_OPTION_STRING, "scroll", "of the file, in the home"},
    {NULL, ETHOS_OPTION_STRING, NULL, NULL},
};

static const struct ethos_store_ops scroll_ops = {
    .abi = ETHOS_ABI,
    .name = "scroll",
    .options = options,
    .open = scroll_open,
    .close = scroll_close,
    .read = scroll_read,
    .write = scroll_write,
    .remove = scroll_remove,
    .list = scroll_list,
};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "scroll",
    .store = &scroll_ops,
};

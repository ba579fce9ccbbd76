/*
 * text_cache.c: the cache of texts as they were when the backend was last reached.
 *
 *     ethos-known 1 <crc32c> <there> <offset> <total> <mtime_ms> <revision or ->
 *     <text>
 *
 * The checksum covers all that follows it. Nothing is synced: what a power cut damaged is not
 * cached any more. The mtime of the file is the time at which the text was so.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/offline/internal.h"

#define FOLDER "known"
#define MAGIC "ethos-known 1 "
#define CRC_SIZE 9 /* 8 hex digits and a blank */
#define HEAD_BYTES 512
#define NAME_HALF 32 /* hex digits for a scope, and for a key */
#define NAME_SIZE (2 * NAME_HALF + 2)
#define MAX_FILES 100000 /* read in one go */

struct cached_text {
    bool there;
    uint64_t offset, total;
    int64_t mtime_ms, known_ms;
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_view text;
};

/* The texts of one scope have a common prefix. */
static void make_cache_name(const char *scope, const char *key, char out[NAME_SIZE])
{
    char of_scope[HASH_HEX_SIZE], of_key[HASH_HEX_SIZE];
    hash_hex(view_str(scope), of_scope);
    hash_hex(view_str(key), of_key);
    snprintf(out, NAME_SIZE, "%.*s-%.*s", NAME_HALF, of_scope, NAME_HALF, of_key);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static bool parse_cached(struct ethos_view file, struct cached_text *out)
{
    struct ethos_view rest = file, line;
    char head[HEAD_BYTES], revision[ETHOS_REVISION_SIZE];
    unsigned crc = 0, there = 0;
    if (!view_line(&rest, &line) || line.size >= sizeof head ||
        line.size < strlen(MAGIC) + CRC_SIZE)
        return false;
    memcpy(head, line.data, line.size);
    head[line.size] = 0;
    if (sscanf(head, MAGIC "%8x %1u %" SCNu64 " %" SCNu64 " %" SCNd64 " %79s", &crc, &there,
               &out->offset, &out->total, &out->mtime_ms, revision) != 6)
        return false;
    out->there = there != 0;
    out->text = rest.data ? rest : VIEW("");
    snprintf(out->revision, sizeof out->revision, "%s", strcmp(revision, "-") ? revision : "");
    return hash_crc32c(view_from(file, strlen(MAGIC) + CRC_SIZE)) == crc;
}

/* out_record points into *out_file. False: not cached. */
static bool load_cached(int dir, const char *name, struct str *out_file,
                        struct cached_text *out_record)
{
    struct stat info;
    CLEANUP_FD int fd = os_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool known = os_fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                 os_read_all(fd, out_file, ETHOS_MAX_STORE_BYTES) == 0 &&
                 parse_cached(str_view(out_file), out_record);
    out_record->known_ms = (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000;
    return known;
}

static int copy_cached_out(struct offline *self, const struct cached_text *record,
                           struct ethos_text *out)
{
    const struct ethos_host *host = self->setup.host;
    size_t size = record->text.size;
    if (out->capacity < size + 1) {
        char *data = host->resize(host->arg, out->data, size + 1);
        if (!data)
            return ETHOS_NOMEM;
        out->data = data;
        out->capacity = size + 1;
    }
    memcpy(out->data, record->text.data, size);
    out->data[size] = 0;
    *out = (struct ethos_text){.data = out->data,
                               .size = size,
                               .capacity = out->capacity,
                               .offset = record->offset,
                               .total = record->total,
                               .mtime_ms = record->mtime_ms,
                               .known_ms = record->known_ms};
    memcpy(out->revision, record->revision, sizeof out->revision);
    return ETHOS_OK;
}

int known_read(struct offline *self, const char *scope, const char *key,
               struct ethos_text *out_text)
{
    int dir;
    char name[NAME_SIZE];
    CLEANUP_STR struct str file = {0};
    struct cached_text record = {0};
    if (!self->cached || offline_folder(self, FOLDER, false, &dir, NULL) != ETHOS_OK)
        return ETHOS_BUSY;
    str_init(&file, ETHOS_MAX_STORE_BYTES + 1);
    make_cache_name(scope, key, name);
    int code = !load_cached(dir, name, &file, &record) ? ETHOS_BUSY
               : record.there                          ? copy_cached_out(self, &record, out_text)
                                                       : ETHOS_NOTFOUND;
    if (code == ETHOS_NOTFOUND)
        out_text->known_ms = record.known_ms;
    os_close(dir);
    return code;
}

/* ---- keeping ---------------------------------------------------------------------------------- */

static void print_cached(const struct ethos_text *text, struct str *out)
{
    struct ethos_view body = text ? view_of(text->data, text->size) : VIEW("");
    char crc[CRC_SIZE + 1];
    str_adds(out, MAGIC "00000000 ");
    str_printf(out, "%d %" PRIu64 " %" PRIu64 " %" PRId64 " %s\n", text != NULL,
               text ? text->offset : 0, text ? text->total : 0, text ? text->mtime_ms : -1,
               text && *text->revision ? text->revision : "-");
    str_add(out, body);
    if (str_code(out) != ETHOS_OK)
        return;
    snprintf(crc, sizeof crc, "%08x",
             hash_crc32c(view_from(str_view(out), strlen(MAGIC) + CRC_SIZE)));
    memcpy(out->data + strlen(MAGIC), crc, CRC_SIZE - 1);
}

/* Whether the cached text covers all of this text. */
static bool is_covered_by_cached(const struct cached_text *kept, const struct ethos_text *text)
{
    if (!text || !kept->there)
        return !text && !kept->there;
    return kept->total == text->total && kept->offset <= text->offset &&
           (!*text->revision || strcmp(kept->revision, text->revision) == 0) &&
           view_ends(kept->text, view_of(text->data, text->size));
}

/* Uses a draft of its own: two processes may write at once. */
static int write_cached(struct offline *self, int dir, const char *name, struct ethos_view file)
{
    char draft[NAME_SIZE + 32];
    uint64_t number;
    if (os_random(&number, sizeof number) != 0)
        return -1;
    snprintf(draft, sizeof draft, ".%s.%016" PRIx64, name, number);
    int fd = os_openat(dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    const struct ethos_host *host = self->setup.host;
    int failed = os_write_all(fd, file.data, file.size) != 0 ||
                 os_futime(fd, host->now_ms(host->arg) * 1000000) != 0;
    os_close(fd);
    failed = failed || os_renameat(dir, draft, dir, name, 0) != 0;
    if (failed)
        os_unlinkat(dir, draft, 0);
    return failed ? -1 : 0;
}

static void touch_cached(struct offline *self, int dir, const char *name)
{
    const struct ethos_host *host = self->setup.host;
    CLEANUP_FD int fd = os_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    os_futime(fd, host->now_ms(host->arg) * 1000000);
}

static void store_in_folder(struct offline *self, int dir, const char *name,
                            const struct ethos_text *text, bool refresh)
{
    CLEANUP_STR struct str file = {0};
    struct cached_text kept = {0};
    struct stat info;
    if (refresh && os_fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    str_init(&file, ETHOS_MAX_STORE_BYTES + HEAD_BYTES);
    if (load_cached(dir, name, &file, &kept) && is_covered_by_cached(&kept, text)) {
        touch_cached(self, dir, name);
    } else {
        str_clear(&file);
        print_cached(text, &file);
        // another text is cached: better none than the wrong one
        if (str_code(&file) != ETHOS_OK || write_cached(self, dir, name, str_view(&file)) != 0)
            os_unlinkat(dir, name, 0);
    }
}

void text_cache_store(struct offline *self, const char *scope, const char *key,
                      const struct ethos_text *text, bool refresh)
{
    int dir;
    char name[NAME_SIZE];
    if (!self->cached || offline_folder(self, FOLDER, !refresh, &dir, NULL) != ETHOS_OK)
        return;
    make_cache_name(scope, key, name);
    store_in_folder(self, dir, name, text, refresh);
    os_close(dir);
}

int known_forget(struct offline *self, const char *scope, struct ethos_error *error)
{
    int dir;
    char name[NAME_SIZE];
    struct arena arena;
    struct dir_names names = {0};
    int code = offline_folder(self, FOLDER, false, &dir, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    arena_init(&arena);
    make_cache_name(scope, "", name);
    if (dir_names(dir, &arena, MAX_FILES, &names) != 0)
        code = err_errno(error, errno, FOLDER);
    for (size_t i = 0; i < names.count && code == ETHOS_OK; i++) {
        const char *rest = names.list[i] + (*names.list[i] == '.'); // an abandoned draft
        if (strncmp(rest, name, NAME_HALF + 1) == 0 && os_unlinkat(dir, names.list[i], 0) != 0 &&
            errno != ENOENT)
            code = err_errno(error, errno, FOLDER);
    }
    arena_release(&arena);
    os_close(dir);
    return code;
}

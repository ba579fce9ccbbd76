/*
 * tar.c: reads and writes tar archives of regular files.
 */
#include "core/formats/tar.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"

/* A header block: offset and width of each member. */
struct header_field {
    size_t at, size;
};
static const struct header_field NAME = {0, 100}, MODE = {100, 8}, UID = {108, 8}, GID = {116, 8},
                                 SIZE = {124, 12}, MTIME = {136, 12}, CHECKSUM = {148, 8},
                                 PREFIX = {345, 155};
#define TYPE_AT 156
#define MAGIC_AT 257
#define MAGIC "ustar"
#define OCTAL_SIZE_MAX 077777777777ULL /* what 11 octal digits hold */

size_t tar_padding(uint64_t size)
{
    return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void print_octal(char block[TAR_BLOCK], struct header_field field, uint64_t value)
{
    for (size_t i = field.size - 1; i-- > 0; value >>= 3)
        block[field.at + i] = (char)('0' + (value & 7));
}

static unsigned checksum_of(const char block[TAR_BLOCK])
{
    unsigned sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        bool own = i >= CHECKSUM.at && i < CHECKSUM.at + CHECKSUM.size;
        sum += own ? ' ' : (unsigned char)block[i];
    }
    return sum;
}

static void print_header_block(char type, const char *path, uint64_t size, unsigned mode,
                               int64_t mtime_s, struct str *out)
{
    char block[TAR_BLOCK] = {0};
    size_t length = strlen(path);
    memcpy(block + NAME.at, path, length < NAME.size ? length : NAME.size);
    print_octal(block, MODE, mode & 07777);
    print_octal(block, UID, 0);
    print_octal(block, GID, 0);
    print_octal(block, SIZE, size <= OCTAL_SIZE_MAX ? size : 0);
    print_octal(block, MTIME, mtime_s > 0 ? (uint64_t)mtime_s & OCTAL_SIZE_MAX : 0);
    block[TYPE_AT] = type;
    memcpy(block + MAGIC_AT,
           MAGIC "\0"
                 "00",
           8);
    snprintf(block + CHECKSUM.at, 7, "%06o", checksum_of(block));
    block[CHECKSUM.at + 7] = ' ';
    str_add(out, view_of(block, sizeof block));
}

/* "<length> <name>=<value>\n", where the length counts its own digits. */
static void add_record(const char *name, const char *value, struct str *out)
{
    char digits[24];
    size_t rest = strlen(name) + strlen(value) + 3, length = rest;
    for (;;) {
        size_t count = (size_t)snprintf(digits, sizeof digits, "%zu", length);
        if (rest + count == length)
            break;
        length = rest + count;
    }
    str_printf(out, "%s %s=%s\n", digits, name, value);
}

static void add_zeros(size_t count, struct str *out)
{
    static const char zeros[TAR_BLOCK];
    str_add(out, view_of(zeros, count));
}

int tar_print(const struct tar_entry *entry, struct str *out)
{
    struct str records;
    char size[24];
    str_init(&records, TAR_MAX_PAX);
    if (strlen(entry->path) > NAME.size)
        add_record("path", entry->path, &records);
    snprintf(size, sizeof size, "%llu", (unsigned long long)entry->size);
    if (entry->size > OCTAL_SIZE_MAX)
        add_record("size", size, &records);
    if (records.size > 0) {
        print_header_block('x', "PaxHeaders/entry", records.size, 0600, entry->mtime_s, out);
        str_add(out, str_view(&records));
        add_zeros(tar_padding(records.size), out);
    }
    print_header_block(entry->directory ? '5' : '0', entry->path, entry->size, entry->mode,
                       entry->mtime_s, out);
    if (str_code(&records) != ETHOS_OK)
        str_fail(out, str_code(&records));
    str_release(&records);
    return str_code(out);
}

/* ---- reading -------------------------------------------------------------------------------- */

void tar_open(struct tar *tar, uint64_t size, tar_read_fn *read, void *arg)
{
    *tar = (struct tar){.read = read, .arg = arg, .left = size};
}

static int refuse_corrupt(const char *why, struct ethos_error *error)
{
    return err_set(error, ETHOS_CORRUPT, "the archive is damaged: %s", why);
}

static int read_archive_bytes(struct tar *tar, void *data, size_t size, struct ethos_error *error)
{
    if (size > tar->left)
        return refuse_corrupt("it ends early", error);
    int code = tar->read(tar->arg, data, size, error);
    if (code == ETHOS_OK)
        tar->left -= size;
    return code;
}

/* Reads octal digits, with blanks before and after them. */
static bool read_octal(const char block[TAR_BLOCK], struct header_field field, uint64_t *out)
{
    const char *at = block + field.at, *end = at + field.size;
    uint64_t value = 0;
    while (at < end && *at == ' ')
        at++;
    for (; at < end && *at >= '0' && *at <= '7'; at++)
        value = value << 3 | (uint64_t)(*at - '0'); // 12 digits at most: 36 bits
    if (at < end && *at != ' ' && *at != '\0')
        return false;
    *out = value;
    return true;
}

/* Appends a field, which need not be terminated. Prefix and name together fit into a path. */
static void append_field_text(const char block[TAR_BLOCK], struct header_field field,
                              char path[TAR_PATH_SIZE])
{
    size_t have = strlen(path), size = strnlen(block + field.at, field.size);
    memcpy(path + have, block + field.at, size);
    path[have + size] = 0;
}

static void add_slash(char path[TAR_PATH_SIZE])
{
    size_t have = strlen(path);
    path[have] = '/';
    path[have + 1] = 0;
}

static bool is_zero_block(const char block[TAR_BLOCK])
{
    for (size_t i = 0; i < TAR_BLOCK; i++)
        if (block[i] != 0)
            return false;
    return true;
}

/* The values of a pax header for the next entry. */
struct extension {
    bool has_path, has_size;
    char path[TAR_PATH_SIZE];
    uint64_t size;
};

static bool read_decimal(struct ethos_view digits, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9' || value > (TAR_MAX_SIZE - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(digits.data[i] - '0');
    }
    *out = value;
    return digits.size > 0;
}

static int apply_pax_record(struct ethos_view name, struct ethos_view value, struct extension *out,
                            struct ethos_error *error)
{
    if (view_starts(name, VIEW("GNU.sparse")))
        return err_set(error, ETHOS_DENIED, "the archive contains a sparse file");
    if (view_eq_str(name, "path")) {
        if (value.size == 0 || value.size >= TAR_PATH_SIZE || memchr(value.data, 0, value.size))
            return refuse_corrupt("a path is not valid", error);
        memcpy(out->path, value.data, value.size);
        out->path[value.size] = 0;
        out->has_path = true;
    } else if (view_eq_str(name, "size")) {
        if (!read_decimal(value, &out->size))
            return refuse_corrupt("a size is not valid", error);
        out->has_size = true;
    }
    return ETHOS_OK;
}

static int read_records(struct ethos_view text, struct extension *out, struct ethos_error *error)
{
    int code = ETHOS_OK;
    while (code == ETHOS_OK && text.size > 0) {
        const char *blank = memchr(text.data, ' ', text.size);
        uint64_t length = 0;
        if (!blank || !read_decimal(view_of(text.data, (size_t)(blank - text.data)), &length))
            return refuse_corrupt("a pax header is not valid", error);
        size_t start = (size_t)(blank - text.data) + 1;
        if (length > text.size || length < start + 2 || text.data[length - 1] != '\n')
            return refuse_corrupt("a pax header is not valid", error);
        struct ethos_view record = view_of(text.data + start, (size_t)length - start - 1);
        const char *equals = memchr(record.data, '=', record.size);
        if (!equals)
            return refuse_corrupt("a pax header is not valid", error);
        size_t name = (size_t)(equals - record.data);
        code = apply_pax_record(view_of(record.data, name), view_from(record, name + 1), out,
                                error);
        text = view_from(text, (size_t)length);
    }
    return code;
}

static int read_extension(struct tar *tar, uint64_t size, struct extension *out,
                          struct ethos_error *error)
{
    struct str text;
    if (size > TAR_MAX_PAX)
        return refuse_corrupt("a pax header is too large", error);
    size_t whole = (size_t)size + tar_padding(size);
    if (whole > tar->left)
        return refuse_corrupt("it ends early", error);
    str_init(&text, TAR_MAX_PAX + TAR_BLOCK);
    if (str_reserve(&text, whole + 1) != ETHOS_OK) {
        str_release(&text);
        return err_nomem(error);
    }
    int code = read_archive_bytes(tar, text.data, whole, error);
    if (code == ETHOS_OK)
        code = read_records(view_of(text.data, (size_t)size), out, error);
    str_release(&text);
    return code;
}

static int check_block(const char block[TAR_BLOCK], struct ethos_error *error)
{
    uint64_t sum;
    if (memcmp(block + MAGIC_AT, MAGIC, strlen(MAGIC)) != 0)
        return refuse_corrupt("a header is not a tar header", error);
    if (!read_octal(block, CHECKSUM, &sum) || sum != checksum_of(block))
        return refuse_corrupt("the checksum of a header does not match", error);
    return ETHOS_OK;
}

static int refuse_kind(const struct tar_entry *entry, char type, struct ethos_error *error)
{
    const char *kind = type == '1' || type == '2'                  ? "a link"
                       : type == '3' || type == '4' || type == '6' ? "a device or pipe"
                                                                   : "of an unknown kind";
    return err_set(error, ETHOS_DENIED, "the archive contains %s, which is %s", entry->path, kind);
}

/* Parses the entry of a header block, with the values of a pax header before it. */
static int parse_entry(struct tar *tar, const char block[TAR_BLOCK],
                       const struct extension *extension, struct tar_entry *out,
                       struct ethos_error *error)
{
    uint64_t mode, mtime;
    char type = block[TYPE_AT];
    out->path[0] = 0;
    if (extension->has_path)
        memcpy(out->path, extension->path, sizeof out->path);
    else if (block[PREFIX.at])
        append_field_text(block, PREFIX, out->path);
    if (!extension->has_path && block[PREFIX.at])
        add_slash(out->path);
    if (!extension->has_path)
        append_field_text(block, NAME, out->path);
    if (!read_octal(block, MODE, &mode) || !read_octal(block, MTIME, &mtime) ||
        !read_octal(block, SIZE, &out->size))
        return refuse_corrupt("a number of a header is not valid", error);
    if (type != '0' && type != '\0' && type != '5')
        return refuse_kind(out, type, error);
    out->directory = type == '5';
    out->size = out->directory ? 0 : extension->has_size ? extension->size : out->size;
    out->mode = (unsigned)mode & 07777;
    out->mtime_s = (int64_t)mtime;
    if (out->size > tar->left || tar_padding(out->size) > tar->left - out->size)
        return refuse_corrupt("it ends early", error);
    tar->unread = out->size;
    tar->padding = tar_padding(out->size);
    return 1;
}

/* Skips the rest of the current file. */
static int skip_file(struct tar *tar, struct ethos_error *error)
{
    char buffer[TAR_BLOCK * 16];
    size_t got = 1;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && tar->unread > 0 && got > 0)
        code = tar_data(tar, buffer, sizeof buffer, &got, error);
    if (code == ETHOS_OK && tar->padding > 0)
        code = read_archive_bytes(tar, buffer, tar->padding, error);
    tar->padding = 0;
    return code;
}

int tar_next(struct tar *tar, struct tar_entry *out, struct ethos_error *error)
{
    char block[TAR_BLOCK];
    struct extension extension = {0};
    bool extended = false;
    int code = skip_file(tar, error);
    while (code == ETHOS_OK) {
        uint64_t size;
        code = read_archive_bytes(tar, block, sizeof block, error);
        if (code == ETHOS_OK && is_zero_block(block))
            return extended ? refuse_corrupt("it ends early", error) : 0;
        if (code == ETHOS_OK)
            code = check_block(block, error);
        if (code != ETHOS_OK)
            return code;
        if (block[TYPE_AT] != 'x')
            return parse_entry(tar, block, &extension, out, error);
        if (extended || !read_octal(block, SIZE, &size))
            return refuse_corrupt("a pax header is not valid", error);
        extended = true;
        code = read_extension(tar, size, &extension, error);
    }
    return code;
}

int tar_data(struct tar *tar, void *data, size_t size, size_t *out_size, struct ethos_error *error)
{
    *out_size = size < tar->unread ? size : (size_t)tar->unread;
    if (*out_size == 0)
        return ETHOS_OK;
    int code = read_archive_bytes(tar, data, *out_size, error);
    if (code == ETHOS_OK)
        tar->unread -= *out_size;
    return code;
}

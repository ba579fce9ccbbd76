/*
 * fuzz_tar.c: an archive that somebody hands to ethos restore, and the list in it.
 *
 * Whatever the bytes: no entry is larger than what is left, reading ends, a path that passes the check leads
 * nowhere else, and a list that is read is printed and read again as the same.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/formats/backup_manifest.h"
#include "core/formats/tar.h"

#define CEILING ((size_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_some(void *arg, void *data, size_t size, struct ethos_error *error)
{
    struct ethos_view *rest = arg;
    assert(size <= rest->size);
    (void)error;
    memcpy(data, rest->data, size);
    *rest = view_from(*rest, size);
    return ETHOS_OK;
}

static void check_path(const char *path)
{
    struct str header;
    struct tar_entry entry = {.size = 7, .mode = 0600}, again;
    struct tar tar;
    if (backup_check_path(path, NULL) != ETHOS_OK)
        return;
    assert(path[0] != '/' && path[0] && !strstr(path, "//"));
    assert(strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 && !strstr(path, "/../"));
    assert(!view_ends(view_str(path), VIEW("/..")) && !view_ends(view_str(path), VIEW("/")));
    memcpy(entry.path, path, strlen(path) + 1);
    str_init(&header, CEILING);
    assert(tar_print(&entry, &header) == ETHOS_OK);
    for (int i = 0; i < TAR_BLOCK; i++)
        str_addc(&header, 'x');
    struct ethos_view rest = str_view(&header);
    tar_open(&tar, rest.size, read_some, &rest);
    assert(tar_next(&tar, &again, NULL) == 1 && strcmp(again.path, path) == 0 && again.size == 7);
    str_release(&header);
}

static void check_list(struct ethos_view text)
{
    json_t *files, *again;
    char created[CLOCK_ISO_SIZE];
    struct str out;
    if (backup_parse(text, &files, created, NULL) != ETHOS_OK)
        return;
    str_init(&out, CEILING);
    assert(backup_print(files, "1", 0, &out) == ETHOS_OK);
    assert(backup_parse(str_view(&out), &again, created, NULL) == ETHOS_OK);
    assert(backup_compare(files, again, NULL) == ETHOS_OK && json_equal(files, again));
    json_decref(files);
    json_decref(again);
    str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view rest = view_of((const char *)data, size);
    static struct tar_entry entry;
    struct tar tar;
    char buffer[700];
    size_t entries = 0, got;
    check_list(rest);
    tar_open(&tar, size, read_some, &rest);
    while (tar_next(&tar, &entry, NULL) > 0) {
        assert(++entries <= size / TAR_BLOCK && entry.size <= size);
        check_path(entry.path);
        uint64_t left = entry.size;
        do {
            assert(tar_data(&tar, buffer, sizeof buffer, &got, NULL) == ETHOS_OK && got <= left);
            left -= got;
        } while (got > 0);
        assert(left == 0);
    }
    return 0;
}

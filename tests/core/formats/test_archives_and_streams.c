/*
 * test_archives_and_streams.c: what a backup is made of: tar headers, paths, the list; and the two other small readers,
 * git's index and event streams.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/formats/backup_manifest.h"
#include "core/formats/git_index.h"
#include "core/formats/server_sent_events.h"
#include "core/formats/tar.h"

#define CEILING 1000000

/* ---- tar -------------------------------------------------------------------------------------- */

static int read_some(void *arg, void *data, size_t size, struct ethos_error *error)
{
    struct ethos_view *rest = arg;
    (void)error;
    assert_true(size <= rest->size);
    memcpy(data, rest->data, size);
    *rest = view_from(*rest, size);
    return ETHOS_OK;
}

static void fill(struct tar_entry *entry, size_t path, uint64_t size)
{
    memset(entry, 0, sizeof *entry);
    memset(entry->path, 'p', path);
    entry->size = size;
    entry->mode = 0640;
    entry->mtime_s = 1763200000;
}

static void files_of_every_length_come_back(void **state)
{
    static const size_t paths[] = {1, 99, 100, 101, 255, 1024};
    static struct tar_entry entry, back;
    struct str archive;
    char byte;
    size_t got;
    (void)state;
    str_init(&archive, CEILING);
    for (size_t i = 0; i < 6; i++)
        for (size_t size = 0; size < 3; size++) {
            struct tar tar;
            fill(&entry, paths[i], size);
            str_clear(&archive);
            assert_int_equal(tar_print(&entry, &archive), ETHOS_OK);
            for (size_t k = 0; k < size + tar_padding(size) + TAR_END_BYTES; k++)
                str_addc(&archive, k < size ? 'x' : 0);
            assert_int_equal(archive.size % TAR_BLOCK, 0);
            struct ethos_view rest = str_view(&archive);
            tar_open(&tar, rest.size, read_some, &rest);
            assert_int_equal(tar_next(&tar, &back, NULL), 1);
            assert_string_equal(back.path, entry.path);
            assert_int_equal(back.size, size);
            assert_int_equal(back.mode, 0640);
            assert_int_equal(back.mtime_s, 1763200000);
            for (size_t k = 0; k < size; k++)
                assert_int_equal(tar_data(&tar, &byte, 1, &got, NULL), ETHOS_OK);
            assert_int_equal(tar_data(&tar, &byte, 1, &got, NULL), ETHOS_OK);
            assert_int_equal(got, 0);
            assert_int_equal(tar_next(&tar, &back, NULL), 0);
        }
    str_release(&archive);
}

/* A size that 11 octal digits do not hold stands in a pax header, and must be there to be read. */
static void a_size_beyond_the_archive_is_refused(void **state)
{
    static struct tar_entry entry;
    struct ethos_error error = {0};
    struct str archive;
    struct tar tar;
    (void)state;
    str_init(&archive, CEILING);
    for (int i = 0; i < 2; i++) {
        fill(&entry, 10, i ? UINT64_C(1) << 40 : 513);
        str_clear(&archive);
        tar_print(&entry, &archive);
        for (size_t k = 0; k < TAR_BLOCK; k++)
            str_addc(&archive, 0);
        struct ethos_view rest = str_view(&archive);
        tar_open(&tar, rest.size, read_some, &rest);
        assert_int_equal(tar_next(&tar, &entry, &error), ETHOS_CORRUPT);
        assert_string_equal(error.text, "the archive is damaged: it ends early");
    }
    str_release(&archive);
}

static void every_changed_bit_of_a_header_is_noticed(void **state)
{
    static struct tar_entry entry, back;
    struct str archive;
    (void)state;
    str_init(&archive, CEILING);
    fill(&entry, 20, 0);
    tar_print(&entry, &archive);
    for (size_t at = 0; at < TAR_BLOCK; at++) {
        struct tar tar;
        archive.data[at] ^= 1;
        struct ethos_view rest = str_view(&archive);
        tar_open(&tar, rest.size, read_some, &rest);
        int code = tar_next(&tar, &back, NULL);
        bool blank = at == 154 || at == 155; // behind the digits of the checksum itself
        assert_true(code < 0 || blank);
        archive.data[at] ^= 1;
    }
    str_release(&archive);
}

/* ---- paths and the list ------------------------------------------------------------------------ */

static void paths_that_lead_away_are_refused(void **state)
{
    static const char *const bad[] = {
        "",      "/a",  "../a", "a/../b",    "a/..",      "a//b",         "a/",
        ".",     "./a", "a\nb", "web-token", ".mem/lock", "a/.mem/tmp/x", "sessions.db-wal",
        "x.sock"};
    static const char *const good[] = {
        "MEMORY.md",   "a/b",      "..a", ".gitignore", "p/.mem/conflicts/x.md",
        "sessions.db", "keys.yaml"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(backup_check_path(bad[i], NULL), ETHOS_DENIED);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(backup_check_path(good[i], NULL), ETHOS_OK);
    assert_int_equal(backup_class("keys.yaml"), BACKUP_SECRET);
    assert_int_equal(backup_class("secrets/a"), BACKUP_SECRET);
    assert_int_equal(backup_class("memories/a.sock"), BACKUP_FILE);
    assert_int_equal(backup_class("users/u/memories/b/a.db"), BACKUP_FILE);
    assert_int_equal(backup_class("users/u/memories/.mem/lock"), BACKUP_LOCAL);
    assert_int_equal(backup_class("personalities/p/keys.yaml"), BACKUP_FILE);
    assert_int_equal(backup_class("sessions.db"), BACKUP_DATABASE);
    assert_int_equal(backup_class("sessions-search.db"), BACKUP_LOCAL);
}

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_list_comes_back_and_tells_what_differs(void **state)
{
    json_t *files = json_object(), *back = NULL;
    char created[CLOCK_ISO_SIZE];
    struct ethos_error error = {0};
    struct str text;
    (void)state;
    str_init(&text, CEILING);
    assert_int_equal(backup_add(files, "a b.md", HASH, &error), ETHOS_OK);
    assert_int_equal(backup_add(files, "a\\b.md", OTHER, &error), ETHOS_OK);
    assert_int_equal(backup_add(files, "a b.md", OTHER, &error), ETHOS_CORRUPT);
    assert_int_equal(backup_print(files, "1", 0, &text), ETHOS_OK);
    assert_string_equal(text.data,
                        "# ethos-backup 1\n# version 1\n# created "
                        "1970-01-01T00:00:00.000Z\n" HASH "  a b.md\n\\" OTHER "  a\\\\b.md\n");
    assert_int_equal(backup_parse(str_view(&text), &back, created, &error), ETHOS_OK);
    assert_string_equal(created, "1970-01-01T00:00:00.000Z");
    assert_int_equal(backup_compare(files, back, &error), ETHOS_OK);
    json_object_del(back, "a b.md");
    assert_int_equal(backup_compare(files, back, &error), ETHOS_CORRUPT);
    assert_string_equal(error.text, "the backup is incomplete: a b.md is missing");
    assert_int_equal(backup_compare(back, files, &error), ETHOS_CORRUPT);
    json_object_set_new(back, "a b.md", json_string(OTHER));
    assert_int_equal(backup_compare(files, back, &error), ETHOS_CORRUPT);
    json_decref(back);
    json_decref(files);
    str_release(&text);
}

static void what_is_no_list_is_refused(void **state)
{
    static const struct {
        const char *text;
        int code;
    } bad[] = {{"", ETHOS_CORRUPT},
               {"# ethos-backup 2\n", ETHOS_UNSUPPORTED},
               {"# ethos-backup 1\nabc  a\n", ETHOS_CORRUPT},
               {"# ethos-backup 1\n" HASH " a\n", ETHOS_CORRUPT},
               {"# ethos-backup 1\n" HASH "  ../a\n", ETHOS_DENIED},
               {"# ethos-backup 1\n" HASH "  a\n" HASH "  a\n", ETHOS_CORRUPT},
               {"# ethos-backup 1\n\\" HASH "  a\\\n", ETHOS_CORRUPT},
               {"# ethos-backup 1\n" HASH "  a\xff\n", ETHOS_CORRUPT}};
    char created[CLOCK_ISO_SIZE];
    json_t *files = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(backup_parse(view_str(bad[i].text), &files, created, NULL), bad[i].code);
}

/* ---- git's index -------------------------------------------------------------------------------- */

struct names {
    char all[256];
};

static int note(void *arg, const char *name)
{
    struct names *names = arg;
    size_t size = strlen(names->all);
    snprintf(names->all + size, sizeof names->all - size, "%s|", name);
    return 0;
}

static void add_number(struct str *out, unsigned value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        str_addc(out, (char)(value >> shift & 0xff));
}

static void add_zeros(struct str *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_addc(out, 0);
}

static void names_of_an_index_are_told(void **state)
{
    struct str index;
    struct names names = {""};
    (void)state;
    str_init(&index, CEILING);
    str_adds(&index, "DIRC");
    add_number(&index, 2);
    add_number(&index, 2);
    add_zeros(&index, 62);
    str_adds(&index, "a/b");
    add_zeros(&index, 8 - (62 + 3) % 8);
    add_zeros(&index, 62);
    str_adds(&index, "cc");
    add_zeros(&index, 8 - (62 + 2) % 8);
    assert_int_equal(git_index_names(str_view(&index), note, &names), ETHOS_OK);
    assert_string_equal(names.all, "a/b|cc|");
    for (size_t size = 0; size < index.size; size++)
        assert_int_equal(git_index_names(view_of(index.data, size), note, &(struct names){""}),
                         ETHOS_CORRUPT);
    str_clear(&index);
    names.all[0] = 0;
    str_adds(&index, "DIRC");
    add_number(&index, 4);
    add_number(&index, 2);
    add_zeros(&index, 63);
    str_adds(&index, "ab/cd");
    add_zeros(&index, 1 + 62);
    str_addc(&index, 2);
    str_adds(&index, "ef");
    add_zeros(&index, 1);
    assert_int_equal(git_index_names(str_view(&index), note, &names), ETHOS_OK);
    assert_string_equal(names.all, "ab/cd|ab/ef|");
    str_release(&index);
}

/* ---- event streams ------------------------------------------------------------------------------ */

static void hear(void *arg, struct ethos_view data)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", VIEW_ARG(data));
    note(arg, data.data ? text : "(too long)");
}

static void events_come_in_pieces(void **state)
{
    static const char stream[] =
        ": hello\nid: 7\ndata: one\n\ndata:a\r\ndata: b\r\n\r\nevent: x\n\n"
        "id: 8\x01\ndata\n\nid: 9\rdata: 12345678901234567890\r\rdata: end";
    (void)state;
    for (size_t piece = 1; piece < sizeof stream; piece++) {
        struct names names = {""};
        struct event_stream self;
        struct ethos_view rest = view_of(stream, sizeof stream - 1);
        event_stream_init(&self, 16, hear, &names);
        while (rest.size > 0) {
            size_t size = piece < rest.size ? piece : rest.size;
            event_stream_feed(&self, view_of(rest.data, size));
            rest = view_from(rest, size);
        }
        assert_string_equal(names.all, "one|a\nb||(too long)|");
        assert_string_equal(self.id, "9");
        event_stream_release(&self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_every_length_come_back),
        cmocka_unit_test(a_size_beyond_the_archive_is_refused),
        cmocka_unit_test(every_changed_bit_of_a_header_is_noticed),
        cmocka_unit_test(paths_that_lead_away_are_refused),
        cmocka_unit_test(a_list_comes_back_and_tells_what_differs),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(names_of_an_index_are_told),
        cmocka_unit_test(events_come_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_files_kept.c: texts that the files store keeps: given without being read again, and never when
 * the file, or the way to it, is no longer what it was.
 */
#include "home.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "base/hash.h"

#define NOTE FILE_OF("a.md")
#define SETTLE_US 150000 /* more than what a text must have been left alone for */
#define KEPT_CALLS "openat2 fstat close "

/* The calls of one read. */
static char calls[1024];

static int log_call(void *arg, const char *call, unsigned long number)
{
    size_t used = strlen(calls);
    (void)arg, (void)number;
    snprintf(calls + used, sizeof calls - used, "%s ", call);
    return 0;
}

static int logged_read(struct home *home, const char *key)
{
    calls[0] = 0;
    os_hook(log_call, NULL);
    int code = home_read(home, SCOPE, key);
    os_hook(NULL, NULL);
    return code;
}

static void set_back(struct home *home, const char *path)
{
    const struct timespec times[2] = {{1600000000, 7}, {1600000000, 7}};
    assert_int_equal(utimensat(home->temp.fd, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void put_old(struct home *home, const char *path, const char *text)
{
    home_put(home, path, text);
    set_back(home, path);
}

static bool keeps(const struct home *home)
{
    struct statfs info;
    assert_int_equal(fstatfs(home->temp.fd, &info), 0);
    return info.f_type == EXT4_SUPER_MAGIC || info.f_type == BTRFS_SUPER_MAGIC ||
           info.f_type == 0x58465342 || info.f_type == F2FS_SUPER_MAGIC;
}

/* A text that is kept, where the file system allows it. */
static void keep(struct home *home, const char *text)
{
    put_old(home, NOTE, text);
    usleep(SETTLE_US);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(logged_read(home, "a.md"), ETHOS_OK);
        assert_string_equal(home->text.data, text);
    }
    if (keeps(home))
        assert_string_equal(calls, KEPT_CALLS);
}

/* ---- given ------------------------------------------------------------------------------------ */

static void test_a_kept_text_is_what_a_read_gives(void **state)
{
    struct home *home = *state;
    static const struct ethos_read_how tail = {2, 0};
    char revision[ETHOS_REVISION_SIZE];
    keep(home, "text\n");
    hash_revision(VIEW("text\n"), revision);
    assert_string_equal(home->text.revision, revision);
    assert_int_equal(home->text.mtime_ms, 1600000000000);
    assert_int_equal(home->text.total, 5);
    assert_int_equal(home->store->ops->read(home->store, SCOPE, "a.md", &tail, &home->text, NULL),
                     ETHOS_OK);
    assert_string_equal(home->text.revision, "");
    assert_string_equal(home->text.data + home->text.size - 2, "t\n");
    assert_int_equal(home->text.offset + home->text.size, 5);
}

static void test_a_revision_is_made_when_it_is_first_asked_for(void **state)
{
    struct home *home = *state;
    static const struct ethos_read_how plain = {0, 0};
    char revision[ETHOS_REVISION_SIZE];
    put_old(home, NOTE, "text\n");
    usleep(SETTLE_US);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            home->store->ops->read(home->store, SCOPE, "a.md", &plain, &home->text, NULL),
            ETHOS_OK);
    hash_revision(VIEW("text\n"), revision);
    assert_reads(home, "a.md", "text\n");
    assert_string_equal(home->text.revision, revision);
}

static void test_many_texts_do_not_get_in_each_others_way(void **state)
{
    struct home *home = *state;
    char key[32], path[64];
    for (int i = 0; i < 600; i++) {
        snprintf(path, sizeof path, DIR_OF_SCOPE "/n%d.md", i);
        put_old(home, path, strrchr(path, '/'));
    }
    usleep(SETTLE_US);
    for (int i = 0; i < 600 * 4; i++) {
        snprintf(key, sizeof key, "/n%d.md", i % 600);
        assert_reads(home, key + 1, key);
        assert_reads(home, key + 1, key);
    }
}

/* ---- known to be the same ------------------------------------------------------------------------ */

/* Whether a text that somebody has is left with him, who watches the directories. */
static bool is_same(struct home *home, const char *key)
{
    static const struct ethos_read_how again = {0, ETHOS_READ_REVISION | ETHOS_READ_AGAIN};
    struct ethos_text text = {.stamp = home->text.stamp};
    calls[0] = 0;
    os_hook(log_call, NULL);
    int code = home->store->ops->read(home->store, SCOPE, key, &again, &text, NULL);
    os_hook(NULL, NULL);
    bool same = code == ETHOS_OK && !text.data && text.stamp == home->text.stamp;
    home->host->resize(home->host->arg, text.data, 0);
    return same;
}

static void test_a_text_that_is_the_same_stays_with_who_has_it(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    if (!keeps(home))
        return;
    assert_true(home->text.stamp);
    assert_true(is_same(home, "a.md"));
    assert_true(is_same(home, "a.md"));
    assert_string_equal(calls, "fstatat ");
    put_old(home, NOTE, "two\n");
    assert_false(is_same(home, "a.md"));
    assert_reads(home, "a.md", "two\n");
    assert_int_equal(home->text.stamp, 0); // read, not kept
    assert_false(is_same(home, "a.md"));
}

static void test_one_that_was_exchanged_does_not(void **state)
{
    struct home *home = *state;
    put_old(home, FILE_OF("b.md"), "two\n");
    keep(home, "one\n");
    assert_true(is_same(home, "a.md") || !keeps(home));
    assert_int_equal(
        renameat2(home->temp.fd, FILE_OF("b.md"), home->temp.fd, NOTE, RENAME_EXCHANGE), 0);
    assert_false(is_same(home, "a.md"));
    assert_reads(home, "a.md", "two\n");
}

/* A directory is kept no longer than until somebody reads without watching. */
static void test_who_does_not_watch_the_way_goes_it(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    if (!keeps(home))
        return;
    assert_true(is_same(home, "a.md"));
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_OK);
    assert_true(is_same(home, "a.md"));
    assert_string_equal(calls, "openat2 fstatat ");
    assert_int_equal(renameat(home->temp.fd, DIR_OF_SCOPE, home->temp.fd, "outside"), 0);
    home_link(home, "../../outside", DIR_OF_SCOPE);
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_DENIED);
    assert_false(is_same(home, "a.md"));
}

static int count_open(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static void test_few_directories_stay_open(void **state)
{
    struct home *home = *state;
    char key[32], path[64];
    int before = count_open();
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "n%d.md", i);
        snprintf(path, sizeof path, DIR_OF_SCOPE "/%s", key);
        put_old(home, path, key);
    }
    usleep(SETTLE_US);
    for (int i = 0; i < 20 && keeps(home); i++) {
        snprintf(key, sizeof key, "n%d.md", i);
        for (int j = 0; j < 3; j++)
            assert_reads(home, key, key);
        assert_true(is_same(home, key));
    }
    assert_true(count_open() - before <= 9); // and the root
}

/* ---- watched ----------------------------------------------------------------------------------- */

#define LOOKS 64 /* before a text is watched */

/* A text that was asked for so often that it is watched. False: not on this file system. */
static bool watch(struct home *home, const char *text)
{
    keep(home, text);
    for (int i = 0; i <= LOOKS && keeps(home); i++)
        assert_true(is_same(home, "a.md"));
    return strcmp(calls, "poll ") == 0;
}

static void write_it(struct home *home)
{
    int fd = openat(home->temp.fd, NOTE, O_WRONLY);
    assert_int_equal(pwrite(fd, "two\n", 4, 0), 4);
    close(fd);
}

static void shorten_it(struct home *home)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", home->temp.path, NOTE);
    assert_int_equal(truncate(path, 2), 0);
}

static void replace_it(struct home *home)
{
    put_old(home, FILE_OF("b.md"), "two\n");
    assert_int_equal(renameat(home->temp.fd, FILE_OF("b.md"), home->temp.fd, NOTE), 0);
}

static void exchange_it(struct home *home)
{
    put_old(home, FILE_OF("b.md"), "two\n");
    assert_int_equal(
        renameat2(home->temp.fd, FILE_OF("b.md"), home->temp.fd, NOTE, RENAME_EXCHANGE), 0);
}

static void move_it(struct home *home)
{
    assert_int_equal(renameat(home->temp.fd, NOTE, home->temp.fd, FILE_OF("b.md")), 0);
}

static void remove_it(struct home *home)
{
    assert_int_equal(unlinkat(home->temp.fd, NOTE, 0), 0);
}

static void lock_it(struct home *home)
{
    assert_int_equal(fchmodat(home->temp.fd, NOTE, 0, 0), 0);
}

static void map_it(struct home *home)
{
    int fd = openat(home->temp.fd, NOTE, O_RDWR);
    char *page = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    close(fd);
    memcpy(page, "two\n", 4);
    munmap(page, 4);
}

/* Another name for the same file, somewhere else. */
static void write_it_elsewhere(struct home *home)
{
    assert_int_equal(linkat(home->temp.fd, NOTE, home->temp.fd, "elsewhere", 0), 0);
    temp_write(&home->temp, "elsewhere", "two\n");
}

static void test_whatever_happens_to_a_watched_text_is_seen(void **state)
{
    static void (*const changes[])(struct home *) = {
        write_it,  shorten_it, replace_it, exchange_it,        move_it,
        remove_it, lock_it,    map_it,     write_it_elsewhere,
    };
    struct home *home = *state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        unlinkat(home->temp.fd, NOTE, 0);
        if (!watch(home, "one\n"))
            return;
        changes[i](home);
        assert_false(is_same(home, "a.md"));
        assert_true(strncmp(calls, "poll close fstatat ", 19) == 0);
    }
}

static void test_a_text_that_somebody_may_write_to_is_not_watched(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    int fd = openat(home->temp.fd, NOTE, O_RDWR);
    char *page = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    for (int i = 0; i < 3 * LOOKS && keeps(home); i++)
        assert_true(is_same(home, "a.md"));
    memcpy(page, "two\n", 4);
    assert_false(is_same(home, "a.md"));
    munmap(page, 4);
    close(fd);
}

static void test_one_text_stirs_and_all_are_watched_again(void **state)
{
    struct home *home = *state;
    if (!watch(home, "one\n"))
        return;
    close(openat(home->temp.fd, NOTE, O_RDONLY));
    assert_true(is_same(home, "a.md"));
    assert_string_equal(calls, "poll close fstatat ");
    for (int i = 0; i <= LOOKS; i++)
        assert_true(is_same(home, "a.md"));
    assert_string_equal(calls, "poll ");
    write_it(home);
    assert_false(is_same(home, "a.md"));
}

/* ---- not given -------------------------------------------------------------------------------- */

static void test_a_text_of_the_same_size_and_time_is_seen(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    put_old(home, NOTE, "two\n");
    assert_reads(home, "a.md", "two\n");
    assert_int_equal(home_write(home, SCOPE, "a.md", "six\n"), ETHOS_OK);
    assert_reads(home, "a.md", "six\n");
}

static void test_a_text_changed_just_now_is_not_kept(void **state)
{
    struct home *home = *state;
    for (int i = 0; i < 20; i++) { // changes within one tick of the clock among them
        char text[8];
        snprintf(text, sizeof text, "%03d\n", i);
        put_old(home, NOTE, text);
        for (int j = 0; j < 4; j++)
            assert_reads(home, "a.md", text);
    }
}

static void test_another_file_of_that_name_is_seen(void **state)
{
    struct home *home = *state;
    put_old(home, FILE_OF("b.md"), "two\n");
    keep(home, "one\n");
    assert_int_equal(renameat(home->temp.fd, FILE_OF("b.md"), home->temp.fd, NOTE), 0);
    assert_reads(home, "a.md", "two\n");
}

static void test_a_file_that_is_gone_is_not_found(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    assert_int_equal(unlinkat(home->temp.fd, NOTE, 0), 0);
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_NOTFOUND);
}

static void test_a_file_that_has_become_a_link_is_judged_anew(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    assert_int_equal(renameat(home->temp.fd, NOTE, home->temp.fd, "outside.md"), 0);
    home_link(home, "../../../outside.md", NOTE);
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_DENIED);
}

static void test_a_directory_that_has_become_a_link_is_judged_anew(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    assert_int_equal(renameat(home->temp.fd, DIR_OF_SCOPE, home->temp.fd, "outside"), 0);
    home_link(home, "../../outside", DIR_OF_SCOPE);
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_DENIED);
}

/* The owner of the machine may read in spite of them: what counts is that it is tried. */
static void test_rights_taken_away_are_heeded(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    assert_int_equal(fchmodat(home->temp.fd, NOTE, 0, 0), 0);
    int code = logged_read(home, "a.md");
    assert_int_equal(code, geteuid() == 0 ? ETHOS_OK : ETHOS_DENIED);
    assert_string_not_equal(calls, KEPT_CALLS);
}

/* A page that is dirty already takes more bytes without another time of the file. */
static void test_a_file_that_somebody_has_mapped_is_not_kept(void **state)
{
    struct home *home = *state;
    put_old(home, NOTE, "one\n");
    int fd = openat(home->temp.fd, NOTE, O_RDWR);
    char *page = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    close(fd);
    memcpy(page, "two\n", 4);
    set_back(home, NOTE);
    usleep(SETTLE_US);
    for (int i = 0; i < 4; i++)
        assert_reads(home, "a.md", "two\n");
    memcpy(page, "six\n", 4);
    assert_reads(home, "a.md", "six\n");
    munmap(page, 4);
}

static void test_a_file_that_is_mapped_later_is_seen_to_change(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    int fd = openat(home->temp.fd, NOTE, O_RDWR);
    char *page = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    close(fd);
    memcpy(page, "two\n", 4);
    set_back(home, NOTE); // not read as a text that is just being saved
    munmap(page, 4);
    assert_reads(home, "a.md", "two\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HOME_TEST(test_a_kept_text_is_what_a_read_gives),
        HOME_TEST(test_a_revision_is_made_when_it_is_first_asked_for),
        HOME_TEST(test_many_texts_do_not_get_in_each_others_way),
        HOME_TEST(test_a_text_that_is_the_same_stays_with_who_has_it),
        HOME_TEST(test_one_that_was_exchanged_does_not),
        HOME_TEST(test_who_does_not_watch_the_way_goes_it),
        HOME_TEST(test_few_directories_stay_open),
        HOME_TEST(test_whatever_happens_to_a_watched_text_is_seen),
        HOME_TEST(test_a_text_that_somebody_may_write_to_is_not_watched),
        HOME_TEST(test_one_text_stirs_and_all_are_watched_again),
        HOME_TEST(test_a_text_of_the_same_size_and_time_is_seen),
        HOME_TEST(test_a_text_changed_just_now_is_not_kept),
        HOME_TEST(test_another_file_of_that_name_is_seen),
        HOME_TEST(test_a_file_that_is_gone_is_not_found),
        HOME_TEST(test_a_file_that_has_become_a_link_is_judged_anew),
        HOME_TEST(test_a_directory_that_has_become_a_link_is_judged_anew),
        HOME_TEST(test_rights_taken_away_are_heeded),
        HOME_TEST(test_a_file_that_somebody_has_mapped_is_not_kept),
        HOME_TEST(test_a_file_that_is_mapped_later_is_seen_to_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

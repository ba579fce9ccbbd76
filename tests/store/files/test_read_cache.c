/*
 * test_read_cache.c: texts that the files store keeps: given without being read again, and never when
 * the file, or the way to it, is no longer what it was.
 */
#include "home.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>

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

/* Its four bytes, to write to; that counts as having it open for writing. */
static char *map_note(struct home *home)
{
    int fd = openat(home->temp.fd, NOTE, O_RDWR);
    char *page = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    close(fd);
    return page;
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

/* Nothing is closed: the kernel takes its time over that. */
#define STIRRED "poll read read fstatat "

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
    char *page = map_note(home);
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
        assert_true(strncmp(calls, STIRRED, strlen(STIRRED)) == 0);
    }
}

static void test_a_text_that_somebody_may_write_to_is_not_watched(void **state)
{
    struct home *home = *state;
    keep(home, "one\n");
    char *page = map_note(home);
    for (int i = 0; i < 3 * LOOKS && keeps(home); i++)
        assert_true(is_same(home, "a.md"));
    memcpy(page, "two\n", 4);
    assert_false(is_same(home, "a.md"));
    munmap(page, 4);
}

static void look_often(struct home *home)
{
    for (int i = 0; i <= LOOKS; i++)
        assert_true(is_same(home, "a.md"));
}

/* Nobody opens the file for it: whoever else watches would be stirred. */
static void test_a_text_that_stirred_is_watched_again(void **state)
{
    struct home *home = *state;
    if (!watch(home, "one\n"))
        return;
    close(openat(home->temp.fd, NOTE, O_RDONLY));
    assert_true(is_same(home, "a.md"));
    assert_string_equal(calls, STIRRED);
    for (int i = 1; i < LOOKS; i++)
        assert_true(is_same(home, "a.md"));
    assert_string_equal(calls, "fstatat watch_add lease lease lease fstatat ");
    assert_true(is_same(home, "a.md"));
    assert_string_equal(calls, "poll ");
    write_it(home);
    assert_false(is_same(home, "a.md"));
}

static void test_two_who_watch_a_text_leave_each_other_alone(void **state)
{
    struct home *home = *state, other = *home;
    if (!watch(home, "one\n"))
        return;
    other.store = NULL;
    other.text = (struct ethos_text){0};
    home_open(&other, 0, 2000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(home_read(&other, SCOPE, "a.md"), ETHOS_OK);
    for (int i = 0; i < 2; i++) {
        look_often(&other);
        look_often(home);
    }
    struct home *both[] = {home, &other, home};
    for (int i = 0; i < 3; i++) {
        assert_true(is_same(both[i], "a.md"));
        assert_string_equal(calls, "poll ");
    }
    write_it(home);
    assert_false(is_same(home, "a.md"));
    assert_false(is_same(&other, "a.md"));
    other.store->ops->close(other.store);
    free(other.text.data);
}

/* Watches of this process, as the kernel has them. */
static int count_watches(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        char path[64], line[256];
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file))
            count += strncmp(line, "inotify ", 8) == 0;
        if (file)
            fclose(file);
    }
    return count;
}

static void test_no_watch_outlives_its_text(void **state)
{
    struct home *home = *state;
    int before = count_open();
    for (int i = 0; i < 4; i++) {
        if (!watch(home, i % 2 ? "two\n" : "one\n"))
            return;
        assert_int_equal(count_watches(), 1);
        assert_int_equal(linkat(home->temp.fd, NOTE, home->temp.fd, "kept", 0), 0); // lives on
        replace_it(home);
        assert_false(is_same(home, "a.md"));
        assert_int_equal(count_watches(), 0);
        assert_true(count_open() - before <= 2); // the root, and what tells
        assert_int_equal(unlinkat(home->temp.fd, "kept", 0), 0);
    }
}

/* Whoever is asked for now has the place of one that nobody asks for any more. */
static void test_few_texts_are_watched_and_never_for_good(void **state)
{
    struct home *home = *state;
    char key[32], path[64];
    int before = count_open();
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, DIR_OF_SCOPE "/n%d.md", i);
        put_old(home, path, strrchr(path, '/') + 1);
    }
    usleep(SETTLE_US);
    for (int i = 0; i < 20 && keeps(home); i++) {
        snprintf(key, sizeof key, "n%d.md", i);
        for (int j = 0; j < 3; j++)
            assert_reads(home, key, key);
        for (int j = 0; j < 3 * LOOKS; j++)
            assert_true(is_same(home, key));
        assert_string_equal(calls, "poll ");
        assert_true(count_watches() <= 8);
    }
    assert_true(count_open() - before <= 18); // as many directories, the root, what tells
}

/* ---- watched: the moment when it begins -------------------------------------------------------- */

struct moment {
    struct home *home;
    void (*change)(struct home *);
    const char *from; /* the first call of a watch */
    int left;         /* calls from there on */
    int leases;       /* calls about the lease: before the third, who opens the file waits for it */
    bool came;
};

static int change_then(void *arg, const char *call, unsigned long number)
{
    struct moment *moment = arg;
    (void)number;
    if (moment->from && strcmp(call, moment->from) != 0)
        return 0;
    moment->from = NULL;
    if (strcmp(call, "lease") == 0 && ++moment->leases == 3)
        return 0;
    if (moment->left-- == 0) {
        moment->change(moment->home);
        moment->came = true;
    }
    return 0;
}

static void test_a_change_while_the_watch_begins_is_seen(void **state)
{
    static void (*const changes[])(struct home *) = {exchange_it, map_it};
    struct home *home = *state;
    static const struct ethos_read_how again = {0, ETHOS_READ_AGAIN};
    for (int i = 0, step = 0; i < 2 && keeps(home); step++) {
        struct moment moment = {home, changes[i], "watch", step, 0, false};
        unlinkat(home->temp.fd, NOTE, 0);
        home_open(home, 0, 2000);
        keep(home, "one\n");
        struct ethos_text text = {.stamp = home->text.stamp};
        os_hook(change_then, &moment);
        for (int j = 0; j < LOOKS; j++)
            assert_int_equal(
                home->store->ops->read(home->store, SCOPE, "a.md", &again, &text, NULL), ETHOS_OK);
        os_hook(NULL, NULL);
        if (!moment.came) {
            assert_true(step > 6); // all of it was tried
            step = -1;
            i++;
            continue;
        }
        assert_false(is_same(home, "a.md"));
    }
}

/* ---- watched: what fails ------------------------------------------------------------------------ */

static const char *failing;

static int fail_call(void *arg, const char *call, unsigned long number)
{
    log_call(arg, call, number);
    return strcmp(call, failing) == 0 ? EMFILE : 0;
}

static bool is_same_failing(struct home *home, const char *call)
{
    static const struct ethos_read_how again = {0, ETHOS_READ_AGAIN};
    struct ethos_text text = {.stamp = home->text.stamp};
    failing = call;
    calls[0] = 0;
    os_hook(fail_call, NULL);
    int code = home->store->ops->read(home->store, SCOPE, "a.md", &again, &text, NULL);
    os_hook(NULL, NULL);
    bool same = code == ETHOS_OK && !text.data;
    home->host->resize(home->host->arg, text.data, 0);
    return same;
}

static void test_a_text_that_cannot_be_watched_is_looked_at(void **state)
{
    static const char *const steps[] = {"watch", "openat", "fstat", "watch_add", "lease"};
    struct home *home = *state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && keeps(home); i++) {
        home_open(home, 0, 2000);
        keep(home, "one\n");
        for (int j = 0; j < 2 * LOOKS; j++) {
            assert_true(is_same_failing(home, steps[i]));
            assert_null(strstr(calls, "poll"));
            assert_false(i == 0 && strstr(calls, "openat "));
        }
        assert_int_equal(count_watches(), 0);
        write_it(home);
        assert_false(is_same_failing(home, steps[i]));
    }
}

static void test_what_cannot_be_heard_is_looked_at(void **state)
{
    static const char *const steps[] = {"poll", "read"};
    struct home *home = *state;
    for (int i = 0; i < 2; i++) {
        if (!watch(home, "one\n"))
            return;
        write_it(home);
        assert_false(is_same_failing(home, steps[i]));
        assert_reads(home, "a.md", "two\n");
    }
}

/* ---- watched: a process that was forked off ------------------------------------------------------ */

/* Both hear of every change, and neither takes it from the other. */
static void test_a_child_watches_for_itself(void **state)
{
    struct home *home = *state;
    if (!watch(home, "one\n"))
        return;
    pid_t pid = fork();
    if (pid == 0) {
        bool good = is_same(home, "a.md") && strcmp(calls, "fstatat ") == 0;
        for (int i = 0; i <= LOOKS; i++)
            good = good && is_same(home, "a.md");
        good = good && strcmp(calls, "poll ") == 0;
        write_it(home);
        _exit(good && !is_same(home, "a.md") ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(is_same(home, "a.md"));
    assert_true(strncmp(calls, STIRRED, strlen(STIRRED)) == 0);
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
    assert_int_equal(code, geteuid() == 0 ? ETHOS_OK : ETHOS_IO);
    assert_string_not_equal(calls, KEPT_CALLS);
}

/* A page that is dirty already takes more bytes without another time of the file. */
static void test_a_file_that_somebody_has_mapped_is_not_kept(void **state)
{
    struct home *home = *state;
    put_old(home, NOTE, "one\n");
    char *page = map_note(home);
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
    char *page = map_note(home);
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
        HOME_TEST(test_a_text_that_stirred_is_watched_again),
        HOME_TEST(test_two_who_watch_a_text_leave_each_other_alone),
        HOME_TEST(test_no_watch_outlives_its_text),
        HOME_TEST(test_few_texts_are_watched_and_never_for_good),
        HOME_TEST(test_a_change_while_the_watch_begins_is_seen),
        HOME_TEST(test_a_text_that_cannot_be_watched_is_looked_at),
        HOME_TEST(test_what_cannot_be_heard_is_looked_at),
        HOME_TEST(test_a_child_watches_for_itself),
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

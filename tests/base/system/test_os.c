/*
 * test_os.c: the door to the operating system, and the faults that can be put behind it.
 */
#include "base/system/os.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "../../support/temp.h"
#include "base/str.h"

static struct temp temp;

static int setup(void **state)
{
    (void)state;
    temp_make(&temp);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_hook(NULL, NULL);
    temp_remove(&temp);
    return 0;
}

/* ---- helpers ------------------------------------------------------------------------------- */

/* Fails every call of one name, or its nth, with an errno; counts what it sees. */
struct fault {
    const char *call;
    int errnum;
    unsigned long only; /* 0: every one */
    unsigned long seen;
};

static int fail_call(void *arg, const char *call, unsigned long number)
{
    struct fault *fault = arg;

    (void)number;
    if (strcmp(call, fault->call) != 0)
        return 0;
    fault->seen++;
    return fault->only == 0 || fault->seen == fault->only ? fault->errnum : 0;
}

static void assert_fails(long result, int errnum)
{
    int saved = errno;

    assert_int_equal(result, -1);
    assert_int_equal(saved, errnum);
}

static mode_t mode_of(const char *name)
{
    struct stat status;

    assert_int_equal(fstatat(temp.fd, name, &status, AT_SYMLINK_NOFOLLOW), 0);
    return status.st_mode & 07777;
}

static bool exists(const char *name)
{
    struct stat status;

    return fstatat(temp.fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_and_close(const char *path, int flags)
{
    int fd = os_open_beneath(temp.fd, path, flags, 0600);

    if (fd < 0)
        return -1;
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(os_close(fd), 0);
    return 0;
}

/* ---- opening beneath ------------------------------------------------------------------------- */

static void make_tree(void)
{
    assert_int_equal(mkdirat(temp.fd, "a", 0700), 0);
    assert_int_equal(mkdirat(temp.fd, "a/b", 0700), 0);
    temp_write(&temp, "a/b/file", "text");
    assert_int_equal(symlinkat("/etc/passwd", temp.fd, "out-absolute"), 0);
    assert_int_equal(symlinkat("../../etc/passwd", temp.fd, "out-relative"), 0);
    assert_int_equal(symlinkat("/etc", temp.fd, "a/etc"), 0);
    assert_int_equal(symlinkat("b/file", temp.fd, "a/inside"), 0);
}

/* The same answers with and without openat2, links that stay inside apart. */
static void check_beneath(void)
{
    char long_path[5000];

    assert_int_equal(open_and_close("a/b/file", O_RDONLY), 0);
    assert_int_equal(open_and_close("a//b/./file", O_RDONLY), 0);
    assert_int_equal(open_and_close("a/b/", O_RDONLY | O_DIRECTORY), 0);
    assert_int_equal(open_and_close(".", O_RDONLY | O_DIRECTORY), 0);
    assert_int_equal(open_and_close("a/b", O_PATH), 0);
    assert_fails(open_and_close("/etc/passwd", O_RDONLY), EXDEV);
    assert_fails(open_and_close("../x", O_RDONLY), EXDEV);
    assert_fails(open_and_close("out-absolute", O_RDONLY), EXDEV);
    assert_fails(open_and_close("out-relative", O_RDONLY), EXDEV);
    assert_fails(open_and_close("out-absolute", O_PATH), EXDEV);
    assert_fails(open_and_close("a/etc/passwd", O_RDONLY), EXDEV);
    assert_fails(open_and_close("a/etc", O_RDONLY | O_DIRECTORY), EXDEV);
    assert_fails(open_and_close("a/etc/new", O_WRONLY | O_CREAT | O_EXCL), EXDEV);
    assert_fails(open_and_close("a/missing", O_RDONLY), ENOENT);
    assert_fails(open_and_close("missing/x", O_RDONLY), ENOENT);
    assert_fails(open_and_close("", O_RDONLY), ENOENT);
    assert_fails(open_and_close("a/b/file/x", O_RDONLY), ENOTDIR);
    assert_fails(open_and_close("a/b/file/", O_RDONLY), ENOTDIR);
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_fails(open_and_close(long_path, O_RDONLY), ENAMETOOLONG);
}

static void test_no_path_leaves_the_directory(void **state)
{
    (void)state;
    make_tree();
    check_beneath();
    assert_int_equal(open_and_close("a/inside", O_RDONLY), 0);
    assert_int_equal(open_and_close("a/../a/b/file", O_RDONLY), 0);
}

static void test_no_path_leaves_the_directory_without_openat2(void **state)
{
    struct fault fault = {.call = "openat2", .errnum = ENOSYS};

    (void)state;
    make_tree();
    os_hook(fail_call, &fault);
    check_beneath();
    assert_fails(open_and_close("a/inside", O_RDONLY), EXDEV); // every link, says the contract
    assert_true(fault.seen > 0);
}

static void test_a_race_with_a_rename_is_tried_again(void **state)
{
    struct fault fault = {.call = "openat2", .errnum = EAGAIN, .only = 1};

    (void)state;
    make_tree();
    os_hook(fail_call, &fault);
    assert_int_equal(open_and_close("a/b/file", O_RDONLY), 0);
    assert_int_equal(fault.seen, 2);

    fault = (struct fault){.call = "openat2", .errnum = EAGAIN};
    assert_fails(open_and_close("a/b/file", O_RDONLY), EAGAIN);
    assert_true(fault.seen > 1);
}

static void test_walking_leaves_no_descriptor_open(void **state)
{
    struct fault fault = {.call = "openat2", .errnum = ENOSYS};

    (void)state;
    make_tree();
    int before = dup(temp.fd);
    close(before);
    os_hook(fail_call, &fault);
    open_and_close("a/b/file", O_RDONLY);
    open_and_close("a/b/missing", O_RDONLY);
    open_and_close("a/etc/passwd", O_RDONLY);
    open_and_close("out-absolute", O_PATH);
    int after = dup(temp.fd);
    close(after);
    assert_int_equal(after, before);
}

/* ---- exact modes ----------------------------------------------------------------------------- */

static void check_modes(void)
{
    int fd = os_openat(temp.fd, "one", O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    os_close(fd);
    fd = os_open_beneath(temp.fd, "two", O_WRONLY | O_CREAT | O_EXCL, 0640);
    assert_true(fd >= 0);
    os_close(fd);
    assert_int_equal(os_mkdirat(temp.fd, "three", 0700), 0);
    assert_int_equal(os_mkdirs(temp.fd, "four/five"), 0);
    assert_int_equal(mode_of("one"), 0600);
    assert_int_equal(mode_of("two"), 0640);
    assert_int_equal(mode_of("three"), 0700);
    assert_int_equal(mode_of("four"), 0700);
    assert_int_equal(mode_of("four/five"), 0700);
}

static void remove_made(void)
{
    assert_int_equal(os_unlinkat(temp.fd, "one", 0), 0);
    assert_int_equal(os_unlinkat(temp.fd, "two", 0), 0);
    assert_int_equal(os_unlinkat(temp.fd, "three", AT_REMOVEDIR), 0);
    assert_int_equal(os_unlinkat(temp.fd, "four/five", AT_REMOVEDIR), 0);
    assert_int_equal(os_unlinkat(temp.fd, "four", AT_REMOVEDIR), 0);
}

static void test_created_modes_are_exact_whatever_the_umask(void **state)
{
    static const mode_t masks[] = {0, 022, 077, 0277, 0777};
    struct fault fault = {.call = "openat2", .errnum = ENOSYS};
    mode_t old = umask(0);

    (void)state;
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        umask(masks[i]);
        check_modes();
        remove_made();
        os_hook(fail_call, &fault);
        check_modes();
        remove_made();
        os_hook(NULL, NULL);
    }
    umask(old);
}

static void test_an_existing_file_keeps_its_mode(void **state)
{
    (void)state;
    temp_write(&temp, "file", "x");
    assert_int_equal(fchmodat(temp.fd, "file", 0644, 0), 0);
    int fd = os_openat(temp.fd, "file", O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    os_close(fd);
    assert_int_equal(mode_of("file"), 0644);
}

static void test_a_file_adopts_mode_owner_and_group_of_another(void **state)
{
    struct stat like, now;

    (void)state;
    temp_write(&temp, "old", "x");
    temp_write(&temp, "new", "y");
    assert_int_equal(fchmodat(temp.fd, "old", 0640, 0), 0);
    if (geteuid() == 0) // nobody else may give a file away
        assert_int_equal(fchownat(temp.fd, "old", 12345, 23456, 0), 0);
    assert_int_equal(fstatat(temp.fd, "old", &like, 0), 0);
    int fd = openat(temp.fd, "new", O_RDWR | O_CLOEXEC);
    assert_int_equal(os_adopt(fd, &like), 0);
    assert_int_equal(fstat(fd, &now), 0);
    assert_int_equal(now.st_mode, like.st_mode);
    assert_int_equal(now.st_uid, like.st_uid);
    assert_int_equal(now.st_gid, like.st_gid);
    if (geteuid() == 0) {
        like.st_gid = 34567; // the group alone
        assert_int_equal(os_adopt(fd, &like), 0);
        assert_int_equal(fstat(fd, &now), 0);
        assert_int_equal(now.st_gid, 34567);
    }
    close(fd);
}

static void test_what_cannot_get_its_mode_is_not_left_behind(void **state)
{
    struct fault fault = {.call = "fchmod", .errnum = EIO};
    mode_t old = umask(0777);

    (void)state;
    os_hook(fail_call, &fault);
    assert_fails(os_openat(temp.fd, "one", O_WRONLY | O_CREAT | O_EXCL, 0600), EIO);
    assert_fails(os_open_beneath(temp.fd, "two", O_WRONLY | O_CREAT | O_EXCL, 0600), EIO);
    fault = (struct fault){.call = "fchmodat", .errnum = EIO};
    assert_fails(os_mkdirat(temp.fd, "three", 0700), EIO);
    fault = (struct fault){.call = "fstatat", .errnum = EIO};
    assert_fails(os_mkdirat(temp.fd, "three", 0700), EIO);
    umask(old);
    assert_false(exists("one"));
    assert_false(exists("two"));
    assert_false(exists("three"));
}

/* ---- reading and writing --------------------------------------------------------------------- */

static int open_for(const char *name, const char *text, int flags)
{
    temp_write(&temp, name, text);
    int fd = os_openat(temp.fd, name, flags, 0);
    assert_true(fd >= 0);
    return fd;
}

static void test_read_all_appends_up_to_the_limit(void **state)
{
    struct str out;
    int fd = open_for("file", "0123456789", O_RDONLY);

    (void)state;
    str_init(&out, 1000);
    str_adds(&out, ">");
    assert_int_equal(os_read_all(fd, &out, 10), 0);
    assert_string_equal(out.data, ">0123456789");
    assert_int_equal(os_read_all(fd, &out, 10), 0); // the end already
    assert_string_equal(out.data, ">0123456789");
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_fails(os_read_all(fd, &out, 9), EFBIG);
    assert_string_equal(out.data, ">0123456789");
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_fails(os_read_all(fd, &out, 0), EFBIG);
    str_release(&out);
    os_close(fd);
}

static void test_read_all_of_a_full_buffer_is_too_large(void **state)
{
    struct str out;
    int fd = open_for("file", "0123456789", O_RDONLY);

    (void)state;
    str_init(&out, 9);
    assert_fails(os_read_all(fd, &out, 100), EFBIG);
    assert_int_equal(out.size, 0);
    str_release(&out);
    os_close(fd);
}

static void test_read_all_goes_on_after_signals_and_short_reads(void **state)
{
    struct fault fault = {.call = "read", .errnum = EINTR, .only = 2};
    struct str out;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    os_hook(fail_call, &fault);
    str_init(&out, 1000000);
    assert_int_equal(os_read_all(ends[0], &out, 100000), 0);
    assert_string_equal(out.data, "abc");
    assert_int_equal(fault.seen, 3); // three bytes, the signal, the end
    str_release(&out);
    close(ends[0]);
}

static void test_large_files_are_read_whole(void **state)
{
    struct str in, out;

    (void)state;
    str_init(&in, 1000000);
    for (int i = 0; i < 40000; i++)
        str_printf(&in, "%d\n", i);
    int fd = open_for("file", in.data, O_RDONLY);
    str_init(&out, 1000000);
    assert_int_equal(os_read_all(fd, &out, 1000000), 0);
    assert_string_equal(out.data, in.data);
    str_release(&in);
    str_release(&out);
    os_close(fd);
}

static void test_read_all_out_of_memory(void **state)
{
    int fd = open_for("file", "0123456789", O_RDONLY);
    struct str out;

    (void)state;
    str_init(&out, 1000);
    alloc_fail_at(1);
    assert_fails(os_read_all(fd, &out, 100), ENOMEM);
    alloc_fail_at(0);
    str_release(&out);
    os_close(fd);
}

static void test_write_all_and_the_calls_on_a_descriptor(void **state)
{
    struct stat status;
    char part[4] = {0};
    int fd = os_openat(temp.fd, "file", O_RDWR | O_CREAT | O_EXCL, 0600);

    (void)state;
    assert_int_equal(os_write_all(fd, "hello world", 11), 0);
    assert_int_equal(os_write_all(fd, NULL, 0), 0);
    assert_int_equal(os_fsync(fd), 0);
    assert_int_equal(os_fdatasync(fd), 0);
    assert_int_equal(os_pread(fd, part, 3, 6), 3);
    assert_string_equal(part, "wor");
    assert_int_equal(os_ftruncate(fd, 5), 0);
    assert_int_equal(os_fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 5);
    assert_int_equal(os_fchmod(fd, 0640), 0);
    assert_int_equal(mode_of("file"), 0640);
    assert_int_equal(os_fchown(fd, getuid(), getgid()), 0);
    assert_int_equal(os_flock(fd, LOCK_EX), 0);
    int other = os_openat(temp.fd, "file", O_RDONLY, 0);
    assert_fails(os_flock(other, LOCK_EX | LOCK_NB), EWOULDBLOCK);
    os_close(other);
    assert_int_equal(os_close(fd), 0);
    assert_fails(os_close(fd), EBADF);
    assert_fails(os_write_all(fd, "x", 1), EBADF);
}

static void test_names_are_renamed_unlinked_and_read(void **state)
{
    char target[16] = {0};

    (void)state;
    temp_write(&temp, "a", "1");
    temp_write(&temp, "b", "2");
    assert_fails(os_renameat(temp.fd, "a", temp.fd, "b", RENAME_NOREPLACE), EEXIST);
    assert_int_equal(os_renameat(temp.fd, "a", temp.fd, "b", 0), 0);
    assert_false(exists("a"));
    assert_int_equal(os_unlinkat(temp.fd, "b", 0), 0);
    assert_fails(os_unlinkat(temp.fd, "b", 0), ENOENT);
    assert_int_equal(symlinkat("there", temp.fd, "link"), 0);
    assert_int_equal(os_readlinkat(temp.fd, "link", target, sizeof(target)), 5);
    assert_string_equal(target, "there");
}

static void test_an_interrupted_close_is_done(void **state)
{
    struct fault fault = {.call = "close", .errnum = EINTR};
    int fd = dup(temp.fd);

    (void)state;
    os_hook(fail_call, &fault);
    assert_int_equal(os_close(fd), 0);
    assert_int_equal(fault.seen, 1); // a second close could hit another thread's descriptor
    close(fd);
}

/* ---- directories ----------------------------------------------------------------------------- */

struct names {
    size_t count, stop_at;
    size_t length; /* of all names together */
};

static int count_name(void *arg, const char *name)
{
    struct names *names = arg;

    assert_string_not_equal(name, ".");
    assert_string_not_equal(name, "..");
    names->length += strlen(name);
    return ++names->count == names->stop_at ? 42 : 0;
}

static void test_list_names_every_entry_and_can_be_repeated(void **state)
{
    struct names names = {0};
    char name[64];
    size_t length = 0;

    (void)state;
    assert_int_equal(os_list(temp.fd, count_name, &names), 0);
    assert_int_equal(names.count, 0);
    for (int i = 0; i < 700; i++) {
        snprintf(name, sizeof(name), "%0*d", 3 + i % 40, i);
        temp_write(&temp, name, "");
        length += strlen(name);
    }
    for (int i = 0; i < 2; i++) {
        names = (struct names){0};
        assert_int_equal(os_list(temp.fd, count_name, &names), 0);
        assert_int_equal(names.count, 700);
        assert_int_equal(names.length, length);
    }
}

static void test_list_stops_when_told_and_reports_errors(void **state)
{
    struct names names = {.stop_at = 2};
    struct fault fault = {.call = "getdents", .errnum = EIO};

    (void)state;
    temp_write(&temp, "a", "");
    temp_write(&temp, "b", "");
    temp_write(&temp, "c", "");
    assert_int_equal(os_list(temp.fd, count_name, &names), 42);
    assert_int_equal(names.count, 2);
    os_hook(fail_call, &fault);
    assert_fails(os_list(temp.fd, count_name, &names), EIO);
}

static void test_mkdirs_makes_what_is_missing_and_syncs_each_parent(void **state)
{
    struct fault syncs = {.call = "fsync"};

    (void)state;
    os_hook(fail_call, &syncs);
    assert_int_equal(os_mkdirs(temp.fd, "a/b/c"), 0);
    assert_int_equal(syncs.seen, 3);
    assert_true(exists("a/b/c"));
    assert_int_equal(os_mkdirs(temp.fd, "a/b/c"), 0);
    assert_int_equal(syncs.seen, 3);
    assert_int_equal(os_mkdirs(temp.fd, "a/b//d/"), 0);
    assert_int_equal(syncs.seen, 4);
    assert_true(exists("a/b/d"));
    assert_int_equal(os_mkdirs(temp.fd, "."), 0);
}

static void test_mkdirs_stays_beneath_and_reports_what_is_in_the_way(void **state)
{
    struct fault fault = {.call = "fsync", .errnum = EIO};

    (void)state;
    make_tree();
    assert_fails(os_mkdirs(temp.fd, "a/etc/new"), EXDEV);
    assert_fails(os_mkdirs(temp.fd, "../new"), EXDEV);
    assert_fails(os_mkdirs(temp.fd, "/tmp/new"), EXDEV);
    assert_fails(os_mkdirs(temp.fd, "a/b/file/new"), ENOTDIR);
    assert_fails(os_mkdirs(temp.fd, "a/b/file"), ENOTDIR);
    assert_fails(os_mkdirs(temp.fd, ""), ENOENT);
    assert_int_equal(symlinkat("nowhere", temp.fd, "dangling"), 0);
    assert_fails(os_mkdirs(temp.fd, "dangling"), ENOENT);
    os_hook(fail_call, &fault);
    assert_fails(os_mkdirs(temp.fd, "a/new"), EIO);
}

static int make_first(void *arg, const char *call, unsigned long number)
{
    (void)number;
    if (strcmp(call, "mkdirat") == 0)
        assert_int_equal(mkdirat(temp.fd, arg, 0700), 0);
    return 0;
}

static void test_mkdirs_accepts_that_another_process_was_faster(void **state)
{
    char name[] = "a";

    (void)state;
    os_hook(make_first, name);
    assert_int_equal(os_mkdirs(temp.fd, name), 0);
    assert_true(exists(name));
}

/* ---- time and chance ------------------------------------------------------------------------- */

static void test_time_goes_on_and_random_bytes_differ(void **state)
{
    int64_t start = os_monotonic_ms();
    unsigned char one[32] = {0}, two[32] = {0};
    struct fault fault = {.call = "random", .errnum = EIO};

    (void)state;
    os_sleep_ms(3);
    assert_true(os_monotonic_ms() - start >= 2);
    assert_true(os_now_ms() > INT64_C(1600000000000));
    assert_int_equal(os_random(one, sizeof(one)), 0);
    assert_int_equal(os_random(two, sizeof(two)), 0);
    assert_memory_not_equal(one, two, sizeof(one));
    os_hook(fail_call, &fault);
    assert_fails(os_random(one, sizeof(one)), EIO);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void test_interrupted_calls_are_repeated(void **state)
{
    static const char *const calls[] = {"openat", "read",      "write",     "pread",
                                        "fsync",  "fdatasync", "ftruncate", "flock",
                                        "fchmod", "getdents",  "random",    "openat2"};

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct fault fault = {.call = calls[i], .errnum = EINTR, .only = 1};
        struct names names = {0};
        char byte;

        os_hook(fail_call, &fault);
        int fd = os_openat(temp.fd, "file", O_RDWR | O_CREAT, 0600);
        assert_true(fd >= 0);
        assert_int_equal(os_write(fd, "x", 1), 1);
        assert_int_equal(os_pread(fd, &byte, 1, 0), 1);
        assert_int_equal(os_read(fd, &byte, 1), 0);
        assert_int_equal(os_fsync(fd) | os_fdatasync(fd) | os_ftruncate(fd, 1), 0);
        assert_int_equal(os_flock(fd, LOCK_EX) | os_fchmod(fd, 0600), 0);
        assert_int_equal(os_list(temp.fd, count_name, &names), 0);
        assert_int_equal(os_random(&byte, 1), 0);
        assert_int_equal(os_close(fd), 0);
        assert_int_equal(open_and_close("file", O_RDONLY), 0);
        assert_true(fault.seen >= 2);
    }
}

static int record(void *arg, const char *call, unsigned long number)
{
    str_printf(arg, "%lu %s\n", number, call);
    return 0;
}

static void test_the_hook_sees_every_call_numbered_from_one(void **state)
{
    struct str seen;

    (void)state;
    str_init(&seen, 1000);
    os_hook(record, &seen);
    int fd = os_openat(temp.fd, "file", O_WRONLY | O_CREAT, 0600);
    os_write_all(fd, "x", 1);
    os_close(fd);
    os_hook(NULL, NULL);
    assert_string_equal(seen.data, "1 openat\n2 write\n3 close\n");
    str_release(&seen);
}

/* Writes "abc" and then "def" in a child with ETHOS_FAULT set; returns its wait status. */
static int run_child(const char *fault)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        char log[128];

        snprintf(log, sizeof(log), "%s/log", temp.path);
        setenv("ETHOS_FAULT", fault, 1);
        setenv("ETHOS_FAULT_LOG", log, 1);
        /* The environment is read once per process: a fresh one is needed. */
        execl("/proc/self/exe", "test_os", "child", temp.path, (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    if (WIFSTOPPED(status)) {
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    return status;
}

static int child_main(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY);
    int fd = os_openat(dir, "out", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || os_write_all(fd, "abc", 3))
        return 10 + (errno == ENOSPC);
    return os_write_all(fd, "def", 3) ? 20 + (errno == ENOSPC) : 0;
}

static void assert_left(const char *out, const char *log)
{
    char *text = temp_read(&temp, "out", NULL), *lines = temp_read(&temp, "log", NULL);

    if (out)
        assert_string_equal(text, out);
    else
        assert_null(text);
    assert_string_equal(lines, log);
    free(text);
    free(lines);
    unlinkat(temp.fd, "out", 0);
    unlinkat(temp.fd, "log", 0);
}

static void test_the_environment_fails_the_nth_call(void **state)
{
    (void)state;
    assert_int_equal(WEXITSTATUS(run_child("write:2:ENOSPC")), 21);
    assert_left("abc", "1 openat\n2 write\n3 write\n");
    assert_int_equal(WEXITSTATUS(run_child("any:2:ENOSPC")), 11);
    assert_left("", "1 openat\n2 write\n");
    assert_int_equal(WEXITSTATUS(run_child("openat:1:EACCES")), 10);
    assert_left(NULL, "1 openat\n");
    assert_int_equal(WEXITSTATUS(run_child("write:3:ENOSPC")), 0);
    assert_left("abcdef", "1 openat\n2 write\n3 write\n");
}

static void test_the_environment_shortens_and_interrupts(void **state)
{
    (void)state;
    assert_int_equal(WEXITSTATUS(run_child("write:1:short=2")), 0);
    assert_left("abcdef", "1 openat\n2 write\n3 write\n4 write\n");
    assert_int_equal(WEXITSTATUS(run_child("write:1:eintr")), 0);
    assert_left("abcdef", "1 openat\n2 write\n3 write\n4 write\n");
}

static void test_the_environment_kills_and_stops(void **state)
{
    int status = run_child("write:2:kill-before");

    (void)state;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_left("abc", "1 openat\n2 write\n3 write\n");
    status = run_child("write:2:kill-after");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_left("abcdef", "1 openat\n2 write\n3 write\n");
    status = run_child("any:2:stop");
    assert_true(WIFSTOPPED(status));
    assert_left("", "1 openat\n2 write\n");
}

static void test_a_fault_that_cannot_be_read_ends_the_program(void **state)
{
    static const char *const faults[] = {"write", "write:0:EIO", "write:1:NOSUCH", "write:x:EIO"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        int status = run_child(faults[i]);

        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

/* ---- time of access -------------------------------------------------------------------------- */

static void test_the_time_of_access_may_stay(void **state)
{
    const struct timespec times[2] = {{1000000000, 0}, {1600000000, 0}};
    struct stat status;
    char byte;

    (void)state;
    temp_write(&temp, "one", "1");
    assert_int_equal(utimensat(temp.fd, "one", times, 0), 0);
    int fds[] = {os_openat(temp.fd, "one", O_RDONLY | O_NOATIME, 0),
                 os_open_beneath(temp.fd, "one", O_RDONLY | O_NOATIME, 0)};
    for (size_t i = 0; i < 2; i++) {
        assert_true(fds[i] >= 0);
        assert_int_equal(read(fds[i], &byte, 1), 1);
        close(fds[i]);
    }
    assert_int_equal(fstatat(temp.fd, "one", &status, 0), 0);
    assert_int_equal(status.st_atim.tv_sec, 1000000000);
}

/* The kernel lets only the owner have that wish. */
static void test_what_is_somebody_elses_is_opened_all_the_same(void **state)
{
    uid_t mine = geteuid();
    int etc = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    if (mine == 0)
        assert_int_equal(seteuid(65534), 0);
    int refused = open("/etc/passwd", O_RDONLY | O_NOATIME | O_CLOEXEC);
    int fds[] = {os_openat(etc, "passwd", O_RDONLY | O_NOATIME, 0),
                 os_open_beneath(etc, "passwd", O_RDONLY | O_NOATIME, 0)};
    assert_int_equal(seteuid(mine), 0);
    assert_int_equal(refused, -1);
    for (size_t i = 0; i < 2; i++) {
        assert_true(fds[i] >= 0);
        close(fds[i]);
    }
    close(etc);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_the_time_of_access_may_stay),
        TEST(test_what_is_somebody_elses_is_opened_all_the_same),
        TEST(test_no_path_leaves_the_directory),
        TEST(test_no_path_leaves_the_directory_without_openat2),
        TEST(test_a_race_with_a_rename_is_tried_again),
        TEST(test_walking_leaves_no_descriptor_open),
        TEST(test_created_modes_are_exact_whatever_the_umask),
        TEST(test_an_existing_file_keeps_its_mode),
        TEST(test_a_file_adopts_mode_owner_and_group_of_another),
        TEST(test_what_cannot_get_its_mode_is_not_left_behind),
        TEST(test_read_all_appends_up_to_the_limit),
        TEST(test_read_all_of_a_full_buffer_is_too_large),
        TEST(test_read_all_goes_on_after_signals_and_short_reads),
        TEST(test_large_files_are_read_whole),
        TEST(test_read_all_out_of_memory),
        TEST(test_write_all_and_the_calls_on_a_descriptor),
        TEST(test_names_are_renamed_unlinked_and_read),
        TEST(test_an_interrupted_close_is_done),
        TEST(test_list_names_every_entry_and_can_be_repeated),
        TEST(test_list_stops_when_told_and_reports_errors),
        TEST(test_mkdirs_makes_what_is_missing_and_syncs_each_parent),
        TEST(test_mkdirs_stays_beneath_and_reports_what_is_in_the_way),
        TEST(test_mkdirs_accepts_that_another_process_was_faster),
        TEST(test_time_goes_on_and_random_bytes_differ),
        TEST(test_interrupted_calls_are_repeated),
        TEST(test_the_hook_sees_every_call_numbered_from_one),
        TEST(test_the_environment_fails_the_nth_call),
        TEST(test_the_environment_shortens_and_interrupts),
        TEST(test_the_environment_kills_and_stops),
        TEST(test_a_fault_that_cannot_be_read_ends_the_program),
    };
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return child_main(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_files.c: the files store as a reader and a file system see it: paths, modes, links, kinds of
 * files, what a read costs.
 */
#include "home.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- nothing before the first write --------------------------------------------------------- */

static int count_entry(void *arg, const struct ethos_entry *entry)
{
    (void)entry;
    ++*(int *)arg;
    return 0;
}

static int keep(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)arg, (void)edits, (void)count, (void)error;
    return ETHOS_OK;
}

static void count_finding(void *arg, const struct ethos_finding *finding)
{
    (void)finding;
    ++*(int *)arg;
}

static void test_only_a_write_makes_the_root(void **state)
{
    struct home *home = *state;
    const struct ethos_store_ops *ops = home->store->ops;
    struct ethos_edit edit = {.key = "MEMORY.md"};
    int count = 0;
    assert_int_equal(home_read(home, SCOPE, "MEMORY.md"), ETHOS_NOTFOUND);
    assert_int_equal(home_read(home, "global", "MEMORY.md"), ETHOS_NOTFOUND);
    assert_int_equal(ops->list(home->store, SCOPE, count_entry, &count, NULL), ETHOS_OK);
    assert_int_equal(ops->check(home->store, 1, count_finding, &count, NULL), ETHOS_OK);
    assert_int_equal(ops->update(home->store, SCOPE, &edit, 1, keep, NULL, NULL, NULL), ETHOS_OK);
    assert_int_equal(home_remove(home, SCOPE, "MEMORY.md"), ETHOS_NOTFOUND);
    assert_int_equal(count, 0);
    assert_false(home_exists(home, "home"));
}

static void test_asking_in_a_directory_of_someone_else_adds_nothing(void **state)
{
    struct home *home = *state;
    struct ethos_edit edit = {.key = "MEMORY.md"};
    home_put(home, FILE_OF("MEMORY.md"), "by hand\n");
    assert_int_equal(home->store->ops->update(home->store, SCOPE, &edit, 1, keep, NULL, NULL, NULL),
                     ETHOS_OK);
    assert_string_equal(edit.old.data, "by hand\n");
    assert_int_equal(home_write(home, SCOPE, "MEMORY.md", "by hand\n"), ETHOS_OK);
    assert_false(home_exists(home, DIR_OF_SCOPE "/.mem"));
    free(edit.old.data);
}

static void test_new_files_and_directories_are_private(void **state)
{
    static const mode_t umasks[] = {0, 0777, 022};
    struct home *home = *state;
    for (size_t i = 0; i < 3; i++) {
        char top[32], path[128];
        umask(umasks[i]);
        snprintf(home->root, sizeof home->root, "%s/home%zu/below", home->temp.path, i);
        home_open(home, 0, 2000);
        assert_int_equal(home_write(home, "team:x", "a.md", "1"), ETHOS_OK);
        umask(022);
        snprintf(top, sizeof top, "home%zu", i);
        static const char *const dirs[] = {"",
                                           "/below",
                                           "/below/teams",
                                           "/below/teams/x",
                                           "/below/teams/x/memory",
                                           "/below/teams/x/memory/.mem",
                                           "/below/teams/x/memory/.mem/tmp"};
        for (size_t k = 0; k < sizeof dirs / sizeof *dirs; k++) {
            snprintf(path, sizeof path, "%s%s", top, dirs[k]);
            assert_mode(home, path, 0700);
        }
        static const char *const files[] = {"a.md", ".mem/lock", ".mem/.gitignore"};
        for (size_t k = 0; k < 3; k++) {
            snprintf(path, sizeof path, "%s/below/teams/x/memory/%s", top, files[k]);
            assert_mode(home, path, 0600);
        }
        snprintf(path, sizeof path, "%s/below/teams/x/memory/.mem/.gitignore", top);
        assert_file(home, path, "*\n");
    }
}

static void test_scopes_have_their_directories(void **state)
{
    static const char *const places[][2] = {
        {"global", "home/a.md"},
        {"personality:x", "home/personalities/x/a.md"},
        {"user:x", "home/users/x/a.md"},
        {"team:x", "home/teams/x/memory/a.md"},
        {"workspace:x-0123456789ab", "home/workspaces/x-0123456789ab/memory/a.md"},
    };
    struct home *home = *state;
    for (size_t i = 0; i < 5; i++) {
        char path[512], expected[512];
        assert_int_equal(home_write(home, places[i][0], "a.md", places[i][0]), ETHOS_OK);
        assert_file(home, places[i][1], places[i][0]);
        assert_int_equal(
            home->store->ops->locate(home->store, places[i][0], "a.md", path, sizeof path, NULL),
            ETHOS_OK);
        snprintf(expected, sizeof expected, "%s/%s", home->temp.path, places[i][1]);
        assert_string_equal(path, expected);
    }
}

static void test_unsafe_names_are_denied_before_anything_is_touched(void **state)
{
    static const char *const keys[] = {"",           "..",    "../a.md", "a/b.md", "/etc/passwd",
                                       ".hidden.md", "-a.md", "a..md",   "a b.md", "a\n.md",
                                       "\xc3\xa4.md"};
    static const char *const scopes[] = {
        "",         "personality:", "personality:..", "personality:a/b",
        "user:a.b", "nobody:x",     "global:x",       "team:../x"};
    struct home *home = *state;
    int count = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_int_equal(home_read(home, SCOPE, keys[i]), ETHOS_DENIED);
        assert_int_equal(home_write(home, SCOPE, keys[i], "x"), ETHOS_DENIED);
        assert_int_equal(home_remove(home, SCOPE, keys[i]), ETHOS_DENIED);
    }
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        assert_int_equal(home_read(home, scopes[i], "a.md"), ETHOS_DENIED);
        assert_int_equal(home_write(home, scopes[i], "a.md", "x"), ETHOS_DENIED);
        assert_int_equal(home->store->ops->list(home->store, scopes[i], count_entry, &count, NULL),
                         ETHOS_DENIED);
    }
    assert_false(home_exists(home, "home"));
}

static void test_root_must_be_an_absolute_path(void **state)
{
    static const char *const roots[] = {"relative", "", NULL};
    struct home *home = *state;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        struct ethos_store *store = NULL;
        const struct ethos_setup setup = {.host = &log_default_host, .root = roots[i]};
        assert_int_equal(store_files.open(&setup, &store, &home->error), ETHOS_INVALID);
        assert_null(store);
    }
}

/* ---- modes and owners ----------------------------------------------------------------------- */

static void test_mode_and_owner_are_kept(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    assert_int_equal(fchmodat(home->temp.fd, FILE_OF("a.md"), 0640, 0), 0);
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_OK);
    assert_mode(home, FILE_OF("a.md"), 0640);
    if (geteuid() == 0) {
        assert_int_equal(fchownat(home->temp.fd, FILE_OF("a.md"), 1234, 1235, 0), 0);
        assert_int_equal(home_write(home, SCOPE, "a.md", "3"), ETHOS_OK);
        struct stat st = home_stat(home, FILE_OF("a.md"));
        assert_int_equal(st.st_uid, 1234);
        assert_int_equal(st.st_gid, 1235);
        assert_mode(home, FILE_OF("a.md"), 0640);
    }
}

static int fail_fchown(void *arg, const char *call, unsigned long number)
{
    (void)arg, (void)number;
    return strcmp(call, "fchown") == 0 ? EPERM : 0;
}

static void test_an_owner_that_cannot_be_kept_is_a_refusal(void **state)
{
    struct home *home = *state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    assert_int_equal(fchownat(home->temp.fd, FILE_OF("a.md"), 1234, 1235, 0), 0);
    os_hook(fail_fchown, NULL);
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_DENIED);
    os_hook(NULL, NULL);
    assert_non_null(strstr(home->error.text, "a.md"));
    assert_file(home, FILE_OF("a.md"), "1");
    assert_no_litter(home);
}

static void test_a_root_others_may_write_to_is_refused(void **state)
{
    static const mode_t modes[] = {0770, 0702, 01777};
    struct home *home = *state;
    int count = 0;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(chmod(home->root, modes[i]), 0);
        home_open(home, 0, 2000);
        assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_DENIED);
        assert_non_null(strstr(home->error.text, home->root));
        assert_non_null(strstr(home->error.hint, "chmod go-w"));
        assert_non_null(strstr(home->error.hint, home->root));
        assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_DENIED);
        assert_int_equal(home->store->ops->list(home->store, SCOPE, count_entry, &count, NULL),
                         ETHOS_DENIED);
    }
    assert_int_equal(chmod(home->root, 0755), 0);
    assert_reads(home, "a.md", "1");
    assert_int_equal(chmod(home->root, 0777), 0); // behind an open handle
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_DENIED);
    assert_file(home, FILE_OF("a.md"), "1");
}

static void test_a_scope_others_may_write_to_is_not_written(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    assert_int_equal(fchmodat(home->temp.fd, DIR_OF_SCOPE, 0730, 0), 0);
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_DENIED);
    assert_non_null(strstr(home->error.hint, "personalities/p"));
    assert_reads(home, "a.md", "1");
    assert_no_litter(home);
}

static int fail_erofs(void *arg, const char *call, unsigned long number)
{
    (void)arg, (void)number;
    return strcmp(call, "mkdirat") == 0 ? EROFS : 0;
}

static void test_a_read_only_file_system_is_an_error_and_leaves_nothing(void **state)
{
    struct home *home = *state;
    os_hook(fail_erofs, NULL);
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_IO);
    assert_true(home->error.hint[0] != 0);
    os_hook(NULL, NULL);
    assert_false(home_exists(home, "home"));
}

static void test_a_directory_without_write_permission_is_an_error(void **state)
{
    struct home *home = *state;
    if (geteuid() == 0)
        skip();
    home_put(home, FILE_OF("a.md"), "1");
    assert_int_equal(fchmodat(home->temp.fd, DIR_OF_SCOPE, 0500, 0), 0);
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_IO);
    assert_reads(home, "a.md", "1");
}

/* ---- links ---------------------------------------------------------------------------------- */

static void assert_link_follows(struct home *home, const char *link, const char *target)
{
    const char *key = strrchr(link, '/') + 1;
    char other[64];
    snprintf(other, sizeof other, "changed through %s", key);
    mode_t mode = home_stat(home, target).st_mode;
    assert_reads(home, key, "target");
    assert_int_equal(home_write(home, SCOPE, key, other), ETHOS_OK);
    assert_true(S_ISLNK(home_stat(home, link).st_mode));
    assert_true(S_ISREG(home_stat(home, target).st_mode));
    assert_int_equal(home_stat(home, target).st_mode, mode);
    assert_file(home, target, other);
    assert_reads(home, key, other);
    assert_no_litter(home);
}

static void test_a_link_inside_the_root_is_followed_and_stays(void **state)
{
    struct home *home = *state;
    char absolute[256];
    home_put(home, FILE_OF("near.txt"), "target");
    home_put(home, "home/users/u/far.md", "target");
    home_put(home, "home/shared/deep/full.md", "target");
    assert_int_equal(fchmodat(home->temp.fd, "home/users/u/far.md", 0604, 0), 0);
    home_link(home, "near.txt", FILE_OF("a.md"));
    home_link(home, "../../users/u/far.md", FILE_OF("b.md"));
    snprintf(absolute, sizeof absolute, "%s/shared/deep/full.md", home->root);
    home_link(home, absolute, FILE_OF("c.md"));
    assert_link_follows(home, FILE_OF("a.md"), FILE_OF("near.txt"));
    assert_link_follows(home, FILE_OF("b.md"), "home/users/u/far.md");
    assert_link_follows(home, FILE_OF("c.md"), "home/shared/deep/full.md");
}

static void test_a_link_out_of_the_root_needs_an_allowed_directory(void **state)
{
    struct home *home = *state;
    home_put(home, "outside/notes/a.md", "target");
    home_put(home, "outsider/b.md", "target");
    home_mkdir(home, DIR_OF_SCOPE);
    home_link(home, "../../../outside/notes/a.md", FILE_OF("a.md"));
    home_link(home, "../../../outsider/b.md", FILE_OF("b.md"));

    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_DENIED);
    assert_non_null(strstr(home->error.text, FILE_OF("a.md")));
    assert_non_null(strstr(home->error.hint, "paths.allow"));
    assert_int_equal(home_write(home, SCOPE, "a.md", "x"), ETHOS_DENIED);
    assert_non_null(strstr(home->error.hint, "paths.allow"));
    assert_file(home, "outside/notes/a.md", "target");

    snprintf(home->allow, sizeof home->allow, "/nowhere,,%s/outside", home->temp.path);
    home_open(home, 0, 2000);
    assert_link_follows(home, FILE_OF("a.md"), "outside/notes/a.md");
    assert_int_equal(home_read(home, SCOPE, "b.md"), ETHOS_DENIED); // no match by prefix of a name
    assert_file(home, "outsider/b.md", "target");
}

static int without_openat2(void *arg, const char *call, unsigned long number)
{
    (void)arg, (void)number;
    return strcmp(call, "openat2") == 0 ? ENOSYS : 0;
}

static void test_an_old_kernel_follows_the_same_links(void **state)
{
    struct home *home = *state;
    home_put(home, FILE_OF("near.txt"), "target");
    home_put(home, "outside/b.md", "target");
    home_put(home, "secret/c.md", "target");
    home_link(home, "near.txt", FILE_OF("a.md"));
    home_link(home, "../../../outside/b.md", FILE_OF("b.md"));
    home_link(home, "../../../secret/c.md", FILE_OF("c.md"));
    home_link(home, "nothing", FILE_OF("d.md"));
    snprintf(home->allow, sizeof home->allow, "%s/outside", home->temp.path);
    home_open(home, 0, 2000);
    os_hook(without_openat2, NULL);
    assert_link_follows(home, FILE_OF("a.md"), FILE_OF("near.txt"));
    assert_link_follows(home, FILE_OF("b.md"), "outside/b.md");
    assert_int_equal(home_read(home, SCOPE, "c.md"), ETHOS_DENIED);
    assert_int_equal(home_write(home, SCOPE, "c.md", "x"), ETHOS_DENIED);
    assert_int_equal(home_read(home, SCOPE, "d.md"), ETHOS_IO);
    assert_int_equal(home_read(home, SCOPE, "e.md"), ETHOS_NOTFOUND);
    assert_file(home, "secret/c.md", "target");
}

static void test_a_chain_of_links_is_judged_by_its_end(void **state)
{
    struct home *home = *state;
    home_put(home, "outside/a.md", "target");
    home_put(home, "secret/b.md", "target");
    home_mkdir(home, DIR_OF_SCOPE);
    home_link(home, "../secret/b.md", "outside/b.md");
    home_link(home, "../../../outside/a.md", FILE_OF("one.md"));
    home_link(home, "one.md", FILE_OF("a.md"));
    home_link(home, "../../../outside/b.md", FILE_OF("b.md"));
    snprintf(home->allow, sizeof home->allow, "%s/outside", home->temp.path);
    home_open(home, 0, 2000);
    assert_link_follows(home, FILE_OF("a.md"), "outside/a.md");
    assert_int_equal(home_read(home, SCOPE, "b.md"), ETHOS_DENIED);
    assert_int_equal(home_write(home, SCOPE, "b.md", "x"), ETHOS_DENIED);
    assert_file(home, "secret/b.md", "target");
}

static void test_a_scope_that_is_a_link_follows_the_same_rule(void **state)
{
    struct home *home = *state;
    home_put(home, "outside/p/a.md", "target");
    home_mkdir(home, "home/personalities");
    home_link(home, "../../outside/p", DIR_OF_SCOPE);
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_DENIED);
    assert_int_equal(home_write(home, SCOPE, "a.md", "x"), ETHOS_DENIED);
    assert_false(home_exists(home, "outside/p/.mem"));
    snprintf(home->allow, sizeof home->allow, "%s/outside/p", home->temp.path);
    home_open(home, 0, 2000);
    assert_reads(home, "a.md", "target");
    assert_int_equal(home_write(home, SCOPE, "a.md", "new"), ETHOS_OK);
    assert_file(home, "outside/p/a.md", "new");
    assert_true(S_ISLNK(home_stat(home, DIR_OF_SCOPE).st_mode));
}

static void test_a_dangling_link_is_neither_absent_nor_filled(void **state)
{
    struct home *home = *state;
    home_mkdir(home, DIR_OF_SCOPE);
    home_link(home, "nothing.md", FILE_OF("a.md"));
    home_link(home, "b.md", FILE_OF("b.md"));
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_IO);
    assert_non_null(strstr(home->error.text, "dangling symbolic link"));
    assert_non_null(strstr(home->error.text, FILE_OF("a.md")));
    assert_int_equal(home_write(home, SCOPE, "a.md", "x"), ETHOS_IO);
    assert_false(home_exists(home, FILE_OF("nothing.md")));
    assert_true(home_read(home, SCOPE, "b.md") != ETHOS_OK);
    assert_true(home_write(home, SCOPE, "b.md", "x") != ETHOS_OK);
    assert_false(home_exists(home, DIR_OF_SCOPE "/.mem"));
}

static void test_dropping_a_link_is_refused(void **state)
{
    struct home *home = *state;
    home_put(home, FILE_OF("target.md"), "target");
    home_link(home, "target.md", FILE_OF("a.md"));
    assert_int_equal(home_remove(home, SCOPE, "a.md"), ETHOS_DENIED);
    assert_true(home->error.hint[0] != 0);
    assert_reads(home, "a.md", "target");
    assert_reads(home, "target.md", "target");
}

static void test_a_target_directory_others_may_write_to_is_refused(void **state)
{
    struct home *home = *state;
    home_put(home, "outside/a.md", "target");
    home_mkdir(home, DIR_OF_SCOPE);
    home_link(home, "../../../outside/a.md", FILE_OF("a.md"));
    snprintf(home->allow, sizeof home->allow, "%s/outside", home->temp.path);
    home_open(home, 0, 2000);
    assert_int_equal(fchmodat(home->temp.fd, "outside", 0777, 0), 0);
    assert_int_equal(home_write(home, SCOPE, "a.md", "x"), ETHOS_DENIED);
    assert_non_null(strstr(home->error.hint, "/outside"));
    assert_file(home, "outside/a.md", "target");
    assert_no_litter(home);
}

static void test_a_second_hard_link_refuses_a_new_text(void **state)
{
    struct home *home = *state;
    home_put(home, FILE_OF("a.md"), "1");
    assert_int_equal(linkat(home->temp.fd, FILE_OF("a.md"), home->temp.fd, "home/other", 0), 0);
    assert_reads(home, "a.md", "1");
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_DENIED);
    assert_non_null(strstr(home->error.text, "has another hard link"));
    assert_true(home->error.hint[0] != 0);
    assert_file(home, "home/other", "1");
    assert_file(home, FILE_OF("a.md"), "1");
    assert_int_equal(home_remove(home, SCOPE, "a.md"), ETHOS_OK);
    assert_file(home, "home/other", "1");
}

/* ---- kinds of files ------------------------------------------------------------------------- */

static void assert_not_a_text(struct home *home, const char *key)
{
    assert_int_equal(home_read(home, SCOPE, key), ETHOS_IO);
    assert_non_null(strstr(home->error.text, key));
    assert_int_equal(home_write(home, SCOPE, key, "x"), ETHOS_IO);
    assert_non_null(strstr(home->error.text, key));
    assert_int_equal(home_remove(home, SCOPE, key), ETHOS_IO);
}

static void test_only_regular_files_are_texts(void **state)
{
    struct home *home = *state;
    int count = 0;
    home_mkdir(home, FILE_OF("dir.md"));
    assert_int_equal(mkfifoat(home->temp.fd, FILE_OF("fifo.md"), 0600), 0);
    home_link(home, "fifo.md", FILE_OF("link.md"));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/" FILE_OF("s.md"), home->temp.path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    assert_not_a_text(home, "dir.md");
    assert_not_a_text(home, "fifo.md");
    assert_not_a_text(home, "link.md");
    assert_not_a_text(home, "s.md");
    if (mknodat(home->temp.fd, FILE_OF("null.md"), S_IFCHR | 0600, 0x103) == 0)
        assert_not_a_text(home, "null.md");
    assert_int_equal(home->store->ops->list(home->store, SCOPE, count_entry, &count, NULL),
                     ETHOS_OK);
    assert_int_equal(count, 0);
}

static int join_entry(void *arg, const struct ethos_entry *entry)
{
    size_t used = strlen(arg);
    snprintf((char *)arg + used, 256 - used, "%s:%d ", entry->key, (int)entry->bytes);
    return 0;
}

static void test_list_shows_texts_and_links_that_may_be_followed(void **state)
{
    struct home *home = *state;
    char keys[256] = "";
    home_put(home, FILE_OF("b.md"), "22");
    home_put(home, FILE_OF("memory-history.jsonl"), "{}");
    home_put(home, FILE_OF(".hidden.md"), "no");
    home_put(home, FILE_OF("b.md~"), "no");
    home_put(home, FILE_OF("history-blobs/x.md"), "no");
    home_put(home, "outside/x.md", "no");
    home_link(home, "b.md", FILE_OF("a.md"));
    home_link(home, "nothing", FILE_OF("c.md"));
    home_link(home, "../../../outside/x.md", FILE_OF("d.md"));
    home_link(home, "history-blobs", FILE_OF("e.md"));
    assert_int_equal(home->store->ops->list(home->store, SCOPE, join_entry, keys, &home->error),
                     ETHOS_OK);
    assert_string_equal(keys, "a.md:2 b.md:2 ");
}

static void test_a_file_beyond_the_limit_shows_its_tail(void **state)
{
    struct home *home = *state;
    struct ethos_read_how how = {10, 0};
    home_put(home, FILE_OF("a.md"), "x");
    int fd = openat(home->temp.fd, FILE_OF("a.md"), O_WRONLY);
    assert_int_equal(ftruncate(fd, (off_t)ETHOS_MAX_STORE_BYTES + 1), 0);
    assert_int_equal(pwrite(fd, "the end", 7, ETHOS_MAX_STORE_BYTES - 6), 7);
    close(fd);
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_LIMIT);
    assert_int_equal(home_write(home, SCOPE, "a.md", "x"), ETHOS_LIMIT);
    assert_int_equal(
        home->store->ops->read(home->store, SCOPE, "a.md", &how, &home->text, &home->error),
        ETHOS_OK);
    assert_int_equal(home->text.size, 10);
    assert_int_equal(home->text.offset, ETHOS_MAX_STORE_BYTES + 1 - 10);
    assert_memory_equal(home->text.data, "\0\0\0the end", 10);
}

/* ---- what a read does ----------------------------------------------------------------------- */

struct log {
    char calls[1024];
};

static int log_call(void *arg, const char *call, unsigned long number)
{
    struct log *log = arg;
    size_t used = strlen(log->calls);
    (void)number;
    snprintf(log->calls + used, sizeof log->calls - used, "%s ", call);
    return 0;
}

static void test_a_read_is_five_calls_and_no_memory(void **state)
{
    struct home *home = *state;
    struct log log = {""};
    struct ethos_read_how whole = {0, 0};
    assert_int_equal(home_write(home, SCOPE, "a.md", "text\n"), ETHOS_OK);
    static const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(home->temp.fd, FILE_OF("a.md"), times, 0), 0); // young: two looks
    assert_reads(home, "a.md", "text\n");
    alloc_fail_at(0);
    os_hook(log_call, &log);
    int code = home->store->ops->read(home->store, SCOPE, "a.md", &whole, &home->text, NULL);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_int_equal(alloc_count(), 0);
    assert_string_equal(log.calls, "openat2 fstat pread fstat close ");
}

/* Appends to the file before each second fstat, as long as times lasts. */
struct meddler {
    struct home *home;
    int times;
    unsigned fstats;
};

static int meddle(void *arg, const char *call, unsigned long number)
{
    struct meddler *meddler = arg;
    (void)number;
    if (strcmp(call, "fstat") == 0 && meddler->fstats++ >= 1 && meddler->times-- > 0) {
        int fd = openat(meddler->home->temp.fd, FILE_OF("a.md"), O_WRONLY | O_APPEND);
        (void)!write(fd, "+", 1);
        close(fd);
    }
    return 0;
}

static void test_a_text_that_changes_while_it_is_read_is_read_again(void **state)
{
    struct home *home = *state;
    struct meddler meddler = {home, 2, 0};
    home_put(home, FILE_OF("a.md"), "text");
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_OK);
    os_hook(meddle, &meddler);
    int code = home_read(home, SCOPE, "a.md");
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_string_equal(home->text.data, "text++");

    meddler = (struct meddler){home, 1000, 0};
    os_hook(meddle, &meddler);
    code = home_read(home, SCOPE, "a.md");
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_BUSY);
}

static void test_a_moved_root_is_noticed(void **state)
{
    struct home *home = *state;
    char keys[256] = "";
    assert_int_equal(home_write(home, SCOPE, "a.md", "old"), ETHOS_OK);
    assert_int_equal(renameat(home->temp.fd, "home", home->temp.fd, "moved"), 0);
    assert_int_equal(home->store->ops->list(home->store, SCOPE, join_entry, keys, NULL), ETHOS_OK);
    assert_string_equal(keys, "");
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_NOTFOUND);

    assert_int_equal(home_write(home, SCOPE, "a.md", "new"), ETHOS_OK);
    assert_file(home, FILE_OF("a.md"), "new");
    assert_file(home, "moved/personalities/p/a.md", "old");

    assert_int_equal(renameat(home->temp.fd, "home", home->temp.fd, "moved again"), 0);
    home_put(home, FILE_OF("b.md"), "restored");
    assert_reads(home, "b.md", "restored"); // what is not found makes it look again
    assert_int_equal(home_read(home, SCOPE, "a.md"), ETHOS_NOTFOUND);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HOME_TEST(test_only_a_write_makes_the_root),
        HOME_TEST(test_asking_in_a_directory_of_someone_else_adds_nothing),
        HOME_TEST(test_new_files_and_directories_are_private),
        HOME_TEST(test_scopes_have_their_directories),
        HOME_TEST(test_unsafe_names_are_denied_before_anything_is_touched),
        HOME_TEST(test_root_must_be_an_absolute_path),
        HOME_TEST(test_mode_and_owner_are_kept),
        HOME_TEST(test_an_owner_that_cannot_be_kept_is_a_refusal),
        HOME_TEST(test_a_root_others_may_write_to_is_refused),
        HOME_TEST(test_a_scope_others_may_write_to_is_not_written),
        HOME_TEST(test_a_read_only_file_system_is_an_error_and_leaves_nothing),
        HOME_TEST(test_a_directory_without_write_permission_is_an_error),
        HOME_TEST(test_a_link_inside_the_root_is_followed_and_stays),
        HOME_TEST(test_a_link_out_of_the_root_needs_an_allowed_directory),
        HOME_TEST(test_an_old_kernel_follows_the_same_links),
        HOME_TEST(test_a_chain_of_links_is_judged_by_its_end),
        HOME_TEST(test_a_scope_that_is_a_link_follows_the_same_rule),
        HOME_TEST(test_a_dangling_link_is_neither_absent_nor_filled),
        HOME_TEST(test_dropping_a_link_is_refused),
        HOME_TEST(test_a_target_directory_others_may_write_to_is_refused),
        HOME_TEST(test_a_second_hard_link_refuses_a_new_text),
        HOME_TEST(test_only_regular_files_are_texts),
        HOME_TEST(test_list_shows_texts_and_links_that_may_be_followed),
        HOME_TEST(test_a_file_beyond_the_limit_shows_its_tail),
        HOME_TEST(test_a_read_is_five_calls_and_no_memory),
        HOME_TEST(test_a_text_that_changes_while_it_is_read_is_read_again),
        HOME_TEST(test_a_moved_root_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_key_directories.c: scopes whose keys are paths, in a files store: directories come and go with
 * their files, links lead nowhere, and no half of a change of several is ever listed.
 */
#include "home.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define TREE "memories:" SCOPE
#define ROOT DIR_OF_SCOPE "/memories"
#define AT(key) ROOT "/" key

static void assert_text(struct home *home, const char *key, const char *expected)
{
    assert_int_equal(home_read(home, TREE, key), ETHOS_OK);
    assert_string_equal(home->text.data, expected);
}

static void put(struct home *home, const char *key, const char *text)
{
    if (home_write(home, TREE, key, text) != ETHOS_OK)
        fail_msg("%s: %s", key, home->error.text);
}

static int add_key(void *arg, const struct ethos_entry *entry)
{
    char *keys = arg;
    snprintf(keys + strlen(keys), 1024 - strlen(keys), "%s|", entry->key);
    return 0;
}

static void assert_keys(struct home *home, const char *expected)
{
    char keys[1024] = "";
    assert_int_equal(home->store->ops->list(home->store, TREE, add_key, keys, &home->error),
                     ETHOS_OK);
    assert_string_equal(keys, expected);
}

/* ---- directories ------------------------------------------------------------------------------ */

static void test_directories_come_and_go_with_their_files(void **state)
{
    struct home *home = *state;
    put(home, "a/b/c.md", "1");
    put(home, "a/d.txt", "2");
    assert_mode(home, AT("a"), 0700);
    assert_mode(home, AT("a/b"), 0700);
    assert_mode(home, AT("a/b/c.md"), 0600);
    assert_keys(home, "a/b/c.md|a/d.txt|");
    assert_int_equal(home_remove(home, TREE, "a/b/c.md"), ETHOS_OK);
    assert_false(home_exists(home, AT("a/b")));
    assert_true(home_exists(home, AT("a")));
    assert_int_equal(home_remove(home, TREE, "a/d.txt"), ETHOS_OK);
    assert_false(home_exists(home, AT("a")));
    assert_keys(home, "");
    assert_int_equal(home_read(home, TREE, "a/d.txt"), ETHOS_NOTFOUND);
}

static void test_a_directory_with_something_else_in_it_stays(void **state)
{
    struct home *home = *state;
    put(home, "a/x.md", "1");
    home_put(home, AT("a/.hidden"), "mine");
    assert_int_equal(home_remove(home, TREE, "a/x.md"), ETHOS_OK);
    assert_file(home, AT("a/.hidden"), "mine");
    assert_keys(home, "");
}

static void test_the_tree_and_its_owner_are_two_scopes(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "MEMORY.md", "owner"), ETHOS_OK);
    put(home, "MEMORY.md", "tree");
    assert_reads(home, "MEMORY.md", "owner");
    assert_text(home, "MEMORY.md", "tree");
    assert_file(home, AT("MEMORY.md"), "tree");
    assert_int_equal(home_write(home, "memories:global", "g.md", "g"), ETHOS_OK);
    assert_file(home, "home/memories/g.md", "g");
    assert_int_equal(home_write(home, "memories:team:t", "x/g.md", "t"), ETHOS_OK);
    assert_file(home, "home/teams/t/memory/memories/x/g.md", "t");
}

static void test_files_and_directories_do_not_take_each_others_place(void **state)
{
    struct home *home = *state;
    put(home, "a/x.md", "1");
    assert_int_not_equal(home_write(home, TREE, "a", "2"), ETHOS_OK);
    assert_int_not_equal(home_write(home, TREE, "a/x.md/y", "2"), ETHOS_OK);
    assert_int_equal(home_read(home, TREE, "a/x.md/y"), ETHOS_NOTFOUND);
    assert_int_not_equal(home_read(home, TREE, "a"), ETHOS_OK);
    assert_text(home, "a/x.md", "1");
    assert_keys(home, "a/x.md|");
}

static void test_an_empty_directory_of_a_person_is_in_nobodys_way(void **state)
{
    struct home *home = *state;
    home_mkdir(home, AT("a/b"));
    assert_keys(home, "");
    put(home, "a/b/c.md", "1");
    assert_text(home, "a/b/c.md", "1");
}

/* ---- keys ------------------------------------------------------------------------------------- */

static void test_hostile_keys_reach_nothing(void **state)
{
    static const char *const keys[] = {"",
                                       "/",
                                       "/a",
                                       "a/",
                                       "a//b",
                                       ".",
                                       "..",
                                       "../a.md",
                                       "a/../b",
                                       "a/..",
                                       "./a",
                                       ".mem/lock",
                                       ".hidden",
                                       "a/.git/hook",
                                       "..\\a",
                                       "a\\b",
                                       "%2e%2e/a",
                                       "a/%2E%2e/b",
                                       "a\nb",
                                       "a\tb",
                                       "a\x7f",
                                       "a\"b",
                                       "\xff.md",
                                       "a/\xc3",
                                       "a\xed\xa0\x80",
                                       "memory-history.jsonl",
                                       "Memory-History-2026-01.jsonl",
                                       "history-blobs/x.md",
                                       "HISTORY-BLOBS/x"};
    struct home *home = *state;
    put(home, "a/x.md", "1");
    home_put(home, "home/personalities/p/a.md", "out");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (home_write(home, TREE, keys[i], "2") != ETHOS_DENIED ||
            home_read(home, TREE, keys[i]) != ETHOS_DENIED ||
            home_remove(home, TREE, keys[i]) != ETHOS_DENIED)
            fail_msg("'%s' was not refused", keys[i]);
    }
    assert_keys(home, "a/x.md|");
    assert_file(home, "home/personalities/p/a.md", "out");
}

static void test_names_that_are_no_keys_are_not_listed(void **state)
{
    struct home *home = *state;
    put(home, "a/x.md", "1");
    home_put(home, AT("a/quo\"te.md"), "x");
    home_put(home, AT("a/\xff.md"), "x");
    home_put(home, AT("a/.hidden/x.md"), "x");
    home_put(home, AT("a/ok name.md"), "x");
    assert_keys(home, "a/ok name.md|a/x.md|");
}

static void test_the_longest_key_can_be_written_changed_and_removed(void **state)
{
    struct home *home = *state;
    char key[ETHOS_MAX_KEY + 2];
    for (size_t i = 0; i < ETHOS_MAX_KEY; i++)
        key[i] = i % 2 ? '/' : 'k';
    key[ETHOS_MAX_KEY - 1] = 'k';
    key[ETHOS_MAX_KEY] = 0;
    put(home, key, "1");
    put(home, key, "2");
    assert_text(home, key, "2");
    assert_int_equal(home->store->ops->set_aside(home->store, TREE, key, VIEW("copy"), NULL),
                     ETHOS_OK);
    assert_int_equal(home_remove(home, TREE, key), ETHOS_OK);
    assert_false(home_exists(home, AT("k")));
    memset(key, 'k', ETHOS_MAX_KEY);
    put(home, key, "1");
    key[ETHOS_MAX_KEY] = 'k';
    key[ETHOS_MAX_KEY + 1] = 0;
    assert_int_equal(home_write(home, TREE, key, "1"), ETHOS_DENIED);
}

/* ---- links ------------------------------------------------------------------------------------ */

static void assert_linked(struct home *home, const char *key)
{
    assert_int_equal(home_write(home, TREE, key, "2"), ETHOS_DENIED);
    assert_non_null(strstr(home->error.text, "symbolic link"));
    assert_int_equal(home_read(home, TREE, key), ETHOS_DENIED);
    assert_int_equal(home_remove(home, TREE, key), ETHOS_DENIED);
}

static void test_links_in_a_tree_are_refused_also_those_that_stay_inside(void **state)
{
    struct home *home = *state;
    put(home, "a/x.md", "1");
    home_put(home, "outside/x.md", "out");
    home_link(home, "x.md", AT("a/leaf.md"));
    home_link(home, "a", AT("inner"));
    home_link(home, "../../../../outside", AT("outer"));
    home_link(home, "nothing", AT("dangling.md"));
    snprintf(home->allow, sizeof home->allow, "%s/outside", home->temp.path);
    home_open(home, 0, 2000);
    assert_linked(home, "a/leaf.md");
    assert_linked(home, "inner/x.md");
    assert_linked(home, "outer/x.md");
    assert_linked(home, "outer/new/deep.md");
    assert_linked(home, "dangling.md");
    assert_keys(home, "a/x.md|");
    assert_file(home, AT("a/x.md"), "1");
    assert_file(home, "outside/x.md", "out");
    assert_false(home_exists(home, "outside/new"));
}

static void test_the_directory_of_its_owner_may_be_a_link_that_is_allowed(void **state)
{
    struct home *home = *state;
    home_mkdir(home, "outside");
    home_mkdir(home, "home/personalities");
    home_link(home, "../../outside", DIR_OF_SCOPE);
    assert_int_equal(home_write(home, TREE, "a/x.md", "1"), ETHOS_DENIED);
    snprintf(home->allow, sizeof home->allow, "%s/outside", home->temp.path);
    home_open(home, 0, 2000);
    assert_keys(home, "");
    assert_int_equal(home_read(home, TREE, "a/x.md"), ETHOS_NOTFOUND);
    put(home, "a/x.md", "1");
    assert_text(home, "a/x.md", "1");
    assert_file(home, "outside/memories/a/x.md", "1");
    assert_keys(home, "a/x.md|");
}

/* What happens before one call of a writer. */
struct moment {
    struct home *home;
    unsigned long at;
    void (*act)(struct home *home);
};

static int on_call(void *arg, const char *call, unsigned long number)
{
    const struct moment *moment = arg;
    (void)call;
    if (number == moment->at)
        moment->act(moment->home);
    return 0;
}

static void swap_for_link(struct home *home)
{
    renameat(home->temp.fd, AT("a"), home->temp.fd, "home/was");
    symlinkat("../../../../outside", home->temp.fd, AT("a"));
}

static void clear_tree(struct home *home)
{
    char outside[256];
    snprintf(outside, sizeof outside, "%s/outside", home->temp.path);
    nftw(home->root, remove_name, 16, FTW_PHYS | FTW_DEPTH);
    nftw(outside, remove_name, 16, FTW_PHYS | FTW_DEPTH);
}

static void test_a_directory_that_becomes_a_link_at_any_call_leads_nowhere(void **state)
{
    struct home *home = *state;
    for (unsigned long at = 1; at < 200; at++) {
        struct moment moment = {home, at, swap_for_link};
        clear_tree(home);
        home_mkdir(home, "outside/b");
        put(home, "a/b/x.md", "1");
        os_hook(on_call, &moment);
        home_write(home, TREE, "a/b/x.md", "2");
        home_write(home, TREE, "a/b/new/y.md", "3");
        os_hook(NULL, NULL);
        assert_false(home_exists(home, "outside/b/x.md"));
        assert_false(home_exists(home, "outside/b/new"));
    }
}

static void move_away(struct home *home)
{
    renameat(home->temp.fd, AT("a"), home->temp.fd, AT("z"));
}

static void test_a_directory_that_is_moved_at_any_call_loses_no_text(void **state)
{
    struct home *home = *state;
    for (unsigned long at = 1; at < 90; at++) {
        struct moment moment = {home, at, move_away};
        clear_tree(home);
        put(home, "a/x.md", "1");
        os_hook(on_call, &moment);
        int code = home_write(home, TREE, "a/x.md", "2");
        os_hook(NULL, NULL);
        char *here = temp_read(&home->temp, AT("a/x.md"), NULL);
        char *there = temp_read(&home->temp, AT("z/x.md"), NULL);
        bool new_text = (here && strcmp(here, "2") == 0) || (there && strcmp(there, "2") == 0);
        if (code == ETHOS_OK && !new_text)
            fail_msg("moved before call %lu: the text is lost", at);
        if (!here && !there)
            fail_msg("moved before call %lu: both are gone", at);
        free(here);
        free(there);
        put(home, "a/x.md", "3");
        assert_text(home, "a/x.md", "3");
    }
}

static void test_a_directory_others_may_write_to_is_refused(void **state)
{
    struct home *home = *state;
    put(home, "a/b/x.md", "1");
    assert_int_equal(fchmodat(home->temp.fd, AT("a"), 0777, 0), 0);
    assert_int_equal(home_write(home, TREE, "a/b/x.md", "2"), ETHOS_DENIED);
    assert_int_equal(home_write(home, TREE, "a/y.md", "2"), ETHOS_DENIED);
    put(home, "other/z.md", "2");
    assert_text(home, "a/b/x.md", "1");
}

/* ---- several at once -------------------------------------------------------------------------- */

#define FILES 4
static const char *const before[FILES] = {"d/1.md", "d/2.md", "d/s/3.md", "d/s/t/4.md"};
static const char *const after[FILES] = {"e/f/1.md", "e/f/2.md", "e/f/s/3.md", "e/f/s/t/4.md"};

static int move_all(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)arg, (void)error;
    for (size_t i = 0; i < count / 2; i++) {
        if (!edits[i].old.data)
            continue;
        edits[i].verdict = ETHOS_EDIT_DROP;
        edits[count / 2 + i].verdict = ETHOS_EDIT_PUT;
        edits[count / 2 + i].text = view_of(edits[i].old.data, edits[i].old.size);
    }
    return ETHOS_OK;
}

static int rename_all(struct home *home)
{
    struct ethos_edit edits[2 * FILES] = {0};
    for (size_t i = 0; i < FILES; i++) {
        edits[i].key = before[i];
        edits[FILES + i].key = after[i];
    }
    int code = home->store->ops->update(home->store, TREE, edits, 2 * FILES, move_all, NULL, NULL,
                                        &home->error);
    for (size_t i = 0; i < 2 * FILES; i++)
        free(edits[i].old.data);
    return code;
}

static void make_all(struct home *home)
{
    clear_tree(home);
    for (size_t i = 0; i < FILES; i++)
        put(home, before[i], before[i]);
}

static int die(void *arg, const char *call, unsigned long number)
{
    (void)call;
    if (number == *(unsigned long *)arg)
        kill(getpid(), SIGKILL);
    return 0;
}

/* Renames in a child that is killed before a call. False when it came to its end. */
static bool rename_killed(struct home *home, unsigned long at)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        os_hook(die, &at);
        _exit(rename_all(home) == ETHOS_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status);
}

static void test_a_list_shows_no_half_of_a_rename_that_was_killed(void **state)
{
    struct home *home = *state;
    size_t old = 0, new = 0;
    make_all(home);
    for (unsigned long at = 1; rename_killed(home, at); at++) {
        char keys[1024] = "";
        assert_int_equal(home->store->ops->list(home->store, TREE, add_key, keys, &home->error),
                         ETHOS_OK);
        bool is_old = strcmp(keys, "d/1.md|d/2.md|d/s/3.md|d/s/t/4.md|") == 0;
        bool is_new = strcmp(keys, "e/f/1.md|e/f/2.md|e/f/s/3.md|e/f/s/t/4.md|") == 0;
        if (!is_old && !is_new)
            fail_msg("killed before call %lu: %s", at, keys);
        assert_false(home_exists(home, is_old ? AT("e") : AT("d")));
        old += is_old;
        new += is_new;
        make_all(home);
    }
    assert_true(old > 50);
    assert_true(new > 5);
}

/* A file that recovery restored has no predecessor to copy rights from: it is private and ours. */
static void assert_private(const struct home *home, const char *path)
{
    struct stat st;
    if (fstatat(home->temp.fd, path, &st, 0) != 0)
        return;
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_uid, geteuid());
}

static void test_a_parent_removed_after_a_kill_does_not_stop_the_next_writer(void **state)
{
    struct home *home = *state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s/" AT("d") " %s/" AT("e"), home->temp.path,
             home->temp.path);
    make_all(home);
    for (unsigned long at = 1; rename_killed(home, at); at += 9) {
        assert_int_equal(system(command), 0);
        put(home, "next/n.md", "1");
        assert_private(home, AT("d/1.md"));
        put(home, "d/1.md", "again");
        assert_text(home, "d/1.md", "again");
        make_all(home);
    }
}

static void test_a_file_in_a_directorys_place_after_a_kill_is_left_alone(void **state)
{
    struct home *home = *state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s/" AT("d") " %s/" AT("e"), home->temp.path,
             home->temp.path);
    make_all(home);
    for (unsigned long at = 1; rename_killed(home, at); at += 9) {
        assert_int_equal(system(command), 0);
        home_put(home, AT("d"), "a file of mine");
        put(home, "next/n.md", "1");
        assert_file(home, AT("d"), "a file of mine");
        make_all(home);
    }
}

#define MANY 300

static int put_all(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)arg, (void)error;
    for (size_t i = 0; i < count; i++) {
        edits[i].verdict = ETHOS_EDIT_PUT;
        edits[i].text = VIEW("x");
    }
    return ETHOS_OK;
}

static void test_too_many_directories_for_the_descriptors_change_nothing(void **state)
{
    struct home *home = *state;
    static char names[MANY][32];
    static struct ethos_edit edits[MANY];
    struct rlimit usual, low;
    put(home, "a.md", "1");
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "d%zu/x.md", i);
        edits[i] = (struct ethos_edit){.key = names[i]};
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    low = (struct rlimit){128, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int code = home->store->ops->update(home->store, TREE, edits, MANY, put_all, NULL, NULL,
                                        &home->error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_not_equal(code, ETHOS_OK);
    assert_keys(home, "a.md|");
    assert_false(home_exists(home, AT("d0")));
    for (size_t i = 0; i < MANY; i++)
        free(edits[i].old.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOME_TEST(test_directories_come_and_go_with_their_files),
        HOME_TEST(test_a_directory_with_something_else_in_it_stays),
        HOME_TEST(test_the_tree_and_its_owner_are_two_scopes),
        HOME_TEST(test_files_and_directories_do_not_take_each_others_place),
        HOME_TEST(test_an_empty_directory_of_a_person_is_in_nobodys_way),
        HOME_TEST(test_hostile_keys_reach_nothing),
        HOME_TEST(test_names_that_are_no_keys_are_not_listed),
        HOME_TEST(test_the_longest_key_can_be_written_changed_and_removed),
        HOME_TEST(test_links_in_a_tree_are_refused_also_those_that_stay_inside),
        HOME_TEST(test_the_directory_of_its_owner_may_be_a_link_that_is_allowed),
        HOME_TEST(test_a_directory_that_becomes_a_link_at_any_call_leads_nowhere),
        HOME_TEST(test_a_directory_that_is_moved_at_any_call_loses_no_text),
        HOME_TEST(test_a_directory_others_may_write_to_is_refused),
        HOME_TEST(test_a_list_shows_no_half_of_a_rename_that_was_killed),
        HOME_TEST(test_a_parent_removed_after_a_kill_does_not_stop_the_next_writer),
        HOME_TEST(test_a_file_in_a_directorys_place_after_a_kill_is_left_alone),
        HOME_TEST(test_too_many_directories_for_the_descriptors_change_nothing),
    };
    os_skip_sleep(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

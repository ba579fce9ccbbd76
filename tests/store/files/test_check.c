/*
 * test_check.c: what check finds in a files store, and what it mends.
 */
#include "home.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

struct findings {
    size_t count;
    struct {
        enum ethos_severity severity;
        char subject[256], problem[512], remedy[512];
    } rows[64];
};

static void collect(void *arg, const struct ethos_finding *finding)
{
    struct findings *findings = arg;
    size_t i = findings->count++;
    assert_true(i < 64);
    findings->rows[i].severity = finding->severity;
    snprintf(findings->rows[i].subject, 256, "%s", finding->subject);
    snprintf(findings->rows[i].problem, 512, "%s", finding->problem);
    snprintf(findings->rows[i].remedy, 512, "%s", finding->remedy);
    assert_true(finding->remedy[0] != 0);
    assert_null(strpbrk(finding->subject, "\n\033"));
}

static struct findings check(struct home *home, int fix)
{
    struct findings findings = {0};
    assert_int_equal(home->store->ops->check(home->store, fix, collect, &findings, &home->error),
                     ETHOS_OK);
    return findings;
}

/* The only finding is this one. */
static void assert_only(struct findings findings, enum ethos_severity severity, const char *subject,
                        const char *problem, const char *remedy)
{
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.rows[0].severity, severity);
    assert_string_equal(findings.rows[0].subject, subject);
    assert_non_null(strstr(findings.rows[0].problem, problem));
    assert_non_null(strstr(findings.rows[0].remedy, remedy));
}

static void test_open_directories_are_found_and_closed(void **state)
{
    static const char *const paths[] = {"",      "personalities", "personalities/p",
                                        "teams", "teams/t",       "teams/t/memory"};
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    assert_int_equal(home_write(home, "team:t", "a.md", "1"), ETHOS_OK);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char path[128], remedy[256];
        const char *subject = *paths[i] ? paths[i] : home->root;
        snprintf(path, sizeof path, "home/%s", paths[i]);
        snprintf(remedy, sizeof remedy, "chmod go-rwx %s/home%s%s", home->temp.path,
                 *paths[i] ? "/" : "", paths[i]);

        assert_int_equal(fchmodat(home->temp.fd, path, 0750, 0), 0);
        assert_only(check(home, 0), ETHOS_FINDING_WARNING, subject, "others may read", remedy);
        assert_int_equal(fchmodat(home->temp.fd, path, 0722, 0), 0);
        assert_only(check(home, 0), ETHOS_FINDING_ERROR, subject, "others may write to", remedy);
        assert_mode(home, path, 0722);
        assert_only(check(home, 1), ETHOS_FINDING_FIXED, subject, "mode 722", remedy);
        assert_mode(home, path, 0700);
        assert_int_equal(check(home, 1).count, 0);
    }
    assert_reads(home, "a.md", "1");
}

#define NOW 1792800000000 /* 2026-10-23 */

static void test_a_clock_that_jumped_is_noted(void **state)
{
    static const int64_t years = 353894400000; // 4096 days
    struct home *home = *state;
    home_open_at(home, 0, NOW);
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    home_open_at(home, 0, NOW + 30000); // a second hand is no jump
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_OK);
    home_open_at(home, 0, NOW);
    assert_int_equal(home_write(home, SCOPE, "a.md", "3"), ETHOS_OK);
    assert_int_equal(check(home, 0).count, 0);
    home_open_at(home, 0, NOW + years);
    assert_int_equal(home_write(home, SCOPE, "b.md", "1"), ETHOS_OK);
    home_open_at(home, 0, NOW + 60000);
    assert_int_equal(home_write(home, SCOPE, "b.md", "2"), ETHOS_OK);
    assert_only(check(home, 0), ETHOS_FINDING_WARNING, "personalities/p/memory-history.jsonl",
                "the clock was wrong: line 1 has the time 2038-01-", "nothing to do");
    assert_non_null(strstr(check(home, 0).rows[0].problem, "and 1 other line"));
}

static void test_what_is_no_text_is_found(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    assert_int_equal(mkfifoat(home->temp.fd, FILE_OF("f.md"), 0600), 0);
    assert_only(check(home, 1), ETHOS_FINDING_ERROR, "personalities/p/f.md",
                "is not a regular file", "mv ");
    assert_int_equal(unlinkat(home->temp.fd, FILE_OF("f.md"), 0), 0);
    home_mkdir(home, FILE_OF("d.md"));
    assert_only(check(home, 1), ETHOS_FINDING_ERROR, "personalities/p/d.md",
                "is not a regular file", "mv ");
}

static void test_bad_links_are_found(void **state)
{
    struct home *home = *state;
    home_put(home, "outside/a.md", "1");
    home_mkdir(home, DIR_OF_SCOPE);
    home_link(home, "nothing", FILE_OF("a.md"));
    assert_only(check(home, 1), ETHOS_FINDING_ERROR, "personalities/p/a.md",
                "is a dangling symbolic link", "remove the link");
    assert_int_equal(unlinkat(home->temp.fd, FILE_OF("a.md"), 0), 0);
    home_link(home, "../../../outside/a.md", FILE_OF("a.md"));
    assert_only(check(home, 1), ETHOS_FINDING_ERROR, "personalities/p/a.md", "leads to",
                "paths.allow");
    snprintf(home->allow, sizeof home->allow, "%s/outside", home->temp.path);
    home_open(home, 0, 100);
    assert_int_equal(check(home, 0).count, 0);
    home_link(home, "../../outside", "home/personalities/q");
    assert_int_equal(check(home, 0).count, 0);
    home_link(home, "nothing", "home/users");
    assert_only(check(home, 0), ETHOS_FINDING_ERROR, "users", "dangling", "remove the link");
}

static void test_texts_that_cannot_be_used_well_are_found(void **state)
{
    struct home *home = *state;
    home_put(home, FILE_OF("ok.md"), "gr\xc3\xbc\xc3\x9f dich\n");
    home_put(home, "home/sessions.db", "\xff\xfe not a text of ours");
    home_put(home, FILE_OF("memory-archive.md"), "\xff archives are kept as they are");
    assert_int_equal(check(home, 0).count, 0);
    home_put(home, FILE_OF("latin.md"), "gr\xfc\xdf dich\n");
    assert_only(check(home, 1), ETHOS_FINDING_WARNING, "personalities/p/latin.md",
                "is not valid UTF-8", "iconv");
    assert_file(home, FILE_OF("latin.md"), "gr\xfc\xdf dich\n");

    home_put(home, FILE_OF("latin.md"), "");
    int fd = openat(home->temp.fd, FILE_OF("latin.md"), O_WRONLY);
    assert_int_equal(ftruncate(fd, ETHOS_MAX_READ_BYTES + 1), 0);
    assert_only(check(home, 1), ETHOS_FINDING_WARNING, "personalities/p/latin.md", "67108865 bytes",
                "latin.md");
    assert_int_equal(ftruncate(fd, ETHOS_MAX_READ_BYTES), 0);
    close(fd);
    assert_int_equal(check(home, 0).count, 0);

    assert_int_equal(linkat(home->temp.fd, FILE_OF("ok.md"), home->temp.fd, "home/elsewhere", 0),
                     0);
    assert_only(check(home, 1), ETHOS_FINDING_WARNING, "personalities/p/ok.md", "2 hard links",
                "mv ");
}

static void test_the_remedy_for_hard_links_works(void **state)
{
    struct home *home = *state;
    home_put(home, FILE_OF("a.md"), "1");
    assert_int_equal(linkat(home->temp.fd, FILE_OF("a.md"), home->temp.fd, "home/b", 0), 0);
    struct findings findings = check(home, 0);
    assert_int_equal(findings.count, 1);
    assert_int_equal(system(findings.rows[0].remedy), 0);
    assert_int_equal(check(home, 0).count, 0);
    assert_int_equal(home_write(home, SCOPE, "a.md", "2"), ETHOS_OK);
    assert_file(home, "home/b", "1");
}

static void test_names_that_are_no_ids_are_found(void **state)
{
    struct home *home = *state;
    home_put(home, "home/users/identity-map.json", "[]");
    home_put(home, "home/workspaces/aliases.json", "{}");
    home_mkdir(home, "home/workspaces/.trash");
    assert_int_equal(check(home, 0).count, 0);
    home_put(home, "home/personalities/it's me\n/MEMORY.md", "never read");
    struct findings findings = check(home, 1);
    assert_only(findings, ETHOS_FINDING_WARNING, "personalities/it's me\\n", "is not an id",
                "/home/personalities/it'\\''s me");
    assert_file(home, "home/personalities/it's me\n/MEMORY.md", "never read");
}

static void test_leftovers_are_found_and_cleared_up(void **state)
{
    static const char *const names[] = {
        "personalities/p/.mem/tmp/a.md.0123456789ab.draft",
        "personalities/p/.mem/tmp/a.md.0123456789ab.gone",
        "personalities/p/.mem/tmp/.blob.draft",
    };
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "home/%s", names[i]);
        home_put(home, path, "half");
        int lock = openat(home->temp.fd, DIR_OF_SCOPE "/.mem/lock", O_RDWR);
        assert_int_equal(flock(lock, LOCK_EX), 0);
        assert_int_equal(check(home, 0).count, 0); // somebody is writing it
        close(lock);
        assert_only(check(home, 0), ETHOS_FINDING_WARNING, names[i], "interrupted", "doctor --fix");
        assert_true(home_exists(home, path));
        assert_only(check(home, 1), ETHOS_FINDING_FIXED, names[i], "interrupted", "taken back");
        assert_false(home_exists(home, path));
    }
    assert_int_equal(check(home, 0).count, 0);
    assert_reads(home, "a.md", "1");
}

static void test_a_text_that_nobody_can_place_is_not_cleared_away(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    home_put(home, DIR_OF_SCOPE "/.mem/tmp/a.md.0123456789ab.new", "somebody's\n");
    struct findings findings = check(home, 1);
    assert_int_equal(findings.count, 2);
    assert_int_equal(findings.rows[0].severity, ETHOS_FINDING_FIXED);
    assert_non_null(strstr(findings.rows[1].problem, "1 conflict copy waits"));
    assert_string_equal(findings.rows[1].remedy, "ethos -p p conflicts list");
    assert_int_equal(check(home, 1).count, 1);
}

static void test_what_was_displaced_waits_for_its_second_look(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    home_put(home, DIR_OF_SCOPE "/.mem/tmp/a.md.0123456789ab.old", "1");
    assert_int_equal(check(home, 1).count, 0);
}

static void test_leftovers_beside_the_target_of_a_link_are_found(void **state)
{
    static const char name[] = "personalities/p/.b.md.ethos-0123456789ab.draft";
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1"), ETHOS_OK);
    home_put(home, FILE_OF(".b.md.ethos-0123456789ab.draft"), "half");
    assert_only(check(home, 1), ETHOS_FINDING_WARNING, name, "interrupted", "link");
    assert_file(home, FILE_OF(".b.md.ethos-0123456789ab.draft"), "half");
}

/* ---- the history ---------------------------------------------------------------------------- */

#define HISTORY FILE_OF("memory-history.jsonl")

static void shell(struct home *home, const char *command)
{
    char line[512];
    snprintf(line, sizeof line, "cd %s && { %s; }", home->temp.path, command);
    assert_int_equal(system(line), 0);
}

static void test_damaged_lines_are_found_by_number_and_never_mended(void **state)
{
    struct home *home = *state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(home_write(home, SCOPE, "a.md", i % 2 ? "1\n" : "2\n"), ETHOS_OK);
    assert_int_equal(check(home, 0).count, 0);
    shell(home, "sed -i '2s/\"replace\"/\"remove\"/' " HISTORY "; cp " HISTORY " before");
    assert_only(check(home, 1), ETHOS_FINDING_WARNING, "personalities/p/memory-history.jsonl",
                "line 2 is not a record of a change any more: its checksum does not match",
                "backup");
    shell(home, "cmp before " HISTORY);
    shell(home, "sed -i '1i hello' " HISTORY);
    assert_only(check(home, 0), ETHOS_FINDING_WARNING, "personalities/p/memory-history.jsonl",
                "line 1 is not a record of a change, nor 1 other line", "backup");
    shell(home, "mv " HISTORY " " FILE_OF("memory-history-2026-01.jsonl"));
    assert_only(check(home, 0), ETHOS_FINDING_WARNING,
                "personalities/p/memory-history-2026-01.jsonl", "line 1 is not a record", "backup");
}

static void test_a_line_that_is_being_written_is_not_damaged(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1\n"), ETHOS_OK);
    shell(home, "printf '{\"ts\":1' >>" HISTORY);
    assert_int_equal(check(home, 0).count, 0);
}

static int count_change(void *arg, const struct ethos_change *change)
{
    *(size_t *)arg += strcmp(change->actions, "external") == 0;
    return 0;
}

static size_t external_changes(struct home *home)
{
    size_t count = 0;
    assert_int_equal(
        home->store->ops->history(home->store, SCOPE, NULL, count_change, &count, &home->error),
        ETHOS_OK);
    return count;
}

static void test_edits_made_outside_are_found_and_recorded(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1\n"), ETHOS_OK);
    assert_int_equal(home_write(home, SCOPE, "b.md", "1\n"), ETHOS_OK);
    home_put(home, FILE_OF("a.md"), "1\nand mine\n");
    home_put(home, FILE_OF("new.md"), "never written by us\n");
    assert_only(check(home, 0), ETHOS_FINDING_WARNING, "personalities/p/a.md",
                "was changed outside", "ethos memory history");
    assert_int_equal(external_changes(home), 0);
    assert_only(check(home, 1), ETHOS_FINDING_FIXED, "personalities/p/a.md", "was changed outside",
                "ethos memory history");
    assert_int_equal(external_changes(home), 1);
    assert_reads(home, "a.md", "1\nand mine\n");
    assert_int_equal(unlinkat(home->temp.fd, FILE_OF("b.md"), 0), 0);
    assert_only(check(home, 1), ETHOS_FINDING_FIXED, "personalities/p/b.md", "was changed outside",
                "ethos memory history");
    assert_int_equal(check(home, 0).count, 0);
}

static void test_conflict_copies_are_found(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1\n"), ETHOS_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(home->store->ops->set_aside(home->store, SCOPE, "a.md",
                                                     view_str(i ? "x" : "y"), &home->error),
                         ETHOS_OK);
    }
    home_put(home, FILE_OF("a.sync-conflict-20261115-080000-ABCDEFG.md"), "z");
    assert_only(check(home, 1), ETHOS_FINDING_WARNING, "personalities/p", "3 conflict copies wait",
                "conflicts list");
}

/* ---- the file system ------------------------------------------------------------------------ */

/* A file system without one kind of call. */
static int refuse(void *arg, const char *call, unsigned long number)
{
    (void)number;
    return strcmp(call, arg) == 0 ? EINVAL : 0;
}

static void test_a_weaker_file_system_is_told_once(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1\n"), ETHOS_OK);
    assert_int_equal(home_write(home, "team:t", "a.md", "1\n"), ETHOS_OK);
    os_hook(refuse, "exchange");
    struct findings findings = check(home, 0);
    os_hook(NULL, NULL);
    assert_only(findings, ETHOS_FINDING_WARNING, "personalities/p", "cannot exchange files",
                "local file system");
    os_hook(refuse, "lease");
    findings = check(home, 0);
    os_hook(NULL, NULL);
    assert_only(findings, ETHOS_FINDING_WARNING, "personalities/p", "does not tell who writes",
                "local file system");
    assert_int_equal(check(home, 0).count, 0); // and nothing was left behind
}

static void test_every_scope_is_looked_at(void **state)
{
    static const char *const paths[] = {"home/a.md", "home/personalities/x/a.md",
                                        "home/users/x/a.md", "home/teams/x/memory/a.md",
                                        "home/workspaces/x-0123456789ab/memory/a.md"};
    struct home *home = *state;
    for (size_t i = 0; i < 5; i++)
        home_put(home, paths[i], "\xff");
    struct findings findings = check(home, 0);
    assert_int_equal(findings.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(findings.rows[i].subject, paths[i] + strlen("home/"));
}

static void test_trees_are_looked_at(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, "memories:" SCOPE, "a/b/x.txt", "1"), ETHOS_OK);
    assert_int_equal(check(home, 0).count, 0);
    assert_int_equal(fchmodat(home->temp.fd, FILE_OF("memories/a"), 0750, 0), 0);
    assert_only(check(home, 0), ETHOS_FINDING_WARNING, "personalities/p/memories/a",
                "others may read", "chmod");
    assert_only(check(home, 1), ETHOS_FINDING_FIXED, "personalities/p/memories/a",
                "others may read", "chmod");
    home_link(home, "x.txt", FILE_OF("memories/a/b/l"));
    assert_only(check(home, 1), ETHOS_FINDING_WARNING, "personalities/p/memories/a/b/l",
                "symbolic link", "rm ");
    assert_int_equal(unlinkat(home->temp.fd, FILE_OF("memories/a/b/l"), 0), 0);
    home_put(home, FILE_OF("memories/a/b/x.txt"), "\xff");
    assert_int_equal(check(home, 1).count, 2); // changed outside, and no UTF-8
    home_put(home, FILE_OF("memories/a/b/x.txt"), "2");
    check(home, 1);
    home_put(home, FILE_OF("memories/.mem/conflicts/a\\b\\x.txt.20261115T080000Z.1a2b3c4d.md"),
             "c");
    assert_only(check(home, 1), ETHOS_FINDING_WARNING, "personalities/p/memories",
                "1 conflict copy", "ethos -p p conflicts list");
}

static void test_check_without_memory_says_so(void **state)
{
    struct home *home = *state;
    int code = ETHOS_OK;
    home_put(home, "home/users/x/a.md", "\xff");
    assert_int_equal(home_write(home, SCOPE, "a.md", "1\n"), ETHOS_OK);
    home_put(home, FILE_OF("a.md"), "2\n");
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct findings findings = {0};
        code = home->store->ops->check(home->store, 0, collect, &findings, NULL);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
}

static int count_opened(void *arg, const char *call, unsigned long number)
{
    (void)number;
    *(size_t *)arg += strncmp(call, "open", 4) == 0;
    return 0;
}

/* Each key is compared once, with its newest change; the changes are not in memory together. */
static void test_a_check_costs_what_the_keys_cost(void **state)
{
    enum { KEYS = 10, CHANGES = 300, ROOM = 3 << 20 };
    struct home *home = *state;
    struct stat history;
    size_t opened[2] = {0};
    char key[16], text[32];
    home_open(home, ETHOS_SETUP_FAST, 2000);
    for (int i = 0; i < KEYS * CHANGES; i++) {
        snprintf(key, sizeof key, "n%d.md", i % KEYS);
        snprintf(text, sizeof text, "text %d\n", i);
        assert_int_equal(home_write(home, SCOPE, key, text), ETHOS_OK);
        if (i != KEYS - 1 && i != KEYS * CHANGES - 1)
            continue;
        os_hook(count_opened, &opened[i != KEYS - 1]);
        alloc_peak_reset();
        assert_int_equal(check(home, 0).count, 0);
        os_hook(NULL, NULL);
    }
    assert_int_equal(opened[0], opened[1]);
    assert_int_equal(fstatat(home->temp.fd, FILE_OF("memory-history.jsonl"), &history, 0), 0);
    assert_in_range(alloc_peak(), 1, ROOM + (size_t)history.st_size);
    home_put(home, FILE_OF("n3.md"), "by hand\n");
    assert_only(check(home, 0), ETHOS_FINDING_WARNING, "personalities/p/n3.md",
                "was changed outside", "history");
}

/* A text that was met beside a file is no change of it. */
static void test_a_text_that_was_seen_does_not_count_as_recorded(void **state)
{
    struct home *home = *state;
    assert_int_equal(home_write(home, SCOPE, "a.md", "1\n"), ETHOS_OK);
    assert_int_equal(
        home->store->ops->keep(home->store, SCOPE, "a.md", VIEW("other\n"), &home->error),
        ETHOS_OK);
    assert_int_equal(check(home, 0).count, 0);
    home_put(home, FILE_OF("a.md"), "other\n");
    assert_only(check(home, 0), ETHOS_FINDING_WARNING, "personalities/p/a.md",
                "was changed outside", "history");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HOME_TEST(test_open_directories_are_found_and_closed),
        HOME_TEST(test_a_clock_that_jumped_is_noted),
        HOME_TEST(test_what_is_no_text_is_found),
        HOME_TEST(test_bad_links_are_found),
        HOME_TEST(test_texts_that_cannot_be_used_well_are_found),
        HOME_TEST(test_the_remedy_for_hard_links_works),
        HOME_TEST(test_names_that_are_no_ids_are_found),
        HOME_TEST(test_leftovers_are_found_and_cleared_up),
        HOME_TEST(test_a_text_that_nobody_can_place_is_not_cleared_away),
        HOME_TEST(test_what_was_displaced_waits_for_its_second_look),
        HOME_TEST(test_leftovers_beside_the_target_of_a_link_are_found),
        HOME_TEST(test_damaged_lines_are_found_by_number_and_never_mended),
        HOME_TEST(test_a_line_that_is_being_written_is_not_damaged),
        HOME_TEST(test_edits_made_outside_are_found_and_recorded),
        HOME_TEST(test_conflict_copies_are_found),
        HOME_TEST(test_a_weaker_file_system_is_told_once),
        HOME_TEST(test_every_scope_is_looked_at),
        HOME_TEST(test_trees_are_looked_at),
        HOME_TEST(test_check_without_memory_says_so),
        HOME_TEST(test_a_check_costs_what_the_keys_cost),
        HOME_TEST(test_a_text_that_was_seen_does_not_count_as_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

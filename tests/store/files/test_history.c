/*
 * test_history.c: the history of the files store: what was changed outside, what a person
 * saves while a write is under way, what a dead writer left, and what the journal's own files bear.
 */
#include "protocol.h"

#include <signal.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#define LONG_ENTRY 6000 /* its diff is longer than a line of history holds */

static void make_long(char out[LONG_ENTRY])
{
    size_t size = (size_t)snprintf(out, LONG_ENTRY, "agent");
    for (int row = 0; size < LONG_ENTRY - 100; row++)
        size += (size_t)snprintf(out + size, LONG_ENTRY - size, "\nrow %d of a long note", row);
}

/* ---- what was changed outside --------------------------------------------------------------- */

static void test_an_outside_edit_is_recorded_before_the_next_write(void **state)
{
    struct home *home = *state;
    struct ethos_edit edit = {.key = "a.md"};
    int calls = 0;
    put(home, "one\n");
    save(home, "one\nhuman\n");
    assert_int_equal(update(home, &edit, 1, append_x, &calls), ETHOS_OK);
    assert_file(home, FILE_OF("a.md"), "one\nhuman\nx");
    assert_int_equal(count_lines(home), 3);
    assert_line(home, 2, "actor", "external");
    assert_line(home, 2, "actions", "external");
    assert_line(home, 2, "source", "web-editor");
    assert_line(home, 2, "via", "external");
    assert_int_equal(read_version(home, "one\nhuman\n"), ETHOS_OK);
    assert_sound(home);
}

static void test_asking_records_an_outside_edit_too(void **state)
{
    struct home *home = *state;
    put(home, "one\n");
    save(home, "two\n");
    look(home, "a.md");
    assert_file(home, FILE_OF("a.md"), "two\n");
    assert_int_equal(count_lines(home), 2);
    assert_line(home, 1, "actor", "external");
    look(home, "a.md");
    assert_int_equal(count_lines(home), 2);
    assert_sound(home);
}

static void test_a_first_change_keeps_the_text_that_was_there(void **state)
{
    struct home *home = *state;
    home_put(home, FILE_OF("a.md"), "by hand\n");
    put(home, "new\n");
    assert_int_equal(read_version(home, "by hand\n"), ETHOS_OK);
    assert_sound(home);
}

static void test_an_entry_that_a_stale_buffer_lacks_comes_back(void **state)
{
    struct home *home = *state;
    add(home, "first");
    add(home, "second");
    add(home, "third");
    save(home, "first\n\nhuman\n");
    look(home, "a.md");
    assert_file(home, FILE_OF("a.md"), "first\n\nhuman\n\nsecond\n\nthird\n");
    assert_int_equal(count_lines(home), 6);
    assert_line(home, 3, "event", "reapplied");
    assert_line(home, 3, "actor", "external");
    assert_line(home, 2, "via", "reapply");
    assert_line(home, 2, "actor", "ethos");
    assert_int_equal(read_version(home, "first\n\nhuman\n"), ETHOS_OK);
    assert_no_litter(home);
    assert_sound(home);
    save(home, "first\n\nhuman\n"); // taken out again: meant
    look(home, "a.md");
    assert_file(home, FILE_OF("a.md"), "first\n\nhuman\n");
    assert_sound(home);
}

static void test_a_long_entry_that_a_stale_buffer_lacks_comes_back(void **state)
{
    struct home *home = *state;
    char entry[LONG_ENTRY], text[LONG_ENTRY + 64];
    make_long(entry);
    add(home, "first");
    add(home, entry);
    add(home, "third");
    save(home, "first\n\nhuman\n");
    look(home, "a.md");
    snprintf(text, sizeof text, "first\n\nhuman\n\n%s\n\nthird\n", entry);
    assert_file(home, FILE_OF("a.md"), text);
    assert_line(home, 3, "event", "reapplied");
    assert_no_litter(home);
    assert_sound(home);
}

static void test_a_long_entry_that_was_taken_out_is_listed(void **state)
{
    struct home *home = *state;
    char entry[LONG_ENTRY];
    make_long(entry);
    add(home, "first");
    add(home, entry);
    add(home, "third");
    save(home, "first\n\nthird\n\nhuman\n"); // whoever keeps a newer one has seen it
    look(home, "a.md");
    assert_file(home, FILE_OF("a.md"), "first\n\nthird\n\nhuman\n");
    assert_line(home, 1, "event", "dropped");
    assert_sound(home);
}

static void test_entries_come_back_before_the_write_that_found_them_missing(void **state)
{
    struct home *home = *state;
    add(home, "first");
    add(home, "second");
    save(home, "first\n\nhuman\n");
    add(home, "third");
    assert_file(home, FILE_OF("a.md"), "first\n\nhuman\n\nsecond\n\nthird\n");
    assert_no_litter(home);
    assert_sound(home);
}

static void test_a_revert_to_an_older_version_is_honoured(void **state)
{
    struct home *home = *state;
    add(home, "first");
    add(home, "second");
    add(home, "third");
    save(home, "first\n");
    look(home, "a.md");
    assert_file(home, FILE_OF("a.md"), "first\n");
    assert_line(home, 1, "actor", "external");
    assert_sound(home);

    add(home, "fourth");
    save(home, "first\n"); // the text the newest change started from
    look(home, "a.md");
    assert_file(home, FILE_OF("a.md"), "first\n");
    assert_sound(home);
}

static void test_a_deletion_is_honoured(void **state)
{
    struct home *home = *state;
    struct ethos_edit edit = {.key = "a.md"};
    int calls = 0;
    put(home, "one\n");
    put(home, "two\n");
    assert_int_equal(unlinkat(home->temp.fd, FILE_OF("a.md"), 0), 0);
    assert_int_equal(update(home, &edit, 1, append_x, &calls), ETHOS_OK);
    assert_file(home, FILE_OF("a.md"), "x");
    json_t *lines = read_lines(home);
    json_t *line = json_array_get(lines, json_array_size(lines) - 2);
    assert_true(is_set(line, "absentAfter"));
    assert_string_equal(text_of(line, "actor"), "external");
    json_decref(lines);
    assert_int_equal(read_version(home, "two\n"), ETHOS_OK);
    assert_sound(home);
}

static void test_a_deletion_of_a_text_with_one_change_is_honoured(void **state)
{
    struct home *home = *state;
    put(home, "one\n");
    assert_int_equal(unlinkat(home->temp.fd, FILE_OF("a.md"), 0), 0);
    look(home, "a.md");
    assert_false(home_exists(home, FILE_OF("a.md")));
    assert_sound(home);
    assert_int_equal(read_version(home, "one\n"), ETHOS_OK);
}

/* Empties a file as a power cut does one that an editor never synced. */
static void damage(struct home *home, const char *bytes, size_t size, int64_t age_ms)
{
    char boot[32];
    int64_t now_ms = os_now_ms();
    int fd = openat(home->temp.fd, FILE_OF("a.md"), O_WRONLY | O_TRUNC);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    struct timespec times[2] = {{.tv_sec = (now_ms - age_ms) / 1000},
                                {.tv_sec = (now_ms - age_ms) / 1000}};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    snprintf(boot, sizeof boot, "%lld", (long long)now_ms - 60000);
    setenv("ETHOS_BOOT_MS", boot, 1);
}

static void test_a_text_that_a_power_cut_emptied_is_put_back(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } damages[] = {{"", 0}, {"one\0\0\0", 6}};
    struct home *home = *state;
    for (size_t i = 0; i < 2; i++) {
        put(home, "one\n");
        put(home, "one\ntwo\n");
        damage(home, damages[i].bytes, damages[i].size, 120000);
        look(home, "a.md");
        unsetenv("ETHOS_BOOT_MS");
        assert_file(home, FILE_OF("a.md"), "one\ntwo\n");
        assert_line(home, 2, "event", "restored");
        assert_line(home, 1, "via", "recovery");
        assert_no_litter(home);
        assert_sound(home);
        empty_home(home);
    }
}

static void test_a_text_emptied_since_the_machine_started_stays_empty(void **state)
{
    struct home *home = *state;
    put(home, "one\n");
    put(home, "one\ntwo\n");
    damage(home, "", 0, 0);
    look(home, "a.md");
    unsetenv("ETHOS_BOOT_MS");
    assert_file(home, FILE_OF("a.md"), "");
    assert_sound(home);
}

/* ---- a person saves while a write is under way ---------------------------------------------- */

#define HUMAN "old\n\nhuman\n"

enum style { IN_PLACE, BY_RENAME, DELETING, STYLES };
enum { CHANGE, LONG, CREATE, DROP, LINKED, CHANGES };

struct person {
    struct home *home;
    enum style style;
    const char *path;     /* of the file */
    unsigned long number; /* before this call */
    unsigned long seen;
    const char *call; /* that it was */
    const char *previous;
    int leases; /* calls about one lease so far */
    bool no_exchange;
    bool blind; /* what was saved cannot be noticed without exchange */
};

static void save_as(struct home *home, enum style style, const char *path, const char *text)
{
    char other[512];
    if (style == DELETING) {
        unlinkat(home->temp.fd, path, 0);
        return;
    }
    if (style == IN_PLACE) {
        temp_write(&home->temp, path, text);
        return;
    }
    snprintf(other, sizeof other, "%s~", path);
    temp_write(&home->temp, other, text);
    assert_int_equal(renameat(home->temp.fd, other, home->temp.fd, path), 0);
}

static int meddle(void *arg, const char *call, unsigned long number)
{
    struct person *person = arg;
    (void)number;
    person->leases = strcmp(call, "lease") == 0 ? person->leases + 1 : 0;
    person->seen++;
    // while this process holds a lease, another would wait for it to be given back; so do we
    if (person->seen == person->number && person->leases == 3)
        person->number++;
    if (person->seen == person->number) {
        person->call = call;
        // between the second name for the old file and the rename over it nothing can be kept
        person->blind = person->no_exchange && strcmp(call, "renameat") == 0 &&
                        strcmp(person->previous, "fstatat") == 0;
        save_as(person->home, person->style, person->path, HUMAN);
    }
    person->previous = call;
    return person->no_exchange && strcmp(call, "exchange") == 0 ? EINVAL : 0;
}

static int keep_conflict(void *arg, const struct ethos_conflict *conflict)
{
    (void)conflict;
    ++*(int *)arg;
    return 0;
}

/* The saved text is in the file, a version, or a conflict copy. */
static void assert_saved(struct home *home, const struct person *person, int change)
{
    char *text = temp_read(&home->temp, person->path, NULL);
    bool found = text && strncmp(text, HUMAN, strlen(HUMAN)) == 0;
    free(text);
    if (found || read_version(home, HUMAN) == ETHOS_OK)
        return;
    int copies = 0;
    home->store->ops->conflicts(home->store, SCOPE, keep_conflict, &copies, NULL);
    if (copies == 0)
        fail_msg("change %d, style %d: the save before call %lu, %s, is lost", change,
                 (int)person->style, person->number, person->call);
}

static void prepare(struct home *home, int change)
{
    assert_int_equal(home_write(home, SCOPE, "b.md", "1"), ETHOS_OK);
    if (change == LINKED) {
        home_put(home, "home/plain/target", "old\n");
        home_link(home, "../../plain/target", FILE_OF("a.md"));
    } else if (change != CREATE) {
        add(home, "old");
    }
}

static int run_change(struct home *home, int change, const struct ethos_origin *origin)
{
    struct ethos_edit edit = {.key = "a.md"};
    struct answer dropped = {{NULL}, 0};
    char entry[LONG_ENTRY] = "agent";
    if (change == LONG)
        make_long(entry);
    return change == DROP ? update_by(home, &edit, 1, answer, &dropped, origin)
                          : update_by(home, &edit, 1, add_entry, entry, origin);
}

/* In the end the file has both entries, unless one side took the other's away knowingly. */
static void assert_both(struct home *home, const struct person *person, int change)
{
    char *text = temp_read(&home->temp, person->path, NULL);
    const char *agent = text ? strstr(text, "agent") : NULL;
    bool both = agent && strstr(text, "human");
    if (agent && strstr(agent + 1, "agent"))
        fail_msg("change %d, style %d: a save before call %lu, %s, doubled an entry", change,
                 (int)person->style, person->number, person->call);
    free(text);
    if (!both && person->style != DELETING &&
        (change == CHANGE || change == LONG || change == LINKED))
        fail_msg("change %d, style %d: a save before call %lu, %s, took an entry away", change,
                 (int)person->style, person->number, person->call);
}

/* One run with a save before call n; false when there is no such call. */
static bool run_against(struct home *home, int change, struct person person)
{
    person.home = home;
    person.path = change == LINKED ? "home/plain/target" : FILE_OF("a.md");
    person.previous = "";
    prepare(home, change);
    os_hook(meddle, &person);
    int code = run_change(home, change, NULL);
    os_hook(NULL, NULL);
    if (code != ETHOS_OK && !(change == LINKED && person.style == DELETING))
        fail_msg("change %d, style %d, save before call %lu, %s: %s", change, (int)person.style,
                 person.number, person.call, home->error.text);
    if (person.call && !person.blind && person.style != DELETING)
        assert_saved(home, &person, change);
    if (change != LINKED || person.style != DELETING)
        look(home, "a.md"); // a link that leads nowhere is refused
    look(home, "b.md");
    if (person.call && !person.blind)
        assert_both(home, &person, change);
    if (change != LINKED || person.style != DELETING)
        assert_sound(home);
    assert_no_litter(home);
    empty_home(home);
    return person.call != NULL;
}

static void try_styles(struct home *home, bool no_exchange)
{
    for (int change = 0; change < CHANGES; change++) {
        for (int style = 0; style < STYLES; style++) {
            struct person person = {
                .style = (enum style)style, .number = 1, .no_exchange = no_exchange};
            if (change != CHANGE && (style == DELETING || (no_exchange && change != DROP)))
                continue; // nothing new
            while (run_against(home, change, person))
                person.number += style == DELETING ? 5 : 1; // each waits for the file to come back
            assert_true(person.number > 20);
        }
    }
}

static void test_a_save_before_any_call_is_never_lost(void **state)
{
    try_styles(*state, false);
}

static void test_a_save_is_not_lost_where_files_cannot_be_exchanged(void **state)
{
    home_open(*state, ETHOS_SETUP_FAST, 2000);
    try_styles(*state, true);
}

static void save_in_place(struct home *home)
{
    save(home, HUMAN);
}

static void save_by_rename(struct home *home)
{
    save_as(home, BY_RENAME, FILE_OF("a.md"), HUMAN);
}

static void test_a_save_at_the_moment_of_the_swap_is_seen_kept_and_built_upon(void **state)
{
    void (*const saves[])(struct home *) = {save_in_place, save_by_rename};
    struct home *home = *state;
    for (size_t i = 0; i < 2; i++) {
        struct once once = {home, "exchange", saves[i]};
        add(home, "old");
        os_hook(act_once, &once);
        int code = run_change(home, CHANGE, NULL);
        os_hook(NULL, NULL);
        assert_int_equal(code, ETHOS_OK);
        assert_file(home, FILE_OF("a.md"), HUMAN "\nagent\n");
        assert_int_equal(read_version(home, HUMAN), ETHOS_OK);
        assert_line(home, 1, "actions", "add");
        assert_line(home, 2, "actor", "external");
        assert_line(home, 3, "via", "recovery");
        assert_line(home, 4, "via", "seen");
        assert_no_litter(home);
        assert_sound(home);
        empty_home(home);
    }
}

/*
 * Somebody saves at the moment of the swap, so that it is taken back; somebody else has read the text
 * meanwhile and saves a copy of it, before the next call of that name. Then the writer may die.
 */
struct copier {
    struct home *home;
    const char *call;
    bool dies;
    int swaps;
    char *text;
};

static int copy_swapped(void *arg, const char *call, unsigned long number)
{
    struct copier *copier = arg;
    char text[2 * LONG_ENTRY];
    (void)number;
    if (copier->text && strcmp(call, copier->call) == 0) {
        snprintf(text, sizeof text, "%s\nlate\n", copier->text);
        save_as(copier->home, BY_RENAME, FILE_OF("a.md"), text);
        free(copier->text);
        copier->text = NULL;
        if (copier->dies)
            kill(getpid(), SIGKILL);
    }
    copier->swaps += strcmp(call, "exchange") == 0;
    if (strcmp(call, "exchange") == 0 && copier->swaps == 1)
        save_by_rename(copier->home);
    if (strcmp(call, "exchange") == 0 && copier->swaps == 2)
        copier->text = temp_read(&copier->home->temp, FILE_OF("a.md"), NULL);
    return 0;
}

static void assert_once(struct home *home)
{
    char *text = temp_read(&home->temp, FILE_OF("a.md"), NULL);
    const char *agent = strstr(text, "agent");
    assert_non_null(agent);
    assert_null(strstr(agent + 1, "agent"));
    assert_non_null(strstr(text, "late"));
    free(text);
    assert_int_equal(read_version(home, HUMAN), ETHOS_OK);
    assert_no_litter(home);
    assert_sound(home);
    empty_home(home);
}

static void test_a_copy_of_a_text_that_was_taken_back_does_not_double_its_entry(void **state)
{
    struct home *home = *state;
    for (int change = CHANGE; change <= LONG; change++) {
        struct copier copier = {.home = home, .call = "flock"}; // of the next round
        add(home, "old");
        os_hook(copy_swapped, &copier);
        int code = run_change(home, change, NULL);
        os_hook(NULL, NULL);
        assert_int_equal(code, ETHOS_OK);
        assert_int_equal(copier.swaps, 2);
        assert_once(home);
    }
}

static void test_a_copy_of_a_dead_writers_text_does_not_double_its_entry(void **state)
{
    static const struct ethos_origin origin = {.op_id = "op-1", .op_digest = "d"};
    struct home *home = *state;
    for (int change = CHANGE; change <= LONG; change++) {
        struct copier copier = {.home = home, .call = "fsync", .dies = true}; // of the way back
        int status;
        add(home, "old");
        pid_t child = fork();
        if (child == 0) {
            os_hook(copy_swapped, &copier);
            _exit(run_change(home, change, &origin));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(run_change(home, change, &origin), ETHOS_OK);
        assert_once(home);
    }
}

/* Its text has two names for a moment; who saves in place then changes both. */
static void test_a_new_file_that_is_emptied_as_it_appears_blocks_nobody(void **state)
{
    static const struct ethos_origin origin = {.op_id = "op-1", .op_digest = "d"};
    struct home *home = *state;
    bool died = true;
    for (unsigned long end = 1; died; end++) {
        struct ethos_edit edit = {.key = "a.md"};
        int status;
        pid_t child = fork();
        if (child == 0) {
            os_hook(kill_at, &end);
            _exit(update_by(home, &edit, 1, add_entry, (void *)"first", &origin));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        died = WIFSIGNALED(status);
        if (home_exists(home, FILE_OF("a.md"))) {
            save(home, "");
            assert_int_equal(update_by(home, &edit, 1, add_entry, (void *)"first", &origin),
                             ETHOS_OK);
            add(home, "second");
            assert_no_litter(home);
            assert_history(home);
        }
        empty_home(home);
    }
}

/* ---- files that cannot be exchanged, watched, or are gone for a moment ---------------------- */

static int refuse_call(void *arg, const char *call, unsigned long number)
{
    (void)number;
    return strcmp(call, arg) == 0 ? EINVAL : 0;
}

static size_t count_temporaries(struct home *home)
{
    struct dirent **names = NULL;
    int count = scandirat(home->temp.fd, TMP, &names, NULL, NULL);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return count < 2 ? 0 : (size_t)count - 2;
}

static void test_writes_work_where_files_cannot_be_exchanged(void **state)
{
    char call[] = "exchange";
    struct home *home = *state;
    os_hook(refuse_call, call);
    add(home, "first");
    add(home, "second");
    add(home, "third");
    os_hook(NULL, NULL);
    assert_file(home, FILE_OF("a.md"), "first\n\nsecond\n\nthird\n");
    assert_no_litter(home);
    assert_sound(home);
}

/* What was displaced is looked at again by the next write, and then goes. */
static void test_writes_work_where_writers_cannot_be_seen(void **state)
{
    char call[] = "lease";
    struct home *home = *state;
    os_hook(refuse_call, call);
    for (int i = 0; i < 5; i++) {
        add(home, "entry");
        assert_true(count_temporaries(home) <= 1);
    }
    os_hook(NULL, NULL);
    assert_sound(home);
    look(home, "a.md");
    assert_no_litter(home);
    assert_sound(home);
}

static int save_unseen(void *arg, const char *call, unsigned long number)
{
    act_once(arg, call, number);
    return strcmp(call, "lease") == 0 ? EINVAL : 0;
}

static void test_a_save_at_the_swap_is_kept_where_writers_cannot_be_seen(void **state)
{
    void (*const saves[])(struct home *) = {save_in_place, save_by_rename};
    struct home *home = *state;
    for (size_t i = 0; i < 2; i++) {
        struct once once = {home, "exchange", saves[i]};
        add(home, "old");
        os_hook(save_unseen, &once);
        int code = run_change(home, CHANGE, NULL);
        os_hook(NULL, NULL);
        assert_int_equal(code, ETHOS_OK);
        look(home, "a.md");
        assert_file(home, FILE_OF("a.md"), HUMAN "\nagent\n");
        assert_no_litter(home);
        assert_sound(home);
        empty_home(home);
    }
}

/* An editor that opened the file before the swap writes to what was displaced. */
static int open_file(void *arg, const char *call, unsigned long number)
{
    int *fd = arg;
    (void)number;
    if (strcmp(call, "exchange") == 0 && *fd < 0)
        *fd = open((const char *)(fd + 1), O_WRONLY);
    return 0;
}

static void test_what_is_written_to_a_displaced_file_is_found_by_the_next_write(void **state)
{
    struct home *home = *state;
    struct {
        int fd;
        char path[256];
    } editor = {.fd = -1};
    snprintf(editor.path, sizeof editor.path, "%s/" FILE_OF("a.md"), home->temp.path);
    home_open(home, 0, 50); // how long those who have it open are waited for
    add(home, "old");
    os_hook(open_file, &editor);
    add(home, "agent");
    os_hook(NULL, NULL);
    assert_true(editor.fd >= 0);
    assert_file(home, FILE_OF("a.md"), "old\n\nagent\n");
    add(home, "second");
    assert_int_equal(count_temporaries(home), 1);
    assert_int_equal(pwrite(editor.fd, HUMAN, strlen(HUMAN), 0), (ssize_t)strlen(HUMAN));
    close(editor.fd);
    look(home, "a.md");
    char *text = temp_read(&home->temp, FILE_OF("a.md"), NULL);
    assert_non_null(strstr(text, "human"));
    assert_non_null(strstr(text, "agent"));
    assert_non_null(strstr(text, "second"));
    free(text);
    assert_no_litter(home);
    assert_sound(home);
}

/* Saves as vim does: the file is renamed away, and comes back a hundred looks later. */
struct vim {
    struct home *home;
    int opens;
};

static int save_like_vim(void *arg, const char *call, unsigned long number)
{
    struct vim *vim = arg;
    (void)number;
    if (strcmp(call, "openat") != 0)
        return 0;
    vim->opens++;
    if (vim->opens == 1)
        assert_int_equal(
            renameat(vim->home->temp.fd, FILE_OF("a.md"), vim->home->temp.fd, FILE_OF("a.md~")), 0);
    if (vim->opens == 40) // looks are 2 ms apart
        save(vim->home, HUMAN);
    return 0;
}

static void test_a_file_that_is_gone_while_it_is_saved_is_waited_for(void **state)
{
    struct home *home = *state;
    struct vim vim = {home, 0};
    add(home, "old");
    os_hook(save_like_vim, &vim);
    int code = run_change(home, CHANGE, NULL);
    os_hook(NULL, NULL);
    assert_int_equal(code, ETHOS_OK);
    assert_true(vim.opens > 40);
    assert_file(home, FILE_OF("a.md"), HUMAN "\nagent\n");
    assert_sound(home);
}

/* ---- killed --------------------------------------------------------------------------------- */

enum { K_FIRST, K_PUT, K_DROP, K_TWO, K_LINKED, K_EDITED, K_STALE, K_LARGE, KILLS };

static const char *large_text(void)
{
    static char text[20000];
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = i % 50 == 49 ? '\n' : (char)('a' + i % 26);
    return text;
}

static void prepare_kill(struct home *home, int kind)
{
    if (kind == K_FIRST)
        return;
    prepare(home, kind == K_LINKED ? LINKED : CHANGE);
    if (kind == K_EDITED)
        save(home, "old\n\nhuman\n");
    if (kind == K_STALE) {
        add(home, "second");
        save(home, "old\n\nhuman\n");
    }
}

/* Puts "new" after what is there, once per operation id. */
static int operate(struct home *home, int kind)
{
    static const struct ethos_origin origin = {.op_id = "op-1", .op_digest = "d"};
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    struct answer texts = {{kind == K_DROP    ? NULL
                            : kind == K_LARGE ? large_text()
                                              : "new\n",
                            "new\n"},
                           0};
    if (kind == K_EDITED || kind == K_STALE || kind == K_LINKED)
        return run_change(home, CHANGE, &origin);
    return update_by(home, edits, kind == K_TWO ? 2 : 1, answer, &texts, &origin);
}

static const char *const after_kill[KILLS][2] = {
    [K_FIRST] = {NULL, "new\n"},
    [K_PUT] = {"old\n", "new\n"},
    [K_DROP] = {"old\n", NULL},
    [K_TWO] = {"old\n", "new\n"},
    [K_LINKED] = {"old\n", "old\n\nagent\n"},
    [K_EDITED] = {HUMAN, HUMAN "\nagent\n"},
    [K_STALE] = {HUMAN, HUMAN "\nsecond\n\nagent\n"},
    [K_LARGE] = {"old\n", NULL},
};

static bool has_text(struct home *home, const char *path, const char *expected)
{
    char *text = temp_read(&home->temp, path, NULL);
    bool same = text && expected ? strcmp(text, expected) == 0 : !text && !expected;
    free(text);
    return same;
}

static bool is_done(struct home *home, int kind)
{
    const char *expected = kind == K_LARGE ? large_text() : after_kill[kind][1];
    return has_text(home, FILE_OF("a.md"), expected) &&
           (kind != K_TWO || has_text(home, FILE_OF("b.md"), "new\n"));
}

/* Each file has the old or the new bytes, at any moment. */
static void assert_old_or_new(struct home *home, int kind, unsigned long n)
{
    const char *new_text = kind == K_LARGE ? large_text() : after_kill[kind][1];
    if (!has_text(home, FILE_OF("a.md"), after_kill[kind][0]) &&
        !has_text(home, FILE_OF("a.md"), new_text) &&
        !(kind == K_STALE && has_text(home, FILE_OF("a.md"), HUMAN "\nsecond\n")))
        fail_msg("kind %d, killed at call %lu: neither old nor new", kind, n);
    if (kind == K_TWO)
        assert_true(has_text(home, FILE_OF("b.md"), "1") ||
                    has_text(home, FILE_OF("b.md"), "new\n"));
}

static size_t count_applied(struct home *home)
{
    json_t *lines = read_lines(home);
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        json_t *line = json_array_get(lines, i);
        if (json_object_get(line, "op") && strcmp(text_of(line, "opId"), "op-1") == 0)
            count += !is_taken_back(lines, i);
    }
    json_decref(lines);
    return count;
}

/* Killed before call n, then another operation, then the same one again; false: it was not killed. */
static bool run_killed(struct home *home, int kind, unsigned long n, bool look_first)
{
    int status;
    prepare_kill(home, kind);
    pid_t child = fork();
    if (child == 0) {
        os_hook(kill_at, &n);
        _exit(operate(home, kind) == ETHOS_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(status == 0 || WIFSIGNALED(status));
    assert_old_or_new(home, kind, n);
    if (look_first) {
        look(home, "a.md");
        assert_old_or_new(home, kind, n);
        look(home, "c.md");
        assert_no_litter(home);
        assert_history(home); // blobs of a dead writer may be there
    }
    if (operate(home, kind) != ETHOS_OK)
        fail_msg("kind %d, killed at call %lu: %s", kind, n, home->error.text);
    if (!is_done(home, kind))
        fail_msg("kind %d, killed at call %lu: the retry did not apply it once", kind, n);
    assert_no_litter(home);
    assert_sound(home);
    assert_int_equal(count_applied(home), 1);
    empty_home(home);
    return status != 0;
}

static void test_killed_before_any_call_the_retry_applies_once(void **state)
{
    struct home *home = *state;
    for (int kind = 0; kind < KILLS; kind++) {
        unsigned long n = 1;
        while (run_killed(home, kind, n, n % 2))
            n++;
        assert_true(n > 30);
    }
}

/* ---- files that cannot be replaced ---------------------------------------------------------- */

static void make_hard_link(struct home *home)
{
    add(home, "old");
    assert_int_equal(
        linkat(home->temp.fd, FILE_OF("a.md"), home->temp.fd, DIR_OF_SCOPE "/other", 0), 0);
}

static void test_a_hard_link_is_refused_and_nothing_is_recorded(void **state)
{
    struct home *home = *state;
    make_hard_link(home);
    assert_int_equal(run_change(home, CHANGE, NULL), ETHOS_DENIED);
    assert_file(home, FILE_OF("a.md"), "old\n");
    assert_int_equal(count_lines(home), 1);
    assert_no_litter(home);
    assert_sound(home);
}

static void test_a_hard_link_is_overwritten_where_that_is_allowed(void **state)
{
    struct home *home = *state;
    home_open(home, ETHOS_SETUP_IN_PLACE, 2000);
    make_hard_link(home);
    struct stat before = home_stat(home, FILE_OF("a.md"));
    assert_int_equal(run_change(home, CHANGE, NULL), ETHOS_OK);
    assert_file(home, FILE_OF("a.md"), "old\n\nagent\n");
    assert_file(home, DIR_OF_SCOPE "/other", "old\n\nagent\n");
    assert_int_equal(home_stat(home, FILE_OF("a.md")).st_ino, before.st_ino);
    put(home, "short\n");
    assert_file(home, DIR_OF_SCOPE "/other", "short\n");
    assert_no_litter(home);
    assert_sound(home);
}

static void test_an_overwriting_that_fails_leaves_the_old_text_or_the_new(void **state)
{
    struct home *home = *state;
    struct at at = {.number = 1, .errnum = EIO, .hit = ""};
    home_open(home, ETHOS_SETUP_IN_PLACE, 2000);
    for (; at.hit; at.number++) {
        make_hard_link(home);
        at = (struct at){.number = at.number, .errnum = EIO};
        os_hook(fail_at, &at);
        int code = run_change(home, CHANGE, NULL);
        os_hook(NULL, NULL);
        const char *expected = code == ETHOS_OK ? "old\n\nagent\n" : "old\n";
        if (!has_text(home, FILE_OF("a.md"), expected) &&
            !strstr(home->error.text, "may or may not"))
            fail_msg("call %lu, %s: %s", at.number, at.hit, home->error.text);
        look(home, "a.md");
        assert_no_litter(home);
        assert_sound(home);
        empty_home(home);
    }
}

static void test_attributes_of_a_replaced_file_are_kept(void **state)
{
    struct home *home = *state;
    char path[256], value[16] = "";
    add(home, "old");
    snprintf(path, sizeof path, "%s/" FILE_OF("a.md"), home->temp.path);
    if (setxattr(path, "user.ethos", "kept", 5, 0) != 0)
        skip();
    assert_int_equal(run_change(home, CHANGE, NULL), ETHOS_OK);
    assert_int_equal(getxattr(path, "user.ethos", value, sizeof value), 5);
    assert_string_equal(value, "kept");
}

/* ---- conflict copies ------------------------------------------------------------------------ */

static void set_aside_at(struct home *home, int64_t time, const char *text)
{
    home_open_at(home, 0, time);
    assert_int_equal(
        home->store->ops->set_aside(home->store, SCOPE, "a.md", view_str(text), &home->error),
        ETHOS_OK);
}

static int count_copy(void *arg, const struct ethos_conflict *conflict)
{
    (void)conflict;
    ++*(int *)arg;
    return 0;
}

static int count_copies(struct home *home)
{
    int count = 0;
    assert_int_equal(
        home->store->ops->conflicts(home->store, SCOPE, count_copy, &count, &home->error),
        ETHOS_OK);
    return count;
}

static void test_a_copy_is_kept_once_whenever_it_comes(void **state)
{
    struct home *home = *state;
    char hex[HASH_HEX_SIZE], path[256];
    set_aside_at(home, 1000, "mine\n");
    set_aside_at(home, 100000, "mine\n");
    assert_int_equal(count_copies(home), 1);
    hash_hex(VIEW("other\n"), hex);
    snprintf(path, sizeof path, FILE_OF(".mem/conflicts/a.md.20260101T000000Z.%.8s.md"), hex);
    home_put(home, path, "another text\n"); // whose hash only begins alike
    set_aside_at(home, 100000, "other\n");
    assert_int_equal(count_copies(home), 3);
    assert_no_litter(home);
}

/* ---- one version after the other ------------------------------------------------------------ */

static int pass_change(void *arg, const struct ethos_change *change)
{
    (void)arg, (void)change;
    return 0;
}

static int walk_history(struct home *home, const char *key)
{
    return home->store->ops->history(home->store, SCOPE, key, pass_change, NULL, &home->error);
}

/* A text whose change no line holds: no line of it is one of another number. */
static const char *long_text(int number)
{
    static char text[LONG_ENTRY];
    size_t size = 0;
    for (int row = 0; size < LONG_ENTRY - 100; row++)
        size += (size_t)snprintf(text + size, LONG_ENTRY - size, "row %d of text %d\n", row,
                                 number);
    return text;
}

static void test_versions_that_are_kept_whole_are_read_without_the_history(void **state)
{
    enum { TEXTS = 40 };
    struct home *home = *state;
    char revision[ETHOS_REVISION_SIZE];
    for (int i = 0; i < TEXTS; i++)
        put(home, long_text(i));
    assert_int_equal(walk_history(home, "a.md"), ETHOS_OK);
    for (int i = TEXTS; i-- > 0;) {
        alloc_peak_reset();
        assert_int_equal(read_version(home, long_text(i)), ETHOS_OK);
        assert_in_range(alloc_peak(), 1, 6 * LONG_ENTRY); // and not the forty changes
    }
    hash_revision(view_str(long_text(1)), revision);
    assert_int_equal(
        home->store->ops->version(home->store, SCOPE, "b.md", revision, &home->text, &home->error),
        ETHOS_NOTFOUND);
    assert_int_equal(read_version(home, long_text(TEXTS)), ETHOS_NOTFOUND);
    assert_int_equal(walk_history(home, NULL), ETHOS_OK); // all keys
    assert_int_equal(read_version(home, long_text(3)), ETHOS_OK);
}

static void test_a_text_that_was_purged_is_no_version_any_more(void **state)
{
    struct home *home = *state;
    const struct ethos_match match = {.text = VIEW("row 7 of text 1")};
    struct ethos_purge purge = {0};
    for (int i = 0; i < 3; i++)
        put(home, long_text(i));
    assert_int_equal(walk_history(home, "a.md"), ETHOS_OK);
    assert_int_equal(read_version(home, long_text(1)), ETHOS_OK);
    assert_int_equal(
        home->store->ops->purge(home->store, SCOPE, &match, 0, NULL, &purge, &home->error),
        ETHOS_OK);
    assert_int_equal(read_version(home, long_text(1)), ETHOS_NOTFOUND);
    assert_int_equal(read_version(home, long_text(0)), ETHOS_OK);
}

/* A blob that somebody changed is not believed. */
static void test_a_blob_that_is_not_what_its_name_says_is_no_version(void **state)
{
    struct home *home = *state;
    char hex[HASH_HEX_SIZE], path[256];
    for (int i = 0; i < 3; i++)
        put(home, long_text(i));
    assert_int_equal(walk_history(home, "a.md"), ETHOS_OK);
    hash_hex(view_str(long_text(1)), hex);
    snprintf(path, sizeof path, FILE_OF("history-blobs/%s.md"), hex);
    home_put(home, path, "something else\n");
    assert_int_equal(read_version(home, long_text(1)), ETHOS_CORRUPT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HOME_TEST(test_versions_that_are_kept_whole_are_read_without_the_history),
        HOME_TEST(test_a_text_that_was_purged_is_no_version_any_more),
        HOME_TEST(test_a_blob_that_is_not_what_its_name_says_is_no_version),
        HOME_TEST(test_an_outside_edit_is_recorded_before_the_next_write),
        HOME_TEST(test_asking_records_an_outside_edit_too),
        HOME_TEST(test_a_first_change_keeps_the_text_that_was_there),
        HOME_TEST(test_an_entry_that_a_stale_buffer_lacks_comes_back),
        HOME_TEST(test_a_long_entry_that_a_stale_buffer_lacks_comes_back),
        HOME_TEST(test_a_long_entry_that_was_taken_out_is_listed),
        HOME_TEST(test_entries_come_back_before_the_write_that_found_them_missing),
        HOME_TEST(test_a_revert_to_an_older_version_is_honoured),
        HOME_TEST(test_a_deletion_is_honoured),
        HOME_TEST(test_a_deletion_of_a_text_with_one_change_is_honoured),
        HOME_TEST(test_a_text_that_a_power_cut_emptied_is_put_back),
        HOME_TEST(test_a_text_emptied_since_the_machine_started_stays_empty),
        HOME_TEST(test_a_save_before_any_call_is_never_lost),
        HOME_TEST(test_a_save_is_not_lost_where_files_cannot_be_exchanged),
        HOME_TEST(test_a_save_at_the_moment_of_the_swap_is_seen_kept_and_built_upon),
        HOME_TEST(test_a_copy_of_a_text_that_was_taken_back_does_not_double_its_entry),
        HOME_TEST(test_a_copy_of_a_dead_writers_text_does_not_double_its_entry),
        HOME_TEST(test_a_new_file_that_is_emptied_as_it_appears_blocks_nobody),
        HOME_TEST(test_writes_work_where_files_cannot_be_exchanged),
        HOME_TEST(test_writes_work_where_writers_cannot_be_seen),
        HOME_TEST(test_a_save_at_the_swap_is_kept_where_writers_cannot_be_seen),
        HOME_TEST(test_what_is_written_to_a_displaced_file_is_found_by_the_next_write),
        HOME_TEST(test_a_file_that_is_gone_while_it_is_saved_is_waited_for),
        HOME_TEST(test_killed_before_any_call_the_retry_applies_once),
        HOME_TEST(test_a_hard_link_is_refused_and_nothing_is_recorded),
        HOME_TEST(test_a_hard_link_is_overwritten_where_that_is_allowed),
        HOME_TEST(test_an_overwriting_that_fails_leaves_the_old_text_or_the_new),
        HOME_TEST(test_attributes_of_a_replaced_file_are_kept),
        HOME_TEST(test_a_copy_is_kept_once_whenever_it_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_journal.c: the files of the history itself: what was never finished at its end, months,
 * the index, versions, and a history that somebody replaces.
 */
#include "protocol.h"

#include <sys/wait.h>

#include "base/str.h"

static int add_agent(struct home *home, const struct ethos_origin *origin)
{
    struct ethos_edit edit = {.key = "a.md"};
    char entry[] = "agent";
    return update_by(home, &edit, 1, add_entry, entry, origin);
}

/* ---- the journal's end ---------------------------------------------------------------------- */

static void append_to(struct home *home, const char *path, const char *text)
{
    int fd = openat(home->temp.fd, path, O_WRONLY | O_APPEND);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* Appends `torn` to a history of two changes: the next write cuts it off. */
static void assert_cut(struct home *home, const char *torn)
{
    struct ethos_edit edit = {.key = "a.md"};
    int calls = 0;
    put(home, "1");
    put(home, "2");
    char *before = history_now(home);
    append_to(home, HISTORY, torn);
    assert_int_equal(read_version(home, "1"), ETHOS_OK); // readers do not stumble over it
    assert_int_equal(update(home, &edit, 1, append_x, &calls), ETHOS_OK);
    assert_file(home, FILE_OF("a.md"), "2x");
    char *after = history_now(home);
    assert_int_equal(strncmp(before, after, strlen(before)), 0);
    assert_int_equal(count_lines(home), 3);
    assert_sound(home);
    free(before);
    free(after);
    empty_home(home);
}

/* A line as it would be written next. */
static void make_line(unsigned index, unsigned count, char out[1024])
{
    char body[900];
    snprintf(
        body, sizeof body,
        "{\"ts\":%lld,\"scopeId\":\"personality:p\",\"key\":\"a.md\",\"actions\":[\"add\"],"
        "\"source\":\"tool\",\"sessionId\":\"\",\"sessionKey\":\"\","
        "\"beforeHash\":\"sha256:0\",\"afterHash\":\"sha256:1\",\"diff\":\"\",\"sizeBefore\":1,"
        "\"sizeAfter\":1,\"txn\":\"0123456789ab/%u/%u\",\"seq\":%u",
        (long long)os_now_ms(), index, count, 2 + index);
    snprintf(out, 1024, "%s,\"crc\":\"%08x\"}\n", body, hash_crc32c(view_str(body)));
}

static void test_what_was_never_finished_is_cut_off(void **state)
{
    struct home *home = *state;
    char line[1024], two[2048];
    assert_cut(home, "{\"ts\":17");
    assert_cut(home, "\n");
    make_line(1, 2, line);
    assert_cut(home, line);
    snprintf(two, sizeof two, "%.*s", (int)strlen(line) - 20, line);
    assert_cut(home, two);
    make_line(1, 3, line);
    char second[1024];
    make_line(2, 3, second);
    snprintf(two, sizeof two, "%s%s", line, second);
    assert_cut(home, two);
    snprintf(two, sizeof two, "%s%.*s", line, (int)strlen(second) / 2, second);
    assert_cut(home, two);
    make_line(1, 1, line);
    line[10]++; // the crc does not fit
    assert_cut(home, line);
}

/* ---- months --------------------------------------------------------------------------------- */

struct calendar {
    struct ethos_host host;
    int64_t now_ms;
};

static int64_t calendar_now(void *arg)
{
    return ((struct calendar *)arg)->now_ms;
}

#define OCTOBER 1792800000000 /* 2026-10-23 */
#define DAY 86400000LL
#define MONTH_OF(name) DIR_OF_SCOPE "/memory-history-" name ".jsonl"

static void open_calendar(struct home *home, struct calendar *calendar)
{
    calendar->host = log_default_host;
    calendar->host.arg = calendar;
    calendar->host.now_ms = calendar_now;
    home->host = &calendar->host;
    home_open(home, 0, 2000);
}

static size_t lines_in(struct home *home, const char *path)
{
    json_t *lines = json_array();
    add_lines(home, path, lines);
    size_t count = json_array_size(lines);
    json_decref(lines);
    return count;
}

static void test_each_month_has_its_file(void **state)
{
    struct home *home = *state;
    static struct calendar calendar; // the store outlives the test
    calendar.now_ms = OCTOBER;
    open_calendar(home, &calendar);
    put(home, "1");
    put(home, "2");
    assert_int_equal(home_write(home, SCOPE, "b.md", "b"), ETHOS_OK);
    calendar.now_ms += 31 * DAY;
    put(home, "3");
    assert_int_equal(lines_in(home, MONTH_OF("2026-10")), 3);
    assert_int_equal(lines_in(home, HISTORY), 1);
    calendar.now_ms += 31 * DAY;
    put(home, "4");
    assert_int_equal(lines_in(home, MONTH_OF("2026-11")), 1);
    assert_int_equal(lines_in(home, HISTORY), 1);
    for (const char *texts[] = {"1", "2", "3", "4"}, **text = texts; text < texts + 4; text++)
        assert_int_equal(read_version(home, *text), ETHOS_OK);
    assert_sound(home);
    temp_write(&home->temp, FILE_OF("b.md"), "B");
    look(home, "b.md"); // what was recorded last is two files back
    assert_int_equal(lines_in(home, HISTORY), 2);
    assert_line(home, 1, "actor", "external");
    assert_sound(home);
}

static void test_an_operation_is_known_after_the_month_has_turned(void **state)
{
    static const struct ethos_origin origin = {.op_id = "op-1", .op_digest = "d"};
    struct home *home = *state;
    static struct calendar calendar; // the store outlives the test
    calendar.now_ms = OCTOBER;
    open_calendar(home, &calendar);
    assert_int_equal(add_agent(home, &origin), ETHOS_OK);
    calendar.now_ms += 10 * DAY;
    add(home, "other");
    assert_int_equal(lines_in(home, HISTORY), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(add_agent(home, &origin), ETHOS_OK);
        assert_file(home, FILE_OF("a.md"), "agent\n\nother\n");
        unlinkat(home->temp.fd, INDEX, 0);
    }
    assert_sound(home);
}

static void test_a_month_that_has_a_file_already_keeps_its_lines(void **state)
{
    struct home *home = *state;
    static struct calendar calendar; // the store outlives the test
    calendar.now_ms = OCTOBER;
    open_calendar(home, &calendar);
    put(home, "1");
    calendar.now_ms += 10 * DAY;
    put(home, "2");
    char *kept = temp_read(&home->temp, MONTH_OF("2026-10"), NULL);
    assert_non_null(kept);
    calendar.now_ms += 30 * DAY;
    home_put(home, MONTH_OF("2026-11"), "");
    put(home, "3");
    assert_int_equal(lines_in(home, HISTORY), 2);
    assert_file(home, MONTH_OF("2026-10"), kept);
    assert_sound(home);
    free(kept);
}

static void test_a_clock_that_goes_back_keeps_the_order(void **state)
{
    struct home *home = *state;
    static struct calendar calendar; // the store outlives the test
    calendar.now_ms = OCTOBER;
    open_calendar(home, &calendar);
    put(home, "1");
    calendar.now_ms -= 60 * DAY;
    put(home, "2");
    assert_int_equal(lines_in(home, HISTORY), 2);
    assert_sound(home);
}

static void test_killed_while_the_month_turns_nothing_is_missing(void **state)
{
    struct home *home = *state;
    static struct calendar calendar; // the store outlives the test
    int status = -1;
    for (unsigned long n = 1; status != 0; n++) {
        calendar.now_ms = OCTOBER;
        open_calendar(home, &calendar);
        put(home, "1");
        put(home, "2");
        calendar.now_ms += 10 * DAY;
        pid_t child = fork();
        if (child == 0) {
            os_hook(kill_at, &n);
            _exit(home_write(home, SCOPE, "a.md", "3") == ETHOS_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        put(home, "4");
        assert_int_equal(read_version(home, "1"), ETHOS_OK);
        assert_int_equal(read_version(home, "2"), ETHOS_OK);
        assert_no_litter(home);
        assert_sound(home);
        empty_home(home);
    }
}

/* ---- the index ------------------------------------------------------------------------------ */

static char *read_index(struct home *home)
{
    char *text = temp_read(&home->temp, INDEX, NULL);
    assert_non_null(text);
    return text;
}

static void test_a_missing_index_is_made_again(void **state)
{
    struct home *home = *state;
    put(home, "1");
    assert_true(home_exists(home, INDEX));
    put(home, "2");
    assert_int_equal(unlinkat(home->temp.fd, INDEX, 0), 0);
    put(home, "3");
    assert_true(home_exists(home, INDEX));
    assert_int_equal(count_lines(home), 3);
    assert_sound(home);
}

static void test_an_older_index_is_as_good(void **state)
{
    struct home *home = *state;
    put(home, "1");
    char *index = read_index(home);
    put(home, "2");
    assert_int_equal(unlinkat(home->temp.fd, INDEX, 0), 0);
    put(home, "3");
    temp_write(&home->temp, INDEX, index);
    put(home, "4");
    assert_int_equal(count_lines(home), 4);
    assert_sound(home);
    free(index);
}

static void test_an_index_that_does_not_fit_is_not_believed(void **state)
{
    static const char *const others[] = {"", "\n", "ethos-index 2",
                                         "ethos-index 2 99999999 00000000 1 1\n",
                                         "ethos-index 2 100 00000000 1 1\na.md x\n"};
    struct home *home = *state;
    put(home, "1");
    put(home, "2");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[8];
        temp_write(&home->temp, INDEX, others[i]);
        snprintf(text, sizeof text, "%zu", i + 3);
        put(home, text);
        assert_int_equal(count_lines(home), i + 3);
        assert_sound(home);
    }
}

static void test_the_index_of_another_history_is_not_believed(void **state)
{
    struct home *home = *state;
    put(home, "first history");
    put(home, "second text of it");
    assert_int_equal(unlinkat(home->temp.fd, INDEX, 0), 0);
    put(home, "third text of it");
    char *index = read_index(home);
    empty_home(home);
    for (int i = 0; i < 4; i++) {
        char text[64];
        snprintf(text, sizeof text, "another history, which is longer than the first, %d", i);
        put(home, text);
    }
    temp_write(&home->temp, INDEX, index);
    put(home, "last");
    assert_int_equal(count_lines(home), 5);
    assert_sound(home);
    free(index);
}

static void test_the_index_of_another_history_with_older_months_is_not_believed(void **state)
{
    struct home *home = *state;
    static struct calendar calendar; // the store outlives the test
    char *index = NULL;
    for (int i = 0; i < 2; i++) {
        calendar.now_ms = OCTOBER;
        open_calendar(home, &calendar);
        put(home, i ? "other 1" : "1");
        put(home, i ? "other 2" : "2");
        calendar.now_ms += 10 * DAY;
        assert_int_equal(home_write(home, SCOPE, "b.md", "b"), ETHOS_OK); // turns the month
        if (i == 0) {
            index = read_index(home);
            empty_home(home);
        }
    }
    temp_write(&home->temp, INDEX, index);
    put(home, "last");
    assert_sound(home);
    free(index);
}

static void test_a_long_history_is_indexed_now_and_then(void **state)
{
    struct home *home = *state;
    char text[3000];
    home_open(home, ETHOS_SETUP_FAST, 2000);
    for (int i = 0; i < 80; i++) {
        memset(text, 'a' + i % 26, sizeof text);
        snprintf(text + sizeof text - 8, 8, "%d\n", i);
        put(home, text);
    }
    char *index = read_index(home);
    unsigned long long place = 0;
    assert_int_equal(sscanf(index, "ethos-index 2 %llu", &place), 1);
    assert_true(place > 131072);
    assert_true((uint64_t)home_stat(home, HISTORY).st_size - place < 140000);
    free(index);
    assert_sound(home);
}

static void test_everything_but_texts_and_history_may_be_removed_between_writes(void **state)
{
    struct home *home = *state;
    char command[256];
    put(home, "1");
    put(home, "2");
    snprintf(command, sizeof command, "rm -rf %s/" DIR_OF_SCOPE "/.mem", home->temp.path);
    assert_int_equal(system(command), 0);
    put(home, "3");
    assert_int_equal(count_lines(home), 3);
    assert_int_equal(read_version(home, "1"), ETHOS_OK);
    assert_no_litter(home);
    assert_sound(home);
    assert_int_equal(system(command), 0);
    save(home, "by hand");
    put(home, "4");
    assert_int_equal(read_version(home, "by hand"), ETHOS_OK);
    assert_sound(home);
}

/* ---- versions ------------------------------------------------------------------------------- */

static void version_text(int i, char out[256])
{
    int size = snprintf(out, 256, "head\n");
    for (int k = i % 5; k >= 0; k--)
        size += snprintf(out + size, 256 - (size_t)size, "line %d of %d\n", k, i);
    if (i % 7 == 0)
        out[size - 1] = 0; // no line end
}

static void test_every_version_can_be_had_again(void **state)
{
    enum { VERSIONS = 200 };
    struct home *home = *state;
    char text[256];
    home_open(home, ETHOS_SETUP_FAST, 2000);
    for (int i = 0; i < VERSIONS; i++) {
        version_text(i, text);
        put(home, text);
    }
    json_t *lines = read_lines(home);
    size_t blobs = 0;
    for (size_t i = 0; i < json_array_size(lines); i++)
        blobs += *text_of(json_array_get(lines, i), "afterBlob") != 0;
    assert_int_equal(json_array_size(lines), VERSIONS);
    assert_int_equal(blobs, VERSIONS / 64);
    json_decref(lines);
    for (int i = 0; i < VERSIONS; i++) {
        version_text(i, text);
        if (read_version(home, text) != ETHOS_OK)
            fail_msg("version %d: %s", i, home->error.text);
    }
    assert_int_equal(read_version(home, "never"), ETHOS_NOTFOUND);
    assert_sound(home);
}

/* ---- somebody replaces the history ---------------------------------------------------------- */

struct replacing {
    struct home *home;
    unsigned long number;
    bool done;
};

/* Puts a copy in its place before the nth call, as git and editors do. */
static int replace_history(void *arg, const char *call, unsigned long number)
{
    struct replacing *replacing = arg;
    (void)call;
    if (number != replacing->number)
        return 0;
    replacing->done = true;
    char *text = history_now(replacing->home);
    temp_write(&replacing->home->temp, "copy", text);
    free(text);
    assert_int_equal(renameat(replacing->home->temp.fd, "copy", replacing->home->temp.fd, HISTORY),
                     0);
    return 0;
}

static void test_a_history_that_is_replaced_meanwhile_is_written_to(void **state)
{
    struct home *home = *state;
    struct replacing replacing = {home, 1, true};
    for (; replacing.done; replacing.number++) {
        replacing.done = false;
        add(home, "old");
        os_hook(replace_history, &replacing);
        int code = add_agent(home, NULL);
        os_hook(NULL, NULL);
        assert_int_equal(code, ETHOS_OK);
        assert_file(home, FILE_OF("a.md"), "old\n\nagent\n");
        look(home, "a.md");
        assert_file(home, FILE_OF("a.md"), "old\n\nagent\n");
        assert_no_litter(home);
        assert_sound(home);
        assert_line(home, 1, "actions", "add");
        empty_home(home);
    }
    assert_true(replacing.number > 30);
}

/* ---- reading from the end ------------------------------------------------------------------- */

struct walked {
    uint64_t numbers[4096];
    size_t count, most; /* most: where the walk is ended; 0: not at all */
    void (*meanwhile)(struct home *home);
    struct home *home;
};

static int note_number(void *arg, const struct ethos_change *change)
{
    struct walked *walked = arg;
    if (walked->count == 0 && walked->meanwhile)
        walked->meanwhile(walked->home);
    walked->numbers[walked->count++] = change->number;
    return walked->count == walked->most ? 1 : 0;
}

static int walk(struct home *home, struct walked *walked)
{
    return home->store->ops->history(home->store, SCOPE, NULL, note_number, walked, &home->error);
}

/* A change has the time of the clock, whatever came before; the order is that of the numbers. */
static void test_a_clock_that_jumps_marks_only_what_is_written_meanwhile(void **state)
{
    static const int64_t years = 4096 * DAY;
    static const struct {
        int64_t by;
        const char *text;
    } jumps[] = {{0, "1"},        {years, "2"},   {-years, "3"},    {31 * DAY, "4"},
                 {31 * DAY, "5"}, {-years, "6"},  {years, "7"},     {years, "8"},
                 {40 * DAY, "9"}, {-years, "10"}, {31 * DAY, "11"}, {31 * DAY, "12"}};
    const size_t count = sizeof jumps / sizeof *jumps;
    struct home *home = *state;
    static struct calendar calendar; // the store outlives the test
    static struct walked walked;
    int64_t times[sizeof jumps / sizeof *jumps];
    calendar.now_ms = OCTOBER;
    open_calendar(home, &calendar);
    for (size_t i = 0; i < count; i++) {
        calendar.now_ms += jumps[i].by;
        times[i] = calendar.now_ms;
        put(home, jumps[i].text);
        assert_sound(home); // every line of every month, in the order of the numbers
    }
    json_t *lines = read_lines(home);
    assert_int_equal(json_array_size(lines), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(number_of(json_array_get(lines, i), "ts"), times[i]);
        assert_int_equal(read_version(home, jumps[i].text), ETHOS_OK);
    }
    json_decref(lines);
    walked = (struct walked){0};
    assert_int_equal(walk(home, &walked), ETHOS_OK);
    assert_int_equal(walked.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(walked.numbers[i], count - i);
}

/* Lines of many lengths, so that pieces end anywhere in them. */
static void test_a_long_history_is_told_whole_from_its_end(void **state)
{
    static struct walked walked;
    struct home *home = *state;
    struct str text;
    str_init(&text, (size_t)1 << 24);
    walked = (struct walked){0};
    for (int i = 1; i <= 3000; i++)
        str_printf(&text,
                   "{\"ts\":%d,\"scopeId\":\"personality:p\",\"key\":\"a.md\",\"actions\":[],"
                   "\"source\":\"tool\",\"afterHash\":\"x\",\"beforeHash\":\"x\",\"diff\":"
                   "\"%0*d\",\"sizeAfter\":%d}\n",
                   i, 1 + i * 37 % 900, 0, i);
    home_put(home, HISTORY, text.data);
    assert_int_equal(walk(home, &walked), ETHOS_OK);
    assert_int_equal(walked.count, 3000);
    str_release(&text);
}

/* More than all history may have: whoever wants the last change does not read it. */
static void test_the_last_changes_cost_no_more_for_what_is_before(void **state)
{
    static struct walked walked;
    struct home *home = *state;
    walked = (struct walked){.most = 2};
    put(home, "1");
    put(home, "2");
    put(home, "3");
    home_put(home, MONTH_OF("2020-01"), "");
    int fd = openat(home->temp.fd, MONTH_OF("2020-01"), O_WRONLY);
    assert_int_equal(ftruncate(fd, 2LL * ETHOS_MAX_HISTORY_BYTES), 0);
    close(fd);
    assert_int_equal(walk(home, &walked), 1);
    assert_int_equal(walked.numbers[0], 3);
    assert_int_equal(walked.numbers[1], 2);
}

static void turn_the_month(struct home *home)
{
    assert_int_equal(renameat(home->temp.fd, HISTORY, home->temp.fd, MONTH_OF("2026-10")), 0);
}

static void test_a_month_that_turns_meanwhile_is_told_once(void **state)
{
    static struct walked walked;
    struct home *home = *state;
    walked = (struct walked){.meanwhile = turn_the_month, .home = home};
    put(home, "1");
    put(home, "2");
    home_put(home, MONTH_OF("2026-09"), "not a line\n");
    assert_int_equal(walk(home, &walked), ETHOS_OK);
    assert_int_equal(walked.count, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HOME_TEST(test_what_was_never_finished_is_cut_off),
        HOME_TEST(test_each_month_has_its_file),
        HOME_TEST(test_an_operation_is_known_after_the_month_has_turned),
        HOME_TEST(test_a_month_that_has_a_file_already_keeps_its_lines),
        HOME_TEST(test_a_clock_that_goes_back_keeps_the_order),
        HOME_TEST(test_a_clock_that_jumps_marks_only_what_is_written_meanwhile),
        HOME_TEST(test_killed_while_the_month_turns_nothing_is_missing),
        HOME_TEST(test_a_missing_index_is_made_again),
        HOME_TEST(test_an_older_index_is_as_good),
        HOME_TEST(test_an_index_that_does_not_fit_is_not_believed),
        HOME_TEST(test_the_index_of_another_history_is_not_believed),
        HOME_TEST(test_the_index_of_another_history_with_older_months_is_not_believed),
        HOME_TEST(test_a_long_history_is_indexed_now_and_then),
        HOME_TEST(test_everything_but_texts_and_history_may_be_removed_between_writes),
        HOME_TEST(test_every_version_can_be_had_again),
        HOME_TEST(test_a_history_that_is_replaced_meanwhile_is_written_to),
        HOME_TEST(test_a_long_history_is_told_whole_from_its_end),
        HOME_TEST(test_the_last_changes_cost_no_more_for_what_is_before),
        HOME_TEST(test_a_month_that_turns_meanwhile_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

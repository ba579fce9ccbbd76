/*
 * Pages of sessions: order, filters, cursors, and what happens to a reader while others write.
 */
#include <limits.h>
#include <unistd.h>

#include "core/sessions/page_cursor.h"
#include "subjects.h"

#define MORNING 1794729600000 /* ms */

struct page {
    char keys[4096]; /* each ended by "," */
    char cursor[ETHOS_CURSOR_SIZE];
};

static int note_key(void *arg, const struct ethos_session *session)
{
    struct page *page = arg;
    size_t used = strlen(page->keys);
    snprintf(page->keys + used, sizeof page->keys - used, "%s,", session->key);
    return 0;
}

static void read_page(struct world *w, struct ethos_session_query query, struct page *page)
{
    page->keys[0] = 0;
    int code = w->ops->list(w->sessions, &query, note_key, page, page->cursor, &w->error);
    if (code != ETHOS_OK)
        fail_msg("%s", w->error.text);
}

static void assert_page(struct world *w, struct ethos_session_query query, const char *expected)
{
    struct page page;
    read_page(w, query, &page);
    assert_string_equal(page.keys, expected);
}

static void make_at(struct world *w, const char *key, int64_t ms)
{
    w->now = ms;
    make_session(w, key);
}

static void pin(struct world *w, int pinned)
{
    struct ethos_session_patch patch = {.pinned = &pinned};
    assert_int_equal(w->ops->update(w->sessions, w->id, &patch, &w->error), ETHOS_OK);
}

static void pinned_come_first_then_the_latest_then_the_newest_row(void **state)
{
    struct world *w = *state;
    make_at(w, "a", MORNING);
    pin(w, 1);
    make_at(w, "b", MORNING + 2);
    make_at(w, "c", MORNING + 1);
    make_at(w, "d", MORNING + 1);
    assert_page(w, (struct ethos_session_query){0}, "a,b,d,c,");
    pin(w, 1);
    assert_page(w, (struct ethos_session_query){0}, "d,a,b,c,");
}

static void filters_hold_together(void **state)
{
    struct world *w = *state;
    struct ethos_session session = {.key = "web:1",
                                    .id = "abc-1",
                                    .platform = "web",
                                    .personality = "p",
                                    .working_dir = "/x",
                                    .title = "Über Größe"};
    w->now = MORNING;
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_OK);
    make_at(w, "cli:1", MORNING + 1000);
#define PAGE(...) (struct ethos_session_query){__VA_ARGS__}
    assert_page(w, PAGE(.platform = "web"), "web:1,");
    assert_page(w, PAGE(.platform = "web", .personality = "q"), "");
    assert_page(w, PAGE(.personality = "p", .working_dir = "/x"), "web:1,");
    assert_page(w, PAGE(.id_prefix = "abc-"), "web:1,");
    assert_page(w, PAGE(.id_prefix = "abc_"), "");
    assert_page(w, PAGE(.text = "über grÖ"), "web:1,");
    assert_page(w, PAGE(.text = "CLI:"), "cli:1,");
    assert_page(w, PAGE(.text = "%"), "");
    assert_page(w, PAGE(.working_dir = "/\xff"), "");
    assert_page(w, PAGE(.personality = "p", .working_dir = "/y\n/x"), "web:1,");
    assert_page(w, PAGE(.personality = "p", .working_dir = "/x/\n/y"), "web:1,");
    assert_page(w, PAGE(.working_dir = "/x/y/\n/\n/xx/"), "");
    assert_page(w, PAGE(.since = "2026-11-15T08:00:00.001Z"), "cli:1,");
    assert_page(w, PAGE(.since = "2026-11-15T08:00:00Z"), "cli:1,web:1,");
    assert_page(w, PAGE(.until = "2026-11-15T08:00:00.999Z"), "web:1,");
    assert_page(w, PAGE(.until = "2026-11-15T08:00:01Z"), "cli:1,web:1,");
    assert_page(w, PAGE(.since = "2026-11-15T08:00:00.001Z", .until = "2026-11-15T08:00:00.999Z"),
                "");
    assert_page(w, PAGE(.until = "2026-11-15"), "cli:1,web:1,"); // the whole day
    assert_page(w, PAGE(.until = "2026-11-14"), "");
    assert_page(w, PAGE(.until = "2026-11-15", .platform = "web"), "web:1,");
    struct page page;
    const struct ethos_session_query wrong[] = {{.since = "some day"}, {.until = "some day"}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            w->ops->list(w->sessions, &wrong[i], note_key, &page, page.cursor, &w->error),
            ETHOS_INVALID);
#undef PAGE
}

static void a_page_goes_on_where_the_last_one_ended(void **state)
{
    struct world *w = *state;
    struct page page;
    for (int i = 0; i < 5; i++)
        make_at(w, (char[]){(char)('a' + i), 0}, MORNING); // one millisecond
    pin(w, 1);
    read_page(w, (struct ethos_session_query){.limit = 2}, &page);
    assert_string_equal(page.keys, "e,d,");
    make_at(w, "new", MORNING + 5);
    read_page(w, (struct ethos_session_query){.limit = 2, .cursor = page.cursor}, &page);
    assert_string_equal(page.keys, "c,b,");
    world_reopen(w);
    read_page(w, (struct ethos_session_query){.limit = 2, .cursor = page.cursor}, &page);
    assert_string_equal(page.keys, "a,");
    assert_string_equal(page.cursor, "");
}

static void a_session_that_goes_on_meanwhile_keeps_its_place(void **state)
{
    struct world *w = *state;
    struct page page;
    char ids[4][ETHOS_UUID_SIZE];
    for (int i = 0; i < 4; i++) {
        make_at(w, (char[]){(char)('a' + i), 0}, MORNING + i);
        memcpy(ids[i], w->id, sizeof ids[i]);
        say(w, "user", "x");
    }
    read_page(w, (struct ethos_session_query){.limit = 2}, &page);
    assert_string_equal(page.keys, "d,c,");
    w->now = MORNING + 3; // one that was shown, one that was not, in the same millisecond as "d"
    memcpy(w->id, ids[2], sizeof w->id);
    say(w, "assistant", "y");
    memcpy(w->id, ids[0], sizeof w->id);
    say(w, "assistant", "y");
    read_page(w, (struct ethos_session_query){.limit = 2, .cursor = page.cursor}, &page);
    assert_string_equal(page.keys, "b,a,");
    assert_string_equal(page.cursor, "");
    assert_page(w, (struct ethos_session_query){0}, "d,c,a,b,");
}

/* The keys of all pages behind this one, one session each. */
static void assert_rest(struct world *w, struct page *page, const char *expected)
{
    char keys[sizeof page->keys] = "";
    while (*page->cursor) {
        read_page(w, (struct ethos_session_query){.limit = 1, .cursor = page->cursor}, page);
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s", page->keys);
    }
    assert_string_equal(keys, expected);
}

/* Sessions a to d of one message each, d the latest, then the first page of one; now it is later. */
static void read_first(struct world *w, char ids[4][ETHOS_UUID_SIZE], struct page *page)
{
    for (int i = 0; i < 4; i++) {
        make_at(w, (char[]){(char)('a' + i), 0}, MORNING + i);
        memcpy(ids[i], w->id, sizeof ids[i]);
        say(w, "user", "x");
    }
    w->now = MORNING + 100000;
    read_page(w, (struct ethos_session_query){.limit = 1}, page);
    assert_string_equal(page->keys, "d,");
}

static void go_on(struct world *w, const char *id, int64_t ms)
{
    w->now = ms;
    memcpy(w->id, id, sizeof w->id);
    say(w, "assistant", "y");
}

/* Pages of one session each, within a span; between them what happens to sessions a to e. */
static void pages_of_a_span_are_of_the_span_as_it_was(void **state)
{
    struct world *w = *state;
    struct page page;
    char ids[5][ETHOS_UUID_SIZE], keys[sizeof page.keys] = "";
    struct ethos_session_query query = {
        .since = "2026-11-15T08:00:01Z", .until = "2026-11-15T08:00:03Z", .limit = 1};
    for (int i = 0; i < 5; i++) { // a before, b c d within, e after, though it was within
        make_at(w, (char[]){(char)('a' + i), 0}, MORNING + (i < 4 ? i * 1000 : 2500));
        memcpy(ids[i], w->id, sizeof ids[i]);
        say(w, "user", "x");
    }
    go_on(w, ids[4], MORNING + 5000);
    w->now = MORNING + 100000;
    read_page(w, query, &page);
    assert_string_equal(page.keys, "d,");
    go_on(w, ids[1], MORNING + 200000); // b leaves the span, but was in it
    go_on(w, ids[0], MORNING + 2000);   // a comes into it, but was not
    while (*page.cursor) {
        query.cursor = page.cursor;
        read_page(w, query, &page);
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s", page.keys);
    }
    assert_string_equal(keys, "c,b,");
}

static void rows_that_were_given_free_do_not_make_a_message_old(void **state)
{
    struct world *w = *state;
    struct page page;
    char ids[4][ETHOS_UUID_SIZE];
    read_first(w, ids, &page);
    assert_int_equal(w->ops->remove(w->sessions, ids[3], &w->error), ETHOS_OK);
    go_on(w, ids[0], MORNING + 200000);
    assert_rest(w, &page, "c,b,a,");
}

static void a_session_that_others_touch_without_a_message_keeps_its_place(void **state)
{
    struct world *w = *state;
    struct page page;
    char ids[4][ETHOS_UUID_SIZE];
    read_first(w, ids, &page);
    w->now = MORNING + 200000;
    raw_run(w, "UPDATE sessions SET updated_at='2026-11-15T08:03:00.000Z',input_tokens=9"
               " WHERE key IN ('a','d')");
    assert_rest(w, &page, "c,b,a,");
}

static void messages_of_an_earlier_time_do_not_move_a_session(void **state)
{
    struct world *w = *state;
    struct page page;
    char ids[4][ETHOS_UUID_SIZE];
    const struct ethos_message old = {
        .role = "assistant", .content = VIEW("y"), .timestamp = "2026-11-15T08:00:00.002Z"};
    read_first(w, ids, &page);
    read_page(w, (struct ethos_session_query){.limit = 2, .cursor = page.cursor}, &page);
    assert_string_equal(page.keys, "c,b,");
    w->now = MORNING + 10000000;
    assert_int_equal(
        w->ops->append(w->sessions, ids[0], &old, 1, ETHOS_APPEND_KEEP_TIME, &w->error), ETHOS_OK);
    assert_rest(w, &page, "a,");
}

static void the_last_one_shown_is_not_shown_again(void **state)
{
    struct world *w = *state;
    struct page page;
    make_at(w, "a", MORNING);
    make_at(w, "b", MORNING + 1);
    w->now = MORNING + 2000;
    raw_run(w, "UPDATE sessions SET updated_at='2026-11-15T08:00:01.500Z' WHERE key='b';"
               "UPDATE sessions SET created_at='2026-11-15T07:00:00.000Z' WHERE key='b'");
    read_page(w, (struct ethos_session_query){.limit = 1}, &page);
    assert_string_equal(page.keys, "b,");
    go_on(w, w->id, MORNING + 3000);
    assert_rest(w, &page, "a,");
}

static void a_time_that_has_not_come_yet_does_not_spoil_the_order(void **state)
{
    struct world *w = *state;
    struct page page;
    char ids[4][ETHOS_UUID_SIZE];
    read_first(w, ids, &page);
    raw_run(w, "UPDATE sessions SET updated_at='2036-01-01T00:00:00.000Z' WHERE key='b';"
               "UPDATE sessions SET created_at='2026-01-01T00:00:00.000Z'");
    read_page(w, (struct ethos_session_query){.limit = 1}, &page);
    assert_string_equal(page.keys, "b,");
    w->now = MORNING + 200000;
    raw_run(w, "UPDATE sessions SET updated_at='2026-11-15T08:03:00.000Z' WHERE key='a'");
    assert_rest(w, &page, "d,c,a,");
}

static void an_old_one_that_is_pinned_does_not_spoil_the_order(void **state)
{
    struct world *w = *state;
    struct page page;
    char ids[4][ETHOS_UUID_SIZE];
    read_first(w, ids, &page);
    memcpy(w->id, ids[0], sizeof w->id);
    pin(w, 1);
    raw_run(w, "UPDATE sessions SET created_at='2026-01-01T00:00:00.000Z' WHERE key<>'b'");
    read_page(w, (struct ethos_session_query){.limit = 1}, &page);
    assert_string_equal(page.keys, "a,");
    assert_rest(w, &page, "d,c,b,");
    read_page(w, (struct ethos_session_query){.limit = 1, .cursor = "MQ"}, &page); // 1
    assert_string_equal(page.keys, "d,");
    assert_rest(w, &page, "c,b,");
}

static void a_count_of_other_programs_is_taken(void **state)
{
    struct world *w = *state;
    struct page page;
    for (int i = 0; i < 4; i++)
        make_at(w, (char[]){(char)('a' + i), 0}, MORNING + i);
    read_page(w, (struct ethos_session_query){.cursor = "Mg==", .limit = 1}, &page); // 2
    assert_string_equal(page.keys, "b,");
    read_page(w, (struct ethos_session_query){.cursor = page.cursor}, &page);
    assert_string_equal(page.keys, "a,");
    assert_page(w, (struct ethos_session_query){.cursor = "MA"}, "d,c,b,a,");
}

static void garbage_is_no_cursor(void **state)
{
    static const char *const garbage[] = {
        "x",    "!!!!", "Mg=x", "LTE",        "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NQ",
        "a2V5", "====", "a",    "k\xC3\xA4k",
    };
    struct world *w = *state;
    struct cursor cursor = {.pinned = true,
                            .row = -7,
                            .newest = INT64_MAX,
                            .place = "2026-11-15T08:00:00.000Z",
                            .latest = "2026-11-15T09:00:00.000Z"},
                  back;
    char text[ETHOS_CURSOR_SIZE], long_text[600];
    struct ethos_error error;
    (void)w;
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++)
        assert_int_equal(cursor_read(garbage[i], &back, &error), ETHOS_INVALID);
    memset(long_text, 'A', sizeof long_text);
    long_text[sizeof long_text - 1] = 0;
    assert_int_equal(cursor_read(long_text, &back, &error), ETHOS_INVALID);

    cursor_write(&cursor, text);
    assert_int_equal(cursor_read(text, &back, &error), ETHOS_OK);
    assert_false(back.counted);
    assert_true(back.pinned);
    assert_int_equal(back.row, -7);
    assert_int_equal(back.newest, INT64_MAX);
    assert_string_equal(back.place, cursor.place);
    assert_string_equal(back.latest, cursor.latest);
    for (size_t i = 0; text[i]; i++) { // every change of a character is noticed
        char kept = text[i];
        text[i] = kept == 'A' ? 'B' : 'A';
        int code = cursor_read(text, &back, &error);
        // The last character may hold bits that mean nothing.
        assert_true(code == ETHOS_INVALID || text[i + 1] == 0);
        text[i] = 0;
        assert_int_equal(cursor_read(text, &back, &error), ETHOS_INVALID);
        text[i] = kept;
    }
}

static void a_place_that_is_no_time_does_not_stop_the_pages(void **state)
{
    struct world *w = *state;
    struct page page;
    for (int i = 0; i < 3; i++)
        make_at(w, (char[]){(char)('a' + i), 0}, MORNING + i);
    raw_run(w, "UPDATE sessions SET updated_at=replace(hex(zeroblob(100)),'0','z')||key"
               " WHERE key<>'a'");
    read_page(w, (struct ethos_session_query){.limit = 1}, &page);
    assert_string_equal(page.keys, "c,");
    read_page(w, (struct ethos_session_query){.cursor = page.cursor}, &page);
    assert_non_null(strstr(page.keys, "a,"));
    assert_string_equal(page.cursor, "");
}

/* ---- people ---------------------------------------------------------------------------------- */

static void make_of(struct world *w, const char *key, const char *user)
{
    const struct ethos_session session = {.key = key, .platform = "cli", .user = user};
    if (w->ops->create(w->sessions, &session, w->id, &w->error) != ETHOS_OK)
        fail_msg("%s", w->error.text);
}

static int note_user(void *arg, const struct ethos_session *session)
{
    snprintf(arg, 32, "%s", session->user ? session->user : "-");
    return 0;
}

static void assert_user(struct world *w, const char *key, const char *expected)
{
    char user[32] = "";
    assert_int_equal(w->ops->get_by_key(w->sessions, key, note_user, user, &w->error), ETHOS_OK);
    assert_string_equal(user, expected);
}

static int count_hit(void *arg, const struct ethos_hit *hit)
{
    (void)hit;
    ++*(unsigned *)arg;
    return 0;
}

static void assert_people(struct world *w, const struct ethos_people *people, const char *keys,
                          unsigned hits)
{
    unsigned found = 0;
    const struct ethos_search search = {.text = VIEW("hello"), .people = people};
    assert_page(w, (struct ethos_session_query){.people = people}, keys);
    assert_int_equal(w->ops->search(w->sessions, &search, count_hit, &found, &w->error), ETHOS_OK);
    assert_int_equal(found, hits);
}

static void people_see_their_own(void **state)
{
    struct world *w = *state;
    const char *const ann[] = {"ann"}, *const bob[] = {"bob", "b2"}, *const nobody[] = {"nobody"};
    const struct ethos_people owner = {ann, 1, 1}, other = {bob, 2, 0}, none = {nobody, 1, 0};
    const struct ethos_message message = {.role = "user", .content = VIEW("hello there")};
    const struct {
        const char *key, *user;
    } made[] = {{"a", NULL}, {"b", "bob"}, {"c", "b2"}, {"d", "ann"}, {"e", "cy"}};
    char copy[ETHOS_UUID_SIZE];
    w->now = MORNING;
    assert_people(w, &owner, "", 0);
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        make_of(w, made[i].key, made[i].user);
        assert_int_equal(w->ops->append(w->sessions, w->id, &message, 1, 0, &w->error), ETHOS_OK);
        assert_user(w, made[i].key, made[i].user ? made[i].user : "-");
        w->now++;
    }
    world_reopen(w);
    assert_people(w, NULL, "e,d,c,b,a,", 5);
    assert_people(w, &owner, "d,a,", 2);
    assert_people(w, &other, "c,b,", 2);
    assert_people(w, &none, "", 0);
    assert_int_equal(w->ops->get_by_key(w->sessions, "b", ignore_session, NULL, &w->error),
                     ETHOS_OK);
    char id[ETHOS_UUID_SIZE];
    struct ethos_session_query query = {.people = &other, .limit = 1};
    struct page page;
    read_page(w, query, &page);
    assert_string_equal(page.keys, "c,");
    query.cursor = page.cursor;
    struct page next;
    read_page(w, query, &next);
    assert_string_equal(next.keys, "b,");
    make_of(w, "f", "bob");
    memcpy(id, w->id, sizeof id);
    assert_int_equal(w->ops->fork(w->sessions, id, copy, &w->error), ETHOS_OK);
    read_page(w, (struct ethos_session_query){.people = &other}, &page);
    assert_non_null(strstr(page.keys, "f:fork:"));
    assert_int_equal(w->ops->remove(w->sessions, id, &w->error), ETHOS_OK);
    assert_int_equal(w->ops->remove(w->sessions, copy, &w->error), ETHOS_OK);
    assert_people(w, &other, "c,b,", 2);
}

static void a_bad_user_is_refused(void **state)
{
    struct world *w = *state;
    const struct ethos_session session = {.key = "k", .platform = "cli", .user = "../x"};
    assert_int_equal(w->ops->create(w->sessions, &session, w->id, &w->error), ETHOS_INVALID);
    assert_page(w, (struct ethos_session_query){0}, "");
}

static void the_owner_alone_has_no_file_of_people(void **state)
{
    struct world *w = *state;
    char path[PATH_MAX];
    make_of(w, "a", NULL);
    assert_int_equal(w->ops->remove(w->sessions, w->id, &w->error), ETHOS_OK);
    snprintf(path, sizeof path, "%s/session-users.db", w->temp.path);
    assert_int_equal(access(path, F_OK), -1);
    make_of(w, "b", "bob");
    assert_int_equal(access(path, F_OK), 0);
    uint64_t pruned;
    assert_int_equal(w->ops->prune(w->sessions, "2100-01-01T00:00:00.000Z", 0, &pruned, &w->error),
                     ETHOS_OK);
    assert_int_equal(pruned, 1);
    sqlite3 *users;
    sqlite3_stmt *count;
    assert_int_equal(sqlite3_open_v2(path, &users, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(users, "SELECT count(*) FROM session_users", -1, &count, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(count), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(count, 0), 0);
    sqlite3_finalize(count);
    sqlite3_close(users);
}

static int count_session(void *arg, const struct ethos_session *session)
{
    (void)session;
    ++*(size_t *)arg;
    return ETHOS_OK;
}

/* Whoever makes the file makes its table a moment later: until then it says nothing. */
static void a_file_of_people_without_its_table_says_nothing(void **state)
{
    struct world *w = *state;
    const char *const ann[] = {"ann"};
    const struct ethos_people owner = {ann, 1, 1};
    const struct ethos_session_query query = {.people = &owner};
    char path[PATH_MAX], cursor[ETHOS_CURSOR_SIZE];
    size_t count = 0;
    make_of(w, "a", NULL);
    snprintf(path, sizeof path, "%s/session-users.db", w->temp.path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(w->ops->list(w->sessions, &query, count_session, &count, cursor, &w->error),
                     ETHOS_OK);
    assert_int_equal(count, 1);
    make_of(w, "b", "bob");
    count = 0;
    assert_int_equal(w->ops->list(w->sessions, &query, count_session, &count, cursor, &w->error),
                     ETHOS_OK);
    assert_int_equal(count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    static const struct CMUnitTest all[] = {
        TEST(pinned_come_first_then_the_latest_then_the_newest_row),
        TEST(filters_hold_together),
        TEST(a_page_goes_on_where_the_last_one_ended),
        TEST(a_session_that_goes_on_meanwhile_keeps_its_place),
        TEST(pages_of_a_span_are_of_the_span_as_it_was),
        TEST(rows_that_were_given_free_do_not_make_a_message_old),
        TEST(a_session_that_others_touch_without_a_message_keeps_its_place),
        TEST(messages_of_an_earlier_time_do_not_move_a_session),
        TEST(the_last_one_shown_is_not_shown_again),
        TEST(a_time_that_has_not_come_yet_does_not_spoil_the_order),
        TEST(an_old_one_that_is_pinned_does_not_spoil_the_order),
        TEST(a_count_of_other_programs_is_taken),
        TEST(garbage_is_no_cursor),
        TEST(people_see_their_own),
        TEST(a_bad_user_is_refused),
    };
    static const struct CMUnitTest sqlite[] = {
        TEST(a_place_that_is_no_time_does_not_stop_the_pages),
        TEST(the_owner_alone_has_no_file_of_people),
        TEST(a_file_of_people_without_its_table_says_nothing),
    };
    return subjects_run(all, COUNT_OF(all), sqlite, COUNT_OF(sqlite));
}

/*
 * test_database.c: channels.db: inbox, outbox, contacts, codes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/temp.h"
#include "base/view.h"
#include "channel/contacts.h"
#include "channel/inbox.h"
#include "channel/outbox.h"

#define NOW 1763200000123

static struct temp temp;
static struct channel_db *db;
static struct ethos_error error;

static void assert_fine(int code)
{
    if (code != ETHOS_OK)
        fail_msg("%d: %s", code, error.text);
}

static int setup(void **state)
{
    (void)state;
    temp_make(&temp);
    assert_fine(channel_db_open(temp.path, true, &db, &error));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    channel_db_close(db);
    temp_remove(&temp);
    return 0;
}

static void reopen(void)
{
    channel_db_close(db);
    assert_fine(channel_db_open(temp.path, false, &db, &error));
}

/* ---- the database ------------------------------------------------------------------------------ */

static void test_it_is_private_and_made_only_when_asked(void **state)
{
    struct temp other;
    struct channel_db *none;
    struct stat info;
    char path[128];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"channels.db", "channels.db-wal", "channels.db-shm"};
        snprintf(path, sizeof path, "%s/%s", temp.path, names[i]);
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0600);
    }
    temp_make(&other);
    assert_int_equal(channel_db_open(other.path, false, &none, &error), ETHOS_NOTFOUND);
    snprintf(path, sizeof path, "%s/channels.db", other.path);
    assert_int_not_equal(access(path, F_OK), 0);
    temp_remove(&other);
}

static void test_a_newer_version_is_refused(void **state)
{
    (void)state;
    assert_fine(channel_db_run(db, NULL, &error, "PRAGMA user_version=9", ""));
    channel_db_close(db);
    db = NULL;
    assert_int_equal(channel_db_open(temp.path, false, &db, &error), ETHOS_UNSUPPORTED);
}

static void test_a_home_has_one_gateway(void **state)
{
    int first, second;
    (void)state;
    assert_fine(channel_db_lock(temp.path, &first, &error));
    assert_int_equal(channel_db_lock(temp.path, &second, &error), ETHOS_BUSY);
    assert_non_null(strstr(error.text, "gateway"));
    close(first);
    assert_fine(channel_db_lock(temp.path, &second, &error));
    close(second);
}

static void test_a_transaction_within_another_is_part_of_it(void **state)
{
    char value[CHANNEL_MAX_CURSOR];
    (void)state;
    assert_fine(channel_db_begin(db, &error));
    assert_fine(channel_db_begin(db, &error));
    assert_fine(channel_db_cursor_store(db, "telegram:1", "offset", "7", &error));
    assert_fine(channel_db_end(db, ETHOS_OK, &error));
    channel_db_end(db, ETHOS_IO, &error);
    assert_fine(channel_db_cursor_read(db, "telegram:1", "offset", value, &error));
    assert_string_equal(value, "");
    assert_fine(channel_db_cursor_store(db, "telegram:1", "offset", "8", &error));
    reopen();
    assert_fine(channel_db_cursor_read(db, "telegram:1", "offset", value, &error));
    assert_string_equal(value, "8");
}

/* ---- inbox ------------------------------------------------------------------------------------- */

static int receive(const char *chat, const char *msg, const char *text)
{
    const struct channel_message message = {.chat = chat,
                                            .msg = msg,
                                            .sender = "4711",
                                            .name = "Ada",
                                            .text = text,
                                            .time_ms = NOW,
                                            .direct = 1};
    struct inbox_entry entry = {.adapter = "telegram:1",
                                .role = "owner",
                                .state = "new",
                                .message = &message,
                                .text = view_str(text),
                                .now_ms = NOW};
    char turn[CHANNEL_TURN_SIZE];
    channel_turn_id("telegram", "1", chat, msg, turn);
    entry.turn = turn;
    return inbox_add(db, &entry, &error);
}

static int64_t next_id(void)
{
    struct inbox_row row;
    int code = inbox_next(db, &row, &error);
    if (code == ETHOS_NOTFOUND)
        return 0;
    assert_fine(code);
    int64_t id = row.id;
    inbox_row_release(&row);
    return id;
}

static void test_a_turn_id_tells_messages_apart(void **state)
{
    char a[CHANNEL_TURN_SIZE], b[CHANNEL_TURN_SIZE];
    (void)state;
    channel_turn_id("telegram", "1", "12", "3", a);
    assert_string_equal(a, "ch:cfd983d666cc03af733e8a6b9e9377f2");
    channel_turn_id("telegram", "1", "1", "23", b);
    assert_string_not_equal(a, b);
}

static void test_a_message_has_one_row(void **state)
{
    char found[16];
    (void)state;
    assert_fine(receive("c", "1", "hello"));
    assert_int_equal(receive("c", "1", "hello again"), ETHOS_EXISTS);
    assert_fine(inbox_find(db, "telegram:1", "c", "1", found, &error));
    assert_string_equal(found, "new");
    assert_fine(inbox_find(db, "telegram:2", "c", "1", found, &error));
    assert_string_equal(found, "");
}

static void test_chats_go_on_side_by_side_and_each_in_order(void **state)
{
    (void)state;
    assert_fine(receive("a", "1", "first"));
    assert_fine(receive("a", "2", "second"));
    assert_fine(receive("b", "1", "other"));
    assert_int_equal(next_id(), 1);
    assert_fine(inbox_set_state(db, 1, "running", NOW, &error));
    assert_int_equal(next_id(), 3);
    assert_fine(inbox_set_state(db, 3, "running", NOW, &error));
    assert_int_equal(next_id(), 0);
    assert_fine(inbox_set_state(db, 1, "answered", NOW, &error));
    assert_int_equal(next_id(), 2);
}

static void test_the_text_goes_when_it_is_answered(void **state)
{
    struct inbox_row row;
    (void)state;
    assert_fine(receive("a", "1", "a secret"));
    assert_fine(inbox_edit(db, "telegram:1", "a", "1", "another secret", &error));
    assert_fine(inbox_set_state(db, 1, "running", NOW, &error));
    assert_fine(inbox_edit(db, "telegram:1", "a", "1", "too late", &error));
    assert_fine(inbox_read(db, 1, &row, &error));
    assert_string_equal(row.text.data, "another secret");
    assert_string_equal(row.name, "Ada");
    inbox_row_release(&row);
    assert_fine(inbox_set_state(db, 1, "answered", NOW, &error));
    assert_fine(inbox_read(db, 1, &row, &error));
    assert_string_equal(row.text.data, "");
    inbox_row_release(&row);
}

static void test_old_rows_are_forgotten(void **state)
{
    char found[16];
    (void)state;
    assert_fine(receive("a", "1", "x"));
    assert_fine(receive("a", "2", "y"));
    assert_fine(inbox_set_state(db, 1, "answered", NOW, &error));
    assert_fine(inbox_forget(db, NOW + (int64_t)INBOX_DAYS * 86400000 - 1, &error));
    assert_fine(inbox_find(db, "telegram:1", "a", "1", found, &error));
    assert_string_equal(found, "answered");
    assert_fine(inbox_forget(db, NOW + (int64_t)INBOX_DAYS * 86400000 + 1, &error));
    assert_fine(inbox_find(db, "telegram:1", "a", "1", found, &error));
    assert_string_equal(found, "");
    assert_fine(inbox_find(db, "telegram:1", "a", "2", found, &error));
    assert_string_equal(found, "new");
}

/* ---- outbox ------------------------------------------------------------------------------------ */

static int add_part(int64_t part, bool final, const char *text)
{
    const struct outbox_entry entry = {.turn = "ch:1",
                                       .part = part,
                                       .adapter = "telegram:1",
                                       .chat = "c",
                                       .direct = true,
                                       .final = final,
                                       .text = view_str(text),
                                       .now_ms = NOW};
    return outbox_add(db, &entry, &error);
}

/* "state text" of a row, with "+" when it is live and shows its text. */
static const char *row_of(int64_t id)
{
    static char text[512];
    struct outbox_row row;
    if (outbox_read(db, id, &row, &error) != ETHOS_OK)
        return "none";
    snprintf(text, sizeof text, "%s%s %s%s%s", row.state, row.is_shown ? "+" : "", row.text.data,
             *row.remote ? " @" : "", row.remote);
    outbox_row_release(&row);
    return text;
}

static void send_row(int64_t id)
{
    struct outbox_row row;
    assert_fine(outbox_read(db, id, &row, &error));
    assert_fine(outbox_set_sending(db, &row, NOW, &error));
    outbox_row_release(&row);
}

static void test_a_part_is_sent_once(void **state)
{
    (void)state;
    assert_fine(add_part(1, true, "hello"));
    assert_fine(add_part(1, true, "hello again"));
    assert_string_equal(row_of(1), "queued hello");
    send_row(1);
    assert_fine(outbox_set_shown(db, 1, VIEW("hello"), "77", NOW, &error));
    assert_string_equal(row_of(1), "sent  @77");
    assert_fine(add_part(1, true, "a repeat"));
    assert_string_equal(row_of(1), "sent  @77");
}

static void test_a_preview_becomes_the_answer(void **state)
{
    (void)state;
    assert_fine(add_part(1, false, "I am"));
    send_row(1);
    assert_fine(outbox_set_shown(db, 1, VIEW("I am"), "77", NOW, &error));
    assert_string_equal(row_of(1), "live+ I am @77");
    assert_fine(outbox_set_preview(db, "ch:1", VIEW("I am thinking"), &error));
    assert_string_equal(row_of(1), "live I am thinking @77");
    assert_fine(outbox_set_shown(db, 1, VIEW("I am thinking"), NULL, NOW, &error));
    assert_fine(add_part(1, true, "I am done."));
    assert_fine(outbox_set_preview(db, "ch:1", VIEW("late"), &error));
    assert_string_equal(row_of(1), "live I am done. @77");
    assert_fine(outbox_set_shown(db, 1, VIEW("I am done."), NULL, NOW, &error));
    assert_string_equal(row_of(1), "sent  @77");
}

static void test_the_answer_may_come_while_the_preview_is_sent(void **state)
{
    (void)state;
    assert_fine(add_part(1, false, "I am"));
    send_row(1);
    assert_fine(add_part(1, true, "I am done."));
    assert_fine(outbox_set_shown(db, 1, VIEW("I am"), "77", NOW, &error));
    assert_string_equal(row_of(1), "live I am done. @77");
}

static void test_after_a_crash_nothing_is_sent_blindly(void **state)
{
    (void)state;
    assert_fine(add_part(1, true, "an answer"));
    send_row(1);
    assert_fine(add_part(2, true, "its second part"));
    reopen();
    assert_fine(outbox_recover(db, "telegram:1", false, NOW, &error));
    assert_string_equal(row_of(1), "unknown an answer");
    assert_string_equal(row_of(2), "queued its second part");
    assert_fine(outbox_resend(db, 1, &error));
    assert_string_equal(row_of(1), "queued an answer");
    assert_int_equal(outbox_resend(db, 2, &error), ETHOS_NOTFOUND);
}

static void test_after_a_crash_a_lost_preview_is_a_new_message(void **state)
{
    (void)state;
    assert_fine(add_part(1, false, "I am"));
    send_row(1);
    reopen();
    assert_fine(outbox_recover(db, "telegram:1", false, NOW, &error));
    assert_string_equal(row_of(1), "none"); // the turn goes on and adds its answer
    assert_fine(add_part(1, false, "I am"));
    send_row(1);
    assert_fine(add_part(1, true, "I am done."));
    assert_fine(outbox_recover(db, "telegram:1", false, NOW, &error));
    assert_string_equal(row_of(1), "queued I am done.");
}

static void test_after_a_crash_a_preview_that_is_shown_stays(void **state)
{
    (void)state;
    assert_fine(add_part(1, false, "I am"));
    send_row(1);
    assert_fine(outbox_set_shown(db, 1, VIEW("I am"), "77", NOW, &error));
    assert_fine(outbox_recover(db, "telegram:1", false, NOW, &error));
    assert_string_equal(row_of(1), "live+ I am @77");
}

static void test_a_send_that_did_not_happen_is_postponed(void **state)
{
    struct outbox_row row;
    (void)state;
    assert_fine(add_part(1, true, "hello"));
    send_row(1);
    assert_fine(outbox_postpone(db, 1, NOW + 5000, &error));
    assert_fine(outbox_read(db, 1, &row, &error));
    assert_string_equal(row.state, "queued");
    assert_int_equal(row.not_before_ms, NOW + 5000);
    assert_int_equal(row.attempts, 1);
    outbox_row_release(&row);
}

/* ---- contacts ---------------------------------------------------------------------------------- */

static void test_a_code_is_for_one_purpose_and_one_hour(void **state)
{
    char code[CODE_SIZE], platform[CHANNEL_MAX_NAME], sender[CHANNEL_MAX_ID], parsed[CODE_SIZE];
    (void)state;
    assert_fine(code_make(db, CODE_PAIR, "telegram", "4711", NOW, code, &error));
    assert_int_equal(strlen(code), 8);
    assert_true(code_parse(view_str(code), parsed));
    assert_int_equal(code_find(db, CODE_OWNER, code, NOW, false, platform, sender, &error),
                     ETHOS_NOTFOUND);
    assert_int_equal(code_find(db, CODE_PAIR, code, NOW + CODE_MS, false, platform, sender, &error),
                     ETHOS_NOTFOUND);
    assert_fine(code_find(db, CODE_PAIR, code, NOW + CODE_MS - 1, true, platform, sender, &error));
    assert_string_equal(platform, "telegram");
    assert_string_equal(sender, "4711");
    assert_int_equal(code_find(db, CODE_PAIR, code, NOW, true, platform, sender, &error),
                     ETHOS_NOTFOUND);
}

static void test_codes_are_stored_as_hashes(void **state)
{
    char code[CODE_SIZE];
    int64_t found;
    (void)state;
    assert_fine(code_make(db, CODE_OWNER, "telegram", "", NOW, code, &error));
    assert_fine(channel_db_number(db, 0, &found, &error,
                                  "SELECT count(*) FROM code WHERE instr(hash,?1)", "t", code));
    assert_int_equal(found, 0);
}

static void test_strangers_have_so_many_codes(void **state)
{
    char code[CODE_SIZE], sender[16];
    (void)state;
    for (int i = 0; i < CODE_MAX_OPEN; i++) {
        snprintf(sender, sizeof sender, "%d", i);
        assert_fine(code_make(db, CODE_PAIR, "telegram", sender, NOW, code, &error));
    }
    assert_int_equal(code_make(db, CODE_PAIR, "telegram", "x", NOW, code, &error), ETHOS_LIMIT);
    assert_fine(code_make(db, CODE_PAIR, "slack", "x", NOW, code, &error));
    assert_fine(code_make(db, CODE_PAIR, "telegram", "x", NOW + CODE_MS, code, &error));
}

static void test_what_a_code_looks_like(void **state)
{
    char code[CODE_SIZE];
    (void)state;
    assert_true(code_parse(VIEW(" abcd2345\n"), code));
    assert_string_equal(code, "ABCD2345");
    assert_false(code_parse(VIEW("ABCD234"), code));
    assert_false(code_parse(VIEW("ABCD2341"), code));
    assert_false(code_parse(VIEW("ABCDO345"), code));
    assert_false(code_parse(view_of("ABCD234\0", 8), code));
}

static void test_contacts(void **state)
{
    struct contact contact = {.platform = "telegram",
                              .sender = "4711",
                              .name = "Ada",
                              .role = ROLE_TRUSTED,
                              .adapter = "telegram:1",
                              .chat = "4711",
                              .since_ms = NOW},
                   found;
    (void)state;
    assert_int_equal(contact_read(db, "telegram", "4711", &found, &error), ETHOS_NOTFOUND);
    assert_fine(contact_store(db, &contact, &error));
    assert_int_equal(contact_find_owner(db, "telegram", &found, &error), ETHOS_NOTFOUND);
    assert_fine(contact_set_role(db, "telegram", "4711", ROLE_OWNER, &error));
    assert_fine(contact_find_owner(db, "slack", &found, &error));
    assert_string_equal(found.chat, "4711");
    *contact.chat = '\0'; // written in a group
    snprintf(contact.adapter, sizeof contact.adapter, "telegram:2");
    assert_fine(contact_store(db, &contact, &error));
    assert_fine(contact_read(db, "telegram", "4711", &found, &error));
    assert_string_equal(found.chat, "4711");
    assert_string_equal(found.adapter, "telegram:1");
    assert_int_equal(contact_set_role(db, "telegram", "1", ROLE_GUEST, &error), ETHOS_NOTFOUND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_it_is_private_and_made_only_when_asked),
        TEST(test_a_newer_version_is_refused),
        TEST(test_a_home_has_one_gateway),
        TEST(test_a_transaction_within_another_is_part_of_it),
        TEST(test_a_turn_id_tells_messages_apart),
        TEST(test_a_message_has_one_row),
        TEST(test_chats_go_on_side_by_side_and_each_in_order),
        TEST(test_the_text_goes_when_it_is_answered),
        TEST(test_old_rows_are_forgotten),
        TEST(test_a_part_is_sent_once),
        TEST(test_a_preview_becomes_the_answer),
        TEST(test_the_answer_may_come_while_the_preview_is_sent),
        TEST(test_after_a_crash_nothing_is_sent_blindly),
        TEST(test_after_a_crash_a_lost_preview_is_a_new_message),
        TEST(test_after_a_crash_a_preview_that_is_shown_stays),
        TEST(test_a_send_that_did_not_happen_is_postponed),
        TEST(test_a_code_is_for_one_purpose_and_one_hour),
        TEST(test_codes_are_stored_as_hashes),
        TEST(test_strangers_have_so_many_codes),
        TEST(test_what_a_code_looks_like),
        TEST(test_contacts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_mail_read.c: who a mail is from, who vouches for it, whether it may be answered, what it says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "gateway/adapters/mail_read.h"

#define AUTHSERV "mx.home.example"
#define OWN "ethos@home.example"
#define FROM "From: Ada Lovelace <ada@example.org>\n"
#define VOUCHED "Authentication-Results: mx.home.example; dmarc=pass header.from=example.org\n"
#define ID "Message-ID: <m1@example.org>\n"

static struct mail mail;

static int teardown(void **state)
{
    (void)state;
    mail_release(&mail);
    return 0;
}

/* Lines end in CRLF on the wire. */
static void read(const char *text)
{
    struct ethos_error error = {0};
    struct str raw;
    mail_release(&mail);
    str_init(&raw, 2 * (size_t)MAIL_MAX_BYTES);
    for (; *text; text++) {
        if (*text == '\n')
            str_addc(&raw, '\r');
        str_addc(&raw, *text);
    }
    if (mail_read(str_view(&raw), AUTHSERV, OWN, &mail, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    str_release(&raw);
}

static void test_a_plain_mail(void **state)
{
    (void)state;
    read(VOUCHED FROM ID "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nDate: Thu, 19 Nov 2026 05:00:00 "
                         "+0100\n\nHello there.\n");
    assert_string_equal(mail.address, "ada@example.org");
    assert_string_equal(mail.name, "Ada Lovelace");
    assert_string_equal(mail.id, "m1@example.org");
    assert_string_equal(mail.root, "m1@example.org");
    assert_string_equal(mail.subject.data, "Gr\xC3\xBC\xC3\x9F"
                                           "e");
    assert_string_equal(mail.text.data, "Hello there.");
    assert_true(mail.is_verified);
    assert_false(mail.is_automatic || mail.has_files);
    assert_true(mail.time_ms == 1795060800000);
}

static void test_addresses_are_folded(void **state)
{
    (void)state;
    read("From: Ada+lists@Example.ORG\n" ID "\nx\n");
    assert_string_equal(mail.address, "ada@example.org");
    read("From: <@example.org>\n" ID "\nx\n");
    assert_string_equal(mail.address, "");
    read("From: \"ada@example.org\" <eve@evil.example>\n" ID "\nx\n");
    assert_string_equal(mail.address, "eve@evil.example");
}

static void test_two_senders_are_nobody(void **state)
{
    (void)state;
    read(VOUCHED FROM "From: eve@evil.example\n" ID "\nx\n");
    assert_string_equal(mail.address, "");
    assert_true(mail.is_automatic);
    read(VOUCHED "From: ada@example.org, eve@evil.example\n" ID "\nx\n");
    assert_string_equal(mail.address, "");
    read(VOUCHED "From: people: ada@example.org;\n" ID "\nx\n");
    assert_string_equal(mail.address, "");
}

/* ---- who vouches ------------------------------------------------------------------------------- */

static void test_who_vouches(void **state)
{
    static const struct {
        const char *value;
        bool its, vouches;
    } rows[] = {
        {"mx.home.example; dmarc=pass", true, true},
        {"mx.home.example 1; dmarc=pass header.from=example.org", true, true},
        {"MX.home.example; spf=pass smtp.mailfrom=example.org", true, false},
        {"mx.home.example; dkim=pass header.d=example.org", true, true},
        {"mx.home.example; dkim=pass header.i=@example.org", true, true},
        {"mx.home.example; dkim=pass header.d=evil.example", true, false},
        {"mx.home.example; dkim=pass header.d=org", true, false},
        {"mx.home.example; dkim=pass header.d=le.org", true, false},
        {"mx.home.example; dkim=fail header.d=example.org", true, false},
        {"mx.home.example; dmarc=fail (dmarc=pass) header.from=example.org", true, false},
        {"mx.home.example; dmarc=fail reason=\"; dmarc=pass\"", true, false},
        {"mx.home.example; dmarc=pass header.from=evil.example", true, false},
        {"mx.home.example; none", true, false},
        {"mx.home.example.evil.example; dmarc=pass", false, false},
        {"evil.example; dmarc=pass", false, false},
        {"(mx.home.example) evil.example; dmarc=pass", false, false},
        {"\"mx.home.example; dmarc=pass\"", false, false},
        {"", false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool its = false;
        bool vouches = mail_is_vouched(view_str(rows[i].value), AUTHSERV, "example.org", &its);
        if (its != rows[i].its || vouches != rows[i].vouches)
            fail_msg("%s: its %d, vouches %d", rows[i].value, its, vouches);
    }
    bool its;
    assert_false(mail_is_vouched(VIEW("; dmarc=pass"), "", "example.org", &its));
    assert_true(mail_is_vouched(VIEW("mx.home.example; dkim=pass header.d=example.org"), AUTHSERV,
                                "mail.example.org", &its));
}

static void test_only_the_topmost_line_of_the_server_counts(void **state)
{
    (void)state;
    read("Authentication-Results: mx.home.example; dmarc=fail\n" VOUCHED FROM ID "\nx\n");
    assert_false(mail.is_verified);
    read("Authentication-Results: evil.example; dmarc=fail\n" VOUCHED FROM ID "\nx\n");
    assert_true(mail.is_verified);
    read("Authentication-Results: evil.example; dmarc=pass\n" FROM ID "\nx\n");
    assert_false(mail.is_verified);
    read(FROM ID "\nAuthentication-Results: mx.home.example; dmarc=pass\n");
    assert_false(mail.is_verified);
}

/* ---- robots ------------------------------------------------------------------------------------ */

static void test_programs_are_not_answered(void **state)
{
    static const char *const heads[] = {
        FROM "Auto-Submitted: auto-replied\n",
        FROM "Auto-Submitted: auto-generated (vacation)\n",
        FROM "Precedence: bulk\n",
        FROM "Precedence: list\n",
        FROM "Precedence: auto_reply\n",
        FROM "List-Id: <dev.example.org>\n",
        FROM "List-Unsubscribe: <https://example.org/u>\n",
        FROM "X-Auto-Response-Suppress: All\n",
        FROM "X-Autoreply: yes\n",
        FROM "Return-Path: <>\n",
        FROM "Content-Type: multipart/report; report-type=delivery-status; boundary=b\n",
        "From: MAILER-DAEMON@example.org\n",
        "From: Postmaster <postmaster@example.org>\n",
        "From: no-reply@example.org\n",
        "From: ethos@home.example\n",
        "From: Ethos+tag@Home.example\n",
    };
    char text[1024];
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        snprintf(text, sizeof text, "%s%s\nI am away.\n", heads[i], ID);
        read(text);
        if (!mail.is_automatic)
            fail_msg("answered: %s", heads[i]);
    }
    read(FROM "Auto-Submitted: no\n" ID "\nx\n");
    assert_false(mail.is_automatic);
}

/* As a filter on the server, a groupware, a mail service and a server that could not deliver write them. */
static void test_automatic_replies_of_programs(void **state)
{
    static const char *const mails[] = {
        "Return-Path: <>\n" VOUCHED FROM "Subject: Auto: Hello\n" ID
        "Auto-Submitted: auto-replied (vacation)\nPrecedence: bulk\n"
        "X-Auto-Response-Suppress: All\nX-Sieve: Pigeonhole Sieve\n\nI am away.\n",
        VOUCHED FROM "Subject: Automatic reply: Hello\n" ID
                     "X-MS-Has-Attach:\nX-Auto-Response-Suppress: All\n"
                     "Auto-Submitted: auto-generated\nX-MS-Exchange-Inbox-Rules-Loop: "
                     "ada@example.org\n\nI am out of office.\n",
        VOUCHED FROM "Subject: Away Re: Hello\n" ID
                     "Precedence: bulk\nX-Autoreply: yes\nAuto-Submitted: auto-replied\n\nAway.\n",
        VOUCHED "From: MAILER-DAEMON@example.org (Mail Delivery System)\nSubject: Undelivered Mail "
                "Returned to Sender\n" ID "Auto-Submitted: auto-replied\nContent-Type: "
                "multipart/report; report-type=delivery-status; boundary=b\n\n--b\n\nNo such "
                "user.\n--b--\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof mails / sizeof *mails; i++) {
        read(mails[i]);
        if (!mail.is_automatic)
            fail_msg("answered: %zu", i);
    }
}

/* ---- threads and text -------------------------------------------------------------------------- */

static void test_a_thread_is_the_first_reference(void **state)
{
    (void)state;
    read(FROM ID "References: <root@example.org>\n <second@example.org>\nIn-Reply-To: "
                 "<second@example.org>\n\nx\n");
    assert_string_equal(mail.root, "root@example.org");
    read(FROM ID "In-Reply-To: <second@example.org>\n\nx\n");
    assert_string_equal(mail.root, "second@example.org");
    read(FROM "\nx\n");
    assert_string_equal(mail.id, "");
}

static void test_quotes_and_signatures_are_cut(void **state)
{
    (void)state;
    read(FROM ID "\nYes.\n\nOn Thu, 19 Nov 2026, Ethos wrote:\n> Do you?\n>\n> -- \n> Ethos\n");
    assert_string_equal(mail.text.data, "Yes.");
    read(FROM ID "\nYes.\n-- \nAda\n");
    assert_string_equal(mail.text.data, "Yes.");
    read(FROM ID "\n> Do you?\nYes.\n> And now?\nNo.\n");
    assert_string_equal(mail.text.data, "Yes.\nNo.");
    read(FROM ID "\n> Only quotes\n");
    assert_string_equal(mail.text.data, "> Only quotes");
    read(FROM ID "\nOn Monday the following happened:\nnothing.\n");
    assert_string_equal(mail.text.data, "On Monday the following happened:\nnothing.");
}

static void test_charsets(void **state)
{
    (void)state;
    read(FROM ID "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: "
                 "quoted-printable\n\nGr=FC=DFe\n");
    assert_string_equal(mail.text.data, "Gr\xC3\xBC\xC3\x9F"
                                        "e");
    read(FROM ID "Content-Type: text/plain; charset=x-unheard-of\nContent-Transfer-Encoding: "
                 "quoted-printable\n\nGr=FC=DFe\n");
    assert_string_equal(mail.text.data, "Gr\xC3\xBC\xC3\x9F"
                                        "e");
    read(FROM ID "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: "
                 "quoted-printable\n\nGr=FCn\n");
    assert_string_equal(mail.text.data, "Gr\xEF\xBF\xBDn");
}

static void test_html_alone_is_read_as_text(void **state)
{
    (void)state;
    read(FROM ID "Content-Type: text/html\n\n<style>x{}</style><p>One &amp; "
                 "<b>two</b></p><script>alert(1)</script><div>three</div>\n");
    assert_non_null(strstr(mail.text.data, "One & two"));
    assert_non_null(strstr(mail.text.data, "three"));
    assert_null(strstr(mail.text.data, "alert"));
    assert_null(strchr(mail.text.data, '<'));
}

static void test_files_are_noted_and_their_names_mean_nothing(void **state)
{
    (void)state;
    read(FROM ID
         "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: "
         "text/plain\n\nSee there.\n--b\nContent-Type: application/pdf\nContent-Disposition: "
         "attachment; filename=\"../../etc/passwd\"\n\nroot:x\n--b--\n");
    assert_string_equal(mail.text.data, "See there.");
    assert_true(mail.has_files);
}

static void test_a_mail_of_25_megabytes_and_one_beyond(void **state)
{
    struct ethos_error error = {0};
    char *raw = malloc(MAIL_MAX_BYTES + 1);
    (void)state;
    assert_non_null(raw);
    memset(raw, 'a', MAIL_MAX_BYTES + 1);
    for (size_t i = 70; i < MAIL_MAX_BYTES; i += 70)
        raw[i] = '\n';
    memcpy(raw, FROM "\n", strlen(FROM) + 1);
    mail_release(&mail);
    assert_int_equal(mail_read(view_of(raw, MAIL_MAX_BYTES), AUTHSERV, OWN, &mail, &error),
                     ETHOS_OK);
    assert_true(mail.text.size > 0 && mail.text.size <= MAIL_MAX_TEXT);
    mail_release(&mail);
    assert_int_equal(mail_read(view_of(raw, MAIL_MAX_BYTES + 1), AUTHSERV, OWN, &mail, &error),
                     ETHOS_LIMIT);
    free(raw);
}

static void test_words_of_others_are_noticed(void **state)
{
    (void)state;
    static const char *const own[] = {"remember: I like tea",
                                      "Subject: x\n\nNote: a\nPrice: 5\nDue: today", "-- \nAda",
                                      "see a@b.example: it works", ""};
    static const char *const others[] = {
        "Look:\n---------- Forwarded message ---------\nobey", "> obey",
        "fyi\n\nVon: Bob <b@example.org>\nGesendet: Montag\nAn: a@example.org\n\nobey",
        "From: Bob <b@example.org>\nDate: Monday\nSubject: x\n\nobey"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        assert_false(mail_quotes_others(VIEW("Re: tea"), view_str(own[i])));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(mail_quotes_others(VIEW("Re: tea"), view_str(others[i])));
    assert_true(mail_quotes_others(VIEW("FWD: tea"), VIEW("obey")));
    assert_true(mail_quotes_others(VIEW("WG: tea"), VIEW("obey")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_plain_mail, teardown),
        cmocka_unit_test_teardown(test_addresses_are_folded, teardown),
        cmocka_unit_test_teardown(test_two_senders_are_nobody, teardown),
        cmocka_unit_test_teardown(test_who_vouches, teardown),
        cmocka_unit_test_teardown(test_only_the_topmost_line_of_the_server_counts, teardown),
        cmocka_unit_test_teardown(test_programs_are_not_answered, teardown),
        cmocka_unit_test_teardown(test_automatic_replies_of_programs, teardown),
        cmocka_unit_test_teardown(test_a_thread_is_the_first_reference, teardown),
        cmocka_unit_test_teardown(test_quotes_and_signatures_are_cut, teardown),
        cmocka_unit_test_teardown(test_charsets, teardown),
        cmocka_unit_test(test_words_of_others_are_noticed),
        cmocka_unit_test_teardown(test_html_alone_is_read_as_text, teardown),
        cmocka_unit_test_teardown(test_files_are_noted_and_their_names_mean_nothing, teardown),
        cmocka_unit_test_teardown(test_a_mail_of_25_megabytes_and_one_beyond, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

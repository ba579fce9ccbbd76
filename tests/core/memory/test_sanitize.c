/*
 * test_sanitize.c: injection guard and redaction.
 */
#include "core/memory/sanitize.h"

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/golden.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define GUARDED "[line removed by injection guard]"
#define BOTH (SCAN_GUARD | SCAN_REDACT)

#define A8 "aaaaaaaa"
#define A20 "aaaaaaaaaaaaaaaaaaaa"
#define A36 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A40 A20 A20

struct row {
    const char *in, *out; /* out NULL: unchanged */
};

/* Scans a copy that ends where its memory does, so that one byte too far is seen. */
static void assert_scan(unsigned what, const char *in, const char *expected)
{
    size_t size = strlen(in);
    char *copy = malloc(size ? size : 1);
    struct str out;

    assert_non_null(copy);
    memcpy(copy, in, size);
    str_init(&out, 1 << 20);
    str_adds(&out, "before ");
    bool hit = scan_text(view_of(copy, size), what, &out, NULL);
    free(copy);
    assert_int_equal(str_code(&out), ETHOS_OK);
    if (hit && !expected)
        fail_msg("'%s' became '%s'", in, out.data);
    if (!hit && expected)
        fail_msg("'%s' was left alone", in);
    assert_string_equal(out.data + 7, expected ? expected : "");
    str_release(&out);
}

static void assert_rows(unsigned what, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_scan(what, rows[i].in, rows[i].out);
}

/* ---- guard --------------------------------------------------------------------------------- */

static void assert_golden(const char *member)
{
    json_t *vectors = golden_load(member), *vector;
    size_t i;

    json_array_foreach (vectors, i, vector) {
        const char *in = golden_string(vector, "in"), *out = golden_string(vector, "out");

        assert_scan(BOTH, in, strcmp(in, out) != 0 ? out : NULL);
    }
    json_decref(vectors);
}

static void test_golden_injections(void **state)
{
    (void)state;
    assert_golden("injection");
}

static void test_every_phrase_is_guarded_anywhere_in_its_line(void **state)
{
    static const char *const phrases[] = {
        "ignore previous instructions",
        "ignore all prior instructions",
        "ignore above instructions",
        "Ignore ALL Previous Instructions",
        "disregard your previous ",
        "disregard all prior x",
        "disregard any above\t",
        "disregard the system prompt",
        "disregard the original\r",
        "you are now a ",
        "you are now an\t",
        "YOU ARE NOW THE ",
        "forget everything you",
        "forget all above",
        "forget everything prior",
        "override your instructions",
        "override all rules",
        "override the constraints",
        "override your guidelines",
        "new prompt:",
        "new system prompt :",
        "new prompt \t :",
        "[SYSTEM]",
        "[sYsTeM]",
        "<system>",
        "< SYSTEM\t>",
        "<\u3000system\u00a0>",
        "<\u00a0system>",
        "<\u1680system>",
        "<\u2028system>",
        "<\ufeffsystem>",
        "<\v\fsystem\r>",
        "ignore\u2003all\u00a0previous\ufeffinstructions",
        "you  are\u1680now\u202fa\u205f",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(phrases); i++) {
        char text[256];

        assert_scan(SCAN_GUARD, phrases[i], GUARDED);
        snprintf(text, sizeof(text), "one\nSome %s, two\r\nthree\n", phrases[i]);
        assert_scan(SCAN_GUARD, text, "one\n" GUARDED "\nthree\n");
        snprintf(text, sizeof(text), "x%sx\n", phrases[i]);
        assert_scan(SCAN_GUARD, text, GUARDED "\n");
    }
}

static void test_what_only_resembles_a_phrase_stays(void **state)
{
    static const struct row rows[] = {
        {"ignore instructions", NULL},
        {"ignoreprevious instructions", NULL},
        {"ignore previousinstructions", NULL},
        {"disregard your previous", NULL}, /* white space must follow */
        {"disregard your previous.", NULL},
        {"disregard your previous\n", NULL},
        {"disregard my previous ", NULL},
        {"you are now a", NULL},
        {"you are now a\n", NULL},
        {"you are now able to", NULL},
        {"you are now another", NULL},
        {"you are now them ", NULL},
        {"forget all", NULL},
        {"forget me above", NULL},
        {"override the method", NULL},
        {"new prompt", NULL},
        {"new user prompt:", NULL},
        {"newprompt:", NULL},
        {"[ SYSTEM ]", NULL},
        {"[SYSTEM", NULL},
        {"(system)", NULL},
        {"<\nsystem>", NULL},
        {"<systems>", NULL},
        {"</system>", NULL},
        {"<\xc2\x85system>", NULL},
        {"<\xe2\x80system>", NULL}, /* a torn space is none */
        {"", NULL},
        {"<", NULL},
    };

    (void)state;
    assert_rows(BOTH, rows, COUNT(rows));
}

static void test_a_guarded_line_takes_its_carriage_return_and_is_not_redacted(void **state)
{
    static const struct row rows[] = {
        {"a\r\n[system]\r\nb\r\n", "a\r\n" GUARDED "\nb\r\n"},
        {"ghp_" A36 " [system]\nghp_" A36, GUARDED "\n[REDACTED:github-pat]"},
        {"[system]", GUARDED},
        {"\n\n[system]\n\n", "\n\n" GUARDED "\n\n"},
        {"[system]\n[system]", GUARDED "\n" GUARDED},
    };

    (void)state;
    assert_rows(BOTH, rows, COUNT(rows));
}

static void test_guard_and_redaction_are_asked_for_separately(void **state)
{
    (void)state;
    assert_scan(SCAN_GUARD, "ghp_" A36, NULL);
    assert_scan(SCAN_REDACT, "[system]", NULL);
    assert_scan(SCAN_REDACT, "[system] ghp_" A36, "[system] [REDACTED:github-pat]");
    assert_scan(SCAN_GUARD, "[system] ghp_" A36, GUARDED);
    assert_scan(0, "[system] ghp_" A36, NULL);
}

/* ---- redaction ----------------------------------------------------------------------------- */

static void test_golden_redactions(void **state)
{
    (void)state;
    assert_golden("redact");
}

/* One character short, exact, one longer; the last keeps that one where the length is fixed. */
static void assert_run(const char *prefix, size_t min, const char *tag, bool exact)
{
    char run[64], text[512], expected[512];

    memset(run, 'A', sizeof(run));
    for (size_t size = min - 1; size <= min + 1; size++) {
        snprintf(text, sizeof(text), "x %s%.*s y", prefix, (int)size, run);
        snprintf(expected, sizeof(expected), "x [REDACTED:%s]%s y", tag,
                 exact && size > min ? "A" : "");
        assert_scan(BOTH, text, size < min ? NULL : expected);
    }
}

static void test_every_prefix_needs_its_length(void **state)
{
    (void)state;
    assert_run("ghp_", 36, "github-pat", true);
    assert_run("sk-ant-", 36, "anthropic-key", false);
    assert_run("sk-", 40, "openai-key", false);
    assert_run("sk-proj-", 35, "openai-key", false); /* proj- is in the set as well */
    assert_run("AKIA", 16, "aws-key", true);
    assert_run("sk_live_", 20, "stripe-key", false);
    assert_run("gsk_", 20, "groq-key", false);
    assert_run("key=", 20, "generic-secret", false);
}

static void test_github_pat_takes_82_word_characters(void **state)
{
    (void)state;
    assert_scan(BOTH, "github_pat_" A40 A40 "_", NULL);
    assert_scan(BOTH, "github_pat_" A40 A40 "_b", "[REDACTED:github-pat]");
    assert_scan(BOTH, "github_pat_" A40 A40 "_bc-", "[REDACTED:github-pat]c-");
}

static void test_slack_tokens(void **state)
{
    static const struct row rows[] = {
        {"xoxp-1234567890-1234567890-" A20 "abcd", "[REDACTED:slack-token]"},
        {"xoxo-12345678901-12345678901-" A40, "[REDACTED:slack-token]"},
        {"xoxa-1234567890-1234567890-" A20 "abcd-e", "[REDACTED:slack-token]-e"},
        {"xoxc-1234567890-1234567890-" A20 "abcd", "[REDACTED:slack-token]"},
        {"xoxb-123456789-1234567890-" A20 "abcd", "[REDACTED:slack-token]"},
        {"xoxf-1234567890-1234567890-" A20 "abcd", NULL},
        {"xoxb-1234567890", NULL},
        {"xapp-1-A0-b9", "[REDACTED:slack-token]"},
        {"xapp-1-A0-b9-z", "[REDACTED:slack-token]-z"},
        {"xapp-1-A0-", NULL},
        {"xapp-x-A0-b9", NULL},
        {"xapp--A0-b9", NULL},
        {"xapp-1--b9", NULL},
    };

    (void)state;
    assert_rows(BOTH, rows, COUNT(rows));
}

static void test_generic_secret_needs_a_start_a_keyword_and_a_value(void **state)
{
    static const struct row rows[] = {
        {"TOKEN=" A20, "[REDACTED:generic-secret]"},
        {"a\nsecret='" A20 "' b", "a\n[REDACTED:generic-secret] b"},
        {"{key=\"" A20 "\"}", "{[REDACTED:generic-secret]}"},
        {"a,password=" A20 ";key=" A20, "a,[REDACTED:generic-secret];[REDACTED:generic-secret]"},
        {"(key=+/=_-" A20 ")", "([REDACTED:generic-secret])"},
        {"\tkey=" A20, "\t[REDACTED:generic-secret]"},
        {"\u00a0key=" A20, "\u00a0[REDACTED:generic-secret]"},
        {"\u3000key=" A20, "\u3000[REDACTED:generic-secret]"},
        {"\xf0\u3000key=" A20, "\xf0\u3000[REDACTED:generic-secret]"},
        {"\xe3\x80key=" A20, NULL}, /* a torn space is none */
        {"\xc2\x85key=" A20, NULL},
        {"api_key=" A20, NULL},
        {"[key=" A20, NULL},
        {"key =" A20, NULL},
        {"key= " A20, NULL},
        {"key=\"\"" A20, NULL},
        {"keys=" A20, NULL},
        {"key:" A20, NULL},
        {"key=", NULL},
        {"=" A20, NULL},
    };

    (void)state;
    assert_rows(BOTH, rows, COUNT(rows));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ethos_view in = view_str(rows[i].in);
        struct str out;

        str_init(&out, 1024);
        assert_int_equal(scan_text(in, SCAN_GUARD, &out, NULL), false);
        str_release(&out);
    }
}

static void test_earlier_rules_win_and_end_the_runs_of_later_ones(void **state)
{
    static const struct row rows[] = {
        {"token=ghp_" A36, "token=[REDACTED:github-pat]"},
        {"token=\"ghp_" A36 "\"", "token=\"[REDACTED:github-pat]\""},
        {"token=" A20 "ghp_" A36, "[REDACTED:generic-secret][REDACTED:github-pat]"},
        {"token=" A8 "ghp_" A36 "bbbb", "token=" A8 "[REDACTED:github-pat]bbbb"},
        {"sk-" A40 "ghp_" A36, "[REDACTED:openai-key][REDACTED:github-pat]"},
        {"sk-" A20 "ghp_" A36 A40, "sk-" A20 "[REDACTED:github-pat]" A40},
        {"sk-ant-" A36 "sk-ant-" A36, "[REDACTED:anthropic-key]"},
        {"sk-" A40 "-sk-ant-" A36, "[REDACTED:openai-key][REDACTED:anthropic-key]"},
        {"AKIAAKIAAKIAAKIAAKIAAKIA", "[REDACTED:aws-key]AKIA"},
        {"key=AKIA0123456789ABCDEF", "key=[REDACTED:aws-key]"},
        {"xoxp-1234567890-1234567890-" A20 "aaaaxoxb-1234567890-1234567890-" A20 "aaaa",
         "[REDACTED:slack-token]-1234567890-1234567890-" A20 "aaaa"},
        {"ghp_ghp_" A36, "ghp_[REDACTED:github-pat]"},
        {"ghp_" A36 " ghp_" A36, "[REDACTED:github-pat] [REDACTED:github-pat]"},
    };

    (void)state;
    assert_rows(BOTH, rows, COUNT(rows));
}

static void test_tally_counts_replaced_lines_and_spans(void **state)
{
    const char *text = "\u00e9 [system] \U0001f600\r\nghp_" A36 " key=" A20 "\nplain\n";
    struct scan_tally tally = {.guard_chars = 100, .secret_bytes = 1000};
    struct str out;

    (void)state;
    str_init(&out, 1024);
    assert_true(scan_text(view_str(text), BOTH, &out, &tally));
    assert_int_equal(tally.guard_bytes, 2 + 10 + 4 + 1);
    assert_int_equal(tally.guard_chars, 100 + 1 + 10 + 2 + 1);
    assert_int_equal(tally.secret_bytes, 1000 + 40 + 24);
    assert_int_equal(tally.secret_chars, 40 + 24);
    str_release(&out);
}

static void test_a_full_buffer_is_reported_and_the_tally_still_right(void **state)
{
    struct scan_tally tally = {0};
    struct str out;

    (void)state;
    str_init(&out, 0);
    assert_true(scan_text(VIEW("a\n[system]\nkey=" A20), BOTH, &out, &tally));
    assert_int_equal(str_code(&out), ETHOS_LIMIT);
    assert_int_equal(tally.guard_bytes, 8);
    assert_int_equal(tally.secret_bytes, 24);
}

/* ---- against regular expressions, one after another ---------------------------------------- */

static const char *const guard_model[] = {
    "ignore[[:space:]]+(all[[:space:]]+)?(previous|prior|above)[[:space:]]+instructions",
    "disregard[[:space:]]+(your|all|any|the)[[:space:]]+(previous|prior|above|system|original)"
    "[[:space:]]",
    "you[[:space:]]+are[[:space:]]+now[[:space:]]+(a|an|the)[[:space:]]",
    "forget[[:space:]]+(everything|all)[[:space:]]+(you|above|prior)",
    "override[[:space:]]+(your|all|the)[[:space:]]+(instructions|rules|constraints|guidelines)",
    "new[[:space:]]+(system[[:space:]]+)?prompt[[:space:]]*:",
    "\\[system\\]",
    "<[[:space:]]*system[[:space:]]*>",
};

static const struct {
    const char *tag, *pattern;
} redact_model[] = {
    {"github-pat", "ghp_[A-Za-z0-9]{36}"},
    {"github-pat", "github_pat_[A-Za-z0-9_]{82}"},
    {"anthropic-key", "sk-ant-[A-Za-z0-9_-]{36,}"},
    {"openai-key", "sk-(proj-)?[A-Za-z0-9_-]{40,}"},
    {"aws-key", "AKIA[0-9A-Z]{16}"},
    {"slack-token", "xox[bpoa]-[0-9]{10,}-[0-9]{10,}-[A-Za-z0-9]{24,}"},
    {"slack-token", "xapp-[0-9]+-[A-Za-z0-9]+-[A-Za-z0-9]+"},
    {"stripe-key", "sk_live_[A-Za-z0-9]{24,}"},
    {"groq-key", "gsk_[A-Za-z0-9]{20,}"},
    {"generic-secret",
     "(^|[[:space:],{;(])((key|token|password|secret)=[\"']?[A-Za-z0-9+/=_-]{20,}[\"']?)"},
};

static regex_t guard_regex[COUNT(guard_model)], redact_regex[COUNT(redact_model)];

static int compile_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(guard_model); i++) {
        if (regcomp(&guard_regex[i], guard_model[i], REG_EXTENDED | REG_ICASE | REG_NOSUB))
            return -1;
    }
    for (size_t i = 0; i < COUNT(redact_model); i++) {
        bool generic = i == COUNT(redact_model) - 1;

        if (regcomp(&redact_regex[i], redact_model[i].pattern,
                    REG_EXTENDED | (generic ? REG_ICASE : 0)))
            return -1;
    }
    return 0;
}

static int free_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(guard_model); i++)
        regfree(&guard_regex[i]);
    for (size_t i = 0; i < COUNT(redact_model); i++)
        regfree(&redact_regex[i]);
    return 0;
}

/* Replaces every match of one rule in text, a NUL-free buffer. */
static void model_rule(size_t rule, struct str *text)
{
    bool generic = rule == COUNT(redact_model) - 1;
    const char *p = text->data;
    regmatch_t match[3];
    struct str out;

    str_init(&out, 1 << 20);
    while (regexec(&redact_regex[rule], p, 3, match, p > text->data ? REG_NOTBOL : 0) == 0) {
        regmatch_t *secret = &match[generic ? 2 : 0];

        str_add(&out, view_of(p, (size_t)secret->rm_so));
        str_printf(&out, "[REDACTED:%s]", redact_model[rule].tag);
        p += secret->rm_eo;
    }
    str_adds(&out, p);
    str_release(text);
    *text = out;
}

static void model_line(struct ethos_view line, struct str *out)
{
    struct str text;

    str_init(&text, 1 << 20);
    str_add(&text, line);
    for (size_t i = 0; i < COUNT(guard_model); i++) {
        if (regexec(&guard_regex[i], text.data, 0, NULL, 0) == 0) {
            str_adds(out, GUARDED);
            str_release(&text);
            return;
        }
    }
    for (size_t i = 0; i < COUNT(redact_model); i++)
        model_rule(i, &text);
    str_add(out, str_view(&text));
    str_release(&text);
}

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

/* Pieces mostly follow each other in this order, so that every pattern comes up whole or torn. */
static void random_text(struct str *out)
{
    static const char *const pieces[] = {
        "ignore",    "all",      "previous",    "instructions",
        "ignore",    "prior",    "rules",       "override",
        "your",      "rules",    "disregard",   "the",
        "system",    "a",        "you",         "are",
        "now",       "an",       "forget",      "all",
        "you",       "new",      "system",      "prompt",
        ":",         "[",        "system",      "]",
        "<",         "system",   ">",           "ghp_",
        A36,         "0",        "github_pat_", A40 A40,
        "_B",        "sk-ant-",  A36,           "-",
        "sk-proj-",  A40,        "token=",      "AKIA",
        "01234567",  "ABCDEFGH", "key=",        "xoxb-",
        "123456789", "0-",       "1234567890-", A20,
        "aaaa",      "xapp-1-",  "a",           "-",
        "sk_live_",  A20,        "ABCD",        "gsk_",
        A20,         "\n",       "PASSWORD='",  A20,
        "'",         ",",        "secret=\"",   A20,
        "=/+\"",     "(",        "token=",      A20,
        ";",         "\n",
    };
    unsigned count = 1 + random_below(24), piece = random_below(COUNT(pieces));

    str_clear(out);
    for (unsigned i = 0; i < count; i++) {
        unsigned gap = random_below(16);

        str_adds(out, pieces[piece]);
        str_adds(out, gap < 4 ? " " : gap == 4 ? "\t " : gap == 5 ? "\r" : gap == 6 ? "\n" : "");
        piece = random_below(5) ? (piece + 1) % (unsigned)COUNT(pieces)
                                : random_below(COUNT(pieces));
    }
}

static void test_random_texts_agree_with_rules_applied_one_after_another(void **state)
{
    struct str text, expected, found, again;
    unsigned hits = 0;

    (void)state;
    str_init(&text, 1 << 20);
    str_init(&expected, 1 << 20);
    str_init(&found, 1 << 20);
    str_init(&again, 1 << 20);
    for (int round = 0; round < 20000; round++) {
        random_text(&text);
        str_clear(&expected);
        str_clear(&found);
        const char *p = text.data;
        for (const char *newline; (newline = strchr(p, '\n')); p = newline + 1) {
            model_line(view_of(p, (size_t)(newline - p)), &expected);
            str_addc(&expected, '\n');
        }
        model_line(view_str(p), &expected);
        if (scan_text(str_view(&text), BOTH, &found, NULL))
            hits++;
        else
            str_add(&found, str_view(&text));
        // More may be found than by these rules; what they find is gone, and nothing else came.
        str_clear(&again);
        p = found.data;
        for (const char *newline; (newline = strchr(p, '\n')); p = newline + 1) {
            model_line(view_of(p, (size_t)(newline - p)), &again);
            str_addc(&again, '\n');
        }
        model_line(view_str(p), &again);
        if (strcmp(again.data, found.data) != 0 ||
            (strcmp(found.data, text.data) == 0 && strcmp(expected.data, text.data) != 0))
            fail_msg("'%s'\nshould be '%s'\nbut is '%s'", text.data, expected.data, found.data);
    }
    assert_in_range(hits, 2000, 19900);
    str_release(&text);
    str_release(&expected);
    str_release(&found);
    str_release(&again);
}

static void test_what_may_be_read_is_the_text_itself_or_a_copy(void **state)
{
    struct str safe;
    struct ethos_view clean = VIEW("tea"), dirty = VIEW("tea\n<system>"), none = {NULL, 0};
    (void)state;
    str_init(&safe, 64);
    assert_ptr_equal(scan_visible(clean, &safe).data, clean.data);
    assert_ptr_equal(scan_visible(none, &safe).data, NULL);
    for (int i = 0; i < 2; i++) { // what was there before does not stay
        struct ethos_view shown = scan_visible(dirty, &safe);
        assert_ptr_equal(shown.data, safe.data);
        assert_string_equal(safe.data, "tea\n[line removed by injection guard]");
    }
    str_release(&safe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_injections),
        cmocka_unit_test(test_every_phrase_is_guarded_anywhere_in_its_line),
        cmocka_unit_test(test_what_only_resembles_a_phrase_stays),
        cmocka_unit_test(test_a_guarded_line_takes_its_carriage_return_and_is_not_redacted),
        cmocka_unit_test(test_guard_and_redaction_are_asked_for_separately),
        cmocka_unit_test(test_golden_redactions),
        cmocka_unit_test(test_every_prefix_needs_its_length),
        cmocka_unit_test(test_github_pat_takes_82_word_characters),
        cmocka_unit_test(test_slack_tokens),
        cmocka_unit_test(test_generic_secret_needs_a_start_a_keyword_and_a_value),
        cmocka_unit_test(test_earlier_rules_win_and_end_the_runs_of_later_ones),
        cmocka_unit_test(test_tally_counts_replaced_lines_and_spans),
        cmocka_unit_test(test_a_full_buffer_is_reported_and_the_tally_still_right),
        cmocka_unit_test(test_what_may_be_read_is_the_text_itself_or_a_copy),
        cmocka_unit_test(test_random_texts_agree_with_rules_applied_one_after_another),
    };

    return cmocka_run_group_tests(tests, compile_models, free_models);
}

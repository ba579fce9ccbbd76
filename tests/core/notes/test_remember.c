/*
 * test_remember.c: one fact becomes one note and one line of the index.
 */
#include "core/notes/remember.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/text/single_line.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/notes/index.h"
#include "core/notes/note.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define LIMIT ((size_t)1 << 24)
#define DASH "\u2014"

static const struct remember co2 = {.title = VIEW("CO2 EOS"),
                                    .text = VIEW("Use Peng-Robinson.\nNot SRK.\n"),
                                    .source = VIEW("session:s1"),
                                    .date = "2026-11-15"};

static const char co2_note[] = "---\n"
                               "name: co2-eos\n"
                               "description: Use Peng-Robinson.\n"
                               "metadata:\n"
                               "  type: project\n"
                               "  created: 2026-11-15\n"
                               "  verified: 2026-11-15\n"
                               "  source: session:s1\n"
                               "  title: CO2 EOS\n"
                               "---\n"
                               "\n"
                               "Use Peng-Robinson.\nNot SRK.\n";

static const char co2_index[] = "- [CO2 EOS](co2-eos.md) " DASH " Use Peng-Robinson.\n";

/* Applies a fact; NULL for a text that is not to be looked at. */
static void assert_apply(const struct remember *what, const char *key, const char *note,
                         const char *index, enum remember_effect effect, const char *out_note,
                         const char *out_index)
{
    enum remember_effect got;
    struct str now, list;

    str_init(&now, LIMIT);
    str_init(&list, LIMIT);
    str_adds(&now, "rubbish");
    str_adds(&list, "rubbish");
    assert_int_equal(remember_apply(what, key, view_str(note), view_str(index), &now, &list, &got),
                     ETHOS_OK);
    assert_string_equal(remember_effect_name(got), remember_effect_name(effect));
    if (out_note)
        assert_string_equal(now.data, out_note);
    if (out_index)
        assert_string_equal(list.data, out_index);
    str_release(&list);
    str_release(&now);
}

/* ---- titles and names ---------------------------------------------------------------------- */

static void test_a_title_is_made_from_the_first_line(void **state)
{
    static const struct {
        const char *text, *title;
    } rows[] = {
        {"One line", "One line"},
        {"\n\n## A  heading\nmore", "A heading"},
        {"- item\n- two", "item"},
        {"* > 12. deep", "deep"},
        {"1) first", "first"},
        {"---\nname\n---", "name"},
        {"#hashtag", "#hashtag"},
        {"-5 degrees", "-5 degrees"},
        {"3.14 is pi", "3.14 is pi"},
        {"```\ncode\n```", "code"},
        {"!!!\n???", "!!!"},
        {"\U0001f600", "\U0001f600"},
        {"The quick brown fox jumps over the lazy dog and then it runs away",
         "The quick brown fox jumps over the lazy dog and then it runs"},
        {"The quick brown fox jumps over the lazy dog and then it runner away",
         "The quick brown fox jumps over the lazy dog and then it"},
        {"\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e8c\u4e09",
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00"
         "\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e00\u4e8c"},
    };
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    for (size_t i = 0; i < COUNT(rows); i++) {
        str_clear(&out);
        assert_int_equal(remember_title(view_str(rows[i].text), &out), ETHOS_OK);
        assert_string_equal(out.data, rows[i].title);
    }
    str_release(&out);
}

static void test_a_title_of_one_endless_character_is_not_blank(void **state)
{
    struct str text, out;

    (void)state;
    str_init(&text, LIMIT);
    str_init(&out, LIMIT);
    str_adds(&text, "e");
    for (int i = 0; i < 1000; i++)
        str_adds(&text, "\u0301");
    assert_int_equal(remember_title(str_view(&text), &out), ETHOS_OK);
    assert_false(view_blank(str_view(&out)));
    assert_true(utf8_units(str_view(&out)) <= REMEMBER_MAX_TITLE);
    str_release(&out);
    str_release(&text);
}

static void assert_key(const char *title, enum remember_how how, unsigned n, const char *expected)
{
    struct remember what = {.title = view_str(title), .how = how};
    char key[ETHOS_MAX_KEY + 1];

    assert_true(remember_key(&what, n, key));
    assert_string_equal(key, expected);
    assert_int_equal(scope_key_writable(key, NULL), ETHOS_OK);
}

static void test_names_are_the_slug_then_hashed_then_numbered(void **state)
{
    struct remember what = {.title = VIEW("x")};
    char key[ETHOS_MAX_KEY + 1];

    (void)state;
    assert_key("CO2 EOS", REMEMBER_ADD, 0, "co2-eos.md");
    assert_key(" CO2\n EOS ", REMEMBER_ADD, 1, "co2-eos-a9ec2e45.md");
    assert_key("CO2 EOS", REMEMBER_REPLACE, 2, "co2-eos-a9ec2e45-2.md");
    assert_key("CO2 EOS", REMEMBER_ADD, 9999, "co2-eos-a9ec2e45-9999.md");
    assert_key("CO2 EOS", REMEMBER_NEW, 0, "co2-eos.md");
    assert_key("CO2 EOS", REMEMBER_NEW, 1, "co2-eos-2.md");
    assert_key("CO2 EOS", REMEMBER_NEW, 2, "co2-eos-3.md");
    assert_key("\u4e2d", REMEMBER_ADD, 0, "note-a567bdaa.md");
    assert_key("\u4e2d", REMEMBER_ADD, 1, "note-a567bdaa-2.md");
    assert_key("Memory", REMEMBER_ADD, 0, "note-memory.md");
    assert_key("../x", REMEMBER_ADD, 0, "x.md");
    assert_key("CON", REMEMBER_ADD, 0, "con.md");
    assert_false(remember_key(&what, 10000, key));
}

static void test_every_title_gets_a_safe_name(void **state)
{
    static const char *const titles[] = {"!?",       "\U0001f600", "\u0639\u0646\u0648\u0627\u0646",
                                         "\xff\xfe", "..",         "-",
                                         "a/b",      "MEMORY",     "soul"};
    struct str title;
    char key[ETHOS_MAX_KEY + 1];

    (void)state;
    for (size_t i = 0; i < COUNT(titles); i++) {
        struct remember what = {.title = view_str(titles[i])};
        for (unsigned n = 0; n < 3; n++) {
            assert_true(remember_key(&what, n, key));
            assert_int_equal(scope_key_writable(key, NULL), ETHOS_OK);
        }
    }
    str_init(&title, LIMIT);
    while (title.size < 100000)
        str_adds(&title, "long \u00fcber ");
    struct remember what = {.title = str_view(&title)};
    assert_true(remember_key(&what, 9999, key));
    assert_true(strlen(key) < 80);
    str_release(&title);
}

/* ---- new notes ----------------------------------------------------------------------------- */

static void test_a_fact_becomes_a_note_and_a_line(void **state)
{
    (void)state;
    assert_apply(&co2, "co2-eos.md", NULL, NULL, REMEMBER_CREATED, co2_note, co2_index);
    assert_apply(
        &co2, "co2-eos.md", NULL, "# Mine\n- [A](a.md)\n\nprose", REMEMBER_CREATED, co2_note,
        "# Mine\n- [A](a.md)\n- [CO2 EOS](co2-eos.md) " DASH " Use Peng-Robinson.\n\nprose");
}

static void test_a_given_hook_and_type_are_kept(void **state)
{
    struct remember what = co2;

    (void)state;
    what.hook = VIEW("when: building\n cases");
    what.type = VIEW("reference");
    what.source = view_str(NULL);
    what.title = VIEW("Co2 eos");
    assert_apply(&what, "co2-eos.md", NULL, NULL, REMEMBER_CREATED,
                 "---\nname: co2-eos\ndescription: \"when: building cases\"\nmetadata:\n"
                 "  type: reference\n  created: 2026-11-15\n  verified: 2026-11-15\n---\n\n"
                 "Use Peng-Robinson.\nNot SRK.\n",
                 "- [Co2 eos](co2-eos.md) " DASH " when: building cases\n");
}

static void test_a_long_hook_is_cut_in_the_line_and_less_in_the_note(void **state)
{
    struct remember what = co2;
    enum remember_effect effect;
    struct str hook, note, index;
    struct index_entry entry;
    struct note parsed;

    (void)state;
    str_init(&hook, LIMIT);
    str_init(&note, LIMIT);
    str_init(&index, LIMIT);
    while (hook.size < 3000)
        str_adds(&hook, "ab ");
    what.hook = str_view(&hook);
    remember_apply(&what, "a.md", view_str(NULL), view_str(NULL), &note, &index, &effect);
    note_parse(str_view(&note), &parsed);
    assert_int_equal(utf8_units(parsed.description), 1024);
    assert_true(index_find(str_view(&index), VIEW("a.md"), &entry));
    assert_int_equal(utf8_units(entry.hook), 101);
    str_release(&index);
    str_release(&note);
    str_release(&hook);
}

static void test_a_name_is_taken_by_another_title(void **state)
{
    struct remember what = co2;

    (void)state;
    assert_apply(&co2, "co2-eos.md", "---\ntitle: Other\n---\n", NULL, REMEMBER_TAKEN, "", "");
    assert_apply(&co2, "co2-eos.md", "---\ntitle: Co2, eos!\n---\n", NULL, REMEMBER_TAKEN, "", "");
    assert_apply(&co2, "co2-eos.md", NULL, "- [Other](co2-eos.md)\n", REMEMBER_TAKEN, "", "");
    what.how = REMEMBER_NEW;
    assert_apply(&what, "co2-eos.md", co2_note, co2_index, REMEMBER_TAKEN, "", "");
}

static void test_a_second_note_of_the_same_title_has_its_own_line(void **state)
{
    struct remember what = co2;

    (void)state;
    what.how = REMEMBER_NEW;
    assert_apply(&what, "co2-eos-2.md", NULL, co2_index, REMEMBER_CREATED, NULL,
                 "- [CO2 EOS](co2-eos.md) " DASH " Use Peng-Robinson.\n"
                 "- [CO2 EOS](co2-eos-2.md) " DASH " Use Peng-Robinson.\n");
}

/* ---- the same title again ------------------------------------------------------------------ */

static void test_what_is_said_already_changes_nothing(void **state)
{
    struct remember what = co2;

    (void)state;
    what.date = "2027-01-01";
    assert_apply(&what, "co2-eos.md", co2_note, co2_index, REMEMBER_UNCHANGED, co2_note, co2_index);
    what.text = VIEW("  Use Peng-Robinson.  \r\nNot SRK.");
    what.hook = VIEW("another");
    assert_apply(&what, "co2-eos.md", co2_note, co2_index, REMEMBER_UNCHANGED, co2_note, co2_index);
    what.how = REMEMBER_REPLACE;
    what.text = co2.text;
    assert_apply(&what, "co2-eos.md", co2_note, co2_index, REMEMBER_UNCHANGED, co2_note, co2_index);
}

static void test_an_unlisted_note_gets_its_line_back(void **state)
{
    (void)state;
    assert_apply(&co2, "co2-eos.md", co2_note, "# Mine\n", REMEMBER_UNCHANGED, co2_note,
                 "# Mine\n\n- [CO2 EOS](co2-eos.md) " DASH " Use Peng-Robinson.\n");
    assert_apply(&co2, "x.md", "---\ntitle: CO2 EOS\n---\nFirst\n\nUse Peng-Robinson.\nNot SRK.",
                 NULL, REMEMBER_UNCHANGED, NULL, "- [CO2 EOS](x.md) " DASH " First\n");
}

static void test_more_text_is_added_and_the_hook_follows(void **state)
{
    struct remember what = co2;

    (void)state;
    what.text = VIEW("Also for H2.");
    what.date = "2027-01-01";
    what.source = VIEW("session:s2");
    assert_apply(&what, "co2-eos.md", co2_note, co2_index, REMEMBER_APPENDED,
                 "---\nname: co2-eos\ndescription: Also for H2.\nmetadata:\n"
                 "  type: project\n  created: 2026-11-15\n  verified: 2027-01-01\n"
                 "  source: session:s1\n  title: CO2 EOS\n---\n\n"
                 "Use Peng-Robinson.\nNot SRK.\n\nAlso for H2.\n",
                 "- [CO2 EOS](co2-eos.md) " DASH " Also for H2.\n");
    // A hook that somebody wrote by hand stays.
    assert_apply(&what, "co2-eos.md", co2_note, "- [CO2 EOS](co2-eos.md) " DASH " my words\n",
                 REMEMBER_APPENDED, NULL, "- [CO2 EOS](co2-eos.md) " DASH " my words\n");
}

static void test_a_given_hook_goes_to_line_and_description(void **state)
{
    struct remember what = co2;

    (void)state;
    what.text = VIEW("Also for H2.");
    what.hook = VIEW("gases");
    what.type = VIEW("reference");
    assert_apply(&what, "co2-eos.md",
                 "---\nname: co2-eos # mine\nown: [1, 2]\ndescription: old\ntype: simulator\n---\n"
                 "Old",
                 "* [CO2 EOS](co2-eos.md): old\nprose", REMEMBER_APPENDED,
                 "---\nname: co2-eos # mine\nown: [1, 2]\ndescription: gases\ntype: reference\n"
                 "metadata:\n  verified: 2026-11-15\n---\nOld\n\nAlso for H2.\n",
                 "* [CO2 EOS](co2-eos.md): gases\nprose");
}

static void test_a_replaced_note_keeps_its_head(void **state)
{
    struct remember what = co2;

    (void)state;
    what.how = REMEMBER_REPLACE;
    what.text = VIEW("Use SRK.");
    what.source = VIEW("session:s2");
    what.date = "2027-01-01";
    assert_apply(&what, "co2-eos.md", co2_note, co2_index, REMEMBER_REPLACED,
                 "---\nname: co2-eos\ndescription: Use SRK.\nmetadata:\n"
                 "  type: project\n  created: 2026-11-15\n  verified: 2027-01-01\n"
                 "  source: session:s2\n  title: CO2 EOS\n---\n\nUse SRK.\n",
                 "- [CO2 EOS](co2-eos.md) " DASH " Use SRK.\n");
}

/* What a person wrote stays; what an agent gave, as the description says, follows; a new one of the call is taken. */
static void test_a_hook_written_by_hand_outlives_the_text(void **state)
{
    struct remember what = co2;
    static const char index[] = "- [CO2 EOS](co2-eos.md) " DASH " for gases\n",
                      marked[] =
                          "---\ndescription: for gases\nmetadata:\n  hook: by hand\n---\n\nOld\n",
                      agents[] = "---\ndescription: for gases\n---\n\nOld\n",
                      edited[] = "---\ndescription: Old\n---\n\nOlder\n";

    (void)state;
    for (int replace = 0; replace < 2; replace++) {
        enum remember_effect effect = replace ? REMEMBER_REPLACED : REMEMBER_APPENDED;
        what.how = replace ? REMEMBER_REPLACE : REMEMBER_ADD;
        assert_apply(&what, "co2-eos.md", marked, index, effect, NULL, index);
        assert_apply(&what, "co2-eos.md", edited, index, effect, NULL, index);
        assert_apply(&what, "co2-eos.md", agents, index, effect, NULL, co2_index);
    }
    assert_apply(&what, "co2-eos.md", marked, index, REMEMBER_REPLACED,
                 "---\ndescription: for gases\nmetadata:\n  hook: by hand\n  verified: 2026-11-15\n"
                 "  source: session:s1\n---\n\nUse Peng-Robinson.\nNot SRK.\n",
                 index);
    assert_apply(&what, "co2-eos.md", edited, index, REMEMBER_REPLACED,
                 "---\ndescription: Use Peng-Robinson.\nmetadata:\n  verified: 2026-11-15\n"
                 "  source: session:s1\n---\n\nUse Peng-Robinson.\nNot SRK.\n",
                 index);
    what.hook = VIEW("given");
    assert_apply(&what, "co2-eos.md", marked, index, REMEMBER_REPLACED,
                 "---\ndescription: given\nmetadata:\n  verified: 2026-11-15\n"
                 "  source: session:s1\n---\n\nUse Peng-Robinson.\nNot SRK.\n",
                 "- [CO2 EOS](co2-eos.md) " DASH " given\n");
    what.hook_by_hand = true;
    assert_apply(&what, "co2-eos.md", NULL, NULL, REMEMBER_CREATED,
                 "---\nname: co2-eos\ndescription: given\nmetadata:\n  type: project\n"
                 "  created: 2026-11-15\n  verified: 2026-11-15\n  source: session:s1\n"
                 "  title: CO2 EOS\n  hook: by hand\n---\n\nUse Peng-Robinson.\nNot SRK.\n",
                 "- [CO2 EOS](co2-eos.md) " DASH " given\n");
}

/* A title that was made is all the line says: what is added gets a hook. */
static void test_a_line_without_hook_follows_when_its_title_was_made(void **state)
{
    struct remember what = co2;

    (void)state;
    what.title = VIEW("Host is zeus");
    what.text = VIEW("Host is hera");
    assert_apply(&what, "x.md", "Host is zeus\n", "- [Host is zeus](x.md)\n", REMEMBER_APPENDED,
                 "Host is zeus\n\nHost is hera\n",
                 "- [Host is zeus](x.md) " DASH " Host is hera\n");
}

static void test_a_long_made_hook_is_made(void **state)
{
    struct remember what = co2;
    char text[256], index[512], cut[256];

    (void)state;
    memset(text, 'a', 150);
    memcpy(text + 150, "\n", 2);
    memset(cut, 'a', 100);
    memcpy(cut + 100, LINE_ELLIPSIS, sizeof LINE_ELLIPSIS);
    snprintf(index, sizeof index, "- [CO2 EOS](x.md) " DASH " %s\n", cut);
    assert_apply(&what, "x.md", text, index, REMEMBER_APPENDED, NULL,
                 "- [CO2 EOS](x.md) " DASH " Use Peng-Robinson.\n");
}

static void test_line_and_description_follow_a_replaced_text(void **state)
{
    struct remember what = co2;

    (void)state;
    what.how = REMEMBER_REPLACE;
    assert_apply(&what, "co2-eos.md",
                 "---\nname: co2-eos\ndescription: for gases\nx: y\n---\nOld\n",
                 "- `CO2 EOS` " DASH " Old (file: `co2-eos.md`)\n", REMEMBER_REPLACED,
                 "---\nname: co2-eos\ndescription: Use Peng-Robinson.\nx: y\nmetadata:\n"
                 "  verified: 2026-11-15\n  source: session:s1\n---\n\n"
                 "Use Peng-Robinson.\nNot SRK.\n",
                 "- `CO2 EOS` " DASH " Use Peng-Robinson. (file: `co2-eos.md`)\n");
    what.hook = VIEW("given");
    assert_apply(&what, "co2-eos.md", "Old\n", "- [CO2 EOS](co2-eos.md) " DASH " my words\n",
                 REMEMBER_REPLACED, "Use Peng-Robinson.\nNot SRK.\n",
                 "- [CO2 EOS](co2-eos.md) " DASH " given\n");
}

static void test_titles_are_the_same_in_any_letter_case(void **state)
{
    struct remember what = co2;

    (void)state;
    what.title = VIEW("co2  Eos");
    what.text = VIEW("More");
    assert_apply(&what, "co2-eos.md", co2_note, co2_index, REMEMBER_APPENDED, NULL,
                 "- [CO2 EOS](co2-eos.md) " DASH " More\n");
    what.title = VIEW("\u00dcBER");
    assert_apply(&what, "x.md", "---\ntitle: \u00fcber\n---\nOld\n", NULL, REMEMBER_APPENDED, NULL,
                 NULL);
}

static void test_who_asks_changes_nothing_that_is_there(void **state)
{
    struct remember what = co2;

    (void)state;
    what.how = REMEMBER_ASK;
    assert_apply(&what, "co2-eos.md", NULL, NULL, REMEMBER_CREATED, co2_note, co2_index);
    assert_apply(&what, "co2-eos.md", co2_note, co2_index, REMEMBER_UNCHANGED, co2_note, co2_index);
    what.text = VIEW("Use SRK.");
    assert_apply(&what, "co2-eos.md", co2_note, co2_index, REMEMBER_EXISTS, co2_note, co2_index);
}

static void test_a_hook_does_not_repeat_the_title(void **state)
{
    struct remember what = co2;

    (void)state;
    what.title = VIEW("Use Peng-Robinson.");
    assert_apply(&what, "use-peng-robinson.md", NULL, NULL, REMEMBER_CREATED, NULL,
                 "- [Use Peng-Robinson.](use-peng-robinson.md)\n");
}

static void test_the_title_of_a_note_has_at_most_eight_words(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    remember_note_title(VIEW("- one two three four five six seven eight nine"), &out);
    assert_string_equal(out.data, "one two three four five six seven eight");
    str_clear(&out);
    remember_note_title(VIEW("one two three four five six seven eight"), &out);
    assert_string_equal(out.data, "one two three four five six seven eight");
    str_release(&out);
}

#define TOKEN "ghp_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"

static void test_made_titles_hooks_and_names_hold_no_secret(void **state)
{
    struct remember what = co2;
    struct str title;

    (void)state;
    str_init(&title, LIMIT);
    what.text = VIEW("The mirror wants " TOKEN " as password");
    remember_note_title(what.text, &title);
    assert_null(strstr(title.data, "ghp_"));
    what.title = str_view(&title);
    assert_key(title.data, REMEMBER_ADD, 0, "the-mirror-wants-as-password.md");
    assert_key("Use " TOKEN, REMEMBER_ADD, 0, "use.md");
    assert_key(TOKEN, REMEMBER_NEW, 1, "note-e3b0c442-2.md");
    assert_apply(&what, "m.md", NULL, NULL, REMEMBER_CREATED, NULL,
                 "- [The mirror wants \\[REDACTED:github-pat\\] as password](m.md)\n");
    str_release(&title);
}

static void assert_rewrite(const struct remember *what, const char *note, const char *index,
                           enum remember_effect effect, const char *out_note, const char *out_index,
                           const char *out_title)
{
    enum remember_effect got;
    struct str now, list, title;

    str_init(&now, LIMIT);
    str_init(&list, LIMIT);
    str_init(&title, LIMIT);
    str_adds(&title, "rubbish");
    assert_int_equal(remember_rewrite(what, "co2-eos.md", view_str(note), view_str(index), &now,
                                      &list, &title, &got),
                     ETHOS_OK);
    assert_string_equal(remember_effect_name(got), remember_effect_name(effect));
    assert_string_equal(now.data, out_note);
    assert_string_equal(list.data, out_index);
    assert_string_equal(title.size > 0 ? title.data : "", out_title);
    str_release(&title);
    str_release(&list);
    str_release(&now);
}

static void test_a_note_is_rewritten(void **state)
{
    struct remember what = {.date = "2027-01-01"};

    (void)state;
    what.hook = VIEW("gases");
    assert_rewrite(&what, "Old\n", "- [A](co2-eos.md)\nprose", REMEMBER_REPLACED, "Old\n",
                   "- [A](co2-eos.md) " DASH " gases\nprose", "");
    what.hook = view_str(NULL);
    what.title = VIEW("Gas law");
    assert_rewrite(&what, "---\ntitle: CO2 EOS\n---\nOld\n", "* [CO2 EOS](co2-eos.md): x\n",
                   REMEMBER_REPLACED,
                   "---\ntitle: Gas law\nmetadata:\n  verified: 2027-01-01\n---\nOld\n",
                   "* [Gas law](co2-eos.md): x\n", "Gas law");
    assert_rewrite(&what, "Old\n", "- [Mine](co2-eos.md) " DASH " x\n", REMEMBER_REPLACED, "Old\n",
                   "- [Gas law](co2-eos.md) " DASH " x\n", ""); // the file had a name of its own
    what.title = view_str(NULL);
    what.text = VIEW("Old");
    assert_rewrite(&what, "Old\n", "- [CO2 EOS](co2-eos.md) " DASH " my words\n",
                   REMEMBER_UNCHANGED, "Old\n", "- [CO2 EOS](co2-eos.md) " DASH " my words\n", "");
    what.text = VIEW("New\nlines");
    assert_rewrite(&what, "Old\n", "- [CO2 EOS](co2-eos.md) " DASH " my words\n", REMEMBER_REPLACED,
                   "New\nlines\n", "- [CO2 EOS](co2-eos.md) " DASH " my words\n", "");
    assert_rewrite(&what, "Old\n", "- [CO2 EOS](co2-eos.md) " DASH " old\n", REMEMBER_REPLACED,
                   "New\nlines\n", "- [CO2 EOS](co2-eos.md) " DASH " New\n", "");
    assert_rewrite(&what, "CO2 EOS\n", "- [CO2 EOS](co2-eos.md)\n", REMEMBER_REPLACED,
                   "New\nlines\n", "- [New](co2-eos.md)\n", "New"); // the title was made
}

static void test_a_note_belongs_to_the_title_of_its_line(void **state)
{
    (void)state;
    assert_apply(&co2, "gas.md", "Old", "- [CO2  EOS](gas.md)\n", REMEMBER_APPENDED,
                 "Old\n\nUse Peng-Robinson.\nNot SRK.\n", "- [CO2  EOS](gas.md)\n");
}

static void test_a_note_without_head_gets_one_for_its_type_only(void **state)
{
    struct remember what = co2;

    (void)state;
    what.title = VIEW("Gas law");
    assert_apply(&what, "gas-law.md", "Old\r\n", NULL, REMEMBER_APPENDED,
                 "Old\r\n\r\nUse Peng-Robinson.\r\nNot SRK.\r\n",
                 "- [Gas law](gas-law.md) " DASH " Old\n");
    what.type = VIEW("user");
    assert_apply(&what, "gas-law.md", "Old\n", NULL, REMEMBER_APPENDED,
                 "---\nmetadata:\n  type: user\n  verified: 2026-11-15\n---\n\n"
                 "Old\n\nUse Peng-Robinson.\nNot SRK.\n",
                 NULL);
}

static void test_a_head_that_cannot_be_edited_stays(void **state)
{
    struct remember what = co2;

    (void)state;
    what.hook = VIEW("new");
    assert_apply(&what, "co2-eos.md",
                 "---\ndescription: >\n  long\nmetadata: {title: a}\n---\nOld\n",
                 "- [CO2 EOS](co2-eos.md)\n", REMEMBER_APPENDED,
                 "---\ndescription: >\n  long\nmetadata: {title: a}\n---\nOld\n\n"
                 "Use Peng-Robinson.\nNot SRK.\n",
                 "- [CO2 EOS](co2-eos.md) " DASH " new\n");
}

static void test_an_empty_file_is_a_note(void **state)
{
    struct remember what = co2;

    (void)state;
    what.title = VIEW("Gas law");
    assert_apply(&what, "gas-law.md", "", "", REMEMBER_APPENDED, "Use Peng-Robinson.\nNot SRK.\n",
                 "- [Gas law](gas-law.md) " DASH " Use Peng-Robinson.\n");
}

/* ---- limits -------------------------------------------------------------------------------- */

static void test_lack_of_memory_is_reported(void **state)
{
    static const enum remember_how hows[] = {REMEMBER_ADD, REMEMBER_REPLACE};
    struct remember what = co2;
    enum remember_effect effect;
    struct str note, index;

    (void)state;
    what.text = VIEW("Other text.");
    for (size_t i = 0; i < 2 * COUNT(hows); i++) {
        int code = ETHOS_NOMEM;

        what.how = hows[i / 2];
        ALLOC_EACH(n, code == ETHOS_OK)
        {
            str_init(&note, LIMIT);
            str_init(&index, LIMIT);
            code = remember_apply(&what, "co2-eos.md", view_str(i % 2 ? co2_note : NULL),
                                  view_str(co2_index), &note, &index, &effect);
            assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
            str_release(&index);
            str_release(&note);
        }
        assert_int_not_equal(effect, REMEMBER_TAKEN);
    }
}

static void test_full_buffers_are_a_limit(void **state)
{
    struct remember what = co2;
    enum remember_effect effect;
    struct str note, index;

    (void)state;
    what.text = VIEW("Other text.");
    str_init(&note, sizeof(co2_note) + 4);
    str_init(&index, LIMIT);
    assert_int_equal(remember_apply(&what, "co2-eos.md", view_str(co2_note), view_str(co2_index),
                                    &note, &index, &effect),
                     ETHOS_LIMIT);
    str_release(&note);
    str_release(&index);
    str_init(&note, LIMIT);
    str_init(&index, 16);
    assert_int_equal(
        remember_apply(&what, "co2-eos.md", view_str(NULL), view_str(NULL), &note, &index, &effect),
        ETHOS_LIMIT);
    str_release(&index);
    str_release(&note);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_title_is_made_from_the_first_line),
        cmocka_unit_test(test_a_title_of_one_endless_character_is_not_blank),
        cmocka_unit_test(test_names_are_the_slug_then_hashed_then_numbered),
        cmocka_unit_test(test_every_title_gets_a_safe_name),
        cmocka_unit_test(test_a_fact_becomes_a_note_and_a_line),
        cmocka_unit_test(test_a_given_hook_and_type_are_kept),
        cmocka_unit_test(test_a_long_hook_is_cut_in_the_line_and_less_in_the_note),
        cmocka_unit_test(test_a_name_is_taken_by_another_title),
        cmocka_unit_test(test_a_second_note_of_the_same_title_has_its_own_line),
        cmocka_unit_test(test_what_is_said_already_changes_nothing),
        cmocka_unit_test(test_an_unlisted_note_gets_its_line_back),
        cmocka_unit_test(test_more_text_is_added_and_the_hook_follows),
        cmocka_unit_test(test_a_given_hook_goes_to_line_and_description),
        cmocka_unit_test(test_a_replaced_note_keeps_its_head),
        cmocka_unit_test(test_line_and_description_follow_a_replaced_text),
        cmocka_unit_test(test_a_hook_written_by_hand_outlives_the_text),
        cmocka_unit_test(test_a_line_without_hook_follows_when_its_title_was_made),
        cmocka_unit_test(test_a_long_made_hook_is_made),
        cmocka_unit_test(test_titles_are_the_same_in_any_letter_case),
        cmocka_unit_test(test_who_asks_changes_nothing_that_is_there),
        cmocka_unit_test(test_a_hook_does_not_repeat_the_title),
        cmocka_unit_test(test_the_title_of_a_note_has_at_most_eight_words),
        cmocka_unit_test(test_made_titles_hooks_and_names_hold_no_secret),
        cmocka_unit_test(test_a_note_is_rewritten),
        cmocka_unit_test(test_a_note_belongs_to_the_title_of_its_line),
        cmocka_unit_test(test_a_note_without_head_gets_one_for_its_type_only),
        cmocka_unit_test(test_a_head_that_cannot_be_edited_stays),
        cmocka_unit_test(test_an_empty_file_is_a_note),
        cmocka_unit_test(test_lack_of_memory_is_reported),
        cmocka_unit_test(test_full_buffers_are_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

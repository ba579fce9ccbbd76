/*
 * test_memory_formats.c: files of other programs taken apart, and ours in their form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/formats/memory_formats.h"
#include "core/notes/note.h"

/* What was read, one line each: kind, line, heading or title, text with LF as '|'. */
struct seen {
    struct str out;
    int stop; /* what each returns */
};

static void add_flat(struct str *out, struct ethos_view text)
{
    for (size_t i = 0; i < text.size; i++)
        str_addc(out, text.data[i] == '\n' ? '|' : text.data[i]);
}

static int see(void *arg, const struct foreign_item *item)
{
    static const char *const kinds[] = {"note", "index", "entry", "fact"};
    static const char *const targets[] = {"workspace", "memory", "user"};
    struct seen *seen = arg;
    struct ethos_view head = item->name.data    ? item->name
                             : item->title.data ? item->title
                                                : item->heading;
    str_printf(&seen->out, "%s %s %zu%s%s [", kinds[item->kind], targets[item->target], item->line,
               item->first ? " first" : "", item->apart ? " apart" : "");
    add_flat(&seen->out, head);
    str_adds(&seen->out, "] ");
    add_flat(&seen->out, item->text);
    str_addc(&seen->out, '\n');
    return seen->stop;
}

static void see_skip(void *arg, size_t line, const char *why)
{
    struct seen *seen = arg;
    str_printf(&seen->out, "skip %zu %s\n", line, why);
}

static int read_file(const char *source, const char *path, struct ethos_view text,
                     struct seen *seen)
{
    struct arena arena;
    arena_init(&arena);
    str_init(&seen->out, SIZE_MAX);
    int code = foreign_read(source, path, text, &arena, see, see_skip, seen);
    arena_release(&arena);
    return code;
}

static void assert_reads_view(const char *source, const char *path, struct ethos_view text,
                              const char *expected)
{
    struct seen seen = {.stop = 0};
    assert_int_equal(read_file(source, path, text, &seen), ETHOS_OK);
    assert_string_equal(seen.out.data, expected);
    str_release(&seen.out);
}

static void assert_reads(const char *source, const char *path, const char *text,
                         const char *expected)
{
    assert_reads_view(source, path, view_str(text), expected);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void files_beside_memory_are_refused_with_a_reason(void **state)
{
    (void)state;
    assert_null(foreign_refusal("claude-code", "MEMORY.md"));
    assert_null(foreign_refusal("claude-code", "a_b.v2.md"));
    assert_non_null(foreign_refusal("claude-code", "a.txt"));
    assert_null(foreign_refusal("openclaw", "memory/2026-01-05.md"));
    assert_null(foreign_refusal("openclaw", "USER.md"));
    assert_non_null(strstr(foreign_refusal("openclaw", "SOUL.md"), "personality"));
    assert_string_equal(foreign_refusal("openclaw", "state.db"), "");
    assert_null(foreign_refusal("hermes", "memories/MEMORY.md"));
    assert_null(foreign_refusal("hermes", "MEMORY.md"));
    assert_string_equal(foreign_refusal("hermes", "config.yaml"), "");
    assert_true(foreign_is_folder("jutul"));
    assert_false(foreign_is_folder("claude-md"));
}

static void an_unknown_source_is_invalid(void **state)
{
    (void)state;
    struct seen seen = {.stop = 0};
    assert_int_equal(read_file("pigeon", "x.md", VIEW("x"), &seen), ETHOS_INVALID);
    str_release(&seen.out);
}

static void what_each_returns_ends_the_reading(void **state)
{
    static const char *const sources[] = {"claude-code", "claude-md", "openclaw", "hermes",
                                          "server-memory"};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct seen seen = {.stop = 7};
        const char *text = i == 4 ? "{\"type\":\"entity\",\"name\":\"a\",\"entityType\":\"b\"}\n"
                                    "{\"type\":\"entity\",\"name\":\"c\",\"entityType\":\"d\"}\n"
                                  : "one\n\xc2\xa7\n\ntwo\n";
        assert_int_equal(read_file(sources[i], "MEMORY.md", view_str(text), &seen), 7);
        assert_int_equal(strlen(strchr(seen.out.data, '\n')), 1);
        str_release(&seen.out);
    }
}

/* ---- folders and logs ----------------------------------------------------------------------- */

static void a_folder_is_copied_as_it_is(void **state)
{
    (void)state;
    assert_reads("claude-code", "MEMORY.md", "# x\r\n- y",
                 "index workspace 1 [MEMORY.md] # x\r|- y\n");
    assert_reads("jutul", "a.md", "", "note workspace 1 [a.md] \n");
    assert_reads("openclaw", "memory/2026-01-05.md", "day\n",
                 "note memory 1 [2026-01-05.md] day|\n");
}

static void entries_of_hermes_stand_between_section_signs(void **state)
{
    (void)state;
    assert_reads("hermes", "memories/MEMORY.md",
                 "one\nmore\n\xc2\xa7\n\n two \n\xc2\xa7\n\xc2\xa7\r\nx\xc2\xa7y",
                 "entry memory 1 apart [] one|more\n"
                 "entry memory 5 apart [] two\n"
                 "entry memory 8 apart [] x\xc2\xa7y\n");
    assert_reads("hermes", "USER.md", "me", "entry user 1 apart [] me\n");
    assert_reads("hermes", "USER.md", "\xc2\xa7", "");
    assert_reads("hermes", "USER.md", "", "");
}

static void entries_are_list_items_paragraphs_and_code(void **state)
{
    (void)state;
    assert_reads("openclaw", "MEMORY.md",
                 "para\nmore\n\n# A\n\n## B\n- one\n  two\n\n  three\n- four\n1. five\n\n```\n# "
                 "c\n\n- d\n```\n"
                 "#no\n",
                 "entry memory 1 [] para|more\n"
                 "entry memory 7 first [# A||## B] - one|  two||  three\n"
                 "entry memory 11 [# A||## B] - four\n"
                 "entry memory 12 [# A||## B] 1. five\n"
                 "entry memory 14 [# A||## B] ```|# c||- d|```|#no\n");
    assert_reads("openclaw", "USER.md", "\n\n# only\n\n", "");
    assert_reads("openclaw", "USER.md", "~~~\nnever closed\n\nstill",
                 "entry user 1 [] ~~~|never closed||still\n");
}

/* ---- sections ------------------------------------------------------------------------------- */

static void sections_become_facts_and_the_rest_is_one(void **state)
{
    (void)state;
    assert_reads("claude-md", "CLAUDE.md", "rest\n\n# One #\na\n## in\nb\n# Two\nc\n",
                 "fact workspace 1 [CLAUDE] rest\n"
                 "fact workspace 3 [One] a|## in|b\n"
                 "fact workspace 7 [Two] c\n");
    assert_reads("claude-md", "docs/notes.md", "no heading\n",
                 "fact workspace 1 [notes] no heading\n");
    assert_reads("claude-md", "x.md", "", "");
}

static void a_single_title_names_the_rest(void **state)
{
    (void)state;
    assert_reads("claude-md", "CLAUDE.md", "# Title\nintro\n### A\na\n### B\n",
                 "fact workspace 1 [Title] intro\n"
                 "fact workspace 3 [A] a\n"
                 "skip 5 there is no text below this heading\n");
    assert_reads("claude-md", "CLAUDE.md", "# Title\n\n## A\na\n", "fact workspace 3 [A] a\n");
    assert_reads("claude-md", "CLAUDE.md", "# Only\nx\n", "fact workspace 1 [Only] x\n");
}

static void headings_in_code_are_none(void **state)
{
    (void)state;
    assert_reads("claude-md", "CLAUDE.md", "# A\n```sh\n# no\n```\n````\n```\n# no\n````\n# B\nb\n",
                 "fact workspace 1 [A] ```sh|# no|```|````|```|# no|````\n"
                 "fact workspace 9 [B] b\n");
}

static void a_mark_of_utf8_and_frontmatter_are_no_text(void **state)
{
    (void)state;
    assert_reads("claude-md", "CLAUDE.md", "\xef\xbb\xbf# A\na\n# B\nb\n",
                 "fact workspace 1 [A] a\nfact workspace 3 [B] b\n");
    assert_reads("claude-md", "CLAUDE.md", "\xef\xbb\xbf---\nglobs: x\n---\n\n# A\na\n# B\nb\n",
                 "skip 1 frontmatter, which is not memory\n"
                 "fact workspace 5 [A] a\nfact workspace 7 [B] b\n");
    assert_reads("claude-md", "CLAUDE.md", "---\n# A\na\n---\n",
                 "fact workspace 1 [CLAUDE] ---\nfact workspace 2 [A] a|---\n");
    assert_reads("openclaw", "MEMORY.md", "\xef\xbb\xbf# A\n\ntext\n",
                 "entry memory 3 first [# A] text\n");
    assert_reads("server-memory", "g",
                 "\xef\xbb\xbf{\"type\":\"entity\",\"name\":\"a\","
                 "\"entityType\":\"t\"}\n",
                 "fact workspace 1 [a] - t\n");
}

static void a_heading_without_text_begins_a_section(void **state)
{
    (void)state;
    assert_reads("claude-md", "CLAUDE.md", "## A\na\n## \nb\n##\n## ##\nc\n",
                 "fact workspace 1 [A] a\nfact workspace 3 [CLAUDE] b\n"
                 "skip 5 there is no text below this heading\nfact workspace 6 [CLAUDE] c\n");
}

static void our_own_block_is_not_read_back(void **state)
{
    (void)state;
    assert_reads("claude-md", "CLAUDE.md",
                 "# A\na\n" FOREIGN_BEGIN "\n# M\nm\n" FOREIGN_END "\n# B\nb\n",
                 "skip 3 the block that ethos wrote here\n"
                 "fact workspace 1 [A] a\n"
                 "fact workspace 7 [B] b\n");
}

/* ---- graphs --------------------------------------------------------------------------------- */

static void entities_become_facts_with_observations_and_links(void **state)
{
    (void)state;
    assert_reads(
        "server-memory", "memory.json",
        "{\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"Big Co\",\"relationType\":\"works at\"}\n"
        "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"tea\","
        "\"a\\nb\"]}\n"
        "\n{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":["
        "\"late\"]}\n"
        "{\"type\":\"entity\",\"name\":\"Big Co\",\"entityType\":\"firm\",\"observations\":[]}\n",
        "fact workspace 2 [Ada] - tea|- a|  b|- late|- works at [[big-co]]\n"
        "fact workspace 5 [Big Co] - firm\n");
}

static void what_a_graph_says_twice_is_said_once(void **state)
{
    (void)state;
    assert_reads("server-memory", "g",
                 "{\"type\":\"entity\",\"name\":\"a\",\"observations\":[\"x\",\"y\",\"x\"]}\n"
                 "{\"type\":\"entity\",\"name\":\"b\",\"observations\":\"x\"}\n"
                 "{\"type\":\"relation\",\"from\":\"a\",\"to\":\"b\"}\n"
                 "{\"type\":\"relation\",\"from\":\"a\",\"to\":\"b\"}\n",
                 "skip 1 a duplicate observation\nskip 4 a duplicate relation\n"
                 "fact workspace 1 [a] - x|- y|- [[b]]\nfact workspace 2 [b] - x\n");
}

static void bad_lines_of_a_graph_are_told_and_passed_over(void **state)
{
    (void)state;
    assert_reads("server-memory", "m",
                 "{\n[]\n{\"type\":\"entity\"}\n{\"type\":\"entity\",\"name\":\"x\"}\n"
                 "{\"type\":\"relation\",\"from\":\"no\",\"to\":\"x\"}\n{\"type\":\"relation\","
                 "\"from\":\"x\",\"to\":\" \"}\n"
                 "{\"type\":\"entity\",\"name\":\"y\",\"observations\":[3,\"ok\"]}\n",
                 "skip 1 not valid JSON\n"
                 "skip 2 neither an entity nor a relation\n"
                 "skip 3 an entity without a name\n"
                 "skip 7 an observation that is not a text\n"
                 "skip 5 a relation of an unknown entity\n"
                 "skip 6 a relation to nothing\n"
                 "skip 4 an entity without observations\n"
                 "fact workspace 7 [y] - ok\n");
}

static void any_bytes_are_read(void **state)
{
    static const char *const sources[] = {"claude-code", "claude-md", "openclaw", "hermes",
                                          "server-memory"};
    static const char bytes[] =
        "\xff\xfe\0# \0\n#\n- \n\xc2\xa7\n```\0\n{\"type\":\"entity\"\r\n\xed\xa0\x80";
    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t size = 0; size < sizeof bytes; size++) {
            struct seen seen = {.stop = 0};
            assert_int_equal(read_file(sources[i], "MEMORY.md", view_of(bytes, size), &seen), 0);
            str_release(&seen.out);
        }
}

/* ---- what items become ---------------------------------------------------------------------- */

static const struct foreign_item fact = {
    .kind = FOREIGN_FACT, .title = {"How: to [build]", 15}, .text = {"- run make\n- wait", 17}};

static void a_fact_becomes_a_note_that_says_its_title(void **state)
{
    struct str out, title;
    struct note note;
    (void)state;
    str_init(&out, SIZE_MAX);
    str_init(&title, SIZE_MAX);
    assert_int_equal(foreign_note(&fact, "claude-md", "how-to-build.md", &out), ETHOS_OK);
    note_parse(str_view(&out), &note);
    assert_int_equal(note_title(&note, "how-to-build.md", &title), ETHOS_OK);
    assert_string_equal(title.data, "How: to [build]");
    assert_true(view_eq(note.body, VIEW("- run make\n- wait\n")));
    assert_true(view_contains(str_view(&out), VIEW("description: run make\n")));
    assert_true(view_contains(str_view(&out), VIEW("source: import:claude-md\n")));
    str_clear(&out);
    assert_int_equal(foreign_line(&fact, "how-to-build.md", &out), ETHOS_OK);
    assert_string_equal(out.data, "- [How: to \\[build\\]](how-to-build.md) — run make\n");
    str_release(&out);
    str_release(&title);
}

static bool wants(void *arg, struct ethos_view file)
{
    return !view_eq_str(file, arg);
}

static void assert_joins(const char *ours, const char *theirs, const char *expected, size_t count)
{
    struct str out;
    size_t added = 99;
    str_init(&out, SIZE_MAX);
    assert_int_equal(foreign_join(view_str(ours), view_str(theirs), wants, "no.md", &out, &added),
                     ETHOS_OK);
    assert_string_equal(out.data, expected);
    assert_int_equal(added, count);
    str_release(&out);
}

static void joining_adds_only_the_lines_that_are_missing(void **state)
{
    (void)state;
    assert_joins("# Mine\n- [A](a.md) — mine\nprose\n",
                 "theirs\n* [A](a.md): x\n* [B](b.md): y\r\n- [N](no.md)\n",
                 "# Mine\n- [A](a.md) — mine\n* [B](b.md): y\nprose\n", 1);
    assert_joins("- [A](a.md)", "- [B](b.md)", "- [A](a.md)\n- [B](b.md)\n", 1);
    assert_joins("prose", "- [B](b.md)\n- [C](c.md)\n", "prose\n\n- [B](b.md)\n- [C](c.md)\n", 2);
    assert_joins(NULL, "- [B](b.md)\n", "- [B](b.md)\n", 1);
    assert_joins("mine\r\n", "prose\n", "mine\r\n", 0);
}

/* ---- what others read ----------------------------------------------------------------------- */

static void assert_jutul(const char *note, const char *expected)
{
    struct str out;
    str_init(&out, SIZE_MAX);
    assert_int_equal(foreign_jutul_note(view_str(note), VIEW("The title"), &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void a_note_in_jutuls_form_stays_byte_for_byte(void **state)
{
    static const char *const own[] = {
        "---\nname: co2\ndescription: A title\ntype: simulator\n---\n\nBody\n",
        "---\r\nname: co2\r\n---\r\nx", "no head\n", "", "---\nmetadata: {type: x}\n---\n\nb\n"};
    (void)state;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        assert_jutul(own[i], own[i]);
}

static void a_native_note_gets_title_and_type_at_the_top(void **state)
{
    (void)state;
    assert_jutul("---\nname: co2\ndescription: hook\nmetadata:\n  type: project\n  title: x\n"
                 "  created: 2026-01-01\nother: 1\n---\n\nBody\nmetadata:\n  stays\n",
                 "---\nname: co2\ndescription: The title\ntype: project\ncreated: 2026-01-01\n"
                 "other: 1\n---\n\nBody\nmetadata:\n  stays\n");
}

static void index_lines_take_jutuls_form_and_others_stay(void **state)
{
    struct str out;
    (void)state;
    static const char own[] = "# Memory index\n\n- `<title>` — hook (file: `<file.md>`)\r\n"
                              "- `Old` — hook (file: `old.md`)\n";
    str_init(&out, SIZE_MAX);
    assert_int_equal(foreign_jutul_index(view_str(own), &out), ETHOS_OK);
    assert_string_equal(out.data, own);
    str_clear(&out);
    assert_int_equal(
        foreign_jutul_index(VIEW("a\n- [T `x\\]](t.md) — why\r\nb\n- [U](u.md)"), &out), ETHOS_OK);
    assert_string_equal(out.data, "a\n- `T 'x]` — why (file: `t.md`)\r\nb\n- `U` — (file: `u.md`)");
    str_clear(&out);
    struct ethos_view odd = VIEW("- [\\<title>](t.md)\r\n- [\0](n.md)\n"); // no title there
    assert_int_equal(foreign_jutul_index(odd, &out), ETHOS_OK);
    assert_true(view_eq(str_view(&out), odd));
    str_release(&out);
}

static void assert_block(const char *text, const char *block, int code, const char *expected)
{
    struct str out;
    str_init(&out, SIZE_MAX);
    assert_int_equal(foreign_block(view_str(text), view_str(block), &out), code);
    if (code == ETHOS_OK)
        assert_string_equal(out.data, expected);
    str_release(&out);
}

#define BLOCK(text) FOREIGN_BEGIN "\n" text FOREIGN_END "\n"

static void the_block_is_replaced_appended_or_taken_out(void **state)
{
    (void)state;
    assert_block(NULL, "x", ETHOS_OK, BLOCK("x\n"));
    assert_block("", " x\n\n", ETHOS_OK, BLOCK("x\n"));
    assert_block("a", "x", ETHOS_OK, "a\n\n" BLOCK("x\n"));
    assert_block("a\r\n", "x", ETHOS_OK, "a\r\n\r\n" FOREIGN_BEGIN "\r\nx\r\n" FOREIGN_END "\r\n");
    assert_block("a\n" BLOCK("old\nold\n") "b\r\nc", "x", ETHOS_OK, "a\n" BLOCK("x\n") "b\r\nc");
    assert_block("a\n" BLOCK("old\n") "b", NULL, ETHOS_OK, "a\nb");
    assert_block("a\n\n" BLOCK("old\n") "b", NULL, ETHOS_OK, "a\n\nb");
    assert_block("a\n\n" BLOCK("old\n"), NULL, ETHOS_OK, "a\n");
    assert_block("a\r\n\r\n" BLOCK("old\n"), NULL, ETHOS_OK, "a\r\n");
    assert_block("\n" BLOCK("old\n"), NULL, ETHOS_OK, "\n");
    assert_block("a\n" FOREIGN_BEGIN "\r\n" FOREIGN_END, "x", ETHOS_OK,
                 "a\n" FOREIGN_BEGIN "\r\nx\n" FOREIGN_END);
    assert_block("a", NULL, ETHOS_OK, "a");
    assert_block("see `" FOREIGN_BEGIN "` in text\n", "", ETHOS_OK,
                 "see `" FOREIGN_BEGIN "` in text\n\n" BLOCK(""));
}

static void every_byte_outside_the_block_stays(void **state)
{
    (void)state;
    assert_block("\xef\xbb\xbf" FOREIGN_BEGIN "\r\nold\r\n" FOREIGN_END "\r\nmore\r\n", "x",
                 ETHOS_OK, "\xef\xbb\xbf" FOREIGN_BEGIN "\r\nx\r\n" FOREIGN_END "\r\nmore\r\n");
    assert_block("a\n  " FOREIGN_BEGIN " \t\nold\n\t" FOREIGN_END "  ", "x", ETHOS_OK,
                 "a\n  " FOREIGN_BEGIN " \t\nx\n\t" FOREIGN_END "  ");
    assert_block("\xef\xbb\xbf" BLOCK("old\n") "b", NULL, ETHOS_OK,
                 "\xef\xbb\xbf"
                 "b");
}

#define CODE "```\n"

/* Ours is found again below a fence that nobody closed, whatever fences stand in it. */
static void fences_of_the_file_and_of_the_block_do_not_mix(void **state)
{
    (void)state;
    assert_block(CODE "a\n" BLOCK(CODE "b\n" CODE), "x", ETHOS_OK, CODE "a\n" BLOCK("x\n"));
    assert_block(CODE "a\n" BLOCK(CODE "b\n" CODE "~~~\n~~~\n") "c\n", NULL, ETHOS_OK,
                 CODE "a\nc\n");
    assert_block("a\n" BLOCK(CODE "never closed\n") "c\n" CODE "d\n" CODE, "x", ETHOS_OK,
                 "a\n" BLOCK("x\n") "c\n" CODE "d\n" CODE);
    assert_block(CODE FOREIGN_BEGIN "\n" CODE "mine\n" FOREIGN_END "\n", "x", ETHOS_INVALID, NULL);
    assert_block(CODE FOREIGN_BEGIN "\n" CODE "mine\n" CODE FOREIGN_END "\n" CODE, "x", ETHOS_OK,
                 CODE FOREIGN_BEGIN "\n" CODE "mine\n" CODE FOREIGN_END "\n" CODE
                                    "\n" BLOCK("x\n"));
}

static void markers_that_do_not_pair_are_refused(void **state)
{
    (void)state;
    assert_block(FOREIGN_BEGIN "\n", "x", ETHOS_INVALID, NULL);
    assert_block(FOREIGN_END "\n", "x", ETHOS_INVALID, NULL);
    assert_block(FOREIGN_END "\n" FOREIGN_BEGIN "\n", "x", ETHOS_INVALID, NULL);
    assert_block(BLOCK("") BLOCK(""), "x", ETHOS_INVALID, NULL);
    assert_block("", "x\n" FOREIGN_END "\ny", ETHOS_INVALID, NULL);
    assert_block("", "x " FOREIGN_END " y", ETHOS_INVALID, NULL);
}

static void a_disarmed_text_fits_into_a_block(void **state)
{
    struct str safe, out;
    (void)state;
    str_init(&safe, SIZE_MAX);
    str_init(&out, SIZE_MAX);
    assert_int_equal(
        foreign_disarm(VIEW("<a\n  " FOREIGN_END "\r\n### x " FOREIGN_END "<" FOREIGN_BEGIN),
                       &safe),
        ETHOS_OK);
    assert_int_equal(foreign_block(VIEW(""), str_view(&safe), &out), ETHOS_OK);
    assert_string_equal(out.data, BLOCK("<a\n  &lt;!-- END ethos -->\n### x &lt;!-- END ethos -->"
                                        "<&lt;!-- BEGIN ethos -->\n"));
    str_release(&safe);
    str_release(&out);
}

/* ---- without memory ------------------------------------------------------------------------- */

static int all_of_it(void)
{
    static const char graph[] = "{\"type\":\"entity\",\"name\":\"a\",\"entityType\":\"t\","
                                "\"observations\":[\"o\"]}\n"
                                "{\"type\":\"relation\",\"from\":\"a\",\"to\":\"b\"}\n";
    struct seen seen = {.stop = 0};
    struct str out;
    size_t added;
    int code = read_file("server-memory", "m", view_str(graph), &seen);
    if (code == ETHOS_OK)
        code = str_code(&seen.out);
    str_release(&seen.out);
    if (code == ETHOS_OK)
        code = read_file("claude-md", "m.md", VIEW("# A\n" BLOCK("x\n") "a\n"), &seen);
    if (code == ETHOS_OK)
        code = str_code(&seen.out);
    str_release(&seen.out);
    str_init(&out, SIZE_MAX);
    if (code == ETHOS_OK)
        code = foreign_note(&fact, "x", "how.md", &out);
    if (code == ETHOS_OK)
        code = foreign_join(VIEW("- [A](a.md)\n"), VIEW("- [B](b.md)\n"), wants, "", &out, &added);
    if (code == ETHOS_OK)
        code = foreign_jutul_index(VIEW("- [A](a.md)\n"), &out);
    if (code == ETHOS_OK)
        code = foreign_block(VIEW("a"), VIEW("b"), &out);
    str_release(&out);
    return code;
}

static void every_failed_allocation_is_told(void **state)
{
    int code;
    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = all_of_it();
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_beside_memory_are_refused_with_a_reason),
        cmocka_unit_test(an_unknown_source_is_invalid),
        cmocka_unit_test(what_each_returns_ends_the_reading),
        cmocka_unit_test(a_folder_is_copied_as_it_is),
        cmocka_unit_test(entries_of_hermes_stand_between_section_signs),
        cmocka_unit_test(entries_are_list_items_paragraphs_and_code),
        cmocka_unit_test(sections_become_facts_and_the_rest_is_one),
        cmocka_unit_test(a_single_title_names_the_rest),
        cmocka_unit_test(headings_in_code_are_none),
        cmocka_unit_test(a_mark_of_utf8_and_frontmatter_are_no_text),
        cmocka_unit_test(a_heading_without_text_begins_a_section),
        cmocka_unit_test(our_own_block_is_not_read_back),
        cmocka_unit_test(entities_become_facts_with_observations_and_links),
        cmocka_unit_test(what_a_graph_says_twice_is_said_once),
        cmocka_unit_test(bad_lines_of_a_graph_are_told_and_passed_over),
        cmocka_unit_test(any_bytes_are_read),
        cmocka_unit_test(a_fact_becomes_a_note_that_says_its_title),
        cmocka_unit_test(joining_adds_only_the_lines_that_are_missing),
        cmocka_unit_test(a_note_in_jutuls_form_stays_byte_for_byte),
        cmocka_unit_test(a_native_note_gets_title_and_type_at_the_top),
        cmocka_unit_test(index_lines_take_jutuls_form_and_others_stay),
        cmocka_unit_test(the_block_is_replaced_appended_or_taken_out),
        cmocka_unit_test(every_byte_outside_the_block_stays),
        cmocka_unit_test(fences_of_the_file_and_of_the_block_do_not_mix),
        cmocka_unit_test(markers_that_do_not_pair_are_refused),
        cmocka_unit_test(a_disarmed_text_fits_into_a_block),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

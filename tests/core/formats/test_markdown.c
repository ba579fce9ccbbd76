/*
 * test_markdown.c: texts as nodes; hostile ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ethos/limits.h>

#include "base/str.h"
#include "base/view.h"
#include "core/formats/markdown.h"

#include "../../support/alloc.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static json_t *nodes_of(struct ethos_view text)
{
    json_t *nodes = NULL;
    struct ethos_error error = {0};
    int code = markdown_nodes(text, &nodes, &error);
    if (code != ETHOS_OK)
        fail_msg("%s", error.text);
    return nodes;
}

static void assert_nodes(const char *text, const char *expected)
{
    json_t *nodes = nodes_of(view_str(text));
    char *found = json_dumps(nodes, JSON_COMPACT);
    assert_string_equal(found, expected);
    free(found);
    json_decref(nodes);
}

/* ---- what people write ---------------------------------------------------------------------- */

static void test_blocks_have_the_line_they_begin_in(void **state)
{
    (void)state;
    assert_nodes("# One\n\ntext\nmore\n\n- a\n- b\n\n> said\n",
                 "[{\"t\":\"h\",\"level\":1,\"line\":1,\"c\":[\"One\"]},"
                 "{\"t\":\"p\",\"line\":3,\"c\":[\"text\\nmore\"]},"
                 "{\"t\":\"ul\",\"line\":6,\"c\":[{\"t\":\"li\",\"line\":6,\"c\":[\"a\"]},"
                 "{\"t\":\"li\",\"line\":7,\"c\":[\"b\"]}]},"
                 "{\"t\":\"quote\",\"line\":9,\"c\":[{\"t\":\"p\",\"line\":9,\"c\":[\"said\"]}]}]");
    assert_nodes("a\n\n```c\n\nint x;\n```\n\n---\n\nTitle\n---\n\n***\n\nb",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[\"a\"]},"
                 "{\"t\":\"code\",\"lang\":\"c\",\"line\":3,\"c\":[\"\\nint x;\\n\"]},"
                 "{\"t\":\"hr\",\"line\":8},"
                 "{\"t\":\"h\",\"level\":2,\"line\":10,\"c\":[\"Title\"]},"
                 "{\"t\":\"hr\",\"line\":13},{\"t\":\"p\",\"line\":15,\"c\":[\"b\"]}]");
    assert_nodes("x\r\n\r\ny\r\n", "[{\"t\":\"p\",\"line\":1,\"c\":[\"x\"]},"
                                   "{\"t\":\"p\",\"line\":3,\"c\":[\"y\"]}]");
}

static void test_what_nobody_would_see_is_shown(void **state)
{
    (void)state;
    assert_nodes(
        "is \u202Eadmin\u2066\u2069\n",
        "[{\"t\":\"p\",\"line\":1,\"c\":[\"is \",{\"t\":\"hidden\",\"c\":[\"\\\\u{202E}\"]},"
        "\"admin\",{\"t\":\"hidden\",\"c\":[\"\\\\u{2066}\\\\u{2069}\"]}]}]");
    assert_nodes("a&#x200B;b\x1B",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[\"a\",{\"t\":\"hidden\",\"c\":["
                 "\"\\\\u{200B}\"]},\"b\",{\"t\":\"hidden\",\"c\":[\"\\\\u{1B}\"]}]}]");
    assert_nodes("`x\u202Ey`", "[{\"t\":\"p\",\"line\":1,\"c\":[{\"t\":\"code-span\",\"c\":[\"x\","
                               "{\"t\":\"hidden\",\"c\":[\"\\\\u{202E}\"]},\"y\"]}]}]");
    assert_nodes("[a](http://x/\u202Ey \"t\u202Eu\")",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[{\"t\":\"a\",\"title\":\"t\\\\u{202E}u\","
                 "\"c\":[\"a\"]}]}]");
    assert_nodes("http://x/\u202Ey",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[\"http://x/\",{\"t\":\"hidden\",\"c\":["
                 "\"\\\\u{202E}\"]},\"y\"]}]");
    assert_nodes("![p\u202Eq](x.png)", "[{\"t\":\"p\",\"line\":1,\"c\":[{\"t\":\"img\",\"href\":"
                                       "\"x.png\",\"c\":[\"p\",\"\\\\u{202E}\",\"q\"]}]}]");
    assert_nodes("שלום\u200F 👨\u200D👩",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[\"שלום\u200F 👨\u200D👩\"]}]");
}

static void test_blocks_without_text_have_the_nearest_line(void **state)
{
    (void)state;
    assert_nodes("-\n- b\n", "[{\"t\":\"ul\",\"line\":1,\"c\":[{\"t\":\"li\",\"line\":1,\"c\":[]},"
                             "{\"t\":\"li\",\"line\":2,\"c\":[\"b\"]}]}]");
    assert_nodes("---", "[{\"t\":\"hr\",\"line\":1}]");
    assert_nodes("```\n```\n\nx", "[{\"t\":\"code\",\"line\":1,\"c\":[]},"
                                  "{\"t\":\"p\",\"line\":4,\"c\":[\"x\"]}]");
    assert_nodes("", "[]");
    assert_nodes("\n\n", "[]");
}

static void test_github_tables_tasks_strikethrough_and_autolinks(void **state)
{
    (void)state;
    assert_nodes("|a|b|\n|:--|--:|\n|1||\n",
                 "[{\"t\":\"table\",\"line\":1,\"c\":[{\"t\":\"thead\",\"line\":1,\"c\":["
                 "{\"t\":\"tr\",\"line\":1,\"c\":[{\"t\":\"th\",\"align\":\"left\",\"line\":1,"
                 "\"c\":[\"a\"]},{\"t\":\"th\",\"align\":\"right\",\"line\":1,\"c\":[\"b\"]}]}]},"
                 "{\"t\":\"tbody\",\"line\":3,\"c\":[{\"t\":\"tr\",\"line\":3,\"c\":["
                 "{\"t\":\"td\",\"align\":\"left\",\"line\":3,\"c\":[\"1\"]},"
                 "{\"t\":\"td\",\"align\":\"right\",\"line\":3,\"c\":[]}]}]}]}]");
    assert_nodes(
        "- [x] done\n- [ ] open\n",
        "[{\"t\":\"ul\",\"line\":1,\"c\":[{\"t\":\"li\",\"checked\":true,\"line\":1,"
        "\"c\":[\"done\"]},{\"t\":\"li\",\"checked\":false,\"line\":2,\"c\":[\"open\"]}]}]");
    assert_nodes("3. x\n", "[{\"t\":\"ol\",\"start\":3,\"line\":1,\"c\":[{\"t\":\"li\",\"line\":1,"
                           "\"c\":[\"x\"]}]}]");
    assert_nodes("~~no~~ see https://a.org/x or a@b.org",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[{\"t\":\"del\",\"c\":[\"no\"]},\" see \","
                 "{\"t\":\"a\",\"href\":\"https://a.org/x\",\"c\":[\"https://a.org/x\"]},\" or \","
                 "{\"t\":\"a\",\"href\":\"mailto:a@b.org\",\"c\":[\"a@b.org\"]}]}]");
}

static void test_spans(void **state)
{
    (void)state;
    assert_nodes("*a* **b** `c` [d](e.md \"f\")\\\ng",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[{\"t\":\"em\",\"c\":[\"a\"]},\" \","
                 "{\"t\":\"strong\",\"c\":[\"b\"]},\" \",{\"t\":\"code-span\",\"c\":[\"c\"]},\" \","
                 "{\"t\":\"a\",\"href\":\"e.md\",\"title\":\"f\",\"c\":[\"d\"]},{\"t\":\"br\"},"
                 "\"g\"]}]");
    assert_nodes("![an *old* map](https://a.org/m.png)",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[{\"t\":\"img\",\"href\":\"https://a.org/m.png\","
                 "\"c\":[\"an old map\"]}]}]");
    assert_nodes("see [[running-the-tests]] and [[a|b]]",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[\"see \",{\"t\":\"a\",\"note\":"
                 "\"running-the-tests\",\"c\":[\"running-the-tests\"]},\" and \","
                 "{\"t\":\"a\",\"note\":\"a\",\"c\":[\"b\"]}]}]");
    assert_nodes("a &amp; b &hellip; &#955; &#x3bb; &bogus; &#0;",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[\"a & b \xe2\x80\xa6 \xce\xbb \xce\xbb &bogus; "
                 "\xef\xbf\xbd\"]}]");
}

static void test_links_are_found_in_texts(void **state)
{
    static const char *const none[] = {"http://",  "xhttp://a.org",  "a@b", "@b.org", "a@.org",
                                       "http://.", "`http://a.org`", "a@b."};
    (void)state;
    for (size_t i = 0; i < COUNT(none); i++) {
        json_t *nodes = nodes_of(view_str(none[i]));
        char *printed = json_dumps(nodes, JSON_COMPACT);
        if (strstr(printed, "href"))
            fail_msg("%s: %s", none[i], printed);
        free(printed);
        json_decref(nodes);
    }
    assert_nodes(
        "(see http://a.org/x_(y)), *https://b.org/?c=d&e*.",
        "[{\"t\":\"p\",\"line\":1,\"c\":[\"(see \",{\"t\":\"a\",\"href\":"
        "\"http://a.org/x_(y)\",\"c\":[\"http://a.org/x_(y)\"]},\"), \",{\"t\":\"em\",\"c\":["
        "{\"t\":\"a\",\"href\":\"https://b.org/?c=d&e\",\"c\":[\"https://b.org/?c=d&e\"]}]},"
        "\".\"]}]");
    assert_nodes("[a http://b.org](c.md) x.y+z@a-b.org.",
                 "[{\"t\":\"p\",\"line\":1,\"c\":[{\"t\":\"a\",\"href\":\"c.md\",\"c\":["
                 "\"a http://b.org\"]},\" \",{\"t\":\"a\",\"href\":\"mailto:x.y+z@a-b.org\",\"c\":["
                 "\"x.y+z@a-b.org\"]},\".\"]}]");
}

static void test_frontmatter_is_no_markdown(void **state)
{
    (void)state;
    assert_nodes("---\nname: x\n---\n\n# T\n",
                 "[{\"t\":\"front\",\"line\":1,\"c\":[\"name: x\\n\"]},"
                 "{\"t\":\"h\",\"level\":1,\"line\":5,\"c\":[\"T\"]}]");
}

static void test_bytes_that_are_no_text_show_as_such(void **state)
{
    (void)state;
    json_t *nodes = nodes_of(VIEW("a\0b \xff*c\xc3*"));
    json_t *children = json_object_get(json_array_get(nodes, 0), "c");
    assert_string_equal(json_string_value(json_array_get(children, 0)), "a\xef\xbf\xbd"
                                                                        "b \xef\xbf\xbd");
    json_decref(nodes);
}

/* ---- what others write ---------------------------------------------------------------------- */

static void test_links_lead_to_allowed_places_only(void **state)
{
    static const char *const good[] = {
        "http://a.org", "HTTPS://a.org", "mailto:a@b.org", "notes/plan.md", "#part",
        "?q=1",         "/top",          "./x:y",          "a/b:c",         "",
        "x?a:b",        "http:x",        " https://a.org"};
    static const char *const bad[] = {"javascript:alert(1)",
                                      "JaVaScRiPt:alert(1)",
                                      "data:text/html,x",
                                      "vbscript:x",
                                      "file:///etc/passwd",
                                      "java\nscript:x",
                                      "java\tscript:x",
                                      "\x01javascript:x",
                                      " javascript:x",
                                      "javascript\x00:x",
                                      "//evil.org",
                                      "\\\\evil.org",
                                      "/\\evil.org",
                                      "blob:x",
                                      "about:blank",
                                      "intent:x",
                                      "x\x7f",
                                      "\xef\xbb\xbfjavascript:x",
                                      "http :x",
                                      "view-source:x",
                                      "tel:1",
                                      "ftp://a.org",
                                      "ws://a.org",
                                      "\xc2\xa0javascript:x"};
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        if (!markdown_url_ok(view_str(good[i])))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < COUNT(bad); i++) {
        bool cut = strcmp(bad[i], "javascript") == 0;
        if (markdown_url_ok(cut ? view_of(bad[i], 13) : view_str(bad[i])))
            fail_msg("allowed: %s", bad[i]);
    }
}

/* Every href and title, and every tag. */
static void check_safe(const json_t *node, const char *text)
{
    static const char *const tags =
        " p h ul ol li code quote hr table thead tbody tr th td em strong"
        " del a img code-span br front ";
    char tag[32];
    size_t index;
    json_t *child;
    if (json_is_string(node))
        return;
    snprintf(tag, sizeof tag, " %s ", json_string_value(json_object_get(node, "t")));
    if (!strstr(tags, tag))
        fail_msg("%s: made %s", text, tag);
    struct ethos_view href = json_view(node, "href");
    if (href.data && (!markdown_url_ok(href) || strstr(href.data, "script:")))
        fail_msg("%s: leads to %s", text, href.data);
    json_array_foreach (json_object_get(node, "c"), index, child)
        check_safe(child, text);
}

static void test_hostile_bodies_make_nothing_but_text(void **state)
{
    static const char *const bodies[] = {
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<div\n onclick=alert(1)>x</div>",
        "a <b onmouseover=alert(1)>b</b>",
        "<svg/onload=alert(1)>",
        "<!-- x --><script>x</script>",
        "<a href=\"javascript:x\">y</a>",
        "[x](javascript:alert(1))",
        "[x](<javascript:alert(1)>)",
        "[x](java&#115;cript:alert(1))",
        "[x](javascript&colon;alert(1))",
        "[x](javascript&#58;alert(1))",
        "[x](javascript&#x3A;alert(1))",
        "[x](&#106;&#97;&#118;&#97;script:alert(1))",
        "[x](java&Tab;script:alert(1))",
        "[x](java&NewLine;script:alert(1))",
        "[x](&#1;javascript:alert(1))",
        "[x](\\javascript:alert(1))",
        "[x](javascript\\:alert(1))",
        "[x](JAVASCRIPT:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:msgbox)",
        "![x](javascript:alert(1))",
        "![x](data:image/svg+xml,<svg/onload=x>)",
        "<javascript:alert(1)>",
        "<data:text/html,x>",
        "[x]: javascript:alert(1)\n\n[x]",
        "[x]: <java\tscript:alert(1)>\n\n[x]",
        "![x][y]\n\n[y]: data:text/html,x",
        "[a](https://x \"\\\"onmouseover=alert(1)\")",
        "[a](//evil.org/x)",
        "[a](/\\evil.org/x)",
        "[[javascript:alert(1)]]",
        "```\"><script>\nx\n```",
        "|<script>|\n|---|\n|[x](javascript:x)|",
        "- [ ] <script>",
        "# <script>x</script>",
        "[![x](javascript:a)](javascript:b)",
        "![[a](javascript:x)](javascript:y)",
        "<http://a.org/\"onclick=x>",
        "<a@b.org\"onclick=x>",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        json_t *nodes = nodes_of(view_str(bodies[i])), *node;
        size_t index;
        json_array_foreach (nodes, index, node)
            check_safe(node, bodies[i]);
        json_decref(nodes);
    }
    assert_nodes("<b>x</b>", "[{\"t\":\"p\",\"line\":1,\"c\":[\"<b>x</b>\"]}]");
}

/* ---- limits --------------------------------------------------------------------------------- */

/* `size` bytes of a piece, again and again, between two others. */
static int try_repeated(const char *before, const char *piece, const char *after, size_t size,
                        json_t **out)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    str_adds(&text, before);
    while (text.size + strlen(piece) <= size)
        str_adds(&text, piece);
    str_adds(&text, after);
    struct ethos_error error = {0};
    *out = NULL;
    int code = markdown_nodes(str_view(&text), out, &error);
    assert_int_equal(str_code(&text), ETHOS_OK);
    assert_int_equal(error.code, code);
    str_release(&text);
    return code;
}

static int code_of(const char *before, const char *piece, const char *after, size_t size)
{
    json_t *nodes;
    int code = try_repeated(before, piece, after, size, &nodes);
    json_decref(nodes);
    return code;
}

static size_t depth_of(const json_t *node)
{
    size_t deepest = 0, index;
    json_t *child;
    json_array_foreach (json_is_array(node) ? node : json_object_get(node, "c"), index, child) {
        size_t depth = depth_of(child);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + (json_is_object(node) ? 1 : 0);
}

static void test_nesting_ends_and_keeps_its_text(void **state)
{
    json_t *nodes;
    (void)state;
    assert_int_equal(try_repeated("", ">", " deep", MARKDOWN_MARKS, &nodes), ETHOS_OK);
    assert_int_equal(depth_of(nodes), MARKDOWN_DEPTH);
    char *printed = json_dumps(nodes, JSON_COMPACT);
    assert_non_null(strstr(printed, "deep"));
    free(printed);
    json_decref(nodes);
    assert_int_equal(code_of("", ">", " deep", MARKDOWN_MARKS + 1), ETHOS_LIMIT);
    assert_int_equal(code_of("", "- ", "a", (size_t)1 << 18), ETHOS_LIMIT);
    assert_int_equal(code_of("x\r", "-\t", "a", 4096), ETHOS_LIMIT);
    assert_int_equal(code_of("", "1. ", "a", 4096), ETHOS_LIMIT);
    assert_int_equal(try_repeated("", "*a **b ", "", 30000, &nodes), ETHOS_OK);
    assert_true(depth_of(nodes) <= MARKDOWN_DEPTH);
    json_decref(nodes);
}

static void test_size_ends_at_what_a_file_may_have(void **state)
{
    (void)state;
    assert_int_equal(code_of("", "word ", "", ETHOS_MAX_FILE_CH), ETHOS_OK);
    assert_int_equal(code_of("", "x", "x", ETHOS_MAX_FILE_CH), ETHOS_LIMIT);
    assert_int_equal(
        code_of("", "- item with *some* `text`, as in a file of facts\n", "", ETHOS_MAX_FILE_CH),
        ETHOS_OK);
    assert_int_equal(code_of("", "- [a title of a note](its-file.md) - what it is about\n", "",
                             ETHOS_MAX_FILE_CH),
                     ETHOS_OK);
    assert_int_equal(code_of("|a|b|\n|---|:-:|\n", "| one [x](y.md) | two |\n", "", 300000),
                     ETHOS_OK);
    assert_int_equal(
        code_of("```json\n", "{\"a\": [1, 2, {\"b\": \"c\"}]},\n", "```\n", ETHOS_MAX_FILE_CH - 10),
        ETHOS_OK);
}

/* A row of a table has as many cells as its head, a definition as many uses as there are. */
static void test_what_multiplies_is_refused(void **state)
{
    struct str wide, link;
    (void)state;
    str_init(&wide, SIZE_MAX);
    for (int i = 0; i < 2000; i++)
        str_adds(&wide, "|a");
    str_addc(&wide, '\n');
    for (int i = 0; i < 2000; i++)
        str_adds(&wide, "|---");
    str_addc(&wide, '\n');
    assert_int_equal(code_of(wide.data, "|\n", "", wide.size + 4000), ETHOS_LIMIT);
    str_init(&link, SIZE_MAX);
    str_adds(&link, "[a]: /");
    for (int i = 0; i < 100000; i++)
        str_addc(&link, 'x');
    str_adds(&link, "\n\n");
    assert_int_equal(code_of(link.data, "[a]\n\n", "", link.size + 1000), ETHOS_LIMIT);
    assert_int_equal(code_of("", "*a* ", "", ETHOS_MAX_FILE_CH), ETHOS_LIMIT);
    str_release(&wide);
    str_release(&link);
}

/* Each of these takes md4c seconds and more. */
static void test_what_would_take_long_is_refused_at_once(void **state)
{
    static const char *const pieces[][3] = {
        {"", "[<", "\n]"},           {"", "\n/[[", "]]"},
        {"", "https://a.b[", ""},    {"", "(http://a.b", ""},
        {"", "[a](\n", ""},          {"", "x\r[", "]"},
        {"", "x\r\n[", "]"},         {"", "a\n    - [<", "]"},
        {"", "\xc2\xa0\n[", "]"},    {"- ```\n  ```\n", "[\n", "]"},
        {" ```\n```\n", "[\n", "]"}, {"```\n```\t\n```\n", "[\n", "]"},
        {"2. a\n", "3. [", "]"},     {"x\n", "2. [\n", "]"},
        {"", "* \n[", "]"},          {"", "\f\n[", "]"},
        {"| a\n", "|[\n", "]"},      {"|a|\n|--|\n", "|[\n", "]"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(pieces); i++)
        if (code_of(pieces[i][0], pieces[i][1], pieces[i][2], 300000) != ETHOS_LIMIT)
            fail_msg("%zu: not refused", i);
}

/* What only looks like links costs no more for being long. */
static void test_what_is_no_link_is_passed_at_once(void **state)
{
    static const char *const pieces[] = {"http://|", "https:///", "a@", "a@b", "@a.b@", "x.y-"};
    (void)state;
    for (size_t i = 0; i < COUNT(pieces); i++)
        assert_int_equal(code_of("", pieces[i], "", ETHOS_MAX_FILE_CH), ETHOS_OK);
}

static void test_without_memory_nothing_is_made(void **state)
{
    const struct ethos_view text = VIEW("---\nname: x\n---\n# a *b* [c](d \"e\") ![f](g)\n\n"
                                        "- [x] y  \n  z\n\n|a|\n|-|\n|b|\n\n```c\nd\n```\n");
    int code = ETHOS_NOMEM;
    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        json_t *nodes = NULL;
        struct ethos_error error = {0};
        code = markdown_nodes(text, &nodes, &error);
        assert_true(code == ETHOS_NOMEM || code == ETHOS_OK);
        assert_int_equal(code == ETHOS_OK, nodes != NULL);
        json_decref(nodes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_have_the_line_they_begin_in),
        cmocka_unit_test(test_what_nobody_would_see_is_shown),
        cmocka_unit_test(test_blocks_without_text_have_the_nearest_line),
        cmocka_unit_test(test_github_tables_tasks_strikethrough_and_autolinks),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_links_are_found_in_texts),
        cmocka_unit_test(test_frontmatter_is_no_markdown),
        cmocka_unit_test(test_bytes_that_are_no_text_show_as_such),
        cmocka_unit_test(test_links_lead_to_allowed_places_only),
        cmocka_unit_test(test_hostile_bodies_make_nothing_but_text),
        cmocka_unit_test(test_nesting_ends_and_keeps_its_text),
        cmocka_unit_test(test_size_ends_at_what_a_file_may_have),
        cmocka_unit_test(test_what_multiplies_is_refused),
        cmocka_unit_test(test_what_would_take_long_is_refused_at_once),
        cmocka_unit_test(test_what_is_no_link_is_passed_at_once),
        cmocka_unit_test(test_without_memory_nothing_is_made),
    };
    return cmocka_run_group_tests_name("core/markdown", tests, NULL, NULL);
}

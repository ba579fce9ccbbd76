/*
 * test_references.c: what a note says that can be looked up, and all that only looks like it.
 */
#include "core/notes/references.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define TODAY "2026-11-15"

/* ---- claims as lines: "3 path src/a.c:42", "3 symbol frob@src/a.c", a * for the head -------- */

static int write_claim(void *arg, const struct claim *claim)
{
    static const char *const names[] = {"path", "symbol", "date", "link"};
    struct str *out = arg;
    str_printf(out, "%zu%s %s %.*s", claim->line, claim->head ? "*" : "", names[claim->kind],
               VIEW_ARG(claim->what));
    if (claim->where.data)
        str_printf(out, "@%.*s", VIEW_ARG(claim->where));
    if (claim->number)
        str_printf(out, ":%zu", claim->number);
    str_addc(out, '\n');
    return 0;
}

static void assert_claims(const char *text, const char *expected)
{
    struct str out;
    str_init(&out, (size_t)1 << 24);
    assert_int_equal(claims_each(view_str(text), write_claim, &out), 0);
    assert_int_equal(str_code(&out), ETHOS_OK);
    if (strcmp(out.data, expected) != 0)
        fail_msg("in: %s\nfound:\n%sexpected:\n%s", text, out.data, expected);
    str_release(&out);
}

/* Each row is a note of one line; the claims of that line without their line number. */
struct row {
    const char *text, *claims;
};

static void assert_rows(const struct row *rows, size_t count)
{
    char expected[1024];
    for (size_t i = 0; i < count; i++) {
        snprintf(expected, sizeof expected, "1 %s\n", rows[i].claims);
        for (char *bar; (bar = strchr(expected, '|'));) {
            memmove(bar + 3, bar + 1, strlen(bar + 1) + 1);
            memcpy(bar, "\n1 ", 3);
        }
        assert_claims(rows[i].text, expected);
    }
}

/* ---- what is a claim ------------------------------------------------------------------------ */

static void test_files_in_backticks_and_links_are_claims(void **state)
{
    static const struct row rows[] = {
        {"The parser is `src/core/note.c`.", "path src/core/note.c"},
        {"See `src/core/note.c:42` first", "path src/core/note.c:42"},
        {"See `src/core/note.c:42:7` first", "path src/core/note.c:42"},
        {"See `src/a_b.c:10-20`", "path src/a_b.c:10"},
        {"See `src/a_b.c#L7` and `src/b_c.c#L7-L9`", "path src/a_b.c:7|path src/b_c.c:7"},
        {"Settings: `./config/site.yaml`", "path config/site.yaml"},
        {"CI runs `.github/workflows/ci.yml`", "path .github/workflows/ci.yml"},
        {"Tests live below `tests/core/`", "path tests/core/"},
        {"`main.c` is where it starts", "path main.c"},
        {"Read [the design](docs/design.md) first", "path docs/design.md"},
        {"Read [part](docs/design.md#units) first", "path docs/design.md"},
        {"Read [line](docs/design.md#L9) first", "path docs/design.md:9"},
        {"Image ![plot](docs/plot.png)", "path docs/plot.png"},
        {"[`src/main.c`](src/main.c) starts it", "path src/main.c"},
        {"See [more](notes.md) and [this](./a.json)", "path notes.md|path a.json"},
        {"``src/odd.c`` in double ticks", "path src/odd.c"},
        {"My keys: `~/notes/keys.txt`", "path ~/notes/keys.txt"},
        {"The host reads `/etc/hosts`", "path /etc/hosts"},
        {"`api/server.go` and `lib/x+y.cpp`", "path api/server.go|path lib/x+y.cpp"},
        {"`数据/说明.md` 是说明", "path 数据/说明.md"},
        {"Build with `make`; the rules are in `tools/rules.mk`", "path tools/rules.mk"},
        {"The old one is gone. Now it is `src/new_one.c`.", "path src/new_one.c"},
    };
    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_names_said_to_be_in_a_file_are_claims(void **state)
{
    static const struct row rows[] = {
        {"`frob()` in `src/a.c`", "symbol frob@src/a.c|path src/a.c"},
        {"`note_parse` is defined in `src/note.c:42`",
         "symbol note_parse@src/note.c|path src/note.c:42"},
        {"`readHead(text, 3)` (in `src/head.js`)", "symbol readHead@src/head.js|path src/head.js"},
        {"`frob()` (`src/a.c`)", "symbol frob@src/a.c|path src/a.c"},
        {"`one_a`, `one_b` and `one_c` live in `src/a.c`",
         "symbol one_a@src/a.c|symbol one_b@src/a.c|symbol one_c@src/a.c|path src/a.c"},
        {"`src/a.c`: `frob()`, `grob()`", "path src/a.c|symbol frob@src/a.c|symbol grob@src/a.c"},
        {"`src/a.c` — `frob()` is the way in", "path src/a.c|symbol frob@src/a.c"},
        {"`src/a.c` defines `frob()` and `GROB_MAX`",
         "path src/a.c|symbol frob@src/a.c|symbol GROB_MAX@src/a.c"},
        {"`src/a.c`'s `frob_all` is slow", "path src/a.c|symbol frob_all@src/a.c"},
        {"`Store::open()` in `src/store.cpp`", "symbol open@src/store.cpp|path src/store.cpp"},
        {"`self.read_all()` in `app/io.py`", "symbol read_all@app/io.py|path app/io.py"},
        /* related to the file, but nobody says it is in there */
        {"`frob()` calls into `src/a.c`", "path src/a.c"},
        {"Run `make_all` after a change of `src/a.c`", "path src/a.c"},
        {"`make_all` rebuilds whatever is in `src/a.c`", "path src/a.c"},
        {"`frob()` can be found in `src/a.c`", "symbol frob@src/a.c|path src/a.c"},
        {"Run `pytest` in `tests/test_all.py`", "path tests/test_all.py"},
        {"Never use `frob()` in `src/a.c`", "path src/a.c"},
        {"Set `MAX_JOBS` in `config/site.yml`", "path config/site.yml"},
        {"`frob()` is not in `src/a.c`", "path src/a.c"},
        {"`frob()` in `src/a.c` and `src/b.c`", "path src/a.c|path src/b.c"},
        {"`frob()`, see also the rest, in `src/a.c`", "path src/a.c"},
        {"`frob()` in `src/core/`", "path src/core/"},
        {"`frob()` in [a](src/a.c)", "path src/a.c"},
        {"[x](docs/`frob()`.md) `src/a.c` `frob()`", "path src/a.c"},
    };
    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_dates_that_end_something_are_claims(void **state)
{
    static const struct row rows[] = {
        {"The freeze lasts until 2026-12-01.", "date 2026-12-01"},
        {"Valid until: **2026-12-01**", "date 2026-12-01"},
        {"Ship by 2026-12-01, please", "date 2026-12-01"},
        {"The token expires on 2026-12-01", "date 2026-12-01"},
        {"Deadline: `2026-12-01`", "date 2026-12-01"},
        {"the deadline is the 2026-12-01", "date 2026-12-01"},
        {"Due 2026-12-01", "date 2026-12-01"},
        {"The key must be renewed before 2026-12-01", "date 2026-12-01"},
        {"until 2026-12-01 or by 2026-12-02", "date 2026-12-01|date 2026-12-02"},
    };
    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void test_double_brackets_are_links(void **state)
{
    static const struct row rows[] = {
        {"See [[co2-eos]].", "link co2-eos"},
        {"See [[co2-eos|the equation]] and [[Units of time]]", "link co2-eos|link Units of time"},
        {"See [[co2-eos#Limits]]", "link co2-eos"},
        {"见[[单位]]。", "link 单位"},
    };
    (void)state;
    /* the bar separates claims in a row, so this one is written out */
    assert_rows(rows, COUNT(rows));
    assert_claims("x [[a b]] y [[c]]\n", "1 link a b\n1 link c\n");
}

/* ---- what is none --------------------------------------------------------------------------- */

static const char *const no_claims[] = {
    /* commands and options */
    "Run `make check` before every commit",
    "`git push origin main` needs a token",
    "Use `--foo`, `-j2`, `--output=src/a.c`",
    "`cat src/main.c | head`",
    "`npm run build:prod`",
    "`make`, `pytest` and `cargo` are there",
    "`./configure`",
    /* addresses */
    "`https://example.org/a/b.html` and <https://example.org/x.md>",
    "[docs](https://example.org/guide/x.md), [mail](mailto:a@example.org)",
    "[here](#section), [there](?x=1.md)",
    "`example.org/index.html`, `github.com/user/repo.go`, `localhost:8080/x/`",
    "`GET /api/x.json` answers; `/api/v1/users`, `/healthz`, `/users/me.json`, `/static/`",
    "`ssh://host/src/a.c` `user@host:src/a.c`",
    /* words with a slash */
    "`and/or`, `he/she`, `a/b`, `I/O`, `TCP/IP`, `yes/no`, `client/server`",
    "Version `1.2/3`, `v1.2.3`, `2/3`, `16/9`, `1.10.0`, `3.11/3.12`",
    "`text/plain`, `application/json`, `image/svg+xml`, `application/vnd.api+json`",
    "On `2026/11/15`, `15/11/2026`, `11/15/`",
    "Branches `feature/x`, `fix/issue-7`, `origin/main`, `release/1.2`, `feature/`, `refs/heads/`",
    "`@scope/pkg`, `@scope/pkg/index.js`, `lodash/fp`, `std/io`, `golang.org/x/net`",
    "`s/old/new/` and `s/a/b/g`",
    /* patterns and placeholders */
    "`src/*.c`, `src/**/x.c`, `src/{a,b}.c`, `src/[ab].c`, `file?.md`",
    "`<file.md>`, `src/<name>.c`, `{name}.md`, `src/$NAME.c`, `%s.txt`, `notes/YYYY.../x.md`",
    "`path/to/file`, `path/to/file.c`, `/path/to/file.c`, `foo.c`, `foo/bar.c`, `example.md`",
    "`your/file.md`, `my/app.py`, `some/dir/x.c`, `src/foo.py`, `src/…/a.c`",
    "`$HOME/x.md`, `${HOME}/x.md`, `%APPDATA%/x.json`, `C:\\src\\a.c`",
    "`../other/x.c` and [up](../docs/x.md)",
    /* names that look like files */
    "`Node.js`, `Vue.js`, `D3.js`, `Next.js`, `docs.rs`",
    "`stdio.h`, `<stdio.h>`, `sys/stat.h`, `openssl/ssl.h`, `linux/fs.h`",
    "`os.path`, `self.x`, `e.g`, `i.e.`, `a.b.c`, `np.array`, `json.dumps`",
    "`build/out.json`, `dist/index.js`, `node_modules/`, `target/`, `.git/config.txt`, `/tmp/x.c`",
    "`package.json`, `state.jsonl`, `notes.md`, `config.yaml`, `.mem/`, `src/`, `weekly/`, "
    "`.cursor/mcp.json`",
    "`APP_HOME/data/`, `APP_HOME/x.md`, `foo_tests.rs`, `~/notes`, `~/.app/settings.json`",
    "`app.log`, `x.o`, `libfoo.so`, `data.db`, `.env`, `.gitignore`",
    /* not in backticks */
    "The file src/main.c is the start, and/or docs/x.md",
    /* gone, or only later */
    "`src/old.c` was removed in spring",
    "`src/old.c` has been renamed to `src/newer.c`",
    "There is no `config/local.json`",
    "`src/old.c` no longer exists",
    "The exporter will live in `src/export.c`",
    "It writes `report.json`; `data/seed.csv` is generated",
    "Use it when `config/local.json` exists",
    "`config/local.json` is optional",
    /* dates */
    "Written 2024-01-01, released on 2024-02-02",
    "Until 2024-13-01 and by 2024-02-30 and until 2024-1-1",
    "Before 2024-01-01 the format had no head",
    "Files from before 2024-01-01 are in the attic",
    "It was in force until 2024-01-01",
    "by 2024-01-01-17 and until 2024-01-011",
    "`until` 2024-01-01x",
    "until the build of 2024-01-01",
    "standby2024-01-01",
    /* brackets */
    "`[[ -f x ]]` and `[[bin]]` in backticks",
    "[[ -f file ]] [[1, 2], [3, 4]] [[1,2]] [[]] [[ ]] [[#part]]",
    "[[not closed",
    "a[0](x) and [x]()",
    /* backticks that do not close */
    "`src/main.c",
    "``src/main.c`",
    "` `` ``` src/main.c",
    "",
};

static void test_what_only_looks_like_a_claim_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(no_claims); i++)
        assert_claims(no_claims[i], "");
}

/* ---- where ---------------------------------------------------------------------------------- */

static void test_lines_count_in_the_whole_text(void **state)
{
    const char *text = "---\n"
                       "name: x\n"
                       "metadata:\n"
                       "  expires: 2026-12-01\n"
                       "  check: path src/a.c; grep frob src/b.c\n"
                       "---\n"
                       "\n"
                       "First `src/one.c`\n"
                       "\n"
                       "Third [[other]] until 2027-01-01";
    static const char expected[] = "4* date 2026-12-01\n"
                                   "5* path src/a.c\n"
                                   "5* path src/b.c\n"
                                   "5* symbol frob@src/b.c\n"
                                   "8 path src/one.c\n"
                                   "10 link other\n"
                                   "10 date 2027-01-01\n";
    struct str windows;
    (void)state;
    assert_claims(text, expected);
    str_init(&windows, 4096);
    for (const char *c = text; *c; c++)
        str_printf(&windows, "%s%c", *c == '\n' ? "\r" : "", *c);
    assert_claims(windows.data, expected);
    str_release(&windows);
}

static void test_fences_and_comments_claim_nothing(void **state)
{
    (void)state;
    assert_claims("`src/a1.c`\n"
                  "```sh\n"
                  "`src/b1.c` [[x]] until 2020-01-01\n"
                  "~~~\n"
                  "``\n"
                  "```\n"
                  "`src/c1.c`\n"
                  "  ~~~~\n"
                  "~~~\n"
                  "`src/d1.c`\n"
                  "~~~~~\n"
                  "`src/e1.c`\n",
                  "1 path src/a1.c\n7 path src/c1.c\n12 path src/e1.c\n");
    assert_claims("`src/a1.c` <!-- `src/b1.c` --> `src/c1.c` <!-- `src/d1.c`\n"
                  "`src/e1.c`\n"
                  "```\n"
                  "--> `src/f1.c`\n"
                  "`<!--` is a mark, `src/g1.c` is none\n",
                  "1 path src/a1.c\n1 path src/c1.c\n4 path src/f1.c\n5 path src/g1.c\n");
    assert_claims("``` not a `fence`\n`src/a1.c`\n", "2 path src/a1.c\n");
    assert_claims("```\n`src/never_closed.c`\n", "");
}

static void test_check_takes_quotes_and_skips_what_it_does_not_know(void **state)
{
    (void)state;
    assert_claims("---\ncheck: \"path docs/a b.md ;; grep x; run rm -rf; path \"\n---\nx\n",
                  "2* path docs/a b.md\n");
    assert_claims("---\ncheck: make test\nexpires: soon\n---\nx\n", "");
    assert_claims("---\ncheck: grep - ../x\n---\n", "2* path ../x\n2* symbol -@../x\n");
}

static void test_an_open_head_is_body(void **state)
{
    (void)state;
    assert_claims("---\nexpires: 2020-01-01\n`src/a1.c`\n", "2 date 2020-01-01\n3 path src/a1.c\n");
}

static int stop_at_second(void *arg, const struct claim *claim)
{
    size_t *seen = arg;
    (void)claim;
    return ++*seen == 2 ? 77 : 0;
}

static void test_the_walk_stops_when_told(void **state)
{
    size_t seen = 0;
    (void)state;
    assert_int_equal(
        claims_each(view_str("`src/a1.c` `src/b1.c` `src/c1.c`\n[[x]]\n"), stop_at_second, &seen),
        77);
    assert_int_equal(seen, 2);
}

/* ---- hostile -------------------------------------------------------------------------------- */

static int check_slice(void *arg, const struct claim *claim)
{
    const struct ethos_view *text = arg;
    assert_true(claim->what.data >= text->data &&
                claim->what.data + claim->what.size <= text->data + text->size);
    assert_true(claim->line >= 1);
    return 0;
}

/*
 * Repeated until it is large: a step that looks back or ahead too often would not come to an end.
 */
static void test_large_texts_of_one_line_are_read_in_one_pass(void **state)
{
    static const char *const pieces[] = {"`",      "`` ` ", "[[",          "](",     "<!--",
                                         "by ",    "a. ",   "`src/a1.c` ", "[[x]] ", "\xff`\0x`",
                                         "by on ", "-->",   "``` `` ",     "until ", "`f()` in ",
                                         "'",      "字"};
    (void)state;
    for (size_t i = 0; i < COUNT(pieces); i++) {
        struct str text;
        str_init(&text, (size_t)1 << 24);
        size_t size = pieces[i][0] == '\xff' ? 5 : strlen(pieces[i]);
        while (text.size < 1000000)
            str_add(&text, view_of(pieces[i], size));
        struct ethos_view view = str_view(&text);
        assert_int_equal(claims_each(view, check_slice, &view), 0);
        str_release(&text);
    }
}

/* ---- looking -------------------------------------------------------------------------------- */

static void test_a_word_stands_alone(void **state)
{
    static const struct {
        const char *text, *word;
        bool has;
    } rows[] = {
        {"int frob(void)", "frob", true},
        {"frobnicate", "frob", false},
        {"my_frob frob_x frob1", "frob", false},
        {"xfrob frob", "frob", true},
        {"frob", "frob", true},
        {"", "frob", false},
        {"frob", "", false},
        {"a->frob;", "frob", true},
        {"x--yes", "--yes", true},
        {"--yesno", "--yes", false},
        {"aaaa aaa", "aaa", true},
        {"éfrob", "frob", false},
        {"std::a.b", "a.b", true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (claims_has_word(view_str(rows[i].text), view_str(rows[i].word)) != rows[i].has)
            fail_msg("'%s' in '%s'", rows[i].word, rows[i].text);
}

static void test_a_date_passes_the_day_after(void **state)
{
    (void)state;
    assert_true(claims_passed(VIEW("2026-11-14"), TODAY));
    assert_false(claims_passed(VIEW("2026-11-15"), TODAY));
    assert_false(claims_passed(VIEW("2026-11-16"), TODAY));
    assert_false(claims_passed(VIEW("2026-11-31"), "2027-01-01"));
    assert_false(claims_passed(VIEW("soon"), TODAY));
    assert_false(claims_passed((struct ethos_view){0}, TODAY));
    assert_false(claims_passed(VIEW("2026-11-14"), "today"));
    assert_false(claims_passed(VIEW("2026-11-14T00:00"), TODAY));
}

static void test_ages_are_whole_days(void **state)
{
    (void)state;
    assert_int_equal(claims_age_days(VIEW("2026-11-15"), TODAY), 0);
    assert_int_equal(claims_age_days(VIEW("2025-11-15"), TODAY), 365);
    assert_int_equal(claims_age_days(VIEW("2024-02-28"), "2024-03-01"), 2);
    assert_int_equal(claims_age_days(VIEW("2027-01-01"), TODAY), 0);
    assert_int_equal(claims_age_days(VIEW("yesterday"), TODAY), -1);
    assert_int_equal(claims_age_days(VIEW("2026-11-15"), "x"), -1);
    assert_int_equal(claims_age_days((struct ethos_view){0}, TODAY), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_in_backticks_and_links_are_claims),
        cmocka_unit_test(test_names_said_to_be_in_a_file_are_claims),
        cmocka_unit_test(test_dates_that_end_something_are_claims),
        cmocka_unit_test(test_double_brackets_are_links),
        cmocka_unit_test(test_what_only_looks_like_a_claim_is_none),
        cmocka_unit_test(test_lines_count_in_the_whole_text),
        cmocka_unit_test(test_fences_and_comments_claim_nothing),
        cmocka_unit_test(test_check_takes_quotes_and_skips_what_it_does_not_know),
        cmocka_unit_test(test_an_open_head_is_body),
        cmocka_unit_test(test_the_walk_stops_when_told),
        cmocka_unit_test(test_large_texts_of_one_line_are_read_in_one_pass),
        cmocka_unit_test(test_a_word_stands_alone),
        cmocka_unit_test(test_a_date_passes_the_day_after),
        cmocka_unit_test(test_ages_are_whole_days),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

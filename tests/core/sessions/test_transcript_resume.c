/*
 * test_transcript_resume.c: reading a transcript on from a place gives what reading all of it gives,
 * or says that it cannot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "../../support/growing_transcript.h"
#include "base/arena.h"
#include "base/view.h"
#include "core/sessions/transcript.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- reading --------------------------------------------------------------------------------- */

#define END '\x1e' /* of a message, as text */

/* A reading, as text; of a whole one only the notes that come from a place on. */
struct read {
    struct arena arena;
    struct transcript_about about;
    struct str messages, notes;
    size_t count;
    size_t skip_lines;
    int code;
};

static int keep_message(void *arg, const struct ethos_message *message)
{
    struct read *read = arg;
    read->count++;
    str_printf(&read->messages, "%s|%s|%s|%s|%lld+%lld|", message->role,
               message->timestamp ? message->timestamp : "-",
               message->tool_call_id ? message->tool_call_id : "-",
               message->tool_calls ? message->tool_calls : "-",
               message->has_usage ? (long long)message->usage.input_tokens : -1,
               (long long)message->usage.output_tokens);
    str_add(&read->messages, message->content);
    str_addc(&read->messages, END);
    return 0;
}

static void keep_note(void *arg, size_t line, const char *what)
{
    struct read *read = arg;
    if (line > read->skip_lines)
        str_printf(&read->notes, "%zu: %s\n", line, what);
}

static void begin(struct read *read, const struct transcript_place *skip)
{
    *read = (struct read){0};
    arena_init(&read->arena);
    str_init(&read->messages, SIZE_MAX);
    str_init(&read->notes, SIZE_MAX);
    read->skip_lines = skip ? skip->lines : 0;
}

static void read_whole(struct read *read, struct ethos_view text, const char *format,
                       const struct transcript_place *skip)
{
    begin(read, skip);
    read->code = transcript_read(text, format, &read->arena, &read->about, keep_message, keep_note,
                                 read, NULL);
}

static void read_on(struct read *read, struct ethos_view text, const char *format,
                    const struct transcript_place *from)
{
    begin(read, NULL);
    read->code = transcript_read_on(view_from(text, from->offset), from, format, &read->arena,
                                    &read->about, keep_message, keep_note, read, NULL);
}

static void end(struct read *read)
{
    arena_release(&read->arena);
    str_release(&read->messages);
    str_release(&read->notes);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

static void assert_same_text(const struct grow *grow, const char *on, const char *whole,
                             const char *text)
{
    if (strcmp(on, whole) != 0)
        fail_msg("%s, seed %llu: read on:\n%s\nwhole:\n%s\ntext:\n%s",
                 grow->codex ? "codex" : "claude-code", (unsigned long long)grow->seed, on, whole,
                 text);
}

static void assert_same_place(const struct transcript_place *on,
                              const struct transcript_place *whole)
{
    assert_int_equal(on->offset, whole->offset);
    assert_int_equal(on->lines, whole->lines);
    assert_int_equal(on->messages, whole->messages);
    if (on->offset == 0)
        return;
    assert_string_equal(or_dash(on->time), or_dash(whole->time));
    assert_string_equal(on->session, whole->session);
    assert_string_equal(on->response, whole->response);
    assert_int_equal(on->tokens, whole->tokens);
    assert_int_equal(on->titled, whole->titled);
}

/* Titles are told of what was read; where there was none before, it must be the same one. */
static void assert_same_about(const struct transcript_place *from, const struct read *on,
                              const struct read *whole)
{
    const struct ethos_session *told = &on->about.session, *all = &whole->about.session;
    assert_string_equal(told->id, all->id);
    if (!from->titled)
        assert_string_equal(or_dash(told->title), or_dash(all->title));
    if (told->model)
        assert_string_equal(told->model, all->model);
    if (told->provider)
        assert_string_equal(told->provider, all->provider);
}

/* What comes after so many messages. */
static const char *after(const struct read *read, size_t messages)
{
    const char *at = read->messages.data;
    for (; messages > 0; messages--)
        at = strchr(at, END) + 1;
    return at;
}

/* What was read before the place was found is the same now. */
static void assert_settled(const struct grow *grow, const struct read *then, const struct read *now)
{
    size_t messages = then->about.next.messages;
    size_t size = (size_t)(after(now, messages) - now->messages.data);
    if (size != (size_t)(after(then, messages) - then->messages.data) ||
        memcmp(then->messages.data, now->messages.data, size) != 0)
        fail_msg("seed %llu: not settled:\n%s\nnow:\n%s\ntext:\n%s", (unsigned long long)grow->seed,
                 then->messages.data, now->messages.data, grow->text.data);
}

/* True when it could be read on from where an earlier reading says. */
static bool compare(const struct grow *grow, struct ethos_view text, const struct read *then)
{
    const struct transcript_place *from = &then->about.next;
    const char *format = then->about.format;
    struct read on, whole;
    read_on(&on, text, format, from);
    bool fits = on.code == ETHOS_OK;
    if (!fits) {
        assert_int_equal(on.code, ETHOS_CONFLICT);
        assert_int_equal(on.count, 0);
        end(&on);
        return false;
    }
    read_whole(&whole, text, NULL, from);
    assert_int_equal(whole.code, ETHOS_OK);
    assert_string_equal(whole.about.format, format);
    assert_settled(grow, then, &whole);
    assert_same_text(grow, on.messages.data, after(&whole, from->messages), text.data);
    assert_same_text(grow, on.notes.data, whole.notes.data, text.data);
    assert_same_about(from, &on, &whole);
    bool untitled = from->titled &&
                    !whole.about.session.title; // a title that is none took its place
    if (!untitled)
        assert_same_place(&on.about.next, &whole.about.next);
    end(&on);
    end(&whole);
    return true;
}

/* ---- growing --------------------------------------------------------------------------------- */

struct tally {
    unsigned tried, fitted;
};

/* Reads what is visible, and on from one of the places that were found before. */
static void grow_one(uint64_t seed, bool codex, struct tally *tally)
{
    enum { PLACES = 3, STEPS = 24 };
    struct read reads[PLACES] = {0};
    struct grow grow;
    size_t found = 0;
    grow_init(&grow, seed, codex);
    for (unsigned step = 0; step < STEPS; step++) {
        grow_more(&grow);
        size_t cut = grow_pick(&grow, 5) == 0 ? grow_pick(&grow, 300) : 0;
        struct ethos_view text = str_view(&grow.text);
        text.size -= cut < text.size ? cut : 0;
        for (size_t i = 0; i < PLACES && i < found; i++) {
            size_t offset = reads[i].about.next.offset;
            if (offset == 0 || offset >= text.size)
                continue;
            tally->tried++;
            tally->fitted += compare(&grow, text, &reads[i]);
        }
        struct read *read = &reads[found++ % PLACES];
        if (found > PLACES)
            end(read);
        read_whole(read, text, NULL, NULL);
    }
    for (size_t i = 0; i < PLACES; i++)
        end(&reads[i]);
    grow_release(&grow);
}

static unsigned rounds(void)
{
    const char *text = getenv("GROW_ROUNDS");
    return text ? (unsigned)strtoul(text, NULL, 10) : 40;
}

static void assert_grows(bool codex)
{
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= rounds(); seed++)
        grow_one(seed, codex, &tally);
    print_message("%u of %u were read on\n", tally.fitted, tally.tried);
    assert_true(tally.fitted > tally.tried / 8 && tally.fitted < tally.tried);
}

static void test_claude_code_read_on_is_as_read_whole(void **state)
{
    (void)state;
    assert_grows(false);
}

static void test_codex_read_on_is_as_read_whole(void **state)
{
    (void)state;
    assert_grows(true);
}

/* ---- what reaches over a place --------------------------------------------------------------- */

#define ID(n) "aaaaaaaa-0000-4000-8000-00000000000" n
#define LINE(type, n, up, rest)                                                                    \
    "{\"type\":\"" type "\",\"uuid\":\"" ID(n) "\",\"parentUuid\":\"" ID(                          \
        up) "\",\"sessionId\":"                                                                    \
            "\"s1\",\"timestamp\":\"2025-01-02T03:04:0" n ".000Z\"," rest "}\n"
#define ASK(n, up) LINE("user", n, up, "\"message\":{\"content\":\"ask " n "\"}")
#define SAY(n, up)                                                                                 \
    LINE("assistant", n, up,                                                                       \
         "\"message\":{\"id\":\"m" n "\",\"content\":\"say " n                                     \
         "\",\"usage\":{\"input_tokens\":1}}")
#define RESULT(n, up, call)                                                                        \
    LINE("user", n, up,                                                                            \
         "\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"" call             \
         "\",\"content\":\"r\"}]}")
#define CALL(n, up, call)                                                                          \
    LINE("assistant", n, up,                                                                       \
         "\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"" call "\",\"name\":\"x\"}]}")
#define START ASK("1", "0") SAY("2", "1")
#define TURN ASK("3", "2") SAY("4", "3")

/* Whether a text that begins with START and TURN can be read on after more was written. */
static bool reads_on(const char *text, const char *more)
{
    struct read then;
    struct grow grow = {0};
    struct str all;
    str_init(&all, SIZE_MAX);
    str_init(&grow.text, SIZE_MAX);
    str_adds(&all, text);
    read_whole(&then, str_view(&all), NULL, NULL);
    assert_int_equal(then.code, ETHOS_OK);
    assert_int_equal(then.about.next.offset, strlen(START));
    assert_int_equal(then.about.next.lines, 2);
    assert_int_equal(then.about.next.messages, 2);
    str_adds(&all, more);
    bool fits = compare(&grow, str_view(&all), &then);
    end(&then);
    str_release(&all);
    return fits;
}

static void test_what_goes_on_is_read_on(void **state)
{
    static const char *const more[] = {
        "",
        ASK("5", "4") SAY("6", "5"),
        CALL("5", "4", "t") RESULT("6", "5", "t") SAY("7", "6"),
        ASK("5", "4") SAY("6", "5") ASK("7", "4"),
        SAY("5", "4") "{\"type\":\"user\",\"uuid\":\"torn",
        LINE("system", "5", "4", "\"a\":1") ASK("6", "5"),
        "{\"type\":\"system\",\"uuid\":\"" ID("5") "\",\"parentUuid\":null,"
                                                   "\"logicalParentUuid\":\"" ID("4") "\"}\n" ASK(
                                                       "6", "5"),
    };
    (void)state;
    for (size_t i = 0; i < COUNT(more); i++)
        if (!reads_on(START TURN, more[i]))
            fail_msg("%zu", i);
}

static void test_what_reaches_back_is_not_read_on(void **state)
{
    static const char *const more[] = {
        ASK("5", "2"),                                  // asked anew
        ASK("5", "1"),                                  // further back
        LINE("user", "5", "x", "\"isSidechain\":true"), // follows nothing that is known
        ASK("2", "1"),                                  // a line again
        RESULT("5", "4", "t"),                          // of a call that may be there
        "{\"type\":\"user\",\"uuid\":\"" ID("5") "\",\"parentUuid\":\"" ID(
            "4") "\","
                 "\"sessionId\":\"s2\",\"message\":{\"content\":\"x\"}}\n",
        "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"" ID("1") "\"}\n",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(more); i++)
        if (reads_on(START TURN, more[i]))
            fail_msg("%zu", i);
    static const char same_answer[] = LINE(
        "assistant", "5", "3",
        "\"message\":{\"id\":\"m2\",\"content\":\"x\",\"usage\":{\"input_tokens\":2}}");
    assert_false(reads_on(START ASK("3", "2"), same_answer));
}

static void test_a_session_of_another_id_is_not_read_on(void **state)
{
    struct read then;
    (void)state;
    read_whole(&then, view_str(START TURN), NULL, NULL);
    struct transcript_place other = then.about.next;
    struct read on;
    other.session = "s2";
    read_on(&on, view_str(START TURN), "claude-code", &other);
    assert_int_equal(on.code, ETHOS_CONFLICT);
    end(&on);
    end(&then);
}

/* Wherever a place says that a question is, there must be one. */
static void test_a_place_that_is_none_is_not_read_on(void **state)
{
    static const char text[] = START TURN ASK("5", "4") SAY("6", "5");
    static const char *const formats[] = {"claude-code", "codex", "jsonl", "ethos", "none", NULL};
    struct read on;
    unsigned read = 0;
    (void)state;
    for (size_t offset = 1; offset <= strlen(text); offset++) {
        const struct transcript_place place = {
            .offset = offset, .lines = 2, .messages = 2, .session = "s1", .response = ""};
        for (size_t i = 0; i < COUNT(formats); i++) {
            read_on(&on, view_str(text), formats[i], &place);
            assert_true(on.code == ETHOS_CONFLICT || (on.code == ETHOS_OK && i == 0));
            read += on.code == ETHOS_OK;
            end(&on);
        }
    }
    assert_int_equal(read, 2); // the questions
}

static void test_where_nothing_is_settled_there_is_no_place(void **state)
{
    static const char *const texts[] = {
        START,
        ASK("1", "0") ASK("2", "1"),
        "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n"
        "{\"role\":\"user\",\"content\":\"c\"}\n",
        RESULT("8", "0", "t") START TURN, // its call may come
        "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"" ID("9") "\"}\n" START TURN,
    };
    struct read read;
    char torn[] = START ASK("3", "2");
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        read_whole(&read, view_str(texts[i]), NULL, NULL);
        assert_int_equal(read.code, ETHOS_OK);
        if (read.about.next.offset != 0)
            fail_msg("%zu", i);
        end(&read);
    }
    torn[sizeof torn - 2] = '\0';
    read_whole(&read, view_str(torn), NULL, NULL);
    assert_int_equal(read.count, 3);
    assert_int_equal(read.about.next.offset, 0);
    end(&read);
}

static void test_a_mark_at_the_beginning_counts(void **state)
{
    struct read read;
    (void)state;
    read_whole(&read, view_str("\xEF\xBB\xBF" START TURN), NULL, NULL);
    assert_int_equal(read.about.next.offset, strlen(START) + 3);
    end(&read);
}

static void test_reading_on_without_memory_is_an_error(void **state)
{
    static const char text[] = START TURN CALL("5", "4", "t") RESULT("6", "5", "t");
    struct read then, on = {0};
    (void)state;
    read_whole(&then, view_str(text), NULL, NULL);
    ALLOC_EACH(n, on.code == ETHOS_OK)
    {
        read_on(&on, view_str(text), "claude-code", &then.about.next);
        assert_true(on.code == ETHOS_OK || on.code == ETHOS_NOMEM);
        end(&on);
    }
    end(&then);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claude_code_read_on_is_as_read_whole),
        cmocka_unit_test(test_codex_read_on_is_as_read_whole),
        cmocka_unit_test(test_what_goes_on_is_read_on),
        cmocka_unit_test(test_what_reaches_back_is_not_read_on),
        cmocka_unit_test(test_a_session_of_another_id_is_not_read_on),
        cmocka_unit_test(test_a_place_that_is_none_is_not_read_on),
        cmocka_unit_test(test_where_nothing_is_settled_there_is_no_place),
        cmocka_unit_test(test_a_mark_at_the_beginning_counts),
        cmocka_unit_test(test_reading_on_without_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

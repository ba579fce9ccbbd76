/*
 * test_ranker.c: the ranker against vectors of its reference, and rules of its own.
 */
#include "recall/ranker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "recall/builder.h"

#define VECTORS "tests/golden/ranking.jsonl"
#define MAX_UNITS 128

/* ---- memories -------------------------------------------------------------------------------- */

/* Opened while a test runs that ranks with it. */
static struct recall_model *model;

struct memory {
    struct recall_builder *builder;
    struct vector_builder vectors; /* with a model */
    struct vectors piece;
    struct str bytes;
    struct image image;
    const char *ids[MAX_UNITS];
    char session[64];
    uint32_t sessions, units;
};

static void memory_init(struct memory *memory)
{
    memset(memory, 0, sizeof *memory);
    str_init(&memory->bytes, IMAGE_MAX);
    const struct word_table *table = model ? &model->table : NULL;
    assert_int_equal(recall_builder_new(table, &memory->builder, NULL), ETHOS_OK);
    if (model)
        assert_int_equal(vector_builder_init(&memory->vectors, model, NULL), ETHOS_OK);
}

static void memory_release(struct memory *memory)
{
    str_release(&memory->bytes);
    vector_builder_release(&memory->vectors);
}

/* A session that is not the one before is a new one. */
static void memory_add(struct memory *memory, const char *session, const char *speaker,
                       uint32_t date, const char *text)
{
    struct recall_unit unit = {.text = view_str(text), .speaker = view_str(speaker), .date = date};
    if (memory->sessions == 0 || strcmp(session, memory->session) != 0) {
        snprintf(memory->session, sizeof memory->session, "%s", session);
        const struct recall_document document = {.name = view_str(session),
                                                 .group = memory->sessions++};
        assert_int_equal(recall_builder_document(memory->builder, &document, NULL), ETHOS_OK);
    }
    assert_true(memory->units < MAX_UNITS);
    memory->units++;
    assert_int_equal(recall_builder_unit(memory->builder, &unit, NULL), ETHOS_OK);
    if (model)
        assert_int_equal(vector_builder_add(&memory->vectors, unit.text, NULL), ETHOS_OK);
}

static void memory_finish(struct memory *memory)
{
    struct ethos_error error;
    assert_int_equal(recall_builder_finish(memory->builder, &memory->bytes, &error), ETHOS_OK);
    recall_builder_free(memory->builder);
    if (image_open(str_view(&memory->bytes), &memory->image, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    assert_int_equal(memory->image.counts.units, memory->units);
    if (model)
        memory->piece = vector_builder_view(&memory->vectors, 0);
}

static size_t memory_rank(const struct memory *memory, const char *question, size_t limit,
                          struct ranker_hit *hits)
{
    const struct image_vectors vectors = {&memory->piece, 1};
    const struct ranker_scope scope = {
        .images = &memory->image, .count = 1, .meaning = {model, model ? &vectors : NULL}};
    size_t count;
    assert_int_equal(ranker_rank(&scope, view_str(question), limit, hits, &count, NULL), ETHOS_OK);
    return count;
}

static uint32_t memory_best(const struct memory *memory, const char *question)
{
    struct ranker_hit hit;
    assert_int_equal(memory_rank(memory, question, 1, &hit), 1);
    return hit.unit;
}

/* ---- the vectors ----------------------------------------------------------------------------- */

static uint32_t parse_date(const char *text)
{
    unsigned year = 0, month = 0, day = 0;
    sscanf(text, "%4u-%2u-%2u", &year, &month, &day);
    return IMAGE_DATE(year, month, day);
}

static const char *member(const json_t *row, const char *name)
{
    const char *text = json_string_value(json_object_get(row, name));
    assert_non_null(text);
    return text;
}

static bool is_kind(const json_t *row, const char *kind)
{
    return strcmp(member(row, "kind"), kind) == 0;
}

static json_t *load_vectors(void)
{
    char line[8192];
    json_t *rows = json_array();
    FILE *file = fopen(VECTORS, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        json_t *row = json_loads(line, 0, NULL);
        assert_non_null(row);
        json_array_append_new(rows, row);
    }
    fclose(file);
    return rows;
}

/* Values were written with six digits. */
static void assert_close(double value, double expected, const char *question, const char *what)
{
    double difference = value > expected ? value - expected : expected - value;
    double size = expected < 0 ? -expected : expected;
    if (difference > 1e-6 && difference > 1e-4 * size)
        fail_msg("%s: %s is %.8f, not %.8f", question, what, value, expected);
}

static void assert_hit(const struct memory *memory, const struct ranker_hit *hit,
                       const json_t *result)
{
    const char *question = member(result, "question");
    const json_t *features = json_object_get(result, "features");
    if (strcmp(memory->ids[hit->unit], member(result, "unit")) != 0)
        fail_msg("%s: %s stands where %s should", question, memory->ids[hit->unit],
                 member(result, "unit"));
    assert_close(hit->score, json_number_value(json_object_get(result, "score")), question,
                 "the score");
    for (size_t f = 0; f < RANKER_FEATURES; f++) {
        char number[8];
        snprintf(number, sizeof number, "%zu", f);
        const json_t *wanted = json_object_get(features, number);
        assert_int_equal(wanted != NULL, ranker_features[f].lexical != 0);
        assert_close(hit->features[f], json_number_value(wanted), question,
                     ranker_features[f].name);
    }
}

static size_t check_question(const struct memory *memory, const json_t *rows,
                             const json_t *question)
{
    struct ranker_hit hits[RANKER_MAX_HITS];
    size_t count = memory_rank(memory, member(question, "text"), RANKER_MAX_HITS, hits), i,
           seen = 0;
    json_t *row;
    assert_int_equal(count, memory->units);
    json_array_foreach (rows, i, row) {
        if (!is_kind(row, "result") || strcmp(member(row, "question"), member(question, "id")) != 0)
            continue;
        size_t rank = (size_t)json_integer_value(json_object_get(row, "rank"));
        assert_in_range(rank, 1, count);
        assert_hit(memory, &hits[rank - 1], row);
        seen++;
    }
    return seen;
}

static void load_scope(struct memory *memory, const json_t *rows, const char *scope)
{
    size_t i;
    json_t *row;
    memory_init(memory);
    json_array_foreach (rows, i, row) {
        if (!is_kind(row, "unit") || strcmp(member(row, "scope"), scope) != 0)
            continue;
        memory_add(memory, member(row, "session"), member(row, "speaker"),
                   parse_date(member(row, "date")), member(row, "text"));
        memory->ids[memory->units - 1] = member(row, "id");
    }
    memory_finish(memory);
}

static void test_vectors(void **state)
{
    json_t *rows = load_vectors(), *row;
    size_t checked = 0, i;
    (void)state;
    static const char *const scopes[] = {"a", "b"};
    for (size_t s = 0; s < 2; s++) {
        struct memory memory;
        load_scope(&memory, rows, scopes[s]);
        json_array_foreach (rows, i, row) {
            if (is_kind(row, "question") && strcmp(member(row, "scope"), scopes[s]) == 0)
                checked += check_question(&memory, rows, row);
        }
        memory_release(&memory);
    }
    assert_int_equal(checked, 145);
    json_decref(rows);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void test_score_is_the_sum_of_its_parts(void **state)
{
    struct memory memory;
    struct ranker_hit hits[3];
    (void)state;
    memory_init(&memory);
    memory_add(&memory, "s", "user", 0, "We met Anna in Lisbon in May 2024.");
    memory_add(&memory, "s", "assistant", 0, "You told me!");
    memory_add(&memory, "t", "user", 0, "I like tea.");
    memory_finish(&memory);
    assert_int_equal(memory_rank(&memory, "Who did we meet in Lisbon?", 3, hits), 3);
    for (size_t i = 0; i < 3; i++) {
        double sum = 0;
        for (size_t f = 0; f < RANKER_FEATURES; f++)
            sum += ranker_weight(&hits[i], f) * hits[i].features[f];
        assert_true(sum == hits[i].score);
        assert_true(hits[i].is_linear == (model != NULL));
    }
    memory_release(&memory);
}

static void test_identifiers_and_other_scripts(void **state)
{
    static const char *const texts[] = {
        "Set retry_limit to 5 before release v1.2.3.",
        "The limit of each retry grows, see release 3.2.1.",
        "src/core/words.c splits text",
        "words of the core are src",
        "Das Caf\xC3\xA9 schlie\xC3\x9Ft um acht",
        "\xE6\x9D\xB1\xE4\xBA\xAC\xE3\x81\xAB\xE4\xBD\x8F\xE3\x82\x93\xE3\x81\xA7\xE3\x81\x84\xE3"
        "\x82\x8B", // lives in Tokyo
        "\xE5\xA4\xA7\xE9\x98\xAA\xE3\x81\xA7\xE5\x83\x8D\xE3\x81\x84\xE3\x81\xA6\xE3\x81\x84\xE3"
        "\x82\x8B", // works in Osaka
    };
    static const struct {
        const char *question;
        uint32_t best;
    } rows[] = {
        {"retry_limit", 0},
        {"v1.2.3", 0},
        {"src/core/words.c", 2},
        {"cafe schliesst", 4},
        {"CAF\xC3\x89", 4},
        {"\xE6\x9D\xB1\xE4\xBA\xAC", 5},
        {"\xE5\xA4\xA7\xE9\x98\xAA\xE3\x81\xA7", 6},
    };
    struct memory memory;
    (void)state;
    memory_init(&memory);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        memory_add(&memory, i % 2 ? "a" : "b", "", 0, texts[i]);
    memory_finish(&memory);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (memory_best(&memory, rows[i].question) != rows[i].best)
            fail_msg("%s: found %u", rows[i].question, memory_best(&memory, rows[i].question));
    memory_release(&memory);
}

/* Split over two images, in the same order, nothing changes: sessions are whole in both. */
static void test_images_of_a_scope_are_searched_as_one(void **state)
{
    struct memory whole, parts[2];
    struct image images[2];
    struct ranker_hit one[RANKER_MAX_HITS], two[RANKER_MAX_HITS];
    json_t *rows = load_vectors(), *row;
    size_t i, count;
    (void)state;
    load_scope(&whole, rows, "a");
    memory_init(&parts[0]);
    memory_init(&parts[1]);
    json_array_foreach (rows, i, row) {
        if (is_kind(row, "unit") && strcmp(member(row, "scope"), "a") == 0)
            memory_add(&parts[member(row, "session")[0] == '2'], member(row, "session"),
                       member(row, "speaker"), parse_date(member(row, "date")),
                       member(row, "text"));
    }
    for (i = 0; i < 2; i++) {
        memory_finish(&parts[i]);
        images[i] = parts[i].image;
        assert_true(parts[i].units > 10);
    }
    const struct image_vectors vectors[] = {{&parts[0].piece, 1}, {&parts[1].piece, 1}};
    const struct ranker_scope scope = {
        .images = images, .count = 2, .meaning = {model, model ? vectors : NULL}};
    json_array_foreach (rows, i, row) {
        if (!is_kind(row, "question") || strcmp(member(row, "scope"), "a") != 0)
            continue;
        memory_rank(&whole, member(row, "text"), RANKER_MAX_HITS, one);
        assert_int_equal(
            ranker_rank(&scope, view_str(member(row, "text")), RANKER_MAX_HITS, two, &count, NULL),
            ETHOS_OK);
        assert_int_equal(count, whole.units);
        for (size_t h = 0; h < count; h++)
            assert_close(two[h].score, one[h].score, member(row, "id"), "the score");
    }
    json_decref(rows);
    memory_release(&whole);
    memory_release(&parts[0]);
    memory_release(&parts[1]);
}

/* Whether two images give the same hits for a question, but for the place in time. */
static void assert_same_hits(const struct memory *a, const struct memory *b, const char *question)
{
    static struct ranker_hit one[RANKER_MAX_HITS], two[RANKER_MAX_HITS];
    size_t count = memory_rank(a, question, RANKER_MAX_HITS, one);
    assert_int_equal(memory_rank(b, question, RANKER_MAX_HITS, two), count);
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < RANKER_FEATURES; f++)
            if (ranker_features[f].name && strncmp(ranker_features[f].name, "position", 8) != 0)
                assert_close(two[i].features[f], one[i].features[f], question,
                             ranker_features[f].name);
}

/* A document that is gone counts nowhere: not in means, not in the rarity of words. */
static void test_what_is_gone_changes_nothing(void **state)
{
    struct memory with, without;
    struct memory *both[] = {&with, &without};
    static const bool gone[] = {false, true, false, true};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        memory_init(both[i]);
        memory_add(both[i], "1", "user", 0, "The oven of the bakery is set to 220 degrees.");
        memory_add(both[i], "1", "user", 0, "Anna opens the bakery at six.");
        if (i == 0) {
            memory_add(both[i], "2", "user", 0, "The oven is broken! Who repairs the oven?");
            memory_add(both[i], "2", "user", 0, "Nobody opens it. A longer line about the oven.");
        }
        memory_add(both[i], "3", "user", 0, "Bread needs an hour in the oven.");
        memory_add(both[i], "3", "user", 0, "Tomorrow we bake rye bread.");
        if (i == 0)
            memory_add(both[i], "4", "user", 0, "bread bread bread");
        memory_finish(both[i]);
    }
    with.image.gone = gone;
    assert_same_hits(&with, &without, "How hot is the oven of the bakery?");
    assert_same_hits(&with, &without, "Who opens the bakery?");
    assert_same_hits(&with, &without, "broken");
    memory_release(&with);
    memory_release(&without);
}

static bool want_second(void *arg, uint32_t image, uint32_t unit)
{
    (void)arg;
    return image == 0 && unit == 1;
}

/* Headings lend their words to what stands below them, and are no answers. */
static void test_headings_and_unwanted_units_are_no_hits(void **state)
{
    struct memory memory;
    struct ranker_hit hits[4];
    size_t count;
    struct recall_unit heading = {.text = VIEW("Deploy"), .speaker = VIEW("user"), .heading = true};
    const struct recall_document document = {.name = VIEW("1")};
    (void)state;
    memory_init(&memory);
    assert_int_equal(recall_builder_document(memory.builder, &document, NULL), ETHOS_OK);
    assert_int_equal(recall_builder_unit(memory.builder, &heading, NULL), ETHOS_OK);
    memory.units = memory.sessions = 1;
    snprintf(memory.session, sizeof memory.session, "1");
    memory_add(&memory, "1", "user", 0, "Only on Tuesdays.");
    memory_add(&memory, "2", "user", 0, "Lunch is at noon.");
    memory_finish(&memory);
    assert_int_equal(memory_rank(&memory, "When do we deploy?", 4, hits), 2);
    assert_int_equal(hits[0].unit, 1);
    assert_true(hits[0].window > 0);
    assert_int_equal(hits[1].unit, 2);
    assert_true(hits[1].window == 0);
    const struct ranker_scope scope = {.images = &memory.image, .count = 1, .want = want_second};
    assert_int_equal(ranker_rank(&scope, VIEW("lunch"), 4, hits, &count, NULL), ETHOS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(hits[0].unit, 1);
    memory_release(&memory);
}

static void test_nothing_is_found_in_nothing(void **state)
{
    struct memory memory;
    struct ranker_hit hit;
    size_t count;
    const struct ranker_scope none = {.count = 0};
    (void)state;
    assert_int_equal(ranker_rank(&none, VIEW("who?"), 1, &hit, &count, NULL), ETHOS_OK);
    assert_int_equal(count, 0);
    memory_init(&memory);
    memory_finish(&memory);
    assert_int_equal(memory_rank(&memory, "who?", 1, &hit), 0);
    memory_release(&memory);
    memory_init(&memory);
    memory_add(&memory, "s", "", 0, "");
    memory_finish(&memory);
    assert_int_equal(memory_rank(&memory, "", 1, &hit), 1);
    memory_release(&memory);
}

/* ---- with a model ---------------------------------------------------------------------------- */

static int open_model(void **state)
{
    (void)state;
    return recall_model_open("data/recall", &model, NULL);
}

static int close_model(void **state)
{
    (void)state;
    recall_model_close(model);
    model = NULL;
    return 0;
}

static const double *features_of(const struct ranker_hit *hits, size_t count, uint32_t unit)
{
    for (size_t i = 0; i < count; i++)
        if (hits[i].unit == unit)
            return hits[i].features;
    fail_msg("unit %u is no hit", unit);
    return NULL;
}

static void add_household(struct memory *memory)
{
    static const char *const texts[] = {
        "The doctor prescribed pills against the migraine.",
        "Our landlord raises the rent in spring.",
        "The train to Basel leaves at seven.",
        "Peter repaired the bicycle in the garage.",
        "The soup needs more salt.",
        "She paints with oil on canvas.",
    };
    memory_init(memory);
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        memory_add(memory, "1", "user", 0, texts[i]);
    memory_finish(memory);
}

static void test_other_words_that_mean_the_same_are_found(void **state)
{
    static const struct {
        const char *question;
        uint32_t best;
    } rows[] = {
        {"Which medicine helps with headaches?", 0},
        {"What happens to the cost of the apartment?", 1},
        {"Which art does she make?", 5},
    };
    struct memory memory;
    struct ranker_hit hits[6];
    (void)state;
    add_household(&memory);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(memory_rank(&memory, rows[i].question, 6, hits), 6);
        if (hits[0].unit != rows[i].best)
            fail_msg("%s: found %u", rows[i].question, hits[0].unit);
        assert_true(hits[0].features[7] != 0 && hits[0].features[22] != 0);
    }
    memory_release(&memory);
}

/* Without vectors, or while only some have them, words of the table are compared all the same. */
static void test_vectors_may_be_missing(void **state)
{
    struct memory memory;
    struct ranker_hit with[6], without[6], half[6];
    size_t count;
    (void)state;
    add_household(&memory);
    const char *question = "Which medicine helps with headaches?";
    memory_rank(&memory, question, 6, with);
    struct ranker_scope scope = {.images = &memory.image, .count = 1, .meaning = {model, NULL}};
    assert_int_equal(ranker_rank(&scope, view_str(question), 6, without, &count, NULL), ETHOS_OK);
    assert_int_equal(count, 6);
    for (uint32_t unit = 0; unit < 6; unit++) {
        const double *a = features_of(with, 6, unit), *b = features_of(without, 6, unit);
        assert_true(a[7] == b[7] && a[10] == b[10]);
        assert_true(a[22] != 0 && b[22] == 0 && a[25] != 0 && b[25] == 0);
    }
    memory.piece.count = 3;
    memory_rank(&memory, question, 6, half);
    for (uint32_t unit = 0; unit < 6; unit++) // else those would win that have vectors
        assert_memory_equal(features_of(half, 6, unit), features_of(without, 6, unit),
                            RANKER_FEATURES * sizeof(double));
    memory_release(&memory);
}

/* ---- without memory -------------------------------------------------------------------------- */

static int rank_with_failures(bool with_model)
{
    struct recall_builder *builder = NULL;
    struct recall_unit unit = {.text = VIEW("We met Anna in Lisbon."), .speaker = VIEW("user")};
    struct ranker_hit hit;
    struct image image;
    struct str bytes;
    struct recall_model *opened = NULL;
    struct vector_builder vectors = {.count = 0};
    size_t count = 0;
    str_init(&bytes, IMAGE_MAX);
    int code = with_model ? recall_model_open("data/recall", &opened, NULL) : ETHOS_OK;
    code = code ? code : recall_builder_new(opened ? &opened->table : NULL, &builder, NULL);
    const struct recall_document document = {.name = VIEW("s")};
    code = code ? code : recall_builder_document(builder, &document, NULL);
    code = code ? code : recall_builder_unit(builder, &unit, NULL);
    code = code ? code : recall_builder_finish(builder, &bytes, NULL);
    recall_builder_free(builder);
    code = code ? code : image_open(str_view(&bytes), &image, NULL);
    if (code == ETHOS_OK && opened)
        code = vector_builder_init(&vectors, opened, NULL);
    if (code == ETHOS_OK && opened)
        code = vector_builder_add(&vectors, unit.text, NULL);
    const struct vectors piece = code ? (struct vectors){0} : vector_builder_view(&vectors, 0);
    const struct image_vectors of_image = {&piece, 1};
    const struct ranker_scope scope = {
        .images = &image, .count = 1, .meaning = {opened, opened ? &of_image : NULL}};
    code = code ? code : ranker_rank(&scope, VIEW("Who is Anna?"), 1, &hit, &count, NULL);
    str_release(&bytes);
    vector_builder_release(&vectors);
    recall_model_close(opened);
    return code;
}

static void test_lack_of_memory_is_reported(void **state)
{
    int code = ETHOS_OK;
    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = rank_with_failures(false);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    code = ETHOS_NOMEM;
    ALLOC_EACH(m, code == ETHOS_OK)
    {
        code = rank_with_failures(true);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
}

#define WITH_MODEL(test) cmocka_unit_test_setup_teardown(test, open_model, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_score_is_the_sum_of_its_parts),
        WITH_MODEL(test_score_is_the_sum_of_its_parts),
        cmocka_unit_test(test_identifiers_and_other_scripts),
        WITH_MODEL(test_identifiers_and_other_scripts),
        cmocka_unit_test(test_images_of_a_scope_are_searched_as_one),
        WITH_MODEL(test_images_of_a_scope_are_searched_as_one),
        cmocka_unit_test(test_what_is_gone_changes_nothing),
        WITH_MODEL(test_what_is_gone_changes_nothing),
        cmocka_unit_test(test_headings_and_unwanted_units_are_no_hits),
        cmocka_unit_test(test_nothing_is_found_in_nothing),
        WITH_MODEL(test_nothing_is_found_in_nothing),
        WITH_MODEL(test_other_words_that_mean_the_same_are_found),
        WITH_MODEL(test_vectors_may_be_missing),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_meaning.c: other words that mean the same, and the vectors by which they are found.
 */
#include "../prefetch/questions.h"
#include "../world.h"
#include "base/str.h"
#include "memory/handle_internal.h"
#include "memory/recall/recall.h"
#include "paraphrases.h"

#define P "home/personalities/default/"
#define VECTORS "home/recall/personality-default.vec"
#define LEAST_FOUND 24
#define LEAST_RIGHT 54
#define MOST_WRONG 2

static struct recall_report report;

/* A handle with the model of the tree, as if it were installed. */
static void open_world(struct world *world)
{
    char folder[1100];
    world_open(world);
    snprintf(folder, sizeof folder, "%s/data/recall", world->start);
    assert_ok(world, recall_model_open(folder, &world->ethos->model, &world->error));
    world->ethos->model_sought = true;
}

static int add_hit(void *arg, const struct recall_hit *hit)
{
    return str_printf(arg, "%s:%.*s\n", hit->key, VIEW_ARG(hit->text));
}

/* The ten best hits, a line for each; free() it. */
static char *ask(struct world *world, const char *question, bool quick)
{
    const struct recall_ask ask = {.question = view_str(question),
                                   .limit = 10,
                                   .quick = quick,
                                   .said = RECALL_SAID_ALL,
                                   .encode_ms = quick ? 0 : 1000};
    const struct ethos_request request = {.user = NULL};
    struct ethos_turn *turn;
    struct str out;
    str_init(&out, 100000);
    assert_ok(world, ethos_turn_new(world->ethos, &request, &turn, &world->error));
    assert_ok(world, recall_search(turn, &ask, add_hit, &out, &report, &world->error));
    ethos_turn_free(turn);
    str_adds(&out, "");
    return str_steal(&out, NULL);
}

static int add_scope(void *arg, const struct recall_scope_report *scope)
{
    *(uint64_t *)arg += scope->encoded;
    return 0;
}

/* Brings everything up to date, however long it takes; the passages that were encoded. */
static uint64_t index_all(struct world *world)
{
    uint64_t encoded = 0;
    assert_ok(world, recall_index_all(world->ethos, add_scope, &encoded, &world->error));
    return encoded;
}

static bool finds(struct world *world, const char *question, const char *text)
{
    char *found = ask(world, question, false);
    bool has = strstr(found, text) != NULL;
    free(found);
    return has;
}

static void put_facts(struct world *world)
{
    struct str text;
    str_init(&text, 100000);
    for (size_t i = 0; i < COUNT(paraphrases); i++)
        str_printf(&text, "%s\n\n", paraphrases[i].fact);
    world_put(world, P "MEMORY.md", text.data);
    str_release(&text);
    for (size_t i = 0; i < COUNT(note_texts); i++) {
        char path[128];
        snprintf(path, sizeof path, P "%s", note_texts[i].key);
        world_put(world, path, note_texts[i].text);
    }
}

/* ---- what is found --------------------------------------------------------------------------- */

static size_t count_found(struct world *world)
{
    size_t found = 0;
    for (size_t i = 0; i < COUNT(paraphrases); i++)
        found += finds(world, paraphrases[i].question, paraphrases[i].fact);
    return found;
}

static void test_paraphrases(void **state)
{
    struct world *world = *state;
    assert_int_equal(COUNT(paraphrases), 40);
    put_facts(world);
    open_world(world);
    index_all(world);
    size_t with = count_found(world);
    world_put(world, "home/config.yaml", "recall.meaning: off\n");
    size_t without = count_found(world);
    print_message("%zu of 40 found, %zu by words alone\n", with, without);
    assert_true(with >= LEAST_FOUND);
    assert_int_equal(without, 0);
}

/* Half of what somebody asks for may be names: then words alone rank. */
static void test_names_are_found_by_their_letters(void **state)
{
    struct world *world = *state;
    put_facts(world);
    open_world(world);
    assert_true(finds(world, "Okafor", "My dentist is Dr. Okafor"));
    assert_true(finds(world, "golangci", "The linter is golangci-lint"));
    assert_false(finds(world, "ghp_xyzzy12345", "a"));
}

/* What a prompt gains still depends on whether memory has the words of the question. */
static void test_questions_without_an_answer_add_nothing(void **state)
{
    struct world *world = *state;
    size_t right = 0, wrong = 0;
    put_facts(world);
    world_put(world, P "MEMORY.md", "");
    open_world(world);
    index_all(world);
    for (size_t i = 0; i < COUNT(answered) + COUNT(unanswered); i++) {
        bool has = i < COUNT(answered);
        const char *question = has ? answered[i].question : unanswered[i - COUNT(answered)];
        const struct ethos_request request = {.query = question, .workspace = ""};
        struct ethos_turn *turn;
        struct ethos_block *block = NULL;
        assert_ok(world, ethos_turn_new(world->ethos, &request, &turn, &world->error));
        assert_ok(world, ethos_prefetch(turn, NULL, &block, &world->error));
        right += has && block && strstr(block->text, answered[i].answer);
        wrong += !has && block;
        ethos_block_free(block);
        ethos_turn_free(turn);
    }
    print_message("%zu of 60 found, %zu of 60 answered wrongly\n", right, wrong);
    assert_true(right >= LEAST_RIGHT && wrong <= MOST_WRONG);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void test_each_text_is_encoded_once(void **state)
{
    struct world *world = *state;
    put_facts(world);
    open_world(world);
    assert_true(index_all(world) >= 100);
    assert_true(world_exists(world, VECTORS));
    assert_true(finds(world, "Who fixed the bike?", "Peter repaired"));
    assert_int_equal(report.encoded, 0);
    char *text = temp_read(&world->temp, P "MEMORY.md", NULL);
    struct str longer;
    str_init(&longer, 100000);
    str_printf(&longer, "%sThe tram to the zoo is number nine.\n", text);
    world_put(world, P "MEMORY.md", longer.data);
    str_release(&longer);
    free(text);
    assert_true(finds(world, "Which streetcar goes to the animals?", "The tram to the zoo"));
    assert_int_equal(report.encoded + index_all(world), 1);
    assert_true(finds(world, "Who fixed the bike?", "Peter repaired"));
}

/* A prompt asks for what is there; it encodes what it has just indexed, if that is little. */
static void test_a_prompt_does_not_wait(void **state)
{
    struct world *world = *state;
    put_facts(world);
    open_world(world);
    index_all(world);
    free(ask(world, "Who fixed the bike?", true));
    assert_int_equal(report.encoded, 0);
    world_unlink(world, VECTORS);
    char *found = ask(world, "Who approves a release of the payment service?", true);
    assert_non_null(strstr(found, "Nadia"));
    free(found);
    assert_int_equal(report.encoded, 0);
    assert_false(world_exists(world, VECTORS));
    free(ask(world, "Who fixed the bike?", false));
    assert_true(world_exists(world, VECTORS));
}

static void test_what_is_damaged_is_made_anew(void **state)
{
    struct world *world = *state;
    put_facts(world);
    open_world(world);
    index_all(world);
    world_put(world, VECTORS, "these are no vectors");
    assert_true(index_all(world) >= 100);
    assert_true(finds(world, "Who fixed the bike?", "Peter repaired"));
    char *bytes = temp_read(&world->temp, VECTORS, NULL);
    assert_memory_equal(bytes, "ethosvec", 8);
    free(bytes);
}

/* A home that was indexed without a model gets one. */
static void test_a_model_that_comes_later(void **state)
{
    struct world *world = *state;
    put_facts(world);
    world_open(world);
    world->ethos->model_sought = true;
    assert_false(finds(world, "Which medicine helps with headaches?", "The physician"));
    assert_false(world_exists(world, VECTORS));
    ethos_close(world->ethos);
    world->ethos = NULL;
    open_world(world);
    index_all(world);
    assert_true(finds(world, "Which medicine helps with headaches?", "The physician"));
    assert_true(world_exists(world, VECTORS));
    ethos_close(world->ethos);
    world->ethos = NULL;
    world_open(world);
    world->ethos->model_sought = true;
    assert_true(finds(world, "the physician and the migraine", "The physician"));
}

static void test_what_is_removed_leaves_no_vectors(void **state)
{
    struct world *world = *state;
    put_facts(world);
    open_world(world);
    free(ask(world, "Who fixed the bike?", false));
    assert_true(world_exists(world, VECTORS));
    assert_ok(world, recall_remove(world->ethos, &world->error));
    assert_false(world_exists(world, VECTORS));
}

/* ---- what was said --------------------------------------------------------------------------- */

static void say(struct world *world, const char *id, const char *text)
{
    struct ethos_sessions *store = NULL;
    const struct ethos_session session = {
        .id = id, .key = id, .platform = "cli", .model = "m", .provider = "p", .working_dir = "/w"};
    const struct ethos_message message = {.role = "user", .content = view_str(text)};
    char out[ETHOS_UUID_SIZE];
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    assert_ok(world, store->ops->create(store, &session, out, &world->error));
    assert_ok(world, store->ops->append(store, id, &message, 1, 0, &world->error));
}

static size_t count_vectors(struct world *world)
{
    size_t count = 0;
    DIR *folder = opendir("../home/recall");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += strstr(entry->d_name, "sessions-") && strstr(entry->d_name, ".vec");
    if (folder)
        closedir(folder);
    (void)world;
    return count;
}

static void test_conversations_are_encoded_when_they_are_asked_for(void **state)
{
    static const char *const ids[] = {"11111111-1111-4111-8111-111111111111",
                                      "22222222-2222-4222-8222-222222222222",
                                      "33333333-3333-4333-8333-333333333333"};
    struct world *world = *state;
    world_mkdir(world, "home");
    open_world(world);
    say(world, ids[0], "The aircraft to Porto departs at dawn.");
    say(world, ids[1], "Our landlord raises the rent in spring.");
    char *found = ask(world, "When does my plane fly?", true);
    assert_int_equal(count_vectors(world), 0);
    free(found);
    assert_true(finds(world, "When does my plane fly?", "The aircraft"));
    assert_int_equal(report.encoded, 2);
    assert_int_equal(count_vectors(world), 1);
    say(world, ids[2], "The physician prescribed pills against the migraine.");
    recall_follow(world->ethos);
    assert_true(finds(world, "Which medicine helps with headaches?", "The physician"));
    assert_int_equal(report.encoded, 0); // the end of the turn did
    assert_ok(world, recall_remove_conversations(world->ethos, &world->error));
    assert_int_equal(count_vectors(world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_paraphrases, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_names_are_found_by_their_letters, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_questions_without_an_answer_add_nothing, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_each_text_is_encoded_once, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_prompt_does_not_wait, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_damaged_is_made_anew, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_model_that_comes_later, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_removed_leaves_no_vectors, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_conversations_are_encoded_when_they_are_asked_for,
                                        world_set_up, world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

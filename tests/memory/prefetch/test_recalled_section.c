/*
 * test_recalled_section.c: the section Recalled of a block: what it shows, what it leaves out, and when it is absent.
 */
#include "../world.h"
#include "base/str.h"
#include "questions.h"

#define P "home/personalities/default/"
#define MOST_WRONG 2
#define LEAST_RIGHT 54

static struct ethos_block *fetch_in(struct world *world, const char *workspace, const char *query,
                                    const struct ethos_prefetch_options *options)
{
    const struct ethos_request request = {.query = query, .workspace = workspace};
    struct ethos_turn *turn;
    struct ethos_block *block = NULL;
    assert_ok(world, ethos_turn_new(world->ethos, &request, &turn, &world->error));
    assert_ok(world, ethos_prefetch(turn, options, &block, &world->error));
    ethos_turn_free(turn);
    return block;
}

static struct ethos_block *fetch(struct world *world, const char *query,
                                 const struct ethos_prefetch_options *options)
{
    return fetch_in(world, "", query, options);
}

static void put_notes(struct world *world)
{
    char path[128];
    for (size_t i = 0; i < COUNT(note_texts); i++) {
        snprintf(path, sizeof path, P "%s", note_texts[i].key);
        world_put(world, path, note_texts[i].text);
    }
    world_open(world);
}

/* ---- whether anything answers ---------------------------------------------------------------- */

static void test_answered_questions(void **state)
{
    struct world *world = *state;
    size_t right = 0;
    assert_int_equal(COUNT(answered), 60);
    put_notes(world);
    for (size_t i = 0; i < COUNT(answered); i++) {
        struct ethos_block *block = fetch(world, answered[i].question, NULL);
        if (block && strstr(block->text, answered[i].answer))
            right++;
        else
            print_message("not found: %s\n", answered[i].question);
        ethos_block_free(block);
    }
    print_message("%zu of 60 found\n", right);
    assert_true(right >= LEAST_RIGHT);
}

static void test_unanswered_questions(void **state)
{
    struct world *world = *state;
    size_t wrong = 0;
    assert_int_equal(COUNT(unanswered), 60);
    put_notes(world);
    for (size_t i = 0; i < COUNT(unanswered); i++) {
        struct ethos_block *block = fetch(world, unanswered[i], NULL);
        if (block) {
            wrong++;
            print_message("%s: %s\n", unanswered[i], block->text);
        }
        ethos_block_free(block);
    }
    print_message("%zu of 60 answered\n", wrong);
    assert_true(wrong <= MOST_WRONG);
}

/* ---- the same, said --------------------------------------------------------------------------- */

/* Every paragraph of the notes is a message. */
static void say_notes(struct world *world, const char *folder)
{
    char id[ETHOS_UUID_SIZE];
    struct ethos_sessions *store;
    const struct ethos_session session = {
        .key = "cli:x", .platform = "cli", .model = "", .provider = "", .working_dir = folder};
    world_open(world);
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    assert_ok(world, store->ops->create(store, &session, id, &world->error));
    for (size_t i = 0; i < COUNT(note_texts); i++) {
        struct ethos_view rest = view_str(note_texts[i].text);
        while (rest.size > 0) {
            const char *end = memmem(rest.data, rest.size, "\n\n", 2);
            size_t size = end ? (size_t)(end - rest.data) : rest.size;
            const struct ethos_message message = {.role = "user",
                                                  .content = view_of(rest.data, size)};
            assert_ok(world, store->ops->append(store, id, &message, 1, 0, &world->error));
            rest = view_from(rest, end ? size + 2 : size);
        }
    }
}

static void test_questions_about_what_was_said(void **state)
{
    struct world *world = *state;
    size_t right = 0, wrong = 0;
    char folder[300];
    snprintf(folder, sizeof folder, "%s/project", world->temp.path);
    world_mkdir(world, "project");
    say_notes(world, folder);
    for (size_t i = 0; i < COUNT(answered); i++) {
        struct ethos_block *block = fetch_in(world, folder, answered[i].question, NULL);
        right += block && strstr(block->text, answered[i].answer);
        if (!block || !strstr(block->text, answered[i].answer))
            print_message("not found: %s\n", answered[i].question);
        ethos_block_free(block);
    }
    for (size_t i = 0; i < COUNT(unanswered); i++) {
        struct ethos_block *block = fetch_in(world, folder, unanswered[i], NULL);
        if (block)
            print_message("%s: %s\n", unanswered[i], block->text);
        wrong += block != NULL;
        ethos_block_free(block);
    }
    print_message("%zu of 60 found, %zu of 60 answered\n", right, wrong);
    assert_true(wrong <= MOST_WRONG);
    assert_true(right >= LEAST_RIGHT);
}

/* ---- the section ----------------------------------------------------------------------------- */

static void test_the_section(void **state)
{
    struct world *world = *state;
    world_put(world, P "MEMORY.md", "The oven is hot.\n");
    world_put(world, P "bread.md",
              "# Bread\n\nThe rye bread is baked at six.\n\nSince 2026-03-04 the flour comes from "
              "Anna.\n");
    world_open(world);
    struct ethos_block *block = fetch(world, "Who sells rolls in the bakery?", NULL);
    assert_null(block->recalled.data);
    ethos_block_free(block);
    block = fetch(world, "Where does the flour for the bread come from?", NULL);
    assert_string_equal(block->text, "## Memory\n\nThe oven is hot.\n\n## Recalled\n\n"
                                     "[personality:default bread.md:5, 2026-03-04]\n"
                                     "Since 2026-03-04 the flour comes from Anna.");
    assert_int_equal(block->chars, block->size);
    assert_true(view_starts(block->recalled, VIEW("[personality:default")));
    assert_ptr_equal(block->recalled.data + block->recalled.size, block->text + block->size);
    ethos_block_free(block);
}

/* The receipt says where each passage stands and why it is there. */
static void test_the_receipt(void **state)
{
    struct world *world = *state;
    const struct ethos_prefetch_options options = {.receipt = 1};
    world_put(world, P "bread.md", "# Bread\n\nThe flour comes from Anna.\n");
    world_open(world);
    struct ethos_block *block = fetch(world, "Where does the flour come from?", &options);
    assert_int_equal(block->found_count, 1);
    assert_string_equal(block->found->scope, "personality:default");
    assert_string_equal(block->found->key, "bread.md");
    assert_string_equal(block->found->message, "");
    assert_int_equal(block->found->line, 3);
    assert_string_equal(block->found->words, "flour come");
    assert_true(block->found->evidence == 1);
    ethos_block_free(block);
    block = fetch(world, "Where does the flour come from?", NULL);
    assert_int_equal(block->found_count, 0);
    ethos_block_free(block);
}

/* What the sections show is not repeated; without them, the section stands alone. */
static void test_what_is_shown_already(void **state)
{
    struct world *world = *state;
    world_put(world, P "MEMORY.md", "The oven is hot.\n");
    world_open(world);
    struct ethos_block *block = fetch(world, "Is the oven hot?", NULL);
    assert_string_equal(block->text, "## Memory\n\nThe oven is hot.");
    assert_null(block->recalled.data);
    ethos_block_free(block);
    world_put(world, P "a.md", "The gate is green.\n");
    world_remove(world, P "MEMORY.md");
    block = fetch(world, "Is the gate green?", NULL);
    assert_string_equal(block->text,
                        "## Recalled\n\n[personality:default a.md:1]\nThe gate is green.");
    ethos_block_free(block);
}

/* Whatever is found, the sections are the same, and the block is within its cap. */
static void test_caps(void **state)
{
    struct world *world = *state;
    char path[64];
    struct str text;
    str_init(&text, 100000);
    for (int i = 0; i < 600; i++)
        str_adds(&text, "Filler that fills a line of the file of memory. \u00c4\n");
    world_put(world, P "MEMORY.md", text.data);
    str_release(&text);
    for (int i = 0; i < 60; i++) {
        char note[256];
        snprintf(path, sizeof path, P "note%d.md", i);
        snprintf(note, sizeof note, "The gate number %d of the garden is made of öak wood.\n", i);
        world_put(world, path, note);
    }
    world_open(world);
    const struct ethos_prefetch_options bytes = {.max_bytes = 9500, .max_recalled = 1500};
    const struct ethos_prefetch_options *options[] = {NULL, &bytes};
    for (size_t i = 0; i < COUNT(options); i++) {
        struct ethos_block *one = fetch(world, "the gate of the garden", options[i]);
        struct ethos_block *other = fetch(world, "Who is the pope?", options[i]);
        assert_non_null(one->recalled.data);
        assert_null(other->recalled.data);
        assert_memory_equal(one->text, other->text, other->size);
        assert_true(one->size > other->size + 1000);
        assert_true(i == 0 ? one->chars <= 20000 : one->size <= 9500);
        assert_true(i == 0 ? one->chars - other->chars <= 2000 : one->size - other->size <= 1500);
        ethos_block_free(one);
        if (i == 1) { // with room for it, the sections are those of any prompt
            one = fetch(world, NULL, options[i]);
            assert_string_equal(one->text, other->text);
            ethos_block_free(one);
        }
        ethos_block_free(other);
    }
}

/* Without a query, and where the setting says so, no index is read or made. */
static void test_when_nothing_is_looked_for(void **state)
{
    struct world *world = *state;
    world_put(world, P "MEMORY.md", "The oven is hot.\n");
    world_put(world, P "a.md", "The gate is green.\n");
    world_open(world);
    ethos_block_free(fetch(world, NULL, NULL));
    ethos_block_free(fetch(world, " ", NULL));
    world_put(world, "home/config.yaml", "prefetch.recallChars: 0\n");
    struct ethos_block *block = fetch(world, "Is the gate green?", NULL);
    assert_string_equal(block->text, "## Memory\n\nThe oven is hot.");
    ethos_block_free(block);
    assert_false(world_exists(world, "home/recall"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answered_questions, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_unanswered_questions, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_questions_about_what_was_said, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_the_receipt, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_the_section, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_shown_already, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_caps, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_when_nothing_is_looked_for, world_set_up,
                                        world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_vector.c: a block in the mode vector: the newest entries, those that fit the question, and nothing lost.
 */
#include "../world.h"
#include "base/str.h"

#define P "home/personalities/default/"
#define ENTRIES 10000
#define FACT "- The wifi password of the cabin is written on the fridge door"
#define QUESTION "Where is the wifi password of the cabin?"

static struct ethos_block *fetch(struct world *world, const char *query,
                                 const struct ethos_prefetch_options *options)
{
    const struct ethos_request request = {.query = query, .workspace = ""};
    struct ethos_turn *turn;
    struct ethos_block *block = NULL;
    assert_ok(world, ethos_turn_new(world->ethos, &request, &turn, &world->error));
    assert_ok(world, ethos_prefetch(turn, options, &block, &world->error));
    ethos_turn_free(turn);
    return block;
}

static void configure(struct world *world, const char *more)
{
    char text[256];
    snprintf(text, sizeof text, "memory: vector\n%s", more);
    world_put(world, "home/config.yaml", text);
    world_open(world);
}

static size_t count(const char *text, const char *what)
{
    size_t found = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        found++;
    return found;
}

/* ---- many ------------------------------------------------------------------------------------ */

/* The fact lies 9,000 entries back; what does not fit the file goes to the archive. */
static void add_entries(struct world *world, size_t first, size_t end)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    for (size_t i = first; i < end; i++)
        if (i == ENTRIES - 9000)
            str_adds(&text, FACT "\n");
        else
            str_printf(&text, "- Entry %zu: machine %zu of hall %zu was oiled by team %zu\n", i,
                       i * 7919 % 1000, i * 31 % 17, i * 13 % 23);
    struct ethos_turn *turn;
    const struct ethos_update add = {.action = ETHOS_ACTION_ADD, .text = str_view(&text)};
    assert_ok(world, ethos_turn_new(world->ethos, NULL, &turn, &world->error));
    assert_ok(world, ethos_sync(turn, &add, 1, NULL, &world->error));
    ethos_turn_free(turn);
    str_release(&text);
}

static void check_all_there(struct world *world)
{
    char entry[64];
    char *file = temp_read(&world->temp, P "MEMORY.md", NULL);
    char *archive = temp_read(&world->temp, P "memory-archive.md",
                              NULL); // of 10,000, all have no room in one
    for (size_t i = 0; i < ENTRIES; i++) {
        snprintf(entry, sizeof entry, i == ENTRIES - 9000 ? FACT "\n" : "- Entry %zu: ", i);
        assert_true(count(file, entry) + count(archive, entry) == 1);
    }
    free(file);
    free(archive);
}

static void test_ten_thousand_entries(void **state)
{
    struct world *world = *state;
    const struct ethos_prefetch_options receipt = {.receipt = 1};
    world_open(world);
    for (size_t i = 0; i < ENTRIES; i += 500)
        add_entries(world, i, i + 500);
    char *before = temp_read(&world->temp, P "MEMORY.md", NULL);
    configure(world, "");

    struct ethos_block *tail = fetch(world, NULL, NULL);
    assert_true(tail->chars <= 2000 + strlen("## Memory\n\n"));
    assert_non_null(strstr(tail->text, "- Entry 9999: "));
    assert_null(strstr(tail->text, FACT));

    struct ethos_block *found = fetch(world, QUESTION, &receipt);
    assert_non_null(strstr(found->text, FACT));
    assert_true(found->chars <= 2000 + 4000 + 2 * strlen("## Memory\n\n"));
    assert_true(found->found_count >= 1);
    assert_non_null(strstr(found->found[0].words, "wifi"));
    assert_true(found->project_memory.size > 0 && !found->recalled.data);

    const struct ethos_target target = {.store = "memory"};
    struct ethos_file *file;
    struct ethos_turn *turn;
    assert_ok(world, ethos_turn_new(world->ethos, NULL, &turn, &world->error));
    assert_ok(world, ethos_read(turn, &target, &file, &world->error));
    assert_string_equal(file->text, before);
    ethos_file_free(file);
    ethos_turn_free(turn);
    check_all_there(world);
    ethos_block_free(tail);
    ethos_block_free(found);
    free(before);
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void put_filler(struct str *text, size_t lines)
{
    for (size_t i = 0; i < lines; i++)
        str_printf(text, "- Filler number %zu that says nothing\n", i);
}

static void put_memory(struct world *world, const char *start)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    str_adds(&text, start);
    put_filler(&text, 20);
    str_adds(&text, "- The kettle is new\n");
    world_put(world, P "MEMORY.md", text.data);
    str_release(&text);
}

static void test_paths_and_order(void **state)
{
    struct world *world = *state;
    world_put(world, P "memory-archive.md",
              "# Tools\n\n- The kettle leaks since Monday\n\n```\n# not a heading\n```\n");
    put_memory(world,
               "# Home\n\n## Kitchen\n\n- The kettle was mended\n\n# Work\n\nThe kettle of the "
               "office\n  is loud\n\n");
    configure(world, "memory.options.tailChars: 150\n");
    struct ethos_block *block = fetch(world, "What about the kettle?", NULL);
    const char *office = strstr(block->text, "[Work]\nThe kettle of the office\n  is loud\n\n");
    const char *mended = strstr(block->text, "[Home > Kitchen]\n- The kettle was mended\n\n");
    const char *leaks = strstr(block->text, "[Tools]\n- The kettle leaks since Monday\n\n");
    assert_true(office && mended && leaks && office < mended && mended < leaks);
    assert_int_equal(count(block->text, "The kettle is new"), 1); // of the newest, not repeated
    assert_int_equal(count(block->text, "## Memory\n"), 1);
    ethos_block_free(block);
}

static void test_room(void **state)
{
    struct world *world = *state;
    const struct ethos_prefetch_options receipt = {.receipt = 1};
    put_memory(world, "- The kettle was mended\n- A kettle is red\n- One kettle whistles\n");
    configure(world, "memory.options.tailChars: 150\nmemory.options.topK: 2\n");
    struct ethos_block *block = fetch(world, "What about the kettle?", &receipt);
    assert_int_equal(count(block->text, "kettle"), 3);
    assert_int_equal(block->found_count, 2);
    assert_int_equal(block->left_out, 1);
    ethos_block_free(block);
    configure(world, "memory.options.tailChars: 150\nmemory.options.chars: 10\n");
    block = fetch(world, "What about the kettle?", &receipt);
    assert_int_equal(count(block->text, "kettle"), 1);
    assert_int_equal(block->left_out, 3);
    ethos_block_free(block);
}

/* Where a block must begin as before, they stand behind it. */
static void test_sections_kept(void **state)
{
    struct world *world = *state;
    const struct ethos_prefetch_options kept = {.keep_sections = 1};
    put_memory(world, "- The kettle was mended\n");
    world_put(world, "home/USER.md", "Somebody\n");
    configure(world, "memory.options.tailChars: 150\n");
    struct ethos_block *without = fetch(world, NULL, NULL);
    struct ethos_block *with = fetch(world, "What about the kettle?", &kept);
    assert_memory_equal(with->text, without->text, without->size);
    assert_non_null(strstr(with->recalled.data, "- The kettle was mended"));
    ethos_block_free(without);
    ethos_block_free(with);
}

static void test_nothing(void **state)
{
    struct world *world = *state;
    configure(world, "");
    assert_null(fetch(world, NULL, NULL));
    assert_null(fetch(world, "What about the kettle?", NULL));
}

/* Only the archive has something: the section is there for it. */
static void test_archive_alone(void **state)
{
    struct world *world = *state;
    world_put(world, P "memory-archive.md", "- The kettle leaks\n");
    configure(world, "");
    assert_null(fetch(world, NULL, NULL));
    struct ethos_block *block = fetch(world, "What about the kettle?", NULL);
    assert_string_equal(block->text, "## Memory\n\n- The kettle leaks");
    ethos_block_free(block);
    world_put(world, "home/USER.md", "Somebody\n");
    block = fetch(world, "What about the kettle?", NULL);
    assert_string_equal(block->text, "## About You\n\nSomebody\n\n## Memory\n\n- The kettle leaks");
    ethos_block_free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ten_thousand_entries, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_paths_and_order, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_room, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_sections_kept, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_nothing, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_archive_alone, world_set_up, world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

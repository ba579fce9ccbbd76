/*
 * test_overflow.c: text over the ceiling: where it goes, what says so, and what it costs.
 */
#include "world.h"

#include "base/hash.h"
#include "base/str.h"
#include "memory/handle.h"

#define SCOPE "personality:p"
#define ARCHIVE "memory-archive.md"
#define HOME "home/personalities/p/"

/* A text of so many bytes, another one for each number; 64 bytes a line. */
static char *make_text(unsigned number, size_t size)
{
    char line[128], *text = malloc(size + 1);
    assert_non_null(text);
    for (size_t at = 0; at + 64 <= size; at += 64) {
        int length = snprintf(line, sizeof line, "text %06u line %08zu ", number, at / 64);
        memset(text + at, '.', 63);
        memcpy(text + at, line, (size_t)length);
        text[at + 63] = '\n';
    }
    text[size / 64 * 64] = 0;
    return text;
}

static off_t disk_bytes; /* of the files that nftw met */

static int add_bytes(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)path, (void)walk;
    if (type == FTW_F)
        disk_bytes += status->st_size;
    return 0;
}

static uint64_t count_bytes(const struct world *world)
{
    disk_bytes = 0;
    assert_int_equal(nftw(world->home, add_bytes, 16, FTW_PHYS), 0);
    return (uint64_t)disk_bytes;
}

static void replace(struct world *world, unsigned number, size_t size)
{
    char *text = make_text(number, size);
    const struct ethos_update update = {.action = ETHOS_ACTION_REPLACE, .text = view_str(text)};
    assert_ok(world, ethos_sync(world->turn, &update, 1, NULL, &world->error));
    free(text);
}

/* ---- every version ---------------------------------------------------------------------------- */

#define MOST 4096

struct versions {
    char names[MOST][ETHOS_REVISION_SIZE];
    size_t count;
};

static int note_version(void *arg, const struct ethos_change *change)
{
    struct versions *versions = arg;
    assert_true(versions->count < MOST);
    snprintf(versions->names[versions->count++], ETHOS_REVISION_SIZE, "%s", change->after);
    return ETHOS_OK;
}

/* Reads each version of the archive; all that step lies between are passed over. */
static size_t read_versions(struct world *world, size_t stride)
{
    struct versions *versions = calloc(1, sizeof *versions);
    struct ethos_provider *provider = service_provider(world->turn, SCOPE, NULL);
    assert_non_null(versions);
    assert_ok(world, provider->ops->history(provider, SCOPE, ARCHIVE, note_version, versions,
                                            &world->error));
    size_t count = versions->count, last = 0;
    for (size_t i = 0; i < count; i += stride) {
        struct ethos_text text = {0};
        char real[ETHOS_REVISION_SIZE];
        assert_ok(world, provider->ops->version(provider, SCOPE, ARCHIVE, versions->names[i], &text,
                                                &world->error));
        hash_revision(view_of(text.data, text.size), real);
        assert_string_equal(real, versions->names[i]);
        assert_true(last == 0 || text.size <= last); // newest first, and it only grows
        last = text.size;
        world->host.resize(world->host.arg, text.data, 0);
    }
    free(versions);
    return count;
}

/* ---- what it costs ------------------------------------------------------------------------------ */

static void test_many_overflows_cost_what_was_written(void **state)
{
    struct world *world = *state;
    const unsigned writes = 12;
    const size_t size = 1300000;
    world_personality(world, "p");
    for (unsigned i = 0; i < writes; i++)
        replace(world, i, size);
    uint64_t bytes = count_bytes(world);
    print_message("# %llu bytes written, %llu kept\n", (unsigned long long)(writes * size),
                  (unsigned long long)bytes);
    assert_true(bytes < 2 * writes * size);
    assert_int_equal(read_versions(world, 1), writes);
}

/* At the ceiling, each add pushes a line into the archive. */
static void test_many_small_overflows_cost_what_was_written(void **state)
{
    struct world *world = *state;
    char line[80];
    world_personality(world, "p");
    for (unsigned i = 0; i < 4; i++)
        replace(world, i, 1300000);
    uint64_t before = count_bytes(world);
    for (unsigned i = 0; i < 140; i++) {
        snprintf(line, sizeof line, "a small fact of number %u, of some length", i);
        const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = view_str(line)};
        assert_ok(world, ethos_sync(world->turn, &update, 1, NULL, &world->error));
    }
    uint64_t bytes = count_bytes(world) - before;
    print_message("# 140 small ones: %llu bytes\n", (unsigned long long)bytes);
    assert_true(bytes < 2000000); // MEMORY.md whole twice at most, the archive of 3 MB never
    assert_true(read_versions(world, 20) > 64);
}

static void test_what_is_purged_is_in_no_part_of_the_archive(void **state)
{
    struct world *world = *state;
    struct ethos_purge purge;
    const struct ethos_target target = {NULL, SCOPE, "MEMORY.md"};
    world_personality(world, "p");
    for (unsigned i = 0; i < 4; i++)
        replace(world, i, 900000);
    const struct ethos_match match = {.text = VIEW("text 000001 line 00000100")};
    assert_ok(world, ethos_forget(world->turn, &target, &match, NULL, &purge, &world->error));
    char command[256];
    snprintf(command, sizeof command, "grep -rqa 'text 000001 line 00000100' %s", world->home);
    assert_int_not_equal(system(command), 0);
    snprintf(command, sizeof command, "grep -rqa 'text 000001 line 00000101' %s", world->home);
    assert_int_equal(system(command), 0);
    assert_true(count_bytes(world) < 3 * 4 * 900000);
    assert_int_equal(read_versions(world, 1), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_LOOP(test_many_overflows_cost_what_was_written),
        WORLD_LOOP(test_many_small_overflows_cost_what_was_written),
        WORLD_LOOP(test_what_is_purged_is_in_no_part_of_the_archive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

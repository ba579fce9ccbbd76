/*
 * test_read_again.c: a file that was read is known to be the same without being read, and never when it, the
 * way to it or whose it is has changed.
 *
 * Where the file system does not let texts be kept, nothing holds and there is nothing to see.
 */
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "memory/handle.h"
#include "world.h"

#define CONFIG "home/config.yaml"
#define OWN "home/personalities/default"
#define MEMORY OWN "/MEMORY.md"
#define PROFILE "home/users/somebody/USER.md"
#define XFS_MAGIC 0x58465342
#define SETTLE_US 150000 /* more than what a text must have been left alone for */
#define TRIES 40 /* somebody else may mount something at any moment, which ends every watch */

static const struct ethos_request request = {.workspace = ""};
static const struct ethos_target memory = {.store = "memory"}, profile = {.store = "user"};

/* ---- a home, and what was seen of it ------------------------------------------------------------ */

static void set_back(struct world *world, const char *path)
{
    const struct timespec times[2] = {{1600000000, 7}, {1600000000, 7}};
    assert_int_equal(utimensat(world->temp.fd, path, times, 0), 0);
}

static void make_home(struct world *world)
{
    world_put(world, CONFIG, "user.id: somebody\n");
    world_put(world, MEMORY, "one\n");
    world_put(world, PROFILE, "me\n");
    set_back(world, MEMORY);
    set_back(world, PROFILE);
    usleep(SETTLE_US);
}

static bool keeps(const struct world *world)
{
    struct statfs info;
    assert_int_equal(fstatfs(world->temp.fd, &info), 0);
    return info.f_type == EXT4_SUPER_MAGIC || info.f_type == BTRFS_SUPER_MAGIC ||
           info.f_type == XFS_MAGIC || info.f_type == F2FS_SUPER_MAGIC;
}

static struct service_seen read_once(struct world *world, const struct ethos_target *target,
                                     const char *text)
{
    struct service_seen seen;
    struct ethos_file *file;
    world_turn(world, &request);
    assert_ok(world, service_read(world->turn, target, &file, &seen, &world->error));
    assert_string_equal(file->text, text);
    ethos_file_free(file);
    ethos_turn_free(world->turn);
    world->turn = NULL;
    return seen;
}

/* Reads until it is known. */
static struct service_seen see(struct world *world, const struct ethos_target *target,
                               const char *text)
{
    struct service_seen seen = {0};
    for (int i = 0; i < TRIES && !seen.turn; i++)
        seen = read_once(world, target, text);
    if (keeps(world))
        assert_true(seen.turn);
    return seen;
}

static int count_call(void *arg, const char *call, unsigned long number)
{
    char *calls = arg;
    size_t used = strlen(calls);
    (void)number;
    snprintf(calls + used, 256 - used, "%s ", call);
    return 0;
}

/* ---- it holds --------------------------------------------------------------------------------- */

static void test_what_was_read_is_known_to_be_the_same_without_being_opened(void **state)
{
    struct world *world = *state;
    char calls[256] = "";
    make_home(world);
    if (!keeps(world))
        return;
    for (int i = 0; i < TRIES; i++) {
        struct service_seen seen = see(world, &memory, "one\n");
        if (!service_holds(world->ethos, &seen))
            continue;
        calls[0] = 0;
        os_hook(count_call, calls);
        bool holds = service_holds(world->ethos, &seen);
        os_hook(NULL, NULL);
        if (holds)
            break;
    }
    assert_string_equal(calls, "poll fstatat ");
}

static void test_a_read_between_does_not_matter(void **state)
{
    struct world *world = *state;
    make_home(world);
    struct service_seen first = see(world, &memory, "one\n");
    struct service_seen other = see(world, &profile, "me\n");
    if (keeps(world) && first.turn == other.turn) {
        assert_true(service_holds(world->ethos, &first));
        assert_true(service_holds(world->ethos, &other));
    }
}

/* ---- it does not ------------------------------------------------------------------------------ */

static void test_nothing_holds_that_was_not_seen(void **state)
{
    struct world *world = *state;
    static const struct service_seen none;
    make_home(world);
    see(world, &memory, "one\n");
    assert_false(service_holds(world->ethos, &none));
}

static void put_in_place(struct world *world)
{
    int fd = openat(world->temp.fd, MEMORY, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "two\n", 4, 0), 4);
    close(fd);
    set_back(world, MEMORY);
}

static void put_by_rename(struct world *world)
{
    world_put(world, OWN "/new", "two\n");
    set_back(world, OWN "/new");
    world_rename(world, OWN "/new", MEMORY);
}

static void put_by_exchange(struct world *world)
{
    world_put(world, OWN "/new", "two\n");
    set_back(world, OWN "/new");
    assert_int_equal(renameat2(world->temp.fd, OWN "/new", world->temp.fd, MEMORY, RENAME_EXCHANGE),
                     0);
}

static void put_by_another_name(struct world *world)
{
    assert_int_equal(linkat(world->temp.fd, MEMORY, world->temp.fd, "other", 0), 0);
    world_unlink(world, "other");
    put_in_place(world);
}

static void put_through_a_mapping(struct world *world)
{
    int fd = openat(world->temp.fd, MEMORY, O_RDWR | O_CLOEXEC);
    char *page = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    close(fd);
    memcpy(page, "two\n", 4);
    set_back(world, MEMORY);
    munmap(page, 4);
}

/* The directory is another one, with another file of the name. */
static void put_by_directory(struct world *world)
{
    world_put(world, "home/personalities/other/MEMORY.md", "two\n");
    set_back(world, "home/personalities/other/MEMORY.md");
    world_rename(world, OWN, "home/personalities/away");
    world_rename(world, "home/personalities/other", OWN);
}

static void put_by_parent(struct world *world)
{
    world_rename(world, "home/personalities", "home/away");
    world_put(world, MEMORY, "two\n");
    set_back(world, MEMORY);
}

static void put_by_scope(struct world *world)
{
    world_put(world, "home/MEMORY.md", "two\n");
    set_back(world, "home/MEMORY.md");
    world_put(world, OWN "/config.yaml", "memoryScope: global\n");
}

static void put_by_personality(struct world *world)
{
    world_put(world, "home/personalities/other/MEMORY.md", "two\n");
    set_back(world, "home/personalities/other/MEMORY.md");
    world_put(world, CONFIG, "user.id: somebody\npersonality: other\n");
}

static void put_by_home(struct world *world)
{
    world_rename(world, "home", "away");
    world_put(world, CONFIG, "user.id: somebody\n");
    world_put(world, MEMORY, "two\n");
    set_back(world, MEMORY);
}

static void test_every_change_is_seen(void **state)
{
    static void (*const changes[])(struct world *) = {
        put_in_place,          put_by_rename,    put_by_exchange, put_by_another_name,
        put_through_a_mapping, put_by_directory, put_by_parent,   put_by_scope,
        put_by_personality,    put_by_home};
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(changes); i++) {
        world_close(world);
        world_remove(world, "home");
        world_remove(world, "away");
        make_home(world);
        struct service_seen seen = see(world, &memory, "one\n");
        changes[i](world);
        if (service_holds(world->ethos, &seen))
            fail_msg("change %zu was not seen", i);
        if (changes[i] !=
            put_by_home) // whoever has a home open stays in it until something is missing
            read_once(world, &memory, "two\n");
    }
}

static void test_a_write_of_ones_own_is_seen(void **state)
{
    struct world *world = *state;
    make_home(world);
    struct service_seen seen = see(world, &memory, "one\n");
    world_turn(world, &request);
    assert_ok(world, ethos_write(world->turn, &memory, NULL, VIEW("two\n"), NULL, &world->error));
    assert_false(service_holds(world->ethos, &seen));
    read_once(world, &memory, "two\n");
}

static void test_a_file_that_is_gone_is_seen(void **state)
{
    struct world *world = *state;
    make_home(world);
    struct service_seen seen = see(world, &memory, "one\n");
    world_unlink(world, MEMORY);
    assert_false(service_holds(world->ethos, &seen));
}

/* The same file, by a way that is not followed. */
static void test_a_way_that_has_become_a_link_is_seen(void **state)
{
    static const struct {
        const struct ethos_target *target;
        const char *text, *dir;
    } ways[] = {{&memory, "one\n", OWN}, {&profile, "me\n", "home/users/somebody"}};
    struct world *world = *state;
    struct ethos_file *file;
    make_home(world);
    for (size_t i = 0; i < COUNT(ways); i++) {
        char away[] = "away0";
        away[4] += (char)i;
        world_close(world); // one that met a link rests
        struct service_seen seen = see(world, ways[i].target, ways[i].text);
        world_rename(world, ways[i].dir, away);
        world_link(world, i ? "../../away1" : "../../away0", ways[i].dir);
        assert_false(service_holds(world->ethos, &seen));
        world_turn(world, &request);
        assert_int_equal(ethos_read(world->turn, ways[i].target, &file, &world->error),
                         ETHOS_DENIED);
        world_unlink(world, ways[i].dir);
        world_rename(world, away, ways[i].dir);
    }
}

/* An older profile is shown as long as there is no newer one. */
static void test_a_profile_of_before_is_not_known_to_be_the_same(void **state)
{
    struct world *world = *state;
    make_home(world);
    world_unlink(world, PROFILE);
    world_put(world, OWN "/USER.md", "before\n");
    set_back(world, OWN "/USER.md");
    usleep(SETTLE_US);
    for (int i = 0; i < TRIES; i++)
        assert_int_equal(read_once(world, &profile, "before\n").turn, 0);
}

static void test_a_profile_by_another_directory_is_seen(void **state)
{
    struct world *world = *state;
    make_home(world);
    struct service_seen seen = see(world, &profile, "me\n");
    world_put(world, "home/users/other/USER.md", "you\n");
    set_back(world, "home/users/other/USER.md");
    world_rename(world, "home/users/somebody", "home/users/away");
    world_rename(world, "home/users/other", "home/users/somebody");
    assert_false(service_holds(world->ethos, &seen));
    read_once(world, &profile, "you\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WORLD_TEST(test_what_was_read_is_known_to_be_the_same_without_being_opened),
        WORLD_TEST(test_a_read_between_does_not_matter),
        WORLD_TEST(test_nothing_holds_that_was_not_seen),
        WORLD_TEST(test_every_change_is_seen),
        WORLD_TEST(test_a_write_of_ones_own_is_seen),
        WORLD_TEST(test_a_file_that_is_gone_is_seen),
        WORLD_TEST(test_a_way_that_has_become_a_link_is_seen),
        WORLD_TEST(test_a_profile_of_before_is_not_known_to_be_the_same),
        WORLD_TEST(test_a_profile_by_another_directory_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

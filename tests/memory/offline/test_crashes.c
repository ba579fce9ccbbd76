/*
 * test_crashes.c: what was told done or queued is there once, whoever dies and however often the
 * backend goes away: processes are killed at every step, and four of them write while it comes and goes.
 * Larger with CHECK_LONG=1.
 *
 * The backend is a folder of files that says it keeps none here; all processes share it, and whether it is
 * there.
 */
#include "memory/offline/offline.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "../world.h"
#include "store/decorator.h"
#include "store/store.h"

#define WRITERS 4
#define MOST 20000 /* calls of one writer */

enum { UNKNOWN, REFUSED, TAKEN };

static struct shared {
    volatile int down, over;
    volatile int loses; /* one in so many answers is lost; 0: none */
    volatile unsigned begun[WRITERS], made[WRITERS];
    volatile char told[WRITERS][MOST];
} * shared;

/* ---- the backend ------------------------------------------------------------------------------ */

static int gone(struct ethos_error *error)
{
    if (!shared->down)
        return ETHOS_OK;
    if (error)
        *error = (struct ethos_error){.code = ETHOS_BUSY, .text = "away: nobody there"};
    return ETHOS_BUSY;
}

static int away_read(struct ethos_store *self, const char *scope, const char *key,
                     const struct ethos_read_how *how, struct ethos_text *out,
                     struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = gone(error);
    return code ? code : inner->ops->read(inner, scope, key, how, out, error);
}

static int away_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                     struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = gone(error);
    return code ? code : inner->ops->list(inner, scope, each, arg, error);
}

static int away_write(struct ethos_store *self, const char *scope, const char *key,
                      const char *expect, struct ethos_view text, const struct ethos_origin *origin,
                      char out[ETHOS_REVISION_SIZE], struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = gone(error);
    return code ? code : inner->ops->write(inner, scope, key, expect, text, origin, out, error);
}

static int away_remove(struct ethos_store *self, const char *scope, const char *key,
                       const char *expect, const struct ethos_origin *origin,
                       struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = gone(error);
    return code ? code : inner->ops->remove(inner, scope, key, expect, origin, error);
}

/* An answer that is lost says nothing. */
static int away_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                       size_t count, ethos_edit_fn *edit, void *arg,
                       const struct ethos_origin *origin, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    uint32_t chance = 1;
    int code = gone(error);
    if (code == ETHOS_OK)
        code = inner->ops->update(inner, scope, edits, count, edit, arg, origin, error);
    if (code == ETHOS_OK && shared->loses && os_random(&chance, sizeof chance) == 0 &&
        chance % (uint32_t)shared->loses == 0) {
        if (error)
            *error = (struct ethos_error){.code = ETHOS_IO, .text = "away: no answer"};
        return ETHOS_IO;
    }
    return code;
}

static int away_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                     struct ethos_error *error)
{
    static const struct ethos_store_ops ops = {.abi = ETHOS_ABI,
                                               .name = "away",
                                               .close = wrap_close,
                                               .read = away_read,
                                               .write = away_write,
                                               .remove = away_remove,
                                               .list = away_list,
                                               .update = away_update,
                                               .check = wrap_check};
    char root[PATH_MAX];
    struct ethos_setup there = *setup;
    struct ethos_store *inner;
    struct store_wrapper *wrap;
    int code = gone(error);
    snprintf(root, sizeof root, "%s/../db", setup->root);
    there.root = root;
    there.setting_count = 0;
    there.flags |= ETHOS_SETUP_FAST;
    if (code == ETHOS_OK)
        code = store_files.open(&there, &inner, error);
    if (code == ETHOS_OK)
        code = wrap_new(setup->host, &ops, sizeof *wrap, inner, &wrap, error);
    if (code != ETHOS_OK)
        return code;
    wrap->store.capabilities &= ~(uint32_t)(ETHOS_STORE_PATHS | ETHOS_STORE_HISTORY);
    *out_store = &wrap->store;
    return ETHOS_OK;
}

static struct ethos_store_ops table;
static struct backend backend;

static int set_up(void **state)
{
    static const struct ethos_option options[] = {{"url", ETHOS_OPTION_STRING, NULL, "where"}, {0}};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || world_set_up_quick(state) != 0)
        return -1;
    table = (struct ethos_store_ops){.abi = ETHOS_ABI,
                                     .name = "away",
                                     .options = options,
                                     .open = away_open,
                                     .close = wrap_close,
                                     .read = away_read,
                                     .write = away_write,
                                     .remove = away_remove,
                                     .list = away_list,
                                     .update = away_update};
    backend = (struct backend){.store = &table};
    return 0;
}

static int tear_down(void **state)
{
    munmap(shared, sizeof *shared);
    return world_tear_down(state);
}

#define STORM_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* A process of its own, as far as memory goes. */
static void begin(struct world *world, uint32_t deadline_ms)
{
    const struct ethos_setting settings[] = {{"offline", "cached"}, {"onOffline", "queue"}};
    const struct secrets_given given = {settings, 2, NULL, world->home, NULL};
    const struct ethos_setup setup = {
        .host = &world->host, .root = world->home, .deadline_ms = deadline_ms};
    struct ethos_provider *front;
    world_close(world);
    memset(&world->error, 0, sizeof world->error);
    assert_ok(world, offline_open(&backend, &setup, &given, (struct registry_group){0}, &front,
                                  &world->error));
    world_open_with(world, (struct ethos_options){.provider = front});
    world_turn(world, NULL);
}

static int add(struct world *world, const char *text, const char *op_id)
{
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = view_str(text)};
    const struct ethos_origin origin = {.op_id = op_id};
    const struct ethos_sync_how how = {.origin = &origin};
    memset(&world->error, 0, sizeof world->error);
    return ethos_sync(world->turn, &update, 1, &how, &world->error);
}

/* The log, after everything that waits was done. */
static struct ethos_file *read_all(struct world *world)
{
    struct ethos_file *file = NULL;
    begin(world, 20000);
    assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
    assert_int_equal(file->known_ms, 0);
    return file;
}

/* Whether anything is left in a folder of the one place. */
static bool is_left(struct world *world, const char *name)
{
    char *tree = world_tree(world, "home/offline", 0), look[32];
    snprintf(look, sizeof look, "/%s/", name);
    bool found = strstr(tree, look) != NULL;
    free(tree);
    return found;
}

static unsigned count_of(const char *text, const char *line)
{
    unsigned count = 0;
    size_t size = strlen(line);
    for (const char *at = text; at && (at = strstr(at, line)); at += size)
        count += (at == text || at[-1] == '\n') && (at[size] == '\n' || !at[size]);
    return count;
}

/* ---- killed at every step ---------------------------------------------------------------------- */

struct death {
    unsigned long at;
};

static int die(void *arg, const char *call, unsigned long number)
{
    const struct death *death = arg;
    (void)call;
    if (number == death->at)
        kill(getpid(), SIGKILL);
    return 0;
}

/* Runs it in a process that is killed before its nth call. True: it lived; *out_told: and succeeded. */
static bool killed_at(struct world *world, unsigned long at, int (*work)(struct world *world),
                      bool *out_told)
{
    struct death death = {at};
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        begin(world, 1000);
        os_hook(die, &death);
        int code = work(world);
        os_hook(NULL, NULL);
        _exit(code == ETHOS_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *out_told = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return WIFEXITED(status);
}

static int work_add(struct world *world)
{
    return add(world, "one", NULL);
}

static void test_killed_while_it_is_queued_a_call_is_there_once_or_not_at_all(void **state)
{
    struct world *world = *state;
    bool lived = false, told = false;
    unsigned kept = 0;

    for (unsigned long at = 1; !lived; at++) {
        world_remove(world, "db");
        world_remove(world, "home");
        shared->down = 1;
        lived = killed_at(world, at, work_add, &told);
        shared->down = 0;
        struct ethos_file *file = read_all(world);
        unsigned count = file->text ? count_of(file->text, "one") : 0;
        if (count > 1 || (told && count != 1) || is_left(world, "queue") ||
            is_left(world, "refused"))
            fail_msg("killed before call %lu: %u times, told %d", at, count, told);
        kept += count;
        ethos_file_free(file);
    }
    assert_true(told && kept > 1);
}

static int work_drain(struct world *world)
{
    struct ethos_block *block = NULL;
    int code = ethos_prefetch(world->turn, NULL, &block, &world->error);
    ethos_block_free(block);
    return code;
}

static void test_killed_while_it_is_done_a_call_is_done_once(void **state)
{
    struct world *world = *state;
    bool lived = false, told;
    unsigned long step = getenv("CHECK_LONG") ? 1 : 3;

    for (unsigned long at = 1; !lived; at += step) {
        world_remove(world, "db");
        world_remove(world, "home");
        shared->down = 1;
        begin(world, 1000);
        assert_ok(world, add(world, "one", NULL));
        assert_ok(world, add(world, "two", "mine"));
        world_close(world);
        shared->down = 0;
        lived = killed_at(world, at, work_drain, &told);
        struct ethos_file *file = read_all(world);
        if (!file->text || strcmp(file->text, "one\n\ntwo\n") != 0 || is_left(world, "queue") ||
            is_left(world, "refused"))
            fail_msg("killed before call %lu: %s", at, file->text);
        ethos_file_free(file);
    }
}

/* ---- coming and going --------------------------------------------------------------------------- */

/*
 * As a client does: what was not answered is asked again, with the same id. Only a first attempt that was
 * refused says that nothing was done; one before it may have died over it.
 */
static char insist(struct world *world, int writer, unsigned number)
{
    char text[32], op_id[40];
    snprintf(text, sizeof text, "%d.%u", writer, number);
    snprintf(op_id, sizeof op_id, "op.%s", text);
    bool first = shared->begun[writer] <= number;
    shared->begun[writer] = number + 1;
    int code = add(world, text, op_id);
    if (first && code == ETHOS_BUSY)
        return REFUSED;
    while ((code == ETHOS_IO || code == ETHOS_BUSY) && !shared->over)
        code = add(world, text, op_id);
    if (code != ETHOS_OK && code != ETHOS_IO && code != ETHOS_BUSY)
        _exit(100 - code);
    return code == ETHOS_OK ? TAKEN : UNKNOWN;
}

/* Now and then it begins anew, as a command would; some are killed over it, and their callers come again. */
static void write_on(struct world *world, int writer)
{
    begin(world, 100);
    for (unsigned i = shared->made[writer]; i < MOST && !shared->over; i++) {
        shared->told[writer][i] = insist(world, writer, i);
        shared->made[writer] = i + 1;
        if (i % 7 == 6)
            begin(world, 100);
    }
    _exit(0);
}

static pid_t start_writer(struct world *world, int writer)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        write_on(world, writer);
    return pid;
}

static void come_and_go(struct world *world, pid_t *pids, int64_t until)
{
    for (unsigned turn = 0; os_monotonic_ms() < until; turn++) {
        int victim = (int)(turn % WRITERS);
        os_sleep_ms(100);
        shared->down = !shared->down;
        if (turn % 3 != 2)
            continue;
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        pids[victim] = start_writer(world, victim);
    }
}

static void judge(struct world *world)
{
    struct ethos_file *file = read_all(world);
    unsigned taken = 0;
    assert_non_null(file->text);
    for (int writer = 0; writer < WRITERS; writer++) {
        const char *last = file->text;
        for (unsigned i = 0; i < shared->made[writer]; i++) {
            char text[32];
            snprintf(text, sizeof text, "%d.%u", writer, i);
            unsigned count = count_of(file->text, text);
            bool told = shared->told[writer][i] == TAKEN;
            if (shared->told[writer][i] == UNKNOWN ? count > 1 : count != told)
                fail_msg("%s: %u times, told %d", text, count, told);
            taken += told;
            snprintf(text, sizeof text, "%d.%u\n", writer, i);
            if (told && !(last = strstr(last, text)))
                fail_msg("%s comes before the one that was told before it", text);
        }
    }
    ethos_file_free(file);
    assert_true(taken > 100);
    assert_false(is_left(world, "queue"));
    assert_false(is_left(world, "refused"));
    print_message("%u calls taken\n", taken);
}

static void test_however_often_it_goes_what_was_told_is_there_once_and_in_order(void **state)
{
    struct world *world = *state;
    pid_t pids[WRITERS];
    int64_t ms = getenv("CHECK_LONG") ? 60000 : 2000;

    shared->loses = 10;
    for (int i = 0; i < WRITERS; i++)
        pids[i] = start_writer(world, i);
    come_and_go(world, pids, os_monotonic_ms() + ms);
    shared->over = 1;
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    shared->down = shared->loses = 0;
    judge(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORM_TEST(test_killed_while_it_is_queued_a_call_is_there_once_or_not_at_all),
        STORM_TEST(test_killed_while_it_is_done_a_call_is_done_once),
        STORM_TEST(test_however_often_it_goes_what_was_told_is_there_once_and_in_order),
    };
    return cmocka_run_group_tests_name("offline storm", tests, NULL, NULL);
}

/*
 * test_watch.c: changes are told once, by whoever they are made, when readers can see them.
 */
#include <poll.h>

#include "../../store/rows_ram.h"
#include "../history/fixture.h"
#include "base/str.h"
#include "base/system/os.h"
#include "memory/handle.h"
#include "memory/watch/watch.h"

#define PATIENCE_MS 20000 /* before a test that waits in vain fails */

/* What was told, a line each; see note. */
struct heard {
    char text[16384];
    unsigned count;
};

struct watching {
    struct world *world;
    struct ethos *ethos; /* the watcher's own */
    struct memory_watch *watch;
    struct heard heard;
};

static void note(void *arg, const struct watch_event *event)
{
    static const char *const names[] = {"memory",  "note",     "session",       "message",
                                        "pending", "conflict", "personalities", "users",
                                        "config",  "lost"};
    struct heard *heard = arg;
    char line[512] = "";
    size_t used = strlen(heard->text);
    if (event->change)
        snprintf(line, sizeof line, " %s %s %s %s", event->scope, event->key,
                 event->change->actions, event->change->via ? event->change->via : "-");
    else if (event->kind == WATCH_PENDING)
        snprintf(line, sizeof line, " %s", event->scope);
    else if (event->kind == WATCH_CONFLICT)
        snprintf(line, sizeof line, " %s %s %llu", event->scope, event->key,
                 (unsigned long long)event->count);
    else if (event->kind == WATCH_SESSION)
        snprintf(line, sizeof line, " %s", event->what);
    else if (event->kind == WATCH_MESSAGE)
        snprintf(line, sizeof line, " %s", event->role);
    assert_true(used + strlen(line) + 20 < sizeof heard->text);
    snprintf(heard->text + used, sizeof heard->text - used, "%s%s\n", names[event->kind], line);
    heard->count++;
}

/* A handle of the world's home whose clock goes on; the world's own writes. */
static void start_with(struct world *world, struct watching *w, struct ethos_options options)
{
    world->host.now_ms = log_default_host.now_ms;
    if (!world->ethos)
        world_personality(world, "tester");
    *w = (struct watching){.world = world};
    options.home = world->home;
    options.host = &world->host;
    assert_ok(world, ethos_open(&options, &w->ethos, &world->error));
    assert_ok(world, watch_open(w->ethos, &w->watch, &world->error));
}

static void start(struct world *world, struct watching *w)
{
    start_with(world, w, (struct ethos_options){0});
}

static void stop(struct watching *w)
{
    watch_close(w->watch);
    ethos_close(w->ethos);
}

/* One turn of the loop that a server has. */
static void turn(struct watching *w, int most_ms)
{
    struct pollfd ready = {watch_fd(w->watch), POLLIN, 0};
    int wait = watch_wait_ms(w->watch);
    os_poll(&ready, 1, wait >= 0 && wait < most_ms ? wait : most_ms);
    assert_ok(w->world, watch_poll(w->watch, note, &w->heard, &w->world->error));
}

/* Waits until this many events were told. */
static void await(struct watching *w, unsigned count)
{
    int64_t end = os_monotonic_ms() + PATIENCE_MS;
    while (w->heard.count < count && os_monotonic_ms() < end)
        turn(w, 100);
}

static void assert_heard(struct watching *w, const char *expected)
{
    unsigned lines = 0;
    for (const char *at = expected; (at = strchr(at, '\n')); at++)
        lines++;
    await(w, lines);
    assert_string_equal(w->heard.text, expected);
    w->heard = (struct heard){0};
}

/* Nothing comes after what was told, even when all that is under way is over. */
static void assert_silence(struct watching *w)
{
    w->heard = (struct heard){0};
    int64_t end = os_monotonic_ms() + 700;
    while (os_monotonic_ms() < end)
        turn(w, 100);
    assert_string_equal(w->heard.text, "");
}

/* ---- changes of ours ------------------------------------------------------------------------- */

static void test_a_change_is_told_once_with_what_history_says(void **state)
{
    struct watching w;
    world_mkdir(*state, "home");
    start(*state, &w);
    assert_silence(&w);
    past_add(w.world, "ann", "one");
    assert_heard(&w, "personalities\nmemory personality:tester MEMORY.md add test\n");
    past_add(w.world, "ann", "two");
    past_update(w.world, "ann", ETHOS_ACTION_REMOVE, "one");
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n"
                     "memory personality:tester MEMORY.md remove test\n");
    assert_silence(&w);
    stop(&w);
}

static void test_what_is_there_is_not_told(void **state)
{
    struct watching w;
    world_personality(*state, "tester");
    past_add(*state, "ann", "one");
    start(*state, &w);
    assert_silence(&w);
    past_add(w.world, "ann", "two");
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n");
    stop(&w);
}

static void test_every_scope_is_watched_also_those_to_come(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_put(world, "home/workspaces/w-0123456789ab/memory/MEMORY.md", "x\n");
    start(world, &w);
    static const char *const scopes[] = {
        "user:u1", "team:t1",         "workspace:w-0123456789ab",
        "global",  "memories:global", "memories:personality:tester"};
    for (size_t i = 0; i < COUNT(scopes); i++) {
        char expected[128];
        struct ethos_update update = {
            .action = ETHOS_ACTION_ADD, .scope = scopes[i], .key = "MEMORY.md", .text = VIEW("x")};
        assert_ok(world, ethos_sync(world->turn, &update, 1, NULL, &world->error));
        snprintf(expected, sizeof expected, "memory %s MEMORY.md add -\n", scopes[i]);
        int64_t end = os_monotonic_ms() + PATIENCE_MS;
        while (!strstr(w.heard.text, expected) && os_monotonic_ms() < end)
            turn(&w, 100);
        if (!strstr(w.heard.text, expected))
            fail_msg("not told: %s", expected);
    }
    assert_silence(&w);
    stop(&w);
}

static void test_a_note_is_told_as_one_and_what_is_no_text_is_not(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_mkdir(world, "home/personalities/tester");
    start(world, &w);
    const struct ethos_fact fact = {
        .text = VIEW("A fact."), .title = VIEW("Thing"), .scope = "personality"};
    struct ethos_kept kept;
    assert_ok(world, ethos_remember(world->turn, &fact, NULL, &kept, &world->error));
    await(&w, 2);
    assert_non_null(strstr(w.heard.text, "note personality:tester thing.md"));
    assert_non_null(strstr(w.heard.text, "memory personality:tester MEMORY.md"));
    world_put(world, "home/personalities/tester/x.txt", "x");
    world_put(world, "home/personalities/tester/.hidden.md", "x");
    assert_silence(&w);
    stop(&w);
}

/* Every change, whatever the watcher sees at once; in order. */
static void test_many_changes_are_all_told_in_order(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_mkdir(world, "home/personalities/tester");
    start(world, &w);
    for (int i = 0; i < 300; i++) {
        char text[32];
        snprintf(text, sizeof text, "entry %d", i);
        past_update(world, "ann", ETHOS_ACTION_REPLACE, text);
        if (i % 7 == 0)
            turn(&w, 0);
        w.heard.text[0] = 0;
    }
    int64_t end = os_monotonic_ms() + PATIENCE_MS;
    while (w.heard.count < 300 && os_monotonic_ms() < end) {
        w.heard.text[0] = 0;
        turn(&w, 100);
    }
    assert_int_equal(w.heard.count, 300);
    assert_silence(&w);
    stop(&w);
}

static void test_history_that_is_written_anew_tells_nothing_twice(void **state)
{
    struct watching w;
    struct world *world = *state;
    struct ethos_purge purge;
    world_personality(world, "tester");
    past_add(world, "ann", "keep this");
    past_add(world, "ann", "a secret");
    start(world, &w);
    past_add(world, "ann", "more");
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n");
    assert_ok(world, ethos_forget(world->turn, NULL,
                                  &(struct ethos_match){.text = VIEW("a secret"),
                                                        .flags = ETHOS_MATCH_SUBSTRING},
                                  NULL, &purge, &world->error));
    await(&w, 1);
    assert_int_equal(w.heard.count, 1); // the text lost a line
    past_add(world, "ann", "after");
    await(&w, 2);
    assert_int_equal(w.heard.count, 2);
    assert_non_null(strstr(w.heard.text, "memory personality:tester MEMORY.md add test\n"));
    assert_silence(&w);
    stop(&w);
}

static int64_t in_two_months(void *arg)
{
    return log_default_host.now_ms(arg) + 62 * INT64_C(86400000);
}

static void test_a_history_that_was_put_aside_for_a_month_loses_nothing(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_personality(world, "tester");
    past_add(world, "ann", "one");
    start(world, &w);
    past_add(world, "ann", "two");
    world->host.now_ms = in_two_months;
    past_add(world, "ann", "three");
    char *tree = world_tree(world, "home", TREE_ALL);
    assert_non_null(strstr(tree, "memory-history-20")); // it was put aside
    free(tree);
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n"
                     "memory personality:tester MEMORY.md add test\n");
    assert_silence(&w);
    stop(&w);
}

/* ---- edits made outside ---------------------------------------------------------------------- */

static void test_an_edit_made_outside_is_recorded_and_told(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_personality(world, "tester");
    past_add(world, "ann", "one");
    start(world, &w);
    world_put(world, "home/personalities/tester/MEMORY.md", "one\n\ntwo\n");
    assert_heard(&w, "memory personality:tester MEMORY.md external external\n");
    world_unlink(world, "home/personalities/tester/MEMORY.md");
    assert_heard(&w, "memory personality:tester MEMORY.md external external\n");
    assert_silence(&w);
    stop(&w);
}

static void test_a_text_that_somebody_is_writing_is_waited_for(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_personality(world, "tester");
    past_add(world, "ann", "one");
    start(world, &w);
    int fd = openat(world->temp.fd, "home/personalities/tester/MEMORY.md", O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "ha", 2), 2);
    assert_silence(&w);
    assert_int_equal(write(fd, "lf\n", 3), 3);
    assert_silence(&w);
    close(fd);
    assert_heard(&w, "memory personality:tester MEMORY.md external external\n");
    assert_file(world, "home/personalities/tester/MEMORY.md", "one\nhalf\n");
    stop(&w);
}

static void test_a_text_without_history_is_told_too(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_put(world, "home/personalities/tester/MEMORY.md", "old\n");
    world_personality(world, "tester");
    start(world, &w);
    world_put(world, "home/personalities/tester/MEMORY.md", "new\n");
    assert_heard(&w, "memory personality:tester MEMORY.md external external\n");
    assert_false(world_exists(world, "home/personalities/tester/memory-history.jsonl"));
    world_put(world, "home/personalities/tester/a-note.md", "new\n");
    assert_heard(&w, "note personality:tester a-note.md external external\n");
    assert_silence(&w);
    stop(&w);
}

static void test_a_text_below_a_tree_is_watched(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_put(world, "home/memories/a/b.txt", "x\n");
    start(world, &w);
    world_put(world, "home/memories/a/b.txt", "y\n");
    assert_heard(&w, "memory memories:global a/b.txt external external\n");
    world_put(world, "home/memories/c/d/e.txt", "y\n");
    assert_heard(&w, "memory memories:global c/d/e.txt external external\n");
    assert_silence(&w);
    stop(&w);
}

static void test_a_text_behind_a_link_is_asked_for(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_put(world, "home/shared/MEMORY.md", "old\n");
    world_mkdir(world, "home/personalities/tester");
    world_link(world, "../../shared/MEMORY.md", "home/personalities/tester/MEMORY.md");
    world_personality(world, "tester");
    past_add(world, "ann", "one");
    start(world, &w);
    turn(&w, 0);
    world_put(world, "home/shared/MEMORY.md", "old\n\none\n\nby hand\n");
    assert_heard(&w, "memory personality:tester MEMORY.md external external\n");
    stop(&w);
}

/* ---- a change that is not published ---------------------------------------------------------- */

/* Stops a writer before it swaps; the call before which it stops is the one that publishes. */
static int stop_at_exchange(void *arg, const char *call, unsigned long number)
{
    struct watching *w = arg;
    (void)number;
    if (strcmp(call, "exchange") != 0)
        return 0;
    os_hook(NULL, NULL);
    assert_silence(w); // the line is there, and its text is not
    return 0;
}

static void test_a_line_is_not_told_before_its_text_is_there(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_personality(world, "tester");
    past_add(world, "ann", "one");
    start(world, &w);
    os_hook(stop_at_exchange, &w);
    past_add(world, "ann", "two");
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n");
    assert_silence(&w);
    stop(&w);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void test_copies_that_are_kept_are_counted(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_personality(world, "tester");
    past_write(world, VIEW("one\n"));
    start(world, &w);
    unsigned conflicts = 0;
    past_write(world, VIEW("two\n"));
    assert_heard(&w, "memory personality:tester MEMORY.md replace -\n");
    int code = ethos_save(world->turn, NULL, VIEW("one\n"), VIEW("three\n"), NULL, &conflicts,
                          &world->error);
    assert_true(code == ETHOS_OK || code == ETHOS_CONFLICT);
    assert_int_equal(conflicts, 1);
    assert_heard(&w, "conflict personality:tester MEMORY.md 1\n");
    world_put(world, "home/personalities/tester/MEMORY.sync-conflict-20260101.md", "x");
    assert_heard(&w, "conflict personality:tester MEMORY.md 2\n");
    world_unlink(world, "home/personalities/tester/MEMORY.sync-conflict-20260101.md");
    assert_heard(&w, "conflict personality:tester MEMORY.md 1\n");
    assert_silence(&w);
    stop(&w);
}

static void test_what_waits_for_a_person_is_told(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_personality(world, "tester");
    world_put(world, "home/personalities/tester/memory-pending.jsonl", "{}\n");
    start(world, &w);
    assert_silence(&w); // it was there
    world_put(world, "home/personalities/tester/memory-pending.jsonl", "{}\n{}\n");
    assert_heard(&w, "pending personality:tester\n");
    world_unlink(world, "home/personalities/tester/memory-pending.jsonl");
    assert_heard(&w, "pending personality:tester\n");
    world_put(world, "home/memory-pending.jsonl", "{}\n");
    assert_heard(&w, "pending global\n");
    assert_silence(&w);
    stop(&w);
}

static void test_settings_people_and_personalities_are_told(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_mkdir(world, "home/personalities/tester");
    world_mkdir(world, "home/users");
    start(world, &w);
    world_put(world, "home/config.yaml", "prefetch.maxChars: 5000\n");
    assert_heard(&w, "config\n");
    world_put(world, "home/personalities/tester/SOUL.md", "Kind.\n");
    assert_heard(&w, "personalities\n");
    world_put(world, "home/users/identity-map.json", "[]\n");
    assert_heard(&w, "users\n");
    world_mkdir(world, "home/personalities/other");
    assert_heard(&w, "personalities\n");
    world_remove(world, "home/personalities/other");
    assert_heard(&w, "personalities\n");
    assert_silence(&w);
    stop(&w);
}

static void test_sessions_and_their_messages_are_told(void **state)
{
    struct watching w;
    struct world *world = *state;
    struct ethos_sessions *sessions;
    char id[ETHOS_UUID_SIZE];
    world_mkdir(world, "home");
    const struct ethos_session session = {.key = "k", .platform = "cli"};
    const struct ethos_message message = {.role = "user", .content = VIEW("hello")};
    start(world, &w);
    assert_ok(world, ethos_sessions(world->ethos, &sessions, &world->error));
    assert_ok(world, sessions->ops->create(sessions, &session, id, &world->error));
    assert_heard(&w, "session created\n");
    assert_ok(world, sessions->ops->append(sessions, id, &message, 1, 0, &world->error));
    assert_heard(&w, "message user\nsession updated\n");
    assert_ok(world, sessions->ops->remove(sessions, id, &world->error));
    await(&w, 1);
    assert_non_null(strstr(w.heard.text, "session deleted\n"));
    stop(&w);
}

static void test_a_home_that_appears_is_watched_from_then_on(void **state)
{
    struct watching w;
    struct world *world = *state;
    snprintf(world->home, sizeof world->home, "%s/not/there/yet", world->temp.path);
    start(world, &w);
    assert_silence(&w);
    past_add(world, "ann", "one");
    int64_t end = os_monotonic_ms() + PATIENCE_MS;
    while (!strstr(w.heard.text, "memory personality:tester MEMORY.md add test\n") &&
           os_monotonic_ms() < end)
        turn(&w, 100);
    assert_non_null(strstr(w.heard.text, "memory personality:tester MEMORY.md add test\n"));
    assert_silence(&w);
    stop(&w);
}

static void test_a_scope_that_goes_and_comes_back_is_followed(void **state)
{
    struct watching w;
    struct world *world = *state;
    world_personality(world, "tester");
    past_add(world, "ann", "one");
    start(world, &w);
    world_remove(world, "home/personalities/tester");
    assert_heard(&w, "personalities\n");
    assert_silence(&w);
    past_add(world, "ann", "again");
    assert_heard(&w, "personalities\nmemory personality:tester MEMORY.md add test\n");
    assert_silence(&w);
    stop(&w);
}

static void test_memory_in_another_backend_is_asked_for(void **state)
{
    struct watching w;
    struct world *world = *state;
    const struct ethos_setup setup = {.host = &world->host};
    struct ethos_store *store;
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    start_with(world, &w, (struct ethos_options){.store = store});
    struct ethos_turn *own;
    assert_ok(world, ethos_turn_new(w.ethos, NULL, &own, &world->error));
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = VIEW("x")};
    assert_ok(world, ethos_sync(own, &update, 1, NULL, &world->error));
    ethos_turn_free(own);
    assert_true(watch_wait_ms(w.watch) <= WATCH_PERIOD_MS);
    assert_heard(&w, "personalities\nmemory personality:default MEMORY.md add -\n");
    assert_silence(&w);
    stop(&w);
}

/* ---- a database ------------------------------------------------------------------------------ */

static struct ethos_store *database_store(struct world *world, struct rows_ram *db)
{
    struct ethos_store *store;
    assert_ok(world, store_rows_new(&world->host, rows_ram_open(db), 1000, &store, &world->error));
    return store;
}

/* The world's own handle writes to a database, and the watcher is another machine. */
static struct rows_ram *database(struct world *world)
{
    struct rows_ram *db = rows_ram_new(&world->host);
    assert_non_null(db);
    world->host.now_ms = log_default_host.now_ms;
    world_open_with(world, (struct ethos_options){.store = database_store(world, db)});
    world_personality(world, "tester");
    return db;
}

static void start_on(struct world *world, struct rows_ram *db, struct watching *w)
{
    start_with(world, w, (struct ethos_options){.store = database_store(world, db)});
}

static void stop_on(struct watching *w, struct rows_ram *db)
{
    stop(w);
    world_close(w->world);
    rows_ram_free(db);
}

/* One turn of the loop, whatever comes of it. */
static int try_turn(struct watching *w, int most_ms)
{
    struct pollfd ready = {watch_fd(w->watch), POLLIN, 0};
    int wait = watch_wait_ms(w->watch);
    os_poll(&ready, 1, wait >= 0 && wait < most_ms ? wait : most_ms);
    return watch_poll(w->watch, note, &w->heard, &w->world->error);
}

static void test_a_database_tells_what_other_machines_change(void **state)
{
    struct watching w;
    struct rows_ram *db = database(*state);
    past_add(*state, "ann", "was there");
    start_on(*state, db, &w);
    assert_silence(&w);
    past_add(w.world, "ann", "one");
    past_add(w.world, "ann", "two");
    assert_true(watch_fd(w.watch) >= 0);
    struct pollfd ready = {watch_fd(w.watch), POLLIN, 0};
    assert_int_equal(os_poll(&ready, 1, 0), 1); // nobody has to come by for that
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n"
                     "memory personality:tester MEMORY.md add test\n");
    assert_silence(&w);
    stop_on(&w, db);
}

static void test_a_quiet_database_is_not_asked(void **state)
{
    struct watching w;
    struct rows_ram *db = database(*state);
    past_add(*state, "ann", "one");
    start_on(*state, db, &w);
    assert_silence(&w);
    const struct rows_ram_hooks before = *rows_ram_hooks(db);
    assert_silence(&w);
    assert_int_equal(rows_ram_hooks(db)->pages, before.pages);
    assert_int_equal(rows_ram_hooks(db)->watches, before.watches);
    stop_on(&w, db);
}

static void test_scopes_that_others_write_first_appear(void **state)
{
    struct watching w;
    struct world *world = *state;
    struct rows_ram *db = database(world);
    const struct ethos_request ann = {.personality = "writer", .user = "ann"};
    const struct ethos_update profile = {
        .action = ETHOS_ACTION_ADD, .store = "user", .text = VIEW("likes tea")};
    start_on(world, db, &w);
    assert_silence(&w);
    past_add(world, "ann", "one");
    assert_heard(&w, "personalities\nmemory personality:tester MEMORY.md add test\n");
    world_turn(world, &ann);
    assert_ok(world, ethos_sync(world->turn, &profile, 1, NULL, &world->error));
    assert_heard(&w, "users\nmemory user:ann USER.md add -\n");
    assert_silence(&w);
    stop_on(&w, db);
}

static void test_copies_in_a_database_are_counted(void **state)
{
    struct watching w;
    struct world *world = *state;
    struct rows_ram *db = database(world);
    struct ethos_provider *provider = service_provider(world->turn, "global", NULL);
    past_add(world, "ann", "one");
    assert_ok(world, provider->ops->set_aside(provider, "personality:tester", "MEMORY.md",
                                              VIEW("theirs"), &world->error));
    start_on(world, db, &w);
    assert_silence(&w);
    assert_ok(world, provider->ops->set_aside(provider, "personality:tester", "MEMORY.md",
                                              VIEW("others'"), &world->error));
    assert_heard(&w, "conflict personality:tester MEMORY.md 2\n");
    assert_silence(&w);
    stop_on(&w, db);
}

/* How often it is called in vain while the database answers nothing. */
static unsigned count_tries(struct watching *w, struct rows_ram *db, int64_t for_ms)
{
    int64_t end = os_monotonic_ms() + for_ms;
    unsigned before = rows_ram_hooks(db)->watches + rows_ram_hooks(db)->pages, turns = 0;
    for (; os_monotonic_ms() < end; turns++)
        try_turn(w, 100);
    assert_true(turns <= 2 + for_ms / 100 * 2);
    return rows_ram_hooks(db)->watches + rows_ram_hooks(db)->pages - before;
}

static void test_a_database_that_was_away_is_made_up_for(void **state)
{
    struct watching w;
    struct rows_ram *db = database(*state);
    past_add(*state, "ann", "one");
    start_on(*state, db, &w);
    past_add(w.world, "ann", "two");
    rows_ram_hooks(db)->down = ETHOS_BUSY;
    assert_int_equal(try_turn(&w, 1000), ETHOS_BUSY);
    assert_true(watch_wait_ms(w.watch) > 0);
    assert_in_range(count_tries(&w, db, 500), 0, 3);
    assert_string_equal(w.heard.text, "");
    rows_ram_hooks(db)->down = ETHOS_OK;
    past_add(w.world, "ann", "three");
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n"
                     "memory personality:tester MEMORY.md add test\n");
    assert_silence(&w);
    stop_on(&w, db);
}

static void test_changes_of_a_time_when_nobody_was_told_are_made_up_for(void **state)
{
    struct watching w;
    struct world *world = *state;
    struct rows_ram *db = database(world);
    past_add(world, "ann", "one");
    start_on(world, db, &w);
    rows_ram_hooks(db)->deaf = true;
    past_add(world, "ann", "two"); // not told, as the next look shows that it is deaf
    rows_ram_hooks(db)->deaf = false;
    past_add(world, "ann", "three");
    rows_ram_hooks(db)->deaf = true;
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n"
                     "memory personality:tester MEMORY.md add test\n");
    past_add(world, "ann", "four");
    world_personality(world, "other");
    past_add(world, "ann", "five");
    assert_silence(&w);
    rows_ram_hooks(db)->deaf = false;
    assert_heard(&w, "personalities\n"
                     "memory personality:other MEMORY.md add test\n"
                     "memory personality:tester MEMORY.md add test\n");
    assert_silence(&w);
    stop_on(&w, db);
}

static void test_a_database_that_comes_late_is_told_as_lost(void **state)
{
    struct watching w;
    struct rows_ram *db = database(*state);
    past_add(*state, "ann", "one");
    rows_ram_hooks(db)->down = ETHOS_BUSY;
    start_on(*state, db, &w);
    assert_in_range(count_tries(&w, db, 500), 0, 3);
    rows_ram_hooks(db)->down = ETHOS_OK;
    past_add(w.world, "ann", "two");
    assert_heard(&w, "lost\n");
    past_add(w.world, "ann", "three");
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n");
    assert_silence(&w);
    stop_on(&w, db);
}

static void test_another_database_in_its_place_is_told_as_lost(void **state)
{
    struct watching w;
    struct rows_ram *db = database(*state);
    past_add(*state, "ann", "one");
    past_add(*state, "ann", "two");
    start_on(*state, db, &w);
    rows_ram_clear(db);
    past_add(w.world, "ann", "one");
    assert_heard(&w, "lost\n");
    past_add(w.world, "ann", "two");
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n");
    stop_on(&w, db);
}

/* Makes rows of which nobody asks what they lead to. */
static void commit_rows(struct world *world, struct rows_ram *db, size_t count)
{
    struct ethos_store *store = rows_ram_open(db);
    struct ethos_row *rows = calloc(count, sizeof *rows);
    assert_non_null(rows);
    for (size_t i = 0; i < count; i++)
        rows[i].change = (struct ethos_change){.number = count - i,
                                               .time_ms = os_now_ms(),
                                               .key = "MEMORY.md",
                                               .actions = "add",
                                               .before = "absent",
                                               .after = "absent",
                                               .diff = VIEW("")};
    const struct ethos_commit commit = {.next = count,
                                        .token = "00000000000000000000000000000000",
                                        .time_ms = os_now_ms(),
                                        .rows = rows,
                                        .row_count = count};
    assert_ok(world, store->ops->commit(store, "personality:busy", &commit, &world->error));
    store->ops->close(store);
    free(rows);
}

static void test_more_changes_than_can_be_told_are_told_as_lost(void **state)
{
    struct watching w;
    struct rows_ram *db = database(*state);
    start_on(*state, db, &w);
    commit_rows(w.world, db, 8193);
    assert_heard(&w, "personalities\nlost\n");
    assert_silence(&w);
    stop_on(&w, db);
}

/* ---- when calls fail --------------------------------------------------------------------------- */

/* Which calls fail, and how. */
struct failing {
    const char *call;     /* NULL: any */
    unsigned long number; /* only this one since the hook was set; 0: all */
    int errnum;
    bool hit;
};

static int fails(void *arg, const char *call, unsigned long number)
{
    struct failing *self = arg;
    if ((self->call && strcmp(self->call, call) != 0) || (self->number && self->number != number))
        return 0;
    self->hit = true;
    return strcmp(call, "close") == 0 ? 0 : self->errnum; // one that failed has closed, too
}

/* Where the kernel tells nothing, it is asked. */
static void test_without_watches_everything_is_told_nevertheless(void **state)
{
    static struct failing rows[] = {
        {.call = "watch", .errnum = EMFILE}, // inotify instances of the user
        {.call = "watch", .errnum = ENFILE},
        {.call = "watch_add", .errnum = ENOSPC}, // watches of the user
        {.call = "watch_add", .errnum = ENOMEM},
    };
    struct world *world = *state;
    world_mkdir(world, "home/personalities/tester");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct watching w;
        char text[32];
        os_hook(fails, &rows[i]);
        start(world, &w);
        assert_true(rows[i].hit);
        snprintf(text, sizeof text, "entry %zu", i);
        past_add(world, "ann", text);
        assert_heard(&w, "memory personality:tester MEMORY.md add test\n");
        world_put(world, "home/personalities/tester/MEMORY.md", "typed\n");
        await(&w, 1);
        assert_non_null(strstr(w.heard.text, "memory personality:tester MEMORY.md"));
        snprintf(text, sizeof text, "{}\n%zu", i);
        world_put(world, "home/personalities/tester/memory-pending.jsonl", text);
        await(&w, w.heard.count + 1);
        assert_non_null(strstr(w.heard.text, "pending personality:tester"));
        os_hook(NULL, NULL);
        stop(&w);
    }
}

/* The watches run out while it runs: what was there is watched, and what comes is asked for. */
static void test_a_scope_that_gets_no_watch_is_asked_for(void **state)
{
    struct failing failing = {.call = "watch_add", .errnum = ENOSPC};
    struct watching w;
    struct world *world = *state;
    world_mkdir(world, "home/personalities/tester");
    start(world, &w);
    os_hook(fails, &failing);
    const struct ethos_update update = {
        .action = ETHOS_ACTION_ADD, .scope = "user:new", .key = "USER.md", .text = VIEW("x")};
    assert_ok(world, ethos_sync(world->turn, &update, 1, NULL, &world->error));
    int64_t end = os_monotonic_ms() + PATIENCE_MS;
    while (!strstr(w.heard.text, "memory user:new USER.md add") && os_monotonic_ms() < end)
        turn(&w, 100);
    os_hook(NULL, NULL);
    assert_non_null(strstr(w.heard.text, "memory user:new USER.md add"));
    stop(&w);
}

/* Each of the calls of a look fails once; what it was about is told later, once, and in order. */
static void test_a_call_that_fails_costs_no_change(void **state)
{
    static const int errnums[] = {EIO, EMFILE, EACCES, ENOMEM};
    struct watching w;
    struct world *world = *state;
    char expected[sizeof w.heard.text] = "";
    world_mkdir(world, "home/personalities/tester");
    start(world, &w);
    struct failing failing = {.hit = true};
    unsigned changes = 0;
    for (unsigned long n = 1; failing.hit; n++) {
        char text[32];
        snprintf(text, sizeof text, "entry %u", changes);
        past_update(world, "ann", changes % 2 ? ETHOS_ACTION_REPLACE : ETHOS_ACTION_ADD, text);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected),
                 "memory personality:tester MEMORY.md %s test\n", changes % 2 ? "replace" : "add");
        changes++;
        failing = (struct failing){.number = n, .errnum = errnums[n % COUNT(errnums)]};
        os_hook(fails, &failing);
        (void)watch_poll(w.watch, note, &w.heard, &world->error);
        os_hook(NULL, NULL);
    }
    assert_true(changes > 10);
    int64_t end = os_monotonic_ms() + PATIENCE_MS;
    while (!strstr(w.heard.text, "lost") && w.heard.count < changes && os_monotonic_ms() < end)
        turn(&w, 100);
    if (!strstr(w.heard.text, "lost")) // who is told that has to look for itself
        assert_string_equal(w.heard.text, expected);
    w.heard = (struct heard){0};
    past_add(world, "ann", "afterwards");
    assert_heard(&w, "memory personality:tester MEMORY.md add test\n");
    assert_silence(&w);
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_change_is_told_once_with_what_history_says),
        WORLD_TEST(test_what_is_there_is_not_told),
        WORLD_TEST(test_every_scope_is_watched_also_those_to_come),
        WORLD_TEST(test_a_note_is_told_as_one_and_what_is_no_text_is_not),
        WORLD_LOOP(test_many_changes_are_all_told_in_order),
        WORLD_TEST(test_history_that_is_written_anew_tells_nothing_twice),
        WORLD_TEST(test_a_history_that_was_put_aside_for_a_month_loses_nothing),
        WORLD_TEST(test_an_edit_made_outside_is_recorded_and_told),
        WORLD_TEST(test_a_text_that_somebody_is_writing_is_waited_for),
        WORLD_TEST(test_a_text_without_history_is_told_too),
        WORLD_TEST(test_a_text_below_a_tree_is_watched),
        WORLD_TEST(test_a_text_behind_a_link_is_asked_for),
        WORLD_TEST(test_a_line_is_not_told_before_its_text_is_there),
        WORLD_TEST(test_copies_that_are_kept_are_counted),
        WORLD_TEST(test_what_waits_for_a_person_is_told),
        WORLD_TEST(test_settings_people_and_personalities_are_told),
        WORLD_TEST(test_sessions_and_their_messages_are_told),
        WORLD_TEST(test_a_home_that_appears_is_watched_from_then_on),
        WORLD_TEST(test_a_scope_that_goes_and_comes_back_is_followed),
        WORLD_TEST(test_memory_in_another_backend_is_asked_for),
        WORLD_TEST(test_a_database_tells_what_other_machines_change),
        WORLD_TEST(test_a_quiet_database_is_not_asked),
        WORLD_TEST(test_scopes_that_others_write_first_appear),
        WORLD_TEST(test_copies_in_a_database_are_counted),
        WORLD_TEST(test_a_database_that_was_away_is_made_up_for),
        WORLD_TEST(test_changes_of_a_time_when_nobody_was_told_are_made_up_for),
        WORLD_TEST(test_a_database_that_comes_late_is_told_as_lost),
        WORLD_TEST(test_another_database_in_its_place_is_told_as_lost),
        WORLD_TEST(test_more_changes_than_can_be_told_are_told_as_lost),
        WORLD_TEST(test_without_watches_everything_is_told_nevertheless),
        WORLD_TEST(test_a_scope_that_gets_no_watch_is_asked_for),
        WORLD_TEST(test_a_call_that_fails_costs_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

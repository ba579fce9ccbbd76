/*
 * test_turn_cache.c: a turn that serves again is the one that would be made anew.
 *
 * A handle that keeps its turn and one that was just opened are asked the same after every change: of
 * each file that a turn is made from, of the ways to it, of the environment. What they answer is
 * compared whole.
 */
#include <sys/wait.h>

#include "memory/handle.h"
#include "memory/home/identity.h"
#include "memory/workspace/workspace.h"
#include "world.h"

#define WARM 16  /* turns after which one is kept */
#define TRIES 20 /* somebody else may mount something at any moment, which ends every watch */
#define CONFIG "home/config.yaml"
#define OWN_CONFIG "home/personalities/default/config.yaml"
#define MAP "home/users/identity-map.json"
#define MARKER "work/.git/ethos-workspace"

static const struct ethos_request nothing;

/* ---- what a turn is --------------------------------------------------------------------------- */

static const char *or_none(const char *value)
{
    return value ? value : "-";
}

static void describe(struct ethos *ethos, const struct ethos_request *request, char out[4096])
{
    struct ethos_turn *turn;
    struct ethos_error error = {0};
    int code = ethos_turn_new(ethos, request, &turn, &error);
    if (code != ETHOS_OK) {
        snprintf(out, 4096, "%s: %s", ethos_code_name(code), error.text);
        return;
    }
    const struct ethos_context *context = ethos_turn_context(turn);
    const struct service_settings *settings = service_settings(turn);
    const struct workspace *workspace = service_workspace(turn);
    snprintf(out, 4096, "%s|%s|%s|%s|%s|%s|%s|%s|%s|%llu %d %d %lld|%d %d %s %s",
             or_none(context->personality), or_none(context->user), or_none(context->platform),
             or_none(context->memory_scope), or_none(context->user_scope),
             or_none(context->profile_fallback[0]), or_none(context->workspace),
             or_none(context->workspace_scope),
             context->workspace_error ? context->workspace_error->text : "-",
             (unsigned long long)settings->max_chars, settings->tail, settings->guard,
             (long long)settings->stale_days, workspace ? (int)workspace->found.how : -1,
             workspace ? workspace->marker : -1, workspace ? workspace->place.root.data : "-",
             workspace ? workspace->place.common.data : "-");
    ethos_turn_free(turn);
}

static void describe_fresh(struct world *world, const struct ethos_request *request, char out[4096])
{
    struct ethos *fresh;
    const struct ethos_options options = {.home = world->home, .host = &world->host};
    assert_ok(world, ethos_open(&options, &fresh, &world->error));
    describe(fresh, request, out);
    ethos_close(fresh);
}

static void assert_as_fresh(struct world *world, const struct ethos_request *request)
{
    char kept[4096], fresh[4096];
    describe(world->ethos, request, kept);
    describe_fresh(world, request, fresh);
    assert_string_equal(kept, fresh);
}

static int count_look(void *arg, const char *call, unsigned long number)
{
    unsigned *looks = arg;
    (void)number;
    *looks += strcmp(call, "poll") != 0;
    return 0;
}

/* Whether the next turn looks at no file. */
static bool is_kept(struct world *world, const struct ethos_request *request)
{
    unsigned looks = 0;
    char text[4096];
    os_hook(count_look, &looks);
    describe(world->ethos, request, text);
    os_hook(NULL, NULL);
    return looks == 0;
}

static void warm(struct world *world, const struct ethos_request *request)
{
    char text[4096];
    for (int i = 0; i < WARM; i++)
        describe(world->ethos, request, text);
}

static void assert_kept(struct world *world, const struct ethos_request *request)
{
    for (int i = 0; i < TRIES; i++) {
        if (is_kept(world, request))
            return;
        warm(world, request);
    }
    fail_msg("no turn is kept");
}

/* ---- a home with everything in it ------------------------------------------------------------- */

static void put_map(struct world *world, const char *user)
{
    char login[ETHOS_MAX_ID + 1], text[512];
    identity_login(login, sizeof login);
    snprintf(text, sizeof text,
             "[{\"platform\":\"cli\",\"platformUserId\":\"%s\",\"userId\":\"%s\"}]", login, user);
    world_put(world, MAP, text);
}

/* A folder below work with a git directory, which has written to its memory. */
static void make_home(struct world *world)
{
    world_put(world, CONFIG, "notes.staleDays: 30\n");
    world_put(world, OWN_CONFIG, "name: one\n");
    put_map(world, "somebody");
    world_mkdir(world, "work/.git");
    world_mkdir(world, "work/sub");
    world_turn(world, NULL);
    const struct ethos_fact fact = {.text = VIEW("A fact."), .title = VIEW("Fact")};
    struct ethos_kept kept;
    assert_ok(world, ethos_remember(world->turn, &fact, NULL, &kept, &world->error));
    ethos_turn_free(world->turn);
    world->turn = NULL;
    assert_true(world_exists(world, MARKER));
}

/* The one file below workspaces/<id>. */
static void doc_path(struct world *world, char out[256])
{
    char text[4096];
    describe_fresh(world, &nothing, text);
    const char *id = strstr(text, "|workspace:") + strlen("|workspace:");
    snprintf(out, 256, "home/workspaces/%.*s/workspace.json", (int)strcspn(id, "|"), id);
}

/* ---- changes; each stands for itself, and does what it can after any others -------------------- */

static void try_remove(struct world *world, const char *path)
{
    unlinkat(world->temp.fd, path, 0);
}

static void try_put(struct world *world, const char *path, const char *text)
{
    int fd = openat(world->temp.fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void try_rename(struct world *world, const char *from, const char *to)
{
    renameat(world->temp.fd, from, world->temp.fd, to);
}

/* As many bytes as before, and the times of before as far as anybody can set them. */
static void config_in_place(struct world *world)
{
    struct stat before;
    int fd = openat(world->temp.fd, CONFIG, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    assert_int_equal(fstat(fd, &before), 0);
    assert_int_equal(pwrite(fd, "notes.staleDays: 31\n", 20, 0), 20);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void config_replaced(struct world *world)
{
    try_put(world, "home/new", "notes.staleDays: 32\n");
    try_rename(world, "home/new", CONFIG);
}

static void config_removed(struct world *world)
{
    try_remove(world, CONFIG);
}

static void config_made(struct world *world)
{
    try_put(world, CONFIG, "notes.staleDays: 33\n");
}

static void config_damaged(struct world *world)
{
    try_put(world, CONFIG, "notes.staleDays: many\n");
}

/* Through a name that nobody looks at. */
static void config_by_another_name(struct world *world)
{
    linkat(world->temp.fd, CONFIG, world->temp.fd, "elsewhere", 0);
    try_put(world, "elsewhere", "notes.staleDays: 34\n");
    try_remove(world, "elsewhere");
}

static void config_swapped(struct world *world)
{
    try_put(world, "home/new", "notes.staleDays: 35\n");
    renameat2(world->temp.fd, "home/new", world->temp.fd, CONFIG, RENAME_EXCHANGE);
}

static void own_config_changed(struct world *world)
{
    try_put(world, OWN_CONFIG, "memoryScope: global\n");
}

static void own_config_removed(struct world *world)
{
    try_remove(world, OWN_CONFIG);
}

static void personality_moved(struct world *world)
{
    try_put(world, OWN_CONFIG, "memoryScope: global\n");
    try_rename(world, "home/personalities/default", "home/personalities/away");
}

static void personality_chosen(struct world *world)
{
    try_put(world, CONFIG, "personality: another\n");
}

static void map_changed(struct world *world)
{
    if (world_exists(world, "home/users"))
        put_map(world, "another");
}

static void map_removed(struct world *world)
{
    try_remove(world, MAP);
}

static void map_damaged(struct world *world)
{
    try_put(world, MAP, "[");
}

static void users_moved(struct world *world)
{
    try_rename(world, "home/users", "home/users-away");
}

static void marker_removed(struct world *world)
{
    try_remove(world, MARKER);
}

static void marker_changed(struct world *world)
{
    try_put(world, MARKER, "other-123 00112233445566778899aabbccddeeff\n");
}

static void doc_removed(struct world *world)
{
    char path[256];
    doc_path(world, path);
    try_remove(world, path);
}

static void doc_damaged(struct world *world)
{
    char path[256];
    doc_path(world, path);
    try_put(world, path, "{");
}

static void aliases_made(struct world *world)
{
    try_put(world, "home/workspaces/aliases.json", "[]");
}

static void workspaces_moved(struct world *world)
{
    try_rename(world, "home/workspaces", "home/workspaces-away");
}

static void workspace_renamed(struct world *world)
{
    char path[256], other[256];
    doc_path(world, path);
    *strrchr(path, '/') = 0;
    snprintf(other, sizeof other, "home/workspaces/moved-%s", path + strlen(path) - 12);
    try_rename(world, path, other);
}

static void git_moved(struct world *world)
{
    try_rename(world, "work/.git", "work/git-away");
}

static void git_made_a_file(struct world *world)
{
    git_moved(world);
    try_put(world, "work/.git", "gitdir: elsewhere\n");
}

static void git_made_a_link(struct world *world)
{
    git_moved(world);
    symlinkat("git-away", world->temp.fd, "work/.git");
}

static void work_moved(struct world *world)
{
    try_rename(world, "work", "moved");
}

static void work_made_anew(struct world *world)
{
    try_rename(world, "work", "moved");
    mkdirat(world->temp.fd, "work", 0700);
    assert_int_equal(chdir(world->work), 0);
}

static void other_directory(struct world *world)
{
    assert_int_equal(chdir(world->temp.path), 0);
}

static void below_with_git(struct world *world)
{
    (void)world;
    if (chdir("sub") == 0)
        mkdir(".git", 0700);
}

static void home_moved(struct world *world)
{
    try_rename(world, "home", "home-away");
}

static void home_made_anew(struct world *world)
{
    try_rename(world, "home", "home-away");
    mkdirat(world->temp.fd, "home", 0700);
    try_put(world, CONFIG, "notes.staleDays: 36\n");
}

static void home_opened_to_all(struct world *world)
{
    fchmodat(world->temp.fd, "home", 0777, 0);
}

static void environment_personality(struct world *world)
{
    (void)world;
    setenv("ETHOS_PERSONALITY", "by-environment", 1);
}

static void environment_user(struct world *world)
{
    (void)world;
    setenv("ETHOS_USER", "by-environment", 1);
}

static void environment_workspace(struct world *world)
{
    setenv("ETHOS_WORKSPACE", world->temp.path, 1);
}

static const struct change {
    const char *name;
    void (*make)(struct world *world);
} changes[] = {
    {"config in place", config_in_place},
    {"config replaced", config_replaced},
    {"config removed", config_removed},
    {"config made", config_made},
    {"config damaged", config_damaged},
    {"config by another name", config_by_another_name},
    {"config swapped", config_swapped},
    {"own config changed", own_config_changed},
    {"own config removed", own_config_removed},
    {"personality moved", personality_moved},
    {"personality chosen", personality_chosen},
    {"map changed", map_changed},
    {"map removed", map_removed},
    {"map damaged", map_damaged},
    {"users moved", users_moved},
    {"marker removed", marker_removed},
    {"marker changed", marker_changed},
    {"doc removed", doc_removed},
    {"doc damaged", doc_damaged},
    {"aliases made", aliases_made},
    {"workspaces moved", workspaces_moved},
    {"workspace renamed", workspace_renamed},
    {"git moved", git_moved},
    {"git made a file", git_made_a_file},
    {"git made a link", git_made_a_link},
    {"work moved", work_moved},
    {"work made anew", work_made_anew},
    {"other directory", other_directory},
    {"below, with git", below_with_git},
    {"home moved", home_moved},
    {"home made anew", home_made_anew},
    {"home opened to all", home_opened_to_all},
    {"environment: personality", environment_personality},
    {"environment: user", environment_user},
    {"environment: workspace", environment_workspace},
};

/* Everything as at first. */
static void begin(struct world *world)
{
    world_close(world);
    unsetenv("ETHOS_PERSONALITY");
    unsetenv("ETHOS_USER");
    unsetenv("ETHOS_WORKSPACE");
    assert_int_equal(chdir(world->temp.path), 0);
    world_remove(world, "home");
    world_remove(world, "home-away");
    world_remove(world, "work");
    world_remove(world, "moved");
    assert_int_equal(mkdirat(world->temp.fd, "work", 0700), 0);
    assert_int_equal(chdir(world->work), 0);
    make_home(world);
}

/* ---- the tests -------------------------------------------------------------------------------- */

static void test_after_some_turns_the_next_looks_at_no_file(void **state)
{
    struct world *world = *state;
    begin(world);
    assert_false(is_kept(world, &nothing));
    warm(world, &nothing);
    assert_kept(world, &nothing);
    assert_as_fresh(world, &nothing);
}

static void test_every_change_is_seen_by_the_next_turn(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(changes); i++) {
        begin(world);
        warm(world, &nothing);
        assert_kept(world, &nothing);
        char kept[4096], fresh[4096];
        changes[i].make(world);
        describe(world->ethos, &nothing, kept);
        describe_fresh(world, &nothing, fresh);
        if (strcmp(kept, fresh) != 0)
            fail_msg("%s: %s, but now %s", changes[i].name, kept, fresh);
        warm(world, &nothing);
        assert_as_fresh(world, &nothing);
    }
}

static void test_any_number_of_changes_in_any_order_is_seen(void **state)
{
    struct world *world = *state;
    unsigned seed = 20260715;
    for (int round = 0; round < 12; round++) {
        begin(world);
        for (int step = 0; step < 25; step++) {
            const struct change *change = &changes[(size_t)rand_r(&seed) % COUNT(changes)];
            bool rests = change->make == doc_removed || change->make == doc_damaged ||
                         change->make == workspace_renamed;
            char text[4096];
            for (int turns = rand_r(&seed) % WARM; turns > 0; turns--)
                describe(world->ethos, &nothing, text);
            describe_fresh(world, &nothing, text);
            if (rests && !strstr(text, "|workspace:"))
                continue; // there is no such file any more
            change->make(world);
            assert_as_fresh(world, &nothing);
        }
    }
}

static void test_a_linked_work_tree_is_followed_wherever_it_leads(void **state)
{
    struct world *world = *state;
    char line[256];
    begin(world);
    world_mkdir(world, "side");
    snprintf(line, sizeof line, "gitdir: %s/.git/worktrees/side\n", world->work);
    world_put(world, "side/.git", line);
    world_put(world, "work/.git/worktrees/side/commondir", "../..\n");
    snprintf(line, sizeof line, "%s/side/.git\n", world->temp.path);
    world_put(world, "work/.git/worktrees/side/gitdir", line);
    assert_int_equal(chdir("../side"), 0);
    warm(world, &nothing);
    assert_kept(world, &nothing);
    world_put(world, "work/.git/worktrees/side/gitdir", "/tmp\n"); // not ours any more
    assert_as_fresh(world, &nothing);
    world_put(world, "work/.git/worktrees/side/gitdir", line);
    warm(world, &nothing);
    assert_as_fresh(world, &nothing);
    world_unlink(world, "work/.git/worktrees/side/commondir");
    assert_as_fresh(world, &nothing);
}

static void test_a_home_behind_a_link_is_read_every_time(void **state)
{
    struct world *world = *state;
    begin(world);
    world_close(world);
    world_rename(world, "home", "one");
    world_link(world, "one", "home");
    world_put(world, "two/config.yaml", "notes.staleDays: 40\n");
    world_open(world);
    warm(world, &nothing);
    assert_false(is_kept(world, &nothing));
    world_link(world, "two", "next");
    world_rename(world, "next", "home");
    assert_as_fresh(world, &nothing);
}

static void test_a_directory_above_the_home_may_move(void **state)
{
    struct world *world = *state;
    begin(world);
    world_close(world);
    world_mkdir(world, "above");
    world_rename(world, "home", "above/home");
    world_put(world, "beside/home/config.yaml", "notes.staleDays: 41\n");
    snprintf(world->home, sizeof world->home, "%s/above/home", world->temp.path);
    world_open(world);
    warm(world, &nothing);
    assert_kept(world, &nothing);
    world_rename(world, "above", "away");
    world_rename(world, "beside", "above");
    assert_as_fresh(world, &nothing);
}

static void test_another_request_is_another_turn(void **state)
{
    static const struct ethos_request requests[] = {
        {0},
        {.personality = "p"},
        {.user = "u"},
        {.workspace = "/"},
        {.platform = "irc", .platform_user = "x"},
        {.platform = "irc", .platform_user = "y"},
        {.platform = "irc"},
        {.session = "s"},
        {.query = "q"},
    };
    struct world *world = *state;
    begin(world);
    for (size_t i = 0; i < COUNT(requests); i++) {
        warm(world, &requests[i]);
        for (size_t other = 0; other < COUNT(requests); other++)
            assert_as_fresh(world, &requests[other]);
    }
}

static void test_what_another_request_is_made_from_is_watched_too(void **state)
{
    static const struct ethos_request own = {.personality = "p"};
    struct world *world = *state;
    begin(world);
    warm(world, &nothing);
    for (int i = 0; i < 3; i++) {
        assert_as_fresh(world, &own);
        assert_as_fresh(world, &own);
        world_put(world, "home/personalities/p/config.yaml",
                  i % 2 ? "name: p\n" : "memoryScope: global\n");
        assert_as_fresh(world, &own);
        assert_as_fresh(world, &nothing);
    }
}

static int count_watch(void *arg, const char *call, unsigned long number)
{
    unsigned *watches = arg;
    (void)number;
    *watches += strcmp(call, "watch_add") == 0;
    return 0;
}

static void test_requests_that_differ_all_the_time_are_not_watched_for_ever(void **state)
{
    static const struct ethos_request own = {.personality = "p"};
    struct world *world = *state;
    unsigned watches = 0;
    begin(world);
    for (int i = 0; i < 2 * WARM; i++)
        assert_as_fresh(world, i % 2 ? &own : &nothing);
    os_hook(count_watch, &watches);
    for (int i = 0; i < 2 * WARM; i++)
        assert_as_fresh(world, i % 2 ? &own : &nothing);
    os_hook(NULL, NULL);
    assert_int_equal(watches, 0);
}

static void test_turns_at_the_same_time_are_two(void **state)
{
    struct world *world = *state;
    struct ethos_turn *one, *two;
    begin(world);
    warm(world, &nothing);
    assert_ok(world, ethos_turn_new(world->ethos, NULL, &one, &world->error));
    assert_ok(world, ethos_turn_new(world->ethos, NULL, &two, &world->error));
    assert_ptr_not_equal(one, two);
    ethos_turn_free(one);
    assert_string_equal(ethos_turn_context(two)->personality, "default");
    ethos_turn_free(two);
    assert_kept(world, &nothing);
}

static void test_a_turn_in_use_stays_what_it_was(void **state)
{
    struct world *world = *state;
    struct ethos_turn *turn;
    begin(world);
    warm(world, &nothing);
    assert_ok(world, ethos_turn_new(world->ethos, NULL, &turn, &world->error));
    config_removed(world);
    assert_as_fresh(world, &nothing);
    assert_int_equal(service_settings(turn)->stale_days, 30);
    ethos_turn_free(turn);
    assert_as_fresh(world, &nothing);
}

/* Both have the handle; what one of them learns must not be lost to the other. */
static void test_a_forked_process_and_its_parent_see_every_change(void **state)
{
    struct world *world = *state;
    int status;
    begin(world);
    warm(world, &nothing);
    config_in_place(world);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char kept[4096], fresh[4096];
        bool same = true;
        for (int i = 0; i < 2 * WARM; i++) {
            describe(world->ethos, &nothing, kept);
            describe_fresh(world, &nothing, fresh);
            same = same && strcmp(kept, fresh) == 0;
        }
        _exit(same ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_as_fresh(world, &nothing);
    warm(world, &nothing);
    map_changed(world);
    assert_as_fresh(world, &nothing);
}

static void change_other_names(struct world *world)
{
    for (int i = 0; i < 300; i++) {
        try_put(world, "home/other", "x");
        try_remove(world, "home/other");
    }
}

static void test_names_that_nobody_waits_for_disturb_nothing(void **state)
{
    struct world *world = *state;
    bool kept = false;
    for (int i = 0; i < TRIES && !kept; i++) {
        begin(world);
        warm(world, &nothing);
        change_other_names(world);
        kept = is_kept(world, &nothing);
    }
    assert_true(kept);
    config_replaced(world);
    assert_false(is_kept(world, &nothing));
}

static void test_whatever_fails_the_turn_is_the_right_one(void **state)
{
    static const char *const calls[] = {"watch", "watch_add", "watch_remove", "poll", "fstatfs"};
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        for (unsigned long n = 1; n < 60; n += n < 8 ? 1 : 17) {
            struct nth nth = {.number = n, .name = calls[i], .errnum = EIO};
            begin(world);
            os_hook(nth_fails, &nth);
            warm(world, &nothing);
            os_hook(NULL, NULL);
            config_replaced(world);
            assert_as_fresh(world, &nothing);
            warm(world, &nothing);
            map_changed(world);
            assert_as_fresh(world, &nothing);
        }
    }
}

static void test_without_memory_the_turn_is_the_right_one(void **state)
{
    struct world *world = *state;
    struct ethos_turn *turn;
    for (unsigned long n = 1; n < 40; n++) {
        begin(world);
        for (int i = 0; i < WARM; i++) {
            alloc_fail_at(n);
            int code = ethos_turn_new(world->ethos, NULL, &turn, &world->error);
            alloc_fail_at(0);
            assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
            if (code == ETHOS_OK)
                ethos_turn_free(turn);
        }
        config_replaced(world);
        assert_as_fresh(world, &nothing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_LOOP(test_after_some_turns_the_next_looks_at_no_file),
        WORLD_LOOP(test_every_change_is_seen_by_the_next_turn),
        WORLD_LOOP(test_any_number_of_changes_in_any_order_is_seen),
        WORLD_LOOP(test_a_linked_work_tree_is_followed_wherever_it_leads),
        WORLD_LOOP(test_a_home_behind_a_link_is_read_every_time),
        WORLD_LOOP(test_a_directory_above_the_home_may_move),
        WORLD_LOOP(test_another_request_is_another_turn),
        WORLD_LOOP(test_what_another_request_is_made_from_is_watched_too),
        WORLD_LOOP(test_requests_that_differ_all_the_time_are_not_watched_for_ever),
        WORLD_LOOP(test_turns_at_the_same_time_are_two),
        WORLD_LOOP(test_a_turn_in_use_stays_what_it_was),
        WORLD_LOOP(test_a_forked_process_and_its_parent_see_every_change),
        WORLD_LOOP(test_names_that_nobody_waits_for_disturb_nothing),
        WORLD_LOOP(test_whatever_fails_the_turn_is_the_right_one),
        WORLD_LOOP(test_without_memory_the_turn_is_the_right_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

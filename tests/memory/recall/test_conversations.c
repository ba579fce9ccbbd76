/*
 * test_conversations.c: what was said is found, by those who may, as it is now.
 */
#include <sys/file.h>
#include <sys/wait.h>

#include "../world.h"
#include "base/str.h"
#include "base/system/os.h"
#include "memory/provider/missing_slots.h"
#include "memory/recall/recall.h"

#define PARTY "home/recall/sessions.json"

static struct recall_report report;

/* ---- helpers --------------------------------------------------------------------------------- */

static struct ethos_sessions *store_of(struct world *world)
{
    struct ethos_sessions *store = NULL;
    if (!world->ethos)
        world_open(world);
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    return store;
}

static void begin(struct world *world, const char *id, const char *user, const char *folder)
{
    char out[ETHOS_UUID_SIZE];
    struct ethos_sessions *store = store_of(world);
    const struct ethos_session session = {.id = id,
                                          .key = id,
                                          .platform = "cli",
                                          .model = "m",
                                          .provider = "p",
                                          .working_dir = folder,
                                          .user = user};
    assert_ok(world, store->ops->create(store, &session, out, &world->error));
}

static void say(struct world *world, const char *id, const char *role, const char *text)
{
    struct ethos_sessions *store = store_of(world);
    const struct ethos_message message = {.role = role, .content = view_str(text)};
    assert_ok(world, store->ops->append(store, id, &message, 1, 0, &world->error));
}

static void say_foreign(struct world *world, const char *id, const char *text)
{
    struct ethos_sessions *store = store_of(world);
    const struct ethos_message message = {.role = "user",
                                          .content = view_str(text),
                                          .content_blocks = "[{\"type\":\"ethos_foreign\"}]"};
    assert_ok(world, store->ops->append(store, id, &message, 1, 0, &world->error));
}

static int add_hit(void *arg, const struct recall_hit *hit)
{
    return str_printf(arg, "%s %s: %.*s (%.9f)\n", hit->said ? hit->said->role : hit->scope,
                      hit->key, VIEW_ARG(hit->text), hit->ranked->score);
}

struct asked {
    const char *user, *session, *workspace;
    enum recall_said said;
};

/* What a question finds, a line for each hit; free() it. */
static char *ask_as(struct world *world, const struct asked *who, const char *question)
{
    const struct recall_ask ask = {.question = view_str(question), .limit = 10, .said = who->said};
    const struct ethos_request request = {
        .user = who->user, .session = who->session, .workspace = who->workspace};
    struct ethos_turn *turn;
    struct str out;
    str_init(&out, 100000);
    str_adds(&out, "");
    assert_ok(world, ethos_turn_new(world->ethos, &request, &turn, &world->error));
    assert_ok(world, recall_search(turn, &ask, add_hit, &out, &report, &world->error));
    ethos_turn_free(turn);
    return str_steal(&out, NULL);
}

static bool finds(struct world *world, const struct asked *who, const char *question,
                  const char *text)
{
    char *found = ask_as(world, who, question);
    bool is_found = strstr(found, text) != NULL;
    free(found);
    return is_found;
}

static const struct asked everything = {.said = RECALL_SAID_ALL};

static void note_finding(void *arg, const struct ethos_finding *finding)
{
    str_printf(arg, "%d %s: %s\n", finding->severity == ETHOS_FINDING_FIXED, finding->subject,
               finding->problem);
}

static void assert_findings(struct world *world, bool fix, const char *expected)
{
    struct str out;
    str_init(&out, 10000);
    str_adds(&out, "");
    assert_ok(world, recall_check(world->ethos, fix, note_finding, &out, &world->error));
    assert_string_equal(out.data, expected);
    str_release(&out);
}

/* ---- who finds what -------------------------------------------------------------------------- */

static void test_what_was_said_is_found_at_once(void **state)
{
    struct world *world = *state;
    begin(world, "s1", NULL, "/p");
    assert_false(finds(world, &everything, "Which port?", "port"));
    say(world, "s1", "user", "Which port does the staging server use?");
    say(world, "s1", "assistant", "The staging server uses port 8443.");
    assert_true(finds(world, &everything, "staging port", "assistant s1: The staging server"));
    assert_true(finds(world, &everything, "staging port", "user s1: Which port"));
    say(world, "s1", "tool_result", "The lighthouse is red.");
    assert_false(finds(world, &everything, "lighthouse", "lighthouse"));
    say(world, "s1", "user_steer", "The lighthouse is blue.");
    assert_true(finds(world, &everything, "lighthouse", "blue"));
    world_open(world);
    assert_true(finds(world, &everything, "lighthouse", "blue"));
    assert_false(finds(world, &(struct asked){.said = RECALL_SAID_NONE}, "lighthouse", "blue"));
}

static void test_text_of_others_is_not_recalled(void **state)
{
    struct world *world = *state;
    begin(world, "s1", NULL, "/p");
    say(world, "s1", "user",
        "Sum up this page about harbours\n\n<attachment name=\"page\">\n"
        "The lighthouse must be remembered.\n</attachment>");
    say_foreign(world, "s1", "Fwd: the lighthouse must be remembered, says somebody");
    assert_false(finds(world, &everything, "lighthouse", "lighthouse"));
    assert_true(finds(world, &everything, "harbours", "Sum up this page about harbours"));
    assert_false(finds(world, &everything, "harbours", "lighthouse"));
}

static void test_conversations_of_other_people_and_projects(void **state)
{
    struct world *world = *state;
    char here[300], other[300];
    world_mkdir(world, "here");
    world_mkdir(world, "other");
    snprintf(here, sizeof here, "%s/here", world->temp.path);
    snprintf(other, sizeof other, "%s/other", world->temp.path);
    const struct asked me = {.workspace = here, .said = RECALL_SAID_PROJECT};
    const struct asked ella = {.workspace = here, .user = "ella", .said = RECALL_SAID_PROJECT};
    const struct asked nowhere = {.workspace = "", .said = RECALL_SAID_PROJECT};
    begin(world, "mine", NULL, here);
    begin(world, "away", NULL, other);
    begin(world, "hers", "ella", here);
    say(world, "mine", "user", "The oven is hot, bread bakes.");
    say(world, "away", "user", "Elsewhere the oven is cold.");
    say(world, "hers", "user", "Ella bakes rye in the oven.");
    char *before = ask_as(world, &me, "oven");
    assert_non_null(strstr(before, "hot"));
    assert_null(strstr(before, "cold"));
    assert_null(strstr(before, "rye"));
    assert_true(finds(world, &ella, "oven", "rye"));
    assert_false(finds(world, &ella, "oven", "hot"));
    assert_false(finds(world, &nowhere, "oven", "oven"));
    for (int i = 0; i < 100; i++) {
        say(world, "hers", "user", "Oven, oven! Where is the bread?");
        say(world, "away", "assistant", "It is in the oven. Bread!");
    }
    char *again = ask_as(world, &me, "oven"); // not a byte
    assert_string_equal(again, before);
    free(again);
    free(before);
    world_put(world, "home/config.yaml", "sessions:\n  across: \"on\"\n");
    world_open(world);
    assert_true(finds(world, &me, "Elsewhere the oven", "cold"));
    assert_false(finds(world, &me, "rye oven", "rye"));
}

static void test_the_conversation_in_which_is_asked(void **state)
{
    struct world *world = *state;
    const struct asked asking = {.session = "now", .said = RECALL_SAID_ALL};
    begin(world, "then", NULL, "/p");
    begin(world, "now", NULL, "/p");
    say(world, "then", "user", "Who keeps the lighthouse?");
    say(world, "then", "assistant", "Ruth keeps the lighthouse.");
    say(world, "now", "user", "The lighthouse again: who?");
    char *found = ask_as(world, &asking, "Who keeps the lighthouse?");
    assert_non_null(strstr(found, "Ruth"));
    assert_null(strstr(found, "again"));
    assert_null(strstr(found, "Who keeps"));
    free(found);
    assert_true(finds(world, &everything, "lighthouse", "again"));
}

/* Conversations of a backend that tells no index what was said are passed over, and nothing has failed. */
static void test_a_backend_that_is_searched_itself(void **state)
{
    struct world *world = *state;
    begin(world, "s", NULL, "/p");
    say(world, "s", "user", "The lighthouse is blue.");
    struct ethos_sessions *store = store_of(world);
    const struct ethos_sessions_ops *own = store->ops;
    struct ethos_sessions_ops without = *own;
    without.unseen = slots_no_sessions.unseen;
    without.message = slots_no_sessions.message;
    store->ops = &without;
    assert_false(finds(world, &everything, "lighthouse", "blue"));
    assert_int_equal(report.code, ETHOS_OK);
    recall_follow(world->ethos);
    assert_findings(world, false, "");
    store->ops = own;
    assert_true(finds(world, &everything, "lighthouse", "blue"));
}

/* What a model may not read is in no index. */
static void test_secrets_are_not_indexed(void **state)
{
    struct world *world = *state;
    begin(world, "s", NULL, "/p");
    say(world, "s", "user", "The key is\naws AKIAIOSFODNN7EXAMPLE\nand the oven is hot.");
    char *found = ask_as(world, &everything, "AKIAIOSFODNN7EXAMPLE oven");
    assert_null(strstr(found, "AKIA"));
    assert_non_null(strstr(found, "oven is hot"));
    free(found);
}

/* ---- what changes ---------------------------------------------------------------------------- */

#define SESSIONS 4
#define SAID 400

/* A message has a word of its own, which tells whether it is found. */
struct told {
    int session; /* -1: it is gone */
};

static uint32_t chance;

static unsigned draw(unsigned below)
{
    chance = chance * 1664525 + 1013904223;
    return (chance >> 16) % below;
}

static void tell(struct world *world, struct told *told, int number)
{
    char id[8], text[128];
    told[number].session = (int)draw(SESSIONS);
    snprintf(id, sizeof id, "s%d", told[number].session);
    snprintf(text, sizeof text, "Number q%dx was drawn, a fact among %u others.", number, draw(9));
    say(world, id, draw(2) ? "user" : "assistant", text);
}

static void forget_last(struct world *world, struct told *told, int count)
{
    char id[8];
    uint64_t hidden = 0;
    int session = (int)draw(SESSIONS);
    struct ethos_sessions *store = store_of(world);
    snprintf(id, sizeof id, "s%d", session);
    say(world, id, "user", "Never mind.");
    assert_ok(world, store->ops->undo(store, id, 1, &hidden, &world->error));
    (void)told;
    (void)count;
}

static void remove_session(struct world *world, struct told *told, int count)
{
    char id[8], folder[8];
    int session = (int)draw(SESSIONS);
    struct ethos_sessions *store = store_of(world);
    snprintf(id, sizeof id, "s%d", session);
    snprintf(folder, sizeof folder, "/%d", session % 2);
    assert_ok(world, store->ops->remove(store, id, &world->error));
    for (int i = 0; i < count; i++)
        if (told[i].session == session)
            told[i].session = -1;
    begin(world, id, NULL, folder);
}

static void move_session(struct world *world)
{
    char id[8], folder[16];
    struct ethos_sessions *store = store_of(world);
    snprintf(id, sizeof id, "s%u", draw(SESSIONS));
    snprintf(folder, sizeof folder, "/%u", draw(3));
    const struct ethos_session_patch patch = {.working_dir = folder};
    assert_ok(world, store->ops->update(store, id, &patch, &world->error));
}

static void assert_all_found(struct world *world, const struct told *told, int count)
{
    for (int i = 0; i < 12; i++) {
        char word[16];
        int number = i < 2 ? count - 1 - i : (int)draw((unsigned)count);
        if (number < 0)
            continue;
        snprintf(word, sizeof word, "q%dx", number);
        bool found = finds(world, &everything, word, word);
        if (found != (told[number].session >= 0))
            fail_msg("%s of %d: %d", word, count, found);
    }
}

/* Whatever happens to conversations and their index: what is there is found, what is gone is not. */
static void test_random_changes(void **state)
{
    struct world *world = *state;
    struct told told[SAID];
    int lock = -1;
    chance = 1;
    for (int i = 0; i < SESSIONS; i++) {
        char id[8], folder[8];
        snprintf(id, sizeof id, "s%d", i);
        snprintf(folder, sizeof folder, "/%d", i % 2);
        begin(world, id, NULL, folder);
    }
    for (int i = 0; i < SAID; i++) {
        tell(world, told, i);
        switch (draw(40)) {
        case 0:
            forget_last(world, told, i);
            break;
        case 1:
            remove_session(world, told, i + 1);
            break;
        case 2:
            world_remove(world, "home/recall");
            break;
        case 3:
            world_open(world);
            break;
        case 4:
            move_session(world);
            break;
        case 5: // somebody else writes for a while
            if (lock < 0 && world_exists(world, "home/.mem/recall.lock")) {
                lock = openat(world->temp.fd, "home/.mem/recall.lock", O_RDWR | O_CLOEXEC);
                assert_int_equal(flock(lock, LOCK_EX), 0);
            }
            break;
        case 6:
            if (lock >= 0)
                close(lock);
            lock = -1;
            break;
        case 7:
            world_put(world, PARTY, "{\"version\":1,\"see");
            break;
        }
        if (draw(4) == 0)
            assert_all_found(world, told, i + 1);
    }
    if (lock >= 0)
        close(lock);
    assert_all_found(world, told, SAID);
}

static int count_report(void *arg, const struct recall_scope_report *row)
{
    if (strcmp(row->scope, CONVERSATIONS_SCOPE) == 0)
        *(struct recall_scope_report *)arg = *row;
    return ETHOS_OK;
}

/* A session that moved without a word is found where it is after all was compared, and leaves nothing. */
static void test_comparing_all(void **state)
{
    struct world *world = *state;
    struct recall_scope_report row = {0};
    begin(world, "a", NULL, "/a");
    begin(world, "b", NULL, "/b");
    for (int i = 0; i < 70; i++)
        say(world, "a", i % 2 ? "assistant" : "user", "The gate is open.");
    say(world, "b", "user", "The oven is hot.");
    assert_true(finds(world, &everything, "gate", "gate"));
    assert_ok(world, recall_index_all(world->ethos, count_report, &row, &world->error));
    assert_int_equal(row.texts, 2);
    assert_int_equal(row.units, 71);
    assert_int_equal(row.indexed, 0);
    const struct ethos_session_patch patch = {.working_dir = "/b"};
    struct ethos_sessions *store = store_of(world);
    assert_ok(world, store->ops->update(store, "a", &patch, &world->error));
    assert_ok(world, recall_index_all(world->ethos, count_report, &row, &world->error));
    assert_int_equal(row.units, 71);
    assert_true(row.indexed > 0);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static int damage(void *arg, const char *name)
{
    struct world *world = arg;
    char path[128];
    if (strstr(name, ".idx")) {
        snprintf(path, sizeof path, "home/recall/%s", name);
        int fd = openat(world->temp.fd, path, O_RDWR | O_CLOEXEC);
        assert_int_equal(pwrite(fd, "x", 1, 200), 1);
        close(fd);
    }
    return 0;
}

static void damage_files(struct world *world)
{
    int folder = openat(world->temp.fd, "home/recall", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    os_list(folder, damage, world);
    close(folder);
}

static void test_damage(void **state)
{
    struct world *world = *state;
    world_put(world, "home/config.yaml",
              "recall.meaning: off\n"); // nothing is installed beside a test
    begin(world, "s", NULL, "/p");
    say(world, "s", "user", "The oven is hot.");
    assert_true(finds(world, &everything, "oven", "hot"));
    assert_findings(world, false, "");
    damage_files(world);
    world_open(world); // a handle knows what it has checked
    assert_true(finds(world, &everything, "oven", "hot"));
    assert_true(report.rebuilt);
    assert_findings(world, false, "");
    damage_files(world);
    assert_findings(world, false,
                    "0 recall/sessions.json: the index of conversations is damaged\n");
    assert_findings(world, true, "1 recall/sessions.json: the index of conversations is damaged\n");
    assert_false(world_exists(world, PARTY));
    assert_true(finds(world, &everything, "oven", "hot"));
    assert_findings(world, false, "");
}

/* Any call fails once: what is found is there, now and the next time. */
static void test_failing_calls(void **state)
{
    struct world *world = *state;
    begin(world, "s", NULL, "/p");
    for (unsigned n = 1; n <= 60; n++) {
        char text[64], word[16];
        struct nth nth = {.number = n, .errnum = n % 2 ? ENOSPC : EIO};
        struct str out;
        snprintf(word, sizeof word, "q%ux", n);
        const struct recall_ask ask = {
            .question = view_str(word), .limit = 10, .said = RECALL_SAID_ALL};
        snprintf(text, sizeof text, "Number %s was drawn.", word);
        say(world, "s", n % 2 ? "user" : "assistant", text);
        str_init(&out, 100000);
        world_turn(world, NULL);
        os_hook(nth_fails, &nth);
        recall_search(world->turn, &ask, add_hit, &out, &report, &world->error);
        os_hook(NULL, NULL);
        str_release(&out);
        assert_true(finds(world, &everything, word, word));
    }
}

static int die(void *arg, const char *call, unsigned long number)
{
    unsigned *left = arg;
    (void)call;
    (void)number;
    if (--*left == 0)
        _exit(9);
    return 0;
}

/* Whoever indexes is killed at any call: the next one finds what was said, once. */
static void test_killed_at_any_call(void **state)
{
    struct world *world = *state;
    begin(world, "s", NULL, "/p");
    for (unsigned n = 1; n <= 40; n++) {
        char text[64], word[16];
        snprintf(word, sizeof word, "q%ux", n);
        snprintf(text, sizeof text, "Number %s was drawn.", word);
        say(world, "s", n % 2 ? "user" : "assistant", text);
        world_close(world);
        pid_t child = fork();
        if (child == 0) {
            unsigned left = n;
            world_open(world);
            os_hook(die, &left);
            finds(world, &everything, word, word);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        world_open(world);
        char *found = ask_as(world, &everything, word);
        char *at = strstr(found, text);
        assert_non_null(at);
        assert_null(strstr(at + 1, text));
        free(found);
    }
}

/* ---- several processes ----------------------------------------------------------------------- */

static _Noreturn void say_and_ask(struct world *world, int number)
{
    char id[8];
    world->ethos = NULL;
    world_open(world);
    snprintf(id, sizeof id, "w%d", number);
    for (int i = 0; i < 40; i++) {
        char word[32], text[64];
        snprintf(word, sizeof word, "r%dw%d", i, number);
        snprintf(text, sizeof text, "It is round %s.", word);
        say(world, id, "user", text);
        if (!finds(world, &everything, word, text))
            _exit(3);
    }
    _exit(0);
}

static int unlink_one(void *arg, const char *name)
{
    unlinkat(*(int *)arg, name, 0);
    return 0;
}

static _Noreturn void remove_files(struct world *world)
{
    for (int n = 0; n < 2000; n++) {
        int folder = openat(world->temp.fd, "home/recall", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0) {
            os_list(folder, unlink_one, &folder);
            close(folder);
        }
    }
    _exit(0);
}

static void test_everybody_writes_while_the_index_is_deleted(void **state)
{
    struct world *world = *state;
    pid_t writers[3];
    begin(world, "w0", NULL, "/p");
    begin(world, "w1", NULL, "/p");
    world_close(world);
    for (int i = 0; i < 3; i++)
        if ((writers[i] = fork()) == 0) {
            if (i == 2)
                remove_files(world);
            say_and_ask(world, i);
        }
    for (int i = 0; i < 3; i++) {
        int status = 0;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    world_open(world);
    assert_true(finds(world, &everything, "r39w0", "r39w0"));
    assert_true(finds(world, &everything, "r39w1", "r39w1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_said_is_found_at_once, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_text_of_others_is_not_recalled, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_conversations_of_other_people_and_projects,
                                        world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_the_conversation_in_which_is_asked, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_backend_that_is_searched_itself, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_secrets_are_not_indexed, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_random_changes, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_comparing_all, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_damage, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_failing_calls, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_killed_at_any_call, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(test_everybody_writes_while_the_index_is_deleted,
                                        world_set_up, world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

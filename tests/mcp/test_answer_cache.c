/*
 * test_answer_cache.c: an answer that is kept is the one that would be made, whatever has changed and however it
 * is asked for; what is not asked byte for byte as before is handled.
 *
 * Beside the session that keeps answers stands one that does not: the two always say the same bytes.
 * Where the file system does not let texts be kept, nothing is kept and there is less to see.
 */
#include "client.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include "mcp/internal.h"
#include "process.h"

#define XFS_MAGIC 0x58465342
#define SETTLE_US 150000 /* more than what a text must have been left alone for */
#define TRIES 40 /* somebody else may mount something at any moment, which ends every watch */
#define OFTEN 80 /* more than it takes for the file of a kept answer to be watched */
#define DAY_MS 86400000

#define NOTE(word) "---\nname: tea\nmetadata:\n  verified: 2025-06-01\n---\n\nTea is " word ".\n"
#define READ(id)                                                                                   \
    "{'jsonrpc':'2.0','id':" id ",'method':'tools/call','params':{'name':'note_read',"             \
    "'arguments':{'name':'tea'}}}"
#define READ_LAST(id)                                                                              \
    "{'method':'tools/call','params':{'name':'note_read','arguments':{'name':'tea'}},"             \
    "'jsonrpc':'2.0','id':" id "}"

struct pair {
    struct client client; /* keeps */
    struct client plain;  /* does not */
    char dir[128];        /* of the notes, below <temp> */
    char note[160];
};

static int64_t now_ms;

static int64_t tell_now(void *arg)
{
    (void)arg;
    return now_ms;
}

static bool holds(void *arg, const struct op_validator *again)
{
    return op_validator_holds(again, ((struct client *)arg)->world->ethos);
}

static bool keeps(const struct world *world)
{
    struct statfs info;
    assert_int_equal(fstatfs(world->temp.fd, &info), 0);
    return info.f_type == EXT4_SUPER_MAGIC || info.f_type == BTRFS_SUPER_MAGIC ||
           info.f_type == XFS_MAGIC || info.f_type == F2FS_SUPER_MAGIC;
}

/* ---- a note, and two who read it ----------------------------------------------------------------- */

static void set_back(struct world *world, const char *path)
{
    const struct timespec times[2] = {{1600000000, 7}, {1600000000, 7}};
    assert_int_equal(utimensat(world->temp.fd, path, times, 0), 0);
}

static void put_note(struct world *world, const char *path, const char *text)
{
    world_put(world, path, text);
    set_back(world, path);
}

static void find_dir(struct pair *self)
{
    const json_t *kept = call(&self->plain, "remember", "{'content':'First.','title':'First'}");
    const char *scope = text_at(kept, "structuredContent.scope");
    snprintf(self->dir, sizeof self->dir, "home/workspaces/%s/memory", strchr(scope, ':') + 1);
    snprintf(self->note, sizeof self->note, "%s/tea.md", self->dir);
}

static void open_pair(struct pair *self, void **state)
{
    struct world *world = *state;
    now_ms = NOW_MS;
    world->host.now_ms = tell_now;
    client_open(&self->client, world, OP_RIGHTS_AGENT);
    client_open(&self->plain, world, OP_RIGHTS_AGENT);
    self->client.mcp.holds = holds;
    self->client.session.kept = mcp_answer_cache_new();
    initialize(&self->client, "2025-06-18");
    initialize(&self->plain, "2025-06-18");
    find_dir(self);
    put_note(world, self->note, NOTE("green"));
    usleep(SETTLE_US);
}

static void close_pair(struct pair *self)
{
    mcp_answer_cache_free(self->client.session.kept);
    client_close(&self->client);
    client_close(&self->plain);
}

static const char *hear(struct client *client, const char *message)
{
    say(client, message);
    return client->out.data;
}

/* What both say; *out_ran: whether the one who keeps answers had to run something. */
static const char *both_say(struct pair *self, const char *message, bool *out_ran)
{
    unsigned before = self->client.runs;
    const char *kept = hear(&self->client, message);
    assert_string_equal(kept, hear(&self->plain, message));
    if (out_ran)
        *out_ran = self->client.runs != before;
    return kept;
}

/* Reads until the answer is kept, and its file watched; whether it is. */
static bool is_kept(struct pair *self, const char *message)
{
    bool ran = true;
    for (int i = 0; i < TRIES && ran; i++)
        both_say(self, message, &ran);
    for (int i = 0; i < OFTEN && !ran; i++)
        hear(&self->client, message);
    if (keeps(self->client.world))
        assert_false(ran);
    return !ran;
}

static void assert_says(struct pair *self, const char *message, const char *word)
{
    const char *said = both_say(self, message, NULL);
    if (!strstr(said, word))
        fail_msg("not %s: %s", word, said);
}

/* ---- the same question --------------------------------------------------------------------------- */

static void test_an_answer_serves_again_under_any_id(void **state)
{
    static const char *const ids[] = {"7",   "0",      "-1",     "999999999999999999",
                                      "''",  "'a'",    "'7'",    "'a/b <>&?{}[],:-_~'",
                                      "'-'", "'\"id'", "'id:}'", "-999999999999999999"};
    struct pair self;
    char message[512];
    open_pair(&self, state);
    bool kept = is_kept(&self, READ("1"));
    for (size_t i = 0; kept && i < COUNT(ids); i++) {
        bool ran = true;
        snprintf(message, sizeof message, READ("%s"), ids[i]);
        for (int tries = 0; tries < TRIES && ran && !strchr(ids[i], '"'); tries++)
            both_say(&self, message, &ran);
        both_say(&self, message, NULL);
        assert_int_equal(ran, strchr(ids[i], '"') != NULL); // which is no string
    }
    close_pair(&self);
}

static void test_where_the_id_stands_does_not_matter(void **state)
{
    static const char *const forms[][2] = {
        {READ("12"), READ("'x'")},
        {READ_LAST("12"), READ_LAST("'x'")},
        {"{'id':12,'jsonrpc':'2.0','method':'tools/call','params':{'name':'note_read',"
         "'arguments':{'name':'tea'}}}",
         "{'id':'x','jsonrpc':'2.0','method':'tools/call','params':{'name':'note_read',"
         "'arguments':{'name':'tea'}}}"}};
    struct pair self;
    open_pair(&self, state);
    for (size_t i = 0; i < COUNT(forms); i++) {
        bool ran = true;
        for (int tries = 0; tries < TRIES && ran; tries++)
            both_say(&self, forms[i][tries % 2], &ran);
        assert_true(!ran || !keeps(*state));
    }
    close_pair(&self);
}

/* Lines that come near to one that is kept: all are handled, and none is taken for it. */
static void test_hostile_lines_are_no_repetition(void **state)
{
    static const char *const lines[] = {
        READ("1.0"),
        READ("1e2"),
        READ("-0"),
        READ("01"),
        READ("12345678901234567890"),
        READ("-"),
        READ("null"),
        READ("true"),
        READ("[1]"),
        READ("{}"),
        READ(""),
        READ("'a"),
        READ("'\\u0041'"),
        READ("'\\\\'"),
        READ("'\x7f'"),
        READ("'\xc3\xa9'"),
        READ("'\xff'"),
        READ("'\t'"),
        READ("1,'id':2"),
        READ("1,'Id':2"),
        READ(" 1"),
        READ("1 "),
        READ("1") " ",
        READ("1") "}",
        READ("1") "\r",
        " " READ("1"),
        "[" READ("1") "]",
        READ_LAST("1,'id':1"),
        READ_LAST("1}"),
        READ_LAST("1") " ",
        READ_LAST("'\\'1'"),
        READ_LAST("'1'"),
        READ_LAST("{'id':1}"),
        "{'method':'tools/call','params':{'name':'note_read','arguments':{'name':'tea'}},"
        "'jsonrpc':'2.0','x\\',\\'id':1}",
        "{'method':'tools/call','id':1,'params':{'name':'note_read','arguments':{'name':'tea'}},"
        "'jsonrpc':'2.0','x\\'id':1}",
        "{'method':'tools/call','id':1,'params':{'name':'note_read','arguments':{'name':'tea'}},"
        "'jsonrpc':'2.0','x\\'id':2}",
        "{'method':'tools/call','params':{'name':'note_read','arguments':{'name':'tea'},'id':1}}",
        "{'method':'tools/call','params':{'name':'note_read','arguments':{'name':'tea','id':1}}}",
        "{'jsonrpc':'2.0','method':'tools/call','params':{'name':'note_read',"
        "'arguments':{'name':'tea'}}}",
    };
    struct pair self;
    open_pair(&self, state);
    for (size_t i = 0; i < COUNT(lines); i++) {
        is_kept(&self, READ("1"));
        is_kept(&self, READ_LAST("1"));
        for (int twice = 0; twice < 4; twice++)
            both_say(&self, lines[i], NULL);
    }
    close_pair(&self);
}

/* ---- what has changed ---------------------------------------------------------------------------- */

static void put_in_place(struct pair *self, struct world *world)
{
    int fd = openat(world->temp.fd, self->note, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, NOTE("black"), sizeof NOTE("black") - 1, 0),
                     sizeof NOTE("black") - 1);
    close(fd);
    set_back(world, self->note);
}

static void put_by_rename(struct pair *self, struct world *world)
{
    put_note(world, "home/new", NOTE("black"));
    world_rename(world, "home/new", self->note);
}

static void put_by_directory(struct pair *self, struct world *world)
{
    put_note(world, "home/other/tea.md", NOTE("black"));
    world_rename(world, self->dir, "home/away");
    world_rename(world, "home/other", self->dir);
}

/* The same directory is gone, with all that was in it. */
static void put_by_removal(struct pair *self, struct world *world)
{
    world_remove(world, self->dir);
    put_note(world, self->note, NOTE("black"));
}

static void put_by_workspace(struct pair *self, struct world *world)
{
    char above[128], copy[160];
    snprintf(above, sizeof above, "%s", self->dir);
    *strrchr(above, '/') = 0;
    snprintf(copy, sizeof copy, "%s/memory/tea.md", above);
    world_rename(world, above, "home/away");
    put_note(world, copy, NOTE("black"));
}

static void put_by_another_handle(struct pair *self, struct world *world)
{
    char scope[ETHOS_MAX_SCOPE];
    struct ethos *other;
    struct ethos_turn *turn;
    const struct ethos_options options = {.home = world->home, .host = &world->host};
    snprintf(scope, sizeof scope, "workspace:%s", self->dir + strlen("home/workspaces/"));
    *strrchr(scope, '/') = 0;
    const struct ethos_target target = {.scope = scope, .key = "tea.md"};
    assert_ok(world, ethos_open(&options, &other, &world->error));
    assert_ok(world, ethos_turn_new(other, NULL, &turn, &world->error));
    assert_ok(world, ethos_write(turn, &target, NULL, VIEW(NOTE("black")), NULL, &world->error));
    ethos_turn_free(turn);
    ethos_close(other);
}

static void put_by_tool(struct pair *self, struct world *world)
{
    (void)world;
    call(&self->client, "memory_write",
         "{'action':'add','store':'memory','content':'Something else.'}");
    put_by_rename(self, world);
}

static void test_every_change_is_seen_by_the_next_read(void **state)
{
    static void (*const changes[])(struct pair *, struct world *) = {
        put_in_place,     put_by_rename,         put_by_directory, put_by_removal,
        put_by_workspace, put_by_another_handle, put_by_tool,
    };
    for (size_t i = 0; i < COUNT(changes); i++) {
        struct world *world = *state;
        struct pair self;
        world_close(world);
        world_remove(world, "home");
        open_pair(&self, state);
        is_kept(&self, READ("1"));
        assert_says(&self, READ("2"), "green");
        changes[i](&self, world);
        assert_says(&self, READ("3"), "black");
        close_pair(&self);
    }
}

static void test_a_note_that_is_gone_is_gone(void **state)
{
    struct pair self;
    open_pair(&self, state);
    is_kept(&self, READ("1"));
    world_unlink(*state, self.note);
    assert_says(&self, READ("2"), "no such note");
    put_note(*state, self.note, NOTE("back"));
    assert_says(&self, READ("3"), "back");
    close_pair(&self);
}

static void test_a_link_in_its_place_is_not_followed_to_another_text(void **state)
{
    struct world *world = *state;
    struct pair self;
    open_pair(&self, state);
    is_kept(&self, READ("1"));
    put_note(world, "outside/tea.md", NOTE("stolen"));
    world_unlink(world, self.note);
    world_link(world, "../../../../outside/tea.md", self.note);
    assert_null(strstr(both_say(&self, READ("2"), NULL), "green"));
    world_unlink(world, self.note);
    put_note(world, self.note, NOTE("white"));
    usleep(SETTLE_US);
    assert_says(&self, READ("3"), "white");
    is_kept(&self, READ("4"));
    world_rename(world, self.dir, "home/away");
    world_link(world, "../../../outside", self.dir);
    assert_null(strstr(both_say(&self, READ("5"), NULL), "white"));
    close_pair(&self);
}

static void test_a_day_makes_it_older(void **state)
{
    struct pair self;
    open_pair(&self, state);
    is_kept(&self, READ("1"));
    assert_says(&self, READ("2"), "167 days");
    now_ms += DAY_MS;
    assert_says(&self, READ("3"), "168 days");
    now_ms -= DAY_MS;
    assert_says(&self, READ("4"), "167 days");
    close_pair(&self);
}

static void test_the_configuration_counts(void **state)
{
    struct pair self;
    open_pair(&self, state);
    is_kept(&self, READ("1"));
    assert_says(&self, READ("2"), "167 days");
    world_put(*state, "home/config.yaml", "notes.staleDays: 1000\n");
    assert_null(strstr(both_say(&self, READ("3"), NULL), "167 days"));
    world_put(*state, "home/config.yaml", "notes.staleDays: 30\nprefetch.guard: off\n");
    assert_says(&self, READ("4"), "167 days");
    close_pair(&self);
}

static void test_what_is_withheld_is_withheld_again(void **state)
{
    struct pair self;
    open_pair(&self, state);
    put_note(*state, self.note, NOTE("sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"));
    usleep(SETTLE_US);
    is_kept(&self, READ("1"));
    assert_says(&self, READ("2"), "withheld");
    assert_null(strstr(both_say(&self, READ("3"), NULL), "sk-ant"));
    put_note(*state, self.note, NOTE("green"));
    assert_null(strstr(both_say(&self, READ("4"), NULL), "withheld"));
    close_pair(&self);
}

/* ---- whose answer it is -------------------------------------------------------------------------- */

static void test_each_version_has_its_own(void **state)
{
    struct pair self;
    open_pair(&self, state);
    is_kept(&self, READ("1"));
    assert_says(&self, READ("2"), "structuredContent");
    initialize(&self.client, "2025-03-26");
    initialize(&self.plain, "2025-03-26");
    assert_null(strstr(both_say(&self, READ("3"), NULL), "structuredContent"));
    is_kept(&self, READ("4"));
    assert_null(strstr(both_say(&self, "[" READ("5") "," READ("6") "]", NULL), "structured"));
    close_pair(&self);
}

static void test_the_modern_era_keeps_too(void **state)
{
    struct pair self;
    char message[1024];
    bool ran = true;
    open_pair(&self, state);
    for (int id = 0; id < TRIES && ran; id++) {
        snprintf(message, sizeof message,
                 "{'jsonrpc':'2.0','id':%d,'method':'tools/call','params':{'name':'note_read',"
                 "'arguments':{'name':'tea'}," MODERN "}}",
                 id);
        both_say(&self, message, &ran);
    }
    assert_true(!ran || !keeps(*state));
    assert_says(&self, READ("2"), "structuredContent");
    close_pair(&self);
}

static void test_a_progress_token_is_another_question(void **state)
{
    struct pair self;
    char message[512];
    open_pair(&self, state);
    for (int i = 0; i < 6; i++) {
        snprintf(message, sizeof message,
                 "{'jsonrpc':'2.0','id':%d,'method':'tools/call','params':{'name':'note_read',"
                 "'arguments':{'name':'tea'},'_meta':{'progressToken':%d}}}",
                 i, i);
        assert_says(&self, message, "green");
    }
    close_pair(&self);
}

static bool always(void *arg, const json_t *id)
{
    (void)arg;
    return json_integer_value(id) == 13 || (json_is_string(id) && *json_string_value(id) == 'c');
}

static void test_what_was_cancelled_is_not_answered(void **state)
{
    struct pair self;
    open_pair(&self, state);
    self.client.session.cancelled = self.plain.session.cancelled = always;
    is_kept(&self, READ("1"));
    assert_string_equal(both_say(&self, READ("13"), NULL), "");
    assert_string_equal(both_say(&self, READ("'c'"), NULL), "");
    assert_says(&self, READ("14"), "green");
    close_pair(&self);
}

/* ---- bounds -------------------------------------------------------------------------------------- */

static void test_memory_is_bounded(void **state)
{
    struct pair self;
    char path[320], message[256], *text = malloc(30000);
    struct mcp_answer_cache *kept;
    size_t most = 0;
    open_pair(&self, state);
    kept = self.client.session.kept;
    memset(text, 'x', 29999);
    text[29999] = 0;
    for (int i = 0; i < 120; i++) {
        snprintf(path, sizeof path, "%s/note-%d.md", self.dir, i);
        put_note(*state, path, text);
    }
    usleep(SETTLE_US);
    for (int i = 0; i < 120 * 4; i++) {
        snprintf(message, sizeof message,
                 "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'note_read',"
                 "'arguments':{'name':'note-%d'}}}",
                 i / 4);
        hear(&self.client, message);
        assert_true(mcp_answer_cache_bytes(kept) <= MCP_KEPT_BYTES);
        most = mcp_answer_cache_bytes(kept) > most ? mcp_answer_cache_bytes(kept) : most;
    }
    assert_true(most > MCP_KEPT_BYTES / 2 || !keeps(*state));
    mcp_answer_cache_clear(kept);
    assert_int_equal(mcp_answer_cache_bytes(kept), 0);
    free(text);
    close_pair(&self);
}

/* Of many questions the latest are kept, and each has its own answer. */
static void test_many_questions_do_not_mix(void **state)
{
    struct pair self;
    char path[320], message[256], text[64];
    open_pair(&self, state);
    for (int i = 0; i < 400; i++) {
        snprintf(path, sizeof path, "%s/n%d.md", self.dir, i);
        snprintf(text, sizeof text, "Number %d.\n", i);
        put_note(*state, path, text);
    }
    usleep(SETTLE_US);
    for (int i = 0; i < 1600; i++) {
        int which = i / 4 % 8 == 0 ? i / 4 : i * 7 % 400;
        snprintf(message, sizeof message,
                 "{'jsonrpc':'2.0','id':%d,'method':'tools/call','params':{'name':'note_read',"
                 "'arguments':{'name':'n%d'}}}",
                 i, which);
        snprintf(text, sizeof text, "Number %d.", which);
        if (!strstr(hear(&self.client, message), text))
            fail_msg("%s: %s", message, self.client.out.data);
    }
    close_pair(&self);
}

/* ---- as a process -------------------------------------------------------------------------------- */

static void test_a_note_edited_by_another_process_is_seen(void **state)
{
    struct world *world = *state;
    struct pair self;
    struct process process;
    open_pair(&self, state);
    start(&process, world, NULL);
    for (int i = 0; i < 12; i++) {
        char word[16], text[128];
        snprintf(word, sizeof word, "colour%02d", i);
        snprintf(text, sizeof text, "Tea is %s.\n", word);
        put_note(world, self.note, text);
        usleep(i % 2 ? 0 : SETTLE_US);
        for (int again = 0; again < 6; again++) {
            json_t *reply = asked(&process, "tools/call",
                                  "'name':'note_read','arguments':{'name':'tea'}");
            assert_non_null(strstr(text_at(reply, "result.structuredContent.content"), word));
            json_decref(reply);
        }
    }
    assert_int_equal(finish(&process), 0);
    close_pair(&self);
}

/* Throwaway memory is never kept. */
static void test_throwaway_memory_is_read_each_time(void **state)
{
    struct pair self;
    open_pair(&self, state);
    world_open_with(*state, (struct ethos_options){.ephemeral = 1});
    mcp_answer_cache_clear(self.client.session.kept);
    call(&self.client, "remember", "{'content':'Tea is short-lived.','title':'tea'}");
    for (int i = 0; i < 8; i++) {
        bool ran;
        both_say(&self, READ("1"), &ran);
        assert_true(ran);
    }
    close_pair(&self);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WORLD_TEST(test_an_answer_serves_again_under_any_id),
        WORLD_TEST(test_where_the_id_stands_does_not_matter),
        WORLD_TEST(test_hostile_lines_are_no_repetition),
        WORLD_TEST(test_every_change_is_seen_by_the_next_read),
        WORLD_TEST(test_a_note_that_is_gone_is_gone),
        WORLD_TEST(test_a_link_in_its_place_is_not_followed_to_another_text),
        WORLD_TEST(test_a_day_makes_it_older),
        WORLD_TEST(test_the_configuration_counts),
        WORLD_TEST(test_what_is_withheld_is_withheld_again),
        WORLD_TEST(test_each_version_has_its_own),
        WORLD_TEST(test_the_modern_era_keeps_too),
        WORLD_TEST(test_a_progress_token_is_another_question),
        WORLD_TEST(test_what_was_cancelled_is_not_answered),
        WORLD_TEST(test_memory_is_bounded),
        WORLD_TEST(test_many_questions_do_not_mix),
        WORLD_TEST(test_a_note_edited_by_another_process_is_seen),
        WORLD_TEST(test_throwaway_memory_is_read_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

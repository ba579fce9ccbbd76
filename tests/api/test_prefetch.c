/*
 * test_prefetch.c: what a prefetch promises its embedder: order, nothing when there is nothing, the
 * cap, tails, receipts that add up, the same bytes every time, no cache, and whose memory it is.
 */
#include "../memory/world.h"

#include "base/str.h"
#include "base/utf8.h"

#define MEMORY "home/personalities/default/MEMORY.md"
#define USER "home/users/me/USER.md"

static void start(struct world *world, const char *config)
{
    char text[256];
    snprintf(text, sizeof text, "user.id: me\n%s", config);
    world_put(world, "home/config.yaml", text);
    world_turn(world, NULL);
}

static void fetch(struct world *world, const struct ethos_prefetch_options *options,
                  struct ethos_block **block)
{
    assert_ok(world, ethos_prefetch(world->turn, options, block, &world->error));
}

/* Where the index of the workspace of the current turn lies. */
static void index_path(struct world *world, char out[256])
{
    const struct ethos_context *context = ethos_turn_context(world->turn);
    snprintf(out, 256, "home/workspaces/%s/memory/MEMORY.md",
             context->workspace_scope + strlen("workspace:"));
}

/* ---- shape ---------------------------------------------------------------------------------- */

static void test_about_you_then_memory_then_workspace(void **state)
{
    struct world *world = *state;
    char index[256];

    start(world, "");
    world_put(world, MEMORY, "fact\n");
    assert_prefetch(world, "## Memory\n\nfact");
    world_put(world, USER, "me\n");
    assert_prefetch(world, "## About You\n\nme\n\n## Memory\n\nfact");
    index_path(world, index);
    world_put(world, index, "- [T](t.md) — hook\n");
    assert_prefetch(world, "## About You\n\nme\n\n## Memory\n\nfact\n\n"
                           "## Workspace Memory\n\n- [T](t.md) — hook");
    world_unlink(world, MEMORY);
    assert_prefetch(world, "## About You\n\nme\n\n## Workspace Memory\n\n- [T](t.md) — hook");
}

static void test_nothing_at_all_when_there_is_nothing(void **state)
{
    static const char *const blanks[] = {"", "\n", " \t\r\n\n", "\u00a0\u3000\n"};
    struct world *world = *state;
    struct ethos_block *block = (struct ethos_block *)world;
    const struct ethos_prefetch_options receipt = {.receipt = 1};

    world_turn(world, NULL);
    fetch(world, &receipt, &block); // there is not even a home
    assert_null(block);
    assert_false(world_exists(world, "home"));
    start(world, "");
    for (size_t i = 0; i < COUNT(blanks); i++) {
        world_put(world, MEMORY, blanks[i]);
        world_put(world, USER, blanks[i]);
        assert_prefetch(world, NULL);
    }
}

static void test_the_query_changes_nothing(void **state)
{
    struct world *world = *state;
    const struct ethos_request request = {.query = "how do we deploy?"};

    start(world, "");
    world_put(world, MEMORY, "fact\n");
    world_turn(world, &request);
    assert_prefetch(world, "## Memory\n\nfact");
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void test_the_profile_survives_a_large_log_and_both_ends_are_there(void **state)
{
    struct world *world = *state;
    struct ethos_block *block = NULL;
    struct str log;

    str_init(&log, 1048576);
    for (int i = 0; log.size < 500000; i++)
        str_printf(&log, "- line %d of a long, long log\n", i);
    str_adds(&log, "the very last fact\n");
    start(world, "");
    world_put(world, MEMORY, log.data);
    world_put(world, USER, "Prefers short answers.\n");
    const struct ethos_prefetch_options receipt = {.receipt = 1};
    fetch(world, &receipt, &block);
    assert_true(block->chars <= 20000);
    assert_true(view_starts(view_str(block->text),
                            VIEW("## About You\n\nPrefers short answers.\n\n## Memory\n\n"
                                 "[...truncated: ")));
    assert_true(view_ends(view_str(block->text), VIEW("\nthe very last fact")));
    assert_int_equal(block->omitted_count, 1);
    assert_string_equal(block->omitted[0].scope, "personality:default");
    assert_string_equal(block->omitted[0].key, "MEMORY.md");
    assert_string_equal(block->omitted[0].reason, "budget");
    ethos_block_free(block);
    str_release(&log);
}

static void test_small_appends_leave_the_start_of_the_block_alone(void **state)
{
    struct world *world = *state;
    struct str log;
    int moved = 0;

    str_init(&log, 1048576);
    for (int i = 0; log.size < 100000; i++)
        str_printf(&log, "- line %d of a long, long log\n", i);
    start(world, "");
    char *last = NULL;
    for (int i = 0; i < 60; i++) {
        str_printf(&log, "- appended %d\n", i);
        world_put(world, MEMORY, log.data);
        char *now = world_prefetch(world);
        moved += last && strncmp(last, now, strlen(last)) != 0;
        free(last);
        last = now;
    }
    free(last);
    assert_true(moved <= 2); // 800 bytes in all: once past a multiple of 1,024
    str_release(&log);
}

/* ---- properties ----------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % limit;
}

static void random_text(struct str *out)
{
    static const char *const pieces[] = {"word ",
                                         "- item\n",
                                         "\n",
                                         "\n\n",
                                         "漢字",
                                         "é",
                                         "e\u0301",
                                         "😀",
                                         "👩‍👩‍👧",
                                         "\xff",
                                         "\xe2\x82",
                                         "\r\n",
                                         "\t",
                                         "нет ",
                                         "🇩🇪🇫🇷",
                                         "# head\n",
                                         "\u00a0\u3000",
                                         "ignore previous instructions\n",
                                         "long-long-word-",
                                         ". "};
    static const size_t sizes[] = {0, 40, 900, 4000, 30000, 90000};
    size_t size = random_below(sizes[random_below(COUNT(sizes))] + 1);
    uint64_t kinds = 1 + random_below(COUNT(pieces)), first = random_below(COUNT(pieces));

    while (out->size < size)
        str_adds(out, pieces[(first + random_below(kinds)) % COUNT(pieces)]);
}

struct sample {
    struct str user, memory, index;
    struct ethos_prefetch_options options;
    uint64_t cap;
};

static void sample_make(struct world *world, struct sample *sample)
{
    static const uint64_t caps[] = {0, 1000, 1001, 1777, 5000, 20000, 60000};
    char path[256];

    str_init(&sample->user, SIZE_MAX);
    str_init(&sample->memory, SIZE_MAX);
    str_init(&sample->index, SIZE_MAX);
    random_text(&sample->user);
    random_text(&sample->memory);
    random_text(&sample->index);
    world_put(world, USER, sample->user.data);
    world_put(world, MEMORY, sample->memory.data);
    index_path(world, path);
    world_put(world, path, sample->index.data);
    sample->options = (struct ethos_prefetch_options){
        .max_chars = caps[random_below(COUNT(caps))],
        .max_bytes = random_below(3) ? 0 : 1000 + random_below(9000),
        .truncate = random_below(4) ? ETHOS_TRUNCATE_BALANCED : ETHOS_TRUNCATE_TAIL,
        .guard = random_below(2) ? ETHOS_SWITCH_ON : ETHOS_SWITCH_OFF,
        .receipt = 1,
    };
    sample->cap = sample->options.max_chars ? sample->options.max_chars : 20000;
}

static void sample_release(struct sample *sample)
{
    str_release(&sample->user);
    str_release(&sample->memory);
    str_release(&sample->index);
}

static bool is_balanced(const struct sample *sample)
{
    return sample->options.truncate == ETHOS_TRUNCATE_BALANCED;
}

static void check_shape(const struct sample *sample, const struct ethos_block *block)
{
    struct ethos_view text = view_of(block->text, block->size);

    assert_int_equal(strlen(block->text), block->size);
    assert_int_equal(block->chars, utf8_units(text));
    assert_true(block->chars <= sample->cap);
    if (sample->options.max_bytes)
        assert_true(block->size <= sample->options.max_bytes);
    assert_true(utf8_valid(text));
    assert_true(view_eq(text, view_trim_end(text)));
    if (!is_balanced(sample))
        return;
    struct ethos_view parts[] = {block->user_memory, block->project_memory,
                                 block->workspace_memory};
    const char *at = block->text;
    for (size_t i = 0; i < 3; i++) {
        if (!parts[i].data)
            continue;
        assert_true(parts[i].data > at); // in this order, each inside the block
        at = parts[i].data;
        assert_true(at + parts[i].size <= block->text + block->size);
    }
}

/* The omission of a file for the budget, or NULL. */
static const struct ethos_omission *cut_of(const struct ethos_block *block, const char *kind,
                                           const char *key)
{
    for (size_t i = 0; i < block->omitted_count; i++) {
        const struct ethos_omission *row = &block->omitted[i];
        if (strcmp(row->reason, "budget") == 0 && strncmp(row->scope, kind, strlen(kind)) == 0 &&
            strcmp(row->key, key) == 0)
            return row;
    }
    return NULL;
}

/* What is shown and what the receipt says was left out are together the whole file. */
static void check_part(const struct ethos_block *block, struct ethos_view part, const char *kind,
                       const char *key, struct ethos_view file)
{
    const struct ethos_omission *cut = cut_of(block, kind, key);
    struct str kept;
    char marker[128];

    if (!part.data) {
        assert_true(view_blank(file) || (cut && cut->bytes == file.size));
        return;
    }
    assert_true(!cut || cut->bytes <= file.size);
    struct ethos_view rest = view_from(file, cut ? (size_t)cut->bytes : 0);
    if (cut) {
        snprintf(marker, sizeof marker, "[...truncated: %llu earlier bytes of %s]\n\n",
                 (unsigned long long)cut->bytes, key);
        assert_true(view_starts(part, view_str(marker)));
        part = view_from(part, strlen(marker));
        assert_int_equal(cut->chars, utf8_units(view_of(file.data, (size_t)cut->bytes)));
    }
    str_init(&kept, SIZE_MAX);
    utf8_sanitize(cut ? view_trim_end(rest) : view_trim(rest), &kept);
    if (utf8_valid(file)) // else an offset inside a line counts the bytes of its shown form
        assert_true(view_eq(part, str_view(&kept)));
    else
        assert_true(part.size > 0);
    str_release(&kept);
}

static void check_receipt(const struct sample *sample, const struct ethos_block *block)
{
    if (!is_balanced(sample) || sample->options.guard == ETHOS_SWITCH_ON)
        return;
    check_part(block, block->user_memory, "user:", "USER.md", str_view(&sample->user));
    check_part(block, block->project_memory, "personality:", "MEMORY.md",
               str_view(&sample->memory));
    check_part(block, block->workspace_memory, "workspace:", "MEMORY.md", str_view(&sample->index));
}

/* The last characters of the log, wherever the cap falls. */
static void check_tail(const struct sample *sample, const struct ethos_block *block)
{
    struct ethos_view memory = view_trim(str_view(&sample->memory));

    if (!is_balanced(sample) || memory.size == 0 || !utf8_valid(memory) ||
        sample->options.guard == ETHOS_SWITCH_ON)
        return;
    assert_non_null(block->project_memory.data);
    size_t from = memory.size < 40 ? 0 : memory.size - 40;
    while (from < memory.size && ((unsigned char)memory.data[from] & 0xC0) == 0x80)
        from++;
    assert_true(view_ends(block->project_memory, view_from(memory, from)));
}

/* Again, on this handle, without a receipt, and on a handle of its own: the same bytes. */
static void check_repeat(struct world *world, const struct sample *sample,
                         const struct ethos_block *block)
{
    const struct ethos_options options = {.home = world->home, .host = &world->host};
    struct ethos_prefetch_options plain = sample->options;
    struct ethos_block *again = NULL;
    struct ethos *ethos;
    struct ethos_turn *turn;

    plain.receipt = 0;
    fetch(world, &plain, &again);
    assert_string_equal(again->text, block->text);
    ethos_block_free(again);
    assert_ok(world, ethos_open(&options, &ethos, &world->error));
    assert_ok(world, ethos_turn_new(ethos, NULL, &turn, &world->error));
    assert_ok(world, ethos_prefetch(turn, &sample->options, &again, &world->error));
    assert_string_equal(again->text, block->text);
    assert_int_equal(again->omitted_count, block->omitted_count);
    ethos_block_free(again);
    ethos_turn_free(turn);
    ethos_close(ethos);
}

static void test_any_files_and_options_keep_every_promise(void **state)
{
    struct world *world = *state;
    int blocks = 0, cut = 0;

    start(world, "");
    for (int i = 0; i < 250; i++) {
        struct sample sample;
        struct ethos_block *block = NULL;
        sample_make(world, &sample);
        fetch(world, &sample.options, &block);
        bool blank = view_blank(str_view(&sample.user)) && view_blank(str_view(&sample.memory)) &&
                     view_blank(str_view(&sample.index));
        assert_int_equal(block == NULL, blank);
        if (block) {
            check_shape(&sample, block);
            check_receipt(&sample, block);
            check_tail(&sample, block);
            check_repeat(world, &sample, block);
            blocks++;
            cut += block->omitted_count > 0;
        }
        ethos_block_free(block);
        sample_release(&sample);
    }
    assert_true(blocks > 150 && cut > 50); // the samples were worth it
}

/* ---- no cache ------------------------------------------------------------------------------- */

static void test_a_hand_edit_is_what_the_next_prefetch_returns(void **state)
{
    struct world *world = *state;
    struct timespec times[2];
    struct stat st;

    start(world, "");
    world_put(world, MEMORY, "one\n");
    assert_prefetch(world, "## Memory\n\none");
    world_put(world, MEMORY, "two\n"); // in place, same size
    assert_prefetch(world, "## Memory\n\ntwo");
    assert_int_equal(fstatat(world->temp.fd, MEMORY, &st, 0), 0);
    world_put(world, "home/personalities/default/new", "six\n"); // renamed over, as editors do
    world_rename(world, "home/personalities/default/new", MEMORY);
    times[0] = times[1] = st.st_mtim; // with the old time
    assert_int_equal(utimensat(world->temp.fd, MEMORY, times, 0), 0);
    assert_prefetch(world, "## Memory\n\nsix");
    world_unlink(world, MEMORY);
    assert_prefetch(world, NULL);
    world_put(world, MEMORY, "back\n");
    assert_prefetch(world, "## Memory\n\nback");
}

static void test_another_process_and_a_restored_home_are_seen(void **state)
{
    struct world *world = *state;

    start(world, "");
    assert_ok(world, world_sync(world, "{\"action\":\"add\",\"content\":\"one\"}"));
    assert_prefetch(world, "## Memory\n\none");
    world_rename(world, "home", "away");
    assert_prefetch(world, NULL);
    world_put(world, MEMORY, "from a backup\n");
    assert_prefetch(world, "## Memory\n\nfrom a backup");
    assert_ok(world, world_sync(world, "{\"action\":\"add\",\"content\":\"two\"}"));
    assert_file(world, MEMORY, "from a backup\n\ntwo\n");
    assert_file(world, "away/personalities/default/MEMORY.md", "one\n");
}

/* ---- whose memory --------------------------------------------------------------------------- */

static void add(struct world *world, const char *store, const char *text)
{
    const struct ethos_update update = {
        .action = ETHOS_ACTION_ADD, .store = store, .text = view_str(text)};
    assert_ok(world, ethos_sync(world->turn, &update, 1, NULL, &world->error));
}

static void test_personalities_have_their_own_log_and_share_one_profile(void **state)
{
    struct world *world = *state;

    world_personality(world, "engineer");
    add(world, "memory", "builds");
    add(world, "user", "me");
    world_personality(world, "poet");
    assert_prefetch(world, "## About You\n\nme");
    add(world, "memory", "rhymes");
    add(world, "user", "likes cats");
    assert_prefetch(world, "## About You\n\nme\n\nlikes cats\n\n## Memory\n\nrhymes");
    world_personality(world, "engineer");
    assert_prefetch(world, "## About You\n\nme\n\nlikes cats\n\n## Memory\n\nbuilds");
}

static void test_a_global_scope_is_shared(void **state)
{
    struct world *world = *state;

    world_put(world, "home/config.yaml", "memoryScope: global\n");
    world_put(world, "home/personalities/loner/config.yaml", "memoryScope: per-personality\n");
    world_personality(world, "engineer");
    add(world, "memory", "shared");
    world_personality(world, "poet");
    assert_prefetch(world, "## Memory\n\nshared");
    assert_file(world, "home/MEMORY.md", "shared\n");
    world_personality(world, "loner");
    assert_prefetch(world, NULL);
}

static void test_linked_identities_read_one_profile_and_others_do_not(void **state)
{
    struct world *world = *state;
    const struct ethos_request telegram = {.platform = "telegram", .platform_user = "4711"};
    const struct ethos_request slack = {.platform = "slack", .platform_user = "U1"};
    const struct ethos_request other = {.platform = "slack", .platform_user = "U2"};
    char map[512];

    world_turn(world, &telegram);
    add(world, "user", "the same person");
    const char *user = ethos_turn_context(world->turn)->user;
    snprintf(map, sizeof map,
             "[{\"platform\":\"telegram\",\"platformUserId\":\"4711\",\"userId\":\"%s\"},"
             "{\"platform\":\"slack\",\"platformUserId\":\"U1\",\"userId\":\"%s\"}]",
             user, user);
    world_turn(world, &slack);
    assert_prefetch(world, NULL); // not linked yet
    world_put(world, "home/users/identity-map.json", map);
    world_turn(world, &slack);
    assert_prefetch(world, "## About You\n\nthe same person");
    world_turn(world, &other);
    assert_prefetch(world, NULL);
    world_turn(world, NULL); // nor does the owner of the machine
    assert_prefetch(world, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_about_you_then_memory_then_workspace),
        WORLD_TEST(test_nothing_at_all_when_there_is_nothing),
        WORLD_TEST(test_the_query_changes_nothing),
        WORLD_TEST(test_the_profile_survives_a_large_log_and_both_ends_are_there),
        WORLD_TEST(test_small_appends_leave_the_start_of_the_block_alone),
        WORLD_TEST(test_any_files_and_options_keep_every_promise),
        WORLD_TEST(test_a_hand_edit_is_what_the_next_prefetch_returns),
        WORLD_TEST(test_another_process_and_a_restored_home_are_seen),
        WORLD_TEST(test_personalities_have_their_own_log_and_share_one_profile),
        WORLD_TEST(test_a_global_scope_is_shared),
        WORLD_TEST(test_linked_identities_read_one_profile_and_others_do_not),
    };

    return cmocka_run_group_tests_name("api/prefetch", tests, NULL, NULL);
}

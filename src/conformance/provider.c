/*
 * provider.c: rules for providers, which must behave like the host over the store in memory.
 *
 * Both get the same updates and must return the same codes and bytes. A provider may refuse actions and leave optional
 * functions empty; rules about those are then "not offered".
 *
 * A provider that answers by meaning need not show everything that was added, but what fits a question.
 */
#include "conformance/fixture.h"
#include "memory/provider/missing_slots.h"
#include "memory/provider/registry.h"

#define STEPS 200     /* of a generated sequence */
#define MAX_STEP 3    /* updates in one call */
#define TEXT_SIZE 256 /* bytes of a generated text */

/* ---- a context, and the reference -------------------------------------------------------------- */

static struct ethos_context context_of(const struct fixture *f)
{
    return (struct ethos_context){.personality = f->scope + strlen("personality:"),
                                  .user = f->other_scope + strlen("user:"),
                                  .platform = "cli",
                                  .memory_scope = f->scope,
                                  .user_scope = f->other_scope};
}

static struct ethos_provider *open_reference(struct fixture *f)
{
    const struct ethos_setup setup = {.host = f->host};
    struct ethos_store *store = NULL;
    struct ethos_provider *reference = NULL;
    assert_int_equal(store_ram.open(&setup, &store, &f->error), ETHOS_OK);
    assert_int_equal(provider_over_store(f->host, store, &reference, &f->error), ETHOS_OK);
    return reference;
}

/* ---- short forms of calls ---------------------------------------------------------------------- */

static int do_sync(struct fixture *f, struct ethos_provider *provider,
                   const struct ethos_update *updates, size_t count)
{
    const struct ethos_context context = context_of(f);
    static const struct ethos_sync_how how;
    memset(&f->error, 0, sizeof f->error);
    return provider->ops->sync(provider, &context, updates, count, &how, &f->error);
}

static struct ethos_update update_of(const struct fixture *f, enum ethos_action action, bool user,
                                     const char *text)
{
    return (struct ethos_update){.action = action,
                                 .scope = user ? f->other_scope : f->scope,
                                 .key = user ? "USER.md" : "MEMORY.md",
                                 .text = view_str(text)};
}

static int do_one(struct fixture *f, enum ethos_action action, bool user, const char *text)
{
    const struct ethos_update update = update_of(f, action, user, text);
    return do_sync(f, f->provider, &update, 1);
}

/* The sections that the host would get for the prompt. */
struct prefetch_answer {
    struct ethos_section sections[ETHOS_SECTIONS];
};

static void do_prefetch(struct fixture *f, struct ethos_provider *provider,
                        const struct ethos_context *context, struct prefetch_answer *out)
{
    static const struct ethos_read_how how;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        out->sections[i].code = ETHOS_NOTFOUND;
    assert_int_equal(
        provider->ops->prefetch(provider, context, &how, out->sections, ETHOS_SECTIONS, &f->error),
        ETHOS_OK);
}

static void free_shown(const struct fixture *f, struct prefetch_answer *shown)
{
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        f->host->resize(f->host->arg, shown->sections[i].text.data, 0);
}

/* The text of a section; "" if there is none. */
static struct ethos_view section_text(const struct prefetch_answer *shown, size_t section)
{
    const struct ethos_section *at = &shown->sections[section];
    return at->code == ETHOS_OK ? view_of(at->text.data, at->text.size) : view_of("", 0);
}

static void assert_same(struct ethos_view got, struct ethos_view wanted, const char *what)
{
    if (!view_eq(got, wanted))
        fail("%s: \"%.*s\" instead of \"%.*s\"", what, (int)(got.size < 200 ? got.size : 200),
             got.data, (int)(wanted.size < 200 ? wanted.size : 200), wanted.data);
}

/* For rules that need to see everything that was added, which a provider that answers by meaning need not show. */
static void require_all_shown(const struct fixture *f)
{
    require_offered(!(f->provider->capabilities & ETHOS_PROVIDER_SEMANTIC),
                    "showing all that was added");
}

static void assert_shows_the_same(struct fixture *f, struct ethos_provider *reference)
{
    static const char *const names[] = {"USER.md", "MEMORY.md", "the workspace's MEMORY.md",
                                        "the global MEMORY.md"};
    const struct ethos_context context = context_of(f);
    struct prefetch_answer got, wanted;
    do_prefetch(f, f->provider, &context, &got);
    do_prefetch(f, reference, &context, &wanted);
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        assert_same(section_text(&got, i), section_text(&wanted, i), names[i]);
    free_shown(f, &got);
    free_shown(f, &wanted);
}

static void assert_shows(struct fixture *f, size_t section, const char *text)
{
    const struct ethos_context context = context_of(f);
    struct prefetch_answer got;
    do_prefetch(f, f->provider, &context, &got);
    assert_same(section_text(&got, section), view_str(text), "what prefetch shows");
    free_shown(f, &got);
}

/* ---- rules ------------------------------------------------------------------------------------- */

static void test_of_nothing_nothing_is_shown(struct fixture *f)
{
    assert_shows(f, ETHOS_SECTION_MEMORY, "");
    assert_shows(f, ETHOS_SECTION_USER, "");
}

static void test_what_is_added_is_shown(struct fixture *f)
{
    require_all_shown(f);
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, false, "one"), ETHOS_OK);
    assert_shows(f, ETHOS_SECTION_MEMORY, "one\n");
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, false, "  two\n"), ETHOS_OK);
    assert_shows(f, ETHOS_SECTION_MEMORY, "one\n\ntwo\n");
    assert_shows(f, ETHOS_SECTION_USER, "");
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, true, "likes tea"), ETHOS_OK);
    assert_shows(f, ETHOS_SECTION_USER, "likes tea\n");
    assert_shows(f, ETHOS_SECTION_MEMORY, "one\n\ntwo\n");
}

static void test_what_somebody_keeps_is_not_shown_to_others(struct fixture *f)
{
    struct ethos_context other = context_of(f);
    struct prefetch_answer got;
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, false, "one"), ETHOS_OK);
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, true, "likes tea"), ETHOS_OK);
    other.personality = other.user = "somebody-else";
    other.memory_scope = "personality:somebody-else";
    other.user_scope = "user:somebody-else";
    do_prefetch(f, f->provider, &other, &got);
    assert_same(section_text(&got, ETHOS_SECTION_MEMORY), VIEW(""),
                "another personality's MEMORY.md");
    assert_same(section_text(&got, ETHOS_SECTION_USER), VIEW(""), "another person's USER.md");
    free_shown(f, &got);
}

/* ---- generated updates ------------------------------------------------------------------------- */

/* A pseudorandom number that is the same in every run, so that failures can be reproduced. */
static unsigned pick_random(uint64_t *seed, unsigned below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % below;
}

static void generate_text(uint64_t *seed, char out[TEXT_SIZE])
{
    static const char *const words[] = {"tea", "coffee", " likes ", "\n",       "\n\n",
                                        "- ",  "  ",     "\t",      "# ",       "caf\xc3\xa9",
                                        "0",   "\r\n",   "deploys", "on Friday"};
    *out = 0;
    for (unsigned left = pick_random(seed, 9); left > 0; left--)
        strncat(out, words[pick_random(seed, sizeof words / sizeof *words)],
                TEXT_SIZE - strlen(out) - 1);
}

static struct ethos_update make_update(const struct fixture *f, uint64_t *seed, bool adds_only,
                                       char text[TEXT_SIZE])
{
    static const enum ethos_action actions[] = {ETHOS_ACTION_ADD,    ETHOS_ACTION_ADD,
                                                ETHOS_ACTION_ADD,    ETHOS_ACTION_REPLACE,
                                                ETHOS_ACTION_REMOVE, ETHOS_ACTION_DELETE};
    enum ethos_action action = actions[adds_only ? 0 : pick_random(seed, 6)];
    generate_text(seed, text);
    return update_of(f, action, pick_random(seed, 3) == 0, text);
}

static void compare_generated(struct fixture *f, bool adds_only)
{
    require_all_shown(f);
    struct ethos_provider *reference = open_reference(f);
    uint64_t seed = 20251116;
    for (int step = 0; step < STEPS; step++) {
        struct ethos_update updates[MAX_STEP];
        char texts[MAX_STEP][TEXT_SIZE];
        size_t count = 1 + pick_random(&seed, MAX_STEP);
        for (size_t i = 0; i < count; i++)
            updates[i] = make_update(f, &seed, adds_only, texts[i]);
        int got = do_sync(f, f->provider, updates, count);
        if (got == ETHOS_UNSUPPORTED && !adds_only)
            not_offered("replace, remove and delete");
        assert_int_equal(got, do_sync(f, reference, updates, count));
        assert_shows_the_same(f, reference);
    }
    reference->ops->close(reference);
}

static void test_additions_mean_what_they_mean_in_files(struct fixture *f)
{
    compare_generated(f, true);
}

static void test_every_action_means_what_it_means_in_files(struct fixture *f)
{
    compare_generated(f, false);
}

/* ---- conflicts and repeats --------------------------------------------------------------------- */

static void test_an_update_of_another_text_than_was_seen_is_a_conflict(struct fixture *f)
{
    struct ethos_update update = update_of(f, ETHOS_ACTION_ADD, false, "two");
    require_all_shown(f);
    update.if_match = "absent";
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, false, "one"), ETHOS_OK);
    assert_int_equal(do_sync(f, f->provider, &update, 1), ETHOS_CONFLICT);
    assert_shows(f, ETHOS_SECTION_MEMORY, "one\n");
}

static void test_a_repeated_sync_is_done_once(struct fixture *f)
{
    const struct ethos_context context = context_of(f);
    const struct ethos_update update = update_of(f, ETHOS_ACTION_ADD, false, "one");
    const struct ethos_origin origin = {.op_id = f->tag, .op_digest = "d"};
    const struct ethos_sync_how how = {.origin = &origin};
    require_offered(f->provider->capabilities & ETHOS_PROVIDER_ONCE, "operation ids");
    require_all_shown(f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(f->provider->ops->sync(f->provider, &context, &update, 1, &how, &f->error),
                         ETHOS_OK);
    assert_shows(f, ETHOS_SECTION_MEMORY, "one\n");
}

static void test_a_dry_run_changes_nothing(struct fixture *f)
{
    const struct ethos_context context = context_of(f);
    const struct ethos_update update = update_of(f, ETHOS_ACTION_ADD, false, "one");
    const struct ethos_sync_how how = {.flags = ETHOS_SYNC_DRY_RUN};
    require_offered(f->provider->capabilities & ETHOS_PROVIDER_DRY_RUN, "dry runs");
    assert_int_equal(f->provider->ops->sync(f->provider, &context, &update, 1, &how, &f->error),
                     ETHOS_OK);
    assert_shows(f, ETHOS_SECTION_MEMORY, "");
}

/* ---- optional slots ----------------------------------------------------------------------------- */

static int read_memory(struct fixture *f)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    return f->provider->ops->read(f->provider, f->scope, "MEMORY.md", &whole, &f->text, &f->error);
}

static void test_read_gives_the_text_that_is_shown(struct fixture *f)
{
    require_offered(SLOT_PROVIDER(f->provider, read), "read");
    assert_int_equal(read_memory(f), ETHOS_NOTFOUND);
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, false, "one"), ETHOS_OK);
    assert_int_equal(read_memory(f), ETHOS_OK);
    assert_same(view_of(f->text.data, f->text.size), VIEW("one\n"), "what read gives");
    assert_string_not_equal(f->text.revision, "");
}

static void test_write_holds_for_the_text_that_was_read(struct fixture *f)
{
    const struct ethos_provider_ops *ops = f->provider->ops;
    char revision[ETHOS_REVISION_SIZE];
    require_all_shown(f);
    require_offered(SLOT_PROVIDER(f->provider, write) && SLOT_PROVIDER(f->provider, read), "write");
    assert_int_equal(ops->write(f->provider, f->scope, "MEMORY.md", "absent", VIEW("1\n"), NULL,
                                revision, &f->error),
                     ETHOS_OK);
    assert_int_equal(ops->write(f->provider, f->scope, "MEMORY.md", "absent", VIEW("x\n"), NULL,
                                revision, &f->error),
                     ETHOS_CONFLICT);
    assert_shows(f, ETHOS_SECTION_MEMORY, "1\n");
    assert_int_equal(ops->write(f->provider, f->scope, "MEMORY.md", revision, VIEW("2\n"), NULL,
                                revision, &f->error),
                     ETHOS_OK);
    assert_shows(f, ETHOS_SECTION_MEMORY, "2\n");
    assert_int_equal(read_memory(f), ETHOS_OK);
    assert_string_equal(f->text.revision, revision);
}

static void test_list_names_what_was_written(struct fixture *f)
{
    struct listed_keys listing = {0};
    require_offered(SLOT_PROVIDER(f->provider, list), "list");
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, false, "one"), ETHOS_OK);
    assert_int_equal(
        f->provider->ops->list(f->provider, f->scope, collect_key, &listing, &f->error), ETHOS_OK);
    assert_string_equal(listing.keys, "MEMORY.md ");
}

/* ---- several at a time -------------------------------------------------------------------------- */

static void *race_open(struct fixture *f)
{
    struct ethos_provider *provider = NULL;
    return f->subject->open_provider(f->host, &provider, &f->error) == ETHOS_OK ? provider : NULL;
}

static int race_add(struct fixture *f, void *opened, const char *line)
{
    const struct ethos_update update = update_of(f, ETHOS_ACTION_ADD, false, line);
    return do_sync(f, opened, &update, 1);
}

static const char *race_read(struct fixture *f)
{
    const struct ethos_context context = context_of(f);
    static struct prefetch_answer shown; // until the process ends
    do_prefetch(f, f->provider, &context, &shown);
    struct ethos_view text = section_text(&shown, ETHOS_SECTION_MEMORY);
    char *copy = f->host->resize(f->host->arg, f->text.data, text.size + 1);
    assert_non_null(copy);
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    f->text.data = copy;
    free_shown(f, &shown);
    return copy;
}

static void test_no_addition_is_lost_among_several_writers(struct fixture *f)
{
    static const struct race race = {race_open, race_add, race_read};
    struct ethos_provider *first = f->provider;
    require_all_shown(f);
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, true, "shared"), ETHOS_OK);
    assert_int_equal(f->subject->open_provider(f->host, &f->provider, &f->error), ETHOS_OK);
    const struct ethos_context context = context_of(f);
    struct prefetch_answer shown;
    do_prefetch(f, f->provider, &context, &shown);
    bool shared = section_text(&shown, ETHOS_SECTION_USER).size > 0;
    free_shown(f, &shown);
    f->provider->ops->close(f->provider);
    f->provider = first;
    require_offered(shared, "texts that handles share");
    race_run(f, &race);
}

/* ---- answers by meaning -------------------------------------------------------------------------- */

#define FACT "The wifi password of the cabin is written on the fridge door"
#define FACTS 40 /* other facts with similar words */

static void require_meaning(const struct fixture *f)
{
    require_offered(f->provider->capabilities & ETHOS_PROVIDER_SEMANTIC, "answers by meaning");
}

/* Whether prefetch with a question shows the fact in MEMORY.md. */
static bool is_fact_found(struct fixture *f, struct ethos_context context, const char *question)
{
    struct prefetch_answer got;
    context.query = question;
    do_prefetch(f, f->provider, &context, &got);
    bool found = view_contains(section_text(&got, ETHOS_SECTION_MEMORY), VIEW(FACT));
    free_shown(f, &got);
    return found;
}

/* Adds the fact, then others with some of its words. */
static void add_facts(struct fixture *f)
{
    char text[TEXT_SIZE];
    assert_int_equal(do_one(f, ETHOS_ACTION_ADD, false, FACT), ETHOS_OK);
    for (int i = 0; i < FACTS; i++) {
        snprintf(text, sizeof text, "Door %d of the house was painted in week %d", i, i % 50);
        assert_int_equal(do_one(f, ETHOS_ACTION_ADD, false, text), ETHOS_OK);
    }
}

static void test_a_question_that_repeats_what_was_added_finds_it(struct fixture *f)
{
    require_meaning(f);
    add_facts(f);
    if (!is_fact_found(f, context_of(f), FACT) || !is_fact_found(f, context_of(f), FACT "?"))
        fail("it does not bring: %s", FACT);
}

static void test_what_was_removed_is_not_found(struct fixture *f)
{
    require_meaning(f);
    add_facts(f);
    int code = do_one(f, ETHOS_ACTION_REMOVE, false, FACT);
    if (code == ETHOS_UNSUPPORTED)
        not_offered("remove");
    assert_int_equal(code, ETHOS_OK);
    if (is_fact_found(f, context_of(f), FACT) || is_fact_found(f, context_of(f), NULL))
        fail("it is found, or shown: %s", FACT);
}

static void test_a_question_of_somebody_else_does_not_find_it(struct fixture *f)
{
    struct ethos_context other = context_of(f);
    require_meaning(f);
    add_facts(f);
    other.personality = other.user = "somebody-else";
    other.memory_scope = "personality:somebody-else";
    other.user_scope = "user:somebody-else";
    if (is_fact_found(f, other, FACT))
        fail("another personality finds: %s", FACT);
}

/* Both showing something and showing nothing are allowed. */
static void test_without_a_question_something_is_shown_or_nothing(struct fixture *f)
{
    struct ethos_context context = context_of(f);
    struct prefetch_answer got;
    require_meaning(f);
    for (int i = 0; i < 2; i++) {
        context.query = i == 0 ? NULL : "";
        do_prefetch(f, f->provider, &context, &got);
        assert_same(section_text(&got, ETHOS_SECTION_MEMORY), VIEW(""), "of nothing");
        free_shown(f, &got);
    }
    add_facts(f);
    do_prefetch(f, f->provider, &context, &got);
    free_shown(f, &got);
}

/* ---- the rules ---------------------------------------------------------------------------------- */

static const struct rule rules[] = {
    RULE(test_of_nothing_nothing_is_shown),
    RULE(test_what_is_added_is_shown),
    RULE(test_what_somebody_keeps_is_not_shown_to_others),
    RULE(test_additions_mean_what_they_mean_in_files),
    RULE(test_every_action_means_what_it_means_in_files),
    RULE(test_an_update_of_another_text_than_was_seen_is_a_conflict),
    RULE(test_a_repeated_sync_is_done_once),
    RULE(test_a_dry_run_changes_nothing),
    RULE(test_read_gives_the_text_that_is_shown),
    RULE(test_write_holds_for_the_text_that_was_read),
    RULE(test_list_names_what_was_written),
    RULE(test_no_addition_is_lost_among_several_writers),
    RULE(test_a_question_that_repeats_what_was_added_finds_it),
    RULE(test_what_was_removed_is_not_found),
    RULE(test_a_question_of_somebody_else_does_not_find_it),
    RULE(test_without_a_question_something_is_shown_or_nothing),
};

const struct rule *conformance_provider_rule(size_t index)
{
    return index < sizeof rules / sizeof *rules ? &rules[index] : NULL;
}

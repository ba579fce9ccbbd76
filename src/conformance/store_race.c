/*
 * store_race.c: the rule about concurrent updates of one text in a store.
 */
#include "conformance/fixture.h"

#define TEXT_SIZE 65536
#define KEY "MEMORY.md"

struct addition {
    const char *line;
    char text[TEXT_SIZE];
};

static int add_line_to_text(void *arg, struct ethos_edit *edits, size_t count,
                            struct ethos_error *error)
{
    struct addition *addition = arg;
    (void)count, (void)error;
    snprintf(addition->text, sizeof addition->text, "%s%s", edits->old.data ? edits->old.data : "",
             addition->line);
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(addition->text);
    return ETHOS_OK;
}

static void *race_open(struct fixture *f)
{
    struct ethos_store *store = NULL;
    return f->subject->open(f->host, &store, &f->error) == ETHOS_OK ? store : NULL;
}

static int race_add(struct fixture *f, void *opened, const char *line)
{
    static struct addition addition;
    struct ethos_edit edit = {.key = KEY};
    addition.line = line;
    int code = store_update(opened, SCOPE, &edit, 1, add_line_to_text, &addition, NULL, &f->error);
    free_edits(f, &edit, 1);
    return code;
}

static const char *race_read(struct fixture *f)
{
    return do_read(f, SCOPE, KEY) == ETHOS_OK ? f->text.data : "";
}

/* Whether other handles see what this one wrote. A durable store must. */
static bool is_shared(struct fixture *f)
{
    struct ethos_store *first = f->store;
    put_key(f, "shared.md", "1");
    assert_int_equal(f->subject->open(f->host, &f->store, &f->error), ETHOS_OK);
    bool shared = do_read(f, SCOPE, "shared.md") == ETHOS_OK;
    f->store->ops->close(f->store);
    f->store = first;
    return shared || is_durable(f);
}

static void test_no_update_is_lost_among_several_writers(struct fixture *f)
{
    static const struct race race = {race_open, race_add, race_read};
    require_offered(!f->subject->in_process && is_shared(f), "texts that handles share");
    race_run(f, &race);
}

const struct rule rules_race[] = {RULE(test_no_update_is_lost_among_several_writers)};
const size_t rules_race_count = sizeof rules_race / sizeof *rules_race;

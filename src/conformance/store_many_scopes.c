/*
 * store_many_scopes.c: rules for reading texts of several scopes at once, and for listing scopes.
 */
#include "conformance/fixture.h"

/* ---- gather --------------------------------------------------------------------------------- */

/* For a store without gather, texts are read one by one, so the rules hold for it, too. */
static int do_read_many(struct fixture *f, unsigned flags, struct ethos_section *sections,
                        size_t count)
{
    const struct ethos_read_how how = {0, flags};
    return store_gather(f->store, &how, sections, count, &f->error);
}

static void name_section(struct ethos_section *section, const char *scope, const char *key)
{
    snprintf(section->scope, sizeof section->scope, "%s", scope);
    snprintf(section->key, sizeof section->key, "%s", key);
}

static void free_sections(struct fixture *f, struct ethos_section *sections, size_t count)
{
    for (size_t i = 0; i < count; i++)
        f->host->resize(f->host->arg, sections[i].text.data, 0);
}

static void test_texts_of_several_scopes_are_gathered(struct fixture *f)
{
    struct ethos_section sections[4] = {0};
    put_key(f, "a.md", "mine\n");
    put_key(f, "b.md", "");
    assert_int_equal(do_write(f, OTHER_SCOPE, "a.md", NULL, VIEW("caf\xe9\0\n"), NULL), ETHOS_OK);
    name_section(&sections[0], OTHER_SCOPE, "a.md");
    name_section(&sections[1], SCOPE, "none.md");
    name_section(&sections[2], SCOPE, "a.md");
    name_section(&sections[3], SCOPE, "b.md");
    for (int round = 0; round < 2; round++) { // the second time into the same buffers
        assert_int_equal(do_read_many(f, ETHOS_READ_REVISION, sections, 4), ETHOS_OK);
        assert_int_equal(sections[0].code, ETHOS_OK);
        assert_int_equal(sections[0].text.size, 6);
        assert_memory_equal(sections[0].text.data, "caf\xe9\0\n", 7);
        assert_revision(f, sections[0].text.revision, VIEW("caf\xe9\0\n"));
        assert_int_equal(sections[1].code, ETHOS_NOTFOUND);
        assert_int_equal(sections[2].code, ETHOS_OK);
        assert_string_equal(sections[2].text.data, "mine\n");
        assert_int_equal(sections[2].text.total, 5);
        assert_int_equal(sections[3].code, ETHOS_OK);
        assert_int_equal(sections[3].text.size, 0);
        assert_string_equal(sections[3].text.data, "");
        assert_string_equal(sections[0].scope, OTHER_SCOPE);
        assert_string_equal(sections[2].key, "a.md");
    }
    assert_int_equal(do_read_many(f, 0, sections, 4), ETHOS_OK);
    assert_string_equal(sections[2].text.revision, "");
    assert_int_equal(do_read_many(f, 0, NULL, 0), ETHOS_OK);
    free_sections(f, sections, 4);
}

static void test_gathering_without_memory_says_so(struct fixture *f)
{
    bool done = false;
    put_key(f, "a.md", "mine\n");
    assert_int_equal(do_write(f, OTHER_SCOPE, "a.md", NULL, VIEW("theirs\n"), NULL), ETHOS_OK);
    MEMORY_EACH(f, n, done)
    {
        struct ethos_section sections[2] = {0};
        name_section(&sections[0], SCOPE, "a.md");
        name_section(&sections[1], OTHER_SCOPE, "a.md");
        int code = do_read_many(f, ETHOS_READ_REVISION, sections, 2);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        done = code == ETHOS_OK;
        for (size_t i = 0; code == ETHOS_OK && i < 2; i++) {
            assert_true(sections[i].code == ETHOS_OK || sections[i].code == ETHOS_NOMEM);
            done = done && sections[i].code == ETHOS_OK;
        }
        free_sections(f, sections, 2);
    }
}

/* ---- scopes --------------------------------------------------------------------------------- */

/* The scopes of this fixture; the store may have others. */
struct walked_scopes {
    const struct fixture *fixture;
    size_t count, all;
    char names[4][ETHOS_MAX_SCOPE], last[ETHOS_MAX_SCOPE];
    bool stops;
};

static int record_scope(void *arg, const char *scope)
{
    struct walked_scopes *scopes = arg;
    assert_true(strcmp(scopes->last, scope) < 0);
    snprintf(scopes->last, sizeof scopes->last, "%s", scope);
    scopes->all++;
    if (strstr(scope, scopes->fixture->tag)) {
        assert_true(scopes->count < 4);
        snprintf(scopes->names[scopes->count++], ETHOS_MAX_SCOPE, "%s", scope);
    }
    return scopes->stops ? 77 : 0;
}

static void list_scopes(struct fixture *f, struct walked_scopes *out)
{
    *out = (struct walked_scopes){.fixture = f};
    assert_int_equal(f->store->ops->scopes(f->store, record_scope, out, &f->error), ETHOS_OK);
}

static void test_scopes_are_those_that_were_written(struct fixture *f)
{
    struct walked_scopes scopes;
    require_offered(f->store->ops->scopes, "a list of its scopes");
    list_scopes(f, &scopes);
    assert_int_equal(scopes.count, 0);
    assert_int_equal(do_write(f, OTHER_SCOPE, "a.md", NULL, VIEW("1\n"), NULL), ETHOS_OK);
    put_key(f, "a.md", "1\n");
    put_key(f, "b.md", "2\n");
    assert_absent(f, "none.md");
    assert_int_equal(do_read(f, f->scratch_scope, "a.md"), ETHOS_NOTFOUND);
    list_scopes(f, &scopes);
    assert_int_equal(scopes.count, 2);
    assert_string_equal(scopes.names[0], SCOPE);
    assert_string_equal(scopes.names[1], OTHER_SCOPE);
    scopes = (struct walked_scopes){.fixture = f, .stops = true};
    assert_int_equal(f->store->ops->scopes(f->store, record_scope, &scopes, &f->error), 77);
    assert_int_equal(scopes.all, 1);
}

static void test_a_scope_with_a_history_is_one_without_texts(struct fixture *f)
{
    struct walked_scopes scopes;
    require_offered(f->store->ops->scopes, "a list of its scopes");
    require_history(f);
    put_key(f, "a.md", "1\n");
    assert_int_equal(do_remove(f, "a.md", NULL), ETHOS_OK);
    list_scopes(f, &scopes);
    assert_int_equal(scopes.count, 1);
    assert_string_equal(scopes.names[0], SCOPE);
}

static void test_scopes_without_memory_say_so(struct fixture *f)
{
    struct walked_scopes scopes;
    int code = ETHOS_OK;
    require_offered(f->store->ops->scopes, "a list of its scopes");
    put_key(f, "a.md", "1\n");
    MEMORY_EACH(f, n, code == ETHOS_OK)
    {
        scopes = (struct walked_scopes){.fixture = f};
        code = f->store->ops->scopes(f->store, record_scope, &scopes, &f->error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_int_equal(scopes.count, 1);
}

const struct rule rules_several[] = {
    RULE(test_texts_of_several_scopes_are_gathered),
    RULE(test_gathering_without_memory_says_so),
    RULE(test_scopes_are_those_that_were_written),
    RULE(test_a_scope_with_a_history_is_one_without_texts),
    RULE(test_scopes_without_memory_say_so),
};
const size_t rules_several_count = sizeof rules_several / sizeof *rules_several;

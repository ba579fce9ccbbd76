/*
 * test_api_keys.c: keys of programs in the session store.
 */
#include "../support/alloc.h"
#include "subjects.h"

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static const struct ethos_key first = {.prefix = "sk-ethos-aaaaaaaa",
                                       .hash = HASH_A,
                                       .name = "laptop",
                                       .scopes = "memory:read,sessions:read",
                                       .origins = "https://app.example",
                                       .agent = 1};
static const struct ethos_key second = {.prefix = "sk-ethos-bbbbbbbb",
                                        .hash = HASH_B,
                                        .name = "phone",
                                        .scopes = "memory:read",
                                        .origins = ""};

static int add(struct world *w, const struct ethos_key *key)
{
    return w->ops->key_add(w->sessions, key, &w->error);
}

/* "prefix name scopes origins agent used revoked|" of each. */
struct listing {
    char text[2048];
    int stop_with;
};

static int note_key(void *arg, const struct ethos_key *key)
{
    struct listing *listing = arg;
    size_t used = strlen(listing->text);
    assert_int_equal(strlen(key->hash), 64);
    assert_non_null(key->created_at);
    snprintf(listing->text + used, sizeof listing->text - used, "%s %s %s %s %d %s %s|",
             key->prefix, key->name, key->scopes, key->origins, key->agent,
             key->last_used_at ? key->last_used_at : "-", key->revoked_at ? key->revoked_at : "-");
    return listing->stop_with;
}

static void assert_keys(struct world *w, const char *expected)
{
    struct listing listing = {0};
    assert_int_equal(w->ops->keys(w->sessions, note_key, &listing, &w->error), ETHOS_OK);
    assert_string_equal(listing.text, expected);
}

static uint64_t version(struct world *w)
{
    uint64_t version = 0;
    assert_int_equal(w->ops->keys_version(w->sessions, &version, &w->error), ETHOS_OK);
    return version;
}

static bool has_file(struct world *w)
{
    char path[128];
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    return access(path, F_OK) == 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_looking_for_keys_makes_nothing(void **state)
{
    struct world *w = *state;
    assert_keys(w, "");
    version(w);
    assert_int_equal(w->ops->key_revoke(w->sessions, "x", &w->error), ETHOS_NOTFOUND);
    assert_int_equal(w->ops->key_used(w->sessions, HASH_A, &w->error), ETHOS_NOTFOUND);
    assert_false(has_file(w));
}

static void test_the_table_comes_with_the_first_key(void **state)
{
    struct world *w = *state;
    const struct ethos_session session = {.key = "k", .platform = "cli"};
    char id[ETHOS_UUID_SIZE];
    assert_int_equal(w->ops->create(w->sessions, &session, id, &w->error), ETHOS_OK);
    assert_keys(w, "");
    sqlite3 *other = raw_open(w);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(other,
                                        "SELECT count(*) FROM sqlite_master WHERE name='api_keys'",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 0);
    sqlite3_finalize(statement);
    sqlite3_close(other);
    assert_int_equal(add(w, &first), ETHOS_OK);
    assert_keys(w, "sk-ethos-aaaaaaaa laptop memory:read,sessions:read https://app.example 1 - -|");
}

static void test_keys_are_listed_as_they_came(void **state)
{
    struct world *w = *state;
    assert_int_equal(add(w, &second), ETHOS_OK);
    assert_int_equal(add(w, &first), ETHOS_OK);
    assert_keys(w, "sk-ethos-bbbbbbbb phone memory:read  0 - -|"
                   "sk-ethos-aaaaaaaa laptop memory:read,sessions:read https://app.example 1 - -|");
    struct listing listing = {.stop_with = 7};
    assert_int_equal(w->ops->keys(w->sessions, note_key, &listing, &w->error), 7);
    assert_string_equal(listing.text, "sk-ethos-bbbbbbbb phone memory:read  0 - -|");
}

static void test_prefix_and_secret_are_given_once(void **state)
{
    struct world *w = *state;
    struct ethos_key same = first;
    assert_int_equal(add(w, &first), ETHOS_OK);
    assert_int_equal(add(w, &first), ETHOS_EXISTS);
    same.prefix = "sk-ethos-cccccccc";
    assert_int_equal(add(w, &same), ETHOS_EXISTS);
    same = (struct ethos_key){
        .prefix = first.prefix, .hash = HASH_B, .name = "n", .scopes = "", .origins = ""};
    assert_int_equal(add(w, &same), ETHOS_EXISTS);
}

static void test_a_revoked_key_stays_revoked(void **state)
{
    struct world *w = *state;
    w->now = 1700000000000;
    assert_int_equal(add(w, &second), ETHOS_OK);
    assert_int_equal(w->ops->key_revoke(w->sessions, second.prefix, &w->error), ETHOS_OK);
    w->now += 1000;
    assert_int_equal(w->ops->key_revoke(w->sessions, second.prefix, &w->error), ETHOS_OK);
    assert_keys(w, "sk-ethos-bbbbbbbb phone memory:read  0 - 2023-11-14T22:13:20.000Z|");
    assert_int_equal(w->ops->key_revoke(w->sessions, "sk-ethos-", &w->error), ETHOS_NOTFOUND);
}

static void test_a_key_from_elsewhere_keeps_its_times(void **state)
{
    struct world *w = *state;
    struct ethos_key old = second;
    old.created_at = "2023-01-01";
    old.last_used_at = "2023-02-01 10:00";
    old.revoked_at = "2023-03-01T10:00:00+01:00";
    assert_int_equal(add(w, &old), ETHOS_OK);
    assert_keys(w, "sk-ethos-bbbbbbbb phone memory:read  0 2023-02-01T10:00:00.000Z "
                   "2023-03-01T09:00:00.000Z|");
    old = first;
    old.last_used_at = "never";
    assert_int_equal(add(w, &old), ETHOS_INVALID);
}

static void test_a_use_is_noted(void **state)
{
    struct world *w = *state;
    w->now = 1700000000000;
    assert_int_equal(add(w, &second), ETHOS_OK);
    assert_int_equal(w->ops->key_used(w->sessions, HASH_B, &w->error), ETHOS_OK);
    assert_keys(w, "sk-ethos-bbbbbbbb phone memory:read  0 2023-11-14T22:13:20.000Z -|");
    assert_int_equal(w->ops->key_used(w->sessions, HASH_A, &w->error), ETHOS_NOTFOUND);
}

/* What a server keeps is right as long as the version is. */
static void test_the_version_changes_when_others_change_keys(void **state)
{
    struct world *w = *state;
    struct world other = {.host = log_default_host, .subject = w->subject};
    memcpy(&other.temp, &w->temp, sizeof other.temp);
    memcpy(other.schema, w->schema, sizeof other.schema);
    other.host.arg = &other;
    other.host.now_ms = world_now;
    other.host.resize = world_resize;
    world_open(&other);
    uint64_t none = version(w);
    assert_int_equal(add(&other, &first), ETHOS_OK);
    uint64_t made = version(w);
    assert_true(made != none);
    assert_true(version(w) == made);
    assert_int_equal(w->ops->key_revoke(other.sessions, first.prefix, &w->error), ETHOS_OK);
    uint64_t revoked = version(w);
    assert_true(revoked != made);
    world_close(&other);
    if (w->subject)
        return;
    char path[128], away[128];
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    snprintf(away, sizeof away, "%s/moved.db", w->temp.path);
    assert_int_equal(rename(path, away), 0);
    assert_true(version(w) != revoked);
    assert_keys(w, "");
}

/* Browsers are rows like keys, and what happens to one of them happens to no key. */
static void test_a_browser_is_signed_in_and_out(void **state)
{
    struct world *w = *state;
    static const struct ethos_key browser = {.prefix = ETHOS_BROWSER_PREFIX "11112222",
                                             .hash = HASH_A,
                                             .name = "Firefox on Linux",
                                             .scopes = "",
                                             .origins = ""};
    w->now = 1700000000000;
    assert_int_equal(add(w, &second), ETHOS_OK);
    assert_int_equal(add(w, &browser), ETHOS_OK);
    assert_int_equal(add(w, &browser), ETHOS_EXISTS);
    assert_int_equal(w->ops->key_used(w->sessions, HASH_A, &w->error), ETHOS_OK);
    assert_keys(w, "sk-ethos-bbbbbbbb phone memory:read  0 - -|"
                   "browser-11112222 Firefox on Linux   0 2023-11-14T22:13:20.000Z -|");
    assert_int_equal(w->ops->key_revoke(w->sessions, "browser-0", &w->error), ETHOS_NOTFOUND);
    assert_int_equal(w->ops->key_revoke(w->sessions, browser.prefix, &w->error), ETHOS_OK);
    assert_keys(w, "sk-ethos-bbbbbbbb phone memory:read  0 - -|"
                   "browser-11112222 Firefox on Linux   0 2023-11-14T22:13:20.000Z "
                   "2023-11-14T22:13:20.000Z|");
}

/* Programs that know the table of keys find no browser there. */
static void test_browsers_have_a_table_of_their_own(void **state)
{
    struct world *w = *state;
    static const struct ethos_key browser = {.prefix = ETHOS_BROWSER_PREFIX "11112222",
                                             .hash = HASH_A,
                                             .name = "Firefox",
                                             .scopes = "",
                                             .origins = ""};
    static const char *const counts[][2] = {
        {"SELECT count(*) FROM sqlite_master WHERE name='api_keys'", "0"},
        {"SELECT count(*) FROM browsers", "1"}};
    assert_int_equal(add(w, &browser), ETHOS_OK);
    sqlite3 *other = raw_open(w);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_prepare_v2(other, counts[i][0], -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_string_equal((const char *)sqlite3_column_text(statement, 0), counts[i][1]);
        sqlite3_finalize(statement);
    }
    sqlite3_close(other);
}

static void test_without_memory_a_key_is_made_or_not(void **state)
{
    struct world *w = *state;
    int code = ETHOS_NOMEM;
    unsigned long failed = 0;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = add(w, &first);
        failed += code == ETHOS_NOMEM;
        if (code != ETHOS_OK && code != ETHOS_NOMEM)
            fail_msg("allocation %lu: %d %s", n, code, w->error.text);
    }
    assert_true(failed > 0);
    assert_keys(w, "sk-ethos-aaaaaaaa laptop memory:read,sessions:read https://app.example 1 - -|");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
    static const struct CMUnitTest all[] = {
        TEST(test_keys_are_listed_as_they_came),
        TEST(test_prefix_and_secret_are_given_once),
        TEST(test_a_revoked_key_stays_revoked),
        TEST(test_a_key_from_elsewhere_keeps_its_times),
        TEST(test_a_use_is_noted),
        TEST(test_a_browser_is_signed_in_and_out),
        TEST(test_the_version_changes_when_others_change_keys),
    };
    static const struct CMUnitTest sqlite[] = {
        TEST(test_looking_for_keys_makes_nothing),
        TEST(test_the_table_comes_with_the_first_key),
        TEST(test_browsers_have_a_table_of_their_own),
        TEST(test_without_memory_a_key_is_made_or_not),
    };
    return subjects_run(all, COUNT_OF(all), sqlite, COUNT_OF(sqlite));
}

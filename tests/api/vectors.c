/*
 * vectors.c: every golden vector of updates and scopes, through the public interface, over any store.
 */
#include "vectors.h"

#include "../support/golden.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

struct bench {
    struct world *world;
    struct ethos_store *store; /* the injected one; NULL: files */
    char personality[32], scope[64];
};

/* A memory that nobody has written yet, and a turn of its personality. */
static void begin(struct bench *bench, struct world *world, const struct vectors_subject *subject)
{
    static unsigned number;
    struct ethos_options options = {0};
    *bench = (struct bench){.world = world};
    snprintf(bench->personality, sizeof bench->personality, "golden-%u", ++number);
    snprintf(bench->scope, sizeof bench->scope, "personality:%s", bench->personality);
    world_close(world);
    if (subject->open)
        assert_int_equal(subject->open(&world->host, &bench->store, NULL), ETHOS_OK);
    options.store = bench->store;
    world_open_with(world, options);
    world_personality(world, bench->personality);
}

static void end(struct bench *bench)
{
    world_close(bench->world);
    world_remove(bench->world, "home");
}

/* ---- looking behind the interface ----------------------------------------------------------- */

/* A text of the scope, terminated; NULL when absent. free() it. */
static char *text_of(struct bench *bench, const char *key, size_t *size)
{
    static const struct ethos_read_how whole;
    struct ethos_text text = {0};
    char path[128];

    if (!bench->store) {
        snprintf(path, sizeof path, "home/personalities/%s/%s", bench->personality, key);
        return temp_read(&bench->world->temp, path, size);
    }
    int code = bench->store->ops->read(bench->store, bench->scope, key, &whole, &text, NULL);
    *size = text.size;
    return code == ETHOS_OK ? text.data : NULL;
}

static int add_name(void *arg, const struct ethos_entry *entry)
{
    size_t size = strlen(entry->key);
    if (size > 3 && strcmp(entry->key + size - 3, ".md") == 0)
        json_array_append_new(arg, json_string(entry->key));
    return 0;
}

/* The .md files of the scope. */
static json_t *md_files(struct bench *bench)
{
    json_t *keys = json_array();
    struct dirent **entries;

    if (bench->store) {
        assert_int_equal(bench->store->ops->list(bench->store, bench->scope, add_name, keys, NULL),
                         ETHOS_OK);
        return keys;
    }
    char path[128];
    snprintf(path, sizeof path, "home/personalities/%s", bench->personality);
    int count = scandirat(bench->world->temp.fd, path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const struct ethos_entry entry = {.key = entries[i]->d_name};
        add_name(keys, &entry);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return keys;
}

/* Everything there is, to be compared. */
static char *snapshot(struct bench *bench)
{
    size_t size;
    return !bench->store ? world_tree(bench->world, ".", TREE_ALL)
                         : text_of(bench, "MEMORY.md", &size);
}

static void assert_same(char *before, char *after)
{
    assert_int_equal(before != NULL, after != NULL);
    if (before)
        assert_string_equal(before, after);
    free(before);
    free(after);
}

/* The vectors lie where the tests are started. */
static json_t *load(struct world *world, const char *member)
{
    assert_int_equal(chdir(world->start), 0);
    json_t *vectors = golden_load(member);
    assert_int_equal(chdir(world->work), 0);
    return vectors;
}

/* ---- vectors -------------------------------------------------------------------------------- */

/* The updates as JSON text; content_repeat is spelled out. free() it. */
static char *updates_text(const json_t *vector)
{
    const char *given = golden_string(vector, "updates_text");
    json_t *updates = json_deep_copy(json_object_get(vector, "updates")), *update;
    size_t index;

    json_array_foreach (updates, index, update) {
        const json_t *repeat = json_object_get(update, "content_repeat");
        struct str content;
        str_init(&content, SIZE_MAX);
        for (json_int_t i = json_integer_value(json_object_get(repeat, "count")); i > 0; i--)
            str_adds(&content, golden_string(repeat, "unit"));
        if (repeat)
            json_object_set_new(update, "content", json_string(content.data));
        json_object_del(update, "content_repeat");
        str_release(&content);
    }
    char *text = given ? strdup(given) : json_dumps(updates, JSON_ENSURE_ASCII);
    json_decref(updates);
    return text;
}

static void assert_digest(const json_t *digest, struct ethos_view text)
{
    char hex[HASH_HEX_SIZE];
    hash_hex(text, hex);
    assert_int_equal(text.size, json_integer_value(json_object_get(digest, "bytes")));
    if (json_object_get(digest, "units"))
        assert_int_equal(utf8_units(text), json_integer_value(json_object_get(digest, "units")));
    assert_string_equal(hex, golden_string(digest, "sha256"));
}

static void assert_after(struct bench *bench, const json_t *vector)
{
    const json_t *digest = json_object_get(vector, "after_digest");
    size_t size = 0;
    char *text = text_of(bench, "MEMORY.md", &size);
    const json_t *after = json_object_get(vector, "after");

    if (digest) {
        assert_digest(digest, view_of(text, size));
    } else if (json_is_null(after)) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_int_equal(size, json_string_length(after));
        assert_memory_equal(text, json_string_value(after), size);
    }
    free(text);
}

/* The archive, with its time replaced. */
static void assert_archive(struct bench *bench, const json_t *vector)
{
    const json_t *digest = json_object_get(vector, "archive_digest");
    size_t size = 0;
    char *text = text_of(bench, "memory-archive.md", &size);
    struct str plain;

    if (!digest) {
        assert_null(text);
        return;
    }
    assert_non_null(text);
    const char *time = strstr(text, NOW_ISO), *head = golden_string(digest, "head");
    assert_non_null(time);
    str_init(&plain, SIZE_MAX);
    str_add(&plain, view_of(text, (size_t)(time - text)));
    str_adds(&plain, "<ISO>");
    str_adds(&plain, time + strlen(NOW_ISO));
    assert_int_equal(size, json_integer_value(json_object_get(digest, "bytes")));
    char hex[HASH_HEX_SIZE];
    hash_hex(str_view(&plain), hex);
    assert_string_equal(hex, golden_string(digest, "sha256_with_ISO"));
    assert_true(view_starts(str_view(&plain), view_str(head)));
    str_release(&plain);
    free(text);
}

static void assert_md_files(struct bench *bench, const json_t *vector)
{
    const json_t *expected = json_object_get(vector, "md_files");
    json_t *found = md_files(bench);

    if (json_is_null(expected)) {
        assert_int_equal(json_array_size(found), 0);
        assert_false(!bench->store && world_exists(bench->world, "home"));
    } else {
        assert_true(json_equal(expected, found));
    }
    json_decref(found);
}

static void run_vector(struct bench *bench, const json_t *vector)
{
    struct world *world = bench->world;
    const json_t *initial = json_object_get(vector, "initial");
    const char *refusal = golden_string(vector, "error");
    struct ethos_view text = view_of(json_string_value(initial), json_string_length(initial));

    if (json_is_string(initial))
        assert_ok(world, ethos_write(world->turn, NULL, "absent", text, NULL, &world->error));
    char *before = snapshot(bench), *updates = updates_text(vector);
    int code = world_sync(world, updates);
    free(updates);
    if (refusal) {
        assert_error(&world->error, code, ETHOS_DENIED);
        assert_string_equal(world->error.text, refusal);
        assert_same(before, snapshot(bench));
    } else {
        assert_ok(world, code);
        free(before);
    }
    assert_after(bench, vector);
    assert_archive(bench, vector);
    assert_md_files(bench, vector);
}

void vectors_updates(struct world *world, const struct vectors_subject *subject)
{
    json_t *vectors = load(world, "updates"), *vector;
    size_t index;

    json_array_foreach (vectors, index, vector) {
        struct bench bench;
        print_message("# %s, %s\n", subject->name, golden_string(vector, "label"));
        begin(&bench, world, subject);
        run_vector(&bench, vector);
        end(&bench);
    }
    json_decref(vectors);
}

/* ---- scopes --------------------------------------------------------------------------------- */

static void check_result(struct world *world, int code, const char *refusal)
{
    if (!refusal) {
        assert_ok(world, code);
        return;
    }
    assert_error(&world->error, code, ETHOS_DENIED);
    assert_string_equal(world->error.text, refusal);
}

/* As the personality or the user of a turn, whose prefetch is the reference's. */
static void check_request(struct world *world, const char *scope, const char *refusal)
{
    struct ethos_request request = {0};
    if (strncmp(scope, "personality:", 12) == 0)
        request.personality = scope + 12;
    else if (strncmp(scope, "user:", 5) == 0)
        request.user = scope + 5;
    else
        return;
    struct ethos_turn *turn = NULL;
    int code = ethos_turn_new(world->ethos, &request, &turn, &world->error);
    check_result(world, code, refusal);
    struct ethos_block *block = NULL;
    if (code == ETHOS_OK)
        assert_ok(world, ethos_prefetch(turn, NULL, &block, &world->error));
    assert_null(block);
    ethos_turn_free(turn);
}

static void check_scope(struct bench *bench, const char *scope, const char *refusal)
{
    struct world *world = bench->world;
    const struct ethos_target target = {.scope = scope, .key = "MEMORY.md"};
    const struct ethos_update updates[] = {
        {.action = ETHOS_ACTION_ADD, .text = VIEW("x")},
        {.action = ETHOS_ACTION_ADD, .scope = scope, .key = "MEMORY.md", .text = VIEW("x")},
    };
    struct ethos_file *file = NULL;

    check_request(world, scope, refusal);
    check_result(world, ethos_read(world->turn, &target, &file, &world->error), refusal);
    ethos_file_free(file);
    if (!refusal)
        return;
    char *before = snapshot(bench);
    check_result(world, ethos_write(world->turn, &target, NULL, VIEW("x"), NULL, &world->error),
                 refusal);
    check_result(world, ethos_sync(world->turn, updates, 2, NULL, &world->error), refusal);
    assert_same(before, snapshot(bench));
}

void vectors_scopes(struct world *world, const struct vectors_subject *subject)
{
    json_t *vectors = load(world, "scopes"), *vector;
    struct bench bench;
    size_t index;

    begin(&bench, world, subject);
    json_array_foreach (vectors, index, vector)
        check_scope(&bench, golden_string(vector, "scope"), golden_string(vector, "error"));
    end(&bench);
    json_decref(vectors);
}

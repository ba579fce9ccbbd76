/*
 * store.c: rules for every store: reading, writing, listing, updates, operation ids, and memory.
 */
#include "conformance/fixture.h"

/* ---- reading and writing -------------------------------------------------------------------- */

static void test_absent_text_is_not_found(struct fixture *f)
{
    assert_absent(f, "MEMORY.md");
    put_key(f, "MEMORY.md", "something\n");
    assert_absent(f, "USER.md");
    assert_int_equal(do_read(f, OTHER_SCOPE, "MEMORY.md"), ETHOS_NOTFOUND);
    assert_int_equal(f->error.code, ETHOS_NOTFOUND);
    assert_true(f->error.text[0] != 0);
}

static void test_what_is_written_reads_back(struct fixture *f)
{
    char revision[ETHOS_REVISION_SIZE], expected[ETHOS_REVISION_SIZE];
    assert_int_equal(do_write(f, SCOPE, "MEMORY.md", NULL, VIEW("one\n"), revision), ETHOS_OK);
    revision_of(f, "one\n", expected);
    assert_string_equal(revision, expected);
    assert_text(f, "MEMORY.md", "one\n");
    assert_int_equal(do_write(f, SCOPE, "MEMORY.md", NULL, VIEW("a longer two\n"), revision),
                     ETHOS_OK);
    assert_text(f, "MEMORY.md", "a longer two\n");
    assert_string_equal(revision, f->text.revision);
    assert_int_equal(do_write(f, SCOPE, "MEMORY.md", NULL, VIEW("3"), revision), ETHOS_OK);
    assert_text(f, "MEMORY.md", "3");
    assert_true(f->text.mtime_ms == -1 || f->text.mtime_ms > 0);
}

static void test_equal_bytes_have_equal_revisions(struct fixture *f)
{
    char first[ETHOS_REVISION_SIZE], second[ETHOS_REVISION_SIZE], third[ETHOS_REVISION_SIZE];
    do_write(f, SCOPE, "a.md", NULL, VIEW("same"), first);
    do_write(f, OTHER_SCOPE, "b.md", NULL, VIEW("same"), second);
    do_write(f, SCOPE, "a.md", NULL, VIEW("other"), third);
    assert_string_equal(first, second);
    assert_string_not_equal(first, third);
    do_write(f, SCOPE, "a.md", NULL, VIEW("same"), third);
    assert_string_equal(first, third);
}

static void test_other_bytes_have_another_revision(struct fixture *f)
{
    static const char *const texts[] = {"same", "safe", "emas", "sam", "same ", "Same", ""};
    char revisions[sizeof texts / sizeof *texts][ETHOS_REVISION_SIZE];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        revision_of(f, texts[i], revisions[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(revisions[i], revisions[j]);
    }
}

static void test_empty_text_is_not_absent(struct fixture *f)
{
    put_key(f, "empty.md", "");
    assert_text(f, "empty.md", "");
    assert_int_equal(do_write(f, SCOPE, "empty.md", "absent", VIEW("x"), NULL), ETHOS_CONFLICT);
    put_key(f, "full.md", "full");
    put_key(f, "full.md", "");
    assert_text(f, "full.md", "");
    assert_int_equal(do_remove(f, "empty.md", NULL), ETHOS_OK);
    assert_absent(f, "empty.md");
}

static void test_every_byte_is_stored(struct fixture *f)
{
    char bytes[512];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(unsigned char)(i * 7);
    struct ethos_view text = view_of(bytes, sizeof bytes);
    assert_int_equal(do_write(f, SCOPE, "bytes.md", NULL, text, NULL), ETHOS_OK);
    assert_bytes(f, SCOPE, "bytes.md", text);
    assert_int_equal(do_write(f, SCOPE, "bytes.md", NULL, VIEW("\0"), NULL), ETHOS_OK);
    assert_bytes(f, SCOPE, "bytes.md", VIEW("\0"));
    assert_int_equal(do_write(f, SCOPE, "bytes.md", NULL, VIEW("no line end \r\n\r"), NULL),
                     ETHOS_OK);
    assert_text(f, "bytes.md", "no line end \r\n\r");
}

static void test_a_megabyte_is_stored(struct fixture *f)
{
    size_t size = 1048576 + 13;
    char *bytes = malloc(size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = "memory \n"[(i * i / 3) % 8];
    assert_int_equal(do_write(f, SCOPE, "big.md", NULL, view_of(bytes, size), NULL), ETHOS_OK);
    assert_bytes(f, SCOPE, "big.md", view_of(bytes, size));
    bytes[size / 2] = 'X';
    assert_int_equal(do_write(f, SCOPE, "big.md", f->text.revision, view_of(bytes, size), NULL),
                     ETHOS_OK);
    assert_bytes(f, SCOPE, "big.md", view_of(bytes, size));
    free(bytes);
}

static void test_a_text_beyond_the_limit_is_refused(struct fixture *f)
{
    char *bytes = calloc(1, (size_t)ETHOS_MAX_STORE_BYTES + 1);
    assert_non_null(bytes);
    put_key(f, "a.md", "old");
    struct ethos_view text = view_of(bytes, (size_t)ETHOS_MAX_STORE_BYTES + 1);
    assert_int_equal(do_write(f, SCOPE, "a.md", NULL, text, NULL), ETHOS_LIMIT);
    assert_text(f, "a.md", "old");
    free(bytes);
}

static void test_scopes_are_separate(struct fixture *f)
{
    char scopes[5][ETHOS_MAX_SCOPE] = {"global"};
    static const char *const kinds[] = {"personality:", "user:", "team:", "workspace:same-"};
    for (size_t i = 0; i < 4; i++)
        snprintf(scopes[i + 1], sizeof scopes[i + 1], "%s%s", kinds[i], f->tag);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(
            do_write(f, scopes[i], "MEMORY.md", i ? "absent" : NULL, view_str(scopes[i]), NULL),
            ETHOS_OK);
    for (size_t i = 0; i < 5; i++)
        assert_bytes(f, scopes[i], "MEMORY.md", view_str(scopes[i]));
}

/* ---- expectations --------------------------------------------------------------------------- */

static void test_write_expects_any_absent_or_a_revision(struct fixture *f)
{
    char first[ETHOS_REVISION_SIZE], second[ETHOS_REVISION_SIZE];
    assert_int_equal(do_write(f, SCOPE, "a.md", "absent", VIEW("1"), first), ETHOS_OK);
    assert_int_equal(do_write(f, SCOPE, "a.md", first, VIEW("2"), second), ETHOS_OK);
    assert_text(f, "a.md", "2");
    assert_int_equal(do_write(f, SCOPE, "a.md", NULL, VIEW("3"), NULL), ETHOS_OK);
    assert_text(f, "a.md", "3");
}

static void test_a_wrong_expectation_is_a_conflict_and_changes_nothing(struct fixture *f)
{
    char revision[ETHOS_REVISION_SIZE], stale[ETHOS_REVISION_SIZE] = "untouched";
    revision_of(f, "stale", revision);
    assert_int_equal(do_write(f, SCOPE, "a.md", revision, VIEW("x"), stale), ETHOS_CONFLICT);
    assert_string_equal(stale, "untouched");
    assert_absent(f, "a.md");
    put_key(f, "a.md", "now");
    assert_int_equal(do_write(f, SCOPE, "a.md", revision, VIEW("x"), stale), ETHOS_CONFLICT);
    assert_int_equal(do_write(f, SCOPE, "a.md", "absent", VIEW("x"), stale), ETHOS_CONFLICT);
    assert_int_equal(do_remove(f, "a.md", revision), ETHOS_CONFLICT);
    assert_int_equal(do_remove(f, "a.md", "absent"), ETHOS_CONFLICT);
    assert_int_equal(f->error.code, ETHOS_CONFLICT);
    assert_string_equal(stale, "untouched");
    assert_text(f, "a.md", "now");
    revision_of(f, "now", revision);
    assert_int_equal(do_write(f, SCOPE, "a.md", "absent", VIEW("now"), stale), ETHOS_CONFLICT);
}

static void test_remove_takes_the_text_away(struct fixture *f)
{
    char revision[ETHOS_REVISION_SIZE];
    assert_int_equal(do_remove(f, "a.md", NULL), ETHOS_NOTFOUND);
    assert_int_equal(do_remove(f, "a.md", "absent"), ETHOS_NOTFOUND);
    revision_of(f, "1", revision);
    assert_int_equal(do_remove(f, "a.md", revision), ETHOS_CONFLICT);
    put_key(f, "a.md", "1");
    put_key(f, "b.md", "1");
    assert_int_equal(do_remove(f, "a.md", revision), ETHOS_OK);
    assert_absent(f, "a.md");
    assert_text(f, "b.md", "1");
    assert_int_equal(do_remove(f, "b.md", NULL), ETHOS_OK);
    assert_absent(f, "b.md");
    assert_int_equal(do_write(f, SCOPE, "a.md", "absent", VIEW("again"), NULL), ETHOS_OK);
    assert_text(f, "a.md", "again");
}

static void test_the_error_may_be_null(struct fixture *f)
{
    const struct ethos_store_ops *ops = f->store->ops;
    struct ethos_read_how whole = {0, 0};
    char revision[ETHOS_REVISION_SIZE];
    put_key(f, "a.md", "1");
    assert_int_equal(ops->read(f->store, SCOPE, "b.md", &whole, &f->text, NULL), ETHOS_NOTFOUND);
    assert_int_equal(ops->write(f->store, SCOPE, "a.md", "absent", VIEW("2"), NULL, revision, NULL),
                     ETHOS_CONFLICT);
    assert_int_equal(ops->remove(f->store, SCOPE, "b.md", NULL, NULL, NULL), ETHOS_NOTFOUND);
}

/* ---- buffers -------------------------------------------------------------------------------- */

static void test_a_buffer_is_used_again(struct fixture *f)
{
    put_key(f, "long.md", "a text that is rather longer than the other");
    put_key(f, "short.md", "short");
    assert_text(f, "long.md", "a text that is rather longer than the other");
    char *data = f->text.data;
    size_t capacity = f->text.capacity;
    assert_true(capacity > f->text.size);
    assert_text(f, "short.md", "short");
    assert_ptr_equal(f->text.data, data);
    assert_int_equal(f->text.capacity, capacity);
    assert_text(f, "long.md", "a text that is rather longer than the other");
}

static void test_a_buffer_is_memory_of_the_host(struct fixture *f)
{
    static const char *const texts[] = {"short", "a text that is rather longer than the other"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_key(f, "a.md", texts[i]);
        assert_text(f, "a.md", texts[i]);
        size_t size = memory_size(f->text.data); // 0: the host gave no such block
        assert_true(size > 0);
        assert_true(f->text.capacity <= size);
    }
}

static void test_a_failed_read_leaves_the_text_alone(struct fixture *f)
{
    put_key(f, "a.md", "kept");
    assert_text(f, "a.md", "kept");
    struct ethos_text before = f->text;
    assert_absent(f, "b.md");
    assert_memory_equal(&f->text, &before, sizeof before);
    assert_string_equal(f->text.data, "kept");
}

static void test_the_revision_is_empty_unless_asked_for(struct fixture *f)
{
    struct ethos_read_how how = {0, 0};
    put_key(f, "a.md", "text");
    assert_text(f, "a.md", "text");
    assert_int_equal(f->store->ops->read(f->store, SCOPE, "a.md", &how, &f->text, &f->error),
                     ETHOS_OK);
    assert_string_equal(f->text.revision, "");
    assert_string_equal(f->text.data, "text");
}

static void test_a_tail_is_the_end_of_the_text(struct fixture *f)
{
    static const uint64_t tails[] = {1, 5, 999, 1000, 1001, 1u << 30};
    char whole[1001], revision[ETHOS_REVISION_SIZE];
    for (size_t i = 0; i < 1000; i++)
        whole[i] = (char)('a' + i % 26);
    whole[1000] = 0;
    put_key(f, "a.md", whole);
    revision_of(f, whole, revision);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        for (unsigned flags = 0; flags <= ETHOS_READ_REVISION; flags++) {
            struct ethos_read_how how = {tails[i], flags};
            assert_int_equal(
                f->store->ops->read(f->store, SCOPE, "a.md", &how, &f->text, &f->error), ETHOS_OK);
            assert_true(f->text.size >= (tails[i] < 1000 ? tails[i] : 1000));
            assert_int_equal(f->text.total, 1000);
            assert_int_equal(f->text.offset + f->text.size, 1000);
            assert_memory_equal(f->text.data, whole + f->text.offset, f->text.size);
            assert_int_equal(f->text.data[f->text.size], 0);
            assert_string_equal(f->text.revision, flags ? revision : "");
        }
    }
}

/* ---- list ----------------------------------------------------------------------------------- */

static void test_list_gives_keys_in_byte_order(struct fixture *f)
{
    struct listed_keys listing = {0};
    put_key(f, "b.md", "22");
    put_key(f, "a.md", "1");
    put_key(f, "a-1.md", "");
    put_key(f, "Z.md", "333");
    put_key(f, "a_1.md", "4444");
    put_key(f, "a.md.md", "");
    assert_int_equal(do_write(f, OTHER_SCOPE, "c.md", NULL, VIEW("x"), NULL), ETHOS_OK);
    assert_int_equal(do_list(f, SCOPE, &listing), ETHOS_OK);
    assert_string_equal(listing.keys, "Z.md a-1.md a.md a.md.md a_1.md b.md ");
    assert_int_equal(listing.bytes, 10);
}

static void test_list_of_an_unwritten_scope_is_empty(struct fixture *f)
{
    struct listed_keys listing = {0};
    assert_int_equal(do_list(f, SCOPE, &listing), ETHOS_OK);
    assert_int_equal(do_list(f, OTHER_SCOPE, &listing), ETHOS_OK);
    assert_int_equal(listing.count, 0);
    put_key(f, "a.md", "1");
    assert_int_equal(do_remove(f, "a.md", NULL), ETHOS_OK);
    assert_int_equal(do_list(f, SCOPE, &listing), ETHOS_OK);
    assert_int_equal(listing.count, 0);
}

static void test_list_stops_when_told_to(struct fixture *f)
{
    struct listed_keys listing = {.stop_after = 2};
    put_key(f, "a.md", "1");
    put_key(f, "b.md", "1");
    put_key(f, "c.md", "1");
    assert_int_equal(do_list(f, SCOPE, &listing), 77);
    assert_string_equal(listing.keys, "a.md b.md ");
}

static void test_many_keys(struct fixture *f)
{
    struct listed_keys listing = {0};
    char expected[16384] = "";
    for (int i = 299; i >= 0; i--) {
        char key[32];
        snprintf(key, sizeof key, "note-%03d.md", i * 7 % 300);
        put_key(f, key, key);
    }
    for (int i = 0; i < 300; i++) {
        char key[32];
        snprintf(key, sizeof key, "note-%03d.md", i);
        assert_text(f, key, key);
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "%s ", key);
    }
    assert_int_equal(do_list(f, SCOPE, &listing), ETHOS_OK);
    assert_string_equal(listing.keys, expected);
}

/* ---- update --------------------------------------------------------------------------------- */

/* What the callback decides for each key, and what it must see. */
struct script {
    struct fixture *fixture;
    struct {
        enum ethos_verdict verdict;
        const char *text;
    } answers[4];
    const char *seen[4];     /* expected old texts, NULL: absent */
    const char *receipts[4]; /* or NULL */
    int code;
    int calls;
};

static int play_script(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct script *script = arg;
    struct fixture *f = script->fixture;
    (void)error;
    script->calls++;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(edits[i].verdict, ETHOS_EDIT_KEEP);
        if (script->seen[i]) {
            assert_non_null(edits[i].old.data);
            assert_int_equal(edits[i].old.size, strlen(script->seen[i]));
            assert_string_equal(edits[i].old.data, script->seen[i]);
            assert_revision(f, edits[i].old.revision, view_str(script->seen[i]));
        } else {
            assert_null(edits[i].old.data);
        }
        edits[i].verdict = script->answers[i].verdict;
        if (edits[i].verdict == ETHOS_EDIT_PUT)
            edits[i].text = view_str(script->answers[i].text);
        assert_string_equal(edits[i].receipt, "");
        if (script->receipts[i])
            snprintf(edits[i].receipt, sizeof edits[i].receipt, "%s", script->receipts[i]);
    }
    return script->code;
}

static int do_update(struct fixture *f, struct ethos_edit *edits, size_t count,
                     struct script *script)
{
    script->fixture = f;
    return store_update(f->store, SCOPE, edits, count, play_script, script, NULL, &f->error);
}

static void test_update_sees_the_old_and_stores_the_new(struct fixture *f)
{
    struct ethos_edit edit = {.key = "a.md"};
    struct script make = {.answers = {{ETHOS_EDIT_PUT, "1\n"}}};
    assert_int_equal(do_update(f, &edit, 1, &make), ETHOS_OK);
    assert_text(f, "a.md", "1\n");
    assert_string_equal(edit.revision, f->text.revision);

    struct script change = {.answers = {{ETHOS_EDIT_PUT, "2\n"}}, .seen = {"1\n"}};
    assert_int_equal(do_update(f, &edit, 1, &change), ETHOS_OK);
    assert_text(f, "a.md", "2\n");
    assert_string_equal(edit.revision, f->text.revision);

    struct script drop = {.answers = {{ETHOS_EDIT_DROP, NULL}}, .seen = {"2\n"}};
    assert_int_equal(do_update(f, &edit, 1, &drop), ETHOS_OK);
    assert_absent(f, "a.md");
    assert_string_equal(edit.revision, "");
    assert_true(make.calls >= 1 && change.calls >= 1 && drop.calls >= 1);
    free_edits(f, &edit, 1);
}

static void test_update_of_several_keys(struct fixture *f)
{
    struct ethos_edit edits[4] = {
        {.key = "put.md"}, {.key = "drop.md"}, {.key = "keep.md"}, {.key = "new.md"}};
    struct script script = {.answers = {{ETHOS_EDIT_PUT, "put 2"},
                                        {ETHOS_EDIT_DROP, NULL},
                                        {ETHOS_EDIT_KEEP, NULL},
                                        {ETHOS_EDIT_PUT, ""}},
                            .seen = {"put 1", "drop 1", "keep 1", NULL}};
    put_key(f, "put.md", "put 1");
    put_key(f, "drop.md", "drop 1");
    put_key(f, "keep.md", "keep 1");
    assert_int_equal(do_update(f, edits, 4, &script), ETHOS_OK);
    assert_text(f, "put.md", "put 2");
    assert_string_equal(edits[0].revision, f->text.revision);
    assert_absent(f, "drop.md");
    assert_string_equal(edits[1].revision, "");
    assert_text(f, "keep.md", "keep 1");
    assert_string_equal(edits[2].revision, f->text.revision);
    assert_text(f, "new.md", "");
    assert_string_equal(edits[3].revision, f->text.revision);
    assert_string_equal(edits[0].old.data, "put 1");
    free_edits(f, edits, 4);
}

static void test_update_that_keeps_touches_nothing(struct fixture *f)
{
    struct listed_keys listing = {0};
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    struct script script = {0};
    assert_int_equal(do_update(f, edits, 2, &script), ETHOS_OK);
    assert_int_equal(do_list(f, SCOPE, &listing), ETHOS_OK);
    assert_int_equal(listing.count, 0);
    assert_string_equal(edits[0].revision, "");

    struct script drop = {.answers = {{ETHOS_EDIT_DROP, NULL}, {ETHOS_EDIT_DROP, NULL}}};
    assert_int_equal(do_update(f, edits, 2, &drop), ETHOS_OK);
    assert_int_equal(do_list(f, SCOPE, &listing), ETHOS_OK);
    assert_int_equal(listing.count, 0);
    free_edits(f, edits, 2);
}

static void test_update_to_the_same_text_reports_its_revision(struct fixture *f)
{
    struct ethos_edit edit = {.key = "a.md"};
    struct script script = {.answers = {{ETHOS_EDIT_PUT, "same"}}, .seen = {"same"}};
    put_key(f, "a.md", "same");
    assert_text(f, "a.md", "same");
    int64_t mtime_ms = f->text.mtime_ms;
    assert_int_equal(do_update(f, &edit, 1, &script), ETHOS_OK);
    assert_string_equal(edit.revision, f->text.revision);
    assert_text(f, "a.md", "same");
    assert_int_equal(f->text.mtime_ms, mtime_ms);
    free_edits(f, &edit, 1);
}

static void test_update_refused_by_its_callback_changes_nothing(struct fixture *f)
{
    struct ethos_edit edits[3] = {{.key = "a.md"}, {.key = "b.md"}, {.key = "c.md"}};
    struct script script = {
        .answers = {{ETHOS_EDIT_PUT, "x"}, {ETHOS_EDIT_DROP, NULL}, {ETHOS_EDIT_PUT, "y"}},
        .seen = {"a", "b", NULL},
        .code = ETHOS_LIMIT};
    put_key(f, "a.md", "a");
    put_key(f, "b.md", "b");
    assert_int_equal(do_update(f, edits, 3, &script), ETHOS_LIMIT);
    assert_int_equal(script.calls, 1);
    assert_text(f, "a.md", "a");
    assert_text(f, "b.md", "b");
    assert_absent(f, "c.md");
    free_edits(f, edits, 3);
}

static void test_update_with_a_key_twice_is_refused(struct fixture *f)
{
    struct ethos_edit edits[3] = {{.key = "a.md"}, {.key = "b.md"}, {.key = "a.md"}};
    struct script script = {
        .answers = {{ETHOS_EDIT_PUT, "x"}, {ETHOS_EDIT_PUT, "y"}, {ETHOS_EDIT_PUT, "z"}}};
    assert_int_equal(do_update(f, edits, 3, &script), ETHOS_INVALID);
    assert_int_equal(script.calls, 0);
    assert_absent(f, "a.md");
    free_edits(f, edits, 3);
}

static void test_update_of_many_keys(struct fixture *f)
{
    enum { COUNT = 40 };
    static char keys[COUNT][16];
    struct ethos_edit edits[COUNT] = {0};
    struct script script = {0};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            snprintf(keys[i], sizeof keys[i], "k%02d.md", i);
            edits[i].key = keys[i];
        }
        // the script answers four keys; ten updates of four cover them all
        for (int i = 0; i < COUNT; i += 4) {
            for (int k = 0; k < 4; k++) {
                script.seen[k] = round ? keys[i + k] : NULL;
                script.answers[k].verdict = round ? ETHOS_EDIT_DROP : ETHOS_EDIT_PUT;
                script.answers[k].text = keys[i + k];
            }
            assert_int_equal(do_update(f, edits + i, 4, &script), ETHOS_OK);
        }
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(do_read(f, SCOPE, keys[i]), round ? ETHOS_NOTFOUND : ETHOS_OK);
    }
    free_edits(f, edits, COUNT);
}

/* ---- operation ids -------------------------------------------------------------------------- */

/* Updates one key with an operation id. */
static int do_once(struct fixture *f, const char *scope, const char *id, const char *digest,
                   struct ethos_edit *edit, struct script *script)
{
    const struct ethos_origin origin = {.op_id = id, .op_digest = digest};
    *edit = (struct ethos_edit){.key = "a.md"};
    script->fixture = f;
    int code = store_update(f->store, scope, edit, 1, play_script, script, &origin, &f->error);
    free_edits(f, edit, 1);
    return code;
}

static void assert_repeated(struct fixture *f, const struct ethos_edit *edit, const char *text,
                            const char *receipt)
{
    char revision[ETHOS_REVISION_SIZE] = "";
    if (text)
        revision_of(f, text, revision);
    assert_int_equal(edit->verdict, ETHOS_EDIT_REPEATED);
    assert_string_equal(edit->revision, revision);
    assert_string_equal(edit->receipt, receipt);
}

static void test_without_operation_ids_one_is_refused_before_anything_is_asked(struct fixture *f)
{
    struct ethos_edit edit;
    struct script script = {.answers = {{ETHOS_EDIT_PUT, "1"}}};
    require_offered(!has_once(f), "a store without operation ids");
    assert_int_equal(do_once(f, SCOPE, "op", "d", &edit, &script), ETHOS_UNSUPPORTED);
    assert_int_equal(f->error.code, ETHOS_UNSUPPORTED);
    assert_int_equal(script.calls, 0);
    assert_absent(f, "a.md");
}

static void test_a_repeated_operation_does_nothing_and_gives_the_first_answer(struct fixture *f)
{
    const struct ethos_origin origin = {.op_id = "op", .op_digest = "d"};
    struct script script = {.fixture = f,
                            .answers = {{ETHOS_EDIT_PUT, "a 2"},
                                        {ETHOS_EDIT_DROP, NULL},
                                        {ETHOS_EDIT_KEEP, NULL},
                                        {ETHOS_EDIT_KEEP, NULL}},
                            .seen = {"a 1", "b 1", "c 1", NULL},
                            .receipts = {"of a", "\"quoted\" \\ of b", "of c", NULL}};
    require_once(f);
    put_key(f, "a.md", "a 1");
    put_key(f, "b.md", "b 1");
    put_key(f, "c.md", "c 1");
    for (int i = 0; i < 3; i++) {
        struct ethos_edit edits[5] = {
            {.key = "a.md"}, {.key = "b.md"}, {.key = "c.md"}, {.key = "d.md"}, {.key = "e.md"}};
        size_t count = i == 0 ? 4 : 5;
        int calls = script.calls;
        assert_int_equal(
            store_update(f->store, SCOPE, edits, count, play_script, &script, &origin, &f->error),
            ETHOS_OK);
        free_edits(f, edits, count);
        if (i == 0) {
            assert_int_equal(edits[0].verdict, ETHOS_EDIT_PUT);
            assert_true(script.calls > 0);
        } else {
            assert_int_equal(script.calls, calls);
            assert_repeated(f, &edits[0], "a 2", "of a");
            assert_repeated(f, &edits[1], NULL, "\"quoted\" \\ of b");
            assert_repeated(f, &edits[2], "c 1", "of c");
            assert_repeated(f, &edits[3], NULL, "");
            assert_int_equal(edits[4].verdict, ETHOS_EDIT_KEEP); // no part of it
        }
        put_key(f, "a.md", "changed since");
        put_key(f, "c.md", "changed since");
    }
    assert_text(f, "a.md", "changed since");
    assert_absent(f, "b.md");
}

static void test_an_operation_id_stands_for_one_update(struct fixture *f)
{
    struct ethos_edit edit;
    struct script first = {.answers = {{ETHOS_EDIT_PUT, "1"}}};
    struct script other = {.answers = {{ETHOS_EDIT_PUT, "2"}}, .seen = {"1"}};
    require_once(f);
    assert_int_equal(do_once(f, SCOPE, "op", "d", &edit, &first), ETHOS_OK);
    assert_int_equal(do_once(f, SCOPE, "op", "e", &edit, &other), ETHOS_DENIED);
    assert_string_equal(f->error.text, "operation id used for other updates: op");
    assert_int_equal(other.calls, 0);
    assert_text(f, "a.md", "1");
    assert_int_equal(do_once(f, SCOPE, "op2", "e", &edit, &other), ETHOS_OK);
    assert_text(f, "a.md", "2");
    other.seen[0] = "2";
    assert_int_equal(do_once(f, SCOPE, "o", "e", &edit, &other), ETHOS_OK);
    assert_int_equal(other.calls, 2); // part of an id is another id
}

static void test_only_an_operation_that_changed_something_is_remembered(struct fixture *f)
{
    struct ethos_edit edit;
    struct script keep = {.seen = {"1"}};
    struct script same = {.answers = {{ETHOS_EDIT_PUT, "1"}}, .seen = {"1"}};
    struct script refused = {
        .answers = {{ETHOS_EDIT_PUT, "x"}}, .seen = {"1"}, .code = ETHOS_CONFLICT};
    struct script change = {.answers = {{ETHOS_EDIT_PUT, "2"}}, .seen = {"1"}};
    require_once(f);
    put_key(f, "a.md", "1");
    assert_int_equal(do_once(f, SCOPE, "op", "keep", &edit, &keep), ETHOS_OK);
    assert_int_equal(edit.verdict, ETHOS_EDIT_KEEP);
    assert_int_equal(do_once(f, SCOPE, "op", "same", &edit, &same), ETHOS_OK);
    assert_int_equal(do_once(f, SCOPE, "op", "refused", &edit, &refused), ETHOS_CONFLICT);
    assert_int_equal(do_once(f, SCOPE, "op", "change", &edit, &change), ETHOS_OK);
    assert_int_equal(edit.verdict, ETHOS_EDIT_PUT);
    assert_text(f, "a.md", "2");
    assert_int_equal(do_once(f, SCOPE, "op", "change", &edit, &change), ETHOS_OK);
    assert_repeated(f, &edit, "2", "");
}

static void test_operation_ids_belong_to_a_scope(struct fixture *f)
{
    struct ethos_edit edit;
    struct script first = {.answers = {{ETHOS_EDIT_PUT, "1"}}};
    struct script other = {.answers = {{ETHOS_EDIT_PUT, "2"}}};
    require_once(f);
    assert_int_equal(do_once(f, SCOPE, "op", "d", &edit, &first), ETHOS_OK);
    assert_int_equal(do_once(f, OTHER_SCOPE, "op", "e", &edit, &other), ETHOS_OK);
    assert_text(f, "a.md", "1");
    assert_bytes(f, OTHER_SCOPE, "a.md", VIEW("2"));
    assert_int_equal(do_once(f, SCOPE, "op", "d", &edit, &first), ETHOS_OK);
    assert_repeated(f, &edit, "1", "");
    assert_int_equal(do_once(f, OTHER_SCOPE, "op", "e", &edit, &other), ETHOS_OK);
    assert_repeated(f, &edit, "2", "");
}

static void test_operation_ids_survive_where_texts_do(struct fixture *f)
{
    struct ethos_edit edit;
    struct script script = {.answers = {{ETHOS_EDIT_PUT, "1"}}, .receipts = {"first"}};
    require_offered(has_once(f) && is_durable(f), "durable operation ids");
    assert_int_equal(do_once(f, SCOPE, "op", "d", &edit, &script), ETHOS_OK);
    f->store->ops->close(f->store);
    assert_int_equal(f->subject->open(f->host, &f->store, &f->error), ETHOS_OK);
    put_key(f, "a.md", "changed since");
    assert_int_equal(do_once(f, SCOPE, "op", "d", &edit, &script), ETHOS_OK);
    assert_repeated(f, &edit, "1", "first");
    assert_text(f, "a.md", "changed since");
}

static void test_an_operation_without_memory_is_not_done_and_not_remembered(struct fixture *f)
{
    struct ethos_edit edit;
    struct script script = {.answers = {{ETHOS_EDIT_PUT, "new"}}, .seen = {"old"}};
    int code = ETHOS_OK;
    require_once(f);
    put_key(f, "a.md", "old");
    MEMORY_EACH(f, n, code == ETHOS_OK)
    {
        code = do_once(f, SCOPE, "op", "d", &edit, &script);
        memory_fail_at(f, 0);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_text(f, "a.md", code == ETHOS_OK ? "new" : "old");
    }
    MEMORY_EACH(f, n, code == ETHOS_OK)
    {
        code = do_once(f, SCOPE, "op", "d", &edit, &script);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_repeated(f, &edit, "new", "");
}

/* ---- memory and life ------------------------------------------------------------------------- */

static void test_running_out_of_memory_changes_nothing(struct fixture *f)
{
    int code = ETHOS_OK;
    put_key(f, "a.md", "old a");
    MEMORY_EACH(f, n, code == ETHOS_OK)
    {
        struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
        struct script script = {.answers = {{ETHOS_EDIT_PUT, "new a"}, {ETHOS_EDIT_PUT, "new b"}},
                                .seen = {"old a", NULL}};
        code = do_update(f, edits, 2, &script);
        memory_fail_at(f, 0);
        free_edits(f, edits, 2);
        if (code != ETHOS_OK) {
            assert_int_equal(code, ETHOS_NOMEM);
            assert_text(f, "a.md", "old a");
            assert_absent(f, "b.md");
        }
    }
    assert_text(f, "a.md", "new a");
    assert_text(f, "b.md", "new b");
    MEMORY_EACH(f, n, code == ETHOS_OK)
    {
        code = do_write(f, SCOPE, "a.md", NULL, VIEW("newer a"), NULL);
        memory_fail_at(f, 0);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_text(f, "a.md", code == ETHOS_OK ? "newer a" : "new a");
    }
}

/* Uses another handle from opening to closing, with calls that succeed and fail. */
static void use_another(struct fixture *f)
{
    struct ethos_store *first = f->store;
    struct listed_keys listing = {.count = 0};
    assert_int_equal(f->subject->open(f->host, &f->store, &f->error), ETHOS_OK);
    put_key(f, "a.md", "text");
    do_write(f, SCOPE, "a.md", "absent", VIEW("x"), NULL);
    do_read(f, SCOPE, "a.md");
    do_read(f, SCOPE, "b.md");
    do_list(f, SCOPE, &listing);
    do_remove(f, "b.md", NULL);
    do_remove(f, "a.md", NULL);
    f->store->ops->close(f->store);
    f->store = first;
}

static void test_a_handle_gives_back_what_it_took(struct fixture *f)
{
    use_another(f); // allocates what all handles share
    long before = memory_blocks();
    use_another(f);
    assert_int_equal(memory_blocks(), before);
}

static void test_reading_without_memory_says_so(struct fixture *f)
{
    struct listed_keys listing;
    int code = ETHOS_OK;
    put_key(f, "a.md", "text");
    MEMORY_EACH(f, n, code == ETHOS_OK)
    {
        struct ethos_text text = {0};
        struct ethos_read_how how = {0, ETHOS_READ_REVISION};
        code = f->store->ops->read(f->store, SCOPE, "a.md", &how, &text, &f->error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        if (text.data)
            f->host->resize(f->host->arg, text.data, 0);
    }
    MEMORY_EACH(f, n, code == ETHOS_OK)
    {
        memset(&listing, 0, sizeof listing);
        code = do_list(f, SCOPE, &listing);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_int_equal(listing.count, 1);
}

static void test_opening_without_memory_says_so(struct fixture *f)
{
    int code = ETHOS_OK;
    MEMORY_EACH(f, n, code == ETHOS_OK)
    {
        struct ethos_store *store = NULL;
        code = f->subject->open(f->host, &store, &f->error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(store != NULL, code == ETHOS_OK);
        if (store)
            store->ops->close(store);
    }
}

static void test_what_is_durable_survives_closing(struct fixture *f)
{
    require_offered(is_durable(f), "durability");
    put_key(f, "a.md", "kept");
    put_key(f, "b.md", "gone");
    assert_int_equal(do_remove(f, "b.md", NULL), ETHOS_OK);
    f->store->ops->close(f->store);
    assert_int_equal(f->subject->open(f->host, &f->store, &f->error), ETHOS_OK);
    assert_text(f, "a.md", "kept");
    assert_absent(f, "b.md");
}

static void test_two_handles_see_the_same_texts(struct fixture *f)
{
    require_offered(is_durable(f), "durability");
    struct ethos_store *first = f->store, *second;
    char revision[ETHOS_REVISION_SIZE];
    assert_absent(f, "a.md");
    assert_int_equal(f->subject->open(f->host, &second, &f->error), ETHOS_OK);
    f->store = second;
    assert_int_equal(do_write(f, SCOPE, "a.md", NULL, VIEW("1"), revision), ETHOS_OK);
    f->store = first;
    assert_text(f, "a.md", "1");
    assert_int_equal(do_write(f, SCOPE, "a.md", revision, VIEW("2"), NULL), ETHOS_OK);
    f->store = second;
    assert_int_equal(do_write(f, SCOPE, "a.md", revision, VIEW("3"), NULL), ETHOS_CONFLICT);
    assert_text(f, "a.md", "2");
    second->ops->close(second);
    f->store = first;
}

static void test_paths_are_absolute_and_end_in_the_key(struct fixture *f)
{
    const struct ethos_store_ops *ops = f->store->ops;
    char path[4096] = "", tiny[8] = "kept";
    require_offered(f->store->capabilities & ETHOS_STORE_PATHS, "files");
    assert_non_null(ops->locate);
    assert_int_equal(ops->locate(f->store, SCOPE, "a.md", path, sizeof path, &f->error), ETHOS_OK);
    assert_int_equal(path[0], '/');
    assert_string_equal(path + strlen(path) - 5, "/a.md");
    assert_int_equal(ops->locate(f->store, SCOPE, "a.md", tiny, sizeof tiny, &f->error),
                     ETHOS_LIMIT);
    assert_string_equal(tiny, "kept");
}

static void count_finding(void *arg, const struct ethos_finding *finding)
{
    (void)finding;
    ++*(int *)arg;
}

static void test_a_store_used_as_intended_has_no_findings(struct fixture *f)
{
    int findings = 0;
    require_offered(f->store->ops->check, "check");
    assert_int_equal(f->store->ops->check(f->store, 0, count_finding, &findings, &f->error),
                     ETHOS_OK);
    put_key(f, "a.md", "text");
    put_key(f, "a.md", "other text");
    assert_int_equal(f->store->ops->check(f->store, 0, count_finding, &findings, &f->error),
                     ETHOS_OK);
    assert_int_equal(findings, 0);
    assert_text(f, "a.md", "other text");
}

/* ---- the rules ----------------------------------------------------------------------------------- */

const struct rule rules_store[] = {
    RULE(test_absent_text_is_not_found),
    RULE(test_what_is_written_reads_back),
    RULE(test_equal_bytes_have_equal_revisions),
    RULE(test_other_bytes_have_another_revision),
    RULE(test_empty_text_is_not_absent),
    RULE_NAMED("test_every_byte_is_kept", test_every_byte_is_stored),
    RULE_NAMED("test_a_megabyte_is_kept", test_a_megabyte_is_stored),
    RULE(test_a_text_beyond_the_limit_is_refused),
    RULE(test_scopes_are_separate),
    RULE(test_write_expects_any_absent_or_a_revision),
    RULE(test_a_wrong_expectation_is_a_conflict_and_changes_nothing),
    RULE(test_remove_takes_the_text_away),
    RULE(test_the_error_may_be_null),
    RULE(test_a_buffer_is_used_again),
    RULE(test_a_buffer_is_memory_of_the_host),
    RULE(test_a_failed_read_leaves_the_text_alone),
    RULE(test_the_revision_is_empty_unless_asked_for),
    RULE(test_a_tail_is_the_end_of_the_text),
    RULE(test_list_gives_keys_in_byte_order),
    RULE(test_list_of_an_unwritten_scope_is_empty),
    RULE(test_list_stops_when_told_to),
    RULE(test_many_keys),
    RULE(test_update_sees_the_old_and_stores_the_new),
    RULE(test_update_of_several_keys),
    RULE(test_update_that_keeps_touches_nothing),
    RULE(test_update_to_the_same_text_reports_its_revision),
    RULE(test_update_refused_by_its_callback_changes_nothing),
    RULE(test_update_with_a_key_twice_is_refused),
    RULE(test_update_of_many_keys),
    RULE(test_without_operation_ids_one_is_refused_before_anything_is_asked),
    RULE(test_a_repeated_operation_does_nothing_and_gives_the_first_answer),
    RULE(test_an_operation_id_stands_for_one_update),
    RULE(test_only_an_operation_that_changed_something_is_remembered),
    RULE(test_operation_ids_belong_to_a_scope),
    RULE(test_operation_ids_survive_where_texts_do),
    RULE(test_an_operation_without_memory_is_not_done_and_not_remembered),
    RULE(test_running_out_of_memory_changes_nothing),
    RULE(test_reading_without_memory_says_so),
    RULE(test_opening_without_memory_says_so),
    RULE(test_a_handle_gives_back_what_it_took),
    RULE(test_what_is_durable_survives_closing),
    RULE(test_two_handles_see_the_same_texts),
    RULE(test_paths_are_absolute_and_end_in_the_key),
    RULE(test_a_store_used_as_intended_has_no_findings),
};

const size_t rules_store_count = sizeof rules_store / sizeof *rules_store;

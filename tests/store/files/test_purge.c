/*
 * test_purge.c: a purged text is nowhere any more, and everything else is still there.
 */
#include "home.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/hash.h"

#define NEEDLE "SECRET"
#define HISTORY FILE_OF("memory-history.jsonl")
#define OCTOBER INT64_C(1792000000000)
#define NOVEMBER (OCTOBER + INT64_C(31) * 86400000)
#define ROTATED FILE_OF("memory-history-2026-10.jsonl")

/* ---- purging -------------------------------------------------------------------------------- */

static int purge(struct home *home, const char *needle, int dry_run, struct ethos_purge *out)
{
    struct ethos_purge unused;
    memset(&home->error, 0, sizeof home->error);
    return home->store->ops->purge(
        home->store, SCOPE,
        &(struct ethos_match){.text = view_str(needle), .flags = ETHOS_MATCH_SUBSTRING}, dry_run,
        NULL, out ? out : &unused, &home->error);
}

static void shell(struct home *home, const char *command)
{
    char line[512];
    snprintf(line, sizeof line, "cd %s && { %s; }", home->temp.path, command);
    assert_int_equal(system(line), 0);
}

/* The store again, on the tree as it is. */
static void reopen(struct home *home)
{
    home_open_at(home, ETHOS_SETUP_FAST, NOVEMBER);
}

/* ---- what was there ------------------------------------------------------------------------- */

/* Every change, with both its texts. */
struct record {
    uint64_t number;
    char key[32];
    bool seen;            /* it changed nothing, and after is a text that was met */
    char *before, *after; /* NULL: absent */
};

struct records {
    struct home *home;
    size_t count;
    struct record rows[64];
};

static char *version(struct home *home, const char *key, const char *revision)
{
    char real[ETHOS_REVISION_SIZE];
    if (strcmp(revision, "absent") == 0)
        return NULL;
    int code = home->store->ops->version(home->store, SCOPE, key, revision, &home->text,
                                         &home->error);
    if (code != ETHOS_OK)
        fail_msg("%s", home->error.text);
    hash_revision(view_of(home->text.data, home->text.size), real);
    assert_string_equal(real, revision);
    return strdup(home->text.data);
}

static int note(void *arg, const struct ethos_change *change)
{
    struct records *records = arg;
    struct record *row = &records->rows[records->count++];
    assert_true(records->count <= 64);
    row->number = change->number;
    snprintf(row->key, sizeof row->key, "%s", change->key);
    row->seen = change->via && strcmp(change->via, "seen") == 0;
    row->before = version(records->home, change->key, change->before);
    row->after = version(records->home, change->key, change->after);
    return 0;
}

/* Newest first; each version is readable. */
static struct records records_of(struct home *home, const char *key)
{
    struct records records = {.home = home};
    assert_int_equal(
        home->store->ops->history(home->store, SCOPE, key, note, &records, &home->error), ETHOS_OK);
    return records;
}

static void release(struct records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        free(records->rows[i].before);
        free(records->rows[i].after);
    }
}

/* What must be left of a text. */
static char *cleansed(const char *text)
{
    if (!text || !strstr(text, NEEDLE))
        return text ? strdup(text) : NULL;
    char *out = calloc(1, strlen(text) + 2), *copy = strdup(text), *rest = copy, *line;
    size_t size = 0;
    while ((line = strsep(&rest, "\n"))) {
        if (strstr(line, NEEDLE))
            continue;
        memcpy(out + size, line, strlen(line));
        size += strlen(line);
        out[size++] = '\n';
    }
    while (size > 0 && out[size - 1] == '\n')
        out[--size] = 0;
    out[size] = '\n';
    free(copy);
    return out;
}

static void assert_same(const char *a, const char *b)
{
    if (!a || !b)
        assert_true(a == b);
    else
        assert_string_equal(a, b);
}

static void assert_cleansed(const char *now, const char *then)
{
    char *expected = cleansed(then);
    assert_same(now, expected);
    free(expected);
}

/* ---- a scope with a past -------------------------------------------------------------------- */

static char long_text[32768];

static const char *make_long(const char *middle)
{
    size_t size = 0;
    for (int i = 0; i < 400; i++)
        size += (size_t)snprintf(long_text + size, sizeof long_text - size, "line %d of many\n%s",
                                 i * (int)strlen(middle), i == 200 ? middle : "");
    return long_text;
}

static int set_text(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)count, (void)error;
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(arg);
    return ETHOS_OK;
}

static enum ethos_verdict write_once(struct home *home, const char *id, const char *text)
{
    const struct ethos_origin origin = {
        .op_id = id, .op_digest = "d", .session_key = "a SECRETary"};
    struct ethos_edit edit = {.key = "a.md"};
    char copy[128];
    snprintf(copy, sizeof copy, "%s", text);
    int code = home->store->ops->update(home->store, SCOPE, &edit, 1, set_text, copy, &origin,
                                        &home->error);
    assert_int_equal(code, ETHOS_OK);
    free(edit.old.data);
    return edit.verdict;
}

static int keep_id(void *arg, const struct ethos_conflict *conflict)
{
    snprintf(arg, 256, "%s", conflict->id);
    return 0;
}

static void put(struct home *home, const char *key, const char *text)
{
    assert_int_equal(home_write(home, SCOPE, key, text), ETHOS_OK);
}

/* A text that was set aside and then dropped stays as one that was seen. */
static void make_seen(struct home *home, const char *text)
{
    const struct ethos_store_ops *ops = home->store->ops;
    char id[256] = "";
    assert_int_equal(ops->set_aside(home->store, SCOPE, "a.md", view_str(text), NULL), ETHOS_OK);
    assert_int_equal(ops->conflicts(home->store, SCOPE, keep_id, id, NULL), ETHOS_OK);
    assert_int_equal(ops->conflict_drop(home->store, SCOPE, id, NULL), ETHOS_OK);
}

/* Over two history files, with a change that crosses them. */
static void make_past(struct home *home)
{
    home_open_at(home, ETHOS_SETUP_FAST, OCTOBER);
    put(home, "a.md", "keep\n");
    put(home, "b.md", "harmless  \n\n");
    assert_int_equal(write_once(home, "first", "keep\nthe SECRET\n"), ETHOS_EDIT_PUT);
    put(home, "c.md", "SECRET\n");
    assert_int_equal(home_remove(home, SCOPE, "c.md"), ETHOS_OK);
    put(home, "a.md", "keep\nthe SECRET\nmore\n");
    home_open_at(home, ETHOS_SETUP_FAST, NOVEMBER);
    put(home, "a.md", "keep\nthe SECRET\nmore\nand more\n");
    assert_int_equal(write_once(home, "second", "keep\nthe SECRET\nand more\n"), ETHOS_EDIT_PUT);
    put(home, "memory-archive.md", "old\na SECRET of old\n");
    assert_true(home_exists(home, ROTATED));
}

/* The same, and what else a scope can keep. */
static void make_rich_past(struct home *home)
{
    make_past(home);
    put(home, "long.md", make_long(""));
    put(home, "long.md", make_long("a SECRET line\n"));
    put(home, "long.md", make_long("none\n"));
    make_seen(home, "seen\nSECRET\n");
    put(home, "bytes.md", "caf\xe9\nSECRET \xff\n");
    put(home, "bytes.md", "caf\xe9\r\n");
    assert_int_equal(
        home->store->ops->set_aside(home->store, SCOPE, "a.md", VIEW("mine\nSECRET\n"), NULL),
        ETHOS_OK);
    home_put(home, FILE_OF("b.md"), "harmless\nedited, SECRETly\n");
    home_put(home, FILE_OF("new.md"), "never written by us: SECRET\nok\n");
}

/* ---- what must hold afterwards -------------------------------------------------------------- */

static void assert_nowhere(struct home *home)
{
    // The key of a session is no text of the memory.
    shell(home, "! grep -rn " NEEDLE " home | sed 's/a SECRETary//' | grep " NEEDLE);
}

/* Each change starts where the one before it ended, and the last one ends in the text. */
static void assert_chain(struct home *home, const char *key)
{
    struct records now = records_of(home, key);
    const char *text = home_read(home, SCOPE, key) == ETHOS_OK ? home->text.data : NULL;
    for (size_t i = 0; i < now.count; i++) {
        assert_same(now.rows[i].seen ? now.rows[i].before : now.rows[i].after, text);
        text = now.rows[i].before;
    }
    release(&now);
}

/* All the changes of then are there, and lead from what is left of a text to what is left. */
static void assert_history(struct home *home, const struct records *then)
{
    struct records now = records_of(home, NULL);
    for (size_t i = 0; i < then->count; i++) {
        size_t k = 0;
        while (k < now.count && now.rows[k].number != then->rows[i].number)
            k++;
        assert_true(k < now.count);
        assert_string_equal(now.rows[k].key, then->rows[i].key);
        assert_cleansed(now.rows[k].before, then->rows[i].before);
        assert_cleansed(now.rows[k].after, then->rows[i].after);
    }
    release(&now);
}

static void count_finding(void *arg, const struct ethos_finding *finding)
{
    if (!strstr(finding->problem, "conflict") && !strstr(finding->problem, "UTF-8"))
        ++*(size_t *)arg;
}

static void assert_sound(struct home *home, const struct records *then)
{
    static const char *const keys[] = {"a.md", "b.md", "c.md", "memory-archive.md", "long.md"};
    size_t findings = 0;
    struct ethos_purge left;
    assert_nowhere(home);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_chain(home, keys[i]);
    assert_history(home, then);
    assert_int_equal(write_once(home, "first", "unused"), ETHOS_EDIT_REPEATED);
    assert_int_equal(write_once(home, "second", "unused"), ETHOS_EDIT_REPEATED);
    assert_reads(home, "a.md", "keep\nand more\n");
    assert_reads(home, "memory-archive.md", "old\n");
    assert_int_equal(home->store->ops->check(home->store, 0, count_finding, &findings, NULL),
                     ETHOS_OK);
    assert_int_equal(findings, 0);
    assert_int_equal(purge(home, NEEDLE, 0, &left), ETHOS_OK);
    assert_int_equal(left.lines + left.versions + left.blobs + left.conflicts, 0);
    assert_no_litter(home);
}

/* ---- what is purged ------------------------------------------------------------------------- */

static void test_a_purged_text_is_nowhere_and_every_version_is_readable_without_it(void **state)
{
    struct home *home = *state;
    struct ethos_purge counted, done;
    make_rich_past(home);
    struct records then = records_of(home, NULL);
    assert_int_equal(purge(home, NEEDLE, 1, &counted), ETHOS_OK);
    assert_int_equal(purge(home, NEEDLE, 0, &done), ETHOS_OK);
    assert_memory_equal(&counted, &done, sizeof done);
    assert_int_equal(done.lines, 4);
    assert_int_equal(done.versions, 12);
    assert_int_equal(done.conflicts, 1);
    assert_int_equal(done.blobs, 3);
    assert_sound(home, &then);
    assert_reads(home, "b.md", "harmless\n");
    assert_reads(home, "new.md", "ok\n");
    assert_reads(home, "bytes.md", "caf\xe9\r\n");
    release(&then);
}

/* ---- whatever happened ---------------------------------------------------------------------- */

static unsigned long long seed = 3;

static unsigned pick(unsigned below)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(seed >> 33) % below;
}

enum { ROOM = 32768 };

/* So many lines that a change to them is not in the line of history. */
static void begin_anew(char *text, int number)
{
    size_t size = 0;
    for (int i = 0; i < 300; i++)
        size += (size_t)snprintf(text + size, ROOM - size, "line %d of text %d\n", i, number);
}

/* Most changes append; some put a line in the middle, take the last ones away or begin anew. */
static void change_text(char text[ROOM], int number)
{
    char line[64], rest[ROOM];
    size_t length = strlen(text);
    unsigned kind = pick(10);
    char *at = text + length;
    if (kind == 5 || kind == 6)
        begin_anew(text, number);
    if (kind > 6 && length > 0)
        at = strchr(text + pick((unsigned)length), '\n') + 1;
    if (kind == 9)
        *at = 0;
    if (kind == 5 || kind == 6 || length > ROOM - 1000)
        return;
    snprintf(line, sizeof line, "%s%d\n", pick(3) ? "line " : "a " NEEDLE " ", number);
    snprintf(rest, sizeof rest, "%s", at);
    snprintf(at, ROOM - (size_t)(at - text), "%s%s", line, rest);
}

static void test_random_changes_of_several_keys_lose_only_the_lines(void **state)
{
    static const char *const keys[] = {"a.md", "b.md", "c.md"};
    static char texts[3][ROOM];
    struct home *home = *state;
    unsigned key = 0;
    for (int round = 0; round < 20; round++) {
        memset(texts, 0, sizeof texts);
        shell(home, "rm -rf home");
        home_open_at(home, ETHOS_SETUP_FAST, OCTOBER);
        for (int i = 0; i < 50; i++) {
            key = pick(4) ? key : pick(3);
            if (i == 30)
                home_open_at(home, ETHOS_SETUP_FAST, NOVEMBER);
            if (texts[key][0] && pick(12) == 0) {
                assert_int_equal(home_remove(home, SCOPE, keys[key]), ETHOS_OK);
                texts[key][0] = 0;
                continue;
            }
            change_text(texts[key], i);
            put(home, keys[key], texts[key]);
        }
        struct records then = records_of(home, NULL);
        assert_int_equal(purge(home, NEEDLE, 0, NULL), ETHOS_OK);
        assert_nowhere(home);
        assert_history(home, &then);
        for (size_t i = 0; i < 3; i++)
            assert_chain(home, keys[i]);
        release(&then);
    }
}

static void test_a_text_that_was_seen_stays_readable_without_the_lines(void **state)
{
    struct home *home = *state;
    char revision[ETHOS_REVISION_SIZE];
    make_rich_past(home);
    assert_int_equal(purge(home, NEEDLE, 0, NULL), ETHOS_OK);
    hash_revision(VIEW("seen\n"), revision);
    char *text = version(home, "a.md", revision);
    assert_string_equal(text, "seen\n");
    free(text);
}

static void test_a_conflict_copy_keeps_its_id_and_loses_the_lines(void **state)
{
    struct home *home = *state;
    char before[256] = "", after[256] = "";
    make_rich_past(home);
    home_put(home, FILE_OF("a.sync-conflict-20261115-080000-ABCDEFG.md"), "SECRET of another\n");
    shell(home, "mv " DIR_OF_SCOPE "/*sync-conflict* ."); // listed first, and not ours
    home->store->ops->conflicts(home->store, SCOPE, keep_id, before, NULL);
    shell(home, "cp *sync-conflict* " DIR_OF_SCOPE);
    assert_int_equal(purge(home, NEEDLE, 0, NULL), ETHOS_OK);
    assert_file(home, FILE_OF("a.sync-conflict-20261115-080000-ABCDEFG.md"), "\n");
    home->store->ops->conflicts(home->store, SCOPE, keep_id, after, NULL);
    assert_string_equal(before, after);
    assert_int_equal(
        home->store->ops->conflict_read(home->store, SCOPE, after, &home->text, &home->error),
        ETHOS_OK);
    assert_string_equal(home->text.data, "mine\n");
}

static void test_lines_that_tell_of_other_texts_stay_to_the_byte(void **state)
{
    struct home *home = *state;
    make_past(home);
    shell(home, "grep -h '\"key\":\"b.md\"' " ROTATED " >before");
    assert_int_equal(fchmodat(home->temp.fd, ROTATED, 0640, 0), 0);
    assert_int_equal(purge(home, NEEDLE, 0, NULL), ETHOS_OK);
    shell(home, "grep -h '\"key\":\"b.md\"' " ROTATED " | cmp - before");
    assert_mode(home, ROTATED, 0640);
    assert_mode(home, HISTORY, 0600);
}

static void test_what_cannot_be_rebuilt_loses_its_diff(void **state)
{
    struct home *home = *state;
    make_past(home);
    put(home, "d.md", "one\n");
    put(home, "d.md", "one\nSECRET\n");
    shell(home, "sed -i '/\"key\":\"d.md\".*\"absentBefore\":true/d' " HISTORY);
    shell(home, "grep -q 'd.md.*+SECRET' " HISTORY);
    struct ethos_purge done;
    assert_int_equal(purge(home, NEEDLE, 0, &done), ETHOS_OK);
    assert_nowhere(home);
    shell(home, "grep -q '\"key\":\"d.md\".*\"diff\":\"\"' " HISTORY);
    assert_reads(home, "d.md", "one\n");
}

static void test_a_damaged_line_that_holds_it_goes_and_others_stay(void **state)
{
    struct home *home = *state;
    make_past(home);
    struct records then = records_of(home, NULL);
    shell(home, "printf 'not a record\\n{\"half\":\"a \\\\\"SECRET' >odd; "
                "{ cat odd; echo; cat " HISTORY "; } >h && cat h >" HISTORY);
    assert_int_equal(purge(home, NEEDLE, 0, NULL), ETHOS_OK);
    shell(home, "grep -qx 'not a record' " HISTORY " && ! grep -q half " HISTORY);
    assert_nowhere(home);
    assert_history(home, &then);
    release(&then);
}

static void test_lines_of_another_program_are_purged_too(void **state)
{
    static const char line[] =
        "{\"ts\":1791999999000.5,\"scopeId\":\"personality:p\",\"key\":\"a.md\",\"actions\":"
        "[\"add\"],\"source\":\"tool\",\"beforeHash\":\"%s\",\"afterHash\":\"%s\",\"diff\":"
        "\"Index: a.md\\n===\\n--- a.md\\t\\n+++ a.md\\t\\n@@ -0,0 +1,2 @@\\n+keep\\n+SECRET\\n\","
        "\"sizeBefore\":0,\"sizeAfter\":12}\n";
    struct home *home = *state;
    struct ethos_purge done;
    char text[1024], before[ETHOS_REVISION_SIZE], after[ETHOS_REVISION_SIZE];
    hash_revision(VIEW(""), before);
    hash_revision(VIEW("keep\nSECRET\n"), after);
    snprintf(text, sizeof text, line, before, after);
    home_put(home, HISTORY, text);
    home_put(home, FILE_OF("a.md"), "keep\nSECRET\n");
    reopen(home);
    assert_int_equal(purge(home, NEEDLE, 0, &done), ETHOS_OK);
    assert_int_equal(done.lines, 1);
    assert_int_equal(done.versions, 1);
    assert_nowhere(home);
    assert_chain(home, "a.md");
    struct records now = records_of(home, "a.md");
    assert_int_equal(now.count, 2);
    assert_string_equal(now.rows[1].after, "keep\n");
    release(&now);
}

/* ---- what is not ---------------------------------------------------------------------------- */

static void test_needles_that_are_no_part_of_a_line_are_refused(void **state)
{
    static const char *const needles[] = {"", " ", "\t \r", "a\nb", "\n"};
    struct home *home = *state;
    make_past(home);
    for (size_t i = 0; i < sizeof needles / sizeof *needles; i++)
        assert_int_equal(purge(home, needles[i], 0, NULL), ETHOS_INVALID);
    struct ethos_purge unused;
    assert_int_equal(home->store->ops->purge(home->store, SCOPE,
                                             &(struct ethos_match){.text = (struct ethos_view){0},
                                                                   .flags = ETHOS_MATCH_SUBSTRING},
                                             0, NULL, &unused, NULL),
                     ETHOS_INVALID);
}

/* Names, sizes, times, inodes and bytes of everything. */
static void snapshot(struct home *home, const char *name)
{
    char command[256];
    snprintf(
        command, sizeof command,
        "{ find home -printf '%%p %%s %%T@ %%C@ %%i\\n' | sort; find home -type f | sort | xargs "
        "-r cat; } >%s",
        name);
    shell(home, command);
}

static void assert_untouched(struct home *home, const char *needle, int dry_run, bool found)
{
    struct ethos_purge counted;
    snapshot(home, "before");
    assert_int_equal(purge(home, needle, dry_run, &counted), ETHOS_OK);
    assert_int_equal(counted.lines + counted.versions + counted.blobs + counted.conflicts > 0,
                     found);
    snapshot(home, "after");
    shell(home, "cmp before after");
}

static void test_counting_and_finding_nothing_write_nothing(void **state)
{
    struct home *home = *state;
    assert_int_equal(purge(home, NEEDLE, 0, NULL), ETHOS_OK);
    assert_false(home_exists(home, "home"));
    make_rich_past(home);
    assert_untouched(home, NEEDLE, 1, true);
    assert_untouched(home, "nobody wrote this", 0, false);
    assert_untouched(home, "a.md", 0, false);      // a key is no line
    assert_untouched(home, "SECRETary", 0, false); // nor is a session
}

/* ---- interruptions -------------------------------------------------------------------------- */

/* Does something at the nth call; close is left out where it would fail, since it never does. */
struct nth {
    unsigned number;
    int errnum; /* 0: the process ends */
    bool hit;
};

static int act(void *arg, const char *call, unsigned long number)
{
    struct nth *nth = arg;
    (void)number;
    if ((nth->errnum && strcmp(call, "close") == 0) || nth->number == 0 || --nth->number > 0)
        return 0;
    nth->hit = true;
    if (nth->errnum == 0)
        _exit(77);
    return nth->errnum;
}

/* One purge in a process of its own that ends before call n; false when it has no such call. */
static bool die(struct home *home, unsigned n)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct nth nth = {.number = n};
        os_hook(act, &nth);
        _exit(purge(home, NEEDLE, 0, NULL) == ETHOS_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
    return WEXITSTATUS(status) == 77;
}

static void restore(struct home *home)
{
    shell(home, "rm -rf home && cp -a scene home");
    reopen(home);
}

/* What holds at any moment: the history leads to every version, with the lines or without. */
static void assert_readable(struct home *home, const struct records *then)
{
    struct records now = records_of(home, NULL);
    assert_true(now.count >= then->count);
    release(&now);
}

static void test_a_purge_that_was_killed_at_any_call_is_finished_by_the_next(void **state)
{
    struct home *home = *state;
    make_past(home);
    struct records then = records_of(home, NULL);
    shell(home, "cp -a home scene");
    unsigned n = 1,
             step = getenv("CHECK_LONG") ? 1 : 7; // calls are much the same as their neighbours
    for (restore(home); die(home, n); n += step, restore(home)) {
        assert_readable(home, &then);
        assert_int_equal(purge(home, NEEDLE, 0, NULL), ETHOS_OK);
        assert_sound(home, &then);
    }
    assert_sound(home, &then);
    assert_true(n > 200);
    release(&then);
}

static void test_a_call_that_fails_is_noticed_and_the_next_purge_ends_well(void **state)
{
    struct home *home = *state;
    struct nth nth = {.hit = true};
    unsigned n = 1, step = getenv("CHECK_LONG") ? 1 : 11;
    make_past(home);
    struct records then = records_of(home, NULL);
    shell(home, "cp -a home scene");
    for (; nth.hit; n += step) {
        restore(home);
        nth = (struct nth){.number = n, .errnum = EIO};
        os_hook(act, &nth);
        int code = purge(home, NEEDLE, 0, NULL);
        os_hook(NULL, NULL);
        if (code == ETHOS_OK)
            assert_nowhere(home);
        assert_readable(home, &then);
        assert_int_equal(purge(home, NEEDLE, 0, NULL), ETHOS_OK);
        assert_nowhere(home);
        assert_history(home, &then);
        assert_reads(home, "a.md", "keep\nand more\n");
    }
    assert_true(n > 200);
    release(&then);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HOME_TEST(test_a_purged_text_is_nowhere_and_every_version_is_readable_without_it),
        HOME_TEST(test_random_changes_of_several_keys_lose_only_the_lines),
        HOME_TEST(test_a_text_that_was_seen_stays_readable_without_the_lines),
        HOME_TEST(test_a_conflict_copy_keeps_its_id_and_loses_the_lines),
        HOME_TEST(test_lines_that_tell_of_other_texts_stay_to_the_byte),
        HOME_TEST(test_what_cannot_be_rebuilt_loses_its_diff),
        HOME_TEST(test_a_damaged_line_that_holds_it_goes_and_others_stay),
        HOME_TEST(test_lines_of_another_program_are_purged_too),
        HOME_TEST(test_needles_that_are_no_part_of_a_line_are_refused),
        HOME_TEST(test_counting_and_finding_nothing_write_nothing),
        HOME_TEST(test_a_purge_that_was_killed_at_any_call_is_finished_by_the_next),
        HOME_TEST(test_a_call_that_fails_is_noticed_and_the_next_purge_ends_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

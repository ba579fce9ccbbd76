/*
 * test_hostile.c: a history, an index and temporaries that somebody else has written, and
 * files that move at the worst moment. Whatever stands there, writes go on, no line of the history
 * is lost that was whole, and no operation is answered as done without its text.
 */
#include "protocol.h"

#include <sys/wait.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/history/history.h"

#define ALIEN "aaaaaaaaaaaa" /* a transaction nobody made */
#define NO_HASH "sha256:0000000000000000000000000000000000000000000000000000000000000000"
#define ANY_HASH "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define MOST_NUMBER 9223372036854775807ULL

#define CLOCK_STEP_MS 20 /* times of files go by steps of a kernel tick; no person is that fast */

/* ---- lines made by hand --------------------------------------------------------------------- */

static void append_to(struct home *home, const char *path, const char *text)
{
    int fd = openat(home->temp.fd, path, O_WRONLY | O_APPEND);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* A change of a key that never was, alone in its append by its own word. */
static struct history_record alien_record(const char *key, uint64_t seq)
{
    return (struct history_record){
        .ts_ms = os_now_ms(),
        .scope = VIEW(SCOPE),
        .key = view_str(key),
        .actions = VIEW("add"),
        .source = VIEW("tool"),
        .before_hash = VIEW(NO_HASH),
        .after_hash = VIEW(ANY_HASH),
        .diff = VIEW(""),
        .txn_id = VIEW(ALIEN),
        .txn_index = 1,
        .txn_count = 1,
        .seq = seq,
    };
}

static void append_record(struct home *home, const struct history_record *record)
{
    struct str line;
    str_init(&line, SIZE_MAX);
    assert_int_equal(history_print(record, &line), ETHOS_OK);
    append_to(home, HISTORY, line.data);
    str_release(&line);
}

typedef void change_record_fn(struct history_record *record);

/* Changes the last line of the history and gives it a crc that fits. */
static void rewrite_last(struct home *home, change_record_fn *change)
{
    struct arena arena;
    struct str text;
    struct history_record record;
    char *old = history_now(home);
    size_t size = strlen(old);
    assert_true(size > 1 && old[size - 1] == '\n');
    old[size - 1] = 0;
    char *last = strrchr(old, '\n') ? strrchr(old, '\n') + 1 : old;
    arena_init(&arena);
    str_init(&text, SIZE_MAX);
    str_add(&text, view_of(old, (size_t)(last - old)));
    assert_int_equal(history_parse(view_str(last), &arena, &record), ETHOS_OK);
    change(&record);
    assert_int_equal(history_print(&record, &text), ETHOS_OK);
    temp_write(&home->temp, HISTORY, text.data);
    str_release(&text);
    arena_release(&arena);
    free(old);
}

/* Nothing that stood in the history is gone. */
static void assert_begins(struct home *home, const char *before)
{
    char *now = history_now(home);
    size_t same = 0, line = 1;
    for (; before[same] && before[same] == now[same]; same++)
        line += before[same] == '\n';
    free(now);
    if (before[same])
        fail_msg("line %zu of the history is no longer what it was", line);
}

static size_t count_in(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* How often a part stands in a file. */
static size_t count_of(struct home *home, const char *path, const char *part)
{
    char *text = temp_read(&home->temp, path, NULL);
    size_t count = text ? count_in(text, part) : 0;
    free(text);
    return count;
}

static int keep_conflict(void *arg, const struct ethos_conflict *conflict)
{
    (void)conflict;
    ++*(int *)arg;
    return 0;
}

static int count_conflicts(struct home *home)
{
    int count = 0;
    home->store->ops->conflicts(home->store, SCOPE, keep_conflict, &count, NULL);
    return count;
}

/* ---- operations ----------------------------------------------------------------------------- */

/* Adds the entry to every key. */
static int add_to_all(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    static char texts[3][8192];
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const char *old = edits[i].old.data;
        snprintf(texts[i], sizeof texts[i], "%s%s%s\n", old ? old : "", old && *old ? "\n" : "",
                 (const char *)arg);
        edits[i].verdict = ETHOS_EDIT_PUT;
        edits[i].text = view_str(texts[i]);
        edits[i].actions = "add";
    }
    return ETHOS_OK;
}

/* Adds an entry to the first keys of a.md, b.md, once per id; *out_repeated may be NULL. */
static int operate(struct home *home, const char *op_id, const char *entry, size_t keys,
                   bool *out_repeated)
{
    const struct ethos_origin origin = {.op_id = op_id, .op_digest = "d"};
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    char copy[64];
    snprintf(copy, sizeof copy, "%s", entry);
    int code = update_by(home, edits, keys, add_to_all, copy, &origin);
    if (out_repeated)
        *out_repeated = edits[0].verdict == ETHOS_EDIT_REPEATED;
    return code;
}

/* The same operation twice: the second time it is known. */
static void assert_once(struct home *home, const char *op_id, const char *entry)
{
    for (int i = 0; i < 2; i++) {
        bool repeated;
        assert_int_equal(operate(home, op_id, entry, 1, &repeated), ETHOS_OK);
        assert_int_equal(repeated, i == 1);
        assert_int_equal(count_of(home, FILE_OF("a.md"), entry), 1);
    }
}

static size_t count_voids(struct home *home)
{
    return count_of(home, HISTORY, "\"voids\":[");
}

/* ---- lines that lie about their transaction ------------------------------------------------- */

/* Many keys under one transaction which says that it has one line, or far too many. */
static void claim_lines(struct home *home, unsigned count)
{
    add(home, "first");
    add(home, "second");
    char *before = history_now(home);
    for (unsigned i = 0; i < 200; i++) {
        char key[32];
        snprintf(key, sizeof key, "k%u.md", i);
        struct history_record record = alien_record(i ? key : "a.md", 100 + i);
        record.txn_count = count;
        append_record(home, &record);
    }
    struct history_record whole = alien_record("other.md", 300); // else they look unfinished
    whole.txn_id = VIEW("bbbbbbbbbbbb");
    append_record(home, &whole);
    home_put(home, TMP "/a.md." ALIEN ".new", "foo\n");
    add(home, "third");
    assert_int_equal(count_of(home, FILE_OF("a.md"), "third"), 1);
    assert_begins(home, before);
    assert_int_equal(count_of(home, HISTORY, ALIEN), 200);
    assert_int_equal(read_version(home, "first\n\nsecond\n"), ETHOS_OK);
    assert_true(count_of(home, FILE_OF("a.md"), "foo") == 1 || count_conflicts(home) == 1);
    add(home, "fourth");
    assert_no_litter(home);
    free(before);
}

static void test_a_transaction_with_more_keys_than_it_says_is_no_harm(void **state)
{
    claim_lines(*state, 1);
}

static void test_a_transaction_that_says_it_has_billions_of_lines_is_no_harm(void **state)
{
    claim_lines(*state, 4294967295U);
}

static void test_a_line_of_others_cuts_nothing_off(void **state)
{
    struct home *home = *state;
    add(home, "first");
    add(home, "second");
    append_to(home, HISTORY,
              "{\"ts\":1794743729640,\"scopeId\":\"" SCOPE "\",\"key\":\"a.md\","
              "\"source\":\"tool\",\"txn\":\"zz/100000/100000\"}\n");
    char *before = history_now(home);
    add(home, "third");
    assert_begins(home, before);
    assert_int_equal(count_of(home, FILE_OF("a.md"), "third"), 1);
    assert_int_equal(read_version(home, "first\n"), ETHOS_OK);
    assert_int_equal(read_version(home, "first\n\nsecond\n"), ETHOS_OK);
    free(before);
}

/* Spoils one digit of the last `lines` lines. */
static void spoil_lines(struct home *home, size_t lines)
{
    char *text = history_now(home), *at = text + strlen(text);
    for (size_t i = 0; i < lines; i++) {
        at--;
        while (at > text && at[-1] != '\n')
            at--;
        char *digit = strstr(at, "\"ts\":") + 5;
        *digit = *digit == '9' ? '8' : (char)(*digit + 1);
    }
    temp_write(&home->temp, HISTORY, text);
    free(text);
}

static void test_of_many_lines_that_are_spoilt_only_the_last_append_is_cut_off(void **state)
{
    struct home *home = *state;
    char text[32];
    for (int i = 0; i < 12; i++) {
        snprintf(text, sizeof text, "text %d\n", i);
        put(home, text);
    }
    spoil_lines(home, 10);
    char *before = history_now(home), *last = before + strlen(before) - 1;
    while (last > before && last[-1] != '\n')
        last--;
    *last = 0;
    put(home, "next\n");
    assert_begins(home, before);
    assert_file(home, FILE_OF("a.md"), "next\n");
    assert_int_equal(read_version(home, "text 1\n"), ETHOS_OK);
    assert_int_equal(read_version(home, "text 11\n"), ETHOS_OK); // it stood in the file
    assert_int_equal(read_version(home, "next\n"), ETHOS_OK);
    free(before);
}

/* ---- numbers and times beyond reason -------------------------------------------------------- */

static void set_most_seq(struct history_record *record)
{
    record->seq = MOST_NUMBER;
}

static void test_a_number_that_cannot_grow_does_not_end_operations(void **state)
{
    struct home *home = *state;
    add(home, "first");
    add(home, "second");
    rewrite_last(home, set_most_seq);
    assert_once(home, "op-1", "alpha");
    assert_int_equal(unlinkat(home->temp.fd, INDEX, 0), 0);
    assert_once(home, "op-2", "beta");
    add(home, "last");
    assert_int_equal(count_voids(home), 0);
    assert_int_equal(read_version(home, "first\n"), ETHOS_OK);
}

/* The header of the index with another seq. */
static void forge_index(struct home *home, const char *seq)
{
    char *text = temp_read(&home->temp, INDEX, NULL), place[32], check[32], forged[8192];
    assert_non_null(text);
    assert_int_equal(sscanf(text, "ethos-index 2 %31s %31s", place, check), 2);
    const char *rest = strchr(text, '\n');
    assert_non_null(rest);
    snprintf(forged, sizeof forged, "ethos-index 2 %s %s %s %lld%s", place, check, seq,
             (long long)os_now_ms(), rest);
    temp_write(&home->temp, INDEX, forged);
    free(text);
}

static void test_an_index_with_a_number_that_cannot_grow_does_not_end_operations(void **state)
{
    static const char *const numbers[] = {"9223372036854775807", "18446744073709551615"};
    struct home *home = *state;
    for (size_t i = 0; i < 2; i++) {
        add(home, "first");
        forge_index(home, numbers[i]);
        assert_once(home, "op-1", "alpha");
        assert_once(home, "op-2", "beta");
        assert_int_equal(count_voids(home), 0);
        empty_home(home);
    }
}

static void set_far_future(struct history_record *record)
{
    record->ts_ms += 4 * 365 * 86400000LL;
}

static void test_a_revert_is_a_persons_also_after_a_line_from_the_future(void **state)
{
    struct home *home = *state;
    add(home, "first");
    add(home, "second");
    rewrite_last(home, set_far_future);
    assert_int_equal(unlinkat(home->temp.fd, INDEX, 0), 0);
    add(home, "third");
    save(home, "first\n\nsecond\n");
    assert_int_equal(home_write(home, SCOPE, "b.md", "b\n"), ETHOS_OK);
    look(home, "a.md");
    assert_int_equal(count_voids(home), 0);
    assert_line(home, 1, "actor", "external");
    assert_line(home, 1, "key", "a.md");
    assert_file(home, FILE_OF("a.md"), "first\n\nsecond\n");
    assert_int_equal(read_version(home, "first\n\nsecond\n\nthird\n"), ETHOS_OK);
    add(home, "fourth");
    assert_sound(home);
}

/* ---- the end of the file -------------------------------------------------------------------- */

static void test_a_last_line_without_its_end_is_kept_and_its_operation_known(void **state)
{
    struct home *home = *state;
    bool repeated;
    add(home, "first");
    assert_int_equal(operate(home, "last", "agent", 1, NULL), ETHOS_OK);
    char *before = history_now(home), *cut = strdup(before);
    assert_non_null(cut);
    cut[strlen(cut) - 1] = 0;
    temp_write(&home->temp, HISTORY, cut);
    assert_int_equal(operate(home, "last", "agent", 1, &repeated), ETHOS_OK);
    assert_true(repeated);
    assert_file(home, FILE_OF("a.md"), "first\n\nagent\n");
    add(home, "next");
    assert_begins(home, before);
    assert_int_equal(count_lines(home), 3);
    assert_sound(home);
    free(before);
    free(cut);
}

/* ---- names in the folder of temporaries ----------------------------------------------------- */

enum kind { TEXT, EMPTY, FOLDER, LINK, DEAD_LINK, PIPE, KINDS };

static void plant(struct home *home, enum kind kind, const char *name)
{
    char path[512];
    int fd = home->temp.fd;
    snprintf(path, sizeof path, TMP "/%s", name);
    home_mkdir(home, TMP);
    if (kind == TEXT || kind == EMPTY)
        temp_write(&home->temp, path, kind == TEXT ? "alien\n" : "");
    else if (kind == FOLDER)
        assert_int_equal(mkdirat(fd, path, 0700), 0);
    else if (kind == PIPE)
        assert_int_equal(mkfifoat(fd, path, 0600), 0);
    else
        home_link(home, kind == LINK ? "../../memory-history.jsonl" : "nowhere", path);
}

/* Writes go on, and nothing happened to history or file. */
static void assert_harmless(struct home *home, enum kind kind, const char *name)
{
    struct ethos_edit edit = {.key = "a.md"};
    char entry[] = "agent";
    char *before = history_now(home);
    plant(home, kind, name);
    if (update(home, &edit, 1, add_entry, entry) != ETHOS_OK)
        fail_msg("kind %d, %s: %s", (int)kind, name, home->error.text);
    if (count_of(home, FILE_OF("a.md"), "agent") != 1 ||
        !S_ISREG(home_stat(home, FILE_OF("a.md")).st_mode))
        fail_msg("kind %d, %s: became the file", (int)kind, name);
    assert_begins(home, before);
    assert_true(S_ISREG(home_stat(home, HISTORY).st_mode));
    assert_int_equal(read_version(home, "first\n\nsecond\n"), ETHOS_OK);
    assert_int_equal(home_write(home, SCOPE, "b.md", "b\n"), ETHOS_OK);
    assert_int_equal(count_voids(home), 0);
    assert_sound(home);
    free(before);
    empty_home(home);
}

static void test_temporaries_of_the_history_or_of_no_key_are_no_harm(void **state)
{
    static const char *const names[] = {"memory-history.jsonl." ALIEN ".old",
                                        "memory-history.jsonl." ALIEN ".new",
                                        "memory-history-2026-10.jsonl." ALIEN ".old",
                                        "bad key." ALIEN ".new",
                                        "bad key." ALIEN ".old",
                                        ".." ALIEN ".new",
                                        "..." ALIEN ".old",
                                        "." ALIEN ".new",
                                        ".mem." ALIEN ".new",
                                        "a.md.",
                                        "a.md.new",
                                        ".new",
                                        "a.md." ALIEN ".other",
                                        ".index.draft",
                                        ".blob.draft",
                                        ".history.draft"};
    struct home *home = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int kind = TEXT; kind <= EMPTY; kind++) {
            add(home, "first");
            add(home, "second");
            assert_harmless(home, (enum kind)kind, names[i]);
        }
    }
}

static void test_folders_links_and_pipes_among_temporaries_are_no_harm(void **state)
{
    static const char *const suffixes[] = {".new", ".old", ".draft", ".gone"};
    struct home *home = *state;
    char name[128];
    for (int kind = FOLDER; kind < KINDS; kind++) {
        for (size_t i = 0; i < 4; i++) {
            add(home, "first");
            add(home, "second");
            snprintf(name, sizeof name, "a.md." ALIEN "%s", suffixes[i]);
            assert_harmless(home, (enum kind)kind, name);
        }
    }
}

/* Two changes of a.md, and the name of a temporary of the second. */
static void name_of_newest(struct home *home, const char *suffix, char out[128])
{
    add(home, "first");
    add(home, "second");
    json_t *lines = read_lines(home);
    snprintf(out, 128, "a.md.%.12s%s", text_of(json_array_get(lines, 1), "txn"), suffix);
    json_decref(lines);
}

static void test_what_bears_the_name_of_the_newest_transaction_is_no_harm(void **state)
{
    static const char *const suffixes[] = {".old", ".draft", ".gone"};
    struct home *home = *state;
    char name[128];
    for (int kind = FOLDER; kind < KINDS; kind++) {
        for (size_t i = 0; i < 3; i++) {
            name_of_newest(home, suffixes[i], name);
            assert_harmless(home, (enum kind)kind, name);
        }
    }
}

/* It may be what the swap displaced, and then is the file: but only that key has to wait. */
static void test_what_looks_displaced_by_the_newest_transaction_blocks_no_other_key(void **state)
{
    struct home *home = *state;
    char name[128];
    for (int kind = FOLDER; kind < KINDS; kind++) {
        name_of_newest(home, ".new", name);
        char *before = history_now(home);
        plant(home, (enum kind)kind, name);
        for (int i = 0; i < 2; i++) {
            if (home_write(home, SCOPE, "b.md", i ? "1\n" : "0\n") != ETHOS_OK)
                fail_msg("kind %d: b.md: %s", kind, home->error.text);
        }
        assert_begins(home, before);
        assert_int_equal(read_version(home, "first\n\nsecond\n"), ETHOS_OK);
        free(before);
        empty_home(home);
    }
}

/* ---- killed, and somebody else goes on ------------------------------------------------------ */

/* Ends the process before the call after the first exchange. */
static int kill_after_exchange(void *arg, const char *call, unsigned long number)
{
    bool *seen = arg;
    (void)number;
    if (*seen)
        kill(getpid(), SIGKILL);
    *seen = strcmp(call, "exchange") == 0;
    return 0;
}

static void test_killed_between_two_keys_and_edited_then_the_retry_adds_once(void **state)
{
    struct home *home = *state;
    int status;
    add(home, "old");
    assert_int_equal(home_write(home, SCOPE, "b.md", "note\n"), ETHOS_OK);
    pid_t child = fork();
    if (child == 0) {
        bool seen = false;
        os_hook(kill_after_exchange, &seen);
        operate(home, "op-1", "agent", 2, NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_file(home, FILE_OF("a.md"), "old\n\nagent\n");
    assert_file(home, FILE_OF("b.md"), "note\n");
    append_to(home, FILE_OF("a.md"), "human\n");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(operate(home, "op-1", "agent", 2, NULL), ETHOS_OK);
        assert_int_equal(count_of(home, FILE_OF("a.md"), "agent"), 1);
        assert_int_equal(count_of(home, FILE_OF("b.md"), "agent"), 1);
        assert_int_equal(count_of(home, FILE_OF("a.md"), "human"), 1);
        assert_int_equal(count_of(home, FILE_OF("a.md"), "old"), 1);
    }
    assert_no_litter(home);
    assert_sound(home);
}

#define SHARED "home/shared/S.md"

static int change_shared(struct home *home, const char *scope, ethos_edit_fn *edit, void *arg,
                         const struct ethos_origin *origin, bool *out_repeated)
{
    struct ethos_edit one = {.key = "a.md"};
    memset(&home->error, 0, sizeof home->error);
    int code = home->store->ops->update(home->store, scope, &one, 1, edit, arg, origin,
                                        &home->error);
    *out_repeated = one.verdict == ETHOS_EDIT_REPEATED;
    free(one.old.data);
    return code;
}

static int replace_shared(struct home *home, bool *out_repeated)
{
    static const struct ethos_origin origin = {.op_id = "op-1", .op_digest = "d"};
    struct answer whole = {{"NEW WHOLE\n"}, 0};
    return change_shared(home, "personality:a", answer, &whole, &origin, out_repeated);
}

static void add_shared(struct home *home, const char *scope, const char *entry)
{
    bool repeated;
    char copy[64];
    snprintf(copy, sizeof copy, "%s", entry);
    if (change_shared(home, scope, add_entry, copy, NULL, &repeated) != ETHOS_OK)
        fail_msg("%s: %s", scope, home->error.text);
}

static void prepare_shared(struct home *home)
{
    home_put(home, SHARED, "base\n");
    home_mkdir(home, "home/personalities/a");
    home_mkdir(home, "home/personalities/b");
    home_link(home, "../../shared/S.md", "home/personalities/a/a.md");
    home_link(home, "../../shared/S.md", "home/personalities/b/a.md");
    add_shared(home, "personality:a", "a one");
    add_shared(home, "personality:b", "b one");
}

/* Killed in a before call n, then a write in b, then the retry in a; false: it was not killed. */
static bool run_shared(struct home *home, unsigned long n)
{
    int status;
    bool repeated;
    prepare_shared(home);
    pid_t child = fork();
    if (child == 0) {
        os_hook(kill_at, &n);
        _exit(replace_shared(home, &repeated) == ETHOS_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(status == 0 || WIFSIGNALED(status));
    add_shared(home, "personality:b", "b two");
    assert_int_equal(count_of(home, SHARED, "b two"), 1);
    if (replace_shared(home, &repeated) != ETHOS_OK)
        fail_msg("killed at call %lu: %s", n, home->error.text);
    if (count_of(home, SHARED, "NEW WHOLE") != 1)
        fail_msg("killed at call %lu: %s without its text", n, repeated ? "repeated" : "done");
    if (replace_shared(home, &repeated) != ETHOS_OK || !repeated)
        fail_msg("killed at call %lu: the retry was not remembered", n);
    add_shared(home, "personality:a", "a last");
    add_shared(home, "personality:b", "b last");
    assert_int_equal(count_of(home, SHARED, "NEW WHOLE"), 1);
    assert_int_equal(count_of(home, SHARED, "last"), 2);
    assert_no_litter(home);
    empty_home(home);
    return status != 0;
}

static void test_two_scopes_with_one_file_never_answer_a_change_that_is_not_there(void **state)
{
    struct home *home = *state;
    unsigned long n = 1;
    while (run_shared(home, n))
        n++;
    assert_true(n > 30);
}

/* ---- files that move ------------------------------------------------------------------------ */

static void move_away(struct home *home)
{
    assert_int_equal(
        renameat(home->temp.fd, FILE_OF("a.md"), home->temp.fd, DIR_OF_SCOPE "/dot.md"), 0);
}

static void replace_by_link(struct home *home)
{
    move_away(home);
    home_link(home, "dot.md", FILE_OF("a.md"));
}

static void replace_by_dead_link(struct home *home)
{
    move_away(home);
    home_link(home, "nowhere", FILE_OF("a.md"));
}

static void replace_by_link_away(struct home *home)
{
    move_away(home);
    home_link(home, "/etc/hostname", FILE_OF("a.md"));
}

static void replace_by_folder(struct home *home)
{
    move_away(home);
    assert_int_equal(mkdirat(home->temp.fd, FILE_OF("a.md"), 0700), 0);
}

static void replace_by_pipe(struct home *home)
{
    move_away(home);
    assert_int_equal(mkfifoat(home->temp.fd, FILE_OF("a.md"), 0600), 0);
}

/* The file became something else at the swap: that stays, and other keys can be written. */
static void assert_stays(struct home *home, const char *what, mode_t kind, int code)
{
    for (int i = 0; i < 2; i++) {
        if (home_write(home, SCOPE, "b.md", i ? "1\n" : "0\n") != ETHOS_OK)
            fail_msg("%s: b.md: %s", what, home->error.text);
        if ((home_stat(home, FILE_OF("a.md")).st_mode & S_IFMT) != kind)
            fail_msg("%s: is gone", what);
        assert_file(home, DIR_OF_SCOPE "/dot.md", code == ETHOS_OK ? "old\n\nagent\n" : "old\n");
    }
}

static void run_replaced(struct home *home, const char *what, void (*act)(struct home *),
                         mode_t kind)
{
    struct ethos_edit edit = {.key = "a.md"};
    struct once once = {home, "exchange", act};
    char entry[] = "agent";
    add(home, "old");
    char *before = history_now(home);
    os_hook(act_once, &once);
    int code = update(home, &edit, 1, add_entry, entry);
    os_hook(NULL, NULL);
    assert_null(once.act);
    assert_stays(home, what, kind, code);
    assert_begins(home, before);
    int flags = kind == S_IFDIR ? AT_REMOVEDIR : 0;
    assert_int_equal(unlinkat(home->temp.fd, FILE_OF("a.md"), flags), 0);
    assert_int_equal(
        renameat(home->temp.fd, DIR_OF_SCOPE "/dot.md", home->temp.fd, FILE_OF("a.md")), 0);
    add(home, "later");
    assert_file(home, FILE_OF("a.md"),
                code == ETHOS_OK ? "old\n\nagent\n\nlater\n" : "old\n\nlater\n");
    look(home, "b.md");
    assert_no_litter(home);
    free(before);
    empty_home(home);
}

static void test_a_file_that_becomes_a_link_at_the_swap_blocks_no_other_key(void **state)
{
    run_replaced(*state, "a link", replace_by_link, S_IFLNK);
}

static void test_a_file_that_becomes_a_link_to_nowhere_at_the_swap_blocks_no_other_key(void **state)
{
    run_replaced(*state, "a link to nothing", replace_by_dead_link, S_IFLNK);
    run_replaced(*state, "a link that leads away", replace_by_link_away, S_IFLNK);
}

static void test_a_file_that_becomes_no_file_at_the_swap_blocks_no_other_key(void **state)
{
    run_replaced(*state, "a folder", replace_by_folder, S_IFDIR);
    run_replaced(*state, "a pipe", replace_by_pipe, S_IFIFO);
}

static void test_a_file_deleted_right_after_its_making_can_be_had_again(void **state)
{
    struct home *home = *state;
    add(home, "precious");
    assert_int_equal(unlinkat(home->temp.fd, FILE_OF("a.md"), 0), 0);
    add(home, "other");
    assert_file(home, FILE_OF("a.md"), "other\n");
    assert_int_equal(read_version(home, "precious\n"), ETHOS_OK);
    assert_int_equal(count_voids(home), 0);
    assert_line(home, 2, "actor", "external");
    assert_line(home, 2, "event", "dropped");
    assert_sound(home);
}

/* Gives what was displaced a second name before its only one goes. */
static int keep_displaced(void *arg, const char *call, unsigned long number)
{
    struct home *home = arg;
    struct dirent **names = NULL;
    char path[512];
    (void)number;
    if (strcmp(call, "unlinkat") != 0 || home_exists(home, "kept"))
        return 0;
    int count = scandirat(home->temp.fd, TMP, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, TMP "/%s", names[i]->d_name);
        if (strstr(names[i]->d_name, ".new"))
            assert_int_equal(linkat(home->temp.fd, path, home->temp.fd, "kept", 0), 0);
        free(names[i]);
    }
    free(names);
    return 0;
}

static void assert_restored_by_hand(struct home *home, const struct stat *before)
{
    struct stat now = home_stat(home, FILE_OF("a.md"));
    assert_int_equal(now.st_size, before->st_size);
    assert_int_equal(now.st_mtim.tv_sec, before->st_mtim.tv_sec);
    assert_int_equal(now.st_mtim.tv_nsec, before->st_mtim.tv_nsec);
    assert_int_equal(home_write(home, SCOPE, "b.md", "b\n"), ETHOS_OK);
    look(home, "a.md");
    assert_int_equal(count_voids(home), 0);
    assert_line(home, 1, "actor", "external");
    assert_file(home, FILE_OF("a.md"), "first\n\nsecond\n");
    assert_int_equal(read_version(home, "first\n\nsecond\n\nthird\n"), ETHOS_OK);
    assert_no_litter(home);
    assert_sound(home);
}

static void test_a_copy_with_the_old_times_is_a_persons_revert(void **state)
{
    struct home *home = *state;
    add(home, "first");
    add(home, "second");
    struct stat before = home_stat(home, FILE_OF("a.md"));
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    add(home, "third");
    os_sleep_ms(CLOCK_STEP_MS);
    temp_write(&home->temp, DIR_OF_SCOPE "/copy", "first\n\nsecond\n");
    assert_int_equal(utimensat(home->temp.fd, DIR_OF_SCOPE "/copy", times, 0), 0);
    assert_int_equal(renameat(home->temp.fd, DIR_OF_SCOPE "/copy", home->temp.fd, FILE_OF("a.md")),
                     0);
    assert_restored_by_hand(home, &before);
}

static void test_the_old_file_with_its_number_put_back_is_a_persons_revert(void **state)
{
    struct home *home = *state;
    add(home, "first");
    add(home, "second");
    struct stat before = home_stat(home, FILE_OF("a.md"));
    os_hook(keep_displaced, home);
    add(home, "third");
    os_hook(NULL, NULL);
    os_sleep_ms(CLOCK_STEP_MS);
    assert_int_equal(renameat(home->temp.fd, "kept", home->temp.fd, FILE_OF("a.md")), 0);
    assert_int_equal(home_stat(home, FILE_OF("a.md")).st_ino, before.st_ino);
    assert_restored_by_hand(home, &before);
}

/* ---- histories that were put together ------------------------------------------------------- */

static const char *const stem[] = {"head\none\ntail\n", "head\none\ntwo\ntail\n"};
static const char *const branches[2][2] = {
    {"head\none\ntwo\nthree\ntail\n", "head\none\ntwo\nthree\nfour\ntail\n"},
    {"HEAD\none\ntwo\ntail\n", "HEAD\none\ntwo\ntail\nfoot\n"}};

static void assert_all_versions(struct home *home)
{
    const char *const texts[] = {stem[0],        stem[1],        branches[0][0],
                                 branches[0][1], branches[1][0], branches[1][1]};
    for (size_t i = 0; i < 6; i++) {
        if (read_version(home, texts[i]) != ETHOS_OK)
            fail_msg("version %zu: %s", i, home->error.text);
    }
}

/* The lines of both branches after those of the stem, one after the other or line by line. */
static void merge_histories(struct home *home, bool by_line)
{
    char *lines[2], *rest[2];
    put(home, stem[0]);
    put(home, stem[1]);
    char *common = history_now(home);
    for (int i = 0; i < 2; i++) {
        temp_write(&home->temp, HISTORY, common);
        save(home, stem[1]);
        unlinkat(home->temp.fd, INDEX, 0);
        put(home, branches[i][0]);
        put(home, branches[i][1]);
        assert_int_equal(count_lines(home), 4);
        lines[i] = history_now(home);
        rest[i] = lines[i] + strlen(common);
    }
    unlinkat(home->temp.fd, INDEX, 0);
    temp_write(&home->temp, HISTORY, common);
    int first[2] = {(int)(strchr(rest[0], '\n') + 1 - rest[0]),
                    (int)(strchr(rest[1], '\n') + 1 - rest[1])};
    char text[16384];
    if (by_line)
        snprintf(text, sizeof text, "%.*s%.*s%s%s", first[0], rest[0], first[1], rest[1],
                 rest[0] + first[0], rest[1] + first[1]);
    else
        snprintf(text, sizeof text, "%s%s", rest[0], rest[1]);
    append_to(home, HISTORY, text);
    free(common);
    free(lines[0]);
    free(lines[1]);
}

static void test_every_version_of_two_branches_can_be_had_again(void **state)
{
    struct home *home = *state;
    for (int by_line = 0; by_line < 2; by_line++) {
        merge_histories(home, by_line);
        char *before = history_now(home);
        assert_all_versions(home);
        put(home, "next\n");
        assert_begins(home, before);
        assert_all_versions(home);
        assert_int_equal(read_version(home, "next\n"), ETHOS_OK);
        free(before);
        empty_home(home);
    }
}

/* A line as others write it: without any member of ours. */
static void append_reference(struct home *home, const char *before, const char *after)
{
    struct history_record record = {.ts_ms = os_now_ms(),
                                    .scope = VIEW(SCOPE),
                                    .key = VIEW("a.md"),
                                    .actions = VIEW("add"),
                                    .source = VIEW("tool")};
    struct arena arena;
    struct str line;
    arena_init(&arena);
    str_init(&line, SIZE_MAX);
    assert_int_equal(history_describe(view_str(before), view_str(after), &arena, &record),
                     ETHOS_OK);
    assert_int_equal(history_print(&record, &line), ETHOS_OK);
    str_truncate(&line, line.size - HISTORY_CRC_BYTES - 1);
    str_adds(&line, "}\n");
    append_to(home, HISTORY, line.data);
    str_release(&line);
    arena_release(&arena);
}

static void test_versions_on_both_sides_of_a_gap_can_be_had_again(void **state)
{
    static const char *const texts[] = {"one\n",
                                        "one\ntwo\n",
                                        "one\ntwo\nthree\n",
                                        "one\ntwo\nthree\nfour\n",
                                        "one\ntwo\nthree\nfour\n\nfive\n",
                                        "one\ntwo\nthree\nfour\n\nfive\n\nsix\n"};
    struct home *home = *state;
    home_put(home, HISTORY, "");
    append_reference(home, "", texts[0]);
    append_reference(home, texts[0], texts[1]);
    append_reference(home, texts[2], texts[3]); // the line before it is missing
    home_put(home, FILE_OF("a.md"), texts[3]);
    char *before = history_now(home);
    add(home, "five");
    add(home, "six");
    assert_begins(home, before);
    for (size_t i = 0; i < 6; i++) {
        if (read_version(home, texts[i]) != ETHOS_OK)
            fail_msg("version %zu: %s", i, home->error.text);
    }
    assert_int_equal(count_voids(home), 0);
    free(before);
}

/* ---- an index for many keys ----------------------------------------------------------------- */

enum { KEYS = 3000 };

static void many_key(int i, char out[32])
{
    // some are the beginning of others
    snprintf(out, 32, i % 3 ? "note-%d.md" : "note-%d", i);
}

static void many_text(int i, int version, char out[64])
{
    snprintf(out, 64, "text %d of note %d\n", version, i);
}

static void print_many(int i, int version, struct str *out)
{
    char key[32], texts[2][64];
    struct arena arena;
    many_key(i, key);
    many_text(i, version - 1, texts[0]);
    many_text(i, version, texts[1]);
    struct history_record record = alien_record(key, (uint64_t)(version * KEYS + i + 1));
    char id[16];
    snprintf(id, sizeof id, "%06x%06x", (unsigned)version, (unsigned)i);
    record.txn_id = view_str(id);
    arena_init(&arena);
    assert_int_equal(history_describe(version ? view_str(texts[0]) : (struct ethos_view){0},
                                      view_str(texts[1]), &arena, &record),
                     ETHOS_OK);
    assert_int_equal(history_print(&record, out), ETHOS_OK);
    arena_release(&arena);
}

/* Every third key has a second line. */
static void make_many(struct home *home)
{
    struct str lines;
    char path[128], key[32], text[64];
    str_init(&lines, SIZE_MAX);
    home_mkdir(home, DIR_OF_SCOPE);
    for (int version = 0; version < 2; version++) {
        for (int i = 0; i < KEYS; i++) {
            if (version == 1 && i % 3 != 1)
                continue;
            print_many(i, version, &lines);
            many_key(i, key);
            many_text(i, version, text);
            snprintf(path, sizeof path, DIR_OF_SCOPE "/%s", key);
            temp_write(&home->temp, path, text);
        }
    }
    temp_write(&home->temp, HISTORY, lines.data);
    str_release(&lines);
}

/* Each key has one row, and it tells of the text of its file. */
static void assert_rows(struct home *home)
{
    char path[128], key[32], row[256], revision[ETHOS_REVISION_SIZE];
    char *index = temp_read(&home->temp, INDEX, NULL);
    assert_non_null(index);
    for (int i = 0; i < KEYS; i++) {
        size_t size;
        many_key(i, key);
        snprintf(path, sizeof path, DIR_OF_SCOPE "/%s", key);
        char *text = temp_read(&home->temp, path, &size);
        hash_revision(view_of(text, size), revision);
        snprintf(row, sizeof row, "\n%s\t%s 0 %zu ", key, revision, size);
        if (!strstr(index, row))
            fail_msg("no row like%s", row);
        snprintf(row, sizeof row, "\n%s\t", key);
        if (i % 100 == 0)
            assert_int_equal(count_in(index, row), 1);
        free(text);
    }
    size_t rows = 0;
    for (const char *at = index; (at = strchr(at, '\n')); at++)
        rows += at[1] && at[1] != 9;
    assert_int_equal(rows, KEYS + 1); // and a.md
    free(index);
}

static void change_by_hand(struct home *home, int i)
{
    char path[128], key[32];
    many_key(i, key);
    snprintf(path, sizeof path, DIR_OF_SCOPE "/%s", key);
    temp_write(&home->temp, path, "by hand\n");
    size_t lines = count_lines(home);
    look(home, key);
    assert_int_equal(count_lines(home), lines + 1);
    assert_line(home, 1, "key", key);
    assert_line(home, 1, "actor", "external");
    look(home, key);
    many_key(i + 1, key);
    look(home, key); // nobody changed that one
    assert_int_equal(count_lines(home), lines + 1);
}

static void test_one_write_makes_the_index_of_thousands_of_keys(void **state)
{
    struct home *home = *state;
    char text[3000];
    home_open(home, ETHOS_SETUP_FAST, 2000);
    make_many(home);
    put(home, "first\n");
    assert_rows(home);
    char *index = temp_read(&home->temp, INDEX, NULL);
    change_by_hand(home, 0);
    change_by_hand(home, 1);
    change_by_hand(home, KEYS - 2);
    for (int i = 0; i < 60; i++) { // so much that it is made again, of rows and lines
        memset(text, 'a' + i % 26, sizeof text);
        snprintf(text + sizeof text - 8, 8, "%d\n", i);
        put(home, text);
    }
    char *again = temp_read(&home->temp, INDEX, NULL);
    assert_string_not_equal(again, index);
    assert_rows(home);
    change_by_hand(home, 2);
    free(index);
    free(again);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HOME_TEST(test_a_transaction_with_more_keys_than_it_says_is_no_harm),
        HOME_TEST(test_a_transaction_that_says_it_has_billions_of_lines_is_no_harm),
        HOME_TEST(test_a_line_of_others_cuts_nothing_off),
        HOME_TEST(test_of_many_lines_that_are_spoilt_only_the_last_append_is_cut_off),
        HOME_TEST(test_a_number_that_cannot_grow_does_not_end_operations),
        HOME_TEST(test_an_index_with_a_number_that_cannot_grow_does_not_end_operations),
        HOME_TEST(test_a_revert_is_a_persons_also_after_a_line_from_the_future),
        HOME_TEST(test_a_last_line_without_its_end_is_kept_and_its_operation_known),
        HOME_TEST(test_temporaries_of_the_history_or_of_no_key_are_no_harm),
        HOME_TEST(test_folders_links_and_pipes_among_temporaries_are_no_harm),
        HOME_TEST(test_what_bears_the_name_of_the_newest_transaction_is_no_harm),
        HOME_TEST(test_what_looks_displaced_by_the_newest_transaction_blocks_no_other_key),
        HOME_TEST(test_killed_between_two_keys_and_edited_then_the_retry_adds_once),
        HOME_TEST(test_two_scopes_with_one_file_never_answer_a_change_that_is_not_there),
        HOME_TEST(test_a_file_that_becomes_a_link_at_the_swap_blocks_no_other_key),
        HOME_TEST(test_a_file_that_becomes_a_link_to_nowhere_at_the_swap_blocks_no_other_key),
        HOME_TEST(test_a_file_that_becomes_no_file_at_the_swap_blocks_no_other_key),
        HOME_TEST(test_a_file_deleted_right_after_its_making_can_be_had_again),
        HOME_TEST(test_a_copy_with_the_old_times_is_a_persons_revert),
        HOME_TEST(test_the_old_file_with_its_number_put_back_is_a_persons_revert),
        HOME_TEST(test_every_version_of_two_branches_can_be_had_again),
        HOME_TEST(test_versions_on_both_sides_of_a_gap_can_be_had_again),
        HOME_TEST(test_one_write_makes_the_index_of_thousands_of_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * protocol.h: for the tests of the write protocol: changes, faults, and the history of a directory
 * as a stranger reads it, without the code under test.
 */
#ifndef TESTS_STORE_FILES_PROTOCOL_H
#define TESTS_STORE_FILES_PROTOCOL_H

#include "home.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>

#include "base/hash.h"

#define HISTORY DIR_OF_SCOPE "/memory-history.jsonl"
#define INDEX DIR_OF_SCOPE "/.mem/index"
#define TMP DIR_OF_SCOPE "/.mem/tmp"
#define BLOBS DIR_OF_SCOPE "/history-blobs"

/* ---- changes -------------------------------------------------------------------------------- */

/* Puts these texts, or drops where one is NULL. */
struct answer {
    const char *texts[3];
    int calls;
};

static inline int answer(void *arg, struct ethos_edit *edits, size_t count,
                         struct ethos_error *error)
{
    struct answer *answer = arg;
    (void)error;
    answer->calls++;
    for (size_t i = 0; i < count; i++) {
        edits[i].verdict = answer->texts[i] ? ETHOS_EDIT_PUT : ETHOS_EDIT_DROP;
        edits[i].text = view_str(answer->texts[i]);
    }
    return ETHOS_OK;
}

static inline int append_x(void *arg, struct ethos_edit *edits, size_t count,
                           struct ethos_error *error)
{
    static char text[4096];
    (void)count, (void)error;
    ++*(int *)arg;
    snprintf(text, sizeof text, "%sx", edits->old.data ? edits->old.data : "");
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(text);
    return ETHOS_OK;
}

static inline int keep(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)arg, (void)edits, (void)count, (void)error;
    return ETHOS_OK;
}

static inline int update_by(struct home *home, struct ethos_edit *edits, size_t count,
                            ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin)
{
    memset(&home->error, 0, sizeof home->error);
    int code = home->store->ops->update(home->store, SCOPE, edits, count, edit, arg, origin,
                                        &home->error);
    for (size_t i = 0; i < count; i++) {
        free(edits[i].old.data);
        edits[i].old = (struct ethos_text){0};
    }
    return code;
}

static inline int update(struct home *home, struct ethos_edit *edits, size_t count,
                         ethos_edit_fn *edit, void *arg)
{
    return update_by(home, edits, count, edit, arg, NULL);
}

/* Looks at a key and changes nothing: what was changed outside is recorded. */
static inline void look(struct home *home, const char *key)
{
    struct ethos_edit edit = {.key = key};
    assert_int_equal(update(home, &edit, 1, keep, NULL), ETHOS_OK);
}

/* ---- faults --------------------------------------------------------------------------------- */

/* Fails the nth call that can fail: the kernel closes a descriptor whatever it answers. */
struct at {
    unsigned long number, seen;
    int errnum;
    const char *hit;
    bool hit_index;        /* it was to read the index */
    unsigned long certain; /* number of the last directory sync so far */
    int steps;             /* towards the index */
};

/* Whether a call reads the index, which is opened right after the history. */
static inline bool reads_index(struct at *at, const char *call)
{
    static const char *const before[] = {"openat", "fstat", "openat2"};
    if (at->steps == 3 && (strcmp(call, "read") == 0 || strcmp(call, "pread") == 0))
        return true;
    if (at->steps < 3 && strcmp(call, before[at->steps]) == 0)
        at->steps++;
    else
        at->steps = strcmp(call, "openat") == 0;
    return at->steps == 3;
}

static inline int fail_at(void *arg, const char *call, unsigned long number)
{
    struct at *at = arg;
    (void)number;
    if (strcmp(call, "close") == 0)
        return 0;
    at->seen++;
    bool index = reads_index(at, call);
    if (strcmp(call, "fsync") == 0)
        at->certain = at->seen;
    if (at->seen != at->number)
        return 0;
    at->hit = call;
    at->hit_index = index;
    return at->errnum;
}

/* Fails the nth call of one name. */
struct nth {
    const char *call;
    unsigned number;
    int errnum;
};

static inline int fail_nth(void *arg, const char *call, unsigned long number)
{
    struct nth *nth = arg;
    (void)number;
    return strcmp(call, nth->call) == 0 && --nth->number == 0 ? nth->errnum : 0;
}

/* Runs act once, before the first call of that name. */
struct once {
    struct home *home;
    const char *call;
    void (*act)(struct home *home);
};

static inline int act_once(void *arg, const char *call, unsigned long number)
{
    struct once *once = arg;
    (void)number;
    if (once->act && strcmp(call, once->call) == 0) {
        void (*act)(struct home *) = once->act;
        once->act = NULL;
        act(once->home);
    }
    return 0;
}

/* ---- the history ---------------------------------------------------------------------------- */

static inline const char *text_of(json_t *line, const char *member)
{
    const char *text = json_string_value(json_object_get(line, member));
    return text ? text : "";
}

static inline json_int_t number_of(json_t *line, const char *member)
{
    return json_integer_value(json_object_get(line, member));
}

static inline bool is_set(json_t *line, const char *member)
{
    return json_is_true(json_object_get(line, member));
}

static inline bool is_void(json_t *line)
{
    return json_object_get(line, "voids") != NULL;
}

/* Whether every action of the line is this one. */
static inline bool is_action(json_t *line, const char *action)
{
    json_t *actions = json_object_get(line, "actions");
    return json_array_size(actions) == 1 &&
           strcmp(json_string_value(json_array_get(actions, 0)), action) == 0;
}

static inline void assert_crc(const char *line)
{
    char crc[16];
    const char *at = strstr(line, ",\"crc\"");
    assert_non_null(at);
    snprintf(crc, sizeof crc, "%08x", hash_crc32c(view_of(line, (size_t)(at - line))));
    assert_int_equal(strncmp(at + 8, crc, 8), 0);
}

static inline void add_lines(struct home *home, const char *path, json_t *out)
{
    char *rest, *text = temp_read(&home->temp, path, NULL);
    if (!text)
        return;
    assert_true(!*text || text[strlen(text) - 1] == '\n');
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *value = json_loads(line, JSON_ALLOW_NUL, NULL);
        if (!value)
            fail_msg("no JSON: %s", line);
        assert_crc(line);
        json_array_append_new(out, value);
    }
    free(text);
}

static inline int is_month(const struct dirent *entry)
{
    return strncmp(entry->d_name, "memory-history-", 15) == 0;
}

/* Every line of the scope's history, oldest first. */
static inline json_t *read_lines(struct home *home)
{
    struct dirent **names = NULL;
    json_t *lines = json_array();
    int count = scandirat(home->temp.fd, DIR_OF_SCOPE, &names, is_month, alphasort);
    for (int i = 0; i < count; i++) {
        char path[512];
        snprintf(path, sizeof path, DIR_OF_SCOPE "/%s", names[i]->d_name);
        add_lines(home, path, lines);
        free(names[i]);
    }
    free(names);
    add_lines(home, HISTORY, lines);
    return lines;
}

/* The newest line of a key before `end`; -1: none. */
static inline int line_before(json_t *lines, size_t end, const char *key)
{
    while (end-- > 0) {
        if (strcmp(text_of(json_array_get(lines, end), "key"), key) == 0)
            return (int)end;
    }
    return -1;
}

/* Each line of a key starts where the one before it ended; a line that only tells of a text stays. */
static inline void assert_chain(json_t *lines, size_t i)
{
    json_t *line = json_array_get(lines, i);
    int at = line_before(lines, i, text_of(line, "key"));
    if (strcmp(text_of(line, "via"), "seen") == 0)
        assert_string_equal(text_of(line, "beforeHash"), text_of(line, "afterHash"));
    if (at < 0)
        return;
    json_t *before = json_array_get(lines, (size_t)at);
    assert_string_equal(text_of(line, "beforeHash"), text_of(before, "afterHash"));
    assert_int_equal(is_set(line, "absentBefore"), is_set(before, "absentAfter"));
}

/* All lines of a transaction stand together, numbered from 1. */
static inline void assert_transaction(json_t *lines, size_t i)
{
    char id[16], other[16];
    unsigned index, count, other_index, other_count;
    assert_int_equal(
        sscanf(text_of(json_array_get(lines, i), "txn"), "%12[0-9a-f]/%u/%u", id, &index, &count),
        3);
    assert_true(index >= 1 && index <= count && i + 1 >= index);
    for (size_t k = 0; k < count; k++) {
        json_t *line = json_array_get(lines, i + 1 - index + k);
        assert_non_null(line);
        assert_int_equal(
            sscanf(text_of(line, "txn"), "%12[0-9a-f]/%u/%u", other, &other_index, &other_count),
            3);
        assert_string_equal(other, id);
        assert_int_equal(other_index, k + 1);
        assert_int_equal(other_count, count);
    }
}

static inline void assert_blob(struct home *home, json_t *line, const char *member)
{
    char path[256], hex[HASH_HEX_SIZE];
    const char *name = text_of(line, member);
    if (!*name)
        return;
    size_t size;
    snprintf(path, sizeof path, BLOBS "/%s.md", name);
    char *text = temp_read(&home->temp, path, &size);
    if (!text)
        fail_msg("%s of a line is not there: %s", member, path);
    hash_hex(view_of(text, size), hex);
    assert_string_equal(hex, name);
    free(text);
}

/* The file of a key has the text after its last line. */
static inline void assert_ends_in_file(struct home *home, json_t *line)
{
    char path[256], revision[ETHOS_REVISION_SIZE];
    size_t size = 0;
    snprintf(path, sizeof path, DIR_OF_SCOPE "/%s", text_of(line, "key"));
    char *text = temp_read(&home->temp, path, &size);
    if ((text == NULL) != is_set(line, "absentAfter"))
        fail_msg("%s is %s, but its last line says otherwise", path, text ? "there" : "absent");
    if (text) {
        hash_revision(view_of(text, size), revision);
        if (strcmp(revision, text_of(line, "afterHash")) != 0)
            fail_msg("%s is not what its last line says: %s", path, text);
    }
    free(text);
}

static inline bool names_blob(json_t *lines, const char *name)
{
    static const char *const members[] = {"blob", "beforeBlob", "afterBlob"};
    for (size_t i = 0; i < json_array_size(lines); i++) {
        for (size_t k = 0; k < 3; k++) {
            const char *blob = text_of(json_array_get(lines, i), members[k]);
            if (*blob && strncmp(name, blob, 64) == 0)
                return true;
        }
    }
    return false;
}

static inline void assert_no_spare_blobs(struct home *home, json_t *lines)
{
    struct dirent **names = NULL;
    int count = scandirat(home->temp.fd, BLOBS, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.' && !names_blob(lines, names[i]->d_name))
            fail_msg("no line names the blob %s", names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

/* Everything the history says holds, and its end is what the files are. */
static inline void assert_history(struct home *home)
{
    json_t *lines = read_lines(home);
    size_t count = json_array_size(lines);
    for (size_t i = 0; i < count; i++) {
        json_t *line = json_array_get(lines, i), *before = json_array_get(lines, i ? i - 1 : 0);
        assert_true(number_of(line, "seq") > (i ? number_of(before, "seq") : 0));
        assert_chain(lines, i);
        assert_transaction(lines, i);
        assert_blob(home, line, "blob");
        assert_blob(home, line, "beforeBlob");
        assert_blob(home, line, "afterBlob");
        if ((size_t)line_before(lines, count, text_of(line, "key")) == i)
            assert_ends_in_file(home, line);
    }
    json_decref(lines);
}

/* The same, and nothing is kept that it does not name. */
static inline void assert_sound(struct home *home)
{
    assert_history(home);
    json_t *lines = read_lines(home);
    assert_no_spare_blobs(home, lines);
    json_decref(lines);
}

static inline bool is_taken_back(json_t *lines, size_t i)
{
    json_int_t seq = number_of(json_array_get(lines, i), "seq");
    for (size_t k = i + 1; k < json_array_size(lines); k++) {
        json_t *voids = json_object_get(json_array_get(lines, k), "voids");
        if (voids && json_integer_value(json_array_get(voids, 0)) <= seq &&
            seq <= json_integer_value(json_array_get(voids, 1)))
            return true;
    }
    return false;
}

/*
 * After a change that failed: `before` is what the history was. It is the same, or longer by lines
 * that tell of something outside or are all taken back.
 */
static inline void assert_only_taken_back(struct home *home, const char *before)
{
    char *after = temp_read(&home->temp, HISTORY, NULL);
    size_t old = strlen(before), kept = 0;
    assert_true(strncmp(before, after ? after : "", old) == 0);
    free(after);
    for (const char *at = before; (at = strchr(at, '\n')); at++)
        kept++;
    json_t *lines = read_lines(home);
    for (size_t i = kept; i < json_array_size(lines); i++) {
        json_t *line = json_array_get(lines, i);
        if (is_void(line)) {
            assert_string_equal(text_of(line, "source"), "restore");
            assert_string_equal(text_of(line, "via"), "recovery");
        } else if (!is_action(line, "external") && !is_taken_back(lines, i)) {
            fail_msg("line %zu stands although the change failed", i + 1);
        }
    }
    json_decref(lines);
}

static inline char *history_now(struct home *home)
{
    char *text = temp_read(&home->temp, HISTORY, NULL);
    return text ? text : strdup("");
}

/* ---- one key, a.md -------------------------------------------------------------------------------- */

/* Adds one entry after a blank line, as memory does; actions say so. */
static inline int add_entry(void *arg, struct ethos_edit *edits, size_t count,
                            struct ethos_error *error)
{
    static char text[16384];
    const char *old = edits->old.data;
    (void)count, (void)error;
    snprintf(text, sizeof text, "%s%s%s\n", old ? old : "", old && *old ? "\n" : "",
             (const char *)arg);
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(text);
    edits->actions = "add";
    return ETHOS_OK;
}

static inline void add(struct home *home, const char *entry)
{
    struct ethos_edit edit = {.key = "a.md"};
    char *copy = strdup(entry);
    assert_non_null(copy);
    assert_int_equal(update(home, &edit, 1, add_entry, copy), ETHOS_OK);
    free(copy);
}

static inline void put(struct home *home, const char *text)
{
    assert_int_equal(home_write(home, SCOPE, "a.md", text), ETHOS_OK);
}

/* Somebody saves with an editor that writes into the file. */
static inline void save(struct home *home, const char *text)
{
    temp_write(&home->temp, FILE_OF("a.md"), text);
}

static inline size_t count_lines(struct home *home)
{
    json_t *lines = read_lines(home);
    size_t count = json_array_size(lines);
    json_decref(lines);
    return count;
}

/* A member of the nth line from the end, from 1. */
static inline void assert_line(struct home *home, size_t from_end, const char *member,
                               const char *value)
{
    json_t *lines = read_lines(home);
    assert_true(json_array_size(lines) >= from_end);
    json_t *line = json_array_get(lines, json_array_size(lines) - from_end);
    if (strcmp(member, "actions") == 0)
        assert_true(is_action(line, value));
    else
        assert_string_equal(text_of(line, member), value);
    json_decref(lines);
}

static inline int read_version(struct home *home, const char *text)
{
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(view_str(text), revision);
    int code = home->store->ops->version(home->store, SCOPE, "a.md", revision, &home->text,
                                         &home->error);
    if (code == ETHOS_OK)
        assert_string_equal(home->text.data, text);
    return code;
}

/* Ends the process before the nth call. */
static inline int kill_at(void *arg, const char *call, unsigned long number)
{
    (void)call;
    if (number == *(unsigned long *)arg)
        kill(getpid(), SIGKILL);
    return 0;
}

#endif

/*
 * test_forget.c: memory.forget --everywhere over homes that are made at random: afterwards no file holds the text, in
 * whatever form, and everything else is there byte for byte, also what others wrote meanwhile.
 *
 * ETHOS_SEED=N runs one seed; a failure names its own.
 */
#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>

#include "../sessions/sessions.h"

#include "base/json.h"

#define SEEDS 16
#define STEPS 60
#define WRITES 12 /* of each process beside a purge */
#define KEEP "keep-"

/* ---- chance --------------------------------------------------------------------------------- */

static uint64_t chance;
static unsigned lines_made;

static unsigned pick(unsigned below)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (unsigned)(chance >> 20) % below;
}

/* ---- what is forgotten ---------------------------------------------------------------------- */

/* A text, how it is asked for, and the forms in which it is written down; near: what only looks alike. */
static const struct shape {
    const char *text;
    bool substring, any_case;
    const char *forms[4], *near[2];
    const char *slug;
} shapes[] = {
    {"hunter-9911", false, false, {"hunter-9911"}, {"hunter-9911x", "hunter-991"}, "hunter-9911"},
    {"the red falcon",
     false,
     true,
     {"the red falcon", "THE RED FALCON", "The Red Falcon"},
     {"the red falcons"},
     "the-red-falcon"},
    {"say \"aloha\" \\o/", false, false, {"say \"aloha\" \\o/"}, {"say aloha"}, "say-aloha-o"},
    {"Gr\xC3\xB6\xC3\x9F"
     "e \xC3\xA9"
     "9",
     false,
     false,
     {"Gr\xC3\xB6\xC3\x9F"
      "e \xC3\xA9"
      "9",
      "Gro\xCC\x88\xC3\x9F"
      "e e\xCC\x81"
      "9"},
     {"Groesse e9"},
     NULL},
    {"\xE5\x90\x88\xE8\xA8\x80\xE8\x91\x89",
     false,
     false,
     {"\xE5\x90\x88\xE8\xA8\x80\xE8\x91\x89"},
     {"\xE5\x90\x88\xE8\xA8\x80"},
     NULL},
    {"pass\xF0\x9F\x98\x80word", false, false, {"pass\xF0\x9F\x98\x80word"}, {"password"}, NULL},
    {"zug4", true, false, {"zug4", "xzug4x"}, {"zug 4"}, "zug4"},
    {"a/b\tc%99", false, false, {"a/b\tc%99"}, {"a/b"}, "a-b-c-99"},
};

static const struct shape *shape;

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Whether bytes hold one of the forms as they are; near ones end or begin with a letter. */
static bool holds_form(const char *data, size_t size, const char *form)
{
    size_t length = strlen(form);
    for (const char *at = data; (at = memmem(at, size - (size_t)(at - data), form, length)); at++) {
        bool before = at > data && is_alnum(at[-1]) && is_alnum(*form);
        bool after = at + length < data + size && is_alnum(at[length]) &&
                     is_alnum(form[length - 1]);
        if (shape->substring || (!before && !after))
            return true;
    }
    return false;
}

static bool holds(const char *data, size_t size)
{
    for (size_t i = 0; i < COUNT(shape->forms) && shape->forms[i]; i++)
        if (holds_form(data, size, shape->forms[i]))
            return true;
    return false;
}

/* The same for a file of whatever kind: also as JSON writes it, with and without letters beyond ASCII. */
static bool is_held_by(const char *data, size_t size)
{
    bool held = holds(data, size);
    for (size_t i = 0; i < 2 * COUNT(shape->forms) && shape->forms[i / 2]; i++) {
        json_t *value = json_string(shape->forms[i / 2]);
        char *text = json_dumps(value, JSON_ENCODE_ANY | (i % 2 ? JSON_ENSURE_ASCII : 0));
        text[strlen(text) - 1] = 0;
        held = held || holds_form(data, size, text + 1);
        free(text);
        json_decref(value);
    }
    return held;
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* A line that holds the text, looks alike, or neither; those that stay have a number. */
static void add_line(struct str *out)
{
    size_t forms = 0;
    while (forms < COUNT(shape->forms) && shape->forms[forms])
        forms++;
    switch (pick(4)) {
    case 0:
        str_printf(out, "it is %s, they say", shape->forms[pick((unsigned)forms)]);
        break;
    case 1:
        str_printf(out, KEEP "%u like %s here", ++lines_made,
                   shape->near[shape->near[1] ? pick(2) : 0]);
        break;
    default:
        str_printf(out, KEEP "%u of day %u%s", ++lines_made, pick(100), pick(5) ? "" : "  ");
    }
}

/* Owned. */
static char *make_text(const char *end)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    for (unsigned i = pick(4) + 1; i-- > 0;) {
        add_line(&text);
        if (i > 0)
            str_adds(&text, end);
    }
    return str_steal(&text, NULL);
}

static char *make_title(void)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    if (pick(3) == 0)
        str_printf(&text, "About %s %u", shape->forms[0], pick(9));
    else
        str_printf(&text, KEEP "%u title", ++lines_made);
    return str_steal(&text, NULL);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Takes args. Whether it went well: what chance asks for may be refused. */
static int run(struct world *world, const char *name, json_t *args, bool dry, json_t **out)
{
    static const char *const people[] = {NULL, "bob"}, *const roles[] = {NULL, "other"};
    struct ethos_request request = {.personality = roles[pick(2)], .user = people[pick(2)]};
    struct op_result result;
    struct op_call call = {.ethos = world->ethos,
                           .request = &request,
                           .args = args,
                           .want_json = true,
                           .dry_run = dry,
                           .via = "test"};
    assert_non_null(args);
    op_result_init(&result);
    memset(&world->error, 0, sizeof world->error);
    int code = op_run(op_find(name), &call, &result, &world->error);
    if (code == ETHOS_OK && result.code != ETHOS_OK) {
        code = result.code;
        world->error = result.error;
    }
    if (code == ETHOS_INTERNAL || code == ETHOS_CORRUPT || code == ETHOS_NOMEM)
        fail_msg("%s: %s", name, world->error.text);
    if (out)
        *out = json_incref(result.json);
    op_result_release(&result);
    json_decref(args);
    return code;
}

static const char *some_key(char out[64])
{
    snprintf(out, 64, "note-%u.md", pick(4));
    return out;
}

static const char *some_scope(void)
{
    static const char *const scopes[] = {"personality", "global", "workspace", "team:crew"};
    return scopes[pick(COUNT(scopes))];
}

static void change_memory(struct world *world)
{
    static const char *const ops[] = {"memory.add", "memory.write", "memory.add"};
    char key[64], *text = make_text("\n");
    json_t *args = json_pack("{s:s, s:s}", "content", text, "scope", some_scope());
    if (pick(2))
        json_object_set_new(args, "key", json_string(some_key(key)));
    run(world, ops[pick(COUNT(ops))], args, false, NULL);
    free(text);
}

static void change_profile(struct world *world)
{
    char *text = make_text("\n");
    run(world, "memory.add", json_pack("{s:s, s:s}", "content", text, "store", "user"), false,
        NULL);
    free(text);
}

static void change_notes(struct world *world)
{
    char *text = make_text("\n"), *title = make_title(), *hook = make_title();
    run(world, "notes.remember",
        json_pack("{s:s, s:s, s:s, s:s}", "content", text, "title", title, "hook", hook, "scope",
                  pick(2) ? "workspace" : "global"),
        false, NULL);
    if (pick(3) == 0)
        run(world, "notes.remove", json_pack("{s:s}", "name", title), false, NULL);
    else if (pick(3) == 0)
        run(world, "notes.move", json_pack("{s:s, s:s}", "name", title, "newName", hook), false,
            NULL);
    free(text);
    free(title);
    free(hook);
}

static void change_tree(struct world *world)
{
    char *text = make_text("\n"), path[128];
    bool named = pick(3) == 0 && !strchr(shape->text, '/') && !strchr(shape->text, '\\');
    snprintf(path, sizeof path, "/memories/%s/file-%u.md", named ? shape->text : "folder", pick(3));
    json_t *input = json_pack("{s:s, s:s, s:s}", "command", "create", "path", path, "file_text",
                              text);
    char *command = json_dumps(input, JSON_COMPACT);
    run(world, "memory.tool", json_pack("{s:s}", "input", command), false, NULL);
    json_decref(input);
    free(command);
    free(text);
}

/* By hand, with the line ends of another system; a save that is older than what stands there is one, too. */
static void edit_outside(struct world *world)
{
    static const char *const files[] = {"home/personalities/default/MEMORY.md", "home/MEMORY.md",
                                        "home/personalities/default/hand.md"};
    const char *path = files[pick(COUNT(files))];
    struct str text;
    char *old = world_exists(world, path) ? temp_read(&world->temp, path, NULL) : strdup("");
    char *more = make_text(pick(2) ? "\r\n" : "\n");
    str_init(&text, SIZE_MAX);
    str_printf(&text, "%s%s%s", pick(4) ? old : "", more, pick(3) ? "\n" : "");
    world_put(world, path, text.data);
    str_release(&text);
    free(old);
    free(more);
}

static void make_conflict(struct world *world)
{
    char *base = make_text("\n"), *text = make_text("\n");
    run(world, "memory.save", json_pack("{s:s, s:s}", "content", text, "base", base), false, NULL);
    free(base);
    free(text);
}

static void talk(struct world *world)
{
    char *text = make_text("\n"), *other = make_text("\n"), *title = make_title();
    json_t *calls = json_pack("[{s:s, s:s, s:{s:s}}]", "id", "c1", "name", "sh", "input", "text",
                              other);
    char *packed = json_dumps(calls, JSON_COMPACT | (pick(2) ? JSON_ENSURE_ASCII : 0));
    run(world, "sessions.append", json_pack("{s:s}", "content", text), false, NULL);
    run(world, "sessions.append",
        json_pack("{s:s, s:s, s:s}", "content", other, "role", "assistant", "toolCalls", packed),
        false, NULL);
    run(world, "sessions.append",
        json_pack("{s:s, s:s, s:s}", "content", text, "role", "tool_result", "toolCallId", "c1"),
        false, NULL);
    run(world, "sessions.append", json_pack("{s:s, s:s}", "content", "done", "role", "assistant"),
        false, NULL);
    if (pick(3) == 0)
        run(world, "apiKeys.create",
            json_pack("{s:s, s:[s]}", "name", title, "scope", "memory:read"), false, NULL);
    json_decref(calls);
    free(packed);
    free(text);
    free(other);
    free(title);
}

/* Files of other programs and of other times. */
static void put_files(struct world *world)
{
    static const char *const lines[] = {"home/personalities/default/memory-pending.jsonl",
                                        "home/personalities/default/memory-tombstones.jsonl"};
    static const char *const objects[] = {"home/personalities/default/memory-meta.json",
                                          "home/hooks/refused/0123456789abcdef.json",
                                          "home/drafts/one.json"};
    static const char *const texts[] = {"home/logs/serve.log", "home/drafts/two.txt",
                                        "home/personalities/default/.mem/tmp/left.draft",
                                        "home/personalities/default/.mem/edit/MEMORY.md"};
    for (size_t i = 0; i < COUNT(lines) + COUNT(objects) + COUNT(texts); i++) {
        char *one = make_text("\n"), *two = make_text(i % 2 ? "\r\n" : "\n");
        json_t *value = json_pack("{s:s, s:[s, {s:s}]}", "content", one, "rows", two, "more", one);
        char *json = json_dumps(value, JSON_COMPACT | (pick(2) ? JSON_ENSURE_ASCII : 0));
        struct str out;
        str_init(&out, SIZE_MAX);
        if (i < COUNT(lines))
            str_printf(&out, "%s\n{\"" KEEP "%u\":1}\n", json, ++lines_made);
        else if (i < COUNT(lines) + COUNT(objects))
            str_printf(&out, "%s\n", json);
        else
            str_printf(&out, "%s\n%s\n", one, two);
        world_put(world,
                  i < COUNT(lines)                    ? lines[i]
                  : i < COUNT(lines) + COUNT(objects) ? objects[i - COUNT(lines)]
                                                      : texts[i - COUNT(lines) - COUNT(objects)],
                  out.data);
        str_release(&out);
        json_decref(value);
        free(json);
        free(one);
        free(two);
    }
}

static void fill(struct world *world)
{
    static void (*const steps[])(struct world *) = {change_memory, change_memory, change_profile,
                                                    change_notes,  change_tree,   edit_outside,
                                                    make_conflict, talk};
    for (int i = 0; i < STEPS; i++)
        steps[pick(COUNT(steps))](world);
    for (int i = 0; i < 8;
         i++) // edits made outside are recorded, and merged, before they are counted
        run(world, "conflicts.list", json_object(), false, NULL);
    run(world, "memory.history", json_pack("{s:s}", "scope", "global"), false, NULL);
    put_files(world);
}

/* ---- what must stay ------------------------------------------------------------------------- */

/* How often each line and text that stays is there, over all files. */
static json_t *kept;
static bool added_to;      /* others add entries, which trims the end of a file */
static struct str held_by; /* files that hold the text */

static void note_kept(const char *data, size_t size)
{
    while (added_to && size > 0 && strchr(" \r", data[size - 1]))
        size--;
    char *line = strndup(data, size);
    bool slug = shape->slug &&
                strcasestr(line, shape->slug); // it may be a link that gets another name
    if (strstr(line, KEEP) && !is_held_by(line, size) && !slug) {
        json_int_t before = json_integer_value(json_object_get(kept, line));
        json_object_set_new_nocheck(kept, line, json_integer(before + 1));
    }
    free(line);
}

static void note_lines(const char *data, size_t size)
{
    while (size > 0) {
        const char *newline = memchr(data, '\n', size);
        size_t length = newline ? (size_t)(newline - data) : size;
        note_kept(data, length);
        data += length + (newline != NULL);
        size -= length + (newline != NULL);
    }
}

static void note_values(const json_t *value)
{
    const char *name;
    size_t index;
    json_t *member;
    if (json_is_string(value))
        note_lines(json_string_value(value), json_string_length(value));
    json_object_foreach ((json_t *)value, name, member)
        note_values(member);
    json_array_foreach ((json_t *)value, index, member)
        note_values(member);
}

static bool ends(const char *path, const char *end)
{
    size_t size = strlen(path);
    return size >= strlen(end) && strcmp(path + size - strlen(end), end) == 0;
}

/* The history is looked at by the doctor; what else is a text counts. */
static void note_file(const char *path, const char *data, size_t size)
{
    json_t *json = ends(path, ".json") ? json_loadb(data, size, 0, NULL) : NULL;
    bool past = strstr(path, "memory-history") || strstr(path, "history-blobs") ||
                strstr(path, ".db") || strstr(path, "/.mem/tmp/") || ends(path, "/.mem/index");
    if (json)
        note_values(json);
    else if (!past)
        note_lines(data, size);
    json_decref(json);
}

static int look_at_file(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)walk;
    if (type == FTW_F && status->st_size > 0) {
        char *data = malloc((size_t)status->st_size);
        FILE *in = fopen(path, "r");
        size_t size = in ? fread(data, 1, (size_t)status->st_size, in) : 0;
        if (in)
            fclose(in);
        note_file(path, data, size);
        if (is_held_by(data, size))
            str_printf(&held_by, "%s\n", path);
        free(data);
    }
    if (holds(path, strlen(path)))
        str_printf(&held_by, "the name %s\n", path);
    return 0;
}

static int note_message(void *arg, const struct ethos_message *message)
{
    json_t *calls = message->tool_calls ? json_loads(message->tool_calls, 0, NULL) : NULL;
    (void)arg;
    note_lines(message->content.data, message->content.size);
    note_values(calls);
    json_decref(calls);
    return ETHOS_OK;
}

struct ids {
    char list[16][ETHOS_UUID_SIZE];
    size_t count;
};

static int note_session(void *arg, const struct ethos_session *session)
{
    struct ids *ids = arg;
    if (ids->count < COUNT(ids->list))
        snprintf(ids->list[ids->count++], ETHOS_UUID_SIZE, "%s", session->id);
    return ETHOS_OK;
}

static int note_key(void *arg, const struct ethos_key *key)
{
    (void)arg;
    note_lines(key->name, strlen(key->name));
    return ETHOS_OK;
}

/* Everything that stays, counted; owned. held_by is set, too. */
static json_t *look(struct world *world)
{
    char cursor[ETHOS_CURSOR_SIZE];
    struct ids ids = {.count = 0};
    const struct ethos_session_query all = {.limit = COUNT(ids.list)};
    struct ethos_sessions *store = open_sessions(world);
    kept = json_object();
    str_clear(&held_by);
    assert_int_equal(nftw(world->home, look_at_file, 32, FTW_PHYS), 0);
    assert_ok(world, store->ops->list(store, &all, note_session, &ids, cursor, &world->error));
    for (size_t i = 0; i < ids.count; i++)
        assert_ok(world,
                  store->ops->messages(store, ids.list[i], 0, note_message, NULL, &world->error));
    assert_ok(world, store->ops->keys(store, note_key, NULL, &world->error));
    json_t *all_kept = kept;
    kept = NULL;
    return all_kept;
}

static void assert_all_there(const json_t *before, const json_t *after, uint64_t seed)
{
    const char *line;
    json_t *count;
    json_object_foreach ((json_t *)before, line, count)
        if (json_integer_value(json_object_get(after, line)) < json_integer_value(count))
            fail_msg("seed %llu, '%s': %lld of %lld are left of: %s", (unsigned long long)seed,
                     shape->text, (long long)json_integer_value(json_object_get(after, line)),
                     (long long)json_integer_value(count), line);
}

/* ---- forgetting ----------------------------------------------------------------------------- */

static json_t *forget_args(void)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "text", shape->text, "everywhere", 1, "substring",
                     shape->substring, "ignoreCase", shape->any_case);
}

/* The counts of a report, as text; owned. */
static char *counts_of(const json_t *report)
{
    static const char *const names[] = {"lines", "versions", "blobs",    "conflicts", "names",
                                        "calls", "scopes",   "sessions", "files"};
    json_t *counts = json_object();
    for (size_t i = 0; i < COUNT(names); i++)
        if (json_object_get(report, names[i]))
            json_object_set(counts, names[i], json_object_get(report, names[i]));
    char *text = json_dumps(counts, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(counts);
    return text;
}

static void assert_preview_agrees(struct world *world, uint64_t seed)
{
    json_t *preview = NULL, *report = NULL;
    assert_ok(world, run(world, "memory.forget", forget_args(), true, &preview));
    assert_ok(world, run(world, "memory.forget", forget_args(), false, &report));
    char *expected = counts_of(preview), *found = counts_of(report);
    if (strcmp(expected, found) != 0)
        fail_msg("seed %llu, '%s': the preview says %s, the report %s", (unsigned long long)seed,
                 shape->text, expected, found);
    free(expected);
    free(found);
    json_decref(preview);
    json_decref(report);
}

/* A process that writes lines, and notes those that were acknowledged. */
static pid_t start_writer(struct world *world, unsigned number, bool secret)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    char name[32];
    snprintf(name, sizeof name, "acks-%u", number);
    chance += number * 7919u;
    world->ethos = NULL;
    world_open(world);
    FILE *acks = fdopen(openat(world->temp.fd, name, O_CREAT | O_WRONLY | O_APPEND, 0600), "a");
    for (int i = 0; i < WRITES; i++) {
        char line[160];
        snprintf(line, sizeof line, KEEP "by %u-%d%s%s", number, i,
                 secret && i % 4 == 0 ? "\nwith " : "",
                 secret && i % 4 == 0 ? shape->forms[0] : "");
        bool said = i % 3 == 0;
        int code = said ? run(world, "sessions.append", json_pack("{s:s}", "content", line), false,
                              NULL)
                        : run(world, "memory.add",
                              json_pack("{s:s, s:s}", "content", line, "scope", some_scope()),
                              false, NULL);
        if (code == ETHOS_OK) {
            fprintf(acks, KEEP "by %u-%d\n", number, i);
            fflush(acks);
        }
    }
    _exit(0);
}

static void assert_acknowledged(struct world *world, unsigned number, const json_t *after,
                                uint64_t seed)
{
    char name[32];
    snprintf(name, sizeof name, "acks-%u", number);
    char *acks = temp_read(&world->temp, name, NULL);
    size_t count = 0;
    for (char *rest = acks, *line; (line = strsep(&rest, "\n")) && *line; count++)
        if (!json_object_get(after, line))
            fail_msg("seed %llu: what was acknowledged is gone: %s", (unsigned long long)seed,
                     line);
    assert_true(count > 0);
    free(acks);
}

static void forget_beside_writers(struct world *world, uint64_t seed)
{
    pid_t writers[3];
    world_close(world);
    for (unsigned i = 0; i < COUNT(writers); i++)
        writers[i] = start_writer(world, i + 1, i == 0);
    world_open(world);
    int code = run(world, "memory.forget", forget_args(), false, NULL);
    if (code != ETHOS_OK && code != ETHOS_BUSY)
        fail_msg("seed %llu: %s", (unsigned long long)seed, world->error.text);
    for (unsigned i = 0; i < COUNT(writers); i++) {
        int status;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    code = run(world, "memory.forget", forget_args(), false, NULL);
    assert_true(code == ETHOS_OK || code == ETHOS_NOTFOUND);
}

/* The history leads to every version, and nothing else is wrong. */
static void assert_in_order(struct world *world, uint64_t seed)
{
    json_t *report = NULL, *finding;
    size_t index;
    assert_ok(world, run(world, "meta.health", json_object(), false, &report));
    json_array_foreach (json_object_get(report, "findings"), index, finding) {
        char *text = json_dumps(finding, JSON_COMPACT);
        if (strstr(text, "\"severity\":\"error\""))
            fail_msg("seed %llu, '%s': %s", (unsigned long long)seed, shape->text, text);
        free(text);
    }
    json_decref(report);
}

static void forget_one(struct world *world, uint64_t seed)
{
    chance = seed * 0x9E3779B97F4A7C15u + 1;
    lines_made = 0;
    shape = &shapes[seed % COUNT(shapes)];
    world_remove(world, "home");
    for (unsigned i = 1; i <= 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "acks-%u", i);
        unlinkat(world->temp.fd, name, 0);
    }
    world_put(world, "home/config.yaml", "user.id: me\n");
    world_open(world);
    fill(world);
    bool writers = added_to = seed / COUNT(shapes) % 2;
    json_t *before = look(world);
    if (!held_by.size)
        fail_msg("seed %llu: nothing holds '%s'", (unsigned long long)seed, shape->text);
    if (writers)
        forget_beside_writers(world, seed);
    else
        assert_preview_agrees(world, seed);
    assert_int_equal(run(world, "memory.forget", forget_args(), false, NULL), ETHOS_NOTFOUND);
    world_close(world);
    json_t *after = look(world);
    if (held_by.size && getenv("ETHOS_STOP")) {
        fprintf(stderr, "%s\n", held_by.data);
        pause();
    }
    if (held_by.size)
        fail_msg("seed %llu: '%s' is still in %s", (unsigned long long)seed, shape->text,
                 held_by.data);
    assert_all_there(before, after, seed);
    for (unsigned i = 1; writers && i <= 3; i++)
        assert_acknowledged(world, i, after, seed);
    assert_in_order(world, seed);
    world_close(world);
    json_decref(before);
    json_decref(after);
}

static void test_nothing_holds_it_and_everything_else_is_there(void **state)
{
    const char *only = getenv("ETHOS_SEED");
    str_init(&held_by, SIZE_MAX);
    for (uint64_t seed = only ? strtoull(only, NULL, 10) : 1; seed <= SEEDS || only; seed++) {
        forget_one(*state, seed);
        if (only)
            break;
    }
    str_release(&held_by);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_LOOP(test_nothing_holds_it_and_everything_else_is_there),
    };
    return cmocka_run_group_tests_name("ops/forget", tests, NULL, NULL);
}

/*
 * test_stale_editor.c: an editor buffer that is older than an operation and is saved after it.
 *
 * Every operation that writes, with a buffer read before it and saved after it: without an edit, with
 * one elsewhere, with one in the same place; with an add in between or not. At the next access each
 * change that was acknowledged stands in the file or is listed: by an event with its undo command or
 * by a conflict copy. What the person typed stands in the file.
 */
#include "../memory/world.h"

#include "base/json.h"
#include "ops/op.h"

#define LINES                                                                                      \
    "alpha is the first\n\nbravo is the second\n\ncharlie is the third\n\ndelta is the fourth\n\n" \
    "echo is the fifth\n\nfoxtrot is the sixth\n"
#define QUOTED                                                                                     \
    "alpha is the first\\n\\nbravo is the second\\n\\ncharlie is the third\\n\\ndelta is the "     \
    "fourth\\n\\necho is the fifth\\n\\nfoxtrot is the sixth\\n"
#define CHANGED                                                                                    \
    "alpha is the first\\n\\nbravo is the second\\n\\ncharlie was changed\\n\\ndelta is the "      \
    "fourth\\n\\necho is the fifth\\n\\nfoxtrot is the sixth\\n"

struct step {
    const char *op, *args;
};

/* The file that somebody has open is below the personality's directory. */
struct operation {
    const char *name;
    const char *file;
    struct step setup[3], does;
    struct step access; /* the next access, if conflicts.list is none */
    const char *place;  /* a line that is near what it does */
};

#define WRITE                                                                                      \
    {                                                                                              \
        "memory.write", "{\"content\":\"" QUOTED "\"}"                                             \
    }
#define TOOL(json)                                                                                 \
    {                                                                                              \
        "memory.tool", "{\"scope\":\"personality\",\"input\":\"" json "\"}"                        \
    }
#define TOOL_FILE                                                                                  \
    TOOL("{\\\"command\\\":\\\"create\\\",\\\"path\\\":\\\"/memories/a.md\\\",\\\"file_text\\\":"  \
         "\\\"one of it\\\\ntwo of it\\\\nthree of it\\\\nfour of it\\\\nfive of it\\\\n\\\"}")
#define NOTE                                                                                       \
    {                                                                                              \
        "notes.remember",                                                                          \
            "{\"scope\":\"personality\",\"title\":\"Servers\",\"content\":\"the first of them\"}"  \
    }
#define OTHER_NOTE                                                                                 \
    {                                                                                              \
        "notes.remember",                                                                          \
            "{\"scope\":\"personality\",\"title\":\"Printers\",\"content\":\"they jam\"}"          \
    }

static const struct operation operations[] = {
    {"add", "MEMORY.md", {WRITE}, {"memory.add", "{\"content\":\"golf came\"}"}, {0}, "foxtrot"},
    {"replace",
     "MEMORY.md",
     {WRITE},
     {"memory.replace", "{\"content\":\"" CHANGED "\"}"},
     {0},
     "charlie"},
    {"write",
     "MEMORY.md",
     {WRITE},
     {"memory.write", "{\"content\":\"" CHANGED "\"}"},
     {0},
     "charlie"},
    {"remove",
     "MEMORY.md",
     {WRITE},
     {"memory.remove", "{\"substringMatch\":\"charlie\"}"},
     {0},
     "charlie"},
    {"save",
     "MEMORY.md",
     {WRITE},
     {"memory.save", "{\"base\":\"" QUOTED "\",\"content\":\"" CHANGED "\"}"},
     {0},
     "charlie"},
    {"sync",
     "MEMORY.md",
     {WRITE},
     {"memory.sync",
      "{\"updates\":\"[{\\\"action\\\":\\\"remove\\\",\\\"store\\\":\\\"memory\\\","
      "\\\"substringMatch\\\":\\\"charlie\\\"},{\\\"action\\\":\\\"add\\\",\\\"store\\\":"
      "\\\"memory\\\",\\\"content\\\":\\\"golf came\\\"},{\\\"action\\\":\\\"add\\\","
      "\\\"store\\\":\\\"user\\\",\\\"content\\\":\\\"likes tea\\\"}]\"}"},
     {0},
     "charlie"},
    {"undo",
     "MEMORY.md",
     {WRITE, {"memory.write", "{\"content\":\"" CHANGED "\"}"}},
     {"memory.undo", "{}"},
     {0},
     "charlie"},
    {"restore",
     "MEMORY.md",
     {WRITE, {"memory.write", "{\"content\":\"" CHANGED "\"}"}},
     {"memory.restore", "{\"revision\":\"1\"}"},
     {0},
     "charlie"},
    {"tool create",
     "memories/a.md",
     {TOOL_FILE},
     TOOL("{\\\"command\\\":\\\"create\\\",\\\"path\\\":\\\"/memories/a.md\\\",\\\"file_text\\\":"
          "\\\"one of it\\\\ntwo of it\\\\nthree, changed\\\\nfour of it\\\\nfive of it\\\\n\\\"}"),
     {0},
     "three"},
    {"tool str_replace",
     "memories/a.md",
     {TOOL_FILE},
     TOOL("{\\\"command\\\":\\\"str_replace\\\",\\\"path\\\":\\\"/memories/a.md\\\",\\\"old_str"
          "\\\":\\\"three of it\\\",\\\"new_str\\\":\\\"three, changed\\\"}"),
     {0},
     "three"},
    {"tool insert",
     "memories/a.md",
     {TOOL_FILE},
     TOOL("{\\\"command\\\":\\\"insert\\\",\\\"path\\\":\\\"/memories/a.md\\\",\\\"insert_line\\\""
          ":3,\\\"insert_text\\\":\\\"three and a half\\\"}"),
     {0},
     "three"},
    {"tool delete",
     "memories/a.md",
     {TOOL_FILE},
     TOOL("{\\\"command\\\":\\\"delete\\\",\\\"path\\\":\\\"/memories/a.md\\\"}"),
     {0},
     "three"},
    {"tool rename",
     "memories/a.md",
     {TOOL_FILE},
     TOOL("{\\\"command\\\":\\\"rename\\\",\\\"old_path\\\":\\\"/memories/a.md\\\",\\\"new_path"
          "\\\":\\\"/memories/b.md\\\"}"),
     {0},
     "three"},
    {"remember, in the note",
     "servers.md",
     {NOTE},
     {"notes.remember",
      "{\"scope\":\"personality\",\"title\":\"Servers\",\"replace\":true,\"content\":\"another\"}"},
     {0},
     "first"},
    {"remember, in the index", "MEMORY.md", {OTHER_NOTE, WRITE}, NOTE, {0}, "foxtrot"},
    {"notes rm, in the note",
     "servers.md",
     {NOTE},
     {"notes.remove", "{\"scope\":\"personality\",\"name\":\"servers\"}"},
     {0},
     "first"},
    {"notes rm, in the index",
     "MEMORY.md",
     {WRITE, NOTE, OTHER_NOTE},
     {"notes.remove", "{\"scope\":\"personality\",\"name\":\"servers\"}"},
     {0},
     "Servers"},
    {"notes mv, in the note",
     "servers.md",
     {NOTE},
     {"notes.move", "{\"scope\":\"personality\",\"name\":\"servers\",\"newName\":\"machines\"}"},
     {0},
     "first"},
    {"notes mv, in the index",
     "MEMORY.md",
     {WRITE, NOTE, OTHER_NOTE},
     {"notes.move", "{\"scope\":\"personality\",\"name\":\"servers\",\"newName\":\"machines\"}"},
     {0},
     "Servers"},
};

enum edit { EDIT_NONE, EDIT_ELSEWHERE, EDIT_SAME, EDITS };
static const char *const edit_names[EDITS] = {"no edit", "an edit elsewhere", "an edit there"};

struct trial {
    const struct operation *operation;
    enum edit edit;
    bool adds; /* an add comes between */
    char personality[32], path[128];
};

/* ---- running ---------------------------------------------------------------------------------- */

static json_t *run(struct world *world, const struct trial *trial, const struct step *step)
{
    const struct ethos_request request = {.personality = trial->personality, .user = "me"};
    struct op_result result;
    json_t *args = json_loads(step->args, 0, NULL), *json;
    struct op_call call = {
        .ethos = world->ethos, .request = &request, .args = args, .want_json = true, .via = "test"};
    assert_non_null(args);
    op_result_init(&result);
    memset(&world->error, 0, sizeof world->error);
    int code = op_run(op_find(step->op), &call, &result, &world->error);
    if (code != ETHOS_OK)
        fail_msg("%s: %s %s: %s", trial->operation->name, step->op, ethos_code_name(code),
                 world->error.text);
    json = json_incref(result.json);
    op_result_release(&result);
    json_decref(args);
    return json;
}

static void do_step(struct world *world, const struct trial *trial, const struct step *step)
{
    if (step->op)
        json_decref(run(world, trial, step));
}

/* ---- lines ------------------------------------------------------------------------------------ */

static bool has_line(const char *text, const char *line, size_t size)
{
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        if (strcspn(at, "\n") == size && memcmp(at, line, size) == 0)
            return true;
    }
    return false;
}

/* Whether each line that one text has and another has not is in a third (or is not, if !wanted). */
static bool all_lines(const char *text, const char *other, const char *third, bool wanted)
{
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        size_t size = strcspn(at, "\n");
        if (size > 0 && !has_line(other, at, size) && has_line(third, at, size) != wanted)
            return false;
    }
    return true;
}

/* Whether what changed from one text to another is changed in the third as well. */
static bool has_change(const char *from, const char *to, const char *third)
{
    return all_lines(to, from, third, true) && all_lines(from, to, third, false);
}

/* The text with the line that holds a word replaced. */
static char *with_line(const char *text, const char *word, const char *line)
{
    const char *at = strstr(text, word);
    char *out = NULL;
    assert_non_null(at);
    while (at > text && at[-1] != '\n')
        at--;
    assert_true(asprintf(&out, "%.*s%s%s", (int)(at - text), text, line, at + strcspn(at, "\n")) >
                0);
    return out;
}

static char *edited(const struct trial *trial, const char *stale)
{
    if (trial->edit == EDIT_NONE)
        return strdup(stale);
    if (trial->edit == EDIT_SAME)
        return with_line(stale, trial->operation->place, "typed in its place");
    char *out = NULL;
    assert_true(asprintf(&out, "typed at the top\n%s", stale) > 0);
    return out;
}

/* ---- what is listed --------------------------------------------------------------------------- */

static bool is_listed(const struct trial *trial, const json_t *list)
{
    const char *file = trial->operation->file, *key = strrchr(file, '/');
    size_t index;
    json_t *row;
    key = key ? key + 1 : file;
    json_array_foreach (json_object_get(list, "events"), index, row) {
        const char *event = json_string_value(json_object_get(row, "event"));
        bool lost = strcmp(event, "dropped") == 0 || strcmp(event, "partial") == 0;
        if (lost && json_is_string(json_object_get(row, "undo")) &&
            strcmp(json_string_value(json_object_get(row, "key")), key) == 0)
            return true;
    }
    return false;
}

static void complain(const struct trial *trial, const char *why, const char *stale,
                     const char *after, const char *saved, const char *found)
{
    fail_msg("%s, %s, %s add: %s\n---- read\n%s---- written\n%s---- saved\n%s---- found\n%s",
             trial->operation->name, edit_names[trial->edit], trial->adds ? "an" : "no", why, stale,
             after ? after : "(absent)\n", saved, found ? found : "(absent)\n");
}

/* ---- one of them ------------------------------------------------------------------------------ */

static void add_between(struct world *world, const struct trial *trial)
{
    const char *file = trial->operation->file;
    char args[128];
    bool tree = strchr(file, '/');
    if (tree || !world_exists(world, trial->path))
        return;
    snprintf(args, sizeof args, "{\"key\":\"%s\",\"content\":\"added in between\"}", file);
    do_step(world, trial, &(struct step){"memory.add", args});
}

static void try_one(struct world *world, struct trial *trial)
{
    const struct operation *operation = trial->operation;
    static const struct step list = {"conflicts.list", "{}"};
    for (size_t i = 0; i < COUNT(operation->setup); i++)
        do_step(world, trial, &operation->setup[i]);
    char *stale = temp_read(&world->temp, trial->path, NULL);
    assert_non_null(stale);
    do_step(world, trial, &operation->does);
    if (trial->adds)
        add_between(world, trial);
    char *after = temp_read(&world->temp, trial->path, NULL);
    char *saved = edited(trial, stale);
    world_put(world, trial->path, saved);
    do_step(world, trial, &operation->access);
    json_t *listed = run(world, trial, &list);
    char *found = temp_read(&world->temp, trial->path, NULL);
    bool whole = after && found && has_change(stale, after, found);
    if (!whole && !is_listed(trial, listed))
        complain(trial, "gone and not listed", stale, after, saved, found);
    if (!found || !has_change(stale, saved, found))
        complain(trial, "what was typed is gone", stale, after, saved, found);
    json_decref(listed);
    free(stale);
    free(after);
    free(saved);
    free(found);
}

static void test_no_acknowledged_change_goes_unlisted(void **state)
{
    struct world *world = *state;
    unsigned count = 0;
    world_open(world);
    for (size_t i = 0; i < COUNT(operations); i++) {
        for (unsigned way = 0; way < 2 * EDITS; way++) {
            struct trial trial = {
                .operation = &operations[i], .edit = (enum edit)(way / 2), .adds = way % 2};
            snprintf(trial.personality, sizeof trial.personality, "p-%u", count++);
            snprintf(trial.path, sizeof trial.path, "home/personalities/%s/%s", trial.personality,
                     operations[i].file);
            try_one(world, &trial);
        }
    }
    assert_int_equal(count, COUNT(operations) * EDITS * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_LOOP(test_no_acknowledged_change_goes_unlisted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

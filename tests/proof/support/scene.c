/*
 * scene.c: deeds and states.
 */
#include "scene.h"

#include <dirent.h>
#include <ethos/ethos.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "core/memory/update.h"
#include "store/store.h"

#define ROWS 200 /* lines of a big text: well over the 4,096 bytes of a diff */

const char *const deed_names[DEEDS] = {"add",      "replace", "remove",   "delete", "batch",
                                       "overflow", "restore", "remember", "move",   "group",
                                       "create",   "rename",  "erase"};
const char *const state_names[STATES] = {"exists", "absent", "link", "edited", "stale", "big"};

/* ---- in the child --------------------------------------------------------------------------- */

struct task {
    const struct scene *scene; /* NULL: an add of entry */
    const struct home *home;
    const struct how *how;
    const char *entry;
    struct outcome *out;
};

static int on_call(void *arg, const char *call, unsigned long number)
{
    struct task *task = arg;
    task->out->calls = number;
    if (!task->how->call)
        return 0;
    int errnum = task->how->call(task->how->arg, task->home, call, number);
    if (errnum)
        snprintf(task->out->failed, sizeof task->out->failed, "%s", call);
    return errnum;
}

static char *rows(const char *word)
{
    char *text = text_format("%s", "");
    for (int i = 0; i < ROWS; i++) {
        char *longer = text_format("%s%s row %d of a long note\n", text, word, i);
        free(text);
        text = longer;
    }
    return text;
}

static struct ethos_view view(const char *text)
{
    return (struct ethos_view){text, strlen(text)};
}

static int sync_deed(struct ethos_turn *turn, const struct task *task, enum deed deed, bool big,
                     const struct ethos_sync_how *how)
{
    char *more = big ? rows("new") : text_format("%s", "");
    char *text = text_format("%s\n%s", SCENE_ENTRY, more);
    struct ethos_update updates[] = {{.action = ETHOS_ACTION_ADD, .text = view(text)},
                                     {.action = ETHOS_ACTION_ADD, .key = "plan.md"}};
    if (deed == DEED_REPLACE)
        updates[0].action = ETHOS_ACTION_REPLACE;
    if (deed == DEED_DELETE)
        updates[0] = (struct ethos_update){.action = ETHOS_ACTION_DELETE};
    if (deed == DEED_REMOVE)
        updates[0] = (struct ethos_update){.action = ETHOS_ACTION_REMOVE,
                                           .text = view(big ? "row" : SCENE_SECOND)};
    updates[1].text = view("plan-0");
    int code = ethos_sync(turn, updates, deed == DEED_BATCH ? 2 : 1, how, &task->out->error);
    free(more);
    free(text);
    return code;
}

/* A note of the personality, so that its files are those of the other deeds. */
static int remember(struct ethos_turn *turn, const char *text, const struct ethos_sync_how *how,
                    struct ethos_error *error)
{
    const struct ethos_fact fact = {
        .text = view(text), .title = view(SCENE_NOTE), .scope = "personality"};
    return ethos_remember(turn, &fact, how, NULL, error);
}

/* Moved once, it has its new name; asked for again, that is as it should be. */
static int move(struct ethos_turn *turn, const struct ethos_sync_how *how,
                struct ethos_error *error)
{
    char key[ETHOS_MAX_KEY + 1];
    int code = ethos_note_move(turn, "personality", SCENE_NOTE, SCENE_NEW_NAME, how, key, error);
    return code == ETHOS_NOTFOUND &&
                   ethos_note_find(turn, "personality", SCENE_NEW_NAME, key, NULL) == ETHOS_OK
               ? ETHOS_OK
               : code;
}

/* ---- the memory tool */

#define TREE_NEW "/memories/a b/@c/new.md"
#define TREE_FROM "/memories/d"
#define TREE_TO "/memories/e/f"

/* One command; the reply of a mistake is a failure here. */
static int use_tool(struct ethos_turn *turn, const char *json, struct ethos_error *error)
{
    struct ethos_reply *reply = NULL;
    int code = ethos_memory_tool(turn, NULL, view(json), NULL, &reply, error);
    if (code == ETHOS_OK && reply->is_error) {
        code = ETHOS_CONFLICT;
        snprintf(error->text, sizeof error->text, "%.200s", reply->text);
    }
    ethos_reply_free(reply);
    return code;
}

static int create(struct ethos_turn *turn, const char *path, const char *text,
                  struct ethos_error *error)
{
    char *escaped = text_format("%s", text), *json;
    for (char *at = escaped; (at = strchr(at, '\n'));)
        *at = '|';
    json = text_format("{\"command\":\"create\",\"path\":\"%s\",\"file_text\":\"%s\"}", path,
                       escaped);
    int code = use_tool(turn, json, error);
    free(escaped);
    free(json);
    return code;
}

/* Done once, it cannot be done again; asked for again, that is as it should be. */
static int tree_deed(struct ethos_turn *turn, const struct task *task)
{
    struct ethos_error *error = &task->out->error;
    enum deed deed = task->scene->deed;
    char *text = task->scene->state == STATE_BIG ? rows("new") : text_format("%s", SCENE_ENTRY);
    int code = deed == DEED_CREATE ? create(turn, TREE_NEW, text, error)
               : deed == DEED_RENAME
                   ? use_tool(turn,
                              "{\"command\":\"rename\",\"old_path\":\"" TREE_FROM
                              "\",\"new_path\":\"" TREE_TO "\"}",
                              error)
                   : use_tool(turn, "{\"command\":\"delete\",\"path\":\"" TREE_FROM "\"}", error);
    free(text);
    if (code != ETHOS_CONFLICT)
        return code;
    const char *done = deed == DEED_ERASE ? "does not exist" : "already exists";
    return strstr(error->text, done) ? ETHOS_OK : code;
}

/* Entries go to one file of the tree; a path makes another one. */
static int tree_entry(struct ethos_turn *turn, const struct task *task,
                      const struct ethos_sync_how *how)
{
    struct ethos_update update = {.action = ETHOS_ACTION_ADD,
                                  .scope = "memories",
                                  .key = PLACE_TREE_KEY,
                                  .text = view(task->entry)};
    return task->entry[0] == '/' ? create(turn, task->entry, task->entry, &task->out->error)
                                 : ethos_sync(turn, &update, 1, how, &task->out->error);
}

/* ---- several clients at once */

#define GROUP 7
#define GROUP_SHORT "short.md" /* made and dropped within the batch */
#define GROUP_ENTRY "group-0"

/* One client: what it asks of each of its keys. */
struct client {
    const char *keys[2];
    struct ethos_update updates[2];
    const char *id; /* what its operation id ends with */
    bool refuses;
    struct str texts[2];
    struct ethos_edit edits[2];
    struct ethos_origin origin;
    struct ethos_error error;
    char op_id[32];
};

static int edit_client(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct client *client = arg;
    (void)error;
    if (client->refuses)
        return ETHOS_CONFLICT;
    for (size_t i = 0; i < count; i++) {
        struct update_effect effect;
        const struct ethos_text *old = &edits[i].old;
        str_clear(&client->texts[i]);
        int code = update_apply(&client->updates[i], 1, (struct ethos_view){old->data, old->size},
                                &client->texts[i], &effect);
        if (code != ETHOS_OK)
            return code;
        edits[i].verdict = !effect.changed  ? ETHOS_EDIT_KEEP
                           : effect.present ? ETHOS_EDIT_PUT
                                            : ETHOS_EDIT_DROP;
        edits[i].text = str_view(&client->texts[i]);
        edits[i].actions = client->updates[i].action == ETHOS_ACTION_ADD ? "add" : "remove";
    }
    return ETHOS_OK;
}

static void call_client(struct client *client, const char *op_id, struct ethos_edit_call *call)
{
    size_t count = client->keys[1] ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        client->edits[i] = (struct ethos_edit){.key = client->keys[i]};
        str_init(&client->texts[i], SIZE_MAX);
    }
    snprintf(client->op_id, sizeof client->op_id, "%s%s", op_id ? op_id : "", client->id);
    client->origin = (struct ethos_origin){.actor = "agent",
                                           .via = "test",
                                           .op_id = op_id ? client->op_id : NULL,
                                           .op_digest = op_id ? "digest" : NULL};
    *call = (struct ethos_edit_call){client->edits,   count,          edit_client,   client,
                                     &client->origin, &client->error, ETHOS_INTERNAL};
}

static void end_client(struct client *client)
{
    for (size_t i = 0; i < 2; i++) {
        free(client->edits[i].old.data);
        str_release(&client->texts[i]);
    }
}

static int group_calls(struct ethos_store *store, const struct task *task, const char *entry)
{
    static const struct ethos_update drop = {.action = ETHOS_ACTION_DELETE};
    const struct ethos_update first = {.action = ETHOS_ACTION_ADD, .text = view(entry)};
    const struct ethos_update add = {.action = ETHOS_ACTION_ADD, .text = view(GROUP_ENTRY)};
    const struct ethos_update take = {.action = ETHOS_ACTION_REMOVE, .text = view(SCENE_SECOND)};
    struct client clients[GROUP] = {
        {.keys = {"MEMORY.md"}, .updates = {first}, .id = "a"},
        {.keys = {"plan.md", "MEMORY.md"}, .updates = {add, add}, .id = "b"},
        {.keys = {"MEMORY.md"}, .updates = {add}, .id = "c", .refuses = true},
        {.keys = {"MEMORY.md"}, .updates = {first}, .id = "a"}, // again
        {.keys = {GROUP_SHORT}, .updates = {add}, .id = "d"},
        {.keys = {GROUP_SHORT}, .updates = {drop}, .id = "e"},
        {.keys = {"MEMORY.md"}, .updates = {take}, .id = "f"}};
    struct ethos_edit_call calls[GROUP];
    int code = ETHOS_OK;
    for (size_t i = 0; i < GROUP; i++)
        call_client(&clients[i], task->how->op_id, &calls[i]);
    store->ops->batch(store, "personality:default", calls, GROUP);
    for (size_t i = 0; i < GROUP; i++) {
        if (clients[i].refuses && calls[i].code == ETHOS_CONFLICT)
            calls[i].code = ETHOS_OK;
        if (code == ETHOS_OK && calls[i].code != ETHOS_OK) {
            code = calls[i].code;
            task->out->error = clients[i].error;
        }
        task->out->done |= (unsigned)(calls[i].code == ETHOS_OK) << i;
        end_client(&clients[i]);
    }
    return code;
}

static int group_deed(const struct task *task)
{
    const struct ethos_setup setup = {
        .host = &log_default_host, .root = task->home->path, .deadline_ms = 10000};
    struct ethos_store *store = NULL;
    char *more = task->scene->state == STATE_BIG ? rows("new") : text_format("%s", "");
    char *entry = text_format("%s\n%s", SCENE_ENTRY, more);
    int code = store_files.open(&setup, &store, &task->out->error);
    if (code == ETHOS_OK) {
        code = group_calls(store, task, entry);
        store->ops->close(store);
    }
    free(more);
    free(entry);
    return code;
}

bool scene_as_told(const struct scene *scene, const struct home *home, const struct outcome *out)
{
    char path[PATH_MAX];
    char *memory = path_read(home->memory, NULL);
    snprintf(path, sizeof path, "%s/plan.md", home->scope);
    char *plan = path_read(path, NULL);
    snprintf(path, sizeof path, "%s/" GROUP_SHORT, home->scope);
    char *brief = path_read(path, NULL);
    unsigned first = out->done & 1, second = out->done >> 1 & 1;
    bool took = out->done >> 6 & 1;
    bool stood = scene->before && text_lines(scene->before, SCENE_SECOND);
    bool ok = (!memory || text_lines(memory, SCENE_ENTRY) == first) && (memory || !first) &&
              text_lines(memory, GROUP_ENTRY) == second &&
              text_lines(plan, GROUP_ENTRY) == second &&
              text_lines(memory, SCENE_SECOND) == (stood && !took) &&
              (brief != NULL) == ((out->done >> 4 & 3) == 1);
    free(memory);
    free(plan);
    free(brief);
    return ok;
}

static int do_deed(struct ethos_turn *turn, const struct task *task)
{
    struct ethos_origin origin = {.actor = "agent", .via = "test", .op_id = task->how->op_id};
    struct ethos_sync_how how = {.origin = &origin};
    if (task->home->tree)
        return task->scene ? tree_deed(turn, task) : tree_entry(turn, task, &how);
    if (!task->scene) {
        struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = view(task->entry)};
        if (strcmp(task->entry, SCENE_NOTE) == 0)
            return remember(turn, task->entry, &how, &task->out->error);
        return ethos_sync(turn, &update, 1, &how, &task->out->error);
    }
    if (task->scene->deed == DEED_GROUP)
        return group_deed(task);
    if (task->scene->deed == DEED_RESTORE) {
        origin.op_id = NULL; // naming the version is enough to do it once
        return ethos_restore(turn, NULL, task->scene->first, &how, &task->out->error);
    }
    if (task->scene->deed == DEED_REMEMBER) {
        char *text = task->scene->state == STATE_BIG ? rows("new") : text_format("%s", SCENE_ENTRY);
        int code = remember(turn, text, &how, &task->out->error);
        free(text);
        return code;
    }
    if (task->scene->deed == DEED_MOVE) {
        origin.op_id = NULL; // its name is gone when it is done
        return move(turn, &how, &task->out->error);
    }
    return sync_deed(turn, task, task->scene->deed, task->scene->state == STATE_BIG, &how);
}

static int run_task(void *arg)
{
    struct task *task = arg;
    struct outcome *out = task->out;
    struct ethos_options options = {.home = task->home->path};
    struct ethos_request request = {
        .personality = "default", .user = "me", .workspace = task->home->path};
    struct ethos *memory = NULL;
    struct ethos_turn *turn = NULL;
    if (task->how->fault)
        setenv("ETHOS_FAULT", task->how->fault, 1);
    os_hook(on_call, task);
    int code = ethos_open(&options, &memory, &out->error);
    if (code == ETHOS_OK)
        code = ethos_turn_new(memory, &request, &turn, &out->error);
    if (code == ETHOS_OK)
        code = do_deed(turn, task);
    out->code = code;
    ethos_turn_free(turn);
    ethos_close(memory);
    return 0;
}

static int start_task(struct task *task)
{
    static const struct how plain;
    if (!task->how)
        task->how = &plain;
    *task->out = (struct outcome){.code = 1};
    return child_run(run_task, task);
}

int scene_do(const struct scene *scene, const struct home *home, const struct how *how,
             struct outcome *out)
{
    struct task task = {.scene = scene, .home = home, .how = how, .out = out};
    return start_task(&task);
}

int scene_add(const struct home *home, const char *op_id, const char *entry, struct outcome *out)
{
    struct how how = {.op_id = op_id};
    struct task task = {.home = home, .how = &how, .entry = entry, .out = out};
    return start_task(&task);
}

/* ---- states --------------------------------------------------------------------------------- */

bool scene_fits(enum deed deed, enum state state)
{
    if (deed >= DEED_CREATE && state == STATE_LINK)
        return false; // a tree follows none
    if (deed == DEED_CREATE && (state == STATE_EDITED || state == STATE_STALE))
        return false; // that file is not looked at
    if (deed == DEED_OVERFLOW)
        return state == STATE_EXISTS || state == STATE_LINK || state == STATE_EDITED;
    if (deed == DEED_DELETE && state == STATE_LINK)
        return false; // refused: it is not clear what is meant
    return state != STATE_ABSENT || deed == DEED_ADD || deed == DEED_REPLACE ||
           deed == DEED_BATCH || deed == DEED_GROUP || deed == DEED_REMEMBER || deed == DEED_CREATE;
}

static void must_add(const struct home *home, const char *entry, struct outcome *out)
{
    if (scene_add(home, NULL, entry, out) != 0 || out->code != ETHOS_OK) {
        proof_note("%s: %s", entry, out->error.text);
        proof_die("the state could not be made");
    }
}

void scene_parents(const struct home *home)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", home->memory);
    for (char *slash = path + strlen(home->path); (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
}

/* The file as people leave it before the first agent comes. */
static void put_first_text(const struct scene *scene, const struct home *home)
{
    char path[PATH_MAX], *text = text_format("%s", "");
    if (scene->deed == DEED_OVERFLOW) {
        free(text);
        text = malloc(ETHOS_MAX_FILE_CH);
        if (!text)
            proof_die("text");
        for (size_t i = 0; i < ETHOS_MAX_FILE_CH; i++)
            text[i] = i % 64 == 63 ? '\n' : (char)('a' + i / 64 % 26);
        text[ETHOS_MAX_FILE_CH - 60] = 0;
    } else if (scene->state == STATE_BIG) {
        free(text);
        text = rows("old");
    }
    scene_parents(home);
    if (scene->state == STATE_LINK) {
        snprintf(path, sizeof path, "%s/kept", home->path);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/kept/notes.md", home->path);
        path_put(path, *text ? text : "kept\n");
        if (symlink("../../kept/notes.md", home->memory) != 0)
            proof_die(home->memory);
    } else if (*text) {
        path_put(home->memory, text);
    }
    free(text);
}

static void edit_outside(const struct scene *scene, const struct home *home)
{
    char *text = path_read(home->memory, NULL);
    const char *from = scene->state == STATE_STALE ? scene->stale : text;
    char *edited = text_format("%s\n%s\n", from, SCENE_EDIT);
    path_put(home->memory, edited);
    free(text);
    free(edited);
}

void scene_make(struct scene *scene, enum deed deed, enum state state)
{
    *scene = (struct scene){.deed = deed, .state = state};
    struct outcome *out = shared_make(sizeof *out);
    place_make(&scene->start, PLACE_MEMORY);
    place_look(&scene->start, deed >= DEED_CREATE);
    if (state != STATE_ABSENT) {
        put_first_text(scene, &scene->start);
        must_add(&scene->start, SCENE_FIRST, out);
        size_t size;
        scene->stale = path_read(scene->start.memory, &size);
        text_hash(scene->stale, size, scene->first);
        must_add(&scene->start, SCENE_SECOND, out);
        must_add(&scene->start, SCENE_THIRD, out);
        if (deed == DEED_MOVE)
            must_add(&scene->start, SCENE_NOTE, out);
        if (deed == DEED_RENAME || deed == DEED_ERASE) {
            must_add(&scene->start, TREE_FROM "/x y.txt", out);
            must_add(&scene->start, TREE_FROM "/sub/deep/z.md", out);
            must_add(&scene->start, TREE_FROM "/sub/\xc3\xa9.md", out);
        }
    }
    if (state == STATE_EDITED || state == STATE_STALE)
        edit_outside(scene, &scene->start);
    scene->before = path_read(scene->start.memory, NULL);
}

void scene_free(struct scene *scene)
{
    place_remove(&scene->start);
    free(scene->before);
    free(scene->stale);
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* Archives tell when; two runs of one deed may differ in that alone. */
static void blank_moments(char *text)
{
    for (char *at = text; (at = strstr(at, "archived ")); at++)
        for (char *moment = at + strlen("archived "); *moment && *moment != ' '; moment++)
            *moment = '#';
}

/* Adds what is in a directory of a tree, and below; counts those that hold nothing. */
static void add_tree(const char *dir, const char *path, char **all, unsigned *hollow)
{
    struct dirent **entries;
    int count = scandir(dir, &entries, NULL, alphasort), shown = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char *full = text_format("%s/%s", dir, name), *key = text_format("%s/%s", path, name);
        bool ours = *path == 0 && (strncmp(name, "memory-history", 14) == 0 ||
                                   strcmp(name, "history-blobs") == 0);
        struct stat st;
        if (name[0] != '.' && !ours && lstat(full, &st) == 0) {
            char *text = S_ISREG(st.st_mode) ? path_read(full, NULL) : NULL;
            char *longer = text_format("%s%s%s%s%s", *all, text ? "== " : "", text ? key : "",
                                       text ? "\n" : "", text ? text : "");
            free(*all);
            *all = longer;
            free(text);
            if (S_ISDIR(st.st_mode))
                add_tree(full, key, all, hollow);
            shown++;
        }
        free(full);
        free(key);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    *hollow += count >= 0 && shown == 0 && *path;
}

unsigned scene_hollow(const struct home *home)
{
    char *all = text_format("%s", "");
    unsigned hollow = 0;
    if (home->tree)
        add_tree(home->scope, "", &all, &hollow);
    free(all);
    return hollow;
}

char *scene_texts(const struct home *home)
{
    static const char *const keys[] = {"MEMORY.md", "plan.md",        "memory-archive.md",
                                       GROUP_SHORT, SCENE_NOTE ".md", SCENE_NEW_NAME ".md"};
    char *all = text_format("%s", ""), path[PATH_MAX];
    unsigned hollow = 0;
    if (home->tree)
        add_tree(home->scope, "", &all, &hollow);
    for (size_t i = 0; !home->tree && i < sizeof keys / sizeof *keys; i++) {
        snprintf(path, sizeof path, "%s/%s", home->scope, keys[i]);
        char *text = path_read(path, NULL);
        char *longer = text ? text_format("%s== %s\n%s", all, keys[i], text) : NULL;
        if (longer) {
            free(all);
            all = longer;
        }
        free(text);
    }
    blank_moments(all);
    return all;
}

/* ---- plans ---------------------------------------------------------------------------------- */

void plan_make(struct plan *plan, enum deed deed, enum state state)
{
    struct home home;
    struct how how = {.op_id = OP_ID};
    struct outcome *out = shared_make(sizeof *out);
    scene_make(&plan->scene, deed, state);
    place_make(&home, PLACE_MEMORY);
    place_copy(&plan->scene.start, &home);
    plan->before = scene_texts(&home);
    scene_do(&plan->scene, &home, &how, out);
    if (out->code != ETHOS_OK)
        proof_say(false, "%s, %s: undisturbed it fails: %s", deed_names[deed], state_names[state],
                  out->error.text);
    plan->calls = out->calls;
    plan->right = scene_texts(&home);
    place_remove(&home);
}

void plan_free(struct plan *plan)
{
    scene_free(&plan->scene);
    free(plan->before);
    free(plan->right);
}

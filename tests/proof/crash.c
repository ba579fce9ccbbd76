/*
 * crash.c: every state in which a power cut could leave the disk, from a log of what was done.
 *
 * Two operations run one after the other while everything they do to files is logged. For each
 * moment the states of the disk are made that a cut then could leave: bytes that were not synced are
 * there, are missing, are there by half, or are zeros; names that were not synced through their
 * directory
 *
 *     ordered       reached the disk up to some moment, as with a journal of metadata
 *     independent   reached the disk or not, each by itself
 *
 * On each state the clients send both operations again. Then the texts are those of a run without a
 * cut, the history is whole and nothing is left; and an operation that had been acknowledged was there
 * before anything was sent again.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <search.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "support/crash_log.h"
#include "support/ledger.h"
#include "support/scene.h"

#define WARM "warm-0" /* the entry of the first operation */
#define WARM_ID "op:0"
#define MOST_NODES 256
#define MOST_NAMES 256
#define MOST_PENDING 64
#define MOST_FATES 3 /* unsynced files whose fates are tried in all combinations */
#define MASKED 6     /* unsynced names that are tried in all combinations, the newest ones */

enum fate { FATE_THERE, FATE_MISSING, FATE_HALF, FATE_ZEROS, FATES };

struct node {
    ino_t inode;
    char *data; /* what is safe */
    size_t size;
    struct timespec changed;        /* when those bytes were written */
    unsigned pending[MOST_PENDING]; /* events since then */
    unsigned pending_count;
    enum fate fate;
};

struct name {
    char path[NAME_SIZE];
    ino_t inode; /* 0: none */
    bool dir;
};

/* A disk at a moment: what is safe, and what may be. */
struct disk {
    struct node nodes[MOST_NODES];
    unsigned node_count;
    struct name names[MOST_NAMES];
    unsigned name_count;
    unsigned pending[MOST_EVENTS]; /* EVENT_NAMES and EVENT_MKDIR */
    unsigned pending_count;
    unsigned answers;
};

struct tally {
    atomic_uint states, lost, torn, wrong, refused, bad_history;
};

struct shared {
    struct tally tally;
    struct outcome outcome[WORKERS];
    struct crash_log log;
};

struct trial {
    struct scene scene;
    struct disk *start;
    char *right, *before;
    bool ordered;
};

static struct shared *shared;

/* ---- disk ----------------------------------------------------------------------------------- */

static struct node *node_of(struct disk *disk, ino_t inode)
{
    for (unsigned i = 0; i < disk->node_count; i++)
        if (disk->nodes[i].inode == inode)
            return &disk->nodes[i];
    if (disk->node_count == MOST_NODES)
        proof_die("too many inodes");
    struct node *node = &disk->nodes[disk->node_count++];
    *node = (struct node){.inode = inode};
    return node;
}

static struct name *name_of(struct disk *disk, const char *path)
{
    for (unsigned i = 0; i < disk->name_count; i++)
        if (strcmp(disk->names[i].path, path) == 0)
            return &disk->names[i];
    if (disk->name_count == MOST_NAMES)
        proof_die("too many names");
    struct name *name = &disk->names[disk->name_count++];
    snprintf(name->path, sizeof name->path, "%s", path);
    name->inode = 0;
    name->dir = false;
    return name;
}

struct scan {
    struct disk *disk;
    size_t root;
};

static void scan_one(void *arg, const char *dir, const char *file)
{
    struct scan *scan = arg;
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, file);
    if (lstat(path, &st) != 0)
        proof_die(path);
    struct name *name = name_of(scan->disk, path + scan->root + 1);
    name->inode = st.st_ino;
    name->dir = S_ISDIR(st.st_mode);
    if (name->dir) {
        dir_each(path, scan_one, scan);
    } else {
        struct node *node = node_of(scan->disk, st.st_ino);
        node->data = path_read(path, &node->size);
        node->changed = st.st_mtim;
    }
}

static struct disk *disk_scan(const struct home *home)
{
    struct disk *disk = calloc(1, sizeof *disk);
    struct scan scan = {disk, strlen(home->path)};
    if (!disk)
        proof_die("crash");
    dir_each(home->path, scan_one, &scan);
    return disk;
}

static void disk_free(struct disk *disk)
{
    for (unsigned i = 0; i < disk->node_count; i++)
        free(disk->nodes[i].data);
    free(disk);
}

/* Does one logged change to a text. */
static void change(char **data, size_t *size, const struct event *event, size_t bytes, bool zeros)
{
    size_t end = event->kind == EVENT_TRUNCATE ? event->offset : event->offset + bytes;
    bool grows = end > *size || event->kind == EVENT_TRUNCATE;
    if (grows) {
        *data = realloc(*data, end + 1);
        if (!*data)
            proof_die("crash");
        if (end > *size)
            memset(*data + *size, 0, end - *size);
        *size = end;
    }
    if (event->kind == EVENT_WRITE && !zeros)
        memcpy(*data + event->offset, shared->log.bytes + event->data, bytes);
}

/* The bytes of a node as its fate has it. */
static char *node_text(const struct node *node, size_t *size)
{
    char *data = malloc(node->size + 1);
    if (!data)
        proof_die("crash");
    if (node->size)
        memcpy(data, node->data, node->size);
    *size = node->size;
    for (unsigned i = 0; node->fate != FATE_MISSING && i < node->pending_count; i++) {
        const struct event *event = &shared->log.events[node->pending[i]];
        bool last = i + 1 == node->pending_count;
        size_t bytes = last && node->fate == FATE_HALF ? event->size / 2 : event->size;
        change(&data, size, event, bytes, node->fate == FATE_ZEROS);
    }
    return data;
}

/* When the bytes that its fate left were written. */
static struct timespec node_changed(const struct node *node)
{
    if (node->fate == FATE_MISSING || node->pending_count == 0)
        return node->changed;
    return shared->log.events[node->pending[node->pending_count - 1]].changed;
}

static void settle_node(struct node *node)
{
    size_t size;
    node->fate = FATE_THERE;
    node->changed = node_changed(node);
    char *data = node_text(node, &size);
    free(node->data);
    node->data = data;
    node->size = size;
    node->pending_count = 0;
}

static void apply_names(struct disk *disk, const struct event *event)
{
    if (event->kind == EVENT_MKDIR) {
        name_of(disk, event->name[0])->dir = true;
        return;
    }
    for (int i = 0; i < 2 && *event->name[i]; i++) {
        struct name *name = name_of(disk, event->name[i]);
        name->inode = event->meaning[i];
        name->dir = false;
    }
}

static bool is_in(const char *path, const char *dir)
{
    size_t size = strlen(dir);
    if (size == 0)
        return !strchr(path, '/');
    return strncmp(path, dir, size) == 0 && path[size] == '/' && !strchr(path + size + 1, '/');
}

/* A directory was synced: its names are safe; with a journal so is all that came before them. */
static void settle_names(struct disk *disk, const char *dir, bool ordered)
{
    unsigned kept = 0, last = 0;
    for (unsigned i = 0; i < disk->pending_count; i++) {
        const struct event *event = &shared->log.events[disk->pending[i]];
        if (is_in(event->name[0], dir) || (*event->name[1] && is_in(event->name[1], dir)))
            last = i + 1;
    }
    for (unsigned i = 0; i < disk->pending_count; i++) {
        const struct event *event = &shared->log.events[disk->pending[i]];
        bool safe = ordered ? i < last
                            : is_in(event->name[0], dir) ||
                                  (*event->name[1] && is_in(event->name[1], dir));
        if (safe)
            apply_names(disk, event);
        else
            disk->pending[kept++] = disk->pending[i];
    }
    disk->pending_count = kept;
}

static void disk_step(struct disk *disk, unsigned number, bool ordered)
{
    const struct event *event = &shared->log.events[number];
    struct node *node;
    switch (event->kind) {
    case EVENT_WRITE:
    case EVENT_TRUNCATE:
        node = node_of(disk, event->inode);
        if (node->pending_count == MOST_PENDING)
            proof_die("too much unsynced");
        node->pending[node->pending_count++] = number;
        break;
    case EVENT_SYNC:
        settle_node(node_of(disk, event->inode));
        break;
    case EVENT_SYNC_DIR:
        settle_names(disk, event->name[0], ordered);
        break;
    case EVENT_NAMES:
    case EVENT_MKDIR:
        disk->pending[disk->pending_count++] = number;
        break;
    case EVENT_ANSWER:
        disk->answers++;
        break;
    }
}

/* ---- one state ------------------------------------------------------------------------------ */

static bool parent_is_there(struct disk *disk, const char *path)
{
    char parent[NAME_SIZE];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (!slash)
        return true;
    *slash = 0;
    return name_of(disk, parent)->dir && parent_is_there(disk, parent);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->path, ((const struct name *)b)->path);
}

/* Everything that can be reached, as one text that tells two states apart. */
static char *describe(struct disk *disk, size_t *out_size)
{
    char *all = NULL;
    FILE *stream = open_memstream(&all, out_size);
    if (!stream)
        proof_die("crash");
    qsort(disk->names, disk->name_count, sizeof *disk->names, by_path);
    for (unsigned i = 0, count = disk->name_count; i < count; i++) {
        const struct name *name = &disk->names[i];
        if ((!name->inode && !name->dir) || !parent_is_there(disk, name->path))
            continue;
        fprintf(stream, "%s%c", name->path, name->dir ? '/' : 0);
        if (!name->dir) {
            size_t size;
            char *text = node_text(node_of(disk, name->inode), &size);
            fprintf(stream, "%zu", size);
            fwrite(text, 1, size, stream);
            free(text);
        }
    }
    fclose(stream);
    return all;
}

static void make_file(const char *path, const struct node *node)
{
    size_t size;
    struct stat st;
    char *text = node_text(node, &size);
    path_write(path, text, size);
    if (stat(path, &st) != 0 || crash_face_count == MOST_FACES)
        proof_die(path);
    crash_faces[crash_face_count++] = (struct face){st.st_ino, node->inode, st.st_mtim,
                                                    node_changed(node)};
    free(text);
}

static void materialise(struct disk *disk, const struct home *home)
{
    char path[PATH_MAX];
    tree_remove(home->path);
    if (mkdir(home->path, 0700) != 0)
        proof_die(home->path);
    crash_face_count = 0;
    for (unsigned i = 0, count = disk->name_count; i < count; i++) { // sorted: parents come first
        const struct name *name = &disk->names[i];
        if ((!name->inode && !name->dir) || !parent_is_there(disk, name->path))
            continue;
        snprintf(path, sizeof path, "%s/%s", home->path, name->path);
        if (name->dir) {
            if (mkdir(path, 0700) != 0)
                proof_die(path);
        } else {
            make_file(path, node_of(disk, name->inode));
        }
    }
}

/* ---- judgement ------------------------------------------------------------------------------ */

/* One worker on its way through the states. */
struct walk {
    struct worker *worker;
    const struct trial *trial;
    void *known;    /* states met, a tree */
    unsigned met;   /* their number */
    unsigned point; /* the moment */
};

static void complain(const struct walk *self, const struct disk *disk, const char *what)
{
    const struct scene *scene = &self->trial->scene;
    char fates[64] = "";
    for (unsigned i = 0; i < disk->node_count && strlen(fates) < 60; i++)
        if (disk->nodes[i].pending_count)
            snprintf(fates + strlen(fates), sizeof fates - strlen(fates), "%c",
                     "tmhz"[disk->nodes[i].fate]);
    proof_note("%s, %s, cut after event %u, %s names, unsynced bytes %s, %u answered: %s",
               deed_names[scene->deed], state_names[scene->state], self->point,
               self->trial->ordered ? "ordered" : "independent", fates, disk->answers, what);
    if (getenv("PROOF_KEEP")) {
        char to[PATH_MAX];
        snprintf(to, sizeof to, "%s/%u-%u", getenv("PROOF_KEEP"), self->point, self->met);
        tree_copy(self->worker->home.path, to);
    }
}

static void judge(struct walk *self, struct disk *disk)
{
    struct tally *tally = &shared->tally;
    struct outcome *out = &shared->outcome[self->worker->number];
    const struct trial *trial = self->trial;
    struct how how = {.op_id = OP_ID};
    struct ledger ledger;
    char hash[HASH_SIZE], *found = path_read(self->worker->home.memory, NULL);
    char *texts = scene_texts(&self->worker->home);
    bool adds = trial->scene.deed == DEED_ADD || trial->scene.deed == DEED_BATCH ||
                trial->scene.deed == DEED_GROUP;
    bool lost = (disk->answers >= 1 && adds && !text_lines(found, WARM)) ||
                (disk->answers >= 2 && strcmp(texts, trial->right) != 0);
    free(texts);
    if (lost) {
        tally->lost++;
        complain(self, disk, "something acknowledged is not there");
    }
    bool refused = scene_add(&self->worker->home, WARM_ID, WARM, out) != 0 ||
                   out->code != ETHOS_OK ||
                   scene_do(&trial->scene, &self->worker->home, &how, out) != 0 ||
                   out->code != ETHOS_OK;
    if (refused) {
        tally->refused++;
        complain(self, disk, out->error.text);
    }
    texts = scene_texts(&self->worker->home);
    if (!refused && strcmp(texts, trial->right) != 0) {
        tally->wrong++;
        complain(self, disk, "other texts than without the cut");
    }
    if (!ledger_check(&ledger, self->worker->home.scope, 0, NULL, NULL)) {
        tally->bad_history++;
        complain(self, disk, "the history is not whole");
    }
    text_hash(found, found ? strlen(found) : 0, hash);
    if (found && !(trial->before && strcmp(found, trial->before) == 0) &&
        !ledger_knows(&ledger, hash)) {
        tally->torn++;
        complain(self, disk, "the file was not a whole version");
    }
    ledger_free(&ledger);
    free(texts);
    free(found);
}

static int by_hash(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Judges a state unless one like it was met; workers share the states between them. */
static void meet(struct walk *self, struct disk *disk)
{
    char hash[HASH_SIZE];
    size_t size;
    char *all = describe(disk, &size);
    text_hash(all, size, hash);
    free(all);
    hash[0] = (char)('0' + disk->answers); // the same disk, but more was promised
    if (tfind(hash, &self->known, by_hash))
        return;
    tsearch(strdup(hash), &self->known, by_hash);
    if (self->met++ % WORKERS != self->worker->number)
        return;
    shared->tally.states++;
    materialise(disk, &self->worker->home);
    judge(self, disk);
}

/* ---- enumeration ---------------------------------------------------------------------------- */

static unsigned next_unsynced(const struct disk *disk, unsigned from)
{
    while (from < disk->node_count && disk->nodes[from].pending_count == 0)
        from++;
    return from;
}

static void try_all_fates(struct walk *self, struct disk *disk, unsigned from)
{
    from = next_unsynced(disk, from);
    if (from >= disk->node_count) {
        meet(self, disk);
        return;
    }
    for (enum fate fate = 0; fate < FATES; fate++) {
        disk->nodes[from].fate = fate;
        try_all_fates(self, disk, from + 1);
    }
    disk->nodes[from].fate = FATE_THERE;
}

/* Each in all its fates, while all the others are there, or all are missing. */
static void try_single_fates(struct walk *self, struct disk *disk)
{
    for (int missing = 0; missing < 2; missing++) {
        for (unsigned i = 0; i < disk->node_count; i++)
            disk->nodes[i].fate = missing ? FATE_MISSING : FATE_THERE;
        for (unsigned i = next_unsynced(disk, 0); i < disk->node_count;
             i = next_unsynced(disk, i + 1)) {
            enum fate usual = disk->nodes[i].fate;
            for (enum fate fate = 0; fate < FATES; fate++) {
                disk->nodes[i].fate = fate;
                meet(self, disk);
            }
            disk->nodes[i].fate = usual;
        }
    }
    for (unsigned i = 0; i < disk->node_count; i++)
        disk->nodes[i].fate = FATE_THERE;
}

static void try_fates(struct walk *self, struct disk *disk)
{
    unsigned unsynced = 0;
    for (unsigned i = 0; i < disk->node_count; i++)
        unsynced += disk->nodes[i].pending_count > 0;
    if (unsynced <= MOST_FATES)
        try_all_fates(self, disk, 0);
    else
        try_single_fates(self, disk);
}

/* The names of a disk when those of the pending changes reached it that keep says. */
static void try_names(struct walk *self, struct disk *disk, const bool *keep)
{
    struct name names[MOST_NAMES];
    unsigned count = disk->name_count;
    memcpy(names, disk->names, sizeof names);
    for (unsigned i = 0; i < disk->pending_count; i++)
        if (keep[i])
            apply_names(disk, &shared->log.events[disk->pending[i]]);
    try_fates(self, disk);
    memcpy(disk->names, names, sizeof names);
    disk->name_count = count;
}

static void try_ordered(struct walk *self, struct disk *disk)
{
    bool keep[MOST_EVENTS] = {false};
    try_names(self, disk, keep);
    for (unsigned i = 0; i < disk->pending_count; i++) {
        keep[i] = true;
        try_names(self, disk, keep);
    }
}

/* All combinations of the newest few; older ones all there. */
static void try_independent(struct walk *self, struct disk *disk)
{
    bool keep[MOST_EVENTS];
    unsigned most = proof_long() ? MASKED : MASKED - 2;
    unsigned free_names = disk->pending_count < most ? disk->pending_count : most;
    unsigned first = disk->pending_count - free_names;
    memset(keep, true, sizeof keep);
    for (unsigned mask = 0; mask < 1u << free_names; mask++) {
        for (unsigned i = 0; i < free_names; i++)
            keep[first + i] = mask >> i & 1;
        try_names(self, disk, keep);
    }
}

static int work(void *arg)
{
    struct worker *worker = arg;
    struct walk walk = {.worker = worker, .trial = worker->arg};
    struct disk *disk = walk.trial->start; // a child's own copy
    place_look(&worker->home, walk.trial->scene.start.tree);
    for (unsigned i = 0; i <= shared->log.count; i++) {
        walk.point = i;
        if (walk.trial->ordered)
            try_ordered(&walk, disk);
        else
            try_independent(&walk, disk);
        if (i < shared->log.count)
            disk_step(disk, i, walk.trial->ordered);
    }
    return 0;
}

/* ---- one trial ------------------------------------------------------------------------------ */

/* Both operations undisturbed, in the home where the scene starts. */
static bool record(struct trial *trial)
{
    struct crash_log *log = &shared->log;
    struct outcome *out = &shared->outcome[0];
    struct how how = {.op_id = OP_ID};
    snprintf(log->root, sizeof log->root, "%s", trial->scene.start.path);
    log->count = 0;
    log->used = 0;
    log->full = false;
    log->on = true;
    scene_add(&trial->scene.start, WARM_ID, WARM, out);
    bool ok = out->code == ETHOS_OK;
    crash_log_answer();
    scene_do(&trial->scene, &trial->scene.start, &how, out);
    ok = ok && out->code == ETHOS_OK;
    crash_log_answer();
    log->on = false;
    if (!ok || log->full)
        proof_say(false, "%s, %s: undisturbed it fails: %s", deed_names[trial->scene.deed],
                  state_names[trial->scene.state], log->full ? "the log is full" : out->error.text);
    return ok && !log->full;
}

/* What a reader of a failure wants to see: the log. */
static void show_log(void)
{
    static const char *const kinds[] = {"write", "truncate", "sync",  "sync dir",
                                        "names", "mkdir",    "answer"};
    for (unsigned i = 0; i < shared->log.count; i++) {
        const struct event *event = &shared->log.events[i];
        printf("# %3u %-8s %lu %zu+%zu  %s=%lu %s=%lu\n", i, kinds[event->kind],
               (unsigned long)event->inode, event->offset, event->size, event->name[0],
               (unsigned long)event->meaning[0], event->name[1], (unsigned long)event->meaning[1]);
    }
}

static void try_scene(enum deed deed, enum state state, bool ordered, unsigned *events)
{
    struct trial trial = {.ordered = ordered};
    scene_make(&trial.scene, deed, state);
    trial.start = disk_scan(&trial.scene.start);
    trial.before = trial.scene.before;
    if (record(&trial)) {
        trial.right = scene_texts(&trial.scene.start);
        *events += shared->log.count;
        if (getenv("PROOF_VERBOSE"))
            show_log();
        workers_run(work, &trial);
        free(trial.right);
    }
    disk_free(trial.start);
    scene_free(&trial.scene);
}

/* Links are left out: a log of names below one tree says nothing about where they lead. */
static bool planned(enum deed deed, enum state state)
{
    bool small = deed == DEED_ADD ? state == STATE_EXISTS || state == STATE_ABSENT
                                  : deed != DEED_OVERFLOW && state == STATE_EXISTS;
    return scene_fits(deed, state) && state != STATE_LINK && (small || proof_long());
}

static void prove(bool ordered)
{
    const struct tally *tally = &shared->tally;
    unsigned events = 0, scenes = 0;
    memset(&shared->tally, 0, sizeof shared->tally);
    for (enum deed deed = 0; deed < DEEDS; deed++)
        for (enum state state = 0; state < STATES; state++)
            if (planned(deed, state)) {
                try_scene(deed, state, ordered, &events);
                scenes++;
            }
    proof_say(tally->states > 0 &&
                  tally->lost + tally->torn + tally->wrong + tally->refused + tally->bad_history ==
                      0,
              "crash states, %s names: %u states after %u events of %u pairs of operations, "
              "%u lost something acknowledged, %u torn, %u wrong after the retry, %u retries "
              "refused, %u bad histories",
              ordered ? "ordered" : "independent", tally->states, events, scenes, tally->lost,
              tally->torn, tally->wrong, tally->refused, tally->bad_history);
}

int main(int argc, char **argv)
{
    struct statfs fs;
    proof_begin(argc, argv);
    // Inodes are told apart by number: that needs a file system that does not use one twice.
    if (statfs("/dev/shm", &fs) != 0 || fs.f_type != TMPFS_MAGIC) {
        proof_skip("crash", "/dev/shm is no memory file system");
        return proof_end();
    }
    shared = shared_make(sizeof *shared);
    crash_log = &shared->log;
    if (proof_part("ordered"))
        prove(true);
    if (proof_part("independent"))
        prove(false);
    return proof_end();
}

/*
 * notes.c: facts kept as notes, by hand and through the library, and what many notes cost.
 *
 * A shelf is a home whose workspace has an index of so many lines. It is made when it is first asked
 * for, that is while warming up: nobody else waits for 10,000 files.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/view.h"
#include "bench.h"
#include "by_hand.h"

#define LINE                                                                                       \
    "- [Fact %05u](fact-%05u.md) \xE2\x80\x94 When the queue moves: where its address stands.\n"
#define NOTE                                                                                       \
    "---\nname: fact-%05u\ndescription: When the queue moves: where its address stands.\n"         \
    "metadata:\n  type: project\n  created: 2026-03-12\n  verified: 2026-03-12\n---\n\n"           \
    "The address of the queue stands in the deployment notes.\n"
#define NOTE_BYTES 512 /* more than any note here */

static const struct {
    const char *name;
    unsigned lines;
    bool files;    /* every line has its note */
    bool restored; /* the index gets its first text back before each sample */
} shelves[SHELVES] = {
    [SHELF_20K] = {"shelf-20k", 256, true, true},
    [SHELF_HAND] = {"shelf-hand", 256, true, true},
    [SHELF_10] = {"shelf-10", 10, true, true},
    [SHELF_10000] = {"shelf-10000", 10000, true, false},
    [SHELF_QUIET] = {"shelf-quiet", 10000, true, false},
    [SHELF_BARE] = {"shelf-bare", 10000, false, false},
};

/* ---- making --------------------------------------------------------------------------------- */

static struct ethos_view make_index(const struct bench *bench, unsigned lines)
{
    struct str text;
    size_t size;
    str_init(&text, SIZE_MAX);
    for (unsigned i = 0; i < lines; i++)
        str_printf(&text, LINE, i, i);
    size = text.size;
    char *data = str_steal(&text, NULL);
    if (!data)
        bench_die(bench, "index");
    return view_of(data, size);
}

static void make_note(const struct bench *bench, int dir, unsigned number)
{
    char name[32], text[NOTE_BYTES];
    snprintf(name, sizeof name, "fact-%05u.md", number);
    int size = snprintf(text, sizeof text, NOTE, number);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, (size_t)size) != size || close(fd) != 0)
        bench_die(bench, name);
}

static void make_notes(const struct bench *bench, const char *path, unsigned count)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        bench_die(bench, path);
    for (unsigned i = 0; i < count; i++)
        make_note(bench, dir, i);
    if (fsync(dir) != 0)
        bench_die(bench, path);
    close(dir);
}

static struct ethos_kept remember(const struct bench *bench, const struct bench_shelf *shelf,
                                  const char *title)
{
    const struct ethos_fact fact = {.text = VIEW(BENCH_NOTE), .title = view_str(title)};
    struct ethos_kept kept;
    struct ethos_error error;
    if (ethos_remember(shelf->turn, &fact, NULL, &kept, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    if (strcmp(kept.effect, "created") != 0)
        bench_die(bench, kept.key);
    return kept;
}

/* The library makes the folder, with one note; then it looks as if it had been there for long. */
static void find_index(const struct bench *bench, struct bench_shelf *shelf)
{
    struct ethos_error error;
    struct ethos_file *file;
    struct ethos_kept kept = remember(bench, shelf, "The first of all");
    memcpy(shelf->scope, kept.scope, sizeof shelf->scope);
    const struct ethos_target target = {.scope = shelf->scope, .key = "MEMORY.md"};
    if (ethos_read(shelf->turn, &target, &file, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    shelf->file = strdup(file->path);
    shelf->dir = strndup(file->path, (size_t)(strrchr(file->path, '/') - file->path));
    if (!shelf->file || !shelf->dir)
        bench_die(bench, "directory");
    ethos_file_free(file);
}

static void make_shelf(const struct bench *bench, enum bench_shelf_name which,
                       struct bench_shelf *shelf)
{
    struct ethos_error error;
    if (asprintf(&shelf->path, "%s/%s", bench->root, shelves[which].name) < 0 ||
        mkdir(shelf->path, 0700) != 0)
        bench_die(bench, shelves[which].name);
    const struct ethos_options options = {.home = shelf->path};
    if (ethos_open(&options, &shelf->ethos, &error) != ETHOS_OK ||
        ethos_turn_new(shelf->ethos, NULL, &shelf->turn, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    find_index(bench, shelf);
    shelf->index = make_index(bench, shelves[which].lines);
    bench_fill(bench, shelf->file, shelf->index);
    if (shelves[which].files)
        make_notes(bench, shelf->dir, shelves[which].lines);
}

static struct bench_shelf *shelf_of(struct bench *bench, int which)
{
    struct bench_shelf *shelf = &bench->shelves[which];
    if (!shelf->turn)
        make_shelf(bench, (enum bench_shelf_name)which, shelf);
    return shelf;
}

const char *shelf_home(struct bench *bench, int which)
{
    return shelf_of(bench, which)->path;
}

void notes_restore(struct bench *bench)
{
    for (int i = 0; i < SHELVES; i++) {
        const struct bench_shelf *shelf = &bench->shelves[i];
        const struct ethos_target target = {.scope = shelf->scope, .key = "MEMORY.md"};
        struct ethos_error error;
        if (!shelf->turn || !shelves[i].restored)
            continue;
        if (i == SHELF_HAND)
            bench_fill(bench, shelf->file, shelf->index);
        else if (ethos_write(shelf->turn, &target, NULL, shelf->index, NULL, &error) != ETHOS_OK)
            bench_die_of(bench, &error);
    }
}

void notes_close(struct bench *bench)
{
    for (int i = 0; i < SHELVES; i++) {
        struct bench_shelf *shelf = &bench->shelves[i];
        ethos_turn_free(shelf->turn);
        ethos_close(shelf->ethos);
        free(shelf->path);
        free(shelf->file);
        free(shelf->dir);
        free((char *)shelf->index.data);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

/* A note that is not there yet: its name, its text and its line. */
struct fresh {
    char name[32], text[NOTE_BYTES], line[NOTE_BYTES];
};

static void make_fresh(struct bench_shelf *shelf, struct fresh *out)
{
    unsigned number = 100000 + shelf->kept++;
    snprintf(out->name, sizeof out->name, "fact-%05u.md", number);
    snprintf(out->text, sizeof out->text, NOTE, number);
    snprintf(out->line, sizeof out->line, LINE, number, number);
}

void remember_twice_by_hand(struct bench *bench, int arg, unsigned count)
{
    struct bench_shelf *shelf = shelf_of(bench, arg);
    for (unsigned i = 0; i < count; i++) {
        struct fresh fresh;
        make_fresh(shelf, &fresh);
        if (hand_create(shelf->dir, fresh.name, fresh.text, bench->buffer, BENCH_BUFFER) != 0 ||
            hand_add(shelf->dir, fresh.line, bench->buffer, BENCH_BUFFER) != 0)
            bench_die(bench, "a note by hand");
    }
}

void remember_by_hand(struct bench *bench, int arg, unsigned count)
{
    struct bench_shelf *shelf = shelf_of(bench, arg);
    for (unsigned i = 0; i < count; i++) {
        struct fresh fresh;
        make_fresh(shelf, &fresh);
        if (hand_keep(shelf->dir, fresh.name, fresh.text, fresh.line, bench->buffer,
                      BENCH_BUFFER) != 0)
            bench_die(bench, "a note by hand");
    }
}

void remember_fresh(struct bench *bench, int arg, unsigned count)
{
    struct bench_shelf *shelf = shelf_of(bench, arg);
    for (unsigned i = 0; i < count; i++) {
        char title[32];
        snprintf(title, sizeof title, "Fact %u", 100000 + shelf->kept++);
        remember(bench, shelf, title);
    }
}

void prefetch_shelf(struct bench *bench, int arg, unsigned count)
{
    struct bench_shelf *shelf = shelf_of(bench, arg);
    for (unsigned i = 0; i < count; i++) {
        struct ethos_block *block;
        if (ethos_prefetch(shelf->turn, NULL, &block, NULL) != ETHOS_OK || !block ||
            block->code != ETHOS_OK)
            bench_die(bench, "prefetch");
        ethos_block_free(block);
    }
}

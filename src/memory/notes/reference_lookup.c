/*
 * reference_lookup.c: checks whether the files and symbols that notes refer to exist in a folder.
 */
#include "memory/notes/reference_lookup.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"

#define PATH_LIMIT 4096     /* bytes */
#define TREE_BYTES 16777216 /* bytes of all its paths */
#define TREE_STEP 65536     /* bytes of the tree that count as one lookup */
#define MAX_MATCHES 16      /* files of one name that are searched */

void lookup_open(struct reference_lookup *self, const char *path)
{
    *self = (struct reference_lookup){.root = -1, .path = path};
    str_init(&self->tree, TREE_BYTES);
    str_init(&self->file, LOOK_FILE_BYTES + 1);
    str_init(&self->file_name, PATH_LIMIT);
    if (path)
        self->root = os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
}

void lookup_release(struct reference_lookup *self)
{
    if (self->root >= 0)
        os_close(self->root);
    self->root = -1;
    str_release(&self->tree);
    str_release(&self->file);
    str_release(&self->file_name);
}

/* Counts a lookup; false if the limit is reached. */
static bool is_lookup_allowed(struct reference_lookup *self)
{
    if (self->root < 0)
        return false;
    if (self->lookups >= LOOK_MAX || self->bytes >= LOOK_ALL_BYTES)
        self->exhausted = true;
    else
        self->lookups++;
    return !self->exhausted;
}

/* ---- one path ------------------------------------------------------------------------------- */

/* The location of a path in a note: inside the folder, or an absolute path. */
struct spot {
    char path[PATH_LIMIT];
    bool inside;
};

static bool find_spot(const struct reference_lookup *self, struct ethos_view path, struct spot *out)
{
    const char *home = getenv("HOME");
    size_t root = strlen(self->path);
    bool tilde = view_starts(path, VIEW("~/"));
    if (path.size == 0 || memchr(path.data, 0, path.size) || (tilde && (!home || *home != '/')))
        return false;
    int size = snprintf(out->path, sizeof out->path, "%s%.*s", tilde ? home : "",
                        VIEW_ARG(view_from(path, tilde ? 1 : 0)));
    if (size < 0 || (size_t)size >= sizeof out->path)
        return false;
    if (strncmp(out->path, self->path, root) == 0 && out->path[root] == '/' && out->path[root + 1])
        memmove(out->path, out->path + root + 1, (size_t)size - root);
    out->inside = out->path[0] != '/';
    return true;
}

static enum look_answer answer_of(int result)
{
    if (result >= 0)
        return LOOK_HOLDS;
    return errno == ENOENT || errno == ENOTDIR ? LOOK_GONE : LOOK_UNKNOWN;
}

/* Opens nothing for reading: a device or FIFO would notice. */
static enum look_answer path_in_tree_exists(struct reference_lookup *self, const struct spot *spot)
{
    struct stat info;
    if (!is_lookup_allowed(self))
        return LOOK_UNKNOWN;
    if (!spot->inside)
        return answer_of(os_fstatat(AT_FDCWD, spot->path, &info, 0));
    CLEANUP_FD int fd = os_open_beneath(self->root, spot->path, O_PATH, 0);
    enum look_answer answer = answer_of(fd);
    return answer;
}

/* Reads a file in the folder, unless it was the last one read. */
static bool load_tree_file(struct reference_lookup *self, const char *path)
{
    if (self->file_name.size > 0 && strcmp(self->file_name.data, path) == 0)
        return true;
    str_clear(&self->file);
    str_clear(&self->file_name);
    if (!is_lookup_allowed(self))
        return false;
    int fd = os_open_beneath(self->root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return false;
    bool ok = file_read(fd, path, LOOK_FILE_BYTES, &self->file, NULL, NULL) == ETHOS_OK;
    os_close(fd);
    self->bytes += self->file.size;
    return ok && str_adds(&self->file_name, path) == ETHOS_OK;
}

/* ---- the tree ------------------------------------------------------------------------------- */

struct folder {
    struct reference_lookup *look;
    int dir;
    size_t prefix; /* of the scratch path, up to and with its last slash */
    struct str *path;
    int depth;
};

static int add_tree_entry(void *arg, const char *name);

static int list_tree(struct reference_lookup *self, int dir, struct str *path, int depth)
{
    struct folder folder = {self, dir, path->size, path, depth};
    return os_list(dir, add_tree_entry, &folder);
}

/* A directory is recognised by opening it, as cheap as a stat; links are not followed. */
static int add_tree_entry(void *arg, const char *name)
{
    const struct folder *folder = arg;
    struct reference_lookup *look = folder->look;
    int result = 0;
    if (look->tree_count++ >= LOOK_TREE_MAX)
        return -1;
    CLEANUP_FD int dir = os_openat(folder->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    str_printf(folder->path, "%s%s", name, dir >= 0 ? "/" : "");
    str_add(&look->tree, view_of(folder->path->data, folder->path->size + 1)); // with its NUL
    bool passed = strcmp(name, ".git") == 0 || strcmp(name, "node_modules") == 0;
    if (str_code(folder->path) != ETHOS_OK || str_code(&look->tree) != ETHOS_OK ||
        (dir >= 0 && folder->depth >= LOOK_TREE_DEPTH))
        result = -1;
    else if (dir >= 0 && !passed)
        result = list_tree(look, dir, folder->path, folder->depth + 1);
    str_truncate(folder->path, folder->prefix);
    return result;
}

/*
 * Lists the names of the whole tree at first use. Searching a large tree counts as several lookups.
 */
static void read_tree(struct reference_lookup *self)
{
    CLEANUP_STR struct str path = {0};
    self->lookups += self->tree.size / TREE_STEP;
    if (self->tree_read)
        return;
    self->tree_read = true;
    CLEANUP_FD int dir = os_openat(self->root, ".", O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return;
    str_init(&path, PATH_LIMIT);
    str_addc(&path, '/');
    self->tree_whole = list_tree(self, dir, &path, 1) == 0;
}

/* The next path of the tree that ends in "/" + tail, from *offset on; without its first slash. */
static const char *next_match(const struct reference_lookup *self, const char *tail, size_t *offset)
{
    char needle[PATH_LIMIT];
    int size = snprintf(needle, sizeof needle, "/%s", tail);
    if (size < 0 || (size_t)size >= sizeof needle)
        return NULL;
    struct ethos_view rest = view_from(str_view(&self->tree), *offset);
    const char *found = memmem(rest.data, rest.size, needle, (size_t)size + 1);
    if (!found)
        return NULL;
    *offset = (size_t)(found - self->tree.data) + (size_t)size + 1;
    while (found > self->tree.data && found[-1] != 0)
        found--;
    return found + 1;
}

/*
 * Whether a path that does not exist as given may be short for another one; `check` reports exact
 * ones.
 */
static bool is_short(const struct claim *claim, const struct spot *spot)
{
    return !claim->head && spot->inside;
}

static enum look_answer search_tree(struct reference_lookup *self, const struct spot *spot)
{
    size_t offset = 0;
    read_tree(self);
    if (next_match(self, spot->path, &offset))
        return LOOK_HOLDS;
    return self->tree_whole ? LOOK_GONE : LOOK_UNKNOWN;
}

/* ---- answers -------------------------------------------------------------------------------- */

static size_t count_lines(struct ethos_view text)
{
    size_t lines = 0;
    struct ethos_view line;
    while (view_line(&text, &line))
        lines++;
    return lines;
}

enum look_answer lookup_path(struct reference_lookup *self, const struct claim *claim,
                             size_t *out_lines)
{
    struct spot spot;
    *out_lines = 0;
    if (self->root < 0 || !find_spot(self, claim->what, &spot))
        return LOOK_UNKNOWN;
    enum look_answer answer = path_in_tree_exists(self, &spot);
    if (answer == LOOK_GONE && is_short(claim, &spot))
        return search_tree(self, &spot);
    if (answer != LOOK_HOLDS || claim->number == 0 || !spot.inside ||
        !load_tree_file(self, spot.path))
        return answer;
    size_t lines = count_lines(str_view(&self->file));
    if (claim->number <= lines)
        return LOOK_HOLDS;
    *out_lines = lines;
    return LOOK_GONE;
}

static enum look_answer search_file(struct reference_lookup *self, const char *path,
                                    struct ethos_view word)
{
    if (!load_tree_file(self, path))
        return LOOK_UNKNOWN;
    return claims_has_word(str_view(&self->file), word) ? LOOK_HOLDS : LOOK_GONE;
}

/* The symbol must be in one of the files that a short path may mean. */
static enum look_answer search_matches(struct reference_lookup *self, const struct spot *spot,
                                       struct ethos_view word)
{
    size_t offset = 0, matches = 0, lacking = 0;
    const char *path;
    read_tree(self);
    while (matches < MAX_MATCHES && (path = next_match(self, spot->path, &offset))) {
        enum look_answer answer = search_file(self, path, word);
        if (answer == LOOK_HOLDS)
            return LOOK_HOLDS;
        matches++;
        lacking += answer == LOOK_GONE;
    }
    bool sure = self->tree_whole && matches > 0 && matches < MAX_MATCHES && lacking == matches;
    return sure ? LOOK_GONE : LOOK_UNKNOWN;
}

enum look_answer lookup_symbol(struct reference_lookup *self, const struct claim *claim)
{
    struct spot spot;
    if (self->root < 0 || !find_spot(self, claim->where, &spot) || !spot.inside)
        return LOOK_UNKNOWN;
    enum look_answer answer = path_in_tree_exists(self, &spot);
    if (answer == LOOK_HOLDS)
        return search_file(self, spot.path, claim->what);
    if (answer == LOOK_GONE && is_short(claim, &spot))
        return search_matches(self, &spot, claim->what);
    return LOOK_UNKNOWN;
}

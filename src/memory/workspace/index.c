/*
 * index.c: the derived index of names and identities, and listing all ids without it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/home/directory.h"
#include "memory/workspace/files.h"

#define HEAD "ethos-workspaces 1 "
#define LINE_SIZE 64 /* of an identity */

/* ---- reading -------------------------------------------------------------------------------- */

static int64_t mtime_ns(const struct stat *info)
{
    return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

static bool has_names_of_now(int dir, const struct str *text)
{
    struct stat info;
    char head[64];
    if (os_fstatat(dir, WORKSPACE_FOLDER, &info, 0) != 0)
        return false;
    int size = snprintf(head, sizeof head, HEAD "%" PRId64 "\n", mtime_ns(&info));
    return view_starts(str_view(text), view_of(head, (size_t)size));
}

int workspace_index_read(int dir, struct workspace_index *out, struct ethos_error *error)
{
    struct ethos_error why = {0};
    out->names = false;
    str_init(&out->text, ETHOS_MAX_MAP_BYTES + 1);
    int code = home_read(dir, WORKSPACE_STATE "/" WORKSPACE_INDEX, ETHOS_MAX_MAP_BYTES, &out->text,
                         NULL, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    bool whole = code == ETHOS_OK && view_starts(str_view(&out->text), VIEW(HEAD)) &&
                 view_ends(str_view(&out->text), VIEW("\n"));
    if (!whole)
        str_clear(&out->text);
    else
        out->names = has_names_of_now(dir, &out->text);
    return ETHOS_OK;
}

void workspace_index_release(struct workspace_index *index)
{
    str_release(&index->text);
}

static bool copy_valid_id(struct ethos_view id, char out_id[WORKSPACE_ID_SIZE])
{
    if (!scope_id_ok(id))
        return false;
    snprintf(out_id, WORKSPACE_ID_SIZE, "%.*s", VIEW_ARG(id));
    return true;
}

/* The rest of a text after a match. */
static bool find_after(struct ethos_view text, struct ethos_view what, struct ethos_view *out_rest)
{
    const char *at = memmem(text.data, text.size, what.data, what.size);
    if (at)
        *out_rest = view_from(text, (size_t)(at - text.data) + what.size);
    return at != NULL;
}

bool workspace_index_hash(const struct workspace_index *index, const char *hash,
                          char out_id[WORKSPACE_ID_SIZE])
{
    char end[WORKSPACE_HASH_SIZE + 2];
    struct ethos_view text = str_view(&index->text), rest = text, line;
    int size = snprintf(end, sizeof end, "-%s\n", hash);
    while (find_after(rest, view_of(end, (size_t)size), &rest)) {
        struct ethos_view before = view_of(text.data, text.size - rest.size);
        view_last_line(&before, &line);
        if (line.data[0] != '@' && copy_valid_id(line, out_id))
            return true;
    }
    return false;
}

/* "@<dev>-<ino>-<btime> " */
static struct ethos_view identity_line(const struct os_identity *identity, char out[LINE_SIZE])
{
    int size = snprintf(out, LINE_SIZE, "@%" PRIx64 "-%" PRIx64 "-%" PRIx64 " ", identity->device,
                        identity->inode, (uint64_t)identity->birth_ns);
    return view_of(out, (size_t)size);
}

bool workspace_index_identity(const struct workspace_index *index,
                              const struct os_identity *identity, char out_id[WORKSPACE_ID_SIZE])
{
    char start[LINE_SIZE];
    struct ethos_view rest, line;
    return find_after(str_view(&index->text), identity_line(identity, start), &rest) &&
           view_line(&rest, &line) && copy_valid_id(line, out_id);
}

/* ---- all ids -------------------------------------------------------------------------------- */

struct id_walk {
    workspace_id_fn *each;
    void *arg;
    int code;
};

static int walk_one(void *arg, const char *name)
{
    struct id_walk *walk = arg;
    if (scope_id_ok(view_str(name)))
        walk->code = walk->each(walk->arg, name);
    return walk->code != ETHOS_OK;
}

int workspace_each(int dir, workspace_id_fn *each, void *arg, struct ethos_error *error)
{
    struct id_walk walk = {each, arg, ETHOS_OK};
    int folder = dir < 0 ? -1 : os_open_beneath(dir, WORKSPACE_FOLDER, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return dir < 0 || errno == ENOENT ? ETHOS_OK : err_errno(error, errno, WORKSPACE_FOLDER);
    int result = os_list(folder, walk_one, &walk);
    int saved = errno;
    os_close(folder);
    return result < 0 ? err_errno(error, saved, WORKSPACE_FOLDER) : walk.code;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void add_identity(const char *id, const json_t *entry, struct str *out)
{
    char start[LINE_SIZE];
    const struct os_identity identity = workspace_entry_identity(entry);
    if (identity.birth_ns == 0)
        return;
    str_add(out, identity_line(&identity, start));
    str_printf(out, "%s\n", id);
}

static void add_identities(const char *id, const json_t *doc, struct str *out)
{
    size_t index, before;
    json_t *entry, *was;
    json_array_foreach (json_object_get(doc, "paths"), index, entry) {
        add_identity(id, entry, out);
        json_array_foreach (json_object_get(entry, "was"), before, was)
            add_identity(id, was, out);
    }
}

/* Copies the lines of all ids but one. */
static void copy_other_identities(struct ethos_view old, const char *but, struct str *out)
{
    struct ethos_view line;
    char end[WORKSPACE_ID_SIZE + 1];
    int size = snprintf(end, sizeof end, " %s", but);
    while (view_line(&old, &line))
        if (line.size > 0 && line.data[0] == '@' && !view_ends(line, view_of(end, (size_t)size))) {
            str_add(out, line);
            str_addc(out, '\n');
        }
}

struct making {
    int dir;
    const char *but; /* whose document was just read */
    struct str text;
};

static int add_id_line(void *arg, const char *id)
{
    struct making *making = arg;
    str_printf(&making->text, "%s\n", id);
    return ETHOS_OK;
}

/* An unreadable document says nothing about where its memory belongs. */
static int read_identities(void *arg, const char *id)
{
    struct making *making = arg;
    json_t *doc;
    if (strcmp(id, making->but) == 0 || workspace_doc_read(making->dir, id, &doc, NULL) != ETHOS_OK)
        return ETHOS_OK;
    add_identities(id, doc, &making->text);
    json_decref(doc);
    return ETHOS_OK;
}

/* Gives the folder an mtime that no change of its names can produce. */
static int set_folder_stamp(int dir, struct str *out, struct ethos_error *error)
{
    uint16_t random = 0;
    os_random(&random, sizeof random);
    int64_t ns = os_now_ms() * 1000000 + random;
    int folder = os_mkdirs(dir, WORKSPACE_STATE) == 0
                     ? os_open_beneath(dir, WORKSPACE_FOLDER, O_RDONLY | O_DIRECTORY, 0)
                     : -1;
    if (folder < 0)
        return err_errno(error, errno, WORKSPACE_FOLDER);
    str_printf(out, HEAD "%" PRId64 "\n", os_futime(folder, ns) == 0 ? ns : 0);
    os_close(folder);
    return ETHOS_OK;
}

int workspace_index_write(int dir, const char *id, const json_t *doc, struct ethos_error *error)
{
    struct workspace_index old;
    struct making making = {.dir = dir, .but = id};
    str_init(&making.text, ETHOS_MAX_MAP_BYTES);
    int code = workspace_index_read(dir, &old, error);
    if (code == ETHOS_OK)
        code = set_folder_stamp(dir, &making.text, error);
    if (code == ETHOS_OK)
        code = workspace_each(dir, add_id_line, &making, error);
    if (code == ETHOS_OK && old.text.size > 0)
        copy_other_identities(str_view(&old.text), id, &making.text);
    else if (code == ETHOS_OK)
        code = workspace_each(dir, read_identities, &making, error);
    add_identities(id, doc, &making.text);
    if (code == ETHOS_OK && str_code(&making.text) != ETHOS_OK)
        code = err_set(error, str_code(&making.text),
                       WORKSPACE_STATE "/" WORKSPACE_INDEX ": too large");
    if (code == ETHOS_OK)
        code = home_replace(dir, WORKSPACE_STATE, WORKSPACE_INDEX, str_view(&making.text), error);
    workspace_index_release(&old);
    str_release(&making.text);
    return code;
}

/*
 * files.c: read_file, list_files and search_files: text files beneath the roots of a toolbox.
 *
 * A path is opened beneath its root by the kernel (openat2), so no link and no ".." leads out. What lies in the
 * home of ethos is read only through a root that is in it: the folder of a project's notes. Secrets are redacted,
 * characters that nobody would see are shown.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/tools/internal.h"
#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/text/invisible.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "memory/handle.h"
#include "ops/op.h"

#define MAX_FILE 8388608     /* bytes of a file that is read */
#define MAX_SEARCHED 1048576 /* bytes of a file that is searched */
#define MAX_VISITED 20000    /* files and folders of one listing or search */
#define MAX_ENTRIES 100000   /* names in one folder */
#define MAX_LISTED 1000      /* rows of a listing */
#define MAX_HITS 200         /* lines that a search gives */
#define DEFAULT_HITS 50
#define DEFAULT_LINES 2000 /* of read_file */
#define MAX_LINE 400       /* bytes shown of a line that was found */
#define MAX_DEPTH 32       /* folders below the one that is searched */

/* ---- what they take ---------------------------------------------------------------------------- */

struct file_arg {
    const char *name, *help;
    json_type type;
    bool required;
};

static const struct file_arg read_args[] = {
    {"path", "the file: absolute, or from the project's folder", JSON_STRING, true},
    {"offset", "the first line to read, from 1", JSON_INTEGER, false},
    {"limit", "how many lines (default: 2000)", JSON_INTEGER, false},
    {0}};
static const struct file_arg list_args[] = {
    {"path", "the folder (default: the project's)", JSON_STRING, false},
    {"recursive", "also what is in its folders", JSON_TRUE, false},
    {0}};
static const struct file_arg search_args[] = {
    {"query", "the text to find; letter case counts if it has a capital letter", JSON_STRING, true},
    {"path", "a file, or the folder to search (default: the project's)", JSON_STRING, false},
    {"limit", "how many lines at most (default: 50)", JSON_INTEGER, false},
    {0}};

static bool run_read_file(const struct toolbox_call *call);
static bool run_list_files(const struct toolbox_call *call);
static bool run_search_files(const struct toolbox_call *call);

static const struct file_tool {
    const char *name, *description;
    const struct file_arg *args;
    bool (*run)(const struct toolbox_call *call);
} tools[] = {
    {"read_file", "Read a text file of the project, a note of its memory, or a skill.", read_args,
     run_read_file},
    {"list_files", "List the files in a folder of the project.", list_args, run_list_files},
    {"search_files", "Find lines that contain a text in the files of the project.", search_args,
     run_search_files},
};
#define TOOLS (sizeof tools / sizeof *tools)

static const struct file_tool *find_tool(const char *name)
{
    for (size_t i = 0; i < TOOLS; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

static bool is_file_tool(const char *name)
{
    return find_tool(name) != NULL;
}

static json_t *make_schema(const struct file_arg *args)
{
    json_t *properties = json_object(), *required = json_array();
    for (; args->name; args++) {
        const char *type = args->type == JSON_STRING    ? "string"
                           : args->type == JSON_INTEGER ? "integer"
                                                        : "boolean";
        op_json_put(&properties, args->name,
                    json_pack("{s:s, s:s}", "type", type, "description", args->help));
        if (args->required)
            op_json_push(&required, json_string(args->name));
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", 0);
}

static int add_file_tools(struct toolbox *self, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && self->setup.root_count > 0 && i < TOOLS; i++)
        code = toolbox_add(self, tools[i].name, tools[i].description, make_schema(tools[i].args),
                           error);
    return code;
}

static bool has_type(const json_t *value, json_type type)
{
    return type == JSON_TRUE ? json_is_boolean(value) : json_typeof(value) == type;
}

static bool check_file_args(const struct toolbox_call *call, const struct file_arg *rows)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)call->args, name, value) {
        const struct file_arg *row = rows;
        while (row->name && strcmp(row->name, name) != 0)
            row++;
        if (!row->name)
            return toolbox_refuse(call, "%s: unknown argument %.80s", call->name, name);
        if (!json_is_null(value) && !has_type(value, row->type))
            return toolbox_refuse(call, "%s: %s has the wrong type", call->name, name);
    }
    for (const struct file_arg *row = rows; row->name; row++)
        if (row->required && !json_is_string(json_object_get(call->args, row->name)))
            return toolbox_refuse(call, "%s: missing argument %s", call->name, row->name);
    return true;
}

static bool is_beneath(const char *path, const char *root)
{
    size_t size = strlen(root);
    return strncmp(path, root, size) == 0 && (path[size] == '/' || path[size] == '\0' || size == 1);
}

/* Notes and skills of the home are the owner's own text. */
static enum toolbox_text result_origin(const struct toolbox_call *call)
{
    const char *path = json_string_value(json_object_get(call->args, "path"));
    const char *home = service_home(call->box->setup.ethos);
    bool own = path && *path == '/' && is_beneath(path, home) && !strstr(path, "/../");
    return own ? TOOLBOX_OWN : TOOLBOX_FOREIGN;
}

static bool call_file_tool(const struct toolbox_call *call)
{
    const struct file_tool *tool = find_tool(call->name);
    bool done = check_file_args(call, tool->args) && tool->run(call);
    if (done)
        *call->text = result_origin(call);
    return done;
}

static int64_t number_arg(const struct toolbox_call *call, const char *name, int64_t fallback,
                          int64_t most)
{
    const json_t *value = json_object_get(call->args, name);
    int64_t number = json_is_integer(value) ? json_integer_value(value) : fallback;
    return number < 1 ? 1 : number > most ? most : number;
}

/* ---- paths ------------------------------------------------------------------------------------- */

/* A place beneath a root. */
struct location {
    const char *root;
    char path[PATH_MAX]; /* from the root; "." for itself */
};

static bool find_location(const struct toolbox_call *call, struct location *out)
{
    const struct toolbox_setup *setup = &call->box->setup;
    const json_t *value = json_object_get(call->args, "path");
    const char *path = json_string_value(value);
    if (!path || !*path)
        path = ".";
    else if (strlen(path) != json_string_length(value) || strlen(path) >= PATH_MAX)
        return toolbox_refuse(call, "the path is not valid");
    out->root = *path == '/' ? NULL : setup->roots[0];
    for (size_t i = 0; *path == '/' && !out->root && i < setup->root_count; i++)
        if (is_beneath(path, setup->roots[i]))
            out->root = setup->roots[i];
    if (!out->root)
        return toolbox_refuse(call, "%.300s is outside of the folders that may be read", path);
    if (*path == '/')
        path += strlen(out->root);
    path += strspn(path, "/");
    snprintf(out->path, sizeof out->path, "%s", *path ? path : ".");
    return true;
}

/* Whether what was opened lies in the home of ethos although its root does not. */
static bool is_private(const struct toolbox_call *call, int fd, const char *root)
{
    char link[32], path[PATH_MAX], home[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = os_readlinkat(AT_FDCWD, link, path, sizeof path - 1);
    if (os_realpath(service_home(call->box->setup.ethos), home) != 0)
        return false; // there is none
    if (size < 0 || is_beneath(root, home))
        return size < 0;
    path[size] = '\0';
    return is_beneath(path, home);
}

/* -1 after a refusal. */
static int open_location(const struct toolbox_call *call, const struct location *at, int flags)
{
    int root = os_openat(AT_FDCWD, at->root, O_RDONLY | O_DIRECTORY, 0);
    int fd = root < 0
                 ? -1
                 : os_open_beneath(root, at->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags, 0);
    int why = errno;
    if (root >= 0)
        os_close(root);
    if (fd >= 0 && is_private(call, fd, at->root)) {
        os_close(fd);
        fd = -1;
        why = EXDEV;
    }
    if (fd >= 0)
        return fd;
    if (why == EXDEV || why == ELOOP)
        toolbox_refuse(call, "%.300s is outside of the folders that may be read", at->path);
    else
        toolbox_refuse(call, "%.300s: %s", at->path, strerrordesc_np(why));
    return -1;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static bool is_text(struct ethos_view text)
{
    size_t looked = text.size < 8192 ? text.size : 8192;
    return looked == 0 || !memchr(text.data, 0, looked);
}

/* The text as a model may read it. */
static void append_visible(struct ethos_view text, struct str *out)
{
    struct str safe;
    str_init(&safe, 4 * (size_t)MAX_FILE);
    bool changed = scan_text(text, SCAN_REDACT, &safe, NULL);
    str_fail(out, str_code(&safe));
    hidden_show_all(changed ? str_view(&safe) : text, out);
    str_release(&safe);
}

/* Whole lines from a number on. */
static struct ethos_view select_lines(struct ethos_view text, int64_t first, int64_t count,
                                      size_t *out_left)
{
    struct ethos_view rest = text, line;
    for (int64_t i = 1; i < first && view_line(&rest, &line); i++)
        ;
    struct ethos_view from = rest;
    while (count-- > 0 && view_line(&rest, &line))
        ;
    *out_left = view_lines(rest);
    return view_of(from.data, from.size - rest.size);
}

static bool run_read_file(const struct toolbox_call *call)
{
    struct location at;
    struct str text;
    struct stat info;
    size_t left;
    int fd = find_location(call, &at) ? open_location(call, &at, 0) : -1;
    if (fd < 0)
        return false;
    str_init(&text, MAX_FILE + 1);
    bool file = os_fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    bool done = file && os_read_all(fd, &text, MAX_FILE) == 0 && is_text(str_view(&text));
    if (!file)
        toolbox_refuse(call, "%.300s is not a file; list_files shows what is in a folder", at.path);
    else if (!done && info.st_size > MAX_FILE)
        toolbox_refuse(call, "%.300s is too large: %lld bytes", at.path, (long long)info.st_size);
    else if (!done)
        toolbox_refuse(call, "%.300s is not a text file", at.path);
    os_close(fd);
    if (done) {
        struct ethos_view lines = select_lines(
            str_view(&text), number_arg(call, "offset", 1, INT64_MAX),
            number_arg(call, "limit", DEFAULT_LINES, INT64_MAX), &left);
        append_visible(lines, call->out);
        if (left > 0)
            str_printf(call->out, "\n[%zu more lines]", left);
    }
    str_release(&text);
    return done;
}

/* ---- walking ----------------------------------------------------------------------------------- */

/* Returns false to end the walk. fd is the entry, open; dir says that it is a folder. */
typedef bool visit_fn(void *arg, int fd, const char *path, bool dir);

struct file_walk {
    const struct toolbox_call *call;
    const char *root;
    bool recursive;
    visit_fn *visit;
    void *arg;
    size_t visited;
    bool ended; /* somebody has enough */
    bool cut;   /* there is more than one walk visits */
};

static void visit_subfolder(struct file_walk *walk, int fd, const char *path, unsigned depth);

static void visit_entry(struct file_walk *walk, int dir, const char *folder, const char *name,
                        unsigned depth)
{
    char path[PATH_MAX];
    struct stat info;
    if (snprintf(path, sizeof path, "%s%s%s", strcmp(folder, ".") == 0 ? "" : folder,
                 strcmp(folder, ".") == 0 ? "" : "/", name) >= PATH_MAX)
        return;
    int fd = os_open_beneath(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
    if (fd < 0 || os_fstat(fd, &info) != 0 || is_private(walk->call, fd, walk->root)) {
        if (fd >= 0)
            os_close(fd);
        return;
    }
    bool folder_entry = S_ISDIR(info.st_mode);
    if (++walk->visited > MAX_VISITED)
        walk->ended = walk->cut = true;
    else if (folder_entry || S_ISREG(info.st_mode))
        walk->ended = !walk->visit(walk->arg, fd, path, folder_entry);
    if (!walk->ended && folder_entry && walk->recursive && depth < MAX_DEPTH)
        visit_subfolder(walk, fd, path, depth + 1);
    os_close(fd);
}

static void visit_subfolder(struct file_walk *walk, int fd, const char *path, unsigned depth)
{
    struct arena arena;
    struct dir_names names = {0};
    arena_init(&arena);
    if (dir_names(fd, &arena, MAX_ENTRIES, &names) == 0)
        for (size_t i = 0; !walk->ended && i < names.count; i++)
            if (strcmp(names.list[i], ".git") != 0)
                visit_entry(walk, fd, path, names.list[i], depth);
    arena_release(&arena);
}

static bool append_entry(void *arg, int fd, const char *path, bool dir)
{
    struct str *out = arg;
    (void)fd;
    str_printf(out, "%s%s\n", path, dir ? "/" : "");
    return true;
}

static bool run_list_files(const struct toolbox_call *call)
{
    struct location at;
    struct str rows;
    int fd = find_location(call, &at) ? open_location(call, &at, O_DIRECTORY) : -1;
    if (fd < 0)
        return false;
    str_init(&rows, (size_t)MAX_VISITED * PATH_MAX);
    struct file_walk walk = {.call = call,
                             .root = at.root,
                             .recursive = json_is_true(json_object_get(call->args, "recursive")),
                             .visit = append_entry,
                             .arg = &rows};
    visit_subfolder(&walk, fd, at.path, 0);
    os_close(fd);
    struct ethos_view shown = str_view(&rows), rest = shown;
    bool more = view_skip_lines(&rest, MAX_LISTED) && rest.size > 0;
    append_visible(more ? view_of(shown.data, shown.size - rest.size) : shown, call->out);
    if (more || walk.cut)
        str_printf(call->out, "[there is more; list a folder of it]\n");
    if (rows.size == 0)
        str_adds(call->out, "(the folder is empty)");
    str_fail(call->out, str_code(&rows));
    str_release(&rows);
    return true;
}

/* ---- searching --------------------------------------------------------------------------------- */

struct file_search {
    const struct toolbox_call *call;
    struct ethos_view query;
    bool any_case;
    int64_t left;
    struct str text, hits;
};

static bool contains_any_case(struct ethos_view line, struct ethos_view query)
{
    for (size_t i = 0; i + query.size <= line.size; i++)
        if (view_eq_nocase(view_of(line.data + i, query.size), query))
            return true;
    return false;
}

static bool search_text(struct file_search *self, const char *path)
{
    struct ethos_view rest = str_view(&self->text), line;
    for (size_t number = 1; self->left > 0 && view_line(&rest, &line); number++) {
        bool hit = self->any_case ? contains_any_case(line, self->query)
                                  : view_contains(line, self->query);
        if (!hit)
            continue;
        size_t size = line.size > MAX_LINE ? MAX_LINE : line.size;
        str_printf(&self->hits, "%s:%zu: %.*s\n", path, number, (int)size, line.data);
        self->left--;
    }
    return self->left > 0;
}

static bool search_entry(void *arg, int fd, const char *path, bool dir)
{
    struct file_search *self = arg;
    str_clear(&self->text);
    if (dir || os_read_all(fd, &self->text, MAX_SEARCHED) != 0 || !is_text(str_view(&self->text)))
        return true;
    return search_text(self, path);
}

static bool has_capital(struct ethos_view text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] >= 'A' && text.data[i] <= 'Z')
            return true;
    return false;
}

static bool run_search_files(const struct toolbox_call *call)
{
    struct location at;
    struct stat info;
    struct file_search searching = {.call = call,
                                    .query = json_view(call->args, "query"),
                                    .left = number_arg(call, "limit", DEFAULT_HITS, MAX_HITS)};
    if (view_blank(searching.query))
        return toolbox_refuse(call, "search_files: the query is blank");
    int fd = find_location(call, &at) ? open_location(call, &at, 0) : -1;
    if (fd < 0)
        return false;
    searching.any_case = !has_capital(searching.query);
    str_init(&searching.text, MAX_SEARCHED + 1);
    str_init(&searching.hits, (size_t)MAX_HITS * (PATH_MAX + MAX_LINE + 32));
    struct file_walk walk = {
        .call = call, .root = at.root, .recursive = true, .visit = search_entry, .arg = &searching};
    if (os_fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
        visit_subfolder(&walk, fd, at.path, 0);
    else
        search_entry(&searching, fd, at.path, false);
    os_close(fd);
    append_visible(str_view(&searching.hits), call->out);
    if (searching.hits.size == 0)
        str_adds(call->out, "no line contains it");
    if (walk.cut)
        str_adds(call->out, "[not every file was searched; name a folder]");
    str_release(&searching.text);
    str_release(&searching.hits);
    return true;
}

const struct tool_group file_tools = {add_file_tools, is_file_tool, call_file_tool, true};

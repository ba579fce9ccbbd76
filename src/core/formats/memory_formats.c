/*
 * memory_formats.c: the files of other programs, and how each is read.
 */
#include "core/formats/memory_formats.h"

#include <string.h>

#include "base/view.h"
#include "core/formats/memory_formats_internal.h"

#define INDEX "MEMORY.md"
#define PROFILE "USER.md"
#define SECTION_SIGN "\xc2\xa7"

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_markdown(const char *path)
{
    return view_ends(view_str(path), VIEW(".md"));
}

/* The path below a folder, or NULL if it is not in the folder. */
static const char *path_below(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    return strncmp(path, folder, size) == 0 && path[size] == '/' ? path + size + 1 : NULL;
}

/* Accepts every markdown file of the folder. */
static const char *refuse_folder(const char *path)
{
    return is_markdown(path) ? NULL : "not a markdown file";
}

/* Why a file beside memory in the home of an agent is not imported. */
static const char *refuse_beside(const char *path)
{
    if (strcmp(path, "SOUL.md") == 0)
        return "describes the agent, which is not memory; copy it to the personality yourself";
    return is_markdown(path) ? "instructions, not memory" : "";
}

static const char *refuse_openclaw(const char *path)
{
    const char *daily = path_below(path, "memory");
    if (daily)
        return refuse_folder(daily);
    return strcmp(path, INDEX) == 0 || strcmp(path, PROFILE) == 0 ? NULL : refuse_beside(path);
}

/* The path may also be the folder memories/ itself. */
static const char *refuse_hermes(const char *path)
{
    const char *inner = path_below(path, "memories");
    const char *name = inner ? inner : path;
    return strcmp(name, INDEX) == 0 || strcmp(name, PROFILE) == 0 ? NULL : refuse_beside(name);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int read_folder_file(const struct format_reading *reading)
{
    bool index = strcmp(reading->path, INDEX) == 0;
    const struct foreign_item item = {.kind = index ? FOREIGN_INDEX : FOREIGN_NOTE,
                                      .target = FOREIGN_WORKSPACE,
                                      .name = view_str(reading->path),
                                      .text = reading->text,
                                      .line = 1};
    return reading->each(reading->arg, &item);
}

static enum foreign_target target_of(const char *name)
{
    return strcmp(name, PROFILE) == 0 ? FOREIGN_USER : FOREIGN_MEMORY;
}

static int read_openclaw(const struct format_reading *reading)
{
    const char *daily = path_below(reading->path, "memory");
    const struct foreign_item item = {.kind = FOREIGN_NOTE,
                                      .target = FOREIGN_MEMORY,
                                      .name = view_str(daily),
                                      .text = reading->text,
                                      .line = 1};
    return daily ? reading->each(reading->arg, &item)
                 : markdown_entries(reading, target_of(reading->path));
}

static int emit_separate_entry(const struct format_reading *reading, struct ethos_view piece,
                               size_t line)
{
    struct ethos_view text = view_trim(piece);
    const char *name = path_below(reading->path, "memories");
    for (const char *at = piece.data; text.size > 0 && at < text.data; at++)
        line += *at == '\n';
    const struct foreign_item item = {.kind = FOREIGN_ENTRY,
                                      .target = target_of(name ? name : reading->path),
                                      .text = text,
                                      .apart = true,
                                      .line = line};
    return text.size > 0 ? reading->each(reading->arg, &item) : ETHOS_OK;
}

/* Reads entries that are separated by lines with only a section sign. */
static int read_hermes(const struct format_reading *reading)
{
    struct ethos_view rest = reading->text, line, piece = view_of(rest.data, 0);
    size_t number = 0, start = 1;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        number++;
        if (!view_eq(view_trim(line), VIEW(SECTION_SIGN))) {
            piece.size = (size_t)(line.data + line.size - piece.data);
            continue;
        }
        code = emit_separate_entry(reading, piece, start);
        piece = view_of(rest.data, 0);
        start = number + 1;
    }
    return code == ETHOS_OK ? emit_separate_entry(reading, piece, start) : code;
}

static int read_vector(const struct format_reading *reading)
{
    return markdown_entries(reading, target_of(reading->path));
}

/* ---- the sources ---------------------------------------------------------------------------- */

struct memory_source {
    const char *name;
    const char *(*refuse)(const char *path); /* NULL: one file, whatever its name */
    const char *below;
    int (*read)(const struct format_reading *reading);
};

static const struct memory_source sources[] = {
    {"claude-code", refuse_folder, NULL, read_folder_file},
    {"claude-md", NULL, NULL, markdown_facts},
    {"jutul", refuse_folder, NULL, read_folder_file},
    {"openclaw", refuse_openclaw, "memory", read_openclaw},
    {"hermes", refuse_hermes, "memories", read_hermes},
    {"server-memory", NULL, NULL, graph_facts},
    {"ethos-vector", NULL, NULL, read_vector},
};

static const struct memory_source *find_source(const char *name)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcmp(sources[i].name, name) == 0)
            return &sources[i];
    return NULL;
}

bool foreign_is_folder(const char *source)
{
    const struct memory_source *found = find_source(source);
    return found && found->refuse;
}

const char *foreign_below(const char *source)
{
    const struct memory_source *found = find_source(source);
    return found ? found->below : NULL;
}

const char *foreign_refusal(const char *source, const char *path)
{
    const struct memory_source *found = find_source(source);
    return found && found->refuse ? found->refuse(path) : NULL;
}

int foreign_read(const char *source, const char *path, struct ethos_view text, struct arena *arena,
                 foreign_item_fn *each, foreign_skip_fn *skip, void *arg)
{
    const struct memory_source *found = find_source(source);
    const struct format_reading reading = {path, text, arena, each, skip, arg};
    return found ? found->read(&reading) : ETHOS_INVALID;
}

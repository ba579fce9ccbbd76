/*
 * reference_path.c: whether one word names a file, or a name in one, by its look alone.
 *
 * All of it is lists of what people write between backticks that looks like a path and is none. A
 * word that is on a list by mistake is a claim nobody checks; one that is missing is a false alarm.
 */
#include <string.h>

#include "base/choice.h"
#include "base/view.h"
#include "core/notes/references_internal.h"

#define MAX_PATH_BYTES 512
#define MAX_EXTENSION 8 /* bytes */
#define MAX_DIGITS 7    /* of a line number */
#define ELLIPSIS "\xE2\x80\xA6"

/*
 * Of sources and documents; what builds and programs leave behind (.o, .log, .db) is not asked for.
 */
static const char extensions[] =
    "c|h|cc|cpp|cxx|hpp|hh|hxx|m|mm|cs|java|kt|kts|scala|go|rs|swift|zig|py|pyi|rb|php|pl|pm|"
    "lua|sh|bash|zsh|fish|ps1|bat|jl|r|f90|f95|js|mjs|cjs|jsx|ts|mts|cts|tsx|vue|svelte|css|"
    "scss|sass|less|html|htm|xml|xsl|svg|json|jsonl|json5|yaml|yml|toml|ini|cfg|conf|md|mdx|"
    "rst|txt|tex|bib|adoc|org|csv|tsv|sql|proto|graphql|cmake|mk|gradle|tf|nix|ipynb|el|ex|exs|"
    "erl|hs|ml|mli|clj|vim|asm|awk|service|patch|diff|png|jpg|jpeg|gif|pdf";

/*
 * Names without a directory: as often a header of the system, a host, a unit, or a file that a
 * program makes at run time.
 */
static const char weak_extensions[] =
    "h|hpp|hh|hxx|m|r|org|el|ex|pm|mm|service|conf|json|jsonl|json5|yaml|yml|toml|ini|cfg|xml|md|"
    "txt|csv|tsv|html|htm|pdf|png|jpg|jpeg|gif|svg|patch|diff|sql";

/* First parts of what is no file: placeholders, build products, the headers of the system. */
static const char odd_starts[] =
    "path|foo|bar|baz|example|your|my|some|xxx|x|"
    "build|dist|out|target|node_modules|coverage|venv|.venv|__pycache__|tmp|temp|.git|.cache|"
    "sys|linux|net|netinet|arpa|bits|asm|openssl|boost|std|gtk";

/* The same for what ends in a slash: branches and routes. */
static const char odd_directories[] =
    "feature|features|feat|fix|bugfix|hotfix|release|releases|chore|refactor|origin|upstream|refs|"
    "heads|api|v1|v2|v3|rest|http|https";

/* Names without meaning, whatever follows the dot. */
static const char odd_stems[] = "foo|bar|baz|qux|file|filename|name|example|sample|your-file|"
                                "yourfile|my-file|myfile|xxx";

/* Programs that are called like files. */
static const char products[] =
    "node.js|vue.js|next.js|nuxt.js|react.js|express.js|three.js|d3.js|p5.js|moment.js|ember.js|"
    "backbone.js|angular.js|alpine.js|chart.js|discord.js|nest.js|require.js|docs.rs";

/* Where absolute paths of a machine begin; anything else with a slash in front is a route. */
static const char *const system_roots[] = {"/etc/", "/usr/",  "/opt/",  "/home/",
                                           "/var/", "/srv/",  "/root/", "/mnt/",
                                           "/lib/", "/boot/", "/bin/",  "/Users/"};

static bool is_path_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static bool is_path_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A list lookup that does not mind capitals; long words are on no list. */
static bool listed(const char *choices, struct ethos_view word)
{
    char lower[32];
    if (word.size == 0 || word.size > sizeof lower)
        return false;
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return choice_has(choices, view_of(lower, word.size));
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* Takes a number off the end, if this mark stands before it. */
static bool cut_number(struct ethos_view *word, const char *mark, size_t *out)
{
    size_t start = word->size, number = 0, length = strlen(mark);
    while (start > 0 && is_path_digit(word->data[start - 1]))
        start--;
    if (start == word->size || start < length + 1 || word->size - start > MAX_DIGITS ||
        memcmp(word->data + start - length, mark, length) != 0)
        return false;
    for (size_t i = start; i < word->size; i++)
        number = number * 10 + (size_t)(word->data[i] - '0');
    *out = number;
    word->size = start - length;
    return true;
}

/* a.c:7, a.c:7:3, a.c:7-9, a.c#L7, a.c#L7-L9 */
static size_t cut_line_numbers(struct ethos_view *word)
{
    size_t number = 0, last;
    struct ethos_view rest = *word;
    if ((cut_number(&rest, "-L", &last) || cut_number(&rest, "-", &last)) &&
        (cut_number(&rest, ":", &number) || cut_number(&rest, "#L", &number))) {
        *word = rest;
        return number;
    }
    if (!cut_number(word, "#L", &number) && cut_number(word, ":", &number))
        cut_number(word, ":", &number);
    return number;
}

static bool has_plain_bytes(struct ethos_view path)
{
    bool letters = false;
    for (size_t i = 0; i < path.size; i++) {
        char c = path.data[i];
        if ((unsigned char)c <= ' ' || c == 0x7F || strchr("*?<>{}|\"'`$%\\=,;:()[]!&^#", c) ||
            (c == '~' && i > 0))
            return false;
        letters = letters || is_path_letter(c);
    }
    return letters && !view_contains(path, VIEW("..")) && !view_contains(path, VIEW("//")) &&
           !view_contains(path, VIEW(ELLIPSIS));
}

static struct ethos_view first_part(struct ethos_view path)
{
    const char *slash = memchr(path.data, '/', path.size);
    return slash ? view_of(path.data, (size_t)(slash - path.data)) : path;
}

static struct ethos_view last_part(struct ethos_view path)
{
    const char *slash = memrchr(path.data, '/', path.size);
    return slash ? view_from(path, (size_t)(slash - path.data) + 1) : path;
}

/* Splits at the last dot that is not the first byte; false when there is none. */
static bool split_extension(struct ethos_view name, struct ethos_view *stem,
                            struct ethos_view *extension)
{
    const char *dot = memrchr(name.data, '.', name.size);
    if (!dot || dot == name.data)
        return false;
    *stem = view_of(name.data, (size_t)(dot - name.data));
    *extension = view_from(name, stem->size + 1);
    return extension->size > 0 && extension->size <= MAX_EXTENSION;
}

static bool is_file_name(struct ethos_view name, bool bare)
{
    struct ethos_view stem, extension;
    if (!split_extension(name, &stem, &extension) || !choice_has(extensions, extension))
        return false;
    if (listed(odd_stems, stem) || view_starts(stem, VIEW("foo")) || listed(products, name))
        return false;
    bool member = stem.size < 2 || (extension.size < 2 && memchr(stem.data, '.', stem.size));
    return !bare || (!member && !choice_has(weak_extensions, extension)); // p.c, a.b.c
}

/*
 * A directory is named by two parts at least: one alone (`weekly/`) is as often an idea, a prefix
 * of branches or made at run time. Every part could be a word, unlike those of sed's s/a/b/.
 */
static bool is_directory(struct ethos_view path)
{
    size_t length = 0, parts = 0;
    for (size_t i = 0; i < path.size; i++) {
        if (path.data[i] != '/') {
            length++;
            continue;
        }
        if (length < 2)
            return false;
        length = 0;
        parts++;
    }
    return parts >= 2;
}

/* PROJECT_HOME/x: a variable without its dollar. */
static bool is_variable(struct ethos_view part)
{
    bool lower = false;
    for (size_t i = 0; i < part.size; i++)
        lower = lower || (part.data[i] >= 'a' && part.data[i] <= 'z');
    return !lower && memchr(part.data, '_', part.size);
}

static bool is_absolute(struct ethos_view path)
{
    for (size_t i = 0; i < sizeof system_roots / sizeof *system_roots; i++) {
        if (view_starts(path, view_str(system_roots[i])))
            return true;
    }
    return false;
}

/* A path below the workspace, without "./". */
static bool is_relative(struct ethos_view path, bool sure)
{
    struct ethos_view first = first_part(path), stem, extension;
    bool bare = first.size == path.size;
    bool hidden = first.data[0] == '.' && !view_eq(first, VIEW(".github"));
    if (first.data[0] == '@' || hidden || is_variable(first) || listed(odd_starts, first))
        return false; // hidden folders are the settings of programs that not everybody has
    if (!bare && split_extension(first, &stem, &extension)) // a host, as in an import path
        return false;
    if (view_ends(path, VIEW("/")))
        return !listed(odd_directories, first) && is_directory(path);
    return is_file_name(last_part(path), bare && !sure);
}

bool claims_path(struct ethos_view word, bool linked, struct ethos_view *out_path,
                 size_t *out_number)
{
    struct ethos_view path = word;
    size_t number = cut_line_numbers(&path);
    if (path.size < 3 || path.size > MAX_PATH_BYTES || path.data[0] == '-' ||
        !has_plain_bytes(path))
        return false;
    bool holds;
    if (path.data[0] == '/' || path.data[0] == '~') {
        bool home = view_starts(path, VIEW("~/")) && path.size > 3 && path.data[2] != '.';
        bool named = view_ends(path, VIEW("/")) || is_file_name(last_part(path), false);
        holds = (home && named) || is_absolute(path);
    } else {
        bool dotted = view_starts(path, VIEW("./"));
        if (dotted)
            path = view_from(path, 2);
        holds = path.size > 2 && is_relative(path, linked || dotted);
    }
    if (!holds)
        return false;
    *out_path = path;
    *out_number = number;
    return true;
}

/* ---- symbols -------------------------------------------------------------------------------- */

static bool is_identifier(struct ethos_view name)
{
    if (name.size < 3 || is_path_digit(name.data[0]))
        return false;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (!is_path_letter(c) && !is_path_digit(c) && c != '_')
            return false;
    }
    return true;
}

/* A name nobody would write in prose: an underscore inside, or a capital after a small letter. */
static bool looks_made_up(struct ethos_view name)
{
    for (size_t i = 1; i < name.size; i++) {
        char before = name.data[i - 1], c = name.data[i];
        if (c == '_' || (c >= 'A' && c <= 'Z' && before >= 'a' && before <= 'z'))
            return true;
    }
    return false;
}

static struct ethos_view last_name(struct ethos_view name)
{
    size_t start = name.size;
    while (start > 0 && !strchr(".:#>", name.data[start - 1]))
        start--;
    return view_from(name, start);
}

bool claims_symbol(struct ethos_view word, struct ethos_view *out_name)
{
    struct ethos_view name = word;
    const char *open = memchr(word.data, '(', word.size);
    bool called = open && view_ends(word, VIEW(")"));
    if (called)
        name.size = (size_t)(open - word.data);
    name = last_name(name);
    if (!is_identifier(name) || !(called || looks_made_up(name)))
        return false;
    *out_name = name;
    return true;
}

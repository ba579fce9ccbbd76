/*
 * chunks.c: reads the entries of a text, and adds, changes and deletes single ones.
 *
 * A change is made in the text, which is then read again: apart from the changed entry, the new text must have the same
 * entries as the old one. So the rules about blank lines, markers and fences are in one place only.
 */
#include "core/formats/chunks.h"

#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/formats/code_fence.h"
#include "core/formats/text_units.h"

/* ---- reading --------------------------------------------------------------------------------- */

struct chunk_walk {
    struct ethos_view text;
    chunk_fn *each;
    void *arg;
    size_t section;
    size_t at, line; /* the offset up to which lines were counted, and their number */
};

/* Bytes of a bullet or number with the blanks after it; 0 if the line does not begin a list item. */
static size_t marker_size(struct ethos_view line)
{
    size_t size = 0;
    if (!markdown_is_item(line))
        return 0;
    while (size < line.size && line.data[size] != ' ')
        size++;
    while (size < line.size && line.data[size] == ' ')
        size++;
    return size;
}

static bool is_block_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

bool chunk_is_block(struct ethos_view name)
{
    size_t i = 0;
    while (i < name.size && is_block_character(name.data[i]))
        i++;
    return name.size > 0 && name.size <= CHUNK_MAX_BLOCK && i == name.size;
}

/* The name in "^name" at the end of the text, after a blank or a line end. */
static struct ethos_view find_block_id(struct ethos_view text)
{
    size_t start = text.size;
    while (start > 0 && is_block_character(text.data[start - 1]))
        start--;
    struct ethos_view name = view_from(text, start);
    bool marked = start > 1 && text.data[start - 1] == '^' &&
                  (text.data[start - 2] == ' ' || text.data[start - 2] == '\n');
    return marked && chunk_is_block(name) ? name : (struct ethos_view){0};
}

static int add_chunk_of_unit(void *arg, const struct text_unit *unit)
{
    struct chunk_walk *walk = arg;
    if (unit->section) {
        walk->section++;
        return ETHOS_OK;
    }
    walk->line += view_newlines(view_of(walk->text.data + walk->at, unit->offset - walk->at));
    walk->at = unit->offset;
    struct chunk chunk = {.text = unit->text,
                          .offset = unit->offset,
                          .line = walk->line + 1,
                          .marker = marker_size(unit->text),
                          .block = find_block_id(unit->text),
                          .section = walk->section};
    for (unsigned level = 1; level <= MARKDOWN_LEVELS; level++)
        if (!view_blank(unit->headings[level]))
            chunk.path[chunk.depth++] = unit->headings[level];
    return walk->each(walk->arg, &chunk);
}

int chunks_each(struct ethos_view text, chunk_fn *each, void *arg)
{
    static const struct text_date none = {0};
    struct chunk_walk walk = {.text = text, .each = each, .arg = arg};
    return text_units_each(text, VIEW(""), none, add_chunk_of_unit, &walk);
}

/* Bytes of indentation that belong to the marker above: blanks up to its width, or a tab. */
static size_t indent_size(struct ethos_view line, size_t marker)
{
    size_t size = 0;
    while (size < line.size && size < marker && line.data[size] == ' ')
        size++;
    return size == 0 && marker > 0 && line.size > 0 && line.data[0] == '\t' ? 1 : size;
}

int chunk_content(const struct chunk *chunk, struct str *out)
{
    struct ethos_view rest = view_from(chunk->text, chunk->marker), line;
    if (chunk->block.data) // with its '^'
        rest.size -= chunk->block.size + 1;
    rest = view_trim_end(rest);
    for (bool first = true; view_line(&rest, &line); first = false) {
        if (!first)
            str_addc(out, '\n');
        str_add(out, first ? line : view_from(line, indent_size(line, chunk->marker)));
    }
    return str_code(out);
}

void chunk_hash(const char *scope, const char *key, struct ethos_view text, char out[CHUNK_ID_SIZE])
{
    char hex[HASH_HEX_SIZE];
    struct hash_growing hash;
    hash_begin(&hash);
    hash_add(&hash, view_of(scope, strlen(scope) + 1));
    hash_add(&hash, view_of(key, strlen(key) + 1));
    hash_add(&hash, text);
    char revision[ETHOS_REVISION_SIZE];
    hash_so_far(&hash, revision);
    memcpy(hex, strchr(revision, ':') + 1, CHUNK_ID_SIZE - 1);
    memcpy(out, hex, CHUNK_ID_SIZE - 1);
    out[CHUNK_ID_SIZE - 1] = '\0';
}

/* ---- checking -------------------------------------------------------------------------------- */

static int refuse_content(struct ethos_error *error, const char *why)
{
    return err_set(error, ETHOS_INVALID, "content: %s", why);
}

int chunk_check(struct ethos_view content, struct ethos_error *error)
{
    struct ethos_view rest = view_trim(content), line;
    if (rest.size == 0)
        return refuse_content(error, "empty");
    if (memchr(rest.data, 0, rest.size))
        return refuse_content(error, "contains a NUL byte");
    for (size_t number = 1; view_line(&rest, &line); number++) {
        const char *what = view_blank(line)         ? "blank, which would end the entry"
                           : markdown_heading(line) ? "a heading"
                           : markdown_is_item(line) ? "a list item of its own"
                                                    : NULL;
        if (what)
            return err_set(error, ETHOS_INVALID, "content: line %zu is %s", number, what);
    }
    return ETHOS_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* A checksum over all entries of a text except one, and their number. */
struct remaining_entries {
    size_t skip; /* offset of the entry to leave out; SIZE_MAX: none */
    uint64_t sum;
    size_t count;
    bool skipped;
};

static int sum_entry(void *arg, const struct chunk *chunk)
{
    struct remaining_entries *others = arg;
    if (chunk->offset == others->skip) {
        others->skipped = true;
        return ETHOS_OK;
    }
    others->sum = hash_mix(others->sum, chunk->text);
    others->sum = hash_mix(others->sum, view_of((const char *)&chunk->depth, sizeof chunk->depth));
    for (size_t i = 0; i < chunk->depth; i++)
        others->sum = hash_mix(others->sum, chunk->path[i]);
    others->count++;
    return ETHOS_OK;
}

static int sum_others(struct ethos_view text, size_t skip, struct remaining_entries *out)
{
    *out = (struct remaining_entries){.skip = skip};
    return chunks_each(text, sum_entry, out);
}

/* Checks that the texts differ only in the entry at `was` of the old one and at `is` of the new one (SIZE_MAX: none). */
static int compare_others(struct ethos_view old, size_t was, struct ethos_view new, size_t is,
                          struct ethos_error *error)
{
    struct remaining_entries before, after;
    if (sum_others(old, was, &before) != ETHOS_OK || sum_others(new, is, &after) != ETHOS_OK)
        return err_nomem(error);
    bool same = before.sum == after.sum && before.count == after.count &&
                before.skipped == (was != SIZE_MAX) && after.skipped == (is != SIZE_MAX);
    if (same)
        return ETHOS_OK;
    if (is == SIZE_MAX)
        return err_hint(error,
                        err_set(error, ETHOS_INVALID,
                                "removing this entry would change the meaning of its neighbours"),
                        "edit the file");
    return err_hint(
        error, refuse_content(error, "would not be a single entry there"),
        "remove markdown that would change the meaning, such as an unclosed code block");
}

/* The content of the entry at an offset. */
struct entry_read_back {
    size_t offset;
    struct str text;
    bool found;
};

static int read_entry_back(void *arg, const struct chunk *chunk)
{
    struct entry_read_back *back = arg;
    if (chunk->offset != back->offset)
        return ETHOS_OK;
    back->found = true;
    return chunk_content(chunk, &back->text) ? ETHOS_NOMEM : ETHOS_OK;
}

static int check_result(struct ethos_view old, size_t was, struct ethos_view new, size_t is,
                        struct ethos_view content, struct ethos_error *error)
{
    TRY(compare_others(old, was, new, is, error));
    struct entry_read_back back = {.offset = is};
    str_init(&back.text, SIZE_MAX);
    int code = chunks_each(new, read_entry_back, &back) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    if (code == ETHOS_OK && (!back.found || !view_eq(str_view(&back.text), content)))
        code = err_hint(error, refuse_content(error, "would have another meaning there"),
                        "remove indentation and spaces at the ends of lines");
    str_release(&back.text);
    return code;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Appends an entry: the marker, the lines with its indentation, and the block id at the end. */
static void print_entry(struct str *out, struct ethos_view marker, struct ethos_view content,
                        struct ethos_view block)
{
    struct ethos_view rest = content, line;
    str_add(out, marker);
    for (bool first = true; view_line(&rest, &line); first = false) {
        if (!first)
            str_printf(out, "\n%*s", (int)marker.size, "");
        str_add(out, line);
    }
    if (block.data)
        str_printf(out, " ^%.*s", VIEW_ARG(block));
}

int chunk_update(struct ethos_view text, const struct chunk *chunk, struct ethos_view content,
                 struct str *out, size_t *out_offset, struct ethos_error *error)
{
    struct ethos_view trimmed = view_trim(content);
    int code = chunk_check(content, error);
    if (code != ETHOS_OK)
        return code;
    str_clear(out);
    str_add(out, view_of(text.data, chunk->offset));
    print_entry(out, view_of(chunk->text.data, chunk->marker), trimmed, chunk->block);
    str_add(out, view_from(text, chunk->offset + chunk->text.size));
    *out_offset = chunk->offset;
    return str_code(out)
               ? err_nomem(error)
               : check_result(text, chunk->offset, str_view(out), chunk->offset, trimmed, error);
}

/* The offset of the line after the entry. */
static size_t entry_line_end(struct ethos_view text, const struct chunk *chunk)
{
    size_t end = chunk->offset + chunk->text.size;
    while (end < text.size && text.data[end] != '\n')
        end++;
    return end < text.size ? end + 1 : end;
}

static bool is_blank_line(struct ethos_view text, size_t at)
{
    struct ethos_view rest = view_from(text, at), line;
    return at < text.size && view_line(&rest, &line) && view_blank(line);
}

/* Deletes the entry. If there are blank lines on both sides, those after it are deleted, too. */
int chunk_delete(struct ethos_view text, const struct chunk *chunk, struct str *out,
                 struct ethos_error *error)
{
    size_t start = chunk->offset, end = entry_line_end(text, chunk);
    bool parted = start == 0 ||
                  (start > 1 && text.data[start - 1] == '\n' && text.data[start - 2] == '\n');
    while (parted && is_blank_line(text, end)) {
        struct ethos_view rest = view_from(text, end), line;
        view_line(&rest, &line);
        end = rest.size > 0 ? (size_t)(rest.data - text.data) : text.size;
    }
    str_clear(out);
    str_add(out, view_of(text.data, start));
    str_add(out, view_from(text, end));
    if (end == text.size) { // the text before it is the end now
        while (out->size > 1 && out->data[out->size - 1] == '\n' &&
               out->data[out->size - 2] == '\n')
            str_truncate(out, out->size - 1);
    }
    return str_code(out) ? err_nomem(error)
                         : compare_others(text, chunk->offset, str_view(out), SIZE_MAX, error);
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* The part of the text to add an entry to, from a heading to the next one. */
struct insert_section {
    size_t start, end;
    struct chunk last; /* the last entry in it */
    bool has_last;
    struct ethos_view block; /* the block id to write */
    bool taken;              /* an entry has that block id already */
};

/* Finds the part below the heading `under`; without it, below the last heading. False if there is no such heading. */
static bool find_insert_section(struct ethos_view text, struct ethos_view under,
                                struct insert_section *out)
{
    struct ethos_view rest = view_unmarked(text), line;
    struct fence fence = {0};
    bool found = !under.data, ended = false;
    *out = (struct insert_section){.end = text.size};
    while (!ended && view_line(&rest, &line)) {
        if (fence_line(&fence, line) || !markdown_heading(line))
            continue;
        ended = found && under.data;
        if (ended) {
            out->end = (size_t)(line.data - text.data);
        } else if (!under.data || view_eq(markdown_heading_text(line), view_trim(under))) {
            out->start = (size_t)(line.data - text.data) + line.size;
            found = true;
        }
    }
    return found;
}

static int inspect_entry(void *arg, const struct chunk *chunk)
{
    struct insert_section *place = arg;
    if (chunk->offset >= place->start && chunk->offset < place->end) {
        place->last = *chunk;
        place->has_last = true;
    }
    place->taken = place->taken ||
                   (place->block.data && chunk->block.data && view_eq(chunk->block, place->block));
    return ETHOS_OK;
}

/* Appends the marker of the next item; a number is increased by one. */
static void print_next_marker(const struct chunk *last, struct str *out)
{
    struct ethos_view marker = view_of(last->text.data, last->marker);
    uint64_t number = 0;
    size_t digits = 0;
    for (; digits < marker.size && marker.data[digits] >= '0' && marker.data[digits] <= '9';
         digits++)
        number = number * 10 + (uint64_t)(marker.data[digits] - '0');
    if (digits > 0 && digits < 10)
        str_printf(out, "%llu", (unsigned long long)number + 1);
    str_add(out, digits > 0 && digits < 10 ? view_from(marker, digits) : marker);
}

/* Inserts a list item after the last one. */
static size_t insert_item(struct ethos_view text, const struct insert_section *place,
                          const struct chunk_new *what, struct str *out)
{
    struct str marker;
    size_t at = entry_line_end(text, &place->last);
    str_init(&marker, SIZE_MAX);
    print_next_marker(&place->last, &marker);
    str_add(out, view_of(text.data, at));
    if (at > 0 && text.data[at - 1] != '\n')
        str_addc(out, '\n');
    size_t offset = out->size;
    print_entry(out, str_view(&marker), view_trim(what->content), what->block);
    str_addc(out, '\n');
    str_add(out, view_from(text, at));
    if (str_code(&marker))
        str_fail(out, str_code(&marker));
    str_release(&marker);
    return offset;
}

/* Inserts a paragraph at the end of the part, after a blank line. */
static size_t insert_paragraph(struct ethos_view text, const struct insert_section *place,
                               const struct chunk_new *what, struct str *out)
{
    size_t at = view_trim_end(view_of(text.data, place->end)).size;
    str_add(out, view_of(text.data, at));
    if (at > 0)
        str_adds(out, "\n\n");
    size_t offset = out->size;
    print_entry(out, VIEW(""), view_trim(what->content), what->block);
    if (place->end == text.size)
        str_addc(out, '\n');
    else
        str_add(out, view_from(text, at));
    return offset;
}

int chunk_add(struct ethos_view text, const struct chunk_new *what, struct str *out,
              size_t *out_offset, struct ethos_error *error)
{
    struct insert_section place;
    int code = chunk_check(what->content, error);
    if (code != ETHOS_OK)
        return code;
    if (!find_insert_section(text, what->under, &place))
        return err_set(error, ETHOS_INVALID, "under: there is no heading '%.*s'",
                       VIEW_ARG(what->under));
    place.block = what->block;
    if (what->block.data && !chunk_is_block(what->block))
        return err_set(error, ETHOS_INVALID,
                       "id: a block id is 1 to %d letters, digits and hyphens", CHUNK_MAX_BLOCK);
    if (chunks_each(text, inspect_entry, &place) != ETHOS_OK)
        return err_nomem(error);
    if (place.taken)
        return err_set(error, ETHOS_EXISTS, "id: there is an entry ^%.*s", VIEW_ARG(what->block));
    str_clear(out);
    *out_offset = place.has_last && place.last.marker ? insert_item(text, &place, what, out)
                                                      : insert_paragraph(text, &place, what, out);
    return str_code(out) ? err_nomem(error)
                         : check_result(text, SIZE_MAX, str_view(out), *out_offset,
                                        view_trim(what->content), error);
}

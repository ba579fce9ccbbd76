/*
 * prefetch.c: sections from a provider, rendered within the budget, with a receipt when asked for.
 *
 * Without a receipt only the tails that the budget can use are read. With one, files are read whole:
 * their revisions and the counts of what was left out need every byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/view.h"
#include "core/index.h"
#include "core/render.h"
#include "memory/handle.h"
#include "memory/notes.h"

#define NOTE "\n\n(memory is out of reach; this is what was known at %s)"
#define NOTE_SIZE (sizeof NOTE + CLOCK_ISO_SIZE)

/* ---- reading and rendering ----------------------------------------------------------------- */

/* A workspace whose memory cannot be told hides nothing else, and is not hidden itself. */
static void note_workspace(const struct ethos_context *context, struct ethos_section *section)
{
    if (!context->workspace_error || !context->workspace_shown)
        return;
    section->code = context->workspace_error->code;
    section->error = *context->workspace_error;
    memcpy(section->scope, "workspace", sizeof "workspace");
    memcpy(section->key, "MEMORY.md", sizeof "MEMORY.md");
}

/*
 * MEMORY.md of the home may be an index of notes or another log. By itself it is shown when some line of it
 * has its note; after LOOKS lines without, nobody looks further.
 */
static void judge_global(struct ethos_turn *turn, struct ethos_section *section)
{
    enum { LOOKS = 64 };
    struct index_entry entry;
    size_t offset = 0, looks = 0;
    char key[ETHOS_MAX_KEY + 1];
    bool shown = !turn->settings.global_auto;
    if (section->code != ETHOS_OK || shown)
        return;
    struct ethos_view text = view_of(section->text.data, section->text.size);
    while (!shown && looks < LOOKS && index_next(text, &offset, &entry)) {
        snprintf(key, sizeof key, "%.*s", VIEW_ARG(entry.file));
        shown = notes_has(turn, section->scope, key, NULL) == ETHOS_OK;
        looks++;
    }
    if (!shown)
        section->code = ETHOS_NOTFOUND;
}

bool notes_global_shown(struct ethos_turn *turn)
{
    struct ethos_section section = {.scope = "global", .key = "MEMORY.md"};
    if (!turn->context.global_scope)
        return false;
    section.code = notes_read(turn, section.scope, section.key, &section.text, NULL);
    judge_global(turn, &section);
    notes_free(turn, &section.text);
    return section.code == ETHOS_OK;
}

static int fetch(struct ethos_turn *turn, uint64_t tail_bytes, bool receipt,
                 struct ethos_error *error)
{
    struct ethos_section *sections = turn->ethos->sections;
    struct ethos_read_how how = {tail_bytes, receipt ? ETHOS_READ_REVISION : 0u};
    for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
        struct ethos_text *text = &sections[i].text;
        *text = (struct ethos_text){.data = text->data, .capacity = text->capacity};
        sections[i].code = ETHOS_NOTFOUND;
    }
    int code = turn->provider->ops->prefetch(turn->provider, &turn->context, &how, sections,
                                             ETHOS_SECTIONS, error);
    if (code == ETHOS_OK) {
        note_workspace(&turn->context, &sections[ETHOS_SECTION_WORKSPACE]);
        judge_global(turn, &sections[ETHOS_SECTION_GLOBAL]);
    }
    return code;
}

/* ---- what is out of reach ------------------------------------------------------------------ */

/* The time of the oldest text that is not as it is now; 0: all are. */
static int64_t oldest(const struct ethos_section *sections)
{
    int64_t known_ms = 0;
    for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
        int64_t own = sections[i].code == ETHOS_OK ? sections[i].text.known_ms : 0;
        if (own && (!known_ms || own < known_ms))
            known_ms = own;
    }
    return known_ms;
}

/* What the reader of the block is told then; "" when there is nothing to tell. */
static void make_note(const struct ethos_section *sections, char out[NOTE_SIZE])
{
    char iso[CLOCK_ISO_SIZE];
    int64_t known_ms = oldest(sections);
    *out = 0;
    if (!known_ms)
        return;
    clock_iso(known_ms, iso);
    snprintf(out, NOTE_SIZE, NOTE, iso);
}

/* Renders with room for the note, which follows what there is. */
static int render_noted(const struct render_input inputs[ETHOS_SECTIONS],
                        const struct ethos_section *sections, struct render_options options,
                        struct str *out, struct render_result *result)
{
    char note[NOTE_SIZE];
    size_t before = out->size;
    make_note(sections, note);
    size_t room = *note ? strlen(note) : 0; // it is ASCII
    bool fits = room > 0 && options.cap > room;
    if (fits)
        options.cap -= room;
    int code = render_block(inputs, &options, out, result);
    return code == ETHOS_OK && fits && out->size > before ? str_adds(out, note) : code;
}

/*
 * Reads tails that grow until rendering has enough. A text of one endless line ends that: what was
 * read by then is shown.
 */
#define TAIL_BYTES 2097152 /* of a file are read before what there is must do */

static int fetch_and_render(struct ethos_turn *turn, struct render_options options, bool receipt,
                            struct str *out, struct render_result *result,
                            struct ethos_error *error)
{
    struct ethos_section *sections = turn->ethos->sections;
    uint64_t tail = receipt ? 0 : render_tail_bytes(&options);
    for (;; tail *= 4) {
        options.final = tail > TAIL_BYTES;
        struct render_input inputs[ETHOS_SECTIONS] = {0};
        int code = fetch(turn, tail, receipt, error);
        if (code != ETHOS_OK)
            return code;
        for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
            if (sections[i].code == ETHOS_NOMEM)
                return err_nomem(error); // says nothing about the file
            if (sections[i].code != ETHOS_OK)
                continue;
            const struct ethos_text *text = &sections[i].text;
            inputs[i] = (struct render_input){view_of(text->data, text->size), text->offset,
                                              sections[i].key};
        }
        code = render_noted(inputs, sections, options, out, result);
        if (code != ETHOS_OK)
            return err_set(error, code, "prefetch: out of memory");
        if (!result->more)
            return ETHOS_OK;
        if (tail == 0)
            return err_set(error, ETHOS_INTERNAL, "%s: gave a part of a text for the whole",
                           turn->provider->ops->name);
    }
}

static bool any_too_large(const struct ethos_section *sections)
{
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        if (sections[i].code == ETHOS_LIMIT)
            return true;
    return false;
}

/* Whole files for a receipt; a file too large for that still shows its tail, without a revision. */
static int render_turn(struct ethos_turn *turn, const struct render_options *options, bool receipt,
                       struct str *out, struct render_result *result, struct ethos_error *error)
{
    int code = fetch_and_render(turn, *options, receipt, out, result, error);
    if (code != ETHOS_OK || !receipt || !any_too_large(turn->ethos->sections))
        return code;
    str_clear(out);
    return fetch_and_render(turn, *options, false, out, result, error);
}

static int choose_options(const struct ethos_turn *turn, const struct ethos_prefetch_options *given,
                          struct render_options *out, struct ethos_error *error)
{
    const struct service_settings *settings = &turn->settings;
    uint64_t cap = given->max_chars ? given->max_chars : settings->max_chars;
    if (cap < ETHOS_CAP_MIN_CH || cap > ETHOS_CAP_MAX_CH)
        return err_set(error, ETHOS_INVALID, "max-chars: must be from %d to %d", ETHOS_CAP_MIN_CH,
                       ETHOS_CAP_MAX_CH);
    *out = (struct render_options){
        .cap = cap,
        .unit = RENDER_CH,
        .tail = given->truncate ? given->truncate == ETHOS_TRUNCATE_TAIL : settings->tail,
        .guard = given->guard ? given->guard == ETHOS_SWITCH_ON : settings->guard,
        .tools = given->tools != 0,
        .tally = given->receipt != 0,
    };
    return ETHOS_OK;
}

/* ---- the receipt --------------------------------------------------------------------------- */

static struct ethos_omission *omit(struct ethos_block *block, const struct ethos_section *section,
                                   const char *reason, uint64_t chars, uint64_t bytes)
{
    struct ethos_omission *row = &block->omitted[block->omitted_count++];
    memcpy(row->scope, section->scope, sizeof row->scope);
    memcpy(row->key, section->key, sizeof row->key);
    row->reason = reason;
    row->chars = chars;
    row->bytes = bytes;
    return row;
}

static void list_omissions(struct ethos_block *block, const struct ethos_section *section,
                           const struct render_part *part)
{
    if (section->code != ETHOS_OK)
        omit(block, section, "unreadable", 0, section->text.total);
    if (part->cut_bytes > 0)
        omit(block, section, "budget", part->cut_chars ? part->cut_chars : part->cut_bytes,
             part->cut_bytes); // uncounted: a character has a byte at least
    if (part->guard_bytes > 0)
        omit(block, section, "guard", part->guard_chars, part->guard_bytes);
    if (part->secret_bytes > 0)
        omit(block, section, "secret", part->secret_chars, part->secret_bytes);
}

static int add_source(struct ethos_block *block, const struct ethos_turn *turn,
                      const struct ethos_section *section, struct ethos_error *error)
{
    struct ethos_source *row = &block->sources[block->source_count++];
    memcpy(row->scope, section->scope, sizeof row->scope);
    memcpy(row->key, section->key, sizeof row->key);
    memcpy(row->revision, section->text.revision, sizeof row->revision);
    return service_path(turn, section->scope, section->key, &row->path, error);
}

static struct ethos_view part_view(const struct ethos_block *block, const struct render_part *part)
{
    return part->shown ? view_of(block->text + part->start, part->size) : (struct ethos_view){0};
}

static int fill_receipt(struct ethos_block *block, const struct ethos_turn *turn,
                        const struct render_result *result, struct ethos_error *error)
{
    const struct ethos_section *sections = turn->ethos->sections;
    block->omitted = calloc((size_t)ETHOS_SECTIONS * 4, sizeof *block->omitted);
    block->sources = calloc(ETHOS_SECTIONS, sizeof *block->sources);
    if (!block->omitted || !block->sources)
        return err_nomem(error);
    int code = ETHOS_OK;
    for (size_t i = 0; i < ETHOS_SECTIONS && code == ETHOS_OK; i++) {
        if (sections[i].code == ETHOS_NOTFOUND)
            continue;
        list_omissions(block, &sections[i], &result->parts[i]);
        if (sections[i].code == ETHOS_OK)
            code = add_source(block, turn, &sections[i], error);
    }
    block->user_memory = part_view(block, &result->parts[ETHOS_SECTION_USER]);
    block->project_memory = part_view(block, &result->parts[ETHOS_SECTION_MEMORY]);
    block->workspace_memory = part_view(block, &result->parts[ETHOS_SECTION_WORKSPACE]);
    block->global_memory = part_view(block, &result->parts[ETHOS_SECTION_GLOBAL]);
    return code;
}

/* ---- the block ----------------------------------------------------------------------------- */

/* A file that exists but could not be read does not hide the others, and is not hidden itself. */
static void note_unreadable(struct ethos_block *block, const struct ethos_section *sections)
{
    for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
        if (sections[i].code == ETHOS_OK || sections[i].code == ETHOS_NOTFOUND)
            continue;
        // Nothing was refused to the caller: a file is out of reach.
        block->code = sections[i].code == ETHOS_DENIED ? ETHOS_IO : sections[i].code;
        block->error = sections[i].error;
        block->error.code = block->code;
        return;
    }
}

static int make_block(struct ethos_turn *turn, struct str *text, const struct render_result *result,
                      bool receipt, struct ethos_block **out_block, struct ethos_error *error)
{
    struct ethos_block *block = calloc(1, sizeof *block);
    if (!block)
        return err_nomem(error);
    note_unreadable(block, turn->ethos->sections);
    if (text->size == 0 && block->code == ETHOS_OK) {
        free(block);
        *out_block = NULL;
        return ETHOS_OK;
    }
    char note[NOTE_SIZE];
    make_note(turn->ethos->sections, note);
    block->known_ms = oldest(turn->ethos->sections);
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        block->chars += result->parts[i].chars;
    if (*note && view_ends(str_view(text), view_str(note)))
        block->chars += strlen(note);
    block->text = str_steal(text, &block->size);
    int code = block->text ? ETHOS_OK : err_nomem(error);
    if (code == ETHOS_OK && receipt)
        code = fill_receipt(block, turn, result, error);
    if (code == ETHOS_OK)
        *out_block = block;
    else
        ethos_block_free(block);
    return code;
}

/* Without a profile, and only where the login is not in the map: all others pay nothing. */
static void warn_unlinked(struct ethos_turn *turn)
{
    char login[ETHOS_MAX_ID + 1], user[ETHOS_MAX_ID + 1];
    if (turn->platform_user && strcmp(turn->pair_platform, "cli") == 0 &&
        service_unlinked(turn->ethos, login, user))
        log_line(turn->ethos->host, ETHOS_LOG_WARN,
                 "the login %s has no profile here, but %s has; if that is you, run: ethos users "
                 "link cli %s %s",
                 login, user, login, user);
}

int ethos_prefetch(struct ethos_turn *turn, const struct ethos_prefetch_options *given,
                   struct ethos_block **out_block, struct ethos_error *error)
{
    static const struct ethos_prefetch_options defaults;
    struct render_options options;
    struct render_result result = {0};
    struct str text;
    if (!given)
        given = &defaults;
    bool receipt = given->receipt != 0;
    int code = choose_options(turn, given, &options, error);
    if (code != ETHOS_OK)
        return code;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    code = render_turn(turn, &options, receipt, &text, &result, error);
    if (code == ETHOS_OK && given->max_bytes && text.size > given->max_bytes) {
        options.unit = RENDER_BYTES;
        options.cap = given->max_bytes;
        str_clear(&text);
        code = render_turn(turn, &options, receipt, &text, &result, error);
    }
    if (code == ETHOS_OK)
        code = make_block(turn, &text, &result, receipt, out_block, error);
    if (code == ETHOS_OK && result.parts[ETHOS_SECTION_USER].chars == 0)
        warn_unlinked(turn);
    str_release(&text);
    return code;
}

void ethos_block_free(struct ethos_block *block)
{
    if (!block)
        return;
    for (size_t i = 0; i < block->source_count; i++)
        free(block->sources[i].path);
    free(block->sources);
    free(block->omitted);
    free(block->text);
    free(block);
}

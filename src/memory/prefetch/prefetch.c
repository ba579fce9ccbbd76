/*
 * prefetch.c: reads the sections from a provider and renders them within the budget, with a receipt
 * if requested.
 *
 * Without a receipt only the tails that fit the budget are read. With one, files are read whole:
 * their revisions and the counts of what was left out need every byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/log.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/render.h"
#include "core/notes/index.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"
#include "memory/prefetch/recalled_section.h"
#include "memory/shown_file.h"

#define NOTE "\n\n(memory is unreachable; this is its state of %s)"
#define NOTE_SIZE (sizeof NOTE + CLOCK_ISO_SIZE)

/* ---- reading and rendering ----------------------------------------------------------------- */

/* An unreadable workspace memory does not hide other sections, and is reported itself. */
static void set_workspace_error(const struct ethos_context *context, struct ethos_section *section)
{
    if (!context->workspace_error || !context->workspace_shown)
        return;
    section->code = context->workspace_error->code;
    section->error = *context->workspace_error;
    memcpy(section->scope, "workspace", sizeof "workspace");
    memcpy(section->key, "MEMORY.md", sizeof "MEMORY.md");
}

/*
 * MEMORY.md of the home may be an index of notes or a log. By default it is shown if one of its
 * lines has its note; after LOOKS lines without, it counts as a log.
 */
static void check_global_is_log(struct ethos_turn *turn, struct ethos_section *section)
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
    check_global_is_log(turn, &section);
    notes_free(turn, &section.text);
    return section.code == ETHOS_OK;
}

static int fetch_sections(struct ethos_turn *turn, uint64_t tail_bytes, bool receipt,
                          struct ethos_error *error)
{
    struct ethos_section *sections = turn->ethos->sections;
    struct ethos_read_how how = {tail_bytes, receipt ? ETHOS_READ_REVISION : 0u};
    for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
        struct ethos_text *text = &sections[i].text;
        *text = (struct ethos_text){.data = text->data, .capacity = text->capacity};
        sections[i].code = ETHOS_NOTFOUND;
    }
    TRY(turn->provider->ops->prefetch(turn->provider, &turn->context, &how, sections,
                                      ETHOS_SECTIONS, error));
    set_workspace_error(&turn->context, &sections[ETHOS_SECTION_WORKSPACE]);
    check_global_is_log(turn, &sections[ETHOS_SECTION_GLOBAL]);
    return ETHOS_OK;
}

/* ---- what is out of reach ------------------------------------------------------------------ */

/* The time of the oldest cached text; 0: all are current. */
static int64_t oldest_cached_ms(const struct ethos_section *sections)
{
    int64_t known_ms = 0;
    for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
        int64_t own = sections[i].code == ETHOS_OK ? sections[i].text.known_ms : 0;
        if (own && (!known_ms || own < known_ms))
            known_ms = own;
    }
    return known_ms;
}

/* The note for the reader of the block; "" if there is none. */
static void make_note(const struct ethos_section *sections, char out[NOTE_SIZE])
{
    char iso[CLOCK_ISO_SIZE];
    int64_t known_ms = oldest_cached_ms(sections);
    *out = 0;
    if (!known_ms)
        return;
    clock_iso(known_ms, iso);
    snprintf(out, NOTE_SIZE, NOTE, iso);
}

/* Renders with room for the note, which is appended. */
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
    TRY(render_block(inputs, &options, out, result));
    return fits && out->size > before ? str_adds(out, note) : ETHOS_OK;
}

/*
 * Reads growing tails until rendering has enough. For a text with one endless line, what was read
 * by then is shown.
 */
#define TAIL_BYTES 2097152 /* maximum bytes of a file to read */

/* For each section, the lines that the owner allows. Read only if the scanner hides some. */
struct allowed {
    bool read, any;
    struct arena arena;
    struct shown_lines sections[ETHOS_SECTIONS];
};

static int read_allowed(struct ethos_turn *turn, struct allowed *self)
{
    const struct ethos_section *sections = turn->ethos->sections;
    int code = ETHOS_OK;
    for (size_t i = 0; i < ETHOS_SECTIONS && code == ETHOS_OK; i++) {
        if (sections[i].code != ETHOS_OK)
            continue;
        code = shown_file_lines(turn->ethos, sections[i].scope, &self->arena, &self->sections[i]);
        self->any |= self->sections[i].count > 0;
    }
    self->read = true;
    return code;
}

/* Renders, and again if the scanner hides something and the owner allows lines of those texts. */
static int render_allowed(struct ethos_turn *turn, struct render_input inputs[ETHOS_SECTIONS],
                          const struct render_options *options, struct allowed *allowed,
                          struct str *out, struct render_result *result)
{
    const size_t before = out->size;
    bool guarded = false;
    for (size_t i = 0; allowed->any && i < ETHOS_SECTIONS; i++)
        inputs[i].shown = &allowed->sections[i];
    int code = render_noted(inputs, turn->ethos->sections, *options, out, result);
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        guarded |= result->parts[i].guarded;
    if (code != ETHOS_OK || allowed->read || !guarded)
        return code;
    code = read_allowed(turn, allowed);
    if (code != ETHOS_OK || !allowed->any)
        return code;
    str_truncate(out, before);
    return render_allowed(turn, inputs, options, allowed, out, result);
}

static int fetch_and_render(struct ethos_turn *turn, struct render_options options, bool receipt,
                            struct allowed *allowed, struct str *out, struct render_result *result,
                            struct ethos_error *error)
{
    struct ethos_section *sections = turn->ethos->sections;
    uint64_t tail = receipt ? 0 : render_tail_bytes(&options);
    for (;; tail *= 4) {
        options.final = tail > TAIL_BYTES;
        struct render_input inputs[ETHOS_SECTIONS] = {0};
        int code = fetch_sections(turn, tail, receipt, error);
        if (code != ETHOS_OK)
            return code;
        for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
            if (sections[i].code == ETHOS_NOMEM)
                return err_nomem(error); // not about the file
            if (sections[i].code != ETHOS_OK)
                continue;
            const struct ethos_text *text = &sections[i].text;
            inputs[i] = (struct render_input){.text = view_of(text->data, text->size),
                                              .offset = text->offset,
                                              .key = sections[i].key};
        }
        if (turn->settings.vector)
            inputs[ETHOS_SECTION_MEMORY].most = turn->settings.tail_chars;
        code = render_allowed(turn, inputs, &options, allowed, out, result);
        if (code != ETHOS_OK)
            return err_set(error, code, "prefetch: out of memory");
        if (!result->more)
            return ETHOS_OK;
        if (tail == 0)
            return err_set(error, ETHOS_INTERNAL,
                           "%s: the provider returned part of a text as the whole",
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

/*
 * Reads whole files for a receipt; of a file too large for that the tail is shown, without a
 * revision.
 */
static int render_turn(struct ethos_turn *turn, const struct render_options *options, bool receipt,
                       struct str *out, struct render_result *result, struct ethos_error *error)
{
    struct allowed allowed = {.read = false};
    arena_init(&allowed.arena);
    int code = fetch_and_render(turn, *options, receipt, &allowed, out, result, error);
    if (code == ETHOS_OK && receipt && any_too_large(turn->ethos->sections)) {
        str_clear(out);
        code = fetch_and_render(turn, *options, false, &allowed, out, result, error);
    }
    arena_release(&allowed.arena);
    return code;
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

/* ---- what the query finds ------------------------------------------------------------------- */

static uint64_t share_of(uint64_t whole, uint64_t wanted)
{
    return wanted < whole / 2 ? wanted : whole / 2;
}

static bool has_query(const struct ethos_turn *turn)
{
    const char *query = turn->context.query;
    return query && !view_blank(view_str(query));
}

/*
 * Reserves budget for what a query finds: always the same amount, so that the sections stay the
 * same.
 */
static struct recalled_limits reserve_for_query(const struct ethos_turn *turn,
                                                struct ethos_prefetch_options *given, uint64_t *cap)
{
    struct recalled_limits limits = {.quick = given->quick != 0,
                                     .said = given->no_sessions == 0,
                                     .chunks = turn->settings.vector ? turn->settings.top_k : 0};
    bool beside = limits.chunks > 0 && given->keep_sections;
    uint64_t setting = turn->settings.recall_chars + (beside ? turn->settings.chunk_chars : 0);
    uint64_t wanted = given->max_recalled ? given->max_recalled : setting;
    if (setting == 0 || (!given->max_recalled && !has_query(turn)))
        return limits;
    limits.chars = share_of(*cap, wanted);
    *cap -= limits.chars;
    limits.bytes = share_of(given->max_bytes, wanted);
    given->max_bytes -= limits.bytes;
    return limits;
}

/*
 * Entries of memory get what the sections leave: in a block that is too small they are dropped
 * first.
 */
static struct chunk_room chunk_room(const struct ethos_turn *turn,
                                    const struct ethos_prefetch_options *given, uint64_t cap,
                                    struct ethos_view sections)
{
    uint64_t taken = utf8_units(sections), left = cap > taken ? cap - taken : 0;
    uint64_t setting = turn->settings.chunk_chars;
    uint64_t bytes = given->max_bytes > sections.size ? given->max_bytes - sections.size : 0;
    return (struct chunk_room){.count = turn->settings.top_k,
                               .chars = left < setting ? left : setting,
                               .bytes = given->max_bytes ? bytes : UINT64_MAX};
}

/*
 * Adds what the query finds. *sections: the size of the sections, which found entries may become
 * part of.
 */
static int add_recalled(struct ethos_turn *turn, const struct ethos_prefetch_options *given,
                        uint64_t cap, struct recalled_limits *limits, struct str *text,
                        struct render_result *result, size_t *sections,
                        struct recalled_found *found, struct ethos_error *error)
{
    struct found_chunks chunks;
    size_t size = 0;
    bool placed = limits->chunks > 0 && !given->keep_sections;
    if (!has_query(turn) || (limits->chars == 0 && !placed))
        return ETHOS_OK;
    found_chunks_init(&chunks, chunk_room(turn, given, cap, str_view(text)));
    limits->placed = placed ? &chunks : NULL;
    int code = recalled_section_add(turn, limits, text, given->receipt ? found : NULL, error);
    if (code == ETHOS_OK && found_chunks_place(&chunks, text, result, &size) != ETHOS_OK)
        code = err_nomem(error);
    *sections += size;
    found->left_out += chunks.left_out;
    found_chunks_release(&chunks);
    return code;
}

/* ---- the receipt --------------------------------------------------------------------------- */

static struct ethos_omission *add_omission(struct ethos_block *block,
                                           const struct ethos_section *section, const char *reason,
                                           uint64_t chars, uint64_t bytes)
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
        add_omission(block, section, "unreadable", 0, section->text.total);
    if (part->cut_bytes > 0)
        add_omission(block, section, "budget", part->cut_chars ? part->cut_chars : part->cut_bytes,
                     part->cut_bytes); // not counted: a character has at least one byte
    if (part->guard_bytes > 0)
        add_omission(block, section, "guard", part->guard_chars, part->guard_bytes);
    if (part->secret_bytes > 0)
        add_omission(block, section, "secret", part->secret_chars, part->secret_bytes);
}

static int add_block_source(struct ethos_block *block, const struct ethos_turn *turn,
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
            code = add_block_source(block, turn, &sections[i], error);
    }
    block->user_memory = part_view(block, &result->parts[ETHOS_SECTION_USER]);
    block->project_memory = part_view(block, &result->parts[ETHOS_SECTION_MEMORY]);
    block->workspace_memory = part_view(block, &result->parts[ETHOS_SECTION_WORKSPACE]);
    block->global_memory = part_view(block, &result->parts[ETHOS_SECTION_GLOBAL]);
    return code;
}

/* ---- the block ----------------------------------------------------------------------------- */

/* A file that exists but cannot be read does not hide the others, and is reported. */
static void add_unreadable(struct ethos_block *block, const struct ethos_section *sections)
{
    for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
        if (sections[i].code == ETHOS_OK || sections[i].code == ETHOS_NOTFOUND)
            continue;
        // Access was not denied: a file is unreachable.
        block->code = sections[i].code == ETHOS_DENIED ? ETHOS_IO : sections[i].code;
        block->error = sections[i].error;
        block->error.code = block->code;
        return;
    }
}

/* Like the other sections, without heading. */
static struct ethos_view recalled_body(const struct ethos_block *block, size_t start)
{
    struct ethos_view rest = view_trim(view_of(block->text + start, block->size - start)), line;
    view_line(&rest, &line);
    return view_trim(rest);
}

/* sections: their size in the text; what the query found follows. */
static int make_block(struct ethos_turn *turn, struct str *text, size_t sections,
                      const struct render_result *result, bool receipt,
                      struct ethos_block **out_block, struct ethos_error *error)
{
    struct ethos_block *block = calloc(1, sizeof *block);
    if (!block)
        return err_nomem(error);
    add_unreadable(block, turn->ethos->sections);
    if (text->size == 0 && block->code == ETHOS_OK) {
        free(block);
        *out_block = NULL;
        return ETHOS_OK;
    }
    char note[NOTE_SIZE];
    make_note(turn->ethos->sections, note);
    block->known_ms = oldest_cached_ms(turn->ethos->sections);
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        block->chars += result->parts[i].chars;
    if (*note && view_ends(view_of(text->data, sections), view_str(note)))
        block->chars += strlen(note);
    block->chars += utf8_units(view_from(str_view(text), sections));
    block->text = str_steal(text, &block->size);
    int code = block->text ? ETHOS_OK : err_nomem(error);
    if (code == ETHOS_OK && block->size > sections)
        block->recalled = recalled_body(block, sections);
    if (code == ETHOS_OK && receipt)
        code = fill_receipt(block, turn, result, error);
    if (code == ETHOS_OK)
        *out_block = block;
    else
        ethos_block_free(block);
    return code;
}

/* If the user has no profile and the login is not in the map; other users pay nothing. */
static void warn_unlinked(struct ethos_turn *turn)
{
    char login[ETHOS_MAX_ID + 1], user[ETHOS_MAX_ID + 1];
    bool again = turn->warned;
    turn->warned = true;
    if (!again && turn->platform_user && strcmp(turn->pair_platform, "cli") == 0 &&
        service_unlinked(turn->ethos, login, user))
        log_line(turn->ethos->host, ETHOS_LOG_WARN,
                 "the login %s has no profile here, but %s has; if that is you, run: ethos users "
                 "link cli %s %s",
                 login, user, login, user);
}

/* Renders the sections within the cap and the maximum number of bytes. */
static int render_sections(struct ethos_turn *turn, const struct ethos_prefetch_options *given,
                           struct render_options *options, struct str *text,
                           struct render_result *result, struct ethos_error *error)
{
    bool receipt = given->receipt != 0;
    int code = render_turn(turn, options, receipt, text, result, error);
    if (code != ETHOS_OK || !given->max_bytes || text->size <= given->max_bytes)
        return code;
    options->unit = RENDER_BYTES;
    options->cap = given->max_bytes;
    str_clear(text);
    return render_turn(turn, options, receipt, text, result, error);
}

int ethos_prefetch(struct ethos_turn *turn, const struct ethos_prefetch_options *given,
                   struct ethos_block **out_block, struct ethos_error *error)
{
    struct ethos_prefetch_options own = given ? *given : (struct ethos_prefetch_options){0};
    struct render_options options = {0};
    struct render_result result = {0};
    struct recalled_found found = {0};
    CLEANUP_STR struct str text = {0};
    TRY(choose_options(turn, &own, &options, error));
    struct recalled_limits limits = reserve_for_query(turn, &own, &options.cap);
    const uint64_t cap = options.cap;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    int code = render_sections(turn, &own, &options, &text, &result, error);
    size_t sections = text.size;
    if (code == ETHOS_OK)
        code = add_recalled(turn, &own, cap, &limits, &text, &result, &sections, &found, error);
    if (code == ETHOS_OK)
        code = make_block(turn, &text, sections, &result, own.receipt != 0, out_block, error);
    if (code == ETHOS_OK && *out_block) {
        (*out_block)->found = found.rows;
        (*out_block)->found_count = found.count;
        (*out_block)->left_out = found.left_out;
    } else {
        recalled_found_release(&found);
    }
    if (code == ETHOS_OK && result.parts[ETHOS_SECTION_USER].chars == 0)
        warn_unlinked(turn);
    return code;
}

void ethos_block_free(struct ethos_block *block)
{
    if (!block)
        return;
    for (size_t i = 0; i < block->source_count; i++)
        free(block->sources[i].path);
    recalled_found_release(&(struct recalled_found){block->found, block->found_count, 0});
    free(block->sources);
    free(block->omitted);
    free(block->text);
    free(block);
}

/*
 * check.c: checks whether the notes of a scope still hold: paths, symbols, links, dates and the
 * index.
 */
#include "memory/notes/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/log.h"
#include "base/text/quote.h"
#include "base/text/slug.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/notes/index.h"
#include "core/notes/note.h"
#include "core/notes/references.h"
#include "core/search/near_duplicates.h"
#include "memory/handle_internal.h"
#include "memory/notes/check_results.h"
#include "memory/notes/list.h"
#include "memory/notes/reference_lookup.h"
#include "memory/provider/missing_slots.h"

#define PART 64       /* notes marked as verified in one update */
#define NAME_SIZE 512 /* bytes of a link, with terminator */

/* A note being checked. */
struct subject {
    const struct notes_row *row;
    struct ethos_text text;
    struct note note;
    bool read;    /* else it is gone, too large or unreadable */
    bool holds;   /* no reference failed, none is unknown */
    bool looked;  /* something outside the note was looked up */
    bool confirm; /* verified by a person, whatever it refers to */
};

struct notes_checking {
    struct ethos_turn *turn;
    const struct ethos_sync_how *how;
    note_finding_fn *each;
    void *arg;
    struct notes_checked count;
    struct notes notes;
    struct subject *subjects; /* one per row */
    const char *only;         /* key of the named note, or NULL */
    char today[CLOCK_ISO_SIZE];
    bool files;         /* paths and names can be looked up */
    const char **names; /* names that links may use, sorted */
    size_t name_count;
    struct reference_lookup look;
    struct notes_record record;
    struct subject *subject; /* the note whose references are being checked */
};

/* ---- telling -------------------------------------------------------------------------------- */

__attribute__((format(printf, 5, 6))) static void report_finding(struct notes_checking *check,
                                                                 const char *key, const char *kind,
                                                                 uint64_t line, const char *format,
                                                                 ...)
{
    char text[QUOTE_SIZE + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const struct note_finding finding = {key, kind, line, text, false};
    check->count.findings++;
    notes_record_add(&check->record, &finding);
    if (check->each)
        check->each(check->arg, &finding);
}

/* Reports a problem that was fixed; not recorded, since it is gone. */
static void report_fixed(struct notes_checking *check, const char *key, const char *kind,
                         uint64_t line, const char *text)
{
    const struct note_finding finding = {key, kind, line, text, true};
    check->count.findings++;
    check->count.fixed++;
    if (check->each)
        check->each(check->arg, &finding);
}

static bool is_selected_note(const struct notes_checking *check, const char *key)
{
    return !check->only || strcmp(check->only, key) == 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int read_subject(struct notes_checking *check, struct subject *subject,
                        struct ethos_error *error)
{
    struct ethos_error why = {0};
    const char *key = subject->row->key;
    if (subject->row->bytes > ETHOS_MAX_READ_BYTES) {
        if (is_selected_note(check, key))
            report_finding(check, key, "unchecked", 0, "it is larger than %d bytes",
                           ETHOS_MAX_READ_BYTES);
        return ETHOS_OK;
    }
    int code = notes_read(check->turn, check->notes.scope, key, &subject->text, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND && is_selected_note(check, key))
        report_finding(check, key, "unchecked", 0, "it cannot be read: %s", why.text);
    if (code != ETHOS_OK)
        return ETHOS_OK;
    subject->read = true;
    note_parse(view_of(subject->text.data, subject->text.size), &subject->note);
    return ETHOS_OK;
}

static int read_subjects(struct notes_checking *check, struct ethos_error *error)
{
    struct notes *notes = &check->notes;
    int code = ETHOS_OK;
    check->subjects = arena_array(&notes->arena, notes->count + 1, sizeof *check->subjects);
    if (!check->subjects)
        return err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < notes->count; i++) {
        check->subjects[i].row = &notes->rows[i];
        code = read_subject(check, &check->subjects[i], error);
    }
    return code;
}

/* ---- links ---------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A note can be linked by its file name without .md, its title, and the name in its head. */
static int add_note_names(struct notes_checking *check, const struct subject *subject,
                          struct str *scratch)
{
    struct arena *arena = &check->notes.arena;
    const char *key = subject->row->key;
    const char **names = check->names + check->name_count;
    size_t stem = strlen(key) - strlen(".md");
    names[0] = arena_copy(arena, view_of(key, stem));
    str_clear(scratch);
    note_title(&subject->note, key, scratch);
    names[1] = arena_copy(arena, view_trim(str_view(scratch)));
    str_clear(scratch);
    note_value(subject->note.name, scratch);
    names[2] = arena_copy(arena, view_trim(str_view(scratch)));
    names[3] = subject->row->title ? subject->row->title : names[0];
    check->name_count += 4;
    return names[0] && names[1] && names[2] && str_code(scratch) == ETHOS_OK ? ETHOS_OK
                                                                             : ETHOS_NOMEM;
}

static int collect_note_names(struct notes_checking *check, struct ethos_error *error)
{
    struct notes *notes = &check->notes;
    struct str scratch;
    int code = ETHOS_OK;
    check->names = arena_array(&notes->arena, 4 * notes->count + 1, sizeof *check->names);
    if (!check->names)
        return err_nomem(error);
    str_init(&scratch, ETHOS_MAX_STORE_BYTES);
    for (size_t i = 0; code == ETHOS_OK && i < notes->count; i++)
        code = add_note_names(check, &check->subjects[i], &scratch);
    str_release(&scratch);
    if (code != ETHOS_OK)
        return err_nomem(error);
    qsort(check->names, check->name_count, sizeof *check->names, by_text);
    return ETHOS_OK;
}

static bool is_note_name(const struct notes_checking *check, const char *name)
{
    return check->name_count > 0 &&
           bsearch(&name, check->names, check->name_count, sizeof *check->names, by_text) != NULL;
}

/* Whether a link leads to a note: the name as it is, with .md, or as the slug of a title. */
static enum look_answer lookup_link(const struct notes_checking *check, struct ethos_view link)
{
    char name[NAME_SIZE];
    CLEANUP_STR struct str slug = {0};
    struct ethos_view given = view_trim(link);
    if (given.size >= sizeof name || memchr(given.data, 0, given.size))
        return LOOK_GONE;
    snprintf(name, sizeof name, "%.*s", VIEW_ARG(given));
    if (is_note_name(check, name) || notes_find(&check->notes, name))
        return LOOK_HOLDS;
    str_init(&slug, ETHOS_MAX_KEY);
    slug_note(given, SLUG_NOTE_MAX, &slug);
    bool holds = is_note_name(check, slug.data);
    bool sure = str_code(&slug) == ETHOS_OK;
    return holds ? LOOK_HOLDS : sure ? LOOK_GONE : LOOK_UNKNOWN;
}

/* ---- claims --------------------------------------------------------------------------------- */

/* [other](other.md) means the note beside it. */
static bool is_note_file(const struct notes_checking *check, struct ethos_view path)
{
    char key[ETHOS_MAX_KEY + 1];
    if (path.size >= sizeof key || memchr(path.data, '/', path.size))
        return false;
    snprintf(key, sizeof key, "%.*s", VIEW_ARG(path));
    return notes_find(&check->notes, key) || strcmp(key, NOTES_INDEX) == 0;
}

static enum look_answer check_path(struct notes_checking *check, const struct claim *claim)
{
    char quoted[QUOTE_SIZE];
    size_t lines;
    const char *key = check->subject->row->key;
    if (!claim->head && is_note_file(check, claim->what))
        return LOOK_HOLDS;
    enum look_answer answer = lookup_path(&check->look, claim, &lines);
    quote_line(claim->what, quoted);
    if (answer == LOOK_GONE && claim->number > 0 && lines > 0)
        report_finding(check, key, "path", claim->line, "%s has %zu lines, not %zu", quoted, lines,
                       claim->number);
    else if (answer == LOOK_GONE)
        report_finding(check, key, "path", claim->line, "%s does not exist", quoted);
    return answer;
}

static enum look_answer check_symbol(struct notes_checking *check, const struct claim *claim)
{
    char name[QUOTE_SIZE], file[QUOTE_SIZE];
    enum look_answer answer = lookup_symbol(&check->look, claim);
    if (answer == LOOK_GONE)
        report_finding(check, check->subject->row->key, "symbol", claim->line,
                       "%.200s is not in %.200s", quote_line(claim->what, name),
                       quote_line(claim->where, file));
    return answer;
}

static enum look_answer check_link(struct notes_checking *check, const struct claim *claim)
{
    char quoted[QUOTE_SIZE];
    enum look_answer answer = lookup_link(check, claim->what);
    if (answer == LOOK_GONE)
        report_finding(check, check->subject->row->key, "link", claim->line,
                       "there is no note [[%s]]", quote_line(claim->what, quoted));
    return answer;
}

static enum look_answer check_date(struct notes_checking *check, const struct claim *claim)
{
    if (!claims_passed(claim->what, check->today))
        return LOOK_HOLDS;
    report_finding(check, check->subject->row->key, claim->head ? "expired" : "date", claim->line,
                   claim->head ? "it expired on %.*s" : "%.*s has passed", VIEW_ARG(claim->what));
    return LOOK_GONE;
}

/* References to files are unknown without a folder, which is not held against a note. */
static int check_claim(void *arg, const struct claim *claim)
{
    struct notes_checking *check = arg;
    enum look_answer answer;
    bool in_files = claim->kind == CLAIM_PATH || claim->kind == CLAIM_SYMBOL;
    if (in_files && !check->files)
        return 0;
    if (claim->kind == CLAIM_PATH)
        answer = check_path(check, claim);
    else if (claim->kind == CLAIM_SYMBOL)
        answer = check_symbol(check, claim);
    else if (claim->kind == CLAIM_LINK)
        answer = check_link(check, claim);
    else
        answer = check_date(check, claim);
    struct subject *subject = check->subject;
    check->count.claims += answer != LOOK_UNKNOWN;
    subject->holds = subject->holds && answer == LOOK_HOLDS;
    subject->looked = subject->looked || (claim->kind != CLAIM_DATE && answer == LOOK_HOLDS);
    return 0;
}

static bool is_dated_today(const struct notes_checking *check, const struct subject *subject)
{
    return view_eq_str(subject->note.verified, check->today);
}

/* Whether to mark a note: confirmed, or everything was looked up and holds. */
static bool is_verified(const struct subject *subject)
{
    return subject->confirm || (subject->looked && subject->holds && subject->note.has_frontmatter);
}

static void check_subject(struct notes_checking *check, struct subject *subject)
{
    const struct note *note = &subject->note;
    char stale[NOTES_STALE_SIZE];
    check->subject = subject;
    check->count.notes++;
    subject->holds = true;
    claims_each(view_of(subject->text.data, subject->text.size), check_claim, check);
    notes_stale((struct ethos_view){0}, note->verified, note->created, subject->row->mtime_ms,
                service_now_ms(check->turn->ethos), check->turn->settings.stale_days, stale);
    if (*stale && !is_verified(subject))
        report_finding(check, subject->row->key, "old", 0, "%s", stale);
}

static void check_subjects(struct notes_checking *check)
{
    for (size_t i = 0; i < check->notes.count; i++) {
        struct subject *subject = &check->subjects[i];
        if (subject->read && is_selected_note(check, subject->row->key))
            check_subject(check, subject);
    }
    if (check->look.exhausted)
        report_finding(check, "", "unchecked", 0, "more lookups needed than a check may do: %zu",
                       check->look.lookups);
}

/* ---- the index ------------------------------------------------------------------------------ */

static const char *const problem_names[] = {"unlisted", "missing", "double"};
static const char *const problem_texts[] = {"it has no line in " NOTES_INDEX,
                                            NOTES_INDEX " names it, but there is no such note",
                                            NOTES_INDEX " lists it more than once"};

static void report_index_problem(void *arg, enum index_problem problem, struct ethos_view file,
                                 size_t line)
{
    struct notes_checking *check = arg;
    char key[ETHOS_MAX_KEY + 1];
    snprintf(key, sizeof key, "%.*s", VIEW_ARG(file));
    if (is_selected_note(check, key))
        report_finding(check, key, problem_names[problem], line, "%s", problem_texts[problem]);
}

static void report_index_fix(void *arg, const char *problem, const char *key, uint64_t line)
{
    struct notes_checking *check = arg;
    size_t i = 0;
    while (i + 1 < sizeof problem_names / sizeof *problem_names &&
           strcmp(problem_names[i], problem) != 0)
        i++;
    if (check->how->flags & ETHOS_SYNC_DRY_RUN)
        report_finding(check, key, problem_names[i], line, "%s", problem_texts[i]);
    else
        report_fixed(check, key, problem_names[i], line, problem_texts[i]);
}

/* The files of people and teams have no index. */
static bool has_index(const struct notes_checking *check)
{
    enum scope_kind kind = SCOPE_GLOBAL;
    scope_parse(check->notes.scope, &kind, NULL, NULL);
    return kind != SCOPE_USER && kind != SCOPE_TEAM;
}

static int check_index(struct notes_checking *check, bool fix, struct ethos_error *error)
{
    struct notes *notes = &check->notes;
    if (!has_index(check))
        return ETHOS_OK;
    if (fix)
        return ethos_notes_reindex(check->turn, notes->scope, check->how, report_index_fix, check,
                                   error);
    struct index_note *known = arena_array(&notes->arena, notes->count + 1, sizeof *known);
    if (!known)
        return err_nomem(error);
    for (size_t i = 0; i < notes->count; i++)
        known[i].file = view_str(notes->rows[i].key);
    int code = index_reconcile(view_of(notes->index.data, notes->index.size), known, notes->count,
                               NULL, report_index_problem, check);
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* ---- notes that say the same ---------------------------------------------------------------- */

static void report_similar(void *arg, size_t a, size_t b, unsigned percent)
{
    struct notes_checking *check = arg;
    const char *first = check->notes.rows[a].key, *second = check->notes.rows[b].key;
    if (check->only && strcmp(check->only, first) == 0) {
        const char *kept = first;
        first = second;
        second = kept;
    }
    if (!is_selected_note(check, second))
        return;
    if (percent == 100)
        report_finding(check, second, "duplicate", 0, "duplicate of %s", first);
    else
        report_finding(check, second, "near-duplicate", 0, "nearly a duplicate of %s (%u %%)",
                       first, percent);
}

static int find_near_duplicates(struct notes_checking *check, struct ethos_error *error)
{
    size_t count = check->notes.count;
    struct ethos_view *bodies = arena_array(&check->notes.arena, count + 1, sizeof *bodies);
    if (!bodies)
        return err_nomem(error);
    for (size_t i = 0; i < count; i++)
        bodies[i] = check->subjects[i].note.body; // absent if it was not read
    int code = similar_pairs(bodies, count, report_similar, check);
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* ---- marking -------------------------------------------------------------------------------- */

/* One update: the checked notes, and their texts with today's date. */
struct marking {
    const struct notes_checking *check;
    const struct subject *subjects[PART];
    struct ethos_edit edits[PART];
    struct str texts[PART];
    size_t count;
};

/* Skips a note that changed since it was checked. */
static int mark_one(const struct notes_checking *check, const struct subject *subject,
                    struct ethos_edit *edit, struct str *text, struct ethos_error *error)
{
    struct ethos_view old = view_of(edit->old.data, edit->old.size);
    bool same = old.data && view_eq(old, view_of(subject->text.data, subject->text.size));
    edit->verdict = ETHOS_EDIT_KEEP;
    if (!old.data || (!same && !subject->confirm))
        return ETHOS_OK;
    int code = note_set(old, "verified", view_str(check->today), text);
    if (code == ETHOS_UNSUPPORTED && !subject->confirm)
        return ETHOS_OK;
    if (code == ETHOS_UNSUPPORTED)
        return err_set(error, code, "%s: 'verified' cannot be set in its head", edit->key);
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM ? err_nomem(error)
                                   : err_set(error, code, "%s: too large", edit->key);
    edit->verdict = ETHOS_EDIT_PUT;
    edit->text = str_view(text);
    return ETHOS_OK;
}

static int mark_all(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct marking *marking = arg;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = mark_one(marking->check, marking->subjects[i], &edits[i], &marking->texts[i], error);
    return code;
}

static int write_marked_notes(struct notes_checking *check, struct marking *marking,
                              struct ethos_error *error)
{
    if (marking->count == 0)
        return ETHOS_OK;
    int code = handle_update(check->turn, check->notes.scope, marking->edits, marking->count,
                             mark_all, marking, check->how, error);
    for (size_t i = 0; code == ETHOS_OK && i < marking->count; i++)
        check->count.verified += marking->edits[i].verdict == ETHOS_EDIT_PUT;
    marking->count = 0;
    memset(marking->edits, 0, sizeof marking->edits);
    return code;
}

static int mark_verified(struct notes_checking *check, struct ethos_error *error)
{
    struct marking *marking = calloc(1, sizeof *marking);
    int code = marking ? ETHOS_OK : err_nomem(error);
    for (size_t i = 0; marking && i < PART; i++)
        str_init(&marking->texts[i], ETHOS_MAX_STORE_BYTES);
    if (marking)
        marking->check = check;
    for (size_t i = 0; code == ETHOS_OK && i < check->notes.count; i++) {
        const struct subject *subject = &check->subjects[i];
        if (!subject->read || !is_verified(subject) || is_dated_today(check, subject))
            continue;
        marking->subjects[marking->count] = subject;
        marking->edits[marking->count++].key = subject->row->key;
        if (marking->count == PART)
            code = write_marked_notes(check, marking, error);
    }
    if (code == ETHOS_OK)
        code = write_marked_notes(check, marking, error);
    for (size_t i = 0; marking && i < PART; i++)
        str_release(&marking->texts[i]);
    free(marking);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Selects the notes to check: all, or the one with a name. */
static int select_notes(struct notes_checking *check, const struct notes_check *what,
                        char key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    if (!what->name)
        return what->confirm ? err_set(error, ETHOS_INVALID, "name the note that you have verified")
                             : ETHOS_OK;
    TRY(ethos_note_find(check->turn, check->notes.scope, what->name, key, error));
    check->only = key;
    for (size_t i = 0; what->confirm && i < check->notes.count; i++)
        check->subjects[i].confirm = strcmp(check->notes.rows[i].key, key) == 0;
    return ETHOS_OK;
}

/* Failing to write the record does not affect the findings. */
static void write_record(struct notes_checking *check)
{
    struct ethos_error error = {0};
    if (check->how->flags & ETHOS_SYNC_DRY_RUN)
        return;
    if (notes_record_write(check->turn, check->notes.scope, check->only, &check->record, &error) !=
        ETHOS_OK)
        log_line(check->turn->ethos->host, ETHOS_LOG_WARN, "%s", error.text);
}

static int check_all_notes(struct notes_checking *check, const struct notes_check *what,
                           struct ethos_error *error)
{
    char key[ETHOS_MAX_KEY + 1], scope[ETHOS_MAX_SCOPE];
    const struct ethos_context *context = &check->turn->context;
    int code = notes_scope(check->turn, what->scope, scope, error);
    if (code == ETHOS_OK && !(check->how->flags & ETHOS_SYNC_DRY_RUN))
        notes_record_external_edits(check->turn, scope);
    if (code == ETHOS_OK)
        code = notes_load(check->turn, scope, &check->notes, error);
    if (code == ETHOS_OK)
        code = read_subjects(check, error);
    if (code == ETHOS_OK)
        code = select_notes(check, what, key, error);
    if (code == ETHOS_OK)
        code = collect_note_names(check, error);
    if (code != ETHOS_OK)
        return code;
    check->files = context->workspace && context->workspace_scope &&
                   strcmp(context->workspace_scope, check->notes.scope) == 0;
    lookup_open(&check->look, check->files ? context->workspace : NULL);
    code = check_index(check, what->fix, error);
    if (code == ETHOS_OK)
        check_subjects(check);
    lookup_release(&check->look);
    if (code == ETHOS_OK)
        code = find_near_duplicates(check, error);
    if (code == ETHOS_OK)
        write_record(check);
    if (code == ETHOS_OK && (SLOT_PROVIDER(check->turn->provider, update) || what->confirm))
        code = mark_verified(check, error);
    return code;
}

int notes_check(struct ethos_turn *turn, const struct notes_check *what,
                const struct ethos_sync_how *how, note_finding_fn *each, void *arg,
                struct notes_checked *out, struct ethos_error *error)
{
    static const struct ethos_sync_how plain_how;
    struct notes_checking check = {
        .turn = turn, .how = how ? how : &plain_how, .each = each, .arg = arg};
    clock_date(service_now_ms(turn->ethos), check.today);
    notes_record_init(&check.record);
    int code = check_all_notes(&check, what, error);
    if (code == ETHOS_OK)
        *out = check.count;
    for (size_t i = 0; check.subjects && i < check.notes.count; i++)
        notes_free(turn, &check.subjects[i].text);
    notes_release(turn, &check.notes);
    notes_record_release(&check.record);
    return code;
}

/* ---- age ------------------------------------------------------------------------------------ */

static char *append_bytes(char *at, struct ethos_view text)
{
    memcpy(at, text.data, text.size);
    return at + text.size;
}

/* Without printf, since it runs for every note that is read. */
static void format_age(const char *how, long days, char out[NOTES_STALE_SIZE])
{
    char digits[24], *end = digits + sizeof digits, *first = end;
    do
        *--first = (char)('0' + days % 10);
    while (days /= 10);
    char *at = append_bytes(out, VIEW("last "));
    at = append_bytes(at, view_str(how));
    *at++ = ' ';
    at = append_bytes(at, view_of(first, (size_t)(end - first)));
    *append_bytes(at, VIEW(" days ago")) = 0;
}

void notes_stale(struct ethos_view expires, struct ethos_view verified, struct ethos_view created,
                 int64_t mtime_ms, int64_t now_ms, int64_t stale_days, char out[NOTES_STALE_SIZE])
{
    char today[CLOCK_ISO_SIZE], changed[CLOCK_ISO_SIZE] = "";
    const char *how = "verified";
    clock_date(now_ms, today);
    *out = 0;
    if (claims_passed(expires, today)) {
        snprintf(out, NOTES_STALE_SIZE, "expired on %.*s", VIEW_ARG(expires));
        return;
    }
    long days = claims_age_days(verified, today);
    if (days < 0) {
        days = claims_age_days(created, today);
        how = "written";
    }
    if (days < 0) {
        if (mtime_ms >= 0)
            clock_date(mtime_ms, changed);
        days = claims_age_days(view_str(changed), today);
        how = "changed";
    }
    if (days > stale_days)
        format_age(how, days, out);
}

/*
 * recalled_section.c: chooses and writes the passages that a question finds.
 */
#include "memory/prefetch/recalled_section.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/log.h"
#include "base/utf8.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/recall/recall.h"

#define HEADING "## Recalled"
#define ENCODE_MS 50 /* of a block, for passages without vectors */

struct section {
    const struct ethos_turn *turn;
    const struct recalled_limits *limits;
    struct str *text;
    struct recalled_found *found; /* or NULL */
    size_t start;                 /* of the section in text */
    uint64_t chars;               /* of the section */
    unsigned chunks;              /* entries of memory in it */
};

/* A question does not show the scope of a disabled section. */
static bool is_scope_shown(const struct ethos_turn *turn, const char *scope, const char *key)
{
    const struct ethos_context *context = &turn->context;
    if (context->workspace_scope && strcmp(scope, context->workspace_scope) == 0)
        return turn->has_index ? strcmp(key, "MEMORY.md") != 0 : context->workspace_shown;
    return strcmp(scope, "global") != 0 || context->global_scope ||
           strcmp(context->memory_scope, scope) == 0 || strcmp(context->user_scope, scope) == 0;
}

/* An entry of memory is shown whole. */
static struct ethos_view shown_text(const struct section *self, const struct recall_hit *hit)
{
    return found_chunks_has(self->turn, hit) ? view_trim_end(hit->unit) : hit->text;
}

static bool is_shown(const struct section *self, struct ethos_view passage)
{
    return memmem(self->text->data, self->text->size, passage.data, passage.size) != NULL;
}

/* A question that somebody asked says nothing. */
static bool is_question(const struct recall_hit *hit)
{
    return hit->said && hit->text.data[hit->text.size - 1] == '?';
}

/* The prompt contains only trusted text: not what a model said about a page it had read. */
static bool is_untrusted(const struct recall_hit *hit)
{
    return hit->said && hit->said->is_untrusted;
}

static int write_passage(const struct section *self, const struct recall_hit *hit, struct str *out)
{
    char date[CLOCK_ISO_SIZE];
    bool first = self->text->size == self->start;
    if (first)
        str_adds(out, self->start > 0 ? "\n\n" HEADING : HEADING);
    if (hit->said)
        str_printf(out, "\n\n[session %.8s, %s", hit->key, hit->said->role);
    else
        str_printf(out, "\n\n[%s %s:%llu", hit->scope, hit->key, (unsigned long long)hit->line);
    if (hit->is_dated) {
        clock_date(hit->date_ms, date);
        str_printf(out, ", %s", date);
    }
    str_adds(out, "]\n");
    return str_add(out, shown_text(self, hit));
}

/* ---- the receipt --------------------------------------------------------------------------- */

static char *join_words(const struct matched_words *words)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    str_adds(&text, "");
    for (size_t i = 0; i < words->count; i++)
        if (*words->rows[i].as)
            str_printf(&text, "%s%s", text.size > 0 ? " " : "", words->rows[i].word);
    return str_steal(&text, NULL);
}

static int record_found(struct section *self, const struct recall_hit *hit)
{
    struct recalled_found *found = self->found;
    if (!found)
        return ETHOS_OK;
    struct ethos_found *rows = realloc(found->rows, (found->count + 1) * sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    found->rows = rows;
    struct ethos_found *row = &rows[found->count];
    *row = (struct ethos_found){.line = hit->line,
                                .score = hit->ranked->score,
                                .evidence = hit->ranked->evidence,
                                .similarity = hit->ranked->meaning > 0 ? hit->ranked->meaning : -1,
                                .words = join_words(hit->words)};
    snprintf(row->scope, sizeof row->scope, "%s", hit->scope);
    snprintf(row->key, sizeof row->key, "%s", hit->key);
    snprintf(row->message, sizeof row->message, "%s", hit->said ? hit->said->id : "");
    found->count++;
    return row->words ? ETHOS_OK : ETHOS_NOMEM;
}

void recalled_found_release(struct recalled_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->rows[i].words);
    free(found->rows);
    *found = (struct recalled_found){.rows = NULL};
}

/* ---- the section --------------------------------------------------------------------------- */

/* A passage that does not fit is left out; a shorter one after it may fit. */
static int add_recalled_passage(struct section *self, const struct recall_hit *hit, bool *out_added)
{
    CLEANUP_STR struct str out;
    *out_added = false;
    str_init(&out, ETHOS_MAX_STORE_BYTES);
    int code = write_passage(self, hit, &out);
    uint64_t chars = code == ETHOS_OK ? utf8_units(str_view(&out)) : 0;
    uint64_t bytes = self->text->size - self->start + out.size;
    if (code == ETHOS_OK && self->chars + chars <= self->limits->chars &&
        (!self->limits->bytes || bytes <= self->limits->bytes)) {
        code = str_add(self->text, str_view(&out));
        self->chars += chars;
        *out_added = code == ETHOS_OK;
        code = code ? code : record_found(self, hit);
    }
    return code == ETHOS_LIMIT ? ETHOS_OK : code;
}

/* Entries of memory go to their own section, or have their own budget. */
static int add_chunk(struct section *self, const struct recall_hit *hit)
{
    bool added = false;
    int code = ETHOS_OK;
    if (self->limits->placed) {
        code = found_chunks_add(self->limits->placed, hit, &added);
        return code == ETHOS_OK && added ? record_found(self, hit) : code;
    }
    if (self->chunks < self->limits->chunks)
        code = add_recalled_passage(self, hit, &added);
    self->chunks += added;
    if (self->found)
        self->found->left_out += !added;
    return code;
}

static int add_recalled_hit(void *arg, const struct recall_hit *hit)
{
    struct section *self = arg;
    bool added;
    if (is_shown(self, shown_text(self, hit)) || is_question(hit) || is_untrusted(hit) ||
        !is_scope_shown(self->turn, hit->scope, hit->key))
        return ETHOS_OK;
    return found_chunks_has(self->turn, hit) ? add_chunk(self, hit)
                                             : add_recalled_passage(self, hit, &added);
}

int recalled_section_add(struct ethos_turn *turn, const struct recalled_limits *limits,
                         struct str *text, struct recalled_found *found, struct ethos_error *error)
{
    struct ethos_error why = {0};
    struct recall_report report;
    const unsigned most = RECALL_MAX_HITS - RECALLED_PASSAGES;
    const unsigned wanted = turn->settings.vector ? turn->settings.top_k : 0;
    const unsigned chunks = wanted < most ? wanted : most;
    struct section section = {
        .turn = turn, .limits = limits, .text = text, .found = found, .start = text->size};
    const struct recall_ask ask = {.question = view_str(turn->context.query),
                                   .limit = RECALLED_PASSAGES + chunks,
                                   .quick = limits->quick,
                                   .encode_ms = limits->quick ? 0 : ENCODE_MS,
                                   .evidence = RECALLED_EVIDENCE,
                                   .said = limits->said ? RECALL_SAID_PROJECT : RECALL_SAID_NONE};
    int code = recall_search(turn, &ask, add_recalled_hit, &section, &report, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        log_line(turn->ethos->host, ETHOS_LOG_WARN, "recall: %s", why.text);
    return ETHOS_OK;
}

/*
 * recall_batch.c: the operation recall.batch: answers many questions over a corpus in a file, to measure recall.
 *
 * Corpus and questions are files of JSON lines; the answers are a table of text. The index is built in memory by the same
 * code as that of a home; no home is read or written. Each line of the corpus is a message of a session. A question
 * searches one scope.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "ops/memory/recall_batch.h"
#include "ops/tables.h"
#include "recall/builder.h"
#include "recall/ranker.h"

#define BATCH_MAX_BYTES ((size_t)1 << 30) /* of the corpus, of the questions, of the answers */
#define BATCH_HITS 100                    /* of a question */
#define RUN_MODE 0644

/* One memory; its documents become the units of an index image. */
struct batch_scope {
    struct batch_scope *next;
    struct ethos_view name;
    struct recall_builder *builder;
    struct vector_builder vectors; /* with a model */
    struct str image;
    struct ethos_view *sessions, session; /* session: of the last document */
    size_t session_count, session_room;
    struct ethos_view *ids; /* of documents */
    size_t id_count, id_room;
};

struct batch {
    struct arena arena;
    struct batch_scope *scopes, *last; /* last: used by the line before */
    struct str corpus, queries, run;
    const char *file; /* being read */
    size_t line;
    json_int_t questions, texts;
    struct recall_measure *measure;
    struct recall_model *model; /* or NULL */
};

typedef int line_fn(struct batch *batch, const json_t *line, struct ethos_error *error);

static int refuse_member(const struct batch *batch, const char *member, const char *why,
                         struct ethos_error *error)
{
    return err_set(error, ETHOS_INVALID, "%s:%zu: '%s' %s", batch->file, batch->line, member, why);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int read_json_line(struct batch *batch, struct ethos_view text, line_fn *each,
                          struct ethos_error *error)
{
    char what[PATH_MAX];
    json_auto_t *json = NULL;
    snprintf(what, sizeof what, "%s:%zu", batch->file, batch->line);
    TRY(json_parse(text, what, &json, error));
    return each(batch, json, error);
}

static int read_json_lines(struct batch *batch, const char *file, struct str *text, line_fn *each,
                           struct ethos_error *error)
{
    CLEANUP_FD int fd = os_openat(AT_FDCWD, file, O_RDONLY, 0);
    if (fd < 0)
        return err_errno(error, errno, file);
    TRY(file_read(fd, file, BATCH_MAX_BYTES, text, NULL, error));
    struct ethos_view rest = str_view(text), line;
    batch->file = file;
    for (batch->line = 1; view_line(&rest, &line); batch->line++)
        if (!view_blank(line))
            TRY(read_json_line(batch, line, each, error));
    return ETHOS_OK;
}

/* Reads a string without control characters: tabs and line feeds separate the columns of a run. */
static int read_name_member(const struct batch *batch, const json_t *object, const char *member,
                            struct ethos_view *out, struct ethos_error *error)
{
    *out = json_view(object, member);
    if (!out->data)
        return err_set(error, ETHOS_INVALID, "%s:%zu: '%s' is missing or not a string", batch->file,
                       batch->line, member);
    for (size_t i = 0; i < out->size; i++)
        if ((unsigned char)out->data[i] < ' ')
            return refuse_member(batch, member, "contains a control character", error);
    return ETHOS_OK;
}

static int read_text_member(const struct batch *batch, const json_t *object, struct ethos_view *out,
                            struct ethos_error *error)
{
    *out = json_view(object, "text");
    return out->data ? ETHOS_OK : refuse_member(batch, "text", "is missing or not a string", error);
}

/* ---- the corpus ------------------------------------------------------------------------------ */

static struct batch_scope *find_batch_scope(const struct batch *batch, struct ethos_view name)
{
    struct batch_scope *scope = batch->last;
    if (scope && view_eq(scope->name, name))
        return scope;
    for (scope = batch->scopes; scope && !view_eq(scope->name, name); scope = scope->next)
        ;
    return scope;
}

static struct ethos_view copy_to_arena(struct batch *batch, struct ethos_view text)
{
    return view_of(arena_copy(&batch->arena, text), text.size);
}

static int add_batch_scope(struct batch *batch, struct ethos_view name, struct ethos_error *error)
{
    struct batch_scope *scope = arena_alloc(&batch->arena, sizeof *scope);
    if (!scope)
        return err_nomem(error);
    scope->name = copy_to_arena(batch, name);
    str_init(&scope->image, IMAGE_MAX);
    scope->next = batch->scopes;
    batch->scopes = batch->last = scope;
    if (!scope->name.data)
        return err_nomem(error);
    int code = recall_builder_new(batch->model ? &batch->model->table : NULL, &scope->builder,
                                  error);
    if (code == ETHOS_OK && batch->model)
        code = vector_builder_init(&scope->vectors, batch->model, error);
    return code;
}

/* The number of a session in the scope; adds the session if it is new. */
static int find_or_add_session(struct batch *batch, struct batch_scope *scope,
                               struct ethos_view name, uint32_t *out)
{
    for (size_t i = scope->session_count; i > 0; i--)
        if (view_eq(scope->sessions[i - 1], name)) {
            *out = (uint32_t)i - 1;
            return ETHOS_OK;
        }
    struct ethos_view *rows = arena_grow(&batch->arena, scope->sessions, scope->session_count,
                                         &scope->session_room, sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    scope->sessions = rows;
    rows[scope->session_count] = copy_to_arena(batch, name);
    *out = (uint32_t)scope->session_count++;
    return rows[*out].data ? ETHOS_OK : ETHOS_NOMEM;
}

static int add_id(struct batch *batch, struct batch_scope *scope, struct ethos_view id)
{
    struct ethos_view *rows = arena_grow(&batch->arena, scope->ids, scope->id_count,
                                         &scope->id_room, sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    scope->ids = rows;
    rows[scope->id_count] = copy_to_arena(batch, id);
    return rows[scope->id_count++].data ? ETHOS_OK : ETHOS_NOMEM;
}

/* Reads exactly `most` digits at the start of *at, then skips them and one hyphen; 0 if there are fewer. */
static unsigned read_digits(struct ethos_view *at, size_t most)
{
    unsigned number = 0;
    size_t i = 0;
    for (; i < most && i < at->size && at->data[i] >= '0' && at->data[i] <= '9'; i++)
        number = number * 10 + (unsigned)(at->data[i] - '0');
    if (i < most)
        number = 0;
    *at = view_from(*at, i < most ? at->size : i + (i < at->size && at->data[i] == '-'));
    return number;
}

static uint32_t read_date(struct ethos_view text)
{
    unsigned year = read_digits(&text, 4), month = read_digits(&text, 2);
    unsigned day = read_digits(&text, 2);
    return IMAGE_DATE(year, month <= 12 ? month : 0, day <= 31 ? day : 0);
}

/* Consecutive documents of one session belong to the same document of the index. */
static int add_batch_unit(struct batch *batch, struct batch_scope *scope, struct ethos_view session,
                          const struct recall_unit *unit, struct ethos_error *error)
{
    uint32_t group;
    if (scope->session_count == 0 || !view_eq(scope->session, session)) {
        if (find_or_add_session(batch, scope, session, &group) != ETHOS_OK)
            return err_nomem(error);
        scope->session = scope->sessions[group];
        const struct recall_document document = {.name = session, .group = group};
        TRY(recall_builder_document(scope->builder, &document, error));
    }
    TRY(recall_builder_unit(scope->builder, unit, error));
    if (batch->model && vector_builder_add(&scope->vectors, unit->text, NULL))
        return err_nomem(error);
    return ETHOS_OK;
}

static int add_corpus_line(struct batch *batch, const json_t *line, struct ethos_error *error)
{
    const json_t *meta = json_object_get(line, "meta");
    struct ethos_view id, scope, session, date;
    struct recall_unit unit = {.offset = 0};
    TRY(read_name_member(batch, line, "id", &id, error));
    TRY(read_text_member(batch, line, &unit.text, error));
    TRY(read_name_member(batch, meta, "scope", &scope, error));
    TRY(read_name_member(batch, meta, "session", &session, error));
    TRY(read_name_member(batch, meta, "speaker", &unit.speaker, error));
    TRY(read_name_member(batch, meta, "date", &date, error));
    unit.date = read_date(date);
    batch->last = find_batch_scope(batch, scope);
    if (!batch->last)
        TRY(add_batch_scope(batch, scope, error));
    TRY(add_batch_unit(batch, batch->last, session, &unit, error));
    batch->texts++;
    return add_id(batch, batch->last, id) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int finish_scopes(struct batch *batch, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (struct batch_scope *s = batch->scopes; s && code == ETHOS_OK; s = s->next) {
        code = recall_builder_finish(s->builder, &s->image, error);
        recall_builder_free(s->builder);
        s->builder = NULL;
    }
    return code;
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool is_relevant(const json_t *relevant, struct ethos_view id)
{
    size_t index;
    json_t *row;
    json_array_foreach (relevant, index, row)
        if (view_eq_str(id, json_string_value(row) ? json_string_value(row) : ""))
            return true;
    return false;
}

static void measure_answer(const struct batch *batch, const json_t *line,
                           const struct batch_scope *found, const struct ranker_hit *hits,
                           size_t count)
{
    const json_t *relevant = json_object_get(line, "relevant");
    size_t places[BATCH_HITS], right = 0;
    for (size_t i = 0; i < count; i++)
        if (is_relevant(relevant, found->ids[hits[i].unit]))
            places[right++] = i + 1;
    bool apart = view_eq(json_view(line, "category"), VIEW("adversarial"));
    if (json_array_size(relevant) > 0 && !apart)
        recall_measure_add(batch->measure, places, right, json_array_size(relevant));
}

static int answer_query(struct batch *batch, const json_t *line, struct ethos_error *error)
{
    struct ethos_view id, text, name;
    struct ranker_hit hits[BATCH_HITS];
    struct image image;
    size_t count;
    TRY(read_name_member(batch, line, "id", &id, error));
    TRY(read_text_member(batch, line, &text, error));
    TRY(read_name_member(batch, line, "scope", &name, error));
    const struct batch_scope *found = find_batch_scope(batch, name);
    batch->questions++;
    if (!found) {
        measure_answer(batch, line, found, hits, 0); // an unknown scope has no texts
        return ETHOS_OK;
    }
    TRY(image_open(str_view(&found->image), &image, error));
    const struct vectors piece = vector_builder_view(&found->vectors, 0);
    const struct image_vectors vectors = {&piece, 1};
    const struct ranker_scope scope = {
        .images = &image, .count = 1, .meaning = {batch->model, batch->model ? &vectors : NULL}};
    TRY(ranker_rank(&scope, text, BATCH_HITS, hits, &count, error));
    measure_answer(batch, line, found, hits, count);
    for (size_t i = 0; i < count; i++) {
        struct ethos_view unit = found->ids[hits[i].unit];
        if (str_printf(&batch->run, "%.*s\t%.*s\t%zu\t%.6f\n", VIEW_ARG(id), VIEW_ARG(unit), i + 1,
                       hits[i].score))
            return err_nomem(error);
    }
    return ETHOS_OK;
}

static int write_run(const char *file, const struct str *run, struct ethos_error *error)
{
    CLEANUP_FD int fd = os_openat(AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC, RUN_MODE);
    if (fd < 0 || os_write_all(fd, run->data, run->size) != 0)
        return err_errno(error, errno, file);
    return ETHOS_OK;
}

/* ---- the operation --------------------------------------------------------------------------- */

static void batch_release(struct batch *batch)
{
    for (struct batch_scope *s = batch->scopes; s; s = s->next) {
        recall_builder_free(s->builder);
        vector_builder_release(&s->vectors);
        str_release(&s->image);
    }
    recall_model_close(batch->model);
    str_release(&batch->corpus);
    str_release(&batch->queries);
    str_release(&batch->run);
    arena_release(&batch->arena);
}

int recall_batch(const char *corpus, const char *queries, const char *run,
                 struct recall_measure *out, json_int_t *out_questions, struct ethos_error *error)
{
    struct batch batch = {.measure = out};
    *out = (struct recall_measure){.questions = 0};
    arena_init(&batch.arena);
    str_init(&batch.corpus, BATCH_MAX_BYTES);
    str_init(&batch.queries, BATCH_MAX_BYTES);
    str_init(&batch.run, BATCH_MAX_BYTES);
    int code = recall_model_open_installed(&batch.model, error);
    code = code == ETHOS_NOTFOUND ? ETHOS_OK : code; // without a model, words alone rank
    code = code ? code : read_json_lines(&batch, corpus, &batch.corpus, add_corpus_line, error);
    if (code == ETHOS_OK)
        code = finish_scopes(&batch, error);
    int64_t start = os_monotonic_ms();
    if (code == ETHOS_OK)
        code = read_json_lines(&batch, queries, &batch.queries, answer_query, error);
    out->elapsed_ms = os_monotonic_ms() - start;
    out->texts = (uint64_t)batch.texts;
    if (code == ETHOS_OK && run)
        code = write_run(run, &batch.run, error);
    *out_questions = batch.questions;
    batch_release(&batch);
    return code;
}

static int run_batch(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct recall_measure measured;
    json_int_t questions = 0;
    TRY(recall_batch(op_string(call, "corpus"), op_string(call, "queries"),
                     call->dry_run ? NULL : op_string(call, "run"), &measured, &questions, error));
    return op_return(result, json_pack("{s:I}", "questions", questions), error);
}

static const struct op_arg batch_args[] = {
    {"corpus", OP_TEXT, OP_REQUIRED, NULL, "FILE",
     "texts to search, as JSON lines: id, text, meta with scope, session, speaker and date"},
    {"queries", OP_TEXT, OP_REQUIRED, NULL, "FILE", "questions, as JSON lines: id, text, scope"},
    {"run", OP_TEXT, OP_REQUIRED, NULL, "FILE",
     "where to write the answers: question, text, rank and score, separated by tabs"},
    {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_recall_batch[] = {
    {"recall.batch", "recall --batch", "Answer many questions over a corpus, to measure recall",
     "ethos recall --batch --corpus corpus.jsonl --queries queries.jsonl --run run.tsv", batch_args,
     OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL | OP_NO_HOME, run_batch},
    {0}};

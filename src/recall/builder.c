/*
 * builder.c: builds an image: maps words to stems, and stems to postings.
 *
 * Each word is looked up once in a table of words, which has its stem; a stem has its last passage
 * and where that was counted. Counts are collected in the order of the passages, and sorted by stem
 * at the end by counting sort.
 */
#include "recall/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/search/passages.h"
#include "core/search/ranked_words.h"
#include "core/search/stem_english.h"
#include "core/search/unit_facts.h"
#include "recall/image_internal.h"
#include "recall/numbers.h"
#include "recall/word_table.h"

#define FIRST_SLOTS 1024 /* of a table; a power of two */

/* Unique strings, by number. */
struct string_table {
    struct str bytes, strings; /* strings: struct image_string */
    uint32_t *slots;           /* number + 1; 0 is a free slot */
    uint32_t slot_count, count;
};

struct word_entry {
    uint32_t stem;
    bool stop;
};

struct stem_entry {
    uint32_t passage; /* its last passage, + 1 */
    uint32_t count;   /* where that is counted */
};

/* How often a passage contains a stem. */
struct stem_count {
    uint32_t stem, passage, count;
};

struct recall_builder {
    const struct word_table *table; /* or NULL */
    struct string_table words, stems, speakers;
    struct str word_entries, stem_entries; /* by number */
    struct str documents, units, passages; /* as in the image */
    struct str names;                      /* of documents */
    struct str counts;                     /* struct stem_count */
    struct str content; /* uint32_t: for each passage the number of its stems, then those */
    uint32_t group_count;
    uint32_t first_linked; /* the first unit that those of the last document are adjacent to */
    double log_chars;
    /* of the current unit */
    struct ethos_view text;
    uint32_t passage; /* number of the current passage */
    uint32_t passage_words;
    size_t passage_content; /* where its number of stems is stored */
    int code;
};

/* ---- arrays ---------------------------------------------------------------------------------- */

#define ROWS(str, type) ((type *)(void *)(str)->data)
#define ROW_COUNT(str, type) ((uint32_t)((str)->size / sizeof(type)))

static int append_row(struct str *rows, const void *row, size_t size)
{
    return str_add(rows, view_of(row, size));
}

#define ADD_ROW(rows, row) append_row(rows, &(row), sizeof(row))

/* ---- tables ---------------------------------------------------------------------------------- */

static void table_init(struct string_table *table)
{
    str_init(&table->bytes, IMAGE_MAX);
    str_init(&table->strings, IMAGE_MAX);
}

static void table_release(struct string_table *table)
{
    str_release(&table->bytes);
    str_release(&table->strings);
    free(table->slots);
}

static struct ethos_view table_string(const struct string_table *table, uint32_t number)
{
    const struct image_string *string = &ROWS(&table->strings, struct image_string)[number];
    return view_of(table->bytes.data + string->offset, string->size);
}

/* The slot of a string, or the free slot for it. */
static uint32_t *find_string_slot(const struct string_table *table, struct ethos_view string)
{
    uint64_t hash = hash_mix(0, string);
    for (uint32_t i = (uint32_t)hash & (table->slot_count - 1);;
         i = (i + 1) & (table->slot_count - 1)) {
        uint32_t *slot = &table->slots[i];
        if (*slot == 0 || view_eq(table_string(table, *slot - 1), string))
            return slot;
    }
}

static int grow_slots(struct string_table *table)
{
    uint32_t count = table->slot_count ? 2 * table->slot_count : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return ETHOS_NOMEM;
    free(table->slots);
    table->slots = slots;
    table->slot_count = count;
    for (uint32_t i = 0; i < table->count; i++)
        *find_string_slot(table, table_string(table, i)) = i + 1;
    return ETHOS_OK;
}

/* The number of a string, added if it is new. */
static int table_add(struct string_table *table, struct ethos_view string, uint32_t *out_number,
                     bool *out_new)
{
    int code = table->count >= table->slot_count / 2 ? grow_slots(table) : ETHOS_OK;
    if (code != ETHOS_OK)
        return code;
    uint32_t *slot = find_string_slot(table, string);
    *out_new = *slot == 0;
    if (*out_new) {
        struct image_string row = {(uint32_t)table->bytes.size, (uint32_t)string.size};
        code = str_add(&table->bytes, string);
        code = code ? code : ADD_ROW(&table->strings, row);
        if (code != ETHOS_OK)
            return code;
        *slot = ++table->count;
    }
    *out_number = *slot - 1;
    return ETHOS_OK;
}

/* ---- adding ---------------------------------------------------------------------------------- */

int recall_builder_new(const struct word_table *table, struct recall_builder **out,
                       struct ethos_error *error)
{
    struct recall_builder *builder = calloc(1, sizeof *builder);
    if (!builder)
        return err_nomem(error);
    builder->table = table;
    table_init(&builder->words);
    table_init(&builder->stems);
    table_init(&builder->speakers);
    struct str *rows[] = {&builder->word_entries, &builder->stem_entries, &builder->documents,
                          &builder->units,        &builder->passages,     &builder->names,
                          &builder->counts,       &builder->content};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        str_init(rows[i], IMAGE_MAX);
    *out = builder;
    return ETHOS_OK;
}

void recall_builder_free(struct recall_builder *builder)
{
    if (!builder)
        return;
    table_release(&builder->words);
    table_release(&builder->stems);
    table_release(&builder->speakers);
    str_release(&builder->word_entries);
    str_release(&builder->stem_entries);
    str_release(&builder->documents);
    str_release(&builder->units);
    str_release(&builder->passages);
    str_release(&builder->names);
    str_release(&builder->counts);
    str_release(&builder->content);
    free(builder);
}

static int fail_build(struct recall_builder *builder, int code, struct ethos_error *error)
{
    builder->code = code;
    return code == ETHOS_NOMEM ? err_nomem(error)
                               : err_set(error, code, "index: larger than %u bytes", IMAGE_MAX);
}

int recall_builder_document(struct recall_builder *builder, const struct recall_document *document,
                            struct ethos_error *error)
{
    struct image_document row = {.version = document->version,
                                 .mark = document->mark,
                                 .time_ms = document->time_ms,
                                 .first_unit = ROW_COUNT(&builder->units, struct image_unit),
                                 .group = document->group,
                                 .name = (uint32_t)builder->names.size,
                                 .name_size = (uint32_t)document->name.size};
    int code = str_add(&builder->names, document->name);
    code = code ? code : ADD_ROW(&builder->documents, row);
    if (document->group >= builder->group_count)
        builder->group_count = document->group + 1;
    if (!document->continues)
        builder->first_linked = row.first_unit;
    return code ? fail_build(builder, code, error) : ETHOS_OK;
}

/* The word's row, added if it is new. */
static int find_or_add_word(struct recall_builder *builder, struct ethos_view folded,
                            struct word_entry *out)
{
    char stem[WORDS_MAX + 1];
    uint32_t number;
    bool is_new;
    TRY(table_add(&builder->words, folded, &number, &is_new));
    if (!is_new) {
        *out = ROWS(&builder->word_entries, struct word_entry)[number];
        return ETHOS_OK;
    }
    out->stop = ranked_words_is_stop(folded);
    TRY(table_add(&builder->stems, view_of(stem, stem_english(folded, stem)), &out->stem, &is_new));
    if (is_new)
        TRY(ADD_ROW(&builder->stem_entries, (struct stem_entry){0}));
    return ADD_ROW(&builder->word_entries, *out);
}

static int add_unit_word(void *arg, const struct word *word)
{
    struct recall_builder *builder = arg;
    struct word_entry entry;
    int code = find_or_add_word(builder, word->folded, &entry);
    if (code != ETHOS_OK)
        return code;
    struct stem_entry *stem = &ROWS(&builder->stem_entries, struct stem_entry)[entry.stem];
    builder->passage_words++;
    if (stem->passage == builder->passage + 1) {
        ROWS(&builder->counts, struct stem_count)[stem->count].count++;
    } else {
        struct stem_count row = {entry.stem, builder->passage, 1};
        stem->passage = builder->passage + 1;
        stem->count = ROW_COUNT(&builder->counts, struct stem_count);
        code = ADD_ROW(&builder->counts, row);
    }
    if (code == ETHOS_OK && !entry.stop) {
        code = ADD_ROW(&builder->content, entry.stem);
        ROWS(&builder->content, uint32_t)[builder->passage_content]++;
    }
    return code;
}

static struct image_document *last_document(struct recall_builder *builder)
{
    uint32_t count = ROW_COUNT(&builder->documents, struct image_document);
    return &ROWS(&builder->documents, struct image_document)[count - 1];
}

static int add_unit_passage(void *arg, size_t start, size_t end)
{
    struct recall_builder *builder = arg;
    uint32_t none = 0;
    builder->passage = ROW_COUNT(&builder->passages, struct image_passage);
    builder->passage_words = 0;
    builder->passage_content = ROW_COUNT(&builder->content, uint32_t);
    int code = ADD_ROW(&builder->content, none);
    if (code == ETHOS_OK)
        code = ranked_words_each(view_of(builder->text.data + start, end - start), add_unit_word,
                                 builder);
    struct image_passage row = {ROW_COUNT(&builder->units, struct image_unit),
                                (uint16_t)builder->passage_words, 0};
    last_document(builder)->words += builder->passage_words;
    return code ? code : ADD_ROW(&builder->passages, row);
}

/*
 * Sets the neighbour flags: neighbours are in the same document, or in documents that it continues;
 * `row` is the next unit.
 */
static void link_neighbours(struct recall_builder *builder, struct image_unit *row)
{
    uint32_t count = ROW_COUNT(&builder->units, struct image_unit);
    uint32_t before = count - builder->first_linked;
    struct image_unit *units = ROWS(&builder->units, struct image_unit);
    if (before >= 1) {
        row->flags |= UNIT_HAS_PREV;
        units[count - 1].flags |= UNIT_HAS_NEXT;
    }
    if (before >= 2) {
        row->flags |= UNIT_HAS_PREV2;
        units[count - 2].flags |= UNIT_HAS_NEXT2;
    }
}

static unsigned at_most(unsigned number, unsigned most)
{
    return number < most ? number : most;
}

static void set_facts(struct image_unit *row, struct ethos_view text)
{
    struct unit_facts facts;
    unit_facts_find(text, &facts);
    row->chars = (uint16_t)at_most(facts.chars, UINT16_MAX);
    row->head_words = (uint16_t)facts.head_words;
    row->first_person = (uint8_t)at_most(facts.first_person, UINT8_MAX);
    row->second_person = (uint8_t)at_most(facts.second_person, UINT8_MAX);
    row->flags = (uint16_t)((facts.time ? UNIT_TIME : 0) | (facts.asks ? UNIT_ASKS : 0) |
                            (facts.exclaims ? UNIT_EXCLAIMS : 0) |
                            (facts.number ? UNIT_NUMBER : 0) | (facts.title ? UNIT_TITLE : 0) |
                            facts.capitalised * UNIT_CAPITALISED);
}

int recall_builder_unit(struct recall_builder *builder, const struct recall_unit *unit,
                        struct ethos_error *error)
{
    struct image_unit row = {
        .offset = unit->offset,
        .size = (uint32_t)unit->text.size,
        .date = unit->date,
        .first_passage = ROW_COUNT(&builder->passages, struct image_passage),
        .content = ROW_COUNT(&builder->content, uint32_t),
        .check = IMAGE_CHECK(unit->text),
    };
    bool is_new;
    int code = table_add(&builder->speakers, unit->speaker, &row.speaker, &is_new);
    builder->text = unit->text;
    code = code ? code : passages_each(unit->text, add_unit_passage, builder);
    if (code != ETHOS_OK)
        return fail_build(builder, code, error);
    set_facts(&row, unit->text);
    if (view_eq(unit->speaker, VIEW("user")))
        row.flags |= UNIT_USER;
    if (unit->heading)
        row.flags |= UNIT_HEADING;
    link_neighbours(builder, &row);
    builder->log_chars += number_log(1 + (double)row.chars);
    code = ADD_ROW(&builder->units, row);
    return code ? fail_build(builder, code, error) : ETHOS_OK;
}

/* ---- finishing ------------------------------------------------------------------------------- */

/* Stems in byte order, and the position of each number. */
struct order {
    uint32_t *stems;           /* by place: its number */
    uint32_t *places;          /* by number: its place */
    struct stem_count *counts; /* by place of the stem, then by passage */
    uint32_t *ends;            /* by place: where its counts end */
};

static void order_release(struct order *order)
{
    free(order->stems);
    free(order->places);
    free(order->counts);
    free(order->ends);
}

static int compare_stems(const void *a, const void *b, void *arg)
{
    const struct string_table *stems = arg;
    struct ethos_view x = table_string(stems, *(const uint32_t *)a);
    struct ethos_view y = table_string(stems, *(const uint32_t *)b);
    int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

static int sort_counts(struct recall_builder *builder, struct order *out)
{
    uint32_t stems = builder->stems.count;
    uint32_t counts = ROW_COUNT(&builder->counts, struct stem_count);
    const struct stem_count *rows = ROWS(&builder->counts, struct stem_count);
    out->stems = calloc(stems + 1, sizeof *out->stems);
    out->places = calloc(stems + 1, sizeof *out->places);
    out->ends = calloc(stems + 1, sizeof *out->ends);
    out->counts = calloc(counts + 1, sizeof *out->counts);
    if (!out->stems || !out->places || !out->ends || !out->counts)
        return ETHOS_NOMEM;
    for (uint32_t i = 0; i < stems; i++)
        out->stems[i] = i;
    qsort_r(out->stems, stems, sizeof *out->stems, compare_stems, &builder->stems);
    for (uint32_t i = 0; i < stems; i++)
        out->places[out->stems[i]] = i;
    for (uint32_t i = 0; i < counts; i++)
        out->ends[out->places[rows[i].stem] + 1]++;
    for (uint32_t i = 0; i < stems; i++)
        out->ends[i + 1] += out->ends[i];
    for (uint32_t i = 0; i < counts; i++) // each starts where the previous one ends, and moves on
        out->counts[out->ends[out->places[rows[i].stem]]++] = rows[i];
    return ETHOS_OK;
}

static int append_varint(struct str *out, uint32_t number)
{
    uint8_t bytes[VARINT_MAX];
    return str_add(out, view_of((const char *)bytes, varint_encode(bytes, number)));
}

static void begin_section(struct str *image, struct image_header *header, enum image_section s)
{
    while (image->size % IMAGE_ALIGN != 0 && str_addc(image, '\0') == ETHOS_OK)
        ;
    header->sections[s].offset = (uint32_t)image->size;
}

static void end_section(const struct str *image, struct image_header *header, enum image_section s)
{
    header->sections[s].size = (uint32_t)image->size - header->sections[s].offset;
}

static void append_section(struct str *image, struct image_header *header, enum image_section s,
                           struct ethos_view bytes)
{
    begin_section(image, header, s);
    str_add(image, bytes);
    end_section(image, header, s);
}

static void append_postings(struct str *out, const struct stem_count *counts, uint32_t count)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < count; i++) {
        append_varint(out, (counts[i].passage - next) << 1 | (counts[i].count > 1));
        if (counts[i].count > 1)
            append_varint(out, counts[i].count);
        next = counts[i].passage + 1;
    }
}

static size_t shared_bytes(struct ethos_view a, struct ethos_view b)
{
    size_t i = 0;
    while (i < a.size && i < b.size && a.data[i] == b.data[i])
        i++;
    return i;
}

/* Appends the dictionary: blocks, stems and postings. */
static void append_dictionary(const struct recall_builder *builder, const struct order *order,
                              struct str *image, struct image_header *header)
{
    CLEANUP_STR struct str blocks, stems, postings;
    struct ethos_view before = {0};
    str_init(&blocks, IMAGE_MAX);
    str_init(&stems, IMAGE_MAX);
    str_init(&postings, IMAGE_MAX);
    for (uint32_t i = 0; i < builder->stems.count; i++) {
        struct ethos_view stem = table_string(&builder->stems, order->stems[i]);
        size_t start = postings.size, shared = shared_bytes(before, stem);
        uint32_t first = i > 0 ? order->ends[i - 1] : 0;
        if (i % IMAGE_BLOCK == 0) {
            struct image_block block = {(uint32_t)stems.size, (uint32_t)postings.size};
            ADD_ROW(&blocks, block);
            shared = 0;
        }
        append_postings(&postings, order->counts + first, order->ends[i] - first);
        append_varint(&stems, (uint32_t)shared);
        append_varint(&stems, (uint32_t)(stem.size - shared));
        str_add(&stems, view_from(stem, shared));
        append_varint(&stems, (uint32_t)(postings.size - start));
        before = stem;
    }
    append_section(image, header, SECTION_BLOCKS, str_view(&blocks));
    append_section(image, header, SECTION_STEMS, str_view(&stems));
    append_section(image, header, SECTION_POSTINGS, str_view(&postings));
    if (str_code(&blocks) || str_code(&stems) || str_code(&postings))
        str_fail(image, str_code(&blocks)  ? str_code(&blocks)
                        : str_code(&stems) ? str_code(&stems)
                                           : str_code(&postings));
}

static void append_stem_rows(const struct recall_builder *builder, const struct order *order,
                             struct str *image, struct image_header *header)
{
    begin_section(image, header, SECTION_ROWS);
    for (uint32_t i = 0; builder->table && i < builder->stems.count; i++) {
        struct ethos_view stem = table_string(&builder->stems, order->stems[i]);
        uint32_t row = word_table_find_stem(builder->table, stem);
        struct word_row entry = {row, word_table_length(builder->table, row)};
        ADD_ROW(image, entry);
    }
    end_section(image, header, SECTION_ROWS);
}

/* Appends the units' content, converting offsets from rows to bytes. */
static void append_content(struct recall_builder *builder, const struct order *order,
                           struct str *image, struct image_header *header)
{
    const uint32_t *rows = ROWS(&builder->content, uint32_t);
    uint32_t count = ROW_COUNT(&builder->content, uint32_t);
    struct image_unit *units = ROWS(&builder->units, struct image_unit);
    uint32_t unit_count = ROW_COUNT(&builder->units, struct image_unit), unit = 0;
    begin_section(image, header, SECTION_CONTENT);
    for (uint32_t i = 0; i < count;) {
        for (; unit < unit_count && units[unit].content == i; unit++)
            units[unit].content = (uint32_t)image->size - header->sections[SECTION_CONTENT].offset;
        append_varint(image, rows[i]);
        for (uint32_t left = rows[i++]; left > 0; left--)
            append_varint(image, order->places[rows[i++]]);
    }
    end_section(image, header, SECTION_CONTENT);
}

/* Appends the names of documents, then of speakers. */
static void append_strings(struct recall_builder *builder, struct str *image,
                           struct image_header *header)
{
    struct image_string *speakers = ROWS(&builder->speakers.strings, struct image_string);
    for (uint32_t i = 0; i < builder->speakers.count; i++)
        speakers[i].offset += (uint32_t)builder->names.size;
    begin_section(image, header, SECTION_STRINGS);
    str_add(image, str_view(&builder->names));
    str_add(image, str_view(&builder->speakers.bytes));
    end_section(image, header, SECTION_STRINGS);
    append_section(image, header, SECTION_SPEAKERS, str_view(&builder->speakers.strings));
}

static uint32_t unit_words(const struct recall_builder *builder, uint32_t unit)
{
    uint32_t end = unit + 1 < ROW_COUNT(&builder->units, struct image_unit)
                       ? ROWS(&builder->units, struct image_unit)[unit + 1].first_passage
                       : ROW_COUNT(&builder->passages, struct image_passage);
    uint32_t words = 0;
    for (uint32_t p = ROWS(&builder->units, struct image_unit)[unit].first_passage; p < end; p++)
        words += ROWS(&builder->passages, struct image_passage)[p].words;
    return words;
}

static struct image_sums sum_up(const struct recall_builder *builder)
{
    struct image_sums sums = {.log_chars = builder->log_chars};
    for (uint32_t i = 0; i < ROW_COUNT(&builder->units, struct image_unit); i++) {
        unsigned share = image_window_share(ROWS(&builder->units, struct image_unit)[i].flags);
        uint32_t words = unit_words(builder, i);
        sums.words += words;
        sums.window_quarters += (uint64_t)share * words;
    }
    return sums;
}

static void write_header(struct recall_builder *builder, struct str *image,
                         struct image_header *header)
{
    memcpy(header->magic, IMAGE_MAGIC, sizeof header->magic);
    header->version = IMAGE_VERSION;
    header->size = (uint32_t)image->size;
    header->counts = (struct image_counts){
        .documents = ROW_COUNT(&builder->documents, struct image_document),
        .groups = builder->group_count,
        .units = ROW_COUNT(&builder->units, struct image_unit),
        .passages = ROW_COUNT(&builder->passages, struct image_passage),
        .stems = builder->stems.count,
        .speakers = builder->speakers.count,
    };
    header->sums = sum_up(builder);
    memcpy(image->data, header, sizeof *header);
    header->checksum = hash_mix(0,
                                view_of(image->data + IMAGE_CHECKED, image->size - IMAGE_CHECKED));
    memcpy(image->data, header, sizeof *header);
}

int recall_builder_finish(struct recall_builder *builder, struct str *image,
                          struct ethos_error *error)
{
    struct image_header header = {0};
    struct order order = {0};
    int code = builder->code;
    if (code == ETHOS_OK)
        code = sort_counts(builder, &order);
    if (code == ETHOS_OK) {
        ADD_ROW(image, header);
        append_content(builder, &order, image, &header);
        append_dictionary(builder, &order, image, &header);
        append_stem_rows(builder, &order, image, &header);
        append_strings(builder, image, &header);
        append_section(image, &header, SECTION_DOCUMENTS, str_view(&builder->documents));
        append_section(image, &header, SECTION_UNITS, str_view(&builder->units));
        append_section(image, &header, SECTION_PASSAGES, str_view(&builder->passages));
        code = str_code(image);
    }
    if (code == ETHOS_OK)
        write_header(builder, image, &header);
    order_release(&order);
    return code ? fail_build(builder, code, error) : ETHOS_OK;
}

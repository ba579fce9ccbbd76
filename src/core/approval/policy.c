/*
 * policy.c: which writes wait for a person.
 */
#include "core/approval/policy.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "base/yaml.h"
#include "core/approval/pending.h"
#include "core/memory/scope.h"

#define MAX_RULES 1000
#define MAX_NUMBER 1000000000

#define ALL_ACTIONS                                                                                \
    (1u << ETHOS_ACTION_ADD | 1u << ETHOS_ACTION_REPLACE | 1u << ETHOS_ACTION_REMOVE |             \
     1u << ETHOS_ACTION_DELETE)
#define ALL_FILES (POLICY_MEMORY | POLICY_USER | POLICY_NOTES | POLICY_TEAM | POLICY_TREE)

struct word {
    const char *name;
    unsigned bits;
};

static const struct word action_words[] = {{"add", 1u << ETHOS_ACTION_ADD},
                                           {"replace", 1u << ETHOS_ACTION_REPLACE},
                                           {"remove", 1u << ETHOS_ACTION_REMOVE},
                                           {"delete", 1u << ETHOS_ACTION_DELETE},
                                           {"any", ALL_ACTIONS},
                                           {0}};
static const struct word file_words[] = {{"memory", POLICY_MEMORY},
                                         {"user", POLICY_USER},
                                         {"notes", POLICY_NOTES},
                                         {"team", POLICY_TEAM},
                                         {"tree", POLICY_TREE},
                                         {"any", ALL_FILES},
                                         {0}};

int approval_mode_parse(const char *word, enum approval_mode *out)
{
    static const char *const words[] = {"off", "automated", "all"};
    for (enum approval_mode mode = APPROVAL_OFF; word && mode <= APPROVAL_ALL; mode++)
        if (strcmp(word, words[mode]) == 0) {
            *out = mode;
            return ETHOS_OK;
        }
    return ETHOS_INVALID;
}

/* ---- one rule ---------------------------------------------------------------------------------- */

static struct ethos_view take_word(struct ethos_view *rest)
{
    *rest = view_trim_start(*rest);
    size_t size = 0;
    while (size < rest->size && rest->data[size] != ' ' && rest->data[size] != '\t')
        size++;
    struct ethos_view word = view_of(rest->data, size);
    *rest = view_from(*rest, size);
    return word;
}

/* The bits of words separated by commas; 0 when one is unknown. */
static unsigned read_bits(struct ethos_view list, const struct word *words)
{
    unsigned bits = 0;
    while (list.size > 0) {
        const char *comma = memchr(list.data, ',', list.size);
        struct ethos_view name = view_of(list.data,
                                         comma ? (size_t)(comma - list.data) : list.size);
        const struct word *word = words;
        while (word->name && !view_eq_str(name, word->name))
            word++;
        if (!word->name)
            return 0;
        bits |= word->bits;
        list = view_from(list, name.size + (comma != NULL));
    }
    return bits;
}

static bool read_rule_number(struct ethos_view word, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9' || value > MAX_NUMBER)
            return false;
        value = 10 * value + (uint64_t)(word.data[i] - '0');
    }
    *out = value;
    return value > 0;
}

static int refuse_rule(struct ethos_error *error, const char *what, struct ethos_view word)
{
    int code = err_set(error, ETHOS_INVALID, "%s '%.*s'", what,
                       (int)(word.size < 40 ? word.size : 40), word.data);
    return err_hint(error, code,
                    "allow|deny ACTOR add,replace,remove,delete|any "
                    "memory,user,notes,team,tree|any [max CHARS] [day N]");
}

int policy_parse_rule(struct ethos_view line, struct policy_rule *out, struct ethos_error *error)
{
    struct policy_rule rule = {0};
    struct ethos_view whole = line, word = take_word(&line);
    rule.allows = view_eq(word, VIEW("allow"));
    if (!rule.allows && !view_eq(word, VIEW("deny")))
        return refuse_rule(error, "must begin with allow or deny:", word);
    rule.actor = take_word(&line);
    if (rule.actor.size == 0)
        return refuse_rule(error, "has no actor", whole);
    word = take_word(&line);
    if ((rule.actions = read_bits(word, action_words)) == 0)
        return refuse_rule(error, "unknown action", word);
    word = take_word(&line);
    if ((rule.files = read_bits(word, file_words)) == 0)
        return refuse_rule(error, "unknown files", word);
    while ((word = take_word(&line)).size > 0) {
        bool max = view_eq(word, VIEW("max"));
        if (!max && !view_eq(word, VIEW("day")))
            return refuse_rule(error, "unknown limit", word);
        if (!read_rule_number(take_word(&line), max ? &rule.max_chars : &rule.day))
            return refuse_rule(error, "no number after", word);
    }
    *out = rule;
    return ETHOS_OK;
}

static void print_bits(unsigned bits, const struct word *words, unsigned all, struct str *out)
{
    const char *before = "";
    for (; words->name; words++)
        if (bits == all ? words->bits == all : words->bits != all && (bits & words->bits)) {
            str_printf(out, "%s%s", before, words->name);
            before = ",";
        }
}

int policy_print_rule(const struct policy_rule *rule, struct str *out)
{
    str_printf(out, "%s %.*s ", rule->allows ? "allow" : "deny", VIEW_ARG(rule->actor));
    print_bits(rule->actions, action_words, ALL_ACTIONS, out);
    str_addc(out, ' ');
    print_bits(rule->files, file_words, ALL_FILES, out);
    if (rule->max_chars > 0)
        str_printf(out, " max %" PRIu64, rule->max_chars);
    if (rule->day > 0)
        str_printf(out, " day %" PRIu64, rule->day);
    return str_code(out);
}

/* ---- the file ---------------------------------------------------------------------------------- */

/* The text of a list's item, without its mark, its quotes and a remark behind it. */
static struct ethos_view item_text(struct ethos_view line)
{
    line = view_trim(line);
    if (!view_starts(line, VIEW("-")))
        return (struct ethos_view){0};
    line = view_trim(view_from(line, 1));
    char quote = line.size > 0 ? line.data[0] : 0;
    if (line.size > 1 && (quote == '"' || quote == '\'')) {
        const char *end = memchr(line.data + 1, quote, line.size - 1);
        return end ? view_of(line.data + 1, (size_t)(end - line.data) - 1) : line;
    }
    for (size_t i = 1; i < line.size; i++)
        if (line.data[i] == '#' && (line.data[i - 1] == ' ' || line.data[i - 1] == '\t'))
            return view_trim_end(view_of(line.data, i));
    return line;
}

static int add_rule(struct ethos_view line, size_t *capacity, struct arena *arena,
                    struct policy *out, struct ethos_error *error)
{
    struct ethos_error own = {0};
    struct policy_rule *rows = arena_grow(arena, out->rules, out->count, capacity, sizeof *rows);
    const char *copy = rows ? arena_copy(arena, line) : NULL;
    if (!copy)
        return err_nomem(error);
    out->rules = rows;
    int code = policy_parse_rule(view_of(copy, line.size), &rows[out->count], &own);
    if (code != ETHOS_OK) {
        err_set(error, code, POLICY_FILE ": rule %zu %s", out->count + 1, own.text);
        return err_hint(error, code, "%s", own.hint);
    }
    out->count++;
    return ETHOS_OK;
}

int policy_parse(struct ethos_view yaml, struct arena *arena, struct policy *out,
                 struct ethos_error *error)
{
    struct yaml_table table;
    struct ethos_view line;
    size_t capacity = 0;
    out->rules = NULL;
    out->count = 0;
    int code = yaml_parse(yaml, POLICY_FILE, arena, &table, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; i < table.count; i++)
        if (strcmp(table.pairs[i].key, "rules") != 0)
            return err_set(error, ETHOS_INVALID, POLICY_FILE ":%u: unknown key %s",
                           table.pairs[i].line, table.pairs[i].key);
    const struct yaml_pair *rules = yaml_find(&table, "rules");
    if (!rules || rules->end == rules->start)
        return ETHOS_OK;
    struct ethos_view rest = view_of(yaml.data + rules->start, rules->end - rules->start);
    if (view_starts(view_trim(rest), VIEW("[")) || !view_starts(view_trim(rest), VIEW("-")))
        return err_set(error, ETHOS_INVALID, POLICY_FILE ":%u: rules must be a list, one per line",
                       rules->line);
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        struct ethos_view text = item_text(line);
        if (out->count == MAX_RULES)
            return err_set(error, ETHOS_LIMIT, POLICY_FILE ": more than %d rules", MAX_RULES);
        if (text.size > 0)
            code = add_rule(text, &capacity, arena, out, error);
    }
    return code;
}

/* ---- deciding ---------------------------------------------------------------------------------- */

enum policy_files policy_files_of(const char *scope, const char *key)
{
    enum scope_kind kind = SCOPE_PERSONALITY;
    scope_parse(scope, &kind, NULL, NULL);
    if (scope_is_tree(scope))
        return POLICY_TREE;
    if (kind == SCOPE_TEAM)
        return POLICY_TEAM;
    if (strcmp(key, "USER.md") == 0)
        return POLICY_USER;
    return kind == SCOPE_WORKSPACE || strcmp(key, "MEMORY.md") != 0 ? POLICY_NOTES : POLICY_MEMORY;
}

static bool is_actor(struct ethos_view pattern, const char *actor)
{
    struct ethos_view name = view_str(actor ? actor : "");
    if (view_ends(pattern, VIEW("*")))
        return view_starts(name, view_of(pattern.data, pattern.size - 1));
    return view_eq(pattern, name);
}

/* The first rule that is about the write, or NULL. */
static const struct policy_rule *find_rule(const struct policy *policy,
                                           const struct policy_write *write)
{
    for (size_t i = 0; i < policy->count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        if (is_actor(rule->actor, write->actor) && (rule->actions & 1u << write->action) &&
            (rule->files & write->files) && (!rule->max_chars || write->chars <= rule->max_chars) &&
            (!rule->day || write->today < rule->day))
            return rule;
    }
    return NULL;
}

/* What programs write by themselves, without being asked in a conversation. */
static bool is_automated(const char *source)
{
    return source && (strcmp(source, "capture") == 0 || strcmp(source, "consolidation") == 0 ||
                      strcmp(source, "dream") == 0);
}

enum policy_verdict policy_decide(const struct policy *policy, const struct policy_write *write,
                                  unsigned *out_why)
{
    unsigned why = 0;
    *out_why = 0;
    if (write->trust == TRUST_OWNER)
        return POLICY_ADMIT;
    const struct policy_rule *rule = find_rule(policy, write);
    if (rule && !rule->allows)
        return POLICY_REFUSE;
    if (write->trust == TRUST_UNTRUSTED)
        why |= WHY_UNTRUSTED;
    if (write->instructs)
        why |= WHY_INSTRUCTS;
    if (write->large && policy->mode != APPROVAL_OFF)
        why |= WHY_LARGE;
    if (!rule && policy->mode == APPROVAL_ALL)
        why |= WHY_MODE;
    if (!rule && policy->mode == APPROVAL_AUTOMATED && is_automated(write->source))
        why |= WHY_AUTOMATED;
    *out_why = why;
    return why ? POLICY_WAIT : POLICY_ADMIT;
}

bool policy_counts(const struct policy *policy)
{
    for (size_t i = 0; i < policy->count; i++)
        if (policy->rules[i].day > 0)
            return true;
    return false;
}

static const struct {
    unsigned why;
    const char *name, *sentence;
} reasons[] = {
    {WHY_UNTRUSTED, "untrusted", "it comes from somebody else's text"},
    {WHY_INSTRUCTS, "instructions", "it reads like instructions to a model"},
    {WHY_LARGE, "removes-much", "it removes over a quarter of the file"},
    {WHY_AUTOMATED, "automated", "a program wrote it by itself"},
    {WHY_MODE, "asks", "every change of an agent waits"},
};
#define REASONS (sizeof reasons / sizeof *reasons)

const char *policy_why_name(unsigned why)
{
    for (size_t i = 0; i < REASONS; i++)
        if (reasons[i].why == why)
            return reasons[i].name;
    return NULL;
}

const char *policy_why_sentence(struct ethos_view name)
{
    for (size_t i = 0; i < REASONS; i++)
        if (view_eq_str(name, reasons[i].name))
            return reasons[i].sentence;
    return NULL;
}

/* Sizes are rounded up, so that the next one of the kind fits as well. */
bool policy_rule_for(const struct policy_write *write, unsigned why, struct policy_rule *out)
{
    bool may = write->trust == TRUST_AGENT && !(why & ~(unsigned)(WHY_MODE | WHY_AUTOMATED)) &&
               write->actor && *write->actor;
    if (may)
        *out = (struct policy_rule){
            .allows = true,
            .actor = view_str(write->actor),
            .actions = 1u << write->action,
            .files = write->files,
            .max_chars = write->chars <= 300 ? 300 : (write->chars + 499) / 500 * 500,
        };
    return may;
}

/*
 * secrets.c: searching a text for secrets: anchors by the filter, long runs by their length.
 */
#include "core/scan/secrets.h"

#include <string.h>

#include "base/utf8.h"
#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/filter.h"
#include "core/scan/secret_rules.h"
#include "core/scan/value_shape.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

static const struct {
    char name;
    uint16_t bytes;
} classes[SECRET_CLASSES] = {
    {'A', BYTE_ALNUM},
    {'W', BYTE_WORD},
    {'L', BYTE_TOKEN},
    {'B', BYTE_ALNUM | BYTE_BASE64},
    {'U', BYTE_UPPER | BYTE_DIGIT},
    {'c', BYTE_LOWER | BYTE_DIGIT},
    {'h', BYTE_HEX_LOWER | BYTE_DIGIT},
    {'H', BYTE_HEX},
    {'D', BYTE_DIGIT},
    {'N', BYTE_TOKEN | BYTE_DOT | BYTE_EQUALS},
    {'/', BYTE_TOKEN | BYTE_BASE64},
    {'@', BYTE_TOKEN | BYTE_BASE64 | BYTE_PERCENT | BYTE_AT},
    {'%', BYTE_TOKEN | BYTE_PERCENT},
};

const char *secret_run_end(struct secret_search *self, char name, const char *p)
{
    size_t which = 0;

    while (classes[which].name != name)
        which++;
    return secret_span_end(self, &self->runs[which], p, secret_is_of_bytes, classes[which].bytes);
}

static size_t read_shape_number(const char **shape)
{
    size_t number = 0;

    for (; byte_is(**shape, BYTE_DIGIT); (*shape)++)
        number = number * 10 + (size_t)(**shape - '0');
    return number;
}

const char *secret_shape_end(struct secret_search *self, const char *shape, const char *p)
{
    const char *end = self->text.data + self->text.size, *run_end = NULL;
    size_t most = 0;

    while (*shape) {
        if (*shape == '\'') {
            if (p == end || *p != shape[1])
                return NULL;
            p++;
            shape += 2;
            run_end = p;
            continue;
        }
        run_end = secret_run_end(self, *shape++, p);
        size_t least = read_shape_number(&shape);
        most = least;
        if (*shape == '-' && byte_is(shape[1], BYTE_DIGIT)) {
            shape++;
            most = read_shape_number(&shape);
        } else if (*shape == '+') {
            shape++;
            most = SIZE_MAX;
        }
        if ((size_t)(run_end - p) < least)
            return NULL;
        p = (size_t)(run_end - p) < most ? run_end : p + most;
    }
    return p == run_end ? p : NULL;
}

/* ---- one rule -------------------------------------------------------------------------------- */

/* Whether a token may begin at p: no letter or digit before it, but for the letter of an escape like \n. */
static bool is_token_start(const char *start, const char *p)
{
    if (p == start || !byte_is(p[-1], BYTE_ALNUM))
        return true;
    return p - start >= 2 && p[-2] == '\\' && strchr("nrt", p[-1]);
}

static bool has_near_word(struct ethos_view text, const char *word)
{
    size_t size = strlen(word);

    for (size_t i = 0; i + size <= text.size; i++) {
        size_t same = 0;

        while (same < size && byte_lower(text.data[i + same]) == word[same])
            same++;
        if (same == size)
            return true;
    }
    return false;
}

static bool has_near(struct ethos_view text, const char *p, const char *word)
{
    size_t before = (size_t)(p - text.data) < SECRET_REACH ? (size_t)(p - text.data) : SECRET_REACH;

    return has_near_word(view_of(p - before, before), word);
}

/* Whether the rule holds where its anchor, or without one its shape, begins. */
static bool rule_holds(struct secret_search *self, const struct secret_rule *rule, const char *p,
                       struct secret *out)
{
    const char *end = self->text.data + self->text.size;
    bool any_case = rule->flags & RULE_ANY_CASE;
    size_t anchor = 0;

    for (; rule->anchor && rule->anchor[anchor]; anchor++) {
        char c = rule->anchor[anchor];

        if (p + anchor == end ||
            (p[anchor] != c && (!any_case || byte_lower(p[anchor]) != byte_lower(c))))
            return false;
    }
    if (!(rule->flags & RULE_INSIDE) && !is_token_start(self->text.data, p))
        return false;
    out->tag = rule->tag;
    if (rule->find)
        return rule->find(self, p, out);

    const char *after = secret_shape_end(self, rule->shape, p + anchor);
    if (!after)
        return false;
    struct ethos_view body = view_of(p + anchor, (size_t)(after - p) - anchor);
    if (value_is_placeholder(body) || ((rule->flags & RULE_VARIED) && !value_is_varied(body, 30)))
        return false;
    if (rule->near && !has_near(self->text, p, rule->near))
        return false;
    out->start = (size_t)(p - self->text.data) + (rule->flags & RULE_BODY ? anchor : 0);
    out->end = (size_t)(after - self->text.data);
    return true;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* The next place where the filter proposes rules; of the rules there, the first that holds. */
static bool next_anchor(struct secret_search *self, struct secret *out)
{
    const char *text = self->text.data, *end = text + self->text.size;
    const char *p = text + self->anchor;

    while ((p = filter_next(p, end, FILTER_SECRETS))) {
        size_t count;
        const struct filter_anchor *anchors = filter_find(FILTER_SECRETS, filter_trigram(p),
                                                          &count);

        for (size_t i = 0; i < count; i++) {
            const char *at = p - anchors[i].offset;

            if (p - text >= anchors[i].offset &&
                rule_holds(self, &secret_rules[anchors[i].rule], at, out) &&
                out->start >= self->at) {
                self->anchor = (size_t)(p + 1 - text);
                return true;
            }
        }
        p++;
    }
    self->anchor = self->text.size;
    return false;
}

/* The next run of SECRET_RUN bytes or more at or after p. Most bytes are not looked at. */
static const char *next_run(const char *p, const char *end, const char **out_end)
{
    while (end - p >= SECRET_RUN) {
        const char *q = p + SECRET_RUN;

        while (q > p && byte_is(q[-1], BYTE_RUN))
            q--;
        if (q > p) {
            p = q;
            continue;
        }
        *out_end = byte_run(p + SECRET_RUN, end, BYTE_RUN);
        return p;
    }
    return NULL;
}

/* Whether a token may begin at p of a run: behind =, / and the like, or behind an escape. */
static bool is_run_start(const char *start, const char *p)
{
    return p == start || !byte_is(p[-1], BYTE_TOKEN) ||
           (p - start >= 2 && p[-2] == '\\' && strchr("nrt", p[-1]));
}

/* Rules without an anchor, where a token may begin within the run. */
static bool run_holds(struct secret_search *self, const char *p, struct secret *out)
{
    for (size_t i = 0; !secret_rules[i].anchor; i++) {
        if (rule_holds(self, &secret_rules[i], p, out) && out->start >= self->at)
            return true;
    }
    return false;
}

static bool next_in_runs(struct secret_search *self, struct secret *out)
{
    const char *text = self->text.data, *end = text + self->text.size;

    for (;;) {
        if (self->run >= self->run_end) {
            const char *run_end, *run = next_run(text + self->run, end, &run_end);

            self->run = run ? (size_t)(run - text) : self->text.size;
            self->run_end = run ? (size_t)(run_end - text) : self->text.size;
            if (!run)
                return false;
        }
        for (unsigned starts = 0; starts < SECRET_STARTS && self->run_end > self->run &&
                                  self->run_end - self->run >= SECRET_RUN;
             self->run++) {
            const char *p = text + self->run;

            if (!byte_is(*p, BYTE_TOKEN) || !is_run_start(text, p))
                continue;
            starts++;
            if (run_holds(self, p, out)) {
                self->run = out->end;
                return true;
            }
        }
        self->run = self->run_end;
    }
}

static bool next_by_name(struct secret_search *self, struct secret *out)
{
    const char *text = self->text.data, *end = text + self->text.size, *p = text + self->name;

    if (self->name == 0 && utf8_ascii(self->text))
        p = end;
    while ((p = secret_next_foreign_name(self->text, p))) {
        self->name = (size_t)(++p - text);
        out->tag = "password";
        if (find_password_in_prose(self, p - 1, out) && out->start >= self->at)
            return true;
    }
    self->name = self->text.size;
    return false;
}

/* A find that overlaps one that was given out is not kept. */
static void refill(struct secret_search *self, bool *has, struct secret *found,
                   bool next(struct secret_search *, struct secret *))
{
    if (*has && found->start < self->at)
        *has = false;
    if (!*has)
        *has = next(self, found);
}

bool secret_next(struct secret_search *self, struct secret *out)
{
    struct secret *const found[] = {&self->by_anchor, &self->by_run, &self->by_name};
    bool *const has[] = {&self->has_anchor, &self->has_run, &self->has_name};
    size_t first = 3;

    refill(self, has[0], found[0], next_anchor);
    refill(self, has[1], found[1], next_in_runs);
    refill(self, has[2], found[2], next_by_name);
    for (size_t i = 0; i < 3; i++) {
        if (*has[i] && (first == 3 || found[i]->start < found[first]->start))
            first = i;
    }
    if (first == 3)
        return false;
    *out = *found[first];
    *has[first] = false;
    self->at = out->end;
    return true;
}

/*
 * injection.c: points for concepts that stand near each other.
 */
#include "core/scan/injection.h"

#include <string.h>

#include "base/utf8.h"
#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/concepts.h"
#include "core/scan/disguises.h"
#include "core/scan/filter.h"
#include "core/scan/normalize.h"

#define NEAR 70     /* characters between the concepts of a frame */
#define OVERLAP 256 /* bytes that two parts of a long line have in common */
#define DISGUISE_POINT 1
#define DELIBERATE_POINTS 3
#define HIDDEN_CHARACTERS 8 /* of a line; a flag has six */
#define HIDDEN_POINTS 4
#define HIDDEN_GROUP 18
#define DISCUSSION_POINTS 3

#define BIT(concept) (UINT64_C(1) << CONCEPT_##concept)

/* Concepts with which an order that goes over lines begins. */
#define GOING_ON                                                                                   \
    (BIT(IGNORE) | BIT(ROLE) | BIT(CONCEAL) | BIT(NOTE) | BIT(SEND) | BIT(DISABLE) | BIT(SECRET) | \
     BIT(OBEY) | BIT(MARKER))

/* Concepts that give points together: all of the three that are not 0, within NEAR of the first. */
static const struct concept_frame {
    const char *name;
    uint64_t first, second, third;
    unsigned points;
    unsigned group; /* of frames of one group the best counts */
} frames[] = {
    {"override", BIT(IGNORE), BIT(PRIOR), BIT(INSTRUCTION), 6, 1},
    {"override", BIT(IGNORE), BIT(PRIOR), BIT(RULE), 5, 1},
    {"override", BIT(IGNORE), BIT(ALL), BIT(INSTRUCTION), 5, 1},
    {"override", BIT(IGNORE), BIT(INSTRUCTION), 0, 3, 1},
    {"override", BIT(IGNORE), BIT(RULE), BIT(RUN), 3, 1},
    {"task", BIT(SKIP), BIT(TASK), BIT(RUN), 5, 2},
    {"task", BIT(SKIP), BIT(TASK), 0, 3, 2},
    {"task", BIT(IGNORE), BIT(TASK), 0, 3, 2},
    {"safety", BIT(DISABLE), BIT(SAFETY), 0, 4, 3},
    {"safety", BIT(IGNORE), BIT(SAFETY), 0, 4, 3},
    {"role", BIT(ROLE), BIT(UNBOUND), 0, 6, 4},
    {"role", BIT(ROLE), 0, 0, 3, 4},
    {"mode", BIT(ENTER), BIT(MODE), 0, 4, 5},
    {"authority", BIT(AUTHORITY), 0, 0, 2, 6},
    {"reveal", BIT(SHOW), BIT(PROMPT), 0, 5, 7},
    {"exfiltration", BIT(SEND), BIT(SECRET), BIT(TARGET), 6, 8},
    {"exfiltration", BIT(SEND), BIT(SECRET), 0, 2, 8},
    {"concealment", BIT(CONCEAL), BIT(THIS), 0, 5, 9},
    {"concealment", BIT(CONCEAL), BIT(USER), 0, 4, 9},
    {"concealment", BIT(SECRETLY), 0, 0, 3, 9},
    {"trigger", BIT(TRIGGER), 0, 0, 2, 10},
    {"order", BIT(ORDER), 0, 0, 2, 11},
    {"note to a model", BIT(NOTE), 0, 0, 4, 12},
    {"marker of a model", BIT(MARKER), 0, 0, 5, 13},
    {"heading of memory", BIT(HEADING), 0, 0, 4, 14},
    {"obedience", BIT(OBEY), BIT(THIS), 0, 5, 15},
    {"obedience", BIT(IGNORE), BIT(THIS), 0, 3, 15},
    {"implanted memory", BIT(IMPLANT), BIT(TRUST), 0, 6, 16},
    {"implanted memory", BIT(IMPLANT), BIT(RUN), 0, 5, 16},
    {"unasked", BIT(TRUST), BIT(RUN), 0, 4, 17},
    {"trigger", BIT(TRIGGER), BIT(TARGET), 0, 5, 10},
    {"trigger", BIT(TRIGGER), BIT(OBEY), 0, 4, 10},
    {"concealment", BIT(CONCEAL), BIT(SECRETLY), 0, 5, 9},
    {"concealment", BIT(CONCEAL), BIT(HARM), 0, 6, 9},
    {"implanted memory", BIT(IMPLANT), BIT(ORDER), 0, 5, 16},
    {"implanted memory", BIT(IMPLANT), BIT(TARGET), 0, 5, 16},
    {"role", BIT(ROLE), BIT(SECRET), 0, 5, 4},
    {"trigger", BIT(TRIGGER), BIT(HARM), 0, 5, 10},
    {"trigger", BIT(TRIGGER), BIT(TRUST), 0, 5, 10},
    {"exfiltration", BIT(SECRET), BIT(TARGET), BIT(CONCEAL), 6, 8},
    {"note to a model", BIT(NOTE), BIT(SEND), BIT(SECRET), 6, 12},
    {"note to a model", BIT(NOTE), BIT(RUN), 0, 6, 12},
    {"role", BIT(ROLE), BIT(RUN), 0, 5, 4},
    {"exfiltration", BIT(SECRET), BIT(TARGET), BIT(RUN), 6, 8},
    {"authority", BIT(AUTHORITY), BIT(SECRET), 0, 5, 6},
    {"authority", BIT(AUTHORITY), BIT(RUN), 0, 4, 6},
    {"authority", BIT(AUTHORITY), BIT(OBEY), 0, 5, 6},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *injection_frame_name(unsigned bit)
{
    for (size_t i = 0; i < COUNT(frames); i++) {
        if (frames[i].group == bit + 1)
            return frames[i].name;
    }
    return bit + 1 == HIDDEN_GROUP ? "hidden characters" : NULL;
}

/* ---- points ---------------------------------------------------------------------------------- */

struct found_concepts {
    struct concept_hit hits[CONCEPT_HITS];
    size_t count;
    uint64_t concepts;
    size_t near; /* bytes */
};

/* Whether a hit of one of the concepts stands near `of` and is another one. */
static bool has_near(const struct found_concepts *found, const struct concept_hit *of,
                     uint64_t concepts)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct concept_hit *hit = &found->hits[i];
        size_t distance = hit->start > of->end   ? (size_t)(hit->start - of->end)
                          : of->start > hit->end ? (size_t)(of->start - hit->end)
                                                 : 0;

        if (hit != of && (concepts >> hit->concept & 1) && distance <= found->near)
            return true;
    }
    return false;
}

static bool frame_holds(const struct found_concepts *found, const struct concept_frame *frame)
{
    uint64_t wanted = frame->first | frame->second | frame->third;

    if ((found->concepts & wanted) != wanted)
        return false;
    for (size_t i = 0; i < found->count; i++) {
        const struct concept_hit *hit = &found->hits[i];

        if ((frame->first >> hit->concept & 1) &&
            (!frame->second || has_near(found, hit, frame->second)) &&
            (!frame->third || has_near(found, hit, frame->third)))
            return true;
    }
    return false;
}

/* A text that talks about injected instructions, and does not address anybody. */
static bool is_discussion(const struct found_concepts *found)
{
    return found->concepts & (BIT(DISCUSSION) | BIT(LICENCE)) &&
           !(found->concepts & (BIT(MARKER) | BIT(NOTE)));
}

static struct injection measure_words(struct ethos_view text)
{
    struct injection result = {0};
    unsigned best[COUNT(frames) + 1] = {0};
    struct found_concepts found __attribute__((uninitialized));

    found.count = concepts_find(text, found.hits);
    found.concepts = 0;
    for (size_t i = 0; i < found.count; i++) {
        const struct concept_hit *hit = &found.hits[i];

        found.concepts |= UINT64_C(1) << hit->concept;
    }
    result.goes_on = found.concepts & GOING_ON;
    if (!(found.concepts & CONCEPT_TRIGGERS))
        return result;
    found.near = utf8_ascii(text) ? NEAR : NEAR * 2;
    for (size_t i = 0; i < COUNT(frames); i++) {
        unsigned group = frames[i].group;

        if (frames[i].points <= best[group] || !frame_holds(&found, &frames[i]))
            continue;
        result.points += frames[i].points - best[group];
        best[group] = frames[i].points;
        result.frames |= 1u << (group - 1);
    }
    if (is_discussion(&found))
        result.points -= result.points < DISCUSSION_POINTS ? result.points : DISCUSSION_POINTS;
    return result;
}

/* Whether a text has a word of a concept without which there are no points, or markup in a word. */
static bool has_trigger(struct ethos_view text)
{
    const char *start = text.data, *end = start + text.size, *p = start;

    for (; (p = filter_next(p, end, FILTER_INJECTIONS)); p++) {
        size_t count;
        const struct filter_anchor *words = filter_find(FILTER_INJECTIONS, filter_trigram(p),
                                                        &count);

        if (count == 0)
            return true;
        for (size_t i = 0; i < count; i++) {
            const char *at = p - words[i].offset;

            if (p - start >= words[i].offset && (at == start || !byte_is(at[-1], BYTE_LETTER)) &&
                filter_starts(at, end, concept_words[words[i].rule].text))
                return true;
        }
    }
    return false;
}

/* A text that was hidden: it counts when it says more than what can be seen. */
static void measure_hidden(struct ethos_view text, bool deliberate, struct injection *best)
{
    struct injection found = {0};

    if (!utf8_ascii(text) || has_trigger(text))
        found = measure_words(text);
    if (found.points <= best->points)
        return;
    found.points += deliberate ? DELIBERATE_POINTS : DISGUISE_POINT;
    *best = found;
}

/* Whether a line has markup by which a reader does not see what it says: a comment, letters without size or colour. */
static bool is_unseen(struct ethos_view text)
{
    static const char *const marks[] = {
        "<!--",       "font-size:0", "font-size: 0",      "display:none",       "display: none",
        "color:#fff", "color: #fff", "color=\"white\"",   "color:white",        "color: white",
        "opacity:0",  "opacity: 0",  "visibility:hidden", "visibility: hidden", "aria-hidden"};
    if (!memchr(text.data, '<', text.size))
        return false;
    for (size_t i = 0; i < COUNT(marks); i++)
        if (memmem(text.data, text.size, marks[i], strlen(marks[i])))
            return true;
    return false;
}

static struct injection measure_part(struct ethos_view part)
{
    __attribute__((uninitialized)) struct normal_text normal, revealed;

    normalize(part, &normal);
    struct ethos_view text = view_of(normal.text, normal.size);
    struct injection best = measure_words(text);
    if (best.points > 0 && (normal.strange || is_unseen(part)))
        best.points += DISGUISE_POINT;
    if (normal.hidden >= HIDDEN_CHARACTERS) {
        best.points += normal.tags >= HIDDEN_CHARACTERS ? INJECTION_HIDES : HIDDEN_POINTS;
        best.frames |= 1u << (HIDDEN_GROUP - 1);
    }
    if (best.points >= INJECTION_HIDES || !disguise_is_worth_trying(part, &normal))
        return best;
    for (unsigned i = 0; i < DISGUISES && best.points < INJECTION_HIDES; i++) {
        if (disguise_reveal(i, part, &normal, &revealed))
            measure_hidden(view_of(revealed.text, revealed.size), disguise_is_deliberate(i), &best);
    }
    return best;
}

struct injection injection_measure(struct ethos_view text)
{
    struct injection best = {0};
    size_t step = NORMAL_MAX / 2;

    for (size_t at = 0; at < text.size || at == 0; at += step - OVERLAP) {
        struct ethos_view part = view_from(text, at);

        part.size = part.size < step ? part.size : step;
        struct injection found = measure_part(part);
        found.goes_on = found.goes_on || best.goes_on;
        if (found.points > best.points)
            best = found;
        best.goes_on = found.goes_on;
        if (best.points >= INJECTION_HIDES || at + part.size >= text.size)
            break;
    }
    return best;
}

/* ---- whether there may be any ---------------------------------------------------------------- */

/*
 * Whether a character is of a script whose words the filter does not know, or may hide what is there. Letters with
 * accents are looked up with the accents taken off.
 */
static bool has_script(struct ethos_view line, bool *out_accents)
{
    *out_accents = false;
    for (size_t at = 0; at < line.size;) {
        unsigned char c = (unsigned char)line.data[at];
        uint32_t cp;

        if (c < 0x80) {
            at++;
            continue;
        }
        at += utf8_decode(line.data + at, line.size - at, &cp, NULL);
        if (cp < 0x250)
            *out_accents = *out_accents || (cp >= 0xC0 && cp != 0xD7 && cp != 0xF7);
        else if (!(cp >= 0x2010 && cp < 0x2028) && !(cp >= 0x2030 && cp < 0x2060) &&
                 !(cp >= 0x20A0 && cp < 0x20D0) && !(cp >= 0x2190 && cp < 0x2460) &&
                 !(cp >= 0x2500 && cp < 0x2C00) && !(cp >= 0x1F300 && cp < 0x1FB00) &&
                 cp != 0xFE0F && cp != 0x2028)
            return true;
        if (cp == 0xAD)
            return true;
    }
    return false;
}

bool injection_is_possible(struct ethos_view line)
{
    __attribute__((uninitialized)) struct normal_text normal;
    bool accents;

    if (has_trigger(line) || disguise_is_possible(line))
        return true;
    if (utf8_ascii(line))
        return false;
    if (has_script(line, &accents))
        return true;
    for (size_t at = 0; accents && at < line.size;) {
        size_t folded = normalize(view_from(line, at), &normal);

        if (has_trigger(view_of(normal.text, normal.size)))
            return true;
        at += folded;
    }
    return false;
}

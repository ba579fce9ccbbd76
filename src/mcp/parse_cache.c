/*
 * parse_cache.c: messages that are written like earlier ones.
 *
 * A client writes its calls by one form: from one reading of a note to the next, the id differs and one word
 * among the arguments. The tree of such a message is kept; one that is written alike is not parsed, but gets
 * that tree with its own id and word put in, and is handled as any other.
 *
 * Where the two stand is found out by asking the parser: with other values in these places, the line must
 * give the same tree with these values in theirs. What is put in is a whole number or a string that is
 * written as it reads, and of those one is parsed like the other.
 */
#include "mcp/internal.h"

#include <stdlib.h>

#include "base/view.h"

#define FORMS 4
#define MOST_LINE 1024 /* bytes */
#define MOST_IDLE 8 /* messages that were like none; from then on, one in so many is learned from */
#define MOST_PLACES 4 /* that are tried for a word */
#define OTHER "?"

/* A line with two holes. */
struct form {
    struct mcp_known_form alike; /* with a message, or there is none */
    json_t *word;                /* in the message, borrowed */
    struct str line;
    struct {
        size_t begin, end;
    } holes[2];
    int id; /* which is the id's; the other is the word's */
};

struct mcp_forms {
    struct form all[FORMS];
    size_t next;   /* whose turn it is to go */
    unsigned idle; /* messages since a form was of use */
};

/* ---- life -------------------------------------------------------------------------------------- */

struct mcp_forms *mcp_forms_new(void)
{
    return calloc(1, sizeof(struct mcp_forms));
}

static void clear_form(struct form *form)
{
    json_decref(form->alike.message);
    json_decref(form->alike.args);
    str_release(&form->line);
    form->alike = (struct mcp_known_form){0};
}

void mcp_forms_free(struct mcp_forms *self)
{
    for (size_t i = 0; self && i < FORMS; i++)
        clear_form(&self->all[i]);
    free(self);
}

/* ---- using ------------------------------------------------------------------------------------- */

/* What stands before the first hole, between the two, and behind the second. */
static struct ethos_view piece(const struct form *form, int number)
{
    size_t begin = number > 0 ? form->holes[number - 1].end : 0;
    size_t end = number < 2 ? form->holes[number].begin : form->line.size;
    return view_of(form->line.data + begin, end - begin);
}

/* What a line has in the holes; false: it is not written by this form. */
static bool form_fits(const struct form *form, struct ethos_view line, struct ethos_view out[2])
{
    if (!form->alike.message)
        return false;
    for (int i = 0; i < 2; i++) {
        struct ethos_view before = piece(form, i);
        if (!view_starts(line, before))
            return false;
        line = view_from(line, before.size);
        out[i] = view_of(line.data, mcp_plain_size(line));
        if (out[i].size == 0)
            return false;
        line = view_from(line, out[i].size);
    }
    return view_eq(line, piece(form, 2)) && out[!form->id].data[0] == '"';
}

/* Both values are plain; that of the word is quoted. */
static bool put_in(json_t *message, json_t *word, struct ethos_view id, struct ethos_view quoted)
{
    return json_object_set_new_nocheck(message, "id", mcp_plain_json(id)) == 0 &&
           json_string_setn_nocheck(word, quoted.data + 1, quoted.size - 2) == 0;
}

struct mcp_known_form *mcp_forms_fill(struct mcp_forms *self, struct ethos_view line)
{
    struct ethos_view values[2];
    for (size_t i = 0; i < FORMS; i++) {
        struct form *form = &self->all[i];
        if (form_fits(form, line, values) &&
            put_in(form->alike.message, form->word, values[form->id], values[!form->id])) {
            self->idle = 0;
            return &form->alike;
        }
    }
    return NULL;
}

/* ---- learning ---------------------------------------------------------------------------------- */

/* The one string among the arguments of a call, or NULL. */
static json_t *find_only_string(const json_t *message)
{
    const char *name;
    json_t *value, *word = NULL, *params = json_object_get(message, "params");
    json_object_foreach (json_object_get(params, "arguments"), name, value) {
        if (json_is_string(value) && word)
            return NULL;
        if (json_is_string(value))
            word = value;
    }
    return word;
}

/* Whether the form with other values parses to its message with other values. */
static bool is_right(const struct form *form)
{
    const struct ethos_view other = VIEW("\"" OTHER "\"");
    json_t *found = NULL, *wanted = json_deep_copy(form->alike.message),
           *word = find_only_string(wanted);
    struct str line;
    str_init(&line, 2 * MOST_LINE);
    for (int i = 0; i < 3; i++) {
        str_add(&line, piece(form, i));
        str_add(&line, i < 2 ? other : VIEW(""));
    }
    bool right = word && put_in(wanted, word, other, other) &&
                 json_parse(str_view(&line), "form", &found, NULL) == ETHOS_OK &&
                 json_equal(found, wanted);
    json_decref(found);
    json_decref(wanted);
    str_release(&line);
    return right;
}

/* Sets the holes to the id and to a place where the word may stand. */
static void set_holes(struct form *form, const struct mcp_cut *cut, size_t begin, size_t end)
{
    form->id = begin < cut->before.size;
    form->holes[!form->id].begin = begin;
    form->holes[!form->id].end = end;
    form->holes[form->id].begin = cut->before.size;
    form->holes[form->id].end = cut->before.size + cut->id.size;
}

/* Looks for the place of the word, which is none that the id takes part of. */
static bool find_string_place(struct form *form, const struct mcp_cut *cut)
{
    struct str quoted;
    struct ethos_view rest = str_view(&form->line);
    bool found = false;
    str_init(&quoted, MOST_LINE);
    json_print(form->word, JSON_STYLE_LINE, &quoted);
    for (int i = 0; !found && i < MOST_PLACES && quoted.size > 0; i++) {
        const char *at = memmem(rest.data, rest.size, quoted.data, quoted.size);
        if (!at)
            break;
        size_t begin = (size_t)(at - form->line.data), end = begin + quoted.size;
        set_holes(form, cut, begin, end);
        found = (end <= cut->before.size || begin >= cut->before.size + cut->id.size) &&
                is_right(form);
        rest = view_from(str_view(&form->line), begin + 1);
    }
    str_release(&quoted);
    return found;
}

void mcp_forms_learn(struct mcp_forms *self, struct ethos_view line, json_t *message)
{
    struct mcp_cut cut;
    json_t *word = find_only_string(message);
    if (!word || line.size > MOST_LINE || !mcp_cut(line, &cut) ||
        strcmp(json_string_value(word), OTHER) == 0 ||
        (++self->idle > MOST_IDLE && self->idle % MOST_IDLE != 0))
        return;
    struct form *form = &self->all[self->next++ % FORMS];
    clear_form(form);
    str_init(&form->line, MOST_LINE);
    form->alike.message = json_incref(message);
    form->alike.method = json_view(message, "method").data;
    form->alike.params = json_object_get(message, "params");
    form->word = word;
    if (str_add(&form->line, line) != ETHOS_OK || !find_string_place(form, &cut))
        clear_form(form);
}

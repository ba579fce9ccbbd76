/*
 * answer_cache.c: answers that serve again.
 *
 * A model reads the same note many times in a conversation, and nearly always there is nothing new. The
 * answer is kept with what it was made from (op_again); asked the same again, one look says whether it
 * would be made the same, and it goes out with the id that was asked with. What is saved is making it,
 * not looking.
 *
 * The same is asked when all bytes of the line but those of its id are the same. Where the id stands is
 * told by its neighbours, without parsing; that they tell it right follows from the line that was parsed:
 *
 *     {"jsonrpc":"2.0","id":ID...      nothing comes before, so it is a member of the message
 *     {"id":ID...
 *     ...,"id":ID}                     the last brace ends the message, so ID is the last value in it; the
 *                                      quote after the comma is not escaped, so a name begins there
 *
 * ID is a whole number or a string that is written as it reads. With one such value in the place of
 * another, a line is parsed the same; a name that comes twice would have been refused then.
 */
#include "mcp/internal.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/view.h"

#define SETS 64           /* by hash; in each: */
#define WAYS 4            /* as many as texts that are kept below (store/files/internal.h) */
#define MOST_LINE 1024    /* bytes of a request */
#define MOST_ANSWER 65536 /* bytes of its answer */
#define MOST_DIGITS 18    /* of an id: every such number can be told */
#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":"

struct cached_answer {
    uint64_t hash;
    enum mcp_version version; /* of the session, and its log level */
    int log_level;
    struct op_validator *again;
    size_t before, after, rest; /* bytes: of the request, and of the answer after its id */
    char bytes[];               /* in this order */
};

struct mcp_answer_cache {
    struct cached_answer *all[SETS][WAYS];
    unsigned char next[SETS]; /* of a set, whose turn it is to go */
    size_t bytes;
    struct str line; /* that is being handled; empty: its answer is none to keep */
};

/* ---- life -------------------------------------------------------------------------------------- */

struct mcp_answer_cache *mcp_answer_cache_new(void)
{
    struct mcp_answer_cache *self = calloc(1, sizeof *self);
    if (self)
        str_init(&self->line, MOST_LINE);
    return self;
}

static size_t answer_size(const struct cached_answer *answer)
{
    return sizeof *answer + answer->before + answer->after + answer->rest;
}

static void drop_answer(struct mcp_answer_cache *self, struct cached_answer **place)
{
    if (!*place)
        return;
    self->bytes -= answer_size(*place);
    op_validator_free((*place)->again);
    free(*place);
    *place = NULL;
}

void mcp_answer_cache_clear(struct mcp_answer_cache *self)
{
    for (size_t i = 0; self && i < SETS; i++)
        for (size_t j = 0; j < WAYS; j++)
            drop_answer(self, &self->all[i][j]);
}

size_t mcp_answer_cache_bytes(const struct mcp_answer_cache *self)
{
    return self->bytes;
}

void mcp_answer_cache_free(struct mcp_answer_cache *self)
{
    mcp_answer_cache_clear(self);
    if (self)
        str_release(&self->line);
    free(self);
}

/* ---- where the id is --------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Of a string, what means itself. */
static bool is_plain_character(char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

size_t mcp_plain_size(struct ethos_view text)
{
    const char *data = text.data;
    size_t at = 1;
    if (text.size == 0)
        return 0;
    if (data[0] == '"') {
        while (at < text.size && is_plain_character(data[at]))
            at++;
        return at < text.size && data[at] == '"' ? at + 1 : 0;
    }
    if (data[0] == '0')
        return 1;
    size_t first = data[0] == '-';
    for (at = first; at < text.size && at - first < MOST_DIGITS && is_digit(data[at]);)
        at++;
    return at > first && data[first] != '0' ? at : 0;
}

/* Where an id begins that ends with this text; SIZE_MAX: nowhere. */
static size_t id_before(struct ethos_view text)
{
    size_t at = text.size;
    bool quoted = at > 0 && text.data[at - 1] == '"';
    at -= quoted;
    while (at > 0 && (quoted ? is_plain_character(text.data[at - 1]) : is_digit(text.data[at - 1])))
        at--;
    if (at > 0 && (quoted || text.data[at - 1] == '-'))
        at--;
    return at < text.size && mcp_plain_size(view_from(text, at)) == text.size - at ? at : SIZE_MAX;
}

static bool cut_at(struct ethos_view line, size_t at, size_t size, struct mcp_cut *out)
{
    *out = (struct mcp_cut){view_of(line.data, at), view_of(line.data + at, size),
                            view_from(line, at + size)};
    return size > 0;
}

bool mcp_cut(struct ethos_view line, struct mcp_cut *out)
{
    static const struct ethos_view heads[] = {VIEW(HEAD), VIEW("{\"id\":")};
    if (line.size == 0 || line.size > MOST_LINE)
        return false;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (view_starts(line, heads[i]))
            return cut_at(line, heads[i].size, mcp_plain_size(view_from(line, heads[i].size)), out);
    if (line.data[line.size - 1] != '}')
        return false;
    struct ethos_view inner = view_of(line.data, line.size - 1);
    size_t at = id_before(inner);
    return at != SIZE_MAX && view_ends(view_of(line.data, at), VIEW(",\"id\":")) &&
           cut_at(line, at, inner.size - at, out);
}

/* ---- finding ----------------------------------------------------------------------------------- */

static uint64_t hash_line(const struct mcp_cut *line)
{
    return hash_mix(hash_mix(line->before.size, line->before), line->after);
}

static bool answer_fits(const struct cached_answer *answer, const struct mcp_session *session,
                        const struct mcp_cut *line, uint64_t hash)
{
    return answer && answer->hash == hash && answer->version == session->version &&
           answer->log_level == session->log_level &&
           view_eq(view_of(answer->bytes, answer->before), line->before) &&
           view_eq(view_of(answer->bytes + answer->before, answer->after), line->after);
}

static struct cached_answer **find_answer(struct mcp_answer_cache *self,
                                          const struct mcp_session *session,
                                          const struct mcp_cut *line)
{
    uint64_t hash = hash_line(line);
    struct cached_answer **set = self->all[hash % SETS];
    for (size_t i = 0; i < WAYS; i++)
        if (answer_fits(set[i], session, line, hash))
            return &set[i];
    return NULL;
}

json_t *mcp_plain_json(struct ethos_view text)
{
    return text.data[0] == '"' ? json_stringn_nocheck(text.data + 1, text.size - 2)
                               : json_integer(strtoll(text.data, NULL, 10));
}

static bool is_request_cancelled(const struct mcp_session *session, struct ethos_view id)
{
    if (!session->cancelled)
        return false;
    json_t *value = mcp_plain_json(id);
    bool cancelled = session->cancelled(session->cancelled_arg, value);
    json_decref(value);
    return cancelled;
}

static bool append_answer(const struct mcp_session *session, const struct cached_answer *answer,
                          struct ethos_view id, struct str *out)
{
    size_t start = out->size;
    str_adds(out, HEAD);
    str_add(out, id);
    str_add(out, view_of(answer->bytes + answer->before + answer->after, answer->rest));
    if (str_addc(out, '\n') != ETHOS_OK) {
        str_undo(out, start);
        return false;
    }
    if (is_request_cancelled(session, view_of(out->data + start + sizeof HEAD - 1, id.size)))
        str_truncate(out, start);
    return true;
}

bool mcp_answer_cache_reply(struct mcp_session *session, struct ethos_view text, struct str *out)
{
    struct mcp_cut line;
    struct mcp_answer_cache *self = session->kept;
    const struct mcp *mcp = session->mcp;
    str_clear(&self->line);
    if (!mcp_cut(text, &line))
        return false;
    struct cached_answer **found = find_answer(self, session, &line);
    if (found && mcp->holds(mcp->run_arg, (*found)->again) &&
        append_answer(session, *found, line.id, out))
        return true;
    if (found)
        drop_answer(self, found);
    str_add(&self->line, text);
    return false;
}

/* ---- keeping ----------------------------------------------------------------------------------- */

static struct cached_answer *answer_new(const struct mcp_session *session,
                                        const struct mcp_cut *line, struct ethos_view rest)
{
    struct cached_answer *answer = malloc(sizeof *answer + line->before.size + line->after.size +
                                          rest.size);
    if (!answer)
        return NULL;
    *answer = (struct cached_answer){.hash = hash_line(line),
                                     .version = session->version,
                                     .log_level = session->log_level,
                                     .before = line->before.size,
                                     .after = line->after.size,
                                     .rest = rest.size};
    memcpy(answer->bytes, line->before.data, line->before.size);
    memcpy(answer->bytes + answer->before, line->after.data, line->after.size);
    memcpy(answer->bytes + answer->before + answer->after, rest.data, rest.size);
    return answer;
}

/* An empty place of its set, or that of the one whose turn it is. */
static struct cached_answer **place_for(struct mcp_answer_cache *self,
                                        const struct cached_answer *answer)
{
    size_t number = answer->hash % SETS;
    for (size_t i = 0; i < WAYS; i++)
        if (!self->all[number][i])
            return &self->all[number][i];
    return &self->all[number][self->next[number]++ % WAYS];
}

/* What follows the id in an answer that is a result, and nothing but one. */
static bool rest_of(struct ethos_view answer, struct ethos_view id, struct ethos_view *out)
{
    size_t head = sizeof HEAD - 1;
    *out = view_from(answer, head + id.size);
    return view_starts(answer, VIEW(HEAD)) && view_starts(view_from(answer, head), id) &&
           view_starts(*out, VIEW(",\"result\":"));
}

void mcp_answer_cache_store(struct mcp_session *session, struct ethos_view text,
                            struct op_validator **again)
{
    struct mcp_cut line;
    struct ethos_view rest;
    struct mcp_answer_cache *self = session->kept;
    if (text.size > MOST_ANSWER || !mcp_cut(str_view(&self->line), &line) ||
        !rest_of(text, line.id, &rest))
        return;
    struct cached_answer *answer = answer_new(session, &line, rest);
    if (!answer)
        return;
    if (self->bytes + answer_size(answer) > MCP_KEPT_BYTES)
        mcp_answer_cache_clear(self);
    struct cached_answer **place = place_for(self, answer);
    drop_answer(self, place);
    answer->again = *again;
    *again = NULL;
    *place = answer;
    self->bytes += answer_size(answer);
}

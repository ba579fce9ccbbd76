/*
 * transcript_reorder.c: items in the order of a file become messages in an order that a model
 * accepts.
 *
 * An assistant's message is kept back until it is clear that the next line does not belong to it;
 * then the results of its calls follow at once, wherever they stood.
 */
#include <string.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/sessions/transcript_internal.h"

#define NO_QUESTION "(what came before was not recorded)"

/* What is known of an id while results are looked for. */
struct item_slot_row {
    struct call *call;             /* the last one with this id */
    struct transcript_item *early; /* a result that came before any call */
};

struct order {
    struct transcript_reading *reading;
    struct transcript_item **last;
    struct transcript_item *tail; /* the last one, NULL: none */
    struct transcript_item
        *owner;        /* an assistant's message whose results are still to come, or NULL */
    size_t owner_turn; /* of what was joined to it last */
    size_t line;       /* of the item before in the file */
};

static void note_misplaced_item(struct order *order, const struct transcript_item *item,
                                const char *what)
{
    order->reading->line = item->line;
    reading_note(order->reading, what);
}

/* ---- which result belongs to which call ------------------------------------------------------ */

static size_t count_ids(const struct transcript_item *items)
{
    size_t count = 0;
    for (const struct transcript_item *item = items; item; item = item->next)
        count += item->call_count + (item->role == 'r');
    return count;
}

/* The slot of an id, made when it is new; NULL: no memory. */
static struct item_slot_row *id_slot(json_t *places, struct item_slot_row *slots, const char *id)
{
    const json_t *place = json_object_get(places, id);
    size_t number = place ? (size_t)json_integer_value(place) : json_object_size(places);
    if (!place && json_object_set_new_nocheck(places, id, json_integer((json_int_t)number)))
        return NULL;
    return &slots[number];
}

static void claim(struct call *call, struct transcript_item *result)
{
    call->result = result;
    result->claimed = true;
}

static int match_item(struct transcript_reading *reading, struct transcript_item *item,
                      json_t *places, struct item_slot_row *slots)
{
    struct item_slot_row *slot;
    for (struct call *call = item->calls; call; call = call->next) {
        if (!(slot = id_slot(places, slots, call->id)))
            return ETHOS_NOMEM;
        if (slot->early)
            claim(call, slot->early);
        slot->early = NULL;
        slot->call = call;
    }
    if (item->role != 'r')
        return ETHOS_OK;
    if (!(slot = id_slot(places, slots, item->call_id)))
        return ETHOS_NOMEM;
    if (slot->call && !slot->call->result) {
        claim(slot->call, item);
        return ETHOS_OK;
    }
    reading->reaches_back = true; // its call may stand there
    if (!slot->call && !slot->early) {
        slot->early = item;
        reading->reaches_on = true;
    }
    return ETHOS_OK;
}

static int match_results(struct transcript_reading *reading)
{
    json_t *places = json_object();
    struct item_slot_row *slots = arena_array(reading->arena, count_ids(reading->items),
                                              sizeof(struct item_slot_row));
    int code = places && slots ? ETHOS_OK : ETHOS_NOMEM;
    size_t turn = 0;
    for (struct transcript_item *item = reading->items; item && code == ETHOS_OK;
         item = item->next) {
        turn += item->role != 'r' && item->role != 0;
        item->turn = turn;
        code = match_item(reading, item, places, slots);
    }
    json_decref(places);
    return code;
}

/* ---- building -------------------------------------------------------------------------------- */

static void append_item(struct order *order, struct transcript_item *item)
{
    *order->last = item;
    order->last = &item->after;
    order->tail = item;
}

/* A message that nobody wrote, after the tail; its id depends on the message it stands for. */
static int append_made(struct order *order, const struct transcript_item *cause, char role,
                       const char *text, struct transcript_item **out)
{
    struct transcript_reading *reading = order->reading;
    struct transcript_item *item = arena_alloc(reading->arena, sizeof(*item));
    if (!item)
        return ETHOS_NOMEM;
    item->role = role;
    item->line = cause->line;
    item->timestamp = cause->timestamp;
    item->last_part = &item->parts;
    item->last_call = &item->calls;
    append_item(order, item);
    *out = item;
    return reading_text(reading, item, view_str(text));
}

/* Ids of results come from their calls: one that is found later is not taken for another. */
static int name_result(struct order *order, struct transcript_item *result, const struct call *call)
{
    struct str seed;
    result->call_id = call->id;
    if (!result->own || !result->tool_name)
        result->tool_name = call->name;
    if (result->own)
        return ETHOS_OK;
    str_init(&seed, SIZE_MAX);
    str_printf(&seed, "%s\n%s", order->owner->id, call->id);
    result->id = str_code(&seed) ? NULL : reading_uuid(order->reading, str_view(&seed));
    str_release(&seed);
    return result->id ? ETHOS_OK : ETHOS_NOMEM;
}

static int append_result(struct order *order, const struct call *call)
{
    struct transcript_item *result = call->result;
    int code = ETHOS_OK;
    if (!result) {
        note_misplaced_item(order, order->owner,
                            "a tool call without a result got an empty result");
        code = append_made(order, order->owner, 'r', TRANSCRIPT_NO_RESULT, &result);
    } else {
        if (result->turn != order->owner_turn)
            note_misplaced_item(order, result, "a tool result was moved to its call");
        append_item(order, result);
    }
    return code ? code : name_result(order, result, call);
}

static int end_calls(struct order *order)
{
    int code = ETHOS_OK;
    if (!order->owner)
        return ETHOS_OK;
    for (const struct call *call = order->owner->calls; call && !code; call = call->next)
        code = append_result(order, call);
    order->owner = NULL;
    return code;
}

/* ---- joining --------------------------------------------------------------------------------- */

static struct call *find_item_call(struct transcript_item *item, const char *id)
{
    struct call *call = item->calls;
    while (call && strcmp(call->id, id) != 0)
        call = call->next;
    return call;
}

/* Gives a call that is left out, and with it its result, up. */
static void drop_call(struct order *order, struct transcript_item *item, struct call *call,
                      struct call *same)
{
    note_misplaced_item(order, item,
                        same ? "a second tool call with the same id was left out"
                             : "a tool call beyond the maximum was left out");
    if (!call->result)
        return;
    if (same && !same->result)
        same->result = call->result;
    else
        call->result->claimed = false;
}

/* Moves calls from one message to another (which may be the same), each id once. */
static void take_calls(struct order *order, struct transcript_item *to,
                       struct transcript_item *from)
{
    struct call *call = from->calls, *next;
    if (to == from) {
        to->calls = NULL;
        to->last_call = &to->calls;
        to->call_count = 0;
    } else {
        to->call_bytes += from->call_bytes;
    }
    for (; call; call = next) {
        bool full = to->call_count == TRANSCRIPT_MAX_CALLS;
        struct call *same = full ? NULL : find_item_call(to, call->id);
        next = call->next;
        if (same || full) {
            drop_call(order, from, call, same);
            continue;
        }
        call->next = NULL;
        *to->last_call = call;
        to->last_call = &call->next;
        to->call_count++;
    }
}

static void add_count(int64_t *to, int64_t from)
{
    if (__builtin_add_overflow(*to, from, to))
        *to = INT64_MAX;
}

void transcript_add_usage(struct ethos_usage *to, const struct ethos_usage *from)
{
    add_count(&to->input_tokens, from->input_tokens);
    add_count(&to->output_tokens, from->output_tokens);
    add_count(&to->cache_read_tokens, from->cache_read_tokens);
    add_count(&to->cache_creation_tokens, from->cache_creation_tokens);
    to->cost_usd += from->cost_usd;
}

static void join_item(struct order *order, struct transcript_item *from)
{
    struct transcript_item *to = order->tail;
    note_misplaced_item(order, from, "adjacent messages with the same role were joined");
    if (from->parts) {
        *to->last_part = from->parts;
        to->last_part = from->last_part;
    }
    to->has_usage |= from->has_usage;
    transcript_add_usage(&to->usage, &from->usage);
    to->content_blocks = to->trace_id = NULL;
}

/* ---- roles ----------------------------------------------------------------------------------- */

static char tail_role(const struct order *order)
{
    return order->tail ? order->tail->role : 0;
}

/* Whether the calls of both can stand in one message: those of one alone can, as far as any can. */
static bool can_share_message(const struct transcript_item *to, const struct transcript_item *from)
{
    return to->call_count == 0 || (to->call_count + from->call_count <= TRANSCRIPT_MAX_CALLS &&
                                   to->call_bytes + from->call_bytes <= TRANSCRIPT_CALL_BYTES);
}

static int place_assistant(struct order *order, struct transcript_item *item)
{
    struct transcript_item *made;
    int code = ETHOS_OK;
    item->tool_calls = NULL; // some may go, others come
    if (tail_role(order) == 'a' && can_share_message(order->tail, item)) {
        join_item(order, item);
        take_calls(order, order->tail, item);
        order->owner = order->tail;
        order->owner_turn = item->turn;
        return ETHOS_OK;
    }
    code = end_calls(order);
    if (code == ETHOS_OK && (tail_role(order) == 0 || tail_role(order) == 's')) {
        note_misplaced_item(order, item, "a missing question was added");
        code = append_made(order, item, 'u', NO_QUESTION, &made);
        if (code == ETHOS_OK && !(made->id = reading_uuid(order->reading, view_str(item->id))))
            code = ETHOS_NOMEM;
    }
    append_item(order, item);
    take_calls(order, item, item);
    order->owner = item;
    order->owner_turn = item->turn;
    return code;
}

/* Whether all that comes from a question on can be read by itself, and something stands before. */
static bool begins_turn(const struct order *order, const struct transcript_item *item)
{
    return item->firm && item->line > order->line && (order->tail || order->reading->from);
}

static int place_user(struct order *order, struct transcript_item *item)
{
    int code = end_calls(order);
    char before = tail_role(order);
    if (before == 'u' || before == 't') {
        order->tail->role = before == item->role ? before : 'u';
        join_item(order, item);
        return code;
    }
    if (item->role == 't' && before != 'r') {
        note_misplaced_item(order, item, "a steer became a user's message");
        item->role = 'u';
    }
    if (begins_turn(order, item))
        order->reading->turn = item;
    append_item(order, item);
    return code;
}

static int place_item(struct order *order, struct transcript_item *item)
{
    switch (item->role) {
    case 'a':
        return place_assistant(order, item);
    case 'u':
    case 't':
        return place_user(order, item);
    case 'r':
        if (item->claimed)
            return end_calls(order);
        note_misplaced_item(order, item, "a tool result that answers no call was left out");
        return ETHOS_OK;
    case 's':
        if (!order->tail)
            append_item(order, item);
        else if (tail_role(order) == 's')
            join_item(order, item);
        else
            note_misplaced_item(order, item, "a system message in the middle was left out");
        return ETHOS_OK;
    default:
        return ETHOS_OK;
    }
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Messages are read back by time, so it never goes back. */
static void settle_times(struct transcript_reading *reading)
{
    struct order *order = &(struct order){.reading = reading};
    struct transcript_item *first = reading->ordered;
    const char *last = reading->from ? reading->from->time : NULL;
    for (const struct transcript_item *item = first; item && !last; item = item->after)
        last = item->timestamp;
    for (struct transcript_item *item = first; item && last; item = item->after) {
        bool early = item->timestamp && strcmp(item->timestamp, last) < 0;
        if (!item->timestamp)
            note_misplaced_item(order, item, "a missing time was copied from the next message");
        else if (early)
            note_misplaced_item(order, item,
                                "a time earlier than the previous message's was corrected");
        if (!item->timestamp || early)
            item->timestamp = last;
        last = item->timestamp;
    }
}

int transcript_order(struct transcript_reading *reading)
{
    struct order order = {.reading = reading, .last = &reading->ordered};
    int code = match_results(reading);
    for (struct transcript_item *item = reading->items; item && code == ETHOS_OK;
         item = item->next) {
        code = place_item(&order, item);
        order.line = item->line;
    }
    if (code == ETHOS_OK)
        code = end_calls(&order);
    if (code == ETHOS_OK)
        settle_times(reading);
    return code;
}

/* ---- giving ---------------------------------------------------------------------------------- */

static int join_parts(struct transcript_reading *reading, const struct transcript_item *item,
                      struct ethos_view *out)
{
    struct str text;
    *out = item->parts ? item->parts->text : VIEW("");
    if (!item->parts || !item->parts->next)
        return ETHOS_OK;
    str_init(&text, SIZE_MAX);
    for (const struct text_block *part = item->parts; part; part = part->next) {
        str_add(&text, part->text);
        str_adds(&text, part->next ? "\n\n" : "");
    }
    *out = view_of(str_code(&text) ? NULL : arena_copy(reading->arena, str_view(&text)), text.size);
    str_release(&text);
    return out->data ? ETHOS_OK : ETHOS_NOMEM;
}

/* [{"id":"...","name":"...","input":{...}}], or NULL for none. */
static int print_calls(struct transcript_reading *reading, const struct transcript_item *item,
                       const char **out)
{
    struct str text;
    *out = NULL;
    if (!item->calls)
        return ETHOS_OK;
    str_init(&text, SIZE_MAX);
    for (const struct call *call = item->calls; call; call = call->next) {
        str_adds(&text, call == item->calls ? "[{\"id\":" : ",{\"id\":");
        json_quote(view_str(call->id), &text);
        str_adds(&text, ",\"name\":");
        json_quote(view_str(call->name), &text);
        str_printf(&text, ",\"input\":%s}", call->input);
    }
    str_addc(&text, ']');
    *out = str_code(&text) ? NULL : arena_copy(reading->arena, str_view(&text));
    str_release(&text);
    return *out ? ETHOS_OK : ETHOS_NOMEM;
}

static const char *role_name(char role)
{
    switch (role) {
    case 's':
        return "system";
    case 'u':
        return "user";
    case 'a':
        return "assistant";
    case 'r':
        return "tool_result";
    default:
        return "user_steer";
    }
}

static int make_message(struct transcript_reading *reading, const struct transcript_item *item,
                        struct ethos_message *out)
{
    *out = (struct ethos_message){.id = item->id,
                                  .role = role_name(item->role),
                                  .tool_call_id = item->call_id,
                                  .tool_name = item->tool_name,
                                  .tool_calls = item->tool_calls,
                                  .content_blocks = item->content_blocks,
                                  .trace_id = item->trace_id,
                                  .usage = item->usage,
                                  .has_usage = item->has_usage,
                                  .timestamp = item->timestamp};
    int code = join_parts(reading, item, &out->content);
    return code || out->tool_calls ? code : print_calls(reading, item, &out->tool_calls);
}

int transcript_give(struct transcript_reading *reading, transcript_out_fn *each)
{
    struct ethos_message message;
    int code = ETHOS_OK;
    for (const struct transcript_item *item = reading->ordered; item && code == ETHOS_OK;
         item = item->after) {
        code = make_message(reading, item, &message);
        code = code ? code : each(reading->arg, &message);
    }
    return code;
}

/* ---- keeping --------------------------------------------------------------------------------- */

int transcript_keep(struct transcript_reading *reading, bool *out_kept)
{
    struct transcript transcript = {.arena = reading->arena};
    struct ethos_message message;
    int code = ETHOS_OK;
    for (struct transcript_item *item = reading->items; item && code == ETHOS_OK;
         item = item->next) {
        code = make_message(reading, item, &message);
        if (code == ETHOS_OK)
            code = transcript_next(&transcript, &message, NULL);
    }
    *out_kept = code == ETHOS_OK;
    for (struct transcript_item *item = reading->items; item && *out_kept; item = item->next)
        item->after = item->next;
    if (*out_kept) {
        reading->ordered = reading->items;
        settle_times(reading);
    }
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

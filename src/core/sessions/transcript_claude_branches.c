/*
 * transcript_claude_branches.c: the lines of a Claude Code session form a tree: each names the one that it
 * follows. When a question is asked anew, the new one follows what the old one did, and both stay in
 * the file: the branch that ends in the last message is the conversation.
 *
 * Not every line off that branch was given up: of tools that run at the same time each result
 * follows its own call. So a question is given up only where the branch that went on begins with a
 * question, too, and a later one; with it goes what follows it. A line whose beginnings are not in
 * the file stays, as do those that follow none.
 */
#include "base/arena.h"
#include "base/view.h"
#include "core/sessions/transcript_internal.h"

#define GIVEN_UP "a message that was taken back was left out"

/* Places count from 1; the one of 0 is nowhere, and all zero. */
struct branch_node {
    size_t line;
    size_t up; /* that it follows: before it in the file */
    bool message, question;
    /* at the end */
    bool live;    /* on the branch of the last message */
    size_t below; /* the next message on that branch, of a live one */
    size_t join;  /* the nearest live one, itself or above */
    bool given_up;
};

static struct branch_node *push_node(struct transcript_reading *reading)
{
    struct branch_node *nodes = arena_grow(reading->arena, reading->nodes, reading->node_count,
                                           &reading->node_capacity, sizeof *nodes);
    if (!nodes)
        return NULL;
    reading->nodes = nodes;
    nodes[reading->node_count] = (struct branch_node){0};
    return &nodes[reading->node_count++];
}

static size_t place_of(const struct transcript_reading *reading, struct ethos_view name)
{
    const json_t *place = name.size > 0 ? json_object_getn(reading->places, name.data, name.size)
                                        : NULL;
    return (size_t)json_integer_value(place);
}

int branch_line(struct transcript_reading *reading, const json_t *row)
{
    struct ethos_view name = json_view(row, "uuid"), up = json_view(row, "parentUuid");
    reading->node = 0;
    if (name.size == 0 || place_of(reading, name) > 0)
        return ETHOS_OK;
    if (up.size == 0)
        up = json_view(row, "logicalParentUuid"); // where what was before was summed up
    struct branch_node *node = reading->node_count > 0 || push_node(reading) ? push_node(reading)
                                                                             : NULL;
    if (!node)
        return ETHOS_NOMEM;
    node->line = reading->line;
    node->up = place_of(reading, up);
    reading->node = reading->node_count - 1;
    reading->reaches_back |= node->up == 0 && reading->node > 1;
    json_t *place = json_integer((json_int_t)reading->node);
    return json_object_setn_new_nocheck(reading->places, name.data, name.size, place) ? ETHOS_NOMEM
                                                                                      : ETHOS_OK;
}

void branch_message(struct transcript_reading *reading, bool question)
{
    if (reading->node == 0)
        return;
    reading->nodes[reading->node].message = true;
    reading->nodes[reading->node].question = question;
}

void branch_no_message(struct transcript_reading *reading, size_t node)
{
    if (node > 0)
        reading->nodes[node].message = reading->nodes[node].question = false;
}

static void mark_live(struct branch_node *nodes, size_t count)
{
    size_t at = count - 1, below = 0;
    while (at > 0 && !nodes[at].message)
        at--;
    for (; at > 0; at = nodes[at].up) {
        nodes[at].live = true;
        nodes[at].below = below;
        below = nodes[at].message ? at : below;
    }
}

/* What it follows was judged before. */
static void classify_node(struct branch_node *nodes, size_t at)
{
    struct branch_node *node = &nodes[at];
    const struct branch_node *up = &nodes[node->up];
    node->join = node->live ? at : up->join;
    const struct branch_node *instead = &nodes[nodes[node->join].below];
    bool anew = instead->question && instead->line > node->line;
    node->given_up = !node->live && (up->given_up || (node->question && anew));
}

void branch_end(struct transcript_reading *reading)
{
    struct branch_node *nodes = reading->nodes;
    struct transcript_item **link = &reading->items, *item;
    size_t at = 1, count = reading->node_count;
    if (count == 0)
        return;
    mark_live(nodes, count);
    for (size_t i = 1; i < count; i++)
        classify_node(nodes, i);
    while ((item = *link)) {
        while (at < count && nodes[at].line < item->line)
            at++;
        if (at == count || nodes[at].line > item->line || !nodes[at].given_up) {
            item->firm = at < count && nodes[at].line == item->line && nodes[at].live &&
                         nodes[at].question;
            link = &item->next;
            continue;
        }
        *link = item->next;
        reading->line = item->line;
        reading_note(reading, GIVEN_UP);
        reading->about->taken_back = true;
    }
    reading->last = link;
}

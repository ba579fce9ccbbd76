/*
 * view_channels.c: channels and the people on them.
 */
#include <string.h>

#include "cli/view_internal.h"

/* The code alone goes to the first line, so that it can be taken from there. */
void view_channel_owner(struct cli *self, const json_t *json)
{
    if (!*view_member(json, "code"))
        return; // a dry run
    term_printf(&self->term, "%s\n", view_member(json, "code"));
    if (*view_member(json, "link"))
        term_printf(&self->term, "%s\n", view_member(json, "link"));
    view_say(self, "Send this code to the bot within an hour, while ethos gateway runs. Whoever "
                   "sends it first is the owner.");
}

void view_channel_allowed(struct cli *self, const json_t *json)
{
    const json_t *contact = json_object_get(json, "contact");
    term_printf(&self->term, "%s (%s %s) may talk now, as %s\n", view_member(contact, "name"),
                view_member(contact, "platform"), view_member(contact, "sender"),
                view_member(contact, "role"));
}

void view_channel_removed(struct cli *self, const json_t *json)
{
    term_printf(&self->term, "%s %s may no longer talk; memory stays\n",
                view_member(json, "platform"), view_member(json, "sender"));
}

void view_channel_people(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *people = json_object_get(json, "people"),
                 *waiting = json_object_get(json, "waiting");
    json_array_foreach ((json_t *)people, index, row)
        term_printf(&self->term, "%-8s %-10s %-16s %.10s  %s\n", view_member(row, "role"),
                    view_member(row, "platform"), view_member(row, "sender"),
                    view_member(row, "since"), view_member(row, "name"));
    json_array_foreach ((json_t *)waiting, index, row)
        term_printf(&self->term, "%-8s %-10s %-16s %.10s  %s, code %s...\n", "waits",
                    view_member(row, "platform"), view_member(row, "sender"),
                    view_member(row, "since"), view_member(row, "name"),
                    view_member(row, "begins"));
    if (json_array_size(people) == 0)
        view_say(self, "Nobody may talk yet; ethos gateway owner telegram begins");
}

static bool print_channel(struct cli *self, const json_t *row)
{
    const char *since = view_member(row, "since"), *why = view_member(row, "why");
    const char *state = view_member(row, "state");
    bool fatal = strcmp(state, "fatal") == 0, off = strcmp(state, "off") == 0;
    term_printf(&self->term, "%-10s ", view_member(row, "platform"));
    term_styled(&self->term, fatal ? TERM_WARN : TERM_PLAIN, "%s", state);
    if (!off && *since)
        term_printf(&self->term, "%*s since %.16s", (int)(6 - strlen(state)), "", since);
    if (!off && *why)
        term_printf(&self->term, "  %s", why);
    term_printf(&self->term, "\n");
    return !off;
}

void view_channel_status(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    bool used = false;
    const json_t *unsent = json_object_get(json, "unsent");
    term_printf(&self->term, "%s\n",
                json_is_true(json_object_get(json, "running"))
                    ? "the gateway is running"
                    : "no gateway of this home is running");
    json_array_foreach (json_object_get(json, "channels"), index, row)
        used = print_channel(self, row) || used;
    if (!used)
        view_say(self, "No channel is enabled; docs/channels.md has the first steps");
    term_printf(&self->term, "%lld messages wait for an answer\n%lld messages wait to be sent\n",
                view_integer(json, "waiting"), view_integer(json, "sending"));
    json_array_foreach ((json_t *)unsent, index, row)
        term_printf(&self->term, "%lld  %s  %s chat %s, %.16sZ\n", view_integer(row, "id"),
                    strcmp(view_member(row, "state"), "failed") == 0 ? "not accepted"
                                                                     : "may not have arrived",
                    view_member(row, "platform"), view_member(row, "chat"),
                    view_member(row, "created"));
    if (json_array_size(unsent) > 0)
        view_say(self, "ethos gateway resend NUMBER sends one again");
}

/* What became of a message. */
static const char *outcome_of(const json_t *row)
{
    const char *state = view_member(row, "state"), *answer = view_member(row, "answer");
    return strcmp(answer, "unknown") == 0                               ? "may not have arrived"
           : strcmp(answer, "failed") == 0                              ? "not accepted"
           : strcmp(state, "refused") == 0                              ? "not answered"
           : strcmp(state, "new") == 0 || strcmp(state, "running") == 0 ? "waits"
           : *answer && strcmp(answer, "sent") != 0                     ? "being sent"
                                                                        : state;
}

void view_channel_messages(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *rows = json_object_get(json, "messages");
    json_array_foreach ((json_t *)rows, index, row)
        term_printf(&self->term, "%.16sZ  %-10s %-16s %-20s  %s\n", view_member(row, "received"),
                    view_member(row, "platform"), view_member(row, "sender"), outcome_of(row),
                    view_member(row, "name"));
    if (json_array_size(rows) == 0)
        view_say(self, "No message yet");
}

void view_channel_resent(struct cli *self, const json_t *json)
{
    term_printf(&self->term,
                "message %lld is sent again by the gateway that runs, or by the next one\n",
                view_integer(json, "id"));
}

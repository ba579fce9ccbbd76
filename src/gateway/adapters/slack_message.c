/*
 * slack_message.c: what Slack delivers as a message of a channel.
 */
#include "gateway/adapters/slack_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "base/view.h"

/* ---- texts ------------------------------------------------------------------------------------- */

static struct ethos_view before(struct ethos_view text, char c)
{
    const char *at = text.size > 0 ? memchr(text.data, c, text.size) : NULL;
    return at ? view_of(text.data, (size_t)(at - text.data)) : text;
}

/* What follows the first c; empty when there is none. */
static struct ethos_view after(struct ethos_view text, char c)
{
    const char *at = text.size > 0 ? memchr(text.data, c, text.size) : NULL;
    return at ? view_from(text, (size_t)(at - text.data) + 1) : (struct ethos_view){0};
}

static void add_entities(struct ethos_view text, struct str *out)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}};
    while (text.size > 0) {
        size_t size = 1;
        char c = *text.data;
        for (size_t i = 0; c == '&' && i < sizeof entities / sizeof *entities; i++)
            if (view_starts(text, view_str(entities[i].name))) {
                c = entities[i].c;
                size = strlen(entities[i].name);
                break;
            }
        str_addc(out, c);
        text = view_from(text, size);
    }
}

/* What stands between < and >. */
static void add_special(struct ethos_view inner, const struct slack_bot *bot, struct str *out)
{
    struct ethos_view target = before(inner, '|'), label = after(inner, '|');
    char kind = inner.size > 0 ? *inner.data : '\0';
    if (kind == '@' || kind == '#' || kind == '!') {
        struct ethos_view id = view_from(target, 1);
        bool is_us = kind == '@' && view_eq_str(id, bot->user);
        struct ethos_view name = is_us            ? view_str(bot->name)
                                 : label.size > 0 ? label
                                                  : before(id, '^');
        char mark = kind == '!' ? '@' : kind;
        if (name.size == 0 || *name.data != mark)
            str_addc(out, mark);
        add_entities(name, out);
        return;
    }
    if (label.size > 0 && !view_eq(label, target)) {
        add_entities(label, out);
        str_adds(out, " (");
        add_entities(target, out);
        str_addc(out, ')');
    } else {
        add_entities(target, out);
    }
}

int slack_text_read(struct ethos_view text, const struct slack_bot *bot, struct str *out)
{
    while (text.size > 0) {
        struct ethos_view plain = before(text, '<');
        add_entities(plain, out);
        text = view_from(text, plain.size);
        if (text.size == 0)
            break;
        struct ethos_view inner = before(view_from(text, 1), '>');
        bool closed = inner.size + 1 < text.size;
        if (closed)
            add_special(inner, bot, out);
        else
            add_entities(text, out);
        text = view_from(text, closed ? inner.size + 2 : text.size);
    }
    return str_code(out);
}

int slack_text_write(struct ethos_view text, struct str *out)
{
    for (size_t i = 0; i < text.size; i++) {
        const char *entity = text.data[i] == '&'   ? "&amp;"
                             : text.data[i] == '<' ? "&lt;"
                             : text.data[i] == '>' ? "&gt;"
                                                   : NULL;
        if (entity)
            str_adds(out, entity);
        else
            str_addc(out, text.data[i]);
    }
    return str_code(out);
}

/* ---- messages ---------------------------------------------------------------------------------- */

/* An id as it came; "" when it is missing, or longer than any. */
static void copy_id(const json_t *object, const char *name, char out[SLACK_MAX_ID])
{
    struct ethos_view id = json_view(object, name);
    *out = '\0';
    if (id.size < SLACK_MAX_ID && !memchr(id.data ? id.data : "", 0, id.size))
        snprintf(out, SLACK_MAX_ID, "%.*s", (int)id.size, id.data ? id.data : "");
}

static bool is_subtype_answered(const json_t *message)
{
    const char *subtype = json_string_value(json_object_get(message, "subtype"));
    return !subtype || strcmp(subtype, "file_share") == 0 ||
           strcmp(subtype, "thread_broadcast") == 0;
}

static bool mentions(struct ethos_view text, const char *user)
{
    char mention[SLACK_MAX_ID + 3];
    snprintf(mention, sizeof mention, "<@%s>", user);
    if (view_contains(text, view_str(mention)))
        return true;
    snprintf(mention, sizeof mention, "<@%s|", user);
    return view_contains(text, view_str(mention));
}

/* "<@BOT> !help" in a channel is "!help". */
static struct ethos_view skip_mention(struct ethos_view text, const char *user)
{
    char mention[SLACK_MAX_ID + 3];
    snprintf(mention, sizeof mention, "<@%s", user);
    struct ethos_view trimmed = view_trim_start(text);
    if (!view_starts(trimmed, view_str(mention)))
        return text;
    struct ethos_view rest = view_trim_start(after(trimmed, '>'));
    return rest.size > 0 && (*rest.data == '!' || *rest.data == '/') ? rest : text;
}

bool slack_message_read(const json_t *event, const char *team, const struct slack_bot *bot,
                        struct slack_message *out)
{
    struct ethos_view type = json_view(event, "type");
    bool mention = view_eq_str(type, "app_mention");
    bool edited = view_eq_str(json_view(event, "subtype"), "message_changed");
    const json_t *message = edited ? json_object_get(event, "message") : event;
    *out = (struct slack_message){0};
    if ((!mention && !view_eq_str(type, "message")) || !is_subtype_answered(message) ||
        json_object_get(message, "bot_id") ||
        (edited ? !json_object_get(message, "edited")
                : json_is_true(json_object_get(event, "hidden"))))
        return false;
    copy_id(event, "channel", out->chat);
    copy_id(message, "thread_ts", out->thread);
    copy_id(message, "ts", out->msg);
    copy_id(message, "user", out->user);
    struct ethos_view text = json_view(message, "text");
    bool files = json_array_size(json_object_get(message, "files")) > 0;
    if (!*out->chat || !*out->msg || !*out->user || strcmp(out->user, bot->user) == 0 ||
        (view_blank(text) && !files))
        return false;
    const char *kind = json_string_value(json_object_get(event, "channel_type"));
    bool direct = kind ? strcmp(kind, "im") == 0 : *out->chat == 'D';
    if (!direct && !*out->thread)
        memcpy(out->thread, out->msg, sizeof out->thread);
    snprintf(out->sender, sizeof out->sender, "%s:%s", *team ? team : bot->team, out->user);
    str_init(&out->text, 4 * (size_t)CHANNEL_MAX_TEXT);
    text.size = utf8_head(text, CHANNEL_MAX_TEXT / 4);
    slack_text_read(skip_mention(text, bot->user), bot, &out->text);
    bool replies = view_eq_str(json_view(message, "parent_user_id"), bot->user);
    out->message = (struct channel_message){.chat = out->chat,
                                            .thread = out->thread,
                                            .msg = out->msg,
                                            .sender = out->sender,
                                            .name = out->user,
                                            .text = out->text.data ? out->text.data : "",
                                            .time_ms = channel_time_ms(strtoll(out->msg, NULL, 10)),
                                            .direct = direct,
                                            .addressed = direct || mention || replies ||
                                                         mentions(text, bot->user),
                                            .edited = edited,
                                            .verified = 1,
                                            .has_files = files};
    return true;
}

/* ---- signatures -------------------------------------------------------------------------------- */

bool slack_is_signed(const char *secret, struct ethos_view timestamp, struct ethos_view signature,
                     struct ethos_view body, int64_t now_ms)
{
    char hash[HASH_HEX_SIZE], number[24];
    struct str text;
    if (!*secret || timestamp.size == 0 || timestamp.size >= sizeof number ||
        !view_starts(signature, VIEW("v0=")))
        return false;
    snprintf(number, sizeof number, "%.*s", VIEW_ARG(timestamp));
    if (strspn(number, "0123456789") != timestamp.size)
        return false;
    int64_t age = now_ms / 1000 - strtoll(number, NULL, 10);
    if (age > SLACK_SIGNED_SECONDS || age < -SLACK_SIGNED_SECONDS)
        return false;
    str_init(&text, body.size + 64);
    str_printf(&text, "v0:%s:", number);
    str_add(&text, body);
    bool made = str_code(&text) == ETHOS_OK;
    hash_hmac_hex(view_str(secret), str_view(&text), hash);
    str_release(&text);
    return made && hash_same_secret(view_from(signature, 3), view_str(hash));
}

/*
 * discord_message.c: what Discord delivers as a message of a channel.
 */
#include "gateway/adapters/discord_message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/view.h"

#define EPOCH_MS 1420070400000 /* of snowflakes */
#define TYPE_DEFAULT 0
#define TYPE_REPLY 19

/* ---- ids --------------------------------------------------------------------------------------- */

static bool is_id(struct ethos_view id)
{
    if (id.size == 0 || id.size >= DISCORD_MAX_ID - 3) // 20 digits at most
        return false;
    for (size_t i = 0; i < id.size; i++)
        if (id.data[i] < '0' || id.data[i] > '9')
            return false;
    return true;
}

static void copy_id(const json_t *object, const char *name, char out[DISCORD_MAX_ID])
{
    struct ethos_view id = json_view(object, name);
    *out = '\0';
    if (is_id(id))
        snprintf(out, DISCORD_MAX_ID, "%.*s", VIEW_ARG(id));
}

int64_t discord_id_ms(const char *id)
{
    return (int64_t)(strtoull(id, NULL, 10) >> 22) + EPOCH_MS;
}

void discord_id_at(int64_t ms, char out[DISCORD_MAX_ID])
{
    uint64_t since = ms > EPOCH_MS ? (uint64_t)(ms - EPOCH_MS) : 0;
    snprintf(out, DISCORD_MAX_ID, "%" PRIu64, since << 22);
}

bool discord_id_is_later(const char *a, const char *b)
{
    return strtoull(a, NULL, 10) > strtoull(b, NULL, 10);
}

/* ---- texts ------------------------------------------------------------------------------------- */

/* The name of somebody who is mentioned; absent: it is not among them. */
static struct ethos_view find_mentioned(const json_t *mentions, struct ethos_view id)
{
    size_t index;
    json_t *user;
    json_array_foreach ((json_t *)mentions, index, user)
        if (view_eq(json_view(user, "id"), id)) {
            struct ethos_view name = json_view(user, "global_name");
            return name.size > 0 ? name : json_view(user, "username");
        }
    return (struct ethos_view){0};
}

static struct ethos_view inside(struct ethos_view text)
{
    const char *end = memchr(text.data, '>', text.size);
    return end ? view_of(text.data + 1, (size_t)(end - text.data) - 1) : (struct ethos_view){0};
}

/* <@1>, <@!1>: a name; <:smile:1>: its name. What is neither stays as it is. Returns how much of the text it was. */
static size_t add_special(struct ethos_view text, const json_t *mentions,
                          const struct discord_bot *bot, struct str *out)
{
    struct ethos_view inner = inside(text);
    struct ethos_view id = view_starts(inner, VIEW("@!"))  ? view_from(inner, 2)
                           : view_starts(inner, VIEW("@")) ? view_from(inner, 1)
                                                           : (struct ethos_view){0};
    struct ethos_view name = is_id(id) && view_eq_str(id, bot->id) ? view_str(bot->name)
                             : is_id(id)                           ? find_mentioned(mentions, id)
                                                                   : (struct ethos_view){0};
    const char *colon = inner.size > 2 ? memrchr(inner.data, ':', inner.size) : NULL;
    if (name.size > 0) {
        str_addc(out, '@');
        str_add(out, name);
        return inner.size + 2;
    }
    if (inner.size > 2 && (*inner.data == ':' || view_starts(inner, VIEW("a:"))) &&
        colon > inner.data + 1) {
        struct ethos_view emoji = view_from(inner, *inner.data == 'a' ? 1 : 0);
        str_add(out, view_of(emoji.data, (size_t)(colon - emoji.data) + 1));
        return inner.size + 2;
    }
    str_addc(out, '<');
    return 1;
}

static void add_text(struct ethos_view text, const json_t *mentions, const struct discord_bot *bot,
                     struct str *out)
{
    while (text.size > 0) {
        const char *at = memchr(text.data, '<', text.size);
        size_t plain = at ? (size_t)(at - text.data) : text.size;
        str_add(out, view_of(text.data, plain));
        text = view_from(text, plain);
        if (text.size > 0)
            text = view_from(text, add_special(text, mentions, bot, out));
    }
}

/* "<@BOT> !help" in a channel is "!help". */
static struct ethos_view skip_mention(struct ethos_view text, const struct discord_bot *bot)
{
    struct ethos_view trimmed = view_trim_start(text);
    if (trimmed.size == 0 || *trimmed.data != '<')
        return text;
    struct ethos_view inner = inside(trimmed);
    struct ethos_view id = view_from(inner, view_starts(inner, VIEW("@!")) ? 2
                                            : inner.size                   ? 1
                                                                           : 0);
    if (!view_starts(inner, VIEW("@")) || !view_eq_str(id, bot->id))
        return text;
    struct ethos_view rest = view_trim_start(view_from(trimmed, inner.size + 2));
    return rest.size > 0 && (*rest.data == '!' || *rest.data == '/') ? rest : text;
}

/* ---- messages ---------------------------------------------------------------------------------- */

static bool is_mentioned(const json_t *json, const struct discord_bot *bot)
{
    size_t index;
    json_t *user;
    json_array_foreach (json_object_get(json, "mentions"), index, user)
        if (view_eq_str(json_view(user, "id"), bot->id))
            return true;
    const json_t *replied = json_object_get(json, "referenced_message");
    return view_eq_str(json_view(json_object_get(replied, "author"), "id"), bot->id);
}

static void copy_name(const json_t *json, struct discord_message *out)
{
    const json_t *author = json_object_get(json, "author");
    struct ethos_view name = json_view(json_object_get(json, "member"), "nick");
    if (name.size == 0)
        name = json_view(author, "global_name");
    if (name.size == 0)
        name = json_view(author, "username");
    name.size = utf8_head(name, CHANNEL_MAX_ID / 4);
    snprintf(out->name, sizeof out->name, "%.*s", (int)name.size, name.data ? name.data : "");
}

bool discord_message_read(const json_t *json, bool edited, const struct discord_bot *bot,
                          struct discord_message *out)
{
    const json_t *author = json_object_get(json, "author");
    int64_t type = json_integer_value(json_object_get(json, "type"));
    struct ethos_view text = json_view(json, "content");
    bool files = json_array_size(json_object_get(json, "attachments")) > 0 ||
                 json_array_size(json_object_get(json, "sticker_items")) > 0;
    *out = (struct discord_message){0};
    copy_id(json, "channel_id", out->chat);
    copy_id(json, "guild_id", out->guild);
    copy_id(json, "id", out->msg);
    copy_id(author, "id", out->sender);
    if (!*out->chat || !*out->msg || !*out->sender || strcmp(out->sender, bot->id) == 0 ||
        (type != TYPE_DEFAULT && type != TYPE_REPLY) || (view_blank(text) && !files) ||
        (edited && !json_is_string(json_object_get(json, "edited_timestamp"))))
        return false;
    bool direct = !*out->guild;
    copy_name(json, out);
    str_init(&out->text, 4 * (size_t)CHANNEL_MAX_TEXT);
    text.size = utf8_head(text, CHANNEL_MAX_TEXT / 4);
    add_text(skip_mention(text, bot), json_object_get(json, "mentions"), bot, &out->text);
    out->message = (struct channel_message){.chat = out->chat,
                                            .space = direct ? NULL : out->guild,
                                            .msg = out->msg,
                                            .sender = out->sender,
                                            .name = out->name,
                                            .text = out->text.data ? out->text.data : "",
                                            .time_ms = discord_id_ms(out->msg),
                                            .direct = direct,
                                            .addressed = direct || is_mentioned(json, bot),
                                            .edited = edited,
                                            .bot = json_is_true(json_object_get(author, "bot")) ||
                                                   json_object_get(json, "webhook_id"),
                                            .verified = 1,
                                            .has_files = files};
    return true;
}

/*
 * people.c: the operations channel.owner, allow, remove and people: who may talk to the agent.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "channel/contacts.h"
#include "channel/platforms.h"
#include "memory/handle.h"
#include "ops/channels/channels.h"
#include "ops/paging.h"

static int check_platform(const char *platform, struct ethos_error *error)
{
    if (channel_platform_find(platform))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_INVALID, "'%s' is not a channel", platform);
    return err_hint(error, code, "there are: " PLATFORM_NAMES);
}

/* ---- the owner --------------------------------------------------------------------------------- */

static json_t *owner_json(const struct channel_platform *platform, const char *code,
                          const char *bot)
{
    char link[512] = "";
    if (platform->owner_link && *bot)
    // a format of the table, for two strings
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(link, sizeof link, platform->owner_link, bot, code);
#pragma GCC diagnostic pop
    return json_pack("{s:s, s:o}", "code", code, "link", op_json_string(*link ? link : NULL));
}

int channel_owner_run(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct channel_db *db;
    char code_text[CODE_SIZE], bot[CHANNEL_MAX_CURSOR] = "";
    const char *name = op_string(call, "platform");
    int code = check_platform(name, error);
    if (code != ETHOS_OK)
        return code;
    if (call->dry_run) // a dry run creates no code
        return op_return(result, json_object(), error);
    code = channels_open(call, true, &db, error);
    if (code == ETHOS_OK)
        code = code_make(db, CODE_OWNER, name, "", service_now_ms(call->ethos), code_text, error);
    if (code == ETHOS_OK)
        code = channel_db_cursor_read(db, name, "name", bot, error);
    channels_close(call, db);
    return code == ETHOS_OK
               ? op_return(result, owner_json(channel_platform_find(name), code_text, bot), error)
               : code;
}

/* ---- allowing ---------------------------------------------------------------------------------- */

static json_t *contact_json(const struct contact *contact)
{
    char since[CLOCK_ISO_SIZE];
    clock_iso(contact->since_ms, since);
    return json_pack("{s:s, s:s, s:o, s:s, s:s}", "platform", contact->platform, "sender",
                     contact->sender, "name", json_text(view_str(contact->name)), "role",
                     contact->role, "since", since);
}

/* Admits a sender by pairing code, or by platform and sender id. */
static int admit_sender(struct op_call *call, struct channel_db *db, struct contact *out,
                        struct ethos_error *error)
{
    char code_text[CODE_SIZE];
    const char *code = op_string(call, "code"), *role = op_string(call, "role");
    const char *platform = op_string(call, "platform"), *sender = op_string(call, "sender");
    role = role ? role : ROLE_GUEST;
    if (!code && platform && sender)
        return contact_admit(db, platform, sender, role, service_now_ms(call->ethos), out, error);
    if (!code || platform || sender) {
        int result = err_set(error, ETHOS_INVALID, "give a code, or a platform and a sender");
        return err_hint(error, result, "ethos gateway people lists who is waiting");
    }
    if (!code_parse(view_str(code), code_text))
        return err_set(error, ETHOS_INVALID,
                       "'%.40s' is not a code: it has eight letters and digits", code);
    return contact_allow(db, code_text, role, service_now_ms(call->ethos), out, error);
}

int channel_allow_run(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct channel_db *db;
    struct contact contact;
    int code = channels_open(call, false, &db, error);
    if (code == ETHOS_OK)
        code = admit_sender(call, db, &contact, error);
    channels_close(call, db);
    return code == ETHOS_OK
               ? op_return(result, json_pack("{s:o}", "contact", contact_json(&contact)), error)
               : code;
}

int channel_remove_run(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct channel_db *db;
    const char *platform = op_string(call, "platform"), *sender = op_string(call, "sender");
    int code = channels_open(call, false, &db, error);
    if (code == ETHOS_OK)
        code = contact_remove(db, platform, sender, error);
    channels_close(call, db);
    return code == ETHOS_OK ? op_return(result,
                                        json_pack("{s:b, s:s, s:s}", "ok", 1, "platform", platform,
                                                  "sender", sender),
                                        error)
                            : code;
}

/* ---- people ------------------------------------------------------------------------------------ */

struct people_rows {
    struct identity_map map;
    char local[ETHOS_MAX_ID + 1];
    json_t *rows, *waiting;
};

/* Adds a contact with its user. Several accounts may belong to one user. */
static int add_contact(void *arg, const struct contact *contact)
{
    struct people_rows *people = arg;
    char user[ETHOS_MAX_ID + 1] = "";
    bool known;
    json_t *row = contact_json(contact);
    identity_resolve(&people->map, contact->platform, contact->sender, user, &known, NULL);
    op_json_put(&row, "userId", op_json_string(*user ? user : NULL));
    op_json_put(&row, "local", json_boolean(*user && strcmp(user, people->local) == 0));
    op_json_push(&people->rows, row);
    return ETHOS_OK;
}

static int add_waiting(void *arg, const struct contact_waiting *waiting)
{
    struct people_rows *people = arg;
    char since[CLOCK_ISO_SIZE], until[CLOCK_ISO_SIZE];
    clock_iso(waiting->since_ms, since);
    clock_iso(waiting->since_ms + CODE_MS, until);
    op_json_push(&people->waiting,
                 json_pack("{s:s, s:s, s:o, s:s, s:s, s:s}", "platform", waiting->contact.platform,
                           "sender", waiting->contact.sender, "name",
                           json_text(view_str(waiting->contact.name)), "begins", waiting->begins,
                           "since", since, "until", until));
    return ETHOS_OK;
}

static int load_identities(struct op_call *call, struct people_rows *people,
                           struct ethos_error *error)
{
    CLEANUP_FD int root = -1;
    TRY(service_local_user(call->ethos, people->local, error));
    TRY(service_open_root(call->ethos, false, &root, error));
    return identity_load(root, &people->map, error);
}

static int list_people(struct op_call *call, struct channel_db *db, struct people_rows *people,
                       struct ethos_error *error)
{
    int code = load_identities(call, people, error);
    if (code != ETHOS_OK)
        return code;
    code = contact_each(db, add_contact, people, error);
    if (code == ETHOS_OK)
        code = contact_each_waiting(db, service_now_ms(call->ethos), add_waiting, people, error);
    identity_release(&people->map);
    return code;
}

int channel_people_run(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct channel_db *db;
    struct people_rows people = {.rows = json_array(), .waiting = json_array()};
    int code = channels_open_to_list(call, &db, error);
    if (code == ETHOS_OK && db)
        code = list_people(call, db, &people, error);
    channels_close(call, db);
    json_t *json = json_pack("{s:o, s:o}", "people", people.rows, "waiting", people.waiting);
    if (code == ETHOS_OK)
        code = pages_cut(call, &json, "people", "platform sender", PAGES_ROWS, error);
    if (code == ETHOS_OK)
        return op_return(result, json, error);
    json_decref(json);
    return code;
}

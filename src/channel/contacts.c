/*
 * contacts.c: who may talk, and codes.
 */
#include "channel/contacts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/view.h"
#include "channel/outbox.h"

#define LETTERS "ABCDEFGHJKLMNPQRSTUVWXYZ23456789" /* 32; none looks like another */
#define COLUMNS "platform,sender,name,role,adapter,chat,since_ms,told_ms,tries,tries_ms"

/* ---- contacts ---------------------------------------------------------------------------------- */

static void read_contact_row(sqlite3_stmt *statement, struct contact *out)
{
    *out = (struct contact){.since_ms = sqlite3_column_int64(statement, 6),
                            .told_ms = sqlite3_column_int64(statement, 7),
                            .tries = sqlite3_column_int64(statement, 8),
                            .tries_ms = sqlite3_column_int64(statement, 9)};
    channel_db_copy_text(statement, 0, out->platform, sizeof out->platform);
    channel_db_copy_text(statement, 1, out->sender, sizeof out->sender);
    channel_db_copy_text(statement, 2, out->name, sizeof out->name);
    channel_db_copy_text(statement, 3, out->role, sizeof out->role);
    channel_db_copy_text(statement, 4, out->adapter, sizeof out->adapter);
    channel_db_copy_text(statement, 5, out->chat, sizeof out->chat);
}

static int read_one_contact(struct channel_db *db, int code, sqlite3_stmt *statement,
                            struct contact *out, struct ethos_error *error)
{
    int result = code == ETHOS_OK ? channel_db_step(db, statement, error) : code;
    if (result == SQLITE_ROW)
        read_contact_row(statement, out);
    sqlite3_finalize(statement);
    if (result == SQLITE_DONE)
        return err_set(error, ETHOS_NOTFOUND, "nobody of that name may talk");
    return result < 0 ? result : ETHOS_OK;
}

int contact_read(struct channel_db *db, const char *platform, const char *sender,
                 struct contact *out, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = channel_db_prepare(db, &statement, error,
                                  "SELECT " COLUMNS " FROM contact WHERE platform=?1 AND sender=?2",
                                  "tt", platform, sender);
    return read_one_contact(db, code, statement, out, error);
}

int contact_find_owner(struct channel_db *db, const char *platform, struct contact *out,
                       struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = channel_db_prepare(db, &statement, error,
                                  "SELECT " COLUMNS " FROM contact WHERE role='owner' AND chat<>''"
                                  " ORDER BY platform=?1 DESC,since_ms LIMIT 1",
                                  "t", platform);
    return read_one_contact(db, code, statement, out, error);
}

int contact_store(struct channel_db *db, const struct contact *contact, struct ethos_error *error)
{
    return channel_db_run(
        db, NULL, error,
        "INSERT INTO contact(" COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"
        " ON CONFLICT DO UPDATE SET name=excluded.name,role=excluded.role,"
        "adapter=CASE excluded.chat WHEN '' THEN adapter ELSE excluded.adapter END,"
        "chat=CASE excluded.chat WHEN '' THEN chat ELSE excluded.chat END,"
        "told_ms=excluded.told_ms,tries=excluded.tries,tries_ms=excluded.tries_ms",
        "ttttttiiii", contact->platform, contact->sender, contact->name, contact->role,
        contact->adapter, contact->chat, contact->since_ms, contact->told_ms, contact->tries,
        contact->tries_ms);
}

int contact_set_role(struct channel_db *db, const char *platform, const char *sender,
                     const char *role, struct ethos_error *error)
{
    int64_t changed = 0;
    int code = channel_db_run(db, &changed, error,
                              "UPDATE contact SET role=?3,tries=0 WHERE platform=?1 AND sender=?2",
                              "ttt", platform, sender, role);
    if (code == ETHOS_OK && changed == 0)
        return err_set(error, ETHOS_NOTFOUND, "%s %s has never written", platform, sender);
    return code;
}

int contact_each(struct channel_db *db, contact_each_fn *each, void *arg, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = channel_db_prepare(db, &statement, error,
                                    "SELECT " COLUMNS " FROM contact WHERE role<>''"
                                    " ORDER BY platform,since_ms",
                                    "");
    while (result >= 0 && (result = channel_db_step(db, statement, error)) == SQLITE_ROW) {
        struct contact contact;
        read_contact_row(statement, &contact);
        int code = each(arg, &contact);
        if (code != ETHOS_OK) {
            result = code;
            break;
        }
    }
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}

/* ---- codes ------------------------------------------------------------------------------------- */

bool code_parse(struct ethos_view text, char out[CODE_SIZE])
{
    text = view_trim(text);
    if (text.size != CODE_SIZE - 1)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        out[i] = (char)toupper((unsigned char)text.data[i]);
        if (!strchr(LETTERS, out[i]) || !out[i])
            return false;
    }
    out[CODE_SIZE - 1] = '\0';
    return true;
}

static int count_open_codes(struct channel_db *db, const char *platform, int64_t now_ms,
                            int64_t *out, struct ethos_error *error)
{
    return channel_db_number(db, 0, out, error,
                             "SELECT count(*) FROM code WHERE purpose='" CODE_PAIR
                             "' AND platform=?1 AND created_ms>?2",
                             "ti", platform, now_ms - CODE_MS);
}

int code_make(struct channel_db *db, const char *purpose, const char *platform, const char *sender,
              int64_t now_ms, char out[CODE_SIZE], struct ethos_error *error)
{
    unsigned char random[CODE_SIZE - 1];
    char hash[HASH_HEX_SIZE];
    int64_t open = 0;
    int code = strcmp(purpose, CODE_PAIR) == 0
                   ? count_open_codes(db, platform, now_ms, &open, error)
                   : ETHOS_OK;
    if (code == ETHOS_OK && open >= CODE_MAX_OPEN)
        return err_set(error, ETHOS_LIMIT, "%d codes of %s are open", CODE_MAX_OPEN, platform);
    if (code == ETHOS_OK && os_random(random, sizeof random) != 0)
        return err_errno(error, errno, "random numbers");
    if (code == ETHOS_OK)
        code = channel_db_run(db, NULL, error,
                              "DELETE FROM code WHERE purpose=?1 AND platform=?2 AND sender=?3",
                              "ttt", purpose, platform, sender);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; i < sizeof random; i++)
        out[i] = LETTERS[random[i] % 32];
    out[CODE_SIZE - 1] = '\0';
    hash_hex(view_str(out), hash);
    size_t shown = strcmp(purpose, CODE_PAIR) == 0 ? CODE_SHOWN : 0;
    return channel_db_run(db, NULL, error,
                          "INSERT INTO code(hash,purpose,platform,sender,created_ms,begins)"
                          " VALUES(?1,?2,?3,?4,?5,?6)",
                          "ttttiv", hash, purpose, platform, sender, now_ms, view_of(out, shown));
}

int code_find(struct channel_db *db, const char *purpose, const char *code, int64_t now_ms,
              bool use, char out_platform[CHANNEL_MAX_NAME], char out_sender[CHANNEL_MAX_ID],
              struct ethos_error *error)
{
    char hash[HASH_HEX_SIZE];
    sqlite3_stmt *statement = NULL;
    hash_hex(view_str(code), hash);
    int result = channel_db_prepare(db, &statement, error,
                                    "SELECT platform,sender FROM code WHERE hash=?1 AND purpose=?2"
                                    " AND created_ms>?3",
                                    "tti", hash, purpose, now_ms - CODE_MS);
    if (result == ETHOS_OK)
        result = channel_db_step(db, statement, error);
    if (result == SQLITE_ROW) {
        channel_db_copy_text(statement, 0, out_platform, CHANNEL_MAX_NAME);
        channel_db_copy_text(statement, 1, out_sender, CHANNEL_MAX_ID);
    }
    sqlite3_finalize(statement);
    if (result < 0)
        return result;
    if (result == SQLITE_DONE)
        return err_hint(error, err_set(error, ETHOS_NOTFOUND, "%s is not a valid code", code),
                        "codes end after an hour; ask for a new one");
    return use ? channel_db_run(db, NULL, error, "DELETE FROM code WHERE hash=?1", "t", hash)
               : ETHOS_OK;
}

static int delete_pair_codes(struct channel_db *db, const char *platform, const char *sender,
                             struct ethos_error *error)
{
    return channel_db_run(db, NULL, error,
                          "DELETE FROM code WHERE purpose='" CODE_PAIR
                          "' AND platform=?1 AND sender=?2",
                          "tt", platform, sender);
}

static int queue_welcome(struct channel_db *db, const struct contact *contact, int64_t now_ms,
                         struct ethos_error *error)
{
    char name[OUTBOX_MAX_TURN];
    snprintf(name, sizeof name, "welcome:%lld:%.40s", (long long)now_ms, contact->sender);
    bool guest = strcmp(contact->role, ROLE_GUEST) == 0;
    const struct outbox_entry entry = {
        .turn = name,
        .part = 1,
        .adapter = contact->adapter,
        .chat = contact->chat,
        .direct = true,
        .final = true,
        .text = guest ? VIEW("You may talk now. What you say is kept in this conversation alone. "
                             "/help lists the commands.")
                      : VIEW("You may talk now. /help lists the commands."),
        .now_ms = now_ms};
    return *contact->chat ? outbox_add(db, &entry, error) : ETHOS_OK;
}

int contact_admit(struct channel_db *db, const char *platform, const char *sender, const char *role,
                  int64_t now_ms, struct contact *out, struct ethos_error *error)
{
    struct contact before;
    int code = channel_db_begin(db, error);
    if (code != ETHOS_OK)
        return code;
    code = contact_read(db, platform, sender, &before, error);
    if (code == ETHOS_NOTFOUND)
        err_set(error, code, "%s %s has never written", platform, sender);
    if (code == ETHOS_OK && strcmp(before.role, ROLE_OWNER) == 0)
        code = err_set(error, ETHOS_INVALID, "%s %s is an owner, and stays one", platform, sender);
    if (code == ETHOS_OK)
        code = contact_set_role(db, platform, sender, role, error);
    if (code == ETHOS_OK)
        code = delete_pair_codes(db, platform, sender, error);
    if (code == ETHOS_OK)
        code = contact_read(db, platform, sender, out, error);
    if (code == ETHOS_OK && !*before.role)
        code = queue_welcome(db, out, now_ms, error);
    return channel_db_end(db, code, error);
}

int contact_allow(struct channel_db *db, const char *code, const char *role, int64_t now_ms,
                  struct contact *out, struct ethos_error *error)
{
    char platform[CHANNEL_MAX_NAME], sender[CHANNEL_MAX_ID];
    int result = channel_db_begin(db, error);
    if (result != ETHOS_OK)
        return result;
    result = code_find(db, CODE_PAIR, code, now_ms, true, platform, sender, error);
    if (result == ETHOS_OK)
        result = contact_admit(db, platform, sender, role, now_ms, out, error);
    return channel_db_end(db, result, error);
}

int contact_remove(struct channel_db *db, const char *platform, const char *sender,
                   struct ethos_error *error)
{
    int code = channel_db_begin(db, error);
    if (code != ETHOS_OK)
        return code;
    code = contact_set_role(db, platform, sender, ROLE_NONE, error);
    if (code == ETHOS_OK)
        code = delete_pair_codes(db, platform, sender, error);
    return channel_db_end(db, code, error);
}

int contact_each_waiting(struct channel_db *db, int64_t now_ms, contact_waiting_fn *each, void *arg,
                         struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = channel_db_prepare(
        db, &statement, error,
        "SELECT contact.platform,contact.sender,name,role,adapter,chat,since_ms,told_ms,tries,"
        "tries_ms,begins,created_ms FROM code JOIN contact USING(platform,sender)"
        " WHERE purpose='" CODE_PAIR "' AND role='' AND created_ms>?1 ORDER BY created_ms",
        "i", now_ms - CODE_MS);
    while (result >= 0 && (result = channel_db_step(db, statement, error)) == SQLITE_ROW) {
        struct contact_waiting waiting = {.since_ms = sqlite3_column_int64(statement, 11)};
        read_contact_row(statement, &waiting.contact);
        channel_db_copy_text(statement, 10, waiting.begins, sizeof waiting.begins);
        int code = each(arg, &waiting);
        if (code != ETHOS_OK) {
            result = code;
            break;
        }
    }
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}

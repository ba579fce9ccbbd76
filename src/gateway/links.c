/*
 * links.c: two identities become one person.
 *
 * Who has two accounts says /link in one, and /link CODE in the other; both see what would be done, and it is done
 * when both have said /link yes. The profile of the second is added to that of the first, unless the second is the
 * person at this machine, who keeps the name.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "gateway/internal.h"
#include "ops/op.h"

#define MAX_PREVIEW 4096 /* bytes that are shown of what would be merged */

/* An identity that asks, and one that is asked about. */
struct identity_link {
    int64_t id;
    char a_platform[CHANNEL_MAX_NAME], a_sender[CHANNEL_MAX_ID];
    char b_platform[CHANNEL_MAX_NAME], b_sender[CHANNEL_MAX_ID];
    char confirmed[8];
};

/* ---- the identity map -------------------------------------------------------------------------- */

/* Takes args. Release the result in any case. */
static int run_user_operation(struct ethos *ethos, const char *name, json_t *args, bool dry_run,
                              struct op_result *result, struct ethos_error *error)
{
    const struct ethos_request request = {.workspace = ""};
    struct op_call call = {.ethos = ethos,
                           .request = &request,
                           .args = args,
                           .want_json = true,
                           .dry_run = dry_run,
                           .via = "channel"};
    op_result_init(result);
    int code = args ? op_run(op_find(name), &call, result, error) : err_nomem(error);
    json_decref(args);
    return code;
}

static int find_local_user(struct ethos *ethos, char out[ETHOS_MAX_ID + 1],
                           struct ethos_error *error)
{
    struct op_result result;
    int code = run_user_operation(ethos, "users.list", json_object(), true, &result, error);
    snprintf(out, ETHOS_MAX_ID + 1, "%.*s", VIEW_ARG(json_view(result.json, "localUserId")));
    op_result_release(&result);
    return code;
}

static int find_user(struct ethos *ethos, const char *platform, const char *sender,
                     char out[ETHOS_MAX_ID + 1], struct ethos_error *error)
{
    struct op_result result;
    int code = run_user_operation(
        ethos, "users.resolve",
        json_pack("{s:s, s:s}", "platform", platform, "platformUserId", sender), false, &result,
        error);
    snprintf(out, ETHOS_MAX_ID + 1, "%.*s", VIEW_ARG(json_view(result.json, "userId")));
    op_result_release(&result);
    return code;
}

int link_owner(struct ethos *ethos, const char *platform, const char *sender,
               struct ethos_error *error)
{
    char user[ETHOS_MAX_ID + 1];
    struct op_result result;
    int code = find_local_user(ethos, user, error);
    if (code != ETHOS_OK)
        return code;
    code = run_user_operation(ethos, "users.link",
                              json_pack("{s:s, s:s, s:s, s:b}", "platform", platform,
                                        "platformUserId", sender, "userId", user, "merge", 1),
                              false, &result, error);
    op_result_release(&result);
    return code;
}

/* The lines of a diff that are added to a profile; the map's own diff comes after them. */
static void add_merged_lines(struct ethos_view diff, struct str *out)
{
    struct ethos_view line;
    while (view_line(&diff, &line)) {
        if (view_starts(line, VIEW("+++ ")) && view_contains(line, VIEW("identity-map.json")))
            return;
        if (line.size > 1 && *line.data == '+' && !view_starts(line, VIEW("+++ ")))
            str_printf(out, "\n%.*s", VIEW_ARG(line));
    }
}

/* Links b to the person that a is; preview: what would be added to the profile. */
static int join_identities(struct gateway *self, const struct identity_link *link,
                           struct str *preview, struct ethos_error *error)
{
    char user[ETHOS_MAX_ID + 1], other[ETHOS_MAX_ID + 1], local[ETHOS_MAX_ID + 1];
    struct op_result result;
    int code = find_user(self->ethos, link->a_platform, link->a_sender, user, error);
    if (code == ETHOS_OK)
        code = find_user(self->ethos, link->b_platform, link->b_sender, other, error);
    if (code == ETHOS_OK)
        code = find_local_user(self->ethos, local, error);
    if (code != ETHOS_OK)
        return code;
    bool swaps = strcmp(other, local) == 0;
    code = run_user_operation(self->ethos, "users.link",
                              json_pack("{s:s, s:s, s:s, s:b}", "platform",
                                        swaps ? link->a_platform : link->b_platform,
                                        "platformUserId", swaps ? link->a_sender : link->b_sender,
                                        "userId", swaps ? other : user, "merge", 1),
                              preview, &result, error);
    if (code == ETHOS_OK && preview)
        add_merged_lines(str_view(&result.text), preview);
    op_result_release(&result);
    return code;
}

/* ---- the two ----------------------------------------------------------------------------------- */

static int read_link(struct gateway *self, const struct inbox_row *row, struct identity_link *out,
                     struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = channel_db_prepare(
        self->db, &statement, error,
        "SELECT id,a_platform,a_sender,b_platform,b_sender,confirmed FROM link"
        " WHERE ((a_platform=?1 AND a_sender=?2) OR (b_platform=?1 AND b_sender=?2))"
        " AND created_ms>?3 ORDER BY id DESC LIMIT 1",
        "tti", row->adapter, row->sender, self->now_ms - CODE_MS);
    *out = (struct identity_link){0};
    if (result == ETHOS_OK)
        result = channel_db_step(self->db, statement, error);
    if (result == SQLITE_ROW) {
        char *const texts[] = {out->a_platform, out->a_sender, out->b_platform, out->b_sender,
                               out->confirmed};
        const size_t sizes[] = {sizeof out->a_platform, sizeof out->a_sender,
                                sizeof out->b_platform, sizeof out->b_sender,
                                sizeof out->confirmed};
        out->id = sqlite3_column_int64(statement, 0);
        for (int i = 0; i < 5; i++)
            snprintf(texts[i], sizes[i], "%s", channel_db_text(statement, i + 1));
    }
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}

/* A line in the direct chat of an identity. */
static void notify_identity(struct gateway *self, const struct identity_link *link, bool to_a,
                            const char *kind, const char *text)
{
    char name[OUTBOX_MAX_TURN];
    struct contact contact;
    if (contact_read(self->db, to_a ? link->a_platform : link->b_platform,
                     to_a ? link->a_sender : link->b_sender, &contact, NULL) != ETHOS_OK ||
        !*contact.chat)
        return;
    const struct channel_place place = {
        .adapter = contact.adapter, .chat = contact.chat, .thread = "", .direct = true};
    snprintf(name, sizeof name, "link:%s:%lld:%d", kind, (long long)link->id, to_a);
    gateway_queue_line(self, &place, name, view_str(text), NULL);
}

static int offer_link_code(struct gateway *self, const struct inbox_row *row, struct str *out,
                           struct ethos_error *error)
{
    char code[CODE_SIZE];
    int result = code_make(self->db, CODE_LINK, row->adapter, row->sender, self->now_ms, code,
                           error);
    if (result == ETHOS_OK)
        str_printf(out, "Say this in your other account, within an hour: /link %s", code);
    return result;
}

static int propose_link(struct gateway *self, const struct inbox_row *row, const char *code,
                        struct str *out, struct ethos_error *error)
{
    char line[1024];
    struct identity_link link = {0};
    struct str preview;
    int result = code_find(self->db, CODE_LINK, code, self->now_ms, true, link.a_platform,
                           link.a_sender, error);
    snprintf(link.b_platform, sizeof link.b_platform, "%s", row->adapter);
    snprintf(link.b_sender, sizeof link.b_sender, "%s", row->sender);
    if (result != ETHOS_OK)
        return result;
    if (strcmp(link.a_platform, link.b_platform) == 0 && strcmp(link.a_sender, link.b_sender) == 0)
        return err_set(error, ETHOS_INVALID, "that is this account; say it in the other one");
    str_init(&preview, ETHOS_MAX_STORE_BYTES);
    result = join_identities(self, &link, &preview, error);
    if (result == ETHOS_OK)
        result = channel_db_run(self->db, NULL, error,
                                "INSERT INTO link(a_platform,a_sender,b_platform,b_sender,"
                                "confirmed,created_ms) VALUES(?1,?2,?3,?4,'',?5)",
                                "tttti", link.a_platform, link.a_sender, link.b_platform,
                                link.b_sender, self->now_ms);
    if (result == ETHOS_OK) {
        link.id = channel_db_last_id(self->db);
        str_printf(out, "This account and %s %s become one person, with one profile.%s%.*s\n",
                   link.a_platform, link.a_sender,
                   preview.size > 0 ? " These lines are added to it:" : "",
                   (int)(preview.size < MAX_PREVIEW ? preview.size : MAX_PREVIEW), preview.data);
        str_adds(out, "Say /link yes here and in the other account to do it.");
        snprintf(line, sizeof line,
                 "The account %s %s (%s) and this one would become one person, with one profile. "
                 "If both are yours, say /link yes here and there.",
                 link.b_platform, link.b_sender, row->name);
        notify_identity(self, &link, true, "preview", line);
    }
    str_release(&preview);
    return result;
}

static int confirm_link(struct gateway *self, const struct inbox_row *row, struct str *out,
                        struct ethos_error *error)
{
    struct identity_link link;
    int code = read_link(self, row, &link, error);
    if (code != ETHOS_OK)
        return code;
    if (link.id == 0) {
        str_adds(out, "There is nothing to confirm. /link begins.");
        return ETHOS_OK;
    }
    bool is_a = strcmp(link.a_platform, row->adapter) == 0 &&
                strcmp(link.a_sender, row->sender) == 0;
    bool both = strchr(link.confirmed, is_a ? 'b' : 'a') != NULL;
    if (both)
        code = join_identities(self, &link, NULL, error);
    if (code == ETHOS_OK && both)
        code = channel_db_run(self->db, NULL, error, "DELETE FROM link WHERE id=?1", "i", link.id);
    else if (code == ETHOS_OK)
        code = channel_db_run(self->db, NULL, error, "UPDATE link SET confirmed=?2 WHERE id=?1",
                              "it", link.id, is_a ? "a" : "b");
    if (code != ETHOS_OK)
        return code;
    str_adds(out, both ? "Done: both accounts are one person now."
                       : "Noted. Say /link yes in the other account, too.");
    if (both)
        notify_identity(self, &link, !is_a, "done", "Done: both accounts are one person now.");
    return ETHOS_OK;
}

int link_answer(struct gateway *self, const struct inbox_row *row, struct ethos_view rest,
                struct str *out, struct ethos_error *error)
{
    char code[CODE_SIZE];
    if (!row->direct) {
        str_adds(out, "Say it between the two of us, not in a group.");
        return ETHOS_OK;
    }
    if (rest.size == 0)
        return offer_link_code(self, row, out, error);
    if (view_eq_nocase(rest, VIEW("yes")))
        return confirm_link(self, row, out, error);
    if (code_parse(rest, code))
        return propose_link(self, row, code, out, error);
    str_adds(out, "/link begins, /link CODE goes on in the other account.");
    return ETHOS_OK;
}

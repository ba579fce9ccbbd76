/*
 * test_limited_keys.c: a key that is limited to a personality, a user and a workspace, and every operation of the table,
 * asked for others in every way that its arguments allow: no byte of theirs in an answer, no change of theirs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/view.h"
#include "http/http.h"
#include "ops/tables.h"
#include "raw_client.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define CANARY "XYZZY" /* in every text of others; never asked for */
#define WORD "swordfish"
#define SCOPES "memory:read memory:write sessions:read sessions:write personalities:read chat:send"

const struct http_parts http_parts;
const struct op *const op_tables[] = {OP_TABLES, ops_markdown, NULL};

static char own_workspace[128], other_workspace[128], other_session[64], own_session[64];
static char their_session[64];
static char key[128], personality_key[128];

/* ---- the home ---------------------------------------------------------------------------------- */

static void run(const char *const *args, char *out, size_t size)
{
    char text[8192];
    assert_int_equal(drive_run(&drive, args, out ? out : text, out ? size : sizeof text), 0);
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL}, NULL, 0)

static void make_workspace(const char *name, const char *text, char id[128])
{
    char path[320], out[4096];
    snprintf(path, sizeof path, "%s-%s", drive.home, name);
    mkdir(path, 0700);
    RUN("-q", "-w", path, "remember", text, "--title", "deploy");
    run((const char *const[]){"--json", "-w", path, "workspaces", "where", NULL}, out, sizeof out);
    const char *at = strstr(out, "\"id\":\"");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"id\":\"%127[^\"]", id), 1);
}

static void make_session(const char *personality, const char *user, const char *text, char id[64])
{
    char path[320], out[4096];
    const char *option = user ? "-u" : "-p", *value = user ? user : personality;
    snprintf(path, sizeof path, "%s-%s", drive.home, personality);
    mkdir(path, 0700);
    RUN("-q", "-p", personality, option, value, "-w", path, "sessions", "append", text);
    run((const char *const[]){"-p", personality, option, value, "-w", path, "sessions", "current",
                              NULL},
        out, sizeof out);
    assert_int_equal(sscanf(out, "%63s", id), 1);
}

static void limited_key(const char *const *only, char out[128])
{
    char json[2048], names[256];
    const char *args[40] = {"--json", "api-key", "create", "limited"};
    size_t count = 4;
    snprintf(names, sizeof names, "%s", SCOPES);
    char *rest = names, *name;
    while ((name = strsep(&rest, " "))) {
        args[count++] = "--scope";
        args[count++] = name;
    }
    for (; *only; only++) {
        args[count++] = "--only";
        args[count++] = *only;
    }
    assert_int_equal(drive_run(&drive, args, json, sizeof json), 0);
    assert_non_null(strstr(json, "sk-ethos-"));
    snprintf(out, 128, "%.73s", strstr(json, "sk-ethos-"));
}

static int start(void **state)
{
    char limit[160];
    drive_group_start(state);
    RUN("-q", "personality", "create", "own", "--description", "Mine");
    RUN("-q", "personality", "create", "other", "--description", CANARY);
    RUN("-q", "-p", "own", "memory", "add", "Mine: " WORD);
    RUN("-q", "-p", "own", "-u", "me", "memory", "add", "--store", "user", "My profile");
    RUN("-q", "-p", "other", "memory", "add", CANARY " " WORD);
    RUN("-q", "-p", "own", "-u", "them", "memory", "add", "--store", "user", CANARY " " WORD);
    RUN("-q", "memory", "add", "--scope", "global", "--key", "MEMORY.md", CANARY " " WORD);
    RUN("-q", "remember", CANARY " " WORD, "--title", "shared", "--scope", "global", "--hook",
        CANARY " " WORD);
    RUN("-q", "memory", "add", CANARY " " WORD); // of the active personality
    make_workspace("mine", "Mine " WORD, own_workspace);
    make_workspace("theirs", CANARY " " WORD, other_workspace);
    make_session("own", NULL, "Mine " WORD, own_session);
    make_session("other", NULL, CANARY " " WORD, other_session);
    make_session("own", "them", CANARY " " WORD, their_session);
    RUN("-q", "-p", "own", "-u", "them", "memory", "add", "Ours: " WORD);
    snprintf(limit, sizeof limit, "workspace:%s", own_workspace);
    limited_key((const char *const[]){"personality:own", "user:me", limit, NULL}, key);
    limited_key((const char *const[]){"personality:own", NULL}, personality_key);
    return 0;
}

/* What others have, as one text. */
static void picture(char out[65536])
{
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && find personalities/other personalities/default users/them global "
             "workspaces/%s MEMORY.md -type f 2>/dev/null | sort | xargs sha256sum",
             drive.home, other_workspace);
    FILE *pipe = popen(command, "r");
    size_t size = fread(out, 1, 65535, pipe);
    out[size] = 0;
    pclose(pipe);
    assert_true(size > 100);
}

/* ---- requests ---------------------------------------------------------------------------------- */

static int ask_as(const char *with, const char *name, json_t *input, char **body)
{
    struct reply reply;
    char path[128];
    json_t *whole = json_pack("{s:o}", "json", input);
    char *text = json_dumps(whole, JSON_COMPACT);
    snprintf(path, sizeof path, "%s", name);
    for (char *dot = path; (dot = strchr(dot, '.'));)
        *dot = '/';
    drive_ask(&drive, &reply,
              "POST /rpc/%s HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n"
              "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
              path, drive.port, with, strlen(text), text);
    free(text);
    json_decref(whole);
    if (body)
        *body = strdup(reply.body ? reply.body : "");
    if (reply.body && strstr(reply.body, CANARY))
        fail_msg("%s tells of others: %s", name, reply.body);
    if (reply.status == 0 || reply.status >= 500)
        fail_msg("%s: %d %s", name, reply.status, reply.body ? reply.body : "");
    raw_reply_release(&reply);
    return reply.status;
}

static const char *value_for(const struct op_arg *arg)
{
    static const char *const values[][2] = {
        {"query", WORD},
        {"substringMatch", WORD},
        {"id", "other"},
        {"name", "deploy"},
        {"newName", "deploy2"},
        {"since", "7d"},
        {"olderThan", "1d"},
        {"content", "changed"},
        {"input", "{\"command\":\"view\",\"path\":\"/memories\"}"},
        {"updates", "[{\"action\":\"add\",\"content\":\"x\"}]"},
        {"revision", "1"}};
    for (size_t i = 0; i < COUNT(values); i++)
        if (strcmp(values[i][0], arg->name) == 0)
            return values[i][1];
    return "x";
}

/* Arguments that an operation needs, and whatever helps it to reach far. */
static json_t *arguments(const struct op *op)
{
    json_t *input = json_object();
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        bool far = strcmp(arg->name, "all") == 0 || strcmp(arg->name, "diff") == 0;
        if (!(arg->flags & OP_REQUIRED) && !far)
            continue;
        json_t *value = arg->type == OP_INTEGER ? json_integer(1)
                        : arg->type == OP_FLAG  ? json_true()
                        : arg->type == OP_CHOICE
                            ? json_stringn(arg->choices, strcspn(arg->choices, "|"))
                            : json_string(value_for(arg));
        if (arg->flags & OP_MANY)
            value = json_pack("[o]", value);
        json_object_set_new(input, arg->name, value);
    }
    return input;
}

/* Whom a request is for, or what it names: others. */
static const struct way {
    const char *name, *value;
} ways[] = {
    {"personalityId", "other"},
    {"userId", "them"},
    {"workspaceId", other_workspace},
    {"scope", "personality:other"},
    {"scope", "personality:default"},
    {"scope", "user:them"},
    {"scope", "global"},
    {"scope", "memories:personality:other"},
    {"personality", "other"},
    {"user", "them"},
    {"id", "other"},
    {"id", "them"},
    {"id", other_session},
    {"session", other_session},
    {"sessionId", other_session},
    {"updates", "[{\"action\":\"add\",\"scope\":\"personality:other\",\"key\":\"MEMORY.md\","
                "\"content\":\"x\"}]"},
    {"updates", "{\"updates\":[{\"action\":\"replace\",\"scope\":\"user:them\",\"key\":\"USER.md\","
                "\"content\":\"x\"}]}"},
    {"updates", "[{\"action\":\"add\",\"scope\":\"global\",\"key\":\"MEMORY.md\","
                "\"content\":\"x\"}]"},
};

/* ---- tests ------------------------------------------------------------------------------------- */

/* Users and workspaces are open to a key that is limited to a personality alone. */
static bool is_open(const struct way *way)
{
    return strstr(way->name, "user") || strstr(way->name, "workspace") ||
           strstr(way->value, "them");
}

static void try_op(const struct op *op)
{
    ask_as(key, op->name, arguments(op), NULL);
    for (size_t i = 0; i < COUNT(ways); i++) {
        json_t *input = arguments(op);
        json_object_set_new(input, ways[i].name, json_string(ways[i].value));
        if (strcmp(ways[i].name, "scope") == 0)
            json_object_set_new(input, "key", json_string("MEMORY.md"));
        if (!is_open(&ways[i]))
            ask_as(personality_key, op->name, json_incref(input), NULL);
        ask_as(key, op->name, input, NULL);
    }
}

static void test_every_operation_stays_within_the_limits(void **state)
{
    static char before[65536], after[65536];
    size_t tried = 0;
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (!op->run || (op->effect & OP_LOCAL))
            continue;
        tried++;
        picture(before);
        try_op(op);
        picture(after);
        if (strcmp(before, after) != 0)
            fail_msg("%s changed what others have:\n%s\n%s", op->name, before, after);
    }
    assert_true(tried > 60);
}

static void test_its_own_is_there(void **state)
{
    char *body;
    (void)state;
    static const char *const reads[] = {"memory.list", "memory.prefetch", "memory.history",
                                        "notes.list",  "conflicts.list",  "personalities.list",
                                        "users.list",  "workspaces.list", "meta.capabilities",
                                        "notes.graph", "memory.timeline"};
    for (size_t i = 0; i < COUNT(reads); i++)
        assert_int_equal(ask_as(key, reads[i], json_object(), NULL), 200);
    assert_int_equal(ask_as(key, "memory.get", json_pack("{s:s}", "store", "memory"), &body), 200);
    assert_non_null(strstr(body, "Mine: " WORD));
    free(body);
    assert_int_equal(ask_as(key, "memory.get", json_pack("{s:s}", "store", "user"), &body), 200);
    assert_non_null(strstr(body, "My profile"));
    free(body);
    assert_int_equal(ask_as(key, "notes.get", json_pack("{s:s}", "name", "deploy"), &body), 200);
    assert_non_null(strstr(body, "Mine " WORD));
    free(body);
    assert_int_equal(ask_as(key, "memory.search", json_pack("{s:s}", "query", WORD), &body), 200);
    assert_non_null(strstr(body, "Mine"));
    free(body);
    assert_int_equal(
        ask_as(key, "memory.sync",
               json_pack("{s:s}", "updates", "[{\"action\":\"add\",\"content\":\"Added\"}]"), NULL),
        200);
}

/* What all share is neither shown nor found by those that look beyond one scope. */
static void test_what_all_share_is_outside(void **state)
{
    static const char *const names[] = {"notes.get", "notes.show", "notes.remove"};
    const char *const keys[] = {key, personality_key};
    char *body;
    (void)state;
    for (size_t k = 0; k < COUNT(keys); k++) {
        for (size_t i = 0; i < COUNT(names); i++) {
            int status = ask_as(keys[k], names[i], json_pack("{s:s}", "name", "shared"), &body);
            assert_in_range(status, 400, 404);
            assert_null(strstr(body, "global"));
            free(body);
        }
        ask_as(keys[k], "memory.search", json_pack("{s:s}", "query", WORD), NULL);
        ask_as(keys[k], "memory.prefetch", json_object(), &body);
        assert_null(strstr(body, "Global Memory"));
        free(body);
    }
    assert_int_equal(ask_as(key, "users.list", json_object(), &body), 200);
    json_t *told = json_loads(body, 0, NULL);
    assert_int_equal(json_view(json_object_get(told, "json"), "localUserId").size, 0);
    json_decref(told);
    free(body);
}

static void test_lists_have_what_the_key_may_see(void **state)
{
    char *body;
    (void)state;
    assert_int_equal(ask_as(key, "personalities.list", json_object(), &body), 200);
    assert_non_null(strstr(body, "\"id\":\"own\""));
    assert_null(strstr(body, "\"id\":\"other\""));
    assert_null(strstr(body, "\"id\":\"default\""));
    free(body);
    assert_int_equal(ask_as(key, "workspaces.list", json_object(), &body), 200);
    assert_non_null(strstr(body, own_workspace));
    assert_null(strstr(body, other_workspace));
    free(body);
}

/* Of a personality alone: its conversations, and no others. */
static void test_conversations_of_the_personality(void **state)
{
    char *body;
    (void)state;
    assert_int_equal(ask_as(personality_key, "sessions.list", json_object(), &body), 200);
    assert_non_null(strstr(body, own_session));
    assert_null(strstr(body, other_session));
    free(body);
    assert_int_equal(
        ask_as(personality_key, "sessions.get", json_pack("{s:s}", "id", own_session), NULL), 200);
    assert_int_equal(ask_as(key, "sessions.list", json_object(), NULL), 403);
    assert_int_equal(
        ask_as(personality_key, "sessions.delete", json_pack("{s:s}", "id", other_session), NULL),
        403);
}

/* That there is such a conversation, whose it is and how it is called is not told. */
static void test_a_conversation_of_others_is_as_if_it_were_not(void **state)
{
    const char *const ids[] = {other_session, their_session};
    char part[3];
    (void)state;
    for (size_t i = 0; i < COUNT(ids); i++) {
        char *body = NULL;
        snprintf(part, sizeof part, "%s", ids[i]);
        for (int whole = 0; whole < 2; whole++) {
            const char *id = whole ? ids[i] : part;
            int status = ask_as(personality_key, "sessions.get", json_pack("{s:s}", "id", id),
                                &body);
            if (status == 200 && strstr(body, own_session)) // begins with the same
                status = 404;
            if (status != 404 || strstr(body, "other") || strstr(body, "them") ||
                (!whole && (strstr(body, other_session) || strstr(body, their_session))))
                fail_msg("%s: %s", id, body);
            free(body);
        }
    }
}

/* Memory that several people share says who wrote what; of others the key is not told. */
static void test_the_people_who_wrote_are_not_named(void **state)
{
    static const char *const reads[] = {"memory.history", "memory.timeline", "memory.blame"};
    char *body;
    (void)state;
    for (size_t i = 0; i < COUNT(reads); i++) {
        assert_int_equal(ask_as(key, reads[i], json_object(), &body), 200);
        if (!strstr(body, "Ours") || strstr(body, "\"them\""))
            fail_msg("%s: %s", reads[i], body);
        free(body);
    }
}

/* Streams, pages and tools go the same way, or are refused. */
static void test_other_routes(void **state)
{
    static const char *const streams[] = {"/events", "/sse/sessions/x"};
    struct reply reply;
    (void)state;
    for (size_t i = 0; i < COUNT(streams); i++) {
        drive_ask(&drive, &reply,
                  "GET %s HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n\r\n",
                  streams[i], drive.port, key);
        assert_int_equal(reply.status, 403);
        assert_non_null(strstr(reply.body, "limited with --only"));
        raw_reply_release(&reply);
    }
    static const char *const places[] = {"/api/memory/get",
                                         "/api/memory/memory",
                                         "/api/memory/memory?personality=other",
                                         "/api/memory/memory?scope=global&key=MEMORY.md",
                                         "/api/memory/get?personalityId=other",
                                         "/",
                                         "/api/memory/list"};
    for (size_t i = 0; i < COUNT(places); i++) {
        for (int again = 0; again < 2; again++) {
            drive_ask(&drive, &reply,
                      "GET %s HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n\r\n",
                      places[i], drive.port, key);
            if (strstr(reply.body, CANARY) || reply.status >= 500)
                fail_msg("%s: %d %s", places[i], reply.status, reply.body);
            raw_reply_release(&reply);
        }
    }
}

/* Files as resources of others, and tools of a model. */
static void test_files_and_tools(void **state)
{
    static char before[65536], after[65536];
    static const char *const methods[] = {"PUT", "DELETE"};
    static const char *const places[] = {"/api/memory/memory?personality=other",
                                         "/api/memory/user?user=them",
                                         "/api/memory/memory?scope=global&key=MEMORY.md"};
    static const char *const calls[] = {
        "{\"name\":\"memory_read\",\"arguments\":{}}",
        "{\"name\":\"memory_search\",\"arguments\":{\"query\":\"" WORD "\"}}",
        "{\"name\":\"session_search\",\"arguments\":{\"query\":\"" WORD "\"}}",
        "{\"name\":\"memory_write\",\"arguments\":{\"content\":\"x\",\"store\":\"memory\"}}"};
    struct reply reply;
    (void)state;
    picture(before);
    for (size_t m = 0; m < COUNT(methods); m++) {
        for (size_t i = 0; i < COUNT(places); i++) {
            const char *body = m == 0 ? "{\"content\":\"x\"}" : "";
            drive_ask(&drive, &reply,
                      "%s %s HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n"
                      "If-Match: *\r\n%sContent-Length: %zu\r\n\r\n%s",
                      methods[m], places[i], drive.port, key,
                      *body ? "Content-Type: application/json\r\n" : "", strlen(body), body);
            assert_int_equal(reply.status, 403);
            raw_reply_release(&reply);
        }
    }
    for (size_t i = 0; i < COUNT(calls); i++) {
        char body[512];
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":%s}",
                 calls[i]);
        drive_ask(&drive, &reply,
                  "POST /mcp HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n"
                  "Accept: application/json\r\nContent-Type: application/json\r\n"
                  "MCP-Protocol-Version: 2025-06-18\r\nContent-Length: %zu\r\n\r\n%s",
                  drive.port, key, strlen(body), body);
        if (strstr(reply.body, CANARY) || reply.status >= 500)
            fail_msg("%s: %d %s", calls[i], reply.status, reply.body);
        if (i == 0 && !strstr(reply.body, "Mine"))
            fail_msg("its own is not there: %d %s", reply.status, reply.body);
        raw_reply_release(&reply);
    }
    picture(after);
    assert_string_equal(before, after);
}

/* An answer that was made for one key is not given to another with the same scopes. */
static void test_answers_are_not_shared_between_keys(void **state)
{
    char other[128];
    struct reply reply;
    (void)state;
    limited_key((const char *const[]){"personality:other", NULL}, other);
    int fd = drive_connect(&drive);
    for (int i = 0; i < 6; i++) {
        char text[512];
        int size = snprintf(text, sizeof text,
                            "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                            "Authorization: Bearer %s\r\n\r\n",
                            drive.port, i % 2 ? other : personality_key);
        drive_send(fd, text, (size_t)size);
        drive_read(fd, false, &reply);
        assert_int_equal(reply.status, 200);
        assert_int_equal(strstr(reply.body, CANARY) != NULL, i % 2);
        raw_reply_release(&reply);
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_own_is_there),
        cmocka_unit_test(test_what_all_share_is_outside),
        cmocka_unit_test(test_lists_have_what_the_key_may_see),
        cmocka_unit_test(test_conversations_of_the_personality),
        cmocka_unit_test(test_a_conversation_of_others_is_as_if_it_were_not),
        cmocka_unit_test(test_the_people_who_wrote_are_not_named),
        cmocka_unit_test(test_other_routes),
        cmocka_unit_test(test_files_and_tools),
        cmocka_unit_test(test_answers_are_not_shared_between_keys),
        cmocka_unit_test(test_every_operation_stays_within_the_limits),
    };
    return cmocka_run_group_tests(tests, start, drive_group_end);
}

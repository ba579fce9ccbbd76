/*
 * test_rpc.c: /rpc: the envelope, what a call may send, how answers and errors look.
 */
#include "../handler_calls.h"

#include "base/err.h"

/* ---- the envelope ---------------------------------------------------------------------------------- */

static void test_what_a_body_holds_is_the_input(void **state)
{
    static const char *const rows[][2] = {
        {"", "{}"},
        {"{}", "{}"},
        {"{\"json\":{\"a\":1}}", "{\"a\":1}"},
        {"{\"json\":null}", "null"},
        {"{\"json\":null,\"meta\":[[3]]}", "{}"},
        {"{\"json\":{\"a\":null,\"b\":2},\"meta\":[[3,\"a\"]]}", "{\"b\":2}"},
        {"{\"json\":{\"a\":{\"b\":null}},\"meta\":[[3,\"a\",\"b\"]]}", "{\"a\":{}}"},
        {"{\"json\":{\"a\":[1,null]},\"meta\":[[3,\"a\",1]]}", "{\"a\":[1,null]}"},
        {"{\"json\":{\"d\":\"2026-11-15T08:00:00.000Z\"},\"meta\":[[1,\"d\"]]}",
         "{\"d\":\"2026-11-15T08:00:00.000Z\"}"},
        {"{\"json\":{\"u\":\"http://x/\"},\"meta\":[[4,\"u\"]]}", "{\"u\":\"http://x/\"}"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *input = NULL, *expected = json_loads(rows[i][1], JSON_DECODE_ANY, NULL);
        struct ethos_error error = {0};
        if (rpc_decode(view_str(rows[i][0]), &input, &error) != ETHOS_OK)
            fail_msg("%s: %s", rows[i][0], error.text);
        if (!json_equal(input, expected))
            fail_msg("%s is not %s", rows[i][0], rows[i][1]);
        json_decref(input);
        json_decref(expected);
    }
}

static void test_what_cannot_be_decoded_is_malformed(void **state)
{
    static const char *const bodies[] = {
        "{",
        "[]",
        "\"x\"",
        "{\"json\":{\"a\":1,\"a\":2}}",
        "{\"json\":{},\"json\":{}}",
        "{\"json\":{\"a\":\"\xff\"}}",
        "{\"json\":{},\"meta\":{}}",
        "{\"json\":{},\"meta\":[3]}",
        "{\"json\":{},\"meta\":[[]]}",
        "{\"json\":{},\"meta\":[[\"3\",\"a\"]]}",
        "{\"json\":{},\"meta\":[[3,\"a\"]]}",
        "{\"json\":{\"a\":[1]},\"meta\":[[3,\"a\",1]]}",
        "{\"json\":{\"a\":[1]},\"meta\":[[3,\"a\",-1]]}",
        "{\"json\":{\"a\":\"1\"},\"meta\":[[0,\"a\"]]}",
        "{\"json\":{\"a\":null},\"meta\":[[2,\"a\"]]}",
        "{\"json\":{\"a\":\"/x/\"},\"meta\":[[5,\"a\"]]}",
        "{\"json\":{\"a\":[]},\"meta\":[[6,\"a\"]]}",
        "{\"json\":{\"a\":[]},\"meta\":[[7,\"a\"]]}",
        "{\"json\":{\"a\":1},\"meta\":[[9,\"a\"]]}",
        "{\"meta\":[[3,\"a\"]]}",
        "{\"store\":\"memory\"}", // not below json
    };
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct answer *answer = rpc(world, "memory/get", bodies[i]);
        if (answer->status != 400)
            fail_msg("%s: %u %s", bodies[i], answer->status, answer->text);
        assert_failed(answer, 400, "BAD_REQUEST");
        const json_t *error = json_object_get(answer->json, "json");
        assert_ptr_equal(strstr(text_at(error, "message"), "Malformed request"),
                         text_at(error, "message"));
        assert_null(json_object_get(error, "data"));
    }
}

/* ---- what a call may send ------------------------------------------------------------------------- */

static void test_every_mistake_is_told_with_its_place(void **state)
{
    static const char *const rows[][4] = {
        // call, input, code, path
        {"memory/get", "[]", "invalid_type", "[]"},
        {"memory/get", "null", "invalid_type", "[]"},
        {"memory/get", "{}", "invalid_type", "[\"store\"]"},
        {"memory/get", "{\"store\":null}", "invalid_type", "[\"store\"]"},
        {"memory/get", "{\"store\":\"x\"}", "invalid_value", "[\"store\"]"},
        {"memory/get", "{\"store\":\"user\",\"personalityId\":\"\"}", "too_small",
         "[\"personalityId\"]"},
        {"memory/get", "{\"store\":\"user\",\"personalityId\":null}", "invalid_type",
         "[\"personalityId\"]"},
        {"memory/write", "{\"store\":\"user\",\"content\":7}", "invalid_type", "[\"content\"]"},
        {"memory/write", "{\"store\":\"user\",\"content\":\"x\",\"expectedRevision\":1}",
         "invalid_type", "[\"expectedRevision\"]"},
        {"sessions/list", "{\"limit\":0}", "too_small", "[\"limit\"]"},
        {"sessions/list", "{\"limit\":201}", "too_big", "[\"limit\"]"},
        {"sessions/list", "{\"limit\":\"5\"}", "invalid_type", "[\"limit\"]"},
        {"sessions/list", "{\"limit\":1.5}", "invalid_type", "[\"limit\"]"},
        {"sessions/list", "{\"q\":null}", "invalid_type", "[\"q\"]"},
        {"sessions/get", "{}", "invalid_type", "[\"id\"]"},
        {"personalities/list", "{\"cursor\":null}", "invalid_type", "[\"cursor\"]"},
        {"personalities/get", "{\"id\":\"\"}", "too_small", "[\"id\"]"},
        {"memory/list", "{\"cursor\":null}", "invalid_type", "[\"cursor\"]"},
        {"memory/history", "{\"sinceMs\":\"1\"}", "invalid_type", "[\"sinceMs\"]"},
        {"memory/history", "{\"untilMs\":null}", "invalid_type", "[\"untilMs\"]"},
        {"sessions/update", "{\"id\":\"x\"}", "invalid_type", "[\"title\"]"},
        {"personalities/create", "{\"id\":\"A B\",\"name\":\"n\",\"toolset\":[],\"soulMd\":\"\"}",
         "invalid_format", "[\"id\"]"},
        {"personalities/create",
         "{\"id\":\"a\",\"name\":\"n\",\"toolset\":[\"x\",3],\"soulMd\":\"\"}", "invalid_type",
         "[\"toolset\",1]"},
        {"personalities/create",
         "{\"id\":\"a\",\"name\":\"n\",\"toolset\":[],\"soulMd\":\"\",\"provider\":\"x\"}",
         "invalid_value", "[\"provider\"]"},
        {"personalities/create",
         "{\"id\":\"a\",\"name\":\"n\",\"toolset\":[],\"soulMd\":\"\",\"fs_reach\":{\"read\":[1]}}",
         "invalid_type", "[\"fs_reach\",\"read\",0]"},
        {"chat/send", "{\"clientId\":\"c\",\"text\":\"\"}", "too_small", "[\"text\"]"},
        {"chat/send",
         "{\"clientId\":\"c\",\"text\":\"t\",\"attachments\":[{\"type\":\"image\",\"data\":\"\"}]}",
         "invalid_type", "[\"attachments\",0,\"mimeType\"]"},
        {"memory/prefetch", "{\"maxChars\":5}", "too_small", "[\"maxChars\"]"},
        {"sessions/search", "{\"query\":\"x\",\"since\":\"soon\"}", "invalid_format",
         "[\"since\"]"},
    };
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char body[512];
        snprintf(body, sizeof body, "{\"json\":%s}", rows[i][1]);
        struct answer *answer = rpc(world, rows[i][0], body);
        assert_failed(answer, 400, "BAD_REQUEST");
        const json_t *error = json_object_get(answer->json, "json");
        assert_string_equal(text_at(error, "message"), "Input validation failed");
        const json_t *issues = json_object_get(json_object_get(error, "data"), "issues");
        const json_t *issue = json_array_get(issues, 0);
        json_t *path = json_loads(rows[i][3], 0, NULL);
        if (json_array_size(issues) != 1 || strcmp(text_at(issue, "code"), rows[i][2]) != 0 ||
            !json_equal(json_object_get(issue, "path"), path))
            fail_msg("%s %s: %s", rows[i][0], rows[i][1], answer->text);
        assert_true(json_is_string(json_object_get(issue, "message")));
        json_decref(path);
    }
    assert_false(world_exists(world, "home"));
}

static void test_all_mistakes_are_told_at_once(void **state)
{
    struct world *world = *state;
    struct answer *answer = rpc(world, "memory/write",
                                "{\"json\":{\"content\":1,\"userId\":\"\"}}");
    assert_failed(answer, 400, "BAD_REQUEST");
    const json_t *data = json_object_get(json_object_get(answer->json, "json"), "data");
    assert_int_equal(json_array_size(json_object_get(data, "issues")), 3);
}

static void test_titles_are_counted_in_utf16(void **state)
{
    struct world *world = *state;
    char body[2048];
    make_sessions(world);
    for (int count = 100; count <= 101; count++) {
        size_t size = (size_t)snprintf(body, sizeof body,
                                       "{\"json\":{\"id\":\"" FIRST "\",\"title\":\"");
        for (int i = 0; i < count; i++)
            size += (size_t)snprintf(body + size, sizeof body - size, "\xF0\x9F\x98\x80");
        snprintf(body + size, sizeof body - size, "\"}}");
        struct answer *answer = rpc(world, "sessions/update", body);
        if (count == 100)
            assert_int_equal(answer->status, 200);
        else
            assert_failed(answer, 400, "BAD_REQUEST");
    }
}

static void test_unknown_members_are_ignored_everywhere(void **state)
{
    struct world *world = *state;
    output(world, "memory/get", "{\"json\":{\"store\":\"memory\",\"colour\":7}}");
    output(world, "memory/prefetch", "{\"json\":{\"colour\":null}}");
    output(world, "users/list", "{\"json\":{\"colour\":{}}}");
}

/* ---- which calls there are ------------------------------------------------------------------------- */

static void test_every_stable_call_has_an_operation(void **state)
{
    (void)state;
    for (const struct shape *shape = shapes; shape->name; shape++) {
        const struct op *op = op_find(shape->op ? shape->op : shape->name);
        if (!op || !shape_served(op))
            fail_msg("%s", shape->name);
        assert_ptr_equal(shape_find(shape->name), shape);
    }
}

/* What the shape hands over, the operation takes. */
static void test_every_field_is_an_argument_of_its_operation(void **state)
{
    (void)state;
    for (const struct shape *shape = shapes; shape->name; shape++) {
        const struct op *op = op_find(shape->op ? shape->op : shape->name);
        for (const struct shape_field *field = op ? shape->fields : NULL; field && field->name;
             field++) {
            const char *name = field->arg ? field->arg : field->name;
            bool found = field->flags & SHAPE_KEEP;
            for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
                found |= strcmp(arg->name, name) == 0;
            if (!found)
                fail_msg("%s: %s", shape->name, name);
        }
    }
}

static void
test_what_does_not_exist_is_not_found_for_the_browser_and_forbidden_for_keys(void **state)
{
    static const char *const paths[] = {"/rpc/memory/nothing", "/rpc/memory", "/rpc/memory.get",
                                        "/rpc/memory/get/x",   "/rpc/",       "/rpc/config/set",
                                        "/rpc/admin/doctor",   "/rpc/a/../b", "/rpc/__batch__"};
    const struct caller key = {HTTP_KEY, OP_RIGHTS_AGENT};
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(paths); i++) {
        assert_failed(request(world, HTTP_POST, paths[i], "{}", browser), 404, "NOT_FOUND");
        struct answer *answer = request(world, HTTP_POST, paths[i], "{}", key);
        assert_failed(answer, 403, "FORBIDDEN");
        // before a procedure: both forms in one object
        assert_true(json_is_false(json_object_get(answer->json, "ok")));
        assert_string_equal(text_at(answer->json, "code"), "FORBIDDEN");
        assert_string_equal(text_at(answer->json, "requestId"), "request-1");
        assert_true(json_is_string(json_object_get(answer->json, "error")));
        assert_string_equal(text_at(answer->json, "action"), OP_OWNER_ONLY);
    }
}

/* For every operation that there is: its scope lets a key in, all others do not. */
static void test_a_key_needs_the_scope_of_the_call(void **state)
{
    struct world *world = *state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (!shape_served(op) || op->right >= OP_OWNER)
            continue;
        char path[96];
        const struct caller without = {HTTP_KEY, ~OP_RIGHT(op->right) & (OP_RIGHT(OP_OWNER) - 1)};
        const struct caller with = {HTTP_KEY, OP_RIGHT(op->right)};
        snprintf(path, sizeof path, "/rpc/%s", op->name);
        for (char *dot = path; (dot = strchr(dot, '.'));)
            *dot = '/';
        if (!rpc_find_op(path + 5, NULL) || rpc_find_op(path + 5, NULL) != op)
            continue; // the call of this name is another operation
        assert_failed(request(world, HTTP_POST, path, "{", without), 403, "FORBIDDEN");
        assert_failed(request(world, HTTP_POST, path, "{", with), 400, "BAD_REQUEST");
    }
}

static void test_procedures_are_called_with_post(void **state)
{
    struct world *world = *state;
    struct answer *answer = request(world, HTTP_GET, "/rpc/memory/get", "", browser);
    assert_failed(answer, 405, "METHOD_NOT_SUPPORTED");
    assert_string_equal(answer->allow, "POST");
    output(world, "memory/get/", "{\"json\":{\"store\":\"user\"}}"); // one slash more
}

/* ---- errors ------------------------------------------------------------------------------------------ */

static void test_codes_of_the_wire(void **state)
{
    static const struct {
        const char *op;
        int code;
        unsigned status;
        const char *wire;
    } rows[] = {
        {"sessions.get", ETHOS_NOTFOUND, 404, "SESSION_NOT_FOUND"},
        {"personalities.get", ETHOS_NOTFOUND, 404, "PERSONALITY_NOT_FOUND"},
        {"personalities.create", ETHOS_EXISTS, 409, "PERSONALITY_EXISTS"},
        {"memory.get", ETHOS_NOTFOUND, 404, "NOT_FOUND"},
        {"memory.write", ETHOS_CONFLICT, 409, "MEMORY_CONFLICT"},
        {"sessions.update", ETHOS_CONFLICT, 409, "CONFLICT"},
        {"memory.get", ETHOS_INVALID, 400, "INVALID_INPUT"},
        {"memory.get", ETHOS_LIMIT, 400, "INVALID_INPUT"},
        {"memory.get", ETHOS_DENIED, 403, "FORBIDDEN"},
        {"memory.get", ETHOS_BUSY, 503, "SERVICE_UNAVAILABLE"},
        {"chat.send", ETHOS_UNSUPPORTED, 501, "NOT_CONFIGURED"},
        {"memory.get", ETHOS_IO, 500, "INTERNAL"},
        {"memory.get", ETHOS_CORRUPT, 500, "INTERNAL"},
        {"memory.get", ETHOS_NOMEM, 500, "INTERNAL"},
        {"memory.get", ETHOS_INTERNAL, 500, "INTERNAL"},
        {NULL, ETHOS_NOTFOUND, 404, "NOT_FOUND"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ethos_error error = {0};
        err_set(&error, rows[i].code, "/home/x/.ethos: no such thing");
        const struct op *op = rows[i].op ? op_find(rows[i].op) : NULL;
        struct http_error told = http_error_of(op, &error);
        assert_int_equal(told.status, rows[i].status);
        assert_string_equal(told.code, rows[i].wire);
        assert_int_equal(strstr(told.message, ".ethos") == NULL, told.status == 500);
    }
}

static void test_what_goes_wrong_inside_is_told_by_the_id_of_the_request_only(void **state)
{
    struct world *world = *state;
    temp_write(&world->temp, "home", "a file");
    struct answer *answer = rpc(world, "memory/get", "{\"json\":{\"store\":\"memory\"}}");
    assert_failed(answer, 500, "INTERNAL");
    assert_null(strstr(answer->text, world->temp.path));
    assert_null(strstr(answer->text, "irectory"));
    const json_t *data = json_object_get(json_object_get(answer->json, "json"), "data");
    assert_string_equal(text_at(data, "requestId"), "request-1");
    answer = request(world, HTTP_GET, "/api/memory/memory", "", browser);
    assert_int_equal(answer->status, 500);
    assert_string_equal(answer->type, "application/problem+json");
    assert_null(strstr(answer->text, world->temp.path));
    assert_string_equal(text_at(answer->json, "requestId"), "request-1");
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static void test_a_file_is_read_written_and_read_again(void **state)
{
    struct world *world = *state;
    const json_t *file = json_object_get(
        output(world, "memory/get", "{\"json\":{\"store\":\"memory\"}}"), "file");
    ASSERT_MEMBERS(file, "store", "content", "path", "modifiedAt", "revision");
    assert_string_equal(text_at(file, "content"), "");
    assert_true(json_is_null(json_object_get(file, "modifiedAt")));
    assert_true(json_is_null(json_object_get(file, "revision")));
    file = json_object_get(
        output(world, "memory/write", "{\"json\":{\"store\":\"memory\",\"content\":\"One\"}}"),
        "file");
    assert_string_equal(text_at(file, "content"), "One\n");
    assert_string_equal(text_at(file, "store"), "memory");
    assert_true(json_is_string(json_object_get(file, "path")));
    assert_true(json_is_string(json_object_get(file, "modifiedAt")));
    assert_non_null(strstr(text_at(file, "path"), "MEMORY.md"));
}

static void test_a_stale_revision_is_a_conflict_and_nothing_is_lost(void **state)
{
    struct world *world = *state;
    char body[256], revision[ETHOS_REVISION_SIZE];
    const json_t *file = json_object_get(
        output(world, "memory/write",
               "{\"json\":{\"store\":\"user\",\"content\":\"One\",\"expectedRevision\":null}}"),
        "file");
    snprintf(revision, sizeof revision, "%s", text_at(file, "revision"));
    assert_failed(
        rpc(world, "memory/write",
            "{\"json\":{\"store\":\"user\",\"content\":\"x\",\"expectedRevision\":null}}"),
        409, "MEMORY_CONFLICT");
    snprintf(body, sizeof body,
             "{\"json\":{\"store\":\"user\",\"content\":\"Two\",\"expectedRevision\":\"%s\"}}",
             revision);
    output(world, "memory/write", body);
    struct answer *answer = rpc(world, "memory/write", body);
    assert_failed(answer, 409, "MEMORY_CONFLICT");
    file = json_object_get(output(world, "memory/get", "{\"json\":{\"store\":\"user\"}}"), "file");
    assert_string_equal(text_at(file, "content"), "Two\n");
}

static void test_a_dry_run_changes_nothing(void **state)
{
    struct world *world = *state;
    output(world, "memory/write", "{\"json\":{\"store\":\"memory\",\"content\":\"One\"}}");
    const json_t *report = output(world, "memory/undo", "{\"json\":{\"dryRun\":true}}");
    assert_true(json_is_true(json_object_get(report, "dryRun")));
    const json_t *file = json_object_get(
        output(world, "memory/get", "{\"json\":{\"store\":\"memory\"}}"), "file");
    assert_string_equal(text_at(file, "content"), "One\n");
    assert_failed(rpc(world, "memory/undo", "{\"json\":{\"dryRun\":\"yes\"}}"), 400, "BAD_REQUEST");
}

static void test_files_are_listed_memory_first(void **state)
{
    struct world *world = *state;
    output(world, "memory/write", "{\"json\":{\"store\":\"user\",\"content\":\"Me\"}}");
    const json_t *page = output(world, "memory/list", "{\"json\":{\"limit\":1,\"cursor\":\"\"}}");
    const json_t *items = json_object_get(page, "items");
    assert_int_equal(json_array_size(items), 2);
    assert_string_equal(text_at(json_array_get(items, 0), "store"), "memory");
    assert_string_equal(text_at(json_array_get(items, 1), "store"), "user");
    assert_string_equal(text_at(json_array_get(items, 1), "content"), "Me\n");
    assert_true(json_is_null(json_object_get(page, "nextCursor")));
}

static void test_a_write_remembers_the_session_it_is_done_in(void **state)
{
    struct world *world = *state;
    output(world, "memory/write",
           "{\"json\":{\"store\":\"memory\",\"content\":\"One\",\"sessionId\":\"talk-1\"}}");
    output(world, "memory/sync",
           "{\"json\":{\"updates\":[{\"action\":\"add\",\"content\":\"Two\"}],\"session\":\"talk-"
           "2\"}}");
    const json_t *entries = json_object_get(output(world, "memory/history", "{\"json\":{}}"),
                                            "entries");
    assert_string_equal(text_at(json_array_get(entries, 0), "sessionId"), "talk-2");
    assert_string_equal(text_at(json_array_get(entries, 1), "sessionId"), "talk-1");
    assert_failed(rpc(world, "memory/write",
                      "{\"json\":{\"store\":\"memory\",\"content\":\"x\",\"sessionId\":\"\"}}"),
                  400, "BAD_REQUEST");
}

static void test_history_is_told_as_the_reference_does(void **state)
{
    struct world *world = *state;
    output(world, "memory/write", "{\"json\":{\"store\":\"memory\",\"content\":\"One\"}}");
    output(world, "memory/write", "{\"json\":{\"store\":\"memory\",\"content\":\"Two\"}}");
    const json_t *page = output(world, "memory/history", "{\"json\":{}}");
    const json_t *entries = json_object_get(page, "entries");
    assert_int_equal(json_array_size(entries), 2);
    const json_t *newest = json_array_get(entries, 0), *first = json_array_get(entries, 1);
    ASSERT_MEMBERS(newest, "ts", "scopeId", "key", "actions", "source", "sessionId", "sessionKey",
                   "beforeHash", "afterHash", "diff", "sizeBefore", "sizeAfter");
    assert_int_equal(json_integer_value(json_object_get(newest, "ts")), NOW_MS);
    assert_string_equal(text_at(newest, "source"), "web-editor");
    assert_string_equal(text_at(newest, "key"), "MEMORY.md");
    assert_string_equal(text_at(newest, "beforeHash"), text_at(first, "afterHash"));
    assert_string_equal(text_at(first, "beforeHash"),
                        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_non_null(strstr(text_at(newest, "diff"), "+Two"));
    assert_string_equal(text_at(newest, "sessionId"), "");
    assert_null(json_object_get(newest, "blob"));
    page = output(world, "memory/history", "{\"json\":{\"limit\":1,\"source\":\"web-editor\"}}");
    assert_int_equal(json_array_size(json_object_get(page, "entries")), 1);
    assert_true(json_is_string(json_object_get(page, "nextCursor")));
    page = output(world, "memory/history", "{\"json\":{\"untilMs\":1000}}");
    assert_int_equal(json_array_size(json_object_get(page, "entries")), 0);
    page = output(world, "memory/history", "{\"json\":{\"sinceMs\":-1.5,\"untilMs\":1e300}}");
    assert_int_equal(json_array_size(json_object_get(page, "entries")), 2);
    page = output(world, "memory/history", "{\"json\":{\"sinceMs\":1e300}}");
    assert_int_equal(json_array_size(json_object_get(page, "entries")), 0);
}

static void test_a_long_diff_is_cut_and_its_text_is_a_blob(void **state)
{
    struct world *world = *state;
    char body[16384];
    size_t size = (size_t)snprintf(body, sizeof body,
                                   "{\"json\":{\"store\":\"memory\",\"content\":\"");
    for (int i = 0; i < 1500; i++)
        size += (size_t)snprintf(body + size, sizeof body - size, "\u00e4\u20ac ");
    snprintf(body + size, sizeof body - size, "\"}}");
    output(world, "memory/write", body);
    output(world, "memory/write", "{\"json\":{\"store\":\"memory\",\"content\":\"Two\"}}");
    const json_t *page = output(world, "memory/history", "{\"json\":{\"limit\":1}}");
    const json_t *entry = json_array_get(json_object_get(page, "entries"), 0);
    const char *diff = text_at(entry, "diff"), *blob = text_at(entry, "blob");
    const char *end = strstr(diff, "\n\u2026 [diff truncated; before-state in blob sha256:");
    assert_non_null(end);
    assert_true(end - diff <= 4096 && end - diff > 4090);
    assert_int_equal(strlen(blob), 64);
    char ask[128];
    snprintf(ask, sizeof ask, "{\"json\":{\"blob\":\"%s\"}}", blob);
    const json_t *old = output(world, "memory/historyBlob", ask);
    assert_int_equal(strlen(text_at(old, "content")), 9000);
}

static void test_a_blob_that_is_none_is_null(void **state)
{
    static const char *const names[] = {
        "../MEMORY", "x", "", "0000000000000000000000000000000000000000000000000000000000000000"};
    struct world *world = *state;
    output(world, "memory/write", "{\"json\":{\"store\":\"memory\",\"content\":\"One\"}}");
    for (size_t i = 0; i < COUNT(names); i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"json\":{\"blob\":\"%s\"}}", names[i]);
        const json_t *json = output(world, "memory/historyBlob", body);
        assert_true(json_is_null(json_object_get(json, "content")));
    }
}

static void test_nothing_is_pending(void **state)
{
    struct world *world = *state;
    const json_t *json = output(world, "memory/pendingList", "{}");
    assert_int_equal(json_array_size(json_object_get(json, "pending")), 0);
    assert_true(json_is_array(json_object_get(json, "pending")));
    assert_failed(rpc(world, "memory/pendingApprove", "{\"json\":{\"id\":\"x\"}}"), 404,
                  "NOT_FOUND");
    assert_failed(rpc(world, "memory/pendingReject", "{\"json\":{\"id\":\"x\"}}"), 404,
                  "NOT_FOUND");
    assert_failed(rpc(world, "memory/restore", "{\"json\":{\"slug\":\"x\"}}"), 404, "NOT_FOUND");
}

static void test_capabilities_are_for_any_key(void **state)
{
    struct world *world = *state;
    const struct caller key = {HTTP_KEY, 0};
    struct answer *answer = request(world, HTTP_POST, "/rpc/meta/capabilities", "{}", key);
    assert_int_equal(answer->status, 200);
    const json_t *json = json_object_get(answer->json, "json");
    ASSERT_MEMBERS(json_object_get(json, "capabilities"), "byok", "voice_stt", "voice_tts");
}

/* Another program's file, as it writes it: lines of now, one that is old, one that is torn. */
static void write_pending(struct world *world)
{
    char path[256], text[2048];
    snprintf(path, sizeof path, "%s/personalities", world->home);
    mkdir(world->home, 0700);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/personalities/coach", world->home);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/personalities/coach/memory-pending.jsonl", world->home);
    long long now = world->host.now_ms(world->host.arg);
    snprintf(
        text, sizeof text,
        "{\"id\":\"b\",\"scopeId\":\"personality:coach\",\"update\":{\"action\":\"remove\","
        "\"key\":\"MEMORY.md\",\"substringMatch\":\"x\"},\"source\":\"capture\",\"proposedAt\":"
        "%lld,\"factHash\":\"h\"}\n"
        "{\"id\":\"a\",\"scopeId\":\"personality:coach\",\"update\":{\"action\":\"add\","
        "\"key\":\"MEMORY.md\",\"content\":\"y\"},\"source\":\"dream\",\"proposedAt\":%lld}\n"
        "{\"id\":\"old\",\"scopeId\":\"personality:coach\",\"update\":{\"action\":\"delete\","
        "\"key\":\"MEMORY.md\"},\"source\":\"dream\",\"proposedAt\":1000}\n"
        "{\"id\":\"bad\",\"update\":{\"action\":\"add\"}}\nnull\n{\"id\":\"torn\",\"sco",
        now - 1000, now - 2000);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_what_another_program_lets_wait_is_listed(void **state)
{
    struct world *world = *state;
    write_pending(world);
    const json_t *json = output(world, "memory/pendingList",
                                "{\"json\":{\"personalityId\":\"coach\"}}");
    const json_t *rows = json_object_get(json, "pending");
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(text_at(json_array_get(rows, 0), "id"), "a");
    assert_string_equal(text_at(json_array_get(rows, 1), "id"), "b");
    ASSERT_MEMBERS(json_array_get(rows, 1), "scopeId", "update", "source", "proposedAt",
                   "factHash");
    json = output(world, "memory/pendingList", "{}"); // of the active one
    assert_int_equal(json_array_size(json_object_get(json, "pending")), 0);
    json = output(world, "memory/pendingApprove",
                  "{\"json\":{\"personalityId\":\"coach\",\"id\":\"a\"}}");
    assert_true(json_is_true(json_object_get(json, "ok")));
    json = output(world, "memory/pendingList", "{\"json\":{\"personalityId\":\"coach\"}}");
    assert_int_equal(json_array_size(json_object_get(json, "pending")), 1);
    assert_failed(
        rpc(world, "memory/pendingReject", "{\"json\":{\"personalityId\":\"coach\",\"id\":\"c\"}}"),
        404, "NOT_FOUND");
}

static void test_there_is_no_model_to_talk_to(void **state)
{
    struct world *world = *state;
    char expected[256], id[64];
    const json_t *json = output(world, "chat/send",
                                "{\"json\":{\"clientId\":\"c\",\"text\":\"hello\"}}");
    ASSERT_MEMBERS(json, "sessionId", "turnId");
    snprintf(id, sizeof id, "%s", text_at(json, "sessionId"));
    snprintf(expected, sizeof expected,
             "{\"sessionId\":\"%s\",\"event\":{\"type\":\"error\",\"error\":\"No model is ", id);
    assert_memory_equal(told_session, expected, strlen(expected));
    assert_non_null(strstr(told_session, "\"code\":\"SETUP_REQUIRED\""));
    snprintf(expected, sizeof expected, "{\"json\":{\"id\":\"%s\"}}", id);
    json = output(world, "sessions/get", expected); // there is such a session
    assert_string_equal(text_at(json_object_get(json, "session"), "platform"), "web");
    json = output(world, "chat/send",
                  "{\"json\":{\"clientId\":\"c\",\"text\":\"hello\",\"sessionId\":\"own\"}}");
    assert_string_equal(text_at(json, "sessionId"), "own");
    assert_memory_equal(told_session, "{\"sessionId\":\"own\"", 18);
    assert_failed(rpc(world, "chat/send",
                      "{\"json\":{\"clientId\":\"c\",\"text\":\"x\",\"sessionId\":\"a/b\"}}"),
                  400, "INVALID_INPUT");
    json = output(world, "chat/abort", "{\"json\":{\"sessionId\":\"x\"}}");
    assert_true(json_is_true(json_object_get(json, "ok")));
}

/* ---- sessions ---------------------------------------------------------------------------------------- */

static void test_sessions_are_listed_from_all_folders(void **state)
{
    struct world *world = *state;
    make_sessions(world);
    const json_t *page = output(world, "sessions/list", "{}");
    const json_t *items = json_object_get(page, "items");
    assert_int_equal(json_array_size(items), 3);
    const json_t *session = json_array_get(items, 0);
    ASSERT_MEMBERS(session, "id", "key", "platform", "model", "provider", "personalityId",
                   "parentSessionId", "workingDir", "title", "pinned", "usage", "createdAt",
                   "updatedAt", "version");
    assert_true(json_is_string(json_object_get(session, "model")));
    assert_int_equal(json_integer_value(json_object_get(session, "version")), 1);
    ASSERT_MEMBERS(json_object_get(session, "usage"), "inputTokens", "outputTokens",
                   "cacheReadTokens", "cacheCreationTokens", "apiCallCount", "compactionCount",
                   "estimatedCostUsd");
    page = output(world, "sessions/list", "{\"json\":{\"limit\":1,\"cursor\":null}}");
    assert_true(json_is_string(json_object_get(page, "nextCursor")));
    assert_failed(rpc(world, "sessions/list", "{\"json\":{\"cursor\":\"nonsense!\"}}"), 400,
                  "INVALID_INPUT");
}

static void test_a_query_finds_sessions_and_the_personality_applies(void **state)
{
    struct world *world = *state;
    make_sessions(world);
    const json_t *page = output(world, "sessions/list", "{\"json\":{\"q\":\"deployment redis\"}}");
    assert_int_equal(json_array_size(json_object_get(page, "items")), 1);
    assert_true(json_is_null(json_object_get(page, "nextCursor")));
    page = output(world, "sessions/list",
                  "{\"json\":{\"q\":\"deployment\",\"personalityId\":\"other\"}}");
    assert_int_equal(json_array_size(json_object_get(page, "items")), 0);
    page = output(world, "sessions/list", "{\"json\":{\"q\":\"  \"}}");
    assert_int_equal(json_array_size(json_object_get(page, "items")), 3);
    page = output(world, "sessions/list", "{\"json\":{\"personalityId\":\"other\"}}");
    assert_int_equal(json_array_size(json_object_get(page, "items")), 0);
}

static void test_a_session_is_read_forked_renamed_and_deleted(void **state)
{
    struct world *world = *state;
    make_sessions(world);
    const json_t *got = output(world, "sessions/get", "{\"json\":{\"id\":\"" FIRST "\"}}");
    ASSERT_MEMBERS(got, "session", "messages", "cards");
    const json_t *message = json_array_get(json_object_get(got, "messages"), 1);
    ASSERT_MEMBERS(message, "id", "sessionId", "role", "content", "toolCallId", "toolName",
                   "toolCalls", "timestamp");
    ASSERT_MEMBERS(json_array_get(json_object_get(message, "toolCalls"), 0), "id", "name", "input");
    const json_t *fork = json_object_get(
        output(world, "sessions/fork",
               "{\"json\":{\"id\":\"" FIRST
               "\",\"personalityId\":\"other\",\"expectedVersion\":1}}"),
        "session");
    assert_string_equal(text_at(fork, "parentSessionId"), FIRST);
    assert_string_equal(text_at(fork, "personalityId"), "other");
    assert_failed(
        rpc(world, "sessions/fork", "{\"json\":{\"id\":\"" FIRST "\",\"personalityId\":\"../x\"}}"),
        400, "INVALID_INPUT");
    const json_t *named = json_object_get(
        output(world, "sessions/update", "{\"json\":{\"id\":\"" FIRST "\",\"title\":\"New\"}}"),
        "session");
    assert_string_equal(text_at(named, "title"), "New");
    named = json_object_get(
        output(world, "sessions/update", "{\"json\":{\"id\":\"" FIRST "\",\"title\":null}}"),
        "session");
    assert_true(json_is_null(json_object_get(named, "title")));
    const json_t *gone = output(world, "sessions/delete", "{\"json\":{\"id\":\"" FIRST "\"}}");
    assert_true(json_is_true(json_object_get(gone, "ok")));
    assert_failed(rpc(world, "sessions/get", "{\"json\":{\"id\":\"" FIRST "\"}}"), 404,
                  "SESSION_NOT_FOUND");
}

static void test_nothing_happens_to_a_session_by_half_its_id_or_in_another_version(void **state)
{
    static const char *const calls[] = {"sessions/fork", "sessions/delete", "sessions/update"};
    struct world *world = *state;
    make_sessions(world);
    for (size_t i = 0; i < COUNT(calls); i++) {
        assert_failed(rpc(world, calls[i], "{\"json\":{\"id\":\"111111\",\"title\":\"x\"}}"), 404,
                      "SESSION_NOT_FOUND");
        assert_failed(rpc(world, calls[i], "{\"json\":{\"id\":\"\",\"title\":\"x\"}}"), 404,
                      "SESSION_NOT_FOUND");
        assert_failed(rpc(world, calls[i],
                          "{\"json\":{\"id\":\"" FIRST
                          "\",\"title\":\"x\",\"expectedVersion\":2}}"),
                      409, "CONFLICT");
    }
    const json_t *page = output(world, "sessions/list", "{}");
    assert_int_equal(json_array_size(json_object_get(page, "items")), 3);
}

/* ---- people and personalities ------------------------------------------------------------------------- */

static void test_personalities_have_the_members_of_the_contract(void **state)
{
    struct world *world = *state;
    const json_t *made = json_object_get(
        output(world, "personalities/create",
               "{\"json\":{\"id\":\"coder\",\"name\":\"Coder\",\"toolset\":[\"read\"],\"soulMd\":"
               "\"You code.\",\"model\":{\"deep\":\"m\"},\"description\":\"d\"}}"),
        "personality");
    ASSERT_MEMBERS(made, "id", "name", "description", "provider", "model", "toolset",
                   "capabilities", "mcp_servers", "plugins", "streamingTimeoutMs", "fs_reach",
                   "system", "builtin", "version");
    assert_string_equal(text_at(made, "name"), "Coder");
    assert_string_equal(text_at(json_object_get(made, "model"), "deep"), "m");
    const json_t *got = output(world, "personalities/get", "{\"json\":{\"id\":\"coder\"}}");
    ASSERT_MEMBERS(got, "personality", "soulMd", "mcpPolicy");
    assert_non_null(strstr(text_at(got, "soulMd"), "You code."));
    assert_failed(
        rpc(world, "personalities/create",
            "{\"json\":{\"id\":\"coder\",\"name\":\"x\",\"toolset\":[],\"soulMd\":\"\"}}"),
        409, "PERSONALITY_EXISTS");
    assert_failed(rpc(world, "personalities/get", "{\"json\":{\"id\":\"nobody\"}}"), 404,
                  "PERSONALITY_NOT_FOUND");
    const json_t *changed = json_object_get(
        output(world, "personalities/update",
               "{\"json\":{\"id\":\"coder\",\"voice\":{\"tier\":\"realtime\",\"model\":\"v\"}}}"),
        "personality");
    assert_string_equal(text_at(json_object_get(changed, "voice"), "tier"), "realtime");
    changed = json_object_get(
        output(world, "personalities/update",
               "{\"json\":{\"id\":\"coder\",\"voice\":{\"tier\":\"\",\"call_style\":\"\"}}}"),
        "personality");
    assert_null(json_object_get(json_object_get(changed, "voice"), "tier"));
    assert_string_equal(text_at(json_object_get(changed, "voice"), "model"), "v");
    const json_t *copy = json_object_get(
        output(world, "personalities/duplicate", "{\"json\":{\"id\":\"coder\",\"newId\":\"two\"}}"),
        "personality");
    assert_string_equal(text_at(copy, "name"), "Coder (copy)");
    output(world, "personalities/delete", "{\"json\":{\"id\":\"two\"}}");
}

static void test_personalities_come_in_pages(void **state)
{
    struct world *world = *state;
    char body[256];
    size_t seen = 0;
    world_put(world, "home/personalities/a/config.yaml", "name: A\n");
    world_put(world, "home/personalities/b/config.yaml", "name: B\n");
    snprintf(body, sizeof body, "{\"json\":{\"limit\":1}}");
    for (int i = 0; i < 5; i++) {
        const json_t *page = output(world, "personalities/list", body);
        seen += json_array_size(json_object_get(page, "items"));
        assert_true(json_is_string(json_object_get(page, "defaultId")));
        if (!json_is_string(json_object_get(page, "nextCursor")))
            break;
        snprintf(body, sizeof body, "{\"json\":{\"limit\":1,\"cursor\":\"%s\"}}",
                 text_at(page, "nextCursor"));
    }
    const json_t *all = output(world, "personalities/list", "{}");
    assert_int_equal(seen, json_array_size(json_object_get(all, "items")));
    assert_true(seen >= 2);
    assert_failed(rpc(world, "personalities/list", "{\"json\":{\"cursor\":\"not one\"}}"), 400,
                  "INVALID_INPUT");
}

/* ---- notes without a workspace --------------------------------------------------------------------------- */

static void test_global_notes_need_no_workspace(void **state)
{
    struct world *world = *state;
    assert_failed(rpc(world, "notes/remember", "{\"json\":{\"content\":\"Nights are short\"}}"),
                  400, "INVALID_INPUT");
    assert_non_null(strstr(new_answer->text, "no workspace"));
    output(world, "notes/remember",
           "{\"json\":{\"content\":\"Nights are "
           "short\",\"title\":\"Nights\",\"about\":\"everywhere\"}}");
    const json_t *list = output(world, "notes/list", "{}");
    assert_string_equal(text_at(list, "scope"), "global");
    assert_int_equal(json_array_size(json_object_get(list, "notes")), 1);
    static const char *const reads[] = {"notes/get", "notes/show", "notes/history", "notes/blame"};
    for (size_t i = 0; i < COUNT(reads); i++)
        output(world, reads[i], "{\"json\":{\"name\":\"nights\"}}");
    output(world, "notes/graph", "{}");
    output(world, "notes/check", "{}");
    output(world, "notes/move", "{\"json\":{\"name\":\"nights\",\"newName\":\"Short nights\"}}");
    output(world, "notes/undo", "{}");
    output(world, "notes/remove", "{\"json\":{\"name\":\"nights\"}}");
    list = output(world, "notes/list", "{}");
    assert_int_equal(json_array_size(json_object_get(list, "notes")), 0);
}

/* ---- memory that runs out -------------------------------------------------------------------------------- */

static void test_arguments_are_whole_or_not_at_all(void **state)
{
    const struct shape *shape = shape_find("memory.write");
    json_t *input = json_loads("{\"store\":\"user\",\"content\":\"x\",\"expectedRevision\":null,"
                               "\"personalityId\":\"p\"}",
                               0, NULL);
    int code = ETHOS_NOMEM;
    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct ethos_error error = {0};
        json_t *args = NULL, *issues = NULL;
        code = shape_args(shape, op_find("memory.write"), input, &args, &issues, &error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_null(issues);
        if (code == ETHOS_OK)
            assert_int_equal(json_object_size(args), 4);
        json_decref(args);
    }
    json_decref(input);
}

#define NAMES 200000 /* more than two of the system's serve for */

static int by_text(const void *a, const void *b)
{
    return memcmp(a, b, UUID_SIZE);
}

static void test_no_request_has_the_name_of_another(void **state)
{
    struct http http = {0};
    char(*names)[UUID_SIZE] = calloc(NAMES, sizeof *names);
    (void)state;
    assert_non_null(names);
    assert_int_equal(seats_new(&http, &http.seats, NULL), ETHOS_OK);
    struct http_seat *seat = seats_take(http.seats);
    for (size_t i = 0; i < NAMES; i++) {
        seats_name(seat, names[i]);
        assert_int_equal(strlen(names[i]), UUID_SIZE - 1);
    }
    qsort(names, NAMES, sizeof *names, by_text);
    for (size_t i = 1; i < NAMES; i++)
        assert_true(by_text(names[i - 1], names[i]) < 0);
    assert_int_equal(names[0][14], '4'); // version and variant
    assert_non_null(strchr("89ab", names[0][19]));
    seats_free(http.seats);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_request_has_the_name_of_another),
        cmocka_unit_test(test_what_a_body_holds_is_the_input),
        WIRE_TEST(test_what_cannot_be_decoded_is_malformed),
        WIRE_TEST(test_every_mistake_is_told_with_its_place),
        WIRE_TEST(test_all_mistakes_are_told_at_once),
        WIRE_TEST(test_titles_are_counted_in_utf16),
        WIRE_TEST(test_unknown_members_are_ignored_everywhere),
        cmocka_unit_test(test_every_stable_call_has_an_operation),
        cmocka_unit_test(test_every_field_is_an_argument_of_its_operation),
        WIRE_TEST(test_what_does_not_exist_is_not_found_for_the_browser_and_forbidden_for_keys),
        WIRE_TEST(test_a_key_needs_the_scope_of_the_call),
        WIRE_TEST(test_procedures_are_called_with_post),
        cmocka_unit_test(test_codes_of_the_wire),
        WIRE_TEST(test_what_goes_wrong_inside_is_told_by_the_id_of_the_request_only),
        WIRE_TEST(test_a_file_is_read_written_and_read_again),
        WIRE_TEST(test_a_stale_revision_is_a_conflict_and_nothing_is_lost),
        WIRE_TEST(test_files_are_listed_memory_first),
        WIRE_TEST(test_a_dry_run_changes_nothing),
        WIRE_TEST(test_a_write_remembers_the_session_it_is_done_in),
        WIRE_TEST(test_history_is_told_as_the_reference_does),
        WIRE_TEST(test_a_long_diff_is_cut_and_its_text_is_a_blob),
        WIRE_TEST(test_a_blob_that_is_none_is_null),
        WIRE_TEST(test_nothing_is_pending),
        WIRE_TEST(test_capabilities_are_for_any_key),
        WIRE_TEST(test_what_another_program_lets_wait_is_listed),
        WIRE_TEST(test_there_is_no_model_to_talk_to),
        WIRE_TEST(test_sessions_are_listed_from_all_folders),
        WIRE_TEST(test_a_query_finds_sessions_and_the_personality_applies),
        WIRE_TEST(test_a_session_is_read_forked_renamed_and_deleted),
        WIRE_TEST(test_nothing_happens_to_a_session_by_half_its_id_or_in_another_version),
        WIRE_TEST(test_personalities_have_the_members_of_the_contract),
        WIRE_TEST(test_global_notes_need_no_workspace),
        WIRE_TEST(test_personalities_come_in_pages),
        cmocka_unit_test(test_arguments_are_whole_or_not_at_all),
    };

    return cmocka_run_group_tests_name("http/wire", tests, NULL, NULL);
}

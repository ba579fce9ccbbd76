/*
 * test_api.c: /api: files as resources, operations as plain HTTP; /openapi.json.
 */
#include "../handler_calls.h"

#include "http/handlers/json_schema.h"
#include "http/handlers/stable_calls.h"
#include "ops/result_types.h"

/* ---- /api ---------------------------------------------------------------------------------------------- */

static struct answer *api(struct world *world, enum http_method method, const char *path,
                          const char *const *query, const char *const *headers, const char *body)
{
    sent_query = query;
    sent_headers = headers;
    struct answer *answer = request(world, method, path, body, browser);
    sent_query = NULL;
    sent_headers = NULL;
    return answer;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define MEMORY "/api/memory/memory"

static void assert_problem(struct answer *answer, unsigned status, const char *code)
{
    if (answer->status != status || strcmp(text_at(answer->json, "code"), code) != 0)
        fail_msg("not %u %s: %u %s", status, code, answer->status, answer->text);
    assert_string_equal(answer->type, "application/problem+json");
    ASSERT_MEMBERS(answer->json, "type", "title", "status", "detail", "instance", "requestId");
    assert_int_equal(json_integer_value(json_object_get(answer->json, "status")), status);
}

/* The text with the tag in place of %s. */
static void fill(char *out, size_t size, const char *text, const char *tag)
{
    const char *place = strstr(text, "%s");
    int before = place ? (int)(place - text) : (int)strlen(text);
    snprintf(out, size, "%.*s%s%s", before, text, place ? tag : "", place ? place + 2 : "");
}

static void test_a_file_is_a_resource_with_a_revision(void **state)
{
    struct world *world = *state;
    char first[160], match[192];
    assert_problem(api(world, HTTP_GET, MEMORY, NULL, NULL, ""), 404, "notfound");
    assert_problem(api(world, HTTP_PUT, MEMORY, NULL, NULL, "{\"content\":\"One\"}"), 428,
                   "precondition-required");
    struct answer *answer = api(world, HTTP_PUT, MEMORY, NULL, LIST("If-None-Match: *"),
                                "{\"content\":\"One\"}");
    assert_int_equal(answer->status, 201);
    assert_string_equal(text_at(answer->json, "content"), "One\n");
    snprintf(first, sizeof first, "%s", answer->etag);
    assert_int_equal(*first, '"');
    assert_problem(
        api(world, HTTP_PUT, MEMORY, NULL, LIST("If-None-Match: *"), "{\"content\":\"Other\"}"),
        412, "conflict");
    assert_string_equal(new_answer->etag, first);
    snprintf(match, sizeof match, "If-Match: %s", first);
    answer = api(world, HTTP_PUT, MEMORY, NULL, LIST(match), "{\"content\":\"Two\"}");
    assert_int_equal(answer->status, 200);
    assert_string_not_equal(answer->etag, first);
    assert_problem(api(world, HTTP_PUT, MEMORY, NULL, LIST(match), "{\"content\":\"Three\"}"), 412,
                   "conflict");
    assert_string_not_equal(new_answer->etag, first);
    assert_string_not_equal(new_answer->etag, "");
    answer = api(world, HTTP_GET, MEMORY, NULL, LIST("Accept: text/markdown"), "");
    assert_string_equal(answer->text, "Two\n");
    assert_string_equal(answer->type, "text/markdown; charset=utf-8");
}

static void test_what_the_client_has_is_not_sent_again(void **state)
{
    struct world *world = *state;
    char none[320];
    struct answer *answer = api(world, HTTP_PUT, MEMORY, NULL, LIST("If-None-Match: *"),
                                "{\"content\":\"One\"}");
    snprintf(none, sizeof none, "If-None-Match: \"x\", W/%s", answer->etag);
    answer = api(world, HTTP_GET, MEMORY, NULL, LIST(none), "");
    assert_int_equal(answer->status, 304);
    assert_string_equal(answer->text, "");
    assert_string_not_equal(answer->etag, "");
    answer = api(world, HTTP_HEAD, MEMORY, NULL, LIST("Accept: text/markdown", none), "");
    assert_int_equal(answer->status, 304);
    answer = api(world, HTTP_GET, MEMORY, NULL, LIST("If-None-Match: \"x\""), "");
    assert_int_equal(answer->status, 200);
}

static void test_bytes_that_are_no_text_come_as_they_are(void **state)
{
    struct world *world = *state;
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, "{\"action\":\"add\",\"content\":\"x\"}"));
    struct answer *answer = api(world, HTTP_GET, MEMORY, NULL, NULL, "");
    const char *path = text_at(answer->json, "path");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("caf\xe9\n", file);
    fclose(file);
    answer = api(world, HTTP_GET, MEMORY, NULL, LIST("Accept: text/markdown"), "");
    assert_string_equal(answer->text, "caf\xe9\n");
    char tag[160];
    snprintf(tag, sizeof tag, "%s", answer->etag);
    answer = api(world, HTTP_GET, MEMORY, NULL, NULL, "");
    assert_string_equal(answer->etag, tag);
}

/* What a write says of the file, and what it gets. %s is the tag of the file. */
static void test_conditions_are_read_as_http_has_them(void **state)
{
    static const struct {
        const char *match, *none;
        unsigned status;
    } rows[] = {
        {"If-Match: %s", NULL, 200},
        {"If-Match: %s ", NULL, 200},
        {"If-Match: * ", NULL, 200},
        {"If-Match: \"other\", %s", NULL, 200},
        {"If-Match: %s,\t\"other\"", NULL, 200},
        {"If-Match: W/\"other\" ,%s", NULL, 200},
        {"If-Match: %s", "If-None-Match: \"other\"", 200},
        {"If-Match: \"other\", \"another\"", NULL, 412},
        {"If-Match: W/%s", NULL, 412},
        {"If-Match: \"other\", W/%s", NULL, 412},
        {"If-Match: %s", "If-None-Match: *", 412},
        {"If-Match: *", "If-None-Match: *", 412},
        {"If-Match: *", "If-None-Match: W/%s", 412},
    };
    struct world *world = *state;
    char match[256], none[256];
    api(world, HTTP_PUT, MEMORY, NULL, LIST("If-None-Match: *"), "{\"content\":\"One\"}");
    for (size_t i = 0; i < COUNT(rows); i++) {
        char tag[160], body[64];
        snprintf(tag, sizeof tag, "%s", api(world, HTTP_GET, MEMORY, NULL, NULL, "")->etag);
        fill(match, sizeof match, rows[i].match, tag);
        fill(none, sizeof none, rows[i].none ? rows[i].none : "X: y", tag);
        snprintf(body, sizeof body, "{\"content\":\"Text %zu\"}", i);
        struct answer *answer = api(world, HTTP_PUT, MEMORY, NULL, LIST(match, none), body);
        if (answer->status != rows[i].status)
            fail_msg("%s, %s: %u", rows[i].match, rows[i].none, answer->status);
        assert_int_equal(strcmp(answer->etag, tag) == 0, rows[i].status == 412);
    }
}

/* The same of a read, of the file and of the operation: the first time, and when its answer is known. */
static void test_reads_have_conditions_too(void **state)
{
    static const struct {
        const char *match, *none;
        unsigned status;
    } rows[] = {
        {"If-Match: %s", NULL, 200},
        {"If-Match: *", NULL, 200},
        {"If-Match: \"other\", %s", NULL, 200},
        {"If-Match: \"other\"", NULL, 412},
        {"If-Match: W/%s", NULL, 412},
        {"If-Match: \"other\"", "If-None-Match: %s", 412},
        {"If-Match: %s", "If-None-Match: %s", 304},
        {"X: y", "If-None-Match: W/%s", 304},
    };
    static const char *const paths[] = {MEMORY, "/api/memory/get"};
    struct world *world = *state;
    char match[256], none[256], tag[160];
    assert_int_equal(api(world, HTTP_GET, paths[1], NULL, NULL, "")->status, 200);
    assert_problem(api(world, HTTP_GET, paths[1], NULL, LIST("If-Match: *"), ""), 412, "conflict");
    api(world, HTTP_PUT, MEMORY, NULL, LIST("If-None-Match: *"), "{\"content\":\"One\"}");
    snprintf(tag, sizeof tag, "%s", api(world, HTTP_GET, MEMORY, NULL, NULL, "")->etag);
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        fill(match, sizeof match, rows[i / 2].match, tag);
        fill(none, sizeof none, rows[i / 2].none ? rows[i / 2].none : "X: y", tag);
        struct answer *answer = api(world, HTTP_GET, paths[i % 2], NULL, LIST(match, none), "");
        if (answer->status != rows[i / 2].status)
            fail_msg("%s, %s: %u", match, none, answer->status);
        assert_string_equal(answer->etag, tag);
        if (answer->status == 412)
            assert_problem(answer, 412, "conflict");
    }
}

static void test_what_is_not_there_meets_no_condition(void **state)
{
    static const char *const rows[] = {"If-Match: *", "If-Match: \"a\"", "If-Match: \"a\", \"b\""};
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_problem(api(world, HTTP_PUT, MEMORY, NULL, LIST(rows[i]), "{\"content\":\"One\"}"),
                       412, "conflict");
    assert_problem(api(world, HTTP_GET, MEMORY, NULL, NULL, ""), 404, "notfound");
}

static void test_a_file_is_deleted_when_it_is_the_one_that_was_read(void **state)
{
    struct world *world = *state;
    char match[192];
    struct answer *answer = api(world, HTTP_PUT, MEMORY, NULL, LIST("If-None-Match: *"),
                                "{\"content\":\"One\"}");
    snprintf(match, sizeof match, "If-Match: %s", answer->etag);
    assert_problem(api(world, HTTP_DELETE, MEMORY, NULL, NULL, ""), 428, "precondition-required");
    assert_problem(api(world, HTTP_DELETE, MEMORY, NULL, LIST("If-Match: \"sha256:00\""), ""), 412,
                   "conflict");
    assert_int_equal(api(world, HTTP_GET, MEMORY, NULL, NULL, "")->status, 200);
    assert_int_equal(api(world, HTTP_DELETE, MEMORY, NULL, LIST(match), "")->status, 204);
    assert_int_equal(api(world, HTTP_GET, MEMORY, NULL, NULL, "")->status, 404);
    assert_problem(api(world, HTTP_DELETE, MEMORY, NULL, LIST("If-Match: *"), ""), 404, "notfound");
}

static void test_the_query_says_whose_file_it_is(void **state)
{
    struct world *world = *state;
    const char *const *own = LIST("personality=coder", "key=plan.md");
    assert_int_equal(
        api(world, HTTP_PUT, MEMORY, own, LIST("If-None-Match: *"), "{\"content\":\"Plan\"}")
            ->status,
        201);
    struct answer *answer = api(world, HTTP_GET, MEMORY, own, NULL, "");
    assert_string_equal(text_at(answer->json, "scope"), "personality:coder");
    assert_string_equal(text_at(answer->json, "key"), "plan.md");
    assert_int_equal(api(world, HTTP_GET, MEMORY, LIST("key=plan.md"), NULL, "")->status, 404);
    assert_problem(api(world, HTTP_GET, MEMORY, LIST("colour=red"), NULL, ""), 400, "invalid");
    assert_problem(api(world, HTTP_GET, MEMORY, LIST("personality="), NULL, ""), 400, "invalid");
}

static void test_a_parameter_comes_once_unless_it_is_a_list(void **state)
{
    struct world *world = *state;
    const char *const *keys = LIST("key=plan.md", "key=MEMORY.md");
    assert_problem(api(world, HTTP_GET, MEMORY, keys, NULL, ""), 400, "invalid");
    assert_problem(
        api(world, HTTP_PUT, MEMORY, keys, LIST("If-None-Match: *"), "{\"content\":\"Plan\"}"), 400,
        "invalid");
    assert_problem(
        api(world, HTTP_GET, "/api/memory/get", LIST("store=user", "store=memory"), NULL, ""), 400,
        "invalid");
}

static void test_a_body_is_content_and_nothing_else(void **state)
{
    static const char *const bodies[] = {
        "", "[]", "{", "{\"content\":1}", "{\"text\":\"x\"}", "{\"content\":\"x\",\"more\":1}"};
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(bodies); i++)
        assert_problem(api(world, HTTP_PUT, MEMORY, NULL, LIST("If-None-Match: *"), bodies[i]), 400,
                       "invalid");
    assert_string_equal(api(world, HTTP_POST, MEMORY, NULL, NULL, "{}")->allow,
                        "GET, HEAD, PUT, DELETE");
    assert_false(world_exists(world, "home"));
}

static void test_reads_are_get_with_a_query_and_writes_are_post(void **state)
{
    struct world *world = *state;
    make_sessions(world);
    struct answer *answer = api(world, HTTP_GET, "/api/sessions/list",
                                LIST("limit=2", "all=true", "personalityId=p"), NULL, "");
    assert_int_equal(answer->status, 200);
    assert_int_equal(json_array_size(json_object_get(answer->json, "items")), 2);
    assert_problem(api(world, HTTP_GET, "/api/sessions/list", LIST("limit=x"), NULL, ""), 400,
                   "invalid");
    assert_problem(api(world, HTTP_GET, "/api/sessions/list", LIST("limit=201"), NULL, ""), 400,
                   "invalid");
    assert_problem(api(world, HTTP_GET, "/api/sessions/list", LIST("cursor=no!"), NULL, ""), 400,
                   "invalid");
    assert_problem(api(world, HTTP_GET, "/api/sessions/list", LIST("colour=1"), NULL, ""), 400,
                   "invalid");
    assert_problem(api(world, HTTP_POST, "/api/sessions/list", NULL, NULL, "{}"), 405,
                   "method-not-supported");
    assert_string_equal(new_answer->allow, "GET, HEAD");
    assert_problem(api(world, HTTP_GET, "/api/sessions/pin", LIST("id=" FIRST), NULL, ""), 405,
                   "method-not-supported");
    answer = api(world, HTTP_POST, "/api/sessions/pin", NULL, NULL, "{\"id\":\"" FIRST "\"}");
    assert_int_equal(answer->status, 200);
    assert_problem(api(world, HTTP_GET, "/api/sessions/get", LIST("id=nobody"), NULL, ""), 404,
                   "notfound");
    assert_problem(api(world, HTTP_POST, "/api/memory/add", NULL, NULL, "{}"), 404, "notfound");
}

static void test_what_destroys_must_say_what_it_means(void **state)
{
    struct world *world = *state;
    make_sessions(world);
    const char *body = "{\"id\":\"" EMPTY "\"}";
    assert_problem(api(world, HTTP_POST, "/api/sessions/delete", NULL, NULL, body), 428,
                   "precondition-required");
    assert_problem(
        api(world, HTTP_POST, "/api/sessions/delete", NULL, LIST("If-Match: \"x\""), body), 412,
        "conflict");
    assert_int_equal(
        api(world, HTTP_POST, "/api/sessions/delete", NULL, LIST("If-Match: *"), body)->status,
        200);
    assert_problem(api(world, HTTP_POST, "/api/memory/write", NULL, NULL, "{\"content\":\"x\"}"),
                   428, "precondition-required");
    assert_int_equal(
        api(world, HTTP_POST, "/api/memory/write", NULL, LIST("If-Match: *"), "{\"content\":\"x\"}")
            ->status,
        200);
    assert_problem(api(world, HTTP_POST, "/api/memory/write", NULL, LIST("If-Match: \"sha256:00\""),
                       "{\"content\":\"y\"}"),
                   412, "conflict");
    assert_string_not_equal(new_answer->etag, "");
}

static void test_who_named_no_revision_is_told_what_stands_in_the_way(void **state)
{
    struct world *world = *state;
    static const char *const bodies[] = {"{\"content\":\"one\"}",
                                         "{\"content\":\"two\",\"sessionId\":\"s1\"}",
                                         "{\"content\":\"three\"}"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            api(world, HTTP_POST, "/api/memory/write", NULL, LIST("If-Match: *"), bodies[i])
                ->status,
            200);
    assert_problem(api(world, HTTP_POST, "/api/memory/undo", NULL, LIST("If-Match: *"),
                       "{\"all\":true,\"session\":\"s1\"}"),
                   409, "conflict");
    assert_non_null(strstr(new_answer->text, "later changes stand in the same lines"));
}

/* Every operation that writes refuses a key that may only read, before it looks at anything else. */
static void test_a_reading_key_writes_nothing_through_the_api(void **state)
{
    const struct caller reader = {HTTP_KEY, OP_RIGHTS_READ};
    struct world *world = *state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        char path[96];
        snprintf(path, sizeof path, "/api/%s", op->name);
        for (char *dot = path; (dot = strchr(dot, '.'));)
            *dot = '/';
        struct answer *answer = request(world, op->effect & OP_WRITES ? HTTP_POST : HTTP_GET, path,
                                        "{", reader);
        if (op->effect & OP_WRITES)
            assert_problem(answer, 403, "denied");
    }
    assert_problem(request(world, HTTP_PUT, MEMORY, "{\"content\":\"x\"}", reader), 403, "denied");
    assert_problem(request(world, HTTP_DELETE, MEMORY, "", reader), 403, "denied");
    assert_false(world_exists(world, "home"));
}

/* ---- the description ------------------------------------------------------------------------------------ */

static void test_the_description_has_every_operation(void **state)
{
    struct world *world = *state;
    struct answer *answer = request(world, HTTP_GET, "/openapi.json", "", browser);
    assert_int_equal(answer->status, 200);
    const json_t *paths = json_object_get(answer->json, "paths");
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        char path[96];
        snprintf(path, sizeof path, "/api/%s", op->name);
        for (char *dot = path; (dot = strchr(dot, '.'));)
            *dot = '/';
        const json_t *methods = json_object_get(paths, path);
        bool served = api_op(path + 5) == op;
        if ((methods != NULL) != served)
            fail_msg("%s", op->name);
        if (served)
            assert_non_null(json_object_get(methods, op->effect & OP_WRITES ? "post" : "get"));
    }
    ASSERT_MEMBERS(json_object_get(paths, MEMORY), "get", "put", "delete");
}

static void test_the_description_is_not_sent_again(void **state)
{
    struct world *world = *state;
    char match[192];
    struct answer *answer = request(world, HTTP_GET, "/openapi.json", "", browser);
    assert_int_equal(answer->etag[0], '"');
    snprintf(match, sizeof match, "If-None-Match: %s", answer->etag);
    answer = api(world, HTTP_GET, "/openapi.json", NULL, LIST(match), "");
    assert_int_equal(answer->status, 304);
    assert_string_equal(answer->text, "");
}

/* A form that is not one would be a schema that says nothing. */
static void test_every_answer_has_a_form(void **state)
{
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (!shape_served(op) || (op->effect & OP_SHORTHAND))
            continue;
        const char *form = answer_form(op);
        if (!form)
            fail_msg("%s: ops/result_types.c does not say what it gives", op->name);
    }
    for (const struct answer_row *row = answers; row->name; row++)
        if (!op_find(row->name) && strncmp(row->name, "markdown.", 9) != 0)
            fail_msg("ops/result_types.c: there is no %s", row->name);
    const struct answer_row *const tables[] = {answer_types, answers};
    for (size_t i = 0; i < 2; i++) {
        for (const struct answer_row *row = tables[i]; row->name; row++) {
            json_t *schema = schema_json(row->form);
            if (!schema)
                fail_msg("%s: %s", row->name, row->form);
            json_decref(schema);
        }
    }
}

static void test_forms_are_schemas(void **state)
{
    static const char *const rows[][2] = {
        {"string", "{\"type\":\"string\"}"},
        {"int?", "{\"type\":[\"integer\",\"null\"]}"},
        {"any", "{}"},
        {"[bool]?", "{\"items\":{\"type\":\"boolean\"},\"type\":[\"array\",\"null\"]}"},
        {"'a|b'?", "{\"enum\":[\"a\",\"b\",null],\"type\":[\"string\",\"null\"]}"},
        {"{a: int, b?: Name}",
         "{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"$ref\":"
         "\"#/components/schemas/Name\"}},\"required\":[\"a\"],\"type\":\"object\"}"},
        {"{*: number}", "{\"additionalProperties\":{\"type\":\"number\"},\"properties\":{},"
                        "\"required\":[],\"type\":\"object\"}"},
        {"Name?", "{\"anyOf\":[{\"$ref\":\"#/components/schemas/Name\"},{\"type\":\"null\"}]}"},
        {"A & B", "{\"allOf\":[{\"$ref\":\"#/components/schemas/A\"},"
                  "{\"$ref\":\"#/components/schemas/B\"}]}"},
    };
    static const char *const wrong[] = {"",     "text",    "[int",   "{a int}", "{a: }", "int]",
                                        "'a|b", "{a: int", "int / ", "{: int}", "A B"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *schema = schema_json(rows[i][0]);
        char *text = json_dumps(schema, JSON_COMPACT | JSON_SORT_KEYS);
        assert_string_equal(text, rows[i][1]);
        free(text);
        json_decref(schema);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (schema_json(wrong[i]))
            fail_msg("%s is no form", wrong[i]);
    char deep[256];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    assert_null(schema_json(deep));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_answer_has_a_form),
        cmocka_unit_test(test_forms_are_schemas),
        WIRE_TEST(test_a_file_is_a_resource_with_a_revision),
        WIRE_TEST(test_what_the_client_has_is_not_sent_again),
        WIRE_TEST(test_bytes_that_are_no_text_come_as_they_are),
        WIRE_TEST(test_conditions_are_read_as_http_has_them),
        WIRE_TEST(test_reads_have_conditions_too),
        WIRE_TEST(test_what_is_not_there_meets_no_condition),
        WIRE_TEST(test_a_file_is_deleted_when_it_is_the_one_that_was_read),
        WIRE_TEST(test_the_query_says_whose_file_it_is),
        WIRE_TEST(test_a_parameter_comes_once_unless_it_is_a_list),
        WIRE_TEST(test_a_body_is_content_and_nothing_else),
        WIRE_TEST(test_reads_are_get_with_a_query_and_writes_are_post),
        WIRE_TEST(test_what_destroys_must_say_what_it_means),
        WIRE_TEST(test_who_named_no_revision_is_told_what_stands_in_the_way),
        WIRE_TEST(test_a_reading_key_writes_nothing_through_the_api),
        WIRE_TEST(test_the_description_has_every_operation),
        WIRE_TEST(test_the_description_is_not_sent_again),
    };

    return cmocka_run_group_tests_name("http/api", tests, NULL, NULL);
}

/*
 * test_hostile.c: whatever is said to ethos mcp gets the documented answer, the next request is served,
 * and nothing but protocol comes back.
 *
 * Every row is said to a real process, followed by a request that must be answered after it.
 */
#include "process.h"

enum { RESULT = 1 }; // what an answer may be instead of the code of an error
#define ALL_ANSWERS 4

/* The connections that a row is said to. */
enum { FRESH = 1, OLDEST = 2, BATCHES = 4, LATEST = 8, SETTLED = OLDEST | BATCHES | LATEST };

static const struct connection {
    unsigned bit;
    const char *version; /* settled by initialize, or NULL */
} connections[] = {
    {FRESH, NULL}, {OLDEST, "2024-11-05"}, {BATCHES, "2025-03-26"}, {LATEST, "2025-11-25"}};
#define EVERY (FRESH | SETTLED)

struct row {
    unsigned where;
    struct ethos_view bytes; /* with ' for " */
    int answers[ALL_ANSWERS];
};

/* ---- saying it ------------------------------------------------------------------------------- */

static void settle(struct process *self, const char *version)
{
    char message[256];
    snprintf(message, sizeof message,
             "{'jsonrpc':'2.0','id':'i','method':'initialize','params':{'protocolVersion':'%s'}}",
             version);
    tell(self, message);
    json_t *reply = next_reply(self);
    assert_string_equal(text_at(reply, "result.protocolVersion"), version);
    json_decref(reply);
}

#define MARKER "\n{'jsonrpc':'2.0','id':'marker','method':'ping'}\n"

/* At once, as far as a pipe can: what follows a message may be about it. */
static void put_with_marker(struct process *self, struct ethos_view bytes)
{
    size_t size = bytes.size + strlen(MARKER);
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    memcpy(copy + bytes.size, MARKER, sizeof MARKER);
    for (size_t i = 0; i < size; i++)
        copy[i] = copy[i] == '\'' ? '"' : copy[i];
    put(self, view_of(copy, size));
    free(copy);
}

/* What is said until the marker is answered, each line an element; free it. */
static json_t *answers_to(struct process *self, struct ethos_view bytes)
{
    json_t *answers = json_array(), *reply;
    put_with_marker(self, bytes);
    for (;;) {
        reply = next_line(self);
        const char *id = json_string_value(json_object_get(reply, "id"));
        if (id && strcmp(id, "marker") == 0)
            break;
        json_array_append_new(answers, reply);
    }
    assert_true(json_is_object(json_object_get(reply, "result")));
    json_decref(reply);
    return answers;
}

static int kind_of(const json_t *answer)
{
    return at(answer, "result") ? RESULT : (int)json_integer_value(at(answer, "error.code"));
}

static void assert_answers(struct process *self, const struct row *row)
{
    json_t *answers = answers_to(self, row->bytes);
    size_t expected = 0;
    while (expected < ALL_ANSWERS && row->answers[expected])
        expected++;
    char *text = json_dumps(answers, 0);
    if (json_array_size(answers) != expected)
        fail_msg("%.300s: %zu answers, not %zu: %.600s", row->bytes.data, json_array_size(answers),
                 expected, text);
    for (size_t i = 0; i < expected; i++)
        if (kind_of(json_array_get(answers, i)) != row->answers[i])
            fail_msg("%.300s: not %d: %.600s", row->bytes.data, row->answers[i], text);
    free(text);
    json_decref(answers);
}

/* Nothing is left to be read, and it ends as it should. */
static void assert_ends_clean(struct process *self)
{
    shut(&self->in);
    char byte;
    assert_int_equal(self->read.size, 0);
    assert_int_equal(read(self->out, &byte, 1), 0);
    assert_int_equal(ended(self), 0);
}

/* ---- the corpus ------------------------------------------------------------------------------ */

#define ROW(where, text, ...)                                                                      \
    {                                                                                              \
        where, VIEW(text),                                                                         \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define PING "{'jsonrpc':'2.0','id':1,'method':'ping'}"
#define CALL(params) "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{" params "}}"

static const struct row rows[] = {
    /* no JSON */
    ROW(EVERY, "{", -32700),
    ROW(EVERY, "}", -32700),
    ROW(EVERY, "nonsense", -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'method':'ping'", -32700),
    ROW(EVERY, PING "}", -32700),
    ROW(EVERY, PING " " PING, -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'method':'ping',}", -32700),
    ROW(EVERY, "// " PING, -32700),
    ROW(EVERY, "Content-Length: 41\r\n\r\n" PING, -32700, RESULT),
    ROW(EVERY, "\xEF\xBB\xBF" PING, -32700),
    /* names twice: which of them would count? */
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'id':2,'method':'ping'}", -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'method':'ping','method':'ping'}", -32700),
    ROW(EVERY, CALL("'name':'memory_read','name':'memory_write'"), -32700),
    ROW(EVERY, CALL("'name':'memory_read','arguments':{'key':'a','key':'b'}"), -32700),
    /* no UTF-8 */
    ROW(EVERY, "\xff\xfe", -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':'\xc3\x28','method':'ping'}", -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':'\xed\xa0\x80','method':'ping'}", -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':'\xc0\xaf','method':'ping'}", -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'method':'ping','params':{'\xff':1}}", -32700),
    /* NUL, as a byte and as an escape */
    ROW(EVERY, "\0", -32700),
    ROW(EVERY, PING "\0", -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':'a\0b','method':'ping'}", -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':'a\\u0000b','method':'ping'}", RESULT),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'method':'ping\\u0000'}", -32600),
    ROW(EVERY, "{'jsonrpc':'2.0\\u0000','id':1,'method':'ping'}", -32600),
    ROW(SETTLED, CALL("'name':'memory_read\\u0000'"), -32602),
    ROW(SETTLED, CALL("'name':'memory_write','arguments':{'action':'add\\u0000','content':'x'}"),
        RESULT),
    ROW(SETTLED, CALL("'name':'memory_read','arguments':{'key':'a.md\\u0000'}"), RESULT),
    ROW(SETTLED, CALL("'name':'memory_read','arguments':{'store\\u0000':'user'}"), -32700),
    ROW(SETTLED,
        "{'jsonrpc':'2.0','id':1,'method':'prompts/get','params':{'name':'recall\\u0000'}}",
        -32602),
    ROW(SETTLED,
        "{'jsonrpc':'2.0','id':1,'method':'resources/read','params':"
        "{'uri':'ethos://memory/MEMORY.md\\u0000'}}",
        -32002),
    ROW(SETTLED,
        "{'jsonrpc':'2.0','id':1,'method':'logging/setLevel','params':{'level':'info\\u0000'}}",
        -32602),
    /* surrogates without their other half are U+FFFD, in an id, too */
    ROW(EVERY, "{'jsonrpc':'2.0','id':'\\ud800','method':'ping'}", RESULT),
    ROW(EVERY, "{'jsonrpc':'2.0','id':'\\udc00','method':'ping'}", RESULT),
    ROW(EVERY, "{'jsonrpc':'2.0','id':'\\ud83d\\ud83d','method':'ping'}", RESULT),
    ROW(EVERY, "{'jsonrpc':'2.0','id':'\\ud83d\\ude00','method':'ping'}", RESULT),
    /* numbers */
    ROW(EVERY, "{'jsonrpc':'2.0','id':99999999999999999999,'method':'ping'}", -32600),
    ROW(EVERY, "{'jsonrpc':'2.0','id':9223372036854775808,'method':'ping'}", -32600),
    ROW(EVERY, "{'jsonrpc':'2.0','id':9223372036854775807,'method':'ping'}", RESULT),
    ROW(EVERY, "{'jsonrpc':'2.0','id':-9223372036854775808,'method':'ping'}", RESULT),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1e999,'method':'ping'}", -32600),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1e2,'method':'ping'}", -32600),
    ROW(EVERY, "{'jsonrpc':'2.0','id':01,'method':'ping'}", -32700),
    ROW(EVERY, "{'jsonrpc':'2.0','id':NaN,'method':'ping'}", -32700),
    ROW(SETTLED,
        CALL("'name':'memory_search','arguments':{'query':'x','limit':9223372036854775807}"),
        RESULT),
    ROW(SETTLED,
        CALL("'name':'memory_search','arguments':{'query':'x','limit':99999999999999999999}"),
        RESULT),
    /* JSON, but no message */
    ROW(EVERY, "1", -32600),
    ROW(EVERY, "'ping'", -32600),
    ROW(EVERY, "null", -32600),
    ROW(EVERY, "true", -32600),
    ROW(EVERY, "{}", -32600),
    ROW(EVERY, "{'jsonrpc':'2.0'}", -32600),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1}", -32600),
    ROW(EVERY, "{'id':1,'method':'ping'}", -32600),
    ROW(EVERY, "{'JSONRPC':'2.0','id':1,'method':'ping'}", -32600),
    /* methods that nobody has */
    ROW(FRESH, "{'jsonrpc':'2.0','id':1,'method':'no/such'}", -32600),
    ROW(SETTLED, "{'jsonrpc':'2.0','id':1,'method':'no/such'}", -32601),
    ROW(SETTLED, "{'jsonrpc':'2.0','id':1,'method':''}", -32601),
    ROW(SETTLED, "{'jsonrpc':'2.0','id':1,'method':'Tools/List'}", -32601),
    ROW(SETTLED, "{'jsonrpc':'2.0','id':1,'method':'resources/subscribe','params':{'uri':'x'}}",
        -32601),
    ROW(SETTLED, "{'jsonrpc':'2.0','id':1,'method':'notifications/initialized'}", -32601),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'method':'ping','params':{" MODERN "}}", -32601),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{" MODERN "}}", -32601),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'method':'no/such','params':{" MODERN "}}", -32601),
    /* what asks for nothing gets nothing */
    ROW(EVERY, "", 0),
    ROW(EVERY, "\r", 0),
    ROW(EVERY, "\n\r\n \t \n", 0),
    ROW(EVERY, "{'jsonrpc':'2.0','method':'no/such'}", 0),
    ROW(EVERY, "{'jsonrpc':'2.0','method':'ping','params':[]}", 0),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'result':{}}", 0),
    ROW(EVERY, "{'jsonrpc':'2.0','id':1,'error':{'code':0,'message':''}}", 0),
    ROW(EVERY,
        "{'jsonrpc':'2.0','id':1,'result':{},'params':{'arguments':{'name':'a'}}}\n"
        "{'jsonrpc':'2.0','id':2,'result':{},'params':{'arguments':{'name':'b'}}}", // alike
        0),
    /* a line may end as on Windows, and be indented */
    ROW(EVERY, PING "\r", RESULT),
    ROW(EVERY, " \t" PING " ", RESULT),
    ROW(EVERY, PING "\r\n\r\n" PING "\r", RESULT, RESULT),
    /* an id may come again */
    ROW(EVERY, PING "\n" PING, RESULT, RESULT),
/* cancellations, of anything */
#define CANCEL(id)                                                                                 \
    "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':" id "}}"
    ROW(EVERY, CANCEL("77"), 0),
    ROW(EVERY, CANCEL("null") "\n" CANCEL("{}") "\n" CANCEL("1.5") "\n" PING, RESULT),
    ROW(EVERY, "{'jsonrpc':'2.0','method':'notifications/cancelled'}", 0),
    ROW(EVERY, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':[1]}", 0),
    ROW(EVERY, PING "\n" CANCEL("1"), 0),
    ROW(EVERY, PING "\n" CANCEL("'1'"), RESULT),
    ROW(EVERY, CANCEL("1") "\n" PING, RESULT),
    ROW(EVERY, PING "\n" PING "\n" CANCEL("1"), 0),
    ROW(EVERY, "{'jsonrpc':'2.0','id':2,'method':'no/such'}\n" CANCEL("2") "\n" PING, RESULT),
    /* batches, where there are some and where there are none */
    ROW(FRESH | OLDEST | LATEST, "[" PING "]", -32600),
    ROW(EVERY, "[]", -32600),
    ROW(FRESH | OLDEST | LATEST, "[[]]", -32600),
    ROW(EVERY, "[" PING, -32700),
};

static void test_each_gets_its_answer_and_the_next_is_served(void **state)
{
    for (size_t c = 0; c < COUNT(connections); c++) {
        struct process self;
        start(&self, *state, NULL);
        if (connections[c].version)
            settle(&self, connections[c].version);
        for (size_t i = 0; i < COUNT(rows); i++)
            if (rows[i].where & connections[c].bit)
                assert_answers(&self, &rows[i]);
        assert_ends_clean(&self);
    }
    assert_false(world_exists(*state, "home/personalities")); // nothing of it was a change
}

/* A batch is answered by an array: an element for each request, errors among them. */
static void test_a_batch_is_answered_as_one(void **state)
{
    static const struct {
        const char *batch;
        int answers[ALL_ANSWERS];
    } batches[] = {
        {"[" PING "]", {RESULT}},
        {"[" PING "," PING "]", {RESULT, RESULT}},
        {"[1,'x',{}]", {-32600, -32600, -32600}},
        {"[[" PING "]]", {-32600}},
        {"[" PING ",{'jsonrpc':'2.0','id':2,'method':'no/such'}]", {RESULT, -32601}},
        {"[{'jsonrpc':'2.0','id':1,'method':'server/discover','params':{" MODERN "}}]", {-32600}},
        {"[{'jsonrpc':'2.0','method':'notifications/initialized'}," PING "]", {RESULT}},
        {"[" PING ",{'jsonrpc':'2.0','id':2,'method':'ping'}," CANCEL("2") "]", {RESULT, RESULT}},
        {"[{'jsonrpc':'2.0','method':'notifications/initialized'}]", {0}},
    };
    struct process self;
    start(&self, *state, NULL);
    settle(&self, "2025-03-26");
    for (size_t i = 0; i < COUNT(batches); i++) {
        size_t expected = 0;
        json_t *answers = answers_to(&self, view_str(batches[i].batch));
        while (batches[i].answers[expected])
            expected++;
        assert_int_equal(json_array_size(answers), expected > 0);
        assert_int_equal(json_array_size(at(answers, "0")), expected);
        for (size_t k = 0; k < expected; k++)
            if (kind_of(json_array_get(at(answers, "0"), k)) != batches[i].answers[k])
                fail_msg("%s: answer %zu", batches[i].batch, k);
        json_decref(answers);
    }
    assert_ends_clean(&self);
}

/* ---- large ones ------------------------------------------------------------------------------ */

static void add_repeated(struct str *out, const char *piece, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_adds(out, piece);
}

/* A message with something large in it: before, a piece many times, after. */
static const struct {
    const char *before, *piece;
    size_t count;
    const char *after;
    int answer;
} large[] = {
    {"", "[", 1000000, "", -32700},
    {"", "{'a':", 200000, "", -32700},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':{'a':", "[", 65, "", -32700},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':", "[", 500000, "", -32700},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':{'a':'", "x", 1000000, "'}}", RESULT},
    {"{'jsonrpc':'2.0','id':'", "i", 100000, "','method':'ping'}", RESULT},
    {"{'jsonrpc':'2.0','id':1,'method':'", "m", 100000, "'}", -32601},
    {"{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'", "n", 100000, "'}}",
     -32602},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':{'a':[", "0,", 200000, "0]}}", RESULT},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':{'a':[", "0,", 400000, "0]}}", -32700},
    {"", "x", 10 << 20, "", -32600},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':{'a':'", "x", 10 << 20, "'}}", -32600},
    {"", "[", 10 << 20, "", -32600},
    {"", "\xff", 10 << 20, "", -32600},
    {"[", PING ",", 20000, PING "]", -32600},
};

static void test_large_messages_are_refused_or_served(void **state)
{
    struct process self;
    start(&self, *state, NULL);
    settle(&self, "2025-11-25");
    for (size_t i = 0; i < COUNT(large); i++) {
        struct str message;
        str_init(&message, SIZE_MAX);
        str_adds(&message, large[i].before);
        add_repeated(&message, large[i].piece, large[i].count);
        str_adds(&message, large[i].after);
        assert_int_equal(str_code(&message), ETHOS_OK);
        assert_answers(&self, &(struct row){0, str_view(&message), {large[i].answer}});
        str_release(&message);
    }
    assert_ends_clean(&self);
}

/* ---- every field, with every type ------------------------------------------------------------ */

static const struct {
    char type;
    const char *json;
} values[] = {{'n', "null"}, {'b', "true"}, {'i', "5"}, {'r', "1.5"},
              {'s', "'x'"},  {'a', "[]"},   {'o', "{}"}};

#define META(name) "'io.modelcontextprotocol/" name "'"
#define ABOUT_MODERN(version, capabilities, more)                                                  \
    "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':{" META(                      \
        "protocolVersion") ":" version "," META("clientCapabilities") ":" capabilities more "}}}"

/* Where %s stands, the types of `served` get a result and all others the error. */
static const struct {
    const char *message, *served;
    int code, text_code; /* of a string, if another */
} fields[] = {
    {"{'jsonrpc':%s,'id':1,'method':'ping'}", "", -32600, 0},
    {"{'jsonrpc':'2.0','id':%s,'method':'ping'}", "is", -32600, 0},
    {"{'jsonrpc':'2.0','id':1,'method':%s}", "", -32600, -32601},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':%s}", "no", -32600, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':{'_meta':%s}}", "nbirsao", 0, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':%s}}", "s", -32602,
     0},
    {"{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':'2025-11-25',"
     "'capabilities':%s}}",
     "nbirsao", 0, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':'2025-11-25',"
     "'clientInfo':%s}}",
     "nbirsao", 0, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':'2025-11-25',"
     "'clientInfo':{'name':%s}}}",
     "nbirsao", 0, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'logging/setLevel','params':{'level':%s}}", "", -32602, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'cursor':%s}}", "n", -32602, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'resources/list','params':{'cursor':%s}}", "n", -32602, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'prompts/list','params':{'cursor':%s}}", "n", -32602, 0},
    {CALL("'name':%s"), "", -32602, 0},
    {CALL("'name':'memory_read','arguments':%s"), "no", -32602, 0},
    {CALL("'name':'memory_read','_meta':{'progressToken':%s}"), "nbirsao", 0, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'resources/read','params':{'uri':%s}}", "", -32602, -32002},
    {"{'jsonrpc':'2.0','id':1,'method':'prompts/get','params':{'name':%s}}", "", -32602, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'prompts/get','params':{'name':'recall','arguments':%s}}",
     "no", -32602, 0},
    {"{'jsonrpc':'2.0','id':1,'method':'prompts/get','params':{'name':'recall','arguments':"
     "{'topic':%s}}}",
     "s", -32602, 0},
    {ABOUT_MODERN("%s", "{}", ""), "", -32602, -32022},
    {ABOUT_MODERN("'2026-07-28'", "%s", ""), "o", -32602, 0},
    {ABOUT_MODERN("'2026-07-28'", "{}", "," META("clientInfo") ":%s"), "nbirsao", 0, 0},
    {ABOUT_MODERN("'2026-07-28'", "{}", "," META("logLevel") ":%s"), "nbirsao", 0, 0},
    {ABOUT_MODERN("'2026-07-28'", "{}", ",'progressToken':%s"), "nbirsao", 0, 0},
};

/* The template with the value in the place of %s. */
static void fill_in(const char *template, const char *value, char *out, size_t size)
{
    const char *place = strstr(template, "%s");
    assert_non_null(place);
    snprintf(out, size, "%.*s%s%s", (int)(place - template), template, value, place + 2);
}

static void test_every_field_has_its_types(void **state)
{
    struct process self;
    start(&self, *state, NULL);
    settle(&self, "2025-11-25");
    for (size_t i = 0; i < COUNT(fields); i++) {
        for (size_t v = 0; v < COUNT(values); v++) {
            char message[1024];
            bool text = values[v].type == 's' && fields[i].text_code;
            fill_in(fields[i].message, values[v].json, message, sizeof message);
            struct row row = {0, view_str(message), {0}};
            row.answers[0] = strchr(fields[i].served, values[v].type) ? RESULT
                             : text                                   ? fields[i].text_code
                                                                      : fields[i].code;
            assert_answers(&self, &row);
        }
    }
    assert_ends_clean(&self);
}

/* ---- every argument of every tool, with every type ------------------------------------------- */

static bool fits(const char *type, char value)
{
    return value == 'n' || (strcmp(type, "string") == 0 && value == 's') ||
           (strcmp(type, "integer") == 0 && value == 'i') ||
           (strcmp(type, "boolean") == 0 && value == 'b');
}

/* A value of a type that the argument does not have: a result that names the argument. */
static void try_argument(struct process *self, const char *tool, const char *name, const char *type)
{
    for (size_t v = 0; v < COUNT(values); v++) {
        char message[512];
        if (fits(type, values[v].type))
            continue;
        const char *chosen = strstr(tool, "memory_write") && strcmp(name, "action") != 0
                                 ? strcmp(name, "substringMatch") == 0 ? "'action':'remove',"
                                                                       : "'action':'add',"
                                 : "";
        snprintf(message, sizeof message, CALL("'name':'%s','arguments':{%s'%s':%s}"), tool, chosen,
                 name, values[v].json);
        json_t *answers = answers_to(self, view_str(message));
        assert_int_equal(json_array_size(answers), 1);
        assert_true(json_is_true(at(answers, "0.result.isError")));
        const char *why = text_at(answers, "0.result.content.0.text");
        const char *shown = strcmp(name, "if_match") == 0 ? "ifMatch" : name;
        if (!strstr(why, shown) && !strstr(why, "missing"))
            fail_msg("%s: %s", message, why);
        json_decref(answers);
    }
}

static void test_every_argument_of_every_tool_has_its_type(void **state)
{
    struct process self;
    size_t index, arguments = 0;
    json_t *tool, *schema;
    const char *name;
    start(&self, *state, (const char *const[]){"--team", "crew", NULL});
    settle(&self, "2025-11-25");
    json_t *answers = answers_to(&self, VIEW("{'jsonrpc':'2.0','id':1,'method':'tools/list'}"));
    json_array_foreach (at(answers, "0.result.tools"), index, tool) {
        json_object_foreach ((json_t *)at(tool, "inputSchema.properties"), name, schema) {
            try_argument(&self, text_at(tool, "name"), name, text_at(schema, "type"));
            arguments++;
        }
    }
    assert_true(arguments > 25);
    json_decref(answers);
    assert_ends_clean(&self);
    assert_false(world_exists(*state, "home/personalities"));
    assert_false(world_exists(*state, "home/teams"));
}

/* ---- endings, and many ----------------------------------------------------------------------- */

static void test_half_a_message_at_the_end_is_told(void **state)
{
    static const struct {
        struct ethos_view bytes;
        int answer;
    } ends[] = {{VIEW("{\"jsonrpc\":\"2.0\",\"id\":1,\"meth"), -32700},
                {VIEW("{"), -32700},
                {VIEW("\xe2\x82"), -32700},
                {VIEW("\r"), 0},
                {VIEW("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"), RESULT}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct process self;
        start(&self, *state, NULL);
        put(&self, ends[i].bytes);
        shut(&self.in);
        if (ends[i].answer) {
            json_t *reply = next_reply(&self);
            assert_int_equal(kind_of(reply), ends[i].answer);
            json_decref(reply);
        }
        assert_ends_clean(&self);
    }
}

/* Bytes at random, and rows of the corpus with one byte changed: no line may leave it in disorder. */
static void add_garbage(struct str *out, unsigned *seed, unsigned number)
{
    struct ethos_view bytes = rows[number % COUNT(rows)].bytes;
    size_t start = out->size;
    *seed = *seed * 1103515245 + 12345;
    for (size_t i = 0; i < bytes.size; i++)
        str_addc(out, bytes.data[i] == '\'' ? '"' : bytes.data[i]);
    if (bytes.size > 0)
        out->data[start + (*seed >> 16) % bytes.size] = (char)(*seed >> 8);
    str_addc(out, '\n');
}

static void test_a_thousand_malformed_messages_then_a_good_one(void **state)
{
    struct process self;
    struct str said;
    unsigned seed = 11;
    start(&self, *state, NULL);
    settle(&self, "2025-11-25");
    str_init(&said, SIZE_MAX);
    for (unsigned i = 0; i < 1000; i++) {
        str_clear(&said);
        add_garbage(&said, &seed, i);
        put(&self, str_view(&said));
        json_decref(answers_to(&self, VIEW("{")));
    }
    str_release(&said);
    json_t *answers = answers_to(&self, VIEW(CALL("'name':'memory_read'")));
    assert_true(json_is_false(at(answers, "0.result.isError")));
    json_decref(answers);
    assert_ends_clean(&self);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_each_gets_its_answer_and_the_next_is_served),
        CLIENT_TEST(test_a_batch_is_answered_as_one),
        CLIENT_TEST(test_large_messages_are_refused_or_served),
        CLIENT_TEST(test_every_field_has_its_types),
        CLIENT_TEST(test_every_argument_of_every_tool_has_its_type),
        CLIENT_TEST(test_half_a_message_at_the_end_is_told),
        CLIENT_TEST(test_a_thousand_malformed_messages_then_a_good_one),
    };

    return cmocka_run_group_tests_name("mcp/hostile", tests, NULL, NULL);
}

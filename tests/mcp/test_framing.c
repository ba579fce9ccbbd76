/*
 * test_framing.c: bytes to messages: however they are cut, the same answers; the limit of a line; requests
 * that are cancelled before their turn, or while they run.
 */
#include "client.h"

struct stream {
    struct client client; /* for its run function and its world */
    struct mcp_stream stream;
    struct str out;
};

static void open_stream(struct stream *self, void **state)
{
    client_open(&self->client, *state, OP_RIGHTS_AGENT);
    mcp_stream_init(&self->stream, &self->client.mcp);
    str_init(&self->out, 2 * (size_t)MCP_MAX_REPLY);
}

static void close_stream(struct stream *self)
{
    mcp_stream_release(&self->stream);
    str_release(&self->out);
    client_close(&self->client);
}

static void feed(struct stream *self, struct ethos_view bytes, size_t piece)
{
    while (bytes.size > 0) {
        size_t size = bytes.size < piece ? bytes.size : piece;
        assert_int_equal(mcp_stream_add(&self->stream, view_of(bytes.data, size)), ETHOS_OK);
        while (mcp_stream_next(&self->stream, false, &self->out))
            ;
        bytes = view_from(bytes, size);
    }
}

static void end(struct stream *self)
{
    while (mcp_stream_next(&self->stream, true, &self->out))
        ;
}

/* What was said, with ' for ", as one write. */
static json_t *replies_to(struct stream *self, const char *said)
{
    char *text = quoted(said);
    str_clear(&self->out);
    feed(self, view_str(text), SIZE_MAX);
    free(text);
    return read_replies(str_view(&self->out));
}

#define PING(id) "{'jsonrpc':'2.0','id':" id ",'method':'ping'}\n"
#define CANCEL(id)                                                                                 \
    "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':" id "}}\n"
#define READ(id)                                                                                   \
    "{'jsonrpc':'2.0','id':" id ",'method':'tools/call','params':{'name':'memory_read'," MODERN    \
    "}}\n"

/* ---- lines ----------------------------------------------------------------------------------- */

static void test_pieces_do_not_matter(void **state)
{
    static const char said[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n \r\n"
                               "broken\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\r\n"
                               "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}";
    char *whole = NULL;
    for (size_t piece = 1; piece < sizeof said; piece++) {
        struct stream self;
        open_stream(&self, state);
        feed(&self, view_of(said, sizeof said - 1), piece);
        end(&self);
        json_t *replies = read_replies(str_view(&self.out));
        assert_int_equal(json_array_size(replies), 4); // the last without its newline, too
        assert_failure(json_array_get(replies, 1), -32700);
        json_decref(replies);
        if (!whole)
            whole = strdup(self.out.data);
        assert_string_equal(self.out.data, whole);
        close_stream(&self);
    }
    free(whole);
}

/* A message of exactly this many bytes, which is a good ping. */
static void add_sized(struct str *out, size_t size)
{
    size_t start = out->size;
    str_adds(out, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":{\"x\":\"");
    while (out->size - start < size - 3)
        str_addc(out, 'x');
    str_adds(out, "\"}}");
    assert_int_equal(out->size - start, size);
}

static void test_a_line_has_its_limit(void **state)
{
    static const struct {
        size_t size;
        int code;
    } rows[] = {{MCP_MAX_LINE - 1, 0},
                {MCP_MAX_LINE, 0},
                {MCP_MAX_LINE + 1, -32600},
                {(size_t)MCP_MAX_LINE * 10, -32600},
                {(size_t)MCP_MAX_LINE * 100, -32600}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stream self;
        struct str said;
        open_stream(&self, state);
        str_init(&said, SIZE_MAX / 2);
        add_sized(&said, rows[i].size);
        str_adds(&said, "\n{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}\n");
        feed(&self, str_view(&said), 65536);
        json_t *replies = read_replies(str_view(&self.out));
        assert_int_equal(json_array_size(replies), 2); // once, and the next is served
        if (rows[i].code)
            assert_failure(json_array_get(replies, 0), rows[i].code);
        else
            assert_int_equal(json_integer_value(at(replies, "0.id")), 5);
        assert_int_equal(json_integer_value(at(replies, "1.id")), 6);
        assert_true(self.stream.in.capacity < 4 * (size_t)MCP_MAX_LINE); // it was not collected
        json_decref(replies);
        str_release(&said);
        close_stream(&self);
    }
}

static void test_a_long_line_that_never_ends_is_told_at_the_end(void **state)
{
    struct stream self;
    struct str said;
    open_stream(&self, state);
    str_init(&said, SIZE_MAX / 2);
    add_sized(&said, (size_t)MCP_MAX_LINE * 2);
    feed(&self, str_view(&said), 65536);
    assert_int_equal(self.out.size, 0);
    end(&self);
    json_t *replies = read_replies(str_view(&self.out));
    assert_int_equal(json_array_size(replies), 1);
    json_decref(replies);
    str_release(&said);
    close_stream(&self);
}

/* ---- hostile input --------------------------------------------------------------------------- */

static void add_garbage(struct str *out, unsigned *seed, unsigned kind)
{
    static const char *const wrong[] = {
        "{",
        "[",
        "]",
        "null",
        "{}",
        "[[]]",
        "\"x\"",
        "-",
        "{\"jsonrpc\":\"2.0\",\"id\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":{}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}"};
    if (kind % 3 == 0) {
        str_adds(out, wrong[kind % COUNT(wrong)]);
    } else {
        for (unsigned i = 0; i < 40; i++) {
            *seed = *seed * 1103515245 + 12345;
            char c = (char)(*seed >> 16);
            str_addc(out, c == '\n' ? '{' : c);
        }
    }
    str_addc(out, '\n');
}

static void test_a_thousand_malformed_messages_leave_it_running(void **state)
{
    struct stream self;
    struct str said;
    unsigned seed = 7;
    open_stream(&self, state);
    str_init(&said, MCP_MAX_LINE);
    for (unsigned i = 0; i < 1000; i++)
        add_garbage(&said, &seed, i);
    feed(&self, str_view(&said), 4096);
    json_t *replies = read_replies(str_view(&self.out));
    size_t index;
    json_t *reply;
    assert_true(json_array_size(replies) >= 900); // a line of blanks is none
    json_array_foreach (replies, index, reply)
        assert_true(json_integer_value(at(reply, "error.code")) <= -32600);
    json_decref(replies);
    replies = replies_to(&self, READ("1"));
    assert_int_equal(json_array_size(replies), 1);
    assert_true(json_is_false(at(replies, "0.result.isError")));
    json_decref(replies);
    str_release(&said);
    close_stream(&self);
}

/* ---- cancellation ---------------------------------------------------------------------------- */

static void test_what_was_cancelled_meanwhile_is_not_answered(void **state)
{
    struct stream self;
    open_stream(&self, state);
    json_t *replies = replies_to(&self,
                                 READ("1") READ("'1'") PING("2") READ("3") CANCEL("1") CANCEL("3"));
    assert_int_equal(json_array_size(replies), 2);
    assert_string_equal(text_at(replies, "0.id"), "1"); // a string is another id
    assert_int_equal(json_integer_value(at(replies, "1.id")), 2);
    assert_int_equal(self.client.runs, 1);
    json_decref(replies);
    replies = replies_to(&self, READ("1")); // the id is free again
    assert_int_equal(json_array_size(replies), 1);
    json_decref(replies);
    close_stream(&self);
}

static void test_cancelling_what_is_not_waiting_changes_nothing(void **state)
{
    struct stream self;
    open_stream(&self, state);
    json_t *replies = replies_to(
        &self, CANCEL("9") CANCEL("null")
                   CANCEL("{}") "{'jsonrpc':'2.0','method':'notifications/cancelled'}\n"
                                "cancelled\n" PING("9"));
    assert_int_equal(json_array_size(replies), 2);
    assert_int_equal(json_integer_value(at(replies, "1.id")), 9);
    json_decref(replies);
    close_stream(&self);
}

static void test_initialize_cannot_be_cancelled(void **state)
{
    struct stream self;
    open_stream(&self, state);
    json_t *replies = replies_to(&self, "{'jsonrpc':'2.0','id':1,'method':'initialize','params':"
                                        "{'protocolVersion':'2025-06-18'}}\n" CANCEL("1"));
    assert_int_equal(json_array_size(replies), 1);
    json_decref(replies);
    close_stream(&self);
}

/* Meanwhile its cancellation comes in. */
static void cancel_now(void *arg)
{
    struct stream *self = arg;
    if (self->client.runs == 0)
        return;
    char *text = quoted(CANCEL("4"));
    assert_int_equal(mcp_stream_add(&self->stream, view_str(text)), ETHOS_OK);
    free(text);
}

static void test_what_is_cancelled_while_it_runs_is_not_answered(void **state)
{
    struct stream self;
    open_stream(&self, state);
    self.stream.more = cancel_now;
    self.stream.more_arg = &self;
    json_t *replies = replies_to(&self, READ("4"));
    assert_int_equal(self.client.runs, 1);
    assert_int_equal(json_array_size(replies), 0);
    json_decref(replies);
    close_stream(&self);
}

static void test_many_cancellations_are_bounded(void **state)
{
    struct stream self;
    struct str said;
    open_stream(&self, state);
    str_init(&said, MCP_MAX_LINE);
    for (int i = 0; i < 500; i++)
        str_printf(&said, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", i);
    for (int i = 0; i < 500; i++)
        str_printf(&said,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                   "{\"requestId\":%d}}\n",
                   i);
    feed(&self, str_view(&said), SIZE_MAX);
    json_t *replies = read_replies(str_view(&self.out));
    assert_int_equal(json_array_size(replies), 500 - MCP_MAX_CANCELLED);
    json_decref(replies);
    str_release(&said);
    close_stream(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_pieces_do_not_matter),
        CLIENT_TEST(test_a_line_has_its_limit),
        CLIENT_TEST(test_a_long_line_that_never_ends_is_told_at_the_end),
        CLIENT_TEST(test_a_thousand_malformed_messages_leave_it_running),
        CLIENT_TEST(test_what_was_cancelled_meanwhile_is_not_answered),
        CLIENT_TEST(test_cancelling_what_is_not_waiting_changes_nothing),
        CLIENT_TEST(test_initialize_cannot_be_cancelled),
        CLIENT_TEST(test_what_is_cancelled_while_it_runs_is_not_answered),
        CLIENT_TEST(test_many_cancellations_are_bounded),
    };

    return cmocka_run_group_tests_name("mcp/stream", tests, NULL, NULL);
}

/*
 * handover.c: what another program needs to go on with a connection.
 *
 * A line of JSON, then the input that waits, from the message at hand on; in a file without a name.
 * The other program may be a newer one that was installed meanwhile: what it does not know it refuses.
 * Cancellations are found again, since they stand in the input.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/view.h"
#include "mcp/internal.h"

#define STATE_CEILING (16 * (size_t)MCP_MAX_LINE) /* bytes: more than a stream takes */

/* ---- saving ---------------------------------------------------------------------------------- */

static int print_state(const struct mcp_stream *self, bool at_end, struct str *out)
{
    const struct mcp_session *session = &self->session;
    const char *version = session->version == MCP_NONE ? "" : mcp_version_name(session->version);
    json_t *head = json_pack("{s:s, s:s, s:i, s:b}", "version", version, "client", session->client,
                             "logLevel", session->log_level, "atEnd", at_end);
    json_print(head, JSON_STYLE_LINE, out);
    json_decref(head);
    str_addc(out, '\n');
    str_add(out, view_from(str_view(&self->in), self->begin));
    return str_code(out);
}

int mcp_state_save(const struct mcp_stream *self, bool at_end)
{
    struct str text;
    int fd = -1;
    errno = ENOMEM;
    str_init(&text, STATE_CEILING);
    if (print_state(self, at_end, &text) == ETHOS_OK)
        fd = memfd_create("ethos-mcp", 0);
    if (fd >= 0 && (os_write_all(fd, text.data, text.size) != 0 || lseek(fd, 0, SEEK_SET) != 0)) {
        os_close(fd);
        fd = -1;
    }
    str_release(&text);
    return fd;
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool take_head(struct mcp_session *session, const json_t *head, bool *at_end)
{
    const char *version = mcp_word(json_object_get(head, "version"));
    const char *client = mcp_word(json_object_get(head, "client"));
    const json_t *level = json_object_get(head, "logLevel");
    const json_t *end = json_object_get(head, "atEnd");
    if (!version || !client || strlen(client) >= MCP_CLIENT_SIZE || !json_is_integer(level) ||
        !json_is_boolean(end))
        return false;
    session->version = mcp_version_find(version);
    snprintf(session->client, sizeof session->client, "%s", client);
    session->log_level = (int)json_integer_value(level);
    *at_end = json_is_true(end);
    return session->version != MCP_NONE || !*version;
}

static int take_state(struct mcp_stream *self, struct ethos_view text, bool *at_end)
{
    struct ethos_view line;
    json_t *head = NULL;
    bool fits = view_line(&text, &line) && json_parse(line, "state", &head, NULL) == ETHOS_OK &&
                take_head(&self->session, head, at_end);
    json_decref(head);
    return fits ? mcp_stream_add(self, text) : ETHOS_CORRUPT;
}

int mcp_state_load(struct mcp_stream *self, int fd, bool *at_end, struct ethos_error *error)
{
    struct str text;
    str_init(&text, STATE_CEILING);
    int code = os_read_all(fd, &text, STATE_CEILING) == 0
                   ? take_state(self, str_view(&text), at_end)
                   : ETHOS_CORRUPT;
    str_release(&text);
    os_close(fd);
    if (code == ETHOS_CORRUPT)
        err_hint(error, err_set(error, code, "the state left by another program cannot be read"),
                 "start ethos mcp again");
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

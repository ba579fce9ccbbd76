/*
 * server.c: the server of the home.
 */
#include "server.h"

#include <stdbool.h>

#include "command.h"

struct server {
    char *home;
    server_fn *ready;
    void (*gone)(void *arg);
    void *arg;
    GCancellable *cancel;
    GSubprocess *ours;
    GDataInputStream *output;
    int pending; /* callbacks to come, which need it */
    bool closed;
};

static void release(struct server *self)
{
    if (!self->closed || self->pending > 0)
        return;
    g_clear_object(&self->output);
    g_object_unref(self->cancel);
    g_free(self->home);
    g_free(self);
}

/* At the end of each callback. */
static void end_callback(struct server *self)
{
    self->pending--;
    release(self);
}

/* ---- one of our own ------------------------------------------------------------------------------ */

static void note_end(GObject *source, GAsyncResult *result, void *arg)
{
    struct server *self = arg;
    GError *error = NULL;
    bool ended = g_subprocess_wait_finish(G_SUBPROCESS(source), result, &error);
    bool is_ours = ended && self->ours == G_SUBPROCESS(source);
    g_clear_error(&error);
    if (is_ours) {
        g_clear_object(&self->ours);
        self->gone(self->arg);
    }
    end_callback(self);
}

static void read_link(GObject *source, GAsyncResult *result, void *arg)
{
    struct server *self = arg;
    GError *error = NULL;
    char *line = g_data_input_stream_read_line_finish(G_DATA_INPUT_STREAM(source), result, NULL,
                                                      &error);
    g_clear_error(&error);
    if (!self->closed)
        self->ready(self->arg, line, line ? NULL : "ethos serve did not start");
    g_free(line);
    end_callback(self);
}

static void start_ours(struct server *self)
{
    static const char *const words[] = {"serve", "--port", "0", "--until-eof", NULL};
    GError *error = NULL;
    g_clear_object(&self->output);
    g_clear_object(&self->ours);
    self->ours = command_start(
        self->home, G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, words, &error);
    if (!self->ours) {
        self->ready(self->arg, NULL, error->message);
        g_clear_error(&error);
        return;
    }
    self->pending += 2;
    self->output = g_data_input_stream_new(g_subprocess_get_stdout_pipe(self->ours));
    g_data_input_stream_read_line_async(self->output, G_PRIORITY_DEFAULT, self->cancel, read_link,
                                        self);
    g_subprocess_wait_async(self->ours, self->cancel, note_end, self);
}

/* ---- one that runs ------------------------------------------------------------------------------- */

static void take_link(GObject *source, GAsyncResult *result, void *arg)
{
    struct server *self = arg;
    GSubprocess *process = G_SUBPROCESS(source);
    GError *error = NULL;
    char *output = NULL;
    bool done = g_subprocess_communicate_utf8_finish(process, result, &output, NULL, &error);
    bool runs = done && g_subprocess_get_if_exited(process) &&
                g_subprocess_get_exit_status(process) == 0 && output && *output;
    g_clear_error(&error);
    if (runs && !self->closed)
        self->ready(self->arg, g_strchomp(output), NULL);
    else if (!self->closed)
        start_ours(self);
    g_free(output);
    end_callback(self);
}

void server_find(struct server *self)
{
    static const char *const words[] = {"serve", "--link", NULL};
    GError *error = NULL;
    GSubprocess *process = command_start(
        self->home, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE, words,
        &error);
    if (!process) {
        self->ready(self->arg, NULL, error->message);
        g_clear_error(&error);
        return;
    }
    self->pending++;
    g_subprocess_communicate_utf8_async(process, NULL, self->cancel, take_link, self);
    g_object_unref(process);
}

struct server *server_new(const char *home, server_fn *ready, void (*gone)(void *arg), void *arg)
{
    struct server *self = g_new0(struct server, 1);
    *self = (struct server){.home = g_strdup(home),
                            .ready = ready,
                            .gone = gone,
                            .arg = arg,
                            .cancel = g_cancellable_new()};
    return self;
}

void server_free(struct server *self)
{
    GSubprocess *ours = self->ours;
    self->ours = NULL;
    self->closed = true;
    g_cancellable_cancel(self->cancel);
    if (ours) {
        g_output_stream_close(g_subprocess_get_stdin_pipe(ours), NULL, NULL);
        g_subprocess_wait(ours, NULL, NULL);
        g_object_unref(ours);
    }
    release(self);
}

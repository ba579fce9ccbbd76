/*
 * import.c: what an import of a file would change, and a button that imports it. Both are `ethos import`, for the
 * project that the file lies in.
 */
#include "import.h"

#include <string.h>

#include "command.h"

#define WIDTH 720
#define HEIGHT 520
#define MARGIN 8

/* What ethos can import, by what a path most likely is: the first that fits is chosen. */
static const struct source {
    const char *name, *words, *suffix; /* suffix NULL: a folder */
} sources[] = {
    {"Markdown: CLAUDE.md and the like", "claude-md", ".md"},
    {"server-memory", "server-memory", ".json"},
    {"server-memory, lines", "server-memory", ".jsonl"},
    {"Claude Code's memory", "claude-code", NULL},
    {"OpenClaw", "openclaw", NULL},
    {"Hermes", "hermes", NULL},
    {"Jutul", "jutul", NULL},
};

struct import {
    GtkWindow *window;
    GtkTextView *preview;
    GtkDropDown *source;
    GtkWidget *button;
    char *home, *path, *folder;
    gboolean closed, importing;
};

static void show(struct import *self, const char *text)
{
    gtk_text_buffer_set_text(gtk_text_view_get_buffer(self->preview), text, -1);
}

static void finished(GObject *process, GAsyncResult *result, void *arg)
{
    struct import *self = arg;
    char *said = NULL;
    GError *error = NULL;
    gboolean done = g_subprocess_communicate_utf8_finish(G_SUBPROCESS(process), result, &said, NULL,
                                                         &error);
    gboolean ok = done && g_subprocess_get_if_exited(G_SUBPROCESS(process)) &&
                  g_subprocess_get_exit_status(G_SUBPROCESS(process)) == 0;
    if (!self->closed) {
        show(self, !done ? error->message : said && *said ? said : "Nothing would change.");
        gtk_widget_set_sensitive(self->button, ok && !self->importing);
        gtk_widget_grab_focus(self->button); // Enter imports what was shown
        if (self->importing)
            gtk_window_set_title(self->window, ok ? "Imported" : "Import");
        self->importing = FALSE;
    }
    g_clear_error(&error);
    g_free(said);
    g_object_unref(self->window);
}

/* Runs the import, or its preview; what it prints takes the place of the preview. */
static void run(struct import *self, gboolean preview)
{
    const struct source *source = &sources[gtk_drop_down_get_selected(self->source)];
    const char *words[] = {"import",
                           source->words,
                           self->path,
                           "-w",
                           self->folder,
                           "--color=never",
                           preview ? "--dry-run" : "--yes",
                           NULL};
    GError *error = NULL;
    GSubprocess *process = command_start(
        self->home, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE, words,
        &error);
    gtk_widget_set_sensitive(self->button, FALSE);
    self->importing = !preview;
    if (process) {
        g_object_ref(self->window);
        g_subprocess_communicate_utf8_async(process, NULL, NULL, finished, self);
    } else {
        show(self, error->message);
    }
    g_clear_object(&process);
    g_clear_error(&error);
}

static void choose(GtkDropDown *source, GParamSpec *what, struct import *self)
{
    (void)source, (void)what;
    run(self, TRUE);
}

static void press_import(GtkButton *button, struct import *self)
{
    (void)button;
    run(self, FALSE);
}

static gboolean press_key(GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state,
                          struct import *self)
{
    (void)keys, (void)code, (void)state;
    if (key == GDK_KEY_Escape)
        gtk_window_destroy(self->window);
    return key == GDK_KEY_Escape;
}

static void note_closed(GtkWidget *window, struct import *self)
{
    (void)window;
    self->closed = TRUE;
}

static void release(void *arg)
{
    struct import *self = arg;
    g_free(self->home);
    g_free(self->path);
    g_free(self->folder);
    g_free(self);
}

static guint guess_source(const char *path)
{
    gboolean folder = g_file_test(path, G_FILE_TEST_IS_DIR);
    for (guint i = 0; i < G_N_ELEMENTS(sources); i++)
        if (sources[i].suffix ? !folder && g_str_has_suffix(path, sources[i].suffix) : folder)
            return i;
    return 0;
}

static GtkWidget *make_row(struct import *self)
{
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, MARGIN);
    GtkStringList *names = gtk_string_list_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(sources); i++)
        gtk_string_list_append(names, sources[i].name);
    self->source = GTK_DROP_DOWN(gtk_drop_down_new(G_LIST_MODEL(names), NULL));
    gtk_drop_down_set_selected(self->source, guess_source(self->path));
    self->button = gtk_button_new_with_label("Import");
    gtk_widget_add_css_class(self->button, "suggested-action");
    gtk_widget_set_hexpand(GTK_WIDGET(self->source), TRUE);
    g_signal_connect(self->source, "notify::selected", G_CALLBACK(choose), self);
    g_signal_connect(self->button, "clicked", G_CALLBACK(press_import), self);
    gtk_box_append(GTK_BOX(row), GTK_WIDGET(self->source));
    gtk_box_append(GTK_BOX(row), self->button);
    return row;
}

static GtkWidget *make_preview(struct import *self)
{
    GtkWidget *scroll = gtk_scrolled_window_new();
    self->preview = GTK_TEXT_VIEW(gtk_text_view_new());
    gtk_text_view_set_editable(self->preview, FALSE);
    gtk_text_view_set_monospace(self->preview, TRUE);
    gtk_text_view_set_left_margin(self->preview, MARGIN);
    gtk_text_view_set_top_margin(self->preview, MARGIN);
    gtk_scrolled_window_set_has_frame(GTK_SCROLLED_WINDOW(scroll), TRUE);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), GTK_WIDGET(self->preview));
    gtk_widget_set_vexpand(scroll, TRUE);
    return scroll;
}

void import_open(GtkApplication *application, const char *home, const char *path)
{
    struct import *self = g_new0(struct import, 1);
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, MARGIN);
    GtkEventController *keys = gtk_event_controller_key_new();
    self->home = g_strdup(home);
    self->path = g_canonicalize_filename(path, NULL);
    self->folder = g_path_get_dirname(self->path);
    self->window = GTK_WINDOW(gtk_application_window_new(application));
    gtk_widget_set_margin_top(box, MARGIN);
    gtk_widget_set_margin_bottom(box, MARGIN);
    gtk_widget_set_margin_start(box, MARGIN);
    gtk_widget_set_margin_end(box, MARGIN);
    gtk_box_append(GTK_BOX(box), make_preview(self));
    gtk_box_append(GTK_BOX(box), make_row(self));
    gtk_window_set_child(self->window, box);
    gtk_window_set_title(self->window, "Import");
    gtk_window_set_default_size(self->window, WIDTH, HEIGHT);
    g_signal_connect(keys, "key-pressed", G_CALLBACK(press_key), self);
    gtk_widget_add_controller(GTK_WIDGET(self->window), keys);
    g_signal_connect(self->window, "destroy", G_CALLBACK(note_closed), self);
    g_object_set_data_full(G_OBJECT(self->window), "ethos", self, release);
    run(self, TRUE);
    gtk_window_present(self->window);
}

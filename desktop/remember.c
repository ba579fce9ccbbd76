/*
 * remember.c: a small window for one text to be remembered.
 */
#include "remember.h"

#include <jansson.h>
#include <string.h>

#include "command.h"

#define WIDTH 460
#define HEIGHT 240
#define MARGIN 6 /* of the text */

/* Where a text can go: a command of ethos that reads it from standard input. */
struct place {
    const char *words[6];
    char *id; /* of the personality or project, borrowed by words */
};

struct remember {
    GtkWindow *window;
    GtkTextView *text;
    GtkDropDown *where;
    GtkStringList *names;
    GtkWidget *save;
    GtkLabel *problem;
    GPtrArray *places; /* struct place, as names */
    gboolean closed;
    char *home;
};

/* ---- where ----------------------------------------------------------------------------------------- */

static void free_place(void *arg)
{
    struct place *place = arg;
    g_free(place->id);
    g_free(place);
}

static void add_place(struct remember *self, const char *name, const struct place *values)
{
    struct place *place = g_new(struct place, 1);
    *place = *values;
    g_ptr_array_add(self->places, place);
    gtk_string_list_append(self->names, name);
}

/* What the command said as JSON, or NULL. */
static json_t *read_json(GObject *source, GAsyncResult *result)
{
    char *output = NULL;
    g_subprocess_communicate_utf8_finish(G_SUBPROCESS(source), result, &output, NULL, NULL);
    json_t *json = output ? json_loads(output, 0, NULL) : NULL;
    g_free(output);
    return json;
}

/* Shown once it is known where a text can go: the choice does not change under anybody's hands. */
static void present(struct remember *self)
{
    gtk_window_present(self->window);
    gtk_widget_grab_focus(GTK_WIDGET(self->text));
}

/* The window, and with it everything of it, stays until the callback was called. */
static void ask(struct remember *self, const char *const words[], GAsyncReadyCallback done)
{
    GSubprocess *process = command_start(
        self->home, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE, words,
        NULL);
    if (!process) {
        present(self);
        return;
    }
    g_object_ref(self->window);
    g_subprocess_communicate_utf8_async(process, NULL, NULL, done, self);
    g_object_unref(process);
}

static void take_projects(GObject *source, GAsyncResult *result, void *arg)
{
    struct remember *self = arg;
    size_t index;
    json_t *row, *json = read_json(source, result);
    json_array_foreach (json_object_get(json, "workspaces"), index, row) {
        const char *scope = json_string_value(json_object_get(row, "scope"));
        const json_t *path = json_array_get(json_object_get(row, "paths"), 0);
        const char *folder = json_string_value(json_object_get(path, "path"));
        if (!scope)
            continue;
        char *base = folder ? g_path_get_basename(folder) : g_strdup(scope);
        char *name = g_strdup_printf("Project %s", base), *id = g_strdup(scope);
        add_place(self, name, &(struct place){{"-w", id, "remember", "-"}, id});
        g_free(name);
        g_free(base);
    }
    json_decref(json);
    present(self);
    g_object_unref(self->window);
}

static void take_personalities(GObject *source, GAsyncResult *result, void *arg)
{
    static const char *const words[] = {"workspaces", "list", "--json", NULL};
    struct remember *self = arg;
    size_t index;
    json_t *row, *json = read_json(source, result);
    json_array_foreach (json_object_get(json, "items"), index, row) {
        const char *known = json_string_value(json_object_get(row, "id"));
        if (!known || json_is_true(json_object_get(row, "active")))
            continue;
        char *name = g_strdup_printf("Personality %s", known), *id = g_strdup(known);
        add_place(self, name, &(struct place){{"-p", id, "memory", "add", "-"}, id});
        g_free(name);
    }
    json_decref(json);
    ask(self, words, take_projects);
    g_object_unref(self->window);
}

static void find_places(struct remember *self)
{
    static const char *const words[] = {"personality", "list", "--json", NULL};
    add_place(self, "Memory", &(struct place){{"memory", "add", "-"}, NULL});
    add_place(self, "About you", &(struct place){{"memory", "add", "--store", "user", "-"}, NULL});
    ask(self, words, take_personalities);
}

/* ---- saving ------------------------------------------------------------------------------------------ */

static void show_problem(struct remember *self, const char *text)
{
    gtk_label_set_text(self->problem, text);
    gtk_widget_set_sensitive(self->save, TRUE);
}

static void saved(GObject *source, GAsyncResult *result, void *arg)
{
    struct remember *self = arg;
    GSubprocess *process = G_SUBPROCESS(source);
    char *said = NULL;
    GError *error = NULL;
    gboolean done = g_subprocess_communicate_utf8_finish(process, result, NULL, &said, &error);
    if (self->closed) {
        // nobody can be told
    } else if (!done) {
        show_problem(self, error->message);
    } else if (g_subprocess_get_if_exited(process) && g_subprocess_get_exit_status(process) == 0) {
        gtk_window_destroy(self->window);
    } else {
        const char *text = said && g_str_has_prefix(said, "ethos: ") ? said + 7 : said;
        show_problem(self, text && *text ? text : "ethos has failed");
    }
    g_clear_error(&error);
    g_free(said);
    g_object_unref(self->window);
}

static void save(struct remember *self)
{
    GtkTextIter begin, end;
    GError *error = NULL;
    GtkTextBuffer *buffer = gtk_text_view_get_buffer(self->text);
    gtk_text_buffer_get_bounds(buffer, &begin, &end);
    char *text = gtk_text_buffer_get_text(buffer, &begin, &end, FALSE);
    const struct place *place = g_ptr_array_index(self->places,
                                                  gtk_drop_down_get_selected(self->where));
    if (*g_strstrip(text)) {
        GSubprocess *process = command_start(
            self->home, G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE,
            place->words, &error);
        gtk_widget_set_sensitive(self->save, FALSE);
        if (process) {
            g_object_ref(self->window);
            g_subprocess_communicate_utf8_async(process, text, NULL, saved, self);
        } else {
            show_problem(self, error->message);
        }
        g_clear_object(&process);
        g_clear_error(&error);
    }
    g_free(text);
}

/* ---- the window -------------------------------------------------------------------------------------- */

static gboolean press_key(GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state,
                          struct remember *self)
{
    (void)keys, (void)code;
    if (key == GDK_KEY_Escape) {
        gtk_window_destroy(self->window);
        return TRUE;
    }
    if ((key != GDK_KEY_Return && key != GDK_KEY_KP_Enter) || state & GDK_SHIFT_MASK)
        return FALSE;
    save(self);
    return TRUE;
}

static void press_save(GtkButton *button, struct remember *self)
{
    (void)button;
    save(self);
}

static void take_clipboard(GObject *source, GAsyncResult *result, void *arg)
{
    GtkTextView *view = arg;
    char *text = gdk_clipboard_read_text_finish(GDK_CLIPBOARD(source), result, NULL);
    if (text)
        gtk_text_buffer_insert_at_cursor(gtk_text_view_get_buffer(view), text, -1);
    g_free(text);
    g_object_unref(view);
}

static void press_clipboard(GtkButton *button, struct remember *self)
{
    GdkClipboard *clipboard = gtk_widget_get_clipboard(GTK_WIDGET(button));
    gdk_clipboard_read_text_async(clipboard, NULL, take_clipboard, g_object_ref(self->text));
}

static void note_closed(GtkWidget *window, struct remember *self)
{
    (void)window;
    self->closed = TRUE;
}

static void release(void *arg)
{
    struct remember *self = arg;
    g_ptr_array_unref(self->places);
    g_free(self->home);
    g_free(self);
}

static GtkWidget *make_text(struct remember *self)
{
    GtkWidget *scroll = gtk_scrolled_window_new();
    GtkEventController *keys = gtk_event_controller_key_new();
    self->text = GTK_TEXT_VIEW(gtk_text_view_new());
    gtk_text_view_set_wrap_mode(self->text, GTK_WRAP_WORD_CHAR);
    gtk_text_view_set_accepts_tab(self->text, FALSE); // it leads to the buttons
    gtk_text_view_set_left_margin(self->text, MARGIN);
    gtk_text_view_set_right_margin(self->text, MARGIN);
    gtk_text_view_set_top_margin(self->text, MARGIN);
    gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
    g_signal_connect(keys, "key-pressed", G_CALLBACK(press_key), self);
    gtk_widget_add_controller(GTK_WIDGET(self->text), keys);
    gtk_scrolled_window_set_has_frame(GTK_SCROLLED_WINDOW(scroll), TRUE);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), GTK_WIDGET(self->text));
    gtk_widget_set_vexpand(scroll, TRUE);
    return scroll;
}

static GtkWidget *make_row(struct remember *self)
{
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    GtkWidget *clipboard = gtk_button_new_with_label("From the clipboard");
    self->names = gtk_string_list_new(NULL);
    self->where = GTK_DROP_DOWN(gtk_drop_down_new(G_LIST_MODEL(self->names), NULL));
    self->save = gtk_button_new_with_label("Remember");
    gtk_widget_add_css_class(self->save, "suggested-action");
    gtk_widget_set_hexpand(GTK_WIDGET(self->where), TRUE);
    g_signal_connect(clipboard, "clicked", G_CALLBACK(press_clipboard), self);
    g_signal_connect(self->save, "clicked", G_CALLBACK(press_save), self);
    gtk_box_append(GTK_BOX(row), GTK_WIDGET(self->where));
    gtk_box_append(GTK_BOX(row), clipboard);
    gtk_box_append(GTK_BOX(row), self->save);
    return row;
}

void remember_open(GtkApplication *application, const char *home)
{
    struct remember *self = g_new0(struct remember, 1);
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
    self->home = g_strdup(home);
    self->places = g_ptr_array_new_with_free_func(free_place);
    self->window = GTK_WINDOW(gtk_application_window_new(application));
    self->problem = GTK_LABEL(gtk_label_new(NULL));
    gtk_label_set_wrap(self->problem, TRUE);
    gtk_label_set_xalign(self->problem, 0);
    gtk_widget_set_margin_top(box, 12);
    gtk_widget_set_margin_bottom(box, 12);
    gtk_widget_set_margin_start(box, 12);
    gtk_widget_set_margin_end(box, 12);
    gtk_box_append(GTK_BOX(box), make_text(self));
    gtk_box_append(GTK_BOX(box), GTK_WIDGET(self->problem));
    gtk_box_append(GTK_BOX(box), make_row(self));
    gtk_window_set_child(self->window, box);
    gtk_window_set_title(self->window, "Remember this");
    gtk_window_set_default_size(self->window, WIDTH, HEIGHT);
    g_signal_connect(self->window, "destroy", G_CALLBACK(note_closed), self);
    g_object_set_data_full(G_OBJECT(self->window), "ethos", self, release);
    find_places(self);
}

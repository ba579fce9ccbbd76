/*
 * main.c: the program ethos-desktop: the dashboard in a window of its own. One window for each home; a second start
 * raises the first.
 */
#include <gtk/gtk.h>
#include <stdbool.h>

#include "appearance.h"
#include "import.h"
#include "remember.h"
#include "window.h"

#define NAME "org.ethos.Desktop"
#define HASH_DIGITS 12

struct desktop {
    char *home;        /* as it was given, or NULL */
    char *name;        /* of the application: one for each home */
    gboolean remember; /* the small window alone */
    char *import;      /* a file: the window of its import alone */
};

static const char problem[] =
    "The dashboard cannot be shown in a window: this system gives programs no namespaces of their "
    "own, which WebKit needs to keep pages apart. `ethos serve` prints a link for the browser.\n";

/* Without it, WebKit ends the program as soon as a page is to be shown. */
static bool has_sandbox(void)
{
    const char *argv[] = {"bwrap", "--ro-bind", "/",    "/",    "--proc",
                          "/proc", "--dev",     "/dev", "true", NULL};
    int status = 1;
    return g_spawn_sync(NULL, (char **)argv, NULL,
                        G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL |
                            G_SPAWN_STDERR_TO_DEV_NULL,
                        NULL, NULL, NULL, NULL, &status, NULL) &&
           status == 0;
}

/* The window with the dashboard, or NULL. */
static GtkWindow *find_window(GtkApplication *application)
{
    for (GList *item = gtk_application_get_windows(application); item; item = item->next)
        if (window_is(item->data))
            return item->data;
    return NULL;
}

static void activate(GtkApplication *application, struct desktop *self)
{
    GtkWindow *window = find_window(application);
    gboolean remember = self->remember;
    self->remember = FALSE;
    if (remember) {
        remember_open(application, self->home);
    } else if (self->import) {
        import_open(application, self->home, self->import);
        g_clear_pointer(&self->import, g_free);
    } else if (window) {
        gtk_window_present(window); // a second start
    } else {
        window_open(application, self->home, self->name);
    }
}

static void act_remember(GSimpleAction *action, GVariant *parameter, void *arg)
{
    struct desktop *self = arg;
    (void)action, (void)parameter;
    remember_open(GTK_APPLICATION(g_application_get_default()), self->home);
}

static void act_import(GSimpleAction *action, GVariant *parameter, void *arg)
{
    struct desktop *self = arg;
    (void)action;
    import_open(GTK_APPLICATION(g_application_get_default()), self->home,
                g_variant_get_string(parameter, NULL));
}

static void startup(GtkApplication *application, struct desktop *self)
{
    static const GActionEntry entries[] = {
        {.name = "remember", .activate = act_remember},
        {.name = "import", .activate = act_import, .parameter_type = "s"},
    };
    g_action_map_add_action_entries(G_ACTION_MAP(application), entries, G_N_ELEMENTS(entries),
                                    self);
    appearance_follow();
}

/* The name of the application on the bus: that of the program, for another home with its hash. */
static char *make_name(const char *home)
{
    if (!home)
        return g_strdup(NAME);
    char *path = g_canonicalize_filename(home, NULL);
    char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, path, -1);
    char *name = g_strdup_printf(NAME ".home%.*s", HASH_DIGITS, hash);
    g_free(hash);
    g_free(path);
    return name;
}

/* Where it runs already, the small window is opened there. */
static int run(GApplication *application, const struct desktop *self, int argc, char **argv)
{
    GError *error = NULL;
    if (!g_application_register(application, NULL, &error)) {
        g_printerr("ethos-desktop: %s\n", error->message);
        g_clear_error(&error);
        return 1;
    }
    if ((self->remember || self->import) && g_application_get_is_remote(application)) {
        g_action_group_activate_action(G_ACTION_GROUP(application),
                                       self->remember ? "remember" : "import",
                                       self->remember ? NULL : g_variant_new_string(self->import));
        g_dbus_connection_flush_sync(g_application_get_dbus_connection(application), NULL, NULL);
        return 0;
    }
    return g_application_run(application, argc, argv);
}

int main(int argc, char **argv)
{
    struct desktop self = {0};
    GError *error = NULL;
    const GOptionEntry options[] = {{"home", 0, 0, G_OPTION_ARG_FILENAME, &self.home,
                                     "the home of ethos, if not the usual one", "DIR"},
                                    {"remember", 0, 0, G_OPTION_ARG_NONE, &self.remember,
                                     "open a small window for a text to be remembered", NULL},
                                    {"import", 0, 0, G_OPTION_ARG_FILENAME, &self.import,
                                     "show what importing a file would change", "FILE"},
                                    {0}};
    GOptionContext *context = g_option_context_new(NULL);
    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        g_printerr("ethos-desktop: %s\n", error->message);
        return 2;
    }
    g_option_context_free(context);
    if (self.import) {
        char *path = g_canonicalize_filename(self.import, NULL);
        g_free(self.import);
        self.import = path;
    }
    if (self.import && !g_file_test(self.import, G_FILE_TEST_EXISTS)) {
        g_printerr("ethos-desktop: %s: no such file\n", self.import);
        return 2;
    }
    if (!self.remember && !self.import && !has_sandbox()) {
        g_printerr("ethos-desktop: %s", problem);
        return 1;
    }
    self.name = make_name(self.home ? self.home : g_getenv("ETHOS_HOME"));
    g_set_prgname("ethos-desktop");
    GtkApplication *application = gtk_application_new(self.name, G_APPLICATION_DEFAULT_FLAGS);
    g_signal_connect(application, "startup", G_CALLBACK(startup), &self);
    g_signal_connect(application, "activate", G_CALLBACK(activate), &self);
    int status = run(G_APPLICATION(application), &self, argc, argv);
    g_object_unref(application);
    g_free(self.name);
    g_free(self.home);
    g_free(self.import);
    return status;
}

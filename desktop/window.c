/*
 * window.c: the window with the dashboard.
 *
 * The page is that of the server of this home and no other: what leads elsewhere opens in the person's browser, if a
 * person clicked it. Nothing of the page is stored here; its preferences belong to the server.
 */
#include "window.h"

#include <string.h>
#include <webkit/webkit.h>

#include "server.h"
#include "state.h"

#define ZOOM_STEP 1.1
#define MARK "ethos-dashboard"
#define AGAIN_MS 300       /* before the server is looked for again */
#define RESTARTS 3         /* of a server, by themselves, */
#define RESTART_SECONDS 10 /* each within so many of the one before */

struct window {
    GtkWindow *window;
    GtkStack *stack; /* "page", "message" */
    GtkLabel *message;
    WebKitWebView *view;
    GtkSearchBar *search_bar;
    GtkEditable *search;
    struct server *server;
    char *name;
    char *origin; /* of the server, or NULL */
    gint64 found_us;
    int restarts;
    guint waiting;    /* source, before the server is looked for again */
    gboolean crashed; /* the page's process died, and was started again */
};

/* ---- messages ------------------------------------------------------------------------------------ */

static void show_message(struct window *self, const char *text)
{
    gtk_label_set_text(self->message, text);
    gtk_stack_set_visible_child_name(self->stack, "message");
}

static void find_server(struct window *self)
{
    self->found_us = g_get_monotonic_time();
    server_find(self->server);
}

static gboolean find_again(void *arg)
{
    struct window *self = arg;
    self->waiting = 0;
    find_server(self);
    return G_SOURCE_REMOVE;
}

static void try_again(GtkButton *button, struct window *self)
{
    (void)button;
    self->crashed = FALSE;
    self->restarts = 0;
    find_server(self);
}

/* ---- the server ---------------------------------------------------------------------------------- */

/* "http://localhost:3000" */
static char *origin_of(const char *uri)
{
    GUri *parsed = g_uri_parse(uri, G_URI_FLAGS_NONE, NULL);
    char *origin = parsed && g_uri_get_host(parsed)
                       ? g_strdup_printf("%s://%s:%d", g_uri_get_scheme(parsed),
                                         g_uri_get_host(parsed), g_uri_get_port(parsed))
                       : NULL;
    if (parsed)
        g_uri_unref(parsed);
    return origin;
}

/* The page of the server may notify without asking, and no other. */
static void allow_notifications(struct window *self)
{
    WebKitSecurityOrigin *origin = webkit_security_origin_new_for_uri(self->origin);
    GList allowed = {.data = origin};
    webkit_web_context_initialize_notification_permissions(webkit_web_view_get_context(self->view),
                                                           &allowed, NULL);
    webkit_security_origin_unref(origin);
}

static void open_link(void *arg, const char *link, const char *problem)
{
    struct window *self = arg;
    if (!link) {
        show_message(self, problem);
        return;
    }
    g_free(self->origin);
    self->origin = origin_of(link);
    if (self->origin)
        allow_notifications(self);
    webkit_web_view_load_uri(self->view, link);
    gtk_stack_set_visible_child_name(self->stack, "page");
}

static void server_gone(void *arg)
{
    struct window *self = arg;
    if (g_get_monotonic_time() - self->found_us > RESTART_SECONDS * G_USEC_PER_SEC)
        self->restarts = 0;
    if (self->restarts++ < RESTARTS)
        find_server(self);
    else
        show_message(self, "The server of this home has ended.");
}

/* ---- where the page may go ------------------------------------------------------------------------- */

static gboolean is_ours(const struct window *self, const char *uri)
{
    char *origin = uri ? origin_of(uri) : NULL;
    gboolean same = origin && g_strcmp0(origin, self->origin) == 0;
    g_free(origin);
    return same || g_strcmp0(uri, "about:blank") == 0;
}

static gboolean opens_outside(const char *uri)
{
    char *scheme = g_uri_parse_scheme(uri);
    gboolean opens = scheme && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0 ||
                                strcmp(scheme, "mailto") == 0);
    g_free(scheme);
    return opens;
}

static void decide_navigation(struct window *self, WebKitPolicyDecision *decision, gboolean is_new)
{
    WebKitNavigationAction *action = webkit_navigation_policy_decision_get_navigation_action(
        WEBKIT_NAVIGATION_POLICY_DECISION(decision));
    const char *uri = webkit_uri_request_get_uri(webkit_navigation_action_get_request(action));
    gboolean ours = is_ours(self, uri);
    gboolean clicked = webkit_navigation_action_get_navigation_type(action) ==
                           WEBKIT_NAVIGATION_TYPE_LINK_CLICKED &&
                       webkit_navigation_action_is_user_gesture(action);
    if (ours && !is_new) {
        webkit_policy_decision_use(decision);
        return;
    }
    webkit_policy_decision_ignore(decision);
    if (ours)
        webkit_web_view_load_uri(self->view, uri);
    else if (clicked && opens_outside(uri))
        gtk_show_uri(self->window, uri, GDK_CURRENT_TIME);
}

static gboolean decide_policy(WebKitWebView *view, WebKitPolicyDecision *decision,
                              WebKitPolicyDecisionType type, struct window *self)
{
    (void)view;
    if (type == WEBKIT_POLICY_DECISION_TYPE_RESPONSE) {
        if (webkit_response_policy_decision_is_mime_type_supported(
                WEBKIT_RESPONSE_POLICY_DECISION(decision)))
            return FALSE;
        webkit_policy_decision_download(decision);
        return TRUE;
    }
    decide_navigation(self, decision, type == WEBKIT_POLICY_DECISION_TYPE_NEW_WINDOW_ACTION);
    return TRUE;
}

static gboolean decide_permission(WebKitWebView *view, WebKitPermissionRequest *request,
                                  struct window *self)
{
    gboolean notifies = WEBKIT_IS_NOTIFICATION_PERMISSION_REQUEST(request) &&
                        is_ours(self, webkit_web_view_get_uri(view));
    if (notifies)
        webkit_permission_request_allow(request);
    else
        webkit_permission_request_deny(request);
    return TRUE;
}

static gboolean load_failed(WebKitWebView *view, WebKitLoadEvent event, const char *uri,
                            GError *error, struct window *self)
{
    (void)view, (void)event, (void)uri;
    if (error->domain == WEBKIT_POLICY_ERROR ||
        g_error_matches(error, WEBKIT_NETWORK_ERROR, WEBKIT_NETWORK_ERROR_CANCELLED))
        return FALSE; // it was not meant to load
    /* It may be a server that was just ending. */
    if (self->restarts++ >= RESTARTS)
        show_message(self, error->message);
    else if (!self->waiting)
        self->waiting = g_timeout_add(AGAIN_MS, find_again, self);
    return TRUE;
}

static void show_title(WebKitWebView *view, GParamSpec *what, struct window *self)
{
    const char *title = webkit_web_view_get_title(view);
    (void)what;
    gtk_window_set_title(self->window, title && *title ? title : "ethos");
}

static void process_ended(WebKitWebView *view, WebKitWebProcessTerminationReason reason,
                          struct window *self)
{
    (void)reason;
    if (self->crashed)
        show_message(self, "The page has ended unexpectedly, twice.");
    else
        webkit_web_view_reload(view);
    self->crashed = TRUE;
}

/* ---- downloads ------------------------------------------------------------------------------------- */

static void choose_destination(GtkNativeDialog *dialog, int response, WebKitDownload *download)
{
    GFile *file = response == GTK_RESPONSE_ACCEPT
                      ? gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog))
                      : NULL;
    char *path = file ? g_file_get_path(file) : NULL;
    if (path) {
        webkit_download_set_allow_overwrite(download, TRUE); // the dialog has asked
        webkit_download_set_destination(download, path);
    } else {
        webkit_download_cancel(download);
    }
    g_free(path);
    g_clear_object(&file);
    g_object_unref(download);
    g_object_unref(dialog);
}

static gboolean decide_destination(WebKitDownload *download, const char *name, struct window *self)
{
    GtkFileChooserNative *dialog = gtk_file_chooser_native_new(
        NULL, self->window, GTK_FILE_CHOOSER_ACTION_SAVE, NULL, NULL);
    gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(dialog), name);
    g_signal_connect(dialog, "response", G_CALLBACK(choose_destination), g_object_ref(download));
    gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
    return TRUE;
}

static void begin_download(WebKitNetworkSession *session, WebKitDownload *download,
                           struct window *self)
{
    (void)session;
    g_signal_connect(download, "decide-destination", G_CALLBACK(decide_destination), self);
}

/* ---- keys ------------------------------------------------------------------------------------------ */

static void zoom(struct window *self, double factor)
{
    double level = factor > 0 ? webkit_web_view_get_zoom_level(self->view) * factor : 1;
    webkit_web_view_set_zoom_level(self->view, CLAMP(level, 0.25, 5));
}

static void act_zoom(GSimpleAction *action, GVariant *parameter, void *arg)
{
    (void)parameter;
    const char *name = g_action_get_name(G_ACTION(action));
    zoom(arg, strcmp(name, "zoom-in") == 0    ? ZOOM_STEP
              : strcmp(name, "zoom-out") == 0 ? 1 / ZOOM_STEP
                                              : 0);
}

static void act_reload(GSimpleAction *action, GVariant *parameter, void *arg)
{
    struct window *self = arg;
    (void)action, (void)parameter;
    webkit_web_view_reload(self->view);
}

static void act_print(GSimpleAction *action, GVariant *parameter, void *arg)
{
    struct window *self = arg;
    (void)action, (void)parameter;
    WebKitPrintOperation *operation = webkit_print_operation_new(self->view);
    webkit_print_operation_run_dialog(operation, self->window);
    g_object_unref(operation);
}

static void act_find(GSimpleAction *action, GVariant *parameter, void *arg)
{
    struct window *self = arg;
    (void)action, (void)parameter;
    gtk_search_bar_set_search_mode(self->search_bar, TRUE);
    gtk_widget_grab_focus(GTK_WIDGET(self->search));
}

static void act_close(GSimpleAction *action, GVariant *parameter, void *arg)
{
    struct window *self = arg;
    (void)action, (void)parameter;
    gtk_window_close(self->window);
}

static void add_actions(struct window *self, GtkApplication *application)
{
    static const GActionEntry entries[] = {
        {.name = "zoom-in", .activate = act_zoom},    {.name = "zoom-out", .activate = act_zoom},
        {.name = "zoom-reset", .activate = act_zoom}, {.name = "reload", .activate = act_reload},
        {.name = "print", .activate = act_print},     {.name = "find", .activate = act_find},
        {.name = "close", .activate = act_close}};
    static const struct {
        const char *action, *keys[4];
    } keys[] = {{"win.zoom-in", {"<Ctrl>plus", "<Ctrl>equal", "<Ctrl>KP_Add"}},
                {"win.zoom-out", {"<Ctrl>minus", "<Ctrl>KP_Subtract"}},
                {"win.zoom-reset", {"<Ctrl>0", "<Ctrl>KP_0"}},
                {"win.reload", {"<Ctrl>r", "F5"}},
                {"win.print", {"<Ctrl>p"}},
                {"win.find", {"<Ctrl>f"}},
                {"win.close", {"<Ctrl>w", "<Ctrl>q"}}};
    g_action_map_add_action_entries(G_ACTION_MAP(self->window), entries, G_N_ELEMENTS(entries),
                                    self);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        gtk_application_set_accels_for_action(application, keys[i].action, keys[i].keys);
}

static void search_text(struct window *self, gboolean again)
{
    WebKitFindController *finder = webkit_web_view_get_find_controller(self->view);
    if (again)
        webkit_find_controller_search_next(finder);
    else
        webkit_find_controller_search(
            finder, gtk_editable_get_text(self->search),
            WEBKIT_FIND_OPTIONS_CASE_INSENSITIVE | WEBKIT_FIND_OPTIONS_WRAP_AROUND, G_MAXUINT);
}

static void search_changed(GtkEditable *search, struct window *self)
{
    (void)search;
    search_text(self, FALSE);
}

static void search_next(GtkSearchEntry *search, struct window *self)
{
    (void)search;
    search_text(self, TRUE);
}

static void search_ended(GtkSearchBar *bar, GParamSpec *what, struct window *self)
{
    (void)what;
    if (!gtk_search_bar_get_search_mode(bar))
        webkit_find_controller_search_finish(webkit_web_view_get_find_controller(self->view));
}

/* ---- the window ------------------------------------------------------------------------------------ */

static gboolean save_state(GtkWindow *window, struct window *self)
{
    struct state state = {.maximized = gtk_window_is_maximized(window),
                          .zoom = webkit_web_view_get_zoom_level(self->view)};
    gtk_window_get_default_size(window, &state.width, &state.height);
    state_write(self->name, &state);
    return FALSE;
}

static void release(struct window *self)
{
    if (self->waiting)
        g_source_remove(self->waiting);
    server_free(self->server);
    g_free(self->name);
    g_free(self->origin);
    g_free(self);
}

static void make_view(struct window *self)
{
    WebKitNetworkSession *session = webkit_network_session_new_ephemeral();
    WebKitSettings *settings = webkit_settings_new_with_settings(
        "enable-media", FALSE, "enable-webaudio", FALSE, "enable-webgl", FALSE, "enable-webrtc",
        FALSE, "enable-developer-extras", FALSE, "enable-html5-database", FALSE, NULL);
    self->view = g_object_new(WEBKIT_TYPE_WEB_VIEW, "network-session", session, "settings",
                              settings, NULL);
    g_signal_connect(session, "download-started", G_CALLBACK(begin_download), self);
    g_signal_connect(self->view, "decide-policy", G_CALLBACK(decide_policy), self);
    g_signal_connect(self->view, "permission-request", G_CALLBACK(decide_permission), self);
    g_signal_connect(self->view, "notify::title", G_CALLBACK(show_title), self);
    g_signal_connect(self->view, "load-failed", G_CALLBACK(load_failed), self);
    g_signal_connect(self->view, "web-process-terminated", G_CALLBACK(process_ended), self);
    g_object_unref(settings);
    g_object_unref(session);
}

static GtkWidget *make_message(struct window *self)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);
    GtkWidget *button = gtk_button_new_with_label("Try again");
    self->message = GTK_LABEL(gtk_label_new(NULL));
    gtk_label_set_wrap(self->message, TRUE);
    gtk_widget_set_halign(button, GTK_ALIGN_CENTER);
    gtk_widget_set_valign(box, GTK_ALIGN_CENTER);
    gtk_box_append(GTK_BOX(box), GTK_WIDGET(self->message));
    gtk_box_append(GTK_BOX(box), button);
    g_signal_connect(button, "clicked", G_CALLBACK(try_again), self);
    return box;
}

static GtkWidget *make_search(struct window *self)
{
    GtkWidget *bar = gtk_search_bar_new(), *entry = gtk_search_entry_new();
    gtk_search_bar_set_child(GTK_SEARCH_BAR(bar), entry);
    gtk_search_bar_connect_entry(GTK_SEARCH_BAR(bar), GTK_EDITABLE(entry));
    self->search_bar = GTK_SEARCH_BAR(bar);
    self->search = GTK_EDITABLE(entry);
    g_signal_connect(entry, "search-changed", G_CALLBACK(search_changed), self);
    g_signal_connect(entry, "activate", G_CALLBACK(search_next), self);
    g_signal_connect(bar, "notify::search-mode-enabled", G_CALLBACK(search_ended), self);
    return bar;
}

/* ---- files that are dropped ------------------------------------------------------------------------ */

static gboolean drop_files(GtkDropTarget *target, const GValue *value, double x, double y,
                           struct window *self)
{
    GSList *files = gdk_file_list_get_files(g_value_get_boxed(value));
    (void)target, (void)x, (void)y;
    for (GSList *item = files; item; item = item->next) {
        char *path = g_file_get_path(item->data);
        if (path)
            g_action_group_activate_action(G_ACTION_GROUP(gtk_window_get_application(self->window)),
                                           "import", g_variant_new_string(path));
        g_free(path);
    }
    g_slist_free(files);
    return TRUE;
}

/* The page takes no files, so the window does, before the page sees them. */
static void accept_files(struct window *self)
{
    GtkDropTarget *target = gtk_drop_target_new(GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
    gtk_event_controller_set_propagation_phase(GTK_EVENT_CONTROLLER(target), GTK_PHASE_CAPTURE);
    g_signal_connect(target, "drop", G_CALLBACK(drop_files), self);
    gtk_widget_add_controller(GTK_WIDGET(self->window), GTK_EVENT_CONTROLLER(target));
}

void window_open(GtkApplication *application, const char *home, const char *name)
{
    struct window *self = g_new0(struct window, 1);
    struct state state;
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    state_read(name, &state);
    self->name = g_strdup(name);
    self->window = GTK_WINDOW(gtk_application_window_new(application));
    self->stack = GTK_STACK(gtk_stack_new());
    self->server = server_new(home, open_link, server_gone, self);
    make_view(self);
    gtk_stack_add_named(self->stack, GTK_WIDGET(self->view), "page");
    gtk_stack_add_named(self->stack, make_message(self), "message");
    gtk_widget_set_vexpand(GTK_WIDGET(self->stack), TRUE);
    gtk_box_append(GTK_BOX(box), make_search(self));
    gtk_box_append(GTK_BOX(box), GTK_WIDGET(self->stack));
    gtk_window_set_child(self->window, box);
    gtk_window_set_title(self->window, "ethos");
    gtk_window_set_default_size(self->window, state.width, state.height);
    webkit_web_view_set_zoom_level(self->view, state.zoom);
    if (state.maximized)
        gtk_window_maximize(self->window);
    add_actions(self, application);
    accept_files(self);
    g_signal_connect(self->window, "close-request", G_CALLBACK(save_state), self);
    g_object_set_data_full(G_OBJECT(self->window), MARK, self, (GDestroyNotify)release);
    find_server(self);
    gtk_window_present(self->window);
}

gboolean window_is(GtkWindow *window)
{
    return g_object_get_data(G_OBJECT(window), MARK) != NULL;
}

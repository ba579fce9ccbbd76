/*
 * window.h: the window with the dashboard.
 */
#ifndef DESKTOP_WINDOW_H
#define DESKTOP_WINDOW_H

#include <gtk/gtk.h>

/* home NULL: the usual one; name: of what the window remembers. */
void window_open(GtkApplication *application, const char *home, const char *name);

/* Whether a window is one of these. */
gboolean window_is(GtkWindow *window);

#endif

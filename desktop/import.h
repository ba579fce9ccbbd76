/*
 * import.h: a window that shows what an import of a file or folder would change, and imports it when asked to.
 */
#ifndef DESKTOP_IMPORT_H
#define DESKTOP_IMPORT_H

#include <gtk/gtk.h>

/* home NULL: the usual one. */
void import_open(GtkApplication *application, const char *home, const char *path);

#endif

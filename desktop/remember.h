/*
 * remember.h: a small window for one text to be remembered. The clipboard is read when its button is pressed, and
 * at no other time.
 */
#ifndef DESKTOP_REMEMBER_H
#define DESKTOP_REMEMBER_H

#include <gtk/gtk.h>

/* home NULL: the usual one. */
void remember_open(GtkApplication *application, const char *home);

#endif

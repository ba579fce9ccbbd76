/*
 * state.h: what the window remembers: its size, whether it was maximized, its zoom; in the state directory of the
 * person, <name>.ini.
 */
#ifndef DESKTOP_STATE_H
#define DESKTOP_STATE_H

#include <glib.h>

struct state {
    int width, height;
    gboolean maximized;
    double zoom;
};

void state_read(const char *name, struct state *out);
void state_write(const char *name, const struct state *state);

#endif

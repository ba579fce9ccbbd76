/*
 * state.c: what the window remembers.
 */
#include "state.h"

#define GROUP "window"
#define MIN_SIZE 200
#define MAX_SIZE 20000

static char *path_of(const char *name)
{
    char *file = g_strdup_printf("%s.ini", name);
    char *path = g_build_filename(g_get_user_state_dir(), "ethos-desktop", file, NULL);
    g_free(file);
    return path;
}

static int read_size(GKeyFile *file, const char *key, int fallback)
{
    int size = g_key_file_get_integer(file, GROUP, key, NULL);
    return size >= MIN_SIZE && size <= MAX_SIZE ? size : fallback;
}

void state_read(const char *name, struct state *out)
{
    GKeyFile *file = g_key_file_new();
    char *path = path_of(name);
    *out = (struct state){1200, 800, FALSE, 1.0};
    if (g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL)) {
        double zoom = g_key_file_get_double(file, GROUP, "zoom", NULL);
        out->width = read_size(file, "width", out->width);
        out->height = read_size(file, "height", out->height);
        out->maximized = g_key_file_get_boolean(file, GROUP, "maximized", NULL);
        out->zoom = zoom >= 0.25 && zoom <= 5 ? zoom : 1;
    }
    g_key_file_free(file);
    g_free(path);
}

void state_write(const char *name, const struct state *state)
{
    GKeyFile *file = g_key_file_new();
    char *path = path_of(name), *folder = g_path_get_dirname(path);
    g_key_file_set_integer(file, GROUP, "width", state->width);
    g_key_file_set_integer(file, GROUP, "height", state->height);
    g_key_file_set_boolean(file, GROUP, "maximized", state->maximized);
    g_key_file_set_double(file, GROUP, "zoom", state->zoom);
    if (g_mkdir_with_parents(folder, 0700) == 0)
        g_key_file_save_to_file(file, path, NULL); // a window that opens elsewhere is no error
    g_key_file_free(file);
    g_free(folder);
    g_free(path);
}

/*
 * appearance.c: dark and light.
 */
#include "appearance.h"

#include <gtk/gtk.h>

#define PORTAL "org.freedesktop.portal.Desktop"
#define PATH "/org/freedesktop/portal/desktop"
#define SETTINGS "org.freedesktop.portal.Settings"
#define SPACE "org.freedesktop.appearance"
#define KEY "color-scheme"
#define PREFERS_DARK 1

/* The value comes in as many variants as the portal put around it. */
static void apply(GVariant *value)
{
    GVariant *inner = g_variant_ref(value);
    while (g_variant_is_of_type(inner, G_VARIANT_TYPE_VARIANT)) {
        GVariant *next = g_variant_get_variant(inner);
        g_variant_unref(inner);
        inner = next;
    }
    if (g_variant_is_of_type(inner, G_VARIANT_TYPE_UINT32))
        g_object_set(gtk_settings_get_default(), "gtk-application-prefer-dark-theme",
                     g_variant_get_uint32(inner) == PREFERS_DARK, NULL);
    g_variant_unref(inner);
}

static void note_change(GDBusProxy *proxy, const char *sender, const char *signal,
                        GVariant *parameters, void *arg)
{
    const char *space, *key;
    GVariant *value;
    (void)proxy, (void)sender, (void)arg;
    if (strcmp(signal, "SettingChanged") != 0 ||
        !g_variant_is_of_type(parameters, G_VARIANT_TYPE("(ssv)")))
        return;
    g_variant_get(parameters, "(&s&sv)", &space, &key, &value);
    if (strcmp(space, SPACE) == 0 && strcmp(key, KEY) == 0)
        apply(value);
    g_variant_unref(value);
}

static void take_value(GObject *source, GAsyncResult *result, void *arg)
{
    (void)arg;
    GVariant *answer = g_dbus_proxy_call_finish(G_DBUS_PROXY(source), result, NULL);
    if (!answer)
        return;
    GVariant *value = g_variant_get_child_value(answer, 0);
    apply(value);
    g_variant_unref(value);
    g_variant_unref(answer);
}

/* The proxy lives as long as the program. */
static void take_proxy(GObject *source, GAsyncResult *result, void *arg)
{
    (void)source, (void)arg;
    GDBusProxy *proxy = g_dbus_proxy_new_for_bus_finish(result, NULL);
    if (!proxy)
        return;
    g_signal_connect(proxy, "g-signal", G_CALLBACK(note_change), NULL);
    g_dbus_proxy_call(proxy, "Read", g_variant_new("(ss)", SPACE, KEY), G_DBUS_CALL_FLAGS_NONE, -1,
                      NULL, take_value, NULL);
}

void appearance_follow(void)
{
    g_dbus_proxy_new_for_bus(G_BUS_TYPE_SESSION, G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES, NULL,
                             PORTAL, PATH, SETTINGS, NULL, take_proxy, NULL);
}

/*
 * fixture.c: a store in memory behind the front that waits for it.
 */
#include "fixture.h"

struct rows_ram *db;
static struct ethos_store_ops table;
struct backend backend;

static int open_db(const struct ethos_setup *setup, struct ethos_store **out_store,
                   struct ethos_error *error)
{
    (void)setup;
    int down = rows_ram_hooks(db)->down;
    if (down) {
        *error = (struct ethos_error){.code = down, .text = "rows-ram: nobody there"};
        return down;
    }
    *out_store = rows_ram_open(db);
    return *out_store ? ETHOS_OK : ETHOS_NOMEM;
}

int offline_set_up(void **state)
{
    static const struct ethos_option options[] = {
        {"url", ETHOS_OPTION_STRING, NULL, "where"},
        {"password", ETHOS_OPTION_SECRET, NULL, "of the user"},
        {0},
    };
    db = rows_ram_new(&log_default_host);
    struct ethos_store *store = db ? rows_ram_open(db) : NULL;
    if (!store || world_set_up_quick(state) != 0)
        return -1;
    table = *store->ops;
    table.open = open_db;
    table.options = options;
    backend = (struct backend){.store = &table};
    store->ops->close(store);
    return 0;
}

int offline_tear_down(void **state)
{
    int failed = world_tear_down(state);
    rows_ram_free(db);
    return failed;
}

int open_front(struct world *world, unsigned how, uint32_t deadline_ms, struct ethos_provider **out)
{
    const struct ethos_setting settings[] = {
        {"url", "rows://there"},
        {"password", "hunter2"},
        {"offline", how & CACHED ? "cached" : "fail"},
        {"onOffline", how & QUEUE ? "queue" : "refuse"},
    };
    const struct secrets_given given = {settings, 4, NULL, world->home, NULL};
    const struct ethos_setup setup = {
        .host = &world->host, .root = world->home, .deadline_ms = deadline_ms};
    memset(&world->error, 0, sizeof world->error);
    return offline_open(&backend, &setup, &given, (struct registry_group){0}, out, &world->error);
}

void begin(struct world *world, unsigned how)
{
    struct ethos_provider *front;
    world_close(world);
    assert_ok(world, open_front(world, how, 1000, &front));
    world_open_with(world, (struct ethos_options){.provider = front});
    world_turn(world, NULL);
}

void go_down(int code)
{
    rows_ram_hooks(db)->down = code;
}

int add(struct world *world, const char *text)
{
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = view_str(text)};
    memset(&world->error, 0, sizeof world->error);
    return ethos_sync(world->turn, &update, 1, NULL, &world->error);
}

struct ethos_file *read_log(struct world *world)
{
    struct ethos_file *file = NULL;
    memset(&world->error, 0, sizeof world->error);
    assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
    return file;
}

void assert_log(struct world *world, const char *expected)
{
    struct ethos_file *file = read_log(world);
    assert_non_null(file->text);
    assert_string_equal(file->text, expected);
    assert_int_equal(file->known_ms, 0);
    ethos_file_free(file);
}

const char *folder(struct world *world, const char *name)
{
    static char path[400];
    char here[160];
    snprintf(here, sizeof here, "%s/offline", world->home);
    DIR *dir = opendir(here);
    snprintf(path, sizeof path, "none");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (*entry->d_name != '.')
            snprintf(path, sizeof path, "home/offline/%s/%s", entry->d_name, name);
    if (dir)
        closedir(dir);
    return path;
}

int count_in(struct world *world, const char *name)
{
    char here[600];
    int count = 0;
    snprintf(here, sizeof here, "%s/%s", world->temp.path, folder(world, name));
    DIR *dir = opendir(here);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += *entry->d_name != '.';
    if (dir)
        closedir(dir);
    return count;
}

void first_in(struct world *world, const char *name, char out[PATH_SIZE])
{
    char here[600];
    struct dirent **entries;
    snprintf(here, sizeof here, "%s/%s", world->temp.path, folder(world, name));
    int count = scandir(here, &entries, NULL, alphasort);
    assert_true(count > 2);
    snprintf(out, PATH_SIZE, "%s/%s", folder(world, name), entries[2]->d_name);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/*
 * test_files.c: what the tools that read files open, and what they refuse.
 */
#include <sys/stat.h>

#include "../../memory/world.h"
#include "agent/tools/toolbox.h"
#include "agent/tools/updates.h"
#include "ops/op.h"

struct scene {
    struct world *world;
    struct toolbox box;
    struct updates updates;
    char project[160];
    struct str out;
};

/* A project with files of several kinds, beside it and in the home what nobody may read. */
static void scene_open(struct scene *scene, void **state)
{
    struct world *world = *state;
    memset(scene, 0, sizeof *scene);
    scene->world = world;
    snprintf(scene->project, sizeof scene->project, "%s/project", world->temp.path);
    world_put(world, "project/main.c", "int main(void)\n");
    world_put(world, "project/sub/deep.txt", "deep\n");
    world_put(world, "project/.ethos/users/ana/USER.md", "Ana's profile: secret-of-ana\n");
    world_put(world, "outside/secret.txt", "secret-outside\n");
    world_put(world, "home/users/ben/USER.md", "secret-of-ben\n");
    world_put(world, "home/keys.yaml", "KEY: secret-key\n");
    world_put(world, "project-other/x.txt", "secret-neighbour\n");
    assert_int_equal(symlinkat("../outside/secret.txt", world->temp.fd, "project/link"), 0);
    assert_int_equal(symlinkat("../outside", world->temp.fd, "project/folder-link"), 0);
    assert_int_equal(symlinkat("/etc", world->temp.fd, "project/etc"), 0);
    assert_int_equal(symlinkat("main.c", world->temp.fd, "project/inner"), 0);
    assert_int_equal(mkfifoat(world->temp.fd, "project/fifo", 0600), 0);
    world_turn(world, NULL);
    assert_ok(world, updates_init(&scene->updates, world->turn, &world->error));
    const struct toolbox_setup setup = {.ethos = world->ethos,
                                        .rights = OP_RIGHTS_AGENT,
                                        .via = "ask",
                                        .updates = &scene->updates,
                                        .roots = {scene->project},
                                        .root_count = 1};
    assert_ok(world, toolbox_init(&scene->box, &setup, &world->error));
    str_init(&scene->out, 1048576);
}

static void scene_close(struct scene *scene)
{
    toolbox_release(&scene->box);
    updates_release(&scene->updates);
    str_release(&scene->out);
}

static bool call(struct scene *scene, const char *name, json_t *args)
{
    char *text = json_dumps(args, JSON_COMPACT);
    str_clear(&scene->out);
    enum toolbox_text whose;
    bool done = toolbox_call(&scene->box, view_str(name), view_str(text), "c1", &scene->out,
                             &whose);
    assert_int_equal(whose, done ? TOOLBOX_FOREIGN : TOOLBOX_PLAIN);
    free(text);
    json_decref(args);
    return done;
}

static void test_paths_that_lead_out_are_refused(void **state)
{
    static const char *const paths[] = {
        "..",
        "../outside/secret.txt",
        "../../etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        "/proc/self/cwd/../outside/secret.txt",
        "/dev/stdin",
        "/dev/zero",
        "link",
        "./link",
        "sub/../link",
        "folder-link",
        "folder-link/secret.txt",
        "etc",
        "etc/passwd",
        "sub/../../outside/secret.txt",
        "sub/./../../outside/secret.txt",
        "main.c/../../outside/secret.txt",
        "inner/../../outside/secret.txt",
        "fifo",
        "~/.ssh/id_rsa",
        "$HOME/.bashrc",
        "%2e%2e/outside/secret.txt",
        "..\\outside\\secret.txt",
        "file:///etc/passwd",
        "sub",
        "main.c/",
        "nosuch",
        "sub/../../project-other/x.txt",
    };
    struct scene scene;
    char path[400];
    scene_open(&scene, state);
    assert_true(COUNT(paths) >= 30);
    for (size_t i = 0; i < COUNT(paths); i++) {
        if (call(&scene, "read_file", json_pack("{s:s}", "path", paths[i])))
            fail_msg("%s was read: %s", paths[i], scene.out.data);
        assert_null(strstr(scene.out.data, "secret-"));
        assert_null(strstr(scene.out.data, "root:"));
    }
    snprintf(path, sizeof path, "%s-other/x.txt", scene.project);
    assert_false(call(&scene, "read_file", json_pack("{s:s}", "path", path)));
    assert_false(call(&scene, "read_file", json_pack("{s:s%}", "path", "main.c\0/x", (size_t)9)));
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_false(call(&scene, "read_file", json_pack("{s:s}", "path", path)));
    scene_close(&scene);
}

static void test_files_within_are_read(void **state)
{
    struct scene scene;
    char path[400];
    scene_open(&scene, state);
    assert_true(call(&scene, "read_file", json_pack("{s:s}", "path", "main.c")));
    assert_string_equal(scene.out.data, "int main(void)\n");
    assert_true(call(&scene, "read_file", json_pack("{s:s}", "path", "inner")));
    snprintf(path, sizeof path, "%s/sub/deep.txt", scene.project);
    assert_true(call(&scene, "read_file", json_pack("{s:s}", "path", path)));
    assert_string_equal(scene.out.data, "deep\n");
    scene_close(&scene);
}

/* A folder that has the home in it, as the home directory of a person does. */
static void test_the_home_of_ethos_is_read_through_its_own_root_alone(void **state)
{
    struct scene scene;
    struct world *world = *state;
    scene_open(&scene, state);
    scene.box.setup.roots[0] = world->temp.path;
    assert_false(call(&scene, "read_file", json_pack("{s:s}", "path", "home/keys.yaml")));
    assert_false(call(&scene, "read_file", json_pack("{s:s}", "path", "home/users/ben/USER.md")));
    assert_false(call(&scene, "list_files", json_pack("{s:s}", "path", "home/users")));
    assert_true(call(&scene, "search_files", json_pack("{s:s}", "query", "secret-")));
    assert_null(strstr(scene.out.data, "secret-of-ben"));
    assert_null(strstr(scene.out.data, "secret-key"));
    assert_non_null(strstr(scene.out.data, "outside/secret.txt:1: secret-outside"));
    assert_true(call(&scene, "list_files", json_pack("{s:b}", "recursive", 1)));
    assert_null(strstr(scene.out.data, "keys.yaml"));
    scene_close(&scene);
}

static void test_without_a_root_there_are_no_file_tools(void **state)
{
    struct scene scene;
    scene_open(&scene, state);
    toolbox_release(&scene.box);
    const struct toolbox_setup setup = {.ethos = scene.world->ethos,
                                        .rights = OP_RIGHTS_AGENT,
                                        .via = "ask",
                                        .updates = &scene.updates};
    assert_ok(scene.world, toolbox_init(&scene.box, &setup, &scene.world->error));
    assert_false(call(&scene, "read_file", json_pack("{s:s}", "path", "main.c")));
    assert_non_null(strstr(scene.out.data, "unknown tool: read_file"));
    scene_close(&scene);
}

static void test_arguments_are_checked(void **state)
{
    struct scene scene;
    scene_open(&scene, state);
    assert_false(call(&scene, "read_file", json_object()));
    assert_string_equal(scene.out.data, "read_file: missing argument path");
    assert_false(call(&scene, "read_file", json_pack("{s:i}", "path", 1)));
    assert_string_equal(scene.out.data, "read_file: path has the wrong type");
    assert_false(call(&scene, "read_file", json_pack("{s:s, s:s}", "path", "main.c", "mode", "x")));
    assert_string_equal(scene.out.data, "read_file: unknown argument mode");
    assert_false(call(&scene, "search_files", json_pack("{s:s}", "query", " ")));
    scene_close(&scene);
}

static void test_long_results_are_cut_with_a_note(void **state)
{
    struct scene scene;
    char *text = calloc(1, 100001);
    assert_non_null(text);
    memset(text, 'x', 100000);
    scene_open(&scene, state);
    world_put(scene.world, "project/long.txt", text);
    assert_true(call(&scene, "read_file", json_pack("{s:s}", "path", "long.txt")));
    assert_non_null(strstr(scene.out.data, "[cut: 32768 of 100000 bytes are shown"));
    free(text);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_paths_that_lead_out_are_refused),
        WORLD_TEST(test_files_within_are_read),
        WORLD_TEST(test_the_home_of_ethos_is_read_through_its_own_root_alone),
        WORLD_TEST(test_without_a_root_there_are_no_file_tools),
        WORLD_TEST(test_arguments_are_checked),
        WORLD_TEST(test_long_results_are_cut_with_a_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

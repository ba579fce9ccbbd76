/*
 * test_ephemeral.c: with ephemeral memory no operation of the table touches the real one, or shows
 * anything of it.
 *
 * A home is filled, every row is run on an ephemeral handle with arguments of the right type, and
 * before and after each the home and the project are compared: names, inodes, sizes, times. Rows that
 * change settings on purpose, which are no memory, are named below.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/temp.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "ops/op.h"

#define SECRET "zebra-of-the-real-memory"

static struct temp elsewhere; /* where what is told to write a folder may do so */

/* Settings, the tables of programs, and what writes where it is told to. */
static const char *const exempt[] = {"config.set",        "config.unset",  "personalities.create",
                                     "personalities.use", "admin.install", "admin.uninstall",
                                     "admin.mergeDriver"};

static bool is_exempt(const struct op *op)
{
    for (size_t i = 0; i < sizeof exempt / sizeof *exempt; i++)
        if (strcmp(exempt[i], op->name) == 0)
            return true;
    return !op->run || (op->effect & OP_NO_HOME);
}

/* ---- looking ---------------------------------------------------------------------------------- */

struct look {
    int dir;
    const char *path;
    struct str *out;
};

static void look_below(int dir, const char *path, struct str *out);

static int look_at(void *arg, const char *name)
{
    const struct look *look = arg;
    struct stat st;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", look->path, name);
    assert_int_equal(fstatat(look->dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    str_printf(look->out, "%s %ju %jd %jd.%09ld %jd.%09ld\n", path, (uintmax_t)st.st_ino,
               (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
               (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    if (S_ISDIR(st.st_mode)) {
        int inner = openat(look->dir, name, O_RDONLY | O_DIRECTORY);
        assert_true(inner >= 0);
        look_below(inner, path, look->out);
        close(inner);
    }
    return 0;
}

static void look_below(int dir, const char *path, struct str *out)
{
    struct look look = {dir, path, out};
    assert_true(os_list(dir, look_at, &look) >= 0);
}

/* ---- running ---------------------------------------------------------------------------------- */

static json_t *some_value(const struct op_arg *arg)
{
    char choice[64];
    int64_t low, high;
    switch (arg->type) {
    case OP_INTEGER:
        op_range(arg, &low, &high);
        return json_integer(low > 0 ? low : 1);
    case OP_FLAG:
        return json_true();
    case OP_CHOICE:
        snprintf(choice, sizeof choice, "%.*s", (int)strcspn(arg->choices, "|"), arg->choices);
        return json_string(choice);
    case OP_TIME:
        return json_string("7d");
    case OP_VALUE:
        return json_array();
    case OP_TEXT:
        break;
    }
    return json_string(
        strcmp(arg->name, "updates") == 0 ? "[{\"action\":\"add\",\"content\":\"x\"}]"
        : strcmp(arg->name, "path") == 0 || strcmp(arg->name, "to") == 0 ? elsewhere.path
        : strcmp(arg->name, "scope") == 0                                ? "workspace"
                                                                         : "fact");
}

/* The arguments a row needs, or all of them. Two ways that exclude each other are not both asked for. */
static json_t *some_args(const struct op *op, bool all)
{
    json_t *args = json_object();
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        bool skip = strcmp(arg->name, "replace") == 0 || strcmp(arg->name, "keep") == 0 ||
                    strcmp(arg->name, "take") == 0 || strcmp(arg->name, "store") == 0 ||
                    strcmp(arg->name, "ifMatch") == 0;
        if ((arg->flags & OP_REQUIRED) || (all && !skip))
            json_object_set_new(args, arg->name, some_value(arg));
    }
    return args;
}

static void run_op(const struct op *op, struct ethos *memory, bool all)
{
    const struct ethos_request request = {0};
    json_t *args = some_args(op, all);
    struct op_call call = {
        .ethos = memory, .request = &request, .args = args, .want_json = true, .via = "test"};
    struct op_result result;
    struct ethos_error error = {0};
    op_result_init(&result);
    int code = op_run(op, &call, &result, &error);
    char *json = json_dumps(result.json, JSON_ENCODE_ANY);
    if ((json && strstr(json, SECRET)) || view_contains(str_view(&result.text), VIEW(SECRET)))
        fail_msg("%s shows the real memory", op->name);
    if (code == ETHOS_INVALID && strstr(error.text, "argument"))
        fail_msg("%s: not tried: %s", op->name, error.text);
    free(json);
    op_result_release(&result);
    json_decref(args);
}

/* ---- the test --------------------------------------------------------------------------------- */

/* A conversation of the project, with the key by which rows ask. */
static void fill_sessions(struct ethos *memory)
{
    struct ethos_sessions *store;
    char id[ETHOS_UUID_SIZE], folder[512];
    assert_non_null(getcwd(folder, sizeof folder));
    const struct ethos_session session = {
        .key = "fact", .platform = "cli", .working_dir = folder, .title = SECRET};
    const struct ethos_message said = {.role = "user", .content = VIEW("fact " SECRET)};
    assert_int_equal(ethos_sessions(memory, &store, NULL), ETHOS_OK);
    assert_int_equal(store->ops->create(store, &session, id, NULL), ETHOS_OK);
    assert_int_equal(store->ops->append(store, id, &said, 1, 0, NULL), ETHOS_OK);
}

static void fill(struct ethos *memory)
{
    struct ethos_turn *turn;
    const struct ethos_fact fact = {.text = VIEW(SECRET), .title = VIEW("fact")};
    const struct ethos_update updates[] = {
        {.action = ETHOS_ACTION_ADD, .store = "memory", .text = VIEW(SECRET)},
        {.action = ETHOS_ACTION_ADD, .store = "user", .text = VIEW(SECRET)},
        {.action = ETHOS_ACTION_ADD, .scope = "global", .key = "fact.md", .text = VIEW(SECRET)}};
    assert_int_equal(ethos_turn_new(memory, NULL, &turn, NULL), ETHOS_OK);
    assert_int_equal(ethos_sync(turn, updates, 3, NULL, NULL), ETHOS_OK);
    assert_int_equal(ethos_remember(turn, &fact, NULL, NULL, NULL), ETHOS_OK);
    ethos_turn_free(turn);
    fill_sessions(memory);
}

static void open_memory(const char *home, int ephemeral, struct ethos **out)
{
    const struct ethos_options options = {.home = home, .ephemeral = ephemeral};
    struct ethos_error error;
    if (ethos_open(&options, out, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
}

static void test_no_operation_touches_or_shows_the_real_memory(void **state)
{
    struct temp temp;
    struct ethos *memory;
    struct str before, after;
    char home[512], project[512], git[600];
    unsigned tried = 0;
    (void)state;
    temp_make(&temp);
    temp_make(&elsewhere);
    snprintf(home, sizeof home, "%s/home", temp.path);
    snprintf(project, sizeof project, "%s/project", temp.path);
    snprintf(git, sizeof git, "%s/.git", project);
    assert_int_equal(mkdir(project, 0700) | mkdir(git, 0700) | chdir(project), 0);
    str_init(&before, SIZE_MAX);
    str_init(&after, SIZE_MAX);
    open_memory(home, 0, &memory);
    fill(memory);
    ethos_close(memory);
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        for (int all = 0; all < 2 && !is_exempt(op); all++, tried++) {
            str_clear(&before);
            look_below(temp.fd, "", &before);
            open_memory(home, 1, &memory);
            run_op(op, memory, all);
            ethos_close(memory);
            str_clear(&after);
            look_below(temp.fd, "", &after);
            if (!view_eq(str_view(&before), str_view(&after)))
                fail_msg("%s changed something:\n%s\n---\n%s", op->name, before.data, after.data);
        }
    }
    assert_true(tried > 60);
    assert_int_equal(chdir("/"), 0);
    str_release(&before);
    str_release(&after);
    temp_remove(&elsewhere);
    temp_remove(&temp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_operation_touches_or_shows_the_real_memory),
    };
    unsetenv("ETHOS_HOME");
    unsetenv("ETHOS_WORKSPACE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

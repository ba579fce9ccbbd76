/*
 * run.c: reads input, runs an operation, shows its result, maps codes to exit codes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "cli/view_internal.h"
#include "ops/admin/mistyped_names.h"
#include "ops/admin/status.h"
#include "ops/memory/recall_index.h"
#include "ops/sessions/hooks.h"
#include "ops/shutdown.h"

#include <ethos/provider.h>

/* ---- errors -------------------------------------------------------------------------------- */

int cli_exit_code(int code)
{
    switch (code) {
    case ETHOS_OK:
        return CLI_DONE;
    case ETHOS_NOTFOUND:
        return CLI_NOTFOUND;
    case ETHOS_EXISTS:
    case ETHOS_CONFLICT:
        return CLI_CONFLICT;
    case ETHOS_DENIED:
    case ETHOS_LIMIT:
        return CLI_REFUSED;
    case ETHOS_BUSY:
        return CLI_BUSY;
    case ETHOS_IO:
    case ETHOS_CORRUPT:
        return CLI_STORAGE;
    default:
        return CLI_FAILED;
    }
}

/* JSON escapes C0, but neither C1 nor what hides text. A part never ends within a character. */
static int print_part(const char *part, size_t size, void *arg)
{
    const bool *tty = arg;
    if (*tty)
        term_safe(stdout, view_of(part, size));
    else
        fwrite(part, 1, size, stdout);
    return 0;
}

/* Goes out as it is made: a conversation may be larger than what one would want to hold twice. */
static bool print_json(const json_t *value)
{
    bool tty = isatty(STDOUT_FILENO);
    size_t flags = tty ? JSON_INDENT(2) : JSON_COMPACT;
    bool whole = json_dump_callback(value, print_part, &tty, flags | JSON_ENCODE_ANY) == 0;
    fputc('\n', stdout);
    return whole;
}

/* A message is one line, whatever it quotes. */
static void print_error_message(const char *text)
{
    for (;;) {
        size_t size = strcspn(text, "\n");
        term_safe(stderr, view_of(text, size));
        if (!text[size])
            return;
        fputs("\\n", stderr);
        text += size + 1;
    }
}

static void complain(const struct ethos_error *error)
{
    fflush(stdout); // what was shown before stands before
    fputs("ethos: ", stderr);
    print_error_message(error->text);
    if (*error->hint) {
        fputs("; ", stderr);
        print_error_message(error->hint);
    }
    fputc('\n', stderr);
}

int cli_fail(const struct cli *self, const struct ethos_error *error)
{
    if (self->instead)
        return cli_exit_code(error->code); // cli_main says it
    if (self->json) {
        json_t *json = json_pack("{s:o}", "error", op_json_error(error));
        print_json(json);
        json_decref(json);
    } else {
        complain(error);
    }
    return cli_exit_code(error->code);
}

/* Without a hint, the way to the help of what was typed. */
int cli_usage(const struct cli *self, const char *hint, const char *format, ...)
{
    struct ethos_error error = {ETHOS_INVALID, "", ""};
    const char *command = self->op ? self->op->command : self->group;
    va_list args;
    va_start(args, format);
    vsnprintf(error.text, sizeof error.text, format, args);
    va_end(args);
    if (hint)
        snprintf(error.hint, sizeof error.hint, "%s", hint);
    else
        snprintf(error.hint, sizeof error.hint, "see ethos %s%s--help", command ? command : "",
                 command ? " " : "");
    cli_fail(self, &error);
    return CLI_USAGE;
}

/* ---- input --------------------------------------------------------------------------------- */

static int read_input_file(const char *path, struct str *out, struct ethos_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    int fd = standard ? STDIN_FILENO : os_openat(AT_FDCWD, path, O_RDONLY, 0);
    if (fd < 0)
        return err_errno(error, errno, name);
    int code = ETHOS_OK;
    if (os_read_all(fd, out, ETHOS_MAX_INPUT_BYTES) != 0)
        code = errno == EFBIG ? err_set(error, ETHOS_LIMIT, "%s: larger than %d bytes", name,
                                        ETHOS_MAX_INPUT_BYTES)
                              : err_errno(error, errno, name);
    if (!standard)
        os_close(fd);
    return code;
}

/* Replaces the argument by what the file or standard input holds. */
static int fill_argument(struct cli *self, const struct op_arg *arg, const char *path)
{
    struct str text;
    struct ethos_error error = {0};
    str_init(&text, ETHOS_MAX_INPUT_BYTES + 1);
    int code = read_input_file(path, &text, &error);
    if (code == ETHOS_OK && !utf8_valid(str_view(&text)))
        code = err_set(&error, ETHOS_INVALID, "%s: not valid UTF-8",
                       strcmp(path, "-") == 0 ? "standard input" : path);
    if (code == ETHOS_OK)
        op_json_put(&self->args, arg->name, json_stringn_nocheck(text.data, text.size));
    str_release(&text);
    return code == ETHOS_OK ? CLI_DONE : cli_fail(self, &error);
}

static int missing_argument(const struct cli *self, const struct op_arg *arg)
{
    char hint[192];
    snprintf(hint, sizeof hint, "for example: %s", self->op->example);
    return cli_usage(self, hint, "missing %s", arg->placeholder);
}

/* A text argument that is "-", or left out where a pipe is the usual way. */
static int read_arguments(struct cli *self)
{
    for (const struct op_arg *arg = self->op->args; arg && arg->name; arg++) {
        const char *given = json_string_value(json_object_get(self->args, arg->name));
        bool piped = (arg->flags & OP_STDIN) &&
                     ((arg->flags & OP_FILE) || !(arg->flags & OP_POSITIONAL));
        if (!given && piped && !isatty(STDIN_FILENO))
            given = "-";
        bool reads = given && (arg->flags & OP_STDIN) &&
                     (strcmp(given, "-") == 0 || (arg->flags & OP_FILE));
        int code = reads ? fill_argument(self, arg, given) : CLI_DONE;
        if (code != CLI_DONE)
            return code;
        if ((arg->flags & OP_REQUIRED) && !given && !json_object_get(self->args, arg->name))
            return missing_argument(self, arg);
    }
    return CLI_DONE;
}

/* ---- running ------------------------------------------------------------------------------- */

static void *resize(void *arg, void *block, size_t size)
{
    (void)arg;
    if (size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, size);
}

static void log_to_stderr(void *arg, enum ethos_level level, const char *line)
{
    const struct cli *self = arg;
    bool doctor = self->op && strcmp(self->op->name, "admin.doctor") == 0; // finds it itself
    if (level > ETHOS_LOG_WARN || ((self->quiet || doctor) && level == ETHOS_LOG_WARN))
        return;
    struct ethos_error error = {0};
    snprintf(error.text, sizeof error.text, "%s", line);
    complain(&error);
}

static int64_t now_ms(void *arg)
{
    (void)arg;
    return os_now_ms();
}

static bool env_on(const char *name)
{
    const char *value = getenv(name);
    return value && *value && strcmp(value, "0") != 0;
}

static const int endings[] = {SIGINT, SIGTERM, SIGHUP};

/* Signals wait, then they are delivered: throwaway memory is thrown away even when interrupted. */
static void hold_signals(bool hold)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        sigaddset(&signals, endings[i]);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &signals, NULL);
}

static bool is_shutdown_requested(void *arg)
{
    (void)arg;
    return shutdown_signal() != 0;
}

/* What a call is made with; the members of struct cli outlive it. */
struct call_setting {
    struct ethos_host host;
    struct ethos_options options;
    struct ethos_request request;
};

static void read_call_setting(struct cli *self, struct call_setting *out)
{
    out->host = (struct ethos_host){ETHOS_ABI, self, resize, log_to_stderr, now_ms};
    out->options = (struct ethos_options){
        .home = self->home,
        .ephemeral = self->ephemeral || env_on("ETHOS_EPHEMERAL_MEMORY"),
        .fast = self->fast,
        .host = &out->host,
    };
    out->request = (struct ethos_request){
        .personality = self->personality, .user = self->user, .workspace = self->workspace};
}

int cli_call(struct cli *self, const struct op *op, json_t *args, struct op_result *result,
             struct ethos_error *error)
{
    struct call_setting setting;
    char hint[MEANT_HINT_SIZE] = "";
    read_call_setting(self, &setting);
    struct op_call call = {.home = self->home,
                           .request = &setting.request,
                           .args = args,
                           .want_json = self->json,
                           .dry_run = self->dry_run,
                           .whole_lists = true,
                           .via = strcmp(op->name, "memory.save") == 0 ? "editor" : "cli",
                           .progress = view_progress,
                           .tell = view_tell,
                           .progress_arg = self};
    bool held = strcmp(op->name, "memory.migrate") == 0; // until all is said: how it goes on
    bool cleans = strcmp(op->name, "admin.backup") == 0 || strcmp(op->name, "admin.restore") == 0;
    if (held || cleans) {
        call.stopped = is_shutdown_requested;
        shutdown_catch_signals();
    } else if (setting.options.ephemeral) {
        hold_signals(true);
    }
    int code = op->effect & OP_NO_HOME ? ETHOS_OK
                                       : ethos_open(&setting.options, &call.ethos, error);
    if (code == ETHOS_OK)
        code = check_mistyped_names(&call, op, hint, error);
    if (code == ETHOS_OK && *hint)
        log_to_stderr(self, ETHOS_LOG_WARN, hint);
    if (code == ETHOS_OK)
        code = op_run(op, &call, result, error);
    view_progress(self, 0, 0); // whatever became of it
    ethos_close(call.ethos);
    if (cleans)
        shutdown_restore_signals(false);
    else if (!held && setting.options.ephemeral)
        hold_signals(false);
    return code;
}

/* With --json one document, an error as its member; else text, and the error on stderr. */
int cli_show(struct cli *self, const struct op *op, const struct op_result *result)
{
    if (self->json) {
        const char *list = strcmp(op->name, "memory.history") == 0 ? "items"
                           : strcmp(op->name, "pending.list") == 0
                               ? "pending"
                               : NULL; // all of it is a list here
        if (result->code != ETHOS_OK && json_is_object(result->json))
            json_object_set_new(result->json, "error", op_json_error(&result->error));
        if (!print_json(list ? json_object_get(result->json, list) : result->json)) {
            struct ethos_error error;
            err_nomem(&error);
            complain(&error);
            return CLI_FAILED;
        }
    } else {
        view_result(self, op, result);
        if (result->code != ETHOS_OK)
            complain(&result->error);
    }
    return cli_exit_code(result->code);
}

static int run_table_operation(struct cli *self)
{
    struct op_result result;
    struct ethos_error error = {0};
    int status = read_arguments(self);
    if (status == CLI_DONE)
        status = ask_before(self);
    if (status != CLI_DONE)
        return status;
    op_result_init(&result);
    int code = cli_call(self, self->op, self->args, &result, &error);
    status = code == ETHOS_OK ? cli_show(self, self->op, &result) : cli_fail(self, &error);
    if (status == CLI_CONFLICT && strcmp(self->op->name, "admin.mergeDriver") == 0)
        status = CLI_FAILED; // how a merge driver tells git of conflicts
    op_result_release(&result);
    return status;
}

/* ---- other surfaces ------------------------------------------------------------------------ */

static const struct surface *find_surface(const struct cli *self)
{
    for (const struct surface *surface = self->surfaces; surface && surface->name; surface++)
        if (strcmp(surface->name, self->op->name) == 0)
            return surface;
    return NULL;
}

/* Whether what was said is searched, too, where that is to be had. */
static bool is_asking(const struct cli *self)
{
    return op_needs_other_program(self->op) && json_object_get(self->args, "query");
}

/* Whether an index is to have vectors of a model elsewhere, which this program cannot ask. */
static bool embeds_elsewhere(struct cli *self)
{
    struct call_setting setting;
    struct ethos *ethos = NULL;
    if (strcmp(self->op->name, "recall.index") != 0 || self->executed)
        return false;
    read_call_setting(self, &setting);
    bool elsewhere = ethos_open(&setting.options, &ethos, NULL) == ETHOS_OK &&
                     recall_index_elsewhere(ethos, setting.request.personality);
    ethos_close(ethos);
    return elsewhere;
}

/* Whether what is imported is a database, which this program cannot read. */
static bool imports_database(const struct cli *self)
{
    const char *source = json_string_value(json_object_get(self->args, "source"));
    return strcmp(self->op->name, "transfer.import") == 0 && source &&
           strcmp(source, "ethos-vector") == 0 && !op_is_in_program(op_find("memory.recall"));
}

/* Whether another program should do it; this one does when that is not to be had. */
static void try_elsewhere(struct cli *self, const struct surface *surface)
{
    struct ethos_error error = {0};
    if (is_asking(self) || (surface && surface->elsewhere && surface->elsewhere(self->args)))
        program_try(self, "ethos-db", -1, &error);
}

static int hand_over_to_program(void *arg, int state, struct ethos_error *error)
{
    return program_try(arg, "ethos-db", state, error);
}

static int run_surface(struct cli *self, const struct surface *surface)
{
    struct call_setting setting;
    struct ethos_error error = {0};
    int status = read_arguments(self);
    if (status != CLI_DONE)
        return status;
    read_call_setting(self, &setting);
    const struct surface_start start = {.args = self->args,
                                        .options = &setting.options,
                                        .request = &setting.request,
                                        .dry_run = self->dry_run,
                                        .json = self->json,
                                        .quiet = self->quiet,
                                        .yes = self->yes,
                                        .no_input = self->no_input,
                                        .color = (int)self->color,
                                        .hand_over = hand_over_to_program,
                                        .hand_over_arg = self,
                                        .state = self->state};
    int code = surface->run(&start, &error);
    return code == ETHOS_OK ? CLI_DONE : *error.text ? cli_fail(self, &error) : cli_exit_code(code);
}

/* ---- what hooks left --------------------------------------------------------------------------- */

#define DRAIN_MS 300

static bool is_waiting(const struct cli *self)
{
    return !(self->op->effect & OP_NO_HOME) && !self->dry_run && !self->ephemeral &&
           !env_on("ETHOS_EPHEMERAL_MEMORY") && op_has_queued_hooks(self->home);
}

/*
 * What hooks could not record in time is recorded now: before a command that looks at sessions, and
 * after one of the small program, whose answer is there then. Nobody waits long for it: it can be
 * ended at any moment, and the next command goes on.
 */
static void take_waiting(struct cli *self, bool before)
{
    const struct op *drain = op_find("sessions.drain");
    if (self->op == drain || before != op_is_in_program(drain) || !is_waiting(self))
        return;
    fflush(stdout);
    const char *words[] = {"ethos",    "sessions", "drain", self->home ? "--home" : NULL,
                           self->home, NULL};
    program_run("ethos-db", words, DRAIN_MS);
}

/* ---- the program --------------------------------------------------------------------------- */

static int help(const struct cli *self)
{
    bool asked = self->help != CLI_HELP_NONE;
    if (!asked && self->json)
        return cli_usage(self, NULL, "missing COMMAND");
    FILE *out = asked ? stdout : stderr;
    if (self->op)
        help_operation(out, self->op, self->help == CLI_HELP_FULL);
    else if (self->group)
        help_group(out, self->group);
    else
        help_program(out, self->help == CLI_HELP_FULL);
    return asked ? CLI_DONE : CLI_USAGE;
}

static int dispatch(struct cli *self)
{
    if (self->man) {
        help_man(stdout);
        return CLI_DONE;
    }
    if (self->types) {
        help_types(stdout);
        return CLI_DONE;
    }
    if (self->version) {
        printf("ethos %s\n", ethos_version());
        return CLI_DONE;
    }
    if (self->help == CLI_HELP_NONE && !self->op && !self->group && op_home_exists(self->home))
        self->op = op_find("admin.status");
    if (self->help != CLI_HELP_NONE || !self->op)
        return help(self);
    if (strcmp(self->op->name, "memory.edit") == 0 || strcmp(self->op->name, "notes.edit") == 0)
        return edit_run(self);
    if (strcmp(self->op->name, "pending.review") == 0)
        return review_run(self);
    if (review_edits(self))
        return review_edit_run(self);
    if (strcmp(self->op->name, "admin.completion") == 0)
        return complete_run(self);
    const struct surface *surface = find_surface(self);
    if (surface && surface->program)
        return program_exec(self, surface->program);
    if (embeds_elsewhere(self))
        return program_exec(self, "ethos-agent");
    if (!op_is_in_program(self->op) || imports_database(self))
        return program_exec(self, "ethos-db");
    try_elsewhere(self, surface);
    if (surface && surface->instead)
        return run_surface(self, surface);
    take_waiting(self, true);
    int status = surface ? run_surface(self, surface) : run_table_operation(self);
    take_waiting(self, false);
    return status;
}

/* What is printed instead of complaints for the command that these words name, or NULL. */
static const char *find_instead(const struct surface *surface, int argc, char **argv)
{
    const char *word = cli_command_word(argc, argv);
    for (; word && surface && surface->name; surface++)
        if (surface->instead && strcmp(op_find(surface->name)->command, word) == 0)
            return surface->instead;
    return NULL;
}

/* jansson would open /dev/urandom for the seed of its hash tables; the kernel gave us one already. */
static void seed_json(void)
{
    size_t seed = 1;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random)
        memcpy(&seed, random, sizeof seed);
    json_object_seed(seed ? seed : 1);
}

/*
 * A stream that is closed must not become the descriptor of a file of memory. It is replaced by one
 * that can only be used the wrong way round, so that using it still fails.
 */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Memory of this program may hold what a person wrote: it does not end in a core file. */
static void protect(void)
{
#ifndef ETHOS_TEST_HOOKS
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
#endif
    umask(077);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); // a file size limit is an error like a full disk
}

int cli_main(int argc, char **argv, const struct surface *surfaces)
{
    struct cli self = {.surfaces = surfaces, .argv = argv};
    hold_streams();
    program_begin(&self);
    protect();
    seed_json();
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        self.json |= strcmp(argv[i], "--json") == 0; // so that even a usage error is JSON
    self.instead = find_instead(surfaces, argc, argv);
    int status = cli_parse(&self, argc, argv);
    term_init(&self.term, (int)self.color);
    if (status == CLI_DONE)
        status = dispatch(&self);
    if (!term_finish(&self.term) && status == CLI_DONE) {
        fprintf(stderr, "ethos: standard output: %s\n", strerror(errno));
        status = CLI_STORAGE;
    }
    shutdown_restore_signals(false);
    json_decref(self.args);
    if (status == CLI_DONE || !self.instead)
        return status;
    fputs(self.instead, stdout);
    fflush(stdout);
    return CLI_DONE;
}

/*
 * command.c: `ethos conformance FILE.so`: tests a backend in a shared object against the rules.
 *
 * Each rule runs in its own process with an empty home, so that a backend that crashes, hangs or corrupts memory breaks one
 * rule and not the report. The result comes back through a pipe; a process that ends without one has crashed. What the
 * backend prints goes into another pipe: on standard output it would corrupt the report, and the output of commands and of
 * `ethos mcp`.
 */
#include "conformance/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "conformance/conformance.h"
#include "memory/home/ephemeral.h"
#include "memory/provider/registry.h"

#define RULE_SECONDS 60   /* that a rule may take, by default */
#define DEADLINE_MS 10000 /* that the backend may wait at most */
#define NAME_SIZE 64      /* bytes of an option's name */
#define PRINTED_SIZE 80   /* bytes of its output to show */

/* ---- the backend ------------------------------------------------------------------------------ */

/* The tested backend. There is one per process, because rules open it with functions without an argument. */
static struct {
    char path[PATH_MAX];
    struct ethos_setting settings[SECRETS_MAX_SETTINGS];
    bool exposed[SECRETS_MAX_SETTINGS];
    char names[SECRETS_MAX_SETTINGS][NAME_SIZE];
    size_t count;
    struct backend backend;
    int seconds;                /* that a rule may take */
    char *root;                 /* home of the running rule */
    char printed[PRINTED_SIZE]; /* the first line that it wrote to standard output */
} object;

static struct ethos_setup setup_with(const struct ethos_host *host)
{
    return (struct ethos_setup){.host = host, .root = object.root, .deadline_ms = DEADLINE_MS};
}

/* Files with secrets are relative to the current directory. */
static struct secrets_given given_settings(void)
{
    return (struct secrets_given){object.settings, object.count, object.exposed, ".", NULL};
}

static int open_object_store(const struct ethos_host *host, struct ethos_store **out_store,
                             struct ethos_error *error)
{
    const struct ethos_setup setup = setup_with(host);
    const struct secrets_given given = given_settings();
    return registry_open_store(&object.backend, &setup, &given, out_store, error);
}

static int open_provider(const struct ethos_host *host, struct ethos_provider **out_provider,
                         struct ethos_error *error)
{
    const struct ethos_setup setup = setup_with(host);
    const struct secrets_given given = given_settings();
    return registry_open(&object.backend, &setup, &given, (struct registry_group){0}, out_provider,
                         error);
}

/* Adds an option NAME=VALUE. It counts as exposed, because everybody on the machine can see the command line. */
static int add_option_argument(const char *text, struct ethos_error *error)
{
    const char *equals = strchr(text, '=');
    size_t size = equals ? (size_t)(equals - text) : 0;
    if (size == 0 || size >= NAME_SIZE || object.count == SECRETS_MAX_SETTINGS)
        return err_set(error, ETHOS_INVALID, "--option: NAME=VALUE, not '%s'", text);
    memcpy(object.names[object.count], text, size);
    object.settings[object.count] = (struct ethos_setting){object.names[object.count], equals + 1};
    object.exposed[object.count++] = true;
    return ETHOS_OK;
}

/* ---- one rule --------------------------------------------------------------------------------- */

/* The result of a rule, as it is written to the pipe. */
struct rule_verdict {
    enum rule_result result;
    bool provider; /* the backend is a provider, not a store */
    bool ended;    /* the process ended, or was killed, without a result */
    char why[RULE_WHY_SIZE];
};

static const struct conformance_subject subject = {.name = "module",
                                                   .open = open_object_store,
                                                   .open_provider = open_provider,
                                                   .own_revisions = true};

/* Checks that the backend can be opened at all. */
static int try_open(struct ethos_error *error)
{
    struct ethos_provider *provider = NULL;
    struct ethos_store *store = NULL;
    if (!object.backend.provider) {
        int code = open_object_store(&log_default_host, &store, error);
        if (code == ETHOS_OK)
            store->ops->close(store);
        return code;
    }
    int code = open_provider(&log_default_host, &provider, error);
    if (code == ETHOS_OK)
        provider->ops->close(provider);
    return code;
}

/* Loads the backend and runs a rule (NULL: only opens it), in its own process. */
static void run_rule_or_open(const struct rule *rule, struct rule_verdict *out)
{
    struct ethos_error error = {0};
    int code = registry_find(object.path, &object.backend, &error);
    out->provider = object.backend.provider != NULL;
    if (code == ETHOS_OK && !rule)
        code = try_open(&error);
    if (code != ETHOS_OK) {
        out->result = RULE_BROKEN;
        snprintf(out->why, sizeof out->why, "%.500s%s%.190s", error.text, *error.hint ? "; " : "",
                 error.hint);
    } else if (rule) {
        out->result = conformance_check(&subject, rule, out->why);
    }
}

static _Noreturn void run_child(const struct rule *rule, int out, int printed)
{
    struct rule_verdict verdict = {0};
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0); // so that processes it starts can be killed with it
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(printed, STDOUT_FILENO);
    run_rule_or_open(rule, &verdict);
    fflush(stdout);
    _exit(os_write_all(out, &verdict, sizeof verdict) == 0 ? 0 : 1);
}

static void describe_exit(int status, bool silent, struct rule_verdict *out)
{
    out->result = RULE_BROKEN;
    out->ended = true;
    if (silent)
        snprintf(out->why, sizeof out->why, "hangs: no answer within %d s", object.seconds);
    else if (WIFSIGNALED(status))
        snprintf(out->why, sizeof out->why, "crashes: %s", strsignal(WTERMSIG(status)));
    else
        snprintf(out->why, sizeof out->why, "ends the process (exit status %d)",
                 WEXITSTATUS(status));
}

/* Waits for the result, then kills the process and those it started. False if interrupted. */
static bool wait_for_verdict(pid_t pid, int in, int signals, struct rule_verdict *out)
{
    struct pollfd ready[] = {{.fd = in, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    int status = 0;
    bool silent = os_poll(ready, 2, object.seconds * 1000) == 0,
         interrupted = ready[1].revents != 0;
    ssize_t size = ready[0].revents ? os_read(in, out, sizeof *out) : 0;
    if (silent || interrupted)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    kill(-pid, SIGKILL);
    if (size != (ssize_t)sizeof *out)
        describe_exit(status, silent, out);
    return !interrupted;
}

/* Reads without waiting: processes that it started may still have the other end. */
static void read_printed(int in)
{
    if (!*object.printed && os_read(in, object.printed, sizeof object.printed - 1) < 0)
        object.printed[0] = 0;
}

/* The pipe for output does not block: a backend that prints more than it can buffer loses the rest. */
static int run_in_child(const struct rule *rule, int signals, struct rule_verdict *out,
                        struct ethos_error *error)
{
    int ends[2], printed[2];
    bool heard = false;
    if (pipe(ends) != 0)
        return err_errno(error, errno, "a process for a rule");
    if (pipe2(printed, O_NONBLOCK) != 0) {
        os_close(ends[0]), os_close(ends[1]);
        return err_errno(error, errno, "a process for a rule");
    }
    fflush(stdout);
    pid_t pid = fork();
    int code = pid < 0 ? err_errno(error, errno, "a process for a rule") : ETHOS_OK;
    if (pid == 0) {
        os_close(ends[0]), os_close(printed[0]);
        run_child(rule, ends[1], printed[1]);
    }
    os_close(ends[1]), os_close(printed[1]);
    if (pid > 0)
        heard = wait_for_verdict(pid, ends[0], signals, out);
    read_printed(printed[0]);
    os_close(ends[0]), os_close(printed[0]);
    return pid > 0 && !heard ? err_set(error, ETHOS_BUSY, "interrupted") : code;
}

/* Runs a rule with an empty home, which is removed afterwards. */
static int run_rule(const struct rule *rule, int signals, struct rule_verdict *out,
                    struct ethos_error *error)
{
    *out = (struct rule_verdict){0};
    int code = ephemeral_make(&object.root, error);
    if (code != ETHOS_OK)
        return code;
    code = run_in_child(rule, signals, out, error);
    ephemeral_remove(object.root);
    free(object.root);
    object.root = NULL;
    return code;
}

/* ---- the report ------------------------------------------------------------------------------- */

struct conformance_report {
    bool json;
    int signals;      /* becomes readable at a signal to end */
    size_t counts[3]; /* by enum rule_result */
};

/* Prints a text that may come from the backend, without control characters. */
static void print_plain(const char *text)
{
    struct ethos_view rest = view_str(text);
    while (rest.size > 0) {
        uint32_t cp;
        bool valid;
        size_t size = utf8_decode(rest.data, rest.size, &cp, &valid);
        bool sign = !valid || cp < 0x20 || (cp >= 0x7f && cp < 0xa0);
        if (cp == '\n')
            fputs("\\n", stdout);
        else
            fwrite(sign ? "?" : rest.data, 1, sign ? 1 : size, stdout);
        rest = view_from(rest, size);
    }
}

static void print_verdict(const struct conformance_report *report, const char *title,
                          const struct rule_verdict *verdict)
{
    static const char *const words[] = {"holds", "not offered", "BROKEN"};
    static const char *const names[] = {"holds", "notOffered", "broken"};
    if (report->json) {
        json_t *row = json_pack("{s:s, s:s, s:o}", "rule", title, "result", names[verdict->result],
                                "why",
                                *verdict->why ? json_text(view_str(verdict->why)) : json_null());
        json_dumpf(row, stdout, JSON_COMPACT);
        json_decref(row);
        putchar('\n');
        return;
    }
    printf("%-12s %s", words[verdict->result], title);
    if (*verdict->why) {
        fputs(": ", stdout);
        print_plain(verdict->why);
    }
    putchar('\n');
}

/* The last rule, which is decided after all others. */
static void check_printed_output(struct conformance_report *report)
{
    struct rule_verdict verdict = {.result = *object.printed ? RULE_BROKEN : RULE_HOLDS};
    object.printed[strcspn(object.printed, "\n")] = 0;
    if (verdict.result == RULE_BROKEN)
        snprintf(verdict.why, sizeof verdict.why,
                 "\"%s\"; this would be part of the output of commands and break ethos mcp; use "
                 "host->log, or standard error",
                 object.printed);
    print_verdict(report, "nothing is printed to standard output", &verdict);
    report->counts[verdict.result]++;
}

static int run_rules(struct conformance_report *report, bool provider, struct ethos_error *error)
{
    struct rule_verdict verdict;
    const struct rule *rule;
    char title[128];
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK; i++) {
        rule = provider ? conformance_provider_rule(i) : conformance_rule(i);
        if (!rule)
            break;
        code = run_rule(rule, report->signals, &verdict, error);
        if (code != ETHOS_OK)
            return code;
        rule_title(rule, title, sizeof title);
        print_verdict(report, title, &verdict);
        report->counts[verdict.result]++;
    }
    check_printed_output(report);
    return code;
}

static int print_summary(const struct conformance_report *report, bool provider,
                         struct ethos_error *error)
{
    const char *slash = strrchr(object.path, '/'), *name = slash ? slash + 1 : object.path;
    const char *kind = provider ? "provider" : "store";
    size_t held = report->counts[RULE_HOLDS], absent = report->counts[RULE_NOT_OFFERED],
           broken = report->counts[RULE_BROKEN];
    if (report->json)
        printf("{\"kind\":\"%s\",\"holds\":%zu,\"notOffered\":%zu,\"broken\":%zu}\n", kind, held,
               absent, broken);
    else
        printf("%s is a %s: %zu rule%s hold%s, %zu are about what it does not offer, broken: %zu\n",
               name, kind, held, held == 1 ? "" : "s", held == 1 ? "s" : "", absent, broken);
    if (broken == 0)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_INVALID, "%s: broken rules: %zu", name, broken);
    return err_hint(error, code, "docs/backends.md explains the rules");
}

static int run_all(struct conformance_report *report, struct ethos_error *error)
{
    struct rule_verdict opens;
    int code = run_rule(NULL, report->signals, &opens, error);
    if (code != ETHOS_OK)
        return code;
    if (opens.result == RULE_BROKEN && opens.ended)
        return err_set(error, ETHOS_INVALID, "%s: while opening it: %s", object.path, opens.why);
    if (opens.result == RULE_BROKEN)
        return err_set(error, ETHOS_INVALID, "%s", opens.why);
    code = run_rules(report, opens.provider, error);
    return code == ETHOS_OK ? print_summary(report, opens.provider, error) : code;
}

static int parse_arguments(const json_t *args, struct ethos_error *error)
{
    const char *file = json_string_value(json_object_get(args, "file"));
    const json_t *options = json_object_get(args, "option");
    int code = ETHOS_OK;
    const json_t *seconds = json_object_get(args, "timeout");
    object.seconds = seconds ? (int)json_integer_value(seconds) : RULE_SECONDS;
    if (os_realpath(file, object.path) != 0)
        return err_errno(error, errno, file);
    for (size_t i = 0; i < json_array_size(options) && code == ETHOS_OK; i++)
        code = add_option_argument(json_string_value(json_array_get(options, i)), error);
    return code;
}

int conformance_serve(const struct surface_start *start, struct ethos_error *error)
{
    struct conformance_report report = {.json = start->json};
    sigset_t ends, before;
    int code = parse_arguments(start->args, error);
    if (code != ETHOS_OK)
        return code;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, &before);
    report.signals = signalfd(-1, &ends, SFD_CLOEXEC);
    code = run_all(&report, error);
    fflush(stdout);
    sigprocmask(SIG_SETMASK, &before, NULL); // delivers a pending signal
    os_close(report.signals);
    return code;
}

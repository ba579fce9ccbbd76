/*
 * command.c: `ethos conformance FILE.so`: the rules over the shared object of somebody else.
 *
 * Each rule runs in a process of its own, with an empty directory as its home: so a backend that crashes,
 * hangs or scribbles over memory breaks one rule and not the report. What a rule came to travels back through a
 * pipe; a process that ends without a word has crashed in it. What is printed meanwhile goes into another pipe: on
 * standard output it would be part of the report, and of the answers of a command or of `ethos mcp`.
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

#define RULE_SECONDS 60   /* after which a rule hangs, unless said otherwise */
#define DEADLINE_MS 10000 /* what the backend is told to wait at most */
#define NAME_SIZE 64      /* bytes of an option's name */
#define PRINTED_SIZE 80   /* of what it prints, so much is shown */

/* ---- what is judged --------------------------------------------------------------------------- */

/* There is one in the process: a rule knows its store by functions without an argument. */
static struct {
    char path[PATH_MAX];
    struct ethos_setting settings[SECRETS_MAX_SETTINGS];
    bool exposed[SECRETS_MAX_SETTINGS];
    char names[SECRETS_MAX_SETTINGS][NAME_SIZE];
    size_t count;
    struct backend backend;
    int seconds;                /* that a rule may take */
    char *root;                 /* of the rule that runs */
    char printed[PRINTED_SIZE]; /* the first that it wrote to standard output */
} object;

static struct ethos_setup setup_with(const struct ethos_host *host)
{
    return (struct ethos_setup){.host = host, .root = object.root, .deadline_ms = DEADLINE_MS};
}

/* A secret's file is relative to where the command was typed. */
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

/* NAME=VALUE. What stands in a command line can be seen by everybody on the machine. */
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

/* What a rule came to, as it travels. */
struct rule_verdict {
    enum rule_result result;
    bool provider; /* what is judged is no store */
    bool ended;    /* by itself or by us, before it had answered */
    char why[RULE_WHY_SIZE];
};

static const struct conformance_subject subject = {.name = "module",
                                                   .open = open_object_store,
                                                   .open_provider = open_provider,
                                                   .own_revisions = true};

/* Whether it can be opened at all: what comes before every rule. */
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

/* In a process of its own, from loading on. rule NULL: whether it loads and opens. */
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
    setpgid(0, 0); // so that whatever it starts can be ended with it
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

/* Waits for what the process has to say, and ends it and what it started. False: interrupted. */
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

/* Without waiting: what it started may have the other end yet. */
static void read_printed(int in)
{
    if (!*object.printed && os_read(in, object.printed, sizeof object.printed - 1) < 0)
        object.printed[0] = 0;
}

/* The pipe for what is printed does not block: whoever prints more than it holds loses that and goes on. */
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

/* With an empty home, which goes away with it. */
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
    int signals;      /* becomes readable when somebody wants this to end */
    size_t counts[3]; /* by enum rule_result */
};

/* A backend's own words are part of it: on a terminal they must stay words. */
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

/* The last rule: known when all others were tried. */
static void check_printed_output(struct conformance_report *report)
{
    struct rule_verdict verdict = {.result = *object.printed ? RULE_BROKEN : RULE_HOLDS};
    object.printed[strcspn(object.printed, "\n")] = 0;
    if (verdict.result == RULE_BROKEN)
        snprintf(verdict.why, sizeof verdict.why,
                 "\"%s\"; that would stand in the answers of commands and break ethos mcp; use "
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
    return err_hint(error, code, "docs/backends.md tells what is behind them");
}

static int run_all(struct conformance_report *report, struct ethos_error *error)
{
    struct rule_verdict opens;
    int code = run_rule(NULL, report->signals, &opens, error);
    if (code != ETHOS_OK)
        return code;
    if (opens.result == RULE_BROKEN && opens.ended)
        return err_set(error, ETHOS_INVALID, "%s: when it is opened: %s", object.path, opens.why);
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
    sigprocmask(SIG_SETMASK, &before, NULL); // and then it is delivered
    os_close(report.signals);
    return code;
}

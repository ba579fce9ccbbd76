/*
 * run.c: runs the golden files of this directory; README.md describes them.
 *
 *     ETHOS_BIN=build/test/bin/ethos run [-j JOBS] [-n WORD] [-k] [-e NAME=VALUE]... FILE...
 *
 * Each test runs in a process and a directory of its own, its sections in order; the first that does
 * not hold ends it. Output is TAP in the order of the files. -n picks the tests whose name contains
 * WORD, -k keeps their directories, -e hands a variable to the commands.
 *
 * Needs nothing of the code it judges. Memory lives as long as the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "golden.h"

#define STEP_SECONDS 300 /* a command that takes longer hangs, also on a busy machine */
#define MAX_ENV 32

/* Servers of the tests: below the ports that the system gives to outgoing connections. */
#define FIRST_PORT 10000
#define LAST_PORT 32000

struct test {
    struct golden *golden;
    FILE *report;
    pid_t pid;
    int result; /* or -1 */
    struct test *next;
};

static struct options {
    int jobs;
    bool keep;
    const char *only;
    const char *program_dir; /* of $ETHOS_BIN, or NULL */
    char *extra[MAX_ENV];
    int extras;
} options = {.jobs = 2};

/* With sanitizers: what lives as long as the process has not leaked. */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* ---- running one test, in its own process -------------------------------------------------- */

/* root/home is HOME and the directory of the commands; beside it lie tmp, stdin, stdout, stderr. */
static char root[PATH_MAX], home[PATH_MAX];

__attribute__((format(printf, 1, 2))) static char *print(const char *format, ...)
{
    va_list args;
    char *out;

    va_start(args, format);
    if (vasprintf(&out, format, args) < 0)
        die("out of memory");
    va_end(args);
    return out;
}

static char *path_in(const char *dir, const char *name)
{
    return print("%s/%s", dir, name);
}

static void write_file(char *path, struct text body)
{
    if (!text_write(body, path))
        die("%s: %s", path, strerror(errno));
}

static void child_stream(int fd, const char *name, int flags)
{
    char *path = path_in(root, name);
    int file = open(path, flags | O_CREAT, 0600);

    if (file < 0 || dup2(file, fd) < 0)
        die("%s: %s", path, strerror(errno));
    close(file);
}

static bool is_free(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = probe >= 0 && bind(probe, (struct sockaddr *)&address, sizeof(address)) == 0;

    if (probe >= 0)
        close(probe);
    return bound;
}

/* A free port; tests that run at the same time begin to search at different ones. */
static int find_port(void)
{
    int count = LAST_PORT - FIRST_PORT;
    int first = (int)((long)getpid() * 7 % count);

    for (int i = 0; i < count; i++)
        if (is_free(FIRST_PORT + (first + i) % count))
            return FIRST_PORT + (first + i) % count;
    die("there is no free port");
}

/* A clean environment, so that a test means the same everywhere. */
static void child_exec(const char *script)
{
    const char *dir = options.program_dir;
    /* Into files of their own: a command that hides its stderr hides no report. */
    char *sanitizer = print("log_path=%s/sanitizer", root);

    clearenv();
    setenv("PATH", dir ? print("%s:/usr/bin:/bin", dir) : "/usr/bin:/bin", 1);
    setenv("HOME", home, 1);
    setenv("TMPDIR", path_in(root, "tmp"), 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TZ", "UTC", 1);
    setenv("PORT", print("%d", find_port()), 1);
    setenv("ASAN_OPTIONS", sanitizer, 1);
    setenv("UBSAN_OPTIONS", sanitizer, 1);
    for (int i = 0; i < options.extras; i++)
        putenv(options.extra[i]);
    execl("/bin/sh", "sh", "-c", script, (char *)NULL);
    die("/bin/sh: %s", strerror(errno));
}

static struct text section_text(const struct section *self)
{
    return self->exact ? self->body : text_expand(self->body, home);
}

/* Runs a script with root/stdin; -1 when it had to be stopped, 128 + n for signal n. */
static int run_script(const char *script)
{
    struct pollfd end = {.events = POLLIN};
    bool late;
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        setsid(); /* no terminal to ask on */
        child_stream(0, "stdin", O_RDONLY);
        child_stream(1, "stdout", O_WRONLY | O_TRUNC);
        child_stream(2, "stderr", O_WRONLY | O_TRUNC);
        if (chdir(home) != 0)
            die("%s: %s", home, strerror(errno));
        child_exec(script);
    }
    end.fd = pidfd_open(pid, 0);
    if (end.fd < 0)
        die("pidfd_open: %s", strerror(errno));
    late = poll(&end, 1, STEP_SECONDS * 1000) == 0;
    /* Nothing a command left behind outlives it. */
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    close(end.fd);
    return late ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Compares a file with what a section expects; reports the difference. */
static bool check_text(const struct section *expected, const char *what, const char *path)
{
    struct text got = {0};
    bool same;

    if (!text_read(&got, path)) {
        printf("# line %d: %s: %s\n", expected->line, what, strerror(errno));
        return false;
    }
    same = text_match(expected->body, got, expected->exact ? NULL : home);
    if (!same) {
        printf("# line %d: %s differs (- expected, + got)\n", expected->line, what);
        text_diff(expected->body, got, expected->exact ? NULL : home);
    }
    free(got.data);
    return same;
}

/* A thread that ended while leaks were searched for; it is no finding. */
static bool is_remark(struct text report)
{
    static const char remark[] = "Unable to get registers from thread";
    size_t lines = 0, remarks = 0;

    for (size_t i = 0; i < report.size; i++) {
        lines += report.data[i] == '\n';
        remarks += report.size - i >= sizeof(remark) - 1 &&
                   memcmp(report.data + i, remark, sizeof(remark) - 1) == 0;
    }
    return lines > 0 && lines == remarks;
}

/* Sanitizers write beside the home; whatever else a command did, that is a failure. */
static bool check_sanitizer(void)
{
    glob_t found = {0};
    bool good = true;

    if (glob(path_in(root, "sanitizer.*"), 0, NULL, &found) == GLOB_NOMATCH)
        return true;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct text report = {0};

        if (text_read(&report, found.gl_pathv[i]) && is_remark(report))
            continue;
        puts("# a sanitizer reports:");
        text_diff((struct text){0}, report, NULL);
        good = false;
    }
    return good;
}

/* One command with the sections that follow it; *at moves to the last of them. */
static bool do_run(struct section **at)
{
    struct section *run = *at, *out = NULL, *err = NULL, *status = NULL, none = {.line = run->line};
    struct text input = {0};
    int wanted, got;
    bool good;

    for (struct section *next; (next = (*at)->next); *at = next) {
        if (next->verb == VERB_STDIN)
            input = section_text(next);
        else if (next->verb == VERB_STDOUT)
            out = next;
        else if (next->verb == VERB_STDERR)
            err = next;
        else if (next->verb == VERB_EXIT)
            status = next;
        else
            break;
    }
    write_file(path_in(root, "stdin"), input);
    wanted = status ? (int)strtol(status->argument, NULL, 10) : 0;
    got = run_script(*run->argument ? run->argument : run->body.data);
    good = got == wanted;
    if (got < 0)
        printf("# line %d: stopped after %d seconds\n", run->line, STEP_SECONDS);
    else if (!good)
        printf("# line %d: exit status %d, expected %d\n", run->line, got, wanted);
    good = check_sanitizer() && good;
    good = check_text(out ? out : &none, "stdout", path_in(root, "stdout")) && good;
    if (err || !good)
        good = check_text(err ? err : &none, "stderr", path_in(root, "stderr")) && good;
    return good;
}

static bool do_mode(const struct section *self)
{
    char *name = strchr(self->argument, ' '), *path = path_in(home, name ? name + 1 : "");
    unsigned wanted = (unsigned)strtoul(self->argument, NULL, 8);
    struct stat st;

    if (stat(path, &st) != 0)
        printf("# line %d: %s: %s\n", self->line, path, strerror(errno));
    else if ((st.st_mode & 07777) != wanted)
        printf("# line %d: mode %04o, expected %04o\n", self->line, st.st_mode & 07777, wanted);
    else
        return true;
    return false;
}

static bool do_absent(const struct section *self)
{
    struct stat st;

    if (lstat(path_in(home, self->argument), &st) != 0 && errno == ENOENT)
        return true;
    printf("# line %d: %s is there\n", self->line, self->argument);
    return false;
}

enum { PASSED = 0, FAILED = 1, SKIPPED = 77 };

static int test_body(const struct golden *golden)
{
    for (struct section *at = golden->name->next; at; at = at->next) {
        char *path = path_in(home, at->argument);
        bool good = true;

        switch (at->verb) {
        case VERB_REQUIRE:
            write_file(path_in(root, "stdin"), (struct text){0});
            if (run_script(at->argument) != 0)
                return SKIPPED;
            break;
        case VERB_FILE:
            write_file(path, section_text(at));
            break;
        case VERB_RUN:
            good = do_run(&at);
            break;
        case VERB_FILE_IS:
            good = check_text(at, at->argument, path);
            break;
        case VERB_MODE_IS:
            good = do_mode(at);
            break;
        case VERB_ABSENT:
            good = do_absent(at);
            break;
        default:
            good = false;
            printf("# line %d: belongs to a run, and none is before it\n", at->line);
        }
        if (!good)
            return FAILED;
    }
    return PASSED;
}

static int test_run(const struct golden *golden)
{
    const char *temporary = getenv("TMPDIR");
    int result;

    umask(022);
    if (!realpath(temporary ? temporary : "/tmp", home))
        die("TMPDIR: %s", strerror(errno));
    snprintf(root, sizeof(root), "%.*s/ethos-cli-XXXXXX", PATH_MAX / 2, home);
    if (!mkdtemp(root))
        die("%s: %s", root, strerror(errno));
    snprintf(home, sizeof(home), "%.*s/home", PATH_MAX / 2, root);
    mkdir(home, 0700);
    mkdir(path_in(root, "tmp"), 0700);
    result = test_body(golden);
    if (options.keep) {
        printf("# kept %s\n", root);
        return result;
    }
    setenv("GOLDEN_ROOT", root, 1);
    if (system("chmod -R u+rwX \"$GOLDEN_ROOT\"; rm -rf \"$GOLDEN_ROOT\"") != 0)
        printf("# %s could not be removed\n", root);
    return result;
}

/* ---- all tests ----------------------------------------------------------------------------- */

static void test_start(struct test *self)
{
    self->report = tmpfile();
    fflush(NULL);
    self->pid = fork();
    if (self->pid == 0) {
        dup2(fileno(self->report), STDOUT_FILENO);
        dup2(fileno(self->report), STDERR_FILENO);
        // Tests limit open files: reports of tests that wait to be printed, and what the caller has open, do not count.
        close_range(3, ~0U, 0);
        exit(test_run(self->golden));
    }
}

static bool test_print(struct test *self, int number)
{
    bool good = self->result == PASSED || self->result == SKIPPED;
    int byte;

    printf("%s %d - %s: %s%s\n", good ? "ok" : "not ok", number, self->golden->file,
           self->golden->name->argument, self->result == SKIPPED ? " # SKIP" : "");
    rewind(self->report);
    while ((byte = getc(self->report)) != EOF)
        putchar(byte);
    fclose(self->report);
    return good;
}

/* At most options.jobs at a time; printed in order, each as soon as those before it are. */
static bool tests_run(struct test *first)
{
    struct test *start = first, *show = first;
    int running = 0, number = 0, status;
    bool good = true;

    while (show) {
        for (; start && running < options.jobs; start = start->next, running++)
            test_start(start);
        pid_t pid = wait(&status);
        for (struct test *test = show; test != start; test = test->next) {
            if (test->pid == pid)
                test->result = WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
        }
        running--;
        for (; show && show->result >= 0; show = show->next)
            good = test_print(show, ++number) && good;
        fflush(stdout);
    }
    return good;
}

static int parse_options(int argc, char **argv)
{
    const char *binary = getenv("ETHOS_BIN");
    int option;

    if (binary && !(options.program_dir = realpath(dirname(print("%s", binary)), NULL)))
        die("%s: %s", binary, strerror(errno));
    while ((option = getopt(argc, argv, "j:n:e:k")) != -1) {
        if (option == 'j')
            options.jobs = (int)strtol(optarg, NULL, 10);
        else if (option == 'n')
            options.only = optarg;
        else if (option == 'k')
            options.keep = true;
        else if (option == 'e' && options.extras < MAX_ENV && strchr(optarg, '='))
            options.extra[options.extras++] = optarg;
        else
            die("usage: run [-j JOBS] [-n WORD] [-k] [-e NAME=VALUE]... FILE...");
    }
    return optind;
}

int main(int argc, char **argv)
{
    struct golden *goldens = NULL, **end = &goldens;
    struct test *tests = NULL, **tail = &tests;
    int count = 0;

    for (int i = parse_options(argc, argv); i < argc; i++)
        end = golden_read(argv[i], end);
    for (struct golden *at = goldens; at; at = at->next) {
        if (options.only && !strstr(at->name->argument, options.only))
            continue;
        *tail = calloc(1, sizeof(**tail));
        **tail = (struct test){.golden = at, .result = -1};
        tail = &(*tail)->next;
        count++;
    }
    printf("1..%d\n", count);
    return tests_run(tests) ? 0 : 1;
}

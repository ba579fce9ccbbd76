/*
 * test_remote_tls.c: whom the backend `remote` believes: a server whose certificate it was told to trust, under
 * the name that it has. The server here is openssl's; what it answers is no ethos, which shows that it was
 * reached.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/dir.h"
#include "remote.h"

static char dir[] = "/tmp/ethos-tls-XXXXXX";
static char certificate[64], key[64];
static unsigned port;
static pid_t server;

static pid_t run(const char *const *words, int out)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out, STDOUT_FILENO);
        dup2(open("/dev/null", O_RDWR), STDERR_FILENO);
        execvp(words[0], (char **)words);
        _exit(127);
    }
    return pid;
}

/* Prints where it listens once it does. */
static void start_server(void)
{
    const char *const words[] = {"openssl",   "s_server", "-accept", "127.0.0.1:0", "-cert",
                                 certificate, "-key",     key,       "-www",        NULL};
    char line[256];
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    server = run(words, pipes[1]);
    close(pipes[1]);
    FILE *in = fdopen(pipes[0], "r");
    while (port == 0 && fgets(line, sizeof line, in))
        sscanf(line, "ACCEPT %*[^:]:%u", &port);
    assert_true(port > 0);
    // its further words go nowhere: the pipe stays open until this program ends
}

static int set_up(void **state)
{
    const char *const words[] = {"openssl",
                                 "req",
                                 "-x509",
                                 "-newkey",
                                 "ec",
                                 "-pkeyopt",
                                 "ec_paramgen_curve:prime256v1",
                                 "-nodes",
                                 "-subj",
                                 "/CN=localhost",
                                 "-addext",
                                 "subjectAltName=DNS:localhost",
                                 "-days",
                                 "2",
                                 "-out",
                                 certificate,
                                 "-keyout",
                                 key,
                                 NULL};
    int status;
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(certificate, sizeof certificate, "%s/cert.pem", dir);
    snprintf(key, sizeof key, "%s/key.pem", dir);
    waitpid(run(words, STDOUT_FILENO), &status, 0);
    if (status != 0)
        fail_msg("openssl makes no certificate");
    start_server();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return dir_remove(AT_FDCWD, dir);
}

static void assert_told(const char *host, const char *ca_file, int code, const char *says)
{
    char url[64];
    const struct ethos_setting settings[] = {
        {"url", url}, {"key", "sk-ethos-none"}, {ca_file ? "caFile" : NULL, ca_file}, {NULL, NULL}};
    struct ethos_error error = {0};
    snprintf(url, sizeof url, "https://%s:%u", host, port);
    if (remote_try(settings, 10000, &error) != code || !strstr(error.text, says))
        fail_msg("%s: %d, %s", url, error.code, error.text);
}

static void test_a_certificate_that_nobody_vouches_for_is_refused(void **state)
{
    (void)state;
    assert_told("localhost", NULL, ETHOS_DENIED, "not trusted");
}

static void test_one_that_was_named_is_believed(void **state)
{
    (void)state;
    assert_told("localhost", certificate, ETHOS_CORRUPT, "no ethos server");
}

static void test_it_must_be_for_this_name(void **state)
{
    (void)state;
    assert_told("127.0.0.1", certificate, ETHOS_DENIED, "not trusted");
}

static void test_a_file_without_certificates_is_told(void **state)
{
    (void)state;
    assert_told("localhost", "/nowhere/ca.pem", ETHOS_DENIED, "not trusted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_certificate_that_nobody_vouches_for_is_refused),
        cmocka_unit_test(test_one_that_was_named_is_believed),
        cmocka_unit_test(test_it_must_be_for_this_name),
        cmocka_unit_test(test_a_file_without_certificates_is_told),
    };
    return cmocka_run_group_tests_name("modules/remote_tls", tests, set_up, tear_down);
}

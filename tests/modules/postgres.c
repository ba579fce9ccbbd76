/*
 * postgres.c: a PostgreSQL server for tests, a pgbouncer before it, and stores over them.
 */
#include "postgres.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/os.h"
#include "module.h"

#define START_MS 30000 /* until a server must answer */
#define WORDS 64

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* In the folders where Debian keeps versions of the server, the newest first, then by PATH. */
static bool find_program(const char *name, char *out, size_t size)
{
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof pattern, "/usr/lib/postgresql/*/bin/%s", name);
    if (glob(pattern, 0, NULL, &found) == 0) {
        snprintf(out, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
        globfree(&found);
        return true;
    }
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin"), *rest = path, *folder;
    bool there = false;
    while (!there && (folder = strsep(&rest, ":"))) {
        snprintf(out, size, "%s/%s", folder, name);
        there = access(out, X_OK) == 0;
    }
    free(path);
    snprintf(pattern, sizeof pattern, "/usr/sbin/%s", name); // not on the PATH of everybody
    if (!there && access(pattern, X_OK) == 0) {
        snprintf(out, size, "%s", pattern);
        there = true;
    }
    return there;
}

const char *pg_server_missing(void)
{
    char path[512];
    return find_program("initdb", path, sizeof path) && find_program("psql", path, sizeof path)
               ? NULL
               : "postgresql is not installed";
}

const char *pg_pooler_missing(void)
{
    char path[512];
    return find_program("pgbouncer", path, sizeof path) ? NULL : "pgbouncer is not installed";
}

/* Neither server runs as root. */
static const struct passwd *servant(void)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    return geteuid() != 0 ? NULL : user ? user : getpwnam("nobody");
}

/*
 * A child that says nothing and does not outlive us. The signal is forgotten by a change of user. initdb finds
 * the server by the name it was called by, which is to be the whole path: its folder is on nobody's PATH.
 */
static pid_t start_program(const char *const *words, const char *log)
{
    char path[512];
    const char *argv[WORDS] = {path};
    const struct passwd *user = servant();
    if (!find_program(words[0], path, sizeof path))
        give_up(words[0]);
    for (size_t i = 1; i + 1 < WORDS && words[i]; i++)
        argv[i] = words[i];
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        give_up("fork");
    if (pid > 0)
        return pid;
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644), in = open("/dev/null", O_RDONLY);
    if (out >= 0)
        fchmod(out, 0666);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    if (user && (setgroups(0, NULL) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
        give_up("setuid");
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (getppid() != parent)
        _exit(1);
    execv(path, (char *const *)argv);
    give_up(path);
}

static void run_program(const char *const *words, const char *log)
{
    int status;
    pid_t pid = start_program(words, log);
    waitpid(pid, &status, 0);
    if (status != 0) {
        fprintf(stderr, "%s failed; see %s\n", words[0], log);
        exit(1);
    }
}

static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        give_up("a free port");
    close(fd);
    return ntohs(address.sin_port);
}

/* ---- the server ------------------------------------------------------------------------------ */

static const char hba[] = "local all all trust\n"
                          "host all guarded 127.0.0.1/32 scram-sha-256\n"
                          "host all all 127.0.0.1/32 trust\n";

static void make_data(struct pg_server *self, const char *log)
{
    char data[96], name[32] = "data/pg_hba.conf";
    const struct passwd *user = servant();
    snprintf(data, sizeof data, "%s/data", self->temp.path);
    if (user && fchown(self->temp.fd, user->pw_uid, user->pw_gid) != 0)
        give_up(self->temp.path);
    if (fchmod(self->temp.fd, 0755) != 0) // the socket is for others, too
        give_up(self->temp.path);
    run_program((const char *[]){"initdb", "-D", data, "-U", "owner", "-A", "trust", "-E", "UTF8",
                                 "--locale=C", "-N", NULL},
                log);
    int fd = openat(self->temp.fd, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0 || write(fd, hba, sizeof hba - 1) != sizeof hba - 1)
        give_up(name);
    close(fd);
}

/* The last line of its file says so. */
static bool is_ready(const struct pg_server *self)
{
    size_t size;
    char *text = temp_read(&self->temp, "data/postmaster.pid", &size);
    bool ready = text && strstr(text, "\nready");
    free(text);
    return ready;
}

void pg_server_again(struct pg_server *self)
{
    char data[96], port[8], folder[128], log[96];
    const char *words[WORDS] = {"postgres",
                                "-D",
                                data,
                                "-p",
                                port,
                                "-k",
                                self->temp.path,
                                "-c",
                                "listen_addresses=127.0.0.1",
                                "-c",
                                "shared_buffers=16MB",
                                "-c",
                                "max_connections=30",
                                "-c",
                                "wal_level=replica"};
    size_t count = 15;
    snprintf(data, sizeof data, "%s/data", self->temp.path);
    snprintf(log, sizeof log, "%s/log", self->temp.path);
    snprintf(port, sizeof port, "%u", self->port);
    snprintf(folder, sizeof folder, "unix_socket_directories=%s", self->temp.path);
    for (size_t i = 0; self->options[i]; i++) {
        words[count++] = "-c";
        words[count++] = self->options[i];
    }
    words[count] = NULL;
    self->pid = start_program(words, log);
    for (int64_t end = os_monotonic_ms() + START_MS; os_monotonic_ms() < end; os_sleep_ms(10)) {
        if (waitpid(self->pid, NULL, WNOHANG) != 0)
            give_up("postgres ended");
        if (is_ready(self))
            return;
    }
    give_up("postgres does not answer");
}

void pg_server_start(struct pg_server *self)
{
    char log[96];
    temp_make(&self->temp);
    self->port = free_port();
    snprintf(log, sizeof log, "%s/log", self->temp.path);
    snprintf(self->url, sizeof self->url, "host=%s port=%u user=owner dbname=postgres",
             self->temp.path, self->port);
    snprintf(self->port_url, sizeof self->port_url,
             "postgresql://owner@127.0.0.1:%u/postgres?sslmode=disable", self->port);
    make_data(self, log);
    pg_server_again(self);
    if (!pg_server_say(self, "CREATE ROLE guarded LOGIN PASSWORD '" PG_SERVER_PASSWORD "'", NULL,
                       0))
        give_up("a role");
}

void pg_server_end(struct pg_server *self, int signal)
{
    if (self->pid > 0) {
        kill(self->pid, signal);
        waitpid(self->pid, NULL, 0);
    }
    self->pid = 0;
}

void pg_server_stop(struct pg_server *self)
{
    if (self->pooler > 0) {
        kill(self->pooler, SIGKILL);
        waitpid(self->pooler, NULL, 0);
    }
    self->pooler = 0;
    pg_server_end(self, SIGQUIT);
    temp_remove(&self->temp);
}

bool pg_server_say(const struct pg_server *self, const char *sql, char *out, size_t size)
{
    char path[512], port[8];
    int pipes[2], status;
    size_t used = 0;
    ssize_t got;
    snprintf(port, sizeof port, "%u", self->port);
    if (!find_program("psql", path, sizeof path) || pipe2(pipes, O_CLOEXEC) != 0)
        give_up("psql");
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(pipes[1], STDOUT_FILENO);
        if (!getenv("PG_SERVER_LOUD"))
            dup2(null, STDERR_FILENO);
        execl(path, "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-P", "null=NULL", "-h",
              self->temp.path, "-p", port, "-U", "owner", "-d", "postgres", "-c", sql, NULL);
        _exit(127);
    }
    close(pipes[1]);
    char rest[256];
    while ((got = read(pipes[0], used + 1 < size ? out + used : rest,
                       used + 1 < size ? size - used - 1 : sizeof rest)) > 0)
        used += used + 1 < size ? (size_t)got : 0;
    if (size)
        out[used] = 0;
    close(pipes[0]);
    waitpid(pid, &status, 0);
    return status == 0;
}

long pg_server_ask(const struct pg_server *self, const char *sql)
{
    char out[64], *end;
    if (!pg_server_say(self, sql, out, sizeof out))
        give_up(sql);
    long number = strtol(out, &end, 10);
    if (end == out)
        give_up(sql);
    return number;
}

/* ---- pgbouncer ------------------------------------------------------------------------------- */

static bool listens(unsigned port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool there = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return there;
}

void pg_pooler_start(struct pg_server *self)
{
    char text[1024], file[96], log[96];
    self->pooler_port = free_port();
    snprintf(text, sizeof text,
             "[databases]\n* = host=%s port=%u user=owner\n"
             "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %u\nunix_socket_dir =\n"
             "auth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n",
             self->temp.path, self->port, self->pooler_port);
    temp_write(&self->temp, "pgbouncer.ini", text);
    snprintf(file, sizeof file, "%s/pgbouncer.ini", self->temp.path);
    snprintf(log, sizeof log, "%s/pooler.log", self->temp.path);
    if (chmod(file, 0644) != 0)
        give_up(file);
    self->pooler = start_program((const char *[]){"pgbouncer", file, NULL}, log);
    for (int64_t end = os_monotonic_ms() + START_MS; os_monotonic_ms() < end; os_sleep_ms(10)) {
        if (waitpid(self->pooler, NULL, WNOHANG) != 0)
            give_up("pgbouncer ended");
        if (listens(self->pooler_port))
            return;
    }
    give_up("pgbouncer does not answer");
}

/* ---- stores ---------------------------------------------------------------------------------- */

const struct ethos_module *pg_module(void)
{
    return module_load("postgres");
}

const struct ethos_store_ops *pg_ops(void)
{
    return pg_module()->store;
}

int pg_open_with(const struct ethos_host *host, const struct ethos_setting *settings,
                 uint32_t deadline_ms, struct ethos_store **out_store, struct ethos_error *error)
{
    return module_open("postgres", host, settings, deadline_ms, out_store, error);
}

int pg_open_rows(const struct ethos_host *host, const char *url, uint32_t deadline_ms,
                 struct ethos_store **out_store, struct ethos_error *error)
{
    const struct ethos_setting settings[] = {{"url", url}, {NULL, NULL}};
    return module_open_rows("postgres", host, settings, deadline_ms, out_store, error);
}

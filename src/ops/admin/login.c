/*
 * login.c: one-time links and codes that sign a browser in, in <home>/.mem/logins.
 *
 * Each has a line "link|code HASH EXPIRES-MS TRIES". The file is read and replaced under a lock.
 */
#include "ops/admin/login.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/home/directory.h"

#define FILE_NAME "logins"
#define SERVER_NAME "server"
#define FILE_BYTES 65536 /* read of the file at most */
#define MAX_ENTRIES 64   /* then the oldest is removed */

struct login_entry {
    bool code; /* false: a link */
    char hash[HASH_HEX_SIZE];
    int64_t expires_ms;
    int tries;
};

struct login_entries {
    struct login_entry rows[MAX_ENTRIES];
    size_t count;
};

struct login {
    int home;
    char place[LOGIN_PLACE_SIZE];
};

/* The id is made from the resolved path, so that it does not depend on how the home was named. */
static void name_home(struct login *self, const char *path)
{
    char hex[HASH_HEX_SIZE], real[PATH_MAX];
    bool known = os_realpath(path, real) == 0;
    hash_hex(view_str(known ? real : path), hex);
    memcpy(self->place, hex, LOGIN_PLACE_SIZE - 1);
}

int login_open(const char *home, struct login **out, struct ethos_error *error)
{
    char *path = NULL;
    struct login *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->home = -1;
    int code = home_path(home, &path, error);
    if (code == ETHOS_OK)
        code = home_open(path, true, &self->home, error);
    if (code == ETHOS_OK)
        name_home(self, path);
    free(path);
    if (code == ETHOS_OK)
        *out = self;
    else
        login_close(self);
    return code;
}

void login_close(struct login *self)
{
    if (!self)
        return;
    if (self->home >= 0)
        os_close(self->home);
    free(self);
}

const char *login_home_id(const struct login *self)
{
    return self->place;
}

int login_secret(char out[LOGIN_TOKEN_SIZE], struct ethos_error *error)
{
    unsigned char random[(LOGIN_TOKEN_SIZE - 1) / 2];
    if (os_random(random, sizeof random) != 0)
        return err_set(error, ETHOS_IO, "cannot get random bytes from the system");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    explicit_bzero(random, sizeof random);
    return ETHOS_OK;
}

/* ---- the file --------------------------------------------------------------------------------- */

/* Skips lines that are malformed or expired. If the clock was set back, all count as expired. */
static void parse_login_line(struct ethos_view line, int64_t now_ms, struct login_entries *out)
{
    struct login_entry entry = {0};
    char kind[8], text[160];
    if (line.size >= sizeof text || out->count == MAX_ENTRIES)
        return;
    memcpy(text, line.data, line.size);
    text[line.size] = 0;
    if (sscanf(text, "%7s %64s %" SCNd64 " %d", kind, entry.hash, &entry.expires_ms,
               &entry.tries) != 4 ||
        !hash_is_hex(view_str(entry.hash)) || entry.expires_ms <= now_ms ||
        entry.expires_ms - now_ms > LOGIN_MS)
        return;
    entry.code = strcmp(kind, "code") == 0;
    out->rows[out->count++] = entry;
}

static int read_entries(struct login *self, int64_t now_ms, struct login_entries *out,
                        struct ethos_error *error)
{
    struct str text;
    struct ethos_view line;
    str_init(&text, FILE_BYTES + 1);
    out->count = 0;
    int code = home_read(self->home, HOME_RECORDS "/" FILE_NAME, FILE_BYTES, &text, NULL, error);
    struct ethos_view rest = str_view(&text);
    while (code == ETHOS_OK && view_line(&rest, &line))
        parse_login_line(line, now_ms, out);
    str_release(&text);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int write_entries(struct login *self, const struct login_entries *entries,
                         struct ethos_error *error)
{
    struct str text;
    str_init(&text, FILE_BYTES);
    for (size_t i = 0; i < entries->count; i++) {
        const struct login_entry *entry = &entries->rows[i];
        str_printf(&text, "%s %s %" PRId64 " %d\n", entry->code ? "code" : "link", entry->hash,
                   entry->expires_ms, entry->tries);
    }
    int code = str_code(&text) == ETHOS_OK
                   ? home_replace(self->home, HOME_RECORDS, FILE_NAME, str_view(&text), error)
                   : err_nomem(error);
    str_release(&text);
    return code;
}

static void remove_entry(struct login_entries *entries, size_t at)
{
    entries->count--;
    memmove(&entries->rows[at], &entries->rows[at + 1],
            (entries->count - at) * sizeof *entries->rows);
}

static int add_login_entry(struct login *self, bool is_code, struct ethos_view secret,
                           int64_t now_ms, struct ethos_error *error)
{
    struct login_entries entries;
    CLEANUP_FD int lock = -1;
    TRY(home_lock(self->home, FILE_NAME, &lock, error));
    TRY(read_entries(self, now_ms, &entries, error));
    for (size_t i = entries.count; is_code && i > 0; i--)
        if (entries.rows[i - 1].code)
            remove_entry(&entries, i - 1);
    if (entries.count == MAX_ENTRIES)
        remove_entry(&entries, 0);
    struct login_entry *entry = &entries.rows[entries.count++];
    *entry = (struct login_entry){
        .code = is_code, .expires_ms = now_ms + LOGIN_MS, .tries = is_code ? LOGIN_TRIES : 1};
    hash_hex(secret, entry->hash);
    return write_entries(self, &entries, error);
}

/* ---- links and codes ---------------------------------------------------------------------------- */

int login_add_link(struct login *self, int64_t now_ms, char out[LOGIN_TOKEN_SIZE],
                   struct ethos_error *error)
{
    TRY(login_secret(out, error));
    return add_login_entry(self, false, view_str(out), now_ms, error);
}

/* Numbers from the largest multiple of a million on are rejected, so that every code is equally likely. */
static int random_code(char out[LOGIN_CODE_SIZE], struct ethos_error *error)
{
    const uint32_t limit = UINT32_MAX - UINT32_MAX % 1000000;
    uint32_t number;
    do {
        if (os_random(&number, sizeof number) != 0)
            return err_set(error, ETHOS_IO, "cannot get random bytes from the system");
    } while (number >= limit);
    snprintf(out, LOGIN_CODE_SIZE, "%06u", (unsigned)(number % 1000000));
    return ETHOS_OK;
}

int login_add_code(struct login *self, int64_t now_ms, char out[LOGIN_CODE_SIZE],
                   struct ethos_error *error)
{
    TRY(random_code(out, error));
    return add_login_entry(self, true, view_str(out), now_ms, error);
}

/* Uses up a link or code: removes it if it is valid. A wrong code counts as a failed try of the valid ones. */
static bool use_entry(struct login_entries *entries, struct ethos_view given)
{
    char hash[HASH_HEX_SIZE];
    bool is_code = given.size == LOGIN_CODE_SIZE - 1;
    hash_hex(given, hash);
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->rows[i].code == is_code && strcmp(entries->rows[i].hash, hash) == 0) {
            remove_entry(entries, i);
            return true;
        }
    }
    for (size_t i = entries->count; is_code && i > 0; i--)
        if (entries->rows[i - 1].code && --entries->rows[i - 1].tries <= 0)
            remove_entry(entries, i - 1);
    return false;
}

int login_use(struct login *self, struct ethos_view given, int64_t now_ms, bool *out_good,
              struct ethos_error *error)
{
    struct login_entries entries;
    CLEANUP_FD int lock = -1;
    TRY(home_lock(self->home, FILE_NAME, &lock, error));
    TRY(read_entries(self, now_ms, &entries, error));
    bool good = use_entry(&entries, given);
    if (good || given.size == LOGIN_CODE_SIZE - 1)
        TRY(write_entries(self, &entries, error));
    *out_good = good;
    return ETHOS_OK;
}

int login_restore(struct login *self, struct ethos_view given, int64_t now_ms,
                  struct ethos_error *error)
{
    return add_login_entry(self, given.size == LOGIN_CODE_SIZE - 1, given, now_ms, error);
}

/* ---- where the server is ------------------------------------------------------------------------ */

int login_record_server(struct login *self, const char *url, long pid, struct ethos_error *error)
{
    char text[512];
    int size = snprintf(text, sizeof text, "%ld %s\n", pid, url);
    if (size < 0 || (size_t)size >= sizeof text)
        return err_set(error, ETHOS_LIMIT, "the address of the server is too long");
    return home_replace(self->home, HOME_RECORDS, SERVER_NAME, view_of(text, (size_t)size), error);
}

int login_server(struct login *self, char *out_url, size_t size, long *out_pid,
                 struct ethos_error *error)
{
    char *end;
    CLEANUP_STR struct str text;
    str_init(&text, 512);
    TRY(home_read(self->home, HOME_RECORDS "/" SERVER_NAME, 511, &text, NULL, error));
    *out_pid = strtol(text.size ? text.data : "", &end, 10);
    const char *url = *end == ' ' ? end + 1 : NULL;
    size_t length = url ? strcspn(url, "\n") : 0;
    if (length == 0 || length >= size)
        return err_set(error, ETHOS_CORRUPT, HOME_RECORDS "/" SERVER_NAME ": not readable");
    snprintf(out_url, size, "%.*s", (int)length, url);
    return ETHOS_OK;
}

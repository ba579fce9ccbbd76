/*
 * secrets.c: checks the settings of a backend and reads the secrets they name.
 */
#include "memory/home/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/text/suggest.h"
#include "base/view.h"

#define PREFIX SECRETS_PREFIX
#define MASK "***"

enum secret_source { DIRECT, FROM_FILE, FROM_ENV };
static const char *const sources[] = {[DIRECT] = "", [FROM_FILE] = "File", [FROM_ENV] = "Env"};

/* ---- the table ------------------------------------------------------------------------------- */

/* The option that a name means, and its variant; NULL: none. */
static const struct ethos_option *find_option(const struct ethos_option *options, const char *name,
                                              enum secret_source *out_source)
{
    for (; options && options->name; options++) {
        size_t size = strlen(options->name);
        if (strncmp(options->name, name, size) != 0)
            continue;
        for (enum secret_source i = DIRECT; i <= FROM_ENV; i++) {
            bool taken = i == DIRECT || options->type == ETHOS_OPTION_SECRET;
            if (taken && strcmp(name + size, sources[i]) == 0) {
                *out_source = i;
                return options;
            }
        }
    }
    return NULL;
}

#define MAX_NAMES 96
#define NAME_SIZE 48

/* All names that may be set: a secret has three. */
static size_t add_option_names(const struct ethos_option *options, char names[MAX_NAMES][NAME_SIZE],
                               size_t count)
{
    for (; options && options->name; options++) {
        enum secret_source last = options->type == ETHOS_OPTION_SECRET ? FROM_ENV : DIRECT;
        for (enum secret_source i = DIRECT; i <= last && count < MAX_NAMES; i++)
            snprintf(names[count++], NAME_SIZE, "%s%s", options->name, sources[i]);
    }
    return count;
}

static int unknown_option(const struct ethos_option *options, const struct ethos_option *also,
                          const char *name, struct ethos_error *error)
{
    char names[MAX_NAMES][NAME_SIZE];
    const char *list[MAX_NAMES + 1] = {0};
    size_t count = add_option_names(also, names, add_option_names(options, names, 0));
    for (size_t i = 0; i < count; i++)
        list[i] = names[i];
    const char *nearest = nearest_name(name, list);
    int code = err_set(error, ETHOS_INVALID, "unknown option: " PREFIX "%s", name);
    return nearest ? err_hint(error, code, "did you mean " PREFIX "%s?", nearest)
                   : err_hint(error, code, "this backend does not have this option: remove it");
}

static int check_value(const struct ethos_option *option, const char *value,
                       struct ethos_error *error)
{
    char *end;
    bool fits = true;
    errno = 0;
    if (option->type == ETHOS_OPTION_INTEGER)
        fits = *value && (strtoll(value, &end, 10), !errno) && !*end;
    else if (option->type == ETHOS_OPTION_BOOLEAN)
        fits = strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    if (fits)
        return ETHOS_OK;
    return err_set(error, ETHOS_INVALID, PREFIX "%s: '%s' is not %s", option->name, value,
                   option->type == ETHOS_OPTION_INTEGER ? "a number" : "true or false");
}

/* ---- where a secret is ----------------------------------------------------------------------- */

static int refuse_exposed(const char *name, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_DENIED, PREFIX "%s: others may read the file that contains it",
                       name);
    return err_hint(error, code, "chmod 600 the file, or name a file or a variable: %sFile, %sEnv",
                    name, name);
}

static int check_file(int fd, const char *path, struct ethos_error *error)
{
    struct stat info;
    if (os_fstat(fd, &info) != 0)
        return err_errno(error, errno, path);
    if (!S_ISREG(info.st_mode))
        return err_set(error, ETHOS_INVALID, "%s: not a file", path);
    bool ours = info.st_uid == geteuid() || info.st_uid == 0;
    if (ours && (info.st_mode & 077) == 0)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_DENIED, "%s: others may read this secret", path);
    return err_hint(error, code, "chmod 600 %s, and own it", path);
}

/* The text of the file, without the newline at its end. */
static int read_secret_text(int fd, const char *path, char *out, struct ethos_error *error)
{
    size_t size = 0;
    for (ssize_t part = 1; part > 0 && size <= SECRETS_MAX_BYTES; size += (size_t)part) {
        part = os_read(fd, out + size, SECRETS_MAX_BYTES + 1 - size);
        if (part < 0)
            return err_errno(error, errno, path);
    }
    if (size > SECRETS_MAX_BYTES)
        return err_set(error, ETHOS_LIMIT, "%s: a secret has at most %d bytes", path,
                       SECRETS_MAX_BYTES);
    size -= size > 0 && out[size - 1] == '\n';
    size -= size > 0 && out[size - 1] == '\r';
    out[size] = 0;
    if (size == 0 || strlen(out) != size)
        return err_set(error, ETHOS_INVALID, "%s: %s", path,
                       size == 0 ? "there is no secret in it" : "not a text");
    return ETHOS_OK;
}

static int read_secret_file(const char *home, const char *name, char *out,
                            struct ethos_error *error)
{
    char path[PATH_MAX];
    bool absolute = *name == '/';
    if (snprintf(path, sizeof path, "%s%s%s", absolute ? "" : home, absolute ? "" : "/", name) >=
        (int)sizeof path)
        return err_set(error, ETHOS_LIMIT, "%s: the path is too long", name);
    CLEANUP_FD int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return err_errno(error, errno, path);
    TRY(check_file(fd, path, error));
    return read_secret_text(fd, path, out, error);
}

static int read_variable(const char *option, const char *name, char *out, struct ethos_error *error)
{
    const char *value = getenv(name);
    size_t size = value ? strlen(value) : 0;
    if (size == 0)
        return err_set(error, ETHOS_INVALID, PREFIX "%sEnv: the variable %s is not set", option,
                       name);
    if (size > SECRETS_MAX_BYTES)
        return err_set(error, ETHOS_LIMIT, "%s: a secret has at most %d bytes", name,
                       SECRETS_MAX_BYTES);
    memcpy(out, value, size + 1);
    return ETHOS_OK;
}

/* ---- resolving ------------------------------------------------------------------------------- */

static int find_twice(const struct secrets *self, const char *name, struct ethos_error *error)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->settings[i].name, name) == 0)
            return err_set(error, ETHOS_INVALID, PREFIX "%s: set in two ways", name);
    return ETHOS_OK;
}

int secrets_check(const struct ethos_option *options, const struct ethos_option *also,
                  const struct ethos_setting *setting, struct ethos_error *error)
{
    enum secret_source source = DIRECT;
    const struct ethos_option *option = find_option(also, setting->name, &source);
    if (!option)
        option = find_option(options, setting->name, &source);
    return option ? check_value(option, setting->value, error)
                  : unknown_option(options, also, setting->name, error);
}

/* Names the setting that caused the error. */
static int blame_setting(const char *name, int code, struct ethos_error *error)
{
    struct ethos_error why = {0};
    if (!error)
        return code;
    why = *error;
    err_set(error, code, PREFIX "%s: %.400s", name, why.text);
    return *why.hint ? err_hint(error, code, "%s", why.hint) : code;
}

static int resolve_one(const struct ethos_option *options, const struct secrets_given *given,
                       size_t at, struct secrets *out, struct ethos_error *error)
{
    const struct ethos_setting *setting = &given->settings[at];
    enum secret_source source = DIRECT;
    if (find_option(given->also, setting->name, &source))
        return ETHOS_OK;
    const struct ethos_option *option = find_option(options, setting->name, &source);
    if (!option)
        return unknown_option(options, given->also, setting->name, error);
    bool secret = option->type == ETHOS_OPTION_SECRET;
    int code = find_twice(out, option->name, error);
    if (code != ETHOS_OK && secret)
        err_hint(error, code, "keep one of %s, %sFile and %sEnv", option->name, option->name,
                 option->name);
    if (code == ETHOS_OK && secret && source == DIRECT && given->exposed && given->exposed[at])
        code = refuse_exposed(option->name, error);
    if (code == ETHOS_OK)
        code = check_value(option, setting->value, error);
    if (code != ETHOS_OK)
        return code;
    struct ethos_setting *to = &out->settings[out->count++];
    *to = (struct ethos_setting){option->name, setting->value};
    if (source == DIRECT)
        return ETHOS_OK;
    char *text = calloc(1, SECRETS_MAX_BYTES + 2);
    if (!text)
        return err_nomem(error);
    out->texts[out->text_count++] = text;
    to->value = text;
    if (source == FROM_ENV)
        return read_variable(option->name, setting->value, text, error);
    code = read_secret_file(given->home, setting->value, text, error);
    return code == ETHOS_OK ? ETHOS_OK : blame_setting(setting->name, code, error);
}

int secrets_resolve(const struct ethos_option *options, const struct secrets_given *given,
                    struct secrets *out, struct ethos_error *error)
{
    out->count = out->text_count = 0;
    if (given->count > SECRETS_MAX_SETTINGS)
        return err_set(error, ETHOS_LIMIT, "memory.options: more than %d", SECRETS_MAX_SETTINGS);
    int code = ETHOS_OK;
    for (size_t i = 0; i < given->count && code == ETHOS_OK; i++)
        code = resolve_one(options, given, i, out, error);
    return code;
}

void secrets_release(struct secrets *self)
{
    for (size_t i = 0; i < self->text_count; i++) {
        explicit_bzero(self->texts[i], SECRETS_MAX_BYTES + 2);
        free(self->texts[i]);
    }
    self->count = self->text_count = 0;
}

/* ---- showing --------------------------------------------------------------------------------- */

/* Whether the last part of a key is a usual name of a secret: apiKey, api_key, BOT-TOKEN. */
static bool looks_secret(const char *key)
{
    static const char *const ends[] = {"password",    "passwd", "passphrase",
                                       "secret",      "token",  "privatekey",
                                       "credentials", "apikey", "accesskey"};
    char name[64];
    size_t size = 0;
    const char *dot = strrchr(key, '.');
    for (key = dot ? dot + 1 : key; *key && size < sizeof name - 1; key++)
        if (*key != '_' && *key != '-')
            name[size++] = (char)(*key >= 'A' && *key <= 'Z' ? *key + 32 : *key);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (view_ends(view_of(name, size), view_str(ends[i])))
            return true;
    return false;
}

static bool is_secret(const struct ethos_option *options, const char *key)
{
    enum secret_source source = DIRECT;
    const struct ethos_option *option = NULL;
    if (strncmp(key, PREFIX, strlen(PREFIX)) == 0)
        option = find_option(options, key + strlen(PREFIX), &source);
    if (option && source != DIRECT)
        return false; // names a file or a variable
    return (option && option->type == ETHOS_OPTION_SECRET) || looks_secret(key);
}

/* The length of the user name before a password in text, which follows "://"; 0: no password. */
static size_t before_password(const char *text, size_t *out_password)
{
    size_t place = strcspn(text, "/?# \t"), name = strcspn(text, ":");
    const char *at = memrchr(text, '@', place);
    if (!at || name >= (size_t)(at - text))
        return 0;
    *out_password = (size_t)(at - text) - name - 1;
    return name + 1;
}

/* Appends a value without the passwords in it: of a URL, and password=... */
static void mask_within(const char *value, struct str *out)
{
    while (*value) {
        size_t kept = 0, password = 0;
        if (strncmp(value, "://", 3) == 0 && (kept = before_password(value + 3, &password)) > 0)
            kept += 3;
        else if (strncmp(value, "password=", 9) == 0 || strncmp(value, "password =", 10) == 0) {
            kept = strcspn(value, "=") + 1;
            kept += strspn(value + kept, " ");
            size_t quoted = value[kept] == '\'' ? strcspn(value + kept + 1, "'") + 2 : 0;
            password = quoted ? strnlen(value + kept, quoted) : strcspn(value + kept, "& \t");
        }
        str_add(out, view_of(value, kept ? kept : 1));
        if (kept)
            str_adds(out, MASK);
        value += kept ? kept + password : 1;
    }
}

/* The setting with the next name in byte order; NULL: none. */
static const struct ethos_setting *next_setting(const struct secrets_given *given, const char *name)
{
    const struct ethos_setting *next = NULL;
    for (size_t i = 0; i < given->count; i++) {
        const struct ethos_setting *setting = &given->settings[i];
        if (strcmp(setting->name, name) > 0 && (!next || strcmp(setting->name, next->name) < 0))
            next = setting;
    }
    return next;
}

int secrets_place(const struct ethos_option *options, const struct secrets_given *given,
                  struct str *out)
{
    const struct ethos_setting *setting = next_setting(given, "");
    for (; setting; setting = next_setting(given, setting->name)) {
        enum secret_source source;
        const struct ethos_option *option = find_option(options, setting->name, &source);
        if (!option || option->type != ETHOS_OPTION_STRING || looks_secret(setting->name) ||
            (option->fallback && strcmp(option->fallback, setting->value) == 0))
            continue; // the host's own options are not in the table
        str_printf(out, "%s=", setting->name);
        mask_within(setting->value, out);
        str_addc(out, '\n');
    }
    return str_code(out);
}

int secrets_mask(const struct ethos_option *options, const char *key, const char *value,
                 struct str *out)
{
    if (*value && is_secret(options, key))
        str_adds(out, MASK);
    else
        mask_within(value, out);
    return str_code(out);
}

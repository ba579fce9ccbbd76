/*
 * secret_places.c: values by where they stand: in a URL, in a header, on a command line.
 */
#include <string.h>

#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/secret_rules.h"
#include "core/scan/value_shape.h"

#define MAX_ARGUMENT 200 /* bytes of one on a command line */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool find_url_password(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const char *const examples[] = {"pass", "password", "secret",   "xxx",
                                           "pwd",  "passwd",   "postgres", "user"};
    const char *start = search->text.data, *end = start + search->text.size;
    const char *user = anchor + 3, *stop = end - user > SECRET_REACH ? user + SECRET_REACH : end;
    const char *p = user;

    if (anchor == start || !byte_is(anchor[-1], BYTE_ALNUM))
        return false;
    while (p < stop && !value_ends_at(*p) && *p != ':' && *p != '/' && *p != '@' && *p != '#' &&
           *p != '?')
        p++;
    if (p == stop || *p != ':')
        return false;
    const char *pass = ++p, *at = NULL;
    for (; p < stop && !value_ends_at(*p) && *p != '/'; p++) {
        if (*p == '@')
            at = p;
    }
    if (!at || at == pass || at + 1 == stop || !(byte_is(at[1], BYTE_ALNUM) || at[1] == '['))
        return false;
    struct ethos_view value = view_of(pass, (size_t)(at - pass));
    struct ethos_view name = view_of(user, (size_t)(pass - 1 - user));
    if (view_eq(value, name) || value_is_one_of(value, examples, COUNT(examples)) ||
        value_is_filled_in_later(search, value) || strchr("$<{%[", value.data[0]))
        return false;
    return secret_report(search, value, out);
}

/* The token behind a header's scheme. */
static struct ethos_view token_at(const struct secret_search *search, const char *p)
{
    const char *end = search->text.data + search->text.size;

    p = byte_run(p, end, BYTE_BLANK);
    const char *stop = end - p > MAX_VALUE ? p + MAX_VALUE : end;
    return view_of(p, (size_t)(byte_run(p, stop, BYTE_RUN) - p));
}

bool find_bearer(struct secret_search *search, const char *anchor, struct secret *out)
{
    struct ethos_view value = token_at(search, anchor + 7);

    if (value.size < 20 || !value_is_varied(value, 30) || value_is_wordy(value) ||
        value_is_filled_in_later(search, value))
        return false;
    return secret_report(search, value, out);
}

bool find_basic(struct secret_search *search, const char *anchor, struct secret *out)
{
    struct ethos_view value = token_at(search, anchor + 6);

    return value.size >= 8 && value_is_encoded_login(value) && secret_report(search, value, out);
}

static bool is_of_argument(const char *p, const char *end, unsigned none)
{
    (void)end, (void)none;
    return !value_ends_at(*p);
}

/* Where an argument of a program ends. */
static const char *argument_end(struct secret_search *search, const char *p)
{
    const char *text_end = search->text.data + search->text.size;
    const char *stop = text_end - p > MAX_ARGUMENT ? p + MAX_ARGUMENT : text_end;
    const char *end = secret_span_end(search, &search->argument, p, is_of_argument, 0);

    return end < stop ? end : stop;
}

/* curl -u user:password, --user user:password, --password X, --password=X */
bool find_command_password(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *end = search->text.data + search->text.size;
    const char *p = anchor + 3;
    bool login = anchor[1] != '-' || anchor[2] == 'u' || anchor[2] == 'U';

    if (!login)
        p = anchor + strlen("--password");
    else if (anchor[0] == '-')
        p = anchor + strlen("--user");
    if (p < end && *p != ' ' && *p != '=' && p[-1] != ' ')
        return false;
    while (p < end && (*p == ' ' || *p == '='))
        p++;
    const char *value = value_skip_quote(p, end), *after = argument_end(search, value);
    if (login) {
        const char *colon = memchr(value, ':', (size_t)(after - value));

        if (!colon || colon == value || colon + 1 == after || colon[1] == '/')
            return false;
        value = colon + 1;
    }
    struct ethos_view found = view_of(value, (size_t)(after - value));
    if (login ? found.size < 4 || value_is_filled_in_later(search, found) ||
                    strchr("$<{", found.data[0])
              : !value_is_password(search, found, false))
        return false;
    static const char *const words[] = {"password", "passwd", "pass", "secret", "token", "pwd"};
    if (value_is_one_of(found, words, COUNT(words)) ||
        (login && !value_is_password(search, found, true) && found.size < 8))
        return false;
    return secret_report(search, found, out);
}

/* What stands before a password in a line, and how often: the option of a program, or fields that something divides. */
static const struct {
    const char *start, *mark;
    unsigned times;
} password_places[] = {
    {"redis-cli", " -a ", 1},
    {"mysql", " -p", 1},
    {"mysqldump", " -p", 1},
    {"mysqladmin", " -p", 1},
    {"mariadb", " -p", 1},
    {"ldapsearch", " -w ", 1},
    {"ldapmodify", " -w ", 1},
    {"ldapadd", " -w ", 1},
    {"ldapwhoami", " -w ", 1},
    {"snmpwalk", " -c ", 1},
    {"snmpget", " -c ", 1},
    {"sshpass", " -p", 1},
    {"zip ", " -P ", 1},
    {"7z ", " -p", 1},
    {"smbclient", "%", 1},
    {"lftp", ",", 1},
    {"requirepass", " ", 1},
    {"masterauth", " ", 1},
    {"wandb login", " ", 1},
    {"/user:", " ", 1},
    {" -auth ", ":", 1},
    {"htpasswd -b", " ", 3},
    {":5432:", ":", 3},
    {":3306:", ":", 3},
    {"jdbc:oracle:thin:", "/", 1},
};

#define OPTION_REACH 120 /* bytes from a program to its password, in a line */

bool find_option_password(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *text_end = search->text.data + search->text.size;
    const char *stop = text_end - anchor > OPTION_REACH ? anchor + OPTION_REACH : text_end;
    const char *line = memchr(anchor, '\n', (size_t)(stop - anchor));

    stop = line ? line : stop;
    for (size_t i = 0; i < COUNT(password_places); i++) {
        if (*anchor != *password_places[i].start)
            continue;
        size_t start = strlen(password_places[i].start), size = strlen(password_places[i].mark);
        const char *at = anchor + start - 1;

        if (start > (size_t)(stop - anchor) || memcmp(anchor, password_places[i].start, start) != 0)
            continue;
        for (unsigned times = password_places[i].times; at && times > 0; times--) {
            at = memmem(at, (size_t)(stop - at), password_places[i].mark, size);
            at = at ? at + size : NULL;
        }
        if (!at)
            continue;
        const char *value = value_skip_quote(at, text_end);
        const char *after = argument_end(search, value);
        const char *at_sign = memchr(value, '@', (size_t)(after - value));
        after = at_sign ? at_sign : after;
        struct ethos_view found = view_of(value, (size_t)(after - value));
        if (value_is_password(search, found, false))
            return secret_report(search, found, out);
    }
    return false;
}

/* Cookie: name=value; the value of a session is long and random. */
bool find_cookie(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *end = search->text.data + search->text.size;
    const char *stop = end - anchor > SECRET_REACH ? anchor + SECRET_REACH : end, *p = anchor + 6;

    while (p < stop && *p != ':' && *p != '=' && *p != '\n' && p - anchor < 12)
        p++;
    if (p >= stop || (*p != ':' && *p != '='))
        return false;
    while (p < stop && *p != '\n') {
        const char *equals = memchr(p, '=', (size_t)(stop - p)),
                   *newline = memchr(p, '\n', (size_t)(stop - p));

        if (!equals || (newline && newline < equals))
            return false;
        const char *after = byte_run(equals + 1, stop, BYTE_RUN | BYTE_PERCENT);
        struct ethos_view value = view_of(equals + 1, (size_t)(after - equals - 1));
        if (value.size >= 24 && value_is_varied(value, 35) && !value_is_wordy(value) &&
            !value_is_filled_in_later(search, value))
            return secret_report(search, value, out);
        p = after > p ? after : p + 1;
    }
    return false;
}

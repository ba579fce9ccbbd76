/*
 * token.c: <home>/web-token, the secret by which a browser of this machine is known.
 */
#include "ops/token.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/os.h"
#include "base/str.h"
#include "base/view.h"
#include "memory/home.h"

#define FILE_NAME "web-token"
#define FILE_BYTES 1024 /* that are read of it */

struct token {
    int home;
    char place[TOKEN_PLACE_SIZE];
    char text[TOKEN_SIZE];
    struct home_stamp stamp; /* of the file that it was read from */
};

/* By whatever links and slashes it was named, it is the same home. */
static void name_place(struct token *self, const char *path)
{
    char hex[HASH_HEX_SIZE], real[PATH_MAX];
    bool known = os_realpath(path, real) == 0;
    hash_hex(view_str(known ? real : path), hex);
    memcpy(self->place, hex, TOKEN_PLACE_SIZE - 1);
}

int token_open(const char *home, struct token **out, struct ethos_error *error)
{
    char *path = NULL;
    struct token *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->home = -1;
    int code = home_path(home, &path, error);
    if (code == ETHOS_OK)
        code = home_open(path, true, &self->home, error);
    if (code == ETHOS_OK)
        name_place(self, path);
    free(path);
    if (code == ETHOS_OK)
        *out = self;
    else
        token_close(self);
    return code;
}

const char *token_place(const struct token *self)
{
    return self->place;
}

void token_close(struct token *self)
{
    if (!self)
        return;
    if (self->home >= 0)
        os_close(self->home);
    explicit_bzero(self->text, sizeof self->text);
    free(self);
}

static int read_file(struct token *self, struct ethos_error *error)
{
    struct str text;
    str_init(&text, FILE_BYTES + 1);
    int code = home_read(self->home, FILE_NAME, FILE_BYTES, &text, &self->stamp, error);
    struct ethos_view token = view_trim(str_view(&text));
    bool good = code == ETHOS_OK && hash_is_hex(token);
    snprintf(self->text, sizeof self->text, "%.*s", good ? (int)token.size : 0, token.data);
    str_release(&text);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int write_file(struct token *self, struct ethos_error *error)
{
    unsigned char random[(TOKEN_SIZE - 1) / 2];
    char text[TOKEN_SIZE + 1];
    if (os_random(random, sizeof random) != 0)
        return err_set(error, ETHOS_IO, "the system gives no random numbers");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(text + 2 * i, 4, "%02x\n", random[i]);
    int code = home_replace(self->home, "", FILE_NAME, view_of(text, TOKEN_SIZE), error);
    explicit_bzero(text, sizeof text);
    return code == ETHOS_OK ? read_file(self, error) : code;
}

const char *token_now(struct token *self)
{
    struct home_stamp stamp;
    home_stamp(self->home, FILE_NAME, &stamp);
    if (memcmp(&stamp, &self->stamp, sizeof stamp) != 0)
        read_file(self, NULL);
    return self->text;
}

int token_make(struct token *self, struct ethos_error *error)
{
    int lock;
    int code = home_lock(self->home, FILE_NAME, &lock, error);
    if (code != ETHOS_OK)
        return code;
    code = read_file(self, error);
    if (code == ETHOS_OK && !*self->text)
        code = write_file(self, error);
    os_close(lock);
    return code;
}

bool token_equal(struct ethos_view given, const char *token)
{
    return given.size == TOKEN_SIZE - 1 && hash_same_secret(given, view_str(token));
}

int token_exchange(struct token *self, struct ethos_view given, bool *out_done,
                   struct ethos_error *error)
{
    int lock;
    int code = home_lock(self->home, FILE_NAME, &lock, error);
    if (code != ETHOS_OK)
        return code;
    code = read_file(self, error);
    *out_done = code == ETHOS_OK && token_equal(given, self->text);
    if (*out_done)
        code = write_file(self, error);
    os_close(lock);
    return code;
}

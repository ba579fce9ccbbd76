/*
 * input_history.c: what people typed in a folder.
 */
#include "agent/input_history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/home/directory.h"

#define HASH_DIGITS 12

/* A line end is \n, a backslash \\. */
static void append_escaped_line(struct ethos_view message, struct str *out)
{
    for (size_t i = 0; i < message.size; i++) {
        char c = message.data[i];
        if (c == '\n' || c == '\\')
            str_addc(out, '\\');
        str_addc(out, c == '\n' ? 'n' : c);
    }
    str_addc(out, '\n');
}

static void append_unescaped_line(struct ethos_view line, struct str *out)
{
    for (size_t i = 0; i < line.size; i++) {
        bool escaped = line.data[i] == '\\' && i + 1 < line.size;
        i += escaped;
        str_addc(out, escaped && line.data[i] == 'n' ? '\n' : line.data[i]);
    }
}

/* The newest lines; a file that grew too long is written anew with them. */
static int read_history_lines(struct input_history *self, struct ethos_view text,
                              input_history_fn *each, void *arg, struct ethos_error *error)
{
    struct ethos_view rest = text, line;
    struct str message;
    size_t lines = view_lines(text);
    int code = ETHOS_OK;
    if (lines > INPUT_HISTORY_MAX_MESSAGES)
        view_skip_lines(&rest, lines - INPUT_HISTORY_MAX_MESSAGES);
    if (lines > 2 * INPUT_HISTORY_MAX_MESSAGES)
        code = file_replace(self->folder, self->name, rest, 0600, error);
    str_init(&message, INPUT_HISTORY_MAX_MESSAGE);
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        str_clear(&message);
        append_unescaped_line(line, &message);
        if (str_code(&message) == ETHOS_OK && utf8_valid(str_view(&message)))
            each(arg, str_view(&message));
    }
    str_release(&message);
    return code;
}

static int read_history_file(struct input_history *self, input_history_fn *each, void *arg,
                             struct ethos_error *error)
{
    struct str text;
    int fd = os_open_beneath(self->folder, self->name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, self->name);
    str_init(&text, INPUT_HISTORY_MAX_FILE);
    int code = file_read(fd, self->name, INPUT_HISTORY_MAX_FILE, &text, NULL, error);
    os_close(fd);
    if (code == ETHOS_OK)
        code = read_history_lines(self, str_view(&text), each, arg, error);
    str_release(&text);
    return code;
}

int input_history_open(struct ethos *ethos, const char *folder, struct input_history *out,
                       input_history_fn *each, void *arg, struct ethos_error *error)
{
    char hash[HASH_HEX_SIZE];
    int home;
    *out = (struct input_history){.folder = -1};
    if (service_ephemeral(ethos))
        return ETHOS_OK;
    hash_hex(view_str(folder), hash);
    snprintf(out->name, sizeof out->name, "input-%.*s.txt", HASH_DIGITS, hash);
    int code = service_open_home(ethos, true, &home, error);
    if (code != ETHOS_OK)
        return code;
    if (os_mkdirs(home, HOME_RECORDS) == 0)
        out->folder = os_open_beneath(home, HOME_RECORDS, O_RDONLY | O_DIRECTORY, 0);
    if (out->folder < 0)
        code = err_errno(error, errno, HOME_RECORDS);
    os_close(home);
    return code == ETHOS_OK ? read_history_file(out, each, arg, error) : code;
}

void input_history_close(struct input_history *self)
{
    if (self->folder >= 0)
        os_close(self->folder);
    self->folder = -1;
}

void input_history_add(const struct input_history *self, struct ethos_view message)
{
    struct str line;
    if (self->folder < 0 || message.size >= INPUT_HISTORY_MAX_MESSAGE)
        return;
    str_init(&line, 2 * (size_t)INPUT_HISTORY_MAX_MESSAGE + 1);
    append_escaped_line(message, &line);
    int fd = os_open_beneath(self->folder, self->name, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY,
                             0600);
    if (fd >= 0 && str_code(&line) == ETHOS_OK)
        os_write_all(fd, line.data, line.size);
    if (fd >= 0)
        os_close(fd);
    str_release(&line);
}

/*
 * attach.c: files that a message names.
 */
#include "chat/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"

static int read_attached_file(int fd, const char *name, struct str *text, struct ethos_error *error)
{
    if (os_read_all(fd, text, ATTACH_MAX_FILE) != 0)
        return errno == EFBIG
                   ? err_set(error, ETHOS_LIMIT, "%s: larger than %d bytes", name, ATTACH_MAX_FILE)
                   : err_errno(error, errno, name);
    if (!utf8_valid(str_view(text)) || memchr(text->data, 0, text->size))
        return err_set(error, ETHOS_INVALID, "%s: not a text in UTF-8", name);
    return ETHOS_OK;
}

static int open_attached_file(const char *name, const char *folder)
{
    char path[PATH_MAX];
    int size = *name == '/' ? snprintf(path, sizeof path, "%s", name)
                            : snprintf(path, sizeof path, "%s/%s", folder, name);
    return size < PATH_MAX ? os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) : -1;
}

/* What ends a sentence is no part of the path, unless there is such a file. */
static int attach_file(char *name, const char *folder, struct str *out, struct ethos_error *error)
{
    struct stat info;
    struct str text;
    int fd = open_attached_file(name, folder);
    for (size_t size = strlen(name); fd < 0 && size > 1 && strchr(",.;:!?)'\"", name[size - 1]);) {
        name[--size] = '\0';
        fd = open_attached_file(name, folder);
    }
    if (fd < 0)
        return ETHOS_OK;
    int code = ETHOS_OK;
    str_init(&text, ATTACH_MAX_FILE + 1);
    if (os_fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        code = read_attached_file(fd, name, &text, error);
        if (code == ETHOS_OK)
            agent_attach(view_str(name), str_view(&text), out);
    }
    str_release(&text);
    os_close(fd);
    return code;
}

int attach_files(struct ethos_view message, const char *folder, struct str *out,
                 struct ethos_error *error)
{
    char name[PATH_MAX];
    int code = ETHOS_OK, files = 0;
    str_add(out, message);
    for (size_t at = 0; code == ETHOS_OK && at < message.size; at++) {
        size_t end = at + 1;
        bool begins = message.data[at] == '@' &&
                      (at == 0 || (unsigned char)message.data[at - 1] <= ' ');
        while (begins && end < message.size && (unsigned char)message.data[end] > ' ')
            end++;
        if (!begins || end == at + 1 || end - at > sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(end - at - 1), message.data + at + 1);
        at = end - 1;
        if (++files > ATTACH_MAX_FILES)
            code = err_set(error, ETHOS_LIMIT, "a message takes %d files at most",
                           ATTACH_MAX_FILES);
        else
            code = attach_file(name, folder, out, error);
    }
    if (code == ETHOS_OK && str_code(out) == ETHOS_LIMIT)
        return err_set(error, ETHOS_LIMIT, "the message is too long with its files");
    return code == ETHOS_OK && str_code(out) != ETHOS_OK ? err_nomem(error) : code;
}

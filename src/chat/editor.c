/*
 * editor.c: the input in an editor.
 */
#include "chat/editor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"

#define NAME "message.md"

/* The value may have arguments. */
static const char script[] = "editor=${VISUAL:-${EDITOR:-$(command -v nano || command -v vim || "
                             "command -v vi)}}; eval \"$editor \\\"\\$@\\\"\"";

static int write_message_file(const char *path, struct ethos_view text, struct ethos_error *error)
{
    int fd = os_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return err_errno(error, errno, path);
    int code = os_write_all(fd, text.data, text.size) == 0 ? ETHOS_OK
                                                           : err_errno(error, errno, path);
    os_close(fd);
    return code;
}

static int read_message_file(const char *path, struct str *out, struct ethos_error *error)
{
    size_t begin = out->size;
    int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return err_errno(error, errno, path);
    int code = os_read_all(fd, out, EDITOR_MAX_TEXT) == 0 ? ETHOS_OK
                                                          : err_errno(error, errno, path);
    os_close(fd);
    if (code == ETHOS_OK && !utf8_valid(view_from(str_view(out), begin)))
        code = err_set(error, ETHOS_INVALID, "the editor left a text that is not UTF-8");
    if (code == ETHOS_OK && view_ends(str_view(out), VIEW("\n")))
        str_truncate(out, out->size - 1);
    return code;
}

int editor_edit(struct ethos_view text, editor_run_fn *run, void *arg, struct str *out,
                struct ethos_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX + sizeof NAME + 1];
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/ethos-chat-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (!mkdtemp(folder))
        return err_errno(error, errno, folder);
    snprintf(path, sizeof path, "%s/" NAME, folder);
    const char *const argv[] = {"/bin/sh", "-c", script, "sh", path, NULL};
    int code = write_message_file(path, text, error);
    if (code == ETHOS_OK && run(arg, argv) != 0)
        code = err_set(error, ETHOS_INVALID, "the editor failed; the message is as it was");
    if (code == ETHOS_OK)
        code = read_message_file(path, out, error);
    dir_remove(AT_FDCWD, folder);
    return code;
}

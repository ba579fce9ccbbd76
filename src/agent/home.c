/*
 * home.c: what the agent and its surfaces read of a home besides memory.
 */
#include "agent/home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "base/yaml.h"
#include "memory/handle.h"

int agent_home(struct ethos *ethos, bool create, char out[PATH_MAX], struct ethos_error *error)
{
    int home, code = service_open_home(ethos, create, &home, error);
    if (code != ETHOS_OK)
        return code;
    if (home >= 0)
        os_close(home);
    snprintf(out, PATH_MAX, "%s", service_home(ethos));
    return ETHOS_OK;
}

int agent_read_private(struct ethos *ethos, const char *name, struct str *out,
                       struct ethos_error *error)
{
    struct stat info;
    int home, code = service_open_home(ethos, false, &home, error);
    if (code != ETHOS_OK || home < 0)
        return code;
    int fd = os_open_beneath(home, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    int why = errno;
    os_close(home);
    if (fd < 0)
        return why == ENOENT || why == ENOTDIR ? ETHOS_OK : err_errno(error, why, name);
    if (os_fstat(fd, &info) != 0 || os_read_all(fd, out, KEYS_MAX_FILE) != 0) {
        code = err_errno(error, errno, name);
    } else if (info.st_mode & 077) {
        code = err_set(error, ETHOS_DENIED, "%s: others may read it", name);
        err_hint(error, code, "chmod 600 %s/%s", service_home(ethos), name);
    }
    os_close(fd);
    return code;
}

static void copy_secret(struct ethos_view value, char out[KEYS_MAX_KEY + 1])
{
    value = view_trim(value);
    if (value.size == 0 || value.size > KEYS_MAX_KEY || memchr(value.data, 0, value.size))
        return;
    memcpy(out, value.data, value.size);
    out[value.size] = '\0';
}

int agent_secret(struct ethos *ethos, const char *name, char out[KEYS_MAX_KEY + 1],
                 struct ethos_error *error)
{
    struct str text;
    struct arena arena;
    struct yaml_table table = {0};
    const char *value = getenv(name);
    *out = '\0';
    if (value && *value) {
        copy_secret(view_str(value), out);
        return ETHOS_OK;
    }
    arena_init(&arena);
    str_init(&text, KEYS_MAX_FILE + 1);
    int code = agent_read_private(ethos, KEYS_FILE, &text, error);
    if (code == ETHOS_OK)
        code = yaml_parse(str_view(&text), KEYS_FILE, &arena, &table, error);
    if (code == ETHOS_OK && (value = yaml_get(&table, name)))
        copy_secret(view_str(value), out);
    arena_release(&arena);
    explicit_bzero(text.data, text.capacity);
    str_release(&text);
    return code;
}

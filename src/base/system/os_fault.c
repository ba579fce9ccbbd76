/*
 * os_fault.c: makes the nth system call of a test build fail, shorten, stop or kill.
 *
 * This is the one file with state of its own; it is empty in release builds. A malformed
 * ETHOS_FAULT ends the program at once: a test whose fault never fires would pass for nothing.
 */
#ifdef ETHOS_TEST_HOOKS

#include "base/system/os_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/os.h"

enum act { ACT_NONE, ACT_ERRNO, ACT_SHORT, ACT_KILL_BEFORE, ACT_KILL_AFTER, ACT_STOP, ACT_SKIP };

static struct {
    bool ready;
    char call[32]; /* or "any" */
    unsigned long number;
    unsigned long every; /* or 0: only once */
    enum act act;
    int errnum;
    size_t most; /* bytes of a short transfer */
    int log;     /* descriptor or -1 */

    unsigned long seen;  /* calls named in the fault so far */
    unsigned long total; /* all calls since the start or the last os_hook */
    bool kill_after;
    os_hook_fn *hook;
    void *arg;
} state = {.log = -1};

void os_hook(os_hook_fn *hook, void *arg)
{
    state.hook = hook;
    state.arg = arg;
    state.total = 0;
}

static void refuse_fault_setting(const char *text)
{
    fprintf(stderr, "ETHOS_FAULT: cannot read '%s'\n", text);
    abort();
}

static int errno_named(const char *name)
{
    if (strcmp(name, "eintr") == 0)
        return EINTR;
    for (int errnum = 1; errnum < 134; errnum++) {
        const char *known = strerrorname_np(errnum);

        if (known && strcmp(known, name) == 0)
            return errnum;
    }
    return 0;
}

static void read_act(const char *text)
{
    if (strcmp(text, "kill-before") == 0) {
        state.act = ACT_KILL_BEFORE;
    } else if (strcmp(text, "kill-after") == 0) {
        state.act = ACT_KILL_AFTER;
    } else if (strcmp(text, "stop") == 0) {
        state.act = ACT_STOP;
    } else if (strcmp(text, "skip") == 0) {
        state.act = ACT_SKIP;
    } else if (strncmp(text, "short=", 6) == 0) {
        state.act = ACT_SHORT;
        state.most = strtoul(text + 6, NULL, 10);
    } else {
        state.act = ACT_ERRNO;
        state.errnum = errno_named(text);
        if (state.errnum == 0)
            refuse_fault_setting(text);
    }
}

static void read_environment(void)
{
    const char *fault = getenv("ETHOS_FAULT");
    const char *log = getenv("ETHOS_FAULT_LOG");
    char act[32];

    state.ready = true;
    if (fault && *fault) {
        if (sscanf(fault, "%31[^:]:%lu:%31s", state.call, &state.number, act) != 3 &&
            sscanf(fault, "%31[^:]:%lu/%lu:%31s", state.call, &state.number, &state.every, act) !=
                4)
            refuse_fault_setting(fault);
        if (state.number == 0)
            refuse_fault_setting(fault);
        read_act(act);
    }
    if (log && *log)
        state.log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void write_log(const char *call)
{
    char line[64];
    int size = snprintf(line, sizeof(line), "%lu %s\n", state.total, call);

    if (state.log >= 0 && write(state.log, line, (size_t)size) < 0)
        refuse_fault_setting("ETHOS_FAULT_LOG");
}

static bool matches(const char *call)
{
    if (state.act == ACT_NONE || (strcmp(state.call, "any") && strcmp(state.call, call)))
        return false;
    state.seen++;
    return state.every ? state.seen % state.every == state.number % state.every
                       : state.seen == state.number;
}

/* The errno of the configured fault, or 0 when the call goes on. */
static int act(size_t *size)
{
    if (state.act == ACT_KILL_BEFORE)
        kill(getpid(), SIGKILL);
    if (state.act == ACT_STOP)
        raise(SIGSTOP);
    if (state.act == ACT_SHORT && size && *size > state.most)
        *size = state.most;
    state.kill_after = state.act == ACT_KILL_AFTER;
    return state.act == ACT_ERRNO ? state.errnum : 0;
}

enum fault fault_before(const char *call, size_t *size)
{
    int errnum = 0;
    bool skip = false;

    if (!state.ready)
        read_environment();
    state.total++;
    write_log(call);
    if (state.hook)
        errnum = state.hook(state.arg, call, state.total);
    if (errnum == 0 && matches(call)) {
        errnum = act(size);
        skip = state.act == ACT_SKIP;
    }
    if (errnum == 0)
        return skip ? FAULT_SKIP : FAULT_NONE;
    errno = errnum;
    return FAULT_FAIL;
}

void fault_after(void)
{
    if (state.kill_after)
        kill(getpid(), SIGKILL);
}

#else

typedef int os_fault_is_empty; // a translation unit must declare something

#endif

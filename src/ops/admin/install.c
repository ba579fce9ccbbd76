/*
 * install.c: the operations admin.install and admin.uninstall, and how other programs call this one.
 */
#include "ops/admin/install.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "core/agents/agents.h"
#include "ops/tables.h"

#define SELF "/proc/self/exe"

/* Finds the first program of this name in PATH; false if there is none, or if it is in a relative folder. */
static bool find_program(const char *program, struct stat *out)
{
    char name[PATH_MAX];
    const char *path = getenv("PATH");
    for (size_t size; path && *path; path += size + (path[size] == ':')) {
        size = strcspn(path, ":");
        snprintf(name, sizeof name, "%.*s/%s", (int)size, path, program);
        if (os_fstatat(AT_FDCWD, name, out, 0) == 0 && S_ISREG(out->st_mode) &&
            (out->st_mode & 0111))
            return *path == '/';
    }
    return false;
}

bool install_is_on_path(const char *name)
{
    struct stat found;
    return find_program(name, &found);
}

int install_program(struct str *out, struct ethos_error *error)
{
    char path[PATH_MAX];
    struct stat self, found;
    bool known = os_fstatat(AT_FDCWD, SELF, &self, 0) == 0 && find_program("ethos", &found) &&
                 found.st_dev == self.st_dev && found.st_ino == self.st_ino;
    if (!known && os_realpath(SELF, path) != 0)
        return err_errno(error, errno, SELF);
    return str_adds(out, known ? "ethos" : path) ? err_nomem(error) : ETHOS_OK;
}

static int list_installable(struct op_result *result, struct ethos_error *error)
{
    json_t *rows;
    TRY(install_list(&rows, error));
    return op_return(result, rows, error);
}

static int run_install_or_uninstall(struct op_call *call, bool install, struct op_result *result,
                                    struct ethos_error *error)
{
    const char *agent = op_string(call, "agent");
    if (!agent)
        return list_installable(result, error);
    bool any = strcmp(agent, MCP_JSON_NAME) == 0, alone = any || strcmp(agent, "git") == 0;
    if (alone && (op_flag(call, "project") || op_string(call, "only")))
        return err_set(error, ETHOS_INVALID, "%s: --only and --project do not apply", agent);
    if (any != (op_string(call, "file") != NULL))
        return err_set(error, ETHOS_INVALID, any ? "%s: give FILE" : "%s: takes no FILE", agent);
    return strcmp(agent, "git") == 0 ? install_git(call, install, result, error)
                                     : install_agent(call, install, result, error);
}

static int run_install(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_install_or_uninstall(call, true, result, error);
}

static int run_uninstall(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_install_or_uninstall(call, false, result, error);
}

#define ALL AGENTS "|" MCP_JSON_NAME "|git|" AGENTS_ALSO
#define ARG_FILE                                                                                   \
    {                                                                                              \
        "file", OP_TEXT, OP_POSITIONAL, NULL, "FILE",                                              \
            "with mcp-json: the file in which the program lists its MCP servers"                   \
    }
#define ARG_PROJECT                                                                                \
    {                                                                                              \
        "project", OP_FLAG, 0, NULL, NULL,                                                         \
            "change the files of this project instead of the user's"                               \
    }
#define ARG_LAST                                                                                   \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }

static const struct op_arg install_args[] = {
    {"agent", OP_CHOICE, OP_POSITIONAL, ALL, "AGENT",
     "the agent; mcp-json: any program that lists MCP servers in FILE; git: merge memory of this "
     "repository entry by entry; none: list the agents"},
    ARG_FILE,
    ARG_PROJECT,
    {"only", OP_CHOICE, 0, "mcp|hooks|instructions", "PART",
     "install only the tools, the hooks or the paragraph in its instructions"},
    {"instructions", OP_FLAG, 0, NULL, NULL,
     "write the paragraph also where the agent reads the same from the tools"},
    {"ownMemory", OP_CHOICE, 0, "keep|share|off", "HOW",
     "Claude Code's own memory of this project: share makes the notes of both one, off switches it "
     "off, keep undoes either"},
    {"allowTools", OP_FLAG, 0, NULL, NULL,
     "let it call every tool of ethos without asking, not only those that read"},
    ARG_LAST};

static const struct op_arg uninstall_args[] = {
    {"agent", OP_CHOICE, OP_REQUIRED | OP_POSITIONAL, ALL, "AGENT", "the agent"},
    ARG_FILE,
    ARG_PROJECT,
    ARG_LAST};

const struct op ops_install[] = {
    {"admin.install", "install", "Connect an agent or another program", "ethos install claude-code",
     install_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL | OP_NO_HOME | OP_FINAL,
     run_install},
    {"admin.uninstall", "uninstall", "Undo the installation", "ethos uninstall claude-code",
     uninstall_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL | OP_NO_HOME | OP_FINAL,
     run_uninstall},
    {0}};

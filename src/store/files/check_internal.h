/* check_internal.h: shared by check.c and check_history.c. */
#ifndef ETHOS_STORE_FILES_CHECK_INTERNAL_H
#define ETHOS_STORE_FILES_CHECK_INTERNAL_H

#include "core/memory/scope.h"
#include "store/files/internal.h"

struct store_check {
    struct files *self;
    bool fix;
    ethos_finding_fn *each;
    void *arg;
    struct ethos_text text; /* reused for every file */
    struct str scopes;      /* ids of those that could be entered, each terminated */
    enum scope_kind kind;   /* of the folder that is being walked */
    size_t tree;            /* bytes of the path of the tree that is being walked */
    struct str devices;     /* numbers of those that were tried out */
    bool nomem;             /* a finding could not be put into words */
    struct ethos_error *error;
};

void files_check_report(struct store_check *check, enum ethos_severity severity, const char *path,
                        const char *problem, const char *remedy);

/* The same with a command to type as the remedy, in which '@' stands for the path. */
void files_check_command(struct store_check *check, enum ethos_severity severity, const char *path,
                         const char *problem, const char *command);

/* False when the name is too long for any place of ours. */
bool files_check_join(char out[FILES_PATH_SIZE], const char *path, const char *name);

/*
 * Checks everything of a scope but its texts: history, temporaries, conflict copies, file system.
 */
int files_check_history(struct store_check *check, const char *scope);

#endif

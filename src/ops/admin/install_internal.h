/*
 * install_internal.h: a change of an agent's files, planned first and carried out as a whole.
 *
 *     job_open, job_wire; for each target target_read and a plan; job_apply; job_close
 *
 * The record, <home>/installed.json, knows every file that was touched:
 *
 *     {"version": 1, "files": {"<path>": {
 *         "agents": ["codex"],       who needs what is in it; the last one out takes it back
 *         "existed": true,           before us
 *         "before": "sha256:...",    null: there was none
 *         "after": "sha256:...",     null: others changed it in between, so that the way back is
 *                                    to take our entries out
 *         "backup": "<name>",        in <home>/installed: that text; null: nothing changed
 *         "folders": ["<path>"]}}}   made for it
 *
 * Installing writes the record before the files, uninstalling after them: whenever it is
 * interrupted, what the record says is true of every file that is as it was before or after.
 */
#ifndef ETHOS_OPS_ADMIN_INSTALL_INTERNAL_H
#define ETHOS_OPS_ADMIN_INSTALL_INTERNAL_H

#include <limits.h>
#include <sys/stat.h>

#include "core/agents/agents.h"
#include "ops/admin/install.h"

#define INSTALL_MAX_TOOLS 31

struct target {
    const struct agent_file *file;
    char path[PATH_MAX]; /* as the agent knows it */
    char real[PATH_MAX]; /* the file itself, behind symbolic links */
    struct stat info;
    struct str before, after;
    bool exists, remains; /* now, and then */
    bool keep;            /* a copy of what is there now, as the backup */
    const char *state;    /* what happened to it, for the report */
    char backup[64];      /* name, "" for none */
    json_t *entry;        /* what will be recorded of it, or NULL; owned */
    bool paste;           /* its owner has to put our entries into it */
    int code;             /* not ETHOS_OK: why nothing can be done */
    struct ethos_error error;
};

/* What is to become of the memory that the agent itself keeps about a project. */
enum own_memory { OWN_MEMORY_UNASKED, OWN_MEMORY_KEEP, OWN_MEMORY_SHARE, OWN_MEMORY_OFF };

struct job {
    struct op_call *call; /* NULL: only to look */
    const struct agent *agent;
    const char *file; /* absolute: the one that there is, of a program that is not known; or NULL */
    bool install, project;
    unsigned parts;
    enum own_memory own_memory;
    char *notes; /* folder of the project's notes, with OWN_MEMORY_SHARE */
    struct agent_wiring wiring;
    const char *tools[INSTALL_MAX_TOOLS + 1]; /* that may be called without asking */
    struct str program;
    char *home; /* path */
    json_t *record;
    struct str record_text; /* as it was read; "": none */
    struct target *targets;
    size_t count;
};

/*
 * The user's files of the agent, or with job->project those of the folder that project is; and the record. The file
 * about the agent's own memory is always the project's, to take back those of all projects.
 */
int job_open(struct job *job, const struct agent *agent, const char *home, const char *project,
             struct ethos_error *error);
void job_close(struct job *job);

/*
 * What its entries shall run, and which tools it may call without asking: those that only read, or all of them. For
 * installing.
 */
int job_wire(struct job *job, bool all_tools, struct ethos_error *error);

/* With OWN_MEMORY_SHARE: where the notes of the project are, which then has a workspace. */
int job_find_notes(struct job *job, const char *project, struct ethos_error *error);

/* The folder of an agent's settings. */
void job_folder(const struct agent *agent, char out[PATH_MAX]);

/* Reads the file. Its error is the target's. */
void target_read(struct target *target);
bool will_target_change(const struct target *target);

/* What is recorded of a path, or NULL. */
json_t *record_entry(const struct job *job, const char *path);

/* Whether install found everything done there, and did nothing. */
bool is_record_untouched(const json_t *entry);

/* Whether the record of another home, a path or NULL for the usual one, tells of an agent in a file. */
bool is_recorded_in_home(const char *home, const char *path);

/* Whether a home, NULL for the usual one, is that of the job; its path. */
bool is_home_of_job(const struct job *job, const char *home, char out_path[PATH_MAX]);

/* Appends the backup of an entry; ETHOS_NOTFOUND when there is none that is what it should be. */
int record_backup(const struct job *job, const json_t *entry, struct str *out);

/* Folders that must be made for a path, the outermost first; owned, NULL when out of memory. */
json_t *missing_folders(const char *path);

/* Does what was planned, all of it or nothing. */
int job_apply(struct job *job, struct ethos_error *error);

#endif

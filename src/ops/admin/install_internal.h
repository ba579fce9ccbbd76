/*
 * install_internal.h: a change of an agent's files, which is planned first and then written as a whole.
 *
 *     job_open, job_wire; for each target target_read and a plan; job_apply; job_close
 *
 * The record, <home>/installed.json, lists every file that was changed:
 *
 *     {"version": 1, "files": {"<path>": {
 *         "agents": ["codex"],       the agents that use it; uninstalling the last one undoes it
 *         "existed": true,           whether the file existed before
 *         "before": "sha256:...",    its revision before; null: there was no file
 *         "after": "sha256:...",     its revision after; null: others changed it meanwhile, so that
 *                                    uninstall removes only our entries
 *         "backup": "<name>",        the text before, in <home>/installed; null: nothing changed
 *         "folders": ["<path>"]}}}   folders created for it
 *
 * Install writes the record before the files, uninstall after them. So if either is interrupted, the record is true of
 * every file in its state before or after.
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
    char path[PATH_MAX]; /* as the agent names it */
    char real[PATH_MAX]; /* with symbolic links resolved */
    struct stat info;
    struct str before, after;
    bool exists, remains; /* whether the file exists before and after */
    bool keep;            /* back up the current text */
    const char *state;    /* what was done, for the report */
    char backup[64];      /* name of the backup, or "" */
    json_t *entry;        /* its entry in the new record, or NULL; owned */
    bool paste;           /* a person has to add our entries by hand */
    int code;             /* if not ETHOS_OK, why the file cannot be changed */
    struct ethos_error error;
};

/* What to do with the memory that the agent itself has about a project. */
enum own_memory { OWN_MEMORY_UNASKED, OWN_MEMORY_KEEP, OWN_MEMORY_SHARE, OWN_MEMORY_OFF };

struct job {
    struct op_call *call; /* NULL: read only */
    const struct agent *agent;
    const char *file; /* absolute path of the only file, of an unknown program; or NULL */
    bool install, project;
    unsigned parts;
    enum own_memory own_memory;
    char *notes; /* folder of the project's notes, with OWN_MEMORY_SHARE */
    struct agent_wiring wiring;
    const char *tools[INSTALL_MAX_TOOLS + 1]; /* tools that the agent may call without asking */
    struct str program;
    char *home; /* path */
    json_t *record;
    struct str record_text; /* as it was read; "" if there is none */
    struct target *targets;
    size_t count;
};

/*
 * Collects the files of the agent, those of the user or (job->project) of the folder `project`, and reads the record.
 * The file about the agent's own memory is always that of the project; uninstall collects those of all projects.
 */
int job_open(struct job *job, const struct agent *agent, const char *home, const char *project,
             struct ethos_error *error);
void job_close(struct job *job);

/*
 * For install: the command of the entries, and the tools that the agent may call without asking: those that only read,
 * or all.
 */
int job_wire(struct job *job, bool all_tools, struct ethos_error *error);

/* For OWN_MEMORY_SHARE: finds the notes of the project, creating its workspace if needed. */
int job_find_notes(struct job *job, const char *project, struct ethos_error *error);

/* The folder of an agent's settings. */
void job_folder(const struct agent *agent, char out[PATH_MAX]);

/* Reads the file; errors are in target->code and target->error. */
void target_read(struct target *target);
bool will_target_change(const struct target *target);

/* The entry of a path in the record, or NULL. */
json_t *record_entry(const struct job *job, const char *path);

/* Whether install found its entries there already and changed nothing. */
bool is_record_untouched(const json_t *entry);

/* Whether the record of another home (NULL: the default one) names an agent for a file. */
bool is_recorded_in_home(const char *home, const char *path);

/* Whether a home (NULL: the default one) is that of the job; out_path is its path. */
bool is_home_of_job(const struct job *job, const char *home, char out_path[PATH_MAX]);

/* Appends the backup of an entry; ETHOS_NOTFOUND if there is none, or if it does not match the record. */
int record_backup(const struct job *job, const json_t *entry, struct str *out);

/* The folders to create for a path, outermost first; owned, NULL when out of memory. */
json_t *missing_folders(const char *path);

/* Writes what was planned, all of it or nothing. */
int job_apply(struct job *job, struct ethos_error *error);

#endif

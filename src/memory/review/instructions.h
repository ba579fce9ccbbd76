/*
 * instructions.h: the instructions of a project: AGENTS.md, else CLAUDE.md, of every folder from
 * its top down, and the SKILL.md of its skills.
 *
 * They are untrusted until the owner has accepted each file as it is: accepted.json of the home has
 * the SHA-256 of the accepted text under the path of each file.
 */
#ifndef ETHOS_MEMORY_REVIEW_INSTRUCTIONS_H
#define ETHOS_MEMORY_REVIEW_INSTRUCTIONS_H

#include <limits.h>
#include <stdbool.h>

#include <ethos/ethos.h>

#define INSTRUCTIONS_MAX_BYTES 32768 /* of a file */

/* The project of a folder: its git top level, else the folder itself. An absolute real path. */
int instructions_find_top(const char *folder, char out[PATH_MAX], struct ethos_error *error);

struct instructions_file {
    const char *name; /* from the top: "sub/AGENTS.md" */
    const char *path; /* absolute */
    struct ethos_view text;
    bool is_skill, accepted;
};

#define INSTRUCTIONS_SKILL_FOLDERS 2
extern const char *const instructions_skill_folders[INSTRUCTIONS_SKILL_FOLDERS];

/* Calls each with every file from the top down to the folder. Unreadable files are skipped. */
typedef int instructions_fn(void *arg, const struct instructions_file *file);
int instructions_each(struct ethos *ethos, const char *top, const char *folder,
                      instructions_fn *each, void *arg, struct ethos_error *error);

/* Whether a file has been accepted as it is. */
int instructions_is_accepted(struct ethos *ethos, const char *path, struct ethos_view text,
                             bool *out, struct ethos_error *error);

/* Accepts a file until its text changes. */
int instructions_accept(struct ethos *ethos, const struct instructions_file *file,
                        struct ethos_error *error);

#endif

/*
 * project.h: what a prompt takes from the project of a folder: its instructions and skills.
 *
 * Instructions are AGENTS.md, else CLAUDE.md, of every folder from the git top level down to the folder. Skills are
 * the folders with a SKILL.md in .agents/skills and .claude/skills of the top level, and in skills of the home;
 * only their names and descriptions are in the prompt. Secrets are redacted, hidden characters shown.
 */
#ifndef ETHOS_AGENT_PROJECT_H
#define ETHOS_AGENT_PROJECT_H

#include <limits.h>
#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/str.h"

#define PROJECT_MAX_INSTRUCTIONS 32768 /* bytes of all instructions */
#define PROJECT_MAX_SKILLS 100
#define PROJECT_SKILL_FOLDERS 3

/*
 * Appends each text of instructions under its path: what the owner has not accepted (memory/review/instructions.h)
 * fenced by the number of the session, and *out_foreign says so. Files that cannot be read are left out.
 */
int project_append_instructions(struct ethos *ethos, const char *top, const char *folder,
                                const char *number, struct str *out, bool *out_foreign,
                                struct ethos_error *error);

/* The folders of skills; those that are not there are left out. Returns how many. */
size_t project_skill_folders(const char *top, const char *home,
                             char out[PROJECT_SKILL_FOLDERS][PATH_MAX]);

/*
 * Appends "- name: description (path of SKILL.md)" for each skill in byte order: to foreign what the owner has not
 * accepted. own: a folder of the home, where every text is his.
 */
int project_append_skills(struct ethos *ethos, const char *folder, bool own, struct str *out,
                          struct str *foreign, struct ethos_error *error);

#endif

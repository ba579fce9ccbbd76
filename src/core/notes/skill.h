/*
 * skill.h: a note as a skill: the SKILL.md of a folder that agents load by its description.
 */
#ifndef ETHOS_CORE_NOTES_SKILL_H
#define ETHOS_CORE_NOTES_SKILL_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

#define SKILL_MAX_NAME 64          /* bytes */
#define SKILL_MAX_DESCRIPTION 1024 /* CH */

/* 1 to 64 of [a-z0-9] and single inner hyphens. */
bool skill_name_ok(struct ethos_view name);

/* Appends a name made from the file name of a note, which keeps it if it can. Returns str_code. */
int skill_name(const char *key, struct str *out);

/*
 * Appends SKILL.md: name, description (the note's, else its first line, else its title), the known
 * members of metadata as a map of strings, then the body. Returns str_code.
 */
int skill_write(struct ethos_view note, const char *key, struct ethos_view name, struct str *out);

/* Makes out the note as a pointer to the skill: its head as it is, one line where the body was. */
int skill_pointer(struct ethos_view note, struct ethos_view name, const char *path,
                  struct str *out);

/* Whether that has been done to a note. */
bool skill_is_pointer(struct ethos_view note);

#endif

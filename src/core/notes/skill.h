/*
 * skill.h: turns a note into a skill: a folder with SKILL.md, which agents load by its description.
 */
#ifndef ETHOS_CORE_NOTES_SKILL_H
#define ETHOS_CORE_NOTES_SKILL_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

#define SKILL_MAX_NAME 64          /* bytes */
#define SKILL_MAX_DESCRIPTION 1024 /* CH */

/* 1 to 64 characters of [a-z0-9], with single hyphens in between. */
bool skill_name_ok(struct ethos_view name);

/*
 * Appends a skill name made from the file name of a note, the same if it is valid. Returns
 * str_code.
 */
int skill_name(const char *key, struct str *out);

/*
 * Appends SKILL.md: name, description (the note's, or its first line, or its title), the known
 * members of metadata as a map of strings, then the body. Returns str_code.
 */
int skill_write(struct ethos_view note, const char *key, struct ethos_view name, struct str *out);

/* Writes to out the note as a pointer to the skill: its head unchanged, its body one line. */
int skill_pointer(struct ethos_view note, struct ethos_view name, const char *path,
                  struct str *out);

/* Whether a note is such a pointer. */
bool skill_is_pointer(struct ethos_view note);

#endif

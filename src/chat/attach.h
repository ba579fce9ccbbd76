/*
 * attach.h: files that a message names: @src/main.c puts the file's text behind the message.
 */
#ifndef ETHOS_CHAT_ATTACH_H
#define ETHOS_CHAT_ATTACH_H

#include <ethos/types.h>

struct str;

#define ATTACH_MAX_FILE 262144 /* bytes of one file */
#define ATTACH_MAX_FILES 16

/*
 * Appends the message and, for each word @PATH of it that is a regular file, the file's text between fences. A path
 * begins in folder unless it is absolute. ETHOS_LIMIT for a file that is too large, ETHOS_INVALID for one that is
 * not text; a word that is not a file is a word.
 */
int attach_files(struct ethos_view message, const char *folder, struct str *out,
                 struct ethos_error *error);

#endif

/*
 * key.h: the key that identifies the conversation of a folder or chat.
 *
 *     cli:<basename of the real folder>             usually; % and : percent-encoded
 *     cli:<basename>~<8 hex of SHA-256(folder)>     if another folder with that name has the first
 *     <key>:<ms>                                    a new conversation after /new
 *     <platform>:<bot>:<chat>                       channels, each part percent-encoded
 */
#ifndef ETHOS_CORE_SESSIONS_KEY_H
#define ETHOS_CORE_SESSIONS_KEY_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

/* Appends the key of a folder (an absolute path); hashed: the second form. Returns str_code. */
int session_key_folder(struct ethos_view folder, bool hashed, struct str *out);

/* Appends parts joined by colons, each encoded. Returns str_code. */
int session_key_parts(const struct ethos_view *parts, size_t count, struct str *out);

/*
 * Whether a key is base itself or base with ":<digits>", a newer conversation of the same family.
 */
bool session_key_of_family(struct ethos_view key, struct ethos_view base);

/*
 * The base of a key's family: the key without its ":<ms>". A folder or chat may itself be a number.
 */
struct ethos_view session_key_base(struct ethos_view key);

/*
 * Appends a title for a conversation without one: the first line of the text that is not blank,
 * without the marks of a heading, list or quote, at most 60 CH, cut between words. Returns
 * str_code.
 */
int session_title(struct ethos_view text, struct str *out);

/*
 * The text without what a program put before it: commands without arguments on lines of their own
 * ("/clear"), and what an agent writes in the user's name: <bash-input>...</bash-input>, outputs,
 * command tags. Blank: the user said nothing.
 */
struct ethos_view session_said(struct ethos_view text);

#endif

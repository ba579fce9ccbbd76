/*
 * key.h: what a folder's or a chat's conversation is found by.
 *
 *     cli:<basename of the real folder>             the usual one; % and : percent-encoded
 *     cli:<basename>~<8 hex of SHA-256(folder)>     where another folder of that name has the first
 *     <key>:<ms>                                    a fresh one after /new
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

/* Whether a key is base itself, or base with ":<digits>": a fresh one of the same family. */
bool session_key_of_family(struct ethos_view key, struct ethos_view base);

/* The base of a key's family: the key without its ":<ms>". A folder or chat may be a number, too. */
struct ethos_view session_key_base(struct ethos_view key);

/*
 * Appends a title for a conversation that has none: the first line of the text that is not blank,
 * without the marks of a heading, list or quote, at most 60 CH, cut between words. Returns
 * str_code.
 */
int session_title(struct ethos_view text, struct str *out);

/*
 * The text without what a program put before what was said: lines that are a command without arguments ("/clear"),
 * and what an agent writes in the user's name: <bash-input>...</bash-input>, outputs, command tags. Blank: nothing
 * was said.
 */
struct ethos_view session_said(struct ethos_view text);

#endif

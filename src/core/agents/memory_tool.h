/*
 * memory_tool.h: the memory tool of the Anthropic API (memory_20250818) as functions over texts.
 *
 * A command is a JSON object; the answer is a text for the model. Mistakes of the model (a path, a
 * parameter, a text that is not found) are answered in words and are not errors of the call.
 * Replies are byte for byte those of the tool's documentation.
 *
 * The files are a tree: keys are relative paths, and a directory exists if it contains a key.
 */
#ifndef ETHOS_CORE_AGENTS_MEMORY_TOOL_H
#define ETHOS_CORE_AGENTS_MEMORY_TOOL_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

#include "base/json.h"
#include "base/str.h"

#define TOOL_MAX_LINES 999999 /* of a file that is shown */
#define TOOL_MAX_FILES 1024   /* that one command may delete or rename */

enum tool_command {
    TOOL_VIEW,
    TOOL_CREATE,
    TOOL_STR_REPLACE,
    TOOL_INSERT,
    TOOL_DELETE,
    TOOL_RENAME
};

/* A path as given, without a slash at its end, and its key: "" is /memories itself. */
struct tool_path {
    struct ethos_view shown;
    char key[ETHOS_MAX_KEY + 1];
};

#define TOOL_NUMBER_SIZE 32

/* A line number given by a model; numbers beyond any file are alike. */
struct tool_number {
    int64_t value;
    char shown[TOOL_NUMBER_SIZE];
};

/* Views point into the JSON. */
struct tool_call {
    enum tool_command command;
    struct tool_path path, new_path; /* new_path: of rename */
    struct ethos_view text;          /* file_text, new_str, insert_text */
    struct ethos_view old_str;
    struct tool_number line; /* insert_line */
    bool ranged;             /* view_range was given */
    struct tool_number first, last;
};

struct tool_reply {
    struct str text;
    bool is_error;
};

void tool_reply_init(struct tool_reply *reply);
void tool_reply_release(struct tool_reply *reply);

/* Sets the reply to this error message. Returns false. */
bool tool_refuse(struct tool_reply *reply, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* False if the command is wrong; the reply then says why. */
bool tool_parse(const json_t *object, struct tool_call *out, struct tool_reply *reply);

/* ---- the tree ------------------------------------------------------------------------------ */

/* A file; rows are in byte order of their keys. */
struct tool_row {
    const char *key;
    uint64_t bytes;
};

enum tool_kind { TOOL_NOTHING, TOOL_FILE, TOOL_DIRECTORY };

/* What a key is; "" is always a directory. */
enum tool_kind tool_kind_of(const struct tool_row *rows, size_t count, const char *key);

/* Whether a key is the directory itself or lies below it. */
bool tool_below(const char *key, const char *directory);

/* False, with a reply, if a directory in the key's path is a file. */
bool tool_reachable(const struct tool_row *rows, size_t count, const struct tool_path *path,
                    struct tool_reply *reply);

/* ---- commands ------------------------------------------------------------------------------ */

/* All of them write the reply; the code of its text says whether memory ran out. */

void tool_view_directory(const struct tool_call *call, struct tool_row *rows, size_t count,
                         struct tool_reply *reply); /* reorders the rows */
void tool_view_file(const struct tool_call *call, struct ethos_view text, struct tool_reply *reply);

/* The new text of a file; text with data NULL: there is no file. False if it does not change. */
bool tool_edit(const struct tool_call *call, struct ethos_view text, struct str *out,
               struct tool_reply *reply);

/* Sets the reply to "does not exist", in the words of the command. Returns false. */
bool tool_missing(const struct tool_call *call, struct tool_reply *reply);

/* Sets the reply to the success message of create, delete or rename. */
void tool_done(const struct tool_call *call, struct tool_reply *reply);

#endif

/*
 * line_start.h: what a line of markdown is, by how it begins.
 *
 * The beginning of a line may not be enough to tell. Then the answer is LINE_WAIT; any other answer stays the same
 * however the line goes on.
 */
#ifndef ETHOS_CHAT_LINE_START_H
#define ETHOS_CHAT_LINE_START_H

#include <stdbool.h>

#include <ethos/types.h>

#define LINE_MAX_MARKER 12  /* bytes of "123456789. " */
#define LINE_MAX_RULE 200   /* bytes of a rule, a fence with its language */
#define LINE_MAX_PROBE 1000 /* bytes of a delimiter row; of the first line of a table; of blanks */
#define LINE_MAX_QUOTES 16

enum line_kind {
    LINE_WAIT,
    LINE_BLANK,
    LINE_TEXT,
    LINE_HEADING,
    LINE_ITEM,
    LINE_RULE,
    LINE_FENCE,
    LINE_INDENTED, /* code by its indentation */
    LINE_CODE,     /* of an open fence */
    LINE_FENCE_END,
    LINE_TABLE, /* the delimiter row, or a row of an open table */
};

struct line_place {
    unsigned quotes; /* > before it */
    unsigned indent; /* columns */
};

struct line_fence {
    char mark;
    unsigned count, indent;
};

struct line_start {
    enum line_kind kind;
    struct line_place at;
    size_t content;                   /* where the text begins */
    char marker[LINE_MAX_MARKER + 1]; /* of an item: "- ", "1. " */
    struct line_fence fence;
};

/* What is open when the line begins. */
struct line_context {
    enum line_kind open;  /* LINE_BLANK: nothing */
    struct line_place at; /* of it */
    struct line_fence fence;
    bool in_list;
    size_t
        head_columns; /* of a paragraph of one line that may be the head of a table; 0: it may not */
};

/* whole: all of the line is there. */
struct line_start line_start_parse(struct ethos_view line, bool whole,
                                   const struct line_context *context);

#endif

/*
 * transcript_internal.h: a transcript of another program while it is read. Private to
 * core/sessions/transcript*.
 *
 * Lines become items, in the order of the file (transcript_claude.c with transcript_claude_branches.c and
 * transcript_claude_commands.c, transcript_codex.c, transcript_ethos.c, over transcript_items.c); items are brought into an order
 * that a model accepts (transcript_reorder.c); the last of them before which nothing can change is the
 * place where reading goes on (transcript_resume.c).
 */
#ifndef ETHOS_CORE_SESSIONS_TRANSCRIPT_INTERNAL_H
#define ETHOS_CORE_SESSIONS_TRANSCRIPT_INTERNAL_H

#include "base/json.h"
#include "base/str.h"
#include "core/sessions/transcript.h"

#define TRANSCRIPT_CALL_BYTES 8388608 /* bytes: what the calls of one message are given to do */

#define NOTE_OTHER "a line that is no message was left out"
#define NOTE_PROGRAM "a line of the program to itself was left out"
#define NOTE_REASONING "reasoning was left out"

/* A piece of a message's text; joined by an empty line. */
struct text_block {
    struct text_block *next;
    struct ethos_view text;
};

struct call {
    struct call *next;
    const char *id, *name;
    const char *input;              /* JSON */
    struct transcript_item *result; /* NULL: none was found */
};

/* A message in the making; everything lives in the arena. */
struct transcript_item {
    struct transcript_item *next;  /* in the file */
    struct transcript_item *after; /* in the order that was made */
    char role;                     /* as in struct transcript; 0: left out */
    size_t line;
    size_t turn; /* how many that are no results stand before a result */
    const char *id, *timestamp;
    /* Of a question: where its line begins, and what was counted before, as in struct transcript_reading. */
    bool firm; /* as long as what comes follows it, it stays */
    size_t offset;
    const char *response;
    json_int_t tokens;
    struct text_block *parts, **last_part;
    struct call *calls, **last_call;
    size_t call_count, call_bytes;
    const char *call_id, *tool_name; /* of a result */
    bool claimed;                    /* a result that belongs to a call */
    bool has_usage;
    struct ethos_usage usage;
    /* Of our own documents, as they stand there; joining forgets them. */
    bool own; /* its id and the tool's name stay */
    const char *tool_calls, *content_blocks, *trace_id;
};

struct transcript_reading {
    struct arena *arena;
    transcript_note_fn *note;
    void *arg;
    struct transcript_item *items, **last;
    struct transcript_item **latest; /* what points to the last one */
    struct transcript_item *answer;  /* the last of the assistant's, or NULL, */
    struct transcript_item *earlier; /* and the one before */
    struct transcript_item *ordered; /* linked by after */
    struct transcript_item
        *turn; /* the last of these that everything after it can be read from, or NULL */
    struct ethos_view whole;             /* the text as it was given, */
    const struct transcript_place *from; /* and where that begins; NULL: at the beginning */
    /* the line that is being read */
    size_t line, offset;
    struct ethos_view text;
    struct ethos_view name; /* its id, or absent */
    const json_t *time;
    size_t made; /* items of it so far */
    bool told;   /* something of it was noted */
    /* of the whole */
    json_t *names;                   /* ids of lines that were read */
    json_t *typed;                   /* codex: what the user typed, by the program's own account */
    const char *session;             /* the first id, or NULL */
    const char *response;            /* claude-code: the answer whose tokens were counted last, */
    struct transcript_item *counted; /* and where */
    json_t *summaries;               /* claude-code: titles by the line that they were made for, */
    char title_rank; /* and how good the one that was found is: summary, program, person */
    json_t *places;  /* claude-code: of lines by id, */
    struct branch_node *nodes; /* the lines, */
    size_t node_count, node_capacity;
    size_t node;         /* and which of them is being read, 0: none that others follow */
    bool command;        /* claude-code: the last item is a command that nobody answered so far, */
    size_t command_node; /* and its line */
    json_int_t tokens;   /* codex: all that were counted so far, */
    size_t question;     /* the line of the last question, */
    bool unasked;        /* whether a turn began in which nobody has said anything so far, */
    const char *shown;   /* which answer the screen showed since the last question, "": none that is
                            told, NULL: nothing is told of the screen */
    /* what does not stay where it is */
    bool reaches_back; /* something depends on what stands before the text, if anything does */
    bool reaches_on;   /* something may change by what comes, wherever that is */
    bool summed;       /* claude-code: a title may come true */
    struct transcript_about *about;
};

/* All of these return ETHOS_OK or ETHOS_NOMEM. */

void reading_note(struct transcript_reading *reading, const char *what);

/* The first id that is given names the session. */
int reading_session(struct transcript_reading *reading, struct ethos_view id);

/* What is told of the session: *out becomes text, unless that is empty or no string of C. */
int reading_tell(struct transcript_reading *reading, struct ethos_view text, const char **out);

/* The same for a title: one line, not too long. */
int reading_title(struct transcript_reading *reading, struct ethos_view text);

/* Appends an item with id and time of its line. */
int reading_add(struct transcript_reading *reading, char role, struct transcript_item **out);

/* Appends text; nothing for the empty one. */
int reading_text(struct transcript_reading *reading, struct transcript_item *item,
                 struct ethos_view text);

/* Appends a call; input may be NULL, or text that is a JSON object. */
int reading_call(struct transcript_reading *reading, struct transcript_item *item,
                 struct ethos_view id, struct ethos_view name, const json_t *input);

/* Appends calls of either spelling to an item, which is made when it is NULL and they are some. */
int reading_calls(struct transcript_reading *reading, struct transcript_item *item,
                  const json_t *calls);

/* Appends the result of a call; content is text or blocks of it. */
int reading_result(struct transcript_reading *reading, struct ethos_view id, struct ethos_view name,
                   const json_t *content);

/*
 * Appends what a message says: text, or blocks of text, calls and results, which become items of
 * their own. *out is the item with its calls, NULL when there is none.
 */
int reading_content(struct transcript_reading *reading, char role, const json_t *content,
                    struct transcript_item **out);

/* Leaves out the item that was appended last, once, and says so of its line. */
void reading_take_back(struct transcript_reading *reading, const char *what);

/* Whether a line with this id comes for the first time. */
int reading_is_new(struct transcript_reading *reading, struct ethos_view name, bool *out);

/* A UUID that is always the same for the same text. */
const char *reading_uuid(struct transcript_reading *reading, struct ethos_view text);

/* The value as JSON text, in the arena; NULL: no memory. */
const char *reading_json(struct transcript_reading *reading, const json_t *value);

/* A count that is not negative, or 0. */
int64_t member_count(const json_t *object, const char *name);

/* One line of each format. */
int jsonl_line(struct transcript_reading *reading, const json_t *row);
int claude_line(struct transcript_reading *reading, const json_t *row);
int codex_line(struct transcript_reading *reading, const json_t *row);

/* claude-code: a line that others may follow, */
int branch_line(struct transcript_reading *reading, const json_t *row);

/* which became a message, */
void branch_message(struct transcript_reading *reading, bool question);

/* or one that is none after all, by its place, */
void branch_no_message(struct transcript_reading *reading, size_t node);

/* and at the end: leaves out what was taken back. */
void branch_end(struct transcript_reading *reading);

/* claude-code: whether a text of the user's is a command; the views are parts of it. */
bool command_typed(struct ethos_view text, struct ethos_view *out_name,
                   struct ethos_view *out_args);

/* Whether it is what the program said to a command; *out_answer: not only before it. */
bool command_is_local(struct ethos_view text, bool *out_answer);

/* At the end: chooses the title and the branch. */
int claude_end(struct transcript_reading *reading);

/* At the end: leaves out what nobody typed, and what may be a summary. */
int codex_end(struct transcript_reading *reading);

/* A document of ours. */
int ethos_read_document(struct transcript_reading *reading, struct ethos_view text);

/* Whether a text whose first line is no JSON begins like one. */
bool ethos_begins(struct ethos_view text);

/* Takes one row, which is being read. */
void reading_begin(struct transcript_reading *reading, struct ethos_view text);

/* Parses a text, with bytes that are no text replaced. */
int reading_parse(struct transcript_reading *reading, struct ethos_view text, json_t **out);

/* Makes reading->ordered of the items. */
int transcript_order(struct transcript_reading *reading);

/* The same without changing anything; *out_kept is false when they are in no order to be kept. */
int transcript_keep(struct transcript_reading *reading, bool *out_kept);

/* Whether what was ordered is what comes at the place it was read from. */
bool place_fits(const struct transcript_reading *reading);

/* Tells where reading can go on. */
void place_find(struct transcript_reading *reading);

/* Hands what was ordered to each. */
int transcript_give(struct transcript_reading *reading, transcript_out_fn *each);

#endif

/*
 * transcript_internal.h: a transcript of another program while it is read. Private to
 * core/sessions/transcript*.
 *
 * Lines become items, in the order of the file (transcript_claude.c with
 * transcript_claude_branches.c and transcript_claude_commands.c, transcript_codex.c,
 * transcript_ethos.c, over transcript_items.c). Items are brought into an order that a model
 * accepts (transcript_reorder.c). The last item before which nothing can change is where reading
 * continues (transcript_resume.c).
 */
#ifndef ETHOS_CORE_SESSIONS_TRANSCRIPT_INTERNAL_H
#define ETHOS_CORE_SESSIONS_TRANSCRIPT_INTERNAL_H

#include "base/json.h"
#include "base/str.h"
#include "core/sessions/transcript.h"

#define TRANSCRIPT_CALL_BYTES 8388608 /* bytes of the inputs of one message's calls */

#define NOTE_OTHER "a line that is no message was left out"
#define NOTE_PROGRAM "a line of the program to itself was left out"
#define NOTE_REASONING "reasoning was left out"

/* A part of a message's text; parts are joined by an empty line. */
struct text_block {
    struct text_block *next;
    struct ethos_view text;
};

struct call {
    struct call *next;
    const char *id, *name;
    const char *input;              /* JSON */
    struct transcript_item *result; /* NULL: not found */
};

/* A message under construction; everything is in the arena. */
struct transcript_item {
    struct transcript_item *next;  /* in the file */
    struct transcript_item *after; /* in the final order */
    char role;                     /* as in struct transcript; 0: left out */
    size_t line;
    size_t turn; /* number of items before it that are not results */
    const char *id, *timestamp;
    /* Of a question: where its line begins, and what was counted before, as in struct transcript_reading. */
    bool firm; /* it stays where it is, as long as the following lines follow it */
    size_t offset;
    const char *response;
    json_int_t tokens;
    struct text_block *parts, **last_part;
    struct call *calls, **last_call;
    size_t call_count, call_bytes;
    const char *call_id, *tool_name; /* of a result */
    bool claimed;                    /* a result that was assigned to a call */
    bool has_usage;
    struct ethos_usage usage;
    /* Of our own documents, as they stand there; joining forgets them. */
    bool own; /* its id and the tool's name are preserved */
    const char *tool_calls, *content_blocks, *trace_id;
};

struct transcript_reading {
    struct arena *arena;
    transcript_note_fn *note;
    void *arg;
    struct transcript_item *items, **last;
    struct transcript_item **latest; /* what points to the last one */
    struct transcript_item *answer;  /* the assistant's last item, or NULL, */
    struct transcript_item *earlier; /* and the one before */
    struct transcript_item *ordered; /* linked by after */
    struct transcript_item
        *turn; /* the last of these from which everything after it can be read, or NULL */
    struct ethos_view whole;             /* the text as it was given, */
    const struct transcript_place *from; /* and where it begins; NULL: at the beginning */
    /* the line being read */
    size_t line, offset;
    struct ethos_view text;
    struct ethos_view name; /* its id, or absent */
    const json_t *time;
    size_t made; /* its items so far */
    bool told;   /* a note about it was reported */
    /* of the whole */
    json_t *names;                   /* ids of lines that were read */
    json_t *typed;                   /* codex: what the user typed, according to the program */
    const char *session;             /* the first id, or NULL */
    const char *response;            /* claude-code: the answer whose tokens were counted last */
    struct transcript_item *counted; /* and where */
    json_t *summaries;               /* claude-code: titles by the line that they belong to, */
    char title_rank; /* and the rank of the one that was found: summary, program, person */
    json_t *places;  /* claude-code: nodes by the id of their line, */
    struct branch_node *nodes; /* the lines, */
    size_t node_count, node_capacity;
    size_t node;         /* and the one being read; 0: none that others follow */
    bool command;        /* claude-code: the last item is a command without an answer so far, */
    size_t command_node; /* and its line */
    json_int_t tokens;   /* codex: all tokens counted so far, */
    size_t question;     /* the line of the last question, */
    bool unasked;        /* whether a turn began that has no message of the user so far, */
    const char *shown;   /* which answer the screen showed since the last question, "": none that is
                            told, NULL: nothing is told of the screen */
    /* what does not stay where it is */
    bool reaches_back; /* something depends on the text before the beginning */
    bool reaches_on;   /* something may change by following lines, wherever they are */
    bool summed;       /* claude-code: a following line may make a title apply */
    struct transcript_about *about;
};

/* All of these return ETHOS_OK or ETHOS_NOMEM. */

void reading_note(struct transcript_reading *reading, const char *what);

/* The first id that is found identifies the session. */
int reading_session(struct transcript_reading *reading, struct ethos_view id);

/* Sets *out to text, unless it is empty or contains NUL. */
int reading_tell(struct transcript_reading *reading, struct ethos_view text, const char **out);

/* The same for a title: one line, of limited length. */
int reading_title(struct transcript_reading *reading, struct ethos_view text);

/* Appends an item with the id and time of its line. */
int reading_add(struct transcript_reading *reading, char role, struct transcript_item **out);

/* Appends text, unless it is empty. */
int reading_text(struct transcript_reading *reading, struct transcript_item *item,
                 struct ethos_view text);

/* Appends a call; input may be NULL or the text of a JSON object. */
int reading_call(struct transcript_reading *reading, struct transcript_item *item,
                 struct ethos_view id, struct ethos_view name, const json_t *input);

/*
 * Appends calls in either spelling to an item, which is created if it is NULL and there are calls.
 */
int reading_calls(struct transcript_reading *reading, struct transcript_item *item,
                  const json_t *calls);

/* Appends the result of a call; content is text or an array of blocks. */
int reading_result(struct transcript_reading *reading, struct ethos_view id, struct ethos_view name,
                   const json_t *content);

/*
 * Appends the content of a message: text, or blocks of text, calls and results, which become
 * separate items. *out is the item with the calls, NULL if there is none.
 */
int reading_content(struct transcript_reading *reading, char role, const json_t *content,
                    struct transcript_item **out);

/* Removes the item that was appended last, and notes it once for its line. */
void reading_take_back(struct transcript_reading *reading, const char *what);

/* Whether this is the first line with this id. */
int reading_is_new(struct transcript_reading *reading, struct ethos_view name, bool *out);

/* A UUID that is always the same for the same text. */
const char *reading_uuid(struct transcript_reading *reading, struct ethos_view text);

/* The value as JSON text, in the arena; NULL: out of memory. */
const char *reading_json(struct transcript_reading *reading, const json_t *value);

/* A count that is not negative, or 0. */
int64_t member_count(const json_t *object, const char *name);

/* One line of each format. */
int jsonl_line(struct transcript_reading *reading, const json_t *row);
int claude_line(struct transcript_reading *reading, const json_t *row);
int codex_line(struct transcript_reading *reading, const json_t *row);

/* claude-code: a line that other lines may follow, */
int branch_line(struct transcript_reading *reading, const json_t *row);

/* which became a message, */
void branch_message(struct transcript_reading *reading, bool question);

/* or that turned out not to be a message, by its node, */
void branch_no_message(struct transcript_reading *reading, size_t node);

/* and at the end: removes what was undone. */
void branch_end(struct transcript_reading *reading);

/* claude-code: whether a text of the user is a command; the views are its parts. */
bool command_typed(struct ethos_view text, struct ethos_view *out_name,
                   struct ethos_view *out_args);

/* Whether a text is the program's output of a command; *out_answer: not only text before it. */
bool command_is_local(struct ethos_view text, bool *out_answer);

/* At the end: chooses the title and the branch. */
int claude_end(struct transcript_reading *reading);

/* At the end: removes what nobody typed, and what may be a summary. */
int codex_end(struct transcript_reading *reading);

/* A document of ours. */
int ethos_read_document(struct transcript_reading *reading, struct ethos_view text);

/* Whether a text whose first line is not JSON begins like one of our documents. */
bool ethos_begins(struct ethos_view text);

/* Begins to read a row. */
void reading_begin(struct transcript_reading *reading, struct ethos_view text);

/* Parses a text, replacing invalid bytes. */
int reading_parse(struct transcript_reading *reading, struct ethos_view text, json_t **out);

/* Builds reading->ordered from the items. */
int transcript_order(struct transcript_reading *reading);

/* The same without changing items; *out_kept is false if their order is not acceptable. */
int transcript_keep(struct transcript_reading *reading, bool *out_kept);

/* Whether the ordered items are what follows the place that reading started from. */
bool place_fits(const struct transcript_reading *reading);

/* Determines where reading can continue. */
void place_find(struct transcript_reading *reading);

/* Passes the ordered items to each. */
int transcript_give(struct transcript_reading *reading, transcript_out_fn *each);

#endif

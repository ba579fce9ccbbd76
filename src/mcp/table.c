/*
 * table.c: the tools: which operation each is, what its arguments are called, what it shows.
 *
 * Types, choices, ranges and what is required come from the operation's row, and so do the hints. A tool
 * whose operation this program or this connection does not have is not there. Texts are for a model.
 */
#include "mcp/parts.h"

#define END                                                                                        \
    {                                                                                              \
        0                                                                                          \
    }

#define WITHHELD                                                                                   \
    {                                                                                              \
        "withheld", MCP_FLAG,                                                                      \
            "true: secrets or suspicious lines were left out; do not write this text back", NULL   \
    }

/* ---- what tools give -------------------------------------------------------------------------- */

static const struct mcp_field file_fields[] = {
    {"scope", MCP_TEXT, "whose memory it is", NULL},
    {"key", MCP_TEXT, "the file", NULL},
    {"content", MCP_TEXT, "its text; empty when there is no such file", NULL},
    {"revision", MCP_TEXT_OR_NULL, "for if_match; null when there is no such file", NULL},
    {"modifiedAt", MCP_TEXT_OR_NULL, NULL, NULL},
    {"knownAt", MCP_TEXT, "memory is out of reach; this is what was known then", NULL},
    WITHHELD,
    END};

static const struct mcp_field note_fields[] = {
    {"key", MCP_TEXT, "the file", NULL},
    {"title", MCP_TEXT, NULL, NULL},
    {"hook", MCP_TEXT_OR_NULL, "when the note matters", NULL},
    {"type", MCP_TEXT_OR_NULL, NULL, NULL},
    {"stale", MCP_TEXT_OR_NULL, "why it should be verified before it is relied on", NULL},
    {"modifiedAt", MCP_TEXT_OR_NULL, NULL, NULL},
    END};

static const struct mcp_field note_list_fields[] = {
    {"scope", MCP_TEXT, "whose notes they are", NULL},
    {"notes", MCP_ROWS, NULL, note_fields},
    {"nextCursor", MCP_TEXT_OR_NULL, "for the next page; null after the last", NULL},
    WITHHELD,
    END};

static const struct mcp_field note_read_fields[] = {
    {"scope", MCP_TEXT, "whose note it is", NULL},
    {"key", MCP_TEXT, "the file", NULL},
    {"title", MCP_TEXT, NULL, NULL},
    {"type", MCP_TEXT_OR_NULL, NULL, NULL},
    {"stale", MCP_TEXT_OR_NULL, "why it should be verified before it is relied on", NULL},
    {"content", MCP_TEXT, NULL, NULL},
    {"revision", MCP_TEXT_OR_NULL, NULL, NULL},
    {"modifiedAt", MCP_TEXT_OR_NULL, NULL, NULL},
    WITHHELD,
    END};

static const struct mcp_field hit_fields[] = {{"scope", MCP_TEXT, NULL, NULL},
                                              {"key", MCP_TEXT, "the file", NULL},
                                              {"line", MCP_INTEGER, "from 1", NULL},
                                              {"snippet", MCP_TEXT, NULL, NULL},
                                              {"modifiedAt", MCP_TEXT_OR_NULL, NULL, NULL},
                                              END};

static const struct mcp_field found_fields[] = {
    {"hits", MCP_ROWS, "best first", hit_fields},
    {"files", MCP_INTEGER, "how many were looked into", NULL},
    {"unreadable", MCP_INTEGER, "how many could not be read", NULL},
    {"partial", MCP_FLAG, "true: there is more than one search looks into", NULL},
    WITHHELD,
    END};

static const struct mcp_field touched_fields[] = {
    {"scope", MCP_TEXT, NULL, NULL},
    {"key", MCP_TEXT, "the file", NULL},
    {"revision", MCP_TEXT_OR_NULL, "of the text as it is now", NULL},
    {"chars", MCP_INTEGER, NULL, NULL},
    {"matched", MCP_INTEGER, "lines that were removed", NULL},
    {"warning", MCP_TEXT, "what else to know, such as where the start of a too long text went",
     NULL},
    END};

static const struct mcp_field report_fields[] = {
    {"applied", MCP_INTEGER, "changes that were made", NULL},
    {"written", MCP_ROWS, "files that changed", touched_fields},
    {"unchanged", MCP_ROWS, "files that already said so", touched_fields},
    {"queued", MCP_FLAG, "true: memory is out of reach; the change is made when it is back", NULL},
    WITHHELD,
    END};

static const struct mcp_field similar_fields[] = {{"key", MCP_TEXT, NULL, NULL}, END};

static const struct mcp_field kept_fields[] = {
    {"effect", MCP_TEXT, "created, appended, replaced, unchanged or exists (nothing was written)",
     NULL},
    {"scope", MCP_TEXT, NULL, NULL},
    {"key", MCP_TEXT, "the file of the note", NULL},
    {"content", MCP_TEXT, "exists: the note as it is", NULL},
    {"revision", MCP_TEXT_OR_NULL, "exists: for if_match", NULL},
    {"similar", MCP_ROWS, "notes about the same: correct one of them instead?", similar_fields},
    {"warning", MCP_TEXT, NULL, NULL},
    {"written", MCP_ROWS, "files that changed", touched_fields},
    WITHHELD,
    END};

static const struct mcp_field session_fields[] = {
    {"id", MCP_TEXT, "for session_read", NULL},
    {"displayTitle", MCP_TEXT_OR_NULL, "its title, or how it began", NULL},
    {"workingDir", MCP_TEXT_OR_NULL, "the folder it was held in", NULL},
    {"createdAt", MCP_TEXT, NULL, NULL},
    {"updatedAt", MCP_TEXT, "when somebody last spoke", NULL},
    {"turnCount", MCP_INTEGER, "how often the person spoke", NULL},
    {"pinned", MCP_FLAG, NULL, NULL},
    END};

static const struct mcp_field session_list_fields[] = {
    {"items", MCP_ROWS, "pinned ones first, then the latest", session_fields},
    {"nextCursor", MCP_TEXT_OR_NULL, "for the next page; null after the last", NULL},
    WITHHELD,
    END};

static const struct mcp_field said_fields[] = {
    {"id", MCP_TEXT, "session_read can begin with it: from", NULL},
    {"role", MCP_TEXT, "who said it", NULL},
    {"timestamp", MCP_TEXT, NULL, NULL},
    END};

static const struct mcp_field snippet_fields[] = {
    {"before", MCP_TEXT, NULL, NULL},   {"match", MCP_TEXT, NULL, NULL},
    {"after", MCP_TEXT, NULL, NULL},    {"cutBefore", MCP_FLAG, NULL, NULL},
    {"cutAfter", MCP_FLAG, NULL, NULL}, END};

static const struct mcp_field session_hit_fields[] = {{"session", MCP_OBJECT, NULL, session_fields},
                                                      {"message", MCP_OBJECT, NULL, said_fields},
                                                      {"snippet", MCP_OBJECT, NULL, snippet_fields},
                                                      END};

static const struct mcp_field session_found_fields[] = {
    {"hits", MCP_ROWS, "best first", session_hit_fields}, WITHHELD, END};

static const struct mcp_field tool_call_fields[] = {{"name", MCP_TEXT, NULL, NULL}, END};

static const struct mcp_field message_fields[] = {
    {"id", MCP_TEXT, NULL, NULL},
    {"role", MCP_TEXT, "who said it", NULL},
    {"content", MCP_TEXT, NULL, NULL},
    {"cut", MCP_FLAG, "true: it goes on; read it with limit 1 and a larger maxChars", NULL},
    {"toolName", MCP_TEXT_OR_NULL, "of a tool_result", NULL},
    {"toolCalls", MCP_ROWS, "tools that were called", tool_call_fields},
    {"timestamp", MCP_TEXT, NULL, NULL},
    END};

static const struct mcp_field session_read_fields[] = {
    {"session", MCP_OBJECT, NULL, session_fields},
    {"messages", MCP_ROWS, "oldest first", message_fields},
    {"previous", MCP_TEXT_OR_NULL, "what to begin the page before with; null: there is none", NULL},
    {"next", MCP_TEXT_OR_NULL, "what to begin the page after with; null: there is none", NULL},
    WITHHELD,
    END};

/* ---- what they are asked ----------------------------------------------------------------------- */

static const struct mcp_arg remember_args[] = {
    {"content", "content", "the fact, in a few sentences: what, why, how to apply it"},
    {"title", "title", "what the note is called"},
    {"type", "type",
     "user: about the person; feedback: how they want things done; project "
     "(default); reference: where to find something"},
    {"hook", "hook", "one line for the index in every prompt: when the note matters"},
    {"about", "about", "project (default), or everywhere: it matters in every project"},
    {"mode", "mode", "if a note has this title: append to it, or replace its text (with if_match)"},
    {"if_match", "ifMatch", "the revision you read"},
    END};
static const struct mcp_arg read_args[] = {
    {"store", "store", "memory (default): MEMORY.md; user: the person's profile, USER.md"},
    {"key", "key", "another file, by name"},
    END};
static const struct mcp_arg write_args[] = {
    {"store", "store", "memory (default): MEMORY.md; user: the person's profile, USER.md"},
    {"key", "key", "another file, by name"},
    {"content", "content", "add: the text to append; replace: the whole new text"},
    {"substringMatch", "substringMatch", "remove: every line that contains this goes"},
    {"if_match", "ifMatch", "the revision you read, for replace (absent: no such file yet)"},
    END};
static const struct mcp_arg search_args[] = {
    {"query", "query", NULL}, {"limit", "limit", NULL}, END};
static const struct mcp_arg list_args[] = {{"type", "type", ""},
                                           {"stale", "stale", "only notes that should be verified"},
                                           {"limit", "limit", "how many at most (default: 200)"},
                                           {"cursor", "cursor", "nextCursor of the page before"},
                                           END};
static const struct mcp_arg name_args[] = {{"name", "name", NULL}, END};
static const struct mcp_arg note_write_args[] = {
    {"name", "name", NULL},
    {"content", "content", "the whole new text"},
    {"hook", "hook", "default: the first line of a new text"},
    {"title", "title", ""},
    {"if_match", "ifMatch", "the revision you read"},
    END};
static const struct mcp_arg note_remove_args[] = {
    {"name", "name", NULL}, {"if_match", "ifMatch", "the revision you read"}, END};
static const struct mcp_arg session_search_args[] = {{"query", "query", NULL},
                                                     {"limit", "limit", NULL},
                                                     {"since", "since", NULL},
                                                     {"until", "until", NULL},
                                                     END};
static const struct mcp_arg session_list_args[] = {
    {"since", "since", NULL},
    {"until", "until", NULL},
    {"all", "all", "of all projects, where the owner allows it (sessions.across)"},
    {"limit", "limit", NULL},
    {"cursor", "cursor", "nextCursor of the page before"},
    END};
static const struct mcp_arg session_read_args[] = {
    {"id", "id", "the session: its id"},
    {"from", "from", "begin with this message: its id (default: the newest are shown)"},
    {"limit", "limit", "how many messages at most (default: 20)"},
    {"maxChars", "maxChars", "how many characters of each message (default: 2000)"},
    END};
static const struct mcp_arg team_read_args[] = {{"key", "key", "a file (default: MEMORY.md)"}, END};
static const struct mcp_arg team_write_args[] = {
    {"key", "key", "a file (default: MEMORY.md)"},
    {"content", "content", "add: the text to append; replace: the whole new text"},
    {"substringMatch", "substringMatch", "remove: every line that contains this goes"},
    {"if_match", "ifMatch", "the revision you read, for replace (absent: no such file yet)"},
    END};

/* ---- the tools --------------------------------------------------------------------------------- */

#define WRITE_WAYS                                                                                 \
    {                                                                                              \
        {"add", "memory.add", false}, {"replace", "memory.replace", true},                         \
            {"remove", "memory.remove", false},                                                    \
    }
#define MATCHED_WAY(op)                                                                            \
    {                                                                                              \
        {                                                                                          \
            NULL, op, true                                                                         \
        }                                                                                          \
    }
#define ONE_WAY(op)                                                                                \
    {                                                                                              \
        {                                                                                          \
            NULL, op, false                                                                        \
        }                                                                                          \
    }

const struct mcp_tool mcp_tools[] = {
    {"remember", "Remember a fact",
     "Keep one fact that will matter in a later conversation, as a note of this project or of "
     "every project: a decision, a preference, how something is built or run. No secrets.",
     ONE_WAY("notes.remember"), remember_args, kept_fields, MCP_ANY, NULL},
    {"memory_search", "Search memory",
     "Search memory, profile and notes by words or a question; best first. Read a hit of scope "
     "\"global\" or \"workspace:...\" with note_read, others with memory_read.",
     ONE_WAY("memory.search"), search_args, found_fields, MCP_ANY, NULL},
    {"memory_read", "Read memory",
     "Read MEMORY.md (what goes on, across projects) or the person's profile, whole, with the "
     "revision that memory_write needs.",
     ONE_WAY("memory.get"), read_args, file_fields, MCP_ANY, NULL},
    {"memory_write", "Change memory",
     "Change MEMORY.md or the person's profile: add text, remove lines, or replace the whole text. "
     "Facts about this project go to remember.",
     WRITE_WAYS, write_args, report_fields, MCP_ANY, NULL},
    {"note_list", "List notes",
     "List the notes of this project, where there is none those of every project: titles, and when "
     "each matters.",
     ONE_WAY("notes.list"), list_args, note_list_fields, MCP_ANY, NULL},
    {"note_read", "Read a note",
     "Read one note of this project or of every project, with its revision.", ONE_WAY("notes.get"),
     name_args, note_read_fields, MCP_ANY, "note_list shows what there is"},
    {"note_write", "Correct a note",
     "Correct a note that is wrong or outdated: new text, hook or title. Read it first.",
     MATCHED_WAY("notes.write"), note_write_args, kept_fields, MCP_ANY,
     "note_list shows what there is"},
    {"note_remove", "Remove a note", "Remove a note that no longer holds. Read it first.",
     MATCHED_WAY("notes.remove"), note_remove_args, report_fields, MCP_ANY,
     "note_list shows what there is"},
    {"session_search", "Search conversations",
     "Find words in earlier conversations of this project, or of all where the owner allows it. "
     "Read around a hit with session_read: id of its session, from the id of its message.",
     ONE_WAY("sessions.search"), session_search_args, session_found_fields, MCP_ANY, NULL},
    {"session_list_by_date", "List conversations",
     "List earlier conversations of this project or of all, the latest first, optionally of a span "
     "of time.",
     ONE_WAY("sessions.list"), session_list_args, session_list_fields, MCP_ANY, NULL},
    {"session_read", "Read a conversation",
     "Read what was said in an earlier conversation: its end, or a page from one message on.",
     ONE_WAY("sessions.get"), session_read_args, session_read_fields, MCP_ANY,
     "session_search and session_list_by_date tell the ids"},
    {"team_memory_read", "Read the team's memory",
     "Read a file of the memory that the team shares, with its revision.", ONE_WAY("memory.get"),
     team_read_args, file_fields, MCP_TEAM, NULL},
    {"team_memory_search", "Search the team's memory",
     "Find words in the memory that the team shares.", ONE_WAY("memory.search"), search_args,
     found_fields, MCP_TEAM, NULL},
    {"team_memory_write", "Change the team's memory",
     "Change the memory that the team shares: add text, remove lines, or replace a whole file.",
     WRITE_WAYS, team_write_args, report_fields, MCP_TEAM, NULL},
    END};

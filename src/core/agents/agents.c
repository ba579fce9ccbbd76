/*
 * agents.c: the table of agents, and the choice of the form that a file has.
 */
#include "core/agents/agents.h"

#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/agents/json_edit.h"
#include "core/agents/settings_internal.h"
#include "core/formats/managed_block.h"
#include "core/formats/memory_formats.h"

/* ---- the table ----------------------------------------------------------------------------- */

#define TIMEOUT 5 /* seconds; a hook has its own deadline of one */
#define CLAMPED 3 /* what Codex makes of more at the end of a session */

static const struct agent_event claude_events[] = {
    {"SessionStart", AGENT_START, TIMEOUT}, {"UserPromptSubmit", AGENT_PROMPT, TIMEOUT},
    {"Stop", AGENT_TURN, TIMEOUT},          {"PreCompact", AGENT_COMPACT, TIMEOUT},
    {"SessionEnd", AGENT_END, TIMEOUT},     {0}};

static const struct agent_event codex_events[] = {
    {"SessionStart", AGENT_START, TIMEOUT}, {"UserPromptSubmit", AGENT_PROMPT, TIMEOUT},
    {"Stop", AGENT_TURN, TIMEOUT},          {"PreCompact", AGENT_COMPACT, TIMEOUT},
    {"SessionEnd", AGENT_END, CLAMPED},     {0}};

static const struct agent_event gemini_events[] = {{"BeforeAgent", AGENT_PROMPT, TIMEOUT},
                                                   {"AfterAgent", AGENT_TURN, TIMEOUT},
                                                   {"PreCompress", AGENT_COMPACT, TIMEOUT},
                                                   {"SessionEnd", AGENT_END, TIMEOUT},
                                                   {0}};

/* What is said at its start goes before the first prompt, which is dropped for that on resuming. */
static const struct agent_event gemini_others[] = {{"SessionStart", AGENT_START, 0}, {0}};

static const struct agent_event qwen_events[] = {
    {"SessionStart", AGENT_START, TIMEOUT}, {"UserPromptSubmit", AGENT_PROMPT, TIMEOUT},
    {"Stop", AGENT_TURN, TIMEOUT},          {"PreCompact", AGENT_COMPACT, TIMEOUT},
    {"SessionEnd", AGENT_END, TIMEOUT},     {0}};

static const struct agent_event no_events[] = {{0}};

static const struct agent_event cursor_events[] = {{"sessionStart", AGENT_START, TIMEOUT},
                                                   {"beforeSubmitPrompt", AGENT_PROMPT, TIMEOUT},
                                                   {"afterAgentResponse", AGENT_TURN, TIMEOUT},
                                                   {"stop", AGENT_TURN, TIMEOUT},
                                                   {"preCompact", AGENT_COMPACT, TIMEOUT},
                                                   {"sessionEnd", AGENT_END, TIMEOUT},
                                                   {0}};

const struct agent agents[] = {
    {.name = "claude-code",
     .title = "Claude Code",
     .also = "claude",
     .program = "claude",
     .variable = "CLAUDE_CONFIG_DIR",
     .below = "",
     .folder = ".claude",
     .project = "CLAUDE_PROJECT_DIR",
     .messages = true,
     .files = {{AGENT_MCP, AGENT_JSON, ".claude.json", ".mcp.json", true},
               {AGENT_HOOKS | AGENT_TOOLS, AGENT_JSON, "settings.json", ".claude/settings.json",
                false},
               {AGENT_INSTRUCTIONS, AGENT_MARKDOWN, "CLAUDE.md", "CLAUDE.md", false},
               {AGENT_OWN_MEMORY, AGENT_JSON, NULL, ".claude/settings.local.json", false}},
     .events = claude_events,
     .format = "claude-code",
     .allowed = {"permissions", "allow"},
     .tool_prefix = "mcp__ethos__",
     .own_folder = "autoMemoryDirectory",
     .own_switch = "autoMemoryEnabled",
     .type = "stdio",
     .loads = true,
     .instructed = true,
     .unit = 1,
     .approve = "Claude Code asks once whether this project's server may run"},
    {.name = "codex",
     .title = "Codex",
     .program = "codex",
     .variable = "CODEX_HOME",
     .below = "",
     .folder = ".codex",
     .files = {{AGENT_MCP, AGENT_TOML, "config.toml", ".codex/config.toml", false},
               {AGENT_HOOKS, AGENT_JSON, "hooks.json", ".codex/hooks.json", false},
               {AGENT_INSTRUCTIONS, AGENT_MARKDOWN, "AGENTS.md", "AGENTS.md", false}},
     .events = codex_events,
     .format = "codex",
     .instructed = true,
     .unit = 1,
     .trust = "Type /hooks in Codex and trust those of ethos; until then it skips them silently",
     .approve = "Codex reads a project's settings once you trust the project"},
    {.name = "gemini",
     .title = "Gemini CLI",
     .also = "gemini-cli",
     .program = "gemini",
     .variable = "GEMINI_CLI_HOME",
     .below = "/.gemini",
     .folder = ".gemini",
     .files = {{AGENT_MCP | AGENT_HOOKS | AGENT_TOOLS, AGENT_JSONC, "settings.json",
                ".gemini/settings.json", false},
               {AGENT_INSTRUCTIONS, AGENT_MARKDOWN, "GEMINI.md", "GEMINI.md", false}},
     .events = gemini_events,
     .others = gemini_others,
     .allowed = {"tools", "allowed"},
     .tool_prefix = "mcp_ethos_",
     .strict = true,
     .marks = true,
     .instructed = true,
     .named = true,
     .unit = 1000,
     .trust = "Gemini CLI starts servers and hooks only in folders that you trust"},
    {.name = "cursor",
     .title = "Cursor",
     .program = "cursor",
     .folder = ".cursor",
     .files = {{AGENT_MCP, AGENT_JSON, "mcp.json", ".cursor/mcp.json", false},
               {AGENT_HOOKS, AGENT_JSON, "hooks.json", ".cursor/hooks.json", false},
               {AGENT_INSTRUCTIONS, AGENT_MARKDOWN, NULL, "AGENTS.md", false}},
     .events = cursor_events,
     .flat = true,
     .unit = 1,
     .rules = "Cursor keeps rules for all projects in its own settings; those are left alone"},
    {.name = "copilot",
     .title = "Copilot CLI",
     .program = "copilot",
     .variable = "COPILOT_HOME",
     .below = "",
     .folder = ".copilot",
     .files = {{AGENT_MCP, AGENT_JSONC, "mcp-config.json", ".github/mcp.json", false},
               {AGENT_INSTRUCTIONS, AGENT_MARKDOWN, "copilot-instructions.md", "AGENTS.md", false}},
     .events = no_events,
     .type = "local",
     .filters = true,
     .unit = 1},
    {.name = "qwen",
     .title = "Qwen Code",
     .program = "qwen",
     .variable = "QWEN_HOME",
     .below = "",
     .folder = ".qwen",
     .project = "QWEN_PROJECT_DIR",
     .files = {{AGENT_MCP | AGENT_HOOKS | AGENT_TOOLS, AGENT_JSONC, "settings.json",
                ".qwen/settings.json", false},
               {AGENT_INSTRUCTIONS, AGENT_MARKDOWN, "QWEN.md", "QWEN.md", false}},
     .events = qwen_events,
     .allowed = {"permissions", "allow"},
     .tool_prefix = "mcp__ethos__",
     .marks = true,
     .named = true,
     .unit = 1000},
    {.name = "opencode",
     .title = "opencode",
     .program = "opencode",
     .variable = "XDG_CONFIG_HOME",
     .below = "/opencode",
     .folder = ".config/opencode",
     .files = {{AGENT_MCP, AGENT_JSONC, "opencode.json", "opencode.json", false},
               {AGENT_INSTRUCTIONS, AGENT_MARKDOWN, "AGENTS.md", "AGENTS.md", false}},
     .events = no_events,
     .servers = "mcp",
     .type = "local",
     .joined = true,
     .unit = 1},
    {0}};

/* ---- any other program ---------------------------------------------------------------------- */

#define MCP_JSON(...)                                                                              \
    {                                                                                              \
        .name = MCP_JSON_NAME, .title = "the program that reads it", .folder = "",                 \
        .files = {{AGENT_MCP, AGENT_JSONC, "", NULL, false}}, .events = no_events, .unit = 1,      \
        __VA_ARGS__                                                                                \
    }

/* Claude Desktop, Windsurf, Cline and most others; VS Code; Zed. */
static const struct agent others[] = {MCP_JSON(.servers = NULL),
                                      MCP_JSON(.servers = "servers", .type = "stdio"),
                                      MCP_JSON(.servers = "context_servers")};

const struct agent *agent_of_file(const char *path, struct ethos_view text)
{
    static const char *const paths[][2] = {{"/.vscode/mcp.json", "/User/mcp.json"},
                                           {"/zed/settings.json", "/.zed/settings.json"}};
    json_t *json = json_edit_look(text);
    const struct agent *found = NULL;
    for (size_t i = 0; !found && json_is_object(json) && i < 3; i++)
        if (json_object_get(json, others[i].servers ? others[i].servers : "mcpServers"))
            found = &others[i];
    for (size_t i = 0; !found && i < 4; i++)
        if (view_ends(view_str(path), view_str(paths[i / 2][i % 2])))
            found = &others[i / 2 + 1];
    json_decref(json);
    return found ? found : &others[0];
}

const struct agent *agent_find(const char *name)
{
    for (const struct agent *agent = agents; agent->name; agent++)
        if (strcmp(agent->name, name) == 0 || (agent->also && strcmp(agent->also, name) == 0))
            return agent;
    return NULL;
}

/* The next letter, small; NUL at the end. Events have no digits. */
static char next_letter(const char **text)
{
    for (; **text; (*text)++) {
        char letter = (char)(**text | 0x20);
        if (letter >= 'a' && letter <= 'z') {
            (*text)++;
            return letter;
        }
    }
    return '\0';
}

static bool same_letters(const char *a, const char *b)
{
    char letter;
    while ((letter = next_letter(&a)) == next_letter(&b))
        if (letter == '\0')
            return true;
    return false;
}

const struct agent_event *agent_event_find(const char *agent, const char *event,
                                           const struct agent **out_agent)
{
    const struct agent *who = *out_agent = agent && event ? agent_find(agent) : NULL;
    for (size_t i = 0; who && i < 2; i++) {
        const struct agent_event *row = i == 0 ? who->events : who->others;
        for (; row && row->name; row++)
            if (same_letters(row->name, event))
                return row;
    }
    return NULL;
}

bool agent_is_program(struct ethos_view program)
{
    return view_eq_str(program, "ethos") || view_ends(program, VIEW("/ethos"));
}

/* ---- instructions -------------------------------------------------------------------------- */

static const char instructions[] =
    "## Memory\n"
    "\n"
    "ethos keeps a long-term memory of this user and their projects, in files they can read.\n"
    "\n"
    "- What it knows reaches you at the start of a session and with prompts. Use it; verify what "
    "looks\n"
    "  stale before you rely on it.\n"
    "- Before asking what may have been said already, look: `memory_search` for what was kept,\n"
    "  `note_read` for a whole note, `session_search` for past conversations.\n"
    "- Keep what will matter in a later session (a decision and why, a preference, how this "
    "project\n"
    "  works) with `remember`: one fact, a short title. No secrets, and nothing that the code "
    "already\n"
    "  says. Keep MEMORY.md small.\n"
    "- Correct what is wrong: `note_write` or `note_remove` for notes, `memory_write` for the "
    "rest.\n"
    "\n"
    "Where these tools are missing, the commands `ethos prefetch` and `ethos remember` do the "
    "same.\n";

static const struct block_marks marks = {FOREIGN_BEGIN, FOREIGN_END, true};

static int agent_failure(int code, const char *what, struct ethos_error *error)
{
    if (code != ETHOS_INVALID)
        return code == ETHOS_OK ? code : err_nomem(error);
    err_set(error, code, "%s: its ethos markers are unbalanced", what);
    return err_hint(error, code, "leave one " FOREIGN_BEGIN " and one " FOREIGN_END " below it");
}

/*
 * What stood between the marks before us, or the absent view. What holds a mark cannot go back
 * there.
 */
static struct ethos_view earlier_block(struct ethos_view before)
{
    struct block block;
    if (!before.data || block_find(before, &marks, &block) != ETHOS_OK || !block.found)
        return (struct ethos_view){0};
    bool other = !view_eq(view_trim(block.inner), view_trim(view_str(instructions))) &&
                 !view_contains(block.inner, view_str(marks.begin)) &&
                 !view_contains(block.inner, view_str(marks.end));
    return other ? block.inner : (struct ethos_view){0};
}

/* The last newline of what stands before the block is ours where there was none before. */
static struct ethos_view without_newline(struct ethos_view lead, struct ethos_view before)
{
    if (view_starts(lead, before) && lead.size <= before.size + 2)
        return before;
    if (view_ends(lead, VIEW("\n")))
        lead.size -= view_ends(lead, VIEW("\r\n")) ? 2 : 1;
    return lead;
}

int agent_drop_block(struct ethos_view text, struct ethos_view before,
                     const struct block_marks *marks_of, struct str *out)
{
    struct block block;
    int code = block_put(text, marks_of, (struct ethos_view){0}, out);
    if (code != ETHOS_OK || view_unmarked(before).size == 0 ||
        block_find(text, marks_of, &block) != ETHOS_OK || !block.found)
        return code;
    struct ethos_view lead = block_lead(&block);
    if (block.after.size == 0 && !view_ends(before, VIEW("\n")))
        lead = without_newline(lead, before);
    str_clear(out);
    str_add(out, lead);
    return str_add(out, block.after);
}

/* As it was, to the byte; nothing where somebody took the marks away. */
static int put_earlier(struct ethos_view text, struct ethos_view earlier, struct str *out)
{
    struct block block;
    int code = block_find(text, &marks, &block);
    if (code != ETHOS_OK)
        return code;
    str_clear(out);
    str_add(out, block.before);
    str_add(out, block.begin);
    if (block.found)
        str_add(out, earlier);
    str_add(out, block.end);
    return str_add(out, block.after);
}

static int remove_instructions(struct ethos_view text, struct ethos_view before, const char *what,
                               struct str *out, struct ethos_error *error)
{
    struct ethos_view earlier = earlier_block(before);
    return agent_failure(earlier.data ? put_earlier(text, earlier, out)
                                      : agent_drop_block(text, before, &marks, out),
                         what, error);
}

/* ---- any file ------------------------------------------------------------------------------ */

int agent_add(const struct agent_wiring *wiring, const struct agent_file *file, unsigned parts,
              struct ethos_view text, struct ethos_view before, const char *what, struct str *out,
              struct ethos_error *error)
{
    switch (file->form) {
    case AGENT_TOML:
        return agent_toml_add(wiring, text, before, what, out, error);
    case AGENT_MARKDOWN:
        return agent_failure(block_put(text, &marks, view_str(instructions), out), what, error);
    default:
        return agent_json_add(wiring, file, file->parts & parts, text, before, what, out, error);
    }
}

int agent_remove(const struct agent_file *file, struct ethos_view text, struct ethos_view before,
                 const char *what, struct str *out, struct ethos_error *error)
{
    switch (file->form) {
    case AGENT_TOML:
        return agent_toml_remove(text, before, what, out, error);
    case AGENT_MARKDOWN:
        return remove_instructions(text, before, what, out, error);
    default:
        return agent_json_remove(file, text, before, what, out, error);
    }
}

int agent_tell_home(json_t *list, const char *home, bool made)
{
    return json_array_append_new(list, json_pack("{s:s?, s:b}", "home", home, "made", made));
}

json_t *agent_homes(const struct agent *agent, const struct agent_file *file,
                    struct ethos_view text)
{
    json_t *list = json_array();
    int failed = !list                          ? -1
                 : file->form == AGENT_TOML     ? agent_toml_homes(text, list)
                 : file->form == AGENT_MARKDOWN ? 0
                                                : agent_json_homes(agent, text, list);
    if (failed == 0)
        return list;
    json_decref(list);
    return NULL;
}

unsigned agent_parts(const struct agent *agent, const struct agent_file *file,
                     struct ethos_view text)
{
    struct block block;
    switch (file->form) {
    case AGENT_TOML:
        return agent_toml_parts(text);
    case AGENT_MARKDOWN:
        return block_find(text, &marks, &block) == ETHOS_OK && block.found ? AGENT_INSTRUCTIONS : 0;
    default:
        return agent_json_parts(agent, text) & file->parts;
    }
}

bool agent_touched(const struct agent_file *file, struct ethos_view text)
{
    struct block block;
    return file->form == AGENT_TOML ? agent_toml_touched(text)
           : file->form == AGENT_MARKDOWN
               ? block_find(text, &marks, &block) == ETHOS_OK && block.found
               : agent_json_touched(file->parts, text);
}

bool agent_left_nothing(const struct agent_file *file, struct ethos_view text)
{
    json_t *json;
    if (file->form != AGENT_JSON && file->form != AGENT_JSONC)
        return view_blank(text);
    if (json_parse_wide(text, "", &json, NULL) != ETHOS_OK)
        return view_blank(text);
    size_t version = json_object_get(json, "version") ? 1 : 0; // what Cursor wants to see
    bool nothing = json_is_object(json) && json_object_size(json) == version;
    json_decref(json);
    return nothing;
}

json_t *agent_server(const struct agent_file *file, struct ethos_view text)
{
    return file->form == AGENT_TOML                                    ? agent_toml_server(text)
           : file->form != AGENT_MARKDOWN && (file->parts & AGENT_MCP) ? agent_json_server(text)
                                                                       : NULL;
}

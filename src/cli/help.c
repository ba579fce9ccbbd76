/*
 * help.c: help and the manual page, made from the operation table.
 */
#include <string.h>

#include "base/view.h"
#include "cli/cli.h"

/* What the second words of a group are about. */
static const char *const groups[][2] = {
    {"memory", "Show and change the memory files"},
    {"recall", "Search memory with a question"},
    {"conflicts", "Review edits that could not be merged"},
    {"pending", "Changes that wait for approval"},
    {"notes", "Notes of a workspace and their index"},
    {"sessions", "Record, read and search conversations"},
    {"workspaces", "Workspaces: which memory belongs to which folder"},
    {"users", "People and their identities"},
    {"api-key", "API keys for the server"},
    {"browsers", "Browsers that are signed in to the server"},
    {"personality", "Personalities of the agent"},
    {"gateway", "Channels and the people who use them"},
    {"config", "The settings"},
    {"bench", "Measure how well recall works on your data"},
};

static const char *const environment[][2] = {
    {"ETHOS_HOME, ETHOS_STATE_DIR", "the home, in this order, before ~/.ethos"},
    {"ETHOS_PERSONALITY", "the personality, unless -p is given"},
    {"ETHOS_USER", "the user id, unless -u is given"},
    {"ETHOS_WORKSPACE", "the project folder, unless -w is given"},
    {"ETHOS_EPHEMERAL_MEMORY", "1 is --ephemeral-memory"},
    {"VISUAL, EDITOR", "the editor of memory edit, notes edit and chat"},
    {"ACCESSIBLE", "1: chat works line by line, for screen readers"},
    {"CLAUDE_CONFIG_DIR, XDG_DATA_HOME, OPENCLAW_WORKSPACE_DIR, HERMES_HOME, MEMORY_FILE_PATH",
     "where import looks for claude-code, jutul, openclaw, hermes and server-memory"},
    {"PAGER, NO_COLOR, CLICOLOR_FORCE", "how output on a terminal looks"},
};

static const char *const exits[][2] = {
    {"0", "done, or nothing to show"},
    {"1", "failed"},
    {"2", "usage"},
    {"3", "not found"},
    {"4", "conflict: the file changed meanwhile, or the name is taken"},
    {"5", "refused: a bad id or key, a missing right, a limit"},
    {"6", "busy past the deadline"},
    {"7", "storage fault: no space, read-only, unreadable"},
    {"130", "interrupted"},
};

/* What --json prints, where the names alone would not tell. */
static const char *const shapes[][2] = {
    {"search.all", "as memory search; a hit in a conversation is {session, message, snippet, "
                   "modifiedAt}"},
    {"memory.search", "{hits: [{scope, key, line, snippet, modifiedAt}], files, unreadable, "
                      "partial}; partial: there "
                      "was more than one search looks into"},
    {"memory.recall",
     "{hits: [{scope, key, line, text, date, score, message?, role?, why?: [{part, "
     "value, weight, score}], words?, indexed?}], scopes, units, partial, "
     "elapsedMs}; the scores of why add up to the score; what was said has the "
     "scope sessions, and the id of its session as its key"},
    {"recall.bench",
     "{questions, texts, recall1, recall5, recall10, ndcg10, mrr, msEach}, in percent "
     "and milliseconds"},
    {"memory.tool", "{text, isError}; isError: the model made a mistake, and the text tells it"},
    {"memory.history",
     "an array of changes: {number, time, scope, key, actions: [], source, via, actor, session, "
     "sessionKey, user, opId, event, undoes: [], before, after, bytesBefore, bytesAfter, group?, "
     "added, "
     "removed, line, diff}; before and after are revisions, what is unknown is null"},
    {"memory.timeline",
     "{items: [changes as in memory history], nextCursor}; a page may have fewer than it could"},
    {"memory.merge",
     "{merged, clean, hunks: [{kind, base, yours, theirs, merged}]}; kind is same, yours, theirs, "
     "both or conflict, where yours stands"},
    {"memory.diff", "{scope, key, from, to, diff}, or null without history"},
    {"memory.restore", "{applied, written: [], unchanged: [], conflicts: []}"},
    {"memory.undo", "{applied, written: [], unchanged: [], conflicts: [], undone: [numbers]}"},
    {"notes.undo",
     "{applied, written: [], unchanged: [], conflicts: [], undone: [numbers], change}"},
    {"memory.blame",
     "{scope, key, lines: [{line, text, change, replaced}], nextCursor}; change as in memory "
     "history, null for what was there before; replaced is what stood in the place of the line"},
    {"memory.forget",
     "{lines, versions, blobs, conflicts, names, calls?, scopes: [{scope, name, lines, ...}], "
     "sessions?: {sessions, messages, summaries, keys}, files?: [{path, lines}], kept?: [{path, "
     "reason}], "
     "elsewhere?: {files, messages}, unreachable: []}; with --dry-run also taken: [{scope, name, "
     "key, line, text}] and more, the number of further lines"},
    {"pending.list",
     "an array of {id, scopeId, update: {action, key, content?, substringMatch?}, source, "
     "proposedAt, factHash?, sessionId?, sessionKey?, actor?, via?, trust?, why?: [], base?, "
     "hash?, "
     "opId?, userId?, note?: {title, hook}, editedFrom?}, oldest first; proposedAt in "
     "milliseconds"},
    {"pending.show",
     "one as in pending list, and {hash, moved, reasons: [], rule, diff}; hash is of what is shown "
     "now, rule what --always would add, or null"},
    {"pending.approve", "{applied, written: [], unchanged: [], conflicts: [], id, rule?}"},
    {"pending.edit", "as pending show"},
    {"pending.reject", "{id, decided}"},
    {"pending.never", "{id, decided}"},
    {"conflicts.list",
     "{conflicts: [{id, scope, key, time, bytes, path, kind}], events: [changes as in memory "
     "history, each with undo: the command that reverses it, diff: what the edit changed, merged: "
     "what was merged with it, or null], nextCursor}"},
    {"conflicts.show",
     "{id, scope, key, time, bytes, path, kind, content, diff, revision}; revision is that of the "
     "file, null when there is none"},
    {"conflicts.resolve", "{applied, written: [], unchanged: [], conflicts: [], resolved}"},
    {"notes.remember",
     "{applied, written: [], unchanged: [], conflicts: [], effect, scope, key, path, index: "
     "{chars, budget, omittedChars, omittedBytes}, similar?: [{key}], warning?}; effect is "
     "created, "
     "appended, replaced or unchanged; index is null where the prompt does not show it; similar "
     "are "
     "notes about the same"},
    {"notes.write",
     "{applied, written: [], unchanged: [], conflicts: [], effect, scope, key, path, index, "
     "similar?, warning?}, as remember"},
    {"notes.list",
     "{scope, path, index, stale, notes: [{key, title, hook, type, created, verified, expires, "
     "modifiedAt, bytes, listed, stale, findings: []}], nextCursor}; index as in remember, "
     "findings as the "
     "last notes check recorded them; stale of a note is a reason or null, the other one a count "
     "of "
     "those that are listed"},
    {"notes.graph", "{scope, nodes: [{key, title, type, stale, listed, age}], links: [{from, to, "
                    "broken}], nextCursor}; age "
                    "in days; to is the name as it is written where it is broken"},
    {"notes.show", "one note as in notes list, and {scope, content, path, revision}"},
    {"notes.move", "{applied, written: [], unchanged: [], conflicts: [], key}"},
    {"notes.check",
     "{applied, written: [], unchanged: [], conflicts: [], findings: [{key, kind, line, text, "
     "fixed}], checked: {notes, claims, findings, fixed, verified}, nextCursor}; line 0: about no "
     "line"},
    {"notes.reindex",
     "{applied, written: [], unchanged: [], conflicts: [], mended: [{problem, key, line}]}; "
     "problem is unlisted, missing or double"},
    {"notes.promote", "{applied, written: [], unchanged: [], conflicts: [], skill}"},
    {"transfer.import",
     "{format, scope, path, counts: {taken, ...}, rows: [{what, file, scope, key, why, diff}], "
     "dryRun}; what is taken, updated, merged, conflict, unchanged, skipped or warning"},
    {"transfer.export",
     "{format, scope, path, counts: {written, ...}, rows: [{what, file, scope, key, why, diff}], "
     "text, dryRun}; what is written, unchanged or skipped; text only without PATH"},
    {"memory.migrate",
     "{from, to, scopes: [{scope, changes, moved, added, renumbered, lost, skipped, texts, copies, "
     "from, to, same, passes}], sessions: {sessions, messages, keys, movedSessions, movedMessages, "
     "movedKeys, from, to, same}, config: [lines], dryRun}; from and to are digests; sessions is "
     "null where they stay"},
    {"memory.mirror",
     "{folder, backend, twoWay, once, texts, toFile, toBackend, kept, failed}, when it ends"},
    {"admin.backup",
     "{path, form: tar or copy, files, bytes, databases, verified, skipped: [{path, reason}], "
     "notIncluded: [{backend, personality, remedy}], dryRun}"},
    {"admin.restore",
     "{path, home, created, files, bytes, merge, login, rows: [{what, scope, key, why}], dryRun}; "
     "what is added, updated, merged, conflict or kept; login is one that no person here has, or "
     "null"},
    {"sessions.list",
     "{items: [session], nextCursor}; session is {id, key, platform, model, provider, "
     "personalityId, parentSessionId, workingDir, title, pinned, usage: {}, createdAt, updatedAt, "
     "version, turnCount, displayTitle}; displayTitle is the title, else what the user said first"},
    {"sessions.get",
     "{session, messages: [{id, sessionId, role, content, toolCallId, toolName, toolCalls: [], "
     "timestamp, cut: true where maxChars cut it}], cards: [], previous, next}; messages oldest "
     "first; previous and next, of a part of them: what to begin the pages around it with, or "
     "null"},
    {"sessions.search",
     "{hits: [{session, message, snippet: {before, match, after, cutBefore, cutAfter}}]}; before, "
     "match and after are neighbours in the content"},
    {"sessions.current", "{session}; with --dry-run null where one would be made"},
    {"sessions.new", "{session}; with --dry-run null"},
    {"sessions.append", "{session}"},
    {"sessions.undo", "{session, messages: how many were taken back}"},
    {"sessions.fork", "{session}: the copy; with --dry-run null"},
    {"sessions.update", "{session}"},
    {"sessions.pin", "{session}"},
    {"sessions.unpin", "{session}"},
    {"sessions.delete", "{ok, session, messages: how many it had}"},
    {"sessions.prune", "{sessions: how many, before: the time}"},
    {"channel.owner", "{code, link}; link opens the bot with the code, or is null"},
    {"channel.people",
     "{people: [{platform, sender, name, role, since, userId, local}], waiting: [{platform, "
     "sender, name, begins, since, until}], nextCursor}; accounts of one person have one userId; "
     "begins is how the code of somebody begins who waits"},
    {"channel.status",
     "{running, waiting, sending, channels: [{platform, title, state, since, why, bot, messages, "
     "setup: []}], unsent: [{id, state, platform, chat, created}]}; state is off, down, up or "
     "fatal, why is what to do; messages is how many came in seven days"},
    {"channel.messages",
     "{messages: [{platform, chat, direct, sender, name, role, received, state, ended, answer}]}; "
     "state is new, running, answered, failed or refused; answer is sent, unknown, failed, or "
     "where its sending stands"},
    {"workspaces.list",
     "{current, workspaces: [{id, scope, notes, bytes, paths: [{path, exists, lastSeen}], "
     "problem}], nextCursor}"},
    {"workspaces.where",
     "{path, git, id, scope, how, memory, notes, bytes, paths: []}; how is new, path, marker, "
     "alias, moved or id"},
    {"workspaces.adopt", "{id, path, before}"},
    {"workspaces.forget", "the row of workspaces list, and {deleted}"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- pieces -------------------------------------------------------------------------------- */

static bool in_group(const struct op *op, const char *group)
{
    size_t size = strlen(group);
    return op->command && strncmp(op->command, group, size) == 0 && op->command[size] == ' ';
}

/* Lines are no longer than is good to read, on a narrower terminal no longer than it is wide. */
static size_t line_width(FILE *out)
{
    int columns = term_columns(fileno(out));
    return columns < TERM_COLUMNS ? (size_t)columns : TERM_COLUMNS;
}

/* Words up to that width, the following lines indented as far as the first stands already. */
static void print_words(FILE *out, size_t indent, const char *text)
{
    size_t column = indent, width = line_width(out);
    while (*text) {
        size_t size = strcspn(text, " ");
        bool first = column == indent, fits = column + 1 + size <= width;
        if (!first && !fits)
            fprintf(out, "\n%*s", (int)indent, "");
        fprintf(out, "%s%.*s", !first && fits ? " " : "", (int)size, text);
        column = first || !fits ? indent + size : column + 1 + size;
        text += size + (text[size] == ' ');
    }
    fputc('\n', out);
}

/* "  memory add               Append text to a file", or where that is too narrow, on two lines. */
static void print_help_row(FILE *out, const char *label, const char *text)
{
    enum { INDENT = 27 };
    bool below = line_width(out) < INDENT + TERM_BESIDE;
    fprintf(out, below ? "  %s\n%*s" : "  %-24s %*s", label, below ? TERM_BELOW : 0, "");
    print_words(out, below ? TERM_BELOW : INDENT, text);
}

/* Usage: ethos memory add TEXT [OPTIONS] */
static void print_synopsis(FILE *out, const struct op *op)
{
    bool options = false;
    fprintf(out, "Usage: ethos %s", op->command);
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        bool required = (arg->flags & OP_REQUIRED) && !(arg->flags & OP_FILE);
        if (arg->flags & OP_POSITIONAL)
            fprintf(out, required ? " %s" : " [%s]", arg->placeholder);
        else
            options = options || !(arg->flags & OP_STDIN);
    }
    fprintf(out, options ? " [OPTIONS]\n%s.\n" : "\n%s.\n", op->summary);
}

static void print_arg_help(FILE *out, const struct op_arg *arg)
{
    char option[64], label[96];
    const char *letter = arg->type == OP_FLAG ? arg->choices : NULL;
    cli_option_name(arg->name, option);
    if (arg->flags & OP_POSITIONAL)
        snprintf(label, sizeof label, "%s", arg->placeholder);
    else if (arg->flags & OP_STDIN)
        snprintf(label, sizeof label, "(standard input)");
    else
        snprintf(label, sizeof label, "%s%s%s--%s %s%s", letter ? "-" : "", letter ? letter : "",
                 letter ? ", " : "", option, arg->placeholder ? arg->placeholder : "",
                 arg->flags & OP_MANY ? "..." : "");
    print_help_row(out, label, arg->help);
}

static void print_globals(FILE *out)
{
    fputs("\nOptions everywhere:\n", out);
    for (const struct cli_option *option = cli_options; option->name; option++) {
        char label[64];
        snprintf(label, sizeof label, "%c%c%s--%s %s", option->letter ? '-' : ' ',
                 option->letter ? option->letter : ' ', option->letter ? ", " : "  ", option->name,
                 option->placeholder ? option->placeholder : "");
        print_help_row(out, label, option->help);
    }
}

static const char *shape_of(const struct op *op)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (strcmp(shapes[i][0], op->name) == 0)
            return shapes[i][1];
    return NULL;
}

/* The commands of a group, below `head`, which is left out where there are none. */
static void print_group_commands(FILE *out, const char *group, const char *head)
{
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (!in_group(op, group))
            continue;
        fputs(head, out);
        print_help_row(out, op->command, op->summary);
        head = "";
    }
}

/* ---- help ---------------------------------------------------------------------------------- */

void help_operation(FILE *out, const struct op *op, bool full)
{
    print_synopsis(out, op);
    if (op->args && op->args->name)
        fputc('\n', out);
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        print_arg_help(out, arg);
    print_group_commands(out, op->command, "\nCommands:\n");
    if (full)
        print_globals(out);
    if (full && shape_of(op)) {
        fputs("\nWith --json:\n  ", out);
        print_words(out, 2, shape_of(op));
    }
    fprintf(out, "\nExample:\n  %s\n", op->example);
    if (!full)
        fprintf(out, "\nethos %s --help also lists the options of every command.\n", op->command);
}

void help_group(FILE *out, const char *group)
{
    fprintf(out, "Usage: ethos %s COMMAND\n", group);
    print_group_commands(out, group, "\n");
    fprintf(out, "\nethos %s COMMAND --help shows details and an example.\n", group);
}

static const char *group_summary(struct ethos_view word)
{
    for (size_t i = 0; i < COUNT(groups); i++)
        if (view_eq_str(word, groups[i][0]))
            return groups[i][1];
    return "";
}

/* One line for each first word of a command. */
static void print_commands(FILE *out)
{
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (!op->command || cli_is_repeat(op))
            continue;
        char label[64];
        struct ethos_view word = cli_first_word(op);
        bool group = word.size < strlen(op->command);
        snprintf(label, sizeof label, "%.*s", VIEW_ARG(word));
        print_help_row(out, label, group ? group_summary(word) : op->summary);
    }
}

void help_program(FILE *out, bool full)
{
    fputs("ethos: memory for AI agents, in markdown that you can read.\n\n"
          "Usage: ethos COMMAND [ARGUMENTS]\n\n",
          out);
    print_commands(out);
    if (full)
        print_globals(out);
    fputs("\nStart with:\n"
          "  ethos memory add 'We deploy on Fridays'\n"
          "  ethos memory add --store user 'Prefers short answers'\n"
          "  ethos remember 'Tests need a running Redis'\n"
          "  ethos prefetch\n\n"
          "ethos COMMAND --help explains a command",
          out);
    fputs(full ? ".\n" : "; ethos --help lists the options of all.\n", out);
}

/* ---- the manual page, in scdoc -------------------------------------------------------------- */

/* scdoc gives a meaning to _ and * and \ and the like. */
static void man_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("_*\\#[]~`", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void man_pairs(FILE *out, const char *const pairs[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fputc('*', out);
        man_text(out, pairs[i][0]);
        fputs("*\n\t", out);
        man_text(out, pairs[i][1]);
        fputs("\n\n", out);
    }
}

static void man_argument(FILE *out, const struct op_arg *arg)
{
    char option[64];
    cli_option_name(arg->name, option);
    fputc('\t', out);
    if (arg->flags & OP_POSITIONAL)
        fprintf(out, "_%s_", arg->placeholder);
    else if (arg->flags & OP_STDIN)
        fputs("standard input", out);
    else
        fprintf(out, arg->placeholder ? "*--%s* _%s_" : "*--%s*", option, arg->placeholder);
    if (arg->type == OP_FLAG && arg->choices)
        fprintf(out, ", *-%s*", arg->choices);
    fputs(": ", out);
    man_text(out, arg->help);
    fputs("\n\n", out);
}

static void man_operation(FILE *out, const struct op *op)
{
    fprintf(out, "*ethos %s*", op->command);
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        char option[64];
        cli_option_name(arg->name, option);
        bool optional = !(arg->flags & OP_REQUIRED) || (arg->flags & OP_FILE);
        if (arg->flags & OP_POSITIONAL)
            fprintf(out, optional ? " \\[_%s_\\]" : " _%s_", arg->placeholder);
        else if (!(arg->flags & OP_STDIN))
            fprintf(out, arg->placeholder ? " \\[*--%s* _%s_%s\\]" : " \\[*--%s*\\]", option,
                    arg->placeholder, arg->flags & OP_MANY ? "..." : "");
    }
    fputs("\n\t", out);
    man_text(out, op->summary);
    fputs(".\n\n", out);
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        man_argument(out, arg);
    if (shape_of(op)) {
        fputs("\tWith *--json*: ", out);
        man_text(out, shape_of(op));
        fputs("\n\n", out);
    }
    fputs("\tExample: ", out);
    man_text(out, op->example);
    fputs("\n\n", out);
}

static void man_option(FILE *out, const struct cli_option *option)
{
    if (option->letter)
        fprintf(out, "*-%c*, ", option->letter);
    fprintf(out, option->placeholder ? "*--%s* _%s_" : "*--%s*", option->name, option->placeholder);
    fputs("\n\t", out);
    man_text(out, option->help);
    fputs("\n\n", out);
}

void help_man(FILE *out)
{
    fputs(
        "ethos(1)\n\n# NAME\n\nethos - memory for AI agents, in markdown that you can read\n\n"
        "# SYNOPSIS\n\n*ethos* _COMMAND_ \\[_ARGUMENTS_\\]\n\n# DESCRIPTION\n\n"
        "Keeps what an agent should not forget in two markdown files: MEMORY.md, the rolling\n"
        "context of a personality, and USER.md, who you are. *ethos prefetch* prints both for a\n"
        "prompt, within a budget of characters; *ethos sync* applies what the agent wants to\n"
        "keep. A project folder has notes of its own: *ethos remember* keeps a fact in a file and\n"
        "in a line of the index, which is in the prompt, too. The files are the memory: edit them\n"
        "with anything.\n\n# COMMANDS\n\n",
        out);
    for (const struct op *op = op_next(NULL); op; op = op_next(op))
        if (op->command)
            man_operation(out, op);
    fputs("# OPTIONS\n\n", out);
    for (const struct cli_option *option = cli_options; option->name; option++)
        man_option(out, option);
    fputs(
        "# CONVERSATIONS\n\n"
        "In *ethos chat*, Enter sends, Alt-Enter, Ctrl-J or a backslash before Enter begins a "
        "line. What is pasted is one text. While an answer arrives, a message that is sent waits "
        "for its turn; Esc or Ctrl-C stops the answer, and what waited comes back into the input. "
        "Up, Down and Ctrl-R find what was typed in this folder before; Tab completes commands, "
        "notes, conversations, and files behind an @, whose text becomes part of the message; "
        "Ctrl-X Ctrl-E opens the editor; Ctrl-D leaves. */help* lists the commands.\n\n",
        out);
    fputs("# ENVIRONMENT\n\n", out);
    man_pairs(out, environment, COUNT(environment));
    fputs(
        "# FILES\n\n_~/.ethos/personalities/ID/MEMORY.md_\n\tthe rolling context of a "
        "personality\n\n"
        "_~/.ethos/users/ID/USER.md_\n\twho you are\n\n"
        "_~/.ethos/workspaces/ID/memory/MEMORY.md_\n\tthe index of the notes of a project folder, "
        "which are beside it; *ethos workspaces where* tells which ID this folder has\n\n"
        "_~/.ethos/users/identity-map.json_\n\twhich platform identities are which user\n\n"
        "_~/.ethos/sessions.db_\n\twhat was said, an SQLite database\n\n"
        "_~/.ethos/config.yaml_\n\tthe settings; *ethos config list* explains them\n\n"
        "# EXIT STATUS\n\n",
        out);
    man_pairs(out, exits, COUNT(exits));
    fputs("Errors are one line on standard error that names the thing and what to do next.\n", out);
}

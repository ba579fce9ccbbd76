// index.d.ts: what a client can call. Made by `ethos-serve --generate-types` from the
// table of operations: change nothing here. types.d.ts has what is written by hand.

import type { Args, Client, ClientOptions, Result } from './types.js';

export * from './types.js';

export interface MemoryCalls {
    /** Print the memory block for a prompt. Needs memory:read. */
    prefetch(...args: Args<'memory.prefetch', {
        /** what the person just asked */
        query?: string;
        /** at most this many characters (1000 to 200000) */
        maxChars?: number;
        /** and at most this many bytes */
        maxBytes?: number;
        /** what is cut when it does not fit: balanced or tail */
        truncate?: 'balanced' | 'tail';
    }>): Promise<Result<'memory.prefetch'>>;
    /** Apply updates that an agent sends as JSON. Needs memory:write. */
    sync(...args: Args<'memory.sync', {
        /** JSON in a file; - or nothing reads a pipe */
        updates: string;
        /** do it once: a repeat gives the first report */
        opId?: string;
        /** the conversation it is done in, for the history */
        session?: string;
    }>): Promise<Result<'memory.sync'>>;
    /** Show the files as the agent sees them. Needs memory:read. */
    list(...args: Args<'memory.list', {}>): Promise<Result<'memory.list'>>;
    /** Print one file, byte for byte. Needs memory:read. */
    get(...args: Args<'memory.get', {
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
        /** as it was: a number or a revision of the history */
        at?: string;
    }>): Promise<Result<'memory.get'>>;
    /** Overwrite one file with standard input. Needs memory:write. */
    write(...args: Args<'memory.write', {
        /** the new text */
        content: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
    }>): Promise<Result<'memory.write'>>;
    /** Save one file byte for byte, as an editor does. Needs memory:write. */
    save(...args: Args<'memory.save', {
        /** the new text */
        content: string;
        /** the text it was made from; what came since is merged */
        base?: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
    }>): Promise<Result<'memory.save'>>;
    /** Find the best answers in the files and notes. Needs memory:read. */
    search(...args: Args<'memory.search', {
        /** words or a question; "in quotes" what must occur as it is */
        query: string;
        /** at most this many hits (default 20) */
        limit?: number;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
        /** also in what was too long for its file and was archived */
        archive?: boolean;
    }>): Promise<Result<'memory.search'>>;
    /** List the versions of a file, newest first. Needs memory:read. */
    history(...args: Args<'memory.history', {
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
        /** at most this many (default: all; other surfaces: 50) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
        /** only from: tool, web-editor, restore, cli, ... */
        source?: string;
        /** only by: owner, external, the name of an agent */
        actor?: string;
        /** only changes of this session */
        session?: string;
        /** not before: 12h, 7d, 2026-11-15, 2026-11-15T08:30 */
        since?: string;
        /** not after; a time as above */
        until?: string;
        /** with what each changed */
        diff?: boolean;
    }>): Promise<Result<'memory.history'>>;
    /** Show what the last change did, or how versions differ. Needs memory:read. */
    diff(...args: Args<'memory.diff', {
        /** a version: a number or a revision of the history */
        from?: string;
        /** another one; without it, the file as it is */
        to?: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
    }>): Promise<Result<'memory.diff'>>;
    /** Read a text that the history of a scope keeps. Needs memory:read. */
    historyBlob(...args: Args<'memory.historyBlob', {
        /** the SHA-256 of a text, in hexadecimal digits */
        blob: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
    }>): Promise<Result<'memory.historyBlob'>>;
    /** Write a version back, byte for byte. Needs memory:write. */
    restore(...args: Args<'memory.restore', {
        /** a version: a number or a revision of the history */
        revision?: string;
        /** a section of the archive instead, by its name */
        slug?: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
    }>): Promise<Result<'memory.restore'>>;
    /** Undo the last change, or all of an actor, session or time. Needs memory:write. */
    undo(...args: Args<'memory.undo', {
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
        /** in every file of the scope, deleted ones too */
        all?: boolean;
        /** this change, by its number; an undo is undone in this way */
        change?: number;
        /** only by: owner, external, the name of an agent */
        actor?: string;
        /** only from: tool, web-editor, restore, cli, ... */
        source?: string;
        /** only changes of this session */
        session?: string;
        /** not before: 12h, 7d, 2026-11-15, 2026-11-15T08:30 */
        since?: string;
        /** not after; a time as above */
        until?: string;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
    }>): Promise<Result<'memory.undo'>>;
    /** Tell who wrote each line, when and how. Needs memory:read. */
    blame(...args: Args<'memory.blame', {
        /** only this line, with all that is known of it */
        line?: number;
        /** at most this many lines (default: all; with --json 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
    }>): Promise<Result<'memory.blame'>>;
    /** Purge a text from files, archive and history, for good. Needs the owner. */
    forget(...args: Args<'memory.forget', {
        /** lines with this text go; whole words; - reads it from a pipe */
        text: string;
        /** in every scope, conversation and other file of the home */
        everywhere?: boolean;
        /** also within words: tea in team */
        substring?: boolean;
        /** in any letter case */
        ignoreCase?: boolean;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
    }>): Promise<Result<'memory.forget'>>;
    /** List what changed in any memory, newest first. Needs memory:read. */
    timeline(...args: Args<'memory.timeline', {
        /** only the memory of this personality */
        personality?: string;
        /** only the profile of this user; with the above: both */
        user?: string;
        /** in a scope: personality, global, workspace, user:ID */
        scope?: string;
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** only from: tool, web-editor, restore, cli, ... */
        source?: string;
        /** only through: cli, mcp, http, editor, ... */
        via?: string;
        /** only by: owner, external, the name of an agent */
        actor?: string;
        /** only changes of this session */
        session?: string;
        /** not before: 12h, 7d, 2026-11-15, 2026-11-15T08:30 */
        since?: string;
        /** not after; a time as above */
        until?: string;
        /** with what each changed */
        diff?: boolean;
        /** at most this many (default: 50) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'memory.timeline'>>;
    /** Tell how memory grows, and who writes to it. Needs memory:read. */
    insights(...args: Args<'memory.insights', {
        /** how far back (default: 30) */
        days?: number;
    }>): Promise<Result<'memory.insights'>>;
    /** List the writes that wait for a person. Needs memory:read. */
    pendingList(...args: Args<'memory.pendingList', {}>): Promise<Result<'memory.pendingList'>>;
    /** Let a waiting write happen. Needs memory:write. */
    pendingApprove(...args: Args<'memory.pendingApprove', {
        /** of what waits */
        id: string;
    }>): Promise<Result<'memory.pendingApprove'>>;
    /** Turn a waiting write down. Needs memory:write. */
    pendingReject(...args: Args<'memory.pendingReject', {
        /** of what waits */
        id: string;
    }>): Promise<Result<'memory.pendingReject'>>;
    /** Merge two versions of a text, and print the result. Needs memory:read. */
    merge(...args: Args<'memory.merge', {
        /** file with the text that both were made of */
        base: string;
        /** file with yours, which stands where both changed the same */
        yours: string;
        /** file with the other; - or nothing reads a pipe */
        theirs: string;
    }>): Promise<Result<'memory.merge'>>;
    /** Run a command of Anthropic's memory tool. Needs memory:write. */
    tool(...args: Args<'memory.tool', {
        /** the command as JSON in a file; - or nothing reads a pipe */
        input: string;
        /** whose files: personality, user, workspace, global */
        scope?: string;
    }>): Promise<Result<'memory.tool'>>;
}

export interface SearchCalls {
    /** Search memory, notes and conversations. Needs the owner. */
    all(...args: Args<'search.all', {
        /** words or a question; "in quotes" what must occur as it is */
        query: string;
        /** only this workspace (default: all of them) */
        here?: boolean;
        /** at most this many hits (default 20) */
        limit?: number;
    }>): Promise<Result<'search.all'>>;
}

export interface NotesCalls {
    /** Keep a fact as a note of the workspace. Needs memory:write. */
    remember(...args: Args<'notes.remember', {
        /** the fact; - reads it from a pipe */
        content: string;
        /** what the note is called (default: from the text) */
        title?: string;
        /** user, feedback, project (default) or reference */
        type?: 'user' | 'feedback' | 'project' | 'reference';
        /** when the note matters, for the index */
        hook?: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** project (default) or everywhere: the same as --scope global */
        about?: 'project' | 'everywhere';
        /** what a note of this title gets: append (default) or replace */
        mode?: 'append' | 'replace';
        /** the same as --mode replace */
        replace?: boolean;
        /** a second note, though there is one of this title */
        new?: boolean;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
        /** do it once: a repeat gives the first report */
        opId?: string;
    }>): Promise<Result<'notes.remember'>>;
    /** List the notes, and how the index fits into the prompt. Needs memory:read. */
    list(...args: Args<'notes.list', {
        /** only these: user, feedback, project or reference */
        type?: 'user' | 'feedback' | 'project' | 'reference';
        /** only notes that should be looked at */
        stale?: boolean;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** at most this many (default: all; other surfaces: 200) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'notes.list'>>;
    /** Show one note. Needs memory:read. */
    show(...args: Args<'notes.show', {
        /** a note, by file name or title */
        name: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
    }>): Promise<Result<'notes.show'>>;
    /** Read one note, at a cost that does not grow with the others. Needs memory:read. */
    get(...args: Args<'notes.get', {
        /** a note, by file name or title */
        name: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
    }>): Promise<Result<'notes.get'>>;
    /** Correct a note: its text, hook or title, with its line. Needs memory:write. */
    write(...args: Args<'notes.write', {
        /** a note, by file name or title */
        name: string;
        /** the new text of the note; - reads it from a pipe */
        content?: string;
        /** its new hook (default: from a new text) */
        hook?: string;
        /** its new title */
        title?: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
    }>): Promise<Result<'notes.write'>>;
    /** Remove a note and its line in the index. Needs memory:write. */
    remove(...args: Args<'notes.remove', {
        /** a note, by file name or title */
        name: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
    }>): Promise<Result<'notes.remove'>>;
    /** Rename a note, or move it to another scope, with its line. Needs memory:write. */
    move(...args: Args<'notes.move', {
        /** a note, by file name or title */
        name: string;
        /** a file name or a title */
        newName?: string;
        /** with NEW, whose note; without, where it goes: workspace, personality, global */
        scope?: string;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
    }>): Promise<Result<'notes.move'>>;
    /** Look up what the notes claim: files, names in files, dates, links. Needs memory:write. */
    check(...args: Args<'notes.check', {
        /** one note (default: all) */
        name?: string;
        /** mend the index where it disagrees with the files */
        fix?: boolean;
        /** you looked: the note is verified today */
        confirm?: boolean;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** at most this many findings (default: all; other surfaces: 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'notes.check'>>;
    /** Bring the index and the files into agreement. Needs memory:write. */
    reindex(...args: Args<'notes.reindex', {
        /** whose notes: workspace (default), personality, global */
        scope?: string;
    }>): Promise<Result<'notes.reindex'>>;
    /** List the notes and the links between them, for a drawing. Needs memory:read. */
    graph(...args: Args<'notes.graph', {
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** at most this many notes (default: all; other surfaces: 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'notes.graph'>>;
    /** List the versions of a note, newest first. Needs memory:read. */
    history(...args: Args<'notes.history', {
        /** a note, by file name or title; also one that was removed */
        name: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** at most this many (default: all; other surfaces: 50) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
        /** only from: tool, web-editor, restore, cli, ... */
        source?: string;
        /** only by: owner, external, the name of an agent */
        actor?: string;
        /** only changes of this session */
        session?: string;
        /** not before: 12h, 7d, 2026-11-15, 2026-11-15T08:30 */
        since?: string;
        /** not after; a time as above */
        until?: string;
        /** with what each changed */
        diff?: boolean;
    }>): Promise<Result<'notes.history'>>;
    /** Undo the last operation on a note, with its line in the index. Needs memory:write. */
    undo(...args: Args<'notes.undo', {
        /** a note, by file name or title; also one that was removed */
        name?: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** this change, by its number; an undo is undone in this way */
        change?: number;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
    }>): Promise<Result<'notes.undo'>>;
    /** Show who wrote each line of a note, when and how. Needs memory:read. */
    blame(...args: Args<'notes.blame', {
        /** a note, by file name or title; also one that was removed */
        name: string;
        /** only this line, with all that is known of it */
        line?: number;
        /** at most this many lines (default: all; with --json 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
    }>): Promise<Result<'notes.blame'>>;
}

export interface ConflictsCalls {
    /** List what could not be merged and what befell entries. Needs memory:read. */
    list(...args: Args<'conflicts.list', {
        /** events older than 30 days too */
        all?: boolean;
        /** at most this many (default: all; other surfaces: 200) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'conflicts.list'>>;
    /** Show a kept copy and how it differs from its file. Needs memory:read. */
    show(...args: Args<'conflicts.show', {
        /** as ethos conflicts list shows it */
        id: string;
    }>): Promise<Result<'conflicts.show'>>;
    /** End a conflict: keep the file, take the copy, or both. Needs memory:write. */
    resolve(...args: Args<'conflicts.resolve', {
        /** as ethos conflicts list shows it */
        id: string;
        /** the file stays; the copy's text goes to its history */
        keep?: boolean;
        /** the copy becomes the file */
        take?: boolean;
        /** the file gets the lines of the copy that it lacks */
        both?: boolean;
        /** only if this is still its revision (absent: no file) */
        ifMatch?: string;
    }>): Promise<Result<'conflicts.resolve'>>;
}

export interface SessionsCalls {
    /** List the conversations of this project, or of all. Needs sessions:read. */
    list(...args: Args<'sessions.list', {
        /** only those in which all these words occur, best first */
        query?: string;
        /** how many at most (default: 50) */
        limit?: number;
        /** go on where a page ended */
        cursor?: string;
        /** only those of a personality */
        personalityId?: string;
        /** of all projects, not only of this one */
        all?: boolean;
        /** of all people, not only your own */
        allUsers?: boolean;
        /** last used at or after: 7d, 2026-11-15 */
        since?: string;
        /** last used at or before */
        until?: string;
    }>): Promise<Result<'sessions.list'>>;
    /** Show what was said in a session. Needs sessions:read. */
    get(...args: Args<'sessions.get', {
        /** a session: its id, the start of it, or its key */
        id: string;
        /** only the newest messages */
        last?: number;
        /** begin with this message: its id */
        from?: string;
        /** how many at most, without --from the newest (default: all; other surfaces: 1000) */
        limit?: number;
        /** how many characters of each message */
        maxChars?: number;
    }>): Promise<Result<'sessions.get'>>;
    /** Find what was said, in all sessions. Needs sessions:read. */
    search(...args: Args<'sessions.search', {
        /** words in any order; "a phrase" in quotes */
        query: string;
        /** how many at most (default: 20) */
        limit?: number;
        /** said at or after: 7d, 2026-11-15 */
        since?: string;
        /** said at or before */
        until?: string;
        /** only by user, assistant, tool_result, ... */
        role?: 'user' | 'assistant' | 'tool_result' | 'system' | 'user_steer';
        /** only in one session */
        session?: string;
        /** only in sessions of this project */
        here?: boolean;
        /** the newest first, not the best */
        newest?: boolean;
        /** of all people, not only your own */
        allUsers?: boolean;
    }>): Promise<Result<'sessions.search'>>;
    /** Print the id of the session of this folder. Needs sessions:write. */
    current(...args: Args<'sessions.current', {
        /** begin a new one; the others stay */
        new?: boolean;
    }>): Promise<Result<'sessions.current'>>;
    /** Begin another session in this folder. Needs sessions:write. */
    new(...args: Args<'sessions.new', {}>): Promise<Result<'sessions.new'>>;
    /** Add a message to the session of this folder. Needs sessions:write. */
    append(...args: Args<'sessions.append', {
        /** what was said; - reads it from a pipe */
        content: string;
        /** by whom (default: user) */
        role?: 'user' | 'assistant' | 'tool_result' | 'system' | 'user_steer';
        /** in which session (default: the one of this folder) */
        session?: string;
        /** of a user: the turn before ended without a reply */
        aborted?: boolean;
        /** of a tool result: the call that it answers */
        toolCallId?: string;
        /** of a tool result: the tool */
        toolName?: string;
        /** of an assistant: [{"id", "name", "input"}] */
        toolCalls?: string;
    }>): Promise<Result<'sessions.append'>>;
    /** Take back the last turns of a session. Needs sessions:write. */
    undo(...args: Args<'sessions.undo', {
        /** a session: its id, the start of it, or its key */
        id: string;
        /** how many turns (default: 1) */
        turns?: number;
    }>): Promise<Result<'sessions.undo'>>;
    /** Copy a session, to go on from there in another way. Needs sessions:write. */
    fork(...args: Args<'sessions.fork', {
        /** a session: its id, the start of it, or its key */
        id: string;
        /** the personality that the copy goes on with */
        personalityId?: string;
    }>): Promise<Result<'sessions.fork'>>;
    /** Give a session a title. Needs sessions:write. */
    update(...args: Args<'sessions.update', {
        /** a session: its id, the start of it, or its key */
        id: string;
        /** at most 200 characters; '' takes it away */
        title: string | null;
    }>): Promise<Result<'sessions.update'>>;
    /** Keep a session on top of the list, and from pruning. Needs sessions:write. */
    pin(...args: Args<'sessions.pin', {
        /** a session: its id, the start of it, or its key */
        id: string;
    }>): Promise<Result<'sessions.pin'>>;
    /** Undo a pin. Needs sessions:write. */
    unpin(...args: Args<'sessions.unpin', {
        /** a session: its id, the start of it, or its key */
        id: string;
    }>): Promise<Result<'sessions.unpin'>>;
    /** Delete a session with all that was said in it. Needs sessions:write. */
    delete(...args: Args<'sessions.delete', {
        /** a session: its id, the start of it, or its key */
        id: string;
    }>): Promise<Result<'sessions.delete'>>;
    /** Delete the sessions that were not used for long. Needs the owner. */
    prune(...args: Args<'sessions.prune', {
        /** last used before: 90d, 2026-01-31 */
        olderThan: string;
        /** of all people, not only your own */
        allUsers?: boolean;
    }>): Promise<Result<'sessions.prune'>>;
    /** Give a conversation out as text. Needs sessions:read. */
    export(...args: Args<'sessions.export', {
        /** which session: an id, its start or a key */
        id: string;
        /** md (default), or json, which sessions import takes back */
        format?: 'md' | 'json';
    }>): Promise<Result<'sessions.export'>>;
}

export interface ChatCalls {
    /** Say something to the model. Needs chat:send. */
    send(...args: Args<'chat.send', {
        /** what to say */
        text: string;
        /** in which session (default: a new one) */
        sessionId?: string;
        /** who waits for the answer */
        clientId?: string;
    }>): Promise<Result<'chat.send'>>;
    /** End the turn that runs in a session. Needs chat:send. */
    abort(...args: Args<'chat.abort', {
        /** the session whose turn is to end */
        sessionId: string;
    }>): Promise<Result<'chat.abort'>>;
}

export interface WorkspacesCalls {
    /** List the folders that have a memory. Needs memory:read. */
    list(...args: Args<'workspaces.list', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'workspaces.list'>>;
    /** Show which memory this folder has, and how it is found. Needs memory:read. */
    where(...args: Args<'workspaces.where', {}>): Promise<Result<'workspaces.where'>>;
}

export interface UsersCalls {
    /** List the people this memory knows. Needs memory:read. */
    list(...args: Args<'users.list', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'users.list'>>;
    /** Show one person: identities and profile. Needs memory:read. */
    show(...args: Args<'users.show', {
        /** a user id; yours when left out */
        id?: string;
        /** at most this many identities (default: all; other surfaces: 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'users.show'>>;
    /** Print the user id of an identity, noting a new one. Needs the owner. */
    resolve(...args: Args<'users.resolve', {
        /** cli, telegram, slack, ... */
        platform: string;
        /** the person's id there */
        platformUserId: string;
    }>): Promise<Result<'users.resolve'>>;
    /** Make an identity another name of a user. Needs the owner. */
    link(...args: Args<'users.link', {
        /** cli, telegram, slack, ... */
        platform: string;
        /** the person's id there */
        platformUserId: string;
        /** the user both are */
        userId: string;
        /** add the lines of the identity's own profile that the user's lacks */
        merge?: boolean;
    }>): Promise<Result<'users.link'>>;
    /** Give an identity a user id of its own again. Needs the owner. */
    unlink(...args: Args<'users.unlink', {
        /** cli, telegram, slack, ... */
        platform: string;
        /** the person's id there */
        platformUserId: string;
    }>): Promise<Result<'users.unlink'>>;
}

export interface PersonalitiesCalls {
    /** List the personalities. Needs personalities:read. */
    list(...args: Args<'personalities.list', {
        /** at most this many (default: all; other surfaces: 200) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'personalities.list'>>;
    /** Show one personality. Needs personalities:read. */
    get(...args: Args<'personalities.get', {
        /** a personality; the active one when left out */
        id?: string;
    }>): Promise<Result<'personalities.get'>>;
    /** Describe a personality on one page. Needs personalities:read. */
    characterSheet(...args: Args<'personalities.characterSheet', {
        /** a personality; the active one when left out */
        id?: string;
    }>): Promise<Result<'personalities.characterSheet'>>;
    /** Make a personality. Needs the owner. */
    create(...args: Args<'personalities.create', {
        /** letters, digits, - and _ */
        id: string;
        /** how it is called */
        name?: string;
        /** what it is for */
        description?: string | null;
        /** its own MEMORY.md, or the shared one */
        memoryScope?: 'per-personality' | 'global';
        /** who it is: the text of its SOUL.md */
        soulMd?: string;
        /** what it has besides, for other programs: {"toolset": ["read"], "model": "x"} */
        fields?: string;
    }>): Promise<Result<'personalities.create'>>;
    /** Change a personality. Needs the owner. */
    update(...args: Args<'personalities.update', {
        /** a personality */
        id: string;
        /** how it is called */
        name?: string;
        /** what it is for */
        description?: string | null;
        /** its own MEMORY.md, or the shared one */
        memoryScope?: 'per-personality' | 'global';
        /** who it is: the text of its SOUL.md */
        soulMd?: string;
        /** what it has besides, for other programs: {"toolset": ["read"], "model": "x"} */
        fields?: string;
    }>): Promise<Result<'personalities.update'>>;
    /** Make a personality like another, without its memory. Needs the owner. */
    duplicate(...args: Args<'personalities.duplicate', {
        /** a personality */
        id: string;
        /** letters, digits, - and _ */
        newId: string;
    }>): Promise<Result<'personalities.duplicate'>>;
    /** Delete a personality; its files are put aside. Needs the owner. */
    delete(...args: Args<'personalities.delete', {
        /** a personality */
        id: string;
    }>): Promise<Result<'personalities.delete'>>;
}

export interface MetaCalls {
    /** Check the home, its files and settings. Needs the owner. */
    health(...args: Args<'meta.health', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'meta.health'>>;
    /** Tell where the memory is, whose it is, and which agents there are. Needs the owner. */
    home(...args: Args<'meta.home', {}>): Promise<Result<'meta.home'>>;
    /** Tell what this server can do. Needs anybody. */
    capabilities(...args: Args<'meta.capabilities', {}>): Promise<Result<'meta.capabilities'>>;
}

export interface ApiKeysCalls {
    /** Make a key for a program; it is shown once. Needs the owner. */
    create(...args: Args<'apiKeys.create', {
        /** what it is for */
        name: string;
        /** a right that it has, such as memory:read */
        scope: Array<'memory:read' | 'memory:write' | 'sessions:read' | 'sessions:write' | 'personalities:read' | 'chat:send' | 'store' | 'personalities:write' | 'tools:approve' | 'events:subscribe' | 'metrics:read'>;
        /** only for web pages of this origin (default: any caller) */
        origin?: Array<string>;
        /** only this personality:ID, user:ID or workspace:ID; a kind that is not named is not limited */
        only?: Array<string>;
        /** it is an agent's: never approves what waits for a person */
        agent?: boolean;
    }>): Promise<Result<'apiKeys.create'>>;
    /** List the keys of programs. Needs the owner. */
    list(...args: Args<'apiKeys.list', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'apiKeys.list'>>;
    /** Revoke a key, for good. Needs the owner. */
    revoke(...args: Args<'apiKeys.revoke', {
        /** its name, or how it begins, as the list shows */
        prefix: string;
    }>): Promise<Result<'apiKeys.revoke'>>;
}

export interface BrowsersCalls {
    /** List the browsers that are signed in. Needs the owner. */
    list(...args: Args<'browsers.list', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'browsers.list'>>;
    /** Sign a browser out. Needs the owner. */
    revoke(...args: Args<'browsers.revoke', {
        /** its name or its id, as the list shows */
        prefix: string;
    }>): Promise<Result<'browsers.revoke'>>;
}

export interface StoreCalls {
    /** Tell what the store of this home can do. Needs store. */
    info(...args: Args<'store.info', {}>): Promise<Result<'store.info'>>;
    /** Read texts byte for byte, by scope and key. Needs store. */
    gather(...args: Args<'store.gather', {
        /** which texts */
        at: Array<string>;
        /** only so much of the end of each (0: all) */
        tailBytes?: number;
    }>): Promise<Result<'store.gather'>>;
    /** Change texts of a scope, all or none, if they are what was read. Needs store. */
    swap(...args: Args<'store.swap', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** an array of {key, expect?, text? or drop?, actions?, receipt?} */
        edits: unknown;
        /** who writes, and the operation id, as in history */
        origin?: unknown;
    }>): Promise<Result<'store.swap'>>;
    /** List the texts of a scope. Needs store. */
    list(...args: Args<'store.list', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** at most this many (default: 10000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'store.list'>>;
    /** List the scopes that were ever written. Needs store. */
    scopes(...args: Args<'store.scopes', {
        /** at most this many (default: 10000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'store.scopes'>>;
    /** List recorded changes, newest first. Needs store. */
    history(...args: Args<'store.history', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** only of this key */
        key?: string;
        /** go on after the change of this number */
        after?: number;
        /** and after so many more */
        skip?: number;
    }>): Promise<Result<'store.history'>>;
    /** Read the text that a key had. Needs store. */
    version(...args: Args<'store.version', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** a key of the scope */
        key: string;
        /** a revision that the history names */
        revision: string;
    }>): Promise<Result<'store.version'>>;
    /** Keep a text beside a key. Needs store. */
    setAside(...args: Args<'store.setAside', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** a key of the scope */
        key: string;
        /** a string, or {base64} for other bytes */
        text: unknown;
    }>): Promise<Result<'store.setAside'>>;
    /** List the texts that are kept beside keys. Needs store. */
    conflicts(...args: Args<'store.conflicts', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** at most this many (default: 10000) */
        limit?: number;
        /** where the page before ended: its nextCursor */
        cursor?: string;
    }>): Promise<Result<'store.conflicts'>>;
    /** Read a text that is kept beside a key. Needs store. */
    conflictRead(...args: Args<'store.conflictRead', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** the kept copy, as store.conflicts names it */
        id: string;
    }>): Promise<Result<'store.conflictRead'>>;
    /** Take away a text that is kept beside a key. Needs store. */
    conflictDrop(...args: Args<'store.conflictDrop', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** the kept copy, as store.conflicts names it */
        id: string;
    }>): Promise<Result<'store.conflictDrop'>>;
    /** Make a text a version of a key, which keeps its own. Needs store. */
    keep(...args: Args<'store.keep', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** a key of the scope */
        key: string;
        /** a string, or {base64} for other bytes */
        text: unknown;
    }>): Promise<Result<'store.keep'>>;
    /** Append changes as another store had them, with their texts. Needs store. */
    graft(...args: Args<'store.graft', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** {version, rows, edits, copies, texts} */
        commit: unknown;
    }>): Promise<Result<'store.graft'>>;
}

export interface MarkdownCalls {
    /** Give a text as nodes that a page can be built of. Needs memory:read. */
    render(...args: Args<'markdown.render', {
        /** markdown; nothing is read or kept */
        content: string;
    }>): Promise<Result<'markdown.render'>>;
}

export interface Ethos extends Client {
    readonly memory: MemoryCalls;
    readonly search: SearchCalls;
    readonly notes: NotesCalls;
    readonly conflicts: ConflictsCalls;
    readonly sessions: SessionsCalls;
    readonly chat: ChatCalls;
    readonly workspaces: WorkspacesCalls;
    readonly users: UsersCalls;
    readonly personalities: PersonalitiesCalls;
    readonly meta: MetaCalls;
    readonly apiKeys: ApiKeysCalls;
    readonly browsers: BrowsersCalls;
    readonly store: StoreCalls;
    readonly markdown: MarkdownCalls;
}

export function createClient(options?: ClientOptions): Ethos;

// index.d.ts: what a client can call. Made by `ethos-serve --generate-types` from the
// table of operations: change nothing here. types.d.ts has what is written by hand.

import type { Args, Callable, Client, ClientOptions, Result } from './types.js';

export * from './types.js';

export interface ChannelCalls extends Callable<'channel'> {
    /** Allow the person who received a code. Needs the owner. */
    allow(...args: Args<'channel.allow', {
        /** the pairing code that the person received */
        code?: string;
        /** guest (default): no memory; trusted: with the memory of the personality */
        role?: 'guest' | 'trusted';
        /** with --sender, instead of a code: the person to allow, or whose role to change */
        platform?: string;
        /** the sender's id, as ethos gateway people shows it */
        sender?: string;
    }>): Promise<Result<'channel.allow'>>;
    /** Stop answering a person. Needs the owner. */
    remove(...args: Args<'channel.remove', {
        /** telegram, email, slack or discord */
        platform: string;
        /** the sender's id, as ethos gateway people shows it */
        sender: string;
    }>): Promise<Result<'channel.remove'>>;
    /** List the people who may talk and those who are waiting. Needs the owner. */
    people(...args: Args<'channel.people', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'channel.people'>>;
    /** Show the channels and unsent messages. Needs the owner. */
    status(...args: Args<'channel.status', {}>): Promise<Result<'channel.status'>>;
    /** List recent messages, without their text. Needs the owner. */
    messages(...args: Args<'channel.messages', {
        /** at most this many (default: 20) */
        limit?: number;
    }>): Promise<Result<'channel.messages'>>;
    /** Resend a message that may not have arrived. Needs the owner. */
    resend(...args: Args<'channel.resend', {
        /** the message's id, as ethos gateway status shows it */
        id: number;
    }>): Promise<Result<'channel.resend'>>;
}

export interface MemoryCalls extends Callable<'memory'> {
    /** Print the memory block for a prompt. Needs memory:read. */
    prefetch(...args: Args<'memory.prefetch', {
        /** the question or prompt to find memory for */
        query?: string;
        /** at most this many characters (1000 to 200000) */
        maxChars?: number;
        /** at most this many bytes */
        maxBytes?: number;
        /** what is cut when it does not fit: balanced or tail */
        truncate?: 'balanced' | 'tail';
    }>): Promise<Result<'memory.prefetch'>>;
    /** Apply updates that an agent sends as JSON. Needs memory:write. */
    sync(...args: Args<'memory.sync', {
        /** a file with JSON; - or nothing reads standard input */
        updates: string;
        /** idempotency key: repeating a call returns the first result */
        opId?: string;
        /** the session recorded with the change */
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
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
        /** an older version: its number or revision in the history */
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
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
    }>): Promise<Result<'memory.write'>>;
    /** Save one file byte for byte, as an editor does. Needs memory:write. */
    save(...args: Args<'memory.save', {
        /** the new text */
        content: string;
        /** the text that was edited; later changes are merged */
        base?: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
    }>): Promise<Result<'memory.save'>>;
    readonly chunks: MemoryChunksCalls;
    /** Search the memory files and notes. Needs memory:read. */
    search(...args: Args<'memory.search', {
        /** a question or words; "quoted" text must occur as it is */
        query: string;
        /** at most this many hits (default 20) */
        limit?: number;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
        /** search the archive too */
        archive?: boolean;
    }>): Promise<Result<'memory.search'>>;
    /** Search memory with a question. Needs memory:read. */
    recall(...args: Args<'memory.recall', {
        /** a question or words */
        question: string;
        /** only this workspace (default: all of them) */
        here?: boolean;
        /** only what was written since: 7d, 2026-11-15 */
        since?: string;
        /** explain each score */
        why?: boolean;
        /** at most this many hits (default 10) */
        limit?: number;
    }>): Promise<Result<'memory.recall'>>;
    /** List the versions of a file, newest first. Needs memory:read. */
    history(...args: Args<'memory.history', {
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
        /** at most this many (default: all; other surfaces: 50) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
        /** only changes from: tool, web-editor, restore, cli, ... */
        source?: string;
        /** only changes by: owner, external or an agent's name */
        actor?: string;
        /** only changes of this session */
        session?: string;
        /** not before: 12h, 7d, 2026-11-15, 2026-11-15T08:30 */
        since?: string;
        /** not after; a time as above */
        until?: string;
        /** show what each change did */
        diff?: boolean;
    }>): Promise<Result<'memory.history'>>;
    /** Show the last change, or how versions differ. Needs memory:read. */
    diff(...args: Args<'memory.diff', {
        /** a version: a number or a revision of the history */
        from?: string;
        /** another version (default: the file now) */
        to?: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
    }>): Promise<Result<'memory.diff'>>;
    /** Read a text of the history by its hash. Needs memory:read. */
    historyBlob(...args: Args<'memory.historyBlob', {
        /** the SHA-256 of a text, in hexadecimal digits */
        blob: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
    }>): Promise<Result<'memory.historyBlob'>>;
    /** Restore a version, byte for byte. Needs memory:write. */
    restore(...args: Args<'memory.restore', {
        /** a version: a number or a revision of the history */
        revision?: string;
        /** restore this section of the archive instead */
        slug?: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
    }>): Promise<Result<'memory.restore'>>;
    /** Undo the last change, or those of an actor or session. Needs memory:write. */
    undo(...args: Args<'memory.undo', {
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
        /** in every file of the scope, deleted ones included */
        all?: boolean;
        /** the change with this number; undoes an undo, too */
        change?: number;
        /** only changes by: owner, external or an agent's name */
        actor?: string;
        /** only changes from: tool, web-editor, restore, cli, ... */
        source?: string;
        /** only changes of this session */
        session?: string;
        /** not before: 12h, 7d, 2026-11-15, 2026-11-15T08:30 */
        since?: string;
        /** not after; a time as above */
        until?: string;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
    }>): Promise<Result<'memory.undo'>>;
    /** Show who wrote each line, when and how. Needs memory:read. */
    blame(...args: Args<'memory.blame', {
        /** only this line, in detail */
        line?: number;
        /** at most this many lines (default: all; with --json 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
    }>): Promise<Result<'memory.blame'>>;
    /** Delete a text for good: files, archive and history. Needs the owner. */
    forget(...args: Args<'memory.forget', {
        /** delete the lines that contain this, as whole words; - reads standard input */
        text: string;
        /** in every scope, conversation and other file of the home */
        everywhere?: boolean;
        /** match inside words, too: tea in team */
        substring?: boolean;
        /** ignore case */
        ignoreCase?: boolean;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
    }>): Promise<Result<'memory.forget'>>;
    /** List the changes of all memory, newest first. Needs memory:read. */
    timeline(...args: Args<'memory.timeline', {
        /** only the memory of this personality */
        personality?: string;
        /** only the profile of this user; with the above: both */
        user?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** only changes from: tool, web-editor, restore, cli, ... */
        source?: string;
        /** only changes made through: cli, mcp, http, editor, ... */
        via?: string;
        /** only changes by: owner, external or an agent's name */
        actor?: string;
        /** only changes of this session */
        session?: string;
        /** not before: 12h, 7d, 2026-11-15, 2026-11-15T08:30 */
        since?: string;
        /** not after; a time as above */
        until?: string;
        /** show what each change did */
        diff?: boolean;
        /** at most this many (default: 50) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'memory.timeline'>>;
    /** Show how memory grows, and who writes to it. Needs memory:read. */
    insights(...args: Args<'memory.insights', {
        /** how far back (default: 30) */
        days?: number;
    }>): Promise<Result<'memory.insights'>>;
    /** List the pending changes of a personality. Needs memory:read. */
    pendingList(...args: Args<'memory.pendingList', {}>): Promise<Result<'memory.pendingList'>>;
    /** Approve a pending change. Needs memory:write. */
    pendingApprove(...args: Args<'memory.pendingApprove', {
        /** the id of a pending change, or its beginning */
        id: string;
        /** only if the change still has this hash */
        hash?: string;
    }>): Promise<Result<'memory.pendingApprove'>>;
    /** Edit the text of a pending change. Needs memory:write. */
    pendingEdit(...args: Args<'memory.pendingEdit', {
        /** the id of a pending change, or its beginning */
        id: string;
        /** the new update */
        update: unknown;
        /** only if the change still has this hash */
        hash?: string;
    }>): Promise<Result<'memory.pendingEdit'>>;
    /** Reject a pending change. Needs memory:write. */
    pendingReject(...args: Args<'memory.pendingReject', {
        /** the id of a pending change, or its beginning */
        id: string;
        /** only if the change still has this hash */
        hash?: string;
    }>): Promise<Result<'memory.pendingReject'>>;
    /** Reject a pending change whenever it is proposed again. Needs memory:write. */
    pendingNever(...args: Args<'memory.pendingNever', {
        /** the id of a pending change, or its beginning */
        id: string;
        /** only if the change still has this hash */
        hash?: string;
    }>): Promise<Result<'memory.pendingNever'>>;
    /** List lines that the guard hides from prompts. Needs memory:read. */
    hidden(...args: Args<'memory.hidden', {
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** which file, by name: a note such as plan.md */
        key?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'memory.hidden'>>;
    /** Show one line in prompts although the guard hides it. Needs memory:write. */
    showLine(...args: Args<'memory.showLine', {
        /** the line: MEMORY.md:9, USER.md:3 */
        line: string;
        /** only if the line has this hash, as memory hidden prints it (8 digits or more) */
        hash?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
    }>): Promise<Result<'memory.showLine'>>;
    /** Hide a line again that show-anyway shows. Needs memory:write. */
    hideLine(...args: Args<'memory.hideLine', {
        /** the line: MEMORY.md:9, USER.md:3 */
        line?: string;
        /** the hash of the line, if no file has it any more */
        hash?: string;
        /** the scope: personality, global, workspace or user:ID */
        scope?: string;
    }>): Promise<Result<'memory.hideLine'>>;
    /** Merge two versions of a text, and print the result. Needs memory:read. */
    merge(...args: Args<'memory.merge', {
        /** file with the common ancestor */
        base: string;
        /** file with your version, which wins where both changed the same lines */
        yours: string;
        /** file with the other version; - or nothing reads standard input */
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

export interface MemoryChunksCalls extends Callable<'memory.chunks'> {
    /** List the entries of a file. Needs memory:read. */
    list(...args: Args<'memory.chunks.list', {
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** include archived entries */
        archived?: boolean;
        /** at most this many (default: all; other surfaces: 50) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'memory.chunks.list'>>;
    /** Show one entry. Needs memory:read. */
    get(...args: Args<'memory.chunks.get', {
        /** the entry's id or block id, as the list shows it */
        id: string;
    }>): Promise<Result<'memory.chunks.get'>>;
    /** Find the entries that answer a question. Needs memory:read. */
    search(...args: Args<'memory.chunks.search', {
        /** a question or words */
        query: string;
        /** at most this many (default 5) */
        topK?: number;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** include archived entries (default) */
        archived?: boolean;
    }>): Promise<Result<'memory.chunks.search'>>;
    /** Add an entry. Needs memory:write. */
    add(...args: Args<'memory.chunks.add', {
        /** the text */
        content: string;
        /** which file: memory (default) or user */
        store?: 'memory' | 'user';
        /** below this heading (default: at the end) */
        under?: string;
        /** give it this block id: letters, digits and hyphens */
        id?: string;
    }>): Promise<Result<'memory.chunks.add'>>;
    /** Change the text of an entry. Needs memory:write. */
    update(...args: Args<'memory.chunks.update', {
        /** the entry's id or block id, as the list shows it */
        id: string;
        /** the new text */
        content: string;
        /** only if the entry still has this revision; needed with a block id */
        ifRevision?: string;
    }>): Promise<Result<'memory.chunks.update'>>;
    /** Delete an entry. Needs memory:write. */
    delete(...args: Args<'memory.chunks.delete', {
        /** the entry's id or block id, as the list shows it */
        id: string;
        /** only if the entry still has this revision; needed with a block id */
        ifRevision?: string;
    }>): Promise<Result<'memory.chunks.delete'>>;
}

export interface SearchCalls extends Callable<'search'> {
    /** Search memory, notes and conversations. Needs the owner. */
    all(...args: Args<'search.all', {
        /** a question or words; "quoted" text must occur as it is */
        query: string;
        /** only this workspace (default: all of them) */
        here?: boolean;
        /** at most this many hits (default 20) */
        limit?: number;
    }>): Promise<Result<'search.all'>>;
}

export interface RecallCalls extends Callable<'recall'> {
    /** Update the recall index. Needs the owner. */
    index(...args: Args<'recall.index', {}>): Promise<Result<'recall.index'>>;
}

export interface NotesCalls extends Callable<'notes'> {
    /** Save a fact as a note of the workspace. Needs memory:write. */
    remember(...args: Args<'notes.remember', {
        /** the fact; - reads standard input */
        content: string;
        /** the note's title (default: from the text) */
        title?: string;
        /** user, feedback, project (default) or reference */
        type?: 'user' | 'feedback' | 'project' | 'reference';
        /** when the note matters, for the index */
        hook?: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** project (default), or everywhere (the same as --scope global) */
        about?: 'project' | 'everywhere';
        /** if a note with this title exists: append (default) or replace */
        mode?: 'append' | 'replace';
        /** the same as --mode replace */
        replace?: boolean;
        /** create a new note even if one with this title exists */
        new?: boolean;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
        /** idempotency key: repeating a call returns the first result */
        opId?: string;
    }>): Promise<Result<'notes.remember'>>;
    /** List the notes, and how the index fits into the prompt. Needs memory:read. */
    list(...args: Args<'notes.list', {
        /** only this type: user, feedback, project or reference */
        type?: 'user' | 'feedback' | 'project' | 'reference';
        /** only notes that need review */
        stale?: boolean;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** at most this many (default: all; other surfaces: 200) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'notes.list'>>;
    /** Show one note. Needs memory:read. */
    show(...args: Args<'notes.show', {
        /** a note, by file name or title */
        name: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
    }>): Promise<Result<'notes.show'>>;
    /** Read one note without reading the others. Needs memory:read. */
    get(...args: Args<'notes.get', {
        /** a note, by file name or title */
        name: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
    }>): Promise<Result<'notes.get'>>;
    /** Change the text, hook or title of a note. Needs memory:write. */
    write(...args: Args<'notes.write', {
        /** a note, by file name or title */
        name: string;
        /** the new text of the note; - reads standard input */
        content?: string;
        /** its new hook (default: from a new text) */
        hook?: string;
        /** its new title */
        title?: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
    }>): Promise<Result<'notes.write'>>;
    /** Remove a note and its index line. Needs memory:write. */
    remove(...args: Args<'notes.remove', {
        /** a note, by file name or title */
        name: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
    }>): Promise<Result<'notes.remove'>>;
    /** Rename a note, or move it to another scope. Needs memory:write. */
    move(...args: Args<'notes.move', {
        /** a note, by file name or title */
        name: string;
        /** a file name or a title */
        newName?: string;
        /** with NEW, the note's scope; without, the target: workspace, personality, global */
        scope?: string;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
    }>): Promise<Result<'notes.move'>>;
    /** Check the files, symbols, dates and links that notes mention. Needs memory:write. */
    check(...args: Args<'notes.check', {
        /** one note (default: all) */
        name?: string;
        /** fix the index where it disagrees with the files */
        fix?: boolean;
        /** mark the note as verified today */
        confirm?: boolean;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** at most this many findings (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'notes.check'>>;
    /** Make the index agree with the files. Needs memory:write. */
    reindex(...args: Args<'notes.reindex', {
        /** whose notes: workspace (default), personality, global */
        scope?: string;
    }>): Promise<Result<'notes.reindex'>>;
    /** List the notes and the links between them. Needs memory:read. */
    graph(...args: Args<'notes.graph', {
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** at most this many notes (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'notes.graph'>>;
    /** List the versions of a note, newest first. Needs memory:read. */
    history(...args: Args<'notes.history', {
        /** a note, by file name or title, removed ones included */
        name: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** at most this many (default: all; other surfaces: 50) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
        /** only changes from: tool, web-editor, restore, cli, ... */
        source?: string;
        /** only changes by: owner, external or an agent's name */
        actor?: string;
        /** only changes of this session */
        session?: string;
        /** not before: 12h, 7d, 2026-11-15, 2026-11-15T08:30 */
        since?: string;
        /** not after; a time as above */
        until?: string;
        /** show what each change did */
        diff?: boolean;
    }>): Promise<Result<'notes.history'>>;
    /** Undo the last operation on a note, with its line in the index. Needs memory:write. */
    undo(...args: Args<'notes.undo', {
        /** a note, by file name or title, removed ones included */
        name?: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
        /** the change with this number; undoes an undo, too */
        change?: number;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
    }>): Promise<Result<'notes.undo'>>;
    /** Show who wrote each line of a note, when and how. Needs memory:read. */
    blame(...args: Args<'notes.blame', {
        /** a note, by file name or title, removed ones included */
        name: string;
        /** only this line, in detail */
        line?: number;
        /** at most this many lines (default: all; with --json 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
        /** whose notes: workspace (default), personality, global */
        scope?: string;
    }>): Promise<Result<'notes.blame'>>;
}

export interface PendingCalls extends Callable<'pending'> {
    /** List pending changes. Needs memory:read. */
    list(...args: Args<'pending.list', {}>): Promise<Result<'pending.list'>>;
    /** Show a pending change: what it would do and why it waits. Needs memory:read. */
    show(...args: Args<'pending.show', {
        /** the id of a pending change, or its beginning */
        id: string;
    }>): Promise<Result<'pending.show'>>;
    /** Approve a pending change. Needs memory:write. */
    approve(...args: Args<'pending.approve', {
        /** the id of a pending change, or its beginning */
        id: string;
        /** only if the change still has this hash */
        hash?: string;
        /** also add a rule to approval.yaml that allows this kind; pending show prints it */
        always?: boolean;
    }>): Promise<Result<'pending.approve'>>;
    /** Edit the text of a pending change. Needs memory:write. */
    edit(...args: Args<'pending.edit', {
        /** the id of a pending change, or its beginning */
        id: string;
        /** the new text; - reads standard input */
        content: string;
        /** only if the change still has this hash */
        hash?: string;
    }>): Promise<Result<'pending.edit'>>;
    /** Reject a pending change. Needs memory:write. */
    reject(...args: Args<'pending.reject', {
        /** the id of a pending change, or its beginning */
        id: string;
        /** only if the change still has this hash */
        hash?: string;
    }>): Promise<Result<'pending.reject'>>;
    /** Reject a pending change whenever it is proposed again. Needs memory:write. */
    never(...args: Args<'pending.never', {
        /** the id of a pending change, or its beginning */
        id: string;
        /** only if the change still has this hash */
        hash?: string;
    }>): Promise<Result<'pending.never'>>;
}

export interface ConflictsCalls extends Callable<'conflicts'> {
    /** List edits that could not be merged. Needs memory:read. */
    list(...args: Args<'conflicts.list', {
        /** include events older than 30 days */
        all?: boolean;
        /** at most this many (default: all; other surfaces: 200) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'conflicts.list'>>;
    /** Show a conflict copy and how it differs from its file. Needs memory:read. */
    show(...args: Args<'conflicts.show', {
        /** the conflict's id, as ethos conflicts list shows it */
        id: string;
    }>): Promise<Result<'conflicts.show'>>;
    /** Resolve a conflict: keep the file, use the copy, or both. Needs memory:write. */
    resolve(...args: Args<'conflicts.resolve', {
        /** the conflict's id, as ethos conflicts list shows it */
        id: string;
        /** keep the file; the copy is saved in its history */
        keep?: boolean;
        /** replace the file with the copy */
        take?: boolean;
        /** add the lines of the copy that the file lacks */
        both?: boolean;
        /** only if it still has this revision (absent: no such file) */
        ifMatch?: string;
    }>): Promise<Result<'conflicts.resolve'>>;
}

export interface SessionsCalls extends Callable<'sessions'> {
    /** List the conversations of this project, or of all. Needs sessions:read. */
    list(...args: Args<'sessions.list', {
        /** only sessions in which all these words occur, best first */
        query?: string;
        /** at most this many (default: 50) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
        /** only sessions of this personality */
        personalityId?: string;
        /** include all projects */
        all?: boolean;
        /** include the sessions of all people */
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
        /** start at the message with this id */
        from?: string;
        /** at most this many, without --from the newest (default: all; other surfaces: 1000) */
        limit?: number;
        /** at most this many characters of each message */
        maxChars?: number;
    }>): Promise<Result<'sessions.get'>>;
    /** Search the messages of all sessions. Needs sessions:read. */
    search(...args: Args<'sessions.search', {
        /** words in any order; "a phrase" in quotes */
        query: string;
        /** at most this many (default: 20) */
        limit?: number;
        /** said at or after: 7d, 2026-11-15 */
        since?: string;
        /** said at or before */
        until?: string;
        /** only messages of this role: user, assistant, tool_result, ... */
        role?: 'user' | 'assistant' | 'tool_result' | 'system' | 'user_steer';
        /** only in this session */
        session?: string;
        /** only in sessions of this project */
        here?: boolean;
        /** newest first instead of best first */
        newest?: boolean;
        /** include the sessions of all people */
        allUsers?: boolean;
    }>): Promise<Result<'sessions.search'>>;
    /** Print the id of the session of this folder. Needs sessions:write. */
    current(...args: Args<'sessions.current', {
        /** start a new session; the others stay */
        new?: boolean;
    }>): Promise<Result<'sessions.current'>>;
    /** Start a new session in this folder. Needs sessions:write. */
    new(...args: Args<'sessions.new', {}>): Promise<Result<'sessions.new'>>;
    /** Add a message to the session of this folder. Needs sessions:write. */
    append(...args: Args<'sessions.append', {
        /** the message; - reads standard input */
        content: string;
        /** its role (default: user) */
        role?: 'user' | 'assistant' | 'tool_result' | 'system' | 'user_steer';
        /** the session (default: that of this folder) */
        session?: string;
        /** for a user message: the previous turn ended without a reply */
        aborted?: boolean;
        /** for a tool result: the id of the call that it answers */
        toolCallId?: string;
        /** for a tool result: the name of the tool */
        toolName?: string;
        /** for an assistant message: [{"id", "name", "input"}] */
        toolCalls?: string;
    }>): Promise<Result<'sessions.append'>>;
    /** Undo the last turns of a session. Needs sessions:write. */
    undo(...args: Args<'sessions.undo', {
        /** a session: its id, the start of it, or its key */
        id: string;
        /** how many turns (default: 1) */
        turns?: number;
    }>): Promise<Result<'sessions.undo'>>;
    /** Copy a session, to continue it in another direction. Needs sessions:write. */
    fork(...args: Args<'sessions.fork', {
        /** a session: its id, the start of it, or its key */
        id: string;
        /** the personality of the copy */
        personalityId?: string;
    }>): Promise<Result<'sessions.fork'>>;
    /** Set the title of a session. Needs sessions:write. */
    update(...args: Args<'sessions.update', {
        /** a session: its id, the start of it, or its key */
        id: string;
        /** at most 200 characters; '' removes it */
        title: string | null;
    }>): Promise<Result<'sessions.update'>>;
    /** Pin a session: listed first, never pruned. Needs sessions:write. */
    pin(...args: Args<'sessions.pin', {
        /** a session: its id, the start of it, or its key */
        id: string;
    }>): Promise<Result<'sessions.pin'>>;
    /** Unpin a session. Needs sessions:write. */
    unpin(...args: Args<'sessions.unpin', {
        /** a session: its id, the start of it, or its key */
        id: string;
    }>): Promise<Result<'sessions.unpin'>>;
    /** Delete a session and its messages. Needs sessions:write. */
    delete(...args: Args<'sessions.delete', {
        /** a session: its id, the start of it, or its key */
        id: string;
    }>): Promise<Result<'sessions.delete'>>;
    /** Delete sessions that have not been used for a long time. Needs the owner. */
    prune(...args: Args<'sessions.prune', {
        /** last used before: 90d, 2026-01-31 */
        olderThan: string;
        /** include the sessions of all people */
        allUsers?: boolean;
    }>): Promise<Result<'sessions.prune'>>;
    /** Export a conversation as text. Needs sessions:read. */
    export(...args: Args<'sessions.export', {
        /** a session: its id, the start of it, or its key */
        id: string;
        /** md (default), or json, which sessions import reads */
        format?: 'md' | 'json';
    }>): Promise<Result<'sessions.export'>>;
}

export interface ChatCalls extends Callable<'chat'> {
    /** Send a message to the model. Needs chat:send. */
    send(...args: Args<'chat.send', {
        /** what to say */
        text: string;
        /** in which session (default: a new one) */
        sessionId?: string;
        /** the client that waits for the answer */
        clientId?: string;
        /** tools report what they would do and change nothing */
        dryRun?: boolean;
        /** text files: {type, data, mimeType, name}, data in base64 */
        attachments?: unknown;
    }>): Promise<Result<'chat.send'>>;
    /** Abort the running turn of a session. Needs chat:send. */
    abort(...args: Args<'chat.abort', {
        /** the session whose turn to abort */
        sessionId: string;
    }>): Promise<Result<'chat.abort'>>;
}

export interface WorkspacesCalls extends Callable<'workspaces'> {
    /** List the folders that have a memory. Needs memory:read. */
    list(...args: Args<'workspaces.list', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'workspaces.list'>>;
    /** Show which memory this folder uses and how it is found. Needs memory:read. */
    where(...args: Args<'workspaces.where', {}>): Promise<Result<'workspaces.where'>>;
}

export interface UsersCalls extends Callable<'users'> {
    /** List the people this memory knows. Needs memory:read. */
    list(...args: Args<'users.list', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'users.list'>>;
    /** Show one person: identities and profile. Needs memory:read. */
    show(...args: Args<'users.show', {
        /** a user id (default: yours) */
        id?: string;
        /** at most this many identities (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'users.show'>>;
    /** Print the user id of an identity, adding it if it is new. Needs the owner. */
    resolve(...args: Args<'users.resolve', {
        /** cli, telegram, slack, ... */
        platform: string;
        /** the person's id there */
        platformUserId: string;
    }>): Promise<Result<'users.resolve'>>;
    /** Link an identity to a user. Needs the owner. */
    link(...args: Args<'users.link', {
        /** cli, telegram, slack, ... */
        platform: string;
        /** the person's id there */
        platformUserId: string;
        /** the user that it belongs to */
        userId: string;
        /** merge the identity's own profile into the user's */
        merge?: boolean;
    }>): Promise<Result<'users.link'>>;
    /** Unlink an identity, giving it its own user id again. Needs the owner. */
    unlink(...args: Args<'users.unlink', {
        /** cli, telegram, slack, ... */
        platform: string;
        /** the person's id there */
        platformUserId: string;
    }>): Promise<Result<'users.unlink'>>;
}

export interface PersonalitiesCalls extends Callable<'personalities'> {
    /** List the personalities. Needs personalities:read. */
    list(...args: Args<'personalities.list', {
        /** at most this many (default: all; other surfaces: 200) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'personalities.list'>>;
    /** Show one personality. Needs personalities:read. */
    get(...args: Args<'personalities.get', {
        /** a personality (default: the active one) */
        id?: string;
    }>): Promise<Result<'personalities.get'>>;
    /** Describe a personality on one page. Needs personalities:read. */
    characterSheet(...args: Args<'personalities.characterSheet', {
        /** a personality (default: the active one) */
        id?: string;
    }>): Promise<Result<'personalities.characterSheet'>>;
    /** Create a personality. Needs the owner. */
    create(...args: Args<'personalities.create', {
        /** letters, digits, - and _ */
        id: string;
        /** copy the settings of this personality, or of the built-in engineer, researcher or reviewer */
        from?: string;
        /** its name */
        name?: string;
        /** what it is for */
        description?: string | null;
        /** its own MEMORY.md, or the shared one */
        memoryScope?: 'per-personality' | 'global';
        /** the text of its SOUL.md: who it is */
        soulMd?: string;
        /** further members, for other programs: {"toolset": ["read"], "model": "x"} */
        fields?: string;
    }>): Promise<Result<'personalities.create'>>;
    /** Change a personality. Needs the owner. */
    update(...args: Args<'personalities.update', {
        /** a personality */
        id: string;
        /** its name */
        name?: string;
        /** what it is for */
        description?: string | null;
        /** its own MEMORY.md, or the shared one */
        memoryScope?: 'per-personality' | 'global';
        /** the text of its SOUL.md: who it is */
        soulMd?: string;
        /** further members, for other programs: {"toolset": ["read"], "model": "x"} */
        fields?: string;
    }>): Promise<Result<'personalities.update'>>;
    /** Copy a personality without its memory. Needs the owner. */
    duplicate(...args: Args<'personalities.duplicate', {
        /** a personality */
        id: string;
        /** letters, digits, - and _ */
        newId: string;
    }>): Promise<Result<'personalities.duplicate'>>;
    /** Delete a personality; its files are moved away. Needs the owner. */
    delete(...args: Args<'personalities.delete', {
        /** a personality */
        id: string;
    }>): Promise<Result<'personalities.delete'>>;
}

export interface MetaCalls extends Callable<'meta'> {
    /** Check the home, its files and settings. Needs the owner. */
    health(...args: Args<'meta.health', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'meta.health'>>;
    /** Show the memory location, its owner and the connected agents. Needs the owner. */
    home(...args: Args<'meta.home', {}>): Promise<Result<'meta.home'>>;
    /** List what this server can do. Needs anybody. */
    capabilities(...args: Args<'meta.capabilities', {}>): Promise<Result<'meta.capabilities'>>;
}

export interface ApiKeysCalls extends Callable<'apiKeys'> {
    /** Create a key for a program; it is shown once. Needs the owner. */
    create(...args: Args<'apiKeys.create', {
        /** what it is for */
        name: string;
        /** a right to grant, such as memory:read */
        scope: Array<'memory:read' | 'memory:write' | 'sessions:read' | 'sessions:write' | 'personalities:read' | 'chat:send' | 'store' | 'personalities:write' | 'tools:approve' | 'events:subscribe' | 'metrics:read'>;
        /** only for web pages of this origin (default: any caller) */
        origin?: Array<string>;
        /** limit it to this personality:ID, user:ID or workspace:ID; other kinds stay unlimited */
        only?: Array<string>;
        /** an agent's key: it can never approve pending changes */
        agent?: boolean;
    }>): Promise<Result<'apiKeys.create'>>;
    /** List the keys of programs. Needs the owner. */
    list(...args: Args<'apiKeys.list', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'apiKeys.list'>>;
    /** Revoke a key. Needs the owner. */
    revoke(...args: Args<'apiKeys.revoke', {
        /** the key's name or beginning, as the list shows it */
        prefix: string;
    }>): Promise<Result<'apiKeys.revoke'>>;
}

export interface BrowsersCalls extends Callable<'browsers'> {
    /** List the browsers that are signed in. Needs the owner. */
    list(...args: Args<'browsers.list', {
        /** at most this many (default: all; other surfaces: 1000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'browsers.list'>>;
    /** Sign a browser out. Needs the owner. */
    revoke(...args: Args<'browsers.revoke', {
        /** the browser's name or id, as the list shows it */
        prefix: string;
    }>): Promise<Result<'browsers.revoke'>>;
}

export interface StoreCalls extends Callable<'store'> {
    /** Describe the store of this home. Needs store. */
    info(...args: Args<'store.info', {}>): Promise<Result<'store.info'>>;
    /** Read texts byte for byte, by scope and key. Needs store. */
    gather(...args: Args<'store.gather', {
        /** which texts */
        at: Array<string>;
        /** only so much of the end of each (0: all) */
        tailBytes?: number;
    }>): Promise<Result<'store.gather'>>;
    /** Replace texts of a scope atomically if none has changed. Needs store. */
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
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'store.list'>>;
    /** List the scopes that were ever written. Needs store. */
    scopes(...args: Args<'store.scopes', {
        /** at most this many (default: 10000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'store.scopes'>>;
    /** List recorded changes, newest first. Needs store. */
    history(...args: Args<'store.history', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** only of this key */
        key?: string;
        /** start after the change with this number */
        after?: number;
        /** skip so many unnumbered changes */
        skip?: number;
    }>): Promise<Result<'store.history'>>;
    /** Read an older version of a text. Needs store. */
    version(...args: Args<'store.version', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** a key of the scope */
        key: string;
        /** a revision that the history names */
        revision: string;
    }>): Promise<Result<'store.version'>>;
    /** Save a text as a conflict copy. Needs store. */
    setAside(...args: Args<'store.setAside', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** a key of the scope */
        key: string;
        /** a string, or {base64} for other bytes */
        text: unknown;
    }>): Promise<Result<'store.setAside'>>;
    /** List conflict copies. Needs store. */
    conflicts(...args: Args<'store.conflicts', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** at most this many (default: 10000) */
        limit?: number;
        /** nextCursor of the previous page */
        cursor?: string;
    }>): Promise<Result<'store.conflicts'>>;
    /** Read a conflict copy. Needs store. */
    conflictRead(...args: Args<'store.conflictRead', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** the conflict copy, as store.conflicts names it */
        id: string;
    }>): Promise<Result<'store.conflictRead'>>;
    /** Delete a conflict copy. Needs store. */
    conflictDrop(...args: Args<'store.conflictDrop', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** the conflict copy, as store.conflicts names it */
        id: string;
    }>): Promise<Result<'store.conflictDrop'>>;
    /** Add a text to a key's history without changing the key. Needs store. */
    keep(...args: Args<'store.keep', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** a key of the scope */
        key: string;
        /** a string, or {base64} for other bytes */
        text: unknown;
    }>): Promise<Result<'store.keep'>>;
    /** Import changes of another store, with their texts. Needs store. */
    graft(...args: Args<'store.graft', {
        /** a scope id, such as personality:ethos */
        scope: string;
        /** {version, rows, edits, copies, texts} */
        commit: unknown;
    }>): Promise<Result<'store.graft'>>;
}

export interface MarkdownCalls extends Callable<'markdown'> {
    /** Parse markdown into nodes for a web page. Needs memory:read. */
    render(...args: Args<'markdown.render', {
        /** the markdown text; it is not stored */
        content: string;
    }>): Promise<Result<'markdown.render'>>;
}

export interface Ethos extends Client {
    readonly channel: ChannelCalls;
    readonly memory: MemoryCalls;
    readonly search: SearchCalls;
    readonly recall: RecallCalls;
    readonly notes: NotesCalls;
    readonly pending: PendingCalls;
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

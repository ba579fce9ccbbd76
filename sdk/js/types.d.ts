// types.d.ts: what the table of operations does not tell: the objects on the wire, what stable calls take
// and give, the events. Written by hand; index.d.ts builds on it.

// ---- the client -------------------------------------------------------------------------------------

export interface ClientOptions {
    /** Where the server is. Default: `ETHOS_BASE_URL`, else the page's origin, else http://localhost:3000 */
    baseUrl?: string;
    /** `sk-ethos-...`. Default: `ETHOS_API_KEY`; a browser that is logged in needs none */
    apiKey?: string;
    /** Another fetch, for tests and proxies */
    fetch?: typeof fetch;
}

export interface CallOptions {
    signal?: AbortSignal;
}

export interface Client {
    readonly baseUrl: string;
    /** An operation by its name, for names that are not known beforehand. */
    call<T = unknown>(name: string, input?: object, options?: CallOptions): Promise<T>;
    /** What changes, as it happens. */
    events(options: StreamOptions<MemoryEvent>): EventStream;
    /** One conversation, as it goes on. */
    sessionEvents(id: string, options: StreamOptions<SessionEvent>): EventStream;
    /** A request with the client's credential; throws an EthosError unless it went well. */
    request(path: string, init?: RequestInit): Promise<Response>;
}

/** Namespaces of calls that can be called themselves. */
export interface Callables {
    /** One message to the agent; its events, or its text. */
    chat: (text: string, options?: ChatOptions) => ChatTurn;
}
export type Callable<Name> = Name extends keyof Callables ? Callables[Name] : object;

export interface ChatOptions {
    /** In which session; left out, a new one. */
    sessionId?: string;
    personalityId?: string;
    userId?: string;
    /** Tools say what they would do, and memory stays. */
    dryRun?: boolean;
    attachments?: Array<{ type: 'image' | 'file'; data: string; mimeType: string; name?: string }>;
    signal?: AbortSignal;
}

/** What became of a message. A failure of the turn throws an EthosError with its code. */
export interface ChatTurn extends AsyncIterable<SessionEvent> {
    readonly sent: Promise<{ sessionId: string; turnId: string }>;
    /** The whole answer. */
    text(): Promise<string>;
    abort(): Promise<{ ok: true }>;
}

export type ErrorCode =
    | 'BAD_REQUEST' | 'INVALID_INPUT' | 'UNAUTHORIZED' | 'FORBIDDEN' | 'PERSONALITY_READ_ONLY'
    | 'NOT_FOUND' | 'SESSION_NOT_FOUND' | 'PERSONALITY_NOT_FOUND' | 'PERSONALITY_EXISTS'
    | 'MEMORY_CONFLICT' | 'PAYLOAD_TOO_LARGE' | 'TOO_MANY_REQUESTS' | 'INTERNAL' | 'NOT_CONFIGURED'
    | 'SERVICE_UNAVAILABLE'
    /** No answer came. */
    | 'NETWORK'
    /** What answered is not ethos serve. */
    | 'BAD_ANSWER';

export class EthosError extends Error {
    readonly code: ErrorCode | (string & {});
    /** Of HTTP; 0 without an answer. */
    readonly status: number;
    readonly data?: { action?: string; issues?: Issue[]; [member: string]: unknown };
    readonly requestId?: string;
}

export interface Issue {
    code: string;
    path: Array<string | number>;
    message: string;
}

// ---- streams ----------------------------------------------------------------------------------------

export interface StreamOptions<Event> {
    /** Go on behind this event. Default: what happens from now on. */
    lastEventId?: string;
    onEvent?(event: Event, id: string | undefined): void;
    /** Told of every break; the stream comes back by itself unless the server refused it. */
    onError?(error: Error): void;
    /** A connection stands, for the first time or again. */
    onOpen?(): void;
    signal?: AbortSignal;
    /** Milliseconds without a byte after which the connection is given up. Default: 45,000 */
    silenceMs?: number;
    /** Milliseconds between two attempts to come back, at most. Default: 30,000 */
    maxPauseMs?: number;
}

export interface EventStream {
    readonly lastEventId: string | undefined;
    close(): void;
    /** Settles when the stream is over: closed, or refused by the server. */
    readonly closed: Promise<void>;
}

export type MemoryEvent =
    | { type: 'hello'; version: string; run: string }
    /** What was missed is not known any more: load everything again. */
    | { type: 'reset' }
    | ({ type: 'memory.changed' | 'note.changed' } & ChangeNews)
    | { type: 'session.changed'; id: string; change: 'created' | 'updated' | 'deleted'; updatedAt: string }
    | { type: 'conflict.changed'; scope: string; key: string; count: number }
    | { type: 'pending.changed'; scope: string }
    | { type: 'personalities.changed' | 'users.changed' | 'config.changed' }
    | { type: 'health.changed'; ok: boolean; findings: number };

export interface ChangeNews {
    scope: string;
    key: string;
    revision: string | null;
    before: string | null;
    number: number;
    time: string;
    actor: string | null;
    via: string | null;
    source: string | null;
    session: string | null;
    added: number;
    removed: number;
    /** The first line that came or went, with + or - before it. */
    line: string | null;
}

export interface MemoryChange {
    store: 'memory' | 'user' | 'notes';
    scope: string;
    key: string;
    added: string[];
    removed: string[];
}

export type SessionEvent =
    | { type: 'stream_meta'; requestId: string }
    | { type: 'run_start'; provider: string; model: string; source: string; traceId?: string }
    | { type: 'text_delta'; text: string }
    | { type: 'thinking_delta'; thinking: string }
    | { type: 'tool_start'; toolCallId: string; toolName: string; args: unknown; audience?: string }
    | { type: 'tool_progress'; toolName: string; message: string; percent?: number; audience: string }
    | { type: 'tool_end'; toolCallId: string; toolName: string; ok: boolean; durationMs: number;
        result?: string; structured?: object; audience?: string }
    | { type: 'usage'; inputTokens: number; outputTokens: number; estimatedCostUsd: number }
    | { type: 'done'; text: string; turnCount: number; traceId?: string; remembers?: boolean }
    | { type: 'error'; error: string; code: string; traceId?: string }
    | { type: 'message_persisted'; messageId: string; role: string }
    | { type: 'context_meta'; data: object }
    | { type: 'memory.captured'; summary: string; changes?: MemoryChange[] }
    | { type: 'notification'; message: string; source?: string };

// ---- objects ----------------------------------------------------------------------------------------

export type Store = 'memory' | 'user';

export interface MemoryFile {
    store: Store;
    /** "" when there is no file. */
    content: string;
    path: string | null;
    modifiedAt: string | null;
    /** For `expectedRevision`; null when there is no file. */
    revision: string | null;
    /** The backend is out of reach: the text is what was known at `knownAt`. */
    stale?: true;
    knownAt?: string;
    /** Of a write: the backend is out of reach, it is done when it is back. */
    queued?: true;
    /** Of a write: what was too long for the file and was archived, and where it is. */
    warnings?: string[];
}

export interface Session {
    id: string;
    key: string;
    platform: string;
    model: string;
    provider: string;
    personalityId: string | null;
    parentSessionId: string | null;
    workingDir: string | null;
    title: string | null;
    pinned: boolean;
    usage: Usage;
    createdAt: string;
    updatedAt: string;
    version: 1;
    userId?: string; // whose it is; absent: the owner's
}

export interface Usage {
    inputTokens: number;
    outputTokens: number;
    cacheReadTokens: number;
    cacheCreationTokens: number;
    apiCallCount: number;
    compactionCount: number;
    estimatedCostUsd: number;
}

export interface Message {
    id: string;
    sessionId: string;
    role: 'user' | 'assistant' | 'tool_result' | 'system' | 'user_steer';
    content: string;
    toolCallId: string | null;
    toolName: string | null;
    toolCalls: Array<{ id: string; name: string; input: unknown }> | null;
    timestamp: string;
}

/** Further members are kept and given back as they were stored. */
export interface Personality {
    id: string;
    name: string;
    description: string | null;
    provider: string | null;
    model: string | { trivial?: string; default?: string; deep?: string } | null;
    toolset: string[] | null;
    capabilities: string[] | null;
    mcp_servers: string[] | null;
    plugins: string[] | null;
    streamingTimeoutMs: number | null;
    fs_reach: { read: string[] | null; write: string[] | null; workdir: string | null } | null;
    system: boolean;
    builtin: boolean;
    version: 1;
    [member: string]: unknown;
}

export interface HistoryEntry {
    ts: number;
    scopeId: string;
    key: string;
    actions: string[];
    source: string;
    sessionId: string;
    sessionKey: string;
    beforeHash: string;
    afterHash: string;
    /** Unified; cut at 4,096 bytes when `blob` is there. */
    diff: string;
    hint?: number;
    blob?: string;
    sizeBefore: number;
    sizeAfter: number;
}

/** An entry of MEMORY.md or USER.md: a list item or a paragraph. */
export interface Chunk {
    /** `^name` of a block id, else a hash of its text: it says which text is meant. */
    id: string;
    store: Store;
    /** Without bullet or number, indentation and block id. */
    content: string;
    /** The headings above it, from the top. */
    path: string[];
    line: number;
    source: string | null;
    createdAt: string | null;
    archived: boolean;
    revision: string;
}

/** An entry that answers a question; `similarity` is the cosine of both, where it is known. */
export interface FoundChunk extends Chunk {
    score: number;
    similarity?: number;
}

export interface Pending {
    id: string;
    scopeId: string;
    update:
        | { action: 'add' | 'replace'; key: string; content: string }
        | { action: 'remove'; key: string; substringMatch: string }
        | { action: 'delete'; key: string };
    source: string;
    factHash?: string;
    sessionId?: string;
    sessionKey?: string;
    proposedAt: number;
}

// ---- stable calls -----------------------------------------------------------------------------------

/** What every call may say besides; left out: the active personality, the person at the machine, no workspace. */
export interface Common {
    personalityId?: string;
    userId?: string;
    workspaceId?: string;
    /** The conversation that this is done in, for the history. */
    sessionId?: string;
}

export interface Page {
    limit?: number;
    cursor?: string;
}

/** A page whose cursor may be the `nextCursor` of the one before as it is. */
export interface NextPage {
    limit?: number;
    cursor?: string | null;
}

interface Done {
    ok: true;
}

type PersonalityFields = Partial<Omit<Personality, 'id' | 'system' | 'builtin' | 'version'>> & { soulMd?: string };

/** Calls whose form does not change. */
export interface Stable {
    'memory.list': { input: Page; output: { items: MemoryFile[]; nextCursor: null } };
    'memory.get': { input: { store: Store }; output: { file: MemoryFile } };
    'memory.write': {
        /** With `expectedRevision`: only if the file still has it, else MEMORY_CONFLICT. */
        input: { store: Store; content: string; expectedRevision?: string | null };
        output: { file: MemoryFile };
    };
    'memory.listUsers': {
        input: Page;
        output: {
            users: Array<{
                userId: string;
                displayLabel: string | null;
                platform: string | null;
                firstSeenAt: string | null;
            }>;
            nextCursor: string | null;
        };
    };
    'memory.history': {
        input: NextPage & { key?: string; source?: string; sinceMs?: number; untilMs?: number };
        output: { entries: HistoryEntry[]; nextCursor: string | null; corruptLines: number };
    };
    'memory.historyBlob': { input: { blob: string }; output: { content: string | null } };
    'memory.restore': { input: { slug: string }; output: { ok: true; restoredTo: string } };
    'memory.pendingList': { input: {}; output: { pending: Pending[] } };
    'memory.pendingApprove': { input: { id: string; hash?: string }; output: Done };
    'memory.pendingEdit': {
        input: { id: string; update: Pending['update']; hash?: string };
        output: { pending: Pending };
    };
    'memory.pendingReject': { input: { id: string; hash?: string }; output: Done };
    'memory.pendingNever': { input: { id: string; hash?: string }; output: Done };
    'memory.chunks.list': {
        input: NextPage & { store?: Store; archived?: boolean };
        output: { items: Chunk[]; nextCursor: string | null };
    };
    'memory.chunks.get': { input: { id: string }; output: { chunk: Chunk } };
    'memory.chunks.search': {
        /** `archived` false leaves those of the archive out. */
        input: { query: string; topK?: number; store?: Store; archived?: boolean };
        output: { items: FoundChunk[]; elapsedMs: number };
    };
    'memory.chunks.add': {
        /** `under`: below this heading; `id`: a block id to write. */
        input: { content: string; store?: Store; under?: string; id?: string };
        output: { chunk: Chunk };
    };
    /** An entry that is not there any more is MEMORY_CONFLICT, with the nearest one in `data.nearest`. */
    'memory.chunks.update': {
        input: { id: string; content: string; ifRevision?: string };
        output: { chunk: Chunk; previousId: string };
    };
    'memory.chunks.delete': { input: { id: string; ifRevision?: string }; output: Done };
    'sessions.list': {
        input: NextPage & { q?: string };
        output: { items: Session[]; nextCursor: string | null };
    };
    /** The newest 1,000 messages at most; `previous` and `next` begin the pages around them: `from`. */
    'sessions.get': {
        input: { id: string; from?: string; limit?: number };
        output: { session: Session; messages: Message[]; cards: []; previous?: string | null; next?: string | null };
    };
    'sessions.fork': { input: { id: string; expectedVersion?: number }; output: { session: Session } };
    'sessions.delete': { input: { id: string; expectedVersion?: number }; output: Done };
    'sessions.update': {
        input: { id: string; title: string | null; expectedVersion?: number };
        output: { session: Session };
    };
    'personalities.list': {
        input: Page;
        output: { items: Personality[]; nextCursor: string | null; defaultId: string };
    };
    'personalities.get': {
        input: { id: string };
        output: { personality: Personality; soulMd: string; mcpPolicy: object | null };
    };
    'personalities.characterSheet': { input: { id: string }; output: { markdown: string; posture: object | null } };
    'personalities.create': {
        input: PersonalityFields & { id: string; name: string; toolset: string[]; soulMd: string };
        output: { personality: Personality };
    };
    'personalities.update': { input: PersonalityFields & { id: string }; output: { personality: Personality } };
    'personalities.delete': { input: { id: string }; output: Done };
    'personalities.duplicate': { input: { id: string; newId: string }; output: { personality: Personality } };
    'chat.send': {
        input: {
            sessionId?: string;
            clientId: string;
            text: string;
            dryRun?: boolean;
            origin?: 'text' | 'voice';
            attachments?: Array<{ type: 'image' | 'file'; data: string; mimeType: string; name?: string }>;
        };
        output: { sessionId: string; turnId: string };
    };
    'chat.abort': { input: { sessionId: string }; output: Done };
    'meta.capabilities': { input: {}; output: { capabilities: Record<string, boolean> } };
}

/** Input of an operation: the stable form, where there is one, else as the table of operations has it. */
export type Input<Name extends string, Own> =
    (Name extends keyof Stable ? Stable[Name]['input'] : Own) & Common;

export type Args<Name extends string, Own> = {} extends Input<Name, Own>
    ? [input?: Input<Name, Own>, options?: CallOptions]
    : [input: Input<Name, Own>, options?: CallOptions];

export type Result<Name extends string> = Name extends keyof Stable ? Stable[Name]['output'] : unknown;

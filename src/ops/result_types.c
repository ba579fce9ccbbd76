/*
 * result_types.c: the types of the operations' results.
 */
#include "ops/result_types.h"

#include <string.h>

const struct answer_row answer_types[] = {
    {"Error", "{code: string, message: string, hint: string?}"},
    {"Change",
     "{number: int, time: string?, scope: string, key: string, actions: [string], source: "
     "string?, via: string?, actor: string?, session: string?, sessionKey: string?, user: "
     "string?, opId: string?, event: string?, undoes: [int], before: string?, after: "
     "string?, bytesBefore: int?, bytesAfter: int?, trust: string?, approvedBy: string?, "
     "editedFrom: "
     "string?, large: bool, group?: int, added: int?, removed: int?, line: "
     "string?, diff?: string?}"},
    {"Outcome",
     "{scope: string, key: string, revision: string?, chars: int, diff?: string, matched?: "
     "int, warning?: string, error?: Error}"},
    {"Report", "{applied: int, written: [Outcome], unchanged: [Outcome], conflicts: [Outcome], "
               "failed?: [Outcome], waiting?: [Outcome], warnings?: [string], more?: int, "
               "queued?: bool, status?: string, id?: string, pending?: [{id: string, scope: "
               "string, key: string}], dryRun?: bool}"},
    {"File", "{store?: string?, scope: string, key: string, content: string, path?: string?, "
             "modifiedAt: string?, revision: string?, unsettled?: bool, stale?: bool, knownAt?: "
             "string?, queued?: bool, warnings?: [string]}"},
    {"ShownFile",
     "{store?: string?, scope: string, key: string, label: string, content?: string, path: "
     "string?, modifiedAt?: string?, revision?: string?, chars?: int, shown?: string?, "
     "error?: Error, unsettled?: bool, stale?: bool, knownAt?: string?}"},
    {"Chunk", "{id: string, store: 'memory|user', content: string, path: [string], line: int, "
              "source: string?, createdAt: string?, archived: bool, revision: string, score?: "
              "number, similarity?: number}"},
    {"Omission", "{scope: string, key: string, chars: int, bytes: int, reason: string}"},
    {"Budget", "{chars: int, budget: int, omittedChars: int, omittedBytes: int, hooks?: {notes: "
               "int, of: int}}"},
    {"Pending", "{id: string, scopeId: string, update: {action: 'add|replace|remove|delete', key: "
                "string, content?: string, substringMatch?: string}, source: string, proposedAt: "
                "number, factHash?: string, sessionId?: string, sessionKey?: string, actor?: "
                "string, via?: string, trust?: string, why?: [string], base?: string, hash?: "
                "string, opId?: string, userId?: string, note?: {title?: string, hook?: string}, "
                "editedFrom?: string}"},
    {"PendingShown", "Pending & {hash: string, moved: bool, reasons: [string], rule: string?, "
                     "diff: string}"},
    {"Decided", "{id: string, decided: 'approved|rejected|never'}"},
    {"HiddenLine", "{scope: string, key: string, line: int?, why: ['instruction|secret'], kind: "
                   "string?, text: string?, hash: string, state: 'hidden|shown|unused', allowable: "
                   "bool}"},
    {"Conflict",
     "{id: string, scope: string, key: string, time: string?, bytes: int, path: string?, "
     "kind: string}"},
    {"NoteFinding", "{key: string, kind: string, line: int, text: string, fixed?: bool}"},
    {"Note", "{key: string, title: string?, hook: string?, type: string?, created: string?, "
             "verified: string?, expires: string?, modifiedAt: string?, bytes: int, listed: bool, "
             "stale: string?, findings: [NoteFinding]}"},
    {"Contact", "{platform: string, sender: string, name: string, role: string, since: string, "
                "userId?: string?, local?: bool}"},
    {"Usage", "{inputTokens: int, outputTokens: int, cacheReadTokens: int, cacheCreationTokens: "
              "int, estimatedCostUsd: number, apiCallCount: int, compactionCount: int}"},
    {"Session",
     "{id: string, key: string, platform: string, model: string, provider: string, "
     "personalityId: string?, parentSessionId: string?, workingDir: string?, title: "
     "string?, pinned: bool, usage: Usage, createdAt: string, updatedAt: string, version: "
     "int, turnCount: int, userId?: string, displayTitle?: string?}"},
    {"Message", "{id: string, sessionId: string, role: "
                "'user|assistant|tool_result|system|user_steer', content: string, toolCallId: "
                "string?, toolName: string?, toolCalls: [any]?, timestamp: string, cut?: bool, "
                "untrusted?: bool}"},
    {"Personality",
     "{id: string, name: string, description: string?, provider: string?, model: string / "
     "{trivial?: string, default?: string, deep?: string} / null, toolset: [string]?, "
     "capabilities: [string]?, mcp_servers: [string]?, plugins: [string]?, "
     "streamingTimeoutMs: int?, fs_reach: {read?: [string]?, write?: [string]?, workdir?: "
     "string?}?, active: bool, memoryScope: string, userScope: string, memoryProvider: "
     "string}"},
    {"McpPolicy", "{servers?: {*: {tools?: [string], reject_args?: {*: {*: [string]}}, enabled?: "
                  "bool}}}"},
    {"Identity",
     "{userId: string, platform: string?, platformUserId: string?, displayLabel: string?, "
     "firstSeenAt: string?, local: bool}"},
    {"Key", "{prefix: string, name: string, scopes: [string], only: [string], allowedOrigins: "
            "[string], agent: bool, createdAt: string, lastUsedAt: string?, revokedAt: string?}"},
    {"Browser", "{prefix: string, name: string, createdAt: string, lastUsedAt: string?}"},
    {"Finding",
     "{severity: 'info|warning|error', subject: string?, problem: string, remedy: string?}"},
    {"WorkspacePath", "{path: string, exists: bool, lastSeen: string?}"},
    {"StoreError", "{error: any}"},
    {NULL, NULL}};

const struct answer_row answers[] = {
    {"memory.prefetch",
     "{text: string, chars: int, userMemory: string?, projectMemory: string?, "
     "workspaceMemory: string?, globalMemory: string?, recalled: string?, omitted: [Omission], "
     "sources: [{scope: "
     "string, key: "
     "string, path: string?, revision: string?}], index?: [any], found?: [{scope: string, "
     "key: string, line: int, score: number, evidence: number, words: string, message?: string}], "
     "stale?: bool, knownAt?: string?} / null"},
    {"memory.sync", "Report"},
    {"memory.list",
     "{personality: string, user: string, backend: string?, files: [ShownFile], budget: "
     "int, chars: int, omitted: [Omission], hooks: {bytes: int, budget: int, omitted: "
     "[Omission]}}"},
    {"memory.get", "File"},
    {"memory.write", "File / Report"},
    {"memory.save", "Report"},
    {"memory.chunks.list", "{items: [Chunk], nextCursor: string?}"},
    {"memory.chunks.get", "{chunk: Chunk}"},
    {"memory.chunks.search", "{items: [Chunk], elapsedMs: int}"},
    {"memory.chunks.add", "Report & {chunk?: Chunk}"},
    {"memory.chunks.update", "Report & {chunk?: Chunk, previousId?: string}"},
    {"memory.chunks.delete", "Report & {ok?: bool}"},
    {"search.all",
     "{hits: [{scope?: string, key?: string, line?: int, session?: string, message?: string, "
     "snippet: string, modifiedAt: string?, untrusted?: bool}], files: int, unreadable: int, "
     "partial: bool}"},
    {"memory.search",
     "{hits: [{scope: string, key: string, line: int, snippet: string, modifiedAt: "
     "string?, untrusted?: bool}], files: int, unreadable: int, partial: bool}"},
    {"memory.recall",
     "{hits: [{scope: string, key: string, line: int, text: string, date: string?, score: number, "
     "message?: string, role?: string, untrusted?: bool, why?: [{part: string, value: number, "
     "weight: number, score: "
     "number}], words?: [{word: "
     "string, "
     "as?: string, near?: string, cosine?: number}], indexed?: string?}], scopes: int, units: int, "
     "partial: bool, elapsedMs: int}"},
    {"recall.bench", "{questions: int, texts: int, recall1: number, recall5: number, recall10: "
                     "number, ndcg10: number, mrr: number, msEach: number}"},
    {"recall.index", "{scopes: [{scope: string, texts: int, units: int, bytes: int, indexed: int, "
                     "encoded: int, rebuilt: bool, saved: bool}], elapsedMs: int}"},
    {"notes.remember",
     "Report & {effect: string, scope: string, key: string, path: string?, index: Budget?, "
     "similar?: [{key: string}], content?: string, revision?: string?, warning?: string}"},
    {"notes.write",
     "Report & {effect: string, scope: string, key: string, path: string?, index: Budget?, "
     "similar?: [{key: string}], warning?: string}"},
    {"notes.list", "{scope: string, path: string?, index: Budget?, stale: int, notes: [Note], "
                   "nextCursor: string?}"},
    {"notes.show", "Note & {scope: string, content: string, path: string?, revision: string?}"},
    {"notes.get",
     "{scope: string, key: string, title: string?, type: string?, stale: string?, content: "
     "string, path: string?, modifiedAt: string?, revision: string?}"},
    {"notes.remove", "Report & {final?: bool}"},
    {"notes.move", "Report & {key: string, from?: string, to?: string}"},
    {"notes.check",
     "Report & {findings: [NoteFinding], checked: {notes: int, claims: int, findings: int, "
     "fixed: int, verified: int}, nextCursor: string?}"},
    {"notes.reindex",
     "Report & {mended: [{problem: string, key: string?, line: int}], moreMended?: int}"},
    {"notes.graph",
     "{scope: string, nodes: [{key: string, title: string?, type: string?, stale: string?, "
     "listed: bool, age: int?}], links: [{from: string, to: string, broken: bool}], "
     "nextCursor: string?}"},
    {"memory.history", "{items: [Change], nextCursor: string?}"},
    {"memory.diff", "{scope: string, key: string, from: string?, to: string?, diff: string}"},
    {"memory.historyBlob", "{content: string?}"},
    {"memory.restore", "Report"},
    {"memory.undo", "Report & {undone?: [int], before?: int?, change?: int?}"},
    {"memory.blame",
     "{scope: string, key: string, lines: [{line: int, text: string, change: Change?, "
     "replaced: string?}], nextCursor: string?}"},
    {"notes.history", "{items: [Change], nextCursor: string?}"},
    {"notes.undo", "Report & {undone?: [int], before?: int?, change?: int?}"},
    {"notes.blame",
     "{scope: string, key: string, lines: [{line: int, text: string, change: Change?, "
     "replaced: string?}], nextCursor: string?}"},
    {"memory.forget",
     "{lines: int, versions: int, blobs: int, conflicts: int, names: int, calls?: int, scopes: "
     "[{scope: string, name: string, lines: int, versions: int, blobs: int, conflicts: int, "
     "names: int, calls?: int}], sessions?: {sessions: int, messages: int, summaries: int, keys: "
     "int}, "
     "files?: [{path: string, lines: int}], kept?: [{path: string, reason: string}], "
     "elsewhere?: {files: int, messages: int}, unreachable: [string], taken?: [{scope: string, "
     "name: string, key: string, line: int, text: string}], more?: int, emptied?: [{scope: "
     "string, key: string}], dryRun?: bool}"},
    {"memory.timeline", "{items: [Change], nextCursor: string?}"},
    {"memory.insights",
     "{days: int, budget: int, files: [{scope: string, key: string, label: string, bytes: "
     "int, chars: int, series: [{time: string?, bytes: int}]}], writes: [{day: string, "
     "source: string?, via: string?, scope: string, count: int}], notes: {total: int, "
     "stale: int}}"},
    {"memory.pendingList", "{pending: [Pending]}"},
    {"memory.pendingApprove", "{ok: bool}"},
    {"memory.pendingEdit", "{pending: Pending}"},
    {"memory.pendingReject", "{ok: bool}"},
    {"memory.pendingNever", "{ok: bool}"},
    {"memory.hidden", "{lines: [HiddenLine], files: int, partial: bool, nextCursor: string?}"},
    {"memory.showLine", "HiddenLine"},
    {"memory.hideLine", "{scope: string, hash: string, hidden: bool}"},
    {"pending.list", "{pending: [Pending]}"},
    {"pending.show", "PendingShown"},
    {"pending.approve", "Report & {rule?: string}"},
    {"pending.edit", "PendingShown"},
    {"pending.reject", "Decided"},
    {"pending.never", "Decided"},
    {"conflicts.list", "{conflicts: [Conflict], events: [Change & {undo?: string?, "
                       "merged?: string?}], nextCursor: string?}"},
    {"conflicts.show", "Conflict & {content: string, diff: string, revision: string?}"},
    {"conflicts.resolve", "Report & {resolved: string}"},
    {"memory.merge",
     "{merged: string, clean: bool, hunks: [{kind: 'same|yours|theirs|both|conflict', "
     "base: string, yours: string, theirs: string, merged: string}]}"},
    {"memory.tool", "{text: string, isError: bool}"},
    {"sessions.list", "{items: [Session], nextCursor: string?}"},
    {"sessions.get",
     "{session: Session, messages: [Message], cards: [any], previous?: string?, next?: "
     "string?}"},
    {"sessions.search",
     "{hits: [{session: Session, message: Message, snippet: {before: string, match: "
     "string, after: string, cutBefore: bool, cutAfter: bool}}]}"},
    {"sessions.current", "{session: Session?}"},
    {"sessions.append", "{session: Session?}"},
    {"sessions.new", "{session: Session?}"},
    {"sessions.undo", "{session: Session, messages: int}"},
    {"sessions.fork", "{session: Session?}"},
    {"sessions.update", "{session: Session}"},
    {"sessions.pin", "{session: Session}"},
    {"sessions.unpin", "{session: Session}"},
    {"sessions.delete", "{ok: bool, session: Session, messages: int}"},
    {"sessions.prune", "{sessions: int, before: string}"},
    {"sessions.drain", "{recorded: int, refused: int, left: int}"},
    {"sessions.export", "{id: string, format: string} / {session: Session, messages: [Message]}"},
    {"chat.send", "{sessionId: string, turnId: string}"},
    {"chat.abort", "{ok: bool}"},
    {"workspaces.list",
     "{current: string?, workspaces: [{id: string, scope: string, notes: int, bytes: int, "
     "paths: [WorkspacePath], morePaths?: int, problem?: string}], nextCursor: string?}"},
    {"workspaces.where",
     "{path: string?, git: string?, id: string, scope: string, how: string, memory: "
     "string?, notes: int, bytes: int, paths: [WorkspacePath], morePaths?: int}"},
    {"users.list", "{localUserId: string, users: [Identity], nextCursor: string?}"},
    {"users.show",
     "{userId: string, local: bool, identities: [Identity], profile: string?, bytes: int, "
     "nextCursor: string?}"},
    {"users.resolve", "{platform: string, platformUserId: string, userId: string}"},
    {"users.link", "{platform: string, platformUserId: string, userId: string, formerUserId?: "
                   "string, profileLines?: int, merged?: bool, dryRun?: bool, diff?: string}"},
    {"users.unlink", "{platform: string, platformUserId: string, userId: string, leftUserId?: "
                     "string, profile?: string?, bytes?: int}"},
    {"personalities.list", "{items: [Personality], defaultId: string, nextCursor: string?, "
                           "builtIn: [{id: string, description: string}]}"},
    {"personalities.get",
     "{personality: Personality, soulMd: string, mcpPolicy: McpPolicy?, memory: string?}"},
    {"personalities.characterSheet", "{markdown: string, posture: any}"},
    {"personalities.create", "{id: string, personality: Personality}"},
    {"personalities.update", "{id: string, personality: Personality}"},
    {"personalities.duplicate", "{id: string, personality: Personality}"},
    {"personalities.delete", "{id: string, deleted: bool, kept: string?}"},
    {"apiKeys.create",
     "{key: string, prefix: string, name: string, scopes: [string], only: [string], "
     "allowedOrigins: [string], agent: bool}"},
    {"apiKeys.list", "{items: [Key], nextCursor: string?}"},
    {"apiKeys.revoke", "{ok: bool, prefix: string}"},
    {"browsers.list", "{items: [Browser], nextCursor: string?}"},
    {"browsers.revoke", "{ok: bool, prefix: string}"},
    {"channel.allow", "{contact: Contact}"},
    {"channel.remove", "{ok: bool, platform: string, sender: string}"},
    {"channel.people",
     "{people: [Contact], waiting: [{platform: string, sender: string, name: "
     "string, begins: string, since: string, until: string}], nextCursor: string?}"},
    {"channel.status",
     "{running: bool, waiting: int, sending: int, channels: [{platform: string, title: string, "
     "state: 'off|down|up|fatal', since: string, why: string, bot: string, messages: int, setup: "
     "[string]}], unsent: [{id: int, state: 'unknown|failed', platform: string, chat: string, "
     "created: string}]}"},
    {"channel.messages",
     "{messages: [{platform: string, chat: string, direct: bool, sender: string, name: string, "
     "role: string, received: string, state: 'new|running|answered|failed|refused', ended: "
     "string?, answer: string?}]}"},
    {"channel.resend", "{ok: bool, id: int}"},
    {"meta.home", "{home: string, version: string, personality: string, user: string, workspace: "
                  "string?, firstRun: bool, agents: [{name: string, title: string, found: bool, "
                  "installed: bool, command: string?}]}"},
    {"admin.status",
     "{version: string, home: string, personality: string, user: string, backend: string?, chars: "
     "int, budget: int, omitted: [Omission], hooks: {bytes: int, budget: int, omitted: "
     "[Omission]}, folder: {path: string, notes: int} / null, agents: [{agent: string, title: "
     "string, found: bool, folder: string, mcp: bool, hooks: bool, instructions: bool, lastRead: "
     "string?, lastWrite: string?}], needs: [any], lastChange: Change / null, server: string?}"},
    {"meta.health",
     "{ok: bool, home: string, exists: bool, version: string, backend: string, findings: "
     "[Finding], nextCursor: string?}"},
    {"meta.capabilities", "{capabilities: {*: bool}}"},
    {"markdown.render", "{nodes: [any]}"},
    {"store.info", "{wire: int, version: string, offers: [string], timeMs: int} / StoreError"},
    {"store.gather", "{revision: string, texts: [any]} / StoreError"},
    {"store.swap", "{edits: [any]} / StoreError"},
    {"store.list", "{entries: [{key: string, bytes: int}], nextCursor: string?} / StoreError"},
    {"store.scopes", "{scopes: [string], nextCursor: string?} / StoreError"},
    {"store.history", "{changes: [any]} / StoreError"},
    {"store.version", "any"},
    {"store.setAside", "any"},
    {"store.conflicts", "{conflicts: [any], nextCursor: string?} / StoreError"},
    {"store.conflictRead", "any"},
    {"store.conflictDrop", "{ok: bool} / StoreError"},
    {"store.keep", "{ok: bool} / StoreError"},
    {"store.graft", "{ok: bool} / StoreError"},
    {NULL, NULL}};

const char *answer_form(const struct op *op)
{
    for (const struct answer_row *row = answers; row->name; row++)
        if (strcmp(row->name, op->name) == 0)
            return row->form;
    return NULL;
}

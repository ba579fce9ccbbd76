// wire.mjs: the wire contract, driven by @orpc/client of both lines that are served, and by plain fetch.
//
// Every stable call, every form of an error; files as resources, with nothing lost; /openapi.json and
// whether the server does what it says.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createORPCClient, ORPCError } from '@orpc/client';
import { RPCLink } from '@orpc/client/fetch';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import openapiTS, { astToString } from 'openapi-typescript';
import { createORPCClient as createOlder } from 'orpc-client-1-14';
import { RPCLink as OlderLink } from 'orpc-client-1-14/fetch';

import ts from 'typescript';

import { problems } from './schema.mjs';
import { ethos, ethosIn, makeHome, serve } from './server.mjs';
import { finish, must, test } from './tap.mjs';

const home = makeHome();

// Every answer of /api that these tests get, for the schemas of /openapi.json.
const seen = [];
const plainFetch = globalThis.fetch;
globalThis.fetch = async (input, init) => {
    const answer = await plainFetch(input, init);
    const path = new URL(input?.url ?? input).pathname;
    if (path.startsWith('/api/') && init?.method !== 'HEAD' && answer.status === 200 && answer.headers.get('content-type') === 'application/json')
        seen.push({ method: (init?.method ?? 'GET').toLowerCase(), path, json: await answer.clone().json() });
    return answer;
};

// ---- helpers ----------------------------------------------------------------------------------------

const show = (value) => JSON.stringify(value);
const same = (a, b) => must(show(a) === show(b), `${show(a)} is not ${show(b)}`);

function has(object, ...names) {
    for (const name of names) must(object && name in object, `no ${name} in ${show(object)}`);
}

const KEY_SCOPES = ['sessions:read', 'sessions:write', 'chat:send', 'personalities:read', 'memory:read', 'memory:write'];

function makeKey(name, ...scopes) {
    const made = ethos(home, 'api-key', 'create', name, ...scopes.flatMap((scope) => ['--scope', scope]), '--json');
    return made.key;
}

const key = makeKey('all', ...KEY_SCOPES);
const chatKey = makeKey('chat', 'chat:send');
const readerKey = makeKey('reader', 'memory:read');
const server = await serve(home);
const { origin } = server;

// A browser: what follows the URL that the server printed.
async function login() {
    const answer = await fetch(server.loginUrl, { redirect: 'manual' });
    return answer.headers.get('set-cookie').split(';')[0];
}
const cookie = await login();
const asBrowser = { cookie, origin };
const asKey = (secret) => ({ authorization: `Bearer ${secret}` });

const connect = (headers, url = `${origin}/rpc`) => createORPCClient(new RPCLink({ url, headers }));
const client = connect(asKey(key));
const browser = connect(asBrowser);

async function failure(promise) {
    try {
        const value = await promise;
        throw new Error(`it went well: ${show(value)}`);
    } catch (error) {
        must(error instanceof ORPCError, String(error.stack ?? error));
        return error;
    }
}

async function fails(promise, status, code) {
    const error = await failure(promise);
    must(error.code === code && error.status === status, `${error.status} ${error.code} ${error.message}`);
    same(error.defined, false);
    return error;
}

// What went over the wire, as it is.
async function post(path, body, headers = asKey(key)) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${origin}${path}`, {
        method: 'POST', body: text, headers: { 'content-type': 'application/json', ...headers }, redirect: 'manual',
    });
    return { answer, status: answer.status, json: await answer.json() };
}

// Says how much it will send, and waits for what the server says to that.
function announce(path, size) {
    return new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json', 'content-length': size, ...asKey(key) };
        const ask = httpRequest(`${origin}${path}`, { method: 'POST', headers }, async (answer) => {
            let text = '';
            for await (const part of answer) text += part;
            resolve([answer.statusCode, text]);
            ask.destroy();
        });
        ask.on('error', reject);
        ask.flushHeaders();
    });
}

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const hash = /^sha256:[0-9a-f]{64}$/;

function checkSession(session) {
    for (const name of ['id', 'key', 'platform', 'model', 'provider']) same(typeof session[name], 'string');
    for (const name of ['personalityId', 'parentSessionId', 'workingDir', 'title'])
        must(session[name] === null || typeof session[name] === 'string', name);
    same(typeof session.pinned, 'boolean');
    for (const name of ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheCreationTokens', 'apiCallCount', 'compactionCount'])
        must(Number.isInteger(session.usage[name]) && session.usage[name] >= 0, name);
    must(session.usage.estimatedCostUsd >= 0, 'cost');
    must(iso.test(session.createdAt) && iso.test(session.updatedAt), 'times');
    same(session.version, 1);
    must(/^[A-Za-z0-9_-]+$/.test(session.id), 'the id is not safe in a URL');
}

function checkFile(file, store) {
    same(file.store, store);
    same(typeof file.content, 'string');
    must(file.path === null || file.path.startsWith('/'), `path ${file.path}`);
    must(file.modifiedAt === null || iso.test(file.modifiedAt), `modifiedAt ${file.modifiedAt}`);
    must(file.revision === null || hash.test(file.revision), `revision ${file.revision}`);
}

function checkPersonality(personality) {
    const strings = (value) => value === null || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
    must(typeof personality.id === 'string' && typeof personality.name === 'string', 'id and name');
    for (const name of ['description', 'provider'])
        must(personality[name] === null || typeof personality[name] === 'string', `${name}: ${show(personality[name])}`);
    for (const name of ['toolset', 'capabilities', 'mcp_servers', 'plugins']) must(strings(personality[name]), name);
    has(personality, 'model', 'streamingTimeoutMs', 'fs_reach');
    same([typeof personality.system, typeof personality.builtin, personality.version], ['boolean', 'boolean', 1]);
}

// ---- memory -----------------------------------------------------------------------------------------

await test('/healthz answers whoever asks, and says nothing else', async () => {
    const answer = await fetch(`${origin}/healthz`);
    same([answer.status, await answer.text()], [200, '{"ok":true}']);
    same((await fetch(`${origin}/rpc/meta/health`, { method: 'POST' })).status, 401);
});

await test('memory.get of a file that is not there', async () => {
    const { file } = await client.memory.get({ store: 'memory' });
    checkFile(file, 'memory');
    same([file.content, file.modifiedAt, file.revision], ['', null, null]);
});

await test('memory.write gives the file as it is now; it is the file on disk', async () => {
    const { file } = await client.memory.write({ store: 'memory', content: 'We deploy on Fridays' });
    checkFile(file, 'memory');
    same(file.content, 'We deploy on Fridays\n');
    same(ethos(home, 'memory', 'get'), file.content);
    const again = await client.memory.get({ store: 'memory', personalityId: undefined });
    same(again.file, file);
});

await test('memory.write with expectedRevision: a stale one is MEMORY_CONFLICT, and nothing is lost', async () => {
    const { file } = await client.memory.get({ store: 'memory' });
    ethos(home, 'memory', 'add', 'Somebody else was here');
    await fails(client.memory.write({ store: 'memory', content: 'Mine', expectedRevision: file.revision }), 409, 'MEMORY_CONFLICT');
    must(ethos(home, 'memory', 'get').includes('Somebody else was here'), 'it is lost');
    const now = (await client.memory.get({ store: 'memory' })).file;
    const mine = await client.memory.write({ store: 'memory', content: `${now.content}Mine`, expectedRevision: now.revision });
    must(mine.file.content.includes('Somebody else') && mine.file.content.includes('Mine'), mine.file.content);
});

await test('memory.list: memory, then user', async () => {
    await client.memory.write({ store: 'user', content: 'Prefers short answers' });
    const page = await client.memory.list({ limit: 50 });
    same(page.items.map((item) => item.store), ['memory', 'user']);
    page.items.forEach((item) => checkFile(item, item.store));
    same(page.nextCursor, null);
});

await test('personalityId and userId choose whose file it is, independently', async () => {
    const one = await client.memory.write({ store: 'memory', content: 'of the coder', personalityId: 'coder' });
    const two = await client.memory.write({ store: 'user', content: 'of somebody', userId: 'ab12cd34ef56' });
    must(one.file.path.includes('coder') && two.file.path.includes('ab12cd34ef56'), `${one.file.path} ${two.file.path}`);
    const both = await client.memory.list({ personalityId: 'coder', userId: 'ab12cd34ef56' });
    same(both.items.map((item) => item.content), ['of the coder\n', 'of somebody\n']);
    const own = await client.memory.get({ store: 'user' });
    same(own.file.content, 'Prefers short answers\n');
});

await test('memory.listUsers', async () => {
    ethos(home, 'users', 'resolve', 'telegram', '4711');
    const { users } = await client.memory.listUsers({});
    const user = users.find((one) => one.platform === 'telegram');
    for (const name of ['userId', 'displayLabel', 'platform', 'firstSeenAt']) same(typeof user[name], 'string');
});

await test('memory.history: newest first, in pages without a gap; historyBlob', async () => {
    const all = await client.memory.history({});
    must(all.entries.length >= 3, show(all));
    for (const entry of all.entries) {
        must(Number.isInteger(entry.ts) && Array.isArray(entry.actions), show(entry));
        must(['tool', 'consolidation', 'dream', 'capture', 'web-editor', 'global-entry', 'restore'].includes(entry.source), entry.source);
        must(hash.test(entry.beforeHash) && hash.test(entry.afterHash), show(entry));
        for (const name of ['scopeId', 'key', 'sessionId', 'sessionKey', 'diff']) same(typeof entry[name], 'string');
        must(Number.isInteger(entry.sizeBefore) && Number.isInteger(entry.sizeAfter), 'sizes');
        same([entry.scopeId, entry.key], ['personality:default', 'MEMORY.md']);
    }
    must(all.entries.some((entry) => entry.source === 'web-editor') && all.entries.some((entry) => entry.source === 'tool'), 'sources');
    same(all.corruptLines, 0);
    const paged = [];
    let cursor = null;
    do {
        const page = await client.memory.history({ limit: 1, cursor });
        paged.push(...page.entries);
        cursor = page.nextCursor;
    } while (cursor);
    same(paged, all.entries);
    const until = all.entries.at(-1).ts;
    same((await client.memory.history({ untilMs: until - 1 })).entries, []);
    same((await client.memory.history({ sinceMs: until, source: 'web-editor', key: 'MEMORY.md' })).entries,
        all.entries.filter((entry) => entry.source === 'web-editor'));
    same((await client.memory.history({ personalityId: 'coder' })).entries.length, 1);
});

await test('a long diff is cut; its blob is the whole text before', async () => {
    const long = Array.from({ length: 400 }, (_, i) => `line ${i}, ä and 漢`).join('\n');
    await client.memory.write({ store: 'memory', content: long, personalityId: 'long' });
    await client.memory.write({ store: 'memory', content: 'short', personalityId: 'long' });
    const [entry] = (await client.memory.history({ personalityId: 'long' })).entries;
    must(Buffer.byteLength(entry.diff) < 4300 && /^[0-9a-f]{64}$/.test(entry.blob), show(entry));
    same((await client.memory.historyBlob({ personalityId: 'long', blob: entry.blob })).content, `${long}\n`);
    for (const blob of ['../MEMORY', 'x', '0'.repeat(64)])
        same((await client.memory.historyBlob({ personalityId: 'long', blob })).content, null);
});

await test('what goes to the archive is in the answer, over /rpc and /api', async () => {
    const text = 'x'.repeat(99).concat('\n').repeat(6000), says = /^MEMORY.md holds 524288 characters at most: .* went to .*memory-archive.md/;
    const { file } = await client.memory.write({ store: 'memory', content: text, personalityId: 'large' });
    same(file.warnings.length, 1);
    must(says.test(file.warnings[0]), show(file.warnings));
    const answer = await fetch(`${origin}/api/memory/memory?personality=large`, {
        method: 'PUT', body: JSON.stringify({ content: text }), headers: { ...asBrowser, 'content-type': 'application/json', 'if-match': '*' },
    });
    const put = await answer.json();
    same(answer.status, 200);
    must(says.test(put.warnings?.[0]), show(put.warnings));
});

await test('memory.restore of an unknown slug, and what is pending', async () => {
    await fails(client.memory.restore({ slug: 'nothing' }), 404, 'NOT_FOUND');
    same(await client.memory.pendingList({}), { pending: [] });
    await fails(client.memory.pendingApprove({ id: 'x' }), 404, 'NOT_FOUND');
    await fails(client.memory.pendingReject({ id: 'x' }), 404, 'NOT_FOUND');
});

// ---- sessions ---------------------------------------------------------------------------------------

function makeSession(...lines) {
    const { session } = ethos(home, 'sessions', 'current', '--new', '--json');
    lines.forEach((line, i) =>
        ethosIn(home, undefined, line, 'sessions', 'append', '-', '--role', i % 2 ? 'assistant' : 'user', '--session', session.id));
    return session.id;
}

let first, second;

await test('sessions.list: all folders, newest first, in pages', async () => {
    first = makeSession('the deployment fails', 'it is redis');
    second = makeSession('what about lunch?', 'soup');
    makeSession('a third one');
    const all = await client.sessions.list({});
    same(all.items.length, 3);
    all.items.forEach(checkSession);
    const page = await client.sessions.list({ limit: 2, cursor: null });
    same(typeof page.nextCursor, 'string');
    const rest = await client.sessions.list({ limit: 2, cursor: page.nextCursor });
    same([...page.items, ...rest.items].map((one) => one.id), all.items.map((one) => one.id));
    same(rest.nextCursor, null);
    await fails(client.sessions.list({ cursor: 'nonsense!' }), 400, 'INVALID_INPUT');
});

await test('sessions.list with q: all words, the personality applies, blank is nothing', async () => {
    const found = await client.sessions.list({ q: 'redis deployment' });
    same([found.items.map((one) => one.id), found.nextCursor], [[first], null]);
    same((await client.sessions.list({ q: 'redis lunch' })).items, []);
    same((await client.sessions.list({ q: ' ' })).items.length, 3);
    same((await client.sessions.list({ q: 'redis', personalityId: 'nobody' })).items, []);
});

await test('sessions.get: oldest first, cards', async () => {
    const { session, messages, cards } = await client.sessions.get({ id: first });
    checkSession(session);
    same(messages.map((one) => one.content), ['the deployment fails', 'it is redis']);
    for (const message of messages) {
        same(message.sessionId, first);
        same([message.toolCallId, message.toolName, message.toolCalls], [null, null, null]);
        must(iso.test(message.timestamp), message.timestamp);
    }
    same(cards, []);
});

await test('sessions.fork: new ids, a parent, another personality', async () => {
    const { session } = await client.sessions.fork({ id: first, personalityId: 'coder', expectedVersion: 1 });
    checkSession(session);
    same([session.parentSessionId, session.personalityId], [first, 'coder']);
    const before = await client.sessions.get({ id: first }), after = await client.sessions.get({ id: session.id });
    same(after.messages.map((one) => one.content), before.messages.map((one) => one.content));
    must(after.messages.every((one) => !before.messages.some((old) => old.id === one.id)), 'ids');
    same((await client.sessions.delete({ id: session.id })), { ok: true });
});

await test('sessions.update and delete', async () => {
    same((await client.sessions.update({ id: second, title: 'Lunch' })).session.title, 'Lunch');
    same((await client.sessions.update({ id: second, title: null })).session.title, null);
    same((await client.sessions.update({ id: second, title: '\u{1F600}'.repeat(100) })).session.title.length, 200);
    await fails(client.sessions.update({ id: second, title: `${'\u{1F600}'.repeat(100)}x` }), 400, 'BAD_REQUEST');
    await fails(client.sessions.update({ id: second }), 400, 'BAD_REQUEST');
    await fails(client.sessions.update({ id: second, title: 'x', expectedVersion: 2 }), 409, 'CONFLICT');
    same(await client.sessions.delete({ id: second }), { ok: true });
    for (const call of ['get', 'fork', 'delete']) await fails(client.sessions[call]({ id: second }), 404, 'SESSION_NOT_FOUND');
    await fails(client.sessions.update({ id: second, title: 'x' }), 404, 'SESSION_NOT_FOUND');
    await fails(client.sessions.delete({ id: first.slice(0, 8) }), 404, 'SESSION_NOT_FOUND');
});

// ---- chat, meta, personalities ------------------------------------------------------------------------

// The first frames of a session's stream.
async function frames(id, count) {
    const answer = await fetch(`${origin}/sse/sessions/${id}`, { headers: asBrowser });
    const reader = answer.body.getReader(), decoder = new TextDecoder();
    let text = '';
    while (text.split('\n\n').length <= count) text += decoder.decode((await reader.read()).value, { stream: true });
    await reader.cancel();
    return text.split('\n\n').slice(0, count).map((frame) => JSON.parse(/^data: (.*)$/m.exec(frame)[1]));
}

await test('chat: without a model the stream of the session says so; abort is always well', async () => {
    const answer = await client.chat.send({ clientId: 'c', text: 'hello', attachments: [] });
    same(Object.keys(answer).sort(), ['sessionId', 'turnId']);
    const [meta, error] = await frames(answer.sessionId, 2);
    same(meta.type, 'stream_meta');
    same([error.type, error.code, typeof error.error], ['error', 'SETUP_REQUIRED', 'string']);
    same((await client.sessions.get({ id: answer.sessionId })).messages, []);
    same((await client.sessions.delete({ id: answer.sessionId })), { ok: true });
    same((await client.chat.send({ sessionId: 'mine', clientId: 'c', text: 'hello' })).sessionId, 'mine');
    same((await frames('mine', 2))[1].code, 'SETUP_REQUIRED');
    const file = { type: 'file', data: 'aGk=', mimeType: 'text/plain' };
    await fails(client.chat.send({ clientId: 'c', text: 'x', attachments: Array(11).fill(file) }), 400, 'INVALID_INPUT');
    same(await client.chat.abort({ sessionId: 'x' }), { ok: true });
});

await test('meta.capabilities, for any key and without an argument', async () => {
    const { capabilities } = await connect(asKey(chatKey)).meta.capabilities();
    has(capabilities, 'byok', 'voice_stt', 'voice_tts');
    must(Object.values(capabilities).every((value) => typeof value === 'boolean'), show(capabilities));
});

await test('personalities: created, read, changed, copied, deleted', async () => {
    const fields = {
        description: 'Writes code', provider: 'anthropic', model: { default: 'a', deep: 'b' }, capabilities: ['code'],
        mcp_servers: ['git'], plugins: [], streamingTimeoutMs: 5000, fs_reach: { read: ['/src'], write: null, workdir: null },
    };
    const made = await browser.personalities.create({ id: 'writer', name: 'Writer', toolset: ['read', 'write'], soulMd: 'You write.\n', ...fields });
    checkPersonality(made.personality);
    same([made.personality.id, made.personality.name, made.personality.toolset], ['writer', 'Writer', ['read', 'write']]);
    for (const [name, value] of Object.entries(fields)) same([name, made.personality[name]], [name, value]);
    const got = await client.personalities.get({ id: 'writer' });
    same([got.personality, got.soulMd, got.mcpPolicy], [made.personality, 'You write.\n', null]);
    const changed = await browser.personalities.update({ id: 'writer', description: '', name: 'Author' });
    same([changed.personality.name, changed.personality.description, changed.personality.provider], ['Author', null, 'anthropic']);
    const copy = await browser.personalities.duplicate({ id: 'writer', newId: 'writer-2' });
    checkPersonality(copy.personality);
    same([copy.personality.id, copy.personality.name], ['writer-2', 'Author (copy)']);
    const sheet = await client.personalities.characterSheet({ id: 'writer' });
    must(typeof sheet.markdown === 'string' && 'posture' in sheet, show(sheet));
    same(await browser.personalities.delete({ id: 'writer-2' }), { ok: true });
    await fails(client.personalities.get({ id: 'writer-2' }), 404, 'PERSONALITY_NOT_FOUND');
    await fails(browser.personalities.create({ id: 'writer', name: 'x', toolset: [], soulMd: '' }), 409, 'PERSONALITY_EXISTS');
    await fails(browser.personalities.create({ id: 'No Good', name: 'x', toolset: [], soulMd: '' }), 400, 'BAD_REQUEST');
});

await test('personalities.list: pages, and the active one', async () => {
    const all = await client.personalities.list({});
    all.items.forEach(checkPersonality);
    must(all.items.some((one) => one.id === all.defaultId), show(all));
    const paged = [];
    let cursor;
    do {
        const page = await client.personalities.list({ limit: 1, cursor });
        paged.push(...page.items.map((one) => one.id));
        cursor = page.nextCursor ?? undefined;
    } while (cursor);
    same(paged, all.items.map((one) => one.id));
    await fails(client.personalities.list({ cursor: 'not one of them' }), 400, 'INVALID_INPUT');
});

await test('personalities are changed by the browser only', async () => {
    await fails(client.personalities.create({ id: 'x', name: 'x', toolset: [], soulMd: '' }), 403, 'FORBIDDEN');
    await fails(client.personalities.update({ id: 'writer', name: 'x' }), 403, 'FORBIDDEN');
    await fails(client.personalities.delete({ id: 'writer' }), 403, 'FORBIDDEN');
    await fails(client.personalities.duplicate({ id: 'writer', newId: 'x' }), 403, 'FORBIDDEN');
});

// ---- forms ------------------------------------------------------------------------------------------

await test('the older line of the client reads the same', async () => {
    const older = createOlder(new OlderLink({ url: `${origin}/rpc`, headers: asKey(key) }));
    same(await older.memory.get({ store: 'memory' }), await client.memory.get({ store: 'memory' }));
    try {
        await older.sessions.get({ id: 'x' });
        must(false, 'it went well');
    } catch (error) {
        same([error.code, error.status, error.defined], ['SESSION_NOT_FOUND', 404, false]);
    }
});

await test('a base URL with a slash, and a path with one', async () => {
    const slashed = connect(asKey(key), `${origin}/rpc/`);
    same(await slashed.memory.get({ store: 'user' }), await client.memory.get({ store: 'user' }));
    same((await post('/rpc/memory/get/', { json: { store: 'user' } })).status, 200);
});

await test('what undefined, dates and URLs become', async () => {
    const found = await client.sessions.list({ q: undefined, since: new Date(0), limit: 1 });
    same(found.items.length, 1);
    for (const value of [1n, NaN, /x/, new Set(), new Map()])
        must((await failure(client.sessions.list({ q: value }))).message.startsWith('Malformed request'), String(value));
});

await test('a success is json and nothing else; the request keeps its id', async () => {
    const { answer, json } = await post('/rpc/memory/get', { json: { store: 'user' } }, { ...asKey(key), 'x-request-id': 'my-id_1=' });
    same([answer.headers.get('content-type'), Object.keys(json)], ['application/json', ['json']]);
    same(answer.headers.get('x-request-id'), 'my-id_1=');
    same(answer.headers.get('content-disposition'), null);
    const fresh = await post('/rpc/memory/get', { json: { store: 'user' } }, { ...asKey(key), 'x-request-id': 'no good!' });
    must(/^[0-9a-f-]{36}$/.test(fresh.answer.headers.get('x-request-id')), fresh.answer.headers.get('x-request-id'));
});

await test('an error of a procedure has exactly the five members', async () => {
    const missing = await post('/rpc/sessions/get', { json: { id: 'x' } });
    same(Object.keys(missing.json), ['json']);
    const { json } = await post('/rpc/memory/get', {});
    same(Object.keys(json), ['json']);
    same(Object.keys(json.json).sort(), ['code', 'data', 'defined', 'message', 'status']);
    same([json.json.code, json.json.status, json.json.message], ['BAD_REQUEST', 400, 'Input validation failed']);
    const [issue] = json.json.data.issues;
    same([issue.code, issue.path, typeof issue.message], ['invalid_type', ['store'], 'string']);
});

await test('a body that cannot be read is malformed', async () => {
    for (const body of ['{', '[]', '{"json":{"store":"user","store":"memory"}}', '{"json":{},"meta":[[3,"a"]]}']) {
        const { status, json } = await post('/rpc/memory/get', body);
        same([status, json.json.code, 'data' in json.json], [400, 'BAD_REQUEST', false]);
        must(json.json.message.startsWith('Malformed request'), json.json.message);
    }
});

await test('before a procedure both kinds of client find the cause', async () => {
    const check = ({ status, json }, expected, code) => {
        same([status, json.ok, json.code, json.json.code, json.json.status, json.json.defined],
            [expected, false, code, code, expected, false]);
        for (const name of ['error', 'action', 'requestId']) same(typeof json[name], 'string');
    };
    check(await post('/rpc/memory/get', {}, {}), 401, 'UNAUTHORIZED');
    check(await post('/rpc/memory/get', {}, asKey(`sk-ethos-${'0'.repeat(64)}`)), 401, 'UNAUTHORIZED');
    check(await post('/rpc/memory/nothing', {}), 403, 'FORBIDDEN');
    check(await post('/rpc/memory/nothing', {}, asBrowser), 404, 'NOT_FOUND');
    check(await post('/rpc/config/set', {}, asBrowser), 404, 'NOT_FOUND');
    check(await post('/rpc/memory/write', { json: { store: 'user', content: 'x' } }, asKey(readerKey)), 403, 'FORBIDDEN');
    const got = await fetch(`${origin}/rpc/memory/get`, { headers: asKey(key) });
    check({ status: got.status, json: await got.json() }, 405, 'METHOD_NOT_SUPPORTED');
    await fails(connect({}).memory.get({ store: 'user' }), 401, 'UNAUTHORIZED');
});

await test('16 MiB are taken, more is 413', async () => {
    const body = (size) => JSON.stringify({ json: { store: 'user', colour: 'x'.repeat(size) } });
    const room = 16 * 1024 * 1024 - body(0).length;
    same((await post('/rpc/memory/get', body(room))).status, 200);
    const [status, text] = await announce('/rpc/memory/get', 16 * 1024 * 1024 + 1);
    same([status, JSON.parse(text).json.code], [413, 'PAYLOAD_TOO_LARGE']);
});

await test('other operations give their own JSON, and take what a table row says', async () => {
    const found = await client.memory.search({ query: 'deploy' });
    has(found, 'hits');
    await client.memory.sync({ updates: [{ action: 'add', content: 'A list, not its text' }] });
    must(ethos(home, 'memory', 'get').includes('A list, not its text'), 'it was not added');
    await fails(client.memory.search({}), 400, 'BAD_REQUEST');
});

// ---- /api --------------------------------------------------------------------------------------------

async function api(method, path, { body, ...headers } = {}) {
    const answer = await fetch(`${origin}/api/${path}`, {
        method, body: body && JSON.stringify(body),
        headers: { ...asKey(key), ...(body && { 'content-type': 'application/json' }), ...headers },
    });
    const text = await answer.text();
    const type = answer.headers.get('content-type') ?? '';
    return { status: answer.status, etag: answer.headers.get('etag'), type, text, json: text && type.includes('json') ? JSON.parse(text) : undefined };
}

function problem(answer, status, code) {
    same([answer.status, answer.type, answer.json?.code], [status, 'application/problem+json', code]);
    has(answer.json, 'type', 'title', 'status', 'detail', 'instance', 'requestId');
}

await test('a file as a resource: 428, 412 with the tag of now, 304, and nothing is lost', async () => {
    const file = 'memory/memory?personality=api';
    problem(await api('GET', file), 404, 'notfound');
    problem(await api('PUT', file, { body: { content: 'x' } }), 428, 'precondition-required');
    const made = await api('PUT', file, { body: { content: 'One' }, 'if-none-match': '*' });
    same([made.status, made.json.content, made.etag], [201, 'One\n', `"${made.json.revision}"`]);
    const beaten = await api('PUT', file, { body: { content: 'x' }, 'if-none-match': '*' });
    problem(beaten, 412, 'conflict');
    same(beaten.etag, made.etag);
    ethos(home, '-p', 'api', 'memory', 'add', 'Two');
    const stale = await api('PUT', file, { body: { content: 'x' }, 'if-match': made.etag });
    problem(stale, 412, 'conflict');
    const now = await api('GET', file);
    same([now.status, now.etag], [200, stale.etag]);
    must(now.json.content.includes('One') && now.json.content.includes('Two'), now.json.content);
    same((await api('GET', file, { 'if-none-match': now.etag })).status, 304);
    same((await api('HEAD', file)).etag, now.etag);
    const bytes = await api('GET', file, { accept: 'text/markdown' });
    same([bytes.text, bytes.etag, bytes.type], [now.json.content, now.etag, 'text/markdown; charset=utf-8']);
    problem(await api('DELETE', file), 428, 'precondition-required');
    problem(await api('DELETE', file, { 'if-match': made.etag }), 412, 'conflict');
    same((await api('DELETE', file, { 'if-match': now.etag })).status, 204);
    problem(await api('GET', file), 404, 'notfound');
});

await test('ten clients write one file with If-Match: every text that was taken is in the history', async () => {
    const file = 'memory/memory?personality=race';
    await api('PUT', file, { body: { content: 'start' }, 'if-none-match': '*' });
    let refused = 0;
    await Promise.all(Array.from({ length: 10 }, async (_, i) => {
        for (;;) {
            const { json, etag } = await api('GET', file);
            const { status } = await api('PUT', file, { body: { content: `${json.content}writer ${i}` }, 'if-match': etag });
            if (status === 200) return;
            same(status, 412);
            refused++;
        }
    }));
    const { content } = (await api('GET', file)).json;
    for (let i = 0; i < 10; i++) must(content.includes(`writer ${i}\n`), `${i} is lost after ${refused} refusals: ${content}`);
});

await test('reads are GET, writes POST; what destroys says so', async () => {
    const list = await api('GET', 'sessions/list?all=true&limit=1');
    has(list.json, 'items', 'nextCursor');
    same((await api('HEAD', 'sessions/list')).status, 200);
    problem(await api('GET', 'sessions/list?cursor=nonsense!'), 400, 'invalid');
    problem(await api('GET', 'sessions/list?limit=many'), 400, 'invalid');
    problem(await api('GET', 'sessions/list?colour=red'), 400, 'invalid');
    problem(await api('POST', 'sessions/list', { body: {} }), 405, 'method-not-supported');
    problem(await api('POST', 'sessions/delete', { body: { id: first } }), 428, 'precondition-required');
    same((await api('POST', 'sessions/delete', { body: { id: first }, 'if-match': '*' })).status, 200);
    problem(await api('GET', `sessions/get?id=${first}`), 404, 'notfound');
});

// ---- /openapi.json --------------------------------------------------------------------------------------

const description = await (await fetch(`${origin}/openapi.json`, { headers: asKey(key) })).json();

await test('/openapi.json is a valid OpenAPI 3.1, by the recommended rules', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: JSON.stringify(description), absoluteRef: '/openapi.json', config });
    same(problems.map((one) => `${one.ruleId}: ${one.message} ${one.location?.[0]?.pointer}`), []);
});

await test('what it describes is there: every GET without a required parameter answers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ethos-work-'));
    ethosIn(home, folder, '', 'remember', 'The tests run with make check');
    const [{ id }] = (await (await fetch(`${origin}/api/workspaces/list`, { headers: asBrowser })).json()).workspaces;
    let tried = 0;
    for (const [path, methods] of Object.entries(description.paths)) {
        const get = methods.get;
        if (!get || methods.put || (get.parameters ?? []).some((one) => one.required)) continue;
        const answer = await fetch(`${origin}${path}?workspaceId=${id}`, { headers: asBrowser });
        must(answer.status === 200, `${path}: ${answer.status} ${await answer.text()}`);
        tried++;
    }
    must(tried > 8, `only ${tried}`);
});

await test('what it says is required is required: every POST with an empty body is 400', async () => {
    for (const [path, methods] of Object.entries(description.paths)) {
        if (!methods.post?.requestBody?.content['application/json'].schema.required.length) continue;
        const answer = await fetch(`${origin}${path}`, {
            method: 'POST', body: '{}', headers: { ...asBrowser, 'content-type': 'application/json', 'if-match': '*' },
        });
        must(answer.status === 400, `${path}: ${answer.status} ${await answer.text()}`);
    }
});

// ---- what it says of answers ----------------------------------------------------------------------------

const schemaOf = (path, method) => description.paths[path]?.[method]?.responses['200']?.content['application/json'].schema;

await test('every operation says what it gives', () => {
    for (const [path, methods] of Object.entries(description.paths))
        for (const [method, one] of Object.entries(methods))
            if (one.operationId && one.responses['200']) {
                const schema = schemaOf(path, method);
                must(schema && (Object.keys(schema).length > 0 || path.startsWith('/api/store/')), `${method} ${path}: ${show(schema)}`);
            }
});

await test('operations that take arguments give what they say', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ethos-work-'));
    ethosIn(home, folder, '', 'remember', 'Deploy on Fridays, see [[nothing]]', '--title', 'Deploying');
    ethosIn(home, folder, '', 'sessions', 'append', 'How do we deploy?');
    const { id } = ethosIn(home, folder, '', 'workspaces', 'where', '--json');
    const [session] = (await api('GET', 'sessions/list?all=true')).json.items;
    const at = (path) => `${path}${path.includes('?') ? '&' : '?'}workspaceId=${id}`;
    for (const path of ['notes/get?name=Deploying', 'notes/show?name=Deploying', 'notes/list', 'notes/graph', 'memory/search?query=deploy', 'memory/list',
        'memory/history?diff=true', 'memory/timeline?diff=true', 'memory/diff', 'memory/blame', 'memory/prefetch?query=deploy', 'workspaces/where', 'memory/insights',
        `sessions/get?id=${session.id}`, 'sessions/search?query=deploy', 'users/show', 'personalities/get', 'personalities/characterSheet', 'conflicts/list',
        `memory/merge?base=${encodeURIComponent('a\n')}&yours=${encodeURIComponent('b\n')}&theirs=${encodeURIComponent('c\n')}`, `sessions/export?id=${session.id}`, 'memory/historyBlob?blob=x', 'markdown/render?content=hi'])
        must((await fetch(`${origin}/api/${at(path)}`, { headers: asBrowser })).status === 200, path);
    const write = async (path, body) => {
        const answer = await fetch(`${origin}/api/${path}`, {
            method: 'POST', body: JSON.stringify(body), headers: { ...asBrowser, 'content-type': 'application/json', 'if-match': '*' },
        });
        const text = await answer.text();
        must(answer.status === 200, `${path}: ${answer.status} ${text}`);
        return JSON.parse(text);
    };
    const workspaceId = id;
    await write('memory/sync', { updates: [{ action: 'add', content: 'Synced' }] });
    await write('memory/sync', { updates: [{ action: 'add', content: 'Tried' }], dryRun: true });
    await write('memory/save', { content: 'Saved\n' });
    await write('memory/write', { content: 'Written\n' });
    await write('memory/undo', {});
    await write('memory/restore', { revision: '1' });
    await write('memory/tool', { input: '{"command":"view","path":"/memories"}' });
    await write('notes/remember', { content: 'Another', title: 'Another', workspaceId });
    await write('notes/move', { name: 'Another', newName: 'Moved', workspaceId });
    await write('notes/check', { workspaceId });
    await write('notes/reindex', { workspaceId });
    await write('notes/remove', { name: 'Moved', workspaceId });
    await write('sessions/update', { id: session.id, title: 'Titled' });
    await write('sessions/pin', { id: session.id });
    await write('sessions/unpin', { id: session.id });
    const { session: copy } = await write('sessions/fork', { id: session.id });
    await write('sessions/undo', { id: copy.id });
    await write('sessions/delete', { id: copy.id });
    await write('sessions/prune', { olderThan: '90d' });
    await write('chat/send', { text: 'hello' });
    await write('chat/abort', { sessionId: 'x' });
    await write('users/resolve', { platform: 'telegram', platformUserId: '4711' });
    await write('personalities/create', { id: 'typed', description: 'x' });
    await write('personalities/update', { id: 'typed', description: 'y' });
    await write('personalities/duplicate', { id: 'typed', newId: 'typed2' });
    await write('personalities/delete', { id: 'typed2' });
    const made = await write('apiKeys/create', { name: 'typed', scope: ['memory:read'], only: ['personality:typed'] });
    await write('apiKeys/revoke', { prefix: made.prefix });
});

await test('every answer of /api that these tests got is what /openapi.json says', () => {
    const paths = new Set();
    for (const { method, path, json } of seen) {
        const schema = schemaOf(path, method);
        if (!schema) continue; // a file as a resource
        const found = problems(schema, json, description);
        must(found.length === 0, `${method} ${path}: ${found.slice(0, 5).join('; ')} in ${show(json).slice(0, 600)}`);
        paths.add(`${method} ${path}`);
    }
    const list = schemaOf('/api/sessions/list', 'get');
    for (const wrong of [{}, { items: {}, nextCursor: null }, { items: [{ id: 1 }], nextCursor: null }, { items: [], nextCursor: 1 }])
        must(problems(list, wrong, description).length > 0, `${show(wrong)} passes`);
    must(paths.size > 55, `only ${paths.size} operations were seen: ${[...paths].join(', ')}`);
});

await test('a typed client can be made of it, and what it types compiles', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ethos-types-'));
    writeFileSync(join(folder, 'api.d.ts'), astToString(await openapiTS(structuredClone(description))));
    writeFileSync(join(folder, 'good.ts'), `import type { paths } from './api.d.ts';
type Answer<P extends keyof paths, M extends 'get' | 'post'> = paths[P][M] extends { responses: { 200: { content: { 'application/json': infer T } } } } ? T : never;
export const text = (list: Answer<'/api/sessions/list', 'get'>): string => list.items.map((one) => one.title ?? one.id).join(list.nextCursor ?? '');
export const lines = (report: Answer<'/api/notes/remember', 'post'>): number => report.applied + report.written.length + report.key.length;
export const who = (page: Answer<'/api/memory/history', 'get'>): Array<string | null> => page.items.map((one) => one.actor);
`);
    writeFileSync(join(folder, 'bad.ts'), `import type { paths } from './api.d.ts';
type Answer<P extends keyof paths, M extends 'get' | 'post'> = paths[P][M] extends { responses: { 200: { content: { 'application/json': infer T } } } } ? T : never;
export const wrong = (list: Answer<'/api/sessions/list', 'get'>): number => list.items[0].title;
`);
    const compile = (name) => {
        const options = { strict: true, noEmit: true, skipLibCheck: false, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, allowImportingTsExtensions: true, types: [] };
        return ts.getPreEmitDiagnostics(ts.createProgram([join(folder, name)], options)).map((one) => ts.flattenDiagnosticMessageText(one.messageText, ' '));
    };
    same(compile('good.ts'), []);
    must(compile('bad.ts').length > 0, 'a wrong use compiles');
});

await server.stop();
finish();

// sdk.mjs: sdk/js against a server that can be made to misbehave, and against the real one.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { bin, ethos as run, makeHome, serve, tree } from './server.mjs';
import { finish, must, test } from './tap.mjs';

const sdk = join(tree, 'sdk/js');
const { createClient, EthosError } = await import(pathToFileURL(join(sdk, 'ethos.js')));

const same = (a, b) => must(JSON.stringify(a) === JSON.stringify(b), `${JSON.stringify(a)} is not ${JSON.stringify(b)}`);

async function failure(promise) {
    try {
        await promise;
    } catch (error) {
        return error;
    }
    throw new Error('it went well');
}

// ---- a server of our own ----------------------------------------------------------------------------

const json = (status, body, headers = {}) =>
    new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });

// A client whose every request `answer` answers; what was asked is kept.
function pretend(answer, options = {}) {
    const asked = [];
    const fetch = async (url, init) => {
        asked.push({ url, ...init });
        return answer(asked.length, init);
    };
    return { asked, client: createClient({ baseUrl: 'http://host/prefix/', ...options, fetch }) };
}

// A body that comes in the pieces given, and then ends, breaks, or stays open.
function pieces(parts, end = 'close') {
    const left = [...parts];
    return new Response(new ReadableStream({
        pull(controller) {
            const part = left.shift();
            if (part !== undefined)
                controller.enqueue(typeof part === 'string' ? new TextEncoder().encode(part) : part);
            else if (end === 'close') controller.close();
            else if (end === 'break') controller.error(new TypeError('reset'));
        },
    }, { highWaterMark: 0 }));
}

// The events of a stream, until `count` of them came.
function collect(client, count, options = {}) {
    const events = [], errors = [];
    return new Promise((resolve) => {
        const stream = client.events({
            ...options,
            onEvent(event, id) {
                events.push([event, id]);
                if (events.length === count) {
                    stream.close();
                    resolve({ events, errors, stream });
                }
            },
            onError: (error) => errors.push(error),
        });
    });
}

await test('a call is a POST of the envelope below the prefix of the base URL, with the key', async () => {
    const { asked, client } = pretend(() => json(200, { json: { file: 1 } }), { apiKey: 'sk-ethos-1' });
    same(await client.memory.get({ store: 'user' }), { file: 1 });
    same([asked[0].url, asked[0].method, asked[0].body],
        ['http://host/prefix/rpc/memory/get', 'POST', '{"json":{"store":"user"}}']);
    same([asked[0].headers.authorization, asked[0].credentials], ['Bearer sk-ethos-1', 'omit']);
});

await test('a call without input sends an empty object; call() is the same by name', async () => {
    const { asked, client } = pretend(() => json(200, { json: null }));
    same(await client.meta.capabilities(), null);
    same(await client.call('meta.capabilities'), null);
    same(asked.map((one) => [one.url, one.body]), [
        ['http://host/prefix/rpc/meta/capabilities', '{}'], ['http://host/prefix/rpc/meta/capabilities', '{}']]);
});

await test('the client can be awaited and printed', async () => {
    const { asked, client } = pretend(() => json(200, { json: null }));
    same((await client) === client, true);
    `${Object.prototype.toString.call(client)}`;
    same(asked.length, 0);
});

await test('each form of an error gives code, status, message, data and request id', async () => {
    const forms = [
        { json: { defined: false, code: 'X_CODE', status: 409, message: 'words', data: { action: 'do' } } },
        { ok: false, code: 'X_CODE', error: 'words', action: 'do', requestId: 'r' },
        { type: 'about:blank', title: 'no', detail: 'words', code: 'X_CODE', status: 409, action: 'do' },
        { ok: false, code: 'X_CODE', error: 'less', json: { code: 'X_CODE', message: 'words', data: { action: 'do' } } },
    ];
    for (const form of forms) {
        const { client } = pretend(() => json(409, form, { 'x-request-id': 'r' }));
        const error = await failure(client.memory.get({}));
        must(error instanceof EthosError && error instanceof Error, 'its class');
        same([error.code, error.status, error.message, error.data, error.requestId],
            ['X_CODE', 409, 'words', { action: 'do' }, 'r']);
    }
});

await test('what is no answer of ours is BAD_ANSWER, no answer is NETWORK, an abort is an abort', async () => {
    const html = () => new Response('<html>', { status: 200 });
    same((await failure(pretend(html).client.memory.get({}))).code, 'BAD_ANSWER');
    same((await failure(pretend(() => new Response('', { status: 502 })).client.memory.get({}))).code, 'BAD_ANSWER');
    same((await failure(pretend(() => json(200, [])).client.memory.get({}))).code, 'BAD_ANSWER');
    const error = await failure(pretend(() => { throw new TypeError('refused'); }).client.memory.get({}));
    same([error.code, error.status], ['NETWORK', 0]);
    const broken = await failure(pretend(() => pieces(['{"json":'], 'break')).client.memory.get({}));
    same([broken.code, broken.status], ['NETWORK', 0]);
    const slow = (_, { signal }) => new Response(new ReadableStream({
        start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
    }));
    const patience = new AbortController();
    setTimeout(() => patience.abort(new DOMException('too late', 'TimeoutError')), 20);
    same((await failure(pretend(slow).client.memory.get({}, { signal: patience.signal }))).name, 'TimeoutError');
    const control = new AbortController();
    control.abort();
    const { client } = pretend((_, init) => { init.signal.throwIfAborted(); });
    same((await failure(client.memory.get({}, { signal: control.signal }))).name, 'AbortError');
});

await test('events survive every cut: within a character, between CR and LF, byte by byte', async () => {
    const text = '\uFEFFretry: 10\r\n\r\n: beat\r\rid: a-1\r\ndata: {"type":"x",\r\ndata: "n":"日🎉"}\r\n\r\n'
        + 'id: a-2\rdata:{"type":"y"}\r\rid: a-3\ndata: {"type":"z"}\n\n';
    const want = [[{ type: 'x', n: '日🎉' }, 'a-1'], [{ type: 'y' }, 'a-2'], [{ type: 'z' }, 'a-3']];
    const bytes = new TextEncoder().encode(text);
    for (let at = 1; at < bytes.length; at++) {
        const { client } = pretend(() => pieces([bytes.subarray(0, at), bytes.subarray(at)], 'open'));
        same((await collect(client, 3)).events, want);
    }
    const { client } = pretend(() => pieces(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)), 'open'));
    same((await collect(client, 3)).events, want);
});

const frame = (id, event) => `${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;
const quick = 'retry: 1\n\n';

await test('a stream that ends or breaks is opened again behind the last event, which is told', async () => {
    const answers = [
        pieces([quick, frame('a-0', { type: 'hello' }), frame('a-1', { n: 1 }), 'id: a-2\ndata: {"n"']),
        pieces([frame('a-0', { type: 'hello' }), frame('a-2', { n: 2 })], 'break'),
        pieces([frame('a-3', { n: 3 })], 'open'),
    ];
    const { asked, client } = pretend((number) => answers[number - 1]);
    const { events, errors } = await collect(client, 5);
    same(events.map(([event]) => event.n ?? event.type), ['hello', 1, 'hello', 2, 3]);
    same(asked.map((one) => new URL(one.url).searchParams.get('lastEventId')), [null, 'a-1', 'a-2']);
    same(errors.length, 2);
});

await test('repeats are dropped, also across connections', async () => {
    const answers = [
        pieces([quick, frame('a-1', { n: 1 }), frame('a-2', { n: 2 }), frame('a-1', { n: 1 })]),
        pieces([frame('a-1', { n: 1 }), frame('a-2', { n: 2 }), frame('a-3', { n: 3 })], 'open'),
    ];
    const { client } = pretend((number) => answers[number - 1]);
    same((await collect(client, 3)).events.map(([event]) => event.n), [1, 2, 3]);
});

await test('another run of the server begins anew, and so does a reset', async () => {
    const answers = [
        pieces([quick, frame('a-7', { n: 1 })]),
        pieces([frame('b-0', { type: 'hello' }), frame('b-1', { n: 2 }), frame('b-0', { type: 'reset' }), frame('b-1', { n: 3 })], 'open'),
    ];
    const { client } = pretend((number) => answers[number - 1]);
    same((await collect(client, 5)).events.map(([event]) => event.n ?? event.type), [1, 'hello', 2, 'reset', 3]);
});

await test('a numbered stream begins anew only when the server took our point and counts lower', async () => {
    const meta = (id) => frame(id, { type: 'stream_meta' });
    const restarted = [
        pieces([quick, meta(0), frame(1, { n: 1 }), frame(2, { n: 2 })]),
        pieces([meta(2), frame(1, { n: 3 })], 'open'),
    ];
    same((await collect(pretend((number) => restarted[number - 1]).client, 5)).events.map(([event]) => event.n ?? 'meta'),
        ['meta', 1, 2, 'meta', 3]);
    const forgetful = [
        pieces([quick, meta(null), frame(1, { n: 1 }), frame(2, { n: 2 })]),
        pieces([meta(null), frame(1, { n: 1 }), frame(2, { n: 2 }), frame(3, { n: 3 })], 'open'),
    ];
    same((await collect(pretend((number) => forgetful[number - 1]).client, 5)).events.map(([event]) => event.n ?? 'meta'),
        ['meta', 1, 2, 'meta', 3]);
});

await test('a refusal ends the stream, a failure of the server does not', async () => {
    const { asked, client } = pretend((number) => (number === 1
        ? json(503, { code: 'SERVICE_UNAVAILABLE', error: 'busy' }) : json(401, { code: 'UNAUTHORIZED', error: 'key' })));
    const errors = [];
    await client.events({ onError: (error) => errors.push(error.code) }).closed;
    same([asked.length, errors], [2, ['SERVICE_UNAVAILABLE', 'UNAUTHORIZED']]);
});

await test('a stream that falls silent is given up and opened again', async () => {
    const { asked, client } = pretend((number) => pieces([quick, frame(`a-${number}`, { n: number })], 'open'));
    const { errors } = await collect(client, 2, { silenceMs: 30 });
    same([asked.length, errors.map((error) => error.message)], [2, ['the stream fell silent']]);
});

await test('the pause before coming back grows to what was told, and no further', async () => {
    const { asked, client } = pretend((number) => (number < 12 ? json(503, { code: 'SERVICE_UNAVAILABLE', error: 'busy' }) : json(401, { code: 'UNAUTHORIZED', error: 'key' })));
    await client.events({ maxPauseMs: 5 }).closed; // twelve pauses that double would take half an hour
    same(asked.length, 12);
});

await test('a signal closes the stream', async () => {
    const control = new AbortController();
    const { client } = pretend(() => pieces([quick], 'open'));
    const stream = client.events({ signal: control.signal });
    control.abort();
    await stream.closed;
});

// ---- types ------------------------------------------------------------------------------------------

await test('index.d.ts is what the program prints', () => {
    const printed = execFileSync(join(bin, '../libexec/ethos-serve'), ['--generate-types'], { encoding: 'utf8' });
    must(printed === readFileSync(join(sdk, 'index.d.ts'), 'utf8'),
        'it differs: build/libexec/ethos-serve --generate-types >sdk/js/index.d.ts');
});

await test('the types compile, know their members and refuse what is wrong', () => {
    const use = join(process.env.HOME, 'use.mts');
    writeFileSync(use, `
import { createClient, EthosError, type MemoryFile } from '${sdk}/index.js';
const ethos = createClient({ baseUrl: 'http://localhost:3000' });
const file: MemoryFile = (await ethos.memory.get({ store: 'user' })).file;
await ethos.memory.write({ store: 'memory', content: file.content, expectedRevision: file.revision ?? undefined });
const titles: Array<string | null> = (await ethos.sessions.list()).items.map((one) => one.title);
await ethos.notes.list({ stale: true, workspaceId: 'x' }, { signal: new AbortController().signal });
ethos.events({ onEvent(event) { if (event.type === 'memory.changed') event.actor?.trim(); } });
if (new EthosError().code === 'MEMORY_CONFLICT') titles.pop();
// @ts-expect-error: no such file
await ethos.memory.get({ store: 'soul' });
// @ts-expect-error: an id is missing
await ethos.sessions.get();
// @ts-expect-error: no such operation
await ethos.memory.explode();
// @ts-expect-error: never over the wire
await ethos.admin.doctor();
`);
    const tsc = join(process.env.HOME, 'node_modules/typescript/bin/tsc');
    try {
        execFileSync('node', [tsc, '--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext',
            '--lib', 'es2022,dom', use], { encoding: 'utf8', stdio: 'pipe' });
    } catch (error) {
        throw new Error(error.stdout);
    }
});

// ---- the real server --------------------------------------------------------------------------------

const home = makeHome();
run(home, 'memory', 'add', '--store', 'user', 'Prefers short answers');
const key = run(home, 'api-key', 'create', 'sdk', '--scope', 'memory:read', '--scope', 'memory:write',
    '--scope', 'sessions:read', '--scope', 'sessions:write', '--scope', 'personalities:read',
    '--scope', 'events:subscribe', '--json').key;
let server = await serve(home);
const real = createClient({ baseUrl: server.origin, apiKey: key });

await test('a file is read and written, and the agent sees it', async () => {
    const { file } = await real.memory.get({ store: 'user' });
    same([file.store, file.content], ['user', 'Prefers short answers\n']);
    const content = 'Prefers short answers\nLives in Zürich 🎉\n';
    const written = (await real.memory.write({ store: 'user', content, expectedRevision: file.revision })).file;
    same([written.content, written.path], [content, file.path]);
    same(run(home, 'memory', 'get', '--store', 'user'), content);
    const error = await failure(real.memory.write({ store: 'user', content: 'x', expectedRevision: file.revision }));
    same([error.code, error.status], ['MEMORY_CONFLICT', 409]);
    same(run(home, 'memory', 'get', '--store', 'user'), content);
});

await test('entries are listed, found, added, changed and deleted, and one that is not there any more is a conflict', async () => {
    await real.memory.write({ store: 'memory', content: '# Work\n\n- We deploy on Fridays\n- Tests need Redis ^redis\n' });
    const { items } = await real.memory.chunks.list();
    same(items.map((one) => [one.content, one.path, one.line, one.archived]),
        [['We deploy on Fridays', ['Work'], 3, false], ['Tests need Redis', ['Work'], 4, false]]);
    const found = (await real.memory.chunks.search({ query: 'When do we deploy?', topK: 1 })).items;
    same(found.map((one) => one.id), [items[0].id]);
    const { chunk, previousId } = await real.memory.chunks.update({ id: items[0].id, content: 'We deploy on Mondays' });
    same([chunk.content, previousId === items[0].id, chunk.id !== previousId], ['We deploy on Mondays', true, true]);
    const error = await failure(real.memory.chunks.delete({ id: items[0].id }));
    same([error.code, error.status, error.data.nearest.id], ['MEMORY_CONFLICT', 409, chunk.id]);
    same((await failure(real.memory.chunks.update({ id: '^redis', content: 'x' }))).status, 400); // no revision
    const added = (await real.memory.chunks.add({ content: 'Lunch at noon', id: 'lunch' })).chunk;
    same([added.id, added.source, (await real.memory.chunks.get({ id: added.id })).chunk.content], ['^lunch', 'tool', 'Lunch at noon']);
    same((await real.memory.chunks.delete({ id: '^redis', ifRevision: items[1].revision })).ok, true);
    same(run(home, 'memory', 'get'), '# Work\n\n- We deploy on Mondays\n- Lunch at noon ^lunch\n');
});

await test('/api/memory/chunks: entries as resources, with ETag and If-Match', async () => {
    const api = async (method, path, body, headers = {}) => {
        const answer = await real.request(`/api/memory/chunks${path}`, {
            method, headers: { 'content-type': 'application/json', ...headers }, body: body && JSON.stringify(body),
        }).catch((error) => error);
        return { status: answer.status, etag: answer.headers?.get('etag'), body: answer.json ? await answer.json() : answer };
    };
    const list = (await api('GET', '')).body.items;
    same(list.map((one) => one.id).slice(1), ['^lunch']);
    same((await api('GET', '?q=When%20is%20lunch&topK=1')).body.items.map((one) => one.id), ['^lunch']);
    const one = await api('GET', `/${encodeURIComponent('^lunch')}`);
    same([one.body.chunk.content, one.etag], ['Lunch at noon', `"${list[1].revision}"`]);
    const put = await api('PUT', '/%5Elunch', { content: 'Lunch at one' }, { 'if-match': one.etag });
    same([put.status, put.body.chunk.content, put.etag !== one.etag], [200, 'Lunch at one', true]);
    same((await api('PUT', '/%5Elunch', { content: 'Lunch at two' }, { 'if-match': one.etag })).status, 412);
    same((await api('DELETE', '/0123456789abcdef')).status, 409);
    same((await api('GET', '/0123456789abcdef')).status, 404);
    same((await api('PATCH', '', {})).status, 405);
    const made = await api('POST', '', { content: 'Tea at four', under: 'Work' });
    same([made.status, made.body.chunk.path, made.etag], [200, ['Work'], `"${made.body.chunk.revision}"`]);
    same((await api('DELETE', `/${made.body.chunk.id}`)).body.ok, true);
    same((await api('DELETE', '/%5Elunch', undefined, { 'if-match': put.etag })).body.ok, true);
    same(run(home, 'memory', 'get'), '# Work\n\n- We deploy on Mondays\n');
});

await test('lists, history and capabilities have their stable form', async () => {
    same((await real.memory.list()).items.map((one) => one.store), ['memory', 'user']);
    must(Array.isArray((await real.memory.history({})).entries), 'entries');
    same((await real.sessions.list()).items, []);
    must(typeof (await real.personalities.list()).defaultId === 'string', 'defaultId');
    must(typeof (await real.meta.capabilities()).capabilities === 'object', 'capabilities');
});

await test('a conversation is forked, renamed and deleted', async () => {
    const id = run(home, 'sessions', 'append', 'What do we deploy on Fridays?', '--json').session.id;
    const { messages } = await real.sessions.get({ id });
    same(messages.map((one) => one.content), ['What do we deploy on Fridays?']);
    const copy = (await real.sessions.fork({ id })).session;
    same([copy.parentSessionId, (await real.sessions.update({ id: copy.id, title: 'A copy' })).session.title], [id, 'A copy']);
    same(await real.sessions.delete({ id: copy.id }), { ok: true });
    same((await failure(real.sessions.get({ id: copy.id }))).code, 'SESSION_NOT_FOUND');
});

await test('errors of the real server: an unknown call, a wrong key', async () => {
    same((await failure(real.call('memory.explode'))).status >= 400, true);
    same((await failure(createClient({ baseUrl: server.origin, apiKey: `sk-ethos-${'0'.repeat(64)}` }).memory.get({ store: 'user' }))).code,
        'UNAUTHORIZED');
});

await test('no event is lost or repeated while the server ends and begins again', async () => {
    const seen = [];
    let more = () => {};
    const until = (holds) => new Promise((resolve) => {
        more = () => holds() && resolve();
        more();
    });
    const opened = { count: 0 };
    const stream = real.events({
        onOpen: () => { opened.count++; more(); },
        onEvent(event) { seen.push(event); more(); },
    });
    const lines = () => seen.filter((one) => one.type === 'memory.changed').map((one) => one.line);
    await until(() => seen.some((one) => one.type === 'hello'));
    run(home, 'memory', 'add', 'first');
    await until(() => lines().includes('+first'));
    const port = new URL(server.origin).port;
    await server.stop();
    server = await serve(home, '--port', port);
    await until(() => seen.filter((one) => one.type === 'hello').length === 2);
    run(home, 'memory', 'add', 'second');
    await until(() => lines().includes('+second'));
    stream.close();
    await stream.closed;
    same(lines().filter((line) => ['+first', '+second'].includes(line)), ['+first', '+second']);
});

await test('every route that the server describes is a method of the types', async () => {
    const described = await (await real.request('/openapi.json')).json();
    const types = readFileSync(join(sdk, 'index.d.ts'), 'utf8');
    const names = Object.values(described.paths).flatMap((item) => Object.values(item)).map((one) => one.operationId).filter((name) => /^\w+(\.\w+)+$/.test(name)).filter((name) => !/^memory\.(memory|user)\.|^memory\.chunks\.(all|post|read|replace|remove)$/.test(name));
    must(names.length > 20, 'operations');
    const missing = names.filter((name) => !types.includes(`Args<'${name}'`));
    same(missing, []);
});

await server.stop();
finish();

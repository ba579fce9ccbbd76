// names.mjs: names that want to be paths, in every text argument of every operation, on /rpc and on /api, and in
// paths themselves: nothing outside the home is read or changed, nothing in it gets a strange name, and every
// answer is one.
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ethosIn, serve } from './server.mjs';
import { finish, must, test } from './tap.mjs';

const EACH = 24; // names that an argument is tried with; all are used again and again
const AT_ONCE = 8;

// ---- a home, and what is around it -----------------------------------------------------------------

const world = mkdtempSync(join(tmpdir(), 'ethos-names-'));
const home = join(world, 'state', '.ethos'), outside = join(world, 'outside'), project = join(world, 'project');
const SECRET = 'canary-4b1e86d0';
for (const folder of [join(world, 'state'), outside, join(outside, 'notes'), project]) mkdirSync(folder);
for (const name of ['MEMORY.md', 'USER.md', 'canary.md', 'canary', 'notes/canary.md', '../canary.md', '../state/canary.md'])
    writeFileSync(join(outside, name), `${SECRET}\n`);
ethosIn(home, project, '', 'memory', 'add', 'We deploy on Fridays');
ethosIn(home, project, '', 'remember', '--title', 'Testing', 'The tests need Redis');
ethosIn(home, project, '', 'sessions', 'append', 'Why do the tests need Redis?');

// Every path below a folder, but for those below `but`, with what is there.
function look(folder, but, found = []) {
    for (const name of readdirSync(folder).sort()) {
        const path = join(folder, name), stat = lstatSync(path);
        if (path === but) continue;
        found.push([path, stat.mode, stat.isFile() ? stat.mtimeMs : 0, stat.isFile() ? readFileSync(path, 'utf8') : '']);
        if (stat.isDirectory()) look(path, but, found);
    }
    return found;
}

// ---- the names ---------------------------------------------------------------------------------------

const targets = [
    '..', '../..', '../../..', '../canary.md', '../../outside/canary.md', '../../../outside/canary', '../../outside/notes/canary.md',
    '/etc/passwd', '/etc/hostname', join(outside, 'canary.md'), join(outside, 'MEMORY.md'), outside, world, '/', '/proc/self/environ',
    './../canary.md', 'a/../../canary.md', 'notes/../../../canary.md', '.mem/../../../canary.md', '.', '~/canary.md',
];
const bytes = (text, from, ...to) => Buffer.concat(text.split(from).flatMap((part, i) => (i ? [Buffer.from(to), Buffer.from(part)] : [Buffer.from(part)])));
const disguises = [
    (name) => name, (name) => `${name}.md`, (name) => `${name}/`, (name) => `/${name}`, (name) => `//${name}`, (name) => name.replaceAll('/', '//'),
    (name) => name.replaceAll('/', '\\'), (name) => name.replaceAll('.', '%2e'), (name) => name.replaceAll('/', '%2f'),
    (name) => name.replaceAll('.', '%252e').replaceAll('/', '%252f'), (name) => `${name}\0`, (name) => `${name}\0.md`, (name) => `\0${name}`, (name) => `${name}\n`,
    (name) => name.replaceAll('.', '\uff0e').replaceAll('/', '\uff0f'), (name) => name.replaceAll('/', '\u2215'), (name) => bytes(name, '.', 0xc0, 0xae),
    (name) => bytes(name, '/', 0xc0, 0xaf), (name) => bytes(name, '.', 0xe0, 0x80, 0xae), (name) => bytes(name, '/', 0xff), (name) => `file://${name}`,
    (name) => `personality:${name}`, (name) => `user:${name}`, (name) => `workspace:${name}`, (name) => `team:${name}`, (name) => `sha256:${name}`,
];
const odd = [
    '', ' ', '.md', '..md', '...', '.git/config', '.mem', '.mem/history', '.lock', 'MEMORY.md/..', 'CON', 'NUL.md', 'aux', 'C:\\canary.md', '\\\\host\\canary',
    '-rf', '--help', '$HOME', '`id`', '$(id)', '%00', '%', '%2', 'a'.repeat(128), 'a'.repeat(129), 'a'.repeat(4096), '../'.repeat(1365), 'ä'.repeat(2048), `${'a'.repeat(125)}.md`,
    'personality', 'personality:', 'user:', 'workspace', 'workspace:', 'team:', ':', 'personality:default/../..', 'user:a:b', '\u202egnp.md', '\ud800', '__proto__', 'constructor', '\x7f', '\x1b[31m', "'; drop table sessions; --", '"', '*', '?', '[a-z]',
    'web-token', 'sessions.db', 'config.yaml', '0'.repeat(64), `${'0'.repeat(62)}/.`, 'null', 'true', '-1', '9223372036854775808',
];
const names = [...targets.flatMap((target) => disguises.map((disguise) => disguise(target))), ...odd].map((name) => Buffer.from(name));

// ---- asking -------------------------------------------------------------------------------------------

const server = await serve(home, '--workspace', project);
const { port } = new URL(server.origin);
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
const cookie = (await fetch(server.loginUrl, { redirect: 'manual' })).headers.get('set-cookie').split(';')[0];

function ask(method, path, body, more = {}) {
    const headers = { cookie, origin: server.origin, ...(body ? { 'content-type': 'application/json', 'content-length': body.length } : {}), ...more };
    return new Promise((resolve, reject) => {
        const on = request({ host: 'localhost', port, agent, method, path, headers }, (answer) => {
            const parts = [];
            const done = () => resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(parts).toString() });
            answer.on('data', (part) => {
                parts.push(part);
                if (answer.headers['content-type'] === 'text/event-stream') { done(); on.destroy(); }
            });
            answer.on('end', done);
        });
        on.on('error', reject);
        on.end(body);
    });
}

const paragraph = (name) => JSON.stringify(name.toString()).slice(0, 80);
const statuses = {};
let asked = 0;

function judge(what, name, answer) {
    const told = `${what} ${paragraph(name)}: ${answer.status} ${answer.text.slice(0, 300)}`;
    asked++;
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    const noModel = answer.status === 501 && what.includes('/chat/');
    must(answer.status >= 200 && (answer.status < 500 || noModel), told);
    must(!answer.text.includes(SECRET), `it was read: ${told}`);
    must(answer.headers['x-request-id'], `no id: ${told}`);
    if (/json/.test(answer.headers['content-type'] ?? '')) must(typeof JSON.parse(answer.text) === 'object', told);
    else must(!/^\/(rpc|api)/.test(what) || answer.text === '', `no JSON: ${told}`);
}

// As JSON, with the bytes of the name where the mark is.
function jsonWith(value, name) {
    const [before, after] = JSON.stringify(value).split('@name@');
    const text = name.toString();
    const valid = Buffer.from(text).equals(name);
    const quoted = valid ? Buffer.from(JSON.stringify(text).slice(1, -1)) : name;
    return Buffer.concat([Buffer.from(before), quoted, Buffer.from(after)]);
}

const encoded = (name) => [...name].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

// All of [what, name, run]; a few that were answered badly are told.
async function askAll(tasks, atOnce = AT_ONCE) {
    const list = tasks[Symbol.iterator](), complaints = [];
    const work = async () => {
        for (const [what, name, run] of list)
            await run().then((answer) => judge(what, name, answer)).catch((error) => complaints.push(`${what}: ${error.message}`));
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    must(complaints.length === 0, `${complaints.length} complaints:\n${complaints.slice(0, 10).join('\n')}`);
}

// ---- the arguments ------------------------------------------------------------------------------------

const spec = JSON.parse((await ask('GET', '/openapi.json')).text);
const found = (one) => (one.$ref ? one.$ref.split('/').slice(1).reduce((at, part) => at[part], spec) : one);

// {path, method, name, fixed}: every argument that takes a text; fixed is what else the operation needs.
function* textArguments() {
    for (const [path, item] of Object.entries(spec.paths)) {
        for (const method of ['get', 'post', 'put', 'delete'].filter((one) => item[one])) {
            const parameters = [...(item.parameters ?? []), ...(item[method].parameters ?? [])].map(found).filter((one) => one.in === 'query');
            const schema = item[method].requestBody?.content?.['application/json']?.schema ?? { properties: {}, required: [] };
            const fields = [...parameters.map((one) => ['query', one.name, one.schema, one.required]),
                ...Object.entries(schema.properties ?? {}).map(([name, one]) => ['body', name, one, schema.required?.includes(name)])];
            const needs = fields.filter(([, , , required]) => required);
            for (const [where, name, one] of fields.filter(([, , one]) => [one.type, one.items?.type].flat().includes('string') && !one.enum))
                yield { path, method, where, name, many: one.type === 'array', needs: needs.filter(([, other]) => other !== name) };
        }
    }
}

const plain = ([, , schema]) => (schema.enum?.[0] ?? (schema.type === 'integer' ? 1 : schema.type === 'boolean' ? true : schema.type === 'array' ? [plain(['', '', schema.items])] : 'x'));

function* requests() {
    let turn = 0;
    for (const argument of textArguments()) {
        for (let i = 0; i < EACH; i++) {
            const name = names[(turn += 7) % names.length];
            const { path, method, where, needs } = argument;
            const mark = argument.many ? ['@name@'] : '@name@';
            const fixed = Object.fromEntries(needs.map((need) => [need[1], plain(need)]));
            yield [`${path} ${argument.name}`, name, () => {
                const query = needs.filter(([place]) => place === 'query').map((need) => `${need[1]}=${plain(need)}`);
                if (where === 'query') query.push(`${argument.name}=${encoded(name)}`);
                const members = Object.fromEntries(needs.filter(([place]) => place === 'body').map((need) => [need[1], plain(need)]));
                const body = where === 'body' ? jsonWith({ ...members, [argument.name]: mark }, name) : method === 'get' ? undefined : Buffer.from(JSON.stringify(members));
                return ask(method.toUpperCase(), `${path}${query.length ? '?' : ''}${query.join('&')}`, body, method === 'get' ? {} : { 'if-match': '*' });
            }];
            if (spec.paths[path][method].operationId.split('.').length === 2)
                yield [`/rpc/${path.slice(5)} ${argument.name}`, name, () => ask('POST', `/rpc/${path.slice(5)}`, jsonWith({ json: { ...fixed, [argument.name]: mark } }, name))];
        }
    }
}

// ---- all of it ------------------------------------------------------------------------------------------

const before = JSON.stringify(look(world, home));

await test('every text argument on /rpc and /api is only a name', async () => {
    const list = [...requests()];
    await askAll(list);
    must(names.length >= 500 && new Set(list.map(([what]) => what)).size > 200, `${names.length} names, ${list.length} requests`);
});

// The name is within JSON that is itself a text.
const toolInput = (value, name) => Buffer.from(JSON.stringify({ json: { input: jsonWith(value, name).toString() } }));

await test('every name within the input of memory.sync and memory.tool is only a name', async () => {
    const path = (start) => ['create', 'view', 'delete', 'str_replace'].map((command) => ({ command, path: `${start}@name@`, file_text: 'x', old_str: 'c', new_str: 'x' }));
    const tools = [...path('/memories/'), ...path(''), { command: 'rename', old_path: '/memories/a', new_path: '/memories/@name@' }, { command: 'rename', old_path: '/memories/@name@', new_path: '/memories/b' }];
    const updates = [{ action: 'add', key: '@name@', content: 'x' }, { action: 'add', store: '@name@', content: 'x' }, { action: 'delete', key: '@name@' }];
    const forms = (name) => [
        ...tools.map((value) => ['/rpc/memory/tool', name, () => ask('POST', '/rpc/memory/tool', toolInput(value, name))]),
        ...updates.map((value) => ['/rpc/memory/sync', name, () => ask('POST', '/rpc/memory/sync', jsonWith({ json: { updates: [value] } }, name))]),
    ];
    const some = names.filter((_, i) => i % 3 === 0); // one after the other: what is a file for one name is a folder for another
    await askAll(some.flatMap(forms), 1);
});

await test('every name in a path is only a name', async () => {
    const places = ['/api/memory/', '/api/', '/rpc/memory/', '/rpc/', '/sse/sessions/', '/assets/', '/'];
    const forms = (name) => places.flatMap((place) => [encoded(name), name.toString('latin1').replace(/[^!-~]/g, '')]
        .map((rest) => [`path ${place}`, name, () => ask(/^.rpc/.test(place) ? 'POST' : 'GET', place + rest, /^.rpc/.test(place) ? Buffer.from('{}') : undefined)]));
    await askAll(names.filter((name) => name.length < 2000).flatMap(forms));
});

await test('nothing outside the home is touched', () => {
    must(JSON.stringify(look(world, home)) === before, 'it is not as it was');
});

await test('nothing in the home has a strange name', () => {
    for (const [path] of look(home, '')) {
        const parts = path.slice(home.length + 1).split('/');
        if (parts.includes('memories')) continue; // a model's files may be called anything
        for (const part of parts) must(/^[A-Za-z0-9._@+-]{1,160}$/.test(part), JSON.stringify(path));
    }
});

await test('the server is well', async () => {
    const answer = await ask('GET', '/api/memory/get');
    must(answer.status === 200 && JSON.parse(answer.text).key === 'MEMORY.md', answer.text);
});

console.log(`# ${names.length} names, ${asked} requests: ${JSON.stringify(statuses)}`);
agent.destroy();
await server.stop();
finish();

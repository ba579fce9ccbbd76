// chat-kills.mjs: a server that is killed at moments spread over turns of four conversations, again and again.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ethos, makeHome, serve, tree } from './server.mjs';
import { finish, must, test } from './tap.mjs';

const { createClient } = await import(pathToFileURL(join(tree, 'sdk/js/ethos.js')));

const ROUNDS = process.env.CHECK_LONG ? 60 : 15;
const CONVERSATIONS = 4;

// Whatever is said is remembered.
const model = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const last = JSON.parse(text).messages.at(-1);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    const delta = last.role === 'tool' ? { content: 'Noted.' }
        : { tool_calls: [{ index: 0, id: 'c1', function: { name: 'memory_write', arguments: JSON.stringify({ action: 'add', content: last.content }) } }] };
    event({ choices: [{ index: 0, delta }] });
    event({ choices: [{ index: 0, delta: {}, finish_reason: last.role === 'tool' ? 'stop' : 'tool_calls' }] });
    response.end('data: [DONE]\n\n');
});
await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve));

const home = makeHome();
for (const [key, value] of Object.entries({ provider: 'openai-compat', model: 'm', baseUrl: `http://127.0.0.1:${model.address().port}/v1` }))
    ethos(home, 'config', 'set', key, value);
const made = ethos(home, 'api-key', 'create', 'all', '--scope', 'chat:send', '--scope', 'sessions:read', '--json');
const connect = async () => {
    const server = await serve(home);
    return { server, client: createClient({ baseUrl: server.origin, apiKey: made.key ?? made.secret }) };
};

const sessions = [];
const sent = [];
let whole = 0, number = 0;

// How long an undisturbed turn takes says how the moments are spread.
const first = await connect();
for (let i = 0; i < CONVERSATIONS; i++) {
    const turn = first.client.chat(`fact-${number++}-end`);
    sent.push(`fact-${number - 1}-end`);
    await turn.text();
    sessions.push((await turn.sent).sessionId);
}
const begin = performance.now();
await Promise.all(sessions.map((sessionId) => {
    sent.push(`fact-${number}-end`);
    return first.client.chat(`fact-${number++}-end`, { sessionId }).text();
}));
const length = performance.now() - begin;
await first.server.stop();

for (let round = 0; round < ROUNDS; round++) {
    const { server, client } = await connect();
    const ended = new Promise((resolve) => { const look = () => { try { process.kill(server.pid, 0); setTimeout(look, 2); } catch { resolve(); } }; server.ended = look; });
    const turns = sessions.map((sessionId) => {
        const text = `fact-${number++}-end`;
        return client.chat.send({ clientId: 'c', sessionId, text }).then(() => { sent.push(text); whole++; }, () => {});
    });
    await new Promise((resolve) => setTimeout(resolve, (length * 1.2 * round) / ROUNDS));
    process.kill(server.pid, 'SIGKILL');
    server.ended();
    await Promise.all(turns);
    await ended;
}

const last = await connect();
await test(`after ${ROUNDS} kills among ${CONVERSATIONS} conversations every one goes on`, async () => {
    for (const sessionId of sessions) must(await last.client.chat('fact-last-end', { sessionId }).text() === 'Noted.', sessionId);
});
await test('every conversation is one that a model accepts', async () => {
    const report = ethos(home, 'doctor', '--json');
    must(!JSON.stringify(report).includes('refuse'), JSON.stringify(report));
});
await test('what was said is whole and in order', async () => {
    for (const id of sessions) {
        const { messages } = await last.client.sessions.get({ id });
        const said = messages.filter((message) => message.role === 'user').map((message) => message.content);
        must(said.every((text) => /^fact-(\d+|last)-end$/.test(text)), said.join());
        const numbers = said.slice(0, -1).map((text) => Number(text.split('-')[1]));
        must(numbers.every((value, i) => i === 0 || value > numbers[i - 1]), numbers.join());
    }
});
await test('a fact is remembered once or not at all', async () => {
    const lines = readFileSync(join(home, 'personalities/default/MEMORY.md'), 'utf8').match(/fact-\d+-end/g);
    must(new Set(lines).size === lines.length, lines.join());
    must(lines.every((line) => sent.includes(line) || Number(line.split('-')[1]) < number), 'one that nobody sent');
    console.log(`# ${lines.length} of ${number} are remembered, ${whole} were accepted before a kill`);
});
await last.server.stop();
model.close();
model.closeAllConnections();
finish();

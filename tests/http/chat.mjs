// chat.mjs: turns that the server runs: chat.send, chat.abort, the stream of a session; with a model of our own.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ethos, makeHome, serve, tree } from './server.mjs';
import { finish, must, test } from './tap.mjs';

const { createClient, EthosError } = await import(pathToFileURL(join(tree, 'sdk/js/ethos.js')));

const same = (a, b) => must(JSON.stringify(a) === JSON.stringify(b), `${JSON.stringify(a)} is not ${JSON.stringify(b)}`);

// ---- a model --------------------------------------------------------------------------------------------

// Each request is answered by `answer`, which gets what was asked last and functions that send.
let answer;
const asked = [];
const model = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    asked.push(body);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    const say = (content) => event({ choices: [{ index: 0, delta: { content } }] });
    const call = (id, name, args) => event({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id, function: { name, arguments: JSON.stringify(args) } }] } }] });
    const end = (reason = 'stop') => {
        event({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
        event({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } });
        response.end('data: [DONE]\n\n');
    };
    await answer({ last: body.messages.at(-1), say, call, end, response });
});
await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve));

const echo = ({ last, say, end }) => { say('You said: '); say(last.content); end(); };

const home = makeHome();
for (const [key, value] of Object.entries({ provider: 'openai-compat', model: 'm', baseUrl: `http://127.0.0.1:${model.address().port}/v1` }))
    ethos(home, 'config', 'set', key, value);
const made = ethos(home, 'api-key', 'create', 'all', '--scope', 'chat:send', '--scope', 'sessions:read', '--scope', 'sessions:write', '--scope', 'memory:read', '--json');
const secret = made.key ?? made.secret;
let server = await serve(home);
let client = createClient({ baseUrl: server.origin, apiKey: secret });

async function collect(turn) {
    const events = [];
    for await (const event of turn) events.push(event);
    return events;
}

// A promise and what settles it.
function gate() {
    let open;
    const opened = new Promise((resolve) => { open = resolve; });
    return { open, opened };
}

const shown = (events) => events.filter((event) => event.type !== 'message_persisted').map((event) => event.type);

// ---- turns ----------------------------------------------------------------------------------------------

await test('capabilities: a model is configured', async () => {
    same((await client.meta.capabilities()).capabilities.chat, true);
});

await test('a turn: events in order, the conversation is recorded', async () => {
    answer = echo;
    const turn = client.chat('hello');
    const events = await collect(turn);
    same(shown(events), ['run_start', 'text_delta', 'text_delta', 'usage', 'done']);
    same(events.at(-1).text, 'You said: hello');
    const { sessionId } = await turn.sent;
    const { messages } = await client.sessions.get({ id: sessionId });
    same(messages.map((message) => [message.role, message.content]), [['user', 'hello'], ['assistant', 'You said: hello']]);
});

await test('the same session goes on; each message gets its own answer', async () => {
    answer = echo;
    const first = client.chat('one');
    same(await first.text(), 'You said: one');
    const { sessionId } = await first.sent;
    same(await client.chat('two', { sessionId }).text(), 'You said: two');
    same(asked.at(-1).messages.filter((message) => message.role !== 'system').map((message) => message.content), ['one', 'You said: one', 'two']);
});

await test('what is remembered is told behind the answer, and is in the file', async () => {
    answer = ({ last, say, call, end }) => {
        if (last.role === 'tool') { say('Noted.'); return end(); }
        call('c1', 'memory_write', { action: 'add', content: 'Drinks tea' });
        return end('tool_calls');
    };
    const events = await collect(client.chat('I drink tea'));
    same(shown(events).filter((type) => type !== 'usage'), ['run_start', 'tool_start', 'tool_end', 'text_delta', 'done', 'memory.captured']);
    same(events.at(-1).changes[0].added, ['Drinks tea']);
    same(readFileSync(join(home, 'personalities/default/MEMORY.md'), 'utf8'), 'Drinks tea\n');
});

await test('a turn is aborted within a moment; what came of it is kept', async () => {
    const seen = gate(), closed = gate();
    answer = ({ say, response }) => { say('I begin to'); response.on('close', closed.open); };
    const turn = client.chat('long');
    const failed = (async () => {
        for await (const event of turn)
            if (event.type === 'text_delta') seen.open();
    })().then(() => null, (error) => error);
    await seen.opened;
    await turn.abort();
    await closed.opened;
    const error = await failed;
    must(error instanceof EthosError && error.code === 'aborted', String(error));
    const { sessionId } = await turn.sent;
    const { messages } = await client.sessions.get({ id: sessionId });
    same(messages.map((message) => message.content), ['long', 'I begin to']);
    answer = echo;
    same(await client.chat('again', { sessionId }).text(), 'You said: again');
});

await test('messages of a session wait for each other, ten at most; sessions do not', async () => {
    const gates = gate();
    answer = async (asking) => { if (asking.last.content === 'first') await gates.opened; echo(asking); };
    const first = client.chat('first');
    const { sessionId } = await first.sent;
    const firstText = first.text();
    const waiting = [];
    for (let i = 0; i < 10; i++) {
        const turn = client.chat(`number ${i}`, { sessionId });
        await turn.sent;
        waiting.push(turn.text());
    }
    const refused = await collect(client.chat('one too many', { sessionId })).then(() => null, (error) => error);
    same(refused.code, 'BUSY');
    same(await client.chat('elsewhere').text(), 'You said: elsewhere');
    gates.open();
    same(await firstText, 'You said: first');
    same(await Promise.all(waiting), waiting.map((_, i) => `You said: number ${i}`));
});

await test('a second follower, and one that comes back, see the same events without a gap', async () => {
    const half = gate(), rest = gate();
    answer = async ({ say, end }) => { say('a'); say('b'); half.open(); await rest.opened; say('c'); end(); };
    const turn = client.chat('follow me');
    const { sessionId } = await turn.sent;
    const follow = (options = {}) => {
        const got = [], done = gate();
        const stream = client.sessionEvents(sessionId, { ...options, onEvent(event, id) { got.push([event.type, event.text, id]); if (event.type === 'done') done.open(); } });
        return { got, done: done.opened, stream };
    };
    const one = follow();
    await half.opened;
    const until = async (holds) => { while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5)); };
    await until(() => one.got.some(([, text]) => text === 'b'));
    const at = one.stream.lastEventId;
    one.stream.close();
    rest.open();
    const two = follow(), back = follow({ lastEventId: at });
    await Promise.all([two.done, back.done]);
    two.stream.close();
    back.stream.close();
    // What is recorded is announced on its own, also behind `done`: a stream may have closed before it.
    const numbered = (list) => list.slice(0, 1 + list.findIndex(([type]) => type === 'done') || undefined).filter(([type]) => type !== 'stream_meta');
    const all = numbered(two.got);
    same(numbered(one.got).concat(numbered(back.got)), all);
    same(all.map(([, , id]) => Number(id)), all.map((_, i) => i + 1));
});

await test('a turn goes on without its client', async () => {
    const begun = gate(), rest = gate();
    answer = async ({ say, end }) => { say('half '); begun.open(); await rest.opened; say('whole'); end(); };
    const { sessionId } = await client.chat.send({ clientId: 'c', text: 'leave' });
    await begun.opened;
    rest.open();
    for (;;) {
        const { messages } = await client.sessions.get({ id: sessionId });
        if (messages.length === 2) { same(messages[1].content, 'half whole'); break; }
        await new Promise((resolve) => setTimeout(resolve, 5));
    }
});

await test('text files are attached; others are refused by name', async () => {
    answer = echo;
    const text = await client.chat('look', { attachments: [{ type: 'file', data: Buffer.from('x = 1\n').toString('base64'), mimeType: 'text/plain', name: 'a.py' }] }).text();
    must(/<<<ethos-data [0-9a-f]{32} source="attachment" trust="untrusted"\n> <attachment name="a.py">\n> x = 1\n> <\/attachment>/.test(text), text);
    const error = await client.chat('look', { attachments: [{ type: 'image', data: 'AAAA', mimeType: 'image/png', name: 'b.png' }] }).text().then(() => null, (reason) => reason);
    must(error.message.includes('b.png'), error.message);
});

await test('a key that is limited reaches its own personality alone', async () => {
    ethos(home, 'personality', 'create', 'coach');
    ethos(home, '-p', 'coach', 'memory', 'add', 'coach plan');
    const limited = ethos(home, 'api-key', 'create', 'coach', '--scope', 'chat:send', '--scope', 'sessions:read', '--only', 'personality:coach', '--json');
    const other = createClient({ baseUrl: server.origin, apiKey: limited.key ?? limited.secret });
    answer = ({ last, say, call, end }) => {
        if (last.role === 'tool') { say(last.content); return end(); }
        call('c1', 'memory_read', {});
        return end('tool_calls');
    };
    const turn = other.chat('read', { personalityId: 'coach' });
    const { turnId } = await turn.sent;
    must(turnId, 'a turn');
    await new Promise((resolve) => { const wait = () => (asked.at(-1).messages.at(-1).role === 'tool' ? resolve() : setTimeout(wait, 5)); wait(); });
    const seen = JSON.stringify(asked.at(-1).messages);
    must(seen.includes('coach plan') && !seen.includes('Drinks tea'), seen.slice(0, 400));
    const refused = await other.chat.send({ clientId: 'c', text: 'x', personalityId: 'default' }).then(() => null, (error) => error);
    must(refused && [403, 404].includes(refused.status), String(refused));
});

await test('the server ends and comes back: nothing that was said is lost, and the next message is answered', async () => {
    const begun = gate();
    answer = ({ say }) => { say('never whole'); begun.open(); };
    const { sessionId } = await client.chat.send({ clientId: 'c', text: 'cut off' });
    await begun.opened;
    await server.stop();
    server = await serve(home);
    client = createClient({ baseUrl: server.origin, apiKey: secret });
    const { messages } = await client.sessions.get({ id: sessionId });
    same(messages[0].content, 'cut off');
    answer = echo;
    same(await client.chat('and now', { sessionId }).text(), 'You said: and now');
});

await server.stop();
model.close();
model.closeAllConnections();
finish();

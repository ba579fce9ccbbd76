// chat-load.mjs: a hundred turns at once. Memory is a bound that must hold; the processor's time per token is printed.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ethos, makeHome, serve, tree } from './server.mjs';
import { finish, must, test } from './tap.mjs';

const { createClient } = await import(pathToFileURL(join(tree, 'sdk/js/ethos.js')));

const TURNS = 100, TOKENS = 300, MEGABYTES = 150;

// All answers are under way at once before any of them ends.
let open = 0, all;
const together = new Promise((resolve) => { all = resolve; });
const model = createServer(async (request, response) => {
    for await (const part of request) void part;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    event({ choices: [{ index: 0, delta: { content: 'tok ' } }] });
    if (++open === TURNS) all();
    await together;
    for (let i = 1; i < TOKENS; i++) {
        event({ choices: [{ index: 0, delta: { content: 'tok ' } }] });
        if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    response.end('data: [DONE]\n\n');
});
await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve));

const home = makeHome();
for (const [key, value] of Object.entries({ provider: 'openai-compat', model: 'm', baseUrl: `http://127.0.0.1:${model.address().port}/v1` }))
    ethos(home, 'config', 'set', key, value);
const made = ethos(home, 'api-key', 'create', 'all', '--scope', 'chat:send', '--scope', 'sessions:read', '--json');
const server = await serve(home);
const client = createClient({ baseUrl: server.origin, apiKey: made.key ?? made.secret });

const ticks = () => { // user and system time of the server, in hundredths of a second
    const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return Number(fields[11]) + Number(fields[12]);
};

await test(`${TURNS} turns at once take less than ${MEGABYTES} MB`, async () => {
    const turns = Array.from({ length: TURNS }, (_, i) => client.chat(`question ${i}`));
    await Promise.all(turns.map((turn) => turn.sent));
    await together;
    const before = ticks();
    const texts = await Promise.all(turns.map((turn) => turn.text()));
    must(texts.every((text) => text === 'tok '.repeat(TOKENS)), 'an answer is not whole');
    const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]) / 1024;
    const each = ((ticks() - before) * 10000) / (TURNS * TOKENS);
    console.log(`# peak ${peak.toFixed(0)} MB, ${each.toFixed(1)} us of processor per token with a follower each`);
    must(peak < MEGABYTES, `${peak} MB`);
});

await server.stop();
model.close();
model.closeAllConnections();
finish();

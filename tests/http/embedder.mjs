// embedder.mjs: memory.options.embedder, with a server of embeddings that answers well, fails, lags, changes its dimension
// or answers out of order: recall goes on without it, says so once, and finds nothing wrong; nothing is sent without
// consent, and never a secret.
import { execFile, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { bin, ethos as run, ethosIn, makeHome } from './server.mjs';
import { finish, must, test } from './tap.mjs';

const same = (a, b) => must(JSON.stringify(a) === JSON.stringify(b), `${JSON.stringify(a)} is not ${JSON.stringify(b)}`);

// ---- a server of embeddings: what a text is about, as a vector -----------------------------------------

const TOPICS = [['cat', 'kitten', 'feline', 'pet'], ['car', 'garage', 'vehicle', 'automobile'], ['bread', 'bakery', 'loaf', 'dough'], ['password', 'key', 'secret']];
const asked = []; // every text that was sent
let mode = 'good', model = '';

function vectorOf(text, more = 0) {
    const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
    const vector = TOPICS.map((topic) => words.filter((word) => topic.includes(word)).length);
    return [...vector, 0.2, ...Array(more).fill(0.1)];
}

const stub = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const { input, model: name } = JSON.parse(body);
    asked.push(...input);
    model = name;
    if (mode === 'fails') return response.writeHead(500).end('no');
    if (mode === 'lags') return; // for ever
    const vectors = input.map((text) => vectorOf(text, mode === 'dimension' ? 3 : 0));
    if (request.url === '/api/embed') return response.end(JSON.stringify({ embeddings: mode === 'short' ? vectors.slice(1) : vectors }));
    const data = vectors.map((embedding, index) => ({ index, embedding }));
    response.end(JSON.stringify({ data: mode === 'order' ? data.reverse() : data }));
});
await new Promise((resolve) => stub.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${stub.address().port}`;

// ---- a home -----------------------------------------------------------------------------------------------

const home = makeHome();
const set = (name, value) => run(home, 'config', 'set', name, value);
const SECRET = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
ethosIn(home, undefined, `# Home\n\n- The feline sleeps on the sofa\n- The automobile stands in the yard\n- The loaf comes on Mondays\n- The token of the forge is ${SECRET}\n${Array.from({ length: 20 }, (_, i) => `- Line ${i} about nothing much`).join('\n')}\n`, 'memory', 'write');
set('memory', 'vector');
set('memory.options.embedder', 'ollama');
set('memory.options.embedUrl', url);
set('memory.options.embedModel', 'stub-1');

const QUESTION = 'Where does the kitten rest?'; // no word of it stands in the entry

// A server of ours; what it says on standard error is kept. search() gives the entries, best first.
async function serve() {
    const child = spawn(join(bin, 'ethos'), ['serve', '--port', '0'], { env: { ...process.env, ETHOS_HOME: home }, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const origin = await new Promise((resolve) => {
        const read = (data) => {
            output += data;
            const found = /http:\/\/[^\s/]+/.exec(output);
            if (found) resolve(found[0]);
        };
        child.stdout.on('data', read);
        child.stderr.on('data', read);
    });
    return {
        said: () => output,
        stop: () => new Promise((resolve) => (child.once('exit', resolve), child.kill('SIGTERM'))),
        async search(query) {
            const answer = await fetch(`${origin}/api/memory/chunks?topK=5&q=${encodeURIComponent(query)}`, { headers: { authorization: `Bearer ${key}` } });
            must(answer.status === 200, `${answer.status} ${await answer.clone().text()}`);
            return (await answer.json()).items;
        },
    };
}
const key = run(home, 'api-key', 'create', 'embedder', '--scope', 'memory:read', '--json').key;
// Not waited for with the loop standing still: the server of embeddings is in this process.
const index = () => new Promise((resolve, reject) => execFile(join(bin, 'ethos'), ['recall', 'index'], { env: { ...process.env, ETHOS_HOME: home } }, (error, stdout, stderr) => (error ? reject(new Error(stderr)) : resolve(stderr))));
const warnings = (server) => server.said().split('\n').filter((line) => line.includes('memory.options.embedder')).length;

await test('without consent nothing is sent, and that is said once', async () => {
    await index();
    const server = await serve();
    await server.search(QUESTION);
    await server.search('Where is the car?');
    same([asked.length, warnings(server)], [0, 1]);
    await server.stop();
});

await test('with consent every passage is sent once, secrets left out; a question finds what it means', async () => {
    set('memory.options.embedConsent', 'yes');
    await index();
    same([asked.length > 20, model], [true, 'stub-1']);
    must(!asked.some((text) => text.includes(SECRET)), 'a secret was sent');
    const before = asked.length;
    await index();
    same(asked.length, before);
    const server = await serve();
    const [first] = await server.search(QUESTION);
    same([first.content, first.similarity > 0.9], ['The feline sleeps on the sofa', true]);
    same((await server.search('Is the vehicle in the garage?'))[0].content, 'The automobile stands in the yard');
    same(asked.slice(before), [QUESTION, 'Is the vehicle in the garage?']);
    same(warnings(server), 0);
    await server.stop();
});

for (const bad of ['fails', 'lags', 'dimension', 'short'])
    await test(`a server that ${{ fails: 'fails', lags: 'lags', dimension: 'changes its dimension', short: 'leaves one out' }[bad]}: recall goes on without it, and says so at most once`, async () => {
        mode = bad;
        const server = await serve();
        const started = Date.now();
        const found = await server.search('When does the loaf come?');
        same(found[0].content, 'The loaf comes on Mondays');
        same((await server.search('When does the loaf come on Mondays?'))[0].content, 'The loaf comes on Mondays');
        must(Date.now() - started < 30000, 'it waited');
        must(warnings(server) <= 1 && (bad === 'dimension' || warnings(server) === 1), server.said());
        await server.stop();
        mode = 'good';
    });

await test('while it fails nothing is lost: what was added is found by its words, and sent when it is back', async () => {
    mode = 'fails';
    run(home, 'memory', 'add', '- The dough rises overnight');
    await index();
    let server = await serve();
    same((await server.search('What rises overnight?'))[0].content, 'The dough rises overnight');
    await server.stop();
    mode = 'good';
    await index();
    server = await serve();
    must((await server.search('Which bakery?')).some((one) => one.content === 'The dough rises overnight'), 'by what it means');
    await server.stop();
});

await test('another model begins anew, and vectors of two are never mixed', async () => {
    set('memory.options.embedModel', 'stub-2');
    const server = await serve();
    const found = await server.search(QUESTION); // none of its vectors yet
    must(found.every((one) => !(one.similarity > 0.95)), JSON.stringify(found));
    await server.stop();
    const before = asked.length;
    await index();
    must(asked.length - before > 20 && model === 'stub-2', 'it was not sent again');
    const again = await serve();
    same((await again.search(QUESTION))[0].content, 'The feline sleeps on the sofa');
    await again.stop();
});

await test('/v1/embeddings, answers out of order', async () => {
    set('memory.options.embedder', 'openai');
    set('memory.options.embedUrl', `${url}/v1`);
    mode = 'order';
    await index();
    const server = await serve();
    same((await server.search(QUESTION))[0].content, 'The feline sleeps on the sofa');
    same(warnings(server), 0);
    await server.stop();
    mode = 'good';
});

await test('what is forgotten leaves nothing in its vectors', async () => {
    run(home, '-y', 'memory', 'forget', 'The feline sleeps on the sofa');
    await index();
    const server = await serve();
    must((await server.search(QUESTION)).every((one) => !one.content.includes('feline')), 'it is found');
    await server.stop();
});

stub.closeAllConnections();
stub.close();
finish();

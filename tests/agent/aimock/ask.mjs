// ask.mjs BIN: ethos ask against @copilotkit/aimock, by each of the three wires.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { LLMock } from '@copilotkit/aimock';

import { finish, must, test } from './tap.mjs';

const ethos = join(process.argv[2], 'ethos');
const wires = [
    { provider: 'openai', env: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'k' }) },
    { provider: 'anthropic', env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'k' }) },
    { provider: 'ollama', env: (url) => ({ OLLAMA_HOST: url }) },
];

// What the program printed, its exit status, and its events where they were asked for.
function ask(wire, mock, home, ...args) {
    return new Promise((resolve) => {
        const env = { ...process.env, ETHOS_HOME: home, ...wire.env(mock.url) };
        const child = spawn(ethos, ['ask', '--model', `${wire.provider}/mock`, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
        let out = '', err = '';
        child.stdout.on('data', (data) => { out += data; });
        child.stderr.on('data', (data) => { err += data; });
        child.on('close', (code) => resolve({ code, out, err }));
    });
}

const events = (out) => out.trim().split('\n').map((line) => JSON.parse(line));
const only = (list, type) => list.filter((event) => event.type === type);

for (const wire of wires) {
    const scene = async (name, setUp, body) => test(`${wire.provider}: ${name}`, async () => {
        const mock = new LLMock({ port: 0, logLevel: 'silent' });
        const home = mkdtempSync(join(tmpdir(), 'aimock-'));
        setUp(mock);
        await mock.start();
        try {
            await body(mock, home);
        } finally {
            await mock.stop();
        }
    });

    await scene('text, and usage on the session', (mock) => mock.onMessage('hello', { content: 'Good morning.' }), async (mock, home) => {
        const { code, out, err } = await ask(wire, mock, home, 'hello');
        must(code === 0 && out === 'Good morning.\n', `${code} ${out} ${err}`);
    });

    await scene('text in pieces of one character', (mock) => mock.onMessage('hello', { content: 'Grüße, 世界 – fine.' }, { chunkSize: 1 }), async (mock, home) => {
        const { code, out, err } = await ask(wire, mock, home, 'hello');
        must(code === 0 && out === 'Grüße, 世界 – fine.\n', `${code} ${out} ${err}`);
    });

    await scene('two calls in one answer; what is remembered is in the file', (mock) => {
        mock.on({ userMessage: 'tea', hasToolResult: true }, { content: 'Both are noted.' });
        mock.on({ userMessage: 'tea', hasToolResult: false }, { toolCalls: [
            { id: 'call_one', name: 'memory_write', arguments: '{"action":"add","content":"Drinks tea"}' },
            { id: 'call_two', name: 'memory_write', arguments: '{"action":"add","store":"user","content":"From Lund"}' },
        ] });
    }, async (mock, home) => {
        const { code, out, err } = await ask(wire, mock, home, '--json', 'tea');
        const all = events(out);
        must(code === 0, `${code} ${out} ${err}`);
        must(only(all, 'tool_end').length === 2 && only(all, 'tool_end').every((event) => event.ok), out);
        must(only(all, 'done')[0].text === 'Both are noted.', out);
        must(readFileSync(join(home, 'personalities/default/MEMORY.md'), 'utf8') === 'Drinks tea\n', 'MEMORY.md');
    });

    await scene('reasoning stays out of the answer', (mock) => mock.onMessage('think', { content: 'Four.', reasoning: 'Two and two.' }), async (mock, home) => {
        const { code, out, err } = await ask(wire, mock, home, 'think');
        must(code === 0 && out === 'Four.\n', `${code} ${out} ${err}`);
    });

    await scene('too many requests once: asked again', (mock) => {
        mock.onMessage('hello', { content: 'Here.' });
        mock.nextRequestError(429, { message: 'slow down', type: 'rate_limit_error' });
    }, async (mock, home) => {
        const { code, out, err } = await ask(wire, mock, home, 'hello');
        must(code === 0 && out === 'Here.\n', `${code} ${out} ${err}`);
    });

    await scene('a refused key is one error', (mock) => {
        mock.onMessage('hello', { content: 'Here.' });
        mock.nextRequestError(401, { message: 'bad key', type: 'authentication_error' });
    }, async (mock, home) => {
        const { code, out, err } = await ask(wire, mock, home, 'hello');
        must(code === 1 && out === '' && err.split('\n').length === 2, `${code} ${out} ${err}`);
    });

    await scene('a stream that breaks off: the text is kept, the next question goes on', (mock) => {
        mock.onMessage('first', { content: 'A long answer that never ends.' }, { chunkSize: 4, truncateAfterChunks: 3 });
        mock.onMessage('second', { content: 'Whole.' });
    }, async (mock, home) => {
        const broken = await ask(wire, mock, home, 'first');
        must(broken.code === 1 && broken.err !== '', `${broken.code} ${broken.out} ${broken.err}`);
        const { code, out, err } = await ask(wire, mock, home, 'second');
        must(code === 0 && out === 'Whole.\n', `${code} ${out} ${err}`);
    });

    await scene('an answer that is malformed is one error', (mock) => mock.onMessage('hello', { content: 'x' }, { chaos: { malformedRate: 1 } }), async (mock, home) => {
        const { code, out, err } = await ask(wire, mock, home, 'hello');
        must(code === 1 && (err.match(/^ethos: /gm) ?? []).length === 1, `${code} ${out} ${err}`);
    });
}
finish();

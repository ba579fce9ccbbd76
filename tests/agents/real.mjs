// real.mjs PEERS WORK [AGENT...]: `ethos install` makes real agents use this memory; TAP on stdout.
//
// Each agent gets a home of its own below WORK and a model that does what it is told (mock.mjs). What
// the model was shown, what the memory has and which files changed is looked at after each step.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync }
    from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startMock } from './mock.mjs';
import { finish, must, test } from './tap.mjs';

const [peers, work, ...wanted] = process.argv.slice(2);
const patience = 60000; // ms for a run of an agent
const mock = await startMock();
const facts = { user: 'Drinks <strong> Assam tea & "nothing" else — früh', memory: 'We deploy on Fridays' };

function same(got, expected, what) {
    const [a, b] = [got, expected].map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
    must(a === b, `${what}: expected ${b}, got ${a}`);
}

const note = (text) => console.log(`# ${text}`);

// ---- programs ------------------------------------------------------------------------------------------

// { status, out, err } of a program that is given no input.
function run(place, argv, extra = {}) {
    return new Promise((done) => {
        const child = spawn(argv[0], argv.slice(1),
            { cwd: place.project, env: { ...place.env, ...extra }, stdio: ['ignore', 'pipe', 'pipe'] });
        const result = { out: '', err: '' };
        const timer = setTimeout(() => child.kill('SIGKILL'), patience);
        child.stdout.on('data', (data) => { result.out += data; });
        child.stderr.on('data', (data) => { result.err += data; });
        child.on('error', (error) => { result.err += error; });
        child.on('close', (status, signal) => {
            clearTimeout(timer);
            done({ ...result, status: signal ?? status });
        });
    });
}

async function ethos(place, ...args) {
    const result = await run(place, ['ethos', ...args]);
    must(result.status === 0, `ethos ${args.join(' ')}: ${result.status} ${result.err}${result.out}`);
    return result.out + result.err;
}

const ethosJson = async (place, ...args) => JSON.parse(await ethos(place, ...args, '--json'));

function newPlace(agent) {
    const home = mkdtempSync(join(work, `${agent.name}-`));
    const project = join(home, 'project');
    mkdirSync(project);
    const env = { HOME: home, PATH: `${work}/bin:${peers}/bin:/usr/bin:/bin`, TERM: 'xterm-256color', LANG: 'C.UTF-8',
        HTTPS_PROXY: mock.url, HTTP_PROXY: mock.url, NO_PROXY: '127.0.0.1,localhost', ...agent.env };
    return { home, project, env };
}

// The answer of an agent to a prompt, and what its model was asked meanwhile.
async function ask(agent, place, prompt, { again = false, extra = {} } = {}) {
    const from = mock.requests.length;
    const result = await run(place, agent.command(prompt, again), extra);
    const asked = mock.requests.slice(from).filter((one) => one.body && agent.path.test(one.path));
    for (const one of asked) must(!one.error, one.error);
    return { ...result, asked, shown: asked.map((one) => JSON.stringify(one.body)) };
}

async function mustAnswer(agent, place, prompt, options) {
    const result = await ask(agent, place, prompt, options);
    must(result.status === 0, `${agent.name} ended with ${result.status}: ${result.err}`);
    must(result.asked.length > 0, `${agent.name} asked no model: ${result.err}`);
    return result;
}

const count = (text, part) => text.split(part).length - 1;

// ---- the agents ------------------------------------------------------------------------------------------

const claude = {
    name: 'claude-code',
    path: /\/v1\/messages$/,
    env: { ANTHROPIC_BASE_URL: mock.url, ANTHROPIC_API_KEY: 'sk-ant-none', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    command: (prompt, again) => ['node', `${peers}/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs`, '-p', prompt,
        '--allowedTools', 'Bash', ...(again ? ['--continue'] : [])],
    prepare: (place) => {
        mkdirSync(join(place.home, '.claude'));
        writeFileSync(join(place.home, '.claude/settings.json'), '{\n    "env": {"KEPT": "1"}\n}\n');
        writeFileSync(join(place.home, '.claude/CLAUDE.md'), 'Be brief.\r\n');
    },
    files: ['.claude.json', '.claude/settings.json', '.claude/CLAUDE.md'],
    tool: (name) => `mcp__ethos__${name}`,
    cd: 'Bash',
    folder: { path: 'claude-code-plugin', servers: '.mcp.json', settings: ['.claude/settings.json', '.claude.json'],
        validate: (path) => ['node', `${peers}/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs`, 'plugin', 'validate', path] },
    asks: true,
    search: { ENABLE_TOOL_SEARCH: 'true' },
    compact: (agent, place) => mustAnswer(agent, place, '/compact', { again: true }),
};

const codex = {
    name: 'codex',
    path: /\/responses$/,
    env: { OPENAI_API_KEY: 'none' },
    program: ['node', `${peers}/node_modules/@openai/codex/bin/codex.js`],
    command: (prompt, again) => [...codex.program, 'exec', ...(again ? ['resume', '--last'] : []), '--skip-git-repo-check',
        prompt],
    prepare: (place) => {
        mkdirSync(join(place.home, '.codex'));
        writeFileSync(join(place.home, '.codex/config.toml'), `model = "mock"\nmodel_provider = "mock" # ours\n
[model_providers.mock]\nname = "mock"\nbase_url = "${mock.url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n`);
    },
    files: ['.codex/config.toml', '.codex/hooks.json', '.codex/AGENTS.md'],
    tool: (name) => name,
    trust: trustInCodex,
    compact: compactInCodex,
};

const gemini = {
    name: 'gemini',
    path: /enerateContent$/,
    env: { GOOGLE_GEMINI_BASE_URL: mock.url, GEMINI_API_KEY: 'none' },
    command: (prompt, again) => ['node', `${peers}/node_modules/@google/gemini-cli/bundle/gemini.js`, '--skip-trust',
        '-m', 'gemini-2.5-flash', ...(again ? ['-r', 'latest'] : []), '-p', prompt],
    prepare: (place) => {
        mkdirSync(join(place.home, '.gemini'));
        writeFileSync(join(place.home, '.gemini/settings.json'),
            '{\n\t"security": {"auth": {"selectedType": "gemini-api-key"}}\n}\n');
    },
    files: ['.gemini/settings.json', '.gemini/GEMINI.md'],
    tool: (name) => `mcp_ethos_${name}`,
    asks: true,
    folder: { path: 'gemini-extension', servers: 'gemini-extension.json', settings: ['.gemini/settings.json', '.gemini/settings.json'],
        validate: (path) => ['node', `${peers}/node_modules/@google/gemini-cli/bundle/gemini.js`, 'extensions', 'validate', path] },
};

const qwen = {
    name: 'qwen',
    path: /\/chat\/completions$/,
    env: { OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${mock.url}/v1`, OPENAI_MODEL: 'mock', HTTPS_PROXY: '', HTTP_PROXY: '' },
    command: (prompt, again) => ['node', `${peers}/node_modules/@qwen-code/qwen-code/cli.js`, '--auth-type', 'openai',
        ...(again ? ['--continue'] : []), '-p', prompt],
    prepare: (place) => {
        mkdirSync(join(place.home, '.qwen'));
        writeFileSync(join(place.home, '.qwen/settings.json'), '{\n  // ours\n  "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false}\n}\n');
    },
    files: ['.qwen/settings.json', '.qwen/QWEN.md'],
    tool: (name) => `mcp__ethos__${name}`,
};

const copilot = {
    name: 'copilot',
    path: /\/chat\/completions$/,
    env: { COPILOT_PROVIDER_BASE_URL: `${mock.url}/v1`, COPILOT_PROVIDER_API_KEY: 'none', COPILOT_MODEL: 'mock', COPILOT_AUTO_UPDATE: 'false' },
    command: (prompt) => [`${peers}/node_modules/@github/copilot-linux-x64/copilot`, '--allow-all-tools', '-p', prompt],
    prepare: () => {},
    files: ['.copilot/mcp-config.json', '.copilot/copilot-instructions.md'],
    tool: (name) => `ethos-${name}`,
    plain: true,
};

const opencode = {
    name: 'opencode',
    path: /\/chat\/completions$/,
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1' },
    command: (prompt) => [`${peers}/node_modules/opencode-linux-x64/bin/opencode`, 'run', '-m', 'mock/mock', prompt],
    prepare: (place) => {
        mkdirSync(join(place.home, '.config/opencode'), { recursive: true });
        writeFileSync(join(place.home, '.config/opencode/opencode.json'), `{\n  // ours\n  "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "${mock.url}/v1", "apiKey": "none"}, "models": {"mock": {}}}},\n}\n`);
    },
    files: ['.config/opencode/opencode.json', '.config/opencode/AGENTS.md'],
    tool: (name) => `ethos_${name}`,
    plain: true,
};

// ---- Codex has a server with which hooks are trusted, and a conversation compacted -------------------------

async function withCodex(place, body) {
    const child = spawn(codex.program[0], [...codex.program.slice(1), 'app-server'],
        { cwd: place.project, env: place.env, stdio: ['pipe', 'pipe', 'ignore'] });
    const waiting = new Map();
    const events = [];
    let rest = '';
    let id = 0;
    child.stdout.on('data', (data) => {
        const lines = (rest + data).split('\n');
        rest = lines.pop();
        for (const message of lines.filter(Boolean).map((line) => JSON.parse(line))) {
            events.push(message);
            for (const key of [message.id, message.method]) waiting.get(key)?.(message);
        }
    });
    const next = (key) => new Promise((done, fail) => {
        const timer = setTimeout(() => fail(new Error(`Codex: no ${key}`)), patience);
        waiting.set(key, (message) => { clearTimeout(timer); waiting.delete(key); done(message); });
    });
    const call = async (method, params) => {
        const answer = next(++id);
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
        const { result, error } = await answer;
        must(!error, `Codex: ${method}: ${JSON.stringify(error)}`);
        return result;
    };
    try {
        await call('initialize', { clientInfo: { name: 'test', title: 'test', version: '1' } });
        child.stdin.write('{"jsonrpc":"2.0","method":"initialized"}\n');
        return await body(call, next, events);
    } finally {
        const ended = new Promise((done) => child.on('close', done));
        child.stdin.end();
        const timer = setTimeout(() => child.kill(), 5000);
        await ended;
        clearTimeout(timer);
    }
}

const codexHooks = async (call, place) => (await call('hooks/list', { cwds: [place.project] })).data[0].hooks;

// What /hooks does when somebody trusts them.
async function trustInCodex(place) {
    return withCodex(place, async (call) => {
        const hooks = await codexHooks(call, place);
        same(hooks.map((hook) => hook.trustStatus), hooks.map(() => 'untrusted'), 'hooks at first');
        await call('config/batchWrite', { reloadUserConfig: true, edits: hooks.map((hook) => ({ keyPath: 'hooks.state',
            value: { [hook.key]: { trusted_hash: hook.currentHash } }, mergeStrategy: 'upsert' })) });
        same((await codexHooks(call, place)).map((hook) => hook.trustStatus), hooks.map(() => 'trusted'), 'hooks then');
    });
}

async function compactInCodex(agent, place) {
    await withCodex(place, async (call, next, events) => {
        const threads = await call('thread/list', { sourceKinds: ['exec'] });
        const threadId = threads.data[0].id;
        await call('thread/resume', { threadId });
        const done = next('turn/completed');
        await call('thread/compact/start', { threadId });
        await done;
        for (const { params } of events.filter((event) => event.method === 'hook/completed'))
            note(`hook ${params.run.eventName}: ${params.run.durationMs} ms`);
    });
}

// ---- files -----------------------------------------------------------------------------------------------

const read = (place, path) => (existsSync(join(place.home, path)) ? readFileSync(join(place.home, path), 'utf8') : null);
const readAll = (agent, place) => Object.fromEntries(agent.files.map((path) => [path, read(place, path)]));

// ---- what is tried ----------------------------------------------------------------------------------------

async function settle(agent, place) {
    await test(`${agent.name}: answers without ethos`, async () => {
        agent.prepare(place);
        const { out } = await mustAnswer(agent, place, 'Nothing is known yet');
        must(out.includes('Noted: Nothing is known yet'), out);
    });
    place.before = readAll(agent, place);
    await ethos(place, 'memory', 'add', facts.memory);
    await ethos(place, 'memory', 'add', facts.user, '--store', 'user');
}

async function install(agent, place) {
    await test(`${agent.name}: install and doctor`, async () => {
        await ethos(place, 'install', agent.name, '--yes');
        const said = await ethos(place, 'doctor');
        same(said.includes('not trusted yet'), Boolean(agent.trust), 'doctor speaks of trust');
    });
    if (!agent.trust) return;
    await test(`${agent.name}: hooks run only once they are trusted`, async () => {
        const { shown } = await mustAnswer(agent, place, 'Before the trust');
        same(count(shown.join(), facts.memory), 0, 'blocks before');
        await agent.trust(place);
        const said = await ethos(place, 'doctor');
        must(said.includes('No problems found'), said);
    });
}

// Three prompts of one conversation: the model has the block in each request, as often as in the first.
async function converse(agent, place) {
    for (const [index, prompt] of ['Zanzibar is first', 'Timbuktu is second', 'Samarkand is third'].entries()) {
        await test(`${agent.name}: prompt ${index + 1} shows the model the memory, and not more often`, async () => {
            const { shown, out } = await mustAnswer(agent, place, prompt, { again: index > 0 });
            must(out.includes(`Noted: ${prompt}`), out);
            same(count(shown.at(-1), facts.memory), 1, 'lines of MEMORY.md');
            same(count(shown.at(-1), 'Assam tea'), 1, 'lines of USER.md');
            same(count(JSON.stringify(mock.requests.at(-1).body), 'Keep MEMORY.md small'), 1, 'instructions of the server');
        });
        if (index > 0)
            await test(`${agent.name}: prompt ${index + 1} still has what was said before`, () => {
                const last = JSON.stringify(mock.requests.at(-1).body);
                must(count(last, 'Zanzibar is first') >= 2, 'the first question or its answer is gone');
            });
    }
}

// Once the model has the block, it is told what changed, whatever that is, and nothing else.
async function forget(agent, place) {
    const title = 'Memory has changed since it was shown';
    await test(`${agent.name}: what is added and forgotten meanwhile is told, and only that`, async () => {
        await ethos(place, 'memory', 'add', 'The launch is on Monday');
        const more = await mustAnswer(agent, place, 'Something was added', { again: true });
        same(count(more.shown.at(-1), 'The launch is on Monday'), 1, 'the new entry');
        await ethos(place, 'memory', 'remove', 'The launch is on Monday', '--yes');
        const { shown } = await mustAnswer(agent, place, 'Something was forgotten', { again: true });
        const [told, gone] = ['No longer in memory:', 'The launch is on Monday'].map((text) => shown.at(-1).lastIndexOf(text));
        must(told > 0 && gone > told, 'the model was not told what is gone');
        same(count(shown.at(-1), title), 2, 'told that memory has changed');
        same(count(shown.at(-1), facts.memory), 1, 'lines of MEMORY.md');
    });
    await test(`${agent.name}: what the model itself writes is not told it again`, async () => {
        const input = JSON.stringify({ content: 'The build takes nine minutes', title: 'Build time' });
        await mustAnswer(agent, place, `CALL ${agent.tool('remember')} ${input}`, { again: true });
        must((await ethos(place, 'notes', 'show', 'build-time')).includes('nine minutes'), 'there is no such note');
        const { shown } = await mustAnswer(agent, place, 'And after that?', { again: true });
        same(count(shown.at(-1), '(build-time.md)'), 0, 'the line of its own note');
        same(count(shown.at(-1), title), 2, 'told that memory has changed');
        same(count(shown.at(-1), facts.memory), 1, 'lines of MEMORY.md');
    });
}

async function recorded(agent, place) {
    await test(`${agent.name}: one conversation is recorded, each message once`, async () => {
        const sessions = (await ethosJson(place, 'sessions', 'list', '--all')).items ?? [];
        const own = sessions.filter((one) => /Zanzibar/.test(one.displayTitle) || /:events$/.test(one.key));
        same(own.map((one) => one.displayTitle), ['Zanzibar is first'], 'conversations');
        const { messages } = await ethosJson(place, 'sessions', 'show', own[0].id);
        for (const word of ['Zanzibar', 'Timbuktu', 'Samarkand'])
            same(messages.filter((one) => one.content.includes(word)).map((one) => one.role), ['user', 'assistant'], word);
        for (const one of messages.filter((other) => other.role === 'user'))
            must(!/[<&]|Assam|hook/.test(one.content), `more than what was typed: ${one.content}`);
        const found = await ethosJson(place, 'sessions', 'search', 'Timbuktu');
        same(found.hits.length, 2, `hits of ${JSON.stringify(found)}`);
    });
}

// Without --allow-tools an agent that nobody watches reads, and what changes something is left to the agent's own rules.
async function readOnly(agent, place) {
    await test(`${agent.name}: tools that only read are called without asking`, async () => {
        const { shown } = await mustAnswer(agent, place, `CALL ${agent.tool('memory_search')} {"query":"Fridays"}`);
        must(/We deploy on Fridays/.test(shown.at(-1).slice(shown.at(-1).lastIndexOf('CALL '))), shown.at(-1).slice(-1500));
    });
    if (agent.asks)
        await test(`${agent.name}: tools that write are not`, async () => {
            const input = JSON.stringify({ content: 'Nobody allowed this', title: 'Forbidden' });
            await mustAnswer(agent, place, `CALL ${agent.tool('remember')} ${input}`);
            const notes = await ethosJson(place, 'notes', 'list');
            must(!JSON.stringify(notes).includes('orbidden'), 'the note was written');
        });
    await test(`${agent.name}: install --allow-tools`, async () => {
        await ethos(place, 'install', agent.name, '--allow-tools', '--yes');
        const again = await ethosJson(place, 'install', agent.name, '--allow-tools', '--yes');
        same(again.changed, [], 'files that a second run changes');
    });
}

async function useTools(agent, place) {
    await test(`${agent.name}: the model's memory_write changes MEMORY.md`, async () => {
        const input = JSON.stringify({ action: 'add', content: 'The mascot is an otter' });
        await mustAnswer(agent, place, `CALL ${agent.tool('memory_write')} ${input}`);
        must((await ethos(place, 'memory', 'get')).includes('an otter'), 'the line is not there');
        await ethos(place, 'memory', 'remove', 'an otter', '--yes');
    });
    if (agent.search)
        await test(`${agent.name}: our tools are not hidden behind its tool search`, async () => {
            const { asked } = await mustAnswer(agent, place, 'Which tools?', { extra: agent.search });
            const tool = asked.at(-1).body.tools?.find((one) => one.name === agent.tool('remember'));
            must(tool && !tool.defer_loading, `remember is not shown: ${JSON.stringify(asked.at(-1).body.tools?.map((one) => one.name))}`);
        });
    await test(`${agent.name}: the model's remember writes a note`, async () => {
        const input = JSON.stringify({ content: 'The staging host is called heron', title: 'Staging' });
        await mustAnswer(agent, place, `CALL ${agent.tool('remember')} ${input}`);
        must((await ethos(place, 'notes', 'show', 'staging')).includes('heron'), 'there is no such note');
    });
    await test(`${agent.name}: the model's memory_search is answered`, async () => {
        const { shown } = await mustAnswer(agent, place, `CALL ${agent.tool('memory_search')} {"query":"heron"}`);
        must(/staging\.md/.test(shown.at(-1)), `no hit: ${shown.at(-1).slice(-2000)}`);
    });
}

// The agent may be started below the top of the project, and its model may go elsewhere.
async function wander(agent, place) {
    const below = { ...place, project: join(place.project, 'src/deep') };
    mkdirSync(below.project, { recursive: true });
    await run(place, ['git', 'init', '-q']);
    await ethos(place, 'remember', 'Prices are in cents', '--title', 'Money');
    await test(`${agent.name}: below the top of the project the memory is the same`, async () => {
        const { shown } = await mustAnswer(agent, below, 'Where am I?');
        same(count(shown.at(-1), '(money.md)'), 1, 'lines of the note');
    });
    if (agent.cd)
        await test(`${agent.name}: a cd of the model changes nothing`, async () => {
            await mustAnswer(agent, place, `CALL ${agent.cd} ${JSON.stringify({ command: 'mkdir -p src && cd src && pwd' })}`);
            const { shown } = await mustAnswer(agent, place, 'And now?', { again: true });
            must(/project\/src/.test(shown.at(-1)), 'the model did not go there');
            same(count(shown.at(-1), '(money.md)'), 1, 'lines of the note');
            must(!shown.at(-1).includes('Memory has changed'), 'the block changed');
        });
    await test(`${agent.name}: conversations below the top are those of the project`, async () => {
        const titles = (await ethosJson(place, 'sessions', 'list')).items.map((one) => one.displayTitle);
        must(titles.includes('Where am I?'), `the project has ${JSON.stringify(titles)}`);
    });
}

async function compact(agent, place) {
    await test(`${agent.name}: after a compaction the model is told again, once`, async () => {
        await mustAnswer(agent, place, 'Zanzibar again', { again: false });
        await agent.compact(agent, place);
        const { shown } = await mustAnswer(agent, place, 'After it: Lhasa', { again: true });
        same(count(shown.at(-1), facts.memory), 1, 'lines of MEMORY.md');
    });
    await test(`${agent.name}: a compaction adds nothing that nobody said`, async () => {
        const { hits } = await ethosJson(place, 'sessions', 'search', 'Lhasa');
        const { messages } = await ethosJson(place, 'sessions', 'show', hits[0].sessionId ?? hits[0].session.id);
        same(messages.filter((one) => one.role !== 'tool').map((one) => one.content), ['Zanzibar again',
            'Noted: Zanzibar again', 'After it: Lhasa', 'Noted: After it: Lhasa'], 'what was said');
    });
}

// ---- what may go wrong ----------------------------------------------------------------------------------

// The agent must behave as if there were no hooks.
async function mustNotCare(agent, place, what, extra) {
    await test(`${agent.name}: does not care that ${what}`, async () => {
        const { out, status, asked } = await ask(agent, place, 'Is all well?', { extra });
        same({ status, out: out.trim(), asked: asked.length }, place.calm, 'the agent');
    });
}

async function breakThings(agent, place) {
    const plain = newPlace(agent);
    agent.prepare(plain);
    const calm = await ask(agent, plain, 'Is all well?');
    place.calm = { status: calm.status, out: calm.out.trim(), asked: calm.asked.length };
    const home = join(place.home, '.ethos');
    await mustNotCare(agent, place, 'ethos is there');

    renameSync(join(work, 'bin/ethos'), join(work, 'ethos.gone'));
    try {
        await mustNotCare(agent, place, 'ethos is gone');
    } finally {
        renameSync(join(work, 'ethos.gone'), join(work, 'bin/ethos'));
    }

    renameSync(home, `${home}.kept`); // a file: root may read every folder
    writeFileSync(home, 'no folder');
    await mustNotCare(agent, place, 'the home cannot be read');
    rmSync(home);
    renameSync(`${home}.kept`, home);

    const database = new DatabaseSync(join(home, 'sessions.db'));
    database.exec('BEGIN EXCLUSIVE');
    await mustNotCare(agent, place, 'the database is locked');
    database.exec('ROLLBACK');
    database.close();
    await test(`${agent.name}: what was said meanwhile is recorded later`, async () => {
        await ethos(place, 'sessions', 'drain');
        const { hits } = await ethosJson(place, 'sessions', 'search', 'well');
        const sessions = new Set(hits.map((hit) => hit.sessionId ?? hit.session.id));
        same(sessions.size, 2, `conversations with "Is all well?": ${JSON.stringify(hits)}`);
    });
}

// An answer that comes at once ends the turn before the agent has written its transcript.
async function hurry(agent, place) {
    await test(`${agent.name}: turns that end at once are recorded once, too`, async () => {
        mock.delay = 0;
        for (let i = 0; i < 6; i++) await mustAnswer(agent, place, `Quick one ${i}`);
        mock.delay = usual;
        const sessions = (await ethosJson(place, 'sessions', 'list', '--all')).items;
        same(sessions.filter((one) => /:events$/.test(one.key)).map((one) => one.displayTitle), [], 'second records');
        same(sessions.filter((one) => /^Quick one/.test(one.displayTitle)).length, 6, 'conversations');
    });
}

// The notes of the project are the agent's own memory: each line of the index reaches the model once, whoever wrote it.
async function share(agent, place) {
    const told = async (prompt, line) => count((await mustAnswer(agent, place, prompt)).shown.at(-1), line);
    await test(`${agent.name}: one memory with the agent's own, each line once`, async () => {
        await ethos(place, 'remember', 'The bell is red', '--title', 'Bell of the tower');
        same(await told('Before it is shared', '(bell-of-the-tower.md)'), 1, 'lines of the index');
        await ethos(place, 'install', agent.name, '--own-memory', 'share', '--yes');
        same(await told('What colour is the bell?', '(bell-of-the-tower.md)'), 1, 'lines of the index');
    });
    await test(`${agent.name}: a note that the agent makes by itself gets its line`, async () => {
        const { memory } = await ethosJson(place, 'workspaces', 'where');
        const input = JSON.stringify({ file_path: join(memory, 'gate.md'), content: 'The gate squeaks\n' });
        await mustAnswer(agent, place, `CALL Write ${input}`);
        must(existsSync(join(memory, 'gate.md')), 'there is no such note');
        await told('And then?', '');
        same(count(readFileSync(join(memory, 'MEMORY.md'), 'utf8'), '(gate.md)'), 1, 'lines in the index');
        same(await told('What of the gate?', '(gate.md)'), 1, 'lines of the index');
        await ethos(place, 'install', agent.name, '--own-memory', 'keep', '--yes');
        must(!existsSync(join(place.project, '.claude')), 'what share wrote is still there');
    });
}

// What the agent itself changed since the installation stays, ours goes, the rest is as before.
async function uninstall(agent, place) {
    await test(`${agent.name}: uninstall leaves only what the agent wrote`, async () => {
        const last = readAll(agent, place);
        await ethos(place, 'uninstall', agent.name, '--yes');
        const after = readAll(agent, place);
        for (const path of agent.files) {
            if (path === '.claude.json') {
                const expected = JSON.parse(last[path]);
                delete expected.mcpServers.ethos;
                if (Object.keys(expected.mcpServers).length === 0 && !('mcpServers' in JSON.parse(place.before[path])))
                    delete expected.mcpServers;
                same(after[path], JSON.stringify(expected, null, 2) + (last[path].endsWith('\n') ? '\n' : ''), path);
            } else if (path === '.codex/config.toml') {
                must(after[path].startsWith(place.before[path]), `${path}: ${after[path]}`);
                const added = after[path].slice(place.before[path].length);
                must(!/BEGIN|END|mcp_servers/.test(added), `${path} has ours: ${added}`);
                same(added.split('\n').filter((line) => /trusted_hash/.test(line)).length, 5, 'notes of trust');
                note(`Codex keeps: ${JSON.stringify(added).slice(0, 120)}...`);
            } else {
                same(after[path], place.before[path], path);
            }
        }
        const { out } = await mustAnswer(agent, place, 'And now?');
        must(out.includes('Noted: And now?'), out);
        const found = await ethos(place, 'doctor');
        must(!/ethos/.test(found.replace(/^ethos .*$/m, '')), found);
    });
}

// The folders that are installed beside the program hold the entries that install writes, and please their client.
async function folder(agent, place) {
    if (!agent.folder) return;
    const path = new URL(`../../packaging/${agent.folder.path}/`, import.meta.url).pathname;
    const json = (name) => JSON.parse(readFileSync(join(path, name), 'utf8'));
    await test(`${agent.name}: the folder of ${agent.folder.path} is valid and has the same entries`, async () => {
        const result = await run(place, agent.folder.validate(path));
        must(result.status === 0, `${result.out}${result.err}`);
        const settings = JSON.parse(read(place, agent.folder.settings[0])), servers = JSON.parse(read(place, agent.folder.settings[1]));
        same(json('hooks/hooks.json').hooks, settings.hooks, 'hooks');
        same(json(agent.folder.servers).mcpServers.ethos, servers.mcpServers.ethos, 'the server');
    });
}

// As the agent measured them.
function tellTimes(place) {
    const folder = join(place.home, '.claude/projects');
    if (!existsSync(folder)) return;
    const times = {};
    for (const name of readdirSync(folder, { recursive: true }).filter((one) => one.endsWith('.jsonl')))
        for (const [, event, ms] of readFileSync(join(folder, name), 'utf8')
            .matchAll(/"hookEvent":"(\w+)"[^\n]*?"durationMs":(\d+)/g)) (times[event] ??= []).push(Number(ms));
    for (const [event, list] of Object.entries(times))
        note(`hook ${event}: ${list.length} times, ${Math.min(...list)} to ${Math.max(...list)} ms`);
}

const usual = 400; // ms that the model thinks
mock.delay = usual;
const agents = [claude, codex, gemini, qwen, copilot, opencode].filter((agent) => wanted.length === 0 || wanted.includes(agent.name));
for (const agent of agents) {
    const place = newPlace(agent);
    await settle(agent, place);
    await install(agent, place);
    if (agent.plain) { // has tools and a paragraph, no hooks
        await useTools(agent, place);
        await uninstall(agent, place);
        continue;
    }
    await folder(agent, place);
    await readOnly(agent, place);
    await converse(agent, place);
    await forget(agent, place);
    await recorded(agent, place);
    await useTools(agent, place);
    await wander(agent, place);
    if (agent.compact) await compact(agent, place);
    await breakThings(agent, place);
    await hurry(agent, place);
    if (agent === claude) await share(agent, place);
    tellTimes(place);
    await uninstall(agent, place);
}
note(`hosts that agents asked for and did not get: ${[...new Set(mock.foreign)].join(' ') || 'none'}`);
finish();
mock.close();

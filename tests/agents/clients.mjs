// clients.mjs ETHOS PEERS HOME: every client lists and calls every tool of `ethos mcp`; TAP on stdout.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { finish, must, test } from './tap.mjs';

const [ethos, peers, home] = process.argv.slice(2);
const run = promisify(execFile);
const serverArgs = ['mcp', '--team', 'crew'];
const environment = (name) => ({ ...process.env, ETHOS_HOME: `${home}/${name}` });

// What each tool is called with, and what the answer must show. A tool that is not here fails the run.
const calls = {
    remember: [{ content: 'The tests need Redis', title: 'Testing' }, (r) => r.key === 'testing.md'],
    memory_search: [{ query: 'redis' }, (r) => r.hits.some((hit) => hit.key === 'testing.md')],
    memory_read: [{}, (r) => typeof r.content === 'string'],
    memory_write: [{ action: 'add', content: 'We deploy on Fridays' }, (r) => r.applied <= 1],
    note_list: [{}, (r) => r.notes.length === 1],
    note_read: [{ name: 'Testing' }, (r) => r.content.includes('Redis')],
    session_search: [{ query: 'redis' }, (r) => r.hits[0].snippet.match === 'Redis'],
    session_list_by_date: [{ since: '1d' }, (r) => r.items.length === 1 && r.items[0].turnCount === 1],
    session_read: [{ id: 'cli:project' }, (r) => r.messages[0].content.includes('Redis')],
    team_memory_read: [{}, (r) => r.scope === 'team:crew'],
    team_memory_search: [{ query: 'sail' }, (r) => Array.isArray(r.hits)],
    team_memory_write: [{ action: 'add', content: 'We sail on Monday' }, (r) => r.applied <= 1],
};

// What the tools for conversations find.
const converse = (name) => run(ethos, ['sessions', 'append', 'Why do the tests need Redis?'],
    { env: environment(name) });

function checkTools(tools) {
    const names = tools.map((tool) => tool.name);
    for (const name of Object.keys(calls)) must(names.includes(name), `${name} is not listed`);
    for (const name of names) must(calls[name], `${name} is listed and not tried`);
}

function checkResult(name, result) {
    must(!result.isError, `${name}: ${result.content?.[0]?.text}`);
    must(calls[name][1](result.structuredContent), `${name}: ${JSON.stringify(result)}`);
}

// ---- the official client, in both eras ----------------------------------------------------------

async function withClient(name, options, body) {
    const transport = new StdioClientTransport({
        command: ethos, args: serverArgs, env: environment(name), cwd: process.cwd(), stderr: 'inherit',
    });
    const client = new Client({ name: 'agents-test', version: '1' }, options);
    const errors = [];
    client.onerror = (error) => errors.push(error);
    await client.connect(transport);
    try {
        await body(client);
    } finally {
        await client.close();
    }
    must(errors.length === 0, `the client complained: ${errors}`);
}

async function tryClient(name, options, version) {
    await converse(name);
    await test(`${name}: settles on ${version}`, () => withClient(name, options, async (client) => {
        must(client.getNegotiatedProtocolVersion() === version, client.getNegotiatedProtocolVersion());
        must(client.getServerVersion().name === 'ethos', 'serverInfo');
        must(client.getInstructions().length > 100, 'instructions');
    }));
    await test(`${name}: lists and calls every tool`, () => withClient(name, options, async (client) => {
        const { tools } = await client.listTools();
        checkTools(tools);
        for (const tool of tools)
            checkResult(tool.name, await client.callTool({ name: tool.name, arguments: calls[tool.name][0] }));
    }));
    await test(`${name}: a replace needs the revision`, () => withClient(name, options, async (client) => {
        const replace = (more) => client.callTool({
            name: 'memory_write', arguments: { action: 'replace', content: 'Fridays', ...more },
        });
        const refused = await replace({});
        must(refused.isError, 'it was not refused');
        const revision = /sha256:[0-9a-f]{64}/.exec(refused.content[0].text)[0];
        must(!(await replace({ if_match: revision })).isError, 'the named revision did not do');
    }));
    await test(`${name}: reads every resource`, () => withClient(name, options, async (client) => {
        const { resources } = await client.listResources();
        must(resources.length >= 3, `${resources.length} resources`);
        for (const { uri } of resources) {
            const { contents } = await client.readResource({ uri });
            must(contents.length === 1 && contents[0].text.length > 0, uri);
        }
        must((await client.listResourceTemplates()).resourceTemplates.length === 2, 'templates');
        const error = await client.readResource({ uri: 'ethos://memory/none.md' }).catch((e) => e);
        must(error instanceof Error, 'a missing resource was read');
    }));
    await test(`${name}: gets every prompt`, () => withClient(name, options, async (client) => {
        const { prompts } = await client.listPrompts();
        must(prompts.length === 2, `${prompts.length} prompts`);
        for (const prompt of prompts)
            must((await client.getPrompt({ name: prompt.name })).messages.length === 1, prompt.name);
    }));
}

// ---- the inspectors -----------------------------------------------------------------------------

async function tryInspector(name, program) {
    await converse(name);
    const inspect = async (...options) => {
        const { stdout } = await run(process.execPath, [program, '--cli', '-e',
            `ETHOS_HOME=${home}/${name}`, ethos, ...serverArgs, ...options]);
        return JSON.parse(stdout);
    };
    let tools = [];
    await test(`${name}: lists every tool`, async () => {
        ({ tools } = await inspect('--method', 'tools/list'));
        checkTools(tools);
    });
    await test(`${name}: calls every tool`, async () => {
        must(tools.length > 0, 'no tools');
        for (const tool of tools) {
            const pairs = Object.entries(calls[tool.name][0]).flatMap(([k, v]) => ['--tool-arg', `${k}=${v}`]);
            checkResult(tool.name, await inspect('--method', 'tools/call', '--tool-name', tool.name, ...pairs));
        }
    });
    await test(`${name}: lists resources and prompts`, async () => {
        must((await inspect('--method', 'resources/list')).resources.length >= 3, 'resources');
        must((await inspect('--method', 'prompts/list')).prompts.length === 2, 'prompts');
    });
}

await tryClient('client', {}, '2025-11-25');
await tryClient('client-modern', { versionNegotiation: { mode: 'auto' } }, '2026-07-28');
await tryInspector('inspector-0.15', `${peers}/node_modules/@modelcontextprotocol/inspector/cli/build/cli.js`);
await tryInspector('inspector-2', `${peers}/node_modules/inspector-2/clients/launcher/build/index.js`);
await test('inspector-2: finds the schemas portable', () => run(process.execPath, [
    `${peers}/node_modules/inspector-2/clients/launcher/build/index.js`, '--cli', '-e',
    `ETHOS_HOME=${home}/strict`, ethos, ...serverArgs, '--method', 'tools/list', '--strict']));
finish();

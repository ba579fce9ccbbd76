// clients.mjs ETHOS PEERS HOME: every client lists and calls every tool of `ethos mcp`; TAP on stdout.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { finish, must, test } from './tap.mjs';
import { calls, checkResult, checkTools, tryClient } from './tools.mjs';

const [ethos, peers, home] = process.argv.slice(2);
const run = promisify(execFile);
const serverArgs = ['mcp', '--team', 'crew'];
const environment = (name) => ({ ...process.env, ETHOS_HOME: `${home}/${name}` });

// What the tools for conversations find.
const converse = (name) => run(ethos, ['sessions', 'append', 'Why do the tests need Redis?'],
    { env: environment(name) });

// ---- the official client, in both eras ----------------------------------------------------------

async function tryOfficial(name, options, version) {
    await converse(name);
    await tryClient({
        name, options, version, team: true,
        transport: () => new StdioClientTransport({
            command: ethos, args: serverArgs, env: environment(name), cwd: process.cwd(), stderr: 'inherit',
        }),
    });
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
            const answer = inspect('--method', 'tools/call', '--tool-name', tool.name, ...pairs);
            if (calls[tool.name][1] instanceof RegExp) // one of them fails then, and says no more than that
                await answer.then((result) => checkResult(tool.name, result),
                    (error) => must(String(error).includes('returned isError:true'), `${error}`));
            else
                checkResult(tool.name, await answer);
        }
    });
    await test(`${name}: lists resources and prompts`, async () => {
        must((await inspect('--method', 'resources/list')).resources.length >= 3, 'resources');
        must((await inspect('--method', 'prompts/list')).prompts.length === 2, 'prompts');
    });
}

await tryOfficial('client', {}, '2025-11-25');
await tryOfficial('client-modern', { versionNegotiation: { mode: 'auto' } }, '2026-07-28');
await tryInspector('inspector-0.15', `${peers}/node_modules/@modelcontextprotocol/inspector/cli/build/cli.js`);
await tryInspector('inspector-2', `${peers}/node_modules/inspector-2/clients/launcher/build/index.js`);
await test('inspector-2: finds the schemas portable', () => run(process.execPath, [
    `${peers}/node_modules/inspector-2/clients/launcher/build/index.js`, '--cli', '-e',
    `ETHOS_HOME=${home}/strict`, ethos, ...serverArgs, '--method', 'tools/list', '--strict']));
finish();

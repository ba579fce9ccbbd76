// conformance.mjs: the conformance package of the Model Context Protocol on /mcp, both of its lines, both eras.
//
// Two servers are tried: one with the tools, resources and prompts that the package calls (tests/mcp/fixture.c: all of
// the program but what is offered is the same), then the program that is installed. What does not pass has a line in
// conformance-expected.txt, with the reason; one that is not there fails the run, and so does a line whose check passes.
// Of the installed program, what the package asks of a thing that it has not, and the fixture has, is not counted.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { bin, ethos, makeHome, serveWith, tree } from './server.mjs';
import { finish, must, test } from './tap.mjs';

const fixture = join(bin, '../tests/mcp/fixture_serve'), installed = join(bin, 'ethos');

// How many there may be in all runs. It may only get smaller.
const MOST_EXPECTED = 69;

const runs = {
    stable: ['conformance-0-1', '--suite', 'all'],
    legacy: ['@modelcontextprotocol/conformance', '--suite', 'all', '--spec-version', '2025-11-25'],
    modern: ['@modelcontextprotocol/conformance', '--requirements', '2026-07-28'],
};

// ---- the server, with a key for those who cannot send one -----------------------------------------

// Passes everything on as it is; adds the key, and says the server's port where its own was said.
function addKey(origin, key) {
    const { port } = new URL(origin);
    const proxy = createServer((ask, answer) => {
        const headers = { ...ask.headers, authorization: `Bearer ${key}` };
        const own = new RegExp(`:${proxy.address().port}$`);
        headers.host = headers.host?.replace(own, `:${port}`);
        const on = request({ host: '127.0.0.1', port, path: ask.url, method: ask.method, headers, setHost: false }, (got) => {
            answer.writeHead(got.statusCode, got.headers);
            got.pipe(answer);
        });
        on.on('error', () => answer.destroy());
        ask.pipe(on);
    });
    return new Promise((resolve) => proxy.listen(0, '127.0.0.1', () => resolve(proxy)));
}

// ---- what the package says -------------------------------------------------------------------------

function runPackage(url, [name, ...options]) {
    const output = mkdtempSync(join(tmpdir(), 'conformance-'));
    const program = realpathSync(new URL(`node_modules/${name}/dist/index.js`, import.meta.url));
    return new Promise((resolve) => {
        execFile(process.execPath, [program, 'server', '--url', url, ...options, '-o', output], { maxBuffer: 1 << 26 },
            (_, text) => resolve({ output, text }));
    });
}

// [scenario, check, status, message] of all; a check that is made several times counts as one of its worst.
function readChecks({ output, text }) {
    const all = [];
    const names = [...text.matchAll(/^=== Running scenario: (\S+) ===$/gm)].map((match) => match[1]);
    for (const scenario of names) {
        const folder = readdirSync(output).find((one) => one.startsWith(`server-${scenario}-20`));
        must(folder, `${scenario} left no result`);
        for (const check of JSON.parse(readFileSync(join(output, folder, 'checks.json'))))
            all.push([scenario, check.id, check.status, check.errorMessage ?? '']);
    }
    must(names.length > 0, text);
    return all;
}

// Whether a check came to nothing because the server has not what it was asked for.
const isAbsent = (message) =>
    /unknown (tool|prompt): \w+$|no such resource: test:\S+$|does not list the diagnostic tool|^Tool '\w+' not found/.test(message);

// "scenario check" of what is expected not to pass, by run. A line in brackets is the reason of those after it.
function readExpected() {
    const expected = Object.fromEntries(Object.keys(runs).map((run) => [run, new Set()]));
    let reason = '', count = 0;
    for (const line of readFileSync(join(tree, 'tests/http/conformance-expected.txt'), 'utf8').split('\n')) {
        const [scenario, check, ...where] = line.split(' ');
        if (line.startsWith('[')) reason = line;
        if (line === '' || line.startsWith('#') || line.startsWith('[')) continue;
        must(reason && where.length > 0, `no reason, or no run: ${line}`);
        for (const run of where) {
            must(expected[run] && !expected[run].has(`${scenario} ${check}`), `unknown run, or twice: ${line}`);
            expected[run].add(`${scenario} ${check}`);
            count++;
        }
    }
    must(count <= MOST_EXPECTED, `${count} are listed: the list may only shrink`);
    return expected;
}

// ---- all of it --------------------------------------------------------------------------------------

async function runAll(program) {
    const home = makeHome();
    ethos(home, 'memory', 'add', 'We deploy on Fridays');
    const scopes = ['memory:read', 'memory:write', 'sessions:read', 'sessions:write', 'personalities:read'];
    const { key } = ethos(home, 'api-key', 'create', 'conformance', ...scopes.flatMap((scope) => ['--scope', scope]), '--json');
    const server = await serveWith(program, home);
    const proxy = await addKey(server.origin, key);
    const url = `http://localhost:${proxy.address().port}/mcp`;
    const results = await Promise.all(Object.values(runs).map((words) => runPackage(url, words)));
    proxy.closeAllConnections();
    proxy.close();
    await server.stop();
    return results;
}

// The names of what passed; elsewhere: of what passed on a server that has all that is asked for.
async function judge(name, result, expected, elsewhere = new Set()) {
    let checks = [];
    await test(`${name}: the package ran`, () => {
        checks = readChecks(result);
    });
    const called = ([scenario, check]) => `${scenario} ${check}`;
    const absent = checks.filter((one) => elsewhere.has(called(one)) && isAbsent(one[3]));
    const failed = checks.filter((one) => one[2] !== 'SUCCESS' && one[2] !== 'INFO' && !absent.includes(one));
    const names = new Set([...failed, ...absent].map(called));
    const passed = new Set(checks.map(called).filter((one) => !names.has(one)));
    await test(`${name}: ${passed.size} pass, ${absent.length} have nothing to ask for; what does not pass is expected`, () => {
        const news = failed.filter((one) => !expected.has(called(one)));
        must(news.length === 0, news.map((one) => one.join(' ')).join('\n'));
        must(passed.size > 0, 'nothing passed');
    });
    await test(`${name}: what is expected to fail fails`, () => {
        const gone = [...expected].filter((one) => !names.has(one));
        must(gone.length === 0, `take out of conformance-expected.txt: ${gone.join(', ')}`);
    });
    await test(`${name}: nobody gets in by DNS rebinding`, () => {
        const rebinding = checks.filter(([scenario]) => scenario === 'dns-rebinding-protection');
        must(rebinding.length >= 2 && rebinding.every(([, , status]) => status === 'SUCCESS'), JSON.stringify(rebinding));
    });
    return passed;
}

let expected;

await test('what is expected to fail is listed with its reason, and the list does not grow', () => {
    expected = readExpected();
});

const [onFixture, onInstalled] = [await runAll(fixture), await runAll(installed)];
for (const [index, run] of Object.keys(runs).entries()) {
    const passed = await judge(`fixture ${run}`, onFixture[index], expected[run]);
    await judge(`installed ${run}`, onInstalled[index], expected[run], passed);
}
finish();

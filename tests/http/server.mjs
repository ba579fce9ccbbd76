// server.mjs: a home of its own and an `ethos serve` for it.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';

export const bin = process.argv[2];
export const tree = process.env.ETHOS_TREE;

export function makeHome() {
    return join(mkdtempSync(join(tmpdir(), 'ethos-http-')), '.ethos');
}

// One command, its output; with JSON, its value.
export function ethos(home, ...args) {
    return ethosIn(home, undefined, '', ...args);
}

export function ethosIn(home, cwd, input, ...args) {
    const env = { ...process.env, ETHOS_HOME: home };
    const text = execFileSync(join(bin, 'ethos'), args, { env, cwd, input, encoding: 'utf8', maxBuffer: 1 << 28, stdio: 'pipe' });
    return args.includes('--json') ? JSON.parse(text) : text;
}

// Servers of tests that failed are nobody's: they end with the script, and it does not wait for them.
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

function waitFor(child, wait) {
    for (const part of [child, child.stdout, child.stderr]) wait ? part.ref() : part.unref();
}

// Starts a server; resolves when it told its address. {origin, loginUrl, stop()}
export function serve(home, ...args) {
    return serveFrom(bin, home, ...args);
}

// The same, of another build.
export function serveFrom(folder, home, ...args) {
    return serveWith(join(folder, 'ethos'), home, ...args);
}

// The same, of a program that has the command.
export function serveWith(program, home, ...args) {
    const port = args.includes('--port') ? [] : ['--port', '0'];
    const child = spawn(program, ['serve', ...port, ...args], {
        env: { ...process.env, ETHOS_HOME: home },
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    child.on('exit', () => running.delete(child));
    return new Promise((resolve, reject) => {
        let output = '', told = false;
        const read = (data) => {
            output += data;
            const url = /http:\/\/\S*\/auth\/exchange\?t=[0-9a-f]+/.exec(output)?.[0];
            if (!url || told) return;
            told = true;
            waitFor(child, false);
            resolve({ origin: new URL(url).origin, loginUrl: url, stop: () => stop(child), pid: child.pid });
        };
        child.stdout.on('data', read);
        child.stderr.on('data', read);
        child.on('error', reject);
        child.on('exit', (code) => reject(new Error(`ethos serve ended with ${code}: ${output}`)));
    });
}

function stop(child) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    waitFor(child, true);
    child.kill('SIGTERM');
    return ended;
}

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

// The files of a folder on an origin of their own: a page of somebody else. {origin, stop()}
export async function serveFolder(folder) {
    const server = createServer((request, response) => {
        const path = new URL(request.url, 'http://localhost').pathname;
        try {
            const body = readFileSync(join(folder, path));
            response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' }).end(body);
        } catch {
            response.writeHead(404).end();
        }
    });
    await new Promise((resolve) => server.listen(0, 'localhost', resolve));
    return { origin: `http://localhost:${server.address().port}`, stop: () => server.close() };
}

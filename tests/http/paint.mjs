// paint.mjs: how long a person waits for the dashboard, in Debian's Chromium on a server that is already
// running. Figures, not a test; `make bench-paint` runs it.
//
//     PAINT_LOADS=15          loads of each kind
//     PAINT_AGAINST=DIR/bin   another build, loaded by turns with this one
//
// Cold is a browser that has nothing of it, warm one that comes back in a new tab. `paint` is the first
// contentful paint and `page` the largest one: the text of a file. Both are the browser's own, since the
// navigation began. `asked` is how many requests went to the server until then, `sent` and `bytes` their
// bodies, as sent and as they are, with those that the browser had kept. The page of strangers, two
// sentences without style or script, tells what the browser itself needs.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

import { bin, ethosIn, makeHome, serveFrom } from './server.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(CHROMIUM)) {
    console.log(`there is no ${CHROMIUM}`);
    process.exit(0);
}

const loads = Number(process.env.PAINT_LOADS ?? 15);
const MEASURES = ['paint', 'page', 'asked', 'sent', 'bytes'];
const SETTLE_MS = 1200;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// ---- a browser that nobody watches --------------------------------------------------------------------
//
// A driver that listens to every request makes each of them slower. This one is silent while a page loads.

class Browser {
    #socket;
    #open = new Map();
    #last = 0;

    static async start() {
        const self = new Browser();
        self.folder = mkdtempSync(join(tmpdir(), 'ethos-paint-'));
        const own = ['--headless=new', '--remote-debugging-port=0', `--user-data-dir=${self.folder}`, '--no-first-run',
            '--window-size=1440,900', ...(process.getuid() === 0 ? ['--no-sandbox'] : []), 'about:blank'];
        self.child = spawn(CHROMIUM, own, { stdio: ['ignore', 'ignore', 'pipe'] });
        const address = await new Promise((resolve, reject) => {
            let said = '';
            self.child.stderr.on('data', (data) => {
                said += data;
                const found = /ws:\/\/\S+/.exec(said);
                if (found) resolve(found[0]);
            });
            self.child.on('exit', () => reject(new Error(`${CHROMIUM}: ${said}`)));
        });
        self.#socket = new WebSocket(address);
        self.#socket.onmessage = ({ data }) => self.#take(JSON.parse(data));
        await new Promise((resolve) => { self.#socket.onopen = resolve; });
        return self;
    }

    #take({ id, result, error }) {
        const waiting = this.#open.get(id);
        this.#open.delete(id);
        if (error) waiting?.reject(new Error(error.message));
        else waiting?.resolve(result);
    }

    send(method, params = {}, sessionId = undefined) {
        const id = ++this.#last;
        this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
        return new Promise((resolve, reject) => this.#open.set(id, { resolve, reject }));
    }

    async evaluate(sessionId, body) {
        const { result } = await this.send('Runtime.evaluate', { expression: `(${body})()`, awaitPromise: true, returnByValue: true }, sessionId);
        return result.value;
    }

    async stop() {
        const ended = new Promise((resolve) => this.child.once('exit', resolve));
        await this.send('Browser.close');
        await ended;
        rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    }
}

// ---- loading ------------------------------------------------------------------------------------------

// In the page, after everything.
const told = () => new Promise((resolve) => {
    new PerformanceObserver((list) => {
        const page = list.getEntries().at(-1).startTime;
        const [navigation] = performance.getEntriesByType('navigation');
        const all = [navigation, ...performance.getEntriesByType('resource').filter((entry) => entry.responseEnd <= page)];
        const sum = (member) => all.reduce((total, entry) => total + entry[member], 0) / 1000;
        resolve({
            paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
            page,
            shows: document.querySelectorAll('.file .blk').length,
            asked: all.filter((entry) => entry.transferSize > 0).length,
            sent: sum('encodedBodySize'),
            bytes: sum('decodedBodySize'),
        });
    }).observe({ type: 'largest-contentful-paint', buffered: true });
});

// A new tab makes a browser busy with itself: the page is opened when that is over.
async function load(browser, browserContextId, url, least = 10) {
    const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank', browserContextId });
    const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true });
    await pause(SETTLE_MS);
    await browser.send('Page.navigate', { url }, sessionId);
    await pause(SETTLE_MS);
    const figures = await browser.evaluate(sessionId, told);
    if (figures.shows < least) throw new Error('the page does not show its text');
    await browser.send('Target.closeTarget', { targetId });
    return figures;
}

function livedIn() {
    const home = makeHome();
    const line = (i) => `- Fact ${i}: something that is worth to be known for longer than a day\n`;
    const text = (n) => `# Facts\n\n${Array.from({ length: n }, (_, i) => line(i)).join('')}\nA paragraph of its own. ${line(0).repeat(6).replaceAll('\n', ' ')}\n`;
    ethosIn(home, undefined, text(12), 'memory', 'write');
    ethosIn(home, undefined, text(8), 'memory', 'write', '--store', 'user');
    return home;
}

// A server of one build, and the cookie of who logged in there.
async function contestant(name, folder) {
    const server = await serveFrom(folder, livedIn());
    const answer = await fetch(server.loginUrl, { redirect: 'manual' });
    const value = /ethos_auth=([^;]+)/.exec(answer.headers.get('set-cookie'))[1];
    return { name, server, cookie: { name: 'ethos_auth', value, url: server.origin, sameSite: 'Strict' }, bare: [], cold: [], warm: [] };
}

async function round(browser, { server, cookie, bare, cold, warm }) {
    const { browserContextId } = await browser.send('Target.createBrowserContext');
    bare.push(await load(browser, browserContextId, `${server.origin}/`, 0));
    await browser.send('Storage.setCookies', { cookies: [cookie], browserContextId });
    cold.push(await load(browser, browserContextId, `${server.origin}/#/memory`));
    warm.push(await load(browser, browserContextId, `${server.origin}/#/memory`));
    await browser.send('Target.disposeBrowserContext', { browserContextId });
}

const quantile = (values, q) => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * q)];

function print(name, kind, figures) {
    const cell = (measure, q) => quantile(figures.map((one) => one[measure]), q).toFixed(0);
    const cells = MEASURES.map((measure) => `${cell(measure, 0.5)} (${cell(measure, 0.25)}-${cell(measure, 0.75)})`);
    console.log(`| ${name} | ${kind} | ${cells.join(' | ')} |`);
}

const browser = await Browser.start();
const all = [await contestant('this', bin)];
if (process.env.PAINT_AGAINST) all.push(await contestant('other', process.env.PAINT_AGAINST));
for (const one of all) await round(browser, { ...one, bare: [], cold: [], warm: [] }); // the first is not counted
for (let i = 0; i < loads; i++) for (const one of all) await round(browser, one);
console.log(`${loads} loads of each, load average ${loadavg()[0].toFixed(1)}; median (quartiles), ms and kB`);
console.log(`| build | page | ${MEASURES.join(' | ')} |\n|---|---|${'---:|'.repeat(MEASURES.length)}`);
for (const one of all) for (const kind of ['bare', 'cold', 'warm']) print(one.name, kind, one[kind]);
await browser.stop();
for (const { server } of all) await server.stop();

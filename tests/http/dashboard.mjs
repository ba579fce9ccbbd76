// dashboard.mjs: what the files dashboard-*.mjs share: a home that looks lived in, a server for it, and
// Debian's Chromium signed in there. Without Chromium the file is skipped, and the reason reported.
//
// Every test has a browser context of its own, so that no draft, cookie or open page of another one is in it,
// and begins with USER.md and MEMORY.md as they are here. It waits for states, never for a time: PATIENCE_MS
// only ends a test whose state does not come.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

import { chromium } from 'playwright-core';

import { ELSEWHERE } from './hostile.mjs';
import { ethosIn, makeHome, serve, tree } from './server.mjs';
import { finish, must, test as runTest } from './tap.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(CHROMIUM)) {
    console.log(`1..1\nok 1 - ${basename(process.argv[1])} # SKIP there is no ${CHROMIUM}`);
    process.exit(0);
}

const PATIENCE_MS = 120_000;
const POLL_MS = 50;

export const same = (a, b) => must(JSON.stringify(a) === JSON.stringify(b), `${JSON.stringify(a)} is not ${JSON.stringify(b)}`);

// ---- a home that looks lived in -----------------------------------------------------------------------

export const home = makeHome();
export const project = join(dirname(home), 'orbit');
mkdirSync(project);
export const run = (...args) => ethosIn(home, project, '', ...args);
export const write = (text, ...args) => ethosIn(home, project, text, 'memory', 'write', ...args);
export const file = (store) => run('memory', 'get', '--store', store, '--json');
export const text = (store) => file(store).content;

export const USER = '# About you\n\n- Prefers short answers\n- Lives in Zürich\n- 日本語を少し話します\n- يحب القهوة\n';
export const MEMORY = '# Rolling context\n\n- We deploy on Tuesdays\n- Redis runs on port 6380\n\n| stage | minutes |\n|---|---:|\n| build | 4 |\n';

function writeFiles() {
    write(USER, '--store', 'user');
    write(MEMORY);
}

writeFiles();
run('personality', 'create', 'engineer');
write('Memory of the engineer\n', '-p', 'engineer');
run('remember', 'Tests need a running Redis. See [Deploying](deploying.md).', '--title', 'Running the tests', '--hook', 'Before make check');
run('remember', 'Never on Fridays. See [Running the tests](running-the-tests.md), [Gone](gone.md).', '--title', 'Deploying');
run('remember', 'Half-even, per line.', '--title', 'Billing rules');
export const session = run('sessions', 'append', 'How does the scheduler renew its lease?', '--json').session.id;
run('sessions', 'append', 'Every **ten seconds**. See `lease.c`.', '--role', 'assistant', '--tool-calls', '[{"id":"c1","name":"bash","input":{"command":"grep -rn lease src"}}]');
run('sessions', 'append', 'src/lease.c:42: renew()', '--role', 'tool_result', '--tool-call-id', 'c1', '--tool-name', 'bash');

// ---- a browser that is watched ------------------------------------------------------------------------

export const server = await serve(home);
export const browser = await chromium.launch({ executablePath: CHROMIUM, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
const failed = []; // requests without an answer, since the test began
export const away = [], trouble = []; // requests that left the origin; what the browser reported
const traffic = new WeakMap(); // context -> {open: requests without an answer, count, streams: that stand}

// In each page: what was ever shown in places where it does not stay.
function recordPassing() {
    const places = ['.banner', '.toasts', '.message.found'];
    const passed = Object.fromEntries(places.map((place) => [place, []]));
    globalThis.passed = passed;
    new MutationObserver(() => {
        for (const place of places)
            for (const { textContent } of document.querySelectorAll(place))
                if (!passed[place].includes(textContent)) passed[place].push(textContent);
    }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['class'] });
}

const isStream = (request) => new URL(request.url()).pathname.startsWith('/events');

async function newContext(options) {
    const made = await browser.newContext(options);
    made.setDefaultTimeout(PATIENCE_MS);
    await made.addInitScript(recordPassing);
    const state = { open: new Set(), count: 0, streams: new Set() };
    traffic.set(made, state);
    const ended = (request) => { state.open.delete(request); state.streams.delete(request); };
    made.on('requestfinished', ended);
    made.on('requestfailed', (request) => { ended(request); failed.push(`${request.url()}: ${request.failure()?.errorText}`); });
    made.on('response', (response) => { if (isStream(response.request()) && response.ok()) state.streams.add(response.request()); });
    made.on('request', (request) => {
        state.count++;
        if (!isStream(request)) state.open.add(request);
    });
    return made;
}

function watch(made) {
    made.on('request', (request) => {
        const url = new URL(request.url());
        if (url.origin !== server.origin && !['data:', 'blob:'].includes(url.protocol)) away.push(request.url());
    });
    made.on('dialog', (dialog) => { trouble.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    made.on('weberror', (error) => trouble.push(`error: ${error.error().stack}`));
    made.on('console', (message) => {
        if (message.type() === 'error' && /Content Security Policy|TrustedHTML|TypeError/.test(message.text())) trouble.push(message.text());
    });
    return made;
}

// Of the test that runs; signed in.
export let context = await newContext();
const first = await context.newPage();
await first.goto(server.loginUrl);
await first.getByText('Prefers short answers').first().waitFor();
const { cookies } = await context.storageState();
await context.close();

/** A browser of somebody else: signed in nowhere, unless options say so. It is closed after the test. */
export const newGuest = (options = {}) => newContext(options);

async function leave(one) {
    await Promise.all(one.pages().map((page) => page.unrouteAll({ behavior: 'ignoreErrors' })));
    await one.close();
}

// What the pages showed when a test failed.
async function whatIsSeen() {
    const pages = browser.contexts().flatMap((one) => one.pages());
    const texts = pages.map((page) => page.locator('body').innerText({ timeout: 5000 }).catch((error) => error.message));
    return [...failed, ...(await Promise.all(texts)).map((seen, i) => `---- ${pages[i].url()}\n${seen.slice(0, 2000)}`)].join('\n');
}

/** A test. With ONLY=pattern, those whose name matches it. */
export async function test(name, body) {
    if (!new RegExp(process.env.ONLY ?? '').test(name)) return;
    await runTest(name, async () => {
        writeFiles();
        failed.length = 0;
        context = watch(await newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true, storageState: { cookies, origins: [] } }));
        try {
            await body();
        } catch (error) {
            throw new Error(`${error.stack}\n${await whatIsSeen()}`);
        } finally {
            await Promise.all(browser.contexts().map(leave));
        }
    });
}

/** The last test of each file, and its end. */
export async function end() {
    await runTest('no request ever left the origin, nothing ran, nothing was reported', () => {
        same(away, []);
        same(trouble, []);
        must(!ELSEWHERE.startsWith(server.origin), 'elsewhere is elsewhere');
    });
    await browser.close();
    await server.stop();
    finish();
}

// ---- waiting ------------------------------------------------------------------------------------------

/** Until holds() is true; what: the state that does not come, or a function that says so. */
export async function until(holds, what) {
    for (const end = Date.now() + PATIENCE_MS; !(await holds());) {
        if (Date.now() > end) throw new Error(typeof what === 'function' ? what() : what);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
}

/** Until read() gives what is wanted. */
export async function becomes(read, wanted) {
    let last;
    const given = async () => JSON.stringify(last = await read());
    await until(async () => (await given()) === JSON.stringify(wanted), () => `${JSON.stringify(last)} is not ${JSON.stringify(wanted)}`);
}

/** Until the words are seen in a place. */
export const reads = (page, words, where = 'main') => page.locator(where).getByText(words).first().waitFor();

/** Until the words were seen, since the last call, in a place where they do not stay; they may be gone again. */
export const passed = (page, words, where) =>
    until(() => page.evaluate(([place, wanted]) => {
        const seen = globalThis.passed[place];
        const has = seen.some((one) => one.includes(wanted));
        if (has) seen.length = 0;
        return has;
    }, [where, words]), `“${words}” was not in ${where}`);

export const bannerGoes = (page) => becomes(() => page.locator('.banner').textContent(), '');

/**
 * Until nothing is under way: the page follows the server, no request waits for an answer, and what the last
 * answer led to is painted and asked nothing more.
 */
export async function settled(page) {
    const state = traffic.get(page.context());
    const painted = () => page.evaluate(async () => {
        const frame = () => new Promise((resolve) => {
            requestAnimationFrame(() => setTimeout(resolve));
            setTimeout(resolve, 200); // a page that is behind others paints nothing
        });
        await frame();
        await frame();
        return document.querySelector('.busy').hidden;
    });
    await until(async () => {
        const { count } = state;
        return state.streams.size > 0 && state.open.size === 0 && (await painted()) && state.open.size === 0 && state.count === count;
    }, () => `under way: ${[...state.open].map((request) => request.url())}; streams: ${state.streams.size}`);
}

/** Makes a change, and waits until the server has reported it, by its line, to those who follow it. */
export async function reported(change, line) {
    const { createClient } = await import(join(tree, 'sdk/js/ethos.js'));
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const client = createClient({ baseUrl: server.origin, fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, cookie } }) });
    const stands = gate(), seen = gate();
    const stream = client.events({ onOpen: stands.reach, onEvent: (event) => { if (event.line?.includes(line)) seen.reach(); } });
    await stands.reached;
    change();
    await seen.reached;
    stream.close();
}

// ---- what a person does -------------------------------------------------------------------------------

export async function open(hash, page = null) {
    const where = page ?? await context.newPage();
    await where.goto(`${server.origin}/${hash}`);
    await where.locator('main .page').first().waitFor();
    return where;
}

/** Two keys, one right after the other: in one task of the page, since it waits only so long for the second one. */
export const pressBoth = (page, ...keys) => page.evaluate((both) => {
    for (const key of both) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
}, keys);

export async function search(page, words) {
    const field = page.locator('.top-search input');
    await field.waitFor();
    await page.keyboard.press('/');
    await until(() => field.evaluate((node) => node === document.activeElement), 'the search field has the focus');
    await page.keyboard.type(words);
}

export const editor = (page) => page.getByRole('textbox', { name: /^Text of / });
export const save = (page) => page.keyboard.press('Control+s');
export async function saveAgain(page) { // when the last attempt is over
    await page.locator('.editor-lid .primary:enabled').waitFor();
    await save(page);
}
export const editorCloses = (page) => becomes(() => editor(page).count(), 0);

export async function startEditing(page, name) {
    await page.getByRole('button', { name: `Edit ${name}`, exact: true }).click();
    await editor(page).waitFor();
}

/** What this browser keeps of files that are not saved. */
export const draftsOf = (page) => page.evaluate(() => Object.entries(localStorage).filter(([key]) => /^ethos\.draft[.@]/.test(key)).map(([, value]) => JSON.parse(value).text));

// ---- for everybody ------------------------------------------------------------------------------------

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function accessible(page, what) {
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    const found = violations.map((one) => `${what}: ${one.id} (${one.impact}): ${one.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.failureSummary?.split('\n')[1]?.trim() ?? ''}`).join('; ')}`);
    same(found, []);
}

// ---- answers that come late ---------------------------------------------------------------------------

/** Where an answer waits until the test goes on: {reached, reach()}. */
export function gate() {
    let reach;
    const reached = new Promise((resolve) => { reach = resolve; });
    return { reached, reach };
}

// browser.mjs: the dashboard in Debian's Chromium, against a real server and its files. Without Chromium
// everything is skipped, and the reason told.
import { existsSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { chromium } from 'playwright-core';

import { ELSEWHERE, hostileBodies } from './hostile.mjs';
import { ethos, ethosIn, makeHome, serve, serveFolder, tree } from './server.mjs';
import { finish, must, test as told } from './tap.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(CHROMIUM)) {
    console.log(`1..1\nok 1 - browser.mjs # SKIP there is no ${CHROMIUM}`);
    process.exit(0);
}

const same = (a, b) => must(JSON.stringify(a) === JSON.stringify(b), `${JSON.stringify(a)} is not ${JSON.stringify(b)}`);
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// ---- a home that looks lived in -----------------------------------------------------------------------

const home = makeHome();
const project = join(dirname(home), 'orbit');
mkdirSync(project);
const run = (...args) => ethosIn(home, project, '', ...args);
const write = (text, ...args) => ethosIn(home, project, text, 'memory', 'write', ...args);

const USER = '# About you\n\n- Prefers short answers\n- Lives in Zürich\n- 日本語を少し話します\n- يحب القهوة\n';
const MEMORY = '# Rolling context\n\n- We deploy on Tuesdays\n- Redis runs on port 6380\n\n| stage | minutes |\n|---|---:|\n| build | 4 |\n';
write(USER, '--store', 'user');
write(MEMORY);
run('personality', 'create', 'engineer');
write('Memory of the engineer\n', '-p', 'engineer');
write('Somebody else altogether\n', '--store', 'user', '-u', 'ana');
run('remember', 'Tests need a running Redis. See [Deploying](deploying.md).', '--title', 'Running the tests', '--hook', 'Before make check');
run('remember', 'Never on Fridays. See [Running the tests](running-the-tests.md), [Gone](gone.md).', '--title', 'Deploying');
run('remember', 'Half-even, per line.', '--title', 'Billing rules');
const session = run('sessions', 'append', 'How does the scheduler renew its lease?', '--json').session.id;
run('sessions', 'append', 'Every **ten seconds**. See `lease.c`.', '--role', 'assistant', '--tool-calls', '[{"id":"c1","name":"bash","input":{"command":"grep -rn lease src"}}]');
run('sessions', 'append', 'src/lease.c:42: renew()', '--role', 'tool_result', '--tool-call-id', 'c1', '--tool-name', 'bash');

const file = (store, ...args) => ethos(home, 'memory', 'get', '--store', store, '--json', ...args);
const text = (store) => file(store).content;

// ---- a browser that is watched ------------------------------------------------------------------------

const server = await serve(home);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true });
const away = [], trouble = [];
context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== server.origin && !['data:', 'blob:'].includes(url.protocol)) away.push(request.url());
});
context.on('dialog', (dialog) => { trouble.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
context.on('weberror', (error) => trouble.push(`error: ${error.error().message}`));
context.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy|TrustedHTML|TypeError/.test(message.text())) trouble.push(message.text());
});

// A test; the pages it opened are closed after it. With ONLY=word, those whose name holds it.
async function test(name, body) {
    if (!name.includes(process.env.ONLY ?? '') && !name.includes('opens the dashboard, once')) return;
    await told(name, body);
    await Promise.all(context.pages().map((page) => page.close()));
}

async function open(hash, page = null) {
    const where = page ?? await context.newPage();
    await where.goto(`${server.origin}/${hash}`);
    await where.locator('main .page').first().waitFor();
    return where;
}

// What a person waits for: a text in a place.
const reads = (page, words, where = 'main') => page.locator(where).getByText(words).first().waitFor();

// The editor, and saving.
const editor = (page) => page.getByRole('textbox', { name: /^Text of / });
const save = (page) => page.keyboard.press('Control+s');

// Nothing moves any more. (The stream of events never ends, so the network tells nothing.)
const settled = (page) => page.evaluate(() => new Promise((resolve) => {
    let timer;
    const wait = () => { clearTimeout(timer); timer = setTimeout(() => (document.querySelector('.busy').hidden ? resolve() : wait()), 400); };
    new MutationObserver(wait).observe(document, { childList: true, subtree: true });
    wait();
}));

async function until(holds, what) {
    for (let tries = 0; tries < 200; tries++) {
        if (await holds()) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(what);
}

// ---- signing in ---------------------------------------------------------------------------------------

await test('the link that serve prints opens the dashboard, once', async () => {
    const page = await context.newPage();
    await page.goto(server.loginUrl);
    await reads(page, 'Prefers short answers');
    same(new URL(page.url()).search, '');
    const again = await context.request.get(server.loginUrl, { maxRedirects: 0 });
    same(again.status(), 401);
});

await test('without signing in there is only a page that names the command', async () => {
    const stranger = await browser.newContext();
    const page = await stranger.newPage();
    await page.goto(`${server.origin}/`);
    must((await page.textContent('body')).includes('ethos serve'), 'the command');
    must(!(await page.content()).includes('Prefers short answers'), 'no memory');
    await stranger.close();
});

// ---- loading ------------------------------------------------------------------------------------------

// The modules that a page needs at once: app.js, the first page, and all that they import.
function staticGraph(...files) {
    const seen = new Set();
    const visit = (path) => {
        if (seen.has(path)) return;
        seen.add(path);
        const text = readFileSync(join(tree, path.startsWith('/sdk/') ? `sdk/js${path.slice(4)}` : `web${path}`), 'utf8');
        for (const [, to] of text.matchAll(/^(?:import|\} from) ?.*'(\.[^']+)';$/gm)) visit(new URL(to, `http://x${path}`).pathname);
    };
    files.forEach(visit);
    return [...seen].sort();
}

const assets = (page) => page.evaluate(() => performance.getEntriesByType('resource').filter((entry) => entry.name.includes('/assets/')).map(({ name, transferSize }) => ({ name: new URL(name).pathname, transferSize })));

await test('the page brings style and texts; the modules of the first page are one file', async () => {
    const page = await context.newPage();
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname.replace(/v[0-9a-f]+/, 'V')));
    await page.route('**/{rpc,api,events}/**', (route) => route.abort()); // the text needs none of them
    await page.goto(`${server.origin}/#/memory`);
    await reads(page, 'Prefers short answers');
    await reads(page, 'Redis runs on port 6380');
    same(asked.slice(0, 2), ['/', '/assets/V/js/app.js']);
    same(asked.filter((path) => path.includes('/css/')), []);
});

await test('one instance of each module, whichever way it is asked for', async () => {
    const page = await open('#/memory');
    const names = staticGraph('/js/app.js', '/js/pages/memory.js').map((path) => path.slice(1));
    const lost = await page.evaluate(async (names) => {
        const app = document.querySelector('script[type=module]').src, base = app.replace('js/app.js', '');
        const { modules } = await import(app);
        const lost = names.filter((name) => !modules[name]);
        for (const name of names.filter((name) => name.startsWith('js/') && name !== 'js/app.js')) {
            const alone = await import(base + name);
            for (const member of Object.keys(modules[name])) if (alone[member] !== modules[name][member]) lost.push(`${name} ${member}`);
            for (const member of Object.keys(alone)) if (!(member in modules[name])) lost.push(`${name} ${member}`);
        }
        return [...lost, ...Object.keys(modules).filter((name) => !names.includes(name))];
    }, names);
    same(lost, []);
});

await test('a page that was given nothing asks for its texts', async () => {
    const page = await context.newPage();
    await page.route(`${server.origin}/`, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, body: (await answer.text()).replace(/<script type="application\/json".*/s, '') });
    });
    await page.goto(`${server.origin}/#/memory`);
    await reads(page, 'Prefers short answers');
    await page.goto(`${server.origin}/`);
    await reads(page, 'Prefers short answers');
    same(new URL(page.url()).hash, '#/memory');
});

await test('what the page brings is of who asks: a parameter asks anew', async () => {
    const page = await open('#/memory?p=engineer');
    await reads(page, 'Memory of the engineer');
    same(await page.locator('main').getByText('Redis runs on port 6380').count(), 0);
});

await test('theme and rail are there before anything is seen', async () => {
    const page = await open('#/memory');
    await page.getByRole('button', { name: /change$/ }).click(); // light
    await page.getByRole('button', { name: /change$/ }).click(); // dark
    await page.getByRole('button', { name: 'Narrow the rail' }).click();
    await page.route('**/app.js', (route) => route.abort());
    await page.goto(`${server.origin}/?again#/memory`);
    const { theme, rail } = await page.evaluate(() => ({ ...document.documentElement.dataset }));
    same({ theme, rail }, { theme: 'dark', rail: 'icons' });
    await context.clearCookies({ name: 'ethos_look' });
});

await test('who comes back asks for no file of the dashboard again', async () => {
    await open('#/memory');
    const page = await open('#/memory');
    await reads(page, 'Prefers short answers');
    const asked = await assets(page);
    must(asked.some(({ name }) => name.endsWith('/js/app.js')), 'app.js among them');
    same(asked.filter(({ transferSize }) => transferSize > 0), []);
});

await test('a file by its version may be kept for good; by its plain name it is asked for; of another version there is none', async () => {
    const page = await open('#/memory');
    const lasting = (await assets(page)).map(({ name }) => name).find((name) => name.endsWith('/js/app.js'));
    const get = (path, headers = {}) => context.request.get(server.origin + path, { headers });
    const kept = await get(lasting), plain = await get('/assets/js/app.js');
    same(kept.headers()['cache-control'], 'private, max-age=31536000, immutable');
    same(plain.headers()['cache-control'], 'no-cache');
    same(await kept.text(), await plain.text());
    same((await get('/assets/js/app.js', { 'if-none-match': plain.headers().etag })).status(), 304);
    same((await get(lasting.replace(/v[0-9a-f]+/, 'v000000000000'))).status(), 404);
});

await test('a page whose module is gone says so, and what to do', async () => {
    const page = await open('#/memory');
    await page.route('**/js/pages/health.js', (route) => route.fulfill({ status: 404 }));
    await Promise.all([page.keyboard.press('g'), page.keyboard.press('h')]);
    await reads(page, 'This part of the dashboard could not be loaded.');
    await reads(page, /reload; drafts stay/);
});

async function otherListener(onEvent) {
    const { createClient } = await import(join(tree, 'sdk/js/ethos.js'));
    const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
    const client = createClient({ baseUrl: server.origin, fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, cookie } }) });
    return new Promise((resolve, reject) => {
        const stream = client.events({ onEvent, onOpen: () => resolve(stream), onError: reject });
    });
}

await test('a change that comes while the page loads is shown', async () => {
    const page = await context.newPage();
    const told = [];
    const stream = await otherListener((event) => told.push(event.line));
    // What the page brought is shown; before its own stream of events stands, the file changes, and that is told.
    await page.route('**/events', async (route) => {
        await reads(page, 'Redis runs on port 6380');
        write(`${MEMORY}- Between the two\n`);
        await until(() => told.some((line) => line?.includes('Between the two')), 'others were told');
        await route.continue();
    });
    await page.goto(`${server.origin}/#/memory`);
    await reads(page, 'Between the two');
    stream.close();
    write(MEMORY);
});

// ---- what goes away and comes back ---------------------------------------------------------------------

await test('the server stops and starts: every page says so, and is there again', async () => {
    const other = makeHome();
    ethos(other, 'memory', 'add', 'Known before');
    let away = await serve(other);
    const guest = await browser.newContext();
    const page = await guest.newPage();
    await page.goto(away.loginUrl);
    await reads(page, 'Known before');
    await away.stop();
    await reads(page, 'The server does not answer', '.banner');
    await reads(page, 'Known before'); // what is shown stays
    for (const [key, words] of [['h', 'could not be loaded'], ['m', 'The server does not answer.']]) {
        await Promise.all([page.keyboard.press('g'), page.keyboard.press(key)]);
        await reads(page, words);
    }
    away = await serve(other, '--port', new URL(away.origin).port);
    await reads(page, 'Known before');
    await until(async () => (await page.locator('.banner').textContent()) === '', 'the banner goes');
    await guest.close();
    await away.stop();
});

await test('a page that could not be shown is shown when the address is mended', async () => {
    const page = await open('#/memory?w=nowhere');
    await reads(page, 'no such workspace');
    await page.getByLabel('Workspace').selectOption('');
    await reads(page, 'Redis runs on port 6380');
});

await test('one call that fails does not leave the banner there', async () => {
    const page = await open('#/memory');
    await page.route('**/rpc/memory/search', (route) => route.abort());
    await page.keyboard.press('/');
    await page.keyboard.type('redis');
    await reads(page, 'The server does not answer', '.banner');
    await until(async () => (await page.locator('.banner').textContent()) === '', 'the banner goes');
});

await test('who lost the cookie is told, and goes on after signing in elsewhere', async () => {
    const page = await context.newPage();
    const stream = page.waitForResponse('**/events*');
    await open('#/memory?edit=memory', page);
    await stream; // with the cookie
    await editor(page).fill(`${MEMORY}- Typed before\n`);
    await settled(page);
    const cookies = await context.cookies();
    await context.clearCookies({ name: 'ethos_auth' });
    await save(page);
    await reads(page, 'This browser is signed out', '.banner');
    await context.addCookies(cookies);
    await save(page);
    await until(() => text('memory') === `${MEMORY}- Typed before\n`, 'it is saved');
    await until(async () => (await page.locator('.banner').textContent()) === '', 'the banner goes');
    write(MEMORY);
});

await test('who was signed out follows again, though the tab that signed in is closed', async () => {
    const other = makeHome();
    ethosIn(other, undefined, 'Known before\n', 'memory', 'write');
    const here = await serve(other), guest = await browser.newContext();
    const page = await guest.newPage();
    await page.goto(here.loginUrl);
    await reads(page, 'Known before');
    const link = () => ethosIn(other, undefined, '', 'serve', '--link').trim();
    ethosIn(other, undefined, '', 'browsers', 'revoke', ethosIn(other, undefined, '', 'browsers', 'list', '--json').items[0].prefix);
    await reads(page, 'This browser is signed out', '.banner');
    const second = await guest.newPage();
    await second.goto(link());
    await reads(second, 'Known before');
    await until(async () => (await page.locator('.banner').textContent()) === '', 'the banner goes');
    await second.close();
    ethosIn(other, undefined, 'Told after all\n', 'memory', 'write');
    await reads(page, 'Told after all');
    await guest.close();
    await here.stop();
});

await test('several browsers are signed in at a time; one signs out, a code signs it in again', async () => {
    const other = makeHome();
    ethosIn(other, undefined, 'Known before\n', 'memory', 'write');
    const here = await serve(other), link = () => ethosIn(other, undefined, '', 'serve', '--link').trim();
    const [first, second] = [await browser.newContext(), await browser.newContext()];
    const one = await first.newPage(), two = await second.newPage();
    await one.goto(here.loginUrl);
    await two.goto(link());
    await reads(one, 'Known before');
    await reads(two, 'Known before');
    await two.getByRole('button', { name: 'Browsers, sign out' }).click();
    await two.getByRole('button', { name: 'Sign out here' }).click();
    await reads(two, 'This browser is not signed in', 'body');
    await one.reload();
    await reads(one, 'Known before');
    await one.getByRole('button', { name: 'Browsers, sign out' }).click();
    await until(async () => (await one.locator('dialog li.row').count()) === 1, 'one is signed in');
    await one.getByRole('button', { name: 'Sign another one in' }).click();
    const digits = await one.locator('dialog strong').textContent();
    await two.locator('input[name=t]').fill(digits);
    await two.getByRole('button', { name: 'Sign in' }).click();
    await reads(two, 'Known before');
    await two.setViewportSize({ width: 390, height: 800 }); // a phone has it below "More"
    await two.getByRole('button', { name: 'More' }).click();
    await two.locator('dialog').getByText('Browsers, sign out').click();
    await until(async () => (await two.locator('dialog li.row').count()) === 2, 'both are signed in');
    await first.close();
    await second.close();
    await here.stop();
});

await test('a memory that is out of reach is shown as it was known, and the page sees when it is back', async () => {
    const page = await context.newPage();
    let away = true;
    await page.route('**/api/memory/list*', async (route) => {
        const response = await route.fetch(), body = await response.json();
        if (away) for (const one of body.files) Object.assign(one, { stale: true, knownAt: '2026-01-02T03:04:05.000Z' });
        await route.fulfill({ response, json: body });
    });
    await page.goto(`${server.origin}/#/memory?p=default`);
    await reads(page, 'Memory is out of reach', '.banner');
    await reads(page, 'Redis runs on port 6380');
    await accessible(page, 'out of reach');
    away = false;
    await until(async () => (await page.locator('.banner').textContent()) === '', 'the banner goes');
    same(await page.getByText('out of reach').count(), 0);
});

await test('a change that could not be read at once is shown when it can be', async () => {
    const page = await context.newPage();
    await page.goto(`${server.origin}/#/memory?p=default`);
    await reads(page, 'Redis runs on port 6380');
    let refused = 0;
    await page.route('**/api/memory/list*', (route) => (refused++ < 2
        ? route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"status":503,"detail":"busy"}' })
        : route.continue()));
    // A request that was under way before the route was set may show the first of them.
    for (let i = 1; i <= 3 && refused <= 2; i++) {
        write(`${MEMORY}- Read at the third time, ${i}\n`);
        await reads(page, `Read at the third time, ${i}`);
    }
    must(refused > 2, 'it was not asked again');
    write(MEMORY);
});

await test('in a home without notes the first one appears', async () => {
    const other = makeHome(), folder = join(dirname(other), 'first');
    mkdirSync(folder);
    const fresh = await serve(other);
    const guest = await browser.newContext();
    const page = await guest.newPage();
    await page.goto(fresh.loginUrl);
    await page.goto(`${fresh.origin}/#/notes`);
    await reads(page, 'No folder has notes yet');
    ethosIn(other, folder, '', 'remember', 'The first of all.', '--title', 'First');
    await page.locator('.note-title').getByText('First').waitFor();
    await guest.close();
    await fresh.stop();
});

await test('a conversation that grows leaves what is unfolded; one that is deleted says so', async () => {
    const id = run('sessions', 'fork', session, '--json').session.id;
    const page = await open(`#/sessions/${id}`);
    await page.locator('.fold summary').first().click();
    await reads(page, 'src/lease.c:42: renew()', '.fold');
    run('sessions', 'append', 'And one thing more', '--role', 'assistant', '--session', id);
    await reads(page, 'And one thing more', '.talk');
    await reads(page, 'src/lease.c:42: renew()', '.fold');
    run('sessions', 'delete', id, '--yes');
    await reads(page, 'There is no such conversation any more.');
});

// ---- editing ------------------------------------------------------------------------------------------

async function startEditing(page, name) {
    await page.getByRole('button', { name: `Edit ${name}`, exact: true }).click();
    await editor(page).waitFor();
}

await test('a file is edited and saved', async () => {
    const page = await open('#/memory');
    await startEditing(page, 'About you');
    await editor(page).fill(`${USER}- Likes trains 🚂\n`);
    await save(page);
    await until(() => text('user') === `${USER}- Likes trains 🚂\n`, 'it is on the disk');
    await reads(page, 'Likes trains 🚂', '.file');
});

await test('saving twice on a slow line saves once, and asks nothing', async () => {
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(`${MEMORY}- Pressed twice\n`);
    await page.route('**/rpc/memory/save', async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 500));
        await route.continue();
    });
    let saves = 0;
    page.on('request', (request) => { saves += request.url().endsWith('/rpc/memory/save'); });
    for (let i = 0; i < 4; i++) await save(page);
    await reads(page, 'Pressed twice', '.file');
    await settled(page);
    same([saves, await page.getByRole('dialog').count()], [1, 0]);
    write(MEMORY);
});

await test('a link to the editor shows all of a long text, and typing goes there', async () => {
    const long = `${MEMORY}${'- one more line\n'.repeat(80)}`;
    write(long);
    const page = await open('#/memory?edit=memory');
    await editor(page).waitFor();
    await until(() => editor(page).evaluate((area) => area.scrollHeight <= area.clientHeight + 2), 'nothing is hidden');
    await until(() => editor(page).evaluate((area) => area === document.activeElement), 'the focus');
    write(MEMORY);
});

await test('what is typed is kept as a draft when the page goes away', async () => {
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(`${MEMORY}- not saved yet\n`);
    await until(() => page.evaluate(() => Object.values(localStorage).some((value) => value.includes('not saved yet'))), 'a draft');
    await page.reload();
    await editor(page).waitFor();
    same(await editor(page).inputValue(), `${MEMORY}- not saved yet\n`);
    same(text('memory'), MEMORY);
    await page.evaluate(() => localStorage.clear());
});

// What this browser keeps of files that are not saved.
await test('who was refused and then heard nothing follows again when the server answers', async () => {
    write(MEMORY);
    const guest = await browser.newContext({ storageState: await context.storageState() }), page = await guest.newPage();
    await page.route('**/events*', (route) => route.fulfill({ status: 401, json: {} }));
    await page.route('**/rpc/meta/home', (route) => (page.url().includes('#/memory') ? route.abort() : route.continue()));
    await open('#/memory', page);
    await reads(page, 'This browser is signed out', '.banner');
    await until(async () => { // one question at a time: who comes back while one is under way asks again
        await page.evaluate(() => dispatchEvent(new Event('focus')));
        return !(await page.locator('.banner').textContent()).includes('signed out');
    }, 'the server does not answer');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await until(async () => { // a refusal that was under way may still arrive; who comes back asks again
        await page.evaluate(() => dispatchEvent(new Event('focus')));
        return (await page.locator('.banner').textContent()) === '';
    }, 'the banner goes');
    write(`${MEMORY}- Told after that\n`);
    await reads(page, 'Told after that');
    await guest.close();
    write(MEMORY);
});

const draftsOf = (page) => page.evaluate(() => Object.entries(localStorage).filter(([key]) => /^ethos\.draft[.@]/.test(key)).map(([, value]) => JSON.parse(value).text));
const forgetDrafts = (page) => page.evaluate(() => localStorage.clear());

await test('what is typed is kept when the window goes at once', async () => {
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(`${MEMORY}- typed and gone\n`);
    await page.goto('about:blank');
    await open('#/memory', page);
    same(await draftsOf(page), [`${MEMORY}- typed and gone\n`]);
    await forgetDrafts(page);
});

await test('what is typed while it is saved is no less kept', async () => {
    write(MEMORY);
    const page = await open('#/memory?edit=memory');
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route('**/rpc/memory/save', async (route) => { await held; await route.continue(); });
    await editor(page).fill(`${MEMORY}- saved\n`);
    const asked = page.waitForRequest('**/rpc/memory/save');
    await save(page);
    await asked;
    await editor(page).fill(`${MEMORY}- saved\n- typed since\n`);
    release();
    await until(() => text('memory') === `${MEMORY}- saved\n`, 'it is saved');
    await reads(page, 'MEMORY.md saved', '.toasts');
    same(await editor(page).inputValue(), `${MEMORY}- saved\n- typed since\n`);
    await save(page);
    await until(() => text('memory') === `${MEMORY}- saved\n- typed since\n`, 'the rest is saved');
    await reads(page, 'typed since', '.file');
    same([await page.getByRole('dialog').count(), await draftsOf(page)], [0, []]);
    write(MEMORY);
});

await test('two windows have a draft each, and none takes away the other’s', async () => {
    write(MEMORY);
    const [one, two, three] = [await open('#/memory?edit=memory'), await open('#/memory?edit=memory'), await open('#/memory?edit=memory')];
    for (const page of [two, three]) await editor(page).waitFor();
    await editor(one).fill(`${MEMORY}- of the first\n`);
    await until(async () => (await draftsOf(one)).length === 1, 'a draft');
    await editor(three).press('Escape'); // nothing was typed there
    await until(async () => (await editor(three).count()) === 0, 'it is closed');
    await editor(two).fill(`${MEMORY}- of the second\n`);
    await until(async () => (await draftsOf(one)).length === 2, 'two drafts');
    await Promise.all([one.close(), two.close()]);
    for (const words of ['- of the second\n', '- of the first\n']) {
        await three.reload();
        await three.locator('.file').getByRole('button', { name: 'Continue' }).click();
        same(await editor(three).inputValue(), MEMORY + words);
        await three.getByRole('button', { name: 'Discard' }).click();
        await three.getByRole('dialog').getByRole('button', { name: 'Discard it' }).click();
        await until(async () => (await editor(three).count()) === 0, 'it is discarded');
    }
    same(await draftsOf(three), []);
});

await test('drafts: one that a second window only looked at is not left behind when the first saves', async () => {
    write(MEMORY);
    const one = await open('#/memory?edit=memory');
    await editor(one).fill(`${MEMORY}- begun\n`);
    await until(async () => (await draftsOf(one)).length === 1, 'a draft');
    const two = await open('#/memory?edit=memory');
    same(await editor(two).inputValue(), `${MEMORY}- begun\n`);
    await editor(two).press('Escape');
    await until(async () => (await editor(two).count()) === 0, 'it is closed');
    await editor(one).fill(`${MEMORY}- begun and ended\n`);
    await save(one);
    await until(async () => (await editor(one).count()) === 0, 'it is saved');
    same([text('memory'), await draftsOf(one)], [`${MEMORY}- begun and ended\n`, []]);
    write(MEMORY);
});

await test('drafts: an old one is told with its day', async () => {
    const page = await open('#/memory');
    const { scope, revision } = file('memory');
    await page.evaluate(([key, draft]) => localStorage.setItem(key, draft), [`ethos.draft.${scope}/MEMORY.md`, JSON.stringify({ text: 'a', base: 'b', revision, time: Date.UTC(2020, 1, 2, 12) })]);
    await page.reload();
    await reads(page, 'You have a draft from 2 Feb 2020', '.file');
    await forgetDrafts(page);
});

await test('drafts: another home at the same address has its own', async () => {
    const homes = [makeHome(), makeHome()];
    for (const one of homes) ethosIn(one, undefined, MEMORY, 'memory', 'write');
    const guest = await browser.newContext(), page = await guest.newPage();
    const edit = async (one, port) => {
        const here = await serve(one, '--port', port);
        await page.goto(here.loginUrl);
        await page.goto(`${here.origin}/#/memory?edit=memory`);
        await editor(page).waitFor();
        return here;
    };
    let here = await edit(homes[0], '0');
    const { port } = new URL(here.origin);
    await editor(page).fill(`${MEMORY}- of the first home\n`);
    await until(async () => (await draftsOf(page)).length === 1, 'a draft');
    for (const [one, words] of [[homes[1], ''], [homes[0], '- of the first home\n']]) {
        await page.goto('about:blank');
        await here.stop();
        here = await edit(one, port);
        same(await editor(page).inputValue(), MEMORY + words);
    }
    await guest.close();
    await here.stop();
});

await test('drafts: where the browser keeps none, the window does, and says so', async () => {
    write(MEMORY);
    const page = await context.newPage();
    await page.addInitScript(() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; });
    await open('#/memory?edit=memory', page);
    await editor(page).fill(`${MEMORY}- only here\n`);
    await reads(page, 'This browser keeps no drafts', '.editor-head');
    await page.getByRole('link', { name: 'Timeline' }).first().click();
    await page.locator('.page-timeline, .change-line').first().waitFor();
    await page.goBack();
    same(await editor(page).inputValue(), `${MEMORY}- only here\n`);
    await editor(page).press('Escape');
    await page.locator('.file').getByRole('button', { name: 'Continue' }).click();
    await page.route('**/rpc/memory/save', (route) => route.abort());
    await save(page);
    await reads(page, 'This browser keeps no drafts', '.editor-news');
    await page.unroute('**/rpc/memory/save');
    await save(page);
    await until(() => text('memory') === `${MEMORY}- only here\n`, 'it is saved');
    await until(async () => (await editor(page).count()) === 0, 'it is closed');
    same(await page.locator('.file').getByRole('button', { name: 'Continue' }).count(), 0);
    write(MEMORY);
});

await test('a save whose answer is lost is no question afterwards', async () => {
    write(MEMORY);
    const page = await open('#/memory?edit=memory');
    let release;
    const lost = new Promise((resolve) => { release = resolve; });
    await page.route('**/rpc/memory/save', async (route) => {
        await route.fetch();
        await route.abort();
        release();
    }, { times: 1 });
    await editor(page).fill(`${MEMORY}- came through\n`);
    await save(page);
    await lost;
    same(text('memory'), `${MEMORY}- came through\n`);
    const other = await open('#/memory'); // where it is seen that it is saved
    same([await other.locator('.file').getByRole('button', { name: 'Continue' }).count(), await draftsOf(other)], [0, []]);
    await until(async () => {
        if ((await editor(page).count()) > 0) await save(page);
        return (await editor(page).count()) === 0;
    }, 'it is closed');
    same([await page.getByRole('dialog').count(), await draftsOf(page)], [0, []]);
    write(MEMORY);
});

await test('what is typed while both texts are brought together is in the merge', async () => {
    write(MEMORY);
    const page = await open('#/memory?edit=memory');
    await editor(page).waitFor();
    write(`- theirs\n${MEMORY}`);
    await reads(page, 'MEMORY.md changed meanwhile', '.editor-news');
    await editor(page).fill(`${MEMORY}- mine\n`);
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route('**/rpc/memory/merge', async (route) => { await held; await route.continue(); });
    const asked = page.waitForRequest('**/rpc/memory/merge');
    await page.getByRole('button', { name: 'Bring together now' }).click(); // told of when nothing was typed
    await asked;
    await editor(page).fill(`${MEMORY}- mine\n- mine, too\n`);
    release();
    await page.getByRole('dialog').getByRole('button', { name: 'Save the merge' }).click();
    await until(() => text('memory') === `- theirs\n${MEMORY}- mine\n- mine, too\n`, 'all of it is there');
    await until(async () => (await editor(page).count()) === 0, 'it is closed');
    same(await draftsOf(page), []);
    write(MEMORY);
});

await test('drafts: one of an older version becomes that of the home where somebody writes on', async () => {
    write(MEMORY);
    const guest = await browser.newContext({ storageState: await context.storageState() }), page = await guest.newPage();
    await open('#/memory', page);
    const { scope, key, content, revision } = file('memory');
    const draft = { text: `${content}- of an older version\n`, base: content, revision, time: 1 };
    await page.evaluate(([name, raw]) => localStorage.setItem(name, raw), [`ethos.draft.${scope}/${key}`, JSON.stringify(draft)]);
    const names = () => page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('ethos.draft')));
    await open('#/memory?edit=memory', page);
    await editor(page).waitFor();
    same(await editor(page).inputValue(), draft.text);
    await editor(page).press('Escape');
    same(await names(), [`ethos.draft.${scope}/${key}`]); // it was only looked at
    await open('#/memory?edit=memory', page);
    await editor(page).fill(`${draft.text}- and on\n`);
    await until(async () => (await names()).every((name) => name.startsWith('ethos.draft@')), 'it has the name of the home');
    same(await draftsOf(page), [`${draft.text}- and on\n`]);
    await guest.close();
});

await test('who types while texts are brought together goes on in the same line', async () => {
    write(MEMORY);
    const page = await open('#/memory?edit=memory');
    const place = () => editor(page).evaluate((area) => area.value.slice(0, area.selectionStart).split('\n').at(-1));
    await editor(page).evaluate((area) => { area.selectionStart = area.selectionEnd = area.value.indexOf('Redis') + 5; });
    write(`- before\n${MEMORY}- behind\n`);
    await page.getByRole('button', { name: 'Bring together now' }).click();
    must((await editor(page).inputValue()).endsWith('- behind\n'), 'it was not brought together');
    same(await place(), '- Redis');
    await editor(page).press('Escape');
    write(MEMORY);
});

await test('who agreed to a merge has saved, though an agent goes on writing; what it wrote stays', async () => {
    write(MEMORY);
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(MEMORY.replace('Tuesdays', 'Wednesdays'));
    let lines = 0;
    const agent = () => run('memory', 'add', `Line ${lines++} of an agent`);
    agent();
    await page.route('**/rpc/memory/save', (route) => { // each comes too late, three times
        if (lines < 4) agent();
        return route.continue();
    });
    await save(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Save the merge' }).click();
    await until(async () => (await editor(page).count()) === 0, 'it is saved');
    same(lines, 4);
    must(text('memory').includes('Wednesdays'), text('memory'));
    for (let i = 0; i < lines; i++) must(text('memory').includes(`Line ${i} of an agent`), text('memory'));
    write(MEMORY);
});

await test('lines that end as on Windows do so after editing; looking makes no draft', async () => {
    writeFileSync(file('memory').path, '# A\r\n\r\n- one\r\n- two\n- three\r\n');
    const page = await open('#/memory?edit=memory');
    await editor(page).press('Escape');
    await until(async () => (await editor(page).count()) === 0, 'it is closed');
    same(await draftsOf(page), []);
    await startEditing(page, 'Memory');
    await editor(page).fill('# A\n\n- one\n- new\n- two\n- three\n- last\n');
    await save(page);
    await until(() => text('memory') === '# A\r\n\r\n- one\r\n- new\r\n- two\n- three\r\n- last\r\n', 'each line has its end');
    write(MEMORY);
});

await test('a file that changed and changed back is no question', async () => {
    write(MEMORY);
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(`${MEMORY}- mine\n`);
    write('- something else\n');
    await reads(page, 'MEMORY.md changed meanwhile', '.editor-news');
    write(MEMORY);
    await until(async () => (await page.locator('.editor-news').textContent()) === '', 'it says so');
    await save(page);
    await until(() => text('memory') === `${MEMORY}- mine\n`, 'it is saved');
    same(await page.getByRole('dialog').count(), 0);
    write(MEMORY);
});

await test('a note that is removed while somebody writes: told, the draft is found again, and it is made anew', async () => {
    run('remember', 'Text of it.', '--title', 'Removed beneath');
    const { path, content } = run('notes', 'show', 'removed-beneath', '--json');
    writeFileSync(path, content.replaceAll('\n', '\r\n'));
    const page = await open('#/notes/removed-beneath.md');
    await reads(page, 'Text of it.', '.note');
    await page.keyboard.press('e');
    await editor(page).fill(`${content}\nAnd mine.\n`);
    unlinkSync(path);
    await reads(page, 'removed-beneath.md was removed meanwhile', '.editor-news');
    await page.reload();
    same(await editor(page).inputValue(), `${content}\nAnd mine.\n`);
    await editor(page).press('Escape');
    await reads(page, 'There is no such note any more.', '.note');
    await page.locator('.note').getByRole('button', { name: 'Continue' }).click();
    await save(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Make it anew' }).click();
    await until(() => existsSync(path) && readFileSync(path, 'utf8') === `${content}\nAnd mine.\n`.replaceAll('\n', '\r\n'), 'all of it is there');
    await page.locator('.note-head').waitFor();
    same(await draftsOf(page), []);
});

await test('the draft of a note is told of where the note is read', async () => {
    const page = await open('#/notes/deploying.md');
    await reads(page, 'Never on Fridays', '.note');
    await page.keyboard.press('e');
    const whole = await editor(page).inputValue();
    await editor(page).fill(`${whole}Half a thought\n`);
    await page.reload(); // the address says that it is written
    same(await editor(page).inputValue(), `${whole}Half a thought\n`);
    await editor(page).press('Escape');
    await page.locator('.note').getByRole('button', { name: 'Discard' }).click();
    await until(async () => (await draftsOf(page)).length === 0, 'it is discarded');
    await page.getByRole('button', { name: 'Bring it back' }).click();
    await reads(page, 'You have a draft', '.note');
    await forgetDrafts(page);
});

// The first answer of an operation is of its time, and comes when it is let go. {made(), release()}
async function holdFirst(page, pattern) {
    let release, asked = 0, made = false;
    const later = new Promise((resolve) => { release = resolve; });
    await page.route(pattern, async (route) => {
        if (++asked > 1) return route.continue();
        const response = await route.fetch();
        made = true;
        await later;
        await route.fulfill({ response }).catch(() => {}); // the page may have gone
    });
    return {
        made: () => made,
        release: async () => {
            const given = page.waitForResponse(pattern).catch(() => {});
            release();
            await given;
        },
    };
}

// [page, address, operation, how a word gets there, where it is shown, as what]
const overtaken = [
    ['memory', '#/memory', '**/api/memory/list*', (word) => write(`${MEMORY}- ${word}\n`)],
    ['notes', '#/notes', '**/rpc/notes/list', (word) => run('remember', 'Text.', '--title', `Overtaken ${word}`)],
    ['a note', '#/notes/overtaken.md', '**/rpc/notes/get', (word) => run('remember', `${word}.`, '--title', 'Overtaken'), '.note'],
    ['timeline', '#/timeline', '**/rpc/memory/timeline', (word) => write(`- ${word}\n`)],
    ['sessions', '#/sessions', '**/api/sessions/list*', (word) => run('sessions', 'rename', session, word)],
    ['a conversation', `#/sessions/${session}`, '**/api/sessions/get*', (word) => run('sessions', 'rename', session, word), '.transcript-head'],
    ['welcome', '#/welcome', '**/api/memory/list*', (word) => write(`- ${word}\n`, '--store', 'user')],
    ['insights', '#/insights?p=engineer', '**/rpc/memory/insights', (word) => write(`${'x'.repeat(word.startsWith('former') ? 1111 : 2222)}\n`, '-p', 'engineer'), '.plot-rows', () => /\b2,2\d\d\b/],
];
run('remember', 'Text.', '--title', 'Overtaken');

for (const [what, hash, operation, change, where = 'main', shows = (word) => word] of overtaken)
    await test(`an answer that is overtaken by a later one does not bring the old text back: ${what}`, async () => {
        const page = await open(hash);
        await settled(page);
        const held = await holdFirst(page, operation);
        const word = what.replace(/^a /, '');
        change(`former ${word}`);
        await until(held.made, 'the page asks');
        change(`latter ${word}`);
        await reads(page, shows(`latter ${word}`), where);
        await held.release();
        await settled(page);
        await reads(page, shows(`latter ${word}`), where);
        write(MEMORY);
        write(USER, '--store', 'user');
    });

// [page, address, the next one, operation, what that shows, where]
const left = [
    ['memory', '#/memory?p=engineer', '#/memory', '**/api/memory/list*', 'Redis runs on port 6380'],
    ['timeline', '#/timeline?person=ana', '#/timeline?role=engineer', '**/rpc/memory/timeline', 'Memory of the engineer'],
    ['insights', '#/insights?days=7', '#/insights?days=90&p=engineer', '**/rpc/memory/insights', /\b3,2\d\d\b/, '.plot-rows'],
    ['sessions', '#/sessions?q=nobody', '#/sessions?q=scheduler', '**/rpc/sessions/search', /1 conversation/],
];
for (const [what, from, to, operation, words, where] of left)
    await test(`an answer for an address that was left is not shown: ${what}`, async () => {
        write(`Memory of the engineer\n${'- x\n'.repeat(800)}`, '-p', 'engineer');
        const page = await open(from.split('?')[0]);
        await settled(page);
        const held = await holdFirst(page, operation);
        const address = (hash) => page.evaluate((one) => { location.hash = one; }, hash);
        await address(from);
        await until(held.made, 'the page asks');
        await address(to);
        await reads(page, words, where);
        await held.release();
        await settled(page);
        await reads(page, words, where);
    });

await test('a file that is edited on disk appears without a reload', async () => {
    const page = await open('#/memory');
    await reads(page, 'Redis runs on port 6380');
    await page.evaluate(() => { window.stillHere = true; });
    writeFileSync(file('memory').path, `${MEMORY}- Written by vim\n`);
    await reads(page, 'Written by vim');
    same(await page.evaluate(() => window.stillHere), true);
});

await test('where a line came from stays open, and has the keys, while the file grows', async () => {
    write(MEMORY);
    const page = await open('#/memory');
    const block = page.locator('.file[data-store=memory] .blk', { hasText: 'Redis runs' }).last();
    await block.focus();
    await page.keyboard.press('Enter');
    const inside = () => page.evaluate(() => document.activeElement.closest('.blame') !== null);
    await until(inside, 'the card has the focus');
    for (let i = 0; i < 3; i++) {
        run('memory', 'add', `Grows ${i}`);
        await reads(page, `Grows ${i}`);
        await until(inside, 'it has the focus again');
    }
    await page.keyboard.press('Escape');
    same(await page.locator('.blame').count(), 0);
    must((await page.evaluate(() => document.activeElement.textContent)).includes('Redis runs'), 'back at the line');
    write(MEMORY);
});

await test('more tabs than a browser opens connections, and each sees what changes', async () => {
    const tabs = [];
    for (let i = 0; i < 9; i++) tabs.push(await open('#/memory'));
    await tabs[0].close();
    writeFileSync(file('memory').path, `${MEMORY}- Seen by all of them\n`);
    for (const tab of tabs.slice(1)) await reads(tab, 'Seen by all of them');
});

await test('two tabs that edit one file end in a merge, and nothing is lost', async () => {
    const base = text('memory');
    const [one, two] = [await open('#/memory?edit=memory'), await open('#/memory?edit=memory')];
    await editor(one).waitFor();
    await editor(two).waitFor();
    await editor(one).fill(base.replace('# Rolling context\n', '# Rolling context\n\nfrom the first tab\n'));
    await editor(two).fill(`${base}- from the second tab\n`);
    await save(one);
    await until(() => text('memory').includes('from the first tab'), 'the first is saved');
    await save(two);
    const dialog = two.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Save the merge' }).click();
    await until(() => text('memory').includes('from the second tab'), 'the merge is saved');
    must(text('memory').includes('from the first tab'), 'the first is still there');
    for (const line of base.split('\n')) must(text('memory').includes(line), `lost: ${line}`);
});

await test('two tabs that edit one line: both sides are offered, and Both keeps both', async () => {
    write('- the only line\n');
    const [one, two] = [await open('#/memory?edit=memory'), await open('#/memory?edit=memory')];
    await editor(one).fill('- the line of the first\n');
    await editor(two).fill('- the line of the second\n');
    await save(one);
    await until(() => text('memory') === '- the line of the first\n', 'the first is saved');
    await save(two);
    const dialog = two.getByRole('dialog');
    await dialog.getByText('Both changed this').waitFor();
    await dialog.getByRole('button', { name: 'Both', exact: true }).click();
    await dialog.getByRole('button', { name: 'Save the merge' }).click();
    await until(() => /first[^]*second|second[^]*first/.test(text('memory')), 'both lines');
});

await test('the two selectors are independent', async () => {
    write(MEMORY);
    const page = await open('#/memory');
    await reads(page, 'We deploy on Tuesdays');
    await page.getByLabel('Personality').selectOption('engineer');
    await reads(page, 'Memory of the engineer');
    await reads(page, 'Prefers short answers');
    await page.getByLabel('Person', { exact: true }).selectOption('ana').catch(() => page.goto(`${server.origin}/#/memory?p=engineer&u=ana`));
    await reads(page, 'Somebody else altogether');
    await reads(page, 'Memory of the engineer');
    await page.getByLabel('Personality').selectOption('default');
    await reads(page, 'We deploy on Tuesdays');
    await reads(page, 'Somebody else altogether');
    same(new URL(page.url()).hash.includes('u=ana'), true);
    await page.reload();
    await reads(page, 'Somebody else altogether');
});

// ---- finding and going back ---------------------------------------------------------------------------

await test('search finds words in memory, and marks them', async () => {
    const page = await open('#/memory');
    await page.keyboard.press('/');
    await page.keyboard.type('tuesdays');
    await page.locator('main mark').filter({ hasText: /^tuesdays$/i }).first().waitFor(); // results come as one types
});

await test('search finds what was said; the transcript opens there, tool calls are folded', async () => {
    const page = await open('#/sessions');
    await page.keyboard.press('/');
    await page.keyboard.type('scheduler');
    await page.locator('.session-hit mark').first().waitFor();
    await page.locator('.session-hit').first().click();
    await page.locator('.message.found').waitFor();
    const fold = page.locator('.fold').first();
    same(await fold.getAttribute('open'), null);
    await fold.locator('summary').click();
    await reads(page, 'src/lease.c:42: renew()', '.fold');
});

await test('a conversation is renamed, pinned, exported, forked and deleted, with a question', async () => {
    const page = await open(`#/sessions/${session}`);
    const press = (name) => page.locator('.transcript-actions').getByRole('button', { name, exact: true }).click();
    await press('Rename');
    await page.getByRole('dialog').getByRole('textbox').fill('Leases');
    await page.keyboard.press('Enter');
    await reads(page, 'Leases', '.transcript-head');
    await press('Pin');
    await page.locator('.transcript-actions').getByRole('button', { name: 'Unpin' }).waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), press('Export')]);
    must(readFileSync(await download.path(), 'utf8').includes('Every **ten seconds**'), 'what was said');
    await press('Fork');
    await until(() => !page.url().includes(session), 'the copy is open');
    await page.locator('.transcript-head').getByText('forked from another').waitFor();
    await press('Delete');
    await page.getByRole('dialog').getByText('Memory stays as it is').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete it' }).click();
    await until(() => ethos(home, 'sessions', 'list', '--all', '--json').items.length === 1, 'the copy is gone');
});

await test('an earlier version is restored from the timeline', async () => {
    write('- first version\n');
    write('- second version\n');
    const page = await open('#/timeline?key=MEMORY.md&scope=personality%3Adefault');
    await page.locator('.change-line', { hasText: 'first version' }).first().click();
    await page.getByRole('button', { name: 'Restore this version' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore it' }).click();
    await until(() => text('memory') === '- first version\n', 'the first version is back');
});

await test('an undo is undone; a note that was deleted is named, and comes and goes the same way', async () => {
    const page = await context.newPage(), dialog = page.getByRole('dialog');
    const undoFirst = async (words) => {
        const folded = async () => (await page.locator('.change-line').first().getAttribute('aria-expanded')) === 'false';
        await page.locator('.change-line').first().getByText(words).waitFor();
        await until(folded, 'it is another than the last one');
        const row = page.locator('.change').first();
        await row.locator('.change-line').click();
        await row.getByRole('button', { name: 'Undo this change' }).click();
        await dialog.getByRole('button', { name: 'Undo it' }).click();
        await until(async () => (await dialog.count()) === 0, 'it is done');
    };
    const before = text('memory'), after = `${before}- To be undone\n`;
    write(after);
    await open('#/timeline?key=MEMORY.md&scope=personality%3Adefault', page);
    for (const wanted of [before, after, before, after]) {
        await undoFirst('To be undone');
        await until(() => text('memory') === wanted, `it is ${wanted}`);
    }
    write(before);
    run('remember', 'Not for long.', '--title', 'Passing');
    const scope = run('notes', 'show', 'passing', '--json').scope;
    const keys = () => run('notes', 'list', '--json').notes.map(({ key }) => key);
    run('notes', 'rm', 'passing', '--yes');
    await open(`#/timeline?${new URLSearchParams({ key: 'passing.md', scope })}`, page);
    await undoFirst('Deleted note: passing');
    await until(() => keys().includes('passing.md'), 'it is back');
    await until(() => run('notes', 'reindex', '--dry-run', '--json').mended.length === 0, 'with its line in the index');
    await undoFirst('New note: passing');
    await until(() => !keys().includes('passing.md'), 'it is gone again');
});

await test('what is written while somebody looks is not written over unseen: restore, and the end of a conflict', async () => {
    write('- first version\n');
    write('- second version\n');
    const page = await open('#/timeline?key=MEMORY.md&scope=personality%3Adefault');
    const dialog = page.getByRole('dialog');
    await page.locator('.change-line', { hasText: 'first version' }).first().click();
    await page.getByRole('button', { name: 'Restore this version' }).click();
    await dialog.locator('.diff-line.del').getByText('second version').waitFor();
    write('- written meanwhile\n');
    await dialog.getByRole('button', { name: 'Restore it' }).click();
    await dialog.getByText('It changed while you looked').waitFor();
    await dialog.locator('.diff-line.del').getByText('written meanwhile').waitFor();
    same(text('memory'), '- written meanwhile\n');
    await dialog.getByRole('button', { name: 'Restore it' }).click();
    await until(() => text('memory') === '- first version\n', 'the first version is back');

    const script = join(project, 'editor'), { path } = file('memory');
    writeFileSync(script, `sed -i s/first/mine/ "$1"\nsed -i s/first/theirs/ '${path}'\n`);
    process.env.EDITOR = `sh ${script}`;
    try { run('memory', 'edit'); } catch { /* that is the conflict */ } finally { delete process.env.EDITOR; }
    await open('#/conflicts', page);
    await page.getByRole('button', { name: 'Take the copy' }).click();
    await dialog.locator('.diff-line.add').getByText('mine version').waitFor();
    write('- theirs, and more\n');
    await dialog.getByRole('button', { name: 'Take the copy' }).click();
    await dialog.getByText('It changed while you looked').waitFor();
    await dialog.locator('.diff-line.del').getByText('theirs, and more').waitFor();
    same(text('memory'), '- theirs, and more\n');
    await dialog.getByRole('button', { name: 'Take the copy' }).click();
    await until(() => text('memory') === '- mine version\n', 'the copy is the file');
    await reads(page, 'No conflicts.');
});

await test('a link to an old change opens it, however many came since; a difference that does not come is asked for again', async () => {
    write('- before all others\n', '-p', 'engineer');
    const { number, scope } = ethosIn(home, project, '', 'memory', 'timeline', '-p', 'engineer', '--key', 'MEMORY.md', '--json').items[0];
    for (let i = 0; i < 70; i++) run('memory', 'add', `Later ${i}`, '-p', 'engineer');
    const page = await context.newPage();
    await page.route('**/rpc/memory/timeline', (route) => (route.request().postData().includes('"diff":true') ? route.abort() : route.continue()));
    await open(`#/timeline?${new URLSearchParams({ scope, key: 'MEMORY.md', change: number })}`, page);
    const detail = page.locator('.change-detail:not([hidden])');
    await detail.getByText('The server does not answer.').waitFor();
    await page.unroute('**/rpc/memory/timeline');
    await detail.getByRole('button', { name: 'Try again' }).click();
    await detail.locator('.diff-line.add').getByText('before all others').waitFor();
});

await test('the end of a conflict that keeps the file asks once, whatever is written meanwhile', async () => {
    write('- first version\n');
    const script = join(project, 'editor'), { path } = file('memory');
    writeFileSync(script, `sed -i s/first/mine/ "$1"\nsed -i s/first/theirs/ '${path}'\n`);
    process.env.EDITOR = `sh ${script}`;
    try { run('memory', 'edit'); } catch { /* that is the conflict */ } finally { delete process.env.EDITOR; }
    const page = await open('#/conflicts'), dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Keep the file' }).click();
    await dialog.getByText('The file does not change.').waitFor();
    write('- written meanwhile\n');
    await dialog.getByRole('button', { name: 'Keep the file' }).click();
    await reads(page, 'No conflicts.');
    same(text('memory'), '- written meanwhile\n');
});

await test('what was forgotten goes from a timeline that is open', async () => {
    write('- a word that was secret\n');
    const page = await open('#/timeline?key=MEMORY.md&scope=personality%3Adefault');
    await page.locator('.change-line', { hasText: 'that was secret' }).first().click();
    await page.locator('.change-detail .diff-line').getByText('that was secret').first().waitFor();
    write(MEMORY);
    run('memory', 'forget', 'that was secret', '--yes');
    run('memory', 'add', 'And on');
    await until(async () => !(await page.locator('main').textContent()).includes('that was secret'), 'it goes');
    write(MEMORY);
});

await test('a link to an old change begins there: what came since is neither loaded nor loaded again', async () => {
    const of = (limit) => run('memory', 'timeline', '-p', 'engineer', '--key', 'MEMORY.md', '--limit', limit, '--json').items;
    for (let i = 0; i < 70; i++) run('memory', 'add', `Further ${i}`, '-p', 'engineer');
    const { number, scope, time } = of('70').at(-1);
    for (const t of [{}, { t: time }]) {
        const page = await context.newPage();
        let asked = 0;
        await open(`#/timeline?${new URLSearchParams({ scope, key: 'MEMORY.md', change: number, ...t })}`, page);
        await page.locator('.change-detail:not([hidden]) .diff-line.add').getByText('Further 0').waitFor();
        await settled(page);
        must((await page.locator('.change').count()) <= 60, 'all of them are there');
        must((await page.locator('.change-line').first().textContent()).includes('Further 0'), 'it is not the first');
        page.on('request', (request) => { asked += request.url().endsWith('/rpc/memory/timeline'); });
        run('memory', 'add', 'And one now', '-p', 'engineer');
        await until(() => asked > 0, 'it looks again');
        await settled(page);
        same([asked, await page.locator('.change-detail:not([hidden])').count()], [1, 1]);
        await page.getByRole('button', { name: t.t ? 'Later ones, too' : 'Show all' }).click();
        await page.locator('.change-line').first().getByText('And one now').waitFor();
        same(page.url().includes('key=MEMORY.md'), Boolean(t.t));
        run('memory', 'undo', '-p', 'engineer');
    }
    const page = await open('#/timeline');
    let go = null;
    await page.route('**/rpc/memory/timeline', async (route) => { // the first answer comes late
        if (!go) await new Promise((resolve) => { go = resolve; });
        await route.continue();
    });
    await open(`#/timeline?${new URLSearchParams({ scope, key: 'MEMORY.md', change: number, t: time })}`, page);
    await until(() => go, 'it asks');
    await page.getByRole('button', { name: 'Show all' }).click();
    await until(() => !page.url().includes('change='), 'all are wanted');
    const answer = page.waitForResponse('**/rpc/memory/timeline');
    go();
    await answer;
    await settled(page);
    must(!page.url().includes('until='), page.url());
});

await test('where a long conversation changed memory: the mark stands there only, and the way back leads there', async () => {
    const talks = join(dirname(home), 'talks', '-src-long');
    mkdirSync(talks, { recursive: true });
    const rows = Array.from({ length: 500 }, (_, i) => ({ parentUuid: null, isSidechain: false, cwd: '/src/long', sessionId: '10a6', type: i % 2 ? 'assistant' : 'user', uuid: `10a60000-0000-4000-8000-${String(i).padStart(12, '0')}`, timestamp: new Date(Date.now() + (i - 100.5) * 3600e3).toISOString(), message: { role: i % 2 ? 'assistant' : 'user', content: `Word number ${i}.` } }));
    writeFileSync(join(talks, '10a6.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    run('sessions', 'import', dirname(talks));
    const { id } = run('sessions', 'list', '--all', '--json').items.find((one) => one.workingDir === '/src/long');
    const page = await open(`#/sessions/${id}`);
    await page.evaluate(async (sessionId) => {
        const { modules } = await import(document.querySelector('script[type=module]').src);
        await modules['js/client.js'].call('memory.add', { content: 'Out of a long talk', sessionId });
    }, id);
    await page.locator('.transcript-changes').getByText('It changed memory').waitFor();
    same(await page.locator('.message-mark').count(), 0); // it was before what is shown
    await page.locator('.transcript-changes').getByRole('button', { name: 'Memory' }).click();
    await page.locator('.message.found', { hasText: 'Word number 100.' }).locator('.message-mark').waitFor();
    await open('#/timeline', page);
    await page.locator('.change-line', { hasText: 'Out of a long talk' }).click();
    await page.getByRole('link', { name: 'Its session' }).click();
    await page.locator('.message.found', { hasText: 'Word number 100.' }).waitFor();
    run('sessions', 'delete', id, '--yes');
});

await test('insights tell who wrote, and how long searches took here; a change on disk is nobody’s dashboard', async () => {
    writeFileSync(file('memory').path, `${text('memory')}- written by hand\n`);
    const page = await open('#/memory');
    await page.keyboard.press('/');
    await page.keyboard.type('hand');
    await page.locator('main mark').first().waitFor();
    await open('#/insights', page);
    await page.locator('figure[data-plot=search]').getByText(/^Half of the last .* searches? from this browser took /).waitFor();
    await page.locator('figure[data-plot=writes] .plot-legend').getByText('edits of the file').waitFor();
    same(await page.evaluate(() => Object.entries(localStorage).filter(([, value]) => value.includes('hand'))), []);
});

await test('notes: filter, open beside the list, edit, links in both directions, a graph', async () => {
    const page = await open('#/notes');
    await page.locator('.note-row').nth(2).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('deploy');
    await until(async () => (await page.locator('.note-row').count()) === 1, 'one is left');
    await page.locator('.note-row').click();
    await reads(page, 'Never on Fridays', '.note');
    await page.locator('.note-links').getByText(/gone.*: no such note/).waitFor();
    await page.locator('.note-links').getByRole('link', { name: 'Running the tests' }).first().click();
    await reads(page, 'Tests need a running Redis', '.note');
    await page.keyboard.press('e');
    await editor(page).waitFor();
    const before = await editor(page).inputValue();
    await editor(page).fill(`${before}\nAnd a clean database.\n`);
    await save(page);
    await reads(page, 'And a clean database.', '.note');
    must(run('notes', 'show', 'running-the-tests').includes('And a clean database.'), 'on disk');
    await open('#/notes?view=graph', page);
    await page.getByRole('link', { name: /^Billing rules, 0 links/ }).waitFor();
    await page.getByRole('link', { name: /^Deploying, 1 link/ }).press('Enter');
    await reads(page, 'Never on Fridays', '.note');
});

await test('ten thousand notes: only what is seen exists, and filtering finds the last one', async () => {
    const folder = join(dirname(home), 'large');
    mkdirSync(folder);
    const at = (...args) => ethosIn(home, folder, '', ...args);
    at('remember', 'The first.', '--title', 'First');
    const notes = dirname(at('notes', 'show', 'first', '--json').path);
    for (let i = 0; i < 10000; i++)
        writeFileSync(join(notes, `note-number-${i}.md`), `---\nname: Number ${i}\ndescription: hook ${i}\nmetadata:\n  type: project\n---\n\nText ${i}.\n`);
    const { id } = at('workspaces', 'list', '--json').workspaces.find((one) => one.paths.some((path) => path.path === folder));
    const page = await open(`#/notes?w=${id}`);
    await page.locator('.notes-facts').getByText('10,001 notes').waitFor();
    must((await page.locator('.note-row').count()) < 100, 'few rows exist');
    await page.keyboard.press('/');
    await page.keyboard.type('9999');
    await page.locator('.notes-facts').getByText('1 of 10,001').waitFor();
    same(await page.locator('.note-row').getAttribute('href').then((href) => /number-9999\.md/.test(href)), true);
});

// ---- keyboard -----------------------------------------------------------------------------------------

await test('everything goes with the keyboard alone', async () => {
    write('- a line to find\n');
    const page = await open('#/memory');
    const keys = async (...all) => { for (const key of all) await page.keyboard.press(key); };
    const focus = (selector, what) => until(() => page.evaluate((one) => document.activeElement.matches(one), selector), `${what} has the focus`);
    const title = (words) => until(async () => (await page.locator('h1').textContent()) === words, `the page ${words}`);
    for (const [key, words] of [['n', 'Notes'], ['t', 'Timeline'], ['s', 'Sessions'], ['i', 'Insights'], ['h', 'Health'], ['m', 'Memory']]) {
        await Promise.all([keys('g'), keys(key)]); // one right after the other, however slow the machine is
        await title(words);
    }
    await keys('?');
    await page.getByRole('dialog').waitFor();
    await keys('Escape');
    await until(async () => (await page.getByRole('dialog').count()) === 0, 'the help is closed');
    await keys('Control+k');
    await focus('.palette-input', 'the palette');
    await page.keyboard.type('Notes');
    await until(async () => (await page.locator('.palette-item').first().textContent()).startsWith('Notes'), 'the page is found');
    await keys('Enter');
    await title('Notes');
    await page.locator('.note-row').first().waitFor();
    await keys('j');
    await focus('.note-row', 'a note');
    await keys('Enter');
    await page.locator('.note-head').waitFor();
    await keys('e');
    await focus('textarea', 'the editor');
    await keys('Control+End');
    await page.keyboard.type('\nTyped only.\n');
    await keys('Control+s');
    await page.locator('.note-head').waitFor(); // the preview of the editor shows the text, too, and before it is saved
    await reads(page, 'Typed only.', '.note');
    await keys('Escape');
    await until(async () => !/notes\/./.test(new URL(page.url()).hash), 'the note is closed');
});

// ---- hostile text -------------------------------------------------------------------------------------

// In the page: what of a place is active. Elements, attributes and addresses that text may become are listed.
const findActive = () => {
    const TAGS = new Set('ARTICLE P H3 H4 H5 H6 UL OL LI EM STRONG DEL CODE PRE BLOCKQUOTE HR BR TABLE THEAD TBODY TR TH TD A SPAN DIV svg path'.split(' '));
    const NAMES = new Set('class dir title href target rel data-line tabindex role aria-label aria-hidden scope start viewBox width height focusable d'.split(' '));
    const found = [];
    for (const node of document.querySelectorAll('.prose, .prose *')) {
        if (!TAGS.has(node.tagName)) found.push(`element ${node.tagName}`);
        for (const { name, value } of node.attributes) {
            if (!NAMES.has(name)) found.push(`attribute ${name}`);
            if (name === 'href' && !/^(https?:\/\/|mailto:|#\/notes\/)/.test(value)) found.push(`address ${value}`);
        }
        if (node.tagName === 'A' && !node.getAttribute('href').startsWith('#') && node.rel !== 'noopener noreferrer') found.push('a link that is not apart');
    }
    if (window.attacked) found.push('it ran');
    return found;
};

await test('the policy forbids to make code or markup from text', async () => {
    const page = await open('#/memory');
    const tries = await page.evaluate(() => [() => { document.querySelector('main').innerHTML = '<b>x</b>'; }, () => { document.createElement('script').text = '1'; }, () => { document.querySelector('main').insertAdjacentHTML('beforeend', '<b>x</b>'); }]
        .map((attempt) => { try { attempt(); return 'done'; } catch { return 'refused'; } }));
    same(tries, ['refused', 'refused', 'refused']);
    trouble.length = 0; // the browser told of each
});

await test('300 hostile texts become text: no dialog, no request, no active node', async () => {
    const bodies = hostileBodies(300);
    same(new Set(bodies).size, 300);
    const page = await open('#/memory');
    await page.exposeFunction('attack', () => { trouble.push('attack ran'); });
    const refused = await page.evaluate(async (texts) => {
        const { modules } = await import(document.querySelector('script[type=module]').src);
        const { markdown } = modules['js/markdown.js'], { call } = modules['js/client.js'];
        const box = document.createElement('div');
        document.querySelector('main').append(box);
        const refused = [];
        for (const body of texts) {
            // What cannot be set (it nests too deep) is shown as its source.
            const node = await markdown({ call, href: (route) => `#/${route}` }, body).catch((error) => { refused.push(error.code); });
            box.append(node ?? Object.assign(document.createElement('pre'), { className: 'prose', textContent: body }));
        }
        return refused;
    }, bodies);
    same([...new Set(refused)], ['INVALID_INPUT']);
    must(refused.length < 5, `only few are refused: ${refused.length}`);
    same(await page.locator('main > div > .prose').count(), 300);
    same(await page.evaluate(findActive), []);
});

await test('hostile text in every place that shows text stays text', async () => {
    const bodies = hostileBodies(60).filter((body) => !body.includes('\0')); // which no command takes
    write(bodies.join('\n\n'));
    write(bodies.slice(0, 30).join('\n\n'), '--store', 'user');
    bodies.slice(30, 42).forEach((body, i) => run('remember', body, '--title', `<img src=x onerror=attack(1)> ${i}`, '--hook', `"><script>attack(1)</script> ${i}`));
    const id = run('sessions', 'append', bodies[40], '--session', session, '--json').session.id;
    bodies.slice(30, 50).forEach((body, i) => run('sessions', 'append', body, '--role', i % 2 ? 'user' : 'assistant', '--session', id));
    run('sessions', 'rename', id, '<svg onload=attack(1)>');
    const page = await context.newPage();
    await page.exposeFunction('attack', () => { trouble.push('attack ran'); });
    for (const hash of ['#/memory', '#/memory?v=source', '#/notes', '#/notes?view=graph', '#/timeline', '#/sessions', `#/sessions/${id}`, '#/sessions?q=attack', '#/insights', '#/health']) {
        await open(hash, page);
        await settled(page);
        same(await page.evaluate(findActive), []);
        same(await page.evaluate(() => document.querySelectorAll('main script, main iframe, main object, main embed, main style, main link, main base, main [onerror], main [onload]').length), 0);
    }
    same(away, []);
});

// ---- for everybody ------------------------------------------------------------------------------------

async function accessible(page, what) {
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    const told = violations.map((one) => `${what}: ${one.id} (${one.impact}): ${one.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.failureSummary?.split('\n')[1]?.trim() ?? ''}`).join('; ')}`);
    same(told, []);
}

const places = ['#/memory', '#/memory?v=source', '#/memory?edit=user', '#/notes', '#/notes/deploying.md', '#/notes?view=graph', '#/timeline', '#/conflicts', '#/sessions', `#/sessions/${session}`, '#/sessions?q=scheduler', '#/insights', '#/health', '#/welcome'];
write(MEMORY);
write(USER, '--store', 'user');

await test('axe would tell of a button without a name', async () => {
    const page = await open('#/health');
    await page.evaluate(() => { document.querySelector('main').append(document.createElement('button')); });
    const found = await accessible(page, 'health').then(() => 'nothing', (error) => error.message);
    must(found.includes('button-name'), found);
});

for (const theme of ['light', 'dark'])
    for (const width of [1440, 390])
        await test(`axe finds nothing: ${theme}, ${width} pixels`, async () => {
            const page = await context.newPage();
            await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
            await page.setViewportSize({ width, height: 844 });
            const told = [];
            for (const hash of places) {
                await open(hash, page);
                await settled(page);
                await accessible(page, hash).catch((error) => told.push(error.message));
                const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
                if (wide > 0) told.push(`${hash}: ${wide} pixels too wide`);
            }
            await page.keyboard.press('?');
            await page.getByRole('dialog').waitFor();
            await accessible(page, 'help').catch((error) => told.push(error.message));
                    must(told.length === 0, told.join('\n'));
        });

await test('the names that say whose memory it is are whole at every width', async () => {
    const page = await open('#/memory');
    for (const width of [320, 390, 720, 768, 899, 1024]) {
        await page.setViewportSize({ width, height: 700 });
        await page.locator('.top-selectors select').nth(2).waitFor();
        const cut = await page.locator('.top-selectors select').evaluateAll((boxes) => boxes.filter((box) => {
            const style = getComputedStyle(box), words = document.createElement('span');
            words.textContent = box.selectedOptions[0].textContent;
            Object.assign(words.style, { font: style.font, position: 'absolute', whiteSpace: 'nowrap' });
            document.body.append(words);
            const room = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
            const wanted = words.offsetWidth;
            words.remove();
            return room + 1 < wanted;
        }).map((box) => box.selectedOptions[0].textContent));
        same([width, cut], [width, []]);
    }
});

await test('what sticks below the top line is not beneath it, nor beneath the banner', async () => {
    write(`${MEMORY}${'- one more line\n'.repeat(80)}`);
    const page = await open('#/memory?edit=memory');
    await editor(page).waitFor();
    await page.route('**/rpc/**', (route) => route.abort());
    await page.route('**/api/**', (route) => route.abort());
    await editor(page).press('Control+End');
    await page.keyboard.type('more');
    await save(page);
    await reads(page, 'The server does not answer', '.banner');
    for (const width of [1440, 768]) {
        await page.setViewportSize({ width, height: 700 });
        await page.evaluate(() => window.scrollTo(0, 600));
        await until(() => page.evaluate(() => {
            const box = document.querySelector('.editor-lid .primary').getBoundingClientRect();
            return document.elementFromPoint(box.x + box.width / 2, box.y + 2)?.closest('.primary') !== null;
        }), `the button is seen at ${width}`);
    }
    await page.unrouteAll();
    await editor(page).press('Escape'); // a window that goes would keep it once more
    await until(async () => (await editor(page).count()) === 0, 'it is closed');
    await forgetDrafts(page);
    write(MEMORY);
});

await test('on paper stands what is read: all files, in ink, and nothing to click', async () => {
    write(USER, '--store', 'user');
    const page = await open('#/memory');
    await page.evaluate(() => { document.documentElement.dataset.theme = 'dark'; });
    await page.setViewportSize({ width: 794, height: 1100 });
    await page.emulateMedia({ media: 'print' });
    for (const [words, seen] of [['Prefers short answers', true], ['Redis runs on port 6380', true]]) same([words, await page.locator('main').getByText(words).first().isVisible()], [words, seen]);
    same(await page.locator('.rail, .top-search, .top-actions, .file-head .button').evaluateAll((nodes) => nodes.filter((node) => node.checkVisibility()).length), 0);
    same(await page.evaluate(() => getComputedStyle(document.querySelector('.prose')).color), 'rgb(38, 35, 30)');
});

await test('in forced colours one sees what is chosen', async () => {
    const page = await context.newPage();
    await page.emulateMedia({ forcedColors: 'active' });
    const unlike = (chosen, other) => page.evaluate((names) => {
        const [one, two] = names.map((name) => getComputedStyle(document.querySelector(name)).backgroundColor);
        return one !== two;
    }, [chosen, other]);
    await open('#/memory', page);
    must(await unlike('.segmented [aria-pressed=true]', '.segmented [aria-pressed=false]'), 'the view');
    must(await unlike('.rail-item[aria-current]', '.rail-item:not([aria-current])'), 'the page');
    const { id } = run('workspaces', 'list', '--json').workspaces.find((one) => one.paths.some(({ path }) => path === project));
    await open(`#/notes/deploying.md?w=${id}`, page);
    await page.locator('.note-row[aria-current]').waitFor();
    must(await unlike('.note-row[aria-current]', '.note-row:not([aria-current])'), 'the note');
});

await test('a text too long to be set is shown as its source, and the page says why', async () => {
    const lines = Array.from({ length: 12000 }, (_, i) => `- line ${i} ${'x'.repeat(60)}\n`).join('');
    writeFileSync(file('memory').path, lines); // no command keeps so much
    const page = await open('#/memory');
    await reads(page, 'This is the source: too long to be shown as markdown', '#file-memory');
    same(await page.locator('#file-memory .src').count(), 12000);
    await startEditing(page, 'Memory');
    await reads(page, 'No preview: too long to be shown as markdown', '.editor-preview');
    write(MEMORY);
});

await test('words without a place to break stay within the page', async () => {
    const long = 'x'.repeat(300);
    run('remember', long, '--title', `Long ${long.slice(0, 150)}`, '--hook', long.slice(0, 140));
    const key = run('notes', 'list', '--json').notes.find(({ title }) => title.startsWith('Long')).key;
    const id = run('sessions', 'fork', session, '--json').session.id;
    run('sessions', 'append', long, '--role', 'assistant', '--session', id, '--tool-calls', JSON.stringify([{ id: 'long', name: long.slice(0, 120), input: { command: long } }]));
    const page = await context.newPage();
    for (const width of [1440, 390])
        for (const hash of [`#/notes/${key}`, `#/sessions/${id}`]) {
            await page.setViewportSize({ width, height: 844 });
            await open(hash, page);
            await settled(page);
            same([hash, await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)], [hash, 0]);
        }
    run('sessions', 'delete', id, '--yes');
    run('notes', 'rm', key);
});

await test('an empty home: every page says what to do', async () => {
    const emptyHome = makeHome();
    const other = await serve(emptyHome);
    const visitor = await browser.newContext();
    const page = await visitor.newPage();
    await page.goto(other.loginUrl);
    await page.locator('main .page').first().waitFor();
    for (const hash of ['#/memory', '#/notes', '#/timeline', '#/sessions', '#/insights']) {
        await page.goto(`${other.origin}/${hash}`);
        await page.locator('main .empty').first().waitFor();
    }
    await visitor.close();
    await other.stop();
});

// ---- the example of sdk/js ----------------------------------------------------------------------------

const area = (page) => page.getByLabel('USER.md');
const says = (page, words) => page.locator('#state').getByText(words).waitFor();

await test('the example that the server has: it shows, saves and follows the file', async () => {
    write(USER, '--store', 'user');
    const page = await context.newPage();
    await page.goto(`${server.origin}/assets/sdk/example/index.html`);
    await until(async () => (await area(page).inputValue()) === USER, 'it shows the file');
    await area(page).fill(`${USER}- From the example\n`);
    await page.getByRole('button', { name: 'Save' }).click();
    await says(page, 'Saved.');
    same(text('user'), `${USER}- From the example\n`);
    writeFileSync(file('user').path, USER);
    await until(async () => (await area(page).inputValue()) === USER, 'it follows');
    await accessible(page, 'example');
});

await test('the example on another origin, with a key: it goes on after the server was away', async () => {
    const other = makeHome();
    const pages = await serveFolder(join(tree, 'sdk/js'));
    const key = ethosIn(other, undefined, '', 'api-key', 'create', 'example', '--scope', 'memory:read', '--scope', 'memory:write', '--origin', pages.origin, '--json').key;
    const elsewhere = ethosIn(other, undefined, '', 'api-key', 'create', 'elsewhere', '--scope', 'memory:read', '--origin', 'http://localhost:1', '--json').key;
    ethosIn(other, undefined, 'One\n', 'memory', 'write', '--store', 'user');
    let api = await serve(other);
    const guest = await browser.newContext();
    const page = await guest.newPage();
    const example = (which) => `${pages.origin}/example/index.html?server=${encodeURIComponent(api.origin)}#${which}`;
    await page.goto(example(key));
    await until(async () => (await area(page).inputValue()) === 'One\n', 'it shows the file');
    await area(page).fill('Two\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await says(page, 'Saved.');
    const content = () => ethosIn(other, undefined, '', 'memory', 'get', '--store', 'user');
    same(content(), 'Two\n');
    await api.stop();
    await says(page, 'does not answer');
    api = await serve(other, '--port', new URL(api.origin).port);
    ethosIn(other, undefined, 'Three\n', 'memory', 'write', '--store', 'user');
    await until(async () => (await area(page).inputValue()) === 'Three\n', 'it follows again');
    const refused = await guest.newPage();
    await refused.goto(example(elsewhere));
    await until(async () => (await refused.locator('#state').textContent()) !== '', 'it tells why not');
    same(await area(refused).inputValue(), '');
    await guest.close();
    await api.stop();
    pages.stop();
});

await test('no request ever left the origin, nothing ran, nothing was reported', () => {
    same(away, []);
    same(trouble, []);
    must(!ELSEWHERE.startsWith(server.origin), 'elsewhere is elsewhere');
});

await browser.close();
await server.stop();
finish();

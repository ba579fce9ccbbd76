// dashboard-loading.mjs: signing in, how the dashboard is loaded, and a server that goes away and comes back.
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import {
    accessible, bannerGoes, becomes, context, draftsOf, editor, end, MEMORY, newGuest, open, passed, pressBoth, reads, reported, run,
    same, save, search, server, session, settled, test, text, until, write,
} from './dashboard.mjs';
import { ethos, ethosIn, makeHome, serve, tree } from './server.mjs';
import { must } from './tap.mjs';

// ---- signing in ---------------------------------------------------------------------------------------

await test('the link that serve prints opens the dashboard, once', async () => {
    const other = makeHome();
    ethos(other, 'memory', 'add', 'Known before');
    const here = await serve(other), guest = await newGuest();
    const page = await guest.newPage();
    await page.goto(here.loginUrl);
    await reads(page, 'Known before');
    same(new URL(page.url()).search, '');
    const again = await guest.request.get(here.loginUrl, { maxRedirects: 0 });
    same(again.status(), 401);
    await here.stop();
});

await test('without signing in there is only a page that names the command', async () => {
    const page = await (await newGuest()).newPage();
    await page.goto(`${server.origin}/`);
    must((await page.textContent('body')).includes('ethos serve'), 'the command');
    must(!(await page.content()).includes('Prefers short answers'), 'no memory');
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
    await becomes(() => new URL(page.url()).hash, '#/memory');
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
});

await test('who comes back asks for no file of the dashboard again', async () => {
    // The palette is the last file that comes by itself.
    const loaded = async (page) => until(async () => (await assets(page)).some(({ name }) => name.endsWith('/js/palette.js')), 'all is loaded');
    await loaded(await open('#/memory'));
    const page = await open('#/memory');
    await reads(page, 'Prefers short answers');
    await loaded(page);
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
    await pressBoth(page, 'g', 'h');
    await reads(page, 'This part of the dashboard could not be loaded.');
    await reads(page, /reload; drafts stay/);
});

await test('a change that comes while the page loads is shown', async () => {
    const page = await context.newPage();
    // What the page brought is shown; before its own stream of events stands, the file changes, and others hear of it.
    await page.route('**/events', async (route) => {
        await reads(page, 'Redis runs on port 6380');
        await reported(() => write(`${MEMORY}- Between the two\n`), 'Between the two');
        await route.continue();
    });
    await page.goto(`${server.origin}/#/memory`);
    await reads(page, 'Between the two');
});

// ---- what goes away and comes back ---------------------------------------------------------------------

await test('the server stops and starts: every page says so, and is there again', async () => {
    const other = makeHome();
    ethos(other, 'memory', 'add', 'Known before');
    let away = await serve(other);
    const page = await (await newGuest()).newPage();
    await page.goto(away.loginUrl);
    await reads(page, 'Known before');
    await away.stop();
    await reads(page, 'The server does not answer', '.banner');
    await reads(page, 'Known before'); // what is shown stays
    for (const [key, words] of [['h', 'could not be loaded'], ['m', 'The server does not answer.']]) {
        await pressBoth(page, 'g', key);
        await reads(page, words);
    }
    away = await serve(other, '--port', new URL(away.origin).port);
    await reads(page, 'Known before');
    await bannerGoes(page);
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
    await search(page, 'redis');
    await passed(page, 'The server does not answer', '.banner');
    await bannerGoes(page);
});

await test('who lost the cookie is told, and goes on after signing in elsewhere', async () => {
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(`${MEMORY}- Typed before\n`);
    await becomes(() => draftsOf(page), [`${MEMORY}- Typed before\n`]);
    await settled(page); // nothing is asked with the cookie any more
    const cookies = await context.cookies();
    await context.clearCookies({ name: 'ethos_auth' });
    await save(page);
    await reads(page, 'This browser is signed out', '.banner');
    await reads(page, 'Your text is saved as a draft in this browser', '.editor-news');
    await context.addCookies(cookies);
    await save(page);
    await becomes(() => text('memory'), `${MEMORY}- Typed before\n`);
    await bannerGoes(page);
});

await test('who was signed out follows again, though the tab that signed in is closed', async () => {
    const other = makeHome();
    ethosIn(other, undefined, 'Known before\n', 'memory', 'write');
    const here = await serve(other), guest = await newGuest();
    const page = await guest.newPage();
    await page.goto(here.loginUrl);
    await reads(page, 'Known before');
    const link = () => ethosIn(other, undefined, '', 'serve', '--link').trim();
    ethosIn(other, undefined, '', 'browsers', 'revoke', ethosIn(other, undefined, '', 'browsers', 'list', '--json').items[0].prefix);
    await reads(page, 'This browser is signed out', '.banner');
    const second = await guest.newPage();
    await second.goto(link());
    await reads(second, 'Known before');
    await bannerGoes(page);
    await second.close();
    ethosIn(other, undefined, 'Told after all\n', 'memory', 'write');
    await reads(page, 'Told after all');
    await here.stop();
});

await test('several browsers are signed in at a time; one signs out, a code signs it in again', async () => {
    const other = makeHome();
    ethosIn(other, undefined, 'Known before\n', 'memory', 'write');
    const here = await serve(other), link = () => ethosIn(other, undefined, '', 'serve', '--link').trim();
    const [first, second] = [await newGuest(), await newGuest()];
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
    await becomes(() => one.locator('dialog li.row').count(), 1);
    await one.getByRole('button', { name: 'Sign in another browser' }).click();
    const digits = await one.locator('dialog strong').textContent();
    await two.locator('input[name=t]').fill(digits);
    await two.getByRole('button', { name: 'Sign in' }).click();
    await reads(two, 'Known before');
    await two.setViewportSize({ width: 390, height: 800 }); // a phone has it below "More"
    await two.getByRole('button', { name: 'More' }).click();
    await two.locator('dialog').getByText('Browsers, sign out').click();
    await becomes(() => two.locator('dialog li.row').count(), 2);
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
    await reads(page, 'Memory cannot be reached', '.banner');
    await reads(page, 'Redis runs on port 6380');
    await accessible(page, 'out of reach');
    away = false;
    await bannerGoes(page);
    await becomes(() => page.getByText('cannot be reached').count(), 0);
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
});

await test('in a home without notes the first one appears', async () => {
    const other = makeHome(), folder = join(dirname(other), 'first');
    mkdirSync(folder);
    const fresh = await serve(other);
    const page = await (await newGuest()).newPage();
    await page.goto(fresh.loginUrl);
    await page.goto(`${fresh.origin}/#/notes`);
    await reads(page, 'No folder has notes yet');
    ethosIn(other, folder, '', 'remember', 'The first of all.', '--title', 'First');
    await page.locator('.note-title').getByText('First').waitFor();
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
    await reads(page, 'This conversation no longer exists.');
});

await end();

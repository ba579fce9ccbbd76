// dashboard-pages.mjs: finding, notes, the keyboard, text that wants to be more than text, an empty home, the example of sdk/js.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import {
    accessible, away, becomes, context, editor, end, file, gate, home, newGuest, open, passed, pressBoth, reads, reported, run, same, save, search,
    server, session, settled, test, text, trouble, until, USER, write,
} from './dashboard.mjs';
import { hostileBodies } from './hostile.mjs';
import { ethosIn, makeHome, serve, serveFolder, tree } from './server.mjs';
import { must } from './tap.mjs';

// ---- finding and going back ---------------------------------------------------------------------------

await test('search finds words in memory, and marks them', async () => {
    const page = await open('#/memory');
    await search(page, 'tuesdays');
    await page.locator('main mark').filter({ hasText: /^tuesdays$/i }).first().waitFor(); // results come as one types
});

await test('search finds what was said; the transcript opens there, tool calls are folded', async () => {
    const page = await open('#/sessions');
    await search(page, 'scheduler');
    await page.locator('.session-hit mark').first().waitFor();
    await page.locator('.session-hit').first().click();
    await passed(page, 'How does the scheduler', '.message.found');
    const fold = page.locator('.fold').first();
    same(await fold.getAttribute('open'), null);
    await fold.locator('summary').click();
    await reads(page, 'src/lease.c:42: renew()', '.fold');
});

await test('notes: filter, open beside the list, edit, links in both directions, a graph', async () => {
    const page = await open('#/notes');
    await page.locator('.note-row').nth(2).waitFor();
    await search(page, 'deploy');
    await becomes(() => page.locator('.note-row').count(), 1);
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
    await until(() => run('notes', 'show', 'running-the-tests').includes('And a clean database.'), 'it is on the disk');
    await reads(page, 'And a clean database.', '.note');
    await open('#/notes?view=graph', page);
    await page.getByRole('link', { name: /^Billing rules, 0 links/ }).waitFor();
    await page.getByRole('link', { name: /^Deploying, 1 link/ }).press('Enter');
    await reads(page, 'Never on Fridays', '.note');
});

// ---- keyboard -----------------------------------------------------------------------------------------

await test('everything goes with the keyboard alone', async () => {
    write('- a line to find\n');
    const page = await open('#/memory');
    const keys = async (...all) => { for (const key of all) await page.keyboard.press(key); };
    const focus = (selector, what) => until(() => page.evaluate((one) => document.activeElement.matches(one), selector), `${what} has the focus`);
    const title = (words) => becomes(() => page.locator('h1').textContent(), words);
    for (const [key, words] of [['n', 'Notes'], ['t', 'Timeline'], ['s', 'Conversations'], ['i', 'Insights'], ['h', 'Health'], ['m', 'Memory']]) {
        await pressBoth(page, 'g', key);
        await title(words);
    }
    await keys('?');
    await page.getByRole('dialog').waitFor();
    await keys('Escape');
    await becomes(() => page.getByRole('dialog').count(), 0);
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

// ---- health -------------------------------------------------------------------------------------------

await test('health: the command of a remedy is whole', async () => {
    const before = text('memory');
    write(`${before}\n- The key is sk-ant-api03-Zq8vLw3Rt6Yp1Nx5Bk9Dj2Hf7Gs4Mc0Va8Te3Ui6Oy1\n`);
    const page = await open('#/health');
    const commands = () => page.locator('.finding .command').allTextContents();
    await until(async () => (await commands()).includes('ethos memory forget TEXT'), 'TEXT belongs to the command');
    await reads(page, 'If it is a secret, it removes it everywhere; else reword it', '.finding');
    write(before);
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
    await becomes(() => trouble.filter((one) => one.includes('TrustedHTML')).length, 2); // the browser reports both
    trouble.length = 0;
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
    await becomes(() => page.locator('main > div > .prose').count(), 300);
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

await test('an empty home: every page says what to do', async () => {
    const emptyHome = makeHome();
    const other = await serve(emptyHome);
    const page = await (await newGuest()).newPage();
    await page.goto(other.loginUrl);
    await page.locator('main .page').first().waitFor();
    for (const hash of ['#/memory', '#/notes', '#/timeline', '#/sessions', '#/insights']) {
        await page.goto(`${other.origin}/${hash}`);
        await page.locator('main .empty').first().waitFor();
    }
    await other.stop();
});

// ---- the example of sdk/js ----------------------------------------------------------------------------

const area = (page) => page.getByLabel('USER.md');
const says = (page, words) => page.locator('#state').getByText(words).waitFor();

await test('the example that the server has: it shows, saves and follows the file', async () => {
    const page = await context.newPage();
    await page.goto(`${server.origin}/assets/sdk/example/index.html`);
    await becomes(() => area(page).inputValue(), USER);
    await area(page).fill(`${USER}- From the example\n`);
    await page.getByRole('button', { name: 'Save' }).click();
    await says(page, 'Saved.');
    same(text('user'), `${USER}- From the example\n`);
    writeFileSync(file('user').path, USER);
    await becomes(() => area(page).inputValue(), USER);
    await accessible(page, 'example');
});

await test('the example shows a change that came before it could follow', async () => {
    const page = await context.newPage();
    const changed = gate();
    await page.route('**/events*', async (route) => { await changed.reached; await route.continue(); });
    await page.goto(`${server.origin}/assets/sdk/example/index.html`);
    await becomes(() => area(page).inputValue(), USER);
    await reported(() => write(`${USER}- Before it followed\n`, '--store', 'user'), 'Before it followed');
    changed.reach();
    await becomes(() => area(page).inputValue(), `${USER}- Before it followed\n`);
});

await test('the example on another origin, with a key: it goes on after the server was away', async () => {
    const other = makeHome();
    const pages = await serveFolder(join(tree, 'sdk/js'));
    const key = ethosIn(other, undefined, '', 'api-key', 'create', 'example', '--scope', 'memory:read', '--scope', 'memory:write', '--origin', pages.origin, '--json').key;
    const elsewhere = ethosIn(other, undefined, '', 'api-key', 'create', 'elsewhere', '--scope', 'memory:read', '--origin', 'http://localhost:1', '--json').key;
    ethosIn(other, undefined, 'One\n', 'memory', 'write', '--store', 'user');
    let api = await serve(other);
    const guest = await newGuest();
    const page = await guest.newPage();
    const example = (which) => `${pages.origin}/example/index.html?server=${encodeURIComponent(api.origin)}#${which}`;
    await page.goto(example(key));
    await becomes(() => area(page).inputValue(), 'One\n');
    await area(page).fill('Two\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await says(page, 'Saved.');
    const content = () => ethosIn(other, undefined, '', 'memory', 'get', '--store', 'user');
    same(content(), 'Two\n');
    await api.stop();
    await says(page, 'does not answer');
    api = await serve(other, '--port', new URL(api.origin).port);
    ethosIn(other, undefined, 'Three\n', 'memory', 'write', '--store', 'user');
    await becomes(() => area(page).inputValue(), 'Three\n');
    const refused = await guest.newPage();
    await refused.goto(example(elsewhere));
    await until(async () => (await refused.locator('#state').textContent()) !== '', 'it tells why not');
    same(await area(refused).inputValue(), '');
    await api.stop();
    pages.stop();
});

// ---- the last one: for minutes after it the server reports the notes ------------------------------------

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
    await search(page, '9999');
    await page.locator('.notes-facts').getByText('1 of 10,001').waitFor();
    await becomes(() => page.locator('.note-row').evaluateAll((rows) => rows.map((row) => /number-9999\.md/.test(row.href))), [true]);
});

await end();

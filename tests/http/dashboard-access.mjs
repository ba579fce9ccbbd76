// dashboard-access.mjs: the dashboard for everybody: every page at two widths in two themes, on paper, in forced colours.
import { writeFileSync } from 'node:fs';

import {
    accessible, becomes, context, editor, end, file, MEMORY, open, project, reads, run, same, save, session, settled, startEditing,
    test, until, write,
} from './dashboard.mjs';
import { must } from './tap.mjs';

const places = ['#/memory', '#/memory?v=source', '#/memory?edit=user', '#/notes', '#/notes/deploying.md', '#/notes?view=graph', '#/timeline', '#/conflicts', '#/needs', '#/sessions', `#/sessions/${session}`, '#/sessions?q=scheduler', '#/recall?q=deploy', '#/entries', '#/insights', '#/health', '#/welcome'];

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
        const cut = () => page.locator('.top-selectors select').evaluateAll((boxes) => boxes.filter((box) => {
            const style = getComputedStyle(box), words = document.createElement('span');
            words.textContent = box.selectedOptions[0].textContent;
            Object.assign(words.style, { font: style.font, position: 'absolute', whiteSpace: 'nowrap' });
            document.body.append(words);
            const room = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
            const wanted = words.offsetWidth;
            words.remove();
            return room + 1 < wanted;
        }).map((box) => box.selectedOptions[0].textContent));
        await becomes(async () => [width, await cut()], [width, []]);
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
});

await test('on paper stands what is read: all files, in ink, and nothing to click', async () => {
    const page = await open('#/memory');
    await reads(page, 'Redis runs on port 6380');
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
    for (const name of ['.segmented [aria-pressed=true]', '.rail-item[aria-current]']) await page.locator(name).first().waitFor();
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
    await becomes(() => page.locator('#file-memory .src').count(), 12000);
    await startEditing(page, 'Memory');
    await reads(page, 'No preview: too long to be shown as markdown', '.editor-preview');
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

await end();

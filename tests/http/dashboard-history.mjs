// dashboard-history.mjs: what was said and what changed: conversations, the timeline, undo, restore, conflicts, insights.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import {
    becomes, context, end, file, gate, home, MEMORY, open, passed, project, reads, run, same, search, session, settled, test, text,
    until, write,
} from './dashboard.mjs';
import { must } from './tap.mjs';

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
    await becomes(() => run('sessions', 'list', '--all', '--json').items.length, 1);
});

await test('an earlier version is restored from the timeline', async () => {
    write('- first version\n');
    write('- second version\n');
    const page = await open('#/timeline?key=MEMORY.md&scope=personality%3Adefault');
    await page.locator('.change-line', { hasText: 'first version' }).first().click();
    await page.getByRole('button', { name: 'Restore this version' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore it' }).click();
    await becomes(() => text('memory'), '- first version\n');
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
        await becomes(() => dialog.count(), 0);
    };
    const before = text('memory'), after = `${before}- To be undone\n`;
    write(after);
    await open('#/timeline?key=MEMORY.md&scope=personality%3Adefault', page);
    for (const wanted of [before, after, before, after]) {
        await undoFirst('To be undone');
        await becomes(() => text('memory'), wanted);
    }
    write(before);
    run('remember', 'Not for long.', '--title', 'Passing');
    const scope = run('notes', 'show', 'passing', '--json').scope;
    const keys = () => run('notes', 'list', '--json').notes.map(({ key }) => key);
    run('notes', 'rm', 'passing', '--yes');
    await open(`#/timeline?${new URLSearchParams({ key: 'passing.md', scope })}`, page);
    await undoFirst('Deleted note: passing');
    await until(() => keys().includes('passing.md'), 'it is back');
    await becomes(() => run('notes', 'reindex', '--dry-run', '--json').mended, []); // with its line in the index
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
    await dialog.getByText('It has changed in the meantime').waitFor();
    await dialog.locator('.diff-line.del').getByText('written meanwhile').waitFor();
    same(text('memory'), '- written meanwhile\n');
    await dialog.getByRole('button', { name: 'Restore it' }).click();
    await becomes(() => text('memory'), '- first version\n');

    const script = join(project, 'editor'), { path } = file('memory');
    writeFileSync(script, `sed -i s/first/mine/ "$1"\nsed -i s/first/theirs/ '${path}'\n`);
    process.env.EDITOR = `sh ${script}`;
    try { run('memory', 'edit'); } catch { /* that is the conflict */ } finally { delete process.env.EDITOR; }
    await open('#/conflicts', page);
    await page.getByRole('button', { name: 'Take the copy' }).click();
    await dialog.locator('.diff-line.add').getByText('mine version').waitFor();
    write('- theirs, and more\n');
    await dialog.getByRole('button', { name: 'Take the copy' }).click();
    await dialog.getByText('It has changed in the meantime').waitFor();
    await dialog.locator('.diff-line.del').getByText('theirs, and more').waitFor();
    same(text('memory'), '- theirs, and more\n');
    await dialog.getByRole('button', { name: 'Take the copy' }).click();
    await becomes(() => text('memory'), '- mine version\n');
    await reads(page, 'No conflicts.');
});

await test('a link to an old change opens it, however many came since; a difference that does not come is asked for again', async () => {
    write('- before all others\n', '-p', 'engineer');
    const { number, scope } = run('memory', 'timeline', '-p', 'engineer', '--key', 'MEMORY.md', '--json').items[0];
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
});

await test('a link to an old change begins there: what came since is neither loaded nor loaded again', async () => {
    const of = (limit) => run('memory', 'timeline', '-p', 'engineer', '--key', 'MEMORY.md', '--limit', limit, '--json').items;
    for (let i = 0; i < 70; i++) run('memory', 'add', `Further ${i}`, '-p', 'engineer');
    const { number, scope, time } = of('70').at(-1);
    for (const t of [{}, { t: time }]) {
        const page = await context.newPage();
        await open(`#/timeline?${new URLSearchParams({ scope, key: 'MEMORY.md', change: number, ...t })}`, page);
        await page.locator('.change-detail:not([hidden]) .diff-line.add').getByText('Further 0').waitFor();
        await settled(page);
        must((await page.locator('.change').count()) <= 60, 'all of them are there');
        must((await page.locator('.change-line').first().textContent()).includes('Further 0'), 'it is not the first');
        const asked = [];
        page.on('request', (request) => { if (request.url().endsWith('/rpc/memory/timeline')) asked.push(request.postData()); });
        run('memory', 'add', 'And one now', '-p', 'engineer');
        await until(() => asked.length > 0, 'it asks again');
        await settled(page);
        same(asked.filter((body) => body.includes('"cursor"')), []); // what it shows, and no further page
        same(await page.locator('.change-detail:not([hidden])').count(), 1);
        await page.getByRole('button', { name: t.t ? 'Include later ones' : 'Show all' }).click();
        await page.locator('.change-line').first().getByText('And one now').waitFor();
        await becomes(() => page.url().includes('key=MEMORY.md'), Boolean(t.t));
        run('memory', 'undo', '-p', 'engineer');
    }
    const page = await open('#/timeline');
    await settled(page);
    const late = gate();
    let asked = 0;
    await page.route('**/rpc/memory/timeline', async (route) => { // the first answer comes late
        if (++asked === 1) await late.reached;
        await route.continue();
    });
    await open(`#/timeline?${new URLSearchParams({ scope, key: 'MEMORY.md', change: number, t: time })}`, page);
    await until(() => asked > 0, 'it asks');
    await page.getByRole('button', { name: 'Show all' }).click();
    await until(() => !page.url().includes('change='), 'all are wanted');
    late.reach();
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
    await passed(page, 'Word number 100.', '.message.found');
    await page.locator('.message', { hasText: 'Word number 100.' }).locator('.message-mark').waitFor();
    await open('#/timeline', page);
    await page.locator('.change-line', { hasText: 'Out of a long talk' }).click();
    await page.getByRole('link', { name: 'Its session' }).click();
    await passed(page, 'Word number 100.', '.message.found');
    run('sessions', 'delete', id, '--yes');
});

await test('insights tell who wrote, and how long searches took here; a change on disk is nobody’s dashboard', async () => {
    writeFileSync(file('memory').path, `${text('memory')}- written by hand\n`);
    const page = await open('#/memory');
    await search(page, 'hand');
    await page.locator('main mark').first().waitFor();
    await open('#/insights', page);
    await page.locator('figure[data-plot=search]').getByText(/^Half of the last .* search(es)? from this browser took /).waitFor();
    await page.locator('figure[data-plot=writes] .plot-legend').getByText('edits of the file').waitFor();
    same(await page.evaluate(() => Object.entries(localStorage).filter(([, value]) => value.includes('hand'))), []);
});

await test('recall: passages with what their scores are made of, and what a prompt gets', async () => {
    write('- The lighthouse keeper is called Ruth.\n- The ferry leaves at nine.\n');
    const page = await open('#/recall?q=Who+is+the+lighthouse+keeper');
    const first = page.locator('.recall-hit').first();
    await first.getByText('The lighthouse keeper is called Ruth.').waitFor();
    await first.locator('summary').click();
    const numbers = (await first.locator('.recall-parts td:last-child').allTextContents()).map((text) => Number(text.replace('\u2212', '-')));
    const sum = numbers.pop();
    same(Math.abs(numbers.reduce((a, b) => a + b, 0) - sum) < 0.02 * numbers.length, true);
    await page.locator('.recall-prompt').getByText('is already in every prompt').waitFor();
    await search(page, 'submarines');
    await page.getByText('Nothing was found.').waitFor();
});

await end();

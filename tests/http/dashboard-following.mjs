// dashboard-following.mjs: what is shown follows what happens on the disk and in other tabs, and whose memory is asked for.
import { writeFileSync } from 'node:fs';

import {
    becomes, context, end, file, gate, MEMORY, open, reads, run, same, session, settled, test, until, write,
} from './dashboard.mjs';

// The first answer of an operation is of its time, and comes when it is released. {made(), release()}
async function holdFirst(page, pattern) {
    let asked = 0, made = false;
    const later = gate();
    await page.route(pattern, async (route) => {
        if (++asked > 1) return route.continue();
        const response = await route.fetch();
        made = true;
        await later.reached;
        await route.fulfill({ response }).catch(() => {}); // the page may have gone
    });
    return {
        made: () => made,
        release: async () => {
            const given = page.waitForResponse(pattern).catch(() => {});
            later.reach();
            await given;
        },
    };
}

// [page, address, operation, how a word gets there, where it is shown, as what]
const overtaken = [
    ['memory', '#/memory', '**/api/memory/list*', (word) => write(`${MEMORY}- ${word}\n`)],
    ['notes', '#/notes', '**/rpc/notes/list', (word) => run('remember', `Text of the ${word}.`, '--title', `Overtaken ${word}`)],
    ['a note', '#/notes/overtaken.md', '**/rpc/notes/get', (word) => run('remember', `${word}.`, '--title', 'Overtaken'), '.note'],
    ['timeline', '#/timeline', '**/rpc/memory/timeline', (word) => write(`- ${word}\n`)],
    ['sessions', '#/sessions', '**/api/sessions/list*', (word) => run('sessions', 'rename', session, word)],
    ['a conversation', `#/sessions/${session}`, '**/api/sessions/get*', (word) => run('sessions', 'rename', session, word), '.transcript-head'],
    ['welcome', '#/welcome', '**/api/memory/list*', (word) => write(`- ${word}\n`, '--store', 'user')],
    ['insights', '#/insights?p=engineer', '**/rpc/memory/insights', (word) => write(`${'x'.repeat(word.startsWith('former') ? 1111 : 2222)}\n`, '-p', 'engineer'), '.plot-rows', () => /\b2,2\d\d\b/],
];
run('remember', 'Text.', '--title', 'Overtaken');
write('Somebody else altogether\n', '--store', 'user', '-u', 'ana');

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

await test('the links of a note that went meanwhile are not wanted any more', async () => {
    run('remember', 'Gone soon.', '--title', 'Short lived');
    const page = await context.newPage();
    const held = await holdFirst(page, '**/rpc/notes/graph');
    await open('#/notes/short-lived.md', page);
    await until(held.made, 'the page asks');
    run('-y', 'notes', 'rm', 'short-lived');
    await reads(page, 'This note no longer exists.');
    await held.release();
    await settled(page);
    await reads(page, 'This note no longer exists.');
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
    const page = await open('#/memory');
    await settled(page);
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
    await becomes(() => page.locator('.blame').count(), 0);
    await until(() => page.evaluate(() => document.activeElement.textContent.includes('Redis runs')), 'back at the line');
});

await test('more tabs than a browser opens connections, and each sees what changes', async () => {
    const tabs = [];
    for (let i = 0; i < 9; i++) tabs.push(await open('#/memory'));
    await tabs[0].close();
    writeFileSync(file('memory').path, `${MEMORY}- Seen by all of them\n`);
    for (const tab of tabs.slice(1)) await reads(tab, 'Seen by all of them');
});

await test('the two selectors are independent', async () => {
    const ana = run('users', 'resolve', 'telegram', '4711').trim();
    write('Another person\n', '--store', 'user', '-u', ana);
    const page = await open('#/memory');
    await reads(page, 'We deploy on Tuesdays');
    await page.getByLabel('Personality').selectOption('engineer');
    await reads(page, 'Memory of the engineer');
    await reads(page, 'Prefers short answers');
    await page.getByLabel('Person', { exact: true }).selectOption(ana);
    await reads(page, 'Another person');
    await reads(page, 'Memory of the engineer');
    await page.getByLabel('Personality').selectOption('default');
    await reads(page, 'We deploy on Tuesdays');
    await reads(page, 'Another person');
    await until(() => page.url().includes(`u=${ana}`), 'the address names the person');
    await page.reload();
    await reads(page, 'Another person');
});

await end();

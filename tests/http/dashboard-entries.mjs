// dashboard-entries.mjs: the page Entries: listed, found, added, changed and deleted by keyboard, where each came from,
// what changed meanwhile is refused and told; read by axe.
import { accessible, becomes, end, open, reads, run, same, search, settled, test, text, until, write } from './dashboard.mjs';
import { must } from './tap.mjs';

const rows = (page) => page.locator('.entry');
const press = async (page, key) => { await settled(page); await page.keyboard.press(key); };
const begin = () => write('# Work\n\n- We deploy on Fridays\n- Tests need Redis ^redis\n\n# Home\n\nThe oven is hot.\n');

await test('entries stand in the order of the file, with where they are and where they came from', async () => {
    begin();
    run('memory', 'chunks', 'add', 'The kettle is new');
    const page = await open('#/entries');
    await becomes(() => rows(page).count(), 4);
    await reads(page, 'Work \u00b7 line 3');
    await reads(page, 'The kettle is new', '.entry-text');
    await reads(page, '4 entries');
    await accessible(page, 'entries');
});

await test('a search brings the entry that answers it first, in its own words', async () => {
    begin();
    const page = await open('#/entries');
    await search(page, 'When do we deploy?');
    await becomes(async () => (await rows(page).first().locator('.entry-text').textContent()), 'We deploy on Fridays');
    await reads(page, 'the best first');
    await accessible(page, 'found');
});

await test('add, edit and delete by keyboard', async () => {
    begin();
    const page = await open('#/entries');
    await becomes(() => rows(page).count(), 3);
    await press(page, 'a');
    const field = page.getByRole('textbox', { name: 'What it says' });
    await field.fill('Lunch is at noon');
    await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished)));
    await accessible(page, 'the dialog');
    await page.keyboard.press('Control+Enter');
    await becomes(() => text('memory').endsWith('\n\nLunch is at noon\n'), true);
    await becomes(() => rows(page).count(), 4);
    await press(page, 'j');
    await press(page, 'e');
    await field.fill('We deploy on Mondays');
    await page.keyboard.press('Control+Enter');
    await becomes(() => text('memory').includes('- We deploy on Mondays\n- Tests'), true);
    await reads(page, 'We deploy on Mondays', '.entry-text');
    await settled(page);
    await rows(page).nth(2).focus();
    await press(page, 'x');
    await page.getByRole('dialog').getByText('The oven is hot.').waitFor();
    await settled(page);
    await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished)));
    await accessible(page, 'deleting');
    const action = page.getByRole('dialog').getByRole('button', { name: 'Delete' });
    for (let i = 0; i < 9 && !(await action.evaluate((node) => node === document.activeElement)); i++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await becomes(() => text('memory').includes('oven'), false);
    await becomes(() => rows(page).count(), 3);
    const [last] = run('memory', 'history', '--limit', '1', '--json');
    same([last.actor, last.removed > 0], ['owner', true]);
});

await test('an entry that is another one by now is not changed, and what is there is told', async () => {
    begin();
    const page = await open('#/entries');
    await becomes(() => rows(page).count(), 3);
    await press(page, 'j');
    await press(page, 'e');
    const field = page.getByRole('textbox', { name: 'What it says' });
    await field.fill('We deploy never');
    write('# Work\n\n- We deploy on Tuesdays\n- Tests need Redis ^redis\n');
    await page.keyboard.press('Control+Enter');
    await reads(page, 'We deploy on Tuesdays', 'dialog');
    must(!text('memory').includes('never'), text('memory'));
    same(await field.inputValue(), 'We deploy never');
    await page.keyboard.press('Escape');
    await becomes(() => page.getByRole('dialog').count(), 0);
});

await test('what cannot be one entry is refused with the reason', async () => {
    begin();
    const page = await open('#/entries');
    await press(page, 'a');
    await page.getByRole('textbox', { name: 'What it says' }).fill('one\n\ntwo');
    await page.keyboard.press('Control+Enter');
    await reads(page, 'line 2 is blank', 'dialog');
    must(!text('memory').includes('two'), text('memory'));
});

await test('the profile has entries, too, and long lists come in pages', async () => {
    write(`${Array.from({ length: 120 }, (_, i) => `- Line ${i}`).join('\n')}\n`);
    const page = await open('#/entries');
    await becomes(() => rows(page).count(), 50);
    await page.getByRole('button', { name: 'Show more' }).click();
    await becomes(() => rows(page).count(), 100);
    await page.getByRole('radio', { name: 'Profile' }).or(page.getByRole('button', { name: 'Profile' })).first().click();
    await reads(page, 'Prefers short answers', '.entry-text');
    await until(() => page.url().includes('store=user'));
});

await end();

// dashboard-editing.mjs: writing in the dashboard: saving, drafts, and texts that others write meanwhile.
import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';

import {
    becomes, context, draftsOf, editor, editorCloses, end, file, gate, MEMORY, newGuest, open, passed, reads, run, same,
    save, saveAgain, server, settled, startEditing, test, text, until, USER, write,
} from './dashboard.mjs';
import { ethosIn, makeHome, serve } from './server.mjs';
import { must } from './tap.mjs';

await test('a file is edited and saved', async () => {
    const page = await open('#/memory');
    await startEditing(page, 'About you');
    await editor(page).fill(`${USER}- Likes trains 🚂\n`);
    await save(page);
    await becomes(() => text('user'), `${USER}- Likes trains 🚂\n`);
    await reads(page, 'Likes trains 🚂', '.file');
});

await test('saving twice on a slow line saves once, and asks nothing', async () => {
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(`${MEMORY}- Pressed twice\n`);
    const pressed = gate();
    let saves = 0;
    await page.route('**/rpc/memory/save', async (route) => {
        saves++;
        await pressed.reached;
        await route.continue();
    });
    for (let i = 0; i < 4; i++) await save(page);
    await until(() => saves > 0, 'it is being saved');
    await save(page);
    pressed.reach();
    await editorCloses(page);
    await reads(page, 'Pressed twice', '.file');
    await settled(page);
    same([saves, await page.getByRole('dialog').count()], [1, 0]);
});

await test('a link to the editor shows all of a long text, and typing goes there', async () => {
    const long = `${MEMORY}${'- one more line\n'.repeat(80)}`;
    write(long);
    const page = await open('#/memory?edit=memory');
    await editor(page).waitFor();
    await until(() => editor(page).evaluate((area) => area.scrollHeight <= area.clientHeight + 2), 'nothing is hidden');
    await until(() => editor(page).evaluate((area) => area === document.activeElement), 'the focus');
});

await test('what is typed is kept as a draft when the page goes away', async () => {
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(`${MEMORY}- not saved yet\n`);
    await becomes(() => draftsOf(page), [`${MEMORY}- not saved yet\n`]);
    await page.reload();
    await becomes(() => editor(page).inputValue(), `${MEMORY}- not saved yet\n`);
    same(text('memory'), MEMORY);
});

await test('who was refused and then heard nothing follows again when the server answers', async () => {
    const guest = await newGuest({ storageState: await context.storageState() }), page = await guest.newPage();
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
});

await test('what is typed is kept when the window goes at once', async () => {
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(`${MEMORY}- typed and gone\n`);
    await page.goto('about:blank');
    await open('#/memory', page);
    await becomes(() => draftsOf(page), [`${MEMORY}- typed and gone\n`]);
});

await test('what is typed while it is saved is no less kept', async () => {
    const page = await open('#/memory?edit=memory');
    const typed = gate();
    await page.route('**/rpc/memory/save', async (route) => { await typed.reached; await route.continue(); });
    await editor(page).fill(`${MEMORY}- saved\n`);
    const asked = page.waitForRequest('**/rpc/memory/save');
    await save(page);
    await asked;
    await editor(page).fill(`${MEMORY}- saved\n- typed since\n`);
    typed.reach();
    await becomes(() => text('memory'), `${MEMORY}- saved\n`);
    await passed(page, 'MEMORY.md saved', '.toasts');
    await becomes(() => editor(page).inputValue(), `${MEMORY}- saved\n- typed since\n`);
    await saveAgain(page);
    await becomes(() => text('memory'), `${MEMORY}- saved\n- typed since\n`);
    await reads(page, 'typed since', '.file');
    await becomes(async () => [await page.getByRole('dialog').count(), await draftsOf(page)], [0, []]);
});

await test('two windows have a draft each, and none takes away the other’s', async () => {
    const [one, two, three] = [await open('#/memory?edit=memory'), await open('#/memory?edit=memory'), await open('#/memory?edit=memory')];
    for (const page of [one, two, three]) await editor(page).waitFor();
    await editor(one).fill(`${MEMORY}- of the first\n`);
    await becomes(async () => (await draftsOf(one)).length, 1);
    await editor(three).press('Escape'); // nothing was typed there
    await editorCloses(three);
    await editor(two).fill(`${MEMORY}- of the second\n`);
    await becomes(async () => (await draftsOf(one)).length, 2);
    await Promise.all([one.close(), two.close()]);
    for (const words of ['- of the second\n', '- of the first\n']) {
        await three.reload();
        await three.locator('.file').getByRole('button', { name: 'Continue' }).click();
        await becomes(() => editor(three).inputValue(), MEMORY + words);
        await three.getByRole('button', { name: 'Discard' }).click();
        await three.getByRole('dialog').getByRole('button', { name: 'Discard it' }).click();
        await editorCloses(three);
    }
    await becomes(() => draftsOf(three), []);
});

await test('drafts: one that a second window only looked at is not left behind when the first saves', async () => {
    const one = await open('#/memory?edit=memory');
    await editor(one).fill(`${MEMORY}- begun\n`);
    await becomes(async () => (await draftsOf(one)).length, 1);
    const two = await open('#/memory?edit=memory');
    await becomes(() => editor(two).inputValue(), `${MEMORY}- begun\n`);
    await editor(two).press('Escape');
    await editorCloses(two);
    await editor(one).fill(`${MEMORY}- begun and ended\n`);
    await save(one);
    await editorCloses(one);
    await becomes(async () => [text('memory'), await draftsOf(one)], [`${MEMORY}- begun and ended\n`, []]);
});

await test('drafts: an old one is told with its day', async () => {
    const page = await open('#/memory');
    const { scope, revision } = file('memory');
    await page.evaluate(([key, draft]) => localStorage.setItem(key, draft), [`ethos.draft.${scope}/MEMORY.md`, JSON.stringify({ text: 'a', base: 'b', revision, time: Date.UTC(2020, 1, 2, 12) })]);
    await page.reload();
    await reads(page, 'You have a draft from 2 Feb 2020', '.file');
});

await test('drafts: another home at the same address has its own', async () => {
    const homes = [makeHome(), makeHome()];
    for (const one of homes) ethosIn(one, undefined, MEMORY, 'memory', 'write');
    const guest = await newGuest(), page = await guest.newPage();
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
    await becomes(async () => (await draftsOf(page)).length, 1);
    for (const [one, words] of [[homes[1], ''], [homes[0], '- of the first home\n']]) {
        await page.goto('about:blank');
        await here.stop();
        here = await edit(one, port);
        await becomes(() => editor(page).inputValue(), MEMORY + words);
    }
    await here.stop();
});

await test('drafts: where the browser keeps none, the window does, and says so', async () => {
    const page = await context.newPage();
    await page.addInitScript(() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; });
    await open('#/memory?edit=memory', page);
    await editor(page).fill(`${MEMORY}- only here\n`);
    await reads(page, 'This browser does not save drafts', '.editor-head');
    await page.getByRole('link', { name: 'Timeline' }).first().click();
    await page.locator('.page-timeline, .change-line').first().waitFor();
    await page.goBack();
    await becomes(() => editor(page).inputValue(), `${MEMORY}- only here\n`);
    await editor(page).press('Escape');
    await page.locator('.file').getByRole('button', { name: 'Continue' }).click();
    await editor(page).waitFor();
    await page.route('**/rpc/memory/save', (route) => route.abort());
    await save(page);
    await reads(page, 'This browser does not save drafts', '.editor-news');
    await page.unroute('**/rpc/memory/save');
    await saveAgain(page);
    await becomes(() => text('memory'), `${MEMORY}- only here\n`);
    await editorCloses(page);
    await becomes(() => page.locator('.file').getByRole('button', { name: 'Continue' }).count(), 0);
});

await test('a save whose answer is lost is no question afterwards', async () => {
    const page = await open('#/memory?edit=memory');
    const lost = gate();
    await page.route('**/rpc/memory/save', async (route) => {
        await route.fetch();
        await route.abort();
        lost.reach();
    }, { times: 1 });
    await editor(page).fill(`${MEMORY}- came through\n`);
    await save(page);
    await lost.reached;
    same(text('memory'), `${MEMORY}- came through\n`);
    const other = await open('#/memory'); // where it is seen that it is saved
    await reads(other, 'came through', '.file');
    await becomes(async () => [await other.locator('.file').getByRole('button', { name: 'Continue' }).count(), await draftsOf(other)], [0, []]);
    await until(async () => {
        if ((await editor(page).count()) > 0) await save(page);
        return (await editor(page).count()) === 0;
    }, 'it is closed');
    await becomes(async () => [await page.getByRole('dialog').count(), await draftsOf(page)], [0, []]);
});

await test('what is typed while both texts are brought together is in the merge', async () => {
    const page = await open('#/memory?edit=memory');
    await editor(page).waitFor();
    write(`- theirs\n${MEMORY}`);
    await reads(page, 'MEMORY.md changed meanwhile', '.editor-news');
    await editor(page).fill(`${MEMORY}- mine\n`);
    const typed = gate();
    await page.route('**/rpc/memory/merge', async (route) => { await typed.reached; await route.continue(); });
    const asked = page.waitForRequest('**/rpc/memory/merge');
    await page.getByRole('button', { name: 'Merge now' }).click(); // told of when nothing was typed
    await asked;
    await editor(page).fill(`${MEMORY}- mine\n- mine, too\n`);
    typed.reach();
    await page.getByRole('dialog').getByRole('button', { name: 'Save the merge' }).click();
    await becomes(() => text('memory'), `- theirs\n${MEMORY}- mine\n- mine, too\n`);
    await editorCloses(page);
    await becomes(() => draftsOf(page), []);
});

await test('drafts: one of an older version becomes that of the home where somebody writes on', async () => {
    const guest = await newGuest({ storageState: await context.storageState() }), page = await guest.newPage();
    await open('#/memory', page);
    const { scope, key, content, revision } = file('memory');
    const draft = { text: `${content}- of an older version\n`, base: content, revision, time: 1 };
    await page.evaluate(([name, raw]) => localStorage.setItem(name, raw), [`ethos.draft.${scope}/${key}`, JSON.stringify(draft)]);
    const names = () => page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('ethos.draft')));
    await open('#/memory?edit=memory', page);
    await editor(page).waitFor();
    await becomes(() => editor(page).inputValue(), draft.text);
    await editor(page).press('Escape');
    await editorCloses(page);
    await becomes(names, [`ethos.draft.${scope}/${key}`]); // it was only looked at
    await open('#/memory?edit=memory', page);
    await editor(page).fill(`${draft.text}- and on\n`);
    await until(async () => (await names()).every((name) => name.startsWith('ethos.draft@')), 'it has the name of the home');
    await becomes(() => draftsOf(page), [`${draft.text}- and on\n`]);
});

await test('who types while texts are brought together goes on in the same line', async () => {
    const page = await open('#/memory?edit=memory');
    const place = () => editor(page).evaluate((area) => area.value.slice(0, area.selectionStart).split('\n').at(-1));
    await editor(page).evaluate((area) => { area.selectionStart = area.selectionEnd = area.value.indexOf('Redis') + 5; });
    write(`- before\n${MEMORY}- behind\n`);
    await page.getByRole('button', { name: 'Merge now' }).click();
    await until(async () => (await editor(page).inputValue()).endsWith('- behind\n'), 'it was not brought together');
    await becomes(place, '- Redis');
});

await test('who agreed to a merge has saved, though an agent goes on writing; what it wrote stays', async () => {
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
    await editorCloses(page);
    same(lines, 4);
    must(text('memory').includes('Wednesdays'), text('memory'));
    for (let i = 0; i < lines; i++) must(text('memory').includes(`Line ${i} of an agent`), text('memory'));
});

await test('lines that end as on Windows do so after editing; looking makes no draft', async () => {
    writeFileSync(file('memory').path, '# A\r\n\r\n- one\r\n- two\n- three\r\n');
    const page = await open('#/memory?edit=memory');
    await editor(page).press('Escape');
    await editorCloses(page);
    await becomes(() => draftsOf(page), []);
    await startEditing(page, 'Memory');
    await editor(page).fill('# A\n\n- one\n- new\n- two\n- three\n- last\n');
    await save(page);
    await becomes(() => text('memory'), '# A\r\n\r\n- one\r\n- new\r\n- two\n- three\r\n- last\r\n');
});

await test('a file that changed and changed back is no question', async () => {
    const page = await open('#/memory?edit=memory');
    await editor(page).fill(`${MEMORY}- mine\n`);
    write('- something else\n');
    await reads(page, 'MEMORY.md changed meanwhile', '.editor-news');
    write(MEMORY);
    await becomes(() => page.locator('.editor-news').textContent(), '');
    await save(page);
    await becomes(() => text('memory'), `${MEMORY}- mine\n`);
    same(await page.getByRole('dialog').count(), 0);
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
    await becomes(() => editor(page).inputValue(), `${content}\nAnd mine.\n`);
    await editor(page).press('Escape');
    await reads(page, 'This note no longer exists.', '.note');
    await page.locator('.note').getByRole('button', { name: 'Continue' }).click();
    await editor(page).waitFor();
    await save(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Make it anew' }).click();
    await until(() => existsSync(path) && readFileSync(path, 'utf8') === `${content}\nAnd mine.\n`.replaceAll('\n', '\r\n'), 'all of it is there');
    await page.locator('.note-head').waitFor();
    await becomes(() => draftsOf(page), []);
});

await test('the draft of a note is told of where the note is read', async () => {
    const page = await open('#/notes/deploying.md');
    await reads(page, 'Never on Fridays', '.note');
    await page.keyboard.press('e');
    const whole = await editor(page).inputValue();
    await editor(page).fill(`${whole}Half a thought\n`);
    await page.reload(); // the address says that it is written
    await becomes(() => editor(page).inputValue(), `${whole}Half a thought\n`);
    await editor(page).press('Escape');
    await page.locator('.note').getByRole('button', { name: 'Discard' }).click();
    await becomes(async () => (await draftsOf(page)).length, 0);
    await page.getByRole('button', { name: 'Bring it back' }).click();
    await reads(page, 'You have a draft', '.note');
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
    for (const page of [one, two]) await editor(page).waitFor();
    await editor(one).fill('- the line of the first\n');
    await editor(two).fill('- the line of the second\n');
    await save(one);
    await becomes(() => text('memory'), '- the line of the first\n');
    await save(two);
    const dialog = two.getByRole('dialog');
    await dialog.getByText('Both changed this').waitFor();
    await dialog.getByRole('button', { name: 'Both', exact: true }).click();
    await dialog.getByRole('button', { name: 'Save the merge' }).click();
    await until(() => /first[^]*second|second[^]*first/.test(text('memory')), 'both lines');
});

await end();

// chat-page.mjs: conversations with the agent in the dashboard, in Debian's Chromium, against a real server and a
// model that says what the test lets it say. Without Chromium everything is skipped, and the reason told.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { chromium } from 'playwright-core';

import { startModel } from './model.mjs';
import { ethos, ethosIn, makeHome, serve, serveFolder, tree } from './server.mjs';
import { finish, must, test as told } from './tap.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(CHROMIUM)) {
    console.log(`1..1\nok 1 - chat-page.mjs # SKIP there is no ${CHROMIUM}`);
    process.exit(0);
}

const same = (a, b) => must(JSON.stringify(a) === JSON.stringify(b), `${JSON.stringify(a)} is not ${JSON.stringify(b)}`);
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const model = await startModel();
const home = makeHome();
for (const [name, value] of [['provider', 'openai-compat'], ['model', 'stub-model'], ['baseUrl', model.url]]) ethos(home, 'config', 'set', name, value);
ethos(home, 'personality', 'create', 'engineer');
const server = await serve(home);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'] });
context.setDefaultTimeout(15000);
const trouble = [];
context.on('weberror', (error) => trouble.push(`error: ${error.error().message}`));
context.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy|TrustedHTML|TypeError/.test(message.text())) trouble.push(message.text());
});

// A test; the pages it opened are closed after it. With ONLY=word, those whose name holds it.
async function test(name, body) {
    if (!name.includes(process.env.ONLY ?? '')) return;
    await told(name, body);
    model.rule = (answer) => answer.say('Fine.').end();
    await Promise.all(context.pages().map((page) => page.close()));
}

const first = await context.newPage();
await first.goto(server.loginUrl);
await first.close();

async function open(hash = '#/sessions/new') {
    const page = await context.newPage();
    await page.goto(`${server.origin}/${hash}`);
    await composer(page).waitFor();
    return page;
}

const composer = (page) => page.getByRole('textbox', { name: 'Message', exact: true });
const reads = (page, words, where = '.chat') => page.locator(where).getByText(words).first().waitFor();
const gone = (page, words, where = '.chat') => page.locator(where).getByText(words).first().waitFor({ state: 'detached' });
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

// No answer comes, and what came is shown as the session has it.
async function idle(page) {
    await page.getByRole('button', { name: /^Stop/ }).waitFor({ state: 'hidden' });
    await page.locator('.live').waitFor({ state: 'detached' });
}

const idOf = (page) => page.url().split('/').at(-1);
const said = (page) => page.locator('.message.user .message-text').allInnerTexts();
const stored = (id) => ethos(home, 'sessions', 'show', id, '--json').messages.map(({ role, content }) => [role, content]);

async function send(page, text) {
    await composer(page).fill(text);
    await composer(page).press('Enter');
}

// To another page, until it is there: the one before stays in sight for a moment.
async function leave(page) {
    await page.getByRole('link', { name: 'Notes' }).click();
    await composer(page).waitFor({ state: 'detached' });
}

// A conversation of one turn, over and shown.
async function talked(question = 'How are you?', answer = 'Fine.', last = answer) {
    const page = await open();
    model.rule = (given) => given.say(answer).end();
    await send(page, question);
    await reads(page, last);
    await idle(page);
    return page;
}

await test('a message is sent, its answer streams as markdown, and stays', async () => {
    const page = await open();
    const asked = model.next();
    await send(page, 'What is the plan?');
    const answer = await asked;
    same(answer.question.includes('What is the plan?'), true);
    await reads(page, 'What is the plan?');
    answer.say('First **build**, then:\n\n1. test\n2. ship');
    await page.locator('.live strong').getByText('build').waitFor();
    await page.locator('.live ol li').nth(1).waitFor();
    await page.getByRole('button', { name: /^Stop/ }).waitFor();
    answer.say('\n\nAnd `rest`.').end();
    await idle(page);
    await page.locator('.talk .message.assistant code').getByText('rest').waitFor();
    same(await page.locator('.live').count(), 0);
    same(await said(page), ['What is the plan?']);
    same(stored(idOf(page)).map(([role]) => role), ['user', 'assistant']);
    await page.locator('.sessions-list [aria-current]').getByText('What is the plan?').waitFor();
});

await test('an answer is stopped, and what came of it stays', async () => {
    const page = await open();
    const asked = model.next();
    await send(page, 'Count for ever');
    const answer = await asked;
    answer.say('one two three');
    await reads(page, 'one two three');
    await page.getByRole('button', { name: /^Stop/ }).click();
    await reads(page, 'Stopped.');
    await answer.closed;
    await idle(page);
    await reads(page, 'one two three', '.talk .message.assistant');
    same(await page.locator('.live').count(), 0);
});

await test('a question is asked again, and the answer that was there goes', async () => {
    const page = await talked('Which colour?', 'Red.');
    model.rule = (answer) => answer.say('Blue.').end();
    await press(page, 'Retry');
    await reads(page, 'Blue.');
    await gone(page, 'Red.');
    await idle(page);
    same(stored(idOf(page)), [['user', 'Which colour?'], ['assistant', 'Blue.']]);
});

await test('a model that fails says why; retrying asks again', async () => {
    const page = await open();
    model.rule = (answer) => answer.refuse(401, 'wrong key');
    await send(page, 'Are you there?');
    await page.locator('.chat-problem .notice').waitFor();
    model.rule = (answer) => answer.say('Here.').end();
    await page.locator('.chat-problem').getByRole('button', { name: 'Retry' }).click();
    await reads(page, 'Here.');
    await idle(page);
    same(await page.locator('.chat-problem .notice').count(), 0);
    same(stored(idOf(page)).filter(([role]) => role === 'user').length, 1);
});

await test('an edited message goes on in a copy that ends before it', async () => {
    const page = await talked('One?', 'First.');
    const original = idOf(page);
    model.rule = (answer) => answer.say('Second.').end();
    await send(page, 'Two?');
    await reads(page, 'Second.');
    await idle(page);
    const before = stored(original);
    const message = page.locator('.message.user', { hasText: 'Two?' });
    await message.getByRole('button', { name: 'Edit and send in a copy of the conversation' }).click();
    await page.getByRole('textbox', { name: 'Your message, changed' }).fill('Three?');
    model.rule = (answer) => answer.say('Third.').end();
    await press(page, 'Send in a copy');
    await reads(page, 'Third.');
    await idle(page);
    must(idOf(page) !== original, 'another conversation');
    same(stored(idOf(page)), [['user', 'One?'], ['assistant', 'First.'], ['user', 'Three?'], ['assistant', 'Third.']]);
    same(stored(original), before);
    same(await said(page), ['One?', 'Three?']);
});

await test('a call of a tool is folded, with what it was asked and gave', async () => {
    const page = await open();
    const rest = [];
    model.rule = (answer) => (answer.afterTool ? rest.push(answer) : answer.call('memory_read', { store: 'memory' }).end());
    await send(page, 'What do you know?');
    const fold = page.locator('.live:not([hidden]) .fold');
    await fold.locator('.fold-result').waitFor({ state: 'attached' });
    same(await fold.locator('.fold-result').isVisible(), false);
    rest[0].say('Nothing yet.').end();
    await idle(page);
    await page.locator('.talk .fold summary').click();
    await page.locator('.talk .fold').getByText('"store"').waitFor();
});

const remembers = (content) => (answer) => (answer.afterTool ? answer.say('Noted.').end() : answer.call('memory_write', { action: 'add', content }).end());
const memory = () => ethos(home, 'memory', 'get', '--json').content;

await test('what was remembered is shown after the turn, undone and redone there', async () => {
    const page = await open();
    model.rule = remembers('Likes green tea');
    await send(page, 'I like green tea');
    const card = page.locator('.remembered');
    await card.getByText('Likes green tea').waitFor();
    must(memory().includes('Likes green tea'), memory());
    await card.getByRole('button', { name: 'Undo' }).click();
    await card.getByText('Undone').waitFor();
    must(!memory().includes('Likes green tea'), memory());
    same(await page.evaluate(() => document.activeElement.closest('.remembered') !== null), true);
    await page.reload();
    await card.getByText('Undone').waitFor();
    await card.getByRole('button', { name: 'Redo' }).click();
    await card.getByText('Remembered').waitFor();
    must(memory().includes('Likes green tea'), memory());
    await card.getByRole('button', { name: 'Undo' }).click();
    await card.getByText('Undone').waitFor();
    must(!memory().includes('Likes green tea'), memory());
});

await test('two windows show one conversation: the same answer, and either sends', async () => {
    const one = await talked('First question', 'First answer.');
    const two = await open(`#/sessions/${idOf(one)}`);
    await reads(two, 'First answer.');
    let asked = model.next();
    await send(one, 'Second question');
    let answer = await asked;
    answer.say('Second');
    for (const page of [one, two]) await page.locator('.live').getByText('Second').waitFor();
    await two.locator('.message.user').getByText('Second question').waitFor();
    answer.say(' answer.').end();
    for (const page of [one, two]) await idle(page);
    asked = model.next();
    await send(two, 'Third question');
    answer = await asked;
    answer.say('Third answer');
    await one.locator('.live').getByText('Third answer').waitFor();
    await one.getByRole('button', { name: /^Stop/ }).click();
    for (const page of [one, two]) await reads(page, 'Stopped.');
    for (const page of [one, two]) same(await said(page), ['First question', 'Second question', 'Third question']);
});

await test('who comes back in the middle of an answer gets all of it, once', async () => {
    const page = await open();
    const asked = model.next();
    await send(page, 'Tell me a story');
    const answer = await asked;
    answer.say('Once upon a time');
    await page.locator('.live').getByText('Once upon a time').waitFor();
    await page.reload();
    await page.locator('.live').getByText('Once upon a time').waitFor();
    await page.locator('.message.user').getByText('Tell me a story').waitFor();
    same(await page.getByText('Once upon a time').count(), 1);
    answer.say(' there was a test.').end();
    await idle(page);
    await page.locator('.talk').getByText('Once upon a time there was a test.').waitFor();
    same(await page.getByText('Once upon a time').count(), 1);
});

await test('a message that is sent while an answer comes waits for its turn', async () => {
    const page = await open();
    const asked = model.next();
    await send(page, 'Slow one');
    const answer = await asked;
    answer.say('Working');
    await page.locator('.live').getByText('Working').waitFor();
    await send(page, 'Quick one');
    await page.locator('.pending').getByText('Quick one').waitFor();
    model.rule = (next) => next.say('Quick answer.').end();
    answer.say(' done.').end();
    await reads(page, 'Quick answer.');
    await idle(page);
    same(await said(page), ['Slow one', 'Quick one']);
    same(await page.locator('.pending').count(), 0);
});

await test('one message too many comes back to the field', async () => {
    const page = await open();
    const asked = model.next();
    await send(page, 'Message 0');
    const answer = await asked;
    answer.say('Busy');
    await page.locator('.live').getByText('Busy').waitFor();
    for (let i = 1; i <= 10; i++) await send(page, `Message ${i}`);
    await page.locator('.pending').nth(9).waitFor();
    await send(page, 'Message 11');
    await page.waitForFunction(() => document.querySelector('.composer-text').value === 'Message 11');
    same(await page.locator('.pending').count(), 10);
    answer.end();
    await idle(page);
    same((await said(page)).length, 11);
});

await test('what was written stays as a draft until it is sent', async () => {
    const page = await open();
    await composer(page).fill('Half a thou');
    await leave(page);
    await page.goBack();
    await composer(page).waitFor();
    same(await composer(page).inputValue(), 'Half a thou');
    await composer(page).press('Enter');
    await reads(page, 'Fine.');
    await idle(page);
    await press(page, 'New chat');
    same(await composer(page).inputValue(), '');
});

await test('a draft is of the conversation in which it was written, one that just began too', async () => {
    const page = await open();
    await send(page, 'How are you?');
    await reads(page, 'Fine.');
    await idle(page);
    await composer(page).fill('And the wea');
    await leave(page);
    await page.goBack();
    await composer(page).waitFor();
    same(await composer(page).inputValue(), 'And the wea');
    same(await (await open()).getByRole('textbox', { name: 'Message', exact: true }).inputValue(), '');
});

await test('a text file is attached', async () => {
    const page = await open();
    const asked = model.next();
    await page.locator('.composer input[type=file]').setInputFiles({ name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('milk and eggs') });
    await page.getByRole('button', { name: 'Remove list.txt' }).waitFor();
    await send(page, 'What is in it?');
    const answer = await asked;
    must(answer.question.includes('milk and eggs'), answer.question);
    answer.say('Food.').end();
    await idle(page);
    await page.locator('.talk .fold').getByText('list.txt').waitFor();
    same(await said(page), ['What is in it?']);
});

await test('another personality answers where one is chosen', async () => {
    const page = await open();
    await page.getByRole('combobox', { name: 'Personality' }).selectOption('engineer');
    await send(page, 'Who are you?');
    await reads(page, 'Fine.');
    await idle(page);
    same(ethos(home, 'sessions', 'show', idOf(page), '--json').session.personalityId, 'engineer');
});

await test('what another agent recorded goes on in a copy, what was said in the terminal where it is', async () => {
    const line = { type: 'user', sessionId: '11111111-2222-4333-8444-555555555555', uuid: 'a1', parentUuid: null, timestamp: '2026-11-01T10:00:00.000Z', cwd: '/tmp', message: { role: 'user', content: 'Said to another agent' } };
    ethosIn(home, undefined, JSON.stringify(line), 'sessions', 'import', '-', '--format', 'claude-code');
    const { items } = ethos(home, 'sessions', 'list', '--all', '--json');
    const recorded = items.find(({ displayTitle }) => displayTitle === 'Said to another agent').id;
    const page = await context.newPage();
    await page.goto(`${server.origin}/#/sessions/${recorded}`);
    await press(page, 'Continue');
    await composer(page).waitFor();
    must(idOf(page) !== recorded, 'a copy');
    await send(page, 'And to this one');
    await reads(page, 'Fine.');
    await idle(page);
    same(await said(page), ['Said to another agent', 'And to this one']);
    same(stored(recorded).length, 1);
    const own = ethos(home, 'sessions', 'append', 'From the terminal', '--json').session.id;
    const other = await open(`#/sessions/${own}`);
    await send(other, 'Going on');
    await reads(other, 'Fine.');
    await idle(other);
    same(stored(own).filter(([role]) => role === 'user').map(([, text]) => text), ['From the terminal', 'Going on']);
});

await test('all of it by keyboard', async () => {
    const page = await talked('Before', 'An answer.');
    await page.keyboard.press('Escape');
    await page.keyboard.press('c');
    await page.getByRole('heading', { name: 'New chat' }).waitFor();
    same(await composer(page).evaluate((node) => node === document.activeElement), true);
    const asked = model.next();
    await page.keyboard.type('line one');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('line two');
    await page.keyboard.press('Enter');
    const answer = await asked;
    must(answer.question.includes('line one\nline two'), answer.question);
    answer.say('going on');
    await page.locator('.live').getByText('going on').waitFor();
    await page.keyboard.press('Control+.');
    await reads(page, 'Stopped.');
    await page.keyboard.press('Escape');
    await page.keyboard.press('r');
    same(await composer(page).evaluate((node) => node === document.activeElement), true);
    await page.keyboard.press('Shift+Tab');
    same(await page.evaluate(() => document.activeElement.textContent), 'Retry');
});

const axe = async (page, what) => {
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    same(violations.map(({ id, nodes }) => `${what}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`), []);
};

for (const [width, height, scheme] of [[1440, 900, 'light'], [1440, 900, 'dark'], [390, 844, 'light']])
    await test(`axe finds nothing at ${width}, ${scheme}; nothing is wider than the page`, async () => {
        const page = await open();
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
        await axe(page, 'new');
        model.rule = remembers(`Seen at ${width} ${scheme}`);
        await send(page, 'Remember this, and show me a table and code');
        await page.locator('.remembered').waitFor();
        await idle(page);
        const asked = model.next();
        await send(page, 'And now something long');
        const answer = await asked;
        answer.say(`Here:\n\n| a | b |\n|---|---|\n| ${'x'.repeat(80)} | 2 |\n\n\`\`\`\n${'long '.repeat(60)}\n\`\`\`\n\nand`);
        await page.locator('.live table').waitFor();
        await axe(page, 'live');
        answer.end();
        await idle(page);
        await axe(page, 'over');
        same(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    });

await test('on a phone the list and the conversation take turns, and the composer stays in sight', async () => {
    const page = await talked('On the way', `${'Long answer.\n\n'.repeat(60)}The end.`, 'The end.');
    await page.setViewportSize({ width: 390, height: 844 });
    const seen = (locator) => locator.evaluate((node) => { const { top, bottom } = node.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; });
    same(await page.locator('.sessions-list').isVisible(), false);
    same(await seen(page.locator('.composer-box')), true);
    await press(page, 'All conversations');
    await page.locator('.sessions-list').waitFor();
    same(await composer(page).isVisible(), false);
    await page.locator('.session-row').getByText('On the way').click();
    await composer(page).waitFor();
    same(await seen(page.locator('.composer-box')), true);
    await press(page, 'New chat');
    await page.getByRole('heading', { name: 'New chat' }).waitFor();
    same(await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight), true);
});

await test('what comes is followed at the end, and not by who reads further up', async () => {
    const page = await talked('Long', `${'Line.\n\n'.repeat(80)}The end.`, 'The end.');
    const distance = () => page.evaluate(() => { const { scrollHeight, scrollTop, clientHeight } = document.scrollingElement; return scrollHeight - scrollTop - clientHeight; });
    const asked = model.next();
    await send(page, 'More');
    const answer = await asked;
    answer.say(`${'More lines.\n\n'.repeat(40)}Bottom`);
    await page.locator('.live').getByText('Bottom').waitFor();
    await page.waitForFunction(() => { const { scrollHeight, scrollTop, clientHeight } = document.scrollingElement; return scrollHeight - scrollTop - clientHeight <= 80; });
    await page.mouse.move(900, 400);
    await page.mouse.wheel(0, -1000);
    await page.waitForFunction(() => { const { scrollHeight, scrollTop, clientHeight } = document.scrollingElement; return scrollHeight - scrollTop - clientHeight > 500; });
    const top = await page.evaluate(() => scrollY);
    answer.say(`\n\n${'Even more.\n\n'.repeat(20)}Last`);
    await press(page, 'New text');
    await page.waitForFunction(() => { const { scrollHeight, scrollTop, clientHeight } = document.scrollingElement; return scrollHeight - scrollTop - clientHeight <= 80; });
    must(await page.evaluate(() => scrollY) > top, 'further down');
    answer.end();
    await idle(page);
    must(await distance() <= 80, String(await distance()));
});

await test('a window that nobody sees has no stream, and catches up when it is seen', async () => {
    const page = await talked('Seen', 'Yes.');
    const show = (hidden) => page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
    const isStream = (request) => request.url().includes('/sse/sessions/');
    await Promise.all([page.waitForEvent('requestfailed', isStream), show(true)]);
    const other = await open(`#/sessions/${idOf(page)}`);
    const asked = model.next();
    await send(other, 'Meanwhile');
    const answer = await asked;
    answer.say('On the way');
    await Promise.all([page.waitForRequest(isStream), show(false)]);
    await page.locator('.live').getByText('On the way').waitFor();
    answer.end();
    await idle(page);
    same(await said(page), ['Seen', 'Meanwhile']);
});

await test('an answer that ends while nobody looks is notified where that is allowed', async () => {
    const page = await talked('First', 'Yes.');
    await page.evaluate(() => {
        globalThis.notified = [];
        globalThis.Notification = class { static permission = 'granted'; constructor(title) { globalThis.notified.push(title); } };
    });
    const asked = model.next();
    await send(page, 'Second');
    const answer = await asked;
    answer.say('A moment');
    await page.locator('.live').getByText('A moment').waitFor();
    await page.evaluate(() => {
        Object.defineProperty(document, 'hidden', { value: true, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    });
    answer.end();
    await page.waitForFunction(() => globalThis.notified.length > 0);
    same(await page.evaluate(() => globalThis.notified), ['The answer is complete']);
});

// ---- the example of docs/chat-page.md -------------------------------------------------------------------

await test('a page on another origin talks to the agent, with a key for that origin', async () => {
    const pages = await serveFolder(join(tree, 'sdk/js'));
    const { key } = ethos(home, 'api-key', 'create', 'page', '--scope', 'chat:send', '--scope', 'sessions:read', '--origin', pages.origin, '--json');
    const guest = await browser.newContext();
    const page = await guest.newPage();
    await page.goto(`${pages.origin}/example/chat.html?server=${encodeURIComponent(server.origin)}#${key}`);
    const answers = page.locator('.answer');
    let given = model.next();
    await page.getByLabel('Message').fill('Deploys are on Friday. <b>Remember</b>');
    await page.getByRole('button', { name: 'Send' }).click();
    let answer = await given;
    given = model.next();
    answer.call('memory_write', { action: 'add', store: 'memory', content: 'Deploys are on Friday.' }).end();
    answer = await given;
    answer.say('Noted, <i>for</i> good');
    await answers.getByText('Noted, <i>for</i> good').waitFor();
    answer.say('.').end();
    await page.locator('.remembered').getByText('MEMORY.md').waitFor();
    must(ethos(home, 'memory', 'show', '--json').files.some(({ content }) => content?.includes('Deploys are on Friday.')), 'remembered');

    given = model.next();
    await page.getByLabel('Message').fill('When do we deploy?');
    await page.getByRole('button', { name: 'Send' }).click();
    answer = await given;
    must(answer.request.messages.some(({ content }) => content?.includes?.('<b>Remember</b>')), 'it is the same session');
    answer.say('On Fri');
    await answers.nth(1).getByText('On Fri').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await answer.closed;
    await page.locator('#state').getByText(/abort/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).isDisabled();
    await guest.close();
    pages.stop();
});

await test('the server has the same page for who is signed in', async () => {
    const page = await context.newPage();
    await page.goto(`${server.origin}/assets/sdk/example/chat.html`);
    await page.getByLabel('Message').fill('Who are you?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.answer').getByText('Fine.').waitFor();
    await axe(page, 'example');
});

await test('nothing went wrong unseen', () => same(trouble, []));

await browser.close();
await server.stop();
model.stop();
finish();

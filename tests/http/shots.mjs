// shots.mjs: every page and dialog of the dashboard as pictures, at each width and theme, to be looked at:
// `make shots`. They are SHOTS/<name>-<width>-<theme>.png. With ONLY=word, those whose name holds it.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { chromium } from 'playwright-core';

import { livedIn, manyNotes, overflow } from './lived.mjs';
import { startModel } from './model.mjs';
import { ethos, ethosIn, makeHome, serve } from './server.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(CHROMIUM)) {
    console.log(`there is no ${CHROMIUM}`);
    process.exit(0);
}

const out = process.env.SHOTS;
const wanted = (name) => name.includes(process.env.ONLY ?? '');
const list = (name, all) => (process.env[name] ? process.env[name].split(',') : all);
const WIDTHS = list('WIDTHS', ['1440', '1024', '390']), THEMES = list('THEMES', ['light', 'dark']);
const HEIGHT = { 1440: 900, 1024: 768, 390: 844 };

const { home, workspace, session, project } = livedIn();
overflow(home);
const many = wanted('notes-many') ? manyNotes(home) : '';

// ---- what is to be seen: name, address, what is done there --------------------------------------------

const press = (...keys) => async (page) => { for (const key of keys) await page.keyboard.press(key); };
const click = (selector) => (page) => page.locator(selector).first().click();
const both = (...acts) => async (page) => { for (const act of acts) { await act(page); await settled(page); } };
const w = `w=${workspace}`;

const VIEWS = [
    ['memory', '#/memory'],
    ['memory-workspace', `#/memory?${w}`],
    ['memory-end', `#/memory?${w}&tab=workspace`, end],
    ['memory-source', '#/memory?v=source'],
    ['memory-blame', '#/memory', press('j', 'j', 'j')],
    ['memory-search', '#/memory?q=osaka'],
    ['memory-cut', '#/memory?p=engineer&tab=memory'],
    ['memory-draft', '#/memory', both((page) => page.evaluate(() => localStorage.setItem('ethos.draft.personality:default/MEMORY.md', JSON.stringify({ text: 'x', base: 'y', time: Date.now() }))), (page) => page.reload())],
    ['editor', '#/memory?edit=memory', (page) => page.locator('textarea').press('Control+End')],
    ['merge', '#/memory?edit=memory', merge],
    ['notes', `#/notes?${w}`],
    ['note', `#/notes/deploying.md?${w}`],
    ['note-edit', `#/notes/deploying.md?${w}`, press('e')],
    ['notes-graph', `#/notes?view=graph&${w}`],
    ['notes-many', `#/notes?w=${many}`],
    ['notes-many-graph', `#/notes?view=graph&w=${many}`],
    ['timeline', '#/timeline'],
    ['timeline-change', '#/timeline', click('.change-line')],
    ['timeline-file', '#/timeline?key=MEMORY.md&scope=personality%3Adefault'],
    ['timeline-undo', '#/timeline', both(click('.change-line'), (page) => page.getByRole('button', { name: /^Undo/ }).first().click())],
    ['conflicts', '#/conflicts'],
    ['sessions', '#/sessions'],
    ['sessions-search', '#/sessions?q=lock'],
    ['transcript', `#/sessions/${session}`],
    ['transcript-delete', `#/sessions/${session}`, (page) => page.locator('.transcript-actions').getByRole('button', { name: 'Delete' }).click()],
    ['entries', '#/entries'],
    ['recall', '#/recall?q=How+do+we+deploy'],
    ['recall-parts', '#/recall?q=How+do+we+deploy', click('.recall-hit summary')],
    ['channels', '#/channels'],
    ['channels-setup', '#/channels', click('.channels-setup summary')],
    ['channels-lived', '#/channels', livedChannels],
    ['channels-person', '#/channels', both(livedChannels, (page) => page.getByRole('button', { name: 'Edit Jonas' }).click())],
    ['insights', '#/insights'],
    ['insights-end', `#/insights?${w}`, both(searchSome, end)],
    ['health', '#/health'],
    ['welcome', '#/welcome'],
    ['palette', '#/memory', press('Control+k')],
    ['palette-search', '#/memory', both(press('Control+k'), (page) => page.keyboard.type('undo'))],
    ['palette-form', '#/memory', both(press('Control+k'), (page) => page.keyboard.type('memory.blame'), press('Enter'))],
    ['help', '#/memory', press('?')],
    ['wrong', '#/notes/no-such-note.md'],
    ['nowhere', '#/no-such-page'],
];

// As after a week of use: what a gateway would have left in channels.db.
async function livedChannels(page) {
    const now = Date.now(), ago = (minutes) => new Date(now - minutes * 60e3).toISOString();
    const channel = (platform, title, state, more = {}) => ({ platform, title, state, since: ago(600), why: '', bot: '', messages: 0, setup: ['ethos config set …'], ...more });
    const person = (platform, sender, name, role, userId, local = false) => ({ platform, sender, name, role, since: ago(9000), userId, local });
    const message = (minutes, platform, name, role, state, answer, sender = name) => ({ platform, chat: sender, direct: true, sender, name, role, received: ago(minutes), state, ended: ago(minutes), answer });
    const answers = {
        'channel/status': { running: true, waiting: 0, sending: 0, channels: [
            channel('telegram', 'Telegram', 'up', { bot: '@halden_memory_bot', messages: 31 }), channel('email', 'Email', 'up', { bot: 'memory@halden.example', messages: 4 }),
            channel('slack', 'Slack', 'fatal', { bot: 'halden', messages: 12, why: 'Slack does not accept the token; put the one of the page OAuth & Permissions into SLACK_BOT_TOKEN of keys.yaml' }), channel('discord', 'Discord', 'off')],
        unsent: [{ id: 42, state: 'unknown', platform: 'telegram', chat: '1002', created: ago(31) }] },
        'channel/people': { people: [person('telegram', '1001', 'Ada', 'owner', 'u1', true), person('email', 'ada@halden.example', 'Ada', 'owner', 'u1', true), person('slack', 'T1:U7', 'Jonas', 'trusted', 'u2'), person('telegram', '1003', 'Amira', 'guest', 'u3')],
            waiting: [{ platform: 'telegram', sender: '1002', name: 'Jonas, @jonas_h', begins: 'K7QX', since: ago(4), until: ago(-56) }], nextCursor: null },
        'channel/messages': { messages: [message(3, 'telegram', 'Ada', 'owner', 'answered', 'sent', '1001'), message(18, 'telegram', 'Amira', 'guest', 'answered', 'sent'), message(34, 'email', 'Ada', 'owner', 'answered', 'unknown', 'ada@halden.example'), message(67, 'email', '', '', 'refused', null, 'x@y.example')] },
    };
    await page.route('**/rpc/channel/*', (route) => route.fulfill({ json: { json: answers[new URL(route.request().url()).pathname.slice(5)] } }));
    await page.reload();
    await page.getByText('Waiting to pair').waitFor();
}

async function end(page) {
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
}

async function searchSome(page) {
    await page.evaluate(async () => {
        const { call } = await import(document.querySelector('script[type=module]').src.replace('app.js', 'client.js'));
        for (const query of ['osaka', 'lock', 'deploy', 'retry', 'rooms', 'export']) await Promise.all(['memory.search', 'sessions.search'].map((name) => call(name, { query })));
    });
    await page.reload();
}

// Conversations with the agent: a home with a model, which says this.
const FACT = 'Refunds make a second Stripe call for the tax fields; shops without VAT do not need it.';
const ANSWER = 'Two things changed on **Monday**. The queue stops after `5 attempts`, and the sixth goes to the dead-letter queue.\n\n1. Median before: 0.8 s; since Monday: 2.1 s.\n2. The second call is not needed for shops without VAT.';
const WRITING = 'I will count them; listing changes nothing:\n\n```sh\npnpm dlq list --since 2026-11-16 --count\n```\n\n| queue | waiting |\n|---|---:|\n| refunds | 14 |\n\nOf these, most';
const field = (page) => page.getByRole('textbox', { name: 'Message', exact: true });
const say = async (page, text) => {
    await field(page).fill(text);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
};
const CHATS = [
    ['chat-new', '#/sessions/new'],
    ['chat', '#/sessions/new', talk],
    ['chat-live', '#/sessions/new', both(talk, async (page) => {
        model.rule = (answer) => answer.say(WRITING);
        await say(page, 'How many are in the dead-letter queue today?');
        await page.locator('.live').getByText('Of these').waitFor();
    })],
    ['chat-stopped', '#/sessions/new', both(talk, async (page) => {
        model.rule = (answer) => answer.say('One, two, three');
        await say(page, 'اكتب لي قصة طويلة، 短いのではなく長い物語を 🙂');
        await page.locator('.live').getByText('three').waitFor();
        await page.keyboard.press('Control+.');
        await page.getByText('Stopped.').waitFor();
    })],
    ['chat-edit', '#/sessions/new', both(talk, (page) => page.getByRole('button', { name: 'Edit and send in a copy of the conversation' }).first().click())],
    ['chat-failed', '#/sessions/new', async (page) => {
        model.rule = (answer) => answer.refuse(401, 'wrong key');
        await say(page, 'Are you there?');
        await page.locator('.chat-problem .notice').waitFor();
    }],
    ['chat-draft', '#/sessions/new', (page) => field(page).fill('A message of\nsome lines\n\nthat is not sent yet.')],
    ['chats', '#/sessions'],
];

async function talk(page) {
    model.rule = (answer) => (answer.afterTool ? answer.say(ANSWER).end() : answer.call('memory_write', { action: 'add', content: FACT }).end());
    await say(page, 'Why are refunds slow since Monday? Use what we know, and check the queue.');
    await page.locator('.remembered, .message-actions >> text=Retry').first().waitFor();
}

async function talkingHome(model) {
    const made = makeHome();
    for (const [name, value] of [['provider', 'openai-compat'], ['model', 'claude-opus-4-8'], ['baseUrl', model.url]]) ethos(made, 'config', 'set', name, value);
    ethos(made, 'personality', 'create', 'engineer');
    return made;
}

const EMPTY = ['', '#/memory', '#/notes', '#/timeline', '#/conflicts', '#/sessions', '#/insights', '#/health', '#/welcome'];

async function merge(page) {
    const area = page.locator('textarea');
    const text = await area.inputValue();
    await area.fill(text.replace('never on Fridays', 'and never in December').replace('# Working memory', '# Working memory of the team'));
    ethosIn(home, project, text.replace('never on Fridays', 'hardly ever on Fridays').replace('3. Write the test first', '3. Write the test first, then mend it'), 'memory', 'write');
    await page.waitForTimeout(800);
    await page.keyboard.press('Control+s');
    await page.getByRole('dialog').waitFor();
    ethosIn(home, project, text, 'memory', 'write');
}

// ---- the camera ---------------------------------------------------------------------------------------

// Nothing moves any more. (The stream of events never ends, so the network tells nothing.)
const settled = (page) => page.evaluate(() => new Promise((resolve) => {
    let timer;
    const wait = () => { clearTimeout(timer); timer = setTimeout(() => (document.querySelector('.busy')?.hidden === false ? wait() : resolve()), 300); };
    new MutationObserver(wait).observe(document, { childList: true, subtree: true });
    wait();
}));

// The server goes away while a page is open. The cookie is of the home: it lets in here, too.
async function shootOffline(context, width, theme) {
    const server = await serve(home);
    await shoot(context, server.origin, ['offline', '#/memory', async (page) => {
        await server.stop();
        await page.locator('.banner:not(:empty)').waitFor();
    }], width, theme);
}

async function shoot(context, origin, [name, hash, act], width, theme) {
    const page = await context.newPage();
    try {
        await page.setViewportSize({ width: Number(width), height: HEIGHT[width] ?? 900 });
        await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
        await page.goto(`${origin}/${hash}`);
        await page.locator('main .page').first().waitFor();
        await settled(page);
        await act?.(page);
        await settled(page);
        await page.screenshot({ path: join(out, `${name}-${width}-${theme}.png`) });
    } catch (error) {
        console.log(`${name}-${width}-${theme}: ${error.message.split('\n')[0]}`);
        process.exitCode = 1;
    }
    await page.keyboard.press('Control+.'); // an answer that is still written
    await page.evaluate(() => localStorage.clear()).catch(() => {});
    await page.close();
}

async function signedIn(browser, server) {
    const context = await browser.newContext();
    const page = await context.newPage();
    page.on('pageerror', (error) => console.log(error.message));
    await page.goto(server.loginUrl);
    await page.close();
    return context;
}

mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
const model = await startModel();
const full = await serve(home), bare = await serve(makeHome()), talking = await serve(await talkingHome(model));
const fullContext = await signedIn(browser, full), bareContext = await signedIn(browser, bare), talkingContext = await signedIn(browser, talking);
const stranger = await browser.newContext();
for (const width of WIDTHS)
    for (const theme of THEMES) {
        for (const view of VIEWS) if (wanted(view[0])) await shoot(fullContext, full.origin, view, width, theme);
        for (const view of CHATS) if (wanted(view[0])) await shoot(talkingContext, talking.origin, view, width, theme);
        if (wanted('offline')) await shootOffline(fullContext, width, theme);
        for (const hash of EMPTY) {
            const name = `empty-${hash.slice(2) || 'first'}`;
            if (wanted(name)) await shoot(bareContext, bare.origin, [name, hash], width, theme);
        }
    }
if (wanted('stranger')) {
    const page = await stranger.newPage();
    await page.goto(`${full.origin}/`);
    await page.screenshot({ path: join(out, 'stranger.png') });
}
await browser.close();
await full.stop();
await bare.stop();
await talking.stop();
model.stop();
console.log(`pictures in ${out}`);

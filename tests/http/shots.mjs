// shots.mjs: every page and dialog of the dashboard as pictures, at each width and theme, to be looked at:
// `make shots`. They are SHOTS/<name>-<width>-<theme>.png. With ONLY=word, those whose name holds it.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { chromium } from 'playwright-core';

import { livedIn, manyNotes, overflow } from './lived.mjs';
import { ethosIn, makeHome, serve } from './server.mjs';

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
const full = await serve(home), bare = await serve(makeHome());
const fullContext = await signedIn(browser, full), bareContext = await signedIn(browser, bare);
const stranger = await browser.newContext();
for (const width of WIDTHS)
    for (const theme of THEMES) {
        for (const view of VIEWS) if (wanted(view[0])) await shoot(fullContext, full.origin, view, width, theme);
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
console.log(`pictures in ${out}`);

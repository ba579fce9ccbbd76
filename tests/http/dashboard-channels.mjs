// dashboard-channels.mjs: the page Channels, while a gateway answers on a Telegram that is here, and mail where dovecot is: set up, who waits, people,
// what may not have arrived, errors with what to do; by keyboard, and read by axe.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { accessible, becomes, end, home, open, reads, run, same, test, until } from './dashboard.mjs';
import { Dovecot, Smtp, hasDovecot } from './mail_servers.mjs';
import { startModel } from './model.mjs';
import { bin } from './server.mjs';
import { must } from './tap.mjs';
import { startTelegram } from './telegram.mjs';

const ada = { id: 1001, first_name: 'Ada' }, jonas = { id: 1002, first_name: 'Jonas' };
const telegram = await startTelegram();
const model = await startModel();
model.rule = (answer) => answer.say(`You said: ${answer.question}`).end();

let child = null, log = '';
function startGateway() {
    child = spawn(join(bin, 'ethos'), ['gateway'], { env: { ...process.env, ETHOS_HOME: home }, stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.on('data', (data) => { log += data; });
    child.ended = new Promise((resolve) => child.once('exit', resolve));
}
const stopGateway = () => { child.kill('SIGTERM'); return child.ended; };
process.on('exit', () => child?.kill('SIGKILL'));
const setToken = (token) => writeFileSync(join(home, 'keys.yaml'), `TELEGRAM_BOT_TOKEN: ${token}\n`, { mode: 0o600 });

const main = (page) => page.locator('main');
const text = (page) => main(page).innerText();
// Tab until the control of that name has the focus.
async function tabTo(page, name) {
    const focused = () => page.evaluate(() => { const node = document.activeElement; return node.getAttribute('aria-label') ?? (node.closest('label')?.innerText || node.innerText || ''); });
    for (let i = 0; i < 80; i++) {
        if ((await focused()).split('\n')[0].trim() === name) return;
        await page.keyboard.press('Tab');
    }
    throw new Error(`${name} is not reached by Tab`);
}

await test('nothing is set up: each platform says how, by keyboard', async () => {
    const page = await open('#/memory');
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await reads(page, 'Set up a channel to begin');
    must((await text(page)).includes('Nobody is allowed yet.'), await text(page));
    await tabTo(page, 'Set up Telegram');
    await page.keyboard.press('Enter');
    await reads(page, 'ethos config set channels.telegram.enabled on');
    await accessible(page, 'not set up');
});

for (const [key, value] of Object.entries({ provider: 'openai-compat', model: 'm', baseUrl: model.url, 'channels.telegram.enabled': 'on', 'channels.telegram.apiRoot': telegram.url }))
    run('config', 'set', key, value);
setToken(telegram.token);

await test('a gateway that does not run, then one without an owner: what to do', async () => {
    const page = await open('#/channels');
    await reads(page, 'The gateway is not running');
    await page.getByRole('button', { name: 'Copy the command' }).first().waitFor();
    await accessible(page, 'no gateway');
    startGateway();
    await telegram.until(({ poll }) => poll, `a poll; ${log}`);
    await reads(page, 'There is no owner yet'); // by itself
    await reads(page, 'ethos_test_bot');
    await reads(page, 'Running');
    const code = run('gateway', 'owner', 'telegram', '-q').split('\n')[0];
    telegram.say(ada, code);
    await becomes(async () => (await text(page)).includes('There is no owner yet'), false);
    await reads(page, 'Owner');
    await reads(page, 'You');
});

await test('somebody who wrote waits with the beginning of the code; allowed by keyboard as trusted', async () => {
    const page = await open('#/channels');
    telegram.say(jonas, 'quince is my secret');
    await telegram.until(() => telegram.shown(jonas.id).length === 1, `a code; ${log}`);
    const code = /\b[A-Z2-9]{8}\b/.exec(telegram.shown(jonas.id)[0])[0];
    await reads(page, 'Jonas on Telegram');
    must((await text(page)).includes(`${code.slice(0, 4)}…`) && !(await text(page)).includes(code), await text(page));
    await accessible(page, 'somebody waits');
    await tabTo(page, 'As');
    await page.keyboard.press('ArrowDown');
    await tabTo(page, 'Allow Jonas');
    await page.keyboard.press('Enter');
    await telegram.until(() => telegram.shown(jonas.id).length === 2, `a welcome; ${log}`);
    await becomes(() => page.getByText('Waiting to pair').count(), 0);
    await reads(page, 'Trusted');
    same(run('gateway', 'people', '--json').people.map(({ role }) => role), ['owner', 'trusted']);
    must(!(await text(page)).includes('quince'), 'a text of a message');
});

await test('the last messages: who, where, what became of them, and no text', async () => {
    const page = await open('#/channels');
    telegram.say(jonas, 'heliotrope');
    await telegram.until(() => telegram.shown(jonas.id).includes('You said: heliotrope'), `an answer; ${log}`);
    await reads(page, 'Jonas, Telegram');
    await reads(page, 'Answered');
    await reads(page, 'Ignored'); // what Jonas wrote before he was let in
    must(!(await text(page)).includes('heliotrope'), 'a text of a message');
});

await test('what may not have arrived is sent again, by keyboard', async () => {
    const page = await open('#/channels');
    telegram.fault('sendMessage', 'lose', { when: ({ chat_id }) => chat_id === jonas.id });
    telegram.say(jonas, 'in doubt');
    await reads(page, 'may not have arrived');
    await reads(page, 'Not confirmed as sent', '.channels-messages');
    await accessible(page, 'in doubt');
    const [{ id }] = run('gateway', 'status', '--json').unsent;
    const before = telegram.shown(jonas.id).length;
    await tabTo(page, `Send again: message ${id}`);
    await page.keyboard.press('Enter');
    await telegram.until(() => telegram.shown(jonas.id).length > before, `the message; ${log}`);
    await becomes(() => page.getByText('may not have arrived').count(), 0);
});

await test('another role, and none any more; an owner has no such choice', async () => {
    const page = await open('#/channels');
    await tabTo(page, 'Edit Jonas');
    await page.keyboard.press('Enter');
    const box = page.getByRole('dialog');
    await box.waitFor();
    await accessible(page, 'the dialog');
    await box.getByRole('combobox').selectOption({ label: 'Guest' });
    await box.getByRole('button', { name: 'Save' }).press('Enter');
    await reads(page, 'Guest');
    await page.getByRole('button', { name: 'Edit Jonas' }).press('Enter');
    await box.getByRole('combobox').selectOption({ label: 'May not talk' });
    await box.getByRole('button', { name: 'Save' }).press('Enter');
    await becomes(() => page.getByRole('button', { name: 'Edit Jonas' }).count(), 0);
    same(await page.getByRole('button', { name: 'Edit You' }).count(), 0);
    same(run('gateway', 'people', '--json').people.map(({ role }) => role), ['owner']);
});

await test('ignored: waits no more, and hears nothing', async () => {
    const page = await open('#/channels');
    telegram.say({ id: 1003, first_name: 'Eve' }, 'hello');
    await reads(page, 'Eve on Telegram');
    await page.getByRole('button', { name: 'Ignore Eve' }).press('Enter');
    await becomes(() => page.getByText('Eve on Telegram').count(), 0);
    same(telegram.shown(1003).length, 1);
});

await test('a token that is refused: stopped, and what to do; well again with another one', async () => {
    const page = await open('#/channels');
    await reads(page, 'Running');
    await stopGateway();
    await reads(page, 'The gateway is not running');
    setToken('123456:WRONG');
    startGateway();
    await reads(page, 'Stopped');
    await reads(page, 'put the one that @BotFather shows into TELEGRAM_BOT_TOKEN');
    await accessible(page, 'stopped');
    setToken(telegram.token);
    await reads(page, 'Running');
});

// Beside Telegram: somebody who is vouched for waits, is let in and answered; a mail that may not have arrived; a password.
if (hasDovecot()) await test('mail, by keyboard: a wrong password, somebody who waits, an answer that may not have arrived', async () => {
    const dovecot = await new Dovecot().start(), smtp = await new Smtp().start();
    const setPassword = (word) => writeFileSync(join(home, 'keys.yaml'), `TELEGRAM_BOT_TOKEN: ${telegram.token}\nEMAIL_PASSWORD: ${word}\n`, { mode: 0o600 });
    const mails = () => smtp.mails.filter((mail) => mail.to === 'bob@example.org').length;
    let number = 0;
    const write = (words) => dovecot.deliver(`Authentication-Results: mx.home.example; dmarc=pass\nFrom: Bob <bob@example.org>\nSubject: ${words}\nMessage-ID: <d${++number}@example.org>\nDate: ${new Date().toUTCString()}\n\n${words}\n`);
    for (const [key, value] of Object.entries({ enabled: 'on', imap: `imap://127.0.0.1:${dovecot.port}`, smtp: smtp.url, user: 'ethos', from: 'ethos@home.example', authserv: 'mx.home.example' })) run('config', 'set', `channels.email.${key}`, value);
    await stopGateway();
    setPassword('wrong');
    startGateway();
    const page = await open('#/channels');
    await reads(page, 'EMAIL_PASSWORD');
    await accessible(page, 'a password that is refused');
    setPassword('secret');
    await until(() => log.includes('email: connected'), 'a connection');
    await becomes(async () => (await text(page)).includes('EMAIL_PASSWORD'), false);
    write('quince');
    await reads(page, 'Bob on Email');
    await tabTo(page, 'Allow Bob');
    await page.keyboard.press('Enter');
    await until(() => mails() === 2, 'a code and a welcome');
    smtp.act = 'lose';
    write('heliotrope');
    await reads(page, 'may not have arrived');
    must(!/quince|heliotrope/.test(await text(page)), 'a text of a mail');
    await accessible(page, 'mail');
    const [{ id }] = run('gateway', 'status', '--json').unsent;
    await tabTo(page, `Send again: message ${id}`);
    await page.keyboard.press('Enter');
    await until(() => mails() === 4, 'the mail again');
    await becomes(() => page.getByText('may not have arrived').count(), 0);
    await stopGateway();
    run('config', 'set', 'channels.email.enabled', 'off');
    startGateway();
    await dovecot.stop();
    smtp.server.close();
});

await test('on a phone: everything within its width', async () => {
    const page = await open('#/channels');
    await page.setViewportSize({ width: 390, height: 844 });
    telegram.say({ id: 1004, first_name: 'Somebody with a name that is rather long' }, 'hello');
    await reads(page, 'Waiting to pair');
    await until(async () => await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits');
    await accessible(page, 'phone');
});

await stopGateway();
await telegram.stop();
model.stop();
await end();

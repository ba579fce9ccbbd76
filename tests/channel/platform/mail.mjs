// mail.mjs: the gateway as somebody who reads mail at dovecot, a real IMAP server, and sends it through a server that
// keeps what it gets. Without dovecot everything is skipped.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Fixture, ada, obey, sleep } from './fixture.mjs';
import { Dovecot, Smtp, hasDovecot } from './mail_servers.mjs';
import { startModel } from './model.mjs';
import { finish, must, test } from './tap.mjs';
import { startTelegram } from './telegram.mjs';

if (!hasDovecot()) {
    console.log('1..1\nok 1 - mail # SKIP dovecot is not installed, or this is not root');
    process.exit();
}
const OWN = 'ethos@home.example', AUTHSERV = 'mx.home.example';

const until = async (holds, what, tenths = 300) => {
    for (let i = 0; i < tenths; i++) { if (holds()) return; await sleep(100); }
    throw new Error(`${what} did not happen; ${fixture.log}`);
};

// ---- a gateway ---------------------------------------------------------------------------------

const dovecot = await new Dovecot().start();
const smtp = await new Smtp().start();
const telegram = await startTelegram();
const fixture = new Fixture(telegram, await startModel());
fixture.model.rule = obey;
fixture.configure({
    'channels.email.enabled': 'on', 'channels.email.imap': `imap://127.0.0.1:${dovecot.port}`, 'channels.email.smtp': smtp.url,
    'channels.email.user': 'ethos', 'channels.email.from': OWN, 'channels.email.authserv': AUTHSERV,
}, '');
writeFileSync(join(fixture.home, 'keys.yaml'), `EMAIL_PASSWORD: secret\nTELEGRAM_BOT_TOKEN: ${telegram.token}\n`, { mode: 0o600 });

let number = 0;
const write = (from, text, more = {}) => {
    const id = more.id ?? `m${++number}@example.org`;
    const vouched = more.vouched ?? `Authentication-Results: ${AUTHSERV}; dmarc=pass header.from=${from.split('@')[1]}\n`;
    dovecot.deliver(`${vouched}From: Somebody <${from}>\nTo: ${OWN}\nSubject: ${more.subject ?? 'Hello'}\nMessage-ID: <${id}>\n${more.head ?? ''}Date: ${new Date().toUTCString()}\n${more.body ?? `\n${text}\n`}`);
    return id;
};
const answers = (address) => smtp.mails.filter((one) => one.to === address).map(({ mail }) => mail);
const said = (mail) => mail.split('\r\n\r\n').slice(1).join('\n').replace(/=\r\n/g, '').trim();
const waitFor = async (address, count) => { await until(() => answers(address).length >= count, `mail ${count} to ${address}`); return answers(address).at(-1); };

write('old@example.org', 'from before');
fixture.start();
await until(() => fixture.log.includes('email: connected'), 'a connection');

await test('mails from before are left alone; the owner is accepted', async () => {
    const code = fixture.ethos('gateway', 'owner', 'email', '-q').split('\n')[0];
    write('ada@example.org', code);
    must(said(await waitFor('ada@example.org', 1)).includes('You are now the owner'), answers('ada@example.org')[0]);
    must(answers('old@example.org').length === 0, 'an old mail was answered');
});

await test('an answer is a reply: thread, subject, marked as written by a program; memory is the same', async () => {
    const id = write('ada@example.org', 'remember the cat is called Miso', { subject: 'Grüße' });
    const mail = await waitFor('ada@example.org', 2);
    must(said(mail) === 'Noted.', mail);
    must(fixture.ethos('memory', 'show').includes('Miso'), 'memory');
    must(fixture.lastPrompt().includes('Subject: Grüße'), fixture.lastPrompt());
    must(mail.includes(`In-Reply-To: <${id}>`) && mail.includes('Auto-Submitted: auto-replied') && /^Message-Id: </mi.test(mail), mail);
    must(/^Subject: Re: (Grüße|=\?)/m.test(mail), mail);
    must(!/[^\r]\n/.test(mail), 'a bare line feed');
});

await test('a thread is a conversation', async () => {
    const root = write('ada@example.org', 'the word is quince', { subject: 'Words' });
    await waitFor('ada@example.org', 3);
    write('ada@example.org', 'which word?', { subject: 'Re: Words', head: `References: <${root}>\nIn-Reply-To: <${root}>\n` });
    await waitFor('ada@example.org', 4);
    must(fixture.lastPrompt().includes('quince'), fixture.lastPrompt());
    write('ada@example.org', 'which word?', { subject: 'Other' });
    await waitFor('ada@example.org', 5);
    must(!fixture.lastPrompt().includes('quince'), 'another thread');
});

await test('nobody is answered who is not vouched for, and no program', async () => {
    const asked = fixture.model.requests.length, sent = smtp.mails.length;
    write('ada@example.org', 'forged', { vouched: '' });
    write('ada@example.org', 'forged', { vouched: 'Authentication-Results: evil.example; dmarc=pass\n' });
    write('ada@example.org', 'forged', { vouched: `Authentication-Results: ${AUTHSERV}; dmarc=fail\nAuthentication-Results: ${AUTHSERV}; dmarc=pass\n` });
    for (const head of ['Auto-Submitted: auto-replied\n', 'Precedence: bulk\n', 'List-Id: <x>\n', 'X-Auto-Response-Suppress: All\n', 'Return-Path: <>\n']) write('ada@example.org', 'I am away', { head });
    write('mailer-daemon@example.org', 'undelivered');
    write('ada@example.org', 'x', { body: `From: eve@evil.example\n\ntwo senders\n` });
    write('ada@example.org', 'last', { subject: 'Last' });
    await until(() => fixture.model.requests.length > asked, 'the last');
    await until(() => smtp.mails.length > sent, 'its answer');
    await sleep(500);
    must(fixture.model.requests.length === asked + 1 && smtp.mails.length === sent + 1, `${fixture.model.requests.length - asked} were asked`);
});

await test('mails that want to be more than mails are read as text, or skipped when they are too large; the next one is answered', async () => {
    const before = answers('ada@example.org').length, asked = fixture.model.requests.length;
    const part = (type, body, more = '') => `--b\nContent-Type: ${type}\n${more}\n${body}\n`;
    const mixed = (...parts) => `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n${parts.join('')}--b--\n`;
    const lines = (bytes) => `${'QUJD'.repeat(18)}\n`.repeat(Math.ceil(bytes / 73));
    const file = (bytes) => part('application/octet-stream', lines(bytes), 'Content-Disposition: attachment; filename="../../etc/passwd"\nContent-Transfer-Encoding: base64\n');
    write('ada@example.org', '', { subject: 'names', body: mixed(part('text/plain; charset=x-nobody-knows', 'a file called nothing'), file(1000)) });
    await waitFor('ada@example.org', before + 1);
    must(fixture.lastPrompt().includes('a file called nothing') && !fixture.lastPrompt().includes('passwd'), fixture.lastPrompt());
    write('ada@example.org', '', { subject: 'large', body: mixed(part('text/plain', 'almost too large'), file(23e6)) });
    await waitFor('ada@example.org', before + 2);
    must(fixture.lastPrompt().includes('almost too large'), 'a mail of 24 MB');
    write('ada@example.org', '', { subject: 'too large', body: mixed(part('text/plain', 'too large by far'), file(26e6)) });
    write('ada@example.org', 'and after it', { subject: 'after' });
    await waitFor('ada@example.org', before + 3);
    must(fixture.lastPrompt().includes('and after it') && fixture.model.requests.length === asked + 3, 'the next one');
});

await test('somebody unknown gets one line with a code, when vouched for', async () => {
    write('bob@example.org', 'hello');
    const mail = await waitFor('bob@example.org', 1);
    const code = /\b[A-Z2-9]{8}\b/.exec(said(mail))[0];
    fixture.ethos('gateway', 'allow', code);
    await waitFor('bob@example.org', 2);
    write('bob@example.org', 'what is the cat called?');
    await waitFor('bob@example.org', 3);
    must(!fixture.lastPrompt().includes('Miso'), 'memory for a guest');
});

await test('nobody is let in by mail', async () => {
    write('dora@example.org', 'hello');
    const code = /\b[A-Z2-9]{8}\b/.exec(said(await waitFor('dora@example.org', 1)))[0];
    const before = answers('ada@example.org').length;
    write('ada@example.org', `/pair ${code} trusted`, { subject: 'pairing' });
    must(said(await waitFor('ada@example.org', before + 1)).startsWith('This does not work by mail'), answers('ada@example.org').at(-1));
    must(!fixture.ethos('gateway', 'people', '--json').people.some(({ sender }) => sender.includes('dora')), 'she was let in');
});

await test('a server that restarts, one whose UIDs are new, the same mail twice: one answer each', async () => {
    await dovecot.stop();
    write('bob@example.org', 'while it was away', { id: 'away@example.org' });
    await dovecot.start();
    await waitFor('bob@example.org', 4);
    await dovecot.stop();
    dovecot.forgetUids();
    await dovecot.start();
    write('bob@example.org', 'new uids', { subject: 'again' });
    await waitFor('bob@example.org', 5);
    write('bob@example.org', 'while it was away', { id: 'away@example.org' });
    await sleep(3000);
    must(answers('bob@example.org').length === 5, answers('bob@example.org').map(said).join('\n'));
});

await test('a send without an answer is in doubt and not repeated; resend sends the same mail', async () => {
    smtp.act = 'lose';
    write('cleo@example.org', 'x', { subject: 'none' }); // a stranger's line is lost
    await until(() => fixture.ethos('gateway', 'status', '--json').unsent.length === 1, 'doubt');
    const [{ id }] = fixture.ethos('gateway', 'status', '--json').unsent;
    await sleep(1500);
    must(answers('cleo@example.org').length === 1, 'repeated');
    fixture.ethos('gateway', 'resend', String(id));
    await waitFor('cleo@example.org', 2);
    const ids = answers('cleo@example.org').map((mail) => /^Message-Id: (.*)$/mi.exec(mail)[1]);
    must(ids[0] === ids[1], ids.join());
});

await test('one person by mail and on Telegram has one USER.md', async () => {
    await fixture.own(ada);
    fixture.model.rule = (answer) => (answer.afterTool || !answer.question.includes('profile ') ? answer.say('Noted.').end() : answer.call('memory_write', { action: 'add', store: 'user', content: answer.question.split('profile ')[1] }).end());
    const before = answers('ada@example.org').length;
    await fixture.ask(ada, 'profile from Telegram');
    write('ada@example.org', 'profile from mail');
    await waitFor('ada@example.org', before + 1);
    const { localUserId } = fixture.ethos('users', 'list', '--json');
    const profile = fixture.read('users', localUserId, 'USER.md');
    must(profile.includes('from Telegram') && profile.includes('from mail'), profile);
    await fixture.ask(ada, 'hello');
    must(fixture.lastPrompt().includes('from mail'), fixture.lastPrompt());
});

await test('a server without IDLE is looked at again and again', async () => {
    await dovecot.stop();
    dovecot.extra = 'imap_capability = IMAP4rev1 SASL-IR';
    await dovecot.start();
    const before = answers('bob@example.org').length;
    write('bob@example.org', 'without IDLE');
    await until(() => answers('bob@example.org').length > before, 'an answer');
    write('bob@example.org', 'after a minute at most', { subject: 'later' });
    await until(() => answers('bob@example.org').length > before + 1, 'another', 700);
});

await test('no password, no text in the log', async () => {
    for (const word of ['secret', 'quince', 'Miso', 'I am away']) must(!fixture.log.includes(word), word);
});

must((await fixture.stop()).code === 0, fixture.log);
await dovecot.stop();
rmSync(dovecot.dir, { recursive: true, force: true });
await telegram.stop();
fixture.model.stop();
finish();
process.exit();

// mail-kills.mjs: the gateway killed (SIGKILL) at random moments while it reads mail at dovecot and answers through
// OpenSMTPD: every mail is answered once or marked, none is lost, memory is written once. 60 rounds with --long.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Fixture, sleep } from './fixture.mjs';
import { Dovecot, OpenSmtpd, hasDovecot, hasOpenSmtpd } from './mail_servers.mjs';
import { startModel } from './model.mjs';
import { finish, must, test } from './tap.mjs';

if (!hasDovecot() || !hasOpenSmtpd()) {
    console.log('1..1\nok 1 - mail-kills # SKIP dovecot and OpenSMTPD are not installed, or this is not root');
    process.exit();
}
const ROUNDS = Number(process.env.ROUNDS ?? (process.env.CHECK_LONG ? 60 : 15));
const PEOPLE = 6, MOST = 28; // of one person in an hour
const AUTHSERV = 'mx.home.example';
const dovecot = await new Dovecot().start();
const smtp = await new OpenSmtpd().start();
const fixture = new Fixture({ token: '', url: '', stop() {} }, await startModel());
fixture.configure({
    'channels.telegram.enabled': 'off', 'channels.telegram.apiRoot': 'http://127.0.0.1:1', 'channels.email.enabled': 'on',
    'channels.email.imap': `imap://127.0.0.1:${dovecot.port}`, 'channels.email.smtp': smtp.url,
    'channels.email.user': 'ethos', 'channels.email.from': 'ethos@home.example', 'channels.email.authserv': AUTHSERV,
}, '');
writeFileSync(join(fixture.home, 'keys.yaml'), 'EMAIL_PASSWORD: secret\n', { mode: 0o600 });
const factOf = (text) => /fact-\d+-end/.exec(text)?.[0];
fixture.model.rule = (answer) => {
    const fact = factOf(answer.question) ?? 'none';
    if (answer.afterTool) answer.say(`Noted ${fact}.`).end();
    else answer.call('memory_write', { action: 'add', content: fact }, `call-${fact}`).end();
};

const until = async (holds, what, tenths = 400) => {
    for (let i = 0; i < tenths; i++) { if (holds()) return; await sleep(100); }
    throw new Error(`${what} did not happen; ${fixture.log}`);
};
let number = 0;
const write = (from, text) => dovecot.deliver(`Authentication-Results: ${AUTHSERV}; dmarc=pass\nFrom: <${from}>\nSubject: ${text}\nMessage-ID: <k${++number}@example.org>\nDate: ${new Date().toUTCString()}\n\n${text}\n`);
const to = (address) => smtp.mails.filter((one) => one.to === address).map(({ mail }) => mail);
const idle = () => { const status = fixture.ethos('gateway', 'status', '--json'); return status.waiting === 0 && status.sending === 0; };

fixture.start();
await until(() => fixture.log.includes('email: connected'), 'a connection');
const people = Array.from({ length: PEOPLE }, (_, i) => ({ address: `p${i}@example.org`, sent: [] }));
for (const { address } of people) {
    write(address, 'hello');
    await until(() => to(address).length === 1, `a code for ${address}`);
    fixture.ethos('gateway', 'allow', /\b[A-Z2-9]{8}\b/.exec(to(address)[0].split(/\r?\n\r?\n/)[1])[0], '--role', 'trusted');
    await until(() => to(address).length === 2, 'a welcome');
}

await test(`killed at ${ROUNDS} random moments: every mail is answered once or marked, memory written once`, async () => {
    let fact = 0;
    for (let round = 0; round < ROUNDS; round++) {
        for (const person of [people[round % PEOPLE], people[(round + 1) % PEOPLE]]) {
            if (person.sent.length >= MOST) continue;
            const text = `fact-${fact++}-end`;
            write(person.address, text);
            person.sent.push(text);
        }
        await sleep(Math.random() * 2500);
        await fixture.stop('SIGKILL');
        fixture.start();
    }
    await sleep(3000);
    await until(idle, 'rest', 900);
    await sleep(1500); // until the last is delivered
    const { unsent } = fixture.ethos('gateway', 'status', '--json');
    const memory = fixture.read('personalities', 'default', 'MEMORY.md').split('\n');
    const problems = [];
    let missing = 0;
    for (const { address, sent } of people) {
        const mails = to(address);
        for (const text of sent) {
            const count = mails.filter((mail) => mail.includes(`Noted ${text}.`)).length;
            const marked = unsent.filter((row) => row.chat === address).length;
            if (count > 1 || (count === 0 && marked === 0)) problems.push(`${text}: ${count} answers`);
            missing += count === 0;
            if (memory.filter((line) => line === text).length !== 1) problems.push(`${text}: remembered ${memory.filter((line) => line === text).length} times`);
        }
    }
    must(problems.length === 0, `${problems.join('; ')} ${fixture.log.slice(-1500)}`);
    must(missing <= unsent.length, `${missing} are missing, ${unsent.length} marked`);
    console.log(`# ${fact} mails, ${unsent.length} marked, of which ${missing} had not arrived`);
});

await fixture.stop('SIGKILL');
await dovecot.stop();
await smtp.stop();
rmSync(dovecot.dir, { recursive: true, force: true });
fixture.model.stop();
finish();
process.exit();

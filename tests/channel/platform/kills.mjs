// kills.mjs: the gateway killed (SIGKILL) at random moments, and at each row of the table of crashes: every message is
// answered once or marked, none is lost, memory is written once. With --long the random part has 60 rounds.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { ada, cleo, makeFixture, sleep } from './fixture.mjs';
import { finish, must, test } from './tap.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? (process.env.CHECK_LONG ? 60 : 20));
const dan = { id: 1004, first_name: 'Dan' };
const people = [ada, cleo, dan];

const fixture = await makeFixture();
const { telegram } = fixture;
// Remembers every fact, and takes its time for some.
fixture.model.rule = async (answer) => {
    const { question } = answer;
    if (!answer.afterTool) return void answer.call('memory_write', { action: 'add', content: question }, `call-${question}`).end();
    if (/[05]$/.test(question)) {
        answer.say('Noted');
        await Promise.race([sleep(1800), answer.closed]);
        answer.say(` ${question}.`).end();
    } else {
        answer.say(`Noted ${question}.`).end();
    }
};
fixture.start();
await fixture.connected();
await fixture.own(ada);
await fixture.allow(cleo, 'trusted');
await fixture.allow(dan, 'trusted');

const shown = (chat, text) => telegram.shown(chat).filter((one) => one === text).length;
const marked = () => fixture.ethos('gateway', 'status', '--json').unsent;
const kill = async () => { await fixture.stop('SIGKILL'); };
const restart = async (env) => { fixture.start(env); if (!env) await fixture.connected(); };
// "fact-7": its answer is there, or it is marked that nobody knows.
const told = () => telegram.shown(ada.id).filter((text) => text.includes('may not have arrived')).length;
const remembered = (fact) => fixture.ethos('memory', 'show').split('\n').filter((line) => line.trim() === fact).length;
const idle = () => { const status = fixture.ethos('gateway', 'status', '--json'); return status.waiting === 0 && status.sending === 0; };

let number = 0;
const sent = []; // {chat, fact}
const say = (person) => { const fact = `fact-${number++}`; telegram.say(person, fact); sent.push({ chat: person.id, fact }); return fact; };
const open = (person) => sent.filter(({ chat, fact }) => chat === person.id && !shown(chat, `Noted ${fact}.`)).length;

await test(`killed at ${ROUNDS} random moments: every message is answered once or marked, memory written once`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
        for (const person of people) if (open(person) < 4) say(person);
        // from the start of the program to a little after a whole turn
        await sleep(Math.random() * 3500);
        await kill();
        fixture.start();
    }
    await fixture.connected();
    await telegram.until(idle, `rest; ${fixture.log}`, 60000);
    const unknown = marked();
    const missing = sent.filter(({ chat, fact }) => shown(chat, `Noted ${fact}.`) === 0);
    const twice = sent.filter(({ chat, fact }) => shown(chat, `Noted ${fact}.`) > 1);
    const wrong = sent.filter(({ fact }) => remembered(fact) !== 1);
    must(twice.length === 0, `answered twice: ${JSON.stringify(twice)}`);
    must(wrong.length === 0, `not remembered once: ${wrong.map(({ fact }) => `${fact}: ${remembered(fact)} times`)}`);
    for (const { chat } of missing) must(unknown.some((row) => row.chat === String(chat)), `lost: ${JSON.stringify(missing)} ${JSON.stringify(unknown)}`);
    must(missing.length <= unknown.length, `lost: ${JSON.stringify(missing)}`);
    console.log(`# ${sent.length} messages, ${unknown.length} marked, of which ${missing.length} had not arrived`);
});

// Points at which a build with hooks kills itself; where the message is marked, resend sends it.
for (const [point, what, isMarked] of [
    ['received', 'received, not recorded'],
    ['recorded', 'recorded, not acknowledged'],
    ['running', 'in the queue, its turn not begun'],
    ['outcome', 'the answer recorded in the conversation, not in the outbox'],
    ['answered', 'the answer in the outbox'],
    ['sending', 'about to be sent', true],
    ['sent', 'sent, which is not recorded', true],
    ['shown', 'sent, and recorded'],
])
    await test(`killed at: ${what}`, async () => {
        const before = told();
        await kill();
        const fact = `at-${point}`;
        await restart({ ETHOS_GATEWAY_KILL: point });
        telegram.say(dan, fact);
        const { signal } = await fixture.ended;
        must(signal === 'SIGKILL', `it was not killed: ${fixture.log}`);
        await restart();
        await telegram.until(idle, `rest; ${fixture.log}`);
        if (isMarked) {
            await telegram.until(() => told() === before + 1, 'a line for the owner');
            if (point === 'sending') fixture.ethos('gateway', 'resend', String(marked().at(-1).id));
        } else {
            must(told() === before, 'marked');
        }
        await telegram.until(() => shown(dan.id, `Noted ${fact}.`) === 1, `one answer; ${telegram.shown(dan.id)}`);
        await sleep(1200);
        must(shown(dan.id, `Noted ${fact}.`) === 1, 'a second answer');
        must(remembered(fact) === 1, `remembered ${remembered(fact)} times`);
    });

// Kills from outside, when the model or Telegram is asked.
async function killedAt(what, fact, arm, check) {
    await test(`killed at: ${what}`, async () => {
        const before = telegram.shown(dan.id).length;
        const killed = arm(async () => { fixture.child.kill('SIGKILL'); });
        telegram.say(dan, fact);
        await fixture.ended;
        killed?.();
        await restart();
        await telegram.until(idle, `rest; ${fixture.log}`);
        await check(telegram.shown(dan.id).slice(before));
        must(remembered(fact) <= 1, `remembered ${remembered(fact)} times`);
    });
}
const once = (fact) => async () => { await telegram.until(() => shown(dan.id, `Noted ${fact}.`) === 1, `one answer; ${telegram.shown(dan.id)}`); };

const { rule } = fixture.model;
await killedAt('the message in the conversation, the model asked', 'at-asking', (die) => {
    fixture.model.next().then(die);
}, once('at-asking'));
await killedAt('a tool called, its result recorded', 'at-tool', (die) => {
    fixture.model.rule = (answer) => (answer.afterTool ? die() : rule(answer));
    return () => { fixture.model.rule = rule; };
}, once('at-tool'));
await killedAt('a preview sent, its id lost', 'at-preview', (die) => {
    fixture.model.rule = (answer) => (answer.afterTool ? answer.say('Noted') : rule(answer));
    telegram.fault('sendMessage', () => { die(); return 'lose'; }, { when: ({ text }) => text.includes('…') });
    return () => { fixture.model.rule = rule; };
}, async (texts) => { await once('at-preview')(); must(texts.filter((text) => text.includes('…')).length === 1, `one stub: ${texts}`); });
await killedAt('a preview shown, its id recorded', 'at-live', (die) => {
    fixture.model.rule = async (answer) => { if (!answer.afterTool) return rule(answer); answer.say('Noted'); await sleep(2500); answer.say(' something'); await sleep(600); };
    telegram.fault('editMessageText', () => { die(); return 'cut'; }, { when: ({ text }) => text.includes('…') });
    return () => { fixture.model.rule = rule; };
}, async (texts) => { await once('at-live')(); must(!texts.some((text) => text.includes('…')), `edited: ${texts}`); });
await killedAt('two parts of three sent', 'at-parts', (die) => {
    const text = Array.from({ length: 3 }, (_, i) => `Part ${i} ${'word '.repeat(700)}`).join('\n\n');
    fixture.model.rule = (answer) => (answer.afterTool ? answer.say(text).end() : rule(answer));
    telegram.fault('editMessageText', (args) => undefined, { times: 0 });
    const waiting = telegram.until(() => telegram.shown(dan.id).some((shownText) => shownText.startsWith('Part 1')), 'two parts').then(() => sleep(300)).then(die);
    return () => { void waiting; fixture.model.rule = rule; };
}, async (texts) => { for (const part of ['Part 0', 'Part 1', 'Part 2']) must(texts.filter((text) => text.startsWith(part)).length === 1, `${part}: ${texts.map((text) => text.slice(0, 20))}`); });

await test('the home is whole', async () => {
    const report = fixture.ethos('doctor', '--json');
    must(!JSON.stringify(report).includes('refuse'), JSON.stringify(report));
    must(readdirSync(join(fixture.home)).includes('channels.db'), 'channels.db');
});
await fixture.end();
finish();
process.exit();

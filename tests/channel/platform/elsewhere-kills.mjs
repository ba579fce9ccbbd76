// elsewhere-kills.mjs: the gateway on Slack and Discord at once, killed (SIGKILL) at random moments under load: every message
// is answered once or marked, none is lost, memory is written once. Then the machine sleeps. 60 rounds with --long.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { startDiscord } from './discord.mjs';
import { makeElsewhere } from './elsewhere.mjs';
import { sleep } from './fixture.mjs';
import { startSlack } from './slack.mjs';
import { finish, must, test } from './tap.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? (process.env.CHECK_LONG ? 60 : 15));
const slack = await startSlack(), discord = await startDiscord();
slack.ackMs = 1500;
slack.retryMs = [0, 700, 1500];
const fixture = await makeElsewhere({ slack, discord });
const slept = join(fixture.home, '..', 'slept');
writeFileSync(slept, '0');
const env = { ETHOS_GATEWAY_SLEPT: slept };
const users = ['1', '2', '3'];
const chats = [...users.map((id) => ({ platform: slack, name: 'slack', user: `U${id}` })), ...users.map((id) => ({ platform: discord, name: 'discord', user: id }))];
for (const chat of chats) chat.id = chat.platform.direct(chat.user);

fixture.start(env);
await fixture.state('slack', 'up');
await fixture.state('discord', 'up');
await fixture.ownOn('slack', slack, 'U1');
for (const { name, platform, user } of chats.slice(1)) void name, await fixture.allowOn(platform, user, 'trusted');

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

let number = 0;
const sent = []; // {chat, fact}
const answers = ({ platform, id }, fact) => platform.shown(id).filter((text) => text === `Noted ${fact}.`).length;
const open = (chat) => sent.filter((one) => one.chat === chat && answers(chat, one.fact) === 0).length;
const say = (chat) => { const fact = `fact-${number++}`; chat.platform.say(chat.user, fact); sent.push({ chat, fact }); return fact; };

await test(`killed at ${ROUNDS} random moments: every message is answered once or marked, memory written once`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
        for (const chat of chats) if (open(chat) < 3) say(chat);
        // from the start of the program to a little after a whole turn; of Slack's sockets one is refreshed now and then
        await sleep(Math.random() * 4500);
        if (round % 4 === 3) slack.refresh();
        await fixture.stop('SIGKILL');
        fixture.start(env);
    }
    await fixture.state('slack', 'up');
    await fixture.state('discord', 'up');
    await slack.until(() => slack.unacked.length === 0, 'acknowledged', 60000);
    const wait = Date.now() + 240000;
    const missing = () => sent.filter(({ chat, fact }) => answers(chat, fact) === 0);
    for (;;) {
        await fixture.rest();
        if (missing().length <= fixture.status().unsent.length || Date.now() > wait) break;
        await sleep(1000);
    }
    const { unsent } = fixture.status();
    const memory = fixture.ethos('memory', 'show').split('\n').map((line) => line.trim());
    const twice = sent.filter(({ chat, fact }) => answers(chat, fact) > 1);
    const wrong = sent.filter(({ fact }) => memory.filter((line) => line === fact).length !== 1);
    const name = ({ chat, fact }) => `${fact} in ${chat.id}`;
    must(twice.length === 0, `answered twice: ${twice.map(name)}`);
    must(wrong.length === 0, `not remembered once: ${wrong.map(name)}; ${fixture.log.slice(-3000)}`);
    for (const one of missing()) must(unsent.some(({ chat }) => chat === one.chat.id), `lost: ${missing().map(name)} ${JSON.stringify(unsent)} ${fixture.log.slice(-3000)}`);
    must(missing().length <= unsent.length, `lost: ${missing().map(name)}`);
    must(slack.wrongAcks.length === 0, slack.wrongAcks.join());
    console.log(`# ${sent.length} messages, ${unsent.length} marked, of which ${missing().length} had not arrived; ${discord.identifies.length} sessions and ${discord.resumes} resumes of Discord`);
});

await test('the machine sleeps: what was connected is dead without a word, and is opened anew at once', async () => {
    const before = [...slack.sockets, ...discord.sockets];
    for (const socket of before) { socket.deaf = true; socket.ws.pause(); }
    if (discord.live[0]) discord.live[0].session.socket = undefined; // nothing comes there any more
    const chat = chats[0], other = chats[3];
    const facts = [say(chat), say(other)];
    writeFileSync(slept, '600000');
    await slack.until(() => [...slack.sockets].some((socket) => !before.includes(socket)), () => `another socket; ${fixture.log.slice(-1500)}`, 20000);
    await discord.until(() => discord.live.some((socket) => !before.includes(socket)), () => `another session; ${fixture.log.slice(-1500)}`, 20000);
    await slack.until(() => answers(chat, facts[0]) === 1, () => `an answer; ${fixture.log.slice(-1500)}`, 60000);
    await discord.until(() => answers(other, facts[1]) === 1, () => `an answer; ${fixture.log.slice(-1500)}`, 60000);
    must(fixture.log.includes('the machine was asleep'), fixture.log);
    for (const socket of before) socket.ws.terminate();
});

await fixture.end();
finish();
process.exit();

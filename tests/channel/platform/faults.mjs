// faults.mjs: what a network, a platform and a second program do to a gateway.
import { Bot } from 'grammy';

import { ada, bob, cleo, makeFixture, sleep } from './fixture.mjs';
import { failed } from './telegram.mjs';
import { finish, must, test } from './tap.mjs';

const fixture = await makeFixture();
const { telegram } = fixture;
const plain = (answer) => answer.say(`Answer to ${answer.question}.`).end();
fixture.model.rule = plain;
fixture.start();
await fixture.connected();
await fixture.own(ada);
await fixture.allow(cleo, 'trusted');

const count = (chat, text) => telegram.shown(chat).filter((shown) => shown === text).length;
const settled = () => telegram.until(() => telegram.updates.length === 0 && telegram.poll, `confirmation; ${fixture.log}`);
const answered = (chat, text) => telegram.until(() => count(chat, `Answer to ${text}.`) > 0, `the answer to ${text}; ${fixture.log}`);
const told = (text) => telegram.until(() => telegram.shown(ada.id).some((shown) => shown.includes(text)), `a line with "${text}"; ${fixture.log}`);
const unsent = () => fixture.ethos('gateway', 'status', '--json').unsent;

await test('an update that is delivered three times is answered once', async () => {
    const message = telegram.say(cleo, 'twice');
    telegram.push({ message });
    telegram.push({ message });
    await answered(cleo.id, 'twice');
    await settled();
    await sleep(1500);
    must(count(cleo.id, 'Answer to twice.') === 1, telegram.shown(cleo.id).join());
});

await test('updates out of order, with ids that fall, are all answered', async () => {
    const make = (text) => ({ message: { message_id: telegram.nextMessage(cleo.id), date: Math.floor(Date.now() / 1000), chat: { id: cleo.id, type: 'private' }, from: { is_bot: false, ...cleo }, text } });
    telegram.updates.push({ update_id: 9007, ...make('later') }, { update_id: 9005, ...make('earlier') });
    telegram.nextUpdate = 17; // after a quiet week
    telegram.say(cleo, 'a week after');
    for (const text of ['later', 'earlier', 'a week after']) await answered(cleo.id, text);
    await settled();
});

await test('a poll whose answer is lost brings the message again: one answer', async () => {
    telegram.fault('getUpdates', 'lose', { times: 2 });
    telegram.cutAll();
    telegram.say(cleo, 'lost poll');
    await answered(cleo.id, 'lost poll');
    await sleep(1500);
    must(count(cleo.id, 'Answer to lost poll.') === 1, 'once');
});

await test('an answer whose sending was lost is not repeated: the owner is told, without its text', async () => {
    telegram.fault('sendMessage', 'lose', { when: ({ chat_id }) => chat_id === cleo.id });
    telegram.say(cleo, 'doubtful');
    await told('may not have arrived');
    must(count(cleo.id, 'Answer to doubtful.') === 1, 'it was there');
    must(!telegram.shown(ada.id).some((text) => text.includes('doubtful')), 'its text was told');
    must(unsent().length === 1 && unsent()[0].state === 'unknown', JSON.stringify(unsent()));
});

await test('one that was cut off before it arrived is the same, and resend sends it', async () => {
    telegram.fault('sendMessage', 'cut', { when: ({ chat_id }) => chat_id === cleo.id });
    const before = unsent().length;
    telegram.say(cleo, 'cut off');
    await telegram.until(() => telegram.shown(ada.id).filter((text) => text.includes('may not have arrived')).length > before, 'the line');
    await sleep(1500);
    must(count(cleo.id, 'Answer to cut off.') === 0, 'it was repeated');
    fixture.ethos('gateway', 'resend', String(unsent().at(-1).id));
    await answered(cleo.id, 'cut off');
    must(unsent().length === before, JSON.stringify(unsent()));
});

await test('an answer that is no answer of Telegram leaves it in doubt; one that refuses does not', async () => {
    telegram.fault('sendMessage', { status: 502, body: '<html>Bad Gateway</html>' }, { when: ({ chat_id }) => chat_id === cleo.id });
    let before = unsent().length;
    telegram.say(cleo, 'bad gateway');
    await telegram.until(() => unsent().length > before, 'doubt');
    must(unsent().at(-1).state === 'unknown', JSON.stringify(unsent()));
    telegram.fault('sendMessage', failed(403, 'Forbidden: bot was blocked by the user'), { when: ({ chat_id }) => chat_id === cleo.id });
    before = unsent().length;
    telegram.say(cleo, 'blocked');
    await told('was not accepted');
    must(unsent().at(-1).state === 'failed', JSON.stringify(unsent()));
});

await test('a limit of a second is waited for', async () => {
    telegram.fault('sendMessage', failed(429, 'Too Many Requests: retry after 1', { retry_after: 1 }), { when: ({ chat_id }) => chat_id === cleo.id, times: 2 });
    telegram.say(cleo, 'too fast');
    await answered(cleo.id, 'too fast');
    must(count(cleo.id, 'Answer to too fast.') === 1, 'once');
});

await test('a limit of four hours holds that chat alone, over a restart too', async () => {
    telegram.fault('sendMessage', failed(429, 'Too Many Requests: retry after 14400', { retry_after: 14400 }), { when: ({ chat_id }) => chat_id === cleo.id });
    telegram.say(cleo, 'much too fast');
    await telegram.until(({ calls }) => calls.some(({ args }) => args.text === 'Answer to much too fast.'), 'the try');
    telegram.say(ada, 'others');
    await answered(ada.id, 'others');
    await fixture.stop();
    fixture.start();
    await fixture.connected();
    telegram.say(ada, 'after a restart');
    await answered(ada.id, 'after a restart');
    must(count(cleo.id, 'Answer to much too fast.') === 0, 'it was not waited for');
    must(fixture.ethos('gateway', 'status', '--json').sending === 1, 'it does not wait');
});

await test('while an answer is written, limits and lost edits leave one message with all of it', async () => {
    const hold = fixture.model.next();
    telegram.say(ada, 'slowly');
    const answer = await hold;
    answer.say('The beginning');
    await telegram.until(() => telegram.shown(ada.id).at(-1).startsWith('The beginning'), 'a preview');
    const before = telegram.messages.length;
    telegram.fault('editMessageText', 'lose');
    answer.say(' and more');
    await telegram.until(() => telegram.shown(ada.id).at(-1).includes('and more'), 'an edit');
    telegram.fault('editMessageText', failed(429, 'Too Many Requests: retry after 2', { retry_after: 2 }));
    answer.say(' and the end').end();
    await telegram.until(() => telegram.shown(ada.id).at(-1) === 'The beginning and more and the end', 'the end');
    must(telegram.messages.length === before, 'a second message');
    must(telegram.messages.at(-1).edits > 0, 'no edit');
});

await test('a message that somebody deleted while it was written comes as a new one', async () => {
    const hold = fixture.model.next();
    telegram.say(ada, 'deleted');
    const answer = await hold;
    answer.say('First');
    await telegram.until(() => telegram.shown(ada.id).at(-1).startsWith('First'), 'a preview');
    telegram.messages.pop();
    answer.say(' and last').end();
    await telegram.until(() => telegram.shown(ada.id).at(-1) === 'First and last', `the whole; ${fixture.log}`);
});

await test('Telegram is away for a while: nothing is lost, nothing sent twice', async () => {
    const hold = fixture.model.next();
    telegram.say(ada, 'outage');
    const answer = await hold;
    const { port } = telegram;
    await telegram.stop();
    answer.say('Answer to outage.').end();
    await sleep(3000);
    await telegram.start(port);
    telegram.say(ada, 'back again');
    await answered(ada.id, 'outage');
    await answered(ada.id, 'back again');
    must(count(ada.id, 'Answer to outage.') === 1, telegram.shown(ada.id).join());
});

await test('a webhook that is active is taken away', async () => {
    telegram.setWebhook({ url: 'https://example.com/hook' });
    telegram.say(ada, 'webhook');
    await answered(ada.id, 'webhook');
    must(telegram.webhook === '', telegram.webhook);
});

await test('a second program that polls is told of once, and the gateway goes on when it ends', async () => {
    const rival = new Bot(telegram.token, { client: { apiRoot: telegram.url } });
    const log = fixture.log.length;
    await rival.api.raw.getUpdates({ timeout: 1 });
    await telegram.until(() => fixture.log.slice(log).includes('another program polls'), 'a line of the log');
    telegram.say(ada, 'rival');
    await telegram.until(() => count(ada.id, 'Answer to rival.') > 0, 'the answer', 70000);
    must(fixture.log.slice(log).split('another program polls').length === 2, fixture.log.slice(log));
});

await test('more than ten that wait are told so; a message of the day before yesterday is not answered', async () => {
    const hold = fixture.model.next();
    telegram.say(ada, 'first of many');
    const answer = await hold;
    for (let i = 0; i < 12; i++) telegram.say(ada, `waits ${i}`);
    await told('Too many messages are waiting');
    fixture.model.rule = (other) => other.say('ok').end();
    answer.say('ok').end();
    telegram.say(cleo, 'x', { date: Math.floor(Date.now() / 1000) - 200000, chat: { id: 1003, type: 'private' } });
    await settled();
    must(!fixture.model.requests.some(({ messages }) => messages.at(-1).content === 'x'), 'it was answered');
    telegram.say(ada, '/stop');
    await told('Stopped.');
    fixture.model.rule = plain;
});

await test('a token that is refused is told of once, and another one in keys.yaml helps', async () => {
    const log = fixture.log.length;
    telegram.token = '123456:ANOTHER-one';
    telegram.cutAll();
    await telegram.until(() => fixture.log.slice(log).includes('rejected the token'), 'a line of the log');
    const { channels } = fixture.ethos('gateway', 'status', '--json');
    must(channels[0].state === 'fatal', JSON.stringify(channels));
    await sleep(2500);
    must(fixture.log.slice(log).split('rejected the token').length === 2, fixture.log.slice(log));
    fixture.setToken(telegram.token);
    telegram.say(ada, 'new token');
    await answered(ada.id, 'new token');
});

await fixture.end();
void bob;
finish();
process.exit();

// slack-judge.mjs: slack.mjs, the server that the other scripts use, tried by a library of others: @slack/bolt.
import bolt from '@slack/bolt';

import { failed, limited, startSlack } from './slack.mjs';
import { finish, must, test } from './tap.mjs';

const { App, HTTPReceiver, LogLevel } = bolt;
const slack = await startSlack();
const makeApp = (more = {}) => new App({ token: slack.token, appToken: slack.appToken, socketMode: true, logLevel: LogLevel.ERROR, clientOptions: { slackApiUrl: `${slack.url}/`, retryConfig: { retries: 0 } }, ...more });
const app = makeApp();
const heard = [];
app.message(async ({ message, say }) => { heard.push(message); if (message.text === 'hello') await say(`re: ${message.text}`); });
app.event('app_mention', async ({ event }) => { heard.push(event); });

await test('it is connected to, greets, and knows its tokens', async () => {
    await app.start();
    await slack.until(({ sockets }) => sockets.size === 1, 'a socket');
    must((await app.client.auth.test()).user_id === slack.bot.id, 'auth.test');
    const other = new bolt.webApi.WebClient('xoxb-wrong', { slackApiUrl: `${slack.url}/`, retryConfig: { retries: 0 } });
    const error = await other.auth.test().then(() => null, (failure) => failure);
    must(error?.data?.error === 'invalid_auth', String(error));
});

await test('messages arrive and are acknowledged on their socket; a mention arrives as both events; answers are sent', async () => {
    slack.say('U1', 'hello');
    await slack.until(() => slack.shown('DU1').length === 1 && slack.unacked.length === 0, 'an answer');
    must(slack.shown('DU1')[0] === 're: hello', slack.shown('DU1').join());
    slack.say('U1', `<@${slack.bot.id}> hi`, { channel: 'C1' });
    await slack.until(() => heard.filter(({ channel }) => channel === 'C1').length === 2, 'both');
    must(slack.wrongAcks.length === 0, slack.wrongAcks.join());
    const sent = await app.client.chat.postMessage({ channel: 'DU1', text: 'with id', metadata: { event_type: 'ethos_reply', event_payload: { id: 'x1' } } });
    await app.client.chat.update({ channel: 'DU1', ts: sent.ts, text: 'edited' });
    const { messages } = await app.client.conversations.history({ channel: 'DU1', include_all_metadata: true });
    must(messages[0].text === 'edited' && messages[0].metadata.event_payload.id === 'x1', JSON.stringify(messages[0]));
    const gone = await app.client.chat.update({ channel: 'DU1', ts: '1.1', text: 'x' }).then(() => null, (failure) => failure);
    must(gone.data.error === 'message_not_found', String(gone));
});

await test('a limit is thrown with the time to wait', async () => {
    const client = new bolt.webApi.WebClient(slack.token, { slackApiUrl: `${slack.url}/`, rejectRateLimitedCalls: true });
    slack.fault('chat.postMessage', limited(7));
    const error = await client.chat.postMessage({ channel: 'DU1', text: 'x' }).then(() => null, (failure) => failure);
    must(error?.retryAfter === 7, String(error));
    slack.fault('chat.postMessage', failed('is_archived'));
    const refused = await app.client.chat.postMessage({ channel: 'DU1', text: 'x' }).then(() => null, (failure) => failure);
    must(refused?.data?.error === 'is_archived', String(refused));
});

await test('after a refresh there is another socket, and messages come there', async () => {
    const [first] = slack.sockets;
    slack.refresh();
    await slack.until(({ sockets }) => [...sockets].some((socket) => socket !== first && !socket.deaf), 'another socket', 60000);
    slack.say('U1', 'hello');
    await slack.until(() => slack.shown('DU1').filter((text) => text === 're: hello').length === 2, 'an answer there');
});
await app.stop();

await test('signed events are accepted by its receiver, others are not', async () => {
    const receiver = new HTTPReceiver({ signingSecret: slack.signingSecret, logLevel: LogLevel.ERROR, port: 0 });
    const events = new App({ token: slack.token, receiver, logLevel: LogLevel.ERROR, clientOptions: { slackApiUrl: `${slack.url}/` } });
    const got = [];
    events.message(async ({ message }) => { got.push(message.text); });
    const server = await events.start(0);
    slack.eventsUrl = `http://127.0.0.1:${server.address().port}/slack/events`;
    slack.say('U1', 'signed', { over: 'events' });
    await slack.until(() => got.includes('signed'), 'the event');
    const body = JSON.stringify({ type: 'url_verification', challenge: 'c' });
    must((await slack.post(body)).status === 200, 'challenge');
    must((await slack.post(body, slack.sign(body, { secret: 'wrong' }))).status === 401, 'a wrong secret');
    must((await slack.post(body, slack.sign(body, { timestamp: '1531420618' }))).status === 401, 'an old one');
    await events.stop();
});

await slack.stop();
finish();
process.exit();

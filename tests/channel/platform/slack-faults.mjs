// slack-faults.mjs: what goes wrong between the gateway and Slack: lost acknowledgements and answers, refreshed sockets,
// limits, refused tokens, forged and replayed requests, time without a connection. Every message is answered once.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { makeElsewhere } from './elsewhere.mjs';
import { sleep } from './fixture.mjs';
import { failed, limited, startSlack } from './slack.mjs';
import { finish, must, test } from './tap.mjs';

const slack = await startSlack();
slack.ackMs = 1500;
slack.retryMs = [0, 700, 1500];
const port = await new Promise((resolve) => { const server = createServer().listen(0, '127.0.0.1', () => { const { port: free } = server.address(); server.close(() => resolve(free)); }); });
const fixture = await makeElsewhere({ slack }, { 'channels.slack.groups': 'C1', 'channels.slack.events': 'on', 'channels.slack.eventsPort': String(port) }, { SLACK_SIGNING_SECRET: slack.signingSecret });
slack.eventsUrl = `http://127.0.0.1:${port}/slack/events`;
const chat = 'DU1';
const count = (text) => slack.shown(chat).filter((one) => one === `You said: ${text}`).length;
const live = () => [...slack.sockets].filter(({ deaf }) => !deaf);
const unsent = () => fixture.status().unsent;
const answered = (text) => slack.until(() => count(text) === 1, () => `one answer to ${text}: ${count(text)}; ${fixture.log.slice(-2000)}`, 60000);
// Once, and not again afterwards.
const once = async (text) => {
    await answered(text);
    await fixture.rest();
    await slack.until(() => slack.unacked.length === 0, 'acknowledged');
    must(count(text) === 1, `${count(text)} answers to ${text}`);
};

fixture.start();
await slack.until(() => live().length === 1, () => `a socket; ${fixture.log}`);
await fixture.ownOn('slack', slack, 'U1');
await fixture.allowOn(slack, 'U2', 'trusted');

await test('an acknowledgement that is lost: the event comes again, and is answered once', async () => {
    const [socket] = slack.sockets;
    socket.ws.pause(); // what the gateway says is not read for a while
    slack.say('U1', 'lost ack');
    await sleep(2500);
    socket.ws.resume();
    await once('lost ack');
    must([...slack.envelopes.values()].some(({ attempt }) => attempt > 0), 'it did not come again');
});

await test('a socket that is cut in the middle: another one, and what was sent into it comes again', async () => {
    const [first] = slack.sockets;
    first.ws.terminate();
    slack.say('U1', 'into the gap');
    await slack.until(() => live().some((socket) => socket !== first), 'another socket');
    await once('into the gap');
});

await test('a refresh: the next socket stands before the old one goes, nothing is missed, each event is acknowledged where it came', async () => {
    let least = Infinity;
    const watch = () => { least = Math.min(least, slack.sockets.size); };
    slack.watchers.add(watch);
    const [first] = slack.sockets;
    for (let i = 0; i < 4; i++) slack.say('U1', `before ${i}`);
    slack.refresh(); // it goes on to be acknowledged at, but hears nothing new
    for (let i = 0; i < 4; i++) slack.say('U1', `during ${i}`);
    await slack.until(() => live().some((socket) => socket !== first) && !slack.sockets.has(first), 'the next one alone');
    slack.watchers.delete(watch);
    must(least >= 1, 'there was no socket for a while');
    must(first.code === 1000, `closed by ${first.code}`);
    for (let i = 0; i < 4; i++) { await once(`before ${i}`); await once(`during ${i}`); }
    must(slack.wrongAcks.length === 0, slack.wrongAcks.join());
});

await test('a socket that nobody greets is given up, and what was said meanwhile is answered', async () => {
    slack.greets = false;
    for (const { ws } of [...slack.sockets]) ws.terminate();
    await slack.until(() => slack.silent, 'a socket that nobody greets');
    slack.greets = true;
    slack.say('U1', 'into silence');
    await slack.until(() => slack.silent.code !== undefined, 'its end', 60000);
    await once('into silence');
});

await test('two sockets at once: an event that came over the old one is acknowledged there', async () => {
    const [first] = slack.sockets;
    slack.send({ type: 'disconnect', reason: 'warning', debug_info: {} }, first); // but it is not deaf
    slack.say('U1', 'over either');
    slack.say('U1', 'over one of them');
    await once('over either');
    await once('over one of them');
    must(slack.wrongAcks.length === 0, slack.wrongAcks.join());
    await slack.until(() => slack.sockets.size === 1 && ![...slack.sockets].includes(first), 'one socket');
});

await test('another program on the same app is told of', async () => {
    const [first] = slack.sockets;
    slack.connections = 3;
    slack.refresh();
    await slack.until(() => live().some((socket) => socket !== first), 'another socket');
    await fixture.state('slack', 'up', ({ why }) => why.includes('another program'));
    slack.connections = undefined;
});

await test('frames that are none: garbage, unknown types, nothing inside, too much', async () => {
    for (const frame of ['{', '[]', '7', '{"type":"events_api"}', '{"envelope_id":"x"}', '{"envelope_id":7,"type":"events_api","payload":{"event":{"type":"message"}}}', `{"envelope_id":"${'e'.repeat(500)}"}`]) slack.send(frame);
    slack.say('U1', 'after garbage');
    await once('after garbage');
    const [first] = slack.sockets;
    slack.send(`{"envelope_id":"big","x":"${'x'.repeat(5_000_000)}"}`);
    await slack.until(() => !slack.sockets.has(first) && live().length === 1, 'another socket', 60000);
    slack.say('U1', 'after too much');
    await once('after too much');
});

await test('an answer whose sending was lost is found by its metadata: not sent again, nobody is troubled', async () => {
    slack.fault('chat.postMessage', 'lose', { when: ({ text }) => text.includes('found again') });
    slack.say('U1', 'found again');
    await answered('found again');
    await fixture.rest();
    must(count('found again') === 1 && unsent().length === 0, `${count('found again')} answers, ${unsent().length} marked`);
    must(slack.calls.some(({ method, args }) => method === 'conversations.history' && args.include_all_metadata), 'it was not asked for');
});

await test('one that was cut off before it arrived is not found, and sent again; so in a thread', async () => {
    slack.fault('chat.postMessage', 'cut', { when: ({ text }) => text.includes('cut off') });
    slack.say('U1', 'cut off');
    await once('cut off');
    slack.fault('chat.postMessage', 'cut', { when: ({ channel }) => channel === 'C1' });
    const message = slack.say('U1', `<@${slack.bot.id}> in a thread`, { channel: 'C1' });
    await slack.until(() => slack.shown('C1').length === 1, 'an answer', 60000);
    must(slack.messages.at(-1).thread_ts === message.ts, 'in its thread');
    await fixture.rest();
    must(slack.shown('C1').length === 1 && unsent().length === 0, slack.shown('C1').join());
});

await test('where it cannot be asked either, it is marked, the owner is told, and resend sends it', async () => {
    slack.fault('chat.postMessage', 'lose', { when: ({ text }) => text.includes('nobody knows') });
    const remove = slack.fault('conversations.history', failed('missing_permission'), { times: 99, when: ({ include_all_metadata }) => include_all_metadata });
    slack.say('U2', 'nobody knows');
    await slack.until(() => slack.shown(chat).some((text) => text.includes('may not have arrived')), () => `a line; ${fixture.log}`, 60000);
    remove();
    must(unsent().length === 1, JSON.stringify(unsent()));
    fixture.ethos('gateway', 'resend', String(unsent()[0].id));
    await slack.until(() => slack.shown('DU2').filter((text) => text === 'You said: nobody knows').length === 2, 'again');
    must(unsent().length === 0, 'still marked');
});

await test('a limit of a second is waited for', async () => {
    slack.fault('chat.postMessage', limited(1), { when: ({ text }) => text.includes('soon') });
    slack.say('U1', 'soon');
    await once('soon');
});

await test('while an answer is written, limits and lost edits leave one message with all of it', async () => {
    const next = fixture.model.next(), before = slack.shown(chat).length;
    slack.say('U1', 'write slowly');
    const answer = await next;
    answer.say('One');
    await slack.until(() => slack.shown(chat).length === before + 1, 'the beginning', 60000);
    slack.fault('chat.update', limited(1));
    slack.fault('chat.update', 'lose');
    answer.say(' two three');
    await slack.until(() => slack.calls.filter(({ method }) => method === 'chat.update').length > 0, 'an edit');
    answer.say(' and four.').end();
    await slack.until(() => slack.shown(chat).at(-1) === 'One two three and four.', 'the end', 60000);
    must(slack.shown(chat).length === before + 1, slack.shown(chat).slice(before).join(' | '));
});

await test('requests of the Events API: signed ones alone; forged, old, changed, replayed, too large, none at all', async () => {
    const event = { type: 'message', channel: chat, channel_type: 'im', user: 'U1', text: 'by event', ts: slack.nextTs(), team: slack.team };
    const callback = (one) => JSON.stringify({ type: 'event_callback', team_id: slack.team, event: one, event_id: 'Ev1' });
    const body = callback(event), headers = slack.sign(body);
    must((await slack.post(body, slack.sign(body, { secret: 'wrong' }))).status === 401, 'forged');
    must((await slack.post(body, { ...headers, 'x-slack-signature': 'v0=' })).status === 401, 'none');
    must((await slack.post(body, { 'content-type': 'application/json' })).status === 401, 'no headers');
    must((await slack.post(body, slack.sign(body, { timestamp: String(Math.floor(Date.now() / 1000) - 400) }))).status === 401, 'old');
    must((await slack.post(body, slack.sign(body, { timestamp: String(Math.floor(Date.now() / 1000) + 400) }))).status === 401, 'of tomorrow');
    must((await slack.post(body, { ...headers, 'x-slack-request-timestamp': String(Number(headers['x-slack-request-timestamp']) - 1) })).status === 401, 'another time');
    must((await slack.post(body.replace('by event', 'my event'), headers)).status === 401, 'changed');
    must(count('by event') === 0, 'answered');
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'c-7' });
    must(await (await slack.post(challenge, slack.sign(challenge))).text() === 'c-7', 'challenge');
    must((await slack.post('{', slack.sign('{'))).status === 400, 'no JSON');
    must((await fetch(slack.eventsUrl)).status === 405, 'GET');
    must((await slack.post('x'.repeat(2_000_000)).catch(() => ({ status: 413 }))).status === 413, 'too large');
    must((await slack.post(body, headers)).status === 200, 'accepted');
    must((await slack.post(body, headers)).status === 200, 'replayed'); // Slack does so when it heard no answer
    await once('by event');
    slack.say('U1', 'over both');
    const last = slack.messages.findLast(({ text }) => text === 'over both');
    const again = callback({ ...last, team: slack.team });
    must((await slack.post(again, slack.sign(again))).status === 200, 'the same over HTTP');
    await once('over both');
});

await test('what was said while the gateway was away is read from the history, threads too, and answered in order, once', async () => {
    const root = slack.messages.find(({ channel, user }) => channel === 'C1' && user === 'U1').ts;
    await fixture.stop();
    for (let i = 0; i < 3; i++) slack.say('U1', `missed ${i}`, { quiet: true });
    slack.say('U1', `<@${slack.bot.id}> missed in the thread`, { channel: 'C1', thread: root, quiet: true });
    const before = slack.shown('C1').length;
    fixture.start();
    await slack.until(() => live().length === 1, () => `a socket; ${fixture.log}`);
    for (let i = 0; i < 3; i++) await once(`missed ${i}`);
    const shown = slack.shown(chat).filter((text) => text.includes('missed'));
    must(shown.join() === [0, 1, 2].map((i) => `You said: missed ${i}`).join(), shown.join());
    await slack.until(() => slack.shown('C1').length === before + 1, 'the thread', 60000);
});

await test('an address that is not Slack\'s is not asked, a ticket that is used up is renewed, a server that refuses is tried again', async () => {
    const [first] = slack.sockets;
    slack.socketUrl = 'wss://evil.example/link?ticket=x';
    first.ws.terminate();
    await fixture.state('slack', 'down', ({ why }) => why.includes('outside slack.com'));
    slack.socketUrl = `${slack.origin.replace('http', 'ws')}/link?ticket=used-up`;
    await fixture.stop();
    fixture.start();
    await fixture.state('slack', 'down', ({ why }) => why.includes('connection to Slack'));
    slack.socketUrl = undefined;
    slack.refusesSockets = true;
    await sleep(1500);
    slack.refusesSockets = false;
    await slack.until(() => live().length === 1, () => `a socket; ${fixture.log.slice(-2000)}`, 120000);
    slack.say('U1', 'well again');
    await once('well again');
});

await test('sockets over TLS: a certificate that nobody vouches for, or that is another host\'s, is refused; a good one is not', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ethos-tls-')), file = (name) => join(folder, name);
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file('key'), '-out', file('cert'), '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'], { stdio: 'ignore' });
    const secure = await slack.listenSecurely({ key: readFileSync(file('key')), cert: readFileSync(file('cert')) });
    slack.socketOrigin = `wss://localhost:${secure}`;
    await fixture.stop();
    fixture.start();
    await fixture.state('slack', 'down', ({ why }) => why.includes('certificate rejected: self'));
    must(slack.sockets.size === 0, 'it was accepted');
    await fixture.stop();
    fixture.start({ SSL_CERT_FILE: file('cert') });
    await slack.until(() => live().length === 1, () => `a socket; ${fixture.log.slice(-1500)}`);
    slack.say('U1', 'over TLS');
    await once('over TLS');
    slack.socketOrigin = `wss://127.0.0.1:${secure}`; // the certificate is of localhost
    await fixture.stop();
    fixture.start({ SSL_CERT_FILE: file('cert') });
    await fixture.state('slack', 'down', ({ why }) => /certificate rejected: .*mismatch/.test(why));
    must(slack.sockets.size === 0, 'it was accepted');
    slack.socketOrigin = undefined;
    await fixture.stop();
    fixture.start();
    await slack.until(() => live().length === 1, () => `a socket; ${fixture.log.slice(-1500)}`);
});

await test('tokens that are refused are told of once and say what to do; others in keys.yaml help', async () => {
    const { keys } = fixture;
    await fixture.stop();
    fixture.log = '';
    fixture.setKeys({ ...keys, SLACK_BOT_TOKEN: 'xoxb-wrong' }).start();
    await fixture.state('slack', 'fatal', ({ why }) => why.includes('SLACK_BOT_TOKEN (invalid_auth)'));
    await sleep(2500);
    must(fixture.log.split('invalid_auth').length === 2, fixture.log);
    fixture.setKeys({ ...keys, SLACK_APP_TOKEN: 'xapp-wrong' });
    await fixture.state('slack', 'fatal', ({ why }) => why.includes('SLACK_APP_TOKEN'));
    fixture.setKeys({ ...keys, SLACK_APP_TOKEN: 'nonsense' });
    await fixture.state('slack', 'fatal', ({ why }) => why.includes('xapp-'));
    fixture.setKeys(keys);
    await fixture.state('slack', 'up');
    slack.send({ type: 'disconnect', reason: 'link_disabled' });
    await fixture.state('slack', 'fatal', ({ why }) => why.includes('Socket Mode is disabled'));
    await slack.until(() => slack.sockets.size === 0, 'closed');
    fixture.setKeys({ ...keys, SLACK_SIGNING_SECRET: 'x' });
    await fixture.state('slack', 'up');
    fixture.setKeys(keys);
});

await test('a token that is revoked while it runs: what waits is kept, and sent with the next one', async () => {
    const { keys } = fixture;
    const remove = slack.fault('chat.postMessage', failed('token_revoked'), { times: 99 });
    slack.say('U1', 'kept');
    await fixture.state('slack', 'fatal', ({ why }) => why.includes('token_revoked'));
    remove();
    fixture.setKeys({ ...keys, SLACK_SIGNING_SECRET: 'y' });
    await once('kept');
    fixture.setKeys(keys);
});

await test('without a socket: the Events API alone', async () => {
    const { SLACK_APP_TOKEN, ...keys } = fixture.keys;
    await fixture.stop();
    fixture.setKeys({ ...keys, SLACK_SIGNING_SECRET: slack.signingSecret }).start();
    await fixture.state('slack', 'up');
    must(slack.sockets.size === 0, 'a socket');
    slack.say('U1', 'events alone', { over: 'events' });
    await once('events alone');
    void SLACK_APP_TOKEN;
});

await test('a refusal is marked; a limit of four hours holds that chat alone; too many programs are told of', async () => {
    const { SLACK_APP_TOKEN: app = slack.appToken, ...keys } = fixture.keys;
    fixture.setKeys({ ...keys, SLACK_APP_TOKEN: app });
    await fixture.stop();
    fixture.start();
    await slack.until(() => live().length === 1, () => `a socket; ${fixture.log}`);
    slack.fault('chat.postMessage', failed('is_archived'), { when: ({ text }) => text.includes('archived') });
    slack.say('U1', 'archived');
    await slack.until(() => unsent().some(({ state }) => state === 'failed'), 'a mark');
    slack.fault('chat.postMessage', limited(14400), { times: 99, when: ({ channel }) => channel === 'DU2' });
    slack.say('U2', 'much later');
    await slack.until(() => slack.calls.some(({ method, args }) => method === 'chat.postMessage' && args.text?.includes('much later')), 'a try');
    slack.say('U1', 'meanwhile');
    await answered('meanwhile');
    must(slack.calls.filter(({ method, args }) => method === 'chat.postMessage' && args.text?.includes('much later')).length === 1, 'it was tried again');
    slack.send({ type: 'disconnect', reason: 'too_many_websockets' });
    await fixture.state('slack', 'up', ({ why }) => why.includes('too many programs'));
});

must((await fixture.stop()).code === 0, fixture.log);
await fixture.end();
finish();
process.exit();

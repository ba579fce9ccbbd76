// discord-faults.mjs: what goes wrong between the gateway and Discord: every op and close code, sessions that cannot be gone
// on with, limits, lost answers, refused tokens, time without a connection. Every message is answered once.
import { makeElsewhere } from './elsewhere.mjs';
import { sleep } from './fixture.mjs';
import { limited, refused, startDiscord } from './discord.mjs';
import { finish, must, test } from './tap.mjs';

const discord = await startDiscord();
const fixture = await makeElsewhere({ discord }, { 'channels.discord.groups': '900' });
const chat = discord.direct('1');
const count = (text, where = chat) => discord.shown(where).filter((one) => one === `You said: ${text}`).length;
const unsent = () => fixture.status().unsent;
const up = (test = () => true) => discord.until(() => discord.live.length === 1 && test(), () => `a session; ${fixture.log.slice(-1500)}`, 120000);
const once = async (text) => {
    await discord.until(() => count(text) === 1, () => `one answer to ${text}: ${count(text)}; ${fixture.log.slice(-2000)}`, 60000);
    await fixture.rest();
    must(count(text) === 1, `${count(text)} answers to ${text}`);
};
// What becomes of the session when act() was done: 'resumed', 'begun anew' or 'stopped'.
const becomes = async (act) => {
    const { resumes } = discord, begun = discord.identifies.length, [socket] = discord.live;
    act(socket);
    await discord.until(() => !discord.sockets.has(socket), 'the end of the socket');
    for (;;) {
        if (discord.live.length === 1 && discord.live[0] !== socket) return discord.identifies.length > begun ? 'begun anew' : discord.resumes > resumes ? 'resumed' : 'something else';
        if (fixture.status().channels.find(({ platform }) => platform === 'discord').state === 'fatal') return 'stopped';
        await sleep(100);
    }
};

fixture.start();
await up();
await fixture.ownOn('discord', discord, '1');

await test('op 7: the session goes on, and what was said in between is answered', async () => {
    const how = becomes((socket) => { discord.frame({ op: 7 }, socket); discord.say('1', 'during op 7'); });
    must(await how === 'resumed', 'op 7');
    await once('during op 7');
});

await test('op 9: gone on with where it says so, else begun anew', async () => {
    must(await becomes((socket) => discord.frame({ op: 9, d: true }, socket)) === 'begun anew', 'of a session that was there');
    must(await becomes((socket) => { for (const session of discord.sessions.values()) session.ended = true; discord.frame({ op: 7 }, socket); }) === 'begun anew', 'false');
    let times = 0;
    discord.refusesResume = (socket, send) => { if (++times > 1) discord.refusesResume = undefined; send({ op: 9, d: true }); };
    must(await becomes((socket) => discord.frame({ op: 7 }, socket)) === 'resumed' && times === 2, `true; ${times}`);
});

await test('op 1 is answered with a beat; beats come by themselves; one that is not answered ends the socket, not the session', async () => {
    const [socket] = discord.live, { beats } = socket;
    discord.frame({ op: 1, d: null }, socket);
    await discord.until(() => socket.beats > beats, 'a beat');
    discord.interval = 1000;
    must(await becomes((one) => discord.frame({ op: 7 }, one)) === 'resumed', 'a quicker one');
    const [quick] = discord.live;
    await discord.until(() => quick.beats >= 3, 'beats');
    must(quick.lastBeat === discord.live[0].session.seq, `${quick.lastBeat}`);
    discord.answersBeats = false;
    const how = becomes(() => {});
    await discord.until(() => !discord.sockets.has(quick), 'the end of the socket');
    discord.answersBeats = true;
    discord.interval = 41250;
    must(await how === 'resumed' && quick.code === 4000, `${quick.code}`);
    discord.say('1', 'after silence');
    await once('after silence');
});

await test('op 10 that does not come: the socket is given up, the session goes on', async () => {
    discord.greets = false;
    const how = becomes((socket) => discord.frame({ op: 7 }, socket));
    await discord.until(() => [...discord.sockets].some(({ beats, session }) => !session && beats === 0) && discord.live.length === 0, 'a socket that nobody greets');
    const [silent] = discord.sockets;
    discord.greets = true;
    discord.say('1', 'into silence');
    must(await how === 'resumed' && !discord.sockets.has(silent) && silent.code === 4000, `${silent.code}`);
    await once('into silence');
});

await test('every close code: gone on with, begun anew, or stopped; and what was said meanwhile is answered', async () => {
    const expected = { 1000: 'resumed', 1001: 'resumed', 4000: 'resumed', 4001: 'resumed', 4002: 'resumed', 4003: 'resumed', 4005: 'resumed', 4007: 'begun anew', 4008: 'resumed', 4009: 'begun anew' };
    for (const [code, wanted] of Object.entries(expected)) {
        const how = await becomes((socket) => { socket.ws.close(Number(code)); discord.say('1', `at ${code}`); });
        must(how === wanted, `${code}: ${how}`);
        await once(`at ${code}`);
    }
    must(await becomes((socket) => socket.ws.terminate()) === 'resumed', 'an abrupt end');
});

await test('close codes that nothing but another token helps: stopped, and what to do; others in keys.yaml help', async () => {
    const { keys } = fixture;
    for (const code of [4004, 4010, 4011, 4012, 4013]) {
        must(await becomes((socket) => socket.ws.close(code)) === 'stopped', `${code}`);
        fixture.setKeys({ ...keys, DISCORD_BOT_TOKEN: 'wrong!' });
        await fixture.state('discord', 'fatal', ({ why }) => why.includes('is not a bot token'));
        fixture.setKeys(keys);
        await fixture.state('discord', 'up');
        await up();
    }
});

await test('4014: once more without what is refused, and that is said; refused again, it stops', async () => {
    const { keys } = fixture;
    discord.refuses = 32768;
    must(await becomes((socket) => { for (const session of discord.sessions.values()) session.ended = true; discord.frame({ op: 7 }, socket); }) === 'begun anew', 'without');
    must(discord.identifies.at(-1) === 37377 - 32768, discord.identifies.join());
    await fixture.state('discord', 'up', ({ why }) => why.includes('Message Content Intent'));
    discord.say('1', 'without content');
    await once('without content');
    discord.refuses = 512;
    must(await becomes((socket) => { for (const session of discord.sessions.values()) session.ended = true; discord.frame({ op: 7 }, socket); }) === 'stopped', 'again');
    discord.refuses = 0;
    fixture.setKeys({ ...keys, DISCORD_BOT_TOKEN: 'wrong!' });
    await fixture.state('discord', 'fatal', ({ why }) => why.includes('is not a bot token'));
    fixture.setKeys(keys);
    await fixture.state('discord', 'up', ({ why }) => why === '');
});

await test('three resumes that fail: a session is begun, and what was said meanwhile is read from the history', async () => {
    let times = 0;
    discord.refusesResume = (socket) => { times++; socket.ws.close(4000); };
    const how = becomes((socket) => { discord.frame({ op: 7 }, socket); discord.say('1', 'meanwhile', { quiet: true }); discord.say('1', `<@100> in a server`, { channel: 'C1', quiet: true }); });
    must(await how === 'begun anew', 'it was not begun anew');
    discord.refusesResume = undefined;
    must(times === 3, `${times} times`);
    await once('meanwhile');
});

await test('a gateway that was away: its session is gone on with; without one the history is read, of servers too; each once', async () => {
    await fixture.hears(discord, 'C1', () => discord.say('1', '<@100> hello', { channel: 'C1' }));
    const { resumes } = discord;
    await fixture.stop();
    discord.say('1', 'while away');
    fixture.start();
    await up();
    must(discord.resumes === resumes + 1, 'not gone on with');
    await once('while away');
    await fixture.stop();
    for (const session of discord.sessions.values()) session.ended = true;
    for (let i = 0; i < 3; i++) discord.say('1', `missed ${i}`, { quiet: true });
    discord.say('1', '<@100> missed in a server', { channel: 'C1', quiet: true });
    fixture.start();
    for (let i = 0; i < 3; i++) await once(`missed ${i}`);
    const shown = discord.shown(chat).filter((text) => text.includes('missed'));
    must(shown.join() === [0, 1, 2].map((i) => `You said: missed ${i}`).join(), shown.join());
    await discord.until(() => discord.shown('C1').some((text) => text.includes('missed in a server')), () => `an answer there; ${fixture.log.slice(-1500)}`);
});

await test('frames that are none: garbage, unknown ops, no session, too much', async () => {
    for (const frame of ['{', '[]', '7', '{"op":"x"}', '{"op":0}', '{"op":0,"s":"x","t":7,"d":[]}', '{"op":99,"d":{}}', '{"op":10}', '{"op":0,"t":"MESSAGE_CREATE","d":null}', '{"op":11}', '{"op":11}']) discord.frame(frame);
    discord.say('1', 'after garbage');
    await once('after garbage');
    must(['resumed', 'begun anew'].includes(await becomes((socket) => discord.frame(`{"op":0,"d":"${'x'.repeat(5_000_000)}"}`, socket))), 'too much');
    discord.say('1', 'after too much');
    await once('after too much');
});

await test('an answer whose sending was lost is sent again with its nonce: one message, nobody is troubled', async () => {
    discord.fault('send', 'lose', { when: ({ content }) => content.includes('lost answer') });
    discord.say('1', 'lost answer');
    await once('lost answer');
    discord.fault('send', 'cut', { when: ({ content }) => content.includes('cut answer') });
    discord.say('1', 'cut answer');
    await once('cut answer');
    discord.fault('send', { status: 502, body: {} }, { when: ({ content }) => content.includes('bad gateway') });
    discord.say('1', 'bad gateway');
    await once('bad gateway');
    must(unsent().length === 0, JSON.stringify(unsent()));
    must(discord.calls.filter(({ method, args }) => method === 'send' && args.content?.includes('lost answer')).length === 2, 'sent again');
});

await test('one that was under way when the process died is looked for in the history', async () => {
    for (const [text, act] of [['arrived', 'hang'], ['never arrived', 'hang']]) {
        const sent = new Promise((resolve) => discord.fault('send', (args) => { if (text === 'arrived') discord.messages.push({ id: discord.nextId(), channel_id: args.channel, author: discord.bot, content: args.content, at: 0 }); resolve(); return act; }, { when: ({ content }) => content === `You said: ${text}` }));
        discord.say('1', text);
        await sent;
        await fixture.stop('SIGKILL');
        fixture.start();
        await once(text);
    }
    must(unsent().length === 0, JSON.stringify(unsent()));
    must(discord.calls.some(({ method }) => method === 'history'), 'it was not asked for');
});

await test('limits: a bucket is never exceeded, half a second is waited for, a global one holds everybody, a refusal is marked', async () => {
    discord.buckets.set(chat, { size: 2, ms: 4000, left: 2, until: Date.now() + 4000 });
    for (let i = 0; i < 6; i++) discord.say('1', `quick ${i}`);
    for (let i = 0; i < 6; i++) await once(`quick ${i}`);
    must(!discord.buckets.get(chat).exceeded, `exceeded ${discord.buckets.get(chat).exceeded} times`);
    discord.buckets.clear();
    discord.fault('send', limited(0.5), { when: ({ content }) => content.includes('half a second') });
    discord.say('1', 'half a second');
    await once('half a second');
    discord.fault('send', limited(2, { global: true }), { when: ({ content }) => content.includes('everybody') });
    discord.say('1', 'everybody');
    await discord.until(() => discord.calls.some(({ method, args }) => method === 'send' && args.content?.includes('everybody')), 'a try');
    const from = Date.now();
    discord.say('1', '<@100> over there', { channel: 'C1' });
    await discord.until(() => discord.shown('C1').some((text) => text.includes('over there')), 'the other chat');
    must(Date.now() - from >= 1500, `only ${Date.now() - from} ms were waited`);
    await once('everybody');
    discord.fault('send', refused(403, 50001, 'Missing Access'), { when: ({ content }) => content.includes('no access') });
    discord.say('1', 'no access');
    await discord.until(() => unsent().some(({ state }) => state === 'failed'), 'a mark');
});

await test('few sessions are left today: none is begun, and why is said', async () => {
    await fixture.stop();
    for (const session of discord.sessions.values()) session.ended = true;
    discord.remaining = 49;
    fixture.start();
    await fixture.state('discord', 'down', ({ why }) => why.includes('too many sessions'));
    must(discord.sockets.size === 0, 'one was begun');
    await fixture.stop();
    discord.remaining = 999;
    fixture.start();
    await up();
});

await test('an address that is not Discord\'s is not asked; a token that is refused in the middle stops it, and what waits is kept', async () => {
    const { keys } = fixture, { gatewayUrl } = discord;
    discord.gatewayUrl = 'wss://gateway.discord.gg.evil.example';
    discord.live[0].ws.close(4009);
    await fixture.state('discord', 'down', ({ why }) => why.includes('outside discord.gg'));
    discord.gatewayUrl = gatewayUrl;
    await fixture.stop();
    fixture.start();
    await up();
    const remove = discord.fault('send', refused(401, 0, '401: Unauthorized'), { times: 9 });
    discord.say('1', 'kept');
    await fixture.state('discord', 'fatal', ({ why }) => why.includes('rejected the token'));
    remove();
    fixture.setKeys({ ...keys, DISCORD_BOT_TOKEN: 'wrong!' });
    await fixture.state('discord', 'fatal', ({ why }) => why.includes('is not a bot token'));
    fixture.setKeys(keys);
    await once('kept');
});

await test('thirty sessions in an hour are enough, over a restart too', async () => {
    await up();
    const enough = () => fixture.status().channels.find(({ platform }) => platform === 'discord').why.includes('too many');
    for (let closed = 0; closed < 40 && !enough();) {
        const [socket] = discord.live;
        if (socket) { socket.ws.close(4009); closed++; await discord.until(() => !discord.sockets.has(socket), 'its end'); }
        else await sleep(100);
    }
    await fixture.state('discord', 'down', ({ why }) => why.includes('too many sessions'));
    const begun = discord.identifies.length, { resumes } = discord;
    await fixture.stop();
    const stopped = new Date().toISOString();
    fixture.start();
    await fixture.state('discord', 'down', ({ why, since }) => why.includes('too many sessions') && since >= stopped);
    must(discord.resumes === resumes, 'the one that is over was asked for');
    must(discord.identifies.length === begun, 'one more was begun');
    must(begun <= 31, `${begun} were begun`);
    console.log(`# ${begun} sessions were begun in all`);
});

must((await fixture.stop()).code === 0, fixture.log);
await fixture.end();
finish();
process.exit();

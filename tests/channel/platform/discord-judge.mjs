// discord-judge.mjs: discord.mjs, the server that the other scripts use, tried by a library of others: discord.js.
import { Client, GatewayIntentBits, Partials } from 'discord.js';

import { startDiscord } from './discord.mjs';
import { finish, must, test } from './tap.mjs';

const discord = await startDiscord();
const makeClient = () => new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.DirectMessages, GatewayIntentBits.MessageContent],
    partials: [Partials.Channel], rest: { api: `${discord.origin}/api`, retries: 0 },
});
const client = makeClient();
const heard = [];
client.on('error', () => {});
client.on('messageCreate', async (message) => {
    if (message.author.bot) return;
    heard.push(message.content);
    if (message.content.startsWith('hello')) await message.reply(`re: ${message.content}`).catch((error) => heard.push(String(error)));
});

await test('it is connected to with the intents that were asked for', async () => {
    const ready = new Promise((resolve) => client.once('clientReady', resolve));
    await client.login(discord.token);
    await ready;
    must(client.user.id === '100', client.user.id);
    must(discord.identifies[0] === 37377, discord.identifies.join());
});

await test('messages arrive in a server; answers are replies', async () => {
    discord.say('1', 'hello', { channel: 'C1' });
    await discord.until(() => discord.shown('C1').length === 1, () => `an answer: ${heard.join()}`);
    must(discord.shown('C1')[0] === 're: hello', discord.shown('C1').join());
});

await test('a nonce that is enforced gives the same message twice', async () => {
    const channel = await client.channels.fetch('901');
    const first = await channel.send({ content: 'once', nonce: 'n-1', enforceNonce: true });
    const second = await channel.send({ content: 'once', nonce: 'n-1', enforceNonce: true });
    must(first.id === second.id && discord.shown('C1').filter((text) => text === 'once').length === 1, 'twice');
    await first.edit('once, edited');
    must(discord.shown('C1').includes('once, edited'), 'the edit');
});

await test('after op 7 the session goes on where it was, and nothing is missed', async () => {
    const [socket] = discord.live;
    discord.frame({ op: 7 });
    await discord.until(() => !discord.sockets.has(socket), 'the end of the socket');
    discord.say('1', 'hello in between', { channel: 'C1' });
    await discord.until(() => discord.shown('C1').includes('re: hello in between'), () => `an answer: ${heard.join()}`, 60000);
    must(discord.resumes === 1 && discord.identifies.length === 1, `${discord.resumes} resumes, ${discord.identifies.length} sessions`);
});

await test('a wrong token is refused', async () => {
    const other = makeClient();
    const error = await other.login('MTIz.wrong.token').then(() => null, (failure) => failure);
    must(error, 'it was accepted');
    await other.destroy();
});

await client.destroy();
await discord.stop();
finish();
process.exit();

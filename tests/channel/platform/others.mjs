// others.mjs: the gateway against telegram-test-api, a server of others: manners, since it knows no offsets.
import { createRequire } from 'node:module';

import { Fixture, obey } from './fixture.mjs';
import { startModel } from './model.mjs';
import { finish, must, test } from './tap.mjs';

const TelegramServer = createRequire(import.meta.url)('telegram-test-api');
const token = '123456:TEST-token_of-a-bot';
const server = new TelegramServer({ port: 19481 + (process.pid % 1000), host: '127.0.0.1', storage: 'RAM', storeTimeout: 600 });
await server.start();
const client = server.getClient(token, { timeout: 20000, userId: 1001, chatId: 1001, firstName: 'Ada' });

const platform = { token, url: server.config.apiURL, stop: () => server.stop() };
const fixture = new Fixture(platform, await startModel());
fixture.model.rule = obey;
fixture.configure();
fixture.start();

// The last text that the bot has sent.
async function reply() {
    const { result } = await client.getUpdates();
    return result.map(({ message }) => message.text);
}

await test('the owner is accepted and answered', async () => {
    const code = fixture.ethos('gateway', 'owner', 'telegram', '-q').split('\n')[0];
    await client.sendMessage(client.makeMessage(code));
    const lines = await reply();
    must(lines.some((line) => line.includes('owner')), `${lines}; ${fixture.log}`);
    await client.sendMessage(client.makeMessage('remember the cat is called Miso'));
    const answers = await reply();
    must(answers.includes('Noted.'), `${answers}; ${fixture.log}`);
    must(fixture.ethos('memory', 'show').includes('Miso'), 'memory');
});

await test('what it delivers again and again is answered once', async () => {
    await client.sendMessage(client.makeMessage('hello'));
    const answers = await reply();
    must(answers.join() === 'You said: hello', answers.join());
    must(fixture.model.requests.filter(({ messages }) => messages.at(-1).content === 'hello').length === 1, 'asked twice');
});

await fixture.stop('SIGTERM');
await server.stop();
fixture.model.stop();
finish();
process.exit();

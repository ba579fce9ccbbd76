// judge.mjs: telegram.mjs, the server that the other scripts use, tried by a library of others: grammy.
import { Bot, GrammyError } from 'grammy';

import { failed, startTelegram } from './telegram.mjs';
import { finish, must, test } from './tap.mjs';

const telegram = await startTelegram();
const ada = { id: 1001, first_name: 'Ada' };
const makeBot = () => new Bot(telegram.token, { client: { apiRoot: telegram.url } });
const refusal = async (call) => {
    try { await call(); } catch (error) { if (error instanceof GrammyError) return error; throw error; }
    throw new Error('nothing was refused');
};
const bot = makeBot();

await test('it knows its bot, and only its own token', async () => {
    await bot.init();
    must(bot.botInfo.username === 'ethos_test_bot', JSON.stringify(bot.botInfo));
    const error = await refusal(() => new Bot('1:wrong', { client: { apiRoot: telegram.url } }).init());
    must(error.error_code === 401, error.description);
});

await test('updates arrive once and in order, edits too; the offset confirms them', async () => {
    const heard = [];
    bot.on('message', (context) => { heard.push(context.message.text); });
    bot.on('edited_message', (context) => { heard.push(`edited: ${context.editedMessage.text}`); });
    telegram.say(ada, 'one');
    void bot.start();
    const two = telegram.say(ada, 'two');
    telegram.edit(two, 'two!');
    telegram.say(ada, '/start hello');
    await telegram.until(() => heard.length === 4 && telegram.updates.length === 0 && telegram.poll, 'four updates');
    must(heard.join() === 'one,two,edited: two!,/start hello', heard.join());
});

await test('messages are sent and edited; what is wrong is refused in the words of the documentation', async () => {
    const sent = await bot.api.sendMessage(ada.id, 'hello', { reply_parameters: { message_id: 1, allow_sending_without_reply: true } });
    await bot.api.editMessageText(ada.id, sent.message_id, 'hello again');
    must(telegram.shown(ada.id).join() === 'hello again', telegram.shown(ada.id).join());
    must((await refusal(() => bot.api.editMessageText(ada.id, sent.message_id, 'hello again'))).description.includes('not modified'), 'the same');
    must((await refusal(() => bot.api.editMessageText(ada.id, 99, 'x'))).description.includes('not found'), 'unknown');
    must((await refusal(() => bot.api.sendMessage(ada.id, 'x'.repeat(4097)))).description.includes('too long'), 'long');
    await bot.api.sendChatAction(ada.id, 'typing');
});

await test('a limit is thrown with the time to wait', async () => {
    telegram.fault('sendMessage', failed(429, 'Too Many Requests: retry after 7', { retry_after: 7 }));
    const error = await refusal(() => bot.api.sendMessage(ada.id, 'x'));
    must(error.error_code === 429 && error.parameters.retry_after === 7, JSON.stringify(error));
});

await test('two that poll: the older one is refused', async () => {
    const other = makeBot();
    await other.init();
    const stopped = new Promise((resolve) => { bot.catch(() => {}); telegram.until(({ calls }) => calls.filter(({ method }) => method === 'getUpdates').length > 8, 'polls').then(resolve, resolve); });
    await bot.stop();
    const first = bot.api.raw.getUpdates({ timeout: 30 });
    await telegram.until(({ poll }) => poll, 'a poll');
    const second = other.api.raw.getUpdates({ timeout: 1 });
    const error = await refusal(() => first);
    must(error.error_code === 409 && error.description.includes('terminated by other'), error.description);
    await second;
    void stopped;
});

await test('an active webhook refuses polls until it is deleted', async () => {
    await bot.api.raw.setWebhook({ url: 'https://example.com/hook' });
    must((await refusal(() => bot.api.raw.getUpdates({}))).description.includes('webhook is active'), 'refused');
    await bot.api.deleteWebhook();
    await bot.api.raw.getUpdates({ timeout: 0 });
});

await telegram.stop();
finish();
process.exit();

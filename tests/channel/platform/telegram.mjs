// telegram.mjs: the Bot API of Telegram as far as bots poll and send, on loopback: what its documentation says of the
// wire, and the faults that a network adds. judge.mjs has a library of others try it.
import { createServer } from 'node:http';

const TOKEN = '123456:TEST-token_of-a-bot';
const HELD_DEFAULT_MS = 50000;

const ok = (result) => ({ status: 200, body: { ok: true, result } });
const failed = (code, description, parameters) => ({ status: code, body: { ok: false, error_code: code, description, ...(parameters && { parameters }) } });

class Telegram {
    token = TOKEN;
    bot = { id: 123456, is_bot: true, first_name: 'Ethos', username: 'ethos_test_bot', can_join_groups: true, can_read_all_group_messages: false, supports_inline_queries: false };
    updates = [];         // not yet confirmed, in the order in which they happened
    nextUpdate = 1000;
    messageIds = new Map(); // chat -> last id
    messages = [];        // all that bots have sent: {chat, id, text, edits, args}
    calls = [];           // {method, args}
    webhook = '';
    poll = undefined;     // the request that waits
    faults = [];          // {method, when?(args), once, act}: see fault()
    watchers = new Set();
    retryAfterUntil = new Map();

    // ---- what people do ------------------------------------------------------------------------

    nextMessage(chat) {
        const id = (this.messageIds.get(chat) ?? 0) + 1;
        this.messageIds.set(chat, id);
        return id;
    }

    push(update) {
        this.updates.push({ update_id: this.nextUpdate++, ...update });
        this.#answerPoll();
    }

    // Somebody writes. {chat, from, text, ...}: chat defaults to the direct one. Returns the message.
    say(from, text, { chat, ...more } = {}) {
        const id = chat?.id ?? from.id;
        const message = {
            message_id: this.nextMessage(id),
            date: Math.floor(Date.now() / 1000),
            chat: chat ?? { id, type: 'private', first_name: from.first_name },
            from: { is_bot: false, ...from },
            text,
            ...more,
        };
        if (text?.startsWith('/')) message.entities ??= [{ type: 'bot_command', offset: 0, length: text.split(/\s/)[0].length }];
        this.push({ message });
        return message;
    }

    edit(message, text) {
        this.push({ edited_message: { ...message, text, edit_date: Math.floor(Date.now() / 1000) } });
    }

    // ---- what is seen of the bot ---------------------------------------------------------------

    // Texts as the chat shows them now.
    shown(chat) {
        return this.messages.filter((message) => message.chat === chat).map(({ text }) => text);
    }

    // Resolves once test(this) is true, which is looked at after every call of a method.
    until(test, what = 'something', ms = 20000) {
        if (test(this)) return Promise.resolve(this);
        return new Promise((resolve, reject) => {
            const end = (settle) => { clearTimeout(timer); clearInterval(again); this.watchers.delete(look); settle(); };
            const look = () => { if (test(this)) end(() => resolve(this)); };
            const timer = setTimeout(() => end(() => reject(new Error(`${what} did not happen`))), ms);
            const again = setInterval(look, 200); // for what no call of a method tells
            this.watchers.add(look);
        });
    }

    #changed() {
        for (const look of [...this.watchers]) look();
    }

    // The next call of a method (or each, until it is taken away) meets with: 'cut' before it is carried out, 'lose' the
    // answer after it was, 'hang', or an answer {status, body}; act may be a function of the arguments.
    fault(method, act, { times = 1, when = () => true } = {}) {
        const fault = { method, act, times, when };
        this.faults.push(fault);
        return () => { this.faults = this.faults.filter((other) => other !== fault); };
    }

    #takeFault(method, args) {
        const fault = this.faults.find((one) => one.method === method && one.when(args));
        if (!fault) return undefined;
        if (--fault.times <= 0) this.faults = this.faults.filter((other) => other !== fault);
        return typeof fault.act === 'function' ? fault.act(args, this) : fault.act;
    }

    // ---- methods -------------------------------------------------------------------------------

    getMe() {
        return ok(this.bot);
    }

    deleteWebhook() {
        this.webhook = '';
        return ok(true);
    }

    setWebhook({ url }) {
        this.webhook = url;
        if (this.poll) this.#endPoll(failed(409, 'Conflict: terminated by setWebhook request'));
        return ok(true);
    }

    // An update is confirmed when a poll names a greater offset; ids may have fallen since.
    #confirm(offset) {
        if (offset === undefined || offset <= 0) return;
        const at = this.updates.findLastIndex(({ update_id }) => update_id === offset - 1);
        if (at >= 0) this.updates.splice(0, at + 1);
    }

    #endPoll(answer) {
        const { timer, respond } = this.poll;
        clearTimeout(timer);
        this.poll = undefined;
        respond(answer);
    }

    #answerPoll() {
        if (!this.poll || this.updates.length === 0) return;
        this.#endPoll(ok(this.updates.slice(0, this.poll.limit)));
    }

    getUpdates({ offset, limit = 100, timeout = 0 }, respond) {
        if (this.webhook) return failed(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first");
        if (this.poll) this.#endPoll(failed(409, 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running'));
        this.#confirm(offset);
        const ms = Math.min(timeout * 1000, this.heldMs ?? HELD_DEFAULT_MS);
        if (this.updates.length > 0 || ms === 0) return ok(this.updates.slice(0, limit));
        this.poll = { respond, limit, timer: setTimeout(() => this.#endPoll(ok([])), ms) };
        return undefined;
    }

    #checkText({ chat_id, text }) {
        if (chat_id === undefined) return failed(400, 'Bad Request: chat_id is empty');
        if (typeof text !== 'string' || text.trim() === '') return failed(400, 'Bad Request: message text is empty');
        if (text.length > 4096) return failed(400, 'Bad Request: message is too long');
        return undefined;
    }

    sendMessage(args) {
        const wrong = this.#checkText(args);
        if (wrong) return wrong;
        const message = { chat: args.chat_id, id: this.nextMessage(args.chat_id), text: args.text, edits: 0, args, at: Date.now() };
        this.messages.push(message);
        return ok({ message_id: message.id, date: Math.floor(Date.now() / 1000), chat: { id: args.chat_id, type: args.chat_id < 0 ? 'group' : 'private' }, from: this.bot, text: args.text });
    }

    editMessageText(args) {
        const wrong = this.#checkText(args);
        if (wrong) return wrong;
        const message = this.messages.find(({ chat, id }) => chat === args.chat_id && id === args.message_id);
        if (!message) return failed(400, 'Bad Request: message to edit not found');
        if (message.text === args.text) return failed(400, 'Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message');
        message.text = args.text;
        message.edits++;
        return ok({ message_id: message.id, date: 1, edit_date: 2, chat: { id: args.chat_id, type: 'private' }, from: this.bot, text: args.text });
    }

    sendChatAction() {
        return ok(true);
    }

    answerCallbackQuery() {
        return ok(true);
    }

    // ---- the server ----------------------------------------------------------------------------

    async #serve(request, response) {
        let text = '';
        for await (const part of request) text += part;
        const [, token, method] = /^\/bot([^/]+)\/(\w+)/.exec(request.url) ?? [];
        const args = text ? JSON.parse(text) : {};
        const respond = ({ status, body }) => {
            if (response.destroyed) return;
            const raw = typeof body === 'string' ? body : JSON.stringify(body);
            response.writeHead(status, { 'content-type': typeof body === 'string' ? 'text/html' : 'application/json' }).end(raw);
        };
        if (token !== this.token) return void respond(failed(401, 'Unauthorized'));
        if (!['getMe', 'deleteWebhook', 'setWebhook', 'getUpdates', 'sendMessage', 'editMessageText', 'sendChatAction', 'answerCallbackQuery'].includes(method)) return void respond(failed(404, 'Not Found'));
        const fault = this.#takeFault(method, args);
        if (fault === 'hang') return;
        if (fault === 'cut') return void request.socket.destroy();
        if (fault && fault !== 'lose') { this.calls.push({ method, args, fault }); this.#changed(); return void respond(fault); }
        this.calls.push({ method, args });
        response.on('close', () => { if (this.poll?.respond === respond) { clearTimeout(this.poll.timer); this.poll = undefined; } });
        const answer = this[method](args, respond);
        this.#changed();
        if (fault === 'lose') return void request.socket.destroy();
        if (answer) respond(answer);
    }

    async start(port = 0) {
        this.server = createServer((request, response) => void this.#serve(request, response));
        await new Promise((resolve) => this.server.listen(port, '127.0.0.1', resolve));
        this.server.unref();
        this.port = this.server.address().port;
        this.url = `http://127.0.0.1:${this.port}`;
        return this;
    }

    // Cuts every connection; the port stays unless the server is stopped.
    cutAll() {
        this.server.closeAllConnections();
    }

    stop() {
        if (this.poll) clearTimeout(this.poll.timer);
        this.poll = undefined;
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }
}

export const startTelegram = () => new Telegram().start();
export const TELEGRAM_TOKEN = TOKEN;
export { failed };

// slack.mjs: the wire of Slack as far as bots use it, on loopback: Web API, Socket Mode, the Events API; what its
// documentation says, and the faults that a network adds. slack-judge.mjs has a library of others try it.
import { createHmac } from 'node:crypto';
import { createServer as createSecureServer } from 'node:https';

import { WebSocketServer } from 'ws';

import { Fake, readBody } from './fake.mjs';

const ok = (more = {}) => ({ body: { ok: true, ...more } });
const failed = (error, more = {}) => ({ body: { ok: false, error, ...more } });
export const limited = (seconds) => ({ status: 429, headers: { 'retry-after': String(seconds) }, body: { ok: false, error: 'ratelimited' } });

class Slack extends Fake {
    token = 'xoxb-1-test';
    appToken = 'xapp-1-test';
    signingSecret = '8f742231b10e8888abcd99yyyzzz85a5';
    team = 'T1';
    bot = { id: 'U0BOT', bot_id: 'B0BOT', name: 'ethos' };
    users = new Map([['U1', 'Ada'], ['U2', 'Bob'], ['U3', 'Cleo']]);
    messages = [];       // {channel, ts, thread_ts, user, text, edits, metadata, bot_id}
    sockets = new Set(); // {ws, number, open}: those that were greeted
    envelopes = new Map(); // envelope id -> {event, socket, acked, timer}
    heard = new Set();   // events that were acknowledged
    lost = new Set();    // and those that were given up
    tickets = new Set();
    retryMs = [0, 1000, 5000]; // Slack: at once, after a minute, after five
    ackMs = 3000;
    greets = true;
    wrongAcks = [];
    connections = undefined; // what hello says, if not how many there are
    #clock = 1700000000;
    #number = 0;

    async start() {
        await this.listen((request, response) => this.#serve(request, response));
        this.url = `${this.origin}/api`;
        this.wss = new WebSocketServer({ noServer: true });
        this.server.on('upgrade', (...args) => this.#upgrade(...args));
        return this;
    }

    #upgrade(request, socket, head) {
        const ticket = new URL(request.url, this.origin).searchParams.get('ticket');
        if (!this.tickets.delete(ticket)) return void socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n'); // once
        if (this.refusesSockets) return void socket.destroy();
        this.wss.handleUpgrade(request, socket, head, (ws) => this.#connected(ws));
    }

    // Sockets over TLS, beside the others. Gives the port.
    async listenSecurely(options) {
        const server = createSecureServer(options);
        server.on('upgrade', (...args) => this.#upgrade(...args));
        server.on('tlsClientError', () => { this.refusedCertificates = (this.refusedCertificates ?? 0) + 1; this.changed(); });
        await new Promise((resolve) => server.listen(0, resolve));
        server.unref();
        return server.address().port;
    }

    async stop() {
        for (const { timer } of this.envelopes.values()) clearTimeout(timer);
        for (const ws of this.wss.clients) ws.terminate();
        await this.close();
    }

    // ---- sockets -------------------------------------------------------------------------------

    #connected(ws) {
        const socket = { ws, number: ++this.#number, acks: [] };
        ws.on('message', (data) => this.#acked(socket, JSON.parse(data)));
        ws.on('close', (code) => { socket.code = code; this.sockets.delete(socket); this.changed(); });
        ws.on('error', () => {});
        if (!this.greets) { this.silent = socket; return void this.changed(); }
        this.sockets.add(socket);
        ws.send(JSON.stringify({ type: 'hello', num_connections: this.connections ?? this.sockets.size, debug_info: { host: 'fake', approximate_connection_time: 18060 }, connection_info: { app_id: 'A1' } }));
        this.changed();
    }

    #acked(socket, { envelope_id }) {
        const envelope = this.envelopes.get(envelope_id);
        if (!envelope || envelope.socket !== socket) { this.wrongAcks.push(envelope_id); return; }
        envelope.acked = true;
        this.heard.add(envelope.event);
        clearTimeout(envelope.timer);
        this.changed();
    }

    // Over one of the sockets; the next attempts follow until it is acknowledged.
    #deliver(event, attempt = 0) {
        const sockets = [...this.sockets].filter(({ deaf }) => !deaf);
        const envelope_id = `e-${this.envelopes.size}-${attempt}`;
        const envelope = { event, attempt, acked: false };
        this.envelopes.set(envelope_id, envelope);
        const again = () => {
            if (this.heard.has(event)) return;
            if (attempt < this.retryMs.length) this.#deliver(event, attempt + 1);
            else this.lost.add(event);
        };
        if (sockets.length === 0) {
            envelope.timer = setTimeout(again, this.retryMs[attempt]);
            return;
        }
        envelope.socket = sockets[Math.floor(Math.random() * sockets.length)];
        envelope.timer = setTimeout(again, this.ackMs + (this.retryMs[attempt] ?? 0));
        envelope.socket.ws.send(JSON.stringify({ envelope_id, type: 'events_api', accepts_response_payload: false, retry_attempt: attempt, retry_reason: attempt ? 'timeout' : '', payload: this.#callback(event) }));
    }

    #callback(event) {
        return { token: 'x', team_id: this.team, api_app_id: 'A1', event, type: 'event_callback', event_id: `Ev${this.#number++}`, event_time: Math.floor(Date.now() / 1000), authorizations: [{ team_id: this.team, user_id: this.bot.id, is_bot: true }] };
    }

    send(frame, socket = [...this.sockets][0]) {
        socket.ws.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
    }

    // Slack wants its sockets to be opened anew; they go away a moment later.
    refresh(reason = 'refresh_requested') {
        for (const socket of [...this.sockets]) {
            socket.deaf = true;
            this.send({ type: 'disconnect', reason, debug_info: { host: 'fake' } }, socket);
            setTimeout(() => socket.ws.close(1000), 3000);
        }
    }

    get unacked() {
        return [...new Set([...this.envelopes.values()].map(({ event }) => event))].filter((event) => !this.heard.has(event) && !this.lost.has(event));
    }

    // ---- the Events API ------------------------------------------------------------------------

    sign(body, { timestamp = String(Math.floor(Date.now() / 1000)), secret = this.signingSecret } = {}) {
        return { 'content-type': 'application/json', 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}` };
    }

    post(body, headers) {
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        return fetch(this.eventsUrl, { method: 'POST', body: text, headers: headers ?? this.sign(text) });
    }

    // ---- what people do ------------------------------------------------------------------------

    nextTs() {
        return `${Math.floor(Date.now() / 1000)}.${String(++this.#clock).slice(-6)}`;
    }

    direct(user) { return `D${user}`; }

    // Somebody writes; {channel, thread, quiet: nobody is told, more: members of the event}. Returns the message.
    say(user, text, { channel = this.direct(user), thread, quiet = false, more = {}, over = 'socket' } = {}) {
        const channel_type = channel.startsWith('D') ? 'im' : 'channel';
        const message = { type: 'message', channel, channel_type, user, text, ts: this.nextTs(), ...(thread && { thread_ts: thread }), ...more };
        this.messages.push({ edits: 0, ...message });
        if (quiet) return message;
        const events = [message];
        if (channel_type !== 'im' && text.includes(`<@${this.bot.id}>`)) events.push({ ...message, type: 'app_mention', channel_type: undefined });
        for (const event of events) {
            const told = { ...event, event_ts: event.ts, team: this.team };
            if (over === 'socket') this.#deliver(told);
            else void this.post(this.#callback(told));
        }
        return message;
    }

    edit(message, text) {
        this.#deliver({ type: 'message', subtype: 'message_changed', hidden: true, channel: message.channel, channel_type: message.channel_type, ts: this.nextTs(), message: { ...message, text, edited: { user: message.user, ts: '1' } }, previous_message: message });
    }

    shown(channel) {
        return this.messages.filter((message) => message.channel === channel && message.bot_id).map(({ text }) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'));
    }

    // ---- methods -------------------------------------------------------------------------------

    'auth.test'() {
        return ok({ url: 'https://test.slack.com/', team: 'Test', user: this.bot.name, team_id: this.team, user_id: this.bot.id, bot_id: this.bot.bot_id });
    }

    'apps.connections.open'() {
        const ticket = `t${++this.#number}`;
        this.tickets.add(ticket);
        return ok({ url: this.socketUrl ?? `${this.socketOrigin ?? this.origin.replace('http', 'ws')}/link?ticket=${ticket}&app_id=A1` });
    }

    'users.info'({ user }) {
        const name = this.users.get(user);
        return name ? ok({ user: { id: user, name: name.toLowerCase(), real_name: name, profile: { display_name: name, real_name: name } } }) : failed('user_not_found');
    }

    'chat.postMessage'({ channel, text, thread_ts, metadata }) {
        if (!channel) return failed('channel_not_found');
        if (!text) return failed('no_text');
        const meta = typeof metadata === 'string' ? JSON.parse(metadata) : metadata;
        const message = { type: 'message', channel, ts: this.nextTs(), user: this.bot.id, bot_id: this.bot.bot_id, text, edits: 0, ...(thread_ts && { thread_ts }), ...(meta && { metadata: meta }), at: Date.now() };
        this.messages.push(message);
        return ok({ channel, ts: message.ts, message: { type: 'message', user: this.bot.id, bot_id: this.bot.bot_id, text, ts: message.ts } });
    }

    'chat.update'({ channel, ts, text }) {
        const message = this.messages.find((one) => one.channel === channel && one.ts === ts && one.bot_id);
        if (!message) return failed('message_not_found');
        message.text = text;
        message.edits++;
        return ok({ channel, ts, text });
    }

    #listed({ metadata, edits, at, ...message }, wanted) {
        void edits, at;
        return { ...message, channel: undefined, channel_type: undefined, ...(wanted && metadata && { metadata }) };
    }

    'conversations.history'({ channel, oldest = '0', limit = 100, include_all_metadata }) {
        const found = this.messages.filter((message) => message.channel === channel && message.ts > oldest && (!message.thread_ts || message.thread_ts === message.ts)).reverse();
        return ok({ messages: found.slice(0, limit).map((message) => this.#listed(message, String(include_all_metadata) === 'true')), has_more: found.length > limit });
    }

    'conversations.replies'({ channel, ts, oldest = '0', limit = 100, include_all_metadata }) {
        const found = this.messages.filter((message) => message.channel === channel && (message.ts === ts || (message.thread_ts === ts && message.ts > oldest)));
        return ok({ messages: found.slice(0, limit).map((message) => this.#listed(message, String(include_all_metadata) === 'true')), has_more: found.length > limit });
    }

    async #serve(request, response) {
        const text = await readBody(request);
        const method = new URL(request.url, this.origin).pathname.replace('/api/', '');
        const args = request.headers['content-type']?.includes('json') ? JSON.parse(text || '{}') : Object.fromEntries(new URLSearchParams(text));
        const given = request.headers.authorization?.replace('Bearer ', '') ?? args.token;
        await this.answer(response, method, args, () => {
            const wanted = method === 'apps.connections.open' ? this.appToken : this.token;
            if (given !== wanted) return failed('invalid_auth');
            return this[method] ? this[method](args) : failed('unknown_method');
        });
    }
}

export const startSlack = () => new Slack().start();
export { failed, ok };

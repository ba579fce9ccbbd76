// discord.mjs: the wire of Discord as far as bots use it, on loopback: REST with its limits, the gateway with sessions that
// are gone on with; what its documentation says, and the faults that a network adds. discord-judge.mjs has a library of
// others try it.
import { WebSocketServer } from 'ws';

import { Fake, readBody } from './fake.mjs';

const EPOCH = 1420070400000n;
export const ok = (body) => ({ body });
export const refused = (status, code, message) => ({ status, body: { code, message } });
export const limited = (seconds, { global = false } = {}) => ({ status: 429, headers: { 'retry-after': String(Math.ceil(seconds)), 'x-ratelimit-global': String(global), 'x-ratelimit-scope': global ? 'global' : 'user' }, body: { message: 'You are being rate limited.', retry_after: seconds, global } });

class Discord extends Fake {
    token = 'MTIz.test.token-of-a-bot';
    bot = { id: '100', username: 'ethos', discriminator: '0000', global_name: null, avatar: null, bot: true };
    users = new Map([['1', 'Ada'], ['2', 'Bob'], ['3', 'Cleo']]);
    guild = { id: '900', name: 'Team' };
    channels = new Map([['C1', '901'], ['C2', '902'], ['T1', '903']]); // 903: a thread
    messages = [];        // {channel_id, id, author, content, edits, nonce, ...}
    sessions = new Map(); // id -> {seq, events: [{s, t, d}], ended}
    sockets = new Set();  // {ws, session, intents, identified, beats}
    interval = 41250;
    remaining = 999;
    resetAfter = 14400000;
    identifies = [];      // intents of each
    resumes = 0;
    greets = true;
    answersBeats = true;
    nonceMs = 300000;
    buckets = new Map();  // path -> {remaining, reset}; only those that a test sets
    #last = 0n;

    async start() {
        await this.listen((request, response) => this.#serve(request, response));
        this.url = `${this.origin}/api/v10`;
        this.gatewayUrl = this.origin.replace('http', 'ws');
        this.wss = new WebSocketServer({ noServer: true });
        this.server.on('upgrade', (request, socket, head) => {
            if (this.refusesSockets) return void socket.destroy();
            this.wss.handleUpgrade(request, socket, head, (ws) => this.#connected(ws, request));
        });
        return this;
    }

    async stop() {
        for (const ws of this.wss.clients) ws.terminate();
        await this.close();
    }

    nextId() {
        const id = (BigInt(Date.now()) - EPOCH) << 22n;
        this.#last = id > this.#last ? id : this.#last + 1n;
        return String(this.#last);
    }

    // ---- the gateway ---------------------------------------------------------------------------

    #connected(ws, request) {
        const socket = { ws, beats: 0, url: request.url };
        const close = ws.close.bind(ws);
        ws.close = (...args) => {
            socket.ours = true;
            if ([4007, 4009].includes(args[0]) && socket.session) socket.session.ended = true;
            close(...args);
        };
        this.sockets.add(socket);
        ws.on('message', (data) => { if (data.length > 4096) ws.close(4002); else this.#heard(socket, JSON.parse(data)); this.changed(); });
        ws.on('close', (code) => {
            socket.code = code;
            this.sockets.delete(socket);
            if (!socket.ours && (code === 1000 || code === 1001) && socket.session) socket.session.ended = true; // by the bot
            this.changed();
        });
        ws.on('error', () => {});
        if (this.greets) this.#send(socket, { op: 10, d: { heartbeat_interval: this.interval, _trace: [] } });
        this.changed();
    }

    #send(socket, frame) {
        socket.ws.send(JSON.stringify({ t: null, s: null, d: null, ...frame }));
    }

    #heard(socket, { op, d }) {
        if (op === 1) { socket.beats++; socket.lastBeat = d; if (this.answersBeats) this.#send(socket, { op: 11 }); }
        else if (op === 2) this.#identify(socket, d);
        else if (op === 6) this.#resume(socket, d);
    }

    #identify(socket, { token, intents }) {
        if (token !== this.token) return void socket.ws.close(4004, 'Authentication failed.');
        this.identifies.push(intents);
        this.remaining--;
        if (this.closeIdentify) return void socket.ws.close(this.closeIdentify);
        if (this.refuses && (intents & this.refuses)) return void socket.ws.close(4014, 'Disallowed intent(s).');
        const session = { id: `s${this.sessions.size}-${Math.random().toString(36).slice(2)}`, seq: 0, events: [], intents };
        this.sessions.set(session.id, session);
        socket.session = session;
        session.socket = socket;
        this.#dispatch(session, 'READY', { v: 10, user: this.bot, guilds: [{ id: this.guild.id, unavailable: true }], session_id: session.id, resume_gateway_url: this.gatewayUrl, session_type: 'normal', application: { id: '100', flags: 0 } });
        this.#dispatch(session, 'GUILD_CREATE', { ...this.guild, owner_id: '1', members: [], member_count: 3, roles: [], emojis: [], stickers: [], features: [], channels: [...this.channels.values()].map((id) => ({ id, type: 0, name: id, permission_overwrites: [] })), threads: [], presences: [], voice_states: [], stage_instances: [], guild_scheduled_events: [], preferred_locale: 'en-US', verification_level: 0, default_message_notifications: 0, explicit_content_filter: 0, mfa_level: 0, premium_tier: 0, nsfw_level: 0, system_channel_flags: 0, joined_at: new Date().toISOString(), large: false });
    }

    #resume(socket, { token, session_id, seq }) {
        this.resumes++;
        const session = this.sessions.get(session_id);
        if (token !== this.token) return void socket.ws.close(4004);
        if (this.refusesResume) return void this.refusesResume(socket, (frame) => this.#send(socket, frame));
        if (!session || session.ended || seq > session.seq) return void this.#send(socket, { op: 9, d: false });
        socket.session = session;
        session.socket = socket;
        for (const event of session.events.filter(({ s }) => s > seq)) this.#send(socket, { op: 0, ...event });
        this.#dispatch(session, 'RESUMED', { _trace: [] });
    }

    // Kept for a resume, and sent when somebody listens.
    #dispatch(session, t, d) {
        const event = { s: ++session.seq, t, d };
        session.events.push(event);
        const open = session.socket && this.sockets.has(session.socket);
        if (open) this.#send(session.socket, { op: 0, ...event });
        this.changed();
    }

    // To all sessions that were begun, as far as their intents go.
    #publish(t, d) {
        const bit = d.guild_id ? 512 : 4096;
        const mentioned = d.mentions?.some(({ id }) => id === this.bot.id);
        for (const session of this.sessions.values()) {
            if (session.ended || !(session.intents & bit)) continue;
            const blind = d.guild_id && !(session.intents & 32768) && !mentioned;
            this.#dispatch(session, t, blind ? { ...d, content: '', attachments: [] } : d);
        }
    }

    get live() { return [...this.sockets].filter(({ session }) => session); }

    frame(frame, socket = this.live[0]) {
        if (typeof frame === 'string') socket.ws.send(frame);
        else this.#send(socket, frame);
    }

    // ---- what people do ------------------------------------------------------------------------

    direct(user) { return `77${user}`; }

    user(id) {
        return { id, username: (this.users.get(id) ?? id).toLowerCase(), global_name: this.users.get(id) ?? null, discriminator: '0', avatar: null };
    }

    // Somebody writes; {channel: 'C1', reply: a message, quiet: nobody is told, more: members}. Returns the message.
    say(user, content, { channel, reply, quiet = false, more = {} } = {}) {
        const channel_id = channel ? this.channels.get(channel) ?? channel : this.direct(user);
        const mentions = [...content.matchAll(/<@!?(\d+)>/g)].map(([, id]) => (id === this.bot.id ? this.bot : this.user(id)));
        const message = {
            id: this.nextId(), channel_id, type: reply ? 19 : 0, author: this.user(user), content, timestamp: new Date().toISOString(), edited_timestamp: null, tts: false, mention_everyone: false,
            mentions, mention_roles: [], attachments: [], embeds: [], pinned: false, components: [], flags: 0,
            ...(channel && { guild_id: this.guild.id, member: { roles: [], joined_at: new Date().toISOString(), deaf: false, mute: false, nick: null } }),
            ...(reply && { message_reference: { message_id: reply.id, channel_id }, referenced_message: reply }),
            ...more,
        };
        this.messages.push({ edits: 0, ...message });
        if (!quiet) this.#publish('MESSAGE_CREATE', message);
        return message;
    }

    edit(message, content) {
        this.#publish('MESSAGE_UPDATE', { ...message, content, edited_timestamp: new Date().toISOString() });
    }

    shown(chat) {
        const id = this.channels.get(chat) ?? chat;
        return this.messages.filter(({ channel_id, author }) => channel_id === id && author.id === this.bot.id).map(({ content }) => content);
    }

    // ---- REST ----------------------------------------------------------------------------------

    #rest = [
        ['GET', /^\/users\/@me$/, () => ok(this.bot), 'me'],
        ['GET', /^\/gateway\/bot$/, () => ok({ url: this.gatewayUrl, shards: 1, session_start_limit: { total: 1000, remaining: this.remaining, reset_after: this.resetAfter, max_concurrency: 1 } }), 'gateway'],
        ['POST', /^\/channels\/(\d+)\/messages$/, ([channel], body) => this.#post(channel, body), 'send'],
        ['PATCH', /^\/channels\/(\d+)\/messages\/(\d+)$/, ([channel, id], body) => this.#patch(channel, id, body), 'edit'],
        ['GET', /^\/channels\/(\d+)\/messages$/, ([channel], query) => this.#history(channel, query), 'history'],
        ['GET', /^\/channels\/(\d+)$/, ([channel]) => this.#channel(channel), 'channel'],
        ['POST', /^\/channels\/(\d+)\/typing$/, () => ({ status: 204 }), 'typing'],
    ];

    #channel(id) {
        const known = [...this.channels.values()].includes(id);
        return known ? ok({ id, type: 0, guild_id: this.guild.id, name: id }) : id.startsWith('77') ? ok({ id, type: 1, recipients: [] }) : refused(404, 10003, 'Unknown Channel');
    }

    #post(channel_id, body) {
        if (typeof body.content !== 'string' || !body.content.trim()) return refused(400, 50006, 'Cannot send an empty message');
        if ([...body.content].length > 2000) return refused(400, 50035, 'Invalid Form Body');
        const again = body.enforce_nonce && this.messages.find((one) => one.channel_id === channel_id && one.nonce === body.nonce && one.author.id === this.bot.id && Date.now() - one.at < this.nonceMs);
        if (again) return ok(again);
        const message = { id: this.nextId(), channel_id, type: body.message_reference ? 19 : 0, author: this.bot, content: body.content.trim(), timestamp: new Date().toISOString(), edited_timestamp: null, tts: false, mention_everyone: false, mentions: [], mention_roles: [], attachments: [], embeds: [], pinned: false, nonce: body.nonce, edits: 0, at: Date.now(), body };
        this.messages.push(message);
        this.#publish('MESSAGE_CREATE', { ...message, ...([...this.channels.values()].includes(channel_id) && { guild_id: this.guild.id }) });
        return ok(message);
    }

    #patch(channel, id, body) {
        const message = this.messages.find((one) => one.channel_id === channel && one.id === id);
        if (!message) return refused(404, 10008, 'Unknown Message');
        if (message.author.id !== this.bot.id) return refused(403, 50005, 'Cannot edit a message authored by another user');
        message.content = body.content.trim();
        message.edits++;
        return ok(message);
    }

    #history(channel, { after = '0', limit = '50' }) {
        const found = this.messages.filter((one) => one.channel_id === channel && BigInt(one.id) > BigInt(after));
        return ok(found.slice(0, Number(limit)).reverse().map(({ nonce, member, guild_id, body, at, edits, ...message }) => { void nonce, member, guild_id, body, at, edits; return message; }));
    }

    async #serve(request, response) {
        const text = await readBody(request);
        const url = new URL(request.url, this.origin);
        const path = url.pathname.replace('/api/v10', '');
        const [, pattern, run, name] = this.#rest.find(([method, one]) => method === request.method && one.test(path)) ?? [];
        const body = text ? JSON.parse(text) : Object.fromEntries(url.searchParams);
        const args = { ...body, channel: /\/channels\/(\d+)/.exec(path)?.[1], path };
        this.agent = request.headers['user-agent'];
        await this.answer(response, name ?? path, args, () => {
            if (request.headers.authorization !== `Bot ${this.token}`) return refused(401, 0, '401: Unauthorized');
            if (!run) return refused(404, 0, '404: Not Found');
            const bucket = this.buckets.get(args.channel);
            if (bucket && name === 'send') {
                if (Date.now() >= bucket.until) Object.assign(bucket, { left: bucket.size, until: Date.now() + bucket.ms });
                if (bucket.left === 0) { bucket.exceeded = (bucket.exceeded ?? 0) + 1; return limited((bucket.until - Date.now()) / 1000); }
                bucket.left--;
            }
            const answer = run(pattern.exec(path).slice(1), body);
            if (bucket && name === 'send') answer.headers = { 'x-ratelimit-bucket': 'b1', 'x-ratelimit-limit': String(bucket.size), 'x-ratelimit-remaining': String(bucket.left), 'x-ratelimit-reset-after': String((bucket.until - Date.now()) / 1000) };
            return answer;
        });
    }
}

export const startDiscord = () => new Discord().start();

/*
 * chat.js: a conversation that goes on here: a transcript with the turn that is being answered below it, and the
 * field for the next message. Turns run at the server; any window may show one, and comes back to it.
 */
import { client } from './client.js';
import { Composer } from './composer.js';
import { dialog } from './dialog.js';
import { fill, h, refill } from './dom.js';
import { count, plural } from './format.js';
import { icon } from './icons.js';
import { LiveTurn } from './live.js';
import { article, noteLinks, render } from './markdown.js';
import { Remembered, undoOf } from './remembered.js';
import { nameOf, Transcript } from './transcript.js';
import { button, copy, iconButton, notice } from './ui.js';

const FRAME_MS = 16;
const NEAR_END = 80; // pixels within which what comes is followed
/* As the server writes what was attached. */
const ATTACHMENTS = /\n\n<attachment name="([^"\n]*)">\n([^]*?)\n<\/attachment>/;
const CLIENT = `page-${crypto.randomUUID()}`; // of this window

export class Chat extends Transcript {
    /** id: null for one that is not begun. how: as for Transcript, and begun(id). */
    constructor(ctx, id, how) {
        super(ctx, id, how);
        Object.assign(this, { live: null, sent: [], failure: null, personality: null, stream: null, following: true, top: 0, placed: false, ready: new Map(), shown: 0, cards: new Map(), events: [], laid: false });
        this.changesBox = h('div'); // cards stand with the messages
        this.node.classList.add('chat');
        this.liveBox = h('ol', { class: 'talk chat-live', 'aria-label': 'The answer' });
        this.problems = h('div', { class: 'chat-problem', role: 'status' });
        this.status = h('p', { class: 'visually-hidden', role: 'status' });
        this.onward = h('div', { class: 'chat-onward', hidden: true }, button({ label: 'New text', icon: 'chevron', kind: 'small', run: () => this.toEnd() }));
        this.composer = new Composer(id ?? 'new', { send: (message) => this.send(message), stop: () => this.stop(), fail: ctx.fail });
        this.growth = new ResizeObserver(() => this.grew());
        for (const box of [this.talk, this.liveBox, this.problems]) this.growth.observe(box);
        document.addEventListener('scroll', this.scrolled = () => this.noteScroll(), { passive: true });
        this.offer();
        document.addEventListener('visibilitychange', this.shownOrHidden = () => this.tune());
        this.tune();
    }

    async load(params) {
        if (this.id) return super.load(params);
        this.lay();
        this.paintHead();
    }

    lay() {
        if (this.laid) return;
        this.laid = true;
        fill(this.node, this.headBox, this.earlier, this.talk, this.liveBox, this.problems, this.later, this.status,
            h('div', { class: 'chat-foot' }, this.onward, this.composer.node));
    }

    close() {
        super.close();
        this.closed = true;
        this.stream?.close();
        this.growth.disconnect();
        document.removeEventListener('scroll', this.scrolled);
        document.removeEventListener('visibilitychange', this.shownOrHidden);
        this.composer.keep();
    }

    /* ---- head --------------------------------------------------------------------------------- */

    paintHead() {
        const { session } = this;
        refill(this.headBox, h('div', { class: 'chat-head' },
            h('span', { class: 'chat-back' }, iconButton({ label: 'All conversations', icon: 'previous', run: this.how.back })),
            h('h2', { class: 'lead ellipsis', dir: 'auto' }, session?.pinned ? icon('pin', 16) : null, session ? nameOf(session) : 'New chat'),
            session?.parentSessionId ? h('a', { class: 'small nowrap', href: this.ctx.href(`sessions/${session.parentSessionId}`) }, icon('fork', 14), ' forked') : null,
            session ? iconButton({ label: 'More', icon: 'more', run: () => this.menu() }) : null));
        if (!this.id && !this.sent.length) fill(this.problems, h('div', { class: 'empty' }, h('p', 'Ask a question or start a task. The agent knows your memory and remembers what it learns.')));
        this.paintFacts();
    }

    paintFacts() {
        const { session } = this;
        const model = this.live?.model ?? session?.model;
        this.composer.model.textContent = model ?? '';
        const tokens = session ? session.usage.inputTokens + session.usage.outputTokens : 0;
        const cost = session?.usage.estimatedCostUsd ?? 0;
        this.composer.facts.textContent = tokens ? `${count(tokens)} tokens${cost ? ` · $${cost.toFixed(2)}` : ''}` : '';
    }

    menu() {
        const box = dialog({
            title: nameOf(this.session),
            body: h('div', { class: 'menu' }, this.commands().map(({ name, icon: picture, run }) =>
                h('button', { type: 'button', class: 'row', on: { click: () => { box.close(); run(); } } }, icon(picture), name))),
        });
    }

    async offer() {
        const { rows, active } = await this.ctx.options.personality().catch(() => ({ rows: [] }));
        const value = this.personality ?? this.session?.personalityId ?? this.ctx.scope.personalityId ?? active;
        this.composer.offer({ rows, value, change: (id) => { this.personality = id; } });
    }

    /* ---- the session as the server has it ------------------------------------------------------ */

    async ask() {
        const { live } = this, over = live?.over;
        return { ...(await super.ask()), live, over };
    }

    async take(answer) {
        const mine = ++this.shown;
        const ends = answer.over && answer.live === this.live;
        if (ends) await this.prepare(answer.messages);
        if (mine !== this.shown || this.closed) return;
        answer.live?.join();
        if (ends) this.settle();
        this.forgetSent(answer.messages);
        this.paintRunning();
        this.tune();
        const first = !this.session;
        super.take(answer);
        if (ends || answer.live) this.paintTalk();
        if (first) this.offer();
        this.paintMarks();
    }

    /* The answer is drawn as it was, in the same moment in which the live one goes. */
    async prepare(messages) {
        this.ready.clear();
        for (const { role, content } of messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1))
            if (role === 'assistant' && content.trim()) this.ready.set(content, await render(this.ctx, content).catch(() => null));
    }

    settle() {
        this.live.node.remove();
        this.live = null;
    }

    paintRunning() {
        this.composer.running(this.live ? !this.live.over : this.sent.length > 0 && !this.failure);
    }

    /* What is answered now stands below, from its events. */
    groups() {
        const groups = super.groups();
        if (!this.live?.began || !this.live.known) return groups;
        return groups.slice(0, groups.findLastIndex(({ message }) => message.role === 'user') + 1);
    }

    paintTalk() {
        super.paintTalk();
        this.paintActions();
    }

    text(message) {
        if (message.role === 'user') return this.question(message);
        const nodes = this.ready.get(message.content);
        if (!nodes) return super.text(message);
        return h('div', { class: 'message-text', dir: 'auto' }, article(nodes, { link: noteLinks(this.ctx) }));
    }

    /* What is attached stands below the message, folded under its name. */
    question(message) {
        const [text, ...files] = message.content.split(ATTACHMENTS);
        const rows = [];
        for (let i = 0; i < files.length; i += 2) rows.push(h('details', { class: 'fold' }, h('summary', icon('clip', 14), h('span', { class: 'fold-name ellipsis' }, files[i])), h('pre', { tabindex: '0', role: 'group', 'aria-label': files[i] }, files[i + 1])));
        const box = super.text({ ...message, content: text.trim() });
        return rows.length ? [box, rows] : box;
    }

    /* What can be done with a message: its turn is over. */
    paintActions() {
        const groups = this.groups();
        const last = groups.findLast(({ message }) => message.role === 'assistant')?.message;
        for (const { message } of groups) {
            const box = this.entries.get(message.id)?.node.querySelector('.message-actions');
            if (!box) continue;
            const texts = message.content.trim() !== '';
            refill(box,
                message.role === 'user' && !this.next ? iconButton({ label: 'Edit and send in a copy of the conversation', icon: 'edit', run: () => this.edit(message) }) : null,
                message.role === 'assistant' && texts ? button({ label: 'Copy', icon: 'copy', kind: 'quiet small', run: () => copy(message.content) }) : null,
                message === last && message === groups.at(-1).message && !this.live && !this.failure ? button({ label: 'Retry', icon: 'restore', kind: 'quiet small', title: 'Ask again; this answer is replaced', run: () => this.retry() }) : null);
        }
    }

    newEntry(message, calls, again) {
        const node = super.newEntry(message, calls, again);
        node.querySelector('.message-body').append(h('div', { class: 'message-actions' }));
        return node;
    }

    /* An undo shows at what it undid. */
    place(change) {
        return change.undoes?.length ? null : super.place(change);
    }

    paintMarks() {
        const focused = document.activeElement?.closest('.remembered')?.dataset.change;
        super.paintMarks();
        if (focused && !document.activeElement?.closest('.remembered')) this.node.querySelector(`.remembered[data-change="${focused}"] button`)?.focus({ preventScroll: true });
    }

    mark(change) {
        const sign = `${change.scope} ${change.key} ${change.number} ${undoOf(change, this.changes)?.number ?? ''}`;
        if (!this.cards.has(sign)) this.cards.set(sign, new Remembered(this.ctx, this.id, change, this.changes).node);
        return this.cards.get(sign);
    }

    /* ---- the turn that is answered ------------------------------------------------------------- */

    /* A browser opens few connections to one server: a window that nobody sees has none, unless it waits for an answer. */
    tune() {
        if (this.closed) return;
        const wanted = this.id && (!document.hidden || this.live || this.sent.length > 0);
        if (wanted) this.stream ??= client.sessionEvents(this.id, { signal: this.ctx.signal, lastEventId: this.lastEventId, onEvent: (event) => this.heard(event) });
        if (wanted || !this.stream) return;
        this.lastEventId = this.stream.lastEventId;
        this.stream.close();
        this.stream = null;
    }

    /* What comes together is shown together: who comes back gets all that is retained, at once. */
    heard(event) {
        this.events.push(event);
        if (this.events.length === 1) setTimeout(() => this.takeAll(this.events.splice(0)), FRAME_MS);
    }

    takeAll(events) {
        const start = events.findLastIndex(({ type }) => type === 'run_start');
        const end = events.findIndex(({ type, code }, i) => i >= start && (type === 'done' || (type === 'error' && code !== 'BUSY')));
        if (start > 0 || end >= 0) this.marks.soon();
        for (const event of events.slice(start >= 0 && end >= 0 ? end : Math.max(start, 0))) this.takeEvent(event);
    }

    takeEvent(event) {
        if (event.type === 'run_start') this.begin(event);
        else if (event.type === 'done' || event.type === 'error') this.end(event);
        else if (event.type === 'memory.captured') this.marks.soon();
        else if (['text_delta', 'thinking_delta', 'tool_start', 'tool_end'].includes(event.type) || (event.type === 'notification' && this.live && !this.live.over))
            (this.live && !this.live.over ? this.live : this.begin(null)).take(event);
    }

    /* start: null when the beginning was not heard. */
    begin(start) {
        this.live?.node.remove();
        this.live = new LiveTurn(this.ctx, { began: start !== null });
        this.live.model = start?.model;
        this.liveBox.append(this.live.node);
        this.fail(null);
        this.paintRunning();
        this.status.textContent = 'The answer begins.';
        this.paintFacts();
        this.paintActions();
        this.fresh.soon();
        return this.live;
    }

    end(event) {
        if (event.code === 'BUSY') return this.refuse(event);
        if (event.type === 'error') this.fail(event);
        this.live?.end();
        this.paintRunning();
        this.status.textContent = event.type === 'done' ? 'The answer is complete.' : '';
        if (document.hidden && globalThis.Notification?.permission === 'granted')
            new Notification(event.type === 'done' ? 'The answer is complete' : 'The answer has failed', { body: document.title, tag: this.id });
        this.fresh.soon();
    }

    /* Too many messages wait: the one that was refused comes back. */
    refuse({ traceId, error }) {
        const at = this.sent.findLastIndex(({ turnId }) => !traceId || turnId === traceId);
        if (at < 0) return;
        const [{ text, bubble }] = this.sent.splice(at, 1);
        bubble.remove();
        this.composer.giveBack(text);
        this.ctx.toast(error);
    }

    /* Why there is no answer; null: there may be one. */
    fail(event) {
        this.failure = event;
        if (!event) return void fill(this.problems);
        const retry = button({ label: 'Retry', icon: 'restore', run: () => this.retry() });
        fill(this.problems, event.code === 'aborted' ? h('p', { class: 'cluster small muted' }, 'Stopped.', retry)
            : notice('danger', [event.error, event.code === 'SETUP_REQUIRED' ? h('span', { class: 'hint' }, '“ethos setup” chooses one.') : null], retry));
    }

    /* ---- sending ------------------------------------------------------------------------------- */

    async send(message) {
        const bubble = h('li', { class: 'message user pending' }, h('div', { class: 'message-body' }, h('div', { class: 'message-text message-plain', dir: 'auto' }, message.text)));
        const sent = { ...message, bubble };
        this.sent.push(sent);
        this.liveBox.append(bubble);
        this.fail(null);
        this.paintRunning();
        this.toEnd();
        try {
            sent.turnId = await this.post(this.id, message);
        } catch (error) {
            this.sent = this.sent.filter((other) => other !== sent);
            bubble.remove();
            this.paintRunning();
            this.composer.giveBack(message.text);
            this.ctx.fail(error);
        }
    }

    async post(id, message) {
        const personalityId = this.personality ?? this.session?.personalityId ?? undefined;
        const { sessionId, turnId } = await this.ctx.call('chat.send', { ...(id ? { sessionId: id } : {}), clientId: CLIENT, ...(personalityId ? { personalityId } : {}), ...message });
        if (!this.id) this.start(sessionId);
        return turnId;
    }

    /* The first message was sent, and so there is a session. */
    start(id) {
        this.id = id;
        this.wanted = {};
        this.composer.moveDraft(id);
        this.tune();
        this.how.begun(id);
        this.fresh.soon();
    }

    /* What the session has by now is shown as it has it. */
    forgetSent(messages) {
        const known = new Set(this.messages.map(({ id }) => id));
        for (const { id, role, content } of messages) {
            if (role !== 'user' || known.has(id)) continue;
            const at = this.sent.findIndex(({ text }) => content === text || content.startsWith(`${text}\n`));
            if (at >= 0) this.sent.splice(at, 1)[0].bubble.remove();
        }
    }

    async stop() {
        if (!this.id) return;
        this.status.textContent = 'Stopping.';
        await this.ctx.call('chat.abort', { sessionId: this.id }).catch(this.ctx.fail);
    }

    /* The question is asked again; the answer that was there goes. */
    async retry() {
        const question = this.messages.findLast(({ role }) => role === 'user');
        const [unsent] = this.sent;
        try {
            if (unsent) return void (await this.post(this.id, { text: unsent.text, attachments: unsent.attachments }));
            if (!question) return;
            await this.ctx.call('sessions.undo', { id: this.id });
            this.fail(null);
            await this.post(this.id, { text: question.content });
        } catch (error) {
            this.ctx.fail(error);
        }
    }

    /* ---- another way from here ----------------------------------------------------------------- */

    edit(message) {
        const { node } = this.entries.get(message.id);
        const body = node.querySelector('.message-body');
        const field = h('textarea', { class: 'input', dir: 'auto', 'aria-label': 'Your message, changed', value: message.content });
        const end = () => { form.remove(); body.hidden = false; node.classList.remove('editing'); body.querySelector('.message-actions button')?.focus(); };
        const form = h('form', { class: 'message-edit stack', on: {
            submit: (event) => { event.preventDefault(); this.resend(message, field.value.trim()).catch(this.ctx.fail); },
            keydown: (event) => {
                if (event.key === 'Escape') { event.stopPropagation(); end(); }
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
            },
        } }, field, h('div', { class: 'cluster' }, h('button', { type: 'submit', class: 'button primary small' }, 'Send in a copy'), button({ label: 'Cancel', kind: 'quiet small', run: end }),
            h('span', { class: 'small muted' }, 'This conversation stays as it is.')));
        body.hidden = true;
        node.classList.add('editing');
        body.after(form);
        field.focus();
    }

    /* In a copy that ends before the message. */
    async resend(message, text) {
        if (!text) return;
        const at = this.messages.findIndex(({ id }) => id === message.id);
        const turns = this.messages.slice(at).filter(({ role }) => role === 'user').length;
        const { session } = await this.ctx.busy(this.ctx.call('sessions.fork', { id: this.id }));
        await this.ctx.call('sessions.undo', { id: session.id, turns });
        await this.post(session.id, { text });
        this.how.forked(session.id);
        this.ctx.toast(`This is a copy without ${plural(turns, 'turn')}; the other one stays as it is.`);
    }

    /* ---- the end of it ------------------------------------------------------------------------- */

    distance() {
        const { scrollHeight, scrollTop, clientHeight } = document.scrollingElement;
        return scrollHeight - scrollTop - clientHeight;
    }

    noteScroll() {
        if (!this.placed) return;
        const { scrollTop } = document.scrollingElement;
        if (this.distance() <= NEAR_END) this.following = true;
        else if (scrollTop < this.top) this.following = false; // else the text grew since it was scrolled
        this.top = scrollTop;
        if (this.following) this.onward.hidden = true;
    }

    grew() {
        if (!this.node.isConnected) return;
        if (this.following) this.toEnd();
        else if (this.live) this.onward.hidden = false;
        this.placed = true;
    }

    toEnd() {
        this.following = true;
        this.onward.hidden = true;
        window.scrollTo(0, document.scrollingElement.scrollHeight);
        this.top = document.scrollingElement.scrollTop;
    }

    async reveal(params) {
        if (params.m || params.t) this.following = false;
        await super.reveal(params);
    }

    reply() {
        this.composer.field.focus();
    }
}

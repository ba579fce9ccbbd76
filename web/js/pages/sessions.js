/*
 * pages/sessions.js: conversations. Search first: hits with their snippet; else the newest ones. Those that the
 * agent of this home has go on here; what other agents recorded is shown, and goes on in a copy.
 * Address: sessions/ID, sessions/new; parameters: q (search), m=MESSAGE or t=TIME (the place to show).
 */
import { Chat } from '../chat.js';
import { fill, h, refill } from '../dom.js';
import { count, plural } from '../format.js';
import { upTo } from '../fresh.js';
import { icon } from '../icons.js';
import { sheet } from '../sheet.js';
import { nameOf, Transcript } from '../transcript.js';
import { button, command, empty, problem, time } from '../ui.js';

const PAGE = 50;
const HITS = 60; // of a search
const HITS_EACH = 3; // of one conversation

const OURS = ['web', 'cli']; // platforms: of this dashboard and its like, of ethos ask and ethos chat

const folder = (path) => path?.split('/').filter(Boolean).at(-1) ?? null;

const page = {
    title: 'Conversations',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx, transcript: null, sessions: [], cursor: null, query: null, many: PAGE });
        await Promise.all([sheet('pages-sessions'), sheet('pages-chat')]);
        this.capabilities = ctx.call('meta.capabilities').catch(() => ({ capabilities: {} }));
        this.status = h('p', { class: 'small muted sessions-status', role: 'status' });
        this.rows = h('div', { class: 'sessions-rows' });
        this.more = h('div', { class: 'sessions-more' });
        this.list = h('section', { class: 'sessions-list', 'aria-label': 'Conversations' }, this.status, this.rows, this.more);
        this.beside = h('section', { class: 'sessions-one', 'aria-label': 'Conversation' });
        root.append(this.list, this.beside);
        this.fresh = ctx.refresh(['session.changed'], { pause: 400, when: () => !this.query, ask: () => this.ask(), show: (answer) => this.paint(answer) });
        ctx.list(root, '.session-row, .session-hit, .message');
        ctx.keys({ Escape: () => this.escape(), r: () => this.transcript?.reply?.(), 'mod+.': () => this.transcript?.stop?.() });
        this.head();
        await Promise.all([this.load(), this.open()]);
    },

    async update(params) {
        const waits = [];
        if ((params.q ?? '') !== this.query) waits.push(this.load());
        else this.markOpen();
        waits.push(this.open());
        await Promise.all(waits);
    },

    unmount() {
        this.transcript?.close();
    },

    head() {
        const { ctx } = this;
        ctx.head({ search: { label: 'Search all conversations', value: ctx.params.q ?? '', input: (text) => ctx.set({ q: text.trim() || null }) },
            actions: [{ label: 'New chat', icon: 'plus', key: 'c', primary: true, run: () => ctx.go('sessions/new', { q: ctx.params.q }) }] });
    },

    /* ---- the list ----------------------------------------------------------------------------- */

    async load() {
        this.query = this.ctx.params.q ?? '';
        this.many = PAGE;
        try {
            await this.fresh.now();
        } catch (error) {
            if (error.name !== 'AbortError') fill(this.rows, problem(error));
        }
    },

    async ask() {
        const { query } = this;
        if (query) return { query, ...(await this.ctx.busy(this.ctx.call('sessions.search', { query, limit: HITS }))) };
        return upTo(this.many, (page) => this.ctx.own('sessions.list', { all: true, ...page }));
    },

    paint(answer) {
        if (answer.hits) this.paintFound(answer);
        else this.paintRecent(answer);
        this.markOpen();
    },

    async loadMore() {
        const { length } = this.sessions;
        this.many = length + PAGE;
        await this.ctx.busy(this.fresh.now());
        this.rows.querySelectorAll('.session-row')[length]?.focus();
    },

    paintRecent({ items, cursor }) {
        this.sessions = items;
        this.cursor = cursor;
        this.status.textContent = this.sessions.length ? `${plural(this.sessions.length, 'conversation')}${this.cursor ? ' and more' : ''}` : '';
        refill(this.rows, this.sessions.length ? h('ul', this.sessions.map((session) => h('li', this.row(session))))
            : empty('No conversations yet. Connect an agent to record them:', 'ethos install claude-code', h('p', 'or take in conversations that other programs kept:'), command('ethos sessions import ~/.claude/projects')));
        this.root.dataset.none = this.sessions.length ? '' : 'yes';
        fill(this.more, this.cursor ? button({ label: 'Show more', run: () => this.loadMore().catch(this.ctx.fail) }) : null);
    },

    row(session) {
        return h('a', { class: 'session-row', href: this.href(session.id), data: { id: session.id } },
            h('span', { class: 'session-title', dir: 'auto' }, session.pinned ? h('span', { class: 'session-pin', role: 'img', 'aria-label': 'Pinned' }, icon('pin', 14)) : null, nameOf(session)),
            h('span', { class: 'session-facts small muted' }, time(session.updatedAt),
                session.turnCount === undefined ? null : h('span', plural(session.turnCount, 'turn')),
                h('span', { class: 'ellipsis', title: session.workingDir }, folder(session.workingDir) ?? (session.platform === 'web' ? null : session.platform)),
                session.personalityId && session.personalityId !== 'default' ? h('span', session.personalityId) : null));
    },

    href(id, more = {}) {
        return this.ctx.href(`sessions/${id}`, { q: this.ctx.params.q, ...more });
    },

    /* ---- search ------------------------------------------------------------------------------- */

    paintFound({ query, hits }) {
        const found = new Map();
        for (const hit of hits) {
            if (!found.has(hit.session.id)) found.set(hit.session.id, []);
            found.get(hit.session.id).push(hit);
        }
        this.status.textContent = hits.length ? `${plural(hits.length, 'place')} in ${plural(found.size, 'conversation')}${hits.length === HITS ? '; the best ones' : ''}` : `Nobody said “${query}”.`;
        refill(this.rows, h('ul', [...found.values()].map((group) => h('li', { class: 'session-found' }, this.row(group[0].session),
            group.slice(0, HITS_EACH).map((hit) => this.hit(hit)),
            group.length > HITS_EACH ? h('p', { class: 'small faint session-rest' }, `${count(group.length - HITS_EACH)} more in it`) : null))));
        fill(this.more);
    },

    hit({ session, message, snippet }) {
        return h('a', { class: 'session-hit small', href: this.href(session.id, { m: message.id }) },
            h('span', { class: 'faint' }, ROLES[message.role] ?? message.role), ' ',
            h('span', { dir: 'auto' }, snippet.cutBefore ? '… ' : '', snippet.before, h('mark', snippet.match), snippet.after, snippet.cutAfter ? ' …' : ''));
    },

    markOpen() {
        for (const row of this.rows.querySelectorAll('.session-row')) {
            if (row.dataset.id === this.ctx.rest) row.setAttribute('aria-current', 'true');
            else row.removeAttribute('aria-current');
        }
    },

    /* ---- one conversation --------------------------------------------------------------------- */

    async open() {
        const { rest } = this.ctx;
        const id = rest === 'new' ? null : rest;
        this.root.dataset.open = rest ? 'one' : '';
        if (rest && this.transcript && this.transcript.id === id) return this.transcript.reveal(this.ctx.params);
        this.transcript?.close();
        this.transcript = null;
        if (!rest) return void fill(this.beside, h('p', { class: 'sessions-hint faint' }, 'Choose a conversation, or search with ', h('kbd', '/'), '.'));
        await this.openOne(id);
    },

    async openOne(id) {
        const { chat, canContinue } = await this.kindOf(id);
        if (this.ctx.rest !== (id ?? 'new')) return;
        if (!id && !chat) return void fill(this.beside, empty('No model is configured. Choose one:', 'ethos setup'));
        const transcript = new (chat ? Chat : Transcript)(this.ctx, id, {
            back: () => this.ctx.go('sessions', { q: this.ctx.params.q }),
            gone: () => { this.ctx.go('sessions', { q: this.ctx.params.q }, { replace: true }); this.fresh.soon(); },
            forked: (copy) => { this.ctx.go(`sessions/${copy}`); this.fresh.soon(); },
            begun: (made) => { this.ctx.go(`sessions/${made}`, { q: this.ctx.params.q }, { replace: true }); this.fresh.soon(); },
            changed: () => this.fresh.soon(),
            canContinue,
        });
        this.transcript = transcript;
        await transcript.load(this.ctx.params);
        if (this.transcript !== transcript) return;
        fill(this.beside, transcript.node);
        if (!chat && matchMedia('(max-width: 899px)').matches) window.scrollTo(0, 0);
        if (!id) transcript.reply();
        else await transcript.reveal(this.ctx.params);
    },

    /* One of this home's agent goes on as it is, and so does a copy, which is nobody else's; others in a copy. */
    async kindOf(id) {
        const read = id ? this.ctx.own('sessions.get', { id, limit: 1 }).then(({ session }) => session, () => null) : null;
        const [{ capabilities }, session] = await Promise.all([this.capabilities, read]);
        const ours = !id || (session && (OURS.includes(session.platform) || /:fork:\d+$/.test(session.key)));
        return { chat: Boolean(capabilities.chat && ours), canContinue: Boolean(capabilities.chat) };
    },

    escape() {
        if (!this.ctx.rest) return false;
        this.ctx.go('sessions', { q: this.ctx.params.q });
        return true;
    },

    /** For the palette. */
    commands() {
        return this.transcript?.commands() ?? [];
    },
};

export const ROLES = { user: 'You', assistant: 'Assistant', tool_result: 'Tool', system: 'System', user_steer: 'You' };

export default page;

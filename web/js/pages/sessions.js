/*
 * pages/sessions.js: what was said. Search first: hits with their snippet; else the newest conversations.
 * Address: sessions/ID; parameters: q (search), m=MESSAGE or t=TIME (the place to show).
 */
import { fill, h } from '../dom.js';
import { count, plural } from '../format.js';
import { icon } from '../icons.js';
import { sheet } from '../sheet.js';
import { Transcript } from '../transcript.js';
import { button, command, empty, problem, time } from '../ui.js';

const PAGE = 50;
const HITS = 60; // of a search
const HITS_EACH = 3; // of one conversation

const folder = (path) => path?.split('/').filter(Boolean).at(-1) ?? null;
export const titleOf = (session) => session.title?.trim() || session.displayTitle || 'Nothing said yet';

const page = {
    title: 'Sessions',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx, transcript: null, sessions: [], cursor: null, query: null });
        await sheet('pages-sessions');
        this.status = h('p', { class: 'small muted sessions-status', role: 'status' });
        this.rows = h('div', { class: 'sessions-rows' });
        this.more = h('div', { class: 'sessions-more' });
        this.list = h('section', { class: 'sessions-list', 'aria-label': 'Conversations' }, this.status, this.rows, this.more);
        this.beside = h('section', { class: 'sessions-one', 'aria-label': 'Conversation' });
        root.append(this.list, this.beside);
        ctx.on('session.changed', (event) => this.happened(event));
        ctx.on('memory.changed', (event) => { if (event.session && event.session === this.transcript?.id) this.transcript.paintMarks(); });
        ctx.on('reset', () => this.refresh());
        ctx.list(root, '.session-row, .session-hit, .message');
        ctx.keys({ Escape: () => this.escape() });
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

    head() {
        const { ctx } = this;
        ctx.head({ search: { label: 'Search everything said', value: ctx.params.q ?? '', input: (text) => ctx.set({ q: text.trim() || null }) } });
    },

    /* ---- the list ----------------------------------------------------------------------------- */

    async load() {
        const query = this.ctx.params.q ?? '';
        this.query = query;
        try {
            if (query) await this.search(query);
            else await this.recent();
        } catch (error) {
            if (error.name !== 'AbortError' && this.query === query) fill(this.rows, problem(error));
        }
    },

    async recent() {
        const { items, nextCursor } = await this.ctx.own('sessions.list', { all: true, limit: PAGE });
        if (this.query) return;
        this.sessions = items;
        this.cursor = nextCursor;
        this.paintRecent();
    },

    async loadMore() {
        const { items, nextCursor } = await this.ctx.busy(this.ctx.own('sessions.list', { all: true, limit: PAGE, cursor: this.cursor }));
        this.sessions.push(...items.filter((item) => !this.sessions.some((one) => one.id === item.id)));
        this.cursor = nextCursor;
        this.paintRecent();
    },

    paintRecent() {
        this.status.textContent = this.sessions.length ? `${plural(this.sessions.length, 'conversation')}${this.cursor ? ' and more' : ''}` : '';
        fill(this.rows, this.sessions.length ? h('ul', this.sessions.map((session) => h('li', this.row(session))))
            : empty('Nothing was said yet, or no agent tells. Let one:', 'ethos install claude-code', h('p', 'or take in conversations that other programs kept:'), command('ethos sessions import ~/.claude/projects')));
        this.root.dataset.none = this.sessions.length ? '' : 'yes';
        fill(this.more, this.cursor ? button({ label: 'Show more', run: () => this.loadMore().catch(this.ctx.fail) }) : null);
        this.markOpen();
    },

    row(session) {
        return h('a', { class: 'session-row', href: this.href(session.id), data: { id: session.id } },
            h('span', { class: 'session-title', dir: 'auto' }, session.pinned ? h('span', { class: 'session-pin', role: 'img', 'aria-label': 'Pinned' }, icon('pin', 14)) : null, titleOf(session)),
            h('span', { class: 'session-facts small muted' }, time(session.updatedAt),
                session.turnCount === undefined ? null : h('span', plural(session.turnCount, 'turn')),
                h('span', { class: 'ellipsis', title: session.workingDir }, folder(session.workingDir) ?? session.platform),
                session.personalityId && session.personalityId !== 'default' ? h('span', session.personalityId) : null));
    },

    href(id, more = {}) {
        return this.ctx.href(`sessions/${id}`, { q: this.ctx.params.q, ...more });
    },

    /* ---- search ------------------------------------------------------------------------------- */

    async search(query) {
        const { hits } = await this.ctx.busy(this.ctx.call('sessions.search', { query, limit: HITS }));
        if (this.query !== query) return;
        const found = new Map();
        for (const hit of hits) {
            if (!found.has(hit.session.id)) found.set(hit.session.id, []);
            found.get(hit.session.id).push(hit);
        }
        this.status.textContent = hits.length ? `${plural(hits.length, 'place')} in ${plural(found.size, 'conversation')}${hits.length === HITS ? '; the best ones' : ''}` : `Nobody said “${query}”.`;
        fill(this.rows, h('ul', [...found.values()].map((group) => h('li', { class: 'session-found' }, this.row(group[0].session),
            group.slice(0, HITS_EACH).map((hit) => this.hit(hit)),
            group.length > HITS_EACH ? h('p', { class: 'small faint session-rest' }, `${count(group.length - HITS_EACH)} more in it`) : null))));
        fill(this.more);
        this.markOpen();
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
        const id = this.ctx.rest;
        this.root.dataset.open = id ? 'one' : '';
        if (!id) {
            this.transcript = null;
            return void fill(this.beside, h('p', { class: 'sessions-hint faint' }, 'Choose a conversation, or search with ', h('kbd', '/'), '.'));
        }
        if (this.transcript?.id !== id) {
            const transcript = new Transcript(this.ctx, id, {
                back: () => this.ctx.go('sessions', { q: this.ctx.params.q }),
                gone: () => { this.ctx.go('sessions', { q: this.ctx.params.q }, { replace: true }); this.refresh(); },
                forked: (copy) => { this.ctx.go(`sessions/${copy}`); this.refresh(); },
                changed: () => this.refresh(),
            });
            this.transcript = transcript;
            await transcript.load(this.ctx.params);
            if (this.transcript !== transcript) return;
            fill(this.beside, transcript.node);
            if (matchMedia('(max-width: 899px)').matches) window.scrollTo(0, 0);
        }
        await this.transcript.reveal(this.ctx.params);
    },

    escape() {
        if (!this.ctx.rest) return false;
        this.ctx.go('sessions', { q: this.ctx.params.q });
        return true;
    },

    /* ---- what happens meanwhile --------------------------------------------------------------- */

    refresh() {
        if (!this.query) return this.recent().catch(() => {});
        return this.load();
    },

    happened(event) {
        clearTimeout(this.soon);
        this.soon = setTimeout(() => { if (!this.query && !this.ctx.signal.aborted) this.refresh(); }, 400);
        if (event.id === this.transcript?.id && event.change !== 'deleted') this.transcript.grow();
    },

    /** For the palette. */
    commands() {
        return this.transcript?.commands() ?? [];
    },
};

export const ROLES = { user: 'You', assistant: 'Assistant', tool_result: 'Tool', system: 'System', user_steer: 'You' };

export default page;

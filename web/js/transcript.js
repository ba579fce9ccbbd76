/*
 * transcript.js: one conversation. Calls of tools are folded together with what they gave; where a message
 * led to a change of memory stands a mark. Text is set when it comes into view.
 */
import { ask, confirm } from './dialog.js';
import { fill, h, refill } from './dom.js';
import { clock, count, day, fileLabel, moment, plural, sameDay } from './format.js';
import { icon } from './icons.js';
import { markdown } from './markdown.js';
import { button, copyable, delta, notice, problem, time } from './ui.js';

const PAGE = 200; // messages at once
const WHOLE = 1000; // the same, when all are wanted
const LONG = 6000; // characters of a message that are shown at first
const TOOL_LINES = 400; // lines of what a tool gave

const SPEAKERS = { user: 'You', user_steer: 'You, meanwhile', assistant: 'Assistant', system: 'System', tool_result: 'Tool' };

export const nameOf = (session) => session.title?.trim() || session.displayTitle || 'Nothing said yet';

export class Transcript {
    /** how: {back(), gone(), forked(id), changed(), canContinue} */
    constructor(ctx, id, how) {
        Object.assign(this, { ctx, id, how, session: null, messages: [], previous: null, next: null, nodes: new Map(), entries: new Map(), changes: [], wanted: null });
        this.node = h('div', { class: 'transcript' });
        this.headBox = h('header', { class: 'transcript-head' });
        this.earlier = h('div', { class: 'transcript-more' });
        this.talk = h('ol', { class: 'talk' });
        this.later = h('div', { class: 'transcript-more' });
        this.sight = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: '600px' });
        this.fresh = ctx.refresh(['session.changed'], {
            when: (event) => event.id === this.id, ask: () => this.ask(), show: (answer) => this.take(answer),
            fail: (error) => { if (error.status === 404) this.failed(error); }, // else what is shown stays
        });
        this.marks = ctx.refresh(['memory.changed'], {
            when: (event) => event.session === this.id, ask: () => ctx.call('memory.timeline', { session: this.id, limit: 200 }), fail: () => {},
            show: ({ items }) => { this.changes = items.filter((change) => change.session === this.id).reverse(); this.paintMarks(); },
        });
    }

    /** From message m on, or the newest. */
    async load({ m = null } = {}) {
        this.wanted = { m };
        await this.ctx.busy(this.fresh.now()).catch((error) => this.failed(error));
    }

    close() {
        this.fresh.end();
        this.marks.end();
        this.sight.disconnect();
    }

    async ask() {
        const { wanted } = this, m = wanted?.m;
        const answer = await this.page(m ? { from: m } : {}).catch((error) => (m && error.status === 404 ? this.page({}) : Promise.reject(error)));
        return { wanted, ...answer };
    }

    take({ wanted, session, messages, previous = null, next = null }) {
        const before = this.messages;
        if (wanted) Object.assign(this, { wanted: null, messages, previous, next });
        else if (!this.next) this.takeNewest(messages, previous); // of a place in the middle, nothing follows
        this.session = session;
        if (wanted) this.lay();
        this.paintHead();
        if (wanted || before.length !== this.messages.length || before.some(({ id }, i) => id !== this.messages[i].id)) this.paintTalk();
        this.paintMarks();
        if (wanted) this.marks.soon();
    }

    /* The newest are these; what stood there else was taken back. Older ones stay, unless some between are missing. */
    takeNewest(messages, previous) {
        const first = messages.findIndex(({ id }) => this.messages.some((known) => known.id === id));
        const at = first < 0 ? -1 : this.messages.findIndex(({ id }) => id === messages[first].id);
        if (at <= 0) Object.assign(this, { messages, previous });
        else this.messages = [...this.messages.slice(0, at), ...messages.slice(first)];
    }

    /** What stands in the node, from top to bottom. */
    lay() {
        fill(this.node, this.backLink(), this.headBox, this.earlier, this.talk, this.later);
    }

    failed(error) {
        if (error.name === 'AbortError') return;
        fill(this.node, this.backLink(), error.status === 404 ? notice('info', 'This conversation no longer exists.') : problem(error));
    }

    page(input) {
        return this.ctx.own('sessions.get', { id: this.id, limit: PAGE, ...input });
    }

    backLink() {
        return h('div', { class: 'note-back' }, button({ label: 'All conversations', icon: 'previous', kind: 'quiet', run: this.how.back }));
    }

    /* ---- head --------------------------------------------------------------------------------- */

    paintHead() {
        const { session } = this;
        const tokens = session.usage.inputTokens + session.usage.outputTokens;
        refill(this.headBox,
            h('h2', { class: 'lead', dir: 'auto' }, session.pinned ? icon('pin', 16) : null, nameOf(session)),
            h('div', { class: 'note-facts small muted' },
                h('span', `${day(session.createdAt)}, ${clock(session.createdAt)}`), h('span', 'last message ', time(session.updatedAt)),
                session.turnCount === undefined ? null : h('span', plural(session.turnCount, 'turn')),
                h('span', [session.platform, session.model].filter(Boolean).join(' · ')),
                tokens ? h('span', { class: 'num' }, `${count(tokens)} tokens`) : null,
                session.parentSessionId ? h('a', { href: this.ctx.href(`sessions/${session.parentSessionId}`) }, 'forked from another') : null),
            session.workingDir ? h('div', copyable(session.workingDir, 'Copy the folder')) : null,
            h('div', { class: 'cluster transcript-actions' },
                button({ label: 'Rename', icon: 'edit', kind: 'quiet', run: () => this.rename() }),
                button({ label: session.pinned ? 'Unpin' : 'Pin', icon: 'pin', kind: 'quiet', run: () => this.pin() }),
                this.how.canContinue ? button({ label: 'Continue', icon: 'sessions', kind: 'quiet', title: 'Continue from here with the agent, in a copy', run: () => this.fork() })
                    : button({ label: 'Fork', icon: 'fork', kind: 'quiet', title: 'Copy the conversation to continue it differently', run: () => this.fork() }),
                button({ label: 'Export', icon: 'download', kind: 'quiet', title: 'Save it as markdown', run: () => this.export().catch(this.ctx.fail) }),
                button({ label: 'Delete', icon: 'trash', kind: 'quiet', run: () => this.remove() })),
            this.changesBox = h('div', { class: 'small transcript-changes' }));
    }

    /* ---- what was said ------------------------------------------------------------------------ */

    /* A message of a tool belongs to the call that it answers. */
    groups() {
        const results = new Map();
        for (const message of this.messages) if (message.role === 'tool_result' && message.toolCallId) results.set(message.toolCallId, message);
        const called = new Set(this.messages.flatMap((message) => (message.toolCalls ?? []).map((call) => call.id)));
        return this.messages.filter((message) => !(message.role === 'tool_result' && called.has(message.toolCallId)))
            .map((message) => ({ message, calls: (message.toolCalls ?? []).map((call) => ({ call, result: results.get(call.id) ?? null })) }));
    }

    paintTalk() {
        const entries = this.entries;
        this.entries = new Map();
        this.nodes.clear();
        let before = null;
        refill(this.talk, this.groups().map((group) => {
            const { message } = group;
            const first = !before || !sameDay(before.timestamp, message.timestamp);
            const again = before && before.role === message.role && !first;
            before = message;
            return [first ? h('li', { class: 'talk-day small faint' }, day(message.timestamp)) : null, this.entry(group, again, entries)];
        }));
        fill(this.earlier, this.previous ? button({ label: 'Earlier messages', run: () => this.extend('previous') }) : null);
        fill(this.later, this.next ? button({ label: 'Later messages', run: () => this.extend('next') }) : null);
        for (const node of this.talk.querySelectorAll('.message-text')) if (node.source !== undefined) this.sight.observe(node);
    }

    /* What is the same as before stays as it is: unfolded, set, read half through. */
    entry({ message, calls }, again, before) {
        const sign = JSON.stringify([again, calls.map(({ result }) => result?.id)]);
        const known = before.get(message.id);
        const node = known?.sign === sign ? known.node : this.newEntry(message, calls, again);
        this.entries.set(message.id, { sign, node });
        this.nodes.set(message.id, node);
        for (const { result } of calls) if (result) this.nodes.set(result.id, node);
        return node;
    }

    newEntry(message, calls, again) {
        const tool = message.role === 'tool_result';
        const text = message.content.trim();
        return h('li', { class: `message ${message.role} ${again ? 'again' : ''}`, tabindex: '-1', id: `m-${message.id}`, data: { id: message.id } },
            h('div', { class: 'message-by small' }, h('span', { class: 'strong' }, tool ? message.toolName ?? 'Tool' : SPEAKERS[message.role] ?? message.role), h('time', { class: 'faint num', datetime: message.timestamp, title: moment(message.timestamp) }, clock(message.timestamp))),
            h('div', { class: 'message-body' },
                !text ? null : tool ? this.folded(message.toolName ?? 'Tool', null, message) : message.role === 'system' ? this.quiet(message) : this.text(message),
                calls.map(({ call, result }) => this.folded(call.name, call.input, result)),
                h('div', { class: 'message-marks' })));
    }

    /* Plain at first; set as prose when it comes into view. */
    text(message) {
        const { content } = message;
        const short = content.length > LONG ? `${content.slice(0, LONG)}…` : content;
        const box = h('div', { class: 'message-text', dir: 'auto' }, h('p', { class: 'message-plain' }, short));
        box.source = content;
        box.cut = short !== content;
        return box;
    }

    async seen(entries) {
        for (const entry of entries) {
            const box = entry.target;
            if (!entry.isIntersecting || box.source === undefined) continue;
            const source = box.source;
            delete box.source;
            this.sight.unobserve(box);
            this.set(box, source, box.cut);
        }
    }

    async set(box, source, cut) {
        try {
            fill(box, await markdown(this.ctx, cut ? source.slice(0, LONG) : source, { level: 3 }),
                cut ? button({ label: `Show all of it (${count(source.length)} characters)`, kind: 'link', run: () => this.set(box, source, false) }) : null);
        } catch {
            // the plain text is there
        }
    }

    quiet(message) {
        return h('details', { class: 'fold' }, h('summary', h('span', { class: 'fold-name' }, 'System'), h('span', { class: 'fold-hint ellipsis' }, firstLine(message.content))), this.text(message));
    }

    folded(name, input, result) {
        return fold({ name, input, result: result?.content ?? null });
    }

    /* What was said before or after; not painted yet. */
    async fetch(side) {
        const answer = await this.ctx.busy(this.page({ from: this[side] }));
        const known = new Set(this.messages.map((message) => message.id));
        const fresh = answer.messages.filter((message) => !known.has(message.id));
        this.messages = side === 'previous' ? [...fresh, ...this.messages] : [...this.messages, ...fresh];
        this[side] = answer[side] ?? null;
    }

    async extend(side) {
        const anchor = side === 'previous' ? this.messages[0]?.id : null;
        const top = this.talk.firstElementChild?.getBoundingClientRect().top;
        try {
            await this.fetch(side);
            this.paintTalk();
            this.paintMarks();
            if (anchor) window.scrollBy(0, (this.nodes.get(anchor)?.getBoundingClientRect().top ?? 0) - top);
        } catch (error) {
            this.ctx.fail(error);
        }
    }

    /* ---- memory ------------------------------------------------------------------------------- */

    /** Changes of memory that came out of this conversation, where they came. */
    paintMarks() {
        if (!this.changesBox) return; // nothing is there yet
        for (const node of this.nodes.values()) node.querySelector('.message-marks').replaceChildren();
        for (const change of this.changes) this.place(change)?.querySelector('.message-marks').append(this.mark(change));
        const first = new Map();
        for (const change of this.changes) if (!first.has(fileLabel(change.scope, change.key))) first.set(fileLabel(change.scope, change.key), change);
        fill(this.changesBox, this.changes.length ? [icon('memory', 16), ` It changed memory ${this.changes.length === 1 ? 'once' : `${count(this.changes.length)} times`}: `,
            [...first].map(([label, change], i) => [i ? ', ' : '', button({ label, kind: 'link', title: 'Show where', run: () => this.toTime(change.time) })])] : null);
    }

    /* The last message before a time; the first when there is none. */
    before(iso) {
        return this.messages.findLast((message) => message.timestamp <= iso) ?? this.messages[0];
    }

    /* Where it came; null when that is not among what is shown. */
    place({ time }) {
        if (this.previous && this.messages[0]?.timestamp > time) return null;
        if (this.next && this.messages.at(-1)?.timestamp < time) return null;
        return this.nodes.get(this.before(time)?.id) ?? null;
    }

    mark(change) {
        return h('a', { class: 'message-mark small', href: this.ctx.href('timeline', { scope: change.scope, key: change.key, change: change.number, t: change.time }) },
            icon('memory', 16), h('span', `${fileLabel(change.scope, change.key)} changed`), delta(change.added, change.removed),
            change.line ? h('span', { class: 'muted ellipsis', dir: 'auto' }, change.line.replace(/^[+-]/, '')) : null);
    }

    async toTime(iso) {
        const { length } = this.messages;
        try {
            while (this.previous && this.messages[0].timestamp > iso) await this.fetch('previous');
            while (this.next && this.messages.at(-1).timestamp < iso) await this.fetch('next');
        } catch (error) {
            this.ctx.fail(error);
        }
        if (this.messages.length > length) {
            this.paintTalk();
            this.paintMarks();
        }
        this.show(this.before(iso));
    }

    show(message) {
        const node = message && this.nodes.get(message.id);
        if (!node) return;
        node.querySelector('.fold')?.setAttribute('open', '');
        node.focus({ preventScroll: true });
        node.scrollIntoView({ block: 'center' });
        node.classList.add('found');
        setTimeout(() => node.classList.remove('found'), 3000);
    }

    /** m=MESSAGE or t=TIME of the address. */
    async reveal({ m, t }) {
        if (!this.session || (m ?? t) === this.revealed) return;
        this.revealed = m ?? t;
        if (m && !this.nodes.has(m)) await this.load({ m });
        if (m) this.show({ id: m });
        else if (t) await this.toTime(t);
    }

    /* ---- changing it -------------------------------------------------------------------------- */

    took({ session }) {
        this.session = { ...this.session, ...session };
        this.paintHead();
        this.paintMarks();
        this.how.changed();
    }

    async rename() {
        await ask({
            title: 'Rename this conversation', label: 'Title; empty: what was said first', value: this.session.title ?? '', action: 'Rename it',
            run: async (title) => this.took(await this.ctx.call('sessions.update', { id: this.id, title: title.trim() || null })),
        });
    }

    async pin() {
        try {
            this.took(await this.ctx.call(this.session.pinned ? 'sessions.unpin' : 'sessions.pin', { id: this.id }));
        } catch (error) {
            this.ctx.fail(error);
        }
    }

    async fork() {
        try {
            const { session } = await this.ctx.busy(this.ctx.call('sessions.fork', { id: this.id }));
            this.ctx.toast('This is the copy; the original does not change.');
            this.how.forked(session.id);
        } catch (error) {
            this.ctx.fail(error);
        }
    }

    /* Page by page, from the newest back to the first; a page may have some of the one after it. */
    async everything() {
        const ask = (input) => this.ctx.busy(this.ctx.own('sessions.get', { id: this.id, limit: WHOLE, ...input }));
        const messages = [], known = new Set();
        for (let page = await ask({}); page; page = page.previous ? await ask({ from: page.previous }) : null) {
            const part = [];
            for (let on = page; on; on = on.next && !known.has(on.next) ? await ask({ from: on.next }) : null)
                part.push(...on.messages.filter(({ id }) => !known.has(id)));
            for (const { id } of part) known.add(id);
            messages.unshift(...part);
        }
        return messages;
    }

    async export() {
        const messages = await this.everything();
        const parts = messages.map((message) => [`## ${SPEAKERS[message.role] ?? message.role}${message.toolName ? ` (${message.toolName})` : ''}, ${message.timestamp}`, '',
            message.role === 'tool_result' ? fenced(message.content) : message.content.trim(),
            ...(message.toolCalls ?? []).map((call) => fenced(`${call.name} ${asText(call.input)}`)), ''].join('\n'));
        const { session } = this;
        save(`${slug(nameOf(session))}.md`, `# ${nameOf(session)}\n\n${session.workingDir ?? ''}\n\n${parts.join('\n')}`);
    }

    async remove() {
        const changed = this.changes.length;
        const sure = await confirm({
            title: 'Delete this conversation?', action: 'Delete it', kind: 'danger',
            body: [h('p', { dir: 'auto' }, h('strong', nameOf(this.session))),
                h('p', 'All its messages are deleted for good, also from search.'),
                h('p', changed ? `What memory learned from it stays: ${plural(changed, 'change')}, to be seen and undone in the timeline.` : 'Memory stays as it is.'),
                h('p', { class: 'small muted' }, 'To keep a copy, export it first.')],
            run: () => this.ctx.call('sessions.delete', { id: this.id }),
        });
        if (!sure) return;
        this.ctx.toast('Deleted.');
        this.how.gone();
    }

    /** For the palette. */
    commands() {
        return this.session ? [
            { name: 'Rename this conversation', icon: 'edit', run: () => this.rename() },
            { name: this.session.pinned ? 'Unpin this conversation' : 'Pin this conversation', icon: 'pin', run: () => this.pin() },
            { name: 'Fork this conversation', icon: 'fork', run: () => this.fork() },
            { name: 'Export this conversation', icon: 'download', run: () => this.export().catch(this.ctx.fail) },
            { name: 'Delete this conversation', icon: 'trash', run: () => this.remove() },
        ] : [];
    }
}

/* ---- calls of tools --------------------------------------------------------------------------- */

/** A call of a tool and its result, on one line until it is opened. input: null when it is not known. */
export function fold({ name, input, result = null, state = 'no answer', failed = false, durationMs = null, open = false }) {
    const given = result === null ? null : lines(result);
    return h('details', { class: 'fold', open },
        h('summary', icon('next', 14), h('span', { class: 'fold-name mono ellipsis', title: name }, name), h('span', { class: 'fold-hint ellipsis', dir: 'auto' }, input === null ? firstLine(result ?? '') : hint(input)),
            failed ? h('span', { class: 'fold-failed' }, icon('warning', 14), 'failed') : null,
            durationMs === null ? null : h('span', { class: 'fold-size faint num' }, `${(durationMs / 1000).toFixed(1)} s`),
            given ? h('span', { class: 'fold-size faint num' }, plural(given.all, 'line')) : input === null ? null : h('span', { class: 'fold-size faint' }, state)),
        input === null ? null : h('pre', { tabindex: '0', 'aria-label': `What ${name} was asked`, role: 'group' }, asText(input)),
        given ? h('pre', { class: 'fold-result', tabindex: '0', 'aria-label': `What ${name} gave`, role: 'group', dir: 'auto' }, given.text) : null);
}

/* ---- small things ----------------------------------------------------------------------------- */

const firstLine = (text) => text.trim().split('\n', 1)[0].slice(0, 160);
const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** The first thing a call says: its command, path or query. */
function hint(input) {
    if (typeof input === 'string') return firstLine(input);
    const words = Object.entries(input ?? {}).filter(([name, value]) => name !== 'action' && (typeof value === 'string' || typeof value === 'number'));
    return firstLine(String(words[0]?.[1] ?? ''));
}

function lines(text) {
    const all = text.replace(/\n$/, '').split('\n');
    const text2 = all.length > TOOL_LINES ? [...all.slice(0, TOOL_LINES), `… ${plural(all.length - TOOL_LINES, 'line')} more; export shows them`].join('\n') : text;
    return { all: all.length, text: text2 };
}

/** A fence that no line of the text ends. */
function fenced(text) {
    const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
    const fence = '`'.repeat(longest + 1);
    return `${fence}\n${text}\n${fence}`;
}

const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) || 'conversation';

function save(name, text) {
    const url = URL.createObjectURL(new Blob([text], { type: 'text/markdown' }));
    const link = h('a', { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10e3);
}

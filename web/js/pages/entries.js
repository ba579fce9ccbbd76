/*
 * pages/entries.js: the entries of MEMORY.md and USER.md, one by one: found, added, changed, deleted, and where each
 * came from. Parameters: p u (whose), store=user, archived=1, q.
 *
 * A change names the entry by its id and revision. If it is another one by then, nothing is done and what is there now
 * is shown.
 */
import { confirm, dialog } from '../dialog.js';
import { h, refill } from '../dom.js';
import { plural, via } from '../format.js';
import { sheet } from '../sheet.js';
import { badge, button, empty, marked, notice, problem, segmented, time } from '../ui.js';

const PAGE = 50;
const FOUND = 20;

/* What a change was made by, as history calls it. */
const SOURCES = { tool: 'an agent or a command', 'web-editor': 'the dashboard' };

/** "Work > Tests, line 12 of the archive" */
const placeOf = ({ path, line, archived }) =>
    [path.join(' \u203a '), `line ${line}${archived ? ' of the archive' : ''}`].filter(Boolean).join(' \u00b7 ');

const page = {
    title: 'Entries',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx, count: PAGE });
        await sheet('pages-entries');
        this.tools = h('div', { class: 'entries-tools' });
        this.body = h('div', { class: 'entries' });
        root.append(this.tools, this.body);
        this.fresh = ctx.refresh(['memory.changed'], { pause: 500, ask: () => this.ask(), show: (answer) => this.paint(answer) });
        ctx.list(root, '.entry', { open: (row) => this.edit(this.of(row)) });
        ctx.keys({
            a: () => this.add(),
            e: () => this.onRow((chunk) => this.edit(chunk)),
            x: () => this.onRow((chunk) => this.remove(chunk)),
        });
        await this.update();
    },

    async update() {
        const { ctx } = this;
        const choose = (values) => (this.count = PAGE, ctx.set(values));
        ctx.head({
            selectors: ['personality', 'user'],
            search: { label: 'Search entries', value: ctx.params.q ?? '', input: (text) => choose({ q: text.trim() || null }) },
            actions: [{ label: 'Add', icon: 'plus', key: 'a', run: () => this.add() }],
        });
        refill(
            this.tools,
            segmented('File', [{ value: 'memory', label: 'Memory' }, { value: 'user', label: 'Profile' }], this.store(), (value) => choose({ store: value === 'user' ? 'user' : null })),
            segmented('Archive', [{ value: '', label: 'Now' }, { value: '1', label: 'With archive' }], ctx.params.archived ?? '', (value) => choose({ archived: value || null })),
        );
        try {
            await this.fresh.now();
        } catch (error) {
            if (error.name !== 'AbortError') refill(this.body, problem(error));
        }
    },

    store() {
        return this.ctx.params.store === 'user' ? 'user' : 'memory';
    },

    /* As many as were shown before, in pages. */
    async ask() {
        const { ctx } = this;
        const given = { store: this.store(), archived: Boolean(ctx.params.archived) };
        if (ctx.params.q) {
            const { items } = await ctx.busy(ctx.call('memory.chunks.search', { ...given, query: ctx.params.q, topK: FOUND }));
            return { items, query: ctx.params.q };
        }
        const items = [];
        let cursor = null;
        do {
            const part = await ctx.call('memory.chunks.list', { ...given, limit: PAGE, ...(cursor ? { cursor } : {}) });
            items.push(...part.items);
            cursor = part.nextCursor;
        } while (cursor && items.length < this.count);
        return { items, more: Boolean(cursor) };
    },

    paint({ items, more = false, query = '' }) {
        this.chunks = new Map(items.map((chunk) => [chunk.id, chunk]));
        const focus = document.activeElement?.closest('.entry')?.dataset.id;
        refill(
            this.body,
            h('p', { class: 'small muted', role: 'status' }, query ? `${plural(items.length, 'entry', 'entries')} for \u201c${query}\u201d, the best first` : `${plural(items.length, 'entry', 'entries')}${more ? ' shown, in the order of the file' : ''}`),
            items.length === 0
                ? empty(query ? 'No entry matches.' : 'There is nothing here yet.', query ? null : 'ethos memory chunks add "We deploy on Fridays"')
                : h('ul', { class: 'entries-list' }, items.map((chunk) => this.row(chunk, query))),
            more ? button({ label: 'Show more', run: () => ((this.count += PAGE), this.fresh.now().catch(this.ctx.fail)) }) : null,
        );
        if (focus) this.body.querySelector(`.entry[data-id="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
    },

    row(chunk, query) {
        const { id, content, source, createdAt, archived, score } = chunk;
        return h(
            'li',
            { class: 'entry', tabindex: '-1', data: { id } },
            h('p', { class: 'entry-text', dir: 'auto' }, query ? marked(content, query) : content),
            h(
                'div',
                { class: 'entry-foot small muted' },
                h('span', placeOf(chunk)),
                source ? h('span', `by ${SOURCES[source] ?? via(source)}`) : null,
                createdAt ? time(createdAt) : null,
                archived ? badge('archive') : null,
                score === undefined ? null : h('span', `score ${score.toFixed(1)}`),
                archived
                    ? null
                    : h(
                          'span',
                          { class: 'entry-actions' },
                          button({ label: 'Edit', kind: 'quiet', icon: 'edit', 'aria-label': `Edit: ${content.slice(0, 60)}`, run: () => this.edit(chunk) }),
                          button({ label: 'Delete', kind: 'quiet', icon: 'trash', 'aria-label': `Delete: ${content.slice(0, 60)}`, run: () => this.remove(chunk) }),
                      ),
            ),
        );
    },

    of(row) {
        return row && this.chunks?.get(row.dataset.id);
    },

    onRow(act) {
        const chunk = this.of(document.activeElement?.closest('.entry'));
        if (!chunk || chunk.archived) return false;
        act(chunk);
        return true;
    },

    /* ---- changing ------------------------------------------------------------------------------ */

    /* Why it was not done; of an entry that is another one by now, what is there. */
    refused(error) {
        const { nearest } = error.data ?? {};
        if (error.status !== 409) return problem(error);
        return notice(
            'warning',
            nearest ? ['This entry has changed. The most similar one now says: ', h('q', { dir: 'auto' }, nearest.content)] : 'This entry no longer exists.',
        );
    },

    async write({ title, label, value = '', action, run, done }) {
        const trouble = h('div', { role: 'alert' });
        const input = h('textarea', { class: 'input entry-input', rows: '4', 'aria-label': label, autofocus: true });
        input.value = value;
        const give = async () => {
            try {
                await run(input.value);
                return true;
            } catch (error) {
                refill(trouble, this.refused(error));
                return false;
            }
        };
        const asked = dialog({
            title,
            body: [input, h('p', { class: 'small muted' }, 'A single entry: no blank line, no heading, no list item.'), trouble],
            actions: [{ label: 'Cancel', value: false }, { label: action, kind: 'primary', run: give }],
        });
        input.addEventListener('keydown', async (event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            if (await give()) asked.close(true);
        });
        input.focus();
        if ((await asked.closed) !== true) return;
        this.ctx.toast(done);
        await this.fresh.now().catch(this.ctx.fail);
    },

    add() {
        return this.write({
            title: 'Add an entry',
            label: 'What it says',
            action: 'Add',
            run: (content) => this.ctx.call('memory.chunks.add', { store: this.store(), content }),
            done: 'Added',
        });
    },

    edit(chunk) {
        if (!chunk || chunk.archived) return undefined;
        return this.write({
            title: 'Edit the entry',
            label: 'What it says',
            value: chunk.content,
            action: 'Save',
            run: (content) => this.ctx.call('memory.chunks.update', { id: chunk.id, content, ifRevision: chunk.revision }),
            done: 'Saved; the timeline can undo it',
        });
    },

    async remove(chunk) {
        try {
            const agreed = await confirm({
                title: 'Delete the entry',
                kind: 'danger',
                action: 'Delete',
                body: [h('p', { class: 'entry-text', dir: 'auto' }, chunk.content), h('p', { class: 'small muted' }, placeOf(chunk))],
                run: () => this.ctx.call('memory.chunks.delete', { id: chunk.id, ifRevision: chunk.revision }),
            });
            if (!agreed) return;
            this.ctx.toast('Deleted; the timeline can undo it');
            await this.fresh.now();
        } catch (error) {
            this.ctx.fail(error);
        }
    },
};

export default page;

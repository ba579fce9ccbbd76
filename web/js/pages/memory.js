/*
 * pages/memory.js: what agents know: the files themselves, side by side, with what of them goes into a
 * prompt. Parameters: p u w (whose), v=source, edit=STORE, tab=STORE, q (search), line=SCOPE/KEY:N.
 */
import { connection } from '../client.js';
import { $, fill, h, painted, refill } from '../dom.js';
import { fileLabel, plural } from '../format.js';
import { FilePane } from '../file.js';
import { gauge, LABELS, storeOf } from '../gauge.js';
import { takeMemory } from '../given.js';
import { marked, segmented, tabs } from '../ui.js';

const REACH_MS = 5000; // from one look at a memory that is out of reach to the next

const isOf = (file, { scope, key }) => file.scope === scope && file.key === key;

const page = {
    title: 'Memory',

    async mount(root, ctx) {
        Object.assign(this, {
            root,
            ctx,
            panes: new Map(),
            editor: null,
            data: null,
            query: '',
            known: ctx.params,
            shown: null,
        });
        this.gauge = h('div');
        this.results = h('div', {
            class: 'results',
            role: 'region',
            'aria-label': 'Found',
            hidden: true,
        });
        this.tabs = h('div', { class: 'files-tabs' });
        this.files = h('div', { class: 'files' });
        root.append(this.results, this.gauge, this.tabs, this.files);
        this.fresh = ctx.refresh(['memory.changed', 'config.changed'], {
            when: (event) => event.type === 'config.changed' || this.holds(event),
            ask: () => this.ask(),
            show: (data, events) => this.take(data, events),
        });
        ctx.left(() => this.tellReach(null));
        ctx.keys({
            e: () => this.startEdit(this.here()),
            'mod+s': () => this.editor?.save(),
            u: () => this.undo(),
        });
        ctx.list(root, '.blk', { open: (block) => this.paneOf(block)?.ask(block) });
        this.loaded = this.fresh.now(); // first: the text is what people wait for
        this.head();
        await this.loaded;
    },

    /* Only what the address says anew is done anew: the search field must not go while it is typed in. */
    async update(params) {
        const before = this.known ?? {};
        const moved = (...keys) => keys.some((key) => (before[key] ?? '') !== (params[key] ?? ''));
        this.known = params;
        if (moved('p', 'u', 'w', 'v', 'edit')) this.head();
        if (moved('p', 'u', 'w')) {
            this.shown = null;
            return this.fresh.now();
        }
        if (moved('v', 'edit', 'tab', 'line')) await this.arrange();
        if ((params.q ?? '') !== this.query) this.search(params.q ?? '');
    },

    unmount() {
        this.editor?.close();
    },

    head() {
        const { ctx } = this;
        const editing = Boolean(ctx.params.edit);
        ctx.head({
            selectors: ['personality', 'user', 'workspace'],
            after: this.loaded.then(painted),
            search: {
                label: 'Search memory',
                value: ctx.params.q ?? '',
                input: (text) => this.search(text),
            },
            actions: editing
                ? []
                : [
                      segmented(
                          'View',
                          [
                              { value: 'read', label: 'Read' },
                              { value: 'source', label: 'Source' },
                          ],
                          this.view(),
                          (value) => ctx.set({ v: value === 'source' ? 'source' : null }),
                      ),
                  ],
        });
    },

    view() {
        return this.ctx.params.v === 'source' ? 'source' : 'read';
    },

    /* ---- the files ---------------------------------------------------------------------------- */

    async ask() {
        const { p, u, w } = this.ctx.params;
        const given = p || u || w ? null : takeMemory();
        if (given && connection() === 'online') this.fresh.soon(); // events came before this page did
        return given ?? this.ctx.own('memory.list');
    },

    take(data, events) {
        const files = data.files.map(({ scope, key }) => `${scope}/${key}`).join('\n');
        const other = files !== this.shown;
        this.shown = files;
        this.data = data;
        this.tellReach(data.files.find((file) => file.knownAt)?.knownAt ?? null);
        return other ? this.build() : this.renew(events);
    },

    /* Nobody tells when it is in reach again. */
    tellReach(since) {
        this.ctx.outOfReach(since);
        clearTimeout(this.asking);
        if (since) this.asking = setTimeout(() => this.fresh.soon(), REACH_MS);
    },

    /* Other files than before. */
    async build() {
        const { data } = this;
        this.editor?.close();
        this.editor = null;
        this.panes.clear();
        for (const file of data.files) {
            const store = storeOf(file);
            this.panes.set(
                store,
                new FilePane(this.ctx, file, data, { edit: () => this.startEdit(store) }),
            );
        }
        await this.arrange();
        if (this.ctx.params.q) this.search(this.ctx.params.q);
    },

    /* Puts panes or the editor where they belong. */
    async arrange() {
        const { params } = this.ctx;
        const editing = this.panes.get(params.edit);
        fill(this.gauge, gauge(this.data));
        if (editing && !editing.file.error) return this.showEditor(editing);
        this.editor?.close();
        this.editor = null;
        this.results.hidden = !params.q;
        const tab = this.panes.has(params.tab) ? params.tab : 'user';
        this.files.dataset.show = tab;
        this.files.dataset.count = this.panes.size;
        refill(
            this.tabs,
            tabs(
                'Files',
                [...this.panes.keys()].map((store) => ({
                    value: store,
                    label: LABELS[store],
                    id: `tab-${store}`,
                    panel: `file-${store}`,
                })),
                tab,
                (value) => {
                    this.files.dataset.show = value;
                    this.ctx.set({ tab: value === 'user' ? null : value });
                },
            ),
        );
        const texts = [...this.panes.values()].map((pane) => pane.paint(this.view()));
        fill(
            this.files,
            [...this.panes.values()].map((pane) => pane.node),
        );
        this.tabs.hidden = false;
        await Promise.all(texts);
        this.jump();
        painted().then(() => this.complete());
    },

    /* What is not seen at once. */
    complete() {
        for (const pane of this.panes.values()) pane.complete();
    },

    /* line=SCOPE/KEY:N of the address. */
    jump() {
        const match = /^(.*)\/([^/]+):(\d+)$/.exec(this.ctx.params.line ?? '');
        if (!match) return;
        const pane = [...this.panes.values()].find(({ file }) =>
            isOf(file, { scope: match[1], key: match[2] }),
        );
        if (!pane) return;
        this.files.dataset.show = pane.store;
        pane.show(Number(match[3]));
    },

    here() {
        const store = document.activeElement?.closest('.file')?.dataset.store;
        const narrow = matchMedia('(max-width: 1099px)').matches;
        return store ?? (narrow ? this.files.dataset.show : 'memory');
    },

    paneOf: (node) => page.panes.get(node.closest('.file')?.dataset.store),

    undo() {
        const block = document.activeElement?.closest('.blk');
        if (!block) return this.ctx.toast('Select a line with j and k first.');
        return this.paneOf(block)?.undo(block);
    },

    /* ---- editing ------------------------------------------------------------------------------ */

    startEdit(store) {
        if (this.panes.has(store)) this.ctx.set({ edit: store, line: null }, {});
    },

    async showEditor(pane) {
        const { Editor } = await import('../editor.js');
        if (this.editor && isOf(pane.file, this.editor.file)) return;
        if (this.ctx.params.edit !== pane.store || this.panes.get(pane.store) !== pane) return;
        this.editor = new Editor(this.ctx, { ...pane.file, label: LABELS[pane.store] }, (saved) =>
            this.endEdit(pane.store, saved),
        );
        this.results.hidden = true;
        this.tabs.hidden = true;
        fill(this.files, this.editor.node);
        this.files.dataset.show = 'editor';
        this.editor.start();
    },

    async endEdit(store, saved) {
        this.editor = null;
        if (saved) await this.fresh.now().catch(() => {});
        this.ctx.set({ edit: null, tab: store === 'user' ? null : store });
        requestAnimationFrame(() =>
            $('.file-head button', this.panes.get(store)?.node)?.focus({ preventScroll: true }),
        );
    },

    /* ---- what happens meanwhile --------------------------------------------------------------- */

    /* Before the files are known, everything may be of them. */
    holds(event) {
        return !this.data || this.data.files.some((file) => isOf(file, event));
    },

    async renew(events) {
        fill(this.gauge, gauge(this.data));
        await Promise.all(
            this.data.files.map((file) => {
                if (this.editor && isOf(file, this.editor.file))
                    this.editor.changed(file, events.findLast((event) => isOf(file, event)));
                return this.panes.get(storeOf(file)).update(file, this.data);
            }),
        );
    },

    /* ---- search ------------------------------------------------------------------------------- */

    async search(text) {
        this.query = text.trim();
        this.ctx.set({ q: this.query || null });
        if (!this.query) {
            this.results.hidden = true;
            return;
        }
        const mine = this.query;
        try {
            const { hits } = await this.ctx.busy(
                this.ctx.call('memory.search', { query: mine, limit: 30 }),
            );
            if (this.query === mine) this.showHits(hits);
        } catch (error) {
            if (this.query === mine) this.ctx.fail(error);
        }
    },

    showHits(hits) {
        this.results.hidden = false;
        fill(
            this.results,
            h(
                'p',
                { class: 'small muted', role: 'status' },
                hits.length
                    ? `${plural(hits.length, 'line')} with “${this.query}”`
                    : `Nothing holds “${this.query}”.`,
            ),
            h(
                'ul',
                { class: 'hits' },
                hits.map((hit) =>
                    h(
                        'li',
                        h(
                            'a',
                            { class: 'row hit', href: this.place(hit) },
                            h(
                                'span',
                                { class: 'hit-file small muted' },
                                fileLabel(hit.scope, hit.key),
                                h('span', { class: 'num' }, ` ${hit.line}`),
                            ),
                            h(
                                'span',
                                { class: 'hit-text', dir: 'auto' },
                                marked(hit.snippet.trim(), this.query),
                            ),
                        ),
                    ),
                ),
            ),
        );
    },

    place(hit) {
        if (this.data.files.some((file) => isOf(file, hit)))
            return this.ctx.href('memory', {
                v: this.ctx.params.v,
                q: this.query,
                line: `${hit.scope}/${hit.key}:${hit.line}`,
            });
        return this.ctx.href(`notes/${hit.key}`);
    },

    /** For the palette. */
    commands() {
        return [...this.panes.keys()].map((store) => ({
            name: `Edit ${LABELS[store]}`,
            icon: 'edit',
            run: () => this.startEdit(store),
        }));
    },
};

export default page;

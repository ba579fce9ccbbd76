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
        ctx.on('memory.changed', (event) => this.happened(event));
        ctx.on('reset', () => this.reload());
        ctx.on('open', () => this.catchUp());
        ctx.on('config.changed', () => this.reload());
        ctx.keys({
            e: () => this.startEdit(this.here()),
            'mod+s': () => this.editor?.save(),
            u: () => this.undo(),
        });
        ctx.list(root, '.blk', { open: (block) => this.paneOf(block)?.ask(block) });
        this.loaded = this.load(); // first: the text is what people wait for
        this.head();
        await this.loaded;
    },

    /* Only what the address says anew is done anew: the search field must not go while it is typed in. */
    async update(params) {
        const before = this.known ?? {};
        const moved = (...keys) => keys.some((key) => (before[key] ?? '') !== (params[key] ?? ''));
        this.known = params;
        if (moved('p', 'u', 'w', 'v', 'edit')) this.head();
        if (moved('p', 'u', 'w')) return this.load();
        if (moved('v', 'edit', 'tab', 'line')) await this.arrange();
        if ((params.q ?? '') !== this.query) this.search(params.q ?? '');
    },

    unmount() {
        this.editor?.keep();
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

    async load() {
        const { p, u, w } = this.ctx.params;
        this.editor?.keep();
        this.editor = null;
        const given = p || u || w ? null : takeMemory();
        const data = given ?? (await this.ctx.own('memory.list'));
        if (given && connection() === 'online') this.catchUp(); // events came before this page did
        this.shown = { p, u, w };
        this.data = data;
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
        this.editor?.keep();
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
        const pane = [...this.panes.values()].find(
            ({ file }) => file.scope === match[1] && file.key === match[2],
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
        if (!block) return this.ctx.toast('Move to a line with j and k first.');
        return this.paneOf(block)?.undo(block);
    },

    /* ---- editing ------------------------------------------------------------------------------ */

    startEdit(store) {
        if (this.panes.has(store)) this.ctx.set({ edit: store, line: null }, {});
    },

    async showEditor(pane) {
        const { Editor } = await import('../editor.js');
        if (this.editor?.file.scope === pane.file.scope && this.editor.file.key === pane.file.key)
            return;
        if (this.ctx.params.edit !== pane.store) return;
        this.editor = new Editor(this.ctx, { ...pane.file, label: LABELS[pane.store] }, (saved) =>
            this.endEdit(pane, saved),
        );
        this.results.hidden = true;
        this.tabs.hidden = true;
        fill(this.files, this.editor.node);
        this.files.dataset.show = 'editor';
        this.editor.start();
    },

    async endEdit(pane, saved) {
        this.editor = null;
        if (saved) await this.reload().catch(() => {});
        this.ctx.set({ edit: null, tab: pane.store === 'user' ? null : pane.store });
        requestAnimationFrame(() =>
            $('.file-head button', pane.node)?.focus({ preventScroll: true }),
        );
    },

    /* ---- what happens meanwhile --------------------------------------------------------------- */

    /* What changed while nobody told us. */
    async catchUp() {
        await painted();
        await this.loaded;
        await this.reload();
    },

    async happened(event) {
        await this.loaded; // what is on its way may be from before
        if (
            ![...this.panes.values()].some(
                ({ file }) => file.scope === event.scope && file.key === event.key,
            )
        )
            return;
        await this.reload(event).catch(() => {});
    },

    async reload(event = null) {
        const { p, u, w } = this.ctx.params;
        const turn = (this.turn = (this.turn ?? 0) + 1);
        const data = await this.ctx.own('memory.list');
        if (['p', 'u', 'w'].some((key) => ({ p, u, w })[key] !== this.shown?.[key])) return;
        if (turn !== this.turn) return; // answers overtake each other; who asked last knows most
        this.data = data;
        fill(this.gauge, gauge(data));
        for (const file of data.files) {
            if (turn !== this.turn) return;
            const pane = this.panes.get(storeOf(file));
            if (!pane) return this.load();
            if (this.editor?.file.scope === file.scope && this.editor.file.key === file.key)
                this.editor.changed(file, event);
            await pane.update(file, data);
        }
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
        const mine = [...this.panes.values()].some(
            ({ file }) => file.scope === hit.scope && file.key === hit.key,
        );
        if (mine)
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

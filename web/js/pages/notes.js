/*
 * pages/notes.js: the notes of a workspace: a list that filters as one types, or a graph of their links;
 * a note opens beside it. Address: notes/KEY; parameters: w (workspace), of=personality|global, q (filter),
 * type, stale=1, view=graph, edit=1.
 */
import { allPages } from '../client.js';
import { fill, h } from '../dom.js';
import { count, plural } from '../format.js';
import { icon } from '../icons.js';
import { NotePane } from '../note.js';
import { sheet } from '../sheet.js';
import { badge, empty, notice, problem, segmented, select, time } from '../ui.js';
import { VirtualList } from '../virtual.js';

const PAGE = { 'notes.list': 5000, 'notes.graph': 20000 }; // notes asked for at once
const ROW = 68; // pixels, as in css/pages-notes.css
const TYPES = ['user', 'feedback', 'project', 'reference'];
const SCOPES = [{ value: '', label: 'of the workspace' }, { value: 'personality', label: 'of the personality' }, { value: 'global', label: 'shared by all' }];

/** Why somebody should look at a note; null: nobody need. */
const mark = (note) => note.stale ?? (note.findings?.length ? plural(note.findings.length, 'finding') : null);

const page = {
    title: 'Notes',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx, data: null, graph: null, graphView: null, pane: null, loaded: null, painted: null });
        await sheet('pages-notes');
        this.facts = h('div', { class: 'notes-facts small muted' });
        this.filters = h('div', { class: 'notes-filters cluster', role: 'group', 'aria-label': 'Show only' });
        this.list = new VirtualList({ label: 'Notes', rowHeight: ROW, key: (note) => note.key, make: (note) => this.row(note) });
        this.none = h('div', { class: 'notes-none', role: 'status' });
        this.index = h('section', { class: 'notes-index', 'aria-label': 'All notes' }, this.facts, this.filters, this.none, this.list.node);
        this.map = h('section', { class: 'notes-map', 'aria-label': 'Links between notes', hidden: true });
        this.beside = h('section', { class: 'notes-note', 'aria-label': 'Note' });
        root.append(this.index, this.map, this.beside);
        this.fresh = ctx.refresh(['note.changed', 'memory.changed'], { when: (event) => this.holds(event), ask: () => this.ask(), show: (answer) => this.show(answer) });
        ctx.keys({
            j: () => this.step(1), k: () => this.step(-1),
            e: () => this.pane?.edit(), 'mod+s': () => this.pane?.editor?.save(),
            Escape: () => this.escape(),
        });
        this.head();
        await this.fresh.now();
    },

    async update(params) {
        this.head();
        if (this.loaded !== this.whose(params)) return this.fresh.now();
        await this.arrange();
    },

    unmount() {
        this.closePane();
    },

    whose: (params) => [params.w, params.p, params.of].join(' '),

    head() {
        const { ctx } = this;
        ctx.head({
            selectors: ctx.params.of === 'global' ? [] : [ctx.params.of === 'personality' ? 'personality' : 'workspace'],
            search: { label: 'Filter notes', value: ctx.params.q ?? '', input: (text) => ctx.set({ q: text.trim() || null }) },
            actions: [segmented('View', [{ value: 'list', label: 'List' }, { value: 'graph', label: 'Graph' }], this.view(), (value) => ctx.set({ view: value === 'graph' ? 'graph' : null }, {}))],
        });
    },

    view() {
        return this.ctx.params.view === 'graph' ? 'graph' : 'list';
    },

    scope() {
        return this.ctx.params.of ? { scope: this.ctx.params.of } : {};
    },

    /* ---- loading ------------------------------------------------------------------------------ */

    async ask() {
        const { ctx } = this, whose = this.whose(ctx.params), nowhere = !ctx.params.w && !ctx.params.of;
        const best = nowhere ? await this.bestWorkspace() : null;
        if (nowhere) return { whose, best, data: { notes: [], stale: 0, index: null, nowhere } };
        return { whose, best, data: await this.all('notes.list') };
    },

    async all(name) {
        const members = name === 'notes.list' ? ['notes'] : ['nodes', 'links'];
        let stale = 0;
        const data = await allPages(async (cursor) => {
            const page = await this.ctx.call(name, { ...this.scope(), limit: PAGE[name], ...cursor });
            stale += page.stale ?? 0;
            return page;
        }, members);
        return { ...data, stale };
    },

    /* Notes belong to a folder: the one with most of them, when nobody said which. */
    async bestWorkspace() {
        if (this.data?.nowhere) this.ctx.directory.forget(); // there was none: one may have come
        const { workspaces } = await this.ctx.directory.workspaces();
        return workspaces.filter((one) => !one.problem).sort((a, b) => (b.notes ?? 0) - (a.notes ?? 0))[0];
    },

    async show({ whose, best, data }) {
        const { ctx } = this, other = this.loaded !== whose;
        if (best) return void setTimeout(() => { if (!ctx.signal.aborted) ctx.set({ w: best.id }); }); // when this page is there
        this.loaded = whose;
        this.data = data;
        this.graph = null;
        for (const note of data.notes) note.words = `${note.title}\n${note.hook ?? ''}\n${note.key}\n${note.type ?? ''}`.toLocaleLowerCase();
        if (other) {
            this.closePane();
            return this.arrange();
        }
        this.paintList({ stay: true });
        if (this.view() === 'graph') await this.paintGraph();
        this.pane?.paintLinks();
    },

    /* Whether an event may be of what is shown. */
    holds({ scope }) {
        return !this.data || this.data.nowhere || scope === this.data.scope;
    },

    /* ---- the list ----------------------------------------------------------------------------- */

    async arrange() {
        const { params, rest } = this.ctx;
        const graph = this.view() === 'graph';
        this.root.dataset.open = rest ? 'note' : '';
        this.root.dataset.view = this.view();
        this.index.hidden = graph;
        this.map.hidden = !graph;
        const before = this.painted;
        this.painted = JSON.stringify([this.loaded, params.q, params.type, params.stale]);
        if (before !== this.painted) this.paintList();
        await Promise.all([graph ? this.paintGraph() : null, this.open(rest)]);
    },

    shown() {
        const { q = '', type, stale } = this.ctx.params;
        const words = q.toLocaleLowerCase().split(/\s+/).filter(Boolean);
        return this.data.notes.filter((note) => (!type || note.type === type) && (!stale || mark(note)) && words.every((word) => note.words.includes(word)));
    },

    paintList(options) {
        const { notes, index } = this.data;
        const shown = this.shown(), looked = notes.filter(mark).length;
        fill(this.facts,
            h('span', { class: 'num' }, shown.length === notes.length ? plural(notes.length, 'note') : `${count(shown.length)} of ${plural(notes.length, 'note')}`),
            select('Whose notes', SCOPES, this.ctx.params.of ?? '', (of) => this.ctx.go('notes', { ...(of ? { of } : {}), ...(this.view() === 'graph' ? { view: 'graph' } : {}) }), { plain: true }),
            index ? h('span', { class: 'num', title: 'The index, one line for each note, goes into every prompt' }, `the index takes ${count(index.chars)} of ${count(index.budget)} characters`) : null,
            index?.hooks && index.hooks.notes < index.hooks.of ? notice('warning', `Agents that use hooks see the last ${count(index.hooks.notes)} of ${plural(index.hooks.of, 'line')}; a prompt recalls the others.`) : null,
            index?.omittedChars ? notice('warning', `The index does not fit into the prompt: ${plural(index.omittedChars, 'character')} would be left out.`) : null);
        fill(this.filters, notes.length ? [this.chip('All', !this.ctx.params.type && !this.ctx.params.stale, { type: null, stale: null }),
            TYPES.filter((type) => notes.some((note) => note.type === type)).map((type) => this.chip(type, this.ctx.params.type === type, { type: this.ctx.params.type === type ? null : type })),
            looked ? this.chip([icon('warning', 14), `${count(looked)} to look at`], Boolean(this.ctx.params.stale), { stale: this.ctx.params.stale ? null : '1' }) : null] : null);
        fill(this.none, shown.length ? null : notes.length ? h('p', { class: 'empty' }, 'No note fits. ', h('a', { href: this.ctx.href('notes', this.ctx.params.of ? { of: this.ctx.params.of } : {}) }, 'Show all of them'))
            : empty(this.data.nowhere ? 'No folder has notes yet. In a project folder, run:' : 'No notes here yet. An agent can write one, or you:', "ethos remember 'Tests need a running Redis'"));
        this.list.node.hidden = shown.length === 0;
        this.list.current = this.ctx.rest || null;
        this.list.set(shown, options);
        if (this.ctx.rest) this.list.revealKey(this.ctx.rest);
    },

    chip(label, pressed, params) {
        return h('button', { type: 'button', class: 'chip', 'aria-pressed': String(pressed), on: { click: () => this.ctx.set(params) } }, label);
    },

    row(note) {
        const reason = mark(note);
        return h('a', { class: 'note-row v-focus', href: this.href(note.key) },
            h('span', { class: 'note-title ellipsis', dir: 'auto' }, note.title),
            h('span', { class: 'note-side small muted' }, reason ? h('span', { class: 'note-stale', title: reason }, icon('warning', 14), h('span', note.stale ? 'stale' : 'check')) : null, time(note.modifiedAt)),
            h('span', { class: 'note-hook ellipsis small muted', dir: 'auto' }, note.hook || ' '),
            h('span', { class: 'note-type small faint' }, note.listed ? note.type ?? '' : badge('not in the index')));
    },

    href(key) {
        const { q, type, stale, view, of } = this.ctx.params;
        return this.ctx.href(`notes/${key}`, { q, type, stale, view, of });
    },

    step(by) {
        if (this.view() === 'graph') this.graphView?.step(by);
        else this.list.step(by);
    },

    /* ---- the graph ---------------------------------------------------------------------------- */

    /* A promise of them, asked for once. */
    links() {
        if (this.graph) return this.graph;
        const asked = this.all('notes.graph');
        asked.catch(() => { if (this.graph === asked) this.graph = null; });
        this.graph = asked;
        return asked;
    },

    async paintGraph() {
        if (this.data.notes.length === 0) return void fill(this.map, h('div', { class: 'notes-facts' }), empty('There are no notes to draw yet.', "ethos remember 'Tests need a running Redis'"));
        try {
            const asked = this.links();
            const [{ GraphView }, graph] = await this.ctx.busy(Promise.all([import('../graph.js'), asked]));
            if (this.graph !== asked) return; // the notes changed: a later one is on its way
            if (this.graphView?.graph !== graph) {
                this.graphView = new GraphView(graph, { open: (key) => this.ctx.go(`notes/${key}`, { view: 'graph', of: this.ctx.params.of }) });
                fill(this.map, this.graphView.node);
            }
            this.graphView.filter(new Set(this.shown().map((note) => note.key)));
            this.graphView.select(this.ctx.rest || null);
        } catch (error) {
            if (error.name !== 'AbortError') fill(this.map, problem(error));
        }
    },

    /* ---- one note ----------------------------------------------------------------------------- */

    async open(key) {
        this.list.mark(key || null);
        if (!key) {
            this.closePane();
            return void fill(this.beside, this.view() === 'list' && this.data.notes.length ? h('p', { class: 'notes-hint faint' }, 'Choose a note: ', h('kbd', 'j'), ' ', h('kbd', 'k'), ' move, ', h('kbd', 'Enter'), ' opens.') : null);
        }
        if (this.pane?.key === key) return this.pane.setEditing(Boolean(this.ctx.params.edit));
        this.closePane();
        const pane = new NotePane(this.ctx, key, {
            scope: this.scope(), row: (one) => this.data.notes.find((note) => note.key === one), where: () => this.data.scope, links: () => this.links(), href: (other) => this.href(other),
            back: () => this.ctx.go('notes', this.besides()), gone: () => this.ctx.go('notes', this.besides(), { replace: true }), holds: (event) => this.holds(event),
            write: (on) => this.ctx.set({ edit: on ? '1' : null }, { replace: !on }),
        });
        this.pane = pane;
        try {
            await pane.load();
        } catch (error) {
            if (error.name === 'AbortError') return;
            pane.failed(error);
        }
        if (this.pane !== pane) return;
        fill(this.beside, pane.node);
        this.beside.scrollTop = 0;
        pane.setEditing(Boolean(this.ctx.params.edit));
        if (matchMedia('(max-width: 899px)').matches) window.scrollTo(0, 0);
    },

    closePane() {
        this.pane?.close();
        this.pane = null;
    },

    besides() {
        const { q, type, stale, view, of } = this.ctx.params;
        return { q, type, stale, view, of };
    },

    escape() {
        if (!this.ctx.rest || this.pane?.editor) return false;
        this.ctx.go('notes', this.besides());
        return true;
    },

    /** For the palette. */
    commands() {
        return [
            { name: 'Show the notes as a graph', icon: 'graph', run: () => this.ctx.set({ view: 'graph' }, {}) },
            { name: 'Show notes to check', icon: 'warning', run: () => this.ctx.set({ stale: '1', view: null }, {}) },
            ...(this.pane ? [{ name: 'Edit this note', icon: 'edit', run: () => this.pane.edit() }] : []),
        ];
    },
};

export default page;

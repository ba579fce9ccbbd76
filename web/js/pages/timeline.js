/*
 * pages/timeline.js: every change of every file, newest first. Parameters: person, role, through, key,
 * scope, until (filters), change=N (open; with scope and key; t: its time, if known), at=SCOPE/KEY@REV (the
 * file as it was, beside).
 */
import { restoreVersion, undoChange } from '../change.js';
import { diffView } from '../diff.js';
import { fill, h, refill } from '../dom.js';
import {
    clock,
    count,
    day,
    fileLabel,
    moment,
    noteName,
    sameDay,
    scopeLabel,
    via,
    who,
} from '../format.js';
import { upTo } from '../fresh.js';
import { icon } from '../icons.js';
import { Scrubber } from '../scrubber.js';
import { button, copyable, delta, empty, linkButton, problem, select } from '../ui.js';

const PAGE = 60;
const THROUGH = ['cli', 'mcp', 'hook', 'editor', 'web', 'external', 'undo', 'restore', 'import'];
const FILES = [
    ['USER.md', 'About you'],
    ['MEMORY.md', 'Memory and indexes'],
];

const isNote = ({ key }) => key !== 'USER.md' && key !== 'MEMORY.md';
const momentOr = (text) => (Number.isNaN(Date.parse(text)) ? text : moment(text)); // somebody may type it
const rowId = (change) => `${change.scope}/${change.key}#${change.number}`;

const page = {
    title: 'Timeline',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx, rows: new Map(), items: null, cursor: null, many: PAGE });
        this.filters = h('div', {
            class: 'filters cluster',
            role: 'group',
            'aria-label': 'Show only',
        });
        this.list = h('div', { class: 'timeline' });
        this.more = h('div', { class: 'timeline-more' });
        root.append(h('div', { class: 'timeline-column' }, this.filters, this.list, this.more));
        this.fresh = ctx.refresh(['memory.changed', 'note.changed'], {
            ask: () => this.ask(),
            show: (answer) => this.take(answer),
        });
        ctx.list(root, '.change-line');
        ctx.keys({ u: () => this.undoHere() });
        this.paintFilters();
        await this.load();
        this.paintScrubber();
    },

    async update() {
        this.paintFilters();
        if (this.filterKey() !== this.loaded) await this.load();
        this.paintScrubber();
    },

    /* ---- filters ------------------------------------------------------------------------------ */

    filter() {
        const { person, role, through, key, scope, until } = this.ctx.params;
        const wanted = { user: person, personality: role, via: through, key, scope, until };
        return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value));
    },

    filterKey() {
        return JSON.stringify(this.filter());
    },

    async paintFilters() {
        const { params, set, options } = this.ctx;
        const [roles, people] = await Promise.all(
            [options.personality(), options.user()].map((p) => p.catch(() => ({ rows: [] }))),
        );
        if (params !== this.ctx.params) return; // a later one is on its way
        const all = (label, rows) => [{ value: '', label }, ...rows];
        const change = (name) => (value) => set({ [name]: value || null, change: null }, {});
        const files = FILES.map(([value, label]) => ({ value, label }));
        if (params.key && !FILES.some(([key]) => key === params.key))
            files.push({ value: params.key, label: params.key });
        refill(
            this.filters,
            select(
                'Personality',
                all('Every personality', roles.rows),
                params.role ?? '',
                change('role'),
                { hideLabel: true },
            ),
            select('Person', all('Everybody', people.rows), params.person ?? '', change('person'), {
                hideLabel: true,
            }),
            select(
                'Through',
                all(
                    'Through anything',
                    THROUGH.map((value) => ({ value, label: `Through ${via(value)}` })),
                ),
                params.through ?? '',
                change('through'),
                { hideLabel: true },
            ),
            select('File', all('Every file', files), params.key ?? '', change('key'), {
                hideLabel: true,
            }),
            params.scope ? h('span', { class: 'badge accent' }, scopeLabel(params.scope)) : null,
            params.until
                ? [
                      h('span', { class: 'badge accent' }, `until ${momentOr(params.until)}`),
                      linkButton('Include later ones', () => set({ until: null, change: null }, {})),
                  ]
                : null,
            Object.keys(this.filter()).length
                ? button({
                      label: 'Show all',
                      kind: 'quiet',
                      icon: 'close',
                      run: () =>
                          set(
                              {
                                  role: null,
                                  person: null,
                                  through: null,
                                  key: null,
                                  scope: null,
                                  until: null,
                                  change: null,
                              },
                              {},
                          ),
                  })
                : null,
        );
    },

    /* ---- rows --------------------------------------------------------------------------------- */

    async load() {
        this.loaded = this.filterKey();
        this.items = null;
        this.many = PAGE;
        await this.fresh.now();
        this.openNamed();
    },

    /*
     * As many as are wanted; and on, to the change that the address names: numbers go down with time. When a
     * page opens with one that is further down, it begins there.
     */
    async ask() {
        const filter = this.filter();
        const { params } = this.ctx;
        const { change, t } = params;
        const named = Number((filter.scope && filter.key && change) || Infinity);
        const opens = this.items === null;
        const below = (items) => items.at(-1)?.number > named;
        const answer = await upTo(
            this.many,
            (page) => this.ctx.call('memory.timeline', { ...filter, ...page }),
            (items) => below(items) && !(opens && t),
        );
        const found = answer.items.slice(this.many).find(({ number }) => number === named);
        const until = found ? found.time : answer.cursor && below(answer.items) ? t : null;
        const wanted = params === this.ctx.params; // who went on meanwhile is not brought back
        if (opens && until && wanted) this.ctx.set({ until, t: null });
        return answer;
    },

    take({ items, cursor }) {
        const known = new Set((this.items ?? items).map(rowId)); // of a first page none is new
        const at = items.findIndex((change) => known.has(rowId(change)));
        this.items = items;
        this.cursor = cursor;
        this.paint(new Set(items.slice(0, at < 0 ? items.length : at).map(rowId)));
    },

    async loadMore() {
        const { length } = this.items;
        this.many = length + PAGE;
        await this.ctx.busy(this.fresh.now());
        const next = this.items[length];
        if (next) this.rows.get(rowId(next))?.line.focus();
    },

    paint(fresh = new Set()) {
        const focused = document.activeElement?.closest('.change')?.dataset.id;
        const before = this.rows; // a change that is what it was keeps its row: unfolded, read half through
        this.rows = new Map();
        if (this.items.length === 0)
            return void fill(
                this.list,
                Object.keys(this.filter()).length
                    ? empty('No change matches.')
                    : empty(
                          'Nothing has changed yet. Every change will be here, with its author.',
                          "ethos memory add 'We deploy on Fridays'",
                      ),
            );
        const days = [];
        for (const change of this.items) {
            if (!days.length || !sameDay(days.at(-1)[0].time, change.time)) days.push([]);
            days.at(-1).push(change);
        }
        fill(
            this.list,
            days.map((changes) =>
                h(
                    'section',
                    { class: 'day' },
                    h('h2', { class: 'day-name' }, day(changes[0].time)),
                    h(
                        'ol',
                        { class: 'changes' },
                        changes.map((change) => this.row(change, before, fresh).node),
                    ),
                ),
            ),
        );
        if (focused) this.rows.get(focused)?.line.focus({ preventScroll: true });
        fill(
            this.more,
            this.cursor
                ? button({
                      label: 'Show earlier changes',
                      run: () => this.loadMore().catch(this.ctx.fail),
                  })
                : h('p', { class: 'small faint' }, 'The history begins here.'),
        );
    },

    row(change, before, fresh) {
        const id = rowId(change);
        const known = before.get(id);
        const row = known?.is(change) ? known : new Row(this.ctx, change, fresh.has(id));
        if (known?.open && !row.open) row.toggle(true);
        row.node.classList.toggle('fresh', fresh.has(id));
        this.rows.set(id, row);
        return row;
    },

    openNamed() {
        const { change, scope, key } = this.ctx.params;
        const row = change && this.rows.get(`${scope}/${key}#${change}`);
        if (!row) return;
        row.toggle(true);
        row.line.focus({ preventScroll: true });
        row.node.scrollIntoView({ block: 'center' });
    },

    undoHere() {
        const row = this.rows.get(document.activeElement?.closest('.change')?.dataset.id);
        if (row) return undoChange(this.ctx, row.change);
        return this.ctx.toast('Select a change with j and k first.');
    },

    /* ---- the file as it was ------------------------------------------------------------------- */

    paintScrubber() {
        const match = /^(.*)\/([^/@]+)@(.+)$/.exec(this.ctx.params.at ?? '');
        if (!match) {
            if (this.scrubber) this.ctx.aside(null);
            this.endScrubber();
            return;
        }
        const [, scope, key, revision] = match;
        if (this.scrubber?.is(scope, key)) return this.scrubber.go(revision);
        this.endScrubber();
        this.scrubber = new Scrubber(this.ctx, {
            scope,
            key,
            revision,
            moved: (rev) => this.ctx.set({ at: `${scope}/${key}@${rev}` }),
            close: () => this.ctx.set({ at: null }),
        });
        this.ctx.aside(this.scrubber.node, `${fileLabel(scope, key)} as it was`, () =>
            this.ctx.set({ at: null }),
        );
    },

    endScrubber() {
        this.scrubber?.end();
        this.scrubber = null;
    },

    unmount() {
        this.scrubber = null;
    },
};

/* The first line that came, without the marks of markdown; that of a note's head tells nothing. */
function summary(change) {
    const line = (change.line ?? '').replace(/^[+-]/, '').trim();
    if (line === '---') return '';
    return line
        .replace(/^(#{1,6}|[-*+]|\d+\.)\s+(\[[ x]\]\s+)?/, '')
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replace(/[*_`~]{1,3}(\S[^*_`~]*)[*_`~]{1,3}/g, '$1');
}

class Row {
    constructor(ctx, change, fresh) {
        this.ctx = ctx;
        this.change = change;
        this.open = false;
        this.detail = h('div', { class: 'change-detail', hidden: true });
        const gone = (change.line ?? '').startsWith('-');
        this.line = h(
            'button',
            {
                type: 'button',
                class: 'change-line',
                'aria-expanded': 'false',
                on: { click: () => this.toggle(!this.open) },
            },
            h('span', { class: 'change-time num mono' }, clock(change.time)),
            h(
                'span',
                { class: 'change-main' },
                h(
                    'span',
                    { class: 'change-text', dir: 'auto' },
                    summary(change)
                        ? h(gone ? 'del' : 'span', summary(change))
                        : h('span', { class: 'faint' }, this.words()),
                ),
                h(
                    'span',
                    { class: 'change-who small muted ellipsis' },
                    h(
                        'span',
                        { class: 'strong' },
                        isNote(change) ? 'Note' : fileLabel(change.scope, change.key),
                    ),
                    change.key === 'USER.md' ? '' : ` of ${scopeLabel(change.scope)}`,
                    ` · ${who(change)}`,
                    change.undoes?.length ? ' · undoes an earlier change' : '',
                    change.event ? ` · ${change.event}` : '',
                    change.large ? ' · removed over a quarter of the file' : '',
                ),
            ),
            delta(change.added, change.removed),
            icon('chevron', 16),
        );
        this.node = h(
            'li',
            { class: `change ${fresh ? 'fresh' : ''}`, data: { id: rowId(change) } },
            this.line,
            this.detail,
        );
    }

    /* What was forgotten is in no change any more. */
    is(change) {
        return JSON.stringify(this.change) === JSON.stringify(change);
    }

    words() {
        const [action] = this.change.actions ?? [];
        if (isNote(this.change)) {
            const { before, after, key } = this.change;
            const what = !after ? 'Deleted' : before ? 'Changed' : 'New';
            return `${what} note: ${noteName(key).replaceAll('-', ' ')}`;
        }
        return (
            {
                restore: 'An earlier version was restored',
                external: 'Edited outside',
                delete: 'The file was removed',
            }[action] ?? 'Blank lines changed'
        );
    }

    toggle(open) {
        this.open = open;
        this.line.setAttribute('aria-expanded', String(open));
        this.detail.hidden = !open;
        if (open && !this.detail.firstChild) this.fillDetail();
    }

    async fillDetail() {
        const { ctx, change } = this;
        const { scope, key, time } = change;
        fill(this.detail, h('p', { class: 'small faint' }, 'One moment…'));
        let diff = change.diff;
        let failure = null;
        try {
            diff ??= (
                await ctx.call('memory.timeline', {
                    scope,
                    key,
                    since: time,
                    until: time,
                    diff: true,
                    limit: 20,
                })
            ).items.find((row) => row.number === change.number)?.diff;
        } catch (error) {
            if (error.name === 'AbortError') return;
            failure = error;
        }
        const version = change.after ?? change.before;
        fill(
            this.detail,
            failure
                ? problem(failure, linkButton('Try again', () => this.fillDetail()))
                : diff === undefined || diff === ''
                  ? h('p', { class: 'small muted' }, 'The diff is no longer available.')
                  : diffView(diff, { label: `What changed in ${fileLabel(scope, key)}` }),
            h(
                'div',
                { class: 'cluster' },
                button({
                    label: 'Undo this change',
                    icon: 'undo',
                    kind: 'small',
                    run: () => undoChange(ctx, change),
                }),
                change.after
                    ? button({
                          label: 'Restore this version',
                          icon: 'restore',
                          kind: 'small',
                          run: () =>
                              restoreVersion(ctx, { scope, key, revision: change.after, time }),
                      })
                    : null,
                button({
                    label: 'The file as it was',
                    icon: 'memory',
                    kind: 'small quiet',
                    run: () => ctx.set({ at: `${scope}/${key}@${version}` }, {}),
                }),
                change.session
                    ? h(
                          'a',
                          {
                              class: 'button small quiet',
                              href: ctx.href(`sessions/${change.session}`, { t: time }),
                          },
                          'Its session',
                      )
                    : null,
            ),
            h(
                'p',
                { class: 'small faint change-facts' },
                `${moment(time)} · change ${count(change.number)}`,
                change.after
                    ? copyable(change.after, 'Copy the revision', change.after.slice(7, 19))
                    : ' · the file was removed',
            ),
        );
    }
}

export default page;

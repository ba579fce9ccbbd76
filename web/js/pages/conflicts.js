/*
 * pages/conflicts.js: texts that could not be brought together, each kept whole, and edits outside that
 * took something away. Address: conflicts/ID opens one.
 */
import { allPages } from '../client.js';
import { confirmAsItIs } from '../dialog.js';
import { diffView, parseDiff } from '../diff.js';
import { h, refill } from '../dom.js';
import { bytes, fileLabel, plural, scopeLabel, who } from '../format.js';
import { undoChange } from '../change.js';
import { badge, button, command, delta, empty, problem, time } from '../ui.js';

const ENDS = [
    {
        way: 'both',
        label: 'Keep both',
        text: 'Adds the lines of the copy that are missing in the file.',
        kind: 'primary',
    },
    {
        way: 'take',
        label: 'Take the copy',
        text: 'The copy replaces the file; the file’s text stays in the timeline.',
    },
    {
        way: 'keep',
        label: 'Keep the file',
        text: 'The file does not change; the copy’s text stays in the timeline.',
    },
];

const EVENTS = {
    dropped: 'An external edit removed changes',
    merged: 'A save of an outdated text had lost changes; they were merged with it',
    partial: 'A save of an outdated text had lost changes; not all of them could be merged with it',
    reapplied: 'An external edit had lost a change; it was made again',
    restored: 'A deleted text was restored',
};

const page = {
    title: 'Conflicts',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx });
        this.list = h('div', { class: 'conflicts reading' });
        root.append(this.list);
        ctx.head({ selectors: ['personality', 'user', 'workspace'] });
        this.fresh = ctx.refresh(['conflict.changed', 'memory.changed'], {
            ask: () => this.ask(),
            show: (answer) => this.paint(answer),
        });
        ctx.list(root, '.conflict-line');
        await this.fresh.now();
    },

    async update() {
        this.ctx.head({ selectors: ['personality', 'user', 'workspace'] });
        await this.fresh.now();
    },

    /* The list, and all of the one that is open: a text, or why there is none. */
    async ask() {
        const { rest } = this.ctx;
        const { conflicts, events } = await allPages(
            (cursor) => this.ctx.call('conflicts.list', cursor),
            ['conflicts', 'events'],
        );
        const open = conflicts.find(({ id }) => (rest ? id === rest : conflicts.length === 1));
        const whole = open
            ? await this.ctx.call('conflicts.show', { id: open.id }).catch((error) => ({ error }))
            : null;
        return { conflicts, events, open, whole };
    },

    paint({ conflicts, events, open, whole }) {
        const unfolded = this.list.querySelector('.conflict-detail details')?.open ?? false;
        refill(
            this.list,
            conflicts.length
                ? h(
                      'p',
                      { class: 'muted' },
                      `${plural(conflicts.length, 'text')} could not be merged by itself. Nothing is lost: each is kept whole until you decide.`,
                  )
                : empty(
                      'No conflicts. If two writers change the same line and their changes cannot be merged, you find both texts here.',
                  ),
            h(
                'ul',
                { class: 'rows' },
                conflicts.map((conflict) => this.row(conflict, conflict === open ? whole : null)),
            ),
            events.length ? this.events(events) : null,
        );
        const details = this.list.querySelector('.conflict-detail details');
        if (details && unfolded) details.open = true;
    },

    row(conflict, whole) {
        const open = whole !== null;
        const line = h(
            'a',
            {
                class: 'row conflict-line',
                href: this.ctx.href(open ? 'conflicts' : `conflicts/${conflict.id}`),
                'aria-expanded': String(open),
            },
            h(
                'span',
                { class: 'conflict-main' },
                h('span', { class: 'strong' }, fileLabel(conflict.scope, conflict.key)),
                h('span', { class: 'muted' }, ` of ${scopeLabel(conflict.scope)}`),
                h(
                    'span',
                    { class: 'small muted conflict-when' },
                    time(conflict.time),
                    ` · ${bytes(conflict.bytes)}`,
                ),
            ),
            badge('waits for you', 'warning', 'warning'),
        );
        return h('li', line, open ? this.detail(conflict, whole) : null);
    },

    detail(conflict, { error, diff, content, path }) {
        if (error) return h('div', { class: 'conflict-detail' }, problem(error));
        return h(
            'div',
            { class: 'conflict-detail' },
            h(
                'p',
                { class: 'small muted' },
                'From the current file (−) to the copy (+):',
            ),
            diff
                ? diffView(diff, { label: 'How the copy differs' })
                : h('p', { class: 'small' }, 'The copy and the file are the same now.'),
            h(
                'div',
                { class: 'ends' },
                ENDS.map((end) =>
                    h(
                        'div',
                        { class: 'end' },
                        button({
                            label: end.label,
                            kind: end.kind,
                            run: () => this.resolve(conflict, end).catch(this.ctx.fail),
                        }),
                        h('p', { class: 'small muted' }, end.text),
                    ),
                ),
            ),
            h(
                'details',
                h('summary', { class: 'small muted' }, 'The whole copy'),
                h('pre', { class: 'whole', tabindex: '0', dir: 'auto' }, content),
                path ? h('p', { class: 'small faint mono' }, path) : null,
            ),
        );
    },

    /*
     * Of the file as it is: what an agent writes meanwhile is not written over unseen. To keep the file is to
     * keep that, too.
     */
    async question({ id }, { way, label, text }) {
        const { diff, revision } = await this.ctx.busy(this.ctx.call('conflicts.show', { id }));
        const changes = {
            keep: [],
            take: parseDiff(diff),
            both: parseDiff(diff).map((row) =>
                row.kind === 'del' ? { kind: 'same', text: row.text } : row,
            ),
        }[way];
        return {
            title: label,
            action: label,
            wide: true,
            body: [
                h('p', text),
                changes.length
                    ? diffView(changes, { label: 'What will change' })
                    : h('p', { class: 'muted small' }, 'The file does not change.'),
            ],
            run: () =>
                this.ctx.call('conflicts.resolve', {
                    id,
                    [way]: true,
                    ...(way === 'keep' ? {} : { ifMatch: revision ?? 'absent' }),
                }),
        };
    },

    async resolve(conflict, end) {
        if (!(await confirmAsItIs(() => this.question(conflict, end)))) return;
        this.ctx.toast('Resolved. The timeline keeps both texts.');
        this.ctx.go('conflicts', {}, { replace: true });
        await this.fresh.now();
    },

    events(events) {
        return h(
            'section',
            { class: 'conflict-events' },
            h('h2', { class: 'lead' }, 'What happened to entries'),
            h(
                'ul',
                { class: 'rows' },
                events.map((event) =>
                    h(
                        'li',
                        { class: 'row event' },
                        h(
                            'div',
                            { class: 'conflict-main' },
                            h('p', EVENTS[event.event] ?? event.event),
                            event.line
                                ? h(
                                      'p',
                                      { class: 'small mono event-text', dir: 'auto' },
                                      event.line,
                                  )
                                : null,
                            h(
                                'p',
                                { class: 'small muted' },
                                `${fileLabel(event.scope, event.key)} of ${scopeLabel(event.scope)} · ${who(event)} · `,
                                time(event.time),
                            ),
                            event.undo
                                ? h(
                                      'details',
                                      h(
                                          'summary',
                                          { class: 'small muted' },
                                          'The command that undoes it',
                                      ),
                                      command(event.undo),
                                  )
                                : null,
                        ),
                        delta(event.added, event.removed),
                        button({
                            label: 'Undo',
                            icon: 'undo',
                            kind: 'small',
                            run: () => undoChange(this.ctx, event),
                        }),
                    ),
                ),
            ),
        );
    },
};

export default page;

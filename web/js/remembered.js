/*
 * remembered.js: what a turn changed in memory, with its undo. The card shows every line; so undoing asks
 * nothing more.
 */
import { fileAt } from './change.js';
import { lineDiff } from './diff.js';
import { fill, h } from './dom.js';
import { fileLabel, plural } from './format.js';
import { icon } from './icons.js';
import { button } from './ui.js';

const SHOWN = 12; // lines
const SEPARATOR = '§'; // between entries of memory: no line of them

export class Remembered {
    #ctx;
    #session;
    #change;
    #undo = null; // the change that took it back

    /** all: the changes of the session, oldest first. */
    constructor(ctx, session, change, all) {
        this.#ctx = ctx;
        this.#session = session;
        this.#change = change;
        this.#undo = undoOf(change, all);
        this.lines = h('ul', { class: 'remembered-lines' }, change.line ? line(change.line[0], change.line.slice(1)) : null);
        this.node = h('section', { class: 'remembered small', data: { change: change.number, undone: this.#undo ? 'yes' : '' }, 'aria-label': `Remembered in ${fileLabel(change.scope, change.key)}` },
            icon('memory'),
            h('div', { class: 'remembered-body' },
                h('p', h('strong', this.#undo ? 'Undone' : 'Remembered'), ` in ${fileLabel(change.scope, change.key)}`), this.lines),
            h('div', { class: 'cluster remembered-actions' },
                this.#undo ? null : h('a', { class: 'button quiet small', href: this.#place() }, 'Edit'),
                this.#undo ? button({ label: 'Redo', icon: 'restore', kind: 'quiet small', run: () => this.#revert(this.#undo) })
                    : button({ label: 'Undo', icon: 'undo', kind: 'quiet small', run: () => this.#revert(change) })));
        this.#show();
    }

    #place() {
        const { scope, key } = this.#change;
        const params = scope.startsWith('personality:') ? { p: scope.slice('personality:'.length) } : {};
        if (key === 'USER.md') return this.#ctx.href('memory', { edit: 'user' });
        if (key === 'MEMORY.md') return this.#ctx.href('memory', { ...params, edit: 'memory' });
        return this.#ctx.href(`notes/${key}`, params);
    }

    /* All lines, once both texts are there; the first one is known at once. */
    async #show() {
        const { added, removed } = this.#change;
        if (added + removed <= 1) return;
        try {
            const [before, after] = await Promise.all([this.#change.before, this.#change.after].map((revision) => fileAt(this.#ctx, this.#change, revision)));
            const rows = lineDiff(before.content, after.content).filter(({ kind, text }) => kind !== 'same' && text.trim() !== '' && text !== SEPARATOR);
            if (rows.length === 0) return;
            fill(this.lines, rows.slice(0, SHOWN).map(({ kind, text }) => line(kind === 'add' ? '+' : '-', text)),
                rows.length > SHOWN ? h('li', h('a', { href: this.#ctx.href('timeline', { scope: this.#change.scope, key: this.#change.key, change: this.#change.number }) }, `${plural(rows.length - SHOWN, 'more line')}`)) : null);
        } catch {
            // the first line is there
        }
    }

    async #revert({ scope, key, number }) {
        try {
            await this.#ctx.busy(this.#ctx.call('memory.undo', { scope, key, change: number, sessionId: this.#session }));
        } catch (error) {
            this.#ctx.fail(error);
        }
    }
}

const line = (sign, text) => h('li', { class: sign === '+' ? 'add' : 'del' },
    h('span', { class: 'mono', 'aria-hidden': 'true' }, sign === '+' ? '+' : '−'), h('span', { class: 'visually-hidden' }, sign === '+' ? 'added: ' : 'removed: '), h('span', { dir: 'auto' }, text));

/* The change that took one back, and was not taken back itself. */
export function undoOf(change, all) {
    const undo = all.findLast((other) => other.scope === change.scope && other.key === change.key && other.undoes?.includes(change.number));
    return undo && !undoOf(undo, all) ? undo : null;
}

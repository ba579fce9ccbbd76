/*
 * virtual.js: a long list of which only what is seen exists. Rows are of one height; the box scrolls.
 */
import { fill, h } from './dom.js';

const AROUND = 8; // rows that are made above and below what is seen

export class VirtualList {
    /** make(item, index) gives the inside of a row, a link or a button with class "v-focus". */
    constructor({ label, rowHeight, make, key }) {
        Object.assign(this, { rowHeight, make, key, items: [], current: null, first: -1, last: -1 });
        this.rows = h('ul', { class: 'v-rows' });
        this.node = h('div', { class: 'v-list', role: 'region', 'aria-label': label, on: { scroll: () => this.paint() } }, this.rows);
        new ResizeObserver(() => this.paint()).observe(this.node);
    }

    /** Shows other items; scrolls to the top unless told to stay. */
    set(items, { stay = false } = {}) {
        this.items = items;
        this.rows.style.height = `${items.length * this.rowHeight}px`;
        if (!stay) this.node.scrollTop = 0;
        this.paint(true);
    }

    paint(anew = false) {
        const { scrollTop, clientHeight } = this.node;
        const first = Math.max(Math.floor(scrollTop / this.rowHeight) - AROUND, 0);
        const last = Math.min(Math.ceil((scrollTop + (clientHeight || 800)) / this.rowHeight) + AROUND, this.items.length);
        if (!anew && first === this.first && last === this.last) return;
        const focused = this.rows.contains(document.activeElement) ? document.activeElement.closest('li')?.dataset.key : null;
        this.first = first;
        this.last = last;
        fill(this.rows, this.items.slice(first, last).map((item, i) => this.row(item, first + i)));
        if (focused) this.find(focused)?.focus({ preventScroll: true });
    }

    row(item, index) {
        const key = this.key(item);
        const node = h('li', { 'aria-setsize': this.items.length, 'aria-posinset': index + 1, data: { key }, css: { transform: `translateY(${index * this.rowHeight}px)` } }, this.make(item, index));
        if (key === this.current) node.querySelector('.v-focus')?.setAttribute('aria-current', 'true');
        return node;
    }

    find(key) {
        return this.rows.querySelector(`li[data-key="${CSS.escape(key)}"] .v-focus`);
    }

    /** Marks the item that is open. */
    mark(key) {
        this.current = key;
        this.paint(true);
    }

    reveal(index) {
        const top = index * this.rowHeight, { scrollTop, clientHeight } = this.node;
        if (top < scrollTop) this.node.scrollTop = top;
        else if (top + this.rowHeight > scrollTop + clientHeight) this.node.scrollTop = top + this.rowHeight - clientHeight;
        this.paint();
    }

    revealKey(key) {
        const index = this.items.findIndex((item) => this.key(item) === key);
        if (index >= 0) this.reveal(index);
    }

    /** Moves the focus by so many rows; from nowhere to the first, or to the one that is open. */
    step(by) {
        if (this.items.length === 0) return;
        const key = this.rows.contains(document.activeElement) ? document.activeElement.closest('li').dataset.key : null;
        const at = this.items.findIndex((item) => this.key(item) === (key ?? this.current));
        const index = at < 0 ? 0 : Math.min(Math.max(key === null ? at : at + by, 0), this.items.length - 1);
        this.reveal(index);
        this.find(this.key(this.items[index]))?.focus({ preventScroll: true });
    }
}

/*
 * diff.js: changes as lines: from a unified diff, or between two texts.
 */
import { h } from './dom.js';
import { linesOf, plural } from './format.js';

/** Lines of a unified diff: {kind: 'same'|'add'|'del'|'skip'|'note', text, a, b}. */
export function parseDiff(text) {
    const rows = [];
    let a = 0,
        b = 0,
        inside = false;
    for (const line of text.split('\n')) {
        const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
        if (hunk) {
            const [, from, to] = hunk.map(Number);
            if (rows.length) rows.push({ kind: 'skip', lines: from - a });
            a = from;
            b = to;
            inside = true;
        } else if (!inside) continue;
        else if (line.startsWith('+')) rows.push({ kind: 'add', text: line.slice(1), b: b++ });
        else if (line.startsWith('-')) rows.push({ kind: 'del', text: line.slice(1), a: a++ });
        else if (line.startsWith(' '))
            rows.push({ kind: 'same', text: line.slice(1), a: a++, b: b++ });
        else if (line.startsWith('…')) rows.push({ kind: 'note', text: line });
    }
    return rows;
}

const SIGN = { add: '+', del: '−', same: '' };
const WORD = { add: 'added', del: 'removed' };

function lineNode(row) {
    if (row.kind === 'skip')
        return h('div', { class: 'diff-skip' }, row.lines > 0 ? plural(row.lines, 'line') : '⋯');
    if (row.kind === 'note') return h('div', { class: 'diff-skip' }, row.text);
    return h(
        'div',
        { class: `diff-line ${row.kind}` },
        h(
            'span',
            { class: 'n', 'aria-hidden': 'true' },
            String((row.kind === 'del' ? row.a : row.b) ?? ''),
        ),
        h(
            'span',
            { class: 'sign' },
            SIGN[row.kind],
            WORD[row.kind] ? h('span', { class: 'visually-hidden' }, WORD[row.kind]) : null,
        ),
        h('span', { class: 'diff-text', dir: 'auto' }, row.text || ' '),
    );
}

/** rows or the text of a unified diff. */
export function diffView(rows, { label = 'Changes', limit = 2000 } = {}) {
    const list = typeof rows === 'string' ? parseDiff(rows) : rows;
    if (list.length === 0) return h('p', { class: 'muted small' }, 'No difference.');
    const shown = list.slice(0, limit);
    if (list.length > limit)
        shown.push({ kind: 'note', text: `… ${plural(list.length - limit, 'line')} more` });
    return h(
        'div',
        { class: 'diff', role: 'group', 'aria-label': label, tabindex: '0' },
        h('div', { class: 'diff-lines' }, shown.map(lineNode)),
    );
}

/* ---- between two texts ------------------------------------------------------------------------ */

/**
 * A text whose lines end in LF, with the ends that its lines have in base; a new line ends as the one
 * before it.
 */
export function withLineEnds(base, text) {
    if (!base.includes('\r')) return text;
    const ends = base.match(/\r\n|\r|\n/g);
    const rows = lineDiff(base.replace(/\r\n?/g, '\n'), text).filter(({ kind }) => kind !== 'del');
    let end = ends[0];
    return rows
        .map((row, i) => {
            if (row.kind === 'same') end = ends[row.a - 1] ?? end;
            return i < rows.length - 1 || text.endsWith('\n') ? row.text + end : row.text;
        })
        .join('');
}

const MAX_EDITS = 1200; // beyond that, all of the middle counts as changed

/** Rows {kind, text, a, b} that turn one text into the other: greedy, fewest edits (Myers). */
export function lineDiff(before, after) {
    const A = linesOf(before),
        B = linesOf(after);
    let head = 0,
        tail = 0;
    while (head < A.length && head < B.length && A[head] === B[head]) head++;
    while (
        tail < A.length - head &&
        tail < B.length - head &&
        A[A.length - 1 - tail] === B[B.length - 1 - tail]
    )
        tail++;
    const same = (i, j) => ({ kind: 'same', text: B[j], a: i + 1, b: j + 1 });
    return [
        ...A.slice(0, head).map((_, i) => same(i, i)),
        ...middle(A.slice(head, A.length - tail), B.slice(head, B.length - tail), head),
        ...A.slice(A.length - tail).map((_, i) => same(A.length - tail + i, B.length - tail + i)),
    ];
}

/** Where a place in the first text of lineDiff is in the second: in the same line, or where that was. */
export function movedTo(rows, place) {
    let before = 0,
        after = 0;
    for (const { kind, text } of rows) {
        const size = text.length + 1; // with the end of the line
        if (kind !== 'add' && place < before + size)
            return kind === 'same' ? after + place - before : after;
        if (kind !== 'add') before += size;
        if (kind !== 'del') after += size;
    }
    return after;
}

function middle(A, B, offset) {
    const trace = search(A, B);
    const rows = [];
    const del = (i) => rows.push({ kind: 'del', text: A[i], a: offset + i + 1 });
    const add = (j) => rows.push({ kind: 'add', text: B[j], b: offset + j + 1 });
    if (!trace) {
        A.forEach((_, i) => del(i));
        B.forEach((_, j) => add(j));
        return rows;
    }
    let x = A.length,
        y = B.length;
    for (let d = trace.length - 1; d >= 0; d--) {
        const v = trace[d],
            k = x - y;
        const down = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1));
        const px = d === 0 ? 0 : v.get(down ? k + 1 : k - 1),
            py = px - (down ? k + 1 : k - 1);
        while (x > Math.max(px, 0) && y > Math.max(d === 0 ? 0 : py, 0) && A[x - 1] === B[y - 1]) {
            x--;
            y--;
            rows.push({ kind: 'same', text: B[y], a: offset + x + 1, b: offset + y + 1 });
        }
        if (d === 0) break;
        if (down) add(--y);
        else del(--x);
    }
    return rows.reverse();
}

function search(A, B) {
    const trace = [],
        v = new Map([[1, 0]]);
    const most = Math.min(A.length + B.length, MAX_EDITS);
    for (let d = 0; d <= most; d++) {
        trace.push(new Map(v));
        for (let k = -d; k <= d; k += 2) {
            let x =
                k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1))
                    ? (v.get(k + 1) ?? 0)
                    : v.get(k - 1) + 1;
            while (x < A.length && x - k < B.length && A[x] === B[x - k]) x++;
            v.set(k, x);
            if (x >= A.length && x - k >= B.length) return trace;
        }
    }
    return null;
}

/** The same with only some unchanged lines around each change. */
export function around(rows, context = 3) {
    const near = new Set();
    rows.forEach((row, i) => {
        if (row.kind !== 'same') for (let j = i - context; j <= i + context; j++) near.add(j);
    });
    const out = [];
    let hidden = 0;
    rows.forEach((row, i) => {
        if (near.has(i)) {
            if (hidden) out.push({ kind: 'skip', lines: hidden });
            hidden = 0;
            out.push(row);
        } else hidden++;
    });
    if (hidden && out.length) out.push({ kind: 'skip', lines: hidden });
    return out;
}

/** Numbers of the lines of the new text that the old one has not; blank ones are nothing to see. */
export const freshLines = (before, after) =>
    new Set(
        lineDiff(before, after)
            .filter((row) => row.kind === 'add' && row.text.trim())
            .map((row) => row.b),
    );

/** How many lines came and went. */
export function tally(rows) {
    return {
        added: rows.filter((row) => row.kind === 'add').length,
        removed: rows.filter((row) => row.kind === 'del').length,
    };
}

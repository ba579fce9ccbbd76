/*
 * merge.js: two texts made from one. Shows yours, theirs and the merge; every difference can be switched.
 * Nothing is lost: leaving the dialog keeps the draft, and the file keeps its own text.
 */
import { dialog } from './dialog.js';
import { diffView, around, lineDiff } from './diff.js';
import { fill, h } from './dom.js';
import { plural } from './format.js';
import { notice, segmented } from './ui.js';

const CHOICES = {
    yours: (k) => k.yours,
    theirs: (k) => k.theirs,
    merged: (k) => k.merged,
    both: joinBoth,
};
const NAMES = { yours: 'Yours', theirs: 'Theirs', merged: 'Together', both: 'Both' };

const pieces = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/* Yours, then theirs; what both begin or end with stands once. */
function joinBoth({ yours, theirs }) {
    const a = pieces(yours),
        b = pieces(theirs);
    let head = 0,
        tail = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) head++;
    while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail))
        tail++;
    const first = a.slice(0, a.length - tail).join('');
    const second = b.slice(head, b.length - tail).join('');
    const end = a.slice(a.length - tail).join('');
    const gap = first && !first.endsWith('\n') && (second || end) ? '\n' : '';
    return first + gap + second + end;
}

const FIRST = {
    same: 'merged',
    yours: 'yours',
    theirs: 'theirs',
    both: 'merged',
    conflict: 'both',
};
const OPTIONS = {
    yours: ['yours', 'theirs'],
    theirs: ['yours', 'theirs'],
    both: ['yours', 'theirs', 'merged'],
    conflict: ['yours', 'theirs', 'both'],
};

const WORDS = {
    yours: 'Only you changed this',
    theirs: 'Only they changed this',
    both: 'Both changed this; the changes were merged',
    conflict: 'Both changed this',
};

/* The same change on both sides is no question. */
const isOpen = (hunk) => hunk.kind !== 'same' && hunk.yours !== hunk.theirs;

function side(title, text, chosen) {
    return h(
        'div',
        { class: `side ${chosen ? 'chosen' : ''}` },
        h('div', { class: 'small muted' }, title),
        h(
            'pre',
            { class: 'side-text', dir: 'auto' },
            text === ''
                ? h('span', { class: 'faint' }, '(nothing)')
                : text.replace(/^\n+|\n+$/g, ''),
        ),
    );
}

function context(text) {
    const lines = text.replace(/\n$/, '').split('\n');
    const shown =
        lines.length > 5
            ? [
                  ...lines.slice(0, 2),
                  `⋯ ${plural(lines.length - 4, 'line')} the same`,
                  ...lines.slice(-2),
              ]
            : lines;
    return h('pre', { class: 'merge-same', dir: 'auto' }, shown.join('\n'));
}

function hunkNode(hunk, state, changed) {
    const node = h('section', { class: `hunk ${hunk.kind}`, 'aria-label': WORDS[hunk.kind] });
    const chosen = (name) => [name, 'both'].includes(state.choice);
    const paint = () =>
        fill(
            node,
            h(
                'div',
                { class: 'spread' },
                h('span', { class: 'small strong' }, WORDS[hunk.kind]),
                segmented(
                    'Which text to keep',
                    OPTIONS[hunk.kind].map((value) => ({ value, label: NAMES[value] })),
                    state.choice,
                    (value) => {
                        state.choice = value;
                        const focus = node.contains(document.activeElement);
                        paint();
                        if (focus) node.querySelector(`[data-value="${value}"]`).focus();
                        changed();
                    },
                ),
            ),
            h(
                'div',
                { class: 'sides' },
                side('Yours', hunk.yours, chosen('yours')),
                side('Theirs', hunk.theirs, chosen('theirs')),
                hunk.kind === 'both' ? side('Together', hunk.merged, chosen('merged')) : null,
            ),
        );
    paint();
    return node;
}

/* What is typed until the answer is here is yours, too. */
async function hunksOf(ctx, base, yours, theirs) {
    for (;;) {
        const asked = yours();
        const answer = await ctx.call('memory.merge', { base, yours: asked, theirs });
        if (yours() === asked) return answer;
    }
}

/**
 * Asks; gives the text to be saved, or undefined when the person left. yours(): the text as it is then.
 * agreed: the person did so a moment ago, and is asked only what they were not asked then.
 */
export async function mergeDialog(ctx, { title, base, yours, theirs, by, agreed = false }) {
    const { hunks, clean } = await hunksOf(ctx, base, yours, theirs);
    const states = hunks.map((hunk) => ({ choice: FIRST[hunk.kind] }));
    const result = () => hunks.map((hunk, i) => CHOICES[states[i].choice](hunk)).join('');
    if (agreed && clean) return result();
    const preview = h('div');
    const paint = () =>
        fill(
            preview,
            diffView(around(lineDiff(theirs, result())), {
                label: 'The merge, against the file as it is',
            }),
        );
    paint();
    const conflicts = hunks.filter((hunk) => hunk.kind === 'conflict').length;
    const body = [
        clean
            ? notice(
                  'info',
                  `${title} changed while you were writing${by ? ` (${by})` : ''}. The changes do not touch each other; this is the merge.`,
              )
            : notice(
                  'warning',
                  `${title} changed while you were writing${by ? ` (${by})` : ''}, in ${conflicts === 1 ? 'a place' : `${conflicts} places`} that you changed, too. Choose; “Both” keeps everything.`,
              ),
        h(
            'div',
            { class: 'hunks' },
            hunks.map((hunk, i) =>
                isOpen(hunk) ? hunkNode(hunk, states[i], paint) : context(hunk.merged),
            ),
        ),
        h(
            'details',
            { class: 'merge-result', open: clean },
            h('summary', 'What will be written, against the file as it is'),
            preview,
        ),
    ];
    return dialog({
        title: 'Merge both',
        wide: true,
        body,
        className: 'merge',
        actions: [
            { label: 'Keep writing' },
            { label: 'Save the merge', kind: 'primary', focus: true, run: () => result() },
        ],
    }).closed;
}

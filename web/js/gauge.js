/*
 * gauge.js: what goes into every prompt, against the budget; and what would be left out, in words.
 */
import { h } from './dom.js';
import { count, plural } from './format.js';
import { icon } from './icons.js';

/* MEMORY.md of the home is the memory itself where all personalities share one. */
export const storeOf = (file) => {
    if (file.key === 'USER.md') return 'user';
    if (file.scope.startsWith('workspace:')) return 'workspace';
    return file.label === 'Global' ? 'global' : 'memory';
};
export const LABELS = {
    user: 'About you',
    memory: 'Memory',
    workspace: 'Workspace index',
    global: 'Global index',
};

const omitted = (data, file, reason) =>
    data.omitted.filter(
        (row) =>
            row.scope === file.scope && row.key === file.key && (!reason || row.reason === reason),
    );

/** Lines of a file that prefetch would cut: 0 for none. It cuts from the top; the marker says how far. */
export function cutLines(file) {
    const marker = /^\[\.\.\.truncated: (\d+) earlier bytes of /.exec(file.shown ?? '');
    if (!marker) return 0;
    const bytes = new TextEncoder().encode(file.content);
    let lines = 0;
    for (let i = 0; i < Number(marker[1]) && i < bytes.length; i++) if (bytes[i] === 10) lines++;
    return lines;
}

/** What prefetch leaves out of a file, as sentences. */
export function cutWords(data, file) {
    const words = [];
    const lines = cutLines(file);
    const chars = omitted(data, file, 'budget').reduce((sum, row) => sum + row.chars, 0);
    if (chars > 0)
        words.push(
            lines > 0
                ? `Prefetch would leave out ${lines === 1 ? 'line 1' : `lines 1–${count(lines)}`} (${plural(chars, 'character')}): the budget is full.`
                : `Prefetch would leave out ${plural(chars, 'character')}: the budget is full.`,
        );
    if (omitted(data, file, 'guard').length)
        words.push('A line reads like an instruction to the model and is left out of prompts.');
    if (omitted(data, file, 'secret').length)
        words.push('Something looks like a secret and is masked in prompts.');
    if (omitted(data, file, 'unreadable').length)
        words.push('The file cannot be read, so prompts go without it.');
    return words;
}

function part(file, data) {
    const shown = (file.shown ?? '').length;
    const cut = omitted(data, file, 'budget').reduce((sum, row) => sum + row.chars, 0);
    return { store: storeOf(file), label: LABELS[storeOf(file)], shown, cut };
}

/** The bar, and the same in words. */
export function gauge(data) {
    const parts = data.files.filter((file) => !file.error).map((file) => part(file, data));
    const cut = parts.reduce((sum, p) => sum + p.cut, 0);
    const around = data.chars - parts.reduce((sum, p) => sum + p.shown, 0);
    const total = Math.max(data.budget, data.chars + cut);
    const share = (n) => `${(100 * n) / total}%`;
    return h(
        'section',
        { class: 'gauge', 'aria-label': 'What goes into every prompt' },
        h(
            'div',
            { class: 'gauge-bar', 'aria-hidden': 'true' },
            parts
                .filter((p) => p.shown)
                .map((p) =>
                    h('span', { class: `gauge-part ${p.store}`, css: { width: share(p.shown) } }),
                ),
            cut ? h('span', { class: 'gauge-part hatched', css: { width: share(cut) } }) : null,
        ),
        h(
            'div',
            { class: 'gauge-words' },
            h(
                'span',
                { class: 'num gauge-total' },
                h('strong', count(data.chars)),
                ` of ${count(data.budget)} characters go into every prompt`,
            ),
            parts.map((p) =>
                h(
                    'span',
                    { class: 'num' },
                    h('span', { class: `key ${p.store}` }),
                    `${p.label} ${count(p.shown)}`,
                ),
            ),
            around > 0 ? h('span', { class: 'num faint' }, `headings ${count(around)}`) : null,
            cut
                ? h(
                      'span',
                      { class: 'num gauge-cut' },
                      h('span', { class: 'key hatched' }),
                      icon('warning', 16),
                      `${count(cut)} left out`,
                  )
                : null,
            data.hooks && data.hooks.omitted.length > data.omitted.length
                ? h(
                      'span',
                      { class: 'num gauge-cut' },
                      icon('warning', 16),
                      `agents that are told by a hook get ${count(data.hooks.bytes)} of ${count(data.hooks.budget)} bytes`,
                  )
                : null,
        ),
    );
}

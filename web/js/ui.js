/*
 * ui.js: the small components. Each gives a node; none keeps state beyond it.
 */
import { explain } from './client.js';
import { $, fill, h, uid } from './dom.js';
import { ago, moment } from './format.js';
import { icon } from './icons.js';

/* What takes a while is not begun again meanwhile: a second click means the first. */
function once(run) {
    let running = false;
    return async (event) => {
        if (running) return;
        running = true;
        try {
            await run(event);
        } finally {
            running = false;
        }
    };
}

export function button({ label, icon: name, run, kind = '', key, title, ...rest }) {
    return h(
        'button',
        { type: 'button', class: `button ${kind}`, title, on: { click: once(run) }, ...rest },
        name ? icon(name, 16) : null,
        label,
        key ? h('kbd', { 'aria-hidden': 'true' }, key) : null,
    );
}

export function iconButton({ label, icon: name, run, ...rest }) {
    return h(
        'button',
        {
            type: 'button',
            class: 'icon-button',
            title: label,
            'aria-label': label,
            on: { click: once(run) },
            ...rest,
        },
        icon(name),
    );
}

export const linkButton = (label, run, rest = {}) => button({ label, run, kind: 'link', ...rest });

export function badge(text, kind = '', name = null) {
    return h('span', { class: `badge ${kind}` }, name ? icon(name, 14) : null, text);
}

/** Nothing here: one sentence and the one command to type. */
export function empty(sentence, line = null, ...more) {
    return h('div', { class: 'empty' }, h('p', sentence), line ? command(line) : null, more);
}

const NOTICE_ICON = { info: 'info', warning: 'warning', danger: 'warning' };

export function notice(kind, text, ...actions) {
    return h(
        'div',
        { class: `notice ${kind}`, role: kind === 'danger' ? 'alert' : null },
        icon(NOTICE_ICON[kind] ?? 'info'),
        h('div', { class: 'notice-text' }, text),
        actions,
    );
}

/** An error in words: what happened, and what to do. */
export function problem(error, ...actions) {
    const { what, action } = explain(error);
    return notice(
        'danger',
        [what, action ? h('span', { class: 'hint' }, action) : null],
        ...actions,
    );
}

export async function copy(text, done = 'Copied') {
    try {
        await navigator.clipboard.writeText(text);
        toast(done);
    } catch {
        toast('This browser did not allow copying.');
    }
}

/* A long path breaks between its folders. */
const breakable = (text) => text.split(/(?<=\/)/).map((part, i) => (i ? [h('wbr'), part] : part));

/** A path or id: a click copies it. */
export function copyable(text, label = 'Copy', shown = text) {
    return h(
        'button',
        {
            type: 'button',
            class: 'copyable',
            title: `${text}: click to copy`,
            'aria-label': `${label} ${shown}`,
            on: { click: () => copy(text) },
        },
        h('span', breakable(shown)),
        icon('copy', 14),
    );
}

/** A command line to type elsewhere. */
export function command(text) {
    return h(
        'div',
        { class: 'command' },
        h('code', text),
        iconButton({ label: 'Copy the command', icon: 'copy', run: () => copy(text) }),
    );
}

/** options: [{value, label}] or [{group, options}]. */
export function select(label, options, value, change, { plain = false, hideLabel = plain } = {}) {
    const option = (o) =>
        o.options
            ? h('optgroup', { label: o.group }, o.options.map(option))
            : h('option', { value: o.value, selected: o.value === value }, o.label);
    const box = h(
        'select',
        { on: { change: (event) => change(event.target.value) }, aria: hideLabel ? { label } : {} },
        options.map(option),
    );
    box.value = value;
    return h(
        'label',
        { class: `select ${plain ? 'plain' : ''}` },
        hideLabel ? null : h('span', label),
        h('span', { class: 'select-box' }, box, icon('chevron', 14)),
    );
}

/** One of a few views. */
export function segmented(label, options, value, change) {
    const buttons = options.map((o) =>
        h(
            'button',
            {
                type: 'button',
                'aria-pressed': String(o.value === value),
                on: {
                    click: () => {
                        for (const b of buttons)
                            b.setAttribute('aria-pressed', String(b.dataset.value === o.value));
                        change(o.value);
                    },
                },
                data: { value: o.value },
            },
            o.label,
        ),
    );
    return h('div', { class: 'segmented', role: 'group', 'aria-label': label }, buttons);
}

/** A tab list; arrows move. options: [{value, label, panel?}], panel being the id of what it shows. */
export function tabs(label, options, value, change) {
    const list = h(
        'div',
        { class: 'tabs', role: 'tablist', 'aria-label': label },
        options.map((o) =>
            h(
                'button',
                {
                    type: 'button',
                    role: 'tab',
                    id: o.id,
                    'aria-selected': String(o.value === value),
                    'aria-controls': o.panel,
                    tabindex: o.value === value ? '0' : '-1',
                    on: { click: () => choose(o.value) },
                },
                o.label,
            ),
        ),
    );
    function choose(next, focus = false) {
        options.forEach((o, i) => {
            const chosen = o.value === next;
            list.children[i].setAttribute('aria-selected', String(chosen));
            list.children[i].tabIndex = chosen ? 0 : -1;
            if (chosen && focus) list.children[i].focus();
        });
        change(next);
    }
    list.addEventListener('keydown', (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const at = [...list.children].indexOf(document.activeElement);
        choose(options[(at + step + options.length) % options.length].value, true);
        event.preventDefault();
    });
    return list;
}

/** A time in words, the exact one on hover; keeps itself true. */
export function time(iso, words = ago) {
    return h(
        'time',
        { datetime: iso, title: moment(iso), data: words === ago ? { ago: '' } : {} },
        words(iso),
    );
}

export function refreshTimes() {
    for (const node of document.querySelectorAll('time[data-ago]'))
        node.textContent = ago(node.dateTime);
}

export function field(label, input, hint = null) {
    return h(
        'label',
        { class: 'field' },
        h('span', label),
        hint ? h('span', { class: 'hint' }, hint) : null,
        input,
    );
}

const WIDTHS = ['92%', '64%', '78%', '40%', '85%'];

export function skeleton(lines = 5) {
    return h(
        'div',
        { class: 'skeleton', 'aria-hidden': 'true' },
        Array.from({ length: lines }, (_, i) =>
            h('span', { css: { width: WIDTHS[i % WIDTHS.length] } }),
        ),
    );
}

export function delta(added, removed) {
    if (added === null || added === undefined) return h('span', { class: 'delta muted' }, '±');
    return h(
        'span',
        { class: 'delta num', 'aria-label': `${added} added, ${removed} removed` },
        h('span', { class: 'add' }, `+${added}`),
        ' ',
        h('span', { class: 'del' }, `−${removed}`),
    );
}

/** A short word at the bottom; with an action it stays a little longer. */
export function toast(text, { action, run, seconds = action ? 10 : 4 } = {}) {
    const node = h(
        'div',
        { class: 'toast' },
        h('span', text),
        action
            ? button({
                  label: action,
                  run: () => {
                      node.remove();
                      run();
                  },
              })
            : null,
        iconButton({ label: 'Close', icon: 'close', run: () => node.remove() }),
    );
    const box = $('.toasts');
    while (box.children.length > 2) box.firstChild.remove();
    box.append(node);
    setTimeout(() => node.remove(), seconds * 1000);
    return node;
}

/** A search field; "/" focuses it. */
export function searchField({ label, value = '', input }) {
    let timer;
    const id = uid('search');
    const box = h('input', {
        id,
        class: 'input',
        type: 'search',
        placeholder: label,
        'aria-label': label,
        autocomplete: 'off',
        spellcheck: 'false',
        value,
        on: {
            input: () => {
                clearTimeout(timer);
                timer = setTimeout(() => input(box.value), 120);
            },
            keydown: (event) => {
                if (event.key === 'Escape' && box.value) {
                    box.value = '';
                    input('');
                    event.stopPropagation();
                }
            },
        },
    });
    return h(
        'div',
        { class: 'search' },
        icon('search', 16),
        box,
        h('kbd', { 'aria-hidden': 'true' }, '/'),
    );
}

export { fill, h, icon };

/** A text with the words of a query marked. */
export function marked(text, query) {
    const words = query
        .split(/[\s"]+/)
        .filter(Boolean)
        .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    if (words.length === 0) return [text];
    return text
        .split(new RegExp(`(${words.join('|')})`, 'giu'))
        .map((part, i) => (i % 2 ? h('mark', part) : part));
}

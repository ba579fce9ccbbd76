/*
 * palette.js: every page, action and operation by name. Operations come from the server's description of
 * itself; one that needs arguments asks for them.
 */
import * as api from './client.js';
import { dialog } from './dialog.js';
import { fill, h, uid } from './dom.js';
import {
    cycleTheme,
    personalityOptions,
    toggleRail,
    userOptions,
    workspaceOptions,
} from './frame.js';
import { icon } from './icons.js';
import { scopeOf } from './state.js';
import { field } from './ui.js';

const MOST = 60; // entries shown
const SCOPE = new Set(['personalityId', 'userId', 'workspaceId']);

/* ---- what there is to choose from ------------------------------------------------------------- */

let description = null;

async function operations() {
    description ??= api.describe();
    try {
        const { paths } = await description;
        return Object.entries(paths).flatMap(([path, item]) => operation(path, item));
    } catch {
        description = null;
        return [];
    }
}

function operation(path, item) {
    const name = /^\/api\/(\w+)\/(\w+)$/.exec(path);
    const row = item.post ?? item.get;
    if (!name || !row || row.operationId !== `${name[1]}.${name[2]}`) return [];
    const schema =
        item.post?.requestBody?.content?.['application/json']?.schema ??
        fromParameters(item.get?.parameters ?? []);
    return [{ id: row.operationId, summary: row.summary ?? '', schema, reads: Boolean(item.get) }];
}

function fromParameters(parameters) {
    const query = parameters.filter((p) => p.in === 'query');
    return {
        properties: Object.fromEntries(
            query.map((p) => [p.name, { ...p.schema, description: p.description }]),
        ),
        required: query.filter((p) => p.required).map((p) => p.name),
    };
}

function pageEntries({ pages, go }) {
    return pages.map((page) => ({
        group: 'Go to',
        name: page.title,
        icon: page.icon,
        keys: page.key ? `g ${page.key}` : '',
        run: () => go(page.route),
    }));
}

async function scopeEntries({ set }) {
    if (!set) return [];
    const lists = [
        ['p', 'Personality', 'memory', personalityOptions],
        ['u', 'Person', 'person', userOptions],
        ['w', 'Workspace', 'notes', workspaceOptions],
    ];
    const found = await Promise.all(
        lists.map(async ([param, word, name, options]) => {
            const { rows, active } = await options().catch(() => ({ rows: [] }));
            return rows.map((row) => ({
                group: 'Show',
                name: `${word}: ${row.label}`,
                icon: name,
                run: () => set({ [param]: row.value === active ? null : row.value }, {}),
            }));
        }),
    );
    return found.flat();
}

const plain = (given) => [
    { group: 'Do', name: 'Change the theme', icon: 'auto', run: cycleTheme },
    { group: 'Do', name: 'Narrow or widen the rail', icon: 'rail', run: toggleRail },
    { group: 'Do', name: 'Browsers, sign out', icon: 'person', run: given.browsers },
    { group: 'Do', name: 'Keyboard shortcuts', icon: 'keyboard', keys: '?', run: given.help },
];

async function entries(given) {
    const [scopes, ops] = await Promise.all([scopeEntries(given), operations()]);
    return [
        ...given.extra.map((entry) => ({ group: 'Here', ...entry })),
        ...pageEntries(given),
        ...plain(given),
        ...scopes,
        ...ops.map((op) => ({
            group: 'Operations',
            name: op.id,
            hint: op.summary,
            icon: 'next',
            run: () => runOperation(op, given.params()),
        })),
    ];
}

/* ---- finding ---------------------------------------------------------------------------------- */

/* Every word must be there; at the start of the name counts most. */
function score(entry, words) {
    const name = entry.name.toLowerCase(),
        all = `${name} ${(entry.hint ?? '').toLowerCase()}`;
    let points = 0;
    for (const word of words) {
        if (!all.includes(word)) return -1;
        points += name.startsWith(word)
            ? 4
            : name.includes(` ${word}`) || name.includes(`.${word}`)
              ? 3
              : name.includes(word)
                ? 2
                : 1;
    }
    return points;
}

function matching(list, text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return list.slice(0, MOST);
    return list
        .map((entry, i) => ({ entry, i, points: score(entry, words) }))
        .filter((row) => row.points >= 0)
        .sort((a, b) => b.points - a.points || a.i - b.i)
        .slice(0, MOST)
        .map((row) => row.entry);
}

/* ---- the dialog ------------------------------------------------------------------------------- */

let isOpen = false;

export async function palette(given) {
    if (isOpen) return;
    isOpen = true;
    const id = uid('palette');
    const back = document.activeElement;
    const list = h('div', { class: 'palette-list', role: 'listbox', id, 'aria-label': 'Commands' });
    const input = h('input', {
        class: 'palette-input',
        role: 'combobox',
        'aria-label': 'Type a command',
        'aria-expanded': 'true',
        'aria-controls': id,
        'aria-autocomplete': 'list',
        placeholder: 'What would you like to do?',
        autocomplete: 'off',
        spellcheck: 'false',
    });
    const node = h('dialog', { class: 'dialog palette', 'aria-label': 'Commands' }, input, list);
    let all = [
            ...given.extra.map((entry) => ({ group: 'Here', ...entry })),
            ...pageEntries(given),
            ...plain(given),
        ],
        shown = [],
        at = 0;

    function mark() {
        [...list.querySelectorAll('[role=option]')].forEach((option, i) => {
            option.setAttribute('aria-selected', String(i === at));
            if (i === at) {
                input.setAttribute('aria-activedescendant', option.id);
                option.scrollIntoView({ block: 'nearest' });
            }
        });
    }

    function paint() {
        shown = matching(all, input.value);
        at = 0;
        const grouped = !input.value.trim();
        fill(
            list,
            shown.length
                ? shown.map((entry, i) => [
                      grouped && entry.group !== shown[i - 1]?.group
                          ? h('div', { class: 'palette-group', role: 'presentation' }, entry.group)
                          : null,
                      h(
                          'div',
                          {
                              class: 'palette-item',
                              role: 'option',
                              id: `${id}-${i}`,
                              'aria-selected': 'false',
                              on: {
                                  click: () => choose(i),
                                  mousemove: () => {
                                      if (at !== i) {
                                          at = i;
                                          mark();
                                      }
                                  },
                              },
                          },
                          icon(entry.icon ?? 'next'),
                          h('span', { class: 'palette-name' }, entry.name),
                          h('span', { class: 'palette-hint' }, entry.hint ?? ''),
                          entry.keys ? entry.keys.split(' ').map((key) => h('kbd', key)) : null,
                      ),
                  ])
                : h(
                      'div',
                      {
                          class: 'palette-none',
                          role: 'option',
                          'aria-selected': 'false',
                          'aria-disabled': 'true',
                      },
                      'No command has this name.',
                  ),
        );
        mark();
    }

    function choose(i) {
        const entry = shown[i];
        if (!entry) return;
        node.close();
        entry.run();
    }

    node.addEventListener('keydown', (event) => {
        event.stopPropagation();
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && shown.length) at = (at + step + shown.length) % shown.length;
        else if (event.key === 'Enter') choose(at);
        else if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) node.close();
        else return;
        event.preventDefault();
        mark();
    });
    node.addEventListener('mousedown', (event) => {
        if (event.target === node) node.close();
    });
    node.addEventListener('close', () => {
        isOpen = false;
        node.remove();
        if (
            back instanceof HTMLElement &&
            back.isConnected &&
            document.activeElement === document.body
        )
            back.focus({ preventScroll: true });
    });
    input.addEventListener('input', paint);
    document.body.append(node);
    node.showModal();
    input.focus();
    paint();
    all = await entries(given);
    if (isOpen) paint();
}

/* ---- an operation by hand --------------------------------------------------------------------- */

function inputFor(name, schema) {
    const type = [schema.type].flat()[0];
    if (schema.enum)
        return h(
            'select',
            { class: 'input', name },
            h('option', { value: '' }, ''),
            schema.enum.map((value) => h('option', { value }, String(value))),
        );
    if (type === 'boolean')
        return h(
            'select',
            { class: 'input', name, data: { type } },
            h('option', { value: '' }, ''),
            h('option', { value: 'true' }, 'yes'),
            h('option', { value: 'false' }, 'no'),
        );
    if (['content', 'updates', 'base', 'yours', 'theirs'].includes(name))
        return h('textarea', { class: 'input mono', name, rows: 5, data: { type } });
    return h('input', {
        class: 'input',
        name,
        type: type === 'integer' ? 'number' : 'text',
        autocomplete: 'off',
        data: { type: type ?? 'string' },
    });
}

function valueOf(input) {
    if (input.value === '') return undefined;
    return (
        {
            integer: Number,
            boolean: (text) => text === 'true',
            array: (text) => text.split(',').map((word) => word.trim()),
        }[input.dataset.type]?.(input.value) ?? input.value
    );
}

function runOperation({ id, summary, schema, reads }, params) {
    const names = Object.keys(schema?.properties ?? {}).filter((name) => !SCOPE.has(name));
    const needed = new Set(schema?.required ?? []);
    names.sort((a, b) => needed.has(b) - needed.has(a));
    const inputs = names.map((name) => inputFor(name, schema.properties[name]));
    const out = h('div', { role: 'status' });
    const run = async () => {
        const input = Object.fromEntries(
            inputs
                .map((node) => [node.name, valueOf(node)])
                .filter(([, value]) => value !== undefined),
        );
        const answer = await (reads ? api.own : api.call)(id, { ...scopeOf(params), ...input });
        fill(out, h('pre', { class: 'whole', tabindex: '0' }, JSON.stringify(answer, null, 2)));
        return false;
    };
    dialog({
        title: id,
        wide: names.length > 4,
        body: [
            summary ? h('p', { class: 'muted' }, summary) : null,
            h(
                'div',
                { class: 'form' },
                names.map((name, i) =>
                    field(
                        needed.has(name) ? `${name} (needed)` : name,
                        inputs[i],
                        schema.properties[name].description,
                    ),
                ),
            ),
            out,
        ],
        actions: [
            { label: 'Close' },
            { label: 'Run', kind: 'primary', focus: names.length === 0, run },
        ],
    });
    inputs[0]?.focus();
}

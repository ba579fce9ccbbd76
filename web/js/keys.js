/*
 * keys.js: shortcuts. A combination is "e", "?", "mod+s" (Ctrl, or Command on a Mac), "g m" (one after
 * the other). Letters sleep while a text is typed; "mod+" ones do not.
 */
import { $$, typing } from './dom.js';

const layers = []; // the last one is asked first
let prefix = null;
let prefixTimer;

/** Adds shortcuts; gives the function that takes them away. */
export function bind(map) {
    layers.push(map);
    return () => {
        layers.splice(layers.indexOf(map), 1);
    };
}

function find(combination) {
    for (let i = layers.length - 1; i >= 0; i--)
        if (layers[i][combination]) return layers[i][combination];
    return null;
}

const isPrefix = (key) =>
    layers.some((map) => Object.keys(map).some((name) => name.startsWith(`${key} `)));

function combinationOf(event) {
    const mod = event.ctrlKey || event.metaKey;
    if (event.altKey || event.isComposing) return null;
    if (mod) return `mod+${event.key.toLowerCase()}`;
    return event.key;
}

function press(event) {
    const key = combinationOf(event);
    if (!key || event.defaultPrevented) return;
    if (typing(event.target) && !key.startsWith('mod+') && key !== 'Escape') return;
    const combination = prefix ? `${prefix} ${key}` : key;
    const run = find(combination) ?? (prefix ? null : undefined);
    clearTimeout(prefixTimer);
    if (!prefix && !run && isPrefix(key)) {
        prefix = key;
        prefixTimer = setTimeout(() => {
            prefix = null;
        }, 1200);
        return;
    }
    prefix = null;
    if (run && run(event) !== false) event.preventDefault();
}

export function start() {
    document.addEventListener('keydown', press);
}

/** j, k and Enter over the rows of a container. open gets the row. */
export function rows(container, selector, { open = (row) => row.click() } = {}) {
    const visible = () => $$(selector, container).filter((row) => row.checkVisibility());
    const step = (by) => () => {
        const all = visible();
        const at = all.indexOf(document.activeElement?.closest(selector));
        const next =
            all[
                at < 0
                    ? by > 0
                        ? 0
                        : all.length - 1
                    : Math.min(Math.max(at + by, 0), all.length - 1)
            ];
        if (!next) return;
        if (next.tabIndex < 0) next.tabIndex = -1;
        next.focus();
        next.scrollIntoView({ block: 'nearest' });
    };
    return bind({
        j: step(1),
        k: step(-1),
        Enter: () => {
            const row = document.activeElement;
            if (
                !row?.matches(selector) ||
                !container.contains(row) ||
                row.matches('a, button, summary')
            )
                return false;
            open(row);
            return true;
        },
    });
}

/*
 * sheet.js: the styles of a page that is not the first: fetched with it, not before.
 */
import { h } from './dom.js';

const sheets = new Map();

/** Resolves when css/NAME.css applies; a style that does not come keeps no page from opening. */
export function sheet(name) {
    if (!sheets.has(name))
        sheets.set(name, new Promise((resolve) => {
            const href = new URL(`../css/${name}.css`, import.meta.url).href;
            document.head.append(h('link', { rel: 'stylesheet', href, on: { load: resolve, error: resolve } }));
        }));
    return sheets.get(name);
}

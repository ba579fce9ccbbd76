/*
 * browsers.js: the browsers that are signed in; signing out; a code that signs another one in.
 */
import * as api from './client.js';
import { dialog } from './dialog.js';
import { h, refill } from './dom.js';
import { button, problem, time } from './ui.js';

const post = (path) => api.client.request(path, { method: 'POST' }).then((response) => response.json());

/** Ends this browser's cookie at the server; the page that comes then tells how to sign in. */
async function signOut() {
    await post('/auth/logout');
    location.assign('/');
}

function row(browser, repaint, fail) {
    const { prefix, name, createdAt, lastUsedAt } = browser;
    return h('li', { class: 'row' },
        h('span', { class: 'push' }, name, ' ', h('span', { class: 'small muted mono' }, prefix), ' ',
            h('span', { class: 'small muted' }, lastUsedAt ? 'used ' : 'signed in ', time(lastUsedAt ?? createdAt))),
        button({ label: 'Sign out', title: `Sign ${name} out`, run: () => api.call('browsers.revoke', { prefix }).then(repaint, fail) }));
}

export function browsers() {
    const list = h('ul', { class: 'menu', 'aria-label': 'Browsers that are signed in' });
    const code = h('p', { role: 'status' });
    const fail = (error) => refill(code, problem(error));
    const repaint = async () => {
        const { items } = await api.allPages((cursor) => api.call('browsers.list', cursor), ['items']);
        refill(list, items.map((browser) => row(browser, repaint, fail)));
    };
    const showCode = async () => {
        const { code: digits, expiresAt } = await post('/auth/code');
        refill(code, 'Type ', h('strong', { class: 'mono' }, digits), ' in the other browser, at ', h('span', { class: 'mono' }, location.origin),
            '. It works once, until ', time(expiresAt, (iso) => new Date(iso).toLocaleTimeString()), '.');
        return false;
    };
    repaint().catch(fail);
    dialog({
        title: 'Browsers',
        body: [h('p', { class: 'small muted' }, 'Each browser that opened a link of “ethos serve” is signed in for 30 days.'), list, code],
        actions: [{ label: 'Sign in another browser', run: showCode }, { label: 'Sign out here', kind: 'primary', run: signOut }],
    });
}

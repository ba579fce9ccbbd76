/*
 * app.js: starts everything: pages by address, what each page is given, shortcuts, badges.
 */
import * as api from './client.js';
import { $, fill, h } from './dom.js';
import { plural } from './format.js';
import * as frame from './frame.js';
import { Fresh } from './fresh.js';
import { remembers } from './given.js';
import { icon } from './icons.js';
import * as keys from './keys.js';
import { needs } from './needs.js';
import { format, parse, scopeOf, scopeParams } from './state.js';
import { problem, refreshTimes, toast } from './ui.js';

/** rail: always shown there (else only when something needs a person); more: not in a phone's bar. */
const PAGES = [
    {
        route: 'needs',
        title: 'Needs you',
        short: 'Needs',
        icon: 'needs',
        key: 'd',
        rail: true,
        more: true,
        load: () => import('./pages/needs.js'),
    },
    {
        route: 'memory',
        title: 'Memory',
        icon: 'memory',
        key: 'm',
        rail: true,
        load: () => import('./pages/memory.js'),
    },
    {
        route: 'entries',
        title: 'Entries',
        icon: 'list',
        key: 'e',
        rail: false,
        more: true,
        load: () => import('./pages/entries.js'),
    },
    {
        route: 'notes',
        title: 'Notes',
        icon: 'notes',
        key: 'n',
        rail: true,
        load: () => import('./pages/notes.js'),
    },
    {
        route: 'timeline',
        title: 'Timeline',
        icon: 'timeline',
        key: 't',
        rail: true,
        load: () => import('./pages/timeline.js'),
    },
    {
        route: 'sessions',
        title: 'Conversations',
        short: 'Chat',
        icon: 'sessions',
        key: 's',
        rail: true,
        load: () => import('./pages/sessions.js'),
    },
    {
        route: 'conflicts',
        title: 'Conflicts',
        icon: 'conflicts',
        key: 'c',
        rail: false,
        more: true,
        load: () => import('./pages/conflicts.js'),
    },
    {
        route: 'recall',
        title: 'Recall',
        icon: 'recall',
        key: 'r',
        rail: true,
        more: true,
        load: () => import('./pages/recall.js'),
    },
    {
        route: 'channels',
        title: 'Channels',
        icon: 'channels',
        key: 'l',
        rail: true,
        more: true,
        load: () => import('./pages/channels.js'),
    },
    {
        route: 'insights',
        title: 'Insights',
        icon: 'insights',
        key: 'i',
        rail: true,
        more: true,
        load: () => import('./pages/insights.js'),
    },
    {
        route: 'health',
        title: 'Health',
        icon: 'health',
        key: 'h',
        rail: true,
        more: true,
        load: () => import('./pages/health.js'),
    },
    {
        route: 'welcome',
        title: 'Welcome',
        icon: 'welcome',
        rail: false,
        more: true,
        load: () => import('./pages/welcome.js'),
    },
];

let address = parse(location.hash);
let mounted = null; // {page, row, root, ctx, end}
let turn = 0; // of showing: a page that comes late is not shown
let failed = false; // what is shown is why there is no page

const home = api.call('meta.home');
home.then(frame.setHome, () => {});

/* ---- what a page is given --------------------------------------------------------------------- */

function makeContext(row) {
    const left = new AbortController();
    const own = (fn) => left.signal.addEventListener('abort', fn, { once: true });
    const scoped = (input) => ({ ...scopeOf(address.params), ...input });
    const fail = (error) => {
        if (!left.signal.aborted) toast(api.explain(error).what);
    };
    // Of what nobody asked for: the banner tells already when no answer came.
    const failed = (error) => {
        if (api.connection() === 'online') fail(error);
    };
    const ctx = {
        params: address.params,
        rest: address.rest,
        signal: left.signal,
        home,
        get scope() {
            return scopeOf(address.params);
        },
        go,
        href,
        set: (params, options = { replace: true }) =>
            go(
                joined(address.route, address.rest),
                { ...address.params, ...params },
                { ...options, bare: true },
            ),
        call: (name, input) => api.call(name, scoped(input), { signal: left.signal }),
        own: (name, input) => api.own(name, scoped(input), { signal: left.signal }),
        refresh: (types, how) =>
            new Fresh(types, { signal: left.signal, fail: failed, ...how }),
        keys: (map) => own(keys.bind(map)),
        list: (container, selector, options) => own(keys.rows(container, selector, options)),
        head: (what = {}) =>
            frame.head({ title: row.title, ...what }, address.params, (params) =>
                ctx.set(params, {}),
            ),
        busy: frame.busy,
        aside: frame.aside,
        toast,
        fail,
        left: own,
        directory: frame.directory,
        outOfReach: frame.outOfReach,
        options: {
            personality: frame.personalityOptions,
            user: frame.userOptions,
            workspace: frame.workspaceOptions,
        },
    };
    return { ctx, end: () => left.abort() };
}

/* ---- going places ----------------------------------------------------------------------------- */

const joined = (route, rest) => (rest ? `${route}/${rest}` : route);

function href(route, params = {}) {
    return format(route, { ...scopeParams(address.params), ...params });
}

function go(route, params = {}, { replace = false, bare = false } = {}) {
    const to = bare ? format(route, params) : href(route, params);
    if (to === location.hash) return;
    if (replace) history.replaceState(null, '', to);
    else history.pushState(null, '', to);
    show();
}

async function firstRoute() {
    if (remembers) return 'memory';
    try {
        return (await home).firstRun ? 'welcome' : 'memory';
    } catch {
        return 'memory';
    }
}

async function show() {
    address = parse(location.hash);
    const mine = ++turn;
    const row = PAGES.find((page) => page.route === address.route);
    if (!row) {
        const first = await firstRoute();
        return mine === turn ? go(first, address.params, { replace: true }) : undefined;
    }
    frame.setCurrent(row.route);
    try {
        if (
            mounted?.row === row &&
            mounted.page.update &&
            mounted.page.takes?.(address) !== false
        ) {
            mounted.ctx.params = address.params;
            mounted.ctx.rest = address.rest;
            if (!mounted.root.isConnected) shown(mounted.root); // it was on its way
            await frame.busy(Promise.resolve(mounted.page.update(address.params, address.rest)));
        } else {
            await frame.busy(mount(row, mine));
        }
        if (mine === turn) failed = false;
    } catch (error) {
        if (mine !== turn || error.name === 'AbortError') return;
        leave();
        failed = true;
        shown(h('div', { class: 'page reading' }, problem(error)));
    }
}

/* Whether there was a page. */
function leave() {
    const before = mounted;
    mounted = null;
    before?.page.unmount?.();
    before?.end();
    frame.aside(null);
    return before !== null;
}

/* What came with the page is of its version; the server may be of another by now. */
function notLoaded() {
    const action = 'Is “ethos serve” still running? If it was updated, reload; drafts stay.';
    const error = new Error('This part of the dashboard could not be loaded.');
    throw Object.assign(error, { code: 'NOT_LOADED', data: { action } });
}

async function mount(row, mine) {
    const { default: page } = await row.load().catch(notLoaded);
    if (mine !== turn) return;
    const root = h('div', { class: `page page-${row.route}` });
    const { ctx, end } = makeContext(row);
    const moved = leave();
    mounted = { page, row, root, ctx, end };
    ctx.head();
    const first = page.mount(root, ctx);
    // The old page stays until the new one has something to show, but never long.
    await Promise.race([first, new Promise((resolve) => setTimeout(resolve, 150))]);
    if (mine === turn) shown(root, moved);
    await first;
}

function shown(node, moveFocus = false) {
    fill($('main'), node);
    if (!moveFocus) return;
    window.scrollTo(0, 0);
    if (
        document.activeElement === document.body ||
        !document.activeElement?.isConnected ||
        document.activeElement.closest('.rail')
    )
        $('.top .title').focus({ preventScroll: true });
}

/* ---- shortcuts -------------------------------------------------------------------------------- */

const HELP = [
    [
        'Everywhere',
        [
            ['Ctrl K', 'every command, by name'],
            ['/', 'search'],
            ['c', 'new chat'],
            ['?', 'this help'],
            ['Esc', 'close'],
        ],
    ],
    ['Pages', PAGES.filter((page) => page.key).map((page) => [`g ${page.key}`, page.title])],
    [
        'Lists and lines',
        [
            ['j  k', 'next, previous'],
            ['Enter', 'open; of a line: where it came from'],
            ['u', 'undo the change of this line'],
        ],
    ],
    [
        'Writing',
        [
            ['e', 'edit'],
            ['Ctrl S', 'save'],
            ['Esc', 'stop editing; the draft stays'],
        ],
    ],
    [
        'Needs you',
        [
            ['a', 'approve'],
            ['e', 'edit'],
            ['r', 'reject'],
            ['f', 'reject, and never ask again'],
            ['l', 'later'],
        ],
    ],
    [
        'Entries',
        [
            ['a', 'add'],
            ['e', 'edit'],
            ['x', 'delete'],
        ],
    ],
    [
        'Conversations',
        [
            ['r', 'reply'],
            ['Enter', 'send; with Shift a new line'],
            ['Ctrl .', 'stop the answer'],
        ],
    ],
];

async function help() {
    const { dialog } = await import('./dialog.js');
    dialog({
        title: 'Keyboard',
        wide: true,
        body: h(
            'div',
            { class: 'keys', tabindex: '0', role: 'group', 'aria-label': 'Shortcuts' }, // it may have to scroll
            HELP.map(([title, rows]) =>
                h(
                    'section',
                    h('h3', title),
                    h(
                        'dl',
                        rows.map(([key, what]) => [
                            h(
                                'dt',
                                key.split(/ +/).map((k, i) => [i ? ' ' : '', h('kbd', k)]),
                            ),
                            h('dd', what),
                        ]),
                    ),
                ),
            ),
        ),
    });
}

async function openPalette() {
    const { palette } = await import('./palette.js');
    palette({
        pages: PAGES,
        go,
        href,
        params: () => address.params,
        set: mounted?.ctx.set,
        extra: mounted?.page.commands?.() ?? [],
        help,
        browsers: openBrowsers,
    });
}

const openBrowsers = async () => (await import('./browsers.js')).browsers();

async function more() {
    const { dialog } = await import('./dialog.js');
    const params = scopeParams(address.params);
    const box = dialog({
        title: 'More',
        body: h(
            'div',
            { class: 'menu' },
            frame
                .morePages()
                .map((page) =>
                    h(
                        'a',
                        {
                            class: 'row',
                            href: format(page.route, params),
                            on: { click: () => box.close() },
                        },
                        icon(page.icon),
                        h('span', { class: 'rail-word' }, page.title),
                        frame.badgeOf(page.route)
                            ? h(
                                  'span',
                                  { class: 'count' },
                                  String(frame.badgeOf(page.route).number),
                              )
                            : null,
                    ),
                ),
            h(
                'button',
                {
                    type: 'button',
                    class: 'row',
                    on: {
                        click: () => {
                            box.close();
                            frame.cycleTheme();
                        },
                    },
                },
                icon('auto'),
                'Change the theme',
            ),
            h(
                'button',
                {
                    type: 'button',
                    class: 'row',
                    on: {
                        click: () => {
                            box.close();
                            openPalette();
                        },
                    },
                },
                icon('search'),
                'Every command',
            ),
            h(
                'button',
                {
                    type: 'button',
                    class: 'row',
                    on: {
                        click: () => {
                            box.close();
                            openBrowsers();
                        },
                    },
                },
                icon('person'),
                'Browsers, sign out',
            ),
        ),
    });
}

function focusSearch() {
    const field = $('.top-search input');
    if (!field) return openPalette();
    field.focus();
    field.select();
}

function escape() {
    if (document.activeElement?.closest('.top-search')) return document.activeElement.blur();
    return frame.closeAside();
}

keys.bind({
    '?': help,
    'mod+k': openPalette,
    '/': focusSearch,
    c: () => go('sessions/new'),
    Escape: escape,
    ...Object.fromEntries(
        PAGES.filter((page) => page.key).map((page) => [`g ${page.key}`, () => go(page.route)]),
    ),
});

/* ---- what needs a person ---------------------------------------------------------------------- */

const waiting = () =>
    new Fresh(needs.events, {
        ask: () => needs.ask((name, input) => api.call(name, { ...scopeOf(address.params), ...input })),
        show: (answer) => {
            const number = needs.count(answer);
            frame.setBadge('needs', number, `${plural(number, 'thing')} to decide or to look at`);
        },
        pause: 300,
    });

/* ---- start ------------------------------------------------------------------------------------ */

function start() {
    for (const type of ['personalities.changed', 'users.changed', 'reset'])
        api.onEvent(type, frame.directory.forget);
    api.onConnection((state) => {
        if (state === 'online' && failed) show();
    });
    frame.build(PAGES, { help, palette: openPalette, browsers: openBrowsers, more, params: () => address.params });
    keys.start();
    addEventListener('popstate', show); // links, back and typed addresses alike
    $('.skip').addEventListener('click', (event) => {
        event.preventDefault(); // the fragment is the address of a page
        $('main').focus();
    });
    setInterval(refreshTimes, 30e3);
    show();
    api.listen();
    setTimeout(() => {
        // The first page is there. A key that opens a dialog must not wait while somebody types on.
        import('./palette.js').catch(() => {});
        waiting().soon();
    }, 300);
}

(globalThis.framed ?? Promise.resolve()).then(start);

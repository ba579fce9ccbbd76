/*
 * frame.js: what stands around every page: rail, top line, selectors, banner, second column.
 */
import * as api from './client.js';
import { $, fill, h, refill } from './dom.js';
import { count, plural, scopeLabel } from './format.js';
import { icon } from './icons.js';
import { format, scopeParams } from './state.js';
import { button, iconButton, searchField, select, time } from './ui.js';

/* ---- theme and rail --------------------------------------------------------------------------- */

const THEMES = {
    auto: ['auto', 'Theme of the system'],
    light: ['sun', 'Light theme'],
    dark: ['moon', 'Dark theme'],
};

const look = document.documentElement.dataset;

/* The server reads the cookie, and the next page comes in these looks. */
function keepLook() {
    const words = [look.theme, look.rail].filter(Boolean).join('.');
    document.cookie = `ethos_look=${words}; Path=/; Max-Age=31536000; SameSite=Strict`;
    paintFoot();
}

export function cycleTheme() {
    const order = Object.keys(THEMES);
    const next = order[(order.indexOf(look.theme ?? 'auto') + 1) % order.length];
    if (next === 'auto') delete look.theme;
    else look.theme = next;
    keepLook();
}

export function toggleRail() {
    if (look.rail) delete look.rail;
    else look.rail = 'icons';
    keepLook();
}

let pages = [];
let current = '';
let tools = {};
const badges = {};

/** tools: {help, palette, browsers, more}: what the buttons at the foot do. */
export function build(list, given) {
    pages = list;
    tools = given;
    paintRail();
    paintFoot();
    keepLid();
    api.onConnection(() => {
        paintFoot();
        paintBanner();
    });
}

/* The banner, and a top line that has no room, make the lid taller; what sticks below it must know. */
function keepLid() {
    const lid = $('.lid');
    const tell = () => document.documentElement.style.setProperty('--lid', `${lid.offsetHeight}px`);
    new ResizeObserver(tell).observe(lid);
}

export function setCurrent(route) {
    current = route;
    paintRail();
}

/** What needs a person: {conflicts: 2, health: 1}. */
export function setBadge(route, number, words) {
    badges[route] = number > 0 ? { number, words } : null;
    paintRail();
}

function railItem(page, params) {
    const mark = badges[page.route];
    const here = page.route === current;
    return h(
        'li',
        { data: page.more ? { more: '' } : {} },
        h(
            'a',
            {
                class: 'rail-item',
                href: format(page.route, params),
                title: page.title,
                'aria-current': here ? 'page' : null,
            },
            icon(page.icon),
            page.short
                ? [
                      h('span', { class: 'rail-word only-wide' }, page.title),
                      h('span', { class: 'rail-word only-phone' }, page.short),
                  ]
                : h('span', { class: 'rail-word' }, page.title),
            mark
                ? h('span', { class: 'count', 'aria-label': mark.words }, count(mark.number))
                : null,
        ),
    );
}

function paintRail() {
    const params = scopeParams(tools.params?.() ?? {});
    const shown = pages.filter((page) => page.rail || page.route === current || badges[page.route]);
    fill(
        $('.rail-pages'),
        shown.map((page) => railItem(page, params)),
        moreItem(),
    );
}

/* Phones only: the rest, with what waits there. */
function moreItem() {
    const hidden = morePages();
    const waiting = hidden.reduce((sum, page) => sum + (badges[page.route]?.number ?? 0), 0);
    return h(
        'li',
        { class: 'only-phone' },
        h(
            'button',
            {
                type: 'button',
                class: 'rail-item',
                'aria-current': hidden.some((page) => page.route === current) ? 'true' : null,
                on: { click: tools.more },
            },
            icon('more'),
            h('span', { class: 'rail-word' }, 'More'),
            waiting
                ? h(
                      'span',
                      { class: 'count', 'aria-label': `${plural(waiting, 'thing')} to look at` },
                      count(waiting),
                  )
                : null,
        ),
    );
}

/** The pages that a phone's bar has no room for, with what waits there. */
export const morePages = () => pages.filter((page) => page.more);
export const badgeOf = (route) => badges[route] ?? null;

/* ---- foot ------------------------------------------------------------------------------------- */

const STATES = {
    online: 'Connected',
    offline: 'Not connected',
    waiting: 'Connecting',
    'signed-out': 'Signed out',
};
let home = null;

export function setHome(value) {
    home = value;
    paintFoot();
}

function paintFoot() {
    const foot = $('.rail-foot');
    const state = api.connection();
    const [themeIcon, themeName] = THEMES[look.theme] ?? THEMES.auto;
    const narrow = look.rail === 'icons';
    refill(
        foot,
        home
            ? h(
                  'div',
                  { class: 'rail-fact', title: `Home: ${home.home}` },
                  h('span', { class: 'rail-word ellipsis mono' }, shortPath(home.home)),
              )
            : null,
        h(
            'div',
            {
                class: 'rail-fact',
                title: `${STATES[state]}${home ? `, ethos ${home.version}` : ''}`,
            },
            h('span', {
                class: 'dot',
                data: { state: state === 'signed-out' ? 'offline' : state },
            }),
            h('span', { class: 'rail-word' }, STATES[state], home ? ` · ${home.version}` : ''),
            h('span', { class: 'visually-hidden' }, STATES[state]),
        ),
        h(
            'div',
            { class: 'rail-tools' },
            iconButton({ label: `${themeName}; change`, icon: themeIcon, run: cycleTheme }),
            iconButton({ label: 'Commands (Ctrl-K)', icon: 'search', run: tools.palette }),
            iconButton({ label: 'Keyboard shortcuts (?)', icon: 'keyboard', run: tools.help }),
            iconButton({ label: 'Browsers, sign out', icon: 'person', run: tools.browsers }),
            iconButton({
                label: narrow ? 'Widen the rail' : 'Narrow the rail',
                icon: 'rail',
                run: toggleRail,
                class: 'icon-button rail-collapse',
            }),
        ),
    );
}

/** "/home/ann/.ethos" as "~/.ethos": it is the end that tells. LRM keeps the slash in its place. */
const shortPath = (path) => `\u200e${path.replace(/^\/(?:home|Users)\/[^/]+/, '~')}`;

/* ---- banner ----------------------------------------------------------------------------------- */

let known = null; // when memory could last be read, if it cannot be now

export function outOfReach(since) {
    if (known === since) return;
    known = since;
    paintBanner();
}

function paintBanner() {
    const state = api.connection();
    const banner = $('.banner');
    if (state === 'offline')
        fill(
            banner,
            icon('offline'),
            h(
                'span',
                'The server does not answer. You see the last known state; what you write is saved as a draft.',
            ),
        );
    else if (state === 'signed-out')
        fill(
            banner,
            icon('warning'),
            h(
                'span',
                'This browser is signed out. Open the address that ',
                h('code', 'ethos serve'),
                ' prints; drafts stay.',
            ),
        );
    else if (known)
        fill(
            banner,
            icon('offline'),
            h(
                'span',
                'Memory cannot be reached. You see the state of ',
                time(known),
                '; what you write is kept as a draft.',
            ),
        );
    else fill(banner);
}

/* ---- the thin line ---------------------------------------------------------------------------- */

let open = 0;

export function busy(promise) {
    open++;
    const timer = setTimeout(() => {
        $('.busy').hidden = open === 0;
    }, 80);
    const end = () => {
        clearTimeout(timer);
        if (--open === 0) $('.busy').hidden = true;
    };
    promise.then(end, end);
    return promise;
}

/* ---- top line --------------------------------------------------------------------------------- */

const lists = { personalities: null, users: null, workspaces: null };

function listOf(name) {
    if (lists[name]) return lists[name];
    const asked = api.allPages(
        (cursor) => api.call(`${name}.list`, { limit: 5000, ...cursor }),
        [name === 'personalities' ? 'items' : name],
    );
    asked.catch(() => {
        if (lists[name] === asked) lists[name] = null; // the next one may be luckier
    });
    lists[name] = asked;
    return asked;
}

/** Personalities, people and workspaces; asked once, again when they change. */
export const directory = {
    personalities: () => listOf('personalities'),
    users: () => listOf('users'),
    workspaces: () => listOf('workspaces'),
    forget() {
        for (const name of Object.keys(lists)) lists[name] = null;
    },
};

export async function personalityOptions() {
    const { items, defaultId } = await directory.personalities();
    const rows = items.map((p) => ({ value: p.id, label: p.name || p.id }));
    if (!rows.some((row) => row.value === defaultId))
        rows.unshift({ value: defaultId, label: defaultId });
    return { rows, active: defaultId };
}

export async function userOptions() {
    const { users, localUserId } = await directory.users();
    const seen = new Map([[localUserId, 'you']]);
    for (const user of users) {
        const name = user.displayLabel || user.platformUserId || user.userId;
        if (user.userId === localUserId) seen.set(localUserId, `${name} (you)`);
        else if (!seen.has(user.userId))
            seen.set(
                user.userId,
                user.platform && user.platform !== 'cli' ? `${name} (${user.platform})` : name,
            );
    }
    return { rows: [...seen].map(([value, label]) => ({ value, label })), active: localUserId };
}

export async function workspaceOptions() {
    const { workspaces } = await directory.workspaces();
    const rows = workspaces.map((w) => ({
        value: w.id,
        label: w.paths?.length ? baseName(w.paths.at(-1).path) : scopeLabel(w.scope),
    }));
    return { rows: [{ value: '', label: 'no workspace' }, ...unlike(rows)], active: '' };
}

const baseName = (path) => path.split('/').filter(Boolean).at(-1) ?? path;

/* Two folders of one name are told apart by their id. */
function unlike(rows) {
    return rows.map((row) =>
        rows.some((other) => other !== row && other.label === row.label)
            ? { ...row, label: `${row.label} (${row.value.slice(-12, -8)})` }
            : row,
    );
}

const SELECTORS = {
    personality: { param: 'p', word: 'of', label: 'Personality', options: personalityOptions },
    user: { param: 'u', word: 'about', label: 'Person', options: userOptions },
    workspace: { param: 'w', word: 'in', label: 'Workspace', options: workspaceOptions },
};

async function selector(name, params, set) {
    const { param, word, label, options } = SELECTORS[name];
    const { rows, active } = await options();
    const value = params[param] ?? active;
    const known = rows.some((row) => row.value === value)
        ? rows
        : [...rows, { value, label: value }];
    return [
        h('span', { class: 'muted small', 'aria-hidden': 'true' }, word),
        select(label, known, value, (next) => set({ [param]: next === active ? null : next }), {
            plain: true,
        }),
    ];
}

/** The top line of a page; its selectors ask the server, and may wait for something that matters more. */
export async function head(
    { title, selectors = [], search = null, actions = [], after = null },
    params,
    set,
) {
    $('.top .title').textContent = title;
    document.title = `${title} · ethos`;
    refill($('.top-search'), search ? searchField(search) : null);
    refill(
        $('.top-actions'),
        actions.map((a) =>
            a instanceof Node
                ? a
                : button({
                      label: a.label,
                      icon: a.icon,
                      run: a.run,
                      kind: a.primary ? 'primary' : '',
                      title: a.key ? `${a.label} (${a.key})` : null,
                  }),
        ),
    );
    const box = $('.top-selectors');
    if (selectors.length === 0) return void fill(box);
    await after?.catch(() => {});
    const made = await Promise.all(
        selectors.map((name) => selector(name, params, set).catch(() => null)),
    );
    if ($('.top .title').textContent === title) refill(box, made);
}

/* ---- second column ---------------------------------------------------------------------------- */

let asideBack = null;
let asideClose = null;

/** close: what is to be done when the person closes it; else it is just emptied. */
export function aside(node, label, close = null) {
    const box = $('.aside');
    if (!node) {
        const inside = box.contains(document.activeElement);
        box.hidden = true;
        fill(box);
        if (inside && asideBack?.isConnected) asideBack.focus();
        return;
    }
    if (box.hidden) asideBack = document.activeElement;
    asideClose = close;
    box.hidden = false;
    box.setAttribute('aria-label', label);
    fill(box, node);
}

/** False when there was none. */
export function closeAside() {
    if ($('.aside').hidden) return false;
    if (asideClose) asideClose();
    else aside(null);
    return true;
}

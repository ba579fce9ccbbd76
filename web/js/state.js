/*
 * state.js: the address as state, and drafts. An address is #/route/rest?params; the
 * fragment never leaves the browser, so neither do names of sessions or people.
 */

/** Parameters that go along from page to page. */
export const SCOPE = { p: 'personalityId', u: 'userId', w: 'workspaceId' };

export function parse(hash) {
    const [path, query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
    const [route, ...rest] = path.split('/').map(decode);
    return {
        route: route || '',
        rest: rest.join('/'),
        params: Object.fromEntries(new URLSearchParams(query)),
    };
}

function decode(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

export function format(route, params = {}) {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(params))
        if (value !== null && value !== undefined && value !== '') query.set(key, value);
    const path = route.split('/').map(encodeURIComponent).join('/');
    const text = query.toString();
    return `#/${path}${text ? `?${text}` : ''}`;
}

/** The part of the parameters that says whose memory is meant. */
export const scopeParams = (params) =>
    Object.fromEntries(
        Object.keys(SCOPE)
            .filter((key) => params[key])
            .map((key) => [key, params[key]]),
    );

export const scopeOf = (params) =>
    Object.fromEntries(
        Object.entries(SCOPE)
            .filter(([key]) => params[key])
            .map(([key, name]) => [name, params[key]]),
    );

/* ---- what this browser keeps ------------------------------------------------------------------ */

const PREFIX = 'ethos.';

function keep(key, value) {
    try {
        if (value === null) localStorage.removeItem(PREFIX + key);
        else localStorage.setItem(PREFIX + key, value);
        return true;
    } catch {
        return false; // full or forbidden
    }
}

function kept(key) {
    try {
        return localStorage.getItem(PREFIX + key);
    } catch {
        return null;
    }
}

const SEARCHES = 200; // how many are kept

/** How long searches took in this browser, the last ones: [{name, ms}]. What was looked for is not kept. */
export const searches = {
    all() {
        try {
            return JSON.parse(kept('searches')) ?? [];
        } catch {
            return [];
        }
    },
    add(name, ms) {
        const rows = [...searches.all(), { name, ms: Math.round(ms * 10) / 10 }];
        keep('searches', JSON.stringify(rows.slice(-SEARCHES)));
    },
};

/** Drafts of texts, by the file they belong to: {text, base, revision, time}. */
export const drafts = {
    get(id) {
        try {
            return JSON.parse(kept(`draft.${id}`));
        } catch {
            return null;
        }
    },
    set: (id, draft) => keep(`draft.${id}`, JSON.stringify({ ...draft, time: Date.now() })),
    drop: (id) => keep(`draft.${id}`, null),
};

export const draftId = (file) => `${file.scope}/${file.key}`;

/** A draft that differs from what it was made from. */
export function draftOf(file) {
    const draft = drafts.get(draftId(file));
    return draft && draft.text !== draft.base ? draft : null;
}

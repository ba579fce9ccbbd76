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

/*
 * Drafts of texts. Two windows may write on one file: each keeps its own, under the file's name and a number
 * (the first has none), and none writes over or takes away what another one kept. What the browser has no
 * room for, or may not keep, this window keeps while it is there; it asks before it goes. An address may serve
 * one home today and another tomorrow, so the name tells the home, too; older drafts do not, and are found: who
 * writes on makes them this home's.
 */
const nameless = (file) => `draft.${file.scope}/${file.key}`;
const draftKey = (file) => {
    const { home } = document.documentElement.dataset;
    return home ? `draft@${home}.${file.scope}/${file.key}` : nameless(file);
};
const here = new Map(); // drafts that only this window has

const keptDraft = (key) => here.get(key) ?? kept(key);
const stay = (event) => event.preventDefault();

function keepDraft(key, raw) {
    const done = keep(key, raw);
    if (done || raw === null) here.delete(key);
    else here.set(key, raw);
    if (here.size) addEventListener('beforeunload', stay);
    else removeEventListener('beforeunload', stay);
    return done;
}

function keptKeys() {
    try {
        return Object.keys(localStorage)
            .filter((key) => key.startsWith(PREFIX))
            .map((key) => key.slice(PREFIX.length));
    } catch {
        return []; // forbidden
    }
}

function draftKeys(file) {
    const names = [draftKey(file), nameless(file)];
    const isOf = (key) => names.some((name) => key === name || key.startsWith(`${name}\n`));
    return [...new Set([...here.keys(), ...keptKeys()])].filter(isOf);
}

function readDraft(raw) {
    try {
        const draft = JSON.parse(raw);
        return draft && draft.text !== draft.base ? draft : null;
    } catch {
        return null;
    }
}

/**
 * What one window keeps of a file that is not saved. It begins with the newest draft of the file, if any;
 * one that the file holds by now was saved, though the answer to that did not come.
 */
export class Draft {
    #file;
    #key = null;
    #raw = null; // as this window wrote or found it: else it is another's

    constructor(file) {
        this.#file = file;
        let newest = -1;
        for (const key of draftKeys(file)) {
            const raw = keptDraft(key);
            const draft = readDraft(raw);
            if (draft?.text === file.content) keepDraft(key, null);
            else if (draft?.time > newest) [newest, this.#key, this.#raw] = [draft.time, key, raw];
        }
    }

    /** {text, base, revision, time}, or null. */
    get kept() {
        return readDraft(this.#raw);
    }

    /** False when only this window keeps it. One that stands there already is left: it may be another's, too. */
    keep({ text, base, revision }) {
        const rawOf = (time) => JSON.stringify({ text, base, revision, time });
        const ours = this.#key !== null && (keptDraft(this.#key) ?? this.#raw) === this.#raw;
        if (ours && kept(this.#key) === rawOf(this.kept?.time)) return true;
        const old = ours && !this.#key.startsWith(draftKey(this.#file)) ? this.#key : null;
        if (!ours || old) this.#key = this.#free();
        this.#raw = rawOf(Date.now());
        const done = keepDraft(this.#key, this.#raw);
        if (done && old) keepDraft(old, null);
        return done;
    }

    drop() {
        if (this.#key !== null && keptDraft(this.#key) === this.#raw) keepDraft(this.#key, null);
    }

    #free() {
        const first = draftKey(this.#file);
        const taken = new Set(draftKeys(this.#file));
        let key = first;
        for (let i = 2; taken.has(key); i++) key = `${first}\n${i}`;
        return key;
    }
}

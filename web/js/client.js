/*
 * client.js: the server as this page sees it: calls, events, and whether it is there.
 */
import { createClient, EthosError } from '../sdk/ethos.js';
import { sharedEvents } from './share.js';
import { searches } from './state.js';

export const client = createClient();

const listeners = new Map(); // event type -> functions
const watchers = new Set(); // of the connection state
let state = 'waiting';
let stream = null;

const PATIENCE_MS = 3000; // how often to see whether the server is back, at least

/** 'online', 'offline', 'waiting' (nothing heard yet), 'signed-out'. */
export const connection = () => state;

export function onConnection(fn) {
    watchers.add(fn);
    return () => watchers.delete(fn);
}

function become(next) {
    if (next === state) return;
    const before = state;
    state = next;
    for (const fn of watchers) fn(next, before);
    if (next === 'offline') setTimeout(knock, PATIENCE_MS);
    if (next === 'online') stream?.revive(); // it may have been refused, however long ago
}

/* One call that failed is no reason to stay away, and the stream may not have noticed. */
async function knock() {
    if (state !== 'offline') return;
    await call('meta.home').catch(() => setTimeout(knock, PATIENCE_MS));
}

function note(error) {
    if (error.status === 401) become('signed-out');
    else if (error.code === 'NETWORK') become('offline');
}

async function tried(promise) {
    try {
        const value = await promise;
        become('online');
        return value;
    } catch (error) {
        note(error);
        throw error;
    }
}

/** An operation by its wire name; the reference's forms where it has such a call. */
export async function call(name, input = {}, options = {}) {
    const start = performance.now();
    const value = await tried(client.call(name, input, options));
    if (name.endsWith('.search')) searches.add(name, performance.now() - start);
    return value;
}

/**
 * A list of the server comes in pages; this is all of it as one answer: ask(input) gives a page, and `members` are
 * the arrays of it that go on in the next.
 */
export async function allPages(ask, members) {
    let whole = null;
    for (let cursor; cursor !== null;) {
        const page = await ask(cursor ? { cursor } : {});
        for (const member of members) if (whole) whole[member].push(...page[member]);
        whole ??= page;
        cursor = page.nextCursor ?? null;
    }
    return whole;
}

/** A reading operation with its own JSON, whatever the reference calls it. */
export const own = (name, input = {}, options = {}) => tried(ownCall(name, input, options));

async function ownCall(name, input, { signal } = {}) {
    const query = new URLSearchParams(
        Object.entries(input).filter(([, value]) => value !== undefined && value !== null),
    );
    const response = await client.request(`/api/${name.replace('.', '/')}?${query}`, {
        signal,
        cache: 'no-store',
    });
    return bodyOf(response, signal);
}

/* An answer that breaks off is none. */
async function bodyOf(response, signal) {
    const text = await response.text().catch((error) => {
        if (signal?.aborted) throw error;
        throw new EthosError('The answer was interrupted.', { code: 'NETWORK', cause: error });
    });
    return JSON.parse(text);
}

/** The description of every operation; made by the server from its table. */
export async function describe() {
    return tried(client.request('/openapi.json').then((response) => bodyOf(response)));
}

export function onEvent(type, fn) {
    if (!listeners.has(type)) listeners.set(type, new Set());
    listeners.get(type).add(fn);
    return () => listeners.get(type).delete(fn);
}

function tell(event) {
    for (const type of [event.type, '*']) for (const fn of listeners.get(type) ?? []) fn(event);
}

export function listen() {
    // Whoever comes back to this page may have signed in elsewhere.
    addEventListener('focus', () => {
        if (state === 'signed-out') call('meta.home').catch(() => {});
    });
    stream = sharedEvents(client, {
        maxPauseMs: PATIENCE_MS,
        onEvent: tell,
        onOpen: () => {
            become('online');
            tell({ type: 'open' });
        },
        onError: (error) => {
            if (error.status === 401) become('signed-out');
            else if (state !== 'signed-out') become('offline');
        },
    });
}

/** What an error says to a person: what happened, and what to do about it. */
export function explain(error) {
    const action = error.data?.action ?? error.data?.hint ?? null;
    if (error.code === 'NETWORK')
        return { what: 'The server does not answer.', action: 'Is “ethos serve” still running?' };
    if (error.status === 401)
        return {
            what: 'This browser is not signed in any more.',
            action: '“ethos serve --link” prints a link that signs it in.',
        };
    if (!error.code) {
        console.error(error); // ours: the words would tell a person nothing
        return {
            what: 'An error occurred on this page.',
            action: 'Reload the page; nothing that you wrote is lost.',
        };
    }
    return { what: error.message, action };
}

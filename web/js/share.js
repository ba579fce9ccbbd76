/*
 * share.js: one event stream for all tabs. A browser opens few connections to one server, and a stream keeps
 * one: six tabs with a stream each, and the seventh would wait for ever. So one tab listens and tells the
 * others; when it goes, the next one takes over where it was.
 */
const NAME = 'ethos-events';

/** As client.events(options), with a stream that tabs share; what opens and breaks is told to all of them. */
export function sharedEvents(client, options) {
    if (!navigator.locks || !globalThis.BroadcastChannel) return client.events(options);
    const channel = new BroadcastChannel(NAME);
    const over = new AbortController();
    let lastEventId;
    const take = ({ kind, event, id, error }) => {
        lastEventId = id ?? lastEventId;
        if (kind === 'event') options.onEvent?.(event, id);
        if (kind === 'open') options.onOpen?.();
        if (kind === 'error') options.onError?.(Object.assign(new Error(error.message), error));
    };
    const tell = (message) => {
        channel.postMessage(message);
        take(message);
    };
    let standing = null; // of the tab that listens: what one that comes later is told first
    channel.onmessage = ({ data }) => {
        if (data.kind !== 'who') take(data);
        else if (standing) channel.postMessage({ ...standing, id: lastEventId });
    };
    async function listen() {
        const stream = client.events({
            ...options, lastEventId, signal: over.signal,
            onEvent: (event, id) => tell({ kind: 'event', event, id }),
            onOpen: () => tell(standing = { kind: 'open' }),
            onError: ({ message, code, status }) => tell(standing = { kind: 'error', error: { message, code, status } }),
        });
        await stream.closed; // or refused: another tab may have signed in since
        standing = null;
    }
    navigator.locks.request(NAME, { signal: over.signal }, listen).catch(() => {});
    channel.postMessage({ kind: 'who' });
    return {
        get lastEventId() { return lastEventId; },
        close: () => { over.abort(); channel.close(); },
    };
}

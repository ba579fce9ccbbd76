/*
 * share.js: one event stream for all tabs. A browser opens few connections to one server, and a stream keeps
 * one: six tabs with a stream each, and the seventh would wait for ever. So one tab listens and tells the
 * others; when it goes, the next one takes over where it was.
 */
const NAME = 'ethos-events';

/**
 * As client.events(options), with a stream that tabs share; what opens and breaks is told to all of them.
 * A stream that was refused is over for good, so a tab that was signed out listens again when revive() says
 * that it is let in, or another tab is heard: that one may be closed first.
 */
export function sharedEvents(client, options) {
    const over = new AbortController();
    const shares = navigator.locks && globalThis.BroadcastChannel;
    const channel = shares ? new BroadcastChannel(NAME) : null;
    let lastEventId;
    let revive = () => {};
    const take = ({ kind, event, id, error }) => {
        lastEventId = id ?? lastEventId;
        if (kind === 'event') options.onEvent?.(event, id);
        if (kind === 'open') options.onOpen?.();
        if (kind === 'error') options.onError?.(Object.assign(new Error(error.message), error));
        else revive();
    };
    const tell = (message) => {
        channel?.postMessage(message);
        take(message);
    };
    let standing = null; // of the tab that listens: what one that comes later is told first
    async function listen() {
        const stream = client.events({
            ...options, lastEventId, signal: over.signal,
            onEvent: (event, id) => tell({ kind: 'event', event, id }),
            onOpen: () => tell(standing = { kind: 'open' }),
            onError: ({ message, code, status }) => tell(standing = { kind: 'error', error: { message, code, status } }),
        });
        await stream.closed;
        standing = null;
    }
    async function stand() {
        while (!over.signal.aborted) {
            const revived = new Promise((resolve) => { revive = resolve; });
            await (shares ? navigator.locks.request(NAME, { signal: over.signal }, listen) : listen());
            await revived;
        }
    }
    if (channel)
        channel.onmessage = ({ data }) => {
            if (data.kind !== 'who') take(data);
            else if (standing) channel.postMessage({ ...standing, id: lastEventId });
        };
    stand().catch(() => {});
    channel?.postMessage({ kind: 'who' });
    return {
        get lastEventId() { return lastEventId; },
        revive: () => revive(),
        close: () => { over.abort(); channel?.close(); },
    };
}

// ethos.js: a client of `ethos serve`, for browsers and Node 18 or newer. No dependencies.
//
//     import { createClient } from './ethos.js';
//     const ethos = createClient();
//     const { file } = await ethos.memory.get({ store: 'user' });
//     await ethos.memory.write({ store: 'user', content, expectedRevision: file.revision });
//
// Every operation of the server is a method, `ethos.<namespace>.<method>(input, options)`, the entries of a file one
// deeper, `ethos.memory.chunks.<method>`; which there
// are, index.d.ts tells, and it is made from the server's own table. What fails throws an EthosError.
// README.md has the rest.

const DEFAULT_BASE_URL = 'http://localhost:3000'; // unless the environment or the page tells another

// What the server refused, or could not do.
//
//   code       "MEMORY_CONFLICT", ...; "NETWORK" when no answer came, "BAD_ANSWER" when none of ours
//   status     of HTTP; 0 without an answer
//   data       what belongs to it: `action` (what to do), `issues` (which members are wrong), ...
//   requestId  for the server's log
export class EthosError extends Error {
    constructor(message, { code, status = 0, data, requestId, cause } = {}) {
        super(message, cause === undefined ? undefined : { cause });
        this.name = 'EthosError';
        this.code = code;
        this.status = status;
        this.data = data;
        this.requestId = requestId;
    }
}

export function createClient({ baseUrl, apiKey, fetch = globalThis.fetch } = {}) {
    const base = (baseUrl ?? environment('ETHOS_BASE_URL') ?? pageOrigin() ?? DEFAULT_BASE_URL).replace(/\/+$/, '');
    const key = apiKey ?? environment('ETHOS_API_KEY');

    // A request with our credential; the response is one that went well.
    async function request(path, init = {}) {
        let response;
        try {
            response = await fetch(base + path, {
                ...init,
                headers: { ...init.headers, ...(key && { authorization: `Bearer ${key}` }) },
                credentials: key ? 'omit' : 'same-origin',
                redirect: 'error', // the server never redirects; what does would see the credential
            });
        } catch (error) {
            if (init.signal?.aborted) throw error;
            throw unheard(base, error);
        }
        if (!response.ok) throw await refusal(response);
        return response;
    }

    // One operation by its name: call('memory.get', { store: 'user' }).
    async function call(name, input, { signal } = {}) {
        const response = await request(`/rpc/${name.replaceAll('.', '/')}`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(input === undefined ? {} : { json: input }),
            signal,
        });
        const body = await readJson(response, base, signal);
        if (body === null || typeof body !== 'object' || !('json' in body)) throw badAnswer(response);
        return body.json;
    }

    // Everything that changes, as it happens: README.md, "Events".
    const events = (options = {}) => openStream('/events', request, options);

    // One conversation as it goes on.
    const sessionEvents = (id, options = {}) =>
        openStream(`/sse/sessions/${encodeURIComponent(id)}`, request, options);

    // One message to the agent, and what comes of it: README.md, "Talking to the agent".
    const chat = (text, options = {}) => new Turn(call, sessionEvents, text, options);

    // A method may be a namespace as well: memory.chunks.list().
    const space = (name) => members({}, (method) => members((input, options) => call(`${name}.${method}`, input, options), (inner) => (input, options) => call(`${name}.${method}.${inner}`, input, options)));
    const named = { baseUrl: base, request, call, events, sessionEvents };
    return members({ ...named, chat: members(chat, (method) => (input, options) => call(`chat.${method}`, input, options)) }, space);
}

// An object that has every member: those it lacks are made when they are asked for, once.
function members(object, make) {
    // Promises look for `then`, printers for symbols: neither is a name of ours.
    const isName = (name) => typeof name === 'string' && /^[a-z][A-Za-z0-9]*$/.test(name) && name !== 'then';
    return new Proxy(object, {
        get: (target, name) => (name in target || !isName(name) ? target[name] : (target[name] = make(name))),
    });
}

// ---- answers ----------------------------------------------------------------------------------------

// A body that breaks off is no other answer than none; who gave up gets the reason that was given.
async function readJson(response, base, signal) {
    let text;
    try {
        text = await response.text();
    } catch (error) {
        throw signal?.aborted ? error : unheard(base, error);
    }
    try {
        return JSON.parse(text);
    } catch (error) {
        throw badAnswer(response, error);
    }
}

function unheard(base, cause) {
    return new EthosError(`${base} does not answer: ${cause.cause?.message ?? cause.message}`, { code: 'NETWORK', cause });
}

function badAnswer(response, cause) {
    return new EthosError(`${response.url} did not answer like ethos serve`, {
        code: 'BAD_ANSWER',
        status: response.status,
        requestId: response.headers.get('x-request-id') ?? undefined,
        cause,
    });
}

// Errors come as {json: {code, message, data}}, as {code, error, action} or as a problem document.
async function refusal(response) {
    let body;
    try {
        body = await response.json();
    } catch {
        body = null;
    }
    const inner = body?.json ?? body;
    if (typeof inner?.code !== 'string') return badAnswer(response);
    const action = body.action ?? undefined;
    return new EthosError(String(inner.message ?? inner.error ?? inner.detail ?? inner.title ?? inner.code), {
        code: inner.code,
        status: response.status,
        data: inner.data ?? (action === undefined ? undefined : { action }),
        requestId: response.headers.get('x-request-id') ?? body.requestId ?? undefined,
    });
}

// ---- where we are -----------------------------------------------------------------------------------

const environment = (name) => globalThis.process?.env?.[name] || undefined;

function pageOrigin() {
    const origin = globalThis.location?.origin;
    return origin && origin !== 'null' ? origin : undefined;
}

// ---- talking to the agent ---------------------------------------------------------------------------

// A turn of a conversation: an async iterable of its events. It begins when it is iterated or awaited for its ids,
// goes on without us, and is told apart from others of its session by its id.
class Turn {
    #call;
    #follow;
    #input;
    #signal;
    #sent;

    constructor(call, follow, text, { signal, ...input }) {
        this.#call = call;
        this.#follow = follow;
        this.#signal = signal;
        this.#input = { clientId: 'sdk', ...input, text };
    }

    // {sessionId, turnId}
    get sent() {
        return (this.#sent ??= this.#call('chat.send', this.#input, { signal: this.#signal }));
    }

    async abort() {
        const { sessionId } = await this.sent;
        return this.#call('chat.abort', { sessionId });
    }

    // The whole answer, as text.
    async text() {
        for await (const event of this) if (event.type === 'done') return event.text;
        throw new EthosError('the conversation ended without an answer', { code: 'BAD_ANSWER' });
    }

    async *[Symbol.asyncIterator]() {
        const { sessionId, turnId } = await this.sent;
        const queue = [];
        let wake, failure;
        const ring = () => wake?.();
        const stream = this.#follow(sessionId, {
            signal: this.#signal,
            onEvent(event) { queue.push(event); ring(); },
            onError(error) { if (isFinal(error)) { failure = error; ring(); } },
        });
        try {
            for (let ours = false; ;) {
                while (queue.length === 0) {
                    if (failure ?? this.#signal?.aborted) throw failure ?? this.#signal.reason;
                    await new Promise((resolve) => { wake = resolve; this.#signal?.addEventListener('abort', resolve, { once: true }); });
                }
                const event = queue.shift();
                const ends = event.type === 'done' || event.type === 'error';
                if (event.type === 'run_start') ours = event.traceId === turnId;
                // One that could not even wait is told in the middle of another.
                if (ends ? event.traceId !== turnId : !ours) continue;
                if (event.type === 'error') throw new EthosError(event.error, { code: event.code });
                yield event;
                if (ends && !event.remembers) return;
                if (event.type === 'memory.captured') return;
            }
        } finally {
            stream.close();
        }
    }
}

// ---- streams ----------------------------------------------------------------------------------------
//
// A connection that ends, breaks or falls silent is opened again with the id of the last event, after a
// pause that doubles from failure to failure. An event is given once, in order, however the bytes were
// cut: within a character, between CR and LF, within a frame.

const PAUSE_MS = 500; // before the first retry; the server may tell another with "retry:"
const MAX_PAUSE_MS = 30000;
const SILENCE_MS = 45000; // three heartbeats
const MAX_LINE = 16 * 1024 * 1024; // characters of one line

// Frames of text/event-stream, whatever pieces the bytes come in. Gives {id, event, data, retry}.
class FrameReader {
    #decoder = new TextDecoder(); // also takes away the byte order mark
    #rest = '';
    #looked = 0; // how far into the rest there is no line's end
    #skipLf = false; // a CR ended the last line: an LF now belongs to it
    #frame = emptyFrame();

    *push(bytes) {
        let text = this.#rest + this.#decoder.decode(bytes, { stream: true });
        if (this.#skipLf && text !== '') {
            if (text[0] === '\n') text = text.slice(1);
            this.#skipLf = false;
        }
        const ends = /\r\n?|\n/g;
        let start = 0;
        ends.lastIndex = this.#looked;
        for (let end = ends.exec(text); end; end = ends.exec(text)) {
            const frame = this.#line(text.slice(start, end.index));
            start = ends.lastIndex;
            this.#skipLf = start === text.length && end[0] === '\r';
            if (frame) yield frame;
        }
        this.#rest = text.slice(start);
        this.#looked = this.#rest.length;
        if (this.#looked > MAX_LINE) throw new Error('a line of the stream is too long');
    }

    #line(line) {
        if (line === '') return this.#dispatch();
        const colon = line.indexOf(':');
        if (colon === 0) return null; // a comment: the heartbeat
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (field === 'data') this.#frame.data.push(value);
        if (field === 'event') this.#frame.event = value;
        if (field === 'id' && !value.includes('\0')) this.#frame.id = value;
        if (field === 'retry' && /^\d+$/.test(value)) this.#frame.retry = Number(value);
        return null;
    }

    #dispatch() {
        const { data, ...frame } = this.#frame;
        this.#frame = emptyFrame();
        if (data.length === 0 && frame.retry === undefined) return null;
        return { ...frame, data: data.length ? data.join('\n') : undefined };
    }
}

const emptyFrame = () => ({ id: undefined, event: undefined, data: [], retry: undefined });

// Which events are new. An id is "<number>", or "<run>-<number>" where a run is one life of the server.
class Position {
    last;
    #asked;
    #first = false; // no event came on this connection yet
    #goesOn = false; // the server told that it goes on from where we asked

    constructor(last) {
        this.last = last;
    }

    connected() {
        this.#asked = this.last;
        this.#first = true;
        this.#goesOn = false;
    }

    // The first frame names the point from which the server goes on, and is no event of the sequence.
    greeted(id) {
        this.#goesOn = id !== undefined && id === this.#asked;
        this.last ??= id;
    }

    // What was missed is lost; whatever comes now is new.
    reset(id) {
        this.last = id;
    }

    // Whether an event has not been seen; if so, it now has.
    isNew(id) {
        if (id === undefined) return true;
        const [run, number] = split(id), [lastRun, lastNumber] = split(this.last ?? '');
        // A sequence without runs that goes on from our point, and then counts lower, began anew.
        const anew = run === '' && this.#first && this.#goesOn;
        this.#first = false;
        if (run === lastRun && number <= lastNumber && !anew) return false;
        this.last = id;
        return true;
    }
}

function split(id) {
    const dash = id.lastIndexOf('-');
    const number = Number(id.slice(dash + 1));
    return Number.isInteger(number) && id !== '' ? [id.slice(0, Math.max(dash, 0)), number] : [id, -1];
}

const GREETINGS = new Set(['hello', 'stream_meta']);

function openStream(path, request, options) {
    const stream = new Stream(path, request, options);
    stream.closed = stream.run();
    return stream;
}

class Stream {
    #path;
    #request;
    #options;
    #stop = new AbortController();
    #position;
    #pause = PAUSE_MS;
    #failures = 0;

    constructor(path, request, options) {
        this.#path = path;
        this.#request = request;
        this.#options = options;
        this.#position = new Position(options.lastEventId);
        if (options.signal?.aborted) this.close();
        options.signal?.addEventListener('abort', () => this.close(), { once: true });
    }

    get lastEventId() {
        return this.#position.last;
    }

    close() {
        this.#stop.abort();
    }

    // Until it is closed, or the server says that coming back is of no use.
    async run() {
        while (!this.#stop.signal.aborted) {
            try {
                await this.#once();
            } catch (error) {
                if (this.#stop.signal.aborted) return;
                this.#tell('onError', error);
                if (isFinal(error)) return;
            }
            await this.#wait();
        }
    }

    async #once() {
        const watch = new Watch(this.#stop.signal, this.#options.silenceMs ?? SILENCE_MS);
        try {
            const last = this.#position.last;
            // In the address: a page of another origin may not send the header Last-Event-ID.
            const from = last === undefined ? '' : `?lastEventId=${encodeURIComponent(last)}`;
            const headers = { accept: 'text/event-stream' };
            const response = await this.#request(this.#path + from, { headers, signal: watch.signal, cache: 'no-store' });
            this.#position.connected();
            this.#tell('onOpen');
            await this.#read(response.body.getReader(), watch);
        } catch (error) {
            throw watch.silent ? new Error('the stream fell silent') : error;
        } finally {
            watch.end();
        }
    }

    async #read(body, watch) {
        const frames = new FrameReader();
        const cancel = () => body.cancel().catch(() => {});
        if (watch.signal.aborted) cancel();
        watch.signal.addEventListener('abort', cancel, { once: true });
        for (;;) {
            const { value, done } = await body.read();
            if (done) throw new Error('the stream ended');
            watch.heard();
            this.#failures = 0;
            for (const frame of frames.push(value)) this.#take(frame);
        }
    }

    #take(frame) {
        if (frame.retry !== undefined) this.#pause = Math.min(frame.retry, MAX_PAUSE_MS);
        if (frame.data === undefined || this.#stop.signal.aborted) return;
        let event;
        try {
            event = JSON.parse(frame.data);
        } catch (error) {
            this.#tell('onError', error);
            return;
        }
        if (GREETINGS.has(event?.type)) this.#position.greeted(frame.id);
        else if (event?.type === 'reset') this.#position.reset(frame.id);
        else if (!this.#position.isNew(frame.id)) return;
        this.#tell('onEvent', event, frame.id);
    }

    // What a caller's function throws is the caller's: it must not end the stream.
    #tell(name, ...args) {
        try {
            this.#options[name]?.(...args);
        } catch (error) {
            queueMicrotask(() => { throw error; });
        }
    }

    #wait() {
        const pause = Math.min(this.#pause * 2 ** this.#failures++, this.#options.maxPauseMs ?? MAX_PAUSE_MS);
        const { signal } = this.#stop;
        return new Promise((resolve) => {
            const go = () => {
                clearTimeout(timer);
                signal.removeEventListener('abort', go);
                resolve();
            };
            const timer = setTimeout(go, pause * (0.75 + Math.random() / 4));
            signal.addEventListener('abort', go);
        });
    }
}

// Ends one connection: when all is to end, or when nothing was heard for too long.
class Watch {
    #control = new AbortController();
    #stop;
    #timer;
    #milliseconds;
    silent = false;

    constructor(stop, milliseconds) {
        this.#stop = stop;
        this.#milliseconds = milliseconds;
        stop.addEventListener('abort', this.#abort, { once: true });
        this.heard();
    }

    get signal() {
        return this.#control.signal;
    }

    heard() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => {
            this.silent = true;
            this.#abort();
        }, this.#milliseconds);
    }

    end() {
        clearTimeout(this.#timer);
        this.#stop.removeEventListener('abort', this.#abort);
        this.#abort(); // a body that is read no further
    }

    #abort = () => this.#control.abort();
}

// Refused for a reason that the next attempt would meet again.
const isFinal = (error) => [400, 401, 403, 404, 405, 421].includes(error.status);

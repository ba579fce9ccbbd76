/*
 * fresh.js: what is shown of the server, kept as it is there. Answers may overtake each other, come late or
 * not at all: what was asked later wins, and nothing is shown after the end.
 */
import { onEvent } from './client.js';
import { painted } from './dom.js';

const AT_ONCE = 2; // questions: a slow answer does not hold up the next one, many events are no flood
const AGAIN_MS = 3000; // before the question is put again when the server could not answer now

/** When everything may be new: what happened before was not told. */
const ALWAYS = ['reset', 'open'];

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Fresh {
    #how;
    #asked = 0; // questions so far, and so the number of the last one
    #wanted = 0; // the answer to an earlier question is not wanted any more
    #open = 0; // questions without an answer
    #pausing = false; // something happened: to be asked for after the pause
    #due = false; // and now, when there is room
    #events = []; // that no shown answer knows of
    #failing = false; // to be told once
    #over = new AbortController();

    /**
     * ask(): a promise of an answer; show(answer, events): paints it, told what happened since the last one.
     * when(event): whether an event of these types matters. pause: milliseconds from an event to the question,
     * in which others may join; else to the next frame. fail(error): of a question that nobody waits for.
     */
    constructor(types, how) {
        this.#how = how;
        how.signal?.addEventListener('abort', () => this.end(), { once: true });
        for (const type of types)
            this.#listen(type, (event) => {
                if (how.when?.(event) ?? true) this.soon(event);
            });
        for (const type of ALWAYS) this.#listen(type, () => this.soon());
    }

    #listen(type, fn) {
        this.#over.signal.addEventListener('abort', onEvent(type, fn), { once: true });
    }

    /** Asks at once, for something else than before; resolves when it is shown, or not wanted any more. */
    now() {
        this.#wanted = this.#asked + 1;
        return this.#run();
    }

    /** Asks again, soon; what is shown stays until then. */
    async soon(event = null) {
        if (event) this.#events.push(event);
        if (this.#pausing) return;
        this.#pausing = true;
        await (this.#how.pause ? sleep(this.#how.pause) : painted());
        this.#pausing = false;
        this.#due = true;
        this.#next();
    }

    end() {
        this.#over.abort();
    }

    #next() {
        if (!this.#due || this.#open >= AT_ONCE || this.#over.signal.aborted) return;
        this.#due = false;
        this.#run().catch((error) => this.#fail(error));
    }

    /* What happened is still to be shown: a server that is busy, or whose database is, will be able to tell. */
    async #fail(error) {
        if (!this.#failing) this.#how.fail?.(error);
        this.#failing = error.status === 503;
        if (!this.#failing) return;
        await sleep(AGAIN_MS);
        this.soon();
    }

    async #run() {
        const mine = ++this.#asked;
        const known = new Set(this.#events);
        const wanted = () => mine >= this.#wanted && !this.#over.signal.aborted;
        this.#open++;
        try {
            const answer = await this.#how.ask();
            if (!wanted()) return;
            this.#wanted = mine;
            this.#failing = false;
            this.#events = this.#events.filter((event) => !known.has(event));
            await this.#how.show(answer, [...known]);
        } catch (error) {
            if (wanted()) throw error;
        } finally {
            this.#open--;
            this.#next();
        }
    }
}

const MOST = 200; // rows of one answer

/**
 * The first rows of a list, and on while more(items) says so, however many answers that takes:
 * page({limit, cursor}) gives {items, nextCursor}.
 */
export async function upTo(many, page, more = () => false) {
    const items = [];
    let cursor;
    do {
        const left = many - items.length;
        const answer = await page({ limit: left > 0 ? Math.min(left, MOST) : MOST, cursor });
        items.push(...answer.items);
        cursor = answer.nextCursor;
    } while (cursor && (items.length < many || more(items)));
    return { items, cursor };
}

/*
 * live.js: a turn while it is answered: the events of a session's stream as nodes. What is shown here goes when
 * the session has it.
 */
import { fill, h } from './dom.js';
import { article } from './markdown.js';
import { fold } from './transcript.js';

const REDRAW_MS = 50; // between two redraws of a text, at least

/* ---- a text that grows ------------------------------------------------------------------------ */

/* Where a line begins a block of its own, whatever follows: not in a list, a quote or code. */
const BEGINS = /^[\p{L}#`|]/u;

/** How much of a markdown text is blocks that what follows cannot change. */
export function finishedLength(text) {
    let finished = 0, at = 0, fence = null, blank = false;
    for (const line of text.split('\n')) {
        const [, marks] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
        if (!fence && blank && BEGINS.test(line)) finished = at;
        if (!fence) fence = marks ?? null;
        else if (marks?.startsWith(fence) && line.trim() === marks) fence = null;
        blank = !fence && line.trim() === '';
        at += line.length + 1;
    }
    return finished;
}

/** Markdown that is set while it comes: finished blocks once, the rest again and again. */
class GrowingText {
    #ctx;
    #text = '';
    #set = 0; // how much of it stands in the node for good
    #drawn = 0; // how much of it was drawn
    #drawing = false;

    /** caret: stands where the text goes on. */
    constructor(ctx, caret) {
        this.#ctx = ctx;
        this.caret = caret;
        this.tail = h('div', { class: 'live-tail' });
        this.node = h('div', { class: 'message-text live-text' }, this.tail);
    }

    add(text) {
        this.#text += text;
        this.#draw();
    }

    async #draw() {
        if (this.#drawing) return;
        this.#drawing = true;
        while (this.#drawn < this.#text.length) {
            const pause = new Promise((resolve) => setTimeout(resolve, REDRAW_MS));
            await this.#drawOnce();
            await pause;
        }
        this.#drawing = false;
    }

    async #drawOnce() {
        const text = this.#text;
        const finished = this.#set + finishedLength(text.slice(this.#set));
        const [done, rest] = await Promise.all([text.slice(this.#set, finished), text.slice(finished)].map((part) => this.#nodes(part)));
        this.tail.before(...done);
        fill(this.tail, rest);
        if (this.node === this.caret.text) lastBlock(this.node).append(this.caret);
        this.#set = finished;
        this.#drawn = text.length;
    }

    async #nodes(text) {
        if (text.trim() === '') return [];
        try {
            const { nodes } = await this.#ctx.call('markdown.render', { content: text });
            return [article(nodes)];
        } catch {
            return [h('p', { class: 'message-plain' }, text)]; // as it came
        }
    }
}

const BLOCKS = 'article, div, p, ul, ol, li, blockquote, pre, h1, h2, h3, h4, h5, h6';

/* Where the text ends. */
function lastBlock(node) {
    for (;;) {
        const last = [...node.children].findLast((child) => child.matches(BLOCKS) && child.childNodes.length > 0);
        if (!last) return node.matches('pre') ? node.lastElementChild ?? node : node;
        node = last;
    }
}

/* ---- a turn ----------------------------------------------------------------------------------- */

/** began: whether its beginning was heard, and not only what came later. */
export class LiveTurn {
    #ctx;
    #text = null; // that grows
    #thinking = null;
    #tools = new Map();

    constructor(ctx, { began }) {
        this.#ctx = ctx;
        this.began = began;
        this.over = false; // it ended, and the session has all of it
        this.known = false; // what is shown of the session is from after its beginning
        this.body = h('div', { class: 'message-body' });
        this.caret = h('span', { class: 'live-caret', role: 'img', 'aria-label': 'Writing' });
        this.node = h('li', { class: 'message assistant live', 'aria-busy': 'true', hidden: began }, this.body, this.caret);
        if (!began) this.#add(h('p', { class: 'small muted' }, 'The beginning of this answer is shown when it is complete.'));
    }

    #add(node) {
        this.#text = this.#thinking = this.caret.text = null;
        this.body.append(node);
        if (!this.over) this.node.append(this.caret);
    }

    take(event) {
        this[`take_${event.type}`]?.(event);
    }

    take_text_delta({ text }) {
        if (!this.#text) {
            const growing = new GrowingText(this.#ctx, this.caret);
            this.#add(growing.node);
            this.caret.text = growing.node;
            this.#text = growing;
        }
        this.#text.add(text);
    }

    take_thinking_delta({ thinking }) {
        if (!this.#thinking) {
            const text = h('pre', { tabindex: '0', role: 'group', 'aria-label': 'Thoughts' });
            this.#add(h('details', { class: 'fold' }, h('summary', h('span', { class: 'fold-name' }, 'Thinking')), text));
            this.#thinking = text;
        }
        this.#thinking.append(thinking);
    }

    take_tool_start({ toolCallId, toolName, args }) {
        const node = fold({ name: toolName, input: args, state: 'running' });
        this.#tools.set(toolCallId, { node, args });
        this.#add(node);
    }

    take_tool_end({ toolCallId, toolName, ok, durationMs, result = '' }) {
        const { node, args } = this.#tools.get(toolCallId) ?? {};
        const ended = fold({ name: toolName, input: args ?? null, result, failed: !ok, durationMs, open: node?.open });
        if (node) node.replaceWith(ended);
        else this.#add(ended);
    }

    take_notification({ message }) {
        this.#add(h('p', { class: 'small muted' }, message));
    }

    /** What is shown of the session goes up to here: until then, some of this stands there. */
    join() {
        this.known = true;
        this.node.hidden = false;
    }

    /** It ended, and the session has all of it. */
    end() {
        this.over = true;
        this.caret.remove();
        this.node.removeAttribute('aria-busy');
    }
}

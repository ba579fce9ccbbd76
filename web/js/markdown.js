/*
 * markdown.js: the nodes of markdown.render as DOM. Everything is text or one of the elements below;
 * addresses are checked again here, pictures are named and never loaded.
 */
import { h } from './dom.js';
import { texts } from './given.js';
import { icon } from './icons.js';

const CACHE = 24; // rendered texts that are kept
const cache = new Map(texts);

/** Nodes of a text, asked of the server once. */
export async function render(ctx, content) {
    if (cache.has(content)) return cache.get(content);
    const answer = ctx.call('markdown.render', { content }).then(({ nodes }) => nodes);
    cache.set(content, answer);
    answer.catch(() => cache.delete(content));
    if (cache.size > CACHE) cache.delete(cache.keys().next().value);
    return answer;
}

/** An <article> of a text. link(href) may give a place in the dashboard for a relative address. */
export async function markdown(ctx, content, options = {}) {
    return article(await render(ctx, content), { link: noteLinks(ctx), ...options });
}

/** Places of notes: for addresses like "running-the-tests.md". */
export const noteLinks = (ctx) => (href) =>
    /^[\w.-]+\.md$/.test(href) ? ctx.href(`notes/${href}`) : null;

/** lines: mark blocks with the source line they begin at, for blame. */
export function article(
    nodes,
    { link = () => null, lines = false, level = 3, className = '' } = {},
) {
    const maker = new Maker(link, lines, level);
    return h(
        'article',
        { class: `prose ${className}`, dir: 'auto' },
        nodes.map((node) => maker.node(node)),
    );
}

const INLINE = {
    em: 'em',
    strong: 'strong',
    del: 'del',
    'code-span': 'code',
    thead: 'thead',
    tbody: 'tbody',
};

class Maker {
    #open = []; // levels of the headings that are open: none is skipped, whatever the text does

    constructor(link, lines, level) {
        this.link = link;
        this.lines = lines;
        this.level = level;
    }

    node(node, parent = null) {
        if (typeof node === 'string') return node;
        const make = this[`make_${node.t.replace('-', '_')}`];
        if (make) return make.call(this, node, parent);
        return INLINE[node.t]
            ? h(INLINE[node.t], this.children(node))
            : h('span', this.children(node));
    }

    children(node) {
        return (node.c ?? []).map((child) => this.node(child, node));
    }

    /* A block that can tell where it came from. */
    block(node, props = {}) {
        if (!this.lines || !node.line) return props;
        return {
            ...props,
            class: `blk ${props.class ?? ''}`,
            tabindex: '-1',
            data: { line: node.line },
        };
    }

    make_p(node, parent) {
        const own = !(
            parent &&
            ['li', 'quote'].includes(parent.t) &&
            parent.line === node.line &&
            parent.t === 'li'
        );
        return h(
            'p',
            own ? this.block(node, { dir: 'auto' }) : { dir: 'auto' },
            this.children(node),
        );
    }

    make_h(node) {
        const level = Math.min(Math.max(node.level ?? 1, 1), 6);
        while (this.#open.length && this.#open.at(-1) >= level) this.#open.pop();
        this.#open.push(level);
        const depth = Math.min(this.level + this.#open.length - 1, 6);
        return h(
            `h${depth}`,
            this.block(node, { class: `md-h md-h${Math.min(level, 4)}`, dir: 'auto' }),
            this.children(node),
        );
    }

    make_ul(node) {
        return h('ul', this.children(node));
    }

    make_ol(node) {
        return h(
            'ol',
            { start: node.start !== undefined && node.start !== 1 ? node.start : null },
            this.children(node),
        );
    }

    make_li(node) {
        if (node.checked === undefined || node.checked === null)
            return h('li', this.block(node, { dir: 'auto' }), this.children(node));
        const done = Boolean(node.checked);
        return h(
            'li',
            this.block(node, { class: 'task', dir: 'auto' }),
            h(
                'span',
                { class: 'box', role: 'img', 'aria-label': done ? 'done' : 'open' },
                done ? icon('check', 14) : '☐',
            ),
            h('div', { class: done ? 'task-done' : null }, this.children(node)),
        );
    }

    make_code(node) {
        return h(
            'pre',
            {
                ...this.block(node),
                tabindex: '0',
                'aria-label': node.lang ? `Code, ${node.lang}` : 'Code',
                role: 'group',
            },
            h('code', this.children(node)),
        );
    }

    make_quote(node) {
        return h('blockquote', this.children(node));
    }

    make_hr() {
        return h('hr');
    }

    make_br() {
        return h('br');
    }

    make_table(node) {
        return h(
            'div',
            { class: 'table-wrap', tabindex: '0', role: 'group', 'aria-label': 'Table' },
            h('table', this.children(node)),
        );
    }

    make_tr(node) {
        return h('tr', this.block(node), this.children(node));
    }

    make_th(node) {
        const empty = (node.c ?? []).length === 0;
        return h(
            empty ? 'td' : 'th',
            this.cell(node, empty ? {} : { scope: 'col' }),
            this.children(node),
        );
    }

    make_td(node) {
        return h('td', this.cell(node, {}), this.children(node));
    }

    cell(node, props) {
        return {
            ...props,
            class: ['right', 'center'].includes(node.align) ? `align-${node.align}` : null,
            dir: 'auto',
        };
    }

    /* The head of a note: settings, not prose. */
    make_front(node) {
        return h(
            'pre',
            { class: 'front', tabindex: '0', role: 'group', 'aria-label': 'Head of the note' },
            this.children(node),
        );
    }

    /* Invisible characters, and those that reorder text, by their numbers. */
    make_hidden(node) {
        return h('span', { class: 'unseen', title: 'invisible character' }, node.c);
    }

    make_a(node) {
        const place = this.link(
            node.note ? `${node.note.replace(/\.md$/, '')}.md` : (node.href ?? ''),
        );
        if (place) return h('a', { href: place, title: node.title }, this.children(node));
        if (!/^(https?:\/\/|mailto:)/i.test(node.href ?? ''))
            return h('span', { class: 'picture', title: node.href }, this.children(node));
        return h(
            'a',
            {
                href: node.href,
                title: node.title ?? node.href,
                target: '_blank',
                rel: 'noopener noreferrer',
            },
            this.children(node),
        );
    }

    make_img(node) {
        const words = node.alt ?? (node.c ?? []).filter((c) => typeof c === 'string').join('');
        return h(
            'span',
            { class: 'picture', title: node.href },
            '[picture',
            words ? `: ${words}` : '',
            ']',
        );
    }
}

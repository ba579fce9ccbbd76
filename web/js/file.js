/*
 * file.js: one file of memory, to read: its head, its text, where lines came from, what just changed.
 */
import { explain } from './client.js';
import { $$, fill, h } from './dom.js';
import { count, dayClock, linesOf, who } from './format.js';
import { cutLines, cutWords, LABELS, storeOf } from './gauge.js';
import { article, noteLinks, render } from './markdown.js';
import { button, copyable, empty, linkButton, notice, skeleton, time } from './ui.js';
import { Draft } from './state.js';

const FRESH_MS = 12e3; // how long new lines stay marked
const PART = 100; // lines of source that are laid out together, when they come near

const EMPTY = {
    user: [
        'Nothing about you yet. Agents read this before every answer.',
        "ethos memory add --store user 'Prefers short answers'",
    ],
    memory: ['Nothing remembered yet.', "ethos memory add 'We deploy on Fridays'"],
    workspace: ['This workspace has no notes yet.', "ethos remember 'Tests need a running Redis'"],
};

/** "USER.md" of "/home/ann/.ethos/users/ab12/USER.md" with the folders that tell whose it is. */
const shortPath = (path, home) =>
    home && path.startsWith(`${home}/`) ? path.slice(home.length + 1) : path;

/**
 * That there is a draft of a file; null: there is none. changed() is called when it was thrown away, or
 * came back.
 */
export function draftNotice(ctx, file, { edit, changed }) {
    const draft = new Draft(file);
    const { kept } = draft;
    if (!kept) return null;
    const discard = () => {
        draft.drop();
        changed();
        ctx.toast('Draft discarded', {
            action: 'Bring it back',
            run: () => {
                draft.keep(kept);
                changed();
            },
        });
    };
    return notice(
        'info',
        `You have a draft from ${dayClock(kept.time)} that is not saved.`,
        linkButton('Continue', edit),
        linkButton('Discard', discard),
    );
}

export class FilePane {
    constructor(ctx, file, data, { edit }) {
        this.ctx = ctx;
        this.file = file;
        this.data = data;
        this.edit = edit;
        this.store = storeOf(file);
        this.changed = h('span', { class: 'file-changed' });
        this.path = h('span', { class: 'file-path' });
        this.notices = h('div', { class: 'file-notices' });
        this.body = h('div', { class: 'file-body' }, skeleton());
        this.blame = null; // a promise, from when there are lines to ask about
        this.late = false; // what can come after the text is wanted
        this.node = h(
            'section',
            {
                class: 'file',
                id: `file-${this.store}`,
                'aria-label': LABELS[this.store],
                data: { store: this.store },
            },
            h(
                'header',
                { class: 'file-head' },
                h(
                    'div',
                    { class: 'spread' },
                    h('h2', { class: 'lead' }, LABELS[this.store]),
                    file.error
                        ? null
                        : button({
                              label: 'Edit',
                              icon: 'edit',
                              kind: 'quiet',
                              run: edit,
                              title: 'Edit (e)',
                              'aria-label': `Edit ${LABELS[this.store]}`,
                          }),
                ),
                h('div', { class: 'file-facts small muted' }, this.changed, this.path),
            ),
            this.notices,
            this.body,
        );
    }

    /** Draws everything; view is 'read' or 'source'. Gives a promise: of the text. */
    async paint(view, fresh = new Set()) {
        this.view = view;
        const text = this.file.content;
        const making = this.text(view); // first: the text is what people wait for
        this.paintHead();
        const made = await making;
        const blame = await this.blame?.catch(() => null);
        if (this.file.content !== text || this.view !== view) return;
        const card = blame?.take();
        const keep = this.body.contains(document.activeElement)
            ? document.activeElement.closest('.blk')?.dataset.line
            : null;
        fill(this.body, made);
        this.mark(fresh);
        if (keep) this.at(Number(keep))?.focus({ preventScroll: true });
        if (card) blame.giveBack(card);
    }

    async text(view) {
        const { error, content } = this.file;
        if (error) return notice('danger', error.message);
        if (!content.trim()) return this.nothing();
        if (view === 'source') return this.source(content);
        try {
            const options = { lines: true, link: noteLinks(this.ctx) };
            return article(await render(this.ctx, content), options);
        } catch (error) {
            if (error.name === 'AbortError') throw error;
            const why = `This is the source: ${explain(error).what}`;
            return [h('p', { class: 'small muted' }, why), this.source(content)]; // the words at least
        }
    }

    /** What can come after the text: a draft of it, who wrote it, and where each line came from. */
    complete() {
        this.late = true;
        this.paintHead();
        this.paintChange();
        this.blame ??= import('./blame.js').then(
            ({ Blame }) => new Blame(this.ctx, this.body, () => this.file),
        );
    }

    /** Where a block came from, with the focus there; its last change undone. */
    ask = async (block) => (await this.blame)?.enter(block);
    undo = async (block) => (await this.blame)?.undoBlock(block);

    nothing() {
        const [words, line] = EMPTY[this.store];
        return empty(words, line, h('p', 'or ', linkButton('write it here', this.edit), '.'));
    }

    source(text) {
        const lines = linesOf(text).map((line, i) =>
            h(
                'div',
                { class: 'src blk', tabindex: '-1', data: { line: i + 1 } },
                h('span', { class: 'src-n', 'aria-hidden': 'true' }, String(i + 1)),
                h('span', { class: 'src-text', dir: 'auto' }, line || ' '),
            ),
        );
        const parts = [];
        for (let i = 0; i < lines.length; i += PART)
            parts.push(h('div', { class: 'src-part' }, lines.slice(i, i + PART)));
        return h('div', { class: 'source', role: 'group', 'aria-label': 'Source' }, parts);
    }

    /* Blocks that prefetch cuts, and blocks that just came. */
    mark(fresh) {
        const cut = cutLines(this.file);
        const blocks = $$('.blk', this.body);
        blocks.forEach((block, i) => {
            const first = Number(block.dataset.line),
                last = blocks[i + 1] ? Number(blocks[i + 1].dataset.line) - 1 : Infinity;
            if (first <= cut) block.classList.add('cut');
            for (const line of fresh)
                if (line >= first && line <= last) block.classList.add('fresh');
        });
        if (blocks[0]) blocks[0].tabIndex = 0;
        if (fresh.size)
            setTimeout(() => {
                for (const block of $$('.fresh', this.body)) block.classList.remove('fresh');
            }, FRESH_MS);
    }

    paintHead() {
        const { file } = this;
        this.ctx.home.then(
            ({ home }) =>
                fill(
                    this.path,
                    file.path
                        ? copyable(file.path, 'Copy the path', shortPath(file.path, home))
                        : null,
                ),
            () => {},
        );
        const cut = cutWords(this.data, file);
        fill(
            this.notices,
            cut.length
                ? notice(
                      'warning',
                      cut.map((words) => h('p', words)),
                  )
                : null,
            this.late
                ? draftNotice(this.ctx, file, { edit: this.edit, changed: () => this.paintHead() })
                : null,
        );
    }

    async paintChange() {
        const { scope, key, revision, chars } = this.file;
        const size = h('span', { class: 'num' }, `${count(chars ?? 0)} characters`);
        if (this.file.knownAt)
            return void fill(this.changed, 'memory is out of reach; as known ', time(this.file.knownAt));
        if (!revision) return void fill(this.changed, 'not written yet');
        if (this.last?.after !== revision) {
            if (!this.last) fill(this.changed, size);
            const rows = await this.ctx.call('memory.timeline', { scope, key, limit: 1 }).then(
                (answer) => answer.items,
                () => [],
            );
            this.last = rows[0];
        }
        if (this.file.revision !== revision) return;
        fill(
            this.changed,
            this.last
                ? h(
                      'a',
                      { class: 'quiet-link', href: this.ctx.href('timeline', { scope, key }) },
                      time(this.last.time),
                      ` by ${who(this.last)}`,
                  )
                : time(this.file.modifiedAt),
            h('span', { 'aria-hidden': 'true' }, ' · '),
            size,
        );
    }

    /** The file as it is now. Marks what came. */
    async update(file, data) {
        const before = this.file;
        this.data = data;
        this.file = file;
        if (before.revision === file.revision) {
            if (before.knownAt !== file.knownAt) this.paintChange();
            return void this.paintHead();
        }
        const { freshLines } = await import('./diff.js');
        if (this.file.revision !== file.revision) return; // a later text came meanwhile
        await this.paint(
            this.view,
            before.error || file.error ? new Set() : freshLines(before.content, file.content),
        );
        this.complete();
    }

    /** The block that holds a line. */
    at(line) {
        const blocks = $$('.blk', this.body).filter((block) => Number(block.dataset.line) <= line);
        return blocks.at(-1) ?? null;
    }

    show(line) {
        const block = this.at(line);
        if (!block) return;
        block.focus({ preventScroll: true });
        block.scrollIntoView({ block: 'center' });
        block.classList.add('found');
        setTimeout(() => block.classList.remove('found'), 3000);
    }
}

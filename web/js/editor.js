/*
 * editor.js: a file as source, with its preview beside it. What is typed is kept as a draft at once; it is
 * saved with the text it was made from, so that nothing written meanwhile is overwritten.
 */
import { explain } from './client.js';
import { confirm } from './dialog.js';
import { around, diffView, lineDiff, movedTo, tally, withLineEnds } from './diff.js';
import { fill, h, refill } from './dom.js';
import { clock, count, dayClock, who } from './format.js';
import { markdown } from './markdown.js';
import { mergeDialog } from './merge.js';
import { Draft } from './state.js';
import { button, linkButton, notice, problem, segmented } from './ui.js';

const PREVIEW_MS = 180;
const ROUNDS = 20; // that an agreed merge goes on by itself while others write
const NO_DRAFT = 'Changes are saved as a draft';
const ONLY_HERE = 'This browser does not save drafts: save before you leave';

export class Editor {
    /** file: as memory.list gives it; done(saved) is called at the end. */
    constructor(ctx, file, done) {
        this.draft = new Draft(file);
        const draft = this.draft.kept;
        this.ctx = ctx;
        this.file = file;
        this.done = done;
        this.base = draft?.base ?? file.content;
        this.revision = draft ? draft.revision : file.revision;
        this.theirs = null;
        this.sent = null; // what is being saved
        this.rounds = 0; // left, since the person agreed to a merge
        this.unkept = false; // the draft is in this window only
        this.over = new AbortController();
        this.build(draft);
        this.changed(file);
    }

    build(draft) {
        this.area = h('textarea', {
            class: 'editor-source',
            'aria-label': `Text of ${this.file.key}`,
            spellcheck: 'true',
            dir: 'auto',
            value: draft?.text ?? this.file.content,
            autocapitalize: 'off',
            on: { input: () => this.typed(), keydown: (event) => this.key(event) },
        });
        this.preview = h('div', {
            class: 'editor-preview',
            'aria-label': 'Preview',
            role: 'region',
            tabindex: '0',
        });
        this.status = h(
            'span',
            { class: 'small muted', role: 'status' },
            draft ? `Your draft of ${dayClock(draft.time)}` : NO_DRAFT,
        );
        this.news = h('div', { class: 'editor-news' });
        this.size = h('span', { class: 'small muted num editor-size' });
        this.panes = h(
            'div',
            { class: 'editor-panes', data: { show: 'source' } },
            this.area,
            this.preview,
        );
        this.saveButton = button({
            label: 'Save',
            kind: 'primary',
            key: 'Ctrl S',
            run: () => this.save(),
        });
        this.node = h(
            'section',
            { class: 'editor', 'aria-label': `Editing ${this.file.key}` },
            h(
                'div',
                { class: 'editor-lid' },
                h(
                    'div',
                    { class: 'spread editor-head' },
                    h(
                        'div',
                        { class: 'cluster' },
                        h('h2', { class: 'lead' }, this.file.label),
                        this.status,
                        this.size,
                    ),
                    h(
                        'div',
                        { class: 'cluster' },
                        h(
                            'div',
                            { class: 'editor-switch' },
                            segmented(
                                'Show',
                                [
                                    { value: 'source', label: 'Write' },
                                    { value: 'preview', label: 'Preview' },
                                ],
                                'source',
                                (value) => {
                                    this.panes.dataset.show = value;
                                },
                            ),
                        ),
                        button({ label: 'Discard', kind: 'quiet', run: () => this.discard() }),
                        button({
                            label: 'Close',
                            run: () => this.leave(),
                            title: 'The draft stays (Esc)',
                        }),
                        this.saveButton,
                    ),
                ),
                this.news,
            ),
            this.panes,
        );
        this.paint();
    }

    /* The page may come to be seen later than this: then it is as tall as its text, and has the focus. */
    start() {
        let width = 0;
        new ResizeObserver(() => {
            const { clientWidth } = this.area;
            if (clientWidth === width) return;
            if (width === 0) this.area.focus({ preventScroll: true });
            width = clientWidth;
            this.grow();
        }).observe(this.area);
        this.area.focus({ preventScroll: true });
        addEventListener('pagehide', () => this.keep(), { signal: this.over.signal });
    }

    /** The draft stays; unless it was saved or discarded. */
    close() {
        if (this.over.signal.aborted) return;
        this.keep();
        this.end();
    }

    end() {
        clearTimeout(this.keeping);
        clearTimeout(this.painting);
        this.over.abort();
    }

    /* What is to be saved. A text area knows one end of lines only; the file may have others. */
    get text() {
        return withLineEnds(this.base, this.area.value);
    }

    get dirty() {
        return this.text !== this.base;
    }

    typed() {
        this.grow();
        clearTimeout(this.keeping);
        this.keeping = setTimeout(() => this.keep(), 250);
        clearTimeout(this.painting);
        this.painting = setTimeout(() => this.paint(), PREVIEW_MS);
    }

    keep() {
        clearTimeout(this.keeping);
        const { text, base, revision } = this;
        this.unkept = text !== base && !this.draft.keep({ text, base, revision });
        if (text === base) this.draft.drop();
        this.status.textContent =
            text === base ? NO_DRAFT : this.unkept ? ONLY_HERE : `Draft kept ${clock(Date.now())}`;
    }

    /* The area is as tall as its text; the page scrolls, not the box. */
    grow() {
        this.area.style.height = 'auto';
        this.area.style.height = `${Math.max(this.area.scrollHeight + 2, 360)}px`;
    }

    async paint() {
        const text = this.area.value;
        this.size.textContent = `${count(text.length)} characters`;
        try {
            const article = await markdown(this.ctx, text);
            if (this.area.value === text)
                fill(
                    this.preview,
                    text.trim() ? article : h('p', { class: 'faint' }, 'Nothing written yet.'),
                );
        } catch (error) {
            if (error.name !== 'AbortError')
                fill(
                    this.preview,
                    h(
                        'p',
                        { class: 'faint small' },
                        error.code === 'NETWORK'
                            ? 'There is no preview while the server is unreachable.'
                            : `No preview: ${explain(error).what}`,
                    ),
                );
        }
    }

    key(event) {
        if (event.key === 'Escape') {
            event.stopPropagation();
            this.leave();
        } else if (event.key === 'Tab' && !event.shiftKey && this.indents()) {
            event.preventDefault();
            document.execCommand('insertText', false, '    '); // keeps the browser's own undo
        }
    }

    /* Tab moves on, except inside a line that is being indented: keyboard users must get out. */
    indents() {
        const { selectionStart: at, value } = this.area;
        const line = value.slice(value.lastIndexOf('\n', at - 1) + 1, at);
        return line !== '' && /^\s*([-*+]|\d+\.)?\s*$/.test(line);
    }

    /** The file as it is now, and what changed it. */
    changed(file, change) {
        if (file.content === this.sent) return; // by us
        if (file.content === this.text) this.base = file.content; // also when a save's answer did not come
        const same = file.content === this.base;
        if (same) this.revision = file.revision;
        this.theirs = same ? null : file;
        this.by = change ? who(change) : null;
        if (!this.dirty) this.keep();
        this.tellNews();
    }

    tellNews() {
        if (!this.theirs) return void fill(this.news);
        const by = this.by ? ` (${this.by})` : '';
        if (!this.theirs.revision)
            return void fill(
                this.news,
                notice(
                    'warning',
                    `${this.file.key} was removed meanwhile${by}. Saving makes it anew, with your text.`,
                ),
            );
        const { added, removed } = tally(lineDiff(this.base, this.theirs.content));
        refill(
            this.news,
            notice(
                'info',
                `${this.file.key} changed meanwhile${by}: +${added} −${removed}. Saving brings both together.`,
                linkButton('Show', () => this.showNews()),
                linkButton('Merge now', () => (this.dirty ? this.save() : this.take())),
            ),
        );
    }

    showNews() {
        return confirm({
            title: 'What changed in the file',
            wide: true,
            action: 'Close',
            body: diffView(around(lineDiff(this.base, this.theirs.content))),
        });
    }

    /* Nothing of ours: theirs is the text. */
    take() {
        this.rebase(this.theirs, this.theirs.content);
    }

    rebase(file, text) {
        this.base = file.content;
        this.revision = file.revision;
        this.theirs = null;
        this.put(text);
        this.typed();
        this.tellNews();
    }

    /* Whoever types meanwhile goes on in the line where they were, not at the end. */
    put(text) {
        const { value, selectionStart, selectionEnd, selectionDirection } = this.area;
        const next = text.replace(/\r\n?/g, '\n');
        if (next === value) return;
        const rows = lineDiff(value, next);
        this.area.value = next;
        this.area.setSelectionRange(
            movedTo(rows, selectionStart),
            movedTo(rows, selectionEnd),
            selectionDirection,
        );
    }

    /*
     * True when the text now is one that can be saved over the file. Who agreed to a merge is not asked again
     * because an agent wrote another line meanwhile, unless both changed the same place: else nobody could save
     * while an agent writes.
     */
    async merge() {
        const { theirs } = this;
        if (!theirs.revision) return this.anew();
        const merged = await mergeDialog(this.ctx, {
            title: this.file.key,
            base: this.base,
            yours: () => this.text,
            theirs: theirs.content,
            by: this.by,
            agreed: this.rounds > 0,
        });
        this.rounds = this.rounds > 0 ? this.rounds - 1 : ROUNDS;
        if (merged === undefined) return false;
        this.rebase(theirs, merged);
        this.keep();
        return true;
    }

    /* Nothing of theirs is there to be brought together: all of yours, or nothing. The base stays: it knows
     * how lines end. */
    async anew() {
        const sure = await confirm({
            title: `Make ${this.file.key} anew?`,
            action: 'Make it anew',
            wide: true,
            body: [
                h('p', 'The file was deleted while you were writing. This would be its text:'),
                diffView(around(lineDiff('', this.text))),
            ],
        });
        if (sure) this.revision = null;
        return sure;
    }

    async fresh() {
        return this.ctx.own('memory.get', { scope: this.file.scope, key: this.file.key });
    }

    /** Once at a time: who presses twice means it once. */
    async save() {
        if (this.saveButton.disabled) return;
        this.saveButton.disabled = true;
        this.rounds = 0;
        await this.attempt();
        this.saveButton.disabled = false;
    }

    async attempt() {
        this.keep();
        if (!this.dirty) return this.finish(false);
        try {
            this.changed({ ...this.file, ...(await this.ctx.busy(this.fresh())) });
            if (this.theirs && !(await this.merge())) return;
            this.sent = this.text;
            if (this.dirty) await this.ctx.busy(this.write());
            this.ctx.toast(`${this.file.key} saved`);
            if (this.text === this.sent) return this.saved();
            await this.goOn();
        } catch (error) {
            await this.refused(error);
        } finally {
            this.sent = null;
        }
    }

    saved() {
        this.draft.drop();
        this.finish(true);
    }

    /* More was typed while it was saved: that is a draft now, made from what was saved. */
    async goOn() {
        this.base = this.sent;
        this.sent = null;
        this.keep();
        this.changed({ ...this.file, ...(await this.ctx.busy(this.fresh())) });
    }

    /* Who closed it while it was saved has gone on. */
    finish(saved) {
        if (this.over.signal.aborted) return;
        this.end();
        this.done(saved);
    }

    write() {
        return this.ctx.call('memory.save', {
            scope: this.file.scope,
            key: this.file.key,
            content: this.sent,
            base: this.revision ? this.base : '',
            ifMatch: this.revision ?? 'absent',
        });
    }

    /* Somebody was faster once more: merged again. Else say what is wrong; the draft is there. */
    async refused(error) {
        if (error.status === 409) {
            try {
                this.sent = null;
                this.changed({ ...this.file, ...(await this.fresh()) });
                if (!this.dirty) return this.saved();
                if (this.theirs) {
                    if (await this.merge()) await this.attempt();
                    return;
                }
            } catch (second) {
                error = second;
            }
        }
        if (error.name !== 'AbortError')
            fill(
                this.news,
                problem(error),
                h(
                    'p',
                    { class: 'small muted' },
                    this.unkept ? `${ONLY_HERE}.` : 'Your text is saved as a draft in this browser.',
                ),
            );
    }

    leave() {
        this.keep();
        this.finish(false);
    }

    async discard() {
        if (
            this.dirty &&
            !(await confirm({
                title: 'Discard this draft?',
                kind: 'danger',
                action: 'Discard it',
                wide: true,
                body: [
                    h('p', 'The file does not change. This draft would be discarded:'),
                    diffView(around(lineDiff(this.base, this.text))),
                ],
            }))
        )
            return;
        this.draft.drop();
        this.finish(false);
    }
}

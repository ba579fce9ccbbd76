/*
 * note.js: one note, to read and to change: what is known of it, its text, what links to it and from it.
 */
import { confirm } from './dialog.js';
import { fill, h } from './dom.js';
import { Editor } from './editor.js';
import { draftNotice } from './file.js';
import { day, moment, plural } from './format.js';
import { icon } from './icons.js';
import { markdown } from './markdown.js';
import { Draft } from './state.js';
import { badge, button, copyable, iconButton, notice, problem, time } from './ui.js';

/** The text without the fields at its top, which the head shows. */
export const bodyOf = (content) => content.replace(/^---\r?\n(?:[^\n]*\n)*?---[ \t]*\r?\n+/, '');

/** A day without a time, in words: "today", "Thursday, 5 November". */
const date = (iso) => day(iso.length === 10 ? `${iso}T12:00` : iso).replace(/^(?:To|Yester)day$/, (word) => word.toLowerCase());

export class NotePane {
    /** how: {scope, row(key), where(), links(), href(key), back(), gone(), holds(event), write(on)}; row is what the list knows of it, where() the scope's name, write() puts into the address whether it is written. */
    constructor(ctx, key, how) {
        Object.assign(this, { ctx, key, how, note: null, editor: null, painted: null });
        this.node = h('div', { class: 'note' });
        this.fresh = ctx.refresh(['note.changed', 'memory.changed'], {
            when: (event) => event.key === key && how.holds(event),
            ask: () => this.read(), show: (note, events) => this.take(note, events.findLast((event) => event.actor)),
            fail: (error) => { if (error.status === 404) this.failed(error); }, // else what is shown stays
        });
    }

    input(more = {}) {
        return { ...this.how.scope, name: this.key, ...more };
    }

    async read() {
        return { ...this.how.row(this.key), ...(await this.ctx.call('notes.get', this.input())) };
    }

    load() {
        return this.fresh.now();
    }

    /** The note as it is now, and what changed it. */
    async take(note, event) {
        this.note = note;
        if (this.editor) this.editor.changed({ ...note }, event);
        else if (note.revision !== this.painted) await this.paint();
    }

    failed(error) {
        if (error.name === 'AbortError') return;
        const gone = error.status === 404;
        if (gone) this.note = { scope: this.how.where(), key: this.key, title: this.key, content: '', revision: null };
        if (this.editor) return gone ? this.editor.changed(this.note) : undefined; // it tells itself
        this.painted = null;
        this.linksNode = this.linking = null;
        fill(this.node, this.backLink(), gone ? [notice('info', 'This note no longer exists.'), this.draftBox = h('div')] : problem(error));
        if (gone) this.paintDraft();
    }

    paintDraft() {
        fill(this.draftBox, draftNotice(this.ctx, this.note, { edit: () => this.edit(), changed: () => this.paintDraft() }));
    }

    backLink() {
        return h('div', { class: 'note-back' }, button({ label: 'All notes', icon: 'previous', kind: 'quiet', run: this.how.back }));
    }

    async paint() {
        const { note } = this;
        const text = await markdown(this.ctx, bodyOf(note.content), { link: (href) => this.link(href) }).catch((error) => {
            if (error.name === 'AbortError') throw error;
            return h('pre', { class: 'prose' }, note.content);
        });
        if (this.editor || this.note !== note) return;
        fill(this.node, this.backLink(), this.headNode(), this.draftBox = h('div'), this.findings(), text, this.linksNode = h('nav', { class: 'note-links', 'aria-label': 'Links of this note' }));
        this.painted = note.revision;
        this.paintDraft();
        this.paintLinks();
    }

    link(href) {
        const match = /^(?:\.\/)?([^/:?#]+\.md)(?:#.*)?$/.exec(href);
        return match ? this.how.href(safeDecode(match[1])) : null;
    }

    headNode() {
        const { note } = this;
        const facts = [
            note.type ? badge(note.type) : null,
            note.listed === false ? badge('not in the index', 'warning', 'warning') : null,
            note.stale ? badge(note.stale, 'warning', 'warning') : null,
            h('a', { class: 'quiet-link', href: this.ctx.href('timeline', { scope: note.scope, key: note.key }) }, 'changed ', time(note.modifiedAt)),
            note.verified ? h('span', { title: note.verified }, `verified ${date(note.verified)}`) : note.created ? h('span', { title: note.created }, `made ${date(note.created)}`) : null,
            note.expires ? h('span', `expires ${note.expires}`) : null,
        ];
        return h('header', { class: 'note-head' },
            h('div', { class: 'spread' }, h('h2', { class: 'lead', dir: 'auto' }, note.title),
                h('div', { class: 'cluster note-actions' },
                    button({ label: 'Edit', icon: 'edit', kind: 'quiet', title: 'Edit (e)', run: () => this.edit() }),
                    button({ label: 'Still true', icon: 'check', kind: 'quiet', title: 'Mark the note as verified today', run: () => this.verify() }),
                    iconButton({ label: 'Delete this note', icon: 'trash', run: () => this.remove() }))),
            note.hook ? h('p', { class: 'note-hook-line muted', dir: 'auto' }, note.hook) : null,
            h('div', { class: 'note-facts small muted' }, facts),
            note.path ? h('div', copyable(note.path, 'Copy the path', note.path.split('/').slice(-1)[0])) : null);
    }

    findings() {
        return (this.note.findings ?? []).map((finding) => notice('warning', finding.line ? `Line ${finding.line}: ${finding.text}` : finding.text));
    }

    async paintLinks() {
        if (!this.linksNode) return; // there is no such note
        const mine = (this.linking = {});
        const { nodes, links } = await this.how.links().catch(() => ({ nodes: [], links: [] }));
        if (this.linking !== mine) return; // a later one knows more
        const titles = new Map(nodes.map((node) => [node.key, node.title]));
        const list = (label, rows) => (rows.length ? h('section', h('h3', { class: 'small muted' }, label), h('ul', rows)) : null);
        const away = (key, broken) => h('li', broken ? h('span', { class: 'muted' }, icon('warning', 14), ` ${key}: no such note`)
            : h('a', { href: this.how.href(key), dir: 'auto' }, titles.get(key) ?? key));
        fill(this.linksNode,
            list('Links to', links.filter((link) => link.from === this.key).map((link) => away(link.to, link.broken))),
            list('Linked from', links.filter((link) => link.to === this.key).map((link) => away(link.from, false))));
    }

    /* ---- changing it -------------------------------------------------------------------------- */

    edit() {
        if (this.writable()) this.how.write(true);
    }

    /* Of a note that is gone, a draft may be left. */
    writable() {
        return this.note && (this.note.revision || new Draft(this.note).kept);
    }

    /** As the address says. */
    setEditing(on) {
        if (on && !this.editor && this.writable()) this.startEdit();
        else if (!on && this.editor) return this.endEdit();
    }

    startEdit() {
        const { scope, key, content, revision, title } = this.note;
        this.editor = new Editor(this.ctx, { scope, key, content, revision, label: title }, () => this.how.write(false));
        this.painted = null;
        fill(this.node, this.editor.node);
        this.node.closest('.page')?.classList.add('editing');
        this.editor.start();
    }

    async endEdit() {
        this.editor.close();
        this.editor = null;
        this.node.closest('.page')?.classList.remove('editing');
        await this.load().catch((error) => this.failed(error));
        this.node.querySelector('.note-actions button')?.focus({ preventScroll: true });
    }

    close() {
        this.fresh.end();
        this.editor?.close();
        this.node.closest('.page')?.classList.remove('editing');
    }

    async verify() {
        try {
            const report = await this.ctx.busy(this.ctx.call('notes.check', this.input({ confirm: true })));
            const open = report.findings?.length ?? 0;
            this.ctx.toast(open ? `Verified today; ${plural(open, 'finding')} left.` : 'Verified today.');
            await this.load();
        } catch (error) {
            this.ctx.fail(error);
        }
    }

    async remove() {
        const { note } = this;
        const sure = await confirm({
            title: `Delete “${note.title}”?`, action: 'Delete it', kind: 'danger',
            body: [h('p', 'The file and its line in the index are deleted. The history stays: you can restore the note from the timeline.'), h('p', { class: 'small muted' }, `${note.key}, last changed ${moment(note.modifiedAt)}`)],
            run: () => this.ctx.call('notes.remove', this.input({ ifMatch: note.revision })),
        });
        if (!sure) return;
        this.ctx.toast('Deleted. The timeline keeps it.');
        this.how.gone();
    }
}

function safeDecode(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}


/*
 * scrubber.js: a file through time: a slider over its versions, and the text as it was.
 */
import { restoreVersion } from './change.js';
import { around, diffView, lineDiff } from './diff.js';
import { fill, h } from './dom.js';
import { fileLabel, moment, scopeLabel, who } from './format.js';
import { markdown } from './markdown.js';
import { button, iconButton, problem, segmented } from './ui.js';

const VERSIONS = 200;

export class Scrubber {
    /** moved(revision): the person chose another version. */
    constructor(ctx, { scope, key, revision, moved, close }) {
        Object.assign(this, { ctx, scope, key, moved, view: 'text', versions: [], index: 0 });
        this.slider = h('input', {
            type: 'range',
            class: 'scrub',
            min: 0,
            max: 0,
            value: 0,
            'aria-label': 'Version',
            on: { input: () => this.choose(Number(this.slider.value)) },
        });
        this.when = h('p', { class: 'small', role: 'status' });
        this.body = h('div', { class: 'scrub-text' });
        this.actions = h('div', { class: 'cluster' });
        this.node = h(
            'div',
            { class: 'stack' },
            h(
                'div',
                { class: 'spread aside-head' },
                h('h2', { class: 'lead' }, `${fileLabel(scope, key)} as it was`),
                iconButton({ label: 'Close', icon: 'close', run: close }),
            ),
            h('p', { class: 'small muted' }, `${key} of ${scopeLabel(scope)}`),
            h(
                'div',
                { class: 'scrub-line' },
                iconButton({
                    label: 'Earlier version',
                    icon: 'previous',
                    run: () => this.step(-1),
                }),
                this.slider,
                iconButton({ label: 'Later version', icon: 'next', run: () => this.step(1) }),
            ),
            this.when,
            h(
                'div',
                { class: 'spread' },
                segmented(
                    'Show',
                    [
                        { value: 'text', label: 'The text' },
                        { value: 'diff', label: 'Against now' },
                    ],
                    'text',
                    (value) => {
                        this.view = value;
                        this.paint();
                    },
                ),
                this.actions,
            ),
            this.body,
        );
        this.fresh = ctx.refresh(['memory.changed', 'note.changed'], {
            when: (event) => event.scope === scope && event.key === key,
            ask: () => ctx.call('memory.timeline', { scope, key, limit: VERSIONS }),
            show: ({ items }) => this.take(items),
        });
        this.chosen = revision;
        this.fresh.now().catch((error) => {
            if (error.name !== 'AbortError') fill(this.body, problem(error));
        });
    }

    end() {
        this.fresh.end();
    }

    is(scope, key) {
        return this.scope === scope && this.key === key;
    }

    /* There may be more of them than before: the version that is shown stays. */
    take(items) {
        const number = this.versions[this.index]?.number;
        this.versions = items.filter((row) => row.after).reverse();
        this.slider.max = Math.max(this.versions.length - 1, 0);
        const at = this.versions.findIndex((row) => row.number === number);
        if (at < 0) return this.go(this.chosen);
        this.move(at);
    }

    /** To a version by its revision; the newest of that text. */
    go(revision) {
        this.chosen = revision;
        if (this.versions[this.index]?.after === revision && this.painting) return;
        const at = this.versions.findLastIndex((row) => row.after === revision);
        this.move(Math.max(at < 0 ? this.versions.length - 1 : at, 0));
    }

    move(index) {
        this.index = index;
        this.slider.value = index;
        this.paint();
    }

    step(by) {
        this.choose(Math.min(Math.max(this.index + by, 0), this.versions.length - 1));
    }

    choose(index) {
        if (!this.versions[index]) return; // they are not known yet
        this.move(index);
        clearTimeout(this.telling);
        this.telling = setTimeout(() => this.moved(this.versions[this.index].after), 250);
    }

    async paint() {
        const version = this.versions[this.index];
        if (!version)
            return void fill(this.body, h('p', { class: 'muted' }, 'No version is known.'));
        const mine = (this.painting = {});
        const words = `${moment(version.time)}, ${who(version)} (${this.index + 1} of ${this.versions.length})`;
        this.slider.setAttribute('aria-valuetext', words);
        this.when.textContent = words;
        const newest = this.index === this.versions.length - 1;
        fill(
            this.actions,
            button({
                label: 'Restore',
                icon: 'restore',
                kind: 'small',
                disabled: newest,
                run: () =>
                    restoreVersion(this.ctx, {
                        scope: this.scope,
                        key: this.key,
                        revision: version.after,
                        time: version.time,
                    }),
            }),
        );
        try {
            const then = await this.text(version.after);
            const node =
                this.view === 'diff'
                    ? diffView(around(lineDiff(then, await this.text(null))), {
                          label: 'Changes from this version to the current file',
                      })
                    : then.trim()
                      ? await markdown(this.ctx, then)
                      : h('p', { class: 'faint' }, 'The file was empty.');
            if (this.painting === mine) fill(this.body, node);
        } catch (error) {
            if (this.painting === mine && error.name !== 'AbortError')
                fill(this.body, problem(error));
        }
    }

    async text(revision) {
        this.texts ??= new Map();
        if (revision && this.texts.has(revision)) return this.texts.get(revision);
        const { content } = await this.ctx.own('memory.get', {
            scope: this.scope,
            key: this.key,
            ...(revision ? { at: revision } : {}),
        });
        if (revision) this.texts.set(revision, content);
        return content;
    }
}

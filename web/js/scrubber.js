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
        this.load(revision);
    }

    is(scope, key) {
        return this.scope === scope && this.key === key;
    }

    async load(revision) {
        try {
            const { items } = await this.ctx.call('memory.timeline', {
                scope: this.scope,
                key: this.key,
                limit: VERSIONS,
            });
            this.versions = items.filter((row) => row.after).reverse();
            this.slider.max = Math.max(this.versions.length - 1, 0);
            this.go(revision);
        } catch (error) {
            if (error.name !== 'AbortError') fill(this.body, problem(error));
        }
    }

    /** To a version by its revision; the newest of that text. */
    go(revision) {
        const at = this.versions.findLastIndex((row) => row.after === revision);
        const next = at < 0 ? this.versions.length - 1 : at;
        if (this.versions[this.index]?.after === revision && this.shown === revision) return;
        this.index = Math.max(next, 0);
        this.slider.value = this.index;
        this.paint();
    }

    step(by) {
        this.choose(Math.min(Math.max(this.index + by, 0), this.versions.length - 1));
    }

    choose(index) {
        this.index = index;
        this.slider.value = index;
        this.paint();
        clearTimeout(this.telling);
        this.telling = setTimeout(() => this.moved(this.versions[this.index].after), 250);
    }

    async paint() {
        const version = this.versions[this.index];
        if (!version)
            return void fill(this.body, h('p', { class: 'muted' }, 'No version of it is known.'));
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
                          label: 'From this version to the file as it is',
                      })
                    : then.trim()
                      ? await markdown(this.ctx, then)
                      : h('p', { class: 'faint' }, 'The file was empty.');
            if (this.painting !== mine) return;
            this.shown = version.after;
            fill(this.body, node);
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

/*
 * blame.js: where a line came from. Hovering, focusing or touching a block of a file shows who wrote it,
 * when and through what, with undo.
 */
import { undoChange } from './change.js';
import { $$, h, uid } from './dom.js';
import { ago, moment, plural, who } from './format.js';
import { button, time } from './ui.js';

const PAGE = 1000; // lines of a block that are looked at
const HOVER_MS = 280; // reading is not asking
const LEAVE_MS = 220; // to get the pointer across

/** How long ago, and when; what is long ago only tells its day, and that once. */
function when(at) {
    const exact = moment(at);
    return exact.startsWith(ago(at))
        ? exact
        : [time(at), h('span', { class: 'faint' }, ` · ${exact}`)];
}

export class Blame {
    /** body: holds blocks with class blk and data-line. file(): the file as it is shown now. */
    constructor(ctx, body, file) {
        this.ctx = ctx;
        this.body = body;
        this.file = file;
        this.id = uid('blame');
        body.addEventListener('mouseover', (event) => this.over(event));
        body.addEventListener('mouseleave', () => this.hideSoon());
        body.addEventListener('focusin', (event) => {
            if (event.target.matches('.blk') && event.target.matches(':focus-visible'))
                this.show(event.target);
        });
        body.addEventListener('focusout', (event) => {
            if (!body.contains(event.relatedTarget)) this.hideSoon();
        });
        body.addEventListener('click', (event) => this.click(event));
        body.addEventListener('keydown', (event) => {
            if (event.key === 'Escape' && this.box) this.escape(event);
        });
    }

    over(event) {
        if (event.target.closest('.blame')) return clearTimeout(this.hiding);
        const block = event.target.closest('.blk');
        clearTimeout(this.showing);
        if (!block || block === this.block || matchMedia('(hover: none)').matches) return;
        this.showing = setTimeout(() => this.show(block), HOVER_MS);
    }

    click(event) {
        const block = event.target.closest('.blk');
        if (!block || event.target.closest('a, button, .blame') || String(getSelection())) return;
        this.show(block);
    }

    escape(event) {
        if (this.box.contains(document.activeElement)) this.block.focus(); // first: that would show it again
        this.hide();
        event.stopPropagation();
    }

    hideSoon() {
        clearTimeout(this.showing);
        this.hiding = setTimeout(() => {
            if (
                !this.box?.contains(document.activeElement) &&
                document.activeElement !== this.block
            )
                this.hide();
        }, LEAVE_MS);
    }

    hide() {
        clearTimeout(this.showing);
        clearTimeout(this.hiding);
        this.block?.removeAttribute('aria-describedby');
        this.block?.classList.remove('asked');
        this.box?.remove();
        this.box = this.block = null;
    }

    /** The text is made anew: takes the card away, and tells what it was of; giveBack shows it there again. */
    take() {
        const card = this.box && {
            line: this.block.dataset.line,
            inside: this.box.contains(document.activeElement),
        };
        this.hide();
        return card;
    }

    giveBack({ line, inside }) {
        const block = $$('.blk', this.body).find((b) => b.dataset.line === line);
        if (!block) return;
        if (inside) block.focus({ preventScroll: true });
        if (inside) this.enter(block);
        else this.show(block);
    }

    /* The lines of a block; asked once for every revision. */
    async lines(first, count) {
        const file = this.file();
        if (this.revision !== file.revision) {
            this.revision = file.revision;
            this.asked = new Map();
        }
        const asked = this.asked;
        if (!asked.has(first)) {
            const answer = this.ctx
                .call('memory.blame', { scope: file.scope, key: file.key, cursor: String(first), limit: Math.min(count, PAGE) })
                .then((page) => page.lines);
            asked.set(first, answer);
            answer.catch(() => asked.delete(first));
        }
        return asked.get(first);
    }

    /* From the block's first line to before the next block's; blank ones do not count. */
    async changes(block) {
        const first = Number(block.dataset.line);
        const next = $$('.blk', this.body)
            .map((b) => Number(b.dataset.line))
            .filter((line) => line > first);
        const count = next.length ? next.reduce((a, b) => Math.min(a, b)) - first : PAGE;
        const all = await this.lines(first, count);
        const rows = all.filter((row) => row.text.trim() !== '' && row.change);
        const seen = new Map(rows.map((row) => [row.change.number, row]));
        return [...seen.values()].sort((a, b) => (a.change.time < b.change.time ? 1 : -1));
    }

    /** Resolves when the card is there, or not wanted any more. */
    show(block) {
        clearTimeout(this.hiding);
        if (this.block !== block) {
            this.hide();
            this.block = block;
            block.classList.add('asked');
            this.coming = this.fetch(block);
        }
        return this.coming;
    }

    async fetch(block) {
        try {
            const rows = await this.changes(block);
            if (this.block !== block) return;
            this.place(
                block,
                rows.length
                    ? this.card(rows)
                    : h(
                          'p',
                          { class: 'small' },
                          'Unknown: this line is older than the history.',
                      ),
            );
        } catch (error) {
            if (this.block === block && error.name !== 'AbortError')
                this.place(block, h('p', { class: 'small' }, 'The history is not available right now.'));
        }
    }

    card(rows) {
        const { change, replaced } = rows[0];
        return [
            h(
                'p',
                { class: 'small' },
                h('strong', who(change)),
                ', ',
                when(change.time),
            ),
            replaced
                ? h(
                      'p',
                      { class: 'small muted blame-was' },
                      h('span', { class: 'visually-hidden' }, 'It replaced '),
                      h('del', { dir: 'auto' }, replaced.trim()),
                  )
                : null,
            rows.length > 1
                ? h(
                      'p',
                      { class: 'small muted' },
                      `and ${plural(rows.length - 1, 'earlier change')} in these lines`,
                  )
                : null,
            h(
                'div',
                { class: 'cluster' },
                button({
                    label: 'Undo',
                    icon: 'undo',
                    kind: 'small',
                    run: () => this.undo(change),
                }),
                h(
                    'a',
                    {
                        class: 'button small quiet',
                        href: this.ctx.href('timeline', {
                            scope: change.scope,
                            key: change.key,
                            change: change.number,
                            t: change.time,
                        }),
                    },
                    'Show the change',
                ),
                change.session
                    ? h(
                          'a',
                          {
                              class: 'button small quiet',
                              href: this.ctx.href(`sessions/${change.session}`, { t: change.time }),
                          },
                          'Its session',
                      )
                    : null,
            ),
        ];
    }

    place(block, content) {
        const box = (this.box = h(
            'div',
            { class: 'blame', id: this.id, role: 'group', 'aria-label': 'Where this line comes from' },
            content,
        ));
        this.body.append(box);
        block.setAttribute('aria-describedby', this.id);
        const frame = this.body.getBoundingClientRect(),
            at = block.getBoundingClientRect();
        const below = at.bottom + box.offsetHeight + 72 < innerHeight;
        box.style.insetInlineStart = '0';
        box.style.top = `${below ? at.bottom - frame.top + 4 : at.top - frame.top - box.offsetHeight - 4}px`;
    }

    /** Enter on a block: into the card. */
    enter(block) {
        if (this.block === block && this.box) this.box.querySelector('button, a')?.focus();
        else this.show(block).then(() => this.box?.querySelector('button, a')?.focus());
    }

    async undo(change) {
        this.hide();
        await undoChange(this.ctx, change);
    }

    /** u on a block. */
    async undoBlock(block) {
        const rows = await this.changes(block).catch(() => []);
        if (rows.length) await this.undo(rows[0].change);
        else this.ctx.toast('Nothing is known about this line.');
    }
}

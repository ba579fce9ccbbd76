/*
 * pages/needs.js: what needs a person: changes that wait for approval, conflicts, notes to check, lines that are hidden
 * from prompts, what doctor found.
 * Address: needs/ID shows one change that waits; without, the first.
 *
 * A decision carries the hash of what is shown. If the change is another one by then, it is shown again.
 */
import { allPages } from '../client.js';
import { dialog } from '../dialog.js';
import { diffView, parseDiff } from '../diff.js';
import { h, refill } from '../dom.js';
import { actor, fileLabel, noteName, plural, scopeLabel, via } from '../format.js';
import { icon } from '../icons.js';
import { needs } from '../needs.js';
import { sheet } from '../sheet.js';
import { badge, button, command, copyable, empty, problem, time } from '../ui.js';
import { remedyOf } from './health.js';

const VERBS = { add: 'add to', replace: 'replace', remove: 'remove lines from', delete: 'delete' };
const TRUST = {
    agent: 'The agent’s own words, in a turn that you started',
    untrusted: 'Text from somebody else',
    owner: 'You',
};

/** "Codex wants to add to Memory". */
const headline = ({ update, scopeId, actor: name, source }) =>
    `${capital(actor(name ?? source))} wants to ${VERBS[update.action] ?? update.action} ${fileLabel(scopeId, update.key)}`;

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/* The first line that says something; the head of a note does not. */
function gist({ update, note }) {
    const text = (update.content ?? update.substringMatch ?? '').replace(/^---\n[^]*?\n---\n/, '');
    return note?.hook || text.split('\n').find((line) => line.trim()) || '';
}

const REASONS = { instruction: 'reads like an instruction', secret: 'looks like a secret' };

const reasonOf = ({ why, kind }) => capital(why.map((name) => (name === 'secret' && kind ? `${REASONS[name]} (${kind})` : REASONS[name])).join(', '));

/** "Memory, line 9". */
const placeOf = ({ scope, key, line }) => [fileLabel(scope, key), line ? `line ${line}` : 'a line that is gone'].join(', ');

const iso = (ms) => new Date(ms).toISOString();

/** A diff of several files, each with its name. */
function filesOf(diff) {
    return diff
        .split(/^Index: /m)
        .slice(1)
        .map((part) => {
            const end = part.indexOf('\n');
            return { key: part.slice(0, end), rows: parseDiff(part.slice(end + 1)) };
        });
}

const page = {
    title: 'Needs you',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx, always: new Set() });
        await sheet('pages-needs');
        this.body = h('div', { class: 'needs' });
        root.append(this.body);
        ctx.head({ actions: [{ label: 'Check again', icon: 'restore', run: () => ctx.busy(this.fresh.now()).catch(ctx.fail) }] });
        this.fresh = ctx.refresh(needs.events, { ask: () => this.ask(), show: (answer) => this.paint(answer) });
        ctx.list(root, '.needs-row');
        ctx.keys({
            a: () => this.press('approve'),
            e: () => this.press('edit'),
            r: () => this.press('reject'),
            f: () => this.press('never'),
            l: () => this.later(),
        });
        await this.fresh.now();
    },

    async update() {
        await this.fresh.now();
    },

    /* The lists, and all of the one that is open: what it would do, or why that cannot be told. */
    async ask() {
        const { ctx } = this;
        const all = await needs.ask((name, input) => ctx.call(name, input));
        const id = ctx.rest ? decodeURIComponent(ctx.rest) : (all.pending[0]?.id ?? null);
        const open = all.pending.find((row) => row.id === id) ?? null;
        const shown = open ? await ctx.call('pending.show', { id }).catch((error) => ({ ...open, error })) : null;
        return { ...all, shown, missing: ctx.rest && !open };
    },

    paint(answer) {
        this.answer = answer;
        const focus = document.activeElement?.closest('.needs-row')?.dataset.id;
        const { pending, conflicts, notes, findings, hidden, allowed, shown, missing } = answer;
        const count = needs.count(answer);
        refill(
            this.body,
            count === 0
                ? [this.clear(), h('div', { class: 'needs-list needs-shown' }, this.group('Shown anyway', allowed.map((row) => this.line(row))))]
                : h(
                      'div',
                      { class: 'needs-two' },
                      h(
                          'nav',
                          { class: 'needs-list', 'aria-label': 'What needs you' },
                          this.group('Approvals', pending.map((row) => this.waiting(row, row.id === shown?.id))),
                          this.group('Conflicts', conflicts.map((row) => this.conflict(row))),
                          this.group('Notes to check', notes.map((row) => this.note(row))),
                          this.group('Hidden from prompts', hidden.map((row) => this.line(row))),
                          this.group('Shown anyway', allowed.map((row) => this.line(row))),
                          this.group('Health', findings.map((row) => this.finding(row))),
                          h('p', { class: 'small muted' }, 'Nothing here is urgent unless it says so. Agents keep working; waiting changes are not in any prompt.'),
                      ),
                      shown ? this.detail(shown) : missing ? h('p', { class: 'muted' }, 'This has already been decided.') : null,
                  ),
        );
        if (focus) this.body.querySelector(`.needs-row[data-id="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
    },

    clear() {
        return h(
            'div',
            { class: 'needs-clear' },
            h('span', { class: 'needs-well' }, icon('check', 24)),
            h('h2', 'Nothing needs you'),
            h('p', { class: 'muted' }, 'Changes that wait for approval, conflicts, notes to check and problems with agents appear here.'),
        );
    },

    group(title, rows) {
        return rows.length ? h('section', h('h2', `${title} · ${rows.length}`), h('ul', { class: 'rows' }, rows)) : null;
    },

    row(id, { href, name, text, mark, current = false }) {
        return h(
            'li',
            h(
                'a',
                { class: 'row needs-row', href, data: { id }, 'aria-current': current ? 'true' : null },
                icon(mark),
                h('span', { class: 'needs-main' }, h('span', { class: 'strong', dir: 'auto' }, name), h('span', { class: 'small muted ellipsis', dir: 'auto' }, text)),
            ),
        );
    },

    waiting(row, current) {
        return this.row(row.id, {
            href: this.ctx.href(`needs/${encodeURIComponent(row.id)}`),
            name: `${capital(actor(row.actor ?? row.source))}: ${row.update.action} ${fileLabel(row.scopeId, row.update.key)}`,
            text: [row.trust === 'untrusted' ? 'Untrusted' : null, gist(row)].filter(Boolean).join(' · '),
            mark: row.trust === 'untrusted' ? 'warning' : 'check',
            current,
        });
    },

    conflict({ id, scope, key }) {
        return this.row(`conflict ${id}`, { href: this.ctx.href(`conflicts/${encodeURIComponent(id)}`), name: `${fileLabel(scope, key)} changed in two places`, text: scopeLabel(scope), mark: 'conflicts' });
    },

    note({ key, title, stale, workspace }) {
        return this.row(`note ${workspace} ${key}`, { href: this.ctx.href(`notes/${encodeURIComponent(key)}`, { w: workspace }), name: title ?? noteName(key), text: stale, mark: 'notes' });
    },

    finding({ subject, problem: text, remedy }) {
        const { words, line } = remedyOf(remedy);
        return h(
            'li',
            { class: 'needs-finding' },
            icon('health'),
            h('div', { class: 'needs-main' }, h('p', { class: 'strong', dir: 'auto' }, [subject, text].filter(Boolean).join(': ')), words ? h('p', { class: 'small muted' }, words) : null, line ? command(line) : null),
        );
    },

    line(row) {
        const hidden = row.state === 'hidden';
        const label = hidden ? 'Show anyway' : 'Hide again';
        return h(
            'li',
            { class: 'needs-finding' },
            icon(hidden ? 'warning' : 'check'),
            h(
                'div',
                { class: 'needs-main' },
                h('p', { class: 'strong', dir: 'auto' }, placeOf(row)),
                h('p', { class: 'small muted' }, reasonOf(row)),
                row.text === null ? null : h('p', { class: 'small mono', dir: 'auto' }, row.text),
                h('p', button({ label, 'aria-label': `${label}: ${placeOf(row)}`, run: () => (hidden ? this.showLine(row) : this.hideLine(row)) })),
            ),
        );
    },

    /* The hash is that of the line on the page; another one by now is not shown. */
    async showLine({ scope, key, line, hash, text }) {
        const { ctx } = this;
        const box = dialog({
            title: 'Show this line in prompts?',
            body: [h('p', 'It will be sent to models as it is, until its text changes:'), h('p', { class: 'mono', dir: 'auto' }, text)],
            actions: [
                { label: 'Cancel' },
                { label: 'Show anyway', kind: 'primary', run: () => ctx.call('memory.showLine', { line: `${key}:${line}`, scope, hash }).then(() => true) },
            ],
        });
        if (await box.closed) ctx.toast('It is in prompts now.');
        await this.fresh.now();
    },

    async hideLine({ scope, hash }) {
        const { ctx } = this;
        try {
            await ctx.busy(ctx.call('memory.hideLine', { scope, hash }));
            ctx.toast('It is hidden again.');
        } catch (error) {
            if (error.status !== 404) ctx.fail(error);
        }
        await this.fresh.now();
    },

    /* ---- one change that waits ---------------------------------------------------------------------- */

    detail(shown) {
        const { id, error, diff, moved, reasons = [], rule, editedFrom } = shown;
        if (error) return h('div', { class: 'needs-detail' }, problem(error));
        const files = filesOf(diff);
        const changes = shown.update.action !== 'delete';
        return h(
            'article',
            { class: 'needs-detail', 'aria-labelledby': 'needs-title' },
            h('p', badge('Approval', shown.trust === 'untrusted' ? 'warning' : '', shown.trust === 'untrusted' ? 'warning' : null), ' ', h('span', { class: 'small muted' }, time(iso(shown.proposedAt)))),
            h('h2', { id: 'needs-title', dir: 'auto' }, headline(shown)),
            h('p', { class: 'muted' }, scopeLabel(shown.scopeId), editedFrom ? ' · edited by you' : '', moved ? ' · the file was changed since' : ''),
            files.length
                ? files.map(({ key, rows }) => h('div', { class: 'needs-file' }, files.length > 1 ? h('p', { class: 'small muted' }, key) : null, diffView(rows, { label: `What would change in ${key}` })))
                : empty('It would change nothing.'),
            h('h3', 'Where it comes from'),
            h(
                'dl',
                { class: 'needs-facts small' },
                h('dt', 'Agent'),
                h('dd', { dir: 'auto' }, capital(actor(shown.actor ?? shown.source)), shown.via ? `, through ${via(shown.via)}` : ''),
                h('dt', 'Source'),
                h('dd', TRUST[shown.trust] ?? 'Another program'),
                shown.sessionId ? [h('dt', 'Conversation'), h('dd', h('a', { href: this.ctx.href(`sessions/${shown.sessionId}`) }, 'Open it'))] : null,
                h('dt', 'Why it waits'),
                h('dd', reasons.length ? capital(`${reasons.join('; ')}.`) : 'Another program proposed it.'),
                h('dt', 'Id'),
                h('dd', copyable(id, 'Copy the id', id.slice(0, 8))),
            ),
            rule ? this.rule(id, rule) : null,
            h(
                'div',
                { class: 'needs-ends' },
                button({ label: 'Approve', icon: 'check', kind: 'primary', key: 'A', run: () => this.decide(shown, 'approve') }),
                changes ? button({ label: 'Edit', icon: 'edit', key: 'E', run: () => this.edit(shown) }) : null,
                button({ label: 'Reject', icon: 'close', key: 'R', run: () => this.decide(shown, 'reject') }),
                button({ label: 'Later', kind: 'quiet', key: 'L', run: () => this.later() }),
                button({ label: 'Reject and never ask again', kind: 'quiet push', key: 'F', run: () => this.decide(shown, 'never') }),
            ),
        );
    },

    rule(id, rule) {
        const box = h('input', {
            type: 'checkbox',
            checked: this.always.has(id),
            on: { change: (event) => (event.target.checked ? this.always.add(id) : this.always.delete(id)) },
        });
        return h(
            'div',
            { class: 'needs-rule' },
            h('label', box, ' Always allow this kind'),
            h('p', { class: 'small muted' }, 'Adds to approval.yaml: ', h('code', rule), '. Text from somebody else, instructions and removals of much still wait.'),
        );
    },

    /* ---- deciding ----------------------------------------------------------------------------------- */

    press(way) {
        const { shown } = this.answer ?? {};
        if (!shown || shown.error) return false;
        if (way === 'edit') this.edit(shown);
        else this.decide(shown, way);
        return true;
    },

    /* The one behind it, else the one before. */
    nextOf(id) {
        const ids = this.answer.pending.map((row) => row.id);
        const at = ids.indexOf(id);
        return ids[at + 1] ?? ids[at - 1] ?? null;
    },

    go(id) {
        const route = id ? `needs/${encodeURIComponent(id)}` : 'needs';
        this.ctx.go(route, {}, { replace: true });
    },

    later() {
        const { shown, pending } = this.answer ?? {};
        if (!shown || pending.length < 2) return false;
        const ids = pending.map((row) => row.id);
        this.go(ids[(ids.indexOf(shown.id) + 1) % ids.length]);
        return true;
    },

    async decide({ id, hash }, way) {
        const { ctx } = this;
        if (this.deciding) return;
        this.deciding = true;
        const next = this.nextOf(id);
        try {
            await ctx.busy(ctx.call(`pending.${way}`, { id, hash, ...(way === 'approve' && this.always.has(id) ? { always: true } : {}) }));
            ctx.toast({ approve: 'Approved. The timeline has it.', reject: 'Rejected.', never: 'Rejected. It will not be proposed again.' }[way]);
            if (ctx.rest || next) this.go(next);
        } catch (error) {
            if (error.status === 409) ctx.toast(/already/.test(error.message) ? 'This has already been approved and written.' : 'This changed. Review it again.');
            else if (error.status === 404) ctx.toast('This has already been decided.');
            else ctx.fail(error);
        } finally {
            this.deciding = false;
        }
        await this.fresh.now();
    },

    async edit({ id, hash, update }) {
        const { ctx } = this;
        const text = h('textarea', { class: 'input needs-text', rows: '12', dir: 'auto', spellcheck: 'true', autofocus: true, 'aria-label': 'The text', value: update.content ?? update.substringMatch });
        const box = dialog({
            title: 'Edit this change',
            wide: true,
            body: text,
            actions: [
                { label: 'Cancel' },
                { label: 'Save', kind: 'primary', run: () => ctx.call('pending.edit', { id, hash, content: text.value }).then(() => true) },
            ],
        });
        if (await box.closed) {
            ctx.toast('Saved. The change keeps waiting, with your text.');
            await this.fresh.now();
        }
    },
};

export default page;

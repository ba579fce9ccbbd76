/*
 * pages/insights.js: how memory grows: size against the budget, who writes how much, what prompts leave out,
 * what got stale, how long searches take. Parameters: days (7, 30, 90, 365).
 */
import { h, refill } from '../dom.js';
import { count, plural, via } from '../format.js';
import { LABELS, storeOf } from '../gauge.js';
import { bars, dayLabel, figure, legend, lines, share, table } from '../plot.js';
import { sheet } from '../sheet.js';
import { searches } from '../state.js';
import { empty, problem, segmented } from '../ui.js';

const DAY = 864e5;
const SPANS = [['7', 'Week'], ['30', 'Month'], ['90', '3 months'], ['365', 'Year']];
const USUAL = '30';
const TINTS = 6;
const tint = (index) => `tint-${(index % TINTS) + 1}`;
const STORES = ['user', 'memory', 'workspace', 'global']; // in the colours that the Memory page gives them

/* What agents and people write is told by the way it came; the rest by what it is. */
const SOURCES = {
    capture: 'capture', consolidation: 'consolidation', dream: 'dreams', 'web-editor': 'the dashboard', external: 'edits of the file',
    restore: 'restore', undo: 'undo', import: 'import', 'global-entry': 'shared entries',
};
const sourceName = ({ source, via: way }) => SOURCES[way === 'external' ? way : source] ?? via(way ?? source ?? 'unknown');

/* The colour of each file: those of the Memory page have their own, the rest what is left. */
function tints(files) {
    const own = new Map(STORES.map((store, i) => [files.find((file) => !isNote(file) && storeOf(file) === store), tint(i)]));
    const rest = files.filter((file) => !own.has(file));
    const free = Array.from({ length: TINTS }, (_, i) => tint(i)).filter((name) => ![...own].some(([file, taken]) => file && taken === name));
    return (file) => own.get(file) ?? free[rest.indexOf(file) % free.length];
}

const isNote = ({ key }) => key !== 'USER.md' && key !== 'MEMORY.md';

const midnight = (ms) => Math.floor(ms / DAY) * DAY;

const STEPS = [10, 30, 100, 300, Infinity]; // milliseconds
const stepLabel = (from, below) => (from === undefined ? `under ${below} ms` : below === Infinity ? `${from} ms and more` : `${from} to ${below} ms`);
const milliseconds = (ms) => (ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

const page = {
    title: 'Insights',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx });
        await sheet('pages-insights');
        this.body = h('div', { class: 'insights' });
        root.append(this.body);
        this.fresh = ctx.refresh(['memory.changed', 'note.changed'], { pause: 1500, ask: () => this.ask(), show: (answer) => this.paint(answer) });
        await this.update();
    },

    async update() {
        const { ctx } = this;
        ctx.head({
            selectors: ['personality', 'user', 'workspace'],
            actions: [segmented('How far back', SPANS.map(([value, label]) => ({ value, label })), this.days(), (value) => ctx.set({ days: value === USUAL ? null : value }))],
        });
        await this.fresh.now();
    },

    days() {
        return SPANS.some(([value]) => value === this.ctx.params.days) ? this.ctx.params.days : USUAL;
    },

    async ask() {
        const days = Number(this.days());
        const [seen, prompt] = await Promise.all([this.ctx.call('memory.insights', { days }), this.ctx.own('memory.list').catch((error) => error)]);
        return { days, seen, prompt };
    },

    paint({ days, seen, prompt }) {
        const last = Date.now(), first = Math.max(midnight(last - (days - 1) * DAY), this.began(seen, last));
        const opened = new Set([...this.body.querySelectorAll('details[open]')].map((node) => node.closest('figure').dataset.plot));
        const plots = { size: this.size(seen, first, last), writes: this.writes(seen, first, last), cut: this.cut(prompt), stale: this.stale(seen), search: this.search() };
        for (const [name, node] of Object.entries(plots)) {
            node.dataset.plot = name;
            if (opened.has(name)) node.querySelector('details').open = true;
        }
        refill(this.body, Object.values(plots));
    },

    /* A young memory is not shown as a long line of nothing. */
    began({ files, writes }, last) {
        let first = last;
        for (const { day } of writes) first = Math.min(first, Date.parse(`${day}T00:00:00Z`));
        for (const { series } of files) for (const { time, bytes } of series) if (bytes > 0) first = Math.min(first, Date.parse(time));
        return Math.min(midnight(first) - DAY, midnight(last) - 6 * DAY);
    },

    /* ---- size --------------------------------------------------------------------------------- */

    size({ files, budget }, first, last) {
        const shown = files.filter((file) => file.series.some(({ bytes }) => bytes > 0)).sort((a, b) => b.bytes - a.bytes);
        const tintOf = tints(shown);
        const drawn = shown.slice(0, TINTS).map((file) => ({
            label: file.label ?? file.key, tint: tintOf(file), file,
            points: file.series.map(({ time, bytes }) => ({ time: Date.parse(time), value: bytes })).sort((a, b) => a.time - b.time),
        }));
        const total = shown.reduce((sum, file) => sum + file.chars, 0);
        if (drawn.length === 0) return this.nothing('Size of the files', 'Nothing was written yet.', "ethos memory add 'We deploy on Fridays'");
        return figure({
            title: 'Size of the files', wide: true,
            answer: shown.length > TINTS ? `The ${TINTS} largest of ${plural(shown.length, 'file')}. A prompt has room for ${count(budget)} characters.` : `${plural(total, 'character')} in ${plural(shown.length, 'file')}. A prompt has room for ${count(budget)}.`,
            legend: legend(drawn),
            picture: lines({ label: 'Size of each file over time', series: drawn, first, last, unit: 'bytes', limit: { value: budget, label: `prompt budget, ${count(budget)} characters` } }),
            table: table(['File', 'Then, bytes', 'Now, bytes', 'Now, characters'], shown.map((file) => [file.label ?? file.key, this.then(file, first), count(file.bytes), count(file.chars)])),
        });
    },

    then(file, first) {
        const before = file.series.filter(({ time }) => Date.parse(time) <= first).at(-1);
        return before ? count(before.bytes) : 'not there';
    },

    /* ---- writes ------------------------------------------------------------------------------- */

    writes({ writes }, first, last) {
        const totals = new Map();
        const byDay = new Map();
        for (const write of writes) {
            const { day, count: number } = write, name = sourceName(write);
            totals.set(name, (totals.get(name) ?? 0) + number);
            const at = Date.parse(`${day}T00:00:00Z`);
            if (!byDay.has(at)) byDay.set(at, {});
            byDay.get(at)[name] = (byDay.get(at)[name] ?? 0) + number;
        }
        const all = [...totals.values()].reduce((sum, number) => sum + number, 0);
        if (all === 0) return this.nothing('Writes per day', 'Nothing changed in this period.');
        const parts = [...totals].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name], i) => ({ name, label: name, tint: tint(i) }));
        const days = [];
        for (let at = first; at <= midnight(last); at += DAY) days.push({ time: at, parts: byDay.get(at) ?? {} });
        const busiest = days.reduce((best, day) => (this.sum(day) > this.sum(best) ? day : best));
        return figure({
            title: 'Writes per day', wide: true,
            answer: `${plural(all, 'change')}, most of them by ${parts[0].label}; the busiest day was ${dayLabel(busiest.time)} with ${count(this.sum(busiest))}.`,
            legend: legend(parts),
            picture: bars({ label: 'Changes per day by source', days, parts, unit: 'changes' }),
            table: table(['Day', ...parts.map((part) => part.label)], days.filter((day) => this.sum(day)).reverse().map((day) => [dayLabel(day.time), ...parts.map((part) => count(day.parts[part.name] ?? 0))])),
        });
    },

    sum: (day) => Object.values(day.parts).reduce((total, number) => total + number, 0),

    /* ---- what prompts leave out --------------------------------------------------------------- */

    cut(data) {
        const title = 'What a prompt leaves out';
        if (data instanceof Error) return h('figure', { class: 'plot' }, h('figcaption', h('h2', { class: 'lead' }, title)), problem(data));
        const left = (file) => data.omitted.filter((row) => row.scope === file.scope && row.key === file.key && row.reason === 'budget').reduce((sum, row) => sum + row.chars, 0);
        const rows = data.files.filter((file) => !file.error).map((file) => ({ label: LABELS[storeOf(file)], shown: (file.shown ?? '').length, cut: left(file) }));
        const cut = rows.reduce((sum, row) => sum + row.cut, 0), whole = Math.max(data.budget, ...rows.map((row) => row.shown + row.cut));
        return figure({
            title, answer: cut ? `${plural(cut, 'character')} do not fit into ${count(data.budget)} and are left out.` : `Nothing: ${count(data.chars)} of ${count(data.budget)} characters are used.`,
            legend: legend([{ label: 'in the prompt', tint: 'tint-1' }, { label: 'left out', tint: 'tint-cut' }]),
            picture: h('dl', { class: 'plot-rows' }, rows.map((row) => [h('dt', { class: 'small' }, row.label, h('span', { class: 'num muted' }, row.cut ? ` ${count(row.shown)}, ${count(row.cut)} left out` : ` ${count(row.shown)}`)),
                h('dd', share({ label: row.label, whole, parts: [{ label: 'in the prompt', tint: 'tint-1', value: row.shown }, { label: 'left out', tint: 'tint-cut', value: row.cut }] }))])),
            table: table(['File', 'In the prompt, characters', 'Left out, characters'], rows.map((row) => [row.label, count(row.shown), count(row.cut)])),
        });
    },

    /* ---- stale notes -------------------------------------------------------------------------- */

    stale({ notes }) {
        const { total, stale } = notes ?? { total: 0, stale: 0 };
        if (!total) return this.nothing('Stale notes', 'There are no notes here; with a workspace chosen above, its notes count.', "ethos remember 'Tests need a running Redis'");
        const percent = Math.round((100 * stale) / total);
        return figure({
            title: 'Stale notes',
            answer: [stale ? `${count(stale)} of ${plural(total, 'note')} (${percent} %) should be looked at. ` : `None of ${plural(total, 'note')}. `, stale ? h('a', { href: this.ctx.href('notes', { stale: '1' }) }, 'Show them') : null],
            legend: legend([{ label: 'fresh', tint: 'tint-1' }, { label: 'stale', tint: 'tint-cut' }]),
            picture: share({ label: 'Notes', whole: total, parts: [{ label: 'fresh', tint: 'tint-1', value: total - stale }, { label: 'stale', tint: 'tint-cut', value: stale }] }),
            table: table(['Notes', 'Number'], [['Fresh', count(total - stale)], ['Stale', count(stale)]]),
        });
    },

    /* ---- search ------------------------------------------------------------------------------- */

    /* Only what this browser waited for: the server keeps no times. */
    search() {
        const title = 'How long searches take';
        const rows = searches.all().filter(({ ms }) => Number.isFinite(ms));
        if (!rows.length) return this.nothing(title, ['No searches from this browser yet. Press ', h('kbd', '/'), ' on the page Memory or Sessions.']);
        const sorted = rows.map(({ ms }) => ms).sort((a, b) => a - b);
        const at = (share) => milliseconds(sorted[Math.floor((sorted.length - 1) * share)]);
        const steps = STEPS.map((below, i) => ({ label: stepLabel(STEPS[i - 1], below), number: sorted.filter((ms) => ms >= (STEPS[i - 1] ?? 0) && ms < below).length }));
        return figure({
            title,
            answer: `Half of the last ${plural(rows.length, 'search', 'searches')} from this browser took ${at(0.5)} or less, the slowest ${at(1)}.`,
            legend: null,
            picture: h('dl', { class: 'plot-rows' }, steps.map((step) => [h('dt', { class: 'small' }, step.label, h('span', { class: 'num muted' }, ` ${count(step.number)}`)),
                h('dd', share({ label: step.label, whole: rows.length, parts: [{ label: 'searches', tint: 'tint-1', value: step.number }] }))])),
            table: table(['Took', 'Searches'], [...steps.map((step) => [step.label, count(step.number)]), ['half of them, at most', at(0.5)], ['nine of ten, at most', at(0.9)], ['the slowest', at(1)]]),
        });
    },

    nothing(title, words, line = null) {
        return h('figure', { class: 'plot' }, h('figcaption', h('h2', { class: 'lead' }, title)), empty(words, line), h('details', { hidden: true }));
    },
};

export default page;

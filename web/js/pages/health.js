/*
 * pages/health.js: what doctor finds, as sentences: what is wrong, why it matters, the command that mends it.
 */
import { allPages } from '../client.js';
import { h, refill } from '../dom.js';
import { plural } from '../format.js';
import { icon } from '../icons.js';
import { sheet } from '../sheet.js';
import { command, copyable, time } from '../ui.js';

const LEVELS = {
    error: { word: 'Wrong', icon: 'warning', kind: 'danger', why: 'Memory is at risk, or a file cannot be read.' },
    warning: { word: 'To look at', icon: 'warning', kind: 'warning', why: 'It works, but not as you would expect.' },
    info: { word: 'Good to know', icon: 'info', kind: 'info', why: 'No action needed.' },
};

const levelOf = (finding) => LEVELS[finding.severity] ?? LEVELS.info;

/** What a sentence goes on with behind a command: "ethos doctor --fix rebuilds it". */
const VERBS = new Set('brings has is lists makes mends of puts removes says shows takes tells writes'.split(' '));

/** Where a command begins; "is `ethos serve` running there?" and "install the newer ethos that created it" have none. */
const COMMAND = /(?<!`)\bethos (?=-|(?:api-key|backup|config|conflicts|doctor|gateway|import|install|memory|notes|pending|personality|prefetch|recall|restore|serve|sessions|setup|status|sync|uninstall|users|workspaces)(?![-\w]))/;

/** A remedy ("run: ethos install codex", "ethos doctor --fix rebuilds it") as its command and its words. */
export function remedyOf(text) {
    const at = text?.search(COMMAND) ?? -1;
    if (at < 0) return { words: text, line: null };
    const told = /run: $/.test(text.slice(0, at)); // then no word ends it
    const words = text.slice(at).split(' ');
    let end = 1;
    while (end < words.length && !/[,;]$/.test(words[end - 1]) && (told || !VERBS.has(words[end]))) end++;
    const line = words.slice(0, end).join(' ').replace(/[,;]$/, '');
    const before = text.slice(0, at).trim().replace(/(?:[,;]?\s*\b(?:and|or|see|run|or run))?:?$/, '');
    const after = words.slice(end).join(' '), it = VERBS.has(words[end]) ? 'it ' : '';
    return { line, words: [before, after && it + after].filter(Boolean).join(before.endsWith(',') ? ' ' : '; ') || null };
}

const page = {
    title: 'Health',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx });
        await sheet('pages-health');
        this.body = h('div', { class: 'health' });
        root.append(this.body);
        const fresh = ctx.refresh(['health.changed', 'conflict.changed'], { ask: () => allPages((cursor) => ctx.call('meta.health', cursor), ['findings']), show: (report) => this.paint(report) });
        ctx.head({ actions: [{ label: 'Check again', icon: 'restore', run: () => ctx.busy(fresh.now()).then(() => ctx.toast('Checked.'), ctx.fail) }] });
        ctx.list(root, '.finding');
        await fresh.now();
    },

    paint({ findings, home, version }) {
        const serious = findings.filter((finding) => finding.severity !== 'info');
        const order = Object.keys(LEVELS);
        const sorted = [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
        const fixable = findings.some((finding) => /doctor --fix/.test(finding.remedy ?? ''));
        refill(this.body,
            h('div', { class: `health-sum ${serious.length ? 'some' : 'well'}` }, icon(serious.length ? 'warning' : 'check', 20),
                h('p', { class: 'lead', role: 'status' }, serious.length ? `${plural(serious.length, 'thing')} to look at.` : 'Everything is in order.')),
            h('p', { class: 'small muted' }, 'Checked the files, their history, the settings, the conversations and the agents that use this memory, ', time(new Date().toISOString()), '.'),
            fixable ? h('div', { class: 'health-fix' }, h('p', 'One command fixes some of these problems:'), command('ethos doctor --fix')) : null,
            sorted.length ? h('ul', { class: 'findings' }, sorted.map((finding) => this.finding(finding))) : h('p', { class: 'muted' }, 'On the command line: ', h('code', 'ethos doctor'), '.'),
            h('dl', { class: 'health-facts small' }, h('dt', { class: 'muted' }, 'Home'), h('dd', copyable(home, 'Copy the path')), h('dt', { class: 'muted' }, 'Version'), h('dd', version)));
    },

    finding(finding) {
        const level = levelOf(finding);
        const { words, line } = remedyOf(finding.remedy);
        return h('li', { class: `finding ${level.kind}`, tabindex: '-1' },
            h('div', { class: 'finding-mark' }, icon(level.icon), h('span', level.word)),
            h('div', { class: 'finding-text' },
                h('p', { class: 'finding-problem', dir: 'auto' }, sentence(finding.problem)),
                h('p', { class: 'small muted' }, finding.subject ? h('span', { class: 'mono' }, finding.subject) : null, finding.subject ? ' · ' : null, level.why),
                words ? h('p', { class: 'small' }, sentence(words)) : null,
                line ? command(line) : null));
    },
};

/** Begins large and ends with a full stop; a path stays as it is. */
function sentence(text) {
    const large = /^[a-z]\w*\b(?![./])/.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
    return /[.?!…]$/.test(large) ? large : `${large}.`;
}

export default page;

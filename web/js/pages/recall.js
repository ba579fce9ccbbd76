/*
 * pages/recall.js: what memory holds about a question, why each passage was found, and what a prompt with this
 * question gets. Parameter: q.
 */
import { fill, h, refill } from '../dom.js';
import { count, fileLabel, plural, scopeLabel } from '../format.js';
import { sheet } from '../sheet.js';
import { empty, marked, problem, time } from '../ui.js';

const HITS = 10;

/* What the parts of a score say, in groups that have a colour each. */
const GROUPS = [
    { label: 'Same words', tint: 'tint-1' },
    { label: 'Around it', tint: 'tint-2' },
    { label: 'What the question asks for', tint: 'tint-3' },
    { label: 'Properties of the passage', tint: 'tint-4' },
    { label: 'Similar meaning', tint: 'tint-5' },
];
const PARTS = {
    bm25: [0, 'words of the question'],
    coverage: [0, 'how many of them'],
    pairs: [0, 'neighbouring words'],
    related: [4, 'words near those of the question'],
    words: [4, 'its words in all'],
    encoded_words: [4, 'its words, read as a sentence'],
    encoded_whole: [4, 'the whole of it'],
    related_prev: [1, 'near words before it'],
    related_next: [1, 'near words after it'],
    words_prev: [1, 'the words before it in all'],
    words_next: [1, 'the words after it in all'],
    encoded_words_prev: [1, 'the words before it, read as a sentence'],
    encoded_words_next: [1, 'the words after it, read as a sentence'],
    encoded_whole_prev: [1, 'the whole of what stands before it'],
    encoded_whole_next: [1, 'the whole of what stands after it'],
    bm25_prev: [1, 'words right before it'],
    bm25_next2: [1, 'words further behind it'],
    bm25_window: [1, 'words around it'],
    bm25_next: [1, 'words after it'],
    bm25_prev2: [1, 'words before it'],
    prev_question_x_bm25: [1, 'follows a question'],
    bm25_session: [1, 'words of the whole section or conversation'],
    speaker_named: [2, 'said by whom the question names'],
    time_cue_x_when: [2, 'says when'],
    number_x_how_many: [2, 'has a number'],
    capitalised_x_who: [2, 'has a name'],
    capitalised_x_where: [2, 'has a place'],
    title_x_work: [2, 'has a title'],
    date_month_year: [2, 'of that month or year'],
    date_day: [2, 'of that day'],
    position_x_recent: [2, 'how late it is'],
    position_x_first: [2, 'how early it is'],
    role_user: [3, 'said or written by you'],
    time_cue: [3, 'mentions a time'],
    capitalised: [3, 'names'],
    first_person: [3, 'first person'],
    first_person_x_speaker: [3, 'first person, of who is named'],
    second_person: [3, 'second person'],
    second_person_x_speaker: [3, 'second person, of who is named'],
    asks: [3, 'asks something'],
    exclaims: [3, 'exclaims'],
    log_length: [3, 'length'],
};
const partOf = (name) => PARTS[name] ?? [3, name];
const number = (n) => `${n < 0 ? '\u2212' : ''}${Math.abs(n).toFixed(2)}`;

const page = {
    title: 'Recall',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx });
        await sheet('pages-recall');
        this.body = h('div', { class: 'recall' });
        root.append(this.body);
        this.fresh = ctx.refresh(['memory.changed', 'note.changed', 'session.changed'], { pause: 1500, ask: () => this.ask(), show: (answer) => this.paint(answer) });
        await this.update();
    },

    async update() {
        const { ctx } = this;
        ctx.head({
            selectors: ['personality', 'user', 'workspace'],
            search: { label: 'Ask memory a question', value: ctx.params.q ?? '', input: (text) => ctx.set({ q: text.trim() || null }) },
        });
        try {
            await this.fresh.now();
        } catch (error) {
            if (error.name !== 'AbortError') fill(this.body, problem(error));
        }
    },

    async ask() {
        const question = this.ctx.params.q ?? '';
        if (!question) return { question };
        const [found, block] = await this.ctx.busy(
            Promise.all([
                this.ctx.own('memory.recall', { question, why: true, limit: HITS }),
                this.ctx.own('memory.prefetch', { query: question }),
            ]),
        );
        return { question, found, block };
    },

    paint({ question, found, block }) {
        if (!question)
            return refill(this.body, empty('Ask a question to see what memory, notes and conversations say about it, and why.', 'ethos recall When do we deploy'));
        const most = Math.max(0.01, ...found.hits.flatMap(({ why }) => why.map(({ score }) => Math.abs(score))));
        refill(
            this.body,
            h(
                'section',
                { class: 'recall-hits', 'aria-label': 'Passages' },
                h('p', { class: 'small muted', role: 'status' }, `${plural(found.hits.length, 'passage')} of ${count(found.units)} \u00b7 ${found.elapsedMs} ms`),
                found.hits.length === 0 ? empty('Nothing was found.') : [this.legend(), found.hits.map((hit, i) => this.hit(hit, i + 1, question, most))],
            ),
            this.prompt(block),
        );
    },

    legend() {
        return h('ul', { class: 'recall-legend small' }, GROUPS.map(({ label, tint }) => h('li', h('i', { class: `recall-key ${tint}`, 'aria-hidden': 'true' }), label)), h('li', h('i', { class: 'recall-key less', 'aria-hidden': 'true' }), 'speaks against it'));
    },

    source({ scope, key, line, role, message }) {
        const { ctx } = this;
        if (message) return [h('a', { href: ctx.href(`sessions/${key}`, { m: message }) }, 'Conversation'), h('span', { class: 'muted' }, role === 'assistant' ? 'the assistant' : 'you')];
        const known = key === 'USER.md' || key === 'MEMORY.md' || !scope.startsWith('workspace:');
        const label = fileLabel(scope, key);
        return [
            key === 'USER.md' || key === 'MEMORY.md' ? h('a', { href: ctx.href('memory') }, label) : h('a', { href: ctx.href(`notes/${encodeURIComponent(key)}`, known ? {} : { w: scope }) }, label),
            h('span', { class: 'muted' }, `${scopeLabel(scope)}, line ${line}`),
        ];
    },

    hit(hit, place, question, most) {
        const whole = hit.why.reduce((sum, { score }) => sum + Math.abs(score), 0) || 1;
        return h(
            'article',
            { class: 'recall-hit' },
            h('div', { class: 'recall-source small' }, h('span', { class: 'muted' }, String(place)), this.source(hit), hit.date ? h('span', { class: 'recall-date muted' }, time(hit.date)) : null),
            h('p', { class: 'recall-text' }, marked(hit.text, (hit.words ?? []).map(({ word, as, near }) => near ?? as ?? word).join(' ') || question)),
            h(
                'details',
                h(
                    'summary',
                    { 'aria-label': `Score ${number(hit.score)}: what it is made of` },
                    h('span', { class: 'recall-bar', 'aria-hidden': 'true' }, hit.why.map(({ part, score }) => h('i', { class: `${GROUPS[partOf(part)[0]].tint} ${score < 0 ? 'less' : ''}`, css: { width: `${(100 * Math.abs(score)) / whole}%` } }))),
                    h('span', { class: 'recall-score' }, number(hit.score)),
                ),
                h('table', { class: 'recall-parts small' }, h('tbody', hit.why.map((row) => this.part(row, most)), h('tr', { class: 'recall-sum' }, h('th', { scope: 'row' }, 'In all'), h('td'), h('td', number(hit.score))))),
            ),
        );
    },

    part({ part, value, weight, score }, most) {
        const [group, label] = partOf(part);
        return h(
            'tr',
            { title: `${part}: ${number(value)} \u00d7 ${number(weight)}` },
            h('th', { scope: 'row' }, label),
            h('td', h('i', { class: `recall-part ${GROUPS[group].tint} ${score < 0 ? 'less' : ''}`, css: { width: `${(100 * Math.abs(score)) / most}%` } })),
            h('td', number(score)),
        );
    },

    /* What an agent's prompt with this question gets, beside what is in every prompt. */
    prompt(block) {
        return h(
            'aside',
            { class: 'recall-prompt', 'aria-label': 'In the prompt' },
            h('h2', 'What a prompt with this question gets'),
            block?.recalled
                ? [h('pre', block.recalled), h('p', { class: 'small muted' }, `${plural(block.found?.length ?? 0, 'passage')}, each with at least 60 % of what the question is about`)]
                : h('p', { class: 'muted' }, 'Nothing: no passage matches the question well enough, or every match is already in every prompt.'),
        );
    },
};

export default page;

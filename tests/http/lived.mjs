// lived.mjs: a home that looks as if somebody had used it for a month: long lines, four scripts, tables, code,
// notes that link, a conflict, conversations. For pictures; what tests compare, they write themselves.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { ethosIn, makeHome } from './server.mjs';

const DAY = 24 * 3600e3;
const CONFLICT = 4; // exit status: the text is kept beside the file

const USER = `# About me

I work on a small team that ships a scheduling product for clinics. Mornings are for deep work; please keep answers short before noon.

## How I like answers

- Short first, details on request
- Show the command before explaining it
- Never apologise, just fix it 🙂
- Metric units, 24-hour clock, ISO dates

## Languages

- 日本語で返事しても大丈夫です。技術用語は英語のままで構いません。
- أفضل أن تكون الرسائل الرسمية بالعربية الفصحى، مع المصطلحات التقنية بالإنجليزية.
- Deutsch ist für Behördenpost.

## Teams

| Who | Role | Reach |
|:----|:-----|------:|
| Platform | owns \`deploy\` and the cluster | #platform |
| Clinic success | asks for exports every quarter | #success |
| 大阪パートナー | partner in Osaka, UTC+9 | mail only |
`;

const MEMORY = `# Working memory

## Deployments

- We deploy on Tuesdays and Thursdays, never on Fridays
- Rollback is \`make rollback ENV=prod\`, takes about four minutes
- Staging uses the same database version as production: PostgreSQL 15
- The release checklist lives in the wiki at https://wiki.example.test/releases/2026/checklist-with-a-very-long-address-that-has-to-wrap-somewhere-or-it-breaks-the-column

## Open threads

- [x] Move the nightly export to 02:30 UTC
- [ ] Ask legal about the retention of appointment notes
- [ ] Benchmark the new index on the Osaka data set 🚀

## Snippets

\`\`\`sh
# appointments that overlap, the slow way
psql "$DATABASE_URL" -c "select a.id, b.id from appointment a join appointment b on a.room = b.room and a.id < b.id and tstzrange(a.start, a.stop) && tstzrange(b.start, b.stop)"
\`\`\`

> The customer said: “I do not need it to be clever, I need it to be there.”

1. Reproduce with the fixture \`clinic-osaka.sql\`
2. Bisect between the last two tags
3. Write the test first

The incident of 12 October was a clock that ran 90 seconds fast on one node; since then ~~ntpd~~ **chrony** is checked in the health page.
`;

const FACTS = [
    'The Osaka pilot starts on 1 December; a written summary goes out on Mondays.',
    'The vendor API returns 429 with `Retry-After` in *minutes*, not seconds.',
    'Feature flags are removed within two releases of being fully on.',
    'Rooms can be booked for five minutes at least, in steps of five.',
    'The export of clinic 114 needs Windows line ends.',
    'Load tests run against staging only, between 20:00 and 06:00 UTC.',
];

const NOTES = [
    ['Running the tests', 'Before make check', 'Tests need a running Redis; start it with `docker compose up redis`. Fixtures: [Test data](test-data.md), and [Ports](ports.md).'],
    ['Ports', 'Which service listens where', 'The API listens on 3000 in development and on 8443 behind the proxy. See [Deploying](deploying.md).'],
    ['Deploying', 'Steps, and what to do when it goes wrong', 'Never on Fridays. First [Running the tests](running-the-tests.md), then the [Release checklist](release-checklist.md); see also [an old page](gone.md).'],
    ['Release checklist', 'The ten points, in order', '1. Changelog\n2. Tag\n3. [Deploying](deploying.md)\n4. Watch the error rate for thirty minutes'],
    ['Test data', 'Where fixtures come from', 'Anonymised once a quarter from production; `make fixtures` fetches them. The Osaka set has appointments that cross midnight.'],
    ['予約の重複', 'トランザクション分離レベルで防ぐ', '予約の重複はトランザクション分離レベルで防ぐ。[Ports](ports.md)'],
    ['Billing rules', 'Half-even, per line', 'Amounts are rounded half-even, per line and not per invoice.'],
    ['A decision about time zones that took three meetings and deserves a title longer than any list has room for', 'Clinics keep local time; everything between them is UTC', 'Appointments are stored in UTC with the zone of the clinic beside them. Changes of the law move the future, never the past.'],
];

const TALKS = [
    ['7a01', 'Overlapping appointments', 9, [
        ['user', 'Two patients had room 3 at the same time yesterday. How can that happen?'],
        ['assistant', 'Let me look at how a booking is checked.', ['Bash', { command: 'grep -rn overlap src/booking | head' }, 'src/booking/check.c:88:  if (overlaps(a, b)) return BOOKED;\nsrc/booking/check.c:131: // not under the lock']],
        ['assistant', 'The check on line 131 runs **outside the lock**: two requests can both see the room free.\n\n| step | first request | second request |\n|---|---|---|\n| 1 | room is free | |\n| 2 | | room is free |\n| 3 | books | books |\n\n```c\nlock(room);\nif (overlaps(a, b)) return unlock(room), BOOKED;\n```\n\nAn exclusion constraint in the database closes it for good.'],
        ['user', 'Do both. And remember that rooms are booked in steps of five minutes.'],
        ['assistant', 'Done: the lock comes first now, and the constraint refuses what slips through. I noted the five minutes.'],
    ]],
    ['7a02', 'Slow nightly export', 4, [['user', 'The export of last night took 50 minutes instead of ten. Why?'], ['assistant', 'The index on `appointment(room, start)` is not used since the last upgrade: its statistics are of March. `analyze appointment` brings it back to nine minutes.']]],
    ['7a03', '週次レポート', 2, [['user', '先週のデプロイを日本語で三行にまとめてください。'], ['assistant', '火曜と木曜に二回デプロイしました。\n障害はありませんでした。\n夜間エクスポートは 02:30 UTC に移りました。']]],
    ['7a04', 'Retry-After of the vendor', 1, [['user', 'Why do we hammer the vendor after a 429?'], ['assistant', 'Their `Retry-After` counts minutes; we read it as seconds.']]],
];

function transcript(id, title, messages, start) {
    const lines = [];
    let parent = null, at = start;
    const say = (type, content) => {
        const uuid = `${id}0000-0000-4000-8000-${String(lines.length).padStart(12, '0')}`;
        lines.push({ parentUuid: parent, isSidechain: false, cwd: '/src/clinic-scheduler', sessionId: id, type, uuid, timestamp: new Date(at += 40e3).toISOString(), message: { role: type, content, ...(type === 'assistant' && { id: uuid, model: 'claude-sonnet', usage: { input_tokens: 900, output_tokens: 120 } }) } });
        parent = uuid;
    };
    for (const [role, text, tool] of messages) {
        if (!tool) { say(role, role === 'user' ? text : [{ type: 'text', text }]); continue; }
        const call = `toolu_${id}${lines.length}`;
        say(role, [{ type: 'text', text }, { type: 'tool_use', id: call, name: tool[0], input: tool[1] }]);
        say('user', [{ type: 'tool_result', tool_use_id: call, content: tool[2] }]);
    }
    lines.push({ type: 'ai-title', aiTitle: title, sessionId: id });
    return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

// ---- time ---------------------------------------------------------------------------------------------

const TABLE = Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0x82f63b78 : n >>> 1;
    return n >>> 0;
});

const crc32c = (bytes) => (bytes.reduce((crc, byte) => (crc >>> 8) ^ TABLE[(crc ^ byte) & 255], 0xffffffff) ^ 0xffffffff) >>> 0;

// Spreads the changes of a file over the last days: the lines of its history get other times.
function spread(folder, days) {
    const path = join(folder, 'memory-history.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
    const first = Date.now() - days * DAY;
    writeFileSync(path, lines.map((line, i) => {
        const time = Math.round(first + (days * DAY - 9 * 60e3) * (i + 1) / lines.length);
        const body = line.replace(/,"crc":"[0-9a-f]{8}"\}$/, '').replace(/^\{"ts":\d+/, `{"ts":${time}`);
        return `${body},"crc":"${crc32c(Buffer.from(body)).toString(16).padStart(8, '0')}"}\n`;
    }).join(''));
}

// ---- the home -----------------------------------------------------------------------------------------

/** {home, project, workspace (its id), session (one that has tools)} */
export function livedIn() {
    const home = makeHome(), around = dirname(home), project = join(around, 'clinic-scheduler');
    mkdirSync(project);
    const run = (...args) => ethosIn(home, project, '', ...args);
    const write = (text, ...args) => ethosIn(home, project, text, 'memory', 'write', ...args);
    run('personality', 'create', 'engineer', '--name', 'Engineer');
    run('personality', 'create', 'gardener', '--name', 'Garden planner');
    write(USER, '--store', 'user');
    run('memory', 'add', '--store', 'user', 'Allergic to peanuts; do not suggest satay recipes.');
    run('memory', 'remove', 'Deutsch ist', '--store', 'user');
    write(MEMORY);
    for (const fact of FACTS) run('memory', 'add', fact);
    const memory = run('memory', 'get', '--json').path;
    writeFileSync(memory, readFileSync(memory, 'utf8').replace('takes about four minutes', 'takes about three minutes since the image cache'));
    run('memory', 'show');
    run('memory', 'add', '-p', 'engineer', 'Prefer table-driven tests; run `make check` before pushing.');
    run('memory', 'add', '-p', 'gardener', 'Tomatoes went to the south bed this year; beans follow next spring 🌱');
    for (const [title, hook, text] of NOTES) run('remember', text, '--title', title, '--hook', hook);
    conflict(home, project, memory);
    spread(dirname(memory), 24);
    spread(dirname(run('memory', 'get', '--store', 'user', '--json').path), 30);
    spread(dirname(run('notes', 'show', 'ports', '--json').path), 12);
    const talks = join(around, 'talks', '-src-clinic-scheduler');
    mkdirSync(talks, { recursive: true });
    for (const [id, title, days, messages] of TALKS) writeFileSync(join(talks, `${id}.jsonl`), transcript(id, title, messages, Date.now() - days * DAY));
    run('sessions', 'import', dirname(talks));
    const { id: workspace } = run('workspaces', 'list', '--json').workspaces[0];
    const session = run('sessions', 'list', '--all', '--json').items.find((one) => one.title === TALKS[0][1]).id;
    return { home, project, workspace, session };
}

// One line, changed in an editor and beneath it at the same time.
function conflict(home, project, memory) {
    const editor = join(project, 'editor');
    writeFileSync(editor, `sed -i 's/Tuesdays and Thursdays/Mondays and Wednesdays/' "$1"\nsed -i 's/Tuesdays and Thursdays/Tuesdays only/' '${memory}'\n`);
    process.env.EDITOR = `sh ${editor}`;
    try {
        ethosIn(home, project, '', 'memory', 'edit');
    } catch (error) {
        if (error.status !== CONFLICT) throw error;
    }
    delete process.env.EDITOR;
}

/** A folder with ten thousand notes; gives the id of its workspace. */
export function manyNotes(home) {
    const folder = join(dirname(home), 'archive');
    mkdirSync(folder);
    const run = (...args) => ethosIn(home, folder, '', ...args);
    run('remember', 'The first.', '--title', 'First');
    const notes = dirname(run('notes', 'show', 'first', '--json').path);
    const kinds = ['project', 'reference', 'user', 'feedback'];
    for (let i = 0; i < 10000; i++) {
        const links = [(i * 7) % 10000, (i * 13 + 5) % 10000].map((to) => `[Ticket ${to}](ticket-${to}.md)`).join(', ');
        writeFileSync(join(notes, `ticket-${i}.md`), `---\nname: Ticket ${i}\ndescription: What was decided in ticket ${i}, and why\nmetadata:\n  type: ${kinds[i % 4]}\n---\n\nDecided. See ${i % 3 ? links : 'nothing else'}.\n`);
    }
    return run('workspaces', 'list', '--json').workspaces.find((one) => one.paths.some((path) => path.path === folder)).id;
}

/** So much that a prompt has no room for it. */
export function overflow(home) {
    const { path } = ethosIn(home, undefined, '', 'memory', 'get', '-p', 'engineer', '--json');
    appendFileSync(path, Array.from({ length: 340 }, (_, i) => `- Review ${i}: ${FACTS[i % FACTS.length]}\n`).join(''));
}


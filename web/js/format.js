/*
 * format.js: times, sizes and counts in words. No state.
 */

const MINUTE = 60e3,
    HOUR = 60 * MINUTE,
    DAY = 24 * HOUR;

/* By hand: the browser's own formats take longer to load than everything else here together. */
const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

export const ms = (time) => (typeof time === 'number' ? time : Date.parse(time));
export const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');
export const plural = (n, word, words = `${word}s`) => `${count(n)} ${n === 1 ? word : words}`;

const two = (n) => String(n).padStart(2, '0');

/** "14:03". */
export function clock(time) {
    const date = new Date(ms(time));
    return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** "12 Mar"; zone: 'UTC', or left out for the time here. */
export function dayMonth(time, zone = '') {
    const date = new Date(ms(time));
    const [day, month] = [date[`get${zone}Date`](), date[`get${zone}Month`]()];
    return `${day} ${MONTHS[month].slice(0, 3)}`;
}

/** "12 Mar 2025". */
function fullDate(time) {
    return `${dayMonth(time)} ${new Date(ms(time)).getFullYear()}`;
}

/** "just now", "3 min ago", "2 h ago", "5 days ago", "12 Mar". */
export function ago(time, now = Date.now()) {
    const age = now - ms(time);
    if (!Number.isFinite(age)) return '';
    if (age < MINUTE) return 'just now';
    if (age < HOUR) return `${Math.floor(age / MINUTE)} min ago`;
    if (age < DAY) return `${Math.floor(age / HOUR)} h ago`;
    if (age < 14 * DAY) return `${plural(Math.floor(age / DAY), 'day')} ago`;
    return sameYear(time, now) ? dayMonth(time) : fullDate(time);
}

const sameYear = (a, b) => new Date(ms(a)).getFullYear() === new Date(ms(b)).getFullYear();
const dayKey = (time) => new Date(ms(time)).toDateString();

/** "Today", "Yesterday", "Thursday, 5 November", "3 Feb 2025". */
export function day(time, now = Date.now()) {
    if (dayKey(time) === dayKey(now)) return 'Today';
    if (dayKey(time) === dayKey(now - DAY)) return 'Yesterday';
    if (!sameYear(time, now)) return fullDate(time);
    const date = new Date(ms(time));
    return `${WEEKDAYS[date.getDay()]}, ${date.getDate()} ${MONTHS[date.getMonth()]}`;
}

export const sameDay = (a, b) => dayKey(a) === dayKey(b);

/** "12 Nov 2026, 14:03". */
export const moment = (time) => `${fullDate(time)}, ${clock(time)}`;

/** "14:03" of today, else with the day. */
export const dayClock = (time) => (sameDay(time, Date.now()) ? clock(time) : moment(time));

export function bytes(n) {
    if (n < 1000) return plural(n, 'byte');
    if (n < 1e6) return `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)} kB`;
    return `${(n / 1e6).toFixed(1)} MB`;
}

const VIA = {
    cli: 'the command line',
    editor: 'an editor',
    web: 'the dashboard',
    http: 'the dashboard',
    mcp: 'MCP',
    hook: 'a hook',
    external: 'an edit of the file',
    seen: 'an edit of the file',
    undo: 'undo',
    restore: 'restore',
    import: 'import',
    merge: 'a merge',
    migrate: 'a migration',
    'claude-code': 'Claude Code',
    codex: 'Codex',
    'memory-tool': 'the memory tool',
};

export const via = (name) => VIA[name] ?? name;

const ACTORS = { owner: 'you', external: 'an edit of the file', ethos: 'ethos itself' };

export const actor = (name) => ACTORS[name] ?? name ?? 'unknown';

/* "untrusted, approved by you"; of your own changes nothing. */
const trustOf = ({ trust, approvedBy }) =>
    [trust === 'owner' ? null : trust, approvedBy ? `approved by ${actor(approvedBy)}` : null]
        .filter(Boolean)
        .join(', ');

/** "you via the command line", "codex via MCP (agent)": who made a recorded change. */
export function who(change) {
    if (!change) return '';
    const by = actor(change.actor ?? (change.via === 'external' ? 'external' : null));
    const maker = change.via && change.via !== change.actor ? `${by} via ${via(change.via)}` : by;
    const trust = trustOf(change);
    return trust ? `${maker} (${trust})` : maker;
}

/** "running-the-tests-1a2b3c4d.md" as "running-the-tests". */
export const noteName = (key) =>
    key.replace(/\.md$/, '').replace(/^(?!note-)(.+)-[0-9a-f]{8}$/, '$1');

/** "About you", "Memory", "Workspace index", "Note running-the-tests". */
export function fileLabel(scope, key) {
    if (key === 'USER.md') return 'About you';
    if (key !== 'MEMORY.md') return `Note ${noteName(key)}`;
    return scope.startsWith('workspace:')
        ? 'Workspace index'
        : scope.startsWith('team:')
          ? 'Team memory'
          : 'Memory';
}

/** "workspace:proj-9c8827130867" as "proj". */
export function scopeLabel(scope) {
    const [kind, id = ''] = scope.split(/:(.*)/s);
    if (kind === 'workspace') return id.replace(/-[0-9a-f]{12}$/, '');
    return kind === 'global' ? 'shared' : id;
}

/** Without the empty one behind the last newline. */
export const linesOf = (text) => {
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    return lines;
};

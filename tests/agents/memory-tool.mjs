// memory-tool.mjs ETHOS PEERS HOME: random commands through `ethos memory-tool` and through the file
// implementation of Anthropic's SDK. Replies and trees are the same, but for the differences that
// docs/memory-tool.md lists; each of those is named here, and must be met at least once.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';

const [ethos, , home] = process.argv.slice(2);
const COMMANDS = Number(process.env.COMMANDS ?? 800);
const ours = join(home, '.ethos/personalities/default/memories');
const theirs = join(home, 'sdk/memories');
const sdk = await BetaLocalFilesystemMemoryTool.init(join(home, 'sdk'));

// ---- chance, the same in every run -----------------------------------------------------------

let seed = Number(process.env.SEED ?? 1);
function chance(below) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
}
const pick = (list) => list[chance(list.length)];

const names = ['a', 'b', 'c d', 'a-b', 'é.md', 'n.txt', 'node_modules'];
const lines = ['one', 'two', 'one two', '', 'tab\there', 'ünï', '$& $1', 'one one'];
const refused = [
    '/memoriesX', '/memoriesX/a', '/etc/passwd', 'memories/a', '/memories/../a', '/memories/a/../b',
    '/memories/%2e%2e/a', '/memories/a/%2E%2e/b', '/memories/..\\a', '/memories/.hidden',
    '/memories/a/.git/config', '/memories//a', '/memories/a"b', '/memories/a\\b', '/memories/a\nb',
    '/memories/nul\0', '/memories/memory-history.jsonl', '/memories/' + 'k'.repeat(225),
];

function randomPath() {
    if (chance(12) === 0) return pick(refused);
    if (chance(12) === 0) return '/memories';
    let path = '/memories';
    for (let i = 1 + chance(3); i > 0; i--) path += '/' + pick(names);
    return chance(15) === 0 ? path + '/' : path;
}

const randomText = () => Array.from({ length: chance(7) }, () => pick(lines)).join('\n');

// A path that is there more often than chance would have it.
function likelyPath() {
    const all = walk(theirs, '');
    return chance(3) && all.length ? '/memories/' + pick(all) : randomPath();
}

function randomPiece(path) {
    const text = fileAt(path);
    if (!text || chance(4) === 0) return chance(10) === 0 ? '' : pick(lines) || 'one';
    const from = chance(text.length);
    return text.slice(from, from + 1 + chance(12));
}

function randomCommand() {
    const path = likelyPath();
    switch (chance(6)) {
        case 0: {
            const range = chance(2) ? [chance(9) - 1, pick([-1, -1, 0, 1, 2, 3, 5, 9])] : undefined;
            return { command: 'view', path, ...(range && { view_range: range }) };
        }
        case 1:
            return { command: 'create', path: randomPath(), file_text: randomText() };
        case 2:
            return { command: 'str_replace', path, old_str: randomPiece(path), new_str: chance(2) ? pick(lines) : randomText() };
        case 3:
            return { command: 'insert', path, insert_line: chance(9) - 1, insert_text: randomText() + (chance(2) ? '\n' : '') };
        case 4:
            return chance(2) ? { command: 'delete', path } : { command: 'view', path: '/memories' };
        default:
            return { command: 'rename', old_path: path, new_path: chance(8) ? randomPath() : path.replace(/\/$/, '') + '/' + pick(names) };
    }
}

// ---- the two trees ---------------------------------------------------------------------------

const isSidecar = (name) => name.startsWith('.') || name.startsWith('memory-history') || name === 'history-blobs';

// Keys of all files; and of directories, with a slash.
function walk(dir, at, directories = false) {
    const found = [];
    if (!existsSync(dir)) return found;
    for (const name of readdirSync(dir).sort()) {
        if (!at && isSidecar(name)) continue;
        const key = at ? at + '/' + name : name;
        if (statSync(join(dir, name)).isDirectory()) {
            if (directories) found.push(key + '/');
            found.push(...walk(join(dir, name), key, directories));
        } else {
            found.push(key);
        }
    }
    return found;
}

const keyOf = (path) => path.replace(/^\/memories\/?/, '').replace(/\/$/, '');
const kindAt = (path) => {
    const full = join(theirs, keyOf(path));
    return !existsSync(full) ? 'nothing' : statSync(full).isDirectory() ? 'directory' : 'file';
};
const fileAt = (path) => (refused.includes(path) || kindAt(path) !== 'file' ? undefined : readFileSync(join(theirs, keyOf(path)), 'utf8'));

// Whether a directory on the way to the path is a file.
function isBlocked(path) {
    for (let at = dirname(keyOf(path)); at !== '.'; at = dirname(at)) if (kindAt('/memories/' + at) === 'file') return true;
    return false;
}

// An empty directory is none with us.
function prune(dir, top = true) {
    for (const name of readdirSync(dir)) if (statSync(join(dir, name)).isDirectory()) prune(join(dir, name), false);
    if (!top && readdirSync(dir).length === 0) {
        rmdirSync(dir);
        note('empty directories');
    }
}

function sameTrees() {
    const keys = walk(ours, '', true);
    if (keys.join('\n') !== walk(theirs, '', true).join('\n')) return false;
    return keys.every((key) => key.endsWith('/') || readFileSync(join(ours, key)).equals(readFileSync(join(theirs, key))));
}

// ---- running ---------------------------------------------------------------------------------

function runOurs(command) {
    const run = spawnSync(ethos, ['--json', 'memory-tool'], { input: JSON.stringify(command), encoding: 'utf8' });
    if (run.status !== 0) return { text: `exit ${run.status}: ${run.stderr}`, isError: true };
    return JSON.parse(run.stdout);
}

async function runTheirs(command) {
    try {
        return { text: await sdk[command.command](command), isError: false };
    } catch (error) {
        return { text: error.message, isError: true };
    }
}

// ---- the listed differences ------------------------------------------------------------------

const met = {
    'refused paths': 0, 'Error:': 0, 'sizes': 0, 'slash at the end': 0, 'pieces of several lines': 0, 'twice in a line': 0,
    'empty old_str': 0, 'long snippets': 0, 'ranges without lines': 0, 'a directory is no file': 0, 'below a file': 0,
    'into itself': 0, 'insert into nothing': 0, 'empty directories': 0,
};
function note(name) {
    met[name]++;
    return name;
}

// What a piece is replaced by when it may span lines: the text, or why not.
function replaced(text, { old_str: old, new_str: piece }) {
    if (old === '') return { error: 'is empty' };
    const first = text.indexOf(old);
    if (first < 0) return { error: 'did not appear verbatim' };
    if (text.indexOf(old, first + 1) >= 0) return { error: 'Multiple occurrences' };
    return { text: text.slice(0, first) + piece + text.slice(first + old.length) };
}

// Which difference makes the SDK's own answer useless here; it is then not asked.
function alone(command) {
    const paths = [command.path, command.old_path, command.new_path].filter((path) => path !== undefined);
    if (paths.some((path) => refused.includes(path))) return 'refused paths';
    if (command.command === 'str_replace' && fileAt(command.path) !== undefined) {
        const text = fileAt(command.path), old = command.old_str;
        if (old === '') return 'empty old_str';
        if (old.includes('\n')) return 'pieces of several lines';
        if (text.split('\n').some((line) => line.indexOf(old) >= 0 && line.indexOf(old, line.indexOf(old) + 1) >= 0)) return 'twice in a line';
    }
    return undefined;
}

// Checks such an answer by itself, and lets the SDK's tree follow.
function judgeAlone(why, command, reply) {
    if (why === 'refused paths') return reply.isError && /would escape|must start|is not allowed/.test(reply.text);
    const wanted = replaced(fileAt(command.path), command);
    if (wanted.error) return reply.isError && reply.text.includes(wanted.error);
    writeFileSync(join(theirs, keyOf(command.path)), wanted.text);
    return !reply.isError && reply.text.startsWith('The memory file has been edited. Here is the snippet');
}

// Sizes of files in our form; those of directories say something else.
function plainSizes(text, path) {
    return text.split('\n').map((line, i) => {
        const [size, shown] = line.split('\t');
        if (i === 0 || shown === undefined) return line;
        if (shown === path || shown.endsWith('/')) return '\t' + shown;
        return size.replace(/^(\d+)([KMG])$/, '$1.0$2') + '\t' + shown;
    }).join('\n');
}

// Whether both say the same but for what is listed; a word for each difference met.
function agree(command, mine, other, before) {
    const path = command.path ?? command.old_path;
    const short = { ...command };
    if (path.endsWith('/') && path.length > 1) {
        note('slash at the end');
        short.path = path.slice(0, -1);
        other = { ...other, text: other.text.split(path + '/').map((part) => part.replaceAll(path, short.path)).join(path) };
    }
    if (command.new_path?.endsWith('/')) other = { ...other, text: other.text.replaceAll(command.new_path, command.new_path.slice(0, -1)) };
    let mineText = mine.text;
    if (mine.isError && other.isError && mineText.startsWith('Error: ') && !other.text.startsWith('Error: ')) {
        note('Error:');
        mineText = mineText.slice('Error: '.length);
    }
    if (mine.isError === other.isError && mineText === other.text) return true;
    if (command.command === 'view' && command.view_range && !other.isError && other.text.endsWith(':\n') && mine.isError)
        return note('ranges without lines') && mine.text.includes('Invalid `view_range`');
    if (command.command === 'view' && command.view_range && !other.isError && mine.isError && command.view_range[1] < command.view_range[0])
        return note('ranges without lines') && mine.text.includes('Invalid `view_range`');
    if (command.command === 'view' && before.kind === 'directory') {
        note('sizes');
        return !mine.isError && !other.isError && plainSizes(mine.text, short.path) === plainSizes(other.text, short.path);
    }
    if (!mine.isError || !other.isError) {
        const snippet = command.command === 'str_replace' && command.new_str.includes('\n') && !mine.isError && !other.isError;
        return snippet && note('long snippets') && mine.text.startsWith(other.text);
    }
    if (before.blocked && other.text.startsWith('ENOTDIR'))
        return note('below a file') && /is a file, not a directory|does not exist|already exists|is inside|itself/.test(mine.text);
    if (['insert', 'str_replace'].includes(command.command) && before.kind === 'directory')
        return note('a directory is no file') && other.text.endsWith('is not a file.') && mine.text.includes('does not exist');
    if (command.command === 'insert' && before.kind === 'nothing')
        return note('insert into nothing') && other.text === mineText + '. Please provide a valid path.';
    if (command.command === 'rename' && (command.new_path + '/').startsWith(path.replace(/\/$/, '') + '/'))
        return note('into itself') && / is inside |already exists|does not exist/.test(mine.text);
    return false;
}

// ---- the trial -------------------------------------------------------------------------------

let equal = 0, wrong = 0;
for (let i = 0; i < COMMANDS && wrong < 10; i++) {
    const command = randomCommand();
    const path = command.path ?? command.old_path;
    const why = alone(command);
    const before = why === 'refused paths' ? {} : {
        kind: kindAt(path),
        blocked: isBlocked(path) || (command.new_path !== undefined && isBlocked(command.new_path)),
    };
    const mine = runOurs(command);
    let right, other;
    if (why) {
        note(why);
        right = judgeAlone(why, command, mine);
    } else {
        other = await runTheirs(command);
        right = agree(command, mine, other, before);
        equal += mine.text === other.text && mine.isError === other.isError;
    }
    prune(theirs);
    if (right && sameTrees()) continue;
    wrong++;
    console.log(`# ${JSON.stringify(command)}\n# ours:   ${JSON.stringify(mine)}\n# theirs: ${JSON.stringify(other)}`);
    if (!sameTrees()) {
        console.log(`# the trees differ:\n# ${walk(ours, '', true)}\n# ${walk(theirs, '', true)}`);
        break;
    }
}
const unmet = Object.keys(met).filter((name) => met[name] === 0);
console.log('1..2');
console.log(`${wrong ? 'not ' : ''}ok 1 - ${COMMANDS} commands: ${equal} answered in the same words, ${wrong} differ in a way that is not listed`);
console.log(`${unmet.length ? 'not ' : ''}ok 2 - listed differences, how often met: ${Object.entries(met).map(([name, count]) => `${name} ${count}`).join(', ')}`);
process.exit(wrong || unmet.length ? 1 : 0);

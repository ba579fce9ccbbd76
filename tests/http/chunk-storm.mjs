// chunk-storm.mjs: entries changed through the SDK while four writers and an editor change the same file. An update
// lands on the entry that was named or is a conflict, and nothing that was acknowledged is lost: it is in the file, or
// its history tells who took it away.
import { execFile } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { bin, ethos as run, makeHome, serve, tree } from './server.mjs';
import { finish, must, test } from './tap.mjs';

const { createClient } = await import(pathToFileURL(join(tree, 'sdk/js/ethos.js')));

const ENTRIES = 60, WRITERS = 4, ADDS = 30, CLIENTS = 3, LONG = process.env.CHECK_LONG ? 8 : 1;
const home = makeHome();
run(home, 'memory', 'add', 'Entry first');
const file = join(home, 'personalities/default/MEMORY.md');
const key = run(home, 'api-key', 'create', 'storm', '--scope', 'memory:read', '--scope', 'memory:write', '--json').key;
const server = await serve(home);

// The name of an entry; the rest of it changes.
const nameOf = (content) => /^Entry (\S+)/.exec(content)?.[1];
const acknowledged = new Set(); // texts that somebody was told are written
const counts = { updated: 0, deleted: 0, conflicts: 0, edits: 0 };
let over = false, number = 0;

const command = (...args) => new Promise((resolve) =>
    execFile(join(bin, 'ethos'), args, { env: { ...process.env, ETHOS_HOME: home } }, (error, stdout, stderr) => resolve({ ok: !error, stderr })));

async function writer(which) {
    for (let i = 0; i < ADDS * LONG; i++) {
        const text = `Entry w${which}.${i} v0`;
        const { ok, stderr } = await command('memory', 'add', text);
        must(ok, stderr);
        acknowledged.add(text);
    }
}

// Saves the whole file as it was read a moment ago, with one line changed, as an editor does.
async function editor() {
    while (!over) {
        const lines = readFileSync(file, 'utf8').split('\n');
        const at = lines.findIndex((line, i) => i >= counts.edits % lines.length && /^- Entry e\d+/.test(line));
        if (at >= 0) lines[at] = lines[at].replace(/ v\S+$/, ` ve${counts.edits}`);
        writeFileSync(`${file}.new`, lines.join('\n'));
        renameSync(`${file}.new`, file);
        counts.edits++;
        await new Promise((resolve) => setImmediate(resolve));
        await command('memory', 'get'); // and lets the others write between two saves
    }
}

// What was listed is a while old, as on a page that somebody looks at.
async function change(client, which, items) {
    const chunk = items[(number * 7 + which * 31) % items.length];
    const name = nameOf(chunk.content), remove = number++ % 9 === 8 && name.startsWith('s');
    const content = `Entry ${name} v${which}.${number}`;
    try {
        if (remove) {
            await client.memory.chunks.delete({ id: chunk.id });
            counts.deleted++;
            return;
        }
        const answer = await client.memory.chunks.update({ id: chunk.id, content, ifRevision: chunk.revision });
        must(answer.previousId === chunk.id && answer.chunk.content === content, 'another entry');
        acknowledged.add(content);
        counts.updated++;
    } catch (error) {
        if (error.code !== 'MEMORY_CONFLICT') throw error;
        must(error.status === 409, `status ${error.status}`);
        counts.conflicts++;
    }
}

async function client(which) {
    const own = createClient({ baseUrl: server.origin, apiKey: key });
    for (let i = 0, items; !over || counts.updated < 100; i++) {
        if (i % 4 === 0) ({ items } = await own.memory.chunks.list({ limit: 200 }));
        await change(own, which, items);
    }
}

await test('four writers, an editor and three clients of the SDK change one file', async () => {
    const first = Array.from({ length: ENTRIES }, (_, i) => `- Entry ${i % 2 ? 'e' : 's'}${i} v0`);
    const one = createClient({ baseUrl: server.origin, apiKey: key });
    await one.memory.write({ store: 'memory', content: `# Log\n\n${first.join('\n')}\n` });
    const others = [editor(), ...Array.from({ length: CLIENTS }, (_, i) => client(i))];
    await Promise.all(Array.from({ length: WRITERS }, (_, i) => writer(i)));
    over = true;
    await Promise.all(others);
    await one.memory.chunks.list();
    console.log(`# ${JSON.stringify(counts)}`);
    must(counts.updated >= 100 && counts.deleted > 0 && counts.conflicts > 0 && counts.edits > 5, JSON.stringify(counts));
});

// What each version took away and added, from its diff.
const versions = run(home, 'memory', 'history', '--diff', '--json');
const changed = versions.map((entry) => {
    const lines = (entry.diff ?? '').split('\n');
    const of = (mark) => lines.filter((line) => line.startsWith(mark) && !line.startsWith(mark.repeat(3))).map((line) => line.slice(1).replace(/^- /, ''));
    return { entry, gone: of('-'), come: of('+') };
});

await test('every entry is there once at most, and the file is the one that is read', async () => {
    const text = readFileSync(file, 'utf8');
    const names = text.split('\n').map((line) => nameOf(line.replace(/^- /, ''))).filter(Boolean);
    const twice = names.filter((name, i) => names.indexOf(name) !== i);
    must(twice.length === 0, `twice: ${twice}`);
    must(run(home, 'memory', 'get') === text, 'memory get is not the file');
});

await test('no update landed on another entry than the one that was named', async () => {
    const updates = changed.filter(({ entry, gone, come }) => entry.source !== 'external' && gone.length === 1 && come.length === 1);
    must(updates.length >= 100, `${updates.length} updates in ${changed.length} versions`);
    const wrong = updates.filter(({ gone, come }) => nameOf(gone[0]) !== nameOf(come[0]));
    must(wrong.length === 0, JSON.stringify(wrong.slice(0, 3)));
});

await test('nothing that was acknowledged is lost: it is in the file, or in the history', async () => {
    const text = readFileSync(file, 'utf8');
    const told = new Set(changed.flatMap(({ come }) => come));
    const lost = [...acknowledged].filter((line) => !text.includes(`${line}\n`) && !told.has(line));
    console.log(`# ${acknowledged.size} acknowledged, ${changed.length} versions`);
    must(lost.length === 0, `lost: ${lost.slice(0, 5)} and ${lost.length} in all`);
});

await test('the history is whole', async () => {
    const report = run(home, 'doctor', '--json');
    const bad = (report.findings ?? []).filter((one) => one.severity === 'error');
    must(bad.length === 0, JSON.stringify(bad));
});

await server.stop();
finish();

// example.js: a page that shows USER.md, saves it, and follows it.
//
// Shown by the server itself it needs nothing. On an origin of its own it is told where the server is, and
// by which key it comes: index.html?server=http://localhost:3000#sk-ethos-... (what follows # stays here).
import { createClient } from '../ethos.js';

const ethos = createClient({
    baseUrl: new URLSearchParams(location.search).get('server') ?? undefined,
    apiKey: location.hash.slice(1) || undefined,
});
const element = (id) => document.getElementById(id);
const say = (words) => { element('state').value = words; };
let file;

const isTyped = () => file && element('text').value !== file.content;

async function load() {
    const answer = await ethos.memory.get({ store: 'user' });
    if (isTyped()) return; // meanwhile
    file = answer.file;
    element('path').textContent = file.path ?? '';
    element('text').value = file.content;
}

async function save(event) {
    event.preventDefault();
    const content = element('text').value;
    try {
        ({ file } = await ethos.memory.write({ store: 'user', content, expectedRevision: file.revision }));
        say('Saved.');
    } catch (error) {
        say(error.code === 'MEMORY_CONFLICT' ? 'Somebody else changed it: reload first.' : error.message);
    }
}

async function follow(event) {
    if (event.type !== 'reset' && !(event.type === 'memory.changed' && event.key === 'USER.md')) return;
    if (event.revision && event.revision === file?.revision) return; // our own
    if (isTyped()) say('The file changed; your text is not saved yet.');
    else await load().then(() => say('Up to date.'), (error) => say(error.message));
}

element('form').addEventListener('submit', save);
// What changed before the stream stands is not reported on it.
const fail = (error) => say(error.message);
const refresh = () => load().catch(fail);
ethos.events({ onEvent: follow, onOpen: refresh, onError: fail });
refresh();

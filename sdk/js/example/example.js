// example.js: a page that shows USER.md, saves it, and follows it.
import { createClient } from '../ethos.js';

const ethos = createClient(); // the server that shows this page, as whoever is logged in
const element = (id) => document.getElementById(id);
const say = (words) => { element('state').value = words; };
let file;

async function load() {
    ({ file } = await ethos.memory.get({ store: 'user' }));
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

element('form').addEventListener('submit', save);
ethos.events({
    onEvent(event) {
        const edited = file && element('text').value !== file.content;
        if (event.type === 'memory.changed' && event.key === 'USER.md')
            edited ? say('The file changed; your text is not saved yet.') : load();
    },
    onError: (error) => say(error.message),
});
load().catch((error) => say(error.message));

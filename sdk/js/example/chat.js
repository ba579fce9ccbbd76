// chat.js: a page that talks to the agent. docs/chat-page.md explains it.
//
// The server's own copy needs no settings. On another origin, pass the server and an API key:
// chat.html?server=http://localhost:3000#sk-ethos-... (browsers do not send what follows #).
import { createClient } from '../ethos.js';

const ethos = createClient({
    baseUrl: new URLSearchParams(location.search).get('server') ?? undefined,
    apiKey: location.hash.slice(1) || undefined,
});
const element = (id) => document.getElementById(id);
let sessionId; // the server creates the session with the first message
let turn;

function addMessage(className, text) {
    const paragraph = document.createElement('p');
    paragraph.className = className;
    paragraph.textContent = text; // never HTML: a model's answer is not trusted
    element('messages').append(paragraph);
    return paragraph;
}

async function send(event) {
    event.preventDefault();
    if (turn) return;
    const text = element('text').value;
    turn = ethos.chat(text, { sessionId });
    element('stop').disabled = false;
    element('state').value = '';
    addMessage('question', text);
    const answer = addMessage('answer', '');
    try {
        ({ sessionId } = await turn.sent);
        element('text').value = '';
        for await (const event of turn) {
            if (event.type === 'text_delta') answer.append(event.text);
            if (event.type === 'tool_start') element('state').value = `Using ${event.toolName}`;
            if (event.type === 'done') element('state').value = '';
            if (event.type === 'memory.captured') addMessage('remembered', event.summary);
        }
    } catch (error) {
        element('state').value = error.message;
    }
    turn = undefined;
    element('stop').disabled = true;
}

element('form').addEventListener('submit', send);
element('stop').addEventListener('click', () => turn?.abort().catch((error) => { element('state').value = error.message; }));

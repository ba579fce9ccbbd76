// model.mjs: a model's server on loopback that says what a test lets it say, when it lets it.
import { createServer } from 'node:http';

const HEAD = { 'content-type': 'text/event-stream' };
const chunk = (delta, more = {}) => `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'stub-model', choices: [{ index: 0, delta, ...more }] })}\n\n`;
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234 } })}\n\n`;

// One answer. The client may go away: closed resolves.
class Answer {
    constructor(request, response) {
        this.request = request;
        this.response = response;
        this.closed = new Promise((resolve) => response.on('close', resolve));
    }

    get question() {
        return this.request.messages.findLast(({ role }) => role === 'user').content;
    }

    // Whether the last message is what a tool gave.
    get afterTool() {
        return this.request.messages.at(-1).role === 'tool';
    }

    say(text) {
        this.#begin();
        for (const piece of text.match(/\s*\S+\s*/g) ?? [text]) this.response.write(chunk({ content: piece }));
        return this;
    }

    call(name, args, id = 'call-1') {
        this.#begin();
        this.response.write(chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] }));
        this.called = true;
        return this;
    }

    end() {
        this.#begin();
        this.response.write(chunk({}, { finish_reason: this.called ? 'tool_calls' : 'stop' }));
        this.response.end(`${USAGE}data: [DONE]\n\n`);
    }

    refuse(status, message) {
        this.response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
    }

    #begin() {
        if (!this.response.headersSent) this.response.writeHead(200, HEAD);
    }
}

// {url, next(), requests, rule, stop()}. An answer is given to who waits for it by next(), else to rule(answer).
export async function startModel() {
    const waiting = [];
    const model = { requests: [], rule: (answer) => answer.say('Fine.').end(), next: () => new Promise((resolve) => waiting.push(resolve)) };
    const server = createServer(async (request, response) => {
        if (request.method === 'GET') return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"id":"stub-model"},{"id":"large-model"}]}');
        let text = '';
        for await (const part of request) text += part;
        const answer = new Answer(JSON.parse(text), response);
        model.requests.push(answer.request);
        (waiting.shift() ?? model.rule)(answer);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    model.url = `http://127.0.0.1:${server.address().port}/v1`;
    model.stop = () => { server.closeAllConnections(); server.close(); };
    return model;
}

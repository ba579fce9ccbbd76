// mock.mjs: a model on loopback that does what it is told, in the four protocols of real agents.
//
// "CALL tool {arguments}" in the last message of the user is answered by a call of that tool (once:
// its result gets a text), anything else by "Noted: " and the first line of that message. All requests
// are kept, so that a test can see what the model was shown. Whatever an agent wants from other
// hosts comes here as a proxy request; it is refused and its host kept.
import { createServer } from 'node:http';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';

const wish = /^CALL ([\w-]+) (\{.*\})$/m;

// What stands in a message: texts in order, of whatever shape.
function textsOf(content) {
    if (typeof content === 'string') return [content];
    return (content ?? []).map((part) => part.text ?? '').filter(Boolean);
}

// A text without what the agent and its hooks put around what a person typed.
function plain(text) {
    if (/^(Memory has changed|## (About You|Memory|Workspace Memory|Recalled))/.test(text)) return ''; // as Qwen Code has it
    return text.replace(/<(system-reminder|hook_context|session_context|environment_context)>.*?<\/\1>/gs, '').trim();
}

// The answer to texts of the user since its last reply; the last one that asks for a tool decides.
function decide(texts, tools, called) {
    let text = texts.map(plain).filter(Boolean).at(-1) ?? '';
    if (/^".*"$/.test(text)) text = text.slice(1, -1).replaceAll('\\"', '"'); // as opencode passes it on
    const asked = text.match(wish);
    if (asked && !called) {
        const name = tools.find((tool) => tool === asked[1] || tool.endsWith(`_${asked[1]}`)) ?? asked[1];
        return { call: name, plain: asked[1], input: JSON.parse(asked[2]) };
    }
    const line = text.trim().split('\n').at(-1).slice(0, 200);
    return { text: called ? `Result seen. ${line.startsWith('CALL') ? '' : line}`.trim() : `Noted: ${line}` };
}

const sse = (response, events) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [name, data] of events)
        response.write(`${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
    response.end();
};
let serial = 0;
const fresh = (prefix) => `${prefix}_${String(++serial).padStart(6, '0')}`;

// ---- Anthropic ---------------------------------------------------------------------------------------

function anthropic(body, response) {
    const last = body.messages.findLast((message) => message.role === 'user');
    const called = Array.isArray(last.content) && last.content.some((part) => part.type === 'tool_result');
    const said = decide(textsOf(last.content), (body.tools ?? []).map((tool) => tool.name), called);
    const block = said.call ? { type: 'tool_use', id: fresh('toolu'), name: said.call, input: said.input }
        : { type: 'text', text: said.text };
    const message = { id: fresh('msg'), type: 'message', role: 'assistant', model: body.model, content: [],
        stop_reason: null, stop_sequence: null, usage: { input_tokens: 10, output_tokens: 1 } };
    const end = said.call ? 'tool_use' : 'end_turn';
    if (!body.stream) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ...message, content: [block], stop_reason: end }));
        return;
    }
    sse(response, [
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: said.call ? { ...block, input: {} }
            : { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: said.call
            ? { type: 'input_json_delta', partial_json: JSON.stringify(said.input) }
            : { type: 'text_delta', text: said.text } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: end, stop_sequence: null }, usage: { output_tokens: 5 } },
        { type: 'message_stop' },
    ].map((data) => [data.type, data]));
}

// ---- OpenAI Responses ------------------------------------------------------------------------------

function responses(body, response) {
    const input = body.input;
    const called = input.at(-1)?.type === 'function_call_output';
    const texts = input.filter((item) => item.type === 'message' && item.role === 'user')
        .flatMap((item) => textsOf(item.content));
    const tools = (body.tools ?? []).flatMap((tool) => tool.tools?.map((inner) => inner.name) ?? [tool.name]);
    const said = decide(texts.slice(-1), tools, called);
    const space = (body.tools ?? []).find((tool) => tool.tools?.some((inner) => inner.name === said.call))?.name;
    const item = said.call
        ? { type: 'function_call', id: fresh('fc'), call_id: fresh('call'), name: said.call,
            ...(space && { namespace: space }), arguments: JSON.stringify(said.input), status: 'completed' }
        : { type: 'message', id: fresh('msg'), role: 'assistant', status: 'completed',
            content: [{ type: 'output_text', text: said.text, annotations: [] }] };
    const whole = { id: fresh('resp'), object: 'response', status: 'completed', model: body.model, output: [item],
        usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5,
            output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 15 } };
    sse(response, [
        { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item },
        ...(said.call ? [] : [{ type: 'response.output_text.delta', item_id: item.id, output_index: 0,
            content_index: 0, delta: said.text }]),
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: whole },
    ].map((data) => [data.type, data]));
}

// ---- Gemini --------------------------------------------------------------------------------------------

function gemini(body, response, streamed) {
    const last = body.contents.at(-1);
    const called = last.parts.some((part) => part.functionResponse);
    const tools = (body.tools ?? []).flatMap((tool) => (tool.functionDeclarations ?? []).map((one) => one.name));
    const said = decide(textsOf(last.parts), tools, called);
    const part = said.call ? { functionCall: { name: said.call, args: said.input } } : { text: said.text };
    const whole = { candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 } };
    if (streamed) return sse(response, [[null, whole]]);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(whole));
}

// ---- chat completions ------------------------------------------------------------------------------------

function completions(body, response) {
    const last = body.messages.findLastIndex((message) => message.role === 'user' && textsOf(message.content).some(plain));
    const called = body.messages.slice(last).some((message) => message.role === 'tool');
    const said = decide(textsOf(body.messages[last].content), (body.tools ?? []).map((tool) => tool.function.name), called);
    const call = said.call && [{ index: 0, id: fresh('call'), type: 'function', function: { name: said.call, arguments: JSON.stringify(said.input) } }];
    const delta = call ? { role: 'assistant', content: null, tool_calls: call } : { role: 'assistant', content: said.text };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const head = { id: fresh('chat'), created: 0, model: body.model };
    const reason = call ? 'tool_calls' : 'stop';
    if (!body.stream) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ...head, object: 'chat.completion', choices: [{ index: 0, message: delta, finish_reason: reason }], usage }));
        return;
    }
    const chunk = (choices, more) => [null, { ...head, object: 'chat.completion.chunk', choices, ...more }];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [, data] of [chunk([{ index: 0, delta, finish_reason: null }]),
        chunk([{ index: 0, delta: {}, finish_reason: reason }]), chunk([], { usage })])
        response.write(`data: ${JSON.stringify(data)}\n\n`);
    response.end('data: [DONE]\n\n');
}

// ---- the server ------------------------------------------------------------------------------------------

function answer(request, path, body, response) {
    if (/\/messages\/count_tokens/.test(path) || /:countTokens/.test(path)) {
        response.writeHead(200, { 'content-type': 'application/json' });
        return response.end('{"input_tokens":10,"totalTokens":10}');
    }
    if (request.method === 'POST' && /\/v1\/messages/.test(path)) return anthropic(body, response);
    if (request.method === 'POST' && /\/responses$/.test(path)) return responses(body, response);
    if (request.method === 'POST' && /\/chat\/completions$/.test(path)) return completions(body, response);
    if (request.method === 'POST' && /enerateContent/.test(path)) return gemini(body, response, /stream/.test(path));
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end('{"error":{"message":"not here"}}');
}

function read(request, chunks) {
    const bytes = Buffer.concat(chunks);
    const coding = request.headers['content-encoding'];
    const text = (coding === 'gzip' ? gunzipSync(bytes) : coding === 'zstd' ? zstdDecompressSync(bytes) : bytes)
        .toString();
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}

// { url, requests: [{ method, path, body }], foreign: [host], delay: ms before an answer, close }
export async function startMock() {
    const requests = [];
    const foreign = [];
    const server = createServer((request, response) => {
        const chunks = [];
        request.on('data', (chunk) => chunks.push(chunk));
        request.on('end', () => {
            if (/^https?:/.test(request.url) && !request.url.startsWith(url)) {
                foreign.push(new URL(request.url).host);
                return response.writeHead(403).end();
            }
            const path = new URL(request.url, url).pathname;
            const body = read(request, chunks);
            requests.push({ method: request.method, path, body });
            const kept = requests.at(-1);
            setTimeout(() => {
                try {
                    answer(request, path, body, response);
                } catch (error) {
                    kept.error = String(error.stack);
                    if (!response.headersSent) response.writeHead(500);
                    response.end();
                }
            }, mock.delay);
        });
    });
    server.on('connect', (request, socket) => {
        foreign.push(request.url);
        socket.on('error', () => {});
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    server.on('upgrade', (request, socket) => socket.end('HTTP/1.1 404 Not Found\r\n\r\n'));
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${server.address().port}`;
    const mock = { url, requests, foreign, delay: 0, close: () => { server.closeAllConnections(); server.close(); } };
    return mock;
}

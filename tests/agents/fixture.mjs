// fixture.mjs ETHOS PEERS HOME: the official client and the server that has what the protocol's own tests ask for
// (tests/mcp/fixture.c) on standard input and output, in both eras: every kind of content, notifications, refusals.
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { finish, must, test } from './tap.mjs';

const [ethos, , home] = process.argv.slice(2);
const command = join(dirname(ethos), '../tests/mcp/fixture_mcp');

// What each tool gives: the types of its content.
const tools = {
    test_simple_text: ['text'],
    test_image_content: ['image'],
    test_audio_content: ['audio'],
    test_embedded_resource: ['resource'],
    test_multiple_content_types: ['text', 'image', 'resource'],
    test_tool_with_logging: ['text'],
    test_logging_tool: ['text'],
    test_tool_with_progress: ['text'],
    test_streaming_elicitation: ['text'],
    json_schema_2020_12_tool: ['text'],
    greet: ['text'],
    slow_compute: ['text'],
};

async function withClient(options, body) {
    const client = new Client({ name: 'agents-test', version: '1' }, options);
    const errors = [];
    client.onerror = (error) => errors.push(error);
    await client.connect(new StdioClientTransport({
        command, args: ['mcp'], env: { ...process.env, ETHOS_HOME: join(home, 'fixture') }, cwd: home, stderr: 'inherit',
    }));
    try {
        await body(client);
    } finally {
        await client.close();
    }
    must(errors.length === 0, `the client complained: ${errors}`);
}

// The lines of log that come with a call.
async function logged(client, meta) {
    const lines = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void lines.push(params));
    await client.callTool({ name: 'test_tool_with_logging', arguments: {}, ...(meta && { _meta: meta }) });
    return lines;
}

async function tryEra(name, options, version, askForLog) {
    await test(`${name}: every tool gives its kind of content`, () => withClient(options, async (client) => {
        must(client.getNegotiatedProtocolVersion() === version, client.getNegotiatedProtocolVersion());
        const listed = (await client.listTools()).tools.map((tool) => tool.name);
        for (const [tool, types] of Object.entries(tools)) {
            must(listed.includes(tool), `${tool} is not listed`);
            const { content, isError } = await client.callTool({ name: tool, arguments: { name: 'you' } });
            must(!isError && String(content.map((one) => one.type)) === String(types), `${tool}: ${JSON.stringify(content)}`);
        }
    }));
    await test(`${name}: a failure of a tool is a result, one of the protocol an error`, () => withClient(options, async (client) => {
        must((await client.callTool({ name: 'test_error_handling', arguments: {} })).isError, 'it did not fail');
        const refused = await client.callTool({ name: 'no_such_tool', arguments: {} }).catch((error) => error);
        must(refused.code === -32602, String(refused));
        const missing = await client.callTool({ name: 'test_missing_capability', arguments: {} }).catch((error) => error);
        must(missing.code === -32021, String(missing));
    }));
    await test(`${name}: progress goes to who asked for it, under his token`, () => withClient(options, async (client) => {
        const seen = [];
        client.setNotificationHandler('notifications/progress', ({ params }) => void seen.push(params));
        await client.callTool({ name: 'test_tool_with_progress', arguments: {} });
        must(seen.length === 0, 'nobody had asked');
        await client.callTool({ name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: 0 } });
        must(seen.map((one) => one.progress).join() === '0,50,100', JSON.stringify(seen));
        must(seen.every((one) => one.progressToken === 0), JSON.stringify(seen));
    }));
    await test(`${name}: lines of log come when they were asked for, and not before`, () => withClient(options, async (client) => {
        must((await logged(client)).length === 0, 'nobody had asked');
        const lines = await askForLog(client);
        must(lines.length === 3 && lines.every((one) => one.level === 'info'), JSON.stringify(lines));
    }));
    await test(`${name}: resources of text and of bytes, by name and by template`, () => withClient(options, async (client) => {
        must((await client.listResources()).resources.length === 2, 'resources');
        must((await client.listResourceTemplates()).resourceTemplates.length === 1, 'templates');
        const read = async (uri) => (await client.readResource({ uri })).contents[0];
        must((await read('test://static-text')).text.includes('static text'), 'text');
        must(Buffer.from((await read('test://static-binary')).blob, 'base64').subarray(1, 4).toString() === 'PNG', 'blob');
        must(JSON.parse((await read('test://template/42/data')).text).id === '42', 'template');
        must(await read('test://none').catch((error) => error) instanceof Error, 'a missing resource was read');
    }));
    await test(`${name}: prompts with arguments, resources, images`, () => withClient(options, async (client) => {
        must((await client.listPrompts()).prompts.length === 4, 'prompts');
        const types = async (prompt, given) =>
            (await client.getPrompt({ name: prompt, arguments: given })).messages.map((one) => one.content.type).join();
        must(await types('test_simple_prompt') === 'text', 'simple');
        must(await types('test_prompt_with_image') === 'image,text', 'image');
        must(await types('test_prompt_with_embedded_resource', { resourceUri: 'test://"x' }) === 'resource,text', 'resource');
        const refused = await types('test_prompt_with_arguments', { arg1: 'a' }).catch((error) => error);
        must(refused.code === -32602, String(refused));
    }));
}

await tryEra('legacy', {}, '2025-11-25', async (client) => {
    await client.setLoggingLevel('debug');
    return logged(client);
});
await tryEra('modern', { versionNegotiation: { mode: 'auto' } }, '2026-07-28',
    (client) => logged(client, { 'io.modelcontextprotocol/logLevel': 'info' }));
finish();

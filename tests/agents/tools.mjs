// tools.mjs: what clients of the Model Context Protocol do with a server of ours, whatever carries the messages.
import { Client } from '@modelcontextprotocol/client';
import { must, test } from './tap.mjs';

// What each tool is called with, and what the answer must show, or what the refusal says. A tool that is not here fails the run.
export const calls = {
    remember: [{ content: 'The tests need Redis', title: 'Testing' }, (r) => r.key === 'testing.md'],
    memory_search: [{ query: 'redis' }, (r) => r.hits.some((hit) => hit.key === 'testing.md')],
    memory_read: [{}, (r) => typeof r.content === 'string'],
    memory_write: [{ action: 'add', content: 'We deploy on Fridays' }, (r) => r.applied <= 1],
    note_list: [{}, (r) => r.notes.length === 1],
    note_read: [{ name: 'Testing' }, (r) => r.content.includes('Redis')],
    note_write: [{ name: 'Testing', content: 'Lost', if_match: 'sha256:0' }, /changed meanwhile/],
    note_remove: [{ name: 'Testing', if_match: 'sha256:0' }, /changed meanwhile/],
    pending_list: [{}, (r) => r.pending.length === 0],
    session_search: [{ query: 'redis' }, (r) => r.hits[0].snippet.match === 'Redis'],
    session_list_by_date: [{ since: '1d' }, (r) => r.items.length === 1 && r.items[0].turnCount === 1],
    session_read: [{ id: 'cli:project' }, (r) => r.messages[0].content.includes('Redis')],
    team_memory_read: [{}, (r) => r.scope === 'team:crew'],
    team_memory_search: [{ query: 'sail' }, (r) => Array.isArray(r.hits)],
    team_memory_write: [{ action: 'add', content: 'We sail on Monday' }, (r) => r.applied <= 1],
};

/** All are listed; those of the team only where there is one. */
export function checkTools(tools, team = true) {
    const names = tools.map((tool) => tool.name);
    for (const name of Object.keys(calls))
        must(names.includes(name) === (team || !name.startsWith('team_')), `${name} is ${names.includes(name) ? '' : 'not '}listed`);
    for (const name of names) must(calls[name], `${name} is listed and not tried`);
}

export function checkResult(name, result) {
    const expected = calls[name][1];
    if (expected instanceof RegExp) {
        must(result.isError && expected.test(result.content[0].text), `${name}: ${JSON.stringify(result)}`);
        return;
    }
    must(!result.isError, `${name}: ${result.content?.[0]?.text}`);
    must(expected(result.structuredContent), `${name}: ${JSON.stringify(result)}`);
}

// ---- the official client, in both eras ----------------------------------------------------------

async function withClient(peer, body) {
    const client = new Client({ name: 'agents-test', version: '1' }, peer.options);
    const errors = [];
    client.onerror = (error) => errors.push(error);
    await client.connect(peer.transport());
    try {
        await body(client);
    } finally {
        await client.close();
    }
    must(errors.length === 0, `the client complained: ${errors}`);
}

/** Everything there is, once: peer is {name, options, version, team, transport()}. */
export async function tryClient(peer) {
    const { name, version, team } = peer;
    await test(`${name}: settles on ${version}`, () => withClient(peer, async (client) => {
        must(client.getNegotiatedProtocolVersion() === version, client.getNegotiatedProtocolVersion());
        must(client.getServerVersion().name === 'ethos', 'serverInfo');
        must(client.getInstructions().length > 100, 'instructions');
    }));
    await test(`${name}: lists and calls every tool`, () => withClient(peer, async (client) => {
        const { tools } = await client.listTools();
        checkTools(tools, team);
        for (const tool of tools)
            checkResult(tool.name, await client.callTool({ name: tool.name, arguments: calls[tool.name][0] }));
    }));
    await test(`${name}: a replace needs the revision`, () => withClient(peer, async (client) => {
        const replace = (more) => client.callTool({
            name: 'memory_write', arguments: { action: 'replace', content: 'Fridays', ...more },
        });
        const refused = await replace({});
        must(refused.isError, 'it was not refused');
        const revision = /sha256:[0-9a-f]{64}/.exec(refused.content[0].text)[0];
        must(!(await replace({ if_match: revision })).isError, 'the named revision did not do');
    }));
    await test(`${name}: reads every resource`, () => withClient(peer, async (client) => {
        const { resources } = await client.listResources();
        must(resources.length >= 3, `${resources.length} resources`);
        for (const { uri } of resources) {
            const { contents } = await client.readResource({ uri });
            must(contents.length === 1 && contents[0].text.length > 0, uri);
        }
        const { resourceTemplates } = await client.listResourceTemplates();
        const templates = resourceTemplates.map((one) => one.uriTemplate);
        must(templates.length === 3 && templates.some((one) => one.startsWith('ethos://global/')), `templates: ${templates}`);
        const error = await client.readResource({ uri: 'ethos://memory/none.md' }).catch((e) => e);
        must(error instanceof Error, 'a missing resource was read');
    }));
    await test(`${name}: gets every prompt`, () => withClient(peer, async (client) => {
        const { prompts } = await client.listPrompts();
        must(prompts.length === 2, `${prompts.length} prompts`);
        for (const prompt of prompts)
            must((await client.getPrompt({ name: prompt.name })).messages.length === 1, prompt.name);
    }));
}

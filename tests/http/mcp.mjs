// mcp.mjs: /mcp for the official client, in both eras and with a key: every tool, resource and prompt.
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { ethos, ethosIn, makeHome, serve } from './server.mjs';
import { finish, must, test } from './tap.mjs';
import { tryClient } from './tools.mjs';

const scopes = ['memory:read', 'memory:write', 'sessions:read', 'sessions:write', 'personalities:read'];

const makeKey = (home, ...names) =>
    ethos(home, 'api-key', 'create', 'agent', '--agent', ...names.flatMap((name) => ['--scope', name]), '--json').key;

const connect = (origin, key) => () => new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
});

async function tryHttp(name, options, version) {
    const home = makeHome(), project = join(mkdtempSync(join(tmpdir(), 'ethos-mcp-')), 'project');
    mkdirSync(project);
    ethosIn(home, project, '', 'sessions', 'append', 'Why do the tests need Redis?');
    const key = makeKey(home, ...scopes);
    const server = await serve(home, '--workspace', project);
    await tryClient({ name, options, version, team: false, transport: connect(server.origin, key) });
    await test(`${name}: without a key nobody is let in`, async () => {
        const answer = await fetch(`${server.origin}/mcp`, {
            method: 'POST', headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
        });
        must(answer.status === 401, `${answer.status}`);
    });
    await server.stop();
}

await tryHttp('client', {}, '2025-11-25');
await tryHttp('client-modern', { versionNegotiation: { mode: 'auto' } }, '2026-07-28');
finish();

// soak.mjs: many messages, polls that fail and webhooks that come and go leave the gateway as large as it was, with as
// many descriptors. With --long it is some hundred messages a chat.
import { readdirSync, readFileSync } from 'node:fs';

import { ada, bob, cleo, makeFixture } from './fixture.mjs';
import { finish, must, test } from './tap.mjs';

const ROUNDS = process.env.CHECK_LONG ? 100 : 8; // of a message in each chat, until it is looked at and again behind
const dan = { id: 1004, first_name: 'Dan' };
const people = [ada, bob, cleo, dan];

const fixture = await makeFixture();
const { telegram } = fixture;
fixture.model.rule = (answer) => answer.say(`Answer to ${answer.question}.`).end();
fixture.start();
await fixture.connected();
await fixture.own(ada);
for (const person of people.slice(1)) await fixture.allow(person, 'trusted');

// The gateway may have executed another program, but it is the same process.
const process_ = () => {
    const folder = `/proc/${fixture.child.pid}`;
    const size = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`${folder}/status`, 'utf8'))[1]);
    return { size, descriptors: readdirSync(`${folder}/fd`).length };
};

async function talk(name) {
    for (let round = 0; round < ROUNDS; round++) {
        const command = round % 6 === 5 ? '/new' : `${name}-${round}`;
        await Promise.all(people.map((person) => fixture.ask(person, command)));
        if (round % 4 === 3) telegram.fault('getUpdates', { status: 502, body: 'Bad Gateway' });
    }
    await fixture.connected();
}

await talk('first');
const before = process_();
await talk('second');
await talk('third');
const after = process_();
console.log(`# ${before.size} kB and ${before.descriptors} descriptors after ${4 * ROUNDS} messages, ${after.size} kB and ${after.descriptors} after ${12 * ROUNDS}`);

await test('as many descriptors as before', () => must(after.descriptors <= before.descriptors + 2, `${before.descriptors} and then ${after.descriptors}`));
await test('as large as before', () => must(after.size <= before.size * 1.15 + 1024, `${before.size} kB and then ${after.size}`));

await fixture.end();
finish();

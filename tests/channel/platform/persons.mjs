// persons.mjs: one person on Telegram, Slack and Discord: one USER.md, one memory; somebody else beside has their own.
import { makeElsewhere } from './elsewhere.mjs';
import { startDiscord } from './discord.mjs';
import { ada, bob } from './fixture.mjs';
import { startSlack } from './slack.mjs';
import { finish, must, test } from './tap.mjs';
import { startTelegram } from './telegram.mjs';

const [telegram, slack, discord] = [await startTelegram(), await startSlack(), await startDiscord()];
telegram.direct = (person) => person.id;
const fixture = await makeElsewhere({ telegram, slack, discord });
const remembering = (answer) => {
    const [, store, text] = /^(profile|remember) (.*)$/.exec(answer.question) ?? [];
    if (store && !answer.afterTool) answer.call('memory_write', { action: 'add', store: store === 'profile' ? 'user' : 'memory', content: text }).end();
    else answer.say('Noted.').end();
};
fixture.model.rule = remembering;
fixture.start();
for (const name of ['telegram', 'slack', 'discord']) await fixture.state(name, 'up');

const mine = [[telegram, ada, 'telegram'], [slack, 'U1', 'slack'], [discord, '1', 'discord']];
const theirs = [[telegram, bob, 'telegram'], [slack, 'U2', 'slack'], [discord, '2', 'discord']];
const hears = (platform, user, text) => fixture.hears(platform, platform.direct(user), () => platform.say(user, text));
const user = (name, sender) => fixture.ethos('users', 'resolve', name, sender, '--json').userId;

await test('the owner of all three is the person at this machine', async () => {
    for (const [platform, who, name] of mine) must((await fixture.ownOn(name, platform, who)).includes('owner'), name);
    const { localUserId } = fixture.ethos('users', 'list', '--json');
    must([user('telegram', '1001'), user('slack', 'T1:U1'), user('discord', '1')].every((id) => id === localUserId), 'one person');
});

await test('what is said of oneself on any of them is in one USER.md, and known on all of them', async () => {
    for (const [platform, who, name] of mine) await hears(platform, who, `profile likes ${name}`);
    const { localUserId } = fixture.ethos('users', 'list', '--json');
    const profile = fixture.read('users', localUserId, 'USER.md');
    for (const [, , name] of mine) must(profile.split(`likes ${name}`).length === 2, profile);
    for (const [platform, who] of mine) {
        await hears(platform, who, 'what do I like?');
        for (const [, , name] of mine) must(fixture.lastPrompt().includes(`likes ${name}`), fixture.lastPrompt());
    }
});

await test('somebody else links three accounts: one profile, which is not the owner\'s', async () => {
    for (const [platform, who] of theirs) await fixture.allowOn(platform, who, 'trusted');
    for (const [platform, who, name] of theirs) await hears(platform, who, `profile plays ${name}`);
    for (const [platform, who] of theirs.slice(1)) {
        const slash = platform === telegram ? '/' : '!';
        const code = /\/link (\w{8})/.exec(await hears(telegram, bob, '/link'))[1];
        const preview = await hears(platform, who, `${slash}link ${code}`);
        must(preview.includes('linked as one person'), preview);
        await hears(platform, who, `${slash}link yes`);
        await fixture.hears(telegram, bob.id, () => telegram.say(bob, '/link yes'));
        await fixture.rest();
    }
    const id = user('telegram', '1002');
    must(user('slack', 'T1:U2') === id && user('discord', '2') === id && id !== user('telegram', '1001'), 'one person, not the owner');
    const profile = fixture.read('users', id, 'USER.md');
    for (const [, , name] of theirs) must(profile.split(`plays ${name}`).length === 2, profile);
    must(!profile.includes('likes'), profile);
    for (const [platform, who] of theirs) {
        await hears(platform, who, 'what do I play?');
        for (const [, , name] of theirs) must(fixture.lastPrompt().includes(`plays ${name}`), fixture.lastPrompt());
        must(!fixture.lastPrompt().includes('likes telegram'), 'the owner\'s profile');
    }
});

await test('at once on all three: everything once, in its place', async () => {
    const turns = 8;
    const run = async ([platform, who, name], key) => {
        for (let i = 0; i < turns; i++) {
            const chat = platform.direct(who), before = platform.shown(chat).length;
            platform.say(who, `remember ${key}-${name}-${i}-end`);
            await platform.until(() => platform.shown(chat).length > before, () => `${key} ${name} ${i}; ${fixture.log.slice(-1500)}`, 90000);
        }
    };
    await Promise.all([...mine.map((one) => run(one, 'ada')), ...theirs.map((one) => run(one, 'bob'))]);
    await fixture.rest();
    const memory = fixture.ethos('memory', 'show').split('\n').map((line) => line.trim());
    for (const key of ['ada', 'bob'])
        for (const [, , name] of mine)
            for (let i = 0; i < turns; i++) must(memory.filter((line) => line === `${key}-${name}-${i}-end`).length === 1, `${key}-${name}-${i}`);
    console.log(`# ${6 * turns} turns`);
});

must((await fixture.stop()).code === 0, fixture.log);
await fixture.end();
finish();
process.exit();

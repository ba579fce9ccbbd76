// elsewhere.mjs: a gateway on Slack and Discord, each a server of our own beside it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Fixture, obey, sleep } from './fixture.mjs';
import { startModel } from './model.mjs';

const nowhere = { token: '', url: 'http://127.0.0.1:1', stop() {} };

// platforms: {slack, discord, telegram}, those that it is connected to.
export class Elsewhere extends Fixture {
    constructor(platforms, model) {
        super(platforms.telegram ?? nowhere, model);
        Object.assign(this, platforms);
        model.rule = obey;
    }

    setUp(settings = {}, keys = {}) {
        const { slack, discord, telegram } = this;
        this.configure({
            'channels.telegram.enabled': telegram.token ? 'on' : 'off',
            ...(slack && { 'channels.slack.enabled': 'on', 'channels.slack.apiRoot': slack.url }),
            ...(discord && { 'channels.discord.enabled': 'on', 'channels.discord.apiRoot': discord.url }),
            ...settings,
        }, '');
        return this.setKeys({
            ...(telegram.token && { TELEGRAM_BOT_TOKEN: telegram.token }),
            ...(slack && { SLACK_APP_TOKEN: slack.appToken, SLACK_BOT_TOKEN: slack.token }),
            ...(discord && { DISCORD_BOT_TOKEN: discord.token }),
            ...keys,
        });
    }

    setKeys(keys) {
        this.keys = keys;
        writeFileSync(join(this.home, 'keys.yaml'), Object.entries(keys).map(([name, value]) => `${name}: ${value}\n`).join(''), { mode: 0o600 });
        return this;
    }

    // Until the platforms have seen the end of its sockets, too: who counts them counts those of the next gateway.
    async stop(signal) {
        const how = await super.stop(signal);
        for (const platform of [this.slack, this.discord]) await platform?.until(({ sockets }) => sockets.size === 0, 'the end of the sockets');
        return how;
    }

    // Until the channel is in a state.
    async state(platform, state, more = () => true) {
        for (let i = 0; i < 600; i++) {
            const { running, channels } = this.status();
            const row = channels.find((one) => one.platform === platform);
            if (running && row.state === state && more(row)) return row;
            await sleep(100);
        }
        throw new Error(`${platform} is not ${state}: ${JSON.stringify(this.status())}; ${this.log}`);
    }

    // Somebody says something in a chat, and hears more than before, which is final.
    async hears(platform, chat, say) {
        await this.rest();
        const before = platform.shown(chat).length;
        say();
        await platform.until(() => platform.shown(chat).length > before && !platform.shown(chat).at(-1).endsWith('…'), () => `an answer in ${chat}; ${platform.shown(chat).join(' | ')}; ${this.log.slice(-3000)}`, 60000);
        return platform.shown(chat).at(-1);
    }

    async ownOn(name, platform, user) {
        const code = this.ethos('gateway', 'owner', name, '-q').split('\n')[0];
        return this.hears(platform, platform.direct(user), () => platform.say(user, code));
    }

    async allowOn(platform, user, role) {
        const chat = platform.direct(user);
        const line = await this.hears(platform, chat, () => platform.say(user, 'hello'));
        return this.hears(platform, chat, () => this.ethos('gateway', 'allow', /\b[A-Z2-9]{8}\b/.exec(line)[0], ...(role ? ['--role', role] : [])));
    }

    async end() {
        if (this.child) await this.stop('SIGKILL');
        for (const platform of [this.slack, this.discord, this.telegram]) await platform?.stop();
        this.model.stop();
    }
}

export async function makeElsewhere(platforms, settings, keys) {
    return new Elsewhere(platforms, await startModel()).setUp(settings, keys);
}

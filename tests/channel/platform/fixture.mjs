// fixture.mjs: a home of its own, a gateway in it, a Telegram and a model beside it.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startModel } from './model.mjs';
import { startTelegram } from './telegram.mjs';

export const bin = process.argv[2];

export const ada = { id: 1001, first_name: 'Ada' };
export const bob = { id: 1002, first_name: 'Bob' };
export const cleo = { id: 1003, first_name: 'Cleo' };

const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export class Fixture {
    log = '';

    constructor(telegram, model) {
        this.telegram = telegram;
        this.model = model;
        this.home = join(mkdtempSync(join(tmpdir(), 'ethos-channel-')), '.ethos');
        this.env = { ...process.env, ETHOS_HOME: this.home };
    }

    ethos(...args) {
        const text = execFileSync(join(bin, 'ethos'), args, { env: this.env, encoding: 'utf8', stdio: 'pipe' });
        return args.includes('--json') ? JSON.parse(text) : text;
    }

    // Sets config.yaml and keys.yaml.
    configure(settings = {}, token = this.telegram.token) {
        const all = { provider: 'openai-compat', model: 'm', baseUrl: this.model.url, 'channels.telegram.enabled': 'on', 'channels.telegram.apiRoot': this.telegram.url, ...settings };
        for (const [key, value] of Object.entries(all)) this.ethos('config', 'set', key, value);
        if (token) this.setToken(token);
        return this;
    }

    setToken(token) {
        writeFileSync(join(this.home, 'keys.yaml'), `TELEGRAM_BOT_TOKEN: ${token}\n`, { mode: 0o600 });
    }

    // Starts the gateway; does not wait for it to be connected.
    start(env = {}) {
        const child = spawn(join(bin, 'ethos'), ['gateway'], { env: { ...this.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
        running.add(child);
        child.stderr.on('data', (data) => { this.log += data; });
        child.stdout.on('data', (data) => { this.log += data; });
        this.ended = new Promise((resolve) => child.once('exit', (code, signal) => { running.delete(child); resolve({ code, signal }); }));
        this.child = child;
        return this;
    }

    stop(signal = 'SIGTERM') {
        this.child.kill(signal);
        return this.ended;
    }

    // Until the gateway polls.
    connected() {
        return this.telegram.until(({ poll }) => poll, `a poll; ${this.log}`);
    }

    // Makes somebody the owner.
    async own(person = ada) {
        const code = this.ethos('gateway', 'owner', 'telegram', '-q').split('\n')[0];
        const before = this.telegram.shown(person.id).length;
        this.telegram.say(person, code);
        await this.telegram.until(() => this.telegram.shown(person.id).length > before, `an owner; ${this.log}`);
    }

    // Lets somebody in.
    async allow(person, role) {
        const before = this.telegram.shown(person.id).length;
        this.telegram.say(person, 'hello');
        await this.telegram.until(() => this.telegram.shown(person.id).length > before, `a code; ${this.log}`);
        const code = /\b[A-Z2-9]{8}\b/.exec(this.telegram.shown(person.id).at(-1))[0];
        this.ethos('gateway', 'allow', code, ...(role ? ['--role', role] : []));
        await this.telegram.until(() => this.telegram.shown(person.id).length > before + 1, `a welcome; ${this.log}`);
    }

    // Says something and waits for the last text of the chat to be final: a model that says it is done ends it.
    async ask(person, text, more = {}) {
        const chat = more.chat?.id ?? person.id;
        const before = this.telegram.shown(chat).length;
        this.telegram.say(person, text, more);
        await this.telegram.until(() => this.telegram.shown(chat).length > before && !this.telegram.shown(chat).at(-1).endsWith('…'), `an answer to ${text}; ${this.log}`);
        return this.telegram.shown(chat).at(-1);
    }

    status() { return this.ethos('gateway', 'status', '--json'); }

    // Until nothing waits to be answered or sent.
    async rest() {
        for (let i = 0; i < 600; i++) {
            const { waiting, sending } = this.status();
            if (waiting === 0 && sending === 0) return;
            await sleep(50);
        }
        throw new Error(`no rest: ${JSON.stringify(this.status())}; ${this.log}`);
    }

    read(...path) {
        const file = join(this.home, ...path);
        return existsSync(file) ? readFileSync(file, 'utf8') : '';
    }

    // What the model was asked last, as one text.
    lastPrompt() {
        return JSON.stringify(this.model.requests.at(-1));
    }

    async end() {
        if (this.child) await this.stop('SIGKILL');
        await this.telegram.stop();
        this.model.stop();
    }
}

// A model that remembers what begins with "remember ", and else says what it heard.
export function obey(answer) {
    const question = answer.question.replace(/^.*?\(\d+\): /s, '').replace(/^Subject: .*\n\n/, '');
    if (!answer.afterTool && question.startsWith('remember ')) answer.call('memory_write', { action: 'add', content: question.slice(9) }).end();
    else answer.say(answer.afterTool ? 'Noted.' : `You said: ${question.split('\n').at(-1)}`).end();
}

export async function makeFixture(settings) {
    const fixture = new Fixture(await startTelegram(), await startModel());
    fixture.model.rule = obey;
    return fixture.configure(settings);
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/*
 * pages/channels.js: who talks to this memory from elsewhere: who waits to be let in, the platforms and their state,
 * people, what may not have arrived, the last messages without their texts.
 *
 * Nothing announces what the gateway does, which is another process: the page asks again while it is seen.
 */
import { dialog } from '../dialog.js';
import { h, refill } from '../dom.js';
import { dayClock, plural } from '../format.js';
import { icon } from '../icons.js';
import { sheet } from '../sheet.js';
import { badge, button, command, notice, select, time } from '../ui.js';

const AGAIN_MS = 3000;
const STATES = {
    up: ['Running', 'added', 'check'],
    down: ['Connecting', 'warning', 'restore'],
    fatal: ['Stopped', 'danger', 'warning'],
};
const ROLES = { owner: 'Owner', trusted: 'Trusted', guest: 'Guest' };
const CHOICES = [
    { value: 'guest', label: 'Guest' },
    { value: 'trusted', label: 'Trusted' },
];

/** What became of a message: words, and the kind of its colour. */
function outcomeOf({ state, answer }) {
    if (answer === 'unknown') return ['Not confirmed as sent', 'warning'];
    if (answer === 'failed') return ['Not accepted', 'danger'];
    if (state === 'refused') return ['Ignored', 'muted'];
    if (state === 'failed') return ['No answer', 'warning'];
    if (state !== 'answered') return ['Waiting', 'muted'];
    return !answer || answer === 'sent' ? ['Answered', 'added'] : ['Being sent', 'muted'];
}

/** Accounts of one person together, in the order of the first of each. */
function peopleOf(accounts) {
    const people = new Map();
    for (const account of accounts) {
        const id = account.userId ?? `${account.platform} ${account.sender}`;
        people.set(id, [...(people.get(id) ?? []), account]);
    }
    return [...people.values()];
}

const page = {
    title: 'Channels',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx, roles: new Map(), opened: new Set() });
        await sheet('pages-channels');
        this.body = h('div', { class: 'channels' });
        root.append(this.body);
        this.fresh = ctx.refresh(['users.changed', 'config.changed'], { ask: () => this.ask(), show: (answer) => this.paint(answer) });
        const timer = setInterval(() => document.visibilityState === 'visible' && this.fresh.soon(), AGAIN_MS);
        ctx.left(() => clearInterval(timer));
        ctx.head();
        await this.fresh.now();
    },

    async ask() {
        const { ctx } = this;
        const [status, people, messages] = await Promise.all([ctx.call('channel.status'), ctx.call('channel.people'), ctx.call('channel.messages', { limit: 12 })]);
        return { ...status, ...people, ...messages };
    },

    /* Only what differs is drawn: somebody may be choosing a role, or reading commands. */
    paint(answer) {
        const text = JSON.stringify(answer);
        if (text === this.shown) return;
        this.shown = text;
        const titles = new Map(answer.channels.map(({ platform, title }) => [platform, title]));
        this.title = (platform) => titles.get(platform) ?? platform;
        refill(this.body,
            this.troubles(answer),
            this.waiting(answer),
            this.unsent(answer),
            h('div', { class: 'channels-two' },
                h('section', h('h2', 'Channels'), h('ul', { class: 'rows' }, answer.channels.map((row) => this.channel(row, answer.running)))),
                h('section', this.people(answer), this.messages(answer))));
    },

    /* ---- what stands in the way -------------------------------------------------------------------- */

    troubles({ channels, running, people }) {
        const used = channels.filter(({ state }) => state !== 'off');
        if (used.length === 0) return h('p', { class: 'lead' }, 'Use the same memory from a messaging app. Set up a channel to begin.');
        if (!running) return notice('warning', ['The gateway is not running, so messages are not answered. Start it on the machine with this home:', command('ethos gateway')]);
        const owned = people.some(({ role }) => role === 'owner');
        return owned ? null : notice('info', ['There is no owner yet. This command prints a code; the person who sends it to the bot becomes the owner:', command(`ethos gateway owner ${used[0].platform}`)]);
    },

    /* ---- who waits --------------------------------------------------------------------------------- */

    waiting({ waiting }) {
        if (waiting.length === 0) return null;
        return h('section', h('h2', 'Waiting to pair'), waiting.map((row) => this.card(row)));
    },

    card(row) {
        const { ctx } = this;
        const id = `${row.platform} ${row.sender}`;
        const name = row.name || row.sender;
        const who = { platform: row.platform, sender: row.sender };
        const act = (call, input, words) => async () => {
            await ctx.busy(ctx.call(call, input())).then(() => ctx.toast(words), ctx.fail);
            await this.fresh.now();
        };
        return h('div', { class: 'channels-card', role: 'group', 'aria-label': name },
            h('span', { class: 'channels-code mono' }, h('span', { class: 'visually-hidden' }, 'Code begins with '), `${row.begins}…`),
            h('div', { class: 'channels-grow' },
                h('p', { class: 'channels-name', dir: 'auto' }, `${name} on ${this.title(row.platform)}`),
                h('p', { class: 'small muted' }, 'Wrote ', time(row.since), ' and was shown a code that begins so. Ask which code they see, then allow.')),
            select('As', CHOICES, this.roles.get(id) ?? 'guest', (role) => this.roles.set(id, role)),
            button({ label: 'Ignore', kind: 'quiet', 'aria-label': `Ignore ${name}`, run: act('channel.remove', () => who, `${name} is ignored.`) }),
            button({ label: 'Allow', kind: 'primary', 'aria-label': `Allow ${name}`, run: act('channel.allow', () => ({ ...who, role: this.roles.get(id) ?? 'guest' }), `${name} may talk now.`) }));
    },

    /* ---- what may not have arrived ----------------------------------------------------------------- */

    unsent({ unsent }) {
        if (unsent.length === 0) return null;
        const { ctx } = this;
        const resend = (id) => async () => {
            await ctx.busy(ctx.call('channel.resend', { id })).then(() => ctx.toast('It is sent again.'), ctx.fail);
            await this.fresh.now();
        };
        return h('section', h('h2', 'Not confirmed as sent'),
            h('p', { class: 'small muted' }, 'The connection was lost while these messages were sent. They may have arrived, so they are not sent again automatically.'),
            h('ul', { class: 'rows' }, unsent.map((row) =>
                h('li', { class: 'channels-line' }, icon('warning'),
                    h('div', { class: 'channels-grow' }, `${this.title(row.platform)}, chat `, h('span', { class: 'mono' }, row.chat),
                        h('p', { class: 'small muted' }, dayClock(row.created), ' · ', row.state === 'failed' ? 'was not accepted' : 'may not have arrived')),
                    button({ label: 'Send again', kind: 'small', 'aria-label': `Send again: message ${row.id}`, run: resend(row.id) })))));
    },

    /* ---- channels ---------------------------------------------------------------------------------- */

    channel(row, running) {
        const off = row.state === 'off';
        const [word, kind, mark] = !off && !running ? ['Not running', 'warning', 'warning'] : (STATES[row.state] ?? []);
        const told = row.state === 'fatal' || row.state === 'down' ? row.why : '';
        return h('li', { class: 'channels-line' },
            h('span', { class: 'channels-mark', 'aria-hidden': 'true' }, row.title.slice(0, 2)),
            h('div', { class: 'channels-grow' },
                h('p', { class: 'channels-name' }, row.title, ' ', off ? null : badge(word, kind, mark)),
                h('p', { class: 'small muted' }, off ? 'Not set up' : [row.bot ? [row.bot, ' · '] : null, `${plural(row.messages, 'message')} this week`]),
                told && running ? h('p', { class: 'small channels-why' }, `${told[0].toUpperCase()}${told.slice(1)}.`) : null,
                off ? this.setup(row) : null));
    },

    setup({ platform, title, setup }) {
        const toggle = ({ target }) => this.opened[target.open ? 'add' : 'delete'](platform);
        return h('details', { class: 'channels-setup', open: this.opened.has(platform), on: { toggle } },
            h('summary', `Set up ${title}`),
            h('p', { class: 'small muted' }, 'On the machine with this home; docs/channels.md describes every step:'),
            setup.map((line) => command(line)));
    },

    /* ---- people ------------------------------------------------------------------------------------ */

    people({ people }) {
        const rows = peopleOf(people);
        return [h('h2', 'People'), rows.length === 0 ? h('p', { class: 'muted' }, 'Nobody is allowed yet.') : h('ul', { class: 'rows' }, rows.map((accounts) => this.person(accounts)))];
    },

    person(accounts) {
        const mine = accounts.some(({ local }) => local);
        const name = mine ? 'You' : accounts[0].name || accounts[0].sender;
        const roles = [...new Set(accounts.map(({ role }) => role))];
        const where = accounts.map(({ platform }) => this.title(platform)).join(', ');
        const editable = accounts.some(({ role }) => role !== 'owner');
        return h('li', { class: 'channels-line' },
            h('span', { class: 'channels-mark', 'aria-hidden': 'true' }, [...name][0]?.toUpperCase()),
            h('div', { class: 'channels-grow' },
                h('p', { class: 'channels-name', dir: 'auto' }, name, ' ', roles.map((role) => badge(ROLES[role] ?? role, role === 'owner' ? 'accent' : ''))),
                h('p', { class: 'small muted' }, where)),
            editable ? button({ label: 'Edit', kind: 'quiet small', 'aria-label': `Edit ${name}`, run: () => this.edit(name, accounts) }) : null);
    },

    /* An account each: a role is that of an account. */
    async edit(name, accounts) {
        const { ctx } = this;
        const wanted = new Map();
        const options = [...CHOICES, { value: '', label: 'May not talk' }];
        const row = (account) => h('div', { class: 'channels-line' },
            h('div', { class: 'channels-grow' }, this.title(account.platform), h('p', { class: 'small muted mono' }, account.sender)),
            account.role === 'owner' ? h('span', { class: 'muted' }, 'Owner')
                : select(`${this.title(account.platform)} ${account.sender}`, options, account.role, (role) => wanted.set(account, role), { hideLabel: true }));
        const apply = async () => {
            for (const [{ platform, sender, role: before }, role] of wanted)
                if (role !== before) await (role ? ctx.call('channel.allow', { platform, sender, role }) : ctx.call('channel.remove', { platform, sender }));
        };
        await dialog({
            title: name,
            body: [h('p', { class: 'small muted' }, 'Trusted: with the memory of the personality. Guest: an answer, and no memory. What is remembered stays when somebody may no longer talk.'), accounts.map(row)],
            actions: [{ label: 'Cancel' }, { label: 'Save', kind: 'primary', run: apply }],
        }).closed;
        await this.fresh.now().catch(ctx.fail);
    },

    /* ---- messages ---------------------------------------------------------------------------------- */

    messages({ messages, people }) {
        const mine = new Set(people.filter(({ local }) => local).map(({ platform, sender }) => `${platform} ${sender}`));
        const who = (row) => (!row.role ? 'Unknown sender' : mine.has(`${row.platform} ${row.sender}`) ? 'You' : row.name || row.sender);
        const line = (row) => {
            const [words, kind] = outcomeOf(row);
            return h('tr', h('td', { class: 'muted num' }, h('time', { datetime: row.received }, dayClock(row.received))),
                h('td', { dir: 'auto' }, `${who(row)}, ${this.title(row.platform)}${row.direct ? '' : ' (group)'}`),
                h('td', { class: `channels-outcome ${kind}` }, kind === 'warning' || kind === 'danger' ? icon('warning', 14) : null, words));
        };
        return [h('h2', 'Last messages'), messages.length === 0 ? h('p', { class: 'muted' }, 'None yet.')
            : h('table', { class: 'channels-messages small' }, h('thead', { class: 'visually-hidden' }, h('tr', ['When', 'Who', 'Outcome'].map((word) => h('th', { scope: 'col' }, word)))), h('tbody', messages.map(line)))];
    },
};

export default page;

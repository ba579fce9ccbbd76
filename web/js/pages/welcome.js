/*
 * pages/welcome.js: the first run. Shows the real files, where they are, and how an agent gets to them.
 */
import { h, refill } from '../dom.js';
import { icon } from '../icons.js';
import { badge, command, copyable, linkButton } from '../ui.js';

const ABOUT = {
    'USER.md': [
        'About you',
        'Who you are and how you like answers. One file for each person.',
        'user',
    ],
    'MEMORY.md': [
        'Memory',
        'Decisions, findings, open questions. One file for each personality.',
        'memory',
    ],
};

const page = {
    title: 'Welcome',

    async mount(root, ctx) {
        Object.assign(this, { root, ctx });
        await ctx
            .refresh(['memory.changed'], {
                ask: () => Promise.all([ctx.call('meta.home'), ctx.own('memory.list')]),
                show: (answers) => this.paint(...answers),
            })
            .now();
    },

    paint(home, data) {
        const files = data.files.filter((file) => ABOUT[file.key]);
        refill(
            this.root,
            h(
                'div',
                { class: 'welcome' },
                h(
                    'p',
                    { class: 'lead welcome-lead' },
                    'What your agents remember is two plain files on your disk. You can read them, edit them with any program, and undo every change.',
                ),
                h(
                    'div',
                    { class: 'welcome-files' },
                    files.map((file) => this.file(file)),
                ),
                h(
                    'p',
                    { class: 'small muted' },
                    'All of it is under ',
                    copyable(home.home, 'Copy the path of the home'),
                    '. To back it up, run ',
                    h('code', 'ethos backup FILE'),
                    '; it may be in use meanwhile.',
                ),
                this.agents(home.agents ?? []),
                h(
                    'section',
                    h('h2', { class: 'lead' }, 'Or write the first line yourself'),
                    command("ethos memory add --store user 'Prefers short answers'"),
                    h(
                        'p',
                        { class: 'small muted' },
                        'Leave this page open: the line appears above as you press Enter.',
                    ),
                ),
            ),
        );
    },

    file(file) {
        const [label, words, store] = ABOUT[file.key];
        const lines = (file.content ?? '').trim().split('\n').slice(0, 6).join('\n');
        return h(
            'section',
            { class: 'sheet welcome-file' },
            h('h2', { class: 'lead' }, label),
            h('p', { class: 'small muted' }, words),
            file.path ? copyable(file.path, 'Copy the path') : null,
            lines
                ? h('pre', { class: 'welcome-text', dir: 'auto' }, lines)
                : h('p', { class: 'welcome-text faint' }, 'empty'),
            linkButton(lines ? 'Open it' : 'Write in it', () =>
                this.ctx.go('memory', lines ? {} : { edit: store }),
            ),
        );
    },

    agents(agents) {
        const found = agents.filter((agent) => agent.found || agent.installed),
            others = agents.filter((agent) => !agent.found && !agent.installed);
        return h(
            'section',
            h('h2', { class: 'lead' }, 'Connect your agents'),
            found.length === 0
                ? h(
                      'p',
                      { class: 'muted' },
                      'No supported agent was found on this machine.',
                  )
                : null,
            h(
                'ul',
                { class: 'agents' },
                found.map((agent) =>
                    h(
                        'li',
                        { class: 'agent' },
                        h('span', { class: 'strong agent-name' }, agent.title ?? agent.name),
                        agent.installed
                            ? badge('connected', 'added', 'check')
                            : command(agent.command),
                    ),
                ),
            ),
            others.length
                ? h(
                      'details',
                      h('summary', { class: 'small muted' }, 'Others, not installed here'),
                      h(
                          'ul',
                          { class: 'agents' },
                          others.map((agent) =>
                              h(
                                  'li',
                                  { class: 'agent' },
                                  h('span', { class: 'agent-name' }, agent.title ?? agent.name),
                                  command(agent.command),
                              ),
                          ),
                      ),
                  )
                : null,
            h(
                'p',
                { class: 'small muted' },
                icon('info', 16),
                ' Each command shows what it would change with ',
                h('code', '--dry-run'),
                ', and ',
                h('code', 'ethos uninstall'),
                ' takes it back.',
            ),
        );
    },
};

export default page;

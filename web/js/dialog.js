/*
 * dialog.js: questions. The browser's own dialog element traps the focus and gives it back.
 */
import { fill, h, uid } from './dom.js';
import { button, iconButton, notice, problem } from './ui.js';

/**
 * dialog({title, body, actions, wide}): gives {node, close, closed}. actions: [{label, kind, run, value}];
 * one without run closes with its value; one whose run throws shows why and stays. closed resolves to the
 * value, or undefined when it was left.
 */
export function dialog({ title, body, actions = [], wide = false, className = '' }) {
    const id = uid('dialog');
    const foot = h('div', { class: 'dialog-foot' });
    const trouble = h('div', { class: 'dialog-trouble', role: 'alert' });
    const back = document.activeElement;
    const node = h(
        'dialog',
        { class: `dialog ${wide ? 'wide' : ''} ${className}`, 'aria-labelledby': id },
        h(
            'div',
            { class: 'dialog-head' },
            h('h2', { id }, title),
            iconButton({ label: 'Close', icon: 'close', run: () => close() }),
        ),
        h('div', { class: 'dialog-body' }, body, trouble),
        actions.length ? foot : null,
    );
    let result;
    function close(value) {
        result = value;
        node.close();
    }
    async function perform(action, control) {
        if (!action.run) return close(action.value);
        control.disabled = true;
        fill(trouble);
        try {
            const value = await action.run();
            if (value !== false) close(value);
        } catch (error) {
            fill(trouble, problem(error));
        }
        control.disabled = false;
    }
    for (const action of actions)
        foot.append(
            button({
                label: action.label,
                kind: `${action.kind ?? ''} ${action.push ? 'push' : ''}`,
                icon: action.icon,
                autofocus: action.focus,
                run: (event) => perform(action, event.currentTarget),
            }),
        );
    const closed = new Promise((resolve) =>
        node.addEventListener('close', () => {
            node.remove();
            if (back instanceof HTMLElement && back.isConnected)
                back.focus({ preventScroll: true });
            resolve(result);
        }),
    );
    node.addEventListener('mousedown', (event) => {
        if (event.target === node) close();
    });
    node.addEventListener('keydown', (event) => event.stopPropagation()); // page shortcuts sleep
    document.body.append(node);
    node.showModal();
    return { node, close, closed };
}

/** True when the person agreed. run, when given, is done before it closes; its error is shown. */
export async function confirm({
    title,
    body,
    action = 'OK',
    kind = 'primary',
    wide = false,
    run = null,
}) {
    const ends = [
        { label: 'Cancel', value: false },
        {
            label: action,
            kind,
            focus: kind !== 'danger',
            ...(run
                ? {
                      run: async () => {
                          await run();
                          return true;
                      },
                  }
                : { value: true }),
        },
    ];
    return (await dialog({ title, body, wide, actions: ends }).closed) === true;
}

/**
 * Of what was worked out from a text: question() gives what confirm takes, from the text as it is then, or
 * null when there is nothing to ask. When run finds another text (409), what would happen now is asked.
 */
export async function confirmAsItIs(question) {
    for (let moved = false; ; ) {
        const asked = await question();
        if (!asked) return false;
        const { run, body } = asked;
        const lead = moved
            ? notice('warning', 'It has changed in the meantime. This is what would happen now.')
            : null;
        moved = false;
        const agreed = await confirm({
            ...asked,
            body: [lead, body],
            run: () =>
                run().catch((error) => {
                    if (error.status !== 409) throw error;
                    moved = true;
                }),
        });
        if (!moved) return agreed;
    }
}

/** A line of text, or undefined. */
export async function ask({ title, label, value = '', action = 'OK', run = null }) {
    const input = h('input', { class: 'input', value, autofocus: true });
    const give = async () => {
        if (run) await run(input.value);
        return input.value;
    };
    const box = dialog({
        title,
        body: h('label', { class: 'field' }, h('span', label), input),
        actions: [{ label: 'Cancel' }, { label: action, kind: 'primary', run: give }],
    });
    input.addEventListener('keydown', (event) => {
        if (event.key === 'Enter') box.node.querySelector('.dialog-foot .primary').click();
    });
    input.select();
    return box.closed;
}

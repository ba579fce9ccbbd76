/*
 * composer.js: where a message is written: text, files, who answers. What is written stays as a draft until it
 * is sent.
 */
import { fill, h } from './dom.js';
import { Draft } from './state.js';
import { button, iconButton, select } from './ui.js';

const KEEP_MS = 400; // from the last key to the draft
const MAX_FILES = 10;
const MAX_FILE_BYTES = 1048576; // of one file; the server takes 2 MiB in all

/** A Mac has another key; touch has none, and Enter begins a line there. */
const touch = () => matchMedia('(pointer: coarse)').matches;

/** A file as the server takes it. */
async function attachment(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte);
    return { type: 'file', name: file.name, mimeType: file.type || 'text/plain', data: btoa(text) };
}

export class Composer {
    #how;
    #draft;
    #timer;
    #files = [];

    /** how: {send({text, attachments}), stop(), fail(error)}; key: of the conversation. */
    constructor(key, how) {
        this.#how = how;
        this.field = h('textarea', {
            class: 'composer-text', rows: '1', dir: 'auto', 'aria-label': 'Message', placeholder: 'Message', enterkeyhint: touch() ? 'enter' : 'send',
            on: { input: () => this.#typed(), keydown: (event) => this.#pressed(event) },
        });
        this.picker = h('input', { type: 'file', multiple: true, hidden: true, on: { change: () => this.#choose() } });
        this.fileBox = h('ul', { class: 'composer-files cluster', 'aria-label': 'Attached files' });
        this.who = h('span', { class: 'composer-who' });
        this.model = h('span', { class: 'composer-model small muted ellipsis' });
        this.facts = h('span', { class: 'composer-facts small faint num' });
        this.stop = iconButton({ label: 'Stop (Ctrl .)', icon: 'stop', run: how.stop, hidden: true });
        this.stop.classList.add('composer-round', 'stop');
        this.send = h('button', { type: 'submit', class: 'icon-button composer-round send', title: 'Send', 'aria-label': 'Send' }, h('span', { class: 'composer-arrow', 'aria-hidden': 'true' }, '↑'));
        this.node = h('form', { class: 'composer', 'aria-label': 'Write a message', on: { submit: (event) => { event.preventDefault(); this.submit(); } } },
            h('div', { class: 'composer-box' }, this.field, this.fileBox,
                h('div', { class: 'composer-row' },
                    iconButton({ label: 'Attach text files', icon: 'clip', run: () => this.picker.click() }), this.picker,
                    this.who, this.model, this.facts, h('span', { class: 'composer-buttons' }, this.stop, this.send))));
        this.#draft = new Draft({ scope: 'chat', key, content: '' });
        this.field.value = this.#draft.kept?.text ?? '';
        this.#paint();
    }

    /** The draft is of this conversation from now on; what stands in the field goes along. */
    moveDraft(key) {
        this.#draft.drop();
        this.#draft = new Draft({ scope: 'chat', key, content: '' });
        this.keep();
    }

    /** who may answer, and who does: select(options, value, change). */
    offer({ rows, value, change }) {
        fill(this.who, rows.length > 1 ? select('Personality', rows, value, change, { plain: true }) : null);
    }

    running(on) {
        this.stop.hidden = !on;
        this.isRunning = on;
        this.#paint();
    }

    #paint() {
        const something = this.field.value.trim() !== '' || this.#files.length > 0;
        this.send.hidden = Boolean(this.isRunning) && !something;
        this.send.disabled = !something;
    }

    #typed() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.keep(), KEEP_MS);
        this.#paint();
    }

    keep() {
        clearTimeout(this.#timer);
        if (this.field.value) this.#draft.keep({ text: this.field.value, base: '' });
        else this.#draft.drop();
    }

    #pressed(event) {
        if (event.key === 'Escape' && !event.isComposing) {
            event.stopPropagation(); // it leaves the field, not the page
            this.field.blur();
        }
        if (event.isComposing || event.key !== 'Enter' || event.shiftKey || event.altKey) return;
        if (touch() && !event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.submit();
    }

    async submit() {
        const text = this.field.value.trim();
        if (text === '' && this.#files.length === 0) return;
        try {
            const attachments = await Promise.all(this.#files.map(attachment));
            this.#how.send({ text: text || 'See what is attached.', ...(attachments.length ? { attachments } : {}) });
        } catch (error) {
            return void this.#how.fail(error);
        }
        this.field.value = '';
        this.#files = [];
        this.keep();
        this.#paintFiles();
        this.field.focus();
    }

    /** What could not be sent comes back, unless something else was begun. */
    giveBack(text) {
        if (this.field.value.trim() === '') this.field.value = text;
        this.keep();
        this.#paint();
    }

    #choose() {
        const chosen = [...this.picker.files];
        this.picker.value = '';
        const fits = chosen.filter(({ size }) => size <= MAX_FILE_BYTES).slice(0, MAX_FILES - this.#files.length);
        if (fits.length < chosen.length)
            this.#how.fail(Object.assign(new Error(`At most ${MAX_FILES} files of 1 MB each can be attached.`), { code: 'INVALID_INPUT' }));
        this.#files.push(...fits);
        this.#paintFiles();
        this.field.focus();
    }

    #paintFiles() {
        fill(this.fileBox, this.#files.map((file) => h('li', button({
            label: file.name, icon: 'close', kind: 'small', 'aria-label': `Remove ${file.name}`,
            run: () => { this.#files = this.#files.filter((other) => other !== file); this.#paintFiles(); },
        }))));
        this.#paint();
    }
}

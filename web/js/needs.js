/*
 * needs.js: what needs a person, for the page and for the count in the rail.
 */
import { allPages } from './client.js';

const MOST_WORKSPACES = 20; // that are asked for notes to check: those with most notes
const isRecordedSoon = ({ remedy }) => /\bmemory history$/.test(remedy ?? ''); // by the server, which follows the files
const isOfConflict = ({ remedy }) => /\bconflicts list$/.test(remedy ?? ''); // it is in its own list
const isOfLine = ({ remedy }) => /\bmemory show-anyway /.test(remedy ?? ''); // so is this

/* Notes to check, of all workspaces; each with the workspace that it is in. */
async function staleNotes(call) {
    const { workspaces } = await allPages((cursor) => call('workspaces.list', { ...cursor }), ['workspaces']);
    const places = workspaces.filter(({ problem, notes }) => !problem && notes > 0).sort((a, b) => b.notes - a.notes).slice(0, MOST_WORKSPACES);
    const lists = await Promise.all(places.map(async ({ id }) => {
        const { notes } = await allPages((cursor) => call('notes.list', { stale: true, workspaceId: id, ...cursor }), ['notes']);
        return notes.filter(({ stale }) => stale).map((note) => ({ ...note, workspace: id }));
    }));
    return lists.flat();
}

export const needs = {
    /** What changes it. */
    events: ['pending.changed', 'conflict.changed', 'health.changed', 'note.changed'],

    /** call(name, input): an operation. */
    async ask(call) {
        const [{ pending }, { conflicts }, notes, { findings }, { lines }] = await Promise.all([
            call('pending.list', {}),
            allPages((cursor) => call('conflicts.list', { ...cursor }), ['conflicts', 'events']),
            staleNotes(call),
            allPages((cursor) => call('meta.health', { ...cursor }), ['findings']),
            allPages((cursor) => call('memory.hidden', { ...cursor }), ['lines']),
        ]);
        return {
            pending,
            conflicts,
            notes,
            findings: findings.filter((finding) => ![isRecordedSoon, isOfConflict, isOfLine].some((is) => is(finding))),
            hidden: lines.filter(({ state, allowable }) => state === 'hidden' && allowable),
            allowed: lines.filter(({ state }) => state !== 'hidden'),
        };
    },

    count: ({ pending, conflicts, notes, findings, hidden }) => pending.length + conflicts.length + notes.length + findings.length + hidden.length,
};

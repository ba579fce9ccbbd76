/*
 * change.js: what is done about a recorded change: undo, restore. What would happen is shown first, worked
 * out from texts that are only read.
 */
import { confirm, confirmAsItIs } from './dialog.js';
import { around, diffView, lineDiff } from './diff.js';
import { h } from './dom.js';
import { fileLabel, moment, who } from './format.js';
import { notice } from './ui.js';

/* A file, now or at a revision; null is the file that was not there. */
export async function fileAt(ctx, { scope, key }, revision) {
    if (revision === null) return { content: '', revision };
    return ctx.own('memory.get', { scope, key, at: revision });
}

/* What leaves alone whatever came meanwhile needs no second question. */
async function confirmOnce(question) {
    const asked = await question();
    return asked ? confirm(asked) : false;
}

/* plan(): {now, then}, texts, run, which does it, and what else confirm takes. */
async function agree(ctx, { plan, nothing, done, ask = confirmAsItIs }) {
    try {
        const agreed = await ask(async () => {
            const { now, then, text, warning, ...asked } = await ctx.busy(plan());
            if (now === then) return void ctx.toast(nothing);
            return {
                ...asked,
                wide: true,
                body: [
                    h('p', text),
                    warning ? notice('warning', warning) : null,
                    diffView(around(lineDiff(now, then)), { label: 'What will change' }),
                ],
            };
        });
        if (agreed) ctx.toast(done);
        return agreed;
    } catch (error) {
        ctx.fail(error);
        return false;
    }
}

/* The text without one change: as if what was before it were a second hand's work on what came out. */
async function without(ctx, change) {
    const [now, after, before] = await Promise.all([
        fileAt(ctx, change),
        fileAt(ctx, change, change.after),
        fileAt(ctx, change, change.before),
    ]);
    const { merged, clean } = await ctx.call('memory.merge', {
        base: after.content,
        yours: now.content,
        theirs: before.content,
    });
    return { now: now.content, then: merged, clean, revision: now.revision };
}

const isUndo = ({ via, undoes }) => via === 'undo' || undoes?.length > 0;

/* Without a number, what was undone comes back as an edit: by time, memory.undo passes over undos. */
function redo(ctx, { scope, key, before }, { now, then, revision }) {
    const ifMatch = revision ?? 'absent';
    if (before === null && then.trim() === '')
        return ctx.call('memory.sync', { updates: [{ action: 'delete', scope, key, ifMatch }] });
    return ctx.call('memory.save', { scope, key, content: then, base: now, ifMatch });
}

/* A change that has a number is named by it; others, written by another program, by time and actor. */
function undoNow(ctx, change, made) {
    const { scope, key, number, time, actor } = change;
    if (number) return ctx.call('memory.undo', { scope, key, change: number });
    if (isUndo(change)) return redo(ctx, change, made);
    return ctx.call('memory.undo', {
        scope,
        key,
        since: time,
        until: time,
        ...(actor ? { actor } : {}),
    });
}

/** Takes one change back, with what the same operation changed in other files; what came after it stays. */
export function undoChange(ctx, change) {
    const { scope, key, number, time, group } = change;
    const plan = async () => {
        const made = await without(ctx, change);
        const { now, then, clean } = made;
        return {
            now,
            then,
            title: 'Undo this change',
            action: 'Undo it',
            text:
                `${fileLabel(scope, key)}, ${moment(time)}, ${who(change)}. What came later stays.` +
                (group ? ' The same operation changed other files too, such as the index: they are taken back with it.' : ''),
            warning: clean
                ? null
                : 'Later changes touched the same lines. You decide about the parts that cannot be undone automatically.',
            run: () => undoNow(ctx, change, made),
        };
    };
    return agree(ctx, {
        plan,
        ask: isUndo(change) && !number ? confirmAsItIs : confirmOnce,
        nothing: 'Nothing of this change is left to undo.',
        done: 'Undone. The timeline shows the change and its undo.',
    });
}

/** Writes a version back as it was, over the text that was looked at. */
export function restoreVersion(ctx, { scope, key, revision, time }) {
    const plan = async () => {
        const [now, then] = await Promise.all([
            fileAt(ctx, { scope, key }),
            fileAt(ctx, { scope, key }, revision),
        ]);
        return {
            now: now.content,
            then: then.content,
            title: 'Restore this version',
            action: 'Restore it',
            text: `${fileLabel(scope, key)} becomes what it was on ${moment(time)}. The present text stays in the timeline.`,
            run: () =>
                ctx.call('memory.restore', {
                    scope,
                    key,
                    revision,
                    ifMatch: now.revision ?? 'absent',
                }),
        };
    };
    return agree(ctx, {
        plan,
        nothing: 'The file already has this text.',
        done: 'Restored. The timeline shows the change and its restoration.',
    });
}

/*
 * change.js: what is done about a recorded change: undo, restore. What would happen is shown first, worked
 * out from texts that are only read.
 */
import { confirm } from './dialog.js';
import { around, diffView, lineDiff } from './diff.js';
import { h } from './dom.js';
import { fileLabel, moment, who } from './format.js';
import { notice } from './ui.js';

/** The text of a file, now or at a revision; null is the file that was not there. */
async function textOf(ctx, { scope, key }, revision) {
    if (revision === null) return '';
    const { content } = await ctx.own('memory.get', { scope, key, at: revision });
    return content;
}

async function agree(ctx, { now, then, title, text, warning, action, nothing, done, run }) {
    if (now === then) {
        ctx.toast(nothing);
        return false;
    }
    const agreed = await confirm({
        title,
        wide: true,
        action,
        run,
        body: [
            h('p', text),
            warning ? notice('warning', warning) : null,
            diffView(around(lineDiff(now, then)), { label: 'What will change' }),
        ],
    });
    if (agreed) ctx.toast(done);
    return agreed;
}

/* The text without one change: as if what was before it were a second hand's work on what came out. */
async function without(ctx, change) {
    const [now, after, before] = await Promise.all([
        textOf(ctx, change),
        textOf(ctx, change, change.after),
        textOf(ctx, change, change.before),
    ]);
    const { merged, clean } = await ctx.call('memory.merge', {
        base: after,
        yours: now,
        theirs: before,
    });
    return { now, then: merged, clean };
}

/** Takes one change back; what came after it stays. */
export async function undoChange(ctx, change) {
    const { scope, key, time, actor } = change;
    try {
        const { now, then, clean } = await ctx.busy(without(ctx, change));
        return await agree(ctx, {
            now,
            then,
            title: 'Undo this change',
            action: 'Undo it',
            text: `${fileLabel(scope, key)}, ${moment(time)}, ${who(change)}. What came later stays.`,
            warning: clean
                ? null
                : 'Later changes touched the same lines. What cannot be taken back cleanly stays for you to decide.',
            nothing: 'There is nothing left of this change to undo.',
            done: 'Undone. The timeline keeps both.',
            run: () =>
                ctx.call('memory.undo', {
                    scope,
                    key,
                    since: time,
                    until: time,
                    ...(actor ? { actor } : {}),
                }),
        });
    } catch (error) {
        ctx.fail(error);
        return false;
    }
}

/** Writes a version back as it was. */
export async function restoreVersion(ctx, { scope, key, revision, time }) {
    try {
        const [now, then] = await ctx.busy(
            Promise.all([textOf(ctx, { scope, key }), textOf(ctx, { scope, key }, revision)]),
        );
        return await agree(ctx, {
            now,
            then,
            title: 'Restore this version',
            action: 'Restore it',
            text: `${fileLabel(scope, key)} becomes what it was on ${moment(time)}. The present text stays in the timeline.`,
            nothing: 'The file is already like this.',
            done: 'Restored. The timeline keeps both.',
            run: () => ctx.call('memory.restore', { scope, key, revision }),
        });
    } catch (error) {
        ctx.fail(error);
        return false;
    }
}

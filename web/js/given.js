/*
 * given.js: what came with the page, so that nobody waits for it: {memory, nodes}, as memory.list answers
 * for whom no parameter says otherwise, and each file's text as nodes (null: to be asked for). The server
 * may give nothing.
 */
const { memory = null, nodes = [] } = JSON.parse(
    document.getElementById('given')?.textContent ?? '{}',
);

/** True when the home is known to hold something. */
export const remembers = Boolean(memory?.files.some((file) => file.revision));

let left = memory;

/** The files of memory; once: who asks again wants them as they are then. */
export function takeMemory() {
    const taken = left;
    left = null;
    return taken;
}

/** [text, nodes] of each text that is set. */
export const texts = nodes
    .map((made, i) => [memory.files[i].content, made])
    .filter(([, made]) => made);

/*
 * first.js: runs before the first paint and before any module is there. Sets the theme, so that nobody is
 * dazzled, and asks for what the first page shows: client.js takes the answers. Not a module, on purpose.
 */
(() => {
    const root = document.documentElement;
    try {
        const theme = localStorage.getItem('ethos.theme');
        if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
        if (localStorage.getItem('ethos.rail') === 'icons') root.dataset.rail = 'icons';
    } catch {
        // Storage may be forbidden; the system's theme it is.
    }

    // What was asked, by address and body; each answer is taken once.
    const early = (globalThis.early = new Map());

    function ask(path, json) {
        const body = json && JSON.stringify({ json });
        const answer = body
            ? fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
            : fetch(path, { cache: 'no-store' });
        answer.catch(() => {}); // who takes it is told
        early.set(location.origin + path + (body ?? ''), answer);
        return answer;
    }

    // The files of memory, and their texts set: the page needs both, one after the other.
    async function askMemory() {
        const answer = await ask('/api/memory/list?');
        const { files } = await answer.clone().json();
        for (const { content } of files) if (content?.trim()) ask('/rpc/markdown/render', { content });
    }

    ask('/rpc/meta/home', {});
    if (/^(#\/memory)?$/.test(location.hash)) askMemory().catch(() => {});
})();

/*
 * theme.js: runs before the first paint, so that nobody is dazzled. Not a module, on purpose.
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
})();

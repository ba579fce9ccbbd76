/*
 * first.js: runs before the first paint. It stands in the page itself, is no module and asks for nothing.
 */

// The frame of the page is on the screen, or nobody looks: until then app.js does nothing that takes long.
globalThis.framed = new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 200);
});

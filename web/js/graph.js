/*
 * graph.js: notes as dots, links as lines. The same notes give the same picture: nothing is random. Notes
 * with links find their place by springs; those without stand at the rim. Stale ones are hollow. One tab
 * stop: j, k and arrows go from note to note by title, Enter opens; the wheel and + - 0 zoom, dragging moves.
 */
import { fill, h, s } from './dom.js';
import { count, plural } from './format.js';
import { iconButton } from './ui.js';

const STEPS = 160; // of the springs
const SIZE = 45; // the room a note takes, from its middle
const CELLS = 2 ** 20; // of the grid in one direction, more than there ever are
const PETALS = 12; // notes with only one link, to the same note, that stand in rings around it
const RIM_DOTS = 400; // unlinked notes that are drawn one by one; more are one texture
const HUBS = 14; // notes that have their name written whatever else is there
const LABELS = 220;
const LABEL = 26; // characters of a label
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/* ---- where notes stand ------------------------------------------------------------------------ */

/* Each note pushes those near it. By cells of a grid: all pairs would take too long. */
function push(dots, side) {
    const grid = new Map();
    const cell = (x, y) => x * CELLS + y;
    for (const dot of dots) {
        const key = cell(Math.floor(dot.x / side), Math.floor(dot.y / side));
        const there = grid.get(key);
        if (there) there.push(dot);
        else grid.set(key, [dot]);
    }
    for (const dot of dots) {
        const x = Math.floor(dot.x / side), y = Math.floor(dot.y / side);
        for (let dx = -1; dx <= 1; dx++)
            for (let dy = -1; dy <= 1; dy++)
                for (const other of grid.get(cell(x + dx, y + dy)) ?? []) if (other !== dot) pushAway(dot, other);
    }
}

function pushAway(dot, other) {
    let dx = dot.x - other.x;
    const dy = dot.y - other.y, reach = dot.size + other.size;
    if (dx === 0 && dy === 0) dx = dot.order < other.order ? -0.1 : 0.1;
    const square = dx * dx + dy * dy;
    if (square > reach * reach) return;
    const distance = Math.sqrt(square), force = ((reach - distance) / distance) * 0.32;
    dot.fx += dx * force;
    dot.fy += dy * force;
}

function pull(links) {
    for (const { a, b } of links) {
        const dx = b.x - a.x, dy = b.y - a.y, distance = Math.hypot(dx, dy) || 1;
        const force = ((distance - 0.8 * (a.size + b.size)) / distance) * 0.5;
        const share = b.degree / (a.degree + b.degree); // the one with fewer links gives way
        a.fx += dx * force * share;
        a.fy += dy * force * share;
        b.fx -= dx * force * (1 - share);
        b.fy -= dy * force * (1 - share);
    }
}

function settle(dots, links) {
    const ordered = [...dots].sort((a, b) => b.degree - a.degree || a.order - b.order);
    let area = 0;
    ordered.forEach((dot, i) => {
        area += dot.size * dot.size;
        const radius = i ? 0.8 * Math.sqrt(area) : 0;
        dot.x = Math.cos(i * GOLDEN) * radius;
        dot.y = Math.sin(i * GOLDEN) * radius;
    });
    const steps = dots.length > 2000 ? STEPS / 4 : STEPS;
    const side = 2 * Math.max(SIZE, ...dots.map((dot) => dot.size));
    for (let step = 0; step < steps; step++) {
        for (const dot of dots) {
            dot.fx = -dot.x * 0.012;
            dot.fy = -dot.y * 0.012;
        }
        push(dots, side);
        pull(links);
        const cool = 0.9 * (1 - step / steps) + 0.05;
        for (const dot of dots) {
            const force = Math.hypot(dot.fx, dot.fy), most = dot.size * cool;
            const scale = force > most ? most / force : 1;
            dot.x += dot.fx * scale * cool;
            dot.y += dot.fy * scale * cool;
        }
    }
}

/** Notes that hang on one note alone, many of them: not for the springs, they stand around it. */
function petalsOf(dots) {
    const petals = new Map();
    for (const dot of dots) {
        if (dot.degree !== 1) continue;
        const [hub] = dot.near;
        if (!petals.has(hub)) petals.set(hub, []);
        petals.get(hub).push(dot);
    }
    for (const [hub, around] of petals) {
        if (around.length < PETALS) petals.delete(hub);
        else hub.size = SIZE + 16 * Math.sqrt(around.length);
    }
    return petals;
}

/** Rings around a place, from a radius outward; the radius behind the outermost. */
function ring(dots, { x = 0, y = 0, radius, gap }) {
    let at = 0, r = radius;
    while (at < dots.length) {
        const room = Math.max(Math.floor((2 * Math.PI * r) / gap), 1), here = Math.min(room, dots.length - at);
        for (let i = 0; i < here; i++) {
            const angle = (i / here) * 2 * Math.PI - Math.PI / 2;
            dots[at + i].x = x + Math.cos(angle) * r;
            dots[at + i].y = y + Math.sin(angle) * r;
        }
        at += here;
        r += gap;
    }
    return r;
}

function centre(dots) {
    const xs = dots.map((dot) => dot.x), ys = dots.map((dot) => dot.y);
    const x = (Math.min(...xs) + Math.max(...xs)) / 2, y = (Math.min(...ys) + Math.max(...ys)) / 2;
    for (const dot of dots) {
        dot.x -= x;
        dot.y -= y;
    }
}

export function layout(graph) {
    const dots = [...graph.nodes].sort((a, b) => a.title.localeCompare(b.title) || (a.key < b.key ? -1 : 1))
        .map((node, order) => ({ ...node, order, size: SIZE, degree: 0, x: 0, y: 0, fx: 0, fy: 0, near: new Set() }));
    const byKey = new Map(dots.map((dot) => [dot.key, dot]));
    const links = graph.links.map(({ from, to }) => ({ a: byKey.get(from), b: byKey.get(to) })).filter(({ a, b }) => a && b && a !== b);
    for (const { a, b } of links) {
        a.near.add(b);
        b.near.add(a);
    }
    for (const dot of dots) dot.degree = dot.near.size;
    const linked = dots.filter((dot) => dot.degree > 0), alone = dots.filter((dot) => dot.degree === 0);
    const petals = petalsOf(linked);
    const apart = new Set([...petals.values()].flat());
    settle(linked.filter((dot) => !apart.has(dot)), links.filter(({ a, b }) => !apart.has(a) && !apart.has(b)));
    for (const [hub, around] of petals) ring(around, { x: hub.x, y: hub.y, radius: 36, gap: 20 });
    centre(linked);
    const inner = Math.max(90, ...linked.map((dot) => Math.hypot(dot.x, dot.y))) + 56;
    const outer = alone.length ? ring(alone, { radius: inner, gap: alone.length > RIM_DOTS ? 9 : 26 }) : inner - 30;
    return { dots, byKey, links, alone, outer };
}

/** Labels that do not lie on each other, the most linked first. */
function chooseLabels(dots, scale) {
    const solid = dots.filter((dot) => dot.degree > 0).map((dot) => boxAround(dot, radiusOf(dot)));
    const chosen = new Set(), taken = [];
    const apart = (box) => (t) => box.x1 < t.x0 || box.x0 > t.x1 || box.y1 < t.y0 || box.y0 > t.y1;
    for (const dot of [...dots].sort((a, b) => b.degree - a.degree || a.order - b.order)) {
        if (chosen.size >= LABELS) break;
        const width = labelOf(dot).length * 7.2 / scale, height = 17 / scale;
        const box = { x0: dot.x - width / 2, x1: dot.x + width / 2, y0: dot.y + radiusOf(dot) + 1, y1: dot.y + radiusOf(dot) + 1 + height };
        const hub = dot.degree > 1 && chosen.size < HUBS;
        if (!taken.every(apart(box)) || !(hub || solid.every(apart(box)))) continue;
        taken.push(box);
        chosen.add(dot);
    }
    return chosen;
}

const boxAround = ({ x, y }, r) => ({ x0: x - r, x1: x + r, y0: y - r, y1: y + r });
const labelOf = ({ title }) => ([...title].length > LABEL ? `${[...title].slice(0, LABEL - 1).join('')}…` : title);
const radiusOf = (dot) => 4 + Math.min(Math.sqrt(dot.degree) * 1.7, 7);

/* ---- the picture ------------------------------------------------------------------------------ */

export class GraphView {
    constructor(graph, { open }) {
        Object.assign(this, { graph, open, plan: layout(graph), zoom: 1, x: 0, y: 0, focused: null, selected: null });
        this.lines = s('g', { class: 'graph-lines' });
        this.points = s('g', { class: 'graph-points' });
        this.labels = s('g', { class: 'graph-labels', 'aria-hidden': 'true' });
        this.svg = s('svg', { class: 'graph-svg', role: 'group', 'aria-label': 'Graph of notes: arrows go from note to note, Enter opens' }, this.lines, this.points, this.labels);
        this.words = h('p', { class: 'small muted graph-words' });
        this.node = h('div', { class: 'graph' }, this.words, h('div', { class: 'graph-box' }, this.svg,
            h('div', { class: 'graph-tools' },
                iconButton({ label: 'Larger (+)', icon: 'plus', run: () => this.scale(1.4) }),
                iconButton({ label: 'All of it (0)', icon: 'graph', run: () => this.fit() }))), this.legend());
        this.build();
        this.listen();
        new ResizeObserver(() => this.resized()).observe(this.svg);
    }

    legend() {
        return h('p', { class: 'graph-legend small muted', 'aria-hidden': 'true' },
            h('span', h('i', { class: 'swatch' }), 'note'), h('span', h('i', { class: 'swatch hollow' }), 'stale'),
            h('span', 'at the rim: no links'), h('span', h('kbd', 'j'), ' ', h('kbd', 'k'), ' move, ', h('kbd', 'Enter'), ' opens'));
    }

    build() {
        const { dots, links, alone } = this.plan;
        const texture = alone.length > RIM_DOTS;
        const stale = dots.filter((dot) => dot.stale).length;
        this.words.textContent = `${plural(dots.length, 'note')}, ${plural(links.length, 'link')}; ${count(alone.length)} without links, ${count(stale)} stale.`;
        this.svg.style.setProperty('--line', Math.min(0.7, 14 / Math.sqrt(links.length + 1)).toFixed(2)); // many lines are a mist
        for (const link of links) {
            link.node = s('line', { x1: link.a.x, y1: link.a.y, x2: link.b.x, y2: link.b.y });
            this.lines.append(link.node);
        }
        if (texture) this.points.append(s('path', { class: 'graph-texture', d: alone.map((dot) => `M${dot.x.toFixed(1)} ${dot.y.toFixed(1)}h0`).join('') }));
        for (const dot of dots) {
            if (texture && dot.degree === 0) continue;
            dot.circle = s('circle', { cx: dot.x, cy: dot.y, r: radiusOf(dot) });
            dot.node = s('a', {
                class: `graph-dot ${dot.stale ? 'stale' : ''}`, role: 'link', tabindex: '-1', data: { key: dot.key },
                'aria-label': `${dot.title}, ${plural(dot.degree, 'link')}${dot.stale ? ', stale' : ''}`,
            }, s('circle', { class: 'graph-hit', cx: dot.x, cy: dot.y, r: 14 }), dot.circle);
            this.points.append(dot.node);
        }
        this.walk = dots.filter((dot) => dot.node);
        if (this.walk[0]) this.walk[0].node.setAttribute('tabindex', '0');
    }

    listen() {
        const dotOf = (event) => this.plan.byKey.get(event.target.closest?.('.graph-dot')?.dataset.key);
        this.svg.addEventListener('click', (event) => { const dot = dotOf(event); if (dot && !this.moved) this.open(dot.key); });
        this.svg.addEventListener('pointerover', (event) => this.light(dotOf(event) ?? null));
        this.svg.addEventListener('pointerleave', () => this.light(null));
        this.svg.addEventListener('focusin', (event) => { this.focused = dotOf(event) ?? null; this.light(this.focused); });
        this.svg.addEventListener('focusout', () => this.light(null));
        this.svg.addEventListener('keydown', (event) => this.key(event));
        this.svg.addEventListener('wheel', (event) => {
            if (!event.ctrlKey && Math.abs(event.deltaY) < 1) return;
            event.preventDefault();
            this.scale(Math.exp(-event.deltaY * 0.0015), event);
        }, { passive: false });
        this.svg.addEventListener('pointerdown', (event) => this.drag(event));
    }

    key(event) {
        const act = {
            ArrowRight: () => this.step(1), ArrowDown: () => this.step(1), ArrowLeft: () => this.step(-1), ArrowUp: () => this.step(-1),
            Home: () => this.to(0), End: () => this.to(this.walk.length - 1), '+': () => this.scale(1.4), '=': () => this.scale(1.4), '-': () => this.scale(1 / 1.4), 0: () => this.fit(),
            Enter: () => this.focused && this.open(this.focused.key), ' ': () => this.focused && this.open(this.focused.key),
        }[event.key];
        if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        act();
    }

    drag(down) {
        if (down.button !== 0) return;
        const start = { x: down.clientX, y: down.clientY, left: this.x, top: this.y };
        const unit = this.unit();
        this.moved = false;
        const move = (event) => {
            const dx = event.clientX - start.x, dy = event.clientY - start.y;
            if (!this.moved && Math.hypot(dx, dy) < 4) return;
            this.moved = true;
            this.x = start.left - dx * unit;
            this.y = start.top - dy * unit;
            this.frame();
        };
        const up = () => {
            removeEventListener('pointermove', move);
            setTimeout(() => { this.moved = false; });
        };
        addEventListener('pointermove', move);
        addEventListener('pointerup', up, { once: true });
    }

    /** Goes to another note, by title. */
    step(by) {
        const active = document.activeElement?.closest?.('.graph-dot');
        const at = this.walk.findIndex((dot) => dot.node === active);
        this.to(at < 0 ? Math.max(this.walk.indexOf(this.selected), 0) : Math.min(Math.max(at + by, 0), this.walk.length - 1));
    }

    to(index) {
        const dot = this.walk[index];
        if (!dot) return;
        for (const other of this.walk) if (other.node.getAttribute('tabindex') === '0') other.node.setAttribute('tabindex', '-1');
        dot.node.setAttribute('tabindex', '0');
        dot.node.focus({ preventScroll: true });
        this.show(dot);
    }

    /* Moves the picture so that a note is in it. */
    show(dot) {
        const half = this.extent() / 2 * 0.9;
        if (Math.abs(dot.x - this.x) < half * this.ratio().w && Math.abs(dot.y - this.y) < half * this.ratio().h) return;
        this.x = dot.x;
        this.y = dot.y;
        this.frame();
    }

    /* A note and its neighbours stand out. */
    light(dot) {
        const lit = dot ?? this.selected;
        this.svg.classList.toggle('lit', Boolean(lit));
        for (const other of this.walk) other.node.classList.toggle('near', Boolean(lit) && (other === lit || lit.near.has(other)));
        for (const link of this.plan.links) link.node.classList.toggle('near', Boolean(lit) && (link.a === lit || link.b === lit));
        this.paintLabels(lit);
    }

    select(key) {
        this.selected?.node?.classList.remove('selected');
        this.selected = this.plan.byKey.get(key) ?? null;
        this.selected?.node?.classList.add('selected');
        this.light(null);
        if (this.selected?.node) this.show(this.selected);
    }

    /** Notes that a filter leaves out fade. */
    filter(keys) {
        const all = keys.size === this.plan.dots.length;
        for (const dot of this.walk) dot.node.classList.toggle('out', !all && !keys.has(dot.key));
    }

    paintLabels(lit = this.selected) {
        const chosen = chooseLabels(this.walk, 1 / this.unit());
        if (lit?.node) for (const dot of [lit, ...lit.near]) chosen.add(dot);
        const unit = this.unit(), half = (this.extent() * this.ratio().w) / 2;
        const within = (dot) => {
            const room = half - labelOf(dot).length * 3.6 * unit, off = dot.x - this.x;
            return Math.abs(off) < half && room > 0 ? this.x + Math.min(Math.max(off, -room), room) : dot.x;
        };
        fill(this.labels, [...chosen].map((dot) => s('text', {
            x: within(dot), y: dot.y + radiusOf(dot) + 14 * unit, 'font-size': 13 * unit, 'stroke-width': 4 * unit, direction: 'ltr',
            class: lit && dot !== lit && !lit.near.has(dot) ? 'far' : dot === lit ? 'here' : '',
        }, `\u2068${labelOf(dot)}\u2069`)));
    }

    /* ---- the frame ---------------------------------------------------------------------------- */

    extent() {
        return (2 * this.plan.outer + 60) / this.zoom;
    }

    ratio() {
        const { clientWidth: w = 1, clientHeight: hgt = 1 } = this.svg;
        const least = Math.min(w, hgt) || 1;
        return { w: (w || 1) / least, h: (hgt || 1) / least };
    }

    /** Units of the picture in one pixel. */
    unit() {
        return this.extent() / (Math.min(this.svg.clientWidth, this.svg.clientHeight) || 600);
    }

    frame() {
        const size = this.extent(), { w, h: high } = this.ratio();
        this.svg.setAttribute('viewBox', `${this.x - (size * w) / 2} ${this.y - (size * high) / 2} ${size * w} ${size * high}`);
        this.svg.style.setProperty('--unit', String(this.unit()));
    }

    resized() {
        this.frame();
        this.paintLabels();
    }

    scale(by, event = null) {
        const before = this.unit();
        this.zoom = Math.min(Math.max(this.zoom * by, 0.5), 40);
        if (event) {
            const box = this.svg.getBoundingClientRect(), after = this.unit();
            this.x += (event.clientX - box.left - box.width / 2) * (before - after);
            this.y += (event.clientY - box.top - box.height / 2) * (before - after);
        }
        this.resized();
    }

    fit() {
        Object.assign(this, { zoom: 1, x: 0, y: 0 });
        this.resized();
    }
}

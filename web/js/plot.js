/*
 * plot.js: plots in SVG: lines over time, stacked bars by day, one bar of shares. Each tells its values on
 * hover and by arrow keys, and has a table beside it. Colours are classes (tint-1 to tint-6), never the only
 * sign: lines are named where they end, bars by their legend.
 */
import { fill, h, s } from './dom.js';
import { count, dayMonth } from './format.js';

const HEIGHT = 240; // pixels
const PAD = { top: 28, right: 16, bottom: 28, left: 48 };
const DAY = 864e5;
const DATE_ROOM = 76; // pixels that a date on the axis takes

/** Round numbers from 0 to a little above most. */
export function ticks(most, wanted = 4) {
    const rough = Math.max(most, 1) / wanted, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const whole = Math.max(step, 1);
    return Array.from({ length: Math.ceil(Math.max(most, 1) / whole) + 1 }, (_, i) => i * whole);
}

const short = (n) => (n >= 1e6 ? `${+(n / 1e6).toFixed(1)} M` : n >= 1e4 ? `${Math.round(n / 1e3)} k` : n >= 1e3 ? `${+(n / 1e3).toFixed(1)} k` : String(n));

/** Days here are those of UTC, as the server counts them. */
export const dayLabel = (ms) => dayMonth(ms, 'UTC');

/** A plot in its frame: title, what it answers, picture, table. */
export function figure({ title, answer, picture, table, legend = null, wide = false }) {
    return h('figure', { class: `plot ${wide ? 'wide' : ''}` },
        h('figcaption', h('h2', { class: 'lead' }, title), h('p', { class: 'muted' }, answer)),
        legend, picture,
        h('details', { class: 'plot-table' }, h('summary', 'The numbers'), h('div', { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': `${title}, the numbers` }, table)));
}

export function table(head, rows) {
    return h('table', { class: 'table' }, h('thead', h('tr', head.map((cell, i) => h('th', { scope: 'col', class: i ? 'num' : null }, cell)))),
        h('tbody', rows.map((row) => h('tr', row.map((cell, i) => (i ? h('td', { class: 'num' }, cell) : h('th', { scope: 'row' }, cell)))))));
}

/** The parts of a legend: [{label, tint}]. */
export function legend(parts) {
    return h('ul', { class: 'plot-legend small' }, parts.map(({ label, tint }) => h('li', h('span', { class: `plot-key ${tint}`, 'aria-hidden': 'true' }), h('span', { dir: 'auto' }, label))));
}

/* ---- what plots share ------------------------------------------------------------------------- */

function scaleY(most, extra = 0) {
    const marks = ticks(Math.max(most, extra));
    const top = Math.max(marks.at(-1), extra);
    return { marks, y: (value) => HEIGHT - PAD.bottom - (value / top) * (HEIGHT - PAD.top - PAD.bottom) };
}

function axes(scale, { first, last, unit, width }) {
    const span = Math.max(last - first, DAY), room = width - PAD.left - PAD.right;
    const x = (time) => PAD.left + ((time - first) / span) * room;
    const every = Math.max(Math.ceil(span / DAY / Math.max(Math.floor(room / DATE_ROOM), 1)), 1) * DAY;
    const days = [];
    for (let at = Math.ceil(first / DAY) * DAY; at <= last; at += every) days.push(at);
    const grid = [
        scale.marks.map((mark) => [
            s('line', { class: 'plot-grid', x1: PAD.left, x2: width - PAD.right, y1: scale.y(mark), y2: scale.y(mark) }),
            s('text', { class: 'plot-word', x: PAD.left - 8, y: scale.y(mark) + 4, 'text-anchor': 'end' }, short(mark))]),
        days.map((at) => s('text', { class: 'plot-word', x: x(at), y: HEIGHT - 6, 'text-anchor': x(at) > width - 24 ? 'end' : x(at) < 24 ? 'start' : 'middle' }, dayLabel(at))),
        s('text', { class: 'plot-word plot-unit', x: 0, y: 10 }, unit),
    ];
    return { x, grid };
}

/**
 * A picture as wide as its place, drawn again when that changes. draw(width) gives {parts, places}: what is
 * seen, and the places (times, days) that tell their values to a pointer and to the arrow keys.
 */
function picture(label, draw, tell) {
    const line = s('line', { class: 'plot-probe', y1: PAD.top, y2: HEIGHT - PAD.bottom, visibility: 'hidden' });
    const tip = h('div', { class: 'plot-tip', hidden: true, 'aria-hidden': 'true' });
    const said = h('span', { class: 'visually-hidden', role: 'status' });
    const svg = s('svg', { class: 'plot-svg', height: HEIGHT, role: 'group', tabindex: '0', 'aria-label': `${label}; arrow keys read the values` });
    const box = h('div', { class: 'plot-box' }, svg, tip, said);
    let places = [], at = -1, width = 0;
    function paint() {
        if (!box.clientWidth || box.clientWidth === width) return;
        width = box.clientWidth;
        const drawn = draw(width);
        places = drawn.places;
        svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
        fill(svg, drawn.parts, line);
    }
    function show(index, speak) {
        at = index;
        const { x } = places[index], { title, rows } = tell(places[index]);
        line.setAttribute('x1', x);
        line.setAttribute('x2', x);
        line.setAttribute('visibility', 'visible');
        fill(tip, h('strong', title), rows.length ? h('dl', rows.map(({ label: name, value, tint }) => [h('dt', tint ? h('span', { class: `plot-key ${tint}` }) : null, h('span', { dir: 'auto' }, name)), h('dd', { class: 'num' }, value)])) : h('p', 'nothing'));
        tip.hidden = false;
        tip.style.setProperty('left', `${x}px`);
        tip.classList.toggle('flip', x > width / 2);
        if (speak) said.textContent = [title, ...rows.map(({ label: name, value }) => `${name} ${value}`)].join(', ');
    }
    function hide() {
        tip.hidden = true;
        line.setAttribute('visibility', 'hidden');
    }
    svg.addEventListener('pointermove', (event) => {
        const x = event.clientX - svg.getBoundingClientRect().left;
        let best = 0;
        places.forEach((place, i) => { if (Math.abs(place.x - x) < Math.abs(places[best].x - x)) best = i; });
        if (places.length) show(best, false);
    });
    svg.addEventListener('pointerleave', hide);
    svg.addEventListener('blur', hide);
    svg.addEventListener('keydown', (event) => {
        const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? places.length - 1 : at - 1, Home: 0, End: places.length - 1 }[event.key];
        if (event.key === 'Escape') hide();
        if (to === undefined || places.length === 0) return;
        event.preventDefault();
        show(Math.min(Math.max(to, 0), places.length - 1), true);
    });
    new ResizeObserver(paint).observe(box);
    return box;
}

/* ---- lines over time -------------------------------------------------------------------------- */

const valueAt = (points, time) => points.filter((point) => point.time <= time).at(-1)?.value ?? null;

/** series: [{label, tint, points: [{time, value}]}]; a value holds until the next. limit: {value, label}. */
export function lines({ label, series, first, last, unit, limit = null }) {
    const most = Math.max(0, ...series.flatMap((one) => one.points.map((point) => point.value)));
    const near = limit && most > limit.value * 0.25; // a limit far away would flatten everything
    const scale = scaleY(most, near ? limit.value : 0);
    const path = ({ points }, x) => {
        const before = valueAt(points, first);
        const shown = [...(before === null ? [] : [{ time: first, value: before }]), ...points.filter((point) => point.time > first)];
        return shown.map((point, i) => `${i ? `H${x(point.time).toFixed(1)}V` : `M${x(point.time).toFixed(1)} `}${scale.y(point.value).toFixed(1)}`).join('') + (shown.length ? `H${x(last).toFixed(1)}` : '');
    };
    const draw = (width) => {
        const { x, grid } = axes(scale, { first, last, unit, width });
        const bound = near ? [s('line', { class: 'plot-limit', x1: PAD.left, x2: width - PAD.right, y1: scale.y(limit.value), y2: scale.y(limit.value) }),
            s('text', { class: 'plot-word', x: PAD.left + 6, y: scale.y(limit.value) - 6 }, limit.label)] : null;
        const places = [];
        for (let at = last; at >= first; at -= DAY) places.unshift({ time: at, x: x(at) });
        return { parts: [grid, bound, series.map((one) => s('path', { class: `plot-line ${one.tint}`, d: path(one, x) }))], places };
    };
    return picture(label, draw, ({ time }) => ({
        title: dayLabel(time),
        rows: series.map((one) => ({ label: one.label, tint: one.tint, value: valueAt(one.points, time) })).filter((row) => row.value !== null).map((row) => ({ ...row, value: `${count(row.value)} ${unit}` })),
    }));
}

/* ---- bars by day ------------------------------------------------------------------------------ */

/** days: [{time, parts: {name: number}}], one for each day; parts: [{name, label, tint}], from the bottom up. */
export function bars({ label, days, parts, unit }) {
    const sum = (day) => parts.reduce((total, part) => total + (day.parts[part.name] ?? 0), 0);
    const scale = scaleY(Math.max(1, ...days.map(sum)));
    const first = days[0].time - DAY / 2, last = days.at(-1).time + DAY / 2;
    const bar = (day, x, wide) => {
        let base = 0;
        return parts.filter((part) => day.parts[part.name]).map((part) => {
            const from = base, to = (base += day.parts[part.name]);
            return s('rect', { class: `plot-bar ${part.tint}`, x: x(day.time) - wide / 2, width: wide, y: scale.y(to), height: Math.max(scale.y(from) - scale.y(to) - (from ? 1 : 0), 0.5) });
        });
    };
    const draw = (width) => {
        const { x, grid } = axes(scale, { first, last, unit, width });
        const wide = Math.min(Math.max(((width - PAD.left - PAD.right) / days.length) * 0.72, 1.5), 40);
        return { parts: [grid, days.map((day) => bar(day, x, wide))], places: days.map((day) => ({ ...day, x: x(day.time) })) };
    };
    return picture(label, draw, (day) => ({
        title: dayLabel(day.time),
        rows: parts.filter((part) => day.parts[part.name]).map((part) => ({ label: part.label, tint: part.tint, value: count(day.parts[part.name]) })),
    }));
}

/** One bar of shares: parts [{label, tint, value}], of a whole. */
export function share({ label, parts, whole }) {
    return h('div', { class: 'plot-share', role: 'img', 'aria-label': `${label}: ${parts.map((part) => `${part.label} ${count(part.value)}`).join(', ')}` },
        parts.filter((part) => part.value > 0).map((part) => h('span', { class: `plot-part ${part.tint}`, title: `${part.label}: ${count(part.value)}`, css: { width: `${(100 * part.value) / Math.max(whole, 1)}%` } })));
}

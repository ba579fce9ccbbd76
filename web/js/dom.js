/*
 * dom.js: nodes from data. Text is only ever set as text; there is no way to hand in markup.
 */

const SVG = 'http://www.w3.org/2000/svg';

function append(node, children) {
    for (const child of children) {
        if (Array.isArray(child)) append(node, child);
        else if (child !== null && child !== undefined && child !== false) node.append(child);
    }
}

function setAll(node, props) {
    for (const [name, value] of Object.entries(props)) {
        if (value === null || value === undefined || value === false) continue;
        if (name === 'on')
            for (const [type, fn] of Object.entries(value)) node.addEventListener(type, fn);
        else if (name === 'data') Object.assign(node.dataset, value);
        else if (name === 'aria') setAria(node, value);
        else if (name === 'css')
            for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
        else if (name === 'value' || name === 'checked' || name === 'indeterminate')
            node[name] = value;
        else node.setAttribute(name, value === true ? '' : String(value));
    }
}

function setAria(node, values) {
    for (const [key, value] of Object.entries(values))
        if (value !== null && value !== undefined) node.setAttribute(`aria-${key}`, String(value));
}

/** h('p', {class: 'muted', on: {click}}, 'text', node, [more]). Props may be left out. */
export function h(tag, props, ...children) {
    const node = document.createElement(tag);
    if (isProps(props)) setAll(node, props);
    else children.unshift(props);
    append(node, children);
    return node;
}

/** The same for SVG. */
export function s(tag, props, ...children) {
    const node = document.createElementNS(SVG, tag);
    if (isProps(props)) setAll(node, props);
    else children.unshift(props);
    append(node, children);
    return node;
}

function isProps(value) {
    return (
        value !== null &&
        typeof value === 'object' &&
        !Array.isArray(value) &&
        !(value instanceof Node)
    );
}

/** Replaces what is in a node. */
export function fill(node, ...children) {
    node.replaceChildren();
    append(node, children);
    return node;
}

const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex]';

/** The same, keeping the focus at the same place: for what is drawn anew while it is used. */
export function refill(node, ...children) {
    const at = [...node.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
    fill(node, ...children);
    if (at >= 0) node.querySelectorAll(FOCUSABLE)[at]?.focus({ preventScroll: true });
    return node;
}

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Whether keys that are typed go into a text. */
export function typing(target) {
    return (
        target instanceof Element &&
        target.closest('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]') !== null
    );
}

/** Resolves when what is there now is on the screen; soon, when nobody sees it. */
export const painted = () =>
    new Promise((resolve) => {
        requestAnimationFrame(() => setTimeout(resolve));
        setTimeout(resolve, 200);
    });

let serial = 0;

/** A fresh id, to tie labels to what they label. */
export const uid = (word = 'x') => `${word}-${++serial}`;

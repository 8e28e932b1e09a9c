// Elements. Texts of the recording go in as text, never as markup.

export function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'style') Object.assign(element.style, value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

export function draw(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

// A row of buttons of which one is pressed.
export function choice(label, options, picked, pick) {
  const box = make('span', { class: 'choice', role: 'group', 'aria-label': label }, make('span', {}, label));
  for (const option of options) {
    box.append(make('button', { type: 'button', 'data-value': option.value, title: option.title,
      'aria-pressed': String(option.value === picked),
      onclick: () => {
        for (const other of box.querySelectorAll('button'))
          other.setAttribute('aria-pressed', String(other.dataset.value === String(option.value)));
        pick(option.value);
      } }, option.text));
  }
  return box;
}

export function table(heads, rows) {
  return make('div', { class: 'scroll' }, make('table', {},
    make('thead', {}, make('tr', {}, heads.map((head) => make('th', { class: head.n ? 'n' : head.long ? 'long' : null, title: head.title }, head.text)))),
    make('tbody', {}, rows)));
}

export function dot(colour) {
  return make('span', { class: 'dot', style: { background: colour } });
}

// Kinds of memory, in the order of purpose.h. After Okabe and Ito, whose colours are told apart by
// people who do not see all colours; greys are for what is nobody's in particular.
export const PURPOSE_COLOURS = ['#3f8fd0', '#8ccbf2', '#5fb8b0', '#e2622c', '#1aa37a', '#8a6bbf',
  '#b79fd8', '#d986b5', '#eaa221', '#efe25a', '#9aa5b1', '#6d7885', '#c3cad2'];
// Kinds of phases, in the order of course.h.
export const KIND_COLOURS = ['#dfe4ea', '#c3cad2', '#8ccbf2', '#9aa5b1', '#3f8fd0', '#efe25a', '#e2622c',
  '#d986b5', '#1aa37a', '#8a6bbf', '#eaa221', '#5fb8b0'];
// What has no meaning of its own: modules.
export const OTHER_COLOURS = ['#3f8fd0', '#eaa221', '#1aa37a', '#d986b5', '#8a6bbf', '#8ccbf2', '#e2622c',
  '#efe25a', '#a9825a', '#5fb8b0', '#9aa5b1', '#c3cad2'];

export function rgba(colour) {
  const value = parseInt(colour.slice(1), 16);
  return (0xff000000 | (value & 0xff) << 16 | (value & 0xff00) | value >> 16) >>> 0;
}

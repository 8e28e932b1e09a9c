// What lived at a moment: an icicle by kind, module or call stack, and the largest blocks.
import { bytes, clock, count, duration, percent, plural } from './format.js';
import { choice, dot, make, PURPOSE_COLOURS, table } from './dom.js';
import { hasModules, moduleName } from './groups.js';

const ICICLE_ROW = 23;
const LEVELS = 14;
const LEAST = 0.004; // the narrowest part of an icicle that is drawn

function node(key, text) {
  return { key, text, bytes: 0, blocks: 0, children: new Map(), kinds: null, own: true };
}

function grow(parent, key, text, own) {
  let child = parent.children.get(key);
  if (!child) {
    child = node(key, text);
    child.own = own !== false;
    child.parent = parent;
    parent.children.set(key, child);
  }
  return child;
}

// Adds to each node of the line, and to what it holds of the kind.
function addTo(line, purpose, held, blocks) {
  for (const one of line) {
    one.bytes += held;
    one.blocks += blocks;
    (one.kinds ||= new Map()).set(purpose, (one.kinds.get(purpose) || 0) + held);
  }
}

function modulesAbove(modules, place) {
  const line = [];
  for (let at = place; at; at = modules[at].parent || 0) line.unshift(at);
  return line;
}

// Where call sites are too many, the rare ones stand together with those that are not known.
function siteText(view, site) {
  return site === 0 && view.scope.moments.folded ? 'rare call sites, and those not known' : view.names.site(site);
}

const parts = {
  kind(view, c) {
    return [['k' + c.purpose, view.purposes[c.purpose]],
      hasModules(view) && c.module ? ['m' + c.module, moduleName(view.scope.moments.modules[c.module])] : null,
      ['s' + c.site, siteText(view, c.site)]].filter(Boolean);
  },
  module(view, c) {
    const modules = view.scope.moments.modules;
    const line = modulesAbove(modules, c.module).map((at) => ['m' + at, moduleName(modules[at])]);
    if (!line.length) line.push(['m0', 'of no module']);
    return line.concat([['k' + c.purpose, view.purposes[c.purpose]], ['s' + c.site, siteText(view, c.site)]]);
  },
  stack(view, c) {
    const frames = view.names.stack(c.site).reverse();
    if (!frames.length) return [['s0', siteText(view, 0)], ['k' + c.purpose, view.purposes[c.purpose]]];
    return frames.map((frame) => ['f' + frame.place, frame.shown, !frame.library]);
  },
};

export function tree(view, state, by) {
  const root = node('all', 'all');
  view.moments.classes.forEach((c, i) => {
    if (state.held[i] === 0 && state.blocks[i] === 0) return;
    const line = [root];
    for (const [key, text, own] of parts[by](view, c)) line.push(grow(line[line.length - 1], key, text, own));
    addTo(line, c.purpose, state.held[i], state.blocks[i]);
  });
  return root;
}

// A row of nodes that hold the same is one row, called after the last of the program's own.
function folded(start) {
  const chain = [start];
  let last = start;
  while (last.key !== 'all' && last.children.size === 1) {
    const [only] = last.children.values();
    if (only.bytes !== last.bytes || !only.key.startsWith('f')) break;
    chain.push(only);
    last = only;
  }
  const own = chain.filter((one) => one.own).pop() || last;
  const deeper = chain.length > 1 && own !== last ? own.text + ' > ' + last.text : own.text;
  return { last, text: deeper, title: chain.map((one) => one.text).join('\n') };
}

function colourOf(one) {
  let best = 0, most = -1;
  for (const [purpose, held] of one.kinds || []) if (held > most) [best, most] = [purpose, held];
  return PURPOSE_COLOURS[best];
}

export class MomentPanel {
  constructor(view, options) {
    this.view = view;
    this.options = options;
    this.by = hasModules(view) ? 'module' : 'kind';
    this.opened = new Set();
    this.head = make('h2', { id: 'moment' });
    this.under = make('p', { class: 'hint' });
    this.path = make('div', { class: 'path' });
    this.icicle = make('div', { class: 'icicle', id: 'icicle' });
    this.blocks = make('div', { id: 'blocks' });
    const ways = [{ value: 'kind', text: 'Kind' }, { value: 'module', text: 'Module' }, { value: 'stack', text: 'Call stack' }]
      .filter((way) => way.value !== 'module' || hasModules(view));
    this.section = make('section', {}, make('div', { class: 'bar-row' }, this.head, make('div', { class: 'grow' }),
      choice('Parts', ways, this.by, (by) => this.turn(by))),
    this.under, this.path, this.icicle, this.blocks);
    new ResizeObserver(() => this.width !== this.icicle.clientWidth && this.put()).observe(this.icicle);
  }

  turn(by) {
    this.by = by;
    this.show(this.view.selected);
    this.options.turned();
  }

  show(moment) {
    const { view } = this;
    if (moment < 0) return;
    this.state = view.moments.at(moment);
    this.root = tree(view, this.state, this.by);
    this.focus = this.root;
    const peak = moment === view.peakMoment ? ' (the peak)' : '';
    this.head.textContent = 'Live at ' + clock(view.moments.ns[moment], 1e6) + peak + ': ' + bytes(view.moments.bytes[moment]);
    this.head.dataset.bytes = view.moments.bytes[moment];
    this.head.dataset.blocks = view.moments.blockCount[moment];
    this.head.dataset.seq = view.moments.seq[moment];
    this.under.textContent = [view.phaseText(moment), plural(view.moments.blockCount[moment], 'block'),
      'click the timeline for another moment, a part below to enlarge it'].filter(Boolean).join(' · ');
    this.put();
    this.putBlocks(moment);
  }

  // ---- icicle ----

  put() {
    if (!this.root) return;
    this.width = this.icicle.clientWidth;
    this.deepest = 0;
    this.icicle.replaceChildren();
    this.putPath();
    this.putNode(this.focus, 0, 1, 0);
    this.icicle.style.height = (this.deepest + 1) * ICICLE_ROW + 'px';
  }

  putPath() {
    const line = [];
    for (let at = this.focus; at; at = at.parent) line.unshift(at);
    this.path.replaceChildren();
    if (line.length < 2) return;
    line.forEach((one, i) => {
      if (i) this.path.append(' › ');
      this.path.append(make('button', { type: 'button', onclick: () => this.enlarge(one) }, i ? one.text : 'all'));
    });
  }

  enlarge(one) {
    this.focus = one;
    this.put();
  }

  putNode(one, from, share, level) {
    const fold = folded(one), width = share * this.width;
    this.deepest = Math.max(this.deepest, level);
    const text = fold.text + ' ' + bytes(one.bytes);
    this.icicle.append(make('button', { type: 'button', title: fold.title + '\n' + bytes(one.bytes) + ' in ' + plural(one.blocks, 'block') + ', ' +
      percent(one.bytes / (this.root.bytes || 1)), 'data-key': one.key, 'data-text': one.text, 'data-bytes': one.bytes, 'data-blocks': one.blocks, 'data-level': level,
      style: { left: from * 100 + '%', width: share * 100 + '%', top: level * ICICLE_ROW + 'px', background: level ? colourOf(one) : 'var(--hatch)', color: level ? null : 'var(--ink)' },
      onclick: () => this.enlarge(one) }, width > 26 ? text : ''));
    if (level + 1 < LEVELS) this.putChildren(fold.last, one, from, share, level + 1);
  }

  putChildren(parent, one, from, share, level) {
    const children = [...parent.children.values()].sort((a, b) => b.bytes - a.bytes);
    let at = from, rest = 0, restBlocks = 0, restCount = 0;
    for (const child of children) {
      const part = share * child.bytes / (one.bytes || 1);
      if (part < LEAST) {
        rest += child.bytes;
        restBlocks += child.blocks;
        restCount++;
        continue;
      }
      this.putNode(child, at, part, level);
      at += part;
    }
    if (!rest) return;
    this.deepest = Math.max(this.deepest, level);
    this.icicle.append(make('button', { type: 'button', class: 'rest', title: plural(restCount, 'smaller part') + ': ' + bytes(rest),
      'data-bytes': rest, 'data-blocks': restBlocks, 'data-level': level,
      style: { left: at * 100 + '%', width: share * rest / one.bytes * 100 + '%', top: level * ICICLE_ROW + 'px' } },
    share * rest / one.bytes * this.width > 60 ? restCount + ' smaller' : ''));
  }

  // ---- blocks ----

  putBlocks(moment) {
    const { view } = this, living = view.moments.living(moment), most = this.all ? 200 : 12;
    const rows = living.slice(0, most).flatMap((block) => this.blockRows(block, moment));
    const left = living.length - Math.min(living.length, most);
    const more = left > 0 && !this.all ? make('button', { type: 'button', class: 'no-print', onclick: () => {
      this.all = true;
      this.putBlocks(moment);
    } }, 'Show ' + count(Math.min(living.length, 200)) + ' of ' + count(living.length)) : '';
    this.blocks.replaceChildren(make('h3', {}, 'The largest blocks' + (view.moments.exact ? '' : ' (' + view.moments.top + ' of each moment are known one by one)')),
      table([{ text: 'bytes', n: true }, { text: 'kind' }, ...(hasModules(view) ? [{ text: 'module', long: true }] : []), { text: 'allocated in' }, { text: 'call site', long: true }, { text: 'lifetime', n: true, title: 'from the allocation to the free of the block' }], rows),
      more);
  }

  blockRows(block) {
    const { view } = this, c = view.moments.classes[block.class];
    const stack = make('tr', { hidden: true });
    const fill = () => {
      if (!stack.hidden || stack.children.length) return;
      const frames = view.names.stack(block.site);
      stack.append(make('td', { colspan: 6 }, make('ol', { class: 'stack' },
        frames.length ? frames.map((frame) => make('li', { class: frame.library ? null : 'own', title: frame.file }, frame.shown))
          : make('li', {}, 'This recording has no call stack of it.'))));
    };
    const row = make('tr', { class: 'pick', tabindex: '0', title: 'Show its call stack', 'data-seq': block.seq, 'data-bytes': block.size,
      onclick: () => {
        fill();
        stack.hidden = !stack.hidden;
      }, onkeydown: (event) => {
        if (event.key === 'Enter') event.currentTarget.click();
      } },
    make('td', { class: 'n' }, bytes(block.size)),
    make('td', { class: 'kind' }, dot(PURPOSE_COLOURS[c.purpose]), view.purposes[c.purpose]),
    hasModules(view) ? make('td', { class: 'long' }, c.module ? moduleName(view.scope.moments.modules[c.module]) : '–') : null,
    make('td', {}, c.born <= 1 ? (c.born ? 'between phases' : '–') : view.kinds[c.born]),
    make('td', { class: 'long' }, view.names.site(block.site)),
    make('td', { class: 'n' }, block.freeNs === null ? 'to the end' : duration(block.freeNs - block.ns)));
    return [row, stack];
  }
}

// Memory over time, stacked; below it the steps and phases; above it what is looked at.
import { bytes, clock, duration, percent } from './format.js';
import { KIND_COLOURS, make, rgba } from './dom.js';
import { firstNotBelow } from './state.js';
import { grouped } from './groups.js';

const LEFT = 66;
const RIGHT = 10;
const TOP = 24;
const STEPS = 16;
const ROW = 17;
const AXIS = 20;
const OVERVIEW = 30;

function tickOf(most, about) {
  let tick = 1;
  while (most / tick > about) tick *= 2;
  return tick;
}

export class Timeline {
  // `view`: a scope as main.js makes it; `limit()`: the highest value of the plot; `pick(moment)`.
  constructor(view, options) {
    this.view = view;
    this.options = options;
    this.by = 'kind';
    this.height = options.height || 300;
    this.hover = null;
    this.draws = [];
    this.canvas = make('canvas', { role: 'img', 'aria-label': 'Memory over time; the moment that is looked at is described below' });
    this.tip = make('div', { class: 'tip', hidden: true });
    this.host = make('div', { class: 'chart', tabindex: '0', 'aria-label': 'Timeline: arrow keys move, plus and minus zoom, Enter picks' },
      this.canvas, this.tip);
    this.listen();
    new ResizeObserver(() => this.ask()).observe(this.host);
  }

  get total() {
    return TOP + this.height + STEPS + 2 * ROW + AXIS + OVERVIEW + 6;
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.draw();
    });
  }

  // ---- places ----

  get plotWidth() {
    return Math.max(this.host.clientWidth - LEFT - RIGHT, 40);
  }

  x(place) {
    const axis = this.view.axis;
    return LEFT + (place - axis.from) / (axis.until - axis.from) * this.plotWidth;
  }

  xOfTime(ns) {
    return this.x(this.view.axis.place(ns));
  }

  placeOf(x) {
    const axis = this.view.axis;
    return axis.from + (x - LEFT) / this.plotWidth * (axis.until - axis.from);
  }

  y(value) {
    return TOP + this.height - value / this.limit * this.height;
  }

  // The moment with the most bytes that the pixel [x, x + 1) stands for, or what lived as it begins.
  momentAt(x) {
    const { axis, moments } = this.view;
    return this.highest(axis.time(this.placeOf(x)), axis.time(this.placeOf(x + 1)), moments);
  }

  highest(from, until, moments) {
    const a = firstNotBelow(moments.ns, from), b = firstNotBelow(moments.ns, until, a);
    const before = a - 1;
    if (a >= b) return before;
    const best = moments.highest(a, b);
    return before >= 0 && moments.bytes[before] > moments.bytes[best] ? before : best;
  }

  // ---- drawing ----

  draw() {
    const began = performance.now(), ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = this.host.clientWidth, canvas = this.canvas;
    if (!width) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(this.total * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(this.total * ratio);
      canvas.style.height = this.total + 'px';
      this.image = null;
    }
    const style = getComputedStyle(document.documentElement);
    this.ink = style.getPropertyValue('--ink').trim();
    this.soft = style.getPropertyValue('--soft').trim();
    this.line = style.getPropertyValue('--line').trim();
    this.accent = style.getPropertyValue('--accent').trim();
    this.hatch = style.getPropertyValue('--hatch').trim();
    this.bad = style.getPropertyValue('--bad').trim();
    this.limit = Math.max(this.options.limit(), 1) * 1.04;
    const g = canvas.getContext('2d');
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.fillStyle = style.getPropertyValue('--chart').trim();
    g.fillRect(0, 0, canvas.width, canvas.height);
    this.drawStack(g, ratio);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = '11px system-ui, sans-serif';
    g.textBaseline = 'middle';
    this.drawGrid(g);
    this.drawCourse(g);
    this.drawSteps(g);
    this.drawPhases(g);
    this.drawMarks(g);
    this.drawOverview(g);
    this.draws.push(performance.now() - began);
    if (this.draws.length > 600) this.draws.shift();
  }

  // Columns of pixels, each a stack; row by row, since that is how pixels lie in memory.
  drawStack(g, ratio) {
    const { axis, moments } = this.view, made = grouped(this.view, this.by);
    const width = Math.round(this.plotWidth * ratio), height = Math.round(this.height * ratio);
    const n = made.groups.length;
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = g.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    if (!this.edges || this.edges.length !== width * (n + 1)) this.edges = new Int32Array(width * (n + 1));
    const colours = Uint32Array.from(made.groups, (group) => rgba(group.colour));
    const edges = this.edges, span = axis.until - axis.from, scale = height / this.limit;
    let time = axis.time(axis.from), next = firstNotBelow(moments.ns, time);
    for (let x = 0; x < width; x++) {
      const until = axis.time(axis.from + (x + 1) / width * span);
      const b = firstNotBelow(moments.ns, until, next, moments.count);
      let at = next - 1;
      if (b > next) {
        const best = moments.highest(next, b);
        if (at < 0 || moments.bytes[best] >= moments.bytes[at]) at = best;
      }
      next = b;
      let sum = 0;
      const base = x * (n + 1);
      edges[base] = height;
      for (let i = 0; i < n; i++) {
        if (at >= 0) sum += made.rows[i][at];
        edges[base + i + 1] = height - Math.round(sum * scale);
      }
    }
    const pixels = this.pixels;
    pixels.fill(0);
    for (let x = 0; x < width; x++) {
      const base = x * (n + 1);
      for (let i = 0; i < n; i++) {
        const from = Math.max(edges[base + i + 1], 0), colour = colours[i];
        for (let y = edges[base + i] - 1, p = y * width + x; y >= from; y--, p -= width) pixels[p] = colour;
      }
    }
    g.putImageData(this.image, Math.round(LEFT * ratio), Math.round(TOP * ratio));
    // What lies left of the plot keeps the chart's ground: transparent pixels are put as they are.
    g.globalCompositeOperation = 'destination-over';
    g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--chart').trim();
    g.fillRect(0, 0, this.canvas.width, this.canvas.height);
    g.globalCompositeOperation = 'source-over';
  }

  drawGrid(g) {
    const tick = tickOf(this.limit, 6);
    g.textAlign = 'right';
    for (let value = 0; value <= this.limit; value += tick) {
      const y = Math.round(this.y(value)) + 0.5;
      g.globalAlpha = value ? 0.55 : 1;
      g.strokeStyle = this.line;
      g.beginPath();
      g.moveTo(LEFT, y);
      g.lineTo(LEFT + this.plotWidth, y);
      g.stroke();
      g.globalAlpha = 1;
      g.fillStyle = this.soft;
      g.fillText(bytes(value), LEFT - 6, y);
    }
    this.drawTimes(g);
  }

  drawTimes(g) {
    const { axis } = this.view, y = TOP + this.height + STEPS + 2 * ROW + AXIS / 2 + 2;
    const ticks = Math.max(Math.floor(this.plotWidth / 120), 2);
    const span = axis.time(axis.until) - axis.time(axis.from);
    g.fillStyle = this.soft;
    for (let i = 0; i <= ticks; i++) {
      const x = LEFT + this.plotWidth * i / ticks;
      g.textAlign = i === 0 ? 'left' : i === ticks ? 'right' : 'center';
      g.fillText(clock(axis.time(this.placeOf(x)), span), x, y);
    }
  }

  // The highest value that is known of each column, where not every moment is there; reserved; and
  // pauses.
  drawCourse(g) {
    const { axis, moments } = this.view, columns = axis.columns;
    const first = Math.max(Math.floor(axis.from), 0), last = Math.min(Math.ceil(axis.until), columns.length);
    g.save();
    g.beginPath();
    g.rect(LEFT, TOP, this.plotWidth, this.height);
    g.clip();
    g.lineWidth = 1;
    if (!moments.exact) this.drawLevel(g, first, last, (column) => column.max, this.ink, []);
    g.lineWidth = 1.4;
    if (this.options.reserved()) this.drawLevel(g, first, last, (column) => column.reserved, this.soft, [5, 3]);
    g.restore();
    for (let i = first; i < last; i++) {
      if (!columns[i].pause && !columns[i].thinned) continue;
      let end = i + 1;
      while (end < last && columns[end].pause === columns[i].pause && columns[end].thinned === columns[i].thinned) end++;
      this.drawGap(g, Math.max(this.x(i), LEFT), Math.min(this.x(end), LEFT + this.plotWidth), i, end);
      i = end - 1;
    }
  }

  drawLevel(g, first, last, value, colour, dash) {
    g.strokeStyle = colour;
    g.setLineDash(dash);
    g.beginPath();
    for (let i = first, open = false; i < last; i++) {
      const at = value(this.view.axis.columns[i]);
      if (at === null) {
        open = false;
        continue;
      }
      if (open) g.lineTo(this.x(i), this.y(at));
      else g.moveTo(this.x(i), this.y(at));
      g.lineTo(this.x(i + 1), this.y(at));
      open = true;
    }
    g.stroke();
    g.setLineDash([]);
  }

  drawGap(g, from, until, first, end) {
    const { axis } = this.view;
    g.save();
    g.beginPath();
    g.rect(from, TOP, until - from, this.height);
    g.clip();
    g.strokeStyle = this.hatch;
    for (let x = from - this.height; x < until; x += 7) {
      g.beginPath();
      g.moveTo(x, TOP + this.height);
      g.lineTo(x + this.height, TOP);
      g.stroke();
    }
    g.restore();
    if (until - from < 60) return;
    g.fillStyle = this.soft;
    g.textAlign = 'center';
    const text = axis.columns[first].pause ? 'pause ' + duration(axis.bounds[end] - axis.bounds[first]) : 'left out (record --keep)';
    g.fillText(text, (from + until) / 2, TOP + this.height / 2);
  }

  drawSteps(g) {
    const y = TOP + this.height, right = LEFT + this.plotWidth;
    let free = -Infinity;
    g.textAlign = 'left';
    for (const step of this.view.scope.steps) {
      const x = this.xOfTime(step.begin);
      if (x < LEFT - 60 || x > right) continue;
      if (x >= LEFT && x - free > -30) {
        g.strokeStyle = this.line;
        g.beginPath();
        g.moveTo(Math.round(x) + 0.5, y);
        g.lineTo(Math.round(x) + 0.5, y + STEPS + 2 * ROW);
        g.stroke();
      }
      const text = 'step ' + step.step;
      if (x < free || x + 30 > right) continue;
      g.fillStyle = this.soft;
      g.fillText(text, Math.max(x, LEFT) + 3, y + STEPS / 2 + 1);
      free = Math.max(x, LEFT) + g.measureText(text).width + 14;
    }
  }

  // Where phases begin and end on the axis, which stays as it is while it is moved.
  get phasePlaces() {
    const { axis, scope } = this.view, end = axis.bounds[axis.count];
    return (this.view.phasePlaces ||= scope.phases.list.map((phase) => ({ phase, from: axis.place(phase.begin),
      until: axis.place(phase.end === null ? end : phase.end), row: Math.min(phase.depth, 1) })));
  }

  // Of those that are narrower than a pixel one for each pixel; names are cut to their width, for
  // clipping costs more than all the rest.
  drawPhases(g) {
    const { axis, names } = this.view, top = TOP + this.height + STEPS, right = LEFT + this.plotWidth;
    const scale = this.plotWidth / (axis.until - axis.from), last = [-1, -1];
    g.textAlign = 'left';
    for (const { phase, from, until, row } of this.phasePlaces) {
      if (until <= axis.from || from >= axis.until || phase.kind <= 1) continue;
      const a = Math.max(LEFT + (from - axis.from) * scale, LEFT), b = Math.min(LEFT + (until - axis.from) * scale, right);
      const width = Math.max(b - a, 0.8), y = top + row * ROW;
      if (width < 1 && Math.floor(a) === last[row]) continue;
      last[row] = Math.floor(a);
      g.fillStyle = KIND_COLOURS[phase.kind];
      g.fillRect(a, y, width > 3 ? width - 0.6 : width, ROW - 2);
      if (width < 34) continue;
      g.fillStyle = '#10151c';
      g.fillText(names.text(phase.name).slice(0, Math.floor((width - 4) / 6.2)), a + 4, y + ROW / 2 - 0.5);
    }
  }

  drawMarks(g) {
    const { moments, scope } = this.view, bottom = TOP + this.height;
    for (const refusal of scope.refusals) this.drawFlag(g, this.xOfTime(refusal.ns), this.bad, 'out of memory', bottom, true);
    if (this.view.peakMoment >= 0)
      this.drawFlag(g, this.xOfTime(this.view.peakNs), this.ink, 'peak ' + bytes(this.view.peakBytes), bottom, false);
    if (this.hover !== null) this.drawLineAt(g, this.hover, this.soft, [2, 2]);
    if (this.view.selected >= 0) this.drawLineAt(g, this.xOfTime(moments.ns[this.view.selected]), this.accent, []);
  }

  drawLineAt(g, x, colour, dash) {
    if (x < LEFT - 1 || x > LEFT + this.plotWidth + 1) return;
    g.strokeStyle = colour;
    g.lineWidth = dash.length ? 1 : 2;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(x, TOP - 6);
    g.lineTo(x, TOP + this.height + STEPS + 2 * ROW);
    g.stroke();
    g.setLineDash([]);
    g.lineWidth = 1;
  }

  drawFlag(g, x, colour, text, bottom, low) {
    const right = LEFT + this.plotWidth;
    if (x < LEFT - 1 || x > right + 1) return;
    g.strokeStyle = colour;
    g.globalAlpha = 0.6;
    g.beginPath();
    g.moveTo(x, TOP - 4);
    g.lineTo(x, bottom);
    g.stroke();
    g.globalAlpha = 1;
    g.fillStyle = colour;
    g.beginPath();
    g.moveTo(x - 5, TOP - 9);
    g.lineTo(x + 5, TOP - 9);
    g.lineTo(x, TOP - 2);
    g.fill();
    g.font = '600 11px system-ui, sans-serif';
    const width = g.measureText(text).width, y = low ? TOP + 8 : TOP - 14;
    g.textAlign = 'left';
    g.fillText(text, Math.min(Math.max(x + 8, LEFT), right - width), y);
    g.font = '11px system-ui, sans-serif';
  }

  // All of the time, drawn once for each width, scale and theme.
  overviewImage(width, ratio) {
    const wanted = [width, ratio, this.limit, this.hatch].join();
    if (this.overviewOf === wanted) return this.overview;
    this.overviewOf = wanted;
    this.overview = document.createElement('canvas');
    this.overview.width = Math.max(Math.round(width * ratio), 1);
    this.overview.height = OVERVIEW * ratio;
    const g = this.overview.getContext('2d'), { axis } = this.view;
    g.scale(ratio, ratio);
    g.fillStyle = this.hatch;
    g.beginPath();
    g.moveTo(0, OVERVIEW);
    for (let i = 0; i < axis.count; i++) {
      const y = OVERVIEW - axis.columns[i].max / this.limit * OVERVIEW;
      g.lineTo(i / axis.count * width, y);
      g.lineTo((i + 1) / axis.count * width, y);
    }
    g.lineTo(width, OVERVIEW);
    g.fill();
    return this.overview;
  }

  // It, and the part that is seen.
  drawOverview(g) {
    const { axis } = this.view, width = this.plotWidth;
    const top = TOP + this.height + STEPS + 2 * ROW + AXIS + 4;
    g.drawImage(this.overviewImage(width, Math.min(window.devicePixelRatio || 1, 2)), LEFT, top, width, OVERVIEW);
    g.strokeStyle = this.accent;
    g.lineWidth = 1.5;
    g.strokeRect(LEFT + axis.from / axis.count * width, top, Math.max((axis.until - axis.from) / axis.count * width, 2), OVERVIEW);
    g.lineWidth = 1;
  }

  // ---- hands ----

  get overviewTop() {
    return TOP + this.height + STEPS + 2 * ROW + AXIS;
  }

  listen() {
    const host = this.host;
    host.addEventListener('wheel', (event) => this.onWheel(event), { passive: false });
    host.addEventListener('pointerdown', (event) => this.onDown(event));
    host.addEventListener('pointermove', (event) => this.onMove(event));
    host.addEventListener('pointerup', (event) => this.onUp(event));
    host.addEventListener('pointercancel', () => {
      this.drag = null;
    });
    host.addEventListener('pointerleave', () => this.leave());
    host.addEventListener('dblclick', () => this.showAll());
    host.addEventListener('keydown', (event) => {
      if (this.onKey(event)) event.preventDefault();
    });
  }

  at(event) {
    const box = this.host.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  moved() {
    this.ask();
    this.options.moved();
  }

  showAll() {
    this.view.axis.show(0, this.view.axis.count);
    this.moved();
  }

  zoom(factor, x = LEFT + this.plotWidth / 2) {
    this.view.axis.zoom(factor, this.placeOf(x));
    this.moved();
  }

  // Plain wheels belong to the page, which must scroll on; with Ctrl, Shift or sideways they are the
  // timeline's, and all of them once it was clicked.
  onWheel(event) {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const focused = document.activeElement === this.host;
    if (!event.ctrlKey && !event.shiftKey && !sideways && !focused) return;
    event.preventDefault();
    const axis = this.view.axis;
    if (sideways || event.shiftKey)
      axis.pan((sideways ? event.deltaX : event.deltaY) / this.plotWidth * (axis.until - axis.from));
    else axis.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.006), this.placeOf(this.at(event).x));
    this.moved();
  }

  onDown(event) {
    if (event.button !== 0) return;
    const at = this.at(event), axis = this.view.axis;
    this.drag = { x: at.x, from: axis.from, until: axis.until, moved: false, overview: at.y > this.overviewTop };
    this.host.setPointerCapture(event.pointerId);
    if (this.drag.overview) this.center(at.x);
  }

  center(x) {
    const axis = this.view.axis, half = (axis.until - axis.from) / 2;
    const middle = (x - LEFT) / this.plotWidth * axis.count;
    axis.show(middle - half, middle + half);
    this.moved();
  }

  onMove(event) {
    const at = this.at(event), axis = this.view.axis, drag = this.drag;
    if (drag && drag.overview) {
      this.center(at.x);
    } else if (drag && (drag.moved || Math.abs(at.x - drag.x) > 4)) {
      const places = (drag.x - at.x) / this.plotWidth * (drag.until - drag.from);
      drag.moved = true;
      this.tip.hidden = true;
      axis.show(drag.from + places, drag.until + places);
      this.moved();
    } else if (!drag) {
      this.point(at);
    }
  }

  onUp(event) {
    const drag = this.drag, at = this.at(event);
    this.drag = null;
    if (!drag || drag.moved || drag.overview) return;
    this.host.focus({ preventScroll: true });
    if (at.x >= LEFT - 4) this.pickAt(at.x);
  }

  pickAt(x) {
    const moment = this.momentAt(Math.floor(Math.max(x, LEFT)));
    this.options.pick(Math.max(moment, 0));
  }

  leave() {
    this.hover = null;
    this.tip.hidden = true;
    this.ask();
  }

  point(at) {
    if (at.x < LEFT || at.x > LEFT + this.plotWidth || at.y > this.overviewTop) {
      this.leave();
      return;
    }
    this.hover = at.x;
    this.ask();
    const moment = this.momentAt(Math.floor(at.x));
    this.tip.hidden = moment < 0;
    if (moment >= 0) this.fillTip(moment, at);
  }

  fillTip(moment, at) {
    const { moments } = this.view, made = grouped(this.view, this.by);
    const rows = made.groups.map((group, i) => ({ group, value: made.rows[i][moment] }))
      .filter((row) => row.value > 0).sort((a, b) => b.value - a.value).slice(0, 7);
    this.tip.replaceChildren(
      make('b', {}, bytes(moments.bytes[moment])), ' at ' + clock(moments.ns[moment], 1e6),
      make('div', {}, this.view.phaseText(moment)),
      make('table', {}, rows.map((row) => make('tr', {},
        make('td', {}, make('span', { class: 'dot', style: { background: row.group.colour } }), row.group.name),
        make('td', { class: 'n' }, bytes(row.value)),
        make('td', { class: 'n' }, percent(row.value / (moments.bytes[moment] || 1)))))));
    const right = at.x > this.host.clientWidth - 300;
    this.tip.style.left = right ? 'auto' : at.x + 14 + 'px';
    this.tip.style.right = right ? this.host.clientWidth - at.x + 14 + 'px' : 'auto';
    this.tip.style.top = Math.min(Math.max(at.y - 20, 0), 150) + 'px';
  }

  // True if the key is the timeline's.
  onKey(event) {
    const axis = this.view.axis, part = (axis.until - axis.from) * 0.12, { moments } = this.view;
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    switch (event.key) {
    case 'ArrowLeft': case 'ArrowRight': {
      const sign = event.key === 'ArrowLeft' ? -1 : 1;
      if (event.shiftKey) this.options.pick(Math.min(Math.max(this.view.selected + sign, 0), moments.count - 1));
      else axis.pan(sign * part);
      break;
    }
    case '+': case '=': this.zoom(0.7); break;
    case '-': this.zoom(1 / 0.7); break;
    case '0': case 'Home': axis.show(0, axis.count); break;
    case 'p': this.options.pick(this.view.peakMoment); this.reveal(this.view.peakMoment); break;
    case 'Enter': this.pickAt(this.hover === null ? LEFT + this.plotWidth / 2 : this.hover); break;
    case '[': case ']': this.pickStep(event.key === ']' ? 1 : -1); break;
    default: return false;
    }
    this.moved();
    return true;
  }

  // The highest point of the step before or behind the one that is looked at.
  pickStep(sign) {
    const { moments, scope } = this.view, now = moments.ns[this.view.selected];
    const steps = scope.steps.filter((step) => step.end !== null);
    let at = steps.findIndex((step) => now < step.end);
    at = at < 0 ? steps.length - 1 : at;
    at = Math.min(Math.max(at + sign, 0), steps.length - 1);
    if (!steps.length) return;
    const moment = this.highest(steps[at].begin, steps[at].end, moments);
    if (moment >= 0) this.options.pick(moment);
    this.reveal(moment);
  }

  reveal(moment) {
    const axis = this.view.axis, place = axis.place(this.view.moments.ns[moment]);
    if (place >= axis.from && place <= axis.until) return;
    const half = (axis.until - axis.from) / 2;
    axis.show(place - half, place + half);
    this.moved();
  }
}

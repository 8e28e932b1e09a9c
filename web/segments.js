// The segments at the peak, one behind the other by address: blocks in the colours of their kinds,
// holes empty.
import { bytes, percent, plural } from './format.js';
import { dot, make, PURPOSE_COLOURS } from './dom.js';
import { ofWhich, rowsOf } from './summary.js';

const TAPE_ROW = 13;
const TAPE_GAP = 4;
const LEAST_ROWS = 6;
const MOST_ROWS = 36;
const WAITS = 255;

// Each segment is a piece of a long tape, cut into rows.
function lay(segments, width, rows) {
  const total = segments.reduce((sum, segment) => sum + segment.size, 0);
  const gaps = segments.length * 2, room = Math.max(rows * width - gaps, width);
  const scale = room / total, places = [];
  let at = 0;
  for (const segment of segments) {
    places.push({ segment, from: at, until: at + segment.size * scale });
    at += segment.size * scale + 2;
  }
  return { places, scale, rows: Math.ceil(at / width) };
}

function fillTape(g, width, from, until) {
  for (let row = Math.floor(from / width); row * width < until; row++) {
    const a = Math.max(from, row * width), b = Math.min(until, (row + 1) * width);
    g.fillRect(a - row * width, row * (TAPE_ROW + TAPE_GAP), Math.max(b - a, 0.4), TAPE_ROW);
  }
}

class SegmentMap {
  constructor(view) {
    this.view = view;
    this.canvas = make('canvas', { role: 'img', 'aria-label': 'Segments at the peak with the blocks in them' });
    this.tip = make('div', { class: 'tip', hidden: true });
    this.host = make('div', { class: 'chart' }, this.canvas, this.tip);
    new ResizeObserver(() => this.draw()).observe(this.host);
    this.host.addEventListener('redraw', () => this.draw());
    this.host.addEventListener('pointermove', (event) => this.point(event));
    this.host.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
    });
  }

  draw() {
    const width = this.host.clientWidth, segments = this.view.scope.map.segments;
    if (!width) return;
    const rows = Math.min(Math.max(Math.ceil(segments.length / 14), LEAST_ROWS), MOST_ROWS);
    this.laid = lay(segments, width, rows);
    const ratio = Math.min(window.devicePixelRatio || 1, 2), height = this.laid.rows * (TAPE_ROW + TAPE_GAP);
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.height = height + 'px';
    const g = this.canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const place of this.laid.places) {
      g.fillStyle = style.getPropertyValue('--line').trim();
      fillTape(g, width, place.from, place.until);
      for (const block of place.segment.blocks) {
        g.fillStyle = block.what === WAITS ? style.getPropertyValue('--bad').trim() : PURPOSE_COLOURS[block.what];
        const from = place.from + block.offset * this.laid.scale;
        fillTape(g, width, from, from + block.size * this.laid.scale);
      }
    }
  }

  point(event) {
    const box = this.host.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const at = Math.floor(y / (TAPE_ROW + TAPE_GAP)) * this.host.clientWidth + x;
    const place = this.laid && this.laid.places.find((one) => at >= one.from && at <= one.until);
    this.tip.hidden = !place;
    if (!place) return;
    const offset = (at - place.from) / this.laid.scale, segment = place.segment;
    const block = segment.blocks.find((one) => offset >= one.offset && offset < one.offset + one.size);
    this.tip.replaceChildren(make('b', {}, block ? bytes(block.size) + ' ' + (block.what === WAITS ? 'freed, a stream still uses it' : this.view.purposes[block.what]) : 'a hole'),
      make('div', {}, block ? this.view.names.site(block.site) : ''),
      make('div', {}, (segment.mapped ? 'mapped pages' : 'segment') + ' at ' + segment.address + ': ' + bytes(segment.size) + ', ' + bytes(segment.free) + ' free'));
    this.tip.style.left = Math.min(x + 14, this.host.clientWidth - 240) + 'px';
    this.tip.style.top = y + 16 + 'px';
  }
}

export function segments(view) {
  const { map } = view.scope, frag = rowsOf(view, 'frag', 'frag')[0];
  if (!map.known || !map.segments.length || !frag) return null;
  const causes = rowsOf(view, 'frag', 'causes').filter((row) => row.bytes !== 0);
  const pins = rowsOf(view, 'frag', 'pins').slice(0, 5);
  return make('section', { id: 'segments' }, make('h2', {}, 'Segments at the peak: ' + bytes(frag.reserved) + ' reserved' + ofWhich(view)),
    make('p', { class: 'hint', 'data-bytes': frag.inactive_split }, bytes(frag.inactive_split) + ' of it (' + percent(frag.fragmentation) +
      ') are holes beside blocks that live: inactive split / reserved. The largest hole is ' + bytes(frag.largest_hole) + '.'),
    new SegmentMap(view).host,
    make('ul', { class: 'legend' }, make('li', {}, dot('var(--line)'), 'hole'), causes.map((row) => make('li', { 'data-bytes': row.bytes }, row.cause + ' ', make('span', { class: 'bytes' }, bytes(row.bytes))))),
    map.leftOut ? make('p', { class: 'hint' }, plural(map.leftOut, 'smaller segment') + ' are not drawn.') : null,
    pins.length ? make('h3', {}, 'Blocks that keep the most bytes from going back to the device') : null,
    pins.map((row) => make('div', { class: 'holder' }, make('b', {}, bytes(row.gives ?? row.bytes)),
      make('p', {}, (row.site_short || row.site || 'call site not known'), make('small', {}, 'a block of ' + bytes(row.size ?? row.bytes) + (row.phase ? ', allocated in ' + row.phase : ''))))));
}

// Growth from step to step, and what steps leave behind: what `leaks` says.
import { bytes, delta, plural } from './format.js';
import { draw, make, table } from './dom.js';
import { ofWhich, rowsOf } from './summary.js';

const CHART_WIDTH = 900; // less on a narrow screen, so that its texts keep their size
const CHART_HEIGHT = 150;
const CHART_LEFT = 70;
const CHART_BOTTOM = 20;

function line(steps, value, x, y) {
  return steps.filter((step) => value(step) !== null).map((step, i) => (i ? 'L' : 'M') + x(step).toFixed(1) + ' ' + y(value(step)).toFixed(1)).join(' ');
}

function chart(view, steps, pick) {
  const width = Math.max(Math.min(CHART_WIDTH, document.documentElement.clientWidth - 42), 240);
  const most = Math.max(...steps.map((step) => Math.max(step.peak || 0, step.allocated || 0))) * 1.05 || 1;
  const first = steps[0].step, last = steps[steps.length - 1].step;
  const x = (step) => CHART_LEFT + (step.step - first) / Math.max(last - first, 1) * (width - CHART_LEFT - 12);
  const y = (value) => CHART_HEIGHT - CHART_BOTTOM - value / most * (CHART_HEIGHT - CHART_BOTTOM - 10);
  const svg = draw('svg', { viewBox: '0 0 ' + width + ' ' + CHART_HEIGHT, width: '100%', role: 'img',
    'aria-label': 'The highest value of each step, and what was left as it ended' });
  for (const part of [0, 0.5, 1]) {
    const value = most / 1.05 * part;
    svg.append(draw('line', { x1: CHART_LEFT, x2: width - 12, y1: y(value), y2: y(value), stroke: 'var(--line)' }),
      draw('text', { x: CHART_LEFT - 8, y: y(value) + 4, 'text-anchor': 'end' }, bytes(Math.round(value))));
  }
  svg.append(draw('path', { d: line(steps, (s) => s.peak, x, y), fill: 'none', stroke: '#e2622c', 'stroke-width': 2 }),
    draw('path', { d: line(steps, (s) => s.allocated, x, y), fill: 'none', stroke: '#3f8fd0', 'stroke-width': 2, 'stroke-dasharray': '6 3' }),
    draw('text', { x: CHART_LEFT, y: CHART_HEIGHT - 4 }, 'step ' + first), draw('text', { x: width - 12, y: CHART_HEIGHT - 4, 'text-anchor': 'end' }, 'step ' + last));
  if (steps.length <= 200) for (const step of steps) if (step.peak !== null) svg.append(draw('circle', { cx: x(step), cy: y(step.peak), r: 3, fill: '#e2622c' }));
  svg.style.cursor = 'pointer';
  svg.addEventListener('click', (event) => {
    const box = svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * width;
    const near = steps.reduce((a, b) => (Math.abs(x(b) - at) < Math.abs(x(a) - at) ? b : a));
    pick(near);
  });
  return svg;
}

function leaks(view) {
  const rows = rowsOf(view, 'leaks', 'leaks');
  if (!rows.length) return make('p', { class: 'hint' }, 'No call site leaves blocks behind from step to step, as far as whole steps were recorded.');
  return table([{ text: 'bytes a step', n: true }, { text: 'left', n: true }, { text: 'blocks', n: true }, { text: 'how sure' }, { text: 'kind' }, { text: 'call site' }],
    rows.slice(0, 10).map((row) => make('tr', { 'data-bytes': row.bytes },
      make('td', { class: 'n up' }, delta(row.bytes_per_step)), make('td', { class: 'n' }, bytes(row.bytes)), make('td', { class: 'n' }, row.blocks),
      make('td', {}, row.sure + ' (' + row.steps + ' of ' + plural(row.window, 'step') + ')'), make('td', {}, row.category),
      make('td', { class: 'long' }, row.site_short || row.site || 'not known'))));
}

export function growth(view, pick) {
  const steps = view.scope.steps;
  if (steps.length < 2) return null;
  return make('section', { id: 'growth' }, make('h2', {}, 'From step to step' + ofWhich(view)),
    make('p', { class: 'hint' }, make('span', { class: 'dot', style: { background: '#e2622c' } }), 'highest value of ' + (view.scope.stepsEach > 1 ? 'each ' + view.scope.stepsEach + ' steps' : 'each step') + '   ',
      make('span', { class: 'dot', style: { background: '#3f8fd0' } }), 'left as it ended'),
    chart(view, steps, pick), make('h3', {}, 'What steps leave behind'), leaks(view));
}

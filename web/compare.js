// Two recordings: what changed between their peaks, which is what `diff` says.
import { bytes, delta } from './format.js';
import { make, table } from './dom.js';

function change(value) {
  return make('td', { class: 'n ' + (value > 0 ? 'up' : value < 0 ? 'down' : '') }, value === null ? '–' : delta(value));
}

export function compare(page, view) {
  const said = page.recordings[0].reports.diff;
  if (!said) return null;
  const of = (name) => (said.tables[name] || []).filter((row) => row.process === view.scope.process && row.device === view.scope.device);
  const total = of('change').find((row) => row.quantity === 'allocated') || of('change')[0];
  if (!total) return make('section', {}, make('h2', {}, 'Two recordings'), make('p', { class: 'hint' }, 'They have no process and device in common.'));
  const [a, b] = page.recordings.map((recording) => recording.name);
  return make('section', { id: 'compare' },
    make('p', { class: 'verdict', 'data-bytes': total.change }, (total.change === 0 ? 'The same peak: ' : delta(total.change) + ' at the peak: ') + bytes(total.a) + ' → ' + bytes(total.b),
      make('br'), make('small', {}, 'A: ' + a + ' (' + (total.a_moment || '') + ')   B: ' + b + ' (' + (total.b_moment || '') + ')')),
    make('div', { class: 'columns' },
      make('div', {}, make('h3', {}, 'By kind'), table([{ text: 'kind' }, { text: 'A', n: true }, { text: 'B', n: true }, { text: 'change', n: true }],
        of('by_category').map((row) => make('tr', { 'data-bytes': row.change }, make('td', {}, row.category), make('td', { class: 'n' }, bytes(row.a ?? row.a_bytes)), make('td', { class: 'n' }, bytes(row.b ?? row.b_bytes)), change(row.change))))),
      make('div', {}, make('h3', {}, 'By call site'), table([{ text: 'change', n: true }, { text: 'kind' }, { text: 'call site' }],
        of('groups').filter((row) => row.change !== 0).slice(0, 12).map((row) => make('tr', { 'data-bytes': row.change }, change(row.change), make('td', {}, row.category), make('td', { class: 'long' }, row.b_site || row.a_site || row.site || row.text || 'not known')))))));
}

// Processes and devices beside each other.
import { bytes } from './format.js';
import { make, table } from './dom.js';

export function scopeName(scope) {
  return (scope.rank === null ? 'process ' + scope.process : 'rank ' + scope.rank) + ', ' + scope.device;
}

// Of ranks, on their GPUs where there are any, from three on: with fewer it says nothing that the rows do not.
function median(rows) {
  const gpus = rows.some(({ scope }) => scope.device !== 'cpu');
  const of = rows.filter(({ scope }) => scope.rank !== null && (scope.device !== 'cpu' || !gpus));
  return of.length < 3 ? '' : ' The median of ' + of.length + ' ranks is ' + bytes(of[of.length >> 1].peak.allocated) + '.';
}

export function ranks(recording, scopes, current, pick) {
  if (scopes.length < 2) return null;
  const peaks = (recording.reports.peak && recording.reports.peak.tables.peak) || [];
  const rows = scopes.map((scope, at) => ({ scope, at,
    peak: peaks.find((row) => row.process === scope.process && row.device === scope.device) })).filter((row) => row.peak);
  rows.sort((a, b) => b.peak.allocated - a.peak.allocated);
  if (rows.length < 2) return null;
  const most = rows[0].peak.allocated || 1;
  return make('section', { id: 'ranks' }, make('h2', {}, 'Processes and devices'),
    make('p', { class: 'hint' }, 'The peak of each. Click a row to see its page.' + median(rows)),
    table([{ text: 'process and device' }, { text: 'peak', n: true }, { text: '' }, { text: 'reserved', n: true }, { text: 'step', n: true }, { text: 'phase' }],
      rows.slice(0, 64).map(({ scope, at, peak }) => make('tr', { class: (scope.drawn ? 'pick' : '') + (at === current ? ' on' : ''), 'data-bytes': peak.allocated, tabindex: scope.drawn ? '0' : null,
        onclick: () => scope.drawn && pick(at), onkeydown: (event) => event.key === 'Enter' && scope.drawn && pick(at) },
      make('td', {}, scopeName(scope), scope.drawn ? '' : ' (not drawn in this page)'), make('td', { class: 'n' }, bytes(peak.allocated)),
      make('td', { style: { width: '30%' } }, make('div', { class: 'meter' }, make('div', { style: { width: peak.allocated / most * 100 + '%' } }))),
      make('td', { class: 'n' }, bytes(peak.reserved)), make('td', { class: 'n' }, peak.step === null ? '–' : peak.step), make('td', {}, peak.phase_path || peak.phase || '–')))));
}

// The peak in short: what held it, why, and changes that lower it. All of it is what `peak` says.
import { bytes, delta, duration, percent, plural } from './format.js';
import { dot, make, PURPOSE_COLOURS } from './dom.js';

export function rowsOf(view, report, table) {
  const said = view.recording.reports[report];
  const rows = said && said.tables && said.tables[table] || [];
  return rows.filter((row) => row.process === view.scope.process && row.device === view.scope.device);
}

// Which of two recordings a part is about, where there are two.
export function ofWhich(view) {
  const all = view.page.recordings, which = all.indexOf(view.recording);
  return all.length > 1 ? ' – ' + 'AB'[which] + ': ' + view.recording.name : '';
}

function where(row) {
  const phase = row.phase_path || row.phase;
  const step = row.step === null || row.step === undefined ? '' : 'step ' + row.step;
  const between = row.kind === 'other' ? 'between phases' : phase;
  return [step, between].filter(Boolean).join(', ');
}

function verdict(view, peak) {
  const ladder = rowsOf(view, 'peak', 'ladder').find((row) => row.quantity === 'device used');
  const used = ladder && ladder.bytes !== null ? '; the device had ' + bytes(ladder.bytes) + ' in use' : '';
  const reserved = peak.reserved === null || peak.reserved === undefined ? '' : ', ' + bytes(peak.reserved) + ' reserved';
  return make('p', { class: 'verdict', id: 'verdict', 'data-bytes': peak.allocated },
    'Peak: ' + bytes(peak.allocated) + ' on ' + view.scope.device, where(peak) ? ' in ' + where(peak) : '', ofWhich(view),
    make('br'), make('small', {}, 'reached ' + duration(peak.at_ns) + ' after the start, held by ' +
      plural(peak.live_blocks, 'block') + reserved + used));
}

function refused(view) {
  const oom = rowsOf(view, 'peak', 'oom');
  return oom.map((row) => make('div', { class: 'refused' }, make('b', {}, 'Out of memory: '),
    'a request for ' + bytes(row.asked) + ' was refused' + (where(row) ? ' in ' + where(row) : '') +
    (row.allocated !== null && row.allocated !== undefined ? ' with ' + bytes(row.allocated) + ' allocated' : '') +
    (row.verdict ? ': ' + row.verdict : '') + (row.site_short || row.site ? ', by ' + (row.site_short || row.site) : '')));
}

// A bar of kinds, with a legend.
export function stackBar(view, rows, total) {
  const colour = (row) => PURPOSE_COLOURS[Math.max(view.purposes.indexOf(row.category), 0)];
  const sorted = rows.slice().sort((a, b) => view.purposes.indexOf(a.category) - view.purposes.indexOf(b.category));
  return [
    make('div', { class: 'stackbar', role: 'img', 'aria-label': rows.map((row) => row.category + ' ' + bytes(row.bytes)).join(', ') },
      sorted.map((row) => make('div', { title: row.category + ': ' + bytes(row.bytes) + ' (' + row.rule + ')',
        style: { background: colour(row), width: row.bytes / (total || 1) * 100 + '%' } }))),
    make('ul', { class: 'legend', id: 'kinds' }, rows.map((row) => make('li', { 'data-kind': row.category, 'data-bytes': row.bytes, title: row.rule },
      dot(colour(row)), row.category + ' ', make('span', { class: 'bytes' }, bytes(row.bytes) + ', ' + percent(row.share))))),
  ];
}

function holders(view, peak) {
  const rows = rowsOf(view, 'peak', 'by_site').filter((row) => row.bytes >= peak.allocated / 1000).slice(0, 6);
  if (!rows.length) return null;
  return make('div', {}, make('h3', {}, 'The largest call sites at the peak'),
    rows.map((row) => make('div', { class: 'holder', 'data-bytes': row.bytes }, make('b', {}, bytes(row.bytes)),
      make('p', {}, row.site_short || row.site || 'call site not known',
        make('small', {}, plural(row.blocks, 'block') + ', ' + percent(row.share))))));
}

function findings(view) {
  const rows = rowsOf(view, 'peak', 'findings');
  if (!rows.length) return null;
  return make('div', {}, make('h3', {}, 'Why the peak is this high'),
    make('ul', { class: 'why' }, rows.map((row) => make('li', { 'data-bytes': row.bytes }, make('b', {}, bytes(row.bytes) + ' '), row.text))));
}

const SHOWN_LEVERS = 5;

function leverRow(row) {
  const grade = row.at_most ? 'at most: the program would also do other work' : row.estimated ? 'estimated' : '';
  const then = row.next_step !== null || row.next_phase ? 'then the peak is in ' + [row.next_step === null ? '' : 'step ' + row.next_step, row.next_phase].filter(Boolean).join(', ') : '';
  const reserved = row.reserved_bytes ? (row.bytes ? 'off reserved: ' + bytes(row.reserved_bytes) : 'off reserved, not off allocated') : '';
  return make('div', { class: 'lever', 'data-bytes': row.bytes }, make('b', {}, '−' + bytes(row.bytes || row.reserved_bytes || 0)),
    make('p', {}, (row.changes_training ? '(changes results) ' : '') + row.text, make('small', {}, [grade, then, reserved].filter(Boolean).join('; '))));
}

// One that changes results stands behind those that do not, however much it saves.
function order(rows) {
  const worth = (row) => row.bytes || row.reserved_bytes || 0;
  if (rows.length < 2) return '';
  return rows.some((row) => row.changes_training && worth(row) > worth(rows[0])) ? ', same results first' : ', best first';
}

function levers(view) {
  const rows = rowsOf(view, 'peak', 'levers');
  const notes = view.recording.reports.peak.notes.filter((note) => note.includes('levers:') &&
    note.includes('process ' + view.scope.process + ' on ' + view.scope.device)).map((note) => note.split('levers:')[1].trim());
  return make('div', { id: 'levers' }, make('h3', {}, 'Changes that lower the peak' + order(rows)),
    rows.length ? [rows.slice(0, SHOWN_LEVERS).map(leverRow), rows.length > SHOWN_LEVERS ? make('details', {},
      make('summary', {}, plural(rows.length - SHOWN_LEVERS, 'further change')), rows.slice(SHOWN_LEVERS).map(leverRow)) : null] : make('p', { class: 'hint' }, notes.length ? null : 'No change was found that saves 1 % or more.'),
    notes.map((note) => make('p', { class: 'hint' }, note)));
}

export function summary(view) {
  const peak = rowsOf(view, 'peak', 'peak')[0];
  if (!peak) return make('section', { id: 'summary' }, make('p', { class: 'verdict' }, 'No block of memory is known on ' + view.scope.device));
  return make('section', { id: 'summary' }, verdict(view, peak), refused(view),
    stackBar(view, rowsOf(view, 'peak', 'by_category'), peak.live_bytes),
    make('div', { class: 'columns' }, make('div', {}, findings(view), holders(view, peak)), levers(view)));
}

// From what was requested to what the device had in use.
export function ladder(view) {
  const rows = rowsOf(view, 'peak', 'ladder').filter((row) => row.bytes !== null);
  if (rows.length < 2) return null;
  const most = Math.max(...rows.map((row) => row.bytes));
  return make('section', { id: 'ladder' }, make('h2', {}, 'From requested bytes to device memory in use' + ofWhich(view)),
    make('p', { class: 'hint' }, 'At the peak. Lines that no source reported are left out.'),
    make('div', { class: 'scroll' }, make('table', {}, make('tbody', {}, rows.map((row) => make('tr', {},
      make('td', {}, row.quantity), make('td', { class: 'n' }, bytes(row.bytes)),
      make('td', { style: { width: '45%' } }, make('div', { class: 'meter' }, make('div', { style: { width: row.bytes / most * 100 + '%' } }))),
      make('td', {}, row.gap_bytes ? delta(row.gap_bytes) + ' ' + row.gap : '')))))));
}

export function notes(view) {
  const all = new Set();
  for (const report of Object.values(view.recording.reports))
    if (report) for (const note of report.notes) if (!note.includes('levers:')) all.add(note);
  const { moments, scope } = view, said = [...all];
  if (!moments.exact)
    said.push('This recording has more blocks than a page holds: ' + plural(moments.count, 'moment') +
      ' are in it, each exact, among them the highest points of phases. The thin line above the stack is the highest value in between.');
  if (scope.moments.folded)
    said.push(plural(scope.moments.folded, 'block') + ' of rare call sites stand together.');
  if (scope.phases.leftOut) said.push(plural(scope.phases.leftOut, 'phase') + ' are left out of the timeline.');
  return said.length ? make('section', {}, make('h2', {}, 'What limits these figures'),
    make('ul', { class: 'notes' }, said.map((note) => make('li', {}, note)))) : null;
}

export function about(view) {
  const info = view.recording.reports.info && view.recording.reports.info.tables;
  const run = info && info.recording && info.recording[0];
  if (!run) return '';
  return [run.program, run.started, run.duration_ns === null ? '' : duration(run.duration_ns), run.ended, run.host,
    run.rehearsal ? 'rehearsed: no GPU was used' : ''].filter(Boolean).join(' · ');
}

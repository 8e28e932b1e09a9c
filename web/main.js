// The page: reads the data, makes the parts, and keeps what is looked at in the address.
import { bytes, plural } from './format.js';
import { choice, dot, make } from './dom.js';
import { fromBase64, readPage } from './read.js';
import { Moments, Names } from './state.js';
import { Axis } from './axis.js';
import { grouped, hasModules } from './groups.js';
import { about, ladder, notes, ofWhich, summary } from './summary.js';
import { Timeline } from './timeline.js';
import { MomentPanel } from './moment.js';
import { growth } from './growth.js';
import { segments } from './segments.js';
import { ranks, scopeName } from './ranks.js';
import { compare } from './compare.js';

// A scope with all that its parts need.
function makeView(page, recording, scope) {
  const moments = new Moments(scope.moments), { course } = scope;
  const view = { page, recording, scope, moments, axis: new Axis(course), names: new Names(recording),
    purposes: page.purposes, kinds: page.kinds, selected: -1 };
  view.peakBytes = course.peak;
  view.peakNs = course.peakNs;
  view.peakMoment = course.peakSeq === null ? -1 : moments.ofSeq(course.peakSeq);
  view.phaseText = (moment) => phaseText(view, moment);
  return view;
}

// "step 3, forward > encoder": the phases that the event was in, as far as they are in the page.
function phaseText(view, moment) {
  const seq = view.moments.seq[moment], names = [];
  let step = null;
  for (const phase of view.scope.phases.list) {
    if (phase.beginSeq > seq) break;
    if (phase.endSeq !== null && phase.endSeq < seq) continue;
    step = phase.step === null ? step : phase.step;
    names[phase.depth] = phase.kind === 1 ? 'between phases' : view.names.text(phase.name);
    names.length = phase.depth + 1;
  }
  return [step === null ? '' : 'step ' + step, names.filter(Boolean).join(' > ')].filter(Boolean).join(', ');
}

function fullest(scopes) {
  let best = -1;
  scopes.forEach((scope, i) => {
    if (scope.drawn && (best < 0 || scope.course.peak > scopes[best].course.peak)) best = i;
  });
  return best;
}

class Page {
  constructor(page, host) {
    this.page = page;
    this.host = host;
    this.views = page.recordings.map(() => new Map());
    this.current = page.recordings.map((recording) => fullest(recording.scopes));
    this.by = 'kind';
    this.reserved = true;
    this.at = new URLSearchParams(location.hash.slice(1));
    this.takeScope();
    this.build();
    this.takeAddress();
    addEventListener('hashchange', () => this.onHash());
  }

  view(which) {
    const recording = this.page.recordings[which], at = this.current[which];
    if (at < 0) return null;
    if (!this.views[which].has(at)) this.views[which].set(at, makeView(this.page, recording, recording.scopes[at]));
    return this.views[which].get(at);
  }

  // ---- the address: #t=12.345 and who is looked at ----

  takeScope() {
    const [process, device] = [this.at.get('process'), this.at.get('device')];
    this.page.recordings.forEach((recording, which) => {
      const found = recording.scopes.findIndex((scope) => scope.drawn && String(scope.process) === process && (!device || scope.device === device));
      if (found >= 0) this.current[which] = found;
    });
  }

  takeAddress() {
    const view = this.view(0);
    if (!view) return;
    const seconds = this.at.has('t') ? parseFloat(this.at.get('t')) : NaN;
    const moment = Number.isFinite(seconds) ? view.moments.ofTime(Math.round(seconds * 1e9)) : view.peakMoment;
    this.lines[0].view.selected = -1;
    this.pick(0, moment < 0 ? view.peakMoment : moment, true);
    this.lines[0].reveal(Math.max(moment, 0));
  }

  onHash() {
    if (location.hash.slice(1) === this.address) return;
    this.at = new URLSearchParams(location.hash.slice(1));
    const before = this.current.join();
    this.takeScope();
    if (before !== this.current.join()) this.build();
    this.takeAddress();
  }

  keepAddress() {
    const view = this.view(0);
    if (!view || view.selected < 0) return;
    const parts = ['t=' + (view.moments.ns[view.selected] / 1e9).toFixed(9).replace(/0+$/, '').replace(/\.$/, '')];
    if (this.page.recordings[0].scopes.length > 1) parts.push('process=' + view.scope.process, 'device=' + view.scope.device);
    this.address = parts.join('&');
    try {
      history.replaceState(null, '', '#' + this.address);
    } catch (error) {
      location.hash = this.address;
    }
  }

  // ---- parts ----

  build() {
    const first = this.view(0);
    this.lines = [];
    this.panels = [];
    document.title = this.page.recordings.map((recording) => recording.name).join(' · ') + ' – Tidemark';
    this.host.replaceChildren(this.head());
    if (!first) {
      this.host.append(make('section', {}, make('p', { class: 'verdict' }, 'No blocks of memory are known in this recording'),
        make('ul', { class: 'notes' }, Object.values(this.page.recordings[0].reports).filter(Boolean).flatMap((report) => report.notes).map((note) => make('li', {}, note)))));
      return;
    }
    if (this.page.recordings.length > 1) this.put(compare(this.page, first));
    this.put(summary(first));
    this.page.recordings.forEach((_, which) => this.view(which) && this.putTimeline(which));
    this.put(growth(first, (step) => this.pickStep(step)));
    this.put(ranks(this.page.recordings[0], this.page.recordings[0].scopes, this.current[0], (at) => this.turnTo(at)));
    this.put(segments(first));
    this.put(ladder(first));
    this.put(notes(first));
    this.put(this.help());
  }

  put(part) {
    if (part) this.host.append(part);
  }

  head() {
    const view = this.view(0), many = this.page.recordings[0].scopes.length > 1;
    const theme = make('button', { type: 'button', class: 'no-print', title: 'Light or dark', onclick: () => this.turnTheme() }, 'Light / dark');
    const scopes = many && view ? make('select', { class: 'no-print', 'aria-label': 'Process and device', onchange: (event) => this.turnTo(Number(event.target.value)) },
      this.page.recordings[0].scopes.map((scope, i) => (scope.drawn ? make('option', { value: i, selected: i === this.current[0] }, scopeName(scope)) : null))) : null;
    return make('header', { class: 'top' }, make('h1', {}, this.page.recordings.map((recording) => recording.name).join('  and  ')),
      make('div', { class: 'what' }, view ? about(view) : ''), scopes, theme);
  }

  turnTheme() {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    this.redraw();
  }

  // At once, for what is printed is not drawn by a later frame.
  redraw() {
    for (const line of this.lines) line.draw();
    for (const chart of this.host.querySelectorAll('#segments .chart')) chart.dispatchEvent(new Event('redraw'));
  }

  // Paper is light, whatever the screen is.
  onPaper(begins) {
    const root = document.documentElement;
    if (begins) {
      this.theme = root.dataset.theme;
      root.dataset.theme = 'light';
    } else if (this.theme) {
      root.dataset.theme = this.theme;
    } else {
      delete root.dataset.theme;
    }
    this.redraw();
  }

  limit() {
    let most = 0;
    this.page.recordings.forEach((_, which) => {
      const view = this.view(which);
      if (!view) return;
      most = Math.max(most, view.scope.course.peak, ...view.scope.course.columns.map((column) => Math.max(column.max, this.reserved ? column.reserved || 0 : 0)));
    });
    return most;
  }

  putTimeline(which) {
    const view = this.view(which), several = this.page.recordings.length > 1;
    const line = new Timeline(view, { limit: () => this.limit(), reserved: () => this.reserved, height: several ? 200 : 300,
      moved: () => {}, pick: (moment) => this.pick(which, moment) });
    const panel = new MomentPanel(view, { turned: () => {} });
    this.lines[which] = line;
    this.panels[which] = panel;
    line.by = this.by;
    line.legend = make('ul', { class: 'legend' });
    this.put(make('section', { class: 'over-time' }, this.tools(which, line), line.host, line.legend,
      make('p', { class: 'hint no-print keys' }, 'Click: live blocks of that moment. Drag: move. Ctrl + wheel, or wheel after a click: zoom. ', make('kbd', {}, '←'), ' ', make('kbd', {}, '→'), ' ', make('kbd', {}, '+'), ' ', make('kbd', {}, '−'), ' ',
        make('kbd', {}, '0'), ' all, ', make('kbd', {}, 'p'), ' peak, ', make('kbd', {}, '['), ' ', make('kbd', {}, ']'), ' steps, ', make('kbd', {}, 'Shift'), ' + ', make('kbd', {}, '←'), ' one moment')));
    this.put(panel.section);
    this.putLegend(which);
    if (which > 0) this.pick(which, view.peakMoment, true);
  }

  tools(which, line) {
    const view = this.view(which);
    const ways = [{ value: 'kind', text: 'Kind' }, hasModules(view) ? { value: 'module', text: 'Module' } : null,
      { value: 'phase', text: 'Phase', title: 'The phase in which a block was allocated' }].filter(Boolean);
    const known = view.scope.course.columns.some((column) => column.reserved !== null);
    return make('div', { class: 'bar-row' }, make('h2', {}, 'Memory over time' + ofWhich(view)),
      make('div', { class: 'grow' }),
      choice('Stacked by', ways, this.by, (by) => this.turnGroups(by)),
      known ? make('button', { type: 'button', 'aria-pressed': String(this.reserved), title: 'The dashed line: bytes that the allocator took from the driver',
        onclick: (event) => this.turnReserved(event.currentTarget) }, 'Reserved') : null,
      make('span', { class: 'choice no-print', role: 'group', 'aria-label': 'Zoom' },
        make('button', { type: 'button', title: 'Zoom in', onclick: () => line.zoom(0.6) }, '+'),
        make('button', { type: 'button', title: 'Zoom out', onclick: () => line.zoom(1 / 0.6) }, '−'),
        make('button', { type: 'button', title: 'All of the time', onclick: () => line.showAll() }, 'All'),
        make('button', { type: 'button', title: 'The highest point', onclick: () => {
          this.pick(which, view.peakMoment);
          line.reveal(view.peakMoment);
        } }, 'Peak')));
  }

  putLegend(which) {
    const view = this.view(which), made = grouped(view, this.by), line = this.lines[which];
    const moment = Math.max(view.selected, 0);
    line.legend.replaceChildren(...made.groups.map((group, i) => ({ group, held: made.rows[i][moment] || 0, most: made.rows[i] }))
      .filter((row) => row.held > 0 || row.most.some((value) => value > 0))
      .map((row) => make('li', { 'data-group': row.group.name, 'data-bytes': row.held }, dot(row.group.colour), row.group.name + ' ', make('span', { class: 'bytes' }, bytes(row.held)))));
  }

  turnGroups(by) {
    this.by = by;
    this.lines.forEach((line, which) => {
      line.by = by;
      line.ask();
      this.putLegend(which);
    });
  }

  turnReserved(button) {
    this.reserved = !this.reserved;
    button.setAttribute('aria-pressed', String(this.reserved));
    for (const line of this.lines) line.ask();
  }

  turnTo(at) {
    this.current[0] = at;
    const { process, device } = this.page.recordings[0].scopes[at];
    this.at = new URLSearchParams({ process, device });
    if (this.page.recordings.length > 1) this.takeScope();
    this.build();
    this.takeAddress();
    scrollTo(0, 0);
  }

  pick(which, moment, quietly) {
    const view = this.view(which);
    if (moment === undefined || moment < 0 || !view || moment === view.selected) return;
    view.selected = moment;
    this.panels[which].show(moment);
    this.putLegend(which);
    this.lines[which].ask();
    if (!quietly) this.keepAddress();
  }

  pickStep(step) {
    const view = this.view(0), line = this.lines[0];
    if (step.end === null) return;
    const moment = line.highest(step.begin, step.end, view.moments);
    this.pick(0, moment);
    line.reveal(moment);
    line.host.scrollIntoView({ block: 'center' });
  }

  help() {
    const words = [['allocated', 'bytes of blocks that the allocator handed out; rounding is part of them'],
      ['reserved', 'bytes of segments that the allocator took from the driver; what is reserved and not allocated is cached'],
      ['block', 'memory of one tensor'], ['segment', 'memory that the allocator took in one piece from the driver; blocks lie in it'],
      ['phase', 'a part of the program\'s time: forward, loss, backward, optimizer and the like'], ['step', 'one training iteration'],
      ['call site', 'the call stack that allocated a block: the program\'s own innermost function, then the library\'s'],
      ['activation', 'made in forward and freed in backward, which needs it'], ['workspace', 'allocated and freed inside of one phase'],
      ['activation, held by the program', 'made in forward or loss, and live after backward because a variable still refers to it']];
    return make('section', { class: 'no-print' }, make('details', {}, make('summary', {}, 'What the words mean'),
      make('table', {}, make('tbody', {}, words.map(([word, text]) => make('tr', {}, make('td', {}, make('b', {}, word)), make('td', {}, text)))))));
  }
}

function start() {
  const host = document.getElementById('page'), began = performance.now();
  try {
    const holder = document.getElementById('data'), page = readPage(fromBase64(holder.textContent));
    holder.remove();
    const shown = new Page(page, host);
    requestAnimationFrame(() => requestAnimationFrame(() => {
      host.removeAttribute('aria-busy');
      host.dataset.ready = Math.round(performance.now() - began);
    }));
    // For tests and for who wants to look: nothing of the page needs it.
    window.tidemark = { page, shown };
    addEventListener('beforeprint', () => shown.onPaper(true));
    addEventListener('afterprint', () => shown.onPaper(false));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => shown.redraw());
  } catch (error) {
    host.replaceChildren(make('p', { class: 'wait' }, 'This page cannot be read: ' + error.message));
  }
}

start();

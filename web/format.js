// Numbers as people read them: the same rules as base/human.h, so that a figure of the page is the
// text that a report prints.

const KIB = 1024;
const MIB = KIB * 1024;
const GIB = MIB * 1024;
const TIB = GIB * 1024;

function scaled(value, unit, name) {
  const ratio = value / unit;
  return (ratio < 99.95 ? ratio.toFixed(1) : ratio.toFixed(0)) + ' ' + name;
}

export function bytes(value) {
  if (value === null || value === undefined) return 'not known';
  if (value < 0) return '-' + bytes(-value);
  if (value < KIB) return value + ' B';
  if (value < MIB) return scaled(value, KIB, 'KiB');
  if (value < 10 * GIB) return scaled(value, MIB, 'MiB');
  if (value < 10 * TIB) return scaled(value, GIB, 'GiB');
  return scaled(value, TIB, 'TiB');
}

export function delta(value) {
  return value > 0 ? '+' + bytes(value) : bytes(value);
}

export function duration(ns) {
  if (ns === null || ns === undefined) return 'not known';
  if (ns < 0) return '-' + duration(-ns);
  if (ns < 1e3) return ns + ' ns';
  if (ns < 1e6) return (ns / 1e3).toPrecision(3) + ' us';
  if (ns < 999.5e6) return (ns / 1e6).toPrecision(3) + ' ms';
  if (ns < 60e9) return (ns / 1e9).toPrecision(3) + ' s';
  const seconds = Math.round(ns / 1e9);
  if (seconds < 3600) return Math.floor(seconds / 60) + ' m ' + seconds % 60 + ' s';
  return Math.floor(seconds / 3600) + ' h ' + Math.floor(seconds % 3600 / 60) + ' m';
}

// A point in time, fine enough to tell it from its neighbours `span` ns away.
export function clock(ns, span) {
  const digits = span > 50e9 ? 0 : span > 5e9 ? 1 : span > 0.5e9 ? 2 : span > 5e6 ? 4 : 6;
  return (ns / 1e9).toFixed(digits) + ' s';
}

export function count(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

export function percent(ratio) {
  const value = ratio * 100;
  return (value < 99.95 ? value.toFixed(1) : value.toFixed(0)) + ' %';
}

export function plural(n, noun) {
  return count(n) + ' ' + noun + (n === 1 ? '' : 's');
}

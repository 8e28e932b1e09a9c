// The bytes of a page, as viewer-cli/html/data.h describes them.

const VERSION = 1;

// Numbers of seven bits a byte. What is beyond 2^53 loses its last digits, as all numbers here do.
export class Reader {
  constructor(data) {
    this.data = data;
    this.at = 0;
    this.decoder = new TextDecoder();
  }

  number() {
    const data = this.data;
    let byte = data[this.at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f, scale = 128;
    do {
      if (this.at >= data.length) throw new Error('the data end too early');
      byte = data[this.at++];
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    return value;
  }

  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  known() {
    const value = this.number();
    return value ? value - 1 : null;
  }

  text() {
    const size = this.number(), from = this.at;
    if (from + size > this.data.length) throw new Error('the data end too early');
    this.at += size;
    return this.decoder.decode(this.data.subarray(from, this.at));
  }

  list(one) {
    const size = this.number(), list = new Array(size);
    for (let i = 0; i < size; i++) list[i] = one(this);
    return list;
  }
}

function readCourse(r) {
  const from = r.signed(), size = r.number();
  const course = { bounds: new Float64Array(size + 1), columns: [] };
  course.bounds[0] = from;
  for (let i = 0; i < size; i++) {
    course.bounds[i + 1] = course.bounds[i] + r.number();
    const column = { first: r.number(), min: r.number(), max: r.number(), reserved: r.known(),
      step: r.known(), kind: r.number() };
    const flags = r.number();
    column.pause = (flags & 1) !== 0;
    column.thinned = (flags & 2) !== 0;
    course.columns.push(column);
  }
  course.driven = r.number() !== 0;
  course.peakSeq = r.known();
  course.peak = r.number();
  course.peakNs = r.number();
  return course;
}

function readBlocks(r) {
  let seq = 0, ns = 0;
  return r.list(() => {
    seq += r.number();
    const block = { seq, size: r.number(), requested: r.known() };
    ns += r.signed();
    block.ns = ns;
    const freeSeq = r.known(), freeNs = r.known();
    block.freeSeq = freeSeq === null ? Infinity : seq + freeSeq;
    block.freeNs = freeNs === null ? null : ns + freeNs;
    block.class = r.number();
    block.site = r.number();
    return block;
  });
}

// Changes of moments, one behind the other: those of moment i are [first[i], first[i + 1]).
function readChanges(r) {
  const size = r.number();
  const out = { seq: new Float64Array(size), ns: new Float64Array(size),
    first: new Uint32Array(size + 1), class: [], bytes: [], blocks: [] };
  let seq = 0, ns = 0;
  for (let i = 0; i < size; i++) {
    out.seq[i] = seq += r.number();
    out.ns[i] = ns += r.number();
    const changes = r.number();
    for (let k = 0, at = 0; k < changes; k++) {
      out.class.push(at += r.number());
      out.bytes.push(r.signed());
      out.blocks.push(r.signed());
    }
    out.first[i + 1] = out.class.length;
  }
  return out;
}

function readMoments(r) {
  const moments = { exact: r.number() !== 0, folded: r.number() };
  moments.modules = r.list(() => ({ path: r.text(), class: r.text(), parent: r.known() }));
  moments.classes = r.list(() => ({ purpose: r.number(), born: r.number(), site: r.number(),
    module: r.number() }));
  moments.blocks = readBlocks(r);
  moments.changes = readChanges(r);
  moments.top = r.number();
  return moments;
}

function readPhases(r) {
  const leftOut = r.number();
  let begin = 0;
  const list = r.list(() => {
    begin += r.signed();
    const span = r.known();
    return { begin, end: span === null ? null : begin + span, beginSeq: r.number(),
      endSeq: r.known(), kind: r.number(), name: r.number(), step: r.known(), depth: r.number(),
      peak: r.known(), peakSeq: r.known(), peakNs: r.known(), allocated: r.known() };
  });
  return { leftOut, list };
}

function readMap(r) {
  const map = { known: r.number() !== 0, seq: r.signed(), leftOut: r.number() };
  map.segments = r.list(() => {
    const segment = { address: r.text(), size: r.number(), heap: r.number(), free: r.number(),
      mapped: r.number() !== 0 };
    let at = 0;
    segment.blocks = r.list(() => {
      const offset = at + r.number(), size = r.number();
      at = offset + size;
      return { offset, size, what: r.number(), site: r.number() };
    });
    return segment;
  });
  return map;
}

function readScope(r) {
  const scope = { process: r.number(), pid: r.number(), rank: r.known(), device: r.text() };
  scope.drawn = (r.number() & 1) !== 0;
  if (!scope.drawn) return scope;
  scope.course = readCourse(r);
  scope.moments = readMoments(r);
  scope.phases = readPhases(r);
  scope.stepsEach = r.number();
  scope.steps = r.list(() => ({ step: r.number(), begin: r.signed(), end: r.known(),
    peak: r.known(), allocated: r.known(), reserved: r.known() }));
  scope.refusals = r.list(() => ({ seq: r.number(), ns: r.signed(), asked: r.number(),
    site: r.number() }));
  scope.map = readMap(r);
  return scope;
}

function readRecording(r) {
  const name = r.text(), json = r.text();
  const recording = { name, reports: JSON.parse(json), scopes: r.list(readScope) };
  recording.texts = r.list(() => r.text());
  recording.frames = r.list(() => ({ shown: r.number(), file: r.number(), library: r.number() !== 0 }));
  recording.sites = r.list(() => ({ id: r.number(), frames: r.list(() => r.number()) }));
  return recording;
}

export function readPage(data) {
  const r = new Reader(data);
  if (String.fromCharCode(...data.subarray(0, 4)) !== 'TMPG') throw new Error('no data are in this page');
  r.at = 4;
  if (r.number() !== VERSION) throw new Error('the data are of another version than this page');
  const page = { purposes: r.list(() => r.text()), kinds: r.list(() => r.text()) };
  page.recordings = r.list(readRecording);
  if (r.at !== data.length) throw new Error('the data do not end where they should');
  return page;
}

export function fromBase64(text) {
  const binary = atob(text.trim()), data = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) data[i] = binary.charCodeAt(i);
  return data;
}

// What lived at each moment: classes of blocks and what they held, and the moments of a stretch of
// time with the most in it.

const CHECKPOINT = 512; // moments between two that are known without adding up

// The place of the first element of a sorted row that is not below the value.
export function firstNotBelow(row, value, from = 0, until = row.length) {
  while (from < until) {
    const middle = (from + until) >> 1;
    if (row[middle] < value) from = middle + 1;
    else until = middle;
  }
  return from;
}

// Births and frees of blocks as changes: of a recording whose every block is there.
function changesOf(blocks) {
  const freed = blocks.map((_, i) => i).filter((i) => blocks[i].freeSeq !== Infinity);
  freed.sort((a, b) => blocks[a].freeSeq - blocks[b].freeSeq);
  const out = { seq: [], ns: [], first: [0], class: [], bytes: [], blocks: [] };
  const add = (seq, ns, block, sign) => {
    const last = out.seq.length - 1;
    if (last < 0 || out.seq[last] !== seq) {
      out.seq.push(seq);
      out.ns.push(last < 0 ? ns : Math.max(ns, out.ns[last]));
      out.first.push(out.class.length);
    }
    out.class.push(block.class);
    out.bytes.push(sign * block.size);
    out.blocks.push(sign);
    out.first[out.seq.length] = out.class.length;
  };
  for (let born = 0, gone = 0; born < blocks.length || gone < freed.length;) {
    const free = gone < freed.length ? blocks[freed[gone]] : null;
    if (free && (born >= blocks.length || free.freeSeq <= blocks[born].seq)) {
      add(free.freeSeq, free.freeNs, free, -1);
      gone++;
    } else {
      add(blocks[born].seq, blocks[born].ns, blocks[born], 1);
      born++;
    }
  }
  return out;
}

// For each level up half as many places: which of two has the most.
function pyramid(values) {
  const levels = [];
  let below = Uint32Array.from(values, (_, i) => i);
  while (below.length > 1) {
    const level = new Uint32Array((below.length + 1) >> 1);
    for (let i = 0; i < level.length; i++) {
      const a = below[2 * i], b = 2 * i + 1 < below.length ? below[2 * i + 1] : a;
      level[i] = values[b] > values[a] ? b : a;
    }
    levels.push(level);
    below = level;
  }
  return levels;
}

export class Moments {
  constructor(moments) {
    const changes = moments.exact ? changesOf(moments.blocks) : moments.changes;
    this.exact = moments.exact;
    this.classes = moments.classes;
    this.blocks = moments.blocks;
    this.top = moments.top;
    this.seq = Float64Array.from(changes.seq);
    this.ns = Float64Array.from(changes.ns);
    this.first = Uint32Array.from(changes.first);
    this.class = Uint32Array.from(changes.class);
    this.change = Float64Array.from(changes.bytes);
    this.changeBlocks = Int32Array.from(changes.blocks);
    this.count = this.seq.length;
    this.addUp();
    this.levels = pyramid(this.bytes);
  }

  addUp() {
    this.bytes = new Float64Array(this.count);
    this.blockCount = new Float64Array(this.count);
    this.kept = [];
    const held = new Float64Array(this.classes.length), blocks = new Int32Array(this.classes.length);
    let bytes = 0, living = 0;
    for (let i = 0; i < this.count; i++) {
      if (i % CHECKPOINT === 0) this.kept.push({ held: held.slice(), blocks: blocks.slice() });
      for (let k = this.first[i]; k < this.first[i + 1]; k++) {
        held[this.class[k]] += this.change[k];
        blocks[this.class[k]] += this.changeBlocks[k];
        bytes += this.change[k];
        living += this.changeBlocks[k];
      }
      this.bytes[i] = bytes;
      this.blockCount[i] = living;
    }
  }

  // What each class holds after the moment: bytes and blocks.
  at(moment) {
    const from = Math.floor(moment / CHECKPOINT), kept = this.kept[from];
    const held = kept.held.slice(), blocks = kept.blocks.slice();
    for (let k = this.first[from * CHECKPOINT]; k < this.first[moment + 1]; k++) {
      held[this.class[k]] += this.change[k];
      blocks[this.class[k]] += this.changeBlocks[k];
    }
    return { held, blocks };
  }

  // The last moment at or before the number of an event, or the time; -1: there is none.
  ofSeq(seq) {
    return firstNotBelow(this.seq, seq + 1) - 1;
  }

  ofTime(ns) {
    let at = firstNotBelow(this.ns, ns);
    while (at < this.count && this.ns[at] === ns) at++;
    return at - 1;
  }

  // The moment of [from, until) with the most bytes; from < until.
  highest(from, until) {
    let best = from, level = -1;
    const better = (place) => {
      if (this.bytes[place] > this.bytes[best] || (this.bytes[place] === this.bytes[best] && place < best))
        best = place;
    };
    const place = (i) => (level < 0 ? i : this.levels[level][i]);
    for (let low = from, high = until; low < high;) {
      if (low & 1) better(place(low++));
      if (high & 1) better(place(--high));
      low >>= 1;
      high >>= 1;
      level++;
    }
    return best;
  }

  // The blocks known by themselves that lived then, largest first.
  living(moment) {
    const seq = this.seq[moment];
    const out = this.blocks.filter((block) => block.seq <= seq && block.freeSeq > seq);
    out.sort((a, b) => b.size - a.size || a.seq - b.seq);
    return this.exact ? out : out.slice(0, this.top);
  }

  // Bytes of each group at each moment, group by group: `of` has the group of each class.
  stacks(of, groups) {
    const rows = Array.from({ length: groups }, () => new Float64Array(this.count));
    const held = new Float64Array(groups);
    for (let i = 0; i < this.count; i++) {
      for (let k = this.first[i]; k < this.first[i + 1]; k++) held[of[this.class[k]]] += this.change[k];
      for (let g = 0; g < groups; g++) rows[g][i] = held[g];
    }
    return rows;
  }
}

// What a recording calls its sites, frames and texts.
export class Names {
  constructor(recording) {
    this.texts = recording.texts;
    this.sites = recording.sites;
    this.frames = recording.frames;
    this.short = new Map();
  }

  text(place) {
    return this.texts[place];
  }

  // As view site_short: the program's own innermost frame, then the innermost of all.
  site(place) {
    let text = this.short.get(place);
    if (text === undefined) {
      const frames = this.stack(place), own = frames.findIndex((frame) => !frame.library);
      text = frames.length === 0 ? 'call site not known'
        : (own > 0 ? frames[own].shown + ' > ' : '') + frames[0].shown;
      this.short.set(place, text);
    }
    return text;
  }

  // Innermost first.
  stack(place) {
    return this.sites[place].frames.map((at) => {
      const frame = this.frames[at];
      return { place: at, shown: this.texts[frame.shown], file: this.texts[frame.file], library: frame.library };
    });
  }
}

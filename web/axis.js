// Time to places and back. A place counts columns of the course (course.h): pauses are cut short
// there, so that the axis is a line of pieces.
import { firstNotBelow } from './state.js';

export class Axis {
  constructor(course) {
    this.bounds = course.bounds;
    this.columns = course.columns;
    this.count = course.columns.length;
    this.from = 0;
    this.until = this.count;
  }

  place(ns) {
    const at = Math.min(Math.max(firstNotBelow(this.bounds, ns + 1) - 1, 0), this.count - 1);
    const span = this.bounds[at + 1] - this.bounds[at];
    return at + (span > 0 ? Math.min(Math.max((ns - this.bounds[at]) / span, 0), 1) : 0);
  }

  time(place) {
    const at = Math.min(Math.max(Math.floor(place), 0), this.count - 1);
    return this.bounds[at] + (place - at) * (this.bounds[at + 1] - this.bounds[at]);
  }

  // What is seen, [from, until), of [0, count): never less than a thousandth of a column.
  show(from, until) {
    const width = Math.min(Math.max(until - from, 1e-4), this.count);
    this.from = Math.min(Math.max(from, 0), this.count - width);
    this.until = this.from + width;
  }

  zoom(factor, around) {
    this.show(around - (around - this.from) * factor, around + (this.until - around) * factor);
  }

  pan(places) {
    this.show(this.from + places, this.until + places);
  }

  get whole() {
    return this.from === 0 && this.until === this.count;
  }
}

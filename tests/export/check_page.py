#!/usr/bin/env python3
"""check_page.py TIDEMARK FOLDER NODE PAGE SNAPSHOTS DATA MAKE_FIXTURE [OWN]: PyTorch's own page, its
reader of pickles and what it computes before it draws, run in Node on our exports, says the peak and
the number of blocks that the recordings have."""
import os
import sys

import readers
import recordings

SCRIPT = """
const fs = require('fs'), path = require('path');
const [page, ...files] = process.argv.slice(2);
const read = name => fs.readFileSync(path.join(page, name), 'utf8');
const viz = read('MemoryViz.js'), apart = fs.existsSync(path.join(page, 'process_alloc_data.js'));
const data = apart ? read('process_alloc_data.js').replace(/export \\{[\\s\\S]*?\\};/, '') : '';
const part = name => {
  const at = viz.search(new RegExp('^(async )?function ' + name + '\\\\(', 'm'));
  return at < 0 ? '' : viz.slice(at, at + viz.slice(at).search(/^\\}/m) + 1);
};
// Until PyTorch 2.11 or so all of it is in one file.
const parts = ['unpickle', 'unpickleData', 'version_space', 'calculate_fragmentation', 'annotate_snapshot'].concat(
  apart ? [] : ['process_alloc_data', 'formatSize', 'elideRepeats', 'frameFilter', 'format_frames']);
const made = new Function(data + parts.map(part).join('\\n') +
                          '\\nreturn {unpickle, annotate_snapshot, process_alloc_data}')();
const say = console.log;
console.log = () => {};
for (const file of files) {
  const bytes = fs.readFileSync(file);
  const snapshot = made.unpickle(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  made.annotate_snapshot(snapshot);
  snapshot.device_traces.forEach((trace, device) => {
    if (!trace.length) return;
    const drawn = made.process_alloc_data(snapshot, device, false, 15000, false);
    say(device, drawn.max_at_time.reduce((a, b) => Math.max(a, b), 0), drawn.elements_length);
  });
}
"""


def main():
    tidemark, folder, node, page, *rest = sys.argv[1:]
    if not os.path.exists(node) or not os.path.exists(os.path.join(page, "MemoryViz.js")):
        print("no node, or no page of PyTorch (TIDEMARK_MEMORY_VIZ)")
        return 77
    script, compared = os.path.join(folder, "page.js"), 0
    for path in recordings.make(tidemark, folder, *rest):
        with open(script, "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        made = recordings.export(tidemark, "memory_viz", path, folder)
        with open(made, "rb") as file:
            ours = readers.Snapshot(file.read())
        want = {device: (ours.peaks[device], ours.blocks[device]) for device in ours.peaks}
        lines = [tuple(map(int, line.split())) for line in recordings.run(node, script, page, made).splitlines()]
        assert {device: (peak, blocks) for device, peak, blocks in lines} == want, (path, lines, want)
        compared += len(lines)
        print(f"{os.path.basename(path)}: {want}")
    assert compared >= 6
    print(f"{compared} devices agree")
    return 0


sys.exit(main())

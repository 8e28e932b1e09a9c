#!/usr/bin/env python3
"""check_page.py TIDEMARK FOLDER NODE PAGE SNAPSHOTS DATA MAKE_FIXTURE: PyTorch's own page, its reader
of pickles and what it computes before it draws, run in Node on our exports, says the peak and the
number of blocks that the recordings have."""
import glob
import os
import subprocess
import sys

import readers

SCRIPT = """
const fs = require('fs'), path = require('path');
const [page, ...files] = process.argv.slice(2);
const read = name => fs.readFileSync(path.join(page, name), 'utf8');
const data = read('process_alloc_data.js').replace(/export \\{[\\s\\S]*?\\};/, ''), viz = read('MemoryViz.js');
const part = name => {
  const at = viz.search(new RegExp('^(async )?function ' + name + '\\\\(', 'm'));
  return at < 0 ? '' : viz.slice(at, at + viz.slice(at).search(/^\\}/m) + 1);
};
const parts = ['unpickle', 'unpickleData', 'version_space', 'calculate_fragmentation', 'annotate_snapshot'];
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


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


def make_recordings(tidemark, folder, snapshots, data, make_fixture):
    for snapshot in sorted(glob.glob(os.path.join(snapshots, "*.pickle"))):
        path = os.path.join(folder, os.path.basename(snapshot) + ".db")
        run(tidemark, "import", snapshot, "-o", path)
        yield path
    for name in ("train", "frag", "torch", "limit", "gpu"):
        path = os.path.join(folder, name + ".db")
        run(make_fixture, path, os.path.join(data, name + ".sql"))
        yield path


def main():
    tidemark, folder, node, page, *rest = sys.argv[1:]
    if not os.path.exists(node) or not os.path.exists(os.path.join(page, "process_alloc_data.js")):
        print("no node, or no page of PyTorch (TIDEMARK_MEMORY_VIZ)")
        return 77
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.remove(os.path.join(folder, old))
    script = os.path.join(folder, "page.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    compared = 0
    for path in make_recordings(tidemark, folder, *rest):
        made = path + ".pickle"
        run(tidemark, "export", "--to", "memory_viz", path, "-o", made)
        with open(made, "rb") as file:
            ours = readers.Snapshot(file.read())
        want = {device: (ours.peaks[device], ours.blocks[device]) for device in ours.peaks}
        lines = [tuple(map(int, line.split())) for line in run(node, script, page, made).splitlines()]
        assert {device: (peak, blocks) for device, peak, blocks in lines} == want, (path, lines, want)
        compared += len(lines)
    assert compared >= 6
    print(f"{compared} devices agree")
    return 0


sys.exit(main())

#!/usr/bin/env python3
"""check_speedscope.py TIDEMARK FOLDER NODE PAGE SNAPSHOTS DATA MAKE_FIXTURE [OWN]: speedscope's own
importer, out of its npm package and run in Node, reads three of our formats and finds the sums of the
recordings: in all, and by the innermost function."""
import collections
import glob
import json
import os
import sys

import recordings

# The page is one script that draws. Its importer is named in it, and kept before anything draws; the
# rest meets a document without a page, and may fail.
SCRIPT = """
const fs = require('fs'), path = require('path'), vm = require('vm');
const [page, ...files] = process.argv.slice(2);
const source = fs.readFileSync(page, 'utf8');
const name = source.match(/([\\w$]+)=\\{\\};[\\w$]+\\(\\1,\\{importFromFileSystemDirectoryEntry:/)[1];
const load = 'Promise.resolve().then(()=>(' + source.match(new RegExp(
  'Promise\\\\.resolve\\\\(\\\\)\\\\.then\\\\(\\\\(\\\\)=>\\\\(([\\\\w$]+\\\\(\\\\),' + name.replace(/\\$/g, '\\\\$&') + ')\\\\)'))[1] + '))';
const none = () => new Proxy(function () {}, {
  get: (_, key) => key === Symbol.toPrimitive ? () => '' : none(), apply: none, construct: none});
globalThis.window = globalThis;
globalThis.location = {hash: '', search: '', href: ''};
globalThis.document = none();
const say = console.log;
console.log = () => {};
try {
  vm.runInThisContext(source.replace(load, () => '(globalThis.importer=' + load + ')'));
} catch (problem) {
  if (!globalThis.importer) throw problem;
}
(async () => {
  const importer = await globalThis.importer;
  for (const file of files) {
    const bytes = fs.readFileSync(file);
    const group = await importer.importProfilesFromArrayBuffer(
      path.basename(file), bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    for (const profile of group ? group.profiles : []) {
      const own = {};
      profile.forEachFrame(frame => {
        if (frame.getSelfWeight()) own[frame.name] = (own[frame.name] || 0) + frame.getSelfWeight();
      });
      say(JSON.stringify({file, unit: profile.getWeightUnit(), sum: profile.getTotalWeight(), own}));
    }
  }
  process.exit(0);
})();
"""


def read(node, script, page, *files):
    lines = recordings.run(node, script, page, *files).splitlines()
    profiles = collections.defaultdict(list)
    for profile in map(json.loads, lines):
        profiles[profile["file"].rpartition("export.")[2]].append(profile)
    return profiles


def own(profiles):
    names = collections.Counter()
    for profile in profiles:
        names.update(profile["own"])
    return names


def main():
    tidemark, folder, node, page, *rest = sys.argv[1:]
    pages = glob.glob(os.path.join(page, "speedscope-*.js")) if page else []
    if not os.path.exists(node) or len(pages) != 1:
        print("no node, or no speedscope (TIDEMARK_SPEEDSCOPE)")
        return 77
    script, compared = os.path.join(folder, "speedscope.js"), 0
    for path in recordings.make(tidemark, folder, *rest):
        with open(script, "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        live = recordings.live_at_peak(path)
        if not live:
            continue
        made = [recordings.export(tidemark, form, path, folder)
                for form in ("speedscope", "pprof", "collapsed")]
        profiles = read(node, script, pages[0], *made)
        ours, pprof, lines = (profiles[name] for name in ("speedscope.json", "pb.gz", "collapsed.txt"))
        total = sum(size for size, _ in live.values())
        assert sorted(one["sum"] for one in ours) == sorted(size for size, _ in live.values()), path
        assert all(one["unit"] == "bytes" for one in ours + pprof), path
        assert [one["sum"] for one in pprof] == [one["sum"] for one in lines] == [total], path
        assert own(ours) == own(pprof), path
        compared += 1
        print(f"{os.path.basename(path)}: {total} bytes in {len(ours)} profiles")
    assert compared >= 6
    print(f"{compared} recordings agree in 3 formats")
    return 0


sys.exit(main())

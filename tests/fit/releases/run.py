"""run.py TIDEMARK: what fit says of other versions of PyTorch, against those versions themselves: the real
allocator of each CUDA build in TIDEMARK_VENVS runs the same program, rehearsed without a GPU."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TIDEMARK = sys.argv[1]
GPU = "cc=8.0,memory=%s,sms=108"
MIB = 1 << 20
FRACTION = "per_process_memory_fraction:"
THROW = "throw_on_cudamalloc_oom:True"
CASES = {
    "plain": ("plain", "4000MiB", ""),
    "split": ("plain", "4000MiB", "max_split_size_mb:20"),
    "expandable": ("plain", "4000MiB", "expandable_segments:True"),
    "divided": ("plain", "4000MiB", "roundup_power2_divisions:8"),
    "collected": ("plain", "4000MiB", FRACTION + "0.02,garbage_collection_threshold:0.5"),
    "roundup": ("roundup", "4000MiB", "roundup_power2_divisions:[1:1,4:1,>:2]"),
    "large": ("large", "4000MiB", "large_segment_size_mb:32"),
    "limit": ("limit", "800MiB", FRACTION + "0.29"),
    "beyond": ("beyond", "4000MiB", FRACTION + "0.05"),
    "limited": ("beyond", "4000MiB", FRACTION + "0.05," + THROW),
    "wide": ("wide", "4000MiB", ""),
    "thrown": ("wide", "4000MiB", THROW),
}
# What PyTorch says of settings that it does not take. Another end is none of the allocator's.
REFUSALS = "Unrecognized key|Unrecognized CachingAllocator option|_mb too small"
failed = []


def check(what, truth):
    if not truth:
        failed.append(what)
    print("%s %s" % ("ok  " if truth else "FAIL", what))


def versions(folder):
    found = [name[6:] for name in os.listdir(folder) if re.fullmatch(r"torch-2\.\d+\.\d+", name)]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def minor(version):
    return ".".join(version.split(".")[:2])


class Runs:
    """Of one case: what each version's own counters say (None: it refused the settings), and recordings."""

    def __init__(self, venvs, folder, name):
        self.name = name
        self.said, self.recordings = {}, {}
        for version in versions(venvs):
            self.run(venvs, folder, version)

    def run(self, venvs, folder, version):
        program, memory, settings = CASES[self.name]
        database = os.path.join(folder, "%s-%s.db" % (self.name, version))
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        environment.pop("PYTORCH_ALLOC_CONF", None)
        environment["PYTORCH_CUDA_ALLOC_CONF"] = settings
        done = subprocess.run(
            [TIDEMARK, "rehearse", "--gpu", GPU % memory, "--history", "-o", database, "--",
             os.path.join(venvs, "torch-" + version, "bin", "python3"),
             os.path.join(HERE, "program.py"), program],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        lines = done.stdout.decode(errors="replace").splitlines()
        said = [json.loads(line[5:]) for line in lines if line.startswith("SAID ")]
        refusals = [line for line in lines if re.search(REFUSALS, line)]
        print("%s %s: %s" % (self.name, version, said or refusals or lines[-8:]))
        if said:
            self.recordings[minor(version)] = database
        if said or refusals:
            self.said[minor(version)] = said[0] if said else None

    def fit(self, version, *options):
        done = subprocess.run([TIDEMARK, "fit", self.recordings[version], "--device", "cuda:0",
                               "--format", "json"] + list(options),
                              stdout=subprocess.PIPE, check=False)
        return json.loads(done.stdout)["tables"]

    def places(self, version):
        """Of each block: its event, the segment by number, and where in it the block lies."""
        done = subprocess.run(
            [TIDEMARK, "sql", self.recordings[version], "--format", "csv",
             "SELECT a.seq, (SELECT count(*) FROM segment t WHERE t.seq <= s.seq),"
             " a.address - s.address, a.size FROM allocation a JOIN segment s ON s.seq = a.segment"
             " ORDER BY a.seq"], stdout=subprocess.PIPE, check=True)
        return [line.split(",") for line in done.stdout.decode().splitlines()[1:]]

    def first_difference(self, version, other):
        """The event of the first block that the other version placed differently, or None."""
        for ours, theirs in zip(self.places(version), self.places(other)):
            if ours[1:] != theirs[1:]:
                return int(ours[0])
        return None

    def rows(self, version):
        return {row["torch"]: row for row in self.fit(version, "--torch", "all")["torch"]}


def exact(runs):
    """Every address of every version comes out; of every other version, its peak, and the first block
    that it placed differently."""
    for version in runs.recordings:
        fit = runs.fit(version)["fit"][0]
        check("%s: %s replays exactly" % (runs.name, version), fit["address_match"] == 1)
        rows = runs.rows(version)
        for other, said in runs.said.items():
            row = rows[other]
            what = "%s: recorded by %s, %s" % (runs.name, version, other)
            if said is None:
                check(what + " refuses the settings", row["refuses"] is not None)
                continue
            check(what + " reserves %d MiB" % (said["reserved"] // MIB),
                  row["refuses"] is None and row["peak_reserved"] == said["reserved"])
            first = runs.first_difference(version, other)
            check(what + (" is the same" if first is None else " differs at event %d" % first),
                  row["allocation"] == first and (row["rule"] is None) == (first is None))


def of_limit(runs):
    """232 of 800 MiB, less a byte: who cuts the limit refuses what others grant."""
    for version, said in runs.said.items():
        if said is not None:
            check("limit: %s" % version, said["refused"] == (int(version[2:]) < 13))
    for version in runs.recordings:
        rows = runs.rows(version)
        if runs.said[version]["refused"]: # there is no block in it
            continue
        for other, said in runs.said.items():
            row = rows[other]
            if said is None:
                check("limit: %s refuses the setting" % other, row["refuses"] is not None)
            elif said["refused"]:
                check("limit: recorded by %s, %s refuses the request" % (version, other),
                      row["rule"] == "fraction_rounding" and row["requested"] == 232 * MIB)
            else:
                check("limit: recorded by %s, %s grants it" % (version, other), row["rule"] is None)


def granted_at_a_retry(runs):
    for version, said in runs.said.items():
        if said is not None:
            check("%s: %s frees its cache and grants it" % (runs.name, version),
                  said["retries"] == 1 and not said["refused"])
    for version in runs.recordings:
        row = runs.fit(version, "--memory", "4000MiB")["memory"][0]
        check("%s: recorded by %s, so does fit" % (runs.name, version),
              row["verdict"] == "fits" and row["retries"] == 1)


def of_throwing(wide, thrown):
    """What the device has, but not beside the cache."""
    for version, said in thrown.said.items():
        if said is not None:
            check("thrown: %s refuses it and keeps its cache" % version,
                  said["refused"] and said["retries"] == 0 and said["rejections"] == 1)
    for version in wide.recordings:
        for memory, fits in (("4000MiB", False), ("4600MiB", True)):
            row = wide.fit(version, "--memory", memory, "--settings", THROW)["memory"][0]
            check("thrown: recorded by %s, %s" % (version, memory),
                  row["verdict"] == ("fits" if fits else "does not fit"))
        rows = {row["torch"]: row for row in
                wide.fit(version, "--torch", "all", "--settings", THROW)["torch"]}
        for other, said in thrown.said.items():
            check("thrown: recorded by %s, %s" % (version, other),
                  (rows[other]["refuses"] is not None) == (said is None))


def main():
    venvs = os.environ.get("TIDEMARK_VENVS", "")
    if not os.path.isdir(venvs) or len(versions(venvs)) < 2:
        print("TIDEMARK_VENVS names no folder with two virtual environments torch-VERSION or more")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        runs = {name: Runs(venvs, folder, name) for name in CASES}
        for name in ("plain", "split", "expandable", "divided", "collected", "roundup", "large"):
            exact(runs[name])
        of_limit(runs["limit"])
        for name in ("beyond", "limited", "wide"):
            granted_at_a_retry(runs[name])
        of_throwing(runs["wide"], runs["thrown"])
    print("%d failed" % len(failed))
    return 1 if failed else 0


sys.exit(main())

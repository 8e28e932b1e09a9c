"""recordings.json is whole, and says what the real snapshots say, where those are at hand: in
TIDEMARK_TRUTH as NAME/truth/*.pickle. Skipped where they are not, after the first part."""
import glob
import os
import sys

import snapshots
import truth

SKIPPED = 77
FIGURES = ("requested", "allocated", "reserved")


def faults_of(name, facts):
    """What cannot be true of any recording."""
    if not 0 < facts["requested"] <= facts["allocated"] <= facts["reserved"]:
        yield "%s: %s" % (name, [facts[figure] for figure in FIGURES])
    if len(facts["digests"].split()) != -(-facts["events"] // snapshots.EVERY):
        yield "%s: %d events and %d digests" % (name, facts["events"],
                                                len(facts["digests"].split()))


def is_known(path, runs, tidemark):
    """Whether a recording has exactly what the snapshot has."""
    for any_order in (False, True):
        facts = snapshots.facts_of(tidemark, path, any_order)
        for run in runs:
            for recording in run["recordings"]:
                if (recording.get("frees_in_any_order", False) == any_order and
                        recording.get("facts") == facts):
                    return True
    return False


def main():
    known = truth.catalogue()
    faults = [fault for run in known["runs"] for recording in run["recordings"]
              if "facts" in recording
              for fault in faults_of(recording["name"], recording["facts"])]
    faults += ["%s has no runs" % name for name in known["programs"]
               if not any(run["program"] == name for run in known["runs"])]
    read = 0
    for name in sorted(known["programs"]):
        runs = [run for run in known["runs"] if run["program"] == name]
        for path in sorted(glob.glob(os.path.join(os.environ["TIDEMARK_TRUTH"], name, "truth",
                                                  "*.pickle"))):
            read += 1
            if not is_known(path, runs, os.environ["TIDEMARK_COMMAND"]):
                faults.append("%s is none of the recordings of %s" % (path, name))
    for fault in faults:
        print(fault)
    print("%d snapshots read" % read)
    return 1 if faults else 0 if read else SKIPPED


if __name__ == "__main__":
    sys.exit(main())

"""crowd_reports.py TIDEMARK MAKE_CROWD PROCESSES: every report over a crowd of small processes, in
every format, and of some of them what each says by itself.

A report that goes through the rows of all processes for each of them takes hours where they are
thousands (crowd_reports_many), and else minutes.
"""
import csv
import os
import subprocess
import sys
import tempfile
import time

tidemark, make_crowd, processes = sys.argv[1], sys.argv[2], int(sys.argv[3])

LIMITS = ["--max-peak", "1TiB", "--max-reserved", "1TiB", "--max-fragmentation", "0.99",
          "--max-growth", "1TiB", "--no-oom", "--no-lost"]
# Reports with a row or more of each process, and those that have none of some.
OF_ALL = [["phases"], ["peak"], ["ladder"], ["timeline"], ["check"] + LIMITS]
OF_SOME = [["timeline", "--bytes-by", "category"], ["timeline", "--steps", "1.."], ["why"], ["leaks"],
           ["frag"], ["fit"], ["info"]]


def run(arguments, path, form):
    begun = time.time()
    done = subprocess.run([tidemark, arguments[0], path] + arguments[1:] + ["--format", form],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode in ((0, 1) if arguments[0] == "check" else (0,)), \
        "%s: %d %s" % (" ".join(arguments), done.returncode, done.stderr.decode())
    print("%-40s %-5s %6.2f s" % (" ".join(arguments)[:40], form, time.time() - begun))
    return done.stdout.decode().splitlines()


def rows_by_process(lines):
    """Of sections that begin with a column `process`: in the order of their coming."""
    found, name, section = {}, None, ""
    for row in csv.reader(lines):
        if not row or row[0].startswith("# "):
            name, section = None, row[0] if row else section
        elif name is None:
            name = row[0]
        elif name == "process":
            found.setdefault(int(row[0]), []).append([section] + row)
    return found


def check_csv(path, arguments, all_of_them):
    found = rows_by_process(run(arguments, path, "csv"))
    if all_of_them:
        assert len(found) == processes + 1, "%s: %d processes" % (arguments, len(found))
    for process in (1, 2, processes // 2, processes + 1):
        alone = rows_by_process(run(arguments + ["--process", str(process)], path, "csv"))
        assert set(alone) <= {process}, "%s: others in that of %d" % (arguments, process)
        if arguments == ["fit"] and process not in found:
            continue  # a CPU is asked for by name where there is a GPU
        assert alone.get(process) == found.get(process), "%s of %d: %s\n%s" % (
            arguments, process, alone.get(process), found.get(process))


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "crowd.db")
        subprocess.check_call([make_crowd, path, str(processes)])
        for arguments in OF_ALL + OF_SOME:
            run(arguments, path, "table")
            run(arguments, path, "json")
            if arguments != ["info"]:
                check_csv(path, arguments, arguments in OF_ALL)
        for arguments in (["diff", path], ["check", "--baseline", path, "--max-increase", "1%"]):
            for form in ("table", "csv", "json"):
                run(arguments, path, form)


main()

"""docs/causes.md runs: every command in it prints the lines that stand below it, and every figure of
its text stands in one of its screens. And what the replay says of a setting is what a run with that
setting comes to.

    test_causes.py TIDEMARK SEQ2SEQ SHRINK CAUSES
"""
import json
import os
import re
import subprocess
import sys
import tempfile

TIDEMARK, SEQ2SEQ, SHRINK, CAUSES = sys.argv[1:]
OF_THE_THREAD = {"847 MiB"}  # printed on a GPU, years ago


def shell(command, **more):
    path = os.pathsep.join([os.path.dirname(p) for p in (TIDEMARK, SEQ2SEQ, SHRINK)])
    env = dict(os.environ, PATH=path + os.pathsep + os.environ["PATH"], LC_ALL="C", **more)
    for name in ("COLUMNS", "NO_COLOR"):
        env.pop(name, None)
    return subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=env, universal_newlines=True)


def plain(line):
    """Without what differs from run to run: pids, times, sizes of files."""
    line = re.sub(r"\(pid \d+\)", "(pid N)", line)
    line = re.sub(r"(?<![\w.])\d+(\.\d+)? (ns|us|ms|s)\b", "TIME", line)
    line = re.sub(r"(recorded into \S+) \(.*\)", r"\1", line)
    return " ".join(line.split())


def screens(text):
    """(command, lines) of each indented block that begins with a command."""
    for block in re.findall(r"(?:^    .*\n|^\n(?=    (?!\$)))+", text, re.M):
        lines = [line[4:] for line in block.strip("\n").split("\n")]
        if lines[0].startswith("$ "):
            yield lines[0][2:], lines[1:]


def chunks(lines):
    chunk = []
    for line in [plain(line) for line in lines] + ["..."]:
        if line != "...":
            chunk.append(line)
            continue
        while chunk and not chunk[-1]:
            chunk.pop()
        if chunk:
            yield chunk
        chunk = []


def find(chunk, printed, begin):
    for at in range(begin, len(printed) - len(chunk) + 1):
        if printed[at:at + len(chunk)] == chunk:
            return at + len(chunk)
    return None


def check_screens(text):
    ran = 0
    for command, lines in screens(text):
        ran += 1
        output = shell(command).stdout
        printed, at = [plain(line) for line in output.split("\n")], 0
        for chunk in chunks(lines):
            at = find(chunk, printed, at)
            if at is None:
                raise AssertionError("'%s' does not print\n%s\nbut\n%s" %
                                     (command, "\n".join(chunk), output))
    assert ran >= 10, "only %d commands were found" % ran
    return ran


def check_figures(text):
    quoted = "\n".join("\n".join([command] + lines) for command, lines in screens(text))
    prose = "\n".join(line for line in text.split("\n") if not line.startswith("    "))
    figures = set(re.findall(r"\b\d[\d,.]* (?:[KMG]iB|%)", prose))
    assert len(figures) >= 5, figures
    for figure in figures - OF_THE_THREAD:
        size, unit = figure.split()
        known = figure in quoted or size + unit in quoted
        assert known, "%s stands in no screen of %s" % (figure, CAUSES)


def births(database):
    """So many blocks were handed out before the last request that was refused: how far it came."""
    return int(shell("tidemark sql %s --format csv 'SELECT count(*) FROM allocation"
                     " WHERE seq < (SELECT max(seq) FROM oom)'" % database).stdout.split()[1])


def check_settings():
    """'no' and 'yes' are what a run with that setting comes to: it dies, or gets past the request."""
    through = 0
    for limit in (370, 400):
        run = "--limit=%dMiB" % limit
        database = "settings-%d.db" % limit
        assert shell("tidemark record -o %s -- shrink %s" % (database, run)).returncode == 1
        tables = json.loads(shell("tidemark peak %s --format json" % database).stdout)["tables"]
        memory, failure = tables["oom_memory"][0], tables["oom"][0]
        assert memory["replay"] == "done", memory
        assert memory["memory_least"] == memory["memory_most"] == limit << 20, memory
        assert failure["reserved"] == failure["allocated"] + failure["free"], failure
        assert memory["short_by"] == failure["asked"] - ((limit << 20) - failure["allocated"])
        assert len(tables["oom_settings"]) >= 5
        for row in tables["oom_settings"]:
            again = "again.db"
            if os.path.exists(again):
                os.remove(again)
            died = shell("tidemark record -o %s -- shrink %s" % (again, run),
                         PYTORCH_CUDA_ALLOC_CONF=row["settings"]).returncode == 1
            refused = died and births(again) <= births(database)
            assert row["through"] in ("yes", "no")
            assert (row["through"] == "no") == refused, (limit, row, again)
            through += row["through"] == "yes"
        needed = memory["needed"]
        more = shell("shrink --csv --limit=%d" % needed).stdout
        less = shell("shrink --csv --limit=%d" % (needed - (2 << 20))).stdout
        said = "tried to allocate %.1f MiB" % (-(-failure["asked"] // (2 << 20)) * 2)
        assert said in less and said not in more, (needed, less, more)
    assert through > 0


if __name__ == "__main__":
    with open(CAUSES, encoding="utf-8") as file:
        causes = file.read()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        count = check_screens(causes)
        check_figures(causes)
        check_settings()
        os.chdir("/")
    print("%d screens are as printed" % count)

"""retention_loop.py TIDEMARK MAKE_LOOP STEPS LEAK_EVERY MAX_BYTES: the loop recorded whole and under a
limit; the limit is held, and the reports of both say the same."""
import json
import os
import subprocess
import sys
import tempfile

tidemark, make_loop, steps, leak_every, limit = sys.argv[1:]


def report(path, *arguments):
    done = subprocess.run((tidemark,) + arguments + (path, "--format", "json"),
                          capture_output=True, text=True)
    assert done.returncode == 0, "%s: %s" % (" ".join(arguments), done.stderr)
    return json.loads(done.stdout)["tables"]


def sums(path):
    done = subprocess.run((tidemark, "sql", path, "SELECT * FROM phase_total", "--format", "json"),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tables"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        whole, thin = os.path.join(folder, "whole.db"), os.path.join(folder, "thin.db")
        for path, options in ((whole, ()), (thin, (limit,))):
            most = int(subprocess.check_output((make_loop, path, steps, leak_every) + options))
            print("%s: %d bytes at most, %d now" % (os.path.basename(path), most,
                                                    os.path.getsize(path)))
        assert most <= int(limit), "%d bytes under a limit of %s" % (most, limit)
        assert os.path.getsize(whole) > os.path.getsize(thin)
        for arguments in (("peak",), ("leaks",), ("leaks", "--keep", "50"), ("why",), ("ladder",)):
            one, other = report(whole, *arguments), report(thin, *arguments)
            # The steps that are left have the highest peaks: what grows, or does not, they cannot say.
            for row in other.pop("growth", []):
                assert row["kind"] == "unknown", row
            for row in one.pop("growth", []):
                assert row["kind"] == "growing", row
            assert one == other, "%s differs:\n%s\n%s" % (arguments[0], json.dumps(one),
                                                          json.dumps(other))
        assert sums(whole) == sums(thin), "the sums of the phases differ"
        middle = str(int(steps) // 2)
        for arguments, warned in ((("phases",), True), (("peak",), False), (("leaks",), False),
                                  (("phases", "--steps", "0..8"), False), (("fit",), True),
                                  (("why",), False), (("why", "0..1"), False),
                                  (("peak", "--steps", middle), True)):
            for path in (whole, thin):
                done = subprocess.run((tidemark,) + arguments + (path,), capture_output=True,
                                      text=True)
                told = "thinned out (record --keep, --max-size)" in done.stdout + done.stderr
                assert told == (warned and path == thin), "%s %s: %s" % (
                    " ".join(arguments), path, done.stdout[-600:] + done.stderr)
        thinned = report(thin, "info")
        assert "thinned" in json.dumps(thinned), "info does not say that steps were thinned"


main()

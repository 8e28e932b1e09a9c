"""tidemark merge and skew. Eight ranks are recorded once; the recording is split into one for each rank,
with clocks that begin elsewhere and drift (split.py), and merged again (check_merged.py).

    test_merge.py TIDEMARK RANK MAKE_FIXTURE DATA [MAKE_OLDER]
"""
import csv
import glob
import io
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import check_merged
import split

TIDEMARK, RANK, MAKE_FIXTURE, DATA, MAKE_OLDER = sys.argv[1:6]
RANKS, STEPS = 8, 25
os.environ["TIDEMARK_COMMIT"] = ""  # the tests' own is none of the program's


def tidemark(*arguments, status=0):
    done = subprocess.run([TIDEMARK, *arguments], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done


def record(folder, name="whole.db", ranks=RANKS):
    shared = os.path.join(folder, "shared")
    with open(shared, "wb") as file:
        file.write(bytes(64))
    script = ("for r in $(seq 0 %d); do RANK=$r LOCAL_RANK=$r WORLD_SIZE=%d '%s' '%s' %d & done; wait"
              % (ranks - 1, ranks, RANK, shared, STEPS))
    path = os.path.join(folder, name)
    tidemark("record", "-o", path, "--", "sh", "-c", script)
    return path


def sections(text):
    """{section: rows} of a report's csv."""
    found, rows = {}, []
    for line in text.splitlines():
        if line.startswith("# "):
            rows = found.setdefault(line[2:], [])
        elif line:
            rows.append(line)
    return {name: list(csv.DictReader(io.StringIO("\n".join(rows)))) for name, rows in found.items()}


class Merge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        cls.whole = record(cls.folder)
        cls.parts = split.split(cls.whole, cls.folder)
        cls.merged = os.path.join(cls.folder, "all.db")
        cls.said = tidemark("merge", "-o", cls.merged, *[part[0] for part in cls.parts]).stderr

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def path(self, name):
        path = os.path.join(self.folder, name)
        self.addCleanup(lambda: os.path.exists(path) and os.remove(path))
        return path

    def changed(self, name, statement, part=1):
        path = self.path(name)
        shutil.copyfile(self.parts[part][0], path)
        db = sqlite3.connect(path)
        db.executescript(statement)
        db.close()
        return path

    def refused(self, says, *paths, status=3):
        target = self.path("refused.db")
        done = tidemark("merge", "-o", target, *paths, status=status)
        self.assertRegex(done.stderr, says)
        self.assertFalse(os.path.exists(target), "nothing is left of it")

    # ---- what comes out ----

    def test_order_is_restored_within_the_error_that_is_stated(self):
        found = check_merged.check(self.whole, self.merged, self.parts)
        self.assertEqual(found["ways"], ["collectives", "first"])
        self.assertGreater(found["events"], RANKS * STEPS * 10)
        for node, error in found["errors"].items():
            self.assertLess(error, 100 * 10**6, "an error of %d ns says nothing" % error)

    def test_other_clocks(self):
        for seed in (2, 3):
            with tempfile.TemporaryDirectory() as folder:
                parts = split.split(self.whole, folder, seed)
                target = os.path.join(folder, "all.db")
                tidemark("merge", "-o", target, *[part[0] for part in parts])
                check_merged.check(self.whole, target, parts)

    def slope_error(self):
        """By how much a duration of a node may be wrong: the error of its clock over the run."""
        found = check_merged.check(self.whole, self.merged, self.parts)
        with sqlite3.connect(self.whole) as db:
            run, = db.execute("SELECT max(end_ns) - min(begin_ns) FROM phase").fetchone()
        return 2e-4 + 2 * max(found["errors"].values()) / run

    def test_skew_is_that_of_the_whole_recording(self):
        slope = self.slope_error()
        self.assertLess(slope, 0.5)
        there, here = (sections(tidemark("skew", path, "-f", "csv").stdout)
                       for path in (self.whole, self.merged))
        self.assertEqual(sorted(there), sorted(here))
        self.assertEqual(len(here["ranks"]), RANKS)
        for name, rows in there.items():
            self.assertEqual(len(rows), len(here[name]), name)
            for one, other in zip(rows, here[name]):
                for key, value in one.items():
                    if re.match("process|host|ns_.*_rank", key):
                        continue
                    if key.startswith("ns_"):  # durations, by clocks that drift
                        self.assertLess(abs(int(value) - int(other[key])), 2 + slope * int(value))
                    else:
                        self.assertEqual(value, other[key], (name, key))

    def test_skew_names_the_rank_and_what_it_holds(self):
        rows = sections(tidemark("skew", self.merged, "-f", "csv").stdout)
        peaks = {row["rank"]: int(row["peak"]) for row in rows["ranks"]}
        self.assertEqual(max(peaks, key=peaks.get), "5")
        self.assertEqual(min(peaks, key=peaks.get), "2")
        self.assertEqual(rows["groups"][0]["category"], "activation")
        # Three more activations, of 80, 84 and 88 KiB.
        self.assertEqual(int(rows["groups"][0]["change"]), 3 * 65536 + 4096 * (4 + 5 + 6))
        # The lowest has half of everything.
        lowest = rows["lowest_groups"]
        self.assertEqual(sum(int(row["change"]) for row in lowest), peaks["2"] - sorted(peaks.values())[3])
        self.assertEqual({row["category"] for row in lowest}, {"parameter", "activation", "workspace"})
        self.assertTrue(all(2 * int(row["b"]) == int(row["a"]) for row in lowest), lowest)
        page = subprocess.run(["script", "-qec", TIDEMARK + " skew " + self.merged, "/dev/null"], timeout=600,
                              capture_output=True, text=True, check=True,
                              env=dict(os.environ, COLUMNS="80", NO_COLOR="1")).stdout.replace("\r", "")
        self.assertTrue(page.startswith("rank 5 (node6) has the highest peak"), page)
        self.assertLessEqual(len(page.splitlines()), 24)
        self.assertLessEqual(max(map(len, page.splitlines())), 80)

    def test_a_lowest_rank_that_does_not_stand_out(self):
        even = self.path("even.db")
        shutil.copyfile(self.merged, even)
        db = sqlite3.connect(even)
        db.execute("DELETE FROM process WHERE rank = 2")
        db.commit()
        db.close()
        rows = sections(tidemark("skew", even, "-f", "csv").stdout)
        self.assertEqual((rows["lowest_groups"], rows["lowest_modules"]), ([], []))
        self.assertTrue(rows["groups"])

    def test_skew_of_one_phase(self):
        """Before backward's own block there are the activations only."""
        rows = sections(tidemark("skew", self.merged, "--phase", "forward", "-f", "csv").stdout)
        self.assertEqual({row["phase"] for row in rows["phases"]}, {"forward"})
        self.assertEqual([int(row["step"]) for row in rows["phases"]], list(range(STEPS)))
        peaks = {row["rank"]: int(row["peak"]) for row in rows["ranks"]}
        whole = {row["rank"]: int(row["peak"])
                 for row in sections(tidemark("skew", self.merged, "-f", "csv").stdout)["ranks"]}
        for rank in ("0", "5"):
            self.assertEqual(whole[rank] - peaks[rank], 131072)
        self.assertTrue(all(row["moment"].endswith(", forward") for row in rows["ranks"]))
        self.assertEqual(int(rows["groups"][0]["change"]), 3 * 65536 + 4096 * (4 + 5 + 6))
        early = sections(tidemark("skew", self.merged, "--phase", "forward", "-s", "0..2", "-f", "csv").stdout)
        self.assertEqual([int(row["step"]) for row in early["phases"]], [0, 1, 2])
        page = tidemark("skew", self.merged, "--phase", "forward").stdout
        self.assertIn("and %d more: --all shows them" % (STEPS - 8), page)
        two = sections(tidemark("skew", self.whole, self.merged, "--phase", "forward", "-f", "csv").stdout)
        self.assertEqual({row["a"] for row in two["ranks"]}, {str(peak) for peak in peaks.values()})
        done = tidemark("skew", self.merged, "--phase", "nothing", status=2)
        self.assertIn("no rank has a phase nothing", done.stderr)

    def test_skew_of_two_runs(self):
        rows = sections(tidemark("skew", self.whole, self.merged, "-f", "csv").stdout)
        self.assertEqual({row["change"] for row in rows["ranks"]}, {"0"})
        less = self.path("less.db")
        shutil.copyfile(self.merged, less)
        db = sqlite3.connect(less)
        db.execute("INSERT INTO meta VALUES ('commit', 'c0ffee')")
        db.execute("UPDATE phase_device SET peak_allocated = peak_allocated - 1000, max_allocated ="
                   " max_allocated - 1000 WHERE phase IN (SELECT id FROM phase WHERE process = 4)")
        db.commit()
        db.close()
        rows = sections(tidemark("skew", less, self.merged, "-f", "csv").stdout)["ranks"]
        self.assertEqual([(row["rank"], row["change"]) for row in rows[:2]], [("3", "1000"), ("0", "0")])
        for report in ("skew", "diff"):
            self.assertIn("A is of commit c0ffee, B of an unknown commit", tidemark(report, less, self.merged).stdout)
            self.assertIn("A and B are of commit c0ffee", tidemark(report, less, less).stdout)

    def test_the_commit_that_all_nodes_agree_on(self):
        for commits, told in ((("a1", "a1"), "a1"), (("a1", "b2"), None)):
            paths = [self.changed("commit%d.db" % part, "INSERT INTO meta VALUES ('commit', '%s')" % commit, part)
                     for part, commit in enumerate(commits)]
            target = self.path("agreed.db")
            tidemark("merge", "-o", target, *paths)
            db = sqlite3.connect(target)
            self.assertEqual(db.execute("SELECT (SELECT value FROM meta WHERE key = 'commit')").fetchone(), (told,))
            db.close()
            os.remove(target)

    def test_every_report_reads_it(self):
        for report in ("info", "peak", "phases", "timeline", "why", "frag", "leaks", "ladder", "modules",
                       "skew"):
            self.assertTrue(tidemark(report, self.merged).stdout, report)
        page = self.path("page.html")
        tidemark("html", self.merged, "-o", page)
        self.assertGreater(os.path.getsize(page), 10000)
        self.assertIn("node3", tidemark("info", self.merged).stdout)

    def test_its_derived_tables_say_what_its_facts_say(self):
        tidemark("repair", "--check", self.merged)

    def test_what_was_done_is_said_and_stored(self):
        self.assertRegex(self.said, r"rank1.db: node2, by \d+ collectives that the program named, to ")
        db = sqlite3.connect(self.merged)
        nodes = db.execute("SELECT host, aligned_by, error_ns > 0, meetings FROM node").fetchall()
        self.assertEqual(nodes[0], ("node1", "first", 0, 0))
        self.assertEqual(nodes[1], ("node2", "collectives", 1, STEPS))
        hosts = db.execute("SELECT count(DISTINCT host), count(DISTINCT node) FROM process_node").fetchone()
        self.assertEqual(hosts, (RANKS, RANKS))
        meta = dict(db.execute("SELECT key, value FROM meta"))
        self.assertEqual((meta["merged"], meta["finished"]), (RANKS, 1))
        self.assertNotIn("recorder_pid", meta)
        db.close()

    def test_drift_is_found_in_a_long_run(self):
        """Two recordings of an hour, one of whose clocks is 50 ppm fast."""
        paths = []
        for number, drift in ((0, 0.0), (1, 50e-6)):
            path = self.path("long%d.db" % number)
            shutil.copyfile(self.parts[number][0], path)
            clock = split.Clock(number * 10**9, drift)
            db = sqlite3.connect(path)
            db.execute("DELETE FROM phase WHERE name = 'all_reduce'")
            db.execute("UPDATE process SET end_ns = 3700000000000")
            for step in range(600):
                jitter = (step * 7919 % 13) * 10000 * number
                at = clock.false(step * 6 * 10**9 + jitter)
                db.execute("INSERT INTO mark VALUES(?, 1, 1, ?, 'barrier', ?, NULL)",
                           (100000 + step, at, step))
            db.commit()
            db.close()
            paths.append(path)
        target = self.path("long.db")
        tidemark("merge", "-o", target, *paths)
        db = sqlite3.connect(target)
        drift, error = db.execute("SELECT drift_ppb, error_ns FROM node WHERE node = 2").fetchone()
        worst, = db.execute("SELECT max(abs(a.at_ns - b.at_ns)) FROM mark a JOIN mark b"
                            " ON b.value = a.value AND b.process = 2 WHERE a.process = 1").fetchone()
        db.close()
        self.assertAlmostEqual(drift, -50000, delta=50)
        self.assertLess(worst, error + 60000)
        self.assertLess(error, 200000)

    def test_a_few_collectives_do_not_promise_more_than_they_show(self):
        """Ranks leave a collective within 100 us of each other, and their clocks drift by 50 ppm at most: where
        are they at the begin and at the end of the run, beside what is stated?"""
        maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_ranks.py")
        for steps in (3, 4, 7, 8, 20):
            folder = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, folder)
            subprocess.run([sys.executable, maker, MAKE_FIXTURE, folder, "24", "600", str(steps)], check=True)
            target = self.path("few%d.db" % steps)
            tidemark("merge", "-o", target, *sorted(glob.glob(os.path.join(folder, "*.db"))))
            db = sqlite3.connect(target)
            told = db.execute("SELECT p.rank, p.start_ns, p.end_ns, n.error_ns FROM process p"
                              " JOIN process_node pn ON pn.process = p.id JOIN node n ON n.node = pn.node"
                              " WHERE p.rank IS NOT NULL ORDER BY p.rank").fetchall()
            db.close()
            dice = random.Random(1)
            drifts = [(dice.uniform(-50e-6, 50e-6), dice.randrange(10**12, 10**15), dice.randrange(10**9))[0]
                      for _ in told]
            zero, run = told[0][1], told[0][2] - told[0][1]
            beyond = sum(abs(begin - zero) > error or
                         abs(end - zero - run * (1 + drifts[0]) / (1 + drifts[rank])) > error
                         for rank, begin, end, error in told[1:])
            self.assertLessEqual(beyond, 2, "%d of 24 clocks are farther off than is stated, by %d collectives"
                                 % (beyond, steps))

    # ---- what is not merged ----

    def test_the_same_recording_twice(self):
        first = self.parts[0][0]
        self.refused("are the same recording", first, self.parts[1][0], first)
        copy = self.path("copy.db")
        shutil.copyfile(first, copy)
        self.refused("rank0.db and .*copy.db are the same recording", first, copy)

    def test_one_that_is_merged_already(self):
        self.refused("all.db is merged already", self.parts[0][0], self.merged)

    def test_what_is_of_another_job(self):
        first = self.parts[0][0]
        other = self.changed("other.db", "UPDATE process SET world_size = 4")
        self.refused("is of 8 ranks, .*other.db of 4: not of one job", first, other)
        other = self.changed("other.db", "UPDATE process SET rank = 0")
        self.refused("rank 0 is in .*rank0.db and in .*other.db", first, other)
        other = self.changed("other.db", "UPDATE process SET argv = 'python3 other.py'")
        self.refused("other.db ran 'python3': not of one job", first, other)
        other = self.changed("other.db", "UPDATE clock SET real_ns = real_ns + 7200 * 1000000000")
        self.refused("was over 1[0-9]* minutes before .* began", first, other)
        target = self.path("mixed.db")
        other = self.changed("other.db", "UPDATE process SET rank = 0, world_size = 4, argv = 'x'")
        done = tidemark("merge", "--mixed", "-o", target, first, other)
        self.assertNotRegex(done.stderr, r"by [0-9,]+ ")  # steps of two runs are no meetings

    def with_commands(self, a, b):
        command = "UPDATE process SET argv = '%s'; UPDATE meta SET value = 'node%d.example.org' WHERE key = 'host'"
        return [self.changed("command%d.db" % part, command % (text.replace("'", "''"), part), part)
                for part, text in ((0, a), (1, b))]

    def test_commands_of_one_job_on_two_nodes(self):
        target = self.path("commands.db")
        for a, b in (("python3 /scratch/nodeA/train.py --lr 1", "python3 /scratch/nodeB/train.py --lr 1"),
                     ("/opt/a/bin/python3 -u /users/a/train.py", "/opt/b/bin/python3 -u /users/b/train.py"),
                     ("torchrun --node_rank=0 t.py", "torchrun --node_rank=1 t.py"),
                     ("torchrun --node-rank 0 t.py", "torchrun --node-rank 12 t.py"),
                     ("python3 t.py --local-rank 0 --bf16", "python3 t.py --bf16 --local_rank=7"),
                     ("python3 t.py --rank 0", "python3 t.py --rank=1"),
                     ("python3 t.py trainer.node_rank=0", "python3 t.py trainer.node_rank=1"),
                     ("env SLURM_PROCID=0 python3 t.py", "env SLURM_PROCID=8 python3 t.py"),
                     ("torchrun --rdzv-endpoint=localhost:29500 t.py", "torchrun --rdzv-endpoint=n0:29500 t.py"),
                     ("t --machine_rank 0 --main_process_ip 10.0.0.1", "t --machine_rank 1 --main_process_ip h0"),
                     ("t --tag=run-7.node0.log", "t --tag=run-7.node1.log"),
                     ("t --data '/data/node0.example.org/a b'", "t --data '/data/node1.example.org/a b'"),
                     ("t --cache=/tmp/1234/cache", "t --cache=/tmp/987/cache"),
                     ("t --long a b ...", "t --long a bc ...")):
            tidemark("merge", "-o", target, *self.with_commands(a, b))
            os.remove(target)

    def test_a_word_that_makes_another_job_is_named(self):
        for a, b, one, other in (
                ("t --lora-rank 8", "t --lora-rank 16", "'8'", "'16'"),
                ("t --lora_rank=8", "t --lora_rank=16", "'--lora_rank=8'", "'--lora_rank=16'"),
                ("t --rank 4", "t --rank 8", "'4'", "'8'"),  # of LoRA: they are ranks 0 and 1
                ("t --node-rank 0 --lr 1", "t --node-rank 1 --lr 2", "'1'", "'2'"),
                ("t --node_rank=x", "t --node_rank=y", "'--node_rank=x'", "'--node_rank=y'"),
                ("python3 a/t.py", "python3 b/t.py", "'a/t.py'", "'b/t.py'"),
                ("python3 /x/t.py", "python3 /x/u.py", "'/x/t.py'", "'/x/u.py'"),
                ("t --config /users/a/c.yaml", "t --config /users/b/c.yaml", "'/users/a/c.yaml'", "'/users/b/c.yaml'"),
                ("t 'a b'", "t 'a  b'", "'a b'", "'a  b'"),
                ("t --ranking", "t", "'--ranking'", "nothing more"),
                ("t a c d ...", "t b c d ...", "'a'", "'b'")):
            paths = self.with_commands(a, b)
            self.refused("%s ran %s where %s ran %s: not of one job"
                         % tuple(map(re.escape, (paths[0], one, paths[1], other))), *paths)

    def ways(self, *paths):
        target = self.path("ways.db")
        tidemark("merge", "--mixed", "-o", target, *paths)
        db = sqlite3.connect(target)
        found = db.execute("SELECT aligned_by, error_ns IS NULL, meetings > 0 FROM node ORDER BY node").fetchall()
        db.close()
        os.remove(target)
        return found

    def test_mixed_takes_collectives_where_they_match(self):
        """Another program: by collectives all the same. Another world size, rank or time: of another job."""
        first, collectives = self.parts[0][0], [("first", 0, 0), ("collectives", 0, 1)]
        alone = [("first", 0, 0), ("calendar", 1, 0)]
        self.assertEqual(self.ways(first, self.changed("m.db", "UPDATE process SET argv = 'x'")), collectives)
        for change in ("UPDATE process SET world_size = 4", "UPDATE process SET rank = 0",
                       "UPDATE clock SET real_ns = real_ns + 300 * 1000000000"):
            self.assertEqual(self.ways(first, self.changed("m.db", change)), alone, change)

    def test_mixed_aligns_each_of_two_jobs(self):
        """The nodes of the second job meet each other; how far they are from the first job is not known."""
        later = "UPDATE clock SET real_ns = real_ns + 7200000000000"
        others = [self.changed("later%d.db" % part, later, part) for part in (0, 1)]
        self.assertEqual(self.ways(self.parts[0][0], others[0], self.parts[1][0], others[1]),
                         [("first", 0, 0), ("calendar", 1, 0), ("collectives", 0, 1), ("collectives", 1, 1)])

    def test_the_output_is_there_already(self):
        done = tidemark("merge", "-o", self.whole, self.parts[0][0], self.parts[1][0], status=3)
        self.assertIn("exists already", done.stderr)
        self.assertTrue(os.path.getsize(self.whole))

    def test_without_collectives_by_the_calendar(self):
        no_meeting = "UPDATE phase SET name = 'work' WHERE name = 'all_reduce'"
        paths = [self.changed("calendar%d.db" % part, no_meeting, part) for part in (0, 1)]
        target = self.path("calendar.db")
        done = tidemark("merge", "-o", target, *paths)
        self.assertIn("by the calendar: how far the nodes' calendars are apart is not known", done.stderr)
        db = sqlite3.connect(target)
        self.assertEqual(db.execute("SELECT aligned_by, error_ns FROM node WHERE node = 2").fetchone(),
                         ("calendar", None))
        db.close()

    def test_two_recorders_on_one_machine_have_one_clock(self):
        whole = sqlite3.connect(self.whole)
        host, = whole.execute("SELECT host FROM process LIMIT 1").fetchone()
        clock = whole.execute("SELECT run_ns, monotonic_ns, real_ns FROM clock").fetchone()
        whole.close()
        paths = []
        for part in (0, 1):
            paths.append(self.changed(
                "one%d.db" % part,
                "UPDATE phase SET name = 'work' WHERE name = 'all_reduce';"
                "UPDATE meta SET value = '%s' WHERE key = 'host';"
                "UPDATE clock SET run_ns = %d, monotonic_ns = %d, real_ns = %d"
                % (host, clock[0] + part * 5000, clock[1], clock[2]), part))
        target = self.path("one.db")
        tidemark("merge", "-o", target, *paths)
        db = sqlite3.connect(target)
        self.assertEqual(db.execute("SELECT aligned_by, error_ns FROM node WHERE node = 2").fetchone(),
                         ("same clock", 0))
        low, high = (row[0] for row in db.execute("SELECT offset_ns FROM node ORDER BY offset_ns"))
        self.assertEqual(high - low, 5000)
        db.close()

    def test_a_recorder_that_was_killed(self):
        cut = self.changed("cut.db", "UPDATE meta SET value = 0 WHERE key = 'finished';"
                           "DELETE FROM meta WHERE key IN ('ended', 'run_ns');"
                           "UPDATE process SET end_ns = NULL, last_seq = NULL, events = NULL")
        target = self.path("unfinished.db")
        done = tidemark("merge", "-o", target, self.parts[0][0], cut)
        self.assertRegex(done.stderr, "cut.db: node2, .*; not finished")
        self.assertIn("not finished", tidemark("peak", target).stdout)

    def test_older_recordings(self):
        old = self.path("old.db")
        subprocess.run([sys.executable, "-B", MAKE_OLDER, old, os.path.join(DATA, "train.sql")], check=True)
        new = self.path("new.db")
        subprocess.run([MAKE_FIXTURE, new, os.path.join(DATA, "torch.sql")], check=True)
        target = self.path("versions.db")
        done = tidemark("merge", "--mixed", "-o", target, old, new)
        self.assertIn("old.db is of schema version 3: what it lacks is not known", done.stderr)
        for report in ("phases", "peak"):
            tidemark(report, target)

    def test_damaged_and_foreign_files(self):
        damaged = self.path("damaged.db")
        with open(self.parts[1][0], "rb") as file:
            content = bytearray(file.read())
        for at in range(8192, len(content), 4096):
            content[at:at + 64] = bytes(64)
        with open(damaged, "wb") as file:
            file.write(content)
        self.refused("damaged.db.* is damaged", self.parts[0][0], damaged)
        self.refused("next: tidemark repair .*damaged.db saves", self.parts[0][0], damaged)
        self.refused("rank.py|test_merge.py is not a Tidemark recording", self.parts[0][0], __file__)
        self.refused("nothing.db: No such file", self.parts[0][0], os.path.join(self.folder, "nothing.db"))
        heap = self.changed("heap.db", "UPDATE allocation SET heap = 99")
        self.refused("heap.db is damaged: a row names heap 99, which is not there", self.parts[0][0], heap)
        text = self.changed("text.db", "UPDATE allocation SET alloc_ns = 'soon'")
        self.refused("text.db is damaged: a value is of a kind", self.parts[0][0], text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""The verdict on a soak: samples that must pass, and for each of its bounds some that must not."""
import os
import sqlite3
import tempfile
import unittest

import judge

MIB = 1 << 20
LIMIT = 300 * 1000000


class Silent(judge.Verdict):
    def say(self, text):
        self.lines.append(text)


def good_samples():
    """Ten minutes, a sample each ten seconds, in which nothing grows."""
    return [{"at": str(at), "fds": "20", "threads": "3", "anonymous": str(30 * MIB + at % 7 * 4096),
             "guest_anonymous": str(2 * MIB + at % 3 * 4096), "guest_shared": str(2 * MIB),
             "twin_anonymous": "100000", "database": str(150 * MIB + at * 1000), "log": str(8 * MIB),
             "events": str(at * 9600), "images": str(at * 3), "recorder_ticks": str(at * 5),
             "lost": "0"} for at in range(0, 600, 10)]


def failures(samples, brief=False, limit=LIMIT):
    verdict = Silent()
    judge.judge_samples(verdict, samples, brief, limit)
    return [line for line in verdict.lines if line.startswith("FAILED")]


class Samples(unittest.TestCase):
    def fails(self, word, changes, brief=False):
        """One line with that word, and no other, where `changes` gives the values of each sample."""
        samples = good_samples()
        for number, sample in enumerate(samples):
            sample.update({name: str(change(number)) for name, change in changes.items()})
        found = failures(samples, brief)
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def test_what_is_flat_passes(self):
        self.assertEqual(failures(good_samples()), [])
        self.assertEqual(failures(good_samples(), brief=True), [])
        self.assertEqual(failures(good_samples(), limit=None), [])

    def test_the_limit_holds_in_every_sample(self):
        log = LIMIT - 250 * MIB
        self.fails("in 1 of 60 samples", {"database": lambda n: 250 * MIB,
                                          "log": lambda n: log + (n == 31)})
        self.fails("in 1 of 60 samples", {"database": lambda n: LIMIT + 1 if n == 0 else MIB,
                                          "log": lambda n: 0}, brief=True)

    def test_the_limit_itself_is_allowed(self):
        samples = good_samples()
        samples[5].update(database=str(LIMIT - 4096), log="4096")
        self.assertEqual(failures(samples), [])
        self.assertEqual(len(failures(samples, limit=LIMIT - 1)), 1)

    def test_descriptors_and_threads(self):
        self.fails("descriptors", {"fds": lambda n: 20 + n // 10})
        self.fails("threads", {"threads": lambda n: 3 + n // 10})

    def test_memory(self):
        self.fails("anonymous memory of the recorder: at most",
                   {"anonymous": lambda n: 70 * MIB if n == 30 else 30 * MIB}, brief=True)
        self.fails("anonymous memory of the recorder is flat",
                   {"anonymous": lambda n: 30 * MIB + n * 32768})
        self.fails("of the program that stays", {"guest_anonymous": lambda n: 9 * MIB})
        self.fails("that of the program that stays is flat",
                   {"guest_anonymous": lambda n: 2 * MIB + n * 16384})


class Rest(unittest.TestCase):
    def test_a_lost_event_is_not_a_pass(self):
        for lost, failed in ((0, 0), (1, 1), (1800000, 1)):
            verdict = Silent()
            judge.judge_losses(verdict, lost)
            self.assertEqual(verdict.failures, failed)
            self.assertEqual("lost %d: not a pass" % lost in verdict.lines[0], bool(lost))

    def test_sizes(self):
        for text, want in (("300MB", LIMIT), ("16MiB", 16 * MIB), ("1GB", 10 ** 9),
                           ("2GiB", 2 << 30), ("4096", 4096), ("64kB", 64000), ("512M", 512 * MIB), ("1.5g", 3 << 29),
                           ("12 b", 12), ("1.5KiB", 1536)):
            self.assertEqual(judge.size_in_bytes(text), want)
        for text in ("", "MB", "3 apples", "-1MB", "12iB"):
            self.assertRaises(ValueError, judge.size_in_bytes, text)

    def sides(self, *rows):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sides.tsv")
            with open(path, "w") as file:
                file.write("lived_s\tshort_s\tcounted\tstored\tfinished\tintegrity\tprogram\n")
                file.writelines("\t".join(row) + "\n" for row in rows)
            verdict = Silent()
            judge.judge_sides(verdict, path)
            return verdict.failures

    def test_a_child_without_a_slot(self):
        base = sqlite3.connect(":memory:")
        base.executescript("""
            CREATE TABLE process(id, events); CREATE TABLE heap(id, process, pool, name);
            CREATE TABLE lost(process, n); CREATE TABLE torn(process);
            CREATE TABLE allocation(heap, size); CREATE TABLE site_sum(heap, blocks, bytes);
            INSERT INTO process VALUES(8, 965), (11, 0), (12, 40);
            INSERT INTO heap VALUES(1, 8, 7, 'soak'), (2, 11, 7, 'soak'), (3, 12, 7, 'soak'),
                (4, 12, 9, 'soak');""")
        processes, _ = judge.stored_by_slot(base)
        self.assertEqual(processes, {6: (8, 965, 0, 0), 8: (12, 40, 0, 0)})
        base.close()

    def test_killed_recorders(self):
        good = ("3.0", "0.5", "100", "90", "0", "ok", "2")
        self.assertEqual(self.sides(good, good), 0)
        self.assertEqual(self.sides(good, ("3.0", "1.5", "100", "40", "0", "ok", "2")), 1)
        self.assertEqual(self.sides(good, ("3.0", "0.5", "100", "90", "0", "broken", "2")), 1)
        self.assertEqual(self.sides(good, ("3.0", "0.5", "100", "90", "0", "ok", "1")), 1)
        self.assertEqual(self.sides(), 2)


if __name__ == "__main__":
    unittest.main()

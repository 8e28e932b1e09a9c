"""What is asked of a recording of version 3 beside reports: SQL, --follow, repair, diff with one of today."""
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TIDEMARK, MAKE_FIXTURE, DATA = sys.argv[1:4]
MAKE_VERSION_3 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_version_3.py")


class Version3(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.old, self.new, self.repaired = (os.path.join(folder.name, name)
                                             for name in ("old.db", "new.db", "repaired.db"))
        rows = os.path.join(DATA, "train.sql")
        subprocess.run([sys.executable, MAKE_VERSION_3, self.old, rows], check=True)
        subprocess.run([MAKE_FIXTURE, self.new, rows], check=True)

    def tidemark(self, *arguments, status=0):
        done = subprocess.run([TIDEMARK, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def version(self, path):
        db = sqlite3.connect(path)
        number, = db.execute("PRAGMA user_version").fetchone()
        db.close()
        return number

    def test_they_are_what_they_are_called(self):
        self.assertEqual((self.version(self.old), self.version(self.new)), (3, 5))

    def test_sql_asks_the_file_as_it_is(self):
        ask = "SELECT phase, allocated, peak_ns FROM phase_table"
        self.assertEqual(self.tidemark("sql", self.old, ask), self.tidemark("sql", self.new, ask))
        self.assertNotIn("settled", self.tidemark("sql", self.old, "SELECT * FROM phase"))
        self.assertIn("settled", self.tidemark("sql", self.new, "SELECT * FROM phase"))

    def test_what_is_followed_is_told_at_its_end(self):
        told = self.tidemark("phases", self.old, "--follow", "-f", "csv")
        self.assertEqual(told, self.tidemark("phases", self.new, "-f", "csv"))

    def test_repair_makes_one_of_today(self):
        self.tidemark("repair", self.old, "-o", self.repaired)
        self.assertEqual(self.version(self.repaired), 5)
        for report in ("phases", "peak", "ladder"):
            self.assertEqual(self.tidemark(report, self.repaired, "-f", "csv"),
                             self.tidemark(report, self.new, "-f", "csv"))

    def test_a_damaged_one_keeps_its_phases(self):
        with open(self.old, "r+b") as file:
            db = sqlite3.connect(self.old)
            page, = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'allocation'").fetchone()
            db.close()
            file.seek((page - 1) * 4096)
            file.write(bytes(4096))
        self.tidemark("repair", self.old, "-o", self.repaired, status=1)
        rows, remark = self.tidemark("phases", self.repaired, "-f", "csv").split("# approximate")
        self.assertEqual(rows, self.tidemark("phases", self.new, "-f", "csv"))
        self.assertIn("blocks are missing", remark)

    def test_diff_with_one_of_today(self):
        self.assertEqual(self.tidemark("diff", self.old, self.new, "-f", "csv"),
                         self.tidemark("diff", self.new, self.new, "-f", "csv"))


unittest.main(argv=sys.argv[:1])

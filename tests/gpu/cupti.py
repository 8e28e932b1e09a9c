"""Whether CUPTI told what it should in a recording of PyTorch on a GPU.

    cupti.py DATABASE [kernels]

It was live in each process that has such blocks; each block lies in memory of the driver, which cudaMalloc gave to a library that has a
name; nothing was told twice, and PyTorch's total of reserved is what the driver's memory says; the
device was asked. With `kernels`: there are some, and they ran while the program did.

Exit status: 0 all of it is so, 1 not, 77 the recording has no block on a GPU.
"""
import sqlite3
import sys

ON_GPU = ("allocation a JOIN heap h ON h.id = a.heap JOIN device d ON d.id = h.device"
          " AND d.kind = 'cuda'")

NONE = (
    ("blocks that are in no memory of the driver", "SELECT count(*) FROM " + ON_GPU +
     " WHERE a.segment IS NULL"),
    ("segments that the driver did not tell", "SELECT count(*) FROM segment s JOIN heap h ON h.id ="
     " s.heap JOIN device d ON d.id = h.device AND d.kind = 'cuda' WHERE NOT EXISTS (SELECT 1 FROM"
     " driver_memory m WHERE m.seq = s.seq AND m.size = s.size)"),
    ("segments without a caller's name", "SELECT count(*) FROM driver_memory WHERE heap NOT NULL"
     " AND library IS NULL"),
    ("segments that came by another call than cudaMalloc", "SELECT count(*) FROM driver_memory m"
     " LEFT JOIN string s ON s.id = m.call WHERE m.heap NOT NULL AND s.text IS NOT 'cudaMalloc'"),
    ("contradictions", "SELECT count(*) FROM anomaly WHERE kind IN ('reserved differs',"
     " 'driver memory taken twice')"),
)
SOME = (("samples of the device", "SELECT count(*) FROM sample WHERE what = 'device used'"),)
KERNELS_NONE = (
    ("kernels from before the program or behind it", "SELECT count(*) FROM activity a JOIN process p"
     " ON p.id = a.process WHERE a.begin_ns < p.start_ns OR a.end_ns > p.end_ns"),
)
KERNELS_SOME = (("kernels", "SELECT count(*) FROM activity WHERE kind = 1 AND end_ns > begin_ns"),)


def main():
    db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    kernels = sys.argv[2:] == ["kernels"]

    def one(sql):
        return db.execute(sql).fetchone()[0]

    if not one("SELECT count(*) FROM " + ON_GPU):
        print("skipped: the recording has no block on a GPU")
        return 77
    wrong = []
    for pid, live, why_not in db.execute(
            "SELECT pid, live, why_not FROM process WHERE id IN (SELECT h.process FROM " + ON_GPU +
            ") ORDER BY id"):
        if "driver callbacks" + ", kernels and copies" * kernels not in (live or ""):
            wrong.append("CUPTI in process %d: %s" % (
                pid, why_not or "no word of it; live: %s" % live))
    for what, sql in NONE + KERNELS_NONE * kernels:
        count = one(sql)
        if count:
            wrong.append("%d %s" % (count, what))
    for what, sql in SOME + KERNELS_SOME * kernels:
        if not one(sql):
            wrong.append("no " + what)
    for line in wrong:
        print(line)
    outside = db.execute("SELECT coalesce(library, '?'), sum(size) FROM driver_allocations WHERE outside"
                         " AND device <> 'host' GROUP BY 1 ORDER BY 2 DESC").fetchall()
    print("figures: %d pieces of the driver's, %d samples, %d activities; outside: %s" % (
        one("SELECT count(*) FROM driver_memory"), one("SELECT count(*) FROM sample"),
        one("SELECT count(*) FROM activity"),
        ", ".join("%s %.1f MiB" % (name, size / 2 ** 20) for name, size in outside) or "nothing"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

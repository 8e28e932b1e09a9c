"""compare.py on a recording made by hand: it finds each byte that differs, and does not call equal
what it could not compare."""
import json
import os
import sqlite3
import sys
import tempfile

import compare

SCHEMA = os.environ["TIDEMARK_SCHEMA"]
ALIVE = -2147483648
FIGURES = 6


def expect(got, wanted, what=""):
    if got != wanted:
        raise AssertionError("%s\n  got    %r\n  wanted %r" % (what, got, wanted))


def recording(folder):
    """Process 1 forked, process 2 has 1000 + 500 bytes at most in a segment of 2 MiB and pages of
    2 MiB, of which a first segment was given back for the second."""
    path = os.path.join(folder, "run.db")
    db = sqlite3.connect(path)
    for name in sorted(os.listdir(SCHEMA)):
        if name.endswith(".sql"):
            with open(os.path.join(SCHEMA, name)) as text:
                db.executescript(text.read())
    db.executescript("""
        INSERT INTO process(id, pid, origin, start_ns) VALUES(1, 10, 'root', 0), (2, 11, 'fork', 0);
        INSERT INTO device(id, kind, ordinal) VALUES(1, 'cpu', 0), (2, 'cuda', 1);
        INSERT INTO heap(id, process, device, stream, pool)
            VALUES(1, 2, 1, 0, 0), (2, 2, 2, 0, 0), (3, 2, 2, 7, 0);
        INSERT INTO segment(seq, heap, address, size, alloc_ns, life_ns, free_seq)
            VALUES(1, 2, 4096, 1048576, 0, 1, 3), (3, 2, 4096, 2097152, 0, NULL, NULL);
        INSERT INTO mapping(seq, heap, address, size, at_ns, mapped)
            VALUES(4, 3, 8192, 2097152, 0, 1), (9, 3, 8192, 2097152, 0, 0);
        INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq, begin_ns,
            scope) VALUES(1, 2, 0, 'forward', 'forward', 0, 1, 20, 0, 'process');
        INSERT INTO phase_device(phase, device, begin_allocated, allocated, reserved, max_allocated,
            max_reserved, peak_allocated, peak_seq, peak_ns, peak_reserved, allocs, frees,
            alloc_bytes)
            VALUES(1, 2, 0, 1300, 4194304, 1500, 4194304, 1500, 4, 0, 4194304, 3, 1, 1800);""")
    for seq, heap, size, freed in ((1, 2, 1000, ALIVE), (2, 1, 64, ALIVE), (4, 3, 500, 6),
                                   (8, 2, 300, ALIVE)):
        db.execute("INSERT INTO allocation(seq, heap, address, size, alloc_ns, life_ns, free_seq) "
                   "VALUES(?, ?, ?, ?, 0, 0, ?)", (seq, heap, seq << 12, size, freed))
    return path, db


def counted(folder, **changes):
    stats = {"allocated_bytes.all.peak": 1500, "reserved_bytes.all.peak": 4194304,
             "allocation.all.allocated": 3}
    pid = changes.pop("pid", 11)
    device = changes.pop("device", 1)
    stats.update({key.replace("__", "."): value for key, value in changes.items()})
    with open(os.path.join(folder, "%d.json" % pid), "w") as file:
        json.dump({"pid": pid, "host_peak": 1, "devices": {device: stats}}, file)


def compared(sql=None, **changes):
    with tempfile.TemporaryDirectory() as folder:
        path, db = recording(folder)
        if sql:
            expect(db.execute(sql).rowcount > 0, True, sql)
        db.commit()
        db.close()
        if "nothing" not in changes:
            counted(folder, **changes)
        total, lines = compare.compare(path, folder)
        expect(compare.main([path, folder]), 1 if lines or not total else 0)
        return total, lines


def equal_is_equal():
    expect(compared(), (FIGURES, []))


def each_byte_of_the_counters():
    for changes, differ in (({"allocated_bytes__all__peak": 1501}, 3),
                            ({"allocated_bytes__all__peak": 1499}, 3),
                            ({"reserved_bytes__all__peak": 4194305}, 2),
                            ({"allocation__all__allocated": 4}, 1)):
        total, lines = compared(**changes)
        expect((total, len(lines)), (FIGURES, differ), (changes, lines))


def each_byte_of_the_recording():
    for sql, differ in (
            ("UPDATE allocation SET size = 501 WHERE seq = 4", 1),
            ("UPDATE allocation SET free_seq = 9 WHERE seq = 4", 1),
            ("DELETE FROM allocation WHERE seq = 8", 1),
            ("UPDATE phase_device SET max_allocated = 1499", 1),
            ("UPDATE phase_device SET peak_allocated = 1499", 1),
            ("UPDATE phase_device SET max_reserved = NULL", 1),
            ("UPDATE segment SET size = 2097153 WHERE seq = 3", 1),
            ("UPDATE segment SET free_seq = 5 WHERE seq = 1", 1),
            ("DELETE FROM mapping WHERE mapped = 1", 1),
            ("INSERT INTO lost VALUES(1, 2, 3, 0, 0, 'block_alloc', 5)", 1)):
        total, lines = compared(sql)
        expect((total, len(lines)), (FIGURES, differ), (sql, lines))


def what_is_not_there_is_said():
    expect(compared(pid=12), (0, ["pid 12 has no blocks on cuda:1 in the recording"]))
    expect(compared(device=0), (0, ["pid 11 has no blocks on cuda:0 in the recording"]))
    expect(compared(nothing=True), (0, []))


def segments_that_are_not_known_are_not_compared():
    with tempfile.TemporaryDirectory() as folder:
        path, db = recording(folder)
        db.execute("DELETE FROM segment")
        db.execute("DELETE FROM mapping")
        db.commit()
        db.close()
        counted(folder)
        expect(compare.compare(path, folder), (FIGURES - 1, []))


def main():
    failed = 0
    for test in (equal_is_equal, each_byte_of_the_counters, each_byte_of_the_recording,
                 what_is_not_there_is_said, segments_that_are_not_known_are_not_compared):
        try:
            test()
            print("ok  ", test.__name__)
        except Exception as error:
            failed += 1
            print("FAIL", test.__name__, repr(error), error)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The comparison with PyTorch's counters, on databases made by hand: it finds each byte that
differs, and does not call equal what it could not compare."""
import os
import sqlite3
import sys
import tempfile

import counters
from recording import expect, run

SCHEMA = os.environ["TIDEMARK_SCHEMA"]
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.TemporaryDirectory(prefix="tidemark-counters-")
ALIVE = -2147483648


def database(*changes):
    """One step of a program: 1000 bytes of parameters, 500 in forward, of which 200 go when it has
    ended, 300 in loss before the counters and 12 behind them; a block on the CPU in between."""
    path = os.path.join(tempfile.mkdtemp(dir=FOLDER.name), "run.db")
    db = sqlite3.connect(path)
    with open(SCHEMA) as schema:
        db.executescript(schema.read())
    db.executescript("""
        INSERT INTO process(id, pid, origin, start_ns) VALUES(1, 10, 'root', 0);
        INSERT INTO device(id, kind, ordinal) VALUES(1, 'cpu', 0), (2, 'cuda', 0);
        INSERT INTO heap(id, process, device, stream, pool)
            VALUES(1, 1, 1, 0, 0), (2, 1, 2, 0, 0), (3, 1, 2, 7, 0);""")
    for seq, heap, size, freed in ((1, 2, 1000, ALIVE), (10, 1, 64, ALIVE), (11, 2, 300, ALIVE),
                                   (12, 3, 200, 15), (21, 2, 300, ALIVE), (27, 2, 12, 40)):
        db.execute("INSERT INTO allocation(seq, heap, address, size, alloc_ns, life_ns, free_seq) "
                   "VALUES(?, ?, ?, ?, 0, 0, ?)", (seq, heap, seq << 12, size, freed))
    for number, (name, begin, end, allocated, highest) in enumerate((
            ("forward", 8, 14, 1500, 1500), ("loss", 15, 30, 1612, 1612))):
        db.execute("INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq, "
                   "begin_ns, scope) VALUES(?, 1, 0, ?, ?, 0, ?, ?, 0, 'process')",
                   (number, name, name, begin, end))
        db.execute("INSERT INTO phase_device(phase, device, begin_allocated, allocated, reserved, "
                   "max_allocated, peak_allocated, allocs, frees, alloc_bytes) "
                   "VALUES(?, 2, 0, ?, 4096, ?, 0, 0, 0, 0)", (number, allocated, highest))
    for seq, name, value in ((2, "beginning", -1), (3, "cuda allocated", 1000),
                             (4, "cuda max allocated", 1000), (5, "cuda reserved", 4096),
                             (16, "forward", 0), (17, "cuda allocated", 1300),
                             (18, "cuda max allocated", 1500), (19, "cuda reserved", 4096),
                             (22, "loss", 0), (23, "cuda allocated", 1600),
                             (24, "cuda max allocated", 1600), (25, "cuda reserved", 4096)):
        db.execute("INSERT INTO mark(seq, process, thread, at_ns, name, value) "
                   "VALUES(?, 1, 10, 0, ?, ?)", (seq, name, value))
    for change in changes:
        expect(db.execute(change).rowcount > 0, True, change)
    db.commit()
    db.close()
    return path


def equal_counters_are_equal():
    expect(counters.compare(database()), (9, []), "three times two, and the row of forward")
    expect(counters.main([database(), database()]), 0)


def each_difference_is_found():
    for change, count in (
            ("UPDATE mark SET value = value + 1 WHERE seq = 3", 1),
            ("UPDATE mark SET value = value - 1 WHERE seq = 18", 2),
            ("UPDATE mark SET value = value + 1 WHERE seq = 19", 1),
            ("UPDATE allocation SET size = size + 1 WHERE seq = 21", 2),
            ("UPDATE allocation SET free_seq = 13 WHERE seq = 12", 1),
            ("UPDATE phase_device SET allocated = 1499 WHERE phase = 0", 1),
            ("UPDATE phase_device SET reserved = NULL WHERE phase = 0", 1),
            ("INSERT INTO lost VALUES(1, 2, 3, 0, 0, 'block_alloc', 5)", 1)):
        compared, lines = counters.compare(database(change))
        expect(compared, 9, change)
        expect(len(lines), count, (change, lines))
        expect(counters.main([database(change)]), 1)


def the_last_event_of_a_phase_counts():
    """What is born behind the counters with the phase's last event, as a backward's first gradient
    is, makes its row tell nothing; what dies with it is put back."""
    expect(counters.compare(database("UPDATE allocation SET seq = 30 WHERE seq = 27")), (9, []))
    expect(counters.compare(database(
        "DELETE FROM allocation WHERE seq = 27",
        "UPDATE allocation SET free_seq = 30 WHERE seq = 21",
        "UPDATE phase_device SET allocated = 1300, max_allocated = 1600 WHERE phase = 1")), (12, []))


def nothing_to_compare_is_no_success():
    expect(counters.main([]), 1)
    expect(counters.main([database("DELETE FROM mark")]), 1)
    expect(counters.main([database("DELETE FROM mark WHERE name LIKE 'cuda%'")]), 1)


def the_script_says_that_there_is_no_gpu():
    script = os.path.join(os.path.dirname(os.path.dirname(HERE)), "scripts", "gpu-check.sh")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        done = run(["sh", script, os.path.join(folder, "out")])
        expect(done.returncode, 77, done.stdout + done.stderr)
        expect("no GPU" in done.stdout or "cannot import torch" in done.stdout, True, done.stdout)
        expect(run(["sh", script]).returncode, 2)


def main():
    failed = 0
    for test in (equal_counters_are_equal, each_difference_is_found,
                 the_last_event_of_a_phase_counts, nothing_to_compare_is_no_success,
                 the_script_says_that_there_is_no_gpu):
        try:
            test()
            print("ok  ", test.__name__)
        except Exception as error:
            failed += 1
            print("FAIL", test.__name__, error)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

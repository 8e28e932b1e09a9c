"""What the helper reads of the history of torch's CUDA allocator, and what becomes of it. The
allocator is one of our own: no GPU was asked (see programs/fake_cuda.py)."""
import os
import sqlite3
import subprocess

import support

RESTART, ALLOC, FREE, IDLE, SEGMENT_ALLOC, SEGMENT_FREE, MAP, UNMAP = range(1, 9)
SETTING = 32
MIB = 1 << 20
KEPT, OFF = ("all", None, "python"), (None, "all", "all")  # calls of ours
CASES = ("usual", "late", "overflow", "own", "fails")
runs = {}


def alone(wanted="1", **env):
    run = support.record("history.py", "usual", env=dict(env, TIDEMARK_HISTORY=wanted))
    support.expect((run.status, run.err), (0, ""))
    return run


def recorded(case):
    """Of all cases in one run, with the setting that the usual one has."""
    if not runs:
        run = support.record("history.py", *CASES, env={
            "TIDEMARK_HISTORY": "1", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
        support.expect((run.status, run.err), (0, ""))
        outs = run.out.splitlines(True)
        support.expect(len(outs), len(CASES), run.out)
        for name, out in zip(CASES, outs):
            (begin,) = [e for e in run.of("mark") if e["name"] == "case " + name]
            runs[name] = support.Run(0, out, "", [e for e in run.events if e["p"] == begin["p"]])
    return runs[case]


def usual():
    return recorded("usual")


def entries(run, device=0):
    return [event for event in run.of("history") if event["index"] == device]


def told(run, device=0):
    """[(action, bytes)] of the history's entries."""
    return [(event["b"], event["size"]) for event in entries(run, device)]


def settings(run):
    every = [e["name"] for e in run.of("mark") if e["flags"] & SETTING]
    others = ("torch=", "parameter_dtype=", "graph_dtype=", "attention=", "loss_", "autocast=")
    return [name for name in every if not name.startswith(others)]


def why_not(run):
    return {note for note in run.notes(1) if note.startswith("history")}


def a_step_sends_what_is_new():
    run = usual()
    support.expect(told(run), [
        (SEGMENT_ALLOC, 2 * MIB), (ALLOC, 1000), (ALLOC, 3000), (FREE, 3000), (ALLOC, 700),
        (IDLE, 3000), (SEGMENT_ALLOC, 2 * MIB), (ALLOC, 2 * MIB - 100), (FREE, 2 * MIB - 100),
        (IDLE, 2 * MIB - 100), (SEGMENT_FREE, 2 * MIB), (FREE, 1000), (IDLE, 1000),
        (MAP, 4 * MIB), (ALLOC, 1), (ALLOC, 2),
    ])
    support.expect(told(run, 1), [(SEGMENT_ALLOC, 2 * MIB), (ALLOC, 5)])
    support.expect(run.out, "%r\n" % [KEPT])
    support.expect("history" in run.notes(), True)
    support.expect(why_not(run), set())


def entries_have_the_time_of_the_hook():
    """Microseconds of another clock, which began at another time; and the entries come when the step
    is over."""
    run = usual()
    blocks = [e for e in run.of("block_alloc", "block_free") if e["device"] == "cuda"]
    mine = [e for e in entries(run) if e["b"] in (ALLOC, FREE)]
    support.expect(len(mine), 9)
    for entry, block in zip(mine, [e for e in blocks if e["index"] == 0]):
        support.expect(entry["addr"], block["addr"])
        support.expect(abs(entry["a"] - block["time"]) < 600 * 10**9, True, (entry, block))
    exits = [e["time"] for e in run.of("exit") if e["size"] == 4]
    failed = [e["time"] for e in run.of("mark") if e["name"] == "failed"]
    sent = [e["time"] for e in mine]
    order = [exits[0], sent[0], sent[3], exits[1], sent[4], sent[6], sent[7], failed[0], sent[8]]
    support.expect(order, sorted(order))


def settings_are_sent():
    support.expect(settings(usual()), [
        "allocator=pytorch", "alloc_conf=expandable_segments:True", "history=1",
        "alloc_conf=max_split_size_mb:64",
    ])


def without_the_option_there_are_settings_only():
    run = alone(wanted=None, PYTORCH_CUDA_ALLOC_CONF="backend:native",
                CUBLAS_WORKSPACE_CONFIG=":4096:2:16:8")
    support.expect(settings(run), ["allocator=pytorch", "cublas_workspace=8519680",
                                   "alloc_conf=backend:native"])
    support.expect(run.of("history"), [])
    support.expect(run.out, "[]\n")


def the_workspace_of_cublas_is_a_setting_where_it_is_chosen():
    """That it may be chosen is seen above."""
    support.expect([s for s in settings(usual()) if s.startswith("cublas")], [])
    for value, want in support.more((":0:0", ["cublas_workspace=0"]), ("nonsense", []), ("", [])):
        run = alone(wanted=None, CUBLAS_WORKSPACE_CONFIG=value)
        support.expect([s for s in settings(run) if s.startswith("cublas")], want, value)


def a_late_beginning_tells_what_is_there():
    run = recorded("late")
    begins = [e["time"] for e in run.of("mark") if e["name"] == "begins"][0]
    support.expect([e for e in run.of("history") if e["time"] < begins], [])
    support.expect(told(run), [(RESTART, 0), (SEGMENT_ALLOC, 2 * MIB), (MAP, 4 * MIB),
                               (ALLOC, 200)])
    support.expect([e["a"] == 0 for e in entries(run)], [True, True, True, False])
    support.expect(told(run, 1), [])


def what_was_overwritten_is_said():
    run = recorded("overflow")
    support.expect(told(run)[:6], [
        (SEGMENT_ALLOC, 2 * MIB), (ALLOC, 11), (RESTART, 0), (SEGMENT_ALLOC, 2 * MIB),
        (MAP, 4 * MIB), (FREE, 2 * MIB),
    ])
    support.expect(told(run)[6:10], [(IDLE, 2 * MIB), (SEGMENT_FREE, 2 * MIB), (ALLOC, 12),
                                     (ALLOC, 100)])
    support.expect([n for action, n in told(run) if action == ALLOC][2:9], list(range(100, 107)))
    support.expect(eval(run.out), [KEPT] + 5 * [OFF, KEPT])


def what_was_cleared_unseen_is_said():
    """A segment that another thread took between the snapshot and the clearing."""
    support.expect(told(recorded("overflow"))[-5:], [
        (ALLOC, 13), (RESTART, 0), (SEGMENT_ALLOC, 2 * MIB), (MAP, 4 * MIB), (ALLOC, 14),
    ])


def a_history_of_the_programs_own_goes_before_ours():
    run = recorded("own")
    support.expect(told(run), [(SEGMENT_ALLOC, 2 * MIB), (ALLOC, 100)])
    support.expect(why_not(run), {"history: the program keeps one itself"})
    support.expect(eval(run.out), [KEPT, ("all", "all", "all")])


def a_snapshot_that_fails_is_the_end_of_it():
    run = recorded("fails")
    support.expect(why_not(run), {"history: no such thing"})
    support.expect(told(run), [])


def a_torch_that_cannot_says_so():
    """This one has no history, or no CUDA to have it of."""
    run = support.record("tiny.py", env={"TIDEMARK_HISTORY": "1"})
    support.expect(run.status, 0, run.err)
    support.expect(run.of("history"), [])
    support.expect(why_not(run) in ({"history: this torch cannot keep one"}, set()), True)


def phases_are_needed():
    if not support.LONG:
        return
    run = alone(TIDEMARK_PHASES="off")
    support.expect(why_not(run), {"history: phases are turned off"})
    support.expect(run.of("history"), [])


def the_database_has_it_all():
    folder = support.folder()
    path = os.path.join(folder, "run.db")
    command = [os.environ["TIDEMARK_COMMAND"], "record", "--history", "-o", path, "--",
               support.PYTHON, os.path.join(support.PROGRAMS, "history.py"), "usual"]
    done = subprocess.run(command, env=support.environment(), capture_output=True, text=True,
                          timeout=900)
    support.expect(done.returncode, 0, done.stderr)
    check_database(sqlite3.connect(path))
    support.remove(folder)


def check_database(db):
    def ask(sql):
        return db.execute(sql).fetchall()

    on_cuda = "heap IN (SELECT h.id FROM heap h JOIN device d ON d.id = h.device" \
              " WHERE d.kind = 'cuda' AND d.ordinal = 0)"
    support.expect(ask("SELECT requested, size FROM allocation WHERE %s ORDER BY seq" % on_cuda),
                   [(1000, 1024), (3000, 3072), (700, 1024), (2 * MIB - 100, 2 * MIB), (1, 512),
                    (2, 512)])
    segments = ask("SELECT s.seq, h.pool, s.free_seq IS NULL FROM segment s"
                   " JOIN heap h ON h.id = s.heap WHERE s.%s ORDER BY s.seq" % on_cuda)
    first = ask("SELECT seq FROM allocation WHERE %s ORDER BY seq" % on_cuda)
    support.expect(segments, [(first[0][0], 0, 1), (first[3][0], 7, 0)])
    support.expect(
        ask("SELECT segment FROM allocation WHERE %s ORDER BY seq" % on_cuda),
        [(segments[i][0],) for i in (0, 0, 0, 1, 0, 0)])
    support.expect(ask("SELECT allocation, seq FROM idle"), [(first[1][0], first[3][0])])
    support.expect(ask("SELECT seq, size, mapped FROM mapping"), [(first[4][0], 4 * MIB, 1)])
    support.expect(ask("SELECT device, key, value FROM setting"
                       " WHERE key <> 'torch' AND key NOT LIKE '%dtype'"),
                   [(None, "allocator", "pytorch"), (None, "history", "1"),
                    (None, "alloc_conf", "max_split_size_mb:64")])
    support.expect(ask("SELECT kind, detail FROM anomaly"), [])


if __name__ == "__main__":
    support.main(a_step_sends_what_is_new, entries_have_the_time_of_the_hook, settings_are_sent,
                 without_the_option_there_are_settings_only,
                 the_workspace_of_cublas_is_a_setting_where_it_is_chosen,
                 a_late_beginning_tells_what_is_there,
                 what_was_overwritten_is_said, what_was_cleared_unseen_is_said,
                 a_history_of_the_programs_own_goes_before_ours,
                 a_snapshot_that_fails_is_the_end_of_it, a_torch_that_cannot_says_so,
                 phases_are_needed, the_database_has_it_all)

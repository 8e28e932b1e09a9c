"""The scripts that gpu-check uses, on data made by hand: each finds what it is there to find."""
import contextlib
import io
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import convolutions
import ops
import pack
import profiled
import stats
import truth

folder = tempfile.TemporaryDirectory(prefix="tidemark-gpu-")


def path_of(name):
    return os.path.join(folder.name, name)


def expect(got, wanted, what=""):
    if got != wanted:
        sys.exit("%s: got %r, wanted %r" % (what or "a value", got, wanted))


def quietly(function, *arguments):
    """What the function gives, and what it says."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        return function(*arguments), said.getvalue()


# ---- ops.py ----

def operations_are_compared():
    real = [["add", [["a", 512]]], ["sort", [["a", 512], ["a", 64], ["f", 64]]],
            ["svd", [["a", 8]]], ["odd", "not supported"]]
    expect(ops.compare(real, real), (4, []), "ops of a run and itself")
    rehearsed = [["add", [["a", 512]]], ["sort", [["a", 512]]], ["svd", "refused"],
                 ["odd", "not supported"]]
    equal, lines = ops.compare(real, rehearsed)
    expect(equal, 2, "ops that are equal")
    expect(lines[0], "sort: peak -64 bytes of 576; GPU alone 1 x 64; rehearsed alone -")
    expect(lines[1].startswith("svd: GPU"), True, lines[1])
    expect(ops.highest([["a", 4], ["a", 8], ["f", 4], ["a", 2]]), 12)


def convolutions_are_compared():
    shape = ["float16", False, 8, 64, 64, 56, 3, 1, 1]
    real = [shape + [[["a", 100], ["a", 100]]], shape[:2] + [4] + shape[3:] + [[["a", 50]]]]
    rehearsed = [shape + [[["a", 100]]]]
    expect(list(convolutions.compare(real, rehearsed)),
           ["3x3 float16     1: median -50.0 %, one in ten below -50.0 %, above -50.0 %, within 5 %: 0"])
    expect(list(convolutions.shapes())[:3], list(convolutions.shapes())[:3], "shapes of two runs")


# ---- truth.py ----

def recorded(path, sizes, reserved):
    """A recording in which blocks of these sizes come, and each but the last goes at once."""
    db = sqlite3.connect(path)
    with open(os.environ["TIDEMARK_SCHEMA"]) as schema:
        db.executescript(schema.read())
    db.executescript("""
        INSERT INTO process(id, pid, origin, start_ns) VALUES(1, 10, 'root', 0);
        INSERT INTO device(id, kind, ordinal) VALUES(1, 'cuda', 0);
        INSERT INTO heap(id, process, device, stream, pool) VALUES(1, 1, 1, 0, 0);
        INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq, begin_ns, scope)
            VALUES(1, 1, 0, 'forward', 'forward', 0, 1, 99, 0, 'process');""")
    for number, size in enumerate(sizes):
        freed = -2147483648 if number == len(sizes) - 1 else 2 * number + 3
        db.execute("INSERT INTO allocation(seq, heap, address, size, alloc_ns, life_ns, free_seq) "
                   "VALUES(?, 1, 4096, ?, 0, 0, ?)", (2 * number + 2, size, freed))
    db.execute("INSERT INTO phase_device(phase, device, begin_allocated, allocated, reserved, "
               "max_allocated, max_reserved, peak_allocated, allocs, frees, alloc_bytes) "
               "VALUES(1, 1, 0, 0, ?, ?, ?, 0, 1, 0, 0)", (reserved, max(sizes), reserved))
    db.commit()


def sides(name, real, rehearsed, statuses=(0, 0)):
    out = path_of(name)
    for side, sizes, status in (("gpu", real, statuses[0]), ("rehearsed", rehearsed, statuses[1])):
        here = os.path.join(out, "truth", "program", side)
        os.makedirs(os.path.join(here, "counted"))
        recorded(os.path.join(here, "run.db"), sizes, 2 * max(sizes))
        with open(os.path.join(here, "end.json"), "w") as file:
            json.dump({"status": status, "seconds": 1}, file)
    status, said = quietly(truth.compare_all, out)
    with open(os.path.join(out, "truth.json")) as file:
        return status, said, json.load(file)[0]


def runs_are_compared_with_rehearsals():
    status, said, found = sides("truth-same", [512, 1024], [512, 1024])
    expect((status, found["equal"], found["events"]), (0, True, [3, 3]), said)
    status, said, found = sides("truth-other", [512, 1024], [512, 2048])
    expect((status, found["equal"], found["same"]), (0, False, 2), said)
    expect((found["allocated"], found["gpu_alone"], found["rehearsed_alone"]),
           ([1024, 2048], [[1024, 1]], [[2048, 1]]), said)
    expect("+100.00 %" in said, True, said)
    status, said, found = sides("truth-ends", [512], [512], (0, 1))
    expect((status, found["wrong"]), (1, ["ends 0 and 1"]), said)


# ---- stats.py ----

def recording(name, reserved, marks=True):
    """One phase that ends with so much reserved at most, and torch's counters behind it."""
    path = path_of(name)
    db = sqlite3.connect(path)
    with open(os.environ["TIDEMARK_SCHEMA"]) as schema:
        db.executescript(schema.read())
    db.executescript("""
        INSERT INTO process(id, pid, origin, start_ns) VALUES(1, 10, 'root', 0);
        INSERT INTO device(id, kind, ordinal) VALUES(1, 'cuda', 0);
        INSERT INTO heap(id, process, device, stream, pool) VALUES(1, 1, 1, 0, 0);
        INSERT INTO allocation(seq, heap, address, size, alloc_ns, life_ns, free_seq)
            VALUES(2, 1, 4096, 512, 0, 0, -2147483648);
        INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq, begin_ns, scope)
            VALUES(1, 1, 0, 'forward', 'forward', 0, 1, 5, 0, 'process');""")
    db.execute("INSERT INTO phase_device(phase, device, begin_allocated, allocated, reserved, "
               "max_allocated, max_reserved, peak_allocated, allocs, frees, alloc_bytes) "
               "VALUES(1, 1, 0, 512, 2048, 512, ?, 512, 1, 0, 512)", (reserved,))
    values = [("forward", 0), ("cuda allocated", 512), ("cuda max allocated", 512),
              ("cuda reserved", 2048), ("cuda max reserved", 4096)]
    for number, (quantity, value) in enumerate(values if marks else values[:1]):
        db.execute("INSERT INTO mark(seq, process, thread, at_ns, name, value) "
                   "VALUES(?, 1, 10, 0, ?, ?)", (10 + number, quantity, value))
    db.commit()
    db.close()
    return path


def reserved_is_compared():
    equal, other = recording("equal.db", 4096), recording("other.db", 4097)
    none = recording("none.db", 0, marks=False)
    expect(stats.compare_reserved(equal), (1, []), "equal")
    count, lines = stats.compare_reserved(other)
    expect((count, len(lines)), (1, 1), "different")
    expect("recorded 4097, torch says 4096" in lines[0], True, lines[0])
    expect(quietly(stats.compare, [equal])[0], 0, "equal")
    expect(quietly(stats.compare, [equal, other])[0], 1, "one is different")
    expect(quietly(stats.compare, [none])[0], 77, "a CPU has no counters")
    expect("6 values" in quietly(stats.compare, [equal])[1], True, "blocks, phase, maximum")


def what_was_reset_is_not_compared():
    """The program reset its peaks: torch's are lower than the recording's from there on."""
    path = recording("reset.db", 9999)
    db = sqlite3.connect(path)
    db.execute("UPDATE mark SET value = 100 WHERE name = 'cuda max allocated'")
    db.commit()
    expect(quietly(stats.compare, [path])[0], 1, "lower, and nobody reset it")
    db.execute("INSERT INTO mark(seq, process, thread, at_ns, name, value) "
               "VALUES(8, 1, 10, 0, 'cuda peaks reset', 0)")
    db.commit()
    db.close()
    code, said = quietly(stats.compare, [path])
    expect(code, 0, said)
    expect("3 values" in said, True, said)


class FakeMemory(object):
    """torch.cuda.memory, or torch.cuda."""
    def __init__(self, reset):
        self.reset_peak_memory_stats = reset

    def _get_device_index(self, device, optional=False):
        return 3 if device is None else int(device)


class FakeLibrary(object):
    def __init__(self):
        self.told = []

    def name(self, text):
        return text

    def mark(self, name, value):
        self.told.append((name, value))


def resets_are_told():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "python"))
    from tidemark import _peaks

    called = []

    def reset(device=None):
        """Resets."""
        if device == "broken":
            raise ValueError(device)
        called.append(device)

    torch, library = FakeTorch(0), FakeLibrary()
    torch.cuda = FakeMemory(reset)
    torch.cuda.memory = FakeMemory(reset)
    _peaks.install(torch, library)
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.memory.reset_peak_memory_stats(device=1)
    torch.cuda.reset_peak_memory_stats("what is it")
    expect(called, [None, 1, "what is it"])
    name = "cuda peaks reset"
    expect(library.told, [(name, 3), (name, 1), (name, -1)])
    expect(torch.cuda.reset_peak_memory_stats.__doc__, "Resets.")
    try:
        torch.cuda.reset_peak_memory_stats("broken")
    except ValueError:
        expect(len(library.told), 3, "what failed is not told")
    else:
        sys.exit("the program's own error did not come through")


class FakeCuda(object):
    """torch.cuda, whose functions and memory_stats may differ."""
    def __init__(self, other):
        self.other = other

    def is_available(self):
        return True

    is_initialized = is_available

    def memory_stats(self):
        return {name: 100 for name in stats.STATS.values()}

    def __getattr__(self, name):
        return lambda: 100 + self.other * (name == "max_memory_reserved")


class FakeTorch(object):
    def __init__(self, other):
        self.cuda = FakeCuda(other)


def functions_are_held_against_memory_stats():
    seen = []
    stats.checked(FakeTorch(0), lambda *point: seen.append(point))(3, "loss")
    expect(seen, [(3, "loss")])
    try:
        stats.checked(FakeTorch(8), lambda *point: seen.append(point))(4, "loss")
    except SystemExit as error:
        expect("max_memory_reserved says 108" in str(error), True, str(error))
    else:
        sys.exit("a difference between memory_stats and its functions was not seen")
    expect(len(seen), 1)


# ---- profiled.py ----

def seen_by(name, gpu, cpu):
    with open(path_of(name), "w") as file:
        json.dump({"gpu": gpu, "cpu": cpu}, file)
    return path_of(name)


def profiles_are_compared():
    one = seen_by("one", {"gemm": 9}, {"aten::mm": 3, "cudaMalloc": 2})
    same = seen_by("same", {"gemm": 9}, {"aten::mm": 3, "cudaMalloc": 5})
    blind = seen_by("blind", {}, {"aten::mm": 3})
    other = seen_by("fewer", {"gemm": 9}, {"aten::mm": 2})
    expect(quietly(profiled.compare, one, same)[0], 0, "calls of the runtime may differ")
    expect(quietly(profiled.compare, one, blind)[0], 1, "no kernels")
    expect(quietly(profiled.compare, one, other)[0], 1, "fewer operators")
    expect(quietly(profiled.compare, blind, blind)[0], 77, "a CPU")
    expect("gpu: gemm: bare 9 times, recorded 0" in quietly(profiled.compare, one, blind)[1], True)


# ---- programs that read what others print ----

def script(name, text):
    with open(path_of(name), "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path_of(name), 0o755)
    return path_of(name)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    return done.returncode, done.stdout


def addresses_are_judged():
    for match, status in (("1.0", 0), ("0.999", 1), ("null", 77)):
        tidemark = script("fit", """echo '{"tables": {"fit": [{"address_match": %s, """
                          """"allocations": 5}]}}'\n""" % match)
        got, said = run(sys.executable, os.path.join(HERE, "address_match.py"), tidemark, "x.db")
        expect(got, status, said)


def growth_is_judged():
    """A ladder that says as many bytes as there are in the file of that step."""
    row = '{"quantity": "%s", "bytes": %s, "gap_bytes": %s}'
    text = ('{"tables": {"ladder": [' + row % ("device used", "$used", "null") + ", "
            + row % ("unattributed", "null", "$bytes") + "]}}")
    for used, last, status in (("9", 2 << 20, 0), ("9", (2 << 20) + 1, 1), ("null", 0, 77)):
        tidemark = script("ladder", "case $3 in 10/*) bytes=0 ;; *) bytes=%d ;; esac\nused=%s\n"
                          "cat << END\n%s\nEND\n" % (last, used, text))
        got, said = run(sys.executable, os.path.join(HERE, "ladder.py"), tidemark, "x.db", "10",
                        "109")
        expect(got, status, said)
    silent = script("ladder", "exit 0\n")
    expect(run(sys.executable, os.path.join(HERE, "ladder.py"), silent, "x.db", "1", "2")[0], 77)


# ---- cupti.py ----

def watched(name, *changes):
    """A block in a segment that the driver told of, one of cuBLAS's, a sample, a kernel."""
    path = path_of(name)
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    with open(os.environ["TIDEMARK_SCHEMA"]) as file:
        db.executescript(file.read())
    db.executescript("""
        CREATE VIEW driver_allocations AS SELECT s.text AS library, m.size, m.heap IS NULL AS outside,
            coalesce(m.device, 'host') AS device FROM driver_memory m
            LEFT JOIN string s ON s.id = m.library;
        INSERT INTO device(id, kind, ordinal) VALUES (1, 'cuda', 0);
        INSERT INTO string(id, text) VALUES (1, 'cudaMalloc'), (2, 'libc10_cuda.so'), (3, 'libcublas.so');""")

    def insert(table, **row):
        insert_row(db, table, row)

    insert("process", id=1, pid=5, start_ns=0, end_ns=1000, live="cupti 1: driver callbacks, kernels and copies")
    insert("heap", id=1, process=1, device=1, stream=0, pool=0)
    for seq, heap, library in ((2, 1, 2), (3, None, 3)):
        insert("driver_memory", seq=seq, process=1, device=1, kind="device", address=4096 * seq, size=2 << 20,
               call=1, library=library, alloc_ns=seq, heap=heap, blocks=1)
    insert("segment", seq=2, heap=1, address=8192, size=2 << 20, alloc_ns=2)
    insert("allocation", seq=4, heap=1, address=8192, size=512, alloc_ns=4, segment=2, life_ns=1, free_seq=5)
    insert("sample", at_ns=5, process=1, device=1, what="device used", value=1)
    insert("activity", seq=6, process=1, device=1, stream=7, kind=1, name=2, begin_ns=5, end_ns=9)
    for change in changes:
        assert db.execute(change).rowcount > 0, change
    db.commit()
    db.close()
    return path


def insert_row(db, table, row):
    """What must not be NULL and is not given is 0."""
    for _, column, kind, not_null, default, key in db.execute("PRAGMA table_info(%s)" % table):
        if not_null and default is None and column not in row:
            row[column] = "" if "TEXT" in kind else 0
    db.execute("INSERT INTO %s(%s) VALUES (%s)" % (table, ", ".join(row), ", ".join("?" * len(row))),
               list(row.values()))


def the_drivers_memory_is_judged():
    for status, said, change in (
            (0, "outside: libcublas.so 2.0 MiB", ()),
            (77, "no block", ("DELETE FROM allocation",)),
            (1, "CUPTI in process 5: cupti: no", ("UPDATE process SET live = NULL, why_not = 'cupti: no'",)),
            (1, "1 blocks that are in no memory", ("UPDATE allocation SET segment = NULL",)),
            (1, "1 segments that the driver did not", ("UPDATE driver_memory SET size = 1 WHERE seq = 2",)),
            (1, "1 segments without a caller's", ("UPDATE driver_memory SET library = NULL",)),
            (1, "1 segments that came by another", ("UPDATE driver_memory SET call = NULL",)),
            (1, "no samples of the device", ("DELETE FROM sample",)),
            (1, "no kernels", ("DELETE FROM activity",)),
            (1, "1 kernels from before the program", ("UPDATE activity SET end_ns = 2000",)),
            (1, "1 contradictions", ("INSERT INTO anomaly(seq, process, at_ns, kind) VALUES (7, 1, 7,"
                                     " 'reserved differs')",))):
        path = watched("watched.db", *change)
        got, text = run(sys.executable, os.path.join(HERE, "cupti.py"), path, "kernels")
        expect(got, status, text)
        expect(said in text, True, text)


def every_process_on_a_gpu_is_judged():
    """A shell that started the program has nothing there; a second rank has."""
    shell = "INSERT INTO process(id, pid, start_ns, origin) VALUES (%d, 4, 0, 'root')"
    heap = "INSERT INTO heap(id, process, device, stream, pool) VALUES (2, 2, 1, 0, 0)"
    block = ("INSERT INTO allocation(seq, heap, address, size, alloc_ns, segment, life_ns, free_seq)"
             " VALUES (6, 2, 8192, 512, 6, 2, 1, 7)")
    for status, said, changes in (
            (0, "figures", (shell % 0,)),
            (0, "figures", (shell % 2,)),
            (1, "CUPTI in process 4: no word", (shell % 2, heap, block))):
        path = watched("processes.db", *changes)
        got, text = run(sys.executable, os.path.join(HERE, "cupti.py"), path, "kernels")
        expect(got, status, text)
        expect(said in text, True, text)


def costs_are_judged():
    """A tidemark that runs its program and says that a step took as long as it likes."""
    for factor, status in (("step 0.0001 ms", 0), ("step 1000000 ms", 1)):
        python = script("python", "echo 'step 1.0 ms'\n")
        tidemark = script("record", "echo '%s'\n" % factor)
        overhead = os.path.join(HERE, "overhead.py")
        code = ("import runpy, sys; sys.executable = %r; sys.argv = %r; "
                "runpy.run_path(%r, run_name='__main__')" % (
                    python, ["overhead.py", tidemark, folder.name, "cpu", "2", "1", "60", "--no-cupti"],
                    overhead))
        got, said = run(sys.executable, "-c", code)
        expect(got, status, said)
        expect("recorded --no-cupti" in said, True, said)
        expect("round 1, bare" in said, True, said)


# ---- pack.py and run_tests.py ----

def packed_tests_run_elsewhere():
    build, there = path_of("build"), path_of("there")
    os.makedirs(os.path.join(build, "tests"))
    passing, program = os.path.join(build, "tests", "good"), os.path.join(build, "tests", "env")
    for name, text in ((passing, "exit 0\n"), (program, "test \"$WANTED\" = \"$1\"\n")):
        with open(name, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(name, 0o755)

    def described(name, command, labels=("gpu",), **more):
        properties = [{"name": "LABELS", "value": list(labels)}]
        properties += [{"name": key.upper(), "value": value} for key, value in more.items()]
        return {"name": name, "command": command, "properties": properties}

    tests = [described("good", [passing]), described("other", [passing], labels=("unit",)),
             described("env", [program, passing], environment=["WANTED=" + passing]),
             described("skips", ["/bin/sh", "-c", "exit 77"]),
             described("slow", ["/bin/sleep", "20"], timeout=0.2),
             described("none", ["/no/such/program"])]
    ctest = script("ctest", "cat << 'END'\n%s\nEND\n" % json.dumps({"tests": tests}))
    got, said = run(sys.executable, os.path.join(HERE, "pack.py"), build, there, ctest)
    expect((got, said.startswith("packed 5 tests")), (0, True), said)
    os.rename(build, build + "-gone")
    got, said = run(sys.executable, os.path.join(HERE, "run_tests.py"), there, path_of("logs"))
    expect(got, 1, said)
    expect("figures: 2 passed, 2 failed, 1 skipped" in said, True, said)
    expect("not over after 0.2 s" in said, True, said)
    with open(os.path.join(there, "tests.json")) as file:
        expect(build in file.read(), False, "a path of the build")


def what_is_installed_is_not_packed_twice():
    build, there = path_of("build2"), path_of("there2")
    os.makedirs(build)
    os.makedirs(os.path.join(there, "bin"))
    for path in (os.path.join(build, "tidemark"), os.path.join(there, "bin", "tidemark")):
        with open(path, "w"):
            pass
    one = pack.Pack(build, there)
    expect(one.moved(os.path.realpath(os.path.join(build, "tidemark"))), "@PACK@/bin/tidemark")
    expect(one.moved(os.path.join(one.tree, "schema")), "@TREE@/schema")
    expect(one.moved("--steps=3"), "--steps=3")


reserved_is_compared()
what_was_reset_is_not_compared()
resets_are_told()
functions_are_held_against_memory_stats()
profiles_are_compared()
addresses_are_judged()
growth_is_judged()
the_drivers_memory_is_judged()
every_process_on_a_gpu_is_judged()
costs_are_judged()
packed_tests_run_elsewhere()
what_is_installed_is_not_packed_twice()
operations_are_compared()
convolutions_are_compared()
runs_are_compared_with_rehearsals()
print("the scripts find what they should")

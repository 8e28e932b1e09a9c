#!/usr/bin/env python3
"""A fleet's Parquet of any size, and the questions of sql/fleet timed on it: docs/parquet.md. And `merge`
of the recordings of many ranks: rows of docs/benchmarks.md.

    fleet-bench.py merge TIDEMARK MAKE_FIXTURE DIR [--ranks N] [--blocks N]
    fleet-bench.py make DIR EXPORTED [--ranks N] [--runs N] [--blocks N]
    fleet-bench.py time DIR ENGINE [--threads N] [--master URL]

`make` does not record N programs: it takes one recording that was exported to Parquet and writes
its rows again for each rank of each run, by the exporter's own writer. Sizes grow with the rank and
the run, so that the questions have answers; blocks are repeated until there are enough.

`merge` has made-up recordings, by tests/merge/make_ranks.py. Its floor is SQLite alone, which copies the
rows of table allocation into one file, one recording after the other.
"""

import argparse
import glob
import hashlib
import json
import os
import resource
import sqlite3
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(SOURCE, "python"), os.path.join(SOURCE, "tests", "python")]

BYTES = {
    "size",
    "requested",
    "allocated",
    "max_allocated",
    "reserved",
    "max_reserved",
    "phase_peak",
    "bytes",
    "parameters",
    "gradients",
    "optimizer_state",
    "activations",
    "workspace",
    "other",
    "largest",
    "used_bytes",
    "alloc_bytes",
}


def base_of(exported, name, columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tidemark._parquet_write import schema_of

    paths = glob.glob("%s/%s/run=*/rank=*/*.parquet" % (exported, name))
    tables = [pq.ParquetFile(path).read().cast(schema_of(columns)) for path in paths]
    return pa.concat_tables(tables)


def grown(table, factor):
    """Sizes times the factor, in steps of 512 bytes."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    for at, field in enumerate(table.schema):
        if field.name not in BYTES:
            continue
        values = table.column(at)
        numbers = np.asarray(pc.fill_null(values, 0).combine_chunks())
        scaled = (numbers * factor).astype(np.int64) // 512 * 512
        table = table.set_column(at, field, pa.array(scaled, mask=np.asarray(pc.is_null(values))))
    return table


def constant(table, name, value):
    import pyarrow as pa

    at = table.schema.get_field_index(name)
    return table.set_column(
        at, table.schema.field(at), pa.array([value] * table.num_rows, table.schema.field(at).type)
    )


def on_another_card(table):
    """Of every second run: where there is a GPU, it is one of another model."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.is_valid(table.column("gpu"))
    for name, value in (("gpu", "Example GPU 80 GB"), ("total_bytes", 80 << 30)):
        at = table.schema.get_field_index(name)
        field = table.schema.field(at)
        other = pc.if_else(known, pa.scalar(value, field.type), pa.scalar(None, field.type))
        table = table.set_column(at, field, other)
    return table


def repeated(table, rows):
    import pyarrow as pa

    times = max(1, -(-rows // max(1, table.num_rows)))
    return pa.concat_tables([table] * times).slice(0, rows)


def make(options):
    from tidemark import _parquet_views as views
    from tidemark._parquet_write import DataSet

    columns = dict(views.VIEWS, **{name: fact[0] for name, fact in views.FACTS.items()})
    bases = {name: base_of(options.exported, name, own) for name, own in columns.items()}
    blocks = bases["allocations"] = repeated(bases["allocations"], options.blocks)
    texts = [i for i, f in enumerate(blocks.schema) if f.type == "string"]
    for at in texts:
        blocks = blocks.set_column(
            at, blocks.schema.names[at], blocks.column(at).combine_chunks().dictionary_encode()
        )
    bases["allocations"] = blocks
    began = time.monotonic()
    for run in range(options.runs):
        for rank in range(options.ranks):
            factor = 1 + 0.001 * rank + 0.02 * run + (0.2 if rank % 50 == 7 else 0)
            for name, own in columns.items():
                table = grown(bases[name], factor)
                if name == "process":
                    table = constant(table, "host", "node%02d" % (rank // 8))
                    table = constant(table, "commit_id", "c%02d" % run)
                    table = constant(table, "started", "2026-11-%02dT00:00:00Z" % (run + 1))
                if name == "device" and run % 2:
                    table = on_another_card(table)
                if name == "oom" and rank != 7:
                    table = table.slice(0, 0)
                data = DataSet(options.folder, name, "part-0", own, {1: rank})
                data.add("run%02d" % run, table)
                data.close(True, "run%02d" % run)
        print("run %d: %.0f s" % (run, time.monotonic() - began), flush=True)


def time_all(options):
    import fleet_engines
    from tidemark import _parquet_views as views

    began = time.monotonic()
    make_engine = getattr(fleet_engines, options.engine)
    more = {"master": options.master} if options.master else {}
    engine = make_engine(options.folder, [*views.FACTS, *views.VIEWS], options.threads, **more)
    print("%-38s %7.2f s" % ("tables", time.monotonic() - began), flush=True)
    for name, text in fleet_engines.questions():
        began = time.monotonic()
        rows = engine.ask(text)
        took = time.monotonic() - began
        print(
            "%-38s %7.2f s %7d rows  %s"
            % (name, took, len(rows), hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]),
            flush=True,
        )


def cpu_of(work):
    """Seconds of CPU time and MiB of memory that a child took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        sys.exit("fleet-bench.py: status %d" % status)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used.ru_maxrss / 1024


def copy_rows(paths, target):
    db = sqlite3.connect(target)
    db.execute("PRAGMA synchronous = OFF")
    for number, path in enumerate(paths):
        db.execute("ATTACH ? AS part", (path,))
        if number == 0:
            db.execute("CREATE TABLE allocation AS SELECT * FROM part.allocation WHERE 0")
        db.execute("INSERT INTO allocation SELECT * FROM part.allocation")
        db.commit()
        db.execute("DETACH part")


def merge(options):
    maker = os.path.join(SOURCE, "tests", "merge", "make_ranks.py")
    ranks, folder = options.ranks, options.folder
    os.makedirs(folder, exist_ok=True)
    subprocess.run(
        [sys.executable, maker, options.make_fixture, folder, str(ranks), str(options.blocks)],
        check=True,
    )
    paths = [os.path.join(folder, "rank%d.db" % rank) for rank in range(ranks)]
    merged, copied = os.path.join(folder, "all.db"), os.path.join(folder, "copied.db")
    command = [options.tidemark, "merge", "-o", merged, *paths]

    def run_merge():
        with open(os.path.join(folder, "log"), "w") as log:
            os.dup2(log.fileno(), 2)
        os.execv(options.tidemark, command)

    took, memory = cpu_of(run_merge)
    floor, _ = cpu_of(lambda: copy_rows(paths, copied))
    what = "`merge` of %d recordings of %s blocks" % (ranks, format(options.blocks, ","))
    size = sum(map(os.path.getsize, paths)) / 2**20
    print("| CPU time of %s | %.3g s | %.3g s | %.2f | for the record |" % (what, took, floor, took / floor))
    print("| memory of the same | %.3g MiB | - | - | for the record |" % memory)
    print(
        "| its result, beside the recordings | %.4g MiB | %.4g MiB | %.2f | for the record |"
        % (os.path.getsize(merged) / 2**20, size, os.path.getsize(merged) / 2**20 / size)
    )


def main():
    parser = argparse.ArgumentParser()
    words = parser.add_subparsers(dest="what", required=True)
    one = words.add_parser("make")
    one.add_argument("folder")
    one.add_argument("exported")
    one.add_argument("--ranks", type=int, default=100)
    one.add_argument("--runs", type=int, default=10)
    one.add_argument("--blocks", type=int, default=100000)
    two = words.add_parser("time")
    two.add_argument("folder")
    two.add_argument("engine", choices=("DuckDB", "ChDB", "Spark"))
    two.add_argument("--threads", type=int, default=2)
    two.add_argument("--master", help="Spark: spark://HOST:PORT (scripts/fleet-workers.sh)")
    three = words.add_parser("merge")
    three.add_argument("tidemark")
    three.add_argument("make_fixture")
    three.add_argument("folder")
    three.add_argument("--ranks", type=int, default=256)
    three.add_argument("--blocks", type=int, default=40000)
    options = parser.parse_args()
    {"make": make, "time": time_all, "merge": merge}[options.what](options)


if __name__ == "__main__":
    main()

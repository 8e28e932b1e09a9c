#!/usr/bin/env python3
"""A fleet's Parquet of any size, and the questions of sql/fleet timed on it: docs/parquet.md.

    fleet-bench.py make DIR EXPORTED [--ranks N] [--runs N] [--blocks N]
    fleet-bench.py time DIR ENGINE [--threads N]

`make` does not record N programs: it takes one recording that was exported to Parquet and writes
its rows again for each rank of each run, by the exporter's own writer. Sizes grow with the rank and
the run, so that the questions have answers; blocks are repeated until there are enough.
"""

import argparse
import glob
import json
import os
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
    engine = getattr(fleet_engines, options.engine)(
        options.folder, [*views.FACTS, *views.VIEWS], options.threads
    )
    print("%-38s %7.2f s" % ("tables", time.monotonic() - began), flush=True)
    for name, text in fleet_engines.questions():
        began = time.monotonic()
        rows = engine.ask(text)
        took = time.monotonic() - began
        print(
            "%-38s %7.2f s %7d rows  %016x"
            % (name, took, len(rows), hash(json.dumps(rows)) & (1 << 64) - 1),
            flush=True,
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
    options = parser.parse_args()
    make(options) if options.what == "make" else time_all(options)


if __name__ == "__main__":
    main()

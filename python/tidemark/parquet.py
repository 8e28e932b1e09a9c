"""Recordings as Parquet, for DuckDB, ClickHouse, Spark and pandas: docs/parquet.md.

    python3 -m tidemark.parquet run.db DIR

`tidemark export --to parquet` starts this. Of each rank some row groups are in memory,
whatever the recording's length.
"""

# mypy: warn-unused-ignores=False
from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import time
from typing import Any, Dict, Iterator, List, Optional

VERSIONS = (5,)  # of recordings: schema/README.md
APPLICATION = 0x54494445
BATCH_ROWS = 1 << 16


class Failure(Exception):
    """A sentence for a person."""


def _modules() -> Any:
    try:
        import adbc_driver_sqlite.dbapi as dbapi  # type: ignore
        import numpy  # type: ignore
        import pyarrow.parquet  # type: ignore
    except ImportError as why:
        raise Failure(
            "%s: pip install 'tidemark[parquet]' (pyarrow, adbc-driver-sqlite, numpy)" % why
        )
    return dbapi


class Recording:
    def __init__(self, path: str) -> None:
        dbapi = _modules()
        if not os.path.isfile(path):
            raise Failure("%s: there is no such file" % path)
        with open(path, "rb") as file:
            if file.read(16) != b"SQLite format 3\0":
                raise Failure("%s is no recording" % path)
        self.connection = dbapi.connect(
            "file:%s?mode=ro"
            % os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        )
        self.path = path
        application, version = self.value("PRAGMA application_id"), self.value(
            "PRAGMA user_version"
        )
        if application != APPLICATION:
            raise Failure("%s is no recording of Tidemark" % path)
        if version not in VERSIONS:
            raise Failure(
                "%s has version %s: tidemark repair %s -o NEW makes one that can be exported"
                % (path, version, path)
            )

    def value(self, query: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            row = cursor.fetchone()
            return row[0] if row else None

    def batches(self, query: str) -> Iterator[Any]:
        """Of a query whose first row has the types and is no row."""
        with self.connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
            cursor.execute(query)
            first = True
            for batch in cursor.fetch_record_batch():
                yield batch.slice(1) if first else batch
                first = False

    def table(self, types: str, query: str) -> Any:
        """A small one, whole; a type for each column, as in _parquet_views."""
        import pyarrow as pa  # type: ignore

        from tidemark._parquet_views import typed

        batches = list(self.batches("%s UNION ALL SELECT * FROM (%s)" % (typed(types), query)))
        return pa.Table.from_batches(batches)

    def ranks(self) -> Dict[int, int]:
        from tidemark._parquet_write import NO_RANK

        rows = self.table("ii", "SELECT id, coalesce(rank, %d) FROM process" % NO_RANK)
        return dict(zip(rows.column(0).to_pylist(), rows.column(1).to_pylist()))

    def _told(self) -> str:
        """What it says of itself, which stays while it is written; an imported one may say nothing,
        and is known by its blocks."""
        told = self.value(
            "SELECT group_concat(key || '=' || value, char(10)) FROM (SELECT key, value FROM meta "
            "WHERE key IN ('started', 'host', 'recorder_pid', 'start_monotonic_ns', 'source') "
            "ORDER BY key)"
        )
        dated = self.value("SELECT count(*) FROM meta WHERE key IN ('started', 'recorder_pid')")
        if not dated:
            told = "%s %s" % (
                told,
                self.value(
                    "SELECT count(*) || ' ' || coalesce(sum(size * (seq % 1009 + 1)), 0) || ' ' || "
                    "coalesce(sum(alloc_ns % 1000003), 0) FROM allocation"
                ),
            )
        return str(told)

    def part(self) -> str:
        """A name that stays the same for the same recording, wherever it lies."""
        hosts = self.value(
            "SELECT group_concat(id || host || pid) FROM (SELECT * FROM process ORDER BY id)"
        )
        return "part-" + _digest("%s %s" % (self._told(), hosts), 16)

    def run(self) -> str:
        """The file's name, and what distinguishes it from others of this name. Engines take a
        folder's name for a number or a date where they can: this is neither."""
        stem = re.sub(r"\.db$", "", os.path.basename(self.path))
        stem = re.sub(r"[^A-Za-z0-9._+-]", "_", stem).lstrip("._+-") or "run"
        return "%s-r%s" % (stem, _digest(self._told(), 8))


def _digest(text: str, count: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:count]


# What DuckDB or Spark read as a number, a truth value or a date, though it begins with a letter.
_VALUES = {
    *("inf", "infinity", "nan", "null", "true", "false", "t", "f", "yes", "no", "y", "n"),
    *("epoch", "now", "today", "tomorrow", "yesterday"),
}


def _check_run(run: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", run):
        raise Failure("run %r: letters, digits, '.', '_', '+' and '-' name a run" % run)
    if not run[0].isalpha() or run.lower() in _VALUES:
        raise Failure(
            "run %r: an engine would read it as a number, a date or a truth value; put a word "
            "before it, such as run-%s" % (run, run)
        )


def _text(value: Optional[str]) -> str:
    return "NULL" if value is None else "'%s'" % value.replace("'", "''")


def _views(recording: Recording, name: str, columns: Any, query: str) -> Iterator[Any]:
    import pyarrow as pa  # type: ignore

    from tidemark._parquet_views import typed_row
    from tidemark._parquet_write import clean, schema_of

    schema = schema_of(columns)
    for batch in recording.batches("%s UNION ALL SELECT * FROM (%s)" % (typed_row(columns), query)):
        arrays = [clean(a) if c.type == "t" else a for a, c in zip(batch.columns, columns)]
        yield pa.Table.from_arrays(arrays, names=schema.names).cast(schema)


def _blocks(recording: Recording, columns: Any) -> Iterator[Any]:
    from tidemark import _parquet_blocks
    from tidemark._parquet_write import schema_of

    schema = schema_of(columns)
    blocks = _parquet_blocks.Blocks(recording.table)
    for batch in recording.batches(_parquet_blocks.QUERY):
        if batch.num_rows:
            yield blocks.table(batch, schema)


class Export:
    """One recording into a folder of data sets."""

    def __init__(
        self, path: str, folder: str, run: Optional[str] = None, commit: Optional[str] = None
    ) -> None:
        self.recording = Recording(path)
        self.folder = folder
        if run:
            _check_run(run)
        self.run = run or self.recording.run()
        self.commit = commit
        self.ranks = self.recording.ranks()
        self.part = self.recording.part()

    def names(self) -> List[str]:
        from tidemark._parquet_views import FACTS, VIEWS

        return [*FACTS, *VIEWS]

    def _rows(self, name: str, columns: Any) -> Iterator[Any]:
        from tidemark._parquet_views import FACTS, view_query

        if name == "allocations":
            return _blocks(self.recording, columns)
        query = (
            FACTS[name][1].replace(":commit", _text(self.commit))
            if name in FACTS
            else view_query(name)
        )
        return _views(self.recording, name, columns, query)

    def write(self, name: str) -> Dict[str, Any]:
        from tidemark._parquet_views import FACTS, VIEWS
        from tidemark._parquet_write import DataSet

        columns = FACTS[name][0] if name in FACTS else VIEWS[name]
        data = DataSet(self.folder, name, self.part, columns, self.ranks)
        began = time.monotonic()
        done = False
        try:
            for table in self._rows(name, columns):
                data.add(self.run, table)
            done = True
        finally:
            size = data.close(done, self.run)
        return {"name": name, "rows": data.rows, "bytes": size, "seconds": time.monotonic() - began}


def export(
    path: str,
    folder: str,
    run: Optional[str] = None,
    commit: Optional[str] = None,
    views: Optional[List[str]] = None,
) -> List[Dict[str, Any]]:
    """Each data set with its rows, bytes and seconds."""
    one = Export(path, folder, run, commit)
    unknown = set(views or []) - set(one.names())
    if unknown:
        raise Failure("no such view: %s" % ", ".join(sorted(unknown)))
    return [one.write(name) for name in one.names() if not views or name in views]


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="tidemark.parquet", description=__doc__.split("\n", 1)[0])
    parser.add_argument("recording")
    parser.add_argument("folder")
    parser.add_argument("--run", help="its name among others (the file's, and a number)")
    parser.add_argument("--commit", help="of the program, for questions over runs")
    parser.add_argument("--views", help="some of them, between commas")
    options = parser.parse_args(arguments)
    try:
        done = export(
            options.recording,
            options.folder,
            options.run,
            options.commit,
            options.views.split(",") if options.views else None,
        )
    except (Failure, OSError) as why:
        print("tidemark: %s" % why, file=sys.stderr)
        return 3
    except Exception as why:  # SQLite's by ADBC, and Arrow's, have no base of their own
        print(
            "tidemark: cannot export %s: %s\ntidemark: if it is damaged: tidemark repair %s"
            % (options.recording, str(why).split("\n", 1)[0], options.recording),
            file=sys.stderr,
        )
        return 3
    print(
        "tidemark: wrote %s, %d rows in %.1f MiB; DuckDB reads %s/VIEW/*/*/*.parquet"
        % (
            options.folder,
            sum(d["rows"] for d in done),
            sum(d["bytes"] for d in done) / 2**20,
            options.folder,
        ),
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Row groups of one data set into one Parquet file for each rank."""

# mypy: warn-unused-ignores=False
from __future__ import annotations

import os
from typing import Any, Dict, List

import pyarrow as pa  # type: ignore
import pyarrow.compute as pc  # type: ignore
import pyarrow.parquet as pq  # type: ignore

from tidemark._parquet_views import Column

ROW_GROUP = 1 << 19
NO_RANK = -1  # a number, as all engines take it for a partition of numbers
_TYPES = {"i": pa.int64(), "f": pa.float64(), "t": pa.string()}


def schema_of(columns: List[Column]) -> pa.Schema:
    return pa.schema([(c.name, _TYPES[c.type]) for c in columns])


def clean(texts: Any) -> Any:
    """Names come from the recorded program; readers of Parquet take nothing but UTF-8."""
    try:
        texts.validate(full=True)
        return texts
    except pa.ArrowInvalid:
        raw = texts.cast(pa.binary()).to_pylist()
        return pa.array(
            [t if t is None else t.decode("utf-8", "replace") for t in raw], pa.string()
        )


class _File:
    """One file under a name that no reader takes for data, until it is whole."""

    def __init__(self, path: str, columns: List[Column]) -> None:
        self.path = path
        self.columns = columns
        self.rows = 0
        self.waiting: List[pa.Table] = []
        self.waiting_rows = 0
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.temporary = os.path.join(os.path.dirname(path), ".%s.tmp" % os.path.basename(path))
        self.writer: Any = None

    def _open(self, schema: pa.Schema) -> Any:
        """The first table says which texts are dictionaries; in the file all are texts."""
        integers = {c.name: "DELTA_BINARY_PACKED" for c in self.columns if c.type == "i"}
        return pq.ParquetWriter(
            self.temporary,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[c.name for c in self.columns if c.type == "t"],
            column_encoding=integers,
            store_schema=False,
        )

    def add(self, table: pa.Table) -> None:
        self.rows += table.num_rows
        self.waiting.append(table)
        self.waiting_rows += table.num_rows
        if self.waiting_rows >= ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        if self.waiting_rows or not self.writer:
            table = pa.concat_tables(self.waiting or [schema_of(self.columns).empty_table()])
            self.writer = self.writer or self._open(table.schema)
            self.writer.write_table(table, row_group_size=ROW_GROUP)
        self.waiting, self.waiting_rows = [], 0

    def close(self, keep: bool) -> None:
        if keep:
            self.flush()
        if self.writer:
            self.writer.close()
        if self.writer and keep:
            os.replace(self.temporary, self.path)
        elif os.path.exists(self.temporary):
            os.unlink(self.temporary)


class DataSet:
    """FOLDER/NAME/run=RUN/rank=RANK/PART.parquet; a rank without rows has none. A part that was
    there is replaced as a whole."""

    def __init__(
        self, folder: str, name: str, part: str, columns: List[Column], ranks: Dict[int, int]
    ) -> None:
        self.folder = os.path.join(folder, name)
        self.part = part
        self.columns = columns
        self.schema = schema_of(columns)
        self.ranks = ranks
        self.only = next(iter(set(ranks.values()))) if len(set(ranks.values())) == 1 else None
        self.files: Dict[int, _File] = {}
        self.rows = 0

    def path(self, run: str, rank: int) -> str:
        return os.path.join(self.folder, "run=" + run, "rank=%d" % rank, self.part + ".parquet")

    def add(self, run: str, table: pa.Table) -> None:
        """Its first column is the process."""
        if table.num_rows == 0:
            return
        self.rows += table.num_rows
        if self.only is not None:
            self._file(run, self.only).add(table)
            return
        by_process = {
            p: self.ranks.get(p, NO_RANK) for p in pc.unique(table["process"]).to_pylist()
        }
        for rank in sorted(set(by_process.values())):
            own = pa.array([p for p, r in by_process.items() if r == rank], pa.int64())
            self._file(run, rank).add(table.filter(pc.is_in(table["process"], own)))

    def _file(self, run: str, rank: int) -> _File:
        if rank not in self.files:
            self.files[rank] = _File(self.path(run, rank), self.columns)
        return self.files[rank]

    def close(self, keep: bool, run: str) -> int:
        """Bytes of the files. Where there is no row one file says what columns there are: engines
        ask for files before they ask for rows."""
        if not self.files and keep:
            self._file(run, min(self.ranks.values(), default=NO_RANK))
        for file in self.files.values():
            file.close(keep)
        return sum(os.path.getsize(file.path) for file in self.files.values()) if keep else 0

"""The view `allocations` for recordings of many blocks: its joins by sorted arrays, not row by row.

What the view says of a block is said again here, and tests/python/test_parquet.py holds the two
together: the phase of a number is that of the stretch with the greatest begin that is not behind
it, unless allocation_phase names another; a tag's module is before the block's own.
"""

# mypy: warn-unused-ignores=False
from __future__ import annotations

from typing import Any, Callable, Dict

import numpy as np  # type: ignore
import pyarrow as pa  # type: ignore
import pyarrow.compute as pc  # type: ignore

from tidemark._parquet_write import clean

Read = Callable[[str, str], pa.Table]

COLUMNS = "seq heap address size requested alloc_ns life_ns free_seq site tag module"
QUERY = (
    "SELECT 0 AS seq, 0 AS heap, 0 AS address, 0 AS size, 0 AS requested, 0 AS alloc_ns, "
    "0 AS life_ns, 0 AS free_seq, 0 AS site, 0 AS tag, 0 AS module "
    "UNION ALL SELECT %s FROM allocation" % ", ".join(COLUMNS.split())
)
_SHIFT = 44  # of a process in front of a number of an event


class Names:
    """Texts by id, as a dictionary that many rows refer to."""

    def __init__(self, table: pa.Table) -> None:
        table = table.filter(pc.is_valid(table.column(1)))
        ids = table.column(0).to_numpy()
        order = np.argsort(ids, kind="stable")
        self.ids = ids[order]
        texts = table.column(1).combine_chunks()
        if isinstance(texts, pa.ChunkedArray):
            texts = texts.chunk(0) if texts.num_chunks else pa.array([], pa.string())
        self.texts = clean(texts).take(pa.array(order))

    def of(self, ids: Any, known: Any) -> pa.Array:
        """ids: numbers; known: true where the number is not NULL."""
        if len(self.ids) == 0:
            return pa.nulls(len(ids), pa.string())
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        found = known & (self.ids[at] == ids)
        indices = pa.array(at.astype(np.int32), mask=~found)
        return pa.DictionaryArray.from_arrays(indices, self.texts)


class Numbers:
    """Numbers by id; of a NULL there is none."""

    def __init__(self, table: pa.Table) -> None:
        ids = table.column(0).to_numpy()
        order = np.argsort(ids, kind="stable")
        values = table.column(1)
        self.ids = ids[order]
        self.known = ~np.asarray(pc.is_null(values))[order]
        self.values = np.asarray(pc.fill_null(values, 0))[order]

    def of(self, ids: Any, known: Any) -> Any:
        """Values, and where there are some."""
        if len(self.ids) == 0:
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), bool)
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        found = known & (self.ids[at] == ids)
        return self.values[at], found & self.known[at]


class Phases:
    """The phase of a process's number."""

    def __init__(self, read: Read) -> None:
        table = read(
            "iii", "SELECT process, begin_seq, phase FROM stretch ORDER BY process, begin_seq"
        )
        self.process = table.column(0).to_numpy()
        self.keys = (self.process << _SHIFT) + table.column(1).to_numpy()
        self.phase = table.column(2).to_numpy()

    def of(self, process: Any, seq: Any, known: Any) -> Any:
        if len(self.keys) == 0:
            return np.zeros(len(seq), np.int64), np.zeros(len(seq), bool)
        at = np.searchsorted(self.keys, (process << _SHIFT) + seq, side="right") - 1
        found = known & (at >= 0) & (self.process[np.maximum(at, 0)] == process)
        return self.phase[np.maximum(at, 0)], found


def _null(values: Any, known: Any) -> pa.Array:
    return pa.array(values, mask=~known)


class Blocks:
    def __init__(self, read: Read) -> None:
        self.heap_process = Numbers(read("ii", "SELECT id, process FROM heap"))
        self.heap_device = Names(
            read("it", "SELECT h.id, d.device FROM heap h JOIN device_text d ON d.id = h.device")
        )
        self.phases = Phases(read)
        self.own_phase = Numbers(read("ii", "SELECT allocation, phase FROM allocation_phase"))
        self.phase_step = Numbers(read("ii", "SELECT id, step FROM phase"))
        self.phase_name = Names(read("it", "SELECT id, name FROM phase"))
        self.site = Names(read("it", "SELECT site, text FROM site_text"))
        self.tag = Names(read("it", "SELECT id, name FROM tag"))
        self.tag_module = Numbers(read("ii", "SELECT tag, module_id FROM tag_module"))
        self._shared(read)
        self.module = Names(read("it", "SELECT id, module FROM module_text"))

    def _shared(self, read: Read) -> None:
        """Gradients of many parameters in one block are of the module that ran, else of the
        outermost one, whatever their tag says."""
        grads = read("i", "SELECT id FROM tag WHERE category = 2").column(0).to_numpy()
        sites = "SELECT site FROM sharing_site WHERE kind = 3"
        self.gradients = grads
        self.sharing = read("i", sites).column(0).to_numpy() if len(grads) else grads[:0]
        outermost = read("i", "SELECT id FROM module WHERE path = '' ORDER BY id LIMIT 1")
        self.outermost = outermost.column(0).to_pylist()

    def _modules(self, raw: Any, known: Any) -> pa.Array:
        module, found = self.tag_module.of(raw["tag"], known["tag"])
        module = np.where(found, module, raw["module"])
        found = found | known["module"]
        shared = known["tag"] & known["site"] & np.isin(raw["tag"], self.gradients)
        shared &= np.isin(raw["site"], self.sharing)
        if shared.any():
            # where the block has none and no module is the outermost one, the tag's stays
            own = shared & known["module"]
            module = np.where(own, raw["module"], module)
            if self.outermost:
                module = np.where(shared & ~known["module"], self.outermost[0], module)
                found = found | shared
        return self.module.of(module, found)

    def table(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
        raw: Dict[str, Any] = {}
        known: Dict[str, Any] = {}
        for name in COLUMNS.split():
            column = batch.column(batch.schema.get_field_index(name))
            known[name] = (
                ~np.asarray(column.is_null()) if column.null_count else np.ones(len(column), bool)
            )
            raw[name] = np.asarray(column.fill_null(0) if column.null_count else column)
        process, _ = self.heap_process.of(raw["heap"], known["heap"])
        freed = raw["free_seq"] >= 0
        phase, has_phase = self.phases.of(process, raw["seq"], known["seq"])
        own, has_own = self.own_phase.of(raw["seq"], known["seq"])
        phase, has_phase = np.where(has_own, own, phase), has_phase | has_own
        free_phase, has_free_phase = self.phases.of(process, raw["free_seq"], freed)
        columns = [
            pa.array(process),
            self.heap_device.of(raw["heap"], known["heap"]),
            pa.array(raw["seq"]),
            pa.array(raw["size"]),
            _null(raw["requested"], known["requested"]),
            _null(*self.phase_step.of(phase, has_phase)),
            self.phase_name.of(phase, has_phase),
            _null(*self.phase_step.of(free_phase, has_free_phase)),
            self.phase_name.of(free_phase, has_free_phase),
            self.site.of(raw["site"], known["site"]),
            self.tag.of(raw["tag"], known["tag"]),
            pa.array(raw["alloc_ns"]),
            _null(raw["life_ns"], freed),
            _null(raw["alloc_ns"] + raw["life_ns"], freed),
            _null(raw["free_seq"], freed),
            pa.array(raw["address"]),
            self._modules(raw, known),
        ]
        return pa.table(columns, names=schema.names)

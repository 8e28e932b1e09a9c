"""What `tidemark export --to parquet` writes: the columns of each data set, and their source.

A type is i (64 bits), f (double) or t (text). The views are those that schema/README.md promises,
with those columns in that order; what stands behind them here is this exporter's own.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple


class Column(NamedTuple):
    name: str
    type: str


def _columns(text: str) -> List[Column]:
    return [Column(*word.split(":")) for word in text.split()]


# The promised views; `module` stands behind the promised columns of two of them.
VIEWS: Dict[str, List[Column]] = {
    name: _columns(text)
    for name, text in {
        "phase_table": "process:i device:t step:i phase:t allocated:i max_allocated:i reserved:i "
        "max_reserved:i fragmentation:f phase_peak:i begin_ns:i end_ns:i",
        "peak": "process:i device:t step:i phase:t at_ns:i allocated:i reserved:i",
        "live_at_peak": "process:i device:t allocation:i size:i category:t step:i phase:t site:t "
        "module:t",
        "allocations": "process:i device:t allocation:i size:i requested:i step:i phase:t "
        "freed_step:i freed_phase:t site:t tag:t alloc_ns:i life_ns:i free_ns:i free_seq:i "
        "address:i module:t",
        "phase_total": "process:i device:t kind:t phase:t phases:i ns:i allocs:i frees:i "
        "alloc_bytes:i phase_peak:i",
        "site_total": "process:i device:t site:t blocks:i bytes:i largest:i",
        "timeline": "process:i device:t at_ns:i allocated:i reserved:i",
        "module_memory": "process:i device:t module:t class:t parameters:i gradients:i "
        "optimizer_state:i activations:i workspace:i other:i bytes:i blocks:i",
        "peak_by_category": "process:i device:t category:t bytes:i blocks:i share:f",
        "peak_by_site": "process:i device:t site:t bytes:i blocks:i share:f",
        "fragmentation": "process:i device:t step:i phase:t end_ns:i allocated:i active:i "
        "reserved:i inactive_split:i cached:i fragmentation:f",
        "driver_allocations": "process:i device:t memory:i kind:t size:i library:t call:t "
        "outside:i step:i phase:t alloc_ns:i life_ns:i free_ns:i free_seq:i address:i blocks:i",
        "outside_allocator": "process:i device:t library:t bytes:i pieces:i",
        "activities": "process:i device:t kind:t name:t begin_ns:i end_ns:i bytes:i",
        "leak": "process:i device:t site:t steps:i blocks:i bytes:i bytes_per_step:f",
    }.items()
}

# Facts that questions over many runs need beside the views.
FACTS: Dict[str, Tuple[List[Column], str]] = {
    "process": (
        _columns(
            "process:i pid:i host:t started:t commit_id:t command:t start_ns:i end_ns:i ended:t "
            "exit_code:i signal:i lost:i"
        ),
        """SELECT p.id, p.pid, p.host, (SELECT value FROM meta WHERE key = 'started'),
                  coalesce(:commit, (SELECT value FROM meta WHERE key = 'commit')),
                  (SELECT value FROM meta WHERE key = 'command'), p.start_ns, p.end_ns, p.ended,
                  p.exit_code, p.signal,
                  (SELECT coalesce(sum(l.n), 0) FROM lost l WHERE l.process = p.id)
             FROM process p""",
    ),
    "device": (
        _columns("process:i device:t gpu:t total_bytes:i used_bytes:i"),
        """SELECT DISTINCT h.process, t.device,
                  coalesce(d.name, (SELECT value FROM meta WHERE key = 'rehearsal'
                                       AND d.kind = 'cuda')), d.total_bytes,
                  (SELECT max(s.value) FROM sample s WHERE s.process = h.process
                      AND s.device = d.id AND s.what = 'device used')
             FROM heap h JOIN device d ON d.id = h.device JOIN device_text t ON t.id = d.id""",
    ),
    "oom": (
        _columns(
            "process:i device:t oom:i step:i phase:t at_ns:i asked:i allocated:i reserved:i site:t"
        ),
        """SELECT o.process, d.device, o.seq, ph.step, ph.name, o.at_ns, o.asked, o.allocated,
                  o.reserved, (SELECT s.text FROM site_text s WHERE s.site = o.site)
             FROM oom o LEFT JOIN device_text d ON d.id = o.device
             LEFT JOIN phase ph ON ph.id =
                  (SELECT st.phase FROM stretch st WHERE st.process = o.process
                      AND st.begin_seq <= o.seq ORDER BY st.begin_seq DESC LIMIT 1)""",
    ),
}

_TYPED = {"i": "0", "f": "0.5", "t": "'t'"}


def quoted(name: str) -> str:
    return '"%s"' % name


def typed(types: str) -> str:
    return "SELECT " + ", ".join(_TYPED[t] for t in types)


def typed_row(columns: List[Column]) -> str:
    """A first row that has each column's type: SQLite has none, and the driver goes by the first
    rows that it sees, which may all be NULL."""
    return "SELECT " + ", ".join("%s AS %s" % (_TYPED[c.type], quoted(c.name)) for c in columns)


def view_query(name: str) -> str:
    names = ", ".join(quoted(c.name) for c in VIEWS[name])
    return "SELECT %s FROM %s" % (names, name)
